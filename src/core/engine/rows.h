/* rows.h - the rows of the core and how they are reached.
 *
 * Only files of src/core include this. Rows lie in pools and are named by typed indices; a pointer
 * to a row lives for a function, never across a change of the pool. Two ways to write a row:
 *   x_edit()   a durable fact changes: the row is noted for undo and will be saved
 *   x_derive() only something derived changes (a counter, a list): noted, not saved
 * Whatever can be recomputed from the durable facts is rebuilt by load and verified by check.
 */
#pragma once

#include <string.h>

#include "base/containers/blob.h"
#include "base/containers/heap.h"
#include "base/containers/omap.h"
#include "base/containers/vec.h"
#include "base/mem/pool.h"
#include "base/mem/undo.h"
#include "core/core.h"
#include "model/limits.h"

#define INDEX(name)                                                                                \
    typedef struct {                                                                               \
        uint32_t v;                                                                                \
    } name##_ix
INDEX(settings);
INDEX(counter);
INDEX(barclamp);
INDEX(jig);
INDEX(hammer_kind);
INDEX(role);
INDEX(attrib);
INDEX(deployment);
INDEX(snapshot);
INDEX(deployment_role);
INDEX(node);
INDEX(noderole);
INDEX(run);
INDEX(hammer);
INDEX(group);
INDEX(user);
INDEX(token);
INDEX(outbox);
INDEX(host_key);

typedef uint32_t text_h; /* blob handle of a text; 0 = "" */
typedef uint32_t doc_h;  /* blob handle of a document; 0 = {} (or none) */

/* The head of every row: identity, its share of the digest, times. Rows with a name have
 * `name_next` right behind it: it chains rows whose names have the same hash. */
struct object {
    struct row row;
    int64_t id;
    struct digest128 hash;
    int64_t created_at;
    int64_t updated_at;
    int64_t turn;
};

struct settings {
    struct object o;
    uint32_t pool_size[QUEUE_COUNT];
    uint32_t max_depth;
    bool test_jig;
    uint32_t keep_runs, run_deadline_s, barrier_s;
    bool host_keys_imported;
};

struct counter {
    struct object o;
    int64_t last;
};

struct barclamp {
    struct object o;
    uint32_t name_next;
    barclamp_ix parent;
    int64_t load_parent_id; /* between load and load_end (scratch) */
    text_h name, description, version, build_version, source_url, source_path, commit, build_on;
    doc_h cfg_data;
};

struct jig {
    struct object o;
    uint32_t name_next;
    text_h name, description, class_name, inactive_reason, client_role_name, server, client_name,
        key;
    uint32_t order;
    bool active;
    bool is_noop;      /* derived from class_name */
    bool stays_itself; /* derived: never replaced by the test jig (noop, test, role-provided) */
};

struct hammer_kind {
    struct object o;
    uint32_t name_next;
    text_h name, klass;
    uint32_t priority;
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
    /* derived */
    jig_ix jig; /* by jig_name; 0 = no such jig */
    struct vec
        parents; /* role_ix: resolved requires, client role, owners of wanted attribs; by id */
    struct vec children; /* role_ix: the other direction; by id */
    struct vec
        provided; /* blob handles of names (the row's documents hold the texts' own copies) */
    struct vec conflicting; /* blob handles of names */
    struct vec attribs;     /* attrib_ix owned, by id */
    struct vec
        wanted; /* pairs: attrib_ix, blob handle of `at` (0 = the attrib's map); document order */
    struct vec deployed;   /* deployment_role_ix of this role, by id */
    struct vec attaching;  /* blob handles of the names it attaches itself to, in small letters */
    uint32_t own_requires; /* so many of `requires`; those behind attached themselves */
    bool unresolved;       /* a required role or wanted attrib does not exist */
};

