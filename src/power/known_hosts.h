/* known_hosts.h - DATA/ssh/known_hosts, the host keys that ssh accepts, written from the rows.
 *
 * Each line is "node-ID TYPE BASE64". ssh is given node-ID as HostKeyAlias, so no host name
 * identifies a node, and a node that is renamed keeps its pins. The file is written as a whole
 * beside the loop and replaced atomically, after the turn whose rows it shows is durable. Changes
 * that come during a writing go with the next one.
 *
 * The file of an older version, with a node's name in front, is read once: its lines become pins
 * before the file is written for the first time, and the settings say that it was done. Nothing is
 * written or reported as ready before. It is kept as known_hosts.old. One that cannot be read is
 * read again until it can.
 *
 * Belongs to the loop's thread, and must outlive the loop: a writing may end while that is closed.
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
    IMPORT_PROBING, /* probes of living nodes without pins are ordered */
    IMPORT_MARKING,
    IMPORT_DONE
};

/* A line of an old file. */
struct known_line {
    int64_t node_id;
    int64_t boot;
    struct str key;
};

struct known_hosts {
    const char *path;
    const struct ssh_keys *home; /* knows the host keys of this machine */
    uv_loop_t *loop;
    int64_t request_first; /* of its requests to the turn; known_hosts_told() gets the answers */
    void *self;
    void (*wake)(void *self); /* have known_hosts_pump() called */

    enum known_hosts_import import;
    struct arena arena; /* of the import */
    struct known_line *lines;
    uint32_t line_count, line_at, waiting, imported;
    int64_t node_at; /* nodes up to this one were looked at */
    bool is_probed;  /* all nodes were */
    bool has_failed;
    bool is_unreadable; /* the old file, and that was logged */

    uint64_t loads;   /* of the turn, when the rows were looked at last */
    uint64_t changes; /* of the rows */
    uint64_t built;   /* of them are in the text */
    uint64_t written; /* of them are in the file, or that failed */
    bool is_building;
    bool is_built; /* waits for its turn to be durable */
    int64_t cursor;
    int64_t turn;
    char *text;
    uint32_t len, cap;
    uint32_t size_max; /* of the text */
    uv_timer_t retry;
    bool is_open, is_writing, is_closed;
};

/* request_first, self and wake are set. */
void known_hosts_open(struct known_hosts *k, uv_loop_t *loop, const struct ssh_keys *home);
void known_hosts_close(struct known_hosts *k);
/* Import, or write what changed. True when a command was submitted. */
bool known_hosts_pump(struct known_hosts *k, struct turn *turn);
void known_hosts_told(struct known_hosts *k, const struct outcome *outcome, err why);
/* A batch is durable. */
void known_hosts_durable(struct known_hosts *k, const struct batch *batch);

/* The file shows the rows of some moment since the last load. */
bool known_hosts_is_ready(const struct known_hosts *k);
/* How many changes the rows have seen; and is the file as it was after so many? */
uint64_t known_hosts_changes(const struct known_hosts *k);
bool known_hosts_is_written(const struct known_hosts *k, uint64_t change);

/* "TYPE BASE64" of the pin that ssh prefers; empty: the node has none. In the arena. */
struct str known_hosts_best_key(const struct core *core, int64_t node_id, struct arena *a);
/* Has the node pins that hold for this boot generation? */
bool known_hosts_has_pins(const struct core *core, int64_t node_id, int64_t boot, struct arena *a);
