/* fake_timers.h - the active runs of the test jig, by run and attempt and by the time of their end.
 *
 * An entry is one attempt of a run, from fake_timers_add until it is removed because it is due or
 * was cancelled. Single-threaded; it does not access the journal and reports no results. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fake_run {
    int64_t run_id;
    uint32_t attempt;
    uint32_t result; /* RESULT_... */
    int64_t due_ms;  /* monotonic ms */
};

struct fake_timers_entry;

struct fake_timers {
    struct fake_timers_entry **heap; /* min-heap by due time; equal times in order of arrival */
    uint32_t count, cap;
    /* hash table by run and attempt; the size is a power of two */
    struct fake_timers_entry **buckets;
    uint32_t bucket_count;
    uint64_t added;
};

void fake_timers_fini(struct fake_timers *w);

bool fake_timers_has(const struct fake_timers *w, int64_t run_id, uint32_t attempt);
void fake_timers_add(struct fake_timers *w, const struct fake_run *work); /* must not exist yet */
bool fake_timers_remove(struct fake_timers *w, int64_t run_id, uint32_t attempt);
/* Remove the next entry that is due at `mono_ms`. False: none is due. */
bool fake_timers_take_due(struct fake_timers *w, int64_t mono_ms, struct fake_run *out_work);
/* The due time of the next entry; -1: there is none. */
int64_t fake_timers_next_ms(const struct fake_timers *w);
