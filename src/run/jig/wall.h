/* wall.h - what scripts wrote with write_attribute, as the document it makes.
 *
 * The result channel of the script jig is an archive of files "a/b/c/wall": the value of a/b/c. In
 * a name "%" is written %25 and "/" %2F. It comes from a machine, so everything in it is checked;
 * what cannot be a document is told in a sentence, never taken in part.
 */
#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "model/reason.h"

/* true and false in any case are booleans; decimal integers as JSON writes them are numbers; JSON
 * objects and arrays are what they say; everything else is text, without the line end of its file.
 * NULL: it is no text. */
struct json *wall_value(struct arena *a, struct str bytes);

/* The tree of them all, an object. ERR_REFUSED: *out_why says what is wrong. */
NODISCARD err wall_read(struct arena *a, struct str archive, struct json **out_wall,
                        struct reason *out_why);
