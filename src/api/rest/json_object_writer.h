/* json_object_writer.h - JSON objects that no view describes, written member by member.
 *
 * Keys that the client did not request (x-return-attributes) are left out. It writes into a buffer
 * of the caller and keeps no state beyond the object.
 */
#pragma once

#include "api/call/serialize.h"

struct object_writer {
    struct buf *b;
    const struct json *wanted; /* NULL: every key */
    bool is_first;
};

/* Writes "{". `wanted` is as in struct call; NULL inside of other objects. */
struct object_writer object_writer_open(struct buf *b, const struct json *wanted);
void object_writer_close(struct object_writer *m);

/* Writes the key; the caller then writes the value. False: the key is not requested. */
bool object_put_key(struct object_writer *m, const char *key);
void object_put_number(struct object_writer *m, const char *key, int64_t value);
void object_put_count(struct object_writer *m, const char *key, int64_t value); /* 0 is null */
void object_put_text(struct object_writer *m, const char *key, struct str text);
void object_put_optional(struct object_writer *m, const char *key,
                         struct str text); /* "" is null */
void object_put_bool(struct object_writer *m, const char *key, bool value);
void object_put_time(struct object_writer *m, const char *key, int64_t ms); /* 0 is null */
void object_put_json(struct object_writer *m, const char *key, struct str json);

/* The name of a node, role, deployment, attrib or name filter; `<deployment>: <node>: <role>` of a
 * noderole. Empty if the object does not exist, or for any other table. */
struct str object_name(const struct core *core, enum table table, int64_t id, struct arena *a);
/* The name of the table in the API. */
const char *object_noun(enum table table);
