/* rows.h - the rows of the core and the functions that read and write them.
 *
 * Only files of src/core include this. Rows are stored in object pools, one for each table, and are
 * referred to by typed indices; index 0 means none. A pointer to a row is valid within a function
 * and never across a removal or addition of rows. There are two ways to get a writable row:
 *   x_edit()   a durable field changes: previous bytes go to the undo log, the row will be stored
 *   x_derive() only derived state changes (a counter, a list): undo log, but not stored
 * Derived state is computed from durable fields: load.c rebuilds it and core_check.c verifies it.
 * Durable fields have the meaning and the unit of the field with the same name in model/record.h.
 */
#pragma once

#include <string.h>

#include "base/containers/blob.h"
#include "base/containers/heap.h"
#include "base/containers/omap.h"
#include "base/containers/vec.h"
#include "base/mem/pool.h"
#include "base/mem/undo.h"
#include "base/net/ip.h"
#include "core/core.h"
#include "core/engine/boot_rows.h"
#include "core/engine/network_rows.h"
#include "model/limits.h"
#include "model/name_filter.h"

struct settings {
    struct object o;
    uint32_t pool_size[QUEUE_COUNT];
    uint32_t max_depth;
    bool test_jig;
    uint32_t keep_runs, run_deadline_s, barrier_s;
    bool host_keys_imported, nics_made;
    uint32_t install_wait_s;
    bool boot_server;
};

struct counter {
    struct object o;
    int64_t last;
};

struct barclamp {
    struct object o;
    uint32_t name_next;
    barclamp_ix parent;
    int64_t load_parent_id; /* scratch, between core_load() and core_load_end() */
    text_h name, description, version, build_version, source_url, source_path, commit, build_on;
    doc_h cfg_data;
    bool has_per; /* derived: cfg_data may have entries that are made for each network */
};

struct jig {
    struct object o;
    uint32_t name_next;
    text_h name, description, class_name, inactive_reason, client_role_name, server, client_name,
        key;
    uint32_t order;
    bool active;
    bool is_noop;      /* derived from class_name */
    bool is_native;    /* derived: the daemon serves boots for its roles */
    bool stays_itself; /* derived: the test jig never replaces it (noop, test, role-provided) */
};

struct hammer_kind {
    struct object o;
    uint32_t name_next;
    text_h name, klass;
    uint32_t priority;
};

/* What a noderole of a role does for its machine to be in the boot view. */
enum boot_part {
    BOOT_PART_NONE,
    BOOT_PART_DISCOVERY, /* puts it there */
    BOOT_PART_PROVIDER,  /* the same while its environment is not "local" */
};

struct role {
    struct object o;
    uint32_t name_next;
    text_h name, description, class_name, jig_name;
    barclamp_ix barclamp;
    uint32_t flags, hooks, cohort;
    doc_h requires, wants, provides, conflicts, announces, template, notes;
    uint32_t attempts, backoff_s, deadline_s;
    uint32_t defaults;
    int64_t network_id;
    text_h per_name, lists_services;
    /* derived */
    jig_ix jig; /* by jig_name; 0 = no such jig */
    struct vec
        parents; /* role_ix: resolved requires, client role, owners of wanted attribs; by id */
    struct vec children;    /* role_ix: the other direction; by id */
    struct vec provided;    /* string handles of names, each with a reference of its own */
    struct vec conflicting; /* string handles of names */
    struct vec attribs;     /* attrib_ix owned, by id */
    struct vec
        wanted; /* pairs: attrib_ix, string handle of `at` (0 = the attrib's map); document order */
    struct vec deployed;   /* deployment_role_ix of this role, by id */
    struct vec attaching;  /* string handles of the lower-case names of roles it attaches to */
    uint32_t own_requires; /* the first so many of `requires` are its own; the rest were attached */
    bool unresolved;       /* a required role or wanted attrib does not exist */
    uint8_t boot_part;     /* enum boot_part */
    uint8_t boot_service;  /* enum boot_service: how its noderoles serve boots */
};

struct attrib {
    struct object o;
    uint32_t name_next;
    text_h name, description, map, ui_renderer;
    barclamp_ix barclamp;
    role_ix role; /* owner; 0 = all nodes */
    uint32_t order;
    bool writable;
    doc_h schema, default_value;
};

