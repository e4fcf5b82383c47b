/* notify.c - the protocol of sd_notify(3). Stateless: each call opens a socket, sends one datagram
 * without blocking and closes the socket. A datagram that cannot be sent is not repeated. */
#include "sys/notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"

/* A path, or a name in the abstract namespace if it starts with '@'. */
static bool notify_address(const char *name, struct sockaddr_un *out, socklen_t *out_len)
{
    const size_t len = strlen(name);
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof out->sun_path)
        return false;
    memcpy(out->sun_path, name, len);
    if (name[0] == '@')
        out->sun_path[0] = 0;
    *out_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    return true;
}

bool notify_send(const char *lines)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address;
    socklen_t len;
    if (!name || !notify_address(name, &address, &len))
        return false;
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    const size_t size = strlen(lines);
    const bool sent = sendto(fd, lines, size, MSG_NOSIGNAL | MSG_DONTWAIT,
                             (const struct sockaddr *)&address, len) == (ssize_t)size;
    ignore(close(fd), "the datagram was sent or not already");
    return sent;
}

bool notify_ready(void)
{
    return notify_send("READY=1\nSTATUS=serving\n");
}

bool notify_reloading(void)
{
    struct timespec now;
    char lines[96];
    must(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    const long long us = (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    snprintf(lines, sizeof lines, "RELOADING=1\nMONOTONIC_USEC=%lld\n", us);
    return notify_send(lines);
}

/* The number in an environment variable; 0 if it is unset or not decimal. */
static uint64_t notify_env_number(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    if (!text || text[0] < '0' || text[0] > '9')
        return 0;
    const unsigned long long value = strtoull(text, &end, 10);
    return *end ? 0 : value;
}

uint64_t notify_watchdog_ms(void)
{
    /* Children inherit the environment, but the watchdog applies to WATCHDOG_PID only. */
    if (getenv("WATCHDOG_PID") && notify_env_number("WATCHDOG_PID") != (uint64_t)getpid())
        return 0;
    const uint64_t us = notify_env_number("WATCHDOG_USEC");
    return us == 0 ? 0 : us < 2000 ? 1 : us / 2000;
}
