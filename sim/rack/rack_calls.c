#include "sim/rack/rack_private.h"

#include <stdio.h>

#include "base/err.h"
#include "base/json/json.h"
#include "model/grant.h"
#include "base/text/buf.h"

/* API requests of machines.
 *
 * A machine has one request outstanding and repeats it until a reply arrives. Requests and replies
 * are lost, delayed and duplicated. A report of a machine carries the id of its boot, and the core
 * ignores a report of an earlier boot (ADR 0049). Other requests that arrive after a later request
 * of the same machine are dropped here, as a connection would keep them in order: requests of the
 * same boot, requests without a boot id, and requests of a boot that the node never reported.
 *
 * A request travels as one number, the call reference: boot, sequence number and kind. */

enum { CALL_BITS = 4, BOOT_SHIFT = 32, MACHINE_BITS = 4, REPLY_BITS = 2, CALL_TIMEOUT_S = 20 };

_Static_assert(CALL_COUNT <= 1 << CALL_BITS, "enum rack_call must fit into CALL_BITS");
_Static_assert(RACK_MACHINES_MAX <= 1 << MACHINE_BITS, "a machine must fit into MACHINE_BITS");

bool rack_is_call(int64_t request)
{
    return request > 0 && request & 1;
}

/* ---- call references ---- */

static int64_t call_ref_of(const struct rack_machine *m)
{
    must(m->call_seq < INT64_C(1) << (BOOT_SHIFT - CALL_BITS));
    return (int64_t)m->boot << BOOT_SHIFT | m->call_seq << CALL_BITS | m->call;
}

static uint32_t call_ref_boot(int64_t call_ref)
{
    return (uint32_t)(call_ref >> BOOT_SHIFT);
}

static int64_t call_ref_seq(int64_t call_ref)
{
    return (int64_t)((uint32_t)call_ref >> CALL_BITS);
}

static enum rack_call call_ref_kind(int64_t call_ref)
{
    return (enum rack_call)(call_ref & ((1 << CALL_BITS) - 1));
}

/* ---- machine: send ---- */

/* A view of the time before a restore has the node and generation of another machine. */
static void call_take_other_node(struct rack *r, uint32_t machine, struct grant_use_command *use)
{
    struct node_record node;
    const uint32_t others = r->scenario.machines - 1;
    if (!others ||
        !rack_node(r, (machine + 1 + (uint32_t)prng_below(&r->rng, others)) % (others + 1), &node))
        return;
    use->node_id = node.id;
    use->generation = node.boot_generation;
    rack_allow_boots(r, machine); /* it is answered to ask again what to boot */
}

/* The boot of a question for a grant, or of the report of the end of an installation: either may
 * arrive when the machine has booted again. */
static struct str call_boot(struct rack *r, uint32_t machine)
{
    const struct rack_machine *m = &r->machines[machine];
    struct command command = {.kind = COMMAND_GRANT_USE, .actor = STR("boot server")};
    command.grant_use.node_id = m->answer.node_id;
    command.grant_use.generation = m->answer.generation;
    command.grant_use.ticket = str_from(m->ticket);
    command.grant_use.mac = str_from(m->mac);
    if (m->call == CALL_GRANT && !r->scenario.is_native[RACK_PROVISIONER] &&
        rack_fault(r, RACK_OTHER_NODE))
        call_take_other_node(r, machine, &command.grant_use);
    return m->call == CALL_GRANT || m->call == CALL_INSTALLED ? rack_encode(r, &command) : STR("");
}

static struct command call_boot_of(struct rack *r, const struct event *event)
{
    struct command command;
    uint32_t at = 0;
    if (command_decode(&r->scratch, event->bytes, &at, &command) != OK)
        impossible("a stored command cannot be decoded");
    return command;
}

static void call_send(struct rack *r, uint32_t machine)
{
    const struct rack_machine *m = &r->machines[machine];
    const struct event event = {
        .id = machine, .detail = call_ref_of(m), .bytes = call_boot(r, machine)};
    const bool is_late = rack_fault(r, RACK_CALL_LATE);
    rack_at(r, CALL_TIMEOUT_S * RACK_SECOND, RACK_EVENT_CALL_AGAIN, event);
    if (rack_fault(r, RACK_CALL_LOST))
        return;
    const int64_t delay_ms = prng_between(&r->rng, 1, 500) + r->delay_ms[RACK_CALL_LATE];
    rack_at(r, is_late ? prng_between(&r->rng, RACK_SECOND, 20 * RACK_MINUTE) : delay_ms,
            RACK_EVENT_CALL, event);
    if (rack_fault(r, RACK_CALL_TWICE))
        rack_at(r, prng_between(&r->rng, 1, 10 * RACK_MINUTE), RACK_EVENT_CALL, event);
}