struct deployment {
    struct object o;
    uint32_t name_next;
    text_h name, description;
    deployment_ix parent;
    snapshot_ix head;
    node_ix phantom;
    bool system;
    bool rerunning;
    /* derived */
    bool committed;          /* the head is COMMITTED */
    uint32_t child_count;    /* direct child deployments */
    uint32_t proposed_roles; /* deployment roles with proposed data */
    uint32_t removing;       /* noderoles with the removal mark */
    uint32_t reruns;         /* noderoles with the rerun mark */
    uint32_t counts[NODEROLE_STATE_COUNT];
    uint32_t unproposed; /* noderoles with values that a commit would not publish */
    struct vec roles;    /* deployment_role_ix, by id */
    uint32_t opened;     /* scratch: step that added the newest seq */
    int64_t load_head_id, load_phantom_id; /* scratch, until core_load_end() */
};

struct snapshot {
    struct object o;
    deployment_ix deployment;
    uint32_t seq, order, state;
    int64_t predecessor_id;
    int64_t since, committed_at, archived_at;
    text_h name, description, actor;
    doc_h counts;
};

struct deployment_role {
    struct object o;
    deployment_ix deployment;
    role_ix role;
    bool proposed;
    doc_h proposed_data, committed_data, wall, notes;
    int64_t data_from;
    struct vec noderoles; /* derived: noderole_ix by id */
    uint32_t settled;     /* derived: ACTIVE noderoles without rerun mark */
    uint32_t changed;     /* derived: those of them that ran with other defaults */
};

struct node {
    struct object o;
    uint32_t name_next;
    text_h name, description, bootenv;
    deployment_ix deployment;
    role_ix target;
    bool admin, system, allocated, alive, available, stopped;
    int64_t alive_since, available_since;
    uint32_t order;
    doc_h quirks, discovery, hint, notes;
    int64_t boot_generation;
    text_h status, boot_id;
    doc_h old_boots;
    uint32_t reason; /* enum reason_code, of the status */
    text_h reason_subject;
    bool
        automatic; /* created by the first start; the first admin node of an operator replaces it */
    uint32_t power_state; /* enum power_state */
    int64_t power_read_at;
    text_h power_driver;
    uint32_t power_reason; /* enum reason_code, of power_error */
    text_h power_error;
    int64_t power_order;
    doc_h power_results;
    int64_t grant_noderole; /* id of a noderole of this node */
    text_h grant_ticket;
    int64_t grant_at;
    uint32_t grant_void; /* enum grant_void */
    int64_t stamp_generation;
    /* derived */
    int64_t install_deadline; /* mono_ms at which its installer counts as silent; 0 = none */
    uint32_t group_count;
    uint32_t counts[NODEROLE_STATE_COUNT];
    struct vec noderoles;          /* noderole_ix by (cohort, id) */
    struct vec hammers;            /* hammer_ix by id */
    struct vec tokens;             /* token_ix by id */
    struct vec host_keys;          /* host_key_ix by id */
    struct vec allocations;        /* network_allocation_ix by id */
    struct vec nics;               /* nic_ix by id */
    struct vec queued;             /* run_ix in RUN_QUEUED, by id */
    outbox_ix probe;               /* outstanding liveness probe; 0 = none */
    struct vec barrier;            /* outbox_ix of power actions that wait at the barrier, by id */
    run_ix run;                    /* the run that holds the slot: RUNNING or STOPPING */
    uint32_t todo_cursor;          /* no TODO noderole is before this position of `noderoles` */
    node_ix dirty_next;            /* next node in the dirty queue */
    bool in_dirty_queue;           /* is in the dirty queue */
    uint32_t power_step;           /* scratch: step that ordered power on for it */
    uint64_t waiting[QUEUE_COUNT]; /* key of its candidate in core.waiting; 0 = no candidate */
    struct boot_state boot;
};

