/* clock_port.h - the port to clocks and random numbers.
 *
 * The core has no clock and no random number generator; the turn reads both through this port and
 * puts the values into commands.
 */
#pragma once

#include <stdint.h>

struct clock_port {
    void *self;
    int64_t (*now_ms)(void *self);  /* wall clock, ms since 1970; may jump in both directions  */
    int64_t (*mono_ms)(void *self); /* monotonic clock in ms from an arbitrary start           */
    uint64_t (*random)(void *self); /* 64 unpredictable bits, from a cryptographic generator   */
};
