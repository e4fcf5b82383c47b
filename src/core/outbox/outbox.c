#include "core/core_private.h"

#include "base/json/json.h"

/* What roles want to hear. A hook is a row of the outbox, made in the step that caused it and kept
 * until it was answered, so it is delivered at least once and in order. Hooks that may say no are
 * questions instead: the step ends asking, and is tried again with the answers. */

/* ---- the outbox ---- */

outbox_ix outbox_make(struct core *c, enum outbox_kind kind, enum table object, int64_t id)
{
    const outbox_ix ix = outbox_add(c);
    if (!ix.v)
        return ix;
    struct outbox *row = outbox_edit(c, ix);
    row->kind = kind;
    row->object = object;
    row->object_id = id;
    row->depth = c->depth;
    return ix;
}

void outbox_tell(struct core *c, outbox_ix ix)
{
    effect_add(c, EFFECT_OUTBOX, outbox_at(c, ix)->o.id);
}

static outbox_ix hook_make(struct core *c, enum hook hook, role_ix role, enum table object,
                           int64_t id)
{
    const outbox_ix ix = outbox_make(c, OUTBOX_HOOK, object, id);
    if (ix.v) {
        struct outbox *row = outbox_edit(c, ix);
        row->hook = hook;
        row->role_id = role_at(c, role)->o.id;
        outbox_tell(c, ix);
    }
    return ix;
}

void outbox_remove(struct core *c, outbox_ix ix)
{
    put_text(c, &outbox_edit(c, ix)->detail, STR(""));
    core_remove_row(c, TABLE_OUTBOX, ix.v);
}

static bool defines(const struct core *c, role_ix role, enum hook hook)
{
    return role_at(c, role)->hooks >> hook & 1 && role_can_run(c, role);
}

/* ---- noderoles ---- */

static void noderole_hook(struct core *c, enum hook hook, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    const outbox_ix row = hook_make(c, hook, nr->role, TABLE_NODEROLE, nr->o.id);
    if (!row.v)
        return;
    /* A run that a hook wished for passes on how long the chain of hooks is by now. */
    if (outbox_at(c, row)->depth < nr->chain)
        outbox_edit(c, row)->depth = nr->chain;
    noderole_derive(c, ix)->hooks_waiting++;
}

/* SEMANTICS 3.2: for destructive roles hooks belong to the first time only. */
static bool first_time(const struct core *c, noderole_ix ix, enum noderole_state state)
{
    const struct noderole *nr = noderole_at(c, ix);
    if (!(role_at(c, nr->role)->flags & ROLE_DESTRUCTIVE))
        return true;
    return nr->run_count == (state == NODEROLE_ACTIVE ? 1 : 0);
}

void hooks_state(struct core *c, noderole_ix ix, enum noderole_state state, bool committed_run,
                 bool silent)
{
    const struct noderole *nr = noderole_at(c, ix);
    const enum hook hook = (enum hook)state; /* the first hooks are the states, in their order */
    if (silent || !role_at(c, nr->role)->hooks || !defines(c, nr->role, hook))
        return;
    if (state == NODEROLE_PROPOSED) {
        noderole_hook(c, hook, ix);
        return;
    }
    const bool committed = committed_run || deployment_at(c, nr->deployment)->committed;
    if (committed && !nr->unavailable && first_time(c, ix, state))
        noderole_hook(c, hook, ix);
}

void hooks_proposed(struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    if (nr->state == NODEROLE_PROPOSED && defines(c, nr->role, HOOK_PROPOSED))
        noderole_hook(c, HOOK_PROPOSED, ix);
}

bool hooks_compute(struct core *c, noderole_ix ix)
{
    static const enum hook computing[] = {HOOK_TEMPLATE, HOOK_SYSDATA};
    const role_ix role = noderole_at(c, ix)->role;
    bool any = false;
    for (uint32_t i = 0; role_at(c, role)->hooks && i < sizeof computing / sizeof *computing; i++)
        if (defines(c, role, computing[i])) {
            noderole_hook(c, computing[i], ix);
            any = true;
        }
    return any;
}

