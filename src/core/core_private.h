/* core_private.h - the rows of the core and what its chapters share.
 *
 * Only files of src/core include this. Rows lie in pools and are named by typed indices; a pointer
 * to a row lives for a function, never across a change of the pool. Two ways to write a row:
 *   x_edit()   a durable fact changes: the row is noted for undo and will be saved
 *   x_derive() only something derived changes (a counter, a list): noted, not saved
 * Whatever can be recomputed from the durable facts is rebuilt by load and verified by check.
 */
#pragma once

#include <string.h>

#include "base/blob.h"
#include "base/heap.h"
#include "base/omap.h"
#include "base/pool.h"
#include "base/undo.h"
#include "base/vec.h"
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
INDEX(outbox);

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
};

struct counter {
    struct object o;
    int64_t last;
};

struct barclamp {
    struct object o;
    uint32_t name_next;
    barclamp_ix parent;
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
    doc_h requires, wants, provides, conflicts, announces, template_data, notes;
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
    struct vec deployed; /* deployment_role_ix of this role, by id */
    bool unresolved;     /* a required role or wanted attrib does not exist */
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
    /* derived */
    bool committed;          /* the head is */
    uint32_t child_count;    /* deployments below */
    uint32_t proposed_roles; /* deployment roles with proposed data */
    uint32_t removing;       /* noderoles the next commit removes */
    uint32_t reruns;         /* noderoles with the rerun mark */
    uint32_t counts[NODEROLE_STATE_COUNT];
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
    /* derived */
    uint32_t group_count;
    uint32_t counts[NODEROLE_STATE_COUNT];
    struct vec noderoles;          /* noderole_ix by (cohort, id) */
    struct vec hammers;            /* hammer_ix by id */
    struct vec queued;             /* run_ix in RUN_QUEUED, by id */
    run_ix run;                    /* the run that holds the node: RUNNING or STOPPING */
    uint32_t first_todo;           /* no TODO stands before this position of noderoles */
    node_ix look_next;             /* line of nodes to look at */
    bool looked_for;               /* stands in that line */
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
    uint32_t cohort, run_count, attempt, order;
    uint8_t state; /* enum noderole_state; written by enter() in noderole.c alone */
    bool unavailable, rerun, removing, hook_failed;
    text_h status, runlog;
    doc_h proposed_data, committed_data, sysdata, wall, notes;
    /* derived */
    uint32_t missing;       /* parents that are not ACTIVE */
    uint32_t hooks_waiting; /* undelivered hooks of its own */
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
    uint32_t state, queue, attempt;
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
    doc_h settings;
};

struct outbox {
    struct object o;
    uint32_t kind, hook, object, depth;
    int64_t role_id, object_id;
    text_h detail;
};

/* What changes in the core itself; noted as one row. */
struct vars {
    struct row row;
    node_ix look_first, look_last;
    uint32_t busy[QUEUE_COUNT]; /* workers in use */
    uint32_t admin_count;       /* admin nodes */
    uint32_t provider_count;    /* roles that provide another */
    uint32_t server_count;      /* roles whose data are visible on other nodes */
    struct vec
        hook_roles[HOOK_COUNT]; /* role_ix that define the hook and can run, by (cohort, name) */
    struct digest128 digest;    /* as of the last collect */
};

/* A relation that came or went in this batch. */
struct relation_change {
    enum table table;
    bool gone;
    int64_t key[3];
};

