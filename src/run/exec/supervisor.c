#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */
#include "run/exec/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run/exec/proc_tree.h"
#include "run/exec/shim.h"
#include "run/exec/spool.h"
#include "run/exec/state_dir.h"
#include "run/exec/supervisor_private.h"
#include "sys/clock.h"
#include "sys/log.h"

/* Owns everything in struct supervisor: lock, journal, socket, epoll descriptor, shims,
 * connections.
 *
 * Opening order: lock, journal, leftover processes, spool, socket, signals and epoll. The lock
 * comes first, because everything else assumes that there is one supervisor. Processes that
 * outlived a killed supervisor are killed before the socket accepts daemons: the daemon gets the
 * end of such a run, and may start it again.
 *
 * Order of a round: timers, sending, the decision to exit, epoll_wait, events, and at last the
 * removal of closed connections, because an event of the round may still refer to them. After
 * SIGTERM all runs are cancelled, after STOP_GRACE_MS killed, and the loop ends when no run is
 * left.
 *
 * The supervisor and its shims share one open file description of the lock, so a new supervisor
 * cannot start while a shim is still killing its process tree. On a regular exit there is no run
 * and the lock is released explicitly.
 *
 * Failure: an error during the opening is logged and ends the process with SUPERVISOR_FAILED;
 * afterwards errors cost a retry, never the process. */

enum {
    EVENTS_PER_ROUND = 64,  /* events of one epoll_wait(2) */
    BACKLOG = 16,           /* of listen(2) */
    FAILURE_PAUSE_MS = 100, /* delay after a failed epoll_wait(2) */
    STOP_GRACE_MS = 5000,   /* ms from SIGTERM of the supervisor to SIGKILL of its runs */
};

bool supervisor_watch(const struct supervisor *s, int fd, void *key, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = key};
    const bool is_watched = epoll_ctl(s->epoll, operation, fd, &event) == 0;
    must(is_watched || operation == EPOLL_CTL_ADD);
    return is_watched;
}

/* ---- event loop ---- */

static void supervisor_handle_signals(struct supervisor *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD && s->stop_at < 0) {
            log_print(LOG_NOTICE,
                      "received a termination signal; cancelling all runs and stopping");
            s->stop_at = sys_mono_ms() + STOP_GRACE_MS;
            shims_cancel_all(s->shims);
        }
    shims_reap(s->shims);
}

static int64_t supervisor_earlier(int64_t a, int64_t b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a < b ? a : b;
}

/* Run timers that are due. Returns the time of the next one in ms; -1: none. */
static int64_t supervisor_run_timers(struct supervisor *s, int64_t now)
{
    int64_t next = shims_tick(s->shims, now);
    if (s->save_at >= 0 && now >= s->save_at)
        s->save_at = exec_journal_save(s->journal) ? -1 : now + SUPERVISOR_SAVE_MS;
    if (s->stop_at >= 0 && now >= s->stop_at && !s->has_killed) {
        s->has_killed = true;
        shims_kill_all(s->shims);
    }
    next = supervisor_earlier(next, s->save_at);
    return s->has_killed ? next : supervisor_earlier(next, s->stop_at);
}

/* Only an accepted daemon keeps the supervisor alive, not any connection. */
static bool supervisor_has_daemon(const struct supervisor *s)
{
    for (const struct exec_connection *conn = s->connections; conn; conn = conn->next)
        if (conn->is_daemon)
            return true;
    return false;
}

/* The time in ms at which the supervisor exits if nothing happens; -1: a daemon is connected or a
 * run is active. */
static int64_t supervisor_exit_time(struct supervisor *s, int64_t now)
{
    if (shims_count(s->shims) > 0) {
        s->idle_since = -1;
        return -1;
    }
    if (s->stop_at >= 0)
        return now;
    if (supervisor_has_daemon(s)) {
        s->idle_since = -1;
        return -1;
    }
    if (s->idle_since < 0)
        s->idle_since = now;
    return s->bye_received || s->is_superseded ? now : s->idle_since + s->setup.idle_ms;
}

