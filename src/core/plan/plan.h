/* plan.h - state of a plan while it is computed. Included by files of src/core only.
 *
 * A plan lists what a commit would do (ADR 0079). It is computed in phases, each a loop of small
 * units of work, so that it can be interrupted after any unit and continued in a later turn. Phases
 * before PHASE_COLLECT imitate the commit in a view (projection.c). From then on the result is
 * read, through the view or, after a real commit, from the rows themselves (plan.c). A plan has
 * memory of its own, a few tens of bytes for each noderole of the deployment, which lives until
 * core_plan_end(). */
#pragma once

#include "base/hash/sha256.h"
#include "core/plan/commit_view.h"

enum plan_phase {
    PHASE_SCAN, /* find proposed noderoles and those with a removal mark */
    PHASE_SORT_ITEMS,
    PHASE_SORT_MARKED,
    PHASE_REMOVE,
    PHASE_ROLES,
    PHASE_COMMIT,
    PHASE_CLUSTERS,
    PHASE_SERVICES,
    PHASE_RERUNS, /* find noderoles whose rerun a recalled head prevented */
    PHASE_SORT_RERUNS,
    PHASE_RESUME,
    PHASE_COLLECT, /* find waiting, enqueued and changed noderoles */
    PHASE_SORT_ALL,
    PHASE_SORT_REQUESTED,
    PHASE_WAVES,
    PHASE_COUNT_WAVES,
    PHASE_ORDER,
    PHASE_CONSENT,
    PHASE_PUT_COMMITS,
    PHASE_PUT_REMOVES,
    PHASE_PUT_RUNS,
    PHASE_PUT_REQUESTED,
    PHASE_PUT_HELD,
    PHASE_PUT_VALUES,
    PHASE_PUT_NAMES,
    PHASE_WRITE,
    PHASE_DONE,
};

enum { WAVE_HELD = 0 }; /* of a noderole that does not start; waves count from 1 */

struct digest {
    uint8_t bytes[32];
};

/* An array in pages of its own: zeroed, and only touched pages occupy memory. */
struct pages {
    void *at;
    size_t size;
};

struct plan_noderoles {
    noderole_ix *items;
    uint32_t count, cap;
    struct pages pages;
};

struct plan_lists {
    struct buf addresses, announced, changed, changed_destructive, commits, consent, consent_brief,
        destructive, held, missing, power, removes, reruns, role_commits, runs, unproposed;
};

/* Children of `parent` that have not been notified; the last entry is processed first. */
struct fanout {
    noderole_ix parent;
    uint32_t next;
    bool is_hold; /* true: the parent joins its cluster; false: it is not ACTIVE any more */
};

/* A merge sort that can be interrupted after each block. */
struct sorting_noderoles {
    struct keyed_noderole *from, *to;
    uint32_t width; /* length of the sorted runs; 0: blocks are being sorted */
    uint32_t begin; /* start of the pair of runs that is merged */
    uint32_t left, right, out;
};

/* Position of an iteration over the members of a deployment: the role, then its member. */
struct walk_position {
    uint32_t role, member;
};

struct plan_summary;

struct plan {
    struct core *c;
    bool is_projected; /* false: the commit was executed, and the rows contain its result */
    bool is_detailed;  /* the lists are requested, not only the totals */
    bool is_too_large; /* the lists were requested and are longer than a reply may be */
    bool is_stale;     /* a row that the plan read has changed */
    bool is_registered;
    struct plan *next; /* in core.plans */
    struct arena arena, scratch;
    enum plan_phase phase;
    uint32_t at; /* index in the list of the phase */
    struct walk_position position;
    uint32_t units; /* units of work left in this slice; one is about one row */

    /* The step context of the commit, kept between slices. */
    struct command command;
    struct outcome out;
    struct problem *last_problem;
    struct veto_call *last_veto_call;
    uint32_t problem_count;

    deployment_ix d;
    int64_t seq;
    bool opens, some_wait;
    struct projection view;
    struct fanout fanouts[4];
    uint32_t fanout_count;
    struct sorting_noderoles sorting;
    struct pages keys, other_keys;
    struct keyed_noderole *keyed; /* the list that is being collected and sorted */
    uint32_t keyed_count, keyed_cap;
    uint32_t moved; /* number of items that were moved to their list */
    bool is_sorted;
    bool *seen_clusters; /* by deployment role index */
    deployment_role_ix cluster;

