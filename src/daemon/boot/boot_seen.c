#include "daemon/boot/boot_seen.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "sys/id_map.h"

/* A machine has a ring of events that grows to SEEN_OWN_MAX. All machines are in one list by the
 * time of their last event, newest first, and in a table: nodes by their id, MACs by their number
 * with a bit set that no node id has. */

#define SEEN_MAC_BIT (INT64_C(1) << 62)

enum { SEEN_FIRST_ROOM = 8 };

struct seen_machine {
    int64_t key;
    struct seen_machine *newer, *older;
    struct seen_event *events;
    uint32_t room, count, first; /* of the ring */
};

struct boot_seen {
    struct id_map machines;
    struct seen_machine *newest, *oldest;
};

struct boot_seen *boot_seen_new(void)
{
    struct boot_seen *seen = calloc(1, sizeof *seen);
    must(seen);
    return seen;
}

static void seen_unlink(struct boot_seen *seen, struct seen_machine *m)
{
    if (m->newer)
        m->newer->older = m->older;
    else
        seen->newest = m->older;
    if (m->older)
        m->older->newer = m->newer;
    else
        seen->oldest = m->newer;
}

static void seen_link_newest(struct boot_seen *seen, struct seen_machine *m)
{
    m->newer = NULL;
    m->older = seen->newest;
    if (seen->newest)
        seen->newest->newer = m;
    else
        seen->oldest = m;
    seen->newest = m;
}

static void seen_remove(struct boot_seen *seen, struct seen_machine *m)
{
    seen_unlink(seen, m);
    id_map_remove(&seen->machines, m->key);
    free(m->events);
    free(m);
}

void boot_seen_free(struct boot_seen *seen)
{
    if (!seen)
        return;
    while (seen->newest)
        seen_remove(seen, seen->newest);
    id_map_fini(&seen->machines);
    free(seen);
}

static struct seen_machine *seen_get(struct boot_seen *seen, int64_t key)
{
    struct seen_machine *m = id_map_find(&seen->machines, key);
    if (m) {
        seen_unlink(seen, m);
    } else {
        if (seen->machines.count >= SEEN_MACHINES_MAX)
            seen_remove(seen, seen->oldest);
        m = calloc(1, sizeof *m);
        must(m);
        m->key = key;
        id_map_put(&seen->machines, key, m);
    }
    seen_link_newest(seen, m);
    return m;
}

static struct seen_event *seen_place(struct seen_machine *m)
{
    if (m->count == m->room && m->room < SEEN_OWN_MAX) {
        m->room = m->room ? m->room * 2 : SEEN_FIRST_ROOM;
        m->events = realloc(m->events, m->room * sizeof *m->events);
        must(m->events);
    }
    if (m->count < m->room)
        return &m->events[m->count++];
    struct seen_event *oldest = &m->events[m->first];
    m->first = (m->first + 1) % m->room;
    return oldest;
}

void boot_seen_add(struct boot_seen *seen, int64_t server, const struct boot_msg_seen *event)
{
    if (!event->node && !event->mac)
        return;
    struct seen_event *e =
        seen_place(seen_get(seen, event->node ? event->node : SEEN_MAC_BIT | event->mac));
    const struct str detail = str_clip(event->detail, SEEN_DETAIL_MAX - 1);
    *e = (struct seen_event){.wall_ms = event->wall_ms,
                             .server = server,
                             .generation = event->generation,
                             .mac = (uint64_t)event->mac,
                             .other = event->other,
                             .address = (uint32_t)event->address,
                             .kind = (enum boot_seen_kind)event->kind};
    if (detail.len)
        memcpy(e->detail, detail.at, detail.len);
}

static uint32_t seen_copy(const struct boot_seen *seen, int64_t key, struct seen_event *out_events)
{
    const struct seen_machine *m = id_map_find(&seen->machines, key);
    for (uint32_t i = 0; m && i < m->count; i++)
        out_events[i] = m->events[(m->first + i) % m->count];
    return m ? m->count : 0;
}

uint32_t boot_seen_of_node(const struct boot_seen *seen, int64_t node_id,
                           struct seen_event out_events[SEEN_OWN_MAX])
{
    return seen_copy(seen, node_id, out_events);
}

uint32_t boot_seen_of_mac(const struct boot_seen *seen, uint64_t mac,
                          struct seen_event out_events[SEEN_OWN_MAX])
{
    return seen_copy(seen, SEEN_MAC_BIT | (int64_t)mac, out_events);
}

uint32_t boot_seen_machines(const struct boot_seen *seen)
{
    return seen->machines.count;
}
