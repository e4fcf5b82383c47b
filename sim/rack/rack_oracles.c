#include "sim/rack/rack_private.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "boot/script/ticket.h"
#include "model/grant.h"

/* Oracles of the rack: invariants that are checked from the point of view of the machines, not of
 * the core, and the goal that must be reached at the end. A violation begins with the name of the
 * invariant:
 *
 *   early run        no role above crowbar-installed-node runs before the machine is installed
 *   disk             only provisioner-os-install wipes, only in the discovery image, and only disks
 *                    that are neither claimed nor removable
 *   committed disk   only disks are wiped whose name, serial number and size were committed
 *   repeated wipe    an installed machine is wiped only after a new request to install it
 *   boot loop        no machine boots more often than requests and faults explain
 *   unwiped install  the installer starts only on a disk that a run has wiped and nothing has
 *                    written to since
 *   grant            an installer starts only with the grant of an installation that is committed,
 *                    in the boot generation of its node, and once
 *   written twice    an installer writes once in a boot generation
 *   restore          after a restore or an import nothing is wiped and no installer starts before
 *                    the installation is committed again
 *   boot barrier     a machine is switched only when all that serve boots serve the boot generation
 *                    of its node
 *   boot view        the copy of a boot server is the view of the core at the acknowledged turn
 *   older boot       what has served a generation that a power action waited for never answers with
 *                    an older one
 *   address          DHCP gives a machine its own address, or one of the pool that no other machine
 *                    uses
 *   alive install    while the installer is still to be booted, its node is not alive
 *   published        at the end, each database publishes what the records require */

/* ---- scripts ---- */

static bool oracle_is_role(const struct rack *r, int64_t noderole_id, const char *role)
{
    struct record noderole, record;
    const struct core *core = rack_core(r);
    return core_record(core, TABLE_NODEROLE, noderole_id, &noderole) &&
           core_record(core, TABLE_ROLE, noderole.noderole.role_id, &record) &&
           str_eq(record.role.name, str_from(role));
}

/* True if a noderole of the milestone role is an ancestor: a breadth-first search upwards. */
static bool oracle_has_ancestor(struct rack *r, int64_t noderole_id, const char *milestone)
{
    enum { SEEN_MAX = 256 };
    int64_t seen[SEEN_MAX] = {noderole_id};
    uint32_t count = 1;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t parents;
        const int64_t *ids = core_parents(rack_core(r), seen[at], &r->scratch, &parents);
        for (uint32_t i = 0; i < parents; i++) {
            uint32_t known = 0;
            while (known < count && seen[known] != ids[i])
                known++;
            if (known == count && count < SEEN_MAX)
                seen[count++] = ids[i];
        }
        if (at && oracle_is_role(r, seen[at], milestone))
            return true;
    }
    return false;
}

void rack_check_begin(struct rack *r, const struct rack_attempt *attempt)
{
    if (attempt->machine < 0)
        return;
    const struct rack_machine *m = &r->machines[attempt->machine];
    /* After a restore the node is as alive as it was when the backup was made. */
    if (m->reported_in == r->history && m->env != RACK_ENV_LOCAL &&
        oracle_has_ancestor(r, attempt->noderole_id, "crowbar-installed-node"))
        rack_fail(r, "early run: %.*s runs on %s in environment %s, before an OS is installed",
                  STR_FMT_ARGS(attempt->role), m->name, rack_env_name(m->env));
}

static bool oracle_is_committed(struct rack *r, const struct rack_machine *m,
                                const struct rack_disk *disk)
{
    struct json *list = NULL;
    uint32_t offset;
    const char *what;
    if (!m->committed.len || json_read(&r->scratch, m->committed, &list, &offset, &what) != OK)
        return false;
    for (const struct json *entry = list->first; entry; entry = entry->next) {
        int64_t size = 0;
        const struct json *name = json_get(entry, STR("name"));
        const struct json *serial = json_get(entry, STR("serial"));
        const struct json *bytes = json_get(entry, STR("size"));
        if (name && serial && bytes && str_eq(name->text, str_from(disk->name)) &&
            str_eq(serial->text, str_from(disk->serial)) && json_as_i64(bytes, &size) &&
            size == disk->size)
            return true;
    }
    return false;
}

