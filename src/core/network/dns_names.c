#include "core/network/network_private.h"

#include "core/plan/commit_view.h"

/* DNS names of allocations (docs/spec/networks.md, Names).
 *
 * This file owns the entry rows, the list of entries of each allocation, the index
 * core.name_rows, the queue core.name_nodes and the progress of an evaluation of all
 * allocations (vars.names_all, vars.names_cursor). An entry is the name that a filter gives to an
 * allocation. It exists exactly if the service of the filter exists, the matcher holds and the
 * template makes a DNS name, once the evaluation has reached the allocation.
 *
 * What an entry depends on is noticed where rows are written: core_edit_row() calls
 * dns_names_row_changed(). A change of one node puts the node into the queue; a change of a filter,
 * a service, a network or a definition starts an evaluation of all allocations, in order of id,
 * from the beginning. Lists that are derived (the noderoles of a node, its allocations) call
 * dns_names_node_changed() when they grow.
 *
 * Order: rows are evaluated at the end of the step, when all its changes are made. A step evaluates
 * a bounded amount; annealing steps do the rest. Nodes of the queue come before the evaluation of
 * all, because a command has just changed them. Neither is stored: after a load all
 * allocations are evaluated, and entries that are right are not written.
 *
 * Failure: a refused step restores entries and queues with all rows. If the table of entries is
 * full, no entry is added and the step is not refused: otherwise a full table would keep nodes from
 * changing. The entry is added by a later evaluation. */

/* The work of one slice, in units of about one microsecond: an evaluation of one filter for one
 * allocation. What it reads is counted by dns_facts.c, and writing an entry costs CHANGE_UNITS. */
enum { WORK_MAX = 1200, CHANGE_UNITS = 4 };

/* The work of a search for faults, which is done in one piece. */
enum { FAULT_WORK_MAX = 3000 };

/* ---- entries ---- */

static uint64_t entry_key(dns_name_filter_ix f, int64_t entry_id)
{
    _Static_assert(NAME_FILTERS_MAX < 1u << 20, "the index of a filter must fit above the id");
    return (uint64_t)f.v << 43 | (uint64_t)entry_id;
}

static dns_name_entry_ix entry_find(const struct core *c, network_allocation_ix a,
                                    dns_name_filter_ix f)
{
    dns_name_entry_ix e = network_allocation_at(c, a)->names;
    while (e.v && dns_name_entry_at(c, e)->filter.v != f.v)
        e = dns_name_entry_at(c, e)->next;
    return e;
}

bool dns_name_entry_fill(const struct core *c, const struct dns_name_entry *row,
                         const struct dns_name_entry_record *r)
{
    return row->allocation.v && row->filter.v && r->id < ADDRESS_ID_MAX &&
           dns_name_is_valid(r->name) && !entry_find(c, row->allocation, row->filter).v;
}

/* Add the entry to the end of the list of its allocation, which is thereby sorted by id. */
void dns_name_entry_index(struct core *c, dns_name_entry_ix e)
{
    const network_allocation_ix a = dns_name_entry_at(c, e)->allocation;
    const dns_name_filter_ix f = dns_name_entry_at(c, e)->filter;
    dns_name_entry_ix last = network_allocation_at(c, a)->names;
    while (last.v && dns_name_entry_at(c, last)->next.v)
        last = dns_name_entry_at(c, last)->next;
    if (last.v)
        dns_name_entry_derive(c, last)->next = e;
    else
        network_allocation_derive(c, a)->names = e;
    omap_put(&c->name_rows, entry_key(f, dns_name_entry_at(c, e)->o.id), e.v);
    dns_name_filter_derive(c, f)->entry_count++;
}

static void entry_make(struct core *c, network_allocation_ix a, dns_name_filter_ix f,
                       struct str name)
{
    if (pool_is_full(&c->tables[TABLE_DNS_NAME_ENTRY].pool))
        return;
    const dns_name_entry_ix e = dns_name_entry_add(c);
    struct dns_name_entry *row = dns_name_entry_edit(c, e);
    row->allocation = a;
    row->filter = f;
    put_text(c, &row->name, name);
    dns_name_entry_index(c, e);
}

