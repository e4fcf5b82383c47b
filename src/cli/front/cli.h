/* cli.h - finds the noun and the verb of a command line and runs the verb.
 *
 * Handles --help and --version at every level and suggests the nearest word for an unknown one. The
 * verb itself parses its options and operands.
 */
#pragma once

/* Returns the exit status of the program. */
int cli_main(const char *version, int argc, char **argv);
