/* Steps of a world, the record of their effects (the story), and reads. */
#include "tests/world/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 4, ASKS_MAX = 64 };

void world_fail(struct where where, const char *format, ...)
{
    static char text[2000];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    check_failed(where.file, where.line, text);
}

struct world *world_open(void)
{
    struct world *w = calloc(1, sizeof *w);
    CHECK(w != NULL);
    w->now_ms = 1700000000000;
    w->core = core_new();
    w->story = buf_in(&w->arena);
    core_bootstrap(w->core, w->now_ms);
    DONE(w, cmd_import(w, "{'barclamp':{'name':'basics','source_path':'/src/basics'},"
                          "'jigs':[{'name':'noop','class':'noop'},{'name':'test','class':'test'},"
                          "{'name':'script','class':'script'},"
                          "{'name':'role-provided','class':'role-provided'}],"
                          "'hammers':[{'name':'ssh','type':'ssh','priority':0},"
                          "{'name':'ipmi','type':'ipmi','priority':10}]}"));
    return w;
}

void world_close(struct world *w)
{
    world_reload(w);
    core_free(w->core);
    arena_fini(&w->arena);
    free(w->kept);
    free(w);
}

/* ---- story: the record of effects ---- */

/* The first label of the name of a node. */
static void world_put_node(const struct world *w, struct buf *b, int64_t id)
{
    struct record record;
    if (!core_record(w->core, TABLE_NODE, id, &record)) {
        buf_put_z(b, "gone");
        return;
    }
    const struct str name = record.node.name;
    buf_put_str(b, str_slice(name, 0, str_find(name, '.', 0)));
}

static void world_put_role(const struct world *w, struct buf *b, int64_t id)
{
    struct record record;
    if (core_record(w->core, TABLE_ROLE, id, &record))
        buf_put_str(b, record.role.name);
    else
        buf_put_z(b, "gone");
}

static void world_put_noderole(const struct world *w, struct buf *b, int64_t id)
{
    struct record record;
    if (!core_record(w->core, TABLE_NODEROLE, id, &record)) {
        buf_put_z(b, "gone");
        return;
    }
    world_put_role(w, b, record.noderole.role_id);
    buf_put_c(b, '@');
    world_put_node(w, b, record.noderole.node_id);
}

static void world_put_object(const struct world *w, struct buf *b, const struct outbox_record *row)
{
    struct record record;
    if (row->object == TABLE_NODE)
        world_put_node(w, b, row->object_id);
    else if (row->object == TABLE_DEPLOYMENT_ROLE &&
             core_record(w->core, TABLE_DEPLOYMENT_ROLE, row->object_id, &record) &&
             core_record(w->core, TABLE_DEPLOYMENT, record.deployment_role.deployment_id, &record))
        buf_put_str(b, record.deployment.name);
    else if (row->object == TABLE_NETWORK || row->object == TABLE_NETWORK_ALLOCATION)
        buf_put_str(b, row->detail);
    else
        buf_put_z(b, "gone");
}

/* "on_todo a@n1", "on_node_change a n1", "power off n1", "probe n1" */
static struct str world_describe_row(struct world *w, const struct outbox_record *row)
{
    struct buf b = buf_in(&w->arena);
    if (row->kind == OUTBOX_HOOK)
        buf_put_z(&b, hook_name((enum hook)row->hook));
    else
        buf_put_z(&b, row->kind == OUTBOX_POWER ? "power" : "probe");
    buf_put_c(&b, ' ');
    if (row->kind == OUTBOX_HOOK && row->object == TABLE_NODEROLE) {
        world_put_noderole(w, &b, row->object_id);
        return buf_str(&b);
    }
    if (row->kind == OUTBOX_HOOK)
        world_put_role(w, &b, row->role_id);
    if (row->kind == OUTBOX_POWER)
        buf_put_str(&b, row->detail);
    if (row->kind != OUTBOX_PROBE)
        buf_put_c(&b, ' ');
    world_put_object(w, &b, row);
    return buf_str(&b);
}

static void world_append_story(struct world *w, struct str line)
{
    if (w->story.len > 0)
        buf_put_z(&w->story, "; ");
    buf_put_str(&w->story, line);
}

