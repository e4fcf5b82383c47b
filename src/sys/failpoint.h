/* failpoint.h - named places where the process can be told to die.
 *
 * Between any two things that somebody else could see stands a failpoint. With
 * HALLIGAN_FAILPOINT=NAME:N in the environment the process aborts at the Nth passing of NAME; with
 * HALLIGAN_FAILPOINT_TRACE=FILE it notes the last one passed in FILE, so that whoever kills it can
 * tell where it stood. Without them a failpoint costs one comparison.
 *
 * All names stand here, but for those of the turn (turn/turn.h), which the daemon passes on.
 */
#pragma once

#include <stdbool.h>

#define FAILPOINTS(X)                                                                              \
    X(DATA_LOCKED, "data.locked")       /* we hold the data directory              */              \
    X(OPEN_BEFORE, "store.open.before") /* before the first look at the store      */              \
    X(OPEN_AFTER, "store.open.after")                                                              \
    X(MIGRATE_BEFORE, "store.migrate.before") /* before each migration                   */        \
    X(MIGRATE_INSIDE, "store.migrate.inside") /* applied, not committed                  */        \
    X(MIGRATE_AFTER, "store.migrate.after")                                                        \
    X(RAISE_BEFORE, "store.raise.before") /* the epoch                               */            \
    X(RAISE_AFTER, "store.raise.after")                                                            \
    X(TAKEN, "store.taken")     /* the store's thread has the batch        */                      \
    X(BEGUN, "store.begun")     /* its transaction is open                 */                      \
    X(GUARDED, "store.guarded") /* epoch and turn were ours                */                      \
    X(ROW, "store.row")         /* before each row, or piece of rows       */                      \
    X(COMMIT_BEFORE, "store.commit.before")                                                        \
    X(COMMIT_AFTER, "store.commit.after")                                                          \
    X(ROLLBACK, "store.rollback")           /* after a batch that failed               */          \
    X(ANSWER_BEFORE, "store.answer.before") /* the batch is in, nobody knows           */          \
    X(ANSWER_AFTER, "store.answer.after")                                                          \
    X(CHECKPOINT_BEFORE, "store.checkpoint.before")                                                \
    X(CHECKPOINT_AFTER, "store.checkpoint.after")                                                  \
    X(CLOSE_BEFORE, "store.close.before")                                                          \
    X(CLOSE_AFTER, "store.close.after")                                                            \
    X(ADMIN_FILE_BEFORE, "admin.file.before") /* the password file of the first user     */        \
    X(ADMIN_FILE_AFTER, "admin.file.after")                                                        \
    X(ADMIN_DONE, "admin.done") /* its user is durable                     */                      \
    X(LISTENING, "http.listening")                                                                 \
    X(REQUEST, "http.request") /* a whole request is here                 */                       \
    X(HTTP_ANSWER_BEFORE, "http.answer.before")                                                    \
    X(HTTP_ANSWER_AFTER, "http.answer.after")                                                      \
    X(JIG_START_BEFORE, "jig.start.before") /* before the journal knows of the run     */          \
    X(JIG_START_AFTER, "jig.start.after")   /* it knows                                */          \
    X(JIG_DONE_BEFORE, "jig.done.before")   /* before the journal knows it ended       */          \
    X(JIG_DONE_AFTER, "jig.done.after")                                                            \
    X(JIG_ANSWER, "jig.answer") /* before the turn is told                 */                      \
    X(DRAIN_BEFORE, "drain.before")                                                                \
    X(DRAIN_AFTER, "drain.after")

enum failpoint {
#define X(name, text) FAILPOINT_##name,
    FAILPOINTS(X)
#undef X
        FAILPOINT_COUNT
};

/* Reads the environment, once, before any thread is started. */
void failpoint_init(void);
const char *failpoint_name(enum failpoint point);

extern bool failpoint_armed;
void failpoint_pass(const char *name);

#define FAILPOINT(point)                                                                           \
    do {                                                                                           \
        if (failpoint_armed)                                                                       \
            failpoint_pass(failpoint_name(FAILPOINT_##point));                                     \
    } while (0)
