#include "run/fake/test_jig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "model/reason.h"
#include "run/fake/fake_journal.h"
#include "run/fake/fake_timers.h"
#include "sys/failpoint.h"
#include "sys/log.h"

/* Owns the journal, the recorded orders, the active runs and the results that were not accepted
 * yet.
 *
 * Order: all starts of a round are written to the journal and synced together, before any of them
 * is executed or reported. So a start that was reported is never executed twice, which the crash
 * tests verify with this journal. An end is written but not synced: if it is lost, the run ends
 * once more.
 *
 * Failure: a run whose start cannot be written fails; if the sync fails, all runs that were started
 * in the round fail. A result that is refused with ERR_LIMIT is submitted again by the next pump.
 */

enum { DELAY_MS_MAX = 24 * 60 * 60 * 1000, TEXT_SIZE = 160 };

enum order_kind { ORDER_START, ORDER_CANCEL, ORDER_QUERY };

/* The recorded part of an order; its strings are valid only during the call. */
struct order {
    enum order_kind kind;
    int64_t run_id;
    uint32_t attempt;
    int64_t noderole_id;
    bool begun;      /* the store has recorded its start */
    bool fresh;      /* its start was written to the journal in this round */
    uint32_t result; /* RESULT_... */
    int64_t delay_ms;
};

struct reply {
    enum command_kind kind;
    int64_t run_id;
    uint32_t attempt;
    enum run_result result;
    char text[TEXT_SIZE];
};

struct test_jig {
    struct test_jig_callbacks callbacks;
    struct fake_journal *journal;
    int64_t epoch; /* the highest epoch of an order */
    struct order *orders;
    uint32_t order_count, order_cap;
    struct fake_timers active; /* active runs */
    struct reply *replies;
    uint32_t reply_first; /* replies before it are submitted */
    uint32_t reply_count, reply_cap;
};

/* Grow an array if it is full. */
static void *test_jig_reserve(void *at, uint32_t count, uint32_t *cap, size_t size)
{
    if (count < *cap)
        return at;
    *cap = *cap ? *cap * 2 : 32;
    at = realloc(at, *cap * size);
    must(at);
    return at;
}

/* ---- orders of the turn ---- */

/* The result that the data request. An asynchronous run is ended by a retry: every second attempt
 * succeeds. */
static enum run_result test_jig_result(const struct json *data, uint32_t attempt)
{
    const struct json *fail = json_get(data, STR("fail"));
    int64_t last;
    /* "fail": true, or the number of the last attempt that fails. */
    if (json_is_true(fail) || (fail && json_as_i64(fail, &last) && (int64_t)attempt <= last))
        return RESULT_FAILED;
    return json_is_true(json_get(data, STR("async"))) && attempt % 2 ? RESULT_ASYNC : RESULT_OK;
}

static void test_jig_read_data(struct order *o, struct str data)
{
    struct arena arena = {0};
    struct json *tree = NULL;
    uint32_t offset;
    const char *what;
    if (data.len && json_read(&arena, data, &tree, &offset, &what) == OK) {
        o->result = test_jig_result(tree, o->attempt);
        const struct json *delay = json_get(tree, STR("delay"));
        int64_t delay_ms;
        if (delay && json_as_i64(delay, &delay_ms) && delay_ms > 0)
            o->delay_ms = delay_ms < DELAY_MS_MAX ? delay_ms : DELAY_MS_MAX;
    }
    arena_fini(&arena);
}

static void test_jig_record_order(struct test_jig *t, enum order_kind kind,
                                  const struct run_order *order)
{
    /* Ignore orders of a former leader. */
    if (order->epoch < t->epoch)
        return;
    t->epoch = order->epoch;
    t->orders = test_jig_reserve(t->orders, t->order_count, &t->order_cap, sizeof *t->orders);
    struct order *o = &t->orders[t->order_count++];
    *o = (struct order){.kind = kind,
                        .run_id = order->run_id,
                        .attempt = order->attempt,
                        .noderole_id = order->noderole_id,
                        .begun = order->begun};
    if (kind != ORDER_CANCEL)
        test_jig_read_data(o, order->data);
}

bool test_jig_has(const struct test_jig *t, int64_t run_id, uint32_t attempt)
{
    for (uint32_t i = 0; i < t->order_count; i++)
        if (t->orders[i].run_id == run_id && t->orders[i].attempt == attempt)
            return true;
    return fake_journal_find(t->journal, run_id, attempt) != FAKE_JOURNAL_UNKNOWN;
}

