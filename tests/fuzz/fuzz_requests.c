/* Goal: the API replies to every request correctly. There is exactly one reply with a status meant
 * for clients, JSON can be parsed, errors are complete, headers contain no line break, and no
 * secret is in a reply. A refused or reading request changes nothing, a request without credentials
 * changes nothing, and a client changes only rows that it may change (clients.h). The core is
 * consistent at the end, and can be saved and loaded.
 * Method: an input is one request or several requests to the API of a small site (site.h):
 *
 *     a PATCH /api/v2/nodes/n1.example.com?view=full
 *     Content-Type: application/json
 *
 *     [{"op":"replace","path":"/description","value":"x"}]
 *     %%
 *     v GET /api/v2/nodes
 *
 * The letters before the method select the client (clients.h) and the conditions of the request
 * (enum condition). */
#include "tests/fuzz/clients.h"

enum { REQUESTS_MAX = 4 };

enum condition {
    COND_REMOTE = 1,      /* r: the request comes from another machine         */
    COND_TLS = 2,         /* t: over TLS                                       */
    COND_GONE = 4,        /* g: the client disconnects before the reply        */
    COND_HELD = 8,        /* h: the state that it reads is not durable yet     */
    COND_RELOADED = 16,   /* l: the core is freed and loaded again             */
    COND_DOWN = 32,       /* d: there is no core                               */
    COND_FULL = 64,       /* f: the command queue is full                      */
    COND_LOST = 128,      /* u: the store is not available                     */
    COND_NARROW = 256,    /* w: the client reads slowly                        */
    COND_ANONYMOUS = 512, /* no token and no credentials in headers            */
};

/* ---- parsing of inputs ---- */

static struct str take_until(struct str *rest, char c)
{
    const uint32_t end = str_find(*rest, c, 0);
    const struct str part = str_slice(*rest, 0, end);
    *rest = str_slice(*rest, end + 1, rest->len);
    return part;
}

/* Takes the part up to the next line "%%". */
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

static uint32_t read_conditions(struct str letters, const struct api_client **out_who)
{
    static const char letters_of_conditions[] = "rtghldfuw";
    uint32_t conditions = 0;
    *out_who = NULL;
    for (uint32_t i = 0; i < letters.len; i++) {
        const char *found = letters.at[i] ? strchr(letters_of_conditions, letters.at[i]) : NULL;
        conditions |= found ? 1u << (found - letters_of_conditions) : 0;
        for (size_t k = 0; k < sizeof api_clients / sizeof *api_clients; k++)
            if (api_clients[k].letter == letters.at[i])
                *out_who = &api_clients[k];
    }
    return conditions;
}

/* Sends the token in a header, that of a session in a cookie. */
static void add_token(struct asked *a, const struct api_client *who)
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

/* Headers that the HTTP server would refuse are omitted. */
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

/* Returns NULL if the HTTP server would refuse the request. *out_who is NULL for unknown
 * credentials. */
static struct asked *read_request(struct str text, uint32_t *out_conditions,
                                  const struct api_client **out_who)
{
    struct str line = take_until(&text, '\n');
    *out_conditions = read_conditions(take_until(&line, ' '), out_who);
    const enum http_method method = read_method(take_until(&line, ' '));
    struct asked *a = site_asked(method, line);
    if (!a)
        return NULL;
    if (*out_who)
        add_token(a, *out_who);
    const bool is_bearer = has_header(a, "Authorization");
    read_headers(a, &text);
    if (!is_bearer && has_header(a, "Authorization"))
        *out_who = NULL;
    if (!has_header(a, "Authorization") && !has_header(a, "Cookie"))
        *out_conditions |= COND_ANONYMOUS;
    a->request.body = str_copy(&a->request.arena, text);
    a->request.is_loopback = !(*out_conditions & COND_REMOTE);
    a->request.is_secure = *out_conditions & COND_TLS;
    a->window = *out_conditions & COND_NARROW ? 16 : 0;
    return a;
}

/* ---- checks of replies ---- */

