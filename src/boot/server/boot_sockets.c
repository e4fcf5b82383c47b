#define _GNU_SOURCE /* struct in_pktinfo */
/* boot_sockets.c - opens the sockets of an interface.
 *
 * UDP sockets are bound without SO_REUSEADDR: with it a second server could take the same port and
 * would receive our packets. The filters of the packet sockets are attached before they are bound
 * to an interface (protocol 0 receives nothing), so that no packet is queued that the filter would
 * have dropped. Failure of one socket closes those that are useless without it and leaves the
 * others. */
#include "boot/server/boot_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "boot/server/port_holder.h"

enum {
    PORT_DHCP = 67,
    PORT_DHCP_CLIENT = 68,
    PORT_TFTP = 69,
    RECEIVE_BUFFER = 1 << 20, /* bytes; bursts when a rack is switched on */
    ARP_OPERATION_AT = 6,     /* offsets in an ARP packet and in an IPv4 header */
    ARP_REPLY = 2,
    IPV4_FRAGMENT_AT = 6,
    IPV4_PROTOCOL_AT = 9,
    HOPS = 255 /* of neighbour discovery (RFC 4861) */
};

/* The packet sockets have the type SOCK_DGRAM: offsets begin after the Ethernet header. */
static const struct sock_filter arp_filter[] = {
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ARP_OPERATION_AT),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARP_REPLY, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    BPF_STMT(BPF_RET | BPF_K, 0),
};

/* UDP from port 67 to port 68 that is no later fragment. Relays send from port 67 too, to port 67:
 * without the second comparison each of their packets would be received twice. */
static const struct sock_filter foreign_filter[] = {
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, IPV4_PROTOCOL_AT),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 8),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, IPV4_FRAGMENT_AT),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, 6, 0),
    BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0), /* length of the IPv4 header */
    BPF_STMT(BPF_LD | BPF_H | BPF_IND, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PORT_DHCP, 0, 3),
    BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PORT_DHCP_CLIENT, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    BPF_STMT(BPF_RET | BPF_K, 0),
};

static void socket_close(int *fd)
{
    if (*fd >= 0)
        ignore(close(*fd), "nothing is buffered that matters");
    *fd = -1;
}

/* Returns the descriptor if `is_ready`; otherwise closes it and returns -1, with errno
 * unchanged. */
static int socket_checked(int fd, bool is_ready)
{
    const int error = errno;
    if (!is_ready)
        socket_close(&fd);
    errno = error;
    return fd;
}

static bool socket_set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

static bool socket_bind_interface(int fd, const struct interface *interface)
{
    return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface->name,
                      (socklen_t)strlen(interface->name)) == 0;
}

static bool socket_bind_v4(int fd, uint32_t address, uint16_t port)
{
    const struct sockaddr_in own = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
    return bind(fd, (const struct sockaddr *)(const void *)&own, sizeof own) == 0;
}

static int socket_open_udp(const struct interface *interface, uint16_t port, bool broadcasts)
{
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);
    if (fd < 0)
        return -1;
    ignore(!socket_set(fd, SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER), "the default is smaller");
    return socket_checked(fd, socket_bind_interface(fd, interface) &&
                                  socket_set(fd, IPPROTO_IP, IP_PKTINFO, 1) &&
                                  (!broadcasts || socket_set(fd, SOL_SOCKET, SO_BROADCAST, 1)) &&
                                  socket_bind_v4(fd, INADDR_ANY, port));
}

int boot_sockets_open_transfer(const struct interface *interface, uint32_t address)
{
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);
    if (fd < 0)
        return -1;
    return socket_checked(fd,
                          socket_bind_interface(fd, interface) && socket_bind_v4(fd, address, 0));
}

static int socket_open_packet(const struct interface *interface, uint16_t protocol,
                              const struct sock_filter *filter, size_t length)
{
    /* The kernel does not write to the filter. */
    const struct sock_fprog program = {(unsigned short)length,
                                       (struct sock_filter *)(uintptr_t)filter};
    const struct sockaddr_ll own = {.sll_family = AF_PACKET,
                                    .sll_protocol = htons(protocol),
                                    .sll_ifindex = (int)interface->index};
    const int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    return socket_checked(
        fd, setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0 &&
                bind(fd, (const struct sockaddr *)(const void *)&own, sizeof own) == 0);
}

