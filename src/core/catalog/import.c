#include "core/catalog/import_private.h"
#include "core/network/network_private.h"

#include "model/hammer_class.h"
#include "model/jig_class.h"
#include "model/names.h"

enum { JIG_ORDER = 100 }; /* field `order` of imported jigs */

/* Import of one barclamp document: the rows of the barclamp, its jigs and hammer kinds, and the
 * order of an import (import_private.h). import_roles.c imports the roles, import_attribs.c the
 * attribs, import_removed.c removes those of earlier versions, import_bootenvs.c imports the boot
 * environments.
 * The order of sections matters. The barclamp comes first, because it owns the other
 * rows. Jigs precede roles, which warn about unknown jigs. Attribs of nodes precede the removal of
 * roles (see import_private.h). Requirements are written after the last role exists; names are
 * resolved last. A row is written only if a field differs. Any problem refuses the whole import. */

/* ---- problems and warnings ---- */

bool import_is_given_up(const struct import *im)
{
    return im->problems >= PROBLEMS_MAX;
}

void import_refuse(struct import *im, enum problem_code code, struct str field, struct str text)
{
    im->problems++;
    if (im->network.v) { /* the command is about the network, not about the document */
        const struct str barclamp = text_of(im->c, barclamp_at(im->c, im->barclamp)->name);
        text =
            STR_CONCAT(im->c->arena, STR("barclamp "), barclamp, STR(", "), field, STR(": "), text);
        field = STR("name");
    }
    refuse(im->c, code, field, text);
}

void import_warn(struct import *im, const char *code, struct str field, struct str text)
{
    struct arena *a = im->c->arena;
    if (im->is_copy || im->warnings->count >= PROBLEMS_MAX)
        return;
    struct json *warning = json_make(a, JSON_OBJECT);
    json_set(warning, STR("code"), json_make_string(a, str_from(code)));
    json_set(warning, STR("field"), json_make_string(a, field));
    json_set(warning, STR("text"), json_make_string(a, text));
    json_append(im->warnings, warning);
}

struct str import_suggestion(struct import *im, const struct suggestion *nearest)
{
    const struct str word = suggest_str(nearest);
    return word.len ? STR_CONCAT(im->c->arena, STR("; did you mean "), word, STR("?")) : STR("");
}

struct str import_path_of(struct import *im, struct str path, const char *key)
{
    return path.len ? STR_CONCAT(im->c->arena, path, STR("/"), str_from(key)) : str_from(key);
}

struct str import_path_at(struct import *im, struct str path, uint32_t i)
{
    return STR_CONCAT(im->c->arena, path, STR("/"), str_from_i64(im->c->arena, i));
}

/* ---- values of the document ---- */

const struct json *import_get(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, str_from(key));
    return value && value->kind != JSON_NULL ? value : NULL;
}

struct str import_text(struct import *im, const struct json *object, const char *key,
                       struct str path, struct str absent)
{
    const struct json *value = import_get(object, key);
    if (!value)
        return absent;
    const struct str field = import_path_of(im, path, key);
    if (value->kind != JSON_STRING && value->kind != JSON_NUMBER) {
        import_refuse(im, PROBLEM_BAD_VALUE, field,
                      STR_CONCAT(im->c->arena, str_from(key), STR(" must be a string")));
        return absent;
    }
    const char *wrong = names_check_text(value->text);
    if (!wrong)
        return value->text;
    import_refuse(im, PROBLEM_BAD_TEXT, field,
                  STR_CONCAT(im->c->arena, str_from(key), STR(" "), str_from(wrong)));
    return absent;
}

/* As import_text(), and refuses if the value is absent or empty. */
static struct str import_required_text(struct import *im, const struct json *object,
                                       const char *key, struct str path)
{
    const struct json *value = import_get(object, key);
    if (!value || (value->kind == JSON_STRING && value->text.len == 0))
        import_refuse(im, PROBLEM_MISSING, import_path_of(im, path, key),
                      STR_CONCAT(im->c->arena, str_from(key), STR(" is required")));
    return import_text(im, object, key, path, STR(""));
}

