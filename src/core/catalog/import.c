#include "core/catalog/import_private.h"

#include "model/hammer_class.h"
#include "model/jig_class.h"
#include "model/names.h"

enum { JIG_ORDER = 100 };

/* ---- saying what is wrong ---- */

bool import_is_hopeless(const struct import *im)
{
    return im->problems >= PROBLEMS_MAX;
}

void import_refuse(struct import *im, enum problem_code code, struct str field, struct str text)
{
    im->problems++;
    refuse(im->c, code, field, text);
}

void import_warn(struct import *im, const char *code, struct str field, struct str text)
{
    struct arena *a = im->c->arena;
    if (im->warnings->count >= PROBLEMS_MAX)
        return;
    struct json *warning = json_make(a, JSON_OBJECT);
    json_set(warning, STR("code"), json_make_string(a, str_from(code)));
    json_set(warning, STR("field"), json_make_string(a, field));
    json_set(warning, STR("text"), json_make_string(a, text));
    json_append(im->warnings, warning);
}

struct str import_meant(struct import *im, const struct suggestion *nearest)
{
    const struct str word = suggest_str(nearest);
    return word.len ? STR_CONCAT(im->c->arena, STR("; did you mean "), word, STR("?")) : STR("");
}

struct str place_of(struct import *im, struct str place, const char *key)
{
    return place.len ? STR_CONCAT(im->c->arena, place, STR("/"), str_from(key)) : str_from(key);
}

struct str place_at(struct import *im, struct str place, uint32_t i)
{
    return STR_CONCAT(im->c->arena, place, STR("/"), str_from_i64(im->c->arena, i));
}

/* ---- reading ---- */

const struct json *import_get(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, str_from(key));
    return value && value->kind != JSON_NULL ? value : NULL;
}

struct str import_text(struct import *im, const struct json *object, const char *key,
                       struct str place, struct str absent)
{
    const struct json *value = import_get(object, key);
    if (!value)
        return absent;
    const struct str field = place_of(im, place, key);
    if (value->kind != JSON_STRING && value->kind != JSON_NUMBER) {
        import_refuse(im, PROBLEM_BAD_VALUE, field,
                      STR_CONCAT(im->c->arena, str_from(key), STR(" must be a text")));
        return absent;
    }
    const char *wrong = names_check_text(value->text);
    if (!wrong)
        return value->text;
    import_refuse(im, PROBLEM_BAD_TEXT, field,
                  STR_CONCAT(im->c->arena, str_from(key), STR(" "), str_from(wrong)));
    return absent;
}

/* The same where it must not be absent. */
static struct str required_text(struct import *im, const struct json *object, const char *key,
                                struct str place)
{
    const struct json *value = import_get(object, key);
    if (!value || (value->kind == JSON_STRING && value->text.len == 0))
        import_refuse(im, PROBLEM_MISSING, place_of(im, place, key),
                      STR_CONCAT(im->c->arena, str_from(key), STR(" is required")));
    return import_text(im, object, key, place, STR(""));
}

const struct json *import_list(struct import *im, const struct json *object, const char *key,
                               struct str place)
{
    const struct json *value = import_get(object, key);
    if (!value || value->kind == JSON_ARRAY)
        return value ? value->first : NULL;
    import_refuse(im, PROBLEM_BAD_VALUE, place_of(im, place, key),
                  STR_CONCAT(im->c->arena, str_from(key), STR(" must be a list")));
    return NULL;
}

static bool is_object(struct import *im, const struct json *entry, struct str place)
{
    if (entry->kind == JSON_OBJECT)
        return true;
    import_refuse(im, PROBLEM_BAD_VALUE, place, STR("must be a set of keys and values"));
    return false;
}

bool import_name(struct import *im, struct str name, struct str field,
                 const char *(*check)(struct str))
{
    const char *wrong = check(name);
    if (wrong)
        import_refuse(im, name.len ? PROBLEM_NAME_INVALID : PROBLEM_MISSING, field,
                      STR_CONCAT(im->c->arena, STR("name "), str_from(wrong)));
    return !wrong;
}

