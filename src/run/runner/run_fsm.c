/* run_fsm.c - what happens to a run, one step after the other.
 *
 * The supervisor and the threads only say where a run has come to; what is done next is decided in
 * run_fsm_advance(), which runner_pump() calls. Orders are given only while there is a connection,
 * and one that breaks takes those with it that were not answered: at the next one the supervisor is
 * asked about every run, once, so each "not known" answers a question of ours.
 */
#include "run/jig/ssh_command.h"
#include "run/runner/runner_private.h"
#include "sys/log.h"

static void wake(const struct runner *r)
{
    r->seams.wake(r->seams.self);
}

/* ---- the beginning ---- */

static bool ask_for_facts(struct runner *r, struct run *run)
{
    if (run->facts)
        return true;
    struct arena arena = {0};
    struct runner_facts facts = {0};
    const struct run_order order = {.epoch = r->epoch,
                                    .run_id = run->run_id,
                                    .attempt = run->attempt,
                                    .node_id = run->node_id,
                                    .noderole_id = run->noderole_id};
    const bool is_there = r->seams.facts(r->seams.self, &order, &arena, &facts);
    if (is_there)
        runs_set_facts(run, &facts);
    arena_fini(&arena);
    return is_there;
}

static void ask(struct runner *r, struct run *run)
{
    run->stage = STAGE_ASKED;
    if (run->is_cancelled) {
        run->is_cancel_sent = true;
        exec_client_cancel(r->client, run->run_id, run->attempt);
    } else {
        exec_client_query(r->client, run->run_id, run->attempt);
    }
}

static void stop_unbegun(struct runner *r, struct run *run)
{
    results_fail(r, run, RESULT_FAILED,
                 &(struct reason){.code = REASON_CANCELLED}); /* as stopped */
    jobs_remove_made(r, run);
}

static void begin(struct runner *r, struct run *run)
{
    if (run->is_cancelled && !run->may_be_known)
        stop_unbegun(r, run);
    else if (!r->is_connected)
        return;
    else if (run->may_be_known)
        ask(r, run);
    else if (r->is_fenced)
        return;
    else if (!ask_for_facts(r, run)) {
        results_fail(r, run, RESULT_FAILED,
                     &(struct reason){.code = REASON_NOT_STARTED,
                                      .text = STR("its noderole does not exist any more")});
        jobs_remove_made(r, run);
    } else {
        run->stage = STAGE_PREPARING;
        jobs_begin(r, run, JOB_PREPARE);
    }
}

/* There never was a process. */
static void drop_recipe(struct runner *r, struct run *run)
{
    if (run->is_cancelled || run->job->result != OK)
        results_fail(r, run, RESULT_FAILED, &run->job->why);
    jobs_remove_made(r, run);
}

static void order(struct runner *r, struct run *run)
{
    if (run->is_cancelled || run->job->result != OK) {
        drop_recipe(r, run);
        return;
    }
    if (!r->is_connected || r->is_fenced)
        return;
    const struct exec_spawn spec = jobs_spawn(r, run);
    if (exec_client_spawn(r->client, &spec) != OK) {
        run->job->result = ERR_LIMIT;
        run->job->why = (struct reason){
            .code = REASON_DATA_TOO_LARGE,
            .text = STR("the command line of the run is longer than a message may be")};
        drop_recipe(r, run);
        return;
    }
    run->stage = STAGE_ORDERED;
    run->is_ours_alone = false;
    jobs_drop(r, run->job);
    run->job = NULL;
}

void run_fsm_give_up(struct runner *r, struct run *run)
{
    const struct reason why = {.code = REASON_SUPERVISOR_DOWN, .text = STR(RUNNER_TROUBLE)};
    if (!run->is_ours_alone || run->is_cancelled)
        return;
    if (run->stage == STAGE_NOTED) {
        results_fail(r, run, RESULT_FAILED, &why);
    } else if (run->stage == STAGE_PREPARED && run->job->result == OK) {
        run->job->result = ERR_UNAVAILABLE;
        run->job->why = why;
        drop_recipe(r, run);
    }
}

static void pass_cancel_on(struct runner *r, struct run *run)
{
    if (!run->is_cancelled || run->is_cancel_sent || !r->is_connected)
        return;
    run->is_cancel_sent = true;
    exec_client_cancel(r->client, run->run_id, run->attempt);
}

/* ---- the end ---- */

/* A connection that is cut off takes nothing with it: what it had begun may go on over there. That
 * it broke by itself, ssh says with its status; where it never came to be the sweep has no more
 * luck, but a script may say the same words, so they are not trusted here. */
static bool may_have_left_work(const struct run *run)
{
    const bool is_cut_off = run->end.how == EXEC_EXITED ? run->end.code == SSH_FAILED
                                                        : run->end.how != EXEC_NOT_STARTED;
    return run->facts && run->facts->transport.kind == TRANSPORT_SSH && !run->is_swept &&
           is_cut_off;
}

