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
#include "run/exec/exec_link.h"
#include "run/exec/proc_tree.h"
#include "run/exec/shim_spawn.h"
#include "run/exec/spool.h"
#include "sys/clock.h"
#include "sys/log.h"

/* One shim owns at most one run: the process tree below it, the two pipes of its output, and the
 * writer of its spool files. It is single-threaded: shim_poll_once waits for the connection to the
 * supervisor, SIGCHLD, the pipes and the timers.
 *
 * Start: EXEC_SPAWN creates the first process (root_pid). EXEC_BEGUN is delayed by REPORT_START_MS,
 * so that a short run is reported in one packet with its end.
 *
 * Stop: a deadline or a cancellation sends SIGTERM to the tree and arms kill_at; after the grace
 * period, or at once if the first process has exited without a stop, shim_kill_tree scans and kills
 * until no descendant is left. The shim is the child subreaper, so orphans are reparented to it and
 * none can escape.
 *
 * End: the run has ended when the first process has exited and waitid(2) returns ECHILD. Only then
 * are the pipes drained, the spool files closed and EXEC_ENDED sent, in this order: a reader that
 * sees the end can read the complete output.
 *
 * Failure: a process that cannot be created is reported as EXEC_NOT_STARTED. Output that cannot be
 * written to the spool is lost and counted; the run continues. If the supervisor is gone (EOF, or a
 * full or corrupt connection), the shim kills its tree, reaps it and exits; the supervisor, or the
 * next one, reports the run as EXEC_DIED_WITH_SUPERVISOR. */

enum {
    CHUNK_SIZE = 64 << 10, /* bytes of one read(2) */
    CHUNKS_PER_ROUND = 4,  /* reads from each pipe before other events are handled */
    CHUNKS_AT_END = 64,    /* enough to empty a full pipe */
    /* delay before the next scan for survivors; doubled each round up to */
    RESCAN_MS = 10,
    RESCAN_MS_MAX = 1000,
    ROUNDS_UNTIL_WARNING = 20, /* kill rounds without effect before a warning is logged */
    FAILURE_PAUSE_MS = 100,    /* delay after a failed poll(2) */
    REPORT_START_MS = 20,      /* delay of EXEC_BEGUN */
};

struct shim {
    struct link link;
    int signals;                /* signalfd of SIGCHLD */
    const char *token;          /* of the journal; marks the processes of runs (shim.h) */
    struct proc_tree proc_tree; /* the last scan of /proc */
    struct arena arena;         /* strings of the start; reset for each run */
    bool supervisor_gone;       /* the connection to the supervisor failed or was closed */

    /* The run; root_pid == 0: there is none. */
    struct exec_spawn spec;
    pid_t root_pid;
    bool root_exited; /* root_status is set; the process is reaped at once */
    siginfo_t root_status;
    int out_fd; /* read ends of the pipes; -1: closed */
    int log_fd;
    /* write ends of both pipes: the run has ended when its processes have, not at EOF */
    int write_ends[2];
    struct spool spool;

    enum exec_how stop_cause; /* EXEC_NO_HOW, EXEC_DEADLINE or EXEC_CANCELLED */
    bool killing;             /* SIGKILL is sent in rounds until no process is left */
    uint32_t kill_rounds;     /* consecutive rounds in which no process ended */
    /* Times of the monotonic clock in ms; -1: not set. */
    int64_t report_start_at; /* EXEC_BEGUN is due */
    int64_t deadline_at;
    int64_t kill_at;   /* end of the grace period after SIGTERM */
    int64_t rescan_at; /* next kill round */
};

/* ---- messages to the supervisor ---- */

/* A supervisor that does not read until the buffer is full is treated as gone. */
static void shim_queue_message(struct shim *s, const struct exec_message *message)
{
    if (!s->supervisor_gone && exec_link_put(&s->link, message) != OK)
        s->supervisor_gone = true;
}

