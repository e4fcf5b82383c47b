#define _GNU_SOURCE /* waitid with WNOWAIT, closefrom */
#include "run/exec/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem/arena.h"
#include "run/exec/link.h"
#include "run/exec/proc_tree.h"
#include "run/exec/shim_spawn.h"
#include "run/exec/spool.h"
#include "sys/clock.h"
#include "sys/log.h"

enum {
    PIECE_SIZE = 64 << 10,  /* read from a child at once */
    PIECES_A_ROUND = 4,     /* from each pipe, before we look at anything else */
    PIECES_AT_THE_END = 64, /* more than a pipe holds */
    AGAIN_MS = 10,          /* until survivors are looked for again; doubled each time, up to */
    AGAIN_MS_MAX = 1000,
    PATIENCE = 20, /* looks until somebody is told that they do not die */
    FAILURE_PAUSE_MS = 100,
    BEGUN_MS = 20, /* until it is told that a run has begun; a shorter one is told as a whole */
};

struct lead {
    struct link link;
    int signals; /* SIGCHLD as a descriptor */
    const char *token;
    struct proc_tree family;
    struct arena arena;
    bool is_left; /* the supervisor is gone */

    /* The run; leader == 0: there is none. */
    struct exec_spawn spec;
    pid_t leader;
    bool leader_is_gone;
    siginfo_t leader_end;
    int out_fd;
    int log_fd;
    int held[2]; /* the ends it writes to: that it is over is told by its end, once */
    struct spool spool;

    enum exec_how stopped; /* EXEC_NO_HOW, EXEC_DEADLINE or EXEC_CANCELLED */
    bool is_killing;
    uint32_t looks;
    /* Monotonic ms; -1: not set. */
    int64_t begun_at; /* when its beginning is told */
    int64_t deadline_at;
    int64_t kill_at;
    int64_t again_at;
};

/* ---- telling the supervisor ---- */

/* A supervisor that does not read until the link is full is treated as one that is gone. */
static void put(struct lead *l, const struct exec_message *message)
{
    if (!l->is_left && link_put(&l->link, message) != OK)
        l->is_left = true;
}

static void tell(struct lead *l, const struct exec_message *message)
{
    put(l, message);
    if (!l->is_left && link_flush(&l->link) != OK)
        l->is_left = true;
}

static struct exec_message beginning(struct lead *l)
{
    l->begun_at = -1;
    return (struct exec_message){
        .kind = EXEC_BEGUN,
        .begun = {.run_id = l->spec.run_id, .attempt = l->spec.attempt, .pid = l->leader}};
}

static void tell_not_started(struct lead *l, const char *reason)
{
    const struct exec_ended ended = {.run_id = l->spec.run_id,
                                     .attempt = l->spec.attempt,
                                     .how = EXEC_NOT_STARTED,
                                     .reason = str_from(reason)};
    tell(l, &(struct exec_message){.kind = EXEC_ENDED, .ended = ended});
}

/* ---- what the run writes ---- */

static char piece[PIECE_SIZE];

/* At most `pieces`. There is no end of file while the other end is held; an error is one. */
static void drain(struct lead *l, int *fd, int pieces)
{
    for (int i = 0; i < pieces && *fd >= 0; i++) {
        const ssize_t n = read(*fd, piece, sizeof piece);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        if (n <= 0) {
            ignore(close(*fd), "there is nothing more to read");
            *fd = -1;
            return;
        }
        const struct str bytes = {piece, (uint32_t)n};
        if (fd == &l->out_fd)
            spool_put_out(&l->spool, bytes);
        else
            spool_put_log(&l->spool, bytes);
    }
}

/* Everybody is dead, so what the pipes hold is all there will be. An end held open by a stranger
 * who was given it is no reason to wait. */
static void drain_rest(struct lead *l, int *fd)
{
    drain(l, fd, PIECES_AT_THE_END);
    if (*fd >= 0)
        ignore(close(*fd), "nobody of the run is left to write");
    *fd = -1;
}

/* ---- the end ---- */

