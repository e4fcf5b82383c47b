#include "sim/world/actors.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "sim/oracle/checks.h"
#include "sim/scenario/transcript.h"

/* The simulated Lua code of roles. A hook result may be late, arrive twice, be a failure, or
 * contain commands (hook commands) that change random objects while other work is in progress.
 * Veto requests are mostly accepted. Hooks about one object return their results in the order of
 * the calls, as the real module guarantees. */

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };

/* ---- hook commands ---- */

static int64_t hooks_sim_pick(struct world *w, enum table table)
{
    const struct core *core = world_core(w);
    const uint32_t count = core ? core_count(core, table) : 0;
    if (!count)
        return 0;
    int64_t id = core_next_id(core, table, 0);
    for (uint64_t i = prng_below(&w->rng, count); i > 0; i--)
        id = core_next_id(core, table, id);
    return id;
}

static struct command hooks_sim_make_attrib(struct world *w, const struct outbox_record *row)
{
    struct command command = {.kind = COMMAND_ATTRIB_SET, .actor = STR("hook")};
    struct attrib_set_command *set = &command.attrib_set;
    set->attrib_id = hooks_sim_pick(w, TABLE_ATTRIB);
    set->bucket = prng_chance(&w->rng, 700) ? BUCKET_SYSTEM : BUCKET_WALL;
    struct buf value = buf_in(&w->arena);
    buf_put_u64(&value, prng_below(&w->rng, 5));
    set->value = buf_str(&value);
    set->target = row->object == TABLE_NODE ? TABLE_NODE : TABLE_NODEROLE;
    set->id = row->object == TABLE_NODE || row->object == TABLE_NODEROLE
                  ? row->object_id
                  : hooks_sim_pick(w, TABLE_NODEROLE);
    return command;
}

static struct command hooks_sim_make_bootenv(struct world *w)
{
    static const char *const environments[] = {"local", "sledgehammer", "debian-install"};
    struct command command = {.kind = COMMAND_NODE_UPDATE, .actor = STR("hook")};
    command.node_update.id = hooks_sim_pick(w, TABLE_NODE);
    command.node_update.given = GIVEN_NODE_BOOTENV;
    command.node_update.bootenv = str_from(environments[prng_below(&w->rng, 3)]);
    return command;
}

static struct command hooks_sim_make_enqueue(struct world *w)
{
    struct command command = {.kind = COMMAND_NODEROLE_ENQUEUE, .actor = STR("hook")};
    command.noderole_enqueue.id = hooks_sim_pick(w, TABLE_NODEROLE);
    return command;
}

static struct command hooks_sim_make_bind(struct world *w)
{
    struct command command = {.kind = COMMAND_NODEROLE_BIND, .actor = STR("hook")};
    command.noderole_bind.node_id = hooks_sim_pick(w, TABLE_NODE);
    command.noderole_bind.role_id = hooks_sim_pick(w, TABLE_ROLE);
    return command;
}

static struct str hooks_sim_draw_commands(struct world *w, const struct outbox_record *row)
{
    struct buf b = buf_in(&w->arena);
    const bool bad = world_fault(w, FAULT_HOOK_BAD_WISH);
    if (!bad && !world_fault(w, FAULT_HOOK_WISHES))
        return (struct str){0};
    for (uint64_t i = prng_below(&w->rng, 3) + 1; i > 0; i--) {
        const uint64_t which = prng_below(&w->rng, 10);
        const struct command command = which < 4   ? hooks_sim_make_attrib(w, row)
                                       : which < 6 ? hooks_sim_make_enqueue(w)
                                       : which < 9 ? hooks_sim_make_bootenv(w)
                                                   : hooks_sim_make_bind(w);
        command_encode(&command, &b);
    }
    if (bad) {
        struct command command = {.kind = COMMAND_NODEROLE_RETRY, .actor = STR("hook")};
        command.noderole_retry.id = 999999;
        command_encode(&command, &b);
    }
    return buf_str(&b);
}

/* The data that a role computes: random for sysdata, constant per role for the template, because a
 * template that changes with every call would cause reruns forever. */
