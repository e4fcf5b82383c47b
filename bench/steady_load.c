#define _GNU_SOURCE
/* steady-load: sends requests at a fixed rate and prints their latencies.
 *
 *   steady-load HOST PORT METHOD PATH TOKEN RATE SECONDS CONNECTIONS [FIRST COUNT]
 *
 * With FIRST and COUNT a "#" in PATH is each number from FIRST on, COUNT of them, over and over,
 * each twice: "@" is "false" the first time and "true" the second.
 *
 * A request is due at its time whether or not the ones before it are answered, and its time counts
 * from then: a server that stops for a while cannot hide it behind requests that were never sent.
 * Prints "asked N answered N failed N p50 US p99 US worst US".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 512, ANSWER_MAX = 64 << 10 };

struct connection {
    int fd;
    bool is_busy;
    int64_t due_ns; /* of the request it is busy with */
    size_t len;
    char answer[ANSWER_MAX];
};

static struct connection connections[CONNECTIONS_MAX];
static char path[1024], head[2048], rest[1024];
static int64_t first_number, number_count;
static uint32_t *taken_us;
static size_t taken_count, failed;

static void die(const char *what)
{
    fprintf(stderr, "steady-load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int dial(const char *host, int port)
{
    const int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (fd < 0 || inet_pton(AF_INET, host, &address.sin_addr) != 1)
        die(host);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        die("connect");
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) < 0 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        die("socket");
    return fd;
}

/* Is the answer whole? Every answer here has a length. */
static bool is_whole(const struct connection *c)
{
    const char *end = memmem(c->answer, c->len, "\r\n\r\n", 4);
    if (!end)
        return false;
    const char *length = strcasestr(c->answer, "\r\ncontent-length:");
    if (!length || length > end)
        return false;
    return c->len >= (size_t)(end + 4 - c->answer) + strtoul(length + 17, NULL, 10);
}

static void take(struct connection *c)
{
    for (;;) {
        const ssize_t got = read(c->fd, c->answer + c->len, sizeof c->answer - c->len - 1);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0)
            die("the server closed a connection");
        c->len += (size_t)got;
        c->answer[c->len] = 0;
        if (!is_whole(c))
            continue;
        if (strncmp(c->answer, "HTTP/1.1 200", 12) != 0)
            failed++;
        taken_us[taken_count++] = (uint32_t)((now_ns() - c->due_ns) / 1000);
        c->is_busy = false;
        c->len = 0;
        return;
    }
}

static struct connection *find_idle(int count)
{
    static int next;
    for (int i = 0; i < count; i++) {
        struct connection *c = &connections[next++ % count];
        if (!c->is_busy)
            return c;
    }
    return NULL;
}

/* The path of that request. */
static void put_path(char *out, size_t size, size_t asked)
{
    const int64_t number = first_number + (int64_t)(asked / 2) % (number_count ? number_count : 1);
    size_t at = 0;
    for (const char *c = path; *c && at + 32 < size; c++) {
        if (number_count && *c == '#')
            at += (size_t)snprintf(out + at, size - at, "%lld", (long long)number);
        else if (number_count && *c == '@')
            at += (size_t)snprintf(out + at, size - at, "%s", asked % 2 ? "true" : "false");
        else
            out[at++] = *c;
    }
    out[at] = 0;
}

static void give(struct connection *c, size_t asked, int64_t due_ns)
{
    char where[1200], request[4096];
    put_path(where, sizeof where, asked);
    const int len = snprintf(request, sizeof request, "%s%s%s", head, where, rest);
    if (write(c->fd, request, (size_t)len) != len)
        die("write");
    c->is_busy = true;
    c->due_ns = due_ns;
}

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void tell(size_t asked)
{
    qsort(taken_us, taken_count, sizeof *taken_us, compare);
    if (taken_count == 0)
        die("nothing was answered");
    printf("asked %zu answered %zu failed %zu p50 %u p99 %u worst %u\n", asked, taken_count, failed,
           taken_us[taken_count / 2], taken_us[taken_count * 99 / 100], taken_us[taken_count - 1]);
}

/* What is due is sent as soon as a connection is free; it was due all the same. */
static size_t load(int count, int64_t rate, int64_t seconds)
{
    const int64_t start = now_ns(), gap = 1000000000 / rate;
    const size_t total = (size_t)(rate * seconds);
    size_t asked = 0;
    const int watch = epoll_create1(0);
    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[i]};
        if (epoll_ctl(watch, EPOLL_CTL_ADD, connections[i].fd, &event) < 0)
            die("epoll");
    }
    while (taken_count < total) {
        struct epoll_event events[64];
        const int64_t now = now_ns();
        for (struct connection *c; asked < total && start + (int64_t)asked * gap <= now; asked++) {
            c = find_idle(count);
            if (!c)
                break;
            give(c, asked, start + (int64_t)asked * gap);
        }
        if (now - start > (seconds + 60) * 1000000000)
            break;
        const int ready = epoll_wait(watch, events, 64, asked < total ? 0 : 1);
        for (int i = 0; i < ready; i++)
            take(events[i].data.ptr);
        if (ready == 0 && asked < total)
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    close(watch);
    return asked;
}

int main(int argc, char **argv)
{
    if (argc != 9 && argc != 11) {
        fputs("usage: steady-load HOST PORT METHOD PATH TOKEN RATE SECONDS CONNECTIONS "
              "[FIRST COUNT]\n",
              stderr);
        return 2;
    }
    const int64_t rate = strtoll(argv[6], NULL, 10), seconds = strtoll(argv[7], NULL, 10);
    const int count = (int)strtol(argv[8], NULL, 10);
    if (rate < 1 || seconds < 1 || count < 1 || count > CONNECTIONS_MAX)
        die("RATE, SECONDS and CONNECTIONS");
    if (argc == 11) {
        first_number = strtoll(argv[9], NULL, 10);
        number_count = strtoll(argv[10], NULL, 10);
    }
    snprintf(path, sizeof path, "%s", argv[4]);
    snprintf(head, sizeof head, "%s ", argv[3]);
    snprintf(rest, sizeof rest,
             " HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 0\r\n\r\n",
             argv[1], argv[5]);
    taken_us = calloc((size_t)(rate * seconds) + CONNECTIONS_MAX, sizeof *taken_us);
    if (!taken_us)
        die("memory");
    for (int i = 0; i < count; i++)
        connections[i].fd = dial(argv[1], (int)strtol(argv[2], NULL, 10));
    tell(load(count, rate, seconds));
    return 0;
}