static void supervisor_loop(struct supervisor *s)
{
    struct epoll_event events[EVENTS_PER_ROUND];
    for (;;) {
        const int64_t now = sys_mono_ms();
        int64_t next = supervisor_run_timers(s, now);
        next = supervisor_earlier(next, exec_connections_send(s, now));
        const int64_t exit_at = supervisor_exit_time(s, now);
        if (exit_at >= 0 && exit_at <= now)
            return;
        next = supervisor_earlier(next, exit_at);
        const int64_t wait_ms = next < 0 ? -1 : next > now ? next - now : 0;
        const int count =
            epoll_wait(s->epoll, events, EVENTS_PER_ROUND, wait_ms > 60000 ? 60000 : (int)wait_ms);
        if (count < 0 && errno != EINTR) {
            log_print(LOG_ERROR, "epoll_wait failed: %s; trying again", strerror(errno));
            const struct timespec pause = {.tv_nsec = FAILURE_PAUSE_MS * 1000000L};
            ignore(nanosleep(&pause, NULL), "a signal ends it early");
        }
        for (int i = 0; i < count; i++) {
            void *key = events[i].data.ptr;
            if (key == &s->listener)
                exec_connections_accept(s);
            else if (key == &s->signals)
                supervisor_handle_signals(s);
            else if (!shims_ready(s->shims, key, events[i].events))
                exec_connections_ready(s, key, events[i].events);
        }
        exec_connections_remove_closed(s);
    }
}

/* ---- opening ---- */

static int supervisor_log_errno(const char *what)
{
    log_print(LOG_ERROR, "%s: %s; halligan-exec cannot start", what, strerror(errno));
    return SUPERVISOR_FAILED;
}

/* Move a descriptor above those that are passed to shims. */
static bool supervisor_move_fd_up(int *fd)
{
    const int moved = fcntl(*fd, F_DUPFD_CLOEXEC, SHIM_STATE_DIR_FD + 1);
    if (moved < 0)
        return false;
    ignore(close(*fd), "it was duplicated");
    *fd = moved;
    return true;
}

static int supervisor_lock_state_dir(struct supervisor *s)
{
    char path[64], who[32];
    if (state_dir_open(s->setup.dir, &s->state_dirfd) != OK ||
        !supervisor_move_fd_up(&s->state_dirfd))
        return supervisor_log_errno(s->setup.dir);
    snprintf(path, sizeof path, "/proc/self/fd/%d/" STATE_LOCK, s->state_dirfd);
    snprintf(who, sizeof who, "pid %d\n", (int)getpid());
    const err e = file_lock(path, str_from(who), &s->lock);
    if (e == ERR_EXISTS) {
        log_with(LOG_INFO, LOG_FIELDS(LOG_Z("holder", s->lock.holder)),
                 "another halligan-exec holds the lock of this data directory; exiting");
        return SUPERVISOR_TAKEN;
    }
    if (e != OK || !supervisor_move_fd_up(&s->lock.fd))
        return supervisor_log_errno("cannot lock the state directory");
    return SUPERVISOR_ENDED;
}

static bool supervisor_has_entry(void *self, int64_t run_id, uint32_t attempt)
{
    return exec_journal_find(self, run_id, attempt) != NULL;
}

/* The lock was free, so all shims have exited and their process trees were killed, unless the shims
 * were killed together with their supervisor. Find such processes by the token in their environment
 * and kill them, until a scan finds none, in at most 1000 scans. */
static void supervisor_kill_leftovers(struct supervisor *s)
{
    char mark[64];
    struct proc_tree tree = {0};
    uint32_t count = 0, found;
    snprintf(mark, sizeof mark, SHIM_TOKEN_ENV "%s", exec_journal_token(s->journal));
    for (int scans = 0; scans < 1000; scans++) {
        proc_tree_scan(&tree);
        found = proc_tree_kill_marked(&tree, mark);
        if (found == 0)
            break;
        count += scans == 0 ? found : 0;
        usleep(1000);
    }
    proc_tree_fini(&tree);
    log_with(
        LOG_WARNING,
        LOG_FIELDS(LOG_I64("runs", exec_journal_died(s->journal)),
                   LOG_I64("processes_killed", count)),
        "the previous halligan-exec died during runs; their processes were killed and the runs "
        "are reported as failed");
}

static int supervisor_open_journal(struct supervisor *s)
{
    if (exec_boot_id(s->boot_id) != OK)
        return supervisor_log_errno("cannot read the boot id of the kernel");
    if (exec_journal_open(s->state_dirfd, s->boot_id, &s->journal) != OK)
        return supervisor_log_errno("cannot open the journal of runs");
    if (exec_journal_died(s->journal))
        supervisor_kill_leftovers(s);
    spool_remove_unwanted(s->state_dirfd, s->journal, supervisor_has_entry);
    return SUPERVISOR_ENDED;
}

