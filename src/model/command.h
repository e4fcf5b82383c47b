/* command.h - the inputs of the core, as data.
 *
 * A command is one input: a request of an operator, a request of a hook, the result of a run, a
 * timer tick. It carries the values that the core may not obtain itself: time, random values, the
 * caller. A command can be encoded to bytes and decoded again, so a recorded sequence replays
 * exactly.
 *
 * Objects are named by durable id. In an update, `given` is a mask of the fields that the command
 * sets: bit 0 is the field right after `given`, bit 1 the next one, and so on (constants GIVEN_*).
 */
#pragma once

#include "model/fields.h"

#define ID_ONLY(F) F(I64, id)

#define COMMANDS(C)                                                                                \
    C(SETTINGS_UPDATE, settings_update)                                                            \
    C(IMPORT, import)                                                                              \
    C(JIG_CREATE, jig_create)                                                                      \
    C(JIG_UPDATE, jig_update)                                                                      \
    C(ROLE_UPDATE, role_update)                                                                    \
    C(ATTRIB_CREATE, attrib_create)                                                                \
    C(ATTRIB_DELETE, attrib_delete)                                                                \
    C(ATTRIB_SET, attrib_set)                                                                      \
    C(DEPLOYMENT_CREATE, deployment_create)                                                        \
    C(DEPLOYMENT_UPDATE, deployment_update)                                                        \
    C(DEPLOYMENT_DELETE, deployment_delete)                                                        \
    C(DEPLOYMENT_COMMIT, deployment_commit)                                                        \
    C(DEPLOYMENT_PROPOSE, deployment_propose)                                                      \
    C(DEPLOYMENT_RECALL, deployment_recall)                                                        \
    C(DEPLOYMENT_REVERT, deployment_revert)                                                        \
    C(SNAPSHOT_UPDATE, snapshot_update)                                                            \
    C(DEPLOYMENT_ROLE_CREATE, deployment_role_create)                                              \
    C(DEPLOYMENT_ROLE_DELETE, deployment_role_delete)                                              \
    C(DEPLOYMENT_ROLE_PROPOSE, deployment_role_propose)                                            \
    C(DEPLOYMENT_ROLE_COMMIT, deployment_role_commit)                                              \
    C(DEPLOYMENT_ROLE_DATA, deployment_role_data)                                                  \
    C(NODE_CREATE, node_create)                                                                    \
    C(NODE_UPDATE, node_update)                                                                    \
    C(NODE_DELETE, node_delete)                                                                    \
    C(NODE_PROPOSE, node_propose)                                                                  \
    C(NODE_COMMIT, node_commit)                                                                    \
    C(NODE_REDEPLOY, node_redeploy)                                                                \
    C(NODE_DEBUG, node_debug)                                                                      \
    C(NODE_UNDEBUG, node_undebug)                                                                  \
    C(NODE_POWER, node_power)                                                                      \
    C(NODEROLE_BIND, noderole_bind)                                                                \
    C(NODEROLE_DELETE, noderole_delete)                                                            \
    C(NODEROLE_PROPOSE, noderole_propose)                                                          \
    C(NODEROLE_COMMIT, noderole_commit)                                                            \
    C(NODEROLE_RETRY, noderole_retry)                                                              \
    C(NODEROLE_DATA, noderole_data)                                                                \
    C(NODEROLE_COMPUTED, noderole_computed)                                                        \
    C(NODEROLE_ENQUEUE, noderole_enqueue)                                                          \
    C(GROUP_CREATE, group_create)                                                                  \
    C(GROUP_UPDATE, group_update)                                                                  \
    C(GROUP_DELETE, group_delete)                                                                  \
    C(GROUP_ADD, group_add)                                                                        \
    C(GROUP_REMOVE, group_remove)                                                                  \
    C(HAMMER_CREATE, hammer_create)                                                                \
    C(HAMMER_UPDATE, hammer_update)                                                                \
    C(HAMMER_DELETE, hammer_delete)                                                                \
    C(USER_CREATE, user_create)                                                                    \
    C(USER_UPDATE, user_update)                                                                    \
    C(USER_DELETE, user_delete)                                                                    \
    C(TOKEN_CREATE, token_create)                                                                  \
    C(TOKEN_DELETE, token_delete)                                                                  \
    C(RUN_BEGUN, run_begun)                                                                        \
    C(RUN_DONE, run_done)                                                                          \
    C(RUN_STOPPED, run_stopped)                                                                    \
    C(RUN_RESUME, run_resume)                                                                      \
    C(RUN_CANCEL, run_cancel)                                                                      \
    C(OUTBOX_DONE, outbox_done)                                                                    \
    C(ANNEAL, anneal)                                                                              \
    C(TICK, tick)                                                                                  \
    C(OUTBOX_BEGUN, outbox_begun)                                                                  \
    C(NODE_PIN_KEYS, node_pin_keys)                                                                \
    C(NODE_FORGET_KEY, node_forget_key)                                                            \
    C(NODE_POWER_READ, node_power_read)                                                            \
    C(NETWORK_CREATE, network_create)                                                              \
    C(NETWORK_UPDATE, network_update)                                                              \
    C(NETWORK_DELETE, network_delete)                                                              \
    C(NETWORK_RANGE_CREATE, network_range_create)                                                  \
    C(NETWORK_RANGE_UPDATE, network_range_update)                                                  \
    C(NETWORK_ROUTER_CREATE, network_router_create)                                                \
    C(NETWORK_ROUTER_UPDATE, network_router_update)                                                \
    C(NETWORK_ROUTER_DELETE, network_router_delete)                                                \
    C(NETWORK_ALLOCATE, network_allocate)                                                          \
    C(NETWORK_DEALLOCATE, network_deallocate)                                                      \
    C(LEASE_TAKE, lease_take)                                                                      \
    C(LEASE_RELEASE, lease_release)                                                                \
    C(LEASE_DECLINE, lease_decline)                                                                \
    C(NICS_MAKE, nics_make)                                                                        \
    C(NIC_MOVE, nic_move)                                                                          \
    C(DNS_NAME_FILTER_CREATE, dns_name_filter_create)                                              \
    C(DNS_NAME_FILTER_UPDATE, dns_name_filter_update)                                              \
    C(DNS_NAME_FILTER_DELETE, dns_name_filter_delete)                                              \
    C(GRANT_USE, grant_use)                                                                        \
    C(BOOT_SERVER, boot_server)                                                                    \
    C(BOOTENV_REPORT, bootenv_report)                                                              \
    C(BATCH, batch)

