#include "core/network/network_private.h"

#include "base/containers/sort.h"
#include "base/json/json.h"
#include "base/net/mac.h"

/* Network interfaces of nodes (docs/spec/networks.md, Interfaces).
 *
 * This file owns the nic rows and the index of MACs. The rows of a node follow two documents: the
 * list `admin_macs` of its hint, and the interfaces in its discovery. A MAC belongs to the first
 * node that has it, because DHCP identifies a machine by it alone.
 *
 * Order: nics_follow() is called after hint or discovery was written, in the same step. It compares
 * the documents with the rows for each MAC and writes only rows that differ, so a report that
 * changes nothing stores nothing. Rows that are no longer mentioned are removed first: the limit of
 * a node applies to what it has after the change.
 *
 * Failure: a hint with the MAC of another node is refused with the name of that node; NIC_MOVE
 * moves it. A hint that had the MAC before is not refused for it, so that stores of versions
 * without this rule can be changed. A discovery with such a MAC is accepted and the MAC is not
 * taken, since the report of a machine must not fail for what another machine reports;
 * nics_next_conflict() lists these. The next report takes it if its owner has gone meanwhile, also
 * one that repeats the last report. Of more than NICS_OWN_MAX MACs the first are kept, hints before
 * discovery: a machine with many interfaces is not refused for it (core_nics_are_complete). */

struct nic_facts {
    uint64_t mac;
    struct str name, bus, driver;
    uint32_t speed_max;
    bool hinted, discovered, link;
};

/* The interfaces of the documents of a node, at most NICS_OWN_MAX, each MAC once. */
struct nic_set {
    struct nic_facts items[NICS_OWN_MAX];
    uint32_t count;
    bool is_full; /* there were more */
};

/* ---- documents ---- */

/* The entry of the MAC in the set, added if it is new; NULL if the text is no MAC of an interface
 * or the set is full. */
static struct nic_facts *nic_set_get(struct nic_set *set, struct str text)
{
    struct mac parsed;
    if (!mac_parse(text, &parsed) || !mac_is_unicast(parsed))
        return NULL;
    const uint64_t mac = mac_number(parsed);
    for (uint32_t i = 0; i < set->count; i++)
        if (set->items[i].mac == mac)
            return &set->items[i];
    if (set->count == NICS_OWN_MAX) {
        set->is_full = true;
        return NULL;
    }
    struct nic_facts *facts = &set->items[set->count++];
    *facts = (struct nic_facts){.mac = mac};
    return facts;
}

static struct str nic_text_member(const struct json *object, struct str key)
{
    const struct json *value = json_get(object, key);
    const struct str text = value && value->kind == JSON_STRING ? value->text : STR("");
    return text.len <= NAME_LEN_MAX ? text : STR("");
}

/* One interface of a discovery. Its permanent address identifies it; reports without one list their
 * addresses by family instead. A device whose bus is stated as empty is virtual (a bridge, a bond,
 * a VLAN) and has no MAC of its own. */
static void nic_set_add_interface(struct nic_set *set, const struct json *interface)
{
    const struct json *bus = json_get(interface, STR("bus"));
    const struct json *permanent = json_get(interface, STR("permanent_address"));
    if (interface->kind != JSON_OBJECT || (bus && (bus->kind != JSON_STRING || bus->text.len == 0)))
        return;
    const struct json *all = json_get(interface, STR("addresses"));
    const bool has_permanent = permanent && permanent->kind == JSON_STRING;
    for (const struct json *item = has_permanent                     ? permanent
                                   : all && all->kind == JSON_OBJECT ? all->first
                                                                     : NULL;
         item; item = has_permanent ? NULL : item->next) {
        const struct json *family = has_permanent ? NULL : json_get(item, STR("family"));
        if (!has_permanent &&
            (!family || family->kind != JSON_STRING || !str_eq(family->text, STR("lladdr"))))
            continue;
        struct nic_facts *facts = nic_set_get(set, has_permanent ? item->text : item->key);
        int64_t speed = 0;
        if (!facts || facts->discovered)
            continue;
        facts->discovered = true;
        facts->name = interface->key.len <= NAME_LEN_MAX ? interface->key : STR("");
        facts->bus = nic_text_member(interface, STR("bus"));
        facts->driver = nic_text_member(interface, STR("driver"));
        if (json_as_i64(json_get(interface, STR("speed_max")), &speed) && speed > 0 &&
            speed <= UINT32_MAX)
            facts->speed_max = (uint32_t)speed;
        facts->link = json_is_true(json_get(interface, STR("link")));
    }
}

