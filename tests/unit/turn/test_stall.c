/* Goal: a store that does not answer delays no request for ever, and the outcome of a batch is what
 * the store reports in the end.
 * Method: the world of test_turn.c, with batches that are answered late; the test decides when the
 * store counts as stalled. */
#include "tests/unit/turn/turn_world.h"

/* One batch in flight with request 1, and the store is stalled. */
static void world_stall(struct world *w)
{
    world_init(w);
    w->session.faults.late = 3;
    CHECK(submit_create(w, 1, STR("")) == OK);
    CHECK(turn_advance(w->turn) == TURN_AGAIN && turn_advance(w->turn) == TURN_WAITING);
    turn_set_stalled(w->turn, true);
}

TEST(commands_with_a_request_are_refused_before_they_are_stepped)
{
    struct world w;
    world_init(&w);
    w.session.faults.late = 2;
    CHECK(submit_create(&w, 1, STR("")) == OK && turn_advance(w.turn) == TURN_AGAIN);
    CHECK(submit_create(&w, 2, STR("")) == OK && submit_create(&w, 0, STR("")) == OK);
    turn_set_stalled(w.turn, true);
    CHECK(submit_create(&w, 3, STR("")) == ERR_UNAVAILABLE);
    CHECK(submit_create(&w, 0, STR("")) == OK);
    CHECK(turn_advance(w.turn) == TURN_WAITING && says(&w, "2 unavailable; "));
    CHECK(turn_waiting(w.turn) == 2 && turn_next_ms(w.turn) == -1);
    turn_set_stalled(w.turn, false);
    CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, "1 done 2 @2; "));
    CHECK(script_nodes(turn_core(w.turn)) == 3 && turn_durable(w.turn) == 3);
    world_fini(&w);
}

TEST(a_stall_between_batches_begins_no_batch)
{
    struct world w;
    world_init(&w);
    turn_set_stalled(w.turn, true);
    CHECK(submit_create(&w, 0, STR("")) == OK);
    CHECK(turn_advance(w.turn) == TURN_WAITING && turn_advance(w.turn) == TURN_WAITING);
    CHECK(turn_seen(w.turn) == turn_durable(w.turn) && turn_waiting(w.turn) == 1);
    turn_set_stalled(w.turn, false);
    CHECK(run_until_quiet(&w) == TURN_QUIET && turn_durable(w.turn) == 2);
    world_fini(&w);
}

/* Hooks reply without the store, but their command needs it. */
TEST(a_command_that_hooks_answer_meanwhile_is_refused)
{
    struct world w;
    world_init(&w);
    CHECK(submit_create(&w, 1, STR("once")) == OK && run_until_quiet(&w) == TURN_QUIET);
    turn_set_stalled(w.turn, true);
    CHECK(answer(&w, false) == OK && turn_advance(w.turn) == TURN_WAITING);
    CHECK(says(&w, "ask; 1 unavailable; ") && turn_waiting(w.turn) == 0);
    world_fini(&w);
}

TEST(a_stepped_command_is_done_when_the_store_answers_in_time)
{
    struct world w;
    world_stall(&w);
    CHECK(run_until_quiet(&w) == TURN_WAITING || turn_durable(w.turn) == 2);
    turn_set_stalled(w.turn, false);
    CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, "1 done 2 @2; "));
    world_fini(&w);
}

/* The client gets one reply; the batch continues and is committed. */
TEST(a_stepped_command_that_waits_too_long_is_unknown_once)
{
    struct world w;
    world_stall(&w);
    turn_expire_requests(w.turn);
    CHECK(says(&w, "1 unknown; "));
    turn_expire_requests(w.turn);
    turn_set_stalled(w.turn, false);
    CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, ""));
    CHECK(script_nodes(turn_core(w.turn)) == 1 && turn_durable(w.turn) == 2);
    CHECK(submit_create(&w, 2, STR("")) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "2 done 3 @3; "));
    world_fini(&w);
}

/* Also while the batch is in doubt, whatever its result is. */
TEST(a_batch_in_doubt_expires_too)
{
    for (int i = 0; i < 2; i++) {
        struct world w;
        world_init(&w);
        w.session.faults.fate = i ? MEMORY_UNANSWERED_IN : MEMORY_UNANSWERED_OUT;
        CHECK(submit_create(&w, 1, STR("")) == OK && run_until_quiet(&w) == TURN_DOWN);
        turn_expire_requests(w.turn);
        CHECK(says(&w, "1 unknown; "));
        CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, ""));
        CHECK(turn_durable(w.turn) == 1 + i && script_nodes(turn_core(w.turn)) == (uint32_t)i);
        world_fini(&w);
    }
}

TEST(a_request_of_the_daemon_itself_waits_for_the_outcome)
{
    struct world w;
    world_init(&w);
    w.session.faults.late = 3;
    CHECK(submit_id(&w, COMMAND_NODE_DELETE, -5, 99) == OK && submit_create(&w, 1, STR("")) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN);
    turn_set_stalled(w.turn, true);
    turn_expire_requests(w.turn);
    CHECK(says(&w, "1 unknown; "));
    turn_set_stalled(w.turn, false);
    CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, "-5 not_found @2; "));
    world_fini(&w);
}

/* ---- plans ---- */

static err submit_dry(struct world *w, int64_t request, bool is_brief)
{
    return submit(w, (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT,
                                      .request = request,
                                      .is_dry = true,
                                      .is_brief = is_brief,
                                      .deployment_commit = {.id = 7}});
}

/* A plan and a brief plan for consent are reads. */
TEST(dry_commands_are_answered_while_everything_is_durable)
{
    struct world w;
    world_init(&w);
    w.now_ms = 7777;
    CHECK(submit_dry(&w, 1, false) == OK && turn_advance(w.turn) == TURN_AGAIN);
    CHECK(turn_slice(w.turn));
    turn_set_stalled(w.turn, true);
    CHECK(submit_dry(&w, 2, true) == OK && submit_dry(&w, 3, false) == OK);
    CHECK(submit_create(&w, 4, STR("")) == ERR_UNAVAILABLE);
    CHECK(run_until_quiet(&w) == TURN_WAITING);
    CHECK(says(&w, "1 done 7777 @1; 3 done 7777 @1; 2 done 7777 @1; "));
    CHECK(turn_plan_counts(w.turn).computed == 1 && turn_waiting(w.turn) == 0);
    turn_set_stalled(w.turn, false);
    CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, ""));
    world_fini(&w);
    CHECK(script_plans_alive == 0);
}

TEST(dry_commands_are_refused_while_something_is_not_durable)
{
    struct world w;
    world_stall(&w);
    CHECK(submit_dry(&w, 2, false) == ERR_UNAVAILABLE &&
          submit_dry(&w, 3, true) == ERR_UNAVAILABLE);
    turn_set_stalled(w.turn, false);
    CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, "1 done 2 @2; "));
    world_fini(&w);
}