/* True if its installation was committed in the present history. */
static bool oracle_is_committed_now(const struct rack *r, const struct rack_machine *m)
{
    return m->committed_in == r->history;
}

/* Keeps the committed disks of a machine: its node may be deleted while the script still runs. */
static void oracle_note_committed(struct rack *r, uint32_t machine)
{
    struct noderole_record install;
    struct json *data;
    uint32_t offset;
    const char *what;
    struct rack_machine *m = &r->machines[machine];
    if (!rack_noderole(r, machine, "provisioner-os-install", &install) ||
        install.state == NODEROLE_PROPOSED || !install.committed_data.len ||
        json_read(&r->scratch, install.committed_data, &data, &offset, &what) != OK)
        return;
    const struct json *list = json_at(data, STR("announced/provisioner-os-install/wipe"));
    const struct str text = list ? json_write(&r->scratch, list) : STR("");
    if (!str_eq(text, m->committed))
        m->committed = str_copy(&r->arena, text);
}

void rack_check_wipe(struct rack *r, const struct rack_attempt *attempt, struct rack_disk *disk)
{
    const struct rack_machine *m = &r->machines[attempt->machine];
    const struct str role = attempt->role;
    if (!str_eq(role, STR("provisioner-os-install")))
        rack_fail(r, "disk: role %.*s wipes a disk of %s", STR_FMT_ARGS(role), m->name);
    if (m->env != RACK_ENV_SLEDGEHAMMER)
        rack_fail(r, "disk: a disk of %s is wiped in environment %s", m->name,
                  rack_env_name(m->env));
    if (disk->claimed || disk->removable)
        rack_fail(r, "disk: %s of %s is wiped although it is %s", disk->name, m->name,
                  disk->claimed ? "claimed by another owner" : "removable");
    if (!oracle_is_committed(r, m, disk))
        rack_fail(r, "committed disk: %s of %s (serial number %s) is wiped, but was not committed",
                  disk->name, m->name, disk->serial);
    if (!oracle_is_committed_now(r, m))
        rack_fail(r, "restore: %s is wiped, but its installation was committed before the restore",
                  m->name);
    if (m->installed_for_request == m->install_requests)
        rack_fail(r,
                  "repeated wipe: %s is wiped although it is installed and no new installation "
                  "was requested",
                  m->name);
}

/* ---- boots ---- */

static const struct rack_disk *oracle_root_disk(const struct rack_machine *m)
{
    for (uint32_t i = 0; i < m->disk_count; i++)
        if (!strcmp(m->disks[i].name, m->rootdev))
            return &m->disks[i];
    return NULL;
}

void rack_check_boot(struct rack *r, uint32_t machine)
{
    const struct rack_machine *m = &r->machines[machine];
    if (m->boots > m->boots_allowed)
        rack_fail(r, "boot loop: %s has booted %u times, at most %u are expected", m->name,
                  m->boots, m->boots_allowed);
    if (m->env != RACK_ENV_INSTALLER)
        return;
    const struct str ticket = r->scenario.is_native[RACK_PROVISIONER]
                                  ? ticket_hash(&r->scratch, str_from(m->ticket))
                                  : str_from(m->ticket);
    if (!str_eq(ticket, str_from(m->granted)))
        rack_fail(r, "grant: %s starts an installer without a grant for its ticket", m->name);
    else if (m->granted_generation != m->answer.generation)
        rack_fail(r, "grant: %s starts the installer of another generation", m->name);
    const struct rack_disk *disk = oracle_root_disk(m);
    if (!disk)
        rack_fail(r, "disk: the installer of %s gets the root disk \"%s\", which does not exist",
                  m->name, m->rootdev);
    else if (disk->claimed || disk->removable)
        rack_fail(r, "disk: the installer of %s gets the root disk %s, which is %s", m->name,
                  m->rootdev, disk->claimed ? "claimed by another owner" : "removable");
    else if (!disk->wiped)
        rack_fail(r, "unwiped install: %s starts the installer, but no run has wiped its disk",
                  m->name);
}

