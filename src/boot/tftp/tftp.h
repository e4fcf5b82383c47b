/* tftp.h - the server side of TFTP reads, as a state machine without sockets and clocks.
 *
 * RFC 1350 with options (RFC 2347): blksize (RFC 2348), tsize and timeout (RFC 2349), windowsize
 * (RFC 7440). The caller receives datagrams, finds the content of a name, and sends what
 * tftp_next_packet() returns, until it returns 0; it calls tftp_timeout() when no datagram has
 * made progress for `timeout_ms`. Contents are read by a callback, so files and texts that are
 * made on request are served in the same way. A session owns nothing but its struct.
 *
 * Blocks are sent again after a timeout, and when a client acknowledges a block inside of a window,
 * which means that it lacks the next one. An acknowledgement that is repeated, or late, sends
 * nothing, because otherwise one duplicated datagram would double all that follow (the "Sorcerer's
 * Apprentice" defect of RFC 783).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

enum {
    TFTP_NAME_MAX = 255,
    TFTP_BLOCK_DEFAULT = 512,
    TFTP_BLOCK_MIN = 8,
    TFTP_BLOCK_MAX = 65464,
    TFTP_WINDOW_MAX = 64,
    TFTP_HEADERS = 32, /* of IPv4, UDP and TFTP, in a packet with data */
    TFTP_ERROR_SIZE_MAX = 512,
    TFTP_TIMEOUT_MS = 1000, /* unless the client sets another */
    TFTP_TRIES = 8          /* timeouts in succession after which a session fails */
};

enum tftp_error {
    TFTP_ERROR_OTHER = 0, /* the message says what */
    TFTP_ERROR_NOT_FOUND = 1,
    TFTP_ERROR_ACCESS = 2,
    TFTP_ERROR_OPERATION = 4, /* illegal operation */
    TFTP_ERROR_OPTION = 8     /* a value of an option is impossible */
};

/* An ERROR packet in `buffer`; its size. The message is cut to fit, and bytes that are not
 * printable ASCII become question marks. */
uint32_t tftp_put_error(uint8_t buffer[TFTP_ERROR_SIZE_MAX], enum tftp_error code,
                        struct str message);

/* ---- requests ---- */

enum tftp_option {
    TFTP_OPTION_BLKSIZE = 1 << 0,
    TFTP_OPTION_TSIZE = 1 << 1,
    TFTP_OPTION_TIMEOUT = 1 << 2,
    TFTP_OPTION_WINDOWSIZE = 1 << 3
};

struct tftp_request {
    uint32_t options; /* mask of those that the client sent */
    uint32_t block_size, window, timeout_s;
    uint32_t name_len;
    char name[TFTP_NAME_MAX]; /* normalized */
};

enum tftp_parsed {
    TFTP_READ,    /* a read request */
    TFTP_REFUSED, /* reply with the error */
    TFTP_IGNORED  /* no request; no reply */
};

struct tftp_refusal {
    enum tftp_error code;
    struct str message;
};

/* Parse a datagram that came to port 69. Names are normalized: a backslash is a slash; empty
 * segments and "." are removed, ".." removes the segment before it. A name is refused if it leaves
 * the root, is empty, is longer than TFTP_NAME_MAX, or is not clean UTF-8 without control
 * characters. Sizes of blocks and windows above the bounds are lowered, as the RFCs allow; other
 * values outside of them, and an option that is repeated, are ERROR 8. Options that are not known
 * are ignored. */
enum tftp_parsed tftp_parse_request(struct str datagram, struct tftp_request *out_request,
                                    struct tftp_refusal *out_refusal);
struct str tftp_name(const struct tftp_request *request);

/* ---- sessions ---- */

struct tftp_content {
    void *self;
    uint64_t size;
    /* Copy exactly `size` bytes at `offset`, which are within the content; false if that fails. */
    bool (*read)(void *self, uint64_t offset, void *buffer, uint32_t size);
};

enum tftp_state {
    TFTP_SENDING,
    TFTP_DONE,  /* the client has everything */
    TFTP_FAILED /* the client gave up, or does not answer, or the content cannot be read */
};

struct tftp_session {
    struct tftp_content content;
    enum tftp_state state;
    uint32_t options; /* in the OACK */
    uint32_t block_size, window, timeout_ms;
    uint32_t tries;              /* timeouts since the last progress */
    bool awaits_options;         /* the OACK is not acknowledged yet */
    bool has_packet;             /* an OACK or ERROR is to be sent */
    struct tftp_refusal refusal; /* of the ERROR; the message is empty if there is none */
    uint64_t last;               /* number of the last block; the first one is 1 */
    uint64_t acknowledged;
    uint64_t next; /* block to be sent next, in this window */
    uint64_t sent; /* the highest block that was sent */
};

/* `mtu` is that of the interface to the client: no packet is larger, unless it is below 544 and
 * the client does not negotiate the block size. */
void tftp_open(struct tftp_session *session, const struct tftp_request *request,
               struct tftp_content content, uint32_t mtu);
/* True if the datagram made progress, or ended the session: set the timer again. */
bool tftp_receive(struct tftp_session *session, struct str datagram);
/* Nothing came for timeout_ms. */
void tftp_timeout(struct tftp_session *session);
/* Write the next packet that is to be sent now, and return its size; 0 if there is none. The
 * buffer has block_size + 4 bytes, at least TFTP_ERROR_SIZE_MAX. */
uint32_t tftp_next_packet(struct tftp_session *session, uint8_t *buffer, uint32_t size);
