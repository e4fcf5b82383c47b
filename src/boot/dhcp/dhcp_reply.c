#include "boot/dhcp/dhcp_private.h"

#include <string.h>

#include "base/net/ip.h"

/* Replies. Options are written in the order of their importance, because a client may accept 576
 * bytes only: first what makes it a reply to this client, then what the client needs to boot, then
 * the parameters in the order of its option 55. What does not fit is left out, shorter options
 * after it may still fit. The relay option is the last one, and its room is reserved. */

enum { SIZE_MAX_ETHERNET = 1500, SUB_OPTION_NO_PXEDHCP = 176 };

struct reply {
    struct dhcp_work *w;
    const struct dhcp_binding *binding;
    const struct boot_network_settings *settings;
    struct dhcp_writer writer;
    uint32_t server;
};

/* ---- where it goes ---- */

static void dhcp_add_send(struct dhcp_work *w, struct str bytes, uint32_t server)
{
    struct dhcp_action *action = dhcp_add_action(w->out, DHCP_SEND, w->packet->slot);
    action->bytes = bytes;
    action->source = server;
    action->mac = w->mac;
    action->port = DHCP_CLIENT_PORT;
    action->to = DHCP_TO_ADDRESS;
    const struct dhcp_head *head = &w->m.head;
    const uint32_t yiaddr = dhcp_read_number(bytes.at + 16, 4);
    if (head->giaddr) {
        action->address = head->giaddr;
        action->port = DHCP_SERVER_PORT;
    } else if (head->ciaddr && (yiaddr == head->ciaddr || w->m.type == DHCPINFORM)) {
        action->address = head->ciaddr;
    } else if (!yiaddr || head->flags & DHCP_FLAG_BROADCAST) {
        action->to = DHCP_TO_BROADCAST;
        action->address = DHCP_BROADCAST;
    } else {
        action->to = DHCP_TO_HARDWARE;
        action->address = yiaddr;
    }
}

/* Option 57 and the MTU bound the datagram, of which IP and UDP have headers. */
static uint32_t dhcp_size_max(struct dhcp_work *w)
{
    const struct dhcp_port *port = dhcp_port(w->d, w->packet->slot);
    const uint32_t mtu = port && port->mtu ? port->mtu : SIZE_MAX_ETHERNET;
    uint32_t size = dhcp_get_number(&w->m, DHCP_OPTION_MAX_SIZE);
    size = size < mtu ? size : mtu;
    size = size > DHCP_DATAGRAM_MIN ? size : DHCP_DATAGRAM_MIN;
    return size - DHCP_IP_UDP_SIZE;
}

static struct dhcp_writer dhcp_begin_reply(struct dhcp_work *w, const struct dhcp_head *head)
{
    return dhcp_begin(w->a, head, dhcp_size_max(w),
                      dhcp_finish_size(w->m.options[DHCP_OPTION_RELAY]));
}

/* The options of the client that a reply repeats: the client id (RFC 6842), and the machine id. */
static void dhcp_put_echoes(struct dhcp_work *w, struct dhcp_writer *writer)
{
    static const enum dhcp_option echoes[] = {DHCP_OPTION_CLIENT_ID, DHCP_OPTION_MACHINE_ID};
    for (uint32_t i = 0; i < sizeof echoes / sizeof *echoes; i++)
        if (dhcp_has(&w->m, echoes[i]))
            dhcp_put_option(writer, echoes[i], w->m.options[echoes[i]]);
}

/* ---- parameters ---- */

static void dhcp_put_addresses(struct reply *r, enum dhcp_option code, const uint32_t *addresses,
                               uint32_t count)
{
    uint8_t bytes[4 * NAMESERVERS_MAX];
    if (count > NAMESERVERS_MAX)
        count = NAMESERVERS_MAX;
    for (uint32_t i = 0; i < count; i++)
        dhcp_write_number(bytes + 4 * i, addresses[i], 4);
    if (count)
        dhcp_put_option(&r->writer, code, (struct str){(const char *)bytes, 4 * count});
}

/* The domain of the network, else that of the name of the machine. */
static struct str dhcp_domain(const struct reply *r)
{
    const struct str name = r->w->machine.name;
    if (r->settings->domain.len || !r->w->node)
        return r->settings->domain;
    return str_slice(name, str_find(name, '.', 0) + 1, name.len);
}

