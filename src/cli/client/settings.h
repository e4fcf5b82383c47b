/* settings.h - URL, CA and credentials for the daemon.
 *
 * Options override the environment, which overrides ~/.config/halligan/config. Credentials of the
 * file are used only for the URL of the file, so that --url does not send them to another host.
 * Strings are in the arena.
 */
#pragma once

#include "base/mem/arena.h"
#include "cli/args/noun.h"
#include "cli/args/option.h"
#include "cli/client/settings_text.h"

#define SETTINGS_URL "http://127.0.0.1:3000"

/* All settings; a password that is not set is asked for on the terminal. Errors are printed to
 * stderr with the prefix `prog`. */
enum cli_exit settings_read(struct arena *a, const char *prog, const struct options *options,
                            struct settings *out_settings);
/* URL and CA only, without credentials. */
enum cli_exit settings_read_server(struct arena *a, const char *prog, const struct options *options,
                                   struct settings *out_settings);

/* The settings of the file only; all NULL if there is no file. */
enum cli_exit settings_read_file(struct arena *a, const char *prog, struct settings *out_settings);
/* Write the file with mode 0600, and create its directories with mode 0700. */
enum cli_exit settings_write_file(struct arena *a, const char *prog,
                                  const struct settings *settings);
/* The path of the file. NULL: XDG_CONFIG_HOME is not an absolute path, and HOME is not set. */
const char *settings_path(struct arena *a);
