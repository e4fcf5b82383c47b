#include "core/core_private.h"

#include "core/data/data.h"
#include "core/deploy/snapshot_content.h"
#include "model/limits.h"

/* Revert: proposes the content of an older snapshot (ADR 0011). Its data is proposed again,
 * noderoles that it lacks get the removal mark, which makes the next commit remove them, and
 * noderoles that are missing are bound. Destructive roles are not bound automatically; they are
 * listed as skipped. The file owns no rows; nothing takes effect before the commit.
 *
 * Order: the head is proposed first, which is refused for the system deployment.
 * Removals are determined before anything is bound: noderoles that a bind creates as parents are
 * not in the snapshot either, but must stay. Data is proposed last, when all members exist.
 *
 * Failure: members whose node or role does not exist any more, and the like, are listed as
 * skipped. A noderole outside of the snapshot on which others depend refuses the revert, and the
 * step is rolled back. The outcome lists what was bound, removed and skipped. */

struct revert {
    deployment_ix d;
    struct snapshot_content content;
    bool *is_removed; /* by noderole index: marked for removal */
    struct json *bound, *removed, *skipped;
};

static struct json *revert_pair(struct core *c, int64_t node_id, int64_t role_id)
{
    struct json *o = json_make(c->arena, JSON_OBJECT);
    json_set(o, STR("node"), json_make_i64(c->arena, node_id));
    json_set(o, STR("role"), json_make_i64(c->arena, role_id));
    return o;
}

static void revert_skip(struct core *c, struct revert *r,
                        const struct snapshot_content_entry *entry, const char *why)
{
    struct json *o = revert_pair(c, entry->node_id, entry->role_id);
    json_set(o, STR("why"), json_make_string(c->arena, str_from(why)));
    json_append(r->skipped, o);
}

/* ---- removals ---- */

static bool revert_any_noderole(const struct noderole *nr)
{
    return nr != NULL;
}

/* Marks a noderole of this deployment for removal by the next commit. A descendant in another
 * deployment gets no mark, since it is removed together with the noderole it depends on; both are
 * listed. */
static void revert_mark_removal(struct core *c, struct revert *r, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    r->is_removed[ix.v] = true;
    if (nr->deployment.v == r->d.v)
        noderole_mark_removing(c, ix, true);
    json_append(r->removed, revert_pair(c, node_at(c, nr->node)->o.id, role_at(c, nr->role)->o.id));
}

/* Descendants that are in the snapshot or in other deployments: they are removed too if the
 * deletion rules allow it (ADR 0022), otherwise the revert is refused. */
static void revert_check_dependants(struct core *c, struct revert *r, noderole_ix nr)
{
    uint32_t count;
    const noderole_ix *below = graph_descendants(c, nr, c->arena, &count);
    bool same_node = true, never_ran = true;
    noderole_ix foreign = {0};
    for (uint32_t i = 0; i < count; i++) {
        const struct noderole *row = noderole_at(c, below[i]);
        if (r->is_removed[below[i].v])
            continue;
        never_ran &= row->state == NODEROLE_PROPOSED && row->run_count == 0;
        if (row->node.v != noderole_at(c, nr)->node.v) {
            same_node = false;
            foreign = below[i];
        }
    }
    if (!same_node && !never_ran) {
        refuse(c, PROBLEM_HAS_DEPENDANTS, STR("seq"),
               STR_CONCAT(c->arena, noderole_label(c, foreign, c->arena), STR(" depends on "),
                          noderole_label(c, nr, c->arena), STR(", which is not in the snapshot")));
        return;
    }
    /* All on one node, or none has run: they are removed with the noderole. */
    for (uint32_t i = 0; i < count; i++)
        if (!r->is_removed[below[i].v])
            revert_mark_removal(c, r, below[i]);
}

static bool revert_mark_removals(struct core *c, struct revert *r)
{
    uint32_t count;
    const noderole_ix *all = deployment_select(c, r->d, revert_any_noderole, UINT32_MAX, &count);
    r->is_removed = arena_array(c->arena, bool, c->tables[TABLE_NODEROLE].pool.high + 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct noderole *nr = noderole_at(c, all[i]);
        const int64_t node_id = node_at(c, nr->node)->o.id, role_id = role_at(c, nr->role)->o.id;
        if (snapshot_content_find(&r->content.members, node_id, role_id))
            noderole_mark_removing(c, all[i], false);
        else
            revert_mark_removal(c, r, all[i]);
    }
    for (uint32_t i = 0; i < count; i++)
        if (r->is_removed[all[i].v])
            revert_check_dependants(c, r, all[i]);
    return !refused(c);
}

/* ---- bindings ---- */

