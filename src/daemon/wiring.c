/* wiring.c - the implementations behind the ports of the turn.
 *
 * A port is a struct of callbacks through which the turn (the pipeline of the engine) reaches
 * store, clock, runners, hooks and power. This file opens test jig, hooks, power, runner, store and
 * history reader in this order, because the runner needs the ssh key of the power module and the
 * turn needs all of them, and it adapts their callbacks: most functions here convert a context
 * pointer and forward the call. Everything runs in the thread of the loop except wiring_wake(),
 * which other threads call.
 *
 * Request ids route replies: ids above zero belong to clients of the API, ids below zero to the
 * daemon itself. The negative range is divided by OWN_RUNS, OWN_POWER, OWN_HOST_KEYS and OWN_BOOT.
 *
 * A module that cannot be opened is logged, and wiring_open() returns its exit status;
 * wiring_close() closes whatever is open by then. The store is closed before the turn is freed,
 * because its thread may still read a batch that the turn owns.
 */
#include "daemon/wiring.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/call/change_feed.h"
#include "core/core.h"
#include "daemon/boot/boot_links.h"
#include "daemon/clock_watch.h"
#include "daemon/installation_faults.h"
#include "daemon/run_facts.h"
#include "daemon/test_machines.h"
#include "hooks/hooks.h"
#include "hooks/transition.h"
#include "import/barclamp_upload.h"
#include "import/content_import.h"
#include "model/limits.h"
#include "port/batch.h"
#include "power/power_orders.h"
#include "power/transport.h"
#include "run/fake/test_jig.h"
#include "run/runner/runner.h"
#include "store/store_thread.h"
#include "sys/clock.h"
#include "sys/failpoint.h"
#include "sys/log.h"

/* ---- clock and random numbers ---- */

static int64_t wiring_now_ms(void *self)
{
    (void)self;
    return sys_now_ms();
}

static int64_t wiring_mono_ms(void *self)
{
    (void)self;
    return sys_mono_ms();
}

static uint64_t wiring_random(void *self)
{
    (void)self;
    return sys_random64();
}

/* ---- replies and the watch port ---- */

/* Pass the result of a command of the daemon to the module whose range the request id is in. */
static void wiring_internal_reply(struct wiring *w, int64_t request, const struct outcome *outcome,
                                  err why)
{
    const err e = outcome && outcome->verdict != VERDICT_DONE ? ERR_REFUSED : why;
    if (request > OWN_RUNS)
        w->own.on_result(w->own.self, request, outcome, why);
    else if (request > OWN_POWER)
        runner_on_result(w->loop->runner, request, e);
    else if (request > OWN_HOST_KEYS)
        power_on_result(w->loop->power, request, outcome, e);
    else if (request > OWN_BOOT)
        known_hosts_on_result(&w->known_hosts, outcome, why);
    else if (w->loop->boot)
        boot_links_on_result(w->loop->boot, request, outcome);
}

static void wiring_reply_outcome(void *self, int64_t request, const struct outcome *outcome,
                                 int64_t turn)
{
    struct wiring *w = self;
    if (request < 0)
        wiring_internal_reply(w, request, outcome, OK);
    else if (w->loop->api)
        api_outcome(w->loop->api, request, outcome, turn);
}

static void wiring_reply_failed(void *self, int64_t request, err why)
{
    struct wiring *w = self;
    if (request < 0)
        wiring_internal_reply(w, request, NULL, why);
    else if (w->loop->api)
        api_failed(w->loop->api, request, why);
}

static const struct core *wiring_core(void *self)
{
    const struct wiring *w = self;
    return turn_core(w->loop->turn);
}

static void wiring_on_stepping(void *self, const struct command *command)
{
    struct wiring *w = self;
    metrics_stepping(&w->metrics, command);
    failed_runs_stepping(&w->failures, wiring_core(w), command);
}

static void wiring_on_submitting(void *self, const struct batch *batch)
{
    (void)batch;
    metrics_submitting(&((struct wiring *)self)->metrics);
}

