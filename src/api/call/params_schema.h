/* params_schema.h - which parameters a command takes, as tables.
 *
 * An intake says for each parameter what it is called, what kind of value it is, and where in the
 * command it goes. From it come the commands themselves, what a PATCH may change, and what the
 * description of the API says about bodies. Tables are constant and live for ever.
 */
#pragma once

#include <stddef.h>

#include "api/call/params.h"

enum param_kind {
    PARAM_TEXT,   /* text; null is an empty one                        */
    PARAM_BOOL,   /* bool                                              */
    PARAM_DOC,    /* canonical JSON of an object                       */
    PARAM_VALUE,  /* canonical JSON of anything                        */
    PARAM_UINT32, /* uint32                                            */
    PARAM_INT64,  /* int64, not negative                               */
    PARAM_TIME,   /* milliseconds since 1970; null counts as not given */
    PARAM_REF,    /* id of another object, by its name or id           */
    PARAM_WORD,   /* uint32: which of some words it is                 */
    PARAM_ACCESS, /* uint32: an enum access by its name              */
};

struct param_rule {
    const char *name; /* of a reference the one that takes names */
    enum param_kind kind;
    uint16_t at;        /* where in struct command               */
    uint32_t given;     /* the bit that says so, where there are */
    bool is_required;   /* null does not count                   */
    enum table to;      /* PARAM_REF                              */
    const char *id_key; /* PARAM_REF: the parameter that takes ids */
    bool can_be_null;   /* PARAM_REF: null is id 0                */
    /* PARAM_WORD; NULL behind the last. */
    const char *const *words;
    bool read_by_handler; /* goes into no command as it is: its handler reads it */
};

struct params_schema {
    enum command_kind kind;
    const struct param_rule *rules;
    uint32_t count;
    uint16_t given_at; /* of the mask; 0: the command has none */
    /* What the table cannot say; may be NULL. The command is filled by then. */
    void (*check)(struct call *call, struct command *command);
};

#define COMMAND_AT(member)    (uint16_t) offsetof(struct command, member)
#define PARAM_RULES(rows)     .rules = rows, .count = sizeof rows / sizeof *rows
#define GIVEN_MASK_AT(member) .given_at = COMMAND_AT(member.given)

/* Fill the command from the call's parameters; what is wrong becomes a problem of the call. The
 * payload of a command about an object that is there begins with its id: 0 when there is none. */
void params_schema_read(struct call *call, const struct params_schema *schema, int64_t id,
                        struct command *out_command);
/* May this key of the object be changed by it? */
bool params_schema_changes(const struct params_schema *schema, struct str key);
