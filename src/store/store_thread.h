/* store_thread.h - durable records: SQLite in one file, or PostgreSQL.
 *
 * A store has one writer with a thread of its own, which takes one batch at a time
 * (port/store_port.h), and any number of readers, each with a connection that can only read. Which
 * engine stands behind it is decided by its URL and by nothing else. The schema is the same on
 * both: a table for each noun, a column for each field.
 *
 * Opening looks before it touches: a file that is no database, a schema that is newer or was
 * altered, a store that somebody else leads are refused with a sentence, and left as they were.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/record.h"
#include "port/history_port.h"
#include "port/store_port.h"

#define STORE_WHY_SIZE 512

/* What went wrong, for people. */
struct store_why {
    char text[STORE_WHY_SIZE];
};

/* "sqlite:PATH" or "postgresql://...". False, with a sentence, when it is neither. */
bool store_url_check(const char *url, struct store_why *out_why);

/* ---- progress of an engine ---- */

/* Since when a call of the engine has had no answer. The thread that makes the call writes it: at
 * the beginning and after each answer, that is each row or chunk of rows and each piece of a
 * result. Any thread may read it. */
struct store_progress {
    _Atomic int64_t since_ms; /* monotonic time; 0: no call is in progress */
    atomic_bool gives_up;     /* the caller waits no longer: treat the connection as lost */
};

void store_progress_begin(struct store_progress *p);
void store_progress_touch(struct store_progress *p); /* nothing while no call is in progress */
void store_progress_end(struct store_progress *p);
/* How long the call in progress has had no answer; 0 when there is none. */
int64_t store_progress_silent_ms(const struct store_progress *p);

/* ---- the writer ---- */

struct store;

struct store_options {
    const char *url;
    const char *holder; /* who we are, for the next one: "host 1234" */
    /* Called in the store's thread when poll() has something new to say. NULL: nobody waits. */
    void (*wake)(void *context);
    void *wake_context;
};

/* Connect, compare the schema, bring it up to date. ERR_CORRUPT: not ours, damaged or altered;
 * ERR_EXISTS: somebody else leads it; ERR_UNAVAILABLE, ERR_IO, ERR_NO_SPACE: what they say.
 * Nothing is created before everything else is known to be right. */
NODISCARD err store_open(const struct store_options *options, struct store **out_store,
                         struct store_why *out_why);
/* Waits for the batch in flight, unless the engine has been silent for STORE_SILENT_MS: then the
 * connection is given up. NULL is fine. */
void store_close(struct store *s);
/* How long the engine has not answered the call in progress, in milliseconds; 0 when there is no
 * call. From STORE_SILENT_MS on the store counts as stalled. */
#define STORE_SILENT_MS 5000
int64_t store_silent_ms(const struct store *s);
struct store_port store_port(struct store *s);
/* The last failure, as a sentence, until it is asked for again; "" when there was none. */
const char *store_trouble(struct store *s);
/* The engine reported that its disk is full (SQLITE_FULL, SQLSTATE 53100), and no batch was written
 * since. */
bool store_is_full(struct store *s);
/* The disk broke a promise (a sync failed): nothing will work any more; exit and start again. */
bool store_is_lost(const struct store *s);

/* ---- readers ---- */

struct store_reader;

/* A store whose schema is not exactly ours is refused, as above. */
NODISCARD err store_reader_open(const char *url, struct store_reader **out_reader,
                                struct store_why *out_why);
void store_reader_close(struct store_reader *r); /* NULL is fine */
/* From now on the reader's answers are noted there. It outlives the reader. */
void store_reader_watch(struct store_reader *r, struct store_progress *progress);
struct history_port store_reader_history(struct store_reader *r);
const char *store_reader_trouble(const struct store_reader *r);

/* Everything as of one instant: between begin and end all reads see the same turn. */
NODISCARD err store_reader_begin(struct store_reader *r, struct store_mark *out_mark);
void store_reader_end(struct store_reader *r);
/* Every record of one table, by key. Also of the archives. */
NODISCARD err store_reader_table(struct store_reader *r, enum table table,
                                 struct store_visitor visitor);
/* The engine's own view of its files (integrity_check). *out_why says what is wrong. */
NODISCARD err store_reader_verify(struct store_reader *r, struct store_why *out_why);

/* ---- whole stores ---- */

/* Copy everything that `from` holds, as of one instant, into the empty (or absent) store `to`.
 * ERR_REFUSED when that is not empty, ERR_EXISTS when somebody leads it. The copy's epoch is raised
 * far above the original's, so that nothing takes orders from the original any more once the copy
 * leads. */
NODISCARD err store_copy(const char *from_url, const char *to_url, struct store_why *out_why);
