#include "core/network/network_private.h"

/* Why addresses of a node have no DNS name: the filters that match them and give none, because the
 * result is no DNS name or the DNS service of the filter does not exist. Everything is evaluated
 * for the query, so the result is that of the rows as they are now, also while entries are still to
 * be made. The file owns no state, changes nothing, and no function has to be called before. A node
 * that does not exist has no causes. */

/* "filter `rack` gives 192.168.124.81 of network `admin` no name: " */
static struct str why_name_head(const struct core *c, const struct name_fault *fault,
                                struct arena *a)
{
    const struct network_allocation *row = network_allocation_at(c, fault->allocation);
    return STR_CONCAT(a, STR("filter `"), text_of(c, dns_name_filter_at(c, fault->filter)->name),
                      STR("` gives "), ip_format_address(a, row->at.ip), STR(" of network `"),
                      text_of(c, network_at(c, row->network)->name), STR("` no name: "));
}

static struct cause why_name_cause(const struct core *c, const struct name_fault *fault,
                                   struct arena *a)
{
    const struct dns_name_filter *filter = dns_name_filter_at(c, fault->filter);
    const struct network_allocation *row = network_allocation_at(c, fault->allocation);
    const struct str head = why_name_head(c, fault, a);
    struct cause cause = {.object = TABLE_DNS_NAME_FILTER, .object_id = filter->o.id};
    if (!fault->wrong) {
        cause.code = CAUSE_NAME_NOT_SERVED;
        cause.subject = text_of(c, filter->service);
        cause.text = STR_CONCAT(
            a, head, STR("no noderole that has succeeded lists the DNS service `"), cause.subject,
            STR("`; commit one that does, or change the service of the filter"));
        return cause;
    }
    cause.code = CAUSE_NAME_INVALID;
    cause.subject = ip_format_address(a, row->at.ip);
    cause.text =
        STR_CONCAT(a, head, STR("the text "), fault->text.len ? STR("`") : STR(""), fault->text,
                   fault->text.len ? STR("` ") : STR("of its template "), str_from(fault->wrong),
                   STR("; change the template of the filter, or what it inserts"));
    return cause;
}

struct cause *core_why_names(const struct core *c, int64_t node_id, struct arena *a,
                             bool *out_is_all)
{
    const node_ix n = node_by_id(c, node_id);
    struct name_faults faults = {.is_all = true};
    if (n.v)
        dns_names_find_faults(c, n, a, &faults);
    *out_is_all = faults.is_all;
    struct cause *first = NULL;
    for (uint32_t i = faults.count; i-- > 0;) {
        struct cause cause = why_name_cause(c, &faults.at[i], a);
        cause.next = first;
        first = arena_copy(a, &cause, sizeof cause);
    }
    return first;
}
