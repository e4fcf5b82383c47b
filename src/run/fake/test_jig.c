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

enum { DELAY_MS_MAX = 24 * 60 * 60 * 1000, TEXT_SIZE = 160 };

enum order_kind { ORDER_START, ORDER_CANCEL, ORDER_QUERY };

/* An order as far as it matters: its texts die with the call. */
struct order {
    enum order_kind kind;
    int64_t run_id;
    uint32_t attempt;
    int64_t noderole_id;
    bool begun;
    bool fresh;      /* its start went into the journal just now */
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
    struct test_jig_seams seams;
    struct journal *journal;
    int64_t epoch; /* the highest that gave an order */
    struct order *orders;
    uint32_t order_count, order_cap;
    struct fake_timers works; /* under way */
    struct reply *replies;
    uint32_t reply_first; /* those before it are handed over */
    uint32_t reply_count, reply_cap;
};

/* Room for one more of `size` bytes. */
static void *room(void *at, uint32_t count, uint32_t *cap, size_t size)
{
    if (count < *cap)
        return at;
    *cap = *cap ? *cap * 2 : 32;
    at = realloc(at, *cap * size);
    must(at);
    return at;
}

/* ---- orders come in ---- */

/* "fail": true, or the number of the last attempt that does. */
static bool is_to_fail(const struct json *fail, uint32_t attempt)
{
    int64_t last;
    return json_is_true(fail) || (fail && json_as_i64(fail, &last) && (int64_t)attempt <= last);
}

/* What the data tell. Work that is left open is taken up by a retry, which ends it. */
static enum run_result wanted_result(const struct json *data, uint32_t attempt)
{
    if (is_to_fail(json_get(data, STR("fail")), attempt))
        return RESULT_FAILED;
    return json_is_true(json_get(data, STR("async"))) && attempt % 2 ? RESULT_ASYNC : RESULT_OK;
}

static void read_data(struct order *o, struct str data)
{
    struct arena arena = {0};
    struct json *tree = NULL;
    uint32_t offset;
    const char *what;
    if (data.len && json_read(&arena, data, &tree, &offset, &what) == OK) {
        o->result = wanted_result(tree, o->attempt);
        const struct json *delay = json_get(tree, STR("delay"));
        int64_t delay_ms;
        if (delay && json_as_i64(delay, &delay_ms) && delay_ms > 0)
            o->delay_ms = delay_ms < DELAY_MS_MAX ? delay_ms : DELAY_MS_MAX;
    }
    arena_fini(&arena);
}

static void note(struct test_jig *t, enum order_kind kind, const struct run_order *order)
{
    /* Whoever leads no more has nothing to order. */
    if (order->epoch < t->epoch)
        return;
    t->epoch = order->epoch;
    t->orders = room(t->orders, t->order_count, &t->order_cap, sizeof *t->orders);
    struct order *o = &t->orders[t->order_count++];
    *o = (struct order){.kind = kind,
                        .run_id = order->run_id,
                        .attempt = order->attempt,
                        .noderole_id = order->noderole_id,
                        .begun = order->begun};
    if (kind != ORDER_CANCEL)
        read_data(o, order->data);
}

bool test_jig_has(const struct test_jig *t, int64_t run_id, uint32_t attempt)
{
    for (uint32_t i = 0; i < t->order_count; i++)
        if (t->orders[i].run_id == run_id && t->orders[i].attempt == attempt)
            return true;
    return journal_find(t->journal, run_id, attempt) != JOURNAL_UNKNOWN;
}

static void start(void *self, const struct run_order *order)
{
    note(self, ORDER_START, order);
}

static void cancel(void *self, const struct run_order *order)
{
    note(self, ORDER_CANCEL, order);
}

static void query(void *self, const struct run_order *order)
{
    note(self, ORDER_QUERY, order);
}

struct runner_port test_jig_port(struct test_jig *t)
{
    return (struct runner_port){.self = t, .start = start, .cancel = cancel, .query = query};
}

/* ---- answers go out ---- */

static struct reply *add_reply(struct test_jig *t, enum command_kind kind, int64_t run_id,
                               uint32_t attempt)
{
    if (t->reply_count == t->reply_cap && t->reply_first > t->reply_cap / 2) {
        t->reply_count -= t->reply_first;
        memmove(t->replies, t->replies + t->reply_first, sizeof *t->replies * t->reply_count);
        t->reply_first = 0;
    }
    t->replies = room(t->replies, t->reply_count, &t->reply_cap, sizeof *t->replies);
    struct reply *r = &t->replies[t->reply_count++];
    *r = (struct reply){.kind = kind, .run_id = run_id, .attempt = attempt};
    return r;
}

static void say_done(struct test_jig *t, int64_t run_id, uint32_t attempt, enum run_result result)
{
    struct reply *r = add_reply(t, COMMAND_RUN_DONE, run_id, attempt);
    r->result = result;
    snprintf(r->text, sizeof r->text, "%s",
             result == RESULT_FAILED  ? "the staged data told the test jig to fail"
             : result == RESULT_ASYNC ? "the staged data told the test jig to leave it open"
                                      : "the test jig pretended");
}

static void say_failed(struct test_jig *t, const struct order *o, const char *text)
{
    struct reply *r = add_reply(t, COMMAND_RUN_DONE, o->run_id, o->attempt);
    r->result = RESULT_FAILED;
    snprintf(r->text, sizeof r->text, "%s", text);
}

static struct command command_of(const struct reply *r)
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