static void test_jig_port_start(void *self, const struct run_order *order)
{
    test_jig_record_order(self, ORDER_START, order);
}

static void test_jig_port_cancel(void *self, const struct run_order *order)
{
    test_jig_record_order(self, ORDER_CANCEL, order);
}

static void test_jig_port_query(void *self, const struct run_order *order)
{
    test_jig_record_order(self, ORDER_QUERY, order);
}

struct runner_port test_jig_port(struct test_jig *t)
{
    return (struct runner_port){.self = t,
                                .start = test_jig_port_start,
                                .cancel = test_jig_port_cancel,
                                .query = test_jig_port_query};
}

/* ---- results ---- */

static struct reply *test_jig_add_reply(struct test_jig *t, enum command_kind kind, int64_t run_id,
                                        uint32_t attempt)
{
    if (t->reply_count == t->reply_cap && t->reply_first > t->reply_cap / 2) {
        t->reply_count -= t->reply_first;
        memmove(t->replies, t->replies + t->reply_first, sizeof *t->replies * t->reply_count);
        t->reply_first = 0;
    }
    t->replies = test_jig_reserve(t->replies, t->reply_count, &t->reply_cap, sizeof *t->replies);
    struct reply *r = &t->replies[t->reply_count++];
    *r = (struct reply){.kind = kind, .run_id = run_id, .attempt = attempt};
    return r;
}

static void test_jig_report_end(struct test_jig *t, int64_t run_id, uint32_t attempt,
                                enum run_result result)
{
    struct reply *r = test_jig_add_reply(t, COMMAND_RUN_DONE, run_id, attempt);
    r->result = result;
    snprintf(r->text, sizeof r->text, "%s",
             result == RESULT_FAILED  ? "the staged data request that the test jig fails"
             : result == RESULT_ASYNC ? "the staged data request an asynchronous run"
                                      : "the test jig pretended");
}

static void test_jig_report_failure(struct test_jig *t, const struct order *o, const char *text)
{
    struct reply *r = test_jig_add_reply(t, COMMAND_RUN_DONE, o->run_id, o->attempt);
    r->result = RESULT_FAILED;
    snprintf(r->text, sizeof r->text, "%s", text);
}

static struct command test_jig_command(const struct reply *r)
{
    struct command command = {.kind = r->kind, .actor = STR("test jig")};
    if (r->kind == COMMAND_RUN_BEGUN) {
        command.run_begun.run_id = r->run_id;
        command.run_begun.attempt = r->attempt;
        command.run_begun.job = STR("test");
    } else if (r->kind == COMMAND_RUN_STOPPED) {
        command.run_stopped.run_id = r->run_id;
        command.run_stopped.attempt = r->attempt;
    } else {
        command.run_done.run_id = r->run_id;
        command.run_done.attempt = r->attempt;
        command.run_done.result = r->result;
        command.run_done.runlog = str_from(r->text);
        if (r->result == RESULT_FAILED) {
            command.run_done.reason = REASON_TEST_FAILED;
            command.run_done.reason_text = str_from(r->text);
        }
    }
    return command;
}

static bool test_jig_submit(struct test_jig *t)
{
    const uint32_t first = t->reply_first;
    for (; t->reply_first < t->reply_count; t->reply_first++) {
        FAILPOINT(JIG_ANSWER);
        const struct command command = test_jig_command(&t->replies[t->reply_first]);
        if (t->callbacks.submit(t->callbacks.self, &command) == ERR_LIMIT)
            break;
    }
    const bool any = t->reply_first > first;
    if (t->reply_first == t->reply_count)
        t->reply_first = t->reply_count = 0;
    return any;
}

/* ---- execution ---- */

/* Record the end without sync: if it is lost, the run ends once more. */
static void test_jig_record_end(struct test_jig *t, int64_t run_id, uint32_t attempt)
{
    FAILPOINT(JIG_DONE_BEFORE);
    if (fake_journal_done(t->journal, run_id, attempt) != OK)
        log_with(
            LOG_WARNING, LOG_FIELDS(LOG_I64("run", run_id), LOG_I64("attempt", attempt)),
            "cannot write the end of a run to the journal of the test jig: %s; after a restart the "
            "run ends once more",
            strerror(errno));
    FAILPOINT(JIG_DONE_AFTER);
}

static bool test_jig_needs_start(const struct test_jig *t, const struct order *o)
{
    if (o->kind == ORDER_CANCEL || (o->kind == ORDER_QUERY && o->begun))
        return false;
    return fake_journal_find(t->journal, o->run_id, o->attempt) == FAKE_JOURNAL_UNKNOWN;
}

