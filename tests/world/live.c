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

enum { ROUNDS_MAX = 10000 };

struct live {
    struct world *w;
    struct memory_store *store;
    struct memory_session session;
    struct turn *turn;
    struct hooks *hooks;
    struct transitions *transitions;
    int64_t request; /* of the step under way */
    bool replied;
    bool write_closed; /* what hooks answer is lost */
    bool has_code;     /* since this process began */
    uint64_t chance;
    FILE *log; /* stands in for standard error while anything moves */
    int log_was;
    struct call *calls; /* newest first */
    struct call *open;  /* its record goes on in the next line */
    struct buf record;
    struct buf complaints;
};

/* The engine's last state, for looking. */
static void look(struct live *l)
{
    l->w->core = (struct core *)turn_core(l->turn);
    CHECK(l->w->core != NULL);
}

/* ---- what hooks say of themselves ---- */

static struct str first_label(struct str name)
{
    return str_slice(name, 0, str_find(name, '.', 0));
}

static struct str text_of(const struct json *tree, const char *key)
{
    const struct json *value = tree ? json_get(tree, str_from(key)) : NULL;
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

static struct json *tree_of(struct world *w, struct str json)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (json_read(&w->arena, json, &tree, &offset, &what) != OK)
        world_fail(HERE, "a record that is no JSON: %s in %.*s", what, STR_FMT_ARGS(json));
    return tree;
}

/* "on_todo a@n1", "on_node_change a n1", "on_commit a in d", "template a" */
static struct str line_of(struct world *w, const struct call *call)
{
    const struct json *argument = tree_of(w, call->argument);
    const struct str node = text_of(argument, "node"), name = text_of(argument, "name");
    const struct str deployment = text_of(argument, "deployment");
    struct buf b = buf_in(&w->arena);
    buf_put_str(&b, call->hook);
    buf_put_c(&b, ' ');
    buf_put_str(&b, call->role);
    if (node.len) {
        buf_put_c(&b, '@');
        buf_put_str(&b, first_label(node));
    } else if (name.len) {
        buf_put_c(&b, ' ');
        buf_put_str(&b, first_label(name));
    } else if (deployment.len) {
        buf_put_z(&b, " in ");
        buf_put_str(&b, deployment);
    }
    return buf_str(&b);
}

static void tell(struct world *w, struct str line)
{
    if (w->story.len > 0)
        buf_put_z(&w->story, "; ");
    buf_put_str(&w->story, line);
}

static struct str role_name(struct live *l, int64_t id)
{
    struct record record;
    CHECK(core_record(turn_core(l->turn), TABLE_ROLE, id, &record));
    return str_copy(&l->w->arena, record.role.name);
}

/* The record is whole: {"argument": ..., "context": ...} */
static void close_record(struct live *l)
{
    struct world *w = l->w;
    struct call *call = l->open;
    const struct json *record = tree_of(w, buf_str(&l->record));
    call->argument = json_write(&w->arena, json_get(record, STR("argument")));
    call->context = json_write(&w->arena, json_get(record, STR("context")));
    call->earlier = l->calls;
    l->calls = call;
    l->open = NULL;
    tell(w, line_of(w, call));
}

/* "> " begins a record, "+ " goes on with it, a line "." ends it. */
static void take_record(struct live *l, struct str hook, int64_t role_id, struct str text)
{
    struct world *w = l->w;
    if (str_starts(text, STR("> "))) {
        CHECK(!l->open);
        l->open = arena_new(&w->arena, struct call);
        l->open->hook = str_copy(&w->arena, hook);
        l->open->role = role_name(l, role_id);
        l->record = buf_in(&w->arena);
    } else if (str_eq(text, STR("."))) {
        CHECK(l->open);
        close_record(l);
        return;
    } else if (!str_starts(text, STR("+ "))) {
        return; /* what other roles log is theirs */
    }
    CHECK(l->open);
    buf_put_str(&l->record, str_slice(text, 2, text.len));
}