static void world_append_run(struct world *w, const char *verb, int64_t noderole)
{
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, verb);
    world_put_noderole(w, &b, noderole);
    world_append_story(w, buf_str(&b));
}

static void world_record_start(struct world *w, const struct effect *e)
{
    struct start *start = arena_new(&w->arena, struct start);
    *start = (struct start){.run = e->id,
                            .noderole = e->noderole_id,
                            .attempt = e->attempt,
                            .jig = str_copy(&w->arena, e->jig),
                            .data = str_copy(&w->arena, e->data),
                            .earlier = w->starts};
    w->starts = start;
    world_append_run(w, "start ", e->noderole_id);
}

/* Append the effects of the last step. Probes are left out: almost every node causes one. */
static void world_record_effects(struct world *w)
{
    struct record record;
    int64_t id = core_next_id(w->core, TABLE_OUTBOX, w->outbox_seen);
    for (; id; id = core_next_id(w->core, TABLE_OUTBOX, id)) {
        w->outbox_seen = id;
        CHECK(core_record(w->core, TABLE_OUTBOX, id, &record));
        if (record.outbox.kind != OUTBOX_PROBE)
            world_append_story(w, world_describe_row(w, &record.outbox));
    }
    for (const struct effect *e = w->fx.first; e; e = e->next) {
        if (e->kind == EFFECT_RUN_START)
            world_record_start(w, e);
        if (e->kind == EFFECT_RUN_CANCEL)
            world_append_run(w, "cancel ", e->noderole_id);
    }
}

void world_expect_effects(struct world *w, const char *story, struct where where)
{
    const char *seen = str_z(&w->arena, buf_str(&w->story));
    world_clear_effects(w);
    if (strcmp(seen, story) != 0)
        world_fail(where, "the effects are \"%s\", expected \"%s\"", seen, story);
}

void world_clear_effects(struct world *w)
{
    w->story = buf_in(&w->arena);
}

int64_t world_waiting(struct world *w, const char *line)
{
    struct record record;
    int64_t id = core_next_id(w->core, TABLE_OUTBOX, 0);
    for (; id; id = core_next_id(w->core, TABLE_OUTBOX, id))
        if (core_record(w->core, TABLE_OUTBOX, id, &record) &&
            str_eq(world_describe_row(w, &record.outbox), str_from(line)))
            return id;
    return 0;
}

/* ---- steps ---- */

static void world_check_one_run(struct world *w)
{
    struct record one, other;
    int64_t id = core_next_id(w->core, TABLE_RUN, 0);
    for (; id; id = core_next_id(w->core, TABLE_RUN, id)) {
        CHECK(core_record(w->core, TABLE_RUN, id, &one));
        if (one.run.state != RUN_RUNNING && one.run.state != RUN_STOPPING)
            continue;
        int64_t next = core_next_id(w->core, TABLE_RUN, id);
        for (; next; next = core_next_id(w->core, TABLE_RUN, next)) {
            CHECK(core_record(w->core, TABLE_RUN, next, &other));
            if (other.run.node_id == one.run.node_id)
                CHECK(other.run.state != RUN_RUNNING && other.run.state != RUN_STOPPING);
        }
    }
}

/* Answer the new veto requests; those of an earlier round keep their answers. */
static uint32_t world_answer_vetoes(struct world *w, struct veto_reply *veto_replies,
                                    uint32_t count)
{
    for (const struct veto_call *ask = w->out.veto_calls; ask; ask = ask->next) {
        bool known = false;
        for (uint32_t i = 0; i < count; i++)
            known = known || veto_replies[i].key == ask->key;
        if (known)
            continue;
        CHECK(count < ASKS_MAX);
        const bool veto = w->veto && strcmp(hook_name(ask->hook), w->veto) == 0;
        veto_replies[count++] =
            (struct veto_reply){.key = ask->key, .veto = veto, .text = STR("I say no")};
        struct buf b = buf_in(&w->arena);
        buf_put_z(&b, "ask ");
        buf_put_z(&b, hook_name(ask->hook));
        buf_put_c(&b, ' ');
        world_put_role(w, &b, ask->role_id);
        world_append_story(w, buf_str(&b));
    }
    return count;
}

