#include "sim/oracle/checks.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "base/json/json.h"

void checks_init(struct checks *c, const struct scenario *scenario, struct counts *counts)
{
    *c = (struct checks){.model = model_new(),
                         .durable.model = model_new(),
                         .pending.model = model_new(),
                         .whole = model_new(),
                         .reload_every = scenario->reload_every,
                         .thorough = scenario->thorough,
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
    grant_oracle_fini(&c->grants);
    address_oracle_fini(&c->addresses);
    c->counts->boot_changes += c->boot_view.compared;
    boot_view_oracle_fini(&c->boot_view);
    arena_fini(&c->scratch);
}

static const char *checks_report(struct checks *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *checks_report(struct checks *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->trouble, sizeof c->trouble, format, args);
    va_end(args);
    return c->trouble;
}

static const char *checks_core(struct checks *c, const struct core *core, const char *when)
{
    const char *broken = core_check(core, &c->scratch);
    const char *said = broken ? checks_report(c, "core_check %s: %s", when, broken) : NULL;
    arena_reset(&c->scratch);
    return said;
}

/* Each function compares the core with independent knowledge: the digest of the last stored and
 * the last collected turn, and the naive model. After a crash the store decides which of the two
 * turns is the present one; every other state is a violation of I4. The messages are the result
 * of the simulator, so they begin with the number of the invariant. */

/* ---- start and restart ---- */

static void moment_set(struct moment *moment, int64_t turn, struct digest128 digest,
                       const struct model *model)
{
    moment->turn = turn;
    moment->digest = digest;
    model_copy(moment->model, model);
}

/* The turn of the store decides which of the two moments the core has returned to. */
static const char *checks_return_to_stored(struct checks *c, const struct core *core, int64_t turn,
                                           bool is_imported)
{
    if (turn < c->acknowledged)
        return checks_report(c, "I4: turn %lld was acknowledged, the store is at %lld",
                             (long long)c->acknowledged, (long long)turn);
    const bool is_pending = turn == c->pending.turn;
    if (!is_pending && turn != c->durable.turn)
        return checks_report(c, "I4: the store is at turn %lld, neither %lld nor %lld",
                             (long long)turn, (long long)c->durable.turn,
                             (long long)c->pending.turn);
    struct moment *moment = is_pending ? &c->pending : &c->durable;
    if (!is_imported && !digest_eq(core_digest(core), moment->digest))
        return checks_report(c, "I1: the core loaded at turn %lld differs", (long long)turn);
    model_copy(c->model, moment->model);
    model_restart_deadlines(c->model);
    model_restart_installs(c->model);
    model_restart_served(c->model, core);
    const char *said = is_imported ? model_import(c->model, core) : NULL;
    if (said)
        return checks_report(c, "%s", said);
    if (is_imported)
        moment_set(moment, turn, core_digest(core), c->model);
    if (is_pending)
        moment_set(&c->durable, turn, moment->digest, c->model);
    return NULL;
}

const char *checks_begun(struct checks *c, const struct core *core, int64_t turn, bool is_imported)
{
    c->has_before = false;
    boot_view_oracle_begin(&c->boot_view, core, turn, &c->scratch);
    if (turn == 0) {
        model_adopt(c->model, core, &c->scratch);
        moment_set(&c->durable, 0, core_digest(core), c->model);
        c->pending.turn = 0;
        return NULL;
    }
    const char *said = checks_return_to_stored(c, core, turn, is_imported);
    c->pending.turn = 0;
    return said ? said : checks_core(c, core, "after a load");
}

/* ---- steps ---- */

/* A refusal has a code and a sentence, and changes nothing. */
static const char *checks_refusal(struct checks *c, const struct core *core,
                                  const struct command *command, const struct outcome *outcome)
{
    const bool refused = outcome->verdict == VERDICT_REFUSED;
    if (refused != (outcome->problems != NULL))
        return checks_report(c, "%s: a refusal without a problem, or a problem without a refusal",
                             command_name(command->kind));
    for (const struct problem *p = outcome->problems; p; p = p->next)
        if (p->code == PROBLEM_NONE || p->code >= PROBLEM_COUNT || str_is_empty(p->text))
            return checks_report(c, "%s: a problem without a code or a text",
                                 command_name(command->kind));
    if (!c->thorough)
        return NULL;
    const struct digest128 now = core_digest_now(core);
    const bool same = digest_eq(now, c->before);
    const bool known = c->has_before;
    c->before = now;
    c->has_before = true;
    if (known && outcome->verdict != VERDICT_DONE && !same)
        return checks_report(c, "%s was refused and changed something",
                             command_name(command->kind));
    return NULL;
}

const char *checks_part(struct checks *c, const struct core *core, const struct command *part,
                        const struct outcome *outcome)
{
    if (!c->in_parts)
        model_copy(c->whole, c->model);
    c->in_parts = true;
    c->parts_lost = c->parts_lost || outcome->verdict == VERDICT_NEEDS_HOOKS;
    if (c->parts_lost)
        return NULL;
    const char *said = model_follow(c->model, core, part, outcome, &c->scratch);
    arena_reset(&c->scratch);
    return said ? checks_report(c, "%s", said) : NULL;
}

const char *checks_stepped(struct checks *c, const struct core *core, const struct command *command,
                           const struct outcome *outcome)
{
    if (outcome->verdict == VERDICT_DONE)
        c->counts->done[command->kind]++;
    if (outcome->verdict == VERDICT_REFUSED)
        c->counts->refused[command->kind]++;
    for (const struct problem *p = outcome->problems; p; p = p->next)
        c->counts->refusals[p->code]++;
    const char *said = checks_refusal(c, core, command, outcome);
    if (said)
        return said;
    if (command->kind == COMMAND_BATCH) {
        /* The model has executed the parts one by one; undo them if the batch was refused as a
         * whole. */
        if (c->in_parts && outcome->verdict != VERDICT_DONE)
            model_copy(c->model, c->whole);
        c->in_parts = c->parts_lost = false;
        return NULL;
    }
    said = model_follow(c->model, core, command, outcome, &c->scratch);
    arena_reset(&c->scratch);
    return said ? checks_report(c, "%s", said) : NULL;
}

/* ---- end of a turn ---- */

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
    if (!said)
        said = model_collect_served(c->model, core, turn);
    for (struct model_log log; model_take_log(c->model, &log);)
        run_history_oracle_expect(&c->book, log.noderole_id, log.attempt, log.hash);
    if (!said) {
        said = model_check_why(c->model, core, &c->scratch);
        c->counts->whys += noderoles;
    }
    if (!said)
        said = model_check_names(c->model, core, &c->scratch);
    arena_reset(&c->scratch);
    if (said)
        return checks_report(c, "%s", said);
    if (c->thorough && !digest_eq(core_digest(core), core_digest_now(core)))
        return checks_report(c, "I1: the incremental digest differs from the recomputed one");
    if (c->thorough && (said = checks_core(c, core, "after a turn")) != NULL)
        return said;
    moment_set(&c->pending, turn, core_digest(core), c->model);
    return NULL;
}

