/* Commands in the notation of the tests, and functions that advance a world. */
#include "tests/world/world.h"

#include <stdio.h>
#include <string.h>

enum { TURNS_MAX = 10000 };

/* ---- content ---- */

struct str world_json(struct world *w, const char *quoted)
{
    const struct str from = str_from(quoted);
    char *text = arena_alloc(&w->arena, from.len + 1u);
    for (uint32_t i = 0; i < from.len; i++)
        text[i] = from.at[i] == '\'' ? '"' : from.at[i];
    return (struct str){text, from.len};
}

struct command cmd_import(struct world *w, const char *quoted)
{
    return CMD(IMPORT, import, .barclamp = world_document(w, world_json(w, quoted)));
}

/* {"barclamp": a new one, "<key>": [{"name": name, rest}]} */
static struct command world_import_one(struct world *w, const char *key, const char *name,
                                       const char *rest)
{
    char head[200];
    snprintf(head, sizeof head, "{'barclamp':{'name':'bc%u','source_path':'/src/bc%u'},'%s':[",
             w->barclamps, w->barclamps, key);
    w->barclamps++;
    const bool with_jig = strcmp(key, "roles") == 0 && !strstr(rest, "'jig'");
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, head);
    buf_put_z(&b, "{'name':'");
    buf_put_z(&b, name);
    buf_put_z(&b, with_jig ? "','jig':'script'" : "'");
    buf_put_z(&b, *rest ? "," : "");
    buf_put_z(&b, rest);
    buf_put_z(&b, "}]}");
    return cmd_import(w, str_z(&w->arena, buf_str(&b)));
}

struct command cmd_role(struct world *w, const char *name, const char *rest)
{
    return world_import_one(w, "roles", name, rest);
}

int64_t world_role(struct world *w, const char *name, const char *rest)
{
    DONE(w, cmd_role(w, name, rest));
    return the_role(w, name);
}

int64_t world_node_attrib(struct world *w, const char *name, const char *rest)
{
    DONE(w, world_import_one(w, "attribs", name, rest));
    return the_attrib(w, name);
}

struct command cmd_node(struct world *w, const char *name)
{
    return CMD(NODE_CREATE, node_create,
               .name = STR_CONCAT(&w->arena, str_from(name), STR(".example.com")));
}

int64_t world_node(struct world *w, const char *name, const char *deployment)
{
    struct command command = cmd_node(w, name);
    command.node_create.deployment_id = deployment ? the_deployment(w, deployment) : SYSTEM;
    command.node_create.alive = true;
    command.node_create.available = true;
    DONE(w, command);
    return the_node(w, name);
}

int64_t world_deployment(struct world *w, const char *name)
{
    DONE(w, CMD(DEPLOYMENT_CREATE, deployment_create, .name = str_from(name), .parent_id = SYSTEM));
    return the_deployment(w, name);
}

int64_t world_committed_deployment(struct world *w, const char *name)
{
    const int64_t id = world_deployment(w, name);
    world_commit_deployment(w, name);
    return id;
}

/* ---- noderoles ---- */

struct command cmd_bind(struct world *w, const char *noderole, const char *deployment)
{
    const struct str name = str_from(noderole);
    const uint32_t at = str_find(name, '@', 0);
    const char *role = str_z(&w->arena, str_slice(name, 0, at));
    const char *node = str_z(&w->arena, str_slice(name, at + 1, name.len));
    return CMD(NODEROLE_BIND, noderole_bind, .node_id = the_node(w, node),
               .role_id = the_role(w, role),
               .deployment_id = deployment ? the_deployment(w, deployment) : SYSTEM);
}

struct command cmd_commit(struct world *w, const char *noderole)
{
    return CMD(NODEROLE_COMMIT, noderole_commit, .id = the_noderole(w, noderole));
}

struct command cmd_propose(struct world *w, const char *noderole)
{
    return CMD(NODEROLE_PROPOSE, noderole_propose, .id = the_noderole(w, noderole));
}

struct command cmd_retry(struct world *w, const char *noderole)
{
    return CMD(NODEROLE_RETRY, noderole_retry, .id = the_noderole(w, noderole));
}

struct command cmd_enqueue(struct world *w, const char *noderole)
{
    return CMD(NODEROLE_ENQUEUE, noderole_enqueue, .id = the_noderole(w, noderole));
}

struct command cmd_set(struct world *w, enum table target, int64_t id, const char *attrib,
                       enum bucket bucket, const char *quoted_value)
{
    struct command set =
        CMD(ATTRIB_SET, attrib_set, .target = target, .id = id, .attrib_id = the_attrib(w, attrib),
            .bucket = bucket, .value = world_json(w, quoted_value));
    set.depth = bucket != BUCKET_USER && bucket != BUCKET_NOTE; /* only hooks write the others */
    return set;
}

int64_t world_bind(struct world *w, const char *noderole)
{
    return DONE(w, cmd_bind(w, noderole, NULL));
}

