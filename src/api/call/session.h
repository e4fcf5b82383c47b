/* session.h - sessions of browsers.
 *
 * A session is a token of kind TOKEN_SESSION. Its secret is in a cookie that scripts cannot read
 * (HttpOnly); it is valid for twelve hours, and expires after half an hour without a request
 * (auth/session_idle.h). Requests that change something also need the header X-CSRF-Token, a second
 * secret that only pages of this origin can read. A login always creates a new session and ends the
 * one whose cookie came with it.
 */
#pragma once

#include "api/call/call.h"
#include "base/text/buf.h"

#define SESSION_COOKIE    "halligan_session"
#define SESSION_MS        ((int64_t)12 * 60 * 60 * 1000)
#define SESSION_SIGN_IN   "/my/users/sign_in" /* login form of OpenCrowbar */
#define SESSIONS_PER_USER 20u                 /* a login beyond this ends the oldest session */

/* The key that may wrap the parameters of a login at this path. */
const char *session_wraps(const struct call *call);
/* Submits the deletion of a session of any user, without waiting for the outcome. */
void session_forget(struct call *call, int64_t token_id);
/* Appends encoded commands to `parts` that end the sessions of the user, except for the newest
 * `keep`. */
void session_end_all(struct call *call, int64_t user_id, uint32_t keep, struct buf *parts);