/* A closed interval on its way to the archive. */
struct archived {
    enum table table; /* TABLE_OLD_MEMBER, TABLE_OLD_DATA */
    int64_t deployment_id, noderole_id, role_id, node_id, from_seq, to_seq;
    doc_h data; /* held until collected */
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

struct core {
    struct undo undo;
    struct heap heap;
    struct blobs blobs;
    struct table_rows tables[TABLE_OBJECTS];
    struct vars vars;
    struct omap
        waiting[QUEUE_COUNT]; /* NORMAL: cohort and id -> noderole_ix; HIGH: run id -> run_ix */
    struct omap timers;       /* deadline of parked runs -> run_ix */
    struct list dirty;        /* uint64: table << 32 | index */
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
    int64_t now_ms, mono_ms;
    uint32_t depth; /* of hooks that caused hooks */
    bool planning;  /* a dry commit: ask, but do not compare hashes */
};

/* ---- rows.c: tables, names, texts ---- */

void *list_push(struct list *l, size_t item_size);
void list_fini(struct list *l, size_t item_size);
/* Empty it; give the pages back when it grew beyond `keep` items. */
void list_trim(struct list *l, size_t item_size, uint32_t keep);

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
ACCESS(TABLE_OUTBOX, outbox)

/* A row that will be needed in a moment: long walks over cold rows wait for memory otherwise. */
static inline void row_soon(const struct core *c, enum table table, uint32_t ix)
{
    const char *row = (const char *)pool_at(&c->tables[table].pool, ix);
    __builtin_prefetch(row, 1);
    __builtin_prefetch(row + 64, 1);
    __builtin_prefetch(row + 128, 1);
    __builtin_prefetch(row + 192, 1);
}

struct vars *vars_edit(struct core *c);
const struct settings *core_settings(const struct core *c);

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

/* ---- step.c: saying no, saying what else ---- */

/* Records a problem; the step will be refused. Returns false, so `return refuse(...)` reads well. */
bool refuse(struct core *c, enum problem_code code, struct str field, struct str text);
bool refused(const struct core *c); /* any problem so far in this step */
/* Pieces joined in the step's arena. */
struct str say_pieces(struct core *c, const struct str *pieces, uint32_t count);
#define SAY(c, ...)                                                                                \
    say_pieces((c), (const struct str[]){__VA_ARGS__},                                             \
               (uint32_t)(sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str)))
struct str say_i64(struct core *c, int64_t value);
/* NOT_FOUND for a thing named by id in `field`. */
bool refuse_missing(struct core *c, const char *field, const char *noun, int64_t id);
struct effect *effect_add(struct core *c, enum effect_kind kind, int64_t id);

/* A wish: a step inside the step in progress, kept or taken back on its own. */
void core_step_inside(struct core *c, const struct command *command, struct outcome *out);
/* Try something that may fail half way: what it did is taken back when it says false. */
bool core_try(struct core *c,
              bool (*attempt)(struct core *c, const struct outbox *row, struct str wishes,
                              struct str *out_text),
              const struct outbox *row, struct str wishes, struct str *out_text);
/* A step that is always taken back; what it would have said stays in `out`. */
void core_step_dry(struct core *c, const struct command *command, struct arena *arena,
                   struct outcome *out);

/* One handler per command kind, each in its chapter. A handler refuses or changes; the step rolls
 * back what a refused handler did. */
#define C(upper, lower) void do_##lower(struct core *c, const struct lower##_command *p);
COMMANDS(C)
#undef C

/* ---- noderole.c: the life of one noderole ---- */

enum noderole_event {
    EVENT_COMMIT,
    EVENT_PROPOSE,
    EVENT_READY,     /* the last non-ACTIVE parent became ACTIVE            */
    EVENT_LOST,      /* a parent left ACTIVE otherwise than by propose      */
    EVENT_ANC_ERROR, /* an ancestor entered ERROR                           */
    EVENT_START,
    EVENT_OK,
    EVENT_FAILED,
    EVENT_RETRY,
    EVENT_DEACTIVATE,
    NODEROLE_EVENT_COUNT
};

/* Apply an event by the table. False when the cell refuses; no problem is recorded. */
bool noderole_apply(struct core *c, noderole_ix nr, enum noderole_event event);
/* The same for what a run did: whether it began while its deployment was COMMITTED (D15), and
 * whether it was a destructive role's start that runs nothing (K1) decide about hooks. */
bool noderole_apply_run(struct core *c, noderole_ix nr, enum noderole_event event,
                        bool committed_run, bool silent);
void noderole_note_failure(struct core *c, noderole_ix nr, struct str status, struct str runlog);
/* ERROR (where the table lets it fail) with `why` in the runlog (last RUNLOG_MAX bytes kept) and a short status. */
void noderole_fail(struct core *c, noderole_ix nr, struct str status, struct str runlog);
/* poke (SEMANTICS 6.9): rerun what has run, if it may run. */
void noderole_poke(struct core *c, noderole_ix nr);
void noderole_mark_rerun(struct core *c, noderole_ix nr, bool on);
/* The head of its deployment is COMMITTED, it is available, node alive and available, jig usable. */
bool noderole_is_runnable(const struct core *c, noderole_ix nr);
/* commit of one PROPOSED noderole (hook asked, data published, timeline stamped, settled). */
bool noderole_commit(struct core *c, noderole_ix nr);
void noderole_propose(struct core *c, noderole_ix nr);
/* PROPOSED as if it never ran: run_count 0, and no hook hears of it (redeploy, K12). */
void noderole_reset(struct core *c, noderole_ix nr);
/* Remove one with everything attached; children must be gone or about to go. */
void noderole_destroy(struct core *c, noderole_ix nr);
/* Remove these and all their descendants, deepest first; the caller has checked that it may
 * (graph_can_delete). */
