/* core_private.h - the functions that the source files of the core share.
 *
 * Only files of src/core include this. Each section names the file that defines its functions; the
 * rows they work on are in engine/rows.h. Functions that may fail record a problem with refuse()
 * and return; the caller of the step rolls back everything, so no function undoes its own work.
 * Documents and strings that are returned without an arena argument are in the arena of the step.
 */
#pragma once

#include "core/engine/rows.h"
#include "model/reason.h"

/* ---- step.c: problems and effects ---- */

/* Record a problem: the step will be refused and rolled back. Always returns false, so that a
 * predicate can `return refuse(...)`. */
bool refuse(struct core *c, enum problem_code code, struct str field, struct str text);
bool refused(const struct core *c); /* any problem so far in this step */
/* Record NOT_FOUND for the id in `field` of the command. */
bool refuse_missing(struct core *c, const char *field, const char *noun, int64_t id);
struct effect *effect_add(struct core *c, enum effect_kind kind, int64_t id);

/* Execute a hook command: a step inside the step in progress, with an undo mark of its own. */
void core_step_inside(struct core *c, const struct command *command, struct outcome *out);
/* Execute a part of a COMMAND_BATCH. A part that needs replies of hooks is kept for the moment, so
 * that later parts see its changes; its veto requests become those of the batch, which is rolled
 * back and stepped again with the replies. Only a refused part is rolled back at once. */
void core_step_part(struct core *c, const struct command *part, struct outcome *out);
/* Call `attempt` under an undo mark and roll its changes back if it returns false. It receives a
 * copy of `row`. */
bool core_try(struct core *c,
              bool (*attempt)(struct core *c, const struct outbox *row, struct str commands,
                              struct str *out_text),
              const struct outbox *row, struct str commands, struct str *out_text);
/* A dry step: it is always rolled back, and its outcome is left in `out`. */
void core_step_dry(struct core *c, const struct command *command, struct arena *arena,
                   struct outcome *out);

/* Check the veto replies of the command and sort them by key, for a binary search. */
void command_sort_veto_replies(struct core *c, struct command *command);

/* ---- authority.c ---- */

/* Called before the handler of the command in progress: refused if its caller may not execute it
 * (ADR 0051, rules 1, 3, 4, 5). A part of a batch is checked with the rights of the batch. */
bool authority_check(struct core *c, bool is_part);
/* Called before a noderole or deployment role of the deployment is created, deleted, committed,
 * proposed or moved, before its data change, and before its head is proposed or recalled: refused
 * if the caller lacks the access level there (rule 2). The step continues and is rolled back. */
void authority_touch(struct core *c, deployment_ix d);
/* Called as well before user data of the role are changed, in whatever deployment (rule 5). */
void authority_touch_data(struct core *c, role_ix r);

/* One handler for each kind of command, in the file of its noun. A handler changes rows or calls
 * refuse(); the step rolls back the changes of a refused handler. */
#define C(upper, lower) void do_##lower(struct core *c, const struct lower##_command *p);
COMMANDS(C)
#undef C

/* ---- noderole.c: the state machine of a noderole ---- */

enum noderole_event {
    EVENT_COMMIT,
    EVENT_PROPOSE,
    EVENT_READY,     /* the last non-ACTIVE parent became ACTIVE            */
    EVENT_LOST,      /* a parent left ACTIVE                                */
    EVENT_ANC_ERROR, /* an ancestor entered ERROR                           */
    EVENT_START,     /* a run starts                                        */
    EVENT_OK,        /* the run succeeded                                   */
    EVENT_FAILED,    /* the run or a hook failed, or the run cannot start   */
    EVENT_RETRY,
    EVENT_DEACTIVATE, /* the node is not alive, or a result does not count   */
    NODEROLE_EVENT_COUNT
};

/* The cell of the state table in noderole.c, as a letter that its legend explains. */
char noderole_cell(uint8_t state, enum noderole_event event);
/* Apply an event by the state table. False if the cell refuses it; no problem is recorded. */
bool noderole_apply(struct core *c, noderole_ix nr, enum noderole_event event);
/* The same for an event of a run. State hooks are called if the run started while the head of its
 * deployment was COMMITTED (committed_run, ADR 0013), and not if it is the skipped start of a
 * destructive role (silent, ADR 0009). */
