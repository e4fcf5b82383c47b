#include "hooks/transition.h"

#include <stdlib.h>
#include <string.h>

/* Owns the pending attempts and the replies that were not accepted yet. An attempt is in one of two
 * queues, `ordered` (not called yet) or `called` (with the hooks), and in the hash table by (run
 * id, attempt) unless it was cancelled. A cancelled one stays in its queue, without an entry in the
 * table, until it would be called or its call has ended; its result is ignored.
 *
 * Order: the start of a run is queued as a reply when it is called, so before its end. Replies are
 * submitted in this order, and wait while the turn refuses them with ERR_LIMIT. Failure: a run
 * whose noderole was deleted fails; while too many calls are pending, attempts wait in `ordered`.
 */

/* One attempt of a run. */
struct transition {
    struct transition *next;           /* in its queue */
    struct transition *next_in_bucket; /* hash chain */
    int64_t run_id;
    uint32_t attempt;
    int64_t noderole_id;
    uint64_t key; /* key of its call */
    bool is_cancelled;
    struct str data;
    char data_bytes[];
};

/* A FIFO queue. */
struct transition_queue {
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
    struct transition_callbacks callbacks;
    int64_t epoch;                   /* the highest epoch of an order */
    uint64_t last_key;               /* of the call that was made last */
    struct transition_queue ordered; /* not called yet */
    struct transition_queue called;  /* called; the hooks report in any order */
    struct transition **buckets;
    uint32_t bucket_count; /* a power of two, or 0 */
    uint32_t count;        /* entries of the hash table */
    struct reply *first_reply;
    struct reply *last_reply;
    bool is_due; /* transitions_is_due */
};

/* ---- queues and hash table ---- */

static void transition_queue_add(struct transition_queue *transition_queue, struct transition *one)
{
    one->next = NULL;
    if (transition_queue->last)
        transition_queue->last->next = one;
    else
        transition_queue->first = one;
    transition_queue->last = one;
}

static struct transition *transition_queue_take(struct transition_queue *transition_queue)
{
    struct transition *one = transition_queue->first;
    if (one) {
        transition_queue->first = one->next;
        if (!transition_queue->first)
            transition_queue->last = NULL;
    }
    return one;
}

/* Remove the entry with this key; the queue is short. */
static struct transition *transition_queue_take_key(struct transition_queue *transition_queue,
                                                    uint64_t key)
{
    struct transition *before = NULL, *one = transition_queue->first;
    for (; one && one->key != key; one = one->next)
        before = one;
    must(one);
    if (!before)
        return transition_queue_take(transition_queue);
    before->next = one->next;
    if (transition_queue->last == one)
        transition_queue->last = before;
    return one;
}

static struct transition **transitions_bucket(const struct transitions *t, int64_t run_id)
{
    const uint64_t mixed = (uint64_t)run_id * 0x9e3779b97f4a7c15u;
    return &t->buckets[(mixed >> 32) & (t->bucket_count - 1)];
}

/* The pointer to the entry; NULL if there is none. */
static struct transition **transitions_find(const struct transitions *t, int64_t run_id,
                                            uint32_t attempt)
{
    if (!t->count)
        return NULL;
    struct transition **at = transitions_bucket(t, run_id);
    while (*at && ((*at)->run_id != run_id || (*at)->attempt != attempt))
        at = &(*at)->next_in_bucket;
    return *at ? at : NULL;
}

static void transitions_grow(struct transitions *t)
{
    struct transition **old = t->buckets;
    const uint32_t old_count = t->bucket_count;
    t->bucket_count = old_count ? old_count * 2 : 64;
    t->buckets = calloc(t->bucket_count, sizeof *t->buckets);
    must(t->buckets);
    for (uint32_t i = 0; i < old_count; i++)
        while (old[i]) {
            struct transition *one = old[i];
            old[i] = one->next_in_bucket;
            struct transition **at = transitions_bucket(t, one->run_id);
            one->next_in_bucket = *at;
            *at = one;
        }
    free(old);
}

static void transitions_insert(struct transitions *t, struct transition *one)
{
    if (t->count == t->bucket_count)
        transitions_grow(t);
    struct transition **at = transitions_bucket(t, one->run_id);
    one->next_in_bucket = *at;
    *at = one;
    t->count++;
}

static void transitions_remove(struct transitions *t, struct transition **at)
{
    *at = (*at)->next_in_bucket;
    t->count--;
}

bool transitions_has(const struct transitions *t, int64_t run_id, uint32_t attempt)
{
    return transitions_find(t, run_id, attempt) != NULL;
}

/* ---- results ---- */

static void transitions_queue_reply(struct transitions *t, const struct command *command)
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

static void transitions_drop_reply(struct transitions *t)
{
    struct reply *reply = t->first_reply;
    t->first_reply = reply->next;
    if (!t->first_reply)
        t->last_reply = NULL;
    arena_fini(&reply->arena);
    free(reply);
}

/* Report the end and free the attempt. */
static void transitions_report_end(struct transitions *t, struct transition *one,
                                   const struct run_done_command *done)
{
    struct command command = {.kind = COMMAND_RUN_DONE, .run_done = *done};
    command.run_done.run_id = one->run_id;
    command.run_done.attempt = one->attempt;
    transitions_queue_reply(t, &command);
    struct transition **at = transitions_find(t, one->run_id, one->attempt);
    must(at && *at == one);
    transitions_remove(t, at);
    free(one);
}

/* ---- orders of the turn ---- */

