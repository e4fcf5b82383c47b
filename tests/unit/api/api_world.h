/* api_world.h - the API in front of a small installation, without a socket.
 *
 * It owns a world (tests/world), an API on it, the worker thread that verifies passwords, and the
 * loop that the thread reports to. It replaces the HTTP server: a request is made by hand and its
 * reply recorded. It is the engine too: commands wait in a queue until a test lets the world
 * execute them. A test program is one file, so everything is static.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "api/call/api.h"
#include "auth/credentials.h"
#include "tests/world/world.h"

enum { ASKED_HEADERS_MAX = 8, QUEUED_MAX = 64 };

/* A request and its reply. The request is the first member: the API gets its address. */
struct asked {
    struct http_request request;
    struct http_pair headers[ASKED_HEADERS_MAX];
    uint32_t header_count;
    uint32_t answers;
    int status;
    const char *type; /* "" = none */
    const char *body;
    const char *said[8]; /* "Name: value" */
    uint32_t said_count;
    struct arena kept; /* holds the strings of the reply */

    /* Of a streamed reply. */
    bool is_streamed, is_gone, is_broken, is_awaited;
    uint32_t pieces;
    size_t window; /* bytes that the client accepts before the stream is paused; 0: any number */
    struct buf received;
};

struct front {
    struct world *w;
    struct api *api;
    struct api_engine engine; /* as the API has it */
    struct passwords *passwords;
    uv_loop_t loop;
    int64_t held;        /* turns that are applied but not durable */
    err submits;         /* result of submit */
    bool at_once;        /* the outcome comes from within submit */
    bool is_down;        /* there is no core to read */
    bool is_stalled;     /* the store does not answer */
    const char *trouble; /* "" = none */
    const char *unready; /* NULL = ready */
    struct command line[QUEUED_MAX];
    uint32_t line_count;
    struct asked *all[256]; /* freed at the end */
    uint32_t all_count;
    const char *bearer; /* Authorization header that most tests send */
};

/* ---- the HTTP server ---- */

struct str http_header(const struct http_request *request, const char *name)
{
    const struct asked *a = (const struct asked *)request;
    CHECK(a->answers == 0);
    for (uint32_t i = 0; i < a->header_count; i++)
        if (str_eq_nocase(a->headers[i].name, str_from(name)))
            return a->headers[i].value;
    return STR("");
}

static void asked_head(struct asked *a, const struct http_answer *answer)
{
    a->status = answer->status;
    a->type = str_z(&a->kept, str_from(answer->content_type));
    for (uint32_t i = 0; i < answer->header_count; i++)
        a->said[a->said_count++] =
            str_z(&a->kept, STR_CONCAT(&a->kept, str_from(answer->headers[i].name), STR(": "),
                                       answer->headers[i].value));
}

static void asked_over(struct asked *a, struct str body)
{
    CHECK(++a->answers == 1);
    a->body = str_z(&a->kept, body);
    arena_fini(&a->request.arena);
    a->request = (struct http_request){.method = HTTP_OTHER};
}

void http_answer(struct http_request *request, const struct http_answer *answer)
{
    struct asked *a = (struct asked *)request;
    CHECK(!a->is_streamed);
    asked_head(a, answer);
    asked_over(a, answer->body);
}

struct http_stream *http_stream_begin(struct http_request *request, const struct http_answer *head)
{
    struct asked *a = (struct asked *)request;
    CHECK(!a->is_streamed && a->answers == 0);
    asked_head(a, head);
    if (a->is_gone) { /* as the server does: the request and its arena are freed */
        asked_over(a, STR(""));
        return NULL;
    }
    a->is_streamed = true;
    a->received = buf_in(&a->kept);
    return (struct http_stream *)a;
}

err http_stream_put(struct http_stream *s, struct str piece)
{
    struct asked *a = (struct asked *)s;
    CHECK(a->is_streamed && a->answers == 0 && piece.len);
    if (a->is_gone)
        return ERR_UNAVAILABLE;
    if (a->window && a->received.len + piece.len > a->window)
        return ERR_LIMIT;
    buf_put_str(&a->received, piece);
    a->pieces++;
    return OK;
}

size_t http_stream_waiting(const struct http_stream *s)
{
    (void)s;
    return 0;
}