static void entry_destroy(struct core *c, dns_name_entry_ix e)
{
    const struct dns_name_entry *row = dns_name_entry_at(c, e);
    const network_allocation_ix a = row->allocation;
    const dns_name_entry_ix next = row->next;
    dns_name_entry_ix before = network_allocation_at(c, a)->names;
    if (before.v == e.v) {
        network_allocation_derive(c, a)->names = next;
    } else {
        while (dns_name_entry_at(c, before)->next.v != e.v)
            before = dns_name_entry_at(c, before)->next;
        dns_name_entry_derive(c, before)->next = next;
    }
    omap_remove(&c->name_rows, entry_key(row->filter, row->o.id));
    dns_name_filter_derive(c, row->filter)->entry_count--;
    put_text(c, &dns_name_entry_edit(c, e)->name, STR(""));
    core_remove_row(c, TABLE_DNS_NAME_ENTRY, e.v);
}

void dns_names_forget_allocation(struct core *c, network_allocation_ix a)
{
    while (network_allocation_at(c, a)->names.v)
        entry_destroy(c, network_allocation_at(c, a)->names);
}

/* The entry of the filter with the smallest id above `after`. */
static dns_name_entry_ix entry_next_of(const struct core *c, dns_name_filter_ix f, int64_t after)
{
    uint64_t key;
    uint32_t ix;
    const bool found =
        omap_ceil(&c->name_rows, entry_key(f, after) + 1, &key, &ix) && key >> 43 == f.v;
    return (dns_name_entry_ix){found ? ix : 0};
}

uint32_t dns_names_count(const struct core *c, network_allocation_ix a)
{
    uint32_t count = 0;
    for (dns_name_entry_ix e = network_allocation_at(c, a)->names; e.v;
         e = dns_name_entry_at(c, e)->next)
        count++;
    return count;
}

bool dns_names_forget_some(struct core *c, dns_name_filter_ix f, struct deletion *d)
{
    for (dns_name_entry_ix e; (e = entry_next_of(c, f, 0)).v;) {
        if (!deletion_goes_on(c, d))
            return false;
        deletion_count(d, 1);
        entry_destroy(c, e);
    }
    return true;
}

/* ---- what changed ---- */

void dns_names_evaluate_all(struct core *c)
{
    struct vars *vars = vars_edit(c);
    vars->names_all = true;
    vars->names_cursor = 0;
}

void dns_names_node_changed(struct core *c, node_ix n)
{
    if (c->vars.name_filters.count && node_at(c, n)->allocations.count &&
        !omap_find(&c->name_nodes, (uint64_t)node_at(c, n)->o.id))
        omap_put(&c->name_nodes, (uint64_t)node_at(c, n)->o.id, n.v);
}

void dns_names_noderole_changed(struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    if (!nr->role.v)
        return; /* a new row that is not filled in yet; node_insert_noderole() calls again */
    if (role_at(c, nr->role)->lists_services && !c->vars.services_due)
        vars_edit(c)->services_due = true;
    if (c->vars.name_needs & (NAMES_NEED_ROLES | NAMES_NEED_ROLE_DATA))
        dns_names_node_changed(c, nr->node);
}

/* A definition changed: which attribs exist, where their values are, what roles provide. */
static void names_definition_changed(struct core *c)
{
    if (!c->vars.services_due)
        vars_edit(c)->services_due = true;
    if (c->vars.name_needs & NAMES_NEED_ATTRIBS)
        dns_names_evaluate_all(c);
}

void dns_names_row_changed(struct core *c, enum table table, uint32_t ix)
{
    switch ((int)table) {
    case TABLE_NODE: dns_names_node_changed(c, (node_ix){ix}); break;
    case TABLE_NODEROLE: dns_names_noderole_changed(c, (noderole_ix){ix}); break;
    case TABLE_ROLE:
    case TABLE_ATTRIB: names_definition_changed(c); break;
    case TABLE_DEPLOYMENT_ROLE: {
        const struct deployment_role *dr = deployment_role_at(c, (deployment_role_ix){ix});
        if (!dr->noderoles.count)
            break; /* its data are the data of no noderole */
        if (role_at(c, dr->role)->lists_services)
            vars_edit(c)->services_due = true;
        if (c->vars.name_needs & NAMES_NEED_ROLE_DATA)
            dns_names_evaluate_all(c);
        break;
    }
    case TABLE_NETWORK: {
        const struct network *network = network_at(c, (network_ix){ix});
        if (network->ranges.count && !network->deleting)
            dns_names_evaluate_all(c);
        break;
    }
    case TABLE_NETWORK_RANGE:
        if (network_range_at(c, (network_range_ix){ix})->allocation_count)
            dns_names_evaluate_all(c);
        break;
    default: break;
    }
}

