#include "core/plan/commit_view.h"

/* Why a thing is not where one would like it: the first unmet condition, then why that one is
 * unmet, down to the root. Each further noderole stands earlier by (cohort, id) than the one it
 * explains, so a chain ends whatever the graph. */

struct chain {
    const struct core *c;
    struct arena *arena;
    struct cause *first, *last;
    bool but_hooks;      /* do not count hooks that have not answered */
    struct cause *brief; /* only the last cause is wanted, here and without texts; NULL: all */
};

static void add(struct chain *ch, struct cause cause)
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

/* Text of a cause; none is written where only codes and objects are wanted. */
#define CAUSE_TEXT(ch, ...) ((ch)->brief ? (struct str){0} : STR_CONCAT((ch)->arena, __VA_ARGS__))

/* "`dns-server` on `n3`" */
static struct str name_of(struct chain *ch, noderole_ix nr)
{
    const struct noderole *row = noderole_at(ch->c, nr);
    return CAUSE_TEXT(ch, STR("`"), text_of(ch->c, role_at(ch->c, row->role)->name), STR("` on `"),
                      text_of(ch->c, node_at(ch->c, row->node)->name), STR("`"));
}

static struct str node_name(struct chain *ch, node_ix n)
{
    return CAUSE_TEXT(ch, STR("node `"), text_of(ch->c, node_at(ch->c, n)->name), STR("`"));
}

static struct str state_phrase(uint8_t state)
{
    static const char *const phrases[NODEROLE_STATE_COUNT] = {
        [NODEROLE_PROPOSED] = "is proposed", [NODEROLE_BLOCKED] = "is blocked",
        [NODEROLE_TODO] = "has yet to run",  [NODEROLE_TRANSITION] = "is in transition",
        [NODEROLE_ACTIVE] = "is active",     [NODEROLE_ERROR] = "is in error"};
    must(state < NODEROLE_STATE_COUNT);
    return str_from(phrases[state]);
}

/* A cause that is about the noderole itself, since it is in its state. */
static void add_own(struct chain *ch, enum cause_code code, noderole_ix nr, struct str text)
{
    const struct noderole *row = noderole_at(ch->c, nr);
    add(ch, (struct cause){.code = code,
                           .object = TABLE_NODEROLE,
                           .object_id = row->o.id,
                           .noderole_id = row->o.id,
                           .since = row->since,
                           .text = text});
}

static void add_node(struct chain *ch, enum cause_code code, node_ix n, int64_t since,
                     struct str text)
{
    add(ch, (struct cause){.code = code,
                           .object = TABLE_NODE,
                           .object_id = node_at(ch->c, n)->o.id,
                           .since = since,
                           .text = text});
}

/* ---- ends of chains ---- */

/* Why the cause before it failed, if that is known. */
static void add_reason(struct chain *ch, const struct reason *why, noderole_ix nr, node_ix n)
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
    add(ch, cause);
}

static void add_noderole_reason(struct chain *ch, noderole_ix nr)
{
    const struct noderole *row = noderole_at(ch->c, nr);
    const struct reason why = {.code = (enum reason_code)row->reason,
                               .subject = text_of(ch->c, row->reason_subject),
                               .text = text_of(ch->c, row->reason_text)};
    add_reason(ch, &why, nr, row->node);
}

static void add_node_reason(struct chain *ch, node_ix n)
{
    const struct node *row = node_at(ch->c, n);
    const struct reason why = {.code = (enum reason_code)row->reason,
                               .subject = text_of(ch->c, row->reason_subject),
                               .text = text_of(ch->c, row->status)};
    add_reason(ch, &why, (noderole_ix){0}, n);
}

/* Whether what the status of a node says is about its power, not about reaching it. */
static bool is_about_power(const struct node *node)
{
    return node->reason < REASON_SSH_KEY_REFUSED || node->reason > REASON_SSH_FAILED;
}

/* "sysdata failed" says nothing; the first line of what the hook said does. What a run says is too
 * long, and its log is kept. */
static struct str hook_said(const struct chain *ch, const struct noderole *row)
{
    const struct str said = text_of(ch->c, row->runlog);
    const uint32_t colon = str_find(said, ':', 0);
    const struct str hook = str_slice(said, 0, colon);
    const struct str status = text_of(ch->c, row->status);
    const bool is_hook = colon < said.len && str_starts(status, hook) &&
                         str_eq(str_slice(status, hook.len, status.len), STR(" failed"));
    return is_hook ? str_slice(said, colon, str_find(said, '\n', 0)) : STR("");
}