static void world_step_core(struct world *w, struct command command)
{
    struct veto_reply veto_replies[ASKS_MAX];
    uint32_t count = 0;
    const struct digest128 before = core_digest_now(w->core);
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        command.veto_replies = veto_replies;
        command.veto_reply_count = count;
        w->fx = (struct effects){0};
        w->out = (struct outcome){0};
        core_step(w->core, &command, &w->arena, &w->fx, &w->out);
        if (w->out.verdict != VERDICT_NEEDS_HOOKS)
            break;
        CHECK(digest_eq(core_digest_now(w->core), before));
        CHECK(w->out.veto_calls != NULL);
        count = world_answer_vetoes(w, veto_replies, count);
    }
    if (w->out.verdict == VERDICT_DONE)
        world_record_effects(w);
}

static void world_step_engine(struct world *w, struct command command)
{
    if (w->engine.step)
        w->engine.step(w->engine.self, command);
    else
        world_step_core(w, command);
}

/* The first probe of a node that is created alive succeeds at once, so that tests of other subjects
 * need not handle it. Outcome and effects of the create command are restored afterwards. */
static void world_answer_first_probe(struct world *w, struct command command)
{
    struct record record;
    const struct outcome out = w->out;
    const struct effects fx = w->fx;
    for (int64_t id = core_next_id(w->core, TABLE_OUTBOX, 0); id;
         id = core_next_id(w->core, TABLE_OUTBOX, id)) {
        if (!core_record(w->core, TABLE_OUTBOX, id, &record) ||
            record.outbox.kind != OUTBOX_PROBE || record.outbox.object_id != out.id)
            continue;
        command.kind = COMMAND_OUTBOX_DONE;
        command.outbox_done = (struct outbox_done_command){.outbox_id = id};
        world_step_engine(w, command);
        break;
    }
    w->out = out;
    w->fx = fx;
}

void world_step(struct world *w, struct command command)
{
    w->now_ms += 1000;
    command.actor = STR("user tester");
    command.now_ms = w->now_ms;
    command.wall_ms = w->now_ms + w->wall_ahead_ms;
    command.mono_ms = w->now_ms - 1600000000000;
    command.nonce[0] = (uint64_t)w->now_ms;
    world_step_engine(w, command);
    if (command.kind == COMMAND_NODE_CREATE && command.node_create.alive && !w->keeps_probes &&
        w->out.verdict == VERDICT_DONE)
        world_answer_first_probe(w, command);
    if (command.kind == COMMAND_IMPORT && w->unread && w->out.verdict == VERDICT_DONE)
        world_fail(HERE, "the engine imported a barclamp that the reader refuses: %s", w->unread);
    const char *wrong = core_check(w->core, &w->arena);
    if (wrong)
        world_fail(HERE, "after %s: %s", command_name(command.kind), wrong);
    world_check_one_run(w);
}

const char *world_trouble(struct world *w)
{
    if (w->out.verdict == VERDICT_NEEDS_HOOKS)
        return "it still needs hooks";
    if (!w->out.problems)
        return "no problem";
    struct buf b = buf_in(&w->arena);
    for (const struct problem *p = w->out.problems; p; p = p->next) {
        buf_put_str(&b, problem_code_name(p->code));
        buf_put_z(&b, " (");
        buf_put_str(&b, p->field);
        buf_put_z(&b, "): ");
        buf_put_str(&b, p->text);
        buf_put_z(&b, p->next ? "; " : "");
    }
    return str_z(&w->arena, buf_str(&b));
}

int64_t world_done(struct world *w, struct command command, struct where where)
{
    world_step(w, command);
    if (w->out.verdict != VERDICT_DONE)
        world_fail(where, "%s: %s", command_name(command.kind), world_trouble(w));
    if (w->out.problems)
        world_fail(where, "%s is done and has a problem", command_name(command.kind));
    return w->out.id;
}

