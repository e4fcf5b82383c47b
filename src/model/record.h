/* record.h - the nouns as they are kept: one record per table.
 *
 * A record is the whole durable truth about one object, with durable ids and plain text, no index
 * of the core in it. The core turns its rows into records when a batch is saved and records into
 * rows when it loads. Stores, the simulator and readers of the core see records only.
 *
 * Objects have an id and change. Relations are their own key and come and go. Archives are written
 * once and never loaded (DECISIONS D8, D11); runs that are over go again when they are too many or
 * too old.
 */
#pragma once

#include "model/fields.h"

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
    TABLE_OBJECTS = TABLE_EDGE,      /* tables below this hold objects   */
    TABLE_LOADED = TABLE_OLD_MEMBER, /* tables below this are loaded     */
};

/* What every object has: id, times in ms since 1970, and the turn of its last change (ETag). */
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
    F(U32, max_depth)      /* of the deployment tree; 0 = unlimited */                             \
    F(BOOL, test_jig)      /* roles on real jigs run on the test jig (DECISIONS D23) */            \
    F(U32, keep_runs)      /* so many ended runs of a noderole are remembered */                   \
    F(U32, run_deadline_s) /* of a run whose role does not say; 0 = none */                        \
    F(U32, barrier_s)      /* how long power waits for those who serve boots; 0 = not at all */    \
    F(BOOL, host_keys_imported) /* the pins of a known_hosts file of an older version are rows */

/* id = table number + 1; the last id handed out in that table. */
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
    F(U32, hooks) /* mask of the hooks it defines: 1 << HOOK_... */                                \
    F(U32, cohort)                                                                                 \
    F(DOC, requires)  /* ["name", ...] */                                                          \
    F(DOC, wants)     /* [{"at":path,"name":attrib}, ...] */                                       \
    F(DOC, provides)  /* ["name", ...] */                                                          \
    F(DOC, conflicts) /* ["name", ...] */                                                          \
    F(DOC, announces) /* boot, power and wipe steps it declares: ["wipe", ...] */                  \
    F(DOC, template)                                                                               \
    F(DOC, notes)                                                                                  \
    F(U32, attempts)   /* starts before a failure counts; 0 = 1 */                                 \
    F(U32, backoff_s)  /* before the second start; doubles with each */                            \
    F(U32, deadline_s) /* of a run; 0 = what the settings say */                                   \
    F(U32, defaults)   /* how often content changed what its noderoles are given by default */

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
    F(BOOL, rerunning) /* what ran with other defaults is being run again */

#define SNAPSHOT_FIELDS(F)                                                                         \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, deployment_id)                                                                          \
    F(U32, seq)                                                                                    \
    F(TEXT, name)                                                                                  \
    F(TEXT, description)                                                                           \
    F(U32, order)                                                                                  \
    F(I64, predecessor_id)                                                                         \
    F(U32, state) /* SNAPSHOT_PROPOSED ... */                                                      \
    F(I64, since) /* of that state */                                                              \
    F(I64, committed_at)                                                                           \
    F(I64, archived_at)                                                                            \
    F(TEXT, actor)                                                                                 \
    F(DOC, counts) /* noderoles by state, when archived */