static void wiring_on_stepped(void *self, const struct command *command,
                              const struct outcome *outcome)
{
    struct wiring *w = self;
    metrics_stepped(&w->metrics, command);
    failed_runs_stepped(&w->failures, wiring_core(w), command, outcome, sys_mono_ms());
    if (command->kind == COMMAND_OUTBOX_DONE && !command->outbox_done.failed && outcome->doc.len)
        failed_runs_log_hook(outcome);
    if (!log_wants(LOG_DEBUG))
        return;
    static const char *const verdicts[] = {[VERDICT_DONE] = "done",
                                           [VERDICT_REFUSED] = "refused",
                                           [VERDICT_NEEDS_HOOKS] = "needs_hooks"};
    log_with(LOG_DEBUG,
             LOG_FIELDS(LOG_Z("command", command_name(command->kind)),
                        LOG_S("actor", command->actor), LOG_S("address", command->address),
                        LOG_Z("verdict", verdicts[outcome->verdict]), LOG_I64("id", outcome->id)),
             "command executed");
}

/* The rows are decoded only while clients read changes. */
static void wiring_report_changes(struct wiring *w, const struct batch *batch)
{
    struct change_feed *feed = api_change_feed(w->loop->api);
    struct change change;
    if (!change_feed_begin(feed, batch->turn, sys_mono_ms()))
        return;
    for (uint32_t at = 0; at < batch->changes.len;) {
        must(batch_next(batch->changes, &at, &change) == OK);
        change_feed_add(feed, wiring_core(w), &change.record, change.gone);
    }
    change_feed_end(feed);
}

static void wiring_on_durable(void *self, const struct batch *batch)
{
    struct wiring *w = self;
    metrics_durable(&w->metrics, batch);
    known_hosts_on_durable_batch(&w->known_hosts, batch);
    if (log_wants(LOG_DEBUG))
        log_with(LOG_DEBUG,
                 LOG_FIELDS(LOG_I64("turn", batch->turn), LOG_I64("epoch", batch->epoch),
                            LOG_I64("rows", batch->rows)),
                 "batch committed");
    if (!w->loop->api)
        return;
    wiring_report_changes(w, batch);
    api_durable(w->loop->api, batch->turn);
}

static bool wiring_pass_failpoint(void *self, const char *point)
{
    (void)self;
    if (failpoint_armed)
        failpoint_pass(point);
    return false;
}

/* ---- commands of hooks, runners and power ---- */

static err wiring_submit(void *self, const struct command *command)
{
    struct wiring *w = self;
    const err e = turn_submit(w->loop->turn, command);
    if (e == OK)
        metrics_run_result(&w->metrics, wiring_core(self), command, turn_now_ms(w->loop->turn));
    return e;
}

static void wiring_wake(void *self)
{
    const struct wiring *w = self;
    loop_wake(w->loop);
}

/* ---- runners ---- */

static bool wiring_code_has(void *self, int64_t run_id, uint32_t attempt)
{
    const struct wiring *w = self;
    return transitions_has(w->loop->transitions, run_id, attempt);
}

static bool wiring_test_jig_has(void *self, int64_t run_id, uint32_t attempt)
{
    const struct wiring *w = self;
    return test_jig_has(w->loop->jig, run_id, attempt);
}

/* The runner keeps as many logs of a noderole as the store keeps rows of its ended runs, so the
 * setting is passed on with every start. */
static bool wiring_runner_facts(void *self, const struct run_order *order, struct arena *a,
                                struct runner_facts *out_facts)
{
    const struct wiring *w = self;
    struct record settings;
    must(core_record(wiring_core(self), TABLE_SETTINGS, 1, &settings));
    runner_set_keep(w->loop->runner, settings.settings.keep_runs);
    return run_facts_find(wiring_core(self), order, a, out_facts);
}

/* The path of halligan-exec: it is installed in the directory of halligand. */
static const char *wiring_exec_program(struct config *c)
{
    char path[4096];
    const ssize_t len = readlink("/proc/self/exe", path, sizeof path);
    uint32_t end = len > 0 ? (uint32_t)len : 0;
    while (end && path[end - 1] != '/')
        end--;
    return str_z(&c->arena, STR_CONCAT(&c->arena, (struct str){path, end}, STR("halligan-exec")));
}

