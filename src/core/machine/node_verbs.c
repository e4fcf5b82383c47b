#include "core/network/network_private.h"
#include "core/machine/grants.h"

#include "base/containers/sort.h"
#include "base/json/json.h"
#include "base/net/mac.h"
#include "model/hammer_class.h"
#include "model/names.h"

/* Commands that create, update and delete nodes, and the move of a node to another deployment. The
 * rows themselves are written by node.c.
 *
 * Order in an update: every field is checked before the first one is changed, so that a refusal
 * reports all problems. `alive` is set after all other fields, since it allows runs to start. An
 * update that sets the values a node already has changes no row, queues no hook and leaves no
 * event.
 *
 * Order in a creation: a machine that registers again is recognised before its name is checked.
 * The automatic admin node (the one that the first start creates for the host of the daemon) is
 * replaced before the name of the new node is checked, since both may have the same name.
 *
 * Failure: a refusal rolls the step back, also a replaced automatic node. A delayed request of an
 * earlier boot is ignored, not refused. */

static node_ix node_get_for_update(struct core *c, int64_t id)
{
    const node_ix n = node_by_id(c, id);
    if (!n.v)
        refuse_missing(c, "id", "node", id);
    c->out->id = id;
    return n;
}

void node_check_name(struct core *c, struct str name, node_ix self)
{
    const char *wrong = names_check_node(name);
    if (wrong) {
        refuse(c, name.len ? PROBLEM_NAME_INVALID : PROBLEM_MISSING, STR("name"),
               STR_CONCAT(c->arena, STR("name "), str_from(wrong)));
        return;
    }
    const uint32_t taken = name_find(c, TABLE_NODE, name);
    if (taken && taken != self.v)
        refuse(c, PROBLEM_NAME_TAKEN, STR("name"),
               STR_CONCAT(c->arena, STR("there is a node called "), name, STR(" already")));
}

static void node_check_object(struct core *c, struct str field, struct str doc)
{
    if (doc.len && doc.at[0] != '{')
        refuse(c, PROBLEM_BAD_JSON, field, STR("must be a JSON object"));
}

/* ---- create ---- */

/* Every machine that runs an operating system can be reached by ssh, so each new node that is not a
 * system node gets an ssh hammer (docs/spec/machines.md, "Hammers"). */
static void node_add_ssh_hammer(struct core *c, node_ix n)
{
    for (uint32_t ix = core_next_row(c, TABLE_HAMMER_KIND, 0); ix;
         ix = core_next_row(c, TABLE_HAMMER_KIND, hammer_kind_at(c, (hammer_kind_ix){ix})->o.id)) {
        const struct hammer_kind *kind = hammer_kind_at(c, (hammer_kind_ix){ix});
        const struct hammer_class *klass = hammer_class_find(text_of(c, kind->klass));
        const bool is_ssh = str_eq_nocase(text_of(c, kind->name), STR("ssh")) ||
                            (klass && str_eq(str_from(klass->name), STR("ssh")));
        if (!is_ssh)
            continue;
        hammer_make(c, n, (hammer_kind_ix){ix}, STR("root"));
        return;
    }
}

/* ---- create: registration (ADR 0049) ---- */

/* The fields `ip` and `mac` of a creation, after lookup. */
struct node_registration {
    struct str hint;        /* the hint of the node, with both */
    struct mac mac;         /* 0 = none */
    struct ip ip;           /* IP_NONE = none */
    network_range_ix range; /* that contains the address; none if there are no networks */
    bool is_leased;         /* the machine has the address by a lease, which stays until its end */
};

static bool node_hint_is_object(const struct node_create_command *p)
{
    return p->hint.len == 0 || p->hint.at[0] == '{'; /* anything else is refused below */
}

