/* An input is one request or several, one after the other, to the API of a small site (site.h):
 *
 *     a PATCH /api/v2/nodes/n1.example.com?view=full
 *     Content-Type: application/json
 *
 *     [{"op":"replace","path":"/description","value":"x"}]
 *     %%
 *     v GET /api/v2/nodes
 *
 * The letters before the method say who asks (people.h), and what goes wrong (enum mood). Whatever
 * it is: there is exactly one answer, of a status that is meant for clients; JSON reads, an error
 * says what it must, no header breaks out of its line, and no secret gets out. Whoever is refused,
 * or only looks, has changed nothing; nobody changes anything without credentials, nor what is not
 * his to change (people.h). What the core became in the end holds together, and can be saved and
 * loaded. */
#include "tests/fuzz/people.h"

enum { REQUESTS_MAX = 4 };

enum mood {
    MOOD_REMOTE = 1,      /* r: from another machine                           */
    MOOD_TLS = 2,         /* t: over TLS                                       */
    MOOD_GONE = 4,        /* g: the client leaves before it has its answer     */
    MOOD_HELD = 8,        /* h: what it sees is not durable yet                */
    MOOD_RELOADED = 16,   /* l: the core is dropped, and loaded again          */
    MOOD_DOWN = 32,       /* d: there is no core                               */
    MOOD_FULL = 64,       /* f: too many commands wait                         */
    MOOD_LOST = 128,      /* u: the store is not there                         */
    MOOD_NARROW = 256,    /* w: the client reads slowly                        */
    MOOD_ANONYMOUS = 512, /* of nobody's: no letter of a token, and no header  */
};

/* ---- reading ---- */

static struct str take_until(struct str *rest, char c)
{
    const uint32_t end = str_find(*rest, c, 0);
    const struct str part = str_slice(*rest, 0, end);
    *rest = str_slice(*rest, end + 1, rest->len);
    return part;
}

/* Up to the next line of "%%". */
static struct str take_request(struct str *rest)
{
    const struct str mark = STR("\n%%\n");
    for (uint32_t i = 0; i < rest->len; i++)
        if (str_starts(str_slice(*rest, i, rest->len), mark)) {
            const struct str request = str_slice(*rest, 0, i);
            *rest = str_slice(*rest, i + mark.len, rest->len);
            return request;
        }
    const struct str request = *rest;
    *rest = STR("");
    return request;
}

static enum http_method read_method(struct str name)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
    for (int i = 0; i < HTTP_OTHER; i++)
        if (str_eq(name, str_from(names[i])))
            return (enum http_method)i;
    return HTTP_OTHER;
}

static uint32_t read_mood(struct str letters, const struct person **out_who)
{
    static const char moods[] = "rtghldfuw";
    uint32_t mood = 0;
    *out_who = NULL;
    for (uint32_t i = 0; i < letters.len; i++) {
        const char *found = letters.at[i] ? strchr(moods, letters.at[i]) : NULL;
        mood |= found ? 1u << (found - moods) : 0;
        for (size_t k = 0; k < sizeof people / sizeof *people; k++)
            if (people[k].letter == letters.at[i])
                *out_who = &people[k];
    }
    return mood;
}

/* A token in a header; of a session, in a cookie. */
static void show_token(struct asked *a, const struct person *who)
{
    const struct str token = str_from(who->token);
    const bool is_session = str_eq(token, STR("hlg_session"));
    asked_header(
        a, is_session ? "Cookie" : "Authorization",
        str_z(&a->kept,
              STR_CONCAT(&a->kept, is_session ? STR("halligan_session=") : STR("Bearer "), token)));
    if (who->letter == 'c')
        asked_header(a, "X-CSRF-Token", str_z(&a->kept, credentials_csrf(&a->kept, token)));
}

static bool is_header(struct str line, uint32_t colon)
{
    for (uint32_t i = 0; i < line.len; i++)
        if ((unsigned char)line.at[i] < ' ' || line.at[i] == '\x7f')
            return false;
    return colon > 0 && colon < line.len;
}

/* What the server would not let pass is left out. */
static void read_headers(struct asked *a, struct str *rest)
{
    for (struct str line = take_until(rest, '\n'); line.len; line = take_until(rest, '\n')) {
        const uint32_t colon = str_find(line, ':', 0);
        uint32_t from = colon + 1;
        if (!is_header(line, colon) || a->header_count == ASKED_HEADERS_MAX)
            continue;
        while (from < line.len && line.at[from] == ' ')
            from++;
        a->headers[a->header_count++] =
            (struct http_pair){.name = str_copy(&a->kept, str_slice(line, 0, colon)),
                               .value = str_copy(&a->kept, str_slice(line, from, line.len))};
    }
}

static bool has_header(const struct asked *a, const char *name)
{
    return http_header(&a->request, name).len > 0;
}

