#include "core/network/network_private.h"

#include "model/names.h"

/* Ranges of addresses of networks (docs/spec/networks.md, Ranges).
 *
 * This file owns the range rows. A range has its own interface settings or inherits them from its
 * network; a problem is reported for the values in effect.
 *
 * Order: a new or changed range is written first and then checked as it is, so that the same check
 * serves for a range whose network changed. After the check the addresses that hints of nodes
 * request in it are allocated.
 *
 * Failure: all problems are reported together, and the step is rolled back. */

static struct str range_subject(struct core *c, network_range_ix r)
{
    const struct network_range *range = network_range_at(c, r);
    return STR_CONCAT(c->arena, STR("NetworkRange "),
                      text_of(c, network_at(c, range->network)->name), STR("."),
                      text_of(c, range->name), STR(": "));
}

network_range_ix network_range_find(const struct core *c, network_ix w, struct str name)
{
    const struct vec *ranges = &network_at(c, w)->ranges;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const network_range_ix r = {vec_at(c, ranges, i)};
        if (str_eq_nocase(text_of(c, network_range_at(c, r)->name), name))
            return r;
    }
    return (network_range_ix){0};
}

struct interface_settings network_range_interface(const struct core *c, network_range_ix r)
{
    const struct network_range *range = network_range_at(c, r);
    struct interface_settings s = network_interface(c, range->network);
    if (range->own & RANGE_OWN_CONDUIT)
        s.conduit = text_of(c, range->conduit);
    if (range->own & RANGE_OWN_VLAN)
        s.vlan = range->vlan;
    if (range->own & RANGE_OWN_USE_VLAN)
        s.use_vlan = range->use_vlan;
    if (range->own & RANGE_OWN_USE_BRIDGE)
        s.use_bridge = range->use_bridge;
    if (range->own & RANGE_OWN_TEAM_MODE)
        s.team_mode = range->team_mode;
    if (range->own & RANGE_OWN_USE_TEAM)
        s.use_team = range->use_team;
    return s;
}

bool network_parse_address(struct core *c, struct str text, struct str field, struct str subject,
                           struct ip *out_ip)
{
    const char *wrong = "is required";
    if (text.len && ip_parse(text, out_ip, &wrong))
        return true;
    return network_refuse(c, PROBLEM_NETWORK_INVALID, field, subject,
                          STR_CONCAT(c->arena, field, STR(" "), str_from(wrong)));
}

/* ---- checks ---- */

/* False if an address is wrong. */
static bool range_check_addresses(struct core *c, network_range_ix r, struct str in,
                                  struct str subject)
{
    const uint32_t before = c->problem_count;
    const struct ip first = network_range_at(c, r)->addresses.first;
    const struct ip last = network_range_at(c, r)->addresses.last;
    const struct str first_field = STR_CONCAT(c->arena, in, STR("first"));
    const struct str last_field = STR_CONCAT(c->arena, in, STR("last"));
    if (first.family == IP_NONE || last.family == IP_NONE)
        return false; /* reported by the parser */
    if (first.family != last.family)
        network_refuse(c, PROBLEM_NETWORK_INVALID, last_field, subject,
                       STR("first and last must be addresses of one family"));
    else if (first.prefix != last.prefix)
        network_refuse(c, PROBLEM_NETWORK_INVALID, last_field, subject,
                       STR("first and last must have the same netmask"));
    if (first.family != last.family || !ip_is_in_subnet(last, first))
        network_refuse(c, PROBLEM_NETWORK_INVALID, last_field, subject,
                       STR("first and last must be in the same subnet"));
    else if (ip_cmp(first, last) > 0)
        network_refuse(c, PROBLEM_NETWORK_INVALID, last_field, subject,
                       STR("last must not be lower than first"));
    /* A subnet of one or two addresses has no address of its own and no broadcast address (RFC
     * 3021). */
    if (first.prefix + 1 < ip_bits(first.family) && ip_cmp(first, ip_subnet(first)) == 0)
        network_refuse(c, PROBLEM_NETWORK_INVALID, first_field, subject,
                       STR("first must not be the address of the subnet"));
    if (last.prefix + 1 < ip_bits(last.family) && ip_cmp(last, ip_subnet_last(last)) == 0)
        network_refuse(c, PROBLEM_NETWORK_INVALID, last_field, subject,
                       STR("last must not be the broadcast address of the subnet"));
    return c->problem_count == before;
}

/* A range that is compared with all others. */
struct range_check {
    network_range_ix range;
    const struct conduit *conduit; /* in effect; NULL = wrong */
    bool has_addresses;            /* they are not wrong */
    struct str in, subject;        /* of the fields and of the sentences of problems */
};

