/* memory_store.h - a store in memory with fault injection.
 *
 * The rows are stored encoded, table by table, ordered by key; every record that is written or read
 * passes through the codec. The store outlives the simulated processes that use it: each has a
 * session, and a session that crashes leaves the acknowledged batches and, if the test says so, the
 * batch that was not acknowledged. Several sessions on one store are several daemons that claim
 * leadership; epochs decide.
 *
 * It is stricter than a real store: deleting a row that does not exist, or a batch that changes a
 * row twice, is a defect of the core and aborts the program.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "model/grant.h"
#include "model/record.h"
#include "port/store_port.h"

struct memory_store;

struct memory_store *memory_store_new(void);
void memory_store_free(struct memory_store *m); /* after its sessions; NULL is ignored */

/* ---- sessions: one simulated process each ---- */

/* Outcome of the next batch. */
enum memory_fate {
    MEMORY_TAKEN,          /* committed and acknowledged                           */
    MEMORY_REFUSED,        /* submit returns `error`; not committed                */
    MEMORY_REFUSED_LATE,   /* poll returns `error`; not committed                  */
    MEMORY_UNANSWERED_IN,  /* poll returns ERR_UNKNOWN; committed                  */
    MEMORY_UNANSWERED_OUT, /* poll returns ERR_UNKNOWN; not committed              */
    MEMORY_FATE_COUNT,
};

struct memory_faults {
    enum memory_fate fate; /* of the next batch; then MEMORY_TAKEN again              */
    err error;             /* of MEMORY_REFUSED and ..._LATE; OK means ERR_IO         */
    uint32_t late;         /* number of polls that return busy before the next result */
    uint32_t lead_fails;   /* number of calls of lead() that return ERR_UNAVAILABLE   */
    uint32_t load_fails;   /* number of calls of load() that fail with ERR_IO         */
    uint32_t load_reaches; /* number of records before that failure                   */
};

struct memory_session {
    struct memory_store *store;
    struct memory_faults faults; /* may be set at any time */
    bool busy;                   /* a batch was submitted and has no result yet */
    int64_t epoch;
    int64_t turn;
    int64_t now_ms;
    struct digest128 digest;
    int64_t runs_before;
    int64_t events_before;
    uint32_t rows;
    char *bytes; /* copy of that batch, because its writer may crash before it is committed */
    uint32_t size;
};

void memory_session_init(struct memory_session *s, struct memory_store *store);
/* The process crashes. A batch that was not acknowledged is committed if `keep_tail` is set and its
 * epoch is still current, otherwise discarded. */
void memory_session_crash(struct memory_session *s, bool keep_tail);
struct store_port memory_session_port(struct memory_session *s);

/* ---- access without a session, for tests and oracles ---- */

struct store_mark memory_store_mark(const struct memory_store *m);
uint32_t memory_store_count(const struct memory_store *m, enum table table);
/* Replace epoch, turn and time of the store, as a restore would; the rows are unchanged. */
void memory_store_set_mark(struct memory_store *m, struct store_mark mark);
/* What an import of the store into another one does to the grants in it (store/copy.c). */
void memory_store_void_grants(struct memory_store *m);
/* A copy of the store as a restore (GRANT_VOID_RESTORED) or an import (GRANT_VOID_IMPORTED) makes
 * it: grants are void, and the epoch is far above that of the original. GRANT_VOID_NONE: as it is,
 * a backup. */
struct memory_store *memory_store_copy(const struct memory_store *m, enum grant_void voids);
/* Another process takes the leadership: every session is fenced. */
void memory_store_usurp(struct memory_store *m);
/* Read every record below TABLE_LOADED, as load() does but without faults. */
NODISCARD err memory_store_load(const struct memory_store *m, struct record_callback callback);
/* The same for one table. */
NODISCARD err memory_store_load_table(const struct memory_store *m, enum table table,
                                      struct record_callback callback);
/* The archived records (old_member, old_data) that cover snapshot `seq` of a deployment;
 * allocated in the arena, with their strings. */
struct record *memory_store_old(const struct memory_store *m, int64_t deployment_id, int64_t seq,
                                struct arena *arena, uint32_t *out_count);
/* The ended runs of a noderole, newest first, like history_port.runs. */
NODISCARD err memory_store_runs(const struct memory_store *m, int64_t noderole_id, uint32_t limit,
                                struct record_callback callback);
