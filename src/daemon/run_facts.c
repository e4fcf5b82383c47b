/* run_facts.c - collects from the core what a runner needs to know about a run. It only reads and
 * owns nothing. The noderole may have been deleted since the run was ordered, then the result is
 * false; the objects that an existing noderole refers to always exist (must). */
#include "daemon/run_facts.h"

#include "core/core.h"
#include "power/transport.h"

static int64_t run_deadline_ms(const struct core *core, const struct role_record *role)
{
    struct record settings;
    must(core_record(core, TABLE_SETTINGS, 1, &settings));
    const uint32_t seconds = role->deadline_s ? role->deadline_s : settings.settings.run_deadline_s;
    return seconds * INT64_C(1000);
}

/* The class of the jig of the role. If no such jig is stored, its name: the runner then fails the
 * run and names the unknown class. */
static struct str run_jig_class(const struct core *core, const struct role_record *role)
{
    struct record jig;
    const int64_t id = core_find(core, TABLE_JIG, role->jig_name);
    return id && core_record(core, TABLE_JIG, id, &jig) ? jig.jig.class_name : role->jig_name;
}

/* The largest id of the pinned host keys of a node. Ids are never reused, so the number changes
 * when keys are forgotten and pinned again, and ssh connections of the old pins are not reused. */
static int64_t run_newest_host_key(const struct core *core, int64_t node_id, struct arena *a)
{
    uint32_t count;
    int64_t newest = 0;
    const int64_t *ids = core_host_keys_of(core, node_id, a, &count);
    for (uint32_t i = 0; i < count; i++)
        newest = ids[i] > newest ? ids[i] : newest;
    return newest;
}

bool run_facts_find(const struct core *core, const struct run_order *order, struct arena *a,
                    struct runner_facts *out_facts)
{
    struct record noderole, role, node, barclamp;
    if (!core_record(core, TABLE_NODEROLE, order->noderole_id, &noderole))
        return false;
    must(core_record(core, TABLE_ROLE, noderole.noderole.role_id, &role));
    must(core_record(core, TABLE_NODE, noderole.noderole.node_id, &node));
    must(core_record(core, TABLE_BARCLAMP, role.role.barclamp_id, &barclamp));
    *out_facts = (struct runner_facts){.role = role.role.name,
                                       .files_name = role.role.per_name,
                                       .node = node.node.name,
                                       .barclamp = barclamp.barclamp.name,
                                       .source_path = barclamp.barclamp.source_path,
                                       .jig_class = run_jig_class(core, &role.role),
                                       .deadline_ms = run_deadline_ms(core, &role.role),
                                       .session = node.node.alive_since,
                                       .pin = run_newest_host_key(core, node.node.id, a)};
    return transport_of(core, node.node.id, a, &out_facts->transport);
}
