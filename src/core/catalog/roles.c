#include "core/catalog/roles_private.h"

#include "model/jig_class.h"

/* ---- what a role can do here ---- */

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
    if (!jig.v) /* nobody knows what it would be, so it can be pretended like any other */
        return true;
    if (!jig_at(c, jig)->stays_itself)
        return true;
    /* Whoever turns the test jig on wants roles that name it to run as well. */
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

/* What is known of why a jig is not active; often that is nothing. */
static struct str jig_why_not(const struct core *c, jig_ix ix)
{
    if (jig_at(c, ix)->inactive_reason)
        return text_of(c, jig_at(c, ix)->inactive_reason);
    return jig_is_test(c, ix) ? STR("the test jig is off") : STR("");
}

struct str role_why_not(const struct core *c, role_ix r, struct arena *a)
{
    const struct role *role = role_at(c, r);
    struct buf b = buf_in(a);
    buf_put_z(&b, "jig ");
    buf_put_str(&b, text_of(c, role->jig_name));
    const struct str why = role->jig.v ? jig_why_not(c, role->jig) : STR("");
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

static void count_kinds(struct core *c)
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

/* ---- why nobody can bind it ---- */

struct faults {
    const struct core *c;
    const struct role *role;
    struct arena *arena;
    struct problem *first, *last;
};

/* "role NAME", and the pieces. */
static void add_fault(struct faults *f, enum problem_code code, const struct str *pieces,
                      uint32_t count)
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

#define FAULT(f, code, ...)                                                                        \
    add_fault((f), (code), (const struct str[]){__VA_ARGS__},                                      \
              (uint32_t)(sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str)))

static void find_required(struct faults *f, struct str name)
{
    if (!name_find(f->c, TABLE_ROLE, name))
        FAULT(f, PROBLEM_REQUIRE_UNRESOLVED, STR(" requires role "), name,
              STR(", which has not been imported"));
}

/* What it waits for. */
static void find_unresolved(struct faults *f)
{
    const struct core *c = f->c;
    const struct role *role = f->role;
    const struct json *requires = doc_tree(f->arena, text_of(c, role->requires));
    const struct json *wants = doc_tree(f->arena, text_of(c, role->wants));
    for (const struct json *name = requires->first; name; name = name->next)
        find_required(f, name->text);
    const text_h client = role->jig.v ? jig_at(c, role->jig)->client_role_name : 0;
    if (client)
        find_required(f, text_of(c, client));
    for (const struct json *want = wants->first; want; want = want->next) {
        const struct json *name = json_get(want, STR("name"));
        if (name && !name_find(c, TABLE_ATTRIB, name->text))
            FAULT(f, PROBLEM_ATTRIB_UNKNOWN, STR(" wants attrib "), name->text,
                  STR(", which does not exist"));
    }
}

static const struct problem *role_faults(const struct core *c, role_ix r, struct arena *a)
{
    struct faults f = {.c = c, .role = role_at(c, r), .arena = a};
    if (f.role->flags & ROLE_WITHDRAWN)
        FAULT(&f, PROBLEM_WRONG_STATE, STR(" is no longer in barclamp "),
              text_of(c, barclamp_at(c, f.role->barclamp)->name), STR(" and cannot be bound anew"));
    if (f.role->unresolved)
        find_unresolved(&f);
    if (!role_can_run(c, r))
        FAULT(&f, PROBLEM_JIG_INACTIVE, STR(" cannot run: "), role_why_not(c, r, a));
    return f.first;
}

void role_refuse_unusable(struct core *c, role_ix r)
{
    for (const struct problem *p = role_faults(c, r, c->arena); p; p = p->next)
        refuse(c, p->code, p->field, p->text);
}

void role_refuse_withdrawn(struct core *c, role_ix r)
{
    if (!(role_at(c, r)->flags & ROLE_WITHDRAWN))
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
    const struct str why = jig_why_not(c, ix);
    return why.len ? why : STR("it is switched off");
}

/* ---- names into lists ---- */

