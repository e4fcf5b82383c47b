#include "api/call/route.h"

/* In any order: no path belongs to two of them. */
#define CHAPTERS(X)                                                                                \
    X(anneal)                                                                                      \
    X(attribs)                                                                                     \
    X(audit)                                                                                       \
    X(barclamps)                                                                                   \
    X(deployment_roles)                                                                            \
    X(digest)                                                                                      \
    X(deployments)                                                                                 \
    X(events)                                                                                      \
    X(groups)                                                                                      \
    X(hammer_kinds)                                                                                \
    X(hammers)                                                                                     \
    X(jigs)                                                                                        \
    X(metrics)                                                                                     \
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

#define X(name) extern const struct route_table chapter_##name;
CHAPTERS(X)
#undef X

const struct route_table *const chapters[] = {
#define X(name) &chapter_##name,
    CHAPTERS(X)
#undef X
        NULL,
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

/* The noun of a path below /api/vN; empty for any other path. */
static struct str noun_of(const struct http_request *request)
{
    const bool is_api = request->segment_count > 2 && str_eq(request->segments[0], STR("api")) &&
                        is_version(request->segments[1]);
    return is_api ? request->segments[2] : STR("");
}

static void look_through(struct call *call, const struct route_table *chapter,
                         enum http_method method)
{
    struct str keys[PATH_KEYS_MAX] = {{0}, {0}};
    for (uint32_t i = 0; i < chapter->count; i++) {
        const struct route *route = &chapter->routes[i];
        if (!matches(route->pattern, call->request, keys))
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
    const enum http_method asked = call->request->method;
    const enum http_method method = asked == HTTP_HEAD ? HTTP_GET : asked;
    const struct str noun = noun_of(call->request);
    for (uint32_t i = 0; chapters[i]; i++)
        if (str_eq(noun, str_from(chapters[i]->noun)))
            look_through(call, chapters[i], method);
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
