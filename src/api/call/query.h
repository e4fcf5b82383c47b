/* query.h - which objects a list shows, in what order, and which part of it.
 *
 * A query is read from the parameters of a request once; then each object is held against it. It
 * knows shapes and reads the core; it does not know requests. Everything in it lies in the arena
 * it was read with, or in the parameters.
 *
 *   name=n1&name=n2     one of these       alive.not=true      anything else
 *   name.contains=web   somewhere in it    cohort.min=2        and .max: in these bounds
 *   sort=-updated_at    the largest first  limit=100&after=17  the hundred behind object 17
 */
#pragma once

#include "api/call/serialize.h"
#include "http/http.h"

#define QUERY_WANTED_MAX      1000u /* values in one query     */
#define QUERY_WANTED_SIZE_MAX 4096u /* bytes of one such value */
#define QUERY_CONDITIONS_MAX  32u
#define QUERY_NEEDLES_MAX     16u /* values that are looked for inside of others */
#define QUERY_LIMIT_MAX       10000u

enum query_op { QUERY_IS, QUERY_NOT, QUERY_CONTAINS, QUERY_MIN, QUERY_MAX };

/* What may stand somewhere in a text, whatever its case, made ready to be looked for. */
struct query_needle {
    struct str text;         /* in lower case                                               */
    const uint16_t *borders; /* by length - 1: how much of the beginning is also the end    */
};

/* A value that a field may have, read beforehand in every way a field could want it. */
struct query_wanted {
    enum json_kind kind;
    bool has_number, has_time;
    int64_t number;             /* also of one written as a text, or of a state that has a name */
    int64_t time_ms;            /* of a text                     */
    struct str text;            /* of a text                     */
    struct str doc;             /* of an array: canonical        */
    struct query_needle inside; /* of a text that has to be contained */
    struct query_needle inside_quotes; /* the same as a document writes it   */
};

struct query_condition {
    const struct object_view_field *field;
    enum query_op op;
    const struct query_wanted *values; /* one of them will do */
    uint32_t count;                    /* 0: nothing will     */
};

struct query {
    struct query_condition conditions[QUERY_CONDITIONS_MAX];
    uint32_t count;
    const struct object_view_field *sort; /* NULL: the usual order */
    bool is_descending;
    bool has_after;
    int64_t after;
    uint32_t limit; /* 0: all */
};

/* What is wrong with which parameter; `text` is NULL when nothing is. */
struct query_error {
    struct str field;
    const char *text;
};

/* NULL when it has none of that name. */
const struct object_view_field *query_field(const struct object_view *shape, struct str name);
/* From the members of an object that are fields of the shape; others are ignored. A member is a
 * value, or a list of them. */
struct query_error query_read_object(const struct object_view *shape, const struct json *object,
                                     struct arena *a, struct query *out_query);
/* From the address of a list: what means nothing is told. */
struct query_error query_read_pairs(const struct object_view *shape, const struct http_pair *pairs,
                                    struct arena *a, struct query *out_query);

/* Are texts looked through for it? That can take a while, even for few objects. */
bool query_is_slow(const struct query *query);
/* What has to be computed for these lies in the arena. Adds to *work how many bytes were looked
 * through. */
bool query_matches(const struct query *query, const struct core *core, const struct record *record,
                   struct arena *a, uint64_t *work);
/* Below zero when `a` comes first. */
int query_compare(const struct object_view_value *a, const struct object_view_value *b);
