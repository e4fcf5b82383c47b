#include "tests/world/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "content/role_file.h"
#include "content/tree.h"
#include "hooks/code_finder.h"
#include "hooks/hooks.h"
#include "hooks/transition.h"
#include "sim/store/memory_store.h"
#include "sys/log.h"
#include "turn/turn.h"

/* A live world: the real turn, hooks and content reader over a memory store.
 *
 * A step redirects standard error to a temporary file, submits the command, advances turn, hooks
 * and transitions until all are idle, and then reads the log. The log is how calls of hooks are
 * observed: the recorder barclamp logs its arguments in several lines. Other log lines are kept
 * as complaints, and a test that ends with unread complaints fails. */

enum { ROUNDS_MAX = 10000 };

struct live {
    struct world *w;
    struct memory_store *store;
    struct memory_session session;
    struct turn *turn;
    struct hooks *hooks;
    struct transitions *transitions;
    int64_t request; /* of the present step */
    bool replied;
    bool write_closed;  /* results of hooks are dropped */
    bool has_code;      /* the code of roles was loaded since the process started */
    uint64_t nonce;     /* the last value returned as a random number */
    FILE *log;          /* replaces standard error during a step */
    int log_was;        /* file descriptor of the real standard error */
    struct call *calls; /* newest first */
    struct call *open;  /* its record continues in the next line of the log */
    struct buf record;
    struct buf complaints;
};

/* Make the present core of the turn readable through world.h. */
static void live_update_core(struct live *l)
{
    l->w->core = (struct core *)turn_core(l->turn);
    CHECK(l->w->core != NULL);
}

/* ---- calls of hooks in the log ---- */

static struct str live_first_label(struct str name)
{
    return str_slice(name, 0, str_find(name, '.', 0));
}

static struct str live_json_string(const struct json *tree, const char *key)
{
    const struct json *value = tree ? json_get(tree, str_from(key)) : NULL;
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

static struct json *live_read_json(struct world *w, struct str json)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (json_read(&w->arena, json, &tree, &offset, &what) != OK)
        world_fail(HERE, "a logged record is not JSON: %s in %.*s", what, STR_FMT_ARGS(json));
    return tree;
}

/* "on_todo a@n1", "on_node_change a n1", "on_commit a in d", "template a" */
static struct str live_describe_call(struct world *w, const struct call *call)
{
    const struct json *argument = live_read_json(w, call->argument);
    const struct str node = live_json_string(argument, "node"),
                     name = live_json_string(argument, "name");
    const struct str deployment = live_json_string(argument, "deployment");
    struct buf b = buf_in(&w->arena);
    buf_put_str(&b, call->hook);
    buf_put_c(&b, ' ');
    buf_put_str(&b, call->role);
    if (node.len) {
        buf_put_c(&b, '@');
        buf_put_str(&b, live_first_label(node));
    } else if (name.len) {
        buf_put_c(&b, ' ');
        buf_put_str(&b, live_first_label(name));
    } else if (deployment.len) {
        buf_put_z(&b, " in ");
        buf_put_str(&b, deployment);
    }
    return buf_str(&b);
}

static void live_append_story(struct world *w, struct str line)
{
    if (w->story.len > 0)
        buf_put_z(&w->story, "; ");
    buf_put_str(&w->story, line);
}

static struct str live_role_name(struct live *l, int64_t id)
{
    struct record record;
    CHECK(core_record(turn_core(l->turn), TABLE_ROLE, id, &record));
    return str_copy(&l->w->arena, record.role.name);
}

/* The record is complete: {"argument": ..., "context": ...} */
static void live_end_record(struct live *l)
{
    struct world *w = l->w;
    struct call *call = l->open;
    const struct json *record = live_read_json(w, buf_str(&l->record));
    call->argument = json_write(&w->arena, json_get(record, STR("argument")));
    call->context = json_write(&w->arena, json_get(record, STR("context")));
    call->earlier = l->calls;
    l->calls = call;
    l->open = NULL;
    live_append_story(w, live_describe_call(w, call));
}

