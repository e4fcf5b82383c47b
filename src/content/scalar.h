/* scalar.h - the type of a plain scalar of YAML: null, a boolean, a number or a string.
 *
 * The rules are those of YAML 1.1 as Ruby's Psych applies them, because that is what barclamps
 * were written for:
 *
 *   empty, ~, null                          null
 *   yes true on / no false off              booleans in any case; y and n are strings
 *   12  -3  1_000  1,000                    whole numbers
 *   0644  0x1f  0b101                       whole numbers, 420 31 5; 08 and 0o17 are strings
 *   1:30  12:30:45                          5400 45045: hours, minutes, seconds
 *   1.5  .5  5.  1_000.5  1.5e+3            numbers; 1e3 and 1.5e3 (no dot, no sign) are strings
 *   2014-03-13, times, :word, 1:30.5        strings
 *
 * Numbers are returned as JSON numbers, with the spelling of the file if that is valid JSON. .inf,
 * .nan and whole numbers beyond 64 bits in another base have no JSON form and remain strings.
 */
#pragma once

#include <stdbool.h>

#include "base/json/json.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

struct scalar {
    enum json_kind kind; /* null, false, true, number or string */
    struct str text;     /* of numbers and strings; in the arena or part of the input */
    bool is_unexpected;  /* the value differs from its spelling: 0644 is 420, .inf is a string */
};

struct scalar scalar_read(struct arena *a, struct str plain);
