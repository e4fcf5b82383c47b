#include "daemon/boot/boot_seen.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/net/ip.h"
#include "base/net/mac.h"
#include "sys/id_map.h"

/* A machine has a ring of events that grows to SEEN_OWN_MAX. All machines are in one list by the
 * time of their last event, newest first, and in a table by the id of their node. */

enum { SEEN_FIRST_ROOM = 8 };

struct seen_machine {
    int64_t node_id;
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
    id_map_remove(&seen->machines, m->node_id);
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

static struct seen_machine *seen_get(struct boot_seen *seen, int64_t node_id)
{
    struct seen_machine *m = id_map_find(&seen->machines, node_id);
    if (m) {
        seen_unlink(seen, m);
    } else {
        if (seen->machines.count >= SEEN_MACHINES_MAX)
            seen_remove(seen, seen->oldest);
        m = calloc(1, sizeof *m);
        must(m);
        m->node_id = node_id;
        id_map_put(&seen->machines, node_id, m);
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
    if (!event->node)
        return;
    struct seen_event *e = seen_place(seen_get(seen, event->node));
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

uint32_t boot_seen_of_node(const struct boot_seen *seen, int64_t node_id,
                           struct seen_event out_events[SEEN_OWN_MAX])
{
    const struct seen_machine *m = id_map_find(&seen->machines, node_id);
    for (uint32_t i = 0; m && i < m->count; i++)
        out_events[i] = m->events[(m->first + i) % m->count];
    return m ? m->count : 0;
}

/* ---- sentences ---- */

/* "12 s", "7 min", "3 h" */
static struct str seen_age_text(struct arena *a, int64_t ms)
{
    const int64_t s = ms > 0 ? ms / 1000 : 0;
    if (s < 120)
        return STR_CONCAT(a, str_from_i64(a, s), STR(" s"));
    return s < 7200 ? STR_CONCAT(a, str_from_i64(a, s / 60), STR(" min"))
                    : STR_CONCAT(a, str_from_i64(a, s / 3600), STR(" h"));
}

static void seen_explain_conflict(const struct seen_event *e, struct arena *a,
                                  struct reason *out_reason)
{
    const struct str mac = mac_format(a, mac_from_number((uint64_t)e->other));
    *out_reason = (struct reason){
        .code = REASON_ADDRESS_IN_USE,
        .subject = mac,
        .text = STR_CONCAT(a, STR("its address "), ip_format_address(a, ip_from_v4(e->address)),
                           STR(" is not offered, because the host with the MAC "), mac,
                           STR(" uses it"))};
}

bool boot_seen_explain(const struct boot_seen *seen, int64_t node_id, int64_t now_ms,
                       struct arena *a, struct reason *out_reason)
{
    enum { DAY_MS = 24 * 3600 * 1000 };
    const struct seen_machine *m = id_map_find(&seen->machines, node_id);
    if (!m)
        return false;
    const struct seen_event *e = &m->events[(m->first + m->count - 1) % m->count];
    if (now_ms - e->wall_ms > DAY_MS)
        return false;
    const struct str what = str_from(boot_seen_name(e->kind)), detail = str_from(e->detail);
    if (e->kind == BOOT_SEEN_ADDRESS_IN_USE) {
        seen_explain_conflict(e, a, out_reason);
        return true;
    }
    const struct str about = detail.len ? STR_CONCAT(a, what, STR(" ("), detail, STR(")")) : what;
    *out_reason =
        (struct reason){.code = REASON_BOOT_SILENT,
                        .subject = what,
                        .text = STR_CONCAT(a, STR("the last event of its boot, "),
                                           seen_age_text(a, now_ms - e->wall_ms), STR(" ago, is "),
                                           about, STR("; it has not reported since"))};
    return true;
}
