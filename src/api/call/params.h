/* params.h - what a request gives, whichever way it says it.
 *
 * JSON bodies, form-encoded bodies and the query are equivalent; the body wins over the query, and
 * what is wrapped in the object's type ({"node":{...}}) over what stands beside it. Everything
 * ends as one JSON object in the call. Of a key that is repeated in one JSON object the last value
 * counts, which is logged, unless strict handling is asked for. The getters look a parameter up,
 * accept its type or the text of it, and turn anything else into a problem that names the
 * parameter.
 */
#pragma once

#include "api/call/call.h"

/* False when it does not read; the reply is made then. `type` may wrap the parameters. */
bool params_read(struct call *call, const char *type);
/* Does the client ask to be refused, where old clients are not, for what it may not have meant:
 * repeated keys, fields that are ignored (RFC 7240, handling=strict)? */
bool params_are_strict(const struct call *call);
/* Is the body a JSON array? Then this reads it; NULL when it does not, and the reply is made. */
bool params_are_many(struct call *call);
struct json *params_read_many(struct call *call);
/* The body alone, as JSON of any kind; NULL when it does not read, and the reply is made. */
struct json *params_read_operations(struct call *call);

/* Each getter: true when it was given and is right. Wrong ones become problems. A text or a
 * document that is null counts as an empty one. */
bool param_text(struct call *call, const char *name, struct str *out_value);
bool param_bool(struct call *call, const char *name, bool *out_value);
/* Canonical JSON of an object; a text is read as JSON. */
bool param_doc(struct call *call, const char *name, struct str *out_value);
/* Canonical JSON of whatever it is, null included. */
bool param_value(struct call *call, const char *name, struct str *out_value);
/* ISO 8601, or milliseconds since 1970; null counts as not given. */
bool param_time(struct call *call, const char *name, int64_t *out_ms);
/* A whole number in these bounds, or the text of one. */
bool param_number(struct call *call, const char *name, int64_t least, int64_t most,
                  int64_t *out_value);
/* False after a problem when it is absent; null is there, and up to the getter. */
bool param_required(struct call *call, const char *name);

/* A reference to another object, by name or id, under either key. */
struct param_ref {
    const char *name;
    const char *id_name;
    enum table table;
    bool can_be_null; /* null is id 0 */
};

bool param_ref(struct call *call, const struct param_ref *ref, int64_t *out_id);
bool param_ref_required(struct call *call, const struct param_ref *ref, int64_t *out_id);
/* A null reference counts as none. */
void param_ref_unless_null(struct call *call, const struct param_ref *ref, int64_t *out_id);
