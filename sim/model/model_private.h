/* model_private.h - the arrays of the naive model, shared by its source files.
 *
 * model.c reads the records, model_events.c is the transition table, model_follow.c turns commands
 * into events, model_anneal.c checks the starts of an annealing pass, model_boot.c checks the boot
 * barrier, model_grants.c the grants of installations, model_readings.c the power states,
 * model_admin.c the automatic admin node, model_addresses.c the addresses of nodes and
 * clients, model_names.c the DNS names, model_rights.c the rights of users, model_records.c the
 * records against each other, model_machines.c what keeps machines from booting, model_why.c the
 * causes of `why`.
 */
#pragma once

#include "sim/model/model.h"

/* Arrays of objects are indexed by durable id; the ids of a simulated world stay small. Fields are
 * copies of the record unless the comment says "computed". */
struct model_noderole {
    bool exists;
    bool unavailable;
    bool rerun;
    bool was_native; /* computed: it had no run after the last step, and served natively */
    bool started;    /* computed: a run of it was started in this step */
    bool barred;     /* computed: not committed since the store was imported */
    enum noderole_state state; /* computed; compared with the record after every step */
    uint32_t run_count;        /* computed; compared with the record after every step */
    uint32_t attempt;
    uint32_t cohort;
    int64_t node_id;
    int64_t role_id;
    int64_t deployment_id;
    uint32_t read_attempt;   /* computed: the attempt whose staged data were read last */
    uint32_t served_attempt; /* computed: the attempt after the last step */
    uint32_t logs;           /* computed: records of acknowledged changes in this step */
    uint64_t log_hash;       /* of the text of that record */
    uint32_t cohort_index;   /* index in `by_cohort` */
    uint32_t parent_first;   /* index of the first parent in `parents` */
    uint32_t parent_count;
};

struct model_node {
    bool exists;
    bool alive;
    bool available;
    bool stopped;
    bool system;
    bool admin;
    bool automatic;
    int64_t deployment_id;
    int64_t target_role_id;
};

/* How the noderoles of a role serve boots (docs/spec/boot.md, "Served"). */
enum model_service { MODEL_SERVES_NOTHING, MODEL_SERVES_NATIVE, MODEL_SERVES_PUBLISHED };

struct model_role {
    bool exists;
    bool usable;  /* its effective jig is active */
    bool instant; /* its jig is a no-op */
    enum model_service service;
    uint32_t flags;
    uint32_t attempts; /* number of starts until a failure sets ERROR */
};

struct model_deployment {
    bool exists;
    bool committed; /* the head */
};

struct model_run {
    int64_t id;
    int64_t node_id;
    int64_t noderole_id;
    enum run_state state;
    enum queue queue;
    uint32_t attempt;
    uint32_t tries; /* number of starts that failed */
};

/* A row of the outbox, by id. It is kept after its result, because the core deletes the row in the
 * step that handles the result. */
struct model_hook {
    bool waiting; /* the row exists: no result yet */
    bool about_noderole;
    enum outbox_kind kind;
    enum hook hook;
    int64_t object_id;
    uint32_t depth;
};

/* The boot fields of a node, as its record had them after the last step. */
struct model_boot {
    bool exists;
    bool alive;
    bool has_status;
    bool has_power_status; /* about its power or ssh, not about its installer */
    bool has_given_up;     /* computed: a power action of it was given up in this step */
    int64_t generation;
    uint64_t bootenv; /* hash */
    char boot_id[24];
    char old_boots[200]; /* JSON array, copied from the record */
};

/* The grant of a node; computed, and compared with the record after every step. */
struct model_grant {
    bool exists;
    bool installs;    /* its environment starts an installer */
    uint64_t bootenv; /* hash */
    int64_t generation;
    enum grant_state state;
    enum grant_void why;
    int64_t owner;   /* noderole */
    uint64_t ticket; /* hash; 0 = none */
    int64_t stamp;
    int64_t since_ms; /* monotonic: lower bound of the start of the installer's time    */
    int64_t again_ms; /* monotonic: upper bound, after the last load; -1 = not known    */
};