struct noderole {
    struct object o;
    node_ix node;
    role_ix role;
    deployment_ix deployment;
    deployment_role_ix dr;
    int64_t since;
    int64_t member_from, data_from;
    uint32_t cohort, run_count, attempt, order, defaults;
    uint8_t state; /* enum noderole_state; written by noderole_enter_by() alone */
    bool unavailable, rerun, removing, hook_failed;
    text_h status, runlog;
    uint32_t status_hook; /* 1 + enum hook whose message is the status; 0: none */
    uint32_t reason;      /* enum reason_code */
    text_h reason_subject, reason_text;
    doc_h proposed_data, committed_data, computed, sysdata, wall, notes;
    uint32_t grant_barred; /* enum grant_void */
    int64_t boot_cursor, boot_staged;
    /* derived */
    uint32_t inactive_parents;    /* number of parents that are not ACTIVE */
    uint32_t hooks_pending_count; /* number of its hooks without a result */
    uint32_t chain;               /* hook depth that caused its next run; passed on to its hooks */
    run_ix run;                   /* its live run: RUNNING, PARKED, or QUEUED again after parking */
    run_ix queued;                /* its enqueued run */
    struct vec parents;           /* noderole_ix by id */
    struct vec children;          /* noderole_ix by id */
    struct vec links;             /* pairs: noderole_ix of the ancestor, attrib_ix; by attrib id */
};

struct run {
    struct object o;
    node_ix node;         /* 0 if the node was deleted */
    noderole_ix noderole; /* 0 if it was deleted or the run was cancelled */
    int64_t node_id, noderole_id;
    uint32_t state, queue, attempt, tries;
    bool frozen;    /* `data` were staged at enqueue and are not staged again at the start */
    bool begun;     /* the runner has reported that the work began */
    bool committed; /* it started while the head of its deployment was COMMITTED */
    int64_t started_at;
    int64_t park_left_ms;  /* parking time in ms, as of the moment it was parked */
    int64_t park_deadline; /* derived: mono_ms at which it is queued again */
    text_h job;
    doc_h data;
};

struct hammer {
    struct object o;
    node_ix node;
    hammer_kind_ix kind;
    uint32_t priority;
    text_h name, endpoint, username, authenticator;
    doc_h extra;
};

struct group {
    struct object o;
    uint32_t name_next; /* by category and name */
    text_h name, description, category;
    uint32_t order;
    struct vec nodes; /* derived: node_ix by id */
};

struct user {
    struct object o;
    uint32_t name_next;
    text_h username, email, password_hash, digest_ha1;
    bool is_admin, is_locked;
    uint32_t access;
    doc_h settings, grants;
    struct vec tokens; /* derived: token_ix by id */
};

struct token {
    struct object o;
    uint32_t name_next; /* by hash */
    user_ix user;       /* 0 = a token of a node */
    node_ix node;
    deployment_ix deployment; /* 0 = all deployments */
    uint32_t access, kind;
    text_h name, hash;
    int64_t expires_at;
};

struct outbox {
    struct object o;
    uint32_t kind, hook, object, depth;
    int64_t role_id, object_id;
    text_h detail;
    int64_t generation; /* boot generation it waits for at the boot barrier; 0: does not wait */
    int64_t left_ms;    /* how long it waits; 0: only behind another row of its node */
    bool begun;         /* the power action was announced as begun */
    int64_t deadline;   /* derived: mono_ms at which the wait is given up */
};

struct host_key {
    struct object o;
    uint32_t key_next; /* derived: the next row whose key has the same hash, in by_name */
    node_ix node;
    text_h key;
    int64_t since_ms, boot;
};

/* The variables of the core that are under undo, as one row. */
struct vars {
    struct row row;
    node_ix dirty_first, dirty_last;
    uint32_t busy[QUEUE_COUNT]; /* workers in use */
    struct vec admins;          /* node_ix of the admin nodes, by id */
    uint32_t rerunning;         /* deployments that rerun noderoles with changed defaults */
    uint32_t provider_count;    /* roles that provide another */
    uint32_t server_count;      /* roles whose data are visible on other nodes */
    struct vec
        hook_roles[HOOK_COUNT];   /* role_ix that define the hook and can run, by (cohort, name) */
    struct vec boot_roles;        /* role_ix that serve boots, by id; none with the test jig */
    struct vec ranges;            /* network_range_ix without `overlap`, by their first address */
    struct hook_batch batches[2]; /* for roles that are made for no network */
    bool boot_waits;              /* evaluate at the end of the step what waits for boots */
    bool boot_review;             /* the next annealing step looks for runs that publish boots */
    bool services_due;            /* determine at the end of the step which DNS services exist */
    bool names_all;               /* the DNS names of all allocations are being evaluated */
    int64_t names_cursor;         /* the last allocation that this evaluation has reached */
    uint32_t name_needs;          /* mask of enum names_need */
    struct vec name_filters;      /* dns_name_filter_ix by priority */
    struct vec deleting_networks; /* network_ix that are deleted in slices, by id */
    struct vec deleting_filters;  /* dns_name_filter_ix that are deleted in slices, by id */
    struct digest128 digest;      /* as of the last collect */
    struct digest128 boot_digest; /* of the boot view: the sum of the hashes of its entries */
};