static bool hand_over(struct test_jig *t)
{
    const uint32_t first = t->reply_first;
    for (; t->reply_first < t->reply_count; t->reply_first++) {
        FAILPOINT(JIG_ANSWER);
        const struct command command = command_of(&t->replies[t->reply_first]);
        if (t->seams.submit(t->seams.self, &command) == ERR_LIMIT)
            break;
    }
    const bool any = t->reply_first > first;
    if (t->reply_first == t->reply_count)
        t->reply_first = t->reply_count = 0;
    return any;
}

/* ---- the work ---- */

/* The end is noted, not synced: an end that is forgotten is only reached once more. */
static void note_end(struct test_jig *t, int64_t run_id, uint32_t attempt)
{
    FAILPOINT(JIG_DONE_BEFORE);
    if (journal_done(t->journal, run_id, attempt) != OK)
        log_with(LOG_WARNING, LOG_FIELDS(LOG_I64("run", run_id), LOG_I64("attempt", attempt)),
                 "the test jig's journal does not take an end: %s; going on", strerror(errno));
    FAILPOINT(JIG_DONE_AFTER);
}

static bool wants_start(const struct test_jig *t, const struct order *o)
{
    if (o->kind == ORDER_CANCEL || (o->kind == ORDER_QUERY && o->begun))
        return false;
    return journal_find(t->journal, o->run_id, o->attempt) == JOURNAL_UNKNOWN;
}

/* Every start that was ordered goes into the journal, and all of them to the disk together, before
 * any of them is done or spoken of. False: none of them counts. */
static bool note_starts(struct test_jig *t)
{
    bool any = false;
    for (uint32_t i = 0; i < t->order_count; i++) {
        struct order *o = &t->orders[i];
        if (!wants_start(t, o))
            continue;
        FAILPOINT(JIG_START_BEFORE);
        o->fresh = journal_start(t->journal, o->run_id, o->attempt, o->noderole_id) == OK;
        if (!o->fresh)
            log_with(
                LOG_ERROR, LOG_FIELDS(LOG_I64("run", o->run_id), LOG_I64("attempt", o->attempt)),
                "the test jig's journal does not take a start: %s; the run fails", strerror(errno));
        any = true;
    }
    if (!any)
        return true;
    const bool synced = journal_sync(t->journal) == OK;
    if (!synced)
        log_print(LOG_ERROR, "the test jig's journal does not reach the disk: %s; its runs fail",
                  strerror(errno));
    FAILPOINT(JIG_START_AFTER);
    return synced;
}

static void carry_on(struct test_jig *t, const struct order *o, int64_t mono_ms)
{
    add_reply(t, COMMAND_RUN_BEGUN, o->run_id, o->attempt);
    if (journal_find(t->journal, o->run_id, o->attempt) == JOURNAL_DONE) {
        say_done(t, o->run_id, o->attempt, (enum run_result)o->result);
        return;
    }
    if (fake_timers_has(&t->works, o->run_id, o->attempt))
        return;
    const struct fake_run work = {.run_id = o->run_id,
                                  .attempt = o->attempt,
                                  .result = o->result,
                                  .due_ms = mono_ms + o->delay_ms};
    fake_timers_add(&t->works, &work);
}

static void stop(struct test_jig *t, const struct order *o)
{
    fake_timers_remove(&t->works, o->run_id, o->attempt);
    if (journal_find(t->journal, o->run_id, o->attempt) == JOURNAL_STARTED)
        note_end(t, o->run_id, o->attempt);
    add_reply(t, COMMAND_RUN_STOPPED, o->run_id, o->attempt);
}

static void obey(struct test_jig *t, const struct order *o, bool synced, int64_t mono_ms)
{
    if (o->kind == ORDER_CANCEL) {
        stop(t, o);
    } else if (o->fresh && !synced) {
        say_failed(t, o, "the test jig's journal does not reach the disk");
    } else if (journal_find(t->journal, o->run_id, o->attempt) != JOURNAL_UNKNOWN) {
        carry_on(t, o, mono_ms);
    } else if (o->kind == ORDER_QUERY && o->begun) {
        add_reply(t, COMMAND_RUN_DONE, o->run_id, o->attempt)->result = RESULT_LOST;
    } else {
        say_failed(t, o, "the test jig's journal could not be written");
    }
}

static void obey_all(struct test_jig *t, int64_t mono_ms)
{
    const bool synced = note_starts(t);
    for (uint32_t i = 0; i < t->order_count; i++)
        obey(t, &t->orders[i], synced, mono_ms);
    t->order_count = 0;
}

static void end_due(struct test_jig *t, int64_t mono_ms)
{
    struct fake_run work;
    while (fake_timers_take_due(&t->works, mono_ms, &work)) {
        note_end(t, work.run_id, work.attempt);
        say_done(t, work.run_id, work.attempt, (enum run_result)work.result);
    }
}

bool test_jig_pump(struct test_jig *t, int64_t mono_ms)
{
    if (t->order_count)
        obey_all(t, mono_ms);
    end_due(t, mono_ms);
    return t->reply_count ? hand_over(t) : false;
}

int64_t test_jig_next_ms(const struct test_jig *t)
{
    return t->order_count ? 0 : fake_timers_next_ms(&t->works);
}

/* ---- from open to close ---- */

err test_jig_open(const char *journal_path, struct test_jig_seams seams, struct test_jig **out_jig)
{
    struct journal *journal;
    const err e = journal_open(journal_path, JOURNAL_SIZE_MAX, &journal);
    if (e != OK)
        return e;
    struct test_jig *t = calloc(1, sizeof *t);
    must(t);
    t->seams = seams;
    t->journal = journal;
    *out_jig = t;
    return OK;
}

void test_jig_close(struct test_jig *t)
{
    if (!t)
        return;
    journal_close(t->journal);
    free(t->orders);
    fake_timers_fini(&t->works);
    free(t->replies);
    free(t);
}
