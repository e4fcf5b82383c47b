/* scripted_core.h - a replacement of the core whose behaviour is determined by the commands of a
 * test.
 *
 * It has nodes, runs and outbox rows only. A test includes it instead of linking the real core. The
 * effects of commands:
 *   NODE_CREATE         one node; the description selects veto requests: "once" or "always"
 *   NODE_DELETE         deletes a node; refused if there is none
 *   SETTINGS_UPDATE     creates pool_normal nodes
 *   NODEROLE_ENQUEUE    a run, and the effect that starts it
 *   RUN_BEGUN, RUN_DONE records the beginning of the run; removes the run
 *   NODE_POWER          an outbox row of kind `id`, and its delivery
 *   OUTBOX_DONE         removes the row
 *   GROUP_ADD           the annealer creates `id` nodes later; the next tick is due in `node_id` ms
 *
 * Its boot view has one entry for each node, a machine whose generation is the id of the node.
 */
#pragma once

#include "core/core.h"

#include <stdlib.h>
#include <string.h>

struct scripted_row {
    bool live, stored, dirty;
    struct record record;
};

enum { SCRIPT_BOOT_CHANGES_MAX = 32768 };

struct core {
    struct scripted_row *rows; /* row i has the id i + 1, whatever its table */
    uint32_t count, cap, changed;
    int64_t work, deadline, now_ms;
    uint64_t steps;
    uint32_t deletion_rows;        /* 0: not set */
    uint32_t boot_part;            /* the same */
    int64_t name_slices;           /* slices that are left; set by a test in the same way */
    struct boot_key *boot_changes; /* of the last batch; SCRIPT_BOOT_CHANGES_MAX at most */
    uint32_t boot_change_count;
    int64_t boot_turn;
    bool needs_reload; /* set by a test, which casts away the const of turn_core() */
};

static const char *script_load_error; /* if set, core_load_end() fails with it */

struct core *core_new(void)
{
    struct core *c = calloc(1, sizeof *c);
    must(c != NULL);
    c->deadline = -1;
    c->boot_changes = calloc(SCRIPT_BOOT_CHANGES_MAX, sizeof *c->boot_changes);
    must(c->boot_changes != NULL);
    return c;
}

void core_free(struct core *c)
{
    if (c) {
        free(c->rows);
        free(c->boot_changes);
    }
    free(c);
}

static struct scripted_row *row_next(struct core *c)
{
    if (c->count == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 16;
        c->rows = realloc(c->rows, c->cap * sizeof *c->rows);
        must(c->rows != NULL);
    }
    c->rows[c->count] = (struct scripted_row){0};
    return &c->rows[c->count++];
}

static struct scripted_row *row_add(struct core *c, struct record record)
{
    struct scripted_row *row = row_next(c);
    record.id = c->count;
    *row = (struct scripted_row){true, false, true, record};
    c->changed++;
    return row;
}

static void row_touch(struct core *c, struct scripted_row *row)
{
    c->changed += !row->dirty;
    row->dirty = true;
}

static struct scripted_row *row_find(const struct core *c, enum table table, int64_t id)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->rows[i].live && c->rows[i].record.table == table && c->rows[i].record.id == id)
            return (struct scripted_row *)(uintptr_t)&c->rows[i];
    return NULL;
}

void core_bootstrap(struct core *c, int64_t now_ms)
{
    row_add(c, (struct record){.table = TABLE_SETTINGS, .settings = {.created_at = now_ms}});
}

err core_load(struct core *c, const struct record *record, const char **out_what)
{
    *out_what = "";
    while (c->count < record->id)
        row_next(c);
    struct scripted_row *row = &c->rows[record->id - 1];
    *row = (struct scripted_row){true, true, false, *record};
    if (record->node.turn > c->boot_turn)
        c->boot_turn = record->node.turn;
    if (record->table == TABLE_RUN)
        row->record.run.data = STR("{}"); /* the bytes it was decoded from do not stay valid */
    return OK;
}