const struct json *import_list(struct import *im, const struct json *object, const char *key,
                               struct str path)
{
    const struct json *value = import_get(object, key);
    if (!value || value->kind == JSON_ARRAY)
        return value ? value->first : NULL;
    import_refuse(im, PROBLEM_BAD_VALUE, import_path_of(im, path, key),
                  STR_CONCAT(im->c->arena, str_from(key), STR(" must be a list")));
    return NULL;
}

bool import_is_object(struct import *im, const struct json *entry, struct str path)
{
    if (entry->kind == JSON_OBJECT)
        return true;
    import_refuse(im, PROBLEM_BAD_VALUE, path, STR("must be a mapping of keys to values"));
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

bool import_spelling_matches(struct import *im, struct str name, struct str stored,
                             struct str field)
{
    if (str_eq(name, stored))
        return true;
    import_refuse(im, PROBLEM_NAME_TAKEN, field,
                  STR_CONCAT(im->c->arena, name, STR(" differs only in case from "), stored));
    return false;
}

/* ---- barclamp ---- */

struct barclamp_def {
    struct str description, version, build_version, source_url, source_path, commit, build_on;
    struct str cfg_data;
    barclamp_ix parent;
};

/* Finds the row of that name or creates it. */
static barclamp_ix import_get_barclamp(struct import *im, struct str name, struct str field)
{
    struct core *c = im->c;
    if (!import_name(im, name, field, names_check_barclamp))
        return (barclamp_ix){0};
    barclamp_ix ix = {name_find(c, TABLE_BARCLAMP, name)};
    if (ix.v)
        return import_spelling_matches(im, name, text_of(c, barclamp_at(c, ix)->name), field)
                   ? ix
                   : (barclamp_ix){0};
    ix = barclamp_add(c);
    if (!ix.v)
        return ix;
    put_text(c, &barclamp_edit(c, ix)->name, name);
    name_add(c, TABLE_BARCLAMP, ix.v);
    im->changed = true;
    return ix;
}

/* True if `child` is `parent` or one of its ancestors. */
static bool barclamp_is_below(const struct core *c, barclamp_ix parent, barclamp_ix child)
{
    while (parent.v && parent.v != child.v) {
        const barclamp_ix above = barclamp_at(c, parent)->parent;
        if (above.v == parent.v)
            return false;
        parent = above;
    }
    return parent.v != 0;
}

static barclamp_ix import_barclamp_parent(struct import *im, const struct json *section)
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
    else if (im->barclamp.v && parent.v != im->barclamp.v &&
             barclamp_is_below(c, parent, im->barclamp))
        import_refuse(
            im, PROBLEM_BAD_VALUE, field,
            STR_CONCAT(c->arena, name, STR(" is a child of this barclamp, directly or not")));
    return parent;
}

static bool barclamp_reads_as(const struct core *c, const struct barclamp *b,
                              const struct barclamp_def *def)
{
    return b->parent.v == def->parent.v && str_eq(text_of(c, b->cfg_data), def->cfg_data) &&
           str_eq(text_of(c, b->description), def->description) &&
           str_eq(text_of(c, b->version), def->version) &&
           str_eq(text_of(c, b->build_version), def->build_version) &&
           str_eq(text_of(c, b->source_url), def->source_url) &&
           str_eq(text_of(c, b->source_path), def->source_path) &&
           str_eq(text_of(c, b->commit), def->commit) &&
           str_eq(text_of(c, b->build_on), def->build_on);
}