void noderole_destroy_all(struct core *c, const noderole_ix *items, uint32_t count);
/* By (cohort, id): <0, 0, >0. */
int noderole_cmp(const struct core *c, noderole_ix a, noderole_ix b);
/* Name for people: "deployment: node: role". */
struct str noderole_label(const struct core *c, noderole_ix nr, struct arena *a);

/* ---- graph.c: edges, cohorts, walks ---- */

/* parent -> child, unless it is there. Keeps counters, cohorts and I2; refuses GRAPH_CYCLE. */
void graph_add_edge(struct core *c, noderole_ix parent, noderole_ix child);
/* Cut a noderole without children off from its parents: it is going. */
void graph_detach(struct core *c, noderole_ix nr);
bool graph_has_edge(const struct core *c, noderole_ix parent, noderole_ix child);
/* Everything below (above) `from`, not including it unless on a cycle: in the step's arena, in
 * discovery order. */
noderole_ix *graph_descendants(struct core *c, noderole_ix from, struct arena *a,
                               uint32_t *out_count);
noderole_ix *graph_ancestors(const struct core *c, noderole_ix from, struct arena *a,
                             uint32_t *out_count);
/* SEMANTICS 3.9: refused with HAS_DEPENDANTS unless K21 allows. */
bool graph_can_delete(struct core *c, noderole_ix nr);
void graph_sort_by_cohort(const struct core *c, noderole_ix *items, uint32_t count,
                          bool descending);

/* Where the noderole stands in its node's list. */
uint32_t node_place_of(const struct core *c, noderole_ix nr);
/* Put a new noderole into its node's list. */
void node_place(struct core *c, noderole_ix nr);

/* ---- cluster.c: members that go together ---- */

/* Commit these PROPOSED noderoles in the order given; members of clusters that were there before
 * and whose staged data the commit changed run again (D13). False when refused. */
bool cluster_commit(struct core *c, const noderole_ix *items, uint32_t count);

/* ---- bind.c ---- */

/* Bind atomically with all missing parents. {0} when refused (problems recorded). */
noderole_ix bind_role(struct core *c, role_ix role, node_ix node, deployment_ix deployment);
deployment_role_ix deployment_role_find(const struct core *c, deployment_ix d, role_ix r);
/* Find or create (asks on_deployment_create). {0} when refused. */
deployment_role_ix deployment_role_ensure(struct core *c, deployment_ix d, role_ix r);
noderole_ix noderole_find(const struct core *c, node_ix n, role_ix r);
bool role_provides(const struct core *c, role_ix provider, role_ix provided);
/* Is `r`'s jig usable here (K10)? */
bool role_can_run(const struct core *c, role_ix r);
/* The name of the jig a run of `r` uses. */
struct str role_jig_name(const struct core *c, role_ix r);
bool role_is_noop(const struct core *c, role_ix r);

/* ---- anneal.c: who may start, and when ---- */

/* Something about this node may have changed: look at it in the next annealing step. */
void anneal_look(struct core *c, node_ix n);
void anneal_look_everywhere(struct core *c);
/* The noderole became TODO: first_todo moves. */
void anneal_todo(struct core *c, noderole_ix nr);
/* Take the node out of every line (it is being deleted). */
void anneal_forget_node(struct core *c, node_ix n);
/* For why(): K6 and K5 without the worker. */
bool anneal_node_is_open(const struct core *c, node_ix n);

/* ---- runs.c: rows of work ---- */

void run_enqueue(struct core *c, noderole_ix nr);                      /* SEMANTICS 5.2 with X8  */
void run_start(struct core *c, noderole_ix nr, run_ix queued_or_none); /* everything was checked */
bool run_is_instant(const struct core *c, noderole_ix nr);             /* no-op or skipped        */
void run_instant(struct core *c, noderole_ix nr, run_ix queued_or_none);
/* Its noderole leaves TRANSITION otherwise than by an answer. */
void run_cancel(struct core *c, run_ix run);
/* Drop the noderole's queued run, if any. */
void run_drop_queued(struct core *c, noderole_ix nr);
/* Remove the row, free what it holds. */
void run_remove(struct core *c, run_ix run);
void run_load_timer(struct core *c, run_ix run); /* a PARKED run was loaded */
void run_forget_node(struct core *c, node_ix n); /* node is being deleted */

