/* settings.h - where the daemon is, and who asks.
 *
 * Options come first, then the environment, then ~/.config/halligan/config. What the file knows to
 * let somebody in is for the daemon of the file alone: asked about another one, it keeps it. Texts
 * live in the arena.
 */
#pragma once

#include "base/mem/arena.h"
#include "cli/args/noun.h"
#include "cli/args/option.h"
#include "cli/client/settings_text.h"

#define SETTINGS_URL "http://127.0.0.1:3000"

/* Everything together. Whatever is wrong has been told. */
enum cli_exit settings_read(struct arena *a, const char *whose, const struct options *options,
                            struct settings *out_settings);
/* Where the daemon is, and nothing of who asks. */
enum cli_exit settings_read_place(struct arena *a, const char *whose, const struct options *options,
                                  struct settings *out_settings);

/* The file alone; all is NULL when there is none. */
enum cli_exit settings_read_file(struct arena *a, const char *whose, struct settings *out_settings);
/* Only its owner can read it afterwards. */
enum cli_exit settings_write_file(struct arena *a, const char *whose,
                                  const struct settings *settings);
/* NULL: nobody has a home. */
const char *settings_path(struct arena *a);
