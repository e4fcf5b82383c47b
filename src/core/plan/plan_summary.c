#include "core/plan/plan.h"

#include "base/json/json.h"
#include "core/deploy/snapshot_content.h"

/* Summary of a plan: totals by action, role and wave, destructive steps, reruns with their
 * reasons, causes of held noderoles, and changed values. This file owns struct plan_summary, which
 * is in the arena of the plan. After a real commit there is none, and the functions do nothing.
 *
 * Order: plan.c counts each noderole in the phase that lists it; the document is written last. Its
 * size is bounded by the number of roles, not by the number of noderoles or the size of documents:
 * identical changes are counted together, and lists end at the limits below. The summary is not
 * part of the hash of a plan.
 *
 * Failure: nothing here fails. What exceeds a limit is left out and contained in the totals;
 * values that are not shown completely have "clipped":true. */

enum {
    WAVES_SHOWN_MAX = 1000,
    VALUES_SHOWN_MAX = 100, /* distinct changes of values */
    PATHS_SHOWN_MAX = 20,   /* paths of one change */
    VALUES_BYTES_MAX =
        256 << 10, /* bytes of all values; after that only roles and counts are shown */
    CAUSES_MAX = 64,
};

/* Why a noderole that has run before is run again. */
enum rerun_reason {
    RERUN_REQUESTED, /* a run of it is enqueued */
    RERUN_CLUSTER,   /* its cluster, or one it depends on, grows */
    RERUN_COMMITTED, /* it was proposed and is committed */
    RERUN_ROLE_DATA, /* values of its role in the deployment change */
    RERUN_WAITING,   /* it waited for its run before the commit */
    RERUN_COUNT
};

struct role_total {
    uint32_t commits, destructive, held, removes;
    uint32_t runs[HOW_COUNT];
    uint32_t reruns[RERUN_COUNT];
};

/* A change of user data. Equal documents have the same handle, so equal changes are recognised. */
struct value_change {
    role_ix role;
    doc_h before, after;
    bool is_of_deployment; /* of the deployment role; false: of a noderole */
    uint32_t count;        /* number of such changes */
};

struct plan_summary {
    struct role_total all;
    struct role_total *roles;     /* by role index */
    uint32_t role_high;           /* highest role index */
    uint32_t role_commits;        /* deployment roles whose data is committed */
    uint32_t missing;             /* noderoles that lack a required attrib */
    uint32_t machines;            /* nodes on which a run starts */
    uint32_t values_count;        /* changes of values, equal ones included */
    uint32_t distinct_values;     /* entries of `values` */
    struct buf values_text;       /* [{...},... */
    uint32_t (*waves)[HOW_COUNT]; /* by wave, up to WAVES_SHOWN_MAX */
    struct value_change values[VALUES_SHOWN_MAX];
    struct cause_total {
        const char *name;
        uint32_t count;
    } causes[CAUSES_MAX];
    uint32_t cause_count;
};

struct plan_summary *plan_summary_new(struct plan *p)
{
    struct plan_summary *s = arena_new(&p->arena, struct plan_summary);
    s->role_high = p->c->tables[TABLE_ROLE].pool.high;
    s->roles = arena_array(&p->arena, struct role_total, s->role_high + 1);
    s->waves = arena_zalloc(&p->arena, (WAVES_SHOWN_MAX + 1) * sizeof *s->waves);
    s->values_text = buf_in(&p->arena);
    buf_put_c(&s->values_text, '[');
    p->names = buf_in(&p->arena);
    buf_put_c(&p->names, '[');
    return s;
}

static struct role_total *summary_role_total(struct plan *p, noderole_ix nr)
{
    return &p->summary->roles[noderole_at(p->c, nr)->role.v];
}

static void summary_note_value(struct plan *p, const struct value_change *change)
{
    struct plan_summary *s = p->summary;
    if (change->before == change->after)
        return;
    s->values_count++;
    for (uint32_t i = 0; i < s->distinct_values; i++) {
        struct value_change *known = &s->values[i];
        if (known->role.v == change->role.v && known->before == change->before &&
            known->after == change->after && known->is_of_deployment == change->is_of_deployment) {
            known->count++;
            return;
        }
    }
    if (s->distinct_values < VALUES_SHOWN_MAX) {
        s->values[s->distinct_values] = *change;
        s->values[s->distinct_values++].count = 1;
    }
}

