#include "sim/rack/rack_private.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* People: who sets the admin node up, wants every machine installed, retries what failed, changes
 * their minds and makes trouble. They see records and machines, and send commands. */

static const char *const deployments[] = {"blue", "green"};
static const char *const systems[] = {"debian-12", "debian-13"};
static const char admin_name[] = "admin.rack.local";
static const char second_name[] = RACK_SECOND_NAME;

enum {
    LOOK_S_MIN = 20, /* between two looks of an operator */
    LOOK_S_MAX = 240,
    SET_UP_H = 2,
    ANSWER_MS = 10 * RACK_MINUTE,
    BOOTS_WANTED = 4, /* that a whim of an operator costs */
};

enum { ADMIN_DIES, ADMIN_LIVES, ADMIN_AWAY, ADMIN_BACK };

/* ---- looking ---- */

static int64_t find(const struct rack *r, enum table table, const char *name)
{
    const struct core *core = rack_core(r);
    return core ? core_find(core, table, str_from(name)) : 0;
}

int64_t rack_node_id(const struct rack *r, uint32_t machine)
{
    return find(r, TABLE_NODE,
                machine < RACK_MACHINES_MAX ? r->machines[machine].name
                : machine == RACK_ADMIN     ? admin_name
                                            : second_name);
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

static int64_t noderole_id(const struct rack *r, uint32_t machine, const char *role)
{
    const int64_t node = rack_node_id(r, machine);
    const int64_t id = find(r, TABLE_ROLE, role);
    return node && id ? core_noderole(rack_core(r), node, id) : 0;
}

bool rack_noderole(const struct rack *r, uint32_t machine, const char *role,
                   struct noderole_record *out_noderole)
{
    struct record record;
    const int64_t id = noderole_id(r, machine, role);
    if (!id || !core_record(rack_core(r), TABLE_NODEROLE, id, &record))
        return false;
    *out_noderole = record.noderole;
    return true;
}

/* ---- one command, and its answer ---- */

static bool has_word(struct rack *r, int64_t argument)
{
    return r->word.is_there && argument == 0;
}

struct rack_word rack_send(struct rack *r, const struct command *command)
{
    struct command copy = *command;
    copy.request = r->last_request += 2;
    if (!copy.actor.len)
        copy.actor = STR("operator");
    r->word = (struct rack_word){0};
    r->word_request = copy.request;
    rack_later(r, 1, &copy);
    rack_until(r, has_word, 0, ANSWER_MS);
    r->word_request = 0;
    return r->word;
}

/* Nobody waits for what comes of it. */
static void order(struct rack *r, const struct command *command)
{
    struct command copy = *command;
    copy.request = r->last_request += 2;
    copy.actor = STR("operator");
    rack_later(r, prng_between(&r->chance, 1, RACK_SECOND), &copy);
}

static struct command bind_of(const struct rack *r, uint32_t machine, const char *role,
                              const char *deployment)
{
    struct command command = {.kind = COMMAND_NODEROLE_BIND};
    command.noderole_bind.node_id = rack_node_id(r, machine);
    command.noderole_bind.role_id = find(r, TABLE_ROLE, role);
    command.noderole_bind.deployment_id = find(r, TABLE_DEPLOYMENT, deployment);
    return command;
}

struct rack_word rack_bind(struct rack *r, uint32_t machine, const char *role,
                           const char *deployment)
{
    const struct command command = bind_of(r, machine, role, deployment);
    return rack_send(r, &command);
}

static struct command commit_of(const struct rack *r, const char *deployment)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_COMMIT};
    command.deployment_commit.id = find(r, TABLE_DEPLOYMENT, deployment);
    return command;
}

struct rack_word rack_commit(struct rack *r, const char *deployment)
{
    const struct command command = commit_of(r, deployment);
    return rack_send(r, &command);
}

/* Every verb has the id of the node and nothing else. */
static struct command verb_of(const struct rack *r, uint32_t machine, enum command_kind verb)
{
    struct command command = {.kind = verb};
    must(verb == COMMAND_NODE_REDEPLOY || verb == COMMAND_NODE_DEBUG ||
         verb == COMMAND_NODE_UNDEBUG || verb == COMMAND_NODE_DELETE ||
         verb == COMMAND_NODE_COMMIT || verb == COMMAND_NODE_PROPOSE);
    command.node_commit.id = rack_node_id(r, machine);
    return command;
}

