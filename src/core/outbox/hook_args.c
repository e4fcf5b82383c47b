#include "core/data/data.h"

#include "base/containers/sort.h"

/* What the code of a role is told about the thing it is called for: a copy in JSON, as the thing is
 * when the call is made. Written as text, key by key in the order of canonical JSON, because the
 * documents inside may be as deep as JSON goes. */

enum {
    NODEROLES_TOLD_MAX = 100, /* of the role, beside the one it is about     */
    LEVELS_ABOVE = 4,         /* of the facts, around a document inside them */
};

struct writer {
    const struct core *c;
    struct arena *arena;
    struct buf b;
    struct str last; /* key, to see that they come in order */
};

/* ---- pieces ---- */

static void begin(struct writer *w)
{
    buf_put_c(&w->b, '{');
    w->last = STR("");
}

static void end(struct writer *w, const char *key_of_this)
{
    buf_put_c(&w->b, '}');
    w->last = str_from(key_of_this);
}

static void key(struct writer *w, const char *name)
{
    const struct str k = str_from(name);
    must(str_cmp(w->last, k) < 0);
    if (w->last.len)
        buf_put_c(&w->b, ',');
    json_write_string(&w->b, k);
    buf_put_c(&w->b, ':');
    w->last = k;
}

static void put_text_at(struct writer *w, const char *name, struct str text)
{
    key(w, name);
    json_write_string(&w->b, text);
}

static void put_number(struct writer *w, const char *name, int64_t value)
{
    key(w, name);
    buf_put_i64(&w->b, value);
}

static void put_bool(struct writer *w, const char *name, bool value)
{
    key(w, name);
    buf_put_z(&w->b, value ? "true" : "false");
}

/* What lies too deep to be read again inside the facts is not told. */
static void put_tree(struct writer *w, const char *name, const struct json *tree)
{
    key(w, name);
    if (json_depth(tree) <= JSON_DEPTH_MAX - LEVELS_ABOVE)
        json_write_to(&w->b, tree);
    else
        buf_put_z(&w->b, "{}");
}

static void put_document(struct writer *w, const char *name, struct str doc)
{
    key(w, name);
    if (json_text_depth(doc) <= JSON_DEPTH_MAX - LEVELS_ABOVE)
        buf_put_str(&w->b, doc);
    else
        buf_put_z(&w->b, "{}");
}

/* A stored document, which is canonical; an empty one reads as `empty`. */
static void put_stored(struct writer *w, const char *name, doc_h doc, const char *empty)
{
    put_document(w, name, doc ? doc_of(w->c, doc) : str_from(empty));
}

/* What is known of a node: as data_node(), but both documents can be long and are only copied. */
static void put_node_data(struct writer *w, const struct node *node)
{
    const struct str found = doc_of(w->c, node->discovery);
    const struct str hint = doc_of(w->c, node->hint);
    put_document(w, "data",
                 json_text_put(w->arena, found, hint.at[0] == '{' ? hint : STR("{}"), false));
}

/* ---- nodes ---- */

/* Which roles it has, and in what state; a role also stands for those it provides. */
static struct json *roles_of(const struct writer *w, node_ix n)
{
    struct json *roles = json_make(w->arena, JSON_OBJECT);
    const struct vec *v = &node_at(w->c, n)->noderoles;
    for (uint32_t i = 0; i < v->count; i++) {
        const struct noderole *nr = noderole_at(w->c, (noderole_ix){vec_at(w->c, v, i)});
        const struct role *role = role_at(w->c, nr->role);
        const struct str state = str_from(noderole_state_name(nr->state));
        json_set(roles, text_of(w->c, role->name), json_make_string(w->arena, state));
        for (uint32_t k = 0; k < role->provided.count; k++)
            json_set(roles, text_of(w->c, vec_at(w->c, &role->provided, k)),
                     json_make_string(w->arena, state));
    }
    return roles;
}

static void put_node(struct writer *w, node_ix n, bool with_roles)
{
    const struct node *node = node_at(w->c, n);
    begin(w);
    put_bool(w, "admin", node->admin);
    put_bool(w, "alive", node->alive);
    put_bool(w, "available", node->available);
    put_number(w, "boot_generation", node->boot_generation);
    put_bool(w, "boot_served", boot_is_served(w->c, n, w->arena));
    put_text_at(w, "bootenv", text_of(w->c, node->bootenv));
    put_node_data(w, node);
    put_text_at(w, "deployment", text_of(w->c, deployment_at(w->c, node->deployment)->name));
    put_number(w, "deployment_id", deployment_at(w->c, node->deployment)->o.id);
    put_text_at(w, "description", text_of(w->c, node->description));
    put_stored(w, "hint", node->hint, "{}");
    put_number(w, "id", node->o.id);
    put_text_at(w, "name", text_of(w->c, node->name));
    put_stored(w, "quirks", node->quirks, "[]");
    if (with_roles)
        put_tree(w, "roles", roles_of(w, n));
    put_text_at(w, "status", text_of(w->c, node->status));
    put_bool(w, "system", node->system);
    buf_put_c(&w->b, '}');
}