bool noderole_apply_run(struct core *c, noderole_ix nr, enum noderole_event event,
                        bool committed_run, bool silent);
/* A failure as it is stored with a noderole: a short status, the last RUNLOG_MAX bytes of `runlog`,
 * and the reason. */
struct failure {
    struct str status, runlog;
    struct reason why;
};
void noderole_note_failure(struct core *c, noderole_ix nr, const struct failure *failure);
/* Remove the stored reason of the last failure. */
void noderole_clear_reason(struct core *c, noderole_ix nr);
/* Store the failure and enter ERROR; no effect in a state in which the table ignores FAILED. */
void noderole_fail(struct core *c, noderole_ix nr, const struct failure *failure);
/* The same with the reason CANCELLED and the actor of the command in progress as subject. */
void noderole_fail_cancelled(struct core *c, noderole_ix nr);
/* A reason that a runner or hook reported: an unknown code becomes NONE, strings are truncated to
 * the stored lengths. */
struct reason reason_truncate(uint32_t code, struct str subject, struct str text);
/* A required, writable attrib of the noderole's own role that has neither a value nor a default in
 * its staged data; none if all are set. */
attrib_ix required_missing(const struct core *c, noderole_ix nr, struct arena *a);
/* True if the role has a required attrib that users may write. */
bool required_any(const struct core *c, role_ix role, struct arena *a);
/* A sentence that names the attrib and the ways to set it. */
struct str required_missing_text(const struct core *c, noderole_ix nr, attrib_ix attrib,
                                 struct arena *a);
/* The failures that a run then has; their texts are in the arena. */
struct failure required_missing_failure(const struct core *c, noderole_ix nr, attrib_ix attrib,
                                        struct arena *a);
struct failure required_size_failure(uint32_t size, struct arena *a);
/* Check the input of a run before it starts. If the staged data are too large, or a required attrib
 * has no value, the noderole enters ERROR and the result is true. */
bool run_fail_if_too_large(struct core *c, noderole_ix nr, struct str staged);
bool run_fail_if_attrib_missing(struct core *c, noderole_ix nr);
/* The reason of the failure that the result of a run carries. */
struct reason run_reason(const struct run_done_command *p);
/* The input of the noderole changed: run it again if it has run (docs/spec/data.md, Reruns). If it
 * cannot run now, it gets a rerun mark. */
void noderole_request_rerun(struct core *c, noderole_ix nr);
void noderole_mark_rerun(struct core *c, noderole_ix nr, bool on);
/* Set or clear the removal mark: the next commit of the head removes the noderole. */
void noderole_mark_removing(struct core *c, noderole_ix nr, bool removing);
/* docs/spec/runs.md, Runnable: the head of its deployment is COMMITTED, no target holds it, its
 * node is alive and available, its jig can run, and it is neither PROPOSED nor in ERROR. */
bool noderole_is_runnable(const struct core *c, noderole_ix nr);
/* Commit PROPOSED noderoles in the given order: veto request, timeline, data, settle; then switch
 * on nodes that are off. False if one is refused. */
bool noderole_commit_all(struct core *c, const noderole_ix *items, uint32_t count);
void noderole_propose(struct core *c, noderole_ix nr);
/* For redeploy: PROPOSED with run_count 0, without calling state hooks. */
void noderole_reset(struct core *c, noderole_ix nr);
/* Remove these and all their descendants, deepest first. The caller has checked with
 * graph_can_delete() that this is allowed. */
void noderole_destroy_all(struct core *c, const noderole_ix *items, uint32_t count);
/* Sort key: cohort, then id. */
uint64_t noderole_key(const struct noderole *nr);
/* By (cohort, id): <0, 0, >0. */
int noderole_cmp(const struct core *c, noderole_ix a, noderole_ix b);
/* "deployment: node: role", for messages. */
struct str noderole_label(const struct core *c, noderole_ix nr, struct arena *a);

/* ---- graph.c: edges, cohorts, walks ---- */

/* Add the edge parent -> child, unless it exists. Updates counters and cohorts and preserves
 * invariant I2; refuses GRAPH_CYCLE. */
