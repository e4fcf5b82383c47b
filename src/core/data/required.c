#include "core/data/data.h"

/* Checks of the input of a run: every required attrib has a value, and the staged data (the
 * document that the run receives) are not too large. Also the reason of a run that failed. The
 * file owns no state.
 *
 * An attrib is a named value of a role. It is checked if its schema says "required", it is
 * writable and it has no default. Attribs that are not writable are set by the code of the role or
 * by its run, so they have no value before the run.
 *
 * Order. The caller checks attribs before it stages the data, then their size. Inside the first
 * check, the data of the noderole and its deployment role are searched first, and the staged data,
 * which are expensive to build, only if the value is not there.
 *
 * Failure. The two run_fail_if_...() functions put the noderole into ERROR, with the reason, and
 * return true: the caller must not start the run. The required_...() functions change nothing; the
 * plan of a commit uses them to predict the same failures. */

static bool attrib_is_required(const struct core *c, attrib_ix attrib, struct arena *a)
{
    const struct attrib *row = attrib_at(c, attrib);
    if (!row->writable || !row->schema || row->default_value)
        return false;
    return json_is_true(json_get(doc_tree(a, doc_of(c, row->schema)), STR("required")));
}

/* True if the staged data have a value for the attrib: a document of another row that is merged
 * into them may contain a value at the same path. */
static bool attrib_is_staged(const struct core *c, noderole_ix nr, attrib_ix attrib,
                             struct arena *a)
{
    const struct json *value =
        json_at(doc_tree(a, stage_noderole(c, nr, a)), text_of(c, attrib_at(c, attrib)->map));
    return value && value->kind != JSON_NULL;
}

bool required_any(const struct core *c, role_ix role, struct arena *a)
{
    const struct vec *attribs = &role_at(c, role)->attribs;
    const struct arena_mark mark = arena_mark(a);
    bool any = false;
    for (uint32_t i = 0; i < attribs->count && !any; i++)
        any = attrib_is_required(c, (attrib_ix){vec_at(c, attribs, i)}, a);
    arena_rewind(a, mark);
    return any;
}

attrib_ix required_missing(const struct core *c, noderole_ix nr, struct arena *a)
{
    const struct vec *attribs = &role_at(c, noderole_at(c, nr)->role)->attribs;
    const struct arena_mark mark = arena_mark(a);
    const struct json *own = NULL;
    attrib_ix missing = {0};
    if (run_is_instant(c, nr))
        return missing; /* it ends in the step that starts it and receives no data */
    for (uint32_t i = 0; i < attribs->count && !missing.v; i++) {
        const attrib_ix attrib = {vec_at(c, attribs, i)};
        if (!attrib_is_required(c, attrib, a))
            continue;
        if (!own)
            own = data_noderole(c, nr, true, a);
        if (!data_value(c, attrib, own, a) && !attrib_is_staged(c, nr, attrib, a))
            missing = attrib;
    }
    arena_rewind(a, mark);
    return missing;
}

struct str required_missing_text(const struct core *c, noderole_ix nr, attrib_ix attrib,
                                 struct arena *a)
{
    const struct noderole *row = noderole_at(c, nr);
    struct buf b = buf_in(a);
    buf_put_z(&b, "attrib `");
    buf_put_str(&b, text_of(c, attrib_at(c, attrib)->name));
    buf_put_z(&b, "` of role `");
    buf_put_str(&b, text_of(c, role_at(c, row->role)->name));
    buf_put_z(&b, "` is required and has no value; an operator of deployment `");
    buf_put_str(&b, text_of(c, deployment_at(c, row->deployment)->name));
    buf_put_z(&b, "` can set it, for node `");
    buf_put_str(&b, text_of(c, node_at(c, row->node)->name));
    buf_put_z(&b, "` or for the whole deployment, and commit");
    return buf_str(&b);
}

/* ---- checks before a run starts ---- */

/* Each stored document is below its limit, but the staged data are merged from many of them and
 * may exceed STAGED_MAX bytes. */
struct failure required_size_failure(uint32_t size, struct arena *a)
{
    const struct str text =
        STR_CONCAT(a, STR("the staged data of the run has "), str_from_i64(a, size),
                   STR(" bytes; the maximum is "), str_from_i64(a, STAGED_MAX));
    return (struct failure){
        .status = STR("staged data too large"),
        .runlog = text,
        .why = {.code = REASON_DATA_TOO_LARGE, .subject = str_from_i64(a, size), .text = text}};
}

bool run_fail_if_too_large(struct core *c, noderole_ix nr, struct str staged)
{
    if (staged.len <= STAGED_MAX)
        return false;
    const struct failure failure = required_size_failure(staged.len, c->arena);
    noderole_fail(c, nr, &failure);
    return true;
}

struct failure required_missing_failure(const struct core *c, noderole_ix nr, attrib_ix attrib,
                                        struct arena *a)
{
    const struct str text = required_missing_text(c, nr, attrib, a);
    return (struct failure){
        .status = STR("attrib missing"),
        .runlog = text,
        .why = {.code = REASON_ATTRIB_MISSING,
                .subject = STR_CONCAT(a, text_of(c, attrib_at(c, attrib)->name)),
                .text = text}};
}

/* Started without the value, the run would fail later and with a less specific message. */
bool run_fail_if_attrib_missing(struct core *c, noderole_ix nr)
{
    const attrib_ix attrib = required_missing(c, nr, c->arena);
    if (!attrib.v)
        return false;
    const struct failure failure = required_missing_failure(c, nr, attrib, c->arena);
    noderole_fail(c, nr, &failure);
    return true;
}

/* ---- result of a run ---- */

/* Only failures have a reason. A run that was reported as lost without a reason gets
 * REASON_RUN_LOST. */
struct reason run_reason(const struct run_done_command *p)
{
    if (p->result != RESULT_FAILED && p->result != RESULT_LOST)
        return (struct reason){.code = REASON_NONE};
    const bool is_lost = p->result == RESULT_LOST && p->reason == REASON_NONE;
    return reason_truncate(is_lost ? REASON_RUN_LOST : p->reason, p->reason_subject,
                           p->reason_text);
}
