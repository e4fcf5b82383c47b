/* auth.h - who asks (DECISIONS D24).
 *
 * Basic with a user's password, checked outside the loop; digest, for users who have an HA1; Bearer
 * with a token of a user or a node; or the cookie of a session, with a header beside it for what
 * changes something. A login brings name and password in its body. A name that does not exist costs
 * as much as a wrong password, and both are answered alike. Whoever guesses too often is not
 * listened to for a while (auth/lockout.h).
 */
#pragma once

#include "api/call/call.h"

/* Ends in call_admit() or in an answer, now or when the password was looked at. */
void auth_begin(struct call *call);
/* Is the caller refused without a look at a password? Then the reply is made. *out_known says
 * whether it is somebody we know already. */
bool auth_refuses(struct call *call, bool *out_known);
/* Is the caller still let in by what the core shows now? */
bool auth_holds(const struct call *call);
