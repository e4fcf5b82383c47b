#include "core/plan/commit_view.h"
#include "core/machine/grants.h"
#include "core/query/why_boot.h"
#include "core/query/why_chain.h"

/* Why an object is not in the desired state: the chain from the first unmet condition down to its
 * root cause (ADR 0027). The conditions are those under which a noderole starts; the first one that
 * is unmet is reported. Each further noderole is earlier by (cohort, id) than the one it explains,
 * so every chain ends. The file owns no state, and nothing is changed or fails; an object that does
 * not exist has no chain. With a view in place (commit_view.h) it is that after the commit. */

void why_add(struct why_chain *ch, struct cause cause)
{
    if (ch->brief) {
        *ch->brief = cause;
        return;
    }
    struct cause *made = arena_copy(ch->arena, &cause, sizeof cause);
    if (ch->last)
        ch->last->next = made;
    else
        ch->first = made;
    ch->last = made;
}

/* "`dns-server` on `n3`" */
struct str why_noderole_name(struct why_chain *ch, noderole_ix nr)
{
    const struct noderole *row = noderole_at(ch->c, nr);
    return CAUSE_TEXT(ch, STR("`"), text_of(ch->c, role_at(ch->c, row->role)->name), STR("` on `"),
                      text_of(ch->c, node_at(ch->c, row->node)->name), STR("`"));
}

struct str why_node_name(struct why_chain *ch, node_ix n)
{
    return CAUSE_TEXT(ch, STR("node `"), text_of(ch->c, node_at(ch->c, n)->name), STR("`"));
}

/* Adds a cause about the noderole itself, since it is in its state. */
static void why_add_noderole(struct why_chain *ch, enum cause_code code, noderole_ix nr,
                             struct str text)
{
    const struct noderole *row = noderole_at(ch->c, nr);
    why_add(ch, (struct cause){.code = code,
                               .object = TABLE_NODEROLE,
                               .object_id = row->o.id,
                               .noderole_id = row->o.id,
                               .since = row->since,
                               .text = text});
}

static void why_add_node(struct why_chain *ch, enum cause_code code, node_ix n, int64_t since,
                         struct str text)
{
    why_add(ch, (struct cause){.code = code,
                               .object = TABLE_NODE,
                               .object_id = node_at(ch->c, n)->o.id,
                               .since = since,
                               .text = text});
}

/* ---- root causes ---- */

/* Adds the stored reason of the preceding cause, if there is one. */
static void why_add_reason(struct why_chain *ch, const struct reason *why, noderole_ix nr,
                           node_ix n)
{
    const struct noderole *row = nr.v ? noderole_at(ch->c, nr) : NULL;
    struct cause cause = {.code = CAUSE_REASON,
                          .reason = why->code,
                          .subject = why->subject,
                          .noderole_id = row ? row->o.id : 0,
                          .since = row ? row->since : 0,
                          .text = why->text,
                          .object = TABLE_NODE,
                          .object_id = node_at(ch->c, n)->o.id};
    const uint32_t attrib = name_find(ch->c, TABLE_ATTRIB, why->subject);
    if (why->code == REASON_NONE)
        return;
    const enum reason_object about = reason_object(why->code);
    if (row && (about == REASON_OF_NODEROLE || (about == REASON_OF_ATTRIB && !attrib))) {
        cause.object = TABLE_NODEROLE;
        cause.object_id = row->o.id;
    } else if (row && about == REASON_OF_ROLE) {
        cause.object = TABLE_ROLE;
        cause.object_id = role_at(ch->c, row->role)->o.id;
    } else if (row && about == REASON_OF_ATTRIB) {
        cause.object = TABLE_ATTRIB;
        cause.object_id = attrib_at(ch->c, (attrib_ix){attrib})->o.id;
    }
    why_add(ch, cause);
}