void graph_add_edge(struct core *c, noderole_ix parent, noderole_ix child);
/* Remove the edges from all parents of a noderole that has no children and is being deleted. */
void graph_detach(struct core *c, noderole_ix nr);
bool graph_has_edge(const struct core *c, noderole_ix parent, noderole_ix child);
/* All descendants (ancestors) of `from`, in breadth-first order, in `a`. */
noderole_ix *graph_descendants(struct core *c, noderole_ix from, struct arena *a,
                               uint32_t *out_count);
noderole_ix *graph_ancestors(const struct core *c, noderole_ix from, struct arena *a,
                             uint32_t *out_count);
/* Refused with HAS_DEPENDANTS unless all descendants are on the same node, or all are PROPOSED and
 * have never run (ADR 0022). */
bool graph_can_delete(struct core *c, noderole_ix nr);
void graph_sort_by_cohort(const struct core *c, noderole_ix *items, uint32_t count,
                          bool descending);
struct keyed_noderole {
    uint64_t key; /* noderole_key(), or its complement for descending order */
    noderole_ix nr;
};
void graph_sort_keyed(struct keyed_noderole *items, uint32_t count, struct arena *scratch);

/* The position of the noderole in the list of its node, which is sorted by (cohort, id). */
uint32_t node_noderole_position(const struct core *c, noderole_ix nr);
/* Insert a new noderole into the list of its node. */
void node_insert_noderole(struct core *c, noderole_ix nr);

/* ---- cluster.c: members of a cluster role are updated together ---- */

struct cluster_watch {
    struct watched {
        noderole_ix nr;
        uint64_t staged; /* hash of its staged data before the commit */
    } * items;
    uint32_t count, cap;
};

/* Record the active members of the clusters that these PROPOSED noderoles join. */
struct cluster_watch cluster_watch(struct core *c, const noderole_ix *joining, uint32_t count);
/* Request a rerun of the recorded members whose staged data have changed since. */
void cluster_rerun_changed(struct core *c, const struct cluster_watch *watch);
/* Record the members, commit in the given order, rerun changed members. False when refused. */
bool cluster_commit(struct core *c, const noderole_ix *items, uint32_t count);

/* ---- bind.c ---- */

/* Bind a role with all missing parents; `data` is its proposed user data (empty = none). {0} when
 * refused (problems recorded). */
noderole_ix bind_role(struct core *c, role_ix role, node_ix node, deployment_ix deployment,
                      struct str data);
deployment_role_ix deployment_role_find(const struct core *c, deployment_ix d, role_ix r);
/* Find or create (with the veto request on_deployment_create). {0} when refused. */
deployment_role_ix deployment_role_ensure(struct core *c, deployment_ix d, role_ix r);
noderole_ix noderole_find(const struct core *c, node_ix n, role_ix r);
bool role_provides(const struct core *c, role_ix provider, role_ix provided);
/* True if the jig of the role exists and is active, or the test jig replaces it. */
bool role_can_run(const struct core *c, role_ix r);
/* The reason if not: "jig X is ...". */
struct str role_not_runnable_reason(const struct core *c, role_ix r, struct arena *a);
/* The name of the jig a run of `r` uses. */
struct str role_jig_name(const struct core *c, role_ix r);
bool role_is_noop(const struct core *c, role_ix r);

/* ---- anneal.c: the scheduler ---- */

/* Put the node into the dirty queue: a change may have made one of its noderoles startable. The
 * next annealing step evaluates it. */
void sched_enqueue_node(struct core *c, node_ix n);
void anneal_enqueue_all_nodes(struct core *c);
/* Lower the todo_cursor of the node to the position of a noderole that has entered NODEROLE_TODO.
 * */
void node_lower_todo_cursor(struct core *c, noderole_ix nr);
/* A run or noderole of the node is removed: drop its candidates and evaluate the node again. */
void anneal_forget_candidates(struct core *c, node_ix n);
/* The node is being deleted: remove it from all queues of the scheduler. */
void anneal_forget_node(struct core *c, node_ix n);

/* ---- runs.c: the state machine of a run ---- */

/* Request a run ahead of the annealer (docs/spec/runs.md, Enqueue). A noderole that cannot run now
 * gets a rerun mark instead. */
void run_enqueue(struct core *c, noderole_ix nr);
/* Start a run; the caller has checked the start conditions. */
void run_start(struct core *c, noderole_ix nr, run_ix queued_or_none);
/* True if the next run ends in the step that starts it: a no-op or a skipped start. */
bool run_is_instant(const struct core *c, noderole_ix nr);
void run_instant(struct core *c, noderole_ix nr, run_ix queued_or_none);
/* Cancel a run whose noderole leaves TRANSITION without a result. A RUNNING run becomes STOPPING,
 * any other is removed. */
