/* Goal: an exhaustive test of small worlds: every graph of four noderoles, every state that can be
 * reached by six events, every event in each of these states.
 * Method: all 543 labelled acyclic graphs; breadth first; a state is what the four noderoles, their
 * nodes and their runs are, without counters, ids and times. After every step the reference model
 * must agree (I10, and I2 with it); in every new state core_check() must report nothing and every
 * root cause must be that of the model.
 *
 * A cancelled run ends at once: the result of its runner is part of the event that cancelled it. A
 * state is reached again by commands: propose everything, make every node alive, and repeat the
 * path. A rerun mark is cleared by a run only, so a noderole with a mark is run once before that.
 * */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "core/core.h"
#include "sim/model/model.h"
#include "tests/check.h"

enum { NODES = 4, PAIRS = NODES * NODES, GRAPHS = 543, DEPTH = 6, TABLE = 1 << 17 };

/* The events: each of these for each of the four noderoles, and one pass of the annealer. */
#define EVENTS(X)                                                                                  \
    X(COMMIT)  /* of the noderole                      */                                          \
    X(PROPOSE) /* of the noderole                      */                                          \
    X(RETRY)   /* of the noderole                      */                                          \
    X(OK)      /* its running run succeeds             */                                          \
    X(FAILED)  /* its running run fails                */                                          \
    X(DIE)     /* its node becomes not alive           */                                          \
    X(RISE)    /* its node is alive again              */

enum event {
#define X(name) EVENT_##name,
    EVENTS(X)
#undef X
        EVENT_KINDS
};

enum { ANNEAL = EVENT_KINDS * NODES, ALPHABET = ANNEAL + 1 };

static const char *const event_names[] = {
#define X(name) #name,
    EVENTS(X)
#undef X
};

/* The full depth takes a minute; the environment variable selects a smaller one. */
static uint32_t depth_wanted(void)
{
    const char *asked = getenv("EXHAUSTIVE_DEPTH");
    return asked && asked[0] >= '1' && asked[0] < '0' + DEPTH && !asked[1]
               ? (uint32_t)(asked[0] - '0')
               : DEPTH;
}

/* ---- a world of four noderoles ---- */

struct small {
    struct core *core;
    struct model *model;
    struct arena arena;
    struct arena scratch;
    int64_t now_ms;
    int64_t nodes[NODES];
    int64_t noderoles[NODES];
    uint64_t steps;
    char trouble[600];
};

/* True if the command was executed; a difference from the model is recorded. */
static bool step(struct small *s, struct command *command)
{
    struct effects effects = {0};
    struct outcome outcome = {0};
    command->now_ms = ++s->now_ms;
    command->mono_ms = s->now_ms;
    command->nonce[0] = command->nonce[1] = (uint64_t)s->now_ms;
    core_step(s->core, command, &s->arena, &effects, &outcome);
    s->steps++;
    const char *trouble = model_follow(s->model, s->core, command, &outcome, &s->scratch);
    if (trouble && !s->trouble[0])
        snprintf(s->trouble, sizeof s->trouble, "%s", trouble);
    const bool done = outcome.verdict == VERDICT_DONE;
    arena_reset(&s->arena);
    return done;
}

static void import_roles(struct small *s, uint32_t graph)
{
    char text[1200];
    int len = snprintf(text, sizeof text,
                       "{\"barclamp\":{\"name\":\"small\",\"source_path\":\"/\"},"
                       "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],\"roles\":[");
    for (uint32_t child = 0; child < NODES; child++) {
        len += snprintf(text + len, sizeof text - (size_t)len,
                        "%s{\"name\":\"r%u\",\"jig\":\"script\",\"requires\":[", child ? "," : "",
                        child);
        bool first = true;
        for (uint32_t parent = 0; parent < NODES; parent++)
            if (graph >> (parent * NODES + child) & 1) {
                len += snprintf(text + len, sizeof text - (size_t)len, "%s\"r%u\"",
                                first ? "" : ",", parent);
                first = false;
            }
        len += snprintf(text + len, sizeof text - (size_t)len, "]}");
    }
    snprintf(text + len, sizeof text - (size_t)len, "]}");
    struct command command = {.kind = COMMAND_IMPORT};
    command.import.barclamp = str_from(text);
    must(step(s, &command));
}

