/* hammer_ops.c - the queue of orders, their dispatch to drivers, and their end.
 *
 * Owned here: every `struct power_op`, which is an order and its state. It is in the queue
 * `waiting` until the dispatcher starts its driver, then in `active`. A zero-length timer runs the
 * dispatcher, so that neither hammers_submit() nor the callback of a result starts a driver on the
 * stack of the caller.
 *
 * Order of an end: the operation leaves its queue and its driver releases its resources (stop),
 * secrets are overwritten, the handles are closed, and only then is the result delivered, so that
 * the callback may submit the next order for the same node. The memory is freed when libuv has
 * closed both timers; the result may therefore point into the arena of the operation.
 *
 * Failure: a method that no hammer offers, a wrong field and an unknown driver end the operation
 * before a driver is started. At the deadline it ends as HAMMER_END_TIMEOUT, in the queue or in its
 * driver. Nothing is repeated here. Without memory for an order the process aborts.
 */
#include "power/hammer/hammer_ops.h"

#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/buf.h"
#include "power/hammer/http_client.h"
#include "power/hammer/power_op.h"
#include "power/hammer/secret_files.h"
#include "sys/clock.h"
#include "sys/log.h"

enum {
    PARALLEL_MAX_DEFAULT = 128,
    READINGS_MAX_DEFAULT = 64,
    DEADLINE_MS_DEFAULT = 60 * 1000,
    QUEUE_MS_DEFAULT = 5 * 60 * 1000
};

struct power_op_queue {
    struct power_op *first;
    struct power_op **last;
    uint32_t count;
};

struct hammers {
    uv_loop_t *loop;
    struct hammers_options options;
    struct hammers_callbacks callbacks;
    struct http_client *http;
    struct power_op_queue active;
    uint32_t readings; /* in `active` */
    struct power_op_queue waiting;
    uv_timer_t dispatch_timer; /* runs the dispatcher */
    bool is_closing;
};

enum reason_code hammer_end_reason(enum hammer_end end)
{
    static const enum reason_code codes[HAMMER_END_COUNT] = {
        [HAMMER_END_REFUSED] = REASON_POWER_REFUSED,
        [HAMMER_END_UNREACHABLE] = REASON_POWER_UNREACHABLE,
        [HAMMER_END_TIMEOUT] = REASON_POWER_TIMEOUT,
        [HAMMER_END_TLS] = REASON_POWER_TLS,
        [HAMMER_END_AUTH] = REASON_POWER_AUTH,
        [HAMMER_END_NOT_FOUND] = REASON_POWER_SETTING,
        [HAMMER_END_NOT_OFFERED] = REASON_POWER_NOT_OFFERED,
        [HAMMER_END_BUSY] = REASON_POWER_BUSY,
        [HAMMER_END_BAD_ANSWER] = REASON_POWER_FAILED,
        [HAMMER_END_LOST] = REASON_POWER_LOST,
        [HAMMER_END_FAILED] = REASON_POWER_FAILED,
        [HAMMER_END_SETTING] = REASON_POWER_SETTING,
    };
    return codes[end];
}

const char *hammer_end_word(enum hammer_end end)
{
    static const char *const words[] = {
#define X(name, word) [HAMMER_END_##name] = #word,
        HAMMER_ENDS(X)
#undef X
    };
    must(end < HAMMER_END_COUNT);
    return words[end];
}

/* ---- queues ---- */

static void op_queue_append(struct power_op_queue *l, struct power_op *op)
{
    op->next = NULL;
    op->link = l->last;
    *l->last = op;
    l->last = &op->next;
    l->count++;
}

static void op_queue_remove(struct power_op_queue *l, struct power_op *op)
{
    *op->link = op->next;
    if (op->next)
        op->next->link = op->link;
    else
        l->last = op->link;
    l->count--;
}

static bool hammers_is_node_busy(const struct hammers *h, int64_t node_id)
{
    for (const struct power_op *op = h->active.first; op; op = op->next)
        if (op->order.node_id == node_id && !op->order.is_reading)
            return true;
    return false;
}

/* ---- end of an operation ---- */

static void power_op_on_handle_closed(uv_handle_t *handle)
{
    struct power_op *op = handle->data;
    if (--op->open_handles > 0)
        return;
    arena_fini(&op->arena);
    free(op);
}

/* Secrets must not remain in memory that is reused. */
void power_op_wipe(struct str secret)
{
    if (secret.len)
        explicit_bzero((void *)(uintptr_t)secret.at, secret.len);
}

