/* command.h - everything that can be asked of the core, as data.
 *
 * A command is one wish from outside: an operator's, a hook's, a run's answer, a tick of the
 * clock. It carries what the core may not look up for itself: time, randomness, who asks. It can
 * be written to bytes and read back, so a recorded sequence replays exactly.
 *
 * Objects are named by durable id. `given` in an update says which of the following fields are
 * meant: bit 0 is the field right after it, and so on (macros GIVEN_*).
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
    C(NODE_BOOT_SERVED, node_boot_served)                                                          \
    C(OUTBOX_BEGUN, outbox_begun)                                                                  \
    C(NODE_PIN_KEYS, node_pin_keys)                                                                \
    C(NODE_FORGET_KEY, node_forget_key)                                                            \
    C(NODE_POWER_READ, node_power_read)                                                            \
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
    F(U32, keep_runs) F(U32, run_deadline_s) F(U32, barrier_s) F(BOOL, host_keys_imported)
/* A whole barclamp: the parsed yml as JSON, with barclamp.source_path; and per role `hooks`, the
 * names of the hooks its code defines. */
#define IMPORT_FIELDS(F) F(DOC, barclamp)
#define JIG_CREATE_FIELDS(F)                                                                       \
    F(TEXT, name) F(TEXT, description) F(TEXT, class_name) F(BOOL, active)                         \
    F(TEXT, client_role_name)
/* inactive_reason goes with active. */
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
/* plan: hex SHA-256 of the plan that was looked at; consent: of what it would destroy, as the
 * consent of the commit says it. Each empty = whatever it is. rerun_changed: run again what ran
 * with other defaults than its role has now. */
#define DEPLOYMENT_COMMIT_FIELDS(F)                                                                \
    F(I64, id) F(TEXT, plan) F(TEXT, consent) F(BOOL, rerun_changed)
#define DEPLOYMENT_PROPOSE_FIELDS(F) F(I64, id) F(TEXT, name)
#define DEPLOYMENT_RECALL_FIELDS(F) ID_ONLY(F)
/* content: what snapshot `seq` held, as core_snapshot_content writes it; read by the caller. It may
 * be larger than any one document. */
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
    F(DOC, discovery) F(BOOL, automatic)
/* boot_id: which boot of the machine speaks; what an earlier one says counts for nothing.
 * environment: where it says it is; boot_generation: which one it was told to boot.
 * parked_run: only while that run waits. */
#define NODE_UPDATE_FIELDS(F)                                                                      \
    F(I64, id) F(U32, given) F(TEXT, name) F(TEXT, description) F(I64, deployment_id)              \
    F(I64, old_deployment_id) F(I64, target_role_id) F(BOOL, allocated) F(BOOL, alive)             \
    F(BOOL, available) F(TEXT, bootenv) F(DOC, quirks) F(TEXT, boot_id) F(TEXT, environment)       \
    F(I64, boot_generation) F(I64, parked_run)
#define NODE_DELETE_FIELDS(F) ID_ONLY(F)
#define NODE_PROPOSE_FIELDS(F) ID_ONLY(F)
#define NODE_COMMIT_FIELDS(F) F(I64, id) F(TEXT, consent)
#define NODE_REDEPLOY_FIELDS(F) ID_ONLY(F)
#define NODE_DEBUG_FIELDS(F) ID_ONLY(F)
#define NODE_UNDEBUG_FIELDS(F) ID_ONLY(F)
#define NODE_POWER_FIELDS(F) F(I64, id) F(TEXT, action)
/* deployment_id 0 = the node's own. */
#define NODEROLE_BIND_FIELDS(F) F(I64, node_id) F(I64, role_id) F(I64, deployment_id) F(DOC, data)
#define NODEROLE_DELETE_FIELDS(F) ID_ONLY(F)
#define NODEROLE_PROPOSE_FIELDS(F) ID_ONLY(F)
#define NODEROLE_COMMIT_FIELDS(F) F(I64, id) F(TEXT, consent)
#define NODEROLE_RETRY_FIELDS(F) ID_ONLY(F)
#define NODEROLE_DATA_FIELDS(F) F(I64, id) F(DOC, data)
/* What the role's sysdata computed; only its hook may say so. */
#define NODEROLE_COMPUTED_FIELDS(F) F(I64, id) F(DOC, data)
/* if_due: only when it has something to do anyway: it may start, or is to run again. */
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
/* access: ACCESS_VIEWER or ACCESS_OPERATOR; ACCESS_NONE = the latter. */
#define USER_CREATE_FIELDS(F)                                                                      \
    F(TEXT, username) F(TEXT, email) F(BOOL, is_admin) F(TEXT, password_hash) F(TEXT, digest_ha1)  \
    F(U32, access) F(DOC, grants)
