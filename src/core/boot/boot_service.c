#include "core/boot/boot_service.h"

#include "base/containers/sort.h"
#include "core/boot/boot_changes.h"
#include "core/machine/grants.h"
#include "core/plan/commit_view.h"

/* The noderoles that serve boots (docs/spec/boot.md, "Served"; ADR 0090).
 *
 * A role with the flag serves-boot serves boots in one of two ways. If the class of its jig is
 * `native`, the boot server on the node of a noderole gets every change of the boot view and
 * acknowledges turns (boot_servers.c). If it has any other jig that works, its runs publish the
 * machines that changed (boot_due.c). A noop role serves nothing, nor does a destructive one, which
 * runs once; with the test jig no role does, since its runs do nothing.
 *
 * A node is served if every committed noderole that serves boots has its current entry of the boot
 * view. A node that never had an entry waits for nothing. Power actions that boot a machine wait
 * for this (boot_barrier.c), and so do runs that set the environment of an installer: they are
 * parked, and on_node_change is called for their node when it is served.
 *
 * This file owns role.boot_service, vars.boot_roles, vars.boot_waits and core.boot_calls. Order:
 * whatever may change an answer sets vars.boot_waits; what waits is evaluated at the end of the
 * step, after the boot view is settled. Failure: there is none. A noderole that cannot run, and a
 * boot server that is lost, are late; what waits for them has deadlines of its own. */

/* Why a node is in core.boot_calls. */
enum boot_call {
    BOOT_CALL_WAITING = 1, /* on_node_change is called when it is served or cannot be */
    BOOT_CALL_FAILED,      /* it was called because a noderole is in ERROR */
    BOOT_CALL_SERVED,      /* it was called because the node is served */
};

/* ---- roles ---- */

static enum boot_service boot_service_of_role(const struct core *c, role_ix r)
{
    const struct role *role = role_at(c, r);
    /* A destructive role runs once, so it cannot publish changes. */
    if (!(role->flags & ROLE_SERVES_BOOT) || role->flags & ROLE_DESTRUCTIVE ||
        core_settings(c)->test_jig)
        return BOOT_SERVICE_NONE;
    if (role->jig.v && jig_at(c, role->jig)->is_native)
        return BOOT_SERVICE_NATIVE;
    return role_is_noop(c, r) ? BOOT_SERVICE_NONE : BOOT_SERVICE_PUBLISHED;
}

/* What a role has published is not known to it when it serves boots in another way meanwhile. */
static void boot_service_forget_role(struct core *c, role_ix r)
{
    const struct vec *drs = &role_at(c, r)->deployed;
    for (uint32_t i = 0; i < drs->count; i++) {
        const deployment_role_ix dr = {vec_at(c, drs, i)};
        for (uint32_t k = 0; k < deployment_role_at(c, dr)->noderoles.count; k++)
            boot_due_forget(c, (noderole_ix){vec_at(c, &deployment_role_at(c, dr)->noderoles, k)});
    }
}

void boot_service_index(struct core *c)
{
    struct vec *roles = &vars_edit(c)->boot_roles;
    vec_clear(&c->heap, roles);
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_at(c, (role_ix){ix})->o.id)) {
        const enum boot_service before = role_at(c, (role_ix){ix})->boot_service;
        const enum boot_service now = boot_service_of_role(c, (role_ix){ix});
        if (before != now)
            role_derive(c, (role_ix){ix})->boot_service = (uint8_t)now;
        if (before != now && before == BOOT_SERVICE_PUBLISHED)
            boot_service_forget_role(c, (role_ix){ix});
        if (now == BOOT_SERVICE_PUBLISHED && role_at(c, (role_ix){ix})->deployed.count)
            vars_edit(c)->boot_review = true;
        if (now != BOOT_SERVICE_NONE)
            vec_insert(&c->heap, &vars_edit(c)->boot_roles, c->vars.boot_roles.count, ix);
    }
    boot_service_changed(c);
}

bool boot_service_is_published(const struct core *c, noderole_ix nr)
{
    const struct noderole *row = noderole_at(c, nr);
    return row->role.v && row->state != NODEROLE_PROPOSED &&
           role_at(c, row->role)->boot_service == BOOT_SERVICE_PUBLISHED;
}

