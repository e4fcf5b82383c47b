#include "boot/dhcp/dhcp_private.h"

#include <string.h>

/* The segment of a client is found by the relay (sub-option 5 of option 82, RFC 3527, or giaddr),
 * by the address of a client that renews by unicast through routers, or by the addresses of the
 * interface. Only subnets in which an admin network has a range are ours. */

enum { SUB_OPTION_LINK_SELECTION = 5 };

uint32_t dhcp_netmask(uint8_t prefix)
{
    return prefix == 0 ? 0 : prefix >= 32 ? UINT32_MAX : ~(UINT32_MAX >> prefix);
}

bool dhcp_link_has(const struct dhcp_link *link, uint32_t address, uint8_t prefix)
{
    for (uint32_t i = 0; i < link->count; i++)
        if (((link->addresses[i].address ^ address) & dhcp_netmask(prefix)) == 0)
            return true;
    return false;
}

/* The segment is the subnet of one address. */
static bool dhcp_set_remote_link(struct dhcp_work *w, uint32_t address)
{
    const struct view_range *range = view_range_of_subnet(w->v, address);
    if (!range || !w->packet->local)
        return false;
    w->link = (struct dhcp_link){.count = 1, .is_remote = true};
    w->link.addresses[0] = (struct dhcp_address){address, range->prefix};
    return true;
}

/* The relay itself must be in one of our networks too, because replies are sent to it. */
static bool dhcp_find_relayed_link(struct dhcp_work *w)
{
    const struct str selection =
        dhcp_sub_option(w->m.options[DHCP_OPTION_RELAY], SUB_OPTION_LINK_SELECTION);
    if (!view_range_of_subnet(w->v, w->m.head.giaddr))
        return false;
    if (selection.at && selection.len != 4)
        return false;
    return dhcp_set_remote_link(w, selection.at ? dhcp_read_number(selection.at, 4)
                                                : w->m.head.giaddr);
}

/* A client that renews, informs or releases sends from its address to ours, also through
 * routers. */
static bool dhcp_is_routed(const struct dhcp_work *w)
{
    const struct dhcp_packet *packet = w->packet;
    const uint32_t ciaddr = w->m.head.ciaddr;
    const bool is_unicast = packet->destination != 0 && packet->destination != DHCP_BROADCAST;
    if (w->m.type == DHCPDISCOVER || !ciaddr || packet->source != ciaddr || !is_unicast)
        return false;
    for (uint32_t i = 0; i < w->link.count; i++)
        if (dhcp_link_has(&w->link, ciaddr, w->link.addresses[i].prefix))
            return false;
    return true;
}

/* The prefix length is that of the range, so that an interface with a wrong mask does no harm. */
static void dhcp_find_port_link(struct dhcp_link *link, const struct dhcp_port *port,
                                const struct view *v)
{
    *link = (struct dhcp_link){0};
    for (uint32_t i = 0; i < port->address_count; i++) {
        const struct view_range *range = view_range_of_subnet(v, port->addresses[i].address);
        if (range)
            link->addresses[link->count++] =
                (struct dhcp_address){port->addresses[i].address, range->prefix};
    }
}

bool dhcp_find_link(struct dhcp_work *w)
{
    const struct dhcp_port *port = dhcp_port(w->d, w->packet->slot);
    if (!port)
        return false;
    if (w->m.head.giaddr)
        return dhcp_find_relayed_link(w);
    dhcp_find_port_link(&w->link, port, w->v);
    if (dhcp_is_routed(w))
        return dhcp_set_remote_link(w, w->m.head.ciaddr);
    return w->link.count > 0;
}

bool dhcp_port_is_ours(const struct dhcp_port *port, const struct view *v)
{
    struct dhcp_link link;
    dhcp_find_port_link(&link, port, v);
    return link.count > 0;
}

uint32_t dhcp_server_address(const struct dhcp_work *w, uint32_t client_address)
{
    const struct dhcp_link *link = &w->link;
    if (link->is_remote)
        return w->packet->local;
    for (uint32_t i = 0; i < link->count; i++) {
        const struct dhcp_address *own = &link->addresses[i];
        if (((own->address ^ client_address) & dhcp_netmask(own->prefix)) == 0)
            return own->address;
    }
    return link->addresses[0].address;
}

const struct boot_network_settings *dhcp_network_settings(const struct view *v, int64_t network)
{
    const struct view_network *found = view_network(v, network);
    return boot_settings_of(&v->settings, found ? found->name : STR(""));
}
