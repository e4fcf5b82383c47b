#include "api/call/call.h"

#include "api/call/route.h"

/* Access of a call to the core and the store, and its list of problems. The functions have no state
 * of their own and cannot fail. */

const struct core *call_core(const struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    const bool is_immediate = call->route && call->route->is_immediate;
    return is_immediate ? engine->newest_core(engine->self) : engine->core(engine->self);
}

bool call_is_durable(const struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    return engine->durable(engine->self) >= call->seen;
}

bool call_is_stalled(const struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    return engine->is_stalled && engine->is_stalled(engine->self);
}

void call_refuse(struct call *call, enum problem_code code, struct str field, struct str text)
{
    struct problem *problem = arena_new(call->arena, struct problem);
    *problem = (struct problem){.code = code, .field = field, .text = text};
    if (call->last_problem)
        call->last_problem->next = problem;
    else
        call->problems = problem;
    call->last_problem = problem;
}

bool call_is_over_memory(const struct call *call)
{
    return call->arena->held > CALL_MEMORY_MAX;
}