static void why_error(struct chain *ch, noderole_ix nr)
{
    const struct noderole *row = noderole_at(ch->c, nr);
    const struct str status = text_of(ch->c, row->status);
    add_own(ch, CAUSE_ERROR, nr,
            CAUSE_TEXT(ch, name_of(ch, nr), STR(" is in error"), status.len ? STR(": ") : STR(""),
                       status, hook_said(ch, row)));
    add_noderole_reason(ch, nr);
}

static void why_proposed(struct chain *ch, noderole_ix nr)
{
    const struct noderole *row = noderole_at(ch->c, nr);
    const struct str status = row->hook_failed ? text_of(ch->c, row->status) : STR("");
    add_own(ch, CAUSE_PROPOSED, nr,
            CAUSE_TEXT(ch, name_of(ch, nr), STR(" has not been committed"),
                       status.len ? STR(": ") : STR(""), status));
    if (row->hook_failed)
        add_noderole_reason(ch, nr);
}

static void why_run(struct chain *ch, run_ix ix)
{
    static const enum cause_code codes[] = {[RUN_QUEUED] = CAUSE_NODE_BUSY,
                                            [RUN_RUNNING] = CAUSE_RUNNING,
                                            [RUN_PARKED] = CAUSE_PARKED,
                                            [RUN_STOPPING] = CAUSE_STOPPING};
    static const char *const phrases[] = {[RUN_QUEUED] = " waits for its turn on the node",
                                          [RUN_RUNNING] = " is in flight",
                                          [RUN_PARKED] = " waits for an acknowledgement",
                                          [RUN_STOPPING] =
                                              " was cancelled and has not stopped yet"};
    const struct run *run = run_at(ch->c, ix);
    /* One whose noderole the commit in view removes is cancelled by it. */
    const bool is_cancelled = run->noderole.v && view_state(ch->c, run->noderole) == STATE_GONE;
    const uint32_t state = is_cancelled ? RUN_STOPPING : run->state;
    must(state <= RUN_STOPPING);
    const bool failed = state == RUN_PARKED && run->tries;
    struct buf number = buf_in(ch->arena);
    buf_put_i64(&number, run->o.id);
    const struct str whose = run->noderole.v && !is_cancelled
                                 ? CAUSE_TEXT(ch, STR(" of "), name_of(ch, run->noderole))
                                 : STR("");
    add(ch, (struct cause){.code = codes[state],
                           .object = TABLE_RUN,
                           .object_id = run->o.id,
                           .noderole_id = run->noderole_id,
                           .since = run->started_at ? run->started_at : run->o.created_at,
                           .text = CAUSE_TEXT(ch, STR("run "), buf_str(&number), whose,
                                              failed ? STR(" failed and waits for its next start")
                                                     : str_from(phrases[state]))});
    if (failed && run->noderole.v)
        add_noderole_reason(ch, run->noderole);
}

static void why_transition(struct chain *ch, noderole_ix nr)
{
    const run_ix run = noderole_at(ch->c, nr)->run;
    if (run.v)
        why_run(ch, run);
    else
        add_own(ch, CAUSE_ASYNC, nr,
                CAUSE_TEXT(ch, name_of(ch, nr), STR(" waits for whoever it asked to come back")));
}

/* What keeps the machine from being switched. False when nothing is known to. */
static bool why_power(struct chain *ch, node_ix n)
{
    int64_t generation = 0;
    const noderole_ix server = boot_waits_for(ch->c, n, ch->arena, &generation);
    const struct str status = text_of(ch->c, node_at(ch->c, n)->status);
    struct buf number = buf_in(ch->arena);
    buf_put_i64(&number, generation);
    if (server.v)
        add_own(ch, CAUSE_BOOT_NOT_SERVED, server,
                CAUSE_TEXT(ch, node_name(ch, n), STR(" is waiting for "), name_of(ch, server),
                           STR(" to serve boot generation "), buf_str(&number)));
    else if (status.len && is_about_power(node_at(ch->c, n)))
        add_node(ch, CAUSE_POWER_FAILED, n, 0, status);
    if (!server.v && status.len)
        add_node_reason(ch, n);
    return server.v || status.len;
}

/* ---- conditions of the noderole's own ---- */

static outbox_ix own_hook(const struct core *c, noderole_ix nr)
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

