/* later.h - hooks and power as far as this build has them: it says that it has none.
 *
 * Every order is answered, and none from inside the call that gave it: the answers wait here until
 * the loop hands them to the turn. Hooks fail or veto with their name, power actions fail, probes
 * succeed because there is nothing to probe with.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "port/hooks.h"
#include "port/power.h"

struct turn;
struct later_item;

struct later {
    struct arena arena; /* of everything that waits; reset when nothing does */
    struct later_item *first;
    struct later_item *last;
};

struct hooks_port later_hooks(struct later *l);
struct power_port later_power(struct later *l);

/* Hand over what the turn will take. True when that was anything. */
bool later_hand_over(struct later *l, struct turn *turn);
void later_fini(struct later *l);