const char *world_refused(struct world *w, struct command command, enum problem_code code,
                          const char *field, struct where where)
{
    const struct digest128 before = core_digest_now(w->core);
    world_step(w, command);
    if (w->out.verdict != VERDICT_REFUSED)
        world_fail(where, "%s was not refused", command_name(command.kind));
    if (!digest_eq(core_digest_now(w->core), before))
        world_fail(where, "the refused %s changed the digest", command_name(command.kind));
    if (w->fx.count > 0)
        world_fail(where, "the refused %s has effects", command_name(command.kind));
    const struct problem *found = NULL;
    for (const struct problem *p = w->out.problems; p; p = p->next) {
        if (p->code == PROBLEM_NONE || str_is_empty(p->field) || str_is_empty(p->text))
            world_fail(where, "%s: a problem without code, field or text: %s",
                       command_name(command.kind), world_trouble(w));
        const bool fits = (code == PROBLEM_NONE || p->code == code) &&
                          (!field || str_eq(p->field, str_from(field)));
        found = found || !fits ? found : p;
    }
    if (!found) {
        world_fail(where, "%s: %s; expected %.*s (%s)", command_name(command.kind),
                   world_trouble(w), STR_FMT_ARGS(problem_code_name(code)), field ? field : "any");
        return "";
    }
    return str_z(&w->arena, found->text);
}

/* ---- expectations and reads ---- */

void world_expect_str(const char *seen, const char *wanted, struct where where)
{
    if (strcmp(seen, wanted) != 0)
        world_fail(where, "the value is %s, expected %s", seen, wanted);
}

void world_has(const char *text, const char *part, struct where where)
{
    if (!strstr(text, part))
        world_fail(where, "\"%s\" does not contain \"%s\"", text, part);
}

void world_is(struct world *w, const char *noderole, const char *state, struct where where)
{
    const struct noderole_record record = read_noderole(w, noderole);
    const char *seen = noderole_state_name((enum noderole_state)record.state);
    if (strcmp(seen, state) != 0)
        world_fail(where, "%s is %s, expected %s", noderole, seen, state);
}

static int64_t world_find_id(struct world *w, enum table table, const char *name)
{
    const int64_t id = core_find(w->core, table, str_from(name));
    if (!id)
        world_fail(HERE, "there is no %s %s", table_name(table), name);
    return id;
}

int64_t the_node(struct world *w, const char *name)
{
    return world_find_id(
        w, TABLE_NODE,
        str_z(&w->arena, STR_CONCAT(&w->arena, str_from(name), STR(".example.com"))));
}

int64_t the_role(struct world *w, const char *name)
{
    return world_find_id(w, TABLE_ROLE, name);
}

int64_t the_attrib(struct world *w, const char *name)
{
    return world_find_id(w, TABLE_ATTRIB, name);
}

int64_t the_deployment(struct world *w, const char *name)
{
    return world_find_id(w, TABLE_DEPLOYMENT, name);
}

int64_t world_bound(struct world *w, const char *noderole)
{
    const struct str name = str_from(noderole);
    const uint32_t at = str_find(name, '@', 0);
    const char *role = str_z(&w->arena, str_slice(name, 0, at));
    const char *node = str_z(&w->arena, str_slice(name, at + 1, name.len));
    return core_noderole(w->core, the_node(w, node), the_role(w, role));
}

int64_t the_noderole(struct world *w, const char *name)
{
    const int64_t id = world_bound(w, name);
    if (!id)
        world_fail(HERE, "%s is not bound", name);
    return id;
}

int64_t the_deployment_role(struct world *w, const char *role, const char *deployment)
{
    const int64_t id =
        core_deployment_role(w->core, the_deployment(w, deployment), the_role(w, role));
    if (!id)
        world_fail(HERE, "role %s is not in deployment %s", role, deployment);
    return id;
}

/* A copy of the record, with its strings in the arena of the world: valid after the next step. */
static struct record world_read_record(struct world *w, enum table table, int64_t id)
{
    struct record from, to = {.table = table};
    if (!core_record(w->core, table, id, &from))
        world_fail(HERE, "no %s with id %lld", table_name(table), (long long)id);
    fields_copy(&w->arena, record_layout(table), &from.id, &to.id);
    return to;
}