void rack_call(struct rack *r, uint32_t machine, enum rack_call call)
{
    struct rack_machine *m = &r->machines[machine];
    m->call = call;
    m->call_seq++;
    call_send(r, machine);
}

void rack_call_again(struct rack *r, const struct event *event)
{
    /* The request is repeated only while it has no reply. */
    const struct rack_machine *m = &r->machines[event->id];
    if (m->call != CALL_NONE && m->call_seq == call_ref_seq(event->detail))
        call_send(r, (uint32_t)event->id);
}

/* ---- API: execute ---- */

static void call_put_disks(struct buf *b, const struct rack_machine *m)
{
    buf_put_z(b, "{\"reservations\":{\"disks\":[");
    for (uint32_t i = 0; i < m->disk_count; i++) {
        const struct rack_disk *disk = &m->disks[i];
        buf_put_z(b, i ? ",{\"path\":\"" : "{\"path\":\"");
        buf_put_z(b, disk->path);
        buf_put_z(b, "\",\"removable\":");
        buf_put_z(b, disk->removable ? "true" : "false");
        buf_put_z(b, ",\"serial\":\"");
        buf_put_z(b, disk->serial);
        buf_put_z(b, "\",\"size\":");
        buf_put_i64(b, disk->size);
        buf_put_z(b, ",\"unique_name\":\"");
        buf_put_z(b, disk->name);
        buf_put_z(b, "\"}");
    }
    buf_put_z(b, "]}}");
}

static void call_put_hint(struct buf *b, const struct rack_machine *m)
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

/* Registration succeeds if the node exists already (ADR 0049). False: it exists. */
static bool call_make_registration(struct rack *r, uint32_t machine, struct command *command)
{
    struct rack_machine *m = &r->machines[machine];
    struct buf hint = buf_in(&r->scratch), discovery = buf_in(&r->scratch);
    if (rack_node_id(r, machine))
        return false;
    m->install_requests++; /* a new node, even if the machine was installed before */
    call_put_hint(&hint, m);
    call_put_disks(&discovery, m);
    command->kind = COMMAND_NODE_CREATE;
    command->node_create.name = str_from(m->name);
    command->node_create.hint = buf_str(&hint);
    command->node_create.discovery = buf_str(&discovery);
    return true;
}

/* Commits the discovery roles only once: later proposals belong to the operators. */
static bool call_make_commit(struct rack *r, uint32_t machine, struct command *command)
{
    struct noderole_record managed;
    if (rack_noderole(r, machine, "crowbar-managed-node", &managed) &&
        managed.state != NODEROLE_PROPOSED)
        return false;
    command->kind = COMMAND_NODE_COMMIT;
    command->node_commit.id = rack_node_id(r, machine);
    return true;
}

static struct str call_boot_id(struct rack *r, uint32_t boot)
{
    struct buf b = buf_in(&r->scratch);
    buf_put_z(&b, "boot-");
    buf_put_u64(&b, boot);
    return buf_str(&b);
}

static int64_t call_stamp(const struct rack_machine *m)
{
    int64_t stamp = 1;
    for (uint32_t i = 0; i < m->disk_count; i++)
        if (m->disks[i].stamp > stamp)
            stamp = m->disks[i].stamp;
    return stamp;
}

static bool call_make_update(struct rack *r, uint32_t machine, int64_t call_ref,
                             struct command *command)
{
    struct node_update_command *update = &command->node_update;
    const enum rack_call call = call_ref_kind(call_ref);
    command->kind = COMMAND_NODE_UPDATE;
    update->id = rack_node_id(r, machine);
    if (call == CALL_STAMPED) {
        update->given = GIVEN_NODE_STAMP;
        update->stamp_generation = call_stamp(&r->machines[machine]);
        return true;
    }
    if (call != CALL_INSTALLED)
        update->given = GIVEN_NODE_ALIVE;
    update->alive = call == CALL_ALIVE || call == CALL_JOINED;
    /* The discovery image reports its environment and does not set bootenv. A machine that loses
     * its power while its installation waits for a database boots that image once more; setting
     * bootenv would replace the installer by the image, and since the wiping run has already
     * succeeded, the roles above it would run without an operating system. */
    if (call == CALL_INSTALLED || call == CALL_JOINED)
        update->given |= GIVEN_NODE_BOOTENV;
    if (call == CALL_INSTALLED) /* the token of a node permits it with the generation alone */
        update->given |= GIVEN_NODE_BOOT_GENERATION;
    update->bootenv = STR("local");
    update->given |= GIVEN_NODE_BOOT_ID;
    update->boot_id = call_boot_id(r, call_ref_boot(call_ref));
    if (update->alive || call == CALL_BOOTING)
        update->given |= GIVEN_NODE_ENVIRONMENT;
    update->environment =
        call == CALL_ALIVE || call == CALL_BOOTING ? STR("sledgehammer") : STR("local");
    return true;
}