/* Hints come first, so that they are not the ones that a full set leaves out. */
static void nic_set_read(struct nic_set *set, const struct json *hint, const struct json *discovery)
{
    const struct json *macs = json_get(hint, STR("admin_macs"));
    for (const struct json *mac = macs && macs->kind == JSON_ARRAY ? macs->first : NULL; mac;
         mac = mac->next) {
        struct nic_facts *facts = mac->kind == JSON_STRING ? nic_set_get(set, mac->text) : NULL;
        if (facts)
            facts->hinted = true;
    }
    const struct json *found = json_at(discovery, STR("ohai/network/interfaces"));
    for (const struct json *interface = found && found->kind == JSON_OBJECT ? found->first : NULL;
         interface; interface = interface->next)
        nic_set_add_interface(set, interface);
}

static void nic_set_of_node(const struct core *c, node_ix n, struct arena *a, struct nic_set *set)
{
    const struct node *node = node_at(c, n);
    set->count = 0;
    set->is_full = false;
    if (node->hint || node->discovery)
        nic_set_read(set, doc_tree(a, doc_of(c, node->hint)),
                     doc_tree(a, doc_of(c, node->discovery)));
}

/* ---- rows ---- */

nic_ix nic_find(const struct core *c, uint64_t mac)
{
    return (nic_ix){omap_find(&c->macs, mac)};
}

struct str nic_format_mac(struct arena *a, uint64_t number)
{
    return mac_format(a, mac_from_number(number));
}

void nic_index(struct core *c, nic_ix k)
{
    const struct nic *nic = nic_at(c, k);
    omap_put(&c->macs, (uint64_t)nic->mac, k.v);
    ids_insert(c, &node_derive(c, nic->node)->nics, TABLE_NIC, k.v);
}

static void nic_destroy(struct core *c, nic_ix k)
{
    struct nic *nic = nic_edit(c, k);
    omap_remove(&c->macs, (uint64_t)nic->mac);
    ids_remove(c, &node_derive(c, nic->node)->nics, TABLE_NIC, k.v);
    put_text(c, &nic->name, STR(""));
    put_text(c, &nic->bus, STR(""));
    put_text(c, &nic->driver, STR(""));
    core_remove_row(c, TABLE_NIC, k.v);
}

void nics_forget_node(struct core *c, node_ix n)
{
    while (node_at(c, n)->nics.count) {
        const struct vec *nics = &node_at(c, n)->nics;
        nic_destroy(c, (nic_ix){vec_at(c, nics, nics->count - 1)});
    }
}

static void nic_write(struct core *c, nic_ix k, const struct nic_facts *facts)
{
    const struct nic *now = nic_at(c, k);
    if (now->hinted == facts->hinted && now->discovered == facts->discovered &&
        now->link == facts->link && now->speed_max == facts->speed_max &&
        str_eq(text_of(c, now->name), facts->name) && str_eq(text_of(c, now->bus), facts->bus) &&
        str_eq(text_of(c, now->driver), facts->driver))
        return;
    struct nic *nic = nic_edit(c, k);
    put_text(c, &nic->name, facts->name);
    put_text(c, &nic->bus, facts->bus);
    put_text(c, &nic->driver, facts->driver);
    nic->speed_max = facts->speed_max;
    nic->hinted = facts->hinted;
    nic->discovered = facts->discovered;
    nic->link = facts->link;
}

static void nic_refuse_taken(struct core *c, struct str field, uint64_t mac, node_ix owner)
{
    refuse(c, PROBLEM_MAC_TAKEN, field,
           STR_CONCAT(c->arena, STR("the MAC "), nic_format_mac(c->arena, mac),
                      STR(" belongs to node "), text_of(c, node_at(c, owner)->name),
                      STR("; if the interface was moved, run \"halligan nics move\" first")));
}

static bool nic_set_has(const struct nic_set *set, uint64_t mac)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (set->items[i].mac == mac)
            return true;
    return false;
}

