#define _GNU_SOURCE /* ppoll */
/* tftp-load: clients that load one file by TFTP at the same time.
 *
 *   tftp-load SERVER ADDRESS NAME CLIENTS BLOCK
 *
 * The clients send from ADDRESS and the addresses after it, which this host has. Each asks for the
 * block size BLOCK and acknowledges every block, as firmware does; the last packet is repeated
 * after a second without an answer. Prints "bytes N seconds S rate N MB/s repeats N".
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
#include <unistd.h>

enum {
    CLIENTS_MAX = 512,
    PACKET_MAX = 65536,
    SENT_MAX = 512,
    BLOCK_DEFAULT = 512,
    REPEATS_MAX = 60,
    OP_READ = 1,
    OP_DATA = 3,
    OP_ACK = 4,
    OP_OACK = 6
};

#define REPEAT_NS INT64_C(1000000000)

struct client {
    struct sockaddr_in peer; /* the port of the server that answers */
    bool has_peer, is_done;
    uint16_t block; /* acknowledged last */
    uint32_t block_size;
    uint64_t bytes;
    int64_t sent_ns;
    size_t sent_size;
    uint8_t sent[SENT_MAX]; /* the last packet */
};

static struct client clients[CLIENTS_MAX];
static struct pollfd polls[CLIENTS_MAX];
static uint32_t count, done_count;
static size_t repeats;

static void die(const char *what)
{
    fprintf(stderr, "tftp-load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void client_send(struct client *c)
{
    const int fd = polls[c - clients].fd;
    if (sendto(fd, c->sent, c->sent_size, 0, (const struct sockaddr *)(const void *)&c->peer,
               sizeof c->peer) < 0)
        die("sendto");
    c->sent_ns = now_ns();
}

static void client_acknowledge(struct client *c, uint16_t block)
{
    c->block = block;
    c->sent[0] = 0;
    c->sent[1] = OP_ACK;
    c->sent[2] = (uint8_t)(block >> 8);
    c->sent[3] = (uint8_t)block;
    c->sent_size = 4;
    client_send(c);
}

/* The value of blksize in an OACK; the default if it has none. */
static uint32_t read_block_size(const uint8_t *packet, size_t size)
{
    for (size_t at = 2; at < size;) {
        const char *name = (const char *)packet + at;
        const size_t name_len = strnlen(name, size - at);
        if (at + name_len + 1 >= size)
            break;
        const char *value = name + name_len + 1;
        if (strcasecmp(name, "blksize") == 0)
            return (uint32_t)strtoul(value, NULL, 10);
        at += name_len + 1 + strnlen(value, size - at - name_len - 1) + 1;
    }
    return BLOCK_DEFAULT;
}

static void client_take(struct client *c, uint8_t *packet, size_t size,
                        const struct sockaddr_in *from)
{
    if (size < 4 || (c->has_peer && c->peer.sin_port != from->sin_port))
        return;
    c->peer.sin_port = from->sin_port;
    const uint16_t block = (uint16_t)(packet[2] << 8 | packet[3]);
    if (packet[1] == OP_OACK && !c->has_peer) {
        packet[size] = 0; /* the buffer has room for it */
        c->has_peer = true;
        c->block_size = read_block_size(packet, size);
        client_acknowledge(c, 0);
    } else if (packet[1] == OP_DATA && block == (uint16_t)(c->block + 1)) {
        c->has_peer = true;
        c->bytes += size - 4;
        client_acknowledge(c, block);
        c->is_done = size - 4 < c->block_size;
        done_count += c->is_done;
    } else if (packet[1] != OP_DATA && packet[1] != OP_OACK) {
        fprintf(stderr, "tftp-load: the server refused: %.*s\n", (int)(size - 4), packet + 4);
        exit(1);
    }
}

static void client_receive(struct client *c)
{
    static uint8_t packet[PACKET_MAX + 1];
    struct sockaddr_in from;
    socklen_t from_size = sizeof from;
    const ssize_t n = recvfrom(polls[c - clients].fd, packet, PACKET_MAX, MSG_DONTWAIT,
                               (struct sockaddr *)(void *)&from, &from_size);
    if (n < 0 && errno != EAGAIN && errno != ECONNREFUSED)
        die("recvfrom");
    if (n >= 0 && !c->is_done)
        client_take(c, packet, (size_t)n, &from);
}

static void repeat_late(void)
{
    const int64_t now = now_ns();
    for (uint32_t i = 0; i < count; i++)
        if (!clients[i].is_done && now - clients[i].sent_ns > REPEAT_NS) {
            if (repeats++ == (size_t)REPEATS_MAX * count)
                die("the server does not answer");
            client_send(&clients[i]);
        }
}

static void open_client(uint32_t i, const struct sockaddr_in *server, uint32_t address,
                        const char *name, const char *block)
{
    struct client *c = &clients[i];
    const struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address + i)};
    polls[i] = (struct pollfd){.fd = socket(AF_INET, SOCK_DGRAM, 0), .events = POLLIN};
    if (polls[i].fd < 0 ||
        bind(polls[i].fd, (const struct sockaddr *)(const void *)&own, sizeof own) < 0)
        die("a socket");
    c->peer = *server;
    c->block_size = BLOCK_DEFAULT;
    const int size =
        snprintf((char *)c->sent + 2, SENT_MAX - 2, "%s%coctet%cblksize%c%s", name, 0, 0, 0, block);
    c->sent[1] = OP_READ;
    c->sent_size = (size_t)size + 3;
}

int main(int argc, char **argv)
{
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(69)};
    struct in_addr address;
    uint64_t bytes = 0;
    if (argc != 6) {
        fputs("usage: tftp-load SERVER ADDRESS NAME CLIENTS BLOCK\n", stderr);
        return 2;
    }
    count = (uint32_t)strtoul(argv[4], NULL, 10);
    if (inet_pton(AF_INET, argv[1], &server.sin_addr) != 1 ||
        inet_pton(AF_INET, argv[2], &address) != 1 || !count || count > CLIENTS_MAX ||
        strlen(argv[3]) + strlen(argv[5]) + 32 > SENT_MAX)
        die("SERVER, ADDRESS, NAME and CLIENTS");
    for (uint32_t i = 0; i < count; i++)
        open_client(i, &server, ntohl(address.s_addr), argv[3], argv[5]);
    const int64_t start = now_ns();
    for (uint32_t i = 0; i < count; i++)
        client_send(&clients[i]);
    while (done_count < count) {
        const struct timespec wait = {.tv_nsec = 100000000};
        if (ppoll(polls, count, &wait, NULL) < 0)
            die("ppoll");
        for (uint32_t i = 0; i < count; i++)
            if (polls[i].revents)
                client_receive(&clients[i]);
        repeat_late();
    }
    const double seconds = (double)(now_ns() - start) / 1e9;
    for (uint32_t i = 0; i < count; i++) {
        bytes += clients[i].bytes;
        close(polls[i].fd);
    }
    printf("bytes %llu seconds %.3f rate %.1f MB/s repeats %zu\n", (unsigned long long)bytes,
           seconds, (double)bytes / 1e6 / seconds, repeats);
    return 0;
}
