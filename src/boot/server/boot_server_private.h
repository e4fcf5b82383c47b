/* boot_server_private.h - the state of halligan-boot, shared by the files that connect its parts.
 *
 * boot_server.c owns it, opens and closes; boot_start.c finds what is missing; boot_uplink.c talks
 * to the daemon; boot_replies.c answers HTTP requests for scripts and documents.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "boot/proto/boot_proto.h"
#include "boot/script/ticket.h"
#include "boot/server/boot_counts.h"
#include "boot/server/boot_http.h"
#include "boot/server/boot_options.h"
#include "boot/server/boot_sockets.h"
#include "boot/server/daemon_link.h"
#include "boot/server/daemon_requests.h"
#include "boot/server/dhcp_service.h"
#include "boot/server/findings.h"
#include "boot/server/boot_interfaces.h"
#include "boot/server/boot_sandbox.h"
#include "boot/server/tftp_service.h"
#include "boot/server/view_feed.h"

enum { BOOT_INSTALLATION_MAX = 128 };

/* What was reported about the files of an environment. */
struct bootenv_report {
    struct bootenv_report *next;
    int64_t id;
    bool available;
};

struct boot_server {
    const struct boot_options *options;
    const char *version;
    struct findings findings;
    struct sandbox_user user;
    uv_loop_t loop;
    uv_signal_t signals[2];
    uv_timer_t second;
    uint32_t open_signals;
    struct interfaces interfaces;
    struct boot_sockets sockets[BOOT_INTERFACES_MAX];
    int files_fd; /* -1: none */
    struct boot_http http;
    bool has_dhcp; /* a socket is open for it */
    struct dhcp_service dhcp;
    struct tftp_service tftp;
    struct dhcp_file files[DHCP_FILES_MAX]; /* boot files of other architectures */
    uint32_t file_count;
    struct arena arena; /* of their names */
    /* the daemon */
    struct daemon_link *link;
    struct view_feed feed;
    struct daemon_requests requests;
    char installation[BOOT_INSTALLATION_MAX]; /* of the view; empty: none yet */
    int64_t epoch;                            /* the highest one seen */
    bool has_key, has_old_key;
    struct ticket_key key, old_key;
    struct boot_counts counts;
    uint64_t seen_dropped;            /* SEEN messages that were not sent */
    char status[BOOT_STATUS_MAX + 1]; /* the last STATUS of this connection */
    bool has_status;                  /* it was sent */
    struct bootenv_report *reports;   /* the last FILES of this connection */
    struct arena connection;          /* of HELLO and the reports */
    uint32_t watchdog_s; /* interval of the notification to the service manager; 0: none */
    uint32_t seconds;    /* since the start, for what is done from time to time */
};

/* ---- boot_start.c ---- */

/* Opens sockets, listeners and files, and finds what is missing. */
void boot_start_open(struct boot_server *s);

/* ---- boot_uplink.c ---- */

void boot_uplink_open(struct boot_server *s);
void boot_uplink_close(struct boot_server *s);
void boot_uplink_fini(struct boot_server *s);
/* Once a second: what waits too long, and what is reported from time to time. */
void boot_uplink_tick(struct boot_server *s);
/* Reports what cannot be served, if that has changed. */
void boot_uplink_send_status(struct boot_server *s);
/* Something that happened to a machine; dropped if the daemon is away. wall_ms is set here. */
void boot_uplink_see(struct boot_server *s, const struct boot_msg_seen *seen);
/* Callbacks of the DHCP engine. */
bool boot_uplink_lease(void *self, const struct dhcp_action *action);
void boot_uplink_observe(void *self, const struct dhcp_action *action);
void boot_uplink_replied(void *self, const struct dhcp_action *action);

/* ---- boot_replies.c ---- */

/* Callbacks of boot_http. */
bool boot_replies_are_on(void *self);
/* Callbacks of TFTP. */
enum tftp_found boot_replies_find(void *self, const struct tftp_query *query, struct arena *a,
                                  struct str *out_text);
void boot_replies_transferred(void *self, uint32_t client, struct str name, bool is_sent,
                              uint64_t size);
void boot_replies_serve_script(void *self, const struct interface *interface,
                               struct http_request *request);
void boot_replies_serve_document(void *self, struct http_request *request);
void boot_replies_file(void *self, const struct http_request *request, struct str path,
                       bool is_sent, uint64_t size);
void boot_replies_gone(void *self, struct http_request *request);
/* The daemon has answered a request, or does not answer (NULL). */
void boot_replies_granted(struct boot_server *s, const struct daemon_request *request,
                          const struct boot_msg_granted *granted);
void boot_replies_content(struct boot_server *s, const struct daemon_request *request,
                          const struct boot_msg_content *content);