/* An installer that was running while the store was restored is not stopped. */
void rack_check_write(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    const struct rack_answer *before = &m->wrote, *now = &m->answer;
    if (before->node_id == now->node_id && before->generation == now->generation &&
        before->history == m->history)
        rack_fail(r, "written twice: an installer of %s writes again in boot generation %lld",
                  m->name, (long long)now->generation);
    m->wrote = *now;
    m->wrote.history = m->history;
}

/* ---- answers ---- */

void rack_check_answer(struct rack *r, uint32_t machine, uint32_t admin, enum rack_service service,
                       const struct rack_answer *answer)
{
    const struct rack_floor *floor = &r->machines[machine].floors[admin][service];
    if (floor->node_id && floor->node_id == answer->node_id && floor->history == answer->history &&
        answer->generation < floor->generation)
        rack_fail(r, "older boot: %s is answered with generation %lld after %s served %lld",
                  r->machines[machine].name, (long long)answer->generation,
                  rack_service_role(service), (long long)floor->generation);
}

void rack_check_address(struct rack *r, uint32_t machine, uint32_t address)
{
    const char *name = r->machines[machine].name;
    const uint32_t host = address - RACK_SUBNET;
    if (address == rack_machine_address(r, machine))
        return;
    if (host < RACK_POOL_FIRST || host > RACK_POOL_LAST)
        rack_fail(r, "address: %s gets the address .%u, which is another machine's", name, host);
    for (uint32_t i = 0; i < r->scenario.machines; i++)
        if (i != machine && r->machines[i].env != RACK_ENV_OFF &&
            r->machines[i].net.address == address)
            rack_fail(r, "address: %s gets the address .%u, which %s uses", name, host,
                      r->machines[i].name);
}

/* ---- grants ---- */

/* A redeploy proposes the installation and commits it in one step. */
static void oracle_follow_redeploy(struct rack *r, int64_t node_id)
{
    const int32_t machine = rack_machine_of(r, node_id);
    if (machine < 0 || !r->machines[machine].is_committed)
        return;
    r->machines[machine].committed_in = r->history;
    r->machines[machine].committed_node = node_id;
}

/* The core has said that the installer is granted, as far as the batch becomes durable. */
static void oracle_check_granted(struct rack *r, const struct grant_use_command *use)
{
    struct node_record node;
    struct noderole_record install;
    const int32_t machine = rack_machine_of(r, use->node_id);
    if (machine < 0) {
        rack_fail(r, "grant: an installer of node %lld is granted, which no machine has",
                  (long long)use->node_id);
        return;
    }
    const struct rack_machine *m = &r->machines[machine];
    if (!str_eq(use->mac, str_from(m->mac)))
        rack_fail(r, "grant: the installer of %s is granted to the machine with the MAC %.*s",
                  m->name, STR_FMT_ARGS(use->mac));
    must(rack_node(r, (uint32_t)machine, &node));
    const bool is_bound = rack_noderole(r, (uint32_t)machine, "provisioner-os-install", &install);
    if (!is_bound || install.state == NODEROLE_PROPOSED || install.state == NODEROLE_ERROR)
        rack_fail(r, "grant: the installer of %s is granted, but its installation is not committed",
                  m->name);
    if (node.boot_generation != use->generation || !str_ends(node.bootenv, STR("-install")))
        rack_fail(r, "grant: the installer of %s is granted in another boot generation", m->name);
    if (!oracle_is_committed_now(r, m) || m->committed_node != use->node_id)
        rack_fail(r,
                  "restore: the installer of %s is granted, but its installation was committed "
                  "before the restore",
                  m->name);
}

