#include "sim/world/actors.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "sim/oracle/checks.h"
#include "sim/scenario/transcript.h"

/* The code of roles. It answers late, twice, with a failure, or with wishes that change things
 * under everybody's feet; questions it mostly answers with yes. */

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };

/* ---- wishes ---- */

static int64_t pick(struct world *w, enum table table)
{
    const struct core *core = world_core(w);
    const uint32_t count = core ? core_count(core, table) : 0;
    if (!count)
        return 0;
    int64_t id = core_next_id(core, table, 0);
    for (uint64_t i = prng_below(&w->chance, count); i > 0; i--)
        id = core_next_id(core, table, id);
    return id;
}

static struct str small_value(struct world *w)
{
    struct buf b = buf_in(&w->story);
    buf_put_u64(&b, prng_below(&w->chance, 5));
    return buf_str(&b);
}

static struct command wish_value(struct world *w, const struct outbox_record *row)
{
    struct command wish = {.kind = COMMAND_ATTRIB_SET, .actor = STR("hook")};
    struct attrib_set_command *set = &wish.attrib_set;
    set->attrib_id = pick(w, TABLE_ATTRIB);
    set->bucket = prng_chance(&w->chance, 700) ? BUCKET_SYSTEM : BUCKET_WALL;
    set->value = small_value(w);
    set->target = row->object == TABLE_NODE ? TABLE_NODE : TABLE_NODEROLE;
    set->id = row->object == TABLE_NODE || row->object == TABLE_NODEROLE ? row->object_id
                                                                         : pick(w, TABLE_NODEROLE);
    return wish;
}

static struct command wish_node(struct world *w)
{
    static const char *const environments[] = {"local", "sledgehammer", "debian-install"};
    struct command wish = {.kind = COMMAND_NODE_UPDATE, .actor = STR("hook")};
    wish.node_update.id = pick(w, TABLE_NODE);
    wish.node_update.given = GIVEN_NODE_BOOTENV;
    wish.node_update.bootenv = str_from(environments[prng_below(&w->chance, 3)]);
    return wish;
}

static struct command wish_run(struct world *w)
{
    struct command wish = {.kind = COMMAND_NODEROLE_ENQUEUE, .actor = STR("hook")};
    wish.noderole_enqueue.id = pick(w, TABLE_NODEROLE);
    return wish;
}

static struct command wish_bind(struct world *w)
{
    struct command wish = {.kind = COMMAND_NODEROLE_BIND, .actor = STR("hook")};
    wish.noderole_bind.node_id = pick(w, TABLE_NODE);
    wish.noderole_bind.role_id = pick(w, TABLE_ROLE);
    return wish;
}

static struct str draw_wishes(struct world *w, const struct outbox_record *row)
{
    struct buf b = buf_in(&w->story);
    const bool bad = world_fault(w, FAULT_HOOK_BAD_WISH);
    if (!bad && !world_fault(w, FAULT_HOOK_WISHES))
        return (struct str){0};
    for (uint64_t i = prng_below(&w->chance, 3) + 1; i > 0; i--) {
        const uint64_t which = prng_below(&w->chance, 10);
        const struct command wish = which < 4   ? wish_value(w, row)
                                    : which < 6 ? wish_run(w)
                                    : which < 9 ? wish_node(w)
                                                : wish_bind(w);
        command_encode(&wish, &b);
    }
    if (bad) {
        struct command wish = {.kind = COMMAND_NODEROLE_RETRY, .actor = STR("hook")};
        wish.noderole_retry.id = 999999;
        command_encode(&wish, &b);
    }
    return buf_str(&b);
}

static void wish_served(struct buf *b, int64_t node_id, int64_t noderole_id, int64_t generation)
{
    struct command wish = {
        .kind = COMMAND_NODE_BOOT_SERVED, .actor = STR("hook"), .if_turn = IF_THERE};
    wish.node_boot_served.id = node_id;
    wish.node_boot_served.noderole_id = noderole_id;
    wish.node_boot_served.generation = generation;
    command_encode(&wish, b);
}

static bool serves_boots(const struct core *core, const struct outbox_record *row)
{
    struct record role;
    return core && core_record(core, TABLE_ROLE, row->role_id, &role) &&
           role.role.flags & ROLE_SERVES_BOOT;
}

/* Who serves boots says so, of the node that changed or of all of them; each of its noderoles in
 * its own time, sometimes of a generation that is not the last. */
static struct str draw_served(struct world *w, const struct outbox_record *row)
{
    const struct core *core = world_core(w);
    struct buf b = buf_in(&w->story);
    struct record node;
    uint32_t count;
    const int64_t *servers = core_noderoles_of_role(core, row->role_id, 100, &w->scratch, &count);
    for (int64_t id = 0; (id = core_next_id(core, TABLE_NODE, id)) != 0;) {
        if (!core_record(core, TABLE_NODE, id, &node) || !node.node.boot_generation ||
            (row->object == TABLE_NODE && row->object_id != id))
            continue;
        for (uint32_t i = 0; i < count; i++)
            if (prng_chance(&w->chance, 700) &&
                (row->object == TABLE_NODE || servers[i] == row->object_id))
                wish_served(&b, id, servers[i],
                            node.node.boot_generation - prng_chance(&w->chance, 100));
    }
    return buf_str(&b);
}