#define USER_UPDATE_FIELDS(F)                                                                      \
    F(I64, id) F(U32, given) F(TEXT, username) F(TEXT, email) F(BOOL, is_admin) F(BOOL, is_locked) \
    F(TEXT, password_hash) F(TEXT, digest_ha1) F(DOC, settings) F(U32, access) F(DOC, grants)
#define USER_DELETE_FIELDS(F) ID_ONLY(F)
/* hash: hex SHA-256 of the token, made outside the core; expires_at 0 = never. Of a user or of a
 * node, not both. */
#define TOKEN_CREATE_FIELDS(F)                                                                     \
    F(I64, user_id) F(TEXT, name) F(TEXT, hash) F(I64, expires_at) F(U32, access)                  \
    F(I64, deployment_id) F(I64, node_id) F(U32, kind)
#define TOKEN_DELETE_FIELDS(F) ID_ONLY(F)
#define RUN_BEGUN_FIELDS(F) F(I64, run_id) F(U32, attempt) F(TEXT, job)
/* result: RESULT_...; wall replaces the noderole's wall when has_wall; node_dead, stop and power
 * are what the work asked for its machine (DECISIONS D21). reason: of a failure, REASON_... */
#define RUN_DONE_FIELDS(F)                                                                         \
    F(I64, run_id) F(U32, attempt) F(U32, result) F(TEXT, runlog) F(BOOL, has_wall) F(DOC, wall)   \
    F(BOOL, node_dead) F(BOOL, stop) F(TEXT, power) F(I64, park_ms) F(U32, reason)                 \
    F(TEXT, reason_subject) F(TEXT, reason_text)
#define RUN_STOPPED_FIELDS(F) F(I64, run_id) F(U32, attempt)
#define RUN_RESUME_FIELDS(F) F(I64, run_id)
#define RUN_CANCEL_FIELDS(F) F(I64, run_id)
/* wishes: commands as written by command_encode, one after the other. For a probe, failed means
 * that the node did not answer. reason: of a failure, REASON_... power_state: of a power action, as
 * the machine answered after it, POWER_STATE_...; power_driver: the hammer that did it. */
#define OUTBOX_DONE_FIELDS(F)                                                                      \
    F(I64, outbox_id) F(BOOL, failed) F(TEXT, text) F(RAW, wishes) F(U32, reason)                  \
    F(TEXT, reason_subject) F(U32, power_state) F(TEXT, power_driver)
/* Power is about to be switched: what nobody answers is not ordered again. */
#define OUTBOX_BEGUN_FIELDS(F) F(I64, outbox_id)
/* budget: stop after about so many changed rows; 0 = no bound. */
#define ANNEAL_FIELDS(F) F(U32, budget)
#define TICK_FIELDS(F) F(U32, unused)
/* A noderole that serves boots has served this boot generation to the node; only hooks say so. */
#define NODE_BOOT_SERVED_FIELDS(F) F(I64, id) F(I64, noderole_id) F(I64, generation)
/* keys: what the ssh server of the node showed, a line "TYPE BASE64" for each key, all keys of the
 * machine at once. boot: the boot generation of the node when it was asked; HOST_KEY_ANY_BOOT: the
 * pins hold for all. is_own: one of them is a host key of the machine this daemon runs on.
 * outbox_id: the probe that read them, which must be the current one of the node; 0: none did. */
#define NODE_PIN_KEYS_FIELDS(F)                                                                    \
    F(I64, id) F(TEXT, keys) F(I64, boot) F(BOOL, is_own) F(I64, outbox_id)
/* All keys of the node are forgotten; the next first contact pins what it sees. */
#define NODE_FORGET_KEY_FIELDS(F) ID_ONLY(F)
/* commands: as written by command_encode, one after the other; all of them or none, in order, each
 * seeing what those before it did. Who asks, and when, is the batch's for all of them. */
#define BATCH_FIELDS(F) F(RAW, commands)
/* The power state of the node was read without an order. order: node.power_order when the reading
 * began; an answer that names another one is old and changes nothing. reason: why it failed, then
 * state is not looked at; REASON_NONE = it did not. text: the sentence of a failure. */
#define NODE_POWER_READ_FIELDS(F)                                                                  \
    F(I64, id) F(I64, order) F(U32, state) F(TEXT, driver) F(U32, reason) F(TEXT, text)

enum run_result {
    RESULT_OK, RESULT_FAILED, RESULT_ASYNC, RESULT_PARKED, RESULT_LOST, RESULT_COUNT,
    RESULT_CANCELLED = RESULT_COUNT /* only history says so: no runner can */
};