/* Count the answers; "local" has two reasons. */
static void oracle_count_answer(struct rack *r, const struct grant_use_command *use, struct str doc)
{
    struct grant grant = {0};
    const bool is_known = core_grant(rack_core(r), use->node_id, &grant);
    const int32_t machine = rack_machine_of(r, use->node_id);
    enum rack_reached what = RACK_REACHED_GRANT_REFUSED;
    if (str_eq(doc, grant_answer_doc(GRANT_GRANTED))) {
        char *ticket = machine < 0 ? NULL : r->machines[machine].granted;
        const bool is_again = ticket && str_eq(use->ticket, str_from(ticket));
        what = is_again ? RACK_REACHED_GRANTED_AGAIN : RACK_REACHED_GRANTED;
        if (ticket) {
            snprintf(ticket, sizeof r->machines[0].granted, "%.*s", STR_FMT_ARGS(use->ticket));
            r->machines[machine].granted_generation = use->generation;
        }
    } else if (str_eq(doc, grant_answer_doc(GRANT_STALE))) {
        const bool is_current = is_known && grant.generation == use->generation;
        what = is_current ? RACK_REACHED_OTHER_MAC : RACK_REACHED_GRANT_STALE;
    } else if (is_known && grant.state == GRANT_USED) {
        what = RACK_REACHED_TICKET_REFUSED;
    }
    rack_count_reached(r, what);
}

/* An installation is committed when its noderole is not PROPOSED any more. */
static void oracle_follow_commits(struct rack *r, bool is_loaded)
{
    for (uint32_t i = 0; i < r->scenario.machines; i++) {
        struct noderole_record install;
        struct rack_machine *m = &r->machines[i];
        const bool was = m->is_committed;
        const bool is_bound = rack_noderole(r, i, "provisioner-os-install", &install);
        m->is_committed = is_bound && install.state != NODEROLE_PROPOSED;
        if (m->is_committed && !was && !is_loaded) {
            m->committed_in = r->history;
            m->committed_node = install.node_id;
        }
    }
}

/* ---- power ---- */

static bool oracle_has_order(const int64_t *orders, int64_t outbox_id)
{
    for (uint32_t i = 0; i < RACK_ORDERS_MAX; i++)
        if (orders[i] == outbox_id)
            return true;
    return false;
}

static bool oracle_action_boots(struct str action)
{
    return str_eq(action, STR("on")) || str_eq(action, STR("reboot")) ||
           str_eq(action, STR("reset")) || str_eq(action, STR("cycle"));
}

/* No power action waits for boot servers before the first one of the installation has connected. */
static bool oracle_is_waited_for(const struct rack *r, enum rack_service service)
{
    struct record settings;
    return !r->scenario.is_native[service] ||
           (core_record(rack_core(r), TABLE_SETTINGS, 1, &settings) &&
            settings.settings.boot_server);
}

/* A power action passes the boot barrier now. A boot server without a copy answers nothing, so a
 * machine waits for it. In generation 0 nothing waits: such a node was never anything but new. */
static void oracle_check_release(struct rack *r, const struct outbox_record *row, uint32_t machine)
{
    struct node_record node;
    const struct rack_machine *m = &r->machines[machine];
    struct boot_entry entry;
    if (!rack_node(r, machine, &node) || node.id != row->object_id || !node.boot_generation ||
        !core_boot_view(rack_core(r), (struct boot_key){BOOT_MACHINE, node.id}, &r->scratch,
                        &entry))
        return;
    for (uint32_t admin = 0; admin < RACK_ADMINS; admin++)
        for (uint32_t i = 0; i < RACK_SERVICE_COUNT; i++) {
            struct rack_answer answer;
            const enum rack_service service = (enum rack_service)i;
            struct rack_floor *floor = &r->machines[machine].floors[admin][i];
            *floor = (struct rack_floor){0};
            if (!rack_is_serving(r, admin, service) || !oracle_is_waited_for(r, service))
                continue;
            *floor = (struct rack_floor){node.id, node.boot_generation, r->history};
            const enum rack_answered answered =
                rack_served_node(r, admin, service, node.id, &answer);
            if (answered == RACK_SILENT ||
                (answered == RACK_ANSWERED && answer.history == r->history &&
                 answer.generation >= node.boot_generation))
                continue;
            rack_fail(r,
                      "boot barrier: %s is switched while %s on admin node %u serves generation "
                      "%lld%s, not %lld",
                      m->name, rack_service_role(service), admin + 1, (long long)answer.generation,
                      answered == RACK_ANSWERED && answer.history != r->history
                          ? " of the time before the restore"
                          : "",
                      (long long)node.boot_generation);
        }
}

