/* boot_server.h - the program halligan-boot: from its options to its end.
 *
 * It opens everything that needs privileges, drops them, and serves in one libuv loop and one
 * thread until SIGTERM or SIGINT.
 */
#pragma once

#include "boot/server/boot_options.h"

enum { BOOT_EXIT_OK = 0, BOOT_EXIT_FAILED = 1, BOOT_EXIT_USAGE = 2 };

/* Runs until the end, or prints what --check finds. Returns the exit status. The options must stay
 * valid. `version` is that of the program. */
int boot_server_run(const struct boot_options *options, const char *version);
