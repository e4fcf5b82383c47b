#define _GNU_SOURCE /* recvmmsg, struct in_pktinfo */
/* dhcp_service.c - packets in, actions out.
 *
 * A callback of a socket reads at most BATCHES batches, so that other sockets are served between
 * two; the rest is read in the next round. The packets of a batch are passed to the engine, which
 * appends actions to one list; it is executed after the batch, with replies of one interface sent
 * together. While packets arrive fast (dhcp_pace.h) the socket is read by a timer instead of the
 * poll handle, so that batches have several packets.
 *
 * A reply is sent from the address that the engine chooses (IP_PKTINFO). A reply to a client
 * without an address goes to its hardware address through the packet socket, because the kernel
 * would ask for it by ARP; if the client requested a broadcast, or the packet is larger than the
 * MTU, through the UDP socket.
 *
 * ARP probes are repeated once; without an answer after the second wait the address is free.
 *
 * Failure: a packet that cannot be sent is counted and dropped: the client repeats its request. */
#include "boot/server/dhcp_service.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "boot/dhcp/ra.h"
#include "boot/server/dhcp_packets.h"
#include "sys/clock.h"

enum {
    BATCH = 32,       /* packets of one recvmmsg(2) or sendmmsg(2) */
    BATCHES = 4,      /* of one callback */
    CONTROL = 128,    /* bytes of control messages of a packet */
    PROBE_MS = 200,   /* between two ARP probes, and after the last one */
    PROBE_PACKETS = 2 /* ARP probes of one address */
};

/* A batch of received packets. */
struct batch {
    struct mmsghdr messages[BATCH];
    struct iovec parts[BATCH];
    struct sockaddr_storage sources[BATCH];
    _Alignas(struct cmsghdr) char controls[BATCH][CONTROL];
    char bytes[BATCH][DHCP_PACKET_MAX];
};

static struct batch received; /* one thread, one callback at a time */

static void service_execute(struct dhcp_service *s, const struct dhcp_out *out);

/* ---- receiving ---- */

/* Returns the number of packets that were read. */
static uint32_t batch_receive(struct batch *b, int fd)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        b->parts[i] = (struct iovec){b->bytes[i], DHCP_PACKET_MAX};
        b->messages[i].msg_hdr = (struct msghdr){.msg_name = &b->sources[i],
                                                 .msg_namelen = sizeof b->sources[i],
                                                 .msg_iov = &b->parts[i],
                                                 .msg_iovlen = 1,
                                                 .msg_control = b->controls[i],
                                                 .msg_controllen = CONTROL};
    }
    const int n = recvmmsg(fd, b->messages, BATCH, MSG_DONTWAIT, NULL);
    return n > 0 ? (uint32_t)n : 0;
}

/* The bytes of a packet; empty if it was cut. */
static struct str batch_bytes(const struct batch *b, uint32_t i)
{
    const bool is_cut = b->messages[i].msg_hdr.msg_flags & MSG_TRUNC;
    return (struct str){b->bytes[i], is_cut ? 0 : b->messages[i].msg_len};
}

/* The control message of this type; NULL if there is none with `size` bytes. */
static const void *batch_control(struct batch *b, uint32_t i, int level, int type, size_t size)
{
    struct msghdr *header = &b->messages[i].msg_hdr;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c))
        if (c->cmsg_level == level && c->cmsg_type == type && c->cmsg_len >= CMSG_LEN(size))
            return CMSG_DATA(c);
    return NULL;
}

static void service_receive_dhcp(struct dhcp_service *s, uint32_t slot, uint32_t i,
                                 struct dhcp_out *out)
{
    struct in_pktinfo info;
    struct sockaddr_in source;
    const void *data = batch_control(&received, i, IPPROTO_IP, IP_PKTINFO, sizeof info);
    if (!data)
        return;
    memcpy(&info, data, sizeof info);
    memcpy(&source, &received.sources[i], sizeof source);
    if ((uint32_t)info.ipi_ifindex != s->interfaces->list[slot].index)
        return;
    const struct dhcp_packet packet = {
        .slot = slot,
        .bytes = batch_bytes(&received, i),
        .source = ntohl(source.sin_addr.s_addr),
        .destination = ntohl(info.ipi_addr.s_addr),
        .local = ntohl(info.ipi_spec_dst.s_addr),
        .now_ms = sys_mono_ms(),
    };
    dhcp_receive(&s->engine, s->callbacks.view(s->callbacks.self), &packet, out);
}

