/* rack.h - simulates a rack of machines that the shipped barclamps discover and install.
 *
 * Core, turn, content reader and hooks are the real ones: the barclamps (packages of roles) are
 * read from their files, and their Lua code runs in the real hook thread. Store, clock, scripts,
 * machines and operators are simulated and driven by one seeded generator, so a seed always
 * produces the same transcript. A machine boots what the last runs of the DHCP and provisioner
 * databases published, or what the boot server of an admin node answers with the modules of
 * halligan-boot (boot view, DHCP, boot scripts), not what the core has stored, and the oracles
 * observe its disks.
 *
 * rack_simulate() simulates one seed with all its faults. The other functions let a test drive a
 * rack step by step: a test may read every field and may write disks, `delay_ms` and `flaws`.
 *
 * A rack owns its store, its daemon (turn and hooks) and all strings of its events, until
 * rack_free(). All calls come from one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash/hash.h"
#include "base/json/json.h"
#include "base/mem/arena.h"
#include "base/prng.h"
#include "core/core.h"
#include "model/command.h"
#include "sim/oracle/boot_view_oracle.h"
#include "sim/oracle/grant_oracle.h"
#include "sim/scenario/event_queue.h"
#include "sim/scenario/transcript_hash.h"
#include "sim/store/memory_store.h"
#include "turn/turn.h"

#define RACK_MACHINES_MAX 8u
#define RACK_DISKS_MAX    4u
#define RACK_ORDERS_MAX   256u
#define RACK_ADMIN        RACK_MACHINES_MAX       /* machine number of the admin node         */
#define RACK_SECOND_ADMIN (RACK_MACHINES_MAX + 1) /* and of that with the second databases    */
#define RACK_ADMINS       2u /* admin nodes; below, 0 is the first one and 1 is the second */

/* kind, name */
#define RACK_FAULTS(X)                                                                             \
    X(CRASH, "crash")                         /* the daemon crashes at a point of its turn    */   \
    X(STORE_REFUSED, "store_refused")         /* the store refuses a batch                    */   \
    X(STORE_UNANSWERED, "store_unanswered")   /* the result of a commit is lost               */   \
    X(HOOK_TWICE, "hook_twice")               /* a hook is called twice                       */   \
    X(HOOK_LATE, "hook_late")                 /* a hook result is delayed by minutes          */   \
    X(RUN_SLOW, "run_slow")                   /* a script takes many minutes                  */   \
    X(RUN_FAILED, "run_failed")               /* a script fails before it does anything       */   \
    X(ANSWER_LATE, "answer_late")             /* the result of a run is delayed by minutes    */   \
    X(ANSWER_LOST, "answer_lost")             /* the result is lost until it is sent again    */   \
    X(ANSWER_TWICE, "answer_twice")           /* the result arrives again much later          */   \
    X(POWER_LOSS, "power_loss")               /* a machine loses power at any instant         */   \
    X(CALL_LOST, "call_lost")                 /* the request of a machine is lost             */   \
    X(CALL_TWICE, "call_twice")               /* the request arrives twice                    */   \
    X(CALL_LATE, "call_late")                 /* the request is delayed by up to 20 minutes   */   \
    X(REPLY_LOST, "reply_lost")               /* the request is executed, the reply is lost   */   \
    X(NODE_DELETED, "node_deleted")           /* an operator deletes a node, at any time      */   \
    X(REDEPLOYED, "redeployed")               /* an operator requests a new installation      */   \
    X(DEBUGGED, "debugged")                   /* an operator boots the discovery image        */   \
    X(RENAMED_OS, "renamed_os")               /* an operator changes the target OS late       */   \
    X(ADMIN_DEAD, "admin_dead")               /* the admin node is not alive for a while      */   \
    X(ADMIN_UNAVAILABLE, "admin_unavailable") /* the admin node is not available for a while  */   \
    X(RUN_HALF, "run_half")                   /* a run publishes half of its entries and dies */   \
    X(POWER_STEP, "power_step")               /* a machine loses power between two steps      */   \
    X(RECALLED, "recalled")                   /* an operator recalls a deployment             */   \
    X(WITHDRAWN, "withdrawn")                 /* an operator proposes an installation         */   \
    X(DATABASE_PROPOSED, "database_proposed") /* an operator proposes a database              */   \
    X(SERVER_LATE, "server_late")             /* a message to a boot server takes minutes     */   \
    X(SERVER_LOST, "server_lost")             /* the connection to a boot server is lost      */   \
    X(SERVER_RESTARTED, "server_restarted")   /* a boot server restarts without its copy      */   \
    X(SERVER_FAILED, "server_failed")         /* a boot server reports what it cannot serve   */   \
    X(PACKET_LOST, "packet_lost")             /* a DHCP packet, or a page of HTTP, is lost    */   \
    X(PACKET_TWICE, "packet_twice")           /* a DHCP packet arrives twice                  */   \
    X(STAMPED, "stamped")                     /* a disk has the stamp of a later boot         */   \
    X(RESTORED, "restored")                   /* the store is restored from an older backup   */   \
    X(IMPORTED, "imported")                   /* the store is imported from a copy of itself  */   \
    X(OTHER_NODE, "other_node")               /* a boot server asks for another machine       */

