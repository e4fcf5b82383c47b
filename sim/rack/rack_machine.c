#include "sim/rack/rack_private.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* Simulated machines. Each boots what DHCP and the provisioner serve, performs the sequence of the
 * booted environment, and can lose its power between any two steps. A machine has no access to the
 * core: it sends API requests (rack_calls.c), asks boot servers (rack_netboot.c) and reads what is
 * published (rack_served.c).
 *
 * A machine that is to boot an installer loads it and asks for its grant, again and again while the
 * daemon does not answer. Only the answer that it is granted starts it. The ticket is that of its
 * boot script; in front of a published provisioner it makes one.
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
    STAMP_AHEAD_MAX = 1000, /* boot generations of the image of a later system */
    BOOTS_FAULT = 4,        /* additional boots that one fault may cause */
};

const char *rack_env_name(enum rack_env env)
{
    static const char *const names[RACK_ENV_COUNT] = {[RACK_ENV_OFF] = "off",
                                                      [RACK_ENV_FIRMWARE] = "firmware",
                                                      [RACK_ENV_LOADER] = "loader",
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

/* True if every provisioner serves the machine that boot environment. */
static bool machine_is_served_by_all(struct rack *r, uint32_t machine, const char *bootenv)
{
    for (uint32_t admin = 0; admin < RACK_ADMINS; admin++)
        if ((!admin || r->scenario.two_databases) &&
            strcmp(rack_served(r, admin, RACK_PROVISIONER, machine), bootenv) != 0)
            return false;
    return true;
}

void rack_allow_boots(struct rack *r, uint32_t machine)
{
    r->machines[machine].boots_allowed += BOOTS_FAULT;
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
    m->is_stopped = false;
    m->net.phase = NET_OFF;
    m->boot++;
    if (env == RACK_ENV_FIRMWARE)
        m->started_in = r->history;
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

bool rack_machine_has_os(const struct rack *r, uint32_t machine)
{
    const struct rack_machine *m = &r->machines[machine];
    for (uint32_t i = 0; i < m->disk_count; i++)
        if (m->disks[i].has_os)
            return true;
    return false;
}

static enum rack_env machine_boot_disk(const struct rack *r, uint32_t machine)
{
    return rack_machine_has_os(r, machine) ? RACK_ENV_LOCAL : RACK_ENV_NOWHERE;
}

/* Enter an environment that runs from the network or a disk. */
void rack_machine_run(struct rack *r, uint32_t machine, enum rack_env env)
{
    static const enum rack_reached reached[RACK_ENV_COUNT] = {
        [RACK_ENV_SLEDGEHAMMER] = RACK_REACHED_BOOTED_SLEDGEHAMMER,
        [RACK_ENV_INSTALLER] = RACK_REACHED_BOOTED_INSTALLER,
        [RACK_ENV_LOCAL] = RACK_REACHED_BOOTED_LOCAL};
    struct rack_machine *m = &r->machines[machine];
    machine_enter(r, machine, env);
    m->boots += env != RACK_ENV_NOWHERE && env != RACK_ENV_LOADER;
    m->boots_into[env]++;
    rack_check_boot(r, machine);
    if (env != RACK_ENV_NOWHERE && env != RACK_ENV_LOADER)
        rack_count_reached(r, reached[env]);
    machine_schedule_step(r, machine, START_S_MIN, START_S_MAX);
}

void rack_machine_run_disk(struct rack *r, uint32_t machine)
{
    rack_machine_run(r, machine, machine_boot_disk(r, machine));
}

void rack_machine_start_again(struct rack *r, uint32_t machine)
{
    machine_schedule_step(r, machine, FIRMWARE_S_MIN, FIRMWARE_S_MAX);
}

/* The database of the provisioner decides; one that does not list the machine gives the discovery
 * image. */
void rack_machine_run_published(struct rack *r, uint32_t machine, uint32_t admin)
{
    struct rack_machine *m = &r->machines[machine];
    rack_ask(r, admin, RACK_PROVISIONER, machine, &m->answer);
    rack_check_answer(r, machine, admin, RACK_PROVISIONER, &m->answer);
    if (!strcmp(m->answer.bootenv, "local"))
        rack_machine_run_disk(r, machine);
    else if (str_ends(str_from(m->answer.bootenv), STR("-install")))
        rack_machine_run(r, machine, RACK_ENV_LOADER);
    else
        rack_machine_run(r, machine, RACK_ENV_SLEDGEHAMMER);
}

/* The database of DHCP decides first. A machine that it does not list gets an address of a pool and
 * boots the discovery image. */
static void machine_boot_published(struct rack *r, uint32_t machine)
{
    struct rack_answer dhcp;
    struct rack_machine *m = &r->machines[machine];
    const uint32_t admin = r->scenario.two_databases && prng_chance(&r->rng, 500) ? 1 : 0;
    const bool is_listed = rack_ask(r, admin, RACK_DHCP, machine, &dhcp) == RACK_ANSWERED;
    if (is_listed)
        rack_check_answer(r, machine, admin, RACK_DHCP, &dhcp);
    if (is_listed && admin)
        rack_count_reached(r, RACK_REACHED_SERVED_BY_SECOND);
    m->answer = (struct rack_answer){0};
    if (!is_listed)
        rack_machine_run(r, machine, RACK_ENV_SLEDGEHAMMER);
    else if (!strcmp(dhcp.bootenv, "local"))
        rack_machine_run_disk(r, machine);
    else if (r->scenario.is_native[RACK_PROVISIONER])
        rack_netboot_get(r, machine, admin);
    else
        rack_machine_run_published(r, machine, admin);
}

static void machine_boot(struct rack *r, uint32_t machine)
{
    if (r->scenario.is_native[RACK_DHCP])
        rack_netboot_start(r, machine);
    else
        machine_boot_published(r, machine);
}

/* ---- the grant of an installer ---- */

/* A ticket is made once for each boot; boot servers make their own. */
static void machine_ask_grant(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    if (!r->scenario.is_native[RACK_PROVISIONER])
        snprintf(m->ticket, sizeof m->ticket, "%032x%032x", machine + 1, m->boot);
    rack_call(r, machine, CALL_GRANT);
}

static void machine_start_installer(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    m->history = r->history;
    /* A boot server names no disk: its installer reads the node, when its grant is given. */
    snprintf(m->rootdev, sizeof m->rootdev, "%s",
             m->answer.rootdev[0] ? m->answer.rootdev : m->node_disk);
    rack_machine_run(r, machine, RACK_ENV_INSTALLER);
}

static void machine_grant_answered(struct rack *r, uint32_t machine, enum rack_reply_kind reply)
{
    switch (reply) {
    case REPLY_DONE: machine_start_installer(r, machine); return;
    case REPLY_LOCAL: rack_machine_run_disk(r, machine); return;
    case REPLY_GONE: rack_machine_reset(r, machine); return;
    case REPLY_STALE:
        if (r->scenario.is_native[RACK_PROVISIONER])
            rack_netboot_again(r, machine);
        else
            rack_machine_reset(r, machine);
        return;
    }
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

/* It stops at a stamp of this installation that is not older, and reports it. */
static bool machine_stops_at_stamp(struct rack *r, uint32_t machine, const struct rack_disk *disk)
{
    if (disk->stamp < r->machines[machine].answer.generation)
        return false;
    r->machines[machine].is_stopped = true;
    rack_count_reached(r, RACK_REACHED_STAMP_STOPPED);
    rack_call(r, machine, CALL_STAMPED);
    return true;
}

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
    rack_count_reached(r, m->installs ? RACK_REACHED_REINSTALLED : RACK_REACHED_INSTALLED);
    if (m->was_cut)
        rack_count_reached(r, RACK_REACHED_INSTALLED_AFTER_CUT);
    m->was_cut = false;
    m->installs++;
    m->installed_for_request = m->wiped_for_request;
}

bool rack_machine_is_stuck(const struct rack *r, uint32_t machine)
{
    const struct rack_machine *m = &r->machines[machine];
    return m->env == RACK_ENV_NOWHERE || (m->env == RACK_ENV_INSTALLER && m->call == CALL_NONE &&
                                          (m->step >= INSTALL_LOOKS || m->is_stopped));
}

static void machine_step_installer(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    struct rack_disk *disk = machine_root_disk(m);
    switch (m->step++) {
    case INSTALL_STARTS:
        if (rack_fault(r, RACK_STAMPED)) { /* an operator has written an image of a later system */
            disk->stamp = m->answer.generation + prng_between(&r->rng, 0, STAMP_AHEAD_MAX);
            disk->keeps_stamp = true;
        }
        if (!machine_stops_at_stamp(r, machine, disk))
            machine_schedule_step(r, machine, INSTALL_S_MIN / 4, INSTALL_S_MAX / 4);
        return;
    case INSTALL_FORMATS:
        rack_check_write(r, machine);
        disk->has_os = disk->wiped = false;
        disk->stamp = m->answer.generation;
        disk->keeps_stamp = false;
        machine_schedule_step(r, machine, INSTALL_S_MIN, INSTALL_S_MAX);
        return;
    case INSTALL_WRITES:
        machine_write_os(r, machine);
        rack_call(r, machine, CALL_INSTALLED);
        return;
    case INSTALL_TELLS: rack_call(r, machine, CALL_INSTALLED); return;
    case INSTALL_LOOKS:
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

static bool machine_cut_at_step(struct rack *r, uint32_t machine)
{
    if (!prng_chance(&r->rng, 300) || !rack_fault(r, RACK_POWER_STEP))
        return false;
    rack_power_cut(r, machine);
    rack_at(r, RACK_SECOND * prng_between(&r->rng, 1, 60 * POWERLESS_MIN_MAX), RACK_EVENT_BACK,
            (struct event){.id = machine});
    return true;
}

void rack_machine_step(struct rack *r, uint32_t machine, int64_t boot_number)
{
    if (r->machines[machine].boot != boot_number || machine_cut_at_step(r, machine))
        return;
    switch (r->machines[machine].env) {
    case RACK_ENV_FIRMWARE: machine_boot(r, machine); return;
    case RACK_ENV_LOADER: machine_ask_grant(r, machine); return;
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

/* The node was deleted: the discovery image registers again; the others repeat their report until
 * an operator power cycles the machine. */
static void machine_has_no_node(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    if (m->env == RACK_ENV_SLEDGEHAMMER)
        m->step = SLEDGE_STARTS;
    else if (m->env == RACK_ENV_INSTALLER)
        m->step = INSTALL_TELLS;
    else
        m->step = LOCAL_STARTS;
    m->is_ready = false;
    machine_schedule_step(r, machine, 10, 30);
}

void rack_machine_answered(struct rack *r, uint32_t machine, enum rack_call call,
                           enum rack_reply_kind reply)
{
    struct rack_machine *m = &r->machines[machine];
    if (machine_cut_at_step(r, machine))
        return;
    if (call == CALL_GRANT) {
        machine_grant_answered(r, machine, reply);
        return;
    }
    if (reply == REPLY_GONE && call != CALL_STAMPED) {
        machine_has_no_node(r, machine);
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
    case CALL_STAMPED: /* it waits for an operator */
    case CALL_ALIVE:
    case CALL_GRANT:
    case CALL_NONE:
    case CALL_COUNT: return;
    }
}
