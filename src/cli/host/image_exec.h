/* image_exec.h - `halligan image`: files that boot servers send to machines.
 *
 * The verbs are implemented by the program halligan-image, which is executed in place of this one.
 */
#pragma once

#include "cli/args/noun.h"

extern const struct cli_noun image_noun;
