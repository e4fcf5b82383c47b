/* record.h - the stored form of all data: one record type per table.
 *
 * A record holds all durable fields of one object, with durable ids and strings and without pool
 * indices of the core, which converts rows to records and back. All others see records only.
 *
 * Objects have an id and are updated. Relations have no fields but their key, and are inserted and
 * deleted. Archives are written once and never loaded; old runs are deleted (docs/spec/runs.md).
 */
#pragma once

#include "model/access_level.h"
#include "model/fields.h"
#include "model/network_record.h"
#include "model/power.h"

#define TABLES(T)                                                                                  \
    T(SETTINGS, settings)                                                                          \
    T(COUNTER, counter)                                                                            \
    T(BARCLAMP, barclamp)                                                                          \
    T(JIG, jig)                                                                                    \
    T(HAMMER_KIND, hammer_kind)                                                                    \
    T(ROLE, role)                                                                                  \
    T(ATTRIB, attrib)                                                                              \
    T(DEPLOYMENT, deployment)                                                                      \
    T(SNAPSHOT, snapshot)                                                                          \
    T(DEPLOYMENT_ROLE, deployment_role)                                                            \
    T(NODE, node)                                                                                  \
    T(NODEROLE, noderole)                                                                          \
    T(RUN, run)                                                                                    \
    T(HAMMER, hammer)                                                                              \
    T(GROUP, group)                                                                                \
    T(USER, user)                                                                                  \
    T(TOKEN, token)                                                                                \
    T(OUTBOX, outbox)                                                                              \
    T(HOST_KEY, host_key)                                                                          \
    T(NETWORK, network)                                                                            \
    T(NETWORK_RANGE, network_range)                                                                \
    T(NETWORK_ROUTER, network_router)                                                              \
    T(NETWORK_ALLOCATION, network_allocation)                                                      \
    T(LEASE, lease)                                                                                \
    T(NIC, nic)                                                                                    \
    T(DNS_NAME_FILTER, dns_name_filter)                                                            \
    T(DNS_NAME_ENTRY, dns_name_entry)                                                              \
    T(BOOTENV, bootenv)                                                                            \
    T(BOOT_DUE, boot_due)                                                                          \
    /* relations */                                                                                \
    T(EDGE, edge)                                                                                  \
    T(LINK, link)                                                                                  \
    T(MEMBERSHIP, membership)                                                                      \
    /* archives */                                                                                 \
    T(OLD_MEMBER, old_member)                                                                      \
    T(OLD_DATA, old_data)                                                                          \
    T(EVENT, event)                                                                                \
    T(OLD_RUN, old_run)

enum table {
#define T(upper, lower) TABLE_##upper,
    TABLES(T)
#undef T
        TABLE_COUNT,
    TABLE_OBJECTS = TABLE_EDGE,      /* tables with lower numbers hold objects               */
    TABLE_LOADED = TABLE_OLD_MEMBER, /* tables with lower numbers are loaded into the core   */
};

/* Fields of every object: id, times in ms since 1970, turn of the last change (the ETag). */
#define OBJECT_FIELDS(F)                                                                           \
    F(I64, id)                                                                                     \
    F(I64, created_at)                                                                             \
    F(I64, updated_at)                                                                             \
    F(I64, turn)

/* id 1 only. */
#define SETTINGS_FIELDS(F)                                                                         \
    OBJECT_FIELDS(F)                                                                               \
    F(U32, pool_normal)                                                                            \
    F(U32, pool_high)                                                                              \
    F(U32, max_depth)           /* of the deployment tree; 0 = unlimited */                        \
    F(BOOL, test_jig)           /* roles with other jigs run on the test jig (ADR 0020) */         \
    F(U32, keep_runs)           /* number of ended runs that are kept of each noderole */          \
    F(U32, run_deadline_s)      /* deadline of runs whose role has none; 0 = none */               \
    F(U32, barrier_s)           /* timeout of the boot barrier; 0 = power actions do not wait */   \
    F(BOOL, host_keys_imported) /* known_hosts of an older version was converted to rows */        \
    F(BOOL, nics_made)          /* nic rows were made of the hints and discoveries of all nodes */ \
    F(U32, install_wait_s)      /* silence of an installer that is a fault; 0 = no bound */        \
    F(BOOL, boot_server)        /* a boot server has connected: native noderoles serve boots */

