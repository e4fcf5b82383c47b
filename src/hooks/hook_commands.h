/* hook_commands.h - the commands that a hook requests, before their names are resolved to ids.
 *
 * A hook command is a command in which some ids are still names, because the worker thread has no
 * access to the core. hook_commands_encode() runs in the thread of the loop, resolves the names and
 * writes the bytes that OUTBOX_DONE carries. Strings belong to the arena of the caller. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/buf.h"
#include "model/command.h"
#include "model/record.h"

#define HOOK_COMMANDS_MAX      1000u      /* per call */
#define HOOK_COMMANDS_SIZE_MAX (4u << 20) /* bytes of all of them, encoded */

struct hook_command_name {
    enum table table;
    struct str name;
    uint16_t offset; /* of the id in the payload of the command */
    bool maybe;      /* if the object does not exist, the command is dropped instead of refused */
};

struct hook_command {
    struct command command;
    struct hook_command_name names[3];
    uint32_t name_count;
    struct hook_command *next;
};

struct hook_commands {
    struct hook_command *first;
    struct hook_command *last;
    uint32_t count;
    uint64_t size; /* approximate bytes */
};

/* Append a command. False if there are too many, or they are too large. */
bool hook_commands_add(struct hook_commands *commands, struct hook_command *command_request);

/* The id of a name; 0: none. */
struct hook_command_finder {
    void *self;
    int64_t (*find)(void *self, enum table table, struct str name);
};

/* False if a required name does not exist: *out_text states which. */
bool hook_commands_encode(const struct hook_commands *commands, struct hook_command_finder finder,
                          struct buf *out, struct str *out_text);
