/* The feed of changes: what it keeps, what a message has, and when a client must read everything
 * again. Batches are made by hand; the same over HTTP is in tests/api/test_live.py. */
#include "tests/unit/api/api_world.h"

#include "api/call/change_feed.h"

struct feeding {
    struct front *f;
    struct change_feed *feed;
    int64_t turn;
};

static struct feeding feeding_open(void)
{
    struct front *f = front_open();
    struct feeding d = {.f = f, .feed = api_change_feed(f->api), .turn = f->w->turn};
    change_feed_read(d.feed, d.turn, 0);
    return d;
}

static void feed_noderole(struct feeding *d, int64_t id, uint32_t state)
{
    struct record r = {.table = TABLE_NODEROLE, .id = id};
    r.noderole.id = id;
    r.noderole.state = state;
    r.noderole.deployment_id = id % 2 + 1;
    r.noderole.node_id = 7;
    change_feed_add(d->feed, d->f->w->core, &r, false);
}

static void feed_gone(struct feeding *d, enum table table, int64_t id)
{
    change_feed_add(d->feed, d->f->w->core, &(struct record){.table = table, .id = id}, true);
}

/* A turn in which `count` noderoles from `first` on became ACTIVE. */
static void feed_turn(struct feeding *d, int64_t first, uint32_t count)
{
    CHECK(change_feed_begin(d->feed, ++d->turn, 0));
    for (uint32_t i = 0; i < count; i++)
        feed_noderole(d, first + i, NODEROLE_ACTIVE);
    change_feed_end(d->feed);
}

static const char *feed_text(const struct feeding *d, int64_t from, int64_t deployment_id)
{
    static struct arena kept;
    arena_fini(&kept);
    kept = (struct arena){0};
    return str_z(&kept, change_feed_message(d->feed, from, d->feed->turn, deployment_id)->text);
}

TEST(an_object_is_listed_once_with_its_last_state)
{
    struct feeding d = feeding_open();
    const int64_t from = d.turn;
    CHECK(change_feed_begin(d.feed, ++d.turn, 0));
    feed_noderole(&d, 2, NODEROLE_TRANSITION);
    feed_noderole(&d, 3, NODEROLE_ERROR);
    feed_gone(&d, TABLE_RUN, 9);
    change_feed_end(d.feed);
    CHECK(change_feed_begin(d.feed, ++d.turn, 0));
    feed_noderole(&d, 2, NODEROLE_ACTIVE);
    feed_gone(&d, TABLE_NODEROLE, 3);
    feed_gone(&d, TABLE_SNAPSHOT, 4);
    change_feed_end(d.feed);
    struct buf wanted = buf_in(&d.f->w->arena);
    buf_put_z(&wanted, "{\"turn\":");
    buf_put_i64(&wanted, d.turn);
    buf_put_z(&wanted, ",\"reset\":false,\"noderoles\":[[2,0]],\"nodes\":[7],\"deployments\":[1,2],"
                       "\"runs\":[],\"deleted\":{\"noderoles\":[3],\"nodes\":[],\"deployments\":[],"
                       "\"runs\":[9]}}");
    EXPECT_STR(feed_text(&d, from, 0), str_z(&d.f->w->arena, buf_str(&wanted)));
    front_close(d.f);
}

TEST(a_filter_leaves_out_noderoles_of_other_deployments)
{
    struct feeding d = feeding_open();
    feed_turn(&d, 10, 4);
    const char *text = feed_text(&d, d.turn - 1, 2);
    CHECK(strstr(text, "\"noderoles\":[[11,0],[13,0]]") && strstr(text, "\"deployments\":[2]"));
    front_close(d.f);
}

TEST(clients_of_the_same_turns_share_one_text)
{
    struct feeding d = feeding_open();
    feed_turn(&d, 10, 3);
    const struct change_message *a = change_feed_message(d.feed, d.turn - 1, d.turn, 0);
    CHECK(a == change_feed_message(d.feed, d.turn - 1, d.turn, 0));
    CHECK(a != change_feed_message(d.feed, d.turn - 1, d.turn, 1));
    feed_turn(&d, 10, 3);
    CHECK(a != change_feed_message(d.feed, d.turn - 2, d.turn, 0));
    CHECK(a == change_feed_message(d.feed, d.turn - 2, d.turn - 1, 0));
    front_close(d.f);
}

