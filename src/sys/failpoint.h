/* failpoint.h - named positions at which a test can abort the process.
 *
 * There is a failpoint between any two actions that are visible outside the process. With
 * HALLIGAN_FAILPOINT=NAME:N in the environment the process aborts when it passes NAME for the Nth
 * time. With HALLIGAN_FAILPOINT_TRACE=FILE it writes the name of the last failpoint it passed into
 * FILE, so that a test that kills it learns its position. Without these variables a failpoint costs
 * one comparison.
 *
 * All names are listed here, except those of the turn (turn/turn.h), which the daemon forwards.
 */
#pragma once

#include <stdbool.h>

#define FAILPOINTS(X)                                                                              \
    X(DATA_LOCKED, "data.locked")       /* the data directory is locked            */              \
    X(OPEN_BEFORE, "store.open.before") /* before the store is opened              */              \
    X(OPEN_AFTER, "store.open.after")                                                              \
    X(MIGRATE_BEFORE, "store.migrate.before") /* before each migration                   */        \
    X(MIGRATE_INSIDE, "store.migrate.inside") /* applied, not committed                  */        \
    X(MIGRATE_AFTER, "store.migrate.after")                                                        \
    X(RAISE_BEFORE, "store.raise.before") /* before the epoch is raised              */            \
    X(RAISE_AFTER, "store.raise.after")                                                            \
    X(TAKEN, "store.taken")     /* the store thread has the batch          */                      \
    X(BEGUN, "store.begun")     /* the transaction is open                 */                      \
    X(GUARDED, "store.guarded") /* epoch and turn were as expected         */                      \
    X(ROW, "store.row")         /* before each row or chunk of rows        */                      \
    X(COMMIT_BEFORE, "store.commit.before")                                                        \
    X(COMMIT_AFTER, "store.commit.after")                                                          \
    X(ROLLBACK, "store.rollback")           /* before a failed batch is rolled back    */          \
    X(ANSWER_BEFORE, "store.answer.before") /* committed, not reported                 */          \
    X(ANSWER_AFTER, "store.answer.after")                                                          \
    X(CHECKPOINT_BEFORE, "store.checkpoint.before")                                                \
    X(CHECKPOINT_AFTER, "store.checkpoint.after")                                                  \
    X(CLOSE_BEFORE, "store.close.before")                                                          \
    X(CLOSE_AFTER, "store.close.after")                                                            \
    X(ADMIN_FILE_BEFORE, "admin.file.before") /* the password file of the first user     */        \
    X(ADMIN_FILE_AFTER, "admin.file.after")                                                        \
    X(ADMIN_DONE, "admin.done") /* the first user is durable               */                      \
    X(LISTENING, "http.listening")                                                                 \
    X(REQUEST, "http.request") /* a complete request was received         */                       \
    X(HTTP_ANSWER_BEFORE, "http.answer.before")                                                    \
    X(HTTP_ANSWER_AFTER, "http.answer.after")                                                      \
    X(JIG_START_BEFORE, "jig.start.before") /* before the journal records the start    */          \
    X(JIG_START_AFTER, "jig.start.after")   /* the start is recorded                   */          \
    X(JIG_DONE_BEFORE, "jig.done.before")   /* before the journal records the end      */          \
    X(JIG_DONE_AFTER, "jig.done.after")                                                            \
    X(JIG_ANSWER, "jig.answer")                 /* before the result is submitted          */      \
    X(BOOT_BASE_BEFORE, "boot.base.before")     /* before a boot server is sent a base image */    \
    X(BOOT_BASE_AFTER, "boot.base.after")       /* the base image was sent                   */    \
    X(BOOT_AT_BEFORE, "boot.at.before")         /* changes are queued, their turn is not     */    \
    X(BOOT_AT_AFTER, "boot.at.after")           /* the changes of a turn were sent           */    \
    X(BOOT_TAKEN_BEFORE, "boot.taken.before")   /* an acknowledgement was received         */      \
    X(BOOT_TAKEN_AFTER, "boot.taken.after")     /* it is a command                         */      \
    X(BOOT_LEASE_BEFORE, "boot.lease.before")   /* LEASE_TAKE was received                 */      \
    X(BOOT_LEASE_AFTER, "boot.lease.after")     /* it is a command                         */      \
    X(BOOT_LEASED_BEFORE, "boot.leased.before") /* a lease is durable, not answered      */        \
    X(BOOT_LEASED_AFTER, "boot.leased.after")                                                      \
    X(BOOT_GRANT_BEFORE, "boot.grant.before")     /* GRANT_USE was received                  */    \
    X(BOOT_GRANT_AFTER, "boot.grant.after")       /* it is a command                         */    \
    X(BOOT_GRANTED_BEFORE, "boot.granted.before") /* a grant is durable, not answered    */        \
    X(BOOT_GRANTED_AFTER, "boot.granted.after")                                                    \
    X(DRAIN_BEFORE, "drain.before")                                                                \
    X(DRAIN_AFTER, "drain.after")

enum failpoint {
#define X(name, text) FAILPOINT_##name,
    FAILPOINTS(X)
#undef X
        FAILPOINT_COUNT
};

/* Reads the environment. Called once, before any thread is started. */
void failpoint_init(void);
const char *failpoint_name(enum failpoint point);

extern bool failpoint_armed;
void failpoint_pass(const char *name);

#define FAILPOINT(point)                                                                           \
    do {                                                                                           \
        if (failpoint_armed)                                                                       \
            failpoint_pass(failpoint_name(FAILPOINT_##point));                                     \
    } while (0)
