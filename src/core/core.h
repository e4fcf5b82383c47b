/* core.h - the state machine and scheduler: commands in, changes and effects out.
 *
 * The core owns every node, role, deployment and noderole (a role bound to a node) and decides what
 * happens next. It is deterministic and has no clock, I/O, thread, global variable or floating
 * point number. Time and random values arrive inside commands. Changed rows are collected for the
 * store; actions outside the core are returned as effects. The caller (turn/turn.h) performs an
 * effect only after the changes of its step are durable.
 *
 * A refused step is rolled back completely. A core is used by one thread. Every pointer that is
 * returned points into the arena given by the caller, unless its comment states another lifetime;
 * no index of a row and no pointer to one leaves the core.
 *
 * Words of OpenCrowbar: a barclamp is a package of roles, a jig is a way to execute a role (script,
 * Puppet, ...), a hammer is a driver that reaches or switches a machine, annealing is the
 * scheduling of noderoles, the wall is the data that runs returned.
 */
#pragma once

#include "base/err.h"
#include "base/hash/hash.h"
#include "base/mem/arena.h"
#include "base/net/ip.h"
#include "model/boot_view.h"
#include "model/command.h"
#include "model/grant.h"
#include "model/problem.h"
#include "model/reason.h"
#include "model/record.h"
#include "model/subject.h"

struct core;
struct json;

struct core *core_new(void);
/* The rows of one slice of a deletion, and of the largest network or DNS name filter that is
 * deleted in one step. DELETION_ROWS unless it is set; a simulator sets it lower. */
void core_set_deletion_rows(struct core *c, uint32_t rows);
/* The machines that one run publishes at most. BOOT_DUE_STAGED_MAX unless it is set; a simulator
 * sets it lower. */
void core_set_boot_part(struct core *c, uint32_t machines);
void core_free(struct core *c); /* NULL is fine */

/* ---- creating and loading ---- */

/* Create the rows of a new installation: settings, the system deployment (id 1) with its committed
 * head and phantom node, the group not_set. The core must be empty. */
void core_bootstrap(struct core *c, int64_t now_ms);

/* Load an empty core from a store: core_load() for every record of the tables below TABLE_LOADED,
 * table by table in the order of enum table, ids ascending; then core_load_end(), which computes
 * the derived state and checks the invariants. ERR_CORRUPT if the records contradict each other;
 * *out_what is then a static description. A core that failed to load can only be freed. */
NODISCARD err core_load(struct core *c, const struct record *record, const char **out_what);
NODISCARD err core_load_end(struct core *c, int64_t mono_ms, const char **out_what);

/* ---- stepping ---- */

enum effect_kind {
    EFFECT_RUN_START,  /* execute a noderole: run, attempt, staged data            */
    EFFECT_RUN_CANCEL, /* stop a run; RUN_STOPPED reports that it has ended        */
    EFFECT_RUN_QUERY,  /* after a restart: adopt the run, start it or declare it lost */
    EFFECT_OUTBOX,     /* deliver an outbox row: call a hook, power, probe         */
};

/* An effect refers to rows by durable ids and by an attempt number that is never reused, so it can
 * be repeated and recognised after a restart. */
struct effect {
    enum effect_kind kind;
    int64_t id;          /* run or outbox id */
    uint32_t attempt;    /* runs */
    int64_t node_id;     /* runs; outbox: 0 */
    int64_t noderole_id; /* runs; outbox: 0 */
    struct str jig;      /* EFFECT_RUN_START: name of the jig that executes it */
    struct str data;     /* EFFECT_RUN_START: staged data, canonical JSON */
    struct effect *next;
};

struct effects {
    struct effect *first;
    struct effect *last;
    uint32_t count;
};

/* A veto request: a call of a hook that may refuse the command. The object may not exist yet, so
 * the request carries a copy of it. */
struct veto_call {
    uint64_t key; /* hash of hook, role and argument; the veto reply repeats it */
    enum hook hook;
    int64_t role_id;
    struct str argument; /* canonical JSON */
    struct veto_call *next;
};

