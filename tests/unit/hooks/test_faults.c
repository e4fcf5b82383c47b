/* Goal: a thread or an interpreter that cannot be had is an error, and nothing is left of it.
 * Method: calls fail on purpose (tests/faults.h). */
#include <errno.h>
#include <lua.h>

#include "tests/faults.h"
#include "tests/unit/hooks/hooks_loop.h"

FAULT(int, pthread_create, (pthread_t * t, const pthread_attr_t *a, void *(*f)(void *), void *x),
      (t, a, f, x), EAGAIN)
FAULT(int, pthread_attr_init, (pthread_attr_t * a), (a), ENOMEM)
FAULT(int, pthread_mutex_init, (pthread_mutex_t * m, const pthread_mutexattr_t *a), (m, a), ENOMEM)
FAULT(int, pthread_cond_init, (pthread_cond_t * c, const pthread_condattr_t *a), (c, a), ENOMEM)
FAULT(lua_State *, lua_newstate, (lua_Alloc f, void *x), (f, x), NULL)

static void check_opening(const char *call, unsigned nth)
{
    static const struct hooks_callbacks none = {.self = NULL};
    fault_set(call, nth);
    CHECK(!hooks_open(none, SANDBOX_LIMITS) && fault_was_hit());
    close_loop(open_loop(SANDBOX_LIMITS));
}

TEST(the_thread_of_hooks_may_not_start)
{
    check_opening("pthread_create", 1);
}

TEST(the_attributes_of_its_thread_may_not_be_made)
{
    check_opening("pthread_attr_init", 1);
}

TEST(its_lock_and_conditions_may_not_be_made)
{
    check_opening("pthread_mutex_init", 1);
    check_opening("pthread_cond_init", 1);
    check_opening("pthread_cond_init", 2);
}

TEST(code_without_an_interpreter_is_not_loaded_and_loads_the_next_time)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    fault_set("lua_newstate", 1);
    load_later(l, 3, "return { on_todo = function() end }");
    run_load(l);
    CHECK(fault_was_hit() && l->loaded_role == 3 && l->loaded_error != OK);
    load_later(l, 3, "return { on_todo = function() end }");
    run_load(l);
    CHECK(l->loaded_role == 3 && l->loaded_error == OK);
    close_loop(l);
}