struct str import_title(struct import *im, struct str name)
{
    struct buf b = buf_in(im->c->arena);
    bool begins = true;
    for (uint32_t i = 0; i < name.len; i++) {
        const char c = name.at[i] == '-' || name.at[i] == '_' ? ' ' : name.at[i];
        buf_put_c(&b, begins && c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c);
        begins = c == ' ';
    }
    return buf_str(&b);
}

/* Names differ when only their case does, but they cannot both be there. */
static bool is_spelled(struct import *im, struct str name, struct str stored, struct str field)
{
    if (str_eq(name, stored))
        return true;
    import_refuse(im, PROBLEM_NAME_TAKEN, field,
                  STR_CONCAT(im->c->arena, name, STR(" differs only in case from "), stored));
    return false;
}

/* ---- the barclamp itself ---- */

struct barclamp_facts {
    struct str description, version, build_version, source_url, source_path, commit, build_on;
    struct str cfg_data;
    barclamp_ix parent;
};

/* The row of that name: the one there is, or a new one. */
static barclamp_ix barclamp_named(struct import *im, struct str name, struct str field)
{
    struct core *c = im->c;
    if (!import_name(im, name, field, names_check_barclamp))
        return (barclamp_ix){0};
    barclamp_ix ix = {name_find(c, TABLE_BARCLAMP, name)};
    if (ix.v)
        return is_spelled(im, name, text_of(c, barclamp_at(c, ix)->name), field) ? ix
                                                                                 : (barclamp_ix){0};
    ix = barclamp_add(c);
    if (!ix.v)
        return ix;
    put_text(c, &barclamp_edit(c, ix)->name, name);
    name_add(c, TABLE_BARCLAMP, ix.v);
    im->changed = true;
    return ix;
}

/* Would `parent` have `child` above itself? */
static bool is_below(const struct core *c, barclamp_ix parent, barclamp_ix child)
{
    while (parent.v && parent.v != child.v) {
        const barclamp_ix above = barclamp_at(c, parent)->parent;
        if (above.v == parent.v)
            return false;
        parent = above;
    }
    return parent.v != 0;
}

static barclamp_ix barclamp_parent(struct import *im, const struct json *section)
{
    struct core *c = im->c;
    const struct str field = STR("barclamp/parent");
    const struct str name = import_text(im, section, "parent", STR("barclamp"), STR(""));
    if (name.len == 0)
        return im->barclamp;
    const barclamp_ix parent = {name_find(c, TABLE_BARCLAMP, name)};
    if (!parent.v)
        import_refuse(im, PROBLEM_NOT_FOUND, field,
                      STR_CONCAT(c->arena, STR("there is no barclamp called "), name));
    else if (im->barclamp.v && parent.v != im->barclamp.v && is_below(c, parent, im->barclamp))
        import_refuse(im, PROBLEM_BAD_VALUE, field,
                      STR_CONCAT(c->arena, name, STR(" has this barclamp above itself")));
    return parent;
}

static bool barclamp_reads_as(const struct core *c, const struct barclamp *b,
                              const struct barclamp_facts *facts)
{
    return b->parent.v == facts->parent.v && str_eq(text_of(c, b->cfg_data), facts->cfg_data) &&
           str_eq(text_of(c, b->description), facts->description) &&
           str_eq(text_of(c, b->version), facts->version) &&
           str_eq(text_of(c, b->build_version), facts->build_version) &&
           str_eq(text_of(c, b->source_url), facts->source_url) &&
           str_eq(text_of(c, b->source_path), facts->source_path) &&
           str_eq(text_of(c, b->commit), facts->commit) &&
           str_eq(text_of(c, b->build_on), facts->build_on);
}

