#include "sim/model/model_private.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json/json.h"

/* The naive model of DNS names (I17): while no evaluation is pending, the entries are exactly those
 * that the filters give to the allocations.
 *
 * Everything is computed again from the records: for each filter whether its service exists, for
 * each allocation and filter whether the matcher holds and which name the template makes. Matchers
 * and templates are read here by simple scanners that share nothing with model/name_filter.c.
 * Values of attribs are those that core_value() returns, because data layers are not the subject of
 * this check. Noderoles are those of the model, whose states equal the records after every step.
 * core_why_names() has to list each filter that matches an allocation and gives it no name. */

enum { NAME_MAX = 253, LABEL_MAX = 63 };

/* ---- facts ---- */

static bool names_value_has(const struct json *value, struct str text)
{
    if (value->kind == JSON_STRING || value->kind == JSON_NUMBER)
        return str_eq(value->text, text);
    return (value->kind == JSON_TRUE && str_eq(text, STR("true"))) ||
           (value->kind == JSON_FALSE && str_eq(text, STR("false")));
}

static const struct json *names_read_value(const struct core *c, struct subject target,
                                           struct str attrib, struct arena *a)
{
    struct json *tree;
    struct str value;
    uint32_t offset;
    const char *what;
    const int64_t attrib_id = core_find(c, TABLE_ATTRIB, attrib);
    if (!attrib_id ||
        !core_value(c, target.table, target.id, attrib_id, VIEW_COMMITTED, a, &value) ||
        !value.len || json_read(a, value, &tree, &offset, &what) != OK)
        return NULL;
    return tree;
}

static bool names_noderole_lists(const struct core *c, int64_t id, struct str attrib,
                                 struct str service, struct arena *a)
{
    const struct json *list = names_read_value(c, (struct subject){TABLE_NODEROLE, id}, attrib, a);
    for (const struct json *item = list && list->kind == JSON_ARRAY ? list->first : NULL; item;
         item = item->next) {
        const struct json *name = item->kind == JSON_OBJECT ? json_get(item, STR("name")) : item;
        if (name && name->kind == JSON_STRING && str_eq(name->text, service))
            return true;
    }
    return false;
}

/* A role whose noderoles list the services that they provide. */
struct name_provider {
    int64_t role_id;
    struct str lists_services; /* the attrib with the list */
};

/* All such roles, followed by an entry with id 0. */
static const struct name_provider *names_read_providers(const struct core *c, struct arena *a)
{
    struct record role;
    struct name_provider *all = arena_array(a, struct name_provider, core_count(c, TABLE_ROLE) + 1);
    uint32_t count = 0;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_ROLE, id)) != 0;)
        if (core_record(c, TABLE_ROLE, id, &role) && role.role.lists_services.len)
            all[count++] = (struct name_provider){id, role.role.lists_services};
    all[count] = (struct name_provider){0};
    return all;
}

/* A committed noderole of one of these roles that has succeeded names the service. */
static bool names_has_service(const struct model *m, const struct core *c,
                              const struct name_provider *providers, struct str service,
                              struct arena *a)
{
    for (const struct name_provider *p = providers; p->role_id; p++)
        MODEL_NODEROLES(m, id)
        {
            const struct model_noderole *nr = &m->noderoles[id];
            if (nr->role_id == p->role_id && nr->state != NODEROLE_PROPOSED && nr->run_count &&
                names_noderole_lists(c, id, p->lists_services, service, a))
                return true;
        }
    return false;
}

static bool names_node_has_role(const struct model *m, const struct core *c, int64_t node_id,
                                struct str role_name)
{
    struct record role;
    MODEL_NODEROLES(m, id)
    {
        if (m->noderoles[id].node_id == node_id &&
            core_record(c, TABLE_ROLE, m->noderoles[id].role_id, &role) &&
            str_eq(role.role.name, role_name))
            return true;
    }
    return false;
}

/* The records that a filter reads about one allocation. */
struct name_subject {
    const struct model *m;
    const struct core *c;
    int64_t allocation_id;
    struct str address; /* without the prefix length */
    struct node_record node;
    struct network_record network;
    struct network_range_record range;
    struct deployment_record deployment;
    struct arena *a;
};

static bool names_read_subject(const struct model *m, const struct core *c, int64_t allocation_id,
                               struct arena *a, struct name_subject *out)
{
    struct record r;
    *out = (struct name_subject){.m = m, .c = c, .allocation_id = allocation_id, .a = a};
    if (!core_record(c, TABLE_NETWORK_ALLOCATION, allocation_id, &r))
        return false;
    const struct network_allocation_record allocation = r.network_allocation;
    out->address = str_slice(allocation.address, 0, str_find(allocation.address, '/', 0));
    if (!core_record(c, TABLE_NODE, allocation.node_id, &r))
        return false;
    out->node = r.node;
    if (!core_record(c, TABLE_NETWORK, allocation.network_id, &r))
        return false;
    out->network = r.network;
    if (!core_record(c, TABLE_NETWORK_RANGE, allocation.network_range_id, &r))
        return false;
    out->range = r.network_range;
    if (!core_record(c, TABLE_DEPLOYMENT, out->node.deployment_id, &r))
        return false;
    out->deployment = r.deployment;
    return true;
}

