#include "core/network/network_private.h"

#include "base/hash/hash.h"
#include "base/json/json.h"
#include "model/names.h"

/* Networks: create, update, delete, and the rules that a network and its ranges share
 * (docs/spec/networks.md).
 *
 * This file owns the network rows. Ranges, routers and allocations belong to a network and are
 * deleted with it.
 *
 * Order: a command is checked completely, and all problems are reported, before a row is written;
 * ranges and router of a new network are made after the network, because they refer to it, and a
 * problem of one rolls everything back. An update writes the network first and then checks its
 * ranges, which inherit its settings, also if a setting is wrong: the step is rolled back then.
 *
 * Failure: a refused command changes nothing. */

enum {
    ORDER_DEFAULT = 1000,
    TEAM_MODE_DEFAULT = 5,
    TEAM_MODE_MAX = 6,
    VLAN_MAX = 4094,
    NUMBER_MAX = INT32_MAX, /* of vlan and team_mode while they are not used */
    V6_NETWORK_MAX = 65535,
};

bool network_refuse(struct core *c, enum problem_code code, struct str field, struct str subject,
                    struct str text)
{
    return refuse(c, code, field, STR_CONCAT(c->arena, subject, text));
}

static struct str network_subject(struct core *c, struct str name)
{
    return STR_CONCAT(c->arena, STR("Network "), str_clip(name, NETWORK_NAME_LEN_MAX), STR(": "));
}

/* ---- interface settings ---- */

static void interface_check_number(struct core *c, int64_t number, struct str field,
                                   struct str subject)
{
    if (number < -NUMBER_MAX || number > NUMBER_MAX)
        network_refuse(c, PROBLEM_NETWORK_INVALID, field, subject,
                       STR_CONCAT(c->arena, field, STR(" must fit into 32 bits")));
}

bool interface_check(struct core *c, const struct interface_settings *s, struct str in,
                     struct str subject, struct conduit *out_conduit)
{
    const struct str conduit = STR_CONCAT(c->arena, in, STR("conduit"));
    const struct str team_mode = STR_CONCAT(c->arena, in, STR("team_mode"));
    const struct str vlan = STR_CONCAT(c->arena, in, STR("vlan"));
    const char *wrong = s->conduit.len ? conduit_parse(s->conduit, out_conduit) : "is required";
    const uint32_t members = wrong ? 0 : out_conduit->count;
    const struct str bad = conduit_wrong_members(c->arena, s->conduit);
    if (wrong && s->conduit.len && bad.len)
        network_refuse(
            c, PROBLEM_NETWORK_INVALID, conduit, subject,
            STR_CONCAT(c->arena, STR("conduit "), str_from(wrong), STR("; wrong: "), bad));
    else if (wrong)
        network_refuse(c, PROBLEM_NETWORK_INVALID, conduit, subject,
                       STR_CONCAT(c->arena, STR("conduit "), str_from(wrong)));
    if (!wrong && !s->use_team && members != 1)
        network_refuse(c, PROBLEM_NETWORK_INVALID, conduit, subject,
                       STR("conduit must be one interface unless use_team is set"));
    if (s->use_team && members < 2 && (!wrong || !s->conduit.len))
        network_refuse(c, PROBLEM_NETWORK_INVALID, conduit, subject,
                       STR("conduit must have 2 to 8 interfaces, because use_team is set"));
    if (s->use_team && (s->team_mode < 0 || s->team_mode > TEAM_MODE_MAX))
        network_refuse(c, PROBLEM_NETWORK_INVALID, team_mode, subject,
                       STR("team_mode must be a bonding mode from 0 to 6"));
    if (s->use_vlan && (s->vlan < 1 || s->vlan > VLAN_MAX))
        network_refuse(c, PROBLEM_NETWORK_INVALID, vlan, subject,
                       STR("vlan must be from 1 to 4094"));
    interface_check_number(c, s->team_mode, team_mode, subject);
    interface_check_number(c, s->vlan, vlan, subject);
    return !wrong;
}

