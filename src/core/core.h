/* core.h - the mind: commands in, changes and effects out.
 *
 * The core holds every node, role, deployment and noderole, and decides what happens next. It is a
 * pure function with memory: no clock, no I/O, no thread, no global, no float. Time and randomness
 * arrive inside commands; what must be saved is collected as changes; what the world must do is
 * returned as effects and may happen only after the changes are durable (turn/turn.h sees to it).
 *
 * A refused step leaves no trace. One thread only. Everything returned points into the arena
 * given, or is a plain value; no index or pointer into the core leaves it.
 */
#pragma once

#include "base/err.h"
#include "base/hash/hash.h"
#include "base/mem/arena.h"
#include "model/command.h"
#include "model/problem.h"
#include "model/reason.h"
#include "model/record.h"
#include "model/subject.h"

struct core;
struct json;

struct core *core_new(void);
void core_free(struct core *c); /* NULL is fine */

/* ---- beginning ---- */

/* A new installation: settings, the system deployment (id 1) with its committed head and phantom
 * node, the group not_set. The core must be empty. */
void core_bootstrap(struct core *c, int64_t now_ms);

/* Take over what a store kept: every record of the tables below TABLE_LOADED, table by table in
 * the order of enum table, ids ascending; then core_load_end(). ERR_CORRUPT when the records
 * contradict each other; *out_what says how. A core that failed to load can only be freed. */
NODISCARD err core_load(struct core *c, const struct record *record, const char **out_what);
NODISCARD err core_load_end(struct core *c, int64_t mono_ms, const char **out_what);

/* ---- thinking ---- */

enum effect_kind {
    EFFECT_RUN_START,  /* do the work of a noderole: run, attempt, staged data     */
    EFFECT_RUN_CANCEL, /* stop it; answer RUN_STOPPED when it is out               */
    EFFECT_RUN_QUERY,  /* after a restart: adopt, start or declare lost            */
    EFFECT_OUTBOX,     /* deliver an outbox row: call a hook, power, probe         */
};

/* Everything in it is durable: ids, and an attempt that is never reused. */
struct effect {
    enum effect_kind kind;
    int64_t id;          /* run or outbox id */
    uint32_t attempt;    /* runs */
    int64_t node_id;     /* runs; outbox: 0 */
    int64_t noderole_id; /* runs; outbox: 0 */
    struct str jig;      /* EFFECT_RUN_START: which jig does it */
    struct str data;     /* EFFECT_RUN_START: staged data, canonical JSON */
    struct effect *next;
};

struct effects {
    struct effect *first;
    struct effect *last;
    uint32_t count;
};

/* A question to a hook that may veto. It is asked about a thing that may not exist yet, so the
 * thing travels in the question. */
struct ask {
    uint64_t key; /* names the question; answers carry it back */
    enum hook hook;
    int64_t role_id;
    struct str argument; /* canonical JSON */
    struct ask *next;
};

enum verdict {
    VERDICT_DONE,        /* the changes count; effects are valid once they are durable */
    VERDICT_REFUSED,     /* nothing changed; see problems                              */
    VERDICT_NEEDS_HOOKS, /* nothing changed; step again with answers to `asks`         */
};

struct outcome {
    enum verdict verdict;
    int64_t id; /* of what was created or changed */
    struct problem *problems;
    struct ask *asks;
    uint32_t ask_count;
    struct str doc; /* for verbs that tell something (plan, revert): canonical JSON */
};

/* Step once. Effects are appended to `fx`; everything lies in `arena`. */
void core_step(struct core *c, const struct command *command, struct arena *arena,
               struct effects *fx, struct outcome *out);

/* Why the caller may not have this command done (ADR 0051, rules 1, 3 and 4): problems FORBIDDEN,
 * in the arena; NULL: it may. A COMMAND_BATCH is judged by its parts. A step judges again, by the
 * rows as they are then, and refuses what touches a deployment in which the caller lacks the
 * level (rule 2). */
