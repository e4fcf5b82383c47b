/* halligan-exec: executes the processes of runs for the daemon and records how they ended.
 *
 * The same program is the supervisor (supervisor.h) and, started by it with --shim, the process
 * above the process tree of a run (shim.h). This file only parses options and prepares the process.
 *
 * Order: inherited descriptors are closed before any is opened, so that neither shims nor runs
 * inherit them. With --detach the parent waits for a byte that the child writes when its socket
 * accepts connections; the daemon can therefore connect as soon as the parent has exited. Failure:
 * the exit status is that of the usage text, also with --detach, because the parent returns the
 * status of a child that ended before it was ready. */
#define _GNU_SOURCE /* pipe2, closefrom */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text/str.h"
#include "run/exec/shim.h"
#include "run/exec/supervisor.h"
#include "sys/log.h"

enum {
    IDLE_MS = 60 * 1000, /* default of --idle-ms */
    USAGE = 2,           /* exit status */
};

static const char usage[] =
    "usage: halligan-exec --dir DIR [--idle-ms N] [--detach]\n"
    "\n"
    "Executes the processes of runs for halligand and records how they ended, also while no\n"
    "daemon is running. The daemon starts it when it is needed.\n"
    "\n"
    "  --dir DIR      data directory of the daemon; DIR/exec is created in it\n"
    "  --idle-ms N    exit after N ms without a connected daemon and without runs (60000)\n"
    "  --detach       return when the socket accepts connections, and continue in the background\n"
    "  --help         print this text\n"
    "\n"
    "Exit status: 0 regular exit, 1 the start failed, 2 wrong usage, 3 another halligan-exec\n"
    "uses this data directory.\n";

struct options {
    const char *dir;
    int64_t idle_ms;
    bool detach;
};

static bool exec_parse_options(int argc, char **argv, struct options *out)
{
    *out = (struct options){.idle_ms = IDLE_MS};
    for (int i = 1; i < argc; i++) {
        const bool more = i + 1 < argc;
        if (strcmp(argv[i], "--detach") == 0)
            out->detach = true;
        else if (more && strcmp(argv[i], "--dir") == 0)
            out->dir = argv[++i];
        else if (more && strcmp(argv[i], "--idle-ms") == 0 &&
                 str_parse_i64(str_from(argv[i + 1]), &out->idle_ms) && out->idle_ms <= INT32_MAX)
            i++;
        else
            return false;
    }
    return out->dir != NULL;
}

/* Open /dev/null for closed standard descriptors: otherwise a socket would get a number from 0 to
 * 2, and a child would inherit it as its output. */
static bool exec_open_standard_fds(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd < 0)
        return false;
    ignore(close(fd), "its number is above the standard descriptors");
    for (int i = 0; i <= STDERR_FILENO; i++)
        ignore(fcntl(i, F_SETFD, 0), "it is open");
    return true;
}

/* In the parent: wait until the child accepts connections or has failed. */
static int exec_wait_until_ready(pid_t pid, int ready_fd)
{
    char byte;
    int status;
    ssize_t n;
    do {
        n = read(ready_fd, &byte, 1);
    } while (n < 0 && errno == EINTR);
    if (n == 1)
        return SUPERVISOR_ENDED;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return SUPERVISOR_FAILED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : SUPERVISOR_FAILED;
}

static int exec_detach(struct supervisor_setup *setup)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return SUPERVISOR_FAILED;
    const pid_t pid = fork();
    if (pid < 0)
        return SUPERVISOR_FAILED;
    if (pid > 0) {
        ignore(close(ends[1]), "the child has a copy");
        return exec_wait_until_ready(pid, ends[0]);
    }
    ignore(close(ends[0]), "the parent has a copy");
    if (setsid() < 0)
        return SUPERVISOR_FAILED;
    ignore(chdir("/"), "then it keeps a directory in use");
    setup->ready_fd = ends[1];
    return supervisor_run(setup);
}

int main(int argc, char **argv)
{
    struct options options;
    int64_t files_max;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc == 4 && strcmp(argv[1], "--shim") == 0 && str_parse_i64(str_from(argv[3]), &files_max))
        return shim_main(argv[2], (uint64_t)files_max);
    if (!exec_parse_options(argc, argv, &options)) {
        fputs(usage, stderr);
        return USAGE;
    }
    /* Close inherited descriptors: shims and runs would inherit them too. */
    closefrom(STDERR_FILENO + 1);
    if (!exec_open_standard_fds()) {
        log_print(LOG_ERROR, "\"/dev/null\": %s; halligan-exec cannot start", strerror(errno));
        return SUPERVISOR_FAILED;
    }
    struct supervisor_setup setup = {
        .dir = options.dir, .idle_ms = options.idle_ms, .ready_fd = -1};
    return options.detach ? exec_detach(&setup) : supervisor_run(&setup);
}
