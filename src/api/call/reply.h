/* reply.h - the forms an answer can have: object, list, empty, error.
 *
 * Each function leaves a whole reply in the call, replacing whatever was there.
 */
#pragma once

#include "api/call/call.h"

struct object_view;

/* {"message","status","code","field"?}; `field` may be empty. */
void reply_error(struct call *call, int status, const char *code, struct str message);
void reply_problems(struct call *call, const struct problem *problems);
/* What an err from below means to the one who asked. */
void reply_failure(struct call *call, err why);
/* 503 `limit`: the answers of other requests, which their clients do not read, take all memory that
 * answers may take. */
void reply_full(struct call *call);
/* 409 `limit_reached`: the answer would take more memory than a request may. */
void reply_too_large(struct call *call);
/* 401 with the challenges of digest and Basic. */
void reply_unauthorized(struct call *call, const char *message);
/* The same, and the client may answer again without asking its user. */
void reply_stale(struct call *call);
/* 429: whoever guessed too often waits. */
void reply_locked_out(struct call *call, int64_t left_ms);

/* JSON text in that form ("obj", "list", ...) of that type ("node", ...). */
void reply_json(struct call *call, const char *type, const char *form, struct str body);
/* A whole document as an object of that type; only its wanted members. */
void reply_doc(struct call *call, const char *type, struct str doc);
void reply_text(struct call *call, int status, struct str text);
/* 200 {"message": text}, form empty. */
void reply_message(struct call *call, const char *type, struct str text);
/* The fields that this answer shows. */
uint64_t reply_mask(const struct call *call, const struct object_view *shape);
void reply_record(struct call *call, const struct object_view *shape, const struct record *record);

void reply_header(struct call *call, const char *name, struct str value);
