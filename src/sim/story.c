#include "sim/story.h"

#include <stdlib.h>

#include "base/err.h"
#include "core/core.h"

enum { MACHINES = 8, ROLES = 6, MOMENTS = 5, RUNS_MAX = 64, MINUTE_MS = 60000 };

static const char barclamp[] =
    "{\"barclamp\":{\"name\":\"rack\",\"source_path\":\"/usr/share/halligan/rack\"},"
    "\"jigs\":[{\"name\":\"noop\",\"class\":\"noop\"},{\"name\":\"script\",\"class\":\"script\"}],"
    "\"hammers\":[{\"name\":\"ssh\",\"type\":\"ssh\",\"priority\":0}],\"roles\":["
    "{\"name\":\"discovered\",\"jig\":\"noop\",\"flags\":[\"implicit\",\"milestone\"]},"
    "{\"name\":\"inventory\",\"jig\":\"script\",\"flags\":[\"implicit\"],"
    "\"requires\":[\"discovered\"]},"
    "{\"name\":\"install\",\"jig\":\"script\",\"flags\":[\"implicit\",\"destructive\"],"
    "\"requires\":[\"inventory\"]},"
    "{\"name\":\"ntp\",\"jig\":\"script\",\"flags\":[\"implicit\"],\"requires\":[\"install\"]},"
    "{\"name\":\"database\",\"jig\":\"script\",\"requires\":[\"install\"]},"
    "{\"name\":\"web\",\"jig\":\"script\",\"requires\":[\"ntp\",\"database\"]}]}";

static const struct {
    const char *name;
    int64_t takes_ms;
} roles[ROLES] = {
    {"discovered", 0},      {"inventory", MINUTE_MS},    {"install", 7 * MINUTE_MS},
    {"ntp", MINUTE_MS / 2}, {"database", 3 * MINUTE_MS}, {"web", MINUTE_MS},
};

struct run {
    int64_t id;
    uint32_t attempt;
    int64_t noderole_id;
    int64_t ends_ms; /* 0 = free */
};

struct story {
    FILE *out;
    struct core *core;
    struct arena arena;
    int64_t ms;
    int64_t nodes[MACHINES];
    struct run runs[RUNS_MAX];
    bool broken;    /* the disk that fails once has failed */
    int64_t failed; /* the noderole it hit */
    uint32_t moment;
    const char *titles[MOMENTS];
    char states[MOMENTS][MACHINES][ROLES];
    uint32_t started;
    uint32_t steps;
    bool lost; /* something was refused that should not have been */
};

static void tell(struct story *s, const char *what)
{
    fprintf(s->out, "%3lld:%02lld  %s\n", (long long)(s->ms / MINUTE_MS),
            (long long)(s->ms % MINUTE_MS / 1000), what);
}

/* ---- doing something ---- */

static int64_t role_of(const struct story *s, int64_t noderole_id)
{
    struct record record;
    must(core_record(s->core, TABLE_NODEROLE, noderole_id, &record));
    for (int64_t i = 0; i < ROLES; i++)
        if (core_find(s->core, TABLE_ROLE, str_from(roles[i].name)) == record.noderole.role_id)
            return i;
    return 0;
}

static void begin_run(struct story *s, const struct effect *effect)
{
    for (uint32_t i = 0; i < RUNS_MAX; i++) {
        if (s->runs[i].ends_ms)
            continue;
        const int64_t takes_ms = roles[role_of(s, effect->noderole_id)].takes_ms;
        s->runs[i] = (struct run){.id = effect->id,
                                  .attempt = effect->attempt,
                                  .noderole_id = effect->noderole_id,
                                  .ends_ms = s->ms + takes_ms};
        s->started++;
        return;
    }
    impossible("more runs than workers");
}

