#include "hooks/hooks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "hooks/worker.h"
#include "model/limits.h"
#include "sys/files.h"
#include "sys/log.h"

/* A delivery that waits for room in the queue. What its hook is given is made when it is queued:
 * a row is small and there may be millions, documents are not. */
struct waiting_row {
    struct waiting_row *next;
    struct outbox_record row;
    char detail[];
};

/* A full outbox takes so many rounds; more means that every answer brings new rows without end. */
enum { SETTLE_ROUNDS_MAX = OUTBOX_MAX / HOOKS_QUEUE_MAX + 1 };

struct hooks {
    struct hooks_seams seams;
    struct sandbox_limits limits;
    struct worker worker;
    struct waiting_row *first_row;
    struct waiting_row *last_row;
    uint32_t row_count;
    uint32_t queued;      /* deliveries given to the worker and not handed over */
    uint32_t asked;       /* the same of questions */
    uint32_t called;      /* and of calls */
    struct job_list done; /* about to be handed over */
};

/* Without the thread, but not from inside the order either. */
static void answer_at_once(struct hooks *h, struct job *job)
{
    job_list_add(&h->done, job);
    h->seams.wake(h->seams.self);
}

/* ---- deliveries ---- */

/* False: nothing to tell, and nobody to tell it about. */
static bool find_facts(struct hooks *h, const struct outbox_record *row, struct job *job)
{
    struct hooks_facts facts = {0};
    if (row->hook == HOOK_TEMPLATE)
        return true;
    if (!h->seams.facts(h->seams.self, row, &job->arena, &facts))
        return false;
    must(facts.argument.len);
    job->tasks->arguments[0] = facts.argument;
    job->tasks->arguments[1] = facts.context;
    return true;
}

static void queue_row(struct hooks *h, const struct outbox_record *row)
{
    struct job *job = job_new(JOB_DELIVER, (uint64_t)row->id, 1);
    struct task *task = job->tasks;
    const bool computes = row->hook == HOOK_SYSDATA || row->hook == HOOK_TEMPLATE;
    job->hook = (enum hook)row->hook;
    job->object_id = row->object_id;
    task->kind = computes ? TASK_COMPUTE : TASK_TELL;
    task->role_id = row->role_id;
    task->function = hook_name(job->hook);
    h->queued++;
    if (find_facts(h, row, job))
        worker_submit(&h->worker, job);
    else
        answer_at_once(h, job);
}

static void keep_row(struct hooks *h, const struct outbox_record *row)
{
    struct waiting_row *waiting = malloc(sizeof *waiting + row->detail.len);
    must(waiting);
    waiting->next = NULL;
    waiting->row = *row;
    if (row->detail.len)
        memcpy(waiting->detail, row->detail.at, row->detail.len);
    waiting->row.detail.at = waiting->detail;
    if (h->last_row)
        h->last_row->next = waiting;
    else
        h->first_row = waiting;
    h->last_row = waiting;
    h->row_count++;
}

static void drop_first_row(struct hooks *h)
{
    struct waiting_row *waiting = h->first_row;
    h->first_row = waiting->next;
    if (!h->first_row)
        h->last_row = NULL;
    h->row_count--;
    free(waiting);
}

static void deliver(void *self, const struct outbox_record *row)
{
    struct hooks *h = self;
    must(row->kind == OUTBOX_HOOK && row->hook < HOOK_COUNT);
    if (h->first_row || h->queued >= HOOKS_QUEUE_MAX)
        keep_row(h, row);
    else
        queue_row(h, row);
}

/* ---- questions ---- */

static void ask(void *self, uint64_t token, const struct hook_question *questions, uint32_t count)
{
    struct hooks *h = self;
    struct job *job = job_new(JOB_ASK, token, count);
    job->answers = arena_array(&job->arena, struct answer, count);
    const bool is_full = h->asked >= HOOKS_ASKS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        struct task *task = &job->tasks[i];
        job->answers[i].key = questions[i].key;
        task->kind = TASK_ASK;
        task->role_id = questions[i].role_id;
        task->function = hook_name(questions[i].hook);
        task->arguments[0] = str_copy(&job->arena, questions[i].argument);
        if (is_full) {
            task->veto = true;
            task->text = STR("too many questions wait for the hooks");
        }
    }
    h->asked++;
    if (is_full)
        answer_at_once(h, job);
    else
        worker_submit(&h->worker, job);
}

struct hooks_port hooks_port(struct hooks *h)
{
    return (struct hooks_port){.self = h, .deliver = deliver, .ask = ask};
}

