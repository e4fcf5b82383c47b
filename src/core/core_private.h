/* core_private.h - what the chapters of the core ask of each other.
 *
 * Only files of src/core include this. Each section names the file that keeps its promises; the
 * rows they all work on are in rows.h.
 */
#pragma once

#include "core/engine/rows.h"
#include "model/reason.h"

/* ---- step.c: problems and effects ---- */

/* Records a problem; the step will be refused. False, so that `return refuse(...)` reads well. */
bool refuse(struct core *c, enum problem_code code, struct str field, struct str text);
bool refused(const struct core *c); /* any problem so far in this step */
/* NOT_FOUND for a thing named by id in `field`. */
bool refuse_missing(struct core *c, const char *field, const char *noun, int64_t id);
struct effect *effect_add(struct core *c, enum effect_kind kind, int64_t id);

/* A wish: a step inside the step in progress, kept or taken back on its own. */
void core_step_inside(struct core *c, const struct command *command, struct outcome *out);
/* A part of the command in progress: what it asks is asked by the whole, and it counts meanwhile as
 * if nobody said no. Only a refused one is taken back. */
void core_step_part(struct core *c, const struct command *part, struct outcome *out);
/* Try something that may fail half way: what it did is taken back when it says false. */
bool core_try(struct core *c,
              bool (*attempt)(struct core *c, const struct outbox *row, struct str wishes,
                              struct str *out_text),
              const struct outbox *row, struct str wishes, struct str *out_text);
/* A step that is always taken back; what it would have said stays in `out`. */
void core_step_dry(struct core *c, const struct command *command, struct arena *arena,
                   struct outcome *out);

/* Sorted, so that each question finds its answer at once; and checked. */
void command_sort_answers(struct core *c, struct command *command);

/* ---- authority.c ---- */

/* Before the handler of the command in progress: refused when its caller may not (rules 1, 3, 4).
 * A part of a batch is judged by the rights of the batch. */
bool authority_check(struct core *c, bool is_part);
/* Called before a noderole or deployment role of the deployment is created, deleted, committed,
 * proposed or moved, before its data change, and before its head is proposed or recalled: refused
 * when the caller lacks the level there (rule 2). The step goes on and is rolled back. */
void authority_touch(struct core *c, deployment_ix d);

/* One handler per command kind, each in its chapter. A handler refuses or changes; the step rolls
 * back what a refused handler did. */
#define C(upper, lower) void do_##lower(struct core *c, const struct lower##_command *p);
COMMANDS(C)
#undef C

/* ---- noderole.c: the life of one noderole ---- */

enum noderole_event {
    EVENT_COMMIT,
    EVENT_PROPOSE,
    EVENT_READY,     /* the last non-ACTIVE parent became ACTIVE            */
    EVENT_LOST,      /* a parent left ACTIVE otherwise than by propose      */
    EVENT_ANC_ERROR, /* an ancestor entered ERROR                           */
    EVENT_START,
    EVENT_OK,
    EVENT_FAILED,
    EVENT_RETRY,
    EVENT_DEACTIVATE,
    NODEROLE_EVENT_COUNT
};

/* What the event means in that state: a letter of the table of noderole.c. */
char noderole_cell(uint8_t state, enum noderole_event event);
/* Apply an event by the table. False when the cell refuses; no problem is recorded. */
bool noderole_apply(struct core *c, noderole_ix nr, enum noderole_event event);
/* The same for what a run did: whether it began while its deployment was COMMITTED (D15), and
 * whether it was a destructive role's start that runs nothing (K1) decide about hooks. */
bool noderole_apply_run(struct core *c, noderole_ix nr, enum noderole_event event,
                        bool committed_run, bool silent);
/* A failure as a noderole keeps it: a short status, the end of `runlog` (RUNLOG_MAX bytes of it),
 * and the reason. */