void summary_commit(struct plan *p, noderole_ix nr)
{
    if (!p->summary)
        return;
    const struct noderole *row = noderole_at(p->c, nr);
    p->summary->all.commits++;
    summary_role_total(p, nr)->commits++;
    summary_note_value(p, &(struct value_change){.role = row->role,
                                                 .before = row->committed_data,
                                                 .after = row->proposed_data});
}

void summary_role_commit(struct plan *p, deployment_role_ix dr)
{
    if (!p->summary)
        return;
    const struct deployment_role *row = deployment_role_at(p->c, dr);
    p->summary->role_commits++;
    summary_note_value(p, &(struct value_change){.role = row->role,
                                                 .before = row->committed_data,
                                                 .after = row->proposed_data,
                                                 .is_of_deployment = true});
}

void summary_remove(struct plan *p, noderole_ix nr)
{
    if (!p->summary)
        return;
    p->summary->all.removes++;
    summary_role_total(p, nr)->removes++;
}

void summary_run(struct plan *p, noderole_ix nr, enum plan_how how)
{
    struct plan_summary *s = p->summary;
    if (!s)
        return;
    uint8_t *node = &p->view.node_flags[noderole_at(p->c, nr)->node.v];
    s->all.runs[how]++;
    summary_role_total(p, nr)->runs[how]++;
    if (p->wave[nr.v] <= WAVES_SHOWN_MAX)
        s->waves[p->wave[nr.v]][how]++;
    s->machines += !(*node & SEEN_NODE_STARTS);
    *node |= SEEN_NODE_STARTS;
}

void summary_rerun(struct plan *p, noderole_ix nr, bool is_requested)
{
    if (!p->summary)
        return;
    const uint8_t flags = p->view.flags[nr.v];
    const enum rerun_reason reason = is_requested                  ? RERUN_REQUESTED
                                     : flags & SEEN_COMMITTED_HERE ? RERUN_COMMITTED
                                     : flags & SEEN_ROLE_DATA      ? RERUN_ROLE_DATA
                                     : flags & SEEN_CLUSTER        ? RERUN_CLUSTER
                                                                   : RERUN_WAITING;
    p->summary->all.reruns[reason]++;
    summary_role_total(p, nr)->reruns[reason]++;
}

void summary_destructive(struct plan *p, noderole_ix nr)
{
    if (!p->summary)
        return;
    p->summary->all.destructive++;
    summary_role_total(p, nr)->destructive++;
}

void summary_held(struct plan *p, noderole_ix nr, const char *cause)
{
    struct plan_summary *s = p->summary;
    uint32_t i = 0;
    if (!s)
        return;
    s->all.held++;
    summary_role_total(p, nr)->held++;
    while (i < s->cause_count && !str_eq(str_from(s->causes[i].name), str_from(cause)))
        i++;
    if (i == s->cause_count && i < CAUSES_MAX)
        s->causes[s->cause_count++].name = cause;
    if (i < CAUSES_MAX)
        s->causes[i].count++;
}

void summary_missing(struct plan *p)
{
    if (p->summary)
        p->summary->missing++;
}

/* ---- document: members in alphabetical order ---- */

static void summary_put_count(struct buf *b, const char *key, uint64_t count)
{
    if (b->at[b->len - 1] != '{')
        buf_put_c(b, ',');
    buf_put_c(b, '"');
    buf_put_z(b, key);
    buf_put_z(b, "\":");
    buf_put_u64(b, count);
}

static void summary_put_comma(struct buf *b)
{
    if (b->at[b->len - 1] != '[')
        buf_put_c(b, ',');
}

static uint32_t summary_count_reruns(const struct role_total *t)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < RERUN_COUNT; i++)
        count += t->reruns[i];
    return count;
}

