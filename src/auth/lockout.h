/* lockout.h - lock-out after too many failed logins.
 *
 * It counts failures of a user from one address, of a user from all addresses, and of an address
 * under all names. After too many of them logins are refused for LOCKOUT_MS, even with the right
 * password. A lock-out of a user does not affect addresses from which that user has logged in
 * before, and a lock-out of an address does not affect users who have logged in from it before. It
 * uses neither passwords nor the log; times are those of a monotonic clock, in ms.
 *
 * It is bounded: when a table is full, the entry that was used longest ago is removed. Names
 * without an account are counted like users, but in a table of their own, so that a flood of
 * invented names does not displace entries of users. Addresses have a third table. It belongs to
 * one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

#define LOCKOUT_ENTRIES       4096u /* in the two tables of names together  */
#define LOCKOUT_TRIES         6u    /* of a user from one address           */
#define LOCKOUT_TRIES_USER    100u  /* of a user from all addresses         */
#define LOCKOUT_TRIES_ADDRESS 60u   /* from one address, under any names    */
#define LOCKOUT_MS            ((int64_t)10 * 60 * 1000)

struct lockout;

/* The origin of a login. The case of the name is ignored. */
struct login_source {
    struct str user;
    bool is_user;        /* an account of that name exists */
    uint8_t address[16]; /* as in struct http_request; counted */
    uint8_t client[16];  /* as in struct http_request; for the log only */
};

enum lockout_result {
    LOCKOUT_NONE,
    LOCKOUT_ADDRESS, /* the user is locked out from this address                          */
    LOCKOUT_USER,    /* and from every other one without an earlier successful login      */
    LOCKOUT_NETWORK, /* the address is locked out for users without an earlier login here */
};

/* sodium_init() must have been called. */
struct lockout *lockout_new(void);
void lockout_free(struct lockout *l); /* NULL is allowed */

/* The remaining lock-out in ms; 0: logins are accepted. */
int64_t lockout_left_ms(const struct lockout *l, const struct login_source *v, int64_t now_ms);
/* Count a failed login. A lock-out is reported once, by the failure that starts it. */
enum lockout_result lockout_failed(struct lockout *l, const struct login_source *v, int64_t now_ms);
void lockout_succeeded(struct lockout *l, const struct login_source *v, int64_t now_ms);
