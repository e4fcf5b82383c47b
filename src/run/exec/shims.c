#define _GNU_SOURCE /* POSIX_SPAWN_SETSID */
#include "run/exec/shims.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/exec/exec_link.h"
#include "run/exec/proc_tree.h"
#include "run/exec/shim.h"
#include "sys/clock.h"
#include "sys/log.h"

/* A supervisor owns its shims: processes, connections and the run of each. States of a shim: IDLE
 * (no run; reused, or closed after IDLE_MS_MAX), RUNNING (EXEC_SPAWN was sent, EXEC_ENDED not
 * received), CLOSING (its connection is closed, its process not reaped yet) and LOST (connection
 * closed while RUNNING). IDLE -> RUNNING in shims_start, RUNNING -> IDLE on EXEC_ENDED, IDLE ->
 * CLOSING and RUNNING -> LOST in shims_close_shim, LOST -> CLOSING in shims_report_lost; a CLOSING
 * shim is freed when its process is reaped.
 *
 * Order for a LOST shim: kill the shim, so that its process tree is reparented to the supervisor,
 * which is a child subreaper; kill unknown children until a scan finds none; only then report the
 * run as ended. A daemon that reacts to the end may start the noderole again, and two process trees
 * of one noderole must never exist at the same time.
 *
 * Failure: if no shim can be started, shims_start fails and nothing has changed. A shim that does
 * not read, sends an invalid message or closes its connection is closed; a run that it had is LOST
 * and ends as EXEC_DIED_WITH_SUPERVISOR. */

enum {
    IDLE_MS_MAX = 60 * 1000, /* an idle shim is closed after this */
    ORPHAN_SCAN_MS = 5,      /* delay between two scans for orphans of a lost shim */
};

enum shim_state {
    SHIM_IDLE,
    SHIM_RUNNING,
    SHIM_CLOSING, /* its connection is closed, its process is not reaped yet */
    SHIM_LOST,    /* its connection is closed, the end of its run is not reported yet */
};

struct shim_handle {
    struct shim_handle *next;
    enum shim_state state;
    bool watches_writable;
    pid_t pid;           /* 0: reaped */
    struct link link;    /* fd -1: CLOSING or LOST */
    struct exec_run run; /* RUNNING and LOST */
    int64_t idle_since;  /* monotonic ms; IDLE */
};

struct shims {
    struct shims_setup setup;
    struct shims_callbacks callbacks;
    /* most recently used first, so that the longest idle ones come last */
    struct shim_handle *list;
    struct proc_tree proc_tree; /* scans for orphans of a lost shim */
    uint32_t run_count;         /* RUNNING and LOST shims */
    int64_t orphans_at;         /* ms; next scan for orphans of a lost shim; -1: none */
};

/* ---- start of shims ---- */

static int shims_spawn_process(const struct shims *shims, int fd, pid_t *out_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    char files_max[24], token[64];
    char *argv[] = {"halligan-exec", "--shim", token, files_max, NULL};
    snprintf(files_max, sizeof files_max, "%llu", (unsigned long long)shims->setup.files_max);
    snprintf(token, sizeof token, "%s", shims->setup.token);
    must(posix_spawn_file_actions_init(&actions) == 0 && posix_spawnattr_init(&attributes) == 0);
    /* Adding a file action fails for a descriptor at or above RLIMIT_NOFILE and without memory. */
    int error = posix_spawn_file_actions_adddup2(&actions, fd, SHIM_LINK_FD);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, shims->setup.lock_fd, SHIM_LOCK_FD);
    if (!error)
        error =
            posix_spawn_file_actions_adddup2(&actions, shims->setup.state_dirfd, SHIM_STATE_DIR_FD);
    sigemptyset(&none);
    /* A session of its own: a signal to the process group of the supervisor does not reach the
     * shims, which then kill their process trees. */
    must(posix_spawnattr_setsigmask(&attributes, &none) == 0 &&
         posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK) == 0);
    if (!error)
        error = posix_spawn(out_pid, "/proc/self/exe", &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* Move a descriptor above those that are passed to a shim: if it had one of these numbers, the dup2
 * of one descriptor would close another one. */
static int shims_move_fd_up(int fd)
{
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, SHIM_STATE_DIR_FD + 1);
    ignore(close(fd), "it was duplicated, or the start fails");
    return moved;
}

