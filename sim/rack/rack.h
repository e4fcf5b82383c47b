/* rack.h - a rack of machines that are discovered and installed by the shipped roles.
 *
 * Core, turn, content reader and hooks are the real ones: the barclamps are read from their files
 * and their Lua runs in its thread. Store, clock, scripts, machines and people are pretended and
 * driven by one seeded generator, so a seed always tells the same story. A machine boots what DHCP
 * and the provisioner were told by the last runs of their databases, not what the core would like;
 * what is wiped are its disks.
 *
 * rack_live() lives through one seed with all its faults. The rest is for stories told step by step
 * (tests): whoever tells one may look at every field and changes none but disks, `delay_ms` and
 * `flaws`.
 * All of it in one thread.
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
#include "sim/scenario/event_queue.h"
#include "sim/scenario/transcript_hash.h"
#include "sim/store/memory_store.h"
#include "turn/turn.h"

#define RACK_MACHINES_MAX 8u
#define RACK_DISKS_MAX    4u
#define RACK_WAITING_MAX  64u
#define RACK_ADMIN        RACK_MACHINES_MAX       /* in place of a machine: the admin node */
#define RACK_SECOND_ADMIN (RACK_MACHINES_MAX + 1) /* and the one with the other databases  */

/* kind, name */
#define RACK_FAULTS(X)                                                                             \
    X(CRASH, "crash")                         /* the daemon dies at a point of its turn       */   \
    X(STORE_REFUSED, "store_refused")         /* a batch is not in                            */   \
    X(STORE_UNANSWERED, "store_unanswered")   /* it may be in, and nobody says so             */   \
    X(HOOK_TWICE, "hook_twice")               /* a hook is called twice                       */   \
    X(HOOK_LATE, "hook_late")                 /* the thread of the hooks is busy for minutes  */   \
    X(RUN_SLOW, "run_slow")                   /* takes many minutes                           */   \
    X(RUN_FAILED, "run_failed")               /* fails, having done nothing                   */   \
    X(ANSWER_LATE, "answer_late")             /* what came of it is told minutes later        */   \
    X(ANSWER_LOST, "answer_lost")             /* and only when it is told again               */   \
    X(ANSWER_TWICE, "answer_twice")           /* is told again much later                     */   \
    X(POWER_LOSS, "power_loss")               /* a machine loses power at any instant         */   \
    X(CALL_LOST, "call_lost")                 /* a machine's request does not arrive          */   \
    X(CALL_TWICE, "call_twice")               /* arrives twice                                */   \
    X(CALL_LATE, "call_late")                 /* arrives late, and once more later            */   \
    X(REPLY_LOST, "reply_lost")               /* is done, and the machine never hears of it   */   \
    X(NODE_DELETED, "node_deleted")           /* an operator deletes a machine, at any time   */   \
    X(REDEPLOYED, "redeployed")               /* an operator has it installed again           */   \
    X(DEBUGGED, "debugged")                   /* an operator takes it to the discovery image  */   \
    X(RENAMED_OS, "renamed_os")               /* an operator changes the target late          */   \
    X(ADMIN_DEAD, "admin_dead")               /* the databases' node is not alive for a while */   \
    X(ADMIN_UNAVAILABLE, "admin_unavailable") /* or not available                             */

enum rack_fault {
#define X(upper, name) RACK_##upper,
    RACK_FAULTS(X)
#undef X
        RACK_FAULT_COUNT
};

const char *rack_fault_name(enum rack_fault fault);

/* What a rack is like. */
struct rack_draw {
    uint64_t seed;
    const char *barclamps; /* "DIR[:DIR]" */
    uint32_t machines;
    int64_t hours;                   /* with faults */
    bool two_databases;              /* of each kind, on two nodes: either answers (X9) */
    bool trace;                      /* tell everything on standard output */
    uint32_t rate[RACK_FAULT_COUNT]; /* per mille of the occasions */
};

/* ---- what was reached, over all seeds ---- */

#define RACK_REACHED(X)                                                                            \
    X(BOOTED_SLEDGEHAMMER, "booted the discovery image")                                           \
    X(BOOTED_INSTALLER, "booted the installer")                                                    \
    X(BOOTED_LOCAL, "booted its disk")                                                             \
    X(WIPED, "wiped by a run")                                                                     \
    X(WIPED_AGAIN, "wiped again before it was installed")                                          \
    X(INSTALLED, "installed")                                                                      \
    X(REINSTALLED, "installed again after a redeploy")                                             \
    X(INSTALLED_AFTER_CUT, "installed though its power failed on the way")                         \
    X(PARKED, "parked until the databases agree")                                                  \
    X(SKIPPED, "came back without being wiped")                                                    \
    X(APPLICATION_RAN, "application run")                                                          \
    X(DATABASE_PUBLISHED, "database published")                                                    \
    X(DATABASE_WAITED, "database that could not run when asked")                                   \
    X(OLD_CALL_IGNORED, "old request turned away at the door")                                     \
    X(OLD_BOOT_IGNORED, "late word of an earlier boot")                                            \
    X(OPERATOR_RETRIED, "operator retried after an error")                                         \
    X(POWER_WAITED, "power waited for the databases")                                              \
    X(POWER_AGAIN, "operator asked again for power that was given up")                             \
    X(REFUSED_REBOOTED, "operator rebooted a machine that is in another environment")              \
    X(SERVED_BY_SECOND, "booted what the second databases served")

