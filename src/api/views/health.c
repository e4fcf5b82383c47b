#include "api/call/reply.h"
#include "api/call/route.h"

/* /healthz and /readyz, without authentication. /healthz only shows that the loop runs; /readyz
 * states whether requests can be served, and why not. They have no state, read neither core nor
 * store, and cannot fail. */

static enum handler_result serve_healthz(struct call *call)
{
    reply_text(call, 200, STR("ok\n"));
    return SERVED_REPLY;
}

static enum handler_result serve_readyz(struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    const char *why = "";
    struct str value;
    struct buf text = buf_in(call->arena);
    const bool is_ready = engine->is_ready(engine->self, &why);
    buf_put_z(&text, is_ready ? "ok" : why);
    buf_put_c(&text, '\n');
    if (http_query(call->request, STR("verbose"), &value) && engine->conditions)
        engine->conditions(engine->self, &text);
    reply_text(call, is_ready ? 200 : 503, buf_str(&text));
    if (!is_ready)
        reply_header(call, "Retry-After", STR("1"));
    return SERVED_REPLY;
}

static const struct route routes[] = {
    {.method = HTTP_GET,
     .pattern = "/healthz",
     .serve = serve_healthz,
     .form = REPLY_TEXT,
     .access = ROUTE_AUTH_NONE,
     .does = "200 while the daemon runs"},
    {.method = HTTP_GET,
     .pattern = "/readyz",
     .serve = serve_readyz,
     .form = REPLY_TEXT,
     .access = ROUTE_AUTH_NONE,
     .does = "200 if the daemon is the leader and its store is writable"},
};

const struct route_table route_table_probes = ROUTE_TABLE(NULL, routes);