const struct problem *core_forbids(const struct core *c, const struct principal *who,
                                   const struct command *command, struct arena *a);
/* The caller's level in a deployment; 0: everywhere. */
enum access core_level(const struct core *c, const struct principal *who, int64_t deployment_id,
                       struct arena *a);

/* Looks on while a COMMAND_BATCH is stepped: told of each part before and after. The batch may
 * still be refused, or ask, and then none of it was done. */
struct part_watch {
    void *self;
    void (*before)(void *self, const struct command *part); /* NULL = afterwards will do */
    void (*after)(void *self, const struct command *part, const struct outcome *outcome);
};

/* For every step from now on; NULL = nobody looks. */
void core_watch_parts(struct core *c, const struct part_watch *watch);

/* What would come of importing these documents one after the other: an outcome for each. Nothing of
 * it stays, but each sees what those before it brought, unless they are refused. */
void core_import_dry_run(struct core *c, const struct str *barclamps, uint32_t count,
                         struct arena *arena, struct outcome *outcomes);

/* There is annealing to do: step a COMMAND_ANNEAL. */
bool core_has_work(const struct core *c);
/* It has taken so many steps that its numbering of them comes near its end (2^31 steps: months).
 * Whoever owns it loads another one from the store when it suits; there is ample time. */
bool core_needs_reload(const struct core *c);
/* When a COMMAND_TICK is wanted, in mono_ms; -1 = not at all. */
int64_t core_next_deadline(const struct core *c);
/* What must be told or asked again after a restart. */
void core_resume(const struct core *c, struct arena *arena, struct effects *fx);

/* ---- saving ---- */

/* Rows changed since the last collect. */
uint32_t core_changed(const struct core *c);
/* Grows with every change, also of a row that changed before. */
uint64_t core_edits(const struct core *c);
/* End of batch: hand every changed row, net, to `visit`; stamp them with `turn`. The core then
 * takes them for stored: if the store fails, drop the core and load another. */
void core_collect(struct core *c, int64_t turn,
                  void (*visit)(void *context, const struct change *change), void *context);
/* Sum over the hashes of all rows, as of the last collect (DECISIONS D9). */
struct digest128 core_digest(const struct core *c);
/* The same computed from scratch, and including what is not collected yet. */
struct digest128 core_digest_now(const struct core *c);

/* ---- looking ---- */

/* The record of one object. False when there is none. */
bool core_record(const struct core *c, enum table table, int64_t id, struct record *out_record);
/* The turn in which it changed last. False when it is not there, or has changed since the last
 * collect. */
bool core_last_turn(const struct core *c, enum table table, int64_t id, int64_t *out_turn);
/* The smallest id above `after` in an object table; 0 = none. */
int64_t core_next_id(const struct core *c, enum table table, int64_t after);
uint32_t core_count(const struct core *c, enum table table);
/* Lookup by natural key (names; ignoring case where the model does). 0 = none. A node may also be
 * called "admin": the first admin node. A group is category/name, or the oldest of a name. */
int64_t core_find(const struct core *c, enum table table, struct str name);
/* The noderole of that role on that node; 0 = not bound. */
int64_t core_noderole(const struct core *c, int64_t node_id, int64_t role_id);
int64_t core_deployment_role(const struct core *c, int64_t deployment_id, int64_t role_id);
/* Why nobody can bind this role now, as a refusal would say it: its barclamp does not name it any
 * more, what it requires or wants is not there, its jig is unknown or not active. Empty when it can
 * be bound. That it is abstract is no trouble of its. */
struct str core_role_unusable(const struct core *c, int64_t role_id, struct arena *a);
/* Why this jig is not active; empty when it is, and for the jigs of tests while the test jig is on.
 * Lives until the next step. */
struct str core_jig_inactive(const struct core *c, int64_t jig_id);
/* Direct neighbours in the graph, by id ascending; *out_count of them, in the arena. */
int64_t *core_parents(const struct core *c, int64_t noderole_id, struct arena *a,
                      uint32_t *out_count);
