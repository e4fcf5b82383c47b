#include "api/reply.h"
#include "api/route.h"

static enum served serve_healthz(struct call *call)
{
    reply_text(call, 200, STR("ok\n"));
    return SERVED_REPLY;
}

static enum served serve_readyz(struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    const char *why = "";
    if (engine->is_ready(engine->self, &why)) {
        reply_text(call, 200, STR("ok\n"));
        return SERVED_REPLY;
    }
    reply_text(call, 503, SAY(call, str_from(why), STR("\n")));
    reply_header(call, "Retry-After", STR("1"));
    return SERVED_REPLY;
}

static const struct route routes[] = {
    {.method = HTTP_GET,
     .pattern = "/healthz",
     .serve = serve_healthz,
     .form = FORM_TEXT,
     .access = ROUTE_OPEN,
     .does = "is the daemon alive?"},
    {.method = HTTP_GET,
     .pattern = "/readyz",
     .serve = serve_readyz,
     .form = FORM_TEXT,
     .access = ROUTE_OPEN,
     .does = "can it work: does it lead, is the store writable?"},
};

const struct chapter chapter_probes = CHAPTER(NULL, routes);