static void barclamp_write(struct import *im, const struct barclamp_facts *facts)
{
    struct core *c = im->c;
    if (!im->barclamp.v || barclamp_reads_as(c, barclamp_at(c, im->barclamp), facts))
        return;
    struct barclamp *b = barclamp_edit(c, im->barclamp);
    b->parent = facts->parent;
    put_text(c, &b->description, facts->description);
    put_text(c, &b->version, facts->version);
    put_text(c, &b->build_version, facts->build_version);
    put_text(c, &b->source_url, facts->source_url);
    put_text(c, &b->source_path, facts->source_path);
    put_text(c, &b->commit, facts->commit);
    put_text(c, &b->build_on, facts->build_on);
    put_doc(c, &b->cfg_data, facts->cfg_data);
    im->changed = true;
}

static const struct json *section_of(struct import *im, const char *key)
{
    const struct json *section = import_get(im->doc, key);
    if (section && is_object(im, section, str_from(key)))
        return section;
    return json_make(im->c->arena, JSON_OBJECT);
}

static void import_barclamp(struct import *im, struct str document)
{
    const struct str place = STR("barclamp"), none = STR("");
    const struct json *section = section_of(im, "barclamp");
    const struct json *git = section_of(im, "git");
    const struct str name = import_text(im, section, "name", place, none);
    im->barclamp = barclamp_named(im, name, STR("barclamp/name"));
    const struct barclamp_facts facts = {
        .description = import_text(im, section, "description", place, import_title(im, name)),
        .version = import_text(im, section, "version", place, STR("0.0")),
        .build_version = import_text(im, section, "build_version", place, STR("0.0")),
        .source_url = import_text(im, section, "source_url", place, none),
        .source_path = required_text(im, section, "source_path", place),
        .commit = import_text(im, git, "commit", STR("git"), STR("unknown")),
        .build_on = import_text(im, git, "date", STR("git"), STR("unknown")),
        .cfg_data = document,
        .parent = barclamp_parent(im, section),
    };
    barclamp_write(im, &facts);
}

/* ---- jigs ---- */

struct jig_facts {
    struct str description, class_name, client_role_name, inactive_reason;
    bool active;
};

/* An operator's choice stays, unless what was chosen is another thing now. */
static bool jig_is_active(const struct core *c, const struct jig *jig, bool fresh,
                          struct str class_name)
{
    const struct jig_class *class = jig_class_find(class_name);
    if (!class)
        return false;
    const bool same =
        !fresh && jig->inactive_reason == 0 && str_eq(text_of(c, jig->class_name), class_name);
    return same ? jig->active : class->starts_active;
}

static void jig_write(struct import *im, jig_ix ix, const struct jig_facts *facts)
{
    struct core *c = im->c;
    const struct jig *now = jig_at(c, ix);
    const bool same_client = str_eq(text_of(c, now->client_role_name), facts->client_role_name);
    if (same_client && now->active == facts->active && now->order == JIG_ORDER &&
        str_eq(text_of(c, now->description), facts->description) &&
        str_eq(text_of(c, now->class_name), facts->class_name) &&
        str_eq(text_of(c, now->inactive_reason), facts->inactive_reason))
        return;
    struct jig *jig = jig_edit(c, ix);
    put_text(c, &jig->description, facts->description);
    put_text(c, &jig->class_name, facts->class_name);
    put_text(c, &jig->client_role_name, facts->client_role_name);
    put_text(c, &jig->inactive_reason, facts->inactive_reason);
    jig->active = facts->active;
    jig->order = JIG_ORDER;
    im->changed = true;
    im->jigs_moved = im->jigs_moved || !same_client;
}

static jig_ix jig_named(struct import *im, struct str name, struct str field, bool *out_fresh)
{
    struct core *c = im->c;
    jig_ix ix = {name_find(c, TABLE_JIG, name)};
    *out_fresh = !ix.v;
    if (ix.v)
        return is_spelled(im, name, text_of(c, jig_at(c, ix)->name), field) ? ix : (jig_ix){0};
    ix = jig_add(c);
    if (!ix.v)
        return ix;
    put_text(c, &jig_edit(c, ix)->name, name);
    name_add(c, TABLE_JIG, ix.v);
    return ix;
}