static void why_add_noderole_reason(struct why_chain *ch, noderole_ix nr)
{
    const struct noderole *row = noderole_at(ch->c, nr);
    const struct failure *by_commit = view_failure(ch->c, nr);
    const struct reason why = {.code = (enum reason_code)row->reason,
                               .subject = text_of(ch->c, row->reason_subject),
                               .text = text_of(ch->c, row->reason_text)};
    why_add_reason(ch, by_commit ? &by_commit->why : &why, nr, row->node);
}

static void why_add_node_reason(struct why_chain *ch, node_ix n)
{
    const struct node *row = node_at(ch->c, n);
    const struct reason why = {.code = (enum reason_code)row->reason,
                               .subject = text_of(ch->c, row->reason_subject),
                               .text = text_of(ch->c, row->status)};
    why_add_reason(ch, &why, (noderole_ix){0}, n);
}

/* "sysdata failed" does not state the cause, so the first line of the hook's message is appended. A
 * hook is the subject of the reason; the message of a failed run is in its log. */
static struct str why_hook_message(const struct why_chain *ch, const struct noderole *row)
{
    const struct str subject = text_of(ch->c, row->reason_subject);
    const struct str text = text_of(ch->c, row->reason_text);
    bool is_hook = false;
    for (uint32_t hook = 0; hook < HOOK_COUNT; hook++)
        is_hook |= str_eq(subject, str_from(hook_name((enum hook)hook)));
    if (!is_hook || !text.len || row->reason < REASON_HOOK_ERROR ||
        row->reason > REASON_HOOK_MISSING)
        return STR("");
    return STR_CONCAT(ch->arena, STR(": "), str_slice(text, 0, str_find(text, '\n', 0)));
}

static void why_error(struct why_chain *ch, noderole_ix nr)
{
    const struct noderole *row = noderole_at(ch->c, nr);
    const struct failure *by_commit = view_failure(ch->c, nr);
    const struct str status = by_commit ? by_commit->status : text_of(ch->c, row->status);
    why_add_noderole(ch, CAUSE_ERROR, nr,
                     CAUSE_TEXT(ch, why_noderole_name(ch, nr), STR(" is in error"),
                                status.len ? STR(": ") : STR(""), status,
                                by_commit ? STR("") : why_hook_message(ch, row)));
    why_add_noderole_reason(ch, nr);
}

static void why_proposed(struct why_chain *ch, noderole_ix nr)
{
    const struct noderole *row = noderole_at(ch->c, nr);
    const struct str status = row->hook_failed ? text_of(ch->c, row->status) : STR("");
    why_add_noderole(ch, CAUSE_PROPOSED, nr,
                     CAUSE_TEXT(ch, why_noderole_name(ch, nr), STR(" has not been committed"),
                                status.len ? STR(": ") : STR(""), status));
    if (row->hook_failed)
        why_add_noderole_reason(ch, nr);
}

void why_run(struct why_chain *ch, run_ix ix)
{
    static const enum cause_code codes[] = {[RUN_QUEUED] = CAUSE_NODE_BUSY,
                                            [RUN_RUNNING] = CAUSE_RUNNING,
                                            [RUN_PARKED] = CAUSE_PARKED,
                                            [RUN_STOPPING] = CAUSE_STOPPING};
    static const char *const phrases[] = {[RUN_QUEUED] = " is queued on the node",
                                          [RUN_RUNNING] = " is running",
                                          [RUN_PARKED] = " waits for an acknowledgement",
                                          [RUN_STOPPING] =
                                              " was cancelled and has not stopped yet"};
    const struct run *run = run_at(ch->c, ix);
    /* The commit in view cancels the run of a noderole that it removes. */
    const bool is_cancelled = run->noderole.v && view_state(ch->c, run->noderole) == STATE_REMOVED;
    const uint32_t state = is_cancelled ? RUN_STOPPING : run->state;
    must(state <= RUN_STOPPING);
    const bool failed = state == RUN_PARKED && run->tries;
    struct buf number = buf_in(ch->arena);
    buf_put_i64(&number, run->o.id);
    const struct str whose = run->noderole.v && !is_cancelled
                                 ? CAUSE_TEXT(ch, STR(" of "), why_noderole_name(ch, run->noderole))
                                 : STR("");
    why_add(ch,
            (struct cause){.code = codes[state],
                           .object = TABLE_RUN,
                           .object_id = run->o.id,
                           .noderole_id = run->noderole_id,
                           .since = run->started_at ? run->started_at : run->o.created_at,
                           .text = CAUSE_TEXT(ch, STR("run "), buf_str(&number), whose,
                                              failed ? STR(" failed and waits for its next start")
                                                     : str_from(phrases[state]))});
    if (failed && run->noderole.v)
        why_add_noderole_reason(ch, run->noderole);
    else if (state == RUN_PARKED)
        why_served_parked(ch, ix);
}

