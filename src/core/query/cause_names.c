#include "core/core_private.h"

#include "model/reason.h"

/* Names of the causes of core_why(), as shown by the API: a table without state. */

const char *cause_name(enum cause_code code)
{
    static const char *const names[CAUSE_COUNT + 1] = {
        [CAUSE_NONE] = "none",
        [CAUSE_PROPOSED] = "proposed",
        [CAUSE_HEAD_PROPOSED] = "head_proposed",
        [CAUSE_PARENT] = "parent",
        [CAUSE_ERROR] = "error",
        [CAUSE_NOT_ALIVE] = "not_alive",
        [CAUSE_NOT_AVAILABLE] = "not_available",
        [CAUSE_HELD_BY_TARGET] = "held_by_target",
        [CAUSE_JIG_INACTIVE] = "jig_inactive",
        [CAUSE_NODE_CLOSED] = "node_closed",
        [CAUSE_NODE_BUSY] = "node_busy",
        [CAUSE_NODE_STOPPED] = "node_stopped",
        [CAUSE_PROBING] = "probing",
        [CAUSE_WAITING_FOR_HOOK] = "waiting_for_hook",
        [CAUSE_NO_WORKER] = "no_worker",
        [CAUSE_READY] = "ready",
        [CAUSE_RUNNING] = "running",
        [CAUSE_STOPPING] = "stopping",
        [CAUSE_PARKED] = "parked",
        [CAUSE_ASYNC] = "async",
        [CAUSE_BOOT_NOT_SERVED] = "boot_not_served",
        [CAUSE_POWER_FAILED] = "power_failed",
        [CAUSE_MAC_TAKEN] = "mac_taken",
        [CAUSE_NAME_INVALID] = "name_invalid",
        [CAUSE_NAME_NOT_SERVED] = "name_not_served",
        [CAUSE_NO_GRANT] = "no_grant",
        [CAUSE_INSTALL_STOPPED] = "install_stopped",
        [CAUSE_NOT_MANAGED] = "not_managed",
        [CAUSE_NO_MAC] = "no_mac",
        [CAUSE_NO_BOOT_ADDRESS] = "no_boot_address",
        [CAUSE_BOOTENV_UNKNOWN] = "bootenv_unknown",
        [CAUSE_BOOT_SERVER_LOST] = "boot_server_lost",
        [CAUSE_REASON] = "reason",
    };
    must(code <= CAUSE_REASON);
    return names[code];
}

const char *cause_code_name(const struct cause *cause)
{
    return cause->code == CAUSE_REASON ? reason_name(cause->reason) : cause_name(cause->code);
}

struct str why_state_phrase(uint8_t state)
{
    static const char *const phrases[NODEROLE_STATE_COUNT] = {
        [NODEROLE_PROPOSED] = "is proposed", [NODEROLE_BLOCKED] = "is blocked",
        [NODEROLE_TODO] = "has not run yet", [NODEROLE_TRANSITION] = "is in transition",
        [NODEROLE_ACTIVE] = "is active",     [NODEROLE_ERROR] = "is in error"};
    must(state < NODEROLE_STATE_COUNT);
    return str_from(phrases[state]);
}
