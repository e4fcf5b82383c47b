/* faults.h - injected failures of library calls (ADR 0066).
 *
 * The test binary is linked with --wrap=CALL for each function that meson.build lists, so every
 * call of it in the libraries of the project goes to __wrap_CALL, which FAULT() defines. That
 * returns the failure if it is due, and calls the real function otherwise. Calls inside the
 * external library are not affected.
 *
 *     FAULT(int, uv_poll_start, (uv_poll_t *p, int e, uv_poll_cb f), (p, e, f), UV_ENOMEM)
 *     ...
 *     fault_set("uv_poll_start", 2);    the second call from now on fails, once
 *     CHECK(open_it() == NULL && fault_was_hit());
 *
 * A test program is one file, so all functions are static. Several threads may call concurrently.
 */
#pragma once

#include <stdatomic.h>
#include <string.h>

#include "tests/check.h"

static struct {
    const char *call;
    atomic_uint left; /* calls until the failure: the call that makes it 0 fails; 0: none */
    atomic_bool was_hit;
} fault;

/* The nth call from now on fails, once. */
static inline void fault_set(const char *call, unsigned nth)
{
    atomic_store(&fault.left, 0);
    fault.call = call;
    atomic_store(&fault.was_hit, false);
    atomic_store(&fault.left, nth);
}

static inline bool fault_is_due(const char *call)
{
    unsigned left = atomic_load(&fault.left);
    if (!left || strcmp(fault.call, call) != 0)
        return false;
    while (left && !atomic_compare_exchange_weak(&fault.left, &left, left - 1))
        ;
    if (left != 1)
        return false;
    atomic_store(&fault.was_hit, true);
    return true;
}

/* Returns true if the failure set by fault_set() has occurred, and cancels it otherwise. */
static inline bool fault_was_hit(void)
{
    atomic_store(&fault.left, 0);
    return atomic_load(&fault.was_hit);
}

#define FAULT(type, call, parameters, arguments, failure)                                          \
    type __real_##call parameters;                                                                 \
    type __wrap_##call parameters;                                                                 \
    type __wrap_##call parameters                                                                  \
    {                                                                                              \
        return fault_is_due(#call) ? (failure) : __real_##call arguments;                          \
    }
