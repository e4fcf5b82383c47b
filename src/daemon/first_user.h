/* first_user.h - the first user of a new installation.
 *
 * Its password is drawn here and written to a file before the user exists, so that at no instant
 * there is a user whose password nobody can know: a start that finds the file and no users takes
 * the password out of the file, if nobody but us can have read or written it.
 */
#pragma once

#include "base/err.h"
#include "base/mem/arena.h"
#include "model/command.h"

/* The USER_CREATE of user admin; its password stands in the file at `path` by then. What fails is
 * logged. Texts lie in the arena. */
NODISCARD err first_user_create(struct arena *a, const char *path, struct command *out_command);
