/* shape.h - which fields an object shows, and how (SEMANTICS 1).
 *
 * A shape is a table: one row for each key of the JSON object, saying where its value comes from.
 * From it come the objects themselves, samples, projections and the columns one can match by. It
 * reads the core; it does not know requests.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "core/core.h"

enum shape_kind {
    SHAPE_INT,              /* int64                                        */
    SHAPE_SMALL,            /* uint32                                       */
    SHAPE_REF,              /* int64, 0 is null                             */
    SHAPE_BOOL,             /* bool                                         */
    SHAPE_NOT,              /* bool that is kept the other way round        */
    SHAPE_FLAG,             /* one bit of a uint32                          */
    SHAPE_TEXT,             /* text                                         */
    SHAPE_ARRAY,            /* document; an empty one is []                 */
    SHAPE_OBJECT,           /* document; an empty one is {}                 */
    SHAPE_TIME,             /* milliseconds, shown as ISO 8601; 0 is null   */
    SHAPE_NODEROLE_STATE,   /* the numbers of SEMANTICS 1.18                */
    SHAPE_DEPLOYMENT_STATE, /* computed                                     */
    SHAPE_NODE_ERROR,       /* computed: is the noderole's node in error?   */
    SHAPE_OPTIONAL,         /* text, an empty one is null                   */
    SHAPE_UNUSABLE,         /* computed: why nobody can bind the role       */
    SHAPE_INACTIVE,         /* computed: why the jig is not active          */
    SHAPE_ACTIONS,          /* computed: what a hammer of that kind can do  */
};

struct shape_field {
    const char *name;
    enum shape_kind kind;
    uint16_t at;        /* where in struct record */
    uint32_t bit;       /* SHAPE_FLAG */
    const char *sample; /* JSON; NULL: not in samples */
};

struct shape {
    const char *type; /* in content types; also what wraps a body */
    enum table table;
    const struct shape_field *fields;
    uint32_t count; /* at most 64 */
    uint32_t
        extras; /* so many at the end are ours, not of the specification: shown when asked for */
};

/* For the tables, which stand with their nouns. */
#define SHAPE_AT(member) (uint16_t) offsetof(struct record, member)
#define SHAPE_TIMES(noun)                                                                          \
    {.name = "created_at", .kind = SHAPE_TIME, .at = SHAPE_AT(noun.created_at)},                   \
        {.name = "updated_at", .kind = SHAPE_TIME, .at = SHAPE_AT(noun.updated_at)},
#define SHAPE_ROWS(rows) .fields = rows, .count = sizeof rows / sizeof *rows

/* The fields named in an array of texts, as bits; when it is NULL, those of the specification. */
uint64_t shape_mask(const struct shape *shape, const struct json *names);
#define SHAPE_ALL UINT64_MAX
/* Is that key among the names, or are there no names? */
bool shape_wants(const struct json *names, const char *key);

void shape_write(const struct shape *shape, const struct core *core, const struct record *record,
                 uint64_t mask, struct buf *out);
void shape_write_sample(const struct shape *shape, uint64_t mask, struct buf *out);

#define SHAPE_WANTED_MAX      1000u /* values in one query     */
#define SHAPE_WANTED_SIZE_MAX 4096u /* bytes of one such value */

/* A value that a field may have, read beforehand in every way a field could want it. */
struct shape_wanted {
    enum json_kind kind;
    bool has_number, has_time;
    int64_t number;  /* also of one written as a text */
    int64_t time_ms; /* of a text                     */
    struct str text; /* of a text                     */
    struct str doc;  /* of an array: canonical        */
};

/* What a record must be like: for each field the values of which one must be it. */
struct shape_query {
    struct {
        const struct shape_wanted *values;
        uint32_t count; /* 0 of a field that is asked for: nothing is it */
        bool is_asked;
    } fields[64];
    uint32_t count;          /* fields that are asked for            */
    const char *wrong_field; /* asks for more than can be looked for */
};

/* From the members of an object that are fields of the shape; others are ignored. A member is a
 * value, or a list of them. NULL when it worked, otherwise what is wrong with `wrong_field`. Texts
 * are those of the object, or lie in the arena. */
const char *shape_query_read(const struct shape *shape, const struct json *object, struct arena *a,
                             struct shape_query *out_query);
/* What has to be computed for it lies in the arena. */
bool shape_matches(const struct shape *shape, const struct core *core, const struct record *record,
                   const struct shape_query *query, struct arena *a);