/* Read both fields, and store the MAC in the hint. */
static struct node_registration node_read_registration(struct core *c,
                                                       const struct node_create_command *p)
{
    struct node_registration reg = {.hint = p->hint};
    const char *wrong;
    if (p->mac.len)
        ignore(!nic_parse_mac(c, p->mac, &reg.mac), "a refusal is tested below, with those of ip");
    if (p->ip.len && !ip_parse(p->ip, &reg.ip, &wrong))
        refuse(c, PROBLEM_BAD_VALUE, STR("ip"), STR_CONCAT(c->arena, STR("ip "), str_from(wrong)));
    if (p->ip.len && p->system)
        refuse(c, PROBLEM_BAD_VALUE, STR("ip"),
               STR("a system node is no machine and has no addresses"));
    if (refused(c) || !p->mac.len || !node_hint_is_object(p))
        return reg;
    struct json *hint = json_clone(c->arena, doc_tree(c->arena, p->hint));
    struct json *macs = json_make(c->arena, JSON_ARRAY);
    json_append(macs, json_make_string(c->arena, mac_format(c->arena, reg.mac)));
    json_set(hint, STR("admin_macs"), macs);
    reg.hint = json_write(c->arena, hint);
    return reg;
}

/* Find the range of the address, and store the address as the hint for its network. An
 * installation without networks stores it for the network `admin`, which can be created later. An
 * address that the machine has by a lease is not that of the node. */
static void node_find_address(struct core *c, const struct node_create_command *p,
                              struct node_registration *reg)
{
    if (reg->ip.family == IP_NONE)
        return;
    reg->range = network_range_for_address(c, reg->ip, STR("ip"));
    reg->is_leased = lease_is_held_by(c, reg->ip, mac_number(reg->mac));
    if (refused(c) || reg->is_leased || !node_hint_is_object(p))
        return;
    if (reg->range.v)
        reg->ip = ip_with_prefix(reg->ip, network_range_at(c, reg->range)->addresses.first.prefix);
    struct json *hint = json_clone(c->arena, doc_tree(c->arena, reg->hint));
    json_set(hint, network_hint_key(c, reg->range, reg->ip.family, c->arena),
             json_make_string(c->arena, ip_format(c->arena, reg->ip)));
    reg->hint = json_write(c->arena, hint);
}

/* Give the new node the address. A machine that has it by a lease gets another one of the
 * network. */
static void node_take_address(struct core *c, node_ix n, const struct node_registration *reg)
{
    const network_ix w = network_range_at(c, reg->range)->network;
    const struct address_request wanted = {.address = reg->ip, .field = STR("ip")};
    if (reg->is_leased)
        network_allocate_default(c, w, n, wanted.field);
    else
        network_allocate(c, reg->range, n, &wanted);
}

/* A machine registers once per network card, and again if a reply was lost. A request whose name
 * and MAC addresses are known succeeds with the id of the existing node. It changes nothing, except
 * that the node gets those of its MACs whose owner has gone. */
static bool node_is_registered(struct core *c, struct str name, struct str hint)
{
    const node_ix n = {name_find(c, TABLE_NODE, name)};
    if (!n.v)
        return false;
    nics_follow_repeated(c, n);
    if (!nics_are_of_node(c, n, hint))
        return false;
    c->out->id = node_at(c, n)->o.id;
    return true;
}

/* ---- create: the admin node of this host (ADR 0070) ---- */

static bool node_is_phantom(const struct core *c, node_ix n)
{
    return deployment_at(c, node_at(c, n)->deployment)->phantom.v == n.v;
}

/* At most one node is automatic, and never beside another admin node (invariant I13). Unless there
 * is exactly one admin node, no search is needed. */
static node_ix node_find_automatic(const struct core *c)
{
    if (c->vars.admins.count != 1)
        return (node_ix){0};
    for (uint32_t ix = core_next_row(c, TABLE_NODE, 0); ix;
         ix = core_next_row(c, TABLE_NODE, node_at(c, (node_ix){ix})->o.id))
        if (node_at(c, (node_ix){ix})->automatic)
            return (node_ix){ix};
    return (node_ix){0};
}

