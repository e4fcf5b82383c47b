#include "api/probes.h"

#include "api/reply.h"

enum served serve_healthz(struct call *call)
{
    reply_text(call, 200, STR("ok\n"));
    return SERVED_REPLY;
}

enum served serve_readyz(struct call *call)
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
