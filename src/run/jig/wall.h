/* wall.h - the wall data of scripts: values written with write_attribute, as one document.
 *
 * The result channel of the script jig is an archive of files "a/b/c/wall": the value of a/b/c. In
 * a name "%" is written as %25 and "/" as %2F. The data comes from a node and is untrusted, so
 * everything is checked; data that is not a valid document is refused as a whole with a reason. */
#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "model/reason.h"

/* Convert the bytes of a file: true and false in any case are booleans, decimal integers as in JSON
 * are numbers, JSON objects and arrays are parsed, everything else is a string without its final
 * newline. NULL: not UTF-8. */
struct json *wall_value(struct arena *a, struct str bytes);

/* All values as one object. ERR_REFUSED: *out_why states what is wrong. */
NODISCARD err wall_read(struct arena *a, struct str archive, struct json **out_wall,
                        struct reason *out_why);
