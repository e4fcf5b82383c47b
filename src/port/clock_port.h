/* clock_port.h - the seam to time and chance: what the core must be told because it may not look.
 * */
#pragma once

#include <stdint.h>

struct clock_port {
    void *self;
    int64_t (*now_ms)(void *self);  /* the wall clock: since 1970; may jump either way */
    int64_t (*mono_ms)(void *self); /* since whenever; never goes back       */
    uint64_t (*random)(void *self); /* 64 bits that nobody could have guessed */
};
