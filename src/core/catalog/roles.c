#include "core/catalog/roles_private.h"

#include "model/jig_class.h"

/* Roles: whether a role can run and be bound, and the resolution of the names in its documents.
 *
 * The documents of barclamps refer to roles, jigs and attribs by name, so that they can be
 * imported in any order. This file resolves the names into derived lists of row indices (jig,
 * parents, wanted attribs, provided and conflicting names) and owns these lists. They are never
 * stored; they are computed again after a load, and after a command for the roles whose names may
 * resolve differently now.
 *
 * Order in roles_resolve_touched(): the flags of jigs and the lists first; then cohorts, which
 * need all parents; then the checks of client roles; last the attrib links and the index of hooks,
 * which read the lists.
 *
 * Failure: a name that does not exist marks the role as `unresolved`: it cannot be bound, and it is
 * resolved again after every later command that calls this file. A cycle or an unsuitable client
 * role refuses the step, which is rolled back; the last part is then skipped. */

/* ---- whether a role can run ---- */

static bool jig_is_test(const struct core *c, jig_ix ix)
{
    const struct jig_class *class = jig_class_find(text_of(c, jig_at(c, ix)->class_name));
    return class && class->is_test;
}

bool role_can_run(const struct core *c, role_ix r)
{
    const jig_ix jig = role_at(c, r)->jig;
    if (jig.v && jig_at(c, jig)->active)
        return true;
    if (!core_settings(c)->test_jig)
        return false;
    if (!jig.v) /* an unknown jig is replaced by the test jig */
        return true;
    if (!jig_at(c, jig)->stays_itself)
        return true;
    /* The setting test_jig also enables roles that name the test jig themselves. */
    return jig_is_test(c, jig);
}

struct str role_jig_name(const struct core *c, role_ix r)
{
    const struct role *role = role_at(c, r);
    const bool itself = role->jig.v && jig_at(c, role->jig)->stays_itself;
    if (core_settings(c)->test_jig && !itself)
        return STR("test");
    return text_of(c, role->jig.v ? jig_at(c, role->jig)->name : role->jig_name);
}

/* Returns the reason why a jig is not active; "" if none is stored. */
static struct str jig_inactive_reason(const struct core *c, jig_ix ix)
{
    if (jig_at(c, ix)->inactive_reason)
        return text_of(c, jig_at(c, ix)->inactive_reason);
    return jig_is_test(c, ix) ? STR("the test jig is off") : STR("");
}

struct str role_not_runnable_reason(const struct core *c, role_ix r, struct arena *a)
{
    const struct role *role = role_at(c, r);
    struct buf b = buf_in(a);
    buf_put_z(&b, "jig ");
    buf_put_str(&b, text_of(c, role->jig_name));
    const struct str why = role->jig.v ? jig_inactive_reason(c, role->jig) : STR("");
    buf_put_z(&b, role->jig.v ? " is not active" : " is not known here");
    if (why.len)
        buf_put_z(&b, jig_at(c, role->jig)->inactive_reason ? ": " : " because ");
    buf_put_str(&b, why);
    return buf_str(&b);
}

bool role_is_noop(const struct core *c, role_ix r)
{
    const jig_ix jig = role_at(c, r)->jig;
    return jig.v && jig_at(c, jig)->is_noop;
}

bool roles_have_provides(const struct core *c)
{
    return c->vars.provider_count != 0;
}

static void roles_count_kinds(struct core *c)
{
    const struct pool *roles = &c->tables[TABLE_ROLE].pool;
    struct vars *vars = vars_edit(c);
    vars->provider_count = vars->server_count = 0;
    for (uint32_t ix = pool_next(roles, 0); ix; ix = pool_next(roles, ix)) {
        const struct role *role = role_at(c, (role_ix){ix});
        vars->provider_count += role->provided.count != 0;
        vars->server_count += (role->flags & ROLE_SERVER) != 0;
    }
}

/* ---- why a role cannot be bound ---- */