struct interface_settings network_interface(const struct core *c, network_ix w)
{
    const struct network *network = network_at(c, w);
    return (struct interface_settings){.conduit = text_of(c, network->conduit),
                                       .vlan = network->vlan,
                                       .team_mode = network->team_mode,
                                       .use_vlan = network->use_vlan,
                                       .use_bridge = network->use_bridge,
                                       .use_team = network->use_team};
}

/* Two networks use the same interfaces or none in common: a partly shared set would make an
 * interface a member of two bonds. */
static void network_check_conduits(struct core *c, network_ix self, const struct conduit *mine,
                                   struct str subject)
{
    for (uint32_t ix = core_next_row(c, TABLE_NETWORK, 0); ix;
         ix = core_next_row(c, TABLE_NETWORK, network_at(c, (network_ix){ix})->o.id)) {
        const struct network *other = network_at(c, (network_ix){ix});
        struct conduit theirs;
        if (ix == self.v || conduit_parse(text_of(c, other->conduit), &theirs) ||
            conduit_eq(mine, &theirs) || conduit_is_disjoint(mine, &theirs))
            continue;
        network_refuse(c, PROBLEM_CONDUIT_OVERLAP, STR("conduit"), subject,
                       STR_CONCAT(c->arena, STR("conduit overlaps that of network "),
                                  text_of(c, other->name), STR(" ("), text_of(c, other->conduit),
                                  STR("); use the same interfaces or none of them")));
    }
}

/* ---- settings of a command ---- */

struct network_settings {
    NETWORK_SETTINGS(FIELD_MEMBER)
};

#define COPY_SETTING(kind, field) .field = p->field,

/* The settings after the command: those that it gives, and `now` for the rest. */
static struct network_settings network_settings_merge(const struct network_settings *p,
                                                      uint32_t given,
                                                      const struct network_settings *now)
{
    struct network_settings s = {NETWORK_SETTINGS(COPY_SETTING)};
    uint32_t bit = 1;
#define KEEP_SETTING(kind, field)                                                                  \
    if (!(given & bit))                                                                            \
        s.field = now->field;                                                                      \
    bit <<= 1;
    NETWORK_SETTINGS(KEEP_SETTING)
#undef KEEP_SETTING
    return s;
}

/* In a new network a number that is given and positive is meant to be used. */
static void network_settings_infer(struct network_settings *s, uint32_t given)
{
    if (given & GIVEN_NETWORK_VLAN && !(given & GIVEN_NETWORK_USE_VLAN) && s->vlan > 0)
        s->use_vlan = true;
    if (given & GIVEN_NETWORK_TEAM_MODE && !(given & GIVEN_NETWORK_USE_TEAM) && s->team_mode > 0)
        s->use_team = true;
}

static void network_check_settings(struct core *c, network_ix self, struct network_settings *s,
                                   struct str subject)
{
    const struct interface_settings interface = {.conduit = s->conduit,
                                                 .vlan = s->vlan,
                                                 .team_mode = s->team_mode,
                                                 .use_vlan = s->use_vlan,
                                                 .use_bridge = s->use_bridge,
                                                 .use_team = s->use_team};
    struct conduit conduit;
    if (interface_check(c, &interface, STR(""), subject, &conduit)) {
        network_check_conduits(c, self, &conduit, subject);
        s->conduit = conduit_format(c->arena, &conduit);
    }
    const struct {
        struct str field, text;
        const char *wrong;
    } texts[] = {
        {STR("category"), s->category, names_check_label(s->category)},
        {STR("group"), s->group, names_check_label(s->group)},
        {STR("pbr"), s->pbr, s->pbr.len ? names_check_label(s->pbr) : NULL},
        {STR("v6prefix"), s->v6prefix,
         s->v6prefix.len && !str_eq(s->v6prefix, STR("auto")) ? v6prefix_check(s->v6prefix) : NULL},
    };
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].wrong)
            network_refuse(
                c, PROBLEM_NETWORK_INVALID, texts[i].field, subject,
                STR_CONCAT(c->arena, texts[i].field, STR(" "), str_from(texts[i].wrong)));
}

