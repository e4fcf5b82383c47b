#include "core/boot/boot_service.h"
#include "core/network/network_private.h"

#include "base/containers/sort.h"
#include "base/json/json.h"
#include "core/boot/boot_changes.h"
#include "model/subject.h"

/* Execution of one command (docs/tour.md, section 4).
 *
  * A step is: open an undo mark, validate every string and document of the command, check the
  * caller's rights, call the handler, evaluate the boot barrier and DNS names, then keep the
  * changes or roll them back. This file owns the undo mark and the frame of the step (command,
  * arena, effects, outcome); handlers only change rows or call refuse().
 *
  * Ordering: validation copies the command and makes its documents canonical before any handler
  * sees them, so documents that reach a row are always canonical JSON. The boot barrier and DNS
  * names are evaluated last, because a handler may change several conditions that they depend on.
  * The verdict is computed last of all: one recorded problem refuses the step, whatever the handler
  * did after it.
 *
 * Failure: a refused step, or one that needs replies of hooks, is rolled back with everything it
 * changed: rows, the lists of dirty rows, relations and archive rows, the staleness of plans, and
 * the effects it added. Steps nest for hook commands and for parts of a batch. */

/* ---- problems and effects ---- */

bool refuse(struct core *c, enum problem_code code, struct str field, struct str text)
{
    if (c->problem_count >= PROBLEMS_MAX)
        return false; /* the step is refused already; further problems are not reported */
    struct problem *p = arena_new(c->arena, struct problem);
    *p = (struct problem){.code = code, .field = field, .text = text};
    *(c->last_problem ? &c->last_problem->next : &c->out->problems) = p;
    c->last_problem = p;
    c->problem_count++;
    return false;
}

bool refused(const struct core *c)
{
    return c->out->problems != NULL;
}

bool refuse_missing(struct core *c, const char *field, const char *noun, int64_t id)
{
    return refuse(c, PROBLEM_NOT_FOUND, str_from(field),
                  STR_CONCAT(c->arena, STR("there is no "), str_from(noun), STR(" with id "),
                             str_from_i64(c->arena, id)));
}

struct effect *effect_add(struct core *c, enum effect_kind kind, int64_t id)
{
    struct effect *e = arena_new(c->arena, struct effect);
    e->kind = kind;
    e->id = id;
    if (c->fx->last)
        c->fx->last->next = e;
    else
        c->fx->first = e;
    c->fx->last = e;
    c->fx->count++;
    return e;
}

/* ---- input validation ---- */

static void refuse_too_long(struct core *c, struct str field, uint32_t max)
{
    refuse(
        c, PROBLEM_BAD_TEXT, field,
        STR_CONCAT(c->arena, STR("is longer than "), str_from_i64(c->arena, max), STR(" bytes")));
}

static void step_check_string(struct core *c, const struct field *field, struct str s)
{
    if (s.len > TEXT_MAX)
        refuse_too_long(c, str_from(field->name), TEXT_MAX);
    else if (!str_is_clean(s))
        refuse(c, PROBLEM_BAD_TEXT, str_from(field->name),
               STR("must be valid UTF-8 without NUL characters"));
}

static struct str step_check_document(struct core *c, const struct field *field, struct str s)
{
    struct json *tree;
    uint32_t offset, depth;
    const char *what;
    if (s.len == 0)
        return s;
    if (s.len > DOC_MAX) {
        refuse_too_long(c, str_from(field->name), DOC_MAX);
        return s;
    }
    /* Results of hooks are canonical already and may be large: skip parsing them. */
    if (json_text_is_canonical(s, &depth) && depth <= DOC_DEPTH_MAX)
        return str_copy(c->arena, s);
    if (json_read(c->arena, s, &tree, &offset, &what) != OK) {
        refuse(c, PROBLEM_BAD_JSON, str_from(field->name),
               STR_CONCAT(c->arena, STR("is not a JSON document: "), str_from(what),
                          STR(" at byte "), str_from_i64(c->arena, offset)));
        return s;
    }
    /* The core wraps documents into larger ones, which must stay below the depth limit of the JSON
     * parser. */
    if (json_depth(tree) > DOC_DEPTH_MAX) {
        refuse(c, PROBLEM_BAD_JSON, str_from(field->name),
               STR_CONCAT(c->arena, STR("is nested deeper than "),
                          str_from_i64(c->arena, DOC_DEPTH_MAX), STR(" levels")));
        return s;
    }
    const struct str canonical = json_write(c->arena, tree);
    if (canonical.len > DOC_MAX)
        refuse_too_long(c, str_from(field->name), DOC_MAX);
    return canonical;
}

