#include "hooks/hooks.h"

#include <stdlib.h>

#include "base/text/buf.h"
#include "hooks/delivery_queue.h"
#include "hooks/hook_worker.h"
#include "model/limits.h"
#include "sys/clock.h"
#include "sys/log.h"

/* The part of the hooks that runs in the thread of the loop. A row of the outbox (a call of a hook
 * that the core has stored) waits in the delivery queue, becomes a job with arguments in
 * hooks_pump(), is executed by the worker, and comes back through `done`. This file owns the
 * delivery queue, the worker, and all jobs that are not with the worker.
 *
 * Order: a row is answered (OUTBOX_DONE with its hook commands) only after the call has ended, and
 * all rows that one call answers are submitted in ascending order, the last one with the result.
 * Names in hook commands are resolved when the result is submitted, in the same round of the loop
 * as the step that executes them.
 *
 * Failure: a hook that fails answers its row with the failure and without commands. A result that
 * is refused with ERR_LIMIT stays at the head of `done` and is submitted again. Nothing is stored
 * here: after a restart the core delivers unanswered rows again, so a hook may be called twice, but
 * its commands count once. */

/* A full outbox needs this many rounds; more means that every result creates new rows without end.
 */
enum { IDLE_ROUNDS_MAX = OUTBOX_MAX / HOOKS_QUEUE_MAX + 1 };

struct hooks {
    struct hooks_callbacks callbacks;
    struct hook_worker worker;
    struct delivery_queue rows;
    uint32_t queued;       /* deliveries with the worker or not submitted */
    uint32_t queued_rows;  /* number of rows that they answer */
    uint64_t queued_size;  /* bytes of their arguments */
    uint32_t veto_count;   /* veto requests with the worker or not submitted */
    uint32_t call_count;   /* calls with the worker or not submitted */
    uint32_t change_count; /* changes of code with the worker or not submitted */
    struct job_list done;  /* finished jobs to be submitted */
};

/* ---- roles ---- */

static void hooks_set_role(struct hooks *h, struct task *task, int64_t role_id)
{
    task->role_id = role_id;
    task->role_queue = delivery_queue_role(&h->rows, role_id);
    if (h->callbacks.prepare)
        task->role = str_copy(task->arena, h->callbacks.prepare(h->callbacks.self, role_id));
}

/* ---- deliveries ---- */

/* Set the arguments. False: the object of the row was deleted. */
static bool hooks_load_facts(struct hooks *h, const struct outbox_record *row, struct job *job)
{
    struct hooks_facts facts = {0};
    if (row->hook == HOOK_TEMPLATE)
        return true;
    if (!h->callbacks.facts(h->callbacks.self, row, &job->arena, &facts))
        return false;
    must(facts.argument.len);
    job->tasks->arguments[0] = facts.argument;
    job->tasks->arguments[1] = facts.context;
    return true;
}

/* Collect the rows that one call answers, and return the one with the highest id: its arguments are
 * valid for all. A row that was delivered twice may be answered already, and hook commands that
 * came with its answer would be lost, so the result is attached to the highest id. */
static struct waiting_row *hooks_collect_rows(struct hooks *h, struct waiting_row *row,
                                              struct row_ids *ids)
{
    row_ids_add(ids, row->row.id);
    if (row->row.hook != HOOK_NODE_CHANGE)
        return row;
    for (struct waiting_row *same = delivery_queue_take_same(&h->rows, row); same;
         same = delivery_queue_take_same(&h->rows, row)) {
        row_ids_add(ids, same->row.id);
        struct waiting_row *older = same->row.id > row->row.id ? row : same;
        row = older == row ? same : row;
        free(older);
    }
    return row;
}

static struct job *hooks_make_delivery(struct hooks *h, const struct outbox_record *row)
{
    struct job *job = job_new(JOB_DELIVER, 1);
    struct task *task = job->tasks;
    const bool computes = row->hook == HOOK_SYSDATA || row->hook == HOOK_TEMPLATE;
    job->hook = (enum hook)row->hook;
    job->object = (enum table)row->object;
    job->object_id = row->object_id;
    task->kind = computes ? TASK_COMPUTE : TASK_NOTIFY;
    task->function = hook_name(job->hook);
    hooks_set_role(h, task, row->role_id);
    task->is_obsolete = !hooks_load_facts(h, row, job);
    job->size = task->arguments[0].len + task->arguments[1].len;
    return job;
}