struct facts {
    const struct api_client *who; /* NULL: unknown credentials */
    enum http_method method;
    uint32_t conditions;
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

static bool is_status(int status, uint32_t conditions)
{
    static const int good[] = {200, 202, 304, 400, 401, 403, 404,
                               405, 409, 412, 415, 429, 501, 503};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (good[i] == status)
            return true;
    return status == 500 && (conditions & COND_GONE); /* it is not sent */
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

/* No reply contains a secret, unless the input does: a fuzzer sees the compared strings, and an
 * input that contains a secret, or a part of it between escapes, may have it returned. */
static void check_secrets(const struct asked *a, struct str input)
{
    enum { PART = 6 };
    static const char *const secrets[] = {KEPT_PASSWORD, HAMMER_SECRET, OLD_HA1};
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        if (strstr(a->body, secrets[i]) && !has(input, secrets[i] + strlen(secrets[i]) - PART))
            world_fail(HERE, "a secret in the reply: %s", a->body);
}

/* A login: a valid password is exchanged for a token. */
static bool is_login(const struct facts *facts)
{
    return facts->method == HTTP_POST && str_starts(facts->path, STR("/api/v")) &&
           (str_ends(facts->path, STR("/session")) || str_ends(facts->path, STR("/session/")));
}

/* Routes that need no credentials. */
static bool is_open(const struct facts *facts)
{
    return is_login(facts) || str_starts(facts->path, STR("/healthz")) ||
           str_starts(facts->path, STR("/readyz"));
}

static void check_answer(struct asked *a, const struct facts *facts)
{
    CHECK(a->answers == 1);
    if (!is_status(a->status, facts->conditions))
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
    if ((facts->conditions & COND_ANONYMOUS) && a->status < 400 && !is_open(facts))
        world_fail(HERE, "%.*s replies without credentials: %s", STR_FMT_ARGS(facts->path),
                   a->body);
}

/* ---- requests ---- */

/* The check that the HTTP server makes when it has the header of a request. Returns true if the
 * request was refused by it. */
static bool is_refused_early(struct asked *a, const struct http_handler *handler)
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

static void set_conditions(uint32_t conditions)
{
    struct front *f = site.f;
    f->held = conditions & COND_HELD ? 1 : 0;
    f->is_down = conditions & COND_DOWN;
    f->submits = conditions & COND_FULL ? ERR_LIMIT : conditions & COND_LOST ? ERR_UNAVAILABLE : OK;
}

/* Polls an endless stream three times, then closes it as its client. */
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
        site_run_until_idle();
    }
    if (a->answers)
        return;
    CHECK(a->is_streamed);
    a->is_gone = true;
    handler->gone(handler->self, &a->request);
}

static void serve(struct asked *a, uint32_t conditions)
{
    const struct http_handler handler = api_handler(site.f->api);
    set_conditions(conditions);
    if (is_refused_early(a, &handler))
        return;
    handler.serve(handler.self, &a->request);
    if ((conditions & COND_GONE) && !a->answers) {
        a->is_gone = a->is_streamed;
        handler.gone(handler.self, &a->request);
    }
    site_run_until_idle();
    set_conditions(0);
    if (conditions & COND_HELD)
        site.f->w->turn++;
    if (conditions & COND_RELOADED)
        api_reloaded(site.f->api);
    api_durable(site.f->api, site.f->w->turn);
    site_run_until_idle();
    if (!a->answers)
        end_stream(a, &handler);
}

/* Effects of the requests of one input so far. */
struct input_result {
    bool is_used;  /* the state changed, or a failed login was recorded   */
    bool is_loose; /* a client with the right to do so may have changed rights */
};

static void check_changed(const struct asked *a, const struct facts *facts,
                          const struct before *before, struct input_result *result)
{
    const bool is_session = is_login(facts);
    if (a->status >= 400 && !(facts->conditions & COND_GONE))
        world_fail(HERE, "refused with %d, but the state changed: %s", a->status, a->body);
    CHECK(facts->method != HTTP_GET && facts->method != HTTP_HEAD);
    CHECK(!(facts->conditions & COND_ANONYMOUS) || is_session);
    if (facts->who && !result->is_loose && !is_session)
        check_changes(site.f->w->core, facts->who, before);
    result->is_loose |= !facts->who || facts->who->tables == EVERYTHING || is_session;
    result->is_used = true;
}

static void send_one(struct str text, struct str input, struct input_result *result)
{
    struct facts facts = {.input = input};
    struct asked *a = read_request(text, &facts.conditions, &facts.who);
    if (!a)
        return;
    struct core *core = site.f->w->core;
    facts.method = a->request.method;
    facts.path = str_copy(&a->kept, a->request.path);
    const struct str given = http_header(&a->request, "Authorization");
    result->is_used |= is_login(&facts) || (given.len && !str_starts(given, STR("Bearer ")));
    const uint64_t edits = core_edits(core);
    const struct digest128 digest = core_digest(core); /* every change is collected */
    const struct before before = counts_before(core, site.f->w->turn);
    serve(a, facts.conditions);
    check_answer(a, &facts);
    if (core_edits(core) != edits && !digest_eq(core_digest_now(core), digest))
        check_changed(a, &facts, &before, result);
}

/* Loading takes as long as everything else, so it is done for one input in eight, chosen by its
 * bytes. */
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
    struct input_result result = {.is_used = false};
    if (!site.f)
        site_open();
    for (uint32_t i = 0; i < REQUESTS_MAX && rest.len; i++)
        send_one(take_request(&rest), input, &result);
    site_free_requests();
    if (result.is_used && is_chosen(data, size))
        world_reload(site.f->w);
    if (result.is_used)
        site_reset();
    else
        site_discard_steps();
    return 0;
}