void run_cancel(struct core *c, run_ix run);
/* Drop the noderole's queued run, if any. */
void run_drop_queued(struct core *c, noderole_ix nr);
/* Queue a run that is parked between two attempts without waiting for its backoff. False if the run
 * is not parked after a failure. */
bool run_skip_backoff(struct core *c, run_ix run);
bool run_is_parked(const struct core *c, int64_t id);
void runs_tick(struct core *c);
int64_t runs_next_deadline(const struct core *c); /* mono_ms; -1 = none */
void run_load_timer(struct core *c, run_ix run);  /* a PARKED run was loaded */
void run_forget_node(struct core *c, node_ix n);  /* node is being deleted */

/* ---- run_history.c: ended runs ---- */

/* The part of a log that is stored: at most its last RUNLOG_MAX bytes. */
struct str runlog_tail(struct str runlog);
/* Add the ended attempt to the history; once for each attempt. The result of a STOPPING run is
 * recorded as CANCELLED. */
/* Add an ended run of a noderole that did what it reports without a worker: one more attempt. */
void run_archive_served(struct core *c, noderole_ix nr, struct str runlog);
void run_archive(struct core *c, run_ix run, uint32_t result, struct str runlog,
                 const struct reason *why);
/* At the end of a batch: visit the deletion of the attempt that exceeds keep_runs, then the new
 * row. */
void run_collect(const struct core *c, const struct archived *old,
                 void (*visit)(void *context, const struct change *change), void *context);

/* ---- outbox.c: outbox rows, hooks and veto requests ---- */

/* The noderole has entered `state`: add its state hook. committed_run, silent:
 * noderole_apply_run(). */
void hooks_state(struct core *c, noderole_ix nr, enum noderole_state state, bool committed_run,
                 bool silent);
void hooks_proposed(struct core *c, noderole_ix nr);
/* The same for all noderoles of a deployment role, after data changed that they are given. */
void hooks_proposed_all(struct core *c, const struct vec *noderoles);
/* Request the hooks that compute data for the noderole (template, sysdata). False if its role
 * defines none. */
bool hooks_compute(struct core *c, noderole_ix nr);
/* The same for a role that was imported or changed, also if it is not bound. */
void hooks_compute_template(struct core *c, role_ix role);
void hooks_node(struct core *c, enum hook hook, node_ix n);
void hooks_deployment_role(struct core *c, enum hook hook, deployment_role_ix dr);
/* Look up the veto reply of a hook. True if the step may continue: the hook is not defined, has
 * accepted, or has not been called; in the last case a veto request is recorded and the step ends
 * with VERDICT_NEEDS_HOOKS. False if it has vetoed (problem recorded). */
bool hooks_request_veto(struct core *c, enum hook hook, role_ix role, struct str argument);
struct str hooks_noderole_argument(struct core *c, noderole_ix nr);
struct str hooks_deployment_role_argument(struct core *c, deployment_role_ix dr);
/* A row that calls the hook of the role about an object, with the effect that delivers it. */
outbox_ix outbox_add_hook(struct core *c, enum hook hook, role_ix role, enum table object,
                          int64_t id);
/* A new row without the effect that delivers it; none and a problem if the outbox is full. */
outbox_ix outbox_make(struct core *c, enum outbox_kind kind, enum table object, int64_t id);
/* Add the effect that delivers the row. */
void outbox_send(struct core *c, outbox_ix ix);
void outbox_remove(struct core *c, outbox_ix ix);
/* Probe whether the node answers; nothing starts on it before the result. */
void outbox_probe(struct core *c, node_ix n);
/* Drop the outstanding probe: its result would refer to an earlier boot. */
void outbox_forget_probe(struct core *c, node_ix n);
void outbox_load_probes(struct core *c);
/* Remove the hooks of a noderole that is being deleted. */
void outbox_forget_noderole(struct core *c, noderole_ix nr);
/* True if the role defines the hook and its jig can be used. */
bool hooks_role_defines(const struct core *c, role_ix role, enum hook hook);
/* hook_index.c: rebuild the lists of roles with hooks about nodes and networks after roles or jigs
 * changed. */
