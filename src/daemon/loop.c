/* loop.c - the turn inside a libuv loop: when it is advanced, and what happens when the store
 * fails.
 *
 * It owns the libuv loop and its handles; the modules in struct loop belong to wiring.c. The turn
 * is advanced in the check phase, after libuv has polled. An idle handle that is active keeps
 * uv_run() from blocking while there is more to do; a timer ends the wait at the next deadline of
 * the turn or of the test jig; the async handle ends it from other threads. One pass is bounded to
 * ROUND_NS for the turn and WORK_NS for work that can wait, so that requests are read and answered
 * in between.
 *
 * Two kinds of failure of the store are distinguished. It is down when the turn reports an error
 * (TURN_DOWN): the turn retries by itself. It is stalled when it gives neither a result nor an
 * error for STORE_SILENT_MS: changes are refused until it answers. In both cases reads that wait
 * for a commit are answered 503, and after STEPPED_WAIT_MS so are the requests of the batch itself.
 */
#include "daemon/loop.h"

#include <stdio.h>

#include "api/call/api.h"
#include "daemon/boot/boot_links.h"
#include "hooks/hooks.h"
#include "hooks/transition.h"
#include "power/known_hosts.h"
#include "power/power_orders.h"
#include "run/fake/test_jig.h"
#include "run/runner/runner.h"
#include "store/store_thread.h"
#include "sys/clock.h"
#include "sys/log.h"

/* ROUND_NS, WORK_NS: see above. STALL_CHECK_MS: interval of the check. READERS_WAIT_MS: how long
 * reads wait for a store that is down. STEPPED_WAIT_MS: how long clients wait for the outcome of a
 * batch whose store does not answer. GAP_MS: if two checks are further apart, this process was
 * suspended in between. */
enum { ROUND_NS = 2 * 1000 * 1000, WORK_NS = 1000 * 1000, READERS_WAIT_MS = 1000 };
enum { STALL_CHECK_MS = 500, GAP_MS = 2000, STEPPED_WAIT_MS = 30 * 1000 };

/* ---- state of the store ---- */

/* Log an outage when it begins and whenever its reason changes. */
static void loop_report_down(struct loop *l)
{
    const char *text;
    const err why = turn_trouble(l->turn, &text);
    if (l->is_down && why == l->down_why)
        return;
    if (!l->is_down)
        l->down_ms = sys_mono_ms();
    if (!l->is_down && !l->is_stalled)
        l->trouble_ms = l->down_ms;
    l->is_down = true;
    l->down_why = why;
    log_with(LOG_ERROR,
             LOG_FIELDS(LOG_I64("turn", turn_durable(l->turn)),
                        LOG_I64("epoch", turn_epoch(l->turn)),
                        LOG_Z("store", store_last_error(l->store))),
             "%s; refusing changes and trying again", text);
}

/* One line ends a stall as well as an outage: a stall may become an outage when the connection is
 * closed. */
static void loop_report_up(struct loop *l)
{
    l->is_down = l->readers_failed = l->is_stalled = false;
    turn_set_stalled(l->turn, false);
    log_with(
        LOG_NOTICE,
        LOG_FIELDS(LOG_I64("turn", turn_durable(l->turn)), LOG_I64("epoch", turn_epoch(l->turn))),
        "the store is available again; changes are accepted");
}

static void loop_begin_stall(struct loop *l, int64_t silent_ms)
{
    l->is_stalled = true;
    l->trouble_ms = sys_mono_ms() - silent_ms;
    turn_set_stalled(l->turn, true);
    log_with(
        LOG_WARNING,
        LOG_FIELDS(LOG_I64("turn", turn_durable(l->turn)), LOG_I64("epoch", turn_epoch(l->turn))),
        "the store is stalled: it has not answered for %d s; changes are refused until it does",
        STORE_SILENT_MS / 1000);
    if (l->api)
        api_reloaded(l->api); /* reads that wait for this store are answered 503 */
}