/* The time for judging ages (clock_watch.h), in ms. Before the store is loaded it is 0, so that
 * nothing counts as old. */
static int64_t wiring_age_now_ms(void *self)
{
    const struct wiring *w = self;
    return w->loop->turn ? clock_for_age(sys_now_ms(), turn_now_ms(w->loop->turn)) : 0;
}

static enum exit_status wiring_open_runner(struct wiring *w, struct config *c)
{
    const struct runner_setup setup = {.loop = &w->loop->uv,
                                       .data = c->data,
                                       .exec_program = wiring_exec_program(c),
                                       .ssh_key = config_path(c, "ssh/id_ed25519"),
                                       .known_hosts = config_path(c, "ssh/known_hosts"),
                                       .control_dir = config_path(c, "ssh/control"),
                                       .tool_path = c->tool_path,
                                       .request_first = OWN_RUNS,
                                       .keep_ms = RUNS_KEEP_MS};
    const struct runner_callbacks callbacks = {.self = w,
                                               .facts = wiring_runner_facts,
                                               .submit = wiring_submit,
                                               .wake = wiring_wake,
                                               .now_ms = wiring_age_now_ms};
    if (runner_open(&setup, callbacks, &w->loop->runner) == OK)
        return DAEMON_EXIT_OK;
    log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", c->data)),
             "cannot open the runner in the data directory \"%s\": %s", c->data, strerror(errno));
    return DAEMON_EXIT_FAILURE;
}

/* ---- hooks and Lua code of roles ---- */

static struct str wiring_source_path(void *self, struct str barclamp)
{
    const struct wiring *w = self;
    return content_source_path(w->content, barclamp);
}

static void wiring_on_code_loaded(void *self, int64_t role_id, err error,
                                  const struct hooks_report *report)
{
    struct wiring *w = self;
    role_code_registry_loaded(&w->codes, role_id, error, report);
}

/* Load the code of the role before one of its hooks is called. Returns the name of the role. */
static struct str wiring_prepare_hook(void *self, int64_t role_id)
{
    struct wiring *w = self;
    const struct core *core = wiring_core(self);
    struct record record;
    role_code_registry_need(&w->codes, role_id);
    if (!core || !core_record(core, TABLE_ROLE, role_id, &record))
        return STR("");
    return record.role.name;
}

/* False: the row was delivered twice and its result is stored already, or its object is deleted. */
static bool wiring_hook_facts(void *self, const struct outbox_record *row, struct arena *arena,
                              struct hooks_facts *out_facts)
{
    const struct core *core = wiring_core(self);
    struct record record;
    struct hook_call_args facts;
    if (!core_record(core, TABLE_OUTBOX, row->id, &record) ||
        !core_hook_args(core, row, arena, &facts))
        return false;
    *out_facts = (struct hooks_facts){.argument = facts.argument, .context = facts.context};
    return true;
}

static int64_t wiring_find_object(void *self, enum table table, struct str name)
{
    return core_find(wiring_core(self), table, name);
}

static err wiring_veto_answer(void *self, uint64_t token, const struct veto_reply *veto_replies,
                              uint32_t count)
{
    const struct wiring *w = self;
    return turn_submit_veto_replies(w->loop->turn, token, veto_replies, count);
}

static void wiring_on_transition_called(void *self, uint64_t key, const struct hooks_result *result)
{
    const struct wiring *w = self;
    transitions_called(w->loop->transitions, key, result);
}

static bool wiring_transition_facts(void *self, int64_t noderole_id, struct arena *arena,
                                    struct str *out_argument, int64_t *out_role_id)
{
    const struct core *core = wiring_core(self);
    struct record record;
    if (!core_record(core, TABLE_NODEROLE, noderole_id, &record) ||
        !core_run_args(core, noderole_id, arena, out_argument))
        return false;
    *out_role_id = record.noderole.role_id;
    return true;
}