struct attrib {
    struct object o;
    uint32_t name_next;
    text_h name, description, map, ui_renderer;
    barclamp_ix barclamp;
    role_ix role; /* 0 = of nodes */
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
    bool committed;          /* the head is */
    uint32_t child_count;    /* deployments below */
    uint32_t proposed_roles; /* deployment roles with proposed data */
    uint32_t removing;       /* noderoles the next commit removes */
    uint32_t reruns;         /* noderoles with the rerun mark */
    uint32_t counts[NODEROLE_STATE_COUNT];
    uint32_t unproposed;                   /* noderoles with values that no commit publishes */
    struct vec roles;                      /* deployment_role_ix, by id */
    uint32_t opened;                       /* step number that opened the newest seq (scratch) */
    int64_t load_head_id, load_phantom_id; /* between load and load_end (scratch) */
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
    uint32_t settled;     /* derived: those that are ACTIVE and not marked to run again */
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
    doc_h boot_seen;
    text_h status, boot_id;
    doc_h old_boots;
    uint32_t reason; /* enum reason_code, of the status */
    text_h reason_subject;
    bool automatic; /* made by the first start; replaced by the first admin node of an operator */
    uint32_t power_state; /* enum power_state */
    int64_t power_read_at;
    text_h power_driver;
    uint32_t power_reason; /* enum reason_code, of power_error */
    text_h power_error;
    int64_t power_order;
    doc_h power_results;
    /* derived */
    uint32_t group_count;
    uint32_t counts[NODEROLE_STATE_COUNT];
    struct vec noderoles;          /* noderole_ix by (cohort, id) */
    struct vec hammers;            /* hammer_ix by id */
    struct vec tokens;             /* token_ix by id */
    struct vec host_keys;          /* host_key_ix by id */
    struct vec queued;             /* run_ix in RUN_QUEUED, by id */
    outbox_ix probe;               /* asks whether it answers; 0 = nobody does */
    struct vec barrier;            /* outbox_ix of power that waits to be told, by id */
    run_ix run;                    /* the run that holds the node: RUNNING or STOPPING */
    uint32_t first_todo;           /* no TODO stands before this position of noderoles */
    node_ix dirty_next;            /* line of nodes to look at */
    bool in_dirty_queue;           /* stands in that line */
    uint32_t power_asked;          /* step that asked it to come on (scratch) */
    uint64_t waiting[QUEUE_COUNT]; /* key of its candidate in core.waiting; 0 = none */
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
    uint8_t state; /* enum noderole_state; written by enter() in noderole.c alone */
    bool unavailable, rerun, removing, hook_failed;
    text_h status, runlog;
    uint32_t status_hook; /* 1 + enum hook; 0: the status quotes no hook */
    uint32_t reason;      /* enum reason_code */
    text_h reason_subject, reason_text;
    doc_h proposed_data, committed_data, computed, sysdata, wall, notes;
    /* derived */
    uint32_t missing;       /* parents that are not ACTIVE */
    uint32_t hooks_waiting; /* undelivered hooks of its own */
    uint32_t chain;         /* hooks that caused hooks that caused its next run */
    run_ix run;             /* its live run: RUNNING, PARKED, or QUEUED again after parking */
    run_ix queued;          /* its enqueued run */
    struct vec parents;     /* noderole_ix by id */
    struct vec children;    /* noderole_ix by id */
    struct vec links;       /* pairs: noderole_ix of the ancestor, attrib_ix; by attrib id */
};

struct run {
    struct object o;
    node_ix node;         /* 0 when the node is gone */
    noderole_ix noderole; /* 0 when it is gone or the run was cancelled */
    int64_t node_id, noderole_id;
    uint32_t state, queue, attempt, tries;
    bool frozen, begun, committed;
    int64_t started_at;
    int64_t park_left_ms;  /* when it was parked */
    int64_t park_deadline; /* derived: mono_ms */
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
    user_ix user;       /* 0 = the node's */
    node_ix node;
    deployment_ix deployment; /* 0 = everywhere */
    uint32_t access, kind;
    text_h name, hash;
    int64_t expires_at;
};

struct outbox {
    struct object o;
    uint32_t kind, hook, object, depth;
    int64_t role_id, object_id;
    text_h detail;
    int64_t generation, left_ms;
    bool begun;
    int64_t deadline; /* derived: mono_ms */
};

struct host_key {
    struct object o;
    uint32_t key_next; /* derived: the next row whose key has the same hash, in by_name */
    node_ix node;
    text_h key;
    int64_t since_ms, boot;
};

/* What changes in the core itself; noted as one row. */
struct vars {
    struct row row;
    node_ix look_first, look_last;
    uint32_t busy[QUEUE_COUNT]; /* workers in use */
    uint32_t admin_count;       /* admin nodes */
    uint32_t rerunning;         /* deployments that are */
    uint32_t provider_count;    /* roles that provide another */
    uint32_t server_count;      /* roles whose data are visible on other nodes */
    struct vec
        hook_roles[HOOK_COUNT]; /* role_ix that define the hook and can run, by (cohort, name) */
    struct vec boot_roles;      /* role_ix that serve boots, by id */
    bool boot_due;              /* power that waits may go on, or has waited in vain */
    struct digest128 digest;    /* as of the last collect */
};

/* A relation that came or went in this batch. */
struct relation_change {
    enum table table;
    bool gone;
    int64_t key[3];
};

/* A closed interval, or a run that is over, on its way to the archive. */
struct archived {
    enum table table; /* TABLE_OLD_MEMBER, TABLE_OLD_DATA, TABLE_OLD_RUN */
    int64_t noderole_id, role_id, node_id;
    int64_t deployment_id, from_seq, to_seq;       /* of an interval */
    int64_t attempt, run_id, started_at, ended_at; /* of a run       */
    uint32_t result;
    uint32_t reason;
    text_h reason_subject, reason_text; /* held until collected, as `data` is */
    doc_h data;                         /* or what the runner said; held until collected */
};

