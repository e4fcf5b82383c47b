/* commit_view.h - the core as it would be after a commit that was not executed. Included by files
 * of src/core only.
 *
 * A plan is computed over many turns and does not change the core. What the commit would write is
 * kept in a view: one byte of state and one of flags for each noderole, one of flags for each node,
 * and rules for the rest (documents, the head, the phantom node). While a slice of a plan is
 * computed, core.view points to the view, and the functions below return values as if the commit
 * had been executed. At all other times core.view is NULL and they read the rows. */
#pragma once

#include "core/core_private.h"

enum { STATE_REMOVED = 0xfe }; /* state of a noderole that the commit removes */

enum seen_flag {
    SEEN_COMMITTED_HERE = 1 << 0, /* the commit commits it */
    SEEN_ROLE_DATA = 1 << 1,      /* the data of its role changes */
    SEEN_CLUSTER = 1 << 2,        /* its cluster, or one it depends on, grows */
    SEEN_ENQUEUED = 1 << 3,       /* the commit enqueues a run of it */
    SEEN_DROPPED = 1 << 4,        /* the commit removes its enqueued run */
    SEEN_RERUN = 1 << 5,          /* the commit sets its rerun mark */
    SEEN_READ = 1 << 6,           /* of another deployment, and was read */
};

enum seen_node_flag {
    SEEN_NODE_READ = 1 << 0,
    SEEN_NODE_POWER = 1 << 1,    /* the commit switches it on */
    SEEN_NODE_RELEASED = 1 << 2, /* it is not held at a target any more */
    SEEN_NODE_FAILED = 1 << 3,   /* a noderole of it changes to ERROR */
    SEEN_NODE_QUEUED = 1 << 4,   /* a run is enqueued on it */
    SEEN_NODE_STARTS = 1 << 5,   /* a run starts on it; for the summary */
    SEEN_NODE_NAMED = 1 << 6,    /* its DNS names were compared; for the summary */
};

struct projection {
    deployment_ix d;           /* the deployment that is committed: its head counts as committed */
    bool has_documents;        /* proposed documents count as committed */
    bool has_services;         /* the phantom node of the deployment counts as available */
    bool has_read_boots;       /* the state of every noderole that serves boots was read */
    uint8_t *state;            /* by noderole: 0 = as in its row, otherwise 1 + the state */
    uint8_t *flags;            /* by noderole */
    uint8_t *node_flags;       /* by node */
    uint8_t *role_reads;       /* by deployment role of other deployments: its data was read */
    uint8_t *deployment_reads; /* by deployment: a noderole of it was read */
    uint32_t noderoles, nodes, roles, deployments; /* sizes of the arrays */
    const struct failure **failures; /* by noderole: why it changes to ERROR; NULL: none does */
    noderole_ix *enqueued;           /* in the order of the ids of their runs */
    uint32_t enqueued_count, enqueued_cap;
};

/* Rows that were created after the view have no entry and are read from their row. A plan that
 * could depend on them is stale (plan_stale.c). */
static inline bool view_has_noderole(const struct core *c, noderole_ix nr)
{
    return c->view && nr.v < c->view->noderoles;
}

static inline uint8_t view_state(const struct core *c, noderole_ix nr)
{
    const uint8_t seen = view_has_noderole(c, nr) ? c->view->state[nr.v] : 0;
    return seen ? (uint8_t)(seen - 1) : noderole_at(c, nr)->state;
}

static inline uint8_t view_flags(const struct core *c, noderole_ix nr)
{
    return view_has_noderole(c, nr) ? c->view->flags[nr.v] : 0;
}

static inline uint8_t view_node_flags(const struct core *c, node_ix n)
{
    return c->view && n.v < c->view->nodes ? c->view->node_flags[n.v] : 0;
}

/* True if a noderole of the node may be in the state. The counts of the node do not include changes
 * of the view. */
static inline bool view_may_have(const struct core *c, node_ix n, enum noderole_state state)
{
    return node_at(c, n)->counts[state] ||
           (c->view && (state != NODEROLE_ERROR || view_node_flags(c, n) & SEEN_NODE_FAILED));
}

static inline bool view_is_committed(const struct core *c, deployment_ix d)
{
    return deployment_at(c, d)->committed || (c->view && c->view->d.v == d.v);
}

static inline bool view_is_available(const struct core *c, node_ix n)
{
    return node_at(c, n)->available ||
           (c->view && c->view->has_services && deployment_at(c, c->view->d)->phantom.v == n.v);
}

static inline bool view_is_held_back(const struct core *c, noderole_ix nr)
{
    const struct noderole *row = noderole_at(c, nr);
    return row->unavailable && !(view_node_flags(c, row->node) & SEEN_NODE_RELEASED);
}

static inline bool view_is_rerun(const struct core *c, noderole_ix nr)
{
    return noderole_at(c, nr)->rerun || view_flags(c, nr) & SEEN_RERUN;
}

static inline bool view_is_queued(const struct core *c, noderole_ix nr)
{
    const uint8_t flags = view_flags(c, nr);
    return flags & SEEN_ENQUEUED || (noderole_at(c, nr)->queued.v && !(flags & SEEN_DROPPED));
}

/* Why the commit changes the noderole to ERROR. NULL: it does not, and its row has the reason. */
static inline const struct failure *view_failure(const struct core *c, noderole_ix nr)
{
    return view_has_noderole(c, nr) && c->view->failures ? c->view->failures[nr.v] : NULL;
}

/* The user data that is in force. */
static inline doc_h view_noderole_data(const struct core *c, const struct noderole *nr)
{
    const bool counts = c->view && c->view->has_documents && c->view->d.v == nr->deployment.v &&
                        nr->state == NODEROLE_PROPOSED;
    return counts ? nr->proposed_data : nr->committed_data;
}

static inline doc_h view_role_data(const struct core *c, const struct deployment_role *dr)
{
    const bool counts =
        c->view && c->view->has_documents && c->view->d.v == dr->deployment.v && dr->proposed;
    return counts ? dr->proposed_data : dr->committed_data;
}