static bool node_all_are_phantoms(const struct core *c)
{
    for (uint32_t ix = core_next_row(c, TABLE_NODE, 0); ix;
         ix = core_next_row(c, TABLE_NODE, node_at(c, (node_ix){ix})->o.id))
        if (!node_is_phantom(c, (node_ix){ix}))
            return false;
    return true;
}

/* True if the noderole exists only because of the bootstrap roles and has not run: it is a
 * bootstrap role or an ancestor of one, all its descendants are on the same node, and it is
 * PROPOSED or was never started. */
static bool node_is_bootstrap_only(struct core *c, noderole_ix nr)
{
    const struct noderole *row = noderole_at(c, nr);
    if (row->state != NODEROLE_PROPOSED && (row->attempt > 0 || row->run_count > 0))
        return false;
    bool has_flag = role_at(c, row->role)->flags & ROLE_BOOTSTRAP;
    uint32_t count;
    const noderole_ix *below = graph_descendants(c, nr, c->arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct noderole *other = noderole_at(c, below[i]);
        if (other->node.v != row->node.v)
            return false;
        has_flag |= (role_at(c, other->role)->flags & ROLE_BOOTSTRAP) != 0;
    }
    return has_flag;
}

/* An operator creates an admin node. The automatic one is removed, so that the new node is the
 * first one and gets the bootstrap roles. If the automatic node is in use, it becomes an ordinary
 * admin node instead. */
static void node_replace_automatic(struct core *c)
{
    const node_ix n = node_find_automatic(c);
    if (!n.v)
        return;
    bool is_unused = node_at(c, n)->deployment.v == deployment_system(c).v;
    for (uint32_t i = 0; i < node_at(c, n)->noderoles.count && is_unused; i++)
        is_unused =
            node_is_bootstrap_only(c, (noderole_ix){vec_at(c, &node_at(c, n)->noderoles, i)});
    if (is_unused)
        node_remove(c, n);
    else
        node_edit(c, n)->automatic = false;
}

/* The daemon requests the automatic node at each start. An existing one without noderoles gets the
 * bootstrap roles, since content may have been imported after its creation. Returns false if no
 * node is to be created. */
static bool node_needs_automatic(struct core *c)
{
    const node_ix n = node_find_automatic(c);
    if (n.v) {
        c->out->id = node_at(c, n)->o.id;
        if (node_at(c, n)->noderoles.count == 0)
            node_bind_flagged(c, n, ROLE_BOOTSTRAP);
        return false;
    }
    if (node_all_are_phantoms(c))
        return true;
    refuse(c, PROBLEM_WRONG_STATE, STR("automatic"),
           STR("the admin node of this host is created only if there is no other node"));
    return false;
}

void do_node_create(struct core *c, const struct node_create_command *p)
{
    struct node_create_command wanted = *p;
    wanted.name = str_lower(c->arena, p->name);
    wanted.admin = p->admin || p->automatic;
    if (p->automatic && !node_needs_automatic(c))
        return;
    wanted.alive = false; /* set below, because that queues a probe */
    struct node_registration reg = node_read_registration(c, p);
    if (node_is_registered(c, wanted.name, reg.hint))
        return;
    node_find_address(c, p, &reg);
    wanted.hint = reg.hint;
    if (wanted.admin)
        node_replace_automatic(c); /* before the name check: the new node may have the same name */
    node_check_name(c, wanted.name, (node_ix){0});
    const deployment_ix d =
        p->deployment_id ? deployment_by_id(c, p->deployment_id) : deployment_system(c);
    if (!d.v)
        refuse_missing(c, "deployment_id", "deployment", p->deployment_id);
    node_check_object(c, STR("hint"), p->hint);
    node_check_object(c, STR("discovery"), p->discovery);
    const node_ix n = refused(c) ? (node_ix){0} : node_make(c, &wanted, d, false);
    if (!n.v)
        return;
    c->out->id = node_at(c, n)->o.id;
    nics_follow(c, n, STR(""), p->mac.len ? STR("mac") : STR("hint"));
    if (reg.range.v)
        node_take_address(c, n, &reg);
    network_allocate_hints(c, n);
    if (reg.range.v && !refused(c))
        network_bind_roles(c, network_range_at(c, reg.range)->network, n);
    if (!p->system)
        node_add_ssh_hammer(c, n);
    node_set_alive(c, n, p->alive);
    if (wanted.admin && c->vars.admins.count == 1)
        node_bind_flagged(c, n, ROLE_BOOTSTRAP);
    hooks_node(c, HOOK_NODE_CREATE, n);
}