/* False with errno only for EPOLL_CTL_ADD, which needs memory. */
static bool shims_watch(const struct shims *shims, struct shim_handle *shim, int operation,
                        uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = shim};
    const bool is_watched = epoll_ctl(shims->setup.epoll_fd, operation, shim->link.fd, &event) == 0;
    must(is_watched || operation == EPOLL_CTL_ADD);
    return is_watched;
}

static struct shim_handle *shims_new_shim(struct shims *shims)
{
    int ends[2];
    pid_t pid = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return NULL;
    ends[0] = shims_move_fd_up(ends[0]);
    ends[1] = shims_move_fd_up(ends[1]);
    struct shim_handle *shim = calloc(1, sizeof *shim);
    must(shim);
    int error = ends[0] < 0 || ends[1] < 0 ? EMFILE : 0;
    /* Add the descriptor to epoll before the process is started: a shim that cannot be watched
     * could never be released. Closing the descriptor removes it from epoll. */
    if (!error) {
        const bool is_watched =
            link_init(&shim->link, ends[0]) && shims_watch(shims, shim, EPOLL_CTL_ADD, EPOLLIN);
        error = is_watched ? shims_spawn_process(shims, ends[1], &pid) : errno;
    }
    if (ends[1] >= 0)
        ignore(close(ends[1]), "the shim has a copy");
    if (error) {
        if (ends[0] >= 0)
            ignore(close(ends[0]), "no process has the other end");
        free(shim);
        errno = error;
        return NULL;
    }
    shim->pid = pid;
    return shim;
}

static struct shim_handle *shims_take_idle_or_new(struct shims *shims)
{
    for (struct shim_handle **at = &shims->list; *at; at = &(*at)->next)
        if ((*at)->state == SHIM_IDLE) {
            struct shim_handle *shim = *at;
            *at = shim->next;
            return shim;
        }
    return shims_new_shim(shims);
}

/* ---- end of shims ---- */

/* Close the connection of a shim. The shim stays in the list until its process is reaped; an event
 * of this round that is still to be handled is ignored, because there is no descriptor any more. */
static void shims_close_shim(struct shims *shims, struct shim_handle *shim)
{
    const bool was_running = shim->state == SHIM_RUNNING;
    link_fini(&shim->link);
    shim->state = was_running ? SHIM_LOST : SHIM_CLOSING;
    if (!was_running)
        return;
    /* A shim without connection cannot report. Its process tree is reparented to us when it dies.
     */
    if (shim->pid)
        ignore(kill(shim->pid, SIGKILL), "it is a child that has not been reaped");
    shims->orphans_at = 0;
    log_with(LOG_WARNING,
             LOG_FIELDS(LOG_I64("run", shim->run.run_id), LOG_I64("attempt", shim->run.attempt)),
             "lost the shim of a run; killing the processes of the run");
}

static void shims_remove_exited(struct shims *shims)
{
    for (struct shim_handle **at = &shims->list; *at;) {
        struct shim_handle *shim = *at;
        if (shim->state == SHIM_CLOSING && shim->pid == 0) {
            *at = shim->next;
            free(shim);
        } else {
            at = &shim->next;
        }
    }
}

static void shims_flush(struct shims *shims, struct shim_handle *shim)
{
    if (link_flush(&shim->link) != OK) {
        shims_close_shim(shims, shim);
        return;
    }
    const bool wanted = link_is_waiting(&shim->link);
    if (wanted != shim->watches_writable)
        shims_watch(shims, shim, EPOLL_CTL_MOD, wanted ? EPOLLIN | EPOLLOUT : EPOLLIN);
    shim->watches_writable = wanted;
}