static void hooks_count(struct hooks *h, const struct job *job, bool is_in)
{
    if (is_in) {
        h->queued++;
        h->queued_rows += job->rows.count;
        h->queued_size += job->size;
        job->role_queue->queued++;
    } else {
        h->queued--;
        h->queued_rows -= job->rows.count;
        h->queued_size -= job->size;
        job->role_queue->queued--;
    }
}

static void hooks_queue_row(struct hooks *h, struct waiting_row *row)
{
    struct row_ids ids = {0};
    row = hooks_collect_rows(h, row, &ids);
    struct job *job = hooks_make_delivery(h, &row->row);
    job->role_queue = row->role_queue;
    job->rows = ids;
    free(row);
    hooks_count(h, job, true);
    struct job *other = hook_worker_submit(&h->worker, job);
    if (!other)
        return;
    /* The job also answers the rows of `other`, which it replaced. The worker may own the job, but
     * not its rows. */
    hooks_count(h, other, false);
    for (uint32_t i = 0; i < other->rows.count; i++)
        if (row_ids_add(&job->rows, other->rows.at[i]))
            h->queued_rows++;
    job_free(other);
}

static void hooks_port_deliver(void *self, const struct outbox_record *row)
{
    struct hooks *h = self;
    must(row->kind == OUTBOX_HOOK && row->hook < HOOK_COUNT);
    const bool is_first = h->rows.count == 0;
    delivery_queue_add(&h->rows, row);
    if (is_first)
        h->callbacks.wake(h->callbacks.self);
}

static int64_t hooks_mono_ms(void *self)
{
    const struct hooks *h = self;
    return h->callbacks.mono_ms ? h->callbacks.mono_ms(h->callbacks.self) : sys_mono_ms();
}

/* Half of the capacity is reserved for roles without queued deliveries. */
static struct delivery_queue_space hooks_space(const struct hooks *h)
{
    return (struct delivery_queue_space){
        .for_idle = h->queued < HOOKS_QUEUE_MAX && h->queued_size < HOOKS_QUEUE_SIZE_MAX,
        .for_busy = h->queued < HOOKS_QUEUE_MAX / 2 && h->queued_size < HOOKS_QUEUE_SIZE_MAX / 2};
}

/* ---- veto requests ---- */

static void hooks_port_ask(void *self, uint64_t token, const struct veto_request *questions,
                           uint32_t task_count)
{
    struct hooks *h = self;
    struct job *job = job_new(JOB_VETO, task_count);
    job->key = token;
    job->veto_replies = arena_array(&job->arena, struct veto_reply, task_count);
    const bool is_full = h->veto_count >= HOOKS_VETOES_MAX;
    for (uint32_t i = 0; i < task_count; i++) {
        struct task *task = &job->tasks[i];
        job->veto_replies[i].key = questions[i].key;
        task->kind = TASK_VETO;
        hooks_set_role(h, task, questions[i].role_id);
        task->function = hook_name(questions[i].hook);
        task->arguments[0] = str_copy(&job->arena, questions[i].argument);
        if (is_full) {
            task->veto = true;
            task->text = STR("too many veto requests are pending");
        }
    }
    h->veto_count++;
    if (is_full) {
        /* Answer without the thread, but not from inside this call. */
        job_list_add(&h->done, job);
        h->callbacks.wake(h->callbacks.self);
    } else {
        must(!hook_worker_submit(&h->worker, job));
    }
}

struct hooks_port hooks_port(struct hooks *h)
{
    return (struct hooks_port){.self = h, .deliver = hooks_port_deliver, .ask = hooks_port_ask};
}

/* ---- calls ---- */

bool hooks_can_call(const struct hooks *h)
{
    return h->call_count < HOOKS_CALLS_MAX;
}

