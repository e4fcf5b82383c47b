#include "sim/oracle/run_history_oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "model/command.h"

void run_history_oracle_fini(struct run_history_oracle *book)
{
    free(book->runs);
    book->runs = NULL;
    book->cap = 0;
}

static struct run_start *page(struct run_history_oracle *book, int64_t id)
{
    must(id > 0 && id < 1 << 24);
    if ((uint32_t)id >= book->cap) {
        uint32_t wanted = book->cap ? book->cap : 256;
        while (wanted <= (uint32_t)id)
            wanted *= 2;
        struct run_start *larger = realloc(book->runs, wanted * sizeof *larger);
        must(larger);
        memset(larger + book->cap, 0, (wanted - book->cap) * sizeof *larger);
        book->runs = larger;
        book->cap = wanted;
    }
    return &book->runs[id];
}

static struct run_start start_of(const struct run_record *run)
{
    const bool is_under_way = run->state == RUN_RUNNING || run->state == RUN_STOPPING;
    return (struct run_start){run->noderole_id, is_under_way ? run->attempt : 0};
}

/* ---- a batch ---- */

/* What a batch ends and what it archives. */
struct account {
    struct run_start *ended;
    struct run_start *kept;
    uint32_t ended_count, kept_count;
};

static bool is_same(struct run_start a, struct run_start b)
{
    return a.noderole_id == b.noderole_id && a.attempt == b.attempt;
}

static void note(struct run_history_oracle *book, const struct change *change,
                 struct account *account)
{
    const struct record *record = &change->record;
    if (record->table == TABLE_SETTINGS && !change->gone)
        book->keep = record->settings.keep_runs;
    if (record->table == TABLE_OLD_RUN && !change->gone)
        account->kept[account->kept_count++] =
            (struct run_start){record->old_run.noderole_id, (uint32_t)record->old_run.attempt};
    if (record->table != TABLE_RUN)
        return;
    const struct run_start now = change->gone ? (struct run_start){0} : start_of(&record->run);
    struct run_start *at = page(book, record->id);
    if (at->attempt && !is_same(*at, now))
        account->ended[account->ended_count++] = *at;
    *at = now;
}

static const char *trouble(struct run_history_oracle *book, const char *what,
                           struct run_start start)
{
    snprintf(book->trouble, sizeof book->trouble, "I11: attempt %u of noderole %lld %s",
             start.attempt, (long long)start.noderole_id, what);
    return book->trouble;
}

/* Each of these is among those, and once. */
static const struct run_start *first_alone(const struct run_start *these, uint32_t count,
                                           const struct run_start *those, uint32_t others)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t found = 0;
        for (uint32_t k = 0; k < others; k++)
            found += is_same(these[i], those[k]);
        if (found != 1)
            return &these[i];
    }
    return NULL;
}

/* ---- what is kept ---- */

struct looking {
    int64_t last_attempt;
    uint32_t count;
    bool is_wrong;
};

static err look_at(void *self, const struct record *record)
{
    struct looking *l = self;
    const struct old_run_record *run = &record->old_run;
    l->is_wrong |= (l->count && run->attempt >= l->last_attempt) || run->attempt < 1 ||
                   run->started_at > run->ended_at || run->result > RESULT_CANCELLED;
    l->last_attempt = run->attempt;
    l->count++;
    return OK;
}

static const char *check_kept(struct run_history_oracle *book, struct run_start start,
                              const struct memory_store *store)
{
    struct looking l = {0};
    if (memory_store_runs(store, start.noderole_id, UINT32_MAX,
                          (struct store_visitor){&l, look_at}) != OK)
        impossible("the history does not read");
    if (l.is_wrong)
        return trouble(book, "is among runs that are out of order", start);
    return l.count > book->keep ? trouble(book, "is kept with too many others", start) : NULL;
}

const char *run_history_oracle_batch(struct run_history_oracle *book, const struct batch *batch,
                                     const struct memory_store *store, struct arena *scratch)
{
    struct account account = {.ended = arena_array(scratch, struct run_start, batch->rows),
                              .kept = arena_array(scratch, struct run_start, batch->rows)};
    for (uint32_t at = 0; at < batch->changes.len;) {
        struct change change;
        if (batch_next(batch->changes, &at, &change) != OK)
            impossible("a durable batch that does not read");
        note(book, &change, &account);
    }
    book->ended += account.ended_count;
    const struct run_start *odd =
        first_alone(account.ended, account.ended_count, account.kept, account.kept_count);
    if (odd)
        return trouble(book, "ended without a row, or with two", *odd);
    odd = first_alone(account.kept, account.kept_count, account.ended, account.ended_count);
    if (odd)
        return trouble(book, "has a row, and did not end", *odd);
    const char *said = NULL;
    for (uint32_t i = 0; i < account.kept_count && !said; i++)
        said = check_kept(book, account.kept[i], store);
    return said;
}

/* ---- beginning again ---- */

static err note_record(void *self, const struct record *record)
{
    struct run_history_oracle *book = self;
    if (record->table == TABLE_RUN)
        *page(book, record->id) = start_of(&record->run);
    if (record->table == TABLE_SETTINGS)
        book->keep = record->settings.keep_runs;
    return OK;
}

void run_history_oracle_reload(struct run_history_oracle *book, const struct memory_store *store)
{
    run_history_oracle_fini(book);
    if (memory_store_load(store, (struct store_visitor){book, note_record}) != OK)
        impossible("the store does not read");
}
