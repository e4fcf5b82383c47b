/* fake_journal.h - what the test jig has begun and ended, in a file that outlives us.
 *
 * One line for each start, "start RUN ATTEMPT NODEROLE", and one for each end, "done RUN ATTEMPT".
 * Starts count only once they are on the disk (journal_sync). All pairs of run and attempt are held
 * in memory. A file that grew too large is cut when it is opened: the newest half of it and
 * everything that has not ended stay.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define JOURNAL_SIZE_MAX ((int64_t)64 << 20)

struct journal;

enum journal_state {
    JOURNAL_UNKNOWN, /* neither line is there */
    JOURNAL_STARTED,
    JOURNAL_DONE,
};

/* A last line without an end is what a crash left, and is taken away. errno says what failed. */
NODISCARD err journal_open(const char *path, int64_t size_max, struct journal **out_journal);
void journal_close(struct journal *j); /* NULL is fine */

enum journal_state journal_find(const struct journal *j, int64_t run_id, uint32_t attempt);
/* An error leaves the file as it was. */
NODISCARD err journal_start(struct journal *j, int64_t run_id, uint32_t attempt,
                            int64_t noderole_id);
NODISCARD err journal_done(struct journal *j, int64_t run_id, uint32_t attempt);
NODISCARD err journal_sync(struct journal *j);
