#include "core/catalog/roles_private.h"

#include "base/json/json.h"
#include "model/names.h"

enum {
    MAP_STEPS_MAX = 32, /* steps of a map; the value must still be a valid document at that depth */
    ORDER_DEFAULT = 10000,
};

/* Attrib definitions: names for paths into the documents of a role or of nodes, with an optional
 * default and schema. This file owns the attrib rows and the list of attribs of each role. Rows
 * are written by imports and by commands.
 *
 * Order: before a definition changes or is removed, the roles that use it are noted in defaults.c,
 * because the old owner and the old wants are needed for that. Links of noderoles to an attrib
 * (links.c) are removed before its row. The caller resolves the names of roles again afterwards
 * (roles.c).
 *
 * Failure: the checks record every problem of a definition. An import skips such an attrib and
 * goes on; in both cases the step is rolled back. */

/* ---- checks ---- */

const char *attrib_check_map(struct str map)
{
    uint32_t steps = 1;
    if (map.len > MAP_LEN_MAX)
        return "must be at most 255 bytes";
    if (map.len == 0)
        return NULL;
    if (map.at[0] == '/' || map.at[map.len - 1] == '/')
        return "must not begin or end with a slash";
    for (uint32_t i = 1; i < map.len; i++) {
        if (map.at[i] == '/' && map.at[i - 1] == '/')
            return "must not have an empty step";
        steps += map.at[i] == '/';
    }
    return steps > MAP_STEPS_MAX ? "must have at most 32 steps" : NULL;
}

_Static_assert(MAP_LEN_MAX == 255 && MAP_STEPS_MAX == 32,
               "the messages above contain these numbers");

static struct str attrib_field(struct core *c, struct str path, const char *field)
{
    return path.len ? STR_CONCAT(c->arena, path, STR("/"), str_from(field)) : str_from(field);
}

static bool attrib_check_field(struct core *c, enum problem_code code, struct str path,
                               const char *field, const char *wrong)
{
    return !wrong || refuse(c, code, attrib_field(c, path, field),
                            STR_CONCAT(c->arena, str_from(field), STR(" "), str_from(wrong)));
}

static bool attrib_check_schema(struct core *c, const struct attrib_def *def, struct str path,
                                struct violations *warnings)
{
    struct violations errors = {0};
    const struct json *schema = doc_tree(c->arena, def->schema);
    if (schema->kind != JSON_OBJECT && schema->kind != JSON_NULL)
        return refuse(c, PROBLEM_SCHEMA_INVALID, attrib_field(c, path, "schema"),
                      STR_CONCAT(c->arena, STR("the schema of attrib "), def->name,
                                 STR(" must be an object")));
    return schema_check(c->arena, schema, &errors, warnings) ||
           refuse(c, PROBLEM_SCHEMA_INVALID, attrib_field(c, path, "schema"),
                  STR_CONCAT(c->arena, STR("in the schema of attrib "), def->name, STR(", "),
                             violations_format(c->arena, &errors)));
}

bool attrib_check(struct core *c, const struct attrib_def *def, struct str path,
                  struct violations *warnings)
{
    /* All checks run, so that every problem is reported. */
    const bool valid[] = {
        attrib_check_field(c, def->name.len ? PROBLEM_NAME_INVALID : PROBLEM_MISSING, path, "name",
                           names_check_attrib(def->name)),
        attrib_check_field(c, PROBLEM_BAD_TEXT, path, "description",
                           names_check_text(def->description)),
        attrib_check_field(c, PROBLEM_BAD_VALUE, path, "map", attrib_check_map(def->map)),
        attrib_check_field(c, PROBLEM_BAD_TEXT, path, "ui_renderer",
                           names_check_text(def->ui_renderer)),
        attrib_check_schema(c, def, path, warnings),
    };
    return valid[0] && valid[1] && valid[2] && valid[3] && valid[4];
}

bool attrib_default_fits(struct core *c, const struct attrib_def *def,
                         struct violations *violations)
{
    const struct json *schema = doc_tree(c->arena, def->schema);
    const struct json *value = json_get(doc_tree(c->arena, def->default_value), STR("value"));
    if (def->schema.len == 0 || !value || value->kind == JSON_NULL)
        return true;
    return schema_validate(c->arena, schema, def->name, value, violations);
}

/* ---- rows ---- */

