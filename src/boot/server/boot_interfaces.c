#define _GNU_SOURCE
/* boot_interfaces.c - the state of the interfaces, as rtnetlink(7) reports it.
 *
 * At the start a dump of all links and one of all addresses are read; afterwards the same socket
 * receives the changes, because it has joined their groups before the dumps. If the kernel drops
 * messages (ENOBUFS), or a link is removed, both dumps are repeated: first the links, then the
 * addresses, as the kernel allows one dump at a time for a socket. An address list is rebuilt from
 * the beginning of a dump of addresses, so an address that was removed unnoticed disappears.
 *
 * Messages are accepted from the kernel only (port id 0), and every length in them is checked by
 * the macros of netlink(3) before it is used. */
#include "boot/server/boot_interfaces.h"

#include <errno.h>
#include <linux/ipv6.h>
#include <linux/netconf.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/log.h"

enum {
    BUFFER = 32 << 10,
    MESSAGES_MAX = 32,   /* datagrams of one callback */
    START_MS_MAX = 5000, /* time for the answer of the kernel at the start */
    MAC_LEN = 6
};

/* ---- the list ---- */

static struct interface *interfaces_by_index(struct interfaces *l, uint32_t index)
{
    for (uint32_t i = 0; index && i < l->count; i++)
        if (l->list[i].index == index && !l->list[i].is_lost)
            return &l->list[i];
    return NULL;
}

static void interfaces_notify(struct interfaces *l, const struct interface *interface)
{
    if (l->is_watched && l->changed)
        l->changed(l->self, interface);
}

static void interfaces_lose(struct interfaces *l, struct interface *interface, const char *what)
{
    interface->is_lost = true;
    interface->is_up = false;
    interface->address_count = 0;
    interface->has_link_local = false;
    log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("interface", interface->name)),
             "interface %s: it is not served until halligan-boot is restarted", what);
    interfaces_notify(l, interface);
}

/* ---- links ---- */

/* RTA_OK() for an unsigned length. RTA_NEXT() subtracts the aligned size, which for the last
 * attribute may be more than is left; it then wraps, so the aligned size is compared too. */
static bool attribute_is_whole(const struct rtattr *attribute, size_t left)
{
    return left >= sizeof *attribute && attribute->rta_len >= sizeof *attribute &&
           RTA_ALIGN((size_t)attribute->rta_len) <= left;
}

/* The payload of an attribute, if it has at least `size` bytes. */
static const void *attribute_data(const struct rtattr *attribute, size_t size)
{
    return RTA_PAYLOAD(attribute) >= size ? RTA_DATA(attribute) : NULL;
}

/* The name of a link of this message; empty if it has none. */
static void link_get_name(const struct rtattr *attribute, char out_name[IF_NAMESIZE])
{
    const size_t size = RTA_PAYLOAD(attribute);
    const size_t len = size < IF_NAMESIZE ? size : IF_NAMESIZE - 1;
    memcpy(out_name, RTA_DATA(attribute), len);
    out_name[len] = 0;
}

/* IFLA_AF_SPEC: the setting "forwarding" of IPv6, as in /proc/sys/net/ipv6/conf. */
static bool link_forwards_v6(const struct rtattr *spec)
{
    size_t left = RTA_PAYLOAD(spec);
    for (const struct rtattr *a = RTA_DATA(spec); attribute_is_whole(a, left);
         a = RTA_NEXT(a, left)) {
        if ((a->rta_type & NLA_TYPE_MASK) != AF_INET6)
            continue;
        size_t inner = RTA_PAYLOAD(a);
        for (const struct rtattr *b = RTA_DATA(a); attribute_is_whole(b, inner);
             b = RTA_NEXT(b, inner)) {
            int32_t values[DEVCONF_FORWARDING + 1];
            if (b->rta_type != IFLA_INET6_CONF || RTA_PAYLOAD(b) < sizeof values)
                continue;
            memcpy(values, RTA_DATA(b), sizeof values);
            return values[DEVCONF_FORWARDING] != 0;
        }
    }
    return false;
}

static void link_update(struct interfaces *l, struct interface *i, const struct ifinfomsg *link,
                        const struct interface *found)
{
    const bool was_up = i->is_up, did_forward = i->forwards_v6;
    /* Messages about a change of another kind may lack it. */
    if (found->forwards_v6)
        i->forwards_v6 = true;
    i->was_seen = true;
    i->is_up = (link->ifi_flags & IFF_UP) && (link->ifi_flags & IFF_RUNNING);
    i->is_ethernet = link->ifi_type == ARPHRD_ETHER && found->is_ethernet;
    memcpy(i->mac, found->mac, sizeof i->mac);
    i->mtu = found->mtu;
    if (was_up == i->is_up && did_forward == i->forwards_v6)
        return;
    if (l->is_watched && was_up != i->is_up)
        log_with(LOG_NOTICE, LOG_FIELDS(LOG_Z("interface", i->name)), "interface is %s",
                 i->is_up ? "up" : "down");
    interfaces_notify(l, i);
}

