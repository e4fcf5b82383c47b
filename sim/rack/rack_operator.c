#include "sim/rack/rack_private.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* Simulated operators: they request the installation of every machine, retry errors, change their
 * requests and inject faults. They read records, `why` and the environments of machines, and act
 * only by sending commands, by power cycling machines by hand, and by replacing the store. */

static const char *const systems[] = {"debian-12", "debian-13"};

enum {
    POLL_S_MIN = 20, /* seconds between two rounds of an operator */
    POLL_S_MAX = 240,
    ANSWER_MS = 10 * RACK_MINUTE, /* until rack_send() gives up */
    BOOTS_REQUESTED = 4,          /* additional boots that a request of an operator may cause */
};

/* Events about the admin node: it is alive again, or available again. */
enum admin_change { ADMIN_ALIVE_AGAIN, ADMIN_AVAILABLE_AGAIN };

/* ---- lookup ---- */

const char *rack_deployment_name(uint32_t machine)
{
    return machine % 2 ? "green" : "blue";
}

static int64_t operator_find(const struct rack *r, enum table table, const char *name)
{
    const struct core *core = rack_core(r);
    return core ? core_find(core, table, str_from(name)) : 0;
}

int64_t rack_node_id(const struct rack *r, uint32_t machine)
{
    return operator_find(r, TABLE_NODE,
                         machine < RACK_MACHINES_MAX ? r->machines[machine].name
                         : machine == RACK_ADMIN     ? RACK_ADMIN_NAME
                                                     : RACK_SECOND_NAME);
}

bool rack_node(const struct rack *r, uint32_t machine, struct node_record *out_node)
{
    struct record record;
    const int64_t id = rack_node_id(r, machine);
    if (!id || !core_record(rack_core(r), TABLE_NODE, id, &record))
        return false;
    *out_node = record.node;
    return true;
}

static int64_t operator_noderole_id(const struct rack *r, uint32_t machine, const char *role)
{
    const int64_t node = rack_node_id(r, machine);
    const int64_t id = operator_find(r, TABLE_ROLE, role);
    return node && id ? core_noderole(rack_core(r), node, id) : 0;
}

bool rack_noderole(const struct rack *r, uint32_t machine, const char *role,
                   struct noderole_record *out_noderole)
{
    struct record record;
    const int64_t id = operator_noderole_id(r, machine, role);
    if (!id || !core_record(rack_core(r), TABLE_NODEROLE, id, &record))
        return false;
    *out_noderole = record.noderole;
    return true;
}

/* ---- commands ---- */

static bool operator_has_reply(struct rack *r, int64_t argument)
{
    return r->reply.is_received && argument == 0;
}

struct rack_reply rack_send(struct rack *r, const struct command *command)
{
    struct command copy = *command;
    copy.request = r->last_request += 2;
    if (!copy.actor.len)
        copy.actor = STR("operator");
    r->reply = (struct rack_reply){0};
    r->awaited_request = copy.request;
    rack_send_later(r, 1, &copy);
    rack_until(r, operator_has_reply, 0, ANSWER_MS);
    r->awaited_request = 0;
    return r->reply;
}

/* Send a command without waiting for its reply. */
static void operator_send(struct rack *r, const struct command *command)
{
    struct command copy = *command;
    copy.request = r->last_request += 2;
    copy.actor = STR("operator");
    rack_send_later(r, prng_between(&r->rng, 1, RACK_SECOND), &copy);
}

static struct command operator_make_bind(const struct rack *r, uint32_t machine, const char *role,
                                         const char *deployment)
{
    struct command command = {.kind = COMMAND_NODEROLE_BIND};
    command.noderole_bind.node_id = rack_node_id(r, machine);
    command.noderole_bind.role_id = operator_find(r, TABLE_ROLE, role);
    command.noderole_bind.deployment_id = operator_find(r, TABLE_DEPLOYMENT, deployment);
    return command;
}

struct rack_reply rack_bind(struct rack *r, uint32_t machine, const char *role,
                            const char *deployment)
{
    const struct command command = operator_make_bind(r, machine, role, deployment);
    return rack_send(r, &command);
}