/* False: there is nothing to change, the request has succeeded. */
static bool call_make_command(struct rack *r, uint32_t machine, int64_t call_ref,
                              struct command *command)
{
    if (call_ref_kind(call_ref) == CALL_REGISTER)
        return call_make_registration(r, machine, command);
    if (call_ref_kind(call_ref) == CALL_COMMIT)
        return call_make_commit(r, machine, command);
    return call_make_update(r, machine, call_ref, command);
}

/* A report of a boot that is in the list of old boots of the node. */
static bool call_is_of_old_boot(struct rack *r, uint32_t machine, int64_t call_ref)
{
    struct node_record node;
    struct json *boots;
    uint32_t offset;
    const char *what;
    const enum rack_call call = call_ref_kind(call_ref);
    if (call == CALL_REGISTER || call == CALL_COMMIT || !rack_node(r, machine, &node) ||
        json_read(&r->scratch, node.old_boots, &boots, &offset, &what) != OK)
        return false;
    const struct str id = call_boot_id(r, call_ref_boot(call_ref));
    for (const struct json *old = boots->first; old; old = old->next)
        if (str_eq(old->text, id))
            return true;
    return false;
}

static bool call_is_accepted(struct rack *r, uint32_t machine, int64_t call_ref)
{
    struct rack_machine *m = &r->machines[machine];
    if (call_ref_seq(call_ref) >= m->received_seq) {
        m->received_seq = call_ref_seq(call_ref);
        return true;
    }
    const bool is_known = call_is_of_old_boot(r, machine, call_ref);
    rack_count_reached(r, is_known ? RACK_REACHED_OLD_BOOT_IGNORED : RACK_REACHED_OLD_CALL_IGNORED);
    return is_known;
}

void rack_call_reply(struct rack *r, uint32_t machine, int64_t seq, enum rack_reply_kind kind)
{
    if (!rack_fault(r, RACK_REPLY_LOST))
        rack_at(r, prng_between(&r->rng, 1, 200), RACK_EVENT_REPLY,
                (struct event){.id = machine, .detail = seq << REPLY_BITS | kind});
}

static int64_t call_request_id(uint32_t machine, int64_t seq)
{
    return (seq << MACHINE_BITS | machine) << 1 | 1;
}

/* After a restore ids and generations are used again, and a machine that was answered before may
 * name the node of another one. Some boot servers compare its MAC with the entry of the node before
 * they ask; for the others the core does. */
static bool call_is_of_node(struct rack *r, uint32_t machine, int64_t node_id)
{
    const int32_t own = rack_machine_of(r, node_id);
    return own < 0 || (uint32_t)own == machine;
}

/* The question for a grant is executed whenever it arrives. */
static void call_ask_grant(struct rack *r, const struct event *event)
{
    struct command command = call_boot_of(r, event);
    if (r->scenario.compares_mac &&
        !call_is_of_node(r, (uint32_t)event->id, command.grant_use.node_id)) {
        rack_count_reached(r, RACK_REACHED_OTHER_NODE);
        rack_call_reply(r, (uint32_t)event->id, call_ref_seq(event->detail), REPLY_STALE);
        return;
    }
    command.request = call_request_id((uint32_t)event->id, call_ref_seq(event->detail));
    grant_oracle_ask(&r->grants, command.request, &command.grant_use);
    if (turn_submit(r->turn, &command) != OK) /* the machine repeats a request without a reply */
        grant_oracle_drop(&r->grants, command.request);
}