err hooks_call(struct hooks *h, int64_t role_id, const struct hooks_facts *facts, uint64_t key)
{
    if (!hooks_can_call(h))
        return ERR_LIMIT;
    struct job *job = job_new(JOB_CALL, 1);
    struct task *task = job->tasks;
    job->key = key;
    job->role_queue = delivery_queue_role(&h->rows, role_id);
    task->kind = TASK_TRANSITION;
    task->function = "do_transition";
    hooks_set_role(h, task, role_id);
    task->arguments[0] = str_copy(&job->arena, facts->argument);
    task->arguments[1] = str_copy(&job->arena, facts->context);
    h->call_count++;
    must(!hook_worker_submit(&h->worker, job));
    return OK;
}

/* ---- results ---- */

/* Computed data becomes a hook command, so that it is stored in the same step as the answer. Its
 * object may be deleted by then (IF_THERE). */
static void hooks_encode_computed(const struct job *job, struct buf *out)
{
    const struct task *task = job->tasks;
    struct command command_request = {.if_turn = IF_THERE};
    if (job->hook == HOOK_TEMPLATE) {
        command_request.kind = COMMAND_ROLE_UPDATE;
        command_request.role_update.id = task->role_id;
        command_request.role_update.given = GIVEN_ROLE_TEMPLATE | GIVEN_ROLE_COMPUTED;
        command_request.role_update.template = task->value;
    } else {
        command_request.kind = COMMAND_NODEROLE_COMPUTED;
        command_request.noderole_computed.id = job->object_id;
        command_request.noderole_computed.data = task->value;
    }
    command_encode(&command_request, out);
}

/* Encode the hook commands of a delivery once. Names are resolved now, because they may change
 * before the next round. For hooks of nodes the reason of a failure is only in the log. */
static void hooks_encode_commands(struct hooks *h, struct job *job)
{
    struct task *task = job->tasks;
    const struct hook_command_finder finder = {.self = h->callbacks.self,
                                               .find = h->callbacks.find};
    struct buf b = buf_in(&job->arena);
    job->is_encoded = true;
    if (task->value.len && !task->failed)
        hooks_encode_computed(job, &b);
    if (hook_commands_encode(&task->commands, finder, &b, &task->text))
        job->commands = buf_str(&b);
    else {
        task->failed = true;
        task->reason = REASON_HOOK_REFUSED;
    }
    if (!task->failed)
        return;
    task->text = sandbox_clean_text(&job->arena, task->text, RUNLOG_MAX);
    log_with(LOG_WARNING,
             LOG_FIELDS(task_log_role(task), LOG_Z("hook", task->function),
                        LOG_I64("outbox", job->rows.at[job->rows.count - 1])),
             "a hook failed; the commands that it requested are not executed: %.*s",
             STR_FMT_ARGS(task->text));
}

/* The last of the rows that one call answers gets its result. */
static err hooks_submit_delivery(struct hooks *h, struct job *job)
{
    const struct task *task = job->tasks;
    if (!job->is_encoded)
        hooks_encode_commands(h, job);
    for (err e; job->answered < job->rows.count; job->answered++) {
        struct command command = {.kind = COMMAND_OUTBOX_DONE, .actor = STR("hook")};
        command.outbox_done.outbox_id = job->rows.at[job->answered];
        if (job->answered == job->rows.count - 1) {
            command.outbox_done.failed = task->failed;
            command.outbox_done.text = task->failed ? task->text : STR("");
            command.outbox_done.reason = task->failed ? task->reason : REASON_NONE;
            command.outbox_done.reason_subject = str_from(task->function);
            command.outbox_done.hook_commands = job->commands;
        }
        e = h->callbacks.submit(h->callbacks.self, &command);
        if (e == ERR_LIMIT)
            return e;
    }
    return OK;
}

static err hooks_submit_veto_replies(struct hooks *h, struct job *job)
{
    for (uint32_t i = 0; i < job->task_count; i++) {
        job->veto_replies[i].veto = job->tasks[i].veto;
        job->veto_replies[i].text = job->tasks[i].text;
    }
    return h->callbacks.answer(h->callbacks.self, job->key, job->veto_replies, job->task_count);
}

