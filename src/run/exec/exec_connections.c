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

/* Owns the connections of daemons to the supervisor. Messages are queued on a connection and sent
 * together, before the next epoll_wait; a connection is closed at once but freed only at the end of
 * the round of the event loop, because a later event of the same round may name it.
 *
 * Order: a start raises the epoch and writes BEGUN to the journal before the shim gets its order;
 * an end is written to the journal before daemons are notified. If the journal cannot be written,
 * the run is not started and the daemon is informed; an end that cannot be written is still
 * reported, and the write is repeated. A connection that sends invalid bytes or does not read is
 * closed; the runs that it ordered continue.
 *
 * Fencing: the epoch of a daemon is in its HELLO and again in each EXEC_SPAWN. A daemon with an
 * epoch lower than the highest one seen may query single runs, but not start, cancel, list or
 * delete them. An order that arrives twice has no effect: the answer is the known state of the
 * run. */

enum {
    CONNECTIONS_MAX = 64, /* more are closed at once */
    ENDS_PER_BATCH = 4,   /* queued ends that are sent without a delay */
    END_DELAY_MS_MAX = 1, /* delay of fewer ends; see exec_connections_send */
};

/* ---- queueing messages ---- */

/* Close now; the structure is freed at the end of the round, because an event may still name it. */
static void conn_close(struct exec_connection *conn)
{
    link_fini(&conn->link);
}

static void conn_flush(const struct supervisor *s, struct exec_connection *conn)
{
    /* The peer has closed its read side: stop writing, but keep reading. It may have sent orders
     * before, to cancel a run or to end. */
    if (link_flush(&conn->link) != OK) {
        conn->write_closed = true;
        ignore(shutdown(conn->link.fd, SHUT_WR), "the peer has closed the connection already");
    }
    const bool wanted = !conn->write_closed && link_is_waiting(&conn->link);
    if (wanted != conn->watches_writable)
        supervisor_watch(s, conn->link.fd, conn, EPOLL_CTL_MOD,
                         wanted ? EPOLLIN | EPOLLOUT : EPOLLIN);
    conn->watches_writable = wanted;
}

/* Queue a message; it is sent at the end of the round. A peer with a full buffer does not read and
 * is disconnected; it queries its runs when it connects again. */
static void conn_queue(struct exec_connection *conn, const struct exec_message *m)
{
    if (conn->link.fd < 0 || conn->write_closed)
        return;
    if (exec_link_put(&conn->link, m) != OK)
        conn_close(conn);
}

/* Queue a message for every daemon that is not fenced. */
static void conn_queue_to_all(struct supervisor *s, const struct exec_message *m)
{
    for (struct exec_connection *conn = s->connections; conn; conn = conn->next)
        if (conn->is_daemon && conn->epoch >= exec_journal_epoch(s->journal))
            conn_queue(conn, m);
}

static void conn_queue_not_known(struct exec_connection *conn, struct exec_run run, bool begun)
{
    const struct exec_not_known not_known = {
        .run_id = run.run_id, .attempt = run.attempt, .begun = begun};
    conn_queue(conn, &(struct exec_message){.kind = EXEC_NOT_KNOWN, .not_known = not_known});
}

/* Queue the state of a run; false if it is not in the journal. */
static bool conn_queue_known(struct supervisor *s, struct exec_connection *conn,
                             struct exec_run run)
{
    const struct exec_entry *e = exec_journal_find(s->journal, run.run_id, run.attempt);
    if (!e)
        return false;
    conn_queue(conn, &(struct exec_message){.kind = EXEC_BEGUN, .begun = e->begun});
    if (e->is_ended)
        conn_queue(conn, &(struct exec_message){.kind = EXEC_ENDED, .ended = e->ended});
    return true;
}

/* ---- reports of shims ---- */

static void conn_record_end(struct supervisor *s, const struct exec_message *m)
{
    if (!exec_journal_end(s->journal, &m->ended))
        return;
    if (s->save_at < 0 && !exec_journal_is_saved(s->journal)) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_I64("run", m->ended.run_id)),
                 "cannot write the end of a run to the journal: %s; retrying every second",
                 strerror(errno));
        s->save_at = sys_mono_ms() + SUPERVISOR_SAVE_MS;
    }
    conn_queue_to_all(s, m);
    if (s->ends_unsent++ == 0)
        s->send_at = sys_mono_ms() + END_DELAY_MS_MAX;
}

void supervisor_on_shim_message(void *self, const struct exec_message *m)
{
    struct supervisor *s = self;
    if (m->kind == EXEC_ENDED) {
        conn_record_end(s, m);
        return;
    }
    exec_journal_set_pid(s->journal, m->begun.run_id, m->begun.attempt, m->begun.pid);
    conn_queue_to_all(s, m);
}

/* ---- orders ---- */