struct table_rows {
    struct pool pool;
    struct omap by_id;
    struct omap by_name; /* hash of the (lower-case) name -> first row of that hash */
};

/* A growing list in pages of its own, not under undo: its length is part of a mark. */
struct list {
    void *items;
    uint32_t count;
    uint32_t cap;
};

/* What a dry commit is stepped for. */
enum planning { PLANNING_NOT, PLANNING_CONSENT, PLANNING_ALL };

/* What the caller of a command may do, as of the beginning of the step: parts of a batch are judged
 * by the same rights, also when an earlier part deleted the token they came with. */
struct rights {
    enum access access;        /* everywhere; ACCESS_NONE: no such user, or locked */
    const struct json *grants; /* NULL: none */
    enum access most;          /* of the token */
    deployment_ix within;      /* outside of it the token is a viewer's; 0: nowhere */
    bool is_unrestricted;      /* not a token for less than its owner may do */
};

enum { AUTHORITY_KEPT = 8 };

/* How the command in progress is judged while it runs. */
struct authority {
    bool is_limited; /* by rule 2 */
    enum access needs;
    deployment_ix exempt_above; /* rule 3: those above this one are not asked about; 0: none */
    struct rights rights;
    deployment_ix judged[AUTHORITY_KEPT]; /* the last ones */
    uint32_t next;                        /* of them */
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
    struct omap barrier;      /* deadline of power that waits -> outbox_ix */
    struct omap attachers;    /* handle of a role's name and who attaches to it -> role_ix */
    struct list dirty;        /* uint64: table << 32 | index */
    uint64_t edits;           /* of rows, relations and archives */
    struct list relations;    /* struct relation_change */
    struct list archives;     /* struct archived */
    uint32_t visit;           /* stamps of walks over the graph (scratch) */
    struct list visited;      /* uint32 per noderole index: last walk that saw it (scratch) */
    uint32_t step_number;

    /* the step in progress */
    const struct command *command;
    struct arena *arena;
    struct effects *fx;
    struct outcome *out;
    struct problem *last_problem; /* ends of the lists in `out` */
    struct ask *last_ask;
    uint32_t problem_count;
    int64_t now_ms, mono_ms, wall_ms;
    uint32_t depth; /* of hooks that caused hooks */
    const struct part_watch *part_watch;
    struct authority authority;
    uint8_t planning;        /* PLANNING_...: a dry commit asks, but does not compare hashes */
    struct projection *view; /* while a slice of a plan is computed: what its commit would write */
    struct plan *plans;      /* that must be notified of rows that change */
};

/* ---- rows.c: tables, names, texts ---- */

void *list_push(struct list *l, size_t item_size);
void list_fini(struct list *l, size_t item_size);
/* Empty it; give the pages back when it grew beyond `keep` items. */
void list_trim(struct list *l, size_t item_size, uint32_t keep);

/* plan_job.c: a row was written; plans that read it are stale. Which of them are, as bits, so that
 * a step that is taken back can restore it. */
void plans_row_changed(struct core *c, enum table table, uint32_t ix, bool is_edit);
uint32_t plans_stale(const struct core *c);
void plans_set_stale(struct core *c, uint32_t bits);

void *core_edit_row(struct core *c, enum table table, uint32_t ix);
void *core_derive_row(struct core *c, enum table table, uint32_t ix);
/* A fresh row with the next id, times set, dirty. 0 and a LIMIT_REACHED problem when full. */
uint32_t core_add_row(struct core *c, enum table table);
/* The same with a given id, for the founding rows. */
uint32_t core_found_row(struct core *c, enum table table, int64_t id);
/* Out of the table, its id map and the next batch (names and texts: the caller drops them). */
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

/* A row that will be needed in a moment: long walks over cold rows wait for memory otherwise. */
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

/* The id that was given out last in the table; 0 = none was. */
int64_t core_last_id(const struct core *c, enum table table);

/* Walk a table by id: the row with the smallest id above `after`; 0 = none. */
uint32_t core_next_row(const struct core *c, enum table table, int64_t after);

/* Texts. The put functions let go of the old handle in *slot and hold the new one; the row that
 * owns the slot is open for writing. They cannot fail but by BLOBS_MAX, which is a problem. */
struct str text_of(const struct core *c, text_h h);
struct str doc_of(const struct core *c, doc_h h); /* "{}" for 0 */
void put_text(struct core *c, text_h *slot, struct str text);
void put_doc(struct core *c, doc_h *slot, struct str canonical); /* "" and "{}" become 0 */
/* The document as a tree in the step's (or any) arena; never NULL. */
struct json *doc_tree(struct arena *a, struct str canonical);

/* Natural keys. The name must be in its stored form (lower case where the model says so). */
uint32_t name_find(const struct core *c, enum table table, struct str name);
/* Does another row have the name of this one, which has not been added yet? */
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