/* What a role computes: sometimes nothing, sometimes what it said before. A template is the same
 * each time, for it is computed out of nothing; another one each time would keep everybody running
 * for ever. */
static struct str draw_computed(struct world *w, const struct outbox_record *row)
{
    static const char *const documents[] = {
        "{}", "{\"app\":{\"seen\":1}}", "{\"app\":{\"seen\":2,\"wish\":3}}",
        "{\"service\":{\"address\":\"10.0.0.5\"}}", "{\"service\":{\"address\":\"10.0.0.6\"}}"};
    const uint64_t which =
        row->hook == HOOK_TEMPLATE ? (uint64_t)row->role_id : prng_below(&w->chance, 5);
    const struct str value = str_from(documents[which % 5]);
    struct buf b = buf_in(&w->story);
    struct command wish = {.kind = COMMAND_NODEROLE_COMPUTED, .actor = STR("hook")};
    if (row->hook == HOOK_TEMPLATE) {
        wish.kind = COMMAND_ROLE_UPDATE;
        wish.role_update.id = row->role_id;
        wish.role_update.given = GIVEN_ROLE_TEMPLATE | GIVEN_ROLE_COMPUTED;
        wish.role_update.template = value;
    } else {
        wish.noderole_computed.id = row->object_id;
        wish.noderole_computed.data = value;
    }
    command_encode(&wish, &b);
    return buf_str(&b);
}

static bool computes(const struct outbox_record *row)
{
    return row->hook == HOOK_SYSDATA || row->hook == HOOK_TEMPLATE;
}

/* ---- events ---- */

/* Hooks about one object are answered in order. */
static int64_t in_order(struct world *w, const struct outbox_record *row, int64_t delay_ms)
{
    int64_t *last = &w->hook_ms[(row->object * 31 + (uint64_t)row->object_id) % HOOK_LINES];
    int64_t at_ms = w->mono_ms + delay_ms;
    if (at_ms <= *last)
        at_ms = *last + 1;
    *last = at_ms;
    return at_ms - w->mono_ms;
}

static void deliver(void *self, const struct outbox_record *row)
{
    struct world *w = self;
    transcript_effect(w->transcript, hook_name((enum hook)row->hook), row->id, row->object_id,
                      row->detail);
    if (!durability_oracle_has_outbox(&w->checks->ledger, row->id))
        world_fail(w, "I5: hook %lld is called before it is durable", (long long)row->id);
    struct command command = {.kind = COMMAND_OUTBOX_DONE, .actor = STR("hook")};
    struct outbox_done_command *done = &command.outbox_done;
    done->outbox_id = row->id;
    done->failed = world_fault(w, FAULT_HOOK_FAILED);
    if (done->failed)
        done->text = STR("attempt to index a nil value");
    else
        done->hook_commands = computes(row)                      ? draw_computed(w, row)
                              : serves_boots(world_core(w), row) ? draw_served(w, row)
                                                                 : draw_wishes(w, row);
    int64_t delay_ms = prng_between(&w->chance, 1, 5 * SECOND);
    if (world_fault(w, FAULT_HOOK_LATE))
        delay_ms = prng_between(&w->chance, MINUTE, 3 * HOUR);
    const struct str bytes = world_keep(w, &command);
    world_send_bytes(w, in_order(w, row, delay_ms), bytes);
    if (world_fault(w, FAULT_HOOK_TWICE))
        world_send_bytes(w, delay_ms + prng_between(&w->chance, 1, HOUR), bytes);
}

/* ---- questions ---- */

static void ask(void *self, uint64_t token, const struct veto_request *questions, uint32_t count)
{
    struct world *w = self;
    struct answer *answers = arena_array(&w->story, struct answer, count);
    for (uint32_t i = 0; i < count; i++) {
        transcript_effect(w->transcript, hook_name(questions[i].hook), questions[i].role_id, 0,
                          questions[i].argument);
        answers[i].key = questions[i].key;
        answers[i].veto = world_fault(w, FAULT_HOOK_VETO);
        if (answers[i].veto)
            answers[i].text = STR("not on my watch");
    }
    const struct str bytes = {(const char *)answers, (uint32_t)(count * sizeof *answers)};
    const int64_t late_ms = world_fault(w, FAULT_HOOK_LATE) ? 10 * MINUTE : 0;
    world_at(w, w->mono_ms + late_ms + prng_between(&w->chance, 1, SECOND), EVENT_ANSWERS,
             (int64_t)token, bytes);
}

void hooks_sim_answer(struct world *w, int64_t token, struct str answers)
{
    const uint32_t count = (uint32_t)(answers.len / sizeof(struct answer));
    const struct answer *first = (const struct answer *)(const void *)answers.at;
    ignore(turn_submit_veto_replies(w->turn, (uint64_t)token, first, count),
           "whoever asked may have died; then nobody waits for the answer");
}

struct hooks_port hooks_sim_port(struct world *w)
{
    return (struct hooks_port){.self = w, .deliver = deliver, .ask = ask};
}
