#include "sim/rack/rack_private.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* Simulated machines. Each boots what DHCP and the provisioner serve, performs the sequence of the
 * booted environment, and can lose its power between any two steps. A machine has no access to the
 * core: it sends API requests (rack_calls.c) and reads the published client lists.
 *
 * Every change of the environment increases the number of the boot, which voids the pending events
 * and interrupts the scripts of the previous boot. The memory of a boot (marker, request, step) is
 * lost; disks are kept. */

enum {
    FIRMWARE_S_MIN = 20,
    FIRMWARE_S_MAX = 60,
    START_S_MIN = 10, /* from the boot loader to the first request */
    START_S_MAX = 40,
    POLL_S = 3, /* between two reads of the published clients */
    INSTALL_S_MIN = 240,
    INSTALL_S_MAX = 900,
    CUT_H_MAX = 6,          /* hours until the next opportunity of a power failure */
    POWERLESS_MIN_MAX = 30, /* minutes without power */
    BOOTS_INSTALL = 3,      /* discovery image, installer, disk */
    BOOTS_FAULT = 4,        /* additional boots that one fault may cause */
};

const char *rack_env_name(enum rack_env env)
{
    static const char *const names[RACK_ENV_COUNT] = {[RACK_ENV_OFF] = "off",
                                                      [RACK_ENV_FIRMWARE] = "firmware",
                                                      [RACK_ENV_INSTALLER] = "installer",
                                                      [RACK_ENV_SLEDGEHAMMER] = "sledgehammer",
                                                      [RACK_ENV_LOCAL] = "local",
                                                      [RACK_ENV_NOWHERE] = "nowhere"};
    must(env < RACK_ENV_COUNT);
    return names[env];
}

/* ---- hardware ---- */

/* Disks may be removable or claimed by another owner; one is always usable. */
static void machine_make_disks(struct rack *r, struct rack_machine *m, uint32_t number)
{
    m->disk_count = (uint32_t)prng_between(&r->rng, 1, RACK_DISKS_MAX);
    const uint32_t free_disk = (uint32_t)prng_below(&r->rng, m->disk_count);
    for (uint32_t i = 0; i < m->disk_count; i++) {
        struct rack_disk *disk = &m->disks[i];
        snprintf(disk->name, sizeof disk->name, "scsi-disk-%u-%u", number, i);
        snprintf(disk->path, sizeof disk->path, "/dev/sd%c", 'a' + (int)i);
        snprintf(disk->serial, sizeof disk->serial, "SERIAL-%u-%u", number, i);
        disk->size = (int64_t)(i + 1) << 30;
        if (i == free_disk)
            continue;
        disk->removable = prng_chance(&r->rng, 300);
        disk->claimed = !disk->removable && prng_chance(&r->rng, 400);
    }
}

void rack_machines_make(struct rack *r)
{
    must(r->scenario.machines <= RACK_MACHINES_MAX);
    for (uint32_t i = 0; i < r->scenario.machines; i++) {
        struct rack_machine *m = &r->machines[i];
        snprintf(m->name, sizeof m->name, "d52-54-00-00-00-%02x.rack.local", i + 1);
        snprintf(m->mac, sizeof m->mac, "52:54:00:00:0a:%02x", i + 1);
        snprintf(m->address, sizeof m->address, "192.168.124.%u/24", 81 + i);
        m->boots_allowed = BOOTS_INSTALL;
        m->install_requests = 1;
        machine_make_disks(r, m, i + 1);
    }
}

int32_t rack_machine_of(const struct rack *r, int64_t node_id)
{
    struct record record;
    const struct core *core = rack_core(r);
    if (!core || !core_record(core, TABLE_NODE, node_id, &record))
        return -1;
    for (uint32_t i = 0; i < r->scenario.machines; i++)
        if (str_eq(record.node.name, str_from(r->machines[i].name)))
            return (int32_t)i;
    return -1;
}

bool rack_is_reachable(const struct rack *r, int32_t machine)
{
    return machine < 0 ? r->is_admin_up : r->machines[machine].is_ready;
}

