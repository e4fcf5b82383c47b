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

enum {
    EVENTS_A_ROUND = 64,
    BACKLOG = 16,
    FAILURE_PAUSE_MS = 100,
    STOP_MS = 5000, /* what runs still has this long after SIGTERM */
};

bool supervisor_watch(const struct supervisor *s, int fd, void *key, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = key};
    const bool is_watched = epoll_ctl(s->epoll, operation, fd, &event) == 0;
    must(is_watched || operation == EPOLL_CTL_ADD);
    return is_watched;
}

/* ---- going round ---- */

static void take_signals(struct supervisor *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD && s->stop_at < 0) {
            log_print(LOG_NOTICE, "stopping; what runs is cancelled");
            s->stop_at = sys_mono_ms() + STOP_MS;
            shims_cancel_all(s->children);
        }
    shims_reap(s->children);
}

static int64_t sooner(int64_t a, int64_t b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a < b ? a : b;
}

/* What is due; when the next is. */
static int64_t tick(struct supervisor *s, int64_t now)
{
    int64_t next = shims_tick(s->children, now);
    if (s->save_at >= 0 && now >= s->save_at)
        s->save_at = exec_journal_save(s->journal) ? -1 : now + SUPERVISOR_SAVE_MS;
    if (s->stop_at >= 0 && now >= s->stop_at && !s->has_killed) {
        s->has_killed = true;
        shims_kill_all(s->children);
    }
    next = sooner(next, s->save_at);
    return s->has_killed ? next : sooner(next, s->stop_at);
}

/* Others may knock as often as they like: only a daemon that was accepted needs us. */
static bool has_daemon(const struct supervisor *s)
{
    for (const struct exec_connection *v = s->visitors; v; v = v->next)
        if (v->is_daemon)
            return true;
    return false;
}

/* When to go, if nothing happens; -1: not while a daemon is here or something runs. */
static int64_t leave_at(struct supervisor *s, int64_t now)
{
    if (shims_count(s->children) > 0) {
        s->alone_since = -1;
        return -1;
    }
    if (s->stop_at >= 0)
        return now;
    if (has_daemon(s)) {
        s->alone_since = -1;
        return -1;
    }
    if (s->alone_since < 0)
        s->alone_since = now;
    return s->has_said_bye || s->is_superseded ? now : s->alone_since + s->setup.idle_ms;
}

static void dispatch(struct supervisor *s, const struct epoll_event *event)
{
    void *key = event->data.ptr;
    if (key == &s->listener)
        visitors_let_in(s);
    else if (key == &s->signals)
        take_signals(s);
    else if (!shims_ready(s->children, key, event->events))
        visitors_ready(s, key, event->events);
}

static void go_round(struct supervisor *s)
{
    struct epoll_event events[EVENTS_A_ROUND];
    for (;;) {
        const int64_t now = sys_mono_ms();
        int64_t next = tick(s, now);
        next = sooner(next, exec_connections_send(s, now));
        const int64_t leave = leave_at(s, now);
        if (leave >= 0 && leave <= now)
            return;
        next = sooner(next, leave);
        const int64_t wait_ms = next < 0 ? -1 : next > now ? next - now : 0;
        const int count =
            epoll_wait(s->epoll, events, EVENTS_A_ROUND, wait_ms > 60000 ? 60000 : (int)wait_ms);
        if (count < 0 && errno != EINTR) {
            log_print(LOG_ERROR, "epoll_wait failed: %s; trying again", strerror(errno));
            const struct timespec pause = {.tv_nsec = FAILURE_PAUSE_MS * 1000000L};
            ignore(nanosleep(&pause, NULL), "a signal ends it early");
        }
        for (int i = 0; i < count; i++)
            dispatch(s, &events[i]);
        visitors_forget_gone(s);
    }
}

/* ---- opening ---- */

static int complain(const char *what)
{
    log_print(LOG_ERROR, "%s: %s; halligan-exec cannot start", what, strerror(errno));
    return SUPERVISOR_FAILED;
}

/* Leads want their descriptors at low numbers. */
static bool move_up(int *fd)
{
    const int moved = fcntl(*fd, F_DUPFD_CLOEXEC, LEAD_PLACE_FD + 1);
    if (moved < 0)
        return false;
    ignore(close(*fd), "it lives on under another number");
    *fd = moved;
    return true;
}

static int take_place(struct supervisor *s)
{
    char path[64], who[32];
    if (state_dir_open(s->setup.dir, &s->place) != OK || !move_up(&s->place))
        return complain(s->setup.dir);
    snprintf(path, sizeof path, "/proc/self/fd/%d/" PLACE_LOCK, s->place);
    snprintf(who, sizeof who, "pid %d\n", (int)getpid());
    const err e = file_lock(path, str_from(who), &s->lock);
    if (e == ERR_EXISTS) {
        log_with(LOG_INFO, LOG_FIELDS(LOG_Z("holder", s->lock.holder)),
                 "another halligan-exec has this directory");
        return SUPERVISOR_TAKEN;
    }
    if (e != OK || !move_up(&s->lock.fd))
        return complain(PLACE_LOCK);
    return SUPERVISOR_ENDED;
}