/* The thread of the store records when the database engine answers; this timer compares. After a
 * gap in which this process did not run, the answer may have waited for the process, so the time
 * before the gap does not count. While the store is down, the turn decides when it is back. */
static void loop_check_stall(uv_timer_t *timer)
{
    struct loop *l = timer->data;
    const int64_t now = sys_mono_ms();
    if (now - l->stall_checked_ms > GAP_MS)
        l->running_since_ms = now;
    l->stall_checked_ms = now;
    const int64_t running_since_ms = now - l->running_since_ms,
                  since_answer_ms = store_silent_ms(l->store);
    const int64_t silent_ms =
        since_answer_ms < running_since_ms ? since_answer_ms : running_since_ms;
    if (!l->is_stalled && !l->is_down && silent_ms >= STORE_SILENT_MS)
        loop_begin_stall(l, silent_ms);
    else if (l->is_stalled && !l->is_down && silent_ms < STORE_SILENT_MS)
        loop_report_up(l);
    if (l->is_stalled)
        snprintf(l->stall_text, sizeof l->stall_text,
                 "the store is stalled: it has not answered for %lld s",
                 (long long)(now - l->trouble_ms) / 1000);
    if ((l->is_stalled || l->is_down) && now - l->trouble_ms >= STEPPED_WAIT_MS)
        turn_expire_requests(l->turn);
}

const char *loop_store_problem(const struct loop *l)
{
    const char *text = "";
    if (l->status == TURN_DOWN || l->status == TURN_STOPPED)
        ignore(turn_trouble(l->turn, &text), "only the text is needed");
    else if (l->is_stalled)
        text = l->stall_text;
    return text;
}

static void loop_set_status(struct loop *l, enum turn_status status)
{
    l->status = status;
    if (status == TURN_DOWN) {
        loop_report_down(l);
        /* Reads that wait for a batch that may never be committed are answered 503, once for an
         * outage. */
        if (!l->readers_failed && sys_mono_ms() - l->down_ms >= READERS_WAIT_MS) {
            l->readers_failed = true;
            if (l->api)
                api_reloaded(l->api);
        }
    }
    if (l->is_down && status != TURN_DOWN && status != TURN_STOPPED)
        loop_report_up(l);
    /* After a reload of the core, reads that wait for durability refer to a core that was
     * dropped. */
    const uint64_t loads = turn_loads(l->turn);
    if (loads != l->loads) {
        l->loads = loads;
        if (l->api)
            api_reloaded(l->api);
    }
}

/* ---- one pass of the loop ---- */

/* Collect results of runs, hooks, probes and power actions. True: commands were submitted. */
static bool loop_pump_sources(struct loop *l)
{
    const bool worked = test_jig_pump(l->jig, sys_mono_ms());
    const bool pinned = l->known_hosts && known_hosts_pump(l->known_hosts, l->turn);
    const bool powered = l->power && power_pump(l->power, l->turn);
    const bool booted = l->boot && boot_links_pump(l->boot);
    const bool submitted = worked || pinned || powered || booted;
    /* Hooks and runs get their data from the core, and hook commands name objects of it. Without a
     * core every object would seem deleted, so they wait until it is loaded. */
    if (!turn_core(l->turn))
        return submitted;
    const bool answered = hooks_pump(l->hooks);
    /* ssh reads the pinned host keys from a file, so it must be written before a process starts. */
    const bool can_start = !l->known_hosts || known_hosts_is_ready(l->known_hosts);
    const bool ended = can_start && runner_pump(l->runner);
    return transitions_pump(l->transitions) || answered || ended || submitted;
}

static int64_t loop_earlier_ms(int64_t a, int64_t b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a < b ? a : b;
}

static void loop_on_timer(uv_timer_t *timer)
{
    struct loop *l = timer->data;
    loop_wake(l);
}

static void loop_set_timer(struct loop *l)
{
    const int64_t next = loop_earlier_ms(turn_next_ms(l->turn), test_jig_next_ms(l->jig));
    if (next < 0) {
        must(uv_timer_stop(&l->timer) == 0);
        return;
    }
    const int64_t wait_ms = next - sys_mono_ms();
    uv_update_time(&l->uv);
    must(uv_timer_start(&l->timer, loop_on_timer, wait_ms > 0 ? (uint64_t)wait_ms : 0, 0) == 0);
}