static void explain(const struct lead *l, const struct exec_ended *ended, char *out, size_t size)
{
    const bool exited = l->leader_end.si_code == CLD_EXITED;
    int len = 0;
    out[0] = 0;
    if (l->stopped != EXEC_NO_HOW)
        len = snprintf(out, size, "%s; it ended with %s %d",
                       l->stopped == EXEC_DEADLINE ? "its time was up" : "cancelled",
                       exited ? "status" : "signal", l->leader_end.si_status);
    if (l->spool.number && len >= 0 && (size_t)len < size)
        snprintf(out + len, size - (size_t)len,
                 "%soutput was lost (%s): %lld bytes of the result, %lld of the log",
                 len ? "; " : "", strerror(l->spool.number), (long long)ended->out_dropped,
                 (long long)ended->log_dropped);
}

static enum exec_how how_it_ended(const struct lead *l)
{
    if (l->stopped != EXEC_NO_HOW)
        return l->stopped;
    return l->leader_end.si_code == CLD_EXITED ? EXEC_EXITED : EXEC_SIGNALLED;
}

static void finish(struct lead *l)
{
    char reason[EXEC_REASON_MAX + 1];
    drain_rest(l, &l->out_fd);
    drain_rest(l, &l->log_fd);
    ignore(close(l->held[0]), "nothing was written through it");
    ignore(close(l->held[1]), "nothing was written through it");
    struct exec_ended ended = {.run_id = l->spec.run_id,
                               .attempt = l->spec.attempt,
                               .how = how_it_ended(l),
                               .code = (uint32_t)l->leader_end.si_status,
                               .out_size = l->spool.out.size,
                               .out_dropped = l->spool.out.dropped,
                               .log_size = spool_log_size(&l->spool),
                               .log_dropped = spool_log_dropped(&l->spool)};
    explain(l, &ended, reason, sizeof reason);
    ended.reason = str_from(reason);
    spool_fini(&l->spool);
    if (l->begun_at >= 0) {
        const struct exec_message begun = beginning(l);
        put(l, &begun);
    }
    l->leader = 0;
    arena_reset(&l->arena);
    tell(l, &(struct exec_message){.kind = EXEC_ENDED, .ended = ended});
}

/* ---- stopping ---- */

static int64_t later(int64_t now, int64_t ms)
{
    return ms < INT64_MAX - now ? now + ms : INT64_MAX;
}

/* In its own log too, where whoever waits for the run looks. */
static void say_it_lives(struct lead *l, uint32_t count)
{
    char line[128];
    const struct proc_tree_member *member = proc_tree_survivor(&l->family);
    log_with(LOG_WARNING,
             LOG_FIELDS(LOG_I64("run", l->spec.run_id), LOG_I64("attempt", l->spec.attempt),
                        LOG_I64("processes", count)),
             "what a run has left does not die; waiting for it");
    if (!member)
        return;
    snprintf(line, sizeof line, "halligan: process %d does not die (state %c); waiting for it\n",
             (int)member->pid, member->state);
    spool_put_log(&l->spool, str_from(line));
}

static void kill_all(struct lead *l)
{
    /* The group first: no member of it can escape by forking meanwhile. */
    if (!l->leader_is_gone)
        ignore(kill(-l->leader, SIGKILL), "it may have left its group");
    proc_tree_scan(&l->family);
    const uint32_t count = proc_tree_signal(&l->family, SIGKILL);
    int64_t wait_ms = AGAIN_MS_MAX;
    if (l->looks < 7)
        wait_ms = (int64_t)AGAIN_MS << l->looks;
    if (++l->looks == PATIENCE)
        say_it_lives(l, count);
    l->is_killing = true;
    l->deadline_at = l->kill_at = -1;
    l->again_at = later(sys_mono_ms(), wait_ms);
}

/* TERM to the whole tree, and CONT so that those who sleep hear it. */
static void stop(struct lead *l, enum exec_how why)
{
    if (l->stopped != EXEC_NO_HOW || l->is_killing)
        return;
    l->stopped = why;
    l->deadline_at = -1;
    if (l->spec.grace_ms == 0) {
        kill_all(l);
        return;
    }
    proc_tree_scan(&l->family);
    proc_tree_signal(&l->family, SIGTERM);
    proc_tree_signal(&l->family, SIGCONT);
    l->kill_at = later(sys_mono_ms(), l->spec.grace_ms);
}

