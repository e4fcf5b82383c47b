/* host_key.h - the text of an ssh host key: its type, one space, its base64 (RFC 4253, 6.6). */
#pragma once

#include <stdbool.h>

#include "base/text/str.h"

/* A type that ssh-keyscan is asked for, and base64 of at most HOST_KEY_LEN_MAX bytes in all. */
bool host_key_is_valid(struct str key);
/* "ssh-ed25519", ... */
struct str host_key_type(struct str key);