uint32_t http_connections_default(void)
{
    return HTTP_CONNECTIONS_MAX;
}

/* Memory limit of all replies together; tests lower it. */
static size_t held_max = SIZE_MAX;

void http_count_memory(struct http_request *request, size_t bytes)
{
    (void)request;
    (void)bytes;
}

bool http_memory_fits(const struct http_request *request, size_t bytes)
{
    (void)request;
    return bytes <= HTTP_HELD_LOW || bytes <= held_max;
}

size_t http_memory_total(const struct http_request *request)
{
    (void)request;
    return 0;
}

void http_stream_await(struct http_stream *s)
{
    struct asked *a = (struct asked *)s;
    CHECK(!a->is_awaited);
    a->is_awaited = true;
}

void http_stream_end(struct http_stream *s)
{
    struct asked *a = (struct asked *)s;
    asked_over(a, buf_str(&a->received));
}

void http_stream_break(struct http_stream *s)
{
    struct asked *a = (struct asked *)s;
    a->is_broken = true;
    http_stream_end(s);
}

/* ---- the engine ---- */

static const struct core *front_core(void *self)
{
    struct front *f = self;
    return f->is_down ? NULL : f->w->core;
}

static const struct core *front_newest_core(void *self)
{
    return ((struct front *)self)->w->core;
}

static bool front_is_stalled(void *self)
{
    return ((struct front *)self)->is_stalled;
}

static int64_t front_durable(void *self)
{
    struct front *f = self;
    return f->w->turn;
}

static int64_t front_seen(void *self)
{
    struct front *f = self;
    return f->w->turn + f->held;
}

static int64_t front_now_ms(void *self)
{
    struct front *f = self;
    return f->w->now_ms + f->w->wall_ahead_ms;
}

static int64_t front_mono_ms(void *self)
{
    struct front *f = self;
    return f->w->now_ms - 1600000000000;
}

static int64_t front_stamp_ms(void *self)
{
    struct front *f = self;
    return f->w->now_ms;
}

static bool front_is_ready(void *self, const char **out_why)
{
    struct front *f = self;
    if (f->unready)
        *out_why = f->unready;
    return !f->unready;
}

static const char *front_trouble(void *self)
{
    struct front *f = self;
    return f->trouble;
}

/* Executes the oldest command, commits, and reports its outcome. */
static inline void front_take(struct front *f)
{
    CHECK(f->line_count > 0);
    const struct command command = f->line[0];
    memmove(f->line, f->line + 1, --f->line_count * sizeof *f->line);
    if (command.is_dry)
        core_plan(f->w->core, &command, &f->w->arena, &f->w->out);
    else
        world_step(f->w, command);
    const struct outcome out = f->w->out;
    world_collect(f->w);
    api_outcome(f->api, command.request, &out, f->w->turn);
}

static err front_submit(void *self, const struct command *command)
{
    struct front *f = self;
    if (f->submits != OK)
        return f->submits;
    CHECK(f->line_count < QUEUED_MAX);
    f->line[f->line_count++] = command_copy(&f->w->arena, command);
    if (f->at_once)
        front_take(f);
    return OK;
}

/* ---- requests ---- */

/* The path as the server passes it on: split at slashes, %2F is part of a segment. */
static inline void asked_path(struct http_request *request, struct str path)
{
    request->path = str_copy(&request->arena, path);
    for (uint32_t at = 1, end; at < path.len; at = end + 1) {
        end = str_find(path, '/', at);
        struct buf b = buf_in(&request->arena);
        for (uint32_t i = at; i < end; i++) {
            const bool slash = str_starts(str_slice(path, i, end), STR("%2F"));
            buf_put_c(&b, slash ? '/' : path.at[i]);
            i += slash ? 2 : 0;
        }
        CHECK(request->segment_count < HTTP_SEGMENTS_MAX);
        request->segments[request->segment_count++] = buf_str(&b);
    }
}