static void network_write(struct core *c, network_ix w, const struct network_settings *s)
{
    struct network *network = network_edit(c, w);
    put_text(c, &network->description, s->description);
    put_text(c, &network->v6prefix, s->v6prefix);
    put_text(c, &network->conduit, s->conduit);
    put_text(c, &network->category, s->category);
    put_text(c, &network->group, s->group);
    put_text(c, &network->pbr, s->pbr);
    network->order = s->order;
    network->vlan = s->vlan;
    network->team_mode = s->team_mode;
    network->use_vlan = s->use_vlan;
    network->use_bridge = s->use_bridge;
    network->use_team = s->use_team;
    network->configure = s->configure;
}

/* ---- IPv6 ---- */

static struct str network_hex(struct arena *a, uint32_t value)
{
    static const char digits[] = "0123456789abcdef";
    char *text = arena_alloc(a, 4);
    for (uint32_t i = 0; i < 4; i++)
        text[i] = digits[value >> (12 - 4 * i) & 15];
    return (struct str){text, 4};
}

/* A unique local prefix (RFC 4193): fd, 40 random bits, and the id of the network as the subnet.
 * The random bits come from the nonce of the command, because the core has no other source. */
static struct str network_random_v6prefix(struct core *c, network_ix w)
{
    const uint64_t random = c->command->nonce[0] ^ c->command->nonce[1];
    const int64_t id = network_at(c, w)->o.id;
    if (id > V6_NETWORK_MAX) {
        refuse(c, PROBLEM_LIMIT_REACHED, STR("v6prefix"),
               STR("v6prefix auto is possible for networks with an id up to 65535; give a prefix"));
        return STR("");
    }
    return STR_CONCAT(c->arena, network_hex(c->arena, 0xfd00 | (uint32_t)(random & 0xff)), STR(":"),
                      network_hex(c->arena, random >> 8 & 0xffff), STR(":"),
                      network_hex(c->arena, random >> 24 & 0xffff), STR(":"),
                      network_hex(c->arena, (uint32_t)id));
}

/* Resolve `auto` and add the range host-v6, which spans the subnet without its first and last
 * address. A prefix that is wrong was refused. */
static void network_apply_v6prefix(struct core *c, network_ix w)
{
    if (str_eq(text_of(c, network_at(c, w)->v6prefix), STR("auto"))) {
        const struct str prefix = network_random_v6prefix(c, w);
        put_text(c, &network_edit(c, w)->v6prefix, prefix);
    }
    const struct str prefix = text_of(c, network_at(c, w)->v6prefix);
    if (!prefix.len || v6prefix_check(prefix) || network_range_find(c, w, STR("host-v6")).v)
        return;
    const struct range_settings range = {
        .given = GIVEN_RANGE_NAME | GIVEN_RANGE_FIRST | GIVEN_RANGE_LAST,
        .name = STR("host-v6"),
        .first = STR_CONCAT(c->arena, prefix, STR("::1/64")),
        .last = STR_CONCAT(c->arena, prefix, STR(":ffff:ffff:ffff:fffe/64")),
    };
    network_range_make(c, w, &range, STR("v6prefix/"));
}

/* ---- ranges and router of a new network ---- */

static bool network_read_text(const struct json *value, struct str *out)
{
    if (value->kind == JSON_STRING)
        *out = value->text;
    return value->kind == JSON_STRING;
}

static bool network_read_bool(const struct json *value, bool *out)
{
    *out = value->kind == JSON_TRUE;
    return value->kind == JSON_TRUE || value->kind == JSON_FALSE;
}