struct rack_word rack_node_verb(struct rack *r, uint32_t machine, enum command_kind verb)
{
    const struct command command = verb_of(r, machine, verb);
    return rack_send(r, &command);
}

/* ---- setting up ---- */

static bool import_all(struct rack *r)
{
    for (; r->imported < r->document_count; r->imported++) {
        struct command command = {.kind = COMMAND_IMPORT, .actor = STR("daemon")};
        command.import.barclamp = r->documents[r->imported];
        const struct rack_word word = rack_send(r, &command);
        if (!word.is_done) {
            rack_fail(r, "barclamp %u is refused: %s", r->imported, word.problem);
            return false;
        }
    }
    return true;
}

static bool is_settled(struct rack *r, int64_t machine)
{
    uint32_t count;
    const struct core *core = rack_core(r);
    const int64_t *ids =
        core_noderoles_of(core, rack_node_id(r, (uint32_t)machine), &r->scratch, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct record record;
        if (!core_record(core, TABLE_NODEROLE, ids[i], &record) ||
            record.noderole.state != NODEROLE_ACTIVE)
            return false;
    }
    return count > 0 && core_count(core, TABLE_OUTBOX) == 0 && core_count(core, TABLE_RUN) == 0;
}

/* As the first start of a daemon does; the admin node of the operator replaces it. It is not alive:
 * that would ask for a probe, and it is gone before one is answered. */
static bool make_automatic(struct rack *r)
{
    struct command make = {.kind = COMMAND_NODE_CREATE};
    make.node_create.name = str_from(admin_name);
    make.node_create.bootenv = STR("local");
    make.node_create.automatic = true;
    const struct rack_word word = rack_send(r, &make);
    if (!word.is_done)
        rack_fail(r, "the automatic node is refused: %s", word.problem);
    return word.is_done;
}

static bool make_admin(struct rack *r, uint32_t admin)
{
    struct command make = {.kind = COMMAND_NODE_CREATE};
    make.node_create.name = str_from(admin == RACK_ADMIN ? admin_name : second_name);
    make.node_create.admin = true;
    make.node_create.bootenv = STR("local");
    make.node_create.hint = admin == RACK_ADMIN ? STR("{\"admin-v4addr\":\"192.168.124.10/24\"}")
                                                : STR("{\"admin-v4addr\":\"192.168.124.11/24\"}");
    struct rack_word word = rack_send(r, &make);
    const int64_t id = word.id;
    if (word.is_done)
        word = rack_node_verb(r, admin, COMMAND_NODE_COMMIT);
    struct command alive = {.kind = COMMAND_NODE_UPDATE};
    alive.node_update.id = id;
    alive.node_update.given = GIVEN_NODE_ALIVE;
    alive.node_update.alive = true;
    if (word.is_done)
        word = rack_send(r, &alive);
    if (!word.is_done)
        rack_fail(r, "the admin node is refused: %s", word.problem);
    return word.is_done;
}

bool rack_add_databases(struct rack *r)
{
    static const char *const databases[] = {"dhcp-database", "provisioner-database"};
    if (!make_admin(r, RACK_SECOND_ADMIN))
        return false;
    r->second_dhcp = r->second_provisioner = STR("{}");
    for (uint32_t i = 0; i < 2; i++) {
        const struct rack_word word = rack_bind(r, RACK_SECOND_ADMIN, databases[i], "system");
        if (!word.is_done)
            rack_fail(r, "a second database is refused: %s", word.problem);
    }
    const struct rack_word word = rack_node_verb(r, RACK_SECOND_ADMIN, COMMAND_NODE_COMMIT);
    if (!word.is_done)
        rack_fail(r, "the second databases are refused: %s", word.problem);
    return rack_until(r, is_settled, RACK_SECOND_ADMIN, SET_UP_H * RACK_HOUR);
}