/* A packet of another DHCP server to a client. */
static void service_receive_foreign(struct dhcp_service *s, uint32_t slot, uint32_t i,
                                    struct dhcp_out *out)
{
    struct udp_datagram datagram;
    if (!udp_packet_read(batch_bytes(&received, i), &datagram) ||
        datagram.source_port != DHCP_SERVER_PORT || datagram.destination_port != DHCP_CLIENT_PORT)
        return;
    const struct dhcp_packet packet = {
        .slot = slot,
        .bytes = datagram.bytes,
        .source = datagram.source,
        .destination = datagram.destination,
        .local = interface_address_for(&s->interfaces->list[slot], datagram.source),
        .now_ms = sys_mono_ms(),
    };
    dhcp_receive(&s->engine, s->callbacks.view(s->callbacks.self), &packet, out);
}

static void service_receive_icmp6(struct dhcp_service *s, uint32_t slot, uint32_t i,
                                  struct dhcp_out *out)
{
    struct sockaddr_in6 source;
    int hops;
    const void *data = batch_control(&received, i, IPPROTO_IPV6, IPV6_HOPLIMIT, sizeof hops);
    if (!data)
        return;
    memcpy(&hops, data, sizeof hops);
    memcpy(&source, &received.sources[i], sizeof source);
    struct ra_packet packet = {
        .slot = slot,
        .bytes = batch_bytes(&received, i),
        .hop_limit = (uint8_t)hops,
        .now_ms = sys_mono_ms(),
    };
    memcpy(packet.source, &source.sin6_addr, sizeof packet.source);
    ra_receive(&s->engine, s->callbacks.view(s->callbacks.self), &packet, out);
}

/* ---- ARP probes ---- */

static void probe_end(struct dhcp_service *s, struct dhcp_arp_probe *probe, uint64_t mac,
                      struct dhcp_out *out)
{
    const struct dhcp_probed probed = {.token = probe->token, .mac = mac, .now_ms = sys_mono_ms()};
    probe->is_used = false;
    s->probe_count--;
    dhcp_probed(&s->engine, s->callbacks.view(s->callbacks.self), &probed, out);
}

static void probe_send(struct dhcp_service *s, struct dhcp_arp_probe *probe)
{
    const struct interface *interface = &s->interfaces->list[probe->slot];
    uint8_t bytes[ARP_PACKET_SIZE];
    struct sockaddr_ll to = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETH_P_ARP),
                             .sll_ifindex = (int)interface->index,
                             .sll_halen = 6};
    memset(to.sll_addr, 0xff, 6);
    uint64_t mac = 0;
    for (uint32_t i = 0; i < 6; i++)
        mac = mac << 8 | interface->mac[i];
    arp_probe_write(mac, probe->address, bytes);
    if (sendto(s->sockets[probe->slot].arp, bytes, sizeof bytes, 0,
               (const struct sockaddr *)(const void *)&to, sizeof to) < 0)
        s->send_failures++;
    probe->sent++;
    probe->next_ms = sys_mono_ms() + PROBE_MS;
}

static void probe_begin(struct dhcp_service *s, const struct dhcp_action *action,
                        struct dhcp_out *out)
{
    struct dhcp_arp_probe *probe = s->probes;
    while (probe < s->probes + DHCP_PROBES_MAX && probe->is_used)
        probe++;
    /* Without a free place the address counts as free: the client probes it too (RFC 2131). */
    struct dhcp_arp_probe none = {.token = action->token};
    if (probe == s->probes + DHCP_PROBES_MAX) {
        s->probe_count++;
        probe_end(s, &none, 0, out);
        return;
    }
    *probe = (struct dhcp_arp_probe){
        .is_used = true, .slot = action->slot, .address = action->address, .token = action->token};
    s->probe_count++;
    probe_send(s, probe);
}