void hooks_compute_template(struct core *c, role_ix role)
{
    if (defines(c, role, HOOK_TEMPLATE))
        hook_make(c, HOOK_TEMPLATE, role, TABLE_ROLE, role_at(c, role)->o.id);
}

void outbox_forget_noderole(struct core *c, noderole_ix ix)
{
    const int64_t id = noderole_at(c, ix)->o.id;
    int64_t at = 0;
    boot_server_moved(c, ix);
    while (noderole_at(c, ix)->hooks_waiting) {
        const outbox_ix row = {core_next_row(c, TABLE_OUTBOX, at)};
        must(row.v); /* hooks_waiting counts these rows */
        at = outbox_at(c, row)->o.id;
        if (outbox_at(c, row)->object != TABLE_NODEROLE || outbox_at(c, row)->object_id != id)
            continue;
        noderole_derive(c, ix)->hooks_waiting--;
        outbox_remove(c, row);
    }
}

/* ---- nodes and deployment roles ---- */

static void node_hooks(struct core *c, enum hook hook, node_ix n, uint32_t flag)
{
    const struct vec *roles = &c->vars.hook_roles[hook];
    for (uint32_t i = 0; i < roles->count; i++) {
        const role_ix role = {vec_at(c, roles, i)};
        if (flag && !(role_at(c, role)->flags & flag))
            continue;
        const outbox_ix ix = hook_make(c, hook, role, TABLE_NODE, node_at(c, n)->o.id);
        if (ix.v) /* the node may be gone when the hook hears of it */
            put_text(c, &outbox_edit(c, ix)->detail, text_of(c, node_at(c, n)->name));
    }
}

void hooks_node(struct core *c, enum hook hook, node_ix n)
{
    node_hooks(c, hook, n, 0);
}

void hooks_node_of(struct core *c, enum hook hook, node_ix n, uint32_t flag)
{
    node_hooks(c, hook, n, flag);
}

void hooks_deployment_role(struct core *c, enum hook hook, deployment_role_ix dr)
{
    const role_ix role = deployment_role_at(c, dr)->role;
    if (!defines(c, role, hook))
        return;
    const deployment_ix d = deployment_role_at(c, dr)->deployment;
    const outbox_ix ix =
        hook_make(c, hook, role, TABLE_DEPLOYMENT_ROLE, deployment_role_at(c, dr)->o.id);
    if (ix.v)
        put_text(c, &outbox_edit(c, ix)->detail, text_of(c, deployment_at(c, d)->name));
}

static int role_order(const struct core *c, role_ix a, role_ix b, bool deepest_first)
{
    const struct role *x = role_at(c, a), *y = role_at(c, b);
    if (x->cohort != y->cohort)
        return (x->cohort < y->cohort) == !deepest_first ? -1 : 1;
    return str_cmp(text_of(c, x->name), text_of(c, y->name));
}

static void hook_roles_insert(struct core *c, enum hook hook, role_ix role)
{
    struct vec *v = &vars_edit(c)->hook_roles[hook];
    uint32_t at = v->count;
    while (at && role_order(c, role, (role_ix){vec_at(c, v, at - 1)}, hook == HOOK_NODE_DELETE) < 0)
        at--;
    vec_insert(&c->heap, v, at, role.v);
}

void hooks_index(struct core *c)
{
    static const enum hook of_nodes[] = {HOOK_NODE_CREATE, HOOK_NODE_CHANGE, HOOK_NODE_DELETE};
    for (uint32_t h = 0; h < sizeof of_nodes / sizeof *of_nodes; h++) {
        vec_clear(&c->heap, &vars_edit(c)->hook_roles[of_nodes[h]]);
        for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
             ix = core_next_row(c, TABLE_ROLE, role_at(c, (role_ix){ix})->o.id))
            if (defines(c, (role_ix){ix}, of_nodes[h]))
                hook_roles_insert(c, of_nodes[h], (role_ix){ix});
    }
    boot_index(c);
}