struct role_faults_ctx {
    const struct core *c;
    const struct role *role;
    struct arena *arena;
    struct problem *first, *last;
};

/* Appends a problem with the text "role NAME" followed by the pieces. */
static void role_add_fault(struct role_faults_ctx *f, enum problem_code code,
                           const struct str *pieces, uint32_t count)
{
    struct buf b = buf_in(f->arena);
    buf_put_z(&b, "role ");
    buf_put_str(&b, text_of(f->c, f->role->name));
    for (uint32_t i = 0; i < count; i++)
        buf_put_str(&b, pieces[i]);
    struct problem *p = arena_new(f->arena, struct problem);
    *p = (struct problem){.code = code, .field = STR("role_id"), .text = buf_str(&b)};
    *(f->last ? &f->last->next : &f->first) = p;
    f->last = p;
}

#define ROLE_FAULT(f, code, ...)                                                                   \
    role_add_fault((f), (code), (const struct str[]){__VA_ARGS__},                                 \
                   (uint32_t)(sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str)))

static void role_find_missing_required(struct role_faults_ctx *f, struct str name)
{
    if (!name_find(f->c, TABLE_ROLE, name))
        ROLE_FAULT(f, PROBLEM_REQUIRE_UNRESOLVED, STR(" requires role "), name,
                   STR(", which has not been imported"));
}

/* Adds a problem for each role and attrib that the role refers to and that does not exist. */
static void role_find_missing_names(struct role_faults_ctx *f)
{
    const struct core *c = f->c;
    const struct role *role = f->role;
    const struct json *requires = doc_tree(f->arena, text_of(c, role->requires));
    const struct json *wants = doc_tree(f->arena, text_of(c, role->wants));
    for (const struct json *name = requires->first; name; name = name->next)
        role_find_missing_required(f, name->text);
    const text_h client = role->jig.v ? jig_at(c, role->jig)->client_role_name : 0;
    if (client)
        role_find_missing_required(f, text_of(c, client));
    for (const struct json *want = wants->first; want; want = want->next) {
        const struct json *name = json_get(want, STR("name"));
        if (name && !name_find(c, TABLE_ATTRIB, name->text))
            ROLE_FAULT(f, PROBLEM_ATTRIB_UNKNOWN, STR(" wants attrib "), name->text,
                       STR(", which does not exist"));
    }
}

static const struct problem *role_faults(const struct core *c, role_ix r, struct arena *a)
{
    struct role_faults_ctx f = {.c = c, .role = role_at(c, r), .arena = a};
    if (f.role->flags & ROLE_WITHDRAWN)
        ROLE_FAULT(&f, PROBLEM_WRONG_STATE, STR(" is no longer in barclamp "),
                   text_of(c, barclamp_at(c, f.role->barclamp)->name),
                   STR(" and cannot be bound anew"));
    const network_ix w = network_by_id(c, f.role->network_id);
    if (w.v && network_at(c, w)->deleting)
        ROLE_FAULT(&f, PROBLEM_BEING_DELETED, STR(" is made for network "),
                   text_of(c, network_at(c, w)->name), STR(", which is being deleted"));
    if (f.role->unresolved)
        role_find_missing_names(&f);
    if (!role_can_run(c, r))
        ROLE_FAULT(&f, PROBLEM_JIG_INACTIVE, STR(" cannot run: "),
                   role_not_runnable_reason(c, r, a));
    return f.first;
}

void role_refuse_unusable(struct core *c, role_ix r)
{
    for (const struct problem *p = role_faults(c, r, c->arena); p; p = p->next)
        refuse(c, p->code, p->field, p->text);
}

void role_refuse_withdrawn(struct core *c, role_ix r)
{
    const network_ix w = network_by_id(c, role_at(c, r)->network_id);
    if (!(role_at(c, r)->flags & ROLE_WITHDRAWN) && !(w.v && network_at(c, w)->deleting))
        return;
    const struct problem *first = role_faults(c, r, c->arena);
    refuse(c, first->code, first->field, first->text);
}

