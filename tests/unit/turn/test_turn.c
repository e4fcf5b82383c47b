/* Goal: the turn keeps the order take, step, commit, perform, whatever fails.
 * Method: a scripted core (scripted_core.h) and the simulated store; every port appends its calls
 * to a log, and the log is compared. At the end the process crashes at every crash point, one after
 * the other. */
#include "tests/unit/turn/turn_world.h"
#include "turn/plan_queue.h"
#include "turn/turn.h"

static err submit_rows(struct world *w, int64_t request, uint32_t rows)
{
    return submit(w, (struct command){.kind = COMMAND_SETTINGS_UPDATE,
                                      .request = request,
                                      .settings_update = {.pool_normal = rows}});
}

/* ---- the pipeline ---- */

TEST(an_empty_store_is_bootstrapped)
{
    struct world w = {.store = memory_store_new(), .now_ms = 5000};
    process_start(&w);
    CHECK(turn_core(w.turn) == NULL);
    CHECK(turn_start(w.turn) == TURN_AGAIN);
    CHECK(turn_seen(w.turn) == 1 && turn_durable(w.turn) == 0 && turn_epoch(w.turn) == 1);
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(turn_seen(w.turn) == 1 && turn_durable(w.turn) == 1);
    CHECK(memory_store_count(w.store, TABLE_SETTINGS) == 1);
    CHECK(memory_store_mark(w.store).now_ms == 5000);
    world_fini(&w);
}

TEST(nothing_leaves_before_its_cause_is_durable)
{
    struct world w;
    world_init(&w);
    w.session.faults.late = 2;
    CHECK(submit_id(&w, COMMAND_NODEROLE_ENQUEUE, 1, 40) == OK);
    CHECK(submit_id(&w, COMMAND_NODE_DELETE, 2, 99) == OK);
    CHECK(turn_waiting(w.turn) == 2);
    CHECK(turn_advance(w.turn) == TURN_AGAIN);
    CHECK(turn_seen(w.turn) == 2 && turn_durable(w.turn) == 1);
    CHECK(turn_advance(w.turn) == TURN_WAITING);
    CHECK(turn_advance(w.turn) == TURN_WAITING);
    CHECK(turn_next_ms(w.turn) == -1);
    CHECK(says(&w, ""));
    CHECK(turn_advance(w.turn) == TURN_AGAIN);
    CHECK(says(&w, "start 2/1 e1; 1 done 2 @2; 2 not_found @2; "));
    CHECK(turn_seen(w.turn) == 2 && turn_durable(w.turn) == 2);
    CHECK(turn_advance(w.turn) == TURN_QUIET);
    world_fini(&w);
}

TEST(commands_during_a_batch_form_the_next_batch)
{
    struct world w;
    world_init(&w);
    w.session.faults.late = 1;
    CHECK(submit_create(&w, 1, STR("")) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN);
    for (int64_t request = 2; request <= 4; request++)
        CHECK(submit_create(&w, request, STR("")) == OK);
    CHECK(turn_advance(w.turn) == TURN_WAITING && turn_waiting(w.turn) == 3);
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "1 done 2 @2; 2 done 3 @3; 3 done 4 @3; 4 done 5 @3; "));
    world_fini(&w);
}

TEST(a_refusal_alone_needs_no_turn)
{
    struct world w;
    world_init(&w);
    CHECK(submit_id(&w, COMMAND_NODE_DELETE, 1, 99) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN);
    CHECK(says(&w, "1 not_found @1; "));
    CHECK(turn_durable(w.turn) == 1 && turn_advance(w.turn) == TURN_QUIET);
    world_fini(&w);
}

TEST(a_batch_is_closed_by_its_number_of_rows)
{
    struct world w;
    world_init(&w);
    CHECK(submit_rows(&w, 1, BATCH_ROWS - 1) == OK);
    CHECK(submit_rows(&w, 2, 3000) == OK);
    CHECK(submit_rows(&w, 3, 1) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && turn_advance(w.turn) == TURN_AGAIN);
    CHECK(w.rows == BATCH_ROWS - 1 + 3000);
    CHECK(says(&w, "1 done 2500 @2; 2 done 5500 @2; "));
    CHECK(submit_rows(&w, 4, 1) == OK);
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "3 done 5501 @3; 4 done 5502 @4; "));
    world_fini(&w);
}

TEST(the_annealer_gets_the_rest_of_each_batch)
{
    struct world w;
    world_init(&w);
    CHECK(submit(&w, (struct command){.kind = COMMAND_GROUP_ADD, .group_add = {.id = 6000}}) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && turn_advance(w.turn) == TURN_AGAIN);
    CHECK(w.rows == BATCH_ROWS);
    /* Inputs do not starve it. */
    CHECK(submit_rows(&w, 1, 2300) == OK && submit_rows(&w, 2, 1) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && turn_advance(w.turn) == TURN_AGAIN);
    CHECK(w.rows == BATCH_ROWS && says(&w, "1 done 4801 @3; "));
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(memory_store_count(w.store, TABLE_NODE) == 6000 + 2301 && turn_durable(w.turn) == 5);
    world_fini(&w);
}

/* A slice that changes nothing fills no batch; commands are taken between two slices all the
 * same. */
TEST(a_batch_has_one_slice_of_dns_names)
{
    struct world w;
    world_init(&w);
    struct core *c = (struct core *)(uintptr_t)turn_core(w.turn);
    c->name_slices = 5;
    CHECK(turn_advance(w.turn) == TURN_AGAIN && c->name_slices == 4);
    CHECK(submit_create(&w, 1, STR("")) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && c->name_slices == 3);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && says(&w, "1 done 2 @2; "));
    /* Other work of the annealer goes on in the same batch. */
    CHECK(submit(&w, (struct command){.kind = COMMAND_GROUP_ADD, .group_add = {.id = 9}}) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && c->work == 0 && c->name_slices == 2);
    CHECK(run_until_quiet(&w) == TURN_QUIET && c->name_slices == 0);
    world_fini(&w);
}

