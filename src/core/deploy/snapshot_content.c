#include "core/deploy/snapshot_content.h"

#include "base/containers/sort.h"
#include "core/core_private.h"
#include "model/limits.h"

/* Content of snapshots: reading the document of a revert, collecting live rows and archived
 * intervals, writing the document, and the difference of two snapshots (docs/spec/timeline.md,
 * "Content" and "Diff"). The file owns no state; results are in the arena of the caller.
 *
 * A row belongs to snapshot `seq` if its open interval starts at or before `seq`; an archived
 * record belongs to it if its interval contains `seq`. Large deployments have a million members,
 * so sizes are computed first and arrays are allocated once.
 *
 * Order: live rows and archived records are added in any order; snapshot_sort() is called before
 * parts are searched, written or compared, because it sorts them and removes duplicates. Failure:
 * a document that does not have the form of a snapshot is reported by snapshot_content_read();
 * stored documents are canonical, so one that cannot be parsed is a bug and aborts. */

/* ---- lists sorted by node and role ---- */

static int content_cmp_keys(const struct snapshot_content_entry *x,
                            const struct snapshot_content_entry *y)
{
    if (x->node_id != y->node_id)
        return x->node_id < y->node_id ? -1 : 1;
    return (x->role_id > y->role_id) - (x->role_id < y->role_id);
}

static int content_cmp_entries(const void *a, const void *b)
{
    return content_cmp_keys(a, b);
}

static void content_list_add(struct arena *a, struct snapshot_content_list *list,
                             struct snapshot_content_entry entry)
{
    if (list->count == list->cap) {
        const uint32_t cap = list->cap ? list->cap * 2 : 64;
        struct snapshot_content_entry *items = arena_alloc(a, cap * sizeof *items);
        if (list->count)
            memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->cap = cap;
    }
    list->items[list->count++] = entry;
}