#define DEPLOYMENT_ROLE_FIELDS(F)                                                                  \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, deployment_id)                                                                          \
    F(I64, role_id)                                                                                \
    F(BOOL, proposed) /* proposed_data counts */                                                   \
    F(DOC, proposed_data)                                                                          \
    F(DOC, committed_data)                                                                         \
    F(DOC, wall)                                                                                   \
    F(DOC, notes)                                                                                  \
    F(I64, data_from) /* snapshot seq since when committed_data holds */

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
    F(BOOL, stopped) /* a script asked for nothing more until something here is retried */         \
    F(I64, alive_since)                                                                            \
    F(I64, available_since)                                                                        \
    F(TEXT, bootenv)                                                                               \
    F(U32, order)                                                                                  \
    F(DOC, quirks) /* sorted array; empty = [] */                                                  \
    F(DOC, discovery)                                                                              \
    F(DOC, hint)                                                                                   \
    F(DOC, notes)                                                                                  \
    F(I64, boot_generation) /* how often what it boots has changed */                              \
    F(DOC, boot_seen)       /* {"noderole id":generation}: what those who serve it have served */  \
    F(TEXT, status)         /* what went wrong with its power last; empty = nothing */             \
    F(TEXT, boot_id)        /* which boot spoke last; empty = none gave its id */                  \
    F(DOC, old_boots)       /* array of those before, newest first; empty = [] */                  \
    F(U32, reason)          /* of that status: REASON_..., model/reason.h */                       \
    F(TEXT, reason_subject)                                                                        \
    F(BOOL, automatic)    /* the admin node that the first start made for its own host */          \
    F(U32, power_state)   /* as it was read last: POWER_STATE_... */                               \
    F(I64, power_read_at) /* when; 0 = never */                                                    \
    F(TEXT, power_driver) /* by which hammer */                                                    \
    F(U32, power_reason)  /* why a reading failed since: REASON_...; REASON_NONE = none did */     \
    F(TEXT, power_error)  /* the same as a sentence */                                             \
    F(I64, power_order)   /* the newest that was performed; a reading begun before is old */       \
    F(DOC, power_results) /* array of the last orders and their results; empty = [] */

#define NODEROLE_FIELDS(F)                                                                         \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, deployment_id)                                                                          \
    F(I64, role_id)                                                                                \
    F(I64, node_id)                                                                                \
    F(U32, state) /* NODEROLE_PROPOSED ... */                                                      \
    F(I64, since) /* of that state */                                                              \
    F(U32, cohort)                                                                                 \
    F(U32, run_count)                                                                              \
    F(U32, attempt)                                                                                \
    F(U32, order)                                                                                  \
    F(BOOL, unavailable)                                                                           \
    F(BOOL, rerun)       /* something changed that the last run did not see */                     \
    F(BOOL, removing)    /* the next commit of the head removes it */                              \
    F(BOOL, hook_failed) /* on_proposed failed; commit is refused until it succeeds */             \
    F(I64, member_from)  /* snapshot seq since when it belongs; 0 = never committed */             \
    F(I64, data_from)    /* snapshot seq since when committed_data holds */                        \
    F(TEXT, status)                                                                                \
    F(TEXT, runlog)                                                                                \
    F(DOC, proposed_data)                                                                          \
    F(DOC, committed_data)                                                                         \
    F(DOC, sysdata)                                                                                \
    F(DOC, wall)                                                                                   \
    F(DOC, notes)                                                                                  \
    F(DOC, computed) /* what its role's sysdata said last; lies below sysdata */                   \
    F(U32, defaults) /* those of its role that its last run was staged with */                     \
    F(U32, reason)   /* why its last run or hook failed: REASON_..., model/reason.h */             \
    F(TEXT, reason_subject)                                                                        \
    F(TEXT, reason_text)                                                                           \
    F(U32, status_hook) /* 1 + the hook whose failure the status quotes; 0: it quotes none */

#define RUN_FIELDS(F)                                                                              \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, node_id)                                                                                \
    F(I64, noderole_id)                                                                            \
    F(U32, state) /* RUN_QUEUED ... */                                                             \
    F(U32, queue) /* QUEUE_NORMAL, QUEUE_HIGH */                                                   \
    F(U32, attempt)                                                                                \
    F(BOOL, frozen)    /* data was staged by enqueue and is not staged again */                    \
    F(BOOL, begun)     /* the runner said that the work began */                                   \
    F(BOOL, committed) /* its deployment was COMMITTED when it started (DECISIONS D15) */          \
    F(I64, started_at)                                                                             \
    F(I64, park_left_ms) /* how long it may stay parked */                                         \
    F(TEXT, job)                                                                                   \
    F(DOC, data)                                                                                   \
    F(U32, tries) /* starts of this run that failed */