struct str core_role_unusable(const struct core *c, int64_t role_id, struct arena *a)
{
    const role_ix r = role_by_id(c, role_id);
    struct buf b = buf_in(a);
    for (const struct problem *p = r.v ? role_faults(c, r, a) : NULL; p; p = p->next) {
        buf_put_z(&b, b.len ? "; " : "");
        buf_put_str(&b, p->text);
    }
    return buf_str(&b);
}

struct str core_jig_inactive(const struct core *c, int64_t jig_id)
{
    const jig_ix ix = jig_by_id(c, jig_id);
    if (!ix.v || jig_at(c, ix)->active || (jig_is_test(c, ix) && core_settings(c)->test_jig))
        return STR("");
    const struct str why = jig_inactive_reason(c, ix);
    return why.len ? why : STR("it is switched off");
}

/* ---- resolution of names ---- */

/* The references of one role, resolved. */

struct role_refs {
    jig_ix jig;
    uint32_t *parents; /* role_ix, ordered by id */
    uint32_t parent_count;
    uint32_t *wanted; /* attrib_ix, in the order of the document */
    struct str *at;   /* path at which each value is stored */
    uint32_t wanted_count;
    bool unresolved;
};

/* State of one pass over the roles, and what it changed. */
struct resolve_ctx {
    struct core *c;
    struct arena *scratch;
    bool edges;                        /* an edge of the role graph changed */
    bool providers;                    /* a bound role provides other roles than before */
    role_ix *roles_with_changed_wants; /* roles whose wanted attribs changed */
    uint32_t changed_wants_count;
};

static int64_t role_id_of(const struct core *c, uint32_t r)
{
    return role_at(c, (role_ix){r})->o.id;
}

/* Inserts into the list that is ordered by id; a role that is in the list is not added again. */
static void refs_add_parent(const struct core *c, struct role_refs *m, uint32_t parent)
{
    const int64_t id = role_id_of(c, parent);
    uint32_t low = 0, high = m->parent_count;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (role_id_of(c, m->parents[mid]) < id)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < m->parent_count && m->parents[low] == parent)
        return;
    memmove(m->parents + low + 1, m->parents + low, (m->parent_count - low) * sizeof *m->parents);
    m->parents[low] = parent;
    m->parent_count++;
}

static void refs_add_required(const struct core *c, struct role_refs *m, struct str name)
{
    const uint32_t parent = name_find(c, TABLE_ROLE, name);
    if (parent)
        refs_add_parent(c, m, parent);
    else
        m->unresolved = true;
}

static void refs_add_wanted(const struct core *c, struct role_refs *m, const struct json *want)
{
    const struct json *name = json_get(want, STR("name"));
    const struct json *at = json_get(want, STR("at"));
    const attrib_ix attrib = {name ? name_find(c, TABLE_ATTRIB, name->text) : 0};
    if (!attrib.v) {
        m->unresolved = true;
        return;
    }
    m->wanted[m->wanted_count] = attrib.v;
    m->at[m->wanted_count++] = at ? at->text : STR("");
    if (attrib_at(c, attrib)->role.v)
        refs_add_parent(c, m, attrib_at(c, attrib)->role.v);
}

static struct role_refs refs_resolve(struct resolve_ctx *p, role_ix r)
{
    const struct core *c = p->c;
    const struct role *role = role_at(c, r);
    const struct json *requires = doc_tree(p->scratch, text_of(c, role->requires));
    const struct json *wants = doc_tree(p->scratch, text_of(c, role->wants));
    struct role_refs m = {
        .jig = {name_find(c, TABLE_JIG, text_of(c, role->jig_name))},
        .parents = arena_array(p->scratch, uint32_t, requires->count + wants->count + 1),
        .wanted = arena_array(p->scratch, uint32_t, wants->count),
        .at = arena_array(p->scratch, struct str, wants->count),
    };
    for (const struct json *name = requires->first; name; name = name->next)
        refs_add_required(c, &m, name->text);
    for (const struct json *want = wants->first; want; want = want->next)
        refs_add_wanted(c, &m, want);