static bool network_read_number(const struct json *value, int64_t *out)
{
    const bool is_negative =
        value->kind == JSON_NUMBER && value->text.len && value->text.at[0] == '-';
    int64_t number;
    if (value->kind != JSON_NUMBER ||
        !str_parse_i64(is_negative ? str_slice(value->text, 1, value->text.len) : value->text,
                       &number))
        return false;
    *out = is_negative ? -number : number;
    return true;
}

/* One member of a range; null keeps the default. False if it has the wrong type or is unknown. */
static bool network_read_range_member(struct range_settings *s, struct str key,
                                      const struct json *value)
{
    const struct {
        struct str key;
        uint32_t given;
        struct str *text;
        bool *flag;
        int64_t *number;
    } members[] = {
        {STR("name"), GIVEN_RANGE_NAME, &s->name, NULL, NULL},
        {STR("first"), GIVEN_RANGE_FIRST, &s->first, NULL, NULL},
        {STR("last"), GIVEN_RANGE_LAST, &s->last, NULL, NULL},
        {STR("conduit"), GIVEN_RANGE_CONDUIT, &s->conduit, NULL, NULL},
        {STR("vlan"), GIVEN_RANGE_VLAN, NULL, NULL, &s->vlan},
        {STR("use_vlan"), GIVEN_RANGE_USE_VLAN, NULL, &s->use_vlan, NULL},
        {STR("use_bridge"), GIVEN_RANGE_USE_BRIDGE, NULL, &s->use_bridge, NULL},
        {STR("team_mode"), GIVEN_RANGE_TEAM_MODE, NULL, NULL, &s->team_mode},
        {STR("use_team"), GIVEN_RANGE_USE_TEAM, NULL, &s->use_team, NULL},
        {STR("overlap"), GIVEN_RANGE_OVERLAP, NULL, &s->overlap, NULL},
    };
    for (uint32_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (!str_eq(members[i].key, key))
            continue;
        if (value->kind == JSON_NULL)
            return true;
        s->given |= members[i].given;
        return members[i].text   ? network_read_text(value, members[i].text)
               : members[i].flag ? network_read_bool(value, members[i].flag)
                                 : network_read_number(value, members[i].number);
    }
    return false;
}

static void network_make_ranges(struct core *c, network_ix w, struct str ranges, struct str subject)
{
    const struct json *list = ranges.len ? doc_tree(c->arena, ranges) : NULL;
    uint32_t i = 0;
    if (list && list->kind != JSON_ARRAY) {
        network_refuse(c, PROBLEM_BAD_JSON, STR("ranges"), subject,
                       STR("ranges must be an array of objects"));
        return;
    }
    for (const struct json *item = list ? list->first : NULL; item; item = item->next, i++) {
        const struct str in =
            STR_CONCAT(c->arena, STR("ranges/"), str_from_i64(c->arena, i), STR("/"));
        struct range_settings s = {.given = 0};
        if (item->kind != JSON_OBJECT) {
            network_refuse(c, PROBLEM_BAD_JSON, STR("ranges"), subject,
                           STR("ranges must be an array of objects"));
            return;
        }
        for (const struct json *member = item->first; member; member = member->next)
            if (!network_read_range_member(&s, member->key, member))
                network_refuse(
                    c, PROBLEM_BAD_VALUE, STR_CONCAT(c->arena, in, member->key), subject,
                    STR_CONCAT(c->arena, member->key,
                               STR(" is not a field of a range, or has the wrong type")));
        network_range_make(c, w, &s, in);
        if (c->problem_count >= PROBLEMS_MAX)
            return;
    }
}