enum verdict {
    VERDICT_DONE,        /* changes are kept; perform effects once they are durable  */
    VERDICT_REFUSED,     /* nothing changed; see `problems`                          */
    VERDICT_NEEDS_HOOKS, /* nothing changed; step again with the replies to `asks`   */
};

struct outcome {
    enum verdict verdict;
    int64_t id; /* of the object that was created or changed; 0 unless VERDICT_DONE */
    struct problem *problems;
    struct veto_call *veto_calls; /* veto requests, in the order they were made */
    uint32_t veto_call_count;
    struct str doc; /* result of commands that return one (plan, revert, batch): canonical JSON */
};

/* Execute one command. Effects are appended to `fx`; they and the outcome are in `arena`. */
void core_step(struct core *c, const struct command *command, struct arena *arena,
               struct effects *fx, struct outcome *out);

/* Authorization before a command is queued (ADR 0051, rules 1, 3, 4 and 5): a list of FORBIDDEN
 * problems in the arena, or NULL if the caller may execute the command. For a COMMAND_BATCH every
 * part is checked. The step checks again with the rows as they are then, and also refuses a change
 * in a deployment in which the caller lacks the access level (rule 2). */
const struct problem *core_check_rights(const struct core *c, const struct principal *who,
                                        const struct command *command, struct arena *a);
/* The caller's access level in a deployment; id 0: in all deployments. */
enum access core_level(const struct core *c, const struct principal *who, int64_t deployment_id,
                       struct arena *a);

/* Observer of a COMMAND_BATCH: called before and after each part is stepped. The batch may still be
 * refused or need replies of hooks, and is then rolled back as a whole. */
struct part_watch {
    void *self;
    void (*before)(void *self, const struct command *part); /* NULL: not called */
    void (*after)(void *self, const struct command *part, const struct outcome *outcome);
};

/* Set the observer of all later steps; NULL: none. It must live until it is replaced. */
void core_watch_parts(struct core *c, const struct part_watch *watch);

/* Import these documents one after the other, write one outcome for each, and roll all of it back.
 * Each import sees the results of the earlier ones that were not refused. */
void core_import_dry_run(struct core *c, const struct str *barclamps, uint32_t count,
                         struct arena *arena, struct outcome *outcomes);

/* True if a COMMAND_ANNEAL would make progress. */
bool core_has_work(const struct core *c);
/* True if all that is left to do are deletions and the evaluation of DNS names, of which a
 * COMMAND_ANNEAL does a slice. */
bool core_has_only_slices_left(const struct core *c);
/* True if a 32-bit step counter has passed half of its range (2^31 steps: months of operation). The
 * caller then loads a new core from the store between two batches; the other half is the margin. */
bool core_needs_reload(const struct core *c);
/* The time of the next deadline (mono_ms), at which a COMMAND_TICK is due; -1: none. */
int64_t core_next_deadline(const struct core *c);
/* After a load: the effects that were possibly not performed before the restart. Started runs are
 * queried, stopping runs cancelled again, outbox rows delivered again. */
void core_resume(const struct core *c, struct arena *arena, struct effects *fx);

/* ---- saving ---- */

/* Number of rows, relations and archive rows that changed since the last collect. */
uint32_t core_changed(const struct core *c);
/* Counts every change, also of a row that has changed before in the batch. */
uint64_t core_edits(const struct core *c);
/* End of a batch: pass the net change of every changed row to `visit` and stamp the rows with
 * `turn`. The core then treats them as stored: if the store fails, free the core and load another.
 * Records passed to `visit` are valid during the call. */
void core_collect(struct core *c, int64_t turn,
                  void (*visit)(void *context, const struct change *change), void *context);
/* The digest as of the last collect: the sum of the hashes of all rows (ADR 0026). */
struct digest128 core_digest(const struct core *c);
/* The same, computed from all rows and including changes that are not collected yet. */
struct digest128 core_digest_now(const struct core *c);

/* ---- the boot view (docs/spec/boot.md): what a boot server needs to answer machines ---- */