/* ---- evaluation ---- */

/* The name that the filter gives to the allocation of the facts. It is in `buffer`, also if it is
 * no DNS name; one that is too long is empty. */
static enum dns_name_verdict name_evaluate(const struct core *c, dns_name_filter_ix f,
                                           const struct name_facts *facts,
                                           char buffer[DNS_NAME_LEN_MAX], struct str *out_name)
{
    const struct dns_name_filter *filter = dns_name_filter_at(c, f);
    uint32_t len = 0;
    *out_name = STR("");
    if (!filter->is_served)
        return DNS_NAME_NO_SERVICE;
    if (!name_matcher_holds(text_of(c, filter->matcher), &filter->matches, facts))
        return DNS_NAME_NO_MATCH;
    if (!name_template_expand(text_of(c, filter->template), &filter->makes, facts, buffer, &len))
        return DNS_NAME_INVALID;
    *out_name = (struct str){buffer, len};
    return dns_name_is_valid(*out_name) ? DNS_NAME_GIVEN : DNS_NAME_INVALID;
}

static struct str name_copy(struct arena *a, enum dns_name_verdict verdict, struct str name)
{
    return verdict == DNS_NAME_GIVEN ? str_copy(a, name) : STR("");
}

/* A commit does not change documents of nodes, so both readers would find the same there; those of
 * noderoles differ. Names are computed before the commit as well, instead of being read from the
 * entries, because an evaluation of all allocations may be under way. */
uint32_t dns_names_compare(struct core *c, node_ix n, struct arena *a, dns_name_changed *changed,
                           void *self)
{
    struct projection *view = c->view;
    struct dns_facts now = {.c = c}, later = {.c = c};
    char buffer[DNS_NAME_LEN_MAX];
    for (uint32_t i = 0; i < node_at(c, n)->allocations.count; i++) {
        struct dns_name_change change = {.allocation = {vec_at(c, &node_at(c, n)->allocations, i)}};
        const struct name_facts facts = dns_facts_of(&now, change.allocation);
        const struct name_facts facts_later = dns_facts_of(&later, change.allocation);
        for (uint32_t k = 0; k < c->vars.name_filters.count; k++) {
            const struct arena_mark mark = arena_mark(a);
            struct str name;
            change.filter = (dns_name_filter_ix){vec_at(c, &c->vars.name_filters, k)};
            c->view = NULL;
            change.before =
                name_copy(a, name_evaluate(c, change.filter, &facts, buffer, &name), name);
            c->view = view;
            change.after =
                name_copy(a, name_evaluate(c, change.filter, &facts_later, buffer, &name), name);
            if (!str_eq(change.before, change.after))
                changed(self, &change);
            now.work += 2;
            arena_rewind(a, mark);
        }
    }
    dns_facts_fini(&now);
    dns_facts_fini(&later);
    return now.work + later.work;
}

static void names_evaluate(struct core *c, network_allocation_ix a, struct dns_facts *reader)
{
    const struct name_facts facts = dns_facts_of(reader, a);
    char buffer[DNS_NAME_LEN_MAX];
    struct str name;
    for (uint32_t i = 0; i < c->vars.name_filters.count; i++) {
        const dns_name_filter_ix f = {vec_at(c, &c->vars.name_filters, i)};
        const dns_name_entry_ix e = entry_find(c, a, f);
        const bool is_given = name_evaluate(c, f, &facts, buffer, &name) == DNS_NAME_GIVEN;
        reader->work++;
        if (is_given == (e.v != 0) &&
            (!e.v || str_eq(text_of(c, dns_name_entry_at(c, e)->name), name)))
            continue;
        reader->work += CHANGE_UNITS;
        if (!is_given)
            entry_destroy(c, e);
        else if (e.v)
            put_text(c, &dns_name_entry_edit(c, e)->name, name);
        else
            entry_make(c, a, f, name);
    }
}

