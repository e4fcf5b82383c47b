#include "hooks/transition.h"

#include <stdlib.h>
#include <string.h>

/* One attempt of one run. Those that are not done yet are found by name too; one that was cancelled
 * has lost its name and only waits for its turn to be forgotten. */
struct transition {
    struct transition *next;        /* in its line   */
    struct transition *next_in_row; /* in its bucket */
    int64_t run_id;
    uint32_t attempt;
    int64_t noderole_id;
    uint64_t key; /* of its call */
    bool is_cancelled;
    struct str data;
    char data_bytes[];
};

/* First come, first served. */
struct line {
    struct transition *first;
    struct transition *last;
};

struct reply {
    struct reply *next;
    struct arena arena;
    struct command command;
};

struct transitions {
    struct hooks *hooks;
    struct transition_seams seams;
    int64_t epoch; /* the highest that gave an order */
    uint64_t last_key;
    struct line ordered; /* not called yet                                            */
    struct line called;  /* in the hands of the hooks, which answer as they get round to it */
    struct transition **buckets;
    uint32_t bucket_count; /* a power of two, or 0 */
    uint32_t count;        /* with a name          */
    struct reply *first_reply;
    struct reply *last_reply;
    bool is_due;
};

/* ---- lines and names ---- */

static void line_add(struct line *line, struct transition *one)
{
    one->next = NULL;
    if (line->last)
        line->last->next = one;
    else
        line->first = one;
    line->last = one;
}

static struct transition *line_take(struct line *line)
{
    struct transition *one = line->first;
    if (one) {
        line->first = one->next;
        if (!line->first)
            line->last = NULL;
    }
    return one;
}

/* The one whose call has that key; there are never many. */
static struct transition *line_take_key(struct line *line, uint64_t key)
{
    struct transition *before = NULL, *one = line->first;
    for (; one && one->key != key; one = one->next)
        before = one;
    must(one);
    if (!before)
        return line_take(line);
    before->next = one->next;
    if (line->last == one)
        line->last = before;
    return one;
}

static struct transition **bucket_of(const struct transitions *t, int64_t run_id)
{
    const uint64_t mixed = (uint64_t)run_id * 0x9e3779b97f4a7c15u;
    return &t->buckets[(mixed >> 32) & (t->bucket_count - 1)];
}

/* Where the one of that name hangs; NULL when there is none. */
static struct transition **find(const struct transitions *t, int64_t run_id, uint32_t attempt)
{
    if (!t->count)
        return NULL;
    struct transition **at = bucket_of(t, run_id);
    while (*at && ((*at)->run_id != run_id || (*at)->attempt != attempt))
        at = &(*at)->next_in_row;
    return *at ? at : NULL;
}

static void grow(struct transitions *t)
{
    struct transition **old = t->buckets;
    const uint32_t old_count = t->bucket_count;
    t->bucket_count = old_count ? old_count * 2 : 64;
    t->buckets = calloc(t->bucket_count, sizeof *t->buckets);
    must(t->buckets);
    for (uint32_t i = 0; i < old_count; i++)
        while (old[i]) {
            struct transition *one = old[i];
            old[i] = one->next_in_row;
            struct transition **at = bucket_of(t, one->run_id);
            one->next_in_row = *at;
            *at = one;
        }
    free(old);
}

static void give_name(struct transitions *t, struct transition *one)
{
    if (t->count == t->bucket_count)
        grow(t);
    struct transition **at = bucket_of(t, one->run_id);
    one->next_in_row = *at;
    *at = one;
    t->count++;
}

static void lose_name(struct transitions *t, struct transition **at)
{
    *at = (*at)->next_in_row;
    t->count--;
}

bool transitions_has(const struct transitions *t, int64_t run_id, uint32_t attempt)
{
    return find(t, run_id, attempt) != NULL;
}

/* ---- answers ---- */

static void say(struct transitions *t, const struct command *command)
{
    struct reply *reply = calloc(1, sizeof *reply);
    must(reply);
    reply->command = command_copy(&reply->arena, command);
    reply->command.actor = STR("role code");
    if (t->last_reply)
        t->last_reply->next = reply;
    else
        t->first_reply = reply;
    t->last_reply = reply;
    t->is_due = true;
}

static void drop_first_reply(struct transitions *t)
{
    struct reply *reply = t->first_reply;
    t->first_reply = reply->next;
    if (!t->first_reply)
        t->last_reply = NULL;
    arena_fini(&reply->arena);
    free(reply);
}

static void say_begun(struct transitions *t, const struct transition *one)
{
    struct command command = {.kind = COMMAND_RUN_BEGUN};
    command.run_begun.run_id = one->run_id;
    command.run_begun.attempt = one->attempt;
    command.run_begun.job = STR("lua");
    say(t, &command);
}

static void say_stopped(struct transitions *t, const struct run_order *order)
{
    struct command command = {.kind = COMMAND_RUN_STOPPED};
    command.run_stopped.run_id = order->run_id;
    command.run_stopped.attempt = order->attempt;
    say(t, &command);
}

