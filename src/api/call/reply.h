/* reply.h - construction of replies: object, list, message, error.
 *
 * Each function stores a complete reply in the call and replaces an earlier one. Strings are
 * allocated in the arena of the call.
 */
#pragma once

#include "api/call/call.h"

struct object_view;

/* {"message","status","code","field"?}; `field` may be empty. */
void reply_error(struct call *call, int status, const char *code, struct str message);
void reply_problems(struct call *call, const struct problem *problems);
/* Maps an err of a lower layer to status and message. */
void reply_failure(struct call *call, err why);
/* 503 `limit`: replies that other clients do not read use all memory for replies. */
void reply_full(struct call *call);
/* 409 `limit_reached`: the reply would use more memory than a request may. */
void reply_too_large(struct call *call);
/* 401 with the challenges of digest and Basic. */
void reply_unauthorized(struct call *call, const char *message);
/* 401 with stale=true: the client may answer the new nonce without asking its user. */
void reply_stale(struct call *call);
/* 429: too many failed logins; Retry-After has the rest of the lockout. */
void reply_locked_out(struct call *call, int64_t left_ms);

/* A JSON document; type ("node", ...) and form ("obj", "list", ...) are part of the content type.
 */
void reply_json(struct call *call, const char *type, const char *form, struct str body);
/* A document as an object of that type, reduced to the requested members. */
void reply_doc(struct call *call, const char *type, struct str doc);
void reply_text(struct call *call, int status, struct str text);
/* 200 {"message": text}, form empty. */
void reply_message(struct call *call, const char *type, struct str text);
/* The fields of the view that the request wants, as bits. */
uint64_t reply_mask(const struct call *call, const struct object_view *view);
void reply_record(struct call *call, const struct object_view *view, const struct record *record);

void reply_header(struct call *call, const char *name, struct str value);