int64_t *core_children(const struct core *c, int64_t noderole_id, struct arena *a,
                       uint32_t *out_count);
/* The node's noderoles by (cohort, id). */
int64_t *core_noderoles_of(const struct core *c, int64_t node_id, struct arena *a,
                           uint32_t *out_count);
/* The ssh host keys that are pinned for the node, by id. */
int64_t *core_host_keys_of(const struct core *c, int64_t node_id, struct arena *a,
                           uint32_t *out_count);
/* The node that an ssh host key ("TYPE BASE64") is pinned for; 0 = none. */
int64_t core_host_key_node(const struct core *c, struct str key);
/* The node's hammers by id. */
int64_t *core_hammers_of(const struct core *c, int64_t node_id, struct arena *a,
                         uint32_t *out_count);
bool core_is_in_group(const struct core *c, int64_t group_id, int64_t node_id);
/* The nodes in the group by id. */
int64_t *core_nodes_of_group(const struct core *c, int64_t group_id, struct arena *a,
                             uint32_t *out_count);
/* The tokens of a user or a node (TABLE_USER, TABLE_NODE) by id. */
int64_t *core_tokens_of(const struct core *c, enum table owner, int64_t owner_id, struct arena *a,
                        uint32_t *out_count);
/* The role's noderoles with the smallest ids, `max` of them at most. */
int64_t *core_noderoles_of_role(const struct core *c, int64_t role_id, uint32_t max,
                                struct arena *a, uint32_t *out_count);
/* Those of the deployment by id. */
int64_t *core_noderoles_in(const struct core *c, int64_t deployment_id, struct arena *a,
                           uint32_t *out_count);
/* How many noderoles of the deployment, and how many nodes but those that carry services, are in
 * each state: from counts that are kept, and from one look at each node. */
void core_count_noderoles(const struct core *c, int64_t deployment_id,
                          uint32_t out_counts[NODEROLE_STATE_COUNT]);
void core_count_nodes(const struct core *c, uint32_t out_counts[NODEROLE_STATE_COUNT]);
enum noderole_state core_node_state(const struct core *c, int64_t node_id);
enum deployment_state core_deployment_state(const struct core *c, int64_t deployment_id);

/* Data of SEMANTICS 6. What an attrib reads as on a target, default included: canonical JSON.
 * view: what layers to look through. False when the attrib has no meaning there. */
enum view {
    VIEW_ALL,
    VIEW_COMMITTED,
    VIEW_USER,
    VIEW_SYSTEM,
    VIEW_WALL,
    VIEW_NOTE,
    VIEW_DISCOVERY,
    VIEW_PROPOSED /* as it would be if all that is proposed there were committed */
};
bool core_value(const struct core *c, enum table target, int64_t id, int64_t attrib_id,
                enum view view, struct arena *a, struct str *out_value);
/* The same in pieces, for those who ask for many. Which object an attrib is about when it is asked
 * of a target: the node's noderole of its role, say; of TABLE_COUNT when it has no meaning there.
 * What such an object shows in a view. What the attrib reads as in that. */
struct subject core_attrib_place(const struct core *c, struct subject target, int64_t attrib_id);
const struct json *core_data(const struct core *c, struct subject place, enum view view,
                             struct arena *a);
struct str core_value_in(const struct core *c, const struct json *data, int64_t attrib_id,
                         struct arena *a);
/* What a run of this noderole would be given now. */
struct str core_staged(const struct core *c, int64_t noderole_id, struct arena *a);

/* What the code of a role is called with (docs/hooks.md): canonical JSON. */
struct hook_facts {
    struct str argument; /* empty: the hook is about nothing but its role */
    struct str context;
};
/* For an outbox row of a hook. False when what it is about is gone, and the hook not about that. */
bool core_hook_facts(const struct core *c, const struct outbox_record *row, struct arena *a,
                     struct hook_facts *out_facts);