static int supervisor_listen(struct supervisor *s)
{
    const struct sockaddr_un address = state_dir_socket(s->state_dirfd);
    ignore(unlinkat(s->state_dirfd, STATE_SOCKET, 0),
           "a leftover of a killed supervisor; we hold the lock");
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const mode_t before = umask(0177);
    const bool bound = s->listener >= 0 &&
                       bind(s->listener, (const struct sockaddr *)&address, sizeof address) == 0;
    const int number = errno;
    umask(before);
    errno = number;
    if (!bound || listen(s->listener, BACKLOG) != 0)
        return supervisor_log_errno("cannot listen on the socket in the state directory");
    return SUPERVISOR_ENDED;
}

static int supervisor_open_epoll(struct supervisor *s)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    must(sigprocmask(SIG_SETMASK, &set, NULL) == 0);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (s->signals < 0 || s->epoll < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        return supervisor_log_errno("cannot set up signals and epoll");
    if (!supervisor_watch(s, s->signals, &s->signals, EPOLL_CTL_ADD, EPOLLIN) ||
        !supervisor_watch(s, s->listener, &s->listener, EPOLL_CTL_ADD, EPOLLIN))
        return supervisor_log_errno("cannot watch the socket and signals");
    return SUPERVISOR_ENDED;
}

static int supervisor_open(struct supervisor *s)
{
    struct rlimit files;
    int status = supervisor_lock_state_dir(s);
    if (status == SUPERVISOR_ENDED)
        status = supervisor_open_journal(s);
    if (status == SUPERVISOR_ENDED)
        status = supervisor_listen(s);
    if (status == SUPERVISOR_ENDED)
        status = supervisor_open_epoll(s);
    if (status != SUPERVISOR_ENDED)
        return status;
    /* The supervisor needs a descriptor for each shim; the processes of runs get the limit as it
     * was before (files_max). */
    must(getrlimit(RLIMIT_NOFILE, &files) == 0);
    s->files_max = files.rlim_cur;
    files.rlim_cur = files.rlim_max;
    ignore(setrlimit(RLIMIT_NOFILE, &files), "then fewer runs can be active at the same time");
    const struct shims_setup setup = {.epoll_fd = s->epoll,
                                      .state_dirfd = s->state_dirfd,
                                      .lock_fd = s->lock.fd,
                                      .token = exec_journal_token(s->journal),
                                      .files_max = s->files_max};
    s->shims = shims_new(
        setup, (struct shims_callbacks){.self = s, .on_message = supervisor_on_shim_message});
    return SUPERVISOR_ENDED;
}

static void supervisor_close(struct supervisor *s)
{
    const int fds[] = {s->listener, s->signals, s->epoll, s->state_dirfd};
    exec_connections_close_all(s);
    if (s->shims)
        shims_free(s->shims);
    exec_journal_close(s->journal);
    /* Remove the socket before the lock is released: afterwards it may be that of another
     * supervisor. */
    if (s->listener >= 0)
        ignore(unlinkat(s->state_dirfd, STATE_SOCKET, 0), "the next supervisor replaces it");
    /* Shims share the open file description of the lock. Those without a run must not keep a new
     * supervisor from starting, so unlock explicitly. */
    if (s->lock.fd >= 0)
        ignore(flock(s->lock.fd, LOCK_UN), "closing all descriptors has the same effect");
    file_unlock(&s->lock);
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            ignore(close(fds[i]), "nothing is pending on it");
}

int supervisor_run(const struct supervisor_setup *setup)
{
    struct supervisor s = {.setup = *setup,
                           .state_dirfd = -1,
                           .lock = {.fd = -1},
                           .listener = -1,
                           .signals = -1,
                           .epoll = -1,
                           .idle_since = -1,
                           .stop_at = -1,
                           .save_at = -1};
    const int status = supervisor_open(&s);
    if (status == SUPERVISOR_ENDED) {
        /* The starter waits for one byte, or for the end of this process. */
        if (s.setup.ready_fd >= 0) {
            ignore(write(s.setup.ready_fd, "R", 1) < 0, "the starter has exited");
            ignore(close(s.setup.ready_fd), "the byte was written");
        }
        supervisor_loop(&s);
        if (!exec_journal_save(s.journal))
            log_print(
                LOG_ERROR,
                "cannot write ends of runs to the journal: %s; the next halligan-exec reports "
                "these runs as failed",
                strerror(errno));
    }
    supervisor_close(&s);
    return status;
}
