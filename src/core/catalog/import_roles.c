#include "core/catalog/import_private.h"

#include "model/names.h"

/* Import of the roles of a barclamp document (see import_private.h). It writes role rows and,
 * through import_attrib(), the attribs of roles; the lists of an import in progress are in struct
 * import.
 *
 * Order: each role is read and written where it occurs. Roles of the barclamp that the document
 * does not define any more are then removed, or withdrawn if they are in a deployment
 * (role_removal.c). Requirements are written last, from a queue, because attachments (requirements
 * that the required role declares, role_attach.c) of later roles, and of roles that were removed,
 * change them.
 *
 * Failure: an entry with a problem is read to its end, so that all problems are reported; the step
 * is rolled back. No role is removed if the document was refused, since an incomplete list of
 * roles would remove the others. */

enum { NAMES_MAX = 1000 }; /* entries of one list; they are compared pairwise */
_Static_assert(NAMES_MAX == 1000, "two messages contain this number");

/* clang-format off */
static const struct {
    const char *name;
    uint32_t flag;
} flags[] = {
    {"library", ROLE_LIBRARY},     {"implicit", ROLE_IMPLICIT},   {"bootstrap", ROLE_BOOTSTRAP},
    {"discovery", ROLE_DISCOVERY}, {"cluster", ROLE_CLUSTER},     {"destructive", ROLE_DESTRUCTIVE},
    {"abstract", ROLE_ABSTRACT},   {"milestone", ROLE_MILESTONE}, {"powersave", ROLE_POWERSAVE},
    {"service", ROLE_SERVICE},     {"server", ROLE_SERVER},       {"serves-boot", ROLE_SERVES_BOOT},
};
/* clang-format on */

struct role_def {
    struct str name, description, class_name, jig_name;
    struct str wants, provides, conflicts, announces; /* canonical; empty = none */
    struct json *requires;                            /* its own, without attachments */
    const struct json *attaches;
    uint32_t flags, hooks;
    uint32_t attempts, backoff_s, deadline_s;
    struct str per_name; /* of a role that is made for a network */
    int64_t network_id;
    struct str lists_services;
};

/* ---- lists of names ---- */

static bool words_have(const struct json *list, struct str name)
{
    for (const struct json *item = list->first; item; item = item->next)
        if (str_eq_nocase(item->text, name))
            return true;
    return false;
}

static struct str words_text(struct import *im, const struct json *list)
{
    return list->count ? json_write(im->c->arena, list) : STR("");
}

static const char *import_check_word(struct str step)
{
    return step.len == 0 || step.len > NAME_LEN_MAX ? "must be a word" : NULL;
}

struct json *import_words(struct import *im, const struct json *entry, const char *key,
                          struct str path, const char *(*check)(struct str))
{
    struct json *words = json_make(im->c->arena, JSON_ARRAY);
    const struct str list = import_path_of(im, path, key);
    uint32_t i = 0;
    for (const struct json *item = import_list(im, entry, key, path);
         item && !import_is_given_up(im); item = item->next, i++) {
        if (i >= NAMES_MAX) {
            import_refuse(im, PROBLEM_LIMIT_REACHED, list, STR("has more than 1000 entries"));
            break;
        }
        if (item->kind != JSON_STRING)
            import_refuse(im, PROBLEM_BAD_VALUE, import_path_at(im, list, i),
                          STR("must be a name"));
        else if (import_name(im, item->text, import_path_at(im, list, i), check) &&
                 !words_have(words, item->text))
            json_append(words, json_make_string(im->c->arena, item->text));
    }
    return words;
}

static struct str import_names_text(struct import *im, const struct json *entry, const char *key,
                                    struct str path)
{
    return words_text(im, import_words(im, entry, key, path, names_check_role));
}

/* ---- flags and hooks ---- */

