/* halligan-exec: runs what the daemon orders, and remembers how it ended. */
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

enum { IDLE_MS = 60 * 1000, USAGE = 2 };

static const char usage[] =
    "usage: halligan-exec --dir DIR [--idle-ms N] [--detach]\n"
    "\n"
    "Runs processes for halligand and remembers how they ended, also while no daemon is there.\n"
    "The daemon starts it when it is needed.\n"
    "\n"
    "  --dir DIR      the data directory of the daemon; DIR/exec is made in it\n"
    "  --idle-ms N    end after N ms with no daemon connected and nothing running (60000)\n"
    "  --detach       return when it listens, and let it go on in a session of its own\n"
    "  --help         this text\n"
    "\n"
    "Exit status: 0 done, 1 it could not start, 2 usage, 3 another one has this directory.\n";

struct options {
    const char *dir;
    int64_t idle_ms;
    bool detach;
};

static bool parse(int argc, char **argv, struct options *out)
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

/* Low numbers that are free would be given to a socket, and then to a child as its output. */
static bool fill_standard_fds(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd < 0)
        return false;
    ignore(close(fd), "it was one too many");
    for (int i = 0; i <= STDERR_FILENO; i++)
        ignore(fcntl(i, F_SETFD, 0), "it is open");
    return true;
}

/* In the first process: wait until the other one listens, or has failed. */
static int wait_for(pid_t pid, int ready_fd)
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

static int detach(struct supervisor_setup *setup)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return SUPERVISOR_FAILED;
    const pid_t pid = fork();
    if (pid < 0)
        return SUPERVISOR_FAILED;
    if (pid > 0) {
        ignore(close(ends[1]), "only its end there counts");
        return wait_for(pid, ends[0]);
    }
    ignore(close(ends[0]), "only its end there counts");
    if (setsid() < 0)
        return SUPERVISOR_FAILED;
    ignore(chdir("/"), "then it keeps a directory busy");
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
    if (argc == 4 && strcmp(argv[1], "--lead") == 0 && str_parse_i64(str_from(argv[3]), &files_max))
        return shim_main(argv[2], (uint64_t)files_max);
    if (!parse(argc, argv, &options)) {
        fputs(usage, stderr);
        return USAGE;
    }
    /* Whoever started us may have left its own open; leads and their runs would have them too. */
    closefrom(STDERR_FILENO + 1);
    if (!fill_standard_fds()) {
        log_print(LOG_ERROR, "\"/dev/null\": %s; halligan-exec cannot start", strerror(errno));
        return SUPERVISOR_FAILED;
    }
    struct supervisor_setup setup = {
        .dir = options.dir, .idle_ms = options.idle_ms, .ready_fd = -1};
    return options.detach ? detach(&setup) : supervisor_run(&setup);
}
