#include "core/catalog/import_private.h"

#include "model/names.h"

enum { NAMES_MAX = 1000 }; /* in one list; they are compared with each other */

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

struct role_facts {
    struct str name, description, class_name, jig_name;
    struct str wants, provides, conflicts, announces; /* canonical; empty = none */
    struct json *requires;                            /* its own */
    const struct json *attaches;
    uint32_t flags, hooks;
    uint32_t attempts, backoff_s, deadline_s;
};

/* ---- lists ---- */

static bool list_has(const struct json *list, struct str name)
{
    for (const struct json *item = list->first; item; item = item->next)
        if (str_eq_nocase(item->text, name))
            return true;
    return false;
}

static struct str list_text(struct import *im, const struct json *list)
{
    return list->count ? json_write(im->c->arena, list) : STR("");
}

static const char *check_step(struct str step)
{
    return step.len == 0 || step.len > NAME_LEN_MAX ? "must be a word" : NULL;
}

/* A list of words, each once, each obeying `check`. */
static struct json *read_words(struct import *im, const struct json *entry, const char *key,
                               struct str place, const char *(*check)(struct str))
{
    struct json *words = json_make(im->c->arena, JSON_ARRAY);
    const struct str list = place_of(im, place, key);
    uint32_t i = 0;
    for (const struct json *item = import_list(im, entry, key, place);
         item && !import_is_hopeless(im); item = item->next, i++) {
        if (i >= NAMES_MAX) {
            import_refuse(im, PROBLEM_LIMIT_REACHED, list, STR("has too many entries"));
            break;
        }
        if (item->kind != JSON_STRING)
            import_refuse(im, PROBLEM_BAD_VALUE, place_at(im, list, i), STR("must be a name"));
        else if (import_name(im, item->text, place_at(im, list, i), check) &&
                 !list_has(words, item->text))
            json_append(words, json_make_string(im->c->arena, item->text));
    }
    return words;
}

static struct str read_names(struct import *im, const struct json *entry, const char *key,
                             struct str place)
{
    return list_text(im, read_words(im, entry, key, place, names_check_role));
}

/* ---- flags and hooks ---- */