static void loop_on_idle(uv_idle_t *idle)
{
    (void)idle; /* libuv does not block while an idle handle is active */
}

static void loop_stay_awake(struct loop *l)
{
    must(uv_idle_start(&l->idle, loop_on_idle) == 0);
}

/* One pass: advance the turn and collect results until neither has more to do or ROUND_NS is over,
 * then do a slice of plans and of other work, and decide whether the loop may block. */
static void loop_on_check(uv_check_t *check)
{
    struct loop *l = check->data;
    const uint64_t until = uv_hrtime() + ROUND_NS;
    bool more;
    do {
        loop_set_status(l, turn_advance(l->turn));
        if (l->wants_stop(l->self)) {
            uv_stop(&l->uv);
            return;
        }
        const bool submitted = loop_pump_sources(l);
        more = l->status == TURN_AGAIN || (l->status == TURN_QUIET && submitted);
    } while (more && uv_hrtime() < until);
    must(uv_idle_stop(&l->idle) == 0);
    const bool is_planning = turn_slice(l->turn);
    /* A command that work() submits activates the idle handle by itself (loop_submit). */
    if (l->work(l->self, uv_hrtime() + WORK_NS) || more || is_planning)
        loop_stay_awake(l);
    loop_set_timer(l);
}

static void loop_on_wake(uv_async_t *async)
{
    (void)async; /* the check phase follows and advances everything */
}

void loop_wake(void *self)
{
    struct loop *l = self;
    ignore(uv_async_send(&l->wake), "it fails only for a handle that is closing");
}

err loop_submit(struct loop *l, const struct command *command)
{
    const err e = turn_submit(l->turn, command);
    if (e == OK && uv_is_active((const uv_handle_t *)&l->check))
        loop_stay_awake(l);
    return e;
}

/* ---- lifetime ---- */

err loop_open(struct loop *l)
{
    if (uv_loop_init(&l->uv) != 0)
        return ERR_UNAVAILABLE;
    if (uv_async_init(&l->uv, &l->wake, loop_on_wake) != 0) {
        ignore(uv_loop_close(&l->uv), "it has no handles");
        return ERR_UNAVAILABLE;
    }
    must(uv_check_init(&l->uv, &l->check) == 0);
    must(uv_idle_init(&l->uv, &l->idle) == 0);
    must(uv_timer_init(&l->uv, &l->timer) == 0);
    must(uv_timer_init(&l->uv, &l->stall_timer) == 0);
    l->check.data = l->timer.data = l->stall_timer.data = l;
    l->is_open = true;
    return OK;
}

/* Process handles are not closed here: the module that started the process closes its handle in the
 * exit callback, after the child was reaped. */
static void loop_close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle) && handle->type != UV_PROCESS)
        uv_close(handle, NULL);
}

void loop_close(struct loop *l)
{
    if (!l->is_open)
        return;
    uv_walk(&l->uv, loop_close_handle, NULL);
    ignore(uv_run(&l->uv, UV_RUN_DEFAULT), "it runs until every handle is closed");
    must(uv_loop_close(&l->uv) == 0);
    l->is_open = false;
}

enum turn_status loop_start(struct loop *l)
{
    l->status = turn_start(l->turn);
    l->loads = turn_loads(l->turn);
    must(uv_check_start(&l->check, loop_on_check) == 0);
    must(uv_timer_start(&l->stall_timer, loop_check_stall, STALL_CHECK_MS, STALL_CHECK_MS) == 0);
    loop_stay_awake(l);
    return l->status;
}

void loop_run(struct loop *l)
{
    ignore(uv_run(&l->uv, UV_RUN_DEFAULT), "handles are left open for the next run");
}

void loop_once(struct loop *l)
{
    ignore(uv_run(&l->uv, UV_RUN_ONCE), "handles are left open: there is always more");
}
