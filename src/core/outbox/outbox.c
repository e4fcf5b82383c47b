#include "core/boot/boot_service.h"
#include "core/data/data.h"
#include "core/machine/grants.h"

#include "base/json/json.h"

/* The outbox, calls of hooks, and veto requests (docs/spec/hooks.md, ADR 0007).
 *
 * This file owns the rows of the outbox, work outside the core that must survive a crash: calls of
 * hooks (Lua functions of roles), probes (does a node answer), power actions (boot_barrier.c).
 *
 * Order. A row is created in the step that caused it, delivered as an effect after that step is
 * durable, and removed in the step that executes its result (OUTBOX_DONE). After a restart every
 * row without a result is delivered again, so a hook is called at least once; its commands are
 * executed once, because they are in the same step as the removal of the row. Hooks of one role,
 * and hooks about one object, are called in the order of their rows. A noderole does not start
 * while it has hooks without a result (hooks_pending_count), so they see a state before a run
 * changes it. A hook that may veto has no row and is called before the change: the step records a
 * veto request, ends with VERDICT_NEEDS_HOOKS, is rolled back and is executed with the replies.
 *
 * Failure. If the outbox is full, the step is refused. The commands of a hook are executed under
 * one undo mark; the first refusal rolls all of them back and the hook has failed. A failed hook
 * never fails the command that caused it: the failure is reported in the outcome of OUTBOX_DONE and
 * stored with the noderole, if there is one. A failed probe marks the node as not alive. */

/* ---- outbox rows ---- */

outbox_ix outbox_make(struct core *c, enum outbox_kind kind, enum table object, int64_t id)
{
    const outbox_ix ix = outbox_add(c);
    if (!ix.v)
        return ix;
    struct outbox *row = outbox_edit(c, ix);
    row->kind = kind;
    row->object = object;
    row->object_id = id;
    row->depth = c->depth; /* number of hooks in the chain that caused it */
    return ix;
}

void outbox_send(struct core *c, outbox_ix ix)
{
    effect_add(c, EFFECT_OUTBOX, outbox_at(c, ix)->o.id);
}

outbox_ix outbox_add_hook(struct core *c, enum hook hook, role_ix role, enum table object,
                          int64_t id)
{
    const outbox_ix ix = outbox_make(c, OUTBOX_HOOK, object, id);
    if (ix.v) {
        struct outbox *row = outbox_edit(c, ix);
        row->hook = hook;
        row->role_id = role_at(c, role)->o.id;
        outbox_send(c, ix);
    }
    return ix;
}

void outbox_remove(struct core *c, outbox_ix ix)
{
    put_text(c, &outbox_edit(c, ix)->detail, STR(""));
    core_remove_row(c, TABLE_OUTBOX, ix.v);
}

bool hooks_role_defines(const struct core *c, role_ix role, enum hook hook)
{
    return role_at(c, role)->hooks >> hook & 1 && role_can_run(c, role);
}

/* ---- hooks of noderoles ---- */

static void outbox_add_noderole_hook(struct core *c, enum hook hook, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    const outbox_ix row = outbox_add_hook(c, hook, nr->role, TABLE_NODEROLE, nr->o.id);
    if (!row.v)
        return;
    /* A run that a hook requested passes its hook depth on to the hooks that the run causes, so
     * that a cycle of hooks and runs is bounded as well. */
    if (outbox_at(c, row)->depth < nr->chain)
        outbox_edit(c, row)->depth = nr->chain;
    noderole_derive(c, ix)->hooks_pending_count++;
}

