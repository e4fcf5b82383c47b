#include "core/network/network_private.h"

#include "base/json/json.h"
#include "model/names.h"

/* DNS name filters, and which of them have a service (docs/spec/networks.md, Names).
 *
 * This file owns the filter rows, the list vars.name_filters, which is sorted by priority, the
 * parsed forms of matcher and template in each row, and the flag is_served: the DNS service of the
 * filter exists. A service exists while a noderole that lists services names it in the value of
 * its attrib (service_is_listed_by).
 *
 * Order: all checks of a command precede its first change. The parsed forms are made when the texts
 * are stored. Whether services exist is determined at the end of a step that changed a noderole or
 * a definition on which that depends (vars.services_due), because the step may change several; a
 * filter whose flag changed starts an evaluation of all allocations (dns_names.c).
 *
 * Failure: a refused command changes nothing. A value that is no list of names lists no service. */

enum { FILTER_PRIORITY = 50 };

/* ---- services ---- */

/* True if the value, a list of names or of objects with a name, has that name. */
static bool service_list_has(const struct json *list, struct str service)
{
    for (const struct json *item = list && list->kind == JSON_ARRAY ? list->first : NULL; item;
         item = item->next) {
        const struct json *name = item->kind == JSON_OBJECT ? json_get(item, STR("name")) : item;
        if (name && name->kind == JSON_STRING && str_eq(name->text, service))
            return true;
    }
    return false;
}

/* A noderole lists services from its first success until it is proposed or deleted. Its state does
 * not count, because a run that only repeats the work, or a node that is not alive for a while,
 * would otherwise remove all names and make them again; a run that fails does not stop a service
 * that ran before. The rule reads stored fields only, so that a load gives the same services. */
static bool service_is_listed_by(const struct noderole *nr)
{
    return nr->state != NODEROLE_PROPOSED && nr->run_count > 0;
}

/* The services that one noderole lists: set the flag of each filter in `served`, which is in the
 * order of vars.name_filters. Returns the number of flags that were not set before. */
static uint32_t service_mark_listed(const struct core *c, noderole_ix nr, attrib_ix attrib,
                                    bool *served, struct arena *scratch)
{
    const struct vec *filters = &c->vars.name_filters;
    const struct json *list = data_value(c, attrib, data_noderole(c, nr, true, scratch), scratch);
    uint32_t found = 0;
    for (uint32_t i = 0; i < filters->count; i++) {
        const dns_name_filter_ix f = {vec_at(c, filters, i)};
        if (!served[i] && service_list_has(list, text_of(c, dns_name_filter_at(c, f)->service))) {
            served[i] = true;
            found++;
        }
    }
    return found;
}

/* Which filters have a service. Ends when all of them have one, so that the usual case reads one
 * noderole. */
static void services_find(const struct core *c, bool served[NAME_FILTERS_MAX])
{
    struct arena scratch = {0};
    uint32_t missing = c->vars.name_filters.count;
    memset(served, 0, NAME_FILTERS_MAX * sizeof *served);
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix && missing;
         ix = core_next_row(c, TABLE_ROLE, role_at(c, (role_ix){ix})->o.id)) {
        const struct role *role = role_at(c, (role_ix){ix});
        const attrib_ix attrib = {role->lists_services
                                      ? name_find(c, TABLE_ATTRIB, text_of(c, role->lists_services))
                                      : 0};
        for (uint32_t d = 0; attrib.v && d < role->deployed.count; d++) {
            const struct vec *noderoles =
                &deployment_role_at(c, (deployment_role_ix){vec_at(c, &role->deployed, d)})
                     ->noderoles;
            for (uint32_t i = 0; i < noderoles->count && missing; i++) {
                const noderole_ix nr = {vec_at(c, noderoles, i)};
                if (!service_is_listed_by(noderole_at(c, nr)))
                    continue;
                missing -= service_mark_listed(c, nr, attrib, served, &scratch);
                arena_reset(&scratch);
            }
        }
    }
    arena_fini(&scratch);
}

