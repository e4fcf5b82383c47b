/* Computed data of roles (ADR 0044): when the hooks sysdata and template are called, where their
 * results are stored and which reruns they cause. Also hook commands with targets that may not
 * exist any more, runs that park with a result, and null values that remove members. */
#include "tests/world/world.h"

static struct str hook_command(struct world *w, struct command command)
{
    struct buf b = buf_in(&w->arena);
    command_encode(&command, &b);
    return buf_str(&b);
}

static struct command cmd_computed(struct world *w, const char *noderole, const char *quoted)
{
    return CMD(NODEROLE_COMPUTED, noderole_computed, .id = the_noderole(w, noderole),
               .data = world_json(w, quoted));
}

/* Sends the result of the sysdata hook that waits for that noderole. */
static void compute(struct world *w, const char *noderole, const char *quoted)
{
    const char *line = str_z(&w->arena, STR_CONCAT(&w->arena, STR("sysdata "), str_from(noderole)));
    world_answer(w, line, false, hook_command(w, cmd_computed(w, noderole, quoted)));
}

static const char *computed_of(struct world *w, const char *noderole)
{
    return shown(w, read_noderole(w, noderole).computed);
}

static void put_value(struct world *w, const char *noderole, const char *attrib, enum bucket bucket,
                      const char *value)
{
    DONE(w, cmd_set(w, TABLE_NODEROLE, the_noderole(w, noderole), attrib, bucket, value));
}

static const char *value_of(struct world *w, const char *noderole, const char *attrib,
                            enum data_view view)
{
    return world_value(w, TABLE_NODEROLE, the_noderole(w, noderole), attrib, view);
}

static const char computing[] = "'hooks':['sysdata'],'attribs':[{'name':'port','map':'db/port',"
                                "'default':1,'schema':{'type':'any'}},"
                                "{'name':'all','map':'db','schema':{'type':'any'}}]";

/* Role a computes; b wants its port. Neither is bound. */
static struct world *open_computing(void)
{
    struct world *w = world_open();
    world_role(w, "a", computing);
    world_role(w, "b", "'requires':['a'],'wants-attribs':['port']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    return w;
}

/* a@n1 and b@n2 are ACTIVE, and a computed port 5. */
static struct world *open_computed(void)
{
    struct world *w = open_computing();
    world_bind(w, "a@n1");
    world_bind(w, "b@n2");
    compute(w, "a@n1", "{'db':{'port':5}}");
    world_bring(w, "a@n1", "active");
    world_bring(w, "b@n2", "active");
    world_clear_effects(w);
    return w;
}

/* ---- when the hook is called ---- */

TEST(sysdata_is_called_at_bind_and_commit)
{
    struct world *w = open_computing();
    world_bind(w, "b@n1");
    EXPECT_EFFECTS(w, "sysdata a@n1");
    world_deliver(w);
    DONE(w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, "a@n1"),
                .data = world_json(w, "{'x':1}")));
    EXPECT_EFFECTS(w, "");
    world_commit(w, "a@n1");
    EXPECT_EFFECTS(w, "sysdata a@n1");
    world_close(w);
}