/* For the run of a noderole: as for its hooks, and with its parents. False when it is gone. */
bool core_run_facts(const struct core *c, int64_t noderole_id, struct arena *a,
                    struct str *out_argument);

/* How many of its noderoles ran with other defaults than their roles have now, without those of
 * destructive roles, and those. */
void core_count_changed(const struct core *c, int64_t deployment_id, uint32_t *out_changed,
                        uint32_t *out_destructive);

/* How many of its noderoles have values that were stored while they were not proposed: a commit
 * does not publish them. */
uint32_t core_count_unproposed(const struct core *c, int64_t deployment_id);

/* What a commit of a deployment would do (DECISIONS D12): out->doc is the plan with its hash. Of a
 * brief one, which may also be of a node or noderole, {"consent":"HASH","destroys":[...],
 * "destroys_count":N,"unproposed":[...],"unproposed_count":N} with the first noderoles it would let
 * destroy data, those with values that it would not publish, and how many there are.
 * The command is the commit that would be stepped, with answers if any were asked. */
void core_plan(struct core *c, const struct command *commit, struct arena *arena,
               struct outcome *out);
/* The same by stepping the commit and taking it back, in one piece and without a summary: what
 * tests compare plans with, and the only way for a brief one. */
void core_plan_whole(struct core *c, const struct command *commit, struct arena *arena,
                     struct outcome *out);

/* ---- a plan in slices ----
 *
 * The core stays as it is; what the commit would write is kept beside it. Other steps may come
 * between two slices: if one changes what the plan has read, the plan is stale and has to be ended.
 * It must be ended before its core is freed. */
struct plan;

/* Of a commit of a deployment, with the answers that hooks gave; with its lists, or totals alone.
 * At most PLANS_MAX exist at a time. */
struct plan *core_plan_begin(struct core *c, const struct command *commit, bool is_detailed);
/* About so many rows are read; true when it is done. Not of a stale one. */
bool core_plan_advance(struct plan *p, uint32_t units);
bool core_plan_is_done(const struct plan *p);
bool core_plan_is_stale(const struct plan *p);
/* What is wrong with a request for the lists of a plan that take more than ANSWER_DOC_MAX. */
struct str core_plan_too_large(void);
/* What the caller is answered when it is done: refused when the caller lacks the rights for the
 * commit. It lies in memory of the plan. */
void core_plan_outcome(struct plan *p, const struct command *caller, struct outcome *out);
/* Memory that it holds. */
size_t core_plan_bytes(const struct plan *p);
void core_plan_end(struct plan *p); /* NULL is fine */

/* What snapshot `seq` of a deployment held: {"data":[...],"members":[...]}. The live part comes
 * from the core; closed intervals (old_member, old_data records that cover seq) from the caller. */
struct str core_snapshot_content(const struct core *c, int64_t deployment_id, int64_t seq,
                                 const struct record *old, uint32_t old_count, struct arena *a);