/* ---- hooks.c: outbox and questions ---- */

/* After the noderole entered `state`, perhaps by a run that began while COMMITTED (D15). */
void hooks_state(struct core *c, noderole_ix nr, enum noderole_state state, bool committed_run,
                 bool silent);
void hooks_proposed(struct core *c, noderole_ix nr);
void hooks_node(struct core *c, enum hook hook, node_ix n);
void hooks_deployment_role(struct core *c, enum hook hook, deployment_role_ix dr);
/* Ask a hook that may veto. True when it may go on (answered yes, or not defined, or still to be
 * asked: then the step ends in VERDICT_ASKING). False when vetoed (problem recorded). */
bool hooks_ask(struct core *c, enum hook hook, role_ix role, struct str argument);
struct str hooks_noderole_argument(struct core *c, noderole_ix nr);
struct str hooks_deployment_role_argument(struct core *c, deployment_role_ix dr);
void outbox_power(struct core *c, node_ix n, struct str action);
/* The same unless an equal one already waits for this node. */
void outbox_power_once(struct core *c, node_ix n, struct str action);
void outbox_probe(struct core *c, node_ix n);
/* Rows about a noderole that is going away. */
void outbox_forget_noderole(struct core *c, noderole_ix nr);
/* Roles' hook lists after roles or jigs changed. */
void hooks_index(struct core *c);

/* ---- data.c and stage.c: documents and attribs ---- */

/* Layers of SEMANTICS 6.1. */
struct json *data_noderole(const struct core *c, noderole_ix nr, bool committed_only,
                           struct arena *a);
struct json *data_deployment_role(const struct core *c, deployment_role_ix dr, bool committed_only,
                                  struct arena *a);
struct json *data_node(const struct core *c, node_ix n, struct arena *a);
/* What the attrib reads as in `tree`: the value at its map, or the default; NULL = null. */
const struct json *data_value(const struct core *c, attrib_ix attrib, const struct json *tree,
                              struct arena *a);
/* Replace the user's proposed data; NOT_PROPOSED unless PROPOSED. Fires on_proposed. */
bool noderole_set_data(struct core *c, noderole_ix nr, struct str object);
/* SEMANTICS 6.6: canonical text. */
struct str stage_noderole(const struct core *c, noderole_ix nr, struct arena *a);
/* Rebuild the attrib links of a noderole after its ancestry changed (6.6, 6.7). */
void links_rebuild(struct core *c, noderole_ix nr);
void links_clear(struct core *c, noderole_ix nr);
/* After a successful run with a new wall: feed node attribs and reservations back, poke linked
 * children whose value changed. `old_wall` is what it was. */
void data_after_run(struct core *c, noderole_ix nr, struct str old_wall);
/* Deployment role: publish proposed data, poke its noderoles if an attrib's value changed. */
bool deployment_role_commit(struct core *c, deployment_role_ix dr);
void deployment_role_destroy(struct core *c, deployment_role_ix dr);

/* ---- deployment.c, timeline.c ---- */

deployment_ix deployment_system(const struct core *c);
enum deployment_state deployment_state(const struct core *c, deployment_ix d);
/* A new deployment with its head and phantom; used by found and create. {0} when refused. */
deployment_ix deployment_make(struct core *c, struct str name, struct str description,
                              deployment_ix parent, bool system);
/* D11, K19: a new PROPOSED head, or the same one recalled. `name` of a new head; empty = the old
 * one's. False when refused. */
bool deployment_propose(struct core *c, deployment_ix d, struct str name);
/* The noderoles of the deployment that `wanted` wants, by (cohort, id), in the step's arena. There
 * are at most `most` of them: 0 saves the look. */
typedef bool pick_fn(const struct noderole *nr);
noderole_ix *deployment_pick(struct core *c, deployment_ix d, pick_fn *wanted, uint32_t most,
                             uint32_t *out_count);
/* The first head; the next one, the old one becoming history. {0} when refused. */
snapshot_ix timeline_begin(struct core *c, deployment_ix d, enum snapshot_state state);
snapshot_ix timeline_next(struct core *c, deployment_ix d, enum snapshot_state state,
                          struct str name);
/* Whatever else this step changes in `d` belongs to the head it has now. */
void timeline_hold(struct core *c, deployment_ix d);
/* Every snapshot of a deployment that is being deleted. */
void timeline_destroy(struct core *c, deployment_ix d);
/* It joins, gets new committed data (for a noderole they are put here, for a role by the caller
 * right after), or leaves. */
