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

#include "run/exec/link.h"
#include "run/exec/proc_tree.h"
#include "run/exec/shim.h"
#include "sys/clock.h"
#include "sys/log.h"

enum {
    WAITING_MS_MAX = 60 * 1000, /* a lead without a run goes after this */
    SWEEP_MS = 5,               /* until strays are looked for again */
};

enum lead_state {
    LEAD_WAITING,
    LEAD_LEADING,
    LEAD_LEAVING, /* its link is closed, its process not yet gone */
    LEAD_LOST,    /* it is dead, and its run is not told as ended */
};

struct shim {
    struct shim *next;
    enum lead_state state;
    bool is_watched_for_room;
    pid_t pid; /* 0: its end was taken */
    struct link link;
    struct exec_run run;
    int64_t waits_since;
};

struct shims {
    struct shims_setup setup;
    struct shims_seams seams;
    struct shim *leads; /* newest use first, so those that wait longest come last */
    struct proc_tree family;
    uint32_t run_count;
    int64_t sweep_at; /* -1: no strays */
};

/* ---- starting leads ---- */

static int spawn_lead(const struct shims *c, int fd, pid_t *out_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    char files_max[24], token[64];
    char *argv[] = {"halligan-exec", "--lead", token, files_max, NULL};
    snprintf(files_max, sizeof files_max, "%llu", (unsigned long long)c->setup.files_max);
    snprintf(token, sizeof token, "%s", c->setup.token);
    must(posix_spawn_file_actions_init(&actions) == 0 && posix_spawnattr_init(&attributes) == 0);
    /* They fail for a descriptor at or above the limit, and without memory. */
    int number = posix_spawn_file_actions_adddup2(&actions, fd, LEAD_LINK_FD);
    if (!number)
        number = posix_spawn_file_actions_adddup2(&actions, c->setup.lock_fd, LEAD_LOCK_FD);
    if (!number)
        number = posix_spawn_file_actions_adddup2(&actions, c->setup.state_dirfd, LEAD_PLACE_FD);
    sigemptyset(&none);
    /* A session of its own: whoever kills our group leaves the leads to clean up after us. */
    must(posix_spawnattr_setsigmask(&attributes, &none) == 0 &&
         posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK) == 0);
    if (!number)
        number = posix_spawn(out_pid, "/proc/self/exe", &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return number;
}

/* The numbers a lead finds its descriptors at must be none of ours, or one dup2 would close what
 * the next one wants. */
static int out_of_the_way(int fd)
{
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, LEAD_PLACE_FD + 1);
    ignore(close(fd), "it lives on under another number, or is not needed");
    return moved;
}

/* False with errno: only for EPOLL_CTL_ADD, which needs memory. */
static bool watch(const struct shims *c, struct shim *l, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = l};
    const bool is_watched = epoll_ctl(c->setup.epoll_fd, operation, l->link.fd, &event) == 0;
    must(is_watched || operation == EPOLL_CTL_ADD);
    return is_watched;
}

static struct shim *new_lead(struct shims *c)
{
    int ends[2];
    pid_t pid = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return NULL;
    ends[0] = out_of_the_way(ends[0]);
    ends[1] = out_of_the_way(ends[1]);
    struct shim *l = calloc(1, sizeof *l);
    must(l);
    int number = ends[0] < 0 || ends[1] < 0 ? EMFILE : 0;
    /* Watched before it is started: a lead that cannot be watched would never be released. Closing
     * the descriptor ends the watch. */
    if (!number) {
        const bool is_watched = link_init(&l->link, ends[0]) && watch(c, l, EPOLL_CTL_ADD, EPOLLIN);
        number = is_watched ? spawn_lead(c, ends[1], &pid) : errno;
    }
    if (ends[1] >= 0)
        ignore(close(ends[1]), "the lead has it");
    if (number) {
        if (ends[0] >= 0)
            ignore(close(ends[0]), "there is nobody at the other end");
        free(l);
        errno = number;
        return NULL;
    }
    l->pid = pid;
    return l;
}

static struct shim *waiting_lead(struct shims *c)
{
    for (struct shim **at = &c->leads; *at; at = &(*at)->next)
        if ((*at)->state == LEAD_WAITING) {
            struct shim *l = *at;
            *at = l->next;
            return l;
        }
    return new_lead(c);
}

