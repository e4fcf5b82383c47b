/* program_exec.h - executes another program of the installation in place of this one.
 *
 * Verbs that need no daemon and link much that a client of the API should not are programs of their
 * own, in the directory of halligan.
 */
#pragma once

#include "cli/args/noun.h"

/* Executes the program with the verb and its unparsed arguments. Returns only after a failure,
 * which is printed. */
enum cli_exit program_exec_run(const char *program, const char *verb, const struct args *args);