static void shim_send_message(struct shim *s, const struct exec_message *message)
{
    shim_queue_message(s, message);
    if (!s->supervisor_gone && link_flush(&s->link) != OK)
        s->supervisor_gone = true;
}

static struct exec_message shim_start_message(struct shim *s)
{
    s->report_start_at = -1;
    return (struct exec_message){
        .kind = EXEC_BEGUN,
        .begun = {.run_id = s->spec.run_id, .attempt = s->spec.attempt, .pid = s->root_pid}};
}

/* ---- output ---- */

static char chunk[CHUNK_SIZE];

/* Copy at most `chunks` reads of a pipe to the spool. There is no EOF while the shim holds the
 * write end; an error closes the pipe. */
static void shim_drain_pipe(struct shim *s, int *fd, int chunks)
{
    for (int i = 0; i < chunks && *fd >= 0; i++) {
        const ssize_t n = read(*fd, chunk, sizeof chunk);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        if (n <= 0) {
            ignore(close(*fd), "a read end that failed");
            *fd = -1;
            return;
        }
        const struct str bytes = {chunk, (uint32_t)n};
        if (fd == &s->out_fd)
            spool_put_out(&s->spool, bytes);
        else
            spool_put_log(&s->spool, bytes);
    }
}

/* All processes of the run are reaped, so the pipes contain all remaining output. Close them even
 * if an unrelated process has inherited a write end. */
static void shim_drain_and_close(struct shim *s, int *fd)
{
    shim_drain_pipe(s, fd, CHUNKS_AT_END);
    if (*fd >= 0)
        ignore(close(*fd), "no process of the run is left that could write");
    *fd = -1;
}

/* ---- end of a run ---- */

static void shim_format_reason(const struct shim *s, const struct exec_ended *ended, char *out,
                               size_t size)
{
    const bool exited = s->root_status.si_code == CLD_EXITED;
    int len = 0;
    out[0] = 0;
    if (s->stop_cause != EXEC_NO_HOW)
        len = snprintf(out, size, "%s; it exited with %s %d",
                       s->stop_cause == EXEC_DEADLINE ? "deadline exceeded" : "cancelled",
                       exited ? "status" : "signal", s->root_status.si_status);
    if (s->spool.first_errno && len >= 0 && (size_t)len < size)
        snprintf(out + len, size - (size_t)len,
                 "%soutput was lost (%s): %lld bytes of the result, %lld of the log",
                 len ? "; " : "", strerror(s->spool.first_errno), (long long)ended->out_dropped,
                 (long long)ended->log_dropped);
}

static void shim_finish_run(struct shim *s)
{
    char reason[EXEC_REASON_MAX + 1];
    /* All processes are reaped: read the rest of the pipes, then release the write ends. */
    shim_drain_and_close(s, &s->out_fd);
    shim_drain_and_close(s, &s->log_fd);
    ignore(close(s->write_ends[0]), "nothing was written through it");
    ignore(close(s->write_ends[1]), "nothing was written through it");
    enum exec_how how = s->stop_cause;
    if (how == EXEC_NO_HOW)
        how = s->root_status.si_code == CLD_EXITED ? EXEC_EXITED : EXEC_SIGNALLED;
    struct exec_ended ended = {.run_id = s->spec.run_id,
                               .attempt = s->spec.attempt,
                               .how = how,
                               .code = (uint32_t)s->root_status.si_status,
                               .out_size = s->spool.out.size,
                               .out_dropped = s->spool.out.dropped,
                               .log_size = spool_log_size(&s->spool),
                               .log_dropped = spool_log_dropped(&s->spool)};
    shim_format_reason(s, &ended, reason, sizeof reason);
    ended.reason = str_from(reason);
    /* Close the spool before the end is sent, so that a reader of the end finds the complete
     * output. */
    spool_fini(&s->spool);
    if (s->report_start_at >= 0) {
        const struct exec_message begun = shim_start_message(s);
        shim_queue_message(s, &begun);
    }
    s->root_pid = 0;
    arena_reset(&s->arena);
    shim_send_message(s, &(struct exec_message){.kind = EXEC_ENDED, .ended = ended});
}

