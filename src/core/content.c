#include "core/content.h"

#include "core/core_private.h"
#include "core/sort.h"
#include "model/limits.h"

/* ---- lists by node and role ---- */

static int cmp_keys(const struct content_entry *x, const struct content_entry *y)
{
    if (x->node_id != y->node_id)
        return x->node_id < y->node_id ? -1 : 1;
    return (x->role_id > y->role_id) - (x->role_id < y->role_id);
}

static int cmp_entries(const void *a, const void *b)
{
    return cmp_keys(a, b);
}

static void list_add(struct arena *a, struct content_list *list, struct content_entry entry)
{
    if (list->count == list->cap) {
        const uint32_t cap = list->cap ? list->cap * 2 : 64;
        struct content_entry *items = arena_alloc(a, cap * sizeof *items);
        if (list->count)
            memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->cap = cap;
    }
    list->items[list->count++] = entry;
}

static void list_sort(struct arena *a, struct content_list *list)
{
    sort_items(list->items, list->count, sizeof *list->items, cmp_entries, a);
}

const struct content_entry *content_find(const struct content_list *list, int64_t node_id,
                                         int64_t role_id)
{
    const struct content_entry key = {.node_id = node_id, .role_id = role_id};
    uint32_t low = 0, high = list->count;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (cmp_keys(&list->items[mid], &key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < list->count && cmp_keys(&list->items[low], &key) == 0 ? &list->items[low] : NULL;
}

/* ---- reading ---- */

static bool read_list(struct arena *a, const struct json *array, bool with_data,
                      struct content_list *out)
{
    if (!array || array->kind != JSON_ARRAY)
        return false;
    for (const struct json *item = array->first; item; item = item->next) {
        struct content_entry entry = {.data = with_data ? json_get(item, STR("data")) : NULL};
        if (!json_as_i64(json_get(item, STR("node")), &entry.node_id) ||
            !json_as_i64(json_get(item, STR("role")), &entry.role_id))
            return false;
        if (with_data && (!entry.data || entry.data->kind != JSON_OBJECT ||
                          json_depth(entry.data) > DOC_DEPTH_MAX))
            return false;
        list_add(a, out, entry);
    }
    list_sort(a, out);
    return true;
}

bool content_read(struct arena *a, struct str text, struct content *out)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    *out = (struct content){0};
    return json_read(a, text, &tree, &offset, &what) == OK &&
           read_list(a, json_get(tree, STR("members")), false, &out->members) &&
           read_list(a, json_get(tree, STR("data")), true, &out->data);
}

/* ---- writing ---- */

/* Entries on their way out carry the text itself: a million of them need no trees. */
struct line {
    struct content_entry key; /* first, for the order */
    struct str data;          /* empty for members */
};

struct lines {
    struct arena *arena;
    struct line *items;
    uint32_t count, cap;
};

static void lines_add(struct lines *l, int64_t node_id, int64_t role_id, struct str data)
{
    if (l->count == l->cap) {
        const uint32_t cap = l->cap ? l->cap * 2 : 64;
        struct line *items = arena_alloc(l->arena, cap * sizeof *items);
        if (l->count)
            memcpy(items, l->items, l->count * sizeof *items);
        l->items = items;
        l->cap = cap;
    }
    l->items[l->count++] =
        (struct line){.key = {.node_id = node_id, .role_id = role_id}, .data = data};
}

static int cmp_lines(const void *a, const void *b)
{
    return cmp_keys(&((const struct line *)a)->key, &((const struct line *)b)->key);
}

static void lines_write(struct lines *l, struct buf *b)
{
    sort_items(l->items, l->count, sizeof *l->items, cmp_lines, l->arena);
    buf_put_c(b, '[');
    for (uint32_t i = 0; i < l->count; i++) {
        const struct line *line = &l->items[i];
        buf_put_z(b, i ? ",{" : "{");
        if (line->data.len) {
            buf_put_z(b, "\"data\":");
            buf_put_str(b, line->data);
            buf_put_c(b, ',');
        }
        buf_put_z(b, "\"node\":");
        buf_put_i64(b, line->key.node_id);
        buf_put_z(b, ",\"role\":");
        buf_put_i64(b, line->key.role_id);
        buf_put_c(b, '}');
    }
    buf_put_c(b, ']');
}

static bool holds_at(int64_t from, int64_t seq)
{
    return from && from <= seq;
}

static void add_live(const struct core *c, deployment_role_ix dr_ix, int64_t seq,
                     struct lines *members, struct lines *data)
{
    const struct deployment_role *dr = deployment_role_at(c, dr_ix);
    const int64_t role_id = role_at(c, dr->role)->o.id;
    if (dr->committed_data && holds_at(dr->data_from, seq))
        lines_add(data, 0, role_id, doc_of(c, dr->committed_data));
    for (uint32_t i = 0; i < dr->noderoles.count; i++) {
        const struct noderole *nr = noderole_at(c, (noderole_ix){vec_at(c, &dr->noderoles, i)});
        const int64_t node_id = node_at(c, nr->node)->o.id;
        if (holds_at(nr->member_from, seq))
            lines_add(members, node_id, role_id, STR(""));
        if (nr->committed_data && holds_at(nr->data_from, seq))
            lines_add(data, node_id, role_id, doc_of(c, nr->committed_data));
    }
}

static bool covers(int64_t from, int64_t to, int64_t seq)
{
    return from <= seq && seq < to;
}

static void add_old(const struct record *record, int64_t deployment_id, int64_t seq,
                    struct lines *members, struct lines *data)
{
    const struct old_member_record *m = &record->old_member;
    const struct old_data_record *d = &record->old_data;
    if (record->table == TABLE_OLD_MEMBER && m->deployment_id == deployment_id &&
        covers(m->from_seq, m->to_seq, seq))
        lines_add(members, m->node_id, m->role_id, STR(""));
    if (record->table == TABLE_OLD_DATA && d->deployment_id == deployment_id &&
        covers(d->from_seq, d->to_seq, seq) && d->data.len && !str_eq(d->data, STR("{}")))
        lines_add(data, d->node_id, d->role_id, d->data);
}

struct str core_snapshot_content(const struct core *c, int64_t deployment_id, int64_t seq,
                                 const struct record *old, uint32_t old_count, struct arena *a)
{
    struct arena scratch = {0};
    struct lines members = {.arena = &scratch}, data = {.arena = &scratch};
    const deployment_ix d = deployment_by_id(c, deployment_id);
    for (uint32_t i = 0; d.v && i < deployment_at(c, d)->roles.count; i++)
        add_live(c, (deployment_role_ix){vec_at(c, &deployment_at(c, d)->roles, i)}, seq, &members,
                 &data);
    for (uint32_t i = 0; i < old_count; i++)
        add_old(&old[i], deployment_id, seq, &members, &data);
    struct buf b = buf_in(a);
    buf_put_z(&b, "{\"data\":");
    lines_write(&data, &b);
    buf_put_z(&b, ",\"members\":");
    lines_write(&members, &b);
    buf_put_c(&b, '}');
    arena_fini(&scratch);
    return buf_str(&b);
}

/* ---- the difference of two ---- */

static struct json *key_of(struct arena *a, const struct content_entry *entry)
{
    struct json *o = json_make(a, JSON_OBJECT);
    json_set(o, STR("node"), json_make_i64(a, entry->node_id));
    json_set(o, STR("role"), json_make_i64(a, entry->role_id));
    return o;
}

/* Those of `these` that are not among `others`. */
static struct json *missing_from(struct arena *a, const struct content_list *these,
                                 const struct content_list *others)
{
    struct json *list = json_make(a, JSON_ARRAY);
    for (uint32_t i = 0; i < these->count; i++)
        if (!content_find(others, these->items[i].node_id, these->items[i].role_id))
            json_append(list, key_of(a, &these->items[i]));
    return list;
}

struct paths {
    struct arena *arena;
    struct json *list;
    struct json *values; /* [before, after] of each */
    struct buf path;
    uint32_t most; /* the first of them */
};

static void add_path(struct paths *p, const struct json *before, const struct json *after)
{
    if (p->list->count >= p->most)
        return;
    struct json *pair = json_make(p->arena, JSON_ARRAY);
    json_append(pair, before ? json_clone(p->arena, before) : json_make(p->arena, JSON_NULL));
    json_append(pair, after ? json_clone(p->arena, after) : json_make(p->arena, JSON_NULL));
    json_append(p->values, pair);
    json_append(p->list, json_make_string(p->arena, str_copy(p->arena, buf_str(&p->path))));
}

static void compare(struct paths *p, const struct json *before, const struct json *after);

/* One member of both objects; NULL where it is absent. */
static void compare_member(struct paths *p, const struct json *before, const struct json *after)
{
    const uint32_t len = p->path.len;
    if (len)
        buf_put_c(&p->path, '/');
    buf_put_str(&p->path, before ? before->key : after->key);
    if (before && after && before->kind == JSON_OBJECT && after->kind == JSON_OBJECT)
        compare(p, before, after);
    else if (!before || !after || !json_eq(before, after))
        add_path(p, before, after);
    p->path.len = len;
}

/* Two objects, member by member in the order of keys. Goes no deeper than documents do:
 * JSON_DEPTH_MAX levels. */
static void compare(struct paths *p, const struct json *before, const struct json *after)
{
    const struct json *l = before->first, *r = after->first;
    while (l || r) {
        const int order = !l ? 1 : !r ? -1 : str_cmp(l->key, r->key);
        compare_member(p, order <= 0 ? l : NULL, order >= 0 ? r : NULL);
        l = order <= 0 ? l->next : l;
        r = order >= 0 ? r->next : r;
    }
}

static struct paths paths_between(struct arena *a, const struct json *before,
                                  const struct json *after, uint32_t most)
{
    struct paths p = {.arena = a,
                      .list = json_make(a, JSON_ARRAY),
                      .values = json_make(a, JSON_ARRAY),
                      .path = buf_in(a),
                      .most = most};
    compare(&p, before, after);
    return p;
}

struct content_changes content_compare(struct arena *a, struct str before, struct str after,
                                       uint32_t most)
{
    const struct paths p = paths_between(a, doc_tree(a, before), doc_tree(a, after), most);
    return (struct content_changes){p.list, p.values};
}

static void add_changed(struct arena *a, struct json *list, const struct content_entry *key,
                        const struct json *before, const struct json *after)
{
    const struct paths p = paths_between(a, before, after, UINT32_MAX);
    if (p.list->count == 0)
        return;
    struct json *o = key_of(a, key);
    json_set(o, STR("paths"), p.list);
    json_set(o, STR("values"), p.values);
    json_append(list, o);
}

/* Data of the deployment's roles, and of what belongs to both: the rest came or went whole. */
static bool is_in_both(const struct content *x, const struct content *y, int64_t node_id,
                       int64_t role_id)
{
    return node_id == 0 || (content_find(&x->members, node_id, role_id) &&
                            content_find(&y->members, node_id, role_id));
}

static struct json *changed_between(struct arena *a, const struct content *before,
                                    const struct content *after)
{
    struct json *list = json_make(a, JSON_ARRAY);
    const struct json *none = json_make(a, JSON_OBJECT);
    uint32_t l = 0, r = 0;
    while (l < before->data.count || r < after->data.count) {
        const struct content_entry *x = l < before->data.count ? &before->data.items[l] : NULL;
        const struct content_entry *y = r < after->data.count ? &after->data.items[r] : NULL;
        const int order = !x ? 1 : !y ? -1 : cmp_keys(x, y);
        const struct content_entry *key = x && order <= 0 ? x : y;
        if (key && is_in_both(before, after, key->node_id, key->role_id))
            add_changed(a, list, key, x && order <= 0 ? x->data : none,
                        y && order >= 0 ? y->data : none);
        l += order <= 0;
        r += order >= 0;
    }
    return list;
}

struct str core_snapshot_diff(struct str before, struct str after, struct arena *a)
{
    struct arena scratch = {0};
    struct content old, now;
    must(content_read(&scratch, before, &old) && content_read(&scratch, after, &now));
    struct json *diff = json_make(&scratch, JSON_OBJECT);
    json_set(diff, STR("added"), missing_from(&scratch, &now.members, &old.members));
    json_set(diff, STR("changed"), changed_between(&scratch, &old, &now));
    json_set(diff, STR("removed"), missing_from(&scratch, &old.members, &now.members));
    const struct str text = json_write(a, diff);
    arena_fini(&scratch);
    return text;
}