/* Write all starts to the journal and sync once, before any run is executed or reported. False: the
 * sync failed, and no start counts. */
static bool test_jig_record_starts(struct test_jig *t)
{
    bool any = false;
    for (uint32_t i = 0; i < t->order_count; i++) {
        struct order *o = &t->orders[i];
        if (!test_jig_needs_start(t, o))
            continue;
        FAILPOINT(JIG_START_BEFORE);
        o->fresh = fake_journal_start(t->journal, o->run_id, o->attempt, o->noderole_id) == OK;
        if (!o->fresh)
            log_with(
                LOG_ERROR, LOG_FIELDS(LOG_I64("run", o->run_id), LOG_I64("attempt", o->attempt)),
                "cannot write the start of a run to the journal of the test jig: %s; the run fails",
                strerror(errno));
        any = true;
    }
    if (!any)
        return true;
    const bool synced = fake_journal_sync(t->journal) == OK;
    if (!synced)
        log_print(LOG_ERROR, "cannot sync the journal of the test jig: %s; its runs fail",
                  strerror(errno));
    FAILPOINT(JIG_START_AFTER);
    return synced;
}

static void test_jig_continue(struct test_jig *t, const struct order *o, int64_t mono_ms)
{
    test_jig_add_reply(t, COMMAND_RUN_BEGUN, o->run_id, o->attempt);
    if (fake_journal_find(t->journal, o->run_id, o->attempt) == FAKE_JOURNAL_DONE) {
        test_jig_report_end(t, o->run_id, o->attempt, (enum run_result)o->result);
        return;
    }
    if (fake_timers_has(&t->active, o->run_id, o->attempt))
        return;
    const struct fake_run work = {.run_id = o->run_id,
                                  .attempt = o->attempt,
                                  .result = o->result,
                                  .due_ms = mono_ms + o->delay_ms};
    fake_timers_add(&t->active, &work);
}

static void test_jig_execute(struct test_jig *t, const struct order *o, bool synced,
                             int64_t mono_ms)
{
    if (o->kind == ORDER_CANCEL) {
        fake_timers_remove(&t->active, o->run_id, o->attempt);
        if (fake_journal_find(t->journal, o->run_id, o->attempt) == FAKE_JOURNAL_STARTED)
            test_jig_record_end(t, o->run_id, o->attempt);
        test_jig_add_reply(t, COMMAND_RUN_STOPPED, o->run_id, o->attempt);
    } else if (o->fresh && !synced) {
        test_jig_report_failure(t, o, "the journal of the test jig could not be synced");
    } else if (fake_journal_find(t->journal, o->run_id, o->attempt) != FAKE_JOURNAL_UNKNOWN) {
        test_jig_continue(t, o, mono_ms);
    } else if (o->kind == ORDER_QUERY && o->begun) {
        test_jig_add_reply(t, COMMAND_RUN_DONE, o->run_id, o->attempt)->result = RESULT_LOST;
    } else {
        test_jig_report_failure(t, o, "the journal of the test jig could not be written");
    }
}

bool test_jig_pump(struct test_jig *t, int64_t mono_ms)
{
    struct fake_run work;
    if (t->order_count) {
        const bool synced = test_jig_record_starts(t);
        for (uint32_t i = 0; i < t->order_count; i++)
            test_jig_execute(t, &t->orders[i], synced, mono_ms);
        t->order_count = 0;
    }
    while (fake_timers_take_due(&t->active, mono_ms, &work)) {
        test_jig_record_end(t, work.run_id, work.attempt);
        test_jig_report_end(t, work.run_id, work.attempt, (enum run_result)work.result);
    }
    return t->reply_count ? test_jig_submit(t) : false;
}

int64_t test_jig_next_ms(const struct test_jig *t)
{
    return t->order_count ? 0 : fake_timers_next_ms(&t->active);
}

/* ---- open and close ---- */

err test_jig_open(const char *journal_path, struct test_jig_callbacks callbacks,
                  struct test_jig **out_jig)
{
    struct fake_journal *journal;
    const err e = fake_journal_open(journal_path, FAKE_JOURNAL_SIZE_MAX, &journal);
    if (e != OK)
        return e;
    struct test_jig *t = calloc(1, sizeof *t);
    must(t);
    t->callbacks = callbacks;
    t->journal = journal;
    *out_jig = t;
    return OK;
}

void test_jig_close(struct test_jig *t)
{
    if (!t)
        return;
    fake_journal_close(t->journal);
    free(t->orders);
    fake_timers_fini(&t->active);
    free(t->replies);
    free(t);
}