/* ---- delete ---- */

void do_node_delete(struct core *c, const struct node_delete_command *p)
{
    const node_ix n = node_get_for_update(c, p->id);
    if (!n.v)
        return;
    if (node_is_phantom(c, n))
        refuse(c, PROBLEM_IN_USE, STR("id"),
               STR("the node carries the services of its deployment and is deleted with it"));
    if (node_at(c, n)->admin && c->vars.admins.count == 1)
        refuse(c, PROBLEM_LAST_ADMIN, STR("id"), STR("the last admin node cannot be deleted"));
    if (!refused(c))
        node_remove(c, n);
}

/* ---- move to another deployment (docs/spec/machines.md, "Moving a node") ---- */

static bool node_move_is_untouched(const struct core *c, noderole_ix nr, deployment_ix from)
{
    const struct noderole *row = noderole_at(c, nr);
    return row->state == NODEROLE_PROPOSED && row->run_count == 0 && row->deployment.v == from.v;
}

static bool node_move_takes(struct core *c, noderole_ix nr, deployment_ix from)
{
    if (!node_move_is_untouched(c, nr, from))
        return false;
    uint32_t count;
    const noderole_ix *below = graph_descendants(c, nr, c->arena, &count);
    for (uint32_t i = 0; i < count; i++)
        if (!node_move_is_untouched(c, below[i], from))
            return false;
    return true;
}

static void node_move_noderole(struct core *c, noderole_ix nr, deployment_ix to)
{
    authority_touch(c, noderole_at(c, nr)->deployment);
    authority_touch(c, to);
    const deployment_role_ix dr = deployment_role_ensure(c, to, noderole_at(c, nr)->role);
    if (!dr.v)
        return;
    /* Remove the noderole from the timeline and the counters of the old deployment, while its row
     * still refers to it. */
    timeline_drop_noderole(c, nr);
    const bool rerun = noderole_at(c, nr)->rerun;
    noderole_mark_rerun(c, nr, false);
    unproposed_count(c, nr, false);

    struct noderole *row = noderole_edit(c, nr);
    struct deployment *old = deployment_derive(c, row->deployment);
    old->counts[row->state]--;
    if (row->removing)
        old->removing--;
    ids_remove(c, &deployment_role_derive(c, row->dr)->noderoles, TABLE_NODEROLE, nr.v);
    /* It becomes a member of the new deployment with its next commit. */
    row->deployment = to;
    row->dr = dr;
    row->removing = false;
    row->member_from = row->data_from = 0;
    deployment_derive(c, to)->counts[row->state]++;
    ids_insert(c, &deployment_role_derive(c, dr)->noderoles, TABLE_NODEROLE, nr.v);

    noderole_mark_rerun(c, nr, rerun);
    unproposed_count(c, nr, true);
    hooks_proposed(c, nr);
}