enum command_kind {
#define C(upper, lower) COMMAND_##upper,
    COMMANDS(C)
#undef C
        COMMAND_COUNT
};

/* clang-format off */
#define SETTINGS_UPDATE_FIELDS(F)                                                                  \
    F(U32, given) F(U32, pool_normal) F(U32, pool_high) F(U32, max_depth) F(BOOL, test_jig) \
    F(U32, keep_runs) F(U32, run_deadline_s) F(U32, barrier_s) F(BOOL, host_keys_imported) \
    F(U32, install_wait_s) F(BOOL, boot_server)
/* A whole barclamp (a package of roles): the parsed YAML as JSON, with barclamp.source_path; each
 * role has a list `hooks` with the names of the hooks that its code defines. */
#define IMPORT_FIELDS(F) F(DOC, barclamp)
#define JIG_CREATE_FIELDS(F)                                                                       \
    F(TEXT, name) F(TEXT, description) F(TEXT, class_name) F(BOOL, active)                         \
    F(TEXT, client_role_name)
/* GIVEN_JIG_ACTIVE sets active and inactive_reason. */
#define JIG_UPDATE_FIELDS(F)                                                                       \
    F(I64, id) F(U32, given) F(TEXT, description) F(BOOL, active) F(TEXT, server)                  \
    F(TEXT, client_name) F(TEXT, key) F(TEXT, inactive_reason)
#define ROLE_UPDATE_FIELDS(F) F(I64, id) F(U32, given) F(TEXT, description) F(DOC, template)
#define ATTRIB_CREATE_FIELDS(F)                                                                    \
    F(TEXT, name) F(TEXT, description) F(I64, barclamp_id) F(I64, role_id) F(BOOL, writable)       \
    F(U32, order) F(TEXT, map) F(TEXT, ui_renderer) F(DOC, schema) F(DOC, default_value)