void hooks_state(struct core *c, noderole_ix ix, enum noderole_state state, bool committed_run,
                 bool silent)
{
    const struct noderole *nr = noderole_at(c, ix);
    const enum hook hook = (enum hook)state; /* enum hook begins with the states, in their order */
    if (silent || !role_at(c, nr->role)->hooks || !hooks_role_defines(c, nr->role, hook))
        return;
    if (state == NODEROLE_PROPOSED) { /* the other conditions are about commits and runs */
        outbox_add_noderole_hook(c, hook, ix);
        return;
    }
    const bool committed = committed_run || deployment_at(c, nr->deployment)->committed;
    /* State hooks of destructive roles are called for the first run only. A successful run
     * increments run_count before its noderole becomes ACTIVE. */
    const bool is_first_time = !(role_at(c, nr->role)->flags & ROLE_DESTRUCTIVE) ||
                               nr->run_count == (state == NODEROLE_ACTIVE ? 1 : 0);
    if (committed && !nr->unavailable && is_first_time)
        outbox_add_noderole_hook(c, hook, ix);
}

void hooks_proposed(struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    if (nr->state == NODEROLE_PROPOSED && hooks_role_defines(c, nr->role, HOOK_PROPOSED))
        outbox_add_noderole_hook(c, HOOK_PROPOSED, ix);
}

void hooks_proposed_all(struct core *c, const struct vec *noderoles)
{
    if (!noderoles->count)
        return;
    const role_ix role = noderole_at(c, (noderole_ix){vec_at(c, noderoles, 0)})->role;
    for (uint32_t i = 0; i < noderoles->count && hooks_role_defines(c, role, HOOK_PROPOSED); i++)
        hooks_proposed(c, (noderole_ix){vec_at(c, noderoles, i)});
}

bool hooks_compute(struct core *c, noderole_ix ix)
{
    static const enum hook computing[] = {HOOK_TEMPLATE, HOOK_SYSDATA};
    const role_ix role = noderole_at(c, ix)->role;
    bool any = false;
    for (uint32_t i = 0; role_at(c, role)->hooks && i < sizeof computing / sizeof *computing; i++)
        if (hooks_role_defines(c, role, computing[i])) {
            outbox_add_noderole_hook(c, computing[i], ix);
            any = true;
        }
    return any;
}

void hooks_compute_template(struct core *c, role_ix role)
{
    if (hooks_role_defines(c, role, HOOK_TEMPLATE))
        outbox_add_hook(c, HOOK_TEMPLATE, role, TABLE_ROLE, role_at(c, role)->o.id);
}

void outbox_forget_noderole(struct core *c, noderole_ix ix)
{
    const int64_t id = noderole_at(c, ix)->o.id;
    int64_t at = 0;
    boot_service_noderole_changed(c, ix); /* a power action may wait for it */
    boot_due_forget(c, ix);
    grant_noderole_changed(c, ix, GRANT_VOID_DELETED);
    while (noderole_at(c, ix)->hooks_pending_count) {
        const outbox_ix row = {core_next_row(c, TABLE_OUTBOX, at)};
        must(row.v); /* hooks_pending_count counts these rows */
        at = outbox_at(c, row)->o.id;
        if (outbox_at(c, row)->object != TABLE_NODEROLE || outbox_at(c, row)->object_id != id)
            continue;
        noderole_derive(c, ix)->hooks_pending_count--;
        outbox_remove(c, row);
    }
}

/* ---- hooks of nodes and deployment roles ---- */

void hooks_node(struct core *c, enum hook hook, node_ix n)
{
    const struct vec *roles = &c->vars.hook_roles[hook];
    for (uint32_t i = 0; i < roles->count; i++) {
        const role_ix role = {vec_at(c, roles, i)};
        const outbox_ix ix = outbox_add_hook(c, hook, role, TABLE_NODE, node_at(c, n)->o.id);
        if (ix.v) /* the name is stored, because the node may be deleted before the delivery */
            put_text(c, &outbox_edit(c, ix)->detail, text_of(c, node_at(c, n)->name));
    }
}

void hooks_deployment_role(struct core *c, enum hook hook, deployment_role_ix dr)
{
    const role_ix role = deployment_role_at(c, dr)->role;
    if (!hooks_role_defines(c, role, hook))
        return;
    const deployment_ix d = deployment_role_at(c, dr)->deployment;
    const outbox_ix ix =
        outbox_add_hook(c, hook, role, TABLE_DEPLOYMENT_ROLE, deployment_role_at(c, dr)->o.id);
    if (ix.v)
        put_text(c, &outbox_edit(c, ix)->detail, text_of(c, deployment_at(c, d)->name));
}