static void shims_send(struct shims *shims, struct shim_handle *shim,
                       const struct exec_message *message)
{
    if (exec_link_put(&shim->link, message) == OK)
        shims_flush(shims, shim);
    else
        shims_close_shim(shims, shim); /* it does not read */
}

/* ---- runs ---- */

err shims_start(struct shims *shims, const struct exec_spawn *spec)
{
    struct shim_handle *shim = shims_take_idle_or_new(shims);
    if (!shim)
        return ERR_UNAVAILABLE;
    shim->next = shims->list;
    shims->list = shim;
    shim->state = SHIM_RUNNING;
    shim->run = (struct exec_run){.run_id = spec->run_id, .attempt = spec->attempt};
    shims->run_count++;
    shims_send(shims, shim, &(struct exec_message){.kind = EXEC_SPAWN, .spawn = *spec});
    return OK;
}

void shims_cancel(struct shims *shims, int64_t run_id, uint32_t attempt)
{
    for (struct shim_handle *shim = shims->list; shim; shim = shim->next)
        if (shim->state == SHIM_RUNNING && shim->run.run_id == run_id &&
            shim->run.attempt == attempt)
            shims_send(shims, shim, &(struct exec_message){.kind = EXEC_CANCEL, .run = shim->run});
}

void shims_cancel_all(struct shims *shims)
{
    for (struct shim_handle *shim = shims->list; shim; shim = shim->next)
        if (shim->state == SHIM_RUNNING)
            shims_send(shims, shim, &(struct exec_message){.kind = EXEC_CANCEL, .run = shim->run});
}

void shims_kill_all(struct shims *shims)
{
    for (struct shim_handle *shim = shims->list; shim; shim = shim->next)
        if (shim->state == SHIM_RUNNING)
            shims_send(shims, shim, &(struct exec_message){.kind = EXEC_BYE});
}

uint32_t shims_count(const struct shims *shims)
{
    return shims->run_count;
}

/* ---- messages from shims ---- */

static bool shims_message_is_valid(const struct shim_handle *shim, const struct exec_message *m)
{
    if (shim->state != SHIM_RUNNING)
        return false;
    if (m->kind == EXEC_BEGUN)
        return m->begun.run_id == shim->run.run_id && m->begun.attempt == shim->run.attempt;
    return m->kind == EXEC_ENDED && m->ended.run_id == shim->run.run_id &&
           m->ended.attempt == shim->run.attempt;
}

static void shims_read_messages(struct shims *shims, struct shim_handle *shim)
{
    struct exec_message m;
    if (link_fill(&shim->link) != OK) {
        shims_close_shim(shims, shim);
        return;
    }
    err e;
    while ((e = exec_link_take(&shim->link, &m)) == OK && shims_message_is_valid(shim, &m)) {
        if (m.kind == EXEC_ENDED) {
            shim->state = SHIM_IDLE;
            shim->idle_since = sys_mono_ms();
            shims->run_count--;
        }
        shims->callbacks.on_message(shims->callbacks.self, &m);
        if (shim->link.fd < 0)
            return;
    }
    if (e != ERR_NOT_FOUND)
        /* a message that is not about its run, or undecodable bytes */
        shims_close_shim(shims, shim);
}