void node_move(struct core *c, node_ix n, deployment_ix to)
{
    const deployment_ix from = node_at(c, n)->deployment;
    if (from.v == to.v)
        return;
    for (uint32_t i = 0; i < node_at(c, n)->noderoles.count; i++) {
        const noderole_ix nr = {vec_at(c, &node_at(c, n)->noderoles, i)};
        if (node_move_takes(c, nr, from))
            node_move_noderole(c, nr, to);
    }
    node_edit(c, n)->deployment = to;
}

/* ---- update ---- */

/* The fields of an update after lookup: the current values, replaced by those that were given. */
struct node_update {
    const struct node_update_command *p;
    node_ix n;
    struct str name;
    deployment_ix to;
    role_ix target;
    struct str quirks;
    struct str bootenv; /* the value after the update */
};

static bool node_update_has(const struct node_update *u, uint32_t bit)
{
    return u->p->given & bit;
}

static int node_cmp_quirks(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Quirks are a set: stored as a sorted array, or as the empty string if there are none. */
static struct str node_parse_quirks(struct core *c, struct str doc)
{
    const struct json *tree = doc.len ? doc_tree(c->arena, doc) : json_make(c->arena, JSON_ARRAY);
    struct str *texts = arena_array(c->arena, struct str, tree->count + 1);
    uint32_t count = 0;
    bool fits = tree->kind == JSON_ARRAY;
    for (const struct json *item = tree->first; item && fits; item = item->next) {
        fits = item->kind == JSON_STRING;
        texts[count++] = item->text;
    }
    if (!fits) {
        refuse(c, PROBLEM_BAD_JSON, STR("quirks"), STR("must be an array of strings"));
        return STR("");
    }
    sort_items(texts, count, sizeof *texts, node_cmp_quirks, c->arena);
    struct json *set = json_make(c->arena, JSON_ARRAY);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || !str_eq(texts[i], texts[i - 1]))
            json_append(set, json_make_string(c->arena, texts[i]));
    return count ? json_write(c->arena, set) : STR("");
}

static void node_check_deployment(struct core *c, struct node_update *u)
{
    const struct node *node = node_at(c, u->n);
    u->to = node_update_has(u, GIVEN_NODE_DEPLOYMENT) ? deployment_by_id(c, u->p->deployment_id)
                                                      : node->deployment;
    if (!u->to.v)
        refuse_missing(c, "deployment_id", "deployment", u->p->deployment_id);
    const int64_t now = deployment_at(c, node->deployment)->o.id;
    if (node_update_has(u, GIVEN_NODE_OLD_DEPLOYMENT) && u->p->old_deployment_id != now)
        refuse(c, PROBLEM_STALE, STR("old_deployment_id"),
               STR_CONCAT(c->arena, STR("the node is in deployment "), str_from_i64(c->arena, now),
                          STR(", not in "), str_from_i64(c->arena, u->p->old_deployment_id)));
}

static void node_check_target(struct core *c, struct node_update *u)
{
    u->target = node_update_has(u, GIVEN_NODE_TARGET) ? role_by_id(c, u->p->target_role_id)
                                                      : node_at(c, u->n)->target;
    if (!node_update_has(u, GIVEN_NODE_TARGET) || u->p->target_role_id == 0)
        return;
    if (!u->target.v)
        refuse_missing(c, "target_role_id", "role", u->p->target_role_id);
    else if (!noderole_find(c, u->n, u->target).v || !node_is_target(c, u->target))
        refuse(
            c, PROBLEM_TARGET_INVALID, STR("target_role_id"),
            STR_CONCAT(c->arena, STR("role "), text_of(c, role_at(c, u->target)->name),
                       STR(" must be bound to the node, be a milestone and run on a no-op jig")));
}

/* While a restart waits at the boot barrier, a report of the machine describes the system that is
 * about to end. `alive` and a new bootenv are refused until the restart was ordered. */