enum rack_reached {
#define X(upper, text) RACK_REACHED_##upper,
    RACK_REACHED(X)
#undef X
        RACK_REACHED_COUNT
};

/* Plain numbers, so that processes can add up. */
struct rack_counts {
    uint64_t racks;
    uint64_t machines;
    uint64_t turns;
    uint64_t commands;
    uint64_t hooks; /* that were called */
    uint64_t runs;
    uint64_t simulated_ms;
    uint64_t faults[RACK_FAULT_COUNT];
    uint64_t points[TURN_POINT_COUNT]; /* crashes at each */
    uint64_t reached[RACK_REACHED_COUNT];
};

/* ---- machines ---- */

enum rack_place {
    PLACE_OFF,
    PLACE_FIRMWARE, /* about to ask DHCP what to boot */
    PLACE_SLEDGEHAMMER,
    PLACE_INSTALLER,
    PLACE_LOCAL,
    PLACE_NOWHERE, /* there was nothing to boot */
    PLACE_COUNT
};

const char *rack_place_name(enum rack_place place);

struct rack_disk {
    char name[40]; /* unique_name */
    char path[16];
    bool removable;
    bool claimed; /* by somebody who is not the operating system */
    bool wiped;   /* and nothing was written since */
    bool has_os;
    uint32_t wipes; /* ever */
};

/* What a machine asks of the API, one after the other. */
enum rack_call {
    CALL_NONE,
    CALL_REGISTER,  /* make the node unless it is there */
    CALL_COMMIT,    /* have it discovered, unless it is */
    CALL_BOOTING,   /* alive=false bootenv=sledgehammer */
    CALL_ALIVE,     /* alive=true                       */
    CALL_INSTALLED, /* bootenv=local                    */
    CALL_LEAVING,   /* alive=false                      */
    CALL_JOINED,    /* alive=true bootenv=local         */
    CALL_COUNT
};

struct rack_machine {
    char name[64];
    char mac[32];
    char address[24];
    struct rack_disk disks[RACK_DISKS_MAX];
    uint32_t disk_count;

    enum rack_place place;
    uint32_t boot;       /* which one it is in; work of an earlier one is over */
    uint32_t step;       /* of what this environment does by itself */
    bool is_ready;       /* scripts can be run on it */
    enum rack_call call; /* waits for the answer */
    int64_t call_seq;    /* of that; never goes back */
    int64_t door_seq;    /* the highest the API has seen of it */
    int64_t power_seen;  /* the last order that switched it */
    char rootdev[40];    /* what the installer was told */
    char marker[32];     /* left by a script in the memory of this boot */
    bool was_cut;        /* its power failed since it was last wiped */

    uint32_t boots;
    uint32_t boots_allowed; /* beyond that it is a loop */
    uint32_t boots_into[PLACE_COUNT];
    uint32_t wipes;    /* runs that wiped it */
    uint32_t installs; /* ended well */
    bool may_install;  /* the installer that is served now was served to a wiped machine */
    uint32_t permits;  /* how often somebody wanted it installed: the first time, redeploys ... */
    uint32_t permit_wiped; /* under which of these it was wiped last */
    uint32_t permit_used;  /* and of what it was installed with last */
};

/* ---- scripts ---- */

/* What one attempt does, and what the runner never forgets about it. */
struct rack_work {
    int64_t run_id;
    uint32_t attempt;
    int64_t node_id;
    int64_t noderole_id;
    struct str role;
    struct str node;
    struct str data;
    int32_t machine; /* -1: the admin node */
    uint32_t boot;   /* of the machine, when it began */
    bool is_reached; /* the machine was there to begin with */
    bool is_ended;
    uint32_t generation; /* of its end */
    struct str answer;   /* encoded command; empty = none yet */
};

struct rack_code {
    struct str role;
    const char *path;
    int64_t loaded; /* role id; 0 = not in this life of the daemon */
};

/* ---- the rack ---- */

/* For stories that must end badly: what a script does wrong. */
struct rack_flaws {
    bool stays_alive;  /* the install run asks for a reboot, and forgets that its machine is down */
    bool ignores_join; /* the install run does not look whether the machine runs from its disk    */
};

struct hooks;
struct transitions;

/* What a step-by-step story is told of the last command it sent. */
struct rack_word {
    bool is_there;
    bool is_done; /* otherwise refused, or not taken at all */
    int64_t id;
    char problem[200];
};