static void create_node(struct small *s, uint32_t i)
{
    char name[] = "n0.small.local";
    name[1] = (char)('0' + i);
    struct command command = {.kind = COMMAND_NODE_CREATE};
    command.node_create.name = str_from(name);
    command.node_create.deployment_id = 1;
    command.node_create.alive = true;
    command.node_create.available = true;
    must(step(s, &command));
    s->nodes[i] = core_find(s->core, TABLE_NODE, str_from(name));
}

static void bind(struct small *s, uint32_t i)
{
    char name[] = "r0";
    name[1] = (char)('0' + i);
    struct command command = {.kind = COMMAND_NODEROLE_BIND};
    command.noderole_bind.node_id = s->nodes[i];
    command.noderole_bind.role_id = core_find(s->core, TABLE_ROLE, str_from(name));
    command.noderole_bind.deployment_id = 1;
    must(step(s, &command));
    s->noderoles[i] = core_noderole(s->core, s->nodes[i], command.noderole_bind.role_id);
}

/* Parents first, so that no parent is created implicitly on the node of its child. */
static void bind_all(struct small *s, uint32_t graph)
{
    bool bound[NODES] = {false};
    for (uint32_t round = 0; round < NODES; round++)
        for (uint32_t child = 0; child < NODES; child++) {
            bool ready = !bound[child];
            for (uint32_t parent = 0; parent < NODES; parent++)
                ready = ready && (!(graph >> (parent * NODES + child) & 1) || bound[parent]);
            if (ready) {
                bind(s, child);
                bound[child] = true;
            }
        }
}

static void small_begin(struct small *s, uint32_t graph)
{
    core_free(s->core);
    s->core = core_new();
    s->now_ms = 1000;
    core_bootstrap(s->core, s->now_ms);
    model_adopt(s->model, s->core, &s->scratch);
    /* With the test jig, nodes that become alive are not probed. */
    struct command settings = {.kind = COMMAND_SETTINGS_UPDATE};
    settings.settings_update.given = GIVEN_SETTINGS_TEST_JIG;
    settings.settings_update.test_jig = true;
    must(step(s, &settings));
    import_roles(s, graph);
    for (uint32_t i = 0; i < NODES; i++)
        create_node(s, i);
    bind_all(s, graph);
}

/* ---- states ---- */

/* The run on the node of the i-th; 0 = there is none. */
static int64_t find_run(const struct small *s, uint32_t i, struct record *out_run)
{
    for (int64_t id = 0; (id = core_next_id(s->core, TABLE_RUN, id)) != 0;)
        if (core_record(s->core, TABLE_RUN, id, out_run) && out_run->run.node_id == s->nodes[i])
            return id;
    return 0;
}

/* Eight bits for each of the four: state, mark, node, and whether a run is in flight. */
static uint32_t key_of(const struct small *s)
{
    uint32_t key = 0;
    for (uint32_t i = 0; i < NODES; i++) {
        struct record record;
        must(core_record(s->core, TABLE_NODEROLE, s->noderoles[i], &record));
        uint32_t bits = record.noderole.state | (uint32_t)record.noderole.rerun << 3;
        must(core_record(s->core, TABLE_NODE, s->nodes[i], &record));
        bits |= (uint32_t)record.node.alive << 4;
        key |= bits << (8 * i);
    }
    for (int64_t id = 0; (id = core_next_id(s->core, TABLE_RUN, id)) != 0;) {
        struct record run;
        must(core_record(s->core, TABLE_RUN, id, &run));
        for (uint32_t i = 0; i < NODES; i++)
            if (run.run.node_id == s->nodes[i])
                key |= (run.run.state == RUN_RUNNING ? 1u : 2u) << (8 * i + 5);
    }
    return key;
}