/* The entry of the key, made of the rows as they are now; false if it is not in the view. Lists are
 * in the arena, strings are valid until the next step. */
bool core_boot_view(const struct core *c, struct boot_key key, struct arena *a,
                    struct boot_entry *out);
/* Move to the next entry in the order of a base image; begin with a zeroed key. False at the
 * end. */
bool core_boot_next(const struct core *c, struct boot_key *key);
/* The keys of the entries that the last collected batch changed, added or removed, each once, with
 * the turn of that batch; valid until the next collect. A key may be listed although its entry is
 * the same as before, or was never in the view. */
const struct boot_key *core_boot_changes(const struct core *c, uint32_t *out_count,
                                         int64_t *out_turn);
/* The turn that changed the entry last; of an entry that has not changed since a load, the highest
 * turn of any row. BOOT_TURN_OPEN if it has changed since the last collect; 0 if there was none. */
#define BOOT_TURN_OPEN INT64_MAX
int64_t core_boot_turn(const struct core *c, struct boot_key key);
/* A committed noderole that serves boots, and whether it has served a node (docs/spec/boot.md). */
struct boot_serving {
    int64_t noderole_id;
    bool is_native;    /* by the boot server on its node */
    bool is_served;    /* the node never had an entry, or its current one is served */
    bool is_connected; /* native: the boot server is connected */
    int64_t since_ms;  /* native: when it connected or was lost; 0 = never since the start.
                          Published: since when the node is due; 0 = not known, or it is not due */
    int64_t taken;     /* native: the last turn that it acknowledged; 0 = none */
    uint32_t attempt;  /* published: that got the current entry and has not succeeded; 0 = none */
};
/* All of them, by the ids of their noderoles. 0 if there is no such node. */
uint32_t core_boot_servings(const struct core *c, int64_t node_id, struct arena *a,
                            struct boot_serving **out);
/* The committed noderoles of roles with a native jig on a node, by id: the first one above `after`;
 * 0 = none. *out_stamp increases when a row changes that its staged data are made of. */
int64_t core_next_native(const struct core *c, int64_t node_id, int64_t after, int64_t *out_stamp);
/* The next node after `after` that the noderole must still publish, in the order of their ids;
 * 0 = none. Nodes above boot_cursor, which it has not got at all, are not among them. */
int64_t core_boot_next_due(const struct core *c, int64_t noderole_id, int64_t after);
/* A node that a noderole must still publish, also one above boot_cursor. since_ms and attempt: as
 * in boot_serving. */
struct boot_due_node {
    int64_t node_id;
    int64_t since_ms;
    uint32_t attempt;
};
/* The one with the lowest id above `after`. False if there is none, or if the noderole publishes no
 * boots or is not committed. */
bool core_boot_due_after(const struct core *c, int64_t noderole_id, int64_t after,
                         struct boot_due_node *out);
/* The sum of the hashes of all entries, including changes that are not collected yet. */
struct digest128 core_boot_digest(const struct core *c);

/* ---- queries ---- */

/* The record of one object; its strings are valid until the next step. False: no such object. */
bool core_record(const struct core *c, enum table table, int64_t id, struct record *out_record);
/* The turn in which the object changed last. False if it does not exist or has changed since the
 * last collect. */
bool core_last_turn(const struct core *c, enum table table, int64_t id, int64_t *out_turn);
/* The smallest id above `after` in an object table; 0 = none. */
int64_t core_next_id(const struct core *c, enum table table, int64_t after);
uint32_t core_count(const struct core *c, enum table table);
/* Look up an object by name, ignoring case; 0 = none. The node name "admin" also finds the oldest
 * admin node. A group is found by "category/name", or by its name: the oldest with that name. A
 * range is found by "network.range", or by its name if only one network has a range of that name.
 */
