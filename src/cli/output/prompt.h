/* prompt.h - asking the person at the terminal.
 *
 * The terminal itself is asked, whatever stdin and stdout are. A secret is not shown while it is
 * typed, and the terminal is as it was afterwards, also when ^C is the answer.
 */
#pragma once

#include <stdbool.h>

#include "base/mem/arena.h"

bool prompt_is_possible(void); /* is there a terminal? */
/* "QUESTIONabout: ". NULL: there is no terminal, or the answer is empty. */
const char *prompt_text(struct arena *a, const char *question, const char *about);
const char *prompt_secret(struct arena *a, const char *question, const char *about);
