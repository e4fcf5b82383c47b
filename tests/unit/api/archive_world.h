/* archive_world.h - a store of closed intervals that answers when a test lets it, and a deployment
 * with a history.
 */
#pragma once

#include "tests/unit/api/api_world.h"

struct keeper {
    struct front *f;
    err answers;
    uint32_t asked; /* readings of a snapshot that began  */
    uint32_t pages; /* that were asked for                */
    struct interval_page page;
    int64_t number;
    bool is_asked; /* the last page was not answered yet */
    /* What it keeps besides the archive of the world. */
    const struct record *more;
    uint32_t more_count;
};

static struct keeper keeper;

static err keeper_intervals(void *self, const struct interval_page *page, int64_t number)
{
    CHECK(self == keeper.f && page->limit > 0);
    keeper.asked += page->table == TABLE_OLD_MEMBER && page->after[1] == -1 && !page->after[0];
    keeper.pages++;
    keeper.page = *page;
    keeper.number = number;
    keeper.is_asked = keeper.answers == OK;
    return keeper.answers;
}

static inline void set_data(struct front *f, const char *noderole, const char *data)
{
    DONE(f->w, cmd_propose(f->w, noderole));
    DONE(f->w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(f->w, noderole),
                   .data = world_json(f->w, data)));
    DONE(f->w, cmd_commit(f->w, noderole));
    world_run_all(f->w);
}

/* a@n1 in d: snapshot 1 with {"v":1}, snapshot 2 with {"v":2}, the head with {"v":3} and b@n1. */
static inline struct front *furnished(void)
{
    struct front *f = front_open();
    f->engine.intervals = keeper_intervals;
    api_free(f->api);
    f->api = api_new(f->engine, f->passwords);
    keeper = (struct keeper){.f = f};
    world_role(f->w, "a", "");
    world_role(f->w, "b", "");
    world_deployment(f->w, "d");
    world_node(f->w, "n1", "d");
    world_bind_in(f->w, "a@n1", "d");
    DONE(f->w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(f->w, "a@n1"),
                   .data = world_json(f->w, "{'v':1}")));
    world_commit_deployment(f->w, "d");
    world_run_all(f->w);
    set_data(f, "a@n1", "{'v':2}");
    DONE(f->w, CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = the_deployment(f->w, "d")));
    world_bind_in(f->w, "b@n1", "d");
    world_commit_deployment(f->w, "d");
    world_run_all(f->w);
    set_data(f, "a@n1", "{'v':3}");
    world_collect(f->w);
    return f;
}

/* The record belongs to the page that was asked for, limit or not. */
static inline bool is_on_page(const struct record *r)
{
    const struct interval_page *page = &keeper.page;
    if (r->table != page->table)
        return false;
    if (r->table == TABLE_OLD_DATA)
        return r->old_data.deployment_id == page->deployment_id &&
               r->old_data.from_seq <= page->seq && page->seq < r->old_data.to_seq &&
               (r->old_data.role_id > page->after[0] ||
                (r->old_data.role_id == page->after[0] && r->old_data.node_id > page->after[1]));
    return r->old_member.deployment_id == page->deployment_id &&
           r->old_member.from_seq <= page->seq && page->seq < r->old_member.to_seq &&
           r->old_member.noderole_id > page->after[0];
}

/* The page that was asked for is answered. What is kept besides comes in the order of its keys. */
static inline void let_answer_page(struct front *f)
{
    static struct record found[4096];
    uint32_t count = 0;
    CHECK(keeper.is_asked);
    keeper.is_asked = false;
    for (size_t i = 0; i < f->w->kept_count && count < keeper.page.limit; i++)
        if (is_on_page(&f->w->kept[i]))
            found[count++] = f->w->kept[i];
    for (uint32_t i = 0; i < keeper.more_count && count < keeper.page.limit; i++)
        if (is_on_page(&keeper.more[i]))
            found[count++] = keeper.more[i];
    CHECK(count < sizeof found / sizeof *found);
    api_on_history(f->api, keeper.number, found, count, OK);
}

/* All pages until something else happens. */
static inline void let_answer(struct front *f)
{
    const uint32_t asked = keeper.asked;
    while (keeper.is_asked && keeper.asked == asked)
        let_answer_page(f);
}

/* "/api/v2/" and a path in which # stands for the id of the snapshot with that seq. */
static inline const char *target(struct front *f, const char *path, int64_t seq)
{
    struct record s;
    int64_t id = read_head(f->w, "d").id;
    for (; core_record(f->w->core, TABLE_SNAPSHOT, id, &s) && s.snapshot.seq != seq;)
        id = s.snapshot.predecessor_id;
    CHECK(id != 0);
    struct buf b = buf_in(&f->w->arena);
    buf_put_z(&b, "/api/v2/");
    for (; *path; path++)
        if (*path == '#')
            buf_put_i64(&b, id);
        else
            buf_put_c(&b, *path);
    return str_z(&f->w->arena, buf_str(&b));
}