/* ---- matchers ---- */

static bool names_test_holds(const struct name_subject *s, const char *left, struct str right)
{
    if (!strcmp(left, "net.category =="))
        return str_eq(s->network.category, right);
    if (!strcmp(left, "net.name =="))
        return str_eq(s->network.name, right);
    if (!strcmp(left, "range.name =="))
        return str_eq(s->range.name, right);
    if (!strcmp(left, "deployment.name =="))
        return str_eq(s->deployment.name, right);
    if (!strcmp(left, "node.role has"))
        return names_node_has_role(s->m, s->c, s->node.id, right);
    if (strncmp(left, "node.attr.", 10) != 0 || strlen(left) < 14 ||
        strcmp(left + strlen(left) - 3, " ==") != 0)
        return false;
    const struct json *value =
        names_read_value(s->c, (struct subject){TABLE_NODE, s->node.id},
                         (struct str){left + 10, (uint32_t)strlen(left) - 13}, s->a);
    return value && names_value_has(value, right);
}

/* Each test is `left side` with single spaces, and the text between its double quotes. */
static bool names_matcher_holds(const struct name_subject *s, struct str matcher)
{
    char left[1100];
    for (uint32_t at = 0; at < matcher.len;) {
        uint32_t len = 0;
        for (; at < matcher.len && matcher.at[at] != '"'; at++) {
            const bool is_operator =
                matcher.at[at] == '=' && len && left[len - 1] != '=' && left[len - 1] != ' ';
            if (is_operator)
                left[len++] = ' ';
            if (matcher.at[at] != ' ' || (len && left[len - 1] != ' '))
                left[len++] = matcher.at[at];
        }
        while (len && left[len - 1] == ' ')
            len--;
        left[len] = 0;
        const uint32_t begin = ++at;
        while (at < matcher.len && matcher.at[at] != '"')
            at++;
        if (!names_test_holds(s, left, str_slice(matcher, begin, at)))
            return false;
        for (at++; at < matcher.len && (matcher.at[at] == ' ' || matcher.at[at] == ',');)
            at++;
    }
    return true;
}

/* ---- templates ---- */

/* The first MAC of the hint, with dashes. */
static struct str names_first_mac(const struct name_subject *s)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (!s->node.hint.len || json_read(s->a, s->node.hint, &tree, &offset, &what) != OK)
        return STR("");
    const struct json *macs = json_get(tree, STR("admin_macs"));
    for (const struct json *item = macs && macs->kind == JSON_ARRAY ? macs->first : NULL; item;
         item = item->next) {
        char *text = arena_alloc(s->a, 18);
        bool is_mac = item->kind == JSON_STRING && item->text.len == 17;
        for (uint32_t i = 0; i < 17 && is_mac; i++) {
            const char letter = item->text.at[i];
            is_mac = i % 3 == 2 ? letter == item->text.at[2] && (letter == ':' || letter == '-')
                                : isxdigit((unsigned char)letter) != 0;
            text[i] = i % 3 == 2 ? '-' : (char)tolower((unsigned char)letter);
        }
        if (is_mac)
            return (struct str){text, 17};
    }
    return STR("");
}

static bool names_token(const struct name_subject *s, struct str token, struct str *out_text)
{
    char *id = arena_alloc(s->a, 24);
    const struct str name = s->node.name;
    const char *dot = memchr(name.at, '.', name.len);
    const struct {
        const char *token;
        struct str text;
    } tokens[] = {
        {"node.name", {name.at, dot ? (uint32_t)(dot - name.at) : name.len}},
        {"node.id", {id, (uint32_t)snprintf(id, 24, "%lld", (long long)s->node.id)}},
        {"node.mac", names_first_mac(s)},
        {"node.deployment", s->deployment.name},
        {"network.name", s->network.name},
        {"network.range", s->range.name},
        {"network.category", s->network.category},
    };
    for (uint32_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        if (str_eq(token, str_from(tokens[i].token))) {
            *out_text = tokens[i].text;
            return true;
        }
    return false;
}

static struct str names_expand(const struct name_subject *s, struct str template)
{
    struct buf b = buf_in(s->a);
    for (uint32_t at = 0; at < template.len;) {
        struct str text;
        uint32_t end = at + 2;
        while (end + 1 < template.len && (template.at[end] != '}' || template.at[end + 1] != '}'))
            end++;
        const bool is_braced =
            end + 1 < template.len && template.at[at] == '{' && template.at[at + 1] == '{';
        if (is_braced && names_token(s, str_slice(template, at + 2, end), &text)) {
            buf_put_str(&b, text);
            at = end + 2;
        } else {
            buf_put_c(&b, template.at[at++]);
        }
    }
    return buf_str(&b);
}

/* RFC 1123: labels of 1 to 63 letters, digits and inner hyphens, at most 253 characters. */
static bool names_is_host_name(struct str name)
{
    if (!name.len || name.len > NAME_MAX)
        return false;
    for (uint32_t begin = 0; begin <= name.len;) {
        uint32_t end = begin;
        while (end < name.len && name.at[end] != '.')
            end++;
        if (end == begin || end - begin > LABEL_MAX || name.at[begin] == '-' ||
            name.at[end - 1] == '-')
            return false;
        for (uint32_t i = begin; i < end; i++)
            if (!isalnum((unsigned char)name.at[i]) && name.at[i] != '-')
                return false;
        begin = end + 1;
    }
    return true;
}

/* ---- comparison ---- */

/* The names by this filter that are left. */
static uint32_t names_count_of(const struct core *c, int64_t filter_id)
{
    struct record r;
    uint32_t count = 0;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_DNS_NAME_ENTRY, id)) != 0;)
        count += core_record(c, TABLE_DNS_NAME_ENTRY, id, &r) &&
                 r.dns_name_entry.dns_name_filter_id == filter_id;
    return count;
}

