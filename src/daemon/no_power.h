/* no_power.h - power as far as this build has it: none.
 *
 * Every order is answered, and none from inside the call that gave it: the answers wait here until
 * the loop hands them to the turn. Actions fail, and say that nobody can do them; probes succeed,
 * because there is nothing to probe with and nobody is to be taken for dead for that.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "port/power.h"

struct turn;
struct power_answer;

struct no_power {
    struct arena arena; /* of all answers that wait; reset when none does */
    struct power_answer *first;
    struct power_answer *last;
};

struct power_port no_power_port(struct no_power *p);

/* Hand over what the turn will take. True when that was anything. */
bool no_power_pump(struct no_power *p, struct turn *turn);
void no_power_fini(struct no_power *p);
