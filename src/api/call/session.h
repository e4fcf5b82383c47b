/* session.h - browsers that logged in.
 *
 * A session is a token of its own kind: its secret travels in a cookie that no script can read, and
 * counts for twelve hours, or until nobody used it for half an hour (auth/session_idle.h). Whatever
 * changes something needs a second secret beside it, which only pages of ours know. A login always
 * makes a new session and ends the one that came with it.
 */
#pragma once

#include "api/call/call.h"
#include "base/text/buf.h"

#define SESSION_COOKIE    "halligan_session"
#define SESSION_MS        ((int64_t)12 * 60 * 60 * 1000)
#define SESSION_SIGN_IN   "/my/users/sign_in" /* where the pages of OpenCrowbar sent a form */
#define SESSIONS_PER_USER 20u                 /* a login beyond that ends the oldest */

/* What may wrap the parameters of a login at this path. */
const char *session_wraps(const struct call *call);
/* End one, whose ever it is, without waiting for it. */
void session_forget(struct call *call, int64_t token_id);
/* Commands that end the sessions of this user but for the newest ones, encoded into `parts`. */
void session_end_all(struct call *call, int64_t user_id, uint32_t keep, struct buf *parts);
