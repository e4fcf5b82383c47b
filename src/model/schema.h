/* schema.h - validation of the values of attribs (named values of roles and nodes).
 *
 * The language is the part of Kwalify that barclamps use: type, required, sequence, mapping (with
 * "=" for any other key), enum and pattern. A fragment is a rule in that language, as JSON. This
 * module parses fragments and validates values; it does not depend on attribs or on where their
 * values are stored.
 *
 * All results are allocated in the arena of the caller.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json/json.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

#define SCHEMA_DEPTH_MAX 32u   /* rules inside rules; each takes two levels of JSON           */
#define VIOLATIONS_MAX   1000u /* kept in one list; further ones are counted                  */
#define VIOLATION_LEN    1024u /* bytes; longer paths and messages are truncated              */

/* A short pattern with a repeat can need much memory, and a pattern on a long string much time. */
#define SCHEMA_PATTERNS_SIZE (4u << 20) /* bytes of all compiled patterns of a fragment        */
#define SCHEMA_WORK_MAX      100000000u /* steps of one validation; below a second of CPU time */

struct violation {
    struct str path; /* "/servers/0/port"; "/" is the whole value */
    struct str text; /* phrase that follows the path in a message: "must be a number" */
    struct violation *next;
};

/* In the order of detection. A zeroed struct is an empty list. */
struct violations {
    struct violation *first;
    struct violation *last;
    uint32_t count;    /* in the list */
    uint32_t left_off; /* detected after the list was full */
};

/* Check that `fragment` is a valid rule. Appends every fault to `errors` with its path inside the
 * fragment ("/mapping/port/type"), and to `warnings` every valid pattern that our regular
 * expressions do not support or that exceeds the memory limit; values are not checked against
 * those. A null or empty fragment means that there is no schema. Returns true if nothing was added
 * to `errors`. */
bool schema_check(struct arena *a, const struct json *fragment, struct violations *errors,
                  struct violations *warnings);

/* Validate {name: value} against {type: map, required: true, mapping: {name: fragment}}. Appends
 * every violation; paths begin with "/name". `value` NULL means absent. A fragment that
 * schema_check rejects, and a value that exceeds SCHEMA_WORK_MAX, are violations. Returns true
 * if nothing was added. */
bool schema_validate(struct arena *a, const struct json *fragment, struct str name,
                     const struct json *value, struct violations *violations);

/* One line of text: "/a is required; /b must be a number; and 12 more". */
struct str violations_format(struct arena *a, const struct violations *list);