bool rack_set_up(struct rack *r)
{
    if (!import_all(r) || !make_automatic(r) || !make_admin(r, RACK_ADMIN))
        return false;
    for (uint32_t i = 0; i < sizeof deployments / sizeof *deployments; i++) {
        struct command command = {.kind = COMMAND_DEPLOYMENT_CREATE};
        command.deployment_create.name = str_from(deployments[i]);
        const struct rack_word word = rack_send(r, &command);
        if (!word.is_done)
            rack_fail(r, "a deployment is refused: %s", word.problem);
    }
    if (rack_until(r, is_settled, RACK_ADMIN, SET_UP_H * RACK_HOUR) &&
        (!r->draw.two_databases || rack_add_databases(r)))
        return true;
    uint32_t count;
    const int64_t *ids =
        core_noderoles_of(rack_core(r), rack_node_id(r, RACK_MACHINES_MAX), &r->scratch, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct cause *cause = core_why(rack_core(r), TABLE_NODEROLE, ids[i], &r->scratch);
        if (cause && cause->code != CAUSE_NONE)
            rack_fail(r, "the admin node does not come up: %.*s", STR_FMT_ARGS(cause->text));
    }
    rack_fail(r, "the admin node does not come up");
    return false;
}

/* ---- every machine is to be installed ---- */

static const char *deployment_of(uint32_t machine)
{
    return deployments[machine % (sizeof deployments / sizeof *deployments)];
}

/* True when there was something to draw. */
static bool wants_installed(struct rack *r, uint32_t machine)
{
    struct noderole_record managed;
    if (!rack_noderole(r, machine, "crowbar-managed-node", &managed) ||
        managed.state == NODEROLE_PROPOSED)
        return false;
    if (noderole_id(r, machine, "rack-application"))
        return false;
    const struct command command = bind_of(r, machine, "rack-application", deployment_of(machine));
    order(r, &command);
    return true;
}

static void choose_system(struct rack *r, uint32_t machine)
{
    struct command command = {.kind = COMMAND_ATTRIB_SET};
    const int64_t install = noderole_id(r, machine, "provisioner-os-install");
    const char *system = systems[prng_below(&r->chance, 2)];
    char value[32];
    snprintf(value, sizeof value, "\"%s\"", system);
    command.attrib_set.target = TABLE_NODEROLE;
    command.attrib_set.id = install;
    command.attrib_set.attrib_id = find(r, TABLE_ATTRIB, "provisioner-target_os");
    command.attrib_set.bucket = BUCKET_USER;
    command.attrib_set.value = str_copy(&r->story, str_from(value));
    if (install)
        order(r, &command);
}

/* Whatever is drawn in the two deployments is meant. */
static void commit_drawn(struct rack *r)
{
    bool drawn[2] = {false, false};
    for (uint32_t i = 0; i < r->draw.machines; i++) {
        struct noderole_record install, application;
        const bool is_bound = rack_noderole(r, i, "provisioner-os-install", &install) &&
                              rack_noderole(r, i, "rack-application", &application);
        if (!is_bound ||
            (install.state != NODEROLE_PROPOSED && application.state != NODEROLE_PROPOSED))
            continue;
        if (install.run_count == 0 && install.state == NODEROLE_PROPOSED &&
            prng_chance(&r->chance, 300))
            choose_system(r, i);
        else
            drawn[i % 2] = true;
    }
    for (uint32_t i = 0; i < 2; i++)
        if (drawn[i]) {
            const struct command command = commit_of(r, deployments[i]);
            order(r, &command);
        }
}

static bool has_parents(struct rack *r, int64_t noderole_id)
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

/* One that failed while a parent was lost keeps that parent from running, and cannot be retried: it
 * is taken back to the drawing board, and committed with the rest. */
static void retry_error(struct rack *r, int64_t noderole_id)
{
    struct command retry = {.kind = COMMAND_NODEROLE_RETRY};
    struct command propose = {.kind = COMMAND_NODEROLE_PROPOSE};
    struct command commit = {.kind = COMMAND_NODEROLE_COMMIT};
    retry.noderole_retry.id = propose.noderole_propose.id = noderole_id;
    commit.noderole_commit.id = noderole_id;
    if (has_parents(r, noderole_id)) {
        order(r, &retry);
        return;
    }
    order(r, &propose);
    commit.actor = STR("operator");
    rack_later(r, 2 * RACK_SECOND, &commit); /* or the next time somebody looks */
}

static void commit_again(struct rack *r, int64_t noderole_id)
{
    struct command commit = {.kind = COMMAND_NODEROLE_COMMIT};
    commit.noderole_commit.id = noderole_id;
    order(r, &commit);
}

