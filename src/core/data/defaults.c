#include "core/core_private.h"

/* Noderoles whose last run used other defaults than their role has now.
 *
 * A role counts how often content changed what its noderoles receive without a value being set:
 * defaults and maps of its own and of wanted attribs, the list of wanted attribs, and the template
 * that its code computes. A noderole stores the count that its last run was staged with. A
 * noderole that is ACTIVE and has no rerun mark is *settled* here; if its count differs from that
 * of its role, it is *changed*. An import reruns nothing: a commit with rerun_changed marks the
 * deployment, and annealing steps with nothing else to do rerun a bounded number of noderoles
 * each. Destructive roles are counted and never rerun here.
 *
 * This file owns role.defaults, noderole.defaults, deployment.rerunning and the counts `settled`
 * and `changed` of deployment roles, so a change of content costs one write per deployment role
 * and none per noderole. Order: every change of the state, rerun mark or deployment of a noderole
 * is enclosed in two calls of defaults_count(): subtract before, add after.
 *
 * Failure: a refused step restores the counts with all rows. The mark of a deployment is stored,
 * so reruns continue after a restart. */

enum { RERUNS_MAX = 256 }; /* noderoles that one step reruns */

static bool defaults_is_settled(const struct noderole *nr)
{
    return nr->state == NODEROLE_ACTIVE && !nr->rerun;
}

bool defaults_are_outdated(const struct core *c, const struct noderole *nr)
{
    return nr->defaults != role_at(c, nr->role)->defaults;
}

static bool defaults_is_changed(const struct core *c, const struct noderole *nr)
{
    return defaults_is_settled(nr) && nr->defaults != role_at(c, nr->role)->defaults;
}

void defaults_count(struct core *c, noderole_ix ix, bool is_more)
{
    const struct noderole *nr = noderole_at(c, ix);
    if (!defaults_is_settled(nr))
        return;
    const bool changed = defaults_is_changed(c, nr);
    struct deployment_role *dr = deployment_role_derive(c, nr->dr);
    dr->settled = is_more ? dr->settled + 1 : dr->settled - 1;
    if (changed)
        dr->changed = is_more ? dr->changed + 1 : dr->changed - 1;
}

void defaults_mark_staged(struct core *c, noderole_ix ix)
{
    const uint32_t now = role_at(c, noderole_at(c, ix)->role)->defaults;
    if (noderole_at(c, ix)->defaults == now)
        return;
    defaults_count(c, ix, false);
    noderole_edit(c, ix)->defaults = now;
    defaults_count(c, ix, true);
}

void defaults_changed(struct core *c, role_ix r)
{
    const struct vec *deployed = &role_at(c, r)->deployed;
    if (deployed->count == 0)
        return;
    role_edit(c, r)->defaults++;
    for (uint32_t i = 0; i < deployed->count; i++) {
        struct deployment_role *dr =
            deployment_role_derive(c, (deployment_role_ix){vec_at(c, deployed, i)});
        dr->changed = dr->settled;
    }
}

static bool defaults_role_wants(const struct core *c, const struct role *role, attrib_ix attrib)
{
    for (uint32_t i = 0; i < role->wanted.count; i += 2)
        if (vec_at(c, &role->wanted, i) == attrib.v)
            return true;
    return false;
}

void defaults_attrib_changed(struct core *c, attrib_ix attrib)
{
    const role_ix owner = attrib_at(c, attrib)->role;
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_at(c, (role_ix){ix})->o.id))
        if (ix == owner.v || defaults_role_wants(c, role_at(c, (role_ix){ix}), attrib))
            defaults_changed(c, (role_ix){ix});
}

/* ---- reruns ---- */

void defaults_rerun(struct core *c, deployment_ix d)
{
    if (deployment_at(c, d)->rerunning)
        return;
    deployment_edit(c, d)->rerunning = true;
    vars_edit(c)->rerunning++;
}

void defaults_forget(struct core *c, deployment_ix d)
{
    if (!deployment_at(c, d)->rerunning)
        return;
    deployment_edit(c, d)->rerunning = false;
    vars_edit(c)->rerunning--;
}

