#include "core/catalog/roles_private.h"

#include "base/json/json.h"
#include "model/names.h"

enum { MAP_STEPS_MAX = 32 }; /* a value wrapped at its map has to stay a document we can write */
enum { ORDER_DEFAULT = 10000 };

/* ---- is it well formed? ---- */

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

_Static_assert(MAP_LEN_MAX == 255 && MAP_STEPS_MAX == 32, "the texts above say so");

static struct str field_in(struct core *c, struct str place, const char *field)
{
    return place.len ? STR_CONCAT(c->arena, place, STR("/"), str_from(field)) : str_from(field);
}

static bool check_field(struct core *c, enum problem_code code, struct str place, const char *field,
                        const char *wrong)
{
    return !wrong || refuse(c, code, field_in(c, place, field),
                            STR_CONCAT(c->arena, str_from(field), STR(" "), str_from(wrong)));
}

static bool check_schema(struct core *c, const struct attrib_facts *facts, struct str place,
                         struct violations *warnings)
{
    struct violations errors = {0};
    const struct json *schema = doc_tree(c->arena, facts->schema);
    if (schema->kind != JSON_OBJECT && schema->kind != JSON_NULL)
        return refuse(c, PROBLEM_SCHEMA_INVALID, field_in(c, place, "schema"),
                      STR_CONCAT(c->arena, STR("the schema of attrib "), facts->name,
                                 STR(" must be an object")));
    return schema_check(c->arena, schema, &errors, warnings) ||
           refuse(c, PROBLEM_SCHEMA_INVALID, field_in(c, place, "schema"),
                  STR_CONCAT(c->arena, STR("in the schema of attrib "), facts->name, STR(", "),
                             violations_format(c->arena, &errors)));
}

bool attrib_check(struct core *c, const struct attrib_facts *facts, struct str place,
                  struct violations *warnings)
{
    /* All of them, so that each is told. */
    const bool well[] = {
        check_field(c, facts->name.len ? PROBLEM_NAME_INVALID : PROBLEM_MISSING, place, "name",
                    names_check_attrib(facts->name)),
        check_field(c, PROBLEM_BAD_TEXT, place, "description",
                    names_check_text(facts->description)),
        check_field(c, PROBLEM_BAD_VALUE, place, "map", attrib_check_map(facts->map)),
        check_field(c, PROBLEM_BAD_TEXT, place, "ui_renderer",
                    names_check_text(facts->ui_renderer)),
        check_schema(c, facts, place, warnings),
    };
    return well[0] && well[1] && well[2] && well[3] && well[4];
}

bool attrib_default_fits(struct core *c, const struct attrib_facts *facts,
                         struct violations *violations)
{
    const struct json *schema = doc_tree(c->arena, facts->schema);
    const struct json *value = json_get(doc_tree(c->arena, facts->default_value), STR("value"));
    if (facts->schema.len == 0 || !value || value->kind == JSON_NULL)
        return true;
    return schema_validate(c->arena, schema, facts->name, value, violations);
}

/* ---- the row ---- */

static bool reads_as(const struct core *c, const struct attrib *a, const struct attrib_facts *facts)
{
    return a->barclamp.v == facts->barclamp.v && a->role.v == facts->role.v &&
           a->order == facts->order && a->writable == facts->writable &&
           str_eq(text_of(c, a->description), facts->description) &&
           str_eq(text_of(c, a->map), facts->map) &&
           str_eq(text_of(c, a->ui_renderer), facts->ui_renderer) &&
           str_eq(text_of(c, a->schema), facts->schema) &&
           str_eq(text_of(c, a->default_value), facts->default_value);
}

static void disown(struct core *c, attrib_ix ix)
{
    const role_ix owner = attrib_at(c, ix)->role;
    if (owner.v)
        ids_remove(c, &role_derive(c, owner)->attribs, TABLE_ATTRIB, ix.v);
}

static void own(struct core *c, attrib_ix ix)
{
    const role_ix owner = attrib_at(c, ix)->role;
    if (owner.v)
        ids_insert(c, &role_derive(c, owner)->attribs, TABLE_ATTRIB, ix.v);
}

/* The same facts with what the model adds: defaults, and that a schema makes it writable. */
static struct attrib_facts complete(const struct attrib_facts *given)
{
    struct attrib_facts facts = *given;
    if (str_eq(facts.schema, STR("{}")) || str_eq(facts.schema, STR("null")))
        facts.schema = STR("");
    if (str_eq(facts.default_value, STR("{}")) ||
        str_eq(facts.default_value, STR("{\"value\":null}")))
        facts.default_value = STR("");
    if (facts.schema.len)
        facts.writable = true;
    if (facts.order == 0)
        facts.order = ORDER_DEFAULT;
    if (facts.ui_renderer.len == 0)
        facts.ui_renderer = STR("attribs/default");
    return facts;
}

