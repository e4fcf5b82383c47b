#include "core/catalog/import_private.h"
#include "core/network/network_private.h"

#include "model/names.h"

/* Entries of a barclamp document that are made for each network (`per: network`): roles, and
 * attribs of nodes (docs/spec/barclamp-format.md, Entries for each network).
 *
 * The stored document keeps such an entry once, with "{name}" where the name of the network
 * belongs. An import makes a copy of the entry for each network, in which "{name}" is replaced,
 * and imports the copy like any other entry. When a network is created, the entries of all
 * barclamps are imported for that network alone, in the same step: other entries of the documents
 * are not read again, so that values which an operator has changed since stay. When a network is
 * deleted, its roles are removed with their noderoles, and the attribs that were made for it.
 *
 * Order of a removal: the dependants are checked before anything is destroyed; noderoles precede
 * deployment roles, and these the role, because each refers to the next; names are resolved last.
 *
 * Failure: a problem refuses the command that created or deleted the network. An entry is checked
 * once with a network name of the maximum length when it is imported, also if there is no network,
 * so later only names that exist already can be in the way. */

enum { NODEROLE_ROWS = 4 }; /* the work of removing a noderole, in rows of other tables */

static const struct str VARIABLE = {NAME_VARIABLE, sizeof NAME_VARIABLE - 1};

/* ---- copies of an entry ---- */

static struct str per_replace_name(struct arena *a, struct str text, struct str name)
{
    struct buf b = buf_in(a);
    if (!str_has(text, VARIABLE))
        return text;
    for (uint32_t i = 0; i < text.len;) {
        if (str_starts(str_slice(text, i, text.len), VARIABLE)) {
            buf_put_str(&b, name);
            i += VARIABLE.len;
        } else {
            buf_put_c(&b, text.at[i++]);
        }
    }
    return buf_str(&b);
}

/* Schemas are copied as they are: braces have a meaning in their patterns. The recursion is bounded
 * by the depth of documents. */
struct json *import_per_copy(struct arena *a, const struct json *value, struct str name)
{
    struct json *copy = json_make(a, value->kind);
    copy->text = value->kind == JSON_STRING ? per_replace_name(a, value->text, name) : value->text;
    for (const struct json *child = value->first; child; child = child->next) {
        if (value->kind == JSON_ARRAY)
            json_append(copy, import_per_copy(a, child, name));
        else if (str_eq(child->key, STR("schema")))
            json_set(copy, child->key, json_clone(a, child));
        else
            json_set(copy, child->key, import_per_copy(a, child, name));
    }
    return copy;
}

/* All copies of an entry are in memory at the same time, up to NETWORKS_MAX of them. */
enum { ENTRY_BYTES_MAX = 16384 };
_Static_assert(ENTRY_BYTES_MAX == 16384, "a message contains this number");

struct json *import_per_sample(struct import *im, const struct json *entry, struct str path)
{
    struct arena *a = im->c->arena;
    struct buf name = buf_in(a);
    for (uint32_t i = 0; i < NETWORK_NAME_LEN_MAX; i++)
        buf_put_c(&name, 'n');
    struct json *copy = import_per_copy(a, entry, buf_str(&name));
    if (json_write(a, copy).len > ENTRY_BYTES_MAX)
        import_refuse(im, PROBLEM_LIMIT_REACHED, path,
                      STR("is longer than 16384 bytes with the name of a network"));
    return copy;
}

/* ---- checks of an entry ---- */

bool import_is_per_network(struct import *im, const struct json *entry, struct str path)
{
    const struct json *per = import_get(entry, "per");
    if (per && (per->kind != JSON_STRING || !str_eq(per->text, STR("network"))))
        import_refuse(im, PROBLEM_BAD_VALUE, import_path_of(im, path, "per"),
                      STR("per must be network, the only kind of object that entries can be made "
                          "for"));
    return per != NULL;
}

/* Texts for readers and values may contain braces without a meaning. */
static bool per_is_free_text(struct str key)
{
    return str_eq(key, STR("schema")) || str_eq(key, STR("default")) ||
           str_eq(key, STR("description"));
}

