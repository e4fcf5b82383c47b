/* lockout.h - who guessed too often.
 *
 * It counts failures of a user from an address, of a user from anywhere, and of an address under
 * any name. Whoever failed too often is not listened to for a while, right or wrong, and loses the
 * count when that is over; a whole user is closed only to addresses from where it never came in,
 * and a whole address only to users that never came in from there. It knows no password, no
 * clock and no log; it is told the time by a monotonic clock.
 *
 * It is bounded: when it is full, what was touched longest ago goes. Names that nobody has are
 * counted just like users, but in a half of their own, so that a flood of invented names does not
 * wash away what is known about guesses at a user. Addresses have a table of their own. It belongs
 * to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

#define LOCKOUT_ENTRIES       4096u /* in both halves */
#define LOCKOUT_TRIES         6u    /* of a user from one address           */
#define LOCKOUT_TRIES_USER    100u  /* of a user from anywhere              */
#define LOCKOUT_TRIES_ADDRESS 60u   /* from one address, whatever the names */
#define LOCKOUT_MS            ((int64_t)10 * 60 * 1000)

struct lockout;

/* Somebody who wants in. The case of the name does not count. */
struct login_source {
    struct str user;
    bool is_user;        /* there is one of that name */
    uint8_t address[16]; /* as in struct http_request */
    uint8_t client[16];  /* likewise; for the log, and not counted */
};

enum lockout_news {
    LOCKOUT_NOTHING,
    LOCKOUT_ADDRESS, /* from now on the user is not let in from there           */
    LOCKOUT_USER,    /* nor from anywhere, but where it has been let in before  */
    LOCKOUT_NETWORK, /* nor any other user from there, but those let in before  */
};

/* libsodium has been started. */
struct lockout *lockout_new(void);
void lockout_free(struct lockout *l); /* NULL is fine */

/* So long the visitor is not listened to; 0: it is. */
int64_t lockout_left_ms(const struct lockout *l, const struct login_source *v, int64_t now_ms);
/* News come once for each lock-out. */
enum lockout_news lockout_failed(struct lockout *l, const struct login_source *v, int64_t now_ms);
void lockout_succeeded(struct lockout *l, const struct login_source *v, int64_t now_ms);
