/* hook_commands.h - what a hook wants done, until somebody who knows the names can say it in ids.
 *
 * A wish is a command some of whose ids are still names, because the thread of the hooks sees no
 * core. hook_commands_encode() runs in the loop's thread, looks the names up and writes the bytes
 * that OUTBOX_DONE carries. Texts live in the arena of whoever collects.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/buf.h"
#include "model/command.h"
#include "model/record.h"

#define WISHES_MAX      1000u      /* of one hook          */
#define WISHES_SIZE_MAX (4u << 20) /* of them all, encoded */

struct hook_command_name {
    enum table table;
    struct str name;
    uint16_t offset; /* of the id in the command's payload */
    bool maybe;      /* it may mean nothing by now: then the wish is vain, and forgotten */
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
    uint64_t size; /* about what they take in bytes */
};

/* Keep it. False when there are too many already, or they are too large. */
bool hook_commands_add(struct hook_commands *wishes, struct hook_command *wish);

/* The id behind a name; 0 = there is none. */
struct hook_command_finder {
    void *self;
    int64_t (*find)(void *self, enum table table, struct str name);
};

/* False when a name means nothing that had to mean something: *out_text says which. */
bool hook_commands_encode(const struct hook_commands *wishes, struct hook_command_finder finder,
                          struct buf *out, struct str *out_text);