TEST(sysdata_is_called_when_a_commit_blocks_and_when_the_wait_ends)
{
    struct world *w = world_open();
    world_role(w, "p", "");
    world_role(w, "a", "'requires':['p'],'hooks':['sysdata']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_deliver(w);
    world_clear_effects(w);
    world_commit_deployment(w, "system");
    IS(w, "a@n1", "blocked");
    EXPECT_EFFECTS(w, "sysdata a@n1");
    world_deliver(w);
    world_anneal(w);
    world_finish(w, "p@n1", RESULT_OK);
    IS(w, "a@n1", "todo");
    EXPECT_EFFECTS(w, "start p@n1; sysdata a@n1");
    world_close(w);
}

TEST(sysdata_is_not_called_when_a_run_starts_ends_or_fails)
{
    struct world *w = open_computing();
    world_bind(w, "a@n1");
    world_commit(w, "a@n1");
    world_deliver(w);
    world_clear_effects(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1");
    world_finish(w, "a@n1", RESULT_OK);
    EXPECT_EFFECTS(w, "");
    DONE(w, cmd_enqueue(w, "a@n1"));
    EXPECT_EFFECTS(w, "sysdata a@n1");
    world_deliver(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1");
    world_finish(w, "a@n1", RESULT_FAILED);
    EXPECT_EFFECTS(w, "");
    DONE(w, cmd_retry(w, "a@n1"));
    EXPECT_EFFECTS(w, "sysdata a@n1");
    DONE(w, cmd_propose(w, "a@n1"));
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

TEST(a_value_that_makes_it_run_again_has_it_computed_again)
{
    struct world *w = open_computed();
    put_value(w, "a@n1", "port", BUCKET_SYSTEM, "7");
    IS(w, "a@n1", "todo");
    EXPECT_EFFECTS(w, "sysdata a@n1");
    world_close(w);
}

TEST(a_run_that_must_be_repeated_is_computed_for_again)
{
    struct world *w = open_computed();
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_deliver(w);
    world_anneal(w);
    IS(w, "a@n1", "transition");
    DONE(w, cmd_retry(w, "a@n1"));
    CHECK(read_noderole(w, "a@n1").rerun);
    world_clear_effects(w);
    world_finish(w, "a@n1", RESULT_OK);
    EXPECT_EFFECTS(w, "sysdata a@n1");
    IS(w, "a@n1", "todo");
    world_close(w);
}

TEST(a_node_that_comes_back_to_life_has_its_noderoles_computed_again)
{
    struct world *w = open_computed();
    world_alive(w, "n1", false);
    EXPECT_EFFECTS(w, "sysdata a@n1");
    IS(w, "a@n1", "todo");
    world_deliver(w);
    world_alive(w, "n1", true);
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

/* Silent state changes suppress state hooks only; data that a run needs is computed in any case. */
TEST(it_is_computed_also_where_state_hooks_are_silent)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['sysdata','on_todo']");
    world_deployment(w, "d");
    world_node(w, "n1", "d");
    world_bind_in(w, "a@n1", "d");
    EXPECT_EFFECTS(w, "sysdata a@n1");
    world_commit(w, "a@n1");
    EXPECT_EFFECTS(w, "sysdata a@n1");
    world_close(w);
}

TEST(a_role_of_a_jig_that_is_off_computes_nothing)
{
    struct world *w = open_computing();
    world_bind(w, "a@n1");
    world_deliver(w);
    world_clear_effects(w);
    DONE(w, CMD(JIG_UPDATE, jig_update, .id = core_find(w->core, TABLE_JIG, STR("script")),
                .given = GIVEN_JIG_ACTIVE, .active = false));
    world_commit(w, "a@n1");
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

/* ---- before the result arrives ---- */

TEST(nothing_starts_before_the_answer_and_the_run_has_it)
{
    struct world *w = open_computing();
    world_bind(w, "a@n1");
    world_deliver(w);
    world_commit(w, "a@n1");
    world_anneal(w);
    CHECK(world_start(w, "a@n1") == NULL);
    IS(w, "a@n1", "todo");
    const struct cause *why = core_why(w->core, TABLE_NODEROLE, the_noderole(w, "a@n1"), &w->arena);
    CHECK(why && why->code == CAUSE_WAITING_FOR_HOOK);
    compute(w, "a@n1", "{'db':{'port':5}}");
    world_anneal(w);
    EXPECT_STR(world_path(w, world_start(w, "a@n1")->data, "db"), "{'port':5}");
    world_close(w);
}

TEST(a_queued_run_waits_for_the_answer_and_is_staged_with_it)
{
    struct world *w = open_computed();
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_anneal(w);
    EXPECT_EFFECTS(w, "sysdata a@n1");
    compute(w, "a@n1", "{'db':{'port':6}}");
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1");
    EXPECT_STR(world_path(w, world_start(w, "a@n1")->data, "db/port"), "6");
    world_close(w);
}

TEST(the_first_of_two_answers_is_not_enough)
{
    struct world *w = open_computing();
    world_bind(w, "a@n1");
    world_commit(w, "a@n1");
    EXPECT_EFFECTS(w, "sysdata a@n1; sysdata a@n1");
    compute(w, "a@n1", "{'db':{'port':5}}");
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    compute(w, "a@n1", "{'db':{'port':6}}");
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1");
    EXPECT_STR(world_path(w, world_start(w, "a@n1")->data, "db/port"), "6");
    world_close(w);
}

TEST(its_failure_before_a_run_is_an_error_with_its_name_and_message)
{
    struct world *w = open_computing();
    world_bind(w, "a@n1");
    world_deliver(w);
    world_commit(w, "a@n1");
    world_answer(w, "sysdata a@n1", true, STR(""));
    IS(w, "a@n1", "error");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").status), "sysdata failed");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").runlog), "sysdata: no luck");
    const struct cause *why = core_why(w->core, TABLE_NODEROLE, the_noderole(w, "a@n1"), &w->arena);
    EXPECT_STR(shown(w, why->text), "`a` on `n1.example.com` is in error: sysdata failed: no luck");
    CHECK(world_runs(w, NULL) == 0);
    DONE(w, cmd_retry(w, "a@n1"));
    compute(w, "a@n1", "{}");
    world_anneal(w);
    IS(w, "a@n1", "transition");
    world_close(w);
}

/* The hook whose failure the status quotes is stored: only its own success removes the status. */
TEST(the_status_of_a_failed_hook_goes_with_its_own_success)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_proposed','sysdata']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_answer(w, "on_proposed a@n1", true, STR(""));
    CHECK(read_noderole(w, "a@n1").status_hook == HOOK_PROPOSED + 1);
    world_reload(w);
    world_answer(w, "sysdata a@n1", false, STR(""));
    CHECK(read_noderole(w, "a@n1").status.len > 0);
    CHECK(read_noderole(w, "a@n1").status_hook == HOOK_PROPOSED + 1);
    DONE(w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, "a@n1"),
                .data = world_json(w, "{'x':1}")));
    world_answer(w, "on_proposed a@n1", false, STR(""));
    CHECK(read_noderole(w, "a@n1").status.len == 0);
    CHECK(read_noderole(w, "a@n1").status_hook == 0);
    world_close(w);
}

