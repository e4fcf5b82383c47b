#include "boot/dhcp/dhcp_private.h"

/* The search for foreign DHCP servers. On each interface in our networks a DISCOVER of our own is
 * sent at the start and every five minutes. Its class names this program, so that boot servers do
 * not answer each other. A server that answers before the interface is served keeps the segment for
 * itself; one that is found later keeps us from answering unknown machines only, because machines
 * that have their address from here must not lose it. */

static const char SEARCH_CLASS[] = "halligan-boot";

bool dhcp_is_search(const struct dhcp_message *m)
{
    return str_eq(m->options[DHCP_OPTION_CLASS], str_from(SEARCH_CLASS));
}

static struct str dhcp_port_name(const struct dhcp_port *port)
{
    return (struct str){port->name, port->name_len};
}

static struct dhcp_foreign *dhcp_find_foreign(struct dhcp_port *port, uint32_t address)
{
    for (uint32_t i = 0; i < DHCP_FOREIGN_MAX; i++)
        if (port->foreign[i].address == address)
            return &port->foreign[i];
    return NULL;
}

static bool dhcp_is_blocked(const struct dhcp_port *port, const struct view *v)
{
    bool has_foreign = false;
    for (uint32_t i = 0; i < DHCP_FOREIGN_MAX; i++)
        has_foreign |= port->foreign[i].address != 0;
    return has_foreign && !boot_settings_accept_foreign(&v->settings, dhcp_port_name(port));
}

/* ---- answers ---- */

enum dhcp_result dhcp_note_reply(struct dhcp_work *w)
{
    struct dhcp_port *port = dhcp_port(w->d, w->packet->slot);
    const uint32_t server = dhcp_has(&w->m, DHCP_OPTION_SERVER)
                                ? dhcp_get_number(&w->m, DHCP_OPTION_SERVER)
                                : w->packet->source;
    if (!port || port->phase == DHCP_PHASE_OFF || w->m.type != DHCPOFFER ||
        w->m.head.xid != port->search_xid || w->m.head.mac != port->mac)
        return DHCP_RESULT_IGNORED;
    if (!server || dhcp_is_own_address(w->d, server))
        return DHCP_RESULT_IGNORED;
    struct dhcp_foreign *foreign = dhcp_find_foreign(port, server);
    if (!foreign) {
        foreign = dhcp_find_foreign(port, 0);
        if (!foreign)
            return DHCP_RESULT_LIMITED;
        foreign->address = server;
        struct dhcp_action *action = dhcp_add_action(w->out, DHCP_OBSERVE, w->packet->slot);
        action->observation = DHCP_OBSERVED_FOREIGN_SERVER;
        action->address = server;
    }
    foreign->missed = 0;
    return DHCP_RESULT_ACCEPTED;
}

/* ---- searches ---- */

static void dhcp_forget_missing(struct dhcp_port *port, uint32_t slot, struct dhcp_out *out)
{
    for (uint32_t i = 0; i < DHCP_FOREIGN_MAX; i++) {
        struct dhcp_foreign *foreign = &port->foreign[i];
        if (!foreign->address || ++foreign->missed <= SEARCH_MISSED_MAX)
            continue;
        struct dhcp_action *action = dhcp_add_action(out, DHCP_OBSERVE, slot);
        action->observation = DHCP_OBSERVED_FOREIGN_SERVER_GONE;
        action->address = foreign->address;
        *foreign = (struct dhcp_foreign){0};
    }
}

static void dhcp_send_search(struct dhcp *d, uint32_t slot, int64_t now_ms, struct dhcp_out *out)
{
    static const char asked[] = {DHCP_OPTION_SUBNET_MASK, DHCP_OPTION_ROUTERS};
    struct dhcp_port *port = &d->ports[slot];
    dhcp_forget_missing(port, slot, out);
    port->search_ms = now_ms + SEARCH_MS;
    port->search_xid = (uint32_t)prng_next(&d->prng);
    const struct dhcp_head head = {
        .op = 1, .flags = DHCP_FLAG_BROADCAST, .xid = port->search_xid, .mac = port->mac};
    struct dhcp_writer w = dhcp_begin(out->arena, &head, DHCP_SIZE_MIN, 1);
    dhcp_put_number(&w, DHCP_OPTION_TYPE, DHCPDISCOVER, 1);
    dhcp_put_option(&w, DHCP_OPTION_CLASS, str_from(SEARCH_CLASS));
    dhcp_put_option(&w, DHCP_OPTION_PARAMETERS, (struct str){asked, sizeof asked});
    struct dhcp_action *action = dhcp_add_action(out, DHCP_SEND, slot);
    action->to = DHCP_TO_BROADCAST;
    action->address = DHCP_BROADCAST;
    action->port = DHCP_SERVER_PORT;
    action->bytes = dhcp_finish(&w, (struct str){0});
}

static void dhcp_start_port(struct dhcp_port *port, int64_t now_ms)
{
    port->phase = DHCP_PHASE_STARTING;
    port->served_ms = now_ms + SEARCH_START_MS;
    port->search_ms = now_ms;
}

void dhcp_tick_port(struct dhcp *d, uint32_t slot, const struct view *v, int64_t now_ms,
                    struct dhcp_out *out)
{
    struct dhcp_port *port = &d->ports[slot];
    if (!v->settings.has_dhcp || !dhcp_port_is_ours(port, v)) {
        port->phase = DHCP_PHASE_OFF;
        for (uint32_t i = 0; i < DHCP_FOREIGN_MAX; i++)
            port->foreign[i] = (struct dhcp_foreign){0};
        return;
    }
    if (port->phase == DHCP_PHASE_OFF)
        dhcp_start_port(port, now_ms);
    if (now_ms >= port->search_ms)
        dhcp_send_search(d, slot, now_ms, out);
    const bool is_blocked = dhcp_is_blocked(port, v);
    if (port->phase == DHCP_PHASE_STARTING && now_ms >= port->served_ms)
        port->phase = is_blocked ? DHCP_PHASE_BLOCKED : DHCP_PHASE_SERVED;
    /* The last search has just been sent and found nothing, or the setting has changed. */
    if (port->phase == DHCP_PHASE_BLOCKED && !is_blocked)
        port->phase = DHCP_PHASE_SERVED;
}

int64_t dhcp_port_deadline(const struct dhcp_port *port)
{
    if (port->phase == DHCP_PHASE_OFF)
        return INT64_MAX;
    return port->phase == DHCP_PHASE_STARTING && port->served_ms < port->search_ms
               ? port->served_ms
               : port->search_ms;
}
