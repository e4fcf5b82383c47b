/* host_key.h - the text of an ssh host key: its type, one space, its base64 (RFC 4253, 6.6). */
#pragma once

#include <stdbool.h>

#include "base/text/str.h"

/* True for a type that we request from ssh-keyscan and base64, at most HOST_KEY_LEN_MAX bytes. */
bool host_key_is_valid(struct str key);
/* "ssh-ed25519", ... */
struct str host_key_type(struct str key);