TEST(its_failure_while_proposed_sets_only_the_status)
{
    struct world *w = open_computing();
    world_bind(w, "a@n1");
    world_answer(w, "sysdata a@n1", true, STR(""));
    IS(w, "a@n1", "proposed");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").status), "sysdata: no luck");
    CHECK(!read_noderole(w, "a@n1").hook_failed);
    world_commit(w, "a@n1");
    IS(w, "a@n1", "todo");
    world_close(w);
}

/* It is computed again before it can run. */
TEST(its_failure_while_blocked_has_no_consequence)
{
    struct world *w = world_open();
    world_role(w, "p", "");
    world_role(w, "a", "'requires':['p'],'hooks':['sysdata']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_deliver(w);
    world_commit_deployment(w, "system");
    world_answer(w, "sysdata a@n1", true, STR(""));
    IS(w, "a@n1", "blocked");
    world_close(w);
}

TEST(the_result_for_a_deleted_noderole_changes_nothing)
{
    struct world *w = open_computing();
    world_bind(w, "a@n1");
    const int64_t row = world_waiting(w, "sysdata a@n1");
    struct command computed = cmd_computed(w, "a@n1", "{'x':1}");
    computed.if_turn = IF_THERE;
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "a@n1")));
    CHECK(core_count(w->core, TABLE_OUTBOX) == 0);
    const struct digest128 before = core_digest_now(w->core);
    DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = row,
                .hook_commands = hook_command(w, computed)));
    CHECK(digest_eq(core_digest_now(w->core), before));
    world_close(w);
}

/* ---- layer of computed data ---- */