/* The first label if the domain is the rest of the name, else the whole name. */
static struct str dhcp_host_name(const struct reply *r)
{
    const struct str name = r->w->node ? r->w->machine.name : STR("");
    const uint32_t dot = str_find(name, '.', 0);
    const struct str rest = str_slice(name, dot + 1, name.len);
    return dot < name.len && str_eq_nocase(rest, dhcp_domain(r)) ? str_slice(name, 0, dot) : name;
}

/* The router of the network, if it is in the subnet of the client; 0 = none. */
static uint32_t dhcp_router(const struct reply *r)
{
    const struct view_router *router = view_router(r->w->v, r->binding->network);
    const uint32_t mask = dhcp_netmask(r->binding->prefix);
    return router && ((router->address ^ r->binding->address) & mask) == 0 ? router->address : 0;
}

static void dhcp_put_text(struct reply *r, enum dhcp_option code, struct str text)
{
    if (text.len)
        dhcp_put_option(&r->writer, code, text);
}

/* A default route; clients that accept option 121 ignore option 3 (RFC 3442). */
static void dhcp_put_routes(struct reply *r)
{
    uint8_t route[5] = {0};
    const uint32_t router = dhcp_router(r);
    dhcp_write_number(route + 1, router, 4);
    if (router)
        dhcp_put_option(&r->writer, DHCP_OPTION_ROUTES,
                        (struct str){(const char *)route, sizeof route});
}

/* Codes that nothing is configured for are ignored. */
static void dhcp_put_parameter(struct reply *r, uint8_t code)
{
    const struct boot_network_settings *settings = r->settings;
    const uint32_t mask = dhcp_netmask(r->binding->prefix);
    const uint32_t router = dhcp_router(r);
    switch (code) {
    case DHCP_OPTION_ROUTERS:
        dhcp_put_addresses(r, DHCP_OPTION_ROUTERS, &router, router != 0);
        break;
    case DHCP_OPTION_NAMESERVERS:
        dhcp_put_addresses(r, DHCP_OPTION_NAMESERVERS, settings->nameservers,
                           settings->nameserver_count);
        break;
    case DHCP_OPTION_HOST_NAME: dhcp_put_text(r, DHCP_OPTION_HOST_NAME, dhcp_host_name(r)); break;
    case DHCP_OPTION_DOMAIN: dhcp_put_text(r, DHCP_OPTION_DOMAIN, dhcp_domain(r)); break;
    case DHCP_OPTION_MTU:
        if (settings->mtu && settings->mtu <= UINT16_MAX)
            dhcp_put_number(&r->writer, DHCP_OPTION_MTU, settings->mtu, 2);
        break;
    case DHCP_OPTION_BROADCAST:
        if (r->binding->prefix < 31)
            dhcp_put_number(&r->writer, DHCP_OPTION_BROADCAST, r->binding->address | ~mask, 4);
        break;
    case DHCP_OPTION_TIMESERVERS:
        dhcp_put_addresses(r, DHCP_OPTION_TIMESERVERS, settings->timeservers,
                           settings->timeserver_count);
        break;
    case DHCP_OPTION_SEARCH:
        dhcp_put_text(r, DHCP_OPTION_SEARCH, dhcp_encode_domain(r->w->a, dhcp_domain(r)));
        break;
    case DHCP_OPTION_ROUTES: dhcp_put_routes(r); break;
    default: break;
    }
}

/* A client without option 55 gets what all clients accept. */
static void dhcp_put_parameters(struct reply *r)
{
    static const char usual[] = {
        DHCP_OPTION_ROUTERS, DHCP_OPTION_NAMESERVERS, DHCP_OPTION_HOST_NAME,  DHCP_OPTION_DOMAIN,
        DHCP_OPTION_MTU,     DHCP_OPTION_BROADCAST,   DHCP_OPTION_TIMESERVERS};
    const struct str asked = r->w->m.options[DHCP_OPTION_PARAMETERS];
    const struct str codes = asked.len ? asked : (struct str){usual, sizeof usual};
    for (uint32_t i = 0; i < codes.len; i++)
        dhcp_put_parameter(r, (uint8_t)codes.at[i]);
}