static struct command node_alive(int64_t node_id, bool alive)
{
    struct command command = {.kind = COMMAND_NODE_UPDATE};
    command.node_update.id = node_id;
    command.node_update.given = GIVEN_NODE_ALIVE;
    command.node_update.alive = alive;
    return command;
}

/* False if the event is not possible: it needs a run, and there is none. */
static bool command_of(const struct small *s, uint32_t event, struct command *out)
{
    const uint32_t i = event % NODES;
    struct record run;
    *out = (struct command){.kind = COMMAND_ANNEAL};
    if (event == ANNEAL)
        return core_has_work(s->core);
    switch ((enum event)(event / NODES)) {
    case EVENT_COMMIT:
        out->kind = COMMAND_NODEROLE_COMMIT;
        out->noderole_commit.id = s->noderoles[i];
        return true;
    case EVENT_PROPOSE:
        out->kind = COMMAND_NODEROLE_PROPOSE;
        out->noderole_propose.id = s->noderoles[i];
        return true;
    case EVENT_RETRY:
        out->kind = COMMAND_NODEROLE_RETRY;
        out->noderole_retry.id = s->noderoles[i];
        return true;
    case EVENT_OK:
    case EVENT_FAILED:
        out->kind = COMMAND_RUN_DONE;
        out->run_done.run_id = find_run(s, i, &run);
        if (!out->run_done.run_id)
            return false;
        out->run_done.attempt = run.run.attempt;
        out->run_done.result = event / NODES == EVENT_OK ? RESULT_OK : RESULT_FAILED;
        return true;
    case EVENT_DIE: *out = node_alive(s->nodes[i], false); return true;
    case EVENT_RISE: *out = node_alive(s->nodes[i], true); return true;
    case EVENT_KINDS: break;
    }
    impossible("an event outside the alphabet");
}

static void stop_cancelled(struct small *s)
{
    for (int64_t id = 0; (id = core_next_id(s->core, TABLE_RUN, id)) != 0;) {
        struct record run;
        if (!core_record(s->core, TABLE_RUN, id, &run) || run.run.state != RUN_STOPPING)
            continue;
        struct command command = {.kind = COMMAND_RUN_STOPPED};
        command.run_stopped.run_id = id;
        command.run_stopped.attempt = run.run.attempt;
        step(s, &command);
    }
}

/* False if the event is not possible in this state. */
static bool apply_event(struct small *s, uint32_t event)
{
    struct command command;
    if (!command_of(s, event, &command))
        return false;
    step(s, &command);
    stop_cancelled(s);
    return true;
}

/* ---- reaching a state ---- */

struct state {
    uint32_t key;
    uint32_t from; /* index of the state before */
    uint8_t event; /* that led here */
    uint8_t depth;
};

struct walk {
    struct small small;
    uint32_t graph;
    uint32_t initial;
    struct state *states;
    uint32_t count;
    uint32_t cap;
    uint32_t *table; /* by hash of key: index + 1 */
};

struct totals {
    uint64_t graphs;
    uint64_t states;
    uint64_t transitions;
    uint64_t moves; /* transitions that lead to another state */
    uint64_t steps;
    uint64_t deepest; /* states first seen at DEPTH */
};

static bool is_marked(uint32_t key)
{
    return key & 0x08080808u;
}

static void propose_all(struct small *s)
{
    const uint32_t key = key_of(s);
    for (uint32_t i = 0; i < NODES; i++) {
        if ((key >> (8 * i) & 7) != NODEROLE_PROPOSED)
            apply_event(s, EVENT_PROPOSE * NODES + i);
        if (!(key >> (8 * i + 4) & 1))
            apply_event(s, EVENT_RISE * NODES + i);
    }
}

/* Everything runs once. */
static void run_everything(struct small *s)
{
    for (uint32_t i = 0; i < NODES; i++)
        apply_event(s, EVENT_COMMIT * NODES + i);
    for (uint32_t round = 0; round < NODES; round++) {
        apply_event(s, ANNEAL);
        for (uint32_t i = 0; i < NODES; i++)
            apply_event(s, EVENT_OK * NODES + i);
    }
}