/* id = table number + 1; the last id that was assigned in that table. */
#define COUNTER_FIELDS(F)                                                                          \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, last)

#define BARCLAMP_FIELDS(F)                                                                         \
    OBJECT_FIELDS(F)                                                                               \
    F(TEXT, name)                                                                                  \
    F(TEXT, description)                                                                           \
    F(I64, parent_id)                                                                              \
    F(TEXT, version)                                                                               \
    F(TEXT, build_version)                                                                         \
    F(TEXT, source_url)                                                                            \
    F(TEXT, source_path)                                                                           \
    F(TEXT, commit)                                                                                \
    F(TEXT, build_on)                                                                              \
    F(DOC, cfg_data)

#define JIG_FIELDS(F)                                                                              \
    OBJECT_FIELDS(F)                                                                               \
    F(TEXT, name)                                                                                  \
    F(TEXT, description)                                                                           \
    F(TEXT, class_name)                                                                            \
    F(U32, order)                                                                                  \
    F(BOOL, active)                                                                                \
    F(TEXT, inactive_reason)                                                                       \
    F(TEXT, client_role_name)                                                                      \
    F(TEXT, server)                                                                                \
    F(TEXT, client_name)                                                                           \
    F(TEXT, key)

#define HAMMER_KIND_FIELDS(F)                                                                      \
    OBJECT_FIELDS(F)                                                                               \
    F(TEXT, name)                                                                                  \
    F(TEXT, klass)                                                                                 \
    F(U32, priority)

#define ROLE_FIELDS(F)                                                                             \
    OBJECT_FIELDS(F)                                                                               \
    F(TEXT, name)                                                                                  \
    F(TEXT, description)                                                                           \
    F(TEXT, class_name)                                                                            \
    F(TEXT, jig_name)                                                                              \
    F(I64, barclamp_id)                                                                            \
    F(U32, flags) /* ROLE_IMPLICIT ... */                                                          \
    F(U32, hooks) /* mask of the hooks that its code defines: 1 << HOOK_... */                     \
    F(U32, cohort)                                                                                 \
    F(DOC, requires)  /* ["name", ...] */                                                          \
    F(DOC, wants)     /* [{"at":path,"name":attrib}, ...] */                                       \
    F(DOC, provides)  /* ["name", ...] */                                                          \
    F(DOC, conflicts) /* ["name", ...] */                                                          \
    F(DOC, announces) /* boot, power and wipe steps it declares: ["wipe", ...] */                  \
    F(DOC, template)                                                                               \
    F(DOC, notes)                                                                                  \
    F(U32, attempts)   /* starts before a run counts as failed; 0 means 1 */                       \
    F(U32, backoff_s)  /* delay before the second start; doubles with each further one */          \
    F(U32, deadline_s) /* of a run; 0 = settings.run_deadline_s */                                 \
    F(U32, defaults)   /* version of the default data of its noderoles: changes by imports */      \
    F(I64, network_id) /* network that a role with `per: network` was made for; 0 = none */        \
    F(TEXT, per_name)  /* its name in the barclamp, "network-{name}"; empty for other roles */     \
    F(TEXT, lists_services) /* attrib whose value lists the DNS services that exist; empty = none */

#define ATTRIB_FIELDS(F)                                                                           \
    OBJECT_FIELDS(F)                                                                               \
    F(TEXT, name)                                                                                  \
    F(TEXT, description)                                                                           \
    F(I64, barclamp_id) /* 0 = none */                                                             \
    F(I64, role_id)     /* 0 = an attrib of nodes */                                               \
    F(BOOL, writable)                                                                              \
    F(U32, order)                                                                                  \
    F(TEXT, map)                                                                                   \
    F(TEXT, ui_renderer)                                                                           \
    F(DOC, schema)        /* empty = none */                                                       \
    F(DOC, default_value) /* {"value":X} or {} */

#define DEPLOYMENT_FIELDS(F)                                                                       \
    OBJECT_FIELDS(F)                                                                               \
    F(TEXT, name)                                                                                  \
    F(TEXT, description)                                                                           \
    F(I64, parent_id) /* 0 for system */                                                           \
    F(BOOL, system)                                                                                \
    F(I64, head_id)    /* snapshot */                                                              \
    F(I64, phantom_id) /* node that carries its services */                                        \
    F(BOOL, rerunning) /* noderoles that ran with other defaults are being rerun */

