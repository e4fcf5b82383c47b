#include "core/core_private.h"

#include "base/json/json.h"

/* Many commands as one: all of them count, or none. The step that surrounds them takes everything
 * back when one is refused, and asks what any of them has to ask; so the answers come once, for all
 * of them. Those behind a refused one are stepped all the same, for whoever asked wants to hear
 * everything that is wrong, not the first thing. */

void core_watch_parts(struct core *c, const struct part_watch *watch)
{
    c->part_watch = watch;
}

/* ---- what a part said is the whole's to say ---- */

static struct str numbered(struct core *c, uint32_t index, struct str field)
{
    return field.len ? STR_CONCAT(c->arena, str_from_i64(c->arena, index), STR("."), field)
                     : str_from_i64(c->arena, index);
}

static void take_problems(struct core *c, uint32_t index, const struct outcome *part)
{
    for (const struct problem *p = part->problems; p; p = p->next)
        refuse(c, p->code, numbered(c, index, p->field), p->text);
}

static void take_asks(struct core *c, const struct outcome *part)
{
    if (!part->asks)
        return;
    *(c->last_ask ? &c->last_ask->next : &c->out->asks) = part->asks;
    c->out->ask_count += part->ask_count;
    struct ask *last = part->asks;
    while (last->next)
        last = last->next;
    c->last_ask = last;
}

/* ---- one part ---- */

/* As if whoever gave the batch had given it alone. */
static void adopt(const struct core *c, struct command *part)
{
    const struct command *whole = c->command;
    part->request = 0;
    part->actor = whole->actor;
    part->address = whole->address;
    part->by = whole->by;
    part->now_ms = c->now_ms;
    part->mono_ms = c->mono_ms;
    part->wall_ms = c->wall_ms;
    part->nonce[0] = whole->nonce[0];
    part->nonce[1] = whole->nonce[1];
    part->depth = whole->depth;
    part->answers = NULL;
    part->answer_count = 0;
}

static int64_t step_part(struct core *c, uint32_t index, struct command *part)
{
    struct outcome out;
    adopt(c, part);
    if (!command_is_for_batch(part->kind)) {
        refuse(c, PROBLEM_BAD_VALUE, numbered(c, index, STR("")),
               STR_CONCAT(c->arena, str_from(command_name(part->kind)),
                          STR(" cannot be part of a batch")));
        return 0;
    }
    const struct part_watch *watch = c->part_watch;
    if (watch && watch->before)
        watch->before(watch->self, part);
    core_step_part(c, part, &out);
    if (watch)
        watch->after(watch->self, part, &out);
    take_problems(c, index, &out);
    take_asks(c, &out);
    return out.id;
}

/* ---- all of them ---- */

static bool may_go_on(struct core *c, uint32_t index, size_t before)
{
    if (index >= PARTS_MAX)
        return refuse(c, PROBLEM_LIMIT_REACHED, STR("commands"),
                      STR_CONCAT(c->arena, STR("a batch holds at most "),
                                 str_from_i64(c->arena, PARTS_MAX), STR(" commands")));
    if (arena_used(c->arena) - before > PARTS_WORK_MAX)
        return refuse(c, PROBLEM_LIMIT_REACHED, STR("commands"),
                      STR("a batch cannot change so much at once; split it"));
    return true;
}

void do_batch(struct core *c, const struct batch_command *p)
{
    const size_t before = arena_used(c->arena);
    struct json *ids = json_make(c->arena, JSON_ARRAY);
    int64_t first = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; at < p->commands.len && may_go_on(c, i, before); i++) {
        struct command part;
        if (command_decode(c->arena, p->commands, &at, &part) != OK) {
            refuse(c, PROBLEM_BAD_VALUE, STR("commands"), STR("the commands cannot be read"));
            break;
        }
        const int64_t id = step_part(c, i, &part);
        json_append(ids, json_make_i64(c->arena, id));
        if (i == 0)
            first = id;
    }
    c->out->id = first;
    c->out->doc = json_write(c->arena, ids);
}
