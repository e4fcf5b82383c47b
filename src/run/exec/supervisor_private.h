/* supervisor_private.h - the state that supervisor.c and exec_connections.c share.
 *
 * supervisor.c opens, runs the event loop and closes; exec_connections.c handles the connections of
 * daemons. Exists for the duration of supervisor_run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "run/exec/journal.h"
#include "run/exec/exec_link.h"
#include "run/exec/protocol.h"
#include "run/exec/shims.h"
#include "run/exec/supervisor.h"
#include "sys/files.h"

/* Delay in ms until a failed write of an end is tried again. */
enum { SUPERVISOR_SAVE_MS = 1000 };

/* An accepted connection; a daemon once HELLO was received. */
struct exec_connection {
    struct exec_connection *next;
    struct link link; /* fd -1: closed, removed at the end of the round */
    bool watches_writable;
    /* the peer does not read any more; orders it sent before are still handled */
    bool write_closed;
    bool hello_received;
    bool is_daemon; /* same version, and not fenced when it connected */
    int64_t epoch;
};

struct supervisor {
    struct supervisor_setup setup;
    int state_dirfd;
    struct file_lock lock;
    int listener; /* the socket that accepts daemons */
    int signals;  /* signalfd of SIGCHLD, SIGTERM and SIGINT */
    int epoll;
    uint64_t files_max;              /* limit on open files of the processes of runs */
    char boot_id[EXEC_BOOT_ID_SIZE]; /* of the running kernel */
    struct exec_journal *journal;
    struct shims *shims;
    struct exec_connection *connections;
    uint32_t connection_count;
    bool bye_received;    /* the last accepted daemon ended for good */
    bool is_superseded;   /* a daemon of a higher version waits for our end */
    int64_t idle_since;   /* ms; without daemon and runs since; -1: not idle */
    int64_t stop_at;      /* ms; SIGTERM was received, SIGKILL is due then; -1: not stopping */
    bool has_killed;      /* SIGKILL was ordered for all runs */
    int64_t save_at;      /* ms; next try to write ends to the journal; -1: all are written */
    uint32_t ends_unsent; /* queued, not sent */
    int64_t send_at;      /* ms; when the first of them must be sent */
};

bool supervisor_watch(const struct supervisor *s, int fd, void *key, int operation,
                      uint32_t events);
/* Callback for EXEC_BEGUN and EXEC_ENDED of a shim. */
void supervisor_on_shim_message(void *self, const struct exec_message *message);

/* Accept a connection. */
void exec_connections_accept(struct supervisor *s);
/* Handle an event; a key that is not a connection is ignored. */
void exec_connections_ready(struct supervisor *s, void *key, uint32_t events);
/* Send the queued messages at the end of a round, or return the time in ms until which they are
 * delayed; -1: sent. */
int64_t exec_connections_send(struct supervisor *s, int64_t now);
void exec_connections_remove_closed(struct supervisor *s);
void exec_connections_close_all(struct supervisor *s);
