/* dns_world.h - a world with a network, a DNS service and name filters.
 *
 * dns_open() makes the network "alpha" (category "general", ranges "host" and "dhcp" of
 * 192.168.124.0/24), the role "dns-list", whose attrib dns-list_servers lists the DNS services, and
 * the node "dns", to which it is bound. dns_serve() ends a run of it that returns the list. No
 * filter exists.
 */
#pragma once

#include <stdio.h>

#include "core/core_private.h"
#include "tests/world/world.h"

#define ALPHA_RANGES                                                                               \
    "[{'name':'host','first':'192.168.124.81/24','last':'192.168.124.254/24'},"                    \
    "{'name':'dhcp','first':'192.168.124.21/24','last':'192.168.124.80/24'}]"

/* Let the attrib list the services of the ACTIVE noderoles of the role. */
static inline void dns_set_lists_services(struct world *w, const char *role, const char *attrib)
{
    const role_ix r = role_by_id(w->core, the_role(w, role));
    put_text(w->core, &role_edit(w->core, r)->lists_services, str_from(attrib));
}

static inline int64_t dns_network(struct world *w, const char *name, const char *category,
                                  const char *conduit, const char *ranges)
{
    return DONE(w, CMD(NETWORK_CREATE, network_create, .name = str_from(name),
                       .ranges = world_json(w, ranges),
                       .given = GIVEN_NETWORK_CATEGORY | GIVEN_NETWORK_CONDUIT,
                       .category = str_from(category), .conduit = str_from(conduit)));
}

static inline struct world *dns_open(void)
{
    struct world *w = world_open();
    world_role(w, "dns-list", "'attribs':[{'name':'dns-list_servers','map':'dns/servers'}]");
    dns_set_lists_services(w, "dns-list", "dns-list_servers");
    world_committed_deployment(w, "prod");
    world_node(w, "dns", NULL);
    world_bind(w, "dns-list@dns");
    dns_network(w, "alpha", "general", "1g0", ALPHA_RANGES);
    return w;
}

/* Run the noderole dns-list@dns; it returns this list of services. */
static inline void dns_serve(struct world *w, const char *services)
{
    char wall[200];
    snprintf(wall, sizeof wall, "{'dns':{'servers':%s}}", services);
    if (read_noderole(w, "dns-list@dns").state == NODEROLE_PROPOSED)
        world_commit(w, "dns-list@dns");
    else
        DONE(w, cmd_enqueue(w, "dns-list@dns"));
    world_deliver(w);
    world_anneal(w);
    world_finish_with(w, "dns-list@dns",
                      (struct run_done_command){
                          .result = RESULT_OK, .has_wall = true, .wall = world_json(w, wall)});
    world_deliver(w);
    world_anneal(w);
    IS(w, "dns-list@dns", "active");
}

/* A node with an address of alpha.host; returns the id of the allocation. */
static inline int64_t dns_allocate(struct world *w, const char *node)
{
    return DONE(w, CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, node),
                       .network_id = core_find(w->core, TABLE_NETWORK, STR("alpha"))));
}

static inline int64_t dns_node(struct world *w, const char *name, const char *deployment)
{
    world_node(w, name, deployment);
    return dns_allocate(w, name);
}

static inline struct command cmd_filter(const char *name, const char *matcher, uint32_t priority,
                                        const char *template)
{
    return CMD(DNS_NAME_FILTER_CREATE, dns_name_filter_create,
               .given = GIVEN_FILTER_NAME | GIVEN_FILTER_MATCHER | GIVEN_FILTER_PRIORITY |
                        GIVEN_FILTER_TEMPLATE,
               .name = str_from(name), .matcher = str_from(matcher), .priority = priority,
               .template = str_from(template));
}

/* A filter, and its names. */
static inline int64_t dns_filter(struct world *w, const char *name, const char *matcher,
                                 uint32_t priority, const char *template)
{
    const int64_t id = DONE(w, cmd_filter(name, matcher, priority, template));
    world_anneal(w);
    return id;
}

/* All entries by id: "n1 A by f1, n2 A by f1". */
static inline const char *dns_names(struct world *w)
{
    struct buf b = buf_in(&w->arena);
    for (int64_t id = core_next_id(w->core, TABLE_DNS_NAME_ENTRY, 0); id;
         id = core_next_id(w->core, TABLE_DNS_NAME_ENTRY, id)) {
        struct record entry, filter;
        CHECK(core_record(w->core, TABLE_DNS_NAME_ENTRY, id, &entry));
        CHECK(core_record(w->core, TABLE_DNS_NAME_FILTER, entry.dns_name_entry.dns_name_filter_id,
                          &filter));
        buf_put_z(&b, b.len ? ", " : "");
        buf_put_str(&b, entry.dns_name_entry.name);
        buf_put_z(&b, " ");
        buf_put_str(&b, core_dns_name_entry_type(w->core, id));
        buf_put_z(&b, " by ");
        buf_put_str(&b, filter.dns_name_filter.name);
    }
    return str_z(&w->arena, buf_str(&b));
}