static bool is_wanted(void *self, int64_t run_id, uint32_t attempt)
{
    return exec_journal_find(self, run_id, attempt) != NULL;
}

/* The lock was free, so all leads are gone, and with them what they led; unless they were killed
 * together with their supervisor. Whoever carries our mark then is found by it. */
static void kill_left_over(struct supervisor *s)
{
    char mark[64];
    struct proc_tree family = {0};
    uint32_t count = 0, found;
    snprintf(mark, sizeof mark, LEAD_MARK "%s", exec_journal_token(s->journal));
    for (int looks = 0; looks < 1000; looks++) {
        proc_tree_scan(&family);
        found = proc_tree_kill_marked(&family, mark);
        if (found == 0)
            break;
        count += looks == 0 ? found : 0;
        usleep(1000);
    }
    proc_tree_fini(&family);
    log_with(LOG_WARNING,
             LOG_FIELDS(LOG_I64("runs", exec_journal_died(s->journal)),
                        LOG_I64("processes_killed", count)),
             "the halligan-exec before this one died with runs");
}

static int open_journal(struct supervisor *s)
{
    if (exec_boot_id(s->boot_id) != OK)
        return complain("the boot id of the kernel");
    if (exec_journal_open(s->place, s->boot_id, &s->journal) != OK)
        return complain("its journal");
    if (exec_journal_died(s->journal))
        kill_left_over(s);
    spool_sweep(s->place, s->journal, is_wanted);
    return SUPERVISOR_ENDED;
}

static void raise_files(struct supervisor *s)
{
    struct rlimit files;
    must(getrlimit(RLIMIT_NOFILE, &files) == 0);
    s->files_max = files.rlim_cur;
    files.rlim_cur = files.rlim_max;
    ignore(setrlimit(RLIMIT_NOFILE, &files), "then there is room for fewer runs");
}

static int listen_there(struct supervisor *s)
{
    const struct sockaddr_un address = state_dir_socket(s->place);
    ignore(unlinkat(s->place, PLACE_SOCKET, 0), "of one that was killed; we hold the lock");
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const mode_t before = umask(0177);
    const bool bound = s->listener >= 0 &&
                       bind(s->listener, (const struct sockaddr *)&address, sizeof address) == 0;
    const int number = errno;
    umask(before);
    errno = number;
    if (!bound || listen(s->listener, BACKLOG) != 0)
        return complain("its socket");
    return SUPERVISOR_ENDED;
}

static int open_events(struct supervisor *s)
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
        return complain("its events");
    if (!supervisor_watch(s, s->signals, &s->signals, EPOLL_CTL_ADD, EPOLLIN) ||
        !supervisor_watch(s, s->listener, &s->listener, EPOLL_CTL_ADD, EPOLLIN))
        return complain("its events");
    return SUPERVISOR_ENDED;
}

static int open_all(struct supervisor *s)
{
    int status = take_place(s);
    if (status == SUPERVISOR_ENDED)
        status = open_journal(s);
    if (status == SUPERVISOR_ENDED)
        status = listen_there(s);
    if (status == SUPERVISOR_ENDED)
        status = open_events(s);
    if (status != SUPERVISOR_ENDED)
        return status;
    raise_files(s);
    const struct shims_setup setup = {.epoll_fd = s->epoll,
                                      .state_dirfd = s->place,
                                      .lock_fd = s->lock.fd,
                                      .token = exec_journal_token(s->journal),
                                      .files_max = s->files_max};
    s->children =
        shims_new(setup, (struct shims_seams){.self = s, .told = supervisor_on_shim_message});
    return SUPERVISOR_ENDED;
}

static void tell_ready(struct supervisor *s)
{
    if (s->setup.ready_fd < 0)
        return;
    ignore(write(s->setup.ready_fd, "R", 1) < 0, "whoever wanted to know has gone");
    ignore(close(s->setup.ready_fd), "it is said");
}

static void close_all(struct supervisor *s)
{
    const int fds[] = {s->listener, s->signals, s->epoll, s->place};
    visitors_dismiss_all(s);
    if (s->children)
        shims_free(s->children);
    exec_journal_close(s->journal);
    /* While the lock is ours: nobody else's socket goes. */
    if (s->listener >= 0)
        ignore(unlinkat(s->place, PLACE_SOCKET, 0), "the next one makes its own");
    /* Leads share the lock, and those without a run need not keep others from starting. */
    if (s->lock.fd >= 0)
        ignore(flock(s->lock.fd, LOCK_UN), "closing it everywhere does the same");
    file_unlock(&s->lock);
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            ignore(close(fds[i]), "we are done with it");
}

int supervisor_run(const struct supervisor_setup *setup)
{
    struct supervisor s = {.setup = *setup,
                           .place = -1,
                           .lock = {.fd = -1},
                           .listener = -1,
                           .signals = -1,
                           .epoll = -1,
                           .alone_since = -1,
                           .stop_at = -1,
                           .save_at = -1};
    const int status = open_all(&s);
    if (status == SUPERVISOR_ENDED) {
        tell_ready(&s);
        go_round(&s);
        if (!exec_journal_save(s.journal))
            log_print(LOG_ERROR, "ends of runs could not be written to the journal: %s",
                      strerror(errno));
    }
    close_all(&s);
    return status;
}