static void power_op_close(struct power_op *op)
{
    op->has_ended = true;
    op_queue_remove(op->klass ? &op->hammers->active : &op->hammers->waiting, op);
    if (op->klass && op->order.is_reading)
        op->hammers->readings--;
    if (op->klass)
        op->klass->stop(op);
    for (uint32_t i = 0; i < op->order.hammer_count; i++)
        power_op_wipe(op->order.hammers[i].authenticator);
    uv_close((uv_handle_t *)&op->deadline, power_op_on_handle_closed);
    uv_close((uv_handle_t *)&op->pause, power_op_on_handle_closed);
}

static void hammers_on_dispatch(uv_timer_t *timer);

static void hammers_request_dispatch(struct hammers *h)
{
    must(uv_timer_start(&h->dispatch_timer, hammers_on_dispatch, 0, 0) == 0);
}

static void power_op_finish(struct power_op *op, const struct hammer_result *result)
{
    struct hammers *h = op->hammers;
    const uint64_t key = op->order.key;
    must(!op->has_ended);
    power_op_close(op); /* the memory lives until the loop has closed the timers */
    hammers_request_dispatch(h);
    h->callbacks.done(h->callbacks.self, key, result);
}

__attribute__((format(printf, 2, 0))) static struct str power_op_vformat(struct power_op *op,
                                                                         const char *format,
                                                                         va_list args)
{
    va_list again;
    va_copy(again, args);
    const int len = vsnprintf(NULL, 0, format, args);
    must(len >= 0);
    char *text = arena_alloc(&op->arena, (size_t)len + 1);
    ignore(vsnprintf(text, (size_t)len + 1, format, again) < 0, "the first call succeeded");
    va_end(again);
    return (struct str){text, (uint32_t)len};
}

struct str power_op_format(struct power_op *op, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const struct str text = power_op_vformat(op, format, args);
    va_end(args);
    return text;
}

void power_op_end(struct power_op *op, const struct json *value, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const struct hammer_result result = {
        .end = HAMMER_END_DONE,
        .text = power_op_clean(op, power_op_vformat(op, format, args)),
        .value = value ? json_write(&op->arena, value) : STR("null"),
    };
    va_end(args);
    power_op_finish(op, &result);
}

void power_op_fail(struct power_op *op, enum hammer_end end, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const struct hammer_result result = {.end = end,
                                         .text =
                                             power_op_clean(op, power_op_vformat(op, format, args)),
                                         .value = STR("null"),
                                         .ended_in_queue = !op->klass};
    va_end(args);
    power_op_finish(op, &result);
}

static void power_op_on_deadline(uv_timer_t *timer)
{
    struct power_op *op = timer->data;
    const struct str doing =
        op->klass ? op->activity : STR("it waited in the queue behind other orders");
    const char *then = op->observation.len && doing.len ? "; since then: " : "";
    const bool is_queued_reading = !op->klass && op->order.is_reading;
    power_op_fail(op, HAMMER_END_TIMEOUT,
                  "%.*s of node \"%.*s\" did not end within %u ms: %.*s%s%.*s",
                  STR_FMT_ARGS(op->order.method), STR_FMT_ARGS(op->order.node_name),
                  is_queued_reading ? op->order.queue_ms : op->order.deadline_ms,
                  STR_FMT_ARGS(op->observation), then, STR_FMT_ARGS(doing));
}

static void power_op_start_deadline(struct power_op *op, uint32_t ms)
{
    op->deadline_ms = sys_mono_ms() + ms;
    uv_update_time(op->hammers->loop);
    must(uv_timer_start(&op->deadline, power_op_on_deadline, ms, 0) == 0);
}

/* ---- dispatch ---- */

static const struct power_op_class *power_op_class_find(struct str klass)
{
    static const struct power_op_class *const classes[] = {&ipmi_class, &local_class,
                                                           &redfish_class, &ssh_class, &wol_class};
    const struct hammer_class *found = hammer_class_find(klass);
    for (uint32_t i = 0; found && i < sizeof classes / sizeof *classes; i++)
        if (str_eq(str_from(classes[i]->name), str_from(found->name)))
            return classes[i];
    return NULL;
}

static void power_op_stop_nothing(struct power_op *op)
{
    (void)op;
}

/* The class of operations that fail before a driver is started. */
static const struct power_op_class no_class = {.name = "none", .stop = power_op_stop_nothing};

