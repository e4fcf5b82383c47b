#include <stdio.h>

#include "daemon/power_private.h"
#include "sys/clock.h"

bool power_retry(const struct power *p, int64_t node_id, struct arena *arena,
                 struct reason *out_reason)
{
    const struct order *o = id_map_find(&p->by_node, node_id);
    char text[TEXT_SIZE * 2];
    if (!o || o->stage == ANSWERED || o->tries == 0 || !o->text.len)
        return false;
    const int64_t wait_ms = o->wake_ms - sys_mono_ms();
    snprintf(text, sizeof text,
             "%.*s of node \"%.*s\" failed %u of %u times and is tried again in "
             "%lld s: %.*s",
             STR_FMT_ARGS(o->action), STR_FMT_ARGS(o->node), o->tries, TRIES_MAX,
             (long long)(wait_ms > 0 ? (wait_ms + 999) / 1000 : 0), STR_FMT_ARGS(o->text));
    *out_reason = (struct reason){.code = REASON_POWER_RETRYING,
                                  .subject = str_copy(arena, o->action),
                                  .text = str_copy(arena, str_from(text))};
    return true;
}
