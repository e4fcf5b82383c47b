#include "sim/rack/rack_private.h"

#include "base/err.h"
#include "base/json/json.h"
#include "base/text/buf.h"

/* Requests of machines. A machine asks one thing at a time and repeats it until it is answered; on
 * the way there requests and answers get lost, late and doubled. What it says about itself carries
 * the id of its boot, and the core does not listen to one that it knows to be over (X12). All else
 * that comes after a later request of the same machine is turned away at the door: what is of the
 * same boot, what carries no boot, and what is of a boot that this node never heard of. */

enum { CALL_BITS = 4, BOOT_SHIFT = 32, MACHINE_BITS = 4, PATIENCE_S = 20 };

_Static_assert(CALL_COUNT <= 1 << CALL_BITS, "a call must fit");
_Static_assert(RACK_MACHINES_MAX <= 1 << MACHINE_BITS, "a machine must fit");

bool rack_is_call(int64_t request)
{
    return request & 1;
}

/* ---- what travels ---- */

static int64_t letter(const struct rack_machine *m)
{
    must(m->call_seq < INT64_C(1) << (BOOT_SHIFT - CALL_BITS));
    return (int64_t)m->boot << BOOT_SHIFT | m->call_seq << CALL_BITS | m->call;
}

static uint32_t letter_boot(int64_t letter)
{
    return (uint32_t)(letter >> BOOT_SHIFT);
}

static int64_t letter_seq(int64_t letter)
{
    return (int64_t)((uint32_t)letter >> CALL_BITS);
}

static enum rack_call letter_call(int64_t letter)
{
    return (enum rack_call)(letter & ((1 << CALL_BITS) - 1));
}

/* ---- to the API ---- */

static void send(struct rack *r, uint32_t machine)
{
    const struct rack_machine *m = &r->machines[machine];
    const struct event event = {.id = machine, .detail = letter(m)};
    const bool is_late = rack_fault(r, RACK_CALL_LATE);
    rack_at(r, PATIENCE_S * RACK_SECOND, RACK_EVENT_CALL_AGAIN, event);
    if (rack_fault(r, RACK_CALL_LOST))
        return;
    const int64_t delay_ms = prng_between(&r->chance, 1, 500) + r->delay_ms[RACK_CALL_LATE];
    rack_at(r, is_late ? prng_between(&r->chance, RACK_SECOND, 20 * RACK_MINUTE) : delay_ms,
            RACK_EVENT_CALL, event);
    if (rack_fault(r, RACK_CALL_TWICE))
        rack_at(r, prng_between(&r->chance, 1, 10 * RACK_MINUTE), RACK_EVENT_CALL, event);
}

void rack_call(struct rack *r, uint32_t machine, enum rack_call call)
{
    struct rack_machine *m = &r->machines[machine];
    m->call = call;
    m->call_seq++;
    send(r, machine);
}

static bool is_waiting(const struct rack *r, const struct event *event)
{
    const struct rack_machine *m = &r->machines[event->id];
    return m->call != CALL_NONE && m->call_seq == letter_seq(event->detail);
}

void rack_call_again(struct rack *r, const struct event *event)
{
    if (is_waiting(r, event))
        send(r, (uint32_t)event->id);
}

/* ---- in the API ---- */

static void put_disks(struct buf *b, const struct rack_machine *m)
{
    buf_put_z(b, "{\"reservations\":{\"disks\":[");
    for (uint32_t i = 0; i < m->disk_count; i++) {
        const struct rack_disk *disk = &m->disks[i];
        buf_put_z(b, i ? ",{\"path\":\"" : "{\"path\":\"");
        buf_put_z(b, disk->path);
        buf_put_z(b, "\",\"removable\":");
        buf_put_z(b, disk->removable ? "true" : "false");
        buf_put_z(b, ",\"unique_name\":\"");
        buf_put_z(b, disk->name);
        buf_put_z(b, "\"}");
    }
    buf_put_z(b, "]}}");
}

static void put_hint(struct buf *b, const struct rack_machine *m)
{
    bool any = false;
    buf_put_z(b, "{\"admin-v4addr\":\"");
    buf_put_z(b, m->address);
    buf_put_z(b, "\",\"admin_macs\":[\"");
    buf_put_z(b, m->mac);
    buf_put_z(b, "\"],\"claimed-disks\":{");
    for (uint32_t i = 0; i < m->disk_count; i++) {
        if (!m->disks[i].claimed)
            continue;
        buf_put_z(b, any ? ",\"" : "\"");
        buf_put_z(b, m->disks[i].name);
        buf_put_z(b, "\":\"archive\"");
        any = true;
    }
    buf_put_z(b, "}}");
}

/* Registration is an upsert (X17): who is there already is welcome. */
static bool make_registration(struct rack *r, uint32_t machine, struct command *command)
{
    struct rack_machine *m = &r->machines[machine];
    struct buf hint = buf_in(&r->scratch), discovery = buf_in(&r->scratch);
    if (rack_node_id(r, machine))
        return false;
    m->permits++; /* whatever it was before, it is new now */
    put_hint(&hint, m);
    put_disks(&discovery, m);
    command->kind = COMMAND_NODE_CREATE;
    command->node_create.name = str_from(m->name);
    command->node_create.hint = buf_str(&hint);
    command->node_create.discovery = buf_str(&discovery);
    return true;
}

/* Only what discovery brings; what an operator has drawn is his to commit. */
static bool make_commit(struct rack *r, uint32_t machine, struct command *command)
{
    struct noderole_record managed;
    if (rack_noderole(r, machine, "crowbar-managed-node", &managed) &&
        managed.state != NODEROLE_PROPOSED)
        return false;
    command->kind = COMMAND_NODE_COMMIT;
    command->node_commit.id = rack_node_id(r, machine);
    return true;
}

