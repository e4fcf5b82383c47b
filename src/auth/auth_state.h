/* auth_state.h - authentication state between requests.
 *
 * It owns the tables that live longer than a request and end with the process: failed logins, used
 * digest nonces, password reset keys, and the idle times of sessions. Failed logins are logged
 * here. It depends neither on the users in the core nor on their rights.
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
void auth_state_close(struct auth_state *state);

/* Count and log a failed login, with another line if it causes a lock-out. A name that is not one
 * of a user is not logged: it may be a password that was typed into the wrong field. */
void auth_log_failure(struct auth_state *state, const struct login_source *v, int64_t now_ms);