    struct plan_noderoles items, marked, removed, reruns, all, requested, runs;
    deployment_role_ix *roles;
    uint32_t role_count;
    struct pages failure_pages; /* of view.failures */
    struct pages wave_pages;
    uint32_t *wave; /* by noderole index */
    uint32_t last_wave;
    struct pages order_pages;
    uint32_t *next_of_wave;
    uint8_t *role_requires; /* by role index: 0 unknown, 1 no required attrib, 2 some */
    bool *powered;          /* by node index: it is in the list `power`; NULL: the list is empty */
    uint32_t power_count;
    uint32_t destroys_count, unproposed_count, changed_count, changed_destructive_count;
    struct sha256 hash, consent;
    struct str hash_text, consent_text;
    struct digest data; /* the last one of plan_hash_with_data(), and its documents */
    doc_h digest_docs[2];
    bool data_is_known;
    struct plan_lists lists;
    uint32_t lists_max;           /* limit of the total size, in bytes */
    struct plan_summary *summary; /* NULL: the commit was executed, and no summary is written */
    struct buf names;             /* [{...},... of the summary */
    uint32_t names_count;
    struct str doc, brief_doc;
};

/* ---- plan_job.c ---- */

struct pages plan_pages(size_t size);
void plan_noderoles_add(struct plan_noderoles *list, noderole_ix nr);
/* Adds to `keyed`; then sorts it, one block per call. True if it is sorted. */
void plan_key(struct plan *p, noderole_ix nr);
bool plan_sort(struct plan *p);
/* Moves the sorted noderoles to a list of their own, one block per call. True if all were moved. */
bool plan_take_sorted(struct plan *p, struct plan_noderoles *out);
/* The next member of the deployment, in the order of its roles; none at the end. */
noderole_ix plan_next_member(struct plan *p);
void plan_cost(struct plan *p, uint32_t units);

/* ---- plan_stale.c ---- */

/* Records that a noderole of another deployment was read, so that a change of it makes the plan
 * stale. Rows of the deployment itself are always watched. */
void plan_read(struct plan *p, noderole_ix nr);
/* The same for all noderoles of a node: one of them may occupy it, or be resumed on it. */
void plan_read_node(struct plan *p, node_ix n);
/* The same for all ancestors, which staging reads. */
void plan_read_ancestors(struct plan *p, noderole_ix nr);

/* ---- projection.c: executes one unit of a phase; true if the phase is finished ---- */

bool projection_unit(struct plan *p);

/* ---- plan_waves.c ---- */

bool plan_waits(uint8_t state); /* for its run */

/* The first parent that prevents its run, or none; *out_wave is the wave after which the others are
 * ACTIVE. */
noderole_ix plan_blocking_parent(struct plan *p, noderole_ix nr, uint32_t *out_wave);
/* A required attrib of its role that has no value: its run would fail at once. */
attrib_ix plan_missing_attrib(struct plan *p, noderole_ix nr);
bool plan_waves_unit(struct plan *p);
bool plan_count_waves_unit(struct plan *p);
bool plan_order_unit(struct plan *p);

/* ---- plan.c ---- */

void plan_begin_lists(struct plan *p);
bool plan_unit(struct plan *p);
void plan_put_key(struct buf *b, const char *key);
/* "node":1,"node_name":"n1","role":2,"role_name":"dns-server" */
void plan_put_noderole(const struct core *c, struct buf *b, noderole_ix nr);

/* ---- plan_machines.c ---- */

/* The addresses that the run of the noderole configures ("configure"), or that stay allocated
 * without it ("keep"). */
void plan_put_addresses(struct plan *p, noderole_ix nr, const char *how);
/* The power action that the commit of the noderole orders, once for each node. */
void plan_put_power(struct plan *p, noderole_ix nr);

/* ---- plan_summary.c ---- */

enum plan_how { HOW_NOOP, HOW_SKIP, HOW_AGAIN, HOW_RUN, HOW_COUNT };

struct plan_summary *plan_summary_new(struct plan *p);
void summary_commit(struct plan *p, noderole_ix nr);
void summary_role_commit(struct plan *p, deployment_role_ix dr);
void summary_remove(struct plan *p, noderole_ix nr);
void summary_run(struct plan *p, noderole_ix nr, enum plan_how how);
void summary_rerun(struct plan *p, noderole_ix nr, bool is_requested);
void summary_destructive(struct plan *p, noderole_ix nr);
void summary_held(struct plan *p, noderole_ix nr, const char *cause);
void summary_missing(struct plan *p);
/* Writes one of the changed values that the summary shows; true at the end. */
bool summary_values_unit(struct plan *p);
/* Compares the DNS names of one node; true at the end. */
bool summary_names_unit(struct plan *p);
void summary_put_names(const struct plan *p, struct buf *b);
/* {"actions":{...},...} */
void summary_put(struct plan *p, struct buf *b);
