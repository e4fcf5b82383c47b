/* wiring_api.c - the callbacks of struct api_engine: the API's access to turn, history, runner and
 * power.
 *
 * They run in the thread of the loop, hold no state and do not block: history is read by another
 * thread and arrives in api_on_history(). A core whose last batch is in doubt is hidden from
 * readers (api_core), because its content may be rolled back.
 *
 * Failure: errors of the modules are passed on. Without a core (not loaded, or in doubt) the result
 * is ERR_UNAVAILABLE, false or NULL.
 */
#include "daemon/wiring.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/core.h"
#include "daemon/boot/boot_links.h"
#include "daemon/boot/boot_seen.h"
#include "daemon/clock_watch.h"
#include "daemon/installation_faults.h"
#include "daemon/test_machines.h"
#include "import/barclamp_upload.h"
#include "import/content_import.h"
#include "power/power_orders.h"
#include "power/transport.h"
#include "run/runner/runner.h"
#include "store/store_thread.h"
#include "sys/clock.h"

static int64_t api_now(void *self)
{
    (void)self;
    return sys_now_ms();
}

static int64_t api_mono(void *self)
{
    (void)self;
    return sys_mono_ms();
}

static const struct core *api_newest_core(void *self)
{
    const struct wiring *w = self;
    return turn_core(w->loop->turn);
}

/* While the store is down, a core with an uncommitted batch is not given to readers: their replies
 * would have to wait for the commit of that batch, and so for as long as the store is down. */
static const struct core *api_core(void *self)
{
    const struct loop *l = ((struct wiring *)self)->loop;
    const bool in_doubt = l->status == TURN_DOWN && turn_seen(l->turn) != turn_durable(l->turn);
    return in_doubt ? NULL : turn_core(l->turn);
}

static bool api_is_stalled(void *self)
{
    return ((struct wiring *)self)->loop->is_stalled;
}

static int64_t api_seen(void *self)
{
    return turn_seen(((struct wiring *)self)->loop->turn);
}

static int64_t api_last_durable(void *self)
{
    return turn_durable(((struct wiring *)self)->loop->turn);
}

static int64_t api_stamp(void *self)
{
    return turn_now_ms(((struct wiring *)self)->loop->turn);
}

static err api_submit(void *self, const struct command *command)
{
    return loop_submit(((struct wiring *)self)->loop, command);
}

static bool api_is_ready(void *self, const char **out_why)
{
    const struct wiring *w = self;
    const char *text = "";
    if (w->is_draining)
        text = "stopping";
    else
        text = loop_store_problem(w->loop);
    if (!text[0])
        text = runner_unavailable_text(w->loop->runner);
    *out_why = text;
    return text[0] == 0;
}

static void api_conditions(void *self, struct buf *out)
{
    clock_describe(out, sys_now_ms(), api_stamp(self));
}

static const char *api_trouble(void *self)
{
    const struct loop *l = ((struct wiring *)self)->loop;
    return l->is_stalled && !l->is_down ? loop_store_problem(l) : store_last_error(l->store);
}

static err api_old_runs(void *self, int64_t noderole_id, uint32_t limit, int64_t number)
{
    return history_runs(((struct wiring *)self)->history, noderole_id, limit, number);
}

static err api_intervals(void *self, const struct interval_page *page, int64_t number)
{
    return history_intervals(((struct wiring *)self)->history, page, number);
}

static err api_events(void *self, struct api_event_cursor from, uint32_t limit, int64_t number)
{
    const struct history_cursor place = {from.turn, from.n, from.is_backward};
    return history_events(((struct wiring *)self)->history, place, limit, number);
}

static err api_run_log(void *self, struct api_log_chunk *log)
{
    enum { PIECE = 64 << 10 };
    struct runner_log found = {
        .offset = log->offset, .at = arena_alloc(log->arena, PIECE), .size = PIECE};
    const err why = runner_read_log(((struct wiring *)self)->loop->runner, log->noderole_id,
                                    log->run_id, log->attempt, &found);
    if (why != OK)
        return why;
    log->offset = found.offset < found.total ? found.offset : found.total;
    log->total = found.total;
    log->ended = found.is_over;
    log->text = (struct str){found.at, found.size};
    return OK;
}

static err api_import_dry_run(void *self, const struct str *barclamps, uint32_t count,
                              struct arena *arena, struct outcome *outcomes)
{
    return turn_import_dry_run(((struct wiring *)self)->loop->turn, barclamps, count, arena,
                               outcomes);
}

static err api_read_barclamp(void *self, struct api_barclamp *barclamp)
{
    const struct barclamp_upload_callbacks callbacks = {.self = self,
                                                        .core = api_core,
                                                        .dry_run = api_import_dry_run,
                                                        .folder = ((struct wiring *)self)->uploads};
    return barclamp_upload_read(&callbacks, barclamp);
}