static struct str hooks_sim_draw_computed(struct world *w, const struct outbox_record *row)
{
    static const char *const documents[] = {
        "{}", "{\"app\":{\"seen\":1}}", "{\"app\":{\"seen\":2,\"wish\":3}}",
        "{\"service\":{\"address\":\"10.0.0.5\"}}", "{\"service\":{\"address\":\"10.0.0.6\"}}"};
    const uint64_t which =
        row->hook == HOOK_TEMPLATE ? (uint64_t)row->role_id : prng_below(&w->rng, 5);
    const struct str value = str_from(documents[which % 5]);
    struct buf b = buf_in(&w->arena);
    struct command command = {.kind = COMMAND_NODEROLE_COMPUTED, .actor = STR("hook")};
    if (row->hook == HOOK_TEMPLATE) {
        command.kind = COMMAND_ROLE_UPDATE;
        command.role_update.id = row->role_id;
        command.role_update.given = GIVEN_ROLE_TEMPLATE | GIVEN_ROLE_COMPUTED;
        command.role_update.template = value;
    } else {
        command.noderole_computed.id = row->object_id;
        command.noderole_computed.data = value;
    }
    command_encode(&command, &b);
    return buf_str(&b);
}

/* ---- hook calls ---- */

/* The delay of a result, extended so that it arrives after the previous one of the same queue. */
static int64_t hooks_sim_ordered_delay(struct world *w, const struct outbox_record *row,
                                       int64_t delay_ms)
{
    int64_t *last = &w->hook_ms[(row->object * 31 + (uint64_t)row->object_id) % HOOK_QUEUES];
    int64_t at_ms = w->mono_ms + delay_ms;
    if (at_ms <= *last)
        at_ms = *last + 1;
    *last = at_ms;
    return at_ms - w->mono_ms;
}

static void hooks_sim_deliver(void *self, const struct outbox_record *row)
{
    struct world *w = self;
    transcript_effect(w->transcript, hook_name((enum hook)row->hook), row->id, row->object_id,
                      row->detail);
    if (!durability_oracle_has_outbox(&w->checks->ledger, row->id))
        world_fail(w, "I5: hook row %lld is delivered before it is durable", (long long)row->id);
    struct command command = {.kind = COMMAND_OUTBOX_DONE, .actor = STR("hook")};
    struct outbox_done_command *done = &command.outbox_done;
    done->outbox_id = row->id;
    done->failed = world_fault(w, FAULT_HOOK_FAILED);
    const bool computes = row->hook == HOOK_SYSDATA || row->hook == HOOK_TEMPLATE;
    if (done->failed)
        done->text = STR("attempt to index a nil value");
    else
        done->hook_commands =
            computes ? hooks_sim_draw_computed(w, row) : hooks_sim_draw_commands(w, row);
    int64_t delay_ms = prng_between(&w->rng, 1, 5 * SECOND);
    if (world_fault(w, FAULT_HOOK_LATE))
        delay_ms = prng_between(&w->rng, MINUTE, 3 * HOUR);
    const struct str bytes = world_encode(w, &command);
    world_send_bytes(w, hooks_sim_ordered_delay(w, row, delay_ms), bytes);
    if (world_fault(w, FAULT_HOOK_TWICE))
        world_send_bytes(w, delay_ms + prng_between(&w->rng, 1, HOUR), bytes);
}

/* ---- veto requests ---- */

static void hooks_sim_ask(void *self, uint64_t token, const struct veto_request *questions,
                          uint32_t count)
{
    struct world *w = self;
    struct veto_reply *veto_replies = arena_array(&w->arena, struct veto_reply, count);
    for (uint32_t i = 0; i < count; i++) {
        transcript_effect(w->transcript, hook_name(questions[i].hook), questions[i].role_id, 0,
                          questions[i].argument);
        veto_replies[i].key = questions[i].key;
        veto_replies[i].veto = world_fault(w, FAULT_HOOK_VETO);
        if (veto_replies[i].veto)
            veto_replies[i].text = STR("injected veto");
    }
    const struct str bytes = {(const char *)veto_replies, (uint32_t)(count * sizeof *veto_replies)};
    const int64_t late_ms = world_fault(w, FAULT_HOOK_LATE) ? 10 * MINUTE : 0;
    world_at(w, w->mono_ms + late_ms + prng_between(&w->rng, 1, SECOND), EVENT_ANSWERS,
             (int64_t)token, bytes);
}

void hooks_sim_answer(struct world *w, int64_t token, struct str veto_replies)
{
    const uint32_t count = (uint32_t)(veto_replies.len / sizeof(struct veto_reply));
    const struct veto_reply *first = (const struct veto_reply *)(const void *)veto_replies.at;
    ignore(turn_submit_veto_replies(w->turn, (uint64_t)token, first, count),
           "the daemon that sent the request may have crashed since");
}

struct hooks_port hooks_sim_port(struct world *w)
{
    return (struct hooks_port){.self = w, .deliver = hooks_sim_deliver, .ask = hooks_sim_ask};
}