/* Which rows the filters read, besides those of the allocation and its node. */
static uint32_t filters_find_needs(const struct core *c)
{
    uint32_t needs = 0;
    for (uint32_t i = 0; i < c->vars.name_filters.count; i++) {
        const struct dns_name_filter *filter =
            dns_name_filter_at(c, (dns_name_filter_ix){vec_at(c, &c->vars.name_filters, i)});
        const struct str text = text_of(c, filter->matcher);
        for (uint32_t k = 0; k < filter->matches.count; k++) {
            const struct name_test *test = &filter->matches.tests[k];
            if (test->kind == NAME_TEST_NODE_ROLE)
                needs |= NAMES_NEED_ROLES;
            if (test->kind != NAME_TEST_NODE_ATTRIB)
                continue;
            const attrib_ix attrib = {
                name_find(c, TABLE_ATTRIB, (struct str){text.at + test->name_at, test->name_len})};
            needs |= NAMES_NEED_ATTRIBS;
            if (attrib.v && attrib_at(c, attrib)->role.v)
                needs |= NAMES_NEED_ROLE_DATA;
        }
    }
    return needs;
}

void dns_services_settle(struct core *c)
{
    bool served[NAME_FILTERS_MAX];
    services_find(c, served);
    struct vars *vars = vars_edit(c);
    vars->services_due = false;
    vars->name_needs = filters_find_needs(c);
    for (uint32_t i = 0; i < vars->name_filters.count; i++) {
        const dns_name_filter_ix f = {vec_at(c, &vars->name_filters, i)};
        if (dns_name_filter_at(c, f)->deleting || dns_name_filter_at(c, f)->is_served == served[i])
            continue;
        dns_name_filter_derive(c, f)->is_served = served[i];
        if (served[i] || dns_name_filter_at(c, f)->entry_count)
            dns_names_evaluate_all(c);
    }
}

/* ---- rows ---- */

/* Add the filter to the list; the caller has stored its priority. */
void dns_name_filter_index(struct core *c, dns_name_filter_ix f)
{
    const uint32_t priority = dns_name_filter_at(c, f)->priority;
    struct vec *filters = &vars_edit(c)->name_filters;
    uint32_t at = filters->count;
    while (at && dns_name_filter_at(c, (dns_name_filter_ix){vec_at(c, filters, at - 1)})->priority >
                     priority)
        at--;
    vec_insert(&c->heap, filters, at, f.v);
}

static void filter_unindex(struct core *c, dns_name_filter_ix f)
{
    struct vec *filters = &vars_edit(c)->name_filters;
    uint32_t at = 0;
    while (vec_at(c, filters, at) != f.v)
        at++;
    vec_remove(&c->heap, filters, at);
}

static dns_name_filter_ix filter_find_priority(const struct core *c, uint32_t priority)
{
    for (uint32_t i = 0; i < c->vars.name_filters.count; i++) {
        const dns_name_filter_ix f = {vec_at(c, &c->vars.name_filters, i)};
        if (dns_name_filter_at(c, f)->priority == priority)
            return f;
    }
    return (dns_name_filter_ix){0};
}

bool dns_name_filter_fill(const struct core *c, struct dns_name_filter *row,
                          const struct dns_name_filter_record *r)
{
    struct name_syntax_error error;
    return name_matcher_parse(r->matcher, &row->matches, &error) &&
           name_template_parse(r->template, &row->makes, &error) && !names_check_role(r->name) &&
           !names_check_role(r->service) && !filter_find_priority(c, r->priority).v;
}

/* ---- commands ---- */

struct filter_settings {
    DNS_NAME_FILTER_SETTINGS(FIELD_MEMBER)
};

static struct filter_settings filter_settings_now(const struct core *c, dns_name_filter_ix f)
{
    const struct dns_name_filter *row = dns_name_filter_at(c, f);
    return (struct filter_settings){.name = text_of(c, row->name),
                                    .matcher = text_of(c, row->matcher),
                                    .priority = row->priority,
                                    .service = text_of(c, row->service),
                                    .template = text_of(c, row->template)};
}