TEST(what_is_computed_replaces_what_was_computed_before)
{
    struct world *w = open_computing();
    world_bind(w, "a@n1");
    compute(w, "a@n1", "{'db':{'host':'x','port':5}}");
    EXPECT_STR(computed_of(w, "a@n1"), "{'db':{'host':'x','port':5}}");
    world_commit(w, "a@n1");
    compute(w, "a@n1", "{'db':{'port':6}}");
    EXPECT_STR(computed_of(w, "a@n1"), "{'db':{'port':6}}");
    EXPECT_STR(world_staged(w, "a@n1", "db/host"), "absent");
    DONE(w, cmd_enqueue(w, "a@n1"));
    compute(w, "a@n1", "{}");
    EXPECT_STR(computed_of(w, "a@n1"), "{}");
    EXPECT_STR(value_of(w, "a@n1", "port", VIEW_ALL), "1");
    world_close(w);
}

TEST(it_overrides_the_wall_and_is_overridden_by_hooks_and_users)
{
    struct world *w = open_computed();
    put_value(w, "a@n1", "port", BUCKET_WALL, "2");
    EXPECT_STR(value_of(w, "a@n1", "port", VIEW_ALL), "5");
    EXPECT_STR(value_of(w, "a@n1", "port", VIEW_WALL), "2");
    EXPECT_STR(value_of(w, "a@n1", "port", VIEW_SYSTEM), "5");
    put_value(w, "a@n1", "port", BUCKET_SYSTEM, "7");
    EXPECT_STR(value_of(w, "a@n1", "port", VIEW_ALL), "7");
    EXPECT_STR(value_of(w, "a@n1", "port", VIEW_SYSTEM), "7");
    DONE(w, cmd_propose(w, "a@n1"));
    put_value(w, "a@n1", "port", BUCKET_USER, "9");
    EXPECT_STR(value_of(w, "a@n1", "port", VIEW_ALL), "9");
    EXPECT_STR(value_of(w, "a@n1", "port", VIEW_SYSTEM), "7");
    EXPECT_STR(computed_of(w, "a@n1"), "{'db':{'port':5}}");
    world_close(w);
}

TEST(computed_and_written_system_data_are_merged)
{
    struct world *w = open_computed();
    put_value(w, "a@n1", "all", BUCKET_SYSTEM, "{'host':'x'}");
    EXPECT_STR(value_of(w, "a@n1", "all", VIEW_SYSTEM), "{'host':'x','port':5}");
    EXPECT_STR(world_staged(w, "a@n1", "db"), "{'host':'x','port':5}");
    world_close(w);
}

TEST(it_comes_back_from_the_store)
{
    struct world *w = open_computed();
    world_reload(w);
    EXPECT_STR(computed_of(w, "a@n1"), "{'db':{'port':5}}");
    EXPECT_STR(value_of(w, "a@n1", "port", VIEW_ALL), "5");
    world_close(w);
}

TEST(a_deleted_noderole_leaves_nothing_of_it)
{
    struct world *w = open_computing();
    world_bind(w, "a@n1");
    compute(w, "a@n1", "{'a long text that no other record has':1}");
    world_collect(w);
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "a@n1")));
    world_bind(w, "a@n1");
    EXPECT_STR(computed_of(w, "a@n1"), "{}");
    world_close(w);
}

/* ---- reruns ---- */

TEST(a_child_runs_again_when_a_computed_value_it_wants_changes)
{
    struct world *w = open_computed();
    DONE(w, cmd_enqueue(w, "a@n1"));
    IS(w, "b@n2", "active");
    compute(w, "a@n1", "{'db':{'port':6}}");
    IS(w, "b@n2", "todo");
    EXPECT_STR(world_staged(w, "b@n2", "db/port"), "6");
    world_close(w);
}

TEST(a_child_does_not_run_again_for_a_value_it_does_not_want)
{
    struct world *w = open_computed();
    DONE(w, cmd_enqueue(w, "a@n1"));
    compute(w, "a@n1", "{'db':{'host':'y','port':5}}");
    IS(w, "b@n2", "active");
    world_close(w);
}