const struct snapshot_content_entry *snapshot_content_find(const struct snapshot_content_list *list,
                                                           int64_t node_id, int64_t role_id)
{
    const struct snapshot_content_entry key = {.node_id = node_id, .role_id = role_id};
    uint32_t low = 0, high = list->count;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (content_cmp_keys(&list->items[mid], &key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < list->count && content_cmp_keys(&list->items[low], &key) == 0 ? &list->items[low]
                                                                               : NULL;
}

/* ---- reading the document ---- */

static bool content_read_list(struct arena *a, const struct json *array, bool with_data,
                              struct snapshot_content_list *out)
{
    if (!array || array->kind != JSON_ARRAY)
        return false;
    for (const struct json *item = array->first; item; item = item->next) {
        struct snapshot_content_entry entry = {.data =
                                                   with_data ? json_get(item, STR("data")) : NULL};
        if (!json_as_i64(json_get(item, STR("node")), &entry.node_id) ||
            !json_as_i64(json_get(item, STR("role")), &entry.role_id))
            return false;
        if (with_data && (!entry.data || entry.data->kind != JSON_OBJECT ||
                          json_depth(entry.data) > DOC_DEPTH_MAX))
            return false;
        content_list_add(a, out, entry);
    }
    sort_items(out->items, out->count, sizeof *out->items, content_cmp_entries, a);
    return true;
}

bool snapshot_content_read(struct arena *a, struct str text, struct snapshot_content *out)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    *out = (struct snapshot_content){0};
    return json_read(a, text, &tree, &offset, &what) == OK &&
           content_read_list(a, json_get(tree, STR("members")), false, &out->members) &&
           content_read_list(a, json_get(tree, STR("data")), true, &out->data);
}

/* ---- the parts of a snapshot ---- */

static int snapshot_cmp_pairs(const struct snapshot_pair *x, const struct snapshot_pair *y)
{
    if (x->node_id != y->node_id)
        return x->node_id < y->node_id ? -1 : 1;
    return (x->role_id > y->role_id) - (x->role_id < y->role_id);
}

/* Both kinds of items start with their pair. */
static int snapshot_cmp_items(const void *a, const void *b)
{
    return snapshot_cmp_pairs(a, b);
}

/* At least doubles the capacity, so that adding items one at a time is linear. */
static uint32_t snapshot_larger_cap(uint32_t cap, uint32_t wanted)
{
    const uint32_t doubled = cap ? cap * 2 : 64;
    return wanted > doubled ? wanted : doubled;
}

static void snapshot_parts_reserve(struct snapshot_parts *p, uint32_t members, uint32_t data)
{
    if (members > p->member_cap - p->member_count) {
        p->member_cap = snapshot_larger_cap(p->member_cap, p->member_count + members);
        struct snapshot_pair *larger = arena_alloc(p->arena, p->member_cap * sizeof *larger);
        if (p->member_count)
            memcpy(larger, p->members, p->member_count * sizeof *larger);
        p->members = larger;
    }
    if (data > p->data_cap - p->data_count) {
        p->data_cap = snapshot_larger_cap(p->data_cap, p->data_count + data);
        struct snapshot_data *larger = arena_alloc(p->arena, p->data_cap * sizeof *larger);
        if (p->data_count)
            memcpy(larger, p->data, p->data_count * sizeof *larger);
        p->data = larger;
    }
}

static void snapshot_add_member(struct snapshot_parts *p, int64_t node_id, int64_t role_id)
{
    snapshot_parts_reserve(p, 1, 0);
    p->members[p->member_count++] = (struct snapshot_pair){node_id, role_id};
}

static void snapshot_add_data(struct snapshot_parts *p, int64_t node_id, int64_t role_id,
                              struct str data)
{
    snapshot_parts_reserve(p, 0, 1);
    p->data[p->data_count++] =
        (struct snapshot_data){.pair = {node_id, role_id}, .data = str_copy(p->arena, data)};
}

static bool snapshot_interval_started(int64_t from, int64_t seq)
{
    return from && from <= seq;
}

/* Counts the parts of a deployment role and its noderoles whose interval started at or before
 * `seq`, and adds them to `out` unless it is NULL. */
static void snapshot_walk_role(const struct core *c, deployment_role_ix dr_ix, int64_t seq,
                               struct snapshot_size *size, struct snapshot_parts *out)
{
    const struct deployment_role *dr = deployment_role_at(c, dr_ix);
    const int64_t role_id = role_at(c, dr->role)->o.id;
    if (dr->committed_data && snapshot_interval_started(dr->data_from, seq)) {
        const struct str doc = doc_of(c, dr->committed_data);
        size->data++;
        size->text += doc.len;
        if (out)
            snapshot_add_data(out, 0, role_id, doc);
    }
    for (uint32_t i = 0; i < dr->noderoles.count; i++) {
        const struct noderole *nr = noderole_at(c, (noderole_ix){vec_at(c, &dr->noderoles, i)});
        const int64_t node_id = node_at(c, nr->node)->o.id;
        if (snapshot_interval_started(nr->member_from, seq)) {
            size->members++;
            if (out)
                snapshot_add_member(out, node_id, role_id);
        }
        if (nr->committed_data && snapshot_interval_started(nr->data_from, seq)) {
            const struct str doc = doc_of(c, nr->committed_data);
            size->data++;
            size->text += doc.len;
            if (out)
                snapshot_add_data(out, node_id, role_id, doc);
        }
    }
}

static struct snapshot_size snapshot_walk_deployment(const struct core *c, int64_t deployment_id,
                                                     int64_t seq, struct snapshot_parts *out)
{
    struct snapshot_size size = {0};
    const deployment_ix d = deployment_by_id(c, deployment_id);
    for (uint32_t i = 0; d.v && i < deployment_at(c, d)->roles.count; i++)
        snapshot_walk_role(c, (deployment_role_ix){vec_at(c, &deployment_at(c, d)->roles, i)}, seq,
                           &size, out);
    return size;
}

struct snapshot_size core_snapshot_live_size(const struct core *c, int64_t deployment_id,
                                             int64_t seq)
{
    return snapshot_walk_deployment(c, deployment_id, seq, NULL);
}

size_t snapshot_size_bytes(struct snapshot_size size)
{
    return size.members * sizeof(struct snapshot_pair) +
           size.data * (sizeof(struct snapshot_data) + 16) + size.text;
}

void core_snapshot_add_live(const struct core *c, int64_t deployment_id, int64_t seq,
                            struct snapshot_parts *parts)
{
    const struct snapshot_size size = core_snapshot_live_size(c, deployment_id, seq);
    snapshot_parts_reserve(parts, size.members, size.data);
    snapshot_walk_deployment(c, deployment_id, seq, parts);
}

static bool snapshot_interval_covers(int64_t from, int64_t to, int64_t seq)
{
    return from <= seq && seq < to;
}

void snapshot_add_old(struct snapshot_parts *parts, const struct record *record,
                      int64_t deployment_id, int64_t seq)
{
    const struct old_member_record *m = &record->old_member;
    const struct old_data_record *d = &record->old_data;
    if (record->table == TABLE_OLD_MEMBER && m->deployment_id == deployment_id &&
        snapshot_interval_covers(m->from_seq, m->to_seq, seq))
        snapshot_add_member(parts, m->node_id, m->role_id);
    if (record->table == TABLE_OLD_DATA && d->deployment_id == deployment_id &&
        snapshot_interval_covers(d->from_seq, d->to_seq, seq) && d->data.len &&
        !str_eq(d->data, STR("{}")))
        snapshot_add_data(parts, d->node_id, d->role_id, d->data);
}

void snapshot_sort(struct snapshot_parts *p)
{
    struct arena scratch = {0};
    uint32_t members = 0, data = 0;
    sort_items(p->members, p->member_count, sizeof *p->members, snapshot_cmp_items, &scratch);
    sort_items(p->data, p->data_count, sizeof *p->data, snapshot_cmp_items, &scratch);
    arena_fini(&scratch);
    for (uint32_t i = 0; i < p->member_count; i++)
        if (!members || snapshot_cmp_pairs(&p->members[members - 1], &p->members[i]) != 0)
            p->members[members++] = p->members[i];
    for (uint32_t i = 0; i < p->data_count; i++)
        if (!data || snapshot_cmp_pairs(&p->data[data - 1].pair, &p->data[i].pair) != 0)
            p->data[data++] = p->data[i];
    p->member_count = members;
    p->data_count = data;
}

/* Binary search for a pair in `count` items of `size` bytes; NULL if there is none. */
static const void *snapshot_find_item(const void *items, uint32_t count, size_t size,
                                      struct snapshot_pair pair)
{
    const char *at = items;
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (snapshot_cmp_items(at + mid * size, &pair) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < count && snapshot_cmp_items(at + low * size, &pair) == 0 ? at + low * size : NULL;
}

static bool snapshot_has(const struct snapshot_parts *p, struct snapshot_pair pair)
{
    return snapshot_find_item(p->members, p->member_count, sizeof *p->members, pair) != NULL;
}

struct str snapshot_data_of(const struct snapshot_parts *p, struct snapshot_pair pair)
{
    const struct snapshot_data *found =
        snapshot_find_item(p->data, p->data_count, sizeof *p->data, pair);
    return found ? found->data : STR("{}");
}

/* ---- writing the document ---- */

/* ,{"data":,"node":,"role":} */

enum { ITEM_BYTES = 27 };

static size_t snapshot_pair_bytes(struct snapshot_pair pair)
{
    size_t digits = 2;
    for (int64_t n = pair.node_id; n >= 10; n /= 10)
        digits++;
    for (int64_t n = pair.role_id; n >= 10; n /= 10)
        digits++;
    return ITEM_BYTES + digits;
}

size_t snapshot_text_bytes(const struct snapshot_parts *p)
{
    size_t bytes = ITEM_BYTES; /* the text around the lists */
    for (uint32_t i = 0; i < p->data_count; i++)
        bytes += p->data[i].data.len + snapshot_pair_bytes(p->data[i].pair);
    for (uint32_t i = 0; i < p->member_count; i++)
        bytes += snapshot_pair_bytes(p->members[i]);
    return bytes;
}

static void snapshot_put_pair(struct buf *b, struct snapshot_pair pair)
{
    buf_put_z(b, "\"node\":");
    buf_put_i64(b, pair.node_id);
    buf_put_z(b, ",\"role\":");
    buf_put_i64(b, pair.role_id);
    buf_put_c(b, '}');
}

struct str snapshot_write(const struct snapshot_parts *p, struct arena *a)
{
    struct buf b = buf_in(a);
    buf_room(&b, (uint32_t)snapshot_text_bytes(p));
    buf_put_z(&b, "{\"data\":[");
    for (uint32_t i = 0; i < p->data_count; i++) {
        buf_put_z(&b, i ? ",{\"data\":" : "{\"data\":");
        buf_put_str(&b, p->data[i].data);
        buf_put_c(&b, ',');
        snapshot_put_pair(&b, p->data[i].pair);
    }
    buf_put_z(&b, "],\"members\":[");
    for (uint32_t i = 0; i < p->member_count; i++) {
        buf_put_z(&b, i ? ",{" : "{");
        snapshot_put_pair(&b, p->members[i]);
    }
    buf_put_z(&b, "]}");
    return buf_str(&b);
}

struct str core_snapshot_content(const struct core *c, int64_t deployment_id, int64_t seq,
                                 const struct record *old, uint32_t old_count, struct arena *a)
{
    struct arena scratch = {0};
    struct snapshot_parts parts = {.arena = &scratch};
    core_snapshot_add_live(c, deployment_id, seq, &parts);
    for (uint32_t i = 0; i < old_count; i++)
        snapshot_add_old(&parts, &old[i], deployment_id, seq);
    snapshot_sort(&parts);
    const struct str text = snapshot_write(&parts, a);
    arena_fini(&scratch);
    return text;
}

/* ---- difference of two snapshots ---- */

struct changed_paths {
    struct arena *arena;
    struct json *list;
    struct json *values; /* [before, after] for each path */
    struct buf path;
    uint32_t most;     /* maximum number of paths */
    uint32_t text_max; /* bytes; longer values and paths are not shown */
    bool is_clipped;
};

/* Subtracts the size of the value in bytes from *left; false if it does not fit. The recursion is
 * bounded by the depth of documents, JSON_DEPTH_MAX. */
static bool changed_value_fits(const struct json *value, uint32_t *left)
{
    enum { PUNCTUATION = 4 };
    const uint64_t own = (uint64_t)value->key.len + value->text.len + PUNCTUATION;
    if (own > *left)
        return false;
    *left -= (uint32_t)own;
    for (const struct json *child = value->first; child; child = child->next)
        if (!changed_value_fits(child, left))
            return false;
    return true;
}

static void changed_add_value(struct changed_paths *p, struct json *pair, const struct json *value)
{
    uint32_t left = p->text_max;
    const bool is_long = value && p->text_max != UINT32_MAX && !changed_value_fits(value, &left);
    p->is_clipped = p->is_clipped || is_long;
    json_append(pair,
                value && !is_long ? json_clone(p->arena, value) : json_make(p->arena, JSON_NULL));
}

static void changed_add_path(struct changed_paths *p, const struct json *before,
                             const struct json *after)
{
    if (p->list->count >= p->most || p->path.len > p->text_max) {
        p->is_clipped = true;
        return;
    }
    struct json *pair = json_make(p->arena, JSON_ARRAY);
    changed_add_value(p, pair, before);
    changed_add_value(p, pair, after);
    json_append(p->values, pair);
    json_append(p->list, json_make_string(p->arena, str_copy(p->arena, buf_str(&p->path))));
}

static void changed_compare(struct changed_paths *p, const struct json *before,
                            const struct json *after);

/* Compares one member of both objects; NULL if it is absent in one. */
static void changed_compare_member(struct changed_paths *p, const struct json *before,
                                   const struct json *after)
{
    const uint32_t len = p->path.len;
    if (len)
        buf_put_c(&p->path, '/');
    buf_put_str(&p->path, before ? before->key : after->key);
    if (before && after && before->kind == JSON_OBJECT && after->kind == JSON_OBJECT)
        changed_compare(p, before, after);
    else if (!before || !after || !json_eq(before, after))
        changed_add_path(p, before, after);
    p->path.len = len;
}

/* Compares two objects member by member, in the order of keys. The recursion is bounded by the
 * depth of documents, JSON_DEPTH_MAX. */
static void changed_compare(struct changed_paths *p, const struct json *before,
                            const struct json *after)
{
    const struct json *l = before->first, *r = after->first;
    while (l || r) {
        const int order = !l ? 1 : !r ? -1 : str_cmp(l->key, r->key);
        changed_compare_member(p, order <= 0 ? l : NULL, order >= 0 ? r : NULL);
        l = order <= 0 ? l->next : l;
        r = order >= 0 ? r->next : r;
    }
}

static struct changed_paths changed_paths_between(struct arena *a, const struct json *before,
                                                  const struct json *after, uint32_t most,
                                                  uint32_t text_max)
{
    struct changed_paths p = {.arena = a,
                              .list = json_make(a, JSON_ARRAY),
                              .values = json_make(a, JSON_ARRAY),
                              .path = buf_in(a),
                              .most = most,
                              .text_max = text_max};
    changed_compare(&p, before, after);
    return p;
}

struct snapshot_content_changes snapshot_content_compare(struct arena *a, struct str before,
                                                         struct str after, uint32_t most)
{
    const struct changed_paths p =
        changed_paths_between(a, doc_tree(a, before), doc_tree(a, after), most, CONTENT_SHOWN_MAX);
    return (struct snapshot_content_changes){p.list, p.values, p.is_clipped};
}

struct json *snapshot_changes(struct str before, struct str after, struct arena *a)
{
    struct json *x, *y;
    uint32_t offset;
    const char *what;
    if (str_eq(before, after))
        return NULL;
    must(json_read(a, before, &x, &offset, &what) == OK &&
         json_read(a, after, &y, &offset, &what) == OK);
    const struct changed_paths p = changed_paths_between(a, x, y, UINT32_MAX, UINT32_MAX);
    if (p.list->count == 0)
        return NULL;
    struct json *o = json_make(a, JSON_OBJECT);
    json_set(o, STR("paths"), p.list);
    json_set(o, STR("values"), p.values);
    return o;
}

/* Counts a pair, and stores it if there is an array. */
static void snapshot_diff_add(struct snapshot_diff *d, struct snapshot_pair pair)
{
    if (d->pairs)
        d->pairs[d->count] = pair;
    d->count++;
}

static void snapshot_diff_add_missing(struct snapshot_diff *d, const struct snapshot_parts *these,
                                      const struct snapshot_parts *others)
{
    for (uint32_t i = 0; i < these->member_count; i++)
        if (!snapshot_has(others, these->members[i]))
            snapshot_diff_add(d, these->members[i]);
}

/* Compares the data of deployment roles (node 0) and of pairs that are in both snapshots. All other
 * pairs are in the list of added or removed ones. */
static void snapshot_diff_add_if_changed(struct snapshot_diff *d, struct snapshot_pair pair)
{
    const bool is_in_both =
        pair.node_id == 0 || (snapshot_has(d->before, pair) && snapshot_has(d->after, pair));
    if (is_in_both && !str_eq(snapshot_data_of(d->before, pair), snapshot_data_of(d->after, pair)))
        snapshot_diff_add(d, pair);
}

static void snapshot_diff_add_changed(struct snapshot_diff *d)
{
    const struct snapshot_parts *before = d->before, *after = d->after;
    uint32_t l = 0, r = 0;
    while (l < before->data_count && r < after->data_count) {
        const struct snapshot_pair *x = &before->data[l].pair, *y = &after->data[r].pair;
        const int order = snapshot_cmp_pairs(x, y);
        snapshot_diff_add_if_changed(d, order <= 0 ? *x : *y);
        l += order <= 0;
        r += order >= 0;
    }
    while (l < before->data_count)
        snapshot_diff_add_if_changed(d, before->data[l++].pair);
    while (r < after->data_count)
        snapshot_diff_add_if_changed(d, after->data[r++].pair);
}

void snapshot_diff_list(struct snapshot_diff *d, uint32_t lists)
{
    d->count = 0;
    if (lists >> SNAPSHOT_ADDED & 1)
        snapshot_diff_add_missing(d, d->after, d->before);
    d->begins[SNAPSHOT_CHANGED] = d->count;
    if (lists >> SNAPSHOT_CHANGED & 1)
        snapshot_diff_add_changed(d);
    d->begins[SNAPSHOT_REMOVED] = d->count;
    if (lists >> SNAPSHOT_REMOVED & 1)
        snapshot_diff_add_missing(d, d->before, d->after);
    d->begins[SNAPSHOT_LISTS] = d->count;
}
