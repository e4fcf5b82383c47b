#define _GNU_SOURCE /* accept4, struct ucred */
#include "run/exec/supervisor_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/exec/spool.h"
#include "sys/clock.h"
#include "sys/log.h"

enum {
    VISITORS_MAX = 64,
    ENDS_TOGETHER = 4, /* told in one go, when so many are near */
    END_WAITS_MS = 1,
};

/* ---- speaking ---- */

/* Closed here, forgotten when the round is over: an event may still name it. */
static void dismiss(struct exec_connection *v)
{
    link_fini(&v->link);
}

/* Nothing can be said to it any more. But it may have given orders before it left, to stop what it
 * began or to go: they are read, up to their end. */
static void give_up_telling(struct exec_connection *v)
{
    v->write_closed = true;
    ignore(shutdown(v->link.fd, SHUT_WR), "it is gone, or goes when it hears of that");
}

static void flush(const struct supervisor *s, struct exec_connection *v)
{
    if (link_flush(&v->link) != OK)
        give_up_telling(v);
    const bool wanted = !v->write_closed && link_is_waiting(&v->link);
    if (wanted != v->is_watched_for_room)
        supervisor_watch(s, v->link.fd, v, EPOLL_CTL_MOD, wanted ? EPOLLIN | EPOLLOUT : EPOLLIN);
    v->is_watched_for_room = wanted;
}

/* It goes at the end of the round, with what else is said in it. */
static void say(struct exec_connection *v, const struct exec_message *m)
{
    if (v->link.fd < 0 || v->write_closed)
        return;
    if (link_put(&v->link, m) != OK)
        dismiss(v); /* it does not read; it may come again and ask */
}

/* To every daemon that is not fenced. */
static void say_to_all(struct supervisor *s, const struct exec_message *m)
{
    for (struct exec_connection *v = s->visitors; v; v = v->next)
        if (v->is_daemon && v->epoch >= exec_journal_epoch(s->journal))
            say(v, m);
}

static void say_not_known(struct exec_connection *v, struct exec_run run, bool begun)
{
    const struct exec_not_known not_known = {
        .run_id = run.run_id, .attempt = run.attempt, .begun = begun};
    say(v, &(struct exec_message){.kind = EXEC_NOT_KNOWN, .not_known = not_known});
}

/* What is known of a run; false when nothing is. */
static bool say_known(struct supervisor *s, struct exec_connection *v, struct exec_run run)
{
    const struct exec_entry *e = exec_journal_find(s->journal, run.run_id, run.attempt);
    if (!e)
        return false;
    say(v, &(struct exec_message){.kind = EXEC_BEGUN, .begun = e->begun});
    if (e->is_ended)
        say(v, &(struct exec_message){.kind = EXEC_ENDED, .ended = e->ended});
    return true;
}

/* ---- what leads tell ---- */

static void take_end(struct supervisor *s, const struct exec_message *m)
{
    if (!exec_journal_end(s->journal, &m->ended))
        return;
    if (s->save_at < 0 && !exec_journal_is_saved(s->journal)) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_I64("run", m->ended.run_id)),
                 "the end of a run cannot be written to the journal (%s), trying again",
                 strerror(errno));
        s->save_at = sys_mono_ms() + SUPERVISOR_SAVE_MS;
    }
    say_to_all(s, m);
    if (s->ends_waiting++ == 0)
        s->tell_at = sys_mono_ms() + END_WAITS_MS;
}

void supervisor_on_shim_message(void *self, const struct exec_message *m)
{
    struct supervisor *s = self;
    if (m->kind == EXEC_ENDED) {
        take_end(s, m);
        return;
    }
    exec_journal_note_pid(s->journal, m->begun.run_id, m->begun.attempt, m->begun.pid);
    say_to_all(s, m);
}

/* ---- orders ---- */

/* There was no process and there is no entry: it may be ordered again. */
static void say_not_begun(struct exec_connection *v, const struct exec_spawn *spec,
                          const char *what, int number)
{
    char reason[EXEC_REASON_MAX];
    snprintf(reason, sizeof reason, "%s: %s", what, strerror(number));
    const struct exec_ended ended = {.run_id = spec->run_id,
                                     .attempt = spec->attempt,
                                     .how = EXEC_NOT_STARTED,
                                     .reason = str_from(reason)};
    say(v, &(struct exec_message){.kind = EXEC_ENDED, .ended = ended});
}