static void put_gone_node(struct writer *w, const struct outbox_record *row)
{
    begin(w);
    put_bool(w, "gone", true);
    put_number(w, "id", row->object_id);
    put_text_at(w, "name", row->detail);
    /* Told late, perhaps again: whoever cleans up by name must not clean up after another. */
    put_bool(w, "taken", name_find(w->c, TABLE_NODE, row->detail) != 0);
    buf_put_c(&w->b, '}');
}

/* ---- noderoles ---- */

static void put_run(struct writer *w, run_ix ix)
{
    static const char *const states[] = {[RUN_QUEUED] = "queued",
                                         [RUN_RUNNING] = "running",
                                         [RUN_PARKED] = "parked",
                                         [RUN_STOPPING] = "stopping"};
    const struct run *run = run_at(w->c, ix);
    key(w, "run");
    begin(w);
    put_number(w, "attempt", run->attempt);
    put_number(w, "id", run->o.id);
    put_text_at(w, "state", str_from(states[run->state]));
    end(w, "run");
}

/* Enough to tell noderoles apart, and to wish something for one. */
static void put_noderole_names(struct writer *w, const struct noderole *nr)
{
    put_number(w, "id", nr->o.id);
    put_text_at(w, "node", text_of(w->c, node_at(w->c, nr->node)->name));
    put_number(w, "node_id", node_at(w->c, nr->node)->o.id);
}

static void put_parent(struct writer *w, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(w->c, ix);
    begin(w);
    put_tree(w, "data", data_noderole(w->c, ix, true, w->arena));
    put_stored(w, "hint", node_at(w->c, nr->node)->hint, "{}");
    put_noderole_names(w, nr);
    put_text_at(w, "role", text_of(w->c, role_at(w->c, nr->role)->name));
    put_text_at(w, "state", str_from(noderole_state_name(nr->state)));
    buf_put_c(&w->b, '}');
}

static void put_parents(struct writer *w, const struct noderole *nr)
{
    key(w, "parents");
    buf_put_c(&w->b, '[');
    for (uint32_t i = 0; i < nr->parents.count; i++) {
        if (i)
            buf_put_c(&w->b, ',');
        put_parent(w, (noderole_ix){vec_at(w->c, &nr->parents, i)});
    }
    buf_put_c(&w->b, ']');
    w->last = STR("parents");
}

static void put_noderole(struct writer *w, noderole_ix ix, bool with_parents)
{
    const struct noderole *nr = noderole_at(w->c, ix);
    const run_ix run = nr->run.v ? nr->run : nr->queued;
    begin(w);
    put_bool(w, "available", !nr->unavailable);
    put_number(w, "cohort", nr->cohort);
    put_tree(w, "data", data_noderole(w->c, ix, true, w->arena));
    put_text_at(w, "deployment", text_of(w->c, deployment_at(w->c, nr->deployment)->name));
    put_number(w, "deployment_id", deployment_at(w->c, nr->deployment)->o.id);
    key(w, "host");
    put_node(w, nr->node, false);
    w->last = STR("host");
    put_noderole_names(w, nr);
    put_stored(w, "notes", nr->notes, "{}");
    if (with_parents)
        put_parents(w, nr);
    put_text_at(w, "role", text_of(w->c, role_at(w->c, nr->role)->name));
    put_number(w, "role_id", role_at(w->c, nr->role)->o.id);
    if (run.v)
        put_run(w, run);
    put_number(w, "run_count", nr->run_count);
    put_text_at(w, "state", str_from(noderole_state_name(nr->state)));
    put_text_at(w, "status", text_of(w->c, nr->status));
    put_tree(w, "system",
             data_view(w->c, (struct data_owner){TABLE_NODEROLE, ix.v}, VIEW_SYSTEM, w->arena));
    put_stored(w, "wall", nr->wall, "{}");
    buf_put_c(&w->b, '}');
}

/* ---- deployment roles ---- */

static void put_deployment_role(struct writer *w, const struct outbox_record *row)
{
    const deployment_role_ix ix = deployment_role_by_id(w->c, row->object_id);
    const struct deployment_role *dr = ix.v ? deployment_role_at(w->c, ix) : NULL;
    const role_ix role = role_by_id(w->c, row->role_id);
    begin(w);
    if (dr)
        put_tree(w, "data", data_deployment_role(w->c, ix, true, w->arena));
    put_text_at(w, "deployment", row->detail);
    if (dr)
        put_number(w, "deployment_id", deployment_at(w->c, dr->deployment)->o.id);
    else
        put_bool(w, "gone", true);
    put_number(w, "id", row->object_id);
    put_text_at(w, "role", text_of(w->c, role_at(w->c, role)->name));
    put_number(w, "role_id", row->role_id);
    if (dr)
        put_stored(w, "wall", dr->wall, "{}");
    buf_put_c(&w->b, '}');
}