/* Why a thing is not where one would like it: the chain of unmet conditions down to the root. */
enum cause_code {
    CAUSE_NONE,             /* nothing is wrong: active, or nothing to do        */
    CAUSE_PROPOSED,         /* it has not been committed                         */
    CAUSE_HEAD_PROPOSED,    /* its deployment is proposed (recalled)             */
    CAUSE_PARENT,           /* a parent is not active: see next                  */
    CAUSE_ERROR,            /* its run (or hook) failed; waits for a person      */
    CAUSE_NOT_ALIVE,        /* its node is not alive                             */
    CAUSE_NOT_AVAILABLE,    /* its node is not available                         */
    CAUSE_HELD_BY_TARGET,   /* the node is held at a target role                 */
    CAUSE_JIG_INACTIVE,     /* nothing here can run it                           */
    CAUSE_NODE_CLOSED,      /* another noderole of the node is in error: next    */
    CAUSE_NODE_BUSY,        /* another run occupies the node: next               */
    CAUSE_NODE_STOPPED,     /* a script asked for nothing more on this node      */
    CAUSE_PROBING,          /* whether its node answers is not known yet         */
    CAUSE_WAITING_FOR_HOOK, /* a hook of its own has not answered                */
    CAUSE_NO_WORKER,        /* every worker is busy                              */
    CAUSE_READY,            /* it will start in this turn                        */
    CAUSE_RUNNING,          /* a run is in flight                                */
    CAUSE_STOPPING,         /* a cancelled run has not stopped yet               */
    CAUSE_PARKED,           /* waits for an acknowledgement                      */
    CAUSE_ASYNC,            /* waits for whoever it asked to come back           */
    CAUSE_BOOT_NOT_SERVED,  /* its power waits until what it boots is served     */
    CAUSE_POWER_FAILED,     /* the last power action was not done, or failed     */
    CAUSE_COUNT,
    CAUSE_REASON = CAUSE_COUNT /* why the cause before it failed: see `reason` */
};

struct cause {
    enum cause_code code;
    enum reason_code reason; /* of CAUSE_REASON */
    struct str subject;      /* what the reason is about: model/reason.h */
    int64_t noderole_id;     /* the noderole in question; 0 = it is about none */
    enum table object;       /* what it is about */
    int64_t object_id;
    int64_t since;      /* ms; 0 = not known */
    struct str text;    /* a sentence */
    struct cause *next; /* the cause of this cause */
};

/* Of a noderole, a node or a deployment. NULL when there is no such object. */
struct cause *core_why(const struct core *c, enum table table, int64_t id, struct arena *a);
const char *cause_name(enum cause_code code);
/* The same, and the name of the reason where the cause is one. */
const char *cause_code_name(const struct cause *cause);

/* What keeps the noderoles of a deployment from being active, each followed to its root and the
 * roots counted together. Roots are one group when they have the same code and role, and the same
 * subject unless they are about nodes. */
enum { WHY_EXAMPLES = 3, WHY_GROUPS = 20, WHY_NODEROLES_MAX = 100000 };

struct cause_group {
    struct cause cause; /* the first root that was met; without texts of its chain */
    int64_t role_id;    /* of the noderoles it is about; 0 = it is not about one */
    uint32_t noderoles; /* of the deployment that wait for such a root, or are one */
    uint32_t roots;     /* different objects it is about */
    uint32_t example_count;
    int64_t examples[WHY_EXAMPLES]; /* ids of noderoles that are, or are nearest to, such a root */
};

struct cause_groups {
    struct cause_group *groups; /* failures first, then what waits for people, then work in hand */
    uint32_t count;             /* WHY_GROUPS at most */
    uint32_t left_off;          /* noderoles in groups that are not among them */
    uint32_t looked_at; /* noderoles, of those that are not active; WHY_NODEROLES_MAX at most */
    uint32_t waiting;   /* all that are not active */
};

/* Counted in pieces, for a caller that must not be blocked for long: open (NULL: no such
 * deployment), walk over `budget` noderoles at a time while it returns true, then ask for the chain
 * that core_why() gives and, once, for the groups. The core may change in between, and the answer
 * is then that of no single instant; it must be the same core. The walk and what is returned lie
 * in `a`. */
struct why_walk;
struct why_walk *core_why_open(const struct core *c, int64_t deployment_id, struct arena *a);
bool core_why_walk(struct why_walk *walk, const struct core *c, uint32_t budget);
struct cause *core_why_chain(struct why_walk *walk, const struct core *c, struct arena *a);
void core_why_result(struct why_walk *walk, const struct core *c, struct arena *a,
                     struct cause_groups *out_groups);
void core_why_close(struct why_walk *walk);

/* ---- trusting ---- */

/* Every invariant of docs/invariants.md that one core can know about itself. NULL when all hold,
 * else the number and a sentence. Costs as much as there is. */
const char *core_check(const struct core *c, struct arena *a);