/* Slices wait after each batch for as long as its commit took. Commands, ticks and other work of
 * the annealer do not wait. */
TEST(slices_pause_after_a_batch)
{
    struct world w;
    world_init(&w);
    struct core *c = (struct core *)(uintptr_t)turn_core(w.turn);
    c->name_slices = 9;
    CHECK(submit_create(&w, 1, STR("")) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && c->name_slices == 8);
    w.mono_ms += 7;
    CHECK(turn_advance(w.turn) == TURN_AGAIN && says(&w, "1 done 2 @2; "));
    CHECK(turn_advance(w.turn) == TURN_QUIET && c->name_slices == 8);
    CHECK(turn_next_ms(w.turn) == w.mono_ms + 7);
    c->deadline = w.mono_ms + 3;
    CHECK(turn_next_ms(w.turn) == w.mono_ms + 3);
    c->deadline = -1;
    w.mono_ms += 6;
    CHECK(turn_advance(w.turn) == TURN_QUIET);
    CHECK(submit_create(&w, 2, STR("")) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && turn_advance(w.turn) == TURN_AGAIN);
    CHECK(says(&w, "2 done 3 @3; ") && c->name_slices == 8);
    w.mono_ms += 1;
    CHECK(turn_advance(w.turn) == TURN_AGAIN && c->name_slices == 7);
    /* A store that is slow delays them by 100 ms at most. */
    CHECK(submit_create(&w, 3, STR("")) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && c->name_slices == 6);
    w.mono_ms += 5000;
    CHECK(turn_advance(w.turn) == TURN_AGAIN && turn_next_ms(w.turn) == w.mono_ms + 100);
    c->work = 1;
    CHECK(turn_advance(w.turn) == TURN_AGAIN && c->work == 0);
    world_fini(&w);
}

TEST(the_size_of_slices_and_parts_is_set_at_every_load)
{
    struct world w;
    world_init(&w);
    CHECK(turn_core(w.turn)->deletion_rows == 0);
    world_fini(&w);
    w = (struct world){.now_ms = 0};
    world_init(&w);
    turn_free(w.turn);
    w.ports.deletion_rows = 5;
    w.ports.boot_part = 7;
    w.turn = turn_new(&w.ports);
    CHECK(turn_start(w.turn) == TURN_AGAIN && turn_core(w.turn)->deletion_rows == 5);
    CHECK(turn_core(w.turn)->boot_part == 7);
    world_fini(&w);
}

TEST(a_tick_is_stepped_at_its_deadline)
{
    struct world w;
    world_init(&w);
    CHECK(submit(&w, (struct command){.kind = COMMAND_GROUP_ADD, .group_add = {0, 50}}) == OK);
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(turn_next_ms(w.turn) == 150);
    w.mono_ms = 149;
    CHECK(turn_advance(w.turn) == TURN_QUIET && turn_next_ms(w.turn) == 150);
    w.mono_ms = 150;
    CHECK(turn_advance(w.turn) == TURN_AGAIN && turn_next_ms(w.turn) == -1);
    world_fini(&w);
}

TEST(outbox_rows_are_delivered_unless_removed)
{
    struct world w;
    world_init(&w);
    CHECK(submit_id(&w, COMMAND_NODE_POWER, 0, OUTBOX_HOOK) == OK);
    CHECK(submit_id(&w, COMMAND_NODE_POWER, 0, OUTBOX_POWER) == OK);
    CHECK(submit_id(&w, COMMAND_NODE_POWER, 0, OUTBOX_PROBE) == OK);
    CHECK(submit_id(&w, COMMAND_NODE_POWER, 0, OUTBOX_PROBE) == OK);
    CHECK(submit_id(&w, COMMAND_OUTBOX_DONE, 0, 5) == OK);
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "hook 2; power 3; probe 4; "));
    world_fini(&w);
}

TEST(the_queue_is_bounded)
{
    struct world w;
    world_init(&w);
    for (uint32_t i = 0; i < TURN_INPUTS_MAX; i++)
        CHECK(submit_id(&w, COMMAND_NODE_DELETE, 0, 99) == OK);
    CHECK(submit_id(&w, COMMAND_NODE_DELETE, 0, 99) == ERR_LIMIT);
    CHECK(turn_advance(w.turn) == TURN_AGAIN);
    CHECK(submit_id(&w, COMMAND_NODE_DELETE, 0, 99) == OK);
    world_fini(&w);
}

TEST(a_dry_command_is_answered_with_its_plan)
{
    struct world w;
    world_init(&w);
    w.now_ms = 7777;
    CHECK(submit_create(&w, 1, STR("")) == OK);
    CHECK(submit(&w, (struct command){
                         .kind = COMMAND_DEPLOYMENT_COMMIT, .request = 2, .is_dry = true}) == OK);
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "1 done 2 @2; 2 done 7777 @2; ") && turn_durable(w.turn) == 2);
    CHECK(submit(&w, (struct command){
                         .kind = COMMAND_DEPLOYMENT_COMMIT, .request = 3, .is_dry = true}) == OK);
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "3 done 7777 @2; ") && turn_durable(w.turn) == 2);
    world_fini(&w);
}

/* ---- plans ---- */