static void network_make_router(struct core *c, network_ix w, struct str router, struct str subject)
{
    struct network_router_create_command p = {.network_id = network_at(c, w)->o.id};
    const struct json *object = router.len ? doc_tree(c->arena, router) : NULL;
    if (!object || (object->kind == JSON_OBJECT && !object->first))
        return;
    for (const struct json *member = object->kind == JSON_OBJECT ? object->first : NULL; member;
         member = member->next) {
        int64_t pref;
        if (str_eq(member->key, STR("address")) && network_read_text(member, &p.address)) {
            p.given |= GIVEN_ROUTER_ADDRESS;
        } else if (str_eq(member->key, STR("pref")) && network_read_number(member, &pref) &&
                   pref >= 0 && pref <= UINT32_MAX) {
            p.given |= GIVEN_ROUTER_PREF;
            p.pref = (uint32_t)pref;
        } else {
            network_refuse(c, PROBLEM_BAD_VALUE, STR_CONCAT(c->arena, STR("router/"), member->key),
                           subject,
                           STR_CONCAT(c->arena, member->key,
                                      STR(" is not a field of a router, or has the wrong type")));
        }
    }
    if (object->kind != JSON_OBJECT)
        network_refuse(c, PROBLEM_BAD_JSON, STR("router"), subject,
                       STR("router must be an object"));
    else
        network_router_make(c, w, &p, STR("router/"));
}

/* ---- commands ---- */

void do_network_create(struct core *c, const struct network_create_command *p)
{
    static const struct network_settings defaults = {.order = ORDER_DEFAULT,
                                                     .team_mode = TEAM_MODE_DEFAULT,
                                                     .configure = true,
                                                     .category = {"general", 7},
                                                     .group = {"default", 7}};
    const struct network_settings asked = {NETWORK_SETTINGS(COPY_SETTING)};
    struct network_settings s = network_settings_merge(&asked, p->given, &defaults);
    network_settings_infer(&s, p->given);
    const struct str subject = network_subject(c, p->name);
    const char *wrong = names_check_network(p->name);
    const deployment_ix d =
        p->deployment_id ? deployment_by_id(c, p->deployment_id) : deployment_system(c);
    if (wrong)
        network_refuse(c, PROBLEM_NETWORK_INVALID, STR("name"), subject,
                       STR_CONCAT(c->arena, STR("name "), str_from(wrong)));
    else if (name_find(c, TABLE_NETWORK, p->name))
        refuse(c, PROBLEM_NAME_TAKEN, STR("name"),
               STR_CONCAT(c->arena, STR("there is a network called "), p->name, STR(" already")));
    if (!d.v)
        refuse_missing(c, "deployment_id", "deployment", p->deployment_id);
    network_check_settings(c, (network_ix){0}, &s, subject);

    /* A network with problems is made as well, so that those of its ranges and router are reported
     * too; the step is rolled back. Only its name is not indexed, because it may be taken. */
    const bool has_name = !refused(c);
    const network_ix w = network_add(c);
    if (!w.v)
        return;
    network_edit(c, w)->deployment = d;
    put_text(c, &network_edit(c, w)->name, str_clip(p->name, NETWORK_NAME_LEN_MAX));
    network_write(c, w, &s);
    if (has_name)
        name_add(c, TABLE_NETWORK, w.v);
    c->out->id = network_at(c, w)->o.id;
    network_make_ranges(c, w, p->ranges, subject);
    network_apply_v6prefix(c, w); /* unless the list has a range host-v6 */
    network_make_router(c, w, p->router, subject);
    if (refused(c))
        return;
    dns_filter_make_default(c, w);
    network_roles_make(c, w);
    hooks_network(c, HOOK_NETWORK_CREATE, w);
}

static struct network_settings network_settings_now(const struct core *c, network_ix w)
{
    const struct network *n = network_at(c, w);
    return (struct network_settings){.description = text_of(c, n->description),
                                     .order = n->order,
                                     .vlan = n->vlan,
                                     .use_vlan = n->use_vlan,
                                     .use_bridge = n->use_bridge,
                                     .team_mode = n->team_mode,
                                     .use_team = n->use_team,
                                     .v6prefix = text_of(c, n->v6prefix),
                                     .conduit = text_of(c, n->conduit),
                                     .configure = n->configure,
                                     .category = text_of(c, n->category),
                                     .group = text_of(c, n->group),
                                     .pbr = text_of(c, n->pbr)};
}