static void why_transition(struct why_chain *ch, noderole_ix nr)
{
    const run_ix run = noderole_at(ch->c, nr)->run;
    if (run.v)
        why_run(ch, run);
    else
        why_add_noderole(ch, CAUSE_ASYNC, nr,
                         CAUSE_TEXT(ch, why_noderole_name(ch, nr),
                                    STR(" waits for the asynchronous result of its run")));
}

/* Adds what prevents the machine from being switched. Returns false if nothing is known. */
static bool why_power(struct why_chain *ch, node_ix n)
{
    const noderole_ix server = boot_blocking_noderole(ch->c, n, ch->but_hooks);
    const struct node *node = node_at(ch->c, n);
    const struct str status =
        grant_has_reason(node->reason) ? STR("") : text_of(ch->c, node->status);
    /* Such a status is about power, or about reaching the node by ssh. */
    const bool is_about_ssh =
        node->reason >= REASON_SSH_KEY_REFUSED && node->reason <= REASON_SSH_FAILED;
    if (server.v)
        why_served_wait(ch, n, server);
    else if (status.len && !is_about_ssh)
        why_add_node(ch, CAUSE_POWER_FAILED, n, 0, status);
    if (!server.v && status.len)
        why_add_node_reason(ch, n);
    return server.v || status.len;
}

/* Adds what keeps the machine from being installed, or from booting. Returns false if nothing is
 * known. A plan has no boot view. */
static bool why_machine(struct why_chain *ch, node_ix n)
{
    struct cause cause;
    if (!grant_why(ch->c, n, ch->brief != NULL, ch->arena, &cause) &&
        (ch->but_hooks || !boot_why(ch->c, n, ch->arena, &cause)))
        return false;
    why_add(ch, cause);
    if (cause.code == CAUSE_INSTALL_STOPPED)
        why_add_node_reason(ch, n);
    return true;
}

/* ---- conditions of the noderole ---- */

static outbox_ix why_find_hook(const struct core *c, noderole_ix nr)
{
    const int64_t id = noderole_at(c, nr)->o.id;
    outbox_ix ix = {core_next_row(c, TABLE_OUTBOX, 0)};
    while (ix.v) {
        const struct outbox *row = outbox_at(c, ix);
        if (row->kind == OUTBOX_HOOK && row->object == TABLE_NODEROLE && row->object_id == id)
            break;
        ix.v = core_next_row(c, TABLE_OUTBOX, row->o.id);
    }
    return ix;
}

static void why_hook(struct why_chain *ch, noderole_ix nr)
{
    if (ch->brief) {
        /* No text: the search for the row of the hook would scan the outbox. */
        why_add_noderole(ch, CAUSE_WAITING_FOR_HOOK, nr, STR(""));
        return;
    }
    const outbox_ix ix = why_find_hook(ch->c, nr);
    must(ix.v); /* hooks_pending_count counts these rows */
    const struct outbox *row = outbox_at(ch->c, ix);
    why_add(ch, (struct cause){.code = CAUSE_WAITING_FOR_HOOK,
                               .object = TABLE_OUTBOX,
                               .object_id = row->o.id,
                               .since = row->o.created_at,
                               .text = CAUSE_TEXT(ch, STR("hook "),
                                                  str_from(hook_name((enum hook)row->hook)),
                                                  STR(" of "), why_noderole_name(ch, nr),
                                                  STR(" has not answered yet"))});
}