int64_t core_find(const struct core *c, enum table table, struct str name);
/* The noderole of the role on the node; 0 = not bound. */
int64_t core_noderole(const struct core *c, int64_t node_id, int64_t role_id);
int64_t core_deployment_role(const struct core *c, int64_t deployment_id, int64_t role_id);
/* The reason why this role cannot be bound, in the words of the refusal: its barclamp no longer
 * defines it, a required role or wanted attrib does not exist, or its jig is unknown or inactive.
 * Empty if it can be bound. The flag `abstract` is not reported here. */
struct str core_role_unusable(const struct core *c, int64_t role_id, struct arena *a);
/* Why this jig is not active; empty if it is active, or if the test jig replaces it. Valid until
 * the next step. */
struct str core_jig_inactive(const struct core *c, int64_t jig_id);
/* Direct parents and children in the graph: *out_count ids in ascending order, in the arena. */
int64_t *core_parents(const struct core *c, int64_t noderole_id, struct arena *a,
                      uint32_t *out_count);
int64_t *core_children(const struct core *c, int64_t noderole_id, struct arena *a,
                       uint32_t *out_count);
/* The node's noderoles by (cohort, id). */
int64_t *core_noderoles_of(const struct core *c, int64_t node_id, struct arena *a,
                           uint32_t *out_count);
/* The ids of the ssh host keys that are pinned for the node, in ascending order. */
int64_t *core_host_keys_of(const struct core *c, int64_t node_id, struct arena *a,
                           uint32_t *out_count);
/* The node that an ssh host key ("TYPE BASE64") is pinned for; 0 = none. */
int64_t core_host_key_node(const struct core *c, struct str key);
/* True while DNS names of allocations are being evaluated in slices: entries may be missing or
 * outdated. */
bool core_dns_names_are_pending(const struct core *c);
/* The DNS name filters by priority. */
int64_t *core_dns_name_filters(const struct core *c, struct arena *a, uint32_t *out_count);
/* A test in the matcher of the filter that is unknown and never holds, as written; empty = none.
 * Valid until the next step. */
struct str core_dns_name_filter_unknown(const struct core *c, int64_t filter_id);
/* True if the DNS service of the filter exists. Without it the filter has no entries. */
bool core_dns_name_filter_is_served(const struct core *c, int64_t filter_id);
/* The DNS name entries of an allocation by id. */
int64_t *core_dns_name_entries_of(const struct core *c, int64_t allocation_id, struct arena *a,
                                  uint32_t *out_count);
/* The entry of a filter with the smallest id above `after`; 0 = none. */
int64_t core_next_dns_name_entry_of(const struct core *c, int64_t filter_id, int64_t after);
/* "A" or "AAAA"; empty if there is no such entry. */
struct str core_dns_name_entry_type(const struct core *c, int64_t entry_id);

enum dns_name_verdict {
    DNS_NAME_GIVEN,
    DNS_NAME_NO_SERVICE, /* the DNS service of the filter does not exist */
    DNS_NAME_NO_MATCH,   /* or there is no such allocation or filter */
    DNS_NAME_INVALID,    /* the result of the template is no DNS name */
};
/* The name that the filter gives to the allocation, or why it gives none. With DNS_NAME_INVALID the
 * name is the result of the template, empty if it is too long. */
enum dns_name_verdict core_dns_name(const struct core *c, int64_t allocation_id, int64_t filter_id,
                                    struct arena *a, struct str *out_name);
/* The address at which the daemon reaches the machine unless a hammer has an endpoint: its
 * allocation in a network of the category admin, or else in the network `unmanaged`, without the
 * prefix length (docs/spec/networks.md); its name if it has none. Empty: no such node. */
struct str core_node_address(const struct core *c, int64_t node_id, struct arena *a);
/* The node's hammers by id. */
int64_t *core_hammers_of(const struct core *c, int64_t node_id, struct arena *a,
                         uint32_t *out_count);

/* ---- networks (docs/spec/networks.md) ---- */

/* The ranges of the network, the interfaces of the node, and the allocations of a node, network or
 * range (TABLE_NODE, TABLE_NETWORK, TABLE_NETWORK_RANGE): ids in ascending order; those of a
 * network range by range. */