bool attrib_write(struct core *c, attrib_ix ix, const struct attrib_facts *given, attrib_ix *out_ix)
{
    const struct attrib_facts facts = complete(given);
    const bool fresh = !ix.v;
    if (!fresh && reads_as(c, attrib_at(c, ix), &facts)) {
        *out_ix = ix;
        return false;
    }
    if (fresh)
        ix = attrib_add(c);
    *out_ix = ix;
    if (!ix.v)
        return false;
    struct attrib *a = attrib_edit(c, ix);
    const role_ix old_role = a->role;
    const bool moves = a->role.v != facts.role.v ||
                       !str_eq(text_of(c, a->default_value), facts.default_value) ||
                       (!fresh && !str_eq(text_of(c, a->map), facts.map));
    if (moves && !fresh)
        defaults_attrib_moved(c, ix);
    if (fresh) {
        put_text(c, &a->name, facts.name);
        name_add(c, TABLE_ATTRIB, ix.v);
    }
    disown(c, ix);
    a->barclamp = facts.barclamp;
    a->role = facts.role;
    a->order = facts.order;
    a->writable = facts.writable;
    put_text(c, &a->description, facts.description);
    put_text(c, &a->map, facts.map);
    put_text(c, &a->ui_renderer, facts.ui_renderer);
    put_doc(c, &a->schema, facts.schema);
    put_doc(c, &a->default_value, facts.default_value);
    own(c, ix);
    if (facts.role.v && moves && (fresh ? facts.default_value.len > 0 : old_role.v != facts.role.v))
        defaults_moved(c, facts.role);
    return true;
}

/* ---- commands ---- */

static void check_owners(struct core *c, const struct attrib_create_command *p,
                         struct attrib_facts *facts)
{
    facts->barclamp = barclamp_by_id(c, p->barclamp_id);
    facts->role = role_by_id(c, p->role_id);
    if (p->barclamp_id && !facts->barclamp.v)
        refuse_missing(c, "barclamp_id", "barclamp", p->barclamp_id);
    if (p->role_id && !facts->role.v)
        refuse_missing(c, "role_id", "role", p->role_id);
    if (facts->role.v && !facts->barclamp.v)
        facts->barclamp = role_at(c, facts->role)->barclamp;
}

static void check_default(struct core *c, const struct attrib_facts *facts)
{
    struct violations violations = {0};
    const struct json *tree = doc_tree(c->arena, facts->default_value);
    const struct json *value = json_get(tree, STR("value"));
    if (tree->kind != JSON_OBJECT || tree->count != (value ? 1u : 0u))
        refuse(c, PROBLEM_BAD_JSON, STR("default_value"),
               STR("default_value must be an object with nothing but a value in it"));
    else if (!attrib_default_fits(c, facts, &violations))
        refuse(c, PROBLEM_SCHEMA_VIOLATED, STR("default_value"),
               violations_format(c->arena, &violations));
}

void do_attrib_create(struct core *c, const struct attrib_create_command *p)
{
    struct violations warnings = {0};
    struct attrib_facts facts = {.name = p->name,
                                 .description = p->description,
                                 .map = p->map,
                                 .ui_renderer = p->ui_renderer,
                                 .schema = p->schema,
                                 .default_value = p->default_value,
                                 .order = p->order,
                                 .writable = p->writable};
    check_owners(c, p, &facts);
    if (attrib_check(c, &facts, STR(""), &warnings))
        check_default(c, &facts);
    if (name_find(c, TABLE_ATTRIB, p->name))
        refuse(c, PROBLEM_NAME_TAKEN, STR("name"),
               STR_CONCAT(c->arena, STR("there is an attrib called "), p->name, STR(" already")));
    attrib_ix ix;
    if (refused(c) || !attrib_write(c, (attrib_ix){0}, &facts, &ix))
        return;
    c->out->id = attrib_at(c, ix)->o.id;
    roles_resolve_touched(c, &(struct roles_touched){0});
}

/* Links of one noderole that carry the attrib: pairs of ancestor and attrib. */
static void unlink_noderole(struct core *c, noderole_ix nr, attrib_ix attrib)
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

static bool is_wanted_by(const struct core *c, const struct role *role, attrib_ix attrib)
{
    for (uint32_t i = 0; i < role->wanted.count; i += 2)
        if (vec_at(c, &role->wanted, i) == attrib.v)
            return true;
    return false;
}

static void unlink_role(struct core *c, role_ix r, attrib_ix attrib)
{
    for (uint32_t i = 0; i < role_at(c, r)->deployed.count; i++) {
        const deployment_role_ix dr = {vec_at(c, &role_at(c, r)->deployed, i)};
        const struct vec *members = &deployment_role_at(c, dr)->noderoles;
        for (uint32_t k = 0; k < members->count; k++)
            unlink_noderole(c, (noderole_ix){vec_at(c, members, k)}, attrib);
    }
}

/* Only those have links that want it. */
static void unlink_everywhere(struct core *c, attrib_ix attrib)
{
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_at(c, (role_ix){ix})->o.id))
        if (is_wanted_by(c, role_at(c, (role_ix){ix}), attrib))
            unlink_role(c, (role_ix){ix}, attrib);
}

void attrib_remove(struct core *c, attrib_ix ix)
{
    if (attrib_at(c, ix)->default_value)
        defaults_attrib_moved(c, ix);
    unlink_everywhere(c, ix);
    disown(c, ix);
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
