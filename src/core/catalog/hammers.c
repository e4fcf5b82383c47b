#include "core/core_private.h"

#include "model/hammer_class.h"

/* Hammers: drivers that reach or switch the machine of one node (ssh, IPMI, Redfish, Wake-on-LAN),
 * with endpoint and credentials. This file owns the hammer rows and the list of hammers of each
 * node. A node has at most one hammer of each kind. The rows are deleted with their node. Commands
 * are checked completely before a row is written, so a refused command changes nothing. */

/* ---- rows ---- */

/* Also called by node_verbs.c, for the ssh hammer of a new node. */
hammer_ix hammer_make(struct core *c, node_ix n, hammer_kind_ix kind, struct str username)
{
    const hammer_ix h = hammer_add(c);
    if (!h.v)
        return h;
    const struct hammer_kind *k = hammer_kind_at(c, kind);
    struct hammer *hammer = hammer_edit(c, h);
    hammer->node = n;
    hammer->kind = kind;
    hammer->priority = k->priority;
    put_text(c, &hammer->name, text_of(c, k->name));
    put_text(c, &hammer->username, username);
    ids_insert(c, &node_derive(c, n)->hammers, TABLE_HAMMER, h.v);
    return h;
}

static void hammer_destroy(struct core *c, hammer_ix h)
{
    struct hammer *hammer = hammer_edit(c, h);
    ids_remove(c, &node_derive(c, hammer->node)->hammers, TABLE_HAMMER, h.v);
    put_text(c, &hammer->name, STR(""));
    put_text(c, &hammer->endpoint, STR(""));
    put_text(c, &hammer->username, STR(""));
    put_text(c, &hammer->authenticator, STR(""));
    put_doc(c, &hammer->extra, STR(""));
    core_remove_row(c, TABLE_HAMMER, h.v);
}

void hammers_forget_node(struct core *c, node_ix n)
{
    while (node_at(c, n)->hammers.count) {
        const struct vec *hammers = &node_at(c, n)->hammers;
        hammer_destroy(c, (hammer_ix){vec_at(c, hammers, hammers->count - 1)});
    }
}

static bool hammer_node_has_kind(const struct core *c, node_ix n, hammer_kind_ix kind)
{
    const struct vec *hammers = &node_at(c, n)->hammers;
    for (uint32_t i = 0; i < hammers->count; i++)
        if (hammer_at(c, (hammer_ix){vec_at(c, hammers, i)})->kind.v == kind.v)
            return true;
    return false;
}

/* ---- commands ---- */

static void hammer_check_extra(struct core *c, struct str extra)
{
    if (extra.len && extra.at[0] != '{')
        refuse(c, PROBLEM_BAD_JSON, STR("extra"), STR("must be a JSON object"));
}

static bool hammer_needs_username(const struct core *c, hammer_kind_ix kind)
{
    const struct hammer_class *klass =
        kind.v ? hammer_class_find(text_of(c, hammer_kind_at(c, kind)->klass)) : NULL;
    return !klass || !klass->has_no_user;
}

static void hammer_check_create(struct core *c, const struct hammer_create_command *p, node_ix n,
                                hammer_kind_ix kind)
{
    if (!n.v)
        refuse_missing(c, "node_id", "node", p->node_id);
    if (!kind.v)
        refuse_missing(c, "hammer_kind_id", "hammer kind", p->hammer_kind_id);
    if (p->username.len == 0 && hammer_needs_username(c, kind))
        refuse(c, PROBLEM_MISSING, STR("username"), STR("username is required"));
    hammer_check_extra(c, p->extra);
    if (n.v && kind.v && hammer_node_has_kind(c, n, kind))
        refuse(c, PROBLEM_NAME_TAKEN, STR("hammer_kind_id"),
               STR_CONCAT(c->arena, STR("node "), text_of(c, node_at(c, n)->name),
                          STR(" has a hammer "), text_of(c, hammer_kind_at(c, kind)->name),
                          STR(" already")));
}

void do_hammer_create(struct core *c, const struct hammer_create_command *p)
{
    const node_ix n = node_by_id(c, p->node_id);
    const hammer_kind_ix kind = hammer_kind_by_id(c, p->hammer_kind_id);
    hammer_check_create(c, p, n, kind);
    const hammer_ix h = refused(c) ? (hammer_ix){0} : hammer_make(c, n, kind, p->username);
    if (!h.v)
        return;
    struct hammer *hammer = hammer_edit(c, h);
    put_text(c, &hammer->endpoint, p->endpoint);
    put_text(c, &hammer->authenticator, p->authenticator);
    put_doc(c, &hammer->extra, p->extra);
    if (p->priority)
        hammer->priority = p->priority;
    c->out->id = hammer->o.id;
}

static hammer_ix hammer_get_for_update(struct core *c, int64_t id)
{
    const hammer_ix h = hammer_by_id(c, id);
    if (!h.v)
        refuse_missing(c, "id", "hammer", id);
    return h;
}

static bool hammer_text_differs(const struct core *c, text_h now, struct str wanted)
{
    return !str_eq(text_of(c, now), wanted);
}

void do_hammer_update(struct core *c, const struct hammer_update_command *p)
{
    const hammer_ix h = hammer_get_for_update(c, p->id);
    if (!h.v)
        return;
    if ((p->given & GIVEN_HAMMER_USERNAME) && p->username.len == 0 &&
        hammer_needs_username(c, hammer_at(c, h)->kind)) {
        refuse(c, PROBLEM_MISSING, STR("username"), STR("username is required"));
        return;
    }
    if (p->given & GIVEN_HAMMER_EXTRA)
        hammer_check_extra(c, p->extra);
    if (refused(c))
        return;
    c->out->id = p->id;
    const struct hammer *now = hammer_at(c, h);
    if ((p->given & GIVEN_HAMMER_PRIORITY) && now->priority != p->priority)
        hammer_edit(c, h)->priority = p->priority;
    if ((p->given & GIVEN_HAMMER_ENDPOINT) && hammer_text_differs(c, now->endpoint, p->endpoint))
        put_text(c, &hammer_edit(c, h)->endpoint, p->endpoint);
    if ((p->given & GIVEN_HAMMER_USERNAME) && hammer_text_differs(c, now->username, p->username))
        put_text(c, &hammer_edit(c, h)->username, p->username);
    if ((p->given & GIVEN_HAMMER_AUTHENTICATOR) &&
        hammer_text_differs(c, now->authenticator, p->authenticator))
        put_text(c, &hammer_edit(c, h)->authenticator, p->authenticator);
    if ((p->given & GIVEN_HAMMER_EXTRA) && !str_eq(text_of(c, now->extra), p->extra))
        put_doc(c, &hammer_edit(c, h)->extra, p->extra);
}

void do_hammer_delete(struct core *c, const struct hammer_delete_command *p)
{
    const hammer_ix h = hammer_get_for_update(c, p->id);
    if (!h.v)
        return;
    c->out->id = p->id;
    hammer_destroy(c, h);
}