void timeline_commit_noderole(struct core *c, noderole_ix nr, struct str new_data);
void timeline_commit_role(struct core *c, deployment_role_ix dr, struct str new_data);
void timeline_drop_noderole(struct core *c, noderole_ix nr);
void timeline_drop_role(struct core *c, deployment_role_ix dr);
void snapshot_set_state(struct core *c, snapshot_ix s, enum snapshot_state state);

/* ---- plan.c and why.c ---- */

/* What a commit of a deployment did, for its plan. */
struct commit {
    deployment_ix d;
    int64_t seq;        /* of the head it began with */
    noderole_ix *items; /* committed, in order */
    uint32_t count;
    noderole_ix *removed; /* dead rows */
    uint32_t removed_count, removed_cap;
    deployment_role_ix *roles; /* whose data were committed */
    uint32_t role_count;
};

/* After the commit: its plan as the outcome's document; PLAN_CHANGED unless its hash is `wanted`
 * (or the step only plans). */
void plan_check(struct core *c, const struct commit *work, struct str wanted);
/* core_why, with or without hooks that have not answered. */
struct cause *why_noderole(const struct core *c, noderole_ix nr, bool but_hooks, struct arena *a);

/* ---- node.c, node_verbs.c, node_actions.c ---- */

/* Engine-side flag changes with all their consequences (SEMANTICS 3.6) but node_changed(), which
 * the caller calls once at the end. */
void node_set_alive(struct core *c, node_ix n, bool alive);
void node_set_available(struct core *c, node_ix n, bool available);
void node_set_bootenv(struct core *c, node_ix n, struct str bootenv);
/* Work may be possible again, on one node or anywhere: look, and run what was put off (K3). */
void node_wake(struct core *c, node_ix n);
void nodes_wake(struct core *c);
void node_changed(struct core *c, node_ix n); /* K17 */
node_ix node_make(struct core *c, const struct node_create_command *p, deployment_ix d,
                  bool phantom);
void node_check_name(struct core *c, struct str name, node_ix self); /* self: may have it */
void node_rename(struct core *c, node_ix n, struct str name);
void node_destroy(struct core *c, node_ix n); /* its noderoles are gone */
/* The node with everything on it. False when noderoles elsewhere forbid it. */
bool node_remove(struct core *c, node_ix n);
/* SEMANTICS 8.5: what has not been touched follows. */
void node_move(struct core *c, node_ix n, deployment_ix to);
/* Bind every role with that flag which is not there yet, by (cohort, name). */
void node_bind_flagged(struct core *c, node_ix n, uint32_t flag);
/* Can nodes be held at this role (D14)? */
bool node_is_target(const struct core *c, role_ix role);
/* Hold the node at a role that is bound to it; none = let go (SEMANTICS 3.8). */
void node_set_target(struct core *c, node_ix n, role_ix role);
/* A powersave role became ACTIVE (SEMANTICS 3.7). */
void node_powersave(struct core *c, noderole_ix nr);
/* Does a hammer of the node offer this power action? */
bool node_can_power(const struct core *c, node_ix n, struct str action);
/* All they offer, for people: "reboot, on, off". */
struct str node_power_actions(const struct core *c, node_ix n, struct arena *a);

/* ---- objects: import.c, roles.c, groups.c, users.c, hammers.c ---- */

/* Rebuild every derived list of all roles (parents, provided, wanted, jig ...) and cohorts. */
void roles_resolve(struct core *c);
/* REQUIRE_UNRESOLVED and ATTRIB_UNKNOWN, naming each name this role waits for. */
void roles_refuse_unresolved(struct core *c, role_ix r);
/* Does any role provide another? Nothing of that needs checking otherwise. */
bool roles_have_provides(const struct core *c);
void group_join(struct core *c, group_ix g, node_ix n);
void group_leave(struct core *c, group_ix g, node_ix n);
void groups_forget_node(struct core *c, node_ix n);
hammer_ix hammer_make(struct core *c, node_ix n, hammer_kind_ix kind, struct str username);
void hammers_forget_node(struct core *c, node_ix n);

/* ---- check_texts.c ---- */

const char *check_texts(const struct core *c, struct arena *a);

/* ---- records.c: rows as records and back ---- */

void record_of_row(const struct core *c, enum table table, uint32_t ix, struct record *out);
/* After a load: give every row its share of the digest; the sum over all rows and relations. */
struct digest128 core_seal(struct core *c);
