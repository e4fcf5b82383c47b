/* fake_timers.h - what the test jig pretends to be doing, by name and by when it ends.
 *
 * Each work is one attempt of one run. It lives here from fake_timers_add until it is taken out,
 * because it is due or because it was cancelled. One thread; it knows no journal and gives no
 * answers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fake_run {
    int64_t run_id;
    uint32_t attempt;
    uint32_t result; /* RESULT_... */
    int64_t due_ms;
};

struct fake_timers_entry;

struct fake_timers {
    struct fake_timers_entry **heap; /* the next to end first; equals in the order they came */
    uint32_t count, cap;
    struct fake_timers_entry **buckets; /* by run and attempt; their number is a power of two */
    uint32_t bucket_count;
    uint64_t added;
};

void fake_timers_fini(struct fake_timers *w);

bool fake_timers_has(const struct fake_timers *w, int64_t run_id, uint32_t attempt);
void fake_timers_add(struct fake_timers *w,
                     const struct fake_run *work); /* must not be there yet */
bool fake_timers_remove(struct fake_timers *w, int64_t run_id, uint32_t attempt);
/* The next one that is due by then goes out. */
bool fake_timers_take_due(struct fake_timers *w, int64_t mono_ms, struct fake_run *out_work);
/* When that one is due; -1 when there is none. */
int64_t fake_timers_next_ms(const struct fake_timers *w);