void hooks_index(struct core *c);

/* ---- network_hooks.c: hooks about networks and allocations ---- */

/* Call the hook of every role that defines it; of the roles that are made for a network only those
 * of this one. */
void hooks_network(struct core *c, enum hook hook, network_ix w);
/* An allocation was created, or is being deleted: add it to the list of this batch. */
void hooks_allocation_created(struct core *c, network_allocation_ix a);
void hooks_allocation_deleted(struct core *c, network_allocation_ix a);
/* The allocation with the names of its node, network and range, as in the arguments of hooks. */
struct json *allocation_describe(const struct core *c, network_allocation_ix a,
                                 struct arena *arena);

/* ---- boot_barrier.c: power actions and the boot barrier ---- */

/* Order a power action. An action that boots the machine waits until every noderole that serves
 * boots has served the node. Returns the id of the outbox row; 0 when refused. */
int64_t outbox_power(struct core *c, node_ix n, struct str action);
/* The same at most once for each node and step. */
void outbox_power_once(struct core *c, node_ix n, struct str action);
/* The result of a power action has arrived. */
void boot_power_done(struct core *c, outbox_ix ix, const struct outbox_done_command *p);
/* Set the status of the node: the last failure of its power or probe; NULL = none. */
void node_set_status(struct core *c, node_ix n, const struct reason *why);
/* Clear the flag `stopped`: noderoles may start on the node again. */
void node_clear_stopped(struct core *c, node_ix n);
/* True if a restart of the machine waits at the barrier: reports of this boot are obsolete. */
bool boot_restart_is_pending(const struct core *c, node_ix n);
/* True if the row waits at the barrier and has not been delivered. */
bool boot_order_is_waiting(const struct core *c, outbox_ix ix);
/* At the end of a step, after the boot view: deliver or give up the waiting orders whose condition
 * has changed, and call the installers that wait. */
void boot_settle(struct core *c);
void boot_forget_node(struct core *c, node_ix n);
void boot_tick(struct core *c);
int64_t boot_next_deadline(const struct core *c); /* mono_ms; -1 = none */
void boot_load(struct core *c);                   /* enqueue the waiting rows after a load */
/* The noderole that the power action of the node waits for; none = it does not wait. but_native:
 * see boot_service_late(). */
noderole_ix boot_blocking_noderole(const struct core *c, node_ix n, bool but_native);
const char *boot_check(const struct core *c);

/* ---- power_state.c: power states and results of power actions ---- */

/* How a power order ended. */
struct power_end {
    int64_t order; /* id of its outbox row */
    struct str action, driver, text;
    bool failed;
    enum reason_code reason; /* of a failure */
    bool was_performed;      /* or may have been: earlier readings of the state are obsolete */
};

/* True if the action only reads the power state. */
bool power_is_reading(struct str action);
/* Store the result with the node. */
void power_order_ended(struct core *c, node_ix n, const struct power_end *end);
/* The power state was read. is_ordered: an operator ordered the reading, so its time is stored even
 * if the state is unchanged. */
void power_reading_store(struct core *c, node_ix n, enum power_state state, struct str driver,
                         bool is_ordered);
/* The reading failed: keep the stored state and store the reason beside it. */
void power_reading_failed(struct core *c, node_ix n, enum reason_code reason, struct str text);

/* ---- data.c and stage.c: documents and attribs ---- */

/* The merged layers of an object (docs/spec/data.md, Layers). */
struct json *data_noderole(const struct core *c, noderole_ix nr, bool committed_only,
                           struct arena *a);
struct json *data_deployment_role(const struct core *c, deployment_role_ix dr, bool committed_only,
                                  struct arena *a);
struct json *data_node(const struct core *c, node_ix n, struct arena *a);
/* The value of the attrib in `tree`: at its map, or the default; NULL = null. */
const struct json *data_value(const struct core *c, attrib_ix attrib, const struct json *tree,
                              struct arena *a);
/* Replace the proposed user data; refused with NOT_PROPOSED in other states. Calls on_proposed. */
bool noderole_set_data(struct core *c, noderole_ix nr, struct str object);
/* The staged data of a run (docs/spec/data.md, Staged data): canonical JSON. */
struct str stage_noderole(const struct core *c, noderole_ix nr, struct arena *a);
/* Rebuild the attrib links of a noderole after its ancestors changed. */
void links_rebuild(struct core *c, noderole_ix nr);
void links_clear(struct core *c, noderole_ix nr);
/* A run returned wall data. If they are new, copy node attribs and reservations into the hint of
 * the node, and rerun linked children whose value changed. `old_wall` is the previous document. */