static inline struct asked *asked_new(struct front *f, enum http_method method, const char *target)
{
    struct asked *a = calloc(1, sizeof *a);
    CHECK(a != NULL && f->all_count < sizeof f->all / sizeof *f->all);
    f->all[f->all_count++] = a;
    const struct str whole = str_from(target);
    const uint32_t mark = str_find(whole, '?', 0);
    struct arena *arena = &a->request.arena;
    a->request.method = method;
    asked_path(&a->request, str_slice(whole, 0, mark));
    a->request.is_loopback = true;
    struct http_pair **end = &a->request.query;
    struct str rest = str_slice(whole, mark + 1, whole.len);
    while (rest.len) {
        const uint32_t stop = str_find(rest, '&', 0), equals = str_find(rest, '=', 0);
        *end = arena_new(arena, struct http_pair);
        (*end)->name = str_copy(arena, str_slice(rest, 0, equals));
        (*end)->value = str_copy(arena, str_slice(rest, equals + 1, stop));
        end = &(*end)->next;
        rest = str_slice(rest, stop + 1, rest.len);
    }
    return a;
}

static inline void asked_header(struct asked *a, const char *name, const char *value)
{
    CHECK(a->header_count < ASKED_HEADERS_MAX);
    a->headers[a->header_count++] = (struct http_pair){str_copy(&a->kept, str_from(name)),
                                                       str_copy(&a->kept, str_from(value)), NULL};
}

/* Single quotes are double ones, as everywhere in the world. */
static inline void asked_body(struct front *f, struct asked *a, const char *body)
{
    a->request.body = str_copy(&a->request.arena, world_json(f->w, body));
}

static inline void asked_send(struct front *f, struct asked *a)
{
    const struct http_handler handler = api_handler(f->api);
    handler.serve(handler.self, &a->request);
}

/* With the token, a body ("" = none) and one more header ("" = none); a submitted command is
 * executed at once. */
static inline struct asked *ask_with(struct front *f, enum http_method method, const char *target,
                                     const char *body, const char *header)
{
    struct asked *a = asked_new(f, method, target);
    asked_header(a, "Authorization", f->bearer);
    asked_body(f, a, body);
    if (*header) {
        const struct str whole = str_from(header);
        const uint32_t colon = str_find(whole, ':', 0);
        asked_header(a, str_z(&a->kept, str_slice(whole, 0, colon)),
                     str_z(&a->kept, str_slice(whole, colon + 2, whole.len)));
    }
    asked_send(f, a);
    while (f->line_count)
        front_take(f);
    while (!a->answers && api_pump(f->api))
        ;
    return a;
}

static inline struct asked *ask(struct front *f, enum http_method method, const char *target,
                                const char *body)
{
    return ask_with(f, method, target, body, "");
}

static inline struct asked *get(struct front *f, const char *target)
{
    return ask(f, HTTP_GET, target, "");
}

/* Waits until the password is verified. */
static inline void front_wait(struct front *f, const struct asked *a)
{
    while (!a->answers && f->line_count == 0)
        CHECK(uv_run(&f->loop, UV_RUN_ONCE) >= 0);
}

/* ---- checks ---- */

#define STATUS(a, wanted) asked_status((a), (wanted), HERE)
static inline void asked_status(const struct asked *a, int wanted, struct where where)
{
    if (a->answers != 1)
        world_fail(where, "%u answers", a->answers);
    if (a->status != wanted)
        world_fail(where, "status %d, wanted %d: %s", a->status, wanted, a->body);
}

/* Does the reply have the header "Name: value"? */
#define SAID(a, line) asked_said((a), (line), HERE)
static inline void asked_said(const struct asked *a, const char *line, struct where where)
{
    for (uint32_t i = 0; i < a->said_count; i++)
        if (strcmp(a->said[i], line) == 0)
            return;
    world_fail(where, "no header %s; the first is %s", line, a->said_count ? a->said[0] : "none");
}

static inline const struct json *body_of(struct asked *a)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (json_read(&a->kept, str_from(a->body), &tree, &offset, &what) != OK)
        world_fail(HERE, "not JSON (%s at %u): %s", what, offset, a->body);
    return tree;
}

/* The value at a path of the body, in the JSON notation of the tests; "absent" if there is none. */
static inline const char *at(struct front *f, struct asked *a, const char *path)
{
    const struct json *value = json_at(body_of(a), str_from(path));
    return value ? shown(f->w, json_write(&a->kept, value)) : "absent";
}

