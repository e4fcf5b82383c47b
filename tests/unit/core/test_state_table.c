/* Goal: the effect of every event in every state is that of the table in ADR 0006.
 * Method: x@nx is a child of p@np and q@nq, p a child of g@ng. Each cell is tested in a core of its
 * own: commands put x into the state and then cause the event. */
#include <stdio.h>
#include <string.h>

#include "tests/world/world.h"

enum event { COMMIT, PROPOSE, READY, LOST, ANC_ERROR, START, RUN_OK, FAILED, RETRY, DEACTIVATE };

enum { EVENT_COUNT = DEACTIVATE + 1 };

static const char *const event_names[EVENT_COUNT] = {"commit",    "propose",   "ready", "lost",
                                                     "anc-error", "start",     "ok",    "failed",
                                                     "retry",     "deactivate"};

/* s settles: TODO if every parent is ACTIVE, else BLOCKED; = nowhere; . refused; d marked to run
 * again; else the first letter of the state (x: transition). */
/* clang-format off */
static const char *const drawn[NODEROLE_STATE_COUNT] = {
    /*                       commit propose ready lost anc-error start ok failed retry deactivate */
    [NODEROLE_PROPOSED]   = "s====.==.=",
    [NODEROLE_BLOCKED]    = ".pt==.==.=",
    [NODEROLE_TODO]       = ".p=bbx=e=s",
    [NODEROLE_TRANSITION] = ".p===.aeds",
    [NODEROLE_ACTIVE]     = ".p==bx=ets", /* started only when enqueued */
    [NODEROLE_ERROR]      = ".p=bb.==ts",
};
/* clang-format on */

static const char *name_of(int state)
{
    return noderole_state_name((enum noderole_state)state);
}

static const char *hook_of(struct world *w, int state)
{
    return str_z(&w->arena, STR_CONCAT(&w->arena, STR("on_"), str_from(name_of(state))));
}

static void retry_is_refused(struct world *w, const char *noderole)
{
    world_available(w, strchr(noderole, '@') + 1, false);
    DONE(w, cmd_retry(w, noderole));
    IS(w, noderole, "todo");
}

/* x in that state, every parent ACTIVE (but for BLOCKED: q is waiting). With `hold`, the hook of
 * that state has not been answered. */
static struct world *open_in(int state, bool hold)
{
    struct world *w = world_open();
    world_role(w, "g", "");
    world_role(w, "p", "'requires':['g']");
    world_role(w, "q", "");
    world_role(w, "x",
               "'requires':['p','q'],'hooks':['on_proposed','on_blocked','on_todo',"
               "'on_transition','on_active','on_error']");
    static const char *const parents[] = {"g@ng", "p@np", "q@nq"};
    for (int i = 0; i < 3; i++) {
        world_node(w, strchr(parents[i], '@') + 1, NULL);
        world_bind(w, parents[i]);
        world_bring(w, parents[i], "active");
    }
    world_node(w, "nx", NULL);
    w->held = hold ? hook_of(w, state) : NULL;
    world_bind(w, "x@nx");
    world_deliver(w);
    if (state == NODEROLE_BLOCKED) {
        retry_is_refused(w, "q@nq");
        world_commit(w, "x@nx");
        world_deliver(w);
    } else {
        world_bring(w, "x@nx", name_of(state));
    }
    IS(w, "x@nx", name_of(state));
    world_clear_effects(w);
    return w;
}

/* A parent stops being ACTIVE, x stays in its state: by propose below an ERROR, which any other
 * loss would block. */
static void lose_q(struct world *w, int state)
{
    if (state == NODEROLE_BLOCKED)
        return;
    if (state == NODEROLE_ERROR)
        DONE(w, cmd_propose(w, "q@nq"));
    else
        retry_is_refused(w, "q@nq");
}

/* A TODO noderole with a parent outside ACTIVE does not exist: on the way to `ready` it is
 * BLOCKED, and comes back. */
static void drive_ready(struct world *w, int state)
{
    lose_q(w, state);
    if (state == NODEROLE_ERROR)
        world_commit(w, "q@nq");
    else
        world_available(w, "nq", true);
    world_anneal(w);
    world_finish(w, "q@nq", RESULT_OK);
    IS(w, "q@nq", "active");
}

static void drive_anc_error(struct world *w)
{
    DONE(w, cmd_enqueue(w, "g@ng"));
    world_anneal(w);
    world_finish(w, "g@ng", RESULT_FAILED);
    IS(w, "g@ng", "error");
}

