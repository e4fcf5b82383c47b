#include "core/core_private.h"

/* Members of a cluster role are updated together: when one joins, those that were there and whose
 * staged data the commit changed run again (DECISIONS D13). */

struct peer {
    noderole_ix nr;
    uint64_t staged; /* hash of what a run would have been given before */
};

struct peers {
    struct peer *items;
    uint32_t count, cap;
};

static void peer_add(struct core *c, struct peers *peers, noderole_ix nr)
{
    for (uint32_t i = 0; i < peers->count; i++)
        if (peers->items[i].nr.v == nr.v)
            return;
    if (peers->count == peers->cap) {
        const uint32_t cap = peers->cap ? peers->cap * 2 : 16;
        struct peer *items = arena_array(c->arena, struct peer, cap);
        if (peers->count)
            memcpy(items, peers->items, peers->count * sizeof *items);
        peers->items = items;
        peers->cap = cap;
    }
    peers->items[peers->count++] = (struct peer){nr, hash64(stage_noderole(c, nr, c->arena), 0)};
}

static bool has_run(const struct core *c, noderole_ix nr)
{
    const uint8_t state = noderole_at(c, nr)->state;
    return state == NODEROLE_ACTIVE || state == NODEROLE_TRANSITION;
}

static void collect_peers(struct core *c, struct peers *peers, noderole_ix joining)
{
    const struct noderole *nr = noderole_at(c, joining);
    if (!(role_at(c, nr->role)->flags & ROLE_CLUSTER) || nr->state != NODEROLE_PROPOSED)
        return;
    const struct vec *all = &deployment_role_at(c, nr->dr)->noderoles;
    for (uint32_t i = 0; i < all->count; i++) {
        const noderole_ix peer = {vec_at(c, all, i)};
        if (has_run(c, peer))
            peer_add(c, peers, peer);
    }
}

enum { AHEAD = 8 }; /* rows asked for before their turn comes */

bool cluster_commit(struct core *c, const noderole_ix *items, uint32_t count)
{
    struct peers peers = {0};
    deployment_role_ix last = {0};
    for (uint32_t i = 0; i < count; i++) {
        const deployment_role_ix dr = noderole_at(c, items[i])->dr;
        if (dr.v != last.v) /* members of one role stand together more often than not */
            collect_peers(c, &peers, items[i]);
        last = dr;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            row_soon(c, TABLE_NODEROLE, items[i + AHEAD].v);
        noderole_commit(c, items[i]);
    }
    if (refused(c))
        return false;
    for (uint32_t i = 0; i < peers.count; i++)
        if (hash64(stage_noderole(c, peers.items[i].nr, c->arena), 0) != peers.items[i].staged)
            noderole_poke(c, peers.items[i].nr);
    return true;
}