static void barclamp_write(struct import *im, const struct barclamp_def *def)
{
    struct core *c = im->c;
    if (!im->barclamp.v || barclamp_reads_as(c, barclamp_at(c, im->barclamp), def))
        return;
    struct barclamp *b = barclamp_edit(c, im->barclamp);
    b->parent = def->parent;
    put_text(c, &b->description, def->description);
    put_text(c, &b->version, def->version);
    put_text(c, &b->build_version, def->build_version);
    put_text(c, &b->source_url, def->source_url);
    put_text(c, &b->source_path, def->source_path);
    put_text(c, &b->commit, def->commit);
    put_text(c, &b->build_on, def->build_on);
    put_doc(c, &b->cfg_data, def->cfg_data);
    b->has_per = barclamp_document_has_per(def->cfg_data);
    im->changed = true;
}

static const struct json *import_section(struct import *im, const char *key)
{
    const struct json *section = import_get(im->doc, key);
    if (section && import_is_object(im, section, str_from(key)))
        return section;
    return json_make(im->c->arena, JSON_OBJECT);
}

static void import_barclamp(struct import *im, struct str document)
{
    const struct str path = STR("barclamp"), none = STR("");
    const struct json *section = import_section(im, "barclamp");
    const struct json *git = import_section(im, "git");
    const struct str name = import_text(im, section, "name", path, none);
    im->barclamp = import_get_barclamp(im, name, STR("barclamp/name"));
    const struct barclamp_def def = {
        .description = import_text(im, section, "description", path, import_title(im, name)),
        .version = import_text(im, section, "version", path, STR("0.0")),
        .build_version = import_text(im, section, "build_version", path, STR("0.0")),
        .source_url = import_text(im, section, "source_url", path, none),
        .source_path = import_required_text(im, section, "source_path", path),
        .commit = import_text(im, git, "commit", STR("git"), STR("unknown")),
        .build_on = import_text(im, git, "date", STR("git"), STR("unknown")),
        .cfg_data = document,
        .parent = import_barclamp_parent(im, section),
    };
    barclamp_write(im, &def);
}

/* ---- jigs ---- */

struct jig_def {
    struct str description, class_name, client_role_name, inactive_reason;
    bool active;
};

/* The choice of an operator is kept, unless the class of the jig changed or was unknown before. */
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

static void jig_write(struct import *im, jig_ix ix, const struct jig_def *def)
{
    struct core *c = im->c;
    const struct jig *now = jig_at(c, ix);
    const bool same_client = str_eq(text_of(c, now->client_role_name), def->client_role_name);
    if (same_client && now->active == def->active && now->order == JIG_ORDER &&
        str_eq(text_of(c, now->description), def->description) &&
        str_eq(text_of(c, now->class_name), def->class_name) &&
        str_eq(text_of(c, now->inactive_reason), def->inactive_reason))
        return;
    struct jig *jig = jig_edit(c, ix);
    put_text(c, &jig->description, def->description);
    put_text(c, &jig->class_name, def->class_name);
    put_text(c, &jig->client_role_name, def->client_role_name);
    put_text(c, &jig->inactive_reason, def->inactive_reason);
    jig->active = def->active;
    jig->order = JIG_ORDER;
    im->changed = true;
    im->jigs_moved = im->jigs_moved || !same_client;
}

static jig_ix import_get_jig(struct import *im, struct str name, struct str field, bool *out_fresh)
{
    struct core *c = im->c;
    jig_ix ix = {name_find(c, TABLE_JIG, name)};
    *out_fresh = !ix.v;
    if (ix.v)
        return import_spelling_matches(im, name, text_of(c, jig_at(c, ix)->name), field)
                   ? ix
                   : (jig_ix){0};
    ix = jig_add(c);
    if (!ix.v)
        return ix;
    put_text(c, &jig_edit(c, ix)->name, name);
    name_add(c, TABLE_JIG, ix.v);
    return ix;
}

