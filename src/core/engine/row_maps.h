/* row_maps.h - the mapping between the fields of rows and records.
 *
 * One list for each table: TEXT(field) is a string or document that the row refers to by a handle,
 * SAME(field) a plain value with the same name in both, REF(row field, noun, record field) a
 * reference that the record stores as an id. The conversion to records (records.c), the conversion
 * from records (load.c) and the check of reference counts (check_texts.c) are generated from these
 * lists, so a field cannot be forgotten in one of them. Fields that fit none of the three forms are
 * converted by hand in records.c and load.c.
 */
#pragma once

#include "core/engine/rows.h"

/* clang-format off */

#define SETTINGS_MAP(TEXT, SAME, REF)                                                              \
    SAME(max_depth) SAME(test_jig) SAME(keep_runs) SAME(run_deadline_s) SAME(barrier_s) \
    SAME(host_keys_imported) SAME(nics_made) SAME(install_wait_s) \
    SAME(boot_server)
#define COUNTER_MAP(TEXT, SAME, REF)  SAME(last)
#define BARCLAMP_MAP(TEXT, SAME, REF)                                                              \
    TEXT(name)                                                                                     \
    TEXT(description)                                                                              \
    TEXT(version) TEXT(build_version) TEXT(source_url) TEXT(source_path) TEXT(commit)              \
        TEXT(build_on) TEXT(cfg_data)
#define JIG_MAP(TEXT, SAME, REF)                                                                   \
    TEXT(name)                                                                                     \
    TEXT(description)                                                                              \
    TEXT(class_name)                                                                               \
    SAME(order) SAME(active) TEXT(inactive_reason) TEXT(client_role_name) TEXT(server)             \
        TEXT(client_name) TEXT(key)
#define HAMMER_KIND_MAP(TEXT, SAME, REF) TEXT(name) TEXT(klass) SAME(priority)
#define ROLE_MAP(TEXT, SAME, REF)                                                                  \
    TEXT(name)                                                                                     \
    TEXT(description)                                                                              \
    TEXT(class_name)                                                                               \
    TEXT(jig_name) REF(barclamp, barclamp, barclamp_id) SAME(flags) SAME(hooks) SAME(cohort)       \
        TEXT(requires) TEXT(wants) TEXT(provides) TEXT(conflicts) TEXT(announces) TEXT(template)   \
            TEXT(notes) SAME(attempts) SAME(backoff_s) SAME(deadline_s) SAME(defaults)             \
                SAME(network_id) TEXT(per_name) TEXT(lists_services)
#define ATTRIB_MAP(TEXT, SAME, REF)                                                                \
    TEXT(name)                                                                                     \
    TEXT(description)                                                                              \
    REF(barclamp, barclamp, barclamp_id)                                                           \
    REF(role, role, role_id) SAME(writable) SAME(order) TEXT(map) TEXT(ui_renderer) TEXT(schema)   \
        TEXT(default_value)
#define DEPLOYMENT_MAP(TEXT, SAME, REF)                                                            \
    TEXT(name) TEXT(description) REF(parent, deployment, parent_id) SAME(system) \
    SAME(rerunning)
#define SNAPSHOT_MAP(TEXT, SAME, REF)                                                              \
    REF(deployment, deployment, deployment_id)                                                     \
    SAME(seq)                                                                                      \
    TEXT(name)                                                                                     \
    TEXT(description) SAME(order) SAME(predecessor_id) SAME(state) SAME(since) SAME(committed_at)  \
        SAME(archived_at) TEXT(actor) TEXT(counts)
#define DEPLOYMENT_ROLE_MAP(TEXT, SAME, REF)                                                       \
    REF(deployment, deployment, deployment_id)                                                     \
    REF(role, role, role_id)                                                                       \
    SAME(proposed) TEXT(proposed_data) TEXT(committed_data) TEXT(wall) TEXT(notes) SAME(data_from)
