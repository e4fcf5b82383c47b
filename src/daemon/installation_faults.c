/* installation_faults.c - collects the faults of the daemon itself for replies to `why`: it is
 * stopping, the store is not available, runs wait for the supervisor of processes (halligan-exec),
 * or the clock is wrong. Also the failure of a power action that will be retried.
 *
 * The file owns no state: the faults are determined anew for each reply, from the loop and the
 * modules behind it, and none of these is changed. Each fault has the code of a reason, so that
 * clients can distinguish them without parsing the text.
 *
 * Order. At most one fault of each kind is reported, always in this order: stopping, store,
 * supervisor, clock, foreign DHCP server. Clients print them in the order of the list, so equal
 * states give equal replies. Texts that their module may overwrite are copied into the arena of the
 * reply.
 *
 * Failure. No function here can fail; without faults the count is 0.
 */
#include "daemon/installation_faults.h"

#include "base/net/ip.h"
#include "core/core.h"
#include "daemon/boot/boot_links.h"
#include "daemon/clock_watch.h"
#include "daemon/wiring.h"
#include "power/power_orders.h"
#include "run/runner/runner.h"
#include "store/store_thread.h"
#include "sys/clock.h"
#include "turn/turn.h"

/* A full disk is reported even if it made the store go down, because it is the cause that an
 * operator can remove. "Stalled" means that the store has not answered for some seconds. */
static struct api_fault installation_store_fault(const struct loop *l, struct arena *arena)
{
    const struct str detail = str_from(store_last_error(l->store));
    const bool is_down = l->status == TURN_DOWN || l->status == TURN_STOPPED;
    const bool is_full = store_is_full(l->store);
    return (struct api_fault){.code = is_full    ? REASON_STORE_FULL
                                      : !is_down ? REASON_STORE_STALLED
                                                 : REASON_STORE_DOWN,
                              .object = "store",
                              .text = str_copy(arena, (is_full || is_down) && detail.len
                                                          ? detail
                                                          : str_from(loop_store_problem(l)))};
}

/* Two servers on one segment give machines different answers, so one fault names the first. */
static bool installation_foreign_dhcp(const struct loop *l, struct arena *arena,
                                      struct api_fault *out_fault)
{
    struct boot_link_state state = {0};
    for (int64_t id = 0; l->boot && boot_links_next(l->boot, id, arena, &state);
         id = state.node_id) {
        const struct ip ip = ip_from_v4((uint32_t)state.foreign);
        if (!state.foreign)
            continue;
        *out_fault = (struct api_fault){
            REASON_FOREIGN_DHCP, "dhcp",
            STR_CONCAT(arena, STR("another DHCP server, "), ip_format_address(arena, ip),
                       STR(", answers on interface "), state.foreign_interface,
                       STR(" of a boot server; machines that are not nodes are not answered "
                           "there: stop it, or name the interface in dhcp-foreign"))};
        return true;
    }
    return false;
}

/* `self` is the struct wiring; out_faults has room for API_FAULTS_MAX faults. */
uint32_t installation_faults_find(void *self, struct arena *arena, struct api_fault *out_faults)
{
    const struct wiring *w = self;
    const struct loop *l = w->loop;
    /* The wall clock, and the time that the turn gives to events, which never decreases. */
    const int64_t wall_ms = sys_now_ms(), stamp_ms = turn_now_ms(l->turn);
    uint32_t count = 0;
    if (w->is_draining)
        out_faults[count++] =
            (struct api_fault){REASON_STOPPING, "daemon", STR("the daemon is stopping")};
    /* After a failed batch the daemon acquires the leadership of the store again, which writes one
     * row at most. On a full disk that may succeed although no batch can be written: then the loop
     * reports no problem, but the store is full. */
    if (*loop_store_problem(l) || store_is_full(l->store))
        out_faults[count++] = installation_store_fault(l, arena);
    if (*runner_waiting_text(l->runner))
        out_faults[count++] = (struct api_fault){REASON_SUPERVISOR_DOWN, "supervisor",
                                                 str_from(runner_waiting_text(l->runner))};
    const enum clock_state clock = clock_state(wall_ms, stamp_ms);
    if (clock != CLOCK_EVEN) {
        struct buf text = buf_in(arena);
        clock_describe(&text, wall_ms, stamp_ms);
        out_faults[count++] =
            (struct api_fault){clock == CLOCK_BEHIND ? REASON_CLOCK_BEHIND : REASON_CLOCK_AHEAD,
                               "clock", buf_str(&text)};
    }
    count += installation_foreign_dhcp(l, arena, &out_faults[count]);
    return count;
}

/* The power action of the node that failed and will be tried again; false if there is none. */
bool installation_faults_power_retry(void *self, int64_t node_id, struct arena *arena,
                                     struct reason *out_reason)
{
    return power_retry(((struct wiring *)self)->loop->power, node_id, arena, out_reason);
}