/* What the command gives replaces what is there. */
static struct filter_settings filter_settings_merge(const struct filter_settings *p, uint32_t given,
                                                    const struct filter_settings *now)
{
    return (struct filter_settings){
        .name = given & GIVEN_FILTER_NAME ? p->name : now->name,
        .matcher = given & GIVEN_FILTER_MATCHER ? p->matcher : now->matcher,
        .priority = given & GIVEN_FILTER_PRIORITY ? p->priority : now->priority,
        .service = given & GIVEN_FILTER_SERVICE ? p->service : now->service,
        .template = given & GIVEN_FILTER_TEMPLATE ? p->template : now->template};
}

static void filter_refuse_syntax(struct core *c, struct str field, struct str text,
                                 const struct name_syntax_error *error)
{
    const struct str place =
        error->at == UINT32_MAX
            ? STR("")
            : STR_CONCAT(c->arena, STR(", at byte "), str_from_i64(c->arena, error->at));
    refuse(c, text.len ? PROBLEM_BAD_VALUE : PROBLEM_MISSING, field,
           STR_CONCAT(c->arena, field, STR(" "), str_from(error->what), place));
}

static void filter_check_name(struct core *c, struct str name, struct str field)
{
    const char *wrong = names_check_role(name);
    if (wrong)
        refuse(c, name.len ? PROBLEM_NAME_INVALID : PROBLEM_MISSING, field,
               STR_CONCAT(c->arena, field, STR(" "), str_from(wrong)));
}

/* Check all settings; `self` may have the name and the priority. The parsed forms are returned. */
static void filter_check(struct core *c, dns_name_filter_ix self, const struct filter_settings *s,
                         struct name_matcher *out_matches, struct name_template *out_makes)
{
    struct name_syntax_error error;
    const uint32_t named = name_find(c, TABLE_DNS_NAME_FILTER, s->name);
    const dns_name_filter_ix ranked = filter_find_priority(c, s->priority);
    filter_check_name(c, s->name, STR("name"));
    if (named && named != self.v)
        refuse(c, PROBLEM_NAME_TAKEN, STR("name"),
               STR_CONCAT(c->arena, STR("there is a DNS name filter called "), s->name,
                          STR(" already")));
    if (ranked.v && ranked.v != self.v)
        refuse(c, PROBLEM_NAME_TAKEN, STR("priority"),
               STR_CONCAT(c->arena, STR("priority "), str_from_i64(c->arena, s->priority),
                          STR(" is that of the DNS name filter "),
                          text_of(c, dns_name_filter_at(c, ranked)->name),
                          STR("; give another one")));
    filter_check_name(c, s->service, STR("service"));
    if (!name_matcher_parse(s->matcher, out_matches, &error))
        filter_refuse_syntax(c, STR("matcher"), s->matcher, &error);
    if (!name_template_parse(s->template, out_makes, &error))
        filter_refuse_syntax(c, STR("template"), s->template, &error);
}

static dns_name_filter_ix filter_make(struct core *c, const struct filter_settings *s)
{
    struct name_matcher matches;
    struct name_template makes;
    filter_check(c, (dns_name_filter_ix){0}, s, &matches, &makes);
    const dns_name_filter_ix f = refused(c) ? (dns_name_filter_ix){0} : dns_name_filter_add(c);
    if (!f.v)
        return f;
    struct dns_name_filter *row = dns_name_filter_edit(c, f);
    put_text(c, &row->name, s->name);
    put_text(c, &row->matcher, s->matcher);
    put_text(c, &row->service, s->service);
    put_text(c, &row->template, s->template);
    row->priority = s->priority;
    row->matches = matches;
    row->makes = makes;
    name_add(c, TABLE_DNS_NAME_FILTER, f.v);
    dns_name_filter_index(c, f);
    vars_edit(c)->services_due = true; /* starts the evaluation if the service exists */
    return f;
}

