/* command_queue.h - commands that wait for their turn, and commands that wait for hooks.
 *
 * The queue keeps two generations: one is filled while the other is drained, so the memory of a
 * command that is being worked on stays in place whatever comes in. Parked commands have a small
 * arena each, because nobody knows when their answers come.
 */
#pragma once

#include <stdint.h>

#include "base/mem/arena.h"
#include "base/err.h"
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

struct inputs {
    struct generation filling;
    struct generation draining;
};

void inputs_fini(struct inputs *in);
/* Queue a copy. ERR_LIMIT when too much waits. */
NODISCARD err inputs_put(struct inputs *in, const struct command *command, uint32_t rounds);
/* Begin a batch: nothing that was taken before is looked at any more. */
void inputs_begin(struct inputs *in);
/* The next one, in the order they came; NULL when this generation is through. It stays in place
 * until the next inputs_begin. */
struct input *inputs_take(struct inputs *in);
uint32_t inputs_count(const struct inputs *in);
/* Take out every command that somebody waits for, telling `visit` who; leave the others. */
void inputs_drop_requests(struct inputs *in, void (*visit)(void *self, int64_t request),
                          void *self);

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