/* A power action that waits at the boot barrier. */
struct model_power {
    int64_t id;
    int64_t node_id;
    int64_t generation;
    int64_t left_ms; /* deadline after the start of the wait; 0 = queued behind another action */
    bool restarts;
    int64_t since_ms; /* monotonic: lower bound of the start of the wait (creation)         */
    int64_t again_ms; /* monotonic: upper bound (start after the last load); -1 = not known */
    int64_t server;   /* noderole that has not served the boot: the smallest id; 0 = none */
};

/* The power state of a node, as its record had it after the last step. */
struct model_reading {
    bool exists;
    uint32_t state, reason;
    int64_t read_at;
    int64_t order;
    uint64_t driver; /* hash */
};

/* An address as inet_pton() reads it; prefix -1 = none was written. */
struct model_ip {
    bool is_v6;
    int prefix;
    uint8_t bytes[16]; /* 4 of IPv4, then zeros */
};

/* An allocation or a lease, as its record was after the last step. */
struct model_address {
    bool is_allocation;
    bool is_readable; /* the text of the address */
    uint32_t state;   /* LEASE_...; 0 for an allocation */
    int64_t id, node_id, network_id, range_id, mac;
    struct model_ip ip;
};

/* An address that was freed by a node or declined by a client. */
struct model_rest {
    struct model_ip ip;
    int64_t node_id; /* the node that may have it back; 0 = none */
    int64_t range_id;
    int64_t since_ms; /* monotonic */
};

/* A nic or a DNS name entry, as its record was after the last step. */
struct model_belonging {
    enum table table; /* TABLE_NIC or TABLE_DNS_NAME_ENTRY */
    int64_t id;
    int64_t node_id; /* of the nic, or of the allocation that has the name */
    uint64_t value;  /* the MAC, or a hash of the name */
};

/* The entry of a machine in the boot view. */
struct model_entry {
    bool exists;      /* the node */
    bool was_in_view; /* it had an entry at some time since the load */
    bool is_open;     /* it has changed since the last collect */
    int64_t turn;     /* of the last change */
    int64_t generation;
    int64_t changed_step;
    uint64_t hash;    /* of all of it; 0 = it has none */
    uint64_t content; /* of what runs publish of it; 0 = it has none */
};

/* What a run publishes: of one node, or of all nodes with after < id <= to, which then have no
 * entry unless a later element has one. */
struct model_staged {
    int64_t noderole_id;
    uint32_t attempt;
    bool is_part; /* all nodes of an interval */
    bool is_done; /* its success was accepted */
    int64_t after, to;
    int64_t step; /* in which it started */
    uint64_t hash;
};

/* A boot server, by its node. */
struct model_server {
    bool is_known, is_connected;
    int64_t taken, logged, logged_ms;
};

/* A machine that a turn changed. */
struct model_move {
    int64_t turn, node_id;
};

#define MODEL_ARRAYS(A)                                                                            \
    A(struct model_noderole, noderoles)                                                            \
    A(struct model_node, nodes)                                                                    \
    A(struct model_role, roles)                                                                    \
    A(struct model_deployment, deployments)                                                        \
    A(struct model_run, runs)                                                                      \
    A(struct model_hook, hooks)                                                                    \
    A(struct model_boot, boots)                                                                    \
    A(struct model_grant, grants)                                                                  \
    A(struct model_reading, readings)                                                              \
    A(struct model_power, powers) /* by id */                                                      \
    A(int64_t, by_cohort)         /* every existing noderole, by (cohort, id) */                   \
    A(struct model_address, addresses)                                                             \
    A(struct model_rest, rests)                                                                    \
    A(struct model_belonging, belongings)                                                          \
    A(struct model_entry, entries)                                                                 \
    A(struct model_staged, staged) /* oldest first */                                              \
    A(struct model_server, servers)                                                                \
    A(struct model_move, moves)                                                                    \
    A(struct model_log, logs)                                                                      \
    A(int64_t, marked)    /* networks that were being deleted after the last step */               \
    A(int64_t, run_owner) /* by run id: its noderole, also after the run was deleted */            \
    A(int64_t, parents)