#define HAMMER_FIELDS(F)                                                                           \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, node_id)                                                                                \
    F(I64, hammer_kind_id)                                                                         \
    F(U32, priority)                                                                               \
    F(TEXT, name)                                                                                  \
    F(TEXT, endpoint)                                                                              \
    F(TEXT, username)                                                                              \
    F(TEXT, authenticator)                                                                         \
    F(DOC, extra) /* what its class wants to know besides */

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
    F(TEXT, password_hash) /* argon2id string; made outside the core */                            \
    F(TEXT, digest_ha1)                                                                            \
    F(DOC, settings)                                                                               \
    F(U32, access) /* ACCESS_VIEWER or ACCESS_OPERATOR, everywhere; is_admin goes above it */      \
    F(DOC, grants) /* {"deployment id":"operator"}: more, there and below */

/* What a script, a browser or a node shows instead of a password. The token itself is told once and
 * kept nowhere. It is a user's or a node's. */
#define TOKEN_FIELDS(F)                                                                            \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, user_id)                                                                                \
    F(TEXT, name)                                                                                  \
    F(TEXT, hash) /* hex SHA-256 of the token */                                                   \
    F(I64, expires_at)                                                                             \
    F(U32, access)        /* at most this; ACCESS_NONE = whatever its owner may */                 \
    F(I64, deployment_id) /* changes only there and below; 0 = everywhere */                       \
    F(I64, node_id)       /* whose it is, when no user's */                                        \
    F(U32, kind)          /* TOKEN_BEARER ... */

/* Something the world must be told or asked, kept until it answered: hooks, power, probes. */
#define OUTBOX_FIELDS(F)                                                                           \
    OBJECT_FIELDS(F)                                                                               \
    F(U32, kind)    /* OUTBOX_HOOK ... */                                                          \
    F(U32, hook)    /* HOOK_... */                                                                 \
    F(I64, role_id) /* whose hook */                                                               \
    F(U32, object)  /* enum table of what it is about */                                           \
    F(I64, object_id)                                                                              \
    F(U32, depth)      /* hooks that caused hooks */                                               \
    F(TEXT, detail)    /* power action; name of a thing that is gone; state reached */             \
    F(I64, generation) /* power: waits until this boot generation is served; 0 = for nobody */     \
    F(I64, left_ms)    /* how long it may wait for that */                                         \
    F(BOOL, begun)     /* power: somebody set about it; it is not done twice */

/* A key that the ssh server of a node showed at first contact. No key is pinned for two nodes. */
#define HOST_KEY_FIELDS(F)                                                                         \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, node_id)                                                                                \
    F(TEXT, key) /* type and base64, with one space between */                                     \
    F(I64, since_ms)                                                                               \
    F(I64, boot) /* boot generation of the node that showed it; HOST_KEY_ANY_BOOT = holds for all */

#define HOST_KEY_ANY_BOOT (-1)
#define HOST_KEY_NO_BOOT  (-2) /* holds for none any more, until the next first contact */

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

/* A closed interval of a snapshot's membership: in force for from_seq <= seq < to_seq. */
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

/* What happened, for those who look back (DECISIONS D10): one for each thing an operator did, and
 * one for all that the engine did in a turn. (turn, n) is its key and its place in the order. */
#define EVENT_FIELDS(F)                                                                            \
    F(I64, turn)                                                                                   \
    F(I64, n)                                                                                      \
    F(I64, at)                                                                                     \
    F(TEXT, actor)                                                                                 \
    F(TEXT, verb)   /* name of the command; "anneal" for the engine */                             \
    F(TEXT, object) /* name of a table; empty = see changes */                                     \
    F(I64, object_id)                                                                              \
    F(DOC, changes)  /* {"field":[before,after]}; of the engine: what of each table changed */     \
    F(TEXT, address) /* of the client that sent the command; empty = the installation itself */

/* A run that is over. The newest of each noderole are kept (settings.keep_runs). */
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

/* What a batch does to one row: its after-image, or its end (only the id, or the relation's key,
 * counts then). The end of an old_run ends all of that noderole up to that attempt, be there any or
 * none. */
struct change {
    bool gone;
    struct str bytes; /* the record as record_encode writes it, if the giver has it; else empty */
    struct record record;
};

/* One page of the closed intervals that cover snapshot `seq` of a deployment, of the table
 * old_member or old_data, in the order of their keys: at most `limit` of those behind `after`,
 * which is {noderole_id, 0} of a member and {role_id, node_id} of data. {0, -1} is before the first
 * of either. No two intervals that cover the same snapshot have the same such key. */
