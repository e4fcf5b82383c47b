/* fields.h - structs with a description of their fields.
 *
 * Records (record.h) and command payloads (command.h) are plain structs, each defined by an X-macro
 * list of fields (ADR 0005). The list generates the struct, its description, its encoding, its hash
 * and its columns in the store. There are six kinds of field.
 *
 * Encoding: a varint mask of the fields that are not zero, then those fields in order. Unknown bits
 * are refused, so that data of a newer version is detected instead of read wrongly.
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
    FIELD_DOC,  /* struct str: canonical JSON; empty means {} (or null)       */
    FIELD_RAW,  /* struct str: opaque bytes, not checked here                 */
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

/* Decode the output of fields_encode from `bytes` at `*at`. Strings point into `bytes`. Returns
 * ERR_CORRUPT for any other input; `*at` advances on success only, and the object is undefined on
 * failure. Each object has exactly one encoding; others are ERR_CORRUPT. */
NODISCARD err fields_decode(const struct layout *layout, struct str bytes, uint32_t *at,
                            void *out_object);

/* True if all fields are equal. */
bool fields_eq(const struct layout *layout, const void *a, const void *b);

/* Copy the object, with every string copied into the arena. */
void fields_copy(struct arena *arena, const struct layout *layout, const void *from, void *to);