static err api_test_discovery(void *self, struct str source, struct arena *arena,
                              struct str *out_text)
{
    const struct core *core = api_core(self);
    return core ? test_machine_discovery(core, source, arena, out_text) : ERR_UNAVAILABLE;
}

/* False: there is no core or no such node, or the transport of the node is not ssh. */
static bool api_ssh_address(void *self, int64_t node_id, struct arena *arena,
                            struct api_ssh_address *out)
{
    const struct core *core = api_core(self);
    struct transport t;
    if (!core || !transport_of(core, node_id, arena, &t) || t.kind != TRANSPORT_SSH)
        return false;
    *out = (struct api_ssh_address){.host = t.address, .user = t.user, .port = t.port};
    return true;
}

static void api_metrics(void *self, struct buf *out)
{
    const struct wiring *w = self;
    const struct loop *l = w->loop;
    const int64_t behind_ms = turn_now_ms(l->turn) - sys_now_ms();
    metrics_write(&w->metrics,
                  (struct metrics_state){.version = w->version,
                                         .store_is_up = !l->is_down && !l->is_stalled,
                                         .leads = l->status != TURN_STOPPED,
                                         .turn = turn_durable(l->turn),
                                         .certificate_end_s = w->certificate_end_s,
                                         .clock_behind_ms = behind_ms > 0 ? behind_ms : 0,
                                         .http = http_stats(w->http),
                                         .plans = turn_plan_counts(l->turn)},
                  out);
    if (l->boot)
        boot_links_metrics(l->boot, out);
}

static uint32_t api_boots(void *self, int64_t node_id, struct arena *arena,
                          struct api_boot out_boots[API_BOOTS_MAX])
{
    _Static_assert((int)SEEN_OWN_MAX <= (int)API_BOOTS_MAX, "all events of a machine are shown");
    const struct loop *l = ((struct wiring *)self)->loop;
    struct seen_event *events = arena_array(arena, struct seen_event, SEEN_OWN_MAX);
    const uint32_t count =
        l->boot ? boot_seen_of_node(boot_links_seen(l->boot), node_id, events) : 0;
    for (uint32_t i = 0; i < count; i++)
        out_boots[i] = (struct api_boot){.at_ms = events[i].wall_ms,
                                         .what = boot_seen_name(events[i].kind),
                                         .server_id = events[i].server,
                                         .generation = events[i].generation,
                                         .mac = events[i].mac,
                                         .address = events[i].address,
                                         .other = events[i].other,
                                         .detail = str_from(events[i].detail)};
    return count;
}

static bool api_boot_reason(void *self, int64_t node_id, struct arena *arena,
                            struct reason *out_reason)
{
    const struct loop *l = ((struct wiring *)self)->loop;
    return l->boot &&
           boot_seen_explain(boot_links_seen(l->boot), node_id, sys_now_ms(), arena, out_reason);
}

static bool api_next_boot_server(void *self, int64_t after, struct arena *arena,
                                 struct api_boot_server *out_server)
{
    const struct loop *l = ((struct wiring *)self)->loop;
    struct boot_link_state state;
    if (!l->boot || !boot_links_next(l->boot, after, arena, &state))
        return false;
    *out_server = (struct api_boot_server){.node_id = state.node_id,
                                           .interfaces = state.interfaces,
                                           .version = state.version,
                                           .status = state.status,
                                           .http_port = state.http_port,
                                           .sent_turn = state.sent_turn,
                                           .taken_turn = state.taken_turn,
                                           .connected_ms = state.connected_ms};
    return true;
}

struct api_engine wiring_api_engine(struct wiring *w)
{
    return (struct api_engine){.self = w,
                               .core = api_core,
                               .newest_core = api_newest_core,
                               .seen = api_seen,
                               .durable = api_last_durable,
                               .now_ms = api_now,
                               .mono_ms = api_mono,
                               .stamp_ms = api_stamp,
                               .submit = api_submit,
                               .is_ready = api_is_ready,
                               .conditions = api_conditions,
                               .is_stalled = api_is_stalled,
                               .trouble = api_trouble,
                               .faults = installation_faults_find,
                               .power_retry = installation_faults_power_retry,
                               .runs = api_old_runs,
                               .intervals = api_intervals,
                               .events = api_events,
                               .run_log = api_run_log,
                               .read_barclamp = api_read_barclamp,
                               .test_discovery = api_test_discovery,
                               .ssh_address = api_ssh_address,
                               .metrics = api_metrics,
                               .boots = api_boots,
                               .boot_reason = api_boot_reason,
                               .next_boot_server = api_next_boot_server,
                               .version = w->version};
}