static void take_line(struct live *l, struct str line)
{
    const struct str text = str_slice(line, str_find(line, '{', 0), line.len);
    const struct json *tree = tree_of(l->w, text);
    const struct json *role = json_get(tree, STR("role"));
    const struct str said = text_of(tree, "msg"), hook = text_of(tree, "hook");
    int64_t role_id = 0;
    if (hook.len && role && json_as_i64(role, &role_id) &&
        str_eq(text_of(tree, "level"), STR("info"))) {
        take_record(l, hook, role_id, said);
        return;
    }
    buf_put_str(&l->complaints, hook);
    buf_put_z(&l->complaints, hook.len ? ": " : "");
    buf_put_str(&l->complaints, said);
    buf_put_c(&l->complaints, '\n');
}

/* Everything the log says so far. */
static void take_log(struct live *l)
{
    char line[10000];
    rewind(l->log);
    while (fgets(line, sizeof line, l->log))
        take_line(l, str_copy(&l->w->arena, str_from(line)));
    rewind(l->log);
    CHECK(ftruncate(fileno(l->log), 0) == 0 && lseek(fileno(l->log), 0, SEEK_SET) == 0);
}

static void begin_log(struct live *l)
{
    fflush(stderr);
    l->log_was = dup(STDERR_FILENO);
    CHECK(l->log_was >= 0 && dup2(fileno(l->log), STDERR_FILENO) >= 0);
}

static void end_log(struct live *l)
{
    CHECK(dup2(l->log_was, STDERR_FILENO) >= 0 && close(l->log_was) == 0);
    take_log(l);
}

/* ---- seams of the hooks ---- */

static void wake(void *self)
{
    (void)self; /* whoever submits something waits until it is settled */
}

static bool facts(void *self, const struct outbox_record *row, struct arena *arena,
                  struct hooks_facts *out_facts)
{
    const struct live *l = self;
    struct hook_call_args known;
    if (!core_hook_args(turn_core(l->turn), row, arena, &known))
        return false;
    *out_facts = (struct hooks_facts){.argument = known.argument, .context = known.context};
    return true;
}

static int64_t find(void *self, enum table table, struct str name)
{
    const struct live *l = self;
    return core_find(turn_core(l->turn), table, name);
}

static err submit(void *self, const struct command *command)
{
    const struct live *l = self;
    return l->write_closed ? ERR_UNAVAILABLE : turn_submit(l->turn, command);
}

static err answer(void *self, uint64_t token, const struct answer *answers, uint32_t count)
{
    const struct live *l = self;
    return turn_submit_veto_replies(l->turn, token, answers, count);
}

static void called(void *self, uint64_t key, const struct hooks_result *result)
{
    const struct live *l = self;
    transitions_called(l->transitions, key, result);
}

static bool run_facts(void *self, int64_t noderole_id, struct arena *arena,
                      struct str *out_argument, int64_t *out_role_id)
{
    const struct live *l = self;
    struct record record;
    if (!core_record(turn_core(l->turn), TABLE_NODEROLE, noderole_id, &record))
        return false;
    *out_role_id = record.noderole.role_id;
    return core_run_args(turn_core(l->turn), noderole_id, arena, out_argument);
}

/* ---- seams of the turn ---- */

static int64_t now_ms(void *self)
{
    const struct live *l = self;
    return l->w->now_ms;
}

static int64_t mono_ms(void *self)
{
    const struct live *l = self;
    return l->w->now_ms - 1600000000000;
}

static uint64_t draw(void *self)
{
    struct live *l = self;
    return ++l->chance;
}

/* Hooks that were told before are through: the story has them in that order. */
static void tell_run(struct live *l, const char *verb, int64_t noderole_id)
{
    struct record nr, other;
    struct buf b = buf_in(&l->w->arena);
    const struct core *core = turn_core(l->turn);
    hooks_run_until_idle(l->hooks);
    take_log(l);
    CHECK(core_record(core, TABLE_NODEROLE, noderole_id, &nr));
    buf_put_z(&b, verb);
    CHECK(core_record(core, TABLE_ROLE, nr.noderole.role_id, &other));
    buf_put_str(&b, other.role.name);
    buf_put_c(&b, '@');
    CHECK(core_record(core, TABLE_NODE, nr.noderole.node_id, &other));
    buf_put_str(&b, first_label(other.node.name));
    tell(l->w, buf_str(&b));
}

static struct runner_port own_runner(const struct live *l)
{
    return transitions_port(l->transitions);
}