struct interval_page {
    int64_t deployment_id, seq;
    enum table table;
    int64_t after[2];
    uint32_t limit;
};

const struct layout *record_layout(enum table table);
const char *table_name(enum table table);

/* Table number, then the fields. */
void record_encode(const struct record *record, struct buf *out);
NODISCARD err record_decode(struct str bytes, uint32_t *at, struct record *out_record);

/* ---- states and other small vocabularies ---- */

#define NODEROLE_STATES(X)                                                                         \
    X(PROPOSED, "proposed")     /* drawn, not yet committed; never runs        */                  \
    X(BLOCKED, "blocked")       /* committed; some parent is not active        */                  \
    X(TODO, "todo")             /* committed; may start when its node is free  */                  \
    X(TRANSITION, "transition") /* being run, or waiting for what it started   */                  \
    X(ACTIVE, "active")         /* the last run succeeded                      */                  \
    X(ERROR, "error")           /* the last run failed; waits for a person     */

enum noderole_state {
#define X(name, text) NODEROLE_##name,
    NODEROLE_STATES(X)
#undef X
        NODEROLE_STATE_COUNT
};

const char *noderole_state_name(enum noderole_state state);

enum snapshot_state { SNAPSHOT_PROPOSED, SNAPSHOT_COMMITTED, SNAPSHOT_ARCHIVED };

/* What an operator sees of a deployment: computed from its head and its noderoles. */
enum deployment_state {
    DEPLOYMENT_PROPOSED,
    DEPLOYMENT_COMMITTED,
    DEPLOYMENT_ACTIVE,
    DEPLOYMENT_ERROR
};

enum run_state {
    RUN_QUEUED,   /* waits for its node and a worker                          */
    RUN_RUNNING,  /* holds its node and a worker                              */
    RUN_PARKED,   /* waits for an acknowledgement, holding neither            */
    RUN_STOPPING, /* cancelled; holds node and worker until the worker is out */
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
    ROLE_WITHDRAWN = 1 << 11,   /* its barclamp does not name it any more; only the core says so */
    ROLE_SERVES_BOOT = 1 << 12, /* machines are restarted when it has served what they boot */
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
    X(TEMPLATE, "template")

/* The first six are the states, in the order of enum noderole_state. */
enum hook {
#define X(name, text) HOOK_##name,
    HOOKS(X)
#undef X
        HOOK_COUNT
};

const char *hook_name(enum hook hook);

enum outbox_kind { OUTBOX_HOOK, OUTBOX_POWER, OUTBOX_PROBE };

/* Whether a machine is on, as far as it could be read. The numbers are stored. */
#define POWER_STATES(X)                                                                            \
    X(UNKNOWN, "unknown")                                                                          \
    X(ON, "on")                                                                                    \
    X(OFF, "off")                                                                                  \
    X(CHANGING, "changing") /* the service processor reports a transition */

enum power_state {
#define X(name, text) POWER_STATE_##name,
    POWER_STATES(X)
#undef X
        POWER_STATE_COUNT
};

const char *power_state_name(enum power_state state);
/* POWER_STATE_UNKNOWN for a word that is none of the names. */
enum power_state power_state_find(struct str name);

/* How much somebody may do. Each includes those before it. */
#define ACCESSES(X)                                                                                \
    X(VIEWER, "viewer")                                                                            \
    X(OPERATOR, "operator")                                                                        \
    X(ADMIN, "admin")

enum access {
    ACCESS_NONE,
#define X(name, text) ACCESS_##name,
    ACCESSES(X)
#undef X
        ACCESS_COUNT
};

/* "" for ACCESS_NONE, which is what no word says. */
const char *access_name(enum access access);
enum access access_find(struct str name);

/* A session is a browser's: shown by its cookie, gone when its user leaves. */
enum token_kind { TOKEN_BEARER, TOKEN_SESSION, TOKEN_KIND_COUNT };

enum bucket {
    BUCKET_USER,
    BUCKET_NOTE,
    BUCKET_SYSTEM,
    BUCKET_WALL,
    BUCKET_DISCOVERY,
    BUCKET_HINT,
    BUCKET_COUNT
};