/* "> " starts a record, "+ " continues it, a line "." ends it. */
static void live_read_record(struct live *l, struct str hook, int64_t role_id, struct str text)
{
    struct world *w = l->w;
    if (str_starts(text, STR("> "))) {
        CHECK(!l->open);
        l->open = arena_new(&w->arena, struct call);
        l->open->hook = str_copy(&w->arena, hook);
        l->open->role = live_role_name(l, role_id);
        l->record = buf_in(&w->arena);
    } else if (str_eq(text, STR("."))) {
        CHECK(l->open);
        live_end_record(l);
        return;
    } else if (!str_starts(text, STR("+ "))) {
        return; /* a log line of another role */
    }
    CHECK(l->open);
    buf_put_str(&l->record, str_slice(text, 2, text.len));
}

static void live_read_line(struct live *l, struct str line)
{
    const struct str text = str_slice(line, str_find(line, '{', 0), line.len);
    const struct json *tree = live_read_json(l->w, text);
    const struct json *role = json_get(tree, STR("role"));
    const struct str said = live_json_string(tree, "msg"), hook = live_json_string(tree, "hook");
    int64_t role_id = 0;
    if (hook.len && role && json_as_i64(role, &role_id) &&
        str_eq(live_json_string(tree, "level"), STR("info"))) {
        live_read_record(l, hook, role_id, said);
        return;
    }
    buf_put_str(&l->complaints, hook);
    buf_put_z(&l->complaints, hook.len ? ": " : "");
    buf_put_str(&l->complaints, said);
    buf_put_c(&l->complaints, '\n');
}

/* Read the log up to its end, and truncate it. */
static void live_read_log(struct live *l)
{
    char line[10000];
    rewind(l->log);
    while (fgets(line, sizeof line, l->log))
        live_read_line(l, str_copy(&l->w->arena, str_from(line)));
    rewind(l->log);
    CHECK(ftruncate(fileno(l->log), 0) == 0 && lseek(fileno(l->log), 0, SEEK_SET) == 0);
}

static void live_log_start(struct live *l)
{
    fflush(stderr);
    l->log_was = dup(STDERR_FILENO);
    CHECK(l->log_was >= 0 && dup2(fileno(l->log), STDERR_FILENO) >= 0);
}

static void live_log_end(struct live *l)
{
    CHECK(dup2(l->log_was, STDERR_FILENO) >= 0 && close(l->log_was) == 0);
    live_read_log(l);
}

/* ---- callbacks of the hooks ---- */

static void live_hooks_wake(void *self)
{
    (void)self; /* live_settle() waits for the hooks */
}

static bool live_hooks_facts(void *self, const struct outbox_record *row, struct arena *arena,
                             struct hooks_facts *out_facts)
{
    const struct live *l = self;
    struct hook_call_args known;
    if (!core_hook_args(turn_core(l->turn), row, arena, &known))
        return false;
    *out_facts = (struct hooks_facts){.argument = known.argument, .context = known.context};
    return true;
}

static int64_t live_hooks_find(void *self, enum table table, struct str name)
{
    const struct live *l = self;
    return core_find(turn_core(l->turn), table, name);
}

static err live_hooks_submit(void *self, const struct command *command)
{
    const struct live *l = self;
    return l->write_closed ? ERR_UNAVAILABLE : turn_submit(l->turn, command);
}

static err live_hooks_answer(void *self, uint64_t token, const struct veto_reply *veto_replies,
                             uint32_t count)
{
    const struct live *l = self;
    return turn_submit_veto_replies(l->turn, token, veto_replies, count);
}

static void live_hooks_called(void *self, uint64_t key, const struct hooks_result *result)
{
    const struct live *l = self;
    transitions_called(l->transitions, key, result);
}

static bool live_transition_facts(void *self, int64_t noderole_id, struct arena *arena,
                                  struct str *out_argument, int64_t *out_role_id)
{
    const struct live *l = self;
    struct record record;
    if (!core_record(turn_core(l->turn), TABLE_NODEROLE, noderole_id, &record))
        return false;
    *out_role_id = record.noderole.role_id;
    return core_run_args(turn_core(l->turn), noderole_id, arena, out_argument);
}

/* ---- ports of the turn ---- */

static int64_t live_clock_now(void *self)
{
    const struct live *l = self;
    return l->w->now_ms;
}

static int64_t live_clock_mono(void *self)
{
    const struct live *l = self;
    return l->w->now_ms - 1600000000000;
}