#define ATTRIB_DELETE_FIELDS(F) ID_ONLY(F)
/* target: TABLE_NODE, TABLE_DEPLOYMENT, TABLE_DEPLOYMENT_ROLE, TABLE_NODEROLE or TABLE_ROLE.
 * value: any JSON; empty = null. */
#define ATTRIB_SET_FIELDS(F)                                                                       \
    F(U32, target) F(I64, id) F(I64, attrib_id) F(U32, bucket) F(DOC, value)
#define DEPLOYMENT_CREATE_FIELDS(F) F(TEXT, name) F(TEXT, description) F(I64, parent_id)
#define DEPLOYMENT_UPDATE_FIELDS(F) F(I64, id) F(U32, given) F(TEXT, name) F(TEXT, description)
#define DEPLOYMENT_DELETE_FIELDS(F) ID_ONLY(F)
/* plan: hex SHA-256 of the plan that the operator has read; consent: hash of the list of noderoles
 * that the commit would destroy (core/deploy/consent.c). The commit is refused if a hash that is
 * not empty differs. rerun_changed: also rerun noderoles whose last run had other role defaults. */
#define DEPLOYMENT_COMMIT_FIELDS(F)                                                                \
    F(I64, id) F(TEXT, plan) F(TEXT, consent) F(BOOL, rerun_changed)
#define DEPLOYMENT_PROPOSE_FIELDS(F) F(I64, id) F(TEXT, name)
#define DEPLOYMENT_RECALL_FIELDS(F) ID_ONLY(F)
/* content: the content of snapshot `seq` in the form of core_snapshot_content. The caller reads it
 * from the archive, because archives are not loaded into the core. It may exceed DOC_MAX. */
#define DEPLOYMENT_REVERT_FIELDS(F) F(I64, id) F(I64, seq) F(RAW, content)
#define SNAPSHOT_UPDATE_FIELDS(F) F(I64, id) F(U32, given) F(TEXT, name) F(TEXT, description)
#define DEPLOYMENT_ROLE_CREATE_FIELDS(F) F(I64, deployment_id) F(I64, role_id)
#define DEPLOYMENT_ROLE_DELETE_FIELDS(F) ID_ONLY(F)
#define DEPLOYMENT_ROLE_PROPOSE_FIELDS(F) ID_ONLY(F)
#define DEPLOYMENT_ROLE_COMMIT_FIELDS(F) ID_ONLY(F)
#define DEPLOYMENT_ROLE_DATA_FIELDS(F) F(I64, id) F(DOC, data)
#define NODE_CREATE_FIELDS(F)                                                                      \
    F(TEXT, name) F(TEXT, description) F(BOOL, admin) F(BOOL, system) F(I64, deployment_id)        \
    F(BOOL, allocated) F(BOOL, alive) F(BOOL, available) F(TEXT, bootenv) F(DOC, hint)             \
    F(DOC, discovery) F(BOOL, automatic) F(TEXT, ip) F(TEXT, mac)
/* boot_id: the boot of the machine that sent this; reports of earlier boots are ignored.
 * environment: the boot environment that the machine reports; boot_generation: the generation that
 * it was given to boot. parked_run: apply the update only while that run is parked.
 * stamp_generation: the stamp on a disk that stopped the installer (ADR 0089). */
#define NODE_UPDATE_FIELDS(F)                                                                      \
    F(I64, id) F(U32, given) F(TEXT, name) F(TEXT, description) F(I64, deployment_id)              \
    F(I64, old_deployment_id) F(I64, target_role_id) F(BOOL, allocated) F(BOOL, alive)             \
    F(BOOL, available) F(TEXT, bootenv) F(DOC, quirks) F(TEXT, boot_id) F(TEXT, environment)       \
    F(I64, boot_generation) F(I64, parked_run) F(I64, stamp_generation)