/* It is over. */
static void say_done(struct transitions *t, struct transition *one,
                     const struct run_done_command *done)
{
    struct command command = {.kind = COMMAND_RUN_DONE, .run_done = *done};
    command.run_done.run_id = one->run_id;
    command.run_done.attempt = one->attempt;
    say(t, &command);
    struct transition **at = find(t, one->run_id, one->attempt);
    must(at && *at == one);
    lose_name(t, at);
    free(one);
}

static bool hand_over(struct transitions *t)
{
    bool any = false;
    while (t->first_reply &&
           t->seams.submit(t->seams.self, &t->first_reply->command) != ERR_LIMIT) {
        drop_first_reply(t);
        any = true;
    }
    return any;
}

/* ---- orders come in ---- */

/* Whoever leads no more has nothing to order. */
static bool is_heard(struct transitions *t, const struct run_order *order)
{
    if (order->epoch < t->epoch)
        return false;
    t->epoch = order->epoch;
    return true;
}

/* A repeat of what is under way needs nothing more: it will be answered. One of what is over is
 * done once more, and the core takes the first answer. */
static void start(void *self, const struct run_order *order)
{
    struct transitions *t = self;
    if (!is_heard(t, order) || transitions_has(t, order->run_id, order->attempt))
        return;
    struct transition *one = calloc(1, sizeof *one + order->data.len);
    must(one);
    one->run_id = order->run_id;
    one->attempt = order->attempt;
    one->noderole_id = order->noderole_id;
    one->data = (struct str){one->data_bytes, order->data.len};
    if (order->data.len)
        memcpy(one->data_bytes, order->data.at, order->data.len);
    give_name(t, one);
    line_add(&t->ordered, one);
    t->is_due = true;
}

/* Nothing that its code still does is seen by anybody. */
static void cancel(void *self, const struct run_order *order)
{
    struct transitions *t = self;
    if (!is_heard(t, order))
        return;
    struct transition **at = find(t, order->run_id, order->attempt);
    if (at) {
        (*at)->is_cancelled = true;
        lose_name(t, at);
    }
    say_stopped(t, order);
}

struct runner_port transitions_port(struct transitions *t)
{
    return (struct runner_port){.self = t, .start = start, .cancel = cancel, .query = start};
}

/* ---- the work ---- */

static void call(struct transitions *t, struct transition *one, struct arena *arena)
{
    struct hooks_facts facts = {.context = one->data};
    int64_t role_id;
    must(line_take(&t->ordered) == one);
    if (!t->seams.facts(t->seams.self, one->noderole_id, arena, &facts.argument, &role_id)) {
        say_done(t, one,
                 &(struct run_done_command){.result = RESULT_FAILED,
                                            .reason = REASON_NOT_STARTED,
                                            .runlog = STR("its noderole does not exist any more")});
        return;
    }
    one->key = ++t->last_key;
    must(hooks_call(t->hooks, role_id, &facts, one->key) == OK); /* there was room */
    line_add(&t->called, one);
    say_begun(t, one);
}

/* True: it broke off, since what runs are told may be large, and there is more to call. */
static bool call_ordered(struct transitions *t)
{
    struct arena arena = {0};
    const bool has_clock = t->seams.mono_ms != NULL;
    const int64_t due_ms = has_clock ? t->seams.mono_ms(t->seams.self) + HOOKS_PUMP_MS : 0;
    bool is_late = false;
    while (!is_late && t->ordered.first && hooks_takes_calls(t->hooks)) {
        if (t->ordered.first->is_cancelled)
            free(line_take(&t->ordered));
        else
            call(t, t->ordered.first, &arena);
        arena_reset(&arena);
        is_late = has_clock && t->seams.mono_ms(t->seams.self) >= due_ms;
    }
    arena_fini(&arena);
    return is_late && t->ordered.first && hooks_takes_calls(t->hooks);
}

void transitions_called(struct transitions *t, uint64_t key, const struct hooks_result *result)
{
    struct transition *one = line_take_key(&t->called, key);
    t->is_due = true;
    if (one->is_cancelled)
        free(one);
    else
        say_done(t, one, &result->done);
}

bool transitions_pump(struct transitions *t)
{
    t->is_due = call_ordered(t);
    if (t->is_due)
        t->seams.wake(t->seams.self);
    return hand_over(t);
}

bool transitions_is_due(const struct transitions *t)
{
    return t->is_due;
}

/* ---- from new to free ---- */

struct transitions *transitions_new(struct hooks *hooks, struct transition_seams seams)
{
    struct transitions *t = calloc(1, sizeof *t);
    must(t);
    t->hooks = hooks;
    t->seams = seams;
    return t;
}

static void line_drop(struct line *line)
{
    for (struct transition *one = line_take(line); one; one = line_take(line))
        free(one);
}

void transitions_free(struct transitions *t)
{
    if (!t)
        return;
    line_drop(&t->ordered);
    line_drop(&t->called);
    while (t->first_reply)
        drop_first_reply(t);
    free(t->buckets);
    free(t);
}
