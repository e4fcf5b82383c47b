/* auth_state.h - what is remembered between requests about those who want in.
 *
 * It holds the tables that outlive a request and not the process: who guessed too often, which
 * answers to a digest challenge were given, which keys for sealed passwords are out, which sessions
 * were used lately. It tells the log who was turned away. It does not know users, nor who may do
 * what once inside.
 */
#pragma once

#include "auth/digest.h"
#include "auth/session_idle.h"
#include "auth/lockout.h"
#include "auth/password_reset_keys.h"

struct door {
    struct lockout *lockout;
    struct digests *digests;
    struct resets *resets;
    struct idle *idle;
};

struct door door_open(void);
void door_close(struct door *door);

/* Somebody was wrong: counted, and told to the log, once more if that was one time too many. What
 * is no name of a user is not repeated: it may be a password in the wrong field. */
void door_turned_away(struct door *door, const struct visitor *v, int64_t now_ms);