static void begin(struct supervisor *s, struct exec_connection *v, const struct exec_spawn *spec)
{
    if (exec_journal_raise(s->journal, spec->epoch) != OK ||
        exec_journal_begin(s->journal, spec->run_id, spec->attempt) != OK) {
        say_not_begun(v, spec, "the journal of halligan-exec takes no more", errno);
        return;
    }
    if (shims_start(s->children, spec) == OK)
        return;
    char reason[EXEC_REASON_MAX];
    snprintf(reason, sizeof reason, "no process to lead it: %s", strerror(errno));
    const struct exec_ended ended = {.run_id = spec->run_id,
                                     .attempt = spec->attempt,
                                     .how = EXEC_NOT_STARTED,
                                     .reason = str_from(reason)};
    take_end(s, &(struct exec_message){.kind = EXEC_ENDED, .ended = ended});
}

static void spawn(struct supervisor *s, struct exec_connection *v, const struct exec_spawn *spec)
{
    const struct exec_run run = {.run_id = spec->run_id, .attempt = spec->attempt};
    const int64_t epoch = exec_journal_epoch(s->journal);
    if (spec->epoch < epoch) {
        say_not_known(v, run, false);
        say(v, &(struct exec_message){.kind = EXEC_FENCED, .fenced = {.epoch = epoch}});
        return;
    }
    if (say_known(s, v, run))
        return;
    if (s->stop_at >= 0)
        say_not_known(v, run, false);
    else
        begin(s, v, spec);
}

static void cancel(struct supervisor *s, struct exec_connection *v, struct exec_run run)
{
    const struct exec_entry *e = exec_journal_find(s->journal, run.run_id, run.attempt);
    if (e && !e->is_ended)
        shims_cancel(s->children, run.run_id, run.attempt);
    else if (!say_known(s, v, run))
        say_not_known(v, run, !exec_journal_is_of_this_boot(s->journal));
}

/* Most runs write nothing. Of one whose lead died nobody knows. */
static bool may_have_written(const struct exec_ended *end)
{
    return end->how == EXEC_DIED_WITH_SUPERVISOR || end->out_size || end->out_dropped ||
           end->log_size || end->log_dropped;
}

static void forget(struct supervisor *s, struct exec_run run)
{
    const struct exec_entry *e = exec_journal_find(s->journal, run.run_id, run.attempt);
    const bool has_files = e && may_have_written(&e->ended);
    if (exec_journal_forget(s->journal, run.run_id, run.attempt) && has_files)
        spool_remove(s->place, run.run_id, run.attempt);
}

static void greet(struct supervisor *s, struct exec_connection *v, const struct exec_hello *hello)
{
    const struct exec_welcome welcome = {.version = EXEC_VERSION,
                                         .pid = getpid(),
                                         .boot_id = str_from(s->boot_id),
                                         .journal_is_of_this_boot =
                                             exec_journal_is_of_this_boot(s->journal)};
    const int64_t epoch = exec_journal_epoch(s->journal);
    v->has_said_hello = true;
    v->is_daemon = hello->version == EXEC_VERSION && hello->epoch >= epoch;
    v->epoch = hello->epoch;
    if (v->is_daemon)
        s->has_said_bye = s->is_superseded = false;
    else if (hello->version > EXEC_VERSION)
        s->is_superseded = true; /* it cannot use us, and starts one of its own when we are gone */
    if (v->is_daemon && exec_journal_raise(s->journal, hello->epoch) != OK)
        log_print(LOG_WARNING, "the epoch cannot be written to the journal: %s", strerror(errno));
    say(v, &(struct exec_message){.kind = EXEC_WELCOME, .welcome = welcome});
    if (hello->epoch < epoch)
        say(v, &(struct exec_message){.kind = EXEC_FENCED, .fenced = {.epoch = epoch}});
}

static void say_entry(void *self, const struct exec_entry *e)
{
    const struct exec_message ended = {.kind = EXEC_ENDED, .ended = e->ended};
    const struct exec_message begun = {.kind = EXEC_BEGUN, .begun = e->begun};
    say(self, e->is_ended ? &ended : &begun);
}

static void settle(struct supervisor *s)
{
    if (exec_journal_settle(s->journal) != OK)
        log_print(LOG_WARNING, "the journal cannot be written anew: %s", strerror(errno));
}