static bool attrib_def_eq(const struct core *c, const struct attrib *a,
                          const struct attrib_def *def)
{
    return a->barclamp.v == def->barclamp.v && a->role.v == def->role.v && a->order == def->order &&
           a->writable == def->writable && str_eq(text_of(c, a->description), def->description) &&
           str_eq(text_of(c, a->map), def->map) &&
           str_eq(text_of(c, a->ui_renderer), def->ui_renderer) &&
           str_eq(text_of(c, a->schema), def->schema) &&
           str_eq(text_of(c, a->default_value), def->default_value);
}

static void attrib_remove_from_owner(struct core *c, attrib_ix ix)
{
    const role_ix owner = attrib_at(c, ix)->role;
    if (owner.v)
        ids_remove(c, &role_derive(c, owner)->attribs, TABLE_ATTRIB, ix.v);
}

static void attrib_add_to_owner(struct core *c, attrib_ix ix)
{
    const role_ix owner = attrib_at(c, ix)->role;
    if (owner.v)
        ids_insert(c, &role_derive(c, owner)->attribs, TABLE_ATTRIB, ix.v);
}

/* Adds the defaults of a definition; a schema makes an attrib writable. */
static struct attrib_def attrib_def_complete(const struct attrib_def *given)
{
    struct attrib_def def = *given;
    if (str_eq(def.schema, STR("{}")) || str_eq(def.schema, STR("null")))
        def.schema = STR("");
    if (str_eq(def.default_value, STR("{}")) || str_eq(def.default_value, STR("{\"value\":null}")))
        def.default_value = STR("");
    if (def.schema.len)
        def.writable = true;
    if (def.order == 0)
        def.order = ORDER_DEFAULT;
    if (def.ui_renderer.len == 0)
        def.ui_renderer = STR("attribs/default");
    return def;
}

bool attrib_write(struct core *c, attrib_ix ix, const struct attrib_def *given, attrib_ix *out_ix)
{
    const struct attrib_def def = attrib_def_complete(given);
    const bool fresh = !ix.v;
    if (!fresh && attrib_def_eq(c, attrib_at(c, ix), &def)) {
        *out_ix = ix;
        return false;
    }
    if (fresh)
        ix = attrib_add(c);
    *out_ix = ix;
    if (!ix.v)
        return false;
    /* Note the change for the roles that used the old definition, before it is overwritten. */
    struct attrib *a = attrib_edit(c, ix);
    const role_ix old_role = a->role;
    const bool changes_defaults = a->role.v != def.role.v ||
                                  !str_eq(text_of(c, a->default_value), def.default_value) ||
                                  (!fresh && !str_eq(text_of(c, a->map), def.map));
    if (changes_defaults && !fresh)
        defaults_attrib_changed(c, ix);
    if (fresh) {
        put_text(c, &a->name, def.name);
        name_add(c, TABLE_ATTRIB, ix.v);
    }
    /* The list of the owner is updated around the change of the owner. */
    attrib_remove_from_owner(c, ix);
    a->barclamp = def.barclamp;
    a->role = def.role;
    a->order = def.order;
    a->writable = def.writable;
    put_text(c, &a->description, def.description);
    put_text(c, &a->map, def.map);
    put_text(c, &a->ui_renderer, def.ui_renderer);
    put_doc(c, &a->schema, def.schema);
    put_doc(c, &a->default_value, def.default_value);
    attrib_add_to_owner(c, ix);
    /* The new owner was not noted above if it has changed or the attrib is new. */
    if (def.role.v && changes_defaults &&
        (fresh ? def.default_value.len > 0 : old_role.v != def.role.v))
        defaults_changed(c, def.role);
    return true;
}

/* ---- commands ---- */

static void attrib_check_default(struct core *c, const struct attrib_def *def)
{
    struct violations violations = {0};
    const struct json *tree = doc_tree(c->arena, def->default_value);
    const struct json *value = json_get(tree, STR("value"));
    if (tree->kind != JSON_OBJECT || tree->count != (value ? 1u : 0u))
        refuse(c, PROBLEM_BAD_JSON, STR("default_value"),
               STR("default_value must be an object with the single member value"));
    else if (!attrib_default_fits(c, def, &violations))
        refuse(c, PROBLEM_SCHEMA_VIOLATED, STR("default_value"),
               violations_format(c->arena, &violations));
}

