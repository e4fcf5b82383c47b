/* runner_dispatch.c - chooses the runner of an order: role code, test jig or processes.
 *
 * A run that a runner has started stays with it, whatever the settings and jigs are by now, so the
 * owner is looked up first. The supervisor cannot be queried synchronously, so processes are the
 * default for everything that neither of the other two runners owns.
 *
 * It owns nothing and cannot fail: the chosen runner reports what it cannot execute as the result
 * of the run. Without a core a new run would go to the processes.
 */
#include "daemon/runner_dispatch.h"

#include <stddef.h>

#include "core/core.h"
#include "model/jig_class.h"

/* The class of the jig with that name; NULL if there is no such jig or class. */
static const struct jig_class *dispatch_jig_class(const struct core *core, struct str jig)
{
    struct record record;
    const int64_t id = core_find(core, TABLE_JIG, jig);
    return id && core_record(core, TABLE_JIG, id, &record) ? jig_class_find(record.jig.class_name)
                                                           : NULL;
}

/* With the setting test_jig the core orders every run as jig "test", whichever jig is stored under
 * that name and even if there is none. */
static bool dispatch_is_test_jig(const struct core *core, struct str jig)
{
    struct record record;
    const bool named_test = str_eq(jig, STR("test"));
    if (named_test && core_record(core, TABLE_SETTINGS, 1, &record) && record.settings.test_jig)
        return true;
    if (named_test && !core_find(core, TABLE_JIG, jig))
        return true;
    const struct jig_class *class = dispatch_jig_class(core, jig);
    return class && class->is_test;
}

static bool dispatch_is_role_code(const struct core *core, struct str jig)
{
    const struct jig_class *class = dispatch_jig_class(core, jig);
    return class && class == jig_class_find(STR("role-provided"));
}

static const struct runner_port *dispatch_find_owner(const struct runners *r,
                                                     const struct run_order *order)
{
    if (r->code_has(r->self, order->run_id, order->attempt))
        return &r->role_code;
    if (r->test_has(r->self, order->run_id, order->attempt))
        return &r->test_jig;
    return NULL;
}

static const struct runner_port *dispatch_choose_runner(const struct runners *r,
                                                        const struct run_order *order)
{
    const struct runner_port *owner = dispatch_find_owner(r, order);
    const struct core *core = r->core(r->self);
    if (owner)
        return owner;
    if (core && dispatch_is_test_jig(core, order->jig))
        return &r->test_jig;
    return core && dispatch_is_role_code(core, order->jig) ? &r->role_code : &r->processes;
}

static void dispatch_start(void *self, const struct run_order *order)
{
    const struct runner_port *runner = dispatch_choose_runner(self, order);
    runner->start(runner->self, order);
}

/* A run that the test jig has started is in its journal. Any other run that has begun was a
 * process, even if the test jig would execute it now; runs of role code do not survive a
 * restart. */
static void dispatch_query(void *self, const struct run_order *order)
{
    const struct runners *r = self;
    const struct runner_port *runner = dispatch_choose_runner(r, order);
    if (runner == &r->test_jig && order->begun && !dispatch_find_owner(r, order))
        runner = &r->processes;
    runner->query(runner->self, order);
}

static void dispatch_cancel(void *self, const struct run_order *order)
{
    const struct runners *r = self;
    const struct runner_port *owner = dispatch_find_owner(r, order);
    const struct runner_port *runner = owner ? owner : &r->processes;
    runner->cancel(runner->self, order);
}

struct runner_port runner_dispatch_port(struct runners *r)
{
    return (struct runner_port){
        .self = r, .start = dispatch_start, .cancel = dispatch_cancel, .query = dispatch_query};
}