void boot_service_changed(struct core *c)
{
    if (!c->vars.boot_waits && (c->barrier.count || c->boot_calls.count))
        vars_edit(c)->boot_waits = true;
}

void boot_service_noderole_changed(struct core *c, noderole_ix nr)
{
    if (role_at(c, noderole_at(c, nr)->role)->boot_service != BOOT_SERVICE_NONE)
        boot_service_changed(c);
}

/* ---- noderoles ---- */

noderole_ix boot_service_next(const struct core *c, struct boot_service_cursor *at)
{
    const struct vec *roles = &c->vars.boot_roles;
    for (; at->role < roles->count; at->role++, at->dr = at->noderole = 0) {
        const struct vec *drs = &role_at(c, (role_ix){vec_at(c, roles, at->role)})->deployed;
        for (; at->dr < drs->count; at->dr++, at->noderole = 0) {
            const struct vec *all =
                &deployment_role_at(c, (deployment_role_ix){vec_at(c, drs, at->dr)})->noderoles;
            while (at->noderole < all->count) {
                const noderole_ix nr = {vec_at(c, all, at->noderole++)};
                const uint8_t state = view_state(c, nr);
                if (state != NODEROLE_PROPOSED && state != STATE_REMOVED)
                    return nr;
            }
        }
    }
    return (noderole_ix){0};
}

/* A node without a turn has had no entry since the start. If a row says that it left the view
 * before, that is still to be published. */
static bool boot_service_has_served(const struct core *c, noderole_ix nr, node_ix n)
{
    const int64_t id = node_at(c, n)->o.id, turn = node_at(c, n)->boot.turn;
    if (role_at(c, noderole_at(c, nr)->role)->boot_service == BOOT_SERVICE_NATIVE)
        return !turn || boot_servers_have(c, nr, n);
    return turn ? !boot_due_has(c, nr, id)
                : core_boot_next_due(c, noderole_at(c, nr)->o.id, id - 1) != id;
}

static bool boot_service_is_lower(const struct core *c, noderole_ix nr, noderole_ix than)
{
    return !than.v || noderole_at(c, nr)->o.id < noderole_at(c, than)->o.id;
}

struct boot_late boot_service_late(const struct core *c, node_ix n, bool but_native)
{
    struct boot_late late = {0};
    struct boot_service_cursor at = {0};
    if (!c->vars.boot_roles.count)
        return late;
    if (c->view)
        c->view->has_read_boots = true; /* a change of any of them makes the plan stale */
    if (!node_at(c, n)->boot_generation)
        return late;
    for (noderole_ix nr; (nr = boot_service_next(c, &at)).v;) {
        const bool is_native =
            role_at(c, noderole_at(c, nr)->role)->boot_service == BOOT_SERVICE_NATIVE;
        if ((is_native && but_native) || boot_service_has_served(c, nr, n))
            continue;
        if (boot_service_is_lower(c, nr, late.first))
            late.first = nr;
        if (noderole_at(c, nr)->state == NODEROLE_ERROR &&
            boot_service_is_lower(c, nr, late.failed))
            late.failed = nr;
    }
    return late;
}

struct str boot_service_problem(const struct core *c, node_ix n, struct boot_late late,
                                struct arena *a)
{
    const bool has_failed = late.failed.v != 0;
    const noderole_ix ix = has_failed ? late.failed : late.first;
    if (!ix.v)
        return STR("");
    const struct noderole *nr = noderole_at(c, ix);
    return STR_CONCAT(
        a, text_of(c, role_at(c, nr->role)->name), STR(" on "),
        text_of(c, node_at(c, nr->node)->name), has_failed ? STR(" is in error and") : STR(""),
        STR(" has not served boot generation "), str_from_i64(a, node_at(c, n)->boot_generation));
}

