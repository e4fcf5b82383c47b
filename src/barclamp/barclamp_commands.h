/* barclamp_commands.h - check barclamps in directories, and write a new one. Needs no daemon.
 *
 * `args` has the arguments after the verb. The result is the exit status of the program.
 */
#pragma once

#include "cli/args/noun.h"

enum cli_exit barclamp_check(struct args *args);
enum cli_exit barclamp_new(struct args *args);
