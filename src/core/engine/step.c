#include "core/core_private.h"

#include "base/containers/sort.h"
#include "base/json/json.h"
#include "model/subject.h"

/* ---- saying no, saying what else ---- */

bool refuse(struct core *c, enum problem_code code, struct str field, struct str text)
{
    if (c->problem_count >= PROBLEMS_MAX)
        return false; /* nobody reads on; it is refused as it is */
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

/* ---- the door: every text and document is looked at before anything is thought ---- */

static void check_text(struct core *c, const struct field *field, struct str s)
{
    if (s.len > TEXT_MAX)
        refuse(c, PROBLEM_BAD_TEXT, str_from(field->name), STR("is longer than the field allows"));
    else if (!str_is_clean(s))
        refuse(c, PROBLEM_BAD_TEXT, str_from(field->name),
               STR("must be UTF-8 text without zero characters"));
}

static struct str check_doc(struct core *c, const struct field *field, struct str s)
{
    struct json *tree;
    uint32_t offset, depth;
    const char *what;
    if (s.len == 0)
        return s;
    if (s.len > DOC_MAX) {
        refuse(c, PROBLEM_BAD_TEXT, str_from(field->name), STR("is longer than a document may be"));
        return s;
    }
    /* What the thread of the hooks writes is canonical, and may be large. */
    if (json_text_is_canonical(s, &depth) && depth <= DOC_DEPTH_MAX)
        return str_copy(c->arena, s);
    if (json_read(c->arena, s, &tree, &offset, &what) != OK) {
        refuse(c, PROBLEM_BAD_JSON, str_from(field->name),
               STR_CONCAT(c->arena, STR("is not a JSON document: "), str_from(what),
                          STR(" at byte "), str_from_i64(c->arena, offset)));
        return s;
    }
    /* The core wraps documents into others; what is as deep as JSON goes would break there. */
    if (json_depth(tree) > DOC_DEPTH_MAX) {
        refuse(c, PROBLEM_BAD_JSON, str_from(field->name),
               STR("is nested deeper than documents may be"));
        return s;
    }
    const struct str canonical = json_write(c->arena, tree);
    if (canonical.len > DOC_MAX)
        refuse(c, PROBLEM_BAD_TEXT, str_from(field->name), STR("is longer than a document may be"));
    return canonical;
}

static int cmp_answers(const void *a, const void *b)
{
    const uint64_t x = ((const struct answer *)a)->key, y = ((const struct answer *)b)->key;
    return (x > y) - (x < y);
}

/* Answers are sorted, so that each question finds its own at once. */
void command_sort_answers(struct core *c, struct command *command)
{
    if (command->answer_count == 0)
        return;
    struct answer *sorted =
        arena_copy(c->arena, command->answers, command->answer_count * sizeof *sorted);
    for (uint32_t i = 0; i < command->answer_count; i++)
        if (sorted[i].text.len > TEXT_MAX || !str_is_clean(sorted[i].text))
            refuse(c, PROBLEM_BAD_TEXT, STR("answers"),
                   STR("must be UTF-8 text of bounded length"));
    sort_items(sorted, command->answer_count, sizeof *sorted, cmp_answers, c->arena);
    command->answers = sorted;
}

/* A copy of the command whose documents are canonical. */
static struct command *check_command(struct core *c, const struct command *command)
{
    struct command *checked = arena_copy(c->arena, command, sizeof *command);
    const struct layout *layout = command_layout(command->kind);
    char *payload = command_payload(checked);
    if (!str_is_clean(command->actor) || command->actor.len > NAME_LEN_MAX)
        refuse(c, PROBLEM_BAD_TEXT, STR("actor"), STR("must be a short UTF-8 text"));
    if (!str_is_clean(command->address) || command->address.len > ADDRESS_LEN_MAX)
        refuse(c, PROBLEM_BAD_TEXT, STR("address"), STR("must be an address in numbers"));
    command_sort_answers(c, checked);
    for (uint32_t i = 0; i < layout->count; i++) {
        struct str *s = (void *)(payload + layout->fields[i].offset);
        if (layout->fields[i].kind == FIELD_TEXT)
            check_text(c, &layout->fields[i], *s);
        else if (layout->fields[i].kind == FIELD_DOC)
            *s = check_doc(c, &layout->fields[i], *s);
    }
    return checked;
}

/* What the command names; NULL when it is not there. */
static const struct object *named_object(const struct core *c, struct subject subject)
{
    const uint32_t ix = subject.table < TABLE_OBJECTS && subject.id > 0
                            ? omap_find(&c->tables[subject.table].by_id, (uint64_t)subject.id)
                            : 0;
    return ix ? pool_at(&c->tables[subject.table].pool, ix) : NULL;
}

/* If-Match: nobody changed the object since, not even earlier in this batch. */
static void check_turn(struct core *c, const struct command *command)
{
    const struct object *o = named_object(c, command_subject(command));
    if (o && o->turn == command->if_turn && !(o->row.flags & ROW_DIRTY))
        return;
    refuse(c, PROBLEM_PRECONDITION_FAILED, STR("if_turn"),
           STR("it was changed since, or it is not there; read it again"));
}

/* The run that it was wished for has gone on, or is over. */
static bool parked_run_ended(const struct core *c, const struct command *command)
{
    const struct node_update_command *p = &command->node_update;
    return command->kind == COMMAND_NODE_UPDATE && p->given & GIVEN_NODE_PARKED_RUN &&
           !run_is_parked(c, p->parked_run);
}

/* Somebody wished for it while there was something to wish it for. */
static bool target_is_gone(const struct core *c, const struct command *command)
{
    const struct subject subject = command_subject(command);
    return command->if_turn == IF_THERE && subject.id &&
           (!named_object(c, subject) || parked_run_ended(c, command));
}

static void dispatch(struct core *c, const struct command *command)
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

/* ---- one step: begin, think, keep or take back ---- */

struct step_mark {
    struct undo_mark undo;
    uint32_t dirty, relations, archives, stale_plans;
    struct effects fx;
};

static struct step_mark step_begin(struct core *c)
{
    return (struct step_mark){.undo = undo_begin(&c->undo),
                              .dirty = c->dirty.count,
                              .relations = c->relations.count,
                              .archives = c->archives.count,
                              .stale_plans = plans_stale(c),
                              .fx = *c->fx};
}

static void step_rollback(struct core *c, struct step_mark mark)
{
    undo_rollback(&c->undo, mark.undo);
    c->dirty.count = mark.dirty;
    c->relations.count = mark.relations;
    c->archives.count = mark.archives;
    plans_set_stale(c, mark.stale_plans);
    *c->fx = mark.fx;
    if (c->fx->last)
        c->fx->last->next = NULL;
}

/* What a step remembers of the one around it: wishes of hooks are steps inside a step. */
struct step_frame {
    const struct command *command;
    struct arena *arena;
    struct effects *fx;
    struct outcome *out;
    struct problem *last_problem;
    struct ask *last_ask;
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
                               .last_ask = c->last_ask,
                               .problem_count = c->problem_count,
                               .depth = c->depth,
                               .authority = c->authority};
    c->last_problem = NULL;
    c->last_ask = NULL;
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
    c->last_ask = outer.last_ask;
    c->problem_count = outer.problem_count;
    c->depth = outer.depth;
    c->authority = outer.authority;
}

