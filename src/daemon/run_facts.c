#include "daemon/run_facts.h"

#include "core/core.h"
#include "power/transport.h"

static int64_t deadline_ms(const struct core *core, const struct role_record *role)
{
    struct record settings;
    must(core_record(core, TABLE_SETTINGS, 1, &settings));
    const uint32_t seconds = role->deadline_s ? role->deadline_s : settings.settings.run_deadline_s;
    return seconds * INT64_C(1000);
}

/* The class behind the role's jig; empty: nobody knows it, and the run will say so. */
static struct str class_of(const struct core *core, const struct role_record *role)
{
    struct record jig;
    const int64_t id = core_find(core, TABLE_JIG, role->jig_name);
    return id && core_record(core, TABLE_JIG, id, &jig) ? jig.jig.class_name : role->jig_name;
}

/* Ids are given once, so pins that were forgotten and made anew have another newest row. */
static int64_t newest_pin(const struct core *core, int64_t node_id, struct arena *a)
{
    uint32_t count;
    int64_t newest = 0;
    const int64_t *ids = core_host_keys_of(core, node_id, a, &count);
    for (uint32_t i = 0; i < count; i++)
        newest = ids[i] > newest ? ids[i] : newest;
    return newest;
}

bool work_facts(const struct core *core, const struct run_order *order, struct arena *a,
                struct runner_facts *out_facts)
{
    struct record noderole, role, node, barclamp;
    if (!core_record(core, TABLE_NODEROLE, order->noderole_id, &noderole))
        return false;
    must(core_record(core, TABLE_ROLE, noderole.noderole.role_id, &role));
    must(core_record(core, TABLE_NODE, noderole.noderole.node_id, &node));
    must(core_record(core, TABLE_BARCLAMP, role.role.barclamp_id, &barclamp));
    *out_facts = (struct runner_facts){.role = role.role.name,
                                       .node = node.node.name,
                                       .barclamp = barclamp.barclamp.name,
                                       .source_path = barclamp.barclamp.source_path,
                                       .jig_class = class_of(core, &role.role),
                                       .deadline_ms = deadline_ms(core, &role.role),
                                       .session = node.node.alive_since,
                                       .pin = newest_pin(core, node.node.id, a)};
    return transport_of(core, node.node.id, a, &out_facts->transport);
}
