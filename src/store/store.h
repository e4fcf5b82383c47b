/* store.h - durable records: SQLite in one file, or PostgreSQL.
 *
 * A store has one writer with a thread of its own, which takes one batch at a time
 * (port/store.h), and any number of readers, each with a connection that can only read. Which
 * engine stands behind it is decided by its URL and by nothing else. The schema is the same on
 * both: a table for each noun, a column for each field.
 *
 * Opening looks before it touches: a file that is no database, a schema that is newer or was
 * altered, a store that somebody else leads are refused with a sentence, and left as they were.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/record.h"
#include "port/history.h"
#include "port/store.h"

#define STORE_WHY_SIZE 512

/* What went wrong, for people. */
struct store_why {
    char text[STORE_WHY_SIZE];
};

/* "sqlite:PATH" or "postgresql://...". False, with a sentence, when it is neither. */
bool store_url_check(const char *url, struct store_why *out_why);

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
void store_close(struct store *s); /* waits for the batch in flight; NULL is fine */
struct store_port store_port(struct store *s);
/* The last failure, as a sentence, until it is asked for again; "" when there was none. */
const char *store_trouble(struct store *s);
/* The disk broke a promise (a sync failed): nothing will work any more; exit and start again. */
bool store_is_lost(const struct store *s);

/* ---- readers ---- */

struct store_reader;

/* A store whose schema is not exactly ours is refused, as above. */
NODISCARD err store_reader_open(const char *url, struct store_reader **out_reader,
                                struct store_why *out_why);
void store_reader_close(struct store_reader *r); /* NULL is fine */
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
