#include "core/data/data.h"
#include "core/network/network_private.h"

/* Feedback of a run that returned wall data (docs/spec/data.md, "Feedback"): the run succeeded, was
 * parked or continues asynchronously. If they are the same as before, only MACs in them are
 * compared again, since their owner may have gone. Wall data is the document that runs
 * return. Values in it that are attribs of nodes are copied to the hint of the node (the document
 * that overrides its discovery data), and the reservations (claimed disks, ports) of all noderoles
 * of the node are merged into it. Then noderoles that use a value that changed are rerun: on the
 * node, and descendants with an attrib link to this noderole.
 *
 * The file owns no rows. Order: the hint is written before the comparison, which reads the merged
 * data of the node. Failure: a value that is nested too deeply is left out. A hint that would be
 * too long is not written, and nothing is rerun because of it; the run itself does not fail. */

static const struct json *feedback_reservations(const struct json *wall)
{
    const struct json *found = json_at(wall, STR("crowbar_wall/reservations"));
    return found && found->kind != JSON_NULL ? found : NULL;
}

/* ---- hint of the node ---- */

struct feedback {
    node_ix node;
    noderole_ix from;
    struct json *hint; /* the hint after the run */
    attrib_ix *copied; /* attribs whose value was copied */
    uint32_t copied_count;
    uint32_t cap;
};

static void feedback_note(struct core *c, struct feedback *f, attrib_ix attrib)
{
    if (f->copied_count == f->cap) {
        const uint32_t cap = f->cap ? f->cap * 2 : 4;
        attrib_ix *copied = arena_array(c->arena, attrib_ix, cap);
        if (f->copied_count)
            memcpy(copied, f->copied, f->copied_count * sizeof *copied);
        f->copied = copied;
        f->cap = cap;
    }
    f->copied[f->copied_count++] = attrib;
}

/* Attribs of nodes that belong to the barclamp of the role. Only values that the wall data contains
 * are copied; a default needs no run. */
static void feedback_copy_attribs(struct core *c, struct feedback *f, const struct json *wall)
{
    const barclamp_ix barclamp = role_at(c, noderole_at(c, f->from)->role)->barclamp;
    int64_t after = 0;
    for (uint32_t ix; (ix = core_next_row(c, TABLE_ATTRIB, after)) != 0;) {
        const struct attrib *attrib = attrib_at(c, (attrib_ix){ix});
        after = attrib->o.id;
        if (attrib->role.v || attrib->barclamp.v != barclamp.v)
            continue;
        const struct str map = text_of(c, attrib->map);
        const struct json *value = map.len ? json_at(wall, map) : NULL;
        if (!value || value->kind == JSON_NULL || json_eq(value, json_at(f->hint, map)))
            continue;
        if (data_depth(map, value) <= JSON_DEPTH_MAX - STAGED_LEVELS &&
            data_put(c->arena, f->hint, map, value))
            feedback_note(c, f, (attrib_ix){ix});
    }
}

/* Reservations of all noderoles of the node are merged, since each wall contains only those of its
 * own run. */
static void feedback_merge_reservations(struct core *c, struct feedback *f, const struct json *wall)
{
    struct json *all = NULL;
    if (!feedback_reservations(wall))
        return;
    const struct vec *v = &node_at(c, f->node)->noderoles;
    for (uint32_t i = 0; i < v->count; i++) {
        const struct noderole *nr = noderole_at(c, (noderole_ix){vec_at(c, v, i)});
        const struct json *found =
            nr->wall ? feedback_reservations(data_object(c->arena, doc_of(c, nr->wall))) : NULL;
        if (found)
            all = all ? json_merge(c->arena, all, found) : json_clone(c->arena, found);
    }
    if (all && data_depth(STR("reservations"), all) <= JSON_DEPTH_MAX - STAGED_LEVELS)
        json_set(f->hint, STR("reservations"), all);
}

