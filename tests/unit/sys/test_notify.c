/* Goal: the service manager receives the messages of sd_notify(3).
 * Method: the manager is a real datagram socket, by path and in the abstract space. */
#include "sys/notify.h"
#include "tests/check.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listen_at(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t len = strlen(name);
    CHECK(len < sizeof address.sun_path);
    memcpy(address.sun_path, name, len);
    if (name[0] == '@')
        address.sun_path[0] = 0;
    const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    CHECK(fd >= 0);
    CHECK(bind(fd, (struct sockaddr *)&address,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) == 0);
    CHECK(setenv("NOTIFY_SOCKET", name, 1) == 0);
    return fd;
}

static const char *heard(int fd)
{
    static char text[512];
    const ssize_t n = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
    text[n > 0 ? n : 0] = 0;
    return text;
}

TEST(a_manager_with_a_path_receives_every_state)
{
    char folder[] = "/tmp/halligan-notify-XXXXXX", name[64];
    CHECK(mkdtemp(folder));
    snprintf(name, sizeof name, "%s/socket", folder);
    const int fd = listen_at(name);
    CHECK(notify_ready());
    CHECK(strcmp(heard(fd), "READY=1\nSTATUS=serving\n") == 0);
    CHECK(notify_send("STOPPING=1\n"));
    CHECK(strcmp(heard(fd), "STOPPING=1\n") == 0);
    CHECK(notify_reloading());
    long long us = 0;
    CHECK(sscanf(heard(fd), "RELOADING=1\nMONOTONIC_USEC=%lld\n", &us) == 1 && us > 0);
    CHECK(notify_send("WATCHDOG=1\n") && strcmp(heard(fd), "WATCHDOG=1\n") == 0);
    CHECK(strcmp(heard(fd), "") == 0);
    CHECK(close(fd) == 0 && unlink(name) == 0 && rmdir(folder) == 0);
    CHECK(!notify_ready()); /* the socket is closed */
}

TEST(a_manager_in_the_abstract_namespace_receives_states)
{
    char name[64];
    snprintf(name, sizeof name, "@halligan-notify-%ld", (long)getpid());
    const int fd = listen_at(name);
    CHECK(notify_send("STATUS=here\n"));
    CHECK(strcmp(heard(fd), "STATUS=here\n") == 0);
    CHECK(close(fd) == 0);
}

TEST(without_a_manager_nothing_is_sent)
{
    unsetenv("NOTIFY_SOCKET");
    CHECK(!notify_ready() && !notify_reloading());
    static const char *const bad[] = {"", "/", "@", "relative", "vsock:2:1"};
    for (int i = 0; i < 5; i++) {
        CHECK(setenv("NOTIFY_SOCKET", bad[i], 1) == 0);
        CHECK(!notify_ready());
    }
    char long_name[300];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[0] = '/';
    long_name[sizeof long_name - 1] = 0;
    CHECK(setenv("NOTIFY_SOCKET", long_name, 1) == 0);
    CHECK(!notify_ready());
    unsetenv("NOTIFY_SOCKET");
}

TEST(the_watchdog_interval_is_half_of_the_limit)
{
    char pid[32];
    unsetenv("WATCHDOG_PID");
    unsetenv("WATCHDOG_USEC");
    CHECK(notify_watchdog_ms() == 0);
    CHECK(setenv("WATCHDOG_USEC", "30000000", 1) == 0);
    CHECK(notify_watchdog_ms() == 15000);
    CHECK(setenv("WATCHDOG_USEC", "1500", 1) == 0);
    CHECK(notify_watchdog_ms() == 1);
    static const char *const bad[] = {"", "soon", "-5", "10x", "0"};
    for (int i = 0; i < 5; i++) {
        CHECK(setenv("WATCHDOG_USEC", bad[i], 1) == 0);
        CHECK(notify_watchdog_ms() == 0);
    }
    CHECK(setenv("WATCHDOG_USEC", "2000000", 1) == 0);
    CHECK(setenv("WATCHDOG_PID", "1", 1) == 0);
    CHECK(notify_watchdog_ms() == 0);
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    CHECK(setenv("WATCHDOG_PID", pid, 1) == 0);
    CHECK(notify_watchdog_ms() == 1000);
    unsetenv("WATCHDOG_PID");
    unsetenv("WATCHDOG_USEC");
}