/* A relation that was added or removed in this batch. */
struct relation_change {
    enum table table;
    bool gone;
    int64_t key[3];
};

/* A closed interval or an ended run that the next collect writes to an archive table. */
struct archived {
    enum table table; /* TABLE_OLD_MEMBER, TABLE_OLD_DATA, TABLE_OLD_RUN */
    int64_t noderole_id, role_id, node_id;
    int64_t deployment_id, from_seq, to_seq;       /* of an interval */
    int64_t attempt, run_id, started_at, ended_at; /* of a run       */
    uint32_t result;
    uint32_t reason;
    text_h reason_subject, reason_text; /* referenced until collected, like `data` */
    doc_h data;                         /* of an interval; of a run its log */
};

struct table_rows {
    struct pool pool;
    struct omap by_id;
    struct omap by_name; /* hash of the lower-case name -> first row with that hash */
};

/* A growing array in pages of its own. It is not under undo: a rollback restores its length, which
 * is part of the undo mark of the step. */
struct list {
    void *items;
    uint32_t count;
    uint32_t cap;
};

/* The purpose of a dry commit. */
enum planning { PLANNING_NOT, PLANNING_CONSENT, PLANNING_ALL };

/* The rights of the caller of a command, as of the beginning of the step: all parts of a batch are
 * checked with them, also if an earlier part deleted the token of the caller. */
struct rights {
    enum access access;        /* in all deployments; ACCESS_NONE: no such user, or locked */
    const struct json *grants; /* NULL: none */
    enum access most;          /* upper bound by the token */
    deployment_ix within;      /* outside of it the token is limited to viewer; 0: no such limit */
    bool is_unrestricted;      /* no token, or one with all rights of its owner */
};

enum { AUTHORITY_KEPT = 8 };

/* The authorization of the command in progress. */
struct authority {
    bool is_limited;            /* rule 2 of ADR 0051 applies: check each touched deployment */
    enum access needs;          /* the level that it requires */
    deployment_ix exempt_above; /* rule 3: ancestors of this one are not checked; 0: none */
    struct rights rights;
    deployment_ix judged[AUTHORITY_KEPT]; /* cache: the deployments checked last */
    uint32_t next;                        /* entry that is overwritten next */
};

struct core {
    struct undo undo;
    struct heap heap;
    struct blobs blobs;
    struct table_rows tables[TABLE_OBJECTS];
    struct vars vars;
    struct omap
        waiting[QUEUE_COUNT]; /* NORMAL: cohort and id -> noderole_ix; HIGH: run id -> run_ix */
    struct omap timers;       /* deadline of parked runs -> run_ix */
    struct omap barrier;      /* deadline of rows at the boot barrier -> outbox_ix */
    struct omap installs;     /* deadline of installers that run -> node_ix */
    struct omap boot_due;     /* noderole and node id -> boot_due_ix */
    struct omap boot_calls;   /* node_ix with an unused grant -> enum boot_call */
    struct boot_server boot_servers[BOOT_SERVERS_MAX]; /* by the order of their first connection */
    uint32_t boot_server_count;
    struct list boot_history; /* struct boot_served: changes of machines, by turn */
    int64_t boot_forgotten;   /* changes of this turn and earlier ones are not in the history */
    struct omap attachers;    /* string handle of a role name, attaching role -> role_ix */
    struct omap addresses;    /* hash of an address -> handle of the row that has it */
    struct omap range_rows;   /* range, table and id -> allocation or lease of the range */
    struct omap lease_ends;   /* deadline of live leases -> lease_ix */
    struct omap macs;         /* MAC as a number -> nic_ix */
    struct omap name_rows;    /* DNS name filter and entry id -> dns_name_entry_ix */
    struct omap name_nodes;   /* id of nodes whose DNS names must be evaluated -> node_ix */
    bool sliced;              /* a slice of deletions or names was done since the last collect */
    uint32_t deletion_rows;   /* rows of one slice of a deletion */
    uint32_t boot_part;       /* machines that one run publishes at most */
    struct list dirty;        /* uint64: table << 32 | index */
    uint64_t edits;           /* number of changes of rows, relations and archives, ever */
    struct list relations;    /* struct relation_change */
    struct list archives;     /* struct archived */
    struct list boot_rows;    /* like `dirty`: rows whose entries must be settled in this step */
    uint32_t boot_from;       /* the first of them that the innermost step has changed */
    struct list boot_open;    /* struct boot_key: entries that changed since the last collect */
    struct list boot_changes; /* those of the batch that was collected last */
    struct list boot_moved;   /* scratch: ids of nodes whose entry changed since the last settle */
    int64_t boot_turn;        /* turn of that batch; after a load the highest turn of a row */
    uint32_t visit;           /* scratch: number of the last walk over the graph */
    struct list visited;      /* scratch: uint32 per noderole index: last walk that visited it */
    uint32_t step_number;
    uint32_t batch_number; /* incremented when a batch is collected */