/* NULL: the server would not hand it over. *out_who is NULL when it is nobody we know. */
static struct asked *read_request(struct str text, uint32_t *out_mood,
                                  const struct person **out_who)
{
    struct str line = take_until(&text, '\n');
    *out_mood = read_mood(take_until(&line, ' '), out_who);
    const enum http_method method = read_method(take_until(&line, ' '));
    struct asked *a = site_asked(method, line);
    if (!a)
        return NULL;
    if (*out_who)
        show_token(a, *out_who);
    const bool is_bearer = has_header(a, "Authorization");
    read_headers(a, &text);
    if (!is_bearer && has_header(a, "Authorization"))
        *out_who = NULL;
    if (!has_header(a, "Authorization") && !has_header(a, "Cookie"))
        *out_mood |= MOOD_ANONYMOUS;
    a->request.body = str_copy(&a->request.arena, text);
    a->request.is_loopback = !(*out_mood & MOOD_REMOTE);
    a->request.is_secure = *out_mood & MOOD_TLS;
    a->window = *out_mood & MOOD_NARROW ? 16 : 0;
    return a;
}

/* ---- judging ---- */

struct facts {
    const struct person *who; /* NULL: nobody we know */
    enum http_method method;
    uint32_t mood;
    struct str path;
    struct str input;
};

static bool has(struct str text, const char *part)
{
    const struct str wanted = str_from(part);
    for (uint32_t i = 0; i + wanted.len <= text.len; i++)
        if (str_starts(str_slice(text, i, text.len), wanted))
            return true;
    return false;
}

static bool is_status(int status, uint32_t mood)
{
    static const int good[] = {200, 202, 304, 400, 401, 403, 404,
                               405, 409, 412, 415, 429, 501, 503};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (good[i] == status)
            return true;
    return status == 500 && (mood & MOOD_GONE); /* nobody will read it */
}

static bool said(const struct asked *a, const char *name)
{
    for (uint32_t i = 0; i < a->said_count; i++)
        if (strncmp(a->said[i], name, strlen(name)) == 0)
            return true;
    return false;
}

static void check_headers(const struct asked *a, const struct facts *facts)
{
    for (uint32_t i = 0; i < a->said_count; i++)
        for (const char *c = a->said[i]; *c; c++)
            CHECK((unsigned char)*c >= ' ' && *c != '\x7f');
    CHECK(a->status != 401 || said(a, "WWW-Authenticate: "));
    CHECK(a->status != 405 || said(a, "Allow: ") || !strstr(a->body, "not_supported"));
    CHECK(a->status != 429 || said(a, "Retry-After: "));
    CHECK(a->status != 503 || said(a, "Retry-After: ") || str_starts(facts->path, STR("/readyz")));
}

/* Nobody reads them. But a fuzzer sees what is compared, and an input that brings one, or a part
 * of it with escapes around it, gets it back. */
static void check_secrets(const struct asked *a, struct str input)
{
    enum { PART = 6 };
    static const char *const secrets[] = {KEPT_PASSWORD, HAMMER_SECRET, OLD_HA1};
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        if (strstr(a->body, secrets[i]) && !has(input, secrets[i] + strlen(secrets[i]) - PART))
            world_fail(HERE, "a secret got out: %s", a->body);
}

/* Whoever knows a password gets a token for it. */
static bool is_login(const struct facts *facts)
{
    return facts->method == HTTP_POST && str_starts(facts->path, STR("/api/v")) &&
           (str_ends(facts->path, STR("/session")) || str_ends(facts->path, STR("/session/")));
}

/* Answers whoever asks. */
static bool is_open(const struct facts *facts)
{
    return is_login(facts) || str_starts(facts->path, STR("/healthz")) ||
           str_starts(facts->path, STR("/readyz"));
}

static void check_answer(struct asked *a, const struct facts *facts)
{
    CHECK(a->answers == 1);
    if (!is_status(a->status, facts->mood))
        world_fail(HERE, "status %d: %s", a->status, a->body);
    check_headers(a, facts);
    check_secrets(a, facts->input);
    const bool is_json = strstr(a->type, "json") != NULL;
    if (a->status >= 400 && is_json)
        check_error(&a->kept, a->status, str_from(a->body));
    else if (a->status >= 400)
        CHECK(str_starts(facts->path, STR("/readyz")));
    else if (a->status == 304)
        CHECK(!*a->body && facts->method == HTTP_GET);
    else if (is_json && (*a->body || facts->method != HTTP_HEAD))
        check_tree(read_back(&a->kept, str_from(a->body)), 0);
    if ((facts->mood & MOOD_ANONYMOUS) && a->status < 400 && !is_open(facts))
        world_fail(HERE, "%.*s answers everybody: %s", STR_FMT_ARGS(facts->path), a->body);
}

/* ---- asking ---- */