static const struct json *power_op_read_object(struct power_op *op, struct str text,
                                               const char *what)
{
    struct json *value;
    uint32_t at;
    const char *why;
    if (text.len == 0)
        return json_make(&op->arena, JSON_OBJECT);
    if (json_read(&op->arena, text, &value, &at, &why) != OK)
        power_op_fail(op, HAMMER_END_SETTING, "%s is not JSON: %s at byte %u", what, why, at);
    else if (value->kind != JSON_OBJECT)
        power_op_fail(op, HAMMER_END_SETTING, "%s is not a JSON object", what);
    else
        return value;
    return NULL;
}

static void power_op_start(struct power_op *op)
{
    const struct hammer_order *o = &op->order;
    const uint32_t chosen = hammers_choose(o->hammers, o->hammer_count, o->category, o->method);
    op->klass = &no_class; /* not NULL: the operation is in `active`, also if it fails below */
    if (chosen == o->hammer_count) {
        const struct str all = hammers_methods(&op->arena, o->hammers, o->hammer_count);
        power_op_fail(op, HAMMER_END_NOT_OFFERED,
                      "no hammer of node \"%.*s\" offers %s %.*s; they offer %.*s",
                      STR_FMT_ARGS(o->node_name), hammer_category_name(o->category),
                      STR_FMT_ARGS(o->method), STR_FMT_ARGS(all));
        return;
    }
    op->hammer = o->hammers[chosen];
    op->extra = power_op_read_object(op, op->hammer.extra, "\"extra\" of the hammer");
    if (!op->extra)
        return;
    op->args = power_op_read_object(op, o->args, "\"args\" of the order");
    if (!op->args)
        return;
    const struct power_op_class *klass = power_op_class_find(op->hammer.klass);
    if (!klass) {
        power_op_fail(op, HAMMER_END_NOT_OFFERED,
                      "this version has no driver for hammers of class \"%.*s\"",
                      STR_FMT_ARGS(op->hammer.klass));
        return;
    }
    op->klass = klass;
    klass->start(op);
}

static bool hammers_may_start(const struct hammers *h, const struct power_op *op)
{
    if (op->order.is_reading)
        return h->readings < h->options.readings_max;
    return h->active.count - h->readings < h->options.parallel_max &&
           !hammers_is_node_busy(h, op->order.node_id);
}

static struct power_op *hammers_next_startable(struct hammers *h)
{
    const bool is_full = h->active.count == h->options.parallel_max + h->options.readings_max;
    for (struct power_op *op = is_full ? NULL : h->waiting.first; op; op = op->next)
        if (hammers_may_start(h, op))
            return op;
    return NULL;
}

/* The search starts at the head of the queue each time, because power_op_start() may end the
 * operation and call back, and the callback may submit or cancel other orders. */
static void hammers_on_dispatch(uv_timer_t *timer)
{
    struct hammers *h = timer->data;
    for (struct power_op *op = hammers_next_startable(h); op; op = hammers_next_startable(h)) {
        op_queue_remove(&h->waiting, op);
        op_queue_append(&h->active, op);
        h->readings += op->order.is_reading;
        /* The time in the queue is no property of the machine, so the deadline starts anew. */
        if (op->order.is_reading)
            power_op_start_deadline(op, op->order.deadline_ms);
        power_op_start(op);
    }
}

static void power_op_copy_order(struct power_op *op, const struct hammer_order *order)
{
    struct arena *a = &op->arena;
    struct hammer_bound *hammers = arena_array(a, struct hammer_bound, order->hammer_count);
    for (uint32_t i = 0; i < order->hammer_count; i++) {
        const struct hammer_bound *from = &order->hammers[i];
        hammers[i] = (struct hammer_bound){
            .klass = str_copy(a, from->klass),
            .priority = from->priority,
            .endpoint = str_copy(a, from->endpoint),
            .username = str_copy(a, from->username),
            .authenticator = str_copy(a, from->authenticator),
            .extra = str_copy(a, from->extra),
        };
    }
    op->order = *order;
    op->order.hammers = hammers;
    op->order.node_name = str_copy(a, order->node_name);
    op->order.method = str_copy(a, order->method);
    op->order.args = str_copy(a, order->args);
    if (op->order.deadline_ms == 0)
        op->order.deadline_ms = DEADLINE_MS_DEFAULT;
    if (op->order.queue_ms == 0)
        op->order.queue_ms = QUEUE_MS_DEFAULT;
}