static void close_off(struct runner *r, struct run *run)
{
    const bool has_facts = ask_for_facts(r, run);
    if (has_facts && may_have_left_work(run)) {
        run->stage = STAGE_SWEEPING;
        jobs_begin(r, run, JOB_SWEEP_NODE);
        if (run->begun_due)
            runs_set_saying(r, run); /* its answer is not near */
    } else {
        run->stage = STAGE_CONCLUDING;
        jobs_begin(r, run, JOB_CONCLUDE);
    }
}

static void go_on_swept(struct runner *r, struct run *run, bool is_done)
{
    jobs_remove_made(r, run);
    run->is_swept = true;
    run->may_have_left = !is_done;
    run->stage = STAGE_ENDED;
    runs_set_due(r, run);
}

static void order_sweep(struct runner *r, struct run *run)
{
    if (run->job->result != OK) {
        go_on_swept(r, run, run->job->result == ERR_NOT_FOUND);
        return;
    }
    if (!r->is_connected)
        return;
    const struct exec_spawn spec = jobs_spawn(r, run);
    if (exec_client_spawn(r->client, &spec) == OK)
        run->stage = STAGE_STOPPING;
    else
        go_on_swept(r, run, false);
}

void run_fsm_advance(struct runner *r, struct run *run)
{
    switch (run->stage) {
    case STAGE_NOTED: begin(r, run); return;
    case STAGE_PREPARED: order(r, run); return;
    case STAGE_PUT_OFF:
        if (run->is_cancelled)
            stop_unbegun(r, run);
        return;
    case STAGE_ASKED:
    case STAGE_ORDERED:
    case STAGE_RUNNING: pass_cancel_on(r, run); return;
    case STAGE_ENDED: close_off(r, run); return;
    case STAGE_SWEPT: order_sweep(r, run); return;
    case STAGE_PREPARING:
    case STAGE_SWEEPING:
    case STAGE_STOPPING:
    case STAGE_CONCLUDING:
    case STAGE_ANSWERED: return;
    }
    impossible("a stage outside the enum");
}

void run_fsm_retry(struct runner *r, struct run *run)
{
    if (run->stage == STAGE_PUT_OFF) {
        run->stage = STAGE_NOTED;
        run->may_be_known = true;
        runs_set_due(r, run);
    } else if (run->stage == STAGE_ANSWERED && run->request == 0) {
        run->answer_due = true;
        runs_set_saying(r, run);
    }
}

/* ---- what threads found ---- */

#define LOST_SENTENCE "the run had begun, and nobody knows what became of it"

static void conclude(struct runner *r, struct run *run)
{
    run->has_input = run->has_scratch = false;
    if (run->is_lost)
        results_fail(r, run, RESULT_LOST,
                     &(struct reason){.code = REASON_RUN_LOST,
                                      .text = run->may_have_left
                                                  ? STR(LOST_SENTENCE "\n" LEFT_SENTENCE)
                                                  : STR(LOST_SENTENCE)});
    else
        results_give(r, run, &run->job->done);
}

void run_fsm_job_done(struct runner *r, struct run *run, struct job *job)
{
    run->job = job;
    if (run->stage == STAGE_CONCLUDING) {
        conclude(r, run);
    } else if (run->stage == STAGE_PREPARING) {
        run->has_input = job->has_input;
        run->has_scratch = job->has_scratch;
        run->stage = STAGE_PREPARED;
    } else {
        must(run->stage == STAGE_SWEEPING);
        run->stage = STAGE_SWEPT;
    }
    runs_set_due(r, run);
    wake(r);
}

/* ---- what the supervisor says ---- */

/* Its connection is new: nothing that was asked before it will be answered. */
static void ask_again(struct runner *r, struct run *run)
{
    run->is_cancel_sent = false;
    switch (run->stage) {
    case STAGE_ASKED:
    case STAGE_ORDERED:
    case STAGE_PUT_OFF:
        run->stage = STAGE_NOTED;
        run->may_be_known = true;
        break;
    case STAGE_RUNNING: exec_client_query(r->client, run->run_id, run->attempt); break;
    case STAGE_STOPPING: exec_client_query(r->client, SWEEP_IDS + run->run_id, run->attempt); break;
    case STAGE_NOTED:
    case STAGE_PREPARING:
    case STAGE_PREPARED:
    case STAGE_ENDED:
    case STAGE_SWEEPING:
    case STAGE_SWEPT:
    case STAGE_CONCLUDING:
    case STAGE_ANSWERED: break;
    }
    runs_set_due(r, run);
}

static void connected(void *self, const struct exec_welcome *welcome)
{
    struct runner *r = self;
    r->is_connected = true;
    runner_end_trouble(r);
    r->is_unsettled = !welcome->journal_is_of_this_boot;
    r->is_listing = true;
    runs_each(r, ask_again);
    ssh_control_ask_again(r);
    wake(r);
}

static void lost(void *self)
{
    struct runner *r = self;
    if (r->is_connected)
        log_print(LOG_WARNING, "the connection to halligan-exec is gone, trying again");
    r->is_connected = false;
    wake(r);
}

static bool is_waited_for(const struct run *run)
{
    return run->stage == STAGE_ASKED || run->stage == STAGE_ORDERED ||
           run->stage == STAGE_PUT_OFF || run->stage == STAGE_RUNNING;
}