static bool network_settings_eq(const struct network_settings *a, const struct network_settings *b)
{
    return str_eq(a->description, b->description) && a->order == b->order && a->vlan == b->vlan &&
           a->use_vlan == b->use_vlan && a->use_bridge == b->use_bridge &&
           a->team_mode == b->team_mode && a->use_team == b->use_team &&
           str_eq(a->v6prefix, b->v6prefix) && str_eq(a->conduit, b->conduit) &&
           a->configure == b->configure && str_eq(a->category, b->category) &&
           str_eq(a->group, b->group) && str_eq(a->pbr, b->pbr);
}

/* The network `admin` is how the daemon reaches its machines: it is not deleted, and its conduit
 * stays. */
static bool network_is_admin(const struct core *c, network_ix w)
{
    return str_eq(text_of(c, network_at(c, w)->name), STR("admin"));
}

void do_network_update(struct core *c, const struct network_update_command *p)
{
    const network_ix w = network_by_id(c, p->id);
    if (!w.v) {
        refuse_missing(c, "id", "network", p->id);
        return;
    }
    if (network_refuse_deleting(c, w, STR("id")))
        return;
    const struct str subject = network_subject(c, text_of(c, network_at(c, w)->name));
    const struct network_settings asked = {NETWORK_SETTINGS(COPY_SETTING)};
    const struct network_settings now = network_settings_now(c, w);
    uint32_t given = p->given;
    if (network_is_admin(c, w))
        given &= ~(uint32_t)GIVEN_NETWORK_CONDUIT;
    if (!p->v6prefix.len || (now.v6prefix.len && str_eq(p->v6prefix, STR("auto"))))
        given &= ~(uint32_t)GIVEN_NETWORK_V6PREFIX;
    struct network_settings s = network_settings_merge(&asked, given, &now);
    network_check_settings(c, w, &s, subject);
    if (now.v6prefix.len && !str_eq(now.v6prefix, s.v6prefix))
        network_refuse(c, PROBLEM_IN_USE, STR("v6prefix"), subject,
                       STR("v6prefix cannot change, because addresses have it"));
    c->out->id = p->id;
    if (network_settings_eq(&now, &s))
        return;
    const bool has_new_category = !str_eq(now.category, s.category);
    const uint32_t ranges = network_at(c, w)->ranges.count;
    network_write(c, w, &s);
    /* The settings that ranges inherit have changed. */
    for (uint32_t i = 0; i < ranges; i++)
        network_range_check(c, (network_range_ix){vec_at(c, &network_at(c, w)->ranges, i)},
                            STR(""));
    network_apply_v6prefix(c, w); /* may add a range, which is checked when it is made */
    if (refused(c))
        return;
    if (has_new_category)
        dns_filter_make_default(c, w);
    hooks_network(c, HOOK_NETWORK_CHANGE, w);
}

/* The rows that are removed before the network: noderoles, allocations with their names, leases.
 * Counted only until there are more than `most`. */
static uint32_t network_count_rows(const struct core *c, network_ix w, uint32_t most)
{
    const struct vec *ranges = &network_at(c, w)->ranges;
    uint32_t count = network_roles_count_bound(c, w);
    for (uint32_t i = 0; i < ranges->count && count <= most; i++) {
        const network_range_ix r = {vec_at(c, ranges, i)};
        int64_t id = 0;
        count += network_range_at(c, r)->lease_count;
        for (uint32_t ix;
             count <= most && (ix = address_next_in_range(c, r, TABLE_NETWORK_ALLOCATION, id));) {
            const network_allocation_ix a = {ix};
            id = network_allocation_at(c, a)->o.id;
            count += 1 + dns_names_count(c, a);
        }
    }
    return count;
}

