#include "core/data/data.h"
#include "core/network/network_private.h"

#include <stddef.h>

#include "model/schema.h"

/* Writing values (docs/spec/data.md, "Write buckets"): which document a bucket refers to, which
 * buckets a caller may write, and which noderoles run again because of a write ("Reruns").
 *
 * A bucket is the name of the document that a value is written to: user, note, hint, system, wall
 * or discovery. Clients may write user and note, hooks (c->depth > 0) all of them. This file owns
 * no rows; it writes one document of the row that owns the value (data.c, data_find_owner).
 *
 * Order: a write is checked completely first. The effective value of the attrib (all layers
 * merged) is read before and after the document is replaced, and noderoles are rerun only if it
 * differs: another layer may override the change. For large documents the comparison is skipped,
 * and the value counts as changed. User data of noderoles and deployment roles is proposed, so it
 * causes no rerun before its commit.
 *
 * Failure: problems are recorded, all that can be found at once, and the step is rolled back. */

/* ---- documents of the buckets ---- */

/* Offset of the document in its row for each bucket; 0 if the table has none. */

struct bucket_docs {
    enum table table;
    uint16_t doc[BUCKET_COUNT]; /* bytes */
};

/* clang-format off */
#define DOC_IN(type, field) (uint16_t) offsetof(struct type, field)
static const struct bucket_docs bucket_docs[] = {
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

static uint16_t bucket_doc_offset(enum table table, enum bucket bucket)
{
    uint32_t i = 0;
    while (bucket_docs[i].table != table)
        must(++i < sizeof bucket_docs / sizeof *bucket_docs);
    return bucket_docs[i].doc[bucket];
}

/* ---- the command ---- */

struct attrib_write_ctx {
    attrib_ix attrib;
    struct data_owner owner; /* the row that has the document */
    enum bucket bucket;
    uint16_t offset;  /* of the document in its row */
    struct str value; /* canonical JSON */
};

static void attrib_set_check_names(struct core *c, const struct attrib_set_command *p)
{
    const bool has_attribs = p->target == TABLE_NODE || p->target == TABLE_DEPLOYMENT ||
                             p->target == TABLE_DEPLOYMENT_ROLE || p->target == TABLE_NODEROLE ||
                             p->target == TABLE_ROLE;
    if (!attrib_by_id(c, p->attrib_id).v)
        refuse_missing(c, "attrib_id", "attrib", p->attrib_id);
    if (!has_attribs)
        refuse(c, PROBLEM_BAD_VALUE, STR("target"), STR("objects of this kind have no attribs"));
    else if (p->id <= 0 || !omap_find(&c->tables[p->target].by_id, (uint64_t)p->id))
        refuse_missing(c, "id", table_name((enum table)p->target), p->id);
    if (p->bucket >= BUCKET_COUNT)
        refuse(c, PROBLEM_BAD_VALUE, STR("bucket"), STR("unknown bucket"));
    else if (c->depth == 0 && p->bucket != BUCKET_USER && p->bucket != BUCKET_NOTE)
        refuse(c, PROBLEM_NOT_SUPPORTED, STR("bucket"),
               STR("clients may write the buckets user and note only"));
}

/* Refuses because the attrib belongs to other objects, or its role is not bound there. */
static bool attrib_refuse_owner(struct core *c, const struct attrib_set_command *p)
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

static bool attrib_set_read(struct core *c, const struct attrib_set_command *p,
                            struct attrib_write_ctx *out)
{
    attrib_set_check_names(c, p);
    if (refused(c))
        return false;
    out->attrib = attrib_by_id(c, p->attrib_id);
    out->bucket = (enum bucket)p->bucket;
    out->value = p->value.len ? p->value : STR("null");
    if (!data_find_owner(c, (enum table)p->target, p->id, out->attrib, &out->owner))
        return attrib_refuse_owner(c, p);
    out->offset = bucket_doc_offset(out->owner.table, out->bucket);
    if (!out->offset)
        return refuse(c, PROBLEM_NOT_SUPPORTED, STR("bucket"),
                      STR("objects of this kind do not have this bucket"));
    return true;
}

/* ---- checks ---- */

static void attrib_set_check_schema(struct core *c, const struct attrib_write_ctx *s)
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

static bool attrib_value_is_object(struct str value)
{
    return value.at[0] == '{';
}

/* Number of levels that a path puts around a value. */
static uint32_t attrib_path_levels(struct str path)
{
    uint32_t levels = path.len > 0;
    for (uint32_t at = 0; at < path.len; at++)
        levels += path.at[at] == '/';
    return levels;
}

static bool attrib_set_check_value(struct core *c, const struct attrib_write_ctx *s)
{
    const struct attrib *attrib = attrib_at(c, s->attrib);
    if (s->bucket == BUCKET_USER && !attrib->writable && c->depth == 0) /* a client, not a hook */
        refuse(c, PROBLEM_READ_ONLY, STR("attrib_id"),
               STR_CONCAT(c->arena, STR("attrib "), text_of(c, attrib->name),
                          STR(" is not writable")));
    if (s->bucket == BUCKET_USER)
        attrib_set_check_schema(c, s);
    const struct str map = text_of(c, attrib->map);
    if (attrib_path_levels(map) + json_text_depth(s->value) > JSON_DEPTH_MAX - STAGED_LEVELS)
        refuse(c, PROBLEM_BAD_VALUE, STR("value"), STR("is nested deeper than a document may be"));
    if (map.len == 0 && !attrib_value_is_object(s->value))
        refuse(c, PROBLEM_BAD_VALUE, STR("value"),
               STR("must be an object, because the attrib has no map"));
    return !refused(c);
}

/* ---- write ---- */

/* Returns {"a":{"b":value}} for the path "a/b", the value itself for "". */
static struct str attrib_wrap_value(struct core *c, struct str path, struct str value)
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

/* Merges the value into the document; refuses if the result is too long. */
static bool attrib_merge_value(struct core *c, const struct attrib_write_ctx *s, doc_h old,
                               struct str *out_doc)
{
    const struct str map = text_of(c, attrib_at(c, s->attrib)->map);
    const bool nulls_remove = s->bucket == BUCKET_SYSTEM || s->bucket == BUCKET_NOTE;
    *out_doc = json_text_put(c->arena, doc_of(c, old), attrib_wrap_value(c, map, s->value),
                             nulls_remove && attrib_value_is_object(s->value));
    if (out_doc->len <= DOC_MAX)
        return true;
    return refuse(c, PROBLEM_BAD_TEXT, STR("value"),
                  STR_CONCAT(c->arena, STR("the document would be longer than "),
                             str_from_i64(c->arena, DOC_MAX), STR(" bytes")));
}

/* The value that a run would receive; proposals are not included. */
static const struct json *attrib_effective_value(struct core *c, const struct attrib_write_ctx *s)
{
    const enum data_view view = s->owner.table == TABLE_NODE ? VIEW_ALL : VIEW_COMMITTED;
    return data_value(c, s->attrib, data_view(c, s->owner, view, c->arena), c->arena);
}

/* Limits in bytes above which the effective value is not compared. Hooks keep large documents for
 * thousands of nodes; reading all layers of them to find out whether another layer overrides the
 * change costs more than a run that was not needed. */
enum { LARGE_DOC = 16 << 10, LARGE_LAYERS = 128 << 10 };

static uint32_t attrib_doc_len(const struct core *c, doc_h doc)
{
    return doc_of(c, doc).len;
}

static uint32_t attrib_deployment_role_len(const struct core *c, const struct deployment_role *dr)
{
    return attrib_doc_len(c, role_at(c, dr->role)->template) + attrib_doc_len(c, dr->wall) +
           attrib_doc_len(c, dr->committed_data);
}

/* Number of bytes that attrib_effective_value() would read. */
static uint32_t attrib_layers_len(const struct core *c, struct data_owner owner)
{
    if (owner.table == TABLE_NODE) {
        const struct node *node = node_at(c, (node_ix){owner.ix});
        return attrib_doc_len(c, node->discovery) + attrib_doc_len(c, node->hint);
    }
    if (owner.table == TABLE_ROLE)
        return attrib_doc_len(c, role_at(c, (role_ix){owner.ix})->template);
    if (owner.table == TABLE_DEPLOYMENT_ROLE)
        return attrib_deployment_role_len(c, deployment_role_at(c, (deployment_role_ix){owner.ix}));
    const struct noderole *nr = noderole_at(c, (noderole_ix){owner.ix});
    return attrib_deployment_role_len(c, deployment_role_at(c, nr->dr)) +
           attrib_doc_len(c, nr->wall) + attrib_doc_len(c, nr->computed) +
           attrib_doc_len(c, nr->sysdata) + attrib_doc_len(c, nr->committed_data);
}

/* Returns true if the document changed; *out_changed is true if the value of the attrib may have
 * changed. */
static bool attrib_write_doc(struct core *c, const struct attrib_write_ctx *s, bool *out_changed)
{
    struct str doc;
    const char *row = pool_at(&c->tables[s->owner.table].pool, s->owner.ix);
    const doc_h old = *(const doc_h *)(const void *)(row + s->offset);
    *out_changed = false;
    if (!attrib_merge_value(c, s, old, &doc) || str_eq(doc, doc_of(c, old)))
        return false;
    /* Read the effective value before the write, to compare it afterwards. */
    const bool compares = s->bucket != BUCKET_NOTE && doc.len <= LARGE_DOC &&
                          attrib_layers_len(c, s->owner) <= LARGE_LAYERS;
    const struct json *before = compares ? attrib_effective_value(c, s) : NULL;
    /* Check the rights in the deployment of the owner (ADR 0051, rule 2). */
    if (s->owner.table == TABLE_NODEROLE)
        authority_touch(c, noderole_at(c, (noderole_ix){s->owner.ix})->deployment);
    else if (s->owner.table == TABLE_DEPLOYMENT_ROLE)
        authority_touch(c, deployment_role_at(c, (deployment_role_ix){s->owner.ix})->deployment);
    /* Replace the document; the count of unproposed values is updated around the change. */
    const bool is_noderole = s->owner.table == TABLE_NODEROLE;
    if (is_noderole)
        unproposed_count(c, (noderole_ix){s->owner.ix}, false);
    char *open = core_edit_row(c, s->owner.table, s->owner.ix);
    put_doc(c, (doc_h *)(void *)(open + s->offset), doc);
    if (is_noderole)
        unproposed_count(c, (noderole_ix){s->owner.ix}, true);
    *out_changed =
        s->bucket != BUCKET_NOTE && (!compares || !json_eq(before, attrib_effective_value(c, s)));
    return true;
}

static void attrib_set_on_node(struct core *c, const struct attrib_write_ctx *s)
{
    bool changed;
    const node_ix n = {s->owner.ix};
    const struct str map = text_of(c, attrib_at(c, s->attrib)->map);
    const struct str old_hint = doc_of(c, node_at(c, n)->hint);
    const bool is_written = attrib_write_doc(c, s, &changed);
    if (refused(c) || s->bucket == BUCKET_NOTE)
        return;
    if (!is_written) {
        if (nics_depend_on(map))
            nics_follow_repeated(c, n);
        return;
    }
    if (nics_depend_on(map))
        nics_follow(c, n, old_hint, STR("value"));
    if (network_hints_depend_on(map))
        network_allocate_hints(c, n);
    if (changed)
        data_rerun_wanting(c, n, s->attrib, (noderole_ix){0});
    node_changed(c, n);
}

static void attrib_set_on_noderole(struct core *c, const struct attrib_write_ctx *s)
{
    bool changed;
    const noderole_ix nr = {s->owner.ix};
    /* A hook chooses user data for the next commit. If the noderole was committed before the
     * commands of the hook are executed, the choice is too late and is dropped: it would stay
     * behind as a value that no operator has stored. */
    if (c->depth > 0 && (s->bucket == BUCKET_USER || s->bucket == BUCKET_HINT) &&
        noderole_at(c, nr)->state != NODEROLE_PROPOSED)
        return;
    if (!attrib_write_doc(c, s, &changed) || s->bucket == BUCKET_NOTE)
        return;
    if (noderole_at(c, nr)->state == NODEROLE_PROPOSED)
        hooks_proposed(c, nr);
    else if (changed && s->bucket == BUCKET_SYSTEM)
        noderole_request_rerun(c, nr);
}

static void attrib_set_on_deployment_role(struct core *c, const struct attrib_write_ctx *s)
{
    bool changed;
    struct str doc;
    const deployment_role_ix dr = {s->owner.ix};
    const struct deployment_role *row = deployment_role_at(c, dr);
    if (s->bucket == BUCKET_USER || s->bucket == BUCKET_HINT) {
        if (attrib_merge_value(c, s, row->proposed ? row->proposed_data : row->committed_data,
                               &doc))
            deployment_role_set_data(c, dr, doc);
    } else if (attrib_write_doc(c, s, &changed) && changed) {
        data_rerun_all(c, &row->noderoles);
        hooks_proposed_all(c, &row->noderoles);
    }
}

static void attrib_set_on_role(struct core *c, const struct attrib_write_ctx *s)
{
    bool changed;
    const role_ix r = {s->owner.ix};
    if (!attrib_write_doc(c, s, &changed) || !changed)
        return;
    for (uint32_t i = 0; i < role_at(c, r)->deployed.count; i++) {
        const deployment_role_ix dr = {vec_at(c, &role_at(c, r)->deployed, i)};
        data_rerun_all(c, &deployment_role_at(c, dr)->noderoles);
        hooks_proposed_all(c, &deployment_role_at(c, dr)->noderoles);
    }
}

/* Merges a whole document into the discovery data of a node. Attrib id 0, and accepted from hooks
 * only: content need not define an attrib for it. All noderoles of the node are rerun, since each
 * of them may have used a value that changed. */
static void attrib_set_discovery(struct core *c, const struct attrib_set_command *p)
{
    const node_ix n = node_by_id(c, p->id);
    if (!n.v)
        refuse_missing(c, "id", "node", p->id);
    else if (p->value.len == 0 || !attrib_value_is_object(p->value))
        refuse(c, PROBLEM_BAD_VALUE, STR("value"), STR("must be an object"));
    if (refused(c))
        return;
    const struct str old = doc_of(c, node_at(c, n)->discovery);
    const struct str doc = json_text_put(c->arena, old, p->value, false);
    if (doc.len > DOC_MAX || json_text_depth(doc) > JSON_DEPTH_MAX - STAGED_LEVELS) {
        refuse(c, PROBLEM_BAD_TEXT, STR("value"),
               STR("the document would be longer or nested deeper than a document may be"));
        return;
    }
    c->out->id = p->id;
    if (str_eq(doc, old)) {
        nics_follow_repeated(c, n);
        return;
    }
    put_doc(c, &node_edit(c, n)->discovery, doc);
    nics_follow(c, n, STR(""), STR(""));
    data_rerun_all(c, &node_at(c, n)->noderoles);
    node_changed(c, n);
}

void do_attrib_set(struct core *c, const struct attrib_set_command *p)
{
    struct attrib_write_ctx s;
    if (p->attrib_id == 0 && c->depth > 0 && p->target == TABLE_NODE &&
        p->bucket == BUCKET_DISCOVERY) {
        attrib_set_discovery(c, p);
        return;
    }
    if (!attrib_set_read(c, p, &s) || !attrib_set_check_value(c, &s))
        return;
    c->out->id = p->id;
    if (s.owner.table == TABLE_NODE)
        attrib_set_on_node(c, &s);
    else if (s.owner.table == TABLE_NODEROLE)
        attrib_set_on_noderole(c, &s);
    else if (s.owner.table == TABLE_DEPLOYMENT_ROLE)
        attrib_set_on_deployment_role(c, &s);
    else
        attrib_set_on_role(c, &s);
}

/* ---- computed data ---- */

/* True if a descendant has a link to the noderole, so that it uses one of its values. */
static bool noderole_has_linked_descendant(struct core *c, noderole_ix nr)
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
        refuse(c, PROBLEM_NOT_SUPPORTED, STR("data"),
               STR("only the code of the role can set computed data"));
    if (p->data.len && p->data.at[0] != '{')
        refuse(c, PROBLEM_BAD_JSON, STR("data"), STR("must be a JSON object"));
    if (refused(c))
        return;
    c->out->id = p->id;
    if (str_eq(p->data.len ? p->data : STR("{}"), doc_of(c, noderole_at(c, nr)->computed)))
        return;
    /* Computed data may be large, so it is merged only if a link needs the comparison. */
    const struct json *before =
        noderole_has_linked_descendant(c, nr) ? data_noderole(c, nr, true, c->arena) : NULL;
    put_doc(c, &noderole_edit(c, nr)->computed, p->data);
    if (before)
        data_rerun_linked(c, nr, before);
}

/* ---- user data as a whole ---- */

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
    authority_touch_data(c, row->role);
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