TEST(a_child_does_not_run_again_for_a_value_that_is_covered)
{
    struct world *w = open_computed();
    put_value(w, "a@n1", "port", BUCKET_SYSTEM, "7");
    world_run_all(w);
    IS(w, "b@n2", "active");
    DONE(w, cmd_enqueue(w, "a@n1"));
    compute(w, "a@n1", "{'db':{'port':6}}");
    IS(w, "b@n2", "active");
    world_close(w);
}

TEST(the_same_answer_again_does_not_touch_the_noderole)
{
    struct world *w = open_computed();
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_collect(w);
    compute(w, "a@n1", "{'db':{'port':5}}");
    world_collect(w);
    CHECK(read_noderole(w, "a@n1").turn < w->turn);
    DONE(w, cmd_enqueue(w, "a@n1"));
    compute(w, "a@n1", "{'db':{'port':6}}");
    world_collect(w);
    CHECK(read_noderole(w, "a@n1").turn == w->turn);
    world_close(w);
}

TEST(the_noderole_itself_does_not_run_because_of_what_it_computes)
{
    struct world *w = open_computing();
    world_bind(w, "a@n1");
    world_bring(w, "a@n1", "active");
    struct command computed = cmd_computed(w, "a@n1", "{'db':{'port':6}}");
    computed.depth = 1;
    DONE(w, computed);
    EXPECT_STR(computed_of(w, "a@n1"), "{'db':{'port':6}}");
    IS(w, "a@n1", "active");
    world_close(w);
}

/* ---- permission ---- */

TEST(only_a_hook_sets_computed_data)
{
    struct world *w = open_computing();
    world_bind(w, "a@n1");
    REFUSED(w, cmd_computed(w, "a@n1", "{'x':1}"), NOT_SUPPORTED, "data");
    EXPECT_STR(computed_of(w, "a@n1"), "{}");
    world_close(w);
}

TEST(computed_data_is_an_object_of_a_noderole)
{
    struct world *w = open_computing();
    world_bind(w, "a@n1");
    struct command computed = cmd_computed(w, "a@n1", "[1]");
    computed.depth = 1;
    REFUSED(w, computed, BAD_JSON, "data");
    computed = cmd_computed(w, "a@n1", "{}");
    computed.depth = 1;
    computed.noderole_computed.id = 4711;
    REFUSED(w, computed, NOT_FOUND, "id");
    world_close(w);
}

/* ---- templates ---- */

static void answer_template(struct world *w, const char *line, const char *role, const char *quoted)
{
    world_answer(
        w, line, false,
        hook_command(w, CMD(ROLE_UPDATE, role_update, .id = the_role(w, role),
                            .given = GIVEN_ROLE_TEMPLATE, .template = world_json(w, quoted))));
}

/* An import of the role, the same each time but for its hooks. */
static void import_templated(struct world *w, const char *hooks)
{
    const struct str head = STR("{'barclamp':{'name':'t','source_path':'/src/t'},'roles':["
                                "{'name':'t','jig':'script','hooks':[");
    const struct str text = STR_CONCAT(&w->arena, head, str_from(hooks), STR("]}]}"));
    DONE(w, cmd_import(w, str_z(&w->arena, text)));
}

TEST(a_template_is_called_at_import_and_whenever_sysdata_is)
{
    struct world *w = world_open();
    import_templated(w, "'sysdata','template'");
    EXPECT_EFFECTS(w, "template t gone");
    answer_template(w, "template t gone", "t", "{'kind':1}");
    EXPECT_STR(shown(w, read_role(w, "t").template), "{'kind':1}");
    world_node(w, "n1", NULL);
    world_bind(w, "t@n1");
    EXPECT_EFFECTS(w, "template t@n1; sysdata t@n1");
    world_deliver(w);
    world_commit(w, "t@n1");
    EXPECT_EFFECTS(w, "template t@n1; sysdata t@n1");
    answer_template(w, "template t@n1", "t", "{'kind':2}");
    EXPECT_STR(shown(w, read_role(w, "t").template), "{'kind':2}");
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    world_deliver(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, "start t@n1");
    EXPECT_STR(world_path(w, world_start(w, "t@n1")->data, "kind"), "2");
    world_close(w);
}