static void why_hook(struct chain *ch, noderole_ix nr)
{
    if (ch->brief) {
        add_own(ch, CAUSE_WAITING_FOR_HOOK, nr, STR("")); /* finding its row is a walk over all */
        return;
    }
    const outbox_ix ix = own_hook(ch->c, nr);
    must(ix.v); /* hooks_waiting counts these rows */
    const struct outbox *row = outbox_at(ch->c, ix);
    add(ch, (struct cause){
                .code = CAUSE_WAITING_FOR_HOOK,
                .object = TABLE_OUTBOX,
                .object_id = row->o.id,
                .since = row->o.created_at,
                .text = CAUSE_TEXT(ch, STR("hook "), str_from(hook_name((enum hook)row->hook)),
                                   STR(" of "), name_of(ch, nr), STR(" has not answered yet"))});
}

static void why_head(struct chain *ch, deployment_ix d)
{
    const struct deployment *row = deployment_at(ch->c, d);
    add(ch, (struct cause){.code = CAUSE_HEAD_PROPOSED,
                           .object = TABLE_DEPLOYMENT,
                           .object_id = row->o.id,
                           .since = snapshot_at(ch->c, row->head)->since,
                           .text = CAUSE_TEXT(ch, STR("deployment `"), text_of(ch->c, row->name),
                                              STR("` is proposed, not committed"))});
}

static void why_jig(struct chain *ch, role_ix r)
{
    const struct role *role = role_at(ch->c, r);
    add(ch, (struct cause){.code = CAUSE_JIG_INACTIVE,
                           .object = TABLE_ROLE,
                           .object_id = role->o.id,
                           .text = CAUSE_TEXT(ch, STR("role `"), text_of(ch->c, role->name),
                                              STR("` cannot run here: "),
                                              role_why_not(ch->c, r, ch->arena))});
}

static void why_dead(struct chain *ch, node_ix n)
{
    add_node(ch, CAUSE_NOT_ALIVE, n, node_at(ch->c, n)->alive_since,
             CAUSE_TEXT(ch, node_name(ch, n), STR(" is not alive")));
    why_power(ch, n);
}

/* True when a condition is unmet; it has been added. */
static bool why_own(struct chain *ch, noderole_ix ix)
{
    const struct core *c = ch->c;
    const struct noderole *nr = noderole_at(c, ix);
    const struct node *node = node_at(c, nr->node);
    if (nr->hooks_waiting && !ch->but_hooks)
        why_hook(ch, ix);
    else if (view_is_held_back(c, ix))
        add_node(ch, CAUSE_HELD_BY_TARGET, nr->node, 0,
                 CAUSE_TEXT(ch, node_name(ch, nr->node), STR(" is held at role `"),
                            node->target.v ? text_of(c, role_at(c, node->target)->name) : STR(""),
                            STR("`")));
    else if (!view_is_committed(c, nr->deployment))
        why_head(ch, nr->deployment);
    else if (!node->alive)
        why_dead(ch, nr->node);
    else if (!view_is_available(c, nr->node))
        add_node(ch, CAUSE_NOT_AVAILABLE, nr->node, node->available_since,
                 CAUSE_TEXT(ch, node_name(ch, nr->node), STR(" is not available")));
    else if (!role_can_run(c, nr->role))
        why_jig(ch, nr->role);
    else
        return false;
    return true;
}

/* ---- conditions of its node ---- */

static noderole_ix first_in_state(const struct core *c, node_ix n, enum noderole_state state)
{
    const struct node *node = node_at(c, n);
    for (uint32_t i = 0; view_may_have(c, n, state) && i < node->noderoles.count; i++) {
        const noderole_ix nr = {vec_at(c, &node->noderoles, i)};
        if (view_state(c, nr) == state)
            return nr;
    }
    return (noderole_ix){0};
}

static void why_busy(struct chain *ch, noderole_ix other)
{
    add_own(ch, CAUSE_NODE_BUSY, other, CAUSE_TEXT(ch, name_of(ch, other), STR(" has the node")));
}

/* The first run that is enqueued on the node. Of one that only the commit in view enqueues the id
 * is the one that it would get. */
