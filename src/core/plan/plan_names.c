#include "core/plan/plan.h"

#include "base/json/json.h"
#include "core/network/network_private.h"

/* DNS names in the summary of a plan: those that the commit adds, changes or removes, because a
 * filter tests a value or a role of a node that the commit changes. Nothing is kept but the text of
 * the list.
 *
 * Order: the nodes of committed noderoles come first, then those of removed noderoles, then the
 * members of roles whose data is committed; each node once. Names are compared when the view is
 * complete, and before the document is written.
 *
 * Failure: nothing here fails. Names beyond the limit are only counted. */

enum { NAMES_SHOWN_MAX = 100 };

/* Writes {"address":"10.0.0.5/24","filter":"f","from":"a","node":1,"node_name":"n1","to":"b"};
 * `from` and `to` are null if there is no name. */
static void names_put_change(void *self, const struct dns_name_change *change)
{
    struct plan *p = self;
    const struct core *c = p->c;
    const struct network_allocation *row = network_allocation_at(c, change->allocation);
    struct buf *b = &p->names;
    p->names_count++;
    if (p->names_count > NAMES_SHOWN_MAX)
        return;
    buf_put_z(b, p->names_count > 1 ? ",{\"address\":" : "{\"address\":");
    json_write_string(b, text_of(c, row->address));
    buf_put_z(b, ",\"filter\":");
    json_write_string(b, text_of(c, dns_name_filter_at(c, change->filter)->name));
    buf_put_z(b, ",\"from\":");
    if (change->before.len)
        json_write_string(b, change->before);
    else
        buf_put_z(b, "null");
    buf_put_c(b, ',');
    plan_put_node(c, b, row->node);
    buf_put_z(b, ",\"to\":");
    if (change->after.len)
        json_write_string(b, change->after);
    else
        buf_put_z(b, "null");
    buf_put_c(b, '}');
}

/* The noderoles of the node are read, because their data may be tested. */
static void names_compare_node(struct plan *p, noderole_ix nr)
{
    const node_ix n = noderole_at(p->c, nr)->node;
    plan_read(p, nr);
    if (p->is_stale || p->view.node_flags[n.v] & SEEN_NODE_NAMED)
        return;
    p->view.node_flags[n.v] |= SEEN_NODE_NAMED;
    if (!node_at(p->c, n)->allocations.count)
        return;
    plan_read_node(p, n);
    if (!p->is_stale)
        plan_cost(p, dns_names_compare(p->c, n, &p->scratch, names_put_change, p));
}

/* The next member of a role whose data is committed; none at the end. */
static noderole_ix names_next_member(struct plan *p)
{
    while (p->position.role < p->role_count) {
        const struct vec *members =
            &deployment_role_at(p->c, p->roles[p->position.role])->noderoles;
        if (p->position.member < members->count)
            return (noderole_ix){vec_at(p->c, members, p->position.member++)};
        p->position = (struct walk_position){.role = p->position.role + 1};
    }
    return (noderole_ix){0};
}

bool summary_names_unit(struct plan *p)
{
    noderole_ix nr;
    if (!p->summary || !(p->c->vars.name_needs & (NAMES_NEED_ROLES | NAMES_NEED_ROLE_DATA)))
        return true;
    if (p->at < p->items.count)
        nr = p->items.items[p->at++];
    else if (p->at < p->items.count + p->removed.count)
        nr = p->removed.items[p->at++ - p->items.count];
    else
        nr = names_next_member(p);
    if (nr.v)
        names_compare_node(p, nr);
    return !nr.v;
}

void summary_put_names(const struct plan *p, struct buf *b)
{
    buf_put_z(b, ",\"names\":");
    buf_put_str(b, buf_str(&p->names));
    buf_put_z(b, "],\"names_count\":");
    buf_put_u64(b, p->names_count);
}