struct failure {
    struct str status, runlog;
    struct reason why;
};
void noderole_note_failure(struct core *c, noderole_ix nr, const struct failure *failure);
/* As it was before the first failure: no reason. */
void noderole_clear_reason(struct core *c, noderole_ix nr);
/* ERROR, where the table lets it fail. */
void noderole_fail(struct core *c, noderole_ix nr, const struct failure *failure);
/* The same because whoever gave the command cancelled its run. */
void noderole_fail_cancelled(struct core *c, noderole_ix nr);
/* Texts and code of a reason that came from outside, cut to what is kept. */
struct reason reason_taken(uint32_t code, struct str subject, struct str text);
/* A required attrib of the noderole's own role that people set, and that has neither a value nor a
 * default in what a run of it would be given; none when nothing is missing. */
attrib_ix required_missing(const struct core *c, noderole_ix nr, struct arena *a);
/* Whether the role has such an attrib at all. */
bool required_any(const struct core *c, role_ix role, struct arena *a);
/* Which one it is and who can set it. */
struct str required_sentence(const struct core *c, noderole_ix nr, attrib_ix attrib,
                             struct arena *a);
/* Put the noderole into ERROR when its run cannot be started: what it would be given is too large,
 * or lacks a required attrib. True when it was. */
bool run_is_too_large(struct core *c, noderole_ix nr, struct str staged);
bool run_lacks_attrib(struct core *c, noderole_ix nr);
/* Why the run failed, as its answer says. */
struct reason run_reason(const struct run_done_command *p);
/* poke (SEMANTICS 6.9): rerun what has run, if it may run. */
void noderole_request_rerun(struct core *c, noderole_ix nr);
void noderole_mark_rerun(struct core *c, noderole_ix nr, bool on);
/* The next commit of the head removes it, or does not after all. */
void noderole_mark_removing(struct core *c, noderole_ix nr, bool removing);
/* The head of its deployment is COMMITTED, it is available, its node alive and available, and its
 * jig usable. */
bool noderole_is_runnable(const struct core *c, noderole_ix nr);
/* commit of one PROPOSED noderole (hook asked, data published, timeline stamped, settled). */
/* The same for many, in the order given. */
bool noderole_commit_all(struct core *c, const noderole_ix *items, uint32_t count);
void noderole_propose(struct core *c, noderole_ix nr);
/* PROPOSED as if it never ran: run_count 0, and no hook hears of it (redeploy, K12). */
void noderole_reset(struct core *c, noderole_ix nr);
/* Remove these and all their descendants, deepest first; the caller has checked that it may
 * (graph_can_delete). */
void noderole_destroy_all(struct core *c, const noderole_ix *items, uint32_t count);
/* Smaller keys come first: cohort, then id. */
uint64_t noderole_key(const struct noderole *nr);
/* By (cohort, id): <0, 0, >0. */
int noderole_cmp(const struct core *c, noderole_ix a, noderole_ix b);
/* Name for people: "deployment: node: role". */
struct str noderole_label(const struct core *c, noderole_ix nr, struct arena *a);

/* ---- graph.c: edges, cohorts, walks ---- */

/* parent -> child, unless it is there. Keeps counters, cohorts and I2; refuses GRAPH_CYCLE. */
void graph_add_edge(struct core *c, noderole_ix parent, noderole_ix child);
/* Cut a noderole without children off from its parents: it is going. */
void graph_detach(struct core *c, noderole_ix nr);
bool graph_has_edge(const struct core *c, noderole_ix parent, noderole_ix child);
/* Everything below (above) `from`, not including it unless on a cycle: in the step's arena, in
 * discovery order. */
noderole_ix *graph_descendants(struct core *c, noderole_ix from, struct arena *a,
                               uint32_t *out_count);
noderole_ix *graph_ancestors(const struct core *c, noderole_ix from, struct arena *a,
                             uint32_t *out_count);
/* SEMANTICS 3.9: refused with HAS_DEPENDANTS unless K21 allows. */
bool graph_can_delete(struct core *c, noderole_ix nr);
void graph_sort_by_cohort(const struct core *c, noderole_ix *items, uint32_t count,
                          bool descending);
struct keyed_noderole {
    uint64_t key; /* noderole_key, or its complement for the other way round */
    noderole_ix nr;
};
void graph_sort_keyed(struct keyed_noderole *items, uint32_t count, struct arena *scratch);

/* Where the noderole stands in its node's list. */
uint32_t node_place_of(const struct core *c, noderole_ix nr);
/* Put a new noderole into its node's list. */
void node_place(struct core *c, noderole_ix nr);

