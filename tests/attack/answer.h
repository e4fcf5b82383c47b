/* answer.h - reads HTTP/1.1 answers strictly and says what is wrong with them.
 *
 * The bytes of one connection are fed in pieces of any size. An answer is well-formed when its
 * status line, fields and framing obey RFC 9112, its status is one that docs/api.md or the HTTP
 * library documents, and a JSON body parses; an error in JSON also carries its own status and a
 * code. A 500 is never well-formed here: nothing in a campaign makes a write's outcome unknown.
 *
 * One defect of libmicrohttpd 0.9.75 is accepted and counted: to a Content-Length that is not a
 * number or too large it sends the head of its own error page twice, then the page, and closes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

enum {
    ANSWER_HEAD_MAX = 16384,
    ANSWER_KEPT_MAX = 16384,
    ANSWER_STATUS_MAX = 600,
    ANSWER_PAGE_HEAD_MAX = 512
};

enum answer_state {
    ANSWER_HEAD,
    ANSWER_BODY,
    ANSWER_CHUNK_SIZE,
    ANSWER_CHUNK_DATA,
    ANSWER_CHUNK_END,
    ANSWER_TRAILER,
    ANSWER_UNTIL_CLOSE,
};

struct veto_reply {
    enum answer_state state;
    char
        head[ANSWER_HEAD_MAX]; /* a head, a chunk's size or a trailer line while it is incomplete */
    uint32_t head_len;
    uint64_t remaining;
    int status;
    bool is_json;
    bool has_no_body; /* what is read answers a HEAD */
    bool may_be_head; /* the session ends with a HEAD: its answer may be any, when requests merge */
    char kept[ANSWER_KEPT_MAX];
    uint32_t kept_len;
    bool is_kept_whole;
    char page_head[ANSWER_PAGE_HEAD_MAX]; /* of an error page of the library, else empty */
    uint32_t page_head_len;
    uint32_t doubled;  /* heads that came twice */
    uint32_t finished; /* final answers, complete */
    int last_status;
};

void answer_init(struct veto_reply *r);
/* NULL, or what is wrong. `statuses` counts complete answers by status. */
const char *answer_feed(struct veto_reply *r, const char *bytes, uint32_t len, uint64_t *statuses);
/* The peer closed: NULL, or what is wrong with an end here. */
const char *answer_end(struct veto_reply *r, uint64_t *statuses);
bool answer_is_between(const struct veto_reply *r); /* no part of a further answer has come */