/* What the texts of one role mean now. */
struct role_refs {
    jig_ix jig;
    uint32_t *parents; /* role_ix by id */
    uint32_t parent_count;
    uint32_t *wanted; /* attrib_ix by document order */
    struct str *at;   /* where to put each */
    uint32_t wanted_count;
    bool unresolved;
};

/* What the pass found out on its way. */
struct resolve_ctx {
    struct core *c;
    struct arena *scratch;
    bool edges;                        /* the graph of roles is another one */
    bool providers;                    /* a role that is bound provides something else */
    role_ix *roles_with_changed_wants; /* roles that want other attribs than before */
    uint32_t rewant_count;
};

static int64_t role_id(const struct core *c, uint32_t r)
{
    return role_at(c, (role_ix){r})->o.id;
}

/* Keeps the list ordered by id, each role once. */
static void parent_add(const struct core *c, struct role_refs *m, uint32_t parent)
{
    const int64_t id = role_id(c, parent);
    uint32_t low = 0, high = m->parent_count;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (role_id(c, m->parents[mid]) < id)
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

static void resolve_required(const struct core *c, struct role_refs *m, struct str name)
{
    const uint32_t parent = name_find(c, TABLE_ROLE, name);
    if (parent)
        parent_add(c, m, parent);
    else
        m->unresolved = true;
}

static void mean_wanted(const struct core *c, struct role_refs *m, const struct json *want)
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
        parent_add(c, m, attrib_at(c, attrib)->role.v);
}

static struct role_refs mean(struct resolve_ctx *p, role_ix r)
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
        resolve_required(c, &m, name->text);
    for (const struct json *want = wants->first; want; want = want->next)
        mean_wanted(c, &m, want);

    /* A client role that uses its own jig is refused as such, not as a role that needs itself. */
    const text_h client = m.jig.v ? jig_at(c, m.jig)->client_role_name : 0;
    if (client && name_find(c, TABLE_ROLE, text_of(c, client)) != r.v)
        resolve_required(c, &m, text_of(c, client));
    return m;
}

/* ---- writing the lists, where they differ ---- */

uint32_t text_hold(struct core *c, struct str text)
{
    bool full = false;
    const uint32_t handle = blob_take(&c->blobs, text, &full);
    if (full)
        refuse(c, PROBLEM_LIMIT_REACHED, STR("text"),
               STR("this installation holds as many distinct texts as it can"));
    return handle;
}

static bool names_are(const struct core *c, const struct vec *v, const struct json *names)
{
    uint32_t i = 0;
    if (v->count != names->count)
        return false;
    for (const struct json *name = names->first; name; name = name->next)
        if (!str_eq(text_of(c, vec_at(c, v, i++)), name->text))
            return false;
    return true;
}

static void drop_names(struct core *c, struct vec *v)
{
    for (uint32_t i = 0; i < v->count; i++)
        if (vec_at(c, v, i))
            blob_drop(&c->blobs, vec_at(c, v, i));
    vec_clear(&c->heap, v);
}

/* The handles of the names in a document. True when they are others than before. */
static bool write_names(struct resolve_ctx *p, role_ix r, size_t offset, doc_h document)
{
    struct core *c = p->c;
    const struct json *names = doc_tree(p->scratch, text_of(c, document));
    if (names_are(c, (const void *)((const char *)role_at(c, r) + offset), names))
        return false;
    struct vec *v = (void *)((char *)role_derive(c, r) + offset);
    struct vec old = *v;
    *v = (struct vec){0};
    for (const struct json *name = names->first; name; name = name->next)
        vec_push(&c->heap, v, text_hold(c, name->text));
    drop_names(c, &old); /* last, so that a name in both lists never loses its last holder */
    return true;
}

static bool wants_are(const struct core *c, const struct vec *v, const struct role_refs *m)
{
    if (v->count != m->wanted_count * 2)
        return false;
    for (uint32_t i = 0; i < m->wanted_count; i++)
        if (vec_at(c, v, i * 2) != m->wanted[i] ||
            !str_eq(text_of(c, vec_at(c, v, i * 2 + 1)), m->at[i]))
            return false;
    return true;
}