static void conn_start_run(struct supervisor *s, struct exec_connection *conn,
                           const struct exec_spawn *spec)
{
    char reason[EXEC_REASON_MAX];
    struct exec_ended ended = {
        .run_id = spec->run_id, .attempt = spec->attempt, .how = EXEC_NOT_STARTED};
    /* Record the start before the shim gets its order: see journal.c. */
    if (exec_journal_raise_epoch(s->journal, spec->epoch) != OK ||
        exec_journal_begin(s->journal, spec->run_id, spec->attempt) != OK) {
        /* The run has no process and no journal entry, so it may be ordered again. */
        snprintf(reason, sizeof reason, "cannot write to the journal of halligan-exec: %s",
                 strerror(errno));
        ended.reason = str_from(reason);
        conn_queue(conn, &(struct exec_message){.kind = EXEC_ENDED, .ended = ended});
        return;
    }
    if (shims_start(s->shims, spec) == OK)
        return;
    /* The journal has the start, so it needs an end as well. */
    snprintf(reason, sizeof reason, "cannot start a shim process: %s", strerror(errno));
    ended.reason = str_from(reason);
    conn_record_end(s, &(struct exec_message){.kind = EXEC_ENDED, .ended = ended});
}

static void conn_handle_spawn(struct supervisor *s, struct exec_connection *conn,
                              const struct exec_spawn *spec)
{
    const struct exec_run run = {.run_id = spec->run_id, .attempt = spec->attempt};
    const int64_t epoch = exec_journal_epoch(s->journal);
    if (spec->epoch < epoch) {
        conn_queue_not_known(conn, run, false);
        conn_queue(conn, &(struct exec_message){.kind = EXEC_FENCED, .fenced = {.epoch = epoch}});
        return;
    }
    if (conn_queue_known(s, conn, run))
        return;
    if (s->stop_at >= 0)
        conn_queue_not_known(conn, run, false);
    else
        conn_start_run(s, conn, spec);
}

static void conn_handle_cancel(struct supervisor *s, struct exec_connection *conn,
                               struct exec_run run)
{
    const struct exec_entry *e = exec_journal_find(s->journal, run.run_id, run.attempt);
    if (e && !e->is_ended)
        shims_cancel(s->shims, run.run_id, run.attempt);
    else if (!conn_queue_known(s, conn, run))
        conn_queue_not_known(conn, run, !exec_journal_is_of_this_boot(s->journal));
}

static void conn_handle_forget(struct supervisor *s, struct exec_run run)
{
    const struct exec_entry *e = exec_journal_find(s->journal, run.run_id, run.attempt);
    const struct exec_ended *end = e ? &e->ended : NULL;
    /* Most runs have no output. If the shim was lost, the sizes are unknown. */
    const bool has_files = end && (end->how == EXEC_DIED_WITH_SUPERVISOR || end->out_size ||
                                   end->out_dropped || end->log_size || end->log_dropped);
    if (exec_journal_forget(s->journal, run.run_id, run.attempt) && has_files)
        spool_remove(s->state_dirfd, run.run_id, run.attempt);
}

static void conn_handle_hello(struct supervisor *s, struct exec_connection *conn,
                              const struct exec_hello *hello)
{
    const struct exec_welcome welcome = {.version = EXEC_VERSION,
                                         .pid = getpid(),
                                         .boot_id = str_from(s->boot_id),
                                         .journal_is_of_this_boot =
                                             exec_journal_is_of_this_boot(s->journal)};
    const int64_t epoch = exec_journal_epoch(s->journal);
    conn->hello_received = true;
    conn->is_daemon = hello->version == EXEC_VERSION && hello->epoch >= epoch;
    conn->epoch = hello->epoch;
    if (conn->is_daemon)
        s->bye_received = s->is_superseded = false;
    else if (hello->version > EXEC_VERSION)
        s->is_superseded = true; /* it starts a supervisor of its own version after our exit */
    if (conn->is_daemon && exec_journal_raise_epoch(s->journal, hello->epoch) != OK)
        log_print(LOG_WARNING,
                  "cannot write the epoch to the journal: %s; after a restart of halligan-exec an "
                  "older daemon may be accepted",
                  strerror(errno));
    conn_queue(conn, &(struct exec_message){.kind = EXEC_WELCOME, .welcome = welcome});
    if (hello->epoch < epoch)
        conn_queue(conn, &(struct exec_message){.kind = EXEC_FENCED, .fenced = {.epoch = epoch}});
}

static void conn_queue_entry(void *self, const struct exec_entry *e)
{
    const struct exec_message ended = {.kind = EXEC_ENDED, .ended = e->ended};
    const struct exec_message begun = {.kind = EXEC_BEGUN, .begun = e->begun};
    conn_queue(self, e->is_ended ? &ended : &begun);
}

