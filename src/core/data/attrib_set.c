#include "core/data/data.h"

#include <stddef.h>

#include "model/schema.h"

/* Writing values (SEMANTICS 6.2): which document a bucket means, who may write it, and who has to
 * run again because of it (6.9). */

/* ---- which document ---- */

/* Offset of the document in its row; 0 = the table has none for that bucket. */
struct role_code_slot {
    enum table table;
    uint16_t doc[BUCKET_COUNT];
};

/* clang-format off */
#define DOC_IN(type, field) (uint16_t) offsetof(struct type, field)
static const struct role_code_slot shelves[] = {
    {TABLE_NODE,            {[BUCKET_USER]      = DOC_IN(node, hint),
                             [BUCKET_HINT]      = DOC_IN(node, hint),
                             [BUCKET_SYSTEM]    = DOC_IN(node, hint),
                             [BUCKET_DISCOVERY] = DOC_IN(node, discovery),
                             [BUCKET_NOTE]      = DOC_IN(node, notes)}},
    {TABLE_NODEROLE,        {[BUCKET_USER]      = DOC_IN(noderole, proposed_data),
                             [BUCKET_HINT]      = DOC_IN(noderole, proposed_data),
                             [BUCKET_SYSTEM]    = DOC_IN(noderole, sysdata),
                             [BUCKET_WALL]      = DOC_IN(noderole, wall),
                             [BUCKET_NOTE]      = DOC_IN(noderole, notes)}},
    {TABLE_DEPLOYMENT_ROLE, {[BUCKET_USER]      = DOC_IN(deployment_role, proposed_data),
                             [BUCKET_HINT]      = DOC_IN(deployment_role, proposed_data),
                             [BUCKET_SYSTEM]    = DOC_IN(deployment_role, wall),
                             [BUCKET_WALL]      = DOC_IN(deployment_role, wall),
                             [BUCKET_NOTE]      = DOC_IN(deployment_role, notes)}},
    {TABLE_ROLE,            {[BUCKET_USER]      = DOC_IN(role, template),
                             [BUCKET_HINT]      = DOC_IN(role, template),
                             [BUCKET_SYSTEM]    = DOC_IN(role, template),
                             [BUCKET_NOTE]      = DOC_IN(role, notes)}},
};
#undef DOC_IN
/* clang-format on */

static uint16_t shelf_offset(enum table table, enum bucket bucket)
{
    uint32_t i = 0;
    while (shelves[i].table != table)
        must(++i < sizeof shelves / sizeof *shelves);
    return shelves[i].doc[bucket];
}

/* ---- what is asked ---- */

struct setting {
    attrib_ix attrib;
    struct place place;
    enum bucket bucket;
    uint16_t offset;  /* of the document */
    struct str value; /* canonical */
};

static bool is_target(uint32_t table)
{
    return table == TABLE_NODE || table == TABLE_DEPLOYMENT || table == TABLE_DEPLOYMENT_ROLE ||
           table == TABLE_NODEROLE || table == TABLE_ROLE;
}

static void check_names(struct core *c, const struct attrib_set_command *p)
{
    if (!attrib_by_id(c, p->attrib_id).v)
        refuse_missing(c, "attrib_id", "attrib", p->attrib_id);
    if (!is_target(p->target))
        refuse(c, PROBLEM_BAD_VALUE, STR("target"), STR("has no attribs"));
    else if (p->id <= 0 || !omap_find(&c->tables[p->target].by_id, (uint64_t)p->id))
        refuse_missing(c, "id", table_name((enum table)p->target), p->id);
    if (p->bucket >= BUCKET_COUNT)
        refuse(c, PROBLEM_BAD_VALUE, STR("bucket"), STR("is not known"));
    else if (c->depth == 0 && p->bucket != BUCKET_USER && p->bucket != BUCKET_NOTE)
        refuse(c, PROBLEM_NOT_SUPPORTED, STR("bucket"),
               STR("only user and note can be written from outside"));
}

/* The owner is somewhere else, or nowhere. */
static bool refuse_place(struct core *c, const struct attrib_set_command *p)
{
    const struct attrib *attrib = attrib_at(c, attrib_by_id(c, p->attrib_id));
    struct str owner = STR("nodes");
    if (attrib->role.v)
        owner = STR_CONCAT(c->arena, STR("role "), text_of(c, role_at(c, attrib->role)->name));
    return refuse(c, PROBLEM_NOT_FOUND, STR("attrib_id"),
                  STR_CONCAT(c->arena, STR("attrib "), text_of(c, attrib->name),
                             STR(" belongs to "), owner, STR(" and has no meaning on this "),
                             str_from(table_name((enum table)p->target))));
}