static void keep_time(struct lead *l)
{
    const int64_t now = sys_mono_ms();
    if (!l->leader)
        return;
    if (l->begun_at >= 0 && now >= l->begun_at) {
        const struct exec_message begun = beginning(l);
        tell(l, &begun);
    }
    if (l->deadline_at >= 0 && now >= l->deadline_at)
        stop(l, EXEC_DEADLINE);
    if ((l->kill_at >= 0 && now >= l->kill_at) || (l->again_at >= 0 && now >= l->again_at))
        kill_all(l);
}

/* ---- taking ends ---- */

static void take_leader(struct lead *l, const siginfo_t *end)
{
    l->leader_end = *end;
    l->deadline_at = -1;
    /* Before its number is free: those of its group that it left behind. Whoever was given a grace
     * has it still. */
    if (l->kill_at < 0)
        ignore(kill(-l->leader, SIGKILL), "mostly there is nobody");
    l->leader_is_gone = true;
}

/* Take the end of every process that has one. True when nobody is left. */
static bool take_ends(struct lead *l)
{
    for (;;) {
        siginfo_t end = {.si_pid = 0};
        if (waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT) != 0)
            return errno == ECHILD;
        if (end.si_pid == 0)
            return false;
        if (end.si_pid == l->leader)
            take_leader(l, &end);
        ignore(waitid(P_PID, (id_t)end.si_pid, &end, WEXITED | WNOHANG), "it was there just now");
    }
}

static void look_after(struct lead *l)
{
    if (!l->leader)
        return;
    const bool nobody = take_ends(l);
    if (nobody && l->leader_is_gone)
        finish(l);
    else if (l->leader_is_gone && l->kill_at < 0 && !l->is_killing)
        kill_all(l);
    if (l->is_killing && l->leader) {
        /* What the dead left has come to us. Many die at once: one look is for all of them. */
        l->looks = 0;
        l->again_at = later(sys_mono_ms(), 1);
    }
}

/* ---- the start ---- */

static void start(struct lead *l, const struct exec_spawn *spec)
{
    struct lead_start begin;
    must(!l->leader);
    arena_reset(&l->arena);
    l->spec = *spec;
    if (!shim_spawn(&l->arena, spec, l->token, &begin)) {
        tell_not_started(l, begin.reason);
        return;
    }
    l->leader = begin.pid;
    l->leader_is_gone = l->is_killing = false;
    l->stopped = EXEC_NO_HOW;
    l->looks = 0;
    l->out_fd = begin.out;
    l->log_fd = begin.log;
    l->held[0] = begin.held[0];
    l->held[1] = begin.held[1];
    l->begun_at = later(sys_mono_ms(), BEGUN_MS);
    l->deadline_at = spec->deadline_ms ? later(sys_mono_ms(), spec->deadline_ms) : -1;
    l->kill_at = l->again_at = -1;
    spool_init(&l->spool, LEAD_PLACE_FD, spec->run_id, spec->attempt);
    spool_limit(&l->spool, spec->out_max, spec->log_max);
}

/* ---- orders ---- */

static void obey(struct lead *l, const struct exec_message *m)
{
    switch (m->kind) {
    case EXEC_SPAWN: start(l, &m->spawn); return;
    case EXEC_CANCEL:
        if (l->leader && m->run.run_id == l->spec.run_id && m->run.attempt == l->spec.attempt)
            stop(l, EXEC_CANCELLED);
        return;
    case EXEC_BYE: /* the supervisor has no more patience */
        if (l->leader && !l->is_killing) {
            l->stopped = l->stopped == EXEC_NO_HOW ? EXEC_CANCELLED : l->stopped;
            kill_all(l);
        }
        return;
    case EXEC_NOTHING:
    case EXEC_HELLO:
    case EXEC_QUERY:
    case EXEC_FORGET:
    case EXEC_SETTLED:
    case EXEC_LIST:
    case EXEC_WELCOME:
    case EXEC_BEGUN:
    case EXEC_ENDED:
    case EXEC_NOT_KNOWN:
    case EXEC_FENCED:
    case EXEC_KIND_END: break;
    }
    impossible("an order that is none for a lead");
}