err core_load_end(struct core *c, int64_t mono_ms, const char **out_what)
{
    (void)c;
    (void)mono_ms;
    if (!script_load_error)
        return OK;
    *out_what = script_load_error;
    return ERR_CORRUPT;
}

static struct effect *effect_put(struct effects *fx, struct arena *a, enum effect_kind kind,
                                 int64_t id)
{
    struct effect *e = arena_new(a, struct effect);
    e->kind = kind;
    e->id = id;
    if (fx->last)
        fx->last->next = e;
    else
        fx->first = e;
    fx->last = e;
    fx->count++;
    return e;
}

static void refuse_command(struct outcome *out, struct arena *a, enum problem_code code)
{
    out->verdict = VERDICT_REFUSED;
    out->problems = arena_new(a, struct problem);
    out->problems->code = code;
}

/* "once" makes the veto request 7, "always" makes another one each time. */
static bool needs_hooks(struct core *c, const struct command *cmd, struct arena *a,
                        struct outcome *out)
{
    bool always = str_eq(cmd->node_create.description, STR("always"));
    if (!always && !str_eq(cmd->node_create.description, STR("once")))
        return false;
    uint64_t key = always ? 100 + c->steps : 7;
    for (uint32_t i = 0; i < cmd->veto_reply_count; i++)
        if (cmd->veto_replies[i].key == key) {
            if (cmd->veto_replies[i].veto)
                refuse_command(out, a, PROBLEM_HOOK_VETO);
            return cmd->veto_replies[i].veto;
        }
    out->verdict = VERDICT_NEEDS_HOOKS;
    out->veto_calls = arena_new(a, struct veto_call);
    *out->veto_calls =
        (struct veto_call){.key = key, .hook = HOOK_NODE_BIND, .argument = STR("{}")};
    out->veto_call_count = 1;
    return true;
}

static void create_nodes(struct core *c, int64_t count, struct outcome *out)
{
    for (int64_t i = 0; i < count; i++)
        out->id = row_add(c, (struct record){.table = TABLE_NODE})->record.id;
}

static void end(struct core *c, enum table table, int64_t id, struct arena *a, struct outcome *out)
{
    struct scripted_row *row = row_find(c, table, id);
    if (!row) {
        refuse_command(out, a, PROBLEM_NOT_FOUND);
        return;
    }
    row_touch(c, row);
    row->live = false;
}

static void start_run(struct core *c, int64_t noderole_id, struct arena *a, struct effects *fx,
                      struct outcome *out)
{
    struct record record = {.table = TABLE_RUN,
                            .run = {.noderole_id = noderole_id, .attempt = 1, .data = STR("{}")}};
    out->id = row_add(c, record)->record.id;
    struct effect *e = effect_put(fx, a, EFFECT_RUN_START, out->id);
    e->attempt = 1;
    e->noderole_id = noderole_id;
    e->jig = STR("script");
    e->data = STR("{\"staged\":1}");
}

static void anneal(struct core *c, uint32_t budget, struct outcome *out)
{
    int64_t now = c->work < budget ? c->work : budget;
    create_nodes(c, now, out);
    c->work -= now;
    c->name_slices -= c->name_slices > 0;
}

