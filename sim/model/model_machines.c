#include "base/err.h"
#include "base/json/json.h"
#include "base/net/mac.h"
#include "sim/model/model_private.h"

/* What keeps machines from booting what their nodes say (docs/spec/boot.md, "The boot of a node"),
 * computed again from the records for each node: without the boot view and without an index of
 * MACs.
 *
 * The limits of a node (64 interfaces, 256 addresses in the boot view) are not modelled: nodes of
 * simulated worlds do not reach them. model_why.c compares, and reports violations. */

enum { MACHINES_TAKEN_MAX = 8 };

static const struct json *machines_read_doc(struct arena *a, struct str text)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (!text.len)
        return json_make(a, JSON_OBJECT);
    must(json_read(a, text, &tree, &offset, &what) == OK);
    return tree;
}

/* ---- committed noderoles ---- */

static bool machines_role_provides_discovery(const struct model *m, const struct core *c,
                                             int64_t role_id, struct arena *a)
{
    struct record role;
    if (!core_record(c, TABLE_ROLE, role_id, &role))
        return false;
    const struct json *name = machines_read_doc(a, role.role.provides)->first;
    for (; name; name = name->next) {
        const int64_t provided = core_find(c, TABLE_ROLE, name->text);
        if (provided && m->roles[provided].flags & ROLE_DISCOVERY)
            return true;
    }
    return false;
}

static bool machines_is_managed(const struct model *m, const struct core *c,
                                const struct node_record *node, struct arena *a)
{
    MODEL_NODEROLES(m, id)
    {
        const struct model_noderole *nr = &m->noderoles[id];
        if (nr->node_id != node->id || nr->state == NODEROLE_PROPOSED)
            continue;
        if (m->roles[nr->role_id].flags & ROLE_DISCOVERY ||
            (!str_eq(node->bootenv, STR("local")) &&
             machines_role_provides_discovery(m, c, nr->role_id, a)))
            return true;
    }
    return false;
}

bool model_boots_are_served(const struct model *m)
{
    MODEL_NODEROLES(m, id)
    {
        if (m->noderoles[id].state != NODEROLE_PROPOSED &&
            m->roles[m->noderoles[id].role_id].service != MODEL_SERVES_NOTHING)
            return true;
    }
    return false;
}

/* ---- MACs ---- */

static bool machines_text_is_mac(struct str text, int64_t mac)
{
    struct mac parsed;
    return mac_parse(text, &parsed) && mac_number(parsed) == (uint64_t)mac;
}

static bool machines_interface_has_mac(const struct json *interface, int64_t mac)
{
    const struct json *bus = json_get(interface, STR("bus"));
    const struct json *permanent = json_get(interface, STR("permanent_address"));
    const struct json *all = json_get(interface, STR("addresses"));
    if (bus && !(bus->kind == JSON_STRING && bus->text.len))
        return false;
    if (permanent && permanent->kind == JSON_STRING)
        return machines_text_is_mac(permanent->text, mac);
    for (const struct json *item = all && all->kind == JSON_OBJECT ? all->first : NULL; item;
         item = item->next) {
        const struct json *family = json_get(item, STR("family"));
        if (family && family->kind == JSON_STRING && str_eq(family->text, STR("lladdr")) &&
            machines_text_is_mac(item->key, mac))
            return true;
    }
    return false;
}

/* The hint or the discovery of a node mentions the MAC. */
static bool machines_docs_have_mac(const struct json *hint, const struct json *discovery,
                                   int64_t mac)
{
    const struct json *macs = json_get(hint, STR("admin_macs"));
    const struct json *found = json_at(discovery, STR("ohai/network/interfaces"));
    for (const struct json *text = macs && macs->kind == JSON_ARRAY ? macs->first : NULL; text;
         text = text->next)
        if (text->kind == JSON_STRING && machines_text_is_mac(text->text, mac))
            return true;
    for (const struct json *one = found && found->kind == JSON_OBJECT ? found->first : NULL; one;
         one = one->next)
        if (machines_interface_has_mac(one, mac))
            return true;
    return false;
}