static err submit_plan_of(struct world *w, int64_t request, bool is_summary, int64_t id)
{
    return submit(w, (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT,
                                      .request = request,
                                      .is_dry = true,
                                      .is_summary = is_summary,
                                      .deployment_commit = {.id = id}});
}

static err submit_plan(struct world *w, int64_t request, bool is_summary)
{
    return submit_plan_of(w, request, is_summary, 7);
}

TEST(plan_slices_are_computed_between_turns)
{
    struct world w;
    world_init(&w);
    w.now_ms = 7777;
    CHECK(submit_plan(&w, 1, false) == OK && turn_advance(w.turn) == TURN_AGAIN);
    CHECK(turn_slice(w.turn) && turn_slice(w.turn) && says(&w, ""));
    CHECK(submit_id(&w, COMMAND_NODE_DELETE, 2, 99) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && script_plans_alive == 1);
    CHECK(says(&w, "2 not_found @1; "));
    CHECK(!turn_slice(w.turn) && says(&w, "1 done 7777 @1; "));
    CHECK(turn_plan_counts(w.turn).computed == 1);
    world_fini(&w);
    CHECK(script_plans_alive == 0);
}

TEST(a_plan_is_used_again_while_nothing_changed)
{
    struct world w;
    world_init(&w);
    w.now_ms = 7777;
    CHECK(submit_plan(&w, 1, false) == OK && submit_plan(&w, 2, true) == OK);
    CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, "1 done 7777 @1; 2 done 7777 @1; "));
    CHECK(submit_plan(&w, 3, true) == OK && turn_advance(w.turn) == TURN_AGAIN);
    CHECK(!turn_slice(w.turn) && says(&w, "3 done 7777 @1; "));
    struct turn_plan_counts counts = turn_plan_counts(w.turn);
    CHECK(counts.computed == 1 && counts.reused == 2 && counts.restarted == 0);
    /* A row that it read has changed: it is computed again. */
    CHECK(submit_create(&w, 4, STR("")) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "4 done 2 @2; ") && script_plans_alive == 0);
    CHECK(submit_plan(&w, 5, true) == OK);
    CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, "5 done 7777 @2; "));
    /* A plan without lists cannot answer a request for them. */
    CHECK(submit_plan(&w, 6, false) == OK);
    CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, "6 done 7777 @2; "));
    counts = turn_plan_counts(w.turn);
    CHECK(counts.computed == 3 && counts.reused == 2 && counts.restarted == 0 && counts.busy == 0);
    world_fini(&w);
    CHECK(script_plans_alive == 0);
}

TEST(a_stale_plan_is_restarted_three_times)
{
    struct world w;
    world_init(&w);
    w.now_ms = 7777;
    CHECK(submit_plan(&w, 1, false) == OK && submit_plan(&w, 2, false) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN);
    for (int64_t i = 0; i < 4; i++) {
        CHECK(turn_slice(w.turn) && turn_slice(w.turn));
        CHECK(submit_create(&w, 0, STR("")) == OK);
        CHECK(turn_advance(w.turn) == TURN_AGAIN && turn_advance(w.turn) == TURN_AGAIN);
        CHECK(turn_plan_counts(w.turn).restarted == (uint64_t)i && says(&w, ""));
    }
    CHECK(!turn_slice(w.turn) && says(&w, "1 busy @5; 2 busy @5; "));
    CHECK(turn_plan_counts(w.turn).restarted == 3 && turn_plan_counts(w.turn).busy == 2);
    /* The next request starts with no restarts, and nothing changes meanwhile. */
    CHECK(submit_plan(&w, 3, false) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "3 done 7777 @5; "));
    world_fini(&w);
    CHECK(script_plans_alive == 0);
}

TEST(a_plan_is_answered_when_its_turn_is_durable)
{
    struct world w;
    world_init(&w);
    w.now_ms = 7777;
    w.session.faults.late = 3;
    CHECK(submit_create(&w, 1, STR("")) == OK && submit_plan(&w, 2, false) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && turn_advance(w.turn) == TURN_WAITING);
    for (int i = 0; i < 5; i++)
        turn_slice(w.turn);
    CHECK(says(&w, "") && turn_seen(w.turn) == 2 && turn_durable(w.turn) == 1);
    CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, "1 done 2 @2; 2 done 7777 @2; "));
    world_fini(&w);
}

TEST(a_request_without_a_plan_slot_waits_for_the_store)
{
    struct world w;
    world_init(&w);
    w.now_ms = 7777;
    w.session.faults.late = 30;
    CHECK(submit_create(&w, 1, STR("")) == OK);
    for (int64_t i = 0; i <= PLANS_KEPT; i++)
        CHECK(submit_plan_of(&w, 2 + i, false, 10 + i) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && turn_advance(w.turn) == TURN_WAITING);
    int slices = 1;
    while (slices < 100 && turn_slice(w.turn))
        slices++;
    CHECK(slices == PLANS_KEPT * PLAN_SLICES && script_plans_alive == PLANS_KEPT);
    CHECK(!turn_slice(w.turn) && says(&w, ""));
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "1 done 2 @2; 2 done 7777 @2; 3 done 7777 @2; 4 done 7777 @2; 5 done 7777 @2; "
                   "6 done 7777 @2; "));
    world_fini(&w);
    CHECK(script_plans_alive == 0);
}

