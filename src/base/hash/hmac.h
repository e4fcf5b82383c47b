/* hmac.h - HMAC-SHA256 (RFC 2104), which authenticates bytes under a secret key. */
#pragma once

#include <stdint.h>

#include "base/text/str.h"

void hmac_sha256(struct str key, struct str bytes, uint8_t out_code[32]);