/* ---- cluster.c: members that go together ---- */

struct cluster_watch {
    struct watched {
        noderole_ix nr;
        uint64_t staged; /* hash of what a run would have been given */
    } * items;
    uint32_t count, cap;
};

/* The members that were there before these PROPOSED noderoles join them. */
struct cluster_watch cluster_watch(struct core *c, const noderole_ix *joining, uint32_t count);
/* Those of them whose staged data are others now run again. */
void cluster_poke_changed(struct core *c, const struct cluster_watch *watch);
/* Watch, commit in the order given, poke. False when refused. */
bool cluster_commit(struct core *c, const noderole_ix *items, uint32_t count);

/* ---- bind.c ---- */

/* Bind atomically with all missing parents, `data` as what its user wants of it (empty = nothing).
 * {0} when refused (problems recorded). */
noderole_ix bind_role(struct core *c, role_ix role, node_ix node, deployment_ix deployment,
                      struct str data);
deployment_role_ix deployment_role_find(const struct core *c, deployment_ix d, role_ix r);
/* Find or create (asks on_deployment_create). {0} when refused. */
deployment_role_ix deployment_role_ensure(struct core *c, deployment_ix d, role_ix r);
noderole_ix noderole_find(const struct core *c, node_ix n, role_ix r);
bool role_provides(const struct core *c, role_ix provider, role_ix provided);
/* Is `r`'s jig usable here (K10)? */
bool role_can_run(const struct core *c, role_ix r);
/* Why not? "jig X is ...". */
struct str role_why_not(const struct core *c, role_ix r, struct arena *a);
/* The name of the jig a run of `r` uses. */
struct str role_jig_name(const struct core *c, role_ix r);
bool role_is_noop(const struct core *c, role_ix r);

/* ---- anneal.c: who may start, and when ---- */

/* Something about this node may have changed: look at it in the next annealing step. */
void sched_enqueue_node(struct core *c, node_ix n);
void anneal_look_everywhere(struct core *c);
/* The noderole became TODO (its state was another): first_todo moves. */
void node_lower_todo_cursor(struct core *c, noderole_ix nr);
/* A run or noderole of the node is going: whatever waits for a worker there is chosen anew. */
void anneal_forget_candidates(struct core *c, node_ix n);
/* Take the node out of every line (it is being deleted). */
void anneal_forget_node(struct core *c, node_ix n);

/* ---- runs.c: rows of work ---- */

void run_enqueue(struct core *c, noderole_ix nr);                      /* SEMANTICS 5.2 with X8  */
void run_start(struct core *c, noderole_ix nr, run_ix queued_or_none); /* everything was checked */
bool run_is_instant(const struct core *c, noderole_ix nr);             /* no-op or skipped        */
void run_instant(struct core *c, noderole_ix nr, run_ix queued_or_none);
/* Its noderole leaves TRANSITION otherwise than by an answer. */
void run_cancel(struct core *c, run_ix run);
/* Drop the noderole's queued run, if any. */
void run_drop_queued(struct core *c, noderole_ix nr);
/* One that waits for its next start after a failure starts now; false: it is none. */
bool run_skip_backoff(struct core *c, run_ix run);
bool run_is_parked(const struct core *c, int64_t id);
void run_load_timer(struct core *c, run_ix run); /* a PARKED run was loaded */
void run_forget_node(struct core *c, node_ix n); /* node is being deleted */

/* ---- run_history.c: runs that are over ---- */

/* What of a log is kept: its end. */
struct str runlog_tail(struct str runlog);
/* A start that was ordered is over; once for each. Of one that is being stopped the result does
 * not count. */
void run_archive(struct core *c, run_ix run, uint32_t result, struct str runlog,
                 const struct reason *why);
/* The end of a batch: hand out the run, and before it the one that goes for it. */
void run_collect(const struct core *c, const struct archived *old,
                 void (*visit)(void *context, const struct change *change), void *context);

/* ---- outbox.c: outbox and questions ---- */

/* After the noderole entered `state`, perhaps by a run that began while COMMITTED (D15). */
void hooks_state(struct core *c, noderole_ix nr, enum noderole_state state, bool committed_run,
                 bool silent);
