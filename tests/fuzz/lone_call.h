/* lone_call.h - the module api without the rest of the daemon, for fuzz targets.
 *
 * It has what every target that links the module needs: the fake HTTP server of api_world.h, a
 * check_failed() that aborts the program, and a cheap password hash. Parsers that need a call get
 * one that belongs to no API: it has a request, an arena and space for a reply. A program is one
 * file, so all functions are static.
 */
#pragma once

#include "api/call/call.h"
#include "api/call/reply.h"
#include "tests/unit/api/api_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void check_failed(const char *file, int line, const char *text)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, text);
    abort();
}

/* ---- passwords ---- */

/* The prefix of stored password hashes. No reply may contain it. */
#define KEPT_PASSWORD "$argon2id$kept-of-"

/* Replaces auth/passwords.c, because Argon2 would take nearly all of the time. The order of
 * callbacks is that of the real module: a right password is confirmed at once (a cached result), a
 * wrong one and a new hash are reported later. */
struct passwords {
    struct {
        passwords_checked_fn *checked; /* this or hashed is set */
        passwords_hashed_fn *hashed;
        void *context;
        char hash[PASSWORD_HASH_MAX];
    } jobs[PASSWORDS_QUEUE_MAX];
    uint32_t count;
};

bool password_hash_now(struct str password, char out_hash[PASSWORD_HASH_MAX])
{
    uint64_t sum = 14695981039346656037u;
    for (uint32_t i = 0; i < password.len; i++)
        sum = (sum ^ (unsigned char)password.at[i]) * 1099511628211u;
    snprintf(out_hash, PASSWORD_HASH_MAX, KEPT_PASSWORD "%016llx", (unsigned long long)sum);
    return true;
}

struct passwords *passwords_new(uv_loop_t *loop)
{
    (void)loop;
    return calloc(1, sizeof(struct passwords));
}

void passwords_free(struct passwords *p)
{
    free(p);
}

err passwords_check(struct passwords *p, const struct password_check *claim,
                    passwords_checked_fn *checked, void *context)
{
    char own[PASSWORD_HASH_MAX];
    if (password_hash_now(claim->password, own) && str_eq(claim->hash, str_from(own))) {
        checked(context, true);
        return OK;
    }
    if (p->count == PASSWORDS_QUEUE_MAX)
        return ERR_LIMIT;
    p->jobs[p->count].checked = checked;
    p->jobs[p->count++].context = context;
    return OK;
}

err passwords_hash(struct passwords *p, const uint8_t *address, struct str password,
                   passwords_hashed_fn *hashed, void *context)
{
    (void)address;
    if (p->count == PASSWORDS_QUEUE_MAX)
        return ERR_LIMIT;
    CHECK(password_hash_now(password, p->jobs[p->count].hash));
    p->jobs[p->count].checked = NULL;
    p->jobs[p->count].hashed = hashed;
    p->jobs[p->count++].context = context;
    return OK;
}

/* Completes the oldest job. */
static inline void passwords_finish_oldest(struct passwords *p)
{
    CHECK(p->count > 0);
    const struct passwords now = *p;
    memmove(p->jobs, p->jobs + 1, --p->count * sizeof *p->jobs);
    if (now.jobs[0].checked)
        now.jobs[0].checked(now.jobs[0].context, false);
    else
        now.jobs[0].hashed(now.jobs[0].context, now.jobs[0].hash);
}

/* ---- a call without an API ---- */

struct lone_call {
    struct asked asked;
    struct call call;
};

static inline struct call *lone_call(struct lone_call *lone)
{
    lone->call =
        (struct call){.request = &lone->asked.request, .arena = &lone->asked.request.arena};
    return &lone->call;
}

static inline void lone_header(struct lone_call *lone, const char *name, struct str value)
{
    CHECK(lone->asked.header_count < ASKED_HEADERS_MAX);
    lone->asked.headers[lone->asked.header_count++] =
        (struct http_pair){.name = str_from(name), .value = value};
}

static inline void lone_end(struct lone_call *lone)
{
    arena_fini(&lone->asked.request.arena);
}

/* ---- checks of replies and trees ---- */

static inline const struct json *read_back(struct arena *a, struct str text)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (json_read(a, text, &tree, &offset, &what) != OK)
        world_fail(HERE, "not JSON (%s at %u): %.*s", what, offset, STR_FMT_ARGS(text));
    return tree;
}

/* Checks that the body is an error: {"message","status","code"}. */
static inline void check_error(struct arena *a, int status, struct str body)
{
    const struct json *error = read_back(a, body);
    const struct json *message = json_get(error, STR("message"));
    const struct json *code = json_get(error, STR("code"));
    const struct json *said = json_get(error, STR("status"));
    int64_t number;
    if (!message || message->kind != JSON_STRING || !message->text.len || !code ||
        code->kind != JSON_STRING || !code->text.len || !json_as_i64(said, &number) ||
        number != status)
        world_fail(HERE, "no error of status %d: %.*s", status, STR_FMT_ARGS(body));
}

/* Checks the number of children, the pointer to the last one, and that keys are sorted and unique.
 * The recursion is bounded by JSON_DEPTH_MAX. */
static inline void check_tree(const struct json *value, uint32_t depth)
{
    const struct json *last = NULL;
    uint32_t count = 0;
    CHECK(depth <= JSON_DEPTH_MAX);
    CHECK(str_is_clean(value->text));
    for (const struct json *child = value->first; child; child = child->next) {
        CHECK(value->kind == JSON_ARRAY || value->kind == JSON_OBJECT);
        CHECK(value->kind == JSON_ARRAY || !last || str_cmp(last->key, child->key) < 0);
        CHECK(str_is_clean(child->key));
        check_tree(child, depth + 1);
        last = child;
        count++;
    }
    CHECK(value->count == count && value->last == last);
}