    /* A client role that uses its own jig is refused by jigs_check_client_roles() with a specific
     * message, not as a role that requires itself. */
    const text_h client = m.jig.v ? jig_at(c, m.jig)->client_role_name : 0;
    if (client && name_find(c, TABLE_ROLE, text_of(c, client)) != r.v)
        refs_add_required(c, &m, text_of(c, client));
    return m;
}

/* ---- update of the derived lists ---- */

uint32_t text_add_reference(struct core *c, struct str text)
{
    bool full = false;
    const uint32_t handle = blob_take(&c->blobs, text, &full);
    if (full)
        refuse(c, PROBLEM_LIMIT_REACHED, STR("text"),
               STR("the limit of distinct strings of this installation is reached"));
    return handle;
}

static bool role_names_eq(const struct core *c, const struct vec *v, const struct json *names)
{
    uint32_t i = 0;
    if (v->count != names->count)
        return false;
    for (const struct json *name = names->first; name; name = name->next)
        if (!str_eq(text_of(c, vec_at(c, v, i++)), name->text))
            return false;
    return true;
}

/* Stores the handles of the names in a document. Returns true if they changed. */
static bool role_write_names(struct resolve_ctx *p, role_ix r, size_t offset, doc_h document)
{
    struct core *c = p->c;
    const struct json *names = doc_tree(p->scratch, text_of(c, document));
    if (role_names_eq(c, (const void *)((const char *)role_at(c, r) + offset), names))
        return false;
    struct vec *v = (void *)((char *)role_derive(c, r) + offset);
    struct vec old = *v;
    *v = (struct vec){0};
    for (const struct json *name = names->first; name; name = name->next)
        vec_push(&c->heap, v, text_add_reference(c, name->text));
    /* After the new list was built, so that a name in both lists always has a reference. */
    for (uint32_t i = 0; i < old.count; i++)
        if (vec_at(c, &old, i))
            blob_drop(&c->blobs, vec_at(c, &old, i));
    vec_clear(&c->heap, &old);
    return true;
}

static bool role_wants_eq(const struct core *c, const struct vec *v, const struct role_refs *m)
{
    if (v->count != m->wanted_count * 2)
        return false;
    for (uint32_t i = 0; i < m->wanted_count; i++)
        if (vec_at(c, v, i * 2) != m->wanted[i] ||
            !str_eq(text_of(c, vec_at(c, v, i * 2 + 1)), m->at[i]))
            return false;
    return true;
}

static bool role_write_wants(struct resolve_ctx *p, role_ix r, const struct role_refs *m)
{
    struct core *c = p->c;
    if (role_wants_eq(c, &role_at(c, r)->wanted, m))
        return false;
    struct role *role = role_derive(c, r);
    struct vec old = role->wanted;
    role->wanted = (struct vec){0};
    for (uint32_t i = 0; i < m->wanted_count; i++) {
        vec_push(&c->heap, &role->wanted, m->wanted[i]);
        vec_push(&c->heap, &role->wanted, m->at[i].len ? text_add_reference(c, m->at[i]) : 0);
    }
    for (uint32_t i = 1; i < old.count; i += 2)
        if (vec_at(c, &old, i))
            blob_drop(&c->blobs, vec_at(c, &old, i));
    vec_clear(&c->heap, &old);
    return true;
}

/* Updates the children of parents that were added or removed; both lists are ordered by id. */
static void role_update_children(struct core *c, role_ix r, const struct vec *old,
                                 const struct role_refs *m)
{
    uint32_t i = 0, j = 0;
    while (i < old->count || j < m->parent_count) {
        const int64_t was = i < old->count ? role_id_of(c, vec_at(c, old, i)) : INT64_MAX;
        const int64_t is = j < m->parent_count ? role_id_of(c, m->parents[j]) : INT64_MAX;
        if (was < is) {
            const role_ix parent = {vec_at(c, old, i)};
            ids_remove(c, &role_derive(c, parent)->children, TABLE_ROLE, r.v);
        } else if (is < was) {
            const role_ix parent = {m->parents[j]};
            ids_insert(c, &role_derive(c, parent)->children, TABLE_ROLE, r.v);
        }
        i += was <= is;
        j += is <= was;
    }
}

