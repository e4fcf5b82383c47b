/* clock.c - clock_gettime(2) and getrandom(2). Stateless. A clock or a generator that fails aborts
 * the process, because no caller could continue without it. */
#include "sys/clock.h"

#include <stdio.h>
#include <sys/random.h>
#include <time.h>

#include "base/err.h"

static int64_t clock_read_ms(clockid_t id)
{
    struct timespec now;
    must(clock_gettime(id, &now) == 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t sys_now_ms(void)
{
    return clock_read_ms(CLOCK_REALTIME);
}

int64_t sys_mono_ms(void)
{
    return clock_read_ms(CLOCK_MONOTONIC);
}

/* getrandom() returns up to 256 bytes at once. Before the pool of the kernel is initialized it
 * blocks, and a signal may interrupt it; hence the loop. */
uint64_t sys_random64(void)
{
    uint64_t value;
    for (int tries = 0; tries < 1000; tries++)
        if (getrandom(&value, sizeof value, 0) == (ssize_t)sizeof value)
            return value;
    impossible("the kernel supplies no random numbers");
}

void sys_time_format(int64_t now_ms, char out_text[SYS_TIME_SIZE])
{
    const time_t seconds = (time_t)(now_ms / 1000);
    struct tm parts = {0};
    char day[SYS_TIME_SIZE - 8];
    if (!gmtime_r(&seconds, &parts) || !strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts))
        day[0] = 0;
    snprintf(out_text, SYS_TIME_SIZE, "%s.%03dZ", day, (int)(now_ms % 1000));
}