struct node_record read_node(struct world *w, const char *name)
{
    return world_read_record(w, TABLE_NODE, the_node(w, name)).node;
}

struct role_record read_role(struct world *w, const char *name)
{
    return world_read_record(w, TABLE_ROLE, the_role(w, name)).role;
}

struct attrib_record read_attrib(struct world *w, const char *name)
{
    return world_read_record(w, TABLE_ATTRIB, the_attrib(w, name)).attrib;
}

struct noderole_record read_noderole(struct world *w, const char *name)
{
    return world_read_record(w, TABLE_NODEROLE, the_noderole(w, name)).noderole;
}

struct deployment_role_record read_deployment_role(struct world *w, const char *role,
                                                   const char *deployment)
{
    const int64_t id = the_deployment_role(w, role, deployment);
    return world_read_record(w, TABLE_DEPLOYMENT_ROLE, id).deployment_role;
}

struct snapshot_record read_snapshot(struct world *w, int64_t id)
{
    return world_read_record(w, TABLE_SNAPSHOT, id).snapshot;
}

struct snapshot_record read_head(struct world *w, const char *deployment)
{
    const int64_t id = the_deployment(w, deployment);
    return read_snapshot(w, world_read_record(w, TABLE_DEPLOYMENT, id).deployment.head_id);
}

const char *shown(struct world *w, struct str json)
{
    if (json.len == 0)
        return "{}";
    char *text = arena_alloc(&w->arena, json.len + 1u);
    for (uint32_t i = 0; i < json.len; i++)
        text[i] = json.at[i] == '"' ? '\'' : json.at[i];
    text[json.len] = 0;
    return text;
}

const char *world_path(struct world *w, struct str json, const char *path)
{
    struct json *tree = NULL;
    uint32_t offset = 0;
    const char *what = NULL;
    CHECK(json_read(&w->arena, json, &tree, &offset, &what) == OK);
    const struct json *found = json_at(tree, str_from(path));
    return found ? shown(w, json_write(&w->arena, found)) : "absent";
}

const char *world_staged(struct world *w, const char *noderole, const char *path)
{
    return world_path(w, core_staged(w->core, the_noderole(w, noderole), &w->arena), path);
}

const char *world_value(struct world *w, enum table table, int64_t id, const char *attrib,
                        enum data_view view)
{
    struct str value;
    if (!core_value(w->core, table, id, the_attrib(w, attrib), view, &w->arena, &value))
        return "no meaning";
    return value.len ? shown(w, value) : "null";
}

bool world_has_edge(struct world *w, const char *parent, const char *child)
{
    uint32_t count = 0;
    const int64_t *parents = core_parents(w->core, the_noderole(w, child), &w->arena, &count);
    for (uint32_t i = 0; i < count; i++)
        if (parents[i] == the_noderole(w, parent))
            return true;
    return false;
}

int64_t world_run(struct world *w, const char *noderole, enum run_state state)
{
    const int64_t wanted = the_noderole(w, noderole);
    struct record record;
    int64_t id = core_next_id(w->core, TABLE_RUN, 0);
    for (; id; id = core_next_id(w->core, TABLE_RUN, id))
        if (core_record(w->core, TABLE_RUN, id, &record) && record.run.noderole_id == wanted &&
            record.run.state == state)
            return id;
    return 0;
}

uint32_t world_runs(struct world *w, const char *noderole)
{
    if (!noderole)
        return core_count(w->core, TABLE_RUN);
    const int64_t wanted = the_noderole(w, noderole);
    struct record record;
    uint32_t count = 0;
    int64_t id = core_next_id(w->core, TABLE_RUN, 0);
    for (; id; id = core_next_id(w->core, TABLE_RUN, id))
        if (core_record(w->core, TABLE_RUN, id, &record) && record.run.noderole_id == wanted)
            count++;
    return count;
}

const struct start *world_start(struct world *w, const char *noderole)
{
    const int64_t wanted = the_noderole(w, noderole);
    for (const struct start *start = w->starts; start; start = start->earlier)
        if (start->noderole == wanted)
            return start;
    return NULL;
}
