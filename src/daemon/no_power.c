#include "daemon/no_power.h"

#include <stddef.h>

#include "base/str.h"
#include "model/command.h"
#include "turn/turn.h"

struct power_answer {
    int64_t outbox_id;
    bool failed;
    struct power_answer *next;
};

static void add(struct no_power *p, const struct outbox_record *row, bool failed)
{
    struct power_answer *answer = arena_new(&p->arena, struct power_answer);
    *answer = (struct power_answer){.outbox_id = row->id, .failed = failed};
    if (p->last)
        p->last->next = answer;
    else
        p->first = answer;
    p->last = answer;
}

static void act(void *self, const struct outbox_record *row)
{
    add(self, row, true);
}

static void probe(void *self, const struct outbox_record *row)
{
    add(self, row, false);
}

struct power_port no_power_port(struct no_power *p)
{
    return (struct power_port){.self = p, .act = act, .probe = probe};
}

static err hand_over(const struct power_answer *answer, struct turn *turn)
{
    struct command command = {.kind = COMMAND_OUTBOX_DONE, .actor = STR("daemon")};
    command.outbox_done.outbox_id = answer->outbox_id;
    command.outbox_done.failed = answer->failed;
    command.outbox_done.text = answer->failed ? STR("no hammer can do this yet") : STR("");
    return turn_submit(turn, &command);
}

/* What is refused for good is ordered again after the next load. */
bool no_power_pump(struct no_power *p, struct turn *turn)
{
    bool any = false;
    while (p->first && hand_over(p->first, turn) != ERR_LIMIT) {
        any = true;
        p->first = p->first->next;
    }
    if (!p->first && p->last) {
        p->last = NULL;
        arena_reset(&p->arena);
    }
    return any;
}

void no_power_fini(struct no_power *p)
{
    arena_fini(&p->arena);
    *p = (struct no_power){0};
}