/* False for an order of a former leader. */
static bool transitions_epoch_is_current(struct transitions *t, const struct run_order *order)
{
    if (order->epoch < t->epoch)
        return false;
    t->epoch = order->epoch;
    return true;
}

/* A repeated order for a pending attempt is ignored: it will be reported. One for an ended attempt
 * is executed again, and the core accepts the first result. */
static void transitions_port_start(void *self, const struct run_order *order)
{
    struct transitions *t = self;
    if (!transitions_epoch_is_current(t, order) ||
        transitions_has(t, order->run_id, order->attempt))
        return;
    struct transition *one = calloc(1, sizeof *one + order->data.len);
    must(one);
    one->run_id = order->run_id;
    one->attempt = order->attempt;
    one->noderole_id = order->noderole_id;
    one->data = (struct str){one->data_bytes, order->data.len};
    if (order->data.len)
        memcpy(one->data_bytes, order->data.at, order->data.len);
    transitions_insert(t, one);
    transition_queue_add(&t->ordered, one);
    t->is_due = true;
}

/* Report the run as stopped at once: the result of its code, if it is still running, is ignored. */
static void transitions_port_cancel(void *self, const struct run_order *order)
{
    struct transitions *t = self;
    if (!transitions_epoch_is_current(t, order))
        return;
    struct transition **at = transitions_find(t, order->run_id, order->attempt);
    if (at) {
        (*at)->is_cancelled = true;
        transitions_remove(t, at);
    }
    struct command stopped = {.kind = COMMAND_RUN_STOPPED};
    stopped.run_stopped.run_id = order->run_id;
    stopped.run_stopped.attempt = order->attempt;
    transitions_queue_reply(t, &stopped);
}

struct runner_port transitions_port(struct transitions *t)
{
    return (struct runner_port){.self = t,
                                .start = transitions_port_start,
                                .cancel = transitions_port_cancel,
                                .query = transitions_port_start};
}

/* ---- calls ---- */

static void transitions_call(struct transitions *t, struct transition *one, struct arena *arena)
{
    struct hooks_facts facts = {.context = one->data};
    int64_t role_id;
    must(transition_queue_take(&t->ordered) == one);
    if (!t->callbacks.facts(t->callbacks.self, one->noderole_id, arena, &facts.argument,
                            &role_id)) {
        transitions_report_end(
            t, one,
            &(struct run_done_command){.result = RESULT_FAILED,
                                       .reason = REASON_NOT_STARTED,
                                       .runlog = STR("its noderole does not exist any more")});
        return;
    }
    one->key = ++t->last_key;
    /* the caller has checked the capacity */
    must(hooks_call(t->hooks, role_id, &facts, one->key) == OK);
    transition_queue_add(&t->called, one);
    struct command begun = {.kind = COMMAND_RUN_BEGUN};
    begun.run_begun.run_id = one->run_id;
    begun.run_begun.attempt = one->attempt;
    begun.run_begun.job = STR("lua");
    transitions_queue_reply(t, &begun);
}

/* Call the ordered attempts. True if the time ran out, because arguments may be large, and more
 * could be called. */
static bool transitions_call_ordered(struct transitions *t)
{
    struct arena arena = {0};
    const bool has_clock = t->callbacks.mono_ms != NULL;
    const int64_t due_ms = has_clock ? t->callbacks.mono_ms(t->callbacks.self) + HOOKS_PUMP_MS : 0;
    bool is_late = false;
    while (!is_late && t->ordered.first && hooks_can_call(t->hooks)) {
        if (t->ordered.first->is_cancelled)
            free(transition_queue_take(&t->ordered));
        else
            transitions_call(t, t->ordered.first, &arena);
        arena_reset(&arena);
        is_late = has_clock && t->callbacks.mono_ms(t->callbacks.self) >= due_ms;
    }
    arena_fini(&arena);
    return is_late && t->ordered.first && hooks_can_call(t->hooks);
}

void transitions_called(struct transitions *t, uint64_t key, const struct hooks_result *result)
{
    struct transition *one = transition_queue_take_key(&t->called, key);
    t->is_due = true;
    if (one->is_cancelled)
        free(one);
    else
        transitions_report_end(t, one, &result->done);
}

bool transitions_pump(struct transitions *t)
{
    t->is_due = transitions_call_ordered(t);
    if (t->is_due)
        t->callbacks.wake(t->callbacks.self);
    /* Submit the replies until the queue of the turn is full. */
    bool any = false;
    while (t->first_reply &&
           t->callbacks.submit(t->callbacks.self, &t->first_reply->command) != ERR_LIMIT) {
        transitions_drop_reply(t);
        any = true;
    }
    return any;
}

bool transitions_is_due(const struct transitions *t)
{
    return t->is_due;
}

/* ---- new and free ---- */

struct transitions *transitions_new(struct hooks *hooks, struct transition_callbacks callbacks)
{
    struct transitions *t = calloc(1, sizeof *t);
    must(t);
    t->hooks = hooks;
    t->callbacks = callbacks;
    return t;
}

static void transition_queue_free(struct transition_queue *transition_queue)
{
    for (struct transition *one = transition_queue_take(transition_queue); one;
         one = transition_queue_take(transition_queue))
        free(one);
}

void transitions_free(struct transitions *t)
{
    if (!t)
        return;
    transition_queue_free(&t->ordered);
    transition_queue_free(&t->called);
    while (t->first_reply)
        transitions_drop_reply(t);
    free(t->buckets);
    free(t);
}