TEST(requests_for_plans_are_bounded_and_fail_with_the_store)
{
    struct world w;
    world_init(&w);
    for (int64_t i = 1; i <= PLAN_REQUESTS_MAX + 1; i++)
        CHECK(submit_plan(&w, i, false) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && says(&w, "65 limit; "));
    CHECK(turn_slice(w.turn) && script_plans_alive == 1);
    w.session.faults.late = 3;
    CHECK(submit_create(&w, 0, STR("")) == OK && turn_advance(w.turn) == TURN_AGAIN);
    turn_set_stalled(w.turn, true);
    CHECK(!turn_slice(w.turn));
    CHECK(turn_advance(w.turn) == TURN_WAITING && strlen(w.call_log) > 64);
    CHECK(strncmp(w.call_log, "1 unavailable; 2 unavailable; ", 30) == 0);
    CHECK(script_plans_alive == 0);
    w.call_log[0] = 0;
    turn_set_stalled(w.turn, false);
    CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, ""));
    world_fini(&w);
    CHECK(script_plans_alive == 0);
}

TEST(an_import_dry_run_uses_the_current_core)
{
    struct world w;
    world_init(&w);
    struct arena a = {0};
    struct outcome out[2];
    const struct str barclamps[] = {STR("{}"), STR("[]")};
    CHECK(turn_import_dry_run(w.turn, barclamps, 2, &a, out) == OK);
    CHECK(out[0].id == 1 && str_eq(out[0].doc, STR("{}")));
    CHECK(out[1].id == 2 && str_eq(out[1].doc, STR("[]")) && turn_seen(w.turn) == 1);
    arena_fini(&a);
    world_fini(&w);
}

/* ---- veto requests ---- */

TEST(a_command_waits_for_its_hooks)
{
    struct world w;
    world_init(&w);
    w.session.faults.late = 1;
    CHECK(submit_create(&w, 1, STR("")) == OK && submit_create(&w, 2, STR("once")) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && turn_advance(w.turn) == TURN_WAITING);
    CHECK(says(&w, ""));
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "1 done 2 @2; ask; ") && turn_pending(w.turn) == 1);
    CHECK(turn_submit_veto_replies(w.turn, w.token + 1, NULL, 0) == ERR_NOT_FOUND);
    CHECK(answer(&w, false) == OK && turn_pending(w.turn) == 0);
    CHECK(answer(&w, false) == ERR_NOT_FOUND);
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "2 done 3 @3; "));
    world_fini(&w);
}

TEST(a_veto_refuses)
{
    struct world w;
    world_init(&w);
    CHECK(submit_create(&w, 2, STR("once")) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(answer(&w, true) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "ask; 2 hook_veto @1; "));
    world_fini(&w);
}

TEST(veto_requests_that_keep_changing_are_refused)
{
    struct world w;
    world_init(&w);
    CHECK(submit_create(&w, 2, STR("always")) == OK && run_until_quiet(&w) == TURN_QUIET);
    for (uint32_t round = 1; round <= ASKS_ROUNDS_MAX; round++) {
        CHECK(says(&w, "ask; "));
        CHECK(answer(&w, false) == OK && run_until_quiet(&w) == TURN_QUIET);
        CHECK(w.veto_replies == round); /* the replies of all rounds */
    }
    CHECK(says(&w, "2 hooks_unsettled @1; ") && turn_pending(w.turn) == 0);
    world_fini(&w);
}

TEST(pending_commands_are_bounded)
{
    struct world w;
    world_init(&w);
    for (uint32_t i = 0; i < TURN_PENDING_MAX; i++) {
        CHECK(submit_create(&w, 0, STR("once")) == OK && run_until_quiet(&w) == TURN_QUIET);
        CHECK(says(&w, "ask; "));
    }
    CHECK(submit_create(&w, 9, STR("once")) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "9 limit; ") && turn_pending(w.turn) == TURN_PENDING_MAX);
    CHECK(answer(&w, false) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(submit_create(&w, 9, STR("once")) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "ask; "));
    world_fini(&w);
}

TEST(a_pending_command_survives_a_failed_store)
{
    struct world w;
    world_init(&w);
    CHECK(submit_create(&w, 2, STR("once")) == OK && run_until_quiet(&w) == TURN_QUIET);
    w.session.faults.fate = MEMORY_REFUSED;
    CHECK(submit_create(&w, 1, STR("")) == OK && run_until_quiet(&w) == TURN_DOWN);
    CHECK(run_until_quiet(&w) == TURN_DOWN || turn_epoch(w.turn) == 2);
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(answer(&w, false) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "ask; 1 unavailable; 2 done 2 @2; "));
    world_fini(&w);
}

/* ---- failure of the store ---- */

TEST(a_refused_batch_leaves_nothing)
{
    static const enum memory_fate fates[] = {MEMORY_REFUSED, MEMORY_REFUSED_LATE};
    for (int i = 0; i < 2; i++) {
        struct world w;
        world_init(&w);
        CHECK(submit_create(&w, 1, STR("")) == OK && run_until_quiet(&w) == TURN_QUIET);
        CHECK(says(&w, "1 done 2 @2; "));
        w.session.faults.fate = fates[i];
        CHECK(submit_id(&w, COMMAND_NODEROLE_ENQUEUE, 2, 1) == OK);
        CHECK(submit_id(&w, COMMAND_NODE_DELETE, 3, 99) == OK);
        CHECK(turn_advance(w.turn) == (i == 0 ? TURN_DOWN : TURN_AGAIN));
        CHECK(submit_create(&w, 4, STR("")) == (i == 0 ? ERR_UNAVAILABLE : OK));
        if (i == 1)
            CHECK(turn_advance(w.turn) == TURN_DOWN);
        CHECK(says(&w, "2 unavailable; 3 unavailable; "));
        CHECK(turn_seen(w.turn) == 3 && turn_durable(w.turn) == 2);
        CHECK(turn_advance(w.turn) == TURN_AGAIN);
        CHECK(turn_seen(w.turn) == 2 && script_nodes(turn_core(w.turn)) == 1);
        CHECK(run_until_quiet(&w) == TURN_QUIET);
        CHECK(says(&w, i == 0 ? "" : "4 done 3 @3; ") && turn_epoch(w.turn) == 2);
        world_fini(&w);
    }
}

