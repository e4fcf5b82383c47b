#include "api/route.h"

#include "api/hammers.h"
#include "api/lists.h"
#include "api/objects.h"
#include "api/probes.h"
#include "api/runs.h"

#define V "/api/v2/"

/* What all nouns have, and what those have that come and go. */
#define READING(path, noun)                                                                        \
    {HTTP_GET, V path, serve_list, &noun, NULL, 0, ROUTE_GUARDED},                                 \
        {HTTP_GET, V path "/sample", serve_sample, &noun, NULL, 0, ROUTE_GUARDED},                 \
        {HTTP_POST, V path "/match", serve_match, &noun, NULL, 0, ROUTE_GUARDED},                  \
        {HTTP_GET, V path "/:id", serve_show, &noun, NULL, 0, ROUTE_GUARDED},                      \
        {HTTP_PUT, V path "/:id", serve_update, &noun, NULL, 0, ROUTE_GUARDED},                    \
    {                                                                                              \
        HTTP_PATCH, V path "/:id", serve_patch, &noun, NULL, 0, ROUTE_GUARDED                      \
    }
#define WRITING(path, noun, DELETE)                                                                \
    {HTTP_POST, V path, serve_create, &noun, NULL, 0, ROUTE_GUARDED},                              \
    {                                                                                              \
        HTTP_DELETE, V path "/:id", serve_delete, &noun, NULL, DELETE, ROUTE_GUARDED               \
    }
#define VERB(path, noun, COMMAND)                                                                  \
    {                                                                                              \
        HTTP_PUT, V path, serve_verb, &noun, NULL, COMMAND, ROUTE_GUARDED                          \
    }
#define NESTED(path, noun, owner)                                                                  \
    {                                                                                              \
        HTTP_GET, V path, serve_nested, &noun, &owner, 0, ROUTE_GUARDED                            \
    }

