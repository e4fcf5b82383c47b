/* power_retry.c - orders whose last try failed and that wait for the next one. They form a list
 * sorted by wake_ms (power.sleepers); one timer runs for the first of them and requests a pump,
 * which makes the order PENDING again. Orders with equal times keep their order of arrival. The
 * list is in memory only: after a restart the outbox row arrives again. */
#include <stdio.h>

#include "power/power_orders_private.h"
#include "sys/clock.h"

static void power_on_retry_timer(uv_timer_t *timer)
{
    const struct power *p = timer->data;
    p->wake(p->self);
}

void power_set_timer(struct power *p)
{
    if (!p->sleepers)
        return;
    const int64_t wait_ms = p->sleepers->wake_ms - sys_mono_ms();
    uv_update_time(p->loop);
    must(uv_timer_start(&p->timer, power_on_retry_timer, wait_ms > 0 ? (uint64_t)wait_ms : 0, 0) ==
         0);
}

void power_sleep(struct power *p, struct order *o, int64_t wake_ms)
{
    struct order **at = &p->sleepers;
    o->wake_ms = wake_ms;
    while (*at && (*at)->wake_ms <= wake_ms)
        at = &(*at)->next;
    o->next = *at;
    *at = o;
    power_set_timer(p);
}

bool power_retry(const struct power *p, int64_t node_id, struct arena *arena,
                 struct reason *out_reason)
{
    const struct order *o = id_map_find(&p->by_node, node_id);
    char text[TEXT_SIZE * 2];
    if (!o || o->stage == ORDER_DONE || o->tries == 0 || !o->text.len)
        return false;
    const int64_t wait_ms = o->wake_ms - sys_mono_ms();
    snprintf(text, sizeof text,
             "%.*s of node \"%.*s\" failed (try %u of %u), trying again in %lld s: %.*s",
             STR_FMT_ARGS(o->action), STR_FMT_ARGS(o->node), o->tries, TRIES_MAX,
             (long long)(wait_ms > 0 ? (wait_ms + 999) / 1000 : 0), STR_FMT_ARGS(o->text));
    *out_reason = (struct reason){.code = REASON_POWER_RETRYING,
                                  .subject = str_copy(arena, o->action),
                                  .text = str_copy(arena, str_from(text))};
    return true;
}