static int64_t step(struct story *s, struct command *command)
{
    struct effects effects = {0};
    struct outcome outcome = {0};
    command->now_ms = command->wall_ms = 1700000000000 + s->ms;
    command->mono_ms = s->ms + 1;
    command->nonce[0] = command->nonce[1] = ++s->steps;
    core_step(s->core, command, &s->arena, &effects, &outcome);
    for (const struct problem *p = outcome.problems; p; p = p->next)
        fprintf(s->out, "refused: %.*s\n", STR_FMT_ARGS(p->text));
    s->lost = s->lost || outcome.verdict != VERDICT_DONE;
    for (const struct effect *e = effects.first; e; e = e->next) {
        if (e->kind == EFFECT_RUN_START)
            begin_run(s, e);
        if (e->kind != EFFECT_OUTBOX)
            continue;
        struct command done = {.kind = COMMAND_OUTBOX_DONE};
        done.outbox_done.outbox_id = e->id;
        step(s, &done);
    }
    return outcome.id;
}

static void anneal(struct story *s)
{
    while (core_has_work(s->core)) {
        struct command command = {.kind = COMMAND_ANNEAL};
        step(s, &command);
    }
}

/* The work that ends next. False when nothing runs. */
static bool end_run(struct story *s)
{
    struct run *next = NULL;
    for (uint32_t i = 0; i < RUNS_MAX; i++)
        if (s->runs[i].ends_ms && (!next || s->runs[i].ends_ms < next->ends_ms))
            next = &s->runs[i];
    if (!next)
        return false;
    struct record noderole;
    must(core_record(s->core, TABLE_NODEROLE, next->noderole_id, &noderole));
    s->ms = next->ends_ms;
    struct command command = {.kind = COMMAND_RUN_DONE};
    command.run_done.run_id = next->id;
    command.run_done.attempt = next->attempt;
    const bool is_bad_disk =
        noderole.noderole.node_id == s->nodes[0] && role_of(s, next->noderole_id) == 2;
    if (is_bad_disk && !s->broken) {
        s->broken = true;
        s->failed = next->noderole_id;
        command.run_done.result = RESULT_FAILED;
        command.run_done.runlog = STR("mkfs: /dev/sda: input/output error");
    }
    next->ends_ms = 0;
    step(s, &command);
    anneal(s);
    return true;
}

/* ---- looking ---- */

static void look(struct story *s, const char *title)
{
    static const char letters[] = "pbtxAE";
    if (s->moment == MOMENTS)
        return;
    s->titles[s->moment] = title;
    for (uint32_t m = 0; m < MACHINES; m++)
        for (uint32_t r = 0; r < ROLES; r++) {
            struct record record;
            const int64_t role = core_find(s->core, TABLE_ROLE, str_from(roles[r].name));
            const int64_t id = core_noderole(s->core, s->nodes[m], role);
            const bool bound = id && core_record(s->core, TABLE_NODEROLE, id, &record);
            s->states[s->moment][m][r] = bound ? letters[record.noderole.state] : '.';
        }
    s->moment++;
}

static void print_table(const struct story *s)
{
    fprintf(s->out, "\n  machine   ");
    for (uint32_t i = 0; i < s->moment; i++)
        fprintf(s->out, "  %-12s", s->titles[i]);
    for (uint32_t m = 0; m < MACHINES; m++) {
        struct record node;
        must(core_record(s->core, TABLE_NODE, s->nodes[m], &node));
        fprintf(s->out, "\n  %-10.*s", 10, node.node.name.at);
        for (uint32_t i = 0; i < s->moment; i++) {
            fprintf(s->out, "  ");
            for (uint32_t r = 0; r < ROLES; r++)
                fprintf(s->out, "%c ", s->states[i][m][r]);
        }
    }
    fprintf(s->out, "\n\n  columns: ");
    for (uint32_t r = 0; r < ROLES; r++)
        fprintf(s->out, "%s ", roles[r].name);
    fprintf(s->out,
            "\n  p proposed  b blocked  t to do  x running  A active  E error  . not here\n\n");
}

