/* faults.h - library calls that fail when a test says so.
 *
 * The test binary is linked with --wrap=CALL for each call that meson.build names, so every call of
 * CALL in our libraries goes to __wrap_CALL, which FAULT() defines: it fails if it is due, and is
 * passed on to the library otherwise. Calls inside of the library are not affected.
 *
 *     FAULT(int, uv_poll_start, (uv_poll_t *p, int e, uv_poll_cb f), (p, e, f), UV_ENOMEM)
 *     ...
 *     fault_set("uv_poll_start", 2);    the second call from now fails, once
 *     CHECK(open_it() == NULL && fault_was_hit());
 *
 * A test program is one file, so all of it is static. Calls may come from several threads.
 */
#pragma once

#include <stdatomic.h>
#include <string.h>

#include "tests/check.h"

static struct {
    const char *call;
    atomic_uint left; /* the call that makes it 0 fails; 0: none does */
    atomic_bool was_hit;
} fault;

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

/* Did the call that was set fail? None fails any more. */
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