static int step_cmp_veto_replies(const void *a, const void *b)
{
    const uint64_t x = ((const struct veto_reply *)a)->key, y = ((const struct veto_reply *)b)->key;
    return (x > y) - (x < y);
}

void command_sort_veto_replies(struct core *c, struct command *command)
{
    if (command->veto_reply_count == 0)
        return;
    struct veto_reply *sorted =
        arena_copy(c->arena, command->veto_replies, command->veto_reply_count * sizeof *sorted);
    for (uint32_t i = 0; i < command->veto_reply_count; i++)
        if (sorted[i].text.len > TEXT_MAX || !str_is_clean(sorted[i].text))
            refuse(c, PROBLEM_BAD_TEXT, STR("answers"),
                   STR("must be valid UTF-8 of at most 65536 bytes"));
    sort_items(sorted, command->veto_reply_count, sizeof *sorted, step_cmp_veto_replies, c->arena);
    command->veto_replies = sorted;
}

/* Check every string and document of the command. Returns a copy whose documents are canonical. */
static struct command *step_check_command(struct core *c, const struct command *command)
{
    struct command *checked = arena_copy(c->arena, command, sizeof *command);
    const struct layout *layout = command_layout(command->kind);
    char *payload = command_payload(checked);
    if (!str_is_clean(command->actor) || command->actor.len > NAME_LEN_MAX)
        refuse(c, PROBLEM_BAD_TEXT, STR("actor"), STR("must be valid UTF-8 of at most 255 bytes"));
    if (!str_is_clean(command->address) || command->address.len > ADDRESS_LEN_MAX)
        refuse(c, PROBLEM_BAD_TEXT, STR("address"), STR("must be a numeric IP address"));
    command_sort_veto_replies(c, checked);
    for (uint32_t i = 0; i < layout->count; i++) {
        struct str *s = (void *)(payload + layout->fields[i].offset);
        if (layout->fields[i].kind == FIELD_TEXT)
            step_check_string(c, &layout->fields[i], *s);
        else if (layout->fields[i].kind == FIELD_DOC)
            *s = step_check_document(c, &layout->fields[i], *s);
    }
    return checked;
}

/* ---- preconditions ---- */

/* The object that the command refers to; NULL if it does not exist. */
static const struct object *step_named_object(const struct core *c, struct subject subject)
{
    const uint32_t ix = subject.table < TABLE_OBJECTS && subject.id > 0
                            ? omap_find(&c->tables[subject.table].by_id, (uint64_t)subject.id)
                            : 0;
    return ix ? pool_at(&c->tables[subject.table].pool, ix) : NULL;
}

/* If-Match: refuse if the object has changed since the turn that the client read, also if it
 * changed earlier in this batch. */
static void step_check_if_match(struct core *c, const struct command *command)
{
    const struct object *o = step_named_object(c, command_subject(command));
    if (o && o->turn == command->if_turn && !(o->row.flags & ROW_DIRTY))
        return;
    refuse(c, PROBLEM_PRECONDITION_FAILED, STR("if_turn"),
           STR("the object was changed since, or does not exist; read it again"));
}

/* True if the target of a hook command was deleted after the hook was called, or if the command
 * applies only while a certain run is parked, and that run has been resumed or has ended. The
 * command is then ignored, not refused: the hook could not know. */