TEST(an_unanswered_batch_is_done_if_it_was_committed)
{
    struct world w;
    world_init(&w);
    w.session.faults.fate = MEMORY_UNANSWERED_IN;
    CHECK(submit_id(&w, COMMAND_NODEROLE_ENQUEUE, 1, 1) == OK);
    CHECK(submit_create(&w, 2, STR("once")) == OK);
    CHECK(submit_id(&w, COMMAND_NODE_POWER, 3, OUTBOX_POWER) == OK);
    CHECK(run_until_quiet(&w) == TURN_DOWN);
    CHECK(says(&w, ""));
    CHECK(turn_advance(w.turn) == TURN_AGAIN);
    CHECK(says(&w, "1 done 2 @2; ask; 3 done 3 @2; query 2/1; power 3; "));
    CHECK(turn_durable(w.turn) == 2 && run_until_quiet(&w) == TURN_QUIET);
    CHECK(answer(&w, false) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "2 done 4 @3; "));
    world_fini(&w);
}

TEST(an_unanswered_batch_is_unavailable_if_it_was_not_committed)
{
    struct world w;
    world_init(&w);
    w.session.faults.fate = MEMORY_UNANSWERED_OUT;
    CHECK(submit_id(&w, COMMAND_NODEROLE_ENQUEUE, 1, 1) == OK);
    CHECK(run_until_quiet(&w) == TURN_DOWN && says(&w, ""));
    w.session.faults.lead_fails = 1; /* the result is still unknown: no reply */
    CHECK(turn_advance(w.turn) == TURN_DOWN && says(&w, ""));
    w.mono_ms = turn_next_ms(w.turn);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && says(&w, "1 unavailable; "));
    CHECK(run_until_quiet(&w) == TURN_QUIET && turn_durable(w.turn) == 1);
    world_fini(&w);
}

TEST(the_core_can_be_read_while_the_store_is_down)
{
    struct world w;
    world_init(&w);
    CHECK(submit_create(&w, 1, STR("")) == OK && run_until_quiet(&w) == TURN_QUIET);
    w.session.faults.fate = MEMORY_REFUSED;
    w.session.faults.lead_fails = 3;
    CHECK(submit_create(&w, 2, STR("")) == OK && run_until_quiet(&w) == TURN_DOWN);
    CHECK(says(&w, "1 done 2 @2; 2 unavailable; "));
    const char *text;
    int64_t last = -1;
    for (int i = 0; i < 3; i++) {
        CHECK(turn_next_ms(w.turn) > last); /* with increasing delays */
        last = w.mono_ms = turn_next_ms(w.turn);
        CHECK(turn_advance(w.turn) == TURN_DOWN);
        /* The core was loaded again and has durable rows only. */
        CHECK(turn_core(w.turn) != NULL && turn_seen(w.turn) == 2 && turn_durable(w.turn) == 2);
        CHECK(submit_create(&w, 3, STR("")) == ERR_UNAVAILABLE);
        CHECK(submit_create(&w, 0, STR("")) == OK); /* commands without a request are queued */
        CHECK(turn_trouble(w.turn, &text) == ERR_UNAVAILABLE);
    }
    CHECK(turn_advance(w.turn) == TURN_DOWN && w.session.faults.lead_fails == 0);
    w.mono_ms = turn_next_ms(w.turn);
    CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, ""));
    CHECK(turn_trouble(w.turn, &text) == OK && text[0] == 0);
    CHECK(script_nodes(turn_core(w.turn)) == 1 + 3 && turn_durable(w.turn) == 3);
    world_fini(&w);
}

TEST(a_refusing_store_is_retried_with_increasing_delays)
{
    struct world w;
    world_init(&w);
    int64_t pauses[4];
    for (int i = 0; i < 4; i++) {
        w.session.faults.fate = MEMORY_REFUSED;
        CHECK(submit_create(&w, 1, STR("")) == OK && run_until_quiet(&w) == TURN_DOWN);
        enum turn_status status = turn_advance(w.turn);
        CHECK(status == (i == 0 ? TURN_AGAIN : TURN_DOWN));
        /* The loaded core can be read, and is durable. */
        CHECK(turn_seen(w.turn) == 1 && turn_durable(w.turn) == 1);
        pauses[i] = i == 0 ? 0 : turn_next_ms(w.turn) - w.mono_ms;
        w.mono_ms += pauses[i];
        CHECK(run_until_quiet(&w) == TURN_QUIET);
    }
    CHECK(pauses[1] > 0 && pauses[2] == 2 * pauses[1] && pauses[3] == 4 * pauses[1]);
    CHECK(submit_create(&w, 2, STR("")) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "1 unavailable; 1 unavailable; 1 unavailable; 1 unavailable; 2 done 2 @2; "));
    world_fini(&w);
}

TEST(a_store_that_cannot_be_read_is_tried_again)
{
    struct world w;
    world_init(&w);
    CHECK(submit_create(&w, 1, STR("")) == OK && run_until_quiet(&w) == TURN_QUIET);
    process_end(&w, false);
    process_start(&w);
    w.session.faults.load_fails = 1;
    w.session.faults.load_reaches = 1;
    const char *text;
    CHECK(turn_start(w.turn) == TURN_DOWN && turn_core(w.turn) == NULL);
    CHECK(turn_trouble(w.turn, &text) == ERR_IO);
    struct outcome out;
    CHECK(turn_import_dry_run(w.turn, NULL, 0, NULL, &out) == ERR_UNAVAILABLE);
    CHECK(turn_advance(w.turn) == TURN_DOWN);
    w.mono_ms = turn_next_ms(w.turn);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && script_nodes(turn_core(w.turn)) == 1);
    world_fini(&w);
}

