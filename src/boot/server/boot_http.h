/* boot_http.h - the HTTP listeners of a boot server, and the files it serves.
 *
 * There is one listener for each interface, bound to it and not to an address; or one at the
 * address of --http. Only GET and HEAD are answered. Files are answered here; requests for boot
 * scripts and for documents of the daemon are passed on, and are answered later.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "boot/server/boot_options.h"
#include "boot/server/findings.h"
#include "boot/server/boot_interfaces.h"
#include "http/http.h"

struct boot_http;

struct boot_http_listener {
    struct boot_http *owner;
    struct http_server *server;        /* NULL: not open */
    const struct interface *interface; /* NULL: at the address of --http */
};

struct boot_http_callbacks {
    void *self;
    /* False: the daemon has not switched HTTP on; requests are answered 503. */
    bool (*is_on)(void *self);
    /* /boot/... and /seed/... or /nodes/...; each request must be answered exactly once. */
    void (*boot)(void *self, const struct interface *interface, struct http_request *request);
    void (*document)(void *self, struct http_request *request);
    /* A file was requested: `size` bytes are sent, or it is missing. */
    void (*file)(void *self, const struct http_request *request, struct str path, bool is_sent,
                 uint64_t size);
    /* The client of a request that is not answered has disconnected; the request must be answered
     * here or later. */
    void (*gone)(void *self, struct http_request *request);
};

struct boot_http {
    int files_fd; /* -1: no files */
    struct boot_http_callbacks callbacks;
    struct boot_http_listener listeners[BOOT_INTERFACES_MAX];
    uint32_t listener_count;
};

/* Opens the listeners; what fails is added to the findings. `http` must not be moved. */
void boot_http_open(struct boot_http *http, uv_loop_t *loop, const struct boot_options *options,
                    const struct interfaces *interfaces, struct findings *findings);
/* Stops the listener of an interface that is lost. Requests that have begun are answered. */
void boot_http_update_interface(struct boot_http *http, const struct interface *interface);
/* Pending requests are answered 503. */
void boot_http_close(struct boot_http *http);

/* Answers with a status and a line of text. */
void boot_http_answer_text(struct http_request *request, int status, struct str text);
/* 503 with Retry-After. */
void boot_http_answer_later(struct http_request *request, struct str text);
