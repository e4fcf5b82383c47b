/* store_thread.h - durable records in SQLite (one file) or PostgreSQL.
 *
 * A store has one writer with its own thread, which accepts one batch at a time
 * (port/store_port.h), and any number of readers, each with a read-only connection. The scheme of
 * the URL selects the database engine. The schema is the same for both: a table for each type of
 * record, a column for each field.
 *
 * Opening checks before it changes anything: a file that is not a database, a newer or altered
 * schema, and a store that another process leads are refused with a message and left unchanged.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/grant.h"
#include "model/record.h"
#include "port/history_port.h"
#include "port/store_port.h"

#define STORE_WHY_SIZE 512

/* An error message for operators. */
struct store_why {
    char text[STORE_WHY_SIZE];
};

/* "sqlite:PATH" or "postgresql://...". False, with a message, if it is neither. */
bool store_url_check(const char *url, struct store_why *out_why);

/* ---- progress of an engine ---- */

/* The time since which a call of the engine has made no progress. The calling thread writes it: at
 * the start of the call and after each response, which is a row, a chunk of rows or a part of a
 * result. Any thread may read it. */
struct store_progress {
    _Atomic int64_t since_ms; /* monotonic time; 0: no call is in progress */
    atomic_bool gives_up;     /* the caller stops waiting: treat the connection as lost */
};

void store_progress_begin(struct store_progress *p);
void store_progress_touch(struct store_progress *p); /* no effect while no call is in progress */
void store_progress_end(struct store_progress *p);
/* Milliseconds since the last progress of the current call; 0: no call is in progress. */
int64_t store_progress_silent_ms(const struct store_progress *p);

/* ---- writer ---- */

struct store;

struct store_options {
    const char *url;
    const char *holder; /* host and process id, stored for messages of other daemons: "host 1234" */
    /* Called in the thread of the store when poll() has a new result. May be NULL. */
    void (*wake)(void *context);
    void *wake_context;
};

/* Connects, compares the schema and migrates it. ERR_CORRUPT: another kind of database, damaged, or
 * altered. ERR_EXISTS: another process leads it. ERR_UNAVAILABLE, ERR_IO, ERR_NO_SPACE: see the
 * message. Nothing is created before all checks have passed. */
NODISCARD err store_open(const struct store_options *options, struct store **out_store,
                         struct store_why *out_why);
/* Waits for the batch in progress. If the engine has made no progress for STORE_SILENT_MS, the
 * connection is closed instead. NULL is allowed. */
void store_close(struct store *s);
/* Milliseconds for which the current call of the engine has made no progress; 0: no call. From
 * STORE_SILENT_MS on the store counts as stalled. */
#define STORE_SILENT_MS 5000
int64_t store_silent_ms(const struct store *s);
struct store_port store_port(struct store *s);
/* The message of the last failure; "" if there was none. Valid until the next call. */
const char *store_last_error(struct store *s);
/* True if the engine reported a full disk (SQLITE_FULL, SQLSTATE 53100) and no batch was written
 * since. */
bool store_is_full(struct store *s);
/* True after a failed sync: no further call succeeds, and the process must exit (ADR 0037). */
bool store_has_failed(const struct store *s);

/* ---- readers ---- */

struct store_reader;

/* A store whose schema is not exactly that of this program is refused, as above. */
NODISCARD err store_reader_open(const char *url, struct store_reader **out_reader,
                                struct store_why *out_why);
void store_reader_close(struct store_reader *r); /* NULL is allowed */
/* Records the progress of the reader's calls in `progress`, which outlives the reader. */
void store_reader_watch(struct store_reader *r, struct store_progress *progress);
struct history_port store_reader_history(struct store_reader *r);
const char *store_reader_last_error(const struct store_reader *r);

/* Between begin and end all reads see the same turn. */
NODISCARD err store_reader_begin(struct store_reader *r, struct store_mark *out_mark);
void store_reader_end(struct store_reader *r);
/* Every record of one table, ordered by key; archive tables included. */
NODISCARD err store_reader_table(struct store_reader *r, enum table table,
                                 struct record_callback callback);
/* Verifies the files of the engine (integrity_check). *out_why has the first defect. */
NODISCARD err store_reader_verify(struct store_reader *r, struct store_why *out_why);

/* ---- whole stores ---- */

/* Copies the content of `from` at one turn into the empty or absent store `to`. ERR_REFUSED: `to`
 * is not empty. ERR_EXISTS: another process leads it. The epoch of the copy is raised far above
 * that of the original, so that supervisors and agents reject the original once the copy leads.
 * voids: GRANT_VOID_RESTORED or GRANT_VOID_IMPORTED makes every grant of the copy void, and bars
 * committed noderoles from new ones until they are committed again (ADR 0089); GRANT_VOID_NONE
 * copies all fields as they are. */
NODISCARD err store_copy(const char *from_url, const char *to_url, enum grant_void voids,
                         struct store_why *out_why);