static bool read_setting(struct core *c, const struct attrib_set_command *p, struct setting *out)
{
    check_names(c, p);
    if (refused(c))
        return false;
    out->attrib = attrib_by_id(c, p->attrib_id);
    out->bucket = (enum bucket)p->bucket;
    out->value = p->value.len ? p->value : STR("null");
    if (!data_place(c, (enum table)p->target, p->id, out->attrib, &out->place))
        return refuse_place(c, p);
    out->offset = shelf_offset(out->place.table, out->bucket);
    if (!out->offset)
        return refuse(c, PROBLEM_NOT_SUPPORTED, STR("bucket"),
                      STR("does not exist on this kind of object"));
    return true;
}

/* ---- may it be written? ---- */

static void check_schema(struct core *c, const struct setting *s)
{
    const struct attrib *attrib = attrib_at(c, s->attrib);
    struct violations found = {0};
    if (!attrib->schema ||
        schema_validate(c->arena, doc_tree(c->arena, doc_of(c, attrib->schema)),
                        text_of(c, attrib->name), doc_tree(c->arena, s->value), &found))
        return;
    for (const struct violation *v = found.first; v; v = v->next)
        refuse(c, PROBLEM_SCHEMA_VIOLATED, STR("value"),
               STR_CONCAT(c->arena, v->path, STR(" "), v->text));
}

static bool is_object(struct str value)
{
    return value.at[0] == '{';
}

/* What a path puts around a value. */
static uint32_t levels_of(struct str path)
{
    uint32_t levels = path.len > 0;
    for (uint32_t at = 0; at < path.len; at++)
        levels += path.at[at] == '/';
    return levels;
}

static bool may_write(struct core *c, const struct setting *s)
{
    const struct attrib *attrib = attrib_at(c, s->attrib);
    if (s->bucket == BUCKET_USER && !attrib->writable)
        refuse(c, PROBLEM_READ_ONLY, STR("attrib_id"),
               STR_CONCAT(c->arena, STR("attrib "), text_of(c, attrib->name),
                          STR(" is not writable")));
    if (s->bucket == BUCKET_USER)
        check_schema(c, s);
    const struct str map = text_of(c, attrib->map);
    if (levels_of(map) + json_text_depth(s->value) > JSON_DEPTH_MAX - STAGED_LEVELS)
        refuse(c, PROBLEM_BAD_VALUE, STR("value"), STR("has more levels than a document may have"));
    if (map.len == 0 && !is_object(s->value))
        refuse(c, PROBLEM_BAD_VALUE, STR("value"),
               STR("must be an object, for the attrib has no map to put it at"));
    return !refused(c);
}

/* ---- writing ---- */

/* {"a":{"b":value}} for path "a/b"; the value itself for "". */
static struct str wrap(struct core *c, struct str path, struct str value)
{
    struct buf b = buf_in(c->arena);
    uint32_t levels = 0;
    if (path.len == 0)
        return value;
    for (uint32_t from = 0; from <= path.len; levels++) {
        const uint32_t to = str_find(path, '/', from);
        buf_put_c(&b, '{');
        json_write_string(&b, str_slice(path, from, to));
        buf_put_c(&b, ':');
        from = to + 1;
    }
    buf_put_str(&b, value);
    while (levels--)
        buf_put_c(&b, '}');
    return buf_str(&b);
}

/* The document with the value merged in; false when it grew too long. */
static bool with_value(struct core *c, const struct setting *s, doc_h old, struct str *out_doc)
{
    const struct str map = text_of(c, attrib_at(c, s->attrib)->map);
    const bool nulls_remove = s->bucket == BUCKET_SYSTEM || s->bucket == BUCKET_NOTE;
    *out_doc = json_text_put(c->arena, doc_of(c, old), wrap(c, map, s->value),
                             nulls_remove && is_object(s->value));
    if (out_doc->len <= DOC_MAX)
        return true;
    return refuse(c, PROBLEM_BAD_TEXT, STR("value"),
                  STR("would make the document longer than one may be"));
}

/* What work would be given: proposals do not count yet. */
static const struct json *effective(struct core *c, const struct setting *s)
{
    const enum view view = s->place.table == TABLE_NODE ? VIEW_ALL : VIEW_COMMITTED;
    return data_value(c, s->attrib, data_view(c, s->place, view, c->arena), c->arena);
}

/* Documents that hooks keep for thousands of nodes are not read to see whether somebody hides the
 * change, and neither is what lies over or under them: one run too many costs less. */
enum { LARGE_DOC = 16 << 10, LARGE_LAYERS = 128 << 10 };

static uint32_t len_of(const struct core *c, doc_h doc)
{
    return doc_of(c, doc).len;
}