static const struct filter_settings *filter_defaults(void)
{
    static const struct filter_settings defaults = {.name = {"default", 7},
                                                    .matcher = {"net.category == \"admin\"", 23},
                                                    .priority = FILTER_PRIORITY,
                                                    .service = {"system", 6},
                                                    .template = {"{{node.name}}", 13}};
    return &defaults;
}

void do_dns_name_filter_create(struct core *c, const struct dns_name_filter_create_command *p)
{
    const struct filter_settings given = {.name = p->name,
                                          .matcher = p->matcher,
                                          .priority = p->priority,
                                          .service = p->service,
                                          .template = p->template};
    const struct filter_settings s = filter_settings_merge(&given, p->given, filter_defaults());
    const dns_name_filter_ix f = filter_make(c, &s);
    c->out->id = f.v ? dns_name_filter_at(c, f)->o.id : 0;
}

void dns_filter_make_default(struct core *c, network_ix w)
{
    if (c->vars.name_filters.count || !str_eq(text_of(c, network_at(c, w)->category), STR("admin")))
        return;
    for (uint32_t ix = core_next_row(c, TABLE_NETWORK, 0); ix;
         ix = core_next_row(c, TABLE_NETWORK, network_at(c, (network_ix){ix})->o.id))
        if (ix != w.v &&
            str_eq(text_of(c, network_at(c, (network_ix){ix})->category), STR("admin")))
            return;
    filter_make(c, filter_defaults());
}

void do_dns_name_filter_update(struct core *c, const struct dns_name_filter_update_command *p)
{
    const dns_name_filter_ix f = dns_name_filter_by_id(c, p->id);
    if (!f.v) {
        refuse_missing(c, "id", "DNS name filter", p->id);
        return;
    }
    if (dns_name_filter_at(c, f)->deleting) {
        refuse(c, PROBLEM_BEING_DELETED, STR("id"),
               STR_CONCAT(c->arena, STR("the DNS name filter "),
                          text_of(c, dns_name_filter_at(c, f)->name), STR(" is being deleted")));
        return;
    }
    const struct filter_settings given = {.name = p->name,
                                          .matcher = p->matcher,
                                          .priority = p->priority,
                                          .service = p->service,
                                          .template = p->template};
    const struct filter_settings now = filter_settings_now(c, f);
    const struct filter_settings s = filter_settings_merge(&given, p->given, &now);
    struct name_matcher matches;
    struct name_template makes;
    filter_check(c, f, &s, &matches, &makes);
    c->out->id = p->id;
    const bool renames = !str_eq(s.name, now.name), reorders = s.priority != now.priority;
    const bool matches_others = !str_eq(s.matcher, now.matcher);
    const bool serves_others = !str_eq(s.service, now.service);
    const bool makes_others = !str_eq(s.template, now.template);
    if (refused(c) || !(renames || reorders || matches_others || serves_others || makes_others))
        return;
    if (renames)
        name_remove(c, TABLE_DNS_NAME_FILTER, f.v);
    if (reorders)
        filter_unindex(c, f);
    struct dns_name_filter *row = dns_name_filter_edit(c, f);
    put_text(c, &row->name, s.name);
    put_text(c, &row->matcher, s.matcher);
    put_text(c, &row->service, s.service);
    put_text(c, &row->template, s.template);
    row->priority = s.priority;
    row->matches = matches;
    row->makes = makes;
    if (renames)
        name_add(c, TABLE_DNS_NAME_FILTER, f.v);
    if (reorders)
        dns_name_filter_index(c, f);
    if (serves_others || matches_others)
        vars_edit(c)->services_due = true; /* also for vars.name_needs */
    if (serves_others || matches_others || makes_others)
        dns_names_evaluate_all(c);
}