/* ---- probes ---- */

/* The probe also makes the first ssh contact, which pins the host keys. Nothing starts on the node
 * before its result arrives (anneal_node_accepts_runs). */
void outbox_probe(struct core *c, node_ix n)
{
    const outbox_ix ix = outbox_make(c, OUTBOX_PROBE, TABLE_NODE, node_at(c, n)->o.id);
    if (!ix.v)
        return;
    must(!node_at(c, n)->probe.v);
    node_derive(c, n)->probe = ix;
    outbox_send(c, ix);
}

void outbox_forget_probe(struct core *c, node_ix n)
{
    const outbox_ix ix = node_at(c, n)->probe;
    if (!ix.v)
        return;
    node_derive(c, n)->probe = (outbox_ix){0};
    outbox_remove(c, ix);
    sched_enqueue_node(c, n);
}

void outbox_load_probes(struct core *c)
{
    const struct pool *rows = &c->tables[TABLE_OUTBOX].pool;
    for (uint32_t ix = pool_next(rows, 0); ix; ix = pool_next(rows, ix)) {
        const struct outbox *row = outbox_at(c, (outbox_ix){ix});
        const node_ix n = row->kind == OUTBOX_PROBE ? node_by_id(c, row->object_id) : (node_ix){0};
        if (n.v)
            node_derive(c, n)->probe = (outbox_ix){ix};
    }
}

/* ---- veto requests ---- */

static const struct veto_reply *hooks_find_veto_reply(const struct core *c, uint64_t key)
{
    const struct veto_reply *replies = c->command->veto_replies; /* sorted by key */
    uint32_t low = 0, high = c->command->veto_reply_count;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (replies[mid].key < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low < c->command->veto_reply_count && replies[low].key == key ? &replies[low] : NULL;
}

/* The key is a hash of hook, role and argument: the step that is executed again derives the same
 * one. A step continues after a request, so that one execution collects all its requests. */
bool hooks_request_veto(struct core *c, enum hook hook, role_ix role, struct str argument)
{
    if (!hooks_role_defines(c, role, hook))
        return true;
    const int64_t role_id = role_at(c, role)->o.id;
    const uint64_t key = hash64(argument, hash64((struct str){(const char *)&role_id, 8}, hook));
    const struct veto_reply *answer = hooks_find_veto_reply(c, key);
    if (!answer) {
        struct veto_call *ask = arena_new(c->arena, struct veto_call);
        *ask = (struct veto_call){
            .key = key, .hook = hook, .role_id = role_id, .argument = argument, .next = NULL};
        *(c->last_veto_call ? &c->last_veto_call->next : &c->out->veto_calls) = ask;
        c->last_veto_call = ask;
        c->out->veto_call_count++;
        return true;
    }
    if (!answer->veto)
        return true;
    return refuse(c, PROBLEM_HOOK_VETO, str_from(hook_name(hook)),
                  STR_CONCAT(c->arena, STR("role "), text_of(c, role_at(c, role)->name),
                             STR(" vetoed this: "), answer->text));
}

static void outbox_put_member(struct arena *a, struct json *object, const char *key,
                              struct str text)
{
    json_set(object, str_from(key), json_make_string(a, text));
}

struct str hooks_noderole_argument(struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    struct json *o = json_make(c->arena, JSON_OBJECT);
    outbox_put_member(c->arena, o, "bootenv", text_of(c, node_at(c, nr->node)->bootenv));
    outbox_put_member(c->arena, o, "deployment",
                      text_of(c, deployment_at(c, nr->deployment)->name));
    outbox_put_member(c->arena, o, "node", text_of(c, node_at(c, nr->node)->name));
    outbox_put_member(c->arena, o, "role", text_of(c, role_at(c, nr->role)->name));
    json_set(o, STR("data"), doc_tree(c->arena, doc_of(c, nr->proposed_data)));
    /* Data that are too deep to be parsed inside the argument are shown as {}. */
    struct json *proposed = data_noderole(c, ix, false, c->arena);
    json_set(o, STR("proposed"),
             json_depth(proposed) < JSON_DEPTH_MAX ? proposed : json_make(c->arena, JSON_OBJECT));
    json_set(o, STR("run_count"), json_make_i64(c->arena, nr->run_count));
    return json_write(c->arena, o);
}

struct str hooks_deployment_role_argument(struct core *c, deployment_role_ix ix)
{
    const struct deployment_role *dr = deployment_role_at(c, ix);
    struct json *o = json_make(c->arena, JSON_OBJECT);
    outbox_put_member(c->arena, o, "deployment",
                      text_of(c, deployment_at(c, dr->deployment)->name));
    outbox_put_member(c->arena, o, "role", text_of(c, role_at(c, dr->role)->name));
    json_set(o, STR("data"),
             doc_tree(c->arena, doc_of(c, dr->proposed ? dr->proposed_data : dr->committed_data)));
    return json_write(c->arena, o);
}

/* ---- commands of hooks ---- */

/* Hooks may not issue commands of runners, timers and the daemon, import content, or manage
 * settings, users and tokens. */
static bool hooks_may_request(enum command_kind kind)
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
    case COMMAND_LEASE_TAKE:
    case COMMAND_LEASE_RELEASE:
    case COMMAND_LEASE_DECLINE:
    case COMMAND_NICS_MAKE:
    case COMMAND_ANNEAL:
    case COMMAND_TICK:
    case COMMAND_BATCH: return false;
    default: return true;
    }
}