static const struct route routes[] = {
    {HTTP_GET, "/healthz", serve_healthz, NULL, NULL, 0, ROUTE_OPEN},
    {HTTP_GET, "/readyz", serve_readyz, NULL, NULL, 0, ROUTE_OPEN},

    READING("nodes", resource_nodes),
    WRITING("nodes", resource_nodes, COMMAND_NODE_DELETE),
    VERB("nodes/:id/commit", resource_nodes, COMMAND_NODE_COMMIT),
    VERB("nodes/:id/propose", resource_nodes, COMMAND_NODE_PROPOSE),
    VERB("nodes/:id/debug", resource_nodes, COMMAND_NODE_DEBUG),
    VERB("nodes/:id/undebug", resource_nodes, COMMAND_NODE_UNDEBUG),
    VERB("nodes/:id/redeploy", resource_nodes, COMMAND_NODE_REDEPLOY),
    NESTED("nodes/:id/node_roles", resource_noderoles, resource_nodes),
    NESTED("nodes/:id/roles", resource_roles, resource_nodes),
    NESTED("nodes/:id/hammers", resource_hammers, resource_nodes),
    {HTTP_GET, V "nodes/:id/power", serve_power_actions, &resource_nodes, NULL, 0, ROUTE_GUARDED},
    {HTTP_PUT, V "nodes/:id/power", serve_power, &resource_nodes, NULL, 0, ROUTE_GUARDED},
    {HTTP_GET, V "nodes/:id/node_roles/:id", serve_show_on_node, &resource_noderoles,
     &resource_nodes, 0, ROUTE_GUARDED},

    READING("deployments", resource_deployments),
    WRITING("deployments", resource_deployments, COMMAND_DEPLOYMENT_DELETE),
    VERB("deployments/:id/commit", resource_deployments, COMMAND_DEPLOYMENT_COMMIT),
    VERB("deployments/:id/propose", resource_deployments, COMMAND_DEPLOYMENT_PROPOSE),
    VERB("deployments/:id/recall", resource_deployments, COMMAND_DEPLOYMENT_RECALL),
    NESTED("deployments/:id/nodes", resource_nodes, resource_deployments),
    NESTED("deployments/:id/node_roles", resource_noderoles, resource_deployments),
    NESTED("deployments/:id/roles", resource_roles, resource_deployments),

    READING("roles", resource_roles),

    READING("jigs", resource_jigs),

    READING("node_roles", resource_noderoles),
    WRITING("node_roles", resource_noderoles, COMMAND_NODEROLE_DELETE),
    VERB("node_roles/:id/commit", resource_noderoles, COMMAND_NODEROLE_COMMIT),
    VERB("node_roles/:id/propose", resource_noderoles, COMMAND_NODEROLE_PROPOSE),
    VERB("node_roles/:id/retry", resource_noderoles, COMMAND_NODEROLE_RETRY),

    {HTTP_GET, V "node_roles/:id/runs", serve_old_runs, NULL, NULL, 0, ROUTE_GUARDED},

    {HTTP_GET, V "runs", serve_runs, NULL, NULL, 0, ROUTE_GUARDED},
    {HTTP_GET, V "runs/:id", serve_run, NULL, NULL, 0, ROUTE_GUARDED},
    {HTTP_GET, V "runs/:id/log", serve_run_log, NULL, NULL, 0, ROUTE_GUARDED},
    {HTTP_PUT, V "runs/:id/cancel", serve_run_cancel, NULL, NULL, 0, ROUTE_GUARDED},

    READING("hammers", resource_hammers),
    WRITING("hammers", resource_hammers, COMMAND_HAMMER_DELETE),
    {HTTP_GET, V "available_hammers", serve_list, &resource_hammer_kinds, NULL, 0, ROUTE_GUARDED},
    {HTTP_GET, V "available_hammers/sample", serve_sample, &resource_hammer_kinds, NULL, 0,
     ROUTE_GUARDED},
    {HTTP_POST, V "available_hammers/match", serve_match, &resource_hammer_kinds, NULL, 0,
     ROUTE_GUARDED},
    {HTTP_GET, V "available_hammers/:id", serve_show, &resource_hammer_kinds, NULL, 0,
     ROUTE_GUARDED},

    {HTTP_GET, V "tokens", serve_tokens, &resource_tokens, NULL, 0, ROUTE_GUARDED},
    {HTTP_POST, V "tokens", serve_token_create, &resource_tokens, NULL, 0, ROUTE_GUARDED},
    {HTTP_DELETE, V "tokens/:id", serve_token_delete, &resource_tokens, NULL, COMMAND_TOKEN_DELETE,
     ROUTE_GUARDED},
};

/* The first segment of *rest, which moves behind it. */
static struct str next_segment(struct str *rest)
{
    const uint32_t end = str_find(*rest, '/', 0);
    const struct str segment = str_slice(*rest, 0, end);
    *rest = str_slice(*rest, end + 1, rest->len);
    return segment;
}

static bool is_version(struct str segment)
{
    return segment.len == 2 && segment.at[0] == 'v' && segment.at[1] >= '2' && segment.at[1] <= '9';
}

static bool matches(const char *pattern, const struct http_request *request,
                    struct str keys[PATH_KEYS_MAX])
{
    struct str wanted = str_slice(str_from(pattern), 1, UINT32_MAX);
    uint32_t count = 0;
    for (uint32_t i = 0; i < request->segment_count; i++) {
        const struct str have = request->segments[i];
        if (wanted.len == 0)
            return false;
        const struct str want = next_segment(&wanted);
        if (str_eq(want, STR(":id"))) {
            must(count < PATH_KEYS_MAX);
            keys[count++] = have;
            if (have.len == 0)
                return false;
        } else if (!str_eq(want, have) && !(str_eq(want, STR("v2")) && is_version(have))) {
            return false;
        }
    }
    return wanted.len == 0;
}

void route_find(struct call *call)
{
    const enum http_method asked = call->request->method;
    const enum http_method method = asked == HTTP_HEAD ? HTTP_GET : asked;
    struct str keys[PATH_KEYS_MAX] = {{0}, {0}};
    for (uint32_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (!matches(routes[i].pattern, call->request, keys))
            continue;
        call->methods |= 1u << routes[i].method;
        if (call->route || routes[i].method != method)
            continue;
        call->route = &routes[i];
        for (uint32_t k = 0; k < PATH_KEYS_MAX; k++)
            call->keys[k] = keys[k];
    }
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