#define SNAPSHOT_FIELDS(F)                                                                         \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, deployment_id)                                                                          \
    F(U32, seq)                                                                                    \
    F(TEXT, name)                                                                                  \
    F(TEXT, description)                                                                           \
    F(U32, order)                                                                                  \
    F(I64, predecessor_id)                                                                         \
    F(U32, state) /* SNAPSHOT_PROPOSED ... */                                                      \
    F(I64, since) /* when it entered that state, ms since 1970 */                                  \
    F(I64, committed_at)                                                                           \
    F(I64, archived_at)                                                                            \
    F(TEXT, actor)                                                                                 \
    F(DOC, counts) /* number of noderoles in each state when it was archived */

#define DEPLOYMENT_ROLE_FIELDS(F)                                                                  \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, deployment_id)                                                                          \
    F(I64, role_id)                                                                                \
    F(BOOL, proposed) /* proposed_data differs from committed_data and is in effect */             \
    F(DOC, proposed_data)                                                                          \
    F(DOC, committed_data)                                                                         \
    F(DOC, wall)                                                                                   \
    F(DOC, notes)                                                                                  \
    F(I64, data_from) /* first snapshot seq with this committed_data */

#define NODE_FIELDS(F)                                                                             \
    OBJECT_FIELDS(F)                                                                               \
    F(TEXT, name)                                                                                  \
    F(TEXT, description)                                                                           \
    F(BOOL, admin)                                                                                 \
    F(BOOL, system)                                                                                \
    F(I64, deployment_id)                                                                          \
    F(I64, target_role_id)                                                                         \
    F(BOOL, allocated)                                                                             \
    F(BOOL, alive)                                                                                 \
    F(BOOL, available)                                                                             \
    F(BOOL, stopped) /* a script requested that nothing runs here until an operator retries */     \
    F(I64, alive_since)                                                                            \
    F(I64, available_since)                                                                        \
    F(TEXT, bootenv)                                                                               \
    F(U32, order)                                                                                  \
    F(DOC, quirks) /* sorted array; empty = [] */                                                  \
    F(DOC, discovery)                                                                              \
    F(DOC, hint)                                                                                   \
    F(DOC, notes)                                                                                  \
    F(I64, boot_generation) /* number of changes of the boot environment */                        \
    F(TEXT, status)         /* last failure of a power action; empty = none */                     \
    F(TEXT, boot_id)        /* the boot that reported last; empty = no boot sent its id */         \
    F(DOC, old_boots)       /* array of earlier boot ids, newest first; empty = [] */              \
    F(U32, reason)          /* of that status: REASON_..., model/reason.h */                       \
    F(TEXT, reason_subject)                                                                        \
    F(BOOL, automatic)     /* created by the first start for the host of the daemon (ADR 0070) */  \
    F(U32, power_state)    /* last reading: POWER_STATE_... */                                     \
    F(I64, power_read_at)  /* time of that reading, ms since 1970; 0 = never */                    \
    F(TEXT, power_driver)  /* hammer (power driver) that read it */                                \
    F(U32, power_reason)   /* failure of a later reading: REASON_...; REASON_NONE = none */        \
    F(TEXT, power_error)   /* message of that failure */                                           \
    F(I64, power_order)    /* newest performed power action; older readings are outdated */        \
    F(DOC, power_results)  /* array of the last power actions and results; empty = [] */           \
    F(I64, grant_noderole) /* owner of the grant (model/grant.h); 0 = none */                      \
    F(TEXT, grant_ticket)  /* hash of the ticket that has used it; empty = unused, or void */      \
    F(I64, grant_at)       /* time of that use, ms since 1970; 0 = never */                        \
    F(U32, grant_void)     /* GRANT_VOID_... */                                                    \
    F(I64, stamp_generation) /* of a stamp that stopped the installer; 0 = none */