/* Bytes that the commands of one hook may allocate. They may write many documents of maximum size,
 * and the loop serves no other request while they are executed. */
enum { HOOK_COMMANDS_BYTES_MAX = 8 << 20 };

static struct str hooks_refusal_text(struct core *c, const struct outcome *outcome)
{
    if (outcome->problems)
        return outcome->problems->text;
    const struct role *role = role_at(c, role_by_id(c, outcome->veto_calls->role_id));
    return STR_CONCAT(
        c->arena, STR("role "), text_of(c, role->name), STR(" must be asked for a veto ("),
        str_from(hook_name(outcome->veto_calls->hook)), STR("), and a hook cannot wait for that"));
}

/* Execute the commands of a hook, each in a step of its own inside this one. False at the first
 * refusal, with the reason in *out_text; core_try() then rolls all of them back. */
static bool hooks_execute_commands(struct core *c, const struct outbox *row, struct str commands,
                                   struct str *out_text)
{
    uint32_t at = 0;
    const size_t before = arena_used(c->arena);
    while (at < commands.len) {
        struct command command;
        struct outcome outcome;
        if (arena_used(c->arena) - before > HOOK_COMMANDS_BYTES_MAX) {
            *out_text = STR("its commands write more than 8 MiB");
            return false;
        }
        if (command_decode(c->arena, commands, &at, &command) != OK) {
            *out_text = STR("its commands cannot be decoded");
            return false;
        }
        command.now_ms = c->now_ms;
        command.mono_ms = c->mono_ms;
        command.wall_ms = c->wall_ms;
        command.depth = row->depth + 1;
        command.request = 0;
        command.by = (struct principal){0};
        command.actor =
            STR_CONCAT(c->arena, STR("hook "), str_from(hook_name((enum hook)row->hook)));
        command.address = STR("");   /* no client sent it */
        command.veto_replies = NULL; /* a hook cannot supply veto replies */
        command.veto_reply_count = 0;
        if (!hooks_may_request(command.kind)) {
            *out_text = STR_CONCAT(c->arena, STR("hooks may not use the command "),
                                   str_from(command_name(command.kind)));
            return false;
        }
        core_step_inside(c, &command, &outcome);
        if (outcome.verdict == VERDICT_DONE)
            continue;
        *out_text = STR_CONCAT(c->arena, STR("the command that it requested, "),
                               str_from(command_name(command.kind)), STR(", was refused: "),
                               hooks_refusal_text(c, &outcome));
        return false;
    }
    return true;
}