static void start(void *self, const struct run_order *order)
{
    struct live *l = self;
    if (str_eq(order->jig, STR("role-provided"))) {
        own_runner(l).start(own_runner(l).self, order);
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
    tell_run(l, "start ", order->noderole_id);
}

static void cancel(void *self, const struct run_order *order)
{
    struct live *l = self;
    if (transitions_has(l->transitions, order->run_id, order->attempt)) {
        own_runner(l).cancel(own_runner(l).self, order);
        return;
    }
    tell_run(l, "cancel ", order->noderole_id);
    const struct command command =
        CMD(RUN_STOPPED, run_stopped, .run_id = order->run_id, .attempt = order->attempt);
    CHECK(turn_submit(l->turn, &command) == OK);
}

/* Machines do as they are told, and answer. */
static void obey(void *self, const struct outbox_record *row)
{
    const struct live *l = self;
    const struct command command = CMD(OUTBOX_DONE, outbox_done, .outbox_id = row->id);
    CHECK(turn_submit(l->turn, &command) == OK);
}

static void reply(void *self, int64_t request, const struct outcome *outcome, int64_t turn)
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

static void refuse(void *self, int64_t request, err why)
{
    (void)self;
    world_fail(HERE, "request %lld failed: %d", (long long)request, (int)why);
}

/* The files of all roles whose barclamps have any. */
static void load_code(struct live *l)
{
    const struct core *core = turn_core(l->turn);
    struct record role, barclamp;
    for (int64_t id = 0; (id = core_next_id(core, TABLE_ROLE, id)) != 0;) {
        const char *path;
        CHECK(core_record(core, TABLE_ROLE, id, &role));
        CHECK(core_record(core, TABLE_BARCLAMP, role.role.barclamp_id, &barclamp));
        if (content_role_file(&l->w->arena, barclamp.barclamp.source_path, role.role.name,
                              ROLE_FILE_LUA, &path) == OK)
            hooks_load(l->hooks, id, path);
    }
}

static void loaded(void *self, int64_t role_id, err error, const struct hooks_report *report)
{
    (void)self;
    if (error != OK)
        world_fail(HERE, "role %lld: %.*s", (long long)role_id, STR_FMT_ARGS(report->text));
}

/* After a start the first row may come before anybody could have looked which roles there are. */
static void need_code(struct live *l)
{
    if (!l->has_code)
        load_code(l);
    l->has_code = true;
}

static void deliver(void *self, const struct outbox_record *row)
{
    struct live *l = self;
    need_code(l);
    hooks_port(l->hooks).deliver(hooks_port(l->hooks).self, row);
}

static void ask(void *self, uint64_t token, const struct veto_request *questions, uint32_t count)
{
    struct live *l = self;
    need_code(l);
    hooks_port(l->hooks).ask(hooks_port(l->hooks).self, token, questions, count);
}

/* The code is there before the first row of it goes out. */
static void stepped(void *self, const struct command *command, const struct outcome *outcome)
{
    if (command->kind == COMMAND_IMPORT && outcome->verdict == VERDICT_DONE)
        load_code(self);
}

/* ---- going on ---- */

/* What a failing test says is to be read. */
static void give_up(struct live *l, const char *why)
{
    end_log(l);
    world_fail(HERE, "%s", why);
}

/* Until nothing moves by itself any more. */
static void settle(struct live *l)
{
    bool moved = true;
    for (int round = 0; moved; round++) {
        if (round == ROUNDS_MAX)
            give_up(l, "the world does not come to rest");
        enum turn_status status = TURN_AGAIN;
        while (status == TURN_AGAIN)
            status = turn_advance(l->turn);
        if (status != TURN_QUIET)
            give_up(l, "the turn is not quiet");
        moved = hooks_run_until_idle(l->hooks);
        moved = transitions_pump(l->transitions) || moved;
        moved = moved || (hooks_pending_count(l->hooks) && !l->write_closed);
    }
}

static void step(void *self, struct command command)
{
    struct live *l = self;
    command.request = ++l->request;
    l->replied = false;
    l->w->fx = (struct effects){0};
    l->w->out = (struct outcome){0};
    begin_log(l);
    CHECK(turn_submit(l->turn, &command) == OK);
    settle(l);
    end_log(l);
    CHECK(l->replied);
    look(l);
}

/* ---- from open to close ---- */

static void process_begin(struct live *l)
{
    const struct hooks_callbacks seams = {.self = l,
                                          .wake = wake,
                                          .facts = facts,
                                          .find = find,
                                          .submit = submit,
                                          .answer = answer,
                                          .called = called,
                                          .loaded = loaded};
    l->hooks = hooks_open(seams, SANDBOX_LIMITS);
    CHECK(l->hooks);
    const struct transition_callbacks work = {.self = l, .facts = run_facts, .submit = submit};
    l->transitions = transitions_new(l->hooks, work);
    memory_session_init(&l->session, l->store);
    const struct turn_ports ports = {
        .store = memory_session_port(&l->session),
        .clock = {.self = l, .now_ms = now_ms, .mono_ms = mono_ms, .random = draw},
        .runner = {.self = l, .start = start, .cancel = cancel, .query = start},
        .hooks = {.self = l, .deliver = deliver, .ask = ask},
        .power = {.self = l, .act = obey, .probe = obey},
        .reply = {.self = l, .outcome = reply, .failed = refuse},
        .watch = {.self = l, .stepped = stepped},
    };
    l->turn = turn_new(&ports);
}

static void process_end(struct live *l)
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
    w->engine = (struct world_engine){.self = l, .step = step};
    l->complaints = buf_in(&w->arena);
    l->log = tmpfile();
    CHECK(l->log);
    log_setup(LOG_INFO, LOG_JSON);
    l->store = memory_store_new();
    process_begin(l);
    CHECK(turn_start(l->turn) == TURN_AGAIN);
    begin_log(l);
    settle(l);
    end_log(l);
    look(l);
    return w;
}

