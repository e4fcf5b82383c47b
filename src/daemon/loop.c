#include "daemon/loop.h"

#include <stdio.h>

#include "api/call/api.h"
#include "hooks/hooks.h"
#include "hooks/transition.h"
#include "power/known_hosts.h"
#include "power/power_orders.h"
#include "run/fake/test_jig.h"
#include "run/runner/runner.h"
#include "store/store_thread.h"
#include "sys/clock.h"
#include "sys/log.h"

/* PATIENCE_MS: how long readers are kept waiting for a store that is gone. STEPPED_WAIT_MS: how
 * long clients wait for the outcome of a batch whose store does not answer. GAP_MS: judgements that
 * are further apart mean that this process did not run. */
enum { ROUND_NS = 2 * 1000 * 1000, WORK_NS = 1000 * 1000, PATIENCE_MS = 1000 };
enum { JUDGE_MS = 500, GAP_MS = 2000, STEPPED_WAIT_MS = 30 * 1000 };

/* ---- what the turn says ---- */

static void tell_down(struct loop *l)
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
                        LOG_Z("store", store_trouble(l->store))),
             "%s; refusing changes and trying again", text);
}

/* One line ends a stall, and also what it led to when the connection was given up. */
static void tell_up(struct loop *l)
{
    l->is_down = l->gave_up = l->is_stalled = false;
    turn_set_stalled(l->turn, false);
    log_with(
        LOG_NOTICE,
        LOG_FIELDS(LOG_I64("turn", turn_durable(l->turn)), LOG_I64("epoch", turn_epoch(l->turn))),
        "the store is back");
}

/* Those who wait for what may never become durable are told so (503), once. */
static void give_up(struct loop *l)
{
    if (l->gave_up || sys_mono_ms() - l->down_ms < PATIENCE_MS)
        return;
    l->gave_up = true;
    if (l->api)
        api_reloaded(l->api);
}

static void begin_stall(struct loop *l, int64_t silent_ms)
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

/* The store's thread notes when the engine answers; here it is judged. After a gap the engine's
 * answer may have waited for this process, so the time before the gap does not count. While the
 * store is down (TURN_DOWN) its recovery is judged by the turn. */
static void judge_store(uv_timer_t *timer)
{
    struct loop *l = timer->data;
    const int64_t now = sys_mono_ms();
    if (now - l->judged_ms > GAP_MS)
        l->awake_ms = now;
    l->judged_ms = now;
    const int64_t awake_ms = now - l->awake_ms, since_answer_ms = store_silent_ms(l->store);
    const int64_t silent_ms = since_answer_ms < awake_ms ? since_answer_ms : awake_ms;
    if (!l->is_stalled && !l->is_down && silent_ms >= STORE_SILENT_MS)
        begin_stall(l, silent_ms);
    else if (l->is_stalled && !l->is_down && silent_ms < STORE_SILENT_MS)
        tell_up(l);
    if (l->is_stalled)
        snprintf(l->stall_text, sizeof l->stall_text,
                 "the store is stalled: it has not answered for %lld s",
                 (long long)(now - l->trouble_ms) / 1000);
    if ((l->is_stalled || l->is_down) && now - l->trouble_ms >= STEPPED_WAIT_MS)
        turn_expire_requests(l->turn);
}

const char *loop_trouble(const struct loop *l)
{
    const char *text = "";
    if (l->status == TURN_DOWN || l->status == TURN_STOPPED)
        ignore(turn_trouble(l->turn, &text), "the sentence is enough");
    else if (l->is_stalled)
        text = l->stall_text;
    return text;
}

/* What held reads saw was in a core that is no more. */
static void look_for_reload(struct loop *l)
{
    const uint64_t loads = turn_loads(l->turn);
    if (loads == l->loads)
        return;
    l->loads = loads;
    if (l->api)
        api_reloaded(l->api);
}

static void take_status(struct loop *l, enum turn_status status)
{
    l->status = status;
    if (status == TURN_DOWN) {
        tell_down(l);
        give_up(l);
    }
    if (l->is_down && status != TURN_DOWN && status != TURN_STOPPED)
        tell_up(l);
    look_for_reload(l);
}

/* ---- going round ---- */

/* Role code and processes are told what the core shows, and wishes name what is in it. Without a
 * core they would find that everything is gone, so they wait. */