/* The entry of the allocation and filter; empty if there is none. */
static struct str names_entry_of(const struct core *c, int64_t allocation_id, int64_t filter_id)
{
    struct record r;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_DNS_NAME_ENTRY, id)) != 0;)
        if (core_record(c, TABLE_DNS_NAME_ENTRY, id, &r) &&
            r.dns_name_entry.network_allocation_id == allocation_id &&
            r.dns_name_entry.dns_name_filter_id == filter_id)
            return r.dns_name_entry.name;
    return STR("");
}

/* core_why_names() has to list a filter that matches and gives no name: for the address, or, if its
 * service does not exist, for the node. A list that is not complete is not compared. */
static bool names_why_lists(struct model *m, const struct name_subject *s, int64_t filter_id,
                            enum cause_code code)
{
    bool is_all, is_listed = false;
    for (const struct cause *cause = core_why_names(s->c, s->node.id, s->a, &is_all); cause;
         cause = cause->next)
        is_listed |= cause->object_id == filter_id && cause->code == code &&
                     (code == CAUSE_NAME_NOT_SERVED || str_eq(cause->subject, s->address));
    m->counts.causes[code] += is_listed;
    return is_listed || !is_all;
}

/* One filter and one allocation; adds 1 to *expected if there has to be an entry. */
static const char *names_check_pair(struct model *m, const struct name_subject *s,
                                    const struct dns_name_filter_record *filter, bool is_served,
                                    uint32_t *expected)
{
    if (!names_matcher_holds(s, filter->matcher))
        return NULL;
    const struct str name = names_expand(s, filter->template);
    if (!is_served || !names_is_host_name(name)) {
        const enum cause_code code = is_served ? CAUSE_NAME_INVALID : CAUSE_NAME_NOT_SERVED;
        return names_why_lists(m, s, filter->id, code)
                   ? NULL
                   : model_report(m, "I17: why of node %lld does not list filter %lld",
                                  (long long)s->node.id, (long long)filter->id);
    }
    *expected += 1;
    const struct str seen = names_entry_of(s->c, s->allocation_id, filter->id);
    return str_eq(seen, name)
               ? NULL
               : model_report(
                     m, "I17: allocation %lld has the name \"%.*s\" by filter %lld, not \"%.*s\"",
                     (long long)s->allocation_id, STR_FMT_ARGS(seen), (long long)filter->id,
                     STR_FMT_ARGS(name));
}

const char *model_check_names(struct model *m, const struct core *c, struct arena *scratch)
{
    struct record filter;
    uint32_t expected = 0, ending = 0;
    const char *what = NULL;
    if (core_dns_names_are_pending(c) ||
        (!core_count(c, TABLE_DNS_NAME_FILTER) && !core_count(c, TABLE_DNS_NAME_ENTRY)))
        return NULL;
    const struct arena_mark mark = arena_mark(scratch);
    const struct name_provider *providers = names_read_providers(c, scratch);
    for (int64_t f = 0; (f = core_next_id(c, TABLE_DNS_NAME_FILTER, f)) != 0;) {
        must(core_record(c, TABLE_DNS_NAME_FILTER, f, &filter));
        const struct dns_name_filter_record *row = &filter.dns_name_filter;
        if (row->deleting) {
            ending += names_count_of(c, f);
            continue;
        }
        const bool is_served = names_has_service(m, c, providers, row->service, scratch);
        for (int64_t id = 0; (id = core_next_id(c, TABLE_NETWORK_ALLOCATION, id)) != 0;) {
            struct name_subject s;
            if (names_read_subject(m, c, id, scratch, &s))
                what = names_check_pair(m, &s, row, is_served, &expected);
            if (what)
                return what;
        }
    }
    arena_rewind(scratch, mark);
    m->counts.names += expected;
    if (expected + ending != core_count(c, TABLE_DNS_NAME_ENTRY))
        return model_report(m, "I17: there are %u names, the filters make %u",
                            core_count(c, TABLE_DNS_NAME_ENTRY), expected);
    return NULL;
}
