/* hooks_loop.h - a loop for tests of the hooks: it wakes, has one node, and records results. A test
 * opens one, loads code, delivers rows, requests vetoes or calls, and reads the results in order.
 * Strings live until it is closed. */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hooks/hooks.h"
#include "hooks/transition.h"
#include "sys/files.h"
#include "sys/log.h"
#include "tests/check.h"

struct received {
    bool failed;
    struct str text;
    struct command command; /* OUTBOX_DONE, or of a run */
    uint64_t key;           /* token of answers, or key of a call; 0 for a command */
    struct veto_reply *veto_replies;
    uint32_t count;
    struct hooks_result result;
};

struct loop {
    struct hooks *hooks;
    struct hooks_port port;
    struct arena arena;
    char folder[40];
    pthread_t owner; /* thread of the loop */
    sem_t woken;
    sem_t held;  /* posted by the worker thread when it waits */
    sem_t go_on; /* what it waits for, in each wake while is_held */
    atomic_bool is_held;
    _Atomic int64_t now_ms; /* advanced by tests only */
    int64_t facts_ms;       /* ms that creating facts takes */
    uint32_t facts_pad;     /* additional bytes in each argument */
    bool is_full;           /* results are refused with ERR_LIMIT */
    uint32_t taken_max;     /* number of results still accepted; 0: no limit */
    bool is_gone;           /* the objects of rows are deleted */
    const char *name;       /* name of all roles; NULL: unknown */
    uint32_t facts_made, prepared;
    struct transitions *transitions; /* receives results of calls; NULL: they are recorded */
    struct received *received;
    uint32_t received_count, heard_cap;
    uint32_t file_count, loaded_count;
    int64_t loaded_role; /* the last one loaded, and its report */
    err loaded_error;
    struct hooks_report report;
};

static inline void wake(void *self)
{
    struct loop *l = self;
    sem_post(&l->woken);
    if (atomic_load(&l->is_held) && !pthread_equal(l->owner, pthread_self())) {
        sem_post(&l->held);
        sem_wait(&l->go_on);
    }
}

static inline int64_t mono_ms(void *self)
{
    struct loop *l = self;
    return atomic_load(&l->now_ms);
}

static inline struct str prepare(void *self, int64_t role_id)
{
    struct loop *l = self;
    (void)role_id;
    l->prepared++;
    return str_from(l->name);
}

static inline bool facts(void *self, const struct outbox_record *row, struct arena *arena,
                         struct hooks_facts *out_facts)
{
    struct loop *l = self;
    l->facts_made++;
    atomic_fetch_add(&l->now_ms, l->facts_ms);
    if (l->is_gone)
        return false;
    struct buf b = buf_in(arena);
    buf_put_z(&b, "{\"id\":");
    buf_put_i64(&b, row->object_id);
    buf_put_z(&b, ",\"name\":");
    buf_put_c(&b, '"');
    buf_put_str(&b, row->detail);
    buf_put_c(&b, '"');
    if (l->facts_pad) {
        buf_put_z(&b, ",\"pad\":\"");
        memset(buf_room(&b, l->facts_pad), 'x', l->facts_pad);
        b.len += l->facts_pad;
        buf_put_c(&b, '"');
    }
    buf_put_c(&b, '}');
    out_facts->argument = buf_str(&b);
    out_facts->context = STR("{\"role\":\"r\"}");
    return true;
}

static inline int64_t find(void *self, enum table table, struct str name)
{
    (void)self;
    return table == TABLE_NODE && str_eq(name, STR("n1")) ? 11 : 0;
}

static inline struct received *receive(struct loop *l)
{
    if (l->received_count == l->heard_cap) {
        l->heard_cap = l->heard_cap ? l->heard_cap * 2 : 64;
        l->received = realloc(l->received, l->heard_cap * sizeof *l->received);
        CHECK(l->received);
    }
    struct received *received = &l->received[l->received_count++];
    *received = (struct received){0};
    return received;
}

static inline err submit(void *self, const struct command *command)
{
    struct loop *l = self;
    if (l->is_full)
        return ERR_LIMIT;
    if (l->taken_max)
        l->is_full = --l->taken_max == 0;
    struct received *received = receive(l);
    received->command = command_copy(&l->arena, command);
    if (command->kind == COMMAND_OUTBOX_DONE) {
        received->failed = command->outbox_done.failed;
        received->text = received->command.outbox_done.text;
    }
    return OK;
}

static inline err answer(void *self, uint64_t token, const struct veto_reply *veto_replies,
                         uint32_t count)
{
    struct loop *l = self;
    if (l->is_full)
        return ERR_LIMIT;
    struct received *received = receive(l);
    received->key = token;
    received->count = count;
    received->veto_replies = arena_copy(&l->arena, veto_replies, sizeof *veto_replies * count);
    for (uint32_t i = 0; i < count; i++)
        received->veto_replies[i].text = str_copy(&l->arena, veto_replies[i].text);
    return ERR_NOT_FOUND; /* the request is gone; the hooks ignore that */
}

static inline void called(void *self, uint64_t key, const struct hooks_result *result)
{
    struct loop *l = self;
    if (l->transitions) {
        transitions_called(l->transitions, key, result);
        return;
    }
    struct received *received = receive(l);
    received->key = key;
    received->failed = result->failed;
    received->text = str_copy(&l->arena, result->text);
    received->result = *result;
    received->result.done.runlog = str_copy(&l->arena, result->done.runlog);
    received->result.done.wall = str_copy(&l->arena, result->done.wall);
}