static void summary_put_actions(const struct plan *p, struct buf *b)
{
    const struct role_total *t = &p->summary->all;
    buf_put_z(b, "\"actions\":{");
    summary_put_count(b, "again", t->runs[HOW_AGAIN]);
    summary_put_count(b, "commit", t->commits);
    summary_put_count(b, "commit_role", p->summary->role_commits);
    summary_put_count(b, "destroy", p->destroys_count);
    summary_put_count(b, "hold", t->held);
    summary_put_count(b, "noop", t->runs[HOW_NOOP]);
    summary_put_count(b, "remove", t->removes);
    summary_put_count(b, "rerun", summary_count_reruns(t));
    summary_put_count(b, "run", t->runs[HOW_RUN]);
    summary_put_count(b, "skip", t->runs[HOW_SKIP]);
    buf_put_c(b, '}');
}

static void summary_put_destructive(const struct plan *p, struct buf *b)
{
    buf_put_z(b, ",\"destructive\":[");
    for (uint32_t ix = 1; ix <= p->summary->role_high; ix++) {
        const struct role_total *t = &p->summary->roles[ix];
        if (!t->destructive)
            continue;
        const doc_h announces = role_at(p->c, (role_ix){ix})->announces;
        summary_put_comma(b);
        buf_put_c(b, '{');
        summary_put_count(b, "count", t->destructive);
        buf_put_c(b, ',');
        plan_put_role(p->c, b, (role_ix){ix});
        buf_put_z(b, ",\"steps\":");
        buf_put_str(b, announces ? text_of(p->c, announces) : STR("[]"));
        buf_put_c(b, '}');
    }
    buf_put_c(b, ']');
}

static void summary_put_held(const struct plan *p, struct buf *b)
{
    buf_put_z(b, ",\"held\":[");
    for (uint32_t i = 0; i < p->summary->cause_count; i++) {
        summary_put_comma(b);
        buf_put_z(b, "{\"cause\":");
        json_write_string(b, str_from(p->summary->causes[i].name));
        summary_put_count(b, "count", p->summary->causes[i].count);
        buf_put_c(b, '}');
    }
    buf_put_c(b, ']');
}

static void summary_put_reruns(const struct plan *p, struct buf *b)
{
    static const char *const names[RERUN_COUNT] = {[RERUN_REQUESTED] = "asked",
                                                   [RERUN_CLUSTER] = "cluster",
                                                   [RERUN_COMMITTED] = "committed",
                                                   [RERUN_ROLE_DATA] = "role_data",
                                                   [RERUN_WAITING] = "waiting"};
    buf_put_z(b, ",\"reruns\":[");
    for (uint32_t ix = 1; ix <= p->summary->role_high; ix++)
        for (uint32_t reason = 0; reason < RERUN_COUNT; reason++) {
            if (!p->summary->roles[ix].reruns[reason])
                continue;
            summary_put_comma(b);
            buf_put_c(b, '{');
            summary_put_count(b, "count", p->summary->roles[ix].reruns[reason]);
            buf_put_z(b, ",\"reason\":\"");
            buf_put_z(b, names[reason]);
            buf_put_z(b, "\",");
            plan_put_role(p->c, b, (role_ix){ix});
            buf_put_c(b, '}');
        }
    buf_put_c(b, ']');
}

static bool summary_role_is_used(const struct role_total *t)
{
    return t->commits || t->held || t->removes || summary_count_reruns(t) || t->runs[HOW_AGAIN] ||
           t->runs[HOW_NOOP] || t->runs[HOW_RUN] || t->runs[HOW_SKIP];
}

static void summary_put_roles(const struct plan *p, struct buf *b)
{
    buf_put_z(b, ",\"roles\":[");
    for (uint32_t ix = 1; ix <= p->summary->role_high; ix++) {
        const struct role_total *t = &p->summary->roles[ix];
        if (!summary_role_is_used(t))
            continue;
        summary_put_comma(b);
        buf_put_c(b, '{');
        summary_put_count(b, "again", t->runs[HOW_AGAIN]);
        summary_put_count(b, "commit", t->commits);
        summary_put_count(b, "hold", t->held);
        summary_put_count(b, "noop", t->runs[HOW_NOOP]);
        summary_put_count(b, "remove", t->removes);
        summary_put_count(b, "rerun", summary_count_reruns(t));
        buf_put_c(b, ',');
        plan_put_role(p->c, b, (role_ix){ix});
        summary_put_count(b, "run", t->runs[HOW_RUN]);
        summary_put_count(b, "skip", t->runs[HOW_SKIP]);
        buf_put_c(b, '}');
    }
    buf_put_c(b, ']');
}