void core_step(struct core *c, const struct command *cmd, struct arena *a, struct effects *fx,
               struct outcome *out)
{
    *out = (struct outcome){0};
    must(cmd->now_ms >= c->now_ms && cmd->nonce[0] && cmd->nonce[1]);
    c->now_ms = cmd->now_ms;
    c->steps++;
    struct scripted_row *row;
    switch ((uint32_t)cmd->kind) {
    case COMMAND_NODE_CREATE:
        if (!needs_hooks(c, cmd, a, out))
            create_nodes(c, 1, out);
        return;
    case COMMAND_NODE_DELETE: end(c, TABLE_NODE, cmd->node_delete.id, a, out); return;
    case COMMAND_SETTINGS_UPDATE: create_nodes(c, cmd->settings_update.pool_normal, out); return;
    case COMMAND_NODEROLE_ENQUEUE: start_run(c, cmd->noderole_enqueue.id, a, fx, out); return;
    case COMMAND_RUN_BEGUN:
        row = row_find(c, TABLE_RUN, cmd->run_begun.run_id);
        must(row != NULL);
        row->record.run.begun = true;
        row_touch(c, row);
        return;
    case COMMAND_RUN_DONE: end(c, TABLE_RUN, cmd->run_done.run_id, a, out); return;
    case COMMAND_NODE_POWER:
        row = row_add(c, (struct record){.table = TABLE_OUTBOX});
        row->record.outbox.kind = (uint32_t)cmd->node_power.id;
        out->id = row->record.id;
        effect_put(fx, a, EFFECT_OUTBOX, out->id);
        return;
    case COMMAND_OUTBOX_DONE: end(c, TABLE_OUTBOX, cmd->outbox_done.outbox_id, a, out); return;
    case COMMAND_GROUP_ADD:
        c->work = cmd->group_add.id;
        c->deadline = cmd->group_add.node_id ? cmd->mono_ms + cmd->group_add.node_id : -1;
        return;
    case COMMAND_ANNEAL: anneal(c, cmd->anneal.budget, out); return;
    case COMMAND_TICK:
        must(c->deadline >= 0 && c->deadline <= cmd->mono_ms);
        c->deadline = -1;
        return;
    default: impossible("a verb that the script does not know");
    }
}

void core_set_deletion_rows(struct core *c, uint32_t rows)
{
    c->deletion_rows = rows;
}

void core_set_boot_part(struct core *c, uint32_t machines)
{
    c->boot_part = machines;
}

bool core_has_work(const struct core *c)
{
    return c->work > 0 || c->name_slices > 0;
}

bool core_has_only_slices_left(const struct core *c)
{
    return c->work == 0 && c->name_slices > 0;
}

bool core_needs_reload(const struct core *c)
{
    return c->needs_reload;
}

int64_t core_next_deadline(const struct core *c)
{
    return c->deadline;
}

void core_resume(const struct core *c, struct arena *a, struct effects *fx)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const struct record *r = &c->rows[i].record;
        if (c->rows[i].live && r->table == TABLE_RUN)
            effect_put(fx, a, EFFECT_RUN_QUERY, r->id)->attempt = r->run.attempt;
        if (c->rows[i].live && r->table == TABLE_OUTBOX)
            effect_put(fx, a, EFFECT_OUTBOX, r->id);
    }
}

uint64_t core_edits(const struct core *c)
{
    return c->changed;
}

uint32_t core_changed(const struct core *c)
{
    return c->changed;
}

void core_collect(struct core *c, int64_t turn, void (*visit)(void *, const struct change *),
                  void *context)
{
    c->boot_change_count = 0;
    c->boot_turn = turn;
    for (uint32_t i = 0; i < c->count; i++) {
        struct scripted_row *row = &c->rows[i];
        if (!row->dirty)
            continue;
        row->dirty = false;
        if (row->record.table == TABLE_NODE) {
            must(c->boot_change_count < SCRIPT_BOOT_CHANGES_MAX);
            c->boot_changes[c->boot_change_count++] =
                (struct boot_key){BOOT_MACHINE, row->record.id};
        }
        struct change change = {.gone = !row->live, .record = row->record};
        /* The turn has the same place in all object tables. */
        change.record.node.turn = row->record.node.turn = turn;
        if (row->live || row->stored)
            visit(context, &change);
        row->stored = row->live;
    }
    c->changed = 0;
}