void hooks_proposed(struct core *c, noderole_ix nr);
/* Have what its role computes for it computed anew (D20). False when its role computes nothing. */
bool hooks_compute(struct core *c, noderole_ix nr);
/* The same for a role that came or changed, whether anybody uses it or not. */
void hooks_compute_template(struct core *c, role_ix role);
void hooks_node(struct core *c, enum hook hook, node_ix n);
void hooks_deployment_role(struct core *c, enum hook hook, deployment_role_ix dr);
/* Ask a hook that may veto. True when it may go on (answered yes, or not defined, or still to be
 * asked: then the step ends in VERDICT_NEEDS_HOOKS). False when vetoed (problem recorded). */
bool hooks_ask(struct core *c, enum hook hook, role_ix role, struct str argument);
struct str hooks_noderole_argument(struct core *c, noderole_ix nr);
struct str hooks_deployment_role_argument(struct core *c, deployment_role_ix dr);
/* The same for the roles with that flag alone. */
void hooks_node_of(struct core *c, enum hook hook, node_ix n, uint32_t flag);
/* A row nobody has been told of; none and a problem when the outbox is full. */
outbox_ix outbox_make(struct core *c, enum outbox_kind kind, enum table object, int64_t id);
void outbox_tell(struct core *c, outbox_ix ix);
void outbox_remove(struct core *c, outbox_ix ix);
void outbox_probe(struct core *c, node_ix n);
void outbox_forget_probe(struct core *c, node_ix n);
void probes_load(struct core *c);
/* Rows about a noderole that is going away. */
void outbox_forget_noderole(struct core *c, noderole_ix nr);
/* Roles' hook lists after roles or jigs changed. */
void hooks_index(struct core *c);

/* ---- boot_barrier.c: what machines boot, and the barrier before it ---- */

/* Have it done, once everybody who serves boots has served what the node is to boot. Returns the id
 * of its row; 0 = there is none, and that is refused. */
int64_t outbox_power(struct core *c, node_ix n, struct str action);
/* The same unless this command has asked so already. */
void outbox_power_once(struct core *c, node_ix n, struct str action);
/* It has been done, or could not be. */
void boot_power_done(struct core *c, outbox_ix ix, const struct outbox_done_command *p);
/* What went wrong with its power last, or why it does not answer; NULL = nothing. */
void node_set_status(struct core *c, node_ix n, const struct reason *why);
/* Somebody saw to it: what went wrong is over, and the node is not stopped any more. */
void node_clear_stopped(struct core *c, node_ix n);
/* A restart of the machine waits: what it says of itself is about to be over. */
bool boot_restarts(const struct core *c, node_ix n);
/* The row waits, and nobody has been told of it. */
bool boot_waits(const struct core *c, outbox_ix ix);
/* At the end of a step: whatever waits goes on, or is given up. */
void boot_settle(struct core *c);
/* One of those who serve boots failed, was proposed, or goes. */
void boot_server_moved(struct core *c, noderole_ix nr);
void boot_forget_node(struct core *c, node_ix n);
/* Who serves boots after roles or settings changed. */
void boot_index(struct core *c);
void boot_tick(struct core *c);
int64_t boot_next_deadline(const struct core *c); /* mono_ms; -1 = none */
void boot_load(struct core *c);                   /* rows that wait were loaded */
/* Whom the node's power waits for, to serve which generation; none = it does not wait. */
noderole_ix boot_waits_for(const struct core *c, node_ix n, struct arena *a,
                           int64_t *out_generation);
/* Everybody who serves boots has served what the node boots now. */
bool boot_is_served(const struct core *c, node_ix n, struct arena *a);
const char *boot_check(const struct core *c);

/* ---- power_state.c: what is known of the power of machines ---- */

/* How a power order ended. */
struct power_end {
    int64_t order; /* id of its outbox row */
    struct str action, driver, text;
    bool failed;
    enum reason_code reason; /* of a failure */
    bool was_performed;      /* or may have been: readings that began before are old */
};

/* Does the action only read the power state? */
bool power_is_reading(struct str action);
/* Keep the result with the node. */
void power_order_ended(struct core *c, node_ix n, const struct power_end *end);
/* The machine answered. is_ordered: it was asked for, so the time is stored in any case. */
void power_was_read(struct core *c, node_ix n, enum power_state state, struct str driver,
                    bool is_ordered);
