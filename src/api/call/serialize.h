/* serialize.h - which fields an object shows, and how (SEMANTICS 1).
 *
 * A shape is a table: one row for each key of the JSON object, saying where its value comes from.
 * From it come the objects themselves, samples, projections and the columns one can match and sort
 * by (query.h). It reads the core; it does not know requests.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json/json.h"
#include "base/text/buf.h"
#include "core/core.h"

enum object_view_kind {
    SHAPE_INT,            /* int64                                        */
    SHAPE_UINT32,         /* uint32                                       */
    SHAPE_REF,            /* int64, 0 is null                             */
    SHAPE_BOOL,           /* bool                                         */
    SHAPE_BOOL_INVERTED,  /* bool that is kept the other way round        */
    SHAPE_FLAG,           /* one bit of a uint32                          */
    SHAPE_TEXT,           /* text                                         */
    SHAPE_ARRAY,          /* document; an empty one is []                 */
    SHAPE_OBJECT,         /* document; an empty one is {}                 */
    SHAPE_TIME,           /* milliseconds, shown as ISO 8601; 0 is null   */
    SHAPE_NODEROLE_STATE, /* the numbers of SEMANTICS 1.18                */
    SHAPE_OPTIONAL,       /* text, an empty one is null                   */
    SHAPE_ANY,            /* document; an empty one is null               */
    SHAPE_DEFAULT,        /* document; an empty one is {"value":null}     */
    SHAPE_LEADING_NUMBER, /* the whole number a text begins with, or null */
    SHAPE_ACCESS,         /* enum access by its name, none is null        */
    SHAPE_TOKEN_KIND,     /* enum token_kind by its name                  */
    SHAPE_REASON,         /* enum reason_code by its name, none is null   */
    SHAPE_POWER_STATE,    /* enum power_state by its name                 */
    SHAPE_IS_SET,         /* text that is not shown: true unless it is empty */
    /* From here on computed from other records, too. */
    SHAPE_DEPLOYMENT_STATE,    /* computed                                     */
    SHAPE_SNAPSHOT_STATE,      /* computed                                     */
    SHAPE_NODE_ERROR,          /* computed: is the noderole's node in error?   */
    SHAPE_NODE_STATE,          /* computed: the state of a node's noderoles together */
    SHAPE_UNUSABLE,            /* computed: why nobody can bind the role       */
    SHAPE_INACTIVE,            /* computed: why the jig is not active          */
    SHAPE_JIG_ACTIVE,          /* computed: the test jig also with --test-jig  */
    SHAPE_CHANGED,             /* computed: noderoles that ran with other defaults */
    SHAPE_CHANGED_DESTRUCTIVE, /* computed: those of destructive roles */
    SHAPE_UNPROPOSED,          /* computed: noderoles with values that no commit publishes */
    SHAPE_ACTIONS,             /* computed: what a hammer of that kind can do  */
};

struct object_view_field {
    const char *name;
    enum object_view_kind kind;
    uint16_t at;        /* where in struct record */
    uint32_t bit;       /* SHAPE_FLAG */
    const char *sample; /* JSON; NULL: not in samples */
};

/* One more key behind the fields, whose value depends on who is asked; nobody can look for it. */
struct object_view_tail {
    const char *name;
    /* JSON; NULL: nobody in particular is asked, and it is not shown. */
    void (*write)(const struct object_view_tail *tail, const struct core *core,
                  const struct record *record, struct buf *out);
};

struct object_view {
    const char *type; /* in content types; also what wraps a body */
    enum table table;
    const struct object_view_field *fields;
    uint32_t count; /* at most 64, with the tail */
    uint32_t
        extras; /* so many at the end are ours, not of the specification: shown when asked for */
    const struct object_view_tail *tail; /* NULL: none */
    /* The type of the answer that shows one record, where its class has a name of its own; NULL:
     * the type above. */
    const char *(*type_of)(const struct core *core, const struct record *record, struct arena *a);
};

/* For the tables, which stand with their nouns. */
#define SHAPE_AT(member) (uint16_t) offsetof(struct record, member)
#define SHAPE_TIMES(noun)                                                                          \
    {.name = "created_at", .kind = SHAPE_TIME, .at = SHAPE_AT(noun.created_at)},                   \
        {.name = "updated_at", .kind = SHAPE_TIME, .at = SHAPE_AT(noun.updated_at)},
#define SHAPE_ROWS(rows) .fields = rows, .count = sizeof rows / sizeof *rows

/* The fields named in an array of texts, as bits; when it is NULL, those of the specification. */
uint64_t object_view_mask(const struct object_view *shape, const struct json *names);
#define SHAPE_ALL UINT64_MAX
/* Do all fields of the mask come from the record itself? */
bool object_view_is_plain(const struct object_view *shape, uint64_t mask);
/* Is that key among the names, or are there no names? */
bool object_view_wants(const struct json *names, const char *key);

/* What a field says about a record, before it is written. */
enum object_view_value_kind {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_TEXT,
    VALUE_DOC,
    VALUE_TIME,
    VALUE_ACTIONS
};

struct object_view_value {
    enum object_view_value_kind kind;
    bool truth;
    int64_t number;  /* also of a time */
    struct str text; /* of actions: the class */
};

/* What has to be computed for it lies in the arena. */
struct object_view_value object_view_value(const struct object_view_field *field,
                                           const struct core *core, const struct record *record,
                                           struct arena *a);
/* The numbers of SEMANTICS 1.18. */
int64_t object_view_noderole_state(uint32_t state);
int64_t object_view_deployment_state(enum deployment_state state);
int64_t object_view_snapshot_state(const struct core *core, const struct snapshot_record *snapshot);
/* The number of a state that goes by that name; false when none does, or the field is no state. */
bool object_view_state_number(const struct object_view_field *field, struct str name,
                              int64_t *out_number);
/* And the name of one of that kind of field. */
const char *object_view_state_name(enum object_view_kind kind, int64_t number);

void object_view_write(const struct object_view *shape, const struct core *core,
                       const struct record *record, uint64_t mask, struct buf *out);
void object_view_write_sample(const struct object_view *shape, uint64_t mask, struct buf *out);