/* ---- stop ---- */

static int64_t shim_add_ms(int64_t now, int64_t ms)
{
    return ms < INT64_MAX - now ? now + ms : INT64_MAX;
}

/* Also written to the log of the run, which is what its operator reads. */
static void shim_log_survivors(struct shim *s, uint32_t count)
{
    char line[128];
    const struct proc_tree_member *member = proc_tree_survivor(&s->proc_tree);
    log_with(
        LOG_WARNING,
        LOG_FIELDS(LOG_I64("run", s->spec.run_id), LOG_I64("attempt", s->spec.attempt),
                   LOG_I64("processes", count)),
        "processes of a run are still alive after repeated SIGKILL; the run does not end before "
        "they exit");
    if (!member)
        return;
    snprintf(line, sizeof line,
             "halligan: process %d is still alive after SIGKILL (state %c); waiting for it\n",
             (int)member->pid, member->state);
    spool_put_log(&s->spool, str_from(line));
}

static void shim_kill_tree(struct shim *s)
{
    /* Kill the process group before the scan: no member can fork out of a scan that is made
     * afterwards. */
    if (!s->root_exited)
        ignore(kill(-s->root_pid, SIGKILL), "the group may be empty");
    proc_tree_scan(&s->proc_tree);
    const uint32_t count = proc_tree_signal(&s->proc_tree, SIGKILL);
    int64_t delay_ms = RESCAN_MS_MAX;
    if (s->kill_rounds < 7)
        delay_ms = (int64_t)RESCAN_MS << s->kill_rounds;
    if (++s->kill_rounds == ROUNDS_UNTIL_WARNING)
        shim_log_survivors(s, count);
    s->killing = true;
    s->deadline_at = s->kill_at = -1;
    s->rescan_at = shim_add_ms(sys_mono_ms(), delay_ms);
}

/* Send SIGTERM to the whole tree, and SIGCONT so that stopped processes handle it. A grace period
 * of 0 kills at once. Only the first cause is recorded. */
static void shim_stop_run(struct shim *s, enum exec_how why)
{
    if (s->stop_cause != EXEC_NO_HOW || s->killing)
        return;
    s->stop_cause = why;
    s->deadline_at = -1;
    if (s->spec.grace_ms == 0) {
        shim_kill_tree(s);
        return;
    }
    proc_tree_scan(&s->proc_tree);
    proc_tree_signal(&s->proc_tree, SIGTERM);
    proc_tree_signal(&s->proc_tree, SIGCONT);
    s->kill_at = shim_add_ms(sys_mono_ms(), s->spec.grace_ms);
}

static void shim_run_timers(struct shim *s)
{
    const int64_t now = sys_mono_ms();
    if (!s->root_pid)
        return;
    if (s->report_start_at >= 0 && now >= s->report_start_at) {
        const struct exec_message begun = shim_start_message(s);
        shim_send_message(s, &begun);
    }
    if (s->deadline_at >= 0 && now >= s->deadline_at)
        shim_stop_run(s, EXEC_DEADLINE);
    if ((s->kill_at >= 0 && now >= s->kill_at) || (s->rescan_at >= 0 && now >= s->rescan_at))
        shim_kill_tree(s);
}

/* ---- SIGCHLD ---- */

/* Reap every child that has exited. True if no child is left. WNOWAIT leaves the zombie in place
 * until its group has been signalled. */