/* ---- content of the store ---- */

struct loading {
    struct core *core;
    const char *what;
};

static err checks_load_record(void *self, const struct record *record)
{
    struct loading *loading = self;
    return core_load(loading->core, record, &loading->what);
}

/* The document without its summary, which only a plan computed in slices has. */
static struct str plan_without_summary(struct arena *a, struct str doc)
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

/* The plan computed in slices (ADR 0079) equals the plan of a commit that is executed and rolled
 * back. */
static const char *checks_plan(struct checks *c, struct core *core, int64_t deployment_id)
{
    struct outcome beside, whole;
    const struct command commit = {.kind = COMMAND_DEPLOYMENT_COMMIT,
                                   .actor = STR("checks"),
                                   .deployment_commit = {.id = deployment_id}};
    core_plan(core, &commit, &c->scratch, &beside);
    core_plan_whole(core, &commit, &c->scratch, &whole);
    if (beside.verdict != whole.verdict || beside.veto_call_count != whole.veto_call_count)
        return checks_report(c, "the plan of deployment %lld has another verdict than its dry run",
                             (long long)deployment_id);
    if (whole.verdict == VERDICT_DONE &&
        !str_eq(plan_without_summary(&c->scratch, beside.doc), whole.doc))
        return checks_report(c, "the plan of deployment %lld differs from that of its dry run",
                             (long long)deployment_id);
    return NULL;
}

static const char *checks_reload(struct checks *c, const struct core *core,
                                 const struct memory_store *store, int64_t mono_ms)
{
    c->counts->reloads++;
    struct loading loading = {.core = core_new(), .what = "the store cannot be read"};
    err e = memory_store_load(store, (struct record_callback){&loading, checks_load_record});
    if (e == OK)
        e = core_load_end(loading.core, mono_ms, &loading.what);
    const char *said = NULL;
    if (e != OK)
        said = checks_report(c, "I1: the stored rows cannot be loaded: %s", loading.what);
    else if (!digest_eq(core_digest(loading.core), c->durable.digest))
        said = checks_report(c, "I1: a core loaded at turn %lld differs from the one in memory",
                             (long long)c->durable.turn);
    else if (core && !digest_eq(core_boot_digest(loading.core), core_boot_digest(core)))
        said = checks_report(c, "I19: a core loaded at turn %lld has another boot view",
                             (long long)c->durable.turn);
    else
        said = checks_core(c, loading.core, "of a second core, loaded from the store");
    for (int64_t id = 0; !said && (id = core_next_id(loading.core, TABLE_DEPLOYMENT, id)) != 0;) {
        said = checks_plan(c, loading.core, id);
        arena_reset(&c->scratch);
    }
    core_free(loading.core);
    return said;
}

const char *checks_durable(struct checks *c, const struct core *core, int64_t turn,
                           const struct memory_store *store, int64_t mono_ms)
{
    if (turn != c->pending.turn)
        return checks_report(c, "turn %lld is stored, but %lld was collected", (long long)turn,
                             (long long)c->pending.turn);
    const struct moment keep = c->durable;
    c->durable = c->pending;
    c->pending = keep;
    c->pending.turn = 0;
    const char *said = boot_view_oracle_batch(&c->boot_view, core, turn, &c->scratch);
    if (said || ++c->batches < c->reload_every)
        return said;
    c->batches = 0;
    said = checks_reload(c, core, store, mono_ms);
    return said ? said : checks_core(c, core, "of the core in memory");
}

const char *checks_acknowledged(struct checks *c, int64_t turn, const struct memory_store *store)
{
    if (turn > memory_store_mark(store).turn)
        return checks_report(c, "I5: a reply of turn %lld was sent while the store is at %lld",
                             (long long)turn, (long long)memory_store_mark(store).turn);
    if (turn > c->acknowledged)
        c->acknowledged = turn;
    return NULL;
}
