#include "core/boot/boot_service.h"
#include "core/machine/grants.h"
#include "core/network/network_private.h"

/* TICK: whatever has reached its deadline. The file owns no state; each module keeps its own
 * deadlines. They are independent of each other, so their order does not matter. It cannot fail. */

void do_tick(struct core *c, const struct tick_command *p)
{
    must(p);
    runs_tick(c);
    boot_tick(c);
    boot_servers_tick(c);
    grants_tick(c);
    leases_tick(c);
}

int64_t core_next_deadline(const struct core *c)
{
    const int64_t all[] = {runs_next_deadline(c), boot_next_deadline(c),
                           boot_servers_next_deadline(c), grants_next_deadline(c),
                           leases_next_deadline(c)};
    int64_t next = -1;
    for (uint32_t i = 0; i < sizeof all / sizeof *all; i++)
        if (next < 0 || (all[i] >= 0 && all[i] < next))
            next = all[i];
    return next;
}