static struct command operator_make_commit(const struct rack *r, const char *deployment)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_COMMIT};
    command.deployment_commit.id = operator_find(r, TABLE_DEPLOYMENT, deployment);
    return command;
}

struct rack_reply rack_commit(struct rack *r, const char *deployment)
{
    const struct command command = operator_make_commit(r, deployment);
    return rack_send(r, &command);
}

/* Commands whose only field is the id of the node; it has the same offset in all of them. */
static struct command operator_make_verb(const struct rack *r, uint32_t machine,
                                         enum command_kind verb)
{
    struct command command = {.kind = verb};
    must(verb == COMMAND_NODE_REDEPLOY || verb == COMMAND_NODE_DEBUG ||
         verb == COMMAND_NODE_UNDEBUG || verb == COMMAND_NODE_DELETE ||
         verb == COMMAND_NODE_COMMIT || verb == COMMAND_NODE_PROPOSE);
    command.node_commit.id = rack_node_id(r, machine);
    return command;
}

struct rack_reply rack_node_verb(struct rack *r, uint32_t machine, enum command_kind verb)
{
    const struct command command = operator_make_verb(r, machine, verb);
    return rack_send(r, &command);
}

/* ---- installation requests ---- */

/* Bind the application to a discovered machine. True if there was something to bind. */
static bool operator_bind_application(struct rack *r, uint32_t machine)
{
    struct noderole_record managed;
    if (!rack_noderole(r, machine, "crowbar-managed-node", &managed) ||
        managed.state == NODEROLE_PROPOSED)
        return false;
    if (operator_noderole_id(r, machine, "rack-application"))
        return false;
    const char *deployment = rack_deployment_name(machine);
    const struct command command = operator_make_bind(r, machine, "rack-application", deployment);
    operator_send(r, &command);
    return true;
}

static void operator_choose_os(struct rack *r, uint32_t machine)
{
    struct command command = {.kind = COMMAND_ATTRIB_SET};
    const int64_t install = operator_noderole_id(r, machine, "provisioner-os-install");
    const char *system = systems[prng_below(&r->rng, 2)];
    char value[32];
    snprintf(value, sizeof value, "\"%s\"", system);
    command.attrib_set.target = TABLE_NODEROLE;
    command.attrib_set.id = install;
    command.attrib_set.attrib_id = operator_find(r, TABLE_ATTRIB, "provisioner-target_os");
    command.attrib_set.bucket = BUCKET_USER;
    command.attrib_set.value = str_copy(&r->arena, str_from(value));
    if (install)
        operator_send(r, &command);
}

/* True if the deployment was committed and is PROPOSED again. */
static bool operator_is_recalled(const struct rack *r, const char *name)
{
    struct record deployment, head;
    const int64_t id = operator_find(r, TABLE_DEPLOYMENT, name);
    return id && core_record(rack_core(r), TABLE_DEPLOYMENT, id, &deployment) &&
           core_record(rack_core(r), TABLE_SNAPSHOT, deployment.deployment.head_id, &head) &&
           head.snapshot.state == SNAPSHOT_PROPOSED && head.snapshot.committed_at;
}

/* Commit the deployments that contain proposed machines, sometimes after choosing another OS, and
 * those that were recalled. */
static void operator_commit_proposed(struct rack *r)
{
    bool is_proposed[2] = {false, false};
    for (uint32_t i = 0; i < r->scenario.machines; i++) {
        struct noderole_record install, application;
        const bool is_bound = rack_noderole(r, i, "provisioner-os-install", &install) &&
                              rack_noderole(r, i, "rack-application", &application);
        if (!is_bound ||
            (install.state != NODEROLE_PROPOSED && application.state != NODEROLE_PROPOSED))
            continue;
        if (install.run_count == 0 && install.state == NODEROLE_PROPOSED &&
            prng_chance(&r->rng, 300))
            operator_choose_os(r, i);
        else
            is_proposed[i % 2] = true;
    }
    for (uint32_t i = 0; i < 2; i++)
        if (is_proposed[i] || operator_is_recalled(r, rack_deployment_name(i))) {
            const struct command command = operator_make_commit(r, rack_deployment_name(i));
            operator_send(r, &command);
        }
}