static void retry_errors(struct rack *r, uint32_t per_mille)
{
    const struct core *core = rack_core(r);
    for (int64_t id = 0; (id = core_next_id(core, TABLE_NODEROLE, id)) != 0;) {
        struct record record;
        if (!core_record(core, TABLE_NODEROLE, id, &record) || !prng_chance(&r->chance, per_mille))
            continue;
        if (record.noderole.state == NODEROLE_PROPOSED && record.noderole.member_from)
            commit_again(r, id);
        if (record.noderole.state != NODEROLE_ERROR)
            continue;
        rack_reach(r, RACK_REACHED_OPERATOR_RETRIED);
        retry_error(r, id);
    }
}

/* ---- trouble ---- */

/* Somebody wants it installed once more, whatever it is doing. */
static void redeploy(struct rack *r, uint32_t machine)
{
    struct noderole_record install;
    if (!rack_noderole(r, machine, "provisioner-os-install", &install) ||
        install.state == NODEROLE_PROPOSED || !rack_fault(r, RACK_REDEPLOYED))
        return;
    const struct command command = verb_of(r, machine, COMMAND_NODE_REDEPLOY);
    r->machines[machine].permits++;
    r->machines[machine].boots_allowed += BOOTS_WANTED;
    order(r, &command);
}

/* Its node goes; the machine is switched off and on by hand, and comes as a stranger. */
static void delete_node(struct rack *r, uint32_t machine)
{
    if (!rack_node_id(r, machine) || !rack_fault(r, RACK_NODE_DELETED))
        return;
    const struct command command = verb_of(r, machine, COMMAND_NODE_DELETE);
    struct rack_machine *m = &r->machines[machine];
    m->boots_allowed += 2 * BOOTS_WANTED;
    order(r, &command);
}

/* A look inside, whatever is under way: the machine is not restarted before it would boot what it
 * should (X10). */
static void debug(struct rack *r, uint32_t machine)
{
    struct noderole_record install;
    if (!rack_noderole(r, machine, "provisioner-os-install", &install) || !install.run_count ||
        r->machines[machine].place != PLACE_LOCAL || !rack_fault(r, RACK_DEBUGGED))
        return;
    const struct command command = verb_of(r, machine, COMMAND_NODE_DEBUG);
    r->machines[machine].boots_allowed += BOOTS_WANTED;
    order(r, &command);
}

/* And back, once the image has reported that it is alive. */
static void undebug(struct rack *r, uint32_t machine)
{
    struct node_record node;
    struct rack_machine *m = &r->machines[machine];
    if (!rack_node(r, machine, &node) || !node.target_role_id || !m->is_ready ||
        m->call != CALL_NONE)
        return;
    const struct command command = verb_of(r, machine, COMMAND_NODE_UNDEBUG);
    m->boots_allowed++; /* a second order of the same kind */
    order(r, &command);
}

static bool waits(const struct rack *r, int64_t node_id)
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

/* What was given up is asked for again, as the status of the node says. */
static void power_again(struct rack *r, uint32_t machine)
{
    struct node_record node;
    if (!rack_node(r, machine, &node) || !node.stopped || waits(r, node.id) ||
        !str_starts(str_slice(node.status, str_find(node.status, ' ', 0), node.status.len),
                    STR(" was not done")))
        return;
    struct command command = {.kind = COMMAND_NODE_POWER};
    command.node_power.id = node.id;
    command.node_power.action = STR("reboot");
    r->machines[machine].boots_allowed++;
    rack_reach(r, RACK_REACHED_POWER_AGAIN);
    order(r, &command);
}

/* The machine is in the discovery image and reports that it is alive, which is refused because its
 * node is to boot something else: its power failed before the databases had published that. The
 * remedy of the runbook is to boot it into the right environment. */
static void reboot_refused(struct rack *r, uint32_t machine)
{
    struct node_record node;
    struct rack_machine *m = &r->machines[machine];
    if (m->place != PLACE_SLEDGEHAMMER || m->step == 0 || !rack_node(r, machine, &node) ||
        node.alive || node.stopped || waits(r, node.id) ||
        str_eq(node.bootenv, STR("sledgehammer")))
        return;
    struct command command = {.kind = COMMAND_NODE_POWER};
    command.node_power.id = node.id;
    command.node_power.action = STR("reboot");
    m->boots_allowed += BOOTS_WANTED;
    rack_reach(r, RACK_REACHED_REFUSED_REBOOTED);
    order(r, &command);
}