/* A daemon that was fenced may still ask, and end what it has; it may not begin, nor destroy. */
static void obey(struct supervisor *s, struct exec_connection *v, const struct exec_message *m)
{
    const bool current = v->is_daemon && v->epoch >= exec_journal_epoch(s->journal);
    switch (m->kind) {
    case EXEC_HELLO: greet(s, v, &m->hello); return;
    case EXEC_SPAWN: spawn(s, v, &m->spawn); return;
    case EXEC_CANCEL:
        if (current)
            cancel(s, v, m->run);
        return;
    case EXEC_QUERY:
        if (!say_known(s, v, m->run))
            say_not_known(v, m->run, !exec_journal_is_of_this_boot(s->journal));
        return;
    case EXEC_FORGET:
        if (current)
            forget(s, m->run);
        return;
    case EXEC_LIST:
        if (current)
            exec_journal_each(s->journal, v, say_entry);
        return;
    case EXEC_SETTLED:
        if (current)
            settle(s);
        return;
    case EXEC_BYE:
        s->has_said_bye = s->has_said_bye || current;
        dismiss(v);
        return;
    case EXEC_NOTHING:
    case EXEC_WELCOME:
    case EXEC_BEGUN:
    case EXEC_ENDED:
    case EXEC_NOT_KNOWN:
    case EXEC_FENCED:
    case EXEC_KIND_END: dismiss(v); return; /* those are ours to say */
    }
}

/* ---- visitors ---- */

static void take_messages(struct supervisor *s, struct exec_connection *v)
{
    struct exec_message m;
    err e = link_fill(&v->link);
    while (e == OK && v->link.fd >= 0) {
        e = link_take(&v->link, &m);
        if (e == OK && v->has_said_hello == (m.kind == EXEC_HELLO))
            e = ERR_CORRUPT; /* HELLO comes first, and once */
        if (e == OK)
            obey(s, v, &m);
    }
    if (e != OK && e != ERR_NOT_FOUND && v->link.fd >= 0)
        dismiss(v);
}

/* The directory keeps strangers out; this is for a socket that somebody moved. */
static bool is_welcome(int fd)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == geteuid() || who.uid == 0);
}

void visitors_let_in(struct supervisor *s)
{
    const int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (s->visitor_count >= VISITORS_MAX || !is_welcome(fd)) {
        ignore(close(fd), "nothing was said");
        return;
    }
    struct exec_connection *v = calloc(1, sizeof *v);
    must(v);
    if (!link_init(&v->link, fd) || !supervisor_watch(s, fd, v, EPOLL_CTL_ADD, EPOLLIN)) {
        link_fini(&v->link);
        free(v);
        return;
    }
    v->next = s->visitors;
    s->visitors = v;
    s->visitor_count++;
}

/* A daemon makes the ends that it hears of together durable together, and that is most of what a
 * short run costs. So an end waits a moment for others, as long as enough of them can come. */
static bool can_wait(const struct supervisor *s, int64_t now)
{
    return s->ends_waiting > 0 && s->ends_waiting < ENDS_TOGETHER && now < s->tell_at &&
           s->ends_waiting + shims_count(s->children) >= ENDS_TOGETHER;
}

int64_t exec_connections_send(struct supervisor *s, int64_t now)
{
    if (can_wait(s, now))
        return s->tell_at;
    s->ends_waiting = 0;
    for (struct exec_connection *v = s->visitors; v; v = v->next)
        if (v->link.fd >= 0 && !v->write_closed && !v->is_watched_for_room &&
            link_is_waiting(&v->link))
            flush(s, v);
    return -1;
}

void visitors_forget_gone(struct supervisor *s)
{
    for (struct exec_connection **at = &s->visitors; *at;) {
        struct exec_connection *v = *at;
        if (v->link.fd >= 0) {
            at = &v->next;
            continue;
        }
        *at = v->next;
        s->visitor_count--;
        free(v);
    }
}

void visitors_ready(struct supervisor *s, void *key, uint32_t events)
{
    struct exec_connection *v = s->visitors;
    while (v && v != key)
        v = v->next;
    if (!v)
        return;
    if (v->link.fd >= 0 && events & EPOLLOUT)
        flush(s, v);
    if (v->link.fd >= 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        take_messages(s, v);
}

void visitors_dismiss_all(struct supervisor *s)
{
    for (struct exec_connection *v = s->visitors; v; v = v->next)
        dismiss(v);
    visitors_forget_gone(s);
}