/* Writes {"count":1,"paths":["a/b"],"role":2,...,"scope":"noderole","values":[[1,2]]}, preceded by
 * "clipped":true if not all is shown. */
static void summary_put_value(struct plan *p, struct buf *b, const struct value_change *v)
{
    const struct core *c = p->c;
    const struct arena_mark mark = arena_mark(&p->scratch);
    const bool is_full = b->len > VALUES_BYTES_MAX;
    const struct str before = is_full ? STR("{}") : doc_of(c, v->before);
    const struct str after = is_full ? STR("{}") : doc_of(c, v->after);
    const struct snapshot_content_changes changes =
        snapshot_content_compare(&p->scratch, before, after, PATHS_SHOWN_MAX);
    plan_cost(p, (before.len + after.len) / 64);
    summary_put_comma(b);
    buf_put_z(b, is_full || changes.is_clipped ? "{\"clipped\":true" : "{");
    summary_put_count(b, "count", v->count);
    buf_put_z(b, ",\"paths\":");
    json_write_to(b, changes.paths);
    buf_put_c(b, ',');
    plan_put_role(c, b, v->role);
    buf_put_z(b, v->is_of_deployment ? ",\"scope\":\"deployment\"" : ",\"scope\":\"noderole\"");
    buf_put_z(b, ",\"values\":");
    json_write_to(b, changes.values);
    buf_put_c(b, '}');
    arena_rewind(&p->scratch, mark);
}

bool summary_values_unit(struct plan *p)
{
    if (!p->summary || p->at == p->summary->distinct_values)
        return true;
    summary_put_value(p, &p->summary->values_text, &p->summary->values[p->at++]);
    return false;
}

static void summary_put_values(const struct plan *p, struct buf *b)
{
    buf_put_z(b, ",\"values\":");
    buf_put_str(b, buf_str(&p->summary->values_text));
    buf_put_c(b, ']');
    summary_put_count(b, "values_count", p->summary->values_count);
}

static void summary_put_waves(const struct plan *p, struct buf *b)
{
    buf_put_z(b, ",\"waves\":[");
    for (uint32_t w = 1; w <= p->last_wave && w <= WAVES_SHOWN_MAX; w++) {
        const uint32_t *runs = p->summary->waves[w];
        summary_put_comma(b);
        buf_put_c(b, '{');
        summary_put_count(b, "again", runs[HOW_AGAIN]);
        summary_put_count(b, "noop", runs[HOW_NOOP]);
        summary_put_count(b, "run", runs[HOW_RUN]);
        summary_put_count(b, "skip", runs[HOW_SKIP]);
        summary_put_count(b, "wave", w);
        buf_put_c(b, '}');
    }
    buf_put_c(b, ']');
    summary_put_count(b, "waves_count", p->last_wave);
}

void summary_put(struct plan *p, struct buf *b)
{
    buf_put_c(b, '{');
    summary_put_actions(p, b);
    summary_put_count(b, "changed", p->changed_count);
    summary_put_count(b, "changed_destructive", p->changed_destructive_count);
    summary_put_destructive(p, b);
    summary_put_held(p, b);
    summary_put_count(b, "machines", p->summary->machines);
    summary_put_count(b, "missing", p->summary->missing);
    summary_put_names(p, b);
    summary_put_count(b, "power", p->power_count);
    summary_put_reruns(p, b);
    summary_put_roles(p, b);
    summary_put_count(b, "unproposed", p->unproposed_count);
    summary_put_values(p, b);
    summary_put_waves(p, b);
    buf_put_c(b, '}');
}