static uint64_t live_clock_random(void *self)
{
    struct live *l = self;
    return ++l->nonce;
}

/* Wait for the hooks that were delivered before, so that the list of effects is in order. */
static void live_append_run(struct live *l, const char *verb, int64_t noderole_id)
{
    struct record nr, other;
    struct buf b = buf_in(&l->w->arena);
    const struct core *core = turn_core(l->turn);
    hooks_run_until_idle(l->hooks);
    live_read_log(l);
    CHECK(core_record(core, TABLE_NODEROLE, noderole_id, &nr));
    buf_put_z(&b, verb);
    CHECK(core_record(core, TABLE_ROLE, nr.noderole.role_id, &other));
    buf_put_str(&b, other.role.name);
    buf_put_c(&b, '@');
    CHECK(core_record(core, TABLE_NODE, nr.noderole.node_id, &other));
    buf_put_str(&b, live_first_label(other.node.name));
    live_append_story(l->w, buf_str(&b));
}

static struct runner_port live_transition_runner(const struct live *l)
{
    return transitions_port(l->transitions);
}

static void live_runner_start(void *self, const struct run_order *order)
{
    struct live *l = self;
    if (str_eq(order->jig, STR("role-provided"))) {
        live_transition_runner(l).start(live_transition_runner(l).self, order);
        return;
    }
    struct start *started = arena_new(&l->w->arena, struct start);
    *started = (struct start){.run = order->run_id,
                              .noderole = order->noderole_id,
                              .attempt = order->attempt,
                              .jig = str_copy(&l->w->arena, order->jig),
                              .data = str_copy(&l->w->arena, order->data),
                              .earlier = l->w->starts};
    l->w->starts = started;
    live_append_run(l, "start ", order->noderole_id);
}

static void live_runner_cancel(void *self, const struct run_order *order)
{
    struct live *l = self;
    if (transitions_has(l->transitions, order->run_id, order->attempt)) {
        live_transition_runner(l).cancel(live_transition_runner(l).self, order);
        return;
    }
    live_append_run(l, "cancel ", order->noderole_id);
    const struct command command =
        CMD(RUN_STOPPED, run_stopped, .run_id = order->run_id, .attempt = order->attempt);
    CHECK(turn_submit(l->turn, &command) == OK);
}

/* Every power action and probe succeeds. */
static void live_power_done(void *self, const struct outbox_record *row)
{
    const struct live *l = self;
    const struct command command = CMD(OUTBOX_DONE, outbox_done, .outbox_id = row->id);
    CHECK(turn_submit(l->turn, &command) == OK);
}

static void live_reply_outcome(void *self, int64_t request, const struct outcome *outcome,
                               int64_t turn)
{
    struct live *l = self;
    (void)turn;
    CHECK(request == l->request);
    l->replied = true;
    struct outcome *out = &l->w->out;
    *out = (struct outcome){.verdict = outcome->verdict, .id = outcome->id};
    out->doc = str_copy(&l->w->arena, outcome->doc);
    struct problem **last = &out->problems;
    for (const struct problem *p = outcome->problems; p; p = p->next) {
        *last = arena_new(&l->w->arena, struct problem);
        **last = (struct problem){.code = p->code,
                                  .field = str_copy(&l->w->arena, p->field),
                                  .text = str_copy(&l->w->arena, p->text)};
        last = &(*last)->next;
    }
}

static void live_reply_failed(void *self, int64_t request, err why)
{
    (void)self;
    world_fail(HERE, "request %lld failed: %d", (long long)request, (int)why);
}

/* Load the Lua files of all roles that have one. */
static void live_load_code(struct live *l)
{
    const struct core *core = turn_core(l->turn);
    struct record role, barclamp;
    for (int64_t id = 0; (id = core_next_id(core, TABLE_ROLE, id)) != 0;) {
        const char *path;
        CHECK(core_record(core, TABLE_ROLE, id, &role));
        CHECK(core_record(core, TABLE_BARCLAMP, role.role.barclamp_id, &barclamp));
        const struct str files = role.role.per_name.len ? role.role.per_name : role.role.name;
        if (content_role_file(&l->w->arena, barclamp.barclamp.source_path, files, ROLE_FILE_LUA,
                              &path) == OK)
            hooks_load(l->hooks, id, path);
    }
}