#define NODE_MAP(TEXT, SAME, REF)                                                                  \
    TEXT(name)                                                                                     \
    TEXT(description)                                                                              \
    SAME(admin)                                                                                    \
    SAME(system) REF(deployment, deployment, deployment_id) REF(target, role, target_role_id)      \
        SAME(allocated) SAME(alive) SAME(available) SAME(stopped) SAME(alive_since)                \
            SAME(available_since) TEXT(bootenv) SAME(order) TEXT(quirks) TEXT(discovery)           \
                TEXT(hint) TEXT(notes) SAME(boot_generation) TEXT(status)     \
                TEXT(boot_id) TEXT(old_boots) SAME(reason) TEXT(reason_subject)             \
                SAME(automatic) SAME(power_state) SAME(power_read_at) TEXT(power_driver)    \
                SAME(power_reason) TEXT(power_error) SAME(power_order) TEXT(power_results)       \
                SAME(grant_noderole) TEXT(grant_ticket) SAME(grant_at) SAME(grant_void)     \
                SAME(stamp_generation)
#define NODEROLE_MAP(TEXT, SAME, REF)                                                              \
    REF(deployment, deployment, deployment_id)                                                     \
    REF(role, role, role_id)                                                                       \
    REF(node, node, node_id)                                                                       \
    SAME(since) SAME(cohort) SAME(run_count) SAME(attempt) SAME(order) SAME(unavailable)           \
        SAME(rerun) SAME(removing) SAME(hook_failed) SAME(member_from) SAME(data_from)             \
            TEXT(status) TEXT(runlog) TEXT(proposed_data) TEXT(committed_data) TEXT(computed)      \
                TEXT(sysdata) TEXT(wall) TEXT(notes) SAME(defaults) SAME(reason)                   \
                    TEXT(reason_subject) TEXT(reason_text) SAME(status_hook) SAME(grant_barred) \
                    SAME(boot_cursor) SAME(boot_staged)
#define RUN_MAP(TEXT, SAME, REF)                                                                   \
    SAME(node_id)                                                                                  \
    SAME(noderole_id)                                                                              \
    SAME(state)                                                                                    \
    SAME(queue) SAME(attempt) SAME(frozen) SAME(begun) SAME(committed) SAME(started_at)            \
        SAME(park_left_ms) TEXT(job) TEXT(data) SAME(tries)
#define HAMMER_MAP(TEXT, SAME, REF)                                                                \
    REF(node, node, node_id)                                                                       \
    REF(kind, hammer_kind, hammer_kind_id)                                                         \
    SAME(priority) TEXT(name) TEXT(endpoint) TEXT(username) TEXT(authenticator) TEXT(extra)
#define GROUP_MAP(TEXT, SAME, REF) TEXT(name) TEXT(description) TEXT(category) SAME(order)
#define USER_MAP(TEXT, SAME, REF)                                                                  \
    TEXT(username)                                                                                 \
    TEXT(email) SAME(is_admin) SAME(is_locked) TEXT(password_hash) TEXT(digest_ha1) TEXT(settings) \
    SAME(access) TEXT(grants)
#define TOKEN_MAP(TEXT, SAME, REF)                                                                 \
    REF(user, user, user_id) TEXT(name) TEXT(hash) SAME(expires_at) SAME(access)                   \
    REF(deployment, deployment, deployment_id) REF(node, node, node_id) SAME(kind)
#define OUTBOX_MAP(TEXT, SAME, REF)                                                                \
    SAME(kind) SAME(hook) SAME(role_id) SAME(object) SAME(object_id) SAME(depth) TEXT(detail)  \
        SAME(generation) SAME(left_ms) SAME(begun)

#define HOST_KEY_MAP(TEXT, SAME, REF) REF(node, node, node_id) TEXT(key) SAME(since_ms) SAME(boot)

#define NETWORK_MAP(TEXT, SAME, REF)                                                               \
    TEXT(name) TEXT(description) REF(deployment, deployment, deployment_id) SAME(order) SAME(vlan) \
    SAME(use_vlan) SAME(use_bridge) SAME(team_mode) SAME(use_team) TEXT(v6prefix) TEXT(conduit)    \
    SAME(configure) TEXT(category) TEXT(group) TEXT(pbr)         \
    SAME(deleting)
