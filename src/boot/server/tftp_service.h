/* tftp_service.h - the sockets, files and timers around the TFTP transfers (boot/tftp).
 *
 * Requests are read from port 69 of each interface. Each transfer has a UDP socket of its own, at
 * the address to which the request was sent. The owner decides what a name is: a text
 * that is made for the machine, a file, or nothing. The number of transfers is bounded; above it
 * requests are dropped, and clients repeat them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/mem/arena.h"
#include "base/text/str.h"
#include "boot/server/boot_sockets.h"
#include "boot/server/boot_interfaces.h"
#include "boot/tftp/tftp.h"

enum { TFTP_TRANSFERS_MAX = 256, TFTP_TRANSFERS_OF_CLIENT_MAX = 8 };

enum tftp_found {
    TFTP_FOUND_TEXT,
    TFTP_FOUND_FILE,   /* it is opened below the directory of the files */
    TFTP_FOUND_NOTHING /* error 1 */
};

struct tftp_query {
    const struct interface *interface;
    uint32_t client; /* IPv4 address */
    struct str name;
};

struct tftp_service_callbacks {
    void *self;
    /* False: requests are dropped. */
    bool (*is_on)(void *self);
    /* What the name is. A text is in the arena. */
    enum tftp_found (*find)(void *self, const struct tftp_query *query, struct arena *a,
                            struct str *out_text);
    /* A transfer has ended; `sent` bytes, or it failed. */
    void (*ended)(void *self, uint32_t client, struct str name, bool is_sent, uint64_t size);
};

struct tftp_transfer;

struct tftp_listener {
    uv_poll_t poll;
    struct tftp_service *service;
    uint32_t slot;
    int fd;
    bool is_open;
};

struct tftp_service {
    uv_loop_t *loop;
    const struct interfaces *interfaces;
    int files_fd;
    struct tftp_service_callbacks callbacks;
    struct tftp_listener listeners[BOOT_INTERFACES_MAX];
    struct tftp_transfer *transfers; /* list */
    uint32_t count;
    uint64_t dropped;     /* requests above a bound */
    uint64_t send_errors; /* packets that could not be sent */
};

/* `service` must not be moved afterwards; `sockets` has one for each interface. */
void tftp_service_start(struct tftp_service *s, uv_loop_t *loop,
                        const struct interfaces *interfaces, const struct boot_sockets *sockets);
/* The loop must run once more after this. No callback follows. */
void tftp_service_stop(struct tftp_service *s);
/* The state of an interface has changed. */
void tftp_service_update_interface(struct tftp_service *s, const struct interface *interface);
