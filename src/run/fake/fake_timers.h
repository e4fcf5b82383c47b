/* fake_timers.h - what the test jig pretends to be doing, by name and by when it ends.
 *
 * Each work is one attempt of one run. It lives here from works_add until it is taken out, because
 * it is due or because it was cancelled. One thread; it knows no journal and gives no answers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct work {
    int64_t run_id;
    uint32_t attempt;
    uint32_t result; /* RESULT_... */
    int64_t due_ms;
};

struct works_entry;

struct works {
    struct works_entry **heap; /* the next to end first; equals in the order they came */
    uint32_t count, cap;
    struct works_entry **buckets; /* by run and attempt; their number is a power of two */
    uint32_t bucket_count;
    uint64_t added;
};

void works_fini(struct works *w);

bool works_has(const struct works *w, int64_t run_id, uint32_t attempt);
void works_add(struct works *w, const struct work *work); /* must not be there yet */
bool works_remove(struct works *w, int64_t run_id, uint32_t attempt);
/* The next one that is due by then goes out. */
bool works_take_due(struct works *w, int64_t mono_ms, struct work *out_work);
/* When that one is due; -1 when there is none. */
int64_t works_next_ms(const struct works *w);