#define NETWORK_RANGE_MAP(TEXT, SAME, REF)                                                         \
    REF(network, network, network_id) TEXT(name) TEXT(first) TEXT(last) SAME(own) TEXT(conduit)    \
    SAME(vlan) SAME(use_vlan) SAME(use_bridge) SAME(team_mode) SAME(use_team) SAME(overlap)
#define NETWORK_ROUTER_MAP(TEXT, SAME, REF)                                                        \
    REF(network, network, network_id) TEXT(address) SAME(pref)
#define NETWORK_ALLOCATION_MAP(TEXT, SAME, REF)                                                    \
    REF(node, node, node_id) REF(network, network, network_id)                                     \
    REF(range, network_range, network_range_id) TEXT(address)
#define LEASE_MAP(TEXT, SAME, REF)                                                                 \
    REF(range, network_range, network_range_id) TEXT(address) SAME(mac) SAME(state) SAME(node_id)  \
    SAME(left_ms)

#define NIC_MAP(TEXT, SAME, REF)                                                                   \
    REF(node, node, node_id) SAME(mac) TEXT(name) TEXT(bus) TEXT(driver) SAME(speed_max)           \
    SAME(hinted) SAME(discovered) SAME(link)
#define DNS_NAME_FILTER_MAP(TEXT, SAME, REF)                                                       \
    TEXT(name) TEXT(matcher) SAME(priority) TEXT(service) TEXT(template) SAME(deleting)
#define DNS_NAME_ENTRY_MAP(TEXT, SAME, REF)                                                        \
    REF(allocation, network_allocation, network_allocation_id)                                     \
    REF(filter, dns_name_filter, dns_name_filter_id) TEXT(name)
#define BOOTENV_MAP(TEXT, SAME, REF)                                                               \
    TEXT(name) TEXT(kernel) TEXT(initrd) TEXT(args) TEXT(method) TEXT(os) SAME(available)          \
    REF(barclamp, barclamp, barclamp_id)
#define BOOT_DUE_MAP(TEXT, SAME, REF)                                                              \
    REF(noderole, noderole, noderole_id) SAME(node_id) SAME(attempt)

/* OBJECTS(X) expands to X(UPPER, lower) for every table of objects. */
#define OBJECTS(X)                                                                                 \
    X(SETTINGS, settings)                                                                          \
    X(COUNTER, counter)                                                                            \
    X(BARCLAMP, barclamp)                                                                          \
    X(JIG, jig)                                                                                    \
    X(HAMMER_KIND, hammer_kind)                                                                    \
    X(ROLE, role)                                                                                  \
    X(ATTRIB, attrib)                                                                              \
    X(DEPLOYMENT, deployment)                                                                      \
    X(SNAPSHOT, snapshot)                                                                          \
    X(DEPLOYMENT_ROLE, deployment_role)                                                            \
    X(NODE, node)                                                                                  \
    X(NODEROLE, noderole)                                                                          \
    X(RUN, run)                                                                                    \
    X(HAMMER, hammer)                                                                              \
    X(GROUP, group)                                                                                \
    X(USER, user)                                                                                  \
    X(TOKEN, token)                                                                                \
    X(OUTBOX, outbox)                                                                              \
    X(HOST_KEY, host_key)                                                                          \
    X(NETWORK, network)                                                                            \
    X(NETWORK_RANGE, network_range)                                                                \
    X(NETWORK_ROUTER, network_router)                                                              \
    X(NETWORK_ALLOCATION, network_allocation)                                                      \
    X(LEASE, lease)                                                                                \
    X(NIC, nic)                                                                                    \
    X(DNS_NAME_FILTER, dns_name_filter)                                                            \
    X(DNS_NAME_ENTRY, dns_name_entry)                                                              \
    X(BOOTENV, bootenv)                                                                            \
    X(BOOT_DUE, boot_due)

/* clang-format on */