static uint32_t deployment_role_len(const struct core *c, const struct deployment_role *dr)
{
    return len_of(c, role_at(c, dr->role)->template) + len_of(c, dr->wall) +
           len_of(c, dr->committed_data);
}

/* Bytes that effective() would read. */
static uint32_t layers_len(const struct core *c, struct place place)
{
    if (place.table == TABLE_NODE) {
        const struct node *node = node_at(c, (node_ix){place.ix});
        return len_of(c, node->discovery) + len_of(c, node->hint);
    }
    if (place.table == TABLE_ROLE)
        return len_of(c, role_at(c, (role_ix){place.ix})->template);
    if (place.table == TABLE_DEPLOYMENT_ROLE)
        return deployment_role_len(c, deployment_role_at(c, (deployment_role_ix){place.ix}));
    const struct noderole *nr = noderole_at(c, (noderole_ix){place.ix});
    return deployment_role_len(c, deployment_role_at(c, nr->dr)) + len_of(c, nr->wall) +
           len_of(c, nr->computed) + len_of(c, nr->sysdata) + len_of(c, nr->committed_data);
}

/* True when the document changed; *out_changed when the attrib reads otherwise than before. */
static bool write_doc(struct core *c, const struct setting *s, bool *out_changed)
{
    struct str doc;
    const char *row = pool_at(&c->tables[s->place.table].pool, s->place.ix);
    const doc_h old = *(const doc_h *)(const void *)(row + s->offset);
    *out_changed = false;
    if (!with_value(c, s, old, &doc) || str_eq(doc, doc_of(c, old)))
        return false;
    const bool looks =
        s->bucket != BUCKET_NOTE && doc.len <= LARGE_DOC && layers_len(c, s->place) <= LARGE_LAYERS;
    const struct json *before = looks ? effective(c, s) : NULL;
    if (s->place.table == TABLE_NODEROLE)
        authority_touch(c, noderole_at(c, (noderole_ix){s->place.ix})->deployment);
    else if (s->place.table == TABLE_DEPLOYMENT_ROLE)
        authority_touch(c, deployment_role_at(c, (deployment_role_ix){s->place.ix})->deployment);
    const bool is_noderole = s->place.table == TABLE_NODEROLE;
    if (is_noderole)
        unproposed_count(c, (noderole_ix){s->place.ix}, false);
    char *open = core_edit_row(c, s->place.table, s->place.ix);
    put_doc(c, (doc_h *)(void *)(open + s->offset), doc);
    if (is_noderole)
        unproposed_count(c, (noderole_ix){s->place.ix}, true);
    *out_changed = s->bucket != BUCKET_NOTE && (!looks || !json_eq(before, effective(c, s)));
    return true;
}

static void set_on_node(struct core *c, const struct setting *s)
{
    bool changed;
    const node_ix n = {s->place.ix};
    if (!write_doc(c, s, &changed) || s->bucket == BUCKET_NOTE)
        return;
    if (changed)
        data_poke_wanting(c, n, s->attrib, (noderole_ix){0});
    node_changed(c, n);
}

static void set_on_noderole(struct core *c, const struct setting *s)
{
    bool changed;
    const noderole_ix nr = {s->place.ix};
    if (!write_doc(c, s, &changed) || s->bucket == BUCKET_NOTE)
        return;
    if (noderole_at(c, nr)->state == NODEROLE_PROPOSED)
        hooks_proposed(c, nr);
    else if (changed && s->bucket == BUCKET_SYSTEM)
        noderole_request_rerun(c, nr);
}

static void set_on_deployment_role(struct core *c, const struct setting *s)
{
    bool changed;
    struct str doc;
    const deployment_role_ix dr = {s->place.ix};
    const struct deployment_role *row = deployment_role_at(c, dr);
    if (s->bucket == BUCKET_USER || s->bucket == BUCKET_HINT) {
        if (with_value(c, s, row->proposed ? row->proposed_data : row->committed_data, &doc))
            deployment_role_set_data(c, dr, doc);
    } else if (write_doc(c, s, &changed) && changed) {
        data_poke_all(c, &row->noderoles);
    }
}

static void set_on_role(struct core *c, const struct setting *s)
{
    bool changed;
    const role_ix r = {s->place.ix};
    if (!write_doc(c, s, &changed) || !changed)
        return;
    for (uint32_t i = 0; i < role_at(c, r)->deployed.count; i++) {
        const deployment_role_ix dr = {vec_at(c, &role_at(c, r)->deployed, i)};
        data_poke_all(c, &deployment_role_at(c, dr)->noderoles);
    }
}

/* The whole of what discovery knows of a node, merged into what it knew. Of attrib 0, and only from
 * inside: content need not define an attrib for it. Everything on the node may have used a value
 * that is another one now. */
