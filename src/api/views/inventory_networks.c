#include "api/views/inventory_networks.h"

#include "api/rest/json_object_writer.h"
#include "base/containers/sort.h"

/* Networks and addresses for the inventory of Ansible. The file owns nothing. Objects that are
 * deleted between two steps of the reply are left out, because every function reads the core anew;
 * no function can fail. */

/* ---- networks of a deployment ---- */

static void inventory_write_ranges(const struct core *core, int64_t network_id, struct arena *a,
                                   struct buf *out)
{
    struct record range;
    uint32_t count;
    const int64_t *ids = core_ranges_of(core, network_id, a, &count);
    struct object_writer ranges = object_writer_open(out, NULL);
    for (uint32_t i = 0; i < count; i++) {
        if (!core_record(core, TABLE_NETWORK_RANGE, ids[i], &range) ||
            !object_put_key(&ranges, str_z(a, range.network_range.name)))
            continue;
        struct object_writer m = object_writer_open(out, NULL);
        object_put_text(&m, "first", range.network_range.first);
        object_put_text(&m, "last", range.network_range.last);
        object_writer_close(&m);
    }
    object_writer_close(&ranges);
}

static void inventory_write_network(const struct core *core, const struct network_record *network,
                                    struct arena *a, struct buf *out)
{
    struct record router;
    const bool has_router =
        core_record(core, TABLE_NETWORK_ROUTER, core_router_of(core, network->id), &router);
    struct object_writer m = object_writer_open(out, NULL);
    object_put_text(&m, "category", network->category);
    object_put_text(&m, "group", network->group);
    object_put_text(&m, "conduit", network->conduit);
    if (network->use_vlan)
        object_put_number(&m, "vlan", network->vlan);
    else
        object_put_json(&m, "vlan", STR("null"));
    object_put_optional(&m, "v6prefix", network->v6prefix);
    object_put_optional(&m, "router", has_router ? router.network_router.address : STR(""));
    if (object_put_key(&m, "ranges"))
        inventory_write_ranges(core, network->id, a, out);
    object_writer_close(&m);
}

uint32_t inventory_write_networks(const struct core *core, int64_t deployment_id, struct arena *a,
                                  struct buf *out)
{
    struct record record;
    uint32_t visited = 0;
    struct object_writer networks = object_writer_open(out, NULL);
    for (int64_t id = core_next_id(core, TABLE_NETWORK, 0); id;
         id = core_next_id(core, TABLE_NETWORK, id), visited++)
        if (core_record(core, TABLE_NETWORK, id, &record) &&
            record.network.deployment_id == deployment_id &&
            object_put_key(&networks, str_z(a, record.network.name)))
            inventory_write_network(core, &record.network, a, out);
    object_writer_close(&networks);
    return visited;
}

/* ---- addresses of a node ---- */

/* An allocation with the network that it is grouped by. */
struct inventory_address {
    int64_t network_id;
    struct str range, address;
};

static int inventory_cmp_addresses(const void *a, const void *b)
{
    const int64_t x = ((const struct inventory_address *)a)->network_id;
    const int64_t y = ((const struct inventory_address *)b)->network_id;
    return (x > y) - (x < y);
}

void inventory_write_addresses(const struct core *core, int64_t node_id, struct arena *a,
                               struct buf *out)
{
    struct record record, owner;
    uint32_t count, kept = 0;
    const int64_t *ids = core_allocations_of(core, TABLE_NODE, node_id, a, &count);
    struct inventory_address *all = arena_array(a, struct inventory_address, count + (size_t)1);
    for (uint32_t i = 0; i < count; i++)
        if (core_record(core, TABLE_NETWORK_ALLOCATION, ids[i], &record) &&
            core_record(core, TABLE_NETWORK_RANGE, record.network_allocation.network_range_id,
                        &owner))
            all[kept++] = (struct inventory_address){record.network_allocation.network_id,
                                                     owner.network_range.name,
                                                     record.network_allocation.address};
    sort_items(all, kept, sizeof *all, inventory_cmp_addresses, a);

    struct object_writer networks = object_writer_open(out, NULL);
    for (uint32_t i = 0, end; i < kept; i = end) {
        for (end = i; end < kept && all[end].network_id == all[i].network_id;)
            end++;
        if (!core_record(core, TABLE_NETWORK, all[i].network_id, &owner) ||
            !object_put_key(&networks, str_z(a, owner.network.name)))
            continue;
        struct object_writer m = object_writer_open(out, NULL);
        for (uint32_t k = i; k < end; k++)
            object_put_text(&m, str_z(a, all[k].range), all[k].address);
        object_writer_close(&m);
    }
    object_writer_close(&networks);
}

/* ---- interfaces of a node ---- */

/* The device that has the first address of the network, from the report of the run: an object of
 * devices by address. Empty if no run has reported one. */
static struct str inventory_device(const struct json *data, struct str network)
{
    const struct str path[] = {STR("crowbar"), STR("network"), network, STR("resolved_interfaces")};
    for (uint32_t i = 0; data && i < sizeof path / sizeof *path; i++)
        data = data->kind == JSON_OBJECT ? json_get(data, path[i]) : NULL;
    data = data && data->kind == JSON_OBJECT ? data->first : NULL;
    return data && data->kind == JSON_STRING ? data->text : STR("");
}

void inventory_write_interfaces(const struct core *core, int64_t node_id, struct arena *a,
                                struct buf *out)
{
    struct record noderole, role, network;
    uint32_t count;
    const int64_t *ids = core_noderoles_of(core, node_id, a, &count);
    struct object_writer interfaces = object_writer_open(out, NULL);
    for (uint32_t i = 0; i < count; i++) {
        if (!core_record(core, TABLE_NODEROLE, ids[i], &noderole) ||
            !core_record(core, TABLE_ROLE, noderole.noderole.role_id, &role) ||
            !role.role.network_id ||
            !core_record(core, TABLE_NETWORK, role.role.network_id, &network))
            continue;
        const struct subject place = {TABLE_NODEROLE, ids[i]};
        const struct str device =
            inventory_device(core_data(core, place, VIEW_ALL, a), network.network.name);
        if (device.len)
            object_put_text(&interfaces, str_z(a, network.network.name), device);
    }
    object_writer_close(&interfaces);
}