static void why_head(struct why_chain *ch, deployment_ix d)
{
    const struct deployment *row = deployment_at(ch->c, d);
    why_add(ch,
            (struct cause){.code = CAUSE_HEAD_PROPOSED,
                           .object = TABLE_DEPLOYMENT,
                           .object_id = row->o.id,
                           .since = snapshot_at(ch->c, row->head)->since,
                           .text = CAUSE_TEXT(ch, STR("deployment `"), text_of(ch->c, row->name),
                                              STR("` is proposed, not committed"))});
}

/* Returns true if a condition is unmet; its cause was added. */
bool why_own(struct why_chain *ch, noderole_ix ix)
{
    const struct core *c = ch->c;
    const struct noderole *nr = noderole_at(c, ix);
    const struct node *node = node_at(c, nr->node);
    const struct role *role = role_at(c, nr->role);
    if (nr->hooks_pending_count && !ch->but_hooks) {
        why_hook(ch, ix);
    } else if (view_is_held_back(c, ix)) {
        why_add_node(
            ch, CAUSE_HELD_BY_TARGET, nr->node, 0,
            CAUSE_TEXT(ch, why_node_name(ch, nr->node), STR(" is held at role `"),
                       node->target.v ? text_of(c, role_at(c, node->target)->name) : STR(""),
                       STR("`")));
    } else if (!view_is_committed(c, nr->deployment)) {
        why_head(ch, nr->deployment);
    } else if (!node->alive) {
        why_add_node(ch, CAUSE_NOT_ALIVE, nr->node, node->alive_since,
                     CAUSE_TEXT(ch, why_node_name(ch, nr->node), STR(" is not alive")));
        if (!why_power(ch, nr->node))
            why_machine(ch, nr->node);
    } else if (!view_is_available(c, nr->node)) {
        why_add_node(ch, CAUSE_NOT_AVAILABLE, nr->node, node->available_since,
                     CAUSE_TEXT(ch, why_node_name(ch, nr->node), STR(" is not available")));
    } else if (!role_can_run(c, nr->role)) {
        why_add(ch, (struct cause){
                        .code = CAUSE_JIG_INACTIVE,
                        .object = TABLE_ROLE,
                        .object_id = role->o.id,
                        .text = CAUSE_TEXT(ch, STR("role `"), text_of(c, role->name),
                                           STR("` cannot run here: "),
                                           role_not_runnable_reason(c, nr->role, ch->arena))});
    } else {
        return false;
    }
    return true;
}

/* ---- conditions of the node ---- */

static noderole_ix why_first_in_state(const struct core *c, node_ix n, enum noderole_state state)
{
    const struct node *node = node_at(c, n);
    for (uint32_t i = 0; view_may_have(c, n, state) && i < node->noderoles.count; i++) {
        const noderole_ix nr = {vec_at(c, &node->noderoles, i)};
        if (view_state(c, nr) == state)
            return nr;
    }
    return (noderole_ix){0};
}

/* Adds the first run that is queued on the node. A run that only the commit in view enqueues is
 * shown with the id that it would get. */