/* ---- calls ---- */

err hooks_call(struct hooks *h, int64_t role_id, const struct hooks_facts *facts, uint64_t key)
{
    if (h->called >= HOOKS_CALLS_MAX)
        return ERR_LIMIT;
    struct job *job = job_new(JOB_CALL, key, 1);
    struct task *task = job->tasks;
    task->kind = TASK_TRANSITION;
    task->role_id = role_id;
    task->function = "do_transition";
    task->arguments[0] = str_copy(&job->arena, facts->argument);
    task->arguments[1] = str_copy(&job->arena, facts->context);
    h->called++;
    worker_submit(&h->worker, job);
    return OK;
}

/* ---- answers ---- */

/* What was computed is wished for too: it becomes true in one step with the answer. Meanwhile what
 * it was computed for may have gone. */
static void encode_computed(const struct job *job, struct buf *out)
{
    const struct task *task = job->tasks;
    struct command wish = {.if_turn = IF_THERE};
    if (job->hook == HOOK_TEMPLATE) {
        wish.kind = COMMAND_ROLE_UPDATE;
        wish.role_update.id = task->role_id;
        wish.role_update.given = GIVEN_ROLE_TEMPLATE;
        wish.role_update.template = task->value;
    } else {
        wish.kind = COMMAND_NODEROLE_COMPUTED;
        wish.noderole_computed.id = job->object_id;
        wish.noderole_computed.data = task->value;
    }
    command_encode(&wish, out);
}

/* Once for each delivery. Names are looked up now: what they mean may change until the loop comes
 * round again. Of hooks of nodes nobody but the log keeps why they failed. */
static void encode_wishes(struct hooks *h, struct job *job)
{
    struct task *task = job->tasks;
    const struct wish_finder finder = {.self = h->seams.self, .find = h->seams.find};
    struct buf b = buf_in(&job->arena);
    job->is_encoded = true;
    if (task->value.len && !task->failed)
        encode_computed(job, &b);
    if (wishes_encode(&task->wishes, finder, &b, &task->text))
        job->wishes = buf_str(&b);
    else
        task->failed = true;
    if (task->failed)
        log_with(LOG_WARNING,
                 LOG_FIELDS(LOG_I64("role", task->role_id), LOG_Z("hook", task->function),
                            LOG_I64("outbox", (int64_t)job->key)),
                 "a hook failed, its wishes are dropped: %.*s", STR_FMT_ARGS(task->text));
}

static err hand_over_delivery(struct hooks *h, struct job *job)
{
    const struct task *task = job->tasks;
    if (!job->is_encoded)
        encode_wishes(h, job);
    struct command command = {.kind = COMMAND_OUTBOX_DONE, .actor = STR("hook")};
    command.outbox_done.outbox_id = (int64_t)job->key;
    command.outbox_done.failed = task->failed;
    command.outbox_done.text = task->failed ? task->text : STR("");
    command.outbox_done.wishes = job->wishes;
    return h->seams.submit(h->seams.self, &command);
}

static err hand_over_answers(struct hooks *h, struct job *job)
{
    for (uint32_t i = 0; i < job->task_count; i++) {
        job->answers[i].veto = job->tasks[i].veto;
        job->answers[i].text = job->tasks[i].text;
    }
    return h->seams.answer(h->seams.self, job->key, job->answers, job->task_count);
}

static err hand_over_result(struct hooks *h, struct job *job)
{
    const struct task *task = job->tasks;
    struct hooks_result result = {.failed = task->failed, .text = task->text, .done = task->done};
    result.done.runlog = task->failed ? task->text : task->log;
    h->seams.called(h->seams.self, job->key, &result);
    return OK;
}

static err hand_over(struct hooks *h, struct job *job)
{
    switch (job->kind) {
    case JOB_DELIVER: return hand_over_delivery(h, job);
    case JOB_ASK: return hand_over_answers(h, job);
    case JOB_CALL: return hand_over_result(h, job);
    }
    impossible("a kind of job outside the enum");
}

static void take_done(struct hooks *h)
{
    struct job_list fresh = worker_take(&h->worker);
    for (struct job *job = job_list_take(&fresh); job; job = job_list_take(&fresh))
        job_list_add(&h->done, job);
}

static uint32_t *count_of(struct hooks *h, enum job_kind kind)
{
    switch (kind) {
    case JOB_DELIVER: return &h->queued;
    case JOB_ASK: return &h->asked;
    case JOB_CALL: return &h->called;
    }
    impossible("a kind of job outside the enum");
}