static void node_check_restart_pending(struct core *c, const struct node_update *u)
{
    const bool other = node_update_has(u, GIVEN_NODE_BOOTENV) &&
                       !str_eq(u->p->bootenv, text_of(c, node_at(c, u->n)->bootenv));
    if (node_update_has(u, GIVEN_NODE_ALIVE) && (u->p->alive || other) &&
        boot_restart_is_pending(c, u->n))
        refuse(c, PROBLEM_WRONG_STATE, STR("alive"),
               STR("a restart of the machine waits until its boot environment is served; until "
                   "then it cannot be reported as alive"));
}

/* A machine counts as alive only in the environment that it was ordered to boot, and not in an
 * installer, because roles would run in a system that is half installed (ADR 0049). */
static void node_check_environment(struct core *c, const struct node_update *u)
{
    if (!node_update_has(u, GIVEN_NODE_ALIVE) || !u->p->alive)
        return;
    const bool is_news = !node_at(c, u->n)->alive || node_update_has(u, GIVEN_NODE_ENVIRONMENT);
    if (is_news && str_ends(u->bootenv, STR("-install")))
        refuse(
            c, PROBLEM_WRONG_STATE, STR("alive"),
            STR_CONCAT(
                c->arena, STR("the node is to boot "), u->bootenv,
                STR(" and is not alive during the installation; report bootenv local after it")));
    else if (node_update_has(u, GIVEN_NODE_ENVIRONMENT) && !str_eq(u->p->environment, u->bootenv))
        refuse(c, PROBLEM_WRONG_STATE, STR("environment"),
               STR_CONCAT(c->arena, STR("the node is to boot "), u->bootenv, STR(", not "),
                          u->p->environment));
}

/* A report of another boot generation, or about a run that is not parked any more, is outdated (ADR
 * 0049). */
static void node_check_boot(struct core *c, const struct node_update *u)
{
    const int64_t now = node_at(c, u->n)->boot_generation;
    if (node_update_has(u, GIVEN_NODE_BOOT_ID) && !boot_id_is_valid(u->p->boot_id))
        refuse(c, PROBLEM_BAD_VALUE, STR("boot_id"),
               STR_CONCAT(c->arena, STR("boot_id must be 1 to "),
                          str_from_i64(c->arena, BOOT_ID_LEN_MAX),
                          STR(" printable characters without spaces")));
    if (node_update_has(u, GIVEN_NODE_BOOT_GENERATION) && u->p->boot_generation != now)
        refuse(c, PROBLEM_STALE, STR("boot_generation"),
               STR_CONCAT(c->arena, STR("the boot generation is "), str_from_i64(c->arena, now),
                          STR(", not "), str_from_i64(c->arena, u->p->boot_generation)));
    if (node_update_has(u, GIVEN_NODE_PARKED_RUN) && !run_is_parked(c, u->p->parked_run))
        refuse(c, PROBLEM_STALE, STR("parked_run"),
               STR_CONCAT(c->arena, STR("run "), str_from_i64(c->arena, u->p->parked_run),
                          STR(" is not parked any more")));
    if (node_update_has(u, GIVEN_NODE_STAMP))
        grant_check_stamp(c, u->p->stamp_generation);
}

static bool node_check_update(struct core *c, struct node_update *u)
{
    const struct node *node = node_at(c, u->n);
    u->name =
        node_update_has(u, GIVEN_NAME) ? str_lower(c->arena, u->p->name) : text_of(c, node->name);
    node_check_name(c, u->name, u->n);
    node_check_deployment(c, u);
    node_check_target(c, u);
    if (node_is_phantom(c, u->n) &&
        (!str_eq(u->name, text_of(c, node->name)) || u->to.v != node->deployment.v))
        refuse(
            c, PROBLEM_IN_USE, STR("id"),
            STR("the node carries the services of its deployment; it cannot be moved or renamed"));
    if (node_update_has(u, GIVEN_NODE_BOOTENV) && u->p->bootenv.len == 0)
        refuse(c, PROBLEM_BAD_VALUE, STR("bootenv"), STR("must name a boot environment"));
    if (node_update_has(u, GIVEN_NODE_QUIRKS))
        u->quirks = node_parse_quirks(c, u->p->quirks);
    u->bootenv = node_update_has(u, GIVEN_NODE_BOOTENV) ? u->p->bootenv : text_of(c, node->bootenv);
    node_check_restart_pending(c, u);
    node_check_environment(c, u);
    node_check_boot(c, u);
    return !refused(c);
}

