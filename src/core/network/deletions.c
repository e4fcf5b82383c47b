#include "core/network/network_private.h"

/* Networks and DNS name filters that are deleted in slices (ADR 0085).
 *
 * A network or filter with more than core.deletion_rows dependent rows is marked by its command, in
 * the stored field `deleting`. Annealing steps then remove its dependent rows, at most that many in
 * a step, and at last the row itself. The marked rows are listed in
 * vars.deleting_networks and vars.deleting_filters, which a load makes again, so a deletion
 * continues after a restart.
 *
 * Order: networks first, each list by id, one object at a time. What a marked object must not get
 * any more (allocations, leases, ranges, names, noderoles of its roles) is refused by the commands.
 *
 * Failure: a removal refuses only if the outbox is full; the annealing step is rolled back then and
 * repeated when a hook has a result. */

bool deletion_goes_on(const struct core *c, const struct deletion *d)
{
    return d->left && c->dirty.count < d->until && !refused(c);
}

void deletion_count(struct deletion *d, uint32_t rows)
{
    d->left -= rows < d->left ? rows : d->left;
}

bool deletions_are_pending(const struct core *c)
{
    return c->vars.deleting_networks.count || c->vars.deleting_filters.count;
}

void deletions_step(struct core *c, uint32_t until)
{
    struct deletion d = {.left = c->deletion_rows, .until = until};
    if (c->vars.deleting_networks.count)
        network_delete_some(c, (network_ix){vec_at(c, &c->vars.deleting_networks, 0)}, &d);
    else
        dns_name_filter_delete_some(
            c, (dns_name_filter_ix){vec_at(c, &c->vars.deleting_filters, 0)}, &d);
}

void deletions_index(struct core *c, enum table table, uint32_t ix)
{
    struct vars *vars = vars_edit(c);
    ids_insert(c, table == TABLE_NETWORK ? &vars->deleting_networks : &vars->deleting_filters,
               table, ix);
}

bool network_refuse_deleting(struct core *c, network_ix w, struct str field)
{
    if (network_at(c, w)->deleting)
        refuse(c, PROBLEM_BEING_DELETED, field,
               STR_CONCAT(c->arena, STR("network "), text_of(c, network_at(c, w)->name),
                          STR(" is being deleted")));
    return network_at(c, w)->deleting;
}

/* The lists have exactly the marked rows. */
const char *deletions_check(const struct core *c)
{
    static const char *const wrong =
        "C20: a network or DNS name filter is marked as being deleted and not listed, or reversed";
    const struct pool *networks = &c->tables[TABLE_NETWORK].pool;
    const struct pool *filters = &c->tables[TABLE_DNS_NAME_FILTER].pool;
    uint32_t marked_networks = 0, marked_filters = 0;
    for (uint32_t ix = pool_next(networks, 0); ix; ix = pool_next(networks, ix)) {
        if (!network_at(c, (network_ix){ix})->deleting)
            continue;
        marked_networks++;
        if (!ids_has(c, &c->vars.deleting_networks, TABLE_NETWORK, ix))
            return wrong;
    }
    for (uint32_t ix = pool_next(filters, 0); ix; ix = pool_next(filters, ix)) {
        if (!dns_name_filter_at(c, (dns_name_filter_ix){ix})->deleting)
            continue;
        marked_filters++;
        if (!ids_has(c, &c->vars.deleting_filters, TABLE_DNS_NAME_FILTER, ix))
            return wrong;
    }
    return marked_networks == c->vars.deleting_networks.count &&
                   marked_filters == c->vars.deleting_filters.count
               ? NULL
               : wrong;
}