/* A link with one of our names: at the start its index is recorded. */
static void link_take(struct interfaces *l, const struct ifinfomsg *link,
                      const struct interface *found)
{
    const uint32_t index = (uint32_t)link->ifi_index;
    for (uint32_t i = 0; i < l->count; i++) {
        struct interface *mine = &l->list[i];
        const bool is_same_name = strcmp(mine->name, found->name) == 0;
        if (!l->is_watched && is_same_name && mine->index == 0)
            mine->index = index;
        if (mine->index == 0 || mine->is_lost)
            continue;
        if (mine->index == index && !is_same_name)
            interfaces_lose(l, mine, "was renamed");
        else if (mine->index == index)
            link_update(l, mine, link, found);
        else if (is_same_name)
            interfaces_lose(l, mine, "was replaced");
    }
}

static void link_read(struct interfaces *l, const struct nlmsghdr *message)
{
    struct interface found = {0};
    if (message->nlmsg_len < NLMSG_LENGTH(sizeof(struct ifinfomsg)))
        return;
    const struct ifinfomsg *link = NLMSG_DATA(message);
    /* Ports of a bridge are also reported by the bridge, without the flags of the link. */
    if (link->ifi_family != AF_UNSPEC)
        return;
    size_t left = IFLA_PAYLOAD(message);
    for (const struct rtattr *a = IFLA_RTA(link); attribute_is_whole(a, left);
         a = RTA_NEXT(a, left)) {
        const void *data;
        if (a->rta_type == IFLA_IFNAME)
            link_get_name(a, found.name);
        if (a->rta_type == IFLA_ADDRESS && RTA_PAYLOAD(a) == MAC_LEN) {
            memcpy(found.mac, RTA_DATA(a), MAC_LEN);
            found.is_ethernet = true;
        }
        if ((a->rta_type & NLA_TYPE_MASK) == IFLA_AF_SPEC)
            found.forwards_v6 = link_forwards_v6(a);
        if (a->rta_type == IFLA_MTU && (data = attribute_data(a, sizeof found.mtu)))
            memcpy(&found.mtu, data, sizeof found.mtu);
    }
    if (message->nlmsg_type == RTM_NEWLINK) {
        link_take(l, link, &found);
        return;
    }
    struct interface *mine = interfaces_by_index(l, (uint32_t)link->ifi_index);
    if (mine)
        interfaces_lose(l, mine, "was removed");
}

/* ---- addresses ---- */

static bool interface_remove_address(struct interface *i, uint32_t address)
{
    for (uint32_t at = 0; at < i->address_count; at++) {
        if (i->addresses[at].address != address)
            continue;
        memmove(&i->addresses[at], &i->addresses[at + 1],
                (i->address_count - at - 1) * sizeof i->addresses[0]);
        i->address_count--;
        return true;
    }
    return false;
}

/* The order is that of the kernel: its first address is the primary one. */
static bool interface_add_address(struct interface *i, uint32_t address, uint8_t prefix)
{
    for (uint32_t at = 0; at < i->address_count; at++) {
        if (i->addresses[at].address != address)
            continue;
        const bool is_changed = i->addresses[at].prefix != prefix;
        i->addresses[at].prefix = prefix;
        return is_changed;
    }
    if (i->address_count == INTERFACE_ADDRESSES_MAX || prefix > 32)
        return false;
    i->addresses[i->address_count++] = (struct interface_address){address, prefix};
    return true;
}

static bool interface_take_address(struct interface *i, const struct ifaddrmsg *message,
                                   const void *data, bool is_new)
{
    if (message->ifa_family == AF_INET) {
        uint32_t number;
        memcpy(&number, data, sizeof number);
        number = ntohl(number);
        return is_new ? interface_add_address(i, number, message->ifa_prefixlen)
                      : interface_remove_address(i, number);
    }
    struct in6_addr v6;
    memcpy(&v6, data, sizeof v6);
    if (!IN6_IS_ADDR_LINKLOCAL(&v6) || (message->ifa_flags & IFA_F_TENTATIVE))
        return false;
    const bool had = i->has_link_local;
    if (is_new || IN6_ARE_ADDR_EQUAL(&v6, &i->link_local))
        i->has_link_local = is_new;
    i->link_local = v6;
    return had != i->has_link_local;
}