int64_t *core_ranges_of(const struct core *c, int64_t network_id, struct arena *a,
                        uint32_t *out_count);
int64_t *core_nics_of(const struct core *c, int64_t node_id, struct arena *a, uint32_t *out_count);
int64_t *core_allocations_of(const struct core *c, enum table owner, int64_t owner_id,
                             struct arena *a, uint32_t *out_count);
/* The router of the network; 0 = none. */
int64_t core_router_of(const struct core *c, int64_t network_id);
/* The row of TABLE_NETWORK_ALLOCATION, TABLE_LEASE or TABLE_NETWORK_ROUTER that has the address,
 * without regard to the prefix length; 0 = none. Of several routers any one. */
int64_t core_address_row(const struct core *c, enum table table, struct ip ip);
/* The interface with this MAC as a number; 0 = none. */
int64_t core_nic_of_mac(const struct core *c, uint64_t mac);
/* The network that has a range with this address, of this category unless that is empty; 0 = none.
 * A range that does not overlap others comes first, then the oldest network. */
int64_t core_network_of_address(const struct core *c, struct ip ip, struct str category);
/* The ranges from which the node gets addresses of the network by default, at most
 * AUTO_RANGES_MAX. */
enum { AUTO_RANGES_MAX = 2 };
uint32_t core_auto_ranges(const struct core *c, int64_t network_id, int64_t node_id,
                          int64_t out_ids[AUTO_RANGES_MAX]);
/* Replace the interface settings that the range inherits by those of its network. */
void core_range_inherit(const struct core *c, struct network_range_record *range);

/* How many addresses of a range are used for what. */
struct range_usage {
    uint64_t size; /* UINT64_MAX if there are more */
    uint64_t allocated, leased;
    uint64_t resting; /* freed by nodes or declined by clients: used again when no other is free */
    uint64_t routers; /* addresses of routers that no node has */
    uint64_t free;
};
/* False if there is no such range. */
bool core_range_usage(const struct core *c, int64_t range_id, struct range_usage *out);
/* When the lease ends, or when others may have the address: ms since 1970. */
int64_t core_lease_end(const struct core *c, int64_t lease_id);

/* The grant of a node (docs/spec/machines.md), and the stamp that stopped its installer. */
struct grant {
    enum grant_state state;
    enum grant_void void_reason;
    int64_t noderole_id;      /* its owner, which may have been deleted; 0 = none */
    int64_t generation;       /* boot generation of the node, to which the grant belongs */
    int64_t used_at;          /* ms since 1970; 0 = never */
    struct str ticket;        /* hex SHA-256; empty unless USED. Valid until the next step */
    int64_t stamp_generation; /* 0 = none */
};
/* False if there is no such node. */
bool core_grant(const struct core *c, int64_t node_id, struct grant *out_grant);

bool core_is_in_group(const struct core *c, int64_t group_id, int64_t node_id);
/* The nodes in the group by id. */
int64_t *core_nodes_of_group(const struct core *c, int64_t group_id, struct arena *a,
                             uint32_t *out_count);
/* The tokens of a user or a node (TABLE_USER, TABLE_NODE) by id. */
int64_t *core_tokens_of(const struct core *c, enum table owner, int64_t owner_id, struct arena *a,
                        uint32_t *out_count);
/* The role's noderoles with the smallest ids, `max` of them at most. */
int64_t *core_noderoles_of_role(const struct core *c, int64_t role_id, uint32_t max,
                                struct arena *a, uint32_t *out_count);
/* The noderoles of the deployment, by id. */
int64_t *core_noderoles_in(const struct core *c, int64_t deployment_id, struct arena *a,
                           uint32_t *out_count);
/* The number of noderoles of the deployment, and of nodes that are not system nodes, in each state.
 * The first reads stored counts, the second visits every node. */
void core_count_noderoles(const struct core *c, int64_t deployment_id,
                          uint32_t out_counts[NODEROLE_STATE_COUNT]);