static err hooks_submit_result(struct hooks *h, struct job *job)
{
    const struct task *task = job->tasks;
    struct hooks_result result = {.failed = task->failed, .text = task->text, .done = task->done};
    result.done.runlog = task->failed ? task->text : task->log;
    if (result.done.result == RESULT_FAILED) {
        result.done.reason = task->failed ? task->reason : REASON_ROLE_FAILED;
        result.done.reason_subject = str_from(task->function);
        result.done.reason_text = task->failed ? task->text : task->log;
    }
    h->callbacks.called(h->callbacks.self, job->key, &result);
    return OK;
}

/* Only the latest change of the code of a role is reported. */
static err hooks_report_change(struct hooks *h, struct job *job)
{
    const struct code_change *change = job->change;
    const bool is_load = change->kind == CODE_FILE || change->kind == CODE_SAME;
    if (is_load && job->number == job->role_queue->last_change && h->callbacks.loaded)
        h->callbacks.loaded(h->callbacks.self, job->role_queue->role_id, change->error,
                            &change->report);
    return OK;
}

static err hooks_submit_job(struct hooks *h, struct job *job)
{
    switch (job->kind) {
    case JOB_DELIVER: return hooks_submit_delivery(h, job);
    case JOB_VETO: return hooks_submit_veto_replies(h, job);
    case JOB_CALL: return hooks_submit_result(h, job);
    case JOB_CODE: return hooks_report_change(h, job);
    }
    impossible("a kind of job outside the enum");
}

static void hooks_take_done(struct hooks *h)
{
    struct job_list fresh = hook_worker_take(&h->worker);
    for (struct job *job = job_list_take(&fresh); job; job = job_list_take(&fresh))
        job_list_add(&h->done, job);
}

static void hooks_free_job(struct hooks *h, struct job *job)
{
    switch (job->kind) {
    case JOB_DELIVER: hooks_count(h, job, false); break;
    case JOB_VETO: h->veto_count--; break;
    case JOB_CALL: h->call_count--; break;
    case JOB_CODE: h->change_count--; break;
    }
    job_free(job);
}

/* Submit finished jobs until ERR_LIMIT. A callback may deliver, request vetoes and call: that only
 * adds jobs. */
static bool hooks_submit_done(struct hooks *h)
{
    bool any = false;
    while (h->done.first && hooks_submit_job(h, h->done.first) != ERR_LIMIT) {
        struct job *job = job_list_take(&h->done);
        any = any || job->kind != JOB_CODE;
        hooks_free_job(h, job);
    }
    return any;
}

bool hooks_pump(struct hooks *h)
{
    hook_worker_keep_order(&h->worker, false);
    hooks_take_done(h);
    const bool any = hooks_submit_done(h);
    /* Create arguments for HOOKS_PUMP_MS at most. If the capacity is used up, the worker wakes the
     * loop later; if the time is used up, wake it here. */
    const int64_t due_ms = hooks_mono_ms(h) + HOOKS_PUMP_MS;
    for (struct waiting_row *row = delivery_queue_take(&h->rows, hooks_space(h)); row;
         row = delivery_queue_take(&h->rows, hooks_space(h))) {
        hooks_queue_row(h, row);
        if (h->rows.count && hooks_mono_ms(h) >= due_ms) {
            h->callbacks.wake(h->callbacks.self);
            break;
        }
    }
    return any;
}

/* Insertion sort: there are few. */
static void hooks_insert_by_number(struct job_list *list, struct job *job)
{
    struct job **at = &list->first;
    while (*at && (*at)->number < job->number)
        at = &(*at)->next;
    job->next = *at;
    *at = job;
    if (!job->next)
        list->last = job;
}

static void hooks_append(struct job_list *list, struct job_list *others)
{
    for (struct job *job = job_list_take(others); job; job = job_list_take(others))
        job_list_add(list, job);
}

