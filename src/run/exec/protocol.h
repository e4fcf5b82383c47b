/* protocol.h - what a daemon and halligan-exec say to each other.
 *
 * A message is a length in four bytes (the low one first), a byte that says its kind, and its
 * fields as model/fields.h writes them. The same messages pass between the supervisor and its
 * leads, and are the records of the journal. Nothing here reads or writes a socket (link.h), and
 * nothing is kept: what exec_decode returns points into the bytes it was given.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/buf.h"
#include "base/text/str.h"
#include "model/fields.h"

#define EXEC_VERSION    1u
#define EXEC_BODY_MAX   (4u << 20) /* of a message without its length */
#define EXEC_REASON_MAX 512u

/* How a run ended. */
#define EXEC_HOWS(X)                                                                               \
    X(EXITED, "exited")           /* code: its exit status                            */           \
    X(SIGNALLED, "signalled")     /* code: the signal                                 */           \
    X(DEADLINE, "deadline")       /* it had its time, and was stopped                 */           \
    X(CANCELLED, "cancelled")     /* somebody did not want it any more                */           \
    X(NOT_STARTED, "not started") /* there never was a process; the reason says why   */           \
    X(DIED_WITH_SUPERVISOR, "died with its supervisor") /* begun; how far it came nobody knows */

enum exec_how {
    EXEC_NO_HOW, /* zero is no end */
#define X(name, text) EXEC_##name,
    EXEC_HOWS(X)
#undef X
        EXEC_HOW_END
};

const char *exec_how_name(enum exec_how how);

/* A list is its texts, each with a zero byte behind it. */
#define EXEC_HELLO_FIELDS(F)                                                                       \
    F(U32, version)                                                                                \
    F(I64, epoch)
#define EXEC_WELCOME_FIELDS(F)                                                                     \
    F(U32, version)                                                                                \
    F(I64, pid)                                                                                    \
    F(TEXT, boot_id)                                                                               \
    F(BOOL, journal_is_of_this_boot)
#define EXEC_SPAWN_FIELDS(F)                                                                       \
    F(I64, run_id)                                                                                 \
    F(U32, attempt)                                                                                \
    F(I64, epoch)                                                                                  \
    F(RAW, argv)        /* list; a first text without a slash is looked for in PATH */             \
    F(RAW, env)         /* list of NAME=value; a child has these and HALLIGAN_*     */             \
    F(RAW, cwd)         /* absolute; empty: the root                                */             \
    F(RAW, stdin_path)  /* a plain file; empty: nothing to read                     */             \
    F(I64, out_max)     /* bytes of standard output that are kept: the first ones   */             \
    F(I64, log_max)     /* bytes of standard error that are kept: the last ones     */             \
    F(I64, deadline_ms) /* from the start; 0: none                                  */             \
    F(I64, grace_ms)    /* between TERM and KILL                                    */
#define EXEC_RUN_FIELDS(F)                                                                         \
    F(I64, run_id)                                                                                 \
    F(U32, attempt)
#define EXEC_BEGUN_FIELDS(F)                                                                       \
    F(I64, run_id)                                                                                 \
    F(U32, attempt)                                                                                \
    F(I64, pid) /* 0: not started yet, or under a supervisor that is gone */
#define EXEC_ENDED_FIELDS(F)                                                                       \
    F(I64, run_id)                                                                                 \
    F(U32, attempt)                                                                                \
    F(U32, how)                                                                                    \
    F(U32, code)                                                                                   \
    F(RAW, reason)   /* for people; empty when code says it all                */                  \
    F(I64, out_size) /* bytes that can be read                                 */                  \
    F(I64, out_dropped)                                                                            \
    F(I64, log_size)                                                                               \
    F(I64, log_dropped)
#define EXEC_NOT_KNOWN_FIELDS(F)                                                                   \
    F(I64, run_id)                                                                                 \
    F(U32, attempt)                                                                                \
    F(BOOL, begun) /* it may have begun: nobody can know */
#define EXEC_FENCED_FIELDS(F) F(I64, epoch)

struct exec_hello {
    EXEC_HELLO_FIELDS(FIELD_MEMBER)
};
struct exec_welcome {
    EXEC_WELCOME_FIELDS(FIELD_MEMBER)
};
struct exec_spawn {
    EXEC_SPAWN_FIELDS(FIELD_MEMBER)
};
struct exec_run {
    EXEC_RUN_FIELDS(FIELD_MEMBER)
};
struct exec_begun {
    EXEC_BEGUN_FIELDS(FIELD_MEMBER)
};
struct exec_ended {
    EXEC_ENDED_FIELDS(FIELD_MEMBER)
};
struct exec_not_known {
    EXEC_NOT_KNOWN_FIELDS(FIELD_MEMBER)
};
struct exec_fenced {
    EXEC_FENCED_FIELDS(FIELD_MEMBER)
};

enum exec_kind {
    EXEC_NOTHING,
    /* from the daemon */
    EXEC_HELLO,
    EXEC_SPAWN,
    EXEC_CANCEL,
    EXEC_QUERY,
    EXEC_FORGET,  /* its end is durable elsewhere: spool and entry may go */
    EXEC_SETTLED, /* no run of an earlier boot is in doubt any more */
    EXEC_BYE,
    /* to the daemon */
    EXEC_WELCOME,
    EXEC_BEGUN,
    EXEC_ENDED,
    EXEC_NOT_KNOWN,
    EXEC_FENCED, /* somebody with this higher epoch was here: the sender is not listened to */
    /* from the daemon */
    EXEC_LIST, /* tell of every run there is: BEGUN while it goes on, ENDED otherwise */
    EXEC_KIND_END
};

struct exec_message {
    enum exec_kind kind;
    union {
        struct exec_hello hello;
        struct exec_spawn spawn;
        struct exec_run run; /* CANCEL, QUERY, FORGET */
        struct exec_welcome welcome;
        struct exec_begun begun;
        struct exec_ended ended;
        struct exec_not_known not_known;
        struct exec_fenced fenced;
    };
};

/* Append the message, its length first. ERR_LIMIT, with nothing appended, when it is too large. */
NODISCARD err exec_encode(const struct exec_message *message, struct buf *out);
/* The message whose bytes, without the length, are `body`. ERR_CORRUPT whenever they are not
 * exactly one that makes sense. */
NODISCARD err exec_decode(struct str body, struct exec_message *out_message);

void exec_list_add(struct buf *list, struct str text);
/* The texts of a list as execve(2) wants them. */
char **exec_list_z(struct arena *a, struct str list);
