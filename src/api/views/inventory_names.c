#include "api/views/inventory_names.h"

#include "base/containers/sort.h"
#include "base/hash/hash.h"
#include "base/text/buf.h"

/* Unique names of groups. The table of hashes (struct inventory_names) belongs to the caller, and
 * is in its arena.
 *
 * Order: all names are added and sorted by the last call of inventory_names_add(), before the first
 * name is requested, because a name is unique only relative to all others.
 *
 * Nothing can fail. Objects that are created after inventory_names_new() may be missing in the
 * table, which has space for the objects of that moment; their names can then collide. Two names
 * with equal hashes count as equal: one of them gets a suffix that it would not need. */

static const struct {
    enum table table;
    char letter; /* letter in suffixes */
} kinds[INVENTORY_KINDS] = {
    [INVENTORY_DEPLOYMENT] = {TABLE_DEPLOYMENT, 'd'},
    [INVENTORY_ROLE] = {TABLE_ROLE, 'r'},
    [INVENTORY_GROUP] = {TABLE_GROUP, 'g'},
};

struct inventory_used {
    uint64_t hash; /* hash of the name without a suffix and of the kind */
    int64_t id;
};

/* ---- names without suffix ---- */

/* Replaces all bytes but letters and digits by underscores. */
static struct str inventory_plain_name(struct arena *a, struct str name)
{
    struct buf b = buf_in(a);
    for (uint32_t i = 0; i < name.len; i++) {
        const char c = name.at[i];
        buf_put_c(&b, char_is_letter(c) || char_is_digit(c) ? c : '_');
    }
    return buf_str(&b);
}

static struct str inventory_deployment_name(struct arena *a, struct str name)
{
    /* The prefixes of the names of other kinds; the last four are categories of groups. */
    static const char *const taken[] = {"deployment_", "role_", "state_", "ui_",
                                        "rack_",       "tag_",  "class_"};
    const struct str plain = inventory_plain_name(a, name);
    bool clashes = str_eq(plain, STR("all")) || str_eq(plain, STR("ungrouped")) || plain.len == 0 ||
                   char_is_digit(plain.at[0]);
    for (uint32_t i = 0; i < sizeof taken / sizeof *taken; i++)
        clashes |= str_starts(plain, str_from(taken[i]));
    return clashes ? STR_CONCAT(a, STR("deployment_"), plain) : plain;
}

/* Name of the object, prefix of its group, and name of the group without suffix. All empty if the
 * object was deleted. */
struct naming {
    struct str name, prefix, bare;
};

static struct naming inventory_naming(const struct core *core, struct inventory_object object,
                                      struct arena *a)
{
    struct record r;
    struct naming n = {.name = STR(""), .prefix = STR(""), .bare = STR("")};
    if (!core_record(core, kinds[object.kind].table, object.id, &r))
        return n;
    if (r.table == TABLE_DEPLOYMENT) {
        n.name = r.deployment.name;
        n.bare = inventory_deployment_name(a, n.name);
        return n;
    }
    n.name = r.table == TABLE_ROLE ? r.role.name : r.group.name;
    n.prefix = r.table == TABLE_ROLE ? STR("role_") : STR_CONCAT(a, r.group.category, STR("_"));
    n.bare = inventory_plain_name(a, STR_CONCAT(a, n.prefix, n.name));
    return n;
}

/* ---- unique names ---- */

struct inventory_names inventory_names_new(const struct core *core, struct arena *a)
{
    struct inventory_names n = {0};
    for (uint32_t i = 0; i < INVENTORY_KINDS; i++)
        n.max += core_count(core, kinds[i].table);
    n.at = arena_array(a, struct inventory_used, n.max + (size_t)1);
    return n;
}

static int inventory_cmp_used(const void *a, const void *b)
{
    const struct inventory_used *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

bool inventory_names_add(struct inventory_names *n, const struct core *core, struct arena *scratch)
{
    while (n->kind < INVENTORY_KINDS && n->count < n->max) {
        n->id = core_next_id(core, kinds[n->kind].table, n->id);
        if (n->id == 0) {
            n->kind++;
            continue;
        }
        const struct inventory_object object = {(enum inventory_kind)n->kind, n->id};
        const struct str bare = inventory_naming(core, object, scratch).bare;
        n->at[n->count++] = (struct inventory_used){.hash = hash64(bare, n->kind), .id = n->id};
        return true;
    }
    sort_items(n->at, n->count, sizeof *n->at, inventory_cmp_used, scratch);
    return false;
}

/* Does an object with a lower id have the same name? */
static bool inventory_name_is_taken(const struct inventory_names *n, uint64_t hash, int64_t id)
{
    uint32_t low = 0, high = n->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (n->at[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n->count && n->at[low].hash == hash && n->at[low].id < id;
}

/* Does the name end with "__", the letter of a kind and digits? */
static bool inventory_name_has_suffix(struct str name)
{
    uint32_t end = name.len;
    while (end > 0 && char_is_digit(name.at[end - 1]))
        end--;
    return end < name.len && end >= 3 && name.at[end - 2] == '_' && name.at[end - 3] == '_' &&
           str_find(STR("drg"), name.at[end - 1], 0) < 3;
}

static struct str inventory_name_with_suffix(const struct inventory_names *n,
                                             struct inventory_object object, struct str bare,
                                             struct arena *a)
{
    struct buf b = buf_in(a);
    if (!inventory_name_is_taken(n, hash64(bare, object.kind), object.id) &&
        !inventory_name_has_suffix(bare))
        return bare;
    buf_put_str(&b, bare);
    buf_put_z(&b, "__");
    buf_put_c(&b, kinds[object.kind].letter);
    buf_put_i64(&b, object.id);
    return buf_str(&b);
}

struct str inventory_names_get(const struct inventory_names *n, const struct core *core,
                               struct inventory_object object, struct arena *a)
{
    const struct naming naming = inventory_naming(core, object, a);
    return naming.bare.len ? inventory_name_with_suffix(n, object, naming.bare, a) : STR("");
}

bool inventory_names_differs(const struct inventory_names *n, const struct core *core,
                             struct inventory_object object, struct arena *a, struct str *out_name)
{
    const struct naming naming = inventory_naming(core, object, a);
    *out_name = naming.name;
    return naming.bare.len && !str_eq(inventory_name_with_suffix(n, object, naming.bare, a),
                                      STR_CONCAT(a, naming.prefix, naming.name));
}
