/* fake_journal.h - the started and ended runs of the test jig, in a file that survives the daemon.
 *
 * One line for each start, "start RUN ATTEMPT NODEROLE", and one for each end, "done RUN ATTEMPT".
 * A start counts only after fake_journal_sync. All pairs of run and attempt are kept in memory. A
 * file that has become too large is cut when it is opened: the newest half and all runs without an
 * end stay. */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define FAKE_JOURNAL_SIZE_MAX ((int64_t)64 << 20) /* bytes */

struct fake_journal;

enum fake_journal_state {
    FAKE_JOURNAL_UNKNOWN, /* no line about it */
    FAKE_JOURNAL_STARTED,
    FAKE_JOURNAL_DONE,
};

/* An incomplete last line, as a crash leaves it, is removed. On failure errno is set. */
NODISCARD err fake_journal_open(const char *path, int64_t size_max,
                                struct fake_journal **out_journal);
void fake_journal_close(struct fake_journal *j); /* NULL is ignored */

enum fake_journal_state fake_journal_find(const struct fake_journal *j, int64_t run_id,
                                          uint32_t attempt);
/* On an error the file is unchanged. */
NODISCARD err fake_journal_start(struct fake_journal *j, int64_t run_id, uint32_t attempt,
                                 int64_t noderole_id);
NODISCARD err fake_journal_done(struct fake_journal *j, int64_t run_id, uint32_t attempt);
NODISCARD err fake_journal_sync(struct fake_journal *j);
