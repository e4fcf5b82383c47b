/* Goal: the parsers of small inputs from clients (request targets, forms, parameters, credentials,
 * cookies, digests, times, origins) accept or refuse every input consistently.
 * Method: the first byte of an input selects the parser, the rest is parsed. The result is compared
 * with that of a second parser of the same format, or is formatted and parsed again. */
#include <sodium.h>
#include <time.h>

#include "api/call/csrf.h"
#include "api/call/form.h"
#include "api/call/iso8601.h"
#include "api/call/params.h"
#include "api/rest/url_escape.h"
#include "auth/digest.h"
#include "base/hash/md5.h"
#include "http/http_private.h"
#include "tests/fuzz/lone_call.h"

static struct lone_call lone;

/* Returns the part before the first line break; *rest becomes the part after it. */
static struct str take_line(struct str *rest)
{
    const uint32_t end = str_find(*rest, '\n', 0);
    const struct str line = str_slice(*rest, 0, end);
    *rest = str_slice(*rest, end + 1, rest->len);
    return line;
}

/* ---- targets ---- */

static bool same_pairs(const struct http_pair *a, const struct http_pair *b)
{
    for (; a && b && str_eq(a->name, b->name) && str_eq(a->value, b->value); a = a->next)
        b = b->next;
    return !a && !b;
}

/* Formats a parsed target with all special bytes escaped; it must parse to the same target. */
static struct str target_written(struct arena *a, const struct http_request *request)
{
    struct buf b = buf_in(a);
    for (uint32_t i = 0; i < request->segment_count; i++) {
        buf_put_c(&b, '/');
        url_escape(&b, request->segments[i]);
    }
    /* The final slash starts no segment, but without it a last empty segment would be lost. */
    buf_put_c(&b, '/');
    for (const struct http_pair *pair = request->query; pair; pair = pair->next) {
        buf_put_c(&b, pair == request->query ? '?' : '&');
        url_escape(&b, pair->name);
        buf_put_c(&b, '=');
        url_escape(&b, pair->value);
    }
    return buf_str(&b);
}

static void try_target(struct arena *a, struct str text)
{
    struct http_request *request = &lone.asked.request;
    struct http_request again = {.method = HTTP_GET};
    if (target_parse(request, text) != OK)
        return;
    CHECK(str_is_clean(request->path) && request->segment_count <= HTTP_SEGMENTS_MAX);
    for (uint32_t i = 0; i < request->segment_count; i++)
        CHECK(str_is_clean(request->segments[i]));
    CHECK(target_parse(&again, target_written(a, request)) == OK);
    CHECK(again.segment_count == request->segment_count);
    for (uint32_t i = 0; i < again.segment_count; i++)
        CHECK(str_eq(again.segments[i], request->segments[i]));
    CHECK(same_pairs(again.query, request->query));
    arena_fini(&again.arena);
}

/* ---- forms ---- */

static bool can_be_a_query(struct str text)
{
    for (uint32_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] <= ' ' || text.at[i] == '\x7f')
            return false;
    return true;
}

/* A form in a body and the same string as a query are parsed to the same object. */
static void try_form(struct arena *a, struct str text)
{
    struct http_request *request = &lone.asked.request;
    struct json *form = json_make(a, JSON_OBJECT), *query = json_make(a, JSON_OBJECT);
    const char *wrong = form_read(a, text, form);
    if (!wrong) {
        check_tree(form, 0);
        CHECK(json_eq(read_back(a, json_write(a, form)), form));
    }
    if (!can_be_a_query(text))
        return;
    const bool reads = target_parse(request, STR_CONCAT(a, STR("/?"), text)) == OK &&
                       !form_read_pairs(a, request->query, query);
    CHECK(reads == !wrong);
    CHECK(!reads || json_eq(form, query));
}

/* ---- parameters ---- */

static void get_everything(struct call *call, const char *name)
{
    static const struct param_ref ref = {"node", "node_id", TABLE_NODE, .can_be_null = true};
    struct str text;
    bool truth;
    int64_t number = 0;
    if (param_text(call, name, &text))
        CHECK(str_is_clean(text));
    param_bool(call, name, &truth);
    if (param_doc(call, name, &text))
        CHECK(read_back(call->arena, text)->kind == JSON_OBJECT);
    if (param_value(call, name, &text))
        read_back(call->arena, text);
    param_time(call, name, &number);
    if (param_number(call, name, -5, 1000, &number))
        CHECK(number >= -5 && number <= 1000);
    param_ref(call, &ref, &number);
}

/* The input is a line with the media type, a line with the target, and the body. */
static void try_params(struct arena *a, struct str text)
{
    struct call *call = &lone.call;
    lone_header(&lone, "Content-Type", take_line(&text));
    if (target_parse(call->request, take_line(&text)) != OK)
        return;
    call->request->body = text;
    if (params_are_many(call))
        ignore(params_read_many(call), "the reply has the result");
    if (params_read(call, "node")) {
        check_tree(call->params, 0);
        CHECK(json_eq(read_back(a, json_write(a, call->params)), call->params));
        get_everything(call, "name");
        for (const struct problem *p = call->problems; p; p = p->next)
            CHECK(p->field.len && p->text.len);
    } else {
        CHECK(call->reply.status == 400 || call->reply.status == 415);
        check_error(a, call->reply.status, call->reply.body);
    }
}