    /* the step in progress */
    const struct command *command;
    struct arena *arena;
    struct effects *fx;
    struct outcome *out;
    struct problem *last_problem; /* last elements of the lists in `out` */
    struct veto_call *last_veto_call;
    uint32_t problem_count;
    int64_t now_ms, mono_ms, wall_ms;
    uint32_t depth; /* hook depth of the command */
    const struct part_watch *part_watch;
    struct authority authority;
    uint8_t planning;        /* enum planning: a dry commit does not compare hashes */
    struct projection *view; /* while a slice of a plan is computed: what its commit would write */
    struct plan *plans;      /* live plans, which must be notified of changed rows */
};

/* ---- rows.c: tables, names, strings ---- */

void *list_push(struct list *l, size_t item_size);
void list_fini(struct list *l, size_t item_size);
/* Empty the list; free its pages if it has grown beyond `keep` items. */
void list_trim(struct list *l, size_t item_size, uint32_t keep);

/* plan_stale.c: a row is about to be written; plans that read it become stale. The set of stale
 * plans is a bit mask, so that a rollback can restore it. */
void plans_row_changed(struct core *c, enum table table, uint32_t ix, bool is_edit);
uint32_t plans_stale(const struct core *c);
void plans_set_stale(struct core *c, uint32_t bits);

void *core_edit_row(struct core *c, enum table table, uint32_t ix);
void *core_derive_row(struct core *c, enum table table, uint32_t ix);
/* A new row with the next id, times set, dirty. 0 and a LIMIT_REACHED problem if the table is full.
 * */
uint32_t core_add_row(struct core *c, enum table table);
/* The same with a given id, for the first rows of a new installation. */
uint32_t core_add_row_with_id(struct core *c, enum table table, int64_t id);
/* Remove the row from its table and id map; the next collect visits the deletion. The caller has
 * removed its name and released its strings. */
void core_remove_row(struct core *c, enum table table, uint32_t ix);