enum {
    GIVEN_SETTINGS_POOL_NORMAL = 1, GIVEN_SETTINGS_POOL_HIGH = 2, GIVEN_SETTINGS_MAX_DEPTH = 4,
    GIVEN_SETTINGS_TEST_JIG = 8, GIVEN_SETTINGS_KEEP_RUNS = 16, GIVEN_SETTINGS_RUN_DEADLINE = 32,
    GIVEN_SETTINGS_BARRIER = 64, GIVEN_SETTINGS_HOST_KEYS_IMPORTED = 128,
    GIVEN_JIG_DESCRIPTION = 1, GIVEN_JIG_ACTIVE = 2, GIVEN_JIG_SERVER = 4,
    GIVEN_JIG_CLIENT_NAME = 8, GIVEN_JIG_KEY = 16,
    GIVEN_ROLE_DESCRIPTION = 1, GIVEN_ROLE_TEMPLATE = 2,
    GIVEN_ROLE_COMPUTED = 4, /* its code computed the template: that reruns nothing */
    GIVEN_NAME = 1, GIVEN_DESCRIPTION = 2, /* deployment, snapshot, group, node */
    GIVEN_NODE_DEPLOYMENT = 4, GIVEN_NODE_OLD_DEPLOYMENT = 8, GIVEN_NODE_TARGET = 16,
    GIVEN_NODE_ALLOCATED = 32,
    GIVEN_NODE_ALIVE = 64, GIVEN_NODE_AVAILABLE = 128, GIVEN_NODE_BOOTENV = 256,
    GIVEN_NODE_QUIRKS = 512, GIVEN_NODE_BOOT_ID = 1024, GIVEN_NODE_ENVIRONMENT = 2048,
    GIVEN_NODE_BOOT_GENERATION = 4096, GIVEN_NODE_PARKED_RUN = 8192,
    GIVEN_GROUP_CATEGORY = 4, GIVEN_GROUP_ORDER = 8,
    GIVEN_HAMMER_PRIORITY = 1, GIVEN_HAMMER_ENDPOINT = 2, GIVEN_HAMMER_USERNAME = 4,
    GIVEN_HAMMER_AUTHENTICATOR = 8, GIVEN_HAMMER_EXTRA = 16,
    GIVEN_USER_USERNAME = 1, GIVEN_USER_EMAIL = 2, GIVEN_USER_IS_ADMIN = 4,
    GIVEN_USER_IS_LOCKED = 8,
    GIVEN_USER_PASSWORD_HASH = 16, GIVEN_USER_DIGEST_HA1 = 32, GIVEN_USER_SETTINGS = 64,
    GIVEN_USER_ACCESS = 128, GIVEN_USER_GRANTS = 256,
};

/* clang-format on */

#define C(upper, lower)                                                                            \
    struct lower##_command {                                                                       \
        upper##_FIELDS(FIELD_MEMBER)                                                               \
    };
COMMANDS(C)
#undef C

/* A hook's word on a question the core asked about this command (core.h, struct ask). */
struct answer {
    uint64_t key; /* of the ask */
    bool veto;
    struct str text;
};

/* The caller of a command that came through the API. The core judges what the caller may do in the
 * step that executes the command (core/access/authority.c). A command that is not external is the
 * daemon's own, and is not limited. */
struct principal {
    bool is_external;
    int64_t user_id;
    int64_t token_id; /* 0: came with a password, not with a token or session */
    int64_t node_id;  /* the token is that of a node, and there is no user     */
};

/* As if_turn: the object it names may be gone by now, and then nothing is to be done. */
#define IF_THERE (-1)

struct command {
    enum command_kind kind;
    int64_t request;    /* who waits for the outcome; 0 = nobody */
    struct str actor;   /* for the record: "user admin", "hook on_todo of x", "runner" ... */
    struct str address; /* of the client, in numbers, for the record; empty: no client sent it */
    int64_t now_ms;     /* the stamp: orders what happens, and never goes back */
    int64_t mono_ms;    /* for deadlines */
    int64_t wall_ms;    /* what the wall clock says; credentials are judged by it */
    uint64_t nonce[2];
    uint32_t depth;  /* hooks that caused hooks; 0 from outside */
    int64_t if_turn; /* the object it names must have changed last in this turn; 0 = whenever */
    struct principal by;
    bool is_dry;     /* a commit of which only the plan is wanted: nothing changes */
    bool is_brief;   /* of a dry commit: not the plan, but what consent is needed for */
    bool is_summary; /* of a plan: the totals, not the lists */
    const struct answer *answers;
    uint32_t answer_count;
    union {
#define C(upper, lower) struct lower##_command lower;
        COMMANDS(C)
#undef C
    };
};

const struct layout *command_layout(enum command_kind kind);
const char *command_name(enum command_kind kind);
/* May it be part of a batch? */
bool command_is_for_batch(enum command_kind kind);
/* Where the payload begins. */
void *command_payload(struct command *command);
const void *command_payload_const(const struct command *command);

void command_encode(const struct command *command, struct buf *out);
NODISCARD err command_decode(struct arena *arena, struct str bytes, uint32_t *at,
                             struct command *out_command);
/* With every text copied into the arena. */
struct command command_copy(struct arena *arena, const struct command *command);
