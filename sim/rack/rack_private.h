/* rack_private.h - interfaces between the source files of the rack. */
#pragma once

#include "port/boot_port.h"
#include "port/power_port.h"
#include "port/runner_port.h"
#include "sim/rack/rack.h"

struct hooks_report;

enum { RACK_SECOND = 1000, RACK_MINUTE = 60 * RACK_SECOND, RACK_HOUR = 60 * RACK_MINUTE };

#define RACK_ADMIN_NAME  "admin.rack.local"
#define RACK_SECOND_NAME "second.rack.local" /* of the second admin node */

/* The network "admin", 192.168.124.0/24: admin nodes from .10, machines from .81, and a pool. */
enum { RACK_POOL_FIRST = 100, RACK_POOL_LAST = 119, RACK_HTTP_PORT = 8091 };
#define RACK_SUBNET 0xc0a87c00u

/* A boot script on its way to a machine. */
struct rack_page {
    struct rack_answer answer;
    struct str text; /* empty: refused */
};

enum rack_event {
    RACK_EVENT_COMMAND,    /* the command in `bytes` arrives at the turn                     */
    RACK_EVENT_INSIDE,     /* the same, from the daemon itself; void if daemon_starts is not `id` */
    RACK_EVENT_MACHINE,    /* next step of machine `id`; void if its boot is not `detail`    */
    RACK_EVENT_CALL,       /* request `detail` of machine `id` arrives at the API            */
    RACK_EVENT_CALL_AGAIN, /* request `detail` of machine `id` has timed out                 */
    RACK_EVENT_REPLY,      /* the reply to request `detail` arrives at machine `id`          */
    RACK_EVENT_POWER,      /* the power action of outbox row `detail` reaches machine `id`   */
    RACK_EVENT_CUT,        /* machine `id` may lose power (random); repeats itself           */
    RACK_EVENT_BACK,       /* the power of machine `id` returns                              */
    RACK_EVENT_ATTEMPT_ENDS,    /* attempt `id` ends; void if its generation is not `detail`      */
    RACK_EVENT_RESEND,          /* the result of attempt `id` is sent again                       */
    RACK_EVENT_OPERATOR,        /* the operators act                                              */
    RACK_EVENT_ADMIN,           /* the admin node returns: `detail` is one of enum admin_change   */
    RACK_EVENT_SERVER_SAYS,     /* the daemon end of boot server `id` has news for the core    */
    RACK_EVENT_SERVER_GETS,     /* a message arrives over connection `id`                      */
    RACK_EVENT_SERVER_READS,    /* the next part of the base image of connection `id`          */
    RACK_EVENT_SERVER_CONNECTS, /* boot server `id` connects                                   */
    RACK_EVENT_SERVER_LOST,     /* the daemon notices that connection `id` is lost             */
    RACK_EVENT_SERVER_TROUBLE,  /* boot server `id` may have a fault; repeats itself           */
    RACK_EVENT_SERVER_ASKS,     /* question `detail` arrives over connection `id`              */
    RACK_EVENT_SERVER_TICKS,    /* the DHCP of boot server `id` has something to do            */
    RACK_EVENT_PROBED,          /* boot server `id`: the ARP probe `detail` ends               */
    RACK_EVENT_DHCP_TO_SERVER,  /* a DHCP packet arrives at boot server `id`                   */
    RACK_EVENT_DHCP_TO_MACHINE, /* a DHCP packet arrives at machine `id`                       */
    RACK_EVENT_NET_TIMEOUT,     /* machine `id` has waited long enough; `detail`: boot, serial */
    RACK_EVENT_PAGE_ASKED,      /* machine `id` asks for the script in `bytes`                 */
    RACK_EVENT_PAGE_ARRIVES,    /* ... and gets it                                             */
};

/* ---- rack.c: daemon, time, faults ---- */

