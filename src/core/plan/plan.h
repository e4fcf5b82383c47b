/* plan.h - a plan while it is being made.
 *
 * Making one is a row of phases, each a loop of small units of work, so that it can be stopped
 * after any unit and continued in a later turn. Phases before PHASE_COLLECT imitate the commit in
 * a view (projection.c); from then on the result is read, through the view or, after a real commit,
 * from the rows themselves (plan.c). Everything a plan holds lies in memory of its own, a few tens
 * of bytes for each noderole of the deployment, and lives until core_plan_end().
 * Only files of src/core include this.
 */
#pragma once

#include "base/hash/sha256.h"
#include "core/plan/commit_view.h"

enum plan_phase {
    PHASE_SCAN, /* find what is proposed and what is to be removed */
    PHASE_SORT_ITEMS,
    PHASE_SORT_MARKED,
    PHASE_REMOVE,
    PHASE_ROLES,
    PHASE_COMMIT,
    PHASE_CLUSTERS,
    PHASE_SERVICES,
    PHASE_RERUNS, /* find what a recalled head kept from running again */
    PHASE_SORT_RERUNS,
    PHASE_RESUME,
    PHASE_COLLECT, /* find what waits, what was asked for, what is changed */
    PHASE_SORT_ALL,
    PHASE_SORT_ASKED,
    PHASE_WAVES,
    PHASE_COUNT_WAVES,
    PHASE_ORDER,
    PHASE_CONSENT,
    PHASE_PUT_COMMITS,
    PHASE_PUT_REMOVES,
    PHASE_PUT_RUNS,
    PHASE_PUT_ASKED,
    PHASE_PUT_HELD,
    PHASE_PUT_VALUES,
    PHASE_WRITE,
    PHASE_DONE,
};

enum { WAVE_HELD = 0 }; /* of a noderole that will not start; waves count from 1 */

struct digest {
    uint8_t bytes[32];
};

/* Pages of its own for `count` items; zeroed, and only those that are touched are in memory. */
struct pages {
    void *at;
    size_t size;
};

struct noderoles {
    noderole_ix *items;
    uint32_t count, cap;
    struct pages pages;
};

struct plan_lists {
    struct buf announced, changed, changed_destructive, commits, consent, destructive, held,
        missing, removes, reruns, role_commits, runs, unproposed;
};

/* Children of `parent` that remain to be notified; the last one is worked on first. */
struct fan {
    noderole_ix parent;
    uint32_t next;
    bool is_hold; /* a member joins its cluster; else the parent was lost */
};

/* A merge sort that can be stopped after each block. */
struct sorting_noderoles {
    struct keyed_noderole *from, *to;
    uint32_t width; /* of the sorted runs; 0: blocks are being sorted */
    uint32_t begin; /* of the pair of runs that is merged */
    uint32_t left, right, out;
};

/* Where a walk over the members of a deployment is: the role, then the member of it. */
struct walk_place {
    uint32_t role, member;
};

struct plan_summary;

struct plan {
    struct core *c;
    bool is_projected; /* false: the commit has been done, the rows show it */
    bool is_detailed;  /* the lists are wanted, not the totals alone */
    bool is_too_large; /* the lists were wanted, and are longer than an answer may be */
    bool is_stale;     /* something that it read has changed */
    bool is_registered;
    struct plan *next; /* of core.plans */
    struct arena arena, scratch;
    enum plan_phase phase;
    uint32_t at; /* in the list of the phase */
    struct walk_place place;
    uint32_t units; /* of work left in this slice; a unit is about one row */

    /* The step frame of the commit, kept between slices. */
    struct command command;
    struct outcome out;
    struct problem *last_problem;
    struct ask *last_ask;
    uint32_t problem_count;

