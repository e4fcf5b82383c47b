#include "core/catalog/roles_private.h"

#include "base/containers/sort.h"

/* A require of X on Y can be said by X ("requires") or by Y ("attaches", or as later barclamps
 * spell it, "preceeds"). It holds as long as one of the two documents says so, whichever came
 * first. So each role keeps the names it attaches itself to, and whoever is called so finds it by
 * that name: names ignore case, and equal texts share a handle, so the handle of the name in small
 * letters is the name. Nothing of this is durable: it stands in the barclamps' documents. */

static uint64_t key_of(uint32_t handle, role_ix attacher)
{
    return (uint64_t)handle << 32 | attacher.v;
}

/* ---- who attaches to what ---- */

static int cmp_handles(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The handles of the names in small letters, held, in order, each once. */
static uint32_t hold_names(struct core *c, const struct json *names, uint32_t *handles)
{
    uint32_t count = 0, kept = 0;
    for (const struct json *name = names->first; name; name = name->next) {
        const uint32_t handle = text_hold(c, str_lower(c->arena, name->text));
        if (handle)
            handles[count++] = handle;
    }
    sort_items(handles, count, sizeof *handles, cmp_handles, c->arena);
    for (uint32_t i = 0; i < count; i++)
        if (kept && handles[kept - 1] == handles[i])
            blob_drop(&c->blobs, handles[i]);
        else
            handles[kept++] = handles[i];
    return kept;
}

static void tell(struct core *c, uint32_t handle, struct role_list *told)
{
    const role_ix on = {name_find(c, TABLE_ROLE, text_of(c, handle))};
    if (on.v)
        told->items[told->count++] = on;
}

/* Brings the index from the old names to the new ones; both are in order. */
static void index_move(struct core *c, role_ix r, const struct vec *old, const struct vec *fresh,
                       struct role_list *told)
{
    uint32_t i = 0, k = 0;
    while (i < old->count || k < fresh->count) {
        const uint64_t was = i < old->count ? vec_at(c, old, i) : UINT64_MAX;
        const uint64_t is = k < fresh->count ? vec_at(c, fresh, k) : UINT64_MAX;
        if (was < is) {
            must(omap_remove(&c->attachers, key_of((uint32_t)was, r)));
            tell(c, (uint32_t)was, told);
        } else if (is < was) {
            omap_put(&c->attachers, key_of((uint32_t)is, r), r.v);
            tell(c, (uint32_t)is, told);
        }
        i += was <= is;
        k += is <= was;
    }
}

struct role_list attachments_write(struct core *c, role_ix r, const struct json *names)
{
    struct vec old = role_at(c, r)->attaching;
    struct role_list told = {.items = arena_array(c->arena, role_ix, old.count + names->count)};
    if (!old.count && !names->count)
        return told;
    uint32_t *handles = arena_array(c->arena, uint32_t, names->count);
    const uint32_t count = hold_names(c, names, handles);
    struct role *role = role_derive(c, r);
    role->attaching = (struct vec){0};
    for (uint32_t i = 0; i < count; i++)
        vec_push(&c->heap, &role->attaching, handles[i]);
    index_move(c, r, &old, &role->attaching, &told);
    for (uint32_t i = 0; i < old.count; i++)
        blob_drop(&c->blobs, vec_at(c, &old, i));
    vec_clear(&c->heap, &old);
    return told;
}

/* ---- what a role requires, all told ---- */

/* The handle that its name has in the index. When nobody else holds that text, nobody attaches to
 * the role: the handle serves all the same, until the end of the turn. */
static uint32_t handle_of(struct core *c, role_ix r)
{
    const struct role *role = role_at(c, r);
    const struct str name = text_of(c, role->name), small = str_lower(c->arena, name);
    if (str_eq(name, small))
        return role->name;
    const uint32_t handle = text_hold(c, small);
    if (handle)
        blob_drop(&c->blobs, handle);
    return handle;
}

static int cmp_texts(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The roles that the document of `r` names itself, in order of their indices. */
static uint32_t *find_own(struct core *c, const struct json *own, uint32_t *out_count)
{
    uint32_t *found = arena_array(c->arena, uint32_t, own->count), count = 0;
    for (const struct json *name = own->first; name; name = name->next) {
        const uint32_t ix = name_find(c, TABLE_ROLE, name->text);
        if (ix)
            found[count++] = ix;
    }
    sort_items(found, count, sizeof *found, cmp_handles, c->arena);
    *out_count = count;
    return found;
}

static bool is_among(const uint32_t *items, uint32_t count, uint32_t wanted)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (items[mid] < wanted)
            low = mid + 1;
        else
            high = mid;
    }
    return low < count && items[low] == wanted;
}

/* Names of those that attach themselves to `r`, but for those it names itself; by name, so that it
 * does not matter who came first. */