static void live_hooks_loaded(void *self, int64_t role_id, err error,
                              const struct hooks_report *report)
{
    (void)self;
    if (error != OK)
        world_fail(HERE, "role %lld: %.*s", (long long)role_id, STR_FMT_ARGS(report->text));
}

/* After a restart the first row may be delivered before any step has loaded the code. */
static void live_require_code(struct live *l)
{
    if (!l->has_code)
        live_load_code(l);
    l->has_code = true;
}

static void live_hooks_deliver(void *self, const struct outbox_record *row)
{
    struct live *l = self;
    live_require_code(l);
    hooks_port(l->hooks).deliver(hooks_port(l->hooks).self, row);
}

static void live_hooks_ask(void *self, uint64_t token, const struct veto_request *questions,
                           uint32_t count)
{
    struct live *l = self;
    live_require_code(l);
    hooks_port(l->hooks).ask(hooks_port(l->hooks).self, token, questions, count);
}

/* Load the code of imported roles before the first row for one of them is delivered. */
static void live_watch_stepped(void *self, const struct command *command,
                               const struct outcome *outcome)
{
    if ((command->kind == COMMAND_IMPORT || command->kind == COMMAND_NETWORK_CREATE) &&
        outcome->verdict == VERDICT_DONE)
        live_load_code(self);
}

/* ---- steps ---- */

/* Restore standard error before the test fails, so that its message is visible. */
static void live_give_up(struct live *l, const char *why)
{
    live_log_end(l);
    world_fail(HERE, "%s", why);
}

/* Advance turn, hooks and transitions until all of them are idle. */
static void live_settle(struct live *l)
{
    bool moved = true;
    for (int round = 0; moved; round++) {
        if (round == ROUNDS_MAX)
            live_give_up(l, "turn and hooks do not become idle");
        enum turn_status status = TURN_AGAIN;
        while (status == TURN_AGAIN)
            status = turn_advance(l->turn);
        if (status != TURN_QUIET)
            live_give_up(l, "the turn is neither busy nor idle");
        moved = hooks_run_until_idle(l->hooks);
        moved = turn_slice(l->turn) || moved;
        moved = transitions_pump(l->transitions) || moved;
        moved = moved || (hooks_pending_count(l->hooks) && !l->write_closed);
    }
}

static void live_step(void *self, struct command command)
{
    struct live *l = self;
    command.request = ++l->request;
    l->replied = false;
    l->w->fx = (struct effects){0};
    l->w->out = (struct outcome){0};
    live_log_start(l);
    CHECK(turn_submit(l->turn, &command) == OK);
    live_settle(l);
    live_log_end(l);
    CHECK(l->replied);
    live_update_core(l);
}

/* ---- lifetime ---- */

static void live_process_start(struct live *l)
{
    const struct hooks_callbacks callbacks = {.self = l,
                                              .wake = live_hooks_wake,
                                              .facts = live_hooks_facts,
                                              .find = live_hooks_find,
                                              .submit = live_hooks_submit,
                                              .answer = live_hooks_answer,
                                              .called = live_hooks_called,
                                              .loaded = live_hooks_loaded};
    l->hooks = hooks_open(callbacks, SANDBOX_LIMITS);
    CHECK(l->hooks);
    const struct transition_callbacks runs = {
        .self = l, .facts = live_transition_facts, .submit = live_hooks_submit};
    l->transitions = transitions_new(l->hooks, runs);
    memory_session_init(&l->session, l->store);
    const struct turn_ports ports = {
        .store = memory_session_port(&l->session),
        .clock = {.self = l,
                  .now_ms = live_clock_now,
                  .mono_ms = live_clock_mono,
                  .random = live_clock_random},
        .runner = {.self = l,
                   .start = live_runner_start,
                   .cancel = live_runner_cancel,
                   .query = live_runner_start},
        .hooks = {.self = l, .deliver = live_hooks_deliver, .ask = live_hooks_ask},
        .power = {.self = l, .act = live_power_done, .probe = live_power_done},
        .reply = {.self = l, .outcome = live_reply_outcome, .failed = live_reply_failed},
        .watch = {.self = l, .stepped = live_watch_stepped},
    };
    l->turn = turn_new(&ports);
}