static void range_check_overlap(struct core *c, const struct range_check *check,
                                network_range_ix other)
{
    const struct network_range *mine = network_range_at(c, check->range);
    const struct network_range *theirs = network_range_at(c, other);
    if (mine->overlap || theirs->overlap)
        return;
    const struct str label = STR_CONCAT(c->arena, text_of(c, network_at(c, theirs->network)->name),
                                        STR("."), text_of(c, theirs->name));
    const struct str first = STR_CONCAT(c->arena, check->in, STR("first"));
    const bool has_first = ip_range_has(theirs->addresses, mine->addresses.first);
    const bool has_last = ip_range_has(theirs->addresses, mine->addresses.last);
    if (has_first)
        network_refuse(c, PROBLEM_RANGE_OVERLAP, first, check->subject,
                       STR_CONCAT(c->arena, STR("first is in range "), label));
    if (has_last)
        network_refuse(c, PROBLEM_RANGE_OVERLAP, STR_CONCAT(c->arena, check->in, STR("last")),
                       check->subject, STR_CONCAT(c->arena, STR("last is in range "), label));
    if (!has_first && !has_last && ip_range_intersects(mine->addresses, theirs->addresses))
        network_refuse(c, PROBLEM_RANGE_OVERLAP, first, check->subject,
                       STR_CONCAT(c->arena, STR("the addresses contain those of range "), label));
}

static void range_check_conduit(struct core *c, const struct range_check *check,
                                network_range_ix other)
{
    const struct network_range *row = network_range_at(c, other);
    struct conduit theirs;
    /* Conduits that both ranges inherit are compared with the networks. */
    if (!((network_range_at(c, check->range)->own | row->own) & RANGE_OWN_CONDUIT))
        return;
    if (conduit_parse(network_range_interface(c, other).conduit, &theirs) ||
        conduit_eq(check->conduit, &theirs) || conduit_is_disjoint(check->conduit, &theirs))
        return;
    network_refuse(
        c, PROBLEM_CONDUIT_OVERLAP, STR_CONCAT(c->arena, check->in, STR("conduit")), check->subject,
        STR_CONCAT(c->arena, STR("conduit overlaps that of range "),
                   text_of(c, network_at(c, row->network)->name), STR("."), text_of(c, row->name),
                   STR("; use the same interfaces or none of them")));
}

bool network_range_check(struct core *c, network_range_ix r, struct str in)
{
    const struct str subject = range_subject(c, r);
    const struct interface_settings s = network_range_interface(c, r);
    struct conduit conduit;
    /* What is wrong with settings that are all inherited is reported for the network. */
    const bool has_conduit = network_range_at(c, r)->own
                                 ? interface_check(c, &s, in, subject, &conduit)
                                 : !conduit_parse(s.conduit, &conduit);
    if (network_range_at(c, r)->overlap &&
        network_at(c, network_range_at(c, r)->network)->configure)
        network_refuse(c, PROBLEM_NETWORK_INVALID, STR_CONCAT(c->arena, in, STR("overlap")),
                       subject,
                       STR("overlap is possible only in a network whose configure is false"));
    const struct range_check check = {.range = r,
                                      .conduit = has_conduit ? &conduit : NULL,
                                      .has_addresses = range_check_addresses(c, r, in, subject),
                                      .in = in,
                                      .subject = subject};
    /* In the order of ids, so that the problems have the same order after a load. */
    for (uint32_t ix = core_next_row(c, TABLE_NETWORK_RANGE, 0); ix;) {
        const network_range_ix other = {ix};
        if (ix != r.v && check.has_addresses)
            range_check_overlap(c, &check, other);
        if (ix != r.v && check.conduit)
            range_check_conduit(c, &check, other);
        ix = core_next_row(c, TABLE_NETWORK_RANGE, network_range_at(c, other)->o.id);
    }
    return check.has_addresses;
}