/* The annealer starts what is TODO; an ACTIVE one starts only when it was enqueued. */
static void drive_start(struct world *w, int state)
{
    if (state == NODEROLE_TODO) {
        world_available(w, "nx", true);
        world_anneal(w);
        EXPECT_EFFECTS(w, "on_transition x@nx; start x@nx");
        return;
    }
    world_anneal(w);
    IS(w, "x@nx", name_of(state));
    DONE(w, cmd_enqueue(w, "x@nx"));
    world_anneal(w);
    EXPECT_EFFECTS(w, state == NODEROLE_ACTIVE ? "on_transition x@nx; start x@nx" : "");
}

/* Outside TRANSITION this is a late result. */
static void drive_ok(struct world *w, int state)
{
    if (state == NODEROLE_TRANSITION) {
        world_finish(w, "x@nx", RESULT_OK);
        return;
    }
    const struct start *start = world_start(w, "x@nx");
    DONE(w, CMD(RUN_DONE, run_done, .run_id = start ? start->run : 1,
                .attempt = start ? start->attempt : 1, .result = RESULT_OK));
}

/* Outside TRANSITION it is a hook of the state that fails. */
static void drive_failed(struct world *w, int state)
{
    if (state == NODEROLE_TRANSITION) {
        world_finish(w, "x@nx", RESULT_FAILED);
        return;
    }
    const struct str line = STR_CONCAT(&w->arena, str_from(hook_of(w, state)), STR(" x@nx"));
    world_answer(w, str_z(&w->arena, line), true, STR(""));
}

static struct command verb_of(struct world *w, enum event event)
{
    if (event == COMMIT)
        return cmd_commit(w, "x@nx");
    return event == PROPOSE ? cmd_propose(w, "x@nx") : cmd_retry(w, "x@nx");
}

static void drive(struct world *w, int state, enum event event)
{
    switch (event) {
    case COMMIT:
    case PROPOSE:
    case RETRY:
        if (drawn[state][event] == '.')
            REFUSED(w, verb_of(w, event), NONE, NULL);
        else
            DONE(w, verb_of(w, event));
        break;
    case READY: drive_ready(w, state); break;
    case LOST: retry_is_refused(w, "p@np"); break;
    case ANC_ERROR: drive_anc_error(w); break;
    case START: drive_start(w, state); break;
    case RUN_OK: drive_ok(w, state); break;
    case FAILED: drive_failed(w, state); break;
    case DEACTIVATE: world_alive(w, "nx", false); break;
    }
}

/* The state that a letter of the table leads to. */
static int goal(char letter, int state, bool parents_active)
{
    switch (letter) {
    case 's': return parents_active ? NODEROLE_TODO : NODEROLE_BLOCKED;
    case 'p': return NODEROLE_PROPOSED;
    case 'b': return NODEROLE_BLOCKED;
    case 't': return NODEROLE_TODO;
    case 'x': return NODEROLE_TRANSITION;
    case 'a': return NODEROLE_ACTIVE;
    case 'e': return NODEROLE_ERROR;
    default: return state;
    }
}

static void check_cell(struct world *w, int state, enum event event, bool parents_active)
{
    const struct noderole_record x = read_noderole(w, "x@nx");
    const int wanted = goal(drawn[state][event], state, parents_active);
    if ((int)x.state != wanted)
        world_fail(HERE, "%s in %s leads to %s, wanted %s", event_names[event], name_of(state),
                   name_of((int)x.state), name_of(wanted));
    CHECK(x.rerun == (drawn[state][event] == 'd') || event == START);
}

static void check_row(int state)
{
    CHECK(strlen(drawn[state]) == EVENT_COUNT);
    for (int event = 0; event < EVENT_COUNT; event++) {
        struct world *w = open_in(state, event == FAILED);
        drive(w, state, (enum event)event);
        check_cell(w, state, (enum event)event, true);
        world_close(w);
    }
}

TEST(the_row_of_proposed_matches_the_table)
{
    check_row(NODEROLE_PROPOSED);
}

TEST(the_row_of_blocked_matches_the_table)
{
    check_row(NODEROLE_BLOCKED);
}

TEST(the_row_of_todo_matches_the_table)
{
    check_row(NODEROLE_TODO);
}

TEST(the_row_of_transition_matches_the_table)
{
    check_row(NODEROLE_TRANSITION);
}

TEST(the_row_of_active_matches_the_table)
{
    check_row(NODEROLE_ACTIVE);
}