/* The nodes of the queue, and then allocations of an evaluation of all. */
static void names_evaluate_some(struct core *c, uint32_t until, bool is_annealing)
{
    struct dns_facts reader = {.c = c};
    uint64_t node_id;
    uint32_t ix;
    while (reader.work < WORK_MAX && c->dirty.count < until &&
           omap_ceil(&c->name_nodes, 0, &node_id, &ix)) {
        const node_ix n = node_by_id(c, (int64_t)node_id);
        omap_remove(&c->name_nodes, node_id);
        reader.work++;
        for (uint32_t i = 0; n.v && i < node_at(c, n)->allocations.count; i++)
            names_evaluate(c, (network_allocation_ix){vec_at(c, &node_at(c, n)->allocations, i)},
                           &reader);
    }
    while (is_annealing && c->vars.names_all && reader.work < WORK_MAX && c->dirty.count < until) {
        const network_allocation_ix a = {
            core_next_row(c, TABLE_NETWORK_ALLOCATION, c->vars.names_cursor)};
        struct vars *vars = vars_edit(c);
        vars->names_all = a.v != 0;
        vars->names_cursor = a.v ? network_allocation_at(c, a)->o.id : 0;
        reader.work++;
        if (a.v)
            names_evaluate(c, a, &reader);
    }
    dns_facts_fini(&reader);
}

void dns_names_settle(struct core *c)
{
    if (c->vars.services_due)
        dns_services_settle(c);
    if (c->name_nodes.count)
        names_evaluate_some(c, UINT32_MAX, false);
}

bool core_dns_names_are_pending(const struct core *c)
{
    return c->vars.names_all || c->name_nodes.count;
}

void dns_names_step(struct core *c, uint32_t until)
{
    if (c->vars.services_due)
        dns_services_settle(c);
    names_evaluate_some(c, until, true);
}

void dns_names_load(struct core *c)
{
    if (!c->vars.name_filters.count)
        return;
    dns_services_settle(c);
    dns_names_evaluate_all(c);
}

/* ---- queries ---- */

int64_t core_next_dns_name_entry_of(const struct core *c, int64_t filter_id, int64_t after)
{
    const dns_name_filter_ix f = dns_name_filter_by_id(c, filter_id);
    const dns_name_entry_ix e = f.v && after >= 0 && after < ADDRESS_ID_MAX
                                    ? entry_next_of(c, f, after)
                                    : (dns_name_entry_ix){0};
    return e.v ? dns_name_entry_at(c, e)->o.id : 0;
}

enum dns_name_verdict core_dns_name(const struct core *c, int64_t allocation_id, int64_t filter_id,
                                    struct arena *a, struct str *out_name)
{
    const network_allocation_ix allocation = network_allocation_by_id(c, allocation_id);
    const dns_name_filter_ix f = dns_name_filter_by_id(c, filter_id);
    struct dns_facts reader = {.c = c};
    char buffer[DNS_NAME_LEN_MAX];
    struct str name;
    *out_name = STR("");
    if (!allocation.v || !f.v)
        return DNS_NAME_NO_MATCH;
    const struct name_facts facts = dns_facts_of(&reader, allocation);
    const enum dns_name_verdict verdict = name_evaluate(c, f, &facts, buffer, &name);
    *out_name = str_copy(a, name);
    dns_facts_fini(&reader);
    return verdict;
}

/* True if the filter matches and gives no name; the rest of *fault is then set. */
static bool name_find_fault(const struct core *c, const struct name_facts *facts, struct arena *a,
                            struct name_fault *fault)
{
    const struct dns_name_filter *filter = dns_name_filter_at(c, fault->filter);
    char buffer[DNS_NAME_LEN_MAX];
    uint32_t len = 0;
    if (filter->deleting ||
        !name_matcher_holds(text_of(c, filter->matcher), &filter->matches, facts))
        return false;
    if (!filter->is_served)
        return true;
    if (!name_template_expand(text_of(c, filter->template), &filter->makes, facts, buffer, &len)) {
        fault->wrong = "is longer than 253 characters";
        return true;
    }
    fault->text = str_copy(a, (struct str){buffer, len});
    fault->wrong = dns_name_wrong(fault->text);
    return fault->wrong != NULL;
}