#define NODE_DELETE_FIELDS(F) ID_ONLY(F)
#define NODE_PROPOSE_FIELDS(F) ID_ONLY(F)
#define NODE_COMMIT_FIELDS(F) F(I64, id) F(TEXT, consent)
#define NODE_REDEPLOY_FIELDS(F) ID_ONLY(F)
#define NODE_DEBUG_FIELDS(F) ID_ONLY(F)
#define NODE_UNDEBUG_FIELDS(F) ID_ONLY(F)
#define NODE_POWER_FIELDS(F) F(I64, id) F(TEXT, action)
/* deployment_id 0 = the deployment of the node. */
#define NODEROLE_BIND_FIELDS(F) F(I64, node_id) F(I64, role_id) F(I64, deployment_id) F(DOC, data)
#define NODEROLE_DELETE_FIELDS(F) ID_ONLY(F)
#define NODEROLE_PROPOSE_FIELDS(F) ID_ONLY(F)
#define NODEROLE_COMMIT_FIELDS(F) F(I64, id) F(TEXT, consent)
#define NODEROLE_RETRY_FIELDS(F) ID_ONLY(F)
#define NODEROLE_DATA_FIELDS(F) F(I64, id) F(DOC, data)
/* The result of the hook `sysdata` of the role; accepted from that hook only. */
#define NODEROLE_COMPUTED_FIELDS(F) F(I64, id) F(DOC, data)
/* if_due: enqueue only if a run is due: the noderole may start, or a rerun is pending. */
#define NODEROLE_ENQUEUE_FIELDS(F) F(I64, id) F(BOOL, if_due)
#define GROUP_CREATE_FIELDS(F) F(TEXT, name) F(TEXT, description) F(TEXT, category) F(U32, order)
#define GROUP_UPDATE_FIELDS(F)                                                                     \
    F(I64, id) F(U32, given) F(TEXT, name) F(TEXT, description) F(TEXT, category) F(U32, order)
#define GROUP_DELETE_FIELDS(F) ID_ONLY(F)
#define GROUP_ADD_FIELDS(F) F(I64, id) F(I64, node_id)
#define GROUP_REMOVE_FIELDS(F) F(I64, id) F(I64, node_id)
#define HAMMER_CREATE_FIELDS(F)                                                                    \
    F(I64, node_id) F(I64, hammer_kind_id) F(TEXT, endpoint) F(TEXT, username)                     \
    F(TEXT, authenticator) F(U32, priority) F(DOC, extra)
#define HAMMER_UPDATE_FIELDS(F)                                                                    \
    F(I64, id) F(U32, given) F(U32, priority) F(TEXT, endpoint) F(TEXT, username)                  \
    F(TEXT, authenticator) F(DOC, extra)
#define HAMMER_DELETE_FIELDS(F) ID_ONLY(F)
/* access: ACCESS_VIEWER or ACCESS_OPERATOR; ACCESS_NONE means ACCESS_OPERATOR. */
#define USER_CREATE_FIELDS(F)                                                                      \
    F(TEXT, username) F(TEXT, email) F(BOOL, is_admin) F(TEXT, password_hash) F(TEXT, digest_ha1)  \
    F(U32, access) F(DOC, grants)
#define USER_UPDATE_FIELDS(F)                                                                      \
    F(I64, id) F(U32, given) F(TEXT, username) F(TEXT, email) F(BOOL, is_admin) F(BOOL, is_locked) \
    F(TEXT, password_hash) F(TEXT, digest_ha1) F(DOC, settings) F(U32, access) F(DOC, grants)
#define USER_DELETE_FIELDS(F) ID_ONLY(F)
/* hash: hex SHA-256 of the token, computed outside the core; expires_at in ms since 1970, 0 =
 * never. Either user_id or node_id is set, not both. */
#define TOKEN_CREATE_FIELDS(F)                                                                     \
    F(I64, user_id) F(TEXT, name) F(TEXT, hash) F(I64, expires_at) F(U32, access)                  \
    F(I64, deployment_id) F(I64, node_id) F(U32, kind)
