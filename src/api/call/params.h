/* params.h - the parameters of a request, from query string and body.
 *
 * JSON bodies, form-encoded bodies and the query string are equivalent. The body overrides the
 * query string, and members inside an object named like the type ({"node":{...}}) override members
 * beside it. The result is one JSON object in the call. If a key is repeated in one JSON object,
 * the last value counts and the key is logged; with strict handling the body is refused. The
 * getters look up a parameter, accept its type or a string of it, and turn anything else into a
 * problem that names the parameter.
 */
#pragma once

#include "api/call/call.h"

/* False if it cannot be parsed; the reply is made then. `type` may wrap the parameters. */
bool params_read(struct call *call, const char *type);
/* True if the client requests strict handling (RFC 7240, Prefer: handling=strict): repeated keys
 * and unknown fields, which clients of OpenCrowbar may send, are refused. */
bool params_are_strict(const struct call *call);
/* Is the body a JSON array? The second parses it; NULL if it is invalid, and the reply is made. */
bool params_are_many(struct call *call);
struct json *params_read_many(struct call *call);
/* The body alone, as any JSON value; NULL if it is invalid, and the reply is made. */
struct json *params_read_operations(struct call *call);

/* Refuses parameters of the query string that are not in `names`, which ends with NULL: an ignored
 * filter would look as if it matched. `known` is the list for the text of the problem. */
void params_refuse_unknown(struct call *call, const char *const *names, struct str known);

/* Reads which keys the reply shall have into the call: x-return-attributes: ["a","b"], or
 * ?view=full. False if the header is invalid; the reply is made then. */
bool params_read_projection(struct call *call);

/* Each getter returns true if the parameter is present and valid. Invalid values become problems. A
 * string or document that is null counts as empty. */
bool param_text(struct call *call, const char *name, struct str *out_value);
bool param_bool(struct call *call, const char *name, bool *out_value);
/* Canonical JSON of an object; a string is parsed as JSON. */
bool param_doc(struct call *call, const char *name, struct str *out_value);
/* Canonical JSON of any value, null included. */
bool param_value(struct call *call, const char *name, struct str *out_value);
/* ISO 8601, or milliseconds since 1970; null counts as not given. */
bool param_time(struct call *call, const char *name, int64_t *out_ms);
/* A whole number in these bounds, or a string of one. */
bool param_number(struct call *call, const char *name, int64_t least, int64_t most,
                  int64_t *out_value);
/* False after a problem if the parameter is absent; null counts as present. */
bool param_required(struct call *call, const char *name);

/* A reference to another object, by name or id, under either of two keys. */
struct param_ref {
    const char *name;
    const char *id_name;
    enum table table;
    bool can_be_null; /* null is accepted and becomes id 0 */
};

bool param_ref(struct call *call, const struct param_ref *ref, int64_t *out_id);
bool param_ref_required(struct call *call, const struct param_ref *ref, int64_t *out_id);
/* Like param_ref(); null counts as absent. */
void param_ref_unless_null(struct call *call, const struct param_ref *ref, int64_t *out_id);
