/* hooks_loop.h - the loop as far as the hooks see it: it wakes, knows one node, and keeps what
 * it hears.
 *
 * A test opens one, loads code, delivers, asks or calls, and reads what was heard, in order. Texts
 * live until it is closed, and so do the files of code.
 */
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

struct heard {
    bool failed;
    struct str text;
    struct command command; /* OUTBOX_DONE, or of a run */
    uint64_t key;           /* token of answers, or key of a call; 0 for a command */
    struct answer *answers;
    uint32_t count;
    struct hooks_result result;
};

struct loop {
    struct hooks *hooks;
    struct hooks_port port;
    struct arena arena;
    char folder[40];
    pthread_t owner; /* whoever is the loop */
    sem_t woken;
    sem_t held;  /* the thread says that it waits */
    sem_t go_on; /* for this, in each wake while is_held */
    atomic_bool is_held;
    _Atomic int64_t now_ms; /* never goes by itself */
    int64_t facts_ms;       /* how long it takes to make facts */
    uint32_t facts_pad;     /* bytes more in each argument */
    bool is_full;           /* answers are not taken */
    uint32_t taken_max;     /* so many more are, if it is not 0 */
    bool is_gone;           /* what rows are about does not exist any more */
    const char *name;       /* of all roles; NULL: nobody knows */
    uint32_t facts_made, prepared;
    struct transitions *transitions; /* what calls are for; NULL = they are heard */
    struct heard *heard;
    uint32_t heard_count, heard_cap;
    uint32_t file_count, loaded_count;
    int64_t loaded_role; /* the last of them, and what was said of it */
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

static inline struct heard *hear(struct loop *l)
{
    if (l->heard_count == l->heard_cap) {
        l->heard_cap = l->heard_cap ? l->heard_cap * 2 : 64;
        l->heard = realloc(l->heard, l->heard_cap * sizeof *l->heard);
        CHECK(l->heard);
    }
    struct heard *heard = &l->heard[l->heard_count++];
    *heard = (struct heard){0};
    return heard;
}

static inline err submit(void *self, const struct command *command)
{
    struct loop *l = self;
    if (l->is_full)
        return ERR_LIMIT;
    if (l->taken_max)
        l->is_full = --l->taken_max == 0;
    struct heard *heard = hear(l);
    heard->command = command_copy(&l->arena, command);
    if (command->kind == COMMAND_OUTBOX_DONE) {
        heard->failed = command->outbox_done.failed;
        heard->text = heard->command.outbox_done.text;
    }
    return OK;
}

static inline err answer(void *self, uint64_t token, const struct answer *answers, uint32_t count)
{
    struct loop *l = self;
    if (l->is_full)
        return ERR_LIMIT;
    struct heard *heard = hear(l);
    heard->key = token;
    heard->count = count;
    heard->answers = arena_copy(&l->arena, answers, sizeof *answers * count);
    for (uint32_t i = 0; i < count; i++)
        heard->answers[i].text = str_copy(&l->arena, answers[i].text);
    return ERR_NOT_FOUND; /* nobody waits any more: that is not the hooks' business */
}

static inline void called(void *self, uint64_t key, const struct hooks_result *result)
{
    struct loop *l = self;
    if (l->transitions) {
        transitions_called(l->transitions, key, result);
        return;
    }
    struct heard *heard = hear(l);
    heard->key = key;
    heard->failed = result->failed;
    heard->text = str_copy(&l->arena, result->text);
    heard->result = *result;
    heard->result.done.runlog = str_copy(&l->arena, result->done.runlog);
    heard->result.done.wall = str_copy(&l->arena, result->done.wall);
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
    const struct hooks_seams seams = {.self = l,
                                      .wake = wake,
                                      .mono_ms = mono_ms,
                                      .prepare = prepare,
                                      .facts = facts,
                                      .find = find,
                                      .submit = submit,
                                      .answer = answer,
                                      .called = called,
                                      .loaded = loaded};
    l->hooks = hooks_open(seams, limits);
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
    free(l->heard);
    free(l);
}

/* A new file each time: nobody knows when it is read. */
static inline void load_later(struct loop *l, int64_t role_id, const char *source)
{
    l->file_count++;
    CHECK(mkdir(path_of(l, ""), 0700) == 0);
    CHECK(file_write(path_of(l, "/r.lua"), str_from(source), 0600) == OK);
    hooks_load(l->hooks, role_id, path_of(l, "/r.lua"));
}

/* Until it was said what came of the next file. */
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
    memset(name, 'x', sizeof name); /* texts live for the call */
}

static inline void deliver(struct loop *l, int64_t id, int64_t role_id, enum hook hook)
{
    deliver_about(l, id, role_id, hook, id);
}

/* About one of two roles, alternating hooks. */
static inline void ask(struct loop *l, uint64_t token, uint32_t count)
{
    struct hook_question questions[3];
    char argument[] = "{\"data\":{},\"node\":\"n1\"}";
    CHECK(count <= 3);
    for (uint32_t i = 0; i < count; i++)
        questions[i] = (struct hook_question){.key = token * 10 + i,
                                              .hook = i == 1 ? HOOK_NODE_BIND : HOOK_COMMIT,
                                              .role_id = i == 2 ? 4 : 3,
                                              .argument = str_from(argument)};
    l->port.ask(l->port.self, token, questions, count);
    memset(argument, 'x', sizeof argument);
}

/* Keeps the thread in wake() after this job, until release(). Nothing may wait. */
static inline void hold(struct loop *l)
{
    CHECK(!hooks_settle(l->hooks)); /* it may be in there because of an earlier one */
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

/* Until so many answers were heard. */
static inline void run(struct loop *l, uint32_t count)
{
    while (l->heard_count < count) {
        if (!hooks_pump(l->hooks))
            CHECK(sem_wait(&l->woken) == 0);
    }
    CHECK(l->heard_count == count);
}

static inline bool has(struct loop *l, struct str text, const char *part)
{
    return strstr(str_z(&l->arena, text), part) != NULL;
}