static void start_over(struct walk *w)
{
    propose_all(&w->small);
    if (is_marked(key_of(&w->small))) {
        run_everything(&w->small);
        propose_all(&w->small);
    }
    must(key_of(&w->small) == w->initial);
}

static void walk_go_to(struct walk *w, uint32_t ix)
{
    uint8_t path[DEPTH];
    uint32_t len = 0;
    for (uint32_t at = ix; w->states[at].depth; at = w->states[at].from)
        path[len++] = w->states[at].event;
    start_over(w);
    while (len)
        apply_event(&w->small, path[--len]);
    must(key_of(&w->small) == w->states[ix].key);
}

static uint32_t *slot_of(struct walk *w, uint32_t key)
{
    uint32_t at = (key * 2654435761u) >> 8 & (TABLE - 1);
    while (w->table[at] && w->states[w->table[at] - 1].key != key)
        at = (at + 1) & (TABLE - 1);
    return &w->table[at];
}

/* True when it is new. */
static bool add_state(struct walk *w, struct state state)
{
    uint32_t *slot = slot_of(w, state.key);
    if (*slot)
        return false;
    if (w->count == w->cap) {
        w->cap = w->cap ? 2 * w->cap : 4096;
        w->states = realloc(w->states, w->cap * sizeof *w->states);
        must(w->states);
    }
    must(w->count < TABLE / 2);
    w->states[w->count++] = state;
    *slot = w->count;
    return true;
}

/* ---- checking a state ---- */

static void check_state(struct small *s)
{
    const char *trouble = core_check(s->core, &s->scratch);
    if (!trouble)
        trouble = model_check_records(s->model, s->core, &s->scratch);
    if (!trouble)
        trouble = model_check_why(s->model, s->core, &s->scratch);
    if (!trouble && !core_has_work(s->core))
        trouble = model_check_idle(s->model);
    if (trouble && !s->trouble[0])
        snprintf(s->trouble, sizeof s->trouble, "%s", trouble);
    arena_reset(&s->scratch);
}

static void report(const struct walk *w, uint32_t ix, uint32_t event)
{
    uint8_t path[DEPTH];
    uint32_t len = 0;
    for (uint32_t at = ix; w->states[at].depth; at = w->states[at].from)
        path[len++] = w->states[at].event;
    fprintf(stderr, "graph %04x:", w->graph);
    while (len--)
        fprintf(stderr, " %s(%u)", path[len] == ANNEAL ? "ANNEAL" : event_names[path[len] / NODES],
                path[len] % NODES);
    fprintf(stderr, " then %s(%u): %s\n", event == ANNEAL ? "ANNEAL" : event_names[event / NODES],
            event % NODES, w->small.trouble);
}

/* Every event in this state. False when something is wrong. */
static bool expand(struct walk *w, uint32_t ix, struct totals *totals)
{
    bool there = false;
    for (uint32_t event = 0; event < ALPHABET; event++) {
        const struct state here = w->states[ix];
        if (!there)
            walk_go_to(w, ix);
        if (!apply_event(&w->small, event)) {
            there = true;
            continue;
        }
        totals->transitions++;
        const uint32_t key = key_of(&w->small);
        there = key == here.key;
        totals->moves += !there;
        const struct state next = {key, ix, (uint8_t)event, (uint8_t)(here.depth + 1)};
        if (!there && add_state(w, next)) {
            check_state(&w->small);
            totals->deepest += next.depth == depth_wanted();
        }
        if (w->small.trouble[0]) {
            report(w, ix, event);
            return false;
        }
    }
    return true;
}

