/* command_queue.h - commands that wait to be stepped, and commands that wait for hooks.
 *
 * The queue has two generations with an arena each: one is filled while the other is drained, so
 * the memory of a command that is being stepped stays valid while new ones arrive, and is freed as
 * a whole. A pending command waits for the replies to its veto requests; it has an arena of its
 * own, because the time of the replies is unknown. Nothing here is stored: after a crash, clients
 * send their commands again.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "model/command.h"

struct input {
    struct command command;
    uint32_t rounds; /* how often veto requests were sent for it */
    struct input *next;
};

struct generation {
    struct arena arena;
    struct input *first; /* the next one to take */
    struct input *last;
    uint32_t count; /* inputs that have not been taken */
};

struct command_queue {
    struct generation filling;
    struct generation draining;
};

void command_queue_fini(struct command_queue *in);
/* Queue a copy. ERR_LIMIT if the queue is full. */
NODISCARD err command_queue_put(struct command_queue *in, const struct command *command,
                                uint32_t rounds);
/* Begin a batch: if all commands of the draining generation were taken, free it and drain the other
 * one. Inputs that were taken before are invalid afterwards. */
void command_queue_begin(struct command_queue *in);
/* The next command in order of arrival; NULL at the end of this generation. It is valid until the
 * next command_queue_begin(). */
struct input *command_queue_take(struct command_queue *in);
uint32_t command_queue_count(const struct command_queue *in);
/* Remove every command with a request id and pass that id to `visit`; keep the others. */
void command_queue_drop_requests(struct command_queue *in,
                                 void (*visit)(void *self, int64_t request), void *self);

struct pending_command {
    uint64_t token; /* names it in hooks_port.ask(); 0 = the slot is free */
    struct input input;
    struct arena arena;
};

struct pending_commands {
    struct pending_command *slots; /* TURN_PENDING_MAX slots */
    uint32_t count;
    uint32_t last; /* low 32 bits of the last token */
};

void pending_init(struct pending_commands *p);
void pending_fini(struct pending_commands *p);
/* Store a copy of `input` with its number of rounds incremented and return its token; 0 if all
 * slots are used. A token contains the epoch, so a reply to a request of an earlier daemon process
 * matches no command of this one. */
uint64_t pending_add(struct pending_commands *p, int64_t epoch, const struct input *input);
struct pending_command *pending_find(struct pending_commands *p, uint64_t token);
void pending_remove(struct pending_commands *p, struct pending_command *command);