void nics_follow(struct core *c, node_ix n, struct str old_hint, struct str field)
{
    struct nic_set set, old = {.count = 0};
    nic_set_of_node(c, n, c->arena, &set);
    if (field.len && old_hint.len)
        nic_set_read(&old, doc_tree(c->arena, old_hint), NULL);

    /* Remove the rows that neither document mentions. */
    for (uint32_t i = node_at(c, n)->nics.count; i-- > 0;) {
        const nic_ix k = {vec_at(c, &node_at(c, n)->nics, i)};
        if (!nic_set_has(&set, (uint64_t)nic_at(c, k)->mac))
            nic_destroy(c, k);
    }

    for (uint32_t i = 0; i < set.count; i++) {
        const struct nic_facts *facts = &set.items[i];
        nic_ix k = nic_find(c, facts->mac);
        if (k.v && nic_at(c, k)->node.v != n.v) {
            if (facts->hinted && field.len && !nic_set_has(&old, facts->mac))
                nic_refuse_taken(c, field, facts->mac, nic_at(c, k)->node);
            continue;
        }
        if (!k.v) {
            k = nic_add(c);
            if (!k.v)
                return;
            nic_edit(c, k)->node = n;
            nic_edit(c, k)->mac = (int64_t)facts->mac;
            nic_index(c, k);
        }
        nic_write(c, k, facts);
    }
}

void nics_follow_repeated(struct core *c, node_ix n)
{
    const uint32_t before = node_at(c, n)->nics.count;
    nics_follow(c, n, STR(""), STR(""));
    if (node_at(c, n)->nics.count != before)
        node_changed(c, n);
}

bool nics_depend_on(struct str map)
{
    const struct str first = str_slice(map, 0, str_find(map, '/', 0));
    return !first.len || str_eq(first, STR("admin_macs")) || str_eq(first, STR("ohai"));
}

bool nics_are_of_node(struct core *c, node_ix n, struct str hint)
{
    struct nic_set set = {.count = 0};
    nic_set_read(&set, doc_tree(c->arena, hint), NULL);
    for (uint32_t i = 0; i < set.count; i++) {
        const nic_ix k = nic_find(c, set.items[i].mac);
        if (!k.v || nic_at(c, k)->node.v != n.v)
            return false;
    }
    return set.count != 0;
}

uint64_t nics_next_conflict(const struct core *c, node_ix n, struct arena *a, uint64_t after,
                            node_ix *out_owner)
{
    struct nic_set set;
    uint64_t next = 0;
    nic_set_of_node(c, n, a, &set);
    for (uint32_t i = 0; i < set.count; i++) {
        const nic_ix k = nic_find(c, set.items[i].mac);
        const uint64_t mac = set.items[i].mac;
        if (!k.v || nic_at(c, k)->node.v == n.v || mac <= after || (next && mac > next))
            continue;
        next = mac;
        *out_owner = nic_at(c, k)->node;
    }
    return next;
}

bool core_nics_are_complete(const struct core *c, int64_t node_id)
{
    const node_ix n = node_by_id(c, node_id);
    struct arena scratch = {0};
    struct nic_set set = {.count = 0};
    if (n.v)
        nic_set_of_node(c, n, &scratch, &set);
    arena_fini(&scratch);
    return !set.is_full;
}

/* ---- commands ---- */

bool nic_parse_mac(struct core *c, struct str text, struct mac *out_mac)
{
    if (mac_parse(text, out_mac) && mac_is_unicast(*out_mac))
        return true;
    return refuse(c, PROBLEM_BAD_VALUE, STR("mac"),
                  STR("mac must be the MAC address of an interface, such as 52:54:00:12:34:56"));
}

/* Nodes are visited by id, so the older of two nodes with one MAC gets it. */
void do_nics_make(struct core *c, const struct nics_make_command *p)
{
    ignore(p->unused, "the command has no parameters");
    if (core_settings(c)->nics_made)
        return;
    settings_edit(c, (settings_ix){core_next_row(c, TABLE_SETTINGS, 0)})->nics_made = true;
    for (uint32_t ix = core_next_row(c, TABLE_NODE, 0); ix;
         ix = core_next_row(c, TABLE_NODE, node_at(c, (node_ix){ix})->o.id))
        nics_follow(c, (node_ix){ix}, STR(""), STR(""));
}

/* Remove the MAC from the list in the hint of the node. */
static void nic_remove_hint(struct core *c, node_ix n, uint64_t mac)
{
    struct json *hint = json_clone(c->arena, doc_tree(c->arena, doc_of(c, node_at(c, n)->hint)));
    const struct json *old = json_get(hint, STR("admin_macs"));
    struct json *kept = json_make(c->arena, JSON_ARRAY);
    if (!old || old->kind != JSON_ARRAY)
        return;
    for (const struct json *item = old->first; item; item = item->next) {
        struct mac parsed;
        if (item->kind != JSON_STRING || !mac_parse(item->text, &parsed) ||
            mac_number(parsed) != mac)
            json_append(kept, json_clone(c->arena, item));
    }
    json_set(hint, STR("admin_macs"), kept);
    put_doc(c, &node_edit(c, n)->hint, json_write(c->arena, hint));
}