static bool explore(struct walk *w, uint32_t graph, struct totals *totals)
{
    w->graph = graph;
    w->count = 0;
    memset(w->table, 0, TABLE * sizeof *w->table);
    small_begin(&w->small, graph);
    w->initial = key_of(&w->small);
    add_state(w, (struct state){.key = w->initial});
    for (uint32_t ix = 0; ix < w->count && w->states[ix].depth < depth_wanted(); ix++)
        if (!expand(w, ix, totals))
            return false;
    totals->graphs++;
    totals->states += w->count;
    return true;
}

/* ---- all graphs ---- */

static bool is_acyclic(uint32_t graph)
{
    uint32_t left = (1u << NODES) - 1;
    for (uint32_t round = 0; round < NODES; round++)
        for (uint32_t child = 0; child < NODES; child++) {
            bool has_parent = false;
            for (uint32_t parent = 0; parent < NODES; parent++)
                has_parent =
                    has_parent || ((left >> parent & 1) && (graph >> (parent * NODES + child) & 1));
            if (!has_parent)
                left &= ~(1u << child);
        }
    return left == 0;
}

static uint32_t all_graphs(uint32_t *out)
{
    uint32_t count = 0;
    for (uint32_t graph = 0; graph < 1u << PAIRS; graph++)
        if (is_acyclic(graph))
            out[count++] = graph;
    return count;
}

/* Every `jobs`-th graph, in a process of its own; totals go through the pipe. */
static void explore_share(const uint32_t *graphs, uint32_t job, uint32_t jobs, int out)
{
    struct walk w = {.small.model = model_new()};
    struct totals totals = {0};
    w.table = calloc(TABLE, sizeof *w.table);
    bool good = true;
    for (uint32_t i = job; i < GRAPHS && good; i += jobs)
        good = explore(&w, graphs[i], &totals);
    totals.steps = w.small.steps;
    const bool told = write(out, &totals, sizeof totals) == (ssize_t)sizeof totals;
    core_free(w.small.core);
    model_free(w.small.model);
    arena_fini(&w.small.arena);
    arena_fini(&w.small.scratch);
    free(w.states);
    free(w.table);
    _exit(good && told ? 0 : 1);
}

static void add_totals(struct totals *sum, const struct totals *part)
{
    sum->graphs += part->graphs;
    sum->states += part->states;
    sum->transitions += part->transitions;
    sum->moves += part->moves;
    sum->steps += part->steps;
    sum->deepest += part->deepest;
}

TEST(there_are_543_graphs_of_four)
{
    static uint32_t graphs[1 << 12];
    CHECK(all_graphs(graphs) == GRAPHS);
}

TEST(every_event_in_every_reachable_state_of_every_graph_of_four)
{
    static uint32_t graphs[1 << 12];
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t jobs = processors > 1 && processors < 64 ? (uint32_t)processors : 1;
    int pipes[64];
    pid_t children[64];
    CHECK(all_graphs(graphs) == GRAPHS);
    fflush(NULL);
    for (uint32_t job = 0; job < jobs; job++) {
        int ends[2];
        CHECK(pipe(ends) == 0);
        children[job] = fork();
        CHECK(children[job] >= 0);
        if (children[job] == 0)
            explore_share(graphs, job, jobs, ends[1]);
        close(ends[1]);
        pipes[job] = ends[0];
    }
    struct totals sum = {0};
    bool good = true;
    for (uint32_t job = 0; job < jobs; job++) {
        struct totals part;
        int status = 0;
        if (read(pipes[job], &part, sizeof part) == (ssize_t)sizeof part)
            add_totals(&sum, &part);
        close(pipes[job]);
        waitpid(children[job], &status, 0);
        good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    printf("%llu graphs, %d events, depth %u: %llu states (%llu at the end), %llu transitions, "
           "%llu of them moves; %llu steps\n",
           (unsigned long long)sum.graphs, ALPHABET, depth_wanted(), (unsigned long long)sum.states,
           (unsigned long long)sum.deepest, (unsigned long long)sum.transitions,
           (unsigned long long)sum.moves, (unsigned long long)sum.steps);
    CHECK(good);
    CHECK(sum.graphs == GRAPHS);
    CHECK(sum.states > 100 * (uint64_t)GRAPHS);
}
