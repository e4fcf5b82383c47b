/* params_schema.h - the parameters of commands, as tables.
 *
 * A schema lists for each parameter its name, the type of its value, and the offset in struct
 * command where the value is stored. Commands are filled from it, PATCH derives from it what may be
 * changed, and the OpenAPI document describes bodies with it. Tables are constant.
 */
#pragma once

#include <stddef.h>

#include "api/call/params.h"

enum param_kind {
    PARAM_TEXT,   /* string; null is empty */
    PARAM_BOOL,   /* bool */
    PARAM_DOC,    /* canonical JSON of an object */
    PARAM_VALUE,  /* canonical JSON of anything */
    PARAM_UINT32, /* uint32 */
    PARAM_INT64,  /* int64, not negative */
    PARAM_SIGNED, /* int64 */
    PARAM_TIME,   /* milliseconds since 1970; null counts as not given */
    PARAM_REF,    /* id of another object, by its name or id */
    PARAM_WORD,   /* uint32: index in a list of words */
    PARAM_ACCESS, /* uint32: enum access by its name */
};

struct param_rule {
    const char *name; /* of a reference: the parameter with the name */
    enum param_kind kind;
    uint16_t at;        /* offset in struct command */
    uint32_t given;     /* bit in the mask of present fields; 0: none */
    bool is_required;   /* null does not satisfy it */
    enum table to;      /* PARAM_REF */
    const char *id_key; /* PARAM_REF: the parameter that takes ids */
    bool can_be_null;   /* PARAM_REF: null is id 0 */
    /* PARAM_WORD: the words, NULL at the end. */
    const char *const *words;
    bool read_by_handler; /* not stored in the command; the handler reads it */
    uint32_t null_bit;    /* null is not read, but sets this bit in the mask of nulls; 0: none */
};

struct params_schema {
    enum command_kind kind;
    const struct param_rule *rules;
    uint32_t count;
    uint16_t given_at;    /* offset of the mask of present fields; 0: the command has none */
    uint16_t nulls_at;    /* offset of the mask of fields that are null; 0: the command has none */
    uint32_t nulls_given; /* bit in the mask of present fields if that mask is not 0 */
    /* Checks beyond the table, after the command is filled; may be NULL. */
    void (*check)(struct call *call, struct command *command);
};

#define COMMAND_AT(member)    (uint16_t) offsetof(struct command, member)
#define PARAM_RULES(rows)     .rules = rows, .count = sizeof rows / sizeof *rows
#define GIVEN_MASK_AT(member) .given_at = COMMAND_AT(member.given)

/* Fills the command from the parameters of the call; invalid values become problems of the call.
 * `id` is stored as the first field of the payload, the id of the object; 0: the command creates
 * one. */
void params_schema_read(struct call *call, const struct params_schema *schema, int64_t id,
                        struct command *out_command);
/* Does the schema accept changes of this key of an object? */
bool params_schema_changes(const struct params_schema *schema, struct str key);
