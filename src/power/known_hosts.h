/* known_hosts.h - the file DATA/ssh/known_hosts with the host keys that ssh accepts, written from
 * the pins: rows with the ssh host keys of each node (ADR 0067).
 *
 * Each line is "node-ID TYPE BASE64". ssh gets node-ID as HostKeyAlias, so no host name identifies
 * a node, and a renamed node keeps its pins. The file is written as a whole by a thread of libuv
 * and replaced atomically, after the turn whose rows it contains is durable. Changes during a write
 * are part of the next one.
 *
 * A file of an older version, in which lines start with the name of a node, is imported once: its
 * lines become pins before the file is written for the first time, and the settings record that
 * this was done. Until then nothing is written and known_hosts_is_ready() is false. The old file is
 * kept as known_hosts.old. A file that cannot be read is read again every 10 s.
 *
 * All functions are called from the thread of the loop. The structure must outlive the loop: a
 * write may end while the loop is being closed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

struct batch;
struct core;
struct outcome;
struct ssh_keys;
struct turn;

enum known_hosts_import {
    IMPORT_NOT_READ,
    IMPORT_PINNING,
    IMPORT_PROBING, /* probes of nodes that are alive and have no pins are being ordered */
    IMPORT_MARKING, /* the settings are being updated */
    IMPORT_DONE
};

/* A line of a file of an older version. */
struct known_line {
    int64_t node_id;
    int64_t boot;   /* generation at which the key was seen, or HOST_KEY_ANY_BOOT */
    struct str key; /* "TYPE BASE64" */
};

struct known_hosts {
    const char *path;
    const struct ssh_keys *ssh_keys; /* to recognise host keys of the daemon's machine */
    uv_loop_t *loop;
    int64_t request_first; /* request of its commands; known_hosts_on_result() gets the outcomes */
    void *self;
    void (*wake)(void *self); /* requests a call of known_hosts_pump() */

    /* The import. */
    enum known_hosts_import import;
    struct arena arena;       /* text and lines of the old file */
    struct known_line *lines; /* sorted by node */
    uint32_t line_count;
    uint32_t line_at;   /* the next line to pin */
    uint32_t waiting;   /* commands without an outcome */
    uint32_t imported;  /* nodes with pins from the file */
    int64_t node_at;    /* nodes up to this id were checked for pins */
    bool is_probed;     /* all nodes were checked */
    bool has_failed;    /* a command was lost with a batch: start again */
    bool is_unreadable; /* the old file cannot be read, and that was logged */

    /* The file. The numbers count changes of the pins. */
    uint64_t loads;   /* turn_loads() at the last pump */
    uint64_t changes; /* changes so far */
    uint64_t built;   /* changes that the text contains */
    uint64_t written; /* changes that the file contains, or whose write failed */
    bool is_building; /* the text is incomplete */
    bool is_built;    /* the text is complete; its turn may not be durable yet */
    int64_t cursor;   /* id of the last pin in the text */
    int64_t turn;     /* that the text was built from */
    char *text;
    uint32_t len, cap;
    uint32_t size_max; /* of the text, in bytes */
    uv_timer_t retry;
    bool is_open, is_writing, is_closed;
};

/* request_first, self and wake must be set. */
void known_hosts_open(struct known_hosts *k, uv_loop_t *loop, const struct ssh_keys *keys);
void known_hosts_close(struct known_hosts *k);
/* Continues the import, or builds and writes the file after changes. True if a command was
 * submitted. */
bool known_hosts_pump(struct known_hosts *k, struct turn *turn);
/* The outcome of a command. Not OK: nothing of it is in the store. */
void known_hosts_on_result(struct known_hosts *k, const struct outcome *outcome, err why);
/* Called for every durable batch. */
void known_hosts_on_durable_batch(struct known_hosts *k, const struct batch *batch);

/* True if the file was written at least once since the start. */
bool known_hosts_is_ready(const struct known_hosts *k);
/* The number of changes of the pins so far, and whether the file contains that many. */
uint64_t known_hosts_changes(const struct known_hosts *k);
bool known_hosts_is_written(const struct known_hosts *k, uint64_t change);

/* "TYPE BASE64" of the pin that ssh prefers; empty: the node has none. In the arena. */
struct str known_hosts_best_key(const struct core *core, int64_t node_id, struct arena *a);
/* True if the node has pins that are in force for this boot generation. */
bool known_hosts_has_pins(const struct core *core, int64_t node_id, int64_t boot, struct arena *a);