/* The recursion is bounded by the depth of documents. */
static void per_refuse_variables(struct import *im, const struct json *value, struct str path)
{
    uint32_t i = 0;
    if (value->kind == JSON_STRING && str_has(value->text, VARIABLE))
        import_refuse(im, PROBLEM_BAD_VALUE, path,
                      STR("contains {name}, which is replaced only in an entry with per: network"));
    for (const struct json *child = value->first; child && !import_is_given_up(im);
         child = child->next, i++)
        if (value->kind == JSON_ARRAY)
            per_refuse_variables(im, child, import_path_at(im, path, i));
        else if (!per_is_free_text(child->key))
            per_refuse_variables(im, child, STR_CONCAT(im->c->arena, path, STR("/"), child->key));
}

bool import_has_stray_variable(struct import *im, const struct json *entry, struct str path)
{
    const uint32_t before = im->problems;
    if (im->has_variable)
        per_refuse_variables(im, entry, path);
    return im->problems != before;
}

/* The name must differ from network to network. */
void import_check_per_name(struct import *im, const struct json *entry, struct str path)
{
    const struct json *name = entry->kind == JSON_OBJECT ? import_get(entry, "name") : NULL;
    if (name && name->kind == JSON_STRING && name->text.len && !str_has(name->text, VARIABLE))
        import_refuse(im, PROBLEM_NAME_INVALID, import_path_of(im, path, "name"),
                      STR("name must contain {name}, because the entry is made for each network"));
}

void import_check_per_role(struct import *im, const struct json *entry, uint32_t position)
{
    const struct str path = import_path_at(im, STR("roles"), position);
    const struct json *name = import_get(entry, "name");
    const struct json *list = import_get(im->doc, "roles");
    uint32_t i = 0;
    import_check_per_name(im, entry, path);
    if (!name || name->kind != JSON_STRING)
        return;
    const char *wrong = names_check_role_pattern(name->text);
    if (wrong && str_has(name->text, VARIABLE))
        import_refuse(im, PROBLEM_NAME_INVALID, import_path_of(im, path, "name"),
                      STR_CONCAT(im->c->arena, STR("name "), str_from(wrong)));
    for (const struct json *other = list->first; other && i < position; other = other->next, i++) {
        const struct json *same = import_get(other, "name");
        if (same && same->kind == JSON_STRING && str_eq_nocase(same->text, name->text))
            import_refuse(
                im, PROBLEM_NAME_TAKEN, import_path_of(im, path, "name"),
                STR_CONCAT(im->c->arena, STR("role "), name->text, STR(" is defined twice")));
    }
    i = 0;
    for (const struct json *attrib = import_list(im, entry, "attribs", path);
         attrib && !import_is_given_up(im); attrib = attrib->next, i++)
        import_check_per_name(im, attrib,
                              import_path_at(im, import_path_of(im, path, "attribs"), i));
}

/* True if the document has an attrib of nodes of this name that is not made for each network. */
static bool per_document_has_attrib(const struct json *doc, struct str name)
{
    const struct json *list = json_get(doc, STR("attribs"));
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        const struct json *own = import_get(entry, "per") ? NULL : import_get(entry, "name");
        if (own && str_eq_nocase(own->text, name))
            return true;
    }
    return false;
}

bool import_attrib_is_in_the_way(const struct import *im, attrib_ix ix,
                                 const struct attrib_def *def)
{
    return im->attribs_seen[ix.v] ||
           (im->network.v && attrib_at(im->c, ix)->role.v != def->role.v) ||
           per_document_has_attrib(im->doc, def->name);
}

/* ---- networks of an import ---- */

network_ix import_next_network(const struct import *im, network_ix after)
{
    const struct core *c = im->c;
    if (im->network.v)
        return after.v ? (network_ix){0} : im->network;
    /* What was made for a network that is being deleted stays as it is until then. */
    network_ix w = after;
    do
        w.v = core_next_row(c, TABLE_NETWORK, w.v ? network_at(c, w)->o.id : 0);
    while (w.v && network_at(c, w)->deleting);
    return w;
}

uint32_t import_network_count(const struct core *c, network_ix only)
{
    return only.v ? 1 : c->tables[TABLE_NETWORK].pool.live;
}

bool barclamp_document_has_per(struct str document)
{
    return str_has(document, STR("\"per\":\"network\""));
}

/* The barclamp with the smallest id above `after` whose document has entries for networks. */
static barclamp_ix per_next_barclamp(const struct core *c, int64_t after)
{
    barclamp_ix b = {core_next_row(c, TABLE_BARCLAMP, after)};
    while (b.v && !barclamp_at(c, b)->has_per)
        b.v = core_next_row(c, TABLE_BARCLAMP, barclamp_at(c, b)->o.id);
    return b;
}