/* ---- probes ---- */

/* Until it has answered nothing starts there: first contact comes before the first run. */
void outbox_probe(struct core *c, node_ix n)
{
    const outbox_ix ix = outbox_make(c, OUTBOX_PROBE, TABLE_NODE, node_at(c, n)->o.id);
    if (!ix.v)
        return;
    must(!node_at(c, n)->probe.v);
    node_derive(c, n)->probe = ix;
    outbox_tell(c, ix);
}

/* What it says now is about another time. */
void outbox_forget_probe(struct core *c, node_ix n)
{
    const outbox_ix ix = node_at(c, n)->probe;
    if (!ix.v)
        return;
    node_derive(c, n)->probe = (outbox_ix){0};
    outbox_remove(c, ix);
    sched_enqueue_node(c, n);
}

void probes_load(struct core *c)
{
    const struct pool *rows = &c->tables[TABLE_OUTBOX].pool;
    for (uint32_t ix = pool_next(rows, 0); ix; ix = pool_next(rows, ix)) {
        const struct outbox *row = outbox_at(c, (outbox_ix){ix});
        const node_ix n = row->kind == OUTBOX_PROBE ? node_by_id(c, row->object_id) : (node_ix){0};
        if (n.v)
            node_derive(c, n)->probe = (outbox_ix){ix};
    }
}

/* ---- questions ---- */

