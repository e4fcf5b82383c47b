/* The suite, against the store of the simulator. */
#include "sim/store/memory_store.h"
#include "tests/store/suite.h"

#include <stdlib.h>

static void *memory_make(void)
{
    return memory_store_new();
}

static void memory_destroy(void *place)
{
    memory_store_free(place);
}

static void memory_open(void *place, struct session *s)
{
    struct memory_session *session = malloc(sizeof *session);
    CHECK(session != NULL);
    memory_session_init(session, place);
    s->self = session;
    s->port = memory_session_port(session);
}

static void memory_close(struct session *s)
{
    memory_session_crash(s->self, true);
    free(s->self);
}

static bool memory_die(void *place, bool (*life)(struct session *s))
{
    struct session s = {0};
    memory_open(place, &s);
    const bool said = life(&s);
    memory_session_crash(s.self, false);
    free(s.self);
    return said;
}

static bool is_behind(const struct record *r, const int64_t after[2])
{
    if (r->table == TABLE_OLD_MEMBER)
        return r->old_member.noderole_id > after[0];
    return r->old_data.role_id > after[0] ||
           (r->old_data.role_id == after[0] && r->old_data.node_id > after[1]);
}

/* The simulated store has no pages of its own. */
static err memory_intervals(void *place, const struct interval_page *page,
                            struct record_callback callback)
{
    struct arena arena = {0};
    uint32_t count, found = 0;
    const struct record *old =
        memory_store_old(place, page->deployment_id, page->seq, &arena, &count);
    err e = OK;
    for (uint32_t i = 0; i < count && found < page->limit && e == OK; i++)
        if (old[i].table == page->table && is_behind(&old[i], page->after)) {
            e = callback.record(callback.self, &old[i]);
            found++;
        }
    arena_fini(&arena);
    return e;
}

static err memory_runs(void *place, int64_t noderole_id, uint32_t limit,
                       struct record_callback callback)
{
    return memory_store_runs(place, noderole_id, limit, callback);
}

const struct store_maker suite_maker = {
    .name = "memory",
    .make = memory_make,
    .destroy = memory_destroy,
    .open = memory_open,
    .close = memory_close,
    .die = memory_die,
    .intervals = memory_intervals,
    .runs = memory_runs,
};