/* The relative order of files, veto requests and other jobs depends on thread scheduling: restore a
 * fixed one. */
static void hooks_sort_done(struct hooks *h)
{
    struct job_list changes = {0}, veto_jobs = {0}, rest = {0};
    for (struct job *job = job_list_take(&h->done); job; job = job_list_take(&h->done)) {
        if (job->kind == JOB_CODE)
            hooks_insert_by_number(&changes, job);
        else
            job_list_add(job->kind == JOB_VETO ? &veto_jobs : &rest, job);
    }
    hooks_append(&h->done, &changes);
    hooks_append(&h->done, &veto_jobs);
    hooks_append(&h->done, &rest);
}

bool hooks_run_until_idle(struct hooks *h)
{
    bool any = false;
    hook_worker_keep_order(&h->worker, true);
    hook_worker_wait_idle(&h->worker);
    for (uint32_t round = 0; round < IDLE_ROUNDS_MAX; round++) {
        if (!hooks_pending_count(h) && !h->change_count)
            break;
        while (h->rows.count && hooks_space(h).for_idle)
            hooks_queue_row(h, delivery_queue_take_oldest(&h->rows));
        hook_worker_wait_idle(&h->worker);
        hooks_take_done(h);
        hooks_sort_done(h);
        if (!hooks_submit_done(h))
            break;
        any = true;
    }
    return any;
}

uint32_t hooks_pending_count(const struct hooks *h)
{
    return h->rows.count + h->queued_rows + h->veto_count + h->call_count;
}

/* ---- code ---- */

err hooks_inspect(const char *path, struct arena *arena, struct hooks_report *out_report)
{
    struct role_code *code;
    const struct role_source source = {.limits = SANDBOX_LIMITS};
    const err e = code_file_read(source, path, arena, &code, out_report);
    if (e == OK)
        role_code_free(code);
    return e;
}

static void hooks_change_code(struct hooks *h, int64_t role_id, struct code_change change)
{
    struct job *job = job_new(JOB_CODE, 0);
    job->role_queue = delivery_queue_role(&h->rows, role_id);
    job->change = arena_new(&job->arena, struct code_change);
    *job->change = change;
    if (change.path)
        job->change->path = str_z(&job->arena, str_from(change.path));
    job->change->why = str_copy(&job->arena, change.why);
    h->change_count++;
    struct job_list needless = hook_worker_change(&h->worker, job);
    job->role_queue->last_change = job->number;
    for (struct job *old = job_list_take(&needless); old; old = job_list_take(&needless))
        hooks_free_job(h, old);
}

void hooks_load(struct hooks *h, int64_t role_id, const char *path)
{
    hooks_change_code(h, role_id, (struct code_change){.kind = CODE_FILE, .path = path});
}

void hooks_keep_code(struct hooks *h, int64_t role_id, struct str why)
{
    hooks_change_code(h, role_id, (struct code_change){.kind = CODE_SAME, .why = why});
}

void hooks_unload(struct hooks *h, int64_t role_id)
{
    hooks_change_code(h, role_id, (struct code_change){.kind = CODE_NONE});
}

void hooks_set_missing(struct hooks *h, int64_t role_id, struct str why)
{
    hooks_change_code(h, role_id, (struct code_change){.kind = CODE_MISSING, .why = why});
}

/* ---- open and close ---- */

static void hooks_worker_wake(void *self)
{
    const struct hooks *h = self;
    h->callbacks.wake(h->callbacks.self);
}

struct hooks *hooks_open(struct hooks_callbacks callbacks, struct sandbox_limits limits)
{
    struct hooks *h = calloc(1, sizeof *h);
    must(h);
    h->callbacks = callbacks;
    if (hook_worker_start(&h->worker,
                          (struct hook_worker_callbacks){h, hooks_worker_wake, hooks_mono_ms},
                          limits))
        return h;
    free(h);
    return NULL;
}

void hooks_close(struct hooks *h)
{
    if (!h)
        return;
    hook_worker_stop(&h->worker);
    job_list_drop(&h->done);
    delivery_queue_fini(&h->rows);
    free(h);
}