static bool pump_with_core(struct loop *l)
{
    if (!turn_core(l->turn))
        return false;
    const bool answered = hooks_pump(l->hooks);
    /* Processes start after the host keys that ssh may accept were written from this core. */
    const bool can_start = !l->known_hosts || known_hosts_is_ready(l->known_hosts);
    const bool ended = can_start && runner_pump(l->runner);
    return transitions_pump(l->transitions) || answered || ended;
}

/* True when something was put into the turn. */
static bool hand_over(struct loop *l)
{
    const bool worked = test_jig_pump(l->jig, sys_mono_ms());
    const bool pinned = l->known_hosts && known_hosts_pump(l->known_hosts, l->turn);
    const bool powered = l->power && power_pump(l->power, l->turn);
    return pump_with_core(l) || worked || powered || pinned;
}

static int64_t sooner(int64_t a, int64_t b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a < b ? a : b;
}

static void timer_fired(uv_timer_t *timer)
{
    struct loop *l = timer->data;
    loop_wake(l);
}

static void set_timer(struct loop *l)
{
    const int64_t next = sooner(turn_next_ms(l->turn), test_jig_next_ms(l->jig));
    if (next < 0) {
        must(uv_timer_stop(&l->timer) == 0);
        return;
    }
    const int64_t wait_ms = next - sys_mono_ms();
    uv_update_time(&l->uv);
    must(uv_timer_start(&l->timer, timer_fired, wait_ms > 0 ? (uint64_t)wait_ms : 0, 0) == 0);
}

static void idle_round(uv_idle_t *idle)
{
    (void)idle; /* being there is all it does */
}

static void keep_going(struct loop *l)
{
    must(uv_idle_start(&l->idle, idle_round) == 0);
}

static void go_round(uv_check_t *check)
{
    struct loop *l = check->data;
    const uint64_t until = uv_hrtime() + ROUND_NS;
    bool more;
    do {
        take_status(l, turn_advance(l->turn));
        if (l->wants_stop(l->self)) {
            uv_stop(&l->uv);
            return;
        }
        const bool submitted = hand_over(l);
        more = l->status == TURN_AGAIN || (l->status == TURN_QUIET && submitted);
    } while (more && uv_hrtime() < until);
    must(uv_idle_stop(&l->idle) == 0);
    const bool is_planning = turn_slice(l->turn);
    /* What is submitted in there keeps us going by itself. */
    if (l->work(l->self, uv_hrtime() + WORK_NS) || more || is_planning)
        keep_going(l);
    set_timer(l);
}

static void woken(uv_async_t *async)
{
    (void)async; /* the check that follows looks at everything */
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
        keep_going(l);
    return e;
}

/* ---- from open to close ---- */

err loop_open(struct loop *l)
{
    if (uv_loop_init(&l->uv) != 0)
        return ERR_UNAVAILABLE;
    if (uv_async_init(&l->uv, &l->wake, woken) != 0) {
        ignore(uv_loop_close(&l->uv), "nothing is open in it");
        return ERR_UNAVAILABLE;
    }
    must(uv_check_init(&l->uv, &l->check) == 0);
    must(uv_idle_init(&l->uv, &l->idle) == 0);
    must(uv_timer_init(&l->uv, &l->timer) == 0);
    must(uv_timer_init(&l->uv, &l->judge) == 0);
    l->check.data = l->timer.data = l->judge.data = l;
    l->is_open = true;
    return OK;
}

/* Children that were killed are waited for: whoever started them closes them then. */
static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle) && handle->type != UV_PROCESS)
        uv_close(handle, NULL);
}

void loop_close(struct loop *l)
{
    if (!l->is_open)
        return;
    uv_walk(&l->uv, close_handle, NULL);
    ignore(uv_run(&l->uv, UV_RUN_DEFAULT), "it runs until every handle is closed");
    must(uv_loop_close(&l->uv) == 0);
    l->is_open = false;
}

enum turn_status loop_start(struct loop *l)
{
    l->status = turn_start(l->turn);
    l->loads = turn_loads(l->turn);
    must(uv_check_start(&l->check, go_round) == 0);
    must(uv_timer_start(&l->judge, judge_store, JUDGE_MS, JUDGE_MS) == 0);
    keep_going(l);
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