/* `x_count` entries of `x_cap`. For the ones indexed by id, count is the highest id + 1. */
struct model {
    int64_t
        rerunning_id; /* deployment whose changed noderoles this annealing step reruns; 0: none */
#define A(type, name)                                                                              \
    type *name;                                                                                    \
    uint32_t name##_count;                                                                         \
    uint32_t name##_cap;
    MODEL_ARRAYS(A)
#undef A
    int64_t first_hook; /* index: no hook before it waits */
    uint32_t pool[QUEUE_COUNT];
    bool test_jig, boot_server;
    bool has_servers; /* a boot server was connected since the load */
    int64_t step;     /* number of this step */
    uint32_t barrier_s, install_wait_s;
    int64_t outbox_seen; /* the highest id of the outbox ever assigned */
    struct model_counts counts;
    struct model *spare; /* copy from before a step with two possible outcomes */
    char trouble[512];
};

/* The indices of hooks that may be waiting: by far the most have their result. */
#define MODEL_HOOKS(m, id) for (int64_t id = (m)->first_hook; id < (int64_t)(m)->hooks_count; id++)

#define MODEL_NODEROLES(m, id)                                                                     \
    for (int64_t id = 1; id < (int64_t)(m)->noderoles_count; id++)                                 \
        if ((m)->noderoles[id].exists)

/* ---- model.c: records ---- */

enum model_part {
    MODEL_CATALOG = 1 << 0,   /* settings, jigs, roles            */
    MODEL_HEADS = 1 << 1,     /* deployments                      */
    MODEL_STRUCTURE = 1 << 2, /* noderoles and their parents      */
    MODEL_NODES = 1 << 3,
    MODEL_MOMENT = 1 << 4, /* runs, waiting hooks, rerun marks */
    MODEL_ALL = (1 << 5) - 1,
};

/* Read those parts again. New noderoles start as PROPOSED; states of known ones do not change. */
void model_read(struct model *m, const struct core *c, uint32_t parts, struct arena *scratch);
/* Read the hook rows that were added in this step and that keep their noderole from starting:
 * on_todo, on_blocked, sysdata and template. */
void model_read_fresh_hooks(struct model *m, const struct core *c);
void model_add_run(struct model *m, struct model_run run);
void model_drop_run(struct model *m, int64_t run_id);
struct model_boot *model_boot_of(struct model *m, int64_t node_id);       /* grows the array */
struct model_grant *model_grant_of(struct model *m, int64_t node_id);     /* grows the array */
struct model_reading *model_reading_of(struct model *m, int64_t node_id); /* grows the array */
/* The node has reported a later boot than this one (ADR 0049). */
bool model_boot_is_old(const struct model *m, int64_t node_id, struct str boot_id);
void model_add_power(struct model *m, struct model_power power);
struct model_entry *model_entry_of(struct model *m, int64_t node_id);   /* grows the array */
struct model_server *model_server_of(struct model *m, int64_t node_id); /* grows the array */
void model_add_staged(struct model *m, struct model_staged staged);
void model_add_move(struct model *m, struct model_move move);
void model_add_log(struct model *m, struct model_log log);
void model_add_rest(struct model *m, struct model_rest rest);
void model_add_marked(struct model *m, int64_t network_id);
void model_set_addresses(struct model *m, const struct model_address *all, uint32_t count);
void model_set_belongings(struct model *m, const struct model_belonging *all, uint32_t count);
/* Format the description of a violation and return it. It begins with the number of an invariant
 * of docs/invariants.md, or with the name of the mechanism, and a colon: the shrinker of replay.c
 * compares that prefix. */