/* ---- what surrounds it ---- */

static int cmp_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t *core_noderoles_of_role(const struct core *c, int64_t role_id, uint32_t max,
                                struct arena *a, uint32_t *out_count)
{
    const role_ix role = role_by_id(c, role_id);
    const uint32_t deployed = role.v ? role_at(c, role)->deployed.count : 0;
    uint32_t count = 0;
    int64_t *ids = arena_array(a, int64_t, (size_t)deployed * max + 1);
    for (uint32_t i = 0; i < deployed; i++) {
        const deployment_role_ix dr = {vec_at(c, &role_at(c, role)->deployed, i)};
        const struct vec *v = &deployment_role_at(c, dr)->noderoles;
        for (uint32_t k = 0; k < v->count && k < max; k++)
            ids[count++] = noderole_at(c, (noderole_ix){vec_at(c, v, k)})->o.id;
    }
    sort_items(ids, count, sizeof *ids, cmp_ids, a);
    *out_count = count < max ? count : max;
    return ids;
}

static void put_noderoles(struct writer *w, int64_t role_id)
{
    uint32_t count;
    const int64_t *ids =
        core_noderoles_of_role(w->c, role_id, NODEROLES_TOLD_MAX, w->arena, &count);
    key(w, "noderoles");
    buf_put_c(&w->b, '[');
    for (uint32_t i = 0; i < count; i++) {
        const struct noderole *nr = noderole_at(w->c, noderole_by_id(w->c, ids[i]));
        if (i)
            buf_put_c(&w->b, ',');
        begin(w);
        put_text_at(w, "deployment", text_of(w->c, deployment_at(w->c, nr->deployment)->name));
        put_noderole_names(w, nr);
        put_text_at(w, "state", str_from(noderole_state_name(nr->state)));
        buf_put_c(&w->b, '}');
    }
    buf_put_c(&w->b, ']');
    w->last = STR("noderoles");
}

static struct str context_of(struct writer *w, const struct outbox_record *row)
{
    const role_ix role = role_by_id(w->c, row->role_id);
    const node_ix n = row->object == TABLE_NODE ? node_by_id(w->c, row->object_id) : (node_ix){0};
    const noderole_ix own = n.v ? noderole_find(w->c, n, role) : (noderole_ix){0};
    w->b = buf_in(w->arena);
    begin(w);
    if (own.v) {
        key(w, "noderole");
        put_noderole(w, own, false);
        w->last = STR("noderole");
    }
    put_noderoles(w, row->role_id);
    key(w, "role");
    begin(w);
    put_number(w, "id", row->role_id);
    put_text_at(w, "name", text_of(w->c, role_at(w->c, role)->name));
    end(w, "role");
    buf_put_c(&w->b, '}');
    return buf_str(&w->b);
}

/* False when it is about something that is no more, and not about its end. */
static bool put_object(struct writer *w, const struct outbox_record *row)
{
    if (row->object == TABLE_NODEROLE) {
        const noderole_ix nr = noderole_by_id(w->c, row->object_id);
        if (nr.v)
            put_noderole(w, nr, false);
        return nr.v != 0;
    }
    if (row->object == TABLE_NODE) {
        const node_ix n = node_by_id(w->c, row->object_id);
        if (n.v)
            put_node(w, n, true);
        else
            put_gone_node(w, row);
        return n.v || row->hook == HOOK_NODE_DELETE;
    }
    if (row->object == TABLE_DEPLOYMENT_ROLE)
        put_deployment_role(w, row);
    return true;
}

bool core_hook_facts(const struct core *c, const struct outbox_record *row, struct arena *a,
                     struct hook_facts *out_facts)
{
    struct writer w = {.c = c, .arena = a, .b = buf_in(a)};
    if (!role_by_id(c, row->role_id).v || !put_object(&w, row))
        return false;
    out_facts->argument = buf_str(&w.b);
    out_facts->context = context_of(&w, row);
    return true;
}

bool core_run_facts(const struct core *c, int64_t noderole_id, struct arena *a,
                    struct str *out_argument)
{
    const noderole_ix nr = noderole_by_id(c, noderole_id);
    if (!nr.v)
        return false;
    struct writer w = {.c = c, .arena = a, .b = buf_in(a)};
    put_noderole(&w, nr, true);
    *out_argument = buf_str(&w.b);
    return true;
}
