#include "core/core_private.h"

#include "base/json/json.h"

/* Hooks about networks, and about allocations of addresses (docs/spec/hooks.md).
 *
 * A hook about a network is one outbox row for each role that defines it. Hooks about allocations
 * take a list: all allocations of a batch are one call for each role. The first allocation of a
 * batch makes the rows, further ones are added to the same rows, which are delivered when the batch
 * is durable (struct hook_batch). Roles that are made for a network are called about that network
 * only, so they have rows of their own.
 *
 * The list is the detail of the row, so that it survives a crash: ids of created allocations;
 * addresses with the names of node, network and range of deleted ones. It has at most
 * ALLOCATIONS_LISTED_MAX members and then ends with null, which means that there are more.
 *
 * Order: a row must exist in the batch that changed the allocation. A deleted allocation is
 * described while its row exists. Failure: a full outbox refuses the step. */

enum { ALLOCATIONS_LISTED_MAX = 100 };

/* ---- networks ---- */

/* True if the role is called about the network. */
static bool network_hook_concerns(const struct core *c, role_ix r, network_ix w)
{
    const int64_t own = role_at(c, r)->network_id;
    return !own || own == network_at(c, w)->o.id;
}

void hooks_network(struct core *c, enum hook hook, network_ix w)
{
    const struct vec *roles = &c->vars.hook_roles[hook];
    for (uint32_t i = 0; i < roles->count && !refused(c); i++) {
        const role_ix r = {vec_at(c, roles, i)};
        if (!network_hook_concerns(c, r, w))
            continue;
        const outbox_ix ix = outbox_add_hook(c, hook, r, TABLE_NETWORK, network_at(c, w)->o.id);
        if (ix.v) /* the name is stored, because the network may be deleted before the delivery */
            put_text(c, &outbox_edit(c, ix)->detail, text_of(c, network_at(c, w)->name));
    }
}

/* ---- allocations ---- */

struct json *allocation_describe(const struct core *c, network_allocation_ix a, struct arena *arena)
{
    const struct network_allocation *row = network_allocation_at(c, a);
    const struct network *network = network_at(c, row->network);
    struct json *o = json_make(arena, JSON_OBJECT);
    const struct {
        const char *key;
        struct str text;
    } texts[] = {{"address", text_of(c, row->address)},
                 {"category", text_of(c, network->category)},
                 {"network", text_of(c, network->name)},
                 {"node", text_of(c, node_at(c, row->node)->name)},
                 {"range", text_of(c, network_range_at(c, row->range)->name)}};
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        json_set(o, str_from(texts[i].key), json_make_string(arena, texts[i].text));
    json_set(o, STR("id"), json_make_i64(arena, row->o.id));
    json_set(o, STR("network_id"), json_make_i64(arena, network->o.id));
    json_set(o, STR("node_id"), json_make_i64(arena, node_at(c, row->node)->o.id));
    return o;
}

static struct str allocation_hook_member(struct core *c, enum hook hook, network_allocation_ix a)
{
    if (hook == HOOK_NETWORK_ALLOCATION_CREATE)
        return str_from_i64(c->arena, network_allocation_at(c, a)->o.id);
    struct json *o = allocation_describe(c, a, c->arena);
    json_set(o, STR("gone"), json_make_bool(c->arena, true));
    return json_write(c->arena, o);
}

/* Make a row for each role: those of the network, or those of no network if `own` is 0. */
static struct hook_batch allocation_hook_open(struct core *c, enum hook hook, int64_t own)
{
    const struct vec *roles = &c->vars.hook_roles[hook];
    struct hook_batch batch = {.batch = c->batch_number + 1};
    for (uint32_t i = 0; i < roles->count && !refused(c); i++) {
        const role_ix r = {vec_at(c, roles, i)};
        if (role_at(c, r)->network_id != own)
            continue;
        const outbox_ix ix = outbox_add_hook(c, hook, r, TABLE_NETWORK_ALLOCATION, 0);
        if (ix.v && !batch.count++)
            batch.first = outbox_at(c, ix)->o.id;
    }
    return batch;
}

/* True if the rows of the batch can get another member: they were made in this batch, and none has
 * a result. */
static bool allocation_hook_is_open(const struct core *c, const struct hook_batch *batch)
{
    return batch->batch == c->batch_number + 1 &&
           (!batch->count || outbox_by_id(c, batch->first).v);
}

/* True if a further member would change nothing. */
static bool allocation_hook_is_full(const struct core *c, const struct hook_batch *batch)
{
    return allocation_hook_is_open(c, batch) &&
           (!batch->count || batch->listed > ALLOCATIONS_LISTED_MAX);
}

static struct str allocation_hook_append(struct core *c, struct str list, struct str member)
{
    return list.len
               ? STR_CONCAT(c->arena, str_slice(list, 0, list.len - 1), STR(","), member, STR("]"))
               : STR_CONCAT(c->arena, STR("["), member, STR("]"));
}

/* The batch with the new member; the caller stores it. */
static struct hook_batch allocation_hook_add(struct core *c, struct hook_batch batch,
                                             enum hook hook, int64_t own, struct str member)
{
    if (!allocation_hook_is_open(c, &batch))
        batch = allocation_hook_open(c, hook, own);
    if (!batch.count || batch.listed > ALLOCATIONS_LISTED_MAX)
        return batch;
    if (batch.listed++ == ALLOCATIONS_LISTED_MAX)
        member = STR("null"); /* there are more */
    for (uint32_t i = 0; i < batch.count; i++) {
        const outbox_ix ix = outbox_by_id(c, batch.first + i);
        if (!ix.v)
            continue; /* its role was removed in this batch */
        struct outbox *row = outbox_edit(c, ix);
        put_text(c, &row->detail, allocation_hook_append(c, text_of(c, row->detail), member));
        if (row->depth < c->depth)
            row->depth = c->depth;
    }
    return batch;
}

static void allocation_hook(struct core *c, enum hook hook, network_allocation_ix a)
{
    const uint32_t which = hook == HOOK_NETWORK_ALLOCATION_DELETE;
    const network_ix w = network_allocation_at(c, a)->network;
    if (!c->vars.hook_roles[hook].count)
        return;
    if (allocation_hook_is_full(c, &c->vars.batches[which]) &&
        (network_at(c, w)->deleting ||
         allocation_hook_is_full(c, &network_at(c, w)->batches[which])))
        return;
    const struct str member = allocation_hook_member(c, hook, a);
    const struct hook_batch of_all =
        allocation_hook_add(c, c->vars.batches[which], hook, 0, member);
    vars_edit(c)->batches[which] = of_all;
    if (network_at(c, w)->deleting)
        return; /* with it, its roles are deleted */
    const struct hook_batch of_network = allocation_hook_add(c, network_at(c, w)->batches[which],
                                                             hook, network_at(c, w)->o.id, member);
    network_derive(c, w)->batches[which] = of_network;
}

void hooks_allocation_created(struct core *c, network_allocation_ix a)
{
    allocation_hook(c, HOOK_NETWORK_ALLOCATION_CREATE, a);
}

void hooks_allocation_deleted(struct core *c, network_allocation_ix a)
{
    allocation_hook(c, HOOK_NETWORK_ALLOCATION_DELETE, a);
}
