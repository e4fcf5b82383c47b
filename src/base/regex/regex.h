/* regex.h - regular expressions in linear time.
 *
 * A pattern becomes a small program for a machine that walks all alternatives at once (Thompson,
 * Pike), so no text can make it slow. Understood: literals, ., classes [a-z^..] with \d \w \s \h
 * (hex digit) and their negations and [:alpha:] style names, groups ( ) (?: ), |, * + ? {m} {m,}
 * {m,n} (lazy forms parse and mean the same), ^ and $ (line), \A \z \Z \b \B, escapes
 * \n \t \r \f \v \xHH \. and friends. Refused as unsupported: back references, look-around,
 * possessive and atomic groups, \p{}, \G, inline flags other than (?i) at the start.
 * `.` does not match a newline. Works on Unicode code points of clean UTF-8.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

struct regex; /* lives in the arena it was compiled in */

#define REGEX_PROGRAM_MAX 20000u /* instructions; {m,n} is unrolled, so it needs a bound */

/* ERR_SYNTAX: malformed; ERR_REFUSED: not supported here; ERR_LIMIT: too large. *out_what says
 * which part, in English. */
NODISCARD err regex_compile(struct arena *a, struct str pattern, bool ignore_case,
                            struct regex **out_regex, const char **out_what);
/* Does `text` contain a match anywhere? Scratch memory comes from `scratch`. */
bool regex_search(const struct regex *r, struct str text, struct arena *scratch);