static void take_orders(struct lead *l)
{
    struct exec_message m;
    if (l->is_left)
        return;
    if (link_fill(&l->link) != OK) {
        l->is_left = true;
        return;
    }
    err e;
    while ((e = link_take(&l->link, &m)) == OK)
        obey(l, &m);
    if (e != ERR_NOT_FOUND)
        l->is_left = true; /* what it sends cannot be decoded */
}

/* ---- going round ---- */

static int wait_ms(const struct lead *l)
{
    int64_t next = -1;
    const int64_t times[] = {l->begun_at, l->deadline_at, l->kill_at, l->again_at};
    if (!l->leader)
        return -1;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        if (times[i] >= 0 && (next < 0 || times[i] < next))
            next = times[i];
    if (next < 0)
        return -1;
    const int64_t left = next - sys_mono_ms();
    return left <= 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static void pause_after_failure(void)
{
    const struct timespec pause = {.tv_nsec = FAILURE_PAUSE_MS * 1000000L};
    ignore(nanosleep(&pause, NULL), "a signal ends it early");
}

static void go_round(struct lead *l)
{
    struct pollfd fds[] = {
        {.fd = l->is_left ? -1 : l->link.fd, .events = POLLIN},
        {.fd = l->signals, .events = POLLIN},
        {.fd = l->leader ? l->out_fd : -1, .events = POLLIN},
        {.fd = l->leader ? l->log_fd : -1, .events = POLLIN},
    };
    if (link_is_waiting(&l->link))
        fds[0].events |= POLLOUT;
    if (poll(fds, sizeof fds / sizeof fds[0], wait_ms(l)) < 0) {
        if (errno != EINTR)
            pause_after_failure(); /* the kernel has no memory for it at the moment */
        return;
    }
    if (fds[2].revents)
        drain(l, &l->out_fd, PIECES_A_ROUND);
    if (fds[3].revents)
        drain(l, &l->log_fd, PIECES_A_ROUND);
    if (fds[1].revents) {
        struct signalfd_siginfo info;
        ignore(read(l->signals, &info, sizeof info) < 0, "many deaths may be one signal anyway");
        look_after(l);
    }
    if (fds[0].revents & POLLOUT && link_flush(&l->link) != OK)
        l->is_left = true;
    if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
        take_orders(l);
    keep_time(l);
}

/* ---- from start to end ---- */

static bool prepare(struct lead *l, uint64_t files_max)
{
    struct rlimit files;
    sigset_t set;
    closefrom(LEAD_PLACE_FD + 1);
    if (chdir("/") != 0) /* where a run begins that was not told where */
        return false;
    for (int fd = LEAD_LINK_FD; fd <= LEAD_PLACE_FD; fd++)
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
            return false;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || getrlimit(RLIMIT_NOFILE, &files) != 0)
        return false;
    files.rlim_cur = files_max < files.rlim_max ? files_max : files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        return false;
    /* The supervisor says when it is time; others have no say. */
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    must(sigprocmask(SIG_SETMASK, &set, NULL) == 0);
    l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return l->signals >= 0;
}

int shim_main(const char *token, uint64_t files_max)
{
    struct lead l = {.token = token, .out_fd = -1, .log_fd = -1};
    if (!prepare(&l, files_max)) {
        log_print(LOG_ERROR, "halligan-exec --lead is started by halligan-exec only");
        return 2;
    }
    l.is_left = !link_init(&l.link, LEAD_LINK_FD);
    while (!l.is_left || l.leader) {
        if (l.is_left && !l.is_killing)
            kill_all(&l);
        go_round(&l);
    }
    link_fini(&l.link);
    proc_tree_fini(&l.family);
    arena_fini(&l.arena);
    return 0;
}