static const struct answer *answer_to(const struct core *c, uint64_t key)
{
    const struct answer *answers = c->command->answers; /* sorted by key at the door */
    uint32_t low = 0, high = c->command->answer_count;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (answers[mid].key < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low < c->command->answer_count && answers[low].key == key ? &answers[low] : NULL;
}

bool hooks_ask(struct core *c, enum hook hook, role_ix role, struct str argument)
{
    if (!defines(c, role, hook))
        return true;
    const int64_t role_id = role_at(c, role)->o.id;
    const uint64_t key = hash64(argument, hash64((struct str){(const char *)&role_id, 8}, hook));
    const struct answer *answer = answer_to(c, key);
    if (!answer) {
        struct ask *ask = arena_new(c->arena, struct ask);
        *ask = (struct ask){
            .key = key, .hook = hook, .role_id = role_id, .argument = argument, .next = NULL};
        *(c->last_ask ? &c->last_ask->next : &c->out->asks) = ask;
        c->last_ask = ask;
        c->out->ask_count++;
        return true;
    }
    if (!answer->veto)
        return true;
    return refuse(c, PROBLEM_HOOK_VETO, str_from(hook_name(hook)),
                  STR_CONCAT(c->arena, STR("role "), text_of(c, role_at(c, role)->name),
                             STR(" says no: "), answer->text));
}

static void put_member(struct arena *a, struct json *object, const char *key, struct str text)
{
    json_set(object, str_from(key), json_make_string(a, text));
}

struct str hooks_noderole_argument(struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    struct json *o = json_make(c->arena, JSON_OBJECT);
    put_member(c->arena, o, "deployment", text_of(c, deployment_at(c, nr->deployment)->name));
    put_member(c->arena, o, "node", text_of(c, node_at(c, nr->node)->name));
    put_member(c->arena, o, "role", text_of(c, role_at(c, nr->role)->name));
    json_set(o, STR("data"), doc_tree(c->arena, doc_of(c, nr->proposed_data)));
    return json_write(c->arena, o);
}

struct str hooks_deployment_role_argument(struct core *c, deployment_role_ix ix)
{
    const struct deployment_role *dr = deployment_role_at(c, ix);
    struct json *o = json_make(c->arena, JSON_OBJECT);
    put_member(c->arena, o, "deployment", text_of(c, deployment_at(c, dr->deployment)->name));
    put_member(c->arena, o, "role", text_of(c, role_at(c, dr->role)->name));
    json_set(o, STR("data"),
             doc_tree(c->arena, doc_of(c, dr->proposed ? dr->proposed_data : dr->committed_data)));
    return json_write(c->arena, o);
}

/* ---- answers from the outbox ---- */

/* What runners, the clock and the daemon say is not for hooks to say; users are none of theirs. */
static bool may_be_wished(enum command_kind kind)
{
    switch ((int)kind) {
    case COMMAND_SETTINGS_UPDATE:
    case COMMAND_IMPORT:
    case COMMAND_USER_CREATE:
    case COMMAND_USER_UPDATE:
    case COMMAND_USER_DELETE:
    case COMMAND_TOKEN_CREATE:
    case COMMAND_TOKEN_DELETE:
    case COMMAND_RUN_BEGUN:
    case COMMAND_RUN_DONE:
    case COMMAND_RUN_STOPPED:
    case COMMAND_OUTBOX_DONE:
    case COMMAND_OUTBOX_BEGUN:
    case COMMAND_NODE_PIN_KEYS:
    case COMMAND_NODE_FORGET_KEY:
    case COMMAND_NODE_POWER_READ:
    case COMMAND_ANNEAL:
    case COMMAND_TICK:
    case COMMAND_BATCH: return false;
    default: return true;
    }
}

/* Wishes may make documents anew, each as large as one may be, and nobody else is served
 * meanwhile. */
enum { WISHES_SIZE_MAX = 8 << 20 };

static struct str why_refused(struct core *c, const struct outcome *outcome)
{
    if (outcome->problems)
        return outcome->problems->text;
    const struct role *role = role_at(c, role_by_id(c, outcome->asks->role_id));
    return STR_CONCAT(c->arena, STR("role "), text_of(c, role->name),
                      STR(" would have to be asked ("), str_from(hook_name(outcome->asks->hook)),
                      STR("), and a hook cannot wait for that"));
}

/* The hook's wishes, each a step of its own inside this one. The first refusal undoes them all:
 * false, with the reason in *out_text. */
static bool apply_hook_commands(struct core *c, const struct outbox *row, struct str wishes,
                                struct str *out_text)
{
    uint32_t at = 0;
    const size_t before = arena_used(c->arena);
    while (at < wishes.len) {
        struct command wish;
        struct outcome outcome;
        if (arena_used(c->arena) - before > WISHES_SIZE_MAX) {
            *out_text = STR("its wishes write more than can be written at once");
            return false;
        }
        if (command_decode(c->arena, wishes, &at, &wish) != OK) {
            *out_text = STR("its wishes cannot be read");
            return false;
        }
        wish.now_ms = c->now_ms;
        wish.mono_ms = c->mono_ms;
        wish.wall_ms = c->wall_ms;
        wish.depth = row->depth + 1;
        wish.request = 0;
        wish.by = (struct principal){0};
        wish.actor = STR_CONCAT(c->arena, STR("hook "), str_from(hook_name((enum hook)row->hook)));
        wish.address = STR(""); /* no client sent it */
        wish.answers = NULL;    /* only those who were asked may answer */
        wish.answer_count = 0;
        if (!may_be_wished(wish.kind)) {
            *out_text = STR("it wished for something only the daemon does");
            return false;
        }
        core_step_inside(c, &wish, &outcome);
        if (outcome.verdict == VERDICT_DONE)
            continue;
        *out_text = STR_CONCAT(c->arena, STR("its wish "), str_from(command_name(wish.kind)),
                               STR(" was refused: "), why_refused(c, &outcome));
        return false;
    }
    return true;
}

/* A proposed noderole has no run, so the message of the hook becomes its status. status_hook keeps
 * which hook that was, so that a later success of the same hook removes the message. */
static void note_proposed(struct core *c, enum hook hook, noderole_ix ix,
                          const struct failure *failure)
{
    const struct str runlog = STR_CONCAT(c->arena, text_of(c, noderole_at(c, ix)->runlog));
    noderole_note_failure(
        c, ix, &(struct failure){.status = failure->runlog, .runlog = runlog, .why = failure->why});
    noderole_edit(c, ix)->status_hook = (uint32_t)hook + 1;
}

/* on_proposed speaks of what was to be committed. When the commit was quicker it is taken back:
 * nothing has started, for a noderole does not start before its hooks have answered. */
static void proposed_failed(struct core *c, noderole_ix ix, const struct failure *failure)
{
    const uint8_t state = noderole_at(c, ix)->state;
    if (state == NODEROLE_TODO || state == NODEROLE_BLOCKED)
        noderole_propose(c, ix);
    noderole_edit(c, ix)->hook_failed = true;
    note_proposed(c, HOOK_PROPOSED, ix, failure);
}

/* No state says it worse: what it is in stays, and so does the first reason of an error. */
static void note_beside(struct core *c, noderole_ix ix, const struct failure *failure)
{
    const struct noderole *nr = noderole_at(c, ix);
    const struct str first = text_of(c, nr->runlog);
    struct failure noted = *failure;
    if (nr->state == NODEROLE_ERROR) {
        noted.status = STR_CONCAT(c->arena, text_of(c, nr->status));
        noted.why = (struct reason){.code = (enum reason_code)nr->reason,
                                    .subject = STR_CONCAT(c->arena, text_of(c, nr->reason_subject)),
                                    .text = STR_CONCAT(c->arena, text_of(c, nr->reason_text))};
    }
    if (first.len)
        noted.runlog = STR_CONCAT(c->arena, first, STR("\n"), failure->runlog);
    noderole_note_failure(c, ix, &noted);
}

static void hook_failed(struct core *c, enum hook hook, noderole_ix ix, const struct reason *why)
{
    const struct str name = str_from(hook_name(hook));
    const struct failure failure = {.status = STR_CONCAT(c->arena, name, STR(" failed")),
                                    .runlog = STR_CONCAT(c->arena, name, STR(": "), why->text),
                                    .why = reason_taken(why->code, why->subject, why->text)};
    const uint8_t state = noderole_at(c, ix)->state;
    if (hook == HOOK_PROPOSED)
        proposed_failed(c, ix, &failure);
    else if (state == NODEROLE_PROPOSED)
        note_proposed(c, hook, ix, &failure);
    else if (state == NODEROLE_BLOCKED || state == NODEROLE_ERROR)
        note_beside(c, ix, &failure);
    else
        noderole_fail(c, ix, &failure);
}

/* Remove what an earlier failure of the same hook left in the noderole. */
static void hook_succeeded(struct core *c, enum hook hook, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    const bool is_quoted = nr->state == NODEROLE_PROPOSED && nr->status_hook == (uint32_t)hook + 1;
    if (!is_quoted && !(hook == HOOK_PROPOSED && nr->hook_failed))
        return;
    struct noderole *row = noderole_edit(c, ix);
    if (hook == HOOK_PROPOSED)
        row->hook_failed = false;
    put_text(c, &row->status, STR(""));
    row->status_hook = 0;
    noderole_clear_reason(c, ix);
}

/* Hooks of nodes and deployments have no runlog; whoever looks on can tell. */
static void tell_failure(struct core *c, outbox_ix ix, struct str text)
{
    const struct outbox *row = outbox_at(c, ix);
    const role_ix role = role_by_id(c, row->role_id);
    struct json *doc = json_make(c->arena, JSON_OBJECT);
    put_member(c->arena, doc, "hook", str_from(hook_name((enum hook)row->hook)));
    put_member(c->arena, doc, "object", str_from(table_name((enum table)row->object)));
    json_set(doc, STR("object_id"), json_make_i64(c->arena, row->object_id));
    put_member(c->arena, doc, "role", role.v ? text_of(c, role_at(c, role)->name) : STR(""));
    put_member(c->arena, doc, "text", text);
    c->out->doc = json_write(c->arena, doc);
}

static void hook_done(struct core *c, outbox_ix ix, bool failed, const struct reason *why)
{
    const enum hook hook = (enum hook)outbox_at(c, ix)->hook;
    const noderole_ix nr = outbox_at(c, ix)->object == TABLE_NODEROLE
                               ? noderole_by_id(c, outbox_at(c, ix)->object_id)
                               : (noderole_ix){0};
    outbox_remove(c, ix);
    if (!nr.v)
        return;
    struct noderole *row = noderole_derive(c, nr);
    must(row->hooks_waiting > 0);
    row->hooks_waiting--;
    sched_enqueue_node(c, row->node);
    if (failed)
        hook_failed(c, hook, nr, why);
    else
        hook_succeeded(c, hook, nr);
}

static void probe_done(struct core *c, outbox_ix ix, const struct outbox_done_command *p)
{
    const node_ix n = node_by_id(c, outbox_at(c, ix)->object_id);
    const bool is_current = n.v && node_at(c, n)->probe.v == ix.v;
    if (is_current)
        outbox_forget_probe(c, n);
    else
        outbox_remove(c, ix); /* its node is gone, or it was asked before there was one at a time */
    if (!is_current || !p->failed)
        return;
    struct reason why = reason_taken(p->reason, p->reason_subject, STR(""));
    why.text =
        STR_CONCAT(c->arena, STR("does not answer"), p->text.len ? STR(": ") : STR(""), p->text);
    node_set_alive(c, n, false);
    node_set_status(c, n, &why);
    node_changed(c, n);
}

void do_outbox_begun(struct core *c, const struct outbox_begun_command *p)
{
    const outbox_ix ix = outbox_by_id(c, p->outbox_id);
    if (ix.v && outbox_at(c, ix)->kind == OUTBOX_POWER && !outbox_at(c, ix)->begun)
        outbox_edit(c, ix)->begun = true;
}

void do_outbox_done(struct core *c, const struct outbox_done_command *p)
{
    const outbox_ix ix = outbox_by_id(c, p->outbox_id);
    if (!ix.v)
        return; /* answered before */
    bool failed = p->failed;
    struct reason why = {
        .code = (enum reason_code)p->reason, .subject = p->reason_subject, .text = p->text};
    if (p->reason >= REASON_COUNT) {
        refuse(c, PROBLEM_BAD_VALUE, STR("reason"), STR("is not a reason something can fail for"));
        return;
    }
    if (p->power_state >= POWER_STATE_COUNT) {
        refuse(c, PROBLEM_BAD_VALUE, STR("power_state"), STR("is not a power state"));
        return;
    }
    switch ((enum outbox_kind)outbox_at(c, ix)->kind) {
    case OUTBOX_HOOK:
        if (!failed && outbox_at(c, ix)->depth >= CHAIN_MAX && p->wishes.len) {
            failed = true;
            why.code = REASON_HOOK_LIMIT;
            why.text = STR("hooks keep causing hooks");
        }
        if (!failed && p->wishes.len) {
            failed = !core_try(c, apply_hook_commands, outbox_at(c, ix), p->wishes, &why.text);
            why.code = REASON_HOOK_REFUSED;
        }
        if (failed && why.code == REASON_NONE)
            why.code = REASON_HOOK_ERROR;
        if (!why.subject.len)
            why.subject = str_from(hook_name((enum hook)outbox_at(c, ix)->hook));
        /* A wish may have removed the object, and this row with it. */
        if (!outbox_by_id(c, p->outbox_id).v)
            return;
        if (failed)
            tell_failure(c, ix, why.text);
        hook_done(c, ix, failed, &why);
        return;
    case OUTBOX_PROBE: probe_done(c, ix, p); return;
    case OUTBOX_POWER: boot_power_done(c, ix, p); return;
    }
    impossible("an outbox row of no kind");
}
