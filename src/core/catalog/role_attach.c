#include "core/catalog/roles_private.h"

#include "base/containers/sort.h"

/* Attachments: requirements that the required role declares. That X requires Y can be declared by
 * X ("requires") or by Y ("attaches", in later barclamps of OpenCrowbar "preceeds"). X requires Y
 * as long as one of the two documents declares it, whichever was imported first.
 *
 * This file owns role.attaching (the names that a role attaches itself to), role.own_requires (how
 * many of its requirements its own document declares) and c->attachers, an index of (name,
 * attaching role). Names ignore case and equal strings share one reference-counted handle, so the
 * handle of the lower-case name is the key. All three are derived state and are not stored:
 * attachments_load() rebuilds them from the documents of the barclamps. The result, role.requires,
 * is stored: first the own requirements, then the attaching roles sorted by name.
 *
 * Order. An import calls attachments_write() for every role of the document first, and then
 * attachments_apply() for these roles and for every other role that gained or lost an attachment:
 * a role may attach itself to one that the document defines later. When a list of names is
 * replaced, the new references are added before the old ones are dropped, so that a name in both
 * lists always has a reference.
 *
 * Failure. The only refusal is LIMIT_REACHED, if the table of strings is full: the name is left
 * out, and the step is rolled back with list, index and references. */

static uint64_t attacher_key(uint32_t handle, role_ix attacher)
{
    return (uint64_t)handle << 32 | attacher.v;
}

/* ---- index of attachments ---- */

static int attach_cmp_u32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Writes the handles of the lower-case names to `handles`, sorted, each once, and adds one
 * reference to each. Returns their number. */
static uint32_t attach_add_names(struct core *c, const struct json *names, uint32_t *handles)
{
    uint32_t count = 0, kept = 0;
    for (const struct json *name = names->first; name; name = name->next) {
        const uint32_t handle = text_add_reference(c, str_lower(c->arena, name->text));
        if (handle)
            handles[count++] = handle;
    }
    sort_items(handles, count, sizeof *handles, attach_cmp_u32, c->arena);
    for (uint32_t i = 0; i < count; i++)
        if (kept && handles[kept - 1] == handles[i])
            blob_drop(&c->blobs, handles[i]);
        else
            handles[kept++] = handles[i];
    return kept;
}

/* Adds the role with this name, if it exists, to the roles whose requirements must be written. */
static void attach_note_affected(struct core *c, uint32_t handle, struct role_list *affected)
{
    const role_ix on = {name_find(c, TABLE_ROLE, text_of(c, handle))};
    if (on.v)
        affected->items[affected->count++] = on;
}

/* Updates the index from the old names to the new ones: a merge of two sorted lists, in which
 * names that both contain are skipped. */
static void attach_update_index(struct core *c, role_ix r, const struct vec *old,
                                const struct vec *fresh, struct role_list *affected)
{
    uint32_t i = 0, k = 0;
    while (i < old->count || k < fresh->count) {
        const uint64_t was = i < old->count ? vec_at(c, old, i) : UINT64_MAX;
        const uint64_t is = k < fresh->count ? vec_at(c, fresh, k) : UINT64_MAX;
        if (was < is) {
            must(omap_remove(&c->attachers, attacher_key((uint32_t)was, r)));
            attach_note_affected(c, (uint32_t)was, affected);
        } else if (is < was) {
            omap_put(&c->attachers, attacher_key((uint32_t)is, r), r.v);
            attach_note_affected(c, (uint32_t)is, affected);
        }
        i += was <= is;
        k += is <= was;
    }
}

struct role_list attachments_write(struct core *c, role_ix r, const struct json *names)
{
    struct vec old = role_at(c, r)->attaching;
    struct role_list affected = {.items = arena_array(c->arena, role_ix, old.count + names->count)};
    if (!old.count && !names->count)
        return affected;
    uint32_t *handles = arena_array(c->arena, uint32_t, names->count);
    const uint32_t count = attach_add_names(c, names, handles);
    struct role *role = role_derive(c, r);
    role->attaching = (struct vec){0};
    for (uint32_t i = 0; i < count; i++)
        vec_push(&c->heap, &role->attaching, handles[i]);
    attach_update_index(c, r, &old, &role->attaching, &affected);
    for (uint32_t i = 0; i < old.count; i++)
        blob_drop(&c->blobs, vec_at(c, &old, i));
    vec_clear(&c->heap, &old);
    return affected;
}

/* ---- requirements of a role ---- */

/* Returns the handle of the lower-case name of a role, the key of the index; 0 if the table of
 * strings is full. The reference that finds the handle is dropped at once. If it was the only one,
 * no role attaches itself to the name; the handle remains valid until the end of the turn. */