/* The keys of an object in a line: "id,name". */
static inline const char *keys(struct asked *a, const struct json *object)
{
    struct buf b = buf_in(&a->kept);
    for (const struct json *member = object->first; member; member = member->next) {
        buf_put_z(&b, b.len ? "," : "");
        buf_put_str(&b, member->key);
    }
    return str_z(&a->kept, buf_str(&b));
}

/* One key of each element of a list in a line: "3,2,1". */
static inline const char *column(struct asked *a, const char *key)
{
    struct buf b = buf_in(&a->kept);
    const struct json *list = body_of(a);
    CHECK(list->kind == JSON_ARRAY);
    for (const struct json *item = list->first; item; item = item->next) {
        buf_put_z(&b, b.len ? "," : "");
        const struct json *value = json_get(item, str_from(key));
        if (value)
            buf_put_str(&b, value->kind == JSON_STRING ? value->text : json_write(&a->kept, value));
    }
    return str_z(&a->kept, buf_str(&b));
}

/* An error with that status, code and field ("absent" when it names none). */
#define PROBLEM(f, a, status, code, field) asked_problem((f), (a), (status), (code), (field))
static inline void asked_problem(struct front *f, struct asked *a, int status, const char *code,
                                 const char *field)
{
    char text[64];
    STATUS(a, status);
    snprintf(text, sizeof text, "%d", status);
    EXPECT_STR(at(f, a, "status"), text);
    snprintf(text, sizeof text, "'%s'", code);
    EXPECT_STR(at(f, a, "code"), text);
    snprintf(text, sizeof text, strcmp(field, "absent") == 0 ? "%s" : "'%s'", field);
    EXPECT_STR(at(f, a, "field"), text);
    CHECK(strlen(at(f, a, "message")) > 4);
    EXPECT_STR(at(f, a, "backtrace"), "absent");
    HAS(a->type, ".error+json; version=2.0");
}

/* ---- setup ---- */

/* The hash of "secret", computed once because it is slow. */
static inline struct str password_param_hash(void)
{
    static char hash[PASSWORD_HASH_MAX];
    if (!*hash)
        CHECK(password_hash_now(STR("secret"), hash));
    return str_from(hash);
}

/* A token of that user, as a header. */
static inline const char *front_token(struct front *f, int64_t user_id, int64_t expires_at)
{
    const struct str token = credentials_token_new(&f->w->arena);
    DONE(f->w, CMD(TOKEN_CREATE, token_create, .user_id = user_id, .name = STR("t"),
                   .hash = credentials_token_hash(&f->w->arena, token), .expires_at = expires_at));
    return str_z(&f->w->arena, STR_CONCAT(&f->w->arena, STR("Bearer "), token));
}

static inline int64_t front_user(struct front *f, const char *name)
{
    return DONE(f->w, CMD(USER_CREATE, user_create, .username = str_from(name),
                          .is_admin = strcmp(name, "admin") == 0,
                          .password_hash = password_param_hash()));
}

static inline struct front *front_open(void)
{
    struct front *f = calloc(1, sizeof *f);
    CHECK(f != NULL);
    f->w = world_open();
    f->trouble = "";
    CHECK(uv_loop_init(&f->loop) == 0);
    f->passwords = passwords_new(&f->loop);
    CHECK(f->passwords != NULL);
    f->engine = (struct api_engine){.self = f,
                                    .core = front_core,
                                    .newest_core = front_newest_core,
                                    .seen = front_seen,
                                    .durable = front_durable,
                                    .now_ms = front_now_ms,
                                    .mono_ms = front_mono_ms,
                                    .stamp_ms = front_stamp_ms,
                                    .submit = front_submit,
                                    .is_ready = front_is_ready,
                                    .is_stalled = front_is_stalled,
                                    .trouble = front_trouble};
    f->api = api_new(f->engine, f->passwords);
    f->bearer = front_token(f, front_user(f, "admin"), 0);
    world_collect(f->w);
    return f;
}

static inline void front_close(struct front *f)
{
    passwords_free(f->passwords);
    api_free(f->api);
    CHECK(uv_run(&f->loop, UV_RUN_DEFAULT) == 0);
    CHECK(uv_loop_close(&f->loop) == 0);
    for (uint32_t i = 0; i < f->all_count; i++) {
        CHECK(f->all[i]->answers == 1);
        arena_fini(&f->all[i]->kept);
        free(f->all[i]);
    }
    world_close(f->w);
    free(f);
}