void core_count_nodes(const struct core *c, uint32_t out_counts[NODEROLE_STATE_COUNT]);
enum noderole_state core_node_state(const struct core *c, int64_t node_id);
enum deployment_state core_deployment_state(const struct core *c, int64_t deployment_id);

/* Data and attribs (docs/spec/data.md). core_value() reads an attrib on a target, including the
 * default: canonical JSON. The view selects the layers that are merged. False if the attrib does
 * not apply to the target. */
enum data_view {
    VIEW_ALL,
    VIEW_COMMITTED,
    VIEW_USER,
    VIEW_SYSTEM,
    VIEW_WALL,
    VIEW_NOTE,
    VIEW_DISCOVERY,
    VIEW_PROPOSED /* as if all proposed data of the object were committed */
};
bool core_value(const struct core *c, enum table target, int64_t id, int64_t attrib_id,
                enum data_view view, struct arena *a, struct str *out_value);
/* The same in steps, for callers that read many attribs of one object. core_attrib_owner() resolves
 * (target, attrib) to the object that owns the value, for example the noderole of the attrib's role
 * on a node; its table is TABLE_COUNT if the attrib does not apply. core_data() merges the layers
 * of that object in a view, and core_value_in() reads one attrib from the result. */
struct subject core_attrib_owner(const struct core *c, struct subject target, int64_t attrib_id);
const struct json *core_data(const struct core *c, struct subject place, enum data_view view,
                             struct arena *a);
struct str core_value_in(const struct core *c, const struct json *data, int64_t attrib_id,
                         struct arena *a);
/* The staged data that a run of this noderole would receive now. */
struct str core_staged(const struct core *c, int64_t noderole_id, struct arena *a);

/* The arguments of a call of role code (docs/hooks.md): canonical JSON. */
struct hook_call_args {
    struct str argument; /* the object of the call; empty if there is none but the role */
    struct str context;  /* the role, its noderoles, and its noderole on the node of the call */
};
/* For an outbox row of a hook. False if the object was deleted and this is not a delete hook. */
bool core_hook_args(const struct core *c, const struct outbox_record *row, struct arena *a,
                    struct hook_call_args *out_facts);
/* For the run of a noderole: the argument of its hooks, with its parents. False if it was deleted.
 * */
bool core_run_args(const struct core *c, int64_t noderole_id, struct arena *a,
                   struct str *out_argument);

/* The number of noderoles of the deployment whose last run used other defaults than their roles
 * have now: those of non-destructive roles, and those of destructive roles. */
void core_count_changed(const struct core *c, int64_t deployment_id, uint32_t *out_changed,
                        uint32_t *out_destructive);

/* The number of noderoles of the deployment with values that were stored while they were not
 * PROPOSED. A commit does not publish such values. */
uint32_t core_count_unproposed(const struct core *c, int64_t deployment_id);

/* What a commit of a deployment would do (ADR 0027): out->doc is the plan with its hash. A brief
 * plan, which may also be of a node or noderole, is {"consent":"HASH","destroys":[...],
 * "destroys_count":N,"unproposed":[...],"unproposed_count":N}: the first noderoles that would
 * destroy data, the first with values that the commit would not publish, and the totals. The
 * command is the commit itself, with the veto replies of hooks if there were requests. */
void core_plan(struct core *c, const struct command *commit, struct arena *arena,
               struct outcome *out);
/* The same by executing the commit in a dry step, at once and without a summary: the reference for
 * tests, and the only way to make a brief plan. */
void core_plan_whole(struct core *c, const struct command *commit, struct arena *arena,
                     struct outcome *out);

/* ---- a plan in slices (ADR 0079) ----
 *
 * The core is not changed; the plan stores what the commit would write. Other steps may be executed
 * between two slices: if one changes a row that the plan has read, the plan is stale and must be
 * ended. Every plan must be ended before its core is freed. */
struct plan;

/* Begin the plan of a commit of a deployment, with the veto replies of hooks. is_detailed: with its
 * lists; otherwise totals only. At most PLANS_MAX plans exist at a time. */
