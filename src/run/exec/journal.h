/* journal.h - what a supervisor has begun, ended and been told to forget; in a file that outlives
 * it.
 *
 * The first line names the boot of the machine in which the file was begun, and a token that marks
 * the processes of this place. Behind it each record is a message (protocol.h) and a checksum.
 * Nothing but the first line is synced: within one boot the kernel keeps what was written, however
 * the writer died, and after another boot the first line says that there may have been more. A torn
 * tail is cut off. Every entry is also held in memory, from exec_journal_begin to
 * exec_journal_forget; the file is written anew when most of it is forgotten.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "run/exec/protocol.h"

#define EXEC_ENTRIES_MAX  100000u
#define EXEC_BOOT_ID_SIZE 37u /* with its zero */
#define EXEC_TOKEN_SIZE   17u

struct exec_journal;

struct exec_entry {
    struct exec_entry *next;
    struct exec_begun begun;
    bool is_ended;
    bool is_saved;           /* its end is in the file too */
    struct exec_ended ended; /* the reason is ours */
};

/* The boot the machine is in. */
NODISCARD err exec_boot_id(char out_id[EXEC_BOOT_ID_SIZE]);

/* What was begun and never ended died with the supervisor that wrote it, and has ended so from now
 * on. A file that does not even begin as it should is set aside as "journal.bad". */
NODISCARD err exec_journal_open(int state_dirfd, const char *boot_id,
                                struct exec_journal **out_journal);
void exec_journal_close(struct exec_journal *j); /* NULL is fine */

/* False: a run that is not in the journal may have begun all the same. */
bool exec_journal_is_of_this_boot(const struct exec_journal *j);
const char *exec_journal_token(const struct exec_journal *j);
int64_t exec_journal_epoch(const struct exec_journal *j); /* the highest */
/* How many died with the supervisor before this one. */
uint32_t exec_journal_died(const struct exec_journal *j);

/* NULL when unknown. Valid until it is forgotten. */
const struct exec_entry *exec_journal_find(const struct exec_journal *j, int64_t run_id,
                                           uint32_t attempt);

/* All of them, in no order. */
void exec_journal_each(const struct exec_journal *j, void *self,
                       void (*visit)(void *self, const struct exec_entry *entry));

/* In the file before it is OK; otherwise nothing has changed. ERR_LIMIT: too many entries. */
NODISCARD err exec_journal_begin(struct exec_journal *j, int64_t run_id, uint32_t attempt);
NODISCARD err exec_journal_raise(struct exec_journal *j, int64_t epoch); /* a lower one is fine */
/* Nobody asks about runs of an earlier boot any more: the file is of this boot. */
NODISCARD err exec_journal_settle(struct exec_journal *j);

/* In memory only. */
void exec_journal_note_pid(struct exec_journal *j, int64_t run_id, uint32_t attempt, int64_t pid);
/* Known at once; what could not be written is tried again by exec_journal_save. The first end of a
 * run is the one that counts: false for any other, and for what never began. */
bool exec_journal_end(struct exec_journal *j, const struct exec_ended *ended);
/* Only what has ended can be forgotten: false otherwise. */
bool exec_journal_forget(struct exec_journal *j, int64_t run_id, uint32_t attempt);
/* True when every end is in the file. */
bool exec_journal_is_saved(const struct exec_journal *j);
bool exec_journal_save(struct exec_journal *j);