static void service_receive_arp(struct dhcp_service *s, uint32_t slot, uint32_t i,
                                struct dhcp_out *out)
{
    uint32_t address;
    uint64_t mac;
    if (!arp_reply_read(batch_bytes(&received, i), &address, &mac))
        return;
    for (uint32_t at = 0; at < DHCP_PROBES_MAX && s->probe_count; at++) {
        struct dhcp_arp_probe *probe = &s->probes[at];
        if (probe->is_used && probe->slot == slot && probe->address == address)
            probe_end(s, probe, mac, out);
    }
}

static void probes_tick(struct dhcp_service *s, int64_t now_ms, struct dhcp_out *out)
{
    for (uint32_t i = 0; i < DHCP_PROBES_MAX && s->probe_count; i++) {
        struct dhcp_arp_probe *probe = &s->probes[i];
        if (!probe->is_used || probe->next_ms > now_ms)
            continue;
        if (probe->sent < PROBE_PACKETS)
            probe_send(s, probe);
        else
            probe_end(s, probe, 0, out);
    }
}

static int64_t probes_next_deadline(const struct dhcp_service *s)
{
    int64_t next_ms = INT64_MAX;
    for (uint32_t i = 0; i < DHCP_PROBES_MAX && s->probe_count; i++)
        if (s->probes[i].is_used && s->probes[i].next_ms < next_ms)
            next_ms = s->probes[i].next_ms;
    return next_ms;
}

/* ---- sending ---- */

/* Replies through the UDP socket of one interface. */
struct replies {
    struct mmsghdr messages[BATCH];
    struct iovec parts[BATCH];
    struct sockaddr_in to[BATCH];
    _Alignas(struct cmsghdr) char controls[BATCH][CMSG_SPACE(sizeof(struct in_pktinfo))];
    uint32_t count;
    uint32_t slot;
};

static void replies_flush(struct dhcp_service *s, struct replies *r)
{
    for (uint32_t sent = 0; sent < r->count;) {
        const int n =
            sendmmsg(s->sockets[r->slot].dhcp, r->messages + sent, r->count - sent, MSG_DONTWAIT);
        /* An error concerns the first message only. */
        if (n <= 0)
            s->send_failures++;
        sent += n > 0 ? (uint32_t)n : 1;
    }
    r->count = 0;
}

static void replies_add(struct dhcp_service *s, struct replies *r, const struct dhcp_action *action)
{
    if (r->count == BATCH || (r->count && r->slot != action->slot))
        replies_flush(s, r);
    const uint32_t i = r->count++;
    const uint32_t to = action->to == DHCP_TO_BROADCAST ? INADDR_BROADCAST : action->address;
    const struct in_pktinfo info = {
        .ipi_ifindex = (int)s->interfaces->list[action->slot].index,
        .ipi_spec_dst.s_addr = htonl(action->source),
    };
    r->slot = action->slot;
    r->to[i] = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(action->port), .sin_addr.s_addr = htonl(to)};
    r->parts[i] = (struct iovec){(void *)(uintptr_t)action->bytes.at, action->bytes.len};
    memset(r->controls[i], 0, sizeof r->controls[i]);
    r->messages[i].msg_hdr = (struct msghdr){.msg_name = &r->to[i],
                                             .msg_namelen = sizeof r->to[i],
                                             .msg_iov = &r->parts[i],
                                             .msg_iovlen = 1,
                                             .msg_control = r->controls[i],
                                             .msg_controllen = sizeof r->controls[i]};
    struct cmsghdr *control = CMSG_FIRSTHDR(&r->messages[i].msg_hdr);
    control->cmsg_level = IPPROTO_IP;
    control->cmsg_type = IP_PKTINFO;
    control->cmsg_len = CMSG_LEN(sizeof info);
    memcpy(CMSG_DATA(control), &info, sizeof info);
}

