#include "sim/oracle/checks.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "base/json/json.h"

void checks_init(struct checks *c, const struct draw *draw, struct counts *counts)
{
    *c = (struct checks){.model = model_new(),
                         .durable.model = model_new(),
                         .pending.model = model_new(),
                         .whole = model_new(),
                         .reload_every = draw->reload_every,
                         .thorough = draw->thorough,
                         .counts = counts};
}

void checks_fini(struct checks *c)
{
    counts_add_model(c->counts, model_counts(c->model));
    counts_size(c->counts->noderoles, c->noderoles_max);
    model_free(c->model);
    model_free(c->durable.model);
    model_free(c->pending.model);
    model_free(c->whole);
    durability_oracle_fini(&c->ledger);
    run_history_oracle_fini(&c->book);
    host_key_oracle_fini(&c->keys);
    arena_fini(&c->scratch);
}

static const char *trouble(struct checks *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *trouble(struct checks *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->trouble, sizeof c->trouble, format, args);
    va_end(args);
    return c->trouble;
}

static const char *check_self(struct checks *c, const struct core *core, const char *when)
{
    const char *broken = core_check(core, &c->scratch);
    const char *said = broken ? trouble(c, "core_check %s: %s", when, broken) : NULL;
    arena_reset(&c->scratch);
    return said;
}

/* ---- beginning, and beginning again ---- */

static void remember(struct moment *moment, int64_t turn, struct digest128 digest,
                     const struct model *model)
{
    moment->turn = turn;
    moment->digest = digest;
    model_become(moment->model, model);
}

/* Where the store stands decides which of the two moments is true. */
static const char *fall_back(struct checks *c, const struct core *core, int64_t turn)
{
    if (turn < c->acknowledged)
        return trouble(c, "I4: turn %lld was acknowledged, the store stands at %lld",
                       (long long)c->acknowledged, (long long)turn);
    const bool is_pending = turn == c->pending.turn;
    if (!is_pending && turn != c->durable.turn)
        return trouble(c, "I4: the store stands at turn %lld, neither %lld nor %lld",
                       (long long)turn, (long long)c->durable.turn, (long long)c->pending.turn);
    const struct moment *moment = is_pending ? &c->pending : &c->durable;
    if (!digest_eq(core_digest(core), moment->digest))
        return trouble(c, "I1: loaded at turn %lld, the core is not what it was", (long long)turn);
    model_become(c->model, moment->model);
    model_restarted(c->model);
    if (is_pending)
        remember(&c->durable, turn, moment->digest, c->model);
    return NULL;
}

const char *checks_begun(struct checks *c, const struct core *core, int64_t turn)
{
    c->has_before = false;
    if (turn == 0) {
        model_adopt(c->model, core, &c->scratch);
        remember(&c->durable, 0, core_digest(core), c->model);
        c->pending.turn = 0;
        return NULL;
    }
    const char *said = fall_back(c, core, turn);
    c->pending.turn = 0;
    return said ? said : check_self(c, core, "after a load");
}

/* ---- a step ---- */

static void count_outcome(struct counts *counts, const struct command *command,
                          const struct outcome *outcome)
{
    if (outcome->verdict == VERDICT_DONE)
        counts->done[command->kind]++;
    if (outcome->verdict == VERDICT_REFUSED)
        counts->refused[command->kind]++;
    for (const struct problem *p = outcome->problems; p; p = p->next)
        counts->refusals[p->code]++;
}

/* A refusal has a reason that a person can read, and leaves no trace. */
static const char *check_refusal(struct checks *c, const struct core *core,
                                 const struct command *command, const struct outcome *outcome)
{
    const bool refused = outcome->verdict == VERDICT_REFUSED;
    if (refused != (outcome->problems != NULL))
        return trouble(c, "%s: a refusal without a problem, or the other way round",
                       command_name(command->kind));
    for (const struct problem *p = outcome->problems; p; p = p->next)
        if (p->code == PROBLEM_NONE || p->code >= PROBLEM_COUNT || str_is_empty(p->text))
            return trouble(c, "%s: a problem without a code or a text",
                           command_name(command->kind));
    if (!c->thorough)
        return NULL;
    const struct digest128 now = core_digest_now(core);
    const bool same = digest_eq(now, c->before);
    const bool known = c->has_before;
    c->before = now;
    c->has_before = true;
    if (known && outcome->verdict != VERDICT_DONE && !same)
        return trouble(c, "%s was refused and changed something", command_name(command->kind));
    return NULL;
}

const char *checks_part(struct checks *c, const struct core *core, const struct command *part,
                        const struct outcome *outcome)
{
    if (!c->in_parts)
        model_become(c->whole, c->model);
    c->in_parts = true;
    c->parts_lost = c->parts_lost || outcome->verdict == VERDICT_NEEDS_HOOKS;
    if (c->parts_lost)
        return NULL;
    const char *said = model_follow(c->model, core, part, outcome, &c->scratch);
    arena_reset(&c->scratch);
    return said ? trouble(c, "%s", said) : NULL;
}

/* Its parts were followed one by one. */
static void end_parts(struct checks *c, const struct outcome *outcome)
{
    if (c->in_parts && outcome->verdict != VERDICT_DONE)
        model_become(c->model, c->whole);
    c->in_parts = c->parts_lost = false;
}

