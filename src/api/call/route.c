#include "api/call/route.h"

/* Route lookup in constant tables. A path below /api/vN is searched in the table of its noun only,
 * other paths in the tables without a noun. All patterns of the path are tested, so that the
 * methods for 405 and the Allow header are known.
 *
 * Order: within a table the first route that matches path and method is used, so a fixed segment
 * ("nodes/sample") comes before ":id" at the same place ("nodes/:id").
 *
 * Failure: without a match call->route stays NULL, and api.c replies 404, or 405 if the path has
 * other methods, after the client was authenticated. */

/* In any order: no path is in two tables. */
#define ROUTE_TABLES(X)                                                                            \
    X(anneal)                                                                                      \
    X(attribs)                                                                                     \
    X(audit)                                                                                       \
    X(barclamps)                                                                                   \
    X(boot_servers)                                                                                \
    X(bootenvs)                                                                                    \
    X(changes)                                                                                     \
    X(deployment_roles)                                                                            \
    X(dhcp)                                                                                        \
    X(digest)                                                                                      \
    X(dns_name_entries)                                                                            \
    X(dns_name_filters)                                                                            \
    X(deployments)                                                                                 \
    X(events)                                                                                      \
    X(groups)                                                                                      \
    X(hammer_kinds)                                                                                \
    X(hammers)                                                                                     \
    X(interfaces)                                                                                  \
    X(jigs)                                                                                        \
    X(leases)                                                                                      \
    X(metrics)                                                                                     \
    X(network_allocations)                                                                         \
    X(network_ranges)                                                                              \
    X(network_routers)                                                                             \
    X(networks)                                                                                    \
    X(nics)                                                                                        \
    X(noderoles)                                                                                   \
    X(nodes)                                                                                       \
    X(openapi)                                                                                     \
    X(probes)                                                                                      \
    X(roles)                                                                                       \
    X(runs)                                                                                        \
    X(session)                                                                                     \
    X(sign_in)                                                                                     \
    X(snapshots)                                                                                   \
    X(test_nodes)                                                                                  \
    X(status)                                                                                      \
    X(tokens)                                                                                      \
    X(users)

#define X(name) extern const struct route_table route_table_##name;
ROUTE_TABLES(X)
#undef X

const struct route_table *const route_tables[] = {
#define X(name) &route_table_##name,
    ROUTE_TABLES(X)
#undef X
        NULL,
};

static bool route_is_version(struct str segment)
{
    return segment.len == 2 && segment.at[0] == 'v' && segment.at[1] >= '2' && segment.at[1] <= '9';
}

static bool route_matches(const char *pattern, const struct http_request *request,
                          struct str keys[PATH_KEYS_MAX])
{
    struct str wanted = str_slice(str_from(pattern), 1, UINT32_MAX);
    uint32_t count = 0;
    for (uint32_t i = 0; i < request->segment_count; i++) {
        const struct str have = request->segments[i];
        if (wanted.len == 0)
            return false;
        /* Split off the next segment of the pattern. */
        const uint32_t end = str_find(wanted, '/', 0);
        const struct str want = str_slice(wanted, 0, end);
        wanted = str_slice(wanted, end + 1, wanted.len);
        if (str_eq(want, STR(":id"))) {
            must(count < PATH_KEYS_MAX);
            keys[count++] = have;
            if (have.len == 0)
                return false;
        } else if (!str_eq(want, have) && !(str_eq(want, STR("v2")) && route_is_version(have))) {
            return false;
        }
    }
    return wanted.len == 0;
}

static void route_search_table(struct call *call, const struct route_table *table,
                               enum http_method method)
{
    struct str keys[PATH_KEYS_MAX] = {{0}, {0}};
    for (uint32_t i = 0; i < table->count; i++) {
        const struct route *route = &table->routes[i];
        if (!route_matches(route->pattern, call->request, keys))
            continue;
        call->methods |= 1u << route->method;
        if (call->route || route->method != method)
            continue;
        call->route = route;
        for (uint32_t k = 0; k < PATH_KEYS_MAX; k++)
            call->keys[k] = keys[k];
    }
}

void route_find(struct call *call)
{
    const struct http_request *request = call->request;
    const enum http_method method = request->method == HTTP_HEAD ? HTTP_GET : request->method;
    /* A path that is not below /api/vN has the noun "", as tables without a noun have. */
    const bool is_api = request->segment_count > 2 && str_eq(request->segments[0], STR("api")) &&
                        route_is_version(request->segments[1]);
    const struct str noun = is_api ? request->segments[2] : STR("");
    for (uint32_t i = 0; route_tables[i]; i++)
        if (str_eq(noun, str_from(route_tables[i]->noun)))
            route_search_table(call, route_tables[i], method);
}

struct str route_allowed(struct call *call)
{
    static const char *const names[] = {[HTTP_GET] = "GET, HEAD",
                                        [HTTP_POST] = "POST",
                                        [HTTP_PUT] = "PUT",
                                        [HTTP_PATCH] = "PATCH",
                                        [HTTP_DELETE] = "DELETE"};
    struct buf b = buf_in(call->arena);
    for (uint32_t m = 0; m < sizeof names / sizeof *names; m++) {
        if (!(call->methods >> m & 1))
            continue;
        buf_put_z(&b, b.len ? ", " : "");
        buf_put_z(&b, names[m]);
    }
    return buf_str(&b);
}
