/* Goal: a TFTP session delivers its content whatever is lost, repeated or reordered, and sends no
 * more than a window for each acknowledgement that makes progress.
 * Method: a random network between a session and a client that follows RFC 7440. */
#include "base/prng.h"
#include "tests/check.h"
#include "tests/unit/boot/tftp_content.h"

#include <string.h>

enum { NET_MAX = 256 };

/* Datagrams on their way in one direction. */
struct net {
    uint8_t data[NET_MAX][64];
    uint32_t size[NET_MAX];
    uint32_t count;
};

static void net_send(struct net *n, struct prng *r, const uint8_t *data, uint32_t size)
{
    for (uint32_t copies = prng_chance(r, 100)   ? 0
                           : prng_chance(r, 100) ? 2
                                                 : 1;
         copies; copies--) {
        if (n->count == NET_MAX)
            return;
        memcpy(n->data[n->count], data, size);
        n->size[n->count++] = size;
    }
}

/* Mostly the oldest one. */
static uint32_t net_take(struct net *n, struct prng *r, uint8_t *data)
{
    const uint32_t at = prng_chance(r, 100) ? (uint32_t)prng_below(r, n->count) : 0;
    const uint32_t size = n->size[at];
    memcpy(data, n->data[at], size);
    n->count--;
    memmove(n->data[at], n->data[at + 1], (n->count - at) * sizeof n->data[0]);
    memmove(&n->size[at], &n->size[at + 1], (n->count - at) * sizeof n->size[0]);
    return size;
}

/* A client of RFC 7440: it acknowledges the end of each window, and at a gap the last block that it
 * has. */
struct client {
    uint64_t blocks, bytes, in_window;
    uint32_t window, block_size;
    bool is_done, gap_reported;
};

static void client_ack(const struct client *c, struct net *to, struct prng *r)
{
    const uint8_t ack[] = {0, 4, (uint8_t)(c->blocks >> 8), (uint8_t)c->blocks};
    net_send(to, r, ack, sizeof ack);
}

static void client_receive(struct client *c, const uint8_t *packet, uint32_t size, struct net *to,
                           struct prng *r)
{
    if (packet[1] == 6) {
        if (!c->blocks)
            client_ack(c, to, r);
        return;
    }
    CHECK(packet[1] == 3);
    const uint16_t number = (uint16_t)(packet[2] << 8 | packet[3]);
    if (number != (uint16_t)(c->blocks + 1)) {
        if (!c->gap_reported)
            client_ack(c, to, r);
        c->gap_reported = true;
        c->in_window = 0;
        return;
    }
    CHECK(!c->is_done);
    for (uint32_t i = 4; i < size; i++)
        CHECK(packet[i] == content_byte(c->bytes + i - 4));
    c->bytes += size - 4;
    c->blocks++;
    c->gap_reported = false;
    c->is_done = size - 4 < c->block_size;
    if (++c->in_window == c->window || c->is_done) {
        client_ack(c, to, r);
        c->in_window = 0;
    }
}

static void run_lossy(uint64_t seed, uint64_t size, uint32_t window)
{
    static struct net to_client, to_server;
    struct prng r;
    uint8_t packet[TFTP_ERROR_SIZE_MAX];
    uint64_t readable = size;
    struct client client = {.window = window, .block_size = 8};
    const struct tftp_request request = {
        .options = TFTP_OPTION_BLKSIZE | TFTP_OPTION_WINDOWSIZE, .block_size = 8, .window = window};
    struct tftp_session session;
    prng_init(&r, seed);
    to_client.count = to_server.count = 0;
    tftp_open(&session, &request, (struct tftp_content){&readable, size, content_read}, 1500);
    uint64_t packets = 0, events = 1;
    while (session.state == TFTP_SENDING) {
        uint32_t used;
        while ((used = tftp_next_packet(&session, packet, sizeof packet)) != 0) {
            net_send(&to_client, &r, packet, used);
            packets++;
        }
        if (to_client.count && prng_chance(&r, 700)) {
            used = net_take(&to_client, &r, packet);
            client_receive(&client, packet, used, &to_server, &r);
        } else if (to_server.count) {
            used = net_take(&to_server, &r, packet);
            events += tftp_receive(&session, (struct str){(const char *)packet, used});
        } else if (!to_client.count) {
            /* Nothing is on its way: both time out; the client repeats its acknowledgement. */
            client_ack(&client, &to_server, &r);
            session.tries = 0; /* the network does not fail for ever */
            tftp_timeout(&session);
            events++;
        }
    }
    CHECK(session.state == TFTP_DONE && client.is_done && client.bytes == size);
    /* Only progress and timeouts send, a window each. */
    CHECK(packets <= events * window);
}

TEST(a_content_arrives_whatever_is_lost_repeated_or_reordered)
{
    static const uint32_t windows[] = {1, 2, 3, 8, 64};
    for (uint64_t seed = 1; seed <= 200; seed++)
        run_lossy(seed, seed * 3, windows[seed % 5]);
    run_lossy(1, 8 * 66000 + 3, 8);
    run_lossy(2, 8 * 65536, 64);
}