struct rack {
    struct rack_draw draw;
    struct prng chance;
    bool has_faults; /* still in the phase of faults */
    struct arena story;
    struct arena scratch;
    struct event_queue events;

    /* clock */
    int64_t mono_ms;

    /* content */
    struct str *documents; /* to import, in order */
    uint32_t document_count;
    uint32_t imported; /* of these */
    struct rack_code *codes;
    uint32_t code_count;

    /* the daemon */
    struct memory_store *store;
    struct memory_session session;
    struct turn *turn;
    struct hooks *hooks;
    struct transitions *transitions;
    bool started;
    uint32_t life; /* how often it was started */
    uint32_t deaths_left;
    enum turn_point death_point;
    uint32_t death_patience;
    bool kill_now;
    int64_t hook_ms;                    /* when the last answer of a hook is handed over */
    int64_t delay_ms[RACK_FAULT_COUNT]; /* for stories: adds this to what a fault of that kind
                                           delays, always; 0 = by chance only */

    /* the world */
    struct rack_work *works;
    uint32_t work_count;
    uint32_t work_cap;
    struct str dhcp;        /* clients as served, canonical JSON */
    struct str provisioner; /* likewise */
    struct str second_dhcp; /* by the databases of the second admin node; empty = there are none */
    struct str second_provisioner;
    struct rack_machine machines[RACK_MACHINES_MAX];
    struct rack_waiting {
        int64_t outbox_id;
        int64_t generation;
    } waiting[RACK_WAITING_MAX]; /* power that was seen to wait, the newest of it */
    uint32_t waiting_count;      /* ever */
    bool is_admin_up;            /* as the operator left it */
    bool is_database_due;        /* a database is to run, and cannot */

    /* the operator */
    int64_t last_request;
    int64_t word_request; /* that a story waits for */
    struct rack_word word;
    uint32_t wipe_serial;

    struct rack_flaws flaws;
    struct rack_counts counts;
    struct transcript_hash transcript;
    char failure[640]; /* empty = all is well */
};

struct rack_result {
    bool failed;
    char failure[640];
    char transcript[TRANSCRIPT_HEX_SIZE];
};

/* Drawn from the seed. */
struct rack_draw rack_draw(uint64_t seed, const char *barclamps);
void rack_describe(const struct rack_draw *draw, char *text, uint32_t size);

/* Live through one seed. Counts are added. */
struct rack_result rack_live(const struct rack_draw *draw, struct rack_counts *counts);

/* ---- step by step ---- */

/* Machines are off, the daemon has not started. The barclamps are read: NULL when that failed, with
 * a sentence in `failure`. */
struct rack *rack_new(const struct rack_draw *draw, char *failure, uint32_t failure_size);
void rack_free(struct rack *r);

/* Import everything, and bring the admin node up with all its roles. False, with a failure noted,
 * when it did not come up. */
bool rack_set_up(struct rack *r);

/* Let so much time pass, or stop earlier when something failed. */
void rack_pass(struct rack *r, int64_t ms);
typedef bool (*rack_wish)(struct rack *r, int64_t argument);
/* Until it is so. False when it was not within that time, or something failed. */
bool rack_until(struct rack *r, rack_wish is_so, int64_t argument, int64_t within_ms);

/* Somebody sends this, and waits until it is answered. */
struct rack_word rack_send(struct rack *r, const struct command *command);
/* The same for what operators do most. */
struct rack_word rack_bind(struct rack *r, uint32_t machine, const char *role,
                           const char *deployment);
struct rack_word rack_commit(struct rack *r, const char *deployment);
struct rack_word rack_node_verb(struct rack *r, uint32_t machine, enum command_kind verb);
/* The second admin node, with a database of each kind on it. False when it does not come up. */
bool rack_add_databases(struct rack *r);

void rack_power_on(struct rack *r, uint32_t machine);
/* Its power fails now; it comes back only by rack_power_on(). */
void rack_power_cut(struct rack *r, uint32_t machine);
/* The daemon dies at the next point of its turn, and is started again. */
void rack_kill(struct rack *r);

/* Looking. NULL while the core is down. */
const struct core *rack_core(const struct rack *r);
bool rack_node(const struct rack *r, uint32_t machine, struct node_record *out_node);
/* The noderole of a role on a machine (or on an admin node: RACK_ADMIN, RACK_SECOND_ADMIN). */
bool rack_noderole(const struct rack *r, uint32_t machine, const char *role,
                   struct noderole_record *out_noderole);
/* The boot environment that is served for a machine; empty when it is not known there. */
struct str rack_served(struct rack *r, struct str clients, uint32_t machine);
/* What keeps the rack from its goal: every machine installed, every noderole active, both databases
 * as the records say. NULL when nothing does. */
const char *rack_missing(struct rack *r);

/* ---- many seeds ---- */

struct options;
/* The program: `halligan-sim --rack`. Exit status. */
int rack_run(const struct options *options);