static bool operator_parents_active(struct rack *r, int64_t noderole_id)
{
    uint32_t count;
    const int64_t *parents = core_parents(rack_core(r), noderole_id, &r->scratch, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct record record;
        if (!core_record(rack_core(r), TABLE_NODEROLE, parents[i], &record) ||
            record.noderole.state != NODEROLE_ACTIVE)
            return false;
    }
    return true;
}

/* A noderole in ERROR keeps the annealer from starting other noderoles of its node. If one of its
 * parents is not ACTIVE, it cannot be retried; it is proposed and committed again instead. So is an
 * installation that was committed before a restore: a retry is no commit. */
static void operator_retry_error(struct rack *r, const struct noderole_record *noderole)
{
    const int64_t noderole_id = noderole->id;
    const bool is_outdated = noderole->reason == REASON_COMMIT_OUTDATED;
    if (is_outdated)
        rack_count_reached(r, RACK_REACHED_COMMITTED_AGAIN);
    struct command retry = {.kind = COMMAND_NODEROLE_RETRY};
    struct command propose = {.kind = COMMAND_NODEROLE_PROPOSE};
    struct command commit = {.kind = COMMAND_NODEROLE_COMMIT};
    retry.noderole_retry.id = propose.noderole_propose.id = noderole_id;
    commit.noderole_commit.id = noderole_id;
    if (operator_parents_active(r, noderole_id) && !is_outdated) {
        operator_send(r, &retry);
        return;
    }
    operator_send(r, &propose);
    commit.actor = STR("operator");
    rack_send_later(r, 2 * RACK_SECOND, &commit); /* if it is refused, the next round commits it */
}

/* After a restore all machines are restarted before anything of them is committed or retried. A
 * commit before that could run an installation on a system that was installed after the backup: it
 * ends without a wipe, and its machine boots the discovery image at the next restart. */
static bool operator_may_commit(struct rack *r)
{
    for (uint32_t i = 0; i < r->scenario.machines; i++)
        if (r->machines[i].started_in != r->history && rack_node_id(r, i))
            return false;
    return true;
}

static void operator_retry_errors(struct rack *r, uint32_t per_mille)
{
    const struct core *core = rack_core(r);
    const bool may_commit = operator_may_commit(r);
    for (int64_t id = 0; (id = core_next_id(core, TABLE_NODEROLE, id)) != 0;) {
        struct record record;
        if (!core_record(core, TABLE_NODEROLE, id, &record) || !prng_chance(&r->rng, per_mille) ||
            (!may_commit && rack_machine_of(r, record.noderole.node_id) >= 0))
            continue;
        if (record.noderole.state == NODEROLE_PROPOSED && record.noderole.member_from) {
            struct command commit = {.kind = COMMAND_NODEROLE_COMMIT};
            commit.noderole_commit.id = id;
            operator_send(r, &commit);
        }
        if (record.noderole.state != NODEROLE_ERROR)
            continue;
        rack_count_reached(r, RACK_REACHED_OPERATOR_RETRIED);
        operator_retry_error(r, &record.noderole);
    }
}

/* ---- faults and their repair ---- */

/* Request a new installation, regardless of what the machine is doing. */
static void operator_redeploy(struct rack *r, uint32_t machine)
{
    struct noderole_record install;
    if (!rack_noderole(r, machine, "provisioner-os-install", &install) ||
        install.state == NODEROLE_PROPOSED || !rack_fault(r, RACK_REDEPLOYED))
        return;
    const struct command command = operator_make_verb(r, machine, COMMAND_NODE_REDEPLOY);
    r->machines[machine].install_requests++;
    r->machines[machine].boots_allowed += BOOTS_REQUESTED;
    operator_send(r, &command);
}

/* Delete the node. The machine is power cycled by hand later and registers as a new one. */
static void operator_delete_node(struct rack *r, uint32_t machine)
{
    if (!rack_node_id(r, machine) || !rack_fault(r, RACK_NODE_DELETED))
        return;
    const struct command command = operator_make_verb(r, machine, COMMAND_NODE_DELETE);
    struct rack_machine *m = &r->machines[machine];
    m->boots_allowed += 2 * BOOTS_REQUESTED;
    operator_send(r, &command);
}