/* It did not: the state stays as it was, with the reason beside it. */
void power_was_not_read(struct core *c, node_ix n, enum reason_code reason, struct str text);

/* ---- data.c and stage.c: documents and attribs ---- */

/* Layers of SEMANTICS 6.1. */
struct json *data_noderole(const struct core *c, noderole_ix nr, bool committed_only,
                           struct arena *a);
struct json *data_deployment_role(const struct core *c, deployment_role_ix dr, bool committed_only,
                                  struct arena *a);
struct json *data_node(const struct core *c, node_ix n, struct arena *a);
/* What the attrib reads as in `tree`: the value at its map, or the default; NULL = null. */
const struct json *data_value(const struct core *c, attrib_ix attrib, const struct json *tree,
                              struct arena *a);
/* Replace the user's proposed data; NOT_PROPOSED unless PROPOSED. Fires on_proposed. */
bool noderole_set_data(struct core *c, noderole_ix nr, struct str object);
/* SEMANTICS 6.6: canonical text. */
struct str stage_noderole(const struct core *c, noderole_ix nr, struct arena *a);
/* Rebuild the attrib links of a noderole after its ancestry changed (6.6, 6.7). */
void links_rebuild(struct core *c, noderole_ix nr);
void links_clear(struct core *c, noderole_ix nr);
/* After a successful run with a new wall: feed node attribs and reservations back, poke linked
 * children whose value changed. `old_wall` is what it was. */
void data_after_run(struct core *c, noderole_ix nr, struct str old_wall);
/* Deployment role: publish proposed data, poke its noderoles if an attrib's value changed. */
bool deployment_role_commit(struct core *c, deployment_role_ix dr);
void deployment_role_destroy(struct core *c, deployment_role_ix dr);

/* ---- deployment.c, timeline.c ---- */

deployment_ix deployment_system(const struct core *c);
enum deployment_state deployment_state(const struct core *c, deployment_ix d);
enum noderole_state node_state(const struct core *c, node_ix n);
/* A new deployment with its head and phantom; used by found and create. {0} when refused. */
deployment_ix deployment_make(struct core *c, struct str name, struct str description,
                              deployment_ix parent, bool system);
/* D11, K19: a new PROPOSED head, or the same one recalled. `name` of a new head; empty = the old
 * one's. False when refused. */
bool deployment_propose(struct core *c, deployment_ix d, struct str name);
/* The noderoles of the deployment that `wanted` wants, by (cohort, id), in the step's arena. There
 * are at most `most` of them: 0 saves the look. */
typedef bool pick_fn(const struct noderole *nr);
noderole_ix *deployment_pick(struct core *c, deployment_ix d, pick_fn *wanted, uint32_t most,
                             uint32_t *out_count);
/* The first head; the next one, the old one becoming history. {0} when refused. */
snapshot_ix timeline_begin(struct core *c, deployment_ix d, enum snapshot_state state);
snapshot_ix timeline_next(struct core *c, deployment_ix d, enum snapshot_state state,
                          struct str name);
/* Whatever else this step changes in `d` belongs to the head it has now. */
void timeline_hold(struct core *c, deployment_ix d);
/* Every snapshot of a deployment that is being deleted. */
void timeline_destroy(struct core *c, deployment_ix d);
/* It joins, gets new committed data (for a noderole they are put here, for a role by the caller
 * right after), or leaves. */
void timeline_commit_noderole(struct core *c, noderole_ix nr, struct str new_data);
void timeline_commit_role(struct core *c, deployment_role_ix dr, struct str new_data);
void timeline_drop_noderole(struct core *c, noderole_ix nr);
void timeline_drop_role(struct core *c, deployment_role_ix dr);
void snapshot_set_state(struct core *c, snapshot_ix s, enum snapshot_state state);

/* ---- defaults.c ---- */