/* As far as the other side takes them. A callback may deliver, ask and call: that only adds. */
static bool hand_over_done(struct hooks *h)
{
    bool any = false;
    while (h->done.first && hand_over(h, h->done.first) != ERR_LIMIT) {
        struct job *job = job_list_take(&h->done);
        *count_of(h, job->kind) -= 1;
        job_free(job);
        any = true;
    }
    return any;
}

static void queue_waiting(struct hooks *h)
{
    while (h->first_row && h->queued < HOOKS_QUEUE_MAX) {
        queue_row(h, &h->first_row->row);
        drop_first_row(h);
    }
}

bool hooks_pump(struct hooks *h)
{
    take_done(h);
    const bool any = hand_over_done(h);
    queue_waiting(h);
    return any;
}

/* How questions and the rest lie between one another is an accident of threads. */
static void put_asks_first(struct hooks *h)
{
    struct job_list asks = {0}, rest = {0};
    for (struct job *job = job_list_take(&h->done); job; job = job_list_take(&h->done))
        job_list_add(job->kind == JOB_ASK ? &asks : &rest, job);
    h->done = asks;
    for (struct job *job = job_list_take(&rest); job; job = job_list_take(&rest))
        job_list_add(&h->done, job);
}

bool hooks_settle(struct hooks *h)
{
    bool any = false;
    for (uint32_t round = 0; round < SETTLE_ROUNDS_MAX && hooks_waiting(h); round++) {
        worker_wait_idle(&h->worker);
        take_done(h);
        put_asks_first(h);
        if (!hand_over_done(h))
            break;
        any = true;
        queue_waiting(h);
    }
    return any;
}

uint32_t hooks_waiting(const struct hooks *h)
{
    return h->row_count + h->queued + h->asked + h->called;
}

/* ---- code ---- */

static struct str file_trouble(struct arena *arena, const char *path, err e)
{
    struct buf b = buf_in(arena);
    buf_put_z(&b, path);
    buf_put_z(&b, ": ");
    buf_put_z(&b, e == ERR_LIMIT ? "the file is too large" : strerror(errno));
    return buf_str(&b);
}

/* Lua names the file by its last part; whoever reads the complaint wants the way there too. */
static struct str with_folder(struct arena *arena, const char *path, size_t folder_len,
                              struct str text)
{
    return str_join2(arena, (struct str){path, (uint32_t)folder_len}, text);
}

static err read_code(struct role_source source, const char *path, struct arena *arena,
                     struct role_code **out_code, struct hooks_report *out_report)
{
    struct hooks_report report = {0};
    const char *slash = strrchr(path, '/');
    source.chunk = slash ? slash + 1 : path;
    err e = file_read(arena, path, ROLE_CODE_SIZE_MAX, &source.text);
    if (e != OK) {
        report.text = file_trouble(arena, path, e);
    } else {
        e = role_code_new(&source, arena, out_code, &report.functions, &report.text);
        if (e != OK)
            report.text = with_folder(arena, path, (size_t)(source.chunk - path), report.text);
    }
    *out_report = report;
    return e;
}

err hooks_inspect(const char *path, struct arena *arena, struct hooks_report *out_report)
{
    struct role_code *code;
    const struct role_source source = {.limits = SANDBOX_LIMITS};
    const err e = read_code(source, path, arena, &code, out_report);
    if (e == OK)
        role_code_free(code);
    return e;
}

err hooks_load(struct hooks *h, int64_t role_id, const char *path, struct arena *arena,
               struct hooks_report *out_report)
{
    struct role_code *code;
    const struct role_source source = {.limits = h->limits, .stop = &h->worker.stop};
    const err e = read_code(source, path, arena, &code, out_report);
    if (e == OK)
        shelf_put(&h->worker.shelf, role_id, code);
    return e;
}

void hooks_unload(struct hooks *h, int64_t role_id)
{
    shelf_put(&h->worker.shelf, role_id, NULL);
}

/* ---- from open to close ---- */

struct hooks *hooks_open(struct hooks_seams seams, struct sandbox_limits limits)
{
    struct hooks *h = calloc(1, sizeof *h);
    must(h);
    h->seams = seams;
    h->limits = limits;
    if (worker_start(&h->worker, seams.wake, seams.self))
        return h;
    free(h);
    return NULL;
}

void hooks_close(struct hooks *h)
{
    if (!h)
        return;
    worker_stop(&h->worker);
    job_list_drop(&h->done);
    while (h->first_row)
        drop_first_row(h);
    free(h);
}
