/* engine.h - what a database must be able to do for us; inside the store room only.
 *
 * An engine is one connection, used by one thread at a time, and every call waits until it is
 * done. After a failure the connection may be of no use: lead() makes a new one when it has to.
 * `why` says what went wrong last, in a sentence.
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
    ENGINE_WRITE, /* one at a time: migrates, leads, writes */
    ENGINE_READ,  /* never changes anything                 */
};

struct engine {
    const struct engine_ops *ops;
    struct store_why why;
    struct store_progress *progress; /* where answers are noted; NULL: nowhere */
    int patience_ms; /* a server that is silent for so long is lost; 0: the engine's own bound */
    bool lost; /* the disk broke a promise (a sync failed): nobody may go on without a restart */
};

/* ---- what engines have in common ---- */

/* An answer came. */
static inline void engine_touch(const struct engine *e)
{
    if (e->progress)
        store_progress_touch(e->progress);
}

/* The caller does not wait for an answer any more. */
static inline bool engine_gives_up(const struct engine *e)
{
    return e->progress && atomic_load(&e->progress->gives_up);
}

enum { ENGINE_CLAIM_SIZE = 33, ENGINE_DIGEST_SIZE = 33 };

/* By chance, and hex: tells our own lost answer from somebody else. */
void engine_draw_claim(char out_claim[ENGINE_CLAIM_SIZE]);
/* A digest as it is kept: 32 hex digits. */
void engine_format_digest(struct digest128 digest, char out_text[ENGINE_DIGEST_SIZE]);
bool engine_parse_digest(const char *text, struct digest128 *out_digest);

struct engine_ops {
    void (*close)(struct engine *e);

    /* As in port/store_port.h. */
    err (*lead)(struct engine *e, int64_t epoch, struct store_mark *out_mark);
    /* The whole batch in one transaction: OK, ERR_FENCED, ERR_UNKNOWN, or not in. */
    err (*write)(struct engine *e, const struct batch *batch);
    /* Nobody waits just now: housekeeping. */
    void (*rest)(struct engine *e);
    /* Is it still there, and is that epoch still ours? ERR_FENCED when it is not. */
    err (*check)(struct engine *e, int64_t epoch);

    /* Between begin and end every read sees the same instant. */
    err (*begin)(struct engine *e, struct store_mark *out_mark);
    void (*end)(struct engine *e);
    err (*table)(struct engine *e, enum table table, struct store_visitor visitor);
    err (*events)(struct engine *e, struct history_place from, uint32_t limit,
                  struct store_visitor visitor);
    err (*intervals)(struct engine *e, const struct interval_page *page,
                     struct store_visitor visitor);
    err (*runs)(struct engine *e, int64_t noderole_id, uint32_t limit,
                struct store_visitor visitor);
    err (*verify)(struct engine *e); /* ERR_CORRUPT, with `why` */

    /* A copy being made, in one transaction: begin (ERR_REFUSED unless the store is at turn 0), put
     * every record, table by table; then end with where it stands, or give up with NULL. */
    err (*fill_begin)(struct engine *e);
    err (*fill_put)(struct engine *e, const struct record *record);
    err (*fill_end)(struct engine *e, const struct store_mark *mark);
};

/* The engine that the scheme of the URL names. ERR_SYNTAX when it names none. */
NODISCARD err engine_open(const char *url, enum engine_mode mode, const char *holder,
                          struct engine **out_engine, struct store_why *out_why);
/* `location` is what follows "sqlite:", or the whole URL. `holder` as in struct store_options. */
err sqlite_open(const char *location, enum engine_mode mode, const char *holder,
                struct engine **out_engine, struct store_why *out_why);
err postgres_open(const char *location, enum engine_mode mode, const char *holder,
                  struct engine **out_engine, struct store_why *out_why);