static uint32_t role_flag_of(struct str name)
{
    for (uint32_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (str_eq(name, str_from(flags[i].name)))
            return flags[i].flag;
    return 0;
}

static uint32_t import_role_flags(struct import *im, const struct json *entry, struct str path)
{
    uint32_t mask = 0;
    const struct json *words = import_words(im, entry, "flags", path, import_check_word);
    for (const struct json *word = words->first; word; word = word->next) {
        const uint32_t flag = role_flag_of(word->text);
        if (!flag) {
            struct suggestion nearest = {0};
            for (uint32_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
                suggest_offer_str(&nearest, word->text, str_from(flags[i].name));
            import_warn(im, "flag_unknown", import_path_of(im, path, "flags"),
                        STR_CONCAT(im->c->arena, STR("flag "), word->text,
                                   STR(" is unknown and ignored"),
                                   import_suggestion(im, &nearest)));
        }
        mask |= flag;
    }
    return mask;
}

static uint32_t role_hook_mask(struct str name)
{
    if (str_eq(name, STR("on_node_update"))) /* the former name of the hook */
        return 1u << HOOK_NODE_CHANGE;
    for (uint32_t hook = 0; hook < HOOK_COUNT; hook++)
        if (str_eq(name, str_from(hook_name((enum hook)hook))))
            return 1u << hook;
    return 0;
}

static uint32_t import_role_hooks(struct import *im, const struct json *entry, struct str path)
{
    uint32_t mask = 0;
    const struct json *words = import_words(im, entry, "hooks", path, import_check_word);
    for (const struct json *word = words->first; word; word = word->next) {
        if (!role_hook_mask(word->text))
            import_refuse(im, PROBLEM_BAD_VALUE, import_path_of(im, path, "hooks"),
                          STR_CONCAT(im->c->arena, STR("unknown hook "), word->text));
        mask |= role_hook_mask(word->text);
    }
    return mask;
}

/* ---- wanted attribs ---- */

static struct json *wants_find(struct json *wants, struct str name)
{
    for (struct json *want = wants->first; want; want = want->next)
        if (str_eq_nocase(json_get(want, STR("name"))->text, name))
            return want;
    return NULL;
}

/* Reads a name, or {name, at}. */
static void import_want(struct import *im, const struct json *item, struct str path,
                        struct json *wants)
{
    struct arena *a = im->c->arena;
    const bool is_name = item->kind == JSON_STRING;
    if (!is_name && item->kind != JSON_OBJECT) {
        import_refuse(im, PROBLEM_BAD_VALUE, path,
                      STR("must be a name, or a mapping with the keys name and at"));
        return;
    }
    const struct str name = is_name ? item->text : import_text(im, item, "name", path, STR(""));
    const struct str at = is_name ? STR("") : import_text(im, item, "at", path, STR(""));
    const char *wrong = attrib_check_map(at);
    if (wrong)
        import_refuse(im, PROBLEM_BAD_VALUE, import_path_of(im, path, "at"),
                      STR_CONCAT(im->c->arena, STR("at "), str_from(wrong)));
    const struct str field = is_name ? path : import_path_of(im, path, "name");
    if (!import_name(im, name, field, names_check_attrib) || wrong)
        return;
    struct json *want = wants_find(wants, name);
    if (!want) {
        want = json_make(a, JSON_OBJECT);
        json_set(want, STR("name"), json_make_string(a, name));
        json_append(wants, want);
    }
    json_set(want, STR("at"), json_make_string(a, at));
}

static struct str import_wants(struct import *im, const struct json *entry, struct str path)
{
    struct json *wants = json_make(im->c->arena, JSON_ARRAY);
    const struct str list = import_path_of(im, path, "wants-attribs");
    uint32_t i = 0;
    for (const struct json *item = import_list(im, entry, "wants-attribs", path);
         item && !import_is_given_up(im); item = item->next, i++) {
        if (i >= NAMES_MAX) {
            import_refuse(im, PROBLEM_LIMIT_REACHED, list, STR("has more than 1000 entries"));
            break;
        }
        import_want(im, item, import_path_at(im, list, i), wants);
    }
    return words_text(im, wants);
}

/* Names that the role attaches itself to. Later barclamps of OpenCrowbar use the key "preceeds". */
static const struct json *import_attaches(struct import *im, const struct json *entry,
                                          struct str path)
{
    struct json *names = import_words(im, entry, "attaches", path, names_check_role);
    const struct json *more = import_words(im, entry, "preceeds", path, names_check_role);
    for (const struct json *item = more->first; item; item = item->next)
        json_append(names, json_make_string(im->c->arena, item->text));
    return names;
}

/* ---- rows ---- */

/* A role that computes its template keeps the last one until the computation ends; one that does
 * not compute it any more loses it. */
static bool role_loses_template(const struct role *r, const struct role_def *f)
{
    return r->template && !(f->hooks >> HOOK_TEMPLATE & 1);
}

static bool role_reads_as(const struct core *c, const struct role *r, const struct role_def *f)
{
    return r->flags == f->flags && r->hooks == f->hooks && !role_loses_template(r, f) &&
           r->attempts == f->attempts && r->backoff_s == f->backoff_s &&
           r->deadline_s == f->deadline_s && str_eq(text_of(c, r->description), f->description) &&
           str_eq(text_of(c, r->class_name), f->class_name) &&
           str_eq(text_of(c, r->jig_name), f->jig_name) && str_eq(text_of(c, r->wants), f->wants) &&
           str_eq(text_of(c, r->provides), f->provides) &&
           str_eq(text_of(c, r->conflicts), f->conflicts) &&
           str_eq(text_of(c, r->announces), f->announces) && r->network_id == f->network_id &&
           str_eq(text_of(c, r->per_name), f->per_name) &&
           str_eq(text_of(c, r->lists_services), f->lists_services);
}

static void import_touch_role(struct import *im, role_ix r, uint32_t position)
{
    im->changed = true;
    if (im->role_marks[r.v] & MARK_TOUCHED)
        return;
    im->role_marks[r.v] |= MARK_TOUCHED;
    im->touched[im->touched_count] = r;
    im->positions[im->touched_count++] = position;
}

/* Queues the role: its requirements are written when all roles of the document exist. */
static void import_enqueue_requires(struct import *im, role_ix r, uint32_t position)
{
    if (im->role_marks[r.v] & MARK_QUEUED)
        return;
    im->role_marks[r.v] |= MARK_QUEUED;
    im->requires_queue[im->requires_count] = r;
    im->requires_positions[im->requires_count++] = position;
}

static void import_attach(struct import *im, role_ix r, const struct json *names, uint32_t position)
{
    const struct role_list others = attachments_write(im->c, r, names);
    for (uint32_t i = 0; i < others.count; i++)
        import_enqueue_requires(im, others.items[i], position);
}

static void role_write(struct core *c, role_ix ix, const struct role_def *f)
{
    struct role *r = role_edit(c, ix);
    if (role_loses_template(r, f) || !str_eq(text_of(c, r->wants), f->wants))
        defaults_changed(c, ix);
    r->flags = f->flags;
    r->hooks = f->hooks;
    r->attempts = f->attempts;
    r->backoff_s = f->backoff_s;
    r->deadline_s = f->deadline_s;
    put_text(c, &r->description, f->description);
    put_text(c, &r->class_name, f->class_name);
    put_text(c, &r->jig_name, f->jig_name);
    put_doc(c, &r->wants, f->wants);
    put_doc(c, &r->provides, f->provides);
    put_doc(c, &r->conflicts, f->conflicts);
    put_doc(c, &r->announces, f->announces);
    role_set_network(c, ix, network_by_id(c, f->network_id));
    put_text(c, &r->per_name, f->per_name);
    put_text(c, &r->lists_services, f->lists_services);
    if (role_loses_template(r, f))
        put_doc(c, &r->template, STR(""));
}

/* Checks whether this document may define the role that has the name already. */
static bool import_may_define_role(struct import *im, role_ix ix, struct str name, struct str field)
{
    struct core *c = im->c;
    const struct role *r = role_at(c, ix);
    struct str why = STR("");
    if (im->role_marks[ix.v] & MARK_SEEN)
        why = STR_CONCAT(c->arena, STR("role "), name, STR(" is defined twice"));
    else if (!str_eq(text_of(c, r->name), name))
        why = STR_CONCAT(c->arena, name, STR(" differs only in case from "), text_of(c, r->name));
    else if (im->barclamp.v && r->barclamp.v != im->barclamp.v && !(r->flags & ROLE_WITHDRAWN))
        why = STR_CONCAT(c->arena, STR("role "), name, STR(" belongs to barclamp "),
                         text_of(c, barclamp_at(c, r->barclamp)->name));
    else if (im->network.v && r->network_id != network_at(c, im->network)->o.id)
        why = STR_CONCAT(c->arena, STR("there is a role "), name,
                         STR(" already; give the network another name"));
    if (why.len)
        import_refuse(im, PROBLEM_NAME_TAKEN, field, why);
    return why.len == 0;
}

static role_ix import_get_role(struct import *im, struct str name, struct str field)
{
    struct core *c = im->c;
    role_ix ix = {name_find(c, TABLE_ROLE, name)};
    if (ix.v && !import_may_define_role(im, ix, name, field))
        return (role_ix){0};
    if (ix.v && im->barclamp.v && role_at(c, ix)->barclamp.v != im->barclamp.v)
        role_change_barclamp(c, ix, im->barclamp);
    if (ix.v)
        return ix;
    ix = role_add(c);
    if (!ix.v)
        return ix;
    struct role *r = role_edit(c, ix);
    put_text(c, &r->name, name);
    r->barclamp = im->barclamp;
    name_add(c, TABLE_ROLE, ix.v);
    return ix;
}

/* ---- one role ---- */

static struct str import_role_jig(struct import *im, const struct json *entry, struct str path)
{
    const struct str field = import_path_of(im, path, "jig");
    const struct str jig = import_text(im, entry, "jig", path, STR(""));
    if (import_name(im, jig, field, names_check_jig) && !name_find(im->c, TABLE_JIG, jig)) {
        struct suggestion nearest = {0};
        int64_t after = 0;
        for (uint32_t ix = core_next_row(im->c, TABLE_JIG, 0); ix;
             ix = core_next_row(im->c, TABLE_JIG, after)) {
            const struct jig *known = jig_at(im->c, (jig_ix){ix});
            after = known->o.id;
            suggest_offer_str(&nearest, jig, text_of(im->c, known->name));
            /* The document may name the class (puppet) instead of the jig (puppet-sa). */
            if (str_eq(jig, text_of(im->c, known->class_name)))
                suggest_offer_str(&nearest, text_of(im->c, known->name),
                                  text_of(im->c, known->name));
        }
        import_warn(im, "jig_unknown", field,
                    STR_CONCAT(im->c->arena, STR("jig "), jig, STR(" is not known here; the role "),
                               core_settings(im->c)->test_jig ? STR("runs on the test jig")
                                                              : STR("cannot run"),
                               import_suggestion(im, &nearest)));
    }
    return jig;
}

/* Returns 0 if the key is absent. */
static uint32_t import_role_count(struct import *im, const struct json *entry, const char *key,
                                  struct str path, uint32_t most)
{
    int64_t count = 0;
    const struct json *value = import_get(entry, key);
    if (!value || (json_as_i64(value, &count) && count >= 0 && count <= most))
        return (uint32_t)count;
    import_refuse(im, PROBLEM_BAD_VALUE, import_path_of(im, path, key),
                  STR_CONCAT(im->c->arena, str_from(key), STR(" must be a whole number from 0 to "),
                             str_from_i64(im->c->arena, most)));
    return 0;
}

/* The attrib that lists the DNS services; it must be one of the role's own. */
static struct str import_role_services(struct import *im, const struct json *entry, struct str path)
{
    const struct str attrib = import_text(im, entry, "lists-services", path, STR(""));
    const struct json *own = import_get(entry, "attribs");
    if (!attrib.len)
        return attrib;
    for (const struct json *item = own ? own->first : NULL; item; item = item->next) {
        const struct json *name = import_get(item, "name");
        if (name && str_eq(name->text, attrib))
            return attrib;
    }
    import_refuse(im, PROBLEM_BAD_VALUE, import_path_of(im, path, "lists-services"),
                  STR("lists-services must name an attrib of this role"));
    return STR("");
}

static struct role_def import_role_def(struct import *im, const struct json *entry, struct str path,
                                       struct str name)
{
    return (struct role_def){
        .name = name,
        .description = import_text(im, entry, "description", path, import_title(im, name)),
        .class_name = import_text(im, entry, "type", path, STR("Role")),
        .jig_name = import_role_jig(im, entry, path),
        .requires = import_words(im, entry, "requires", path, names_check_role),
        .wants = import_wants(im, entry, path),
        .provides = import_names_text(im, entry, "provides", path),
        .conflicts = import_names_text(im, entry, "conflicts", path),
        .announces = words_text(im, import_words(im, entry, "announces", path, import_check_word)),
        .flags = import_role_flags(im, entry, path),
        .hooks = import_role_hooks(im, entry, path),
        .attempts = import_role_count(im, entry, "attempts", path, ATTEMPTS_MAX),
        .backoff_s = import_role_count(im, entry, "backoff", path, RUN_TIME_S_MAX),
        .deadline_s = import_role_count(im, entry, "deadline", path, RUN_TIME_S_MAX),
        .attaches = import_attaches(im, entry, path),
        .lists_services = import_role_services(im, entry, path),
    };
}

/* Reads one role and writes it. `w` and `pattern`: the network that it is made for and its name in
 * the document; 0 and "" for other roles. */
static void import_one_role(struct import *im, const struct json *entry, uint32_t i, network_ix w,
                            struct str pattern)
{
    struct core *c = im->c;
    const struct str path = import_path_at(im, STR("roles"), i);
    /* The whole entry is read even if its name is invalid, so that all problems are reported. */
    const struct str name = import_text(im, entry, "name", path, STR(""));
    const struct str field = import_path_of(im, path, "name");
    const bool named = import_name(im, name, field, names_check_role);
    struct role_def def = import_role_def(im, entry, path, name);
    def.network_id = w.v ? network_at(c, w)->o.id : 0;
    def.per_name = pattern;
    const role_ix ix = named ? import_get_role(im, name, field) : (role_ix){0};
    if (ix.v) {
        im->role_marks[ix.v] |= MARK_SEEN;
        im->own_requires[ix.v] = def.requires;
        import_enqueue_requires(im, ix, i);
        import_attach(im, ix, def.attaches, i);
    }
    /* Write the row only if a field differs. */
    if (ix.v && !role_reads_as(c, role_at(c, ix), &def)) {
        if (def.hooks & ~role_at(c, ix)->hooks & 1u << HOOK_PROPOSED)
            im->role_marks[ix.v] |= MARK_PROPOSES;
        role_write(c, ix, &def);
        import_touch_role(im, ix, i);
    }
    import_role_attribs(im, entry, path, ix);
}

/* Checks an entry in whose names "{name}" is replaced by a sample, without writing. */
static void import_check_role(struct import *im, const struct json *entry, struct str path)
{
    const struct str name = import_text(im, entry, "name", path, STR(""));
    import_name(im, name, import_path_of(im, path, "name"), names_check_role);
    (void)import_role_def(im, entry, path, name);
    import_role_attribs(im, entry, path, (role_ix){0});
}

/* A role with `per` is checked once, and then written for each network. */
static void import_role(struct import *im, const struct json *entry, uint32_t i)
{
    struct arena *a = im->c->arena;
    const struct str path = import_path_at(im, STR("roles"), i);
    if (entry->kind != JSON_OBJECT) {
        import_refuse(im, PROBLEM_BAD_VALUE, path, STR("must be a mapping of keys to values"));
        return;
    }
    const uint32_t before = im->problems;
    const bool is_per = import_is_per_network(im, entry, path);
    if (!is_per && !import_has_stray_variable(im, entry, path)) {
        if (!im->network.v)
            import_one_role(im, entry, i, (network_ix){0}, STR(""));
        return;
    }
    if (!im->network.v) {
        if (is_per)
            import_check_per_role(im, entry, i);
        import_check_role(im, import_per_sample(im, entry, path), path);
    }
    im->is_copy = true;
    for (network_ix w = import_next_network(im, (network_ix){0}); w.v && im->problems == before;
         w = import_next_network(im, w)) {
        const struct str name = text_of(im->c, network_at(im->c, w)->name);
        import_one_role(im, import_per_copy(a, entry, name), i, w, import_get(entry, "name")->text);
    }
    im->is_copy = false;
}

/* ---- attachments without a role ---- */

/* The role belongs to this barclamp and is not in its document. */
static bool import_role_is_left_out(const struct import *im, role_ix r)
{
    const network_ix w = network_by_id(im->c, role_at(im->c, r)->network_id);
    return role_at(im->c, r)->barclamp.v == im->barclamp.v && !(im->role_marks[r.v] & MARK_SEEN) &&
           !(w.v && network_at(im->c, w)->deleting);
}

static bool import_role_stays(const struct import *im, struct str name)
{
    const role_ix r = {name_find(im->c, TABLE_ROLE, name)};
    return r.v && !(import_role_is_left_out(im, r) && role_at(im->c, r)->deployed.count == 0);
}

static void import_warn_unattached(struct import *im, const struct json *entry, uint32_t i,
                                   const char *key)
{
    const struct json *to = import_get(entry, key);
    for (const struct json *item = to ? to->first : NULL; item; item = item->next)
        if (item->kind == JSON_STRING && !import_get(entry, "per") &&
            !import_role_stays(im, item->text))
            import_warn(im, "attach_unresolved",
                        import_path_of(im, import_path_at(im, STR("roles"), i), key),
                        STR_CONCAT(im->c->arena, STR("there is no role "), item->text,
                                   STR(" to attach to yet")));
}

void import_roles(struct import *im)
{
    uint32_t i = 0;
    const struct json *first = import_list(im, im->doc, "roles", STR(""));
    for (const struct json *entry = first; entry && !import_is_given_up(im);
         entry = entry->next, i++)
        import_role(im, entry, i);
    i = 0;
    for (const struct json *entry = first; entry && !import_is_given_up(im);
         entry = entry->next, i++) {
        import_warn_unattached(im, entry, i, "attaches");
        import_warn_unattached(im, entry, i, "preceeds");
    }
}

/* ---- roles that the document does not define any more ---- */

static struct str import_count_text(struct import *im, uint32_t count, const char *noun)
{
    return STR_CONCAT(im->c->arena, str_from_i64(im->c->arena, count), STR(" "), str_from(noun),
                      str_from(count == 1 ? "" : "s"));
}

static void import_warn_withdrawn(struct import *im, role_ix r)
{
    struct core *c = im->c;
    const uint32_t nodes = role_count_bound(c, r);
    const struct str where =
        nodes ? STR_CONCAT(c->arena, STR("bound on "), import_count_text(im, nodes, "node"))
              : STR_CONCAT(c->arena, STR("part of "),
                           import_count_text(im, role_at(c, r)->deployed.count, "deployment"));
    import_warn(im, "role_withdrawn", STR("roles"),
                STR_CONCAT(c->arena, STR("role "), text_of(c, role_at(c, r)->name),
                           STR(" is no longer in barclamp "),
                           text_of(c, barclamp_at(c, im->barclamp)->name), STR(" and is still "),
                           where, STR("; it keeps running as it is, without hooks")));
}

/* The attachments of the role are dropped first: role_remove() requires that, and the roles that it
 * was attached to are enqueued, because their requirements change. */
void import_remove_role(struct import *im, role_ix r)
{
    struct core *c = im->c;
    import_attach(im, r, json_make(c->arena, JSON_ARRAY), NO_POSITION);
    if (role_at(c, r)->deployed.count) {
        import_warn_withdrawn(im, r);
        if (!role_withdraw(c, r))
            return;
        im->withdrawn = true;
        import_touch_role(im, r, NO_POSITION);
        return;
    }
    im->attribs_moved = im->attribs_moved || role_at(c, r)->attribs.count;
    im->changed = im->withdrawn = true;
    role_remove(c, r);
}

void import_remove_left_out(struct import *im)
{
    struct core *c = im->c;
    int64_t after = 0;
    if (refused(c)) /* an incomplete list of roles must not remove others */
        return;
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, after)) {
        after = role_at(c, (role_ix){ix})->o.id;
        if (import_role_is_left_out(im, (role_ix){ix}))
            import_remove_role(im, (role_ix){ix});
    }
    if (im->withdrawn)
        roles_drop_references(c);
}

void import_write_requires(struct import *im)
{
    struct core *c = im->c;
    for (uint32_t i = 0; i < im->requires_count; i++) {
        const role_ix r = im->requires_queue[i];
        if (pool_is_live(&c->tables[TABLE_ROLE].pool, r.v) &&
            attachments_apply(c, r, im->own_requires[r.v]))
            import_touch_role(im, r, im->requires_positions[i]);
    }
}
