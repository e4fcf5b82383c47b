/* settings_text.h - the settings as "key = value" lines. Knows no file and no environment. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

/* NULL: not known. With a token the user is only a name. */
struct settings {
    const char *url; /* without a slash at its end */
    const char *user;
    const char *password;
    const char *token;
    const char *token_id;
    const char *ca;
};

/* # begins a comment. What is wrong with the text, or NULL; *out_line is where. */
const char *settings_parse(struct arena *a, struct str text, struct settings *out_settings,
                           uint32_t *out_line);
struct str settings_format(struct arena *a, const struct settings *settings);
/* Something in it lets its reader in. */
bool settings_have_secret(const struct settings *settings);
/* The address is of this machine, so nobody else hears what is said to it. */
bool settings_is_near(const char *url);
/* Without the spaces and line ends around it. */
struct str settings_trim(struct str s);
