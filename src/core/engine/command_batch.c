#include "core/core_private.h"

#include "base/json/json.h"

/* COMMAND_BATCH: several commands that are executed all or not at all (ADR 0050).
 *
 * Every part is a step inside the step of the batch. The problems of a part become problems of the
 * batch, with the number of the part in their field; its veto requests become veto requests of the
 * batch, so hooks reply once for all parts. The enclosing step rolls everything back if one part is
 * refused or needs replies. Parts after a refused one are executed nevertheless, so that the client
 * learns all problems at once; a refused part itself is rolled back, so later ones do not see it.
 * */

void core_watch_parts(struct core *c, const struct part_watch *watch)
{
    c->part_watch = watch;
}

/* ---- one part ---- */

static struct str batch_field_name(struct core *c, uint32_t index, struct str field)
{
    return field.len ? STR_CONCAT(c->arena, str_from_i64(c->arena, index), STR("."), field)
                     : str_from_i64(c->arena, index);
}

/* Execute the part on behalf of the caller of the batch, at the time of the batch. */
static void batch_inherit(const struct core *c, struct command *part)
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
    part->veto_replies = NULL;
    part->veto_reply_count = 0;
}

static int64_t batch_step_part(struct core *c, uint32_t index, struct command *part)
{
    struct outcome out;
    batch_inherit(c, part);
    if (!command_is_for_batch(part->kind)) {
        refuse(c, PROBLEM_BAD_VALUE, batch_field_name(c, index, STR("")),
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
    /* Its problems and veto requests become those of the batch. */
    for (const struct problem *p = out.problems; p; p = p->next)
        refuse(c, p->code, batch_field_name(c, index, p->field), p->text);
    if (out.veto_calls) {
        *(c->last_veto_call ? &c->last_veto_call->next : &c->out->veto_calls) = out.veto_calls;
        c->out->veto_call_count += out.veto_call_count;
        c->last_veto_call = out.veto_calls;
        while (c->last_veto_call->next)
            c->last_veto_call = c->last_veto_call->next;
    }
    return out.id;
}

/* ---- the batch ---- */

/* Bounds the number of parts and the memory of the step; `before` is the size of the arena at its
 * beginning, in bytes. */
static bool batch_is_within_limits(struct core *c, uint32_t index, size_t before)
{
    if (index >= PARTS_MAX)
        return refuse(c, PROBLEM_LIMIT_REACHED, STR("commands"),
                      STR_CONCAT(c->arena, STR("a batch holds at most "),
                                 str_from_i64(c->arena, PARTS_MAX), STR(" commands")));
    if (arena_used(c->arena) - before > PARTS_WORK_MAX)
        return refuse(c, PROBLEM_LIMIT_REACHED, STR("commands"),
                      STR("the batch changes too much at once; split it into smaller ones"));
    return true;
}

void do_batch(struct core *c, const struct batch_command *p)
{
    const size_t before = arena_used(c->arena);
    struct json *ids = json_make(c->arena, JSON_ARRAY);
    int64_t first = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; at < p->commands.len && batch_is_within_limits(c, i, before); i++) {
        struct command part;
        if (command_decode(c->arena, p->commands, &at, &part) != OK) {
            refuse(c, PROBLEM_BAD_VALUE, STR("commands"), STR("the commands cannot be decoded"));
            break;
        }
        const int64_t id = batch_step_part(c, i, &part);
        json_append(ids, json_make_i64(c->arena, id));
        if (i == 0)
            first = id;
    }
    c->out->id = first;
    c->out->doc = json_write(c->arena, ids);
}
