#include "turn/command_queue.h"

#include "base/mem/pages.h"
#include "turn/turn.h"

/* The queue of commands, and the commands that wait for replies of hooks (command_queue.h).
 *
 * This file owns the copies of the commands and their memory. Order: command_queue_begin()
 * exchanges the two generations only when every command of the draining one was taken, because
 * commands of the batch in progress point into its arena. Commands are therefore taken in order of
 * arrival.
 *
 * Failure: a full queue or table of pending commands refuses the new command (ERR_LIMIT, token 0)
 * and keeps the others. Nothing here is stored, so all of it is lost in a crash. */

/* ---- queue ---- */

void command_queue_fini(struct command_queue *in)
{
    arena_fini(&in->filling.arena);
    arena_fini(&in->draining.arena);
}

uint32_t command_queue_count(const struct command_queue *in)
{
    return in->filling.count + in->draining.count;
}

static void generation_append(struct generation *g, struct input *input)
{
    input->next = NULL;
    if (g->first)
        g->last->next = input;
    else
        g->first = input;
    g->last = input;
    g->count++;
}

err command_queue_put(struct command_queue *in, const struct command *command, uint32_t rounds)
{
    struct generation *g = &in->filling;
    if (g->count >= TURN_INPUTS_MAX || arena_used(&g->arena) >= TURN_INPUT_BYTES_MAX)
        return ERR_LIMIT;
    struct input *input = arena_new(&g->arena, struct input);
    input->command = command_copy(&g->arena, command);
    input->rounds = rounds;
    generation_append(g, input);
    return OK;
}

void command_queue_begin(struct command_queue *in)
{
    if (in->draining.count)
        return;
    struct generation drained = in->draining;
    in->draining = in->filling;
    arena_reset(&drained.arena);
    in->filling = (struct generation){.arena = drained.arena};
}

struct input *command_queue_take(struct command_queue *in)
{
    struct input *input = in->draining.first;
    if (!input)
        return NULL;
    in->draining.first = input->next;
    in->draining.count--;
    return input;
}

static void generation_drop_requests(struct generation *g,
                                     void (*visit)(void *self, int64_t request), void *self)
{
    struct input *input = g->first;
    g->first = g->last = NULL;
    g->count = 0;
    while (input) {
        struct input *next = input->next;
        if (input->command.request)
            visit(self, input->command.request);
        else
            generation_append(g, input);
        input = next;
    }
}

void command_queue_drop_requests(struct command_queue *in,
                                 void (*visit)(void *self, int64_t request), void *self)
{
    generation_drop_requests(&in->draining, visit, self);
    generation_drop_requests(&in->filling, visit, self);
}

/* ---- pending commands ---- */

void pending_init(struct pending_commands *p)
{
    *p = (struct pending_commands){.slots = sys_pages_get(sizeof *p->slots * TURN_PENDING_MAX)};
}

void pending_fini(struct pending_commands *p)
{
    for (uint32_t i = 0; i < TURN_PENDING_MAX; i++)
        arena_fini(&p->slots[i].arena);
    sys_pages_put(p->slots, sizeof *p->slots * TURN_PENDING_MAX);
    p->slots = NULL;
}

uint64_t pending_add(struct pending_commands *p, int64_t epoch, const struct input *input)
{
    if (p->count == TURN_PENDING_MAX)
        return 0;
    struct pending_command *slot = p->slots;
    while (slot->token)
        slot++;
    p->last++;
    p->count++;
    slot->token = (uint64_t)epoch << 32 | p->last;
    slot->input = (struct input){.command = command_copy(&slot->arena, &input->command),
                                 .rounds = input->rounds + 1};
    return slot->token;
}

struct pending_command *pending_find(struct pending_commands *p, uint64_t token)
{
    for (uint32_t i = 0; token && i < TURN_PENDING_MAX; i++)
        if (p->slots[i].token == token)
            return &p->slots[i];
    return NULL;
}

void pending_remove(struct pending_commands *p, struct pending_command *command)
{
    arena_fini(&command->arena);
    *command = (struct pending_command){0};
    p->count--;
}