static void service_send_to_hardware(struct dhcp_service *s, const struct dhcp_action *action)
{
    uint8_t bytes[DHCP_PACKET_MAX + UDP_PACKET_OVERHEAD];
    const struct udp_datagram datagram = {
        .source = action->source,
        .destination = action->address,
        .source_port = DHCP_SERVER_PORT,
        .destination_port = action->port,
        .bytes = action->bytes,
    };
    struct sockaddr_ll to = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETH_P_IP),
                             .sll_ifindex = (int)s->interfaces->list[action->slot].index,
                             .sll_halen = 6};
    for (uint32_t i = 0; i < 6; i++)
        to.sll_addr[i] = (uint8_t)(action->mac >> (40 - 8 * i));
    const uint32_t size = udp_packet_write(&datagram, bytes);
    if (sendto(s->sockets[action->slot].arp, bytes, size, 0,
               (const struct sockaddr *)(const void *)&to, sizeof to) < 0)
        s->send_failures++;
}

static void service_send(struct dhcp_service *s, struct replies *r,
                         const struct dhcp_action *action)
{
    const struct interface *interface = &s->interfaces->list[action->slot];
    if (!interface_is_served(interface))
        return;
    if (action->to == DHCP_TO_HARDWARE && action->bytes.len <= DHCP_PACKET_MAX &&
        action->bytes.len + UDP_PACKET_OVERHEAD <= interface->mtu)
        service_send_to_hardware(s, action);
    else
        replies_add(s, r, action);
}

static void service_advertise(struct dhcp_service *s, const struct dhcp_action *action)
{
    const struct interface *interface = &s->interfaces->list[action->slot];
    const int fd = s->sockets[action->slot].icmp6;
    if (!interface_is_served(interface) || !interface->has_link_local || fd < 0)
        return;
    const struct in6_pktinfo info = {.ipi6_addr = interface->link_local,
                                     .ipi6_ifindex = interface->index};
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_scope_id = interface->index};
    memcpy(&to.sin6_addr, action->destination6, sizeof action->destination6);
    struct iovec part = {(void *)(uintptr_t)action->bytes.at, action->bytes.len};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof info)] = {0};
    struct msghdr message = {.msg_name = &to,
                             .msg_namelen = sizeof to,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = IPPROTO_IPV6;
    c->cmsg_type = IPV6_PKTINFO;
    c->cmsg_len = CMSG_LEN(sizeof info);
    memcpy(CMSG_DATA(c), &info, sizeof info);
    if (sendmsg(fd, &message, MSG_DONTWAIT) < 0)
        s->send_failures++;
}

/* ---- actions ---- */

static void service_lease(struct dhcp_service *s, const struct dhcp_action *action,
                          struct dhcp_out *out)
{
    if (s->callbacks.lease(s->callbacks.self, action) || action->kind != DHCP_TAKE)
        return;
    const struct dhcp_taken taken = {
        .token = action->token, .take = DHCP_TAKE_AWAY, .now_ms = sys_mono_ms()};
    dhcp_taken(&s->engine, s->callbacks.view(s->callbacks.self), &taken, out);
}

/* Actions that follow from an action are appended to the list, and so are executed here as well.
 * Each of them ends a probe or a request of the engine, of which there are few. */
static void service_execute(struct dhcp_service *s, const struct dhcp_out *out)
{
    struct dhcp_out more = *out;
    struct replies replies = {.count = 0};
    for (const struct dhcp_action *action = more.first; action; action = action->next) {
        switch (action->kind) {
        case DHCP_SEND:
            service_send(s, &replies, action);
            if (action->is_boot)
                s->callbacks.replied(s->callbacks.self, action);
            break;
        case DHCP_ADVERTISE: service_advertise(s, action); break;
        case DHCP_PROBE: probe_begin(s, action, &more); break;
        case DHCP_TAKE:
        case DHCP_RELEASE:
        case DHCP_DECLINE: service_lease(s, action, &more); break;
        case DHCP_OBSERVE: s->callbacks.observe(s->callbacks.self, action); break;
        case DHCP_ACTION_COUNT: impossible("no action");
        }
    }
    replies_flush(s, &replies);
}

static void service_on_timer(uv_timer_t *timer);