#define TOKEN_DELETE_FIELDS(F) ID_ONLY(F)
#define RUN_BEGUN_FIELDS(F) F(I64, run_id) F(U32, attempt) F(TEXT, job)
/* result: RESULT_...; wall (the attribute values that the run returned) replaces the wall of the
 * noderole if has_wall. node_dead, stop and power are requests of the work about its machine: the
 * node is not alive, nothing more may run on it, a power action (docs/spec/runs.md). reason: of a
 * failure, REASON_... */
#define RUN_DONE_FIELDS(F)                                                                         \
    F(I64, run_id) F(U32, attempt) F(U32, result) F(TEXT, runlog) F(BOOL, has_wall) F(DOC, wall)   \
    F(BOOL, node_dead) F(BOOL, stop) F(TEXT, power) F(I64, park_ms) F(U32, reason)                 \
    F(TEXT, reason_subject) F(TEXT, reason_text)
#define RUN_STOPPED_FIELDS(F) F(I64, run_id) F(U32, attempt)
#define RUN_RESUME_FIELDS(F) F(I64, run_id)
#define RUN_CANCEL_FIELDS(F) F(I64, run_id)
/* hook_commands: the commands that the hook requested, each as written by command_encode. For a
 * probe, failed means that the node did not answer. reason: of a failure, REASON_...
 * power_state: the state that the machine reported after a power action, POWER_STATE_...;
 * power_driver: the hammer (power driver) that performed it. */
#define OUTBOX_DONE_FIELDS(F)                                                                      \
    F(I64, outbox_id) F(BOOL, failed) F(TEXT, text) F(RAW, hook_commands) F(U32, reason)           \
    F(TEXT, reason_subject) F(U32, power_state) F(TEXT, power_driver)
/* A power action is about to be sent to the machine. Stored first, so that an action whose
 * result is lost in a crash is not performed twice. */
#define OUTBOX_BEGUN_FIELDS(F) F(I64, outbox_id)
/* budget: number of changed rows after which the annealer stops; 0 = no bound. */
#define ANNEAL_FIELDS(F) F(U32, budget)
#define TICK_FIELDS(F) F(U32, unused)
/* keys: all host keys of the ssh server of the node, one line "TYPE BASE64" for each. boot: the
 * boot generation of the node when the keys were read; HOST_KEY_ANY_BOOT: the pins are valid for
 * every boot. is_own: one of the keys is a host key of the machine that the daemon runs on.
 * outbox_id: the probe that read them, which must be the current probe of the node; 0: read
 * without a probe. */
#define NODE_PIN_KEYS_FIELDS(F)                                                                    \
    F(I64, id) F(TEXT, keys) F(I64, boot) F(BOOL, is_own) F(I64, outbox_id)
/* Delete all pinned keys of the node; the next first contact pins the keys that it reads. */
#define NODE_FORGET_KEY_FIELDS(F) ID_ONLY(F)
/* commands: each as written by command_encode, executed in order, all of them or none; each sees
 * the changes of those before it. Caller and times are those of the batch. */
#define BATCH_FIELDS(F) F(RAW, commands)
/* The power state of the node was read without a power action. order: node.power_order when the
 * reading began; a result that names another one is outdated and changes nothing. reason: of a
 * failed reading, whose state is ignored; REASON_NONE = success. text: message of the failure. */
#define NODE_POWER_READ_FIELDS(F)                                                                  \
    F(I64, id) F(I64, order) F(U32, state) F(TEXT, driver) F(U32, reason) F(TEXT, text)
/* Settings of a network, of new and of existing ones. A field that is not given has its default in
 * a new network and stays in an existing one. v6prefix may be "auto". */
#define NETWORK_SETTINGS(F)                                                                        \
    F(TEXT, description) F(U32, order) F(I64, vlan) F(BOOL, use_vlan) F(BOOL, use_bridge)          \
    F(I64, team_mode) F(BOOL, use_team) F(TEXT, v6prefix) F(TEXT, conduit) F(BOOL, configure)      \
    F(TEXT, category) F(TEXT, group) F(TEXT, pbr)
/* ranges: [{"name":..,"first":..,"last":..}, ...] with the fields of NETWORK_RANGE_SETTINGS, null =
 * inherited; router: {"address":..,"pref":..}. Both may be empty. deployment_id 0 = system. */
