/* password_params.h - new passwords in requests.
 *
 * A password is checked, then hashed on a worker thread while its call waits; only the hash is
 * stored in a command. A handler requests the hash; the first time the call waits, and the handler
 * is run again when the hash is in call->made_hash. The memory of the request is wiped when it
 * ends.
 */
#pragma once

#include "api/call/call.h"

#define PASSWORD_LEN_MIN 6u    /* characters */
#define PASSWORD_LEN_MAX 1024u /* bytes */

/* Reads the parameter `password` and, if present, an equal `password_confirmation`. False if there
 * is none, or after a problem. */
bool password_param_read(struct call *call, struct str *out_password);
/* Checks the rules only. False after a problem. */
bool password_param_check(struct call *call, struct str password);

enum password_param_state {
    SECRET_HASHED,  /* the hash is in call->made_hash */
    SECRET_PENDING, /* return SERVED_LATER without touching the call; the handler is run again */
    SECRET_FAILED,  /* the reply is made */
};

enum password_param_state password_param_hash(struct call *call, struct str password);