bool shims_ready(struct shims *shims, void *key, uint32_t events)
{
    struct shim_handle *shim = shims->list;
    while (shim && shim != key)
        shim = shim->next;
    if (!shim)
        return false;
    if (shim->link.fd >= 0 && events & EPOLLOUT)
        shims_flush(shims, shim);
    if (shim->link.fd >= 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        shims_read_messages(shims, shim);
    return true;
}

/* ---- reaping ---- */

static struct shim_handle *shims_find_by_pid(struct shims *shims, pid_t pid)
{
    struct shim_handle *shim = shims->list;
    while (shim && shim->pid != pid)
        shim = shim->next;
    return shim;
}

static bool shims_is_shim(void *self, pid_t pid)
{
    return shims_find_by_pid(self, pid) != NULL;
}

void shims_reap(struct shims *shims)
{
    for (;;) {
        siginfo_t end = {.si_pid = 0};
        if (waitid(P_ALL, 0, &end, WEXITED | WSTOPPED | WNOHANG) != 0 || end.si_pid == 0)
            break;
        struct shim_handle *shim = shims_find_by_pid(shims, end.si_pid);
        if (end.si_code == CLD_STOPPED || end.si_code == CLD_TRAPPED) {
            /* A stopped shim enforces no deadline, and a run of the same user may stop it: continue
             * it. */
            if (shim)
                ignore(kill(shim->pid, SIGCONT), "it is a child that has not been reaped");
            continue;
        }
        if (shim) {
            shim->pid = 0;
            if (shim->state == SHIM_IDLE || shim->state == SHIM_RUNNING)
                shims_read_messages(shims, shim); /* messages sent before it exited, then EOF */
        } else if (shims->orphans_at >= 0) {
            shims->orphans_at = 0; /* its children were reparented to us */
        }
    }
    shims_remove_exited(shims);
}

static bool shims_lost_is_alive(const struct shims *shims)
{
    for (const struct shim_handle *shim = shims->list; shim; shim = shim->next)
        if (shim->state == SHIM_LOST && shim->pid)
            return true;
    return false;
}

static void shims_report_lost(struct shims *shims)
{
    for (struct shim_handle *shim = shims->list; shim; shim = shim->next) {
        if (shim->state != SHIM_LOST)
            continue;
        const struct exec_ended ended = {.run_id = shim->run.run_id,
                                         .attempt = shim->run.attempt,
                                         .how = EXEC_DIED_WITH_SUPERVISOR,
                                         .reason = STR("the shim process of this run was killed")};
        shim->state = SHIM_CLOSING;
        shims->run_count--;
        shims->callbacks.on_message(shims->callbacks.self,
                                    &(struct exec_message){.kind = EXEC_ENDED, .ended = ended});
    }
}

static void shims_kill_orphans(struct shims *shims, int64_t now_ms)
{
    shims_reap(shims);
    proc_tree_scan(&shims->proc_tree);
    const bool found_orphans = proc_tree_kill_unknown(&shims->proc_tree, shims, shims_is_shim) > 0;
    if (found_orphans || shims_lost_is_alive(shims)) {
        shims->orphans_at = now_ms + ORPHAN_SCAN_MS;
        return;
    }
    shims->orphans_at = -1;
    shims_report_lost(shims);
    shims_remove_exited(shims);
}

/* ---- timers ---- */

int64_t shims_tick(struct shims *shims, int64_t now_ms)
{
    int64_t next = -1;
    for (struct shim_handle *shim = shims->list; shim; shim = shim->next) {
        if (shim->state != SHIM_IDLE)
            continue;
        const int64_t due = shim->idle_since + IDLE_MS_MAX;
        if (due <= now_ms)
            shims_close_shim(shims, shim);
        else if (next < 0 || due < next)
            next = due;
    }
    if (shims->orphans_at >= 0 && shims->orphans_at <= now_ms)
        shims_kill_orphans(shims, now_ms);
    if (shims->orphans_at >= 0 && (next < 0 || shims->orphans_at < next))
        next = shims->orphans_at;
    return next;
}

/* ---- new and free ---- */

struct shims *shims_new(struct shims_setup setup, struct shims_callbacks callbacks)
{
    struct shims *shims = calloc(1, sizeof *shims);
    must(shims);
    shims->setup = setup;
    shims->callbacks = callbacks;
    shims->orphans_at = -1;
    return shims;
}

void shims_free(struct shims *shims)
{
    for (struct shim_handle *shim = shims->list, *next; shim; shim = next) {
        next = shim->next;
        link_fini(&shim->link);
        free(shim);
    }
    proc_tree_fini(&shims->proc_tree);
    free(shims);
}