#define NETWORK_CREATE_FIELDS(F)                                                                   \
    F(TEXT, name) F(I64, deployment_id) F(DOC, ranges) F(DOC, router) F(U32, given)                \
    NETWORK_SETTINGS(F)
#define NETWORK_UPDATE_FIELDS(F) F(I64, id) F(U32, given) NETWORK_SETTINGS(F)
#define NETWORK_DELETE_FIELDS(F) ID_ONLY(F)
/* inherit: mask of interface settings (RANGE_OWN_...) that the range inherits again. */
#define NETWORK_RANGE_SETTINGS(F)                                                                  \
    F(TEXT, name) F(TEXT, first) F(TEXT, last) F(TEXT, conduit) F(I64, vlan) F(BOOL, use_vlan)     \
    F(BOOL, use_bridge) F(I64, team_mode) F(BOOL, use_team) F(BOOL, overlap) F(U32, inherit)
#define NETWORK_RANGE_CREATE_FIELDS(F) F(I64, network_id) F(U32, given) NETWORK_RANGE_SETTINGS(F)
#define NETWORK_RANGE_UPDATE_FIELDS(F) F(I64, id) F(U32, given) NETWORK_RANGE_SETTINGS(F)
/* A new router without an address gets the first address of the oldest range of the network. */
#define NETWORK_ROUTER_CREATE_FIELDS(F)                                                            \
    F(I64, network_id) F(U32, given) F(TEXT, address) F(U32, pref)
#define NETWORK_ROUTER_UPDATE_FIELDS(F) F(I64, id) F(U32, given) F(TEXT, address) F(U32, pref)
#define NETWORK_ROUTER_DELETE_FIELDS(F) ID_ONLY(F)
/* range_id 0: the ranges that the network has for the node (docs/spec/networks.md). address: this
 * one or a refusal; suggestion: this one if it is free. At most one of them. */
#define NETWORK_ALLOCATE_FIELDS(F)                                                                 \
    F(I64, node_id) F(I64, network_id) F(I64, range_id) F(TEXT, address) F(TEXT, suggestion)
#define NETWORK_DEALLOCATE_FIELDS(F) ID_ONLY(F)
/* A client that is not a node gets the address for lease_s seconds, or keeps it. */
#define LEASE_TAKE_FIELDS(F) F(I64, range_id) F(TEXT, address) F(TEXT, mac) F(U32, lease_s)
/* The client with this MAC gives its address back; another client's lease is not ended. */
#define LEASE_RELEASE_FIELDS(F) F(TEXT, address) F(TEXT, mac)
/* The client with this MAC found that another host uses the address. */
#define LEASE_DECLINE_FIELDS(F) F(I64, range_id) F(TEXT, address) F(TEXT, mac)
/* Makes nic rows of the hints and discoveries of all nodes, once: stores of versions without these
 * rows have none. */
#define NICS_MAKE_FIELDS(F) F(U32, unused)
/* The MAC, which another node has, belongs to this node from now on. */
#define NIC_MOVE_FIELDS(F) F(I64, node_id) F(TEXT, mac)
#define DNS_NAME_FILTER_SETTINGS(F)                                                                \
    F(TEXT, name) F(TEXT, matcher) F(U32, priority) F(TEXT, service) F(TEXT, template)
#define DNS_NAME_FILTER_CREATE_FIELDS(F) F(U32, given) DNS_NAME_FILTER_SETTINGS(F)
#define DNS_NAME_FILTER_UPDATE_FIELDS(F) F(I64, id) F(U32, given) DNS_NAME_FILTER_SETTINGS(F)
#define DNS_NAME_FILTER_DELETE_FIELDS(F) ID_ONLY(F)
/* The machine of the node, which boots this generation, asks for the installer. ticket: lower-case
 * hex SHA-256 of its ticket. mac: of the interface that it booted from. The outcome has one of enum
 * grant_answer (model/grant.h). */
#define GRANT_USE_FIELDS(F) F(I64, node_id) F(I64, generation) F(TEXT, ticket) F(TEXT, mac)
/* The boot server on a node. event: enum boot_event. turn: of BOOT_EVENT_TAKEN, the turn whose view
 * it has. text: of BOOT_EVENT_FAILED, what it cannot serve, and why. */