void do_dns_name_filter_delete(struct core *c, const struct dns_name_filter_delete_command *p)
{
    const dns_name_filter_ix f = dns_name_filter_by_id(c, p->id);
    if (!f.v) {
        refuse_missing(c, "id", "DNS name filter", p->id);
        return;
    }
    struct deletion whole = {.left = UINT32_MAX, .until = UINT32_MAX};
    c->out->id = p->id;
    if (dns_name_filter_at(c, f)->deleting)
        return;
    if (dns_name_filter_at(c, f)->entry_count <= c->deletion_rows) {
        dns_name_filter_delete_some(c, f, &whole);
    } else {
        dns_name_filter_edit(c, f)->deleting = true;
        deletions_index(c, TABLE_DNS_NAME_FILTER, f.v);
        dns_name_filter_derive(c, f)->is_served = false; /* it gives no names any more */
    }
}

bool dns_name_filter_delete_some(struct core *c, dns_name_filter_ix f, struct deletion *d)
{
    if (!dns_names_forget_some(c, f, d))
        return false;
    if (dns_name_filter_at(c, f)->deleting)
        ids_remove(c, &vars_edit(c)->deleting_filters, TABLE_DNS_NAME_FILTER, f.v);
    name_remove(c, TABLE_DNS_NAME_FILTER, f.v);
    filter_unindex(c, f);
    vars_edit(c)->services_due = true; /* for vars.name_needs */
    struct dns_name_filter *row = dns_name_filter_edit(c, f);
    text_h *const slots[] = {&row->name, &row->matcher, &row->service, &row->template};
    for (uint32_t i = 0; i < sizeof slots / sizeof *slots; i++)
        put_text(c, slots[i], STR(""));
    core_remove_row(c, TABLE_DNS_NAME_FILTER, f.v);
    return true;
}

/* ---- queries and check ---- */

int64_t *core_dns_name_filters(const struct core *c, struct arena *a, uint32_t *out_count)
{
    const struct vec *filters = &c->vars.name_filters;
    int64_t *ids = arena_array(a, int64_t, filters->count + 1);
    for (uint32_t i = 0; i < filters->count; i++)
        ids[i] = dns_name_filter_at(c, (dns_name_filter_ix){vec_at(c, filters, i)})->o.id;
    *out_count = filters->count;
    return ids;
}

struct str core_dns_name_filter_unknown(const struct core *c, int64_t filter_id)
{
    const dns_name_filter_ix f = dns_name_filter_by_id(c, filter_id);
    const struct dns_name_filter *row = f.v ? dns_name_filter_at(c, f) : NULL;
    return row ? name_matcher_unknown(text_of(c, row->matcher), &row->matches) : STR("");
}

bool core_dns_name_filter_is_served(const struct core *c, int64_t filter_id)
{
    const dns_name_filter_ix f = dns_name_filter_by_id(c, filter_id);
    return f.v && dns_name_filter_at(c, f)->is_served;
}

const char *dns_filters_check(const struct core *c)
{
    bool served[NAME_FILTERS_MAX];
    const struct vec *filters = &c->vars.name_filters;
    if (filters->count != c->tables[TABLE_DNS_NAME_FILTER].pool.live)
        return "C18: a DNS name filter is not in the list of filters";
    services_find(c, served);
    for (uint32_t i = 0; i < filters->count; i++) {
        const dns_name_filter_ix f = {vec_at(c, filters, i)};
        if (!pool_is_live(&c->tables[TABLE_DNS_NAME_FILTER].pool, f.v) ||
            (i &&
             dns_name_filter_at(c, (dns_name_filter_ix){vec_at(c, filters, i - 1)})->priority >=
                 dns_name_filter_at(c, f)->priority))
            return "C18: the list of DNS name filters is not sorted by priority";
        if (!c->vars.services_due && dns_name_filter_at(c, f)->is_served !=
                                         (served[i] && !dns_name_filter_at(c, f)->deleting))
            return "C18: a DNS name filter is not marked by whether its service exists";
    }
    return c->vars.services_due || c->vars.name_needs == filters_find_needs(c)
               ? NULL
               : "C18: the rows that DNS name filters read are not known";
}
