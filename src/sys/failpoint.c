/* failpoint.c - state of the failpoints, which is set once at the start. Passes are counted
 * atomically, since failpoints are in several threads. The trace is a shared mapping, so that it is
 * readable after the process was killed. A trace file that cannot be mapped aborts the process,
 * since a test without its trace would be useless; a malformed HALLIGAN_FAILPOINT is ignored. */
#include "sys/failpoint.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"

enum { NAME_SIZE = 64 };

bool failpoint_armed;

static char wanted[NAME_SIZE];
static long wanted_pass;
static atomic_long passes;
static char *trace; /* NAME_SIZE bytes, mapped from the file; NULL: no trace */

const char *failpoint_name(enum failpoint point)
{
    static const char *const names[] = {
#define X(name, text) [FAILPOINT_##name] = text,
        FAILPOINTS(X)
#undef X
    };
    must(point < FAILPOINT_COUNT);
    return names[point];
}

static void failpoint_arm(const char *text)
{
    const char *colon = strrchr(text, ':');
    const size_t len = colon ? (size_t)(colon - text) : strlen(text);
    if (len == 0 || len >= NAME_SIZE)
        return;
    memcpy(wanted, text, len);
    wanted_pass = colon ? strtol(colon + 1, NULL, 10) : 1;
    failpoint_armed = true;
}

static void failpoint_trace_to(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, NAME_SIZE) != 0)
        sys_fail(__FILE__, __LINE__, "HALLIGAN_FAILPOINT_TRACE: the file cannot be written");
    void *at = mmap(NULL, NAME_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        sys_fail(__FILE__, __LINE__, "HALLIGAN_FAILPOINT_TRACE: the file cannot be mapped");
    ignore(close(fd), "the mapping stays valid");
    trace = at;
    failpoint_armed = true;
}

void failpoint_init(void)
{
    const char *point = getenv("HALLIGAN_FAILPOINT");
    const char *file = getenv("HALLIGAN_FAILPOINT_TRACE");
    if (point)
        failpoint_arm(point);
    if (file)
        failpoint_trace_to(file);
}

void failpoint_pass(const char *name)
{
    if (trace)
        memcpy(trace, name, strlen(name) + 1);
    if (wanted[0] && strcmp(name, wanted) == 0 && atomic_fetch_add(&passes, 1) + 1 == wanted_pass)
        abort();
}