static void dhcp_put_boot(struct reply *r, const struct dhcp_boot *boot)
{
    static const char no_pxedhcp[] = {(char)SUB_OPTION_NO_PXEDHCP, 1, 1};
    if (boot->file.len) {
        dhcp_put_option(&r->writer, DHCP_OPTION_BOOT_FILE, boot->file);
        if (boot->is_http)
            dhcp_put_option(&r->writer, DHCP_OPTION_CLASS, STR("HTTPClient"));
    }
    if (boot->is_ipxe)
        dhcp_put_option(&r->writer, DHCP_OPTION_IPXE, (struct str){no_pxedhcp, sizeof no_pxedhcp});
    if (boot->file.len)
        dhcp_put_option(&r->writer, DHCP_OPTION_BOOT_SERVER,
                        ip_format_address(r->w->a, ip_from_v4(r->server)));
}

/* What the operator reads about the boot of a node. A URL has a ticket, so it is not repeated. */
static void dhcp_describe_send(const struct dhcp_work *w, enum dhcp_message_type type,
                               const struct dhcp_binding *binding, const struct dhcp_boot *boot)
{
    struct dhcp_action *action = w->out->last;
    if (!w->node || !w->client.is_boot)
        return;
    action->is_boot = true;
    action->is_ack = type == DHCPACK;
    action->node = w->node;
    action->offered = binding->address;
    action->boot_file = boot->is_ipxe && boot->file.len ? STR("script") : boot->file;
}

/* ---- messages ---- */

/* Times of T1 and T2 as in RFC 2131, 4.4.5. */
static void dhcp_put_times(struct reply *r)
{
    const uint32_t lease_s = r->binding->lease_s;
    if (!lease_s)
        return;
    dhcp_put_number(&r->writer, DHCP_OPTION_LEASE_TIME, lease_s, 4);
    dhcp_put_number(&r->writer, DHCP_OPTION_T1, lease_s / 2, 4);
    dhcp_put_number(&r->writer, DHCP_OPTION_T2, (uint32_t)((uint64_t)lease_s * 7 / 8), 4);
}

void dhcp_send_reply(struct dhcp_work *w, enum dhcp_message_type type,
                     const struct dhcp_binding *binding)
{
    const uint32_t server = dhcp_server_address(w, binding->address);
    const struct dhcp_boot boot = dhcp_find_boot(w, server, binding->network);
    const bool fits_field = boot.file.len < DHCP_FILE_SIZE;
    const struct dhcp_head head = {.op = 2,
                                   .flags = w->m.head.flags,
                                   .xid = w->m.head.xid,
                                   .ciaddr = type == DHCPACK ? w->m.head.ciaddr : 0,
                                   .yiaddr = binding->lease_s ? binding->address : 0,
                                   .siaddr = boot.file.len ? server : 0,
                                   .giaddr = w->m.head.giaddr,
                                   .mac = w->mac,
                                   .file = fits_field ? boot.file : STR("")};
    struct reply r = {.w = w,
                      .binding = binding,
                      .settings = dhcp_network_settings(w->v, binding->network),
                      .writer = dhcp_begin_reply(w, &head),
                      .server = server};
    dhcp_put_number(&r.writer, DHCP_OPTION_TYPE, type, 1);
    dhcp_put_number(&r.writer, DHCP_OPTION_SERVER, server, 4);
    dhcp_put_times(&r);
    dhcp_put_number(&r.writer, DHCP_OPTION_SUBNET_MASK, dhcp_netmask(binding->prefix), 4);
    dhcp_put_echoes(w, &r.writer);
    dhcp_put_boot(&r, &boot);
    dhcp_put_parameters(&r);
    dhcp_add_send(w, dhcp_finish(&r.writer, w->m.options[DHCP_OPTION_RELAY]), server);
    dhcp_describe_send(w, type, binding, &boot);
}

/* Through a relay the broadcast flag is set, so that the relay does not send to an address that the
 * client does not have (RFC 2131, 4.3.2). */
void dhcp_send_nak(struct dhcp_work *w)
{
    const uint32_t server = dhcp_server_address(w, 0);
    const struct dhcp_head head = {.op = 2,
                                   .flags = (uint16_t)(w->m.head.flags | DHCP_FLAG_BROADCAST),
                                   .xid = w->m.head.xid,
                                   .giaddr = w->m.head.giaddr,
                                   .mac = w->mac};
    struct dhcp_writer writer = dhcp_begin_reply(w, &head);
    dhcp_put_number(&writer, DHCP_OPTION_TYPE, DHCPNAK, 1);
    dhcp_put_number(&writer, DHCP_OPTION_SERVER, server, 4);
    dhcp_put_echoes(w, &writer);
    dhcp_add_send(w, dhcp_finish(&writer, w->m.options[DHCP_OPTION_RELAY]), server);
}