enum rack_fault {
#define X(upper, name) RACK_##upper,
    RACK_FAULTS(X)
#undef X
        RACK_FAULT_COUNT
};

const char *rack_fault_name(enum rack_fault fault);

/* The two services that a machine asks when it boots, each with a role that serves boots. */
enum rack_service { RACK_DHCP, RACK_PROVISIONER, RACK_SERVICE_COUNT };

/* The parameters of a rack, drawn from its seed. */
struct rack_scenario {
    uint64_t seed;
    const char *barclamps; /* "DIR[:DIR]" */
    uint32_t machines;
    int64_t hours;      /* simulated hours of the phase with faults */
    bool two_databases; /* two databases of each kind on two nodes; a machine asks either of them */
    bool is_native[RACK_SERVICE_COUNT]; /* the role has a native jig: boot servers serve it */
    bool compares_mac; /* a published provisioner compares the MAC before it asks for a grant */
    bool trace;        /* print every command and effect to standard output */
    bool has_hash;     /* compute the hash of the transcript */
    uint32_t rate[RACK_FAULT_COUNT]; /* per mille of the opportunities; 0 = never */
};

/* ---- coverage over all seeds ---- */

#define RACK_REACHED(X)                                                                            \
    X(BOOTED_SLEDGEHAMMER, "booted the discovery image")                                           \
    X(BOOTED_INSTALLER, "booted the installer")                                                    \
    X(BOOTED_LOCAL, "booted its disk")                                                             \
    X(WIPED, "wiped by a run")                                                                     \
    X(WIPED_AGAIN, "wiped again before it was installed")                                          \
    X(INSTALLED, "installed")                                                                      \
    X(REINSTALLED, "installed again after a redeploy")                                             \
    X(INSTALLED_AFTER_CUT, "installed though its power failed on the way")                         \
    X(PARKED, "parked until the installer is served")                                              \
    X(NOT_SERVED, "not rebooted, because the installer is not served")                             \
    X(SKIPPED, "came back without being wiped")                                                    \
    X(APPLICATION_RAN, "application run")                                                          \
    X(DATABASE_PUBLISHED, "database published")                                                    \
    X(DATABASE_WAITED, "database run due while its node was not alive or available")               \
    X(OLD_CALL_IGNORED, "request older than the last one of the machine ignored")                  \
    X(OLD_BOOT_IGNORED, "late report of an earlier boot")                                          \
    X(OPERATOR_RETRIED, "operator retried after an error")                                         \
    X(POWER_WAITED, "power action waited at the boot barrier")                                     \
    X(POWER_AGAIN, "operator requested again a power action that was given up")                    \
    X(REFUSED_REBOOTED, "operator rebooted a machine that is in another environment")              \
    X(SERVED_BY_SECOND, "booted what the second databases served")                                 \
    X(SERVED_NATIVE, "booted what a boot server served")                                           \
    X(SERVED_SILENT, "got no answer, because the boot server has no copy")                         \
    X(DHCP_RESERVED, "DHCP acknowledged the address of a node")                                    \
    X(DHCP_LEASED, "DHCP acknowledged an address of the pool")                                     \
    X(DHCP_NO_FILE, "DHCP named no boot file, so the firmware booted the disk")                    \
    X(DHCP_FAILED, "firmware began again, because DHCP did not succeed")                           \
    X(SCRIPT_REFUSED, "boot script refused, because the address is not of the machine")            \
    X(SCRIPT_AGAIN, "boot script asked for again, with a ticket")                                  \
    X(DAEMON_AWAY, "installer not asked for, because the daemon is not connected")                 \
    X(PUBLISHED_AGAIN, "database published all machines from the start")                           \
    X(BASE_RECEIVED, "boot server received a base image")                                          \
    X(VIEW_COMPARED, "boot server compared with the core at an acknowledged turn")                 \
    X(GRANTED, "granted the installer")                                                            \
    X(GRANTED_AGAIN, "granted the installer again, with the same ticket")                          \
    X(TICKET_REFUSED, "refused the installer, because another ticket has used the grant")          \
    X(GRANT_REFUSED, "refused the installer without a valid grant")                                \
    X(OTHER_NODE, "not asked for by the boot server, because the node is another machine")         \
    X(OTHER_MAC, "refused the installer of another machine, because of its MAC")                   \
    X(GRANT_STALE, "answered to ask again what to boot")                                           \
    X(PHONED_TWICE, "end of an installation reported again")                                       \
    X(STAMP_STOPPED, "installer stopped at a stamp")                                               \
    X(STOPPED_REDEPLOYED, "operator redeployed a machine whose installer `why` names")             \
    X(COMMITTED_AGAIN, "operator committed an installation again after a restore")                 \
    X(RESTORED_INSTALLING, "store restored while an installer was running")