struct boot_serving boot_service_describe(const struct core *c, noderole_ix nr, node_ix n)
{
    const struct noderole *row = noderole_at(c, nr);
    struct boot_serving serving = {.noderole_id = row->o.id,
                                   .is_native =
                                       role_at(c, row->role)->boot_service == BOOT_SERVICE_NATIVE,
                                   .is_served = boot_service_has_served(c, nr, n)};
    if (serving.is_native)
        boot_servers_describe(c, nr, &serving);
    else
        boot_due_describe(c, nr, node_at(c, n)->o.id, &serving);
    return serving;
}

struct str boot_service_failure(const struct core *c, node_ix n, struct arena *a)
{
    const struct boot_late late = boot_service_late(c, n, false);
    return late.failed.v ? boot_service_problem(c, n, late, a) : STR("");
}

static int boot_service_cmp(const void *a, const void *b)
{
    const struct boot_serving *x = a, *y = b;
    return (x->noderole_id > y->noderole_id) - (x->noderole_id < y->noderole_id);
}

uint32_t core_boot_servings(const struct core *c, int64_t node_id, struct arena *a,
                            struct boot_serving **out)
{
    const node_ix n = node_by_id(c, node_id);
    struct boot_service_cursor at = {0};
    uint32_t count = 0, i = 0;
    *out = NULL;
    while (n.v && boot_service_next(c, &at).v)
        count++;
    if (!count)
        return 0;
    *out = arena_array(a, struct boot_serving, count);
    at = (struct boot_service_cursor){0};
    for (noderole_ix nr; (nr = boot_service_next(c, &at)).v; i++)
        (*out)[i] = boot_service_describe(c, nr, n);
    must(i == count);
    sort_items(*out, count, sizeof **out, boot_service_cmp, a);
    return count;
}

/* ---- runs that wait to install ---- */

void boot_service_watch(struct core *c, node_ix n)
{
    omap_put(&c->boot_calls, n.v, BOOT_CALL_WAITING);
    boot_service_changed(c);
}

void boot_service_unwatch(struct core *c, node_ix n)
{
    omap_remove(&c->boot_calls, n.v);
}

/* The machine is to boot something else, which is not served yet. A noderole in ERROR that had
 * served the machine is late now, which ends the wait. */
void boot_service_entry_changed(struct core *c, int64_t node_id)
{
    const node_ix n =
        c->boot_calls.count || c->barrier.count ? node_by_id(c, node_id) : (node_ix){0};
    if (!n.v)
        return;
    const bool is_called = omap_find(&c->boot_calls, n.v) != 0;
    if (is_called)
        omap_put(&c->boot_calls, n.v, BOOT_CALL_WAITING);
    if (is_called || node_at(c, n)->barrier.count)
        boot_service_changed(c);
}

void boot_service_call_installers(struct core *c)
{
    uint64_t key = 0;
    uint32_t before;
    for (uint64_t from = 0; omap_ceil(&c->boot_calls, from, &key, &before); from = key + 1) {
        const node_ix n = {(uint32_t)key};
        const struct boot_late late = boot_service_late(c, n, false);
        const enum boot_call now = !late.first.v   ? BOOT_CALL_SERVED
                                   : late.failed.v ? BOOT_CALL_FAILED
                                                   : BOOT_CALL_WAITING;
        if (now == before)
            continue;
        omap_put(&c->boot_calls, key, now);
        if (now != BOOT_CALL_WAITING)
            node_changed(c, n); /* hooks see boot_served or boot_problem */
    }
}

/* It is called once more after a load, since it is not stored which nodes were called. */
void boot_service_load(struct core *c)
{
    const struct pool *nodes = &c->tables[TABLE_NODE].pool;
    for (uint32_t ix = pool_next(nodes, 0); ix; ix = pool_next(nodes, ix))
        if (grant_is_unused(c, (node_ix){ix}))
            boot_service_watch(c, (node_ix){ix});
}

const char *boot_service_check(const struct core *c)
{
    uint64_t key = 0;
    uint32_t call;
    for (uint64_t from = 0; omap_ceil(&c->boot_calls, from, &key, &call); from = key + 1)
        if (!pool_is_live(&c->tables[TABLE_NODE].pool, (uint32_t)key) ||
            !grant_is_unused(c, (node_ix){(uint32_t)key}))
            return "C24: a node waits to be served for an installer and has no unused grant";
    return boot_due_check(c);
}
