/* settings_text.h - parses and writes the settings as "key = value" lines. Does not read files or
 * the environment. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

/* NULL: not set. With a token, `user` is for display only. */
struct settings {
    const char *url; /* without a trailing slash */
    const char *user;
    const char *password;
    const char *token;
    const char *token_id; /* the id of the token at the daemon, to delete it at logout */
    const char *ca;       /* path of a PEM file with CA certificates */
};

/* A line that begins with # is a comment. NULL, or an error message about line *out_line. */
const char *settings_parse(struct arena *a, struct str text, struct settings *out_settings,
                           uint32_t *out_line);
struct str settings_format(struct arena *a, const struct settings *settings);
/* True if a password or token is set. */
bool settings_have_secret(const struct settings *settings);
/* True if the host of the URL is a loopback address, so that no other machine can read the traffic.
 */
bool settings_is_loopback(const char *url);
/* Without leading and trailing white space. */
struct str settings_trim(struct str s);