enum rack_reached {
#define X(upper, text) RACK_REACHED_##upper,
    RACK_REACHED(X)
#undef X
        RACK_REACHED_COUNT
};

/* uint64_t fields only: worker processes send the struct through a pipe, and add_counts() sums it
 * as an array. */
struct rack_counts {
    uint64_t racks;
    uint64_t machines;
    uint64_t turns;
    uint64_t commands;
    uint64_t hooks; /* number of hook calls */
    uint64_t runs;
    uint64_t simulated_ms;
    uint64_t faults[RACK_FAULT_COUNT];
    uint64_t points[TURN_POINT_COUNT]; /* number of crashes at each point of the turn */
    uint64_t reached[RACK_REACHED_COUNT];
};

/* ---- machines ---- */

enum rack_env {
    RACK_ENV_OFF,
    RACK_ENV_FIRMWARE, /* about to send a DHCP request */
    RACK_ENV_SLEDGEHAMMER,
    RACK_ENV_LOADER, /* the installer is loaded and not started: it asks for its grant */
    RACK_ENV_INSTALLER,
    RACK_ENV_LOCAL,
    RACK_ENV_NOWHERE, /* boot from disk, but no disk has an operating system */
    RACK_ENV_COUNT
};

const char *rack_env_name(enum rack_env env);

struct rack_disk {
    char name[40]; /* unique_name */
    char path[16];
    char serial[32];
    int64_t size; /* bytes */
    bool removable;
    bool claimed; /* by another owner than the operating system */
    bool wiped;   /* and not written to since */
    bool has_os;
    int64_t stamp;    /* boot generation of the installation that stamped it; 0 = none */
    bool keeps_stamp; /* it is where a wipe does not write */
    uint32_t wipes;   /* count */
};

/* The API requests of a machine, sent one after the other. */
enum rack_call {
    CALL_NONE,
    CALL_REGISTER,  /* create the node unless it exists */
    CALL_COMMIT,    /* commit its discovery roles       */
    CALL_BOOTING,   /* alive=false bootenv=sledgehammer */
    CALL_ALIVE,     /* alive=true                       */
    CALL_INSTALLED, /* bootenv=local                    */
    CALL_LEAVING,   /* alive=false                      */
    CALL_JOINED,    /* alive=true bootenv=local         */
    CALL_GRANT,     /* may I start the installer?       */
    CALL_STAMPED,   /* the installer found a stamp      */
    CALL_COUNT
};

