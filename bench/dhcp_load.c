#define _GNU_SOURCE /* sendmmsg, recvmmsg, ppoll */
/* dhcp-load: full exchanges of DHCP with a server, as many at a time as are asked for.
 *
 *   dhcp-load SERVER RELAY MAC COUNT SECONDS WINDOW RATE [KIND [LIMIT]]
 *
 * One process that sends as a relay: giaddr is the address RELAY of this host, where replies are
 * received on port 67. COUNT clients in turns, of which the first has the MAC; each exchange is
 * DISCOVER, OFFER, REQUEST, ACK. WINDOW exchanges at most are outstanding. With RATE 0 the next one
 * begins as soon as one ends; otherwise RATE of them are due each second and their times count from
 * then on. KIND: plain, pxe (firmware) or ipxe. LIMIT: begin no more exchanges than that.
 *
 * A message is not repeated. An exchange without its reply within a second, or with a NAK, is a
 * drop. Prints "exchanges N drops N naks N rate N/s p50 US p99 US worst US"; the rate is that of
 * ended exchanges from the first DISCOVER to the last ACK.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
    BATCH = 64,
    WINDOW_MAX = 4096,
    PACKET_MAX = 1500,
    PACKET_MIN = 300, /* RFC 951 */
    OPTIONS_AT = 240,
    BUFFER = 8 << 20, /* bytes of the socket */
    DISCOVER = 1,
    OFFER = 2,
    REQUEST = 3,
    ACK = 5
};

#define DROP_NS INT64_C(1000000000)

/* An exchange. Its number and that of the exchange before it in this place are its xid. */
struct exchange {
    bool is_busy;
    uint8_t awaited; /* OFFER or ACK */
    uint16_t turn;
    uint64_t mac;
    int64_t due_ns;
    int64_t sent_ns; /* of the last message */
};

static struct {
    struct mmsghdr messages[BATCH];
    struct iovec parts[BATCH];
    uint8_t bytes[BATCH][PACKET_MAX];
    uint32_t count;
} sending, receiving;

static struct exchange exchanges[WINDOW_MAX];
static uint32_t free_places[WINDOW_MAX], free_count;
static int64_t last_ns;
static uint32_t *taken_us;
static size_t taken_count, taken_max, begun, drops, naks;

static struct {
    struct sockaddr_in server;
    uint32_t relay; /* in the order of the network */
    uint64_t mac;
    uint64_t count, limit, rate, seconds;
    uint32_t window;
    const char *kind;
    int fd;
} load;