static bool why_queued(struct why_chain *ch, node_ix n)
{
    const struct core *c = ch->c;
    const struct vec *queued = &node_at(c, n)->queued;
    for (uint32_t i = 0; i < queued->count; i++) {
        const run_ix run = {vec_at(c, queued, i)};
        const noderole_ix nr = run_at(c, run)->noderole;
        const bool is_dropped =
            nr.v && (view_state(c, nr) == STATE_REMOVED ||
                     (view_flags(c, nr) & SEEN_DROPPED && noderole_at(c, nr)->queued.v == run.v));
        if (is_dropped)
            continue;
        why_run(ch, run);
        return true;
    }
    for (uint32_t i = 0; view_node_flags(c, n) & SEEN_NODE_QUEUED && i < c->view->enqueued_count;
         i++) {
        const noderole_ix nr = c->view->enqueued[i];
        if (noderole_at(c, nr)->node.v != n.v || !(view_flags(c, nr) & SEEN_ENQUEUED))
            continue;
        struct buf number = buf_in(ch->arena);
        buf_put_i64(&number, core_last_id(c, TABLE_RUN) + 1 + i);
        why_add_noderole(ch, CAUSE_NODE_BUSY, nr,
                         CAUSE_TEXT(ch, STR("run "), buf_str(&number), STR(" of "),
                                    why_noderole_name(ch, nr), STR(" is queued on the node")));
        return true;
    }
    return false;
}

bool why_node(struct why_chain *ch, node_ix n)
{
    const struct node *node = node_at(ch->c, n);
    const noderole_ix failed = why_first_in_state(ch->c, n, NODEROLE_ERROR);
    const noderole_ix running = why_first_in_state(ch->c, n, NODEROLE_TRANSITION);
    if (node->stopped) {
        why_add_node(ch, CAUSE_NODE_STOPPED, n, 0,
                     node->status
                         ? text_of(ch->c, node->status)
                         : CAUSE_TEXT(ch, STR("a script requested that nothing else runs on "),
                                      why_node_name(ch, n)));
        why_add_node_reason(ch, n);
    } else if (node->probe.v) {
        why_add_node(
            ch, CAUSE_PROBING, n, node->alive_since,
            CAUSE_TEXT(ch, why_node_name(ch, n), STR(" is being probed and has not answered yet")));
    } else if (failed.v) {
        why_add_noderole(ch, CAUSE_NODE_CLOSED, failed,
                         CAUSE_TEXT(ch, why_node_name(ch, n), STR(" starts no run while "),
                                    why_noderole_name(ch, failed), STR(" is in error")));
        why_error(ch, failed);
    } else if (running.v) {
        why_add_noderole(ch, CAUSE_NODE_BUSY, running,
                         CAUSE_TEXT(ch, why_noderole_name(ch, running), STR(" occupies the node")));
        why_transition(ch, running);
    } else if (node->run.v) {
        why_add_node(ch, CAUSE_NODE_BUSY, n, run_at(ch->c, node->run)->started_at,
                     CAUSE_TEXT(ch, STR("another run occupies "), why_node_name(ch, n)));
        why_run(ch, node->run);
    } else {
        return why_queued(ch, n);
    }
    return true;
}

/* The noderole of the same node that starts before this one, or none. */
static noderole_ix why_earlier_todo(struct why_chain *ch, noderole_ix nr)
{
    const struct vec *all = &node_at(ch->c, noderole_at(ch->c, nr)->node)->noderoles;
    for (uint32_t i = 0; i < all->count; i++) {
        const noderole_ix other = {vec_at(ch->c, all, i)};
        const struct noderole *row = noderole_at(ch->c, other);
        if (other.v == nr.v)
            break;
        if (view_state(ch->c, other) == NODEROLE_TODO &&
            (ch->but_hooks || row->hooks_pending_count == 0) && noderole_is_runnable(ch->c, other))
            return other;
    }
    return (noderole_ix){0};
}

/* ---- one noderole; returns the noderole to explain next, or none ---- */