const char *checks_stepped(struct checks *c, const struct core *core, const struct command *command,
                           const struct outcome *outcome)
{
    count_outcome(c->counts, command, outcome);
    const char *said = check_refusal(c, core, command, outcome);
    if (said)
        return said;
    if (command->kind == COMMAND_BATCH) {
        end_parts(c, outcome);
        return NULL;
    }
    said = model_follow(c->model, core, command, outcome, &c->scratch);
    arena_reset(&c->scratch);
    return said ? trouble(c, "%s", said) : NULL;
}

/* ---- the end of a turn ---- */

const char *checks_collected(struct checks *c, const struct core *core, int64_t turn)
{
    c->has_before = false; /* rows were stamped with the turn */
    c->counts->turns++;
    const uint32_t noderoles = core_count(core, TABLE_NODEROLE);
    if (noderoles > c->noderoles_max)
        c->noderoles_max = noderoles;
    const char *said = model_check_records(c->model, core, &c->scratch);
    if (!said && !core_has_work(core))
        said = model_check_idle(c->model);
    if (!said) {
        said = model_check_why(c->model, core, &c->scratch);
        c->counts->whys += noderoles;
    }
    arena_reset(&c->scratch);
    if (said)
        return trouble(c, "%s", said);
    if (c->thorough && !digest_eq(core_digest(core), core_digest_now(core)))
        return trouble(c, "I1: the digest kept up to date is not the digest from scratch");
    if (c->thorough && (said = check_self(c, core, "after a turn")) != NULL)
        return said;
    remember(&c->pending, turn, core_digest(core), c->model);
    return NULL;
}

/* ---- what the store holds ---- */

struct loading {
    struct core *core;
    const char *what;
};

static err load_record(void *self, const struct record *record)
{
    struct loading *loading = self;
    return core_load(loading->core, record, &loading->what);
}

/* Everything but the summary, which only a plan beside the core has. */
static struct str without_summary(struct arena *a, struct str doc)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    must(json_read(a, doc, &tree, &offset, &what) == OK);
    struct json *rest = json_make(a, JSON_OBJECT);
    for (const struct json *member = tree->first; member; member = member->next)
        if (!str_eq(member->key, STR("summary")))
            json_set(rest, member->key, json_clone(a, member));
    return json_write(a, rest);
}

/* The plan that is computed beside the core is the one of the commit stepped and taken back. */
static const char *check_plan(struct checks *c, struct core *core, int64_t deployment_id)
{
    struct outcome beside, whole;
    const struct command commit = {.kind = COMMAND_DEPLOYMENT_COMMIT,
                                   .actor = STR("checks"),
                                   .deployment_commit = {.id = deployment_id}};
    core_plan(core, &commit, &c->scratch, &beside);
    core_plan_whole(core, &commit, &c->scratch, &whole);
    if (beside.verdict != whole.verdict || beside.veto_request_count != whole.veto_request_count)
        return trouble(c, "the plan of deployment %lld is answered otherwise than its dry commit",
                       (long long)deployment_id);
    if (whole.verdict == VERDICT_DONE &&
        !str_eq(without_summary(&c->scratch, beside.doc), whole.doc))
        return trouble(c, "the plan of deployment %lld is not that of its dry commit",
                       (long long)deployment_id);
    return NULL;
}

static const char *check_plans(struct checks *c, struct core *core)
{
    const char *said = NULL;
    for (int64_t id = core_next_id(core, TABLE_DEPLOYMENT, 0); id && !said;
         id = core_next_id(core, TABLE_DEPLOYMENT, id)) {
        said = check_plan(c, core, id);
        arena_reset(&c->scratch);
    }
    return said;
}

static const char *check_reload(struct checks *c, const struct memory_store *store, int64_t mono_ms)
{
    c->counts->reloads++;
    struct loading loading = {.core = core_new(), .what = "the store could not be read"};
    err e = memory_store_load(store, (struct store_visitor){&loading, load_record});
    if (e == OK)
        e = core_load_end(loading.core, mono_ms, &loading.what);
    const char *said = NULL;
    if (e != OK)
        said = trouble(c, "I1: what was saved does not load: %s", loading.what);
    else if (!digest_eq(core_digest(loading.core), c->durable.digest))
        said = trouble(c, "I1: loaded from the store at turn %lld, a core is not the one in memory",
                       (long long)c->durable.turn);
    else
        said = check_self(c, loading.core, "of a core loaded beside");
    if (!said)
        said = check_plans(c, loading.core);
    core_free(loading.core);
    return said;
}

const char *checks_durable(struct checks *c, const struct core *core, int64_t turn,
                           const struct memory_store *store, int64_t mono_ms)
{
    if (turn != c->pending.turn)
        return trouble(c, "turn %lld is durable, but %lld was collected", (long long)turn,
                       (long long)c->pending.turn);
    const struct moment keep = c->durable;
    c->durable = c->pending;
    c->pending = keep;
    c->pending.turn = 0;
    if (++c->batches < c->reload_every)
        return NULL;
    c->batches = 0;
    const char *said = check_reload(c, store, mono_ms);
    return said ? said : check_self(c, core, "of the core in memory");
}

const char *checks_acknowledged(struct checks *c, int64_t turn, const struct memory_store *store)
{
    if (turn > memory_store_mark(store).turn)
        return trouble(c, "I5: an answer of turn %lld left while the store stands at %lld",
                       (long long)turn, (long long)memory_store_mark(store).turn);
    if (turn > c->acknowledged)
        c->acknowledged = turn;
    return NULL;
}