static void import_jig(struct import *im, const struct json *entry, struct str path, uint8_t *seen)
{
    struct core *c = im->c;
    bool fresh;
    if (!import_is_object(im, entry, path))
        return;
    const struct str name = import_text(im, entry, "name", path, STR(""));
    struct jig_def def = {
        .description = import_text(im, entry, "description", path, STR("")),
        .class_name = import_required_text(im, entry, "class", path),
        .client_role_name = import_text(im, entry, "implementor", path, STR("")),
    };
    if (def.client_role_name.len)
        import_name(im, def.client_role_name, import_path_of(im, path, "implementor"),
                    names_check_role);
    const struct str field = import_path_of(im, path, "name");
    if (!import_name(im, name, field, names_check_jig))
        return;
    const jig_ix ix = import_get_jig(im, name, field, &fresh);
    if (!ix.v)
        return;
    if (seen[ix.v]++)
        import_refuse(im, PROBLEM_NAME_TAKEN, field,
                      STR_CONCAT(c->arena, STR("jig "), name, STR(" is defined twice")));
    if (def.class_name.len && !jig_class_find(def.class_name)) {
        def.inactive_reason =
            STR_CONCAT(c->arena, STR("jig class "), def.class_name, STR(" is not known here"));
        import_warn(im, "class_unknown", import_path_of(im, path, "class"), def.inactive_reason);
    }
    def.active = jig_is_active(c, jig_at(c, ix), fresh, def.class_name);
    jig_write(im, ix, &def);
}

static void import_jigs(struct import *im)
{
    uint8_t seen[JIGS_MAX + 1] = {0};
    uint32_t i = 0;
    for (const struct json *entry = import_list(im, im->doc, "jigs", STR(""));
         entry && !import_is_given_up(im); entry = entry->next, i++)
        import_jig(im, entry, import_path_at(im, STR("jigs"), i), seen);
}

/* ---- hammer kinds ---- */

static uint32_t import_priority(struct import *im, const struct json *entry, struct str path)
{
    int64_t priority = 0;
    const struct json *value = import_get(entry, "priority");
    if (value && (!json_as_i64(value, &priority) || priority < 0 || priority > UINT32_MAX))
        import_refuse(im, PROBLEM_BAD_VALUE, import_path_of(im, path, "priority"),
                      STR("priority must be a whole number from 0 to 4294967295"));
    return (uint32_t)priority;
}

static hammer_kind_ix import_get_hammer_kind(struct import *im, struct str name, struct str field)
{
    struct core *c = im->c;
    hammer_kind_ix ix = {name_find(c, TABLE_HAMMER_KIND, name)};
    if (ix.v)
        return import_spelling_matches(im, name, text_of(c, hammer_kind_at(c, ix)->name), field)
                   ? ix
                   : (hammer_kind_ix){0};
    ix = hammer_kind_add(c);
    if (!ix.v)
        return ix;
    put_text(c, &hammer_kind_edit(c, ix)->name, name);
    name_add(c, TABLE_HAMMER_KIND, ix.v);
    return ix;
}

static void import_hammer(struct import *im, const struct json *entry, struct str path)
{
    struct core *c = im->c;
    if (!import_is_object(im, entry, path))
        return;
    const struct str name = import_text(im, entry, "name", path, STR(""));
    const struct str klass = import_required_text(im, entry, "type", path);
    const uint32_t priority = import_priority(im, entry, path);
    const struct str field = import_path_of(im, path, "name");
    if (klass.len && !hammer_class_find(klass))
        import_warn(im, "class_unknown", import_path_of(im, path, "type"),
                    STR_CONCAT(c->arena, STR("hammer class "), klass, STR(" is not known here")));
    if (!import_name(im, name, field, names_check_hammer))
        return;
    const hammer_kind_ix ix = import_get_hammer_kind(im, name, field);
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
         entry && !import_is_given_up(im); entry = entry->next, i++)
        import_hammer(im, entry, import_path_at(im, STR("hammers"), i));
}

/* ---- the whole document ---- */

static uint32_t import_count(const struct json *object, const char *key)
{
    const struct json *list = import_get(object, key);
    return list ? list->count : 0;
}

/* Allocates one byte per row index: for existing rows and for those that this document can add. */
static uint8_t *import_marks(struct import *im, enum table table, uint32_t more)
{
    return arena_zalloc(im->c->arena, (size_t)im->c->tables[table].pool.high + more + 1);
}

