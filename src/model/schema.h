/* schema.h - what a value of an attrib may look like.
 *
 * The language is the part of Kwalify that barclamps use: type, required, sequence, mapping (with
 * "=" for any other key), enum and pattern. A fragment is a rule in that language, as JSON. This
 * module reads fragments and holds values against them; it does not know attribs, nor where their
 * values are kept.
 *
 * Everything it hands out lives in the arena that was given.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json/json.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

#define SCHEMA_DEPTH_MAX 32u   /* rules inside rules; each takes two levels of JSON           */
#define VIOLATIONS_MAX   1000u /* kept in one list; a longer one helps nobody                 */
#define VIOLATION_LEN    1024u /* a path or a text is cut there, so that no value can swell it */

/* A repeat of few characters can ask for much memory, and a pattern times a text for much time. */
#define SCHEMA_PATTERNS_SIZE (4u << 20) /* bytes that the patterns of a fragment may take      */
#define SCHEMA_WORK_MAX      100000000u /* steps of one validation; less than a second of work */

struct violation {
    struct str path; /* "/servers/0/port"; "/" is the whole */
    struct str text; /* what follows the path in a sentence: "must be a number" */
    struct violation *next;
};

/* In the order they were met. A zeroed one is empty. */
struct violations {
    struct violation *first;
    struct violation *last;
    uint32_t count;    /* in the list */
    uint32_t left_off; /* met after the list was full */
};

/* Is `fragment` a rule we understand? Appends every fault to `errors` with its path inside the
 * fragment ("/mapping/port/type"), and to `warnings` every pattern that is sound but beyond our
 * regular expressions or our memory: it is kept and not checked. A null or empty fragment means
 * that there is no schema. True when nothing was added to `errors`. */
bool schema_check(struct arena *a, const struct json *fragment, struct violations *errors,
                  struct violations *warnings);

/* Does {name: value} fit {type: map, required: true, mapping: {name: fragment}}? Appends every
 * violation; paths begin with "/name". `value` NULL is a value that is absent. A fragment that
 * schema_check would fault fits nothing, and neither does a value that would take too long. True
 * when nothing was added. */
bool schema_validate(struct arena *a, const struct json *fragment, struct str name,
                     const struct json *value, struct violations *violations);

/* One line for people: "/a is required; /b must be a number; and 12 more". */
struct str violations_format(struct arena *a, const struct violations *list);