static bool write_wants(struct resolve_ctx *p, role_ix r, const struct role_refs *m)
{
    struct core *c = p->c;
    if (wants_are(c, &role_at(c, r)->wanted, m))
        return false;
    struct role *role = role_derive(c, r);
    struct vec old = role->wanted;
    role->wanted = (struct vec){0};
    for (uint32_t i = 0; i < m->wanted_count; i++) {
        vec_push(&c->heap, &role->wanted, m->wanted[i]);
        vec_push(&c->heap, &role->wanted, m->at[i].len ? text_hold(c, m->at[i]) : 0);
    }
    for (uint32_t i = 1; i < old.count; i += 2)
        if (vec_at(c, &old, i))
            blob_drop(&c->blobs, vec_at(c, &old, i));
    vec_clear(&c->heap, &old);
    return true;
}

/* Tells parents that are new or no longer meant; both lists are ordered by id. */
static void tell_parents(struct core *c, role_ix r, const struct vec *old,
                         const struct role_refs *m)
{
    uint32_t i = 0, j = 0;
    while (i < old->count || j < m->parent_count) {
        const int64_t was = i < old->count ? role_id(c, vec_at(c, old, i)) : INT64_MAX;
        const int64_t is = j < m->parent_count ? role_id(c, m->parents[j]) : INT64_MAX;
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

static bool write_parents(struct core *c, role_ix r, const struct role_refs *m)
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
    tell_parents(c, r, &old, m);
    vec_clear(&c->heap, &old);
    return true;
}

static void resolve_one(struct resolve_ctx *p, role_ix r)
{
    struct core *c = p->c;
    const struct arena_mark mark = arena_mark(p->scratch);
    const struct role_refs m = mean(p, r);
    if (role_at(c, r)->jig.v != m.jig.v || role_at(c, r)->unresolved != m.unresolved) {
        struct role *role = role_derive(c, r);
        role->jig = m.jig;
        role->unresolved = m.unresolved;
    }
    if (write_parents(c, r, &m))
        p->edges = true;
    if (write_wants(p, r, &m))
        p->roles_with_changed_wants[p->rewant_count++] = r;
    write_names(p, r, offsetof(struct role, conflicting), role_at(c, r)->conflicts);
    if (write_names(p, r, offsetof(struct role, provided), role_at(c, r)->provides) &&
        role_at(c, r)->deployed.count)
        p->providers = true;
    arena_rewind(p->scratch, mark);
}

/* ---- jigs ---- */

static void derive_jigs(struct core *c)
{
    for (uint32_t ix = core_next_row(c, TABLE_JIG, 0); ix;) {
        const jig_ix jig = {ix};
        const struct jig *j = jig_at(c, jig);
        const struct jig_class *class = jig_class_find(text_of(c, j->class_name));
        const bool noop = class && class->is_noop;
        const bool itself = class && class->stays_itself;
        if (j->is_noop != noop || j->stays_itself != itself) {
            struct jig *row = jig_derive(c, jig);
            row->is_noop = noop;
            row->stays_itself = itself;
        }
        ix = core_next_row(c, TABLE_JIG, j->o.id);
    }
}

static void check_client_role(struct core *c, const struct roles_touched *touched, jig_ix jig)
{
    const struct jig *j = jig_at(c, jig);
    const struct str name = text_of(c, j->client_role_name);
    const role_ix client = {name.len ? name_find(c, TABLE_ROLE, name) : 0};
    if (!client.v)
        return;
    const struct role *role = role_at(c, client);
    const struct str field = role_field(c, touched, client);
    if (!(role->flags & ROLE_IMPLICIT))
        refuse(c, PROBLEM_WRONG_STATE, field,
               STR_CONCAT(c->arena, name, STR(" is the client role of jig "), text_of(c, j->name),
                          STR(" and must be implicit")));
    if (role->jig.v == jig.v)
        refuse(c, PROBLEM_ROLE_CYCLE, field,
               STR_CONCAT(c->arena, name, STR(" is the client role of jig "), text_of(c, j->name),
                          STR(" and must not use it itself: "), name, STR(" -> "), name));
}

static void check_client_roles(struct core *c, const struct roles_touched *touched)
{
    for (uint32_t ix = core_next_row(c, TABLE_JIG, 0); ix;
         ix = core_next_row(c, TABLE_JIG, jig_at(c, (jig_ix){ix})->o.id))
        check_client_role(c, touched, (jig_ix){ix});
}

/* ---- who has to look again ---- */

/* Users of a jig whose client role is one of the touched: it may be the one they waited for, and
 * a wait for a client role is a wait for a required role, so `unresolved` already says so. */
static bool must_look_again(const struct role *role, const struct roles_touched *touched)
{
    return !touched || touched->jigs || role->unresolved || !role->jig.v ||
           (touched->attribs && role->wanted.count);
}

static uint8_t *mark_touched(const struct core *c, const struct roles_touched *touched,
                             struct arena *scratch)
{
    uint8_t *stale = arena_zalloc(scratch, c->tables[TABLE_ROLE].pool.high + 1);
    for (uint32_t i = 0; touched && i < touched->count; i++)
        stale[touched->roles[i].v] = 1;
    return stale;
}

static void resolve_stale(struct resolve_ctx *p, const struct roles_touched *touched)
{
    const struct core *c = p->c;
    const uint8_t *stale = mark_touched(c, touched, p->scratch);
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_id(c, ix)))
        if (stale[ix] || must_look_again(role_at(c, (role_ix){ix}), touched))
            resolve_one(p, (role_ix){ix});
}