void do_network_delete(struct core *c, const struct network_delete_command *p)
{
    const network_ix w = network_by_id(c, p->id);
    if (!w.v) {
        refuse_missing(c, "id", "network", p->id);
        return;
    }
    if (network_is_admin(c, w)) {
        refuse(c, PROBLEM_NOT_SUPPORTED, STR("id"), STR("the network admin cannot be deleted"));
        return;
    }
    struct deletion whole = {.left = UINT32_MAX, .until = UINT32_MAX};
    c->out->id = p->id;
    if (network_at(c, w)->deleting || !network_roles_check_removal(c, w))
        return;
    /* Derived first: a network that is being deleted starts no evaluation of names. */
    network_derive(c, w)->deleting = true;
    network_edit(c, w)->deleting = true;
    deletions_index(c, TABLE_NETWORK, w.v);
    if (network_count_rows(c, w, c->deletion_rows) <= c->deletion_rows)
        network_delete_some(c, w, &whole);
}

bool network_delete_some(struct core *c, network_ix w, struct deletion *d)
{
    const struct vec *ranges = &network_at(c, w)->ranges;
    bool is_empty = network_roles_unbind_some(c, w, d);
    for (uint32_t i = 0; i < ranges->count && is_empty; i++)
        is_empty = network_range_empty_some(c, (network_range_ix){vec_at(c, ranges, i)}, d);
    if (!is_empty || refused(c))
        return false;
    network_roles_remove(c, w);
    hooks_network(c, HOOK_NETWORK_DELETE, w);
    if (network_at(c, w)->router.v)
        network_router_destroy(c, network_at(c, w)->router);
    while (network_at(c, w)->ranges.count)
        network_range_destroy(c, (network_range_ix){vec_at(c, &network_at(c, w)->ranges,
                                                           network_at(c, w)->ranges.count - 1)});
    ids_remove(c, &vars_edit(c)->deleting_networks, TABLE_NETWORK, w.v);
    name_remove(c, TABLE_NETWORK, w.v);
    struct network *network = network_edit(c, w);
    text_h *const slots[] = {&network->name,    &network->description, &network->v6prefix,
                             &network->conduit, &network->category,    &network->group,
                             &network->pbr};
    for (uint32_t i = 0; i < sizeof slots / sizeof *slots; i++)
        put_text(c, slots[i], STR(""));
    core_remove_row(c, TABLE_NETWORK, w.v);
    return true;
}

/* ---- load and check ---- */

bool network_can_load(const struct network_record *r)
{
    struct conduit conduit;
    return r->deployment_id && !names_check_network(r->name) &&
           !conduit_parse(r->conduit, &conduit) &&
           (!r->v6prefix.len || !v6prefix_check(r->v6prefix));
}

const char *networks_check(const struct core *c)
{
    const struct pool *networks = &c->tables[TABLE_NETWORK].pool;
    uint32_t ranges = 0, routers = 0;
    for (uint32_t ix = pool_next(networks, 0); ix; ix = pool_next(networks, ix)) {
        const struct network *network = network_at(c, (network_ix){ix});
        if (!pool_is_live(&c->tables[TABLE_DEPLOYMENT].pool, network->deployment.v))
            return "C15: the deployment of a network does not exist";
        for (uint32_t i = 0; i < network->ranges.count; i++) {
            const network_range_ix r = {vec_at(c, &network->ranges, i)};
            if (!pool_is_live(&c->tables[TABLE_NETWORK_RANGE].pool, r.v) ||
                network_range_at(c, r)->network.v != ix)
                return "C15: a network lists a range that is not its own";
        }
        if (network->router.v &&
            (!pool_is_live(&c->tables[TABLE_NETWORK_ROUTER].pool, network->router.v) ||
             network_router_at(c, network->router)->network.v != ix))
            return "C15: a network has a router that is not its own";
        ranges += network->ranges.count;
        routers += network->router.v != 0;
    }
    if (ranges != c->tables[TABLE_NETWORK_RANGE].pool.live)
        return "C15: a range is not listed by its network";
    return routers == c->tables[TABLE_NETWORK_ROUTER].pool.live ? NULL
                                                                : "C15: a network has two routers";
}