/* Record a violation. Only the first one is kept, and the simulation ends. */
void rack_fail(struct rack *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* True at the rate of that fault, in the phase with faults only; counts it. */
bool rack_fault(struct rack *r, enum rack_fault fault);
/* A delay in ms between `low` and `high`, minutes longer if the fault occurs. */
int64_t rack_delay(struct rack *r, enum rack_fault fault, int64_t low, int64_t high);
void rack_at(struct rack *r, int64_t delay_ms, enum rack_event kind, struct event event);
/* Send a command that arrives after `delay_ms`. With request 0 its reply is ignored. */
void rack_send_later(struct rack *r, int64_t delay_ms, const struct command *command);
/* Encode a command into the arena of the rack. */
struct str rack_encode(struct rack *r, const struct command *command);
void rack_count_reached(struct rack *r, enum rack_reached what);
/* Add an effect to the transcript. `what` is part of the hash: it must not be reworded. */
void rack_note(struct rack *r, const char *what, int64_t a, int64_t b);

/* ---- rack_content.c: barclamps and their code ---- */

bool rack_content_read(struct rack *r);
/* Import everything again, as the daemon does when it starts. */
void rack_content_import_later(struct rack *r);
/* Load the Lua code of this role into the hooks, if it has any and it is not loaded yet. */
void rack_content_load(struct rack *r, int64_t role_id);
void rack_content_loaded(void *self, int64_t role_id, err error, const struct hooks_report *report);
void rack_content_forget(struct rack *r);

/* ---- rack_machine.c ---- */

void rack_machines_make(struct rack *r);
/* The machine of a node; -1 if it has none (admin nodes, system nodes). */
int32_t rack_machine_of(const struct rack *r, int64_t node_id);
void rack_machine_step(struct rack *r, uint32_t machine, int64_t boot);
void rack_machine_cut(struct rack *r, const struct event *event);
void rack_machine_reset(struct rack *r, uint32_t machine);
/* Its console shows that no system runs, and that it waits. */
bool rack_machine_is_stuck(const struct rack *r, uint32_t machine);
bool rack_machine_power(struct rack *r, uint32_t machine, struct str action);
bool rack_is_reachable(const struct rack *r, int32_t machine);
/* A fault or a request may cause some boots more. */
void rack_allow_boots(struct rack *r, uint32_t machine);
/* What the network boot leads to: enter that environment, boot the disk, or begin again after a
 * while. */
void rack_machine_run(struct rack *r, uint32_t machine, enum rack_env env);
void rack_machine_run_disk(struct rack *r, uint32_t machine);
void rack_machine_start_again(struct rack *r, uint32_t machine);
/* The database of the provisioner on the admin node decides. */
void rack_machine_run_published(struct rack *r, uint32_t machine, uint32_t admin);
bool rack_machine_has_os(const struct rack *r, uint32_t machine);

/* ---- rack_netboot.c: firmware and iPXE of machines, in front of boot servers ---- */

/* The first dialog with DHCP. */
void rack_netboot_start(struct rack *r, uint32_t machine);
/* iPXE gets its script from the boot server of the admin node, without a dialog. */
void rack_netboot_get(struct rack *r, uint32_t machine, uint32_t admin);
/* The boot server answered that the script is to be asked for again. */
void rack_netboot_again(struct rack *r, uint32_t machine);
void rack_netboot_timeout(struct rack *r, const struct event *event);
void rack_netboot_packet(struct rack *r, const struct event *event);
void rack_netboot_page(struct rack *r, const struct event *event);
/* 192.168.124.10 and .11, as a number in host order. */
uint32_t rack_admin_address(uint32_t admin);
uint64_t rack_machine_mac(const struct rack *r, uint32_t machine);
uint32_t rack_machine_address(const struct rack *r, uint32_t machine);

/* ---- rack_process.c: the process of a boot server ---- */

void rack_process_packet(struct rack *r, const struct event *event);
void rack_process_probed(struct rack *r, const struct event *event);
void rack_process_ticks(struct rack *r, uint32_t admin);
void rack_process_page(struct rack *r, const struct event *event);
/* The question of a machine that has loaded its installer: request `seq`, with its ticket. */
void rack_process_install(struct rack *r, uint32_t machine, int64_t seq, struct str ticket);

/* ---- rack_served.c: published databases, and what machines are answered ---- */

enum rack_answered {
    RACK_SILENT,     /* nothing answers */
    RACK_NOT_LISTED, /* the machine is not known */
    RACK_ANSWERED
};

/* The role whose noderoles serve it. */
const char *rack_service_role(enum rack_service service);
/* The machine number of an admin node (0, 1). */
uint32_t rack_admin_machine(uint32_t admin);
/* True if the noderole of the service on the admin node is committed. */
bool rack_is_serving(const struct rack *r, uint32_t admin, enum rack_service service);
bool rack_publishes(const struct rack *r, const struct rack_attempt *attempt);
/* Apply the staged entries to the database, or half of them. */
void rack_publish(struct rack *r, const struct rack_attempt *attempt, bool is_half);
enum rack_answered rack_ask(struct rack *r, uint32_t admin, enum rack_service service,
                            uint32_t machine, struct rack_answer *out);
/* The entry of a node. */
enum rack_answered rack_served_node(struct rack *r, uint32_t admin, enum rack_service service,
                                    int64_t node_id, struct rack_answer *out);
/* A sentence if a database or boot server does not serve what the records require. */
const char *rack_missing_served(struct rack *r);
void rack_databases_fini(struct rack *r);

/* ---- rack_servers.c: boot servers of native roles ---- */

/* An event of a boot server, or of the network boot of a machine. */
void rack_server_dispatch(struct rack *r, const struct event *event);
/* All of them are connected, and the core knows what they have acknowledged. */
bool rack_servers_are_up(const struct rack *r);
struct boot_port rack_boot_port(struct rack *r);
void rack_servers_init(struct rack *r);
void rack_servers_fini(struct rack *r);
void rack_servers_daemon_crashed(struct rack *r);
/* The process is installed on the admin node, if any role is native. */
void rack_server_install(struct rack *r, uint32_t admin);
void rack_server_gets(struct rack *r, const struct event *event);
/* The core has executed the command of a question. */
void rack_server_answered(struct rack *r, int64_t request, const struct outcome *outcome);
/* A batch is durable: send settings that have changed. */
void rack_servers_configure(struct rack *r);
enum rack_answered rack_server_ask(struct rack *r, uint32_t admin, uint32_t machine,
                                   struct rack_answer *out);
enum rack_answered rack_server_has(struct rack *r, uint32_t admin, int64_t node_id,
                                   struct rack_answer *out);

/* ---- rack_restore.c ---- */

/* The daemon was stopped for a restore or an import: replace the store. */
void rack_replace_store(struct rack *r);

/* ---- rack_calls.c: API requests of machines and their replies ---- */

void rack_call(struct rack *r, uint32_t machine, enum rack_call call);
void rack_call_arrives(struct rack *r, const struct event *event);
void rack_call_again(struct rack *r, const struct event *event);
void rack_reply_arrives(struct rack *r, const struct event *event);
/* The core has executed the command of a machine's request. */
void rack_call_answered(struct rack *r, int64_t request, const struct outcome *outcome);
/* True if the request id belongs to a machine: these ids are odd, those of operators are even, and
 * those of boot servers are negative. */
bool rack_is_call(int64_t request);
enum rack_reply_kind {
    REPLY_DONE,
    REPLY_GONE,  /* there is no such node */
    REPLY_LOCAL, /* no installer: boot the disk */
    REPLY_STALE, /* another generation: ask again what to boot */
};
/* A boot server replies to request `seq` of the machine. */
void rack_call_reply(struct rack *r, uint32_t machine, int64_t seq, enum rack_reply_kind kind);
/* The grant was given: the installer reads its disk from the node. */
void rack_call_note_disk(struct rack *r, uint32_t machine);
/* The reply has arrived at the machine: start its next step. */
void rack_machine_answered(struct rack *r, uint32_t machine, enum rack_call call,
                           enum rack_reply_kind reply);

/* ---- rack_runner.c: the simulated runner, power and probes ---- */

struct runner_port rack_runner_port(struct rack *r);
struct power_port rack_power_port(struct rack *r);
void rack_attempt_ends(struct rack *r, const struct event *event);
void rack_attempt_resend(struct rack *r, int64_t attempt);
void rack_power_arrives(struct rack *r, const struct event *event);
/* The machine has rebooted or lost power: its scripts are interrupted. */
void rack_attempts_interrupt(struct rack *r, uint32_t machine);
/* The supervisors follow another daemon: nothing of the old one runs any more, or is reported. */
void rack_attempts_void(struct rack *r);
void rack_attempts_fini(struct rack *r);

/* ---- rack_scripts.c: simulation of the shipped scripts ---- */

/* Perform the script and return its result. */
struct command rack_script(struct rack *r, struct rack_attempt *attempt);
/* The script was interrupted: it is performed completely or not at all, without a result; a run
 * that publishes may have applied half of its entries. */
void rack_script_broken(struct rack *r, struct rack_attempt *attempt);

/* ---- rack_oracles.c: invariants, and the goal at the end ---- */

/* A script starts in the environment that its machine has booted. */
void rack_check_begin(struct rack *r, const struct rack_attempt *attempt);
void rack_check_wipe(struct rack *r, const struct rack_attempt *attempt, struct rack_disk *disk);
void rack_check_boot(struct rack *r, uint32_t machine);
void rack_check_durable(struct rack *r);
/* A core was loaded. */
void rack_check_loaded(struct rack *r);
/* A command was executed. */
void rack_check_stepped(struct rack *r, const struct command *command,
                        const struct outcome *outcome);
/* An installer begins to write to its disk. */
void rack_check_write(struct rack *r, uint32_t machine);
/* A service of an admin node answers a machine that boots. */
void rack_check_answer(struct rack *r, uint32_t machine, uint32_t admin, enum rack_service service,
                       const struct rack_answer *answer);
/* DHCP has acknowledged the address. */
void rack_check_address(struct rack *r, uint32_t machine, uint32_t address);
/* A power action is sent to a machine. */
void rack_check_power(struct rack *r, uint32_t machine, const struct outbox_record *row);

/* ---- rack_operator.c ---- */

void rack_operator_acts(struct rack *r);
void rack_operator_admin(struct rack *r, int64_t what);
/* One round of repairs after the phase with faults. */
void rack_operator_repair(struct rack *r);
/* The deployment of a machine; two in all. */
const char *rack_deployment_name(uint32_t machine);
/* Id of the node of a machine or admin node; 0 = it does not exist. */
int64_t rack_node_id(const struct rack *r, uint32_t machine);
