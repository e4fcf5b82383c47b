#include "core/boot/boot_service.h"
#include "core/core_private.h"

/* The roles that define each hook about nodes and networks (vars.hook_roles), in the order in
 * which they are called, so that an event need not visit every role. The lists are derived: they
 * are built again after roles or jigs have changed and after a load. Nothing here fails. */

/* Hooks about a node or network are called in the order of cohort (depth in the role graph) and
 * name of their roles; those in hook_is_deepest_first() in descending order of cohorts. */
static bool hook_is_deepest_first(enum hook hook)
{
    return hook == HOOK_NODE_DELETE || hook == HOOK_NETWORK_CHANGE || hook == HOOK_NETWORK_DELETE;
}

static int hooks_cmp_roles(const struct core *c, role_ix a, role_ix b, bool deepest_first)
{
    const struct role *x = role_at(c, a), *y = role_at(c, b);
    if (x->cohort != y->cohort)
        return (x->cohort < y->cohort) == !deepest_first ? -1 : 1;
    return str_cmp(text_of(c, x->name), text_of(c, y->name));
}

static void hooks_insert_role(struct core *c, enum hook hook, role_ix role)
{
    struct vec *v = &vars_edit(c)->hook_roles[hook];
    uint32_t at = v->count;
    while (at && hooks_cmp_roles(c, role, (role_ix){vec_at(c, v, at - 1)},
                                 hook_is_deepest_first(hook)) < 0)
        at--;
    vec_insert(&c->heap, v, at, role.v);
}

void hooks_index(struct core *c)
{
    static const enum hook listed[] = {HOOK_NODE_CREATE,
                                       HOOK_NODE_CHANGE,
                                       HOOK_NODE_DELETE,
                                       HOOK_NETWORK_CREATE,
                                       HOOK_NETWORK_CHANGE,
                                       HOOK_NETWORK_DELETE,
                                       HOOK_NETWORK_ALLOCATION_CREATE,
                                       HOOK_NETWORK_ALLOCATION_DELETE};
    for (uint32_t h = 0; h < sizeof listed / sizeof *listed; h++) {
        vec_clear(&c->heap, &vars_edit(c)->hook_roles[listed[h]]);
        for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
             ix = core_next_row(c, TABLE_ROLE, role_at(c, (role_ix){ix})->o.id))
            if (hooks_role_defines(c, (role_ix){ix}, listed[h]))
                hooks_insert_role(c, listed[h], (role_ix){ix});
    }
    boot_service_index(c);
}
