/* memory_store.h - a store that keeps rows in memory and breaks when it is told to.
 *
 * The rows lie encoded, table by table, ordered by key; whatever goes in or out passes through the
 * codec. The store outlives the processes that use it: each has a session, and a session that dies
 * leaves what was acknowledged and, as told, the batch that was not. Several sessions on one store
 * are several daemons that believe they lead; epochs settle it.
 *
 * It is strict where a real store would shrug: an end of a row that is not there, or a batch that
 * changes one row twice, is a mistake of the core and stops the program.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "model/record.h"
#include "port/store_port.h"

struct memory_store;

struct memory_store *memory_store_new(void);
void memory_store_free(struct memory_store *m); /* NULL is fine; its sessions come first */

/* ---- one process ---- */

/* What becomes of the next batch. */
enum memory_fate {
    MEMORY_TAKEN,          /* it is in, and the writer hears so                            */
    MEMORY_REFUSED,        /* submit answers `error`; it is not in                         */
    MEMORY_REFUSED_LATE,   /* poll answers `error`; it is not in                           */
    MEMORY_UNANSWERED_IN,  /* poll answers ERR_UNKNOWN; it is in                           */
    MEMORY_UNANSWERED_OUT, /* poll answers ERR_UNKNOWN; it is not in                       */
    MEMORY_FATE_COUNT,
};

struct memory_faults {
    enum memory_fate fate; /* of the next batch; then MEMORY_TAKEN again           */
    err error;             /* for the refusals; OK stands for ERR_IO               */
    uint32_t late;         /* polls that are busy before the next batch is decided */
    uint32_t lead_fails;   /* calls of lead() that answer ERR_UNAVAILABLE          */
    uint32_t load_fails;   /* calls of load() that break off with ERR_IO           */
    uint32_t load_reaches; /* after so many records                                */
};

struct memory_session {
    struct memory_store *store;
    struct memory_faults faults; /* to be set at any time */
    bool busy;                   /* a batch waits for its fate */
    int64_t epoch;
    int64_t turn;
    int64_t now_ms;
    struct digest128 digest;
    int64_t runs_before;
    int64_t events_before;
    uint32_t rows;
    char *bytes; /* of that batch: its writer may die before it is in */
    uint32_t size;
};

void memory_session_init(struct memory_session *s, struct memory_store *store);
/* The process is gone. A batch that was not acknowledged is in if `keep_tail` (and its epoch still
 * counts), else it never was. */
void memory_session_crash(struct memory_session *s, bool keep_tail);
struct store_port memory_session_port(struct memory_session *s);

/* ---- looking from outside ---- */

struct store_mark memory_store_mark(const struct memory_store *m);
uint32_t memory_store_count(const struct memory_store *m, enum table table);
/* Somebody puts the store elsewhere in time; the rows stay. */
void memory_store_set_mark(struct memory_store *m, struct store_mark mark);
/* Somebody unseen takes over: every session is fenced. */
void memory_store_usurp(struct memory_store *m);
/* Read every record below TABLE_LOADED, as load() does but without faults. */
NODISCARD err memory_store_load(const struct memory_store *m, struct store_visitor visitor);
/* The archived records (old_member, old_data) that cover snapshot `seq` of a deployment; in the
 * arena, with their texts. */
struct record *memory_store_old(const struct memory_store *m, int64_t deployment_id, int64_t seq,
                                struct arena *arena, uint32_t *out_count);
/* The runs of a noderole that are over, newest first, as history_port.runs. */
NODISCARD err memory_store_runs(const struct memory_store *m, int64_t noderole_id, uint32_t limit,
                                struct store_visitor visitor);
