/* engine.h - the interface of database engines; private to this module.
 *
 * An engine is one connection, used by one thread at a time; every call blocks until it is done.
 * After a failure the connection may be unusable: lead() opens a new one if necessary. `why` is the
 * message of the last failure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/record.h"
#include "port/batch.h"
#include "port/history_port.h"
#include "port/store_port.h"
#include "store/store_thread.h"

enum engine_mode {
    ENGINE_WRITE, /* one per store: migrates, leads, writes */
    ENGINE_READ,  /* never changes anything                 */
};

struct engine {
    const struct engine_ops *ops;
    struct store_why why;
    struct store_progress *progress; /* updated with each response; may be NULL */
    int patience_ms; /* silence after which a server counts as lost; 0: default of the engine */
    bool lost;       /* a sync failed: all calls fail until the process is restarted */
};

/* ---- shared by the engines ---- */

/* Records progress of the current call. */
static inline void engine_touch(const struct engine *e)
{
    if (e->progress)
        store_progress_touch(e->progress);
}

/* True if the caller has stopped waiting for the current call. */
static inline bool engine_gives_up(const struct engine *e)
{
    return e->progress && atomic_load(&e->progress->gives_up);
}

enum { ENGINE_CLAIM_SIZE = 33, ENGINE_DIGEST_SIZE = 33 };

/* A random hex string. It is stored with the epoch and shows, after a lost response, whether the
 * epoch was raised by this process or by another one. */
void engine_make_claim(char out_claim[ENGINE_CLAIM_SIZE]);
/* The stored form of a digest: 32 hex digits. */
void engine_format_digest(struct digest128 digest, char out_text[ENGINE_DIGEST_SIZE]);
bool engine_parse_digest(const char *text, struct digest128 *out_digest);

struct engine_ops {
    void (*close)(struct engine *e);

    /* As in port/store_port.h. */
    err (*lead)(struct engine *e, int64_t epoch, struct store_mark *out_mark);
    /* Writes the batch in one transaction. OK: it is committed. ERR_FENCED: another process leads.
     * ERR_UNKNOWN: the result of the commit is unknown. Any other error: it is not stored. */
    err (*write)(struct engine *e, const struct batch *batch);
    /* Store maintenance, called while no batch waits. */
    void (*maintain)(struct engine *e);
    /* Verifies that the database is still there and has that epoch; ERR_FENCED if it has not. */
    err (*check)(struct engine *e, int64_t epoch);

    /* Between begin and end every read sees the same turn. */
    err (*begin)(struct engine *e, struct store_mark *out_mark);
    void (*end)(struct engine *e);
    err (*table)(struct engine *e, enum table table, struct record_callback callback);
    err (*events)(struct engine *e, struct history_cursor from, uint32_t limit,
                  struct record_callback callback);
    err (*intervals)(struct engine *e, const struct interval_page *page,
                     struct record_callback callback);
    err (*runs)(struct engine *e, int64_t noderole_id, uint32_t limit,
                struct record_callback callback);
    err (*verify)(struct engine *e); /* ERR_CORRUPT, with `why` */

    /* Filling an empty store in one transaction: begin (ERR_REFUSED unless the store is at turn 0),
     * put every record table by table, then end with the store position, or with NULL to roll
     * back. */
    err (*fill_begin)(struct engine *e);
    err (*fill_put)(struct engine *e, const struct record *record);
    err (*fill_end)(struct engine *e, const struct store_mark *mark);
};

/* Opens the engine of the URL's scheme. ERR_SYNTAX: unknown scheme. */
NODISCARD err engine_open(const char *url, enum engine_mode mode, const char *holder,
                          struct engine **out_engine, struct store_why *out_why);
/* `location` is the part after "sqlite:", or the whole URL. `holder` as in struct store_options. */
err sqlite_open(const char *location, enum engine_mode mode, const char *holder,
                struct engine **out_engine, struct store_why *out_why);
err postgres_open(const char *location, enum engine_mode mode, const char *holder,
                  struct engine **out_engine, struct store_why *out_why);
