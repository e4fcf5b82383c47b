#include "sim/oracle/run_history_oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash/hash.h"
#include "model/command.h"

void run_history_oracle_fini(struct run_history_oracle *oracle)
{
    free(oracle->runs);
    oracle->runs = NULL;
    oracle->cap = 0;
    free(oracle->expected);
    oracle->expected = NULL;
    oracle->expected_count = oracle->expected_cap = 0;
}

void run_history_oracle_expect(struct run_history_oracle *oracle, int64_t noderole_id,
                               uint32_t attempt, uint64_t log)
{
    if (oracle->expected_count == oracle->expected_cap) {
        oracle->expected_cap = oracle->expected_cap ? 2 * oracle->expected_cap : 16;
        oracle->expected =
            realloc(oracle->expected, oracle->expected_cap * sizeof *oracle->expected);
        must(oracle->expected);
    }
    oracle->expected[oracle->expected_count++] = (struct run_recorded){{noderole_id, attempt}, log};
}

static struct run_start *run_history_oracle_at(struct run_history_oracle *oracle, int64_t id)
{
    must(id > 0 && id < 1 << 24);
    if ((uint32_t)id >= oracle->cap) {
        uint32_t wanted = oracle->cap ? oracle->cap : 256;
        while (wanted <= (uint32_t)id)
            wanted *= 2;
        struct run_start *larger = realloc(oracle->runs, wanted * sizeof *larger);
        must(larger);
        memset(larger + oracle->cap, 0, (wanted - oracle->cap) * sizeof *larger);
        oracle->runs = larger;
        oracle->cap = wanted;
    }
    return &oracle->runs[id];
}

static struct run_start run_start_of_record(const struct run_record *run)
{
    const bool is_under_way = run->state == RUN_RUNNING || run->state == RUN_STOPPING;
    return (struct run_start){run->noderole_id, is_under_way ? run->attempt : 0};
}

/* ---- a batch ---- */

/* The starts that a batch ends, and those that it archives. */
struct account {
    struct run_start *ended;
    struct run_start *kept;
    uint32_t ended_count, kept_count;
};

static bool run_start_eq(struct run_start a, struct run_start b)
{
    return a.noderole_id == b.noderole_id && a.attempt == b.attempt;
}

static bool run_history_oracle_take_expected(struct run_history_oracle *oracle,
                                             const struct old_run_record *row)
{
    for (uint32_t i = 0; i < oracle->expected_count; i++) {
        const struct run_recorded *e = &oracle->expected[i];
        if (e->start.noderole_id != row->noderole_id || e->start.attempt != row->attempt)
            continue;
        const bool is_same = e->log == hash64(row->runlog, 0) && row->result == RESULT_OK &&
                             row->started_at == row->ended_at;
        oracle->expected[i] = oracle->expected[--oracle->expected_count];
        return is_same;
    }
    return false;
}

static void run_history_oracle_note(struct run_history_oracle *oracle, const struct change *change,
                                    struct account *account)
{
    const struct record *record = &change->record;
    if (record->table == TABLE_SETTINGS && !change->gone)
        oracle->keep = record->settings.keep_runs;
    if (record->table == TABLE_OLD_RUN && !change->gone &&
        !run_history_oracle_take_expected(oracle, &record->old_run))
        account->kept[account->kept_count++] =
            (struct run_start){record->old_run.noderole_id, (uint32_t)record->old_run.attempt};
    if (record->table != TABLE_RUN)
        return;
    const struct run_start now =
        change->gone ? (struct run_start){0} : run_start_of_record(&record->run);
    struct run_start *at = run_history_oracle_at(oracle, record->id);
    if (at->attempt && !run_start_eq(*at, now))
        account->ended[account->ended_count++] = *at;
    *at = now;
}

