#include "turn/command_queue.h"

#include "base/mem/pages.h"
#include "turn/turn.h"

void command_queue_fini(struct command_queue *in)
{
    arena_fini(&in->filling.arena);
    arena_fini(&in->draining.arena);
}

uint32_t command_queue_count(const struct command_queue *in)
{
    return in->filling.count + in->draining.count;
}

static void append(struct generation *g, struct input *input)
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
    append(g, input);
    return OK;
}

void command_queue_begin(struct command_queue *in)
{
    if (in->draining.count)
        return;
    struct generation through = in->draining;
    in->draining = in->filling;
    arena_reset(&through.arena);
    in->filling = (struct generation){.arena = through.arena};
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

static void drop_requests(struct generation *g, void (*visit)(void *self, int64_t request),
                          void *self)
{
    struct input *input = g->first;
    g->first = g->last = NULL;
    g->count = 0;
    while (input) {
        struct input *next = input->next;
        if (input->command.request)
            visit(self, input->command.request);
        else
            append(g, input);
        input = next;
    }
}

void command_queue_drop_requests(struct command_queue *in,
                                 void (*visit)(void *self, int64_t request), void *self)
{
    drop_requests(&in->draining, visit, self);
    drop_requests(&in->filling, visit, self);
}

/* ---- parking ---- */

void parking_init(struct parking *p)
{
    *p = (struct parking){.places = sys_pages_get(sizeof *p->places * TURN_PARKED_MAX)};
}

void parking_fini(struct parking *p)
{
    for (uint32_t i = 0; i < TURN_PARKED_MAX; i++)
        arena_fini(&p->places[i].arena);
    sys_pages_put(p->places, sizeof *p->places * TURN_PARKED_MAX);
    p->places = NULL;
}

uint64_t parking_add(struct parking *p, int64_t epoch, const struct input *input)
{
    if (p->count == TURN_PARKED_MAX)
        return 0;
    struct parked *place = p->places;
    while (place->token)
        place++;
    p->last++;
    p->count++;
    place->token = (uint64_t)epoch << 32 | p->last;
    place->input = (struct input){.command = command_copy(&place->arena, &input->command),
                                  .rounds = input->rounds + 1};
    return place->token;
}

struct parked *parking_find(struct parking *p, uint64_t token)
{
    for (uint32_t i = 0; token && i < TURN_PARKED_MAX; i++)
        if (p->places[i].token == token)
            return &p->places[i];
    return NULL;
}

void parking_remove(struct parking *p, struct parked *parked)
{
    arena_fini(&parked->arena);
    *parked = (struct parked){0};
    p->count--;
}