static noderole_ix why_todo(struct why_chain *ch, noderole_ix nr)
{
    if (why_own(ch, nr) || why_node(ch, noderole_at(ch->c, nr)->node))
        return (noderole_ix){0};
    const noderole_ix other = why_earlier_todo(ch, nr);
    /* The number of busy workers is no row: a plan would not become stale. */
    const bool worker_is_free = ch->but_hooks || ch->c->vars.busy[QUEUE_NORMAL] <
                                                     core_settings(ch->c)->pool_size[QUEUE_NORMAL];
    if (other.v)
        why_add_noderole(ch, CAUSE_NODE_BUSY, other,
                         CAUSE_TEXT(ch, why_noderole_name(ch, other), STR(" starts first")));
    else if (worker_is_free || run_is_instant(ch->c, nr))
        why_add_noderole(ch, CAUSE_READY, nr,
                         CAUSE_TEXT(ch, why_noderole_name(ch, nr), STR(" is about to start")));
    else
        why_add(ch, (struct cause){
                        .code = CAUSE_NO_WORKER,
                        .object = TABLE_SETTINGS,
                        .object_id = 1,
                        .since = noderole_at(ch->c, nr)->since,
                        .text = CAUSE_TEXT(ch, why_noderole_name(ch, nr),
                                           STR(" waits for a worker; all workers are busy"))});
    return other;
}

static noderole_ix why_blocked(struct why_chain *ch, noderole_ix nr)
{
    /* The first parent by (cohort, id) that is not ACTIVE is the cause. */
    const struct vec *parents = &noderole_at(ch->c, nr)->parents;
    noderole_ix first = {0};
    for (uint32_t i = 0; i < parents->count; i++) {
        const noderole_ix parent = {vec_at(ch->c, parents, i)};
        if (view_state(ch->c, parent) != NODEROLE_ACTIVE &&
            (!first.v || noderole_cmp(ch->c, parent, first) < 0))
            first = parent;
    }
    must(first.v); /* invariant I2: a BLOCKED noderole has a parent that is not ACTIVE */
    why_add_noderole(ch, CAUSE_PARENT, first,
                     CAUSE_TEXT(ch, STR("waits for "), why_noderole_name(ch, first),
                                STR(", which "), why_state_phrase(view_state(ch->c, first))));
    return first;
}

noderole_ix why_one(struct why_chain *ch, noderole_ix nr)
{
    const noderole_ix none = {0};
    switch ((enum noderole_state)view_state(ch->c, nr)) {
    case NODEROLE_PROPOSED: why_proposed(ch, nr); return none;
    case NODEROLE_BLOCKED: return why_blocked(ch, nr);
    case NODEROLE_TODO: return why_todo(ch, nr);
    case NODEROLE_TRANSITION: why_transition(ch, nr); return none;
    case NODEROLE_ACTIVE:
        why_add_noderole(ch, CAUSE_NONE, nr,
                         CAUSE_TEXT(ch, why_noderole_name(ch, nr), STR(" is active")));
        return none;
    case NODEROLE_ERROR: why_error(ch, nr); return none;
    case NODEROLE_STATE_COUNT: break;
    }
    impossible("a noderole in an unknown state");
}

noderole_ix why_step(const struct core *c, noderole_ix nr, struct arena *a, struct cause *out_cause)
{
    struct why_chain ch = {.c = c, .arena = a, .brief = out_cause};
    return why_one(&ch, nr);
}

struct cause *why_noderole(const struct core *c, noderole_ix nr, bool but_hooks, struct arena *a)
{
    struct why_chain ch = {.c = c, .arena = a, .but_hooks = but_hooks};
    while (nr.v) {
        const noderole_ix next = why_one(&ch, nr);
        must(!next.v || noderole_cmp(c, next, nr) < 0);
        nr = next;
    }
    return ch.first;
}

/* ---- nodes ---- */

/* The states that explain a node or deployment, in order of significance. */
static const enum noderole_state explaining_states[] = {
    NODEROLE_ERROR, NODEROLE_TRANSITION, NODEROLE_PROPOSED, NODEROLE_TODO, NODEROLE_BLOCKED};
enum { EXPLAINING_COUNT = sizeof explaining_states / sizeof *explaining_states };