static void address_read(struct interfaces *l, const struct nlmsghdr *message)
{
    if (message->nlmsg_len < NLMSG_LENGTH(sizeof(struct ifaddrmsg)))
        return;
    const struct ifaddrmsg *address = NLMSG_DATA(message);
    struct interface *mine = interfaces_by_index(l, address->ifa_index);
    const bool is_v4 = address->ifa_family == AF_INET;
    const size_t size = is_v4 ? 4 : 16;
    const void *data = NULL;
    if (!mine || (!is_v4 && address->ifa_family != AF_INET6))
        return;
    size_t left = IFA_PAYLOAD(message);
    for (const struct rtattr *a = IFA_RTA(address); attribute_is_whole(a, left);
         a = RTA_NEXT(a, left)) {
        /* IFA_LOCAL is the own address also on a point-to-point link. */
        if (a->rta_type == IFA_LOCAL || (a->rta_type == IFA_ADDRESS && !data))
            data = attribute_data(a, size);
    }
    if (data && interface_take_address(mine, address, data, message->nlmsg_type == RTM_NEWADDR))
        interfaces_notify(l, mine);
}

/* ---- forwarding ---- */

static void netconf_read(struct interfaces *l, const struct nlmsghdr *message)
{
    int32_t index = 0, forwarding = -1;
    const void *data;
    if (message->nlmsg_len < NLMSG_LENGTH(sizeof(struct netconfmsg)))
        return;
    const struct netconfmsg *conf = NLMSG_DATA(message);
    const size_t head = NLMSG_SPACE(sizeof *conf);
    size_t left = message->nlmsg_len > head ? message->nlmsg_len - head : 0;
    const char *first = (const char *)conf + NLMSG_ALIGN(sizeof *conf);
    if (conf->ncm_family != AF_INET6)
        return;
    for (const struct rtattr *a = (const struct rtattr *)(const void *)first;
         attribute_is_whole(a, left); a = RTA_NEXT(a, left)) {
        if (a->rta_type == NETCONFA_IFINDEX && (data = attribute_data(a, sizeof index)))
            memcpy(&index, data, sizeof index);
        if (a->rta_type == NETCONFA_FORWARDING && (data = attribute_data(a, sizeof forwarding)))
            memcpy(&forwarding, data, sizeof forwarding);
    }
    struct interface *mine = index > 0 ? interfaces_by_index(l, (uint32_t)index) : NULL;
    if (!mine || forwarding < 0 || mine->forwards_v6 == (forwarding != 0))
        return;
    mine->forwards_v6 = forwarding != 0;
    interfaces_notify(l, mine);
}

/* ---- dumps ---- */

static bool interfaces_request(struct interfaces *l, uint16_t type)
{
    struct {
        struct nlmsghdr head;
        struct rtgenmsg body;
    } request = {
        .head = {.nlmsg_len = NLMSG_LENGTH(sizeof request.body),
                 .nlmsg_type = type,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                 .nlmsg_seq = ++l->sequence},
        .body = {.rtgen_family = AF_UNSPEC},
    };
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    const ssize_t n = sendto(l->fd, &request, request.head.nlmsg_len, 0,
                             (const struct sockaddr *)(const void *)&kernel, sizeof kernel);
    return n == (ssize_t)request.head.nlmsg_len;
}

static void interfaces_begin_dump(struct interfaces *l)
{
    l->dump_is_stale = false;
    for (uint32_t i = 0; i < l->count; i++)
        l->list[i].was_seen = false;
    l->dump = interfaces_request(l, RTM_GETLINK) ? INTERFACES_LINKS : INTERFACES_IDLE;
}

/* The links are complete: a link that is not among them was removed while messages were lost. */
static void interfaces_end_links(struct interfaces *l)
{
    for (uint32_t i = 0; i < l->count; i++) {
        struct interface *mine = &l->list[i];
        if (mine->index && !mine->is_lost && !mine->was_seen)
            interfaces_lose(l, mine, "was removed");
        mine->address_count = 0;
    }
    l->dump = interfaces_request(l, RTM_GETADDR) ? INTERFACES_ADDRESSES : INTERFACES_IDLE;
}

static void interfaces_end_dump(struct interfaces *l)
{
    if (l->dump_is_stale) {
        interfaces_begin_dump(l);
        return;
    }
    if (l->dump == INTERFACES_LINKS) {
        interfaces_end_links(l);
        return;
    }
    l->dump = INTERFACES_IDLE;
    for (uint32_t i = 0; i < l->count; i++)
        interfaces_notify(l, &l->list[i]);
}

static void interfaces_read_message(struct interfaces *l, const struct nlmsghdr *message)
{
    switch (message->nlmsg_type) {
    case NLMSG_DONE:
    case NLMSG_ERROR:
        if (message->nlmsg_seq == l->sequence && l->dump != INTERFACES_IDLE)
            interfaces_end_dump(l);
        break;
    case RTM_NEWLINK:
    case RTM_DELLINK: link_read(l, message); break;
    case RTM_NEWADDR:
    case RTM_DELADDR: address_read(l, message); break;
    case RTM_NEWNETCONF: netconf_read(l, message); break;
    default: break;
    }
}