static void die(const char *what)
{
    fprintf(stderr, "dhcp-load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- packets ---- */

static uint8_t *put_option(uint8_t *at, uint8_t code, const void *bytes, size_t size)
{
    *at++ = code;
    *at++ = (uint8_t)size;
    memcpy(at, bytes, size);
    return at + size;
}

static uint8_t *put_kind(uint8_t *at)
{
    static const uint8_t bios[2] = {0, 0}, http[] = {19, 1, 1};
    if (strcmp(load.kind, "plain") == 0)
        return at;
    at = put_option(at, 60, "PXEClient:Arch:00000:UNDI:002001", 32);
    at = put_option(at, 93, bios, sizeof bios);
    if (strcmp(load.kind, "ipxe") != 0)
        return at;
    at = put_option(at, 77, "iPXE", 4);
    return put_option(at, 175, http, sizeof http);
}

static void flush(void)
{
    for (uint32_t sent = 0; sent < sending.count;) {
        const int n = sendmmsg(load.fd, sending.messages + sent, sending.count - sent, 0);
        if (n <= 0 && errno != EINTR && errno != ENOBUFS)
            die("sendmmsg");
        sent += n > 0 ? (uint32_t)n : 0;
    }
    sending.count = 0;
}

/* `address` and `server`, of four bytes, are those of the offer; NULL in a DISCOVER. */
static void put_message(uint32_t place, const uint8_t *address, const uint8_t *server)
{
    static const uint8_t asked[] = {1, 28, 2, 3, 6, 15, 12};
    const struct exchange *e = &exchanges[place];
    if (sending.count == BATCH)
        flush();
    uint8_t *packet = sending.bytes[sending.count];
    const uint32_t xid = htonl((uint32_t)e->turn << 16 | place);
    const uint8_t type = address ? REQUEST : DISCOVER;
    memset(packet, 0, PACKET_MIN);
    packet[0] = 1;
    packet[1] = 1;
    packet[2] = 6;
    packet[3] = 1; /* hops */
    memcpy(packet + 4, &xid, sizeof xid);
    memcpy(packet + 24, &load.relay, sizeof load.relay);
    for (int i = 0; i < 6; i++)
        packet[28 + i] = (uint8_t)(e->mac >> (40 - 8 * i));
    memcpy(packet + 236, "\x63\x82\x53\x63", 4);
    uint8_t *at = put_option(packet + OPTIONS_AT, 53, &type, 1);
    if (address) {
        at = put_option(at, 50, address, 4);
        at = put_option(at, 54, server, 4);
    }
    at = put_option(at, 55, asked, sizeof asked);
    at = put_kind(at);
    *at++ = 255;
    const size_t size = (size_t)(at - packet);
    sending.parts[sending.count] =
        (struct iovec){packet, size < PACKET_MIN ? (size_t)PACKET_MIN : size};
    sending.messages[sending.count].msg_hdr =
        (struct msghdr){.msg_name = &load.server,
                        .msg_namelen = sizeof load.server,
                        .msg_iov = &sending.parts[sending.count],
                        .msg_iovlen = 1};
    sending.count++;
}

/* The value of an option with at least `size` bytes; NULL if there is none. */
static const uint8_t *find_option(const uint8_t *packet, size_t size, uint8_t code, size_t least)
{
    for (size_t at = OPTIONS_AT; at + 1 < size && packet[at] != 255;) {
        if (packet[at] == 0) {
            at++;
            continue;
        }
        const size_t end = at + 2 + packet[at + 1];
        if (end > size)
            return NULL;
        if (packet[at] == code)
            return packet[at + 1] >= least ? packet + at + 2 : NULL;
        at = end;
    }
    return NULL;
}

/* ---- exchanges ---- */

static void begin_exchange(int64_t due_ns)
{
    const uint32_t place = free_places[--free_count];
    struct exchange *e = &exchanges[place];
    e->is_busy = true;
    e->awaited = OFFER;
    e->turn++;
    e->mac = load.mac + begun++ % load.count;
    e->due_ns = due_ns;
    e->sent_ns = now_ns();
    put_message(place, NULL, NULL);
}

static void end_exchange(uint32_t place)
{
    exchanges[place].is_busy = false;
    free_places[free_count++] = place;
}

static void take_reply(const uint8_t *packet, size_t size)
{
    uint32_t xid;
    if (size < OPTIONS_AT)
        return;
    memcpy(&xid, packet + 4, sizeof xid);
    xid = ntohl(xid);
    const uint32_t place = xid & 0xffff;
    struct exchange *e = &exchanges[place % WINDOW_MAX];
    if (place >= load.window || !e->is_busy || e->turn != xid >> 16)
        return;
    const uint8_t *type = find_option(packet, size, 53, 1);
    const uint8_t *server = find_option(packet, size, 54, 4);
    if (!type || !server)
        return;
    if (*type == 6) {
        naks++;
        end_exchange(place);
    } else if (*type == e->awaited && *type == OFFER) {
        e->awaited = ACK;
        e->sent_ns = now_ns();
        put_message(place, packet + 16, server);
    } else if (*type == e->awaited) {
        last_ns = now_ns();
        if (taken_count < taken_max)
            taken_us[taken_count++] = (uint32_t)((last_ns - e->due_ns) / 1000);
        end_exchange(place);
    }
}

static void receive(void)
{
    int count;
    do {
        for (uint32_t i = 0; i < BATCH; i++) {
            receiving.parts[i] = (struct iovec){receiving.bytes[i], PACKET_MAX};
            receiving.messages[i].msg_hdr =
                (struct msghdr){.msg_iov = &receiving.parts[i], .msg_iovlen = 1};
        }
        count = recvmmsg(load.fd, receiving.messages, BATCH, MSG_DONTWAIT, NULL);
        if (count < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED)
            die("recvmmsg");
        for (int i = 0; i < count; i++)
            take_reply(receiving.bytes[i], receiving.messages[i].msg_len);
    } while (count == BATCH);
}

static void drop_late(int64_t now)
{
    for (uint32_t place = 0; place < load.window; place++)
        if (exchanges[place].is_busy && exchanges[place].sent_ns < now - DROP_NS) {
            drops++;
            end_exchange(place);
        }
}

/* With a rate, exchanges for which there is no place are due all the same. */
static void begin_due(int64_t start, int64_t now)
{
    const int64_t end = start + (int64_t)load.seconds * 1000000000;
    while (free_count && begun < load.limit) {
        const int64_t due =
            load.rate ? start + (int64_t)(begun * UINT64_C(1000000000) / load.rate) : now;
        if (due > now || due >= end)
            return;
        begin_exchange(due);
    }
}

static void run(int64_t start)
{
    const int64_t end = start + (int64_t)load.seconds * 1000000000;
    int64_t checked = start;
    for (;;) {
        const int64_t now = now_ns();
        struct pollfd readable = {.fd = load.fd, .events = POLLIN};
        begin_due(start, now);
        flush();
        if (free_count == load.window && (now >= end || begun >= load.limit))
            return;
        if (now - checked > DROP_NS / 10) {
            drop_late(now);
            checked = now;
        }
        /* Between two exchanges that are due, half the time between them is slept at most. */
        const struct timespec wait = {
            .tv_nsec = load.rate && now < end ? (long)(500000000 / load.rate) : 1000000};
        if (ppoll(&readable, 1, &wait, NULL) < 0 && errno != EINTR)
            die("ppoll");
        receive();
    }
}

/* ---- the program ---- */

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void print_result(int64_t start)
{
    if (taken_count == 0) {
        printf("exchanges 0 drops %zu naks %zu rate 0/s p50 0 p99 0 worst 0\n", drops, naks);
        return;
    }
    const double seconds = (double)(last_ns - start) / 1e9;
    qsort(taken_us, taken_count, sizeof *taken_us, compare);
    printf("exchanges %zu drops %zu naks %zu rate %.0f/s p50 %u p99 %u worst %u\n", taken_count,
           drops, naks, (double)taken_count / seconds, taken_us[taken_count / 2],
           taken_us[taken_count * 99 / 100], taken_us[taken_count - 1]);
}

static void open_socket(void)
{
    const int one = 1, size = BUFFER;
    const struct sockaddr_in own = {
        .sin_family = AF_INET, .sin_port = htons(67), .sin_addr.s_addr = load.relay};
    load.fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (load.fd < 0 || setsockopt(load.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        setsockopt(load.fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) < 0 ||
        setsockopt(load.fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) < 0 ||
        bind(load.fd, (const struct sockaddr *)(const void *)&own, sizeof own) < 0)
        die("the socket of the relay");
}

static uint64_t parse_mac(const char *text)
{
    unsigned b[6];
    if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]) != 6)
        die("MAC");
    uint64_t mac = 0;
    for (int i = 0; i < 6; i++)
        mac = mac << 8 | b[i];
    return mac;
}