TEST(an_import_keeps_a_template_that_is_computed_until_it_is_computed_again)
{
    struct world *w = world_open();
    import_templated(w, "'template'");
    answer_template(w, "template t gone", "t", "{'kind':1}");
    import_templated(w, "'template'");
    EXPECT_STR(shown(w, read_role(w, "t").template), "{'kind':1}");
    import_templated(w, "'template','on_todo'");
    EXPECT_STR(shown(w, read_role(w, "t").template), "{'kind':1}");
    CHECK(world_waiting(w, "template t gone") != 0);
    import_templated(w, "'on_todo'");
    EXPECT_STR(shown(w, read_role(w, "t").template), "{}");
    world_close(w);
}

TEST(a_template_that_fails_at_import_stays_as_it_was)
{
    struct world *w = world_open();
    import_templated(w, "'template'");
    world_answer(w, "template t gone", true, STR(""));
    EXPECT_STR(shown(w, read_role(w, "t").template), "{}");
    CHECK(core_count(w->core, TABLE_OUTBOX) == 0);
    world_close(w);
}

TEST(a_template_that_fails_before_a_run_is_an_error)
{
    struct world *w = world_open();
    import_templated(w, "'template'");
    world_node(w, "n1", NULL);
    world_bind(w, "t@n1");
    world_deliver(w);
    world_commit(w, "t@n1");
    world_answer(w, "template t@n1", true, STR(""));
    IS(w, "t@n1", "error");
    EXPECT_STR(shown(w, read_noderole(w, "t@n1").runlog), "template: no luck");
    world_close(w);
}

/* ---- enqueue if due ---- */

static struct command cmd_enqueue_if_due(struct world *w, const char *noderole)
{
    return CMD(NODEROLE_ENQUEUE, noderole_enqueue, .id = the_noderole(w, noderole), .if_due = true);
}

TEST(enqueue_if_due_skips_noderoles_that_are_not_due)
{
    struct world *w = open_computed();
    const struct digest128 before = core_digest_now(w->core);
    DONE(w, cmd_enqueue_if_due(w, "a@n1"));
    CHECK(digest_eq(core_digest_now(w->core), before));
    DONE(w, cmd_propose(w, "a@n1"));
    DONE(w, cmd_enqueue_if_due(w, "a@n1"));
    CHECK(world_runs(w, NULL) == 0);
    CHECK(!read_noderole(w, "a@n1").rerun);
    REFUSED(w, CMD(NODEROLE_ENQUEUE, noderole_enqueue, .id = 4711, .if_due = true), NOT_FOUND,
            "id");
    world_close(w);
}

TEST(enqueue_if_due_runs_noderoles_that_are_due)
{
    struct world *w = open_computed();
    put_value(w, "a@n1", "port", BUCKET_SYSTEM, "7");
    IS(w, "a@n1", "todo");
    DONE(w, cmd_enqueue_if_due(w, "a@n1"));
    CHECK(world_run(w, "a@n1", RUN_QUEUED) != 0);
    world_deliver(w);
    world_anneal(w);
    IS(w, "a@n1", "transition");
    DONE(w, cmd_enqueue_if_due(w, "a@n1"));
    CHECK(world_runs(w, "a@n1") == 1);
    DONE(w, cmd_retry(w, "a@n1"));
    CHECK(read_noderole(w, "a@n1").rerun);
    DONE(w, cmd_enqueue_if_due(w, "a@n1"));
    CHECK(world_run(w, "a@n1", RUN_QUEUED) != 0);
    world_close(w);
}

/* ---- parked runs with a result ---- */