/* ---- letting go of leads ---- */

/* Its descriptor is closed, so epoll has forgotten it; an event of this round that is still to come
 * finds no lead under its key. */
static void leave(struct shims *c, struct shim *l)
{
    const bool led = l->state == LEAD_LEADING;
    link_fini(&l->link);
    l->state = led ? LEAD_LOST : LEAD_LEAVING;
    if (!led)
        return;
    /* Without its link it is of no use; dead, it gives us what it had. */
    if (l->pid)
        ignore(kill(l->pid, SIGKILL), "it is a child of ours, dead or not");
    c->sweep_at = 0;
    log_with(LOG_WARNING,
             LOG_FIELDS(LOG_I64("run", l->run.run_id), LOG_I64("attempt", l->run.attempt)),
             "the lead of a run is gone; killing what it has left");
}

static void remove_gone(struct shims *c)
{
    for (struct shim **at = &c->leads; *at;) {
        struct shim *l = *at;
        if (l->state == LEAD_LEAVING && l->pid == 0) {
            *at = l->next;
            free(l);
        } else {
            at = &l->next;
        }
    }
}

static void flush(struct shims *c, struct shim *l)
{
    if (link_flush(&l->link) != OK) {
        leave(c, l);
        return;
    }
    const bool wanted = link_is_waiting(&l->link);
    if (wanted != l->is_watched_for_room)
        watch(c, l, EPOLL_CTL_MOD, wanted ? EPOLLIN | EPOLLOUT : EPOLLIN);
    l->is_watched_for_room = wanted;
}

static void order(struct shims *c, struct shim *l, const struct exec_message *message)
{
    if (link_put(&l->link, message) == OK)
        flush(c, l);
    else
        leave(c, l); /* it has stopped listening */
}

/* ---- runs ---- */

err shims_start(struct shims *c, const struct exec_spawn *spec)
{
    struct shim *l = waiting_lead(c);
    if (!l)
        return ERR_UNAVAILABLE;
    l->next = c->leads;
    c->leads = l;
    l->state = LEAD_LEADING;
    l->run = (struct exec_run){.run_id = spec->run_id, .attempt = spec->attempt};
    c->run_count++;
    order(c, l, &(struct exec_message){.kind = EXEC_SPAWN, .spawn = *spec});
    return OK;
}

void shims_cancel(struct shims *c, int64_t run_id, uint32_t attempt)
{
    for (struct shim *l = c->leads; l; l = l->next)
        if (l->state == LEAD_LEADING && l->run.run_id == run_id && l->run.attempt == attempt)
            order(c, l, &(struct exec_message){.kind = EXEC_CANCEL, .run = l->run});
}

void shims_cancel_all(struct shims *c)
{
    for (struct shim *l = c->leads; l; l = l->next)
        if (l->state == LEAD_LEADING)
            order(c, l, &(struct exec_message){.kind = EXEC_CANCEL, .run = l->run});
}

void shims_kill_all(struct shims *c)
{
    for (struct shim *l = c->leads; l; l = l->next)
        if (l->state == LEAD_LEADING)
            order(c, l, &(struct exec_message){.kind = EXEC_BYE});
}

uint32_t shims_count(const struct shims *c)
{
    return c->run_count;
}

/* ---- what leads say ---- */

static bool is_of(const struct shim *l, const struct exec_message *m)
{
    if (l->state != LEAD_LEADING)
        return false;
    if (m->kind == EXEC_BEGUN)
        return m->begun.run_id == l->run.run_id && m->begun.attempt == l->run.attempt;
    return m->kind == EXEC_ENDED && m->ended.run_id == l->run.run_id &&
           m->ended.attempt == l->run.attempt;
}

static void take_messages(struct shims *c, struct shim *l)
{
    struct exec_message m;
    if (link_fill(&l->link) != OK) {
        leave(c, l);
        return;
    }
    err e;
    while ((e = link_take(&l->link, &m)) == OK && is_of(l, &m)) {
        if (m.kind == EXEC_ENDED) {
            l->state = LEAD_WAITING;
            l->waits_since = sys_mono_ms();
            c->run_count--;
        }
        c->seams.told(c->seams.self, &m);
        if (l->link.fd < 0)
            return;
    }
    if (e != ERR_NOT_FOUND)
        leave(c, l); /* it does not speak as a lead does */
}