/* Propose a noderole; a later round commits it again. */
static void operator_propose(struct rack *r, uint32_t machine, const char *role)
{
    struct command propose = {.kind = COMMAND_NODEROLE_PROPOSE};
    propose.noderole_propose.id = operator_noderole_id(r, machine, role);
    if (propose.noderole_propose.id)
        operator_send(r, &propose);
}

/* Redeploy a machine whose installer cannot start, is silent or has stopped, as `why` names it. A
 * redeploy is refused if a setting of the installation has changed since it was committed, because
 * its hooks choose the disk while it is PROPOSED: sometimes propose it first. */
static void operator_redeploy_stopped(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    const int64_t node_id = rack_node_id(r, machine);
    const struct cause *cause =
        node_id ? core_why(rack_core(r), TABLE_NODE, node_id, &r->scratch) : NULL;
    while (cause && cause->code != CAUSE_INSTALL_STOPPED && cause->code != CAUSE_NO_GRANT)
        cause = cause->next;
    if (!cause || (r->has_faults && prng_chance(&r->rng, 500)))
        return;
    if (prng_chance(&r->rng, 300)) {
        operator_propose(r, machine, "provisioner-os-install");
        return;
    }
    const struct command command = operator_make_verb(r, machine, COMMAND_NODE_REDEPLOY);
    m->install_requests++;
    m->boots_allowed += BOOTS_REQUESTED;
    rack_count_reached(r, RACK_REACHED_STOPPED_REDEPLOYED);
    operator_send(r, &command);
}

/* Withdraw what was committed, at any time: the installation of a machine, a deployment, or what
 * serves boots. */
static void operator_withdraw(struct rack *r, uint32_t machine)
{
    if (rack_fault(r, RACK_WITHDRAWN))
        operator_propose(r, machine, "provisioner-os-install");
    if (rack_fault(r, RACK_DATABASE_PROPOSED)) {
        const uint32_t admin = r->scenario.two_databases && prng_chance(&r->rng, 500) ? 1 : 0;
        const enum rack_service service = prng_chance(&r->rng, 500) ? RACK_DHCP : RACK_PROVISIONER;
        operator_propose(r, rack_admin_machine(admin), rack_service_role(service));
    }
    if (rack_fault(r, RACK_RECALLED)) {
        struct command recall = {.kind = COMMAND_DEPLOYMENT_RECALL};
        recall.deployment_recall.id =
            operator_find(r, TABLE_DEPLOYMENT, rack_deployment_name(machine));
        operator_send(r, &recall);
    }
}

/* Make a backup now and then, and lose the store: it is restored from the backup, or moved. */
static void operator_replace_store(struct rack *r)
{
    const bool may = r->restores_left && !r->restore_now && !r->import_now;
    if (!r->backup || prng_chance(&r->rng, 40))
        rack_backup(r);
    if (may && rack_fault(r, RACK_RESTORED)) {
        r->restores_left--;
        rack_restore(r);
    } else if (may && rack_fault(r, RACK_IMPORTED)) {
        r->restores_left--;
        rack_import(r);
    }
}

/* Boot an installed machine into the discovery image. The boot barrier must delay the restart until
 * the image is served; rack_check_power() checks it. */
static void operator_debug(struct rack *r, uint32_t machine)
{
    struct noderole_record install;
    if (!rack_noderole(r, machine, "provisioner-os-install", &install) || !install.run_count ||
        r->machines[machine].env != RACK_ENV_LOCAL || !rack_fault(r, RACK_DEBUGGED))
        return;
    const struct command command = operator_make_verb(r, machine, COMMAND_NODE_DEBUG);
    r->machines[machine].boots_allowed += BOOTS_REQUESTED;
    operator_send(r, &command);
}

/* Leave the debug mode as soon as the discovery image has reported that it is alive. */
static void operator_undebug(struct rack *r, uint32_t machine)
{
    struct node_record node;
    struct rack_machine *m = &r->machines[machine];
    if (!rack_node(r, machine, &node) || !node.target_role_id || !m->is_ready ||
        m->call != CALL_NONE)
        return;
    const struct command command = operator_make_verb(r, machine, COMMAND_NODE_UNDEBUG);
    m->boots_allowed++; /* a second order of the same kind */
    operator_send(r, &command);
}