#define NODEROLE_FIELDS(F)                                                                         \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, deployment_id)                                                                          \
    F(I64, role_id)                                                                                \
    F(I64, node_id)                                                                                \
    F(U32, state) /* NODEROLE_PROPOSED ... */                                                      \
    F(I64, since) /* when it entered that state, ms since 1970 */                                  \
    F(U32, cohort)                                                                                 \
    F(U32, run_count)                                                                              \
    F(U32, attempt)                                                                                \
    F(U32, order)                                                                                  \
    F(BOOL, unavailable)                                                                           \
    F(BOOL, rerun)       /* an input changed after the last run was staged */                      \
    F(BOOL, removing)    /* the next commit of the head removes it */                              \
    F(BOOL, hook_failed) /* on_proposed failed; commit is refused until it succeeds */             \
    F(I64, member_from)  /* first snapshot seq that contains it; 0 = never committed */            \
    F(I64, data_from)    /* first snapshot seq with this committed_data */                         \
    F(TEXT, status)                                                                                \
    F(TEXT, runlog)                                                                                \
    F(DOC, proposed_data)                                                                          \
    F(DOC, committed_data)                                                                         \
    F(DOC, sysdata)                                                                                \
    F(DOC, wall)                                                                                   \
    F(DOC, notes)                                                                                  \
    F(DOC, computed) /* last result of the hook sysdata; a layer below the field sysdata */        \
    F(U32, defaults) /* version of the role's defaults that its last run was staged with */        \
    F(U32, reason)   /* of the failure of its last run or hook: REASON_..., model/reason.h */      \
    F(TEXT, reason_subject)                                                                        \
    F(TEXT, reason_text)                                                                           \
    F(U32, status_hook)  /* 1 + enum hook whose failure is quoted in status; 0: none is */         \
    F(U32, grant_barred) /* GRANT_VOID_...: committed before the store was restored or imported */ \
    F(I64, boot_cursor)  /* a role that publishes boots: it has got all nodes up to this id */     \
    F(I64, boot_staged)  /* that cursor after the newest attempt, if it succeeds */

#define BOOT_CURSOR_END INT64_MAX /* boot_cursor: it has got all nodes */

#define RUN_FIELDS(F)                                                                              \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, node_id)                                                                                \
    F(I64, noderole_id)                                                                            \
    F(U32, state) /* RUN_QUEUED ... */                                                             \
    F(U32, queue) /* QUEUE_NORMAL, QUEUE_HIGH */                                                   \
    F(U32, attempt)                                                                                \
    F(BOOL, frozen)    /* data was staged by enqueue and is not staged again */                    \
    F(BOOL, begun)     /* the runner reported that the work began */                               \
    F(BOOL, committed) /* its deployment was COMMITTED when the run started */                     \
    F(I64, started_at)                                                                             \
    F(I64, park_left_ms) /* remaining time that it may stay parked */                              \
    F(TEXT, job)                                                                                   \
    F(DOC, data)                                                                                   \
    F(U32, tries) /* number of failed starts of this run */

#define HAMMER_FIELDS(F)                                                                           \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, node_id)                                                                                \
    F(I64, hammer_kind_id)                                                                         \
    F(U32, priority)                                                                               \
    F(TEXT, name)                                                                                  \
    F(TEXT, endpoint)                                                                              \
    F(TEXT, username)                                                                              \
    F(TEXT, authenticator)                                                                         \
    F(DOC, extra) /* further settings of its driver */

#define GROUP_FIELDS(F)                                                                            \
    OBJECT_FIELDS(F)                                                                               \
    F(TEXT, name)                                                                                  \
    F(TEXT, description)                                                                           \
    F(TEXT, category)                                                                              \
    F(U32, order)

#define USER_FIELDS(F)                                                                             \
    OBJECT_FIELDS(F)                                                                               \
    F(TEXT, username)                                                                              \
    F(TEXT, email)                                                                                 \
    F(BOOL, is_admin)                                                                              \
    F(BOOL, is_locked)                                                                             \
    F(TEXT, password_hash) /* argon2id string, computed outside the core */                        \
    F(TEXT, digest_ha1)                                                                            \
    F(DOC, settings)                                                                               \
    F(U32, access) /* level in all deployments: ACCESS_VIEWER or ACCESS_OPERATOR */                \
    F(DOC, grants) /* {"deployment id":"operator"}: level in that deployment and those below it */

/* A credential of a script, a browser session or a node. The token itself is returned once, when it
 * is created; only its hash is stored. It belongs to a user or to a node. */
#define TOKEN_FIELDS(F)                                                                            \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, user_id)                                                                                \
    F(TEXT, name)                                                                                  \
    F(TEXT, hash) /* hex SHA-256 of the token */                                                   \
    F(I64, expires_at)                                                                             \
    F(U32, access)        /* upper bound of the level; ACCESS_NONE = that of its owner */          \
    F(I64, deployment_id) /* may change this deployment and those below it; 0 = all */             \
    F(I64, node_id)       /* owner, if user_id is 0 */                                             \
    F(U32, kind)          /* TOKEN_BEARER ... */

