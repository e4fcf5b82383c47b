/* archive_world.h - a store of closed intervals that answers when a test lets it, and a deployment
 * with archived snapshots. */
#pragma once

#include "tests/unit/api/api_world.h"

struct fake_history {
    struct front *f;
    err answers;
    uint32_t asked; /* snapshots whose reading has begun */
    uint32_t pages; /* pages requested */
    struct interval_page page;
    int64_t number;
    bool is_asked; /* the last request is not answered yet */
    /* Additional records beside the archive of the world. */
    const struct record *more;
    uint32_t more_count;
};

static struct fake_history fake_history;

static err fake_history_intervals(void *self, const struct interval_page *page, int64_t number)
{
    CHECK(self == fake_history.f && page->limit > 0);
    fake_history.asked +=
        page->table == TABLE_OLD_MEMBER && page->after[1] == -1 && !page->after[0];
    fake_history.pages++;
    fake_history.page = *page;
    fake_history.number = number;
    fake_history.is_asked = fake_history.answers == OK;
    return fake_history.answers;
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
static inline struct front *world_with_nodes(void)
{
    struct front *f = front_open();
    f->engine.intervals = fake_history_intervals;
    api_free(f->api);
    f->api = api_new(f->engine, f->passwords);
    fake_history = (struct fake_history){.f = f};
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

/* Does the record belong to the requested page, apart from the limit? */
static inline bool is_on_page(const struct record *r)
{
    const struct interval_page *page = &fake_history.page;
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

/* Answers the requested page. Additional records are in the order of their keys. */
static inline void let_answer_page(struct front *f)
{
    static struct record found[4096];
    uint32_t count = 0;
    CHECK(fake_history.is_asked);
    fake_history.is_asked = false;
    for (size_t i = 0; i < f->w->kept_count && count < fake_history.page.limit; i++)
        if (is_on_page(&f->w->kept[i]))
            found[count++] = f->w->kept[i];
    for (uint32_t i = 0; i < fake_history.more_count && count < fake_history.page.limit; i++)
        if (is_on_page(&fake_history.more[i]))
            found[count++] = fake_history.more[i];
    CHECK(count < sizeof found / sizeof *found);
    api_on_history(f->api, fake_history.number, found, count, OK);
}

/* Answers pages until none is requested. */
static inline void let_answer(struct front *f)
{
    const uint32_t asked = fake_history.asked;
    while (fake_history.is_asked && fake_history.asked == asked)
        let_answer_page(f);
}

/* "/api/v2/" and a path in which # is replaced by the id of the snapshot with that seq. */
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