struct plan *core_plan_begin(struct core *c, const struct command *commit, bool is_detailed);
/* Continue for about `units` rows; true when the plan is complete. Must not be stale. */
bool core_plan_advance(struct plan *p, uint32_t units);
bool core_plan_is_done(const struct plan *p);
bool core_plan_is_stale(const struct plan *p);
/* The text of the refusal if the lists of a plan exceed ANSWER_DOC_MAX. */
struct str core_plan_too_large(void);
/* The outcome of a complete plan for this caller: refused if the caller lacks the rights for the
 * commit. It points into memory of the plan. */
void core_plan_outcome(struct plan *p, const struct command *caller, struct outcome *out);
/* Bytes of memory that the plan holds. */
size_t core_plan_bytes(const struct plan *p);
void core_plan_end(struct plan *p); /* NULL is fine */

/* The content of snapshot `seq` of a deployment: {"data":[...],"members":[...]}. Open intervals
 * come from the core; the caller passes the closed ones (old_member, old_data records that cover
 * seq). */
struct str core_snapshot_content(const struct core *c, int64_t deployment_id, int64_t seq,
                                 const struct record *old, uint32_t old_count, struct arena *a);

/* The elements of a `why`: the chain of unmet conditions from an object down to the root cause. */
enum cause_code {
    CAUSE_NONE,             /* active, or nothing to do                          */
    CAUSE_PROPOSED,         /* it has not been committed                         */
    CAUSE_HEAD_PROPOSED,    /* its deployment is proposed (recalled)             */
    CAUSE_PARENT,           /* a parent is not active: see next                  */
    CAUSE_ERROR,            /* its run (or hook) failed; waits for an operator   */
    CAUSE_NOT_ALIVE,        /* its node is not alive                             */
    CAUSE_NOT_AVAILABLE,    /* its node is not available                         */
    CAUSE_HELD_BY_TARGET,   /* the node is held at a target role                 */
    CAUSE_JIG_INACTIVE,     /* the jig of its role cannot run                    */
    CAUSE_NODE_CLOSED,      /* another noderole of the node is in error: next    */
    CAUSE_NODE_BUSY,        /* another run occupies the node: next               */
    CAUSE_NODE_STOPPED,     /* a run requested that nothing else runs on the node */
    CAUSE_PROBING,          /* the probe of its node has no result yet           */
    CAUSE_WAITING_FOR_HOOK, /* one of its own hooks has no result yet            */
    CAUSE_NO_WORKER,        /* every worker is busy                              */
    CAUSE_READY,            /* it starts in this turn                            */
    CAUSE_RUNNING,          /* a run is in flight                                */
    CAUSE_STOPPING,         /* a cancelled run has not stopped yet               */
    CAUSE_PARKED,           /* waits for an acknowledgement                      */
    CAUSE_ASYNC,            /* waits for the external result of an async run     */
    CAUSE_BOOT_NOT_SERVED,  /* its machine waits until its boot is served: next  */
    CAUSE_POWER_FAILED,     /* the last power action was given up, or failed     */
    CAUSE_MAC_TAKEN,        /* another node has a MAC that the node reports      */
    CAUSE_NAME_INVALID,     /* a name filter makes a text that is no DNS name    */
    CAUSE_NAME_NOT_SERVED,  /* the DNS service of a name filter does not exist   */
    CAUSE_NO_GRANT,         /* its machine may not start the installer it is to boot */
    CAUSE_INSTALL_STOPPED,  /* its installer is silent, or stopped at a stamp    */
    CAUSE_NOT_MANAGED,      /* its machine is not in the boot view               */
    CAUSE_NO_MAC,           /* no MAC of its machine is known                    */
    CAUSE_NO_BOOT_ADDRESS,  /* its machine has no address to boot with           */
    CAUSE_BOOTENV_UNKNOWN,  /* no barclamp defines its boot environment          */
    CAUSE_BOOT_SERVER_LOST, /* a boot server that must serve boots is not connected */
    CAUSE_COUNT,
    CAUSE_REASON = CAUSE_COUNT /* why the previous cause of the chain failed: see `reason` */
};