static void import_jig(struct import *im, const struct json *entry, struct str place, uint8_t *seen)
{
    struct core *c = im->c;
    bool fresh;
    if (!is_object(im, entry, place))
        return;
    const struct str name = import_text(im, entry, "name", place, STR(""));
    struct jig_facts facts = {
        .description = import_text(im, entry, "description", place, STR("")),
        .class_name = required_text(im, entry, "class", place),
        .client_role_name = import_text(im, entry, "implementor", place, STR("")),
    };
    if (facts.client_role_name.len)
        import_name(im, facts.client_role_name, place_of(im, place, "implementor"),
                    names_check_role);
    const struct str field = place_of(im, place, "name");
    if (!import_name(im, name, field, names_check_jig))
        return;
    const jig_ix ix = jig_named(im, name, field, &fresh);
    if (!ix.v)
        return;
    if (seen[ix.v]++)
        import_refuse(im, PROBLEM_NAME_TAKEN, field,
                      STR_CONCAT(c->arena, STR("jig "), name, STR(" comes twice")));
    if (facts.class_name.len && !jig_class_find(facts.class_name)) {
        facts.inactive_reason =
            STR_CONCAT(c->arena, STR("jig class "), facts.class_name, STR(" is not known here"));
        import_warn(im, "class_unknown", place_of(im, place, "class"), facts.inactive_reason);
    }
    facts.active = jig_is_active(c, jig_at(c, ix), fresh, facts.class_name);
    jig_write(im, ix, &facts);
}

static void import_jigs(struct import *im)
{
    uint8_t seen[JIGS_MAX + 1] = {0};
    uint32_t i = 0;
    for (const struct json *entry = import_list(im, im->doc, "jigs", STR(""));
         entry && !import_is_hopeless(im); entry = entry->next, i++)
        import_jig(im, entry, place_at(im, STR("jigs"), i), seen);
}

/* ---- hammers ---- */

static uint32_t read_priority(struct import *im, const struct json *entry, struct str place)
{
    int64_t priority = 0;
    const struct json *value = import_get(entry, "priority");
    if (value && (!json_as_i64(value, &priority) || priority < 0 || priority > UINT32_MAX))
        import_refuse(im, PROBLEM_BAD_VALUE, place_of(im, place, "priority"),
                      STR("priority must be a whole number, not below 0"));
    return (uint32_t)priority;
}

static hammer_kind_ix hammer_kind_named(struct import *im, struct str name, struct str field)
{
    struct core *c = im->c;
    hammer_kind_ix ix = {name_find(c, TABLE_HAMMER_KIND, name)};
    if (ix.v)
        return is_spelled(im, name, text_of(c, hammer_kind_at(c, ix)->name), field)
                   ? ix
                   : (hammer_kind_ix){0};
    ix = hammer_kind_add(c);
    if (!ix.v)
        return ix;
    put_text(c, &hammer_kind_edit(c, ix)->name, name);
    name_add(c, TABLE_HAMMER_KIND, ix.v);
    return ix;
}

static void import_hammer(struct import *im, const struct json *entry, struct str place)
{
    struct core *c = im->c;
    if (!is_object(im, entry, place))
        return;
    const struct str name = import_text(im, entry, "name", place, STR(""));
    const struct str klass = required_text(im, entry, "type", place);
    const uint32_t priority = read_priority(im, entry, place);
    const struct str field = place_of(im, place, "name");
    if (klass.len && !hammer_class_find(klass))
        import_warn(im, "class_unknown", place_of(im, place, "type"),
                    STR_CONCAT(c->arena, STR("hammer class "), klass, STR(" is not known here")));
    if (!import_name(im, name, field, names_check_hammer))
        return;
    const hammer_kind_ix ix = hammer_kind_named(im, name, field);
    if (!ix.v || (hammer_kind_at(c, ix)->priority == priority &&
                  str_eq(text_of(c, hammer_kind_at(c, ix)->klass), klass)))
        return;
    struct hammer_kind *kind = hammer_kind_edit(c, ix);
    put_text(c, &kind->klass, klass);
    kind->priority = priority;
    im->changed = true;
}