static enum exit_status wiring_open_hooks(struct wiring *w)
{
    struct loop *l = w->loop;
    const struct hooks_callbacks callbacks = {.self = w,
                                              .wake = wiring_wake,
                                              .prepare = wiring_prepare_hook,
                                              .facts = wiring_hook_facts,
                                              .find = wiring_find_object,
                                              .submit = wiring_submit,
                                              .answer = wiring_veto_answer,
                                              .called = wiring_on_transition_called,
                                              .loaded = wiring_on_code_loaded};
    l->hooks = hooks_open(callbacks, SANDBOX_LIMITS);
    if (!l->hooks) {
        log_print(LOG_ERROR, "cannot start the hook thread: threads or memory exhausted");
        return DAEMON_EXIT_FAILURE;
    }
    l->transitions =
        transitions_new(l->hooks, (struct transition_callbacks){.self = w,
                                                                .facts = wiring_transition_facts,
                                                                .submit = wiring_submit,
                                                                .mono_ms = wiring_mono_ms,
                                                                .wake = wiring_wake});
    w->codes = (struct role_code_registry){.hooks = l->hooks,
                                           .callbacks = {w, wiring_core, wiring_source_path}};
    return DAEMON_EXIT_OK;
}

/* ---- open and close ---- */

static enum exit_status wiring_open_test_jig(struct wiring *w, struct config *c)
{
    const char *path = config_path(c, "test-jig.journal");
    const struct test_jig_callbacks callbacks = {.self = w, .submit = wiring_submit};
    if (test_jig_open(path, callbacks, &w->loop->jig) == OK)
        return DAEMON_EXIT_OK;
    log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)),
             "the test jig's journal \"%s\" cannot be opened: %s", path, strerror(errno));
    return DAEMON_EXIT_FAILURE;
}

static enum exit_status wiring_open_power(struct wiring *w, struct config *c)
{
    struct loop *l = w->loop;
    const struct power_setup setup = {.loop = &l->uv,
                                      .scratch = config_path(c, "hammer"),
                                      .ssh = &w->ssh,
                                      .known_hosts = &w->known_hosts,
                                      .request_first = OWN_POWER,
                                      .tool_path = c->tool_path,
                                      .probe_ms = c->probe_wait_s * 1000,
                                      .poll_s = c->power_poll_s,
                                      .self = l,
                                      .wake = loop_wake};
    w->ssh = (struct ssh_keys){.self = l, .wake = loop_wake};
    if (!ssh_keys_open(&w->ssh, &l->uv, config_path(c, "ssh")))
        return DAEMON_EXIT_FAILURE;
    w->known_hosts =
        (struct known_hosts){.request_first = OWN_HOST_KEYS, .self = l, .wake = loop_wake};
    known_hosts_open(&w->known_hosts, &l->uv, &w->ssh);
    l->known_hosts = &w->known_hosts;
    l->power = power_open(&setup);
    return l->power ? DAEMON_EXIT_OK : DAEMON_EXIT_FAILURE;
}

static enum exit_status wiring_open_store(struct wiring *w, const struct config *c)
{
    char holder[HOLDER_SIZE];
    struct store_why why = {0};
    data_dir_holder(holder);
    const struct store_options options = {
        .url = c->store, .holder = holder, .wake = loop_wake, .wake_context = w->loop};
    const err e = store_open(&options, &w->loop->store, &why);
    if (e == OK)
        return DAEMON_EXIT_OK;
    log_print(LOG_ERROR, "cannot open the store: %s", why.text);
    return e == ERR_EXISTS ? DAEMON_EXIT_LOCKED : DAEMON_EXIT_FAILURE;
}

static void wiring_on_history(void *self, int64_t number, const struct record *records,
                              uint32_t count, err why)
{
    const struct wiring *w = self;
    if (w->loop->api)
        api_on_history(w->loop->api, number, records, count, why);
}

static enum exit_status wiring_open_history(struct wiring *w, const struct config *c)
{
    w->history =
        history_new(&w->loop->uv, c->store, (struct history_callbacks){w, wiring_on_history});
    if (w->history)
        return DAEMON_EXIT_OK;
    log_print(LOG_ERROR, "cannot start the history reader thread: threads or memory exhausted");
    return DAEMON_EXIT_FAILURE;
}