static void revert_bind_member(struct core *c, struct revert *r,
                               const struct snapshot_content_entry *entry)
{
    const node_ix n = node_by_id(c, entry->node_id);
    const role_ix role = role_by_id(c, entry->role_id);
    const noderole_ix there = n.v && role.v ? noderole_find(c, n, role) : (noderole_ix){0};
    if (!n.v)
        revert_skip(c, r, entry, "the node does not exist any more");
    else if (!role.v)
        revert_skip(c, r, entry, "the role does not exist any more");
    else if (there.v && noderole_at(c, there)->deployment.v != r->d.v)
        revert_skip(c, r, entry, "the role is on the node in another deployment");
    else if (there.v)
        return;
    else if (role_at(c, role)->flags & ROLE_WITHDRAWN)
        revert_skip(c, r, entry, "the role is no longer in its barclamp");
    else if (role_at(c, role)->flags & ROLE_DESTRUCTIVE)
        revert_skip(c, r, entry, "the role is destructive: bind it by hand");
    else {
        authority_touch(c, node_at(c, n)->deployment); /* as a bind on that node requires */
        if (bind_role(c, role, n, r->d, STR("")).v)
            json_append(r->bound, revert_pair(c, entry->node_id, entry->role_id));
    }
}

/* ---- data ---- */

static struct str revert_data_of(struct core *c, const struct revert *r, int64_t node_id,
                                 int64_t role_id)
{
    const struct snapshot_content_entry *entry =
        snapshot_content_find(&r->content.data, node_id, role_id);
    const struct str data = entry ? json_write(c->arena, entry->data) : STR("{}");
    if (data.len > DOC_MAX)
        refuse(c, PROBLEM_BAD_TEXT, STR("content"), STR("is longer than a document may be"));
    return data;
}

static void revert_propose_data(struct core *c, const struct revert *r, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    const int64_t node_id = node_at(c, nr->node)->o.id, role_id = role_at(c, nr->role)->o.id;
    if (!snapshot_content_find(&r->content.members, node_id, role_id))
        return; /* marked for removal, or bound as a parent */
    const bool proposed = nr->state == NODEROLE_PROPOSED;
    const struct str wanted = revert_data_of(c, r, node_id, role_id);
    if (str_eq(wanted, doc_of(c, proposed ? nr->proposed_data : nr->committed_data)))
        return;
    noderole_propose(c, ix);
    noderole_set_data(c, ix, wanted);
}

static void revert_propose_all_data(struct core *c, struct revert *r)
{
    for (uint32_t i = 0; i < deployment_at(c, r->d)->roles.count; i++) {
        const deployment_role_ix ix = {vec_at(c, &deployment_at(c, r->d)->roles, i)};
        const struct deployment_role *dr = deployment_role_at(c, ix);
        const struct str wanted = revert_data_of(c, r, 0, role_at(c, dr->role)->o.id);
        const struct str now = doc_of(c, dr->proposed ? dr->proposed_data : dr->committed_data);
        if (!str_eq(wanted, now))
            deployment_role_set_data(c, ix, wanted);
    }
    uint32_t count;
    const noderole_ix *all = deployment_select(c, r->d, revert_any_noderole, UINT32_MAX, &count);
    for (uint32_t i = 0; i < count; i++)
        revert_propose_data(c, r, all[i]);
}

/* Lists data of roles that do not exist or are not in the deployment any more. Members were listed
 * by revert_bind_member(). */
static void revert_list_lost_data(struct core *c, struct revert *r)
{
    for (uint32_t i = 0; i < r->content.data.count; i++) {
        const struct snapshot_content_entry *entry = &r->content.data.items[i];
        const role_ix role = role_by_id(c, entry->role_id);
        if (entry->node_id == 0 && !role.v)
            revert_skip(c, r, entry, "the role does not exist any more");
        else if (entry->node_id == 0 && !deployment_role_find(c, r->d, role).v)
            revert_skip(c, r, entry, "the role is not in the deployment any more");
    }
}

/* ---- command ---- */

static void revert_check(struct core *c, const struct deployment_revert_command *p,
                         struct revert *r)
{
    r->d = deployment_by_id(c, p->id);
    if (!r->d.v) {
        refuse_missing(c, "id", "deployment", p->id);
        return;
    }
    if (p->seq < 1 || p->seq > snapshot_at(c, deployment_at(c, r->d)->head)->seq)
        refuse(c, PROBLEM_NOT_FOUND, STR("seq"),
               STR_CONCAT(c->arena, STR("the deployment has no snapshot "),
                          str_from_i64(c->arena, p->seq)));
    if (!snapshot_content_read(c->arena, p->content, &r->content))
        refuse(c, PROBLEM_BAD_JSON, STR("content"), STR("is not the content of a snapshot"));
}

void do_deployment_revert(struct core *c, const struct deployment_revert_command *p)
{
    struct revert r = {.bound = json_make(c->arena, JSON_ARRAY),
                       .removed = json_make(c->arena, JSON_ARRAY),
                       .skipped = json_make(c->arena, JSON_ARRAY)};
    c->out->id = p->id;
    revert_check(c, p, &r);
    if (refused(c) || !deployment_propose(c, r.d, STR("")))
        return;
    /* Before anything is bound: noderoles that a bind creates must not be marked. */
    if (!revert_mark_removals(c, &r))
        return;
    for (uint32_t i = 0; i < r.content.members.count && !refused(c); i++)
        revert_bind_member(c, &r, &r.content.members.items[i]);
    if (refused(c))
        return;
    revert_propose_all_data(c, &r);
    revert_list_lost_data(c, &r);
    struct json *doc = json_make(c->arena, JSON_OBJECT);
    json_set(doc, STR("bound"), r.bound);
    json_set(doc, STR("removed"), r.removed);
    json_set(doc, STR("skipped"), r.skipped);
    c->out->doc = json_write(c->arena, doc);
}
