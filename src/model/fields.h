/* fields.h - structs that describe themselves.
 *
 * Records (record.h) and command payloads (command.h) are plain structs written as lists of
 * fields. From one list come the struct, its description, its bytes on the wire and in the
 * simulated store, its hash, and later its columns. Six kinds of field are enough.
 *
 * Bytes: a varint mask of the fields that are not zero, then those fields in order. Unknown bits
 * are refused, so a newer writer is noticed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/buf.h"
#include "base/text/str.h"

enum field_kind {
    FIELD_I64,  /* int64_t: ids, times, counts                                */
    FIELD_U32,  /* uint32_t: states, masks, small numbers                     */
    FIELD_BOOL, /* bool                                                       */
    FIELD_TEXT, /* struct str: clean UTF-8                                    */
    FIELD_DOC,  /* struct str: canonical JSON; empty stands for {} (or null)  */
    FIELD_RAW,  /* struct str: bytes, looked into by nobody but their reader  */
};

typedef int64_t field_I64;
typedef uint32_t field_U32;
typedef bool field_BOOL;
typedef struct str field_TEXT;
typedef struct str field_DOC;
typedef struct str field_RAW;

struct field {
    const char *name;
    enum field_kind kind;
    uint16_t offset;
};

struct layout {
    const char *name;
    const struct field *fields;
    uint16_t count; /* at most 64 */
    uint16_t size;  /* of the struct */
};

/* In a list of fields F(KIND, name): the member, and its description. */
#define FIELD_MEMBER(kind, name) field_##kind name;
#define FIELD_DESCRIBE(kind, member)                                                               \
    {#member, FIELD_##kind, (uint16_t)offsetof(FIELD_OWNER, member)},

/* Append the bytes of `object` to `out`. */
void fields_encode(const struct layout *layout, const void *object, struct buf *out);

/* Read what fields_encode wrote from `bytes` at `*at`. Texts point into `bytes`. ERR_CORRUPT when
 * it does not read, whatever the bytes are; `*at` moves only on success, and what is left in the
 * object otherwise means nothing. Each object has one encoding: others are not read. */
NODISCARD err fields_decode(const struct layout *layout, struct str bytes, uint32_t *at,
                            void *out_object);

/* The same field values? */
bool fields_eq(const struct layout *layout, const void *a, const void *b);

/* The object with every text copied into the arena. */
void fields_copy(struct arena *arena, const struct layout *layout, const void *from, void *to);
