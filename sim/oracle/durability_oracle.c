#include "sim/oracle/durability_oracle.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Grows an array so that `id` is a valid index; new elements are zero. */
static void *durability_oracle_grow(void *block, uint32_t *cap, int64_t id, size_t size)
{
    must(id > 0 && id < 1 << 24);
    if ((uint32_t)id < *cap)
        return block;
    uint32_t wanted = *cap ? *cap : 256;
    while (wanted <= (uint32_t)id)
        wanted *= 2;
    char *larger = realloc(block, wanted * size);
    must(larger);
    memset(larger + *cap * size, 0, (wanted - *cap) * size);
    *cap = wanted;
    return larger;
}

void durability_oracle_fini(struct durability_oracle *l)
{
    free(l->runs);
    free(l->outbox);
    *l = (struct durability_oracle){0};
}

static void durability_oracle_note(struct durability_oracle *l, const struct record *record,
                                   bool gone)
{
    if (record->table == TABLE_RUN) {
        l->runs = durability_oracle_grow(l->runs, &l->runs_cap, record->id, sizeof *l->runs);
        l->runs[record->id] = gone ? 0 : record->run.attempt + 1;
    } else if (record->table == TABLE_OUTBOX) {
        l->outbox =
            durability_oracle_grow(l->outbox, &l->outbox_cap, record->id, sizeof *l->outbox);
        l->outbox[record->id] = !gone;
    }
}

void durability_oracle_batch(struct durability_oracle *l, const struct batch *batch)
{
    for (uint32_t at = 0; at < batch->changes.len;) {
        struct change change;
        if (batch_next(batch->changes, &at, &change) != OK)
            impossible("a stored batch cannot be decoded");
        durability_oracle_note(l, &change.record, change.gone);
    }
}

static err durability_oracle_note_record(void *self, const struct record *record)
{
    durability_oracle_note(self, record, false);
    return OK;
}

void durability_oracle_reload(struct durability_oracle *l, const struct memory_store *store)
{
    durability_oracle_fini(l);
    const struct record_callback note = {l, durability_oracle_note_record};
    if (memory_store_load_table(store, TABLE_RUN, note) != OK ||
        memory_store_load_table(store, TABLE_OUTBOX, note) != OK)
        impossible("the store cannot be read");
}

bool durability_oracle_has_run(const struct durability_oracle *l, int64_t run_id, uint32_t attempt)
{
    return run_id > 0 && run_id < (int64_t)l->runs_cap && l->runs[run_id] == attempt + 1;
}

bool durability_oracle_has_outbox(const struct durability_oracle *l, int64_t outbox_id)
{
    return outbox_id > 0 && outbox_id < (int64_t)l->outbox_cap && l->outbox[outbox_id];
}
