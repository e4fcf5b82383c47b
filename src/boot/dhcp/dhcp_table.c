#include "boot/dhcp/dhcp_table.h"

#include "base/err.h"

/* An array of entries with an index by key, and a list in the order of writing, at whose end
 * entries are lost. The array is not cleared at first: entries from `used` on were never touched,
 * so that a large table needs memory only for what it holds. */

void dhcp_table_init(struct dhcp_table *t, struct heap *h, struct arena *a, uint32_t max)
{
    *t = (struct dhcp_table){.max = max};
    omap_init(&t->index, h);
    t->entries = arena_alloc(a, sizeof *t->entries * max);
}

static struct dhcp_entry *dhcp_table_at(const struct dhcp_table *t, uint32_t ix)
{
    return &t->entries[ix - 1];
}

static void dhcp_table_unlink(struct dhcp_table *t, uint32_t ix)
{
    const struct dhcp_entry *e = dhcp_table_at(t, ix);
    if (e->older)
        dhcp_table_at(t, e->older)->newer = e->newer;
    else
        t->oldest = e->newer;
    if (e->newer)
        dhcp_table_at(t, e->newer)->older = e->older;
    else
        t->newest = e->older;
}

static void dhcp_table_link(struct dhcp_table *t, uint32_t ix)
{
    struct dhcp_entry *e = dhcp_table_at(t, ix);
    e->older = t->newest;
    e->newer = 0;
    if (t->newest)
        dhcp_table_at(t, t->newest)->newer = ix;
    else
        t->oldest = ix;
    t->newest = ix;
}

struct dhcp_entry *dhcp_table_find(const struct dhcp_table *t, uint64_t key, int64_t now_ms)
{
    const uint32_t ix = omap_find(&t->index, key);
    return ix && dhcp_table_at(t, ix)->ends_ms > now_ms ? dhcp_table_at(t, ix) : NULL;
}

void dhcp_table_remove(struct dhcp_table *t, uint64_t key)
{
    const uint32_t ix = omap_find(&t->index, key);
    if (!ix)
        return;
    omap_remove(&t->index, key);
    dhcp_table_unlink(t, ix);
    dhcp_table_at(t, ix)->newer = t->free;
    t->free = ix;
}

/* An entry that no key has. */
static uint32_t dhcp_table_get_free(struct dhcp_table *t)
{
    if (!t->free && t->used == t->max)
        dhcp_table_remove(t, dhcp_table_at(t, t->oldest)->key);
    const uint32_t ix = t->free;
    if (!ix)
        return ++t->used;
    t->free = dhcp_table_at(t, ix)->newer;
    return ix;
}

struct dhcp_entry *dhcp_table_put(struct dhcp_table *t, uint64_t key, int64_t ends_ms)
{
    uint32_t ix = omap_find(&t->index, key);
    if (ix) {
        dhcp_table_unlink(t, ix);
    } else {
        ix = dhcp_table_get_free(t);
        *dhcp_table_at(t, ix) = (struct dhcp_entry){.key = key};
        omap_put(&t->index, key, ix);
    }
    struct dhcp_entry *e = dhcp_table_at(t, ix);
    e->ends_ms = ends_ms;
    dhcp_table_link(t, ix);
    return e;
}

const struct dhcp_entry *dhcp_table_oldest(const struct dhcp_table *t)
{
    return t->oldest ? dhcp_table_at(t, t->oldest) : NULL;
}

bool dhcp_table_is_full(const struct dhcp_table *t)
{
    return t->index.count == t->max;
}
