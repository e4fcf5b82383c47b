/* cli.h - which noun and verb the words of a command line mean.
 *
 * Answers --help and --version itself, everywhere, and says what the nearest word is when one means
 * nothing. What a verb does with its words is its own business.
 */
#pragma once

/* The exit status. */
int cli_main(const char *version, int argc, char **argv);