/* Around each change of a noderole's state, rerun mark or place: no longer, then again. */
void defaults_count(struct core *c, noderole_ix nr, bool is_more);
void defaults_take(struct core *c, noderole_ix nr); /* its run was staged with what is there now */
void defaults_moved(struct core *c, role_ix r);
/* The same for its owner and all roles that want it. */
void defaults_attrib_moved(struct core *c, attrib_ix attrib);
/* Run again what is changed in the deployment, step by step; it is not to go on. */
void defaults_rerun(struct core *c, deployment_ix d);
void defaults_forget(struct core *c, deployment_ix d);
/* Some of it; only when some deployment is rerunning. The outcome's id is the deployment. */
void defaults_step(struct core *c, uint32_t until);
enum { CHANGED_SHOWN_MAX = 1000 };
/* Its last run was staged with other defaults than its role has now. */
bool defaults_are_other(const struct core *c, const struct noderole *nr);
const char *defaults_check(const struct core *c);

/* ---- unproposed.c ---- */

/* Values were stored on it while it was not proposed: a commit does not publish them. */
bool unproposed_is(const struct noderole *nr);
/* Around each change of a noderole's state, user data or deployment: no longer, then again. */
void unproposed_count(struct core *c, noderole_ix nr, bool is_more);
/* One of them as an entry of a plan's list. */
void unproposed_put_entry(const struct core *c, noderole_ix nr, struct buf *list);
/* The first of them as entries of a plan's list; how many there are. */
uint32_t unproposed_put(const struct core *c, deployment_ix d, uint32_t most, struct buf *list);
uint32_t unproposed_put_node(const struct core *c, node_ix n, uint32_t most, struct buf *list);

/* ---- plan.c and why.c ---- */

/* What a commit did, for its plan. */
struct commit {
    deployment_ix d;    /* none: noderoles were committed, not a deployment */
    node_ix node;       /* all that was proposed on it was committed; none: something else was */
    int64_t seq;        /* of the head it began with */
    bool opens;         /* the head was proposed: what waits in it may start now */
    noderole_ix *items; /* committed, in order */
    uint32_t count;
    noderole_ix *removed; /* dead rows */
    uint32_t removed_count, removed_cap;
    deployment_role_ix *roles; /* whose data were committed */
    uint32_t role_count;
};

/* After the commit of a deployment: its plan as the outcome's document; PLAN_CHANGED unless its
 * hash is `wanted` (or the step only plans). */
void plan_check(struct core *c, const struct commit *work, struct str wanted);
/* After each commit: PLAN_CHANGED unless what it destroys has the hash `wanted`, or none is. When
 * the step only asks for that, the outcome's document says it. */
void consent_check(struct core *c, const struct commit *work, struct str wanted);
/* Noderoles of a deployment that wait for their run, by (cohort, id). */
noderole_ix *deployment_waiting(struct core *c, deployment_ix d, uint32_t *out_count);
/* {"node":1,"node_name":"n1","role":2,"role_name":"dns-server" without its end, after a comma if
 * it is not the first of the list. */
void plan_put_item(const struct core *c, struct buf *list, noderole_ix nr);
/* "node":1,"node_name":"n1" and "role":2,"role_name":"dns-server" */
void plan_put_node(const struct core *c, struct buf *b, node_ix n);
void plan_put_role(const struct core *c, struct buf *b, role_ix r);
/* It destroys data when it runs: its role does so, and it has not run. */
bool consent_is_needed(const struct core *c, noderole_ix nr);
struct sha256;
void consent_hash(const struct core *c, struct sha256 *hash, noderole_ix nr);
/* {...,"steps":["wipe"]} */
void consent_put_entry(const struct core *c, noderole_ix nr, struct buf *list);
/* The last cause of the chain of one noderole, without texts; returns the noderole that is to be
 * explained next, or none when this cause is the root. */
noderole_ix why_step(const struct core *c, noderole_ix nr, struct arena *a,
                     struct cause *out_cause);
/* Of a deployment with these counts, the state whose first noderole explains it; STATE_COUNT when
 * all are active. */
uint8_t why_telling_state(const uint32_t counts[NODEROLE_STATE_COUNT]);
/* core_why, with or without hooks that have not answered. */
struct cause *why_noderole(const struct core *c, noderole_ix nr, bool but_hooks, struct arena *a);

/* ---- node.c, node_verbs.c, node_actions.c ---- */

/* Engine-side flag changes with all their consequences (SEMANTICS 3.6) but node_changed(), which
 * the caller calls once at the end. */