static void feedback_write_node(struct core *c, noderole_ix nr, const struct json *wall)
{
    struct feedback f = {.node = noderole_at(c, nr)->node, .from = nr};
    const struct str old = doc_of(c, node_at(c, f.node)->hint);
    f.hint = data_object(c->arena, old);
    feedback_copy_attribs(c, &f, wall);
    feedback_merge_reservations(c, &f, wall);
    const struct str fresh = json_write(c->arena, f.hint);
    if (str_eq(fresh, old) || fresh.len > DOC_MAX)
        return;
    const struct json *before = data_node(c, f.node, c->arena);
    put_doc(c, &node_edit(c, f.node)->hint, fresh);
    /* The result of a run is never refused: a MAC that another node has is left out. */
    nics_follow(c, f.node, STR(""), STR(""));
    /* Rerun the noderoles of the node that use a value that changed. */
    const struct json *after = data_node(c, f.node, c->arena);
    for (uint32_t i = 0; i < f.copied_count; i++)
        if (!json_eq(data_value(c, f.copied[i], before, c->arena),
                     data_value(c, f.copied[i], after, c->arena)))
            data_rerun_wanting(c, f.node, f.copied[i], f.from);
    node_changed(c, f.node);
}

/* ---- linked descendants ---- */

/* The attribs of the noderole whose value differs from that in `before`; *out_count of them. */
static attrib_ix *feedback_changed_attribs(struct core *c, noderole_ix nr,
                                           const struct json *before, uint32_t *out_count)
{
    uint32_t count, changed = 0;
    attrib_ix *attribs = data_attribs_of(c, noderole_at(c, nr)->role, c->arena, &count);
    *out_count = 0;
    if (!count)
        return attribs;
    const struct json *after = data_noderole(c, nr, true, c->arena);
    for (uint32_t i = 0; i < count; i++)
        if (!json_eq(data_value(c, attribs[i], before, c->arena),
                     data_value(c, attribs[i], after, c->arena)))
            attribs[changed++] = attribs[i];
    *out_count = changed;
    return attribs;
}

static bool feedback_is_linked(const struct core *c, noderole_ix child, noderole_ix parent,
                               const attrib_ix *attribs, uint32_t count)
{
    const struct vec *links = &noderole_at(c, child)->links;
    for (uint32_t i = 0; i < links->count; i += 2)
        for (uint32_t k = 0; k < count && vec_at(c, links, i) == parent.v; k++)
            if (vec_at(c, links, i + 1) == attribs[k].v)
                return true;
    return false;
}

void data_rerun_linked(struct core *c, noderole_ix nr, const struct json *before)
{
    uint32_t attrib_count, count, kept = 0;
    const attrib_ix *attribs = feedback_changed_attribs(c, nr, before, &attrib_count);
    if (!attrib_count)
        return;
    noderole_ix *below = graph_descendants(c, nr, c->arena, &count);
    for (uint32_t i = 0; i < count; i++)
        if (feedback_is_linked(c, below[i], nr, attribs, attrib_count))
            below[kept++] = below[i];
    graph_sort_by_cohort(c, below, kept, false);
    for (uint32_t i = 0; i < kept; i++)
        noderole_request_rerun(c, below[i]);
}

void data_after_run(struct core *c, noderole_ix nr, struct str old_wall)
{
    const struct str wall = doc_of(c, noderole_at(c, nr)->wall);
    const bool is_other = !str_eq(wall, old_wall.len ? old_wall : STR("{}"));
    if (noderole_at(c, nr)->wall && is_other)
        feedback_write_node(c, nr, data_object(c->arena, wall));
    /* Walls without this member are not followed: the documents of their nodes need no reading. */
    if (str_has(wall, STR("\"admin_macs\"")))
        nics_follow_repeated(c, noderole_at(c, nr)->node);
    if (is_other)
        data_rerun_linked(c, nr, data_with_wall(c, nr, old_wall, c->arena));
}