static void set_admin(struct rack *r, uint32_t given, bool value)
{
    struct command command = {.kind = COMMAND_NODE_UPDATE};
    command.node_update.id = rack_node_id(r, RACK_MACHINES_MAX);
    command.node_update.given = given;
    command.node_update.alive = command.node_update.available = value;
    order(r, &command);
}

void rack_operator_admin(struct rack *r, int64_t what)
{
    if (what == ADMIN_LIVES)
        r->is_admin_up = true;
    set_admin(r, what == ADMIN_LIVES ? GIVEN_NODE_ALIVE : GIVEN_NODE_AVAILABLE, true);
}

static void trouble_admin(struct rack *r)
{
    const int64_t away_ms = prng_between(&r->chance, 10 * RACK_SECOND, 40 * RACK_MINUTE);
    if (rack_fault(r, RACK_ADMIN_DEAD)) {
        set_admin(r, GIVEN_NODE_ALIVE, false);
        rack_at(r, away_ms, RACK_EVENT_ADMIN, (struct event){.detail = ADMIN_LIVES});
    }
    if (rack_fault(r, RACK_ADMIN_UNAVAILABLE)) {
        set_admin(r, GIVEN_NODE_AVAILABLE, false);
        rack_at(r, away_ms, RACK_EVENT_ADMIN, (struct event){.detail = ADMIN_BACK});
    }
}

/* Machines that nobody can reach any more are switched off and on. */
static void power_cycle_lost(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    const bool is_new = m->place == PLACE_SLEDGEHAMMER && m->step == 0; /* it will register */
    if (!rack_node_id(r, machine) && !is_new && m->place != PLACE_FIRMWARE &&
        m->place != PLACE_OFF) {
        m->boots_allowed += BOOTS_WANTED;
        rack_machine_reset(r, machine);
    }
    if (m->place == PLACE_OFF && !r->has_faults)
        rack_power_on(r, machine);
}

/* ---- one look ---- */

static void look_at_all(struct rack *r)
{
    for (uint32_t i = 0; i < r->draw.machines; i++) {
        wants_installed(r, i);
        undebug(r, i);
        power_again(r, i);
        reboot_refused(r, i);
        power_cycle_lost(r, i);
    }
    commit_drawn(r);
}

void rack_operator_acts(struct rack *r)
{
    const uint32_t machine = (uint32_t)prng_below(&r->chance, r->draw.machines);
    if (!r->has_faults)
        return;
    rack_at(r, RACK_SECOND * prng_between(&r->chance, LOOK_S_MIN, LOOK_S_MAX), RACK_EVENT_OPERATOR,
            (struct event){0});
    if (!rack_core(r))
        return;
    look_at_all(r);
    retry_errors(r, 300);
    redeploy(r, machine);
    delete_node(r, machine);
    debug(r, machine);
    trouble_admin(r);
    if (rack_fault(r, RACK_RENAMED_OS))
        choose_system(r, machine);
}

/* A machine whose disk has no system, though its node boots from it, needs a new installation: its
 * power failed after the installer had finished and before the databases had published that, so it
 * booted the installer a second time and lost its power in that. */
static void redeploy_empty(struct rack *r, uint32_t machine)
{
    struct node_record node;
    struct rack_machine *m = &r->machines[machine];
    if (m->place != PLACE_NOWHERE || !rack_node(r, machine, &node) || waits(r, node.id) ||
        !str_eq(node.bootenv, STR("local")))
        return;
    const struct command command = verb_of(r, machine, COMMAND_NODE_REDEPLOY);
    m->permits++;
    m->boots_allowed += BOOTS_WANTED;
    order(r, &command);
}

void rack_operator_mends(struct rack *r)
{
    r->is_admin_up = true;
    set_admin(r, GIVEN_NODE_ALIVE | GIVEN_NODE_AVAILABLE, true);
    look_at_all(r);
    for (uint32_t i = 0; i < r->draw.machines; i++)
        redeploy_empty(r, i);
    retry_errors(r, 1000);
}