#define BOOT_SERVER_FIELDS(F) F(I64, node_id) F(U32, event) F(I64, turn) F(TEXT, text)
/* A boot server has looked for the files of the boot environment. */
#define BOOTENV_REPORT_FIELDS(F) F(TEXT, name) F(BOOL, available)

enum boot_event {
    BOOT_EVENT_CONNECTED, BOOT_EVENT_TAKEN, BOOT_EVENT_LOST, BOOT_EVENT_FAILED, BOOT_EVENT_COUNT
};

enum run_result {
    RESULT_OK, RESULT_FAILED, RESULT_ASYNC, RESULT_PARKED, RESULT_LOST, RESULT_COUNT,
    RESULT_CANCELLED = RESULT_COUNT /* in the run history only; no runner reports it */
};

enum {
    GIVEN_SETTINGS_POOL_NORMAL = 1, GIVEN_SETTINGS_POOL_HIGH = 2, GIVEN_SETTINGS_MAX_DEPTH = 4,
    GIVEN_SETTINGS_TEST_JIG = 8, GIVEN_SETTINGS_KEEP_RUNS = 16, GIVEN_SETTINGS_RUN_DEADLINE = 32,
    GIVEN_SETTINGS_BARRIER = 64, GIVEN_SETTINGS_HOST_KEYS_IMPORTED = 128,
    GIVEN_SETTINGS_INSTALL_WAIT = 256, GIVEN_SETTINGS_BOOT_SERVER = 512,
    GIVEN_JIG_DESCRIPTION = 1, GIVEN_JIG_ACTIVE = 2, GIVEN_JIG_SERVER = 4,
    GIVEN_JIG_CLIENT_NAME = 8, GIVEN_JIG_KEY = 16,
    GIVEN_ROLE_DESCRIPTION = 1, GIVEN_ROLE_TEMPLATE = 2,
    GIVEN_ROLE_COMPUTED = 4, /* the template was computed by the role's code: request no reruns */
    GIVEN_NAME = 1, GIVEN_DESCRIPTION = 2, /* deployment, snapshot, group, node */
    GIVEN_NODE_DEPLOYMENT = 4, GIVEN_NODE_OLD_DEPLOYMENT = 8, GIVEN_NODE_TARGET = 16,
    GIVEN_NODE_ALLOCATED = 32,
    GIVEN_NODE_ALIVE = 64, GIVEN_NODE_AVAILABLE = 128, GIVEN_NODE_BOOTENV = 256,
    GIVEN_NODE_QUIRKS = 512, GIVEN_NODE_BOOT_ID = 1024, GIVEN_NODE_ENVIRONMENT = 2048,
    GIVEN_NODE_BOOT_GENERATION = 4096, GIVEN_NODE_PARKED_RUN = 8192,
    GIVEN_NODE_STAMP = 16384,
    GIVEN_GROUP_CATEGORY = 4, GIVEN_GROUP_ORDER = 8,
    GIVEN_HAMMER_PRIORITY = 1, GIVEN_HAMMER_ENDPOINT = 2, GIVEN_HAMMER_USERNAME = 4,
    GIVEN_HAMMER_AUTHENTICATOR = 8, GIVEN_HAMMER_EXTRA = 16,
    GIVEN_USER_USERNAME = 1, GIVEN_USER_EMAIL = 2, GIVEN_USER_IS_ADMIN = 4,
    GIVEN_USER_IS_LOCKED = 8,
    GIVEN_USER_PASSWORD_HASH = 16, GIVEN_USER_DIGEST_HA1 = 32, GIVEN_USER_SETTINGS = 64,
    GIVEN_USER_ACCESS = 128, GIVEN_USER_GRANTS = 256,
    GIVEN_NETWORK_DESCRIPTION = 1, GIVEN_NETWORK_ORDER = 2, GIVEN_NETWORK_VLAN = 4,
    GIVEN_NETWORK_USE_VLAN = 8, GIVEN_NETWORK_USE_BRIDGE = 16, GIVEN_NETWORK_TEAM_MODE = 32,
    GIVEN_NETWORK_USE_TEAM = 64, GIVEN_NETWORK_V6PREFIX = 128, GIVEN_NETWORK_CONDUIT = 256,
    GIVEN_NETWORK_CONFIGURE = 512, GIVEN_NETWORK_CATEGORY = 1024, GIVEN_NETWORK_GROUP = 2048,
    GIVEN_NETWORK_PBR = 4096,
    GIVEN_RANGE_NAME = 1, GIVEN_RANGE_FIRST = 2, GIVEN_RANGE_LAST = 4, GIVEN_RANGE_CONDUIT = 8,
    GIVEN_RANGE_VLAN = 16, GIVEN_RANGE_USE_VLAN = 32, GIVEN_RANGE_USE_BRIDGE = 64,
    GIVEN_RANGE_TEAM_MODE = 128, GIVEN_RANGE_USE_TEAM = 256, GIVEN_RANGE_OVERLAP = 512,
    GIVEN_RANGE_INHERIT = 1024,
    GIVEN_ROUTER_ADDRESS = 1, GIVEN_ROUTER_PREF = 2,
    GIVEN_FILTER_NAME = 1, GIVEN_FILTER_MATCHER = 2, GIVEN_FILTER_PRIORITY = 4,
    GIVEN_FILTER_SERVICE = 8, GIVEN_FILTER_TEMPLATE = 16,
};