void dns_names_find_faults(const struct core *c, node_ix n, struct arena *a,
                           struct name_faults *out)
{
    const struct vec *allocations = &node_at(c, n)->allocations;
    struct dns_facts reader = {.c = c};
    *out = (struct name_faults){.is_all = true};
    for (uint32_t i = 0; i < c->vars.name_filters.count && out->is_all; i++)
        for (uint32_t k = 0; k < allocations->count && out->is_all; k++) {
            struct name_fault fault = {.filter = {vec_at(c, &c->vars.name_filters, i)},
                                       .allocation = {vec_at(c, allocations, k)}};
            const struct name_facts facts = dns_facts_of(&reader, fault.allocation);
            out->is_all = ++reader.work <= FAULT_WORK_MAX;
            if (!out->is_all || !name_find_fault(c, &facts, a, &fault))
                continue;
            out->is_all = out->count < WHY_NAMES;
            if (out->is_all)
                out->at[out->count++] = fault;
            if (!fault.wrong)
                break; /* the missing service is the same for the other allocations */
        }
    dns_facts_fini(&reader);
}

/* ---- check ---- */

/* The entries of one allocation: each is of a live filter, and no filter has two. `is_settled`:
 * compare them with an evaluation. */
static const char *names_check_allocation(const struct core *c, network_allocation_ix a,
                                          struct dns_facts *reader, bool is_settled)
{
    const struct pool *entries = &c->tables[TABLE_DNS_NAME_ENTRY].pool;
    uint32_t listed = 0, found = 0;
    for (dns_name_entry_ix e = network_allocation_at(c, a)->names; e.v;
         e = dns_name_entry_at(c, e)->next, listed++) {
        if (listed > entries->live || !pool_is_live(entries, e.v) ||
            dns_name_entry_at(c, e)->allocation.v != a.v)
            return "C18: an allocation lists a DNS name that is not its own";
        const struct dns_name_entry *row = dns_name_entry_at(c, e);
        if (!pool_is_live(&c->tables[TABLE_DNS_NAME_FILTER].pool, row->filter.v) ||
            entry_find(c, a, row->filter).v != e.v)
            return "C18: a DNS name has no filter, or its filter gave two names to the allocation";
        if (omap_find(&c->name_rows, entry_key(row->filter, row->o.id)) != e.v)
            return "C18: a DNS name is not in the index of its filter";
    }
    const struct name_facts facts = dns_facts_of(reader, a);
    for (uint32_t i = 0; i < c->vars.name_filters.count && is_settled; i++) {
        const dns_name_filter_ix f = {vec_at(c, &c->vars.name_filters, i)};
        const dns_name_entry_ix e = entry_find(c, a, f);
        char buffer[DNS_NAME_LEN_MAX];
        struct str name;
        const bool is_given = name_evaluate(c, f, &facts, buffer, &name) == DNS_NAME_GIVEN;
        found += e.v != 0;
        if (dns_name_filter_at(c, f)->deleting)
            continue;
        if ((e.v && (!is_given || !str_eq(text_of(c, dns_name_entry_at(c, e)->name), name))) ||
            (!e.v && is_given && !pool_is_full(entries)))
            return "I17: the DNS names of an allocation are not those that its filters give";
    }
    return !is_settled || found == listed ? NULL
                                          : "C18: a DNS name is of a filter that is not listed";
}

const char *dns_names_check(const struct core *c)
{
    const struct pool *allocations = &c->tables[TABLE_NETWORK_ALLOCATION].pool;
    const bool is_settled = !core_dns_names_are_pending(c) && !c->vars.services_due;
    struct dns_facts reader = {.c = c};
    const char *what = dns_filters_check(c);
    uint32_t listed = 0, counted = 0;
    for (uint32_t ix = pool_next(allocations, 0); ix && !what; ix = pool_next(allocations, ix)) {
        const network_allocation_ix a = {ix};
        what = names_check_allocation(c, a, &reader, is_settled);
        for (dns_name_entry_ix e = network_allocation_at(c, a)->names; e.v && !what;
             e = dns_name_entry_at(c, e)->next)
            listed++;
    }
    dns_facts_fini(&reader);
    for (uint32_t i = 0; i < c->vars.name_filters.count && !what; i++)
        counted += dns_name_filter_at(c, (dns_name_filter_ix){vec_at(c, &c->vars.name_filters, i)})
                       ->entry_count;
    if (!what && (listed != c->tables[TABLE_DNS_NAME_ENTRY].pool.live || counted != listed ||
                  c->name_rows.count != listed))
        what = "C18: a DNS name is not listed by its allocation, or counts of names are wrong";
    return what;
}