void live_close(struct world *w)
{
    struct live *l = w->engine.self;
    const char *wrong = core_check(w->core, &w->arena);
    if (wrong)
        world_fail(HERE, "at the end: %s", wrong);
    if (l->complaints.len)
        world_fail(HERE, "nobody looked at what hooks complained of: %s",
                   str_z(&w->arena, buf_str(&l->complaints)));
    process_end(l);
    memory_store_free(l->store);
    fclose(l->log);
    arena_fini(&w->arena);
    free(l);
    free(w);
}

void live_hold(struct world *w, bool held)
{
    struct live *l = w->engine.self;
    l->write_closed = held;
}

void live_restart(struct world *w)
{
    struct live *l = w->engine.self;
    const struct digest128 before = core_digest(w->core);
    process_end(l);
    process_begin(l);
    l->write_closed = false;
    l->has_code = false;
    begin_log(l);
    CHECK(turn_start(l->turn) == TURN_AGAIN);
    CHECK(digest_eq(core_digest(turn_core(l->turn)), before));
    settle(l);
    end_log(l);
    look(l);
}

/* ---- content ---- */

const char *live_path(struct world *w, const char *path)
{
    const char *source = getenv("HALLIGAN_SOURCE");
    return str_z(&w->arena,
                 STR_CONCAT(&w->arena, str_from(source ? source : "."), STR("/"), str_from(path)));
}

static void check_report(struct world *w, const struct diagnostics *r)
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
    check_report(w, &report);
    if (!tree.count)
        world_fail(HERE, "there are no barclamps in %s", directories);
    for (uint32_t i = 0; i < tree.count; i++) {
        DONE(w, CMD(IMPORT, import, .barclamp = tree.files[i].document));
        content_report_warnings(&report, &tree.files[i], w->out.doc);
    }
    check_report(w, &report);
}

/* ---- looking ---- */

const struct call *live_call(struct world *w, const char *line)
{
    const struct live *l = w->engine.self;
    for (const struct call *call = l->calls; call; call = call->earlier)
        if (str_eq(line_of(w, call), str_from(line)))
            return call;
    world_fail(HERE, "%s was never called", line);
    return NULL;
}

const char *live_given(struct world *w, const char *line, const char *path)
{
    return world_path(w, live_call(w, line)->argument, path);
}

const char *live_context(struct world *w, const char *line, const char *path)
{
    return world_path(w, live_call(w, line)->context, path);
}

const char *live_complaints(struct world *w)
{
    struct live *l = w->engine.self;
    const char *seen = str_z(&w->arena, buf_str(&l->complaints));
    l->complaints = buf_in(&w->arena);
    return seen;
}
