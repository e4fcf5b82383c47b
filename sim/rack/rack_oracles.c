#include "sim/rack/rack_private.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"

/* What must never be, seen from the machines and not from the core; and what must be in the end. */

static const char *name_of(const struct rack *r, const struct rack_work *work)
{
    return r->machines[work->machine].name;
}

/* ---- scripts ---- */

static bool is_role(const struct rack *r, int64_t noderole_id, const char *role)
{
    struct record noderole, record;
    const struct core *core = rack_core(r);
    return core_record(core, TABLE_NODEROLE, noderole_id, &noderole) &&
           core_record(core, TABLE_ROLE, noderole.noderole.role_id, &record) &&
           str_eq(record.role.name, str_from(role));
}

/* Does it build, however far, on the milestone? A walk over the graph; few noderoles are above. */
static bool builds_on(struct rack *r, int64_t noderole_id, const char *milestone)
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
        if (at && is_role(r, seen[at], milestone))
            return true;
    }
    return false;
}

void rack_check_begin(struct rack *r, const struct rack_work *work)
{
    if (work->machine < 0)
        return;
    const enum rack_place place = r->machines[work->machine].place;
    if (place != PLACE_LOCAL && builds_on(r, work->noderole_id, "crowbar-installed-node"))
        rack_fail(r, "X2: %.*s runs on %s in %s, where nothing is installed",
                  STR_FMT_ARGS(work->role), name_of(r, work), rack_place_name(place));
}

void rack_check_wipe(struct rack *r, const struct rack_work *work, struct rack_disk *disk)
{
    const struct rack_machine *m = &r->machines[work->machine];
    const struct str role = work->role;
    if (!str_eq(role, STR("provisioner-os-install")))
        rack_fail(r, "%.*s wipes a disk of %s", STR_FMT_ARGS(role), m->name);
    if (m->place != PLACE_SLEDGEHAMMER)
        rack_fail(r, "a disk of %s is wiped in %s", m->name, rack_place_name(m->place));
    if (disk->claimed || disk->removable)
        rack_fail(r, "disk %s of %s is wiped, though it is %s", disk->name, m->name,
                  disk->claimed ? "somebody else's" : "removable");
    if (m->permit_used == m->permits)
        rack_fail(r, "X4: %s is wiped, though it is installed and nobody wanted it again", m->name);
}

/* ---- boots ---- */

static const struct rack_disk *told_disk(const struct rack_machine *m)
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
        rack_fail(r, "X5: %s boots for the %uth time and goes on doing so", m->name, m->boots);
    if (m->place != PLACE_INSTALLER)
        return;
    const struct rack_disk *disk = told_disk(m);
    if (!disk)
        rack_fail(r, "the installer of %s is told to use \"%s\", which it has not", m->name,
                  m->rootdev);
    else if (disk->claimed || disk->removable)
        rack_fail(r, "the installer of %s is told to use %s, which is not free", m->name,
                  m->rootdev);
    else if (!m->may_install)
        rack_fail(r, "X14: %s boots the installer, and no run has wiped it", m->name);
}

/* ---- power ---- */

static void note_waiting(struct rack *r, const struct outbox_record *row)
{
    for (uint32_t i = 0; i < RACK_WAITING_MAX; i++)
        if (r->waiting[i].outbox_id == row->id)
            return;
    r->waiting[r->waiting_count++ % RACK_WAITING_MAX] =
        (struct rack_waiting){.outbox_id = row->id, .generation = row->generation};
    rack_reach(r, RACK_REACHED_POWER_WAITED);
}

static void look_for_waiting(struct rack *r)
{
    const struct core *core = rack_core(r);
    for (int64_t id = 0; (id = core_next_id(core, TABLE_OUTBOX, id)) != 0;) {
        struct record record;
        if (core_record(core, TABLE_OUTBOX, id, &record) && record.outbox.generation)
            note_waiting(r, &record.outbox);
    }
}

static bool makes_boot(struct str action)
{
    return str_eq(action, STR("on")) || str_eq(action, STR("reboot")) ||
           str_eq(action, STR("reset")) || str_eq(action, STR("cycle"));
}

/* X1, X9, X10: whoever knows the machine serves what it was to wait for, or something later. */
void rack_check_power(struct rack *r, uint32_t machine, const struct outbox_record *row)
{
    const struct str served[] = {r->dhcp, r->provisioner, r->second_dhcp, r->second_provisioner};
    static const char *const names[] = {"dhcp", "provisioner", "the second dhcp",
                                        "the second provisioner"};
    if (row->generation)
        rack_fail(r, "X10: %s is switched while its power waits", r->machines[machine].name);
    for (uint32_t i = 0; i < RACK_WAITING_MAX && makes_boot(row->detail); i++) {
        if (r->waiting[i].outbox_id != row->id)
            continue;
        for (uint32_t k = 0; k < sizeof served / sizeof *served; k++) {
            const int64_t generation = rack_served_generation(r, served[k], machine);
            if (generation >= 0 && generation < r->waiting[i].generation)
                rack_fail(r, "X10: %s is switched when %s serves generation %lld, not %lld",
                          r->machines[machine].name, names[k], (long long)generation,
                          (long long)r->waiting[i].generation);
        }
    }
}

/* ---- records ---- */