int main(int argc, char **argv)
{
    if (argc < 8 || argc > 10) {
        fputs("usage: dhcp-load SERVER RELAY MAC COUNT SECONDS WINDOW RATE [KIND [LIMIT]]\n",
              stderr);
        return 2;
    }
    load.server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(67)};
    if (inet_pton(AF_INET, argv[1], &load.server.sin_addr) != 1 ||
        inet_pton(AF_INET, argv[2], &load.relay) != 1)
        die("SERVER and RELAY");
    load.mac = parse_mac(argv[3]);
    load.count = strtoull(argv[4], NULL, 10);
    load.seconds = strtoull(argv[5], NULL, 10);
    load.window = (uint32_t)strtoul(argv[6], NULL, 10);
    load.rate = strtoull(argv[7], NULL, 10);
    load.kind = argc > 8 ? argv[8] : "plain";
    load.limit = argc > 9 ? strtoull(argv[9], NULL, 10) : UINT64_MAX;
    if (!load.count || !load.seconds || !load.window || load.window > WINDOW_MAX)
        die("COUNT, SECONDS and WINDOW");
    taken_max = load.seconds * 400000;
    taken_us = calloc(taken_max, sizeof *taken_us);
    if (!taken_us)
        die("memory");
    for (uint32_t i = 0; i < load.window; i++)
        free_places[free_count++] = i;
    open_socket();
    const int64_t start = now_ns();
    run(start);
    print_result(start);
    return 0;
}