static bool shim_reap(struct shim *s)
{
    for (;;) {
        siginfo_t end = {.si_pid = 0};
        if (waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT) != 0)
            return errno == ECHILD;
        if (end.si_pid == 0)
            return false;
        if (end.si_pid == s->root_pid) {
            s->root_status = end;
            s->deadline_at = -1;
            /* Kill the process group before its leader is reaped: after that the kernel may give
             * the group id to an unrelated process. During a grace period the group is left alone,
             * so that it can end by itself. */
            if (s->kill_at < 0)
                ignore(kill(-s->root_pid, SIGKILL), "the group is usually empty");
            s->root_exited = true;
        }
        ignore(waitid(P_PID, (id_t)end.si_pid, &end, WEXITED | WNOHANG),
               "it was a zombie just now");
    }
}

static void shim_on_sigchld(struct shim *s)
{
    if (!s->root_pid)
        return;
    const bool all_reaped = shim_reap(s);
    if (all_reaped && s->root_exited)
        shim_finish_run(s);
    else if (s->root_exited && s->kill_at < 0 && !s->killing)
        shim_kill_tree(s);
    if (s->killing && s->root_pid) {
        /* Orphans were reparented to us, so scan again at once, without backoff. One scan in 1 ms
         * covers many exits. */
        s->kill_rounds = 0;
        s->rescan_at = shim_add_ms(sys_mono_ms(), 1);
    }
}

/* ---- start of a run ---- */

static void shim_start_run(struct shim *s, const struct exec_spawn *spec)
{
    struct shim_child child;
    must(!s->root_pid);
    arena_reset(&s->arena);
    s->spec = *spec;
    if (!shim_spawn(&s->arena, spec, s->token, &child)) {
        const struct exec_ended ended = {.run_id = spec->run_id,
                                         .attempt = spec->attempt,
                                         .how = EXEC_NOT_STARTED,
                                         .reason = str_from(child.reason)};
        shim_send_message(s, &(struct exec_message){.kind = EXEC_ENDED, .ended = ended});
        return;
    }
    s->root_pid = child.pid;
    s->root_exited = s->killing = false;
    s->stop_cause = EXEC_NO_HOW;
    s->kill_rounds = 0;
    s->out_fd = child.out;
    s->log_fd = child.log;
    s->write_ends[0] = child.write_ends[0];
    s->write_ends[1] = child.write_ends[1];
    s->report_start_at = shim_add_ms(sys_mono_ms(), REPORT_START_MS);
    s->deadline_at = spec->deadline_ms ? shim_add_ms(sys_mono_ms(), spec->deadline_ms) : -1;
    s->kill_at = s->rescan_at = -1;
    spool_init(&s->spool, SHIM_STATE_DIR_FD, spec->run_id, spec->attempt);
    spool_limit(&s->spool, spec->out_max, spec->log_max);
}

/* ---- messages from the supervisor ---- */

static void shim_handle_message(struct shim *s, const struct exec_message *m)
{
    switch (m->kind) {
    case EXEC_SPAWN: shim_start_run(s, &m->spawn); return;
    case EXEC_CANCEL:
        if (s->root_pid && m->run.run_id == s->spec.run_id && m->run.attempt == s->spec.attempt)
            shim_stop_run(s, EXEC_CANCELLED);
        return;
    case EXEC_BYE: /* the grace period of a stopping supervisor is over */
        if (s->root_pid && !s->killing) {
            s->stop_cause = s->stop_cause == EXEC_NO_HOW ? EXEC_CANCELLED : s->stop_cause;
            shim_kill_tree(s);
        }
        return;
    case EXEC_NOTHING:
    case EXEC_HELLO:
    case EXEC_QUERY:
    case EXEC_FORGET:
    case EXEC_RECONCILED:
    case EXEC_LIST:
    case EXEC_WELCOME:
    case EXEC_BEGUN:
    case EXEC_ENDED:
    case EXEC_NOT_KNOWN:
    case EXEC_FENCED:
    case EXEC_KIND_END: break;
    }
    impossible("a kind of message that a supervisor does not send to a shim");
}

