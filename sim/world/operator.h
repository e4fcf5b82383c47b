/* operator.h - people at the console, who do all sorts of things, sensible and not.
 *
 * Every kind of command is somebody's idea sooner or later, mostly about things that exist and are
 * in a fitting state, sometimes about nothing at all. They look at the core as a page would show
 * it, and wait for no answer before the next idea.
 */
#pragma once

#include "sim/world/world.h"

/* Send it, as a person who waits for the outcome. */
void operator_sends(struct world *w, struct command *command);
/* Any object of that kind; sometimes, as a fault, one that does not exist. 0 = there is none. */
int64_t operator_picks(struct world *w, const struct core *core, enum table table);
/* A noderole in that state, or any when there is none. */
int64_t operator_picks_state(struct world *w, const struct core *core, enum noderole_state state);
/* The pattern with its %u replaced by the number; as long as the world. */
struct str operator_keeps(struct world *w, const char *pattern, uint64_t number);
/* The same with a number that was never used. */
struct str operator_name(struct world *w, const char *pattern);
/* The same, but sometimes one that was, and sometimes, as a fault, a bad one or none at all. */
struct str operator_dubious_name(struct world *w, const char *pattern);
/* A document; sometimes, as a fault, not one. */
struct str operator_document(struct world *w);

/* The hash of a plan that never was. */
#define STALE_HASH STR("0000000000000000000000000000000000000000000000000000000000000000")

/* Bind some role somewhere; `ordinary`: from the field or the gallery, where the node belongs. */
void operator_binds(struct world *w, const struct core *core, bool ordinary);

/* ---- ideas, by subject; each sends one command or a few ---- */

typedef void operator_idea(struct world *w, const struct core *core);

/* operator.c */
operator_idea idea_batch;

/* operator_graph.c */
operator_idea idea_bind, idea_cycle, idea_noderole_delete, idea_noderole_propose,
    idea_noderole_commit, idea_noderole_retry, idea_noderole_data, idea_noderole_enqueue,
    idea_noderole_computed, idea_boot_served, idea_run_resume, idea_run_cancel,
    idea_deployment_create, idea_deployment_update, idea_deployment_delete, idea_deployment_commit,
    idea_deployment_propose, idea_deployment_recall, idea_deployment_revert, idea_snapshot_update,
    idea_deployment_role_create, idea_deployment_role_delete, idea_deployment_role_propose,
    idea_deployment_role_commit, idea_deployment_role_data;

/* operator_objects.c */
operator_idea idea_settings, idea_import, idea_jig_create, idea_jig_update, idea_role_update,
    idea_attrib_create, idea_attrib_delete, idea_attrib_set, idea_node_create, idea_node_update,
    idea_node_move, idea_node_target, idea_node_delete, idea_node_propose, idea_node_commit,
    idea_node_redeploy, idea_node_debug, idea_node_undebug, idea_node_power, idea_power_read,
    idea_group_create, idea_group_update, idea_group_delete, idea_group_add, idea_group_remove,
    idea_pin_keys, idea_forget_key, idea_hammer_create, idea_hammer_update, idea_hammer_delete,
    idea_user_create, idea_user_update, idea_user_delete, idea_token_create, idea_token_delete;
