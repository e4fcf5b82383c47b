/* dhcp_service.h - the sockets and timers around the DHCP engine (boot/dhcp).
 *
 * Reads packets of DHCP, ARP and ICMPv6 from the sockets of the interfaces, passes them to the
 * engine, and executes its actions: it sends packets and ARP probes itself; what concerns the
 * daemon is passed on through callbacks. The slot of an interface in the engine is its place in
 * the list.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "boot/dhcp/dhcp_engine.h"
#include "boot/server/boot_sockets.h"
#include "boot/server/boot_interfaces.h"
#include "boot/server/dhcp_pace.h"

enum { DHCP_PROBES_MAX = 1024 };

struct dhcp_service_callbacks {
    void *self;
    const struct view *(*view)(void *self);
    /* TAKE, RELEASE or DECLINE: for the daemon. False: it is not reachable. */
    bool (*lease)(void *self, const struct dhcp_action *action);
    void (*observe)(void *self, const struct dhcp_action *action);
    /* A node that boots was sent an OFFER or ACK. */
    void (*replied)(void *self, const struct dhcp_action *action);
};

/* An ARP probe without a result yet. */
struct dhcp_arp_probe {
    bool is_used;
    uint32_t slot;
    uint32_t address;
    uint64_t token;
    uint32_t sent; /* packets */
    int64_t next_ms;
};

/* A socket in the loop. */
struct dhcp_socket {
    uv_poll_t poll;
    uv_timer_t pause; /* while it runs, the socket is not polled */
    struct dhcp_pace pace;
    struct dhcp_service *service;
    uint32_t slot;
    int fd;
    bool is_open;
};

enum { DHCP_SOCKETS_OF_INTERFACE = 4 };

struct dhcp_service {
    struct dhcp engine;
    const struct interfaces *interfaces;
    const struct boot_sockets *sockets; /* one for each interface */
    struct dhcp_service_callbacks callbacks;
    struct arena arena; /* of the actions that are executed */
    uv_timer_t timer;
    struct dhcp_socket polls[BOOT_INTERFACES_MAX][DHCP_SOCKETS_OF_INTERFACE];
    struct dhcp_arp_probe *probes; /* DHCP_PROBES_MAX */
    uint32_t probe_count;
    uint64_t send_failures;
    bool is_running;
};

/* `service` must not be moved afterwards. Nothing is read before dhcp_service_start(). */
void dhcp_service_init(struct dhcp_service *s, const struct dhcp_setup *setup,
                       const struct interfaces *interfaces, const struct boot_sockets *sockets,
                       const struct dhcp_service_callbacks *callbacks);
void dhcp_service_start(struct dhcp_service *s, uv_loop_t *loop);
/* The loop must run once more after this. */
void dhcp_service_stop(struct dhcp_service *s);
void dhcp_service_fini(struct dhcp_service *s);
/* The state of an interface has changed. */
void dhcp_service_update_interface(struct dhcp_service *s, const struct interface *interface);
/* The view or the settings have changed. */
void dhcp_service_update_view(struct dhcp_service *s);
/* The daemon has answered a TAKE. */
void dhcp_service_leased(struct dhcp_service *s, uint64_t token, enum dhcp_take take);