    deployment_ix d;
    int64_t seq;
    bool opens, some_wait;
    struct projection view;
    struct fan fans[4];
    uint32_t fan_count;
    struct sorting_noderoles sorting;
    struct pages keys, other_keys;
    struct keyed_noderole *keyed; /* the list that is being collected and sorted */
    uint32_t keyed_count, keyed_cap;
    uint32_t taken; /* so many of them are where they belong */
    bool is_sorted;
    bool *seen_clusters; /* by deployment role */
    deployment_role_ix cluster;

    struct noderoles items, marked, removed, reruns, all, asked, runs;
    deployment_role_ix *roles;
    uint32_t role_count;
    struct pages wave_pages;
    uint32_t *wave; /* by index of noderoles */
    uint32_t last_wave;
    struct pages order_pages;
    uint32_t *next_of_wave;
    uint8_t *role_requires; /* by role: 0 unknown, 1 no required attrib, 2 some */
    uint32_t destroys_count, unproposed_count, changed_count, changed_destructive_count;
    struct sha256 hash, consent;
    struct str hash_text, consent_text;
    struct digest data; /* the newest of hash_with_data, and what it is of */
    doc_h data_of[2];
    bool data_is_known;
    struct plan_lists lists;
    uint32_t lists_max;           /* bytes of all of them */
    struct plan_summary *summary; /* NULL: the commit has been done, and no summary is shown */
    struct str doc, brief_doc;
};

/* ---- plan_job.c ---- */

struct pages plan_pages(size_t size);
void noderoles_add(struct noderoles *list, noderole_ix nr);
/* Collect into `keyed`; then, block by block, sort it. True when it is sorted. */
void plan_key(struct plan *p, noderole_ix nr);
bool plan_sort(struct plan *p);
/* Block by block, move the sorted noderoles to a list of their own. True when all are there. */
bool plan_take_sorted(struct plan *p, struct noderoles *out);
/* The next member of the deployment in the order of its roles; none = that was all. */
noderole_ix plan_next_member(struct plan *p);
/* What was read of others; rows of the deployment itself are watched in any case. */
void plan_read(struct plan *p, noderole_ix nr);
/* The same for all ancestors, which staging reads. */
void plan_read_ancestors(struct plan *p, noderole_ix nr);
void plan_cost(struct plan *p, uint32_t units);

/* ---- projection.c: one unit of a phase; true when the phase is over ---- */

bool projection_unit(struct plan *p);

/* ---- plan_waves.c ---- */

bool plan_waits(uint8_t state); /* for its run */
/* The first parent in the way of its run, or none; *out_wave is when the others are done. */
noderole_ix plan_parent_in_the_way(struct plan *p, noderole_ix nr, uint32_t *out_wave);
/* A required attrib of its role that has no value: its run would be ERROR at once. */
attrib_ix plan_lacks_attrib(struct plan *p, noderole_ix nr);
bool plan_waves_unit(struct plan *p);
bool plan_count_waves_unit(struct plan *p);
bool plan_order_unit(struct plan *p);

/* ---- plan.c ---- */

void plan_begin_lists(struct plan *p);
bool plan_unit(struct plan *p);

/* ---- plan_summary.c ---- */

enum plan_how { HOW_NOOP, HOW_SKIP, HOW_AGAIN, HOW_RUN, HOW_COUNT };

struct plan_summary *plan_summary_new(struct plan *p);
void summary_commit(struct plan *p, noderole_ix nr);
void summary_role_commit(struct plan *p, deployment_role_ix dr);
void summary_remove(struct plan *p, noderole_ix nr);
void summary_run(struct plan *p, noderole_ix nr, enum plan_how how);
void summary_rerun(struct plan *p, noderole_ix nr, bool is_asked);
void summary_destructive(struct plan *p, noderole_ix nr);
void summary_held(struct plan *p, noderole_ix nr, const char *cause);
void summary_missing(struct plan *p);
/* One of the changed values that the summary shows; true when that was all. */
bool summary_values_unit(struct plan *p);
/* {"actions":{...},...} */
void summary_put(struct plan *p, struct buf *b);