TEST(records_that_contradict_each_other_are_named)
{
    struct world w;
    world_init(&w);
    process_end(&w, false);
    process_start(&w);
    script_load_error = "node 7 has no deployment";
    const char *text;
    CHECK(turn_start(w.turn) == TURN_DOWN);
    CHECK(turn_trouble(w.turn, &text) == ERR_CORRUPT && strcmp(text, script_load_error) == 0);
    script_load_error = NULL;
    world_fini(&w);
}

TEST(a_fenced_daemon_stops)
{
    struct world w;
    world_init(&w);
    CHECK(submit_create(&w, 1, STR("once")) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(submit_create(&w, 2, STR("")) == OK && turn_advance(w.turn) == TURN_AGAIN);
    CHECK(submit_create(&w, 3, STR("")) == OK);
    memory_store_usurp(w.store);
    CHECK(turn_advance(w.turn) == TURN_STOPPED);
    CHECK(says(&w, "ask; 2 fenced; 3 fenced; 1 fenced; "));
    CHECK(turn_advance(w.turn) == TURN_STOPPED && turn_next_ms(w.turn) == -1);
    CHECK(submit_create(&w, 0, STR("")) == ERR_FENCED);
    CHECK(answer(&w, false) == ERR_NOT_FOUND);
    CHECK(memory_store_mark(w.store).turn == 1);
    world_fini(&w);
}

TEST(a_fenced_daemon_in_doubt_replies_unknown)
{
    struct world w;
    world_init(&w);
    w.session.faults.fate = MEMORY_UNANSWERED_IN;
    CHECK(submit_create(&w, 1, STR("")) == OK && run_until_quiet(&w) == TURN_DOWN);
    memory_store_usurp(w.store);
    CHECK(turn_advance(w.turn) == TURN_STOPPED && says(&w, "1 unknown; "));
    world_fini(&w);
}

TEST(a_restart_repeats_effects)
{
    struct world w;
    world_init(&w);
    CHECK(submit_id(&w, COMMAND_NODEROLE_ENQUEUE, 0, 1) == OK);
    CHECK(submit_id(&w, COMMAND_NODEROLE_ENQUEUE, 0, 1) == OK);
    CHECK(submit_id(&w, COMMAND_NODE_POWER, 0, OUTBOX_HOOK) == OK);
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(submit_id(&w, COMMAND_RUN_BEGUN, 0, 3) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "start 2/1 e1; start 3/1 e1; hook 4; "));
    process_end(&w, false);
    process_start(&w);
    CHECK(turn_start(w.turn) == TURN_AGAIN);
    CHECK(says(&w, "query 2/1; query 3/1 begun; hook 4; ") && turn_epoch(w.turn) == 2);
    world_fini(&w);
}

TEST(a_core_that_needs_a_reload_is_replaced_between_batches)
{
    struct world w;
    world_init(&w);
    CHECK(submit_id(&w, COMMAND_NODEROLE_ENQUEUE, 0, 1) == OK);
    CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, "start 2/1 e1; "));
    ((struct core *)(uintptr_t)turn_core(w.turn))->needs_reload = true;
    CHECK(submit_create(&w, 7, STR("late")) == OK);
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "query 2/1; 7 done 3 @3; ") && turn_epoch(w.turn) == 2);
    CHECK(!turn_core(w.turn)->needs_reload);
    world_fini(&w);
}

/* ---- boot servers ---- */

TEST(boot_changes_are_reported_before_effects_and_replies)
{
    struct world w;
    world_init(&w);
    w.logs_boot = true;
    w.session.faults.late = 1;
    CHECK(submit_create(&w, 1, STR("")) == OK && submit_create(&w, 2, STR("")) == OK);
    CHECK(submit_id(&w, COMMAND_NODEROLE_ENQUEUE, 3, 40) == OK);
    CHECK(turn_advance(w.turn) == TURN_AGAIN && turn_advance(w.turn) == TURN_WAITING);
    CHECK(says(&w, "")); /* the batch is not durable yet */
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "changed @2: 2 3; start 4/1 e1; 1 done 2 @2; 2 done 3 @2; 3 done 4 @2; "));
    CHECK(submit_id(&w, COMMAND_NODE_DELETE, 4, 3) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "changed @3: -3; 4 done 0 @3; "));
    /* A batch without changes of the view, and a refusal without a batch. */
    CHECK(submit_id(&w, COMMAND_NODEROLE_ENQUEUE, 5, 40) == OK);
    CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, "start 5/1 e1; 5 done 5 @4; "));
    CHECK(submit_id(&w, COMMAND_NODE_DELETE, 6, 99) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "6 not_found @4; "));
    world_fini(&w);
}