/* The answer to a machine that boots. */
struct rack_answer {
    int64_t node_id;
    int64_t generation;
    uint32_t history; /* rack.history when it was published, or the base image was read */
    char bootenv[64];
    char rootdev[40]; /* empty: not part of the answer */
};

/* The generation that a power action of a machine has waited for, at what has served it. */
struct rack_floor {
    int64_t node_id;    /* 0 = it did not wait */
    int64_t generation; /* boot generation of that node */
    uint32_t history;
};

/* The network boot of a machine: firmware, then iPXE. */
enum rack_net_phase { NET_OFF, NET_DISCOVERS, NET_REQUESTS, NET_GETS };

struct rack_net {
    enum rack_net_phase phase;
    bool is_ipxe;    /* the second dialog */
    uint32_t serial; /* of what is waited for; timeouts of another one are void */
    uint32_t tries;
    uint32_t xid;
    uint32_t offered; /* address of the offer ... */
    uint32_t server;  /* ... and server identifier */
    uint32_t address; /* acknowledged; 0 = none */
    uint32_t admin;   /* the admin node whose boot server answered */
    struct str url;   /* of the script that it gets */
    char kernel[64];  /* path of the kernel that is loaded; empty = none */
};

struct rack_machine {
    char name[64];
    char mac[32];
    char address[24];
    struct rack_disk disks[RACK_DISKS_MAX];
    uint32_t disk_count;

    enum rack_env env;
    uint32_t boot;         /* number of the boot; scripts and events of an earlier boot are void */
    uint32_t step;         /* of the sequence that this environment performs */
    bool is_ready;         /* ssh is up: scripts can be run on it */
    bool is_stopped;       /* its installer has stopped at a stamp */
    enum rack_call call;   /* the request that waits for its reply */
    int64_t call_seq;      /* sequence number of that request; only increases */
    int64_t received_seq;  /* the highest sequence number that the API has received */
    int64_t power_done_id; /* outbox id of the last power action that was performed */
    struct str committed;  /* the disks that were committed last, canonical JSON */
    char rootdev[40];      /* the disk of the installer, as the provisioner serves it */
    struct rack_answer answer; /* by the provisioner, at the last boot                    */
    struct rack_net net;
    struct rack_floor floors[RACK_ADMINS][RACK_SERVICE_COUNT];
    char ticket[128]; /* of this boot                                            */
    /* The ticket, or its hash, and the generation that were granted an installer last. */
    char granted[65];
    int64_t granted_generation;
    char node_disk[40];       /* of the operating system, when the grant was given       */
    uint32_t history;         /* rack.history when it was granted the installer          */
    struct rack_answer wrote; /* the boot in which an installer wrote a disk last       */
    char marker[32];          /* /run/halligan/wiped of the wipe script; lost at every boot */
    int64_t wiped_ms;         /* monotonic time of that wipe */
    bool was_cut;             /* its power failed since the last wipe */

    uint32_t boots;         /* count */
    uint32_t boots_allowed; /* upper bound of `boots`; above it the machine is in a boot loop */
    uint32_t boots_into[RACK_ENV_COUNT];
    uint32_t wipes;             /* number of runs that wiped it */
    uint32_t installs;          /* number of successful installations */
    uint32_t install_requests;  /* number of requests to install it: the first one, redeploys ... */
    uint32_t wiped_for_request; /* the request (number) for which it was wiped last */
    uint32_t installed_for_request; /* the request (number) for which it was installed last */

    /* seen by the oracles */
    bool is_committed;      /* its installation is committed                           */
    int64_t committed_node; /* the node of which the installation was committed last   */
    uint32_t committed_in;  /* rack.history then; 0 = never                            */
    uint32_t started_in;    /* rack.history when it was started or restarted last */
    uint32_t reported_in;   /* rack.history when it reported last that it is alive     */
};

/* ---- scripts ---- */