/* The addresses that nodes and clients have must stay in the range. */
static void range_check_used(struct core *c, network_range_ix r, struct str subject)
{
    uint32_t outside = 0;
    int64_t id = 0;
    for (uint32_t ix; (ix = address_next_in_range(c, r, TABLE_NETWORK_ALLOCATION, id));) {
        const struct network_allocation *row =
            network_allocation_at(c, (network_allocation_ix){ix});
        id = row->o.id;
        outside += !ip_range_has(network_range_at(c, r)->addresses, row->at.ip) ||
                   row->at.ip.prefix != network_range_at(c, r)->addresses.first.prefix;
    }
    id = 0;
    for (uint32_t ix; (ix = address_next_in_range(c, r, TABLE_LEASE, id));) {
        id = lease_at(c, (lease_ix){ix})->o.id;
        const struct ip ip = lease_at(c, (lease_ix){ix})->at.ip;
        const struct ip_range addresses = network_range_at(c, r)->addresses;
        const bool is_inside = ip_range_has(addresses, ip);
        if (is_inside && ip.prefix == addresses.first.prefix)
            continue;
        if (lease_at(c, (lease_ix){ix})->state == LEASE_LIVE)
            outside++;
        else if (is_inside)
            lease_set_prefix(c, (lease_ix){ix}, addresses.first.prefix);
        else
            lease_end(c, (lease_ix){ix});
    }
    if (outside)
        network_refuse(c, PROBLEM_IN_USE, STR("first"), subject,
                       STR_CONCAT(c->arena, str_from_i64(c->arena, outside),
                                  STR(" addresses in use would be outside of the range or in "
                                      "another subnet; free them first")));
}

/* ---- writing ---- */

/* Store the settings that are given. Texts of addresses are stored in their normal form, and the
 * parsed range is IP_NONE where the text is wrong. */
static void range_write(struct core *c, network_range_ix r, const struct range_settings *s,
                        struct str in)
{
    struct network_range *range = network_range_edit(c, r);
    const uint32_t given = s->given;
    struct ip ip = {0};
    if (given & GIVEN_RANGE_NAME)
        put_text(c, &range->name, str_clip(s->name, NETWORK_NAME_LEN_MAX)); /* else refused */
    const struct str subject = range_subject(c, r);
    if (given & GIVEN_RANGE_FIRST) {
        range->addresses.first = (struct ip){0};
        if (network_parse_address(c, s->first, STR_CONCAT(c->arena, in, STR("first")), subject,
                                  &ip)) {
            range->addresses.first = ip;
            put_text(c, &range->first, ip_format(c->arena, ip));
        }
    }
    if (given & GIVEN_RANGE_LAST) {
        range->addresses.last = (struct ip){0};
        if (network_parse_address(c, s->last, STR_CONCAT(c->arena, in, STR("last")), subject,
                                  &ip)) {
            range->addresses.last = ip;
            put_text(c, &range->last, ip_format(c->arena, ip));
        }
    }
    if (given & (GIVEN_RANGE_FIRST | GIVEN_RANGE_LAST | GIVEN_RANGE_OVERLAP))
        range->cursor = 0;
    if (given & GIVEN_RANGE_OVERLAP)
        range->overlap = s->overlap;

    /* A setting of the command becomes the range's own, or is inherited again. */
    const uint32_t inherit = given & GIVEN_RANGE_INHERIT ? s->inherit & RANGE_OWN_ALL : 0;
    const uint32_t own = (given / GIVEN_RANGE_CONDUIT & RANGE_OWN_ALL) & ~inherit;
    struct conduit conduit;
    range->own = (range->own | own) & ~inherit;
    if (given & GIVEN_RANGE_CONDUIT || inherit & RANGE_OWN_CONDUIT)
        put_text(c, &range->conduit,
                 !(own & RANGE_OWN_CONDUIT)            ? STR("")
                 : conduit_parse(s->conduit, &conduit) ? s->conduit
                                                       : conduit_format(c->arena, &conduit));
    if (given & GIVEN_RANGE_VLAN || inherit & RANGE_OWN_VLAN)
        range->vlan = own & RANGE_OWN_VLAN ? s->vlan : 0;
    if (given & GIVEN_RANGE_USE_VLAN || inherit & RANGE_OWN_USE_VLAN)
        range->use_vlan = own & RANGE_OWN_USE_VLAN && s->use_vlan;
    if (given & GIVEN_RANGE_USE_BRIDGE || inherit & RANGE_OWN_USE_BRIDGE)
        range->use_bridge = own & RANGE_OWN_USE_BRIDGE && s->use_bridge;
    if (given & GIVEN_RANGE_TEAM_MODE || inherit & RANGE_OWN_TEAM_MODE)
        range->team_mode = own & RANGE_OWN_TEAM_MODE ? s->team_mode : 0;
    if (given & GIVEN_RANGE_USE_TEAM || inherit & RANGE_OWN_USE_TEAM)
        range->use_team = own & RANGE_OWN_USE_TEAM && s->use_team;
}