/* Power actions that wait at the boot barrier, and those that pass it in this step. Those that had
 * passed it when the core was stored are sent again. */
static void oracle_follow_power(struct rack *r, bool is_loaded)
{
    const struct core *core = rack_core(r);
    for (int64_t id = 0; (id = core_next_id(core, TABLE_OUTBOX, id)) != 0;) {
        struct record record;
        if (!core_record(core, TABLE_OUTBOX, id, &record) || record.outbox.kind != OUTBOX_POWER ||
            !oracle_action_boots(record.outbox.detail))
            continue;
        if (record.outbox.generation) {
            if (!oracle_has_order(r->waited, id)) {
                r->waited[r->waited_count++ % RACK_ORDERS_MAX] = id;
                rack_count_reached(r, RACK_REACHED_POWER_WAITED);
            }
        } else if (!oracle_has_order(r->released, id)) {
            const int32_t machine = rack_machine_of(r, record.outbox.object_id);
            r->released[r->released_count++ % RACK_ORDERS_MAX] = id;
            if (machine >= 0 && !is_loaded)
                oracle_check_release(r, &record.outbox, (uint32_t)machine);
        }
    }
}

void rack_check_power(struct rack *r, uint32_t machine, const struct outbox_record *row)
{
    if (row->generation)
        rack_fail(r, "boot barrier: %s is switched while power action %lld still waits",
                  r->machines[machine].name, (long long)row->id);
}

/* ---- every command ---- */

void rack_check_loaded(struct rack *r)
{
    oracle_follow_commits(r, true);
    oracle_follow_power(r, true);
}

void rack_check_stepped(struct rack *r, const struct command *command,
                        const struct outcome *outcome)
{
    if (outcome->verdict != VERDICT_DONE)
        return;
    oracle_follow_commits(r, false);
    if (command->kind == COMMAND_NODE_REDEPLOY)
        oracle_follow_redeploy(r, command->node_redeploy.id);
    oracle_follow_power(r, false);
    if (command->kind == COMMAND_GRANT_USE) {
        oracle_count_answer(r, &command->grant_use, outcome->doc);
        if (str_eq(outcome->doc, grant_answer_doc(GRANT_GRANTED)))
            oracle_check_granted(r, &command->grant_use);
    }
    if (command->kind == COMMAND_NODE_UPDATE && command->node_update.alive &&
        command->node_update.given & GIVEN_NODE_ALIVE) {
        const int32_t machine = rack_machine_of(r, command->node_update.id);
        if (machine >= 0)
            r->machines[machine].reported_in = r->history;
    }
}

/* ---- records ---- */

/* The step that sets provisioner-os-install to ACTIVE must also set the node to not alive.
 * Otherwise the roles above it would run in the discovery image until the reboot. */
static void oracle_check_machine(struct rack *r, uint32_t machine)
{
    struct node_record node;
    struct noderole_record install;
    if (!rack_node(r, machine, &node) ||
        !rack_noderole(r, machine, "provisioner-os-install", &install))
        return;
    if (install.state == NODEROLE_ACTIVE && node.alive && str_ends(node.bootenv, STR("-install")))
        rack_fail(
            r,
            "alive install: provisioner-os-install is ACTIVE on %s, which is alive and has not "
            "booted %.*s yet",
            r->machines[machine].name, STR_FMT_ARGS(node.bootenv));
}

