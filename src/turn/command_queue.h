/* command_queue.h - commands that wait for their turn, and commands that wait for hooks.
 *
 * The queue keeps two generations: one is filled while the other is drained, so the memory of a
 * command that is being worked on stays in place whatever comes in. Parked commands have a small
 * arena each, because nobody knows when their answers come.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "model/command.h"

struct input {
    struct command command;
    uint32_t rounds; /* how often hooks were asked about it */
    struct input *next;
};

struct generation {
    struct arena arena;
    struct input *first; /* that was not taken yet */
    struct input *last;
    uint32_t count; /* from `first` on */
};

struct command_queue {
    struct generation filling;
    struct generation draining;
};

void command_queue_fini(struct command_queue *in);
/* Queue a copy. ERR_LIMIT when too much waits. */
NODISCARD err command_queue_put(struct command_queue *in, const struct command *command,
                                uint32_t rounds);
/* Begin a batch: nothing that was taken before is looked at any more. */
void command_queue_begin(struct command_queue *in);
/* The next one, in the order they came; NULL when this generation is through. It stays in place
 * until the next command_queue_begin. */
struct input *command_queue_take(struct command_queue *in);
uint32_t command_queue_count(const struct command_queue *in);
/* Take out every command that somebody waits for, telling `visit` who; leave the others. */
void command_queue_drop_requests(struct command_queue *in,
                                 void (*visit)(void *self, int64_t request), void *self);

struct parked {
    uint64_t token; /* 0 = the place is free */
    struct input input;
    struct arena arena;
};

struct parking {
    struct parked *places; /* TURN_PARKED_MAX of them */
    uint32_t count;
    uint32_t last; /* low half of the last token */
};

void parking_init(struct parking *p);
void parking_fini(struct parking *p);
/* Keep a copy of `input`, one round on. 0 when every place is taken. Tokens differ between epochs,
 * so an answer to somebody who died is not taken for an answer to us. */
uint64_t parking_add(struct parking *p, int64_t epoch, const struct input *input);
struct parked *parking_find(struct parking *p, uint64_t token);
void parking_remove(struct parking *p, struct parked *parked);