TEST(a_load_is_reported_before_effects_are_repeated)
{
    struct world w;
    world_init(&w);
    CHECK(w.boot_loads == 1 && w.boot_turn == 0);
    CHECK(submit_id(&w, COMMAND_NODEROLE_ENQUEUE, 0, 1) == OK && run_until_quiet(&w) == TURN_QUIET);
    process_end(&w, false);
    w.call_log[0] = 0;
    w.logs_boot = true;
    process_start(&w);
    CHECK(turn_start(w.turn) == TURN_AGAIN && says(&w, "loaded @2; query 2/1; "));
    /* A core that is near the end of its step counter. */
    ((struct core *)(uintptr_t)turn_core(w.turn))->needs_reload = true;
    CHECK(submit_create(&w, 7, STR("")) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "loaded @2; query 2/1; changed @3: 3; 7 done 3 @3; "));
    /* A connection that was lost: the leadership is acquired again. */
    err lost = ERR_UNAVAILABLE;
    w.notice = &lost;
    CHECK(run_until_quiet(&w) != TURN_CRASHED);
    w.mono_ms += 10000;
    CHECK(run_until_quiet(&w) == TURN_QUIET && says(&w, "loaded @3; query 2/1; "));
    world_fini(&w);
}

/* No row has the turn of a batch that only deletes; after a load the core does not know it. */
TEST(the_turn_of_a_load_is_one_of_a_row)
{
    struct world w;
    world_init(&w);
    CHECK(submit_create(&w, 0, STR("")) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(submit_id(&w, COMMAND_NODE_DELETE, 0, 2) == OK && run_until_quiet(&w) == TURN_QUIET);
    CHECK(turn_durable(w.turn) == 3 && w.boot_turn == 3);
    process_end(&w, false);
    process_start(&w);
    CHECK(turn_start(w.turn) == TURN_AGAIN && turn_durable(w.turn) == 3 && w.boot_turn == 1);
    world_fini(&w);
}

TEST(a_failed_batch_is_not_reported_but_the_load_after_it)
{
    struct world w;
    world_init(&w);
    w.logs_boot = true;
    w.session.faults.fate = MEMORY_REFUSED_LATE;
    w.session.faults.error = ERR_NO_SPACE;
    CHECK(submit_create(&w, 1, STR("")) == OK);
    CHECK(run_until_quiet(&w) == TURN_DOWN);
    w.session.faults = (struct memory_faults){0};
    w.mono_ms += 10000;
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "1 unavailable; loaded @1; ") && !w.boot_copy[2]);
    world_fini(&w);
}

/* The load covers the batch, so its changes are not reported on their own. */
TEST(a_batch_in_doubt_is_reported_by_the_load)
{
    for (int is_in = 0; is_in < 2; is_in++) {
        struct world w;
        world_init(&w);
        w.logs_boot = true;
        w.session.faults.fate = is_in ? MEMORY_UNANSWERED_IN : MEMORY_UNANSWERED_OUT;
        CHECK(submit_create(&w, 1, STR("")) == OK);
        CHECK(run_until_quiet(&w) == TURN_DOWN);
        w.session.faults = (struct memory_faults){0};
        w.mono_ms += 10000;
        CHECK(run_until_quiet(&w) == TURN_QUIET);
        CHECK(says(&w, is_in ? "loaded @2; 1 done 2 @2; " : "1 unavailable; loaded @1; "));
        CHECK(w.boot_copy[2] == (is_in == 1));
        world_fini(&w);
    }
}

/* The rows are readable while another load is due, so the load is reported although the leadership
 * could not be acquired. */
TEST(a_load_without_leadership_is_reported)
{
    struct world w;
    world_init(&w);
    w.logs_boot = true;
    w.session.faults.fate = MEMORY_REFUSED;
    w.session.faults.error = ERR_IO;
    w.session.faults.lead_fails = 1;
    CHECK(submit_create(&w, 1, STR("")) == OK);
    CHECK(run_until_quiet(&w) == TURN_DOWN);
    for (int i = 0; i < 5; i++) {
        w.session.faults.fate = MEMORY_TAKEN;
        w.mono_ms += 10000;
        ignore(run_until_quiet(&w), "the leadership may not be acquired yet");
    }
    CHECK(run_until_quiet(&w) == TURN_QUIET);
    CHECK(says(&w, "1 unavailable; loaded @1; loaded @1; "));
    world_fini(&w);
}

/* ---- crashes ---- */

/* A sequence of commands of all kinds; it ends where the process crashes. */
static enum turn_status run_scenario(struct world *w)
{
    enum turn_status status = turn_start(w->turn);
    for (int64_t request = 1; request <= 24; request++) {
        if (status == TURN_CRASHED)
            return status;
        if (turn_core(w->turn) && !w->done[request]) {
            if (request % 6 == 0)
                ignore(submit_create(w, request, STR("once")), "the store may be down");
            else if (request % 6 == 1)
                ignore(submit_id(w, COMMAND_NODEROLE_ENQUEUE, request, 1), "as above");
            else if (request % 6 == 2)
                ignore(submit_id(w, COMMAND_NODE_POWER, request, OUTBOX_POWER), "as above");
            else
                ignore(submit_create(w, request, STR("")), "as above");
        }
        struct command more = {.kind = COMMAND_GROUP_ADD, .group_add = {3, 10}};
        if (request % 2)
            ignore(submit(w, more), "as above");
        w->session.faults.late = (uint32_t)request % 3;
        w->session.faults.fate = (enum memory_fate)(request % 7 < 5 ? request % 7 : 0);
        w->session.faults.error = ERR_NO_SPACE;
        w->mono_ms += 20;
        w->call_log[0] = 0;
        status = run_until_quiet(w);
        if (w->token && turn_pending(w->turn))
            ignore(answer(w, false), "it may be gone");
        for (int i = 0; i < 3 && status == TURN_DOWN; i++) {
            w->mono_ms = turn_next_ms(w->turn);
            status = run_until_quiet(w);
        }
    }
    w->session.faults = (struct memory_faults){0};
    for (int i = 0; i < 10 && status != TURN_CRASHED; i++) {
        w->mono_ms += 10000;
        w->call_log[0] = 0;
        status = run_until_quiet(w);
    }
    return status;
}

