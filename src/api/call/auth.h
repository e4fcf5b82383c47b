/* auth.h - authentication of requests (docs/spec/api.md, Authentication; ADR 0040).
 *
 * Four methods: Basic with the password of a user, verified on a worker thread; Digest, for users
 * who have an HA1; Bearer with the token of a user or node; and the cookie of a session, with an
 * X-CSRF-Token header for requests that change something. A login has user name and password in its
 * body. An unknown user name takes as long as a wrong password and gets the same reply, so that
 * neither reveals which users exist. Too many failed logins lock out the name or the address for a
 * while (auth/lockout.h).
 */
#pragma once

#include "api/call/call.h"

/* Ends in call_admit() or in a reply, now or after the password was verified. */
void auth_begin(struct call *call);
/* Checks the headers alone, before the body is read: true if the caller is refused already; the
 * reply is made then. *out_known is set if the caller is already authenticated, by a token or a
 * session. */
bool auth_refuses(struct call *call, bool *out_known);
/* Do the credentials of the call still hold in call->core? A user, password or token may have
 * changed since. */
bool auth_holds(const struct call *call);