/* The hint of the new owner gets the MAC, and the hint of the old one loses it. The discovery of
 * the old owner still mentions it, until that machine reports again; the MAC stays with the new
 * owner, because the first node that has it keeps it. */
void do_nic_move(struct core *c, const struct nic_move_command *p)
{
    struct mac parsed;
    const node_ix n = node_by_id(c, p->node_id);
    if (!n.v)
        refuse_missing(c, "node_id", "node", p->node_id);
    else if (node_at(c, n)->system)
        refuse(c, PROBLEM_BAD_VALUE, STR("node_id"),
               STR("a system node is no machine and has no interfaces"));
    if (!nic_parse_mac(c, p->mac, &parsed) || refused(c))
        return;
    const uint64_t mac = mac_number(parsed);
    const nic_ix k = nic_find(c, mac);
    if (!k.v) {
        refuse(c, PROBLEM_NOT_FOUND, STR("mac"),
               STR_CONCAT(c->arena, STR("no node has the MAC "), nic_format_mac(c->arena, mac)));
        return;
    }
    const node_ix from = nic_at(c, k)->node;
    c->out->id = nic_at(c, k)->o.id;
    if (from.v == n.v)
        return;
    nic_remove_hint(c, from, mac);
    nic_destroy(c, k);

    const struct str old_hint = doc_of(c, node_at(c, n)->hint);
    struct json *hint = json_clone(c->arena, doc_tree(c->arena, old_hint));
    const struct json *old = json_get(hint, STR("admin_macs"));
    struct json *macs = old && old->kind == JSON_ARRAY ? json_clone(c->arena, old)
                                                       : json_make(c->arena, JSON_ARRAY);
    json_append(macs, json_make_string(c->arena, nic_format_mac(c->arena, mac)));
    json_set(hint, STR("admin_macs"), macs);
    put_doc(c, &node_edit(c, n)->hint, json_write(c->arena, hint));
    nics_follow(c, n, old_hint, STR("mac"));
    const nic_ix moved = nic_find(c, mac);
    if (!refused(c) && !moved.v) /* it is the last of the hint */
        refuse(c, PROBLEM_LIMIT_REACHED, STR("mac"), STR("a node has at most 64 MAC addresses"));
    if (refused(c))
        return;
    c->out->id = nic_at(c, moved)->o.id;
    node_changed(c, from);
    node_changed(c, n);
}

/* ---- load and check ---- */

bool nic_can_load(const struct core *c, const struct nic *row, const struct nic_record *r)
{
    return row->node.v && r->mac > 0 && r->mac < INT64_C(1) << 48 &&
           mac_is_unicast(mac_from_number((uint64_t)r->mac)) && !nic_find(c, (uint64_t)r->mac).v &&
           node_at(c, row->node)->nics.count < NICS_OWN_MAX;
}

const char *nics_check(const struct core *c)
{
    const struct pool *nics = &c->tables[TABLE_NIC].pool;
    const struct pool *nodes = &c->tables[TABLE_NODE].pool;
    uint32_t listed = 0;
    if (!omap_check(&c->macs))
        return "C17: the index of MACs is broken";
    for (uint32_t ix = pool_next(nics, 0); ix; ix = pool_next(nics, ix)) {
        const struct nic *nic = nic_at(c, (nic_ix){ix});
        if (nic_find(c, (uint64_t)nic->mac).v != ix)
            return "I16: two nodes have one MAC, or the index of MACs lacks it";
        if (!pool_is_live(nodes, nic->node.v))
            return "C17: the node of a nic does not exist";
        if (!nic->hinted && !nic->discovered)
            return "C17: neither hint nor discovery mentions a nic";
    }
    for (uint32_t ix = pool_next(nodes, 0); ix; ix = pool_next(nodes, ix)) {
        const struct vec *own = &node_at(c, (node_ix){ix})->nics;
        listed += own->count;
        for (uint32_t i = 0; i < own->count; i++)
            if (!pool_is_live(nics, vec_at(c, own, i)) ||
                nic_at(c, (nic_ix){vec_at(c, own, i)})->node.v != ix)
                return "C17: a node lists a nic that is not its own";
    }
    return listed == nics->live && c->macs.count == nics->live
               ? NULL
               : "C17: the lists or the index of nics are incomplete";
}