/* Coverage only: a database run is due while its node is not alive or not available. */
static void oracle_count_due_database(struct rack *r)
{
    struct node_record node;
    struct noderole_record database;
    if (!rack_node(r, RACK_MACHINES_MAX, &node) ||
        !rack_noderole(r, RACK_MACHINES_MAX, "dhcp-database", &database))
        return;
    const bool is_due =
        (!node.alive || !node.available) && (database.rerun || database.state == NODEROLE_TODO);
    if (is_due && !r->is_database_due)
        rack_count_reached(r, RACK_REACHED_DATABASE_WAITED);
    r->is_database_due = is_due;
}

void rack_check_durable(struct rack *r)
{
    oracle_count_due_database(r);
    for (uint32_t i = 0; i < r->scenario.machines; i++) {
        oracle_check_machine(r, i);
        oracle_note_committed(r, i);
    }
}

/* ---- the goal ---- */

static const char *oracle_sentence(struct rack *r, const char *subject, const char *text,
                                   struct str rest)
{
    char *out = arena_alloc(&r->arena, 400);
    snprintf(out, 400, "%s %s%.*s", subject, text, STR_FMT_ARGS(rest));
    return out;
}

static const char *oracle_missing_noderole(struct rack *r)
{
    const struct core *core = rack_core(r);
    for (int64_t id = 0; (id = core_next_id(core, TABLE_NODEROLE, id)) != 0;) {
        struct record record;
        const struct cause *cause = core_why(core, TABLE_NODEROLE, id, &r->scratch);
        if (!core_record(core, TABLE_NODEROLE, id, &record) || !cause)
            return "a noderole has no record";
        while (cause->next)
            cause = cause->next;
        if (record.noderole.state != NODEROLE_ACTIVE || cause->code != CAUSE_NONE)
            return oracle_sentence(r, "a noderole is not ACTIVE:", "", cause->text);
    }
    return NULL;
}

/* The chain of `why` of a node, for the message. */
static struct str oracle_why(struct rack *r, int64_t node_id)
{
    struct str text = STR("");
    for (const struct cause *cause = core_why(rack_core(r), TABLE_NODE, node_id, &r->scratch);
         cause; cause = cause->next)
        text = STR_CONCAT(&r->scratch, text, STR("; "), cause->text);
    return text;
}

static const char *oracle_missing_of_machine(struct rack *r, uint32_t machine)
{
    const struct rack_machine *m = &r->machines[machine];
    struct node_record node;
    struct noderole_record noderole;
    if (!rack_node(r, machine, &node))
        return oracle_sentence(r, m->name, "has no node", STR(""));
    if (m->env != RACK_ENV_LOCAL)
        return oracle_sentence(
            r, m->name, "is in environment ",
            STR_CONCAT(&r->scratch, str_from(rack_env_name(m->env)), oracle_why(r, node.id)));
    if (!m->is_ready || m->call != CALL_NONE) /* the node may be alive as it was before this boot */
        return oracle_sentence(r, m->name, "has not joined", STR(""));
    if (!node.alive || !str_eq(node.bootenv, STR("local")))
        return oracle_sentence(r, m->name, "is not alive, or has the boot environment ",
                               node.bootenv);
    if (!rack_noderole(r, machine, "rack-application", &noderole) || !noderole.run_count)
        return oracle_sentence(r, m->name, "has not run rack-application", STR(""));
    if (!rack_noderole(r, machine, "provisioner-os-install", &noderole) || noderole.run_count != 1)
        return oracle_sentence(r, m->name, "has not run provisioner-os-install exactly once",
                               STR(""));
    return NULL;
}

const char *rack_missing(struct rack *r)
{
    const struct core *core = rack_core(r);
    const char *missing = core ? NULL : "the daemon is down";
    for (uint32_t i = 0; i < r->scenario.machines && !missing; i++)
        missing = oracle_missing_of_machine(r, i);
    if (!missing)
        missing = oracle_missing_noderole(r);
    if (!missing && core_count(core, TABLE_OUTBOX))
        missing = "a row of the outbox has no result";
    if (!missing && core_count(core, TABLE_RUN))
        missing = "a run has not ended";
    if (!missing)
        missing = rack_missing_served(r);
    return missing;
}