/* Of a run that nobody has ordered, or whose end was durable before we could say so. */
static void take_stranger(struct runner *r, const struct exec_run *run, bool is_ended)
{
    if (is_ended) {
        exec_client_forget(r->client, run->run_id, run->attempt);
        return;
    }
    log_with(LOG_WARNING, LOG_FIELDS(LOG_I64("run", run->run_id), LOG_I64("attempt", run->attempt)),
             "halligan-exec has a run that nobody wants; it is cancelled");
    exec_client_cancel(r->client, run->run_id, run->attempt);
}

/* It was not known, and answered so; an order that had been given up for lost came through after
 * all. */
static void take_late(struct runner *r, struct run *run)
{
    if (run->stage != STAGE_ANSWERED || run->is_known)
        return;
    run->is_known = true;
    exec_client_cancel(r->client, run->run_id, run->attempt);
}

static struct run *sweep_of(const struct runner *r, int64_t id, uint32_t attempt)
{
    struct run *run = id >= SWEEP_IDS ? runs_find(r, id - SWEEP_IDS, attempt) : NULL;
    return run && run->stage == STAGE_STOPPING ? run : NULL;
}

static void begun(void *self, const struct exec_begun *m)
{
    struct runner *r = self;
    struct run *run = runs_find(r, m->run_id, m->attempt);
    if (sweep_of(r, m->run_id, m->attempt) || ssh_control_begun(r, m))
        return;
    if (!run) {
        take_stranger(r, &(struct exec_run){m->run_id, m->attempt}, false);
        return;
    }
    if (!is_waited_for(run)) {
        take_late(r, run);
        return;
    }
    run->stage = STAGE_RUNNING;
    run->is_known = true;
    runs_clear_doubt(r, run);
    if (m->pid && !run->pid) {
        run->pid = m->pid;
        if (!run->store_begun)
            results_say_begun(r, run);
        ssh_control_want(r, run);
    }
    runs_set_due(r, run);
    wake(r);
}

static void ended(void *self, const struct exec_ended *m)
{
    struct runner *r = self;
    struct run *run = runs_find(r, m->run_id, m->attempt);
    struct run *swept = sweep_of(r, m->run_id, m->attempt);
    if (ssh_control_ended(r, m))
        return;
    if (swept)
        go_on_swept(r, swept, m->how == EXEC_EXITED && m->code == 0);
    if (!run) {
        take_stranger(r, &(struct exec_run){m->run_id, m->attempt}, true);
    } else if (is_waited_for(run)) {
        run->is_known = true;
        runs_clear_doubt(r, run);
        runs_set_end(run, m);
        run->stage = STAGE_ENDED;
        runs_set_due(r, run);
        if (m->how != EXEC_EXITED)
            log_with(LOG_INFO,
                     LOG_FIELDS(LOG_I64("run", m->run_id), LOG_I64("attempt", m->attempt)),
                     "a run did not end by itself: %s", exec_how_name((enum exec_how)m->how));
    }
    wake(r);
}

/* It began, and its supervisor does not know it: a boot lies between, or its journal was lost. */
static void lose(struct runner *r, struct run *run)
{
    run->is_lost = true;
    runs_set_end(run, &(struct exec_ended){.how = EXEC_DIED_WITH_SUPERVISOR});
    run->stage = STAGE_ENDED;
    runs_set_due(r, run);
}

static void take_not_known(struct runner *r, struct run *run, bool begun)
{
    const bool had_begun = begun || run->store_begun || run->pid || run->stage == STAGE_RUNNING;
    if (!is_waited_for(run))
        return;
    if (run->stage == STAGE_ORDERED && !run->is_cancelled) {
        run->stage = STAGE_PUT_OFF;
        runner_try_later(r);
    } else if (had_begun) {
        lose(r, run);
    } else {
        run->stage = STAGE_NOTED;
        run->may_be_known = false;
        runs_set_due(r, run);
    }
}

static void not_known(void *self, const struct exec_not_known *m)
{
    struct runner *r = self;
    struct run *run = runs_find(r, m->run_id, m->attempt);
    struct run *swept = sweep_of(r, m->run_id, m->attempt);
    if (ssh_control_not_known(r, m))
        return;
    if (swept)
        go_on_swept(r, swept, false);
    else if (run)
        take_not_known(r, run, m->begun);
    wake(r);
}

static void fenced(void *self, int64_t epoch)
{
    struct runner *r = self;
    if (epoch <= r->epoch || r->is_fenced)
        return;
    r->is_fenced = true;
    log_with(LOG_ERROR, LOG_FIELDS(LOG_I64("epoch", r->epoch), LOG_I64("newer", epoch)),
             "halligan-exec has a newer daemon; no more runs are begun");
}

struct exec_client_callbacks run_fsm_seams(struct runner *r)
{
    return (struct exec_client_callbacks){.self = r,
                                          .connected = connected,
                                          .lost = lost,
                                          .begun = begun,
                                          .ended = ended,
                                          .not_known = not_known,
                                          .fenced = fenced};
}