static bool step_target_is_gone(const struct core *c, const struct command *command)
{
    const struct subject subject = command_subject(command);
    const struct node_update_command *p = &command->node_update;
    const bool parked_run_ended = command->kind == COMMAND_NODE_UPDATE &&
                                  p->given & GIVEN_NODE_PARKED_RUN &&
                                  !run_is_parked(c, p->parked_run);
    return command->if_turn == IF_THERE && subject.id &&
           (!step_named_object(c, subject) || parked_run_ended);
}

static void step_dispatch(struct core *c, const struct command *command)
{
    switch (command->kind) {
#define C(upper, lower)                                                                            \
    case COMMAND_##upper: do_##lower(c, &command->lower); return;
        COMMANDS(C)
#undef C
    case COMMAND_COUNT: break;
    }
    impossible("a command outside the enum");
}

/* ---- undo marks and frames ---- */

/* Everything that a rollback restores. */
struct step_mark {
    struct undo_mark undo;
    uint32_t dirty, relations, archives, stale_plans, boot_rows, boot_open;
    struct effects fx;
};

static struct step_mark step_begin(struct core *c)
{
    return (struct step_mark){.undo = undo_begin(&c->undo),
                              .dirty = c->dirty.count,
                              .relations = c->relations.count,
                              .archives = c->archives.count,
                              .boot_rows = c->boot_rows.count,
                              .boot_open = c->boot_open.count,
                              .stale_plans = plans_stale(c),
                              .fx = *c->fx};
}

static void step_rollback(struct core *c, struct step_mark mark)
{
    undo_rollback(&c->undo, mark.undo);
    c->dirty.count = mark.dirty;
    c->relations.count = mark.relations;
    c->archives.count = mark.archives;
    c->boot_rows.count = mark.boot_rows;
    c->boot_open.count = mark.boot_open;
    plans_set_stale(c, mark.stale_plans);
    *c->fx = mark.fx;
    if (c->fx->last)
        c->fx->last->next = NULL;
}

/* The state of the enclosing step: hook commands and parts of a batch are steps inside a step. */
struct step_frame {
    const struct command *command;
    struct arena *arena;
    struct effects *fx;
    struct outcome *out;
    struct problem *last_problem;
    struct veto_call *last_veto_call;
    uint32_t problem_count;
    uint32_t depth;
    struct authority authority;
};

static struct step_frame frame_enter(struct core *c, const struct command *command,
                                     struct arena *arena, struct effects *fx, struct outcome *out)
{
    struct step_frame outer = {.command = c->command,
                               .arena = c->arena,
                               .fx = c->fx,
                               .out = c->out,
                               .last_problem = c->last_problem,
                               .last_veto_call = c->last_veto_call,
                               .problem_count = c->problem_count,
                               .depth = c->depth,
                               .authority = c->authority};
    c->last_problem = NULL;
    c->last_veto_call = NULL;
    c->problem_count = 0;
    c->command = command;
    c->arena = arena;
    c->fx = fx;
    c->out = out;
    c->depth = command->depth;
    *out = (struct outcome){0};
    return outer;
}

static void frame_leave(struct core *c, struct step_frame outer)
{
    c->command = outer.command;
    c->arena = outer.arena;
    c->fx = outer.fx;
    c->out = outer.out;
    c->last_problem = outer.last_problem;
    c->last_veto_call = outer.last_veto_call;
    c->problem_count = outer.problem_count;
    c->depth = outer.depth;
    c->authority = outer.authority;
}

/* ---- execution ---- */

/* What is derived at the end of a step. What follows from the boot view can change rows that it is
 * made of (a noderole fails, so its grant is void), and then the view is settled again. */
static void step_settle(struct core *c)
{
    do {
        dns_names_settle(c);
        boot_view_settle(c);
        boot_due_settle(c);
        boot_settle(c);
    } while (!refused(c) && boot_view_has_changes(c));
}

/* `whole`: the batch that the command is a part of; NULL if it is none. A part uses the veto
 * replies of its batch. */