void node_set_alive(struct core *c, node_ix n, bool alive);
void node_set_available(struct core *c, node_ix n, bool available);
void node_set_bootenv(struct core *c, node_ix n, struct str bootenv);
/* Work may be possible again anywhere: look, and run what was put off (K3). */
void nodes_resume_all(struct core *c);
void node_changed(struct core *c, node_ix n); /* K17 */
node_ix node_make(struct core *c, const struct node_create_command *p, deployment_ix d,
                  bool phantom);
void node_check_name(struct core *c, struct str name, node_ix self); /* self: may have it */
void node_rename(struct core *c, node_ix n, struct str name);
/* The node with everything on it. False when noderoles elsewhere forbid it. */
bool node_remove(struct core *c, node_ix n);
/* SEMANTICS 8.5: what has not been touched follows. */
void node_move(struct core *c, node_ix n, deployment_ix to);
/* Bind every role with that flag which is not there yet, by (cohort, name). */
void node_bind_flagged(struct core *c, node_ix n, uint32_t flag);
/* Can nodes be held at this role (D14)? */
bool node_is_target(const struct core *c, role_ix role);
/* Hold the node at a role that is bound to it; none = let go (SEMANTICS 3.8). */
void node_set_target(struct core *c, node_ix n, role_ix role);
/* Hold back everything the target does not need; after the node's noderoles changed. */
void node_apply_target(struct core *c, node_ix n);
/* A powersave role became ACTIVE (SEMANTICS 3.7). */
void node_powersave(struct core *c, noderole_ix nr);
/* Does a hammer of the node offer this power action? */
bool node_can_power(const struct core *c, node_ix n, struct str action);
/* All they offer, for people: "reboot, on, off". */
struct str node_power_actions(const struct core *c, node_ix n, struct arena *a);

/* ---- boot_ids.c: which boot of a machine speaks ---- */

bool boots_is_id(struct str boot_id);
/* It was followed by another one. */
bool boots_is_over(struct core *c, node_ix n, struct str boot_id);
/* This one speaks from now on. */
void boots_begin(struct core *c, node_ix n, struct str boot_id);

/* ---- objects: import.c, roles.c, groups.c, users.c, tokens.c, hammers.c, host_keys.c ---- */

/* Rebuild every derived list of all roles (parents, provided, wanted, jig ...) and cohorts. */
void roles_resolve(struct core *c);
/* Says no, with every reason, when nobody can bind it now: as core_role_unusable() has it. */
void role_refuse_unusable(struct core *c, role_ix r);
/* Says no when its barclamp does not name it any more: it may only stay where it is. */
void role_refuse_withdrawn(struct core *c, role_ix r);
/* Does any role provide another? Nothing of that needs checking otherwise. */
bool roles_have_provides(const struct core *c);
void group_join(struct core *c, group_ix g, node_ix n);
void groups_forget_node(struct core *c, node_ix n);
hammer_ix hammer_make(struct core *c, node_ix n, hammer_kind_ix kind, struct str username);
void hammers_forget_node(struct core *c, node_ix n);
void token_index(struct core *c, token_ix t); /* its owner knows of it */
void tokens_forget_user(struct core *c, user_ix u);
void tokens_forget_node(struct core *c, node_ix n);
void tokens_forget_deployment(struct core *c, deployment_ix d);
void host_keys_forget_node(struct core *c, node_ix n);
/* Those of one boot generation do not hold any more: the next first contact replaces them. Until
 * then they stay, since the restart itself may be ordered by ssh. */
void host_keys_expire(struct core *c, node_ix n);
/* Is the record a pin, and of a key that no loaded row has? */
bool host_key_can_load(const struct core *c, const struct host_key_record *r);
void host_key_index(struct core *c, host_key_ix k); /* found by its key, and its node lists it */
const char *host_keys_check(const struct core *c);

/* ---- check_texts.c ---- */

const char *check_texts(const struct core *c, struct arena *a);

/* ---- records.c: rows as records and back ---- */

void record_of_row(const struct core *c, enum table table, uint32_t ix, struct record *out);
/* After a load: give every row its share of the digest; the sum over all rows and relations. */
struct digest128 core_seal(struct core *c);