int64_t world_bind_in(struct world *w, const char *noderole, const char *deployment)
{
    return DONE(w, cmd_bind(w, noderole, deployment));
}

void world_commit(struct world *w, const char *noderole)
{
    DONE(w, cmd_commit(w, noderole));
}

void world_commit_deployment(struct world *w, const char *deployment)
{
    DONE(w, CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = the_deployment(w, deployment)));
}

void world_alive(struct world *w, const char *node, bool alive)
{
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, node), .given = GIVEN_NODE_ALIVE,
                .alive = alive));
}

void world_available(struct world *w, const char *node, bool available)
{
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, node), .given = GIVEN_NODE_AVAILABLE,
                .available = available));
}

void world_bring(struct world *w, const char *noderole, const char *state)
{
    if (strcmp(state, "proposed") == 0)
        return;
    if (strcmp(state, "todo") == 0)
        world_available(w, strchr(noderole, '@') + 1, false);
    world_commit(w, noderole);
    if (strcmp(state, "todo") != 0) {
        world_deliver(w);
        world_anneal(w);
        const bool running = world_run(w, noderole, RUN_RUNNING) != 0; /* not so on noop */
        if (strcmp(state, "active") == 0 && running)
            world_finish(w, noderole, RESULT_OK);
        if (strcmp(state, "error") == 0)
            world_finish(w, noderole, RESULT_FAILED);
    }
    world_deliver(w);
    IS(w, noderole, state);
}

/* ---- annealing and results ---- */

void world_anneal(struct world *w)
{
    for (int turn = 0; core_has_work(w->core); turn++) {
        if (turn == TURNS_MAX)
            world_fail(HERE, "annealing does not end within %d steps", TURNS_MAX);
        DONE(w, CMD(ANNEAL, anneal, .budget = 0));
    }
}

/* The first outbox row after `after` that is not held. */
static int64_t world_next_row(struct world *w, int64_t after)
{
    struct record record;
    int64_t id = core_next_id(w->core, TABLE_OUTBOX, after);
    for (; id; id = core_next_id(w->core, TABLE_OUTBOX, id)) {
        CHECK(core_record(w->core, TABLE_OUTBOX, id, &record));
        const bool hook = record.outbox.kind == OUTBOX_HOOK;
        if (!hook || !w->held || strcmp(hook_name((enum hook)record.outbox.hook), w->held) != 0)
            return id;
    }
    return 0;
}

void world_deliver(struct world *w)
{
    int64_t id = world_next_row(w, 0);
    for (int turn = 0; id; turn++, id = world_next_row(w, id)) {
        if (turn == TURNS_MAX)
            world_fail(HERE, "hooks cause hooks for more than %d steps", TURNS_MAX);
        DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = id));
    }
}

void world_answer(struct world *w, const char *line, bool failed, struct str wishes)
{
    const int64_t id = world_waiting(w, line);
    if (!id)
        world_fail(HERE, "there is no outbox row \"%s\"", line);
    DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = id, .failed = failed,
                .text = failed ? STR("no luck") : STR(""), .hook_commands = wishes));
}

/* End a run with success, or as stopped. False if it is neither RUNNING nor STOPPING. */
static bool world_end_run(struct world *w, int64_t id)
{
    struct record record;
    CHECK(core_record(w->core, TABLE_RUN, id, &record));
    if (record.run.state == RUN_RUNNING)
        DONE(w, CMD(RUN_DONE, run_done, .run_id = id, .attempt = record.run.attempt,
                    .result = RESULT_OK));
    else if (record.run.state == RUN_STOPPING)
        DONE(w, CMD(RUN_STOPPED, run_stopped, .run_id = id, .attempt = record.run.attempt));
    else
        return false;
    return true;
}

void world_run_all(struct world *w)
{
    bool moved = true;
    for (int turn = 0; moved; turn++) {
        if (turn == TURNS_MAX)
            world_fail(HERE, "the core does not become idle within %d rounds", TURNS_MAX);
        moved = core_has_work(w->core) || world_next_row(w, 0);
        world_anneal(w);
        world_deliver(w);
        int64_t id = core_next_id(w->core, TABLE_RUN, 0);
        for (; id; id = core_next_id(w->core, TABLE_RUN, id))
            moved = world_end_run(w, id) || moved;
    }
}

void world_finish_with(struct world *w, const char *noderole, struct run_done_command with)
{
    struct record record;
    with.run_id = world_run(w, noderole, RUN_RUNNING);
    if (!with.run_id)
        world_fail(HERE, "no run of %s is running", noderole);
    CHECK(core_record(w->core, TABLE_RUN, with.run_id, &record));
    with.attempt = record.run.attempt;
    DONE(w, ((struct command){.kind = COMMAND_RUN_DONE, .run_done = with}));
}

void world_finish(struct world *w, const char *noderole, enum run_result result)
{
    world_finish_with(w, noderole,
                      (struct run_done_command){
                          .result = result,
                          .runlog = result == RESULT_FAILED ? STR("it broke") : STR(""),
                      });
}
