/* md5.h - MD5 (RFC 1321), only where an old wire format requires it: HTTP digest HA1, the
 * deployment status fingerprint, IPv6 interface ids. It is not collision resistant. */
#pragma once

#include <stdint.h>

#include "base/text/str.h"

void md5(struct str bytes, uint8_t out_digest[16]);
