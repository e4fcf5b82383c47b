/* barclamp_exec.h - `halligan barclamp`: check and create barclamps (packages of content) in local
 * directories.
 *
 * The verbs are implemented by the program halligan-barclamp, which is executed in place of this
 * one: it links the engine and Lua, and a client of the API should not.
 */
#pragma once

#include "cli/args/noun.h"

extern const struct cli_noun barclamp_noun;