/* ---- credentials ---- */

static struct str base64(struct arena *a, struct str bytes)
{
    const size_t size = sodium_base64_ENCODED_LEN(bytes.len, sodium_base64_VARIANT_ORIGINAL);
    char *text = arena_alloc(a, size);
    sodium_bin2base64(text, size, (const unsigned char *)bytes.at, bytes.len,
                      sodium_base64_VARIANT_ORIGINAL);
    return str_from(text);
}

static void try_credentials(struct arena *a, struct str text)
{
    const struct credentials c = credentials_parse(a, text);
    struct str again = STR("");
    if (c.kind == CREDENTIALS_BASIC) {
        CHECK(c.name.len && str_find(c.name, ':', 0) == c.name.len);
        CHECK(str_is_clean(c.name) && str_is_clean(c.secret));
        again = STR_CONCAT(a, STR("Basic "), base64(a, STR_CONCAT(a, c.name, STR(":"), c.secret)));
    } else if (c.kind == CREDENTIALS_BEARER) {
        CHECK(c.secret.len && str_is_clean(c.secret));
        again = STR_CONCAT(a, STR("Bearer "), c.secret);
    } else if (c.kind == CREDENTIALS_DIGEST) {
        again = STR_CONCAT(a, STR("Digest "), c.secret);
    }
    const struct credentials back = credentials_parse(a, again);
    /* Base64 with unusual or missing padding may be longer in canonical form. */
    if (again.len <= text.len)
        CHECK(back.kind == c.kind && str_eq(back.name, c.name) && str_eq(back.secret, c.secret));
}

/* The session cookie is found among other cookies. */
static void try_cookie(struct arena *a, struct str text)
{
    const struct str name = STR("session"), ours = STR("session=hlg_a; ");
    const struct str value = credentials_cookie(text, name);
    CHECK(str_find(value, ';', 0) == value.len && str_find(value, ' ', 0) == value.len);
    CHECK(str_eq(credentials_cookie(STR_CONCAT(a, ours, text), name), STR("hlg_a")));
    const struct str again = STR_CONCAT(a, STR("a=b;session="), value, STR(" ;c"));
    CHECK(str_eq(credentials_cookie(again, name), value));
}

/* ---- digests ---- */

static void put_quoted(struct buf *b, const char *name, struct str value)
{
    buf_put_z(b, b->len ? ", " : "");
    buf_put_z(b, name);
    buf_put_z(b, "=\"");
    for (uint32_t i = 0; i < value.len; i++) {
        buf_put_z(b, value.at[i] == '"' || value.at[i] == '\\' ? "\\" : "");
        buf_put_c(b, value.at[i]);
    }
    buf_put_c(b, '"');
}

static struct str claim_written(struct arena *a, const struct digest_parameters *c)
{
    struct buf b = buf_in(a);
    put_quoted(&b, "username", c->username);
    put_quoted(&b, "realm", c->realm);
    put_quoted(&b, "nonce", c->nonce);
    put_quoted(&b, "uri", c->uri);
    put_quoted(&b, "response", c->response);
    put_quoted(&b, "cnonce", c->cnonce);
    put_quoted(&b, "nc", c->nc);
    put_quoted(&b, "qop", c->qop);
    return buf_str(&b);
}

static struct str md5_hex(struct arena *a, struct str text)
{
    uint8_t bytes[16];
    struct buf hex = buf_in(a);
    md5(text, bytes);
    buf_put_hex(&hex, bytes, sizeof bytes);
    return buf_str(&hex);
}

/* The right response to a nonce of the server, computed as in RFC 7616. */
static struct str right_response(struct arena *a, const struct digest_parameters *c, struct str ha1)
{
    struct buf b = buf_in(a);
    const struct str parts[] = {ha1, c->nonce, c->nc, c->cnonce, c->qop};
    for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        buf_put_str(&b, parts[i]);
        buf_put_c(&b, ':');
    }
    buf_put_str(&b, md5_hex(a, STR_CONCAT(a, STR("GET:"), c->uri)));
    return md5_hex(a, buf_str(&b));
}

/* Returns the nonce of a new challenge. */
static struct str challenge_nonce(struct arena *a, const struct digests *digests, int64_t now_ms)
{
    const struct str before = STR("nonce=\"");
    struct str text = digests_challenge(digests, a, now_ms, false);
    while (!str_starts(text, before))
        text = str_slice(text, 1, text.len);
    return str_slice(text, before.len, str_find(text, '"', before.len));
}

