/* password_params.h - new passwords on their way into commands.
 *
 * A password is checked, then hashed outside the loop while its call waits, and only the hash goes
 * on. A handler asks for the hash; the first time there is none yet, the call waits, and the
 * handler runs again when it is there. The memory of such a request is wiped when it ends.
 */
#pragma once

#include "api/call/call.h"

#define PASSWORD_LEN_MIN 6u    /* characters */
#define PASSWORD_LEN_MAX 1024u /* bytes      */

/* A new password as parameters give it: `password`, and the same again in `password_confirmation`
 * if that is given. False when none is given, or after a problem. */
bool password_param_read(struct call *call, struct str *out_password);
/* The rules alone: false after a problem that names the password. */
bool password_param_check(struct call *call, struct str password);

enum password_param_state {
    SECRET_HASHED,  /* it is in call->made_hash                              */
    SECRET_PENDING, /* the handler runs again: say SERVED_LATER, touch nothing */
    SECRET_FAILED,  /* the reply is made                                     */
};

enum password_param_state password_param_hash(struct call *call, struct str password);
