#include "core/data/data.h"

/* Attrib links: which ancestor supplies an attrib that a role wants (docs/spec/data.md, Attrib
 * links). This file owns noderole.links; attribs.c removes the links of an attrib that is deleted.
 *
 * A link is a stored relation (parent, child, attrib). Links are stored for two reasons: finding
 * them requires a walk over all ancestors, and when new data of a parent arrive, its links name
 * the children that have to run again. Order: links_rebuild() must be called whenever the
 * ancestors of a noderole have changed; it records only the differences, so an unchanged noderole
 * is not written.
 *
 * Nothing here fails: an attrib that no ancestor supplies has no link, and no value of it is staged
 * for the run. */

struct link {
    noderole_ix parent;
    attrib_ix attrib;
};

struct links {
    struct link *items; /* by attrib id */
    uint32_t count;
};

static int64_t links_attrib_id(const struct core *c, attrib_ix attrib)
{
    return attrib_at(c, attrib)->o.id;
}

/* The attribs of other roles that this role wants, sorted by id, with parents still unset. A role
 * wants each attrib once; import guarantees that. */
static struct links links_wanted_by(struct core *c, role_ix role)
{
    const struct vec *wanted = &role_at(c, role)->wanted;
    struct links l = {0};
    for (uint32_t i = 0; i < wanted->count; i += 2) {
        const attrib_ix attrib = {vec_at(c, wanted, i)};
        if (!attrib_at(c, attrib)->role.v)
            continue;
        if (!l.items)
            l.items = arena_array(c->arena, struct link, wanted->count / 2);
        uint32_t at = l.count;
        while (at && links_attrib_id(c, l.items[at - 1].attrib) > links_attrib_id(c, attrib))
            at--;
        memmove(l.items + at + 1, l.items + at, (l.count - at) * sizeof *l.items);
        l.items[at] = (struct link){.attrib = attrib};
        l.count++;
    }
    return l;
}

/* True if `nr` is a better source of the attribs of `owner` than `best`: the role itself before one
 * that provides it, then the higher cohort, then the lower id. */
static bool links_is_better_source(const struct core *c, role_ix owner, noderole_ix nr,
                                   noderole_ix best)
{
    if (!best.v)
        return true;
    const struct noderole *x = noderole_at(c, nr), *y = noderole_at(c, best);
    const bool x_exact = x->role.v == owner.v, y_exact = y->role.v == owner.v;
    if (x_exact != y_exact)
        return x_exact;
    return x->cohort != y->cohort ? x->cohort > y->cohort : x->o.id < y->o.id;
}

static void links_offer_source(const struct core *c, struct links *l, noderole_ix ancestor)
{
    const role_ix role = noderole_at(c, ancestor)->role;
    if (!role_at(c, role)->attribs.count && !role_at(c, role)->provided.count)
        return;
    for (uint32_t i = 0; i < l->count; i++) {
        const role_ix owner = attrib_at(c, l->items[i].attrib)->role;
        if ((role.v == owner.v || role_provides(c, role, owner)) &&
            links_is_better_source(c, owner, ancestor, l->items[i].parent))
            l->items[i].parent = ancestor;
    }
}

static struct links links_find(struct core *c, noderole_ix nr)
{
    struct links l = links_wanted_by(c, noderole_at(c, nr)->role);
    if (!l.count)
        return l;
    uint32_t count, kept = 0;
    const noderole_ix *above = graph_ancestors(c, nr, c->arena, &count);
    for (uint32_t i = 0; i < count; i++)
        links_offer_source(c, &l, above[i]);
    for (uint32_t i = 0; i < l.count; i++)
        if (l.items[i].parent.v)
            l.items[kept++] = l.items[i];
    l.count = kept;
    return l;
}

static bool links_contain(const struct links *l, struct link link)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (l->items[i].parent.v == link.parent.v && l->items[i].attrib.v == link.attrib.v)
            return true;
    return false;
}

static void links_record_change(struct core *c, bool gone, struct link link, noderole_ix child)
{
    relation_note(c, TABLE_LINK, gone, noderole_at(c, link.parent)->o.id,
                  noderole_at(c, child)->o.id, links_attrib_id(c, link.attrib));
}

static struct links links_of(struct core *c, noderole_ix nr)
{
    const struct vec *v = &noderole_at(c, nr)->links;
    struct links l = {.count = v->count / 2};
    if (l.count)
        l.items = arena_array(c->arena, struct link, l.count);
    for (uint32_t i = 0; i < l.count; i++)
        l.items[i] = (struct link){{vec_at(c, v, 2 * i)}, {vec_at(c, v, 2 * i + 1)}};
    return l;
}

static void links_replace(struct core *c, noderole_ix nr, const struct links *fresh)
{
    const struct links old = links_of(c, nr);
    bool differs = false;
    for (uint32_t i = 0; i < old.count; i++)
        if (!links_contain(fresh, old.items[i])) {
            links_record_change(c, true, old.items[i], nr);
            differs = true;
        }
    for (uint32_t i = 0; i < fresh->count; i++)
        if (!links_contain(&old, fresh->items[i])) {
            links_record_change(c, false, fresh->items[i], nr);
            differs = true;
        }
    if (!differs)
        return;
    struct noderole *row = noderole_derive(c, nr);
    vec_clear(&c->heap, &row->links);
    for (uint32_t i = 0; i < fresh->count; i++) {
        vec_push(&c->heap, &row->links, fresh->items[i].parent.v);
        vec_push(&c->heap, &row->links, fresh->items[i].attrib.v);
    }
}

void links_rebuild(struct core *c, noderole_ix nr)
{
    const struct noderole *row = noderole_at(c, nr);
    if (!row->links.count && !role_at(c, row->role)->wanted.count)
        return;
    const struct links fresh = links_find(c, nr);
    links_replace(c, nr, &fresh);
}

void links_clear(struct core *c, noderole_ix nr)
{
    const struct links none = {0};
    if (noderole_at(c, nr)->links.count)
        links_replace(c, nr, &none);
}