void hammers_submit(struct hammers *h, const struct hammer_order *order)
{
    struct power_op *op = calloc(1, sizeof *op);
    must(op && !h->is_closing);
    op->hammers = h;
    power_op_copy_order(op, order);
    op->activity = STR("no response yet");
    must(uv_timer_init(h->loop, &op->deadline) == 0 && uv_timer_init(h->loop, &op->pause) == 0);
    op->open_handles = 2;
    op->deadline.data = op->pause.data = op;
    power_op_start_deadline(op, order->is_reading ? op->order.queue_ms : op->order.deadline_ms);
    op_queue_append(&h->waiting, op);
    hammers_request_dispatch(h);
}

static struct power_op *op_queue_find(struct power_op *first, uint64_t key)
{
    while (first && first->order.key != key)
        first = first->next;
    return first;
}

void hammers_cancel(struct hammers *h, uint64_t key)
{
    struct power_op *op = op_queue_find(h->active.first, key);
    if (!op)
        op = op_queue_find(h->waiting.first, key);
    must(op);
    power_op_close(op);
    hammers_request_dispatch(h);
}

uint32_t hammers_pending(const struct hammers *h)
{
    return h->active.count + h->waiting.count;
}

/* ---- services for drivers ---- */

struct spawn_ops *power_op_spawn_ops(struct power_op *op)
{
    return &op->hammers->callbacks.spawn;
}

struct http_client *power_op_http_client(struct power_op *op)
{
    return op->hammers->http;
}

const struct hammers_options *power_op_options(const struct power_op *op)
{
    return &op->hammers->options;
}

int64_t power_op_left_ms(const struct power_op *op)
{
    const int64_t left = op->deadline_ms - sys_mono_ms();
    return left > 0 ? left : 0;
}

static void power_op_on_pause(uv_timer_t *timer)
{
    struct power_op *op = timer->data;
    op->after_pause(op);
}

void power_op_pause(struct power_op *op, int64_t ms, void (*then)(struct power_op *op))
{
    op->after_pause = then;
    uv_update_time(op->hammers->loop);
    must(uv_timer_start(&op->pause, power_op_on_pause, (uint64_t)ms, 0) == 0);
}

void power_op_set_activity(struct power_op *op, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    op->activity = power_op_vformat(op, format, args);
    va_end(args);
}

void power_op_set_observation(struct power_op *op, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    op->observation = power_op_vformat(op, format, args);
    va_end(args);
    op->activity = (struct str){0};
}

void power_op_clear_observation(struct power_op *op)
{
    op->observation = (struct str){0};
}

/* ---- open and close ---- */

static char *hammers_copy_path(const char *path)
{
    return path ? strdup(path) : NULL;
}

static void hammers_on_timer_closed(uv_handle_t *handle)
{
    struct hammers *h = handle->data;
    free((void *)(uintptr_t)h->options.scratch);
    free((void *)(uintptr_t)h->options.ssh_key);
    free(h);
}

struct hammers *hammers_open(uv_loop_t *loop, const struct hammers_options *options,
                             struct hammers_callbacks callbacks)
{
    if (!secret_file_sweep(options->scratch) || curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
        return NULL;
    struct hammers *h = calloc(1, sizeof *h);
    struct http_client *http = h ? http_client_open(loop) : NULL;
    if (!http) {
        free(h);
        curl_global_cleanup();
        return NULL;
    }
    h->loop = loop;
    h->http = http;
    h->options = *options;
    h->options.scratch = hammers_copy_path(options->scratch);
    h->options.ssh_key = hammers_copy_path(options->ssh_key);
    if (h->options.parallel_max == 0)
        h->options.parallel_max = PARALLEL_MAX_DEFAULT;
    if (h->options.readings_max == 0)
        h->options.readings_max = READINGS_MAX_DEFAULT;
    h->callbacks = callbacks;
    if (!h->callbacks.spawn.start)
        h->callbacks.spawn = spawn_ops_default(loop);
    h->active.last = &h->active.first;
    h->waiting.last = &h->waiting.first;
    must(h->options.scratch && uv_timer_init(loop, &h->dispatch_timer) == 0);
    h->dispatch_timer.data = h;
    return h;
}

void hammers_close(struct hammers *h)
{
    h->is_closing = true;
    while (h->waiting.first)
        power_op_close(h->waiting.first);
    while (h->active.first)
        power_op_close(h->active.first);
    http_client_close(h->http);
    curl_global_cleanup();
    uv_close((uv_handle_t *)&h->dispatch_timer, hammers_on_timer_closed);
}