static struct str *find_attached(struct core *c, role_ix r, const struct json *own,
                                 uint32_t *out_count)
{
    struct buf found = buf_in(c->arena);
    const uint32_t handle = handle_of(c, r);
    const uint32_t *owned = NULL;
    uint32_t owned_count = 0, attacher, count = 0;
    uint64_t key = key_of(handle, (role_ix){0});
    for (; handle && omap_ceil(&c->attachers, key, &key, &attacher) && key >> 32 == handle; key++) {
        if (!owned)
            owned = find_own(c, own, &owned_count);
        if (is_among(owned, owned_count, attacher))
            continue;
        const struct str name = text_of(c, role_at(c, (role_ix){attacher})->name);
        buf_put(&found, &name, sizeof name);
        count++;
    }
    struct str *names = (struct str *)(void *)found.at;
    sort_items(names, count, sizeof *names, cmp_texts, c->arena);
    *out_count = count;
    return names;
}

/* The first `own_requires` of what it requires are its own. */
static struct json *own_of(struct core *c, role_ix r)
{
    const struct role *role = role_at(c, r);
    const struct json *all = doc_tree(c->arena, text_of(c, role->requires));
    struct json *own = json_make(c->arena, JSON_ARRAY);
    for (const struct json *name = all->first; name && own->count < role->own_requires;
         name = name->next)
        json_append(own, json_make_string(c->arena, name->text));
    return own;
}

bool attachments_apply(struct core *c, role_ix r, struct json *own)
{
    uint32_t count;
    if (role_at(c, r)->flags & ROLE_WITHDRAWN)
        return false; /* it stays as it is */
    struct json *all = own ? own : own_of(c, r);
    const struct str *attached = find_attached(c, r, all, &count);
    if (role_at(c, r)->own_requires != all->count)
        role_derive(c, r)->own_requires = all->count;
    for (uint32_t i = 0; i < count; i++)
        json_append(all, json_make_string(c->arena, attached[i]));
    const struct str text = all->count ? json_write(c->arena, all) : STR("");
    if (str_eq(text_of(c, role_at(c, r)->requires), text))
        return false;
    put_doc(c, &role_edit(c, r)->requires, text);
    return true;
}

/* ---- after a load ---- */

static bool list_has(const struct json *list, struct str name)
{
    for (const struct json *item = list->first; item; item = item->next)
        if (str_eq_nocase(item->text, name))
            return true;
    return false;
}

/* Adds the names of a list, as an import read them: each once, ignoring case. */
static void add_names(struct arena *a, const struct json *list, struct json *names)
{
    for (const struct json *item = list ? list->first : NULL; item; item = item->next)
        if (item->kind == JSON_STRING && !list_has(names, item->text))
            json_append(names, json_make_string(a, item->text));
}

static void load_entry(struct core *c, barclamp_ix b, const struct json *entry)
{
    const struct json *name = json_get(entry, STR("name"));
    const role_ix r = {name ? name_find(c, TABLE_ROLE, name->text) : 0};
    if (!r.v || role_at(c, r)->barclamp.v != b.v)
        return;
    struct json *own = json_make(c->arena, JSON_ARRAY), *to = json_make(c->arena, JSON_ARRAY);
    add_names(c->arena, json_get(entry, STR("requires")), own);
    add_names(c->arena, json_get(entry, STR("attaches")), to);
    add_names(c->arena, json_get(entry, STR("preceeds")), to);
    role_derive(c, r)->own_requires = own->count;
    attachments_write(c, r, to);
}

void attachments_load(struct core *c)
{
    for (uint32_t ix = core_next_row(c, TABLE_BARCLAMP, 0); ix;
         ix = core_next_row(c, TABLE_BARCLAMP, barclamp_at(c, (barclamp_ix){ix})->o.id)) {
        const struct arena_mark mark = arena_mark(c->arena);
        const struct str document = text_of(c, barclamp_at(c, (barclamp_ix){ix})->cfg_data);
        const struct json *list = json_get(doc_tree(c->arena, document), STR("roles"));
        for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next)
            load_entry(c, (barclamp_ix){ix}, entry);
        arena_rewind(c->arena, mark);
    }
}

/* ---- trusting ---- */

const char *attachments_check(const struct core *c)
{
    uint32_t count = 0;
    const struct pool *roles = &c->tables[TABLE_ROLE].pool;
    for (uint32_t ix = pool_next(roles, 0); ix; ix = pool_next(roles, ix)) {
        const struct vec *names = &role_at(c, (role_ix){ix})->attaching;
        count += names->count;
        for (uint32_t i = 0; i < names->count; i++)
            if (omap_find(&c->attachers, key_of(vec_at(c, names, i), (role_ix){ix})) != ix)
                return "C11: a role is not found by what it attaches itself to";
    }
    if (!omap_check(&c->attachers))
        return "C10: a map is broken";
    return count == c->attachers.count ? NULL : "C11: somebody is found who attaches to nothing";
}
