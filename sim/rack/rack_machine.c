#include "sim/rack/rack_private.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* Machines. Each boots what the network tells it, does what that image does by itself, and can lose
 * its power between any two steps. It knows nothing of the core: it asks the API (rack_calls.c) and
 * looks at what is served. */

enum {
    FIRMWARE_S_MIN = 20,
    FIRMWARE_S_MAX = 60,
    START_S_MIN = 10, /* from the boot loader to the first request */
    START_S_MAX = 40,
    LOOK_S = 3, /* between two looks at what is served */
    INSTALL_S_MIN = 240,
    INSTALL_S_MAX = 900,
    CUT_H_MAX = 6,     /* until the power of a machine fails */
    DARK_MIN_MAX = 30, /* how long it is away */
    BOOTS_INSTALL = 3, /* discovery image, installer, disk */
    BOOTS_FAULT = 4,   /* what one mishap may cost */
};

const char *rack_place_name(enum rack_place place)
{
    static const char *const names[PLACE_COUNT] = {[PLACE_OFF] = "off",
                                                   [PLACE_FIRMWARE] = "firmware",
                                                   [PLACE_INSTALLER] = "installer",
                                                   [PLACE_SLEDGEHAMMER] = "sledgehammer",
                                                   [PLACE_LOCAL] = "local",
                                                   [PLACE_NOWHERE] = "nowhere"};
    must(place < PLACE_COUNT);
    return names[place];
}

/* ---- what they are made of ---- */

/* The first may be a stick, and one may belong to somebody; one is always free. */
static void make_disks(struct rack *r, struct rack_machine *m, uint32_t number)
{
    m->disk_count = (uint32_t)prng_between(&r->chance, 1, RACK_DISKS_MAX);
    const uint32_t free_disk = (uint32_t)prng_below(&r->chance, m->disk_count);
    for (uint32_t i = 0; i < m->disk_count; i++) {
        struct rack_disk *disk = &m->disks[i];
        snprintf(disk->name, sizeof disk->name, "scsi-disk-%u-%u", number, i);
        snprintf(disk->path, sizeof disk->path, "/dev/sd%c", 'a' + (int)i);
        if (i == free_disk)
            continue;
        disk->removable = prng_chance(&r->chance, 300);
        disk->claimed = !disk->removable && prng_chance(&r->chance, 400);
    }
}

void rack_machines_make(struct rack *r)
{
    must(r->draw.machines <= RACK_MACHINES_MAX);
    for (uint32_t i = 0; i < r->draw.machines; i++) {
        struct rack_machine *m = &r->machines[i];
        snprintf(m->name, sizeof m->name, "d52-54-00-00-00-%02x.rack.local", i + 1);
        snprintf(m->mac, sizeof m->mac, "52:54:00:00:0a:%02x", i + 1);
        snprintf(m->address, sizeof m->address, "192.168.124.%u/24", 81 + i);
        m->boots_allowed = BOOTS_INSTALL;
        m->permits = 1;
        make_disks(r, m, i + 1);
    }
}

int32_t rack_machine_of(const struct rack *r, int64_t node_id)
{
    struct record record;
    const struct core *core = rack_core(r);
    if (!core || !core_record(core, TABLE_NODE, node_id, &record))
        return -1;
    for (uint32_t i = 0; i < r->draw.machines; i++)
        if (str_eq(record.node.name, str_from(r->machines[i].name)))
            return (int32_t)i;
    return -1;
}

bool rack_is_reachable(const struct rack *r, int32_t machine)
{
    return machine < 0 ? r->is_admin_up : r->machines[machine].is_ready;
}

/* ---- what is served ---- */

static const struct json *client(struct rack *r, struct str clients, const struct rack_machine *m)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (json_read(&r->scratch, clients, &tree, &offset, &what) != OK)
        impossible("what is served is JSON");
    const struct json *found = json_get(tree, str_from(m->name));
    return found && found->kind == JSON_OBJECT ? found : NULL;
}