static err wiring_submit_boot(void *self, const struct command *command)
{
    const struct wiring *w = self;
    return turn_submit(w->loop->turn, command);
}

/* Without the socket the daemon works, but no boot server can connect: the log has the reason. */
static void wiring_open_boot(struct wiring *w, struct config *c)
{
    const struct boot_links_setup setup = {.loop = &w->loop->uv,
                                           .path = c->boot_socket,
                                           .user = c->boot_user,
                                           .key_path = config_path(c, "boot.key"),
                                           .request_first = OWN_BOOT,
                                           .self = w,
                                           .wake = wiring_wake,
                                           .submit = wiring_submit_boot};
    if (c->boot_socket)
        ignore(boot_links_open(&setup, &w->loop->boot), "it has logged the reason");
}

enum exit_status wiring_open(struct wiring *w, struct config *c)
{
    /* Open the modules; the first failure ends the start. */
    struct loop *l = w->loop;
    w->uploads = config_path(c, "uploads");
    metrics_init(&w->metrics, sys_now_ms());
    w->version = c->version;
    enum exit_status status = wiring_open_test_jig(w, c);
    if (status == DAEMON_EXIT_OK)
        status = wiring_open_hooks(w);
    if (status == DAEMON_EXIT_OK)
        status = wiring_open_power(w, c);
    if (status == DAEMON_EXIT_OK)
        status = wiring_open_runner(w, c);
    if (status == DAEMON_EXIT_OK)
        status = wiring_open_store(w, c);
    if (status == DAEMON_EXIT_OK)
        status = wiring_open_history(w, c);
    if (status != DAEMON_EXIT_OK)
        return status;
    wiring_open_boot(w, c);
    w->runners = (struct runners){.self = w,
                                  .core = wiring_core,
                                  .code_has = wiring_code_has,
                                  .test_has = wiring_test_jig_has,
                                  .role_code = transitions_port(l->transitions),
                                  .test_jig = test_jig_port(l->jig),
                                  .processes = runner_port(l->runner)};
    const struct turn_ports ports = {
        .store = store_port(l->store),
        .clock = {w, wiring_now_ms, wiring_mono_ms, wiring_random},
        .runner = runner_dispatch_port(&w->runners),
        .hooks = hooks_port(l->hooks),
        .power = power_port(l->power),
        .reply = {w, wiring_reply_outcome, wiring_reply_failed},
        .watch = {.self = w,
                  .stepped = wiring_on_stepped,
                  .durable = wiring_on_durable,
                  .stepping = wiring_on_stepping,
                  .submitting = wiring_on_submitting},
        .boot = l->boot ? boot_links_port(l->boot) : (struct boot_port){0},
        .crash = {w, wiring_pass_failpoint},
    };
    l->turn = turn_new(&ports);
    if (l->boot)
        boot_links_set_turn(l->boot, l->turn);
    turn_keep_events(l->turn, config_keep_events_ms(c));
    return DAEMON_EXIT_OK;
}

void wiring_close(struct wiring *w, bool for_good)
{
    struct loop *l = w->loop;
    history_free(w->history);
    w->history = NULL;
    store_close(l->store);
    if (l->runner && runner_count(l->runner))
        log_with(LOG_NOTICE, LOG_FIELDS(LOG_I64("runs", runner_count(l->runner))),
                 "%u runs continue under halligan-exec; the next start adopts them",
                 runner_count(l->runner));
    runner_close(l->runner, for_good);
    boot_links_close(l->boot);
    l->boot = NULL;
    transitions_free(l->transitions);
    hooks_close(l->hooks);
    role_code_registry_fini(&w->codes);
    turn_free(l->turn);
    test_jig_close(l->jig);
    power_close(l->power);
    known_hosts_close(&w->known_hosts);
    ssh_keys_close(&w->ssh);
    metrics_fini(&w->metrics);
    l->store = NULL;
    l->transitions = NULL;
    l->hooks = NULL;
    l->turn = NULL;
    l->jig = NULL;
    l->power = NULL;
    l->known_hosts = NULL;
    l->runner = NULL;
}