void network_roles_make(struct core *c, network_ix w)
{
    for (barclamp_ix b = per_next_barclamp(c, 0); b.v && !refused(c);
         b = per_next_barclamp(c, barclamp_at(c, b)->o.id))
        import_for_network(c, b, w);
}

void role_set_network(struct core *c, role_ix r, network_ix w)
{
    const network_ix old = network_by_id(c, role_at(c, r)->network_id);
    if (old.v == w.v)
        return;
    if (old.v)
        ids_remove(c, &network_derive(c, old)->roles, TABLE_ROLE, r.v);
    if (w.v)
        ids_insert(c, &network_derive(c, w)->roles, TABLE_ROLE, r.v);
    role_edit(c, r)->network_id = w.v ? network_at(c, w)->o.id : 0;
}

void network_roles_load(struct core *c)
{
    const struct pool *roles = &c->tables[TABLE_ROLE].pool;
    for (uint32_t ix = pool_next(roles, 0); ix; ix = pool_next(roles, ix)) {
        const network_ix w = network_by_id(c, role_at(c, (role_ix){ix})->network_id);
        if (w.v)
            ids_insert(c, &network_derive(c, w)->roles, TABLE_ROLE, ix);
    }
}

/* ---- removal ---- */

/* A copy of the list of its roles, which changes when they are removed. */
static struct role_list network_roles_list(struct core *c, network_ix w)
{
    const struct vec *roles = &network_at(c, w)->roles;
    struct role_list list = {arena_array(c->arena, role_ix, roles->count + 1), roles->count};
    for (uint32_t i = 0; i < roles->count; i++)
        list.items[i] = (role_ix){vec_at(c, roles, i)};
    return list;
}

/* A child of a role of the same network is removed as well. */
static void network_role_check_children(struct core *c, noderole_ix nr, int64_t network_id)
{
    const struct vec *children = &noderole_at(c, nr)->children;
    for (uint32_t i = 0; i < children->count; i++) {
        const noderole_ix child = {vec_at(c, children, i)};
        if (role_at(c, noderole_at(c, child)->role)->network_id != network_id)
            refuse(c, PROBLEM_HAS_DEPENDANTS, STR("id"),
                   STR_CONCAT(c->arena, noderole_label(c, child, c->arena), STR(" depends on "),
                              noderole_label(c, nr, c->arena)));
    }
}

static void network_role_check_dependants(struct core *c, role_ix r)
{
    const int64_t network_id = role_at(c, r)->network_id;
    for (uint32_t i = 0; i < role_at(c, r)->deployed.count; i++) {
        const deployment_role_ix dr = {vec_at(c, &role_at(c, r)->deployed, i)};
        const struct vec *members = &deployment_role_at(c, dr)->noderoles;
        for (uint32_t k = 0; k < members->count && c->problem_count < PROBLEMS_MAX; k++)
            network_role_check_children(c, (noderole_ix){vec_at(c, members, k)}, network_id);
    }
}

/* Remove noderoles one by one, each without children, because a child is removed with its parents.
 * Children have higher cohorts, so the walk down ends. */
static bool deployment_role_empty_some(struct core *c, deployment_role_ix dr, struct deletion *d)
{
    while (deployment_role_at(c, dr)->noderoles.count) {
        if (!deletion_goes_on(c, d))
            return false;
        const struct vec *members = &deployment_role_at(c, dr)->noderoles;
        noderole_ix last = {vec_at(c, members, members->count - 1)};
        while (noderole_at(c, last)->children.count) {
            const struct vec *children = &noderole_at(c, last)->children;
            last.v = vec_at(c, children, children->count - 1);
        }
        deletion_count(d, NODEROLE_ROWS);
        noderole_destroy_all(c, &last, 1);
    }
    return true;
}

bool network_roles_unbind_some(struct core *c, network_ix w, struct deletion *d)
{
    for (uint32_t i = 0; i < network_at(c, w)->roles.count; i++) {
        const role_ix r = {vec_at(c, &network_at(c, w)->roles, i)};
        while (role_at(c, r)->deployed.count) {
            const struct vec *deployed = &role_at(c, r)->deployed;
            const deployment_role_ix dr = {vec_at(c, deployed, deployed->count - 1)};
            if (!deployment_role_empty_some(c, dr, d) || !deletion_goes_on(c, d))
                return false;
            deletion_count(d, NODEROLE_ROWS);
            deployment_role_destroy(c, dr);
        }
    }
    return true;
}

