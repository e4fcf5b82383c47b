#include "boot/server/daemon_requests.h"

#include <stdlib.h>

#include "base/err.h"

/* The low bits of a number are the place in the list, so that an answer is found without a search;
 * the other bits count, so that a late answer does not end another request. */

enum { WAIT_MS = 10 * 1000, SLOT_BITS = 12 };

_Static_assert(DAEMON_REQUESTS_MAX == 1 << SLOT_BITS, "a slot has so many bits");

void daemon_requests_init(struct daemon_requests *r)
{
    *r = (struct daemon_requests){.list = calloc(DAEMON_REQUESTS_MAX, sizeof *r->list)};
    must(r->list);
}

void daemon_requests_fini(struct daemon_requests *r)
{
    free(r->list);
    *r = (struct daemon_requests){0};
}

struct daemon_request *daemon_requests_add(struct daemon_requests *r, enum daemon_request_kind kind,
                                           int64_t now_ms)
{
    if (r->count == DAEMON_REQUESTS_MAX)
        return NULL;
    while (r->list[r->next_slot].is_used)
        r->next_slot = (r->next_slot + 1) % DAEMON_REQUESTS_MAX;
    struct daemon_request *request = &r->list[r->next_slot];
    *request = (struct daemon_request){
        .is_used = true,
        .kind = kind,
        .id = ++r->serial << SLOT_BITS | (int64_t)r->next_slot,
        .ends_ms = now_ms + WAIT_MS,
    };
    r->count++;
    r->next_slot = (r->next_slot + 1) % DAEMON_REQUESTS_MAX;
    return request;
}

static void requests_remove(struct daemon_requests *r, struct daemon_request *request,
                            struct daemon_request *out_request)
{
    *out_request = *request;
    request->is_used = false;
    r->count--;
}

bool daemon_requests_end(struct daemon_requests *r, int64_t id, enum daemon_request_kind kind,
                         struct daemon_request *out_request)
{
    struct daemon_request *request = &r->list[(uint64_t)id % DAEMON_REQUESTS_MAX];
    if (!request->is_used || request->id != id || request->kind != kind)
        return false;
    requests_remove(r, request, out_request);
    return true;
}

bool daemon_requests_expire(struct daemon_requests *r, int64_t now_ms,
                            struct daemon_request *out_request)
{
    for (uint32_t i = 0; r->count && i < DAEMON_REQUESTS_MAX; i++) {
        if (!r->list[i].is_used || r->list[i].ends_ms > now_ms)
            continue;
        requests_remove(r, &r->list[i], out_request);
        return true;
    }
    return false;
}