static void live_process_end(struct live *l)
{
    turn_free(l->turn);
    transitions_free(l->transitions);
    hooks_close(l->hooks);
    memory_session_crash(&l->session, true);
}

struct world *live_open(void)
{
    struct world *w = calloc(1, sizeof *w);
    struct live *l = calloc(1, sizeof *l);
    CHECK(w && l);
    l->w = w;
    w->now_ms = 1700000000000;
    w->story = buf_in(&w->arena);
    w->engine = (struct world_engine){.self = l, .step = live_step};
    l->complaints = buf_in(&w->arena);
    l->log = tmpfile();
    CHECK(l->log);
    log_setup(LOG_INFO, LOG_JSON);
    l->store = memory_store_new();
    live_process_start(l);
    CHECK(turn_start(l->turn) == TURN_AGAIN);
    live_log_start(l);
    live_settle(l);
    live_log_end(l);
    live_update_core(l);
    return w;
}

void live_close(struct world *w)
{
    struct live *l = w->engine.self;
    const char *wrong = core_check(w->core, &w->arena);
    if (wrong)
        world_fail(HERE, "at the end: %s", wrong);
    if (l->complaints.len)
        world_fail(HERE, "the test did not read these log lines about hooks: %s",
                   str_z(&w->arena, buf_str(&l->complaints)));
    live_process_end(l);
    memory_store_free(l->store);
    fclose(l->log);
    arena_fini(&w->arena);
    free(l);
    free(w);
}

void live_drop_results(struct world *w, bool held)
{
    struct live *l = w->engine.self;
    l->write_closed = held;
}

void live_restart(struct world *w)
{
    struct live *l = w->engine.self;
    const struct digest128 before = core_digest(w->core);
    live_process_end(l);
    live_process_start(l);
    l->write_closed = false;
    l->has_code = false;
    live_log_start(l);
    CHECK(turn_start(l->turn) == TURN_AGAIN);
    CHECK(digest_eq(core_digest(turn_core(l->turn)), before));
    live_settle(l);
    live_log_end(l);
    live_update_core(l);
}

/* ---- content ---- */

const char *live_path(struct world *w, const char *path)
{
    const char *source = getenv("HALLIGAN_SOURCE");
    return str_z(&w->arena,
                 STR_CONCAT(&w->arena, str_from(source ? source : "."), STR("/"), str_from(path)));
}

static void live_check_report(struct world *w, const struct diagnostics *r)
{
    struct buf b = buf_in(&w->arena);
    for (const struct diagnostics_entry *e = r->first; e; e = e->next) {
        diagnostics_format(e, &b);
        buf_put_c(&b, '\n');
    }
    if (b.len)
        world_fail(HERE, "%s", str_z(&w->arena, buf_str(&b)));
}

void live_import(struct world *w, const char *directories)
{
    struct diagnostics report = diagnostics_begin(&w->arena);
    struct code_finder code = {0};
    const struct hook_finder finder = code_finder_hook_finder(&code);
    const struct content_tree tree = content_read_tree(&report, directories, &finder);
    live_check_report(w, &report);
    if (!tree.count)
        world_fail(HERE, "no barclamps found in %s", directories);
    for (uint32_t i = 0; i < tree.count; i++) {
        DONE(w, CMD(IMPORT, import, .barclamp = tree.files[i].document));
        content_report_warnings(&report, &tree.files[i], w->out.doc);
    }
    live_check_report(w, &report);
}

/* ---- recorded calls ---- */

const struct call *live_call(struct world *w, const char *line)
{
    const struct live *l = w->engine.self;
    for (const struct call *call = l->calls; call; call = call->earlier)
        if (str_eq(live_describe_call(w, call), str_from(line)))
            return call;
    world_fail(HERE, "%s was never called", line);
    return NULL;
}

const char *live_argument(struct world *w, const char *line, const char *path)
{
    return world_path(w, live_call(w, line)->argument, path);
}

const char *live_context(struct world *w, const char *line, const char *path)
{
    return world_path(w, live_call(w, line)->context, path);
}

const char *live_hook_log(struct world *w)
{
    struct live *l = w->engine.self;
    const char *seen = str_z(&w->arena, buf_str(&l->complaints));
    l->complaints = buf_in(&w->arena);
    return seen;
}