void data_after_run(struct core *c, noderole_ix nr, struct str old_wall);
/* Publish the proposed data of a deployment role and rerun its noderoles if the value of an attrib
 * changed. */
bool deployment_role_commit(struct core *c, deployment_role_ix dr);
void deployment_role_destroy(struct core *c, deployment_role_ix dr);

/* ---- deployment.c, timeline.c ---- */

deployment_ix deployment_system(const struct core *c);
enum deployment_state deployment_state(const struct core *c, deployment_ix d);
enum noderole_state node_state(const struct core *c, node_ix n);
/* A new deployment with its head and phantom node. {0} when refused. */
deployment_ix deployment_make(struct core *c, struct str name, struct str description,
                              deployment_ix parent, bool system);
/* Add a new PROPOSED head to the timeline, or recall the current one (docs/spec/timeline.md).
 * `name` of a new head; empty = that of the old one. False when refused. */
bool deployment_propose(struct core *c, deployment_ix d, struct str name);
/* The noderoles of the deployment that `wanted` selects, by (cohort, id), in the arena of the step.
 * The caller passes an upper bound of their number in `most`; 0 skips the search. */
typedef bool noderole_filter_fn(const struct noderole *nr);
noderole_ix *deployment_select(struct core *c, deployment_ix d, noderole_filter_fn *wanted,
                               uint32_t most, uint32_t *out_count);
/* Add the first head, or the next one, which archives the old one. {0} when refused. */
snapshot_ix timeline_begin(struct core *c, deployment_ix d, enum snapshot_state state);
snapshot_ix timeline_next(struct core *c, deployment_ix d, enum snapshot_state state,
                          struct str name);
/* All further changes of this step in `d` belong to its current head. */
void timeline_keep_head(struct core *c, deployment_ix d);
/* Remove all snapshots of a deployment that is being deleted. */
void timeline_destroy(struct core *c, deployment_ix d);
/* Record in the timeline that an object joins the deployment or gets new committed data, or that it
 * leaves. For a noderole the data are stored here, for a deployment role by the caller afterwards.
 * */
void timeline_commit_noderole(struct core *c, noderole_ix nr, struct str new_data);
void timeline_commit_role(struct core *c, deployment_role_ix dr, struct str new_data);
void timeline_drop_noderole(struct core *c, noderole_ix nr);
void timeline_drop_role(struct core *c, deployment_role_ix dr);
void snapshot_set_state(struct core *c, snapshot_ix s, enum snapshot_state state);

/* ---- defaults.c ---- */

/* Called with false before and with true after each change of the state, rerun mark or deployment
 * of a noderole, to update the counts. */
void defaults_count(struct core *c, noderole_ix nr, bool is_more);
/* Record that the last run of the noderole was staged with the current defaults of its role. */
void defaults_mark_staged(struct core *c, noderole_ix nr);
/* The defaults of the role changed. */
void defaults_changed(struct core *c, role_ix r);
/* The same for its owner and all roles that want it. */
void defaults_attrib_changed(struct core *c, attrib_ix attrib);
/* Start, or stop, rerunning the noderoles of the deployment whose defaults changed; annealing steps
 * do it in the background. */
void defaults_rerun(struct core *c, deployment_ix d);
void defaults_forget(struct core *c, deployment_ix d);
/* One slice of that; at least one deployment must be rerunning. The outcome has its id. */
void defaults_step(struct core *c, uint32_t until);
enum { CHANGED_SHOWN_MAX = 1000 };
/* True if the last run was staged with other defaults than the role has now. */
bool defaults_are_outdated(const struct core *c, const struct noderole *nr);
const char *defaults_check(const struct core *c);

/* ---- unproposed.c ---- */