void do_attrib_create(struct core *c, const struct attrib_create_command *p)
{
    struct violations warnings = {0};
    struct attrib_def def = {.name = p->name,
                             .description = p->description,
                             .map = p->map,
                             .ui_renderer = p->ui_renderer,
                             .schema = p->schema,
                             .default_value = p->default_value,
                             .order = p->order,
                             .writable = p->writable,
                             .barclamp = barclamp_by_id(c, p->barclamp_id),
                             .role = role_by_id(c, p->role_id)};
    if (p->barclamp_id && !def.barclamp.v)
        refuse_missing(c, "barclamp_id", "barclamp", p->barclamp_id);
    if (p->role_id && !def.role.v)
        refuse_missing(c, "role_id", "role", p->role_id);
    if (def.role.v && !def.barclamp.v)
        def.barclamp = role_at(c, def.role)->barclamp;
    if (attrib_check(c, &def, STR(""), &warnings))
        attrib_check_default(c, &def);
    if (name_find(c, TABLE_ATTRIB, p->name))
        refuse(c, PROBLEM_NAME_TAKEN, STR("name"),
               STR_CONCAT(c->arena, STR("there is an attrib called "), p->name, STR(" already")));
    attrib_ix ix;
    if (refused(c) || !attrib_write(c, (attrib_ix){0}, &def, &ix))
        return;
    c->out->id = attrib_at(c, ix)->o.id;
    roles_resolve_touched(c, &(struct roles_touched){0});
}

/* Removes the links of a noderole for the attrib. Links are pairs of ancestor and attrib. */
static void attrib_unlink_noderole(struct core *c, noderole_ix nr, attrib_ix attrib)
{
    for (uint32_t i = noderole_at(c, nr)->links.count; i > 0; i -= 2) {
        const struct vec *links = &noderole_at(c, nr)->links;
        if (vec_at(c, links, i - 1) != attrib.v)
            continue;
        const noderole_ix parent = {vec_at(c, links, i - 2)};
        relation_note(c, TABLE_LINK, true, noderole_at(c, parent)->o.id, noderole_at(c, nr)->o.id,
                      attrib_at(c, attrib)->o.id);
        struct noderole *row = noderole_derive(c, nr);
        vec_remove(&c->heap, &row->links, i - 1);
        vec_remove(&c->heap, &row->links, i - 2);
    }
}

static bool attrib_is_wanted_by(const struct core *c, const struct role *role, attrib_ix attrib)
{
    for (uint32_t i = 0; i < role->wanted.count; i += 2)
        if (vec_at(c, &role->wanted, i) == attrib.v)
            return true;
    return false;
}

/* Only noderoles of roles that want the attrib have links for it. */
static void attrib_unlink_all(struct core *c, attrib_ix attrib)
{
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_at(c, (role_ix){ix})->o.id)) {
        const struct role *role = role_at(c, (role_ix){ix});
        if (!attrib_is_wanted_by(c, role, attrib))
            continue;
        for (uint32_t i = 0; i < role->deployed.count; i++) {
            const deployment_role_ix dr = {vec_at(c, &role->deployed, i)};
            const struct vec *members = &deployment_role_at(c, dr)->noderoles;
            for (uint32_t k = 0; k < members->count; k++)
                attrib_unlink_noderole(c, (noderole_ix){vec_at(c, members, k)}, attrib);
        }
    }
}

void attrib_remove(struct core *c, attrib_ix ix)
{
    if (attrib_at(c, ix)->default_value)
        defaults_attrib_changed(c, ix);
    attrib_unlink_all(c, ix);
    attrib_remove_from_owner(c, ix);
    name_remove(c, TABLE_ATTRIB, ix.v);
    struct attrib *a = attrib_edit(c, ix);
    put_text(c, &a->name, STR(""));
    put_text(c, &a->description, STR(""));
    put_text(c, &a->map, STR(""));
    put_text(c, &a->ui_renderer, STR(""));
    put_doc(c, &a->schema, STR(""));
    put_doc(c, &a->default_value, STR(""));
    core_remove_row(c, TABLE_ATTRIB, ix.v);
}

void do_attrib_delete(struct core *c, const struct attrib_delete_command *p)
{
    const attrib_ix ix = attrib_by_id(c, p->id);
    if (!ix.v) {
        refuse_missing(c, "id", "attrib", p->id);
        return;
    }
    c->out->id = p->id;
    attrib_remove(c, ix);
    roles_resolve_touched(c, &(struct roles_touched){.attribs = true});
}