/* ACTIVE comes together with not alive (X3): while the installer is to be booted nobody may take
 * the machine for one on which something can run. */
static void check_machine(struct rack *r, uint32_t machine)
{
    struct node_record node;
    struct noderole_record install;
    if (!rack_node(r, machine, &node) ||
        !rack_noderole(r, machine, "provisioner-os-install", &install))
        return;
    if (install.state == NODEROLE_ACTIVE && node.alive && str_ends(node.bootenv, STR("-install")))
        rack_fail(
            r, "X3: provisioner-os-install is active on %s, which is alive and still to boot %.*s",
            r->machines[machine].name, STR_FMT_ARGS(node.bootenv));
}

/* X8 comes about by itself; here it is only counted. */
static void count_waiting_database(struct rack *r)
{
    struct node_record node;
    struct noderole_record database;
    if (!rack_node(r, RACK_MACHINES_MAX, &node) ||
        !rack_noderole(r, RACK_MACHINES_MAX, "dhcp-database", &database))
        return;
    const bool is_due =
        (!node.alive || !node.available) && (database.rerun || database.state == NODEROLE_TODO);
    if (is_due && !r->is_database_due)
        rack_reach(r, RACK_REACHED_DATABASE_WAITED);
    r->is_database_due = is_due;
}

void rack_check_durable(struct rack *r)
{
    count_waiting_database(r);
    look_for_waiting(r);
    for (uint32_t i = 0; i < r->draw.machines; i++)
        check_machine(r, i);
}

/* ---- the end ---- */

static const char *sentence(struct rack *r, const char *subject, const char *text, struct str rest)
{
    char *out = arena_alloc(&r->story, 400);
    snprintf(out, 400, "%s %s%.*s", subject, text, STR_FMT_ARGS(rest));
    return out;
}

static const char *missing_noderole(struct rack *r)
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
            return sentence(r, "a noderole waits:", "", cause->text);
    }
    return NULL;
}

static const char *missing_machine(struct rack *r, uint32_t machine)
{
    const struct rack_machine *m = &r->machines[machine];
    struct node_record node;
    struct noderole_record noderole;
    if (!rack_node(r, machine, &node))
        return sentence(r, m->name, "has no node", STR(""));
    if (m->place != PLACE_LOCAL)
        return sentence(r, m->name, "is in ", str_from(rack_place_name(m->place)));
    if (!node.alive || !str_eq(node.bootenv, STR("local")))
        return sentence(r, m->name, "is not alive, or to boot ", node.bootenv);
    if (!rack_noderole(r, machine, "rack-application", &noderole) || !noderole.run_count)
        return sentence(r, m->name, "has not got its application", STR(""));
    if (!rack_noderole(r, machine, "provisioner-os-install", &noderole) || noderole.run_count != 1)
        return sentence(r, m->name, "was not installed once", STR(""));
    return NULL;
}

/* ---- what should be served, worked out from the records alone ---- */

static void put_upper(struct json *list, struct arena *a, struct str mac)
{
    char *upper = arena_copy(a, mac.at, mac.len);
    for (uint32_t i = 0; i < mac.len; i++)
        if (upper[i] >= 'a' && upper[i] <= 'f')
            upper[i] = (char)(upper[i] - 'a' + 'A');
    json_append(list, json_make_string(a, (struct str){upper, mac.len}));
}

/* One hinted hardware address is all that our machines have. */
static struct json *entry_of(struct rack *r, uint32_t machine, bool is_dhcp)
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
        put_upper(macs, &r->scratch, str_from(r->machines[machine].mac));
        json_set(entry, STR("mac_addresses"), macs);
    }
    return entry;
}

static struct str expected(struct rack *r, bool is_dhcp)
{
    struct json *clients = json_make(&r->scratch, JSON_OBJECT);
    for (uint32_t i = 0; i < r->draw.machines; i++) {
        struct json *entry = entry_of(r, i, is_dhcp);
        if (entry)
            json_set(clients, str_from(r->machines[i].name), entry);
    }
    return json_write(&r->scratch, clients);
}

const char *rack_missing(struct rack *r)
{
    const struct core *core = rack_core(r);
    const char *missing = core ? NULL : "the daemon is down";
    for (uint32_t i = 0; i < r->draw.machines && !missing; i++)
        missing = missing_machine(r, i);
    if (!missing)
        missing = missing_noderole(r);
    if (!missing && core_count(core, TABLE_OUTBOX))
        missing = "something in the outbox was never answered";
    if (!missing && core_count(core, TABLE_RUN))
        missing = "there is still a run";
    if (!missing && !str_eq(r->dhcp, expected(r, true)))
        missing = sentence(r, "X11: dhcp-database", "serves ", r->dhcp);
    if (!missing && !str_eq(r->provisioner, expected(r, false)))
        missing = sentence(r, "X11: provisioner-database", "serves ", r->provisioner);
    if (!missing && r->second_dhcp.len && !str_eq(r->second_dhcp, expected(r, true)))
        missing = sentence(r, "X9: the second dhcp-database", "serves ", r->second_dhcp);
    if (!missing && r->second_provisioner.len && !str_eq(r->second_provisioner, expected(r, false)))
        missing =
            sentence(r, "X9: the second provisioner-database", "serves ", r->second_provisioner);
    return missing;
}