static deployment_ix defaults_first_rerunning(const struct core *c)
{
    uint32_t ix = core_next_row(c, TABLE_DEPLOYMENT, 0);
    while (ix && !deployment_at(c, (deployment_ix){ix})->rerunning)
        ix = core_next_row(c, TABLE_DEPLOYMENT, deployment_at(c, (deployment_ix){ix})->o.id);
    return (deployment_ix){ix};
}

static bool defaults_is_destructive(const struct core *c, deployment_role_ix dr)
{
    return role_at(c, deployment_role_at(c, dr)->role)->flags & ROLE_DESTRUCTIVE;
}

/* A noderole whose rerun was requested is not changed any more: it is not ACTIVE, or has the
 * mark. */
static uint32_t defaults_rerun_some(struct core *c, deployment_role_ix ix, uint32_t most,
                                    uint32_t until)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < deployment_role_at(c, ix)->noderoles.count; i++) {
        const noderole_ix nr = {vec_at(c, &deployment_role_at(c, ix)->noderoles, i)};
        if (count == most || c->dirty.count >= until || !deployment_role_at(c, ix)->changed)
            break;
        if (!defaults_is_changed(c, noderole_at(c, nr)))
            continue;
        noderole_request_rerun(c, nr);
        must(!defaults_is_changed(c, noderole_at(c, nr)));
        count++;
    }
    return count;
}

void defaults_step(struct core *c, uint32_t until)
{
    const deployment_ix d = defaults_first_rerunning(c);
    uint32_t left = RERUNS_MAX;
    must(d.v);
    c->out->id = deployment_at(c, d)->o.id;
    for (uint32_t i = 0; i < deployment_at(c, d)->roles.count; i++) {
        const deployment_role_ix dr = {vec_at(c, &deployment_at(c, d)->roles, i)};
        if (defaults_is_destructive(c, dr) || !deployment_role_at(c, dr)->changed)
            continue;
        left -= defaults_rerun_some(c, dr, left, until);
        if (deployment_role_at(c, dr)->changed)
            return; /* continued by the next step */
    }
    defaults_forget(c, d);
}

/* ---- read access and invariants ---- */

void core_count_changed(const struct core *c, int64_t deployment_id, uint32_t *out_changed,
                        uint32_t *out_destructive)
{
    const deployment_ix d = deployment_by_id(c, deployment_id);
    *out_changed = *out_destructive = 0;
    for (uint32_t i = 0; d.v && i < deployment_at(c, d)->roles.count; i++) {
        const deployment_role_ix dr = {vec_at(c, &deployment_at(c, d)->roles, i)};
        const uint32_t changed = deployment_role_at(c, dr)->changed;
        *out_changed += defaults_is_destructive(c, dr) ? 0 : changed;
        *out_destructive += defaults_is_destructive(c, dr) ? changed : 0;
    }
}

const char *defaults_check(const struct core *c)
{
    uint32_t rerunning = 0;
    const struct pool *all = &c->tables[TABLE_DEPLOYMENT_ROLE].pool;
    for (uint32_t ix = pool_next(all, 0); ix; ix = pool_next(all, ix)) {
        const struct deployment_role *dr = deployment_role_at(c, (deployment_role_ix){ix});
        uint32_t settled = 0, changed = 0;
        for (uint32_t i = 0; i < dr->noderoles.count; i++) {
            const struct noderole *nr = noderole_at(c, (noderole_ix){vec_at(c, &dr->noderoles, i)});
            settled += defaults_is_settled(nr);
            changed += defaults_is_changed(c, nr);
        }
        if (settled != dr->settled || changed != dr->changed)
            return "C1: a deployment role's counts of changed defaults are wrong";
    }
    const struct pool *deployments = &c->tables[TABLE_DEPLOYMENT].pool;
    for (uint32_t ix = pool_next(deployments, 0); ix; ix = pool_next(deployments, ix))
        rerunning += deployment_at(c, (deployment_ix){ix})->rerunning;
    return rerunning == c->vars.rerunning
               ? NULL
               : "C1: the number of deployments that rerun changed noderoles is wrong";
}