static struct str member(const struct json *object, const char *key)
{
    const struct json *value = object ? json_get(object, str_from(key)) : NULL;
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

struct str rack_served(struct rack *r, struct str clients, uint32_t machine)
{
    return member(client(r, clients, &r->machines[machine]), "bootenv");
}

/* Every provisioner there is serves it that. */
static bool all_serve(struct rack *r, uint32_t machine, const char *bootenv)
{
    return str_eq(rack_served(r, r->provisioner, machine), str_from(bootenv)) &&
           (!r->second_provisioner.len ||
            str_eq(rack_served(r, r->second_provisioner, machine), str_from(bootenv)));
}

int64_t rack_served_generation(struct rack *r, struct str clients, uint32_t machine)
{
    int64_t node_id = 0, generation = 0;
    const struct json *found = clients.len ? client(r, clients, &r->machines[machine]) : NULL;
    const struct json *id = found ? json_get(found, STR("node_id")) : NULL;
    const struct json *number = found ? json_get(found, STR("generation")) : NULL;
    if (!id || !number || !json_as_i64(id, &node_id) || !json_as_i64(number, &generation) ||
        node_id != rack_node_id(r, machine))
        return -1;
    return generation;
}

/* ---- booting ---- */

static void go_on_in(struct rack *r, uint32_t machine, int64_t low_s, int64_t high_s)
{
    rack_at(r, RACK_SECOND * prng_between(&r->chance, low_s, high_s), RACK_EVENT_MACHINE,
            (struct event){.id = machine, .detail = r->machines[machine].boot});
}

static void enter(struct rack *r, uint32_t machine, enum rack_place place)
{
    struct rack_machine *m = &r->machines[machine];
    rack_works_cut(r, machine);
    m->place = place;
    m->step = 0;
    m->is_ready = false;
    m->call = CALL_NONE;
    m->marker[0] = 0;
    m->boot++;
    rack_note(r, rack_place_name(place), machine, m->boot);
}

void rack_power_on(struct rack *r, uint32_t machine)
{
    if (r->machines[machine].place != PLACE_OFF)
        return;
    enter(r, machine, PLACE_FIRMWARE);
    go_on_in(r, machine, FIRMWARE_S_MIN, FIRMWARE_S_MAX);
}

void rack_power_cut(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    m->was_cut = true;
    m->boots_allowed += BOOTS_FAULT;
    enter(r, machine, PLACE_OFF);
}

void rack_machine_cut(struct rack *r, const struct event *event)
{
    const uint32_t machine = (uint32_t)event->id;
    if (!r->has_faults)
        return;
    rack_at(r, RACK_MINUTE * prng_between(&r->chance, 10, CUT_H_MAX * 60), RACK_EVENT_CUT, *event);
    if (r->machines[machine].place == PLACE_OFF || !rack_fault(r, RACK_POWER_LOSS))
        return;
    rack_power_cut(r, machine);
    rack_at(r, RACK_SECOND * prng_between(&r->chance, 1, 60 * DARK_MIN_MAX), RACK_EVENT_BACK,
            *event);
}

void rack_machine_reset(struct rack *r, uint32_t machine)
{
    if (r->machines[machine].place == PLACE_OFF)
        return;
    enter(r, machine, PLACE_FIRMWARE);
    go_on_in(r, machine, FIRMWARE_S_MIN, FIRMWARE_S_MAX);
}

/* False: there is nobody who could be told. Its firmware prefers the network by itself. */
bool rack_machine_power(struct rack *r, uint32_t machine, struct str action)
{
    if (str_eq(action, STR("on"))) {
        rack_power_on(r, machine);
        return true;
    }
    if (str_eq(action, STR("off")) || str_eq(action, STR("halt"))) {
        enter(r, machine, PLACE_OFF);
        return true;
    }
    if (str_eq(action, STR("reboot")) || str_eq(action, STR("reset")) ||
        str_eq(action, STR("cycle"))) {
        rack_machine_reset(r, machine);
        return true;
    }
    return false;
}

static bool boots_from_disk(const struct rack_machine *m)
{
    for (uint32_t i = 0; i < m->disk_count; i++)
        if (m->disks[i].has_os)
            return true;
    return false;
}

/* DHCP is asked first; a machine it does not know gets an address of the pool and the discovery
 * image, for the provisioner goes by addresses. */
static enum rack_place what_to_boot(struct rack *r, struct rack_machine *m)
{
    const bool second = r->second_dhcp.len && prng_chance(&r->chance, 500);
    const struct json *dhcp = client(r, second ? r->second_dhcp : r->dhcp, m);
    const struct json *boot = client(r, second ? r->second_provisioner : r->provisioner, m);
    if (second && dhcp)
        rack_reach(r, RACK_REACHED_SERVED_BY_SECOND);
    const struct str bootenv = member(boot, "bootenv");
    if (dhcp && (str_eq(member(dhcp, "bootenv"), STR("local")) || str_eq(bootenv, STR("local"))))
        return boots_from_disk(m) ? PLACE_LOCAL : PLACE_NOWHERE;
    if (!dhcp || !str_ends(bootenv, STR("-install")))
        return PLACE_SLEDGEHAMMER;
    snprintf(m->rootdev, sizeof m->rootdev, "%.*s", STR_FMT_ARGS(member(boot, "rootdev")));
    return PLACE_INSTALLER;
}

static void boot(struct rack *r, uint32_t machine)
{
    static const enum rack_reached reached[PLACE_COUNT] = {
        [PLACE_SLEDGEHAMMER] = RACK_REACHED_BOOTED_SLEDGEHAMMER,
        [PLACE_INSTALLER] = RACK_REACHED_BOOTED_INSTALLER,
        [PLACE_LOCAL] = RACK_REACHED_BOOTED_LOCAL};
    struct rack_machine *m = &r->machines[machine];
    const enum rack_place place = what_to_boot(r, m);
    enter(r, machine, place);
    m->boots += place != PLACE_NOWHERE;
    m->boots_into[place]++;
    rack_check_boot(r, machine);
    if (place != PLACE_NOWHERE)
        rack_reach(r, reached[place]);
    go_on_in(r, machine, START_S_MIN, START_S_MAX);
}

/* ---- the discovery image ---- */

enum { SLEDGE_STARTS, SLEDGE_LOOKS, SLEDGE_RESTS };

static void sledgehammer(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    if (m->step == SLEDGE_STARTS) {
        rack_call(r, machine, CALL_REGISTER);
    } else if (m->step == SLEDGE_LOOKS) {
        if (!all_serve(r, machine, "sledgehammer")) {
            go_on_in(r, machine, LOOK_S, LOOK_S);
            return;
        }
        m->is_ready = true;
        m->step = SLEDGE_RESTS;
        rack_call(r, machine, CALL_ALIVE);
    }
}

/* ---- the installer ---- */

enum { INSTALL_STARTS, INSTALL_FORMATS, INSTALL_WRITES, INSTALL_TELLS, INSTALL_LOOKS };

/* That it has this disk was seen at its boot. */
static struct rack_disk *root_disk(struct rack_machine *m)
{
    for (uint32_t i = 0; i < m->disk_count; i++)
        if (!strcmp(m->disks[i].name, m->rootdev))
            return &m->disks[i];
    impossible("an installer without a disk");
}

static void write_system(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    struct rack_disk *disk = root_disk(m);
    disk->has_os = true;
    disk->wiped = false;
    rack_reach(r, m->installs ? RACK_REACHED_REINSTALLED : RACK_REACHED_INSTALLED);
    if (m->was_cut)
        rack_reach(r, RACK_REACHED_INSTALLED_AFTER_CUT);
    m->was_cut = false;
    m->installs++;
    m->permit_used = m->permit_wiped;
}

static void installer(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    switch (m->step++) {
    case INSTALL_STARTS: go_on_in(r, machine, INSTALL_S_MIN / 4, INSTALL_S_MAX / 4); return;
    case INSTALL_FORMATS:
        root_disk(m)->has_os = false;
        go_on_in(r, machine, INSTALL_S_MIN, INSTALL_S_MAX);
        return;
    case INSTALL_WRITES:
        write_system(r, machine);
        rack_call(r, machine, CALL_INSTALLED);
        return;
    case INSTALL_TELLS: rack_call(r, machine, CALL_INSTALLED); return;
    default:
        if (all_serve(r, machine, "local")) {
            rack_machine_reset(r, machine);
            return;
        }
        m->step = INSTALL_LOOKS;
        go_on_in(r, machine, LOOK_S, LOOK_S);
    }
}

/* ---- its own system ---- */

enum { LOCAL_STARTS, LOCAL_RESTS };

static void local(struct rack *r, uint32_t machine)
{
    if (r->machines[machine].step == LOCAL_STARTS)
        rack_call(r, machine, CALL_LEAVING);
}

/* ---- one step after the other ---- */

void rack_machine_goes_on(struct rack *r, uint32_t machine, int64_t boot_number)
{
    if (r->machines[machine].boot != boot_number)
        return;
    switch (r->machines[machine].place) {
    case PLACE_FIRMWARE: boot(r, machine); return;
    case PLACE_SLEDGEHAMMER: sledgehammer(r, machine); return;
    case PLACE_INSTALLER: installer(r, machine); return;
    case PLACE_LOCAL: local(r, machine); return;
    case PLACE_NOWHERE: boot(r, machine); return; /* firmware tries again until something boots */
    case PLACE_OFF:
    case PLACE_COUNT: return;
    }
}

/* Whoever is not known any more begins again, or asks until somebody does something about it. */
static void is_unknown(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    if (m->place == PLACE_SLEDGEHAMMER)
        m->step = SLEDGE_STARTS;
    else if (m->place == PLACE_INSTALLER)
        m->step = INSTALL_TELLS;
    else
        m->step = LOCAL_STARTS;
    m->is_ready = false;
    go_on_in(r, machine, 10, 30);
}

void rack_machine_answered(struct rack *r, uint32_t machine, enum rack_call call, bool gone)
{
    struct rack_machine *m = &r->machines[machine];
    if (gone) {
        is_unknown(r, machine);
        return;
    }
    switch (call) {
    case CALL_REGISTER: rack_call(r, machine, CALL_COMMIT); return;
    case CALL_COMMIT: rack_call(r, machine, CALL_BOOTING); return;
    case CALL_BOOTING:
        m->step = SLEDGE_LOOKS;
        go_on_in(r, machine, 1, LOOK_S);
        return;
    case CALL_INSTALLED:
        m->step = INSTALL_LOOKS;
        go_on_in(r, machine, 1, LOOK_S);
        return;
    case CALL_LEAVING:
        m->is_ready = true;
        rack_call(r, machine, CALL_JOINED);
        return;
    case CALL_JOINED: m->step = LOCAL_RESTS; return;
    case CALL_ALIVE:
    case CALL_NONE:
    case CALL_COUNT: return;
    }
}