static void set_discovery(struct core *c, const struct attrib_set_command *p)
{
    const node_ix n = node_by_id(c, p->id);
    if (!n.v)
        refuse_missing(c, "id", "node", p->id);
    else if (p->value.len == 0 || !is_object(p->value))
        refuse(c, PROBLEM_BAD_VALUE, STR("value"), STR("must be an object"));
    if (refused(c))
        return;
    const struct str old = doc_of(c, node_at(c, n)->discovery);
    const struct str doc = json_text_put(c->arena, old, p->value, false);
    if (doc.len > DOC_MAX || json_text_depth(doc) > JSON_DEPTH_MAX - STAGED_LEVELS) {
        refuse(c, PROBLEM_BAD_TEXT, STR("value"),
               STR("would make the document longer or deeper than one may be"));
        return;
    }
    c->out->id = p->id;
    if (str_eq(doc, old))
        return;
    put_doc(c, &node_edit(c, n)->discovery, doc);
    data_poke_all(c, &node_at(c, n)->noderoles);
    node_changed(c, n);
}

void do_attrib_set(struct core *c, const struct attrib_set_command *p)
{
    struct setting s;
    if (p->attrib_id == 0 && c->depth > 0 && p->target == TABLE_NODE &&
        p->bucket == BUCKET_DISCOVERY) {
        set_discovery(c, p);
        return;
    }
    if (!read_setting(c, p, &s) || !may_write(c, &s))
        return;
    c->out->id = p->id;
    if (s.place.table == TABLE_NODE)
        set_on_node(c, &s);
    else if (s.place.table == TABLE_NODEROLE)
        set_on_noderole(c, &s);
    else if (s.place.table == TABLE_DEPLOYMENT_ROLE)
        set_on_deployment_role(c, &s);
    else
        set_on_role(c, &s);
}

/* ---- what a role computed ---- */

/* Does anybody take a value of it? */
static bool is_taken_from(struct core *c, noderole_ix nr)
{
    uint32_t count;
    const noderole_ix *below = graph_descendants(c, nr, c->arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct vec *links = &noderole_at(c, below[i])->links;
        for (uint32_t k = 0; k < links->count; k += 2)
            if (vec_at(c, links, k) == nr.v)
                return true;
    }
    return false;
}

void do_noderole_computed(struct core *c, const struct noderole_computed_command *p)
{
    const noderole_ix nr = noderole_by_id(c, p->id);
    if (!nr.v)
        refuse_missing(c, "id", "noderole", p->id);
    if (c->depth == 0)
        refuse(c, PROBLEM_NOT_SUPPORTED, STR("data"), STR("only the role itself can compute it"));
    if (p->data.len && p->data.at[0] != '{')
        refuse(c, PROBLEM_BAD_JSON, STR("data"), STR("must be a JSON object"));
    if (refused(c))
        return;
    c->out->id = p->id;
    if (str_eq(p->data.len ? p->data : STR("{}"), doc_of(c, noderole_at(c, nr)->computed)))
        return;
    /* It may be large, and reading it all takes its time. */
    const struct json *before = is_taken_from(c, nr) ? data_noderole(c, nr, true, c->arena) : NULL;
    put_doc(c, &noderole_edit(c, nr)->computed, p->data);
    if (before)
        data_tell_linked(c, nr, before);
}

/* ---- all of a noderole's data at once ---- */

bool noderole_set_data(struct core *c, noderole_ix nr, struct str object)
{
    const struct noderole *row = noderole_at(c, nr);
    if (row->state != NODEROLE_PROPOSED)
        return refuse(c, PROBLEM_NOT_PROPOSED, STR("data"),
                      STR_CONCAT(c->arena, noderole_label(c, nr, c->arena), STR(" is "),
                                 str_from(noderole_state_name(row->state)),
                                 STR("; its data can be edited only while it is proposed")));
    if (str_eq(object.len ? object : STR("{}"), doc_of(c, row->proposed_data)))
        return true;
    authority_touch(c, row->deployment);
    put_doc(c, &noderole_edit(c, nr)->proposed_data, object);
    hooks_proposed(c, nr);
    return true;
}

void do_noderole_data(struct core *c, const struct noderole_data_command *p)
{
    const noderole_ix nr = noderole_by_id(c, p->id);
    if (!nr.v)
        refuse_missing(c, "id", "noderole", p->id);
    if (p->data.len && p->data.at[0] != '{')
        refuse(c, PROBLEM_BAD_JSON, STR("data"), STR("must be a JSON object"));
    c->out->id = p->id;
    if (!refused(c))
        ignore(!noderole_set_data(c, nr, p->data), "a refusal has become a problem of the step");
}
