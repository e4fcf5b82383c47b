/* operator.h - simulated operators, who send random commands.
 *
 * Every kind of client command occurs, mostly for objects that exist and are in a suitable state,
 * sometimes for objects that do not exist or with invalid values. Operators read the records of the
 * core, as a page of the API would show them, and do not wait for the reply of a command before
 * they send the next one.
 */
#pragma once

#include "sim/world/world.h"

/* Send a command with a request id and a drawn caller; inside a bulk command, append it to that. */
void operator_send_command(struct world *w, struct command *command);
/* A random object of that table; as a fault, an id that does not exist. 0 = the table is empty. */
int64_t operator_pick(struct world *w, const struct core *core, enum table table);
/* A random noderole in that state, or any if there is none. */
int64_t operator_pick_state(struct world *w, const struct core *core, enum noderole_state state);
/* The pattern with %u replaced by the number; valid as long as the world. */
struct str operator_format(struct world *w, const char *pattern, uint64_t number);
/* The same with a number that was never used. */
struct str operator_name(struct world *w, const char *pattern);
/* The same, but sometimes with a used number, and as a fault an invalid or empty name. */
struct str operator_dubious_name(struct world *w, const char *pattern);
/* A MAC that was never used. */
struct str operator_mac(struct world *w);
/* A random MAC of the node, or of any node if it is 0; empty if there is none. */
struct str operator_pick_mac(struct world *w, const struct core *core, int64_t node_id);
/* A JSON document; as a fault, invalid JSON. */
struct str operator_document(struct world *w);

/* A hash that no plan has. */
#define STALE_HASH STR("0000000000000000000000000000000000000000000000000000000000000000")

/* Create a network with drawn settings, ranges and router. */
void operator_create_network(struct world *w, const struct core *core, struct str name);
/* An address in one of the few subnets that networks use, followed by `suffix`. */
struct str networks_draw_address(struct world *w, const char *suffix);

/* Bind a random role to a random node; `ordinary`: in the deployment of the node. */
void operator_bind_random(struct world *w, const struct core *core, bool ordinary);

/* ---- actions; each sends one or a few commands ---- */

typedef void operator_action(struct world *w, const struct core *core);

/* operator.c */
operator_action action_batch;

/* operator_grants.c */
operator_action action_install, action_grant_use, action_stamp;

/* operator_graph.c */
operator_action action_bind, action_cycle, action_noderole_delete, action_noderole_propose,
    action_noderole_commit, action_noderole_retry, action_noderole_data, action_noderole_enqueue,
    action_noderole_computed, action_boot_server, action_run_resume, action_run_cancel,
    action_deployment_create, action_deployment_update, action_deployment_delete,
    action_deployment_commit, action_deployment_propose, action_deployment_recall,
    action_deployment_revert, action_snapshot_update, action_deployment_role_create,
    action_deployment_role_delete, action_deployment_role_propose, action_deployment_role_commit,
    action_deployment_role_data;

/* operator_objects.c */
operator_action action_settings, action_import, action_jig_create, action_jig_update,
    action_role_update, action_attrib_create, action_attrib_delete, action_attrib_set,
    action_node_create, action_node_update, action_node_move, action_node_target,
    action_node_delete, action_node_propose, action_node_commit, action_node_redeploy,
    action_node_debug, action_node_undebug, action_node_power, action_boot_environment,
    action_power_read, action_group_create, action_group_update, action_group_delete,
    action_group_add, action_group_remove, action_pin_keys, action_forget_key, action_hammer_create,
    action_hammer_update, action_hammer_delete, action_user_create, action_user_update,
    action_user_delete, action_token_create, action_token_delete;

/* operator_networks.c */
operator_action action_network_create, action_network_update, action_network_delete,
    action_range_create, action_range_update, action_router_create, action_router_update,
    action_router_delete, action_filter_create, action_filter_update, action_filter_delete;

/* operator_addresses.c */
operator_action action_allocate, action_deallocate, action_lease, action_lease_decline, action_hint,
    action_nics_make, action_nic_move, action_node_register, action_named_node;