static struct str boot_id(struct rack *r, uint32_t boot)
{
    struct buf b = buf_in(&r->scratch);
    buf_put_z(&b, "boot-");
    buf_put_u64(&b, boot);
    return buf_str(&b);
}

static bool make_update(struct rack *r, uint32_t machine, int64_t letter, struct command *command)
{
    struct node_update_command *update = &command->node_update;
    const enum rack_call call = letter_call(letter);
    command->kind = COMMAND_NODE_UPDATE;
    update->id = rack_node_id(r, machine);
    if (call != CALL_INSTALLED)
        update->given = GIVEN_NODE_ALIVE;
    update->alive = call == CALL_ALIVE || call == CALL_JOINED;
    /* The discovery image reports its environment and does not set bootenv. A machine that loses
     * its power while its installation waits for a database boots that image once more; setting
     * bootenv would replace the installer by the image, and since the wiping run has already
     * succeeded, the roles above it would run without an operating system. */
    if (call == CALL_INSTALLED || call == CALL_JOINED)
        update->given |= GIVEN_NODE_BOOTENV;
    update->bootenv = STR("local");
    update->given |= GIVEN_NODE_BOOT_ID;
    update->boot_id = boot_id(r, letter_boot(letter));
    if (update->alive || call == CALL_BOOTING)
        update->given |= GIVEN_NODE_ENVIRONMENT;
    update->environment =
        call == CALL_ALIVE || call == CALL_BOOTING ? STR("sledgehammer") : STR("local");
    return true;
}

/* False: it is so already. */
static bool make_command(struct rack *r, uint32_t machine, int64_t letter, struct command *command)
{
    if (letter_call(letter) == CALL_REGISTER)
        return make_registration(r, machine, command);
    if (letter_call(letter) == CALL_COMMIT)
        return make_commit(r, machine, command);
    return make_update(r, machine, letter, command);
}

/* A word of a boot that the core knows to be over. */
static bool is_of_old_boot(struct rack *r, uint32_t machine, int64_t letter)
{
    struct node_record node;
    struct json *boots;
    uint32_t offset;
    const char *what;
    const enum rack_call call = letter_call(letter);
    if (call == CALL_REGISTER || call == CALL_COMMIT || !rack_node(r, machine, &node) ||
        json_read(&r->scratch, node.old_boots, &boots, &offset, &what) != OK)
        return false;
    const struct str id = boot_id(r, letter_boot(letter));
    for (const struct json *old = boots->first; old; old = old->next)
        if (str_eq(old->text, id))
            return true;
    return false;
}

static bool may_enter(struct rack *r, uint32_t machine, int64_t letter)
{
    struct rack_machine *m = &r->machines[machine];
    if (letter_seq(letter) >= m->door_seq) {
        m->door_seq = letter_seq(letter);
        return true;
    }
    const bool is_known = is_of_old_boot(r, machine, letter);
    rack_reach(r, is_known ? RACK_REACHED_OLD_BOOT_IGNORED : RACK_REACHED_OLD_CALL_IGNORED);
    return is_known;
}

static void answer(struct rack *r, uint32_t machine, int64_t seq, bool gone)
{
    if (!rack_fault(r, RACK_REPLY_LOST))
        rack_at(r, prng_between(&r->chance, 1, 200), RACK_EVENT_REPLY,
                (struct event){.id = machine, .detail = seq << 1 | gone});
}

void rack_call_arrives(struct rack *r, const struct event *event)
{
    const uint32_t machine = (uint32_t)event->id;
    const int64_t seq = letter_seq(event->detail);
    struct command command = {.actor = STR("machine")};
    if (!rack_core(r))
        return; /* nobody listens; it asks again */
    if (!may_enter(r, machine, event->detail))
        return;
    if (letter_call(event->detail) != CALL_REGISTER && !rack_node_id(r, machine)) {
        answer(r, machine, seq, true);
    } else if (!make_command(r, machine, event->detail, &command)) {
        answer(r, machine, seq, false);
    } else {
        command.request = (seq << MACHINE_BITS | machine) << 1 | 1;
        ignore(turn_submit(r->turn, &command), "it asks again when nobody answers");
    }
}

/* ---- and back ---- */

void rack_call_answered(struct rack *r, int64_t request, const struct outcome *outcome)
{
    const uint32_t machine = (uint32_t)(request >> 1) & ((1 << MACHINE_BITS) - 1);
    const int64_t seq = request >> (1 + MACHINE_BITS);
    const struct problem *problem = outcome->problems;
    const bool gone = problem && problem->code == PROBLEM_NOT_FOUND;
    /* Its node may have come or gone between the door and the core, or be about to be restarted: it
     * asks again and sees. */
    if (outcome->verdict == VERDICT_DONE || gone)
        answer(r, machine, seq, gone);
    else if (!problem ||
             (problem->code != PROBLEM_NAME_TAKEN && problem->code != PROBLEM_WRONG_STATE))
        rack_fail(r, "%s is refused: %.*s", r->machines[machine].name,
                  STR_FMT_ARGS(problem ? problem->text : STR("asking")));
}

void rack_reply_arrives(struct rack *r, const struct event *event)
{
    struct rack_machine *m = &r->machines[event->id];
    const enum rack_call call = m->call;
    if (call == CALL_NONE || m->call_seq != event->detail >> 1)
        return;
    m->call = CALL_NONE;
    rack_machine_answered(r, (uint32_t)event->id, call, event->detail & 1);
}
