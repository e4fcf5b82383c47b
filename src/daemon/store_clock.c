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

enum { POLL_NS = 2 * 1000 * 1000 };

struct setting_clock {
    struct arena arena;
    struct core *core;
    struct store_port port;
    struct store_mark mark;
    const char *what; /* why a record was refused */
};

static enum ending store_failed(struct store *store, const char *doing)
{
    log_print(LOG_ERROR, "the stamp was not changed: the store could not be %s: %s", doing,
              store_trouble(store));
    return ENDING_TROUBLE;
}

static err load_record(void *self, const struct record *record)
{
    struct setting_clock *s = self;
    return core_load(s->core, record, &s->what);
}

/* The batch carries the digest of all records, which a migration may have removed from the store;
 * so the records are read, and compared with the digest where there is one. */
static enum ending load(struct setting_clock *s, struct store *store)
{
    s->core = core_new();
    s->what = NULL;
    err e = s->port.load(s->port.self, (struct store_visitor){s, load_record});
    if (e != OK && !s->what)
        return store_failed(store, "read");
    if (e == OK)
        e = core_load_end(s->core, 0, &s->what);
    if (e == OK && s->mark.has_digest && !digest_eq(core_digest(s->core), s->mark.digest)) {
        s->what = "the records are not those that were written: their digest differs";
        e = ERR_CORRUPT;
    }
    if (e == OK)
        return ENDING_FINE;
    log_print(LOG_ERROR, "the stamp was not changed: the store is damaged: %s", s->what);
    return ENDING_TROUBLE;
}

static struct json *time_of(struct arena *a, int64_t ms)
{
    char text[SYS_TIME_SIZE];
    sys_time_format(ms, text);
    return json_make_string(a, str_copy(a, str_from(text)));
}

static struct str event(struct setting_clock *s, int64_t wall_ms)
{
    struct json *changes = json_make(&s->arena, JSON_OBJECT);
    struct json *pair = json_make(&s->arena, JSON_ARRAY);
    struct buf bytes = buf_in(&s->arena);
    struct change change;
    json_append(pair, time_of(&s->arena, s->mark.now_ms));
    json_append(pair, time_of(&s->arena, wall_ms));
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

static enum ending write_stamp(struct setting_clock *s, struct store *store, int64_t wall_ms)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    const struct batch batch = {.epoch = s->mark.epoch,
                                .turn = s->mark.turn + 1,
                                .now_ms = wall_ms,
                                .rows = 1,
                                .events = 1,
                                .changes = event(s, wall_ms),
                                .digest = core_digest(s->core)};
    bool is_busy = true;
    err e = s->port.submit(s->port.self, &batch);
    while (e == OK && is_busy) {
        nanosleep(&pause, NULL);
        e = s->port.poll(s->port.self, &is_busy);
        e = is_busy ? OK : e;
    }
    return e == OK ? ENDING_FINE : store_failed(store, "written");
}

static enum ending lower(struct setting_clock *s, struct store *store)
{
    char from[SYS_TIME_SIZE], to[SYS_TIME_SIZE];
    const int64_t wall_ms = sys_now_ms();
    s->port = store_port(store);
    if (s->port.look(s->port.self, &s->mark) != OK)
        return store_failed(store, "read");
    if (s->mark.turn == 0) {
        log_print(LOG_ERROR, "the store is empty: it has no stamp; see --data and --store");
        return ENDING_TROUBLE;
    }
    sys_time_format(s->mark.now_ms, from);
    sys_time_format(wall_ms, to);
    if (s->mark.now_ms <= wall_ms) {
        printf("nothing to do: the stamp %s is not ahead of the wall clock %s\n", from, to);
        return ENDING_FINE;
    }
    if (s->port.lead(s->port.self, 0, &s->mark) != OK)
        return store_failed(store, "led");
    enum ending ending = load(s, store);
    if (ending == ENDING_FINE)
        ending = write_stamp(s, store, wall_ms);
    if (ending == ENDING_FINE)
        printf("the stamp was lowered from %s to %s\n", from, to);
    return ending;
}

static enum ending open_and_lower(const struct config *c)
{
    char who[WHO_SIZE];
    struct store *store = NULL;
    struct store_why why = {0};
    struct setting_clock s = {0};
    data_dir_who(who);
    const err e = store_open(&(struct store_options){.url = c->store, .holder = who}, &store, &why);
    if (e != OK) {
        log_print(LOG_ERROR, "the stamp was not changed: the store does not open: %s", why.text);
        return e == ERR_EXISTS ? ENDING_HELD : ENDING_TROUBLE;
    }
    const enum ending ending = lower(&s, store);
    core_free(s.core);
    store_close(store);
    arena_fini(&s.arena);
    return ending;
}

enum ending set_clock(struct config *c)
{
    struct hold hold;
    enum ending ending = data_dir_find_database(c);
    if (ending == ENDING_FINE)
        ending = data_dir_take(c, &hold);
    if (ending != ENDING_FINE)
        return ending;
    ending = data_dir_check_database(c);
    if (ending == ENDING_FINE)
        ending = open_and_lower(c);
    data_dir_leave(&hold);
    return ending;
}