static bool role_write_parents(struct core *c, role_ix r, const struct role_refs *m)
{
    const struct vec *now = &role_at(c, r)->parents;
    if (now->count == m->parent_count &&
        (now->count == 0 ||
         memcmp(vec_items(&c->heap, now), m->parents, now->count * sizeof *m->parents) == 0))
        return false;
    struct role *role = role_derive(c, r);
    struct vec old = role->parents;
    role->parents = (struct vec){0};
    for (uint32_t i = 0; i < m->parent_count; i++)
        vec_push(&c->heap, &role->parents, m->parents[i]);
    role_update_children(c, r, &old, m);
    vec_clear(&c->heap, &old);
    return true;
}

static void role_resolve_one(struct resolve_ctx *p, role_ix r)
{
    struct core *c = p->c;
    const struct arena_mark mark = arena_mark(p->scratch);
    const struct role_refs m = refs_resolve(p, r);
    if (role_at(c, r)->jig.v != m.jig.v || role_at(c, r)->unresolved != m.unresolved) {
        struct role *role = role_derive(c, r);
        role->jig = m.jig;
        role->unresolved = m.unresolved;
    }
    if (role_write_parents(c, r, &m))
        p->edges = true;
    if (role_write_wants(p, r, &m))
        p->roles_with_changed_wants[p->changed_wants_count++] = r;
    role_write_names(p, r, offsetof(struct role, conflicting), role_at(c, r)->conflicts);
    if (role_write_names(p, r, offsetof(struct role, provided), role_at(c, r)->provides) &&
        role_at(c, r)->deployed.count)
        p->providers = true;
    arena_rewind(p->scratch, mark);
}

/* ---- jigs ---- */

static void jigs_derive_flags(struct core *c)
{
    for (uint32_t ix = core_next_row(c, TABLE_JIG, 0); ix;) {
        const jig_ix jig = {ix};
        const struct jig *j = jig_at(c, jig);
        const struct jig_class *class = jig_class_find(text_of(c, j->class_name));
        const bool noop = class && class->is_noop;
        const bool native = class && class->is_native;
        const bool itself = class && class->stays_itself;
        if (j->is_noop != noop || j->is_native != native || j->stays_itself != itself) {
            struct jig *row = jig_derive(c, jig);
            row->is_noop = noop;
            row->is_native = native;
            row->stays_itself = itself;
        }
        ix = core_next_row(c, TABLE_JIG, j->o.id);
    }
}

static void jigs_check_client_roles(struct core *c, const struct roles_touched *touched)
{
    for (uint32_t ix = core_next_row(c, TABLE_JIG, 0); ix;
         ix = core_next_row(c, TABLE_JIG, jig_at(c, (jig_ix){ix})->o.id)) {
        const struct jig *j = jig_at(c, (jig_ix){ix});
        const struct str name = text_of(c, j->client_role_name);
        const role_ix client = {name.len ? name_find(c, TABLE_ROLE, name) : 0};
        if (!client.v)
            continue;
        const struct role *role = role_at(c, client);
        const struct str field = role_problem_field(c, touched, client);
        if (!(role->flags & ROLE_IMPLICIT))
            refuse(c, PROBLEM_WRONG_STATE, field,
                   STR_CONCAT(c->arena, name, STR(" is the client role of jig "),
                              text_of(c, j->name), STR(" and must be implicit")));
        if (role->jig.v == ix)
            refuse(c, PROBLEM_ROLE_CYCLE, field,
                   STR_CONCAT(c->arena, name, STR(" is the client role of jig "),
                              text_of(c, j->name), STR(" and must not use it itself: "), name,
                              STR(" -> "), name));
    }
}

/* ---- roles to resolve again ---- */

/* A role is resolved again if it was touched, or if one of its names may resolve differently now.
 * Users of a jig whose client role was imported need no rule of their own: a missing client role
 * counts as a missing required role, so `unresolved` is set. */
