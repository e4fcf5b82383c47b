/* Goal: many commands as one: in order, each seeing what those before it did, and all of them or
 * none, whichever of them is refused or needs replies of hooks.
 * Method: batches through the core; what they leave is compared with the same commands given one by
 * one; refusals must leave the digest as it was (world.h). */
#include "core/core_private.h"
#include "tests/world/world.h"

#include <stdio.h>
#include <string.h>

static struct command cmd_batch(struct world *w, const struct command *parts, uint32_t count)
{
    struct buf b = buf_in(&w->arena);
    for (uint32_t i = 0; i < count; i++)
        command_encode(&parts[i], &b);
    return CMD(BATCH, batch, .commands = buf_str(&b));
}

#define BATCH_OF(w, ...)                                                                           \
    cmd_batch((w), (const struct command[]){__VA_ARGS__},                                          \
              (uint32_t)(sizeof((const struct command[]){__VA_ARGS__}) / sizeof(struct command)))

static struct world *open_racks(void)
{
    struct world *w = world_open();
    world_role(w, "base", "'flags':['implicit']");
    world_role(w, "app", "'requires':['base']");
    world_role(w, "picky", "'hooks':['on_node_bind']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    return w;
}

static struct command cmd_update(int64_t node, const char *description)
{
    return CMD(NODE_UPDATE, node_update, .id = node, .given = GIVEN_DESCRIPTION,
               .description = str_from(description));
}

/* The fields of all problems of the last step, concatenated. */
static const char *fields(struct world *w)
{
    struct buf b = buf_in(&w->arena);
    for (const struct problem *p = w->out.problems; p; p = p->next) {
        buf_put_z(&b, b.len ? " " : "");
        buf_put_str(&b, p->field);
    }
    return str_z(&w->arena, buf_str(&b));
}

/* ---- execution ---- */

TEST(parts_are_done_in_order_and_see_each_other)
{
    struct world *w = open_racks();
    const int64_t next = core_next_id(w->core, TABLE_NODE, the_node(w, "n2") - 1) + 1;
    const struct command batch =
        BATCH_OF(w, cmd_node(w, "n3"), cmd_update(next, "first"), cmd_update(next, "second"),
                 CMD(NODEROLE_BIND, noderole_bind, .node_id = next, .role_id = the_role(w, "app")),
                 CMD(NODE_COMMIT, node_commit, .id = next));
    CHECK(DONE(w, batch) == next);
    char wanted[100];
    snprintf(wanted, sizeof wanted, "[%d,%d,%d,%d,%d]", (int)next, (int)next, (int)next,
             (int)the_noderole(w, "app@n3"), (int)next);
    CHECK(str_eq(w->out.doc, str_from(wanted)));
    CHECK(the_node(w, "n3") == next);
    CHECK(str_eq(read_node(w, "n3").description, STR("second")));
    IS(w, "base@n3", "todo");
    IS(w, "app@n3", "blocked");
    world_reload(w);
    world_close(w);
}

static void step_at(struct world *w, struct command command, int64_t now_ms)
{
    struct effects fx = {0};
    command.now_ms = command.wall_ms = command.mono_ms = now_ms;
    core_step(w->core, &command, &w->arena, &fx, &w->out);
    CHECK(w->out.verdict == VERDICT_DONE);
}

TEST(a_batch_leaves_what_its_parts_leave_one_by_one)
{
    struct world *w = open_racks(), *v = open_racks();
    const struct command parts[] = {cmd_node(w, "n3"), cmd_bind(w, "app@n1", NULL),
                                    CMD(NODE_COMMIT, node_commit, .id = the_node(w, "n1")),
                                    cmd_update(the_node(w, "n2"), "words"),
                                    CMD(NODE_DELETE, node_delete, .id = the_node(w, "n2"))};
    const uint32_t count = sizeof parts / sizeof *parts;
    const int64_t now_ms = w->now_ms + 1000;
    CHECK(digest_eq(core_digest_now(w->core), core_digest_now(v->core)));
    step_at(w, cmd_batch(w, parts, count), now_ms);
    for (uint32_t i = 0; i < count; i++)
        step_at(v, parts[i], now_ms);
    CHECK(digest_eq(core_digest_now(w->core), core_digest_now(v->core)));
    IS(w, "base@n1", "todo");
    world_close(w);
    world_close(v);
}

TEST(one_snapshot_is_enough_for_a_batch)
{
    struct world *w = open_racks();
    world_committed_deployment(w, "d");
    const int64_t before = read_head(w, "d").seq;
    DONE(w, BATCH_OF(w, cmd_bind(w, "base@n1", "d"), cmd_bind(w, "base@n2", "d")));
    DONE(w, BATCH_OF(w, cmd_commit(w, "base@n1"), cmd_commit(w, "base@n2")));
    CHECK(read_head(w, "d").seq == before + 1);
    world_close(w);
}

TEST(an_empty_batch_is_done)
{
    struct world *w = open_racks();
    CHECK(DONE(w, CMD(BATCH, batch, .commands = STR(""))) == 0);
    CHECK(str_eq(w->out.doc, STR("[]")));
    world_close(w);
}

/* Actor, address and time of a part are replaced by those of the batch. */
TEST(all_parts_have_the_caller_of_the_batch)
{
    struct world *w = open_racks();
    world_committed_deployment(w, "d");
    world_bind_in(w, "base@n1", "d");
    struct command part = cmd_commit(w, "base@n1");
    part.actor = STR("user mallory");
    part.depth = 7;
    part.now_ms = part.wall_ms = INT64_MAX;
    struct command batch = cmd_batch(w, &part, 1);
    batch.actor = STR("user ann");
    step_at(w, batch, w->now_ms + 1000);
    CHECK(str_eq(read_head(w, "d").actor, STR("user ann")));
    CHECK(read_noderole(w, "base@n1").updated_at < INT64_MAX / 2);
    world_close(w);
}

/* ---- refusals ---- */

TEST(a_refused_part_rolls_back_the_batch)
{
    struct world *w = open_racks();
    const int64_t n1 = the_node(w, "n1");
    const struct command good = cmd_update(n1, "words"), wrong = cmd_update(4711, "words");
    const uint32_t changed = core_changed(w->core);
    REFUSED(w, BATCH_OF(w, wrong, good), NOT_FOUND, "0.id");
    REFUSED(w, BATCH_OF(w, good, wrong), NOT_FOUND, "1.id");
    REFUSED(w, BATCH_OF(w, cmd_node(w, "n3"), good, wrong, cmd_node(w, "n4")), NOT_FOUND, "2.id");
    CHECK(w->out.id == 0 && w->fx.count == 0);
    CHECK(core_find(w->core, TABLE_NODE, STR("n3.example.com")) == 0);
    CHECK(core_changed(w->core) == changed);
    DONE(w, BATCH_OF(w, cmd_node(w, "n3"), good));
    world_reload(w);
    world_close(w);
}

TEST(all_problems_are_reported)
{
    struct world *w = open_racks();
    const struct command bad_name = CMD(NODE_CREATE, node_create, .name = STR("x"));
    const struct command nobody = CMD(GROUP_ADD, group_add, .id = 4711, .node_id = 4711);
    REFUSED(w, BATCH_OF(w, bad_name, cmd_node(w, "n3"), nobody, bad_name), NAME_INVALID, "0.name");
    EXPECT_STR(fields(w), "0.name 2.id 2.node_id 3.name");
    world_close(w);
}

TEST(a_name_can_be_used_once_in_a_batch)
{
    struct world *w = open_racks();
    REFUSED(w, BATCH_OF(w, cmd_node(w, "n3"), cmd_node(w, "n3")), NAME_TAKEN, "1.name");
    world_close(w);
}

TEST(later_parts_do_not_see_a_refused_part)
{
    struct world *w = open_racks();
    struct command half = cmd_node(w, "n3");
    half.node_create.deployment_id = 4711;
    REFUSED(w, BATCH_OF(w, half, cmd_node(w, "n3")), NOT_FOUND, "0.deployment_id");
    EXPECT_STR(fields(w), "0.deployment_id");
    world_close(w);
}

TEST(only_some_kinds_may_be_part_of_a_batch)
{
    struct world *w = open_racks();
    uint32_t fitting = 0;
    for (uint32_t kind = 0; kind < COMMAND_COUNT; kind++) {
        const struct command part = {.kind = (enum command_kind)kind};
        if (command_is_for_batch(part.kind)) {
            fitting++;
            continue;
        }
        const char *why = REFUSED(w, BATCH_OF(w, part), BAD_VALUE, "0");
        HAS(why, command_name(part.kind));
    }
    CHECK(fitting >= 11 && fitting < COMMAND_COUNT / 2);
    world_close(w);
}

TEST(hooks_may_not_use_batches_or_tokens)
{
    struct world *w = open_racks();
    world_role(w, "requesting", "'hooks':['on_todo']");
    const struct command wishes[] = {
        CMD(BATCH, batch, .commands = STR("")),
        CMD(TOKEN_CREATE, token_create, .user_id = 1, .name = STR("t"),
            .hash = STR("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")),
        CMD(TOKEN_DELETE, token_delete, .id = 1)};
    world_bind(w, "requesting@n1");
    for (uint32_t i = 0; i < 3; i++) {
        struct buf b = buf_in(&w->arena);
        command_encode(&wishes[i], &b);
        if (i == 0)
            world_commit(w, "requesting@n1");
        else
            DONE(w, cmd_retry(w, "requesting@n1"));
        world_answer(w, "on_todo requesting@n1", false, buf_str(&b));
        IS(w, "requesting@n1", "error");
        HAS(str_z(&w->arena, read_noderole(w, "requesting@n1").runlog), "hooks may not use");
    }
    world_close(w);
}

/* ---- conditions of single parts ---- */

TEST(a_part_may_have_a_precondition)
{
    struct world *w = open_racks();
    const int64_t n1 = the_node(w, "n1");
    world_collect(w);
    struct command part = cmd_update(n1, "words");
    part.if_turn = read_node(w, "n1").turn;
    struct command late = part;
    late.if_turn++;
    REFUSED(w, BATCH_OF(w, late), PRECONDITION_FAILED, "0.if_turn");
    /* A change by an earlier part violates the precondition. */
    REFUSED(w, BATCH_OF(w, cmd_update(n1, "other"), part), PRECONDITION_FAILED, "1.if_turn");
    DONE(w, BATCH_OF(w, part, cmd_update(n1, "other")));
    world_close(w);
}

/* ---- vetoes ---- */

static void step_once(struct world *w, struct command *batch)
{
    struct effects fx = {0};
    batch->now_ms = batch->wall_ms = batch->mono_ms = ++w->now_ms;
    core_step(w->core, batch, &w->arena, &fx, &w->out);
}

static struct veto_reply *answers_to(struct world *w, uint32_t vetoed)
{
    struct veto_reply *veto_replies =
        arena_array(&w->arena, struct veto_reply, w->out.veto_call_count);
    uint32_t count = 0;
    for (const struct veto_call *ask = w->out.veto_calls; ask; ask = ask->next, count++)
        veto_replies[count] = (struct veto_reply){ask->key, count == vetoed, STR("not there")};
    CHECK(count == w->out.veto_call_count);
    return veto_replies;
}

TEST(veto_requests_of_all_parts_are_sent_together)
{
    struct world *w = open_racks();
    struct command batch = BATCH_OF(w, cmd_bind(w, "picky@n1", NULL), cmd_node(w, "n3"),
                                    cmd_bind(w, "picky@n2", NULL));
    const struct digest128 before = core_digest_now(w->core);
    step_once(w, &batch);
    CHECK(w->out.verdict == VERDICT_NEEDS_HOOKS && w->out.veto_call_count == 2);
    CHECK(digest_eq(before, core_digest_now(w->core)));
    batch.veto_replies = answers_to(w, 1);
    batch.veto_reply_count = 2;
    step_once(w, &batch);
    CHECK(w->out.verdict == VERDICT_REFUSED);
    EXPECT_STR(fields(w), "2.on_node_bind");
    CHECK(w->out.problems->code == PROBLEM_HOOK_VETO);
    CHECK(digest_eq(before, core_digest_now(w->core)));
    batch.veto_replies = NULL;
    batch.veto_reply_count = 0;
    step_once(w, &batch);
    batch.veto_replies = answers_to(w, UINT32_MAX);
    batch.veto_reply_count = 2;
    step_once(w, &batch);
    CHECK(w->out.verdict == VERDICT_DONE);
    CHECK(world_bound(w, "picky@n1") && world_bound(w, "picky@n2") && the_node(w, "n3"));
    world_close(w);
}

TEST(later_parts_see_a_part_that_needs_hooks)
{
    struct world *w = open_racks();
    CHECK(core_count(w->core, TABLE_NODEROLE) == 0);
    struct command batch =
        BATCH_OF(w, cmd_bind(w, "picky@n1", NULL), CMD(NODEROLE_COMMIT, noderole_commit, .id = 1));
    step_once(w, &batch);
    CHECK(w->out.verdict == VERDICT_NEEDS_HOOKS && w->out.veto_call_count == 1);
    DONE(w, batch);
    CHECK(the_noderole(w, "picky@n1") == 1);
    IS(w, "picky@n1", "todo");
    world_close(w);
}

TEST(veto_replies_inside_a_part_are_ignored)
{
    struct world *w = open_racks();
    struct command bind = cmd_bind(w, "picky@n1", NULL);
    step_once(w, &bind);
    CHECK(w->out.verdict == VERDICT_NEEDS_HOOKS);
    bind.veto_replies = answers_to(w, UINT32_MAX);
    bind.veto_reply_count = w->out.veto_call_count;
    struct command batch = BATCH_OF(w, bind);
    step_once(w, &batch);
    CHECK(w->out.verdict == VERDICT_NEEDS_HOOKS && w->out.veto_call_count == 1);
    world_close(w);
}

/* ---- bounds ---- */

TEST(the_number_of_parts_is_bounded)
{
    struct world *w = open_racks();
    struct command *parts = arena_array(&w->arena, struct command, PARTS_MAX + 1);
    for (uint32_t i = 0; i <= PARTS_MAX; i++)
        parts[i] = cmd_update(the_node(w, "n1"), i % 2 ? "odd" : "even");
    DONE(w, cmd_batch(w, parts, PARTS_MAX));
    CHECK(str_eq(read_node(w, "n1").description, STR("odd")));
    REFUSED(w, cmd_batch(w, parts, PARTS_MAX + 1), LIMIT_REACHED, "commands");
    CHECK(str_eq(read_node(w, "n1").description, STR("odd")));
    world_close(w);
}

TEST(ten_thousand_machines_are_created_in_one_batch)
{
    struct world *w = open_racks();
    struct command *parts = arena_array(&w->arena, struct command, PARTS_MAX);
    for (uint32_t i = 0; i < PARTS_MAX; i++) {
        char name[40], hint[80];
        snprintf(name, sizeof name, "m%u.example.com", i);
        snprintf(hint, sizeof hint, "{'admin_macs':['52:54:00:00:%02x:%02x']}", i >> 8, i & 255);
        parts[i] = CMD(NODE_CREATE, node_create, .name = str_copy(&w->arena, str_from(name)),
                       .hint = world_json(w, hint));
    }
    const uint32_t before = core_count(w->core, TABLE_NODE);
    DONE(w, cmd_batch(w, parts, PARTS_MAX));
    CHECK(core_count(w->core, TABLE_NODE) == before + PARTS_MAX);
    world_close(w);
}

/* Each part writes a large document again; the memory of a step is bounded. */
TEST(the_memory_of_a_batch_is_bounded)
{
    struct world *w = open_racks();
    const uint32_t size = 900u << 10;
    char *long_text = arena_alloc(&w->arena, size + 2);
    memset(long_text, 'x', size + 2);
    long_text[0] = long_text[size + 1] = '"';
    world_node_attrib(w, "big", "'map':'big'");
    world_node_attrib(w, "small", "'map':'small'");
    struct command set = cmd_set(w, TABLE_NODE, the_node(w, "n1"), "big", BUCKET_NOTE, "1");
    set.attrib_set.value = (struct str){long_text, size + 2};
    DONE(w, set);
    struct command *parts = arena_array(&w->arena, struct command, PARTS_MAX);
    for (uint32_t i = 0; i < PARTS_MAX; i++)
        parts[i] =
            cmd_set(w, TABLE_NODE, the_node(w, "n1"), "small", BUCKET_NOTE, i % 2 ? "1" : "2");
    REFUSED(w, cmd_batch(w, parts, PARTS_MAX), LIMIT_REACHED, "commands");
    world_close(w);
}

/* ---- malformed batches ---- */

static void check_harmless(struct world *w, struct str bytes)
{
    const struct digest128 before = core_digest_now(w->core);
    struct command batch = CMD(BATCH, batch, .commands = bytes);
    step_once(w, &batch);
    if (w->out.verdict == VERDICT_DONE)
        return;
    CHECK(digest_eq(before, core_digest_now(w->core)));
    CHECK(w->out.verdict != VERDICT_REFUSED || w->out.problems->field.len > 0);
}

TEST(a_batch_that_cannot_be_decoded_changes_nothing)
{
    struct world *w = open_racks();
    const int64_t n1 = the_node(w, "n1");
    const struct str good =
        BATCH_OF(w, cmd_update(n1, "words"), cmd_node(w, "n3"), cmd_bind(w, "picky@n1", NULL))
            .batch.commands;
    REFUSED(w, CMD(BATCH, batch, .commands = str_slice(good, 0, good.len - 1)), BAD_VALUE,
            "commands");
    REFUSED(w, CMD(BATCH, batch, .commands = STR("\xff\xff\xff\xff")), BAD_VALUE, "commands");
    for (uint32_t len = 0; len < good.len; len++)
        check_harmless(w, str_slice(good, 0, len));
    for (uint32_t at = 0; at < good.len; at++)
        for (uint32_t bit = 0; bit < 8; bit++) {
            char *bytes = arena_copy(&w->arena, good.at, good.len);
            bytes[at] = (char)(bytes[at] ^ (char)(1u << bit));
            check_harmless(w, (struct str){bytes, good.len});
        }
    CHECK(core_check(w->core, &w->arena) == NULL);
    world_reload(w);
    world_close(w);
}

/* ---- observers ---- */

struct onlooker {
    struct buf seen;
    const struct core *core;
};

static void note_before(void *self, const struct command *part)
{
    struct onlooker *o = self;
    buf_put_z(&o->seen, command_name(part->kind));
    buf_put_z(&o->seen, " of ");
    buf_put_u64(&o->seen, core_count(o->core, TABLE_NODE));
}

static void note_after(void *self, const struct command *part, const struct outcome *outcome)
{
    static const char *const words[] = {" done ", " refused ", " asking "};
    struct onlooker *o = self;
    CHECK(str_eq(part->actor, STR("user ann")) && str_eq(part->address, STR("192.0.2.7")));
    buf_put_z(&o->seen, words[outcome->verdict]);
    buf_put_u64(&o->seen, core_count(o->core, TABLE_NODE));
    buf_put_z(&o->seen, "; ");
}

TEST(an_observer_sees_each_part)
{
    struct world *w = open_racks();
    struct onlooker o = {buf_in(&w->arena), w->core};
    const struct part_watch watch = {&o, note_before, note_after};
    struct command first = cmd_node(w, "n3");
    first.address = STR("198.51.100.1"); /* replaced by that of the batch, like the actor */
    struct command batch = BATCH_OF(w, first, cmd_node(w, "n3"), cmd_bind(w, "picky@n1", NULL));
    batch.actor = STR("user ann");
    batch.address = STR("192.0.2.7");
    const unsigned count = core_count(w->core, TABLE_NODE);
    core_watch_parts(w->core, &watch);
    step_once(w, &batch);
    core_watch_parts(w->core, NULL);
    char wanted[200];
    snprintf(wanted, sizeof wanted,
             "node_create of %u done %u; node_create of %u refused %u; noderole_bind of %u asking "
             "%u; ",
             count, count + 1, count + 1, count + 1, count + 1, count + 1);
    EXPECT_STR(str_z(&w->arena, buf_str(&o.seen)), wanted);
    CHECK(core_count(w->core, TABLE_NODE) == count);
    step_once(w, &batch);
    CHECK(strlen(wanted) == o.seen.len);
    world_close(w);
}
