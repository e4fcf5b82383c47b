/* problem.c - tables: the name and the HTTP status of each problem code. */
#include "model/problem.h"

#include "base/err.h"

/* clang-format off */
static const char *const code_names[PROBLEM_COUNT] = {
    [PROBLEM_NONE]               = "none",
    [PROBLEM_BAD_TEXT]           = "bad_text",
    [PROBLEM_BAD_JSON]           = "bad_json",
    [PROBLEM_MISSING]            = "missing",
    [PROBLEM_BAD_VALUE]          = "bad_value",
    [PROBLEM_FORBIDDEN]          = "forbidden",
    [PROBLEM_NOT_FOUND]          = "not_found",
    [PROBLEM_NOT_SUPPORTED]      = "not_supported",
    [PROBLEM_NAME_INVALID]       = "name_invalid",
    [PROBLEM_NAME_TAKEN]         = "name_taken",
    [PROBLEM_LIMIT_REACHED]      = "limit_reached",
    [PROBLEM_WRONG_STATE]        = "wrong_state",
    [PROBLEM_PARENTS_NOT_ACTIVE] = "parents_not_active",
    [PROBLEM_NOT_PROPOSED]       = "not_proposed",
    [PROBLEM_DATA_PROPOSED]      = "data_proposed",
    [PROBLEM_HOOK_FAILED]        = "hook_failed",
    [PROBLEM_HOOK_VETO]          = "hook_veto",
    [PROBLEM_HOOKS_UNSETTLED]    = "hooks_unsettled",
    [PROBLEM_ABSTRACT_ROLE]      = "abstract_role",
    [PROBLEM_ROLE_CONFLICT]      = "role_conflict",
    [PROBLEM_PROVIDES_CLASH]     = "provides_clash",
    [PROBLEM_PROVIDES_ANCESTRY]  = "provides_ancestry",
    [PROBLEM_JIG_INACTIVE]       = "jig_inactive",
    [PROBLEM_REQUIRE_UNRESOLVED] = "require_unresolved",
    [PROBLEM_ATTRIB_UNKNOWN]     = "attrib_unknown",
    [PROBLEM_BOUND_ELSEWHERE]    = "bound_elsewhere",
    [PROBLEM_GRAPH_CYCLE]        = "graph_cycle",
    [PROBLEM_ROLE_CYCLE]         = "role_cycle",
    [PROBLEM_CLASS_UNKNOWN]      = "class_unknown",
    [PROBLEM_OWNER_DIFFERS]      = "owner_differs",
    [PROBLEM_SCHEMA_INVALID]     = "schema_invalid",
    [PROBLEM_SCHEMA_VIOLATED]    = "schema_violated",
    [PROBLEM_READ_ONLY]          = "read_only",
    [PROBLEM_SYSTEM_DEPLOYMENT]  = "system_deployment",
    [PROBLEM_HAS_CHILDREN]       = "has_children",
    [PROBLEM_HAS_DEPENDANTS]     = "has_dependants",
    [PROBLEM_IN_USE]             = "in_use",
    [PROBLEM_LAST_ADMIN]         = "last_admin",
    [PROBLEM_TOO_DEEP]           = "too_deep",
    [PROBLEM_TARGET_INVALID]     = "target_invalid",
    [PROBLEM_PLAN_CHANGED]       = "plan_changed",
    [PROBLEM_STALE]              = "stale",
    [PROBLEM_PRECONDITION_FAILED] = "precondition_failed",
    [PROBLEM_CHAIN_TOO_LONG]     = "chain_too_long",
    [PROBLEM_NO_POWER_ACTION]    = "no_power_action",
    [PROBLEM_HOST_KEY_TAKEN]     = "host_key_taken",
    [PROBLEM_HOST_KEY_CHANGED]   = "host_key_changed",
    [PROBLEM_HOST_KEY_REFUSED]   = "host_key_refused",
    [PROBLEM_BUSY]               = "busy",
    [PROBLEM_NETWORK_INVALID]    = "network_invalid",
    [PROBLEM_CONDUIT_OVERLAP]    = "conduit_overlap",
    [PROBLEM_RANGE_OVERLAP]      = "range_overlap",
    [PROBLEM_ADDRESS_TAKEN]      = "address_taken",
    [PROBLEM_RANGE_FULL]         = "range_full",
    [PROBLEM_MAC_TAKEN]          = "mac_taken",
    [PROBLEM_BEING_DELETED]      = "being_deleted",
};
/* clang-format on */

struct str problem_code_name(enum problem_code code)
{
    must(code < PROBLEM_COUNT);
    return str_from(code_names[code]);
}

int problem_status(enum problem_code code)
{
    static const int statuses[PROBLEM_COUNT] = {[PROBLEM_NONE] = 200,
#define X(name, status) [PROBLEM_##name] = status,
                                                PROBLEMS(X)
#undef X
    };
    must(code < PROBLEM_COUNT);
    return statuses[code];
}