static bool operator_power_is_pending(const struct rack *r, int64_t node_id)
{
    const struct core *core = rack_core(r);
    for (int64_t id = 0; (id = core_next_id(core, TABLE_OUTBOX, id)) != 0;) {
        struct record record;
        if (core_record(core, TABLE_OUTBOX, id, &record) && record.outbox.kind == OUTBOX_POWER &&
            record.outbox.object_id == node_id)
            return true;
    }
    return false;
}

/* Request again a restart that the boot barrier gave up, as the status of the node recommends. A
 * probe that failed since has replaced the status: then the flag `stopped` of a node that is alive
 * is what the operator sees. */
static void operator_repeat_power(struct rack *r, uint32_t machine)
{
    struct node_record node;
    if (!rack_node(r, machine, &node) || !node.stopped || operator_power_is_pending(r, node.id) ||
        (node.reason != REASON_BOOT_NOT_SERVED && !node.alive))
        return;
    struct command command = {.kind = COMMAND_NODE_POWER};
    command.node_power.id = node.id;
    command.node_power.action = STR("reboot");
    r->machines[machine].boots_allowed++;
    rack_count_reached(r, RACK_REACHED_POWER_AGAIN);
    operator_send(r, &command);
}

static void operator_reboot(struct rack *r, uint32_t machine)
{
    struct command command = {.kind = COMMAND_NODE_POWER};
    command.node_power.id = rack_node_id(r, machine);
    command.node_power.action = STR("reboot");
    r->machines[machine].boots_allowed += BOOTS_REQUESTED;
    operator_send(r, &command);
}

/* The machine is in the discovery image and reports that it is alive; this is refused, because its
 * node has another boot environment: its power failed before the databases had published that. The
 * remedy in docs/runbook.md is to reboot it. */
static void operator_reboot_refused(struct rack *r, uint32_t machine)
{
    struct node_record node;
    struct rack_machine *m = &r->machines[machine];
    if (m->env != RACK_ENV_SLEDGEHAMMER || m->step == 0 || !rack_node(r, machine, &node) ||
        node.alive || node.stopped || operator_power_is_pending(r, node.id) ||
        str_eq(node.bootenv, STR("sledgehammer")))
        return;
    rack_count_reached(r, RACK_REACHED_REFUSED_REBOOTED);
    operator_reboot(r, machine);
}

/* The node is alive, but its console shows that no system runs: it lost its power, and has not been
 * granted the installer since. The restart states that it is not alive, so `why` explains it. */
static void operator_reboot_dead(struct rack *r, uint32_t machine)
{
    struct node_record node;
    if (rack_machine_is_stuck(r, machine) && rack_node(r, machine, &node) && node.alive &&
        !operator_power_is_pending(r, node.id) && (!r->has_faults || prng_chance(&r->rng, 300)))
        operator_reboot(r, machine);
}

static void operator_set_admin(struct rack *r, uint32_t given, bool value)
{
    struct command command = {.kind = COMMAND_NODE_UPDATE};
    command.node_update.id = rack_node_id(r, RACK_MACHINES_MAX);
    command.node_update.given = given;
    command.node_update.alive = command.node_update.available = value;
    operator_send(r, &command);
}

void rack_operator_admin(struct rack *r, int64_t what)
{
    if (!r->has_faults)
        return; /* rack_operator_repair() has done it */
    if (what == ADMIN_ALIVE_AGAIN)
        r->is_admin_up = true;
    operator_set_admin(r, what == ADMIN_ALIVE_AGAIN ? GIVEN_NODE_ALIVE : GIVEN_NODE_AVAILABLE,
                       true);
}

static void operator_disturb_admin(struct rack *r)
{
    const int64_t away_ms = prng_between(&r->rng, 10 * RACK_SECOND, 40 * RACK_MINUTE);
    if (rack_fault(r, RACK_ADMIN_DEAD)) {
        operator_set_admin(r, GIVEN_NODE_ALIVE, false);
        rack_at(r, away_ms, RACK_EVENT_ADMIN, (struct event){.detail = ADMIN_ALIVE_AGAIN});
    }
    if (rack_fault(r, RACK_ADMIN_UNAVAILABLE)) {
        operator_set_admin(r, GIVEN_NODE_AVAILABLE, false);
        rack_at(r, away_ms, RACK_EVENT_ADMIN, (struct event){.detail = ADMIN_AVAILABLE_AGAIN});
    }
}

