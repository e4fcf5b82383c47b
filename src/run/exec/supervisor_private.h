/* supervisor_private.h - what the two halves of a supervisor share.
 *
 * supervisor.c opens, goes round and closes; exec_connections.c speaks with daemons. Lives as long
 * as supervisor_run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "run/exec/journal.h"
#include "run/exec/link.h"
#include "run/exec/protocol.h"
#include "run/exec/shims.h"
#include "run/exec/supervisor.h"
#include "sys/files.h"

/* Until an end that could not be written is tried again. */
enum { SUPERVISOR_SAVE_MS = 1000 };

/* Somebody connected; a daemon once it has said HELLO. */
struct exec_connection {
    struct exec_connection *next;
    struct link link; /* closed: it is forgotten at the end of the round */
    bool is_watched_for_room;
    bool write_closed; /* it hung up; what it said before that still counts */
    bool has_said_hello;
    bool is_daemon; /* of our version, and not fenced when it came */
    int64_t epoch;
};

struct supervisor {
    struct supervisor_setup setup;
    int place;
    struct file_lock lock;
    int listener;
    int signals;
    int epoll;
    uint64_t files_max;
    char boot_id[EXEC_BOOT_ID_SIZE];
    struct exec_journal *journal;
    struct shims *children;
    struct exec_connection *visitors;
    uint32_t visitor_count;
    bool has_said_bye;   /* the last daemon that was accepted */
    bool is_superseded;  /* somebody of a higher version waits for us to go */
    int64_t alone_since; /* -1: not alone */
    int64_t stop_at;     /* -1: not stopping */
    bool has_killed;
    int64_t save_at;       /* -1: every end is written */
    uint32_t ends_waiting; /* said, not sent */
    int64_t tell_at;       /* when the first of them must go */
};

bool supervisor_watch(const struct supervisor *s, int fd, void *key, int operation,
                      uint32_t events);
/* BEGUN and ENDED, from a lead. */
void supervisor_on_shim_message(void *self, const struct exec_message *message);

/* Somebody knocks. */
void visitors_let_in(struct supervisor *s);
/* An event for one of them; a key that is none of theirs is fine. */
void visitors_ready(struct supervisor *s, void *key, uint32_t events);
/* The round is over: what was said in it is sent, now or, when that comes back, at that time. */
int64_t exec_connections_send(struct supervisor *s, int64_t now);
void visitors_forget_gone(struct supervisor *s);
void visitors_dismiss_all(struct supervisor *s);
