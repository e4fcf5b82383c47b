/* json_object_writer.h - objects that no shape describes, written member by member.
 *
 * Keys that the caller did not ask for (x-return-attributes) are left out. It writes into a buffer
 * of the caller's and keeps nothing.
 */
#pragma once

#include "api/call/serialize.h"

struct members {
    struct buf *b;
    const struct json *wanted; /* NULL: every key */
    bool is_first;
};

/* "{"; `wanted` as in struct call, NULL inside of other objects. */
struct members members_open(struct buf *b, const struct json *wanted);
void members_close(struct members *m);

/* False: nobody wants it. Otherwise its value is written next. */
bool member_key(struct members *m, const char *key);
void member_number(struct members *m, const char *key, int64_t value);
void member_text(struct members *m, const char *key, struct str text);
void member_optional(struct members *m, const char *key, struct str text); /* "" is null */
void member_bool(struct members *m, const char *key, bool value);
void member_time(struct members *m, const char *key, int64_t ms); /* 0 is null */
void member_json(struct members *m, const char *key, struct str json);

/* What a thing is called, as people see it: the name of an object, `<deployment>: <node>: <role>`
 * of a noderole. Empty when it is gone, or things of its kind have no name. */
struct str object_name(const struct core *core, enum table table, int64_t id, struct arena *a);
/* What the API calls things of that kind. */
const char *object_noun(enum table table);
