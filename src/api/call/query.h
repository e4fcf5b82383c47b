/* query.h - filters, order and pages of lists.
 *
 * A query is parsed once from the parameters of a request; then each object is tested against it.
 * The module uses object views and reads the core; it does not depend on calls. Everything in a
 * query is allocated in the arena that it was parsed with, or refers to the parameters.
 *
 *   name=n1&name=n2     one of these       alive.not=true      anything else
 *   name.contains=web   a substring        cohort.min=2        and .max: bounds
 *   sort=-updated_at    descending order   limit=100&after=17  100 objects after object 17
 */
#pragma once

#include "api/call/serialize.h"
#include "http/http.h"

#define QUERY_WANTED_MAX      1000u /* values in one query */
#define QUERY_WANTED_SIZE_MAX 4096u /* bytes of one such value */
#define QUERY_CONDITIONS_MAX  32u
#define QUERY_NEEDLES_MAX     16u /* values with .contains */
#define QUERY_LIMIT_MAX       10000u

enum query_op { QUERY_IS, QUERY_NOT, QUERY_CONTAINS, QUERY_MIN, QUERY_MAX };

/* A substring to search for, without regard to case, with its precomputed failure function (Knuth,
 * Morris, Pratt). */
struct query_needle {
    struct str text; /* in lower case */
    /* failure function: by length - 1, the length of the longest prefix that is also a suffix */
    const uint16_t *borders;
};

/* A value to compare fields with, converted once to every type that a field may need. */
struct query_wanted {
    enum json_kind kind;
    bool has_number, has_time;
    int64_t number;                    /* also of a string of digits, or of the name of a state */
    int64_t time_ms;                   /* of a string */
    struct str text;                   /* of a string */
    struct str doc;                    /* of an array: canonical JSON */
    struct query_needle inside;        /* .contains: substring of a string */
    struct query_needle inside_quotes; /* .contains: element of a JSON array, with its quotes */
};

struct query_condition {
    const struct object_view_field *field;
    enum query_op op;
    const struct query_wanted *values; /* the condition holds if one of them matches */
    uint32_t count;                    /* 0: it never holds */
};

struct query {
    struct query_condition conditions[QUERY_CONDITIONS_MAX];
    uint32_t count;
    const struct object_view_field *sort; /* NULL: the default order of the resource */
    bool is_descending;
    bool has_after;
    int64_t after;
    uint32_t limit; /* 0: all */
};

/* The first error in the parameters; `text` is NULL if there is none. */
struct query_error {
    struct str field;
    const char *text;
};

/* NULL if there is no field of that name. */
const struct object_view_field *query_field(const struct object_view *view, struct str name);
/* Parses the members of a JSON object that are fields of the view; others are ignored. A member is
 * a value or an array of alternatives. */
struct query_error query_read_object(const struct object_view *view, const struct json *object,
                                     struct arena *a, struct query *out_query);
/* Parses a query string; unknown parameters are errors. */
struct query_error query_read_pairs(const struct object_view *view, const struct http_pair *pairs,
                                    struct arena *a, struct query *out_query);

/* Does the query search for substrings? That can take long even for few objects. */
bool query_is_slow(const struct query *query);
/* Does the object match? Computed values are allocated in the arena. Adds the number of scanned
 * bytes to *work. */
bool query_matches(const struct query *query, const struct core *core, const struct record *record,
                   struct arena *a, uint64_t *work);
/* Negative if `a` sorts before `b`. */
int query_compare(const struct object_view_value *a, const struct object_view_value *b);