/* Handle one message. A fenced daemon may query, but neither start nor cancel nor delete. */
static void conn_handle_message(struct supervisor *s, struct exec_connection *conn,
                                const struct exec_message *m)
{
    const bool current = conn->is_daemon && conn->epoch >= exec_journal_epoch(s->journal);
    switch (m->kind) {
    case EXEC_HELLO: conn_handle_hello(s, conn, &m->hello); return;
    case EXEC_SPAWN: conn_handle_spawn(s, conn, &m->spawn); return;
    case EXEC_CANCEL:
        if (current)
            conn_handle_cancel(s, conn, m->run);
        return;
    case EXEC_QUERY:
        if (!conn_queue_known(s, conn, m->run))
            conn_queue_not_known(conn, m->run, !exec_journal_is_of_this_boot(s->journal));
        return;
    case EXEC_FORGET:
        if (current)
            conn_handle_forget(s, m->run);
        return;
    case EXEC_LIST:
        if (current)
            exec_journal_each(s->journal, conn, conn_queue_entry);
        return;
    case EXEC_RECONCILED:
        if (current && exec_journal_set_boot(s->journal) != OK)
            log_print(LOG_WARNING,
                      "cannot rewrite the journal: %s; unknown runs are still reported as possibly "
                      "started",
                      strerror(errno));
        return;
    case EXEC_BYE:
        s->bye_received = s->bye_received || current;
        conn_close(conn);
        return;
    case EXEC_NOTHING:
    case EXEC_WELCOME:
    case EXEC_BEGUN:
    case EXEC_ENDED:
    case EXEC_NOT_KNOWN:
    case EXEC_FENCED:
    case EXEC_KIND_END: conn_close(conn); return; /* only a supervisor sends these */
    }
}

/* ---- connections ---- */

static void conn_read_messages(struct supervisor *s, struct exec_connection *conn)
{
    struct exec_message m;
    err e = link_fill(&conn->link);
    while (e == OK && conn->link.fd >= 0) {
        e = exec_link_take(&conn->link, &m);
        if (e == OK && conn->hello_received == (m.kind == EXEC_HELLO))
            e = ERR_CORRUPT; /* HELLO is the first message and occurs once */
        if (e == OK)
            conn_handle_message(s, conn, &m);
    }
    if (e != OK && e != ERR_NOT_FOUND && conn->link.fd >= 0)
        conn_close(conn);
}

/* Access is limited by the mode of the directory; this also covers a socket that was moved out of
 * it. */
static bool conn_peer_is_allowed(int fd)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == geteuid() || who.uid == 0);
}

void exec_connections_accept(struct supervisor *s)
{
    const int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (s->connection_count >= CONNECTIONS_MAX || !conn_peer_is_allowed(fd)) {
        ignore(close(fd), "nothing was sent");
        return;
    }
    struct exec_connection *conn = calloc(1, sizeof *conn);
    must(conn);
    if (!link_init(&conn->link, fd) || !supervisor_watch(s, fd, conn, EPOLL_CTL_ADD, EPOLLIN)) {
        link_fini(&conn->link);
        free(conn);
        return;
    }
    conn->next = s->connections;
    s->connections = conn;
    s->connection_count++;
}

int64_t exec_connections_send(struct supervisor *s, int64_t now)
{
    /* The daemon commits results that arrive together in one batch, and the commit is most of the
     * cost of a short run (ADR 0062). So an end is delayed for END_DELAY_MS_MAX if enough other
     * runs are active that could end in this time. */
    const bool may_delay_ends = s->ends_unsent > 0 && s->ends_unsent < ENDS_PER_BATCH &&
                                now < s->send_at &&
                                s->ends_unsent + shims_count(s->shims) >= ENDS_PER_BATCH;
    if (may_delay_ends)
        return s->send_at;
    s->ends_unsent = 0;
    for (struct exec_connection *conn = s->connections; conn; conn = conn->next)
        if (conn->link.fd >= 0 && !conn->write_closed && !conn->watches_writable &&
            link_is_waiting(&conn->link))
            conn_flush(s, conn);
    return -1;
}

void exec_connections_remove_closed(struct supervisor *s)
{
    for (struct exec_connection **at = &s->connections; *at;) {
        struct exec_connection *conn = *at;
        if (conn->link.fd >= 0) {
            at = &conn->next;
            continue;
        }
        *at = conn->next;
        s->connection_count--;
        free(conn);
    }
}

void exec_connections_ready(struct supervisor *s, void *key, uint32_t events)
{
    struct exec_connection *conn = s->connections;
    while (conn && conn != key)
        conn = conn->next;
    if (!conn)
        return;
    if (conn->link.fd >= 0 && events & EPOLLOUT)
        conn_flush(s, conn);
    if (conn->link.fd >= 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        conn_read_messages(s, conn);
}

void exec_connections_close_all(struct supervisor *s)
{
    for (struct exec_connection *conn = s->connections; conn; conn = conn->next)
        conn_close(conn);
    exec_connections_remove_closed(s);
}