static uint32_t flag_named(struct str name)
{
    for (uint32_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (str_eq(name, str_from(flags[i].name)))
            return flags[i].flag;
    return 0;
}

static uint32_t read_flags(struct import *im, const struct json *entry, struct str place)
{
    uint32_t mask = 0;
    const struct json *words = read_words(im, entry, "flags", place, check_step);
    for (const struct json *word = words->first; word; word = word->next) {
        const uint32_t flag = flag_named(word->text);
        if (!flag) {
            struct suggestion nearest = {0};
            for (uint32_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
                suggest_offer_str(&nearest, word->text, str_from(flags[i].name));
            import_warn(im, "flag_unknown", place_of(im, place, "flags"),
                        STR_CONCAT(im->c->arena, STR("flag "), word->text,
                                   STR(" means nothing here"), import_meant(im, &nearest)));
        }
        mask |= flag;
    }
    return mask;
}

static uint32_t hook_mask(struct str name)
{
    if (str_eq(name, STR("on_node_update"))) /* what the hook was called before */
        return 1u << HOOK_NODE_CHANGE;
    for (uint32_t hook = 0; hook < HOOK_COUNT; hook++)
        if (str_eq(name, str_from(hook_name((enum hook)hook))))
            return 1u << hook;
    return 0;
}

static uint32_t read_hooks(struct import *im, const struct json *entry, struct str place)
{
    uint32_t mask = 0;
    const struct json *words = read_words(im, entry, "hooks", place, check_step);
    for (const struct json *word = words->first; word; word = word->next) {
        if (!hook_mask(word->text))
            import_refuse(im, PROBLEM_BAD_VALUE, place_of(im, place, "hooks"),
                          STR_CONCAT(im->c->arena, STR("there is no hook "), word->text));
        mask |= hook_mask(word->text);
    }
    return mask;
}

/* ---- wanted attribs ---- */

static struct json *find_want(struct json *wants, struct str name)
{
    for (struct json *want = wants->first; want; want = want->next)
        if (str_eq_nocase(json_get(want, STR("name"))->text, name))
            return want;
    return NULL;
}

/* A name, or {name, at}. */
static void read_want(struct import *im, const struct json *item, struct str place,
                      struct json *wants)
{
    struct arena *a = im->c->arena;
    const bool is_name = item->kind == JSON_STRING;
    if (!is_name && item->kind != JSON_OBJECT) {
        import_refuse(im, PROBLEM_BAD_VALUE, place, STR("must be a name, or a name and an at"));
        return;
    }
    const struct str name = is_name ? item->text : import_text(im, item, "name", place, STR(""));
    const struct str at = is_name ? STR("") : import_text(im, item, "at", place, STR(""));
    const char *wrong = attrib_check_map(at);
    if (wrong)
        import_refuse(im, PROBLEM_BAD_VALUE, place_of(im, place, "at"),
                      STR_CONCAT(im->c->arena, STR("at "), str_from(wrong)));
    const struct str field = is_name ? place : place_of(im, place, "name");
    if (!import_name(im, name, field, names_check_attrib) || wrong)
        return;
    struct json *want = find_want(wants, name);
    if (!want) {
        want = json_make(a, JSON_OBJECT);
        json_set(want, STR("name"), json_make_string(a, name));
        json_append(wants, want);
    }
    json_set(want, STR("at"), json_make_string(a, at));
}

static struct str read_wants(struct import *im, const struct json *entry, struct str place)
{
    struct json *wants = json_make(im->c->arena, JSON_ARRAY);
    const struct str list = place_of(im, place, "wants-attribs");
    uint32_t i = 0;
    for (const struct json *item = import_list(im, entry, "wants-attribs", place);
         item && !import_is_hopeless(im); item = item->next, i++) {
        if (i >= NAMES_MAX) {
            import_refuse(im, PROBLEM_LIMIT_REACHED, list, STR("has too many entries"));
            break;
        }
        read_want(im, item, place_at(im, list, i), wants);
    }
    return list_text(im, wants);
}

/* What it attaches itself to; later barclamps spell it "preceeds". */
static const struct json *read_attaches(struct import *im, const struct json *entry,
                                        struct str place)
{
    struct json *names = read_words(im, entry, "attaches", place, names_check_role);
    const struct json *more = read_words(im, entry, "preceeds", place, names_check_role);
    for (const struct json *item = more->first; item; item = item->next)
        json_append(names, json_make_string(im->c->arena, item->text));
    return names;
}

/* ---- the row ---- */

/* A template that the role computes is computed again; until then the last one counts. */
static bool loses_template(const struct role *r, const struct role_facts *f)
{
    return r->template && !(f->hooks >> HOOK_TEMPLATE & 1);
}

static bool role_reads_as(const struct core *c, const struct role *r, const struct role_facts *f)
{
    return r->flags == f->flags && r->hooks == f->hooks && !loses_template(r, f) &&
           r->attempts == f->attempts && r->backoff_s == f->backoff_s &&
           r->deadline_s == f->deadline_s && str_eq(text_of(c, r->description), f->description) &&
           str_eq(text_of(c, r->class_name), f->class_name) &&
           str_eq(text_of(c, r->jig_name), f->jig_name) && str_eq(text_of(c, r->wants), f->wants) &&
           str_eq(text_of(c, r->provides), f->provides) &&
           str_eq(text_of(c, r->conflicts), f->conflicts) &&
           str_eq(text_of(c, r->announces), f->announces);
}

static void touch(struct import *im, role_ix r, uint32_t place)
{
    im->changed = true;
    if (im->role_marks[r.v] & MARK_TOUCHED)
        return;
    im->role_marks[r.v] |= MARK_TOUCHED;
    im->touched[im->touched_count] = r;
    im->places[im->touched_count++] = place;
}

/* What it requires is looked at when everybody is there. */
static void line_up(struct import *im, role_ix r, uint32_t place)
{
    if (im->role_marks[r.v] & MARK_IN_LINE)
        return;
    im->role_marks[r.v] |= MARK_IN_LINE;
    im->line[im->line_count] = r;
    im->line_places[im->line_count++] = place;
}

static void attach(struct import *im, role_ix r, const struct json *names, uint32_t place)
{
    const struct role_list others = attachments_write(im->c, r, names);
    for (uint32_t i = 0; i < others.count; i++)
        line_up(im, others.items[i], place);
}

static void role_write(struct core *c, role_ix ix, const struct role_facts *f)
{
    struct role *r = role_edit(c, ix);
    if (loses_template(r, f) || !str_eq(text_of(c, r->wants), f->wants))
        defaults_moved(c, ix);
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
    if (loses_template(r, f))
        put_doc(c, &r->template, STR(""));
}

/* May this document say what the role is? */
static bool may_define(struct import *im, role_ix ix, struct str name, struct str field)
{
    struct core *c = im->c;
    const struct role *r = role_at(c, ix);
    struct str why = STR("");
    if (im->role_marks[ix.v] & MARK_SEEN)
        why = STR_CONCAT(c->arena, STR("role "), name, STR(" comes twice"));
    else if (!str_eq(text_of(c, r->name), name))
        why = STR_CONCAT(c->arena, name, STR(" differs only in case from "), text_of(c, r->name));
    else if (im->barclamp.v && r->barclamp.v != im->barclamp.v && !(r->flags & ROLE_WITHDRAWN))
        why = STR_CONCAT(c->arena, STR("role "), name, STR(" belongs to barclamp "),
                         text_of(c, barclamp_at(c, r->barclamp)->name));
    if (why.len)
        import_refuse(im, PROBLEM_NAME_TAKEN, field, why);
    return why.len == 0;
}

static role_ix role_named(struct import *im, struct str name, struct str field)
{
    struct core *c = im->c;
    role_ix ix = {name_find(c, TABLE_ROLE, name)};
    if (ix.v && !may_define(im, ix, name, field))
        return (role_ix){0};
    if (ix.v && im->barclamp.v && role_at(c, ix)->barclamp.v != im->barclamp.v)
        role_take_over(c, ix, im->barclamp);
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

static struct str read_jig(struct import *im, const struct json *entry, struct str place)
{
    const struct str field = place_of(im, place, "jig");
    const struct str jig = import_text(im, entry, "jig", place, STR(""));
    if (import_name(im, jig, field, names_check_jig) && !name_find(im->c, TABLE_JIG, jig)) {
        struct suggestion nearest = {0};
        int64_t after = 0;
        for (uint32_t ix = core_next_row(im->c, TABLE_JIG, 0); ix;
             ix = core_next_row(im->c, TABLE_JIG, after)) {
            const struct jig *known = jig_at(im->c, (jig_ix){ix});
            after = known->o.id;
            suggest_offer_str(&nearest, jig, text_of(im->c, known->name));
            if (str_eq(jig, text_of(im->c, known->class_name))) /* puppet: puppet-sa */
                suggest_offer_str(&nearest, text_of(im->c, known->name),
                                  text_of(im->c, known->name));
        }
        import_warn(im, "jig_unknown", field,
                    STR_CONCAT(im->c->arena, STR("jig "), jig, STR(" is not known here; the role "),
                               core_settings(im->c)->test_jig ? STR("runs on the test jig")
                                                              : STR("cannot run"),
                               import_meant(im, &nearest)));
    }
    return jig;
}

/* 0 when it is not there. */
static uint32_t read_count(struct import *im, const struct json *entry, const char *key,
                           struct str place, uint32_t most)
{
    int64_t count = 0;
    const struct json *value = import_get(entry, key);
    if (!value || (json_as_i64(value, &count) && count >= 0 && count <= most))
        return (uint32_t)count;
    import_refuse(im, PROBLEM_BAD_VALUE, place_of(im, place, key),
                  STR_CONCAT(im->c->arena, str_from(key), STR(" must be a whole number from 0 to "),
                             str_from_i64(im->c->arena, most)));
    return 0;
}

static struct role_facts read_role(struct import *im, const struct json *entry, struct str place,
                                   struct str name)
{
    return (struct role_facts){
        .name = name,
        .description = import_text(im, entry, "description", place, import_title(im, name)),
        .class_name = import_text(im, entry, "type", place, STR("Role")),
        .jig_name = read_jig(im, entry, place),
        .requires = read_words(im, entry, "requires", place, names_check_role),
        .wants = read_wants(im, entry, place),
        .provides = read_names(im, entry, "provides", place),
        .conflicts = read_names(im, entry, "conflicts", place),
        .announces = list_text(im, read_words(im, entry, "announces", place, check_step)),
        .flags = read_flags(im, entry, place),
        .hooks = read_hooks(im, entry, place),
        .attempts = read_count(im, entry, "attempts", place, ATTEMPTS_MAX),
        .backoff_s = read_count(im, entry, "backoff", place, RUN_TIME_S_MAX),
        .deadline_s = read_count(im, entry, "deadline", place, RUN_TIME_S_MAX),
        .attaches = read_attaches(im, entry, place),
    };
}

static void import_role(struct import *im, const struct json *entry, uint32_t i)
{
    struct core *c = im->c;
    const struct str place = place_at(im, STR("roles"), i);
    if (entry->kind != JSON_OBJECT) {
        import_refuse(im, PROBLEM_BAD_VALUE, place, STR("must be a set of keys and values"));
        return;
    }
    const struct str name = import_text(im, entry, "name", place, STR(""));
    const struct str field = place_of(im, place, "name");
    const bool named = import_name(im, name, field, names_check_role);
    const struct role_facts facts = read_role(im, entry, place, name);
    const role_ix ix = named ? role_named(im, name, field) : (role_ix){0};
    if (ix.v) {
        im->role_marks[ix.v] |= MARK_SEEN;
        im->own_requires[ix.v] = facts.requires;
        line_up(im, ix, i);
        attach(im, ix, facts.attaches, i);
    }
    if (ix.v && !role_reads_as(c, role_at(c, ix), &facts)) {
        role_write(c, ix, &facts);
        touch(im, ix, i);
    }
    uint32_t k = 0;
    const struct str attribs = place_of(im, place, "attribs");
    for (const struct json *item = import_list(im, entry, "attribs", place);
         item && !import_is_hopeless(im); item = item->next, k++)
        import_attrib(im, item, place_at(im, attribs, k), ix, ix.v != 0);
}

/* ---- roles that are not there ---- */

/* Of this barclamp, and not in its document any more. */
static bool is_left_out(const struct import *im, role_ix r)
{
    return role_at(im->c, r)->barclamp.v == im->barclamp.v && !(im->role_marks[r.v] & MARK_SEEN);
}

static bool stays(const struct import *im, struct str name)
{
    const role_ix r = {name_find(im->c, TABLE_ROLE, name)};
    return r.v && !(is_left_out(im, r) && role_at(im->c, r)->deployed.count == 0);
}

static void warn_unattached(struct import *im, const struct json *entry, uint32_t i,
                            const char *key)
{
    const struct json *to = import_get(entry, key);
    for (const struct json *item = to ? to->first : NULL; item; item = item->next)
        if (item->kind == JSON_STRING && !stays(im, item->text))
            import_warn(im, "attach_unresolved", place_of(im, place_at(im, STR("roles"), i), key),
                        STR_CONCAT(im->c->arena, STR("there is no role "), item->text,
                                   STR(" to attach to yet")));
}

void import_roles(struct import *im)
{
    uint32_t i = 0;
    const struct json *first = import_list(im, im->doc, "roles", STR(""));
    for (const struct json *entry = first; entry && !import_is_hopeless(im);
         entry = entry->next, i++)
        import_role(im, entry, i);
    i = 0;
    for (const struct json *entry = first; entry && !import_is_hopeless(im);
         entry = entry->next, i++) {
        warn_unattached(im, entry, i, "attaches");
        warn_unattached(im, entry, i, "preceeds");
    }
}

/* ---- roles that the document does not name any more ---- */

static struct str count_of(struct import *im, uint32_t count, const char *noun)
{
    return STR_CONCAT(im->c->arena, str_from_i64(im->c->arena, count), STR(" "), str_from(noun),
                      str_from(count == 1 ? "" : "s"));
}

static void warn_withdrawn(struct import *im, role_ix r)
{
    struct core *c = im->c;
    const uint32_t nodes = role_count_bound(c, r);
    const struct str where =
        nodes ? STR_CONCAT(c->arena, STR("bound on "), count_of(im, nodes, "node"))
              : STR_CONCAT(c->arena, STR("part of "),
                           count_of(im, role_at(c, r)->deployed.count, "deployment"));
    import_warn(im, "role_withdrawn", STR("roles"),
                STR_CONCAT(c->arena, STR("role "), text_of(c, role_at(c, r)->name),
                           STR(" is no longer in barclamp "),
                           text_of(c, barclamp_at(c, im->barclamp)->name), STR(" and is still "),
                           where, STR("; it keeps running as it is, without hooks")));
}

static void leave_out(struct import *im, role_ix r)
{
    struct core *c = im->c;
    attach(im, r, json_make(c->arena, JSON_ARRAY), NO_PLACE);
    if (role_at(c, r)->deployed.count) {
        warn_withdrawn(im, r);
        if (!role_withdraw(c, r))
            return;
        im->withdrawn = true;
        touch(im, r, NO_PLACE);
        return;
    }
    im->attribs_moved = im->attribs_moved || role_at(c, r)->attribs.count;
    im->changed = im->withdrawn = true;
    role_remove(c, r);
}

void import_left_out(struct import *im)
{
    struct core *c = im->c;
    int64_t after = 0;
    if (refused(c)) /* a document that is refused has not said what it leaves out */
        return;
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, after)) {
        after = role_at(c, (role_ix){ix})->o.id;
        if (is_left_out(im, (role_ix){ix}))
            leave_out(im, (role_ix){ix});
    }
    if (im->withdrawn)
        roles_withdrawn(c);
}

void import_requires(struct import *im)
{
    struct core *c = im->c;
    for (uint32_t i = 0; i < im->line_count; i++) {
        const role_ix r = im->line[i];
        if (pool_is_live(&c->tables[TABLE_ROLE].pool, r.v) &&
            attachments_apply(c, r, im->own_requires[r.v]))
            touch(im, r, im->line_places[i]);
    }
}