/* A request that is stored until its result arrives: hook call, power action, probe (ADR 0007). */
#define OUTBOX_FIELDS(F)                                                                           \
    OBJECT_FIELDS(F)                                                                               \
    F(U32, kind)    /* OUTBOX_HOOK ... */                                                          \
    F(U32, hook)    /* HOOK_... */                                                                 \
    F(I64, role_id) /* role that has the hook */                                                   \
    F(U32, object)  /* enum table of the object */                                                 \
    F(I64, object_id)                                                                              \
    F(U32, depth)      /* length of the chain of hooks that caused it */                           \
    F(TEXT, detail)    /* power action; name of a deleted object; state that was entered */        \
    F(I64, generation) /* power: waits until this boot generation is served; 0 = does not wait */  \
    F(I64, left_ms)    /* remaining time of that wait */                                           \
    F(BOOL, begun)     /* power: sent to the machine; it is not sent again */

/* A host key that the ssh server of a node presented at first contact, pinned for one node only. */
#define HOST_KEY_FIELDS(F)                                                                         \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, node_id)                                                                                \
    F(TEXT, key) /* type and base64, with one space between */                                     \
    F(I64, since_ms)                                                                               \
    F(I64, boot) /* boot generation for which the pin is valid; or HOST_KEY_ANY_BOOT, ..._NO_BOOT */

#define HOST_KEY_ANY_BOOT (-1)
#define HOST_KEY_NO_BOOT  (-2) /* valid for no boot; replaced at the next first contact */

#define EDGE_FIELDS(F)                                                                             \
    F(I64, parent_id)                                                                              \
    F(I64, child_id)

#define LINK_FIELDS(F)                                                                             \
    F(I64, parent_id)                                                                              \
    F(I64, child_id)                                                                               \
    F(I64, attrib_id)

#define MEMBERSHIP_FIELDS(F)                                                                       \
    F(I64, group_id)                                                                               \
    F(I64, node_id)

/* A closed interval of membership: the noderole is in the snapshots from_seq <= seq < to_seq. */
#define OLD_MEMBER_FIELDS(F)                                                                       \
    F(I64, deployment_id)                                                                          \
    F(I64, noderole_id)                                                                            \
    F(I64, role_id)                                                                                \
    F(I64, node_id)                                                                                \
    F(I64, from_seq)                                                                               \
    F(I64, to_seq)

/* A closed interval of committed user data; node_id 0 = data of the deployment role. */
#define OLD_DATA_FIELDS(F)                                                                         \
    F(I64, deployment_id)                                                                          \
    F(I64, role_id)                                                                                \
    F(I64, node_id)                                                                                \
    F(I64, from_seq)                                                                               \
    F(I64, to_seq)                                                                                 \
    F(DOC, data)

/* An audit event (ADR 0039): one for each command of a client, and one for all changes that the
 * engine made in a turn. (turn, n) is the key and the order of events. */
#define EVENT_FIELDS(F)                                                                            \
    F(I64, turn)                                                                                   \
    F(I64, n)                                                                                      \
    F(I64, at)                                                                                     \
    F(TEXT, actor)                                                                                 \
    F(TEXT, verb)   /* name of the command; "anneal" for the engine */                             \
    F(TEXT, object) /* name of a table; empty = listed in changes */                               \
    F(I64, object_id)                                                                              \
    F(DOC, changes)  /* {"field":[before,after]}; of the engine: the changed ids of each table */  \
    F(TEXT, address) /* of the client that sent the command; empty = the daemon itself */

/* An ended run. The newest ones of each noderole are kept (settings.keep_runs). */
#define OLD_RUN_FIELDS(F)                                                                          \
    F(I64, noderole_id)                                                                            \
    F(I64, attempt)                                                                                \
    F(I64, run_id)                                                                                 \
    F(I64, node_id)                                                                                \
    F(I64, role_id)                                                                                \
    F(I64, started_at)                                                                             \
    F(I64, ended_at)                                                                               \
    F(U32, result) /* RESULT_... */                                                                \
    F(TEXT, runlog)                                                                                \
    F(U32, reason) /* REASON_..., model/reason.h */                                                \
    F(TEXT, reason_subject)                                                                        \
    F(TEXT, reason_text)