/* One attempt of a run. The runner never forgets one, so it can detect a second start. */
struct rack_attempt {
    int64_t run_id;
    uint32_t attempt;
    int64_t node_id;
    int64_t noderole_id;
    struct str role;
    struct str node;
    struct str data;
    int32_t machine; /* -1: an admin node */
    uint32_t boot;   /* of the machine, at the start */
    bool is_reached; /* the machine was reachable at the start and has not lost power since */
    bool is_ended;
    uint32_t generation; /* increases with every state change; older end events are void */
    bool is_void;        /* of a store that was replaced by a backup */
    struct str answer;   /* result as an encoded command; empty = none yet */
};

/* What the runs of a database on an admin node have published: the boot database that machines
 * ask. */
struct rack_database {
    struct rack_entry *entries;
    uint32_t count;
    uint32_t cap;
};

struct rack_code {
    struct str role;
    const char *path;
    int64_t loaded; /* role id; 0 = not loaded since the daemon started */
};

/* ---- the rack ---- */

/* Defects of the simulated scripts, for tests that expect an oracle to fail. */
struct rack_flaws {
    bool stays_alive;  /* the install run requests a reboot and does not report the node as dead */
    bool ignores_join; /* the install run does not check whether the machine runs from its disk  */
    bool wipes_all;    /* the install run wipes every disk of the machine, not those of its list  */
    bool ignores_serial; /* the install run does not compare a disk with the committed one        */
    bool ignores_served; /* the install run does not look whether the installer is served */
};

struct hooks;
struct transitions;
struct rack_server;
struct rack_ask;

/* The reply to a command that a test sent with rack_send(). */
struct rack_reply {
    bool is_received; /* the reply has arrived */
    bool is_done;     /* false: refused, or not accepted by the turn */
    int64_t id;
    char problem[200]; /* text of the first problem */
};

struct rack {
    struct rack_scenario scenario;
    struct prng rng;
    bool has_faults;      /* in the phase with faults */
    struct arena arena;   /* until rack_free(): strings of events, results, published data */
    struct arena scratch; /* reset after every delivery of events */
    struct event_queue events;

    /* clock */
    int64_t mono_ms;

    /* content */
    struct str *documents; /* barclamps to import, in order */
    uint32_t document_count;
    uint32_t imported; /* number of documents imported so far */
    struct rack_code *codes;
    uint32_t code_count;

    /* the daemon */
    struct memory_store *store;
    struct memory_session session;
    struct turn *turn;
    struct hooks *hooks;
    struct transitions *transitions;
    bool started;
    uint32_t daemon_starts;        /* number of starts of the daemon */
    uint32_t crashes_left;         /* number of crashes that may still be injected */
    enum turn_point planned_point; /* where the next crash happens */
    uint32_t points_to_pass;       /* points of the turn to pass before it may happen */
    bool kill_now;                 /* crash at the next point of the turn */
    int64_t hook_ms;               /* monotonic time at which the last hook result is delivered */
    int64_t delay_ms[RACK_FAULT_COUNT]; /* for tests: always added to the delays of that fault */

    /* environment of the daemon */
    struct rack_attempt *attempts;
    uint32_t attempt_count;
    uint32_t attempt_cap;
    struct rack_database databases[RACK_ADMINS][RACK_SERVICE_COUNT];
    struct rack_server *servers; /* boot servers, one for each admin node */
    struct rack_ask *asks;       /* of boot servers to the daemon, all that there were */
    uint32_t ask_count, ask_cap;
    int64_t loads;       /* number of loads of a core, and of crashes of the daemon */
    int64_t view_turn;   /* of the last load or change of the boot view */
    int64_t connections; /* number of the last connection of a boot server */
    struct rack_machine machines[RACK_MACHINES_MAX];
    int64_t released[RACK_ORDERS_MAX]; /* ring buffer: power actions that passed the boot barrier */
    uint32_t released_count;           /* number of entries ever written */
    int64_t waited[RACK_ORDERS_MAX];   /* the same for those that waited there */
    uint32_t waited_count;
    bool is_admin_up;     /* the admin node is reachable */
    bool is_database_due; /* a database run is due while its node cannot run it */

    /* backups */
    struct memory_store *backup; /* NULL: none yet */
    uint32_t history;            /* number of the history: 1, plus 1 for each restore or import */
    uint32_t history_seen;  /* the last one for which the operator has restarted all machines */
    uint32_t restores_left; /* number of restores and imports that may still happen */
    bool restore_now;       /* the daemon is stopped for a restore ... */
    bool import_now;        /* ... or for an import */

