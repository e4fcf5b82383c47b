/* prompt.h - reads a line from the operator at the terminal.
 *
 * /dev/tty is used, so that stdin and stdout may be redirected. The input of a secret is not
 * echoed, and the terminal settings are restored afterwards, also after ^C.
 */
#pragma once

#include <stdbool.h>

#include "base/mem/arena.h"

bool prompt_is_possible(void); /* whether the process has a terminal */
/* Print QUESTION, ABOUT and ": ", and read a line. NULL: no terminal, or an empty line. */
const char *prompt_text(struct arena *a, const char *question, const char *about);
const char *prompt_secret(struct arena *a, const char *question, const char *about);