/* True if values were stored while it was not PROPOSED: a commit does not publish them. */
bool noderole_has_unproposed(const struct noderole *nr);
/* Called with false before and true after each change of the state, user data or deployment. */
void unproposed_count(struct core *c, noderole_ix nr, bool is_more);
/* Append one of them as an entry of a list of a plan. */
void unproposed_put_entry(const struct core *c, noderole_ix nr, struct buf *list);
/* Append the first `most` of them; returns the total number. */
uint32_t unproposed_put(const struct core *c, deployment_ix d, uint32_t most, struct buf *list);
uint32_t unproposed_put_node(const struct core *c, node_ix n, uint32_t most, struct buf *list);

/* ---- plan.c and why.c ---- */

/* The changes of a commit, for its plan. */
struct commit {
    deployment_ix d;    /* none: single noderoles or a node were committed */
    node_ix node;       /* the node whose noderoles were committed; none: not a commit of a node */
    int64_t seq;        /* of the head before the commit */
    bool opens;         /* the head was PROPOSED: its TODO noderoles may start now */
    noderole_ix *items; /* committed noderoles, in order */
    uint32_t count;
    noderole_ix *removed; /* rows that the commit deleted */
    uint32_t removed_count, removed_cap;
    deployment_role_ix *roles; /* deployment roles whose data were committed */
    uint32_t role_count;
};

/* After the commit of a deployment: write its plan into the outcome and refuse with PLAN_CHANGED if
 * its hash is not `wanted` (unless the step only plans). */
void plan_check(struct core *c, const struct commit *work, struct str wanted);
/* After each commit: refuse with PLAN_CHANGED if `wanted` is given and is not the hash of the
 * noderoles that would destroy data. In a dry step for the consent, write them into the outcome. */
void consent_check(struct core *c, const struct commit *work, struct str wanted);
/* The noderoles of a deployment that wait for their run, by (cohort, id). */
noderole_ix *deployment_waiting(struct core *c, deployment_ix d, uint32_t *out_count);
/* Append {"node":1,"node_name":"n1","role":2,"role_name":"dns-server" without the closing brace,
 * after a comma unless it is the first of the list. */
void plan_put_item(const struct core *c, struct buf *list, noderole_ix nr);
/* "node":1,"node_name":"n1" and "role":2,"role_name":"dns-server" */
void plan_put_node(const struct core *c, struct buf *b, node_ix n);
void plan_put_role(const struct core *c, struct buf *b, role_ix r);
/* True if its next run destroys data: its role is destructive, and it has not run. */
bool consent_is_needed(const struct core *c, noderole_ix nr);
struct sha256;
void consent_hash(const struct core *c, struct sha256 *hash, noderole_ix nr);
/* {...,"steps":["wipe"]} */
void consent_put_entry(const struct core *c, noderole_ix nr, struct buf *list);
/* "steps":["wipe"],"targets":{"wipe":[{...}]}: the steps that the role announces, and what they act
 * on according to the user data that is in force. */
void plan_put_steps(const struct core *c, noderole_ix nr, struct buf *list);
/* One element of the chain of causes of a noderole, without texts; returns the noderole that
 * explains it, or none if this cause is the root. */
noderole_ix why_step(const struct core *c, noderole_ix nr, struct arena *a,
                     struct cause *out_cause);
struct str why_state_phrase(uint8_t state);
/* The state whose first noderole explains a deployment with these counts; STATE_COUNT if all are
 * active. */
uint8_t why_explaining_state(const uint32_t counts[NODEROLE_STATE_COUNT]);
/* core_why(); but_hooks: without the causes that are hooks without a result. */
struct cause *why_noderole(const struct core *c, noderole_ix nr, bool but_hooks, struct arena *a);

/* ---- node.c, node_verbs.c, node_actions.c ---- */

/* Change a flag with all its consequences (docs/spec/states.md, Node flags) except node_changed(),
 * which the caller calls once at the end. */
void node_set_alive(struct core *c, node_ix n, bool alive);
void node_set_available(struct core *c, node_ix n, bool available);
/* by: the noderole whose parked run sets it, which is given the grant of an installer; or none. */
void node_set_bootenv(struct core *c, node_ix n, struct str bootenv, noderole_ix by);
/* Noderoles of any node may be runnable again: evaluate all nodes and enqueue ACTIVE noderoles with
 * a rerun mark (ADR 0010). */
void nodes_resume_all(struct core *c);
/* After a change of the node: default group, and on_node_change if the node is available (ADR
 * 0024). */
void node_changed(struct core *c, node_ix n);
node_ix node_make(struct core *c, const struct node_create_command *p, deployment_ix d,
                  bool phantom);
