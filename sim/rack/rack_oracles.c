#include "sim/rack/rack_private.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"

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
 *   unwiped install  the installer boots only on a machine that a run has wiped
 *   boot barrier     a machine is switched only when what it waits for is served
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
    if (m->env != RACK_ENV_LOCAL &&
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
    const struct rack_disk *disk = oracle_root_disk(m);
    if (!disk)
        rack_fail(r, "disk: the installer of %s gets the root disk \"%s\", which does not exist",
                  m->name, m->rootdev);
    else if (disk->claimed || disk->removable)
        rack_fail(r, "disk: the installer of %s gets the root disk %s, which is %s", m->name,
                  m->rootdev, disk->claimed ? "claimed by another owner" : "removable");
    else if (!m->may_install)
        rack_fail(r, "unwiped install: %s boots the installer, but no run has wiped it", m->name);
}

/* ---- power ---- */

static void oracle_note_waiting(struct rack *r, const struct outbox_record *row)
{
    for (uint32_t i = 0; i < RACK_WAITING_MAX; i++)
        if (r->waiting[i].outbox_id == row->id)
            return;
    r->waiting[r->waiting_count++ % RACK_WAITING_MAX] =
        (struct rack_waiting){.outbox_id = row->id, .generation = row->generation};
    rack_count_reached(r, RACK_REACHED_POWER_WAITED);
}

static bool oracle_action_boots(struct str action)
{
    return str_eq(action, STR("on")) || str_eq(action, STR("reboot")) ||
           str_eq(action, STR("reset")) || str_eq(action, STR("cycle"));
}

/* Boot barrier: every database that lists the machine publishes the boot generation that the action
 * waited for, or a later one. */
void rack_check_power(struct rack *r, uint32_t machine, const struct outbox_record *row)
{
    const struct str served[] = {r->dhcp, r->provisioner, r->second_dhcp, r->second_provisioner};
    static const char *const names[] = {"dhcp", "provisioner", "the second dhcp",
                                        "the second provisioner"};
    if (row->generation)
        rack_fail(r, "boot barrier: %s is switched while power action %lld still waits",
                  r->machines[machine].name, (long long)row->id);
    for (uint32_t i = 0; i < RACK_WAITING_MAX && oracle_action_boots(row->detail); i++) {
        if (r->waiting[i].outbox_id != row->id)
            continue;
        for (uint32_t k = 0; k < sizeof served / sizeof *served; k++) {
            const int64_t generation = rack_served_generation(r, served[k], machine);
            if (generation >= 0 && generation < r->waiting[i].generation)
                rack_fail(r,
                          "boot barrier: %s is switched while %s serves generation %lld, not %lld",
                          r->machines[machine].name, names[k], (long long)generation,
                          (long long)r->waiting[i].generation);
        }
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
    /* Record the power actions that wait: rack_check_power() compares them when they are sent. */
    const struct core *core = rack_core(r);
    for (int64_t id = 0; (id = core_next_id(core, TABLE_OUTBOX, id)) != 0;) {
        struct record record;
        if (core_record(core, TABLE_OUTBOX, id, &record) && record.outbox.generation)
            oracle_note_waiting(r, &record.outbox);
    }
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

static const char *oracle_missing_of_machine(struct rack *r, uint32_t machine)
{
    const struct rack_machine *m = &r->machines[machine];
    struct node_record node;
    struct noderole_record noderole;
    if (!rack_node(r, machine, &node))
        return oracle_sentence(r, m->name, "has no node", STR(""));
    if (m->env != RACK_ENV_LOCAL)
        return oracle_sentence(r, m->name, "is in environment ", str_from(rack_env_name(m->env)));
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

/* ---- expected clients, computed from the records alone ---- */

static void oracle_put_upper(struct json *list, struct arena *a, struct str mac)
{
    char *upper = arena_copy(a, mac.at, mac.len);
    for (uint32_t i = 0; i < mac.len; i++)
        if (upper[i] >= 'a' && upper[i] <= 'f')
            upper[i] = (char)(upper[i] - 'a' + 'A');
    json_append(list, json_make_string(a, (struct str){upper, mac.len}));
}

/* Each simulated machine has exactly one MAC address, in its hint. */
static struct json *oracle_expected_entry(struct rack *r, uint32_t machine, bool is_dhcp)
{
    struct node_record node;
    struct noderole_record managed;
    struct json *hint, *entry = json_make(&r->scratch, JSON_OBJECT);
    uint32_t offset;
    const char *what;
    if (!rack_node(r, machine, &node) ||
        !rack_noderole(r, machine, "crowbar-managed-node", &managed) ||
        json_read(&r->scratch, node.hint, &hint, &offset, &what) != OK)
        return NULL;
    json_set(entry, STR("bootenv"), json_make_string(&r->scratch, node.bootenv));
    json_set(entry, STR("generation"), json_make_i64(&r->scratch, node.boot_generation));
    json_set(entry, STR("node_id"), json_make_i64(&r->scratch, node.id));
    json_set(entry, STR("v4addr"), json_clone(&r->scratch, json_get(hint, STR("admin-v4addr"))));
    if (is_dhcp) {
        struct json *macs = json_make(&r->scratch, JSON_ARRAY);
        oracle_put_upper(macs, &r->scratch, str_from(r->machines[machine].mac));
        json_set(entry, STR("mac_addresses"), macs);
    }
    return entry;
}

static struct str oracle_expected_clients(struct rack *r, bool is_dhcp)
{
    struct json *clients = json_make(&r->scratch, JSON_OBJECT);
    for (uint32_t i = 0; i < r->scenario.machines; i++) {
        struct json *entry = oracle_expected_entry(r, i, is_dhcp);
        if (entry)
            json_set(clients, str_from(r->machines[i].name), entry);
    }
    return json_write(&r->scratch, clients);
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
    if (!missing && !str_eq(r->dhcp, oracle_expected_clients(r, true)))
        missing = oracle_sentence(r, "published: dhcp-database", "serves ", r->dhcp);
    if (!missing && !str_eq(r->provisioner, oracle_expected_clients(r, false)))
        missing = oracle_sentence(r, "published: provisioner-database", "serves ", r->provisioner);
    if (!missing && r->second_dhcp.len && !str_eq(r->second_dhcp, oracle_expected_clients(r, true)))
        missing =
            oracle_sentence(r, "published: the second dhcp-database", "serves ", r->second_dhcp);
    if (!missing && r->second_provisioner.len &&
        !str_eq(r->second_provisioner, oracle_expected_clients(r, false)))
        missing = oracle_sentence(r, "published: the second provisioner-database", "serves ",
                                  r->second_provisioner);
    return missing;
}