void rack_call_arrives(struct rack *r, const struct event *event)
{
    const uint32_t machine = (uint32_t)event->id;
    const int64_t seq = call_ref_seq(event->detail);
    struct command command = {.actor = STR("machine")};
    if (call_ref_kind(event->detail) == CALL_GRANT && r->scenario.is_native[RACK_PROVISIONER]) {
        rack_process_install(r, machine, seq, call_boot_of(r, event).grant_use.ticket);
        return;
    }
    if (!rack_core(r))
        return; /* the daemon is down: the request times out and is repeated */
    if (call_ref_kind(event->detail) == CALL_GRANT) {
        call_ask_grant(r, event);
        return;
    }
    if (!call_is_accepted(r, machine, event->detail))
        return;
    if (call_ref_kind(event->detail) != CALL_REGISTER && !rack_node_id(r, machine)) {
        rack_call_reply(r, machine, seq, REPLY_GONE);
    } else if (!call_make_command(r, machine, event->detail, &command)) {
        rack_call_reply(r, machine, seq, REPLY_DONE);
    } else {
        command.request = call_request_id(machine, seq);
        if (call_ref_kind(event->detail) == CALL_INSTALLED)
            command.node_update.boot_generation = call_boot_of(r, event).grant_use.generation;
        ignore(turn_submit(r->turn, &command), "the machine repeats a request without a reply");
    }
}

/* ---- machine: reply ---- */

void rack_call_note_disk(struct rack *r, uint32_t machine)
{
    struct node_record node;
    struct json *hint;
    uint32_t offset;
    const char *what;
    struct rack_machine *m = &r->machines[machine];
    if (!rack_node(r, machine, &node) ||
        json_read(&r->scratch, node.hint, &hint, &offset, &what) != OK)
        return;
    const struct json *disk = json_get(hint, STR("operating-system-disk"));
    snprintf(m->node_disk, sizeof m->node_disk, "%.*s",
             STR_FMT_ARGS(disk && disk->kind == JSON_STRING ? disk->text : STR("")));
}

/* The answer of the core to the question for a grant. */
static enum rack_reply_kind call_grant_reply(struct rack *r, uint32_t machine, struct str doc)
{
    if (str_eq(doc, grant_answer_doc(GRANT_GRANTED))) {
        rack_call_note_disk(r, machine);
        return REPLY_DONE;
    }
    return str_eq(doc, grant_answer_doc(GRANT_LOCAL)) ? REPLY_LOCAL : REPLY_STALE;
}

/* The node may have been created or deleted, ordered to restart, or changed its environment between
 * the arrival of the request and its execution. The machine repeats a request without a reply. */
static bool call_is_repeated(const struct problem *problem)
{
    return problem && (problem->code == PROBLEM_NAME_TAKEN || problem->code == PROBLEM_WRONG_STATE);
}

void rack_call_answered(struct rack *r, int64_t request, const struct outcome *outcome)
{
    const uint32_t machine = (uint32_t)(request >> 1) & ((1 << MACHINE_BITS) - 1);
    const int64_t seq = request >> (1 + MACHINE_BITS);
    const struct problem *problem = outcome->problems;
    const char *said = grant_oracle_reply(&r->grants, request, outcome->doc);
    if (said)
        rack_fail(r, "grant: %s", said);
    if (outcome->verdict == VERDICT_DONE) {
        rack_call_reply(r, machine, seq,
                        outcome->doc.len ? call_grant_reply(r, machine, outcome->doc) : REPLY_DONE);
    } else if (problem && problem->code == PROBLEM_NOT_FOUND) {
        rack_call_reply(r, machine, seq, REPLY_GONE);
    } else if (problem && problem->code == PROBLEM_STALE) {
        /* The end of this installation was reported before, or the node boots something else. */
        rack_count_reached(r, RACK_REACHED_PHONED_TWICE);
        rack_call_reply(r, machine, seq, REPLY_DONE);
    } else if (!call_is_repeated(problem)) {
        rack_fail(r, "a request of machine %s was refused: %.*s", r->machines[machine].name,
                  STR_FMT_ARGS(problem ? problem->text : STR("it needs hooks")));
    }
}

void rack_reply_arrives(struct rack *r, const struct event *event)
{
    struct rack_machine *m = &r->machines[event->id];
    const enum rack_call call = m->call;
    if (call == CALL_NONE || m->call_seq != event->detail >> REPLY_BITS)
        return;
    m->call = CALL_NONE;
    rack_machine_answered(r, (uint32_t)event->id, call,
                          (enum rack_reply_kind)(event->detail & ((1 << REPLY_BITS) - 1)));
}