_Static_assert(GIVEN_RANGE_CONDUIT / GIVEN_RANGE_CONDUIT == RANGE_OWN_CONDUIT &&
                   GIVEN_RANGE_VLAN / GIVEN_RANGE_CONDUIT == RANGE_OWN_VLAN &&
                   GIVEN_RANGE_USE_VLAN / GIVEN_RANGE_CONDUIT == RANGE_OWN_USE_VLAN &&
                   GIVEN_RANGE_USE_BRIDGE / GIVEN_RANGE_CONDUIT == RANGE_OWN_USE_BRIDGE &&
                   GIVEN_RANGE_TEAM_MODE / GIVEN_RANGE_CONDUIT == RANGE_OWN_TEAM_MODE &&
                   GIVEN_RANGE_USE_TEAM / GIVEN_RANGE_CONDUIT == RANGE_OWN_USE_TEAM,
               "the masks of a command and of a row must have the same order");

static void range_check_name(struct core *c, network_ix w, network_range_ix self, struct str name,
                             struct str in)
{
    const struct str field = STR_CONCAT(c->arena, in, STR("name"));
    const struct str subject =
        STR_CONCAT(c->arena, STR("NetworkRange "), text_of(c, network_at(c, w)->name), STR("."),
                   str_clip(name, NETWORK_NAME_LEN_MAX), STR(": "));
    const char *wrong = names_check_network(name);
    const network_range_ix taken = network_range_find(c, w, name);
    if (wrong)
        network_refuse(c, PROBLEM_NETWORK_INVALID, field, subject,
                       STR_CONCAT(c->arena, STR("name "), str_from(wrong)));
    else if (taken.v && taken.v != self.v)
        refuse(c, PROBLEM_NAME_TAKEN, field,
               STR_CONCAT(c->arena, STR("network "), text_of(c, network_at(c, w)->name),
                          STR(" has a range called "), name, STR(" already")));
}

network_range_ix network_range_make(struct core *c, network_ix w, const struct range_settings *s,
                                    struct str in)
{
    range_check_name(c, w, (network_range_ix){0}, s->name, in);
    if (network_at(c, w)->ranges.count >= RANGES_OWN_MAX) {
        refuse(c, PROBLEM_LIMIT_REACHED, STR_CONCAT(c->arena, in, STR("name")),
               STR("a network has at most 64 ranges"));
        return (network_range_ix){0};
    }
    const network_range_ix r = network_range_add(c);
    if (!r.v)
        return r;
    struct range_settings all = *s;
    all.given |= GIVEN_RANGE_NAME | GIVEN_RANGE_FIRST | GIVEN_RANGE_LAST;
    network_range_edit(c, r)->network = w;
    range_write(c, r, &all, in);
    network_range_index(c, r);
    network_range_check(c, r, in);
    if (!refused(c))
        network_allocate_hinted(c, r);
    return r;
}

bool network_range_empty_some(struct core *c, network_range_ix r, struct deletion *d)
{
    for (uint32_t ix; (ix = address_next_in_range(c, r, TABLE_NETWORK_ALLOCATION, 0));) {
        if (!deletion_goes_on(c, d))
            return false;
        deletion_count(d, 1 + dns_names_count(c, (network_allocation_ix){ix}));
        network_allocation_destroy(c, (network_allocation_ix){ix}, false);
    }
    for (uint32_t ix; (ix = address_next_in_range(c, r, TABLE_LEASE, 0));) {
        if (!deletion_goes_on(c, d))
            return false;
        deletion_count(d, 1);
        lease_end(c, (lease_ix){ix});
    }
    return true;
}

void network_range_destroy(struct core *c, network_range_ix r)
{
    must(!network_range_at(c, r)->allocation_count && !network_range_at(c, r)->lease_count);
    address_remove_range(c, r);
    struct network_range *range = network_range_edit(c, r);
    ids_remove(c, &network_derive(c, range->network)->ranges, TABLE_NETWORK_RANGE, r.v);
    put_text(c, &range->name, STR(""));
    put_text(c, &range->first, STR(""));
    put_text(c, &range->last, STR(""));
    put_text(c, &range->conduit, STR(""));
    core_remove_row(c, TABLE_NETWORK_RANGE, r.v);
}

/* ---- commands ---- */

#define COPY_SETTING(kind, field) .field = p->field,

void do_network_range_create(struct core *c, const struct network_range_create_command *p)
{
    const struct range_settings s = {.given = p->given, NETWORK_RANGE_SETTINGS(COPY_SETTING)};
    const network_ix w = network_by_id(c, p->network_id);
    if (!w.v) {
        refuse_missing(c, "network_id", "network", p->network_id);
        return;
    }
    if (network_refuse_deleting(c, w, STR("network_id")))
        return;
    const network_range_ix r = network_range_make(c, w, &s, STR(""));
    if (!r.v || refused(c))
        return;
    c->out->id = network_range_at(c, r)->o.id;
    hooks_network(c, HOOK_NETWORK_CHANGE, w);
}

