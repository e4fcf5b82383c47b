/* boot_sockets.h - the sockets of each interface, opened while the process has privileges.
 *
 * Every socket is bound to one interface (SO_BINDTODEVICE), so that a packet of another interface
 * is never answered, and to no address, so that changes of addresses need no new socket. The HTTP
 * listeners are opened by boot_http.c in the same way.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "boot/server/findings.h"
#include "boot/server/boot_interfaces.h"

/* Descriptors; -1: not opened, because the service is off or its port is taken. */
struct boot_sockets {
    int dhcp; /* UDP 67, with IP_PKTINFO and broadcasts */
    int arp;  /* packet socket: ARP replies in; ARP probes and frames to hardware addresses out */
    int foreign; /* packet socket: UDP from port 67 of others, headers included */
    int tftp;    /* UDP 69, with IP_PKTINFO */
    int icmp6;   /* router solicitations and advertisements of others */
};

/* Opens the sockets of the interface at this place of the list. What fails is added to the
 * findings, with the process that holds the port. */
void boot_sockets_open(struct boot_sockets *s, const struct interface *interface,
                       const struct boot_options *options, struct findings *findings);
void boot_sockets_close(struct boot_sockets *s);

/* A UDP socket of a TFTP transfer: a free port of the address (a number in host order), bound to
 * the interface; non-blocking. -1 with errno. Needs no privilege. */
int boot_sockets_open_transfer(const struct interface *interface, uint32_t address);
