/* iso8601.h - time stamps in ISO 8601, UTC, to the millisecond.
 *
 * Implements the Gregorian calendar without time zones and leap seconds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/buf.h"
#include "base/text/str.h"

/* Appends "2015-01-02T03:04:05.678Z" for milliseconds since 1970. */
void iso8601_format(struct buf *b, int64_t ms);
/* Parses the same form; the fraction may be absent or shorter. False if it is not a valid time. */
bool iso8601_parse(struct str text, int64_t *out_ms);