/* Router solicitations are sent to the group of all routers (RFC 4861). */
static int socket_open_icmp6(const struct interface *interface)
{
    struct icmp6_filter filter;
    struct ipv6_mreq group = {.ipv6mr_interface = interface->index};
    ICMP6_FILTER_SETBLOCKALL(&filter);
    ICMP6_FILTER_SETPASS(ND_ROUTER_SOLICIT, &filter);
    ICMP6_FILTER_SETPASS(ND_ROUTER_ADVERT, &filter);
    if (inet_pton(AF_INET6, "ff02::2", &group.ipv6mr_multiaddr) != 1)
        impossible("it is an address");
    const int fd = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6);
    if (fd < 0)
        return -1;
    return socket_checked(
        fd, setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter) == 0 &&
                socket_bind_interface(fd, interface) &&
                socket_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)interface->index) &&
                socket_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, HOPS) &&
                socket_set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, HOPS) &&
                socket_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0) &&
                socket_set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1) &&
                socket_set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) &&
                setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &group, sizeof group) == 0);
}

/* A UDP port could not be opened; errno says why. */
static void sockets_report_port(struct findings *findings, enum boot_service service, uint16_t port,
                                const struct interface *interface)
{
    const int error = errno;
    const char *name = service == SERVICE_DHCP ? "DHCP" : "TFTP";
    if (error != EADDRINUSE) {
        findings_add(findings, service, FINDING_LIMIT,
                     "port %u on %s cannot be opened: %s; %s is not served there: start as root "
                     "or with CAP_NET_BIND_SERVICE",
                     port, interface->name, strerror(error), name);
        return;
    }
    struct arena arena = {0};
    const struct str holder = port_holder_find(&arena, false, port);
    findings_add(findings, service, FINDING_LIMIT,
                 "port %u on %s is held by %.*s; %s is not served there: stop that process or "
                 "exclude the interface from it, and restart halligan-boot",
                 port, interface->name, STR_FMT_ARGS(holder), name);
    arena_fini(&arena);
}

static void sockets_report_raw(struct findings *findings, const struct interface *interface,
                               const char *what)
{
    findings_add(findings, SERVICE_DHCP, FINDING_LIMIT,
                 "%s on %s cannot be opened: %s; DHCP is not served there: start as root or with "
                 "CAP_NET_RAW",
                 what, interface->name, strerror(errno));
}

static void sockets_open_dhcp(struct boot_sockets *s, const struct interface *interface,
                              struct findings *findings)
{
    s->dhcp = socket_open_udp(interface, PORT_DHCP, true);
    if (s->dhcp < 0) {
        sockets_report_port(findings, SERVICE_DHCP, PORT_DHCP, interface);
        return;
    }
    s->arp = socket_open_packet(interface, ETH_P_ARP, arp_filter,
                                sizeof arp_filter / sizeof arp_filter[0]);
    s->foreign = socket_open_packet(interface, ETH_P_IP, foreign_filter,
                                    sizeof foreign_filter / sizeof foreign_filter[0]);
    if (s->arp < 0 || s->foreign < 0) {
        sockets_report_raw(findings, interface, "a packet socket");
        socket_close(&s->dhcp);
        socket_close(&s->arp);
        socket_close(&s->foreign);
        return;
    }
    s->icmp6 = socket_open_icmp6(interface);
    if (s->icmp6 < 0)
        findings_add(
            findings, SERVICE_DHCP, FINDING_NOTE,
            "router advertisements cannot be sent on %s: %s; iPXE waits 15 seconds longer: "
            "enable IPv6 on the interface, or ignore this",
            interface->name, strerror(errno));
}

void boot_sockets_open(struct boot_sockets *s, const struct interface *interface,
                       const struct boot_options *options, struct findings *findings)
{
    *s = (struct boot_sockets){-1, -1, -1, -1, -1};
    if (!interface_is_served(interface))
        return;
    if (!options->no_dhcp)
        sockets_open_dhcp(s, interface, findings);
    if (options->no_tftp)
        return;
    s->tftp = socket_open_udp(interface, PORT_TFTP, false);
    if (s->tftp < 0)
        sockets_report_port(findings, SERVICE_TFTP, PORT_TFTP, interface);
}

void boot_sockets_close(struct boot_sockets *s)
{
    socket_close(&s->dhcp);
    socket_close(&s->arp);
    socket_close(&s->foreign);
    socket_close(&s->tftp);
    socket_close(&s->icmp6);
}
