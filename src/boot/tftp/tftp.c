/* tftp.c - a read session of TFTP.
 *
 * Blocks are numbered from 1 without an end here; packets carry the lower 16 bits, so the number
 * after 65535 is 0. An acknowledgement is mapped to the block with these bits that follows the last
 * acknowledged one; it counts only if that block was sent. So a number that comes late means a
 * block far ahead, and is ignored. A window is 64 blocks at most, far less than half of the
 * numbers.
 *
 * Order: an acknowledgement or a timeout sets `next`; packets are made from there when they are
 * sent. A failure of the content becomes an ERROR packet. */
#include "boot/tftp/tftp.h"

#include <string.h>

#include "base/err.h"

enum { OP_DATA = 3, OP_ACK = 4, OP_ERROR = 5, OP_OACK = 6 };

void tftp_open(struct tftp_session *session, const struct tftp_request *request,
               struct tftp_content content, uint32_t mtu)
{
    const uint32_t most =
        mtu > TFTP_HEADERS + TFTP_BLOCK_MIN ? mtu - TFTP_HEADERS : (uint32_t)TFTP_BLOCK_MIN;
    *session = (struct tftp_session){.content = content,
                                     .options = request->options,
                                     .block_size = request->block_size,
                                     .window = request->window,
                                     .timeout_ms = TFTP_TIMEOUT_MS,
                                     .next = 1};
    if (request->options & TFTP_OPTION_BLKSIZE && request->block_size > most)
        session->block_size = most;
    if (request->options & TFTP_OPTION_TIMEOUT)
        session->timeout_ms = request->timeout_s * 1000;
    session->awaits_options = session->has_packet = request->options != 0;
    session->last = content.size / session->block_size + 1;
}

/* ---- what comes ---- */

static void tftp_fail(struct tftp_session *session, enum tftp_error code, struct str message)
{
    session->state = TFTP_FAILED;
    session->refusal = (struct tftp_refusal){code, message};
    session->has_packet = message.len != 0;
}

static bool tftp_acknowledge(struct tftp_session *session, uint16_t number)
{
    if (session->awaits_options) {
        if (number != 0)
            return false;
        session->awaits_options = session->has_packet = false;
        session->tries = 0;
        return true;
    }
    const uint16_t ahead = (uint16_t)(number - (uint16_t)session->acknowledged);
    if (ahead == 0 || ahead > session->sent - session->acknowledged)
        return false;
    session->acknowledged += ahead;
    session->next = session->acknowledged + 1;
    session->tries = 0;
    if (session->acknowledged == session->last)
        session->state = TFTP_DONE;
    return true;
}

bool tftp_receive(struct tftp_session *session, struct str datagram)
{
    if (session->state != TFTP_SENDING || datagram.len < 4)
        return false;
    const uint8_t *at = (const uint8_t *)datagram.at;
    const uint32_t op = (uint32_t)at[0] << 8 | at[1];
    if (op == OP_ACK)
        return tftp_acknowledge(session, (uint16_t)(at[2] << 8 | at[3]));
    if (op == OP_ERROR)
        tftp_fail(session, TFTP_ERROR_OTHER, (struct str){"", 0}); /* no reply */
    else
        tftp_fail(session, TFTP_ERROR_OPERATION, STR("illegal TFTP operation"));
    return true;
}

void tftp_timeout(struct tftp_session *session)
{
    if (session->state != TFTP_SENDING)
        return;
    if (++session->tries >= TFTP_TRIES) {
        tftp_fail(session, TFTP_ERROR_OTHER, (struct str){"", 0});
        return;
    }
    session->has_packet = session->awaits_options;
    session->next = session->acknowledged + 1;
}

/* ---- what is sent ---- */

/* Append a text and a zero byte. */
static uint8_t *tftp_put_text(uint8_t *at, const char *text)
{
    const size_t size = strlen(text) + 1;
    memcpy(at, text, size);
    return at + size;
}

static uint8_t *tftp_put_option(uint8_t *at, const char *name, uint64_t value)
{
    char digits[21];
    uint32_t from = sizeof digits - 1;
    digits[from] = 0;
    do
        digits[--from] = (char)('0' + value % 10);
    while (value /= 10);
    return tftp_put_text(tftp_put_text(at, name), digits + from);
}

static uint32_t tftp_put_options(const struct tftp_session *session, uint8_t *buffer)
{
    uint8_t *at = buffer;
    *at++ = 0;
    *at++ = OP_OACK;
    if (session->options & TFTP_OPTION_BLKSIZE)
        at = tftp_put_option(at, "blksize", session->block_size);
    if (session->options & TFTP_OPTION_TSIZE)
        at = tftp_put_option(at, "tsize", session->content.size);
    if (session->options & TFTP_OPTION_TIMEOUT)
        at = tftp_put_option(at, "timeout", session->timeout_ms / 1000);
    if (session->options & TFTP_OPTION_WINDOWSIZE)
        at = tftp_put_option(at, "windowsize", session->window);
    return (uint32_t)(at - buffer);
}

/* 0 if the content cannot be read. */
static uint32_t tftp_put_block(struct tftp_session *session, uint8_t *buffer)
{
    const uint64_t block = session->next;
    const uint64_t offset = (block - 1) * session->block_size;
    const uint64_t left = session->content.size - offset;
    const uint32_t size = left < session->block_size ? (uint32_t)left : session->block_size;
    buffer[0] = 0;
    buffer[1] = OP_DATA;
    buffer[2] = (uint8_t)(block >> 8);
    buffer[3] = (uint8_t)block;
    if (size && !session->content.read(session->content.self, offset, buffer + 4, size))
        return 0;
    session->next++;
    if (block > session->sent)
        session->sent = block;
    return size + 4;
}

uint32_t tftp_next_packet(struct tftp_session *session, uint8_t *buffer, uint32_t size)
{
    must(size >= session->block_size + 4 && size >= TFTP_ERROR_SIZE_MAX);
    if (session->state == TFTP_SENDING && !session->awaits_options) {
        if (session->next > session->last ||
            session->next > session->acknowledged + session->window)
            return 0;
        const uint32_t used = tftp_put_block(session, buffer);
        if (used)
            return used;
        tftp_fail(session, TFTP_ERROR_OTHER, STR("the file cannot be read"));
    }
    if (!session->has_packet)
        return 0;
    session->has_packet = false;
    if (session->state == TFTP_FAILED)
        return tftp_put_error(buffer, session->refusal.code, session->refusal.message);
    return tftp_put_options(session, buffer);
}