static const char *run_history_oracle_report(struct run_history_oracle *oracle, const char *what,
                                             struct run_start start)
{
    snprintf(oracle->trouble, sizeof oracle->trouble, "I11: attempt %u of noderole %lld %s",
             start.attempt, (long long)start.noderole_id, what);
    return oracle->trouble;
}

/* The first of `these` that is not exactly once among `those`; NULL if all are. */
static const struct run_start *first_unmatched(const struct run_start *these, uint32_t count,
                                               const struct run_start *those, uint32_t others)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t found = 0;
        for (uint32_t k = 0; k < others; k++)
            found += run_start_eq(these[i], those[k]);
        if (found != 1)
            return &these[i];
    }
    return NULL;
}

/* ---- rows in the history ---- */

struct kept_runs {
    int64_t last_attempt;
    uint32_t count;
    bool is_wrong;
};

static err kept_runs_check_row(void *self, const struct record *record)
{
    struct kept_runs *l = self;
    const struct old_run_record *run = &record->old_run;
    l->is_wrong |= (l->count && run->attempt >= l->last_attempt) || run->attempt < 1 ||
                   run->started_at > run->ended_at || run->result > RESULT_CANCELLED;
    l->last_attempt = run->attempt;
    l->count++;
    return OK;
}

static const char *run_history_oracle_check_kept(struct run_history_oracle *oracle,
                                                 struct run_start start,
                                                 const struct memory_store *store)
{
    struct kept_runs l = {0};
    if (memory_store_runs(store, start.noderole_id, UINT32_MAX,
                          (struct record_callback){&l, kept_runs_check_row}) != OK)
        impossible("the history cannot be read");
    if (l.is_wrong)
        return run_history_oracle_report(oracle, "is among runs that are out of order", start);
    return l.count > oracle->keep
               ? run_history_oracle_report(oracle, "is kept with too many others", start)
               : NULL;
}

const char *run_history_oracle_batch(struct run_history_oracle *oracle, const struct batch *batch,
                                     const struct memory_store *store, struct arena *scratch)
{
    struct account account = {.ended = arena_array(scratch, struct run_start, batch->rows),
                              .kept = arena_array(scratch, struct run_start, batch->rows)};
    for (uint32_t at = 0; at < batch->changes.len;) {
        struct change change;
        if (batch_next(batch->changes, &at, &change) != OK)
            impossible("a stored batch cannot be decoded");
        run_history_oracle_note(oracle, &change, &account);
    }
    oracle->ended += account.ended_count;
    if (oracle->expected_count)
        return run_history_oracle_report(oracle, "was recorded and has no row in the history",
                                         oracle->expected[0].start);
    const struct run_start *odd =
        first_unmatched(account.ended, account.ended_count, account.kept, account.kept_count);
    if (odd)
        return run_history_oracle_report(oracle, "ended without a row in the history, or with two",
                                         *odd);
    odd = first_unmatched(account.kept, account.kept_count, account.ended, account.ended_count);
    if (odd)
        return run_history_oracle_report(oracle, "has a row in the history and did not end", *odd);
    const char *said = NULL;
    for (uint32_t i = 0; i < account.kept_count && !said; i++)
        said = run_history_oracle_check_kept(oracle, account.kept[i], store);
    return said;
}

/* ---- restart ---- */

static err run_history_oracle_note_record(void *self, const struct record *record)
{
    struct run_history_oracle *oracle = self;
    if (record->table == TABLE_RUN)
        *run_history_oracle_at(oracle, record->id) = run_start_of_record(&record->run);
    if (record->table == TABLE_SETTINGS)
        oracle->keep = record->settings.keep_runs;
    return OK;
}

void run_history_oracle_reload(struct run_history_oracle *oracle, const struct memory_store *store)
{
    run_history_oracle_fini(oracle);
    const struct record_callback note = {oracle, run_history_oracle_note_record};
    if (memory_store_load_table(store, TABLE_SETTINGS, note) != OK ||
        memory_store_load_table(store, TABLE_RUN, note) != OK)
        impossible("the store cannot be read");
}