/* clang-format off */
struct settings_record { SETTINGS_FIELDS(FIELD_MEMBER) };
struct counter_record { COUNTER_FIELDS(FIELD_MEMBER) };
struct barclamp_record { BARCLAMP_FIELDS(FIELD_MEMBER) };
struct jig_record { JIG_FIELDS(FIELD_MEMBER) };
struct hammer_kind_record { HAMMER_KIND_FIELDS(FIELD_MEMBER) };
struct role_record { ROLE_FIELDS(FIELD_MEMBER) };
struct attrib_record { ATTRIB_FIELDS(FIELD_MEMBER) };
struct deployment_record { DEPLOYMENT_FIELDS(FIELD_MEMBER) };
struct snapshot_record { SNAPSHOT_FIELDS(FIELD_MEMBER) };
struct deployment_role_record { DEPLOYMENT_ROLE_FIELDS(FIELD_MEMBER) };
struct node_record { NODE_FIELDS(FIELD_MEMBER) };
struct noderole_record { NODEROLE_FIELDS(FIELD_MEMBER) };
struct run_record { RUN_FIELDS(FIELD_MEMBER) };
struct hammer_record { HAMMER_FIELDS(FIELD_MEMBER) };
struct group_record { GROUP_FIELDS(FIELD_MEMBER) };
struct user_record { USER_FIELDS(FIELD_MEMBER) };
struct token_record { TOKEN_FIELDS(FIELD_MEMBER) };
struct outbox_record { OUTBOX_FIELDS(FIELD_MEMBER) };
struct host_key_record { HOST_KEY_FIELDS(FIELD_MEMBER) };
struct network_record { NETWORK_FIELDS(FIELD_MEMBER) };
struct network_range_record { NETWORK_RANGE_FIELDS(FIELD_MEMBER) };
struct network_router_record { NETWORK_ROUTER_FIELDS(FIELD_MEMBER) };
struct network_allocation_record { NETWORK_ALLOCATION_FIELDS(FIELD_MEMBER) };
struct lease_record { LEASE_FIELDS(FIELD_MEMBER) };
struct nic_record { NIC_FIELDS(FIELD_MEMBER) };
struct dns_name_filter_record { DNS_NAME_FILTER_FIELDS(FIELD_MEMBER) };
struct dns_name_entry_record { DNS_NAME_ENTRY_FIELDS(FIELD_MEMBER) };
struct bootenv_record { BOOTENV_FIELDS(FIELD_MEMBER) };
struct boot_due_record { BOOT_DUE_FIELDS(FIELD_MEMBER) };
struct edge_record { EDGE_FIELDS(FIELD_MEMBER) };
struct link_record { LINK_FIELDS(FIELD_MEMBER) };
struct membership_record { MEMBERSHIP_FIELDS(FIELD_MEMBER) };
struct old_member_record { OLD_MEMBER_FIELDS(FIELD_MEMBER) };
struct old_data_record { OLD_DATA_FIELDS(FIELD_MEMBER) };
struct event_record { EVENT_FIELDS(FIELD_MEMBER) };
struct old_run_record { OLD_RUN_FIELDS(FIELD_MEMBER) };
/* clang-format on */

struct record {
    enum table table;
    union {
        int64_t id; /* first field of every object */
#define T(upper, lower) struct lower##_record lower;
        TABLES(T)
#undef T
    };
};

/* The effect of a batch on one row: its after-image, or its deletion (by its id or key). That of an
 * old_run deletes all ended runs of that noderole up to that attempt; there may be none. */
struct change {
    bool gone;
    struct str bytes; /* the record as record_encode writes it, if already encoded; else empty */
    struct record record;
};

/* One page of the closed intervals that cover snapshot `seq` of a deployment, of table
 * old_member or old_data, in the order of their keys: at most `limit` intervals with keys
 * greater than `after`, which is {noderole_id, 0} for members and {role_id, node_id} for data.
 * {0, -1} is smaller than every key. Two intervals that cover the same snapshot never have the
 * same key. */
struct interval_page {
    int64_t deployment_id, seq;
    enum table table;
    int64_t after[2];
    uint32_t limit;
};

const struct layout *record_layout(enum table table);
const char *table_name(enum table table);

/* Encoding: table number, then the fields. */
void record_encode(const struct record *record, struct buf *out);
NODISCARD err record_decode(struct str bytes, uint32_t *at, struct record *out_record);

/* ---- enumerations that are stored as numbers ---- */

