/* scalar.h - what a plain scalar of YAML means: null, a truth value, a number or a text.
 *
 * The rules are those of YAML 1.1 as Ruby's Psych applies them, because that is what barclamps
 * were written for:
 *
 *   empty, ~, null                          null
 *   yes true on / no false off              truth values; y and n are texts; case does not matter
 *   12  -3  1_000  1,000                    whole numbers
 *   0644  0x1f  0b101                       whole numbers, 420 31 5; 08 and 0o17 are texts
 *   1:30  12:30:45                          5400 45045: hours, minutes, seconds
 *   1.5  .5  5.  1_000.5  1.5e+3            numbers; 1e3 and 1.5e3 (no dot, no sign) are texts
 *   2014-03-13, times, :word, 1:30.5        texts
 *
 * Numbers are JSON numbers, in the file's own spelling where that is one. .inf, .nan and whole
 * numbers beyond 64 bits in another base have no such form and stay texts.
 */
#pragma once

#include <stdbool.h>

#include "base/json/json.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

struct scalar {
    enum json_kind kind; /* null, false, true, number or string */
    struct str text;     /* of numbers and strings; of the arena or of what was read */
    bool surprises;      /* not what the letters say: 0644 is 420, .inf is a text */
};

struct scalar scalar_read(struct arena *a, struct str plain);