uint32_t network_roles_count_bound(const struct core *c, network_ix w)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < network_at(c, w)->roles.count; i++)
        count += role_count_bound(c, (role_ix){vec_at(c, &network_at(c, w)->roles, i)});
    return count;
}

/* Remove the attribs of nodes that the barclamp defines for the network. An attrib of another
 * barclamp with the same name stays. */
static void per_remove_node_attribs(struct import *im, barclamp_ix b, struct str network)
{
    struct core *c = im->c;
    const struct json *doc = doc_tree(c->arena, doc_of(c, barclamp_at(c, b)->cfg_data));
    const struct json *list = json_get(doc, STR("attribs"));
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        const struct json *name = import_get(entry, "per") ? import_get(entry, "name") : NULL;
        if (!name)
            continue;
        const attrib_ix a = {
            name_find(c, TABLE_ATTRIB, per_replace_name(c->arena, name->text, network))};
        if (!a.v || attrib_at(c, a)->barclamp.v != b.v || attrib_at(c, a)->role.v)
            continue;
        attrib_remove(c, a);
        im->changed = im->attribs_moved = true;
    }
}

bool network_roles_check_removal(struct core *c, network_ix w)
{
    for (uint32_t i = 0; i < network_at(c, w)->roles.count; i++) {
        const role_ix r = {vec_at(c, &network_at(c, w)->roles, i)};
        network_role_check_dependants(c, r);
        for (uint32_t k = 0; k < role_at(c, r)->deployed.count; k++)
            authority_touch(c, deployment_role_at(
                                   c, (deployment_role_ix){vec_at(c, &role_at(c, r)->deployed, k)})
                                   ->deployment);
    }
    return !refused(c);
}

void network_roles_remove(struct core *c, network_ix w)
{
    const struct role_list roles = network_roles_list(c, w);
    const struct str name = text_of(c, network_at(c, w)->name);
    struct import im = import_begin(c, json_make(c->arena, JSON_OBJECT), w);
    for (uint32_t i = 0; i < roles.count; i++)
        import_remove_role(&im, roles.items[i]);
    for (barclamp_ix b = per_next_barclamp(c, 0); b.v;
         b = per_next_barclamp(c, barclamp_at(c, b)->o.id))
        per_remove_node_attribs(&im, b, name);
    if (im.withdrawn)
        roles_drop_references(c);
    import_write_requires(&im);
    import_end(&im);
}

/* ---- check ---- */

static const char *network_role_check(const struct core *c, const struct role *role,
                                      struct arena *a)
{
    const struct str pattern = text_of(c, role->per_name);
    const network_ix w = network_by_id(c, role->network_id);
    if (!role->network_id)
        return pattern.len ? "C19: a role without a network has a pattern of names" : NULL;
    if (!w.v)
        return "C19: a role is made for a network that does not exist";
    if (!ids_has(c, &network_at(c, w)->roles, TABLE_ROLE,
                 name_find(c, TABLE_ROLE, text_of(c, role->name))))
        return "C19: a network does not list one of its roles";
    return str_eq(per_replace_name(a, pattern, text_of(c, network_at(c, w)->name)),
                  text_of(c, role->name))
               ? NULL
               : "C19: the name of a role is not made of its network";
}

const char *network_roles_check(const struct core *c, struct arena *a)
{
    const struct pool *roles = &c->tables[TABLE_ROLE].pool;
    const struct pool *barclamps = &c->tables[TABLE_BARCLAMP].pool;
    const struct pool *networks = &c->tables[TABLE_NETWORK].pool;
    for (uint32_t ix = pool_next(barclamps, 0); ix; ix = pool_next(barclamps, ix)) {
        const struct barclamp *b = barclamp_at(c, (barclamp_ix){ix});
        if (b->has_per != barclamp_document_has_per(text_of(c, b->cfg_data)))
            return "C19: a barclamp is not marked as having entries for networks";
    }
    uint32_t of_networks = 0, listed = 0;
    for (uint32_t ix = pool_next(roles, 0); ix; ix = pool_next(roles, ix)) {
        const char *what = network_role_check(c, role_at(c, (role_ix){ix}), a);
        if (what)
            return what;
        of_networks += role_at(c, (role_ix){ix})->network_id != 0;
    }
    for (uint32_t ix = pool_next(networks, 0); ix; ix = pool_next(networks, ix))
        listed += network_at(c, (network_ix){ix})->roles.count;
    return listed == of_networks ? NULL : "C19: a network lists a role that is not its own";
}