/* With the turn that reaches the bound; one turn is never divided. */
TEST(a_long_message_ends_early)
{
    struct feeding d = feeding_open();
    const int64_t from = d.turn;
    for (uint32_t i = 0; i < 4; i++)
        feed_turn(&d, 1 + i * 4000, 4000);
    CHECK(change_feed_message(d.feed, from, d.turn, 0)->to == from + 3);
    CHECK(change_feed_message(d.feed, from + 3, d.turn, 0)->to == from + 4);
    feed_turn(&d, 1, CHANGE_TURN_MAX);
    CHECK(change_feed_message(d.feed, d.turn - 1, d.turn, 0)->to == d.turn);
    feed_turn(&d, 1, 1);
    CHECK(change_feed_message(d.feed, d.turn - 2, d.turn, 0)->to == d.turn - 1);
    front_close(d.f);
}

TEST(old_turns_leave_the_ring_as_a_whole)
{
    struct feeding d = feeding_open();
    const int64_t from = d.turn;
    for (uint32_t i = 0; i < 9; i++)
        feed_turn(&d, 1, 8000);
    CHECK(!change_feed_has(d.feed, from) && change_feed_has(d.feed, from + 1));
    const char *text = feed_text(&d, from + 1, 0);
    CHECK(strstr(text, "[1,0]") && strstr(text, "[8000,0]"));
    front_close(d.f);
}

TEST(a_turn_that_is_too_large_is_a_gap)
{
    struct feeding d = feeding_open();
    feed_turn(&d, 1, 5);
    feed_turn(&d, 1, CHANGE_TURN_MAX + 1);
    CHECK(!change_feed_has(d.feed, d.turn - 1) && change_feed_has(d.feed, d.turn));
    feed_turn(&d, 1, 5);
    CHECK(change_feed_has(d.feed, d.turn - 1));
    front_close(d.f);
}

/* After a load of the core: a batch whose fate was not known was committed, and never reported. */
TEST(a_turn_that_was_not_reported_is_a_gap)
{
    struct feeding d = feeding_open();
    feed_turn(&d, 1, 5);
    change_feed_read(d.feed, d.turn + 1, 0);
    CHECK(!change_feed_has(d.feed, d.turn) && change_feed_has(d.feed, d.turn + 1));
    d.turn += 2;
    feed_turn(&d, 1, 5);
    CHECK(!change_feed_has(d.feed, d.turn - 2) && change_feed_has(d.feed, d.turn - 1));
    front_close(d.f);
}

TEST(without_readers_nothing_is_recorded)
{
    struct front *f = front_open();
    struct change_feed *feed = api_change_feed(f->api);
    CHECK(!change_feed_begin(feed, 1, 0));
    change_feed_read(feed, 1, 1000);
    CHECK(change_feed_begin(feed, 2, 1000 + CHANGE_FEED_IDLE_MS));
    CHECK(!change_feed_begin(feed, 3, 1001 + CHANGE_FEED_IDLE_MS));
    CHECK(!feed->entries);
    front_close(f);
}

TEST(streams_write_up_to_the_same_turn_for_250_ms)
{
    struct feeding d = feeding_open();
    const int64_t begin = d.turn;
    CHECK(change_feed_tick(d.feed, 1000) == begin);
    feed_turn(&d, 1, 1);
    CHECK(change_feed_tick(d.feed, 1249) == begin);
    CHECK(change_feed_tick(d.feed, 1250) == begin + 1);
    feed_turn(&d, 1, 1);
    CHECK(change_feed_tick(d.feed, 1300) == begin + 1);
    change_feed_read(d.feed, 1, 1300); /* another store: the turn is behind the last tick */
    CHECK(change_feed_tick(d.feed, 1301) == 1);
    front_close(d.f);
}

/* A reply waits for no batch: what the feed has is durable. */
TEST(changes_are_answered_while_a_batch_is_in_flight)
{
    struct feeding d = feeding_open();
    feed_turn(&d, 1, 1);
    d.f->w->turn = d.turn;
    d.f->held = 1;
    char path[64];
    snprintf(path, sizeof path, "/api/v2/changes?since=%lld", (long long)(d.turn - 1));
    struct asked *a = get(d.f, path);
    STATUS(a, 200);
    EXPECT_STR(at(d.f, a, "noderoles"), "[[1,0]]");
    front_close(d.f);
}
