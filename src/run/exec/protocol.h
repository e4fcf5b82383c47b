/* protocol.h - the messages between a daemon and halligan-exec.
 *
 * A message is its length (four bytes, little-endian), a byte with its kind, and its fields in the
 * encoding of model/fields.h. The same messages are used between the supervisor and its shims
 * (SPAWN, CANCEL and BYE to a shim, BEGUN and ENDED from it; BYE orders it to kill its run at
 * once), and as the records of the journal (HELLO for the epoch, BEGUN, ENDED, FORGET). This module
 * does no I/O (see link.h) and keeps no state: the strings of a decoded message point into the
 * bytes that were given to exec_decode. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/buf.h"
#include "base/text/str.h"
#include "model/fields.h"

#define EXEC_VERSION    1u
#define EXEC_BODY_MAX   (4u << 20) /* bytes of a message without its length */
#define EXEC_REASON_MAX 512u       /* bytes */

/* How a run ended. */
#define EXEC_HOWS(X)                                                                               \
    X(EXITED, "exited")           /* code: the exit status */                                      \
    X(SIGNALLED, "signalled")     /* code: the signal                                 */           \
    X(DEADLINE, "deadline")       /* stopped because its deadline was exceeded */                  \
    X(CANCELLED, "cancelled")     /* stopped by EXEC_CANCEL */                                     \
    X(NOT_STARTED, "not started") /* no process was created; reason is set */                      \
    X(DIED_WITH_SUPERVISOR, "died with its supervisor") /* started; progress unknown */

enum exec_how {
    EXEC_NO_HOW, /* not ended */
#define X(name, text) EXEC_##name,
    EXEC_HOWS(X)
#undef X
        EXEC_HOW_END
};

const char *exec_how_name(enum exec_how how);

/* A list is a sequence of strings, each with a terminating zero byte. */
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
    F(RAW, argv)        /* list; argv[0] without a slash is searched in PATH */                    \
    F(RAW, env)         /* list of NAME=value; HALLIGAN_* are added */                             \
    F(RAW, cwd)         /* absolute path; empty: "/" */                                            \
    F(RAW, stdin_path)  /* a regular file; empty: /dev/null */                                     \
    F(I64, out_max)     /* bytes; the first ones of standard output are kept */                    \
    F(I64, log_max)     /* bytes; the last ones of standard error are kept */                      \
    F(I64, deadline_ms) /* ms from the start; 0: no deadline */                                    \
    F(I64, grace_ms)    /* ms between SIGTERM and SIGKILL */
#define EXEC_RUN_FIELDS(F)                                                                         \
    F(I64, run_id)                                                                                 \
    F(U32, attempt)
#define EXEC_BEGUN_FIELDS(F)                                                                       \
    F(I64, run_id)                                                                                 \
    F(U32, attempt)                                                                                \
    F(I64, pid) /* 0: not started yet, or started by an earlier supervisor */
#define EXEC_ENDED_FIELDS(F)                                                                       \
    F(I64, run_id)                                                                                 \
    F(U32, attempt)                                                                                \
    F(U32, how)         /* enum exec_how */                                                        \
    F(U32, code)        /* see EXEC_HOWS */                                                        \
    F(RAW, reason)      /* text for operators; empty if how and code are complete */               \
    F(I64, out_size)    /* bytes that can be read */                                               \
    F(I64, out_dropped) /* bytes of the output that are not in the spool */                        \
    F(I64, log_size)                                                                               \
    F(I64, log_dropped)
#define EXEC_NOT_KNOWN_FIELDS(F)                                                                   \
    F(I64, run_id)                                                                                 \
    F(U32, attempt)                                                                                \
    F(BOOL, begun) /* unknown whether it was started: the journal is of an earlier boot */
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
    EXEC_CANCEL,     /* stop the run: SIGTERM, SIGKILL after the grace period */
    EXEC_QUERY,      /* report the run: BEGUN, BEGUN and ENDED, or NOT_KNOWN */
    EXEC_FORGET,     /* the end is durable in the store: delete spool files and journal entry */
    EXEC_RECONCILED, /* every run of an earlier boot has been reconciled */
    EXEC_BYE,        /* the daemon ends for good: exit when no run is left */
    /* to the daemon */
    EXEC_WELCOME,
    EXEC_BEGUN,
    EXEC_ENDED,
    EXEC_NOT_KNOWN,
    /* a daemon with this higher epoch has connected: orders of the sender are refused */
    EXEC_FENCED,
    /* from the daemon */
    EXEC_LIST, /* report every run: BEGUN if it is active, otherwise ENDED */
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

/* Append the message with its length. ERR_LIMIT, with nothing appended, if it is too large. */
NODISCARD err exec_encode(const struct exec_message *message, struct buf *out);
/* Decode a message without its length. ERR_CORRUPT unless the bytes are exactly one valid message.
 */
NODISCARD err exec_decode(struct str body, struct exec_message *out_message);

void exec_list_add(struct buf *list, struct str text);
/* Convert a list to a NULL-terminated array as for execve(2). */
char **exec_list_z(struct arena *a, struct str list);
