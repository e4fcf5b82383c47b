/* serialize.h - views: tables that map records to JSON objects (docs/spec/objects.md).
 *
 * A view is a table with one row for each key of the JSON object: where its value is in struct
 * record and how it is converted. It also yields samples, projections, and the fields that lists
 * can be filtered and sorted by (query.h). The module reads the core; it does not depend on calls.
 * Tables are constant. The kinds of the fields of a view begin with PROP_.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json/json.h"
#include "base/text/buf.h"
#include "core/core.h"

enum object_view_kind {
    PROP_INT,            /* int64 */
    PROP_UINT32,         /* uint32 */
    PROP_REF,            /* int64, 0 is null */
    PROP_BOOL,           /* bool */
    PROP_BOOL_INVERTED,  /* bool that is stored inverted */
    PROP_FLAG,           /* one bit of a uint32 */
    PROP_TEXT,           /* string */
    PROP_ARRAY,          /* JSON document, [] if empty */
    PROP_OBJECT,         /* JSON document, {} if empty */
    PROP_TIME,           /* ms since 1970, shown as ISO 8601; 0 is null */
    PROP_NODEROLE_STATE, /* number of a state (docs/spec/objects.md, States) */
    PROP_OPTIONAL,       /* string, null if empty */
    PROP_ANY,            /* JSON document, null if empty */
    PROP_DEFAULT,        /* JSON document, {"value":null} if empty */
    PROP_LEADING_NUMBER, /* number at the start of a string, or null */
    PROP_ACCESS,         /* enum access by its name, ACCESS_NONE is null */
    PROP_TOKEN_KIND,     /* enum token_kind by its name */
    PROP_REASON,         /* enum reason_code by its name, REASON_NONE is null */
    PROP_POWER_STATE,    /* enum power_state by its name */
    PROP_IS_SET,         /* secret string: true unless it is empty */
    PROP_MAC,            /* int64: a MAC address, 0 is null */
    PROP_LEASE_STATE,    /* enum lease_state by its name */
    /* From here on: computed, also from other records. object_view_is_plain() depends on this
     * order. */
    PROP_DEPLOYMENT_STATE,    /* state of the deployment, as a number */
    PROP_SNAPSHOT_STATE,      /* state of the snapshot, as a number */
    PROP_NODE_ERROR,          /* is the node of the noderole in error? */
    PROP_NODE_STATE,          /* combined state of the noderoles of a node */
    PROP_UNUSABLE,            /* reason why the role cannot be bound, or null */
    PROP_INACTIVE,            /* reason why the jig is not active, or null */
    PROP_JIG_ACTIVE,          /* is the jig active? --test-jig activates the test jig */
    PROP_CHANGED,             /* number of noderoles that ran with other defaults */
    PROP_CHANGED_DESTRUCTIVE, /* number of those with destructive roles */
    PROP_UNPROPOSED,          /* number of noderoles with values that no commit publishes */
    PROP_ACTIONS,             /* actions of a hammer of that kind, by category */
    PROP_RANGE_CONDUIT,       /* conduit of a range, which it may inherit from its network */
    PROP_RANGE_NUMBER,        /* vlan or team_mode of a range: `bit` is the RANGE_OWN_... */
    PROP_RANGE_FLAG,          /* use_vlan, use_bridge or use_team of a range, likewise */
    PROP_RANGE_FULL_NAME,     /* NETWORK.RANGE */
    PROP_LEASE_END,           /* when a lease ends */
    PROP_RR_TYPE,             /* type of the record of a DNS name: A or AAAA */
    PROP_ENTRY_ADDRESS,       /* address that a DNS name resolves to, without prefix length */
    PROP_ENTRY_NODE,          /* id of the node that has it */
    PROP_FILTER_HAS_SERVICE,  /* does the DNS service of the name filter exist? */
    PROP_BOOT_MACS,           /* MACs of a node in the boot view, in upper case */
    PROP_BOOT_ADDRESS,        /* its first address in the boot view, with prefix length */
};

struct object_view_field {
    const char *name;
    enum object_view_kind kind;
    uint16_t at;        /* offset in struct record */
    uint32_t bit;       /* PROP_FLAG, PROP_RANGE_NUMBER, PROP_RANGE_FLAG */
    const char *sample; /* JSON in samples; NULL: not in samples */
};

/* An additional last key whose value depends on the request. Lists cannot be filtered by it. */
struct object_view_tail {
    const char *name;
    /* Writes the value as JSON. NULL: the route has no value for it, and the key is left out. */
    void (*write)(const struct object_view_tail *tail, const struct core *core,
                  const struct record *record, struct buf *out);
};

struct object_view {
    const char *type; /* in content types, and the key that may wrap the members of a body */
    enum table table;
    const struct object_view_field *fields;
    uint32_t count; /* at most 64 including the tail, because masks have 64 bits */
    /* number of fields at the end that OpenCrowbar does not have: returned on request only */
    uint32_t extras;
    const struct object_view_tail *tail; /* NULL: none */
    /* The type of a reply with one record, if it depends on the record; NULL: `type`. */
    const char *(*type_of)(const struct core *core, const struct record *record, struct arena *a);
};

/* Macros for the tables in the files of the nouns. */
#define PROP_AT(member) (uint16_t) offsetof(struct record, member)
#define PROP_TIMES(noun)                                                                           \
    {.name = "created_at", .kind = PROP_TIME, .at = PROP_AT(noun.created_at)},                     \
        {.name = "updated_at", .kind = PROP_TIME, .at = PROP_AT(noun.updated_at)},
#define PROP_ROWS(rows) .fields = rows, .count = sizeof rows / sizeof *rows

/* The fields that are named in an array of strings, as bits; NULL: those of OpenCrowbar. */
uint64_t object_view_mask(const struct object_view *view, const struct json *names);
#define PROP_ALL UINT64_MAX
/* Are all fields of the mask stored in the record itself, so that its turn is a valid ETag? */
bool object_view_is_plain(const struct object_view *view, uint64_t mask);
/* Is the key in the array `names`, or is that NULL? */
bool object_view_wants(const struct json *names, const char *key);

/* The value of a field before it is written as JSON. */
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
    int64_t number;  /* also a time, ms since 1970 */
    struct str text; /* of VALUE_ACTIONS: the class of the hammer kind */
};

/* Computed strings are allocated in the arena. */
struct object_view_value object_view_value(const struct object_view_field *field,
                                           const struct core *core, const struct record *record,
                                           struct arena *a);
/* The MACs of a machine as OpenCrowbar shows them: a JSON array of texts in upper case. */
struct str object_view_macs(const struct boot_machine *machine, struct arena *a);
/* The numbers by which OpenCrowbar shows states (docs/spec/objects.md, States). */
int64_t object_view_noderole_state(uint32_t state);
int64_t object_view_deployment_state(enum deployment_state state);
int64_t object_view_snapshot_state(const struct core *core, const struct snapshot_record *snapshot);
/* The number of the state with that name; false if there is none or the field is not a state. */
bool object_view_state_number(const struct object_view_field *field, struct str name,
                              int64_t *out_number);
/* The name of a state; NULL behind the last. */
const char *object_view_state_name(enum object_view_kind kind, int64_t number);

void object_view_write(const struct object_view *view, const struct core *core,
                       const struct record *record, uint64_t mask, struct buf *out);
void object_view_write_sample(const struct object_view *view, uint64_t mask, struct buf *out);
