#include "daemon/later.h"

#include <stddef.h>

#include "base/str.h"
#include "model/command.h"
#include "turn/turn.h"

struct later_item {
    uint64_t token; /* 0: a command, otherwise answers */
    struct command command;
    struct answer *answers;
    uint32_t answer_count;
    struct later_item *next;
};

static struct later_item *add(struct later *l)
{
    struct later_item *item = arena_new(&l->arena, struct later_item);
    if (l->last)
        l->last->next = item;
    else
        l->first = item;
    l->last = item;
    return item;
}

static void add_done(struct later *l, const struct outbox_record *row, bool failed, struct str text)
{
    struct command *command = &add(l)->command;
    command->kind = COMMAND_OUTBOX_DONE;
    command->actor = STR("daemon");
    command->outbox_done.outbox_id = row->id;
    command->outbox_done.failed = failed;
    command->outbox_done.text = text;
}

/* ---- hooks ---- */

static struct str no_hooks(struct later *l, enum hook hook)
{
    return str_join2(&l->arena, STR("this build runs no hooks: "), str_from(hook_name(hook)));
}

static void deliver(void *self, const struct outbox_record *row)
{
    struct later *l = self;
    add_done(l, row, true, no_hooks(l, (enum hook)row->hook));
}

static void ask(void *self, uint64_t token, const struct hook_question *questions, uint32_t count)
{
    struct later *l = self;
    struct later_item *item = add(l);
    item->token = token;
    item->answer_count = count;
    item->answers = arena_array(&l->arena, struct answer, count);
    for (uint32_t i = 0; i < count; i++)
        item->answers[i] = (struct answer){
            .key = questions[i].key, .veto = true, .text = no_hooks(l, questions[i].hook)};
}

struct hooks_port later_hooks(struct later *l)
{
    return (struct hooks_port){.self = l, .deliver = deliver, .ask = ask};
}

/* ---- power ---- */

static void act(void *self, const struct outbox_record *row)
{
    add_done(self, row, true, STR("no hammer can do this yet"));
}

static void probe(void *self, const struct outbox_record *row)
{
    add_done(self, row, false, STR(""));
}

struct power_port later_power(struct later *l)
{
    return (struct power_port){.self = l, .act = act, .probe = probe};
}

/* ---- the turn takes them ---- */

static err hand_over(const struct later_item *item, struct turn *turn)
{
    if (item->token)
        return turn_answer(turn, item->token, item->answers, item->answer_count);
    return turn_submit(turn, &item->command);
}

/* What is refused for good is asked again after the next load, or by nobody. */
bool later_hand_over(struct later *l, struct turn *turn)
{
    bool any = false;
    while (l->first && hand_over(l->first, turn) != ERR_LIMIT) {
        any = true;
        l->first = l->first->next;
    }
    if (!l->first && l->last) {
        l->last = NULL;
        arena_reset(&l->arena);
    }
    return any;
}

void later_fini(struct later *l)
{
    arena_fini(&l->arena);
    *l = (struct later){0};
}
