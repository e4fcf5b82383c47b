/* json_object_writer.h - objects that no shape describes, written member by member.
 *
 * Keys that the caller did not ask for (x-return-attributes) are left out. It writes into a buffer
 * of the caller's and keeps nothing.
 */
#pragma once

#include "api/call/serialize.h"

struct object_writer {
    struct buf *b;
    const struct json *wanted; /* NULL: every key */
    bool is_first;
};

/* "{"; `wanted` as in struct call, NULL inside of other objects. */
struct object_writer object_writer_open(struct buf *b, const struct json *wanted);
void object_writer_close(struct object_writer *m);

/* False: nobody wants it. Otherwise its value is written next. */
bool object_put_key(struct object_writer *m, const char *key);
void object_put_number(struct object_writer *m, const char *key, int64_t value);
void object_put_text(struct object_writer *m, const char *key, struct str text);
void object_put_optional(struct object_writer *m, const char *key,
                         struct str text); /* "" is null */
void object_put_bool(struct object_writer *m, const char *key, bool value);
void object_put_time(struct object_writer *m, const char *key, int64_t ms); /* 0 is null */
void object_put_json(struct object_writer *m, const char *key, struct str json);

/* What a thing is called, as people see it: the name of an object, `<deployment>: <node>: <role>`
 * of a noderole. Empty when it is gone, or things of its kind have no name. */
struct str object_name(const struct core *core, enum table table, int64_t id, struct arena *a);
/* What the API calls things of that kind. */
const char *object_noun(enum table table);