static void import_hammers(struct import *im)
{
    uint32_t i = 0;
    for (const struct json *entry = import_list(im, im->doc, "hammers", STR(""));
         entry && !import_is_hopeless(im); entry = entry->next, i++)
        import_hammer(im, entry, place_at(im, STR("hammers"), i));
}

/* ---- attribs ---- */

static struct str default_of(struct import *im, const struct json *entry)
{
    const struct json *value = import_get(entry, "default");
    if (!value)
        return STR("");
    struct buf b = buf_in(im->c->arena);
    buf_put_z(&b, "{\"value\":");
    json_write_to(&b, value);
    buf_put_z(&b, "}");
    return buf_str(&b);
}

static struct attrib_facts read_attrib(struct import *im, const struct json *entry,
                                       struct str place)
{
    const struct str none = STR("");
    const struct json *schema = import_get(entry, "schema");
    return (struct attrib_facts){
        .name = import_text(im, entry, "name", place, none),
        .description = import_text(im, entry, "description", place, none),
        .map = import_text(im, entry, "map", place, none),
        .ui_renderer = import_text(im, entry, "ui_renderer", place, none),
        .schema = schema ? json_write(im->c->arena, schema) : none,
        .default_value = default_of(im, entry),
        .writable = json_is_true(import_get(entry, "writable")),
        .barclamp = im->barclamp,
    };
}

static void warn_attrib(struct import *im, const struct attrib_facts *facts, struct str place,
                        const struct violations *odd)
{
    struct violations misfits = {0};
    for (const struct violation *v = odd->first; v; v = v->next)
        import_warn(im, "schema_unchecked", place_of(im, place, "schema"),
                    STR_CONCAT(im->c->arena, v->path, STR(" "), v->text));
    if (!attrib_default_fits(im->c, facts, &misfits))
        import_warn(im, "default_misfit", place_of(im, place, "default"),
                    STR_CONCAT(im->c->arena, STR("the default does not fit the schema: "),
                               violations_format(im->c->arena, &misfits)));
}

static struct str owner_name(const struct core *c, const struct attrib *a)
{
    if (a->barclamp.v)
        return text_of(c, barclamp_at(c, a->barclamp)->name);
    return STR("no barclamp");
}

/* May this document say what the attrib is? */
static bool may_define(struct import *im, attrib_ix ix, const struct attrib_facts *facts,
                       struct str field)
{
    struct core *c = im->c;
    const struct attrib *a = attrib_at(c, ix);
    if (!is_spelled(im, facts->name, text_of(c, a->name), field))
        return false;
    if (im->barclamp.v && a->barclamp.v != im->barclamp.v) {
        import_refuse(im, PROBLEM_OWNER_DIFFERS, field,
                      STR_CONCAT(c->arena, STR("attrib "), facts->name, STR(" belongs to "),
                                 owner_name(c, a)));
        return false;
    }
    if (im->attribs_seen[ix.v])
        import_warn(im, "attrib_twice", field,
                    STR_CONCAT(c->arena, STR("attrib "), facts->name,
                               STR(" comes twice; the last one counts")));
    return true;
}

