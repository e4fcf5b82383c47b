/* fake_journal.h - the started and ended runs of the test jig, in a file that survives the daemon.
 *
 * One line for each start, "start RUN ATTEMPT NODEROLE", and one for each end, "done RUN ATTEMPT".
 * A start counts only after journal_sync. All pairs of run and attempt are kept in memory. A file
 * that has become too large is cut when it is opened: the newest half and all runs without an end
 * stay. */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define JOURNAL_SIZE_MAX ((int64_t)64 << 20) /* bytes */

struct journal;

enum journal_state {
    JOURNAL_UNKNOWN, /* no line about it */
    JOURNAL_STARTED,
    JOURNAL_DONE,
};

/* An incomplete last line, as a crash leaves it, is removed. On failure errno is set. */
NODISCARD err journal_open(const char *path, int64_t size_max, struct journal **out_journal);
void journal_close(struct journal *j); /* NULL is ignored */

enum journal_state journal_find(const struct journal *j, int64_t run_id, uint32_t attempt);
/* On an error the file is unchanged. */
NODISCARD err journal_start(struct journal *j, int64_t run_id, uint32_t attempt,
                            int64_t noderole_id);
NODISCARD err journal_done(struct journal *j, int64_t run_id, uint32_t attempt);
NODISCARD err journal_sync(struct journal *j);