static uint32_t attach_name_handle(struct core *c, role_ix r)
{
    const struct role *role = role_at(c, r);
    const struct str name = text_of(c, role->name), lower = str_lower(c->arena, name);
    if (str_eq(name, lower))
        return role->name;
    const uint32_t handle = text_add_reference(c, lower);
    if (handle)
        blob_drop(&c->blobs, handle);
    return handle;
}

static int attach_cmp_names(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The existing roles among the requirements `own`, as row indices, sorted. */
static uint32_t *attach_find_own(struct core *c, const struct json *own, uint32_t *out_count)
{
    uint32_t *found = arena_array(c->arena, uint32_t, own->count), count = 0;
    for (const struct json *name = own->first; name; name = name->next) {
        const uint32_t ix = name_find(c, TABLE_ROLE, name->text);
        if (ix)
            found[count++] = ix;
    }
    sort_items(found, count, sizeof *found, attach_cmp_u32, c->arena);
    *out_count = count;
    return found;
}

static bool attach_is_among(const uint32_t *items, uint32_t count, uint32_t wanted)
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

/* Names of the roles that attach themselves to `r`, without those that its own document requires.
 * Sorted by name, so that the result does not depend on the order of imports. */
static struct str *attach_find_attached(struct core *c, role_ix r, const struct json *own,
                                        uint32_t *out_count)
{
    struct buf found = buf_in(c->arena);
    const uint32_t handle = attach_name_handle(c, r);
    const uint32_t *own_roles = NULL;
    uint32_t own_count = 0, attacher, count = 0;
    uint64_t key = attacher_key(handle, (role_ix){0});
    for (; handle && omap_ceil(&c->attachers, key, &key, &attacher) && key >> 32 == handle; key++) {
        if (!own_roles)
            own_roles = attach_find_own(c, own, &own_count);
        if (attach_is_among(own_roles, own_count, attacher))
            continue;
        const struct str name = text_of(c, role_at(c, (role_ix){attacher})->name);
        buf_put(&found, &name, sizeof name);
        count++;
    }
    struct str *names = (struct str *)(void *)found.at;
    sort_items(names, count, sizeof *names, attach_cmp_names, c->arena);
    *out_count = count;
    return names;
}

/* The requirements of the role without attachments: the first `own_requires` of its list. */
static struct json *attach_own_requires(struct core *c, role_ix r)
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
        return false; /* its barclamp does not define it any more; it keeps its requirements */
    struct json *all = own ? own : attach_own_requires(c, r);
    const struct str *attached = attach_find_attached(c, r, all, &count);
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

static bool attach_list_has(const struct json *list, struct str name)
{
    for (const struct json *item = list->first; item; item = item->next)
        if (str_eq_nocase(item->text, name))
            return true;
    return false;
}

/* Adds the names of a list as an import does: each once, ignoring case. */
static void attach_collect_names(struct arena *a, const struct json *list, struct json *names)
{
    for (const struct json *item = list ? list->first : NULL; item; item = item->next)
        if (item->kind == JSON_STRING && !attach_list_has(names, item->text))
            json_append(names, json_make_string(a, item->text));
}

/* Rebuilds the derived state of one role from its entry in the document of barclamp `b`. An entry
 * for a role that another barclamp has taken over is ignored. */
static void attach_load_role(struct core *c, barclamp_ix b, const struct json *entry)
{
    const struct json *name = json_get(entry, STR("name"));
    const role_ix r = {name ? name_find(c, TABLE_ROLE, name->text) : 0};
    if (!r.v || role_at(c, r)->barclamp.v != b.v)
        return;
    struct json *own = json_make(c->arena, JSON_ARRAY), *to = json_make(c->arena, JSON_ARRAY);
    attach_collect_names(c->arena, json_get(entry, STR("requires")), own);
    attach_collect_names(c->arena, json_get(entry, STR("attaches")), to);
    attach_collect_names(c->arena, json_get(entry, STR("preceeds")), to);
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
            attach_load_role(c, (barclamp_ix){ix}, entry);
        arena_rewind(c->arena, mark);
    }
}

/* ---- invariants (docs/invariants.md) ---- */

const char *attachments_check(const struct core *c)
{
    uint32_t count = 0;
    const struct pool *roles = &c->tables[TABLE_ROLE].pool;
    for (uint32_t ix = pool_next(roles, 0); ix; ix = pool_next(roles, ix)) {
        const struct vec *names = &role_at(c, (role_ix){ix})->attaching;
        count += names->count;
        for (uint32_t i = 0; i < names->count; i++)
            if (omap_find(&c->attachers, attacher_key(vec_at(c, names, i), (role_ix){ix})) != ix)
                return "C11: an attachment of a role is missing in the index";
    }
    if (!omap_check(&c->attachers))
        return "C10: a map is broken";
    return count == c->attachers.count ? NULL : "C11: the index has an attachment that no role has";
}