/* `slot` is a field of the row of `n`. Returns true if the value changed. */
static bool node_update_text(struct core *c, node_ix n, text_h *slot, struct str wanted)
{
    if (str_eq(text_of(c, *slot), wanted))
        return false;
    node_edit(c, n);
    put_text(c, slot, wanted);
    return true;
}

static bool node_update_fields(struct core *c, const struct node_update *u)
{
    bool changed = false;
    if (!str_eq(u->name, text_of(c, node_at(c, u->n)->name))) {
        node_rename(c, u->n, u->name);
        changed = true;
    }
    struct node *node = node_derive(c, u->n);
    if (node_update_has(u, GIVEN_DESCRIPTION))
        changed |= node_update_text(c, u->n, &node->description, u->p->description);
    if (node_update_has(u, GIVEN_NODE_QUIRKS))
        changed |= node_update_text(c, u->n, &node->quirks, u->quirks);
    if (node_update_has(u, GIVEN_NODE_ALLOCATED) && node->allocated != u->p->allocated) {
        node_edit(c, u->n)->allocated = u->p->allocated;
        changed = true;
    }
    if (node_update_has(u, GIVEN_NODE_BOOT_ID))
        boot_id_record(c, u->n, u->p->boot_id); /* not passed to hooks, so `changed` stays */
    if (node_update_has(u, GIVEN_NODE_STAMP))
        grant_report_stamp(c, u->n, u->p->stamp_generation);
    if (u->to.v != node->deployment.v) {
        node_move(c, u->n, u->to);
        changed = true;
    }
    return changed;
}

/* The noderole whose parked run sets the environment; none if the update names no run. */
static noderole_ix node_update_run_owner(const struct core *c, const struct node_update *u)
{
    return node_update_has(u, GIVEN_NODE_PARKED_RUN)
               ? run_at(c, run_by_id(c, u->p->parked_run))->noderole
               : (noderole_ix){0};
}

/* `alive` is set last: it allows runs to start, and they must see all other flags. */
static bool node_update_flags(struct core *c, const struct node_update *u)
{
    const struct node before = *node_at(c, u->n);
    node_set_target(c, u->n, u->target);
    const noderole_ix by = node_update_run_owner(c, u);
    if (node_update_has(u, GIVEN_NODE_BOOTENV) && !grant_fail_barred(c, by, u->p->bootenv))
        node_set_bootenv(c, u->n, u->p->bootenv, by);
    if (node_update_has(u, GIVEN_NODE_AVAILABLE))
        node_set_available(c, u->n, u->p->available);
    if (node_update_has(u, GIVEN_NODE_ALIVE))
        node_set_alive(c, u->n, u->p->alive);
    const struct node *after = node_at(c, u->n);
    return before.target.v != after->target.v || before.bootenv != after->bootenv ||
           before.available != after->available || before.alive != after->alive;
}

void do_node_update(struct core *c, const struct node_update_command *p)
{
    struct node_update u = {.p = p, .n = node_get_for_update(c, p->id)};
    if (!u.n.v)
        return;
    if (node_update_has(&u, GIVEN_NODE_BOOT_ID) && boot_id_is_outdated(c, u.n, p->boot_id))
        return; /* a delayed request of an earlier boot (ADR 0049) */
    if (!node_check_update(c, &u))
        return;
    bool changed = node_update_fields(c, &u);
    changed |= node_update_flags(c, &u);
    if (changed && !refused(c))
        node_changed(c, u.n);
}