/* `whole`: what the command is a part of; NULL = it stands alone. */
static bool counts(const struct outcome *out, const struct command *whole)
{
    return out->verdict == VERDICT_DONE || (whole && out->verdict == VERDICT_NEEDS_HOOKS);
}

static void think(struct core *c, const struct command *command, const struct command *whole,
                  bool dry)
{
    const struct step_mark mark = step_begin(c);
    struct command *checked = check_command(c, command);
    c->command = checked;
    if (whole) {
        checked->answers = whole->answers;
        checked->answer_count = whole->answer_count;
    }
    if (checked->if_turn && checked->if_turn != IF_THERE)
        check_turn(c, checked);
    if (authority_check(c, whole != NULL) && !refused(c) && !target_is_gone(c, checked))
        dispatch(c, checked);
    if (!refused(c))
        boot_settle(c);

    struct outcome *out = c->out;
    out->verdict = out->problems ? VERDICT_REFUSED : out->asks ? VERDICT_NEEDS_HOOKS : VERDICT_DONE;
    if (out->verdict != VERDICT_DONE)
        out->id = 0;
    if (counts(out, whole) && !dry)
        undo_keep(&c->undo, mark.undo);
    else
        step_rollback(c, mark);
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
    think(c, command, NULL, false);
    frame_leave(c, outer);
}

void core_step_part(struct core *c, const struct command *part, struct outcome *out)
{
    must(c->undo.depth > 0 && part->answer_count == 0);
    const struct step_frame outer = frame_enter(c, part, c->arena, c->fx, out);
    think(c, part, outer.command, false);
    frame_leave(c, outer);
}

void core_step_inside(struct core *c, const struct command *command, struct outcome *out)
{
    must(c->undo.depth > 0);
    const struct step_frame outer = frame_enter(c, command, c->arena, c->fx, out);
    think(c, command, NULL, false);
    frame_leave(c, outer);
}

bool core_try(struct core *c,
              bool (*attempt)(struct core *c, const struct outbox *row, struct str wishes,
                              struct str *out_text),
              const struct outbox *row, struct str wishes, struct str *out_text)
{
    const struct step_mark mark = step_begin(c);
    const struct outbox copy = *row; /* the row itself may go while the wishes are fulfilled */
    const bool done = attempt(c, &copy, wishes, out_text);
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
    think(c, command, NULL, true);
    frame_leave(c, outer);
}

void core_import_dry_run(struct core *c, const struct str *barclamps, uint32_t count,
                         struct arena *arena, struct outcome *outcomes)
{
    struct command import = {.kind = COMMAND_IMPORT, .actor = STR("rehearsal")};
    struct effects none = {0};
    struct outcome whole;
    must(c->undo.depth == 0);
    const struct step_frame outer = frame_enter(c, &import, arena, &none, &whole);
    const struct step_mark mark = step_begin(c);
    c->step_number++; /* as far as guards "once per step" are concerned */
    for (uint32_t i = 0; i < count; i++) {
        import.import.barclamp = barclamps[i];
        core_step_inside(c, &import, &outcomes[i]);
    }
    step_rollback(c, mark);
    frame_leave(c, outer);
}