/* The number of rows that an entry becomes. */
static uint32_t import_copies(const struct json *entry, uint32_t networks)
{
    return import_get(entry, "per") ? networks : 1;
}

struct import import_begin(struct core *c, const struct json *doc, network_ix network)
{
    struct import im = {
        .c = c, .doc = doc, .network = network, .warnings = json_make(c->arena, JSON_ARRAY)};
    const uint32_t networks = import_network_count(c, network);
    const struct json *role_list = import_get(doc, "roles");
    const struct json *attrib_list = import_get(doc, "attribs");
    uint32_t roles = 0, attribs = 0;
    for (const struct json *entry = attrib_list ? attrib_list->first : NULL; entry;
         entry = entry->next)
        attribs += import_copies(entry, networks);
    for (const struct json *entry = role_list ? role_list->first : NULL; entry;
         entry = entry->next) {
        roles += import_copies(entry, networks);
        attribs += import_copies(entry, networks) * import_count(entry, "attribs");
    }
    const uint32_t role_cap = c->tables[TABLE_ROLE].pool.high + roles + 1;
    im.touched = arena_array(c->arena, role_ix, role_cap);
    im.positions = arena_array(c->arena, uint32_t, role_cap);
    im.requires_queue = arena_array(c->arena, role_ix, role_cap);
    im.requires_positions = arena_array(c->arena, uint32_t, role_cap);
    im.own_requires = arena_array(c->arena, struct json *, role_cap);
    im.role_marks = import_marks(&im, TABLE_ROLE, roles);
    im.attribs_seen = import_marks(&im, TABLE_ATTRIB, attribs);
    return im;
}

/* The code of the role has a new on_proposed: call it for the noderoles that are PROPOSED already,
 * because a commit may need what it chooses. */
static void import_call_proposed(struct core *c, role_ix role)
{
    for (uint32_t i = 0; i < role_at(c, role)->deployed.count; i++) {
        const deployment_role_ix dr = {vec_at(c, &role_at(c, role)->deployed, i)};
        hooks_proposed_all(c, &deployment_role_at(c, dr)->noderoles);
    }
}

void import_end(struct import *im)
{
    struct core *c = im->c;
    if (im->changed) {
        roles_resolve_touched(c, &(struct roles_touched){
                                     .roles = im->touched,
                                     .positions = im->positions,
                                     .count = im->touched_count,
                                     .attribs = im->attribs_moved,
                                     .jigs = im->jigs_moved,
                                 });
        /* Noderoles may be able to run now; those of a new role do not exist yet. */
        if (!refused(c) && !im->network.v)
            nodes_resume_all(c);
        for (uint32_t i = 0; i < im->touched_count && !refused(c); i++) {
            hooks_compute_template(c, im->touched[i]);
            if (im->role_marks[im->touched[i].v] & MARK_PROPOSES)
                import_call_proposed(c, im->touched[i]);
        }
    }
    if (refused(c) || im->network.v)
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
               STR("a barclamp must be a mapping of keys to values"));
        return;
    }
    struct import im = import_begin(c, doc, (network_ix){0});
    im.has_variable = str_has(p->barclamp, STR(NAME_VARIABLE));
    import_barclamp(&im, p->barclamp);
    import_jigs(&im);
    import_hammers(&im);
    import_bootenvs(&im);
    import_roles(&im);
    import_node_attribs(&im);
    import_remove_left_out(&im);
    import_removed_attribs(&im);
    import_write_requires(&im);
    import_end(&im);
}

void import_for_network(struct core *c, barclamp_ix b, network_ix network)
{
    const struct json *doc = doc_tree(c->arena, doc_of(c, barclamp_at(c, b)->cfg_data));
    struct import im = import_begin(c, doc, network);
    im.barclamp = b;
    import_roles(&im);
    import_node_attribs(&im);
    import_write_requires(&im);
    import_end(&im);
}