TEST(the_row_of_error_matches_the_table)
{
    check_row(NODEROLE_ERROR);
}

/* The cells marked s once more. TODO is not among them: below a lost parent it is BLOCKED before
 * anything else can happen to it. */
TEST(settling_below_an_inactive_parent_leads_to_blocked)
{
    static const struct {
        int state;
        enum event event;
    } cells[] = {
        {NODEROLE_PROPOSED, COMMIT},
        {NODEROLE_TRANSITION, DEACTIVATE},
        {NODEROLE_ACTIVE, DEACTIVATE},
        {NODEROLE_ERROR, DEACTIVATE},
    };
    for (int i = 0; i < 4; i++) {
        struct world *w = open_in(cells[i].state, false);
        lose_q(w, cells[i].state);
        IS(w, "x@nx", name_of(cells[i].state));
        drive(w, cells[i].state, cells[i].event);
        check_cell(w, cells[i].state, cells[i].event, false);
        world_close(w);
    }
}

TEST(retry_needs_every_parent_active)
{
    for (int s = NODEROLE_TRANSITION; s <= NODEROLE_ERROR; s++) {
        struct world *w = open_in(s, false);
        lose_q(w, s);
        REFUSED(w, cmd_retry(w, "x@nx"), PARENTS_NOT_ACTIVE, NULL);
        world_close(w);
    }
}

TEST(retry_in_transition_without_a_run_is_todo)
{
    struct world *w = open_in(NODEROLE_TRANSITION, false);
    world_finish(w, "x@nx", RESULT_ASYNC);
    IS(w, "x@nx", "transition");
    DONE(w, cmd_retry(w, "x@nx"));
    IS(w, "x@nx", "todo");
    CHECK(!read_noderole(w, "x@nx").rerun);
    world_close(w);
}

TEST(propose_in_transition_cancels_the_run)
{
    struct world *w = open_in(NODEROLE_TRANSITION, false);
    DONE(w, cmd_propose(w, "x@nx"));
    EXPECT_EFFECTS(w, "on_proposed x@nx; cancel x@nx");
    world_close(w);
}

TEST(deactivate_in_transition_cancels_the_run)
{
    struct world *w = open_in(NODEROLE_TRANSITION, false);
    world_alive(w, "nx", false);
    EXPECT_EFFECTS(w, "on_todo x@nx; cancel x@nx");
    world_close(w);
}

TEST(a_failed_on_transition_is_an_error_whatever_the_result)
{
    struct world *w = open_in(NODEROLE_TRANSITION, true);
    const struct start start = *world_start(w, "x@nx");
    world_answer(w, "on_transition x@nx", true, STR(""));
    IS(w, "x@nx", "error");
    DONE(w, CMD(RUN_DONE, run_done, .run_id = start.run, .attempt = start.attempt,
                .result = RESULT_OK));
    IS(w, "x@nx", "error");
    CHECK(world_runs(w, "x@nx") == 0);
    world_close(w);
}

/* The propose of a parent blocks only its TODO noderole children. */
TEST(propose_of_a_parent_blocks_only_children_in_todo)
{
    for (int s = 0; s < NODEROLE_STATE_COUNT; s++) {
        struct world *w = open_in(s, false);
        DONE(w, cmd_propose(w, "p@np"));
        IS(w, "x@nx", s == NODEROLE_TODO ? "blocked" : name_of(s));
        world_close(w);
    }
}

TEST(a_state_keeps_the_time_it_was_entered)
{
    struct world *w = open_in(NODEROLE_TODO, false);
    const int64_t since = read_noderole(w, "x@nx").since;
    DONE(w, cmd_retry(w, "x@nx"));
    CHECK(read_noderole(w, "x@nx").since == since);
    world_available(w, "nx", true);
    world_anneal(w);
    CHECK(read_noderole(w, "x@nx").since > since);
    world_close(w);
}

TEST(attempts_count_up_and_never_back)
{
    struct world *w = open_in(NODEROLE_ACTIVE, false);
    uint32_t last = world_start(w, "x@nx")->attempt;
    for (int i = 0; i < 5; i++) {
        DONE(w, cmd_retry(w, "x@nx"));
        world_deliver(w);
        world_anneal(w);
        CHECK(world_start(w, "x@nx")->attempt == last + 1);
        last = world_start(w, "x@nx")->attempt;
        world_finish(w, "x@nx", i % 2 ? RESULT_OK : RESULT_FAILED);
    }
    world_close(w);
}