static void roles_resolve_stale(struct resolve_ctx *p, const struct roles_touched *touched)
{
    const struct core *c = p->c;
    uint8_t *is_touched = arena_zalloc(p->scratch, c->tables[TABLE_ROLE].pool.high + 1);
    for (uint32_t i = 0; touched && i < touched->count; i++)
        is_touched[touched->roles[i].v] = 1;
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_id_of(c, ix))) {
        const struct role *role = role_at(c, (role_ix){ix});
        if (is_touched[ix] || !touched || touched->jigs || role->unresolved || !role->jig.v ||
            (touched->attribs && role->wanted.count))
            role_resolve_one(p, (role_ix){ix});
    }
}

/* ---- attrib links of bound noderoles ---- */

static void role_rebuild_links(struct core *c, role_ix r)
{
    for (uint32_t i = 0; i < role_at(c, r)->deployed.count; i++) {
        const deployment_role_ix dr = {vec_at(c, &role_at(c, r)->deployed, i)};
        for (uint32_t k = 0; k < deployment_role_at(c, dr)->noderoles.count; k++)
            links_rebuild(c, (noderole_ix){vec_at(c, &deployment_role_at(c, dr)->noderoles, k)});
    }
}

/* A role whose wanted attribs changed may have to take its values from other ancestors. If a bound
 * role provides other roles than before, this holds for every role with wanted attribs. */
static void roles_rebuild_links(struct resolve_ctx *p)
{
    struct core *c = p->c;
    if (!p->providers) {
        for (uint32_t i = 0; i < p->changed_wants_count; i++)
            role_rebuild_links(c, p->roles_with_changed_wants[i]);
        return;
    }
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_id_of(c, ix)))
        if (role_at(c, (role_ix){ix})->wanted.count)
            role_rebuild_links(c, (role_ix){ix});
}

/* ---- entry points ---- */

static struct resolve_ctx resolve_ctx_init(struct core *c, struct arena *scratch)
{
    return (struct resolve_ctx){
        .c = c,
        .scratch = scratch,
        .roles_with_changed_wants = arena_array(scratch, role_ix, c->tables[TABLE_ROLE].pool.live),
    };
}

void roles_resolve_touched(struct core *c, const struct roles_touched *touched)
{
    struct arena scratch = {0};
    struct resolve_ctx p = resolve_ctx_init(c, &scratch);
    jigs_derive_flags(c);
    roles_resolve_stale(&p, touched);
    if (p.edges)
        role_graph_update(c, touched, &scratch);
    jigs_check_client_roles(c, touched);
    if (!refused(c)) {
        roles_rebuild_links(&p);
        roles_count_kinds(c);
        hooks_index(c);
    }
    arena_fini(&scratch);
}

/* Commands maintain the attrib lists of roles; only after a load they are missing. */
static void roles_list_attribs(struct core *c)
{
    for (uint32_t ix = core_next_row(c, TABLE_ATTRIB, 0); ix;
         ix = core_next_row(c, TABLE_ATTRIB, attrib_at(c, (attrib_ix){ix})->o.id)) {
        const role_ix owner = attrib_at(c, (attrib_ix){ix})->role;
        if (owner.v && !ids_has(c, &role_at(c, owner)->attribs, TABLE_ATTRIB, ix))
            ids_insert(c, &role_derive(c, owner)->attribs, TABLE_ATTRIB, ix);
    }
}

/* Used after a load. Attrib links are stored and were loaded, so no noderole is linked again. */
void roles_resolve(struct core *c)
{
    struct arena scratch = {0};
    struct resolve_ctx p = resolve_ctx_init(c, &scratch);
    jigs_derive_flags(c);
    roles_list_attribs(c);
    attachments_load(c);
    roles_resolve_stale(&p, NULL);
    role_graph_update(c, NULL, &scratch);
    roles_count_kinds(c);
    hooks_index(c);
    arena_fini(&scratch);
}
