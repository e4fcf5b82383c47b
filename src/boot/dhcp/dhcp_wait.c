#include "boot/dhcp/dhcp_private.h"

#include <string.h>

#include "base/err.h"

/* Requests that wait for an ARP probe or for the daemon. Each client has at most one; its packet
 * is kept, and handled again when the result is there. A repeated packet replaces the kept one,
 * because the client expects the transaction id of its last message. The token of an action is the
 * MAC with a counter above it, so a result for an earlier action of the same client is recognised.
 * */

#define TOKEN_MAC ((UINT64_C(1) << 48) - 1)

/* In a block of the heap; the packet follows it. */
struct waiting_block {
    struct dhcp_waiting waiting;
    uint32_t size;
};

static struct waiting_block *dhcp_block(const struct dhcp *d, const struct dhcp_entry *e)
{
    return (struct waiting_block *)heap_at(&d->heap, (uint32_t)e->extra);
}

static void dhcp_free_block(struct dhcp *d, const struct dhcp_entry *e)
{
    const struct waiting_block *block = dhcp_block(d, e);
    heap_free(&d->heap, (uint32_t)e->extra, block->size);
}

static void dhcp_remove_waiting(struct dhcp *d, const struct dhcp_entry *e)
{
    dhcp_free_block(d, e);
    dhcp_table_remove(&d->pending, e->key);
}

static uint32_t dhcp_store_block(struct dhcp_work *w, enum dhcp_action_kind kind,
                                 const struct dhcp_binding *binding)
{
    const struct str bytes = w->packet->bytes;
    const uint32_t size = (uint32_t)sizeof(struct waiting_block) + bytes.len;
    const uint32_t ref = heap_alloc(&w->d->heap, size);
    struct waiting_block *block = heap_at(&w->d->heap, ref);
    block->waiting = (struct dhcp_waiting){kind, *w->packet, *binding};
    block->waiting.packet.bytes = (struct str){(const char *)(block + 1), bytes.len};
    block->size = size;
    memcpy(block + 1, bytes.at, bytes.len);
    return ref;
}

void dhcp_wait(struct dhcp_work *w, enum dhcp_action_kind kind, const struct dhcp_binding *binding)
{
    struct dhcp *d = w->d;
    struct dhcp_entry *e = dhcp_table_find(&d->pending, w->mac, INT64_MIN);
    bool is_same = false;
    if (e) {
        const struct dhcp_waiting *old = &dhcp_block(d, e)->waiting;
        is_same = e->ends_ms > w->now_ms && old->kind == kind &&
                  old->binding.address == binding->address && old->packet.slot == w->packet->slot;
        dhcp_free_block(d, e);
    } else if (dhcp_table_is_full(&d->pending)) {
        dhcp_remove_waiting(d, dhcp_table_oldest(&d->pending));
    }
    e = dhcp_table_put(&d->pending, w->mac, w->now_ms + WAIT_MS);
    e->extra = dhcp_store_block(w, kind, binding);
    if (is_same)
        return;
    e->value = (uint64_t)d->token_count++ << 48 | w->mac;
    struct dhcp_action *action = dhcp_add_action(w->out, kind, w->packet->slot);
    action->address = binding->address;
    action->mac = w->mac;
    action->token = e->value;
    action->range = binding->range;
    action->lease_s = binding->lease_s;
}

static void dhcp_give_waiting(struct dhcp *d, const struct dhcp_entry *e, struct arena *a,
                              struct dhcp_waiting *out)
{
    *out = dhcp_block(d, e)->waiting;
    out->packet.bytes = str_copy(a, out->packet.bytes);
    dhcp_remove_waiting(d, e);
}

bool dhcp_end_wait(struct dhcp *d, enum dhcp_action_kind kind, uint64_t token, struct arena *a,
                   struct dhcp_waiting *out)
{
    const struct dhcp_entry *e = dhcp_table_find(&d->pending, token & TOKEN_MAC, INT64_MIN);
    if (!e || e->value != token || dhcp_block(d, e)->waiting.kind != kind)
        return false;
    dhcp_give_waiting(d, e, a, out);
    return true;
}

bool dhcp_end_late_wait(struct dhcp *d, int64_t now_ms, struct arena *a, struct dhcp_waiting *out)
{
    const struct dhcp_entry *e = dhcp_table_oldest(&d->pending);
    if (!e || e->ends_ms > now_ms)
        return false;
    dhcp_give_waiting(d, e, a, out);
    return true;
}