void node_check_name(struct core *c, struct str name, node_ix self); /* self: may have it */
void node_rename(struct core *c, node_ix n, struct str name);
/* Delete the node with everything on it. False when noderoles on other nodes depend on it. */
bool node_remove(struct core *c, node_ix n);
/* Move the node; noderoles that have never run move with it (docs/spec/machines.md, Moving a node).
 * */
void node_move(struct core *c, node_ix n, deployment_ix to);
/* Bind every role with this flag that is not bound to the node, by (cohort, name). */
void node_bind_flagged(struct core *c, node_ix n, uint32_t flag);
/* True if nodes can be held at this role: a milestone with a no-op jig. */
bool node_is_target(const struct core *c, role_ix role);
/* Set the target of the node to a role that is bound to it; none = clear it. */
void node_set_target(struct core *c, node_ix n, role_ix role);
/* Recompute which noderoles the target keeps from running, after the noderoles of the node changed.
 * */
void node_apply_target(struct core *c, node_ix n);
/* A powersave role became ACTIVE: switch the node off if possible (docs/spec/states.md, Powersave).
 * */
void node_powersave(struct core *c, noderole_ix nr);
/* True if a hammer of the node offers this power action. */
bool node_can_power(const struct core *c, node_ix n, struct str action);
/* The forced power action instead of a graceful one that no hammer of the node offers. */
struct str node_choose_power(const struct core *c, node_ix n, struct str action);
/* All power actions that they offer, for messages: "reboot, on, off". */
struct str node_power_actions(const struct core *c, node_ix n, struct arena *a);

/* ---- boot_ids.c: which boot of a machine a report is from (ADR 0049) ---- */

bool boot_id_is_valid(struct str boot_id);
/* True if the id is of an earlier boot: a later one has reported since. */
bool boot_id_is_outdated(struct core *c, node_ix n, struct str boot_id);
/* Make this the current boot. */
void boot_id_record(struct core *c, node_ix n, struct str boot_id);

/* ---- objects: import.c, roles.c, groups.c, users.c, tokens.c, hammers.c, host_keys.c ---- */

/* Rebuild every derived list of all roles (parents, provided, wanted, jig ...) and cohorts. */
void roles_resolve(struct core *c);
/* Refuse, with every reason, a role that cannot be bound: core_role_unusable(). */
void role_refuse_unusable(struct core *c, role_ix r);
/* Refuse a role that its barclamp no longer defines, or whose network is being deleted: existing
 * noderoles stay, new ones are refused. */
void role_refuse_withdrawn(struct core *c, role_ix r);
/* True if the fields of the record are valid. */
bool bootenv_can_load(const struct bootenv *row, const struct bootenv_record *r);
/* True if any role provides another; otherwise the checks of provided roles are skipped. */
bool roles_have_provides(const struct core *c);
void group_join(struct core *c, group_ix g, node_ix n);
void groups_forget_node(struct core *c, node_ix n);
hammer_ix hammer_make(struct core *c, node_ix n, hammer_kind_ix kind, struct str username);
void hammers_forget_node(struct core *c, node_ix n);
void token_index(struct core *c, token_ix t); /* add it to the list of its owner */
void tokens_forget_user(struct core *c, user_ix u);
void tokens_forget_node(struct core *c, node_ix n);
void tokens_forget_deployment(struct core *c, deployment_ix d);
void host_keys_forget_node(struct core *c, node_ix n);
/* Mark the pinned keys of the current boot generation as expired: the next first contact replaces
 * them. They stay until then, because the restart itself may be ordered over ssh. */
void host_keys_expire(struct core *c, node_ix n);
/* True if the record is a valid pin of a key that no loaded row has. */
bool host_key_can_load(const struct core *c, const struct host_key_record *r);
void host_key_index(struct core *c, host_key_ix k); /* by its key, and in the list of its node */
const char *host_keys_check(const struct core *c);

/* ---- check_texts.c ---- */

const char *check_texts(const struct core *c, struct arena *a);

/* ---- records.c: rows as records and back ---- */

void record_of_row(const struct core *c, enum table table, uint32_t ix, struct record *out);
/* After a load: compute and store the hash of every row; returns the sum over all rows and
 * relations. */
struct digest128 core_store_row_hashes(struct core *c);
