/* hammer_ops.c - the line of orders: who is being served, who waits, and how each of them ends. */
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

struct line {
    struct power_op *first;
    struct power_op **last;
    uint32_t count;
};

struct hammers {
    uv_loop_t *loop;
    struct hammers_options options;
    struct hammers_seams seams;
    struct http_client *web;
    struct line served;
    uint32_t readings; /* among those */
    struct line waiting;
    uv_timer_t turn; /* orders start, and some of them end, in a round of their own */
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

/* ---- lines ---- */

static void line_add(struct line *l, struct power_op *w)
{
    w->next = NULL;
    w->link = l->last;
    *l->last = w;
    l->last = &w->next;
    l->count++;
}

static void line_remove(struct line *l, struct power_op *w)
{
    *w->link = w->next;
    if (w->next)
        w->next->link = w->link;
    else
        l->last = w->link;
    l->count--;
}

static bool is_served(const struct hammers *h, int64_t node_id)
{
    for (const struct power_op *w = h->served.first; w; w = w->next)
        if (w->order.node_id == node_id && !w->order.is_reading)
            return true;
    return false;
}

/* ---- a work's life ---- */

static void handle_closed(uv_handle_t *handle)
{
    struct power_op *w = handle->data;
    if (--w->open_handles > 0)
        return;
    arena_fini(&w->arena);
    free(w);
}

/* Secrets do not stay in pages that others will be given. */
void power_op_wipe(struct str secret)
{
    if (secret.len)
        explicit_bzero((void *)(uintptr_t)secret.at, secret.len);
}

static void work_close(struct power_op *w)
{
    w->has_ended = true;
    line_remove(w->klass ? &w->hammers->served : &w->hammers->waiting, w);
    if (w->klass && w->order.is_reading)
        w->hammers->readings--;
    if (w->klass)
        w->klass->stop(w);
    for (uint32_t i = 0; i < w->order.hammer_count; i++)
        power_op_wipe(w->order.hammers[i].authenticator);
    uv_close((uv_handle_t *)&w->deadline, handle_closed);
    uv_close((uv_handle_t *)&w->pause, handle_closed);
}

static void on_turn(uv_timer_t *timer);

static void have_turn(struct hammers *h)
{
    must(uv_timer_start(&h->turn, on_turn, 0, 0) == 0);
}

static void finish(struct power_op *w, const struct hammer_result *result)
{
    struct hammers *h = w->hammers;
    const uint64_t key = w->order.key;
    must(!w->has_ended);
    work_close(w); /* its memory lives until the loop closed its timers */
    have_turn(h);
    h->seams.done(h->seams.self, key, result);
}

__attribute__((format(printf, 2, 0))) static struct str say(struct power_op *w, const char *format,
                                                            va_list args)
{
    va_list again;
    va_copy(again, args);
    const int len = vsnprintf(NULL, 0, format, args);
    must(len >= 0);
    char *text = arena_alloc(&w->arena, (size_t)len + 1);
    ignore(vsnprintf(text, (size_t)len + 1, format, again) < 0, "it could be measured");
    va_end(again);
    return (struct str){text, (uint32_t)len};
}

struct str power_op_say(struct power_op *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const struct str text = say(w, format, args);
    va_end(args);
    return text;
}

void power_op_end(struct power_op *w, const struct json *value, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const struct hammer_result result = {
        .end = HAMMER_END_DONE,
        .text = power_op_clean(w, say(w, format, args)),
        .value = value ? json_write(&w->arena, value) : STR("null"),
    };
    va_end(args);
    finish(w, &result);
}

void power_op_fail(struct power_op *w, enum hammer_end end, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const struct hammer_result result = {.end = end,
                                         .text = power_op_clean(w, say(w, format, args)),
                                         .value = STR("null"),
                                         .is_unserved = !w->klass};
    va_end(args);
    finish(w, &result);
}

static void on_deadline(uv_timer_t *timer)
{
    struct power_op *w = timer->data;
    const struct str doing = w->klass ? w->doing : STR("other orders were served first");
    const char *then = w->seen.len && doing.len ? "; since then: " : "";
    const bool is_queued_reading = !w->klass && w->order.is_reading;
    power_op_fail(w, HAMMER_END_TIMEOUT,
                  "%.*s of node \"%.*s\" did not end within %u ms: %.*s%s%.*s",
                  STR_FMT_ARGS(w->order.method), STR_FMT_ARGS(w->order.node_name),
                  is_queued_reading ? w->order.queue_ms : w->order.deadline_ms,
                  STR_FMT_ARGS(w->seen), then, STR_FMT_ARGS(doing));
}

static void start_deadline(struct power_op *w, uint32_t ms)
{
    w->deadline_ms = sys_mono_ms() + ms;
    uv_update_time(w->hammers->loop);
    must(uv_timer_start(&w->deadline, on_deadline, ms, 0) == 0);
}

/* ---- serving ---- */

static const struct power_op_class *class_named(struct str klass)
{
    static const struct power_op_class *const classes[] = {&ipmi_class, &local_class,
                                                           &redfish_class, &ssh_class, &wol_class};
    const struct hammer_class *found = hammer_class_find(klass);
    for (uint32_t i = 0; found && i < sizeof classes / sizeof *classes; i++)
        if (str_eq(str_from(classes[i]->name), str_from(found->name)))
            return classes[i];
    return NULL;
}

static void stop_nothing(struct power_op *w)
{
    (void)w;
}

/* For orders that fail before any hammer is lifted. */
static const struct power_op_class no_class = {.name = "none", .stop = stop_nothing};

static const struct json *read_object(struct power_op *w, struct str text, const char *what)
{
    struct json *value;
    uint32_t at;
    const char *why;
    if (text.len == 0)
        return json_make(&w->arena, JSON_OBJECT);
    if (json_read(&w->arena, text, &value, &at, &why) != OK)
        power_op_fail(w, HAMMER_END_SETTING, "%s is no JSON: %s at byte %u", what, why, at);
    else if (value->kind != JSON_OBJECT)
        power_op_fail(w, HAMMER_END_SETTING, "%s is no JSON object", what);
    else
        return value;
    return NULL;
}

static void fail_unoffered(struct power_op *w)
{
    const struct hammer_order *o = &w->order;
    const struct str all = hammers_methods(&w->arena, o->hammers, o->hammer_count);
    power_op_fail(w, HAMMER_END_NOT_OFFERED,
                  "no hammer of node \"%.*s\" offers %s %.*s; they offer %.*s",
                  STR_FMT_ARGS(o->node_name), hammer_category_name(o->category),
                  STR_FMT_ARGS(o->method), STR_FMT_ARGS(all));
}

static void serve(struct power_op *w)
{
    const struct hammer_order *o = &w->order;
    const uint32_t chosen = hammers_choose(o->hammers, o->hammer_count, o->category, o->method);
    w->klass = &no_class;
    if (chosen == o->hammer_count) {
        fail_unoffered(w);
        return;
    }
    w->hammer = o->hammers[chosen];
    w->extra = read_object(w, w->hammer.extra, "\"extra\" of the hammer");
    if (!w->extra)
        return;
    w->args = read_object(w, o->args, "\"args\" of the order");
    if (!w->args)
        return;
    const struct power_op_class *klass = class_named(w->hammer.klass);
    if (!klass) {
        power_op_fail(w, HAMMER_END_NOT_OFFERED, "hammers of class \"%.*s\" cannot be swung yet",
                      STR_FMT_ARGS(w->hammer.klass));
        return;
    }
    w->klass = klass;
    klass->start(w);
}

static bool may_be_served(const struct hammers *h, const struct power_op *w)
{
    if (w->order.is_reading)
        return h->readings < h->options.readings_max;
    return h->served.count - h->readings < h->options.parallel_max &&
           !is_served(h, w->order.node_id);
}

static struct power_op *next_in_line(struct hammers *h)
{
    const bool is_full = h->served.count == h->options.parallel_max + h->options.readings_max;
    for (struct power_op *w = is_full ? NULL : h->waiting.first; w; w = w->next)
        if (may_be_served(h, w))
            return w;
    return NULL;
}

static void on_turn(uv_timer_t *timer)
{
    struct hammers *h = timer->data;
    for (struct power_op *w = next_in_line(h); w; w = next_in_line(h)) {
        line_remove(&h->waiting, w);
        line_add(&h->served, w);
        h->readings += w->order.is_reading;
        /* The time in the queue says nothing about the machine. */
        if (w->order.is_reading)
            start_deadline(w, w->order.deadline_ms);
        serve(w);
    }
}

static void copy_order(struct power_op *w, const struct hammer_order *order)
{
    struct arena *a = &w->arena;
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
    w->order = *order;
    w->order.hammers = hammers;
    w->order.node_name = str_copy(a, order->node_name);
    w->order.method = str_copy(a, order->method);
    w->order.args = str_copy(a, order->args);
    if (w->order.deadline_ms == 0)
        w->order.deadline_ms = DEADLINE_MS_DEFAULT;
    if (w->order.queue_ms == 0)
        w->order.queue_ms = QUEUE_MS_DEFAULT;
}

void hammers_do(struct hammers *h, const struct hammer_order *order)
{
    struct power_op *w = calloc(1, sizeof *w);
    must(w && !h->is_closing);
    w->hammers = h;
    copy_order(w, order);
    w->doing = STR("nothing was heard");
    must(uv_timer_init(h->loop, &w->deadline) == 0 && uv_timer_init(h->loop, &w->pause) == 0);
    w->open_handles = 2;
    w->deadline.data = w->pause.data = w;
    start_deadline(w, order->is_reading ? w->order.queue_ms : w->order.deadline_ms);
    line_add(&h->waiting, w);
    have_turn(h);
}

static struct power_op *find_work(struct power_op *first, uint64_t key)
{
    while (first && first->order.key != key)
        first = first->next;
    return first;
}

void hammers_cancel(struct hammers *h, uint64_t key)
{
    struct power_op *w = find_work(h->served.first, key);
    if (!w)
        w = find_work(h->waiting.first, key);
    must(w);
    work_close(w);
    have_turn(h);
}

uint32_t hammers_pending(const struct hammers *h)
{
    return h->served.count + h->waiting.count;
}

/* ---- what a work asks of us ---- */

struct spawn_seam *power_op_commands(struct power_op *w)
{
    return &w->hammers->seams.commands;
}

struct http_client *power_op_web(struct power_op *w)
{
    return w->hammers->web;
}

const struct hammers_options *power_op_options(const struct power_op *w)
{
    return &w->hammers->options;
}

int64_t power_op_left_ms(const struct power_op *w)
{
    const int64_t left = w->deadline_ms - sys_mono_ms();
    return left > 0 ? left : 0;
}

static void on_pause(uv_timer_t *timer)
{
    struct power_op *w = timer->data;
    w->paused(w);
}

void power_op_pause(struct power_op *w, int64_t ms, void (*then)(struct power_op *w))
{
    w->paused = then;
    uv_update_time(w->hammers->loop);
    must(uv_timer_start(&w->pause, on_pause, (uint64_t)ms, 0) == 0);
}

void power_op_doing(struct power_op *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    w->doing = say(w, format, args);
    va_end(args);
}

void power_op_seen(struct power_op *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    w->seen = say(w, format, args);
    va_end(args);
    w->doing = (struct str){0};
}

void power_op_unseen(struct power_op *w)
{
    w->seen = (struct str){0};
}

/* ---- from open to close ---- */

static char *copy_path(const char *path)
{
    return path ? strdup(path) : NULL;
}

static void turn_closed(uv_handle_t *handle)
{
    struct hammers *h = handle->data;
    free((void *)(uintptr_t)h->options.scratch);
    free((void *)(uintptr_t)h->options.ssh_key);
    free(h);
}

struct hammers *hammers_open(uv_loop_t *loop, const struct hammers_options *options,
                             struct hammers_seams seams)
{
    if (!secret_file_sweep(options->scratch) || curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
        return NULL;
    struct hammers *h = calloc(1, sizeof *h);
    struct http_client *web = h ? http_client_open(loop) : NULL;
    if (!web) {
        free(h);
        curl_global_cleanup();
        return NULL;
    }
    h->loop = loop;
    h->web = web;
    h->options = *options;
    h->options.scratch = copy_path(options->scratch);
    h->options.ssh_key = copy_path(options->ssh_key);
    if (h->options.parallel_max == 0)
        h->options.parallel_max = PARALLEL_MAX_DEFAULT;
    if (h->options.readings_max == 0)
        h->options.readings_max = READINGS_MAX_DEFAULT;
    h->seams = seams;
    if (!h->seams.commands.start)
        h->seams.commands = spawn_seam_own(loop);
    h->served.last = &h->served.first;
    h->waiting.last = &h->waiting.first;
    must(h->options.scratch && uv_timer_init(loop, &h->turn) == 0);
    h->turn.data = h;
    return h;
}

void hammers_close(struct hammers *h)
{
    h->is_closing = true;
    while (h->waiting.first)
        work_close(h->waiting.first);
    while (h->served.first)
        work_close(h->served.first);
    http_client_close(h->web);
    curl_global_cleanup();
    uv_close((uv_handle_t *)&h->turn, turn_closed);
}