bool shims_ready(struct shims *c, void *key, uint32_t events)
{
    struct shim *l = c->leads;
    while (l && l != key)
        l = l->next;
    if (!l)
        return false;
    if (l->link.fd >= 0 && events & EPOLLOUT)
        flush(c, l);
    if (l->link.fd >= 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        take_messages(c, l);
    return true;
}

/* ---- ends ---- */

static struct shim *lead_of(struct shims *c, pid_t pid)
{
    struct shim *l = c->leads;
    while (l && l->pid != pid)
        l = l->next;
    return l;
}

static bool is_lead(void *self, pid_t pid)
{
    return lead_of(self, pid) != NULL;
}

void shims_reap(struct shims *c)
{
    for (;;) {
        siginfo_t end = {.si_pid = 0};
        if (waitid(P_ALL, 0, &end, WEXITED | WSTOPPED | WNOHANG) != 0 || end.si_pid == 0)
            break;
        struct shim *l = lead_of(c, end.si_pid);
        if (end.si_code == CLD_STOPPED || end.si_code == CLD_TRAPPED) {
            /* A lead that sleeps keeps no deadline, and its run may have the right to stop it. */
            if (l)
                ignore(kill(l->pid, SIGCONT), "it is our child, and its end is not taken");
            continue;
        }
        if (l) {
            l->pid = 0;
            if (l->state == LEAD_WAITING || l->state == LEAD_LEADING)
                take_messages(c, l); /* its last words, then the end of its link */
        } else if (c->sweep_at >= 0) {
            c->sweep_at = 0; /* what it had has come to us */
        }
    }
    remove_gone(c);
}

static bool is_lead_alive_and_lost(const struct shims *c)
{
    for (const struct shim *l = c->leads; l; l = l->next)
        if (l->state == LEAD_LOST && l->pid)
            return true;
    return false;
}

static void tell_lost(struct shims *c)
{
    for (struct shim *l = c->leads; l; l = l->next) {
        if (l->state != LEAD_LOST)
            continue;
        const struct exec_ended ended = {.run_id = l->run.run_id,
                                         .attempt = l->run.attempt,
                                         .how = EXEC_DIED_WITH_SUPERVISOR,
                                         .reason = STR("the process that led this run was killed")};
        l->state = LEAD_LEAVING;
        c->run_count--;
        c->seams.told(c->seams.self, &(struct exec_message){.kind = EXEC_ENDED, .ended = ended});
    }
}

static void sweep(struct shims *c, int64_t now_ms)
{
    shims_reap(c);
    proc_tree_scan(&c->family);
    const bool some = proc_tree_kill_unknown(&c->family, c, is_lead) > 0;
    if (some || is_lead_alive_and_lost(c)) {
        c->sweep_at = now_ms + SWEEP_MS;
        return;
    }
    c->sweep_at = -1;
    tell_lost(c);
    remove_gone(c);
}

/* ---- time ---- */

int64_t shims_tick(struct shims *c, int64_t now_ms)
{
    int64_t next = -1;
    for (struct shim *l = c->leads; l; l = l->next) {
        if (l->state != LEAD_WAITING)
            continue;
        const int64_t due = l->waits_since + WAITING_MS_MAX;
        if (due <= now_ms)
            leave(c, l);
        else if (next < 0 || due < next)
            next = due;
    }
    if (c->sweep_at >= 0 && c->sweep_at <= now_ms)
        sweep(c, now_ms);
    if (c->sweep_at >= 0 && (next < 0 || c->sweep_at < next))
        next = c->sweep_at;
    return next;
}

/* ---- from new to free ---- */

struct shims *shims_new(struct shims_setup setup, struct shims_seams seams)
{
    struct shims *c = calloc(1, sizeof *c);
    must(c);
    c->setup = setup;
    c->seams = seams;
    c->sweep_at = -1;
    return c;
}

void shims_free(struct shims *c)
{
    for (struct shim *l = c->leads, *next; l; l = next) {
        next = l->next;
        link_fini(&l->link);
        free(l);
    }
    proc_tree_fini(&c->family);
    free(c);
}