/* The texts of a command may be other spellings of what is stored. */
static bool range_is_address(struct str text, struct ip now)
{
    struct ip ip;
    const char *wrong;
    return ip_parse(text, &ip, &wrong) && ip_eq(ip, now);
}

static bool range_is_conduit(const struct core *c, struct str text, struct str now)
{
    struct conduit conduit;
    return !conduit_parse(text, &conduit) && str_eq(conduit_format(c->arena, &conduit), now);
}

/* True if the command would change nothing; such a command must not make the row dirty. */
static bool range_is_unchanged(const struct core *c, network_range_ix r,
                               const struct range_settings *s)
{
    const struct network_range *now = network_range_at(c, r);
    const uint32_t given = s->given;
    const uint32_t inherit = given & GIVEN_RANGE_INHERIT ? s->inherit & RANGE_OWN_ALL : 0;
    const uint32_t own = (given / GIVEN_RANGE_CONDUIT & RANGE_OWN_ALL) & ~inherit;
    return !(now->own & inherit) && !(own & ~now->own) &&
           (!(given & GIVEN_RANGE_NAME) || str_eq(text_of(c, now->name), s->name)) &&
           (!(given & GIVEN_RANGE_FIRST) || range_is_address(s->first, now->addresses.first)) &&
           (!(given & GIVEN_RANGE_LAST) || range_is_address(s->last, now->addresses.last)) &&
           (!(own & RANGE_OWN_CONDUIT) ||
            range_is_conduit(c, s->conduit, text_of(c, now->conduit))) &&
           (!(own & RANGE_OWN_VLAN) || now->vlan == s->vlan) &&
           (!(own & RANGE_OWN_USE_VLAN) || now->use_vlan == s->use_vlan) &&
           (!(own & RANGE_OWN_USE_BRIDGE) || now->use_bridge == s->use_bridge) &&
           (!(own & RANGE_OWN_TEAM_MODE) || now->team_mode == s->team_mode) &&
           (!(own & RANGE_OWN_USE_TEAM) || now->use_team == s->use_team) &&
           (!(given & GIVEN_RANGE_OVERLAP) || now->overlap == s->overlap);
}

void do_network_range_update(struct core *c, const struct network_range_update_command *p)
{
    const struct range_settings s = {.given = p->given, NETWORK_RANGE_SETTINGS(COPY_SETTING)};
    const network_range_ix r = network_range_by_id(c, p->id);
    if (!r.v) {
        refuse_missing(c, "id", "network range", p->id);
        return;
    }
    if (network_refuse_deleting(c, network_range_at(c, r)->network, STR("id")))
        return;
    c->out->id = p->id;
    if (range_is_unchanged(c, r, &s))
        return;
    if (p->given & GIVEN_RANGE_NAME)
        range_check_name(c, network_range_at(c, r)->network, r, p->name, STR(""));
    address_remove_range(c, r);
    range_write(c, r, &s, STR(""));
    address_add_range(c, r);
    if (network_range_check(c, r, STR("")))
        range_check_used(c, r, range_subject(c, r));
    if (refused(c))
        return;
    if (p->given & (GIVEN_RANGE_FIRST | GIVEN_RANGE_LAST))
        network_allocate_hinted(c, r);
    hooks_network(c, HOOK_NETWORK_CHANGE, network_range_at(c, r)->network);
}

/* ---- load ---- */

bool network_range_fill(struct network_range *row, const struct network_range_record *r)
{
    const char *wrong;
    struct conduit conduit;
    return row->network.v && !(r->own & ~(uint32_t)RANGE_OWN_ALL) &&
           !names_check_network(r->name) &&
           (r->own & RANGE_OWN_CONDUIT ? !conduit_parse(r->conduit, &conduit) : !r->conduit.len) &&
           ip_parse(r->first, &row->addresses.first, &wrong) &&
           ip_parse(r->last, &row->addresses.last, &wrong) &&
           row->addresses.first.family == row->addresses.last.family &&
           row->addresses.first.prefix == row->addresses.last.prefix &&
           ip_cmp(row->addresses.first, row->addresses.last) <= 0;
}

void network_range_index(struct core *c, network_range_ix r)
{
    ids_insert(c, &network_derive(c, network_range_at(c, r)->network)->ranges, TABLE_NETWORK_RANGE,
               r.v);
    address_add_range(c, r);
}