/* As the server does when the head of a request is here. True: that was the answer. */
static bool is_turned_away(struct asked *a, const struct http_handler *handler)
{
    struct http_answer answer = {0};
    if (a->request.body.len == 0 || a->header_count == ASKED_HEADERS_MAX)
        return false;
    const struct str body = a->request.body;
    a->request.body = STR("");
    struct buf length = buf_in(&a->kept);
    buf_put_u64(&length, body.len);
    asked_header(a, "Content-Length", str_z(&a->kept, buf_str(&length)));
    if (handler->admit(handler->self, &a->request, &answer) != 0) {
        http_answer(&a->request, &answer);
        return true;
    }
    a->request.body = body;
    return false;
}

static void set_mood(uint32_t mood)
{
    struct front *f = site.f;
    f->held = mood & MOOD_HELD ? 1 : 0;
    f->is_down = mood & MOOD_DOWN;
    f->submits = mood & MOOD_FULL ? ERR_LIMIT : mood & MOOD_LOST ? ERR_UNAVAILABLE : OK;
}

/* A stream goes on until its client leaves. */
static void end_stream(struct asked *a, const struct http_handler *handler)
{
    for (int beat = 0; beat < 3 && !a->answers; beat++) {
        if (a->is_awaited) {
            a->is_awaited = false;
            a->window = 0;
            handler->drained(handler->self, &a->request);
        }
        site.f->w->now_ms += 20000;
        api_poll_streams(site.f->api);
        site_settle();
    }
    if (a->answers)
        return;
    CHECK(a->is_streamed);
    a->is_gone = true;
    handler->gone(handler->self, &a->request);
}

static void serve(struct asked *a, uint32_t mood)
{
    const struct http_handler handler = api_handler(site.f->api);
    set_mood(mood);
    if (is_turned_away(a, &handler))
        return;
    handler.serve(handler.self, &a->request);
    if ((mood & MOOD_GONE) && !a->answers) {
        a->is_gone = a->is_streamed;
        handler.gone(handler.self, &a->request);
    }
    site_settle();
    set_mood(0);
    if (mood & MOOD_HELD)
        site.f->w->turn++;
    if (mood & MOOD_RELOADED)
        api_reloaded(site.f->api);
    api_durable(site.f->api, site.f->w->turn);
    site_settle();
    if (!a->answers)
        end_stream(a, &handler);
}

/* What became of the site while one input came in. */
struct day {
    bool is_used;  /* something changed, or is remembered of those who guess  */
    bool is_loose; /* somebody who may do so may have changed who may do what */
};

static void check_changed(const struct asked *a, const struct facts *facts,
                          const struct before *before, struct day *day)
{
    const bool is_session = is_login(facts);
    if (a->status >= 400 && !(facts->mood & MOOD_GONE))
        world_fail(HERE, "refused with %d, and something changed: %s", a->status, a->body);
    CHECK(facts->method != HTTP_GET && facts->method != HTTP_HEAD);
    CHECK(!(facts->mood & MOOD_ANONYMOUS) || is_session);
    if (facts->who && !day->is_loose && !is_session)
        check_changes(site.f->w->core, facts->who, before);
    day->is_loose |= !facts->who || facts->who->tables == EVERYTHING || is_session;
    day->is_used = true;
}

static void ask_one(struct str text, struct str input, struct day *day)
{
    struct facts facts = {.input = input};
    struct asked *a = read_request(text, &facts.mood, &facts.who);
    if (!a)
        return;
    struct core *core = site.f->w->core;
    facts.method = a->request.method;
    facts.path = str_copy(&a->kept, a->request.path);
    const struct str given = http_header(&a->request, "Authorization");
    day->is_used |= is_login(&facts) || (given.len && !str_starts(given, STR("Bearer ")));
    const uint64_t edits = core_edits(core);
    const struct digest128 digest = core_digest(core); /* all is collected */
    const struct before before = look_before(core, site.f->w->turn);
    serve(a, facts.mood);
    check_answer(a, &facts);
    if (core_edits(core) != edits && !digest_eq(core_digest_now(core), digest))
        check_changed(a, &facts, &before, day);
}

/* Loading costs as much as all the rest, so one input in eight has to do; always the same ones. */
static bool is_chosen(const uint8_t *data, size_t size)
{
    uint8_t sum = 0;
    for (size_t i = 0; i < size; i++)
        sum = (uint8_t)(sum * 31 + data[i]);
    return sum % 8 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str input = {(const char *)data, (uint32_t)size};
    struct str rest = input;
    struct day day = {.is_used = false};
    if (!site.f)
        site_open();
    for (uint32_t i = 0; i < REQUESTS_MAX && rest.len; i++)
        ask_one(take_request(&rest), input, &day);
    site_forget();
    if (day.is_used && is_chosen(data, size))
        world_reload(site.f->w);
    if (day.is_used)
        site_renew();
    else
        site_forget_steps();
    return 0;
}