static void shim_read_messages(struct shim *s)
{
    struct exec_message m;
    if (s->supervisor_gone)
        return;
    if (link_fill(&s->link) != OK) {
        s->supervisor_gone = true;
        return;
    }
    err e;
    while ((e = exec_link_take(&s->link, &m)) == OK)
        shim_handle_message(s, &m);
    if (e != ERR_NOT_FOUND)
        s->supervisor_gone = true; /* undecodable bytes */
}

/* ---- event loop ---- */

static int shim_poll_timeout_ms(const struct shim *s)
{
    int64_t next = -1;
    const int64_t times[] = {s->report_start_at, s->deadline_at, s->kill_at, s->rescan_at};
    if (!s->root_pid)
        return -1;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        if (times[i] >= 0 && (next < 0 || times[i] < next))
            next = times[i];
    if (next < 0)
        return -1;
    const int64_t left = next - sys_mono_ms();
    return left <= 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static void shim_poll_once(struct shim *s)
{
    struct pollfd fds[] = {
        {.fd = s->supervisor_gone ? -1 : s->link.fd, .events = POLLIN},
        {.fd = s->signals, .events = POLLIN},
        {.fd = s->root_pid ? s->out_fd : -1, .events = POLLIN},
        {.fd = s->root_pid ? s->log_fd : -1, .events = POLLIN},
    };
    if (link_is_waiting(&s->link))
        fds[0].events |= POLLOUT;
    if (poll(fds, sizeof fds / sizeof fds[0], shim_poll_timeout_ms(s)) < 0) {
        if (errno != EINTR) { /* ENOMEM: try again later */
            const struct timespec pause = {.tv_nsec = FAILURE_PAUSE_MS * 1000000L};
            ignore(nanosleep(&pause, NULL), "a signal ends it early");
        }
        return;
    }
    if (fds[2].revents)
        shim_drain_pipe(s, &s->out_fd, CHUNKS_PER_ROUND);
    if (fds[3].revents)
        shim_drain_pipe(s, &s->log_fd, CHUNKS_PER_ROUND);
    if (fds[1].revents) {
        struct signalfd_siginfo info;
        ignore(read(s->signals, &info, sizeof info) < 0, "one signal may represent several exits");
        shim_on_sigchld(s);
    }
    if (fds[0].revents & POLLOUT && link_flush(&s->link) != OK)
        s->supervisor_gone = true;
    if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
        shim_read_messages(s);
    shim_run_timers(s);
}

/* ---- process setup and main ---- */

static bool shim_setup_process(struct shim *s, uint64_t files_max)
{
    struct rlimit files;
    sigset_t set;
    closefrom(SHIM_STATE_DIR_FD + 1);
    if (chdir("/") != 0) /* the directory of runs that are ordered without one */
        return false;
    for (int fd = SHIM_LINK_FD; fd <= SHIM_STATE_DIR_FD; fd++)
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
            return false;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || getrlimit(RLIMIT_NOFILE, &files) != 0)
        return false;
    files.rlim_cur = files_max < files.rlim_max ? files_max : files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        return false;
    /* Only the supervisor ends a shim, through its connection. */
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    must(sigprocmask(SIG_SETMASK, &set, NULL) == 0);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signals >= 0;
}

int shim_main(const char *token, uint64_t files_max)
{
    struct shim s = {.token = token, .out_fd = -1, .log_fd = -1};
    if (!shim_setup_process(&s, files_max)) {
        log_print(
            LOG_ERROR,
            "halligan-exec --shim is internal: only halligan-exec starts it, with its descriptors");
        return 2;
    }
    s.supervisor_gone = !link_init(&s.link, SHIM_LINK_FD);
    while (!s.supervisor_gone || s.root_pid) {
        if (s.supervisor_gone && !s.killing)
            shim_kill_tree(&s);
        shim_poll_once(&s);
    }
    link_fini(&s.link);
    proc_tree_fini(&s.proc_tree);
    arena_fini(&s.arena);
    return 0;
}