/* The live rows and their content: enough to detect a store that returns other rows. */
struct digest128 core_digest(const struct core *c)
{
    struct digest128 sum = {0};
    for (uint32_t i = 0; i < c->count; i++)
        if (c->rows[i].live)
            sum.lo += (uint64_t)c->rows[i].record.id * 31 + (uint64_t)c->rows[i].record.table + 1;
    return sum;
}

bool core_record(const struct core *c, enum table table, int64_t id, struct record *out_record)
{
    const struct scripted_row *row = row_find(c, table, id);
    if (row)
        *out_record = row->record;
    return row != NULL;
}

bool core_boot_view(const struct core *c, struct boot_key key, struct arena *a,
                    struct boot_entry *out)
{
    must(a && key.kind == BOOT_MACHINE);
    *out = (struct boot_entry){.key = key, .machine = {.generation = key.id}};
    return row_find(c, TABLE_NODE, key.id) != NULL;
}

const struct boot_key *core_boot_changes(const struct core *c, uint32_t *out_count,
                                         int64_t *out_turn)
{
    *out_count = c->boot_change_count;
    *out_turn = c->boot_turn;
    return c->boot_changes;
}

/* Its nodes have no host keys. */
int64_t *core_host_keys_of(const struct core *c, int64_t node_id, struct arena *a,
                           uint32_t *out_count)
{
    (void)c;
    (void)node_id;
    (void)a;
    *out_count = 0;
    return NULL;
}

void core_plan(struct core *c, const struct command *commit, struct arena *a, struct outcome *out)
{
    (void)c;
    *out = (struct outcome){.id = commit->now_ms};
    out->doc = str_copy(a, STR("{\"plan\":1}"));
}

/* A scripted plan takes PLAN_SLICES slices and is stale after a node was created or deleted. */
enum { PLAN_SLICES = 3 };

struct plan {
    struct core *core;
    struct command command;
    uint32_t slices, nodes;
};

static uint32_t script_plans_alive;

static uint32_t plan_nodes(const struct core *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->count; i++)
        n += c->rows[i].record.table == TABLE_NODE;
    return n;
}

struct plan *core_plan_begin(struct core *c, const struct command *commit, bool is_detailed)
{
    struct plan *p = calloc(1, sizeof *p);
    must(p && is_detailed == !commit->is_summary);
    *p = (struct plan){.core = c, .command = *commit, .nodes = plan_nodes(c)};
    script_plans_alive++;
    return p;
}

bool core_plan_is_done(const struct plan *p)
{
    return p->slices == PLAN_SLICES;
}

bool core_plan_is_stale(const struct plan *p)
{
    return p->nodes != plan_nodes(p->core);
}

bool core_plan_advance(struct plan *p, uint32_t units)
{
    must(units && !core_plan_is_stale(p) && !core_plan_is_done(p));
    return ++p->slices == PLAN_SLICES;
}

size_t core_plan_bytes(const struct plan *p)
{
    return sizeof *p;
}

void core_plan_outcome(struct plan *p, const struct command *caller, struct outcome *out)
{
    must(core_plan_is_done(p));
    *out = (struct outcome){.id = caller->now_ms, .doc = STR("{\"plan\":1}")};
}

void core_plan_end(struct plan *p)
{
    script_plans_alive -= p != NULL;
    free(p);
}

/* Scripts do not use COMMAND_BATCH. */
void core_watch_parts(struct core *c, const struct part_watch *watch)
{
    must(c && !watch);
}

void core_import_dry_run(struct core *c, const struct str *barclamps, uint32_t count,
                         struct arena *a, struct outcome *outcomes)
{
    (void)c;
    for (uint32_t i = 0; i < count; i++)
        outcomes[i] = (struct outcome){.id = i + 1, .doc = str_copy(a, barclamps[i])};
}

__attribute__((unused)) static uint32_t script_nodes(const struct core *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->count; i++)
        n += c->rows[i].live && c->rows[i].record.table == TABLE_NODE;
    return n;
}
