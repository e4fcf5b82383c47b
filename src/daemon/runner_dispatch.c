#include "daemon/runner_dispatch.h"

#include <stddef.h>

#include "core/core.h"
#include "model/jig_class.h"

/* Jigs are ordered by name. NULL: nobody knows what that jig is. */
static const struct jig_class *class_of(const struct core *core, struct str jig)
{
    struct record record;
    const int64_t id = core_find(core, TABLE_JIG, jig);
    return id && core_record(core, TABLE_JIG, id, &record) ? jig_class_find(record.jig.class_name)
                                                           : NULL;
}

/* Where the test jig stands in for all others it is ordered as "test", whatever is stored under
 * that name, and also when nothing is. */
static bool is_test(const struct core *core, struct str jig)
{
    struct record record;
    const bool named_test = str_eq(jig, STR("test"));
    if (named_test && core_record(core, TABLE_SETTINGS, 1, &record) && record.settings.test_jig)
        return true;
    if (named_test && !core_find(core, TABLE_JIG, jig))
        return true;
    const struct jig_class *class = class_of(core, jig);
    return class && class->is_test;
}

static bool is_role_code(const struct core *core, struct str jig)
{
    const struct jig_class *class = class_of(core, jig);
    return class && class == jig_class_find(STR("role-provided"));
}

static const struct runner_port *keeper_of(const struct runners *r, const struct run_order *order)
{
    if (r->code_has(r->self, order->run_id, order->attempt))
        return &r->role_code;
    if (r->test_has(r->self, order->run_id, order->attempt))
        return &r->test_jig;
    return NULL;
}

static const struct runner_port *runner_of(const struct runners *r, const struct run_order *order)
{
    const struct runner_port *keeper = keeper_of(r, order);
    const struct core *core = r->core(r->self);
    if (keeper)
        return keeper;
    if (core && is_test(core, order->jig))
        return &r->test_jig;
    return core && is_role_code(core, order->jig) ? &r->role_code : &r->processes;
}

static void start(void *self, const struct run_order *order)
{
    const struct runner_port *runner = runner_of(self, order);
    runner->start(runner->self, order);
}

/* What the test jig has begun is in its journal. Anything else that has begun was a process, though
 * it would be pretended now; role code leaves nothing behind. */
static void query(void *self, const struct run_order *order)
{
    const struct runners *r = self;
    const struct runner_port *runner = runner_of(r, order);
    if (runner == &r->test_jig && order->begun && !keeper_of(r, order))
        runner = &r->processes;
    runner->query(runner->self, order);
}

static void cancel(void *self, const struct run_order *order)
{
    const struct runners *r = self;
    const struct runner_port *keeper = keeper_of(r, order);
    const struct runner_port *runner = keeper ? keeper : &r->processes;
    runner->cancel(runner->self, order);
}

struct runner_port runners_port(struct runners *r)
{
    return (struct runner_port){.self = r, .start = start, .cancel = cancel, .query = query};
}
