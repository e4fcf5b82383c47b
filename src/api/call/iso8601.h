/* iso8601.h - moments as people write them: ISO 8601 in UTC, to the millisecond.
 *
 * It knows the Gregorian calendar and nothing of clocks, zones or leap seconds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/buf.h"
#include "base/text/str.h"

/* Appends "2015-01-02T03:04:05.678Z" for milliseconds since 1970. */
void iso8601_format(struct buf *b, int64_t ms);
/* The same read back; the fraction may be absent or shorter. False when it is no such moment. */
bool iso8601_parse(struct str text, int64_t *out_ms);