/* For every user name, URI and counter, the right response is accepted, and only once. */
static void check_right_response(struct arena *a, struct digest_parameters claim)
{
    enum { NOW = 1000000, ANOTHER_DAY = NOW + 24 * 3600 * 1000 };
    struct digests *digests = digests_new();
    bool counts = true;
    for (uint32_t i = 0; i < claim.nc.len; i++)
        counts = counts && memchr("0123456789abcdefABCDEF", claim.nc.at[i], 22) != NULL;
    struct digest_check q = {.arena = a,
                             .claim = &claim,
                             .method = HTTP_GET,
                             .target = claim.uri,
                             .ha1 = digest_ha1(a, claim.username, STR("secret"))};
    CHECK(digests_verify(digests, &q, NOW) == DIGEST_WRONG); /* the nonce is not from the server */
    claim.nonce = challenge_nonce(a, digests, NOW);
    claim.response = right_response(a, &claim, q.ha1);
    CHECK(digests_verify(digests, &q, ANOTHER_DAY) == DIGEST_STALE);
    CHECK(digests_verify(digests, &q, NOW) == (counts ? DIGEST_GOOD : DIGEST_STALE));
    CHECK(digests_verify(digests, &q, NOW) == DIGEST_STALE);
    q.method = HTTP_PUT;
    CHECK(digests_verify(digests, &q, NOW) == DIGEST_WRONG);
    digests_free(digests);
}

static void try_digest(struct arena *a, struct str text)
{
    struct digest_parameters claim, again;
    if (!digest_parse(a, text, &claim))
        return;
    CHECK(str_is_clean(claim.username) && claim.response.len == 32);
    CHECK(claim.nc.len >= 8 && claim.nc.len <= 16);
    CHECK(digest_parse(a, claim_written(a, &claim), &again));
    CHECK(str_eq(again.username, claim.username) && str_eq(again.uri, claim.uri));
    CHECK(str_eq(again.nonce, claim.nonce) && str_eq(again.cnonce, claim.cnonce));
    check_right_response(a, claim);
}

/* ---- times ---- */

static struct str time_written(struct arena *a, int64_t ms)
{
    struct buf b = buf_in(a);
    iso8601_format(&b, ms);
    return buf_str(&b);
}

/* Compares with the calendar of the C library. */
static void check_calendar(int64_t ms, struct str written)
{
    char text[64];
    struct tm tm;
    const int64_t part = ((ms % 1000) + 1000) % 1000;
    const time_t seconds = (time_t)((ms - part) / 1000);
    CHECK(gmtime_r(&seconds, &tm) != NULL);
    snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)part);
    if (!str_eq(str_from(text), written))
        world_fail(HERE, "%.*s, and the C library says %s", STR_FMT_ARGS(written), text);
}

/* Parses the input as a time, and formats its first eight bytes as milliseconds. */
static void try_time(struct arena *a, struct str text)
{
    enum { USUAL_LEN = 24 }; /* bytes, with a year of four digits */
    int64_t ms, again;
    if (iso8601_parse(text, &ms)) {
        const struct str written = time_written(a, ms);
        CHECK(written.len == USUAL_LEN && iso8601_parse(written, &again) && again == ms);
        check_calendar(ms, written);
    }
    if (text.len < sizeof ms)
        return;
    memcpy(&ms, text.at, sizeof ms);
    const struct str written = time_written(a, ms);
    if (written.len != USUAL_LEN || written.at[0] == '-')
        return;
    CHECK(iso8601_parse(written, &again) && again == ms);
    check_calendar(ms, written);
}

/* ---- origins ---- */

/* The input is a line with the Origin header and a line with the Host header. */
static void try_origin(struct arena *a, struct str text)
{
    const struct str origin = take_line(&text), host = take_line(&text);
    lone_header(&lone, "Host", host);
    lone_header(&lone, "Origin", origin);
    lone.asked.request.method = HTTP_PUT;
    const bool is_foreign = csrf_is_foreign_origin(&lone.asked.request);
    CHECK(origin.len || !is_foreign);
    lone.asked.request.method = HTTP_GET;
    CHECK(!csrf_is_foreign_origin(&lone.asked.request));
    lone.asked.request.method = HTTP_POST;
    lone.asked.headers[1].value = STR_CONCAT(a, STR("https://"), host);
    CHECK(host.len == 0 || !csrf_is_foreign_origin(&lone.asked.request));
}

/* ---- entry point ---- */

static const struct core *some_core(void)
{
    static struct core *core;
    if (!core) {
        core = core_new();
        core_bootstrap(core, 1000);
    }
    return core;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        char letter;
        void (*try)(struct arena *a, struct str text);
    } readers[] = {{'t', try_target}, {'f', try_form}, {'p', try_params}, {'c', try_credentials},
                   {'d', try_digest}, {'m', try_time}, {'o', try_origin}, {'k', try_cookie}};
    if (size == 0)
        return 0;
    struct arena *arena = &lone.asked.request.arena;
    arena_reset(arena);
    lone.asked = (struct asked){.request = {.arena = *arena}};
    lone_call(&lone);
    lone.call.core = some_core();
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if ((char)data[0] == readers[i].letter)
            readers[i].try(arena, (struct str){(const char *)data + 1, (uint32_t)size - 1});
    return 0;
}