static bool acknowledged_commands_are_stored(const struct world *w)
{
    for (int64_t request = 1; request <= 24; request++) {
        if (!w->done[request])
            continue;
        enum table table = request % 6 == 1   ? TABLE_RUN
                           : request % 6 == 2 ? TABLE_OUTBOX
                                              : TABLE_NODE;
        if (!is_stored(w, table, w->done_id[request]))
            return false;
    }
    return true;
}

/* Crash at one point, start again, finish. True if the crash point was reached. */
static bool crash_and_recover(struct world *w, const char *point, uint32_t hit, bool keep_tail)
{
    *w = (struct world){.store = memory_store_new(), .now_ms = 5000, .mono_ms = 100};
    w->crash_at = point;
    w->crash_hit = hit;
    process_start(w);
    enum turn_status status = run_scenario(w);
    bool died = status == TURN_CRASHED;
    if (died) {
        CHECK(turn_advance(w->turn) == TURN_CRASHED && turn_next_ms(w->turn) == -1);
        CHECK(submit_create(w, 1, STR("")) == ERR_UNAVAILABLE);
    }
    process_end(w, keep_tail);
    CHECK(acknowledged_commands_are_stored(w));

    w->crash_at = NULL;
    process_start(w);
    CHECK(run_scenario(w) == TURN_QUIET);
    CHECK(acknowledged_commands_are_stored(w));
    CHECK(turn_seen(w->turn) == turn_durable(w->turn));
    CHECK(script_nodes(turn_core(w->turn)) == memory_store_count(w->store, TABLE_NODE));
    /* The copy of a boot server that was notified only by the port is complete. */
    for (int64_t id = 1; id < 4096; id++)
        CHECK(w->boot_copy[id] == (row_find(turn_core(w->turn), TABLE_NODE, id) != NULL));
    world_fini(w);
    return died;
}

TEST(a_crash_at_any_point_loses_no_acknowledged_command)
{
    static struct world w;
    for (uint32_t p = 0; p < TURN_POINT_COUNT; p++) {
        uint32_t deaths = 0;
        for (uint32_t hit = 0; hit < 20; hit++)
            for (int keep = 0; keep < 2; keep++)
                deaths += crash_and_recover(&w, turn_point_name((enum turn_point)p), hit, keep);
        if (deaths == 0)
            printf("the crash point %s was not reached\n", turn_point_name((enum turn_point)p));
        CHECK(deaths > 0);
    }
}

TEST(a_store_at_an_older_turn_ends_the_leadership)
{
    struct world w;
    world_init(&w);
    CHECK(submit_create(&w, 1, STR("")) == OK && run_until_quiet(&w) == TURN_QUIET);
    struct store_mark mark = memory_store_mark(w.store);
    CHECK(mark.turn == 2);
    /* The store is replaced by an older copy with the same epoch and claim. */
    mark.turn = 1;
    memory_store_set_mark(w.store, mark);
    w.session.faults.fate = MEMORY_REFUSED;
    CHECK(submit_create(&w, 2, STR("")) == OK && run_until_quiet(&w) == TURN_DOWN);
    const char *text;
    CHECK(run_until_quiet(&w) == TURN_STOPPED && turn_trouble(w.turn, &text) == ERR_CORRUPT);
    CHECK(submit_create(&w, 3, STR("")) == ERR_FENCED);
    world_fini(&w);
}

TEST(a_lost_connection_is_recovered_and_the_core_can_be_read)
{
    struct world w;
    world_init(&w);
    CHECK(submit_create(&w, 1, STR("")) == OK && run_until_quiet(&w) == TURN_QUIET);
    err noticed = OK;
    w.notice = &noticed;
    const int64_t epoch = turn_epoch(w.turn);
    w.session.faults.lead_fails = 1;
    noticed = ERR_UNAVAILABLE;
    CHECK(turn_advance(w.turn) == TURN_DOWN && turn_seen(w.turn) == turn_durable(w.turn));
    CHECK(turn_advance(w.turn) == TURN_DOWN && turn_core(w.turn) != NULL);
    w.mono_ms = turn_next_ms(w.turn);
    CHECK(run_until_quiet(&w) == TURN_QUIET && turn_epoch(w.turn) > epoch);
    noticed = ERR_FENCED;
    CHECK(turn_advance(w.turn) == TURN_STOPPED);
    world_fini(&w);
}

TEST(a_batch_that_is_too_large_fails_and_later_ones_are_smaller)
{
    struct world w;
    world_init(&w);
    process_end(&w, true);
    w.bytes_max = 8192;
    process_start(&w);
    CHECK(turn_start(w.turn) == TURN_AGAIN && run_until_quiet(&w) == TURN_QUIET);
    /* A single command that exceeds the limit fails each time. */
    CHECK(submit_rows(&w, 1, 4000) == OK);
    while (turn_waiting(w.turn))
        turn_advance(w.turn);
    CHECK(run_until_quiet(&w) != TURN_STOPPED && says(&w, "1 limit; "));
    w.mono_ms += 10000;
    CHECK(run_until_quiet(&w) == TURN_QUIET && memory_store_count(w.store, TABLE_NODE) == 0);
    /* Annealing continues in smaller batches. */
    CHECK(submit(&w, (struct command){.kind = COMMAND_GROUP_ADD, .group_add = {.id = 6000}}) == OK);
    for (int i = 0; i < 100 && memory_store_count(w.store, TABLE_NODE) < 6000; i++) {
        run_until_quiet(&w);
        w.mono_ms += 10000;
    }
    CHECK(memory_store_count(w.store, TABLE_NODE) == 6000);
    world_fini(&w);
}