static struct cause *why_of_node(const struct core *c, node_ix n, struct arena *a)
{
    noderole_ix nr = {0}; /* determines the state of the node; none if all are ACTIVE */
    for (uint32_t i = 0; i < EXPLAINING_COUNT && !nr.v; i++)
        nr = why_first_in_state(c, n, explaining_states[i]);
    struct why_chain ch = {.c = c, .arena = a};
    const bool waits = node_at(c, n)->barrier.count > 0;
    if ((waits || !nr.v) && why_power(&ch, n))
        return ch.first;
    if (nr.v)
        ch.first = why_noderole(c, nr, false, a);
    else if (node_at(c, n)->alive || !why_machine(&ch, n))
        why_add_node(&ch, CAUSE_NONE, n, 0,
                     CAUSE_TEXT(&ch, why_node_name(&ch, n), STR(" has nothing left to do")));

    /* A machine whose MAC another node has boots what that node is given, so it may never become
     * alive, and nothing else would name the reason. */
    struct cause taken;
    for (ch.last = ch.first; ch.last->next;)
        ch.last = ch.last->next;
    if ((ch.last->code == CAUSE_NONE || ch.last->code == CAUSE_NOT_ALIVE) &&
        boot_why_mac_taken(c, n, 0, a, &taken))
        why_add(&ch, taken);
    return ch.first;
}

/* ---- deployments ---- */

uint8_t why_explaining_state(const uint32_t counts[NODEROLE_STATE_COUNT])
{
    for (uint32_t i = 0; i < EXPLAINING_COUNT; i++)
        if (counts[explaining_states[i]])
            return (uint8_t)explaining_states[i];
    return NODEROLE_STATE_COUNT;
}

/* The first noderole by (cohort, id) in that state, or none. */
static noderole_ix why_first_of_deployment(const struct core *c, deployment_ix d,
                                           enum noderole_state state)
{
    const struct vec *roles = &deployment_at(c, d)->roles;
    noderole_ix first = {0};
    for (uint32_t i = 0; i < roles->count; i++) {
        const deployment_role_ix dr = {vec_at(c, roles, i)};
        const struct vec *members = &deployment_role_at(c, dr)->noderoles;
        for (uint32_t k = 0; k < members->count; k++) {
            const noderole_ix nr = {vec_at(c, members, k)};
            if (noderole_at(c, nr)->state == state && (!first.v || noderole_cmp(c, nr, first) < 0))
                first = nr;
        }
    }
    return first;
}

static struct cause *why_of_deployment(const struct core *c, deployment_ix d, struct arena *a)
{
    struct why_chain ch = {.c = c, .arena = a};
    const struct deployment *row = deployment_at(c, d);
    const uint8_t state = row->committed ? why_explaining_state(row->counts) : NODEROLE_STATE_COUNT;
    if (state < NODEROLE_STATE_COUNT)
        return why_noderole(c, why_first_of_deployment(c, d, (enum noderole_state)state), false, a);
    if (row->committed)
        why_add(&ch, (struct cause){.code = CAUSE_NONE,
                                    .object = TABLE_DEPLOYMENT,
                                    .object_id = row->o.id,
                                    .text = CAUSE_TEXT(&ch, STR("deployment `"),
                                                       text_of(c, row->name), STR("` is active"))});
    else
        why_head(&ch, d);
    return ch.first;
}

struct cause *core_why(const struct core *c, enum table table, int64_t id, struct arena *a)
{
    const noderole_ix nr = table == TABLE_NODEROLE ? noderole_by_id(c, id) : (noderole_ix){0};
    const node_ix n = table == TABLE_NODE ? node_by_id(c, id) : (node_ix){0};
    const deployment_ix d =
        table == TABLE_DEPLOYMENT ? deployment_by_id(c, id) : (deployment_ix){0};
    if (nr.v)
        return why_noderole(c, nr, false, a);
    if (d.v)
        return why_of_deployment(c, d, a);
    return n.v ? why_of_node(c, n, a) : NULL;
}