static inline void loaded(void *self, int64_t role_id, err error, const struct hooks_report *report)
{
    struct loop *l = self;
    CHECK(pthread_equal(l->owner, pthread_self()));
    l->loaded_count++;
    l->loaded_role = role_id;
    l->loaded_error = error;
    l->report = *report;
    l->report.text = str_copy(&l->arena, report->text);
    l->report.functions.unknown = str_copy(&l->arena, report->functions.unknown);
}

static inline struct loop *open_loop(struct sandbox_limits limits)
{
    struct loop *l = calloc(1, sizeof *l);
    CHECK(l);
    log_setup(LOG_ERROR, LOG_TEXT);
    snprintf(l->folder, sizeof l->folder, "/tmp/halligan-hooks-XXXXXX");
    CHECK(mkdtemp(l->folder));
    l->owner = pthread_self();
    CHECK(sem_init(&l->woken, 0, 0) == 0 && sem_init(&l->go_on, 0, 0) == 0);
    CHECK(sem_init(&l->held, 0, 0) == 0);
    const struct hooks_callbacks callbacks = {.self = l,
                                              .wake = wake,
                                              .mono_ms = mono_ms,
                                              .prepare = prepare,
                                              .facts = facts,
                                              .find = find,
                                              .submit = submit,
                                              .answer = answer,
                                              .called = called,
                                              .loaded = loaded};
    l->hooks = hooks_open(callbacks, limits);
    CHECK(l->hooks);
    l->port = hooks_port(l->hooks);
    return l;
}

/* The file that was written last. */
static inline const char *path_of(struct loop *l, const char *name)
{
    char path[80];
    snprintf(path, sizeof path, "%s/%u%s", l->folder, l->file_count, name);
    return str_z(&l->arena, str_from(path));
}

static inline void close_loop(struct loop *l)
{
    hooks_close(l->hooks);
    for (; l->file_count; l->file_count--) {
        unlink(path_of(l, "/r.lua"));
        CHECK(rmdir(path_of(l, "")) == 0);
    }
    CHECK(rmdir(l->folder) == 0);
    sem_destroy(&l->woken);
    sem_destroy(&l->go_on);
    sem_destroy(&l->held);
    arena_fini(&l->arena);
    free(l->received);
    free(l);
}

/* A new file each time, because it is read at an unknown time. */
static inline void load_later(struct loop *l, int64_t role_id, const char *source)
{
    l->file_count++;
    CHECK(mkdir(path_of(l, ""), 0700) == 0);
    CHECK(file_write(path_of(l, "/r.lua"), str_from(source), 0600) == OK);
    hooks_load(l->hooks, role_id, path_of(l, "/r.lua"));
}

/* Wait for the report of the next file. */
static inline void run_load(struct loop *l)
{
    const uint32_t before = l->loaded_count;
    while (l->loaded_count == before) {
        CHECK(sem_wait(&l->woken) == 0);
        hooks_pump(l->hooks);
    }
}

static inline err load_file(struct loop *l, int64_t role_id, const char *source,
                            struct hooks_report *out)
{
    load_later(l, role_id, source);
    run_load(l);
    CHECK(l->loaded_role == role_id);
    *out = l->report;
    return l->loaded_error;
}

static inline void load(struct loop *l, int64_t role_id, const char *source)
{
    struct hooks_report report;
    CHECK(load_file(l, role_id, source, &report) == OK && report.has_code);
}

/* A row about node 100 + `node`. */
static inline void deliver_about(struct loop *l, int64_t id, int64_t role_id, enum hook hook,
                                 int64_t node)
{
    char name[20];
    snprintf(name, sizeof name, "n%d", (int)id);
    const struct outbox_record row = {.id = id,
                                      .kind = OUTBOX_HOOK,
                                      .hook = hook,
                                      .role_id = role_id,
                                      .object = TABLE_NODE,
                                      .object_id = 100 + node,
                                      .detail = str_from(name)};
    l->port.deliver(l->port.self, &row);
    memset(name, 'x', sizeof name); /* strings are valid during the call only */
}

static inline void deliver(struct loop *l, int64_t id, int64_t role_id, enum hook hook)
{
    deliver_about(l, id, role_id, hook, id);
}

/* About one of two roles, alternating hooks. */
static inline void ask(struct loop *l, uint64_t token, uint32_t count)
{
    struct veto_request questions[3];
    char argument[] = "{\"data\":{},\"node\":\"n1\"}";
    CHECK(count <= 3);
    for (uint32_t i = 0; i < count; i++)
        questions[i] = (struct veto_request){.key = token * 10 + i,
                                             .hook = i == 1 ? HOOK_NODE_BIND : HOOK_COMMIT,
                                             .role_id = i == 2 ? 4 : 3,
                                             .argument = str_from(argument)};
    l->port.ask(l->port.self, token, questions, count);
    memset(argument, 'x', sizeof argument);
}

/* Hold the thread in wake() after this job, until release(). Nothing may be pending. */
static inline void hold(struct loop *l)
{
    CHECK(!hooks_run_until_idle(l->hooks)); /* it may be there because of an earlier job */
    atomic_store(&l->is_held, true);
    deliver(l, 999, 3, HOOK_TODO);
    CHECK(!hooks_pump(l->hooks));
    CHECK(sem_wait(&l->held) == 0);
}

static inline void release(struct loop *l)
{
    atomic_store(&l->is_held, false);
    sem_post(&l->go_on);
}

/* Pump until this number of results was received. */
static inline void run(struct loop *l, uint32_t count)
{
    while (l->received_count < count) {
        if (!hooks_pump(l->hooks))
            CHECK(sem_wait(&l->woken) == 0);
    }
    CHECK(l->received_count == count);
}

static inline bool has(struct loop *l, struct str text, const char *part)
{
    return strstr(str_z(&l->arena, text), part) != NULL;
}
