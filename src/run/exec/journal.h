/* journal.h - the started, ended and acknowledged runs of a supervisor, in a file that survives it.
 *
 * The first line contains the boot id of the machine when the file was created, and a random token
 * that marks the processes started by its supervisors. Each record after it is a message
 * (protocol.h) and a checksum. Only the first line is synced: within one boot the kernel keeps what
 * was written, even if the writer is killed, and after a reboot the boot id shows that records may
 * be missing. An incomplete record at the end is cut off. Every entry is also kept in memory, from
 * exec_journal_begin to exec_journal_forget; the file is rewritten when most of it is obsolete. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "run/exec/protocol.h"

#define EXEC_ENTRIES_MAX  100000u
#define EXEC_BOOT_ID_SIZE 37u /* with the terminating zero */
#define EXEC_TOKEN_SIZE   17u

struct exec_journal;

struct exec_entry {
    struct exec_entry *next;
    struct exec_begun begun;
    bool is_ended;
    bool is_saved;           /* the end is in the file too */
    struct exec_ended ended; /* `reason` is owned by the entry */
};

/* The boot id of the running kernel. */
NODISCARD err exec_boot_id(char out_id[EXEC_BOOT_ID_SIZE]);

/* Read or create the journal. Runs that were started and have no end died with the previous
 * supervisor and get the end EXEC_DIED_WITH_SUPERVISOR. A file without a valid first line is
 * renamed to "journal.bad". */
NODISCARD err exec_journal_open(int state_dirfd, const char *boot_id,
                                struct exec_journal **out_journal);
void exec_journal_close(struct exec_journal *j); /* NULL is fine */

/* False: a run that is not in the journal may have been started all the same. */
bool exec_journal_is_of_this_boot(const struct exec_journal *j);
const char *exec_journal_token(const struct exec_journal *j);
int64_t exec_journal_epoch(const struct exec_journal *j); /* the highest one seen */
/* Number of runs that died with the previous supervisor. */
uint32_t exec_journal_died(const struct exec_journal *j);

/* NULL if there is no entry. Valid until the entry is removed. */
const struct exec_entry *exec_journal_find(const struct exec_journal *j, int64_t run_id,
                                           uint32_t attempt);

/* Call `visit` for every entry, in no particular order. */
void exec_journal_each(const struct exec_journal *j, void *self,
                       void (*visit)(void *self, const struct exec_entry *entry));

/* Written to the file before OK is returned; otherwise nothing has changed. ERR_LIMIT: too many
 * entries. */
NODISCARD err exec_journal_begin(struct exec_journal *j, int64_t run_id, uint32_t attempt);
/* no effect for a lower one */
NODISCARD err exec_journal_raise_epoch(struct exec_journal *j, int64_t epoch);
/* All runs of earlier boots are reconciled: rewrite the file with the current boot id. */
NODISCARD err exec_journal_set_boot(struct exec_journal *j);

/* Stored in memory only. */
void exec_journal_set_pid(struct exec_journal *j, int64_t run_id, uint32_t attempt, int64_t pid);
/* Record the end in memory at once; if the write fails, exec_journal_save repeats it. The first end
 * of a run counts: false for a later one and for a run without an entry. */
bool exec_journal_end(struct exec_journal *j, const struct exec_ended *ended);
/* Remove an ended run: false otherwise. */
bool exec_journal_forget(struct exec_journal *j, int64_t run_id, uint32_t attempt);
/* True if every end is in the file. */
bool exec_journal_is_saved(const struct exec_journal *j);
bool exec_journal_save(struct exec_journal *j);