/* ---- bound noderoles and their links ---- */

static void relink_role(struct core *c, role_ix r)
{
    for (uint32_t i = 0; i < role_at(c, r)->deployed.count; i++) {
        const deployment_role_ix dr = {vec_at(c, &role_at(c, r)->deployed, i)};
        for (uint32_t k = 0; k < deployment_role_at(c, dr)->noderoles.count; k++)
            links_rebuild(c, (noderole_ix){vec_at(c, &deployment_role_at(c, dr)->noderoles, k)});
    }
}

/* A role that wants something else, or that anybody provides otherwise than before, may have to
 * take its values from another ancestor. */
static void relink(struct resolve_ctx *p)
{
    struct core *c = p->c;
    if (!p->providers) {
        for (uint32_t i = 0; i < p->rewant_count; i++)
            relink_role(c, p->roles_with_changed_wants[i]);
        return;
    }
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_id(c, ix)))
        if (role_at(c, (role_ix){ix})->wanted.count)
            relink_role(c, (role_ix){ix});
}

/* ---- the whole ---- */

static struct resolve_ctx pass_begin(struct core *c, struct arena *scratch)
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
    struct resolve_ctx p = pass_begin(c, &scratch);
    derive_jigs(c);
    resolve_stale(&p, touched);
    if (p.edges)
        role_graph_settle(c, touched, &scratch);
    check_client_roles(c, touched);
    if (!refused(c)) {
        relink(&p);
        count_kinds(c);
        hooks_index(c);
    }
    arena_fini(&scratch);
}

/* Lists of attribs are written where attribs are; only a load has none yet. */
static void own_attribs(struct core *c)
{
    for (uint32_t ix = core_next_row(c, TABLE_ATTRIB, 0); ix;
         ix = core_next_row(c, TABLE_ATTRIB, attrib_at(c, (attrib_ix){ix})->o.id)) {
        const role_ix owner = attrib_at(c, (attrib_ix){ix})->role;
        if (owner.v && !ids_has(c, &role_at(c, owner)->attribs, TABLE_ATTRIB, ix))
            ids_insert(c, &role_derive(c, owner)->attribs, TABLE_ATTRIB, ix);
    }
}

/* After a load: links are durable and were loaded, so nobody is linked again. */
void roles_resolve(struct core *c)
{
    struct arena scratch = {0};
    struct resolve_ctx p = pass_begin(c, &scratch);
    derive_jigs(c);
    own_attribs(c);
    attachments_load(c);
    resolve_stale(&p, NULL);
    role_graph_settle(c, NULL, &scratch);
    count_kinds(c);
    hooks_index(c);
    arena_fini(&scratch);
}