static void service_set_timer(struct dhcp_service *s)
{
    const int64_t engine_ms = dhcp_next_deadline(&s->engine);
    const int64_t probes_ms = probes_next_deadline(s);
    const int64_t next_ms = engine_ms < probes_ms ? engine_ms : probes_ms;
    if (next_ms == INT64_MAX) {
        must(uv_timer_stop(&s->timer) == 0);
        return;
    }
    const int64_t left_ms = next_ms - sys_mono_ms();
    uv_update_time(s->timer.loop);
    must(uv_timer_start(&s->timer, service_on_timer, left_ms > 0 ? (uint64_t)left_ms : 0, 0) == 0);
}

static struct dhcp_out service_begin(struct dhcp_service *s)
{
    arena_reset(&s->arena);
    return (struct dhcp_out){.arena = &s->arena};
}

static void service_end(struct dhcp_service *s, const struct dhcp_out *out)
{
    service_execute(s, out);
    if (s->is_running)
        service_set_timer(s);
}

static void service_tick(struct dhcp_service *s)
{
    struct dhcp_out out = service_begin(s);
    const int64_t now_ms = sys_mono_ms();
    probes_tick(s, now_ms, &out);
    dhcp_tick(&s->engine, s->callbacks.view(s->callbacks.self), now_ms, &out);
    service_end(s, &out);
}

static void service_on_timer(uv_timer_t *timer)
{
    service_tick(timer->data);
}

/* ---- the loop ---- */

typedef void receive_fn(struct dhcp_service *s, uint32_t slot, uint32_t i, struct dhcp_out *out);

static receive_fn *service_receiver(const struct dhcp_service *s, uint32_t slot, int fd)
{
    const struct boot_sockets *sockets = &s->sockets[slot];
    if (fd == sockets->dhcp)
        return service_receive_dhcp;
    if (fd == sockets->arp)
        return service_receive_arp;
    return fd == sockets->foreign ? service_receive_foreign : service_receive_icmp6;
}

/* Returns the number of packets. */
static uint32_t service_read(const struct dhcp_socket *socket)
{
    struct dhcp_service *s = socket->service;
    receive_fn *receive = service_receiver(s, socket->slot, socket->fd);
    uint32_t total = 0;
    for (uint32_t batch = 0; batch < BATCHES; batch++) {
        const uint32_t count = batch_receive(&received, socket->fd);
        struct dhcp_out out = service_begin(s);
        for (uint32_t i = 0; i < count; i++)
            receive(s, socket->slot, i, &out);
        service_end(s, &out);
        total += count;
        if (count < BATCH)
            break;
    }
    return total;
}

static void service_on_poll(uv_poll_t *poll, int status, int events);

static void service_on_pause_end(uv_timer_t *timer)
{
    struct dhcp_socket *socket = timer->data;
    const uint32_t count = service_read(socket);
    if (!socket->is_open)
        return;
    if (dhcp_pace_should_pause(&socket->pace, count, sys_mono_ms()))
        must(uv_timer_start(timer, service_on_pause_end, DHCP_PACE_MS, 0) == 0);
    else
        must(uv_poll_start(&socket->poll, UV_READABLE, service_on_poll) == 0);
}

static void service_on_poll(uv_poll_t *poll, int status, int events)
{
    struct dhcp_socket *socket = poll->data;
    const uint32_t count = service_read(socket);
    (void)events;
    /* libuv stops the handle after an error, such as ENETDOWN of a packet socket whose link is
     * down; recvmmsg() consumes the error. */
    if (socket->is_open && status < 0)
        must(uv_poll_start(poll, UV_READABLE, service_on_poll) == 0);
    if (!socket->is_open || !dhcp_pace_should_pause(&socket->pace, count, sys_mono_ms()))
        return;
    must(uv_poll_stop(poll) == 0);
    must(uv_timer_start(&socket->pause, service_on_pause_end, DHCP_PACE_MS, 0) == 0);
}

void dhcp_service_init(struct dhcp_service *s, const struct dhcp_setup *setup,
                       const struct interfaces *interfaces, const struct boot_sockets *sockets,
                       const struct dhcp_service_callbacks *callbacks)
{
    *s = (struct dhcp_service){
        .interfaces = interfaces, .sockets = sockets, .callbacks = *callbacks};
    dhcp_init(&s->engine, setup);
    s->probes = calloc(DHCP_PROBES_MAX, sizeof *s->probes);
    must(s->probes);
}