const char *model_report(struct model *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The automatic admin node (ADR 0070) before a step that creates a node; compared after it. */
struct model_admin {
    bool is_judged;       /* the command creates a node */
    int64_t automatic_id; /* 0: there is none */
    bool is_unused;
    bool has_others; /* there are nodes beside the phantom nodes */
    uint32_t nodes_count;
};
struct model_admin model_predict_admin(const struct model *m, const struct command *command);
const char *model_check_admin(struct model *m, const struct model_admin *before,
                              const struct command *command, const struct outcome *outcome);
/* I13: the creation of an automatic node was refused; checks that there are other nodes. */
const char *model_check_no_automatic(struct model *m);
/* I13: at most one automatic node, and no other admin node beside it. */
const char *model_check_automatic(struct model *m);
/* I12 (rule 2 of ADR 0051): `m` is the state before the step, `c` after it. NULL: no violation. */
const char *model_check_rights(struct model *m, const struct core *c, const struct command *command,
                               struct arena *scratch);
struct model_noderole *model_edit_noderole(struct model *m, int64_t id); /* NULL: does not exist */
const struct model_noderole *model_find_noderole(const struct model *m, int64_t id); /* the same */
const struct model_run *model_find_run(const struct model *m, int64_t run_id);
/* The run of the noderole that is running, parked, or queued again after it was resumed. */
const struct model_run *model_live_run(const struct model *m, int64_t noderole_id);
bool model_node_is_alive(const struct model *m, int64_t node_id);
bool model_is_ancestor(const struct model *m, int64_t ancestor_id, int64_t id);
bool model_is_parent(const struct model *m, int64_t parent_id, int64_t child_id);

/* ---- model_events.c: the transition table ---- */

bool model_parents_active(const struct model *m, int64_t id);
void model_commit(struct model *m, int64_t id); /* from PROPOSED */
void model_propose(struct model *m, int64_t id);
void model_settle(struct model *m, int64_t id);
void model_start(struct model *m, int64_t id);
void model_ok(struct model *m, int64_t id);
void model_failed(struct model *m, int64_t id);
void model_retry(struct model *m, int64_t id);
/* The node is not alive: deactivate each of its noderoles, in ascending order of cohort. */
void model_node_dead(struct model *m, int64_t node_id);
/* Set TODO noderoles with a parent outside ACTIVE to BLOCKED, after dependencies were added. */
void model_block_unready(struct model *m);
void model_count(struct model *m, int64_t id, enum model_event event);
/* The noderole after `after` by (cohort, id), of one node or (0) of all nodes. 0: the end. */
int64_t model_next_by_cohort(const struct model *m, int64_t node_id, int64_t after);

/* ---- model_grants.c ---- */

/* Without a command: adopt the grants as they are. */
const char *model_follow_grants(struct model *m, const struct core *c,
                                const struct command *command, const struct outcome *outcome);
/* The noderole whose run fails, because it may not set this environment; 0 = none. */
int64_t model_grant_refused_run(const struct model *m, const struct node_update_command *update);
/* The root cause of a machine that is not alive and whose power is in order. */
enum cause_code model_why_install(const struct model *m, int64_t node_id);

/* ---- model_machines.c ---- */

/* A cause of `why`. */
struct model_cause {
    enum cause_code code;
    enum table object;
    int64_t object_id;
};

/* At most 8 MACs, and one cause each for MAC, address and environment. */
enum { MODEL_BOOT_PROBLEMS_MAX = 11 };
/* What keeps the machine of a node from booting, in the order of `why`. Returns the number. */
uint32_t model_find_boot_problems(const struct model *m, const struct core *c, int64_t node_id,
                                  struct arena *a, struct model_cause out[MODEL_BOOT_PROBLEMS_MAX]);
/* A committed noderole serves boots. */
bool model_boots_are_served(const struct model *m);

/* ---- model_anneal.c ---- */

/* Find the starts of an annealing pass in the records, check each and apply it. */
const char *model_follow_pass(struct model *m, const struct core *c);
/* The conditions of a start that do not depend on other noderoles: deployment, node, target, jig,
 * hooks. */
bool model_may_run(const struct model *m, int64_t id);
/* The conditions under which a changed value reruns a noderole at once (ADR 0010). */
bool model_is_runnable(const struct model *m, int64_t id);
/* The run that occupies the node: RUNNING or STOPPING. NULL: the node is free. */
const struct model_run *model_node_run(const struct model *m, int64_t node_id);
bool model_is_probed(const struct model *m, int64_t node_id);
bool model_has_worker(const struct model *m, enum queue queue);
/* True if a noderole of the node is in that state; `out_id` is the first by (cohort, id). */
bool model_has_state(const struct model *m, int64_t node_id, enum noderole_state state,
                     int64_t *out_id);
bool model_is_instant(const struct model *m, int64_t id);
/* No run of the noderole starts before it is committed again. */
bool model_bars_destruction(const struct model *m, int64_t id);
/* After a load the core stops a run that it may not start again; its noderole fails. */
void model_run_stopped(struct model *m, const struct run_stopped_command *stopped);

/* ---- model_readings.c ---- */

/* Check the changes of power states in a step. `command` NULL: take the records unchecked. */
const char *model_follow_readings(struct model *m, const struct core *c,
                                  const struct command *command);

/* ---- model_addresses.c ---- */

bool model_parse_address(struct str text, struct model_ip *out_ip);
bool model_ip_eq(const struct model_ip *a, const struct model_ip *b);
bool model_ip_is_between(const struct model_ip *ip, const struct model_ip *first,
                         const struct model_ip *last);
bool model_range_has(const struct core *c, int64_t range_id, const struct model_ip *ip);
/* All allocations and leases of the core. */
struct model_address *model_read_addresses(const struct core *c, struct arena *a,
                                           uint32_t *out_count);
/* All nics and DNS name entries of the core. */
struct model_belonging *model_read_belongings(const struct core *c, struct arena *a,
                                              uint32_t *out_count);
const struct model_address *model_find_address(const struct model_address *all, uint32_t count,
                                               const struct model_address *wanted);
/* Check addresses and MACs after a step, and the addresses that changed their owner in it.
 * `command` NULL: take the records unchecked. */
const char *model_follow_addresses(struct model *m, const struct core *c,
                                   const struct command *command, struct arena *scratch);

/* ---- model_served.c ---- */

/* The committed noderoles that have not served the node. */
struct model_unserved {
    int64_t first; /* the one with the smallest id; 0 = none */
    bool has_error;
};
struct model_unserved model_find_unserved(struct model *m, const struct core *c, int64_t node_id);
/* Follow entries, runs and boot servers in a step, and compare who has served what. `command` NULL:
 * take the records unchecked. */
const char *model_follow_served(struct model *m, const struct core *c,
                                const struct command *command, struct arena *scratch);
/* The noderole publishes all machines again. */
void model_forget_staged(struct model *m, int64_t noderole_id);
/* The run with this attempt succeeded. */
void model_publish_ok(struct model *m, int64_t noderole_id, uint32_t attempt);
void model_import_served(struct model *m, const struct core *c);
/* A noderole that has something to publish has a run, unless the core has work. */
const char *model_check_publishers(struct model *m);

/* ---- model_servers.c ---- */

struct model_server *model_find_server(struct model *m,
                                       int64_t node_id); /* NULL: never connected */
/* Follow the events of boot servers, and predict the records of what they have acknowledged. */
const char *model_follow_servers(struct model *m, const struct core *c,
                                 const struct command *command, struct arena *scratch);
/* A connected boot server cannot serve: the native noderoles on its node fail. */
void model_follow_boot_failure(struct model *m, const struct boot_server_command *event);

/* ---- model_boot.c ---- */

/* Check boot generations, boot ids and the power actions that waited, were sent or were given up
 * in a step. `command` NULL: take the records unchecked. */
const char *model_follow_boots(struct model *m, const struct core *c,
                               const struct command *command);
/* The noderole that the power action of a node waits for: the smallest id. 0: none waits. */
int64_t model_power_waits_for(const struct model *m, int64_t node_id);