/* clang-format on */

#define C(upper, lower)                                                                            \
    struct lower##_command {                                                                       \
        upper##_FIELDS(FIELD_MEMBER)                                                               \
    };
COMMANDS(C)
#undef C

/* The reply of a hook to a veto request of the core about this command (core.h). */
struct veto_reply {
    uint64_t key; /* of the veto request */
    bool veto;
    struct str text;
};

/* The caller of a command that came through the API. The core checks the rights of the caller in
 * the step that executes the command (core/access/authority.c), so that rights that were
 * withdrawn while the command waited do not count. Commands of the daemon itself are not
 * external and are not limited. */
struct principal {
    bool is_external;
    int64_t user_id;
    int64_t token_id; /* 0: authenticated by password, not by token or session   */
    int64_t node_id;  /* the token belongs to this node; user_id is 0            */
};

/* Value of if_turn: if the object has been deleted, the command succeeds and changes nothing. */
#define IF_THERE (-1)

struct command {
    enum command_kind kind;
    int64_t request;    /* id of the request that waits for the outcome; 0 = none */
    struct str actor;   /* for the audit: "user admin", "hook on_todo of x", "runner" ... */
    struct str address; /* numeric address of the client, for the audit; empty: no client */
    int64_t now_ms;     /* ordering timestamp: never decreases (ADR 0069) */
    int64_t mono_ms;    /* monotonic clock, for deadlines */
    int64_t wall_ms;    /* wall clock, for the expiry of credentials */
    uint64_t nonce[2];
    uint32_t depth;  /* length of the chain of hooks that caused this command; 0 from outside */
    int64_t if_turn; /* precondition: turn of the last change of the object; 0 = none */
    struct principal by;
    bool is_dry;     /* dry run of a commit: compute the plan, change nothing */
    bool is_brief;   /* of a dry run: compute the list that needs consent, not the plan */
    bool is_summary; /* of a plan: the totals only */
    const struct veto_reply *veto_replies;
    uint32_t veto_reply_count;
    union {
#define C(upper, lower) struct lower##_command lower;
        COMMANDS(C)
#undef C
    };
};

const struct layout *command_layout(enum command_kind kind);
const char *command_name(enum command_kind kind);
/* True if commands of this kind may be part of COMMAND_BATCH. */
bool command_is_for_batch(enum command_kind kind);
/* Address of the payload, the first member of the union. */
void *command_payload(struct command *command);
const void *command_payload_const(const struct command *command);

void command_encode(const struct command *command, struct buf *out);
NODISCARD err command_decode(struct arena *arena, struct str bytes, uint32_t *at,
                             struct command *out_command);
/* A copy whose strings are in the arena. */
struct command command_copy(struct arena *arena, const struct command *command);
