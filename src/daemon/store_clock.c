/* store_clock.c - `halligand set-clock`.
 *
 * The stamp is the time in the store that orders events; it normally never decreases. The store is
 * led like by a daemon, so a running one is excluded or fenced. Then all records are loaded and
 * compared with the stored digest, because the batch that is written must carry the digest of all
 * records; a damaged store is not changed. The batch contains one event and the lower stamp, and is
 * committed as a whole.
 *
 * It owns the lock of the data directory, the store and a core while it runs. Failure: an error is
 * logged and the exit status is not 0. The stamp is unchanged then, unless the answer to the commit
 * was lost: a second call shows which. The epoch may have been incremented.
 */
#include "daemon/store_clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json/json.h"
#include "base/mem/arena.h"
#include "core/core.h"
#include "store/store_thread.h"
#include "sys/clock.h"
#include "sys/log.h"

enum { POLL_NS = 2 * 1000 * 1000 }; /* between two queries for the result of the commit */

struct set_clock_job {
    struct arena arena;
    struct core *core;
    struct store_port port;
    struct store_mark mark; /* turn, epoch, digest and stamp of the store */
    const char *what;       /* why the core refused a record */
};

static enum exit_status set_clock_store_failed(struct store *store, const char *doing)
{
    log_print(LOG_ERROR, "the stamp was not changed: the store could not be %s: %s", doing,
              store_last_error(store));
    return DAEMON_EXIT_FAILURE;
}

static err set_clock_load_record(void *self, const struct record *record)
{
    struct set_clock_job *s = self;
    return core_load(s->core, record, &s->what);
}

/* Load all records to compute their digest for the batch. A migration removes the stored digest;
 * where there is one, it is compared. */
static enum exit_status set_clock_load(struct set_clock_job *s, struct store *store)
{
    s->core = core_new();
    s->what = NULL;
    err e = s->port.load(s->port.self, (struct record_callback){s, set_clock_load_record});
    if (e != OK && !s->what)
        return set_clock_store_failed(store, "read");
    if (e == OK)
        e = core_load_end(s->core, 0, &s->what);
    if (e == OK && s->mark.has_digest && !digest_eq(core_digest(s->core), s->mark.digest)) {
        s->what = "the records do not match the stored digest";
        e = ERR_CORRUPT;
    }
    if (e == OK)
        return DAEMON_EXIT_OK;
    log_print(LOG_ERROR, "the stamp was not changed: the store is damaged: %s", s->what);
    return DAEMON_EXIT_FAILURE;
}

static struct json *set_clock_time_json(struct arena *a, int64_t ms)
{
    char text[SYS_TIME_SIZE];
    sys_time_format(ms, text);
    return json_make_string(a, str_copy(a, str_from(text)));
}

/* The encoded event about the change: its field `stamp` has the old and the new time. */
static struct str set_clock_event(struct set_clock_job *s, int64_t wall_ms)
{
    struct json *changes = json_make(&s->arena, JSON_OBJECT);
    struct json *pair = json_make(&s->arena, JSON_ARRAY);
    struct buf bytes = buf_in(&s->arena);
    struct change change;
    json_append(pair, set_clock_time_json(&s->arena, s->mark.now_ms));
    json_append(pair, set_clock_time_json(&s->arena, wall_ms));
    json_set(changes, STR("stamp"), pair);
    memset(&change, 0, sizeof change);
    change.record.table = TABLE_EVENT;
    change.record.event = (struct event_record){.turn = s->mark.turn + 1,
                                                .at = wall_ms,
                                                .actor = STR("halligand set-clock"),
                                                .verb = STR("set_clock"),
                                                .changes = json_write(&s->arena, changes)};
    batch_put(&bytes, &change);
    return buf_str(&bytes);
}

static enum exit_status set_clock_write_stamp(struct set_clock_job *s, struct store *store,
                                              int64_t wall_ms)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    const struct batch batch = {.epoch = s->mark.epoch,
                                .turn = s->mark.turn + 1,
                                .now_ms = wall_ms,
                                .rows = 1,
                                .events = 1,
                                .changes = set_clock_event(s, wall_ms),
                                .digest = core_digest(s->core)};
    bool is_busy = true;
    err e = s->port.submit(s->port.self, &batch);
    while (e == OK && is_busy) {
        nanosleep(&pause, NULL);
        e = s->port.poll(s->port.self, &is_busy);
        e = is_busy ? OK : e;
    }
    return e == OK ? DAEMON_EXIT_OK : set_clock_store_failed(store, "written");
}

/* Compare the stamp with the wall clock before leading the store, so that a store that needs no
 * change keeps its epoch. */
static enum exit_status set_clock_lower_stamp(struct set_clock_job *s, struct store *store)
{
    char from[SYS_TIME_SIZE], to[SYS_TIME_SIZE];
    const int64_t wall_ms = sys_now_ms();
    s->port = store_port(store);
    if (s->port.read_mark(s->port.self, &s->mark) != OK)
        return set_clock_store_failed(store, "read");
    if (s->mark.turn == 0) {
        log_print(LOG_ERROR,
                  "the stamp was not changed: the store is empty; check --data and --store");
        return DAEMON_EXIT_FAILURE;
    }
    sys_time_format(s->mark.now_ms, from);
    sys_time_format(wall_ms, to);
    if (s->mark.now_ms <= wall_ms) {
        printf("nothing to do: the stamp %s is not ahead of the wall clock %s\n", from, to);
        return DAEMON_EXIT_OK;
    }
    if (s->port.lead(s->port.self, 0, &s->mark) != OK)
        return set_clock_store_failed(store, "opened for writing");
    enum exit_status status = set_clock_load(s, store);
    if (status == DAEMON_EXIT_OK)
        status = set_clock_write_stamp(s, store, wall_ms);
    if (status == DAEMON_EXIT_OK)
        printf("the stamp was lowered from %s to %s\n", from, to);
    return status;
}

static enum exit_status set_clock_open_store(const struct config *c)
{
    char holder[HOLDER_SIZE];
    struct store *store = NULL;
    struct store_why why = {0};
    struct set_clock_job s = {0};
    data_dir_holder(holder);
    const err e =
        store_open(&(struct store_options){.url = c->store, .holder = holder}, &store, &why);
    if (e != OK) {
        log_print(LOG_ERROR, "the stamp was not changed: cannot open the store: %s", why.text);
        return e == ERR_EXISTS ? DAEMON_EXIT_LOCKED : DAEMON_EXIT_FAILURE;
    }
    const enum exit_status status = set_clock_lower_stamp(&s, store);
    core_free(s.core);
    store_close(store);
    arena_fini(&s.arena);
    return status;
}

enum exit_status set_clock(struct config *c)
{
    struct data_dir_locks locks;
    enum exit_status status = data_dir_find_database(c);
    if (status == DAEMON_EXIT_OK)
        status = data_dir_lock(c, &locks);
    if (status != DAEMON_EXIT_OK)
        return status;
    status = data_dir_check_database(c);
    if (status == DAEMON_EXIT_OK)
        status = set_clock_open_store(c);
    data_dir_unlock(&locks);
    return status;
}
