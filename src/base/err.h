/* err.h - error codes and assertions.
 *
 * There are three kinds of failure. A violated invariant (a defect of the program): `must()` prints
 * and aborts; the store is consistent and the daemon restarts. A failure of the environment: an
 * `err`, which the caller has to use. An invalid request: a `struct problem` (model/problem.h),
 * which is returned to the client unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODISCARD __attribute__((warn_unused_result))
#define NORETURN  __attribute__((noreturn))

typedef enum err {
    OK = 0,
    ERR_REFUSED,     /* not possible in the present state; nothing changed     */
    ERR_NOT_FOUND,   /* the object does not exist                              */
    ERR_EXISTS,      /* the object exists already                              */
    ERR_SYNTAX,      /* the input is not well formed                           */
    ERR_LIMIT,       /* a bound of model/limits.h was reached                  */
    ERR_CORRUPT,     /* stored or received bytes are inconsistent              */
    ERR_NO_SPACE,    /* the disk is full                                       */
    ERR_IO,          /* the disk or the connection failed                      */
    ERR_UNAVAILABLE, /* the peer does not answer now; a retry may succeed      */
    ERR_UNKNOWN,     /* the outcome is unknown; the peer must be queried       */
    ERR_FENCED,      /* another instance leads with a higher epoch; stop       */
} err;

/* Printed by must() and impossible(); defined by `sys` (and by it alone). */
NORETURN void sys_fail(const char *file, int line, const char *text);

/* Assertions are enabled in every build: a violated invariant aborts the program before wrong
 * data is stored. */
#define must(x)          ((x) ? (void)0 : sys_fail(__FILE__, __LINE__, #x))
#define impossible(text) sys_fail(__FILE__, __LINE__, text)

/* Ignores a result on purpose; `why` is the reason. */
#define ignore(call, why)                                                                          \
    do {                                                                                           \
        if (call) {                                                                                \
        }                                                                                          \
    } while (0)
