/* Goal: no request and no dialog makes the TFTP server read outside of a content, leave the root of
 * its names, or send more than its bounds. Method: the input is parsed as a request; the rest of
 * it is a list of datagrams and timeouts for the session. Names are compared with a naive
 * normalization; every packet is within its bounds and has the bytes of the content; an event
 * sends a window at most, and only one that made progress or was a timeout. */
#include <stdlib.h>
#include <string.h>

#include "boot/tftp/tftp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* ---- names ---- */

static void check_name(struct str name)
{
    uint32_t from = 0;
    check(name.len > 0 && name.len <= TFTP_NAME_MAX && str_is_clean(name));
    for (uint32_t i = 0; i <= name.len; i++) {
        if (i < name.len && name.at[i] != '/') {
            check((uint8_t)name.at[i] >= ' ' && name.at[i] != 0x7f && name.at[i] != '\\');
            continue;
        }
        const struct str segment = str_slice(name, from, i);
        check(segment.len && !str_eq(segment, STR(".")) && !str_eq(segment, STR("..")));
        from = i + 1;
    }
}

/* A request for a normalized name gives this name again. */
static void check_again(const struct tftp_request *request)
{
    char packet[2 + TFTP_NAME_MAX + 7] = {0, 1};
    struct tftp_request again;
    struct tftp_refusal refusal;
    memcpy(packet + 2, request->name, request->name_len);
    memcpy(packet + 2 + request->name_len, "\0octet", 7);
    const struct str bytes = {packet, 2 + request->name_len + 7};
    check(tftp_parse_request(bytes, &again, &refusal) == TFTP_READ);
    check(str_eq(tftp_name(&again), tftp_name(request)) && again.options == 0);
}

/* ---- sessions ---- */

struct content {
    uint64_t size;
    uint32_t reads_left;
};

static bool content_read(void *self, uint64_t offset, void *buffer, uint32_t size)
{
    struct content *content = self;
    check(size > 0 && offset < content->size && size <= content->size - offset);
    if (content->reads_left == 0)
        return false;
    content->reads_left--;
    memset(buffer, (int)(uint8_t)offset, size);
    return true;
}

static uint32_t check_packet(const struct tftp_session *s, const uint8_t *packet, uint32_t size)
{
    check(size >= 4 && packet[0] == 0);
    if (packet[1] == 3) {
        check(size <= s->block_size + 4 && s->state == TFTP_SENDING);
        const uint64_t offset = (s->next - 2) * s->block_size; /* of the block that was sent */
        const uint64_t left = s->content.size - offset;
        check(size - 4 == (left < s->block_size ? left : s->block_size));
        check(size == 4 || packet[size - 1] == (uint8_t)offset);
        check((uint16_t)(packet[2] << 8 | packet[3]) == (uint16_t)(s->next - 1));
        return 1;
    }
    check(packet[1] == 5 || packet[1] == 6);
    check(size <= TFTP_ERROR_SIZE_MAX && packet[size - 1] == 0);
    return 0;
}

/* Send all that is to be sent; returns the number of blocks. */
static uint32_t pull(struct tftp_session *s, uint8_t *packet, uint32_t capacity)
{
    uint32_t blocks = 0, used;
    while ((used = tftp_next_packet(s, packet, capacity)) != 0) {
        check(used <= capacity);
        blocks += check_packet(s, packet, used);
        check(blocks <= s->window);
    }
    check(s->acknowledged <= s->sent && s->sent <= s->last);
    check(s->sent <= s->acknowledged + s->window);
    return blocks;
}

static void run(struct tftp_session *s, const uint8_t *data, size_t size)
{
    const uint32_t capacity =
        s->block_size + 4 > TFTP_ERROR_SIZE_MAX ? s->block_size + 4 : TFTP_ERROR_SIZE_MAX;
    uint8_t *packet = malloc(capacity);
    check(packet != NULL);
    pull(s, packet, capacity);
    while (size > 0) {
        /* A length, then a datagram of it; 255 is a timeout, 254 the right acknowledgement. */
        const uint8_t op = *data++;
        size--;
        bool may_send = true;
        if (op == 255) {
            tftp_timeout(s);
        } else if (op == 254) {
            const uint64_t block = s->awaits_options ? 0 : s->sent;
            const char ack[] = {0, 4, (char)(block >> 8), (char)block};
            may_send = tftp_receive(s, (struct str){ack, 4});
        } else {
            const uint32_t len = op % 8 < size ? op % 8 : (uint32_t)size;
            char *datagram = malloc(len + (size_t)!len);
            check(datagram != NULL);
            memcpy(datagram, data, len);
            may_send = tftp_receive(s, (struct str){datagram, len});
            free(datagram);
            data += len;
            size -= len;
        }
        const uint32_t blocks = pull(s, packet, capacity);
        check(may_send || blocks == 0);
        check(s->state == TFTP_SENDING || blocks == 0 || s->state == TFTP_FAILED);
    }
    for (uint32_t i = 0; i < TFTP_TRIES; i++) {
        tftp_timeout(s);
        pull(s, packet, capacity);
    }
    check(s->state != TFTP_SENDING);
    free(packet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tftp_request request;
    struct tftp_refusal refusal;
    struct tftp_session session;
    uint8_t error[TFTP_ERROR_SIZE_MAX];
    if (size < 6 || size > 4096)
        return 0;
    /* Size of the request, MTU, size of the content, reads until one fails. */
    const uint32_t len = data[0] < size - 6 ? data[0] : (uint32_t)size - 6;
    const uint32_t mtu = (uint32_t)data[1] << 8 | data[2];
    struct content content = {(uint64_t)data[3] << 8 | data[4], data[5]};
    data += 6;
    size -= 6;
    char *bytes = malloc(len + (size_t)!len);
    check(bytes != NULL);
    memcpy(bytes, data, len);
    const enum tftp_parsed parsed =
        tftp_parse_request((struct str){bytes, len}, &request, &refusal);
    free(bytes);
    if (parsed == TFTP_REFUSED)
        check(tftp_put_error(error, refusal.code, refusal.message) <= TFTP_ERROR_SIZE_MAX);
    if (parsed != TFTP_READ)
        return 0;
    check_name(tftp_name(&request));
    check_again(&request);
    check(request.block_size >= TFTP_BLOCK_MIN && request.block_size <= TFTP_BLOCK_MAX);
    check(request.window >= 1 && request.window <= TFTP_WINDOW_MAX);
    tftp_open(&session, &request, (struct tftp_content){&content, content.size, content_read}, mtu);
    check(session.block_size <= request.block_size && session.block_size >= TFTP_BLOCK_MIN);
    run(&session, data + len, size - len);
    return 0;
}