void import_attrib(struct import *im, const struct json *entry, struct str place, role_ix owner,
                   bool write)
{
    struct core *c = im->c;
    struct violations odd = {0};
    if (!is_object(im, entry, place))
        return;
    struct attrib_facts facts = read_attrib(im, entry, place);
    facts.role = owner;
    if (!attrib_check(c, &facts, place, &odd)) {
        im->problems++;
        return;
    }
    warn_attrib(im, &facts, place, &odd);
    attrib_ix ix = {name_find(c, TABLE_ATTRIB, facts.name)};
    if (!write || (ix.v && !may_define(im, ix, &facts, place_of(im, place, "name"))))
        return;
    if (ix.v && attrib_at(c, ix)->role.v != owner.v)
        im->attribs_moved = true;
    if (attrib_write(c, ix, &facts, &ix))
        im->changed = true;
    if (ix.v)
        im->attribs_seen[ix.v] = 1;
}

static void import_node_attribs(struct import *im)
{
    uint32_t i = 0;
    for (const struct json *entry = import_list(im, im->doc, "attribs", STR(""));
         entry && !import_is_hopeless(im); entry = entry->next, i++)
        import_attrib(im, entry, place_at(im, STR("attribs"), i), (role_ix){0}, true);
}

/* ---- the whole ---- */

static uint32_t count_of(const struct json *object, const char *key)
{
    const struct json *list = import_get(object, key);
    return list ? list->count : 0;
}

/* Marks by row index: those there are, and those this document can add. */
static uint8_t *marks_for(struct import *im, enum table table, uint32_t more)
{
    return arena_zalloc(im->c->arena, (size_t)im->c->tables[table].pool.high + more + 1);
}

static struct import import_begin(struct core *c, const struct json *doc)
{
    struct import im = {.c = c, .doc = doc, .warnings = json_make(c->arena, JSON_ARRAY)};
    const struct json *list = import_get(doc, "roles");
    const uint32_t roles = count_of(doc, "roles");
    uint32_t attribs = count_of(doc, "attribs");
    for (const struct json *role = list ? list->first : NULL; role; role = role->next)
        attribs += count_of(role, "attribs");
    const uint32_t room = c->tables[TABLE_ROLE].pool.high + roles + 1;
    im.touched = arena_array(c->arena, role_ix, room);
    im.places = arena_array(c->arena, uint32_t, room);
    im.line = arena_array(c->arena, role_ix, room);
    im.line_places = arena_array(c->arena, uint32_t, room);
    im.own_requires = arena_array(c->arena, struct json *, room);
    im.role_marks = marks_for(&im, TABLE_ROLE, roles);
    im.attribs_seen = marks_for(&im, TABLE_ATTRIB, attribs);
    return im;
}

static void import_end(struct import *im)
{
    struct core *c = im->c;
    if (im->changed) {
        roles_resolve_touched(c, &(struct roles_touched){
                                     .roles = im->touched,
                                     .places = im->places,
                                     .count = im->touched_count,
                                     .attribs = im->attribs_moved,
                                     .jigs = im->jigs_moved,
                                 });
        if (!refused(c))
            nodes_resume_all(c);
        for (uint32_t i = 0; i < im->touched_count && !refused(c); i++)
            hooks_compute_template(c, im->touched[i]);
    }
    if (refused(c))
        return;
    struct json *report = json_make(c->arena, JSON_OBJECT);
    json_set(report, STR("warnings"), im->warnings);
    c->out->doc = json_write(c->arena, report);
    c->out->id = barclamp_at(c, im->barclamp)->o.id;
}

void do_import(struct core *c, const struct import_command *p)
{
    const struct json *doc = doc_tree(c->arena, p->barclamp);
    if (doc->kind != JSON_OBJECT) {
        refuse(c, PROBLEM_BAD_JSON, STR("barclamp"),
               STR("a barclamp must be a set of keys and values"));
        return;
    }
    struct import im = import_begin(c, doc);
    import_barclamp(&im, p->barclamp);
    import_jigs(&im);
    import_hammers(&im);
    import_roles(&im);
    import_node_attribs(&im);
    import_left_out(&im);
    import_requires(&im);
    import_end(&im);
}
