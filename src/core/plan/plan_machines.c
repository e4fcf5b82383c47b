#include "base/json/json.h"
#include "core/plan/plan.h"

/* Lists of a plan about machines: their addresses, and those that the commit switches on, with what
 * they then boot. The file owns these two lists. No hash covers them: binding has allocated the
 * addresses, and whether a machine is on does not change what its noderoles do. Nothing is refused.
 */

/* Binding has allocated the addresses already: a commit puts them into effect on the machine, and
 * an address whose noderole is removed stays allocated. */
void plan_put_addresses(struct plan *p, noderole_ix nr, const char *how)
{
    const struct core *c = p->c;
    const int64_t network_id = role_at(c, noderole_at(c, nr)->role)->network_id;
    const struct vec *all = &node_at(c, noderole_at(c, nr)->node)->allocations;
    struct buf *list = &p->lists.addresses;
    for (uint32_t i = 0; network_id && p->is_detailed && i < all->count; i++) {
        const struct network_allocation *row =
            network_allocation_at(c, (network_allocation_ix){vec_at(c, all, i)});
        const struct network *network = network_at(c, row->network);
        if (network->o.id != network_id)
            continue;
        buf_put_z(list, list->at[list->len - 1] == '[' ? "{" : ",{");
        plan_put_key(list, "address");
        json_write_string(list, text_of(c, row->address));
        buf_put_z(list, ",\"how\":\"");
        buf_put_z(list, how);
        buf_put_z(list, "\",\"network\":");
        buf_put_i64(list, network_id);
        buf_put_z(list, ",\"network_name\":");
        json_write_string(list, text_of(c, network->name));
        buf_put_c(list, ',');
        plan_put_noderole(c, list, nr);
        buf_put_c(list, '}');
    }
}

/* In a dry step the order was made in this very step. */
static bool plan_switches_on(const struct plan *p, node_ix n)
{
    return p->is_projected ? view_node_flags(p->c, n) & SEEN_NODE_POWER
                           : node_at(p->c, n)->power_step == p->c->step_number;
}

/* {"action":"on","bootenv":"sledgehammer","node":1,"node_name":"n1"} */
void plan_put_power(struct plan *p, noderole_ix nr)
{
    const struct core *c = p->c;
    const node_ix n = noderole_at(c, nr)->node;
    struct buf *list = &p->lists.power;
    if (!plan_switches_on(p, n) || (p->powered && p->powered[n.v]))
        return;
    if (!p->powered)
        p->powered = arena_array(&p->arena, bool, c->tables[TABLE_NODE].pool.high + (size_t)1);
    p->powered[n.v] = true;
    p->power_count++;
    if (!p->is_detailed)
        return;
    buf_put_z(list, list->len > 1 ? ",{\"action\":\"on\"," : "{\"action\":\"on\",");
    plan_put_key(list, "bootenv");
    json_write_string(list, text_of(c, node_at(c, n)->bootenv));
    buf_put_c(list, ',');
    plan_put_node(c, list, n);
    buf_put_c(list, '}');
}
