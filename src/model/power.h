/* power.h - whether a machine is switched on. A part of record.h, which includes it: the
 * numbers are stored.
 */
#pragma once

#include "base/text/str.h"

/* Power state of a machine as its driver reports it. */
#define POWER_STATES(X)                                                                            \
    X(UNKNOWN, "unknown")                                                                          \
    X(ON, "on")                                                                                    \
    X(OFF, "off")                                                                                  \
    X(CHANGING, "changing") /* the service processor reports a transition */

enum power_state {
#define X(name, text) POWER_STATE_##name,
    POWER_STATES(X)
#undef X
        POWER_STATE_COUNT
};

const char *power_state_name(enum power_state state);
/* POWER_STATE_UNKNOWN if the string is not one of the names. */
enum power_state power_state_find(struct str name);
