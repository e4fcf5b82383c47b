#include "core/core_private.h"

#include "core/deploy/snapshot_content.h"

/* Values that were stored on a noderole while it was not proposed.
 *
 * A write to the user data of a noderole is stored in its proposed data in every state. A commit
 * publishes the proposed data of noderoles that are PROPOSED, and of no others, so such a value
 * has no effect until the noderole is proposed and committed.
 *
 * This file owns deployment.unproposed, the number of such noderoles, so that a plan or commit of
 * a deployment without any does not search for them. Order: every change of the state, the user
 * data or the deployment of a noderole is enclosed in two calls of unproposed_count(): subtract
 * before, add after. Nothing here fails; a refused step restores the count. */

enum { PATHS_MAX = 20 }; /* paths that are listed for one noderole */

bool noderole_has_unproposed(const struct noderole *nr)
{
    /* Equal documents have the same handle. */
    return nr->state != NODEROLE_PROPOSED && nr->proposed_data != nr->committed_data;
}

void unproposed_count(struct core *c, noderole_ix ix, bool is_more)
{
    const struct noderole *nr = noderole_at(c, ix);
    if (!noderole_has_unproposed(nr))
        return;
    struct deployment *d = deployment_derive(c, nr->deployment);
    d->unproposed = is_more ? d->unproposed + 1 : d->unproposed - 1;
}

uint32_t core_count_unproposed(const struct core *c, int64_t deployment_id)
{
    const deployment_ix d = deployment_by_id(c, deployment_id);
    return d.v ? deployment_at(c, d)->unproposed : 0;
}

/* Writes {"node":1,...,"paths":["a/b"],"role":2,...,"values":[[1,2]]}, preceded by "clipped":true
 * if not all paths are shown. */
void unproposed_put_entry(const struct core *c, noderole_ix ix, struct buf *list)
{
    struct arena scratch = {0};
    const struct noderole *nr = noderole_at(c, ix);
    const struct snapshot_content_changes changes = snapshot_content_compare(
        &scratch, doc_of(c, nr->committed_data), doc_of(c, nr->proposed_data), PATHS_MAX);
    buf_put_z(list, list->at[list->len - 1] == '[' ? "{" : ",{");
    buf_put_z(list, changes.is_clipped ? "\"clipped\":true," : "");
    plan_put_node(c, list, nr->node);
    buf_put_z(list, ",\"paths\":");
    json_write_to(list, changes.paths);
    buf_put_c(list, ',');
    plan_put_role(c, list, nr->role);
    buf_put_z(list, ",\"values\":");
    json_write_to(list, changes.values);
    buf_put_c(list, '}');
    arena_fini(&scratch);
}

static uint32_t unproposed_put_members(const struct core *c, const struct vec *members,
                                       uint32_t most, struct buf *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < members->count; i++) {
        const noderole_ix nr = {vec_at(c, members, i)};
        if (!noderole_has_unproposed(noderole_at(c, nr)))
            continue;
        if (count++ < most)
            unproposed_put_entry(c, nr, list);
    }
    return count;
}

uint32_t unproposed_put(const struct core *c, deployment_ix d, uint32_t most, struct buf *list)
{
    const struct deployment *row = deployment_at(c, d);
    uint32_t found = 0;
    most = row->unproposed < most ? row->unproposed : most;
    for (uint32_t i = 0; i < row->roles.count && found < most; i++) {
        const deployment_role_ix dr = {vec_at(c, &row->roles, i)};
        found +=
            unproposed_put_members(c, &deployment_role_at(c, dr)->noderoles, most - found, list);
    }
    return row->unproposed;
}

uint32_t unproposed_put_node(const struct core *c, node_ix n, uint32_t most, struct buf *list)
{
    return unproposed_put_members(c, &node_at(c, n)->noderoles, most, list);
}