/* ---- published clients ---- */

static const struct json *machine_find_client(struct rack *r, struct str clients,
                                              const struct rack_machine *m)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (json_read(&r->scratch, clients, &tree, &offset, &what) != OK)
        impossible("published clients are not JSON");
    const struct json *found = json_get(tree, str_from(m->name));
    return found && found->kind == JSON_OBJECT ? found : NULL;
}

static struct str machine_client_member(const struct json *object, const char *key)
{
    const struct json *value = object ? json_get(object, str_from(key)) : NULL;
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

struct str rack_served(struct rack *r, struct str clients, uint32_t machine)
{
    return machine_client_member(machine_find_client(r, clients, &r->machines[machine]), "bootenv");
}

/* True if every provisioner serves the machine that boot environment. */
static bool machine_is_served_by_all(struct rack *r, uint32_t machine, const char *bootenv)
{
    return str_eq(rack_served(r, r->provisioner, machine), str_from(bootenv)) &&
           (!r->second_provisioner.len ||
            str_eq(rack_served(r, r->second_provisioner, machine), str_from(bootenv)));
}

int64_t rack_served_generation(struct rack *r, struct str clients, uint32_t machine)
{
    int64_t node_id = 0, generation = 0;
    const struct json *found =
        clients.len ? machine_find_client(r, clients, &r->machines[machine]) : NULL;
    const struct json *id = found ? json_get(found, STR("node_id")) : NULL;
    const struct json *number = found ? json_get(found, STR("generation")) : NULL;
    if (!id || !number || !json_as_i64(id, &node_id) || !json_as_i64(number, &generation) ||
        node_id != rack_node_id(r, machine))
        return -1;
    return generation;
}

/* ---- boot and power ---- */

static void machine_schedule_step(struct rack *r, uint32_t machine, int64_t low_s, int64_t high_s)
{
    rack_at(r, RACK_SECOND * prng_between(&r->rng, low_s, high_s), RACK_EVENT_MACHINE,
            (struct event){.id = machine, .detail = r->machines[machine].boot});
}

static void machine_enter(struct rack *r, uint32_t machine, enum rack_env env)
{
    struct rack_machine *m = &r->machines[machine];
    rack_attempts_interrupt(r, machine);
    m->env = env;
    m->step = 0;
    m->is_ready = false;
    m->call = CALL_NONE;
    m->marker[0] = 0;
    m->boot++;
    rack_note(r, rack_env_name(env), machine, m->boot);
}

void rack_power_on(struct rack *r, uint32_t machine)
{
    if (r->machines[machine].env != RACK_ENV_OFF)
        return;
    machine_enter(r, machine, RACK_ENV_FIRMWARE);
    machine_schedule_step(r, machine, FIRMWARE_S_MIN, FIRMWARE_S_MAX);
}

void rack_power_cut(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    m->was_cut = true;
    m->boots_allowed += BOOTS_FAULT;
    machine_enter(r, machine, RACK_ENV_OFF);
}

void rack_machine_cut(struct rack *r, const struct event *event)
{
    const uint32_t machine = (uint32_t)event->id;
    if (!r->has_faults)
        return;
    rack_at(r, RACK_MINUTE * prng_between(&r->rng, 10, CUT_H_MAX * 60), RACK_EVENT_CUT, *event);
    if (r->machines[machine].env == RACK_ENV_OFF || !rack_fault(r, RACK_POWER_LOSS))
        return;
    rack_power_cut(r, machine);
    rack_at(r, RACK_SECOND * prng_between(&r->rng, 1, 60 * POWERLESS_MIN_MAX), RACK_EVENT_BACK,
            *event);
}

void rack_machine_reset(struct rack *r, uint32_t machine)
{
    if (r->machines[machine].env == RACK_ENV_OFF)
        return;
    machine_enter(r, machine, RACK_ENV_FIRMWARE);
    machine_schedule_step(r, machine, FIRMWARE_S_MIN, FIRMWARE_S_MAX);
}

/* False: the action is not supported. The firmware always prefers the network, so there is no need
 * to set the boot order. */
bool rack_machine_power(struct rack *r, uint32_t machine, struct str action)
{
    if (str_eq(action, STR("on"))) {
        rack_power_on(r, machine);
        return true;
    }
    if (str_eq(action, STR("off")) || str_eq(action, STR("halt"))) {
        machine_enter(r, machine, RACK_ENV_OFF);
        return true;
    }
    if (str_eq(action, STR("reboot")) || str_eq(action, STR("reset")) ||
        str_eq(action, STR("cycle"))) {
        rack_machine_reset(r, machine);
        return true;
    }
    return false;
}

static bool machine_has_os(const struct rack_machine *m)
{
    for (uint32_t i = 0; i < m->disk_count; i++)
        if (m->disks[i].has_os)
            return true;
    return false;
}

/* The DHCP server decides first. A machine that it does not list gets an address of the pool and
 * boots the discovery image, because the provisioner identifies clients by address. */
static enum rack_env machine_choose_boot(struct rack *r, struct rack_machine *m)
{
    const bool second = r->second_dhcp.len && prng_chance(&r->rng, 500);
    const struct json *dhcp = machine_find_client(r, second ? r->second_dhcp : r->dhcp, m);
    const struct json *boot =
        machine_find_client(r, second ? r->second_provisioner : r->provisioner, m);
    if (second && dhcp)
        rack_count_reached(r, RACK_REACHED_SERVED_BY_SECOND);
    const struct str bootenv = machine_client_member(boot, "bootenv");
    if (dhcp && (str_eq(machine_client_member(dhcp, "bootenv"), STR("local")) ||
                 str_eq(bootenv, STR("local"))))
        return machine_has_os(m) ? RACK_ENV_LOCAL : RACK_ENV_NOWHERE;
    if (!dhcp || !str_ends(bootenv, STR("-install")))
        return RACK_ENV_SLEDGEHAMMER;
    snprintf(m->rootdev, sizeof m->rootdev, "%.*s",
             STR_FMT_ARGS(machine_client_member(boot, "rootdev")));
    return RACK_ENV_INSTALLER;
}

static void machine_boot(struct rack *r, uint32_t machine)
{
    static const enum rack_reached reached[RACK_ENV_COUNT] = {
        [RACK_ENV_SLEDGEHAMMER] = RACK_REACHED_BOOTED_SLEDGEHAMMER,
        [RACK_ENV_INSTALLER] = RACK_REACHED_BOOTED_INSTALLER,
        [RACK_ENV_LOCAL] = RACK_REACHED_BOOTED_LOCAL};
    struct rack_machine *m = &r->machines[machine];
    const enum rack_env env = machine_choose_boot(r, m);
    machine_enter(r, machine, env);
    m->boots += env != RACK_ENV_NOWHERE;
    m->boots_into[env]++;
    rack_check_boot(r, machine);
    if (env != RACK_ENV_NOWHERE)
        rack_count_reached(r, reached[env]);
    machine_schedule_step(r, machine, START_S_MIN, START_S_MAX);
}

/* ---- sequence of the discovery image ---- */

enum { SLEDGE_STARTS, SLEDGE_LOOKS, SLEDGE_RESTS };

static void machine_step_sledgehammer(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    if (m->step == SLEDGE_STARTS) {
        rack_call(r, machine, CALL_REGISTER);
    } else if (m->step == SLEDGE_LOOKS) {
        if (!machine_is_served_by_all(r, machine, "sledgehammer")) {
            machine_schedule_step(r, machine, POLL_S, POLL_S);
            return;
        }
        m->is_ready = true;
        m->step = SLEDGE_RESTS;
        rack_call(r, machine, CALL_ALIVE);
    }
}

/* ---- sequence of the installer ---- */

enum { INSTALL_STARTS, INSTALL_FORMATS, INSTALL_WRITES, INSTALL_TELLS, INSTALL_LOOKS };

/* rack_check_boot() has checked that the machine has this disk. */
static struct rack_disk *machine_root_disk(struct rack_machine *m)
{
    for (uint32_t i = 0; i < m->disk_count; i++)
        if (!strcmp(m->disks[i].name, m->rootdev))
            return &m->disks[i];
    impossible("the root disk of the installer does not exist");
}

static void machine_write_os(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    struct rack_disk *disk = machine_root_disk(m);
    disk->has_os = true;
    disk->wiped = false;
    rack_count_reached(r, m->installs ? RACK_REACHED_REINSTALLED : RACK_REACHED_INSTALLED);
    if (m->was_cut)
        rack_count_reached(r, RACK_REACHED_INSTALLED_AFTER_CUT);
    m->was_cut = false;
    m->installs++;
    m->installed_for_request = m->wiped_for_request;
}

static void machine_step_installer(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    switch (m->step++) {
    case INSTALL_STARTS:
        machine_schedule_step(r, machine, INSTALL_S_MIN / 4, INSTALL_S_MAX / 4);
        return;
    case INSTALL_FORMATS:
        machine_root_disk(m)->has_os = false;
        machine_schedule_step(r, machine, INSTALL_S_MIN, INSTALL_S_MAX);
        return;
    case INSTALL_WRITES:
        machine_write_os(r, machine);
        rack_call(r, machine, CALL_INSTALLED);
        return;
    case INSTALL_TELLS: rack_call(r, machine, CALL_INSTALLED); return;
    default:
        if (machine_is_served_by_all(r, machine, "local")) {
            rack_machine_reset(r, machine);
            return;
        }
        m->step = INSTALL_LOOKS;
        machine_schedule_step(r, machine, POLL_S, POLL_S);
    }
}

/* ---- sequence of the installed system ---- */

enum { LOCAL_STARTS, LOCAL_RESTS };

static void machine_step_local(struct rack *r, uint32_t machine)
{
    if (r->machines[machine].step == LOCAL_STARTS)
        rack_call(r, machine, CALL_LEAVING);
}

/* ---- steps and replies ---- */

void rack_machine_step(struct rack *r, uint32_t machine, int64_t boot_number)
{
    if (r->machines[machine].boot != boot_number)
        return;
    switch (r->machines[machine].env) {
    case RACK_ENV_FIRMWARE: machine_boot(r, machine); return;
    case RACK_ENV_SLEDGEHAMMER: machine_step_sledgehammer(r, machine); return;
    case RACK_ENV_INSTALLER: machine_step_installer(r, machine); return;
    case RACK_ENV_LOCAL: machine_step_local(r, machine); return;
    case RACK_ENV_NOWHERE:
        machine_boot(r, machine);
        return; /* the firmware retries until something boots */
    case RACK_ENV_OFF:
    case RACK_ENV_COUNT: return;
    }
}

void rack_machine_answered(struct rack *r, uint32_t machine, enum rack_call call, bool gone)
{
    struct rack_machine *m = &r->machines[machine];
    if (gone) {
        /* The node was deleted: the discovery image registers again; the others repeat their report
         * until an operator power cycles the machine. */
        if (m->env == RACK_ENV_SLEDGEHAMMER)
            m->step = SLEDGE_STARTS;
        else if (m->env == RACK_ENV_INSTALLER)
            m->step = INSTALL_TELLS;
        else
            m->step = LOCAL_STARTS;
        m->is_ready = false;
        machine_schedule_step(r, machine, 10, 30);
        return;
    }
    switch (call) {
    case CALL_REGISTER: rack_call(r, machine, CALL_COMMIT); return;
    case CALL_COMMIT: rack_call(r, machine, CALL_BOOTING); return;
    case CALL_BOOTING:
        m->step = SLEDGE_LOOKS;
        machine_schedule_step(r, machine, 1, POLL_S);
        return;
    case CALL_INSTALLED:
        m->step = INSTALL_LOOKS;
        machine_schedule_step(r, machine, 1, POLL_S);
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