/* Reads one datagram. False with errno: there is none. */
static bool interfaces_receive(struct interfaces *l)
{
    static _Alignas(struct nlmsghdr) char buffer[BUFFER];
    struct sockaddr_nl from = {0};
    struct iovec part = {buffer, sizeof buffer};
    struct msghdr header = {
        .msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &part, .msg_iovlen = 1};
    const ssize_t n = recvmsg(l->fd, &header, MSG_DONTWAIT);
    if (n < 0)
        return false;
    if (from.nl_pid != 0 || (header.msg_flags & MSG_TRUNC))
        return true;
    size_t left = (size_t)n;
    for (const struct nlmsghdr *m = (const struct nlmsghdr *)(const void *)buffer;
         NLMSG_OK(m, left); m = NLMSG_NEXT(m, left))
        interfaces_read_message(l, m);
    return true;
}

/* ---- open, watch, close ---- */

static bool interfaces_open_socket(struct interfaces *l)
{
    const struct sockaddr_nl own = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
    };
    const int netconf = RTNLGRP_IPV6_NETCONF; /* above the groups that bind() can name */
    l->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    return l->fd >= 0 &&
           bind(l->fd, (const struct sockaddr *)(const void *)&own, sizeof own) == 0 &&
           setsockopt(l->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &netconf, sizeof netconf) == 0;
}

bool interfaces_open(struct interfaces *l, const struct boot_options *options)
{
    *l = (struct interfaces){.fd = -1, .count = options->interface_count};
    for (uint32_t i = 0; i < l->count; i++)
        memcpy(l->list[i].name, options->interfaces[i], IF_NAMESIZE);
    if (!interfaces_open_socket(l))
        return false;
    interfaces_begin_dump(l);
    while (l->dump != INTERFACES_IDLE) {
        struct pollfd ready = {.fd = l->fd, .events = POLLIN};
        if (poll(&ready, 1, START_MS_MAX) <= 0) {
            errno = ETIMEDOUT;
            return false;
        }
        if (!interfaces_receive(l) && errno != EAGAIN && errno != EINTR)
            return false;
    }
    return true;
}

void interfaces_close(struct interfaces *l)
{
    if (l->is_watched)
        uv_close((uv_handle_t *)&l->poll, NULL);
    l->is_watched = false;
    if (l->fd >= 0)
        ignore(close(l->fd), "it was only read");
    l->fd = -1;
}

static void interfaces_on_poll(uv_poll_t *poll, int status, int events)
{
    struct interfaces *l = poll->data;
    (void)events;
    /* libuv stops the handle after an error, which is ENOBUFS if messages were lost; recvmsg()
     * consumes the error. */
    if (status < 0)
        must(uv_poll_start(poll, UV_READABLE, interfaces_on_poll) == 0);
    for (int i = 0; i < MESSAGES_MAX; i++) {
        if (interfaces_receive(l) || errno == EINTR)
            continue;
        if (errno != ENOBUFS)
            return;
        if (l->dump == INTERFACES_IDLE)
            interfaces_begin_dump(l);
        else
            l->dump_is_stale = true;
    }
}

void interfaces_watch(struct interfaces *l, uv_loop_t *loop,
                      void (*changed)(void *self, const struct interface *interface), void *self)
{
    l->changed = changed;
    l->self = self;
    must(uv_poll_init(loop, &l->poll, l->fd) == 0);
    l->poll.data = l;
    l->is_watched = true;
    must(uv_poll_start(&l->poll, UV_READABLE, interfaces_on_poll) == 0);
}

/* ---- lookups ---- */

bool interface_is_served(const struct interface *interface)
{
    return interface->index && !interface->is_lost;
}

/* The place of an address in the subnet of `peer`; the count if there is none. */
static uint32_t interface_find_subnet(const struct interface *interface, uint32_t peer)
{
    uint32_t i = 0;
    for (; i < interface->address_count; i++) {
        const struct interface_address *a = &interface->addresses[i];
        const uint32_t mask = a->prefix == 0 ? 0 : UINT32_MAX << (32 - a->prefix);
        if (((a->address ^ peer) & mask) == 0)
            break;
    }
    return i;
}

bool interface_has_subnet(const struct interface *interface, uint32_t peer)
{
    return interface_find_subnet(interface, peer) < interface->address_count;
}

uint32_t interface_address_for(const struct interface *interface, uint32_t peer)
{
    const uint32_t i = interface_find_subnet(interface, peer);
    if (interface->address_count == 0)
        return 0;
    return interface->addresses[i < interface->address_count ? i : 0].address;
}