    /* the operator */
    int64_t last_request;
    int64_t awaited_request; /* the request that rack_send() waits for; 0 = none */
    struct rack_reply reply;
    uint32_t wipe_serial;

    /* oracles */
    struct boot_view_oracle view;
    struct grant_oracle grants;

    struct rack_flaws flaws;
    struct rack_counts counts;
    struct transcript_hash transcript;
    char failure[640]; /* the first violation; empty = none */
};

struct rack_result {
    bool failed;
    char failure[640];
    char transcript[TRANSCRIPT_HEX_SIZE];
};

/* Draw the parameters from the seed. */
struct rack_scenario rack_draw_scenario(uint64_t seed, const char *barclamps);

/* Simulate one rack from start to end. Its counts are added to `counts`. */
struct rack_result rack_simulate(const struct rack_scenario *scenario, struct rack_counts *counts);

/* ---- step by step ---- */

/* Create a rack: machines are off, the daemon is not started, the barclamps are read. Returns NULL,
 * with a sentence in `failure`, if a barclamp cannot be read. */
struct rack *rack_new(const struct rack_scenario *scenario, char *failure, uint32_t failure_size);
void rack_free(struct rack *r);

/* Import the barclamps and create the admin node; returns when all its noderoles are ACTIVE. False,
 * with r->failure set, if they do not become ACTIVE. */
bool rack_set_up(struct rack *r);

/* Simulate that much time, or stop at the first violation. */
void rack_pass(struct rack *r, int64_t ms);
typedef bool (*rack_condition)(struct rack *r, int64_t argument);
/* Simulate until the condition is true. False if it was not within that time, or at a violation. */
bool rack_until(struct rack *r, rack_condition condition, int64_t argument, int64_t within_ms);

/* Send a command as an operator and simulate until its reply arrives. */
struct rack_reply rack_send(struct rack *r, const struct command *command);
/* The same for the frequent commands. */
struct rack_reply rack_bind(struct rack *r, uint32_t machine, const char *role,
                            const char *deployment);
struct rack_reply rack_commit(struct rack *r, const char *deployment);
struct rack_reply rack_node_verb(struct rack *r, uint32_t machine, enum command_kind verb);
/* Create the second admin node, with a database of each kind. False if it does not become
 * ACTIVE. */
bool rack_add_databases(struct rack *r);

/* The connection of the boot server of an admin node (0, 1) is lost for that long. */
void rack_lose_server(struct rack *r, uint32_t admin, int64_t ms);
void rack_power_on(struct rack *r, uint32_t machine);
/* The power of the machine fails now and returns only with rack_power_on(). */
void rack_power_cut(struct rack *r, uint32_t machine);
/* The daemon crashes at the next point of its turn and is started again. */
void rack_kill(struct rack *r);

/* For reading; NULL while no core is loaded. */
const struct core *rack_core(const struct rack *r);
bool rack_node(const struct rack *r, uint32_t machine, struct node_record *out_node);
/* The noderole of a role on a machine (or on an admin node: RACK_ADMIN, RACK_SECOND_ADMIN). */
bool rack_noderole(const struct rack *r, uint32_t machine, const char *role,
                   struct noderole_record *out_noderole);
/* The boot environment that a service of an admin node (0, 1) answers a machine with; empty if
 * it does not know the machine, or does not answer. */
const char *rack_served(struct rack *r, uint32_t admin, enum rack_service service,
                        uint32_t machine);
/* The store is replaced by the last backup, or by a copy of itself, at the next point of the
 * turn. */
void rack_backup(struct rack *r);
void rack_restore(struct rack *r);
void rack_import(struct rack *r);
/* The first unmet part of the goal: every machine installed, every noderole ACTIVE, and both
 * databases as the records require. NULL: the goal is reached. */
const char *rack_missing(struct rack *r);

/* ---- many seeds ---- */

struct options;
/* The program: `halligan-sim --rack`. Exit status. */
int rack_run(const struct options *options);
