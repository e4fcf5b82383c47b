/* err.h - how a function says that it did not do what it was asked.
 *
 * Three kinds of trouble, three answers. Our own mistake: `must()` prints and aborts; the store is
 * safe and we restart. The world's: an `err` that the caller has to use. The user's: a
 * `struct problem` (model/problem.h) that travels word for word to the person who asked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODISCARD __attribute__((warn_unused_result))
#define NORETURN  __attribute__((noreturn))

typedef enum err {
    OK = 0,
    ERR_REFUSED,     /* the request makes no sense now; nothing changed        */
    ERR_NOT_FOUND,   /* no such thing                                          */
    ERR_EXISTS,      /* there is one already                                   */
    ERR_SYNTAX,      /* the bytes do not read as what they should be           */
    ERR_LIMIT,       /* a bound of limits.h was reached                        */
    ERR_CORRUPT,     /* stored or received bytes contradict themselves         */
    ERR_NO_SPACE,    /* the disk (or its stand-in) is full                     */
    ERR_IO,          /* the disk or the link failed                            */
    ERR_UNAVAILABLE, /* the other side is not there; later may be better       */
    ERR_UNKNOWN,     /* it may or may not have happened; ask the other side    */
    ERR_FENCED,      /* somebody newer took over; stop                         */
} err;

/* Printed by must() and impossible(); defined by `sys` (and by it alone). */
NORETURN void sys_fail(const char *file, int line, const char *text);

/* Always on. A broken promise of our own stops the program before it can spread. */
#define must(x)          ((x) ? (void)0 : sys_fail(__FILE__, __LINE__, #x))
#define impossible(text) sys_fail(__FILE__, __LINE__, text)

/* A result that is deliberately dropped says why. */
#define ignore(call, why)                                                                          \
    do {                                                                                           \
        if (call) {                                                                                \
        }                                                                                          \
    } while (0)