#define NODEROLE_STATES(X)                                                                         \
    X(PROPOSED, "proposed")     /* not committed; never runs                              */       \
    X(BLOCKED, "blocked")       /* committed; a parent is not active                      */       \
    X(TODO, "todo")             /* committed; starts when its node and a worker are free  */       \
    X(TRANSITION, "transition") /* running, or waiting for an asynchronous result         */       \
    X(ACTIVE, "active")         /* the last run succeeded                                 */       \
    X(ERROR, "error")           /* the last run or a hook failed; an operator must retry  */

enum noderole_state {
#define X(name, text) NODEROLE_##name,
    NODEROLE_STATES(X)
#undef X
        NODEROLE_STATE_COUNT
};

const char *noderole_state_name(enum noderole_state state);

enum snapshot_state { SNAPSHOT_PROPOSED, SNAPSHOT_COMMITTED, SNAPSHOT_ARCHIVED };

/* State of a deployment as operators see it, not stored: of its head and its noderoles. */
enum deployment_state {
    DEPLOYMENT_PROPOSED,
    DEPLOYMENT_COMMITTED,
    DEPLOYMENT_ACTIVE,
    DEPLOYMENT_ERROR
};

enum run_state {
    RUN_QUEUED,   /* waits for its node and a worker                                  */
    RUN_RUNNING,  /* occupies its node and a worker                                   */
    RUN_PARKED,   /* waits for a resume; occupies neither                             */
    RUN_STOPPING, /* cancelled; occupies both until the runner reports that it ended  */
};

enum queue { QUEUE_NORMAL, QUEUE_HIGH, QUEUE_COUNT };

enum role_flag {
    ROLE_LIBRARY = 1 << 0,
    ROLE_IMPLICIT = 1 << 1,
    ROLE_BOOTSTRAP = 1 << 2,
    ROLE_DISCOVERY = 1 << 3,
    ROLE_CLUSTER = 1 << 4,
    ROLE_DESTRUCTIVE = 1 << 5,
    ROLE_ABSTRACT = 1 << 6,
    ROLE_MILESTONE = 1 << 7,
    ROLE_POWERSAVE = 1 << 8,
    ROLE_SERVICE = 1 << 9,
    ROLE_SERVER = 1 << 10,
    ROLE_WITHDRAWN = 1 << 11,   /* its barclamp no longer defines it; set by the core only */
    ROLE_SERVES_BOOT = 1 << 12, /* a machine restarts only after it has served the boot */
};

#define HOOKS(X)                                                                                   \
    X(PROPOSED, "on_proposed")                                                                     \
    X(BLOCKED, "on_blocked")                                                                       \
    X(TODO, "on_todo")                                                                             \
    X(TRANSITION, "on_transition")                                                                 \
    X(ACTIVE, "on_active")                                                                         \
    X(ERROR, "on_error")                                                                           \
    X(COMMIT, "on_commit")                                                                         \
    X(NODE_BIND, "on_node_bind")                                                                   \
    X(DEPLOYMENT_CREATE, "on_deployment_create")                                                   \
    X(DEPLOYMENT_DELETE, "on_deployment_delete")                                                   \
    X(NODE_CREATE, "on_node_create")                                                               \
    X(NODE_CHANGE, "on_node_change")                                                               \
    X(NODE_DELETE, "on_node_delete")                                                               \
    X(SYSDATA, "sysdata")                                                                          \
    X(TEMPLATE, "template")                                                                        \
    X(NETWORK_CREATE, "on_network_create")                                                         \
    X(NETWORK_CHANGE, "on_network_change")                                                         \
    X(NETWORK_DELETE, "on_network_delete")                                                         \
    X(NETWORK_ALLOCATION_CREATE, "on_network_allocation_create")                                   \
    X(NETWORK_ALLOCATION_DELETE, "on_network_allocation_delete")

/* The first six correspond to the states, in the order of enum noderole_state. */
enum hook {
#define X(name, text) HOOK_##name,
    HOOKS(X)
#undef X
        HOOK_COUNT
};

const char *hook_name(enum hook hook);

enum outbox_kind { OUTBOX_HOOK, OUTBOX_POWER, OUTBOX_PROBE };

enum bucket {
    BUCKET_USER,
    BUCKET_NOTE,
    BUCKET_SYSTEM,
    BUCKET_WALL,
    BUCKET_DISCOVERY,
    BUCKET_HINT,
    BUCKET_COUNT
};