#define ACCESS(TABLE, type)                                                                        \
    static inline const struct type *type##_at(const struct core *c, type##_ix ix)                 \
    {                                                                                              \
        return (const struct type *)pool_at(&c->tables[TABLE].pool, ix.v);                         \
    }                                                                                              \
    static inline struct type *type##_edit(struct core *c, type##_ix ix)                           \
    {                                                                                              \
        return (struct type *)core_edit_row(c, TABLE, ix.v);                                       \
    }                                                                                              \
    static inline struct type *type##_derive(struct core *c, type##_ix ix)                         \
    {                                                                                              \
        return (struct type *)core_derive_row(c, TABLE, ix.v);                                     \
    }                                                                                              \
    static inline type##_ix type##_by_id(const struct core *c, int64_t id)                         \
    {                                                                                              \
        return (type##_ix){id > 0 ? omap_find(&c->tables[TABLE].by_id, (uint64_t)id) : 0};         \
    }                                                                                              \
    static inline type##_ix type##_add(struct core *c)                                             \
    {                                                                                              \
        return (type##_ix){core_add_row(c, TABLE)};                                                \
    }

ACCESS(TABLE_SETTINGS, settings)
ACCESS(TABLE_COUNTER, counter)
ACCESS(TABLE_BARCLAMP, barclamp)
ACCESS(TABLE_JIG, jig)
ACCESS(TABLE_HAMMER_KIND, hammer_kind)
ACCESS(TABLE_ROLE, role)
ACCESS(TABLE_ATTRIB, attrib)
ACCESS(TABLE_DEPLOYMENT, deployment)
ACCESS(TABLE_SNAPSHOT, snapshot)
ACCESS(TABLE_DEPLOYMENT_ROLE, deployment_role)
ACCESS(TABLE_NODE, node)
ACCESS(TABLE_NODEROLE, noderole)
ACCESS(TABLE_RUN, run)
ACCESS(TABLE_HAMMER, hammer)
ACCESS(TABLE_GROUP, group)
ACCESS(TABLE_USER, user)
ACCESS(TABLE_TOKEN, token)
ACCESS(TABLE_OUTBOX, outbox)
ACCESS(TABLE_HOST_KEY, host_key)
ACCESS(TABLE_NETWORK, network)
ACCESS(TABLE_NETWORK_RANGE, network_range)
ACCESS(TABLE_NETWORK_ROUTER, network_router)
ACCESS(TABLE_NETWORK_ALLOCATION, network_allocation)
ACCESS(TABLE_LEASE, lease)
ACCESS(TABLE_NIC, nic)
ACCESS(TABLE_DNS_NAME_FILTER, dns_name_filter)
ACCESS(TABLE_DNS_NAME_ENTRY, dns_name_entry)
ACCESS(TABLE_BOOTENV, bootenv)
ACCESS(TABLE_BOOT_DUE, boot_due)

/* Prefetch a row that is needed soon: long walks over rows are otherwise bound by memory latency.
 * */
static inline void row_prefetch(const struct core *c, enum table table, uint32_t ix)
{
    const char *row = (const char *)pool_at(&c->tables[table].pool, ix);
    __builtin_prefetch(row, 1);
    __builtin_prefetch(row + 64, 1);
    __builtin_prefetch(row + 128, 1);
    __builtin_prefetch(row + 192, 1);
}

struct vars *vars_edit(struct core *c);
const struct settings *core_settings(const struct core *c);

/* Assign the next id of the table. */
int64_t core_take_id(struct core *c, enum table table);
/* The last id that was assigned in the table; 0 = none. */
int64_t core_last_id(const struct core *c, enum table table);

/* Walk a table by id: the row with the smallest id above `after`; 0 = none. */
uint32_t core_next_row(const struct core *c, enum table table, int64_t after);

/* Strings are interned and reference counted. The put functions release the old handle in *slot and
 * store a reference to the new string; the row of the slot must be writable. The only failure is
 * BLOBS_MAX, which is recorded as a problem. */
struct str text_of(const struct core *c, text_h h);
struct str doc_of(const struct core *c, doc_h h); /* "{}" for 0 */
void put_text(struct core *c, text_h *slot, struct str text);
void put_doc(struct core *c, doc_h *slot, struct str canonical); /* "" and "{}" become 0 */
/* Parse a canonical document into `a`; never NULL. */
struct json *doc_tree(struct arena *a, struct str canonical);

/* Lookup by name, ignoring case. */
uint32_t name_find(const struct core *c, enum table table, struct str name);
/* True if another row has the name of this one, which is not in the name map yet. */
bool name_is_taken(const struct core *c, enum table table, uint32_t ix);
void name_add(struct core *c, enum table table, uint32_t ix);
void name_remove(struct core *c, enum table table, uint32_t ix);

void relation_note(struct core *c, enum table table, bool gone, int64_t a, int64_t b, int64_t d);
void archive_note(struct core *c, struct archived closed);

/* Sorted lists of row indices, ordered by durable id. */
void ids_insert(struct core *c, struct vec *v, enum table table, uint32_t ix);
void ids_remove(struct core *c, struct vec *v, enum table table, uint32_t ix);
bool ids_has(const struct core *c, const struct vec *v, enum table table, uint32_t ix);
static inline uint32_t vec_at(const struct core *c, const struct vec *v, uint32_t i)
{
    return ((const uint32_t *)heap_at(&c->heap, v->ref))[i];
}
