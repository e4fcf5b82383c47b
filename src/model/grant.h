/* grant.h - the permission of one installation, in the fields of its node (ADR 0089).
 *
 * A grant belongs to the noderole whose parked run set an `-install` environment, and to that boot
 * generation. One ticket can use it; a machine with another ticket boots its disk. A grant that
 * became void allows nothing any more. This module has the names of its states, and what a copy of
 * a store does to the grants in it. It owns no state.
 */
#pragma once

#include "base/text/str.h"

struct record;

/* Why a grant is void. The numbers are stored. */
#define GRANT_VOIDS(X)                                                                             \
    X(NONE, "none")                                                                                \
    X(PROPOSED, "proposed") /* its noderole was proposed                              */           \
    X(DELETED, "deleted")   /* its noderole was deleted                               */           \
    X(ERROR, "error")       /* its noderole failed                                    */           \
    X(RESTORED, "restored") /* the store was restored from a backup                   */           \
    X(IMPORTED, "imported") /* the store was imported from a copy                     */           \
    X(REPLACED, "replaced") /* another `-install` environment was set, without a run  */           \
    X(SILENT, "silent")     /* its installer did not report in time                   */

enum grant_void {
#define X(upper, name) GRANT_VOID_##upper,
    GRANT_VOIDS(X)
#undef X
        GRANT_VOID_COUNT
};

enum grant_state {
    GRANT_NONE,
    GRANT_UNUSED, /* the next ticket uses it */
    GRANT_USED,
    GRANT_VOID,
    GRANT_STATE_COUNT
};

/* The answer to a machine that asks for its installer (COMMAND_GRANT_USE). */
enum grant_answer {
    GRANT_GRANTED, /* start the installer */
    GRANT_LOCAL,   /* boot the disk */
    GRANT_STALE,   /* another generation: ask again what to boot */
    GRANT_ANSWER_COUNT
};

const char *grant_void_name(enum grant_void reason);
const char *grant_state_name(enum grant_state state);
/* The document of the outcome, {"answer":"granted"}. */
struct str grant_answer_doc(enum grant_answer answer);
/* Lower-case hex SHA-256. */
bool grant_ticket_is_valid(struct str ticket);
/* True if the environment starts an installer. */
bool grant_is_for(struct str bootenv);

/* A record of a store that is restored (GRANT_VOID_RESTORED) or imported (GRANT_VOID_IMPORTED): its
 * grant becomes void, and a noderole that is committed gets none before it is committed again.
 * Returns true if the record changed. */
bool grant_void_record(struct record *record, enum grant_void reason);