/* ---- results of hooks ---- */

/* A proposed noderole has no run, so the message of the hook becomes its status. status_hook keeps
 * which hook that was, so that a later success of the same hook removes the message. */
static void hooks_note_proposed(struct core *c, enum hook hook, noderole_ix ix,
                                const struct failure *failure)
{
    const struct str runlog = STR_CONCAT(c->arena, text_of(c, noderole_at(c, ix)->runlog));
    noderole_note_failure(
        c, ix, &(struct failure){.status = failure->runlog, .runlog = runlog, .why = failure->why});
    noderole_edit(c, ix)->status_hook = (uint32_t)hook + 1;
}

/* In BLOCKED and ERROR the state stays. The message is appended to the run log; in ERROR the
 * original status and reason are kept as well. */
static void hooks_note_keep_state(struct core *c, noderole_ix ix, const struct failure *failure)
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

/* A failure of on_proposed prevents the commit. After that of another hook, the message is stored
 * in a noderole that is PROPOSED, BLOCKED or in ERROR; one in another state enters ERROR. */
static void hooks_handle_failed(struct core *c, enum hook hook, noderole_ix ix,
                                const struct reason *why)
{
    const struct str name = str_from(hook_name(hook));
    const struct failure failure = {.status = STR_CONCAT(c->arena, name, STR(" failed")),
                                    .runlog = STR_CONCAT(c->arena, name, STR(": "), why->text),
                                    .why = reason_truncate(why->code, why->subject, why->text)};
    const uint8_t state = noderole_at(c, ix)->state;
    if (hook == HOOK_PROPOSED) {
        /* on_proposed checks data before a commit; hook_failed refuses commits until it succeeds.
         * If the commit was executed before the hook failed, the noderole is proposed again. It
         * cannot have started, because a noderole does not start while one of its hooks has no
         * result. */
        if (state == NODEROLE_TODO || state == NODEROLE_BLOCKED)
            noderole_propose(c, ix);
        noderole_edit(c, ix)->hook_failed = true;
        hooks_note_proposed(c, hook, ix, &failure);
    } else if (state == NODEROLE_PROPOSED) {
        hooks_note_proposed(c, hook, ix, &failure);
    } else if (state == NODEROLE_BLOCKED || state == NODEROLE_ERROR) {
        hooks_note_keep_state(c, ix, &failure);
    } else {
        noderole_fail(c, ix, &failure);
    }
}

/* Remove what an earlier failure of the same hook left in the noderole. */
static void hooks_handle_succeeded(struct core *c, enum hook hook, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    const bool is_status = nr->state == NODEROLE_PROPOSED && nr->status_hook == (uint32_t)hook + 1;
    if (!is_status && !(hook == HOOK_PROPOSED && nr->hook_failed))
        return;
    struct noderole *row = noderole_edit(c, ix);
    if (hook == HOOK_PROPOSED)
        row->hook_failed = false;
    put_text(c, &row->status, STR(""));
    row->status_hook = 0;
    noderole_clear_reason(c, ix);
}

/* Write the failure into the outcome; observers of the turn write it to the log. Roles, nodes and
 * deployment roles have no run log, so for hooks about them this is the only report. */
static void hooks_report_failure(struct core *c, outbox_ix ix, struct str text)
{
    const struct outbox *row = outbox_at(c, ix);
    const role_ix role = role_by_id(c, row->role_id);
    struct json *doc = json_make(c->arena, JSON_OBJECT);
    outbox_put_member(c->arena, doc, "hook", str_from(hook_name((enum hook)row->hook)));
    outbox_put_member(c->arena, doc, "object", str_from(table_name((enum table)row->object)));
    json_set(doc, STR("object_id"), json_make_i64(c->arena, row->object_id));
    outbox_put_member(c->arena, doc, "role", role.v ? text_of(c, role_at(c, role)->name) : STR(""));
    outbox_put_member(c->arena, doc, "text", text);
    c->out->doc = json_write(c->arena, doc);
}