static bool why_queued(struct chain *ch, node_ix n)
{
    const struct core *c = ch->c;
    const struct vec *queued = &node_at(c, n)->queued;
    for (uint32_t i = 0; i < queued->count; i++) {
        const run_ix run = {vec_at(c, queued, i)};
        const noderole_ix nr = run_at(c, run)->noderole;
        const bool is_dropped =
            nr.v && (view_state(c, nr) == STATE_GONE ||
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
        add_own(ch, CAUSE_NODE_BUSY, nr,
                CAUSE_TEXT(ch, STR("run "), buf_str(&number), STR(" of "), name_of(ch, nr),
                           STR(" waits for its turn on the node")));
        return true;
    }
    return false;
}

static bool why_node(struct chain *ch, node_ix n)
{
    const struct node *node = node_at(ch->c, n);
    const noderole_ix failed = first_in_state(ch->c, n, NODEROLE_ERROR);
    const noderole_ix running = first_in_state(ch->c, n, NODEROLE_TRANSITION);
    if (node->stopped) {
        add_node(ch, CAUSE_NODE_STOPPED, n, 0,
                 node->status ? text_of(ch->c, node->status)
                              : CAUSE_TEXT(ch, STR("a script asked for nothing more on "),
                                           node_name(ch, n)));
        add_node_reason(ch, n);
    } else if (node->probe.v) {
        add_node(
            ch, CAUSE_PROBING, n, node->alive_since,
            CAUSE_TEXT(ch, STR("nobody knows yet whether "), node_name(ch, n), STR(" answers")));
    } else if (failed.v) {
        add_own(ch, CAUSE_NODE_CLOSED, failed,
                CAUSE_TEXT(ch, node_name(ch, n), STR(" is closed while "), name_of(ch, failed),
                           STR(" is in error")));
        why_error(ch, failed);
    } else if (running.v) {
        why_busy(ch, running);
        why_transition(ch, running);
    } else if (node->run.v) {
        add_node(ch, CAUSE_NODE_BUSY, n, run_at(ch->c, node->run)->started_at,
                 CAUSE_TEXT(ch, STR("another run has "), node_name(ch, n)));
        why_run(ch, node->run);
    } else {
        return why_queued(ch, n);
    }
    return true;
}

/* Who of the same node is taken before this one, or none (K6). */
static noderole_ix earlier_todo(struct chain *ch, noderole_ix nr)
{
    const struct vec *all = &node_at(ch->c, noderole_at(ch->c, nr)->node)->noderoles;
    for (uint32_t i = 0; i < all->count; i++) {
        const noderole_ix other = {vec_at(ch->c, all, i)};
        const struct noderole *row = noderole_at(ch->c, other);
        if (other.v == nr.v)
            break;
        if (view_state(ch->c, other) == NODEROLE_TODO &&
            (ch->but_hooks || row->hooks_waiting == 0) && noderole_is_runnable(ch->c, other))
            return other;
    }
    return (noderole_ix){0};
}

static void why_worker(struct chain *ch, noderole_ix nr)
{
    const uint32_t busy = ch->c->vars.busy[QUEUE_NORMAL];
    if (busy < core_settings(ch->c)->pool_size[QUEUE_NORMAL] || run_is_instant(ch->c, nr)) {
        add_own(ch, CAUSE_READY, nr, CAUSE_TEXT(ch, name_of(ch, nr), STR(" is about to start")));
        return;
    }
    add(ch, (struct cause){.code = CAUSE_NO_WORKER,
                           .object = TABLE_SETTINGS,
                           .object_id = 1,
                           .since = noderole_at(ch->c, nr)->since,
                           .text = CAUSE_TEXT(ch, name_of(ch, nr),
                                              STR(" waits for a worker; every one is busy"))});
}

/* ---- one noderole; who is to be explained next, or none ---- */

static noderole_ix why_todo(struct chain *ch, noderole_ix nr)
{
    if (why_own(ch, nr) || why_node(ch, noderole_at(ch->c, nr)->node))
        return (noderole_ix){0};
    const noderole_ix other = earlier_todo(ch, nr);
    if (other.v)
        add_own(ch, CAUSE_NODE_BUSY, other, CAUSE_TEXT(ch, name_of(ch, other), STR(" goes first")));
    else
        why_worker(ch, nr);
    return other;
}

/* The first by (cohort, id) that is not ACTIVE. */
static noderole_ix waiting_parent(const struct core *c, noderole_ix nr)
{
    const struct vec *parents = &noderole_at(c, nr)->parents;
    noderole_ix first = {0};
    for (uint32_t i = 0; i < parents->count; i++) {
        const noderole_ix parent = {vec_at(c, parents, i)};
        if (view_state(c, parent) != NODEROLE_ACTIVE &&
            (!first.v || noderole_cmp(c, parent, first) < 0))
            first = parent;
    }
    return first;
}

static noderole_ix why_blocked(struct chain *ch, noderole_ix nr)
{
    const noderole_ix parent = waiting_parent(ch->c, nr);
    must(parent.v); /* I2 */
    add_own(ch, CAUSE_PARENT, parent,
            CAUSE_TEXT(ch, STR("waits for "), name_of(ch, parent), STR(" which "),
                       state_phrase(view_state(ch->c, parent))));
    return parent;
}

static noderole_ix why_one(struct chain *ch, noderole_ix nr)
{
    const noderole_ix none = {0};
    switch ((enum noderole_state)view_state(ch->c, nr)) {
    case NODEROLE_PROPOSED: why_proposed(ch, nr); return none;
    case NODEROLE_BLOCKED: return why_blocked(ch, nr);
    case NODEROLE_TODO: return why_todo(ch, nr);
    case NODEROLE_TRANSITION: why_transition(ch, nr); return none;
    case NODEROLE_ACTIVE:
        add_own(ch, CAUSE_NONE, nr, CAUSE_TEXT(ch, name_of(ch, nr), STR(" is active")));
        return none;
    case NODEROLE_ERROR: why_error(ch, nr); return none;
    case NODEROLE_STATE_COUNT: break;
    }
    impossible("a noderole in no state");
}

noderole_ix why_step(const struct core *c, noderole_ix nr, struct arena *a, struct cause *out_cause)
{
    struct chain ch = {.c = c, .arena = a, .brief = out_cause};
    return why_one(&ch, nr);
}

struct cause *why_noderole(const struct core *c, noderole_ix nr, bool but_hooks, struct arena *a)
{
    struct chain ch = {.c = c, .arena = a, .but_hooks = but_hooks};
    while (nr.v) {
        const noderole_ix next = why_one(&ch, nr);
        must(!next.v || noderole_cmp(c, next, nr) < 0);
        nr = next;
    }
    return ch.first;
}

/* ---- nodes ---- */

/* Which state tells most, of those that are not ACTIVE. */
static const enum noderole_state telling_order[] = {
    NODEROLE_ERROR, NODEROLE_TRANSITION, NODEROLE_PROPOSED, NODEROLE_TODO, NODEROLE_BLOCKED};
enum { TELLING_COUNT = sizeof telling_order / sizeof *telling_order };

/* The noderole that makes the node's state what it is, or none. */
static noderole_ix telling_one(const struct core *c, node_ix n)
{
    noderole_ix nr = {0};
    for (uint32_t i = 0; i < TELLING_COUNT && !nr.v; i++)
        nr = first_in_state(c, n, telling_order[i]);
    return nr;
}

static struct cause *why_of_node(const struct core *c, node_ix n, struct arena *a)
{
    const noderole_ix nr = telling_one(c, n);
    struct chain ch = {.c = c, .arena = a};
    const bool waits = node_at(c, n)->barrier.count > 0;
    if ((waits || !nr.v) && why_power(&ch, n))
        return ch.first;
    if (nr.v)
        return why_noderole(c, nr, false, a);
    add_node(&ch, CAUSE_NONE, n, 0,
             CAUSE_TEXT(&ch, node_name(&ch, n), STR(" has nothing left to do")));
    return ch.first;
}

/* ---- deployments ---- */

uint8_t why_telling_state(const uint32_t counts[NODEROLE_STATE_COUNT])
{
    for (uint32_t i = 0; i < TELLING_COUNT; i++)
        if (counts[telling_order[i]])
            return (uint8_t)telling_order[i];
    return NODEROLE_STATE_COUNT;
}

/* The first by (cohort, id) in that state, or none. */
static noderole_ix first_of_deployment(const struct core *c, deployment_ix d,
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
    struct chain ch = {.c = c, .arena = a};
    const struct deployment *row = deployment_at(c, d);
    const uint8_t telling = row->committed ? why_telling_state(row->counts) : NODEROLE_STATE_COUNT;
    if (telling < NODEROLE_STATE_COUNT)
        return why_noderole(c, first_of_deployment(c, d, (enum noderole_state)telling), false, a);
    if (row->committed)
        add(&ch, (struct cause){.code = CAUSE_NONE,
                                .object = TABLE_DEPLOYMENT,
                                .object_id = row->o.id,
                                .text = CAUSE_TEXT(&ch, STR("deployment `"), text_of(c, row->name),
                                                   STR("` is active"))});
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