/* The nodes whose MACs the node mentions, in ascending order of MACs. */
static uint32_t machines_find_taken(const struct core *c, const struct node_record *node,
                                    struct arena *a, int64_t owners[MACHINES_TAKEN_MAX])
{
    const struct json *hint = machines_read_doc(a, node->hint);
    const struct json *discovery = machines_read_doc(a, node->discovery);
    int64_t after = 0;
    for (uint32_t count = 0; count < MACHINES_TAKEN_MAX; count++) {
        int64_t next = 0;
        for (int64_t id = 0; (id = core_next_id(c, TABLE_NIC, id)) != 0;) {
            struct record r;
            must(core_record(c, TABLE_NIC, id, &r));
            if (r.nic.node_id == node->id || r.nic.mac <= after || (next && r.nic.mac > next) ||
                !machines_docs_have_mac(hint, discovery, r.nic.mac))
                continue;
            next = r.nic.mac;
            owners[count] = r.nic.node_id;
        }
        if (!next)
            return count;
        after = next;
    }
    return MACHINES_TAKEN_MAX;
}

static bool machines_has_mac(const struct core *c, int64_t node_id)
{
    struct record nic;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_NIC, id)) != 0;)
        if (core_record(c, TABLE_NIC, id, &nic) && nic.nic.node_id == node_id)
            return true;
    return false;
}

/* ---- addresses ---- */

static bool machines_has_address(const struct core *c, const struct node_record *node,
                                 struct arena *a)
{
    struct model_ip ip;
    struct record row, network;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_NETWORK_ALLOCATION, id)) != 0;)
        if (core_record(c, TABLE_NETWORK_ALLOCATION, id, &row) &&
            row.network_allocation.node_id == node->id &&
            model_parse_address(row.network_allocation.address, &ip) && !ip.is_v6 &&
            core_record(c, TABLE_NETWORK, row.network_allocation.network_id, &network) &&
            str_eq(network.network.category, STR("admin")))
            return true;
    const struct json *hinted = json_get(machines_read_doc(a, node->hint), STR("admin-v4addr"));
    return hinted && hinted->kind == JSON_STRING && model_parse_address(hinted->text, &ip) &&
           !ip.is_v6 && ip.prefix <= 32;
}

/* ---- problems ---- */

uint32_t model_find_boot_problems(const struct model *m, const struct core *c, int64_t node_id,
                                  struct arena *a, struct model_cause out[MODEL_BOOT_PROBLEMS_MAX])
{
    struct record record;
    int64_t owners[MACHINES_TAKEN_MAX];
    uint32_t count = 0;
    if (!core_record(c, TABLE_NODE, node_id, &record) || record.node.system)
        return 0;
    const struct node_record *node = &record.node;
    const bool is_local = str_eq(node->bootenv, STR("local"));
    for (const uint32_t taken = machines_find_taken(c, node, a, owners); count < taken; count++)
        out[count] = (struct model_cause){CAUSE_MAC_TAKEN, TABLE_NODE, owners[count]};
    if (!machines_is_managed(m, c, node, a)) {
        if (!node->admin && !is_local)
            out[count++] = (struct model_cause){CAUSE_NOT_MANAGED, TABLE_NODE, node_id};
        return count;
    }
    if (!machines_has_mac(c, node_id))
        out[count++] = (struct model_cause){CAUSE_NO_MAC, TABLE_NODE, node_id};
    if (!machines_has_address(c, node, a))
        out[count++] = (struct model_cause){CAUSE_NO_BOOT_ADDRESS, TABLE_NODE, node_id};
    if (!is_local && !core_find(c, TABLE_BOOTENV, node->bootenv))
        out[count++] = (struct model_cause){CAUSE_BOOTENV_UNKNOWN, TABLE_NODE, node_id};
    return count;
}
