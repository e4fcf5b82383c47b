/* auth_state.h - what is remembered between requests about those who want in.
 *
 * It holds the tables that outlive a request and not the process: who guessed too often, which
 * answers to a digest challenge were given, which keys for sealed passwords are out, which sessions
 * were used lately. It tells the log who was turned away. It does not know users, nor who may do
 * what once inside.
 */
#pragma once

#include "auth/digest.h"
#include "auth/lockout.h"
#include "auth/password_reset_keys.h"
#include "auth/session_idle.h"

struct auth_state {
    struct lockout *lockout;
    struct digests *digests;
    struct reset_keys *resets;
    struct session_idle *idle;
};

struct auth_state auth_state_open(void);
void auth_state_close(struct auth_state *door);

/* Somebody was wrong: counted, and told to the log, once more if that was one time too many. What
 * is no name of a user is not repeated: it may be a password in the wrong field. */
void auth_log_failure(struct auth_state *door, const struct login_source *v, int64_t now_ms);