static void step_execute(struct core *c, const struct command *command, const struct command *whole,
                         bool dry)
{
    const struct step_mark mark = step_begin(c);
    const uint32_t boot_from = c->boot_from;
    c->boot_from = c->undo.depth > 1 ? mark.boot_rows : 0;

    /* Validate. Every check is made, so that the caller gets all problems at once. */
    struct command *checked = step_check_command(c, command);
    c->command = checked;
    if (whole) {
        checked->veto_replies = whole->veto_replies;
        checked->veto_reply_count = whole->veto_reply_count;
    }
    if (checked->if_turn && checked->if_turn != IF_THERE)
        step_check_if_match(c, checked);

    /* Execute. */
    if (authority_check(c, whole != NULL) && !refused(c) && !step_target_is_gone(c, checked))
        step_dispatch(c, checked);
    if (!refused(c))
        step_settle(c);

    /* Keep the changes or roll back. A part that needs replies of hooks is kept, so that the later
     * parts see its changes; the batch itself is rolled back then. */
    struct outcome *out = c->out;
    out->verdict = out->problems     ? VERDICT_REFUSED
                   : out->veto_calls ? VERDICT_NEEDS_HOOKS
                                     : VERDICT_DONE;
    if (out->verdict != VERDICT_DONE)
        out->id = 0;
    const bool is_kept =
        out->verdict == VERDICT_DONE || (whole && out->verdict == VERDICT_NEEDS_HOOKS);
    if (is_kept && !dry)
        undo_keep(&c->undo, mark.undo);
    else
        step_rollback(c, mark);
    c->boot_from = boot_from;
}

void core_step(struct core *c, const struct command *command, struct arena *arena,
               struct effects *fx, struct outcome *out)
{
    must(c->undo.depth == 0);
    const struct step_frame outer = frame_enter(c, command, arena, fx, out);
    if (command->now_ms > c->now_ms)
        c->now_ms = command->now_ms;
    if (command->mono_ms > c->mono_ms)
        c->mono_ms = command->mono_ms;
    c->wall_ms = command->wall_ms;
    c->step_number++;
    step_execute(c, command, NULL, false);
    frame_leave(c, outer);
}

void core_step_part(struct core *c, const struct command *part, struct outcome *out)
{
    must(c->undo.depth > 0 && part->veto_reply_count == 0);
    const struct step_frame outer = frame_enter(c, part, c->arena, c->fx, out);
    step_execute(c, part, outer.command, false);
    frame_leave(c, outer);
}

void core_step_inside(struct core *c, const struct command *command, struct outcome *out)
{
    must(c->undo.depth > 0);
    const struct step_frame outer = frame_enter(c, command, c->arena, c->fx, out);
    step_execute(c, command, NULL, false);
    frame_leave(c, outer);
}

bool core_try(struct core *c,
              bool (*attempt)(struct core *c, const struct outbox *row, struct str commands,
                              struct str *out_text),
              const struct outbox *row, struct str commands, struct str *out_text)
{
    const struct step_mark mark = step_begin(c);
    const struct outbox copy = *row; /* a hook command may remove the row itself */
    const bool done = attempt(c, &copy, commands, out_text);
    if (done)
        undo_keep(&c->undo, mark.undo);
    else
        step_rollback(c, mark);
    return done;
}

void core_step_dry(struct core *c, const struct command *command, struct arena *arena,
                   struct outcome *out)
{
    struct effects none = {0};
    const struct step_frame outer = frame_enter(c, command, arena, &none, out);
    step_execute(c, command, NULL, true);
    frame_leave(c, outer);
}

void core_import_dry_run(struct core *c, const struct str *barclamps, uint32_t count,
                         struct arena *arena, struct outcome *outcomes)
{
    struct command import = {.kind = COMMAND_IMPORT, .actor = STR("import dry run")};
    struct effects none = {0};
    struct outcome whole;
    must(c->undo.depth == 0);
    const struct step_frame outer = frame_enter(c, &import, arena, &none, &whole);
    const struct step_mark mark = step_begin(c);
    c->step_number++; /* guards of the kind "once per step" compare this number */
    for (uint32_t i = 0; i < count; i++) {
        import.import.barclamp = barclamps[i];
        core_step_inside(c, &import, &outcomes[i]);
    }
    step_rollback(c, mark);
    frame_leave(c, outer);
}