TEST(a_run_that_parks_may_set_a_wall_and_update_its_node)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'os','source_path':'/src/os'},"
                          "'attribs':[{'name':'wiped','map':'os/wiped'}],"
                          "'roles':[{'name':'wipe','jig':'script','hooks':['on_node_change']}]}"));
    world_node(w, "n1", NULL);
    world_bind(w, "wipe@n1");
    world_deliver(w);
    world_bring(w, "wipe@n1", "transition");
    world_clear_effects(w);
    world_finish_with(w, "wipe@n1",
                      (struct run_done_command){.result = RESULT_PARKED,
                                                .park_ms = 5000,
                                                .has_wall = true,
                                                .wall = world_json(w, "{'os':{'wiped':'1'}}")});
    IS(w, "wipe@n1", "transition");
    CHECK(world_run(w, "wipe@n1", RUN_PARKED) != 0);
    EXPECT_STR(shown(w, read_noderole(w, "wipe@n1").wall), "{'os':{'wiped':'1'}}");
    EXPECT_STR(shown(w, read_node(w, "n1").hint), "{'os':{'wiped':'1'}}");
    EXPECT_EFFECTS(w, "on_node_change wipe n1");
    world_close(w);
}

TEST(a_run_that_parks_without_a_wall_keeps_the_old_one)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bring(w, "a@n1", "transition");
    world_finish_with(w, "a@n1",
                      (struct run_done_command){
                          .result = RESULT_OK, .has_wall = true, .wall = world_json(w, "{'x':1}")});
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_anneal(w);
    world_finish_with(w, "a@n1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 5000});
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").wall), "{'x':1}");
    world_close(w);
}

TEST(a_hook_may_resume_a_parked_run)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_node_change']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_deliver(w);
    world_bring(w, "a@n1", "transition");
    world_finish_with(w, "a@n1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 5000});
    const int64_t run = world_run(w, "a@n1", RUN_PARKED);
    world_available(w, "n1", false);
    world_available(w, "n1", true);
    world_clear_effects(w);
    world_answer(w, "on_node_change a n1", false,
                 hook_command(w, CMD(RUN_RESUME, run_resume, .run_id = run)));
    world_deliver(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1");
    CHECK(world_run(w, "a@n1", RUN_RUNNING) == run);
    world_close(w);
}

/* ---- targets that may not exist ---- */

static struct command install_while(struct world *w, int64_t run, int64_t if_turn)
{
    struct command c = CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"),
                           .given = GIVEN_NODE_BOOTENV | GIVEN_NODE_PARKED_RUN,
                           .bootenv = STR("debian-12-install"), .parked_run = run);
    c.if_turn = if_turn;
    return c;
}

/* A hook read that a run is parked; the run may end before the hook command is executed. */
TEST(a_hook_may_set_the_boot_environment_while_a_run_waits)
{
    enum { NOTHING, REDEPLOY, DEBUG, RESET, CANCEL, DEATH, RESUME, ENDS };
    for (int end = NOTHING; end < ENDS; end++) {
        struct world *w = world_open();
        world_role(w, "found", "'jig':'noop','flags':['discovery','milestone']");
        world_role(w, "a", "'flags':['destructive']");
        world_node(w, "n1", NULL);
        world_bind(w, "found@n1");
        world_bind(w, "a@n1");
        world_bring(w, "a@n1", "transition");
        world_finish_with(w, "a@n1",
                          (struct run_done_command){.result = RESULT_PARKED, .park_ms = 5000});
        const int64_t run = world_run(w, "a@n1", RUN_PARKED), n1 = the_node(w, "n1");
        if (end == REDEPLOY)
            DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = n1));
        else if (end == DEBUG)
            DONE(w, CMD(NODE_DEBUG, node_debug, .id = n1));
        else if (end == RESET)
            DONE(w, CMD(NODE_POWER, node_power, .id = n1, .action = STR("reboot")));
        else if (end == CANCEL)
            DONE(w, CMD(RUN_CANCEL, run_cancel, .run_id = run));
        else if (end == DEATH)
            world_alive(w, "n1", false);
        else if (end == RESUME)
            DONE(w, CMD(RUN_RESUME, run_resume, .run_id = run));
        if (end != NOTHING)
            REFUSED(w, install_while(w, run, 0), STALE, "parked_run");
        DONE(w, install_while(w, run, IF_THERE));
        const bool is_done = str_eq(read_node(w, "n1").bootenv, STR("debian-12-install"));
        CHECK(is_done == (end == NOTHING));
        world_close(w);
    }
}

