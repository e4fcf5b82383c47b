/* daemon_requests.h - requests to the daemon that wait for an answer.
 *
 * Each has a number, which the answer repeats. A request ends exactly once: with its answer, when
 * the connection is lost, or after a time. The owner of a request that ends by itself before that
 * (a client that disconnects) need not be notified: the entry is kept, and its end has no effect
 * there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum daemon_request_kind { REQUEST_LEASE, REQUEST_GRANT, REQUEST_DOCUMENT };

enum { DAEMON_REQUESTS_MAX = 4096 };

struct daemon_request {
    bool is_used;
    enum daemon_request_kind kind;
    int64_t id;
    int64_t ends_ms;
    uint64_t token; /* LEASE: of the DHCP engine */
    void *context;  /* the others */
};

struct daemon_requests {
    struct daemon_request *list; /* DAEMON_REQUESTS_MAX */
    uint32_t count;
    uint32_t next_slot;
    int64_t serial;
};

void daemon_requests_init(struct daemon_requests *r); /* aborts without memory */
void daemon_requests_fini(struct daemon_requests *r);
/* Adds a request, with the next number; NULL: too many wait. The pointer is valid until the request
 * is ended. */
struct daemon_request *daemon_requests_add(struct daemon_requests *r, enum daemon_request_kind kind,
                                           int64_t now_ms);
/* The request with this number and kind is answered: removes it. False: there is none. */
bool daemon_requests_end(struct daemon_requests *r, int64_t id, enum daemon_request_kind kind,
                         struct daemon_request *out_request);
/* Removes one that has waited too long (`now_ms` INT64_MAX: any). False: there is none. */
bool daemon_requests_expire(struct daemon_requests *r, int64_t now_ms,
                            struct daemon_request *out_request);