/* Power cycle a machine whose node was deleted, by hand. */
static void operator_power_cycle(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    const bool is_new = m->env == RACK_ENV_SLEDGEHAMMER && m->step == 0; /* it will register */
    if (!rack_node_id(r, machine) && !is_new && m->env != RACK_ENV_FIRMWARE &&
        m->env != RACK_ENV_OFF) {
        m->boots_allowed += BOOTS_REQUESTED;
        rack_machine_reset(r, machine);
    }
    if (m->env == RACK_ENV_OFF && !r->has_faults)
        rack_power_on(r, machine);
}

/* After a restore the nodes are as they were when the backup was made. Restart all machines, so
 * that they report their environment. */
static void operator_follow_restore(struct rack *r)
{
    for (uint32_t i = 0; i < r->scenario.machines; i++) {
        struct node_record node;
        if (r->machines[i].started_in != r->history && rack_node(r, i, &node) && !node.stopped &&
            !operator_power_is_pending(r, node.id))
            operator_reboot(r, i);
    }
    if (r->history_seen == r->history)
        return;
    r->history_seen = r->history;
    r->is_admin_up = true;
    operator_set_admin(r, GIVEN_NODE_ALIVE | GIVEN_NODE_AVAILABLE, true);
}

/* ---- rounds ---- */

static void operator_check_machines(struct rack *r)
{
    operator_follow_restore(r);
    for (uint32_t i = 0; i < r->scenario.machines; i++) {
        operator_bind_application(r, i);
        operator_undebug(r, i);
        operator_repeat_power(r, i);
        operator_reboot_refused(r, i);
        operator_power_cycle(r, i);
        operator_redeploy_stopped(r, i);
        operator_reboot_dead(r, i);
    }
    if (operator_may_commit(r))
        operator_commit_proposed(r);
}

void rack_operator_acts(struct rack *r)
{
    const uint32_t machine = (uint32_t)prng_below(&r->rng, r->scenario.machines);
    if (!r->has_faults)
        return;
    rack_at(r, RACK_SECOND * prng_between(&r->rng, POLL_S_MIN, POLL_S_MAX), RACK_EVENT_OPERATOR,
            (struct event){0});
    if (!rack_core(r))
        return;
    operator_check_machines(r);
    operator_retry_errors(r, 300);
    operator_redeploy(r, machine);
    operator_delete_node(r, machine);
    operator_debug(r, machine);
    operator_withdraw(r, machine);
    operator_disturb_admin(r);
    if (rack_fault(r, RACK_RENAMED_OS))
        operator_choose_os(r, machine);
    operator_replace_store(r);
}

/* A machine whose node boots from disk, but whose disk has no system, needs a new installation.
 * This happens if its power fails after the installer has finished and before the databases
 * publish that, so that it boots the installer a second time, and fails again during that
 * installation. */
static void operator_redeploy_empty(struct rack *r, uint32_t machine)
{
    struct node_record node;
    struct rack_machine *m = &r->machines[machine];
    if (m->env != RACK_ENV_NOWHERE || !rack_node(r, machine, &node) ||
        operator_power_is_pending(r, node.id) || !str_eq(node.bootenv, STR("local")))
        return;
    if (prng_chance(&r->rng, 300)) { /* as above */
        operator_propose(r, machine, "provisioner-os-install");
        return;
    }
    const struct command command = operator_make_verb(r, machine, COMMAND_NODE_REDEPLOY);
    m->install_requests++;
    m->boots_allowed += BOOTS_REQUESTED;
    operator_send(r, &command);
}

void rack_operator_repair(struct rack *r)
{
    r->is_admin_up = true;
    operator_set_admin(r, GIVEN_NODE_ALIVE | GIVEN_NODE_AVAILABLE, true);
    operator_check_machines(r);
    for (uint32_t i = 0; i < r->scenario.machines; i++)
        operator_redeploy_empty(r, i);
    operator_retry_errors(r, 1000);
}