static void ask_why(struct story *s, int64_t noderole_id)
{
    for (const struct cause *c = core_why(s->core, TABLE_NODEROLE, noderole_id, &s->arena); c;
         c = c->next)
        fprintf(s->out, "          %s: %.*s\n", cause_name(c->code), STR_FMT_ARGS(c->text));
}

/* ---- the story ---- */

static void discover(struct story *s)
{
    struct command import = {.kind = COMMAND_IMPORT};
    import.import.barclamp = str_from(barclamp);
    step(s, &import);
    for (uint32_t i = 0; i < MACHINES; i++) {
        char name[] = "d1.rack.local";
        name[1] = (char)('1' + i);
        struct command command = {.kind = COMMAND_NODE_CREATE};
        command.node_create.name = str_from(name);
        command.node_create.deployment_id = 1;
        command.node_create.alive = true;
        command.node_create.available = true;
        s->nodes[i] = step(s, &command);
    }
    tell(s, "eight machines are discovered");
}

static void bind(struct story *s, const char *role, int64_t node_id)
{
    struct command command = {.kind = COMMAND_NODEROLE_BIND};
    command.noderole_bind.node_id = node_id;
    command.noderole_bind.role_id = core_find(s->core, TABLE_ROLE, str_from(role));
    step(s, &command);
}

static void draw_and_commit(struct story *s)
{
    s->ms += MINUTE_MS;
    bind(s, "database", s->nodes[0]);
    for (uint32_t i = 0; i < MACHINES; i++)
        bind(s, "web", s->nodes[i]);
    tell(s, "an operator binds web everywhere and database to d1; the rest follows from the roles");
    look(s, "proposed");
    struct command commit = {.kind = COMMAND_DEPLOYMENT_COMMIT};
    commit.deployment_commit.id = 1;
    step(s, &commit);
    anneal(s);
    tell(s, "the deployment is committed; the annealer starts what can start");
    look(s, "committed");
}

static void mend(struct story *s)
{
    const int64_t web = core_find(s->core, TABLE_ROLE, STR("web"));
    tell(s, "nothing moves any more; why is web on d8 not there?");
    ask_why(s, core_noderole(s->core, s->nodes[MACHINES - 1], web));
    s->ms += 4 * MINUTE_MS;
    tell(s, "the disk is changed and the operator retries");
    struct command retry = {.kind = COMMAND_NODEROLE_RETRY};
    retry.noderole_retry.id = s->failed;
    step(s, &retry);
    anneal(s);
    look(s, "retried");
}

static bool all_active(const struct story *s)
{
    for (int64_t id = 0; (id = core_next_id(s->core, TABLE_NODEROLE, id)) != 0;) {
        struct record record;
        if (!core_record(s->core, TABLE_NODEROLE, id, &record) ||
            record.noderole.state != NODEROLE_ACTIVE)
            return false;
    }
    return true;
}

int story_tell(FILE *out)
{
    struct story *s = calloc(1, sizeof *s);
    must(s);
    s->out = out;
    s->core = core_new();
    core_found(s->core, 1700000000000);
    discover(s);
    draw_and_commit(s);
    while (end_run(s))
        if (s->failed && s->moment == 2) {
            tell(s, "the installation of d1 fails; everything else goes on");
            look(s, "failure");
        }
    mend(s);
    while (end_run(s))
        ;
    look(s, "done");
    const bool well = all_active(s) && !s->lost && core_check(s->core, &s->arena) == NULL;
    tell(s, well ? "every noderole is active" : "it did not come up");
    print_table(s);
    fprintf(out, "  %u noderoles on %u machines, %u runs, %u commands\n",
            core_count(s->core, TABLE_NODEROLE), MACHINES, s->started, s->steps);
    core_free(s->core);
    arena_fini(&s->arena);
    free(s);
    return well ? 0 : 1;
}