TEST(an_optional_hook_command_is_dropped_if_its_target_is_gone)
{
    struct world *w = open_computed();
    const struct digest128 before = core_digest_now(w->core);
    struct command update = CMD(NODE_UPDATE, node_update, .id = 4711, .given = GIVEN_NODE_BOOTENV,
                                .bootenv = STR("local"));
    REFUSED(w, update, NOT_FOUND, NULL);
    update.if_turn = IF_THERE;
    DONE(w, update);
    struct command set = cmd_set(w, TABLE_NODE, 4711, "port", BUCKET_SYSTEM, "1");
    set.if_turn = IF_THERE;
    DONE(w, set);
    struct command enqueue = CMD(NODEROLE_ENQUEUE, noderole_enqueue, .id = 4711);
    enqueue.if_turn = IF_THERE;
    DONE(w, enqueue);
    CHECK(digest_eq(core_digest_now(w->core), before));
    world_close(w);
}

TEST(an_optional_hook_command_is_executed_if_its_target_exists)
{
    struct world *w = open_computed();
    struct command update = CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"),
                                .given = GIVEN_NODE_BOOTENV, .bootenv = STR("local"));
    update.if_turn = IF_THERE;
    DONE(w, update);
    EXPECT_STR(shown(w, read_node(w, "n1").bootenv), "local");
    /* Other failures of the command are still refused. */
    update.node_update.given = GIVEN_NODE_TARGET;
    update.node_update.target_role_id = 4711;
    REFUSED(w, update, NONE, NULL);
    world_close(w);
}

/* ---- nulls ---- */

TEST(a_null_removes_a_member_of_the_system_data)
{
    struct world *w = open_computed();
    put_value(w, "a@n1", "all", BUCKET_SYSTEM, "{'clients':{'x':{'ip':1},'y':{'ip':2}}}");
    put_value(w, "a@n1", "all", BUCKET_SYSTEM, "{'clients':{'x':null}}");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").sysdata), "{'db':{'clients':{'y':{'ip':2}}}}");
    put_value(w, "a@n1", "all", BUCKET_SYSTEM, "{'clients':{'y':{'ip':null}}}");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").sysdata), "{'db':{'clients':{'y':{}}}}");
    put_value(w, "a@n1", "all", BUCKET_SYSTEM, "{'clients':{'nobody':null}}");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").sysdata), "{'db':{'clients':{'y':{}}}}");
    world_close(w);
}

TEST(a_null_removes_a_member_of_a_note)
{
    struct world *w = open_computed();
    put_value(w, "a@n1", "all", BUCKET_NOTE, "{'x':1,'y':2}");
    put_value(w, "a@n1", "all", BUCKET_NOTE, "{'x':null}");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").notes), "{'db':{'y':2}}");
    world_close(w);
}

/* In user data a null hides the values of lower layers. */
TEST(a_null_of_a_user_stays)
{
    struct world *w = open_computed();
    DONE(w, cmd_propose(w, "a@n1"));
    put_value(w, "a@n1", "all", BUCKET_USER, "{'port':null}");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").proposed_data), "{'db':{'port':null}}");
    EXPECT_STR(value_of(w, "a@n1", "port", VIEW_ALL), "1");
    world_close(w);
}

TEST(nulls_in_lists_stay)
{
    struct world *w = open_computed();
    put_value(w, "a@n1", "all", BUCKET_SYSTEM, "{'list':[null,{'x':null}]}");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").sysdata), "{'db':{'list':[null,{'x':null}]}}");
    world_close(w);
}