static void service_watch(struct dhcp_service *s, uv_loop_t *loop, uint32_t slot)
{
    const struct boot_sockets *sockets = &s->sockets[slot];
    const int fds[DHCP_SOCKETS_OF_INTERFACE] = {sockets->dhcp, sockets->arp, sockets->foreign,
                                                sockets->icmp6};
    for (uint32_t i = 0; i < DHCP_SOCKETS_OF_INTERFACE; i++) {
        struct dhcp_socket *socket = &s->polls[slot][i];
        if (fds[i] < 0)
            continue;
        *socket = (struct dhcp_socket){.service = s, .slot = slot, .fd = fds[i], .is_open = true};
        must(uv_poll_init(loop, &socket->poll, fds[i]) == 0);
        must(uv_timer_init(loop, &socket->pause) == 0);
        socket->poll.data = socket->pause.data = socket;
        must(uv_poll_start(&socket->poll, UV_READABLE, service_on_poll) == 0);
    }
}

void dhcp_service_start(struct dhcp_service *s, uv_loop_t *loop)
{
    must(uv_timer_init(loop, &s->timer) == 0);
    s->timer.data = s;
    s->is_running = true;
    for (uint32_t i = 0; i < s->interfaces->count; i++) {
        service_watch(s, loop, i);
        dhcp_service_update_interface(s, &s->interfaces->list[i]);
    }
}

static void service_unwatch(struct dhcp_service *s, uint32_t slot)
{
    for (uint32_t i = 0; i < DHCP_SOCKETS_OF_INTERFACE; i++)
        if (s->polls[slot][i].is_open) {
            s->polls[slot][i].is_open = false;
            uv_close((uv_handle_t *)&s->polls[slot][i].poll, NULL);
            uv_close((uv_handle_t *)&s->polls[slot][i].pause, NULL);
        }
}

void dhcp_service_stop(struct dhcp_service *s)
{
    s->is_running = false;
    for (uint32_t i = 0; i < s->interfaces->count; i++)
        service_unwatch(s, i);
    uv_close((uv_handle_t *)&s->timer, NULL);
}

void dhcp_service_fini(struct dhcp_service *s)
{
    dhcp_fini(&s->engine);
    arena_fini(&s->arena);
    free(s->probes);
}

/* ---- changes ---- */

void dhcp_service_update_interface(struct dhcp_service *s, const struct interface *interface)
{
    const uint32_t slot = (uint32_t)(interface - s->interfaces->list);
    struct dhcp_address addresses[INTERFACE_ADDRESSES_MAX];
    uint64_t mac = 0;
    if (!interface_is_served(interface) || s->sockets[slot].dhcp < 0) {
        dhcp_remove_interface(&s->engine, slot);
        service_unwatch(s, slot);
        return;
    }
    for (uint32_t i = 0; i < interface->address_count; i++)
        addresses[i] =
            (struct dhcp_address){interface->addresses[i].address, interface->addresses[i].prefix};
    for (uint32_t i = 0; i < 6; i++)
        mac = mac << 8 | interface->mac[i];
    dhcp_set_interface(&s->engine, &(struct dhcp_interface){
                                       .slot = slot,
                                       .name = str_from(interface->name),
                                       .mac = mac,
                                       .addresses = addresses,
                                       .address_count = interface->address_count,
                                       .mtu = interface->mtu,
                                       .forwards_v6 = interface->forwards_v6,
                                   });
    service_tick(s);
}

void dhcp_service_update_view(struct dhcp_service *s)
{
    service_tick(s);
}

void dhcp_service_leased(struct dhcp_service *s, uint64_t token, enum dhcp_take take)
{
    struct dhcp_out out = service_begin(s);
    const struct dhcp_taken taken = {.token = token, .take = take, .now_ms = sys_mono_ms()};
    dhcp_taken(&s->engine, s->callbacks.view(s->callbacks.self), &taken, &out);
    service_end(s, &out);
}