struct cause {
    enum cause_code code;
    enum reason_code reason; /* of CAUSE_REASON */
    struct str subject;      /* subject of the reason: model/reason.h */
    int64_t noderole_id;     /* 0 = the cause concerns no noderole */
    enum table object;       /* the object of the cause, with object_id */
    int64_t object_id;
    int64_t since;      /* ms since 1970; 0 = not known */
    struct str text;    /* one sentence for the operator */
    struct cause *next; /* the cause of this cause */
};

/* The chain of causes of a noderole, node or deployment. NULL if there is no such object. */
struct cause *core_why(const struct core *c, enum table table, int64_t id, struct arena *a);
/* False if hint and discovery of the node mention more MACs than a node may have. */
bool core_nics_are_complete(const struct core *c, int64_t node_id);
/* Which name filters match addresses of a node and give them no DNS name. These causes are no
 * chain: each is independent of the others, and of the chain of the node. Their object is the
 * filter, the subject the address or the DNS service. NULL: none, or no such node. *out_is_all is
 * false if there may be more than the first WHY_NAMES that are returned. */
enum { WHY_NAMES = 20 };
struct cause *core_why_names(const struct core *c, int64_t node_id, struct arena *a,
                             bool *out_is_all);
/* What keeps the machine of a node from booting its environment, for example that it is not in the
 * boot view. These are no chain either. NULL: nothing, a system node, or no such node. */
struct cause *core_why_boot(const struct core *c, int64_t node_id, struct arena *a);
/* True if a committed noderole serves boots, which none does with the test jig: machines boot what
 * nodes say. */
bool core_boot_is_used(const struct core *c);
const char *cause_name(enum cause_code code);
/* The same, or the name of the reason for a CAUSE_REASON. */
const char *cause_code_name(const struct cause *cause);

/* The root causes of all noderoles of a deployment that are not ACTIVE, in groups. Two roots are in
 * one group if they have the same code and role, and the same subject unless their object is a
 * node. */
enum { WHY_EXAMPLES = 3, WHY_GROUPS = 20, WHY_NODEROLES_MAX = 100000 };

struct cause_group {
    struct cause cause; /* the first root of the group; without the texts of its chain */
    int64_t role_id;    /* the role of its noderoles; 0 = the cause concerns no noderole */
    uint32_t noderoles; /* noderoles of the deployment that wait for such a root, or are one */
    uint32_t roots;     /* number of different root objects */
    uint32_t example_count;
    int64_t examples[WHY_EXAMPLES]; /* ids of noderoles that are, or are nearest to, such a root */
};

struct cause_groups {
    struct cause_group *groups; /* failures first, then operator actions, then work in progress */
    uint32_t count;             /* WHY_GROUPS at most */
    uint32_t left_off;          /* noderoles in groups that were left out */
    uint32_t looked_at;         /* noderoles that were examined; WHY_NODEROLES_MAX at most */
    uint32_t waiting;           /* all noderoles of the deployment that are not active */
};

/* The groups are computed in slices, so that other requests are not blocked: open (NULL: no such
 * deployment), walk over `budget` noderoles at a time while it returns true, then read the chain of
 * core_why() and, once, the groups. Steps may be executed in between; the result is then not a
 * snapshot of one instant. The core must not be replaced. The walk and its results are in `a`. */
struct why_walk;
struct why_walk *core_why_open(const struct core *c, int64_t deployment_id, struct arena *a);
bool core_why_walk(struct why_walk *walk, const struct core *c, uint32_t budget);
struct cause *core_why_chain(struct why_walk *walk, const struct core *c, struct arena *a);
void core_why_result(struct why_walk *walk, const struct core *c, struct arena *a,
                     struct cause_groups *out_groups);
void core_why_close(struct why_walk *walk);

/* ---- checking ---- */

/* Check every invariant of docs/invariants.md that can be verified from one core. NULL if all hold,
 * otherwise the number and a sentence. The cost is linear in the number of rows. */
const char *core_check(const struct core *c, struct arena *a);