static void hooks_handle_done(struct core *c, outbox_ix ix, bool failed, const struct reason *why)
{
    const enum hook hook = (enum hook)outbox_at(c, ix)->hook;
    const noderole_ix nr = outbox_at(c, ix)->object == TABLE_NODEROLE
                               ? noderole_by_id(c, outbox_at(c, ix)->object_id)
                               : (noderole_ix){0};
    outbox_remove(c, ix);
    if (!nr.v)
        return;
    struct noderole *row = noderole_derive(c, nr);
    must(row->hooks_pending_count > 0);
    row->hooks_pending_count--;
    sched_enqueue_node(c, row->node); /* its start may have waited for this hook */
    if (failed)
        hooks_handle_failed(c, hook, nr, why);
    else
        hooks_handle_succeeded(c, hook, nr);
}

static void outbox_handle_probe_done(struct core *c, outbox_ix ix,
                                     const struct outbox_done_command *p)
{
    const node_ix n = node_by_id(c, outbox_at(c, ix)->object_id);
    const bool is_current = n.v && node_at(c, n)->probe.v == ix.v;
    if (is_current)
        outbox_forget_probe(c, n);
    else
        outbox_remove(c, ix); /* the node was deleted, or an old store has several probes of it */
    if (!is_current || !p->failed)
        return;
    struct reason why = reason_truncate(p->reason, p->reason_subject, STR(""));
    why.text =
        STR_CONCAT(c->arena, STR("does not answer"), p->text.len ? STR(": ") : STR(""), p->text);
    node_set_alive(c, n, false);
    node_set_status(c, n, &why);
    node_changed(c, n);
}

/* A power action that must not be repeated is performed only after this is durable: a row that is
 * delivered with `begun` set was interrupted, and its action fails instead of being repeated. */
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
        return; /* a repeated result: the row was removed by the first one */
    bool failed = p->failed;
    struct reason why = {
        .code = (enum reason_code)p->reason, .subject = p->reason_subject, .text = p->text};
    if (p->reason >= REASON_COUNT) {
        refuse(c, PROBLEM_BAD_VALUE, STR("reason"), STR("is not a reason code"));
        return;
    }
    if (p->power_state >= POWER_STATE_COUNT) {
        refuse(c, PROBLEM_BAD_VALUE, STR("power_state"), STR("is not a power state"));
        return;
    }
    switch ((enum outbox_kind)outbox_at(c, ix)->kind) {
    case OUTBOX_HOOK:
        if (!failed && outbox_at(c, ix)->depth >= CHAIN_MAX && p->hook_commands.len) {
            failed = true;
            why.code = REASON_HOOK_LIMIT;
            why.text = STR("hooks keep causing hooks: more than 16 in a row");
        }
        if (!failed && p->hook_commands.len) {
            failed =
                !core_try(c, hooks_execute_commands, outbox_at(c, ix), p->hook_commands, &why.text);
            why.code = REASON_HOOK_REFUSED;
        }
        if (failed && why.code == REASON_NONE)
            why.code = REASON_HOOK_ERROR;
        if (!why.subject.len)
            why.subject = str_from(hook_name((enum hook)outbox_at(c, ix)->hook));
        /* A command of the hook may have removed the object, and this row with it. */
        if (!outbox_by_id(c, p->outbox_id).v)
            return;
        if (failed)
            hooks_report_failure(c, ix, why.text);
        hooks_handle_done(c, ix, failed, &why);
        return;
    case OUTBOX_PROBE: outbox_handle_probe_done(c, ix, p); return;
    case OUTBOX_POWER: boot_power_done(c, ix, p); return;
    }
    impossible("an outbox row of no kind");
}
