/* first_user.h - the first user of a new installation.
 *
 * Its password is generated here and written to a file before the user is created, so that a crash
 * cannot leave a user with an unknown password: a start that finds the file and no users takes the
 * password from the file, if only the user of the daemon can read and write it.
 */
#pragma once

#include "base/err.h"
#include "base/mem/arena.h"
#include "model/command.h"

/* The USER_CREATE of the user admin. When it returns OK, the password is in the file `path`. A
 * failure is logged. Strings are in the arena. */
NODISCARD err first_user_create(struct arena *a, const char *path, struct command *out_command);
