#include "hooks/hooks.h"

#include <stdlib.h>

#include "base/text/buf.h"
#include "hooks/delivery_queue.h"
#include "hooks/hook_worker.h"
#include "model/limits.h"
#include "sys/clock.h"
#include "sys/log.h"

/* A full outbox takes so many rounds; more means that every answer brings new rows without end. */
enum { SETTLE_ROUNDS_MAX = OUTBOX_MAX / HOOKS_QUEUE_MAX + 1 };

struct hooks {
    struct hooks_seams seams;
    struct hook_worker worker;
    struct delivery_queue rows;
    uint32_t queued;      /* deliveries given to the worker and not handed over    */
    uint32_t queued_rows; /* of which there are so many rows                       */
    uint64_t queued_size; /* and what they are given has so many bytes             */
    uint32_t asked;       /* questions given to the worker and not handed over     */
    uint32_t called;      /* the same of calls                                     */
    uint32_t changing;    /* the same of what was said of code                     */
    struct job_list done; /* about to be handed over                               */
};

/* ---- roles ---- */

static void address(struct hooks *h, struct task *task, int64_t role_id)
{
    task->role_id = role_id;
    task->lane = delivery_queue_lane(&h->rows, role_id);
    if (h->seams.prepare)
        task->role = str_copy(task->arena, h->seams.prepare(h->seams.self, role_id));
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

/* Gathers the rows that are told in one call, and returns the last of them: what it says of the
 * node is true for all. The last is the one with the highest id. One that was delivered twice may
 * be answered by now, and wishes that came with its answer would be lost. */
static struct waiting_row *gather(struct hooks *h, struct waiting_row *row, struct row_ids *ids)
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

static struct job *make_delivery(struct hooks *h, const struct outbox_record *row)
{
    struct job *job = job_new(JOB_DELIVER, 1);
    struct task *task = job->tasks;
    const bool computes = row->hook == HOOK_SYSDATA || row->hook == HOOK_TEMPLATE;
    job->hook = (enum hook)row->hook;
    job->object = (enum table)row->object;
    job->object_id = row->object_id;
    task->kind = computes ? TASK_COMPUTE : TASK_TELL;
    task->function = hook_name(job->hook);
    address(h, task, row->role_id);
    task->is_void = !find_facts(h, row, job);
    job->size = task->arguments[0].len + task->arguments[1].len;
    return job;
}

static void count(struct hooks *h, const struct job *job, bool is_in)
{
    if (is_in) {
        h->queued++;
        h->queued_rows += job->rows.count;
        h->queued_size += job->size;
        job->lane->queued++;
    } else {
        h->queued--;
        h->queued_rows -= job->rows.count;
        h->queued_size -= job->size;
        job->lane->queued--;
    }
}

/* What the other was to answer, this one answers. The worker may have it, but not its rows. */
static void answer_for(struct hooks *h, struct job *job, struct job *other)
{
    count(h, other, false);
    for (uint32_t i = 0; i < other->rows.count; i++)
        if (row_ids_add(&job->rows, other->rows.at[i]))
            h->queued_rows++;
    job_free(other);
}

static void queue_row(struct hooks *h, struct waiting_row *row)
{
    struct row_ids ids = {0};
    row = gather(h, row, &ids);
    struct job *job = make_delivery(h, &row->row);
    job->lane = row->lane;
    job->rows = ids;
    free(row);
    count(h, job, true);
    struct job *other = hook_worker_submit(&h->worker, job);
    if (other)
        answer_for(h, job, other);
}

static void deliver(void *self, const struct outbox_record *row)
{
    struct hooks *h = self;
    must(row->kind == OUTBOX_HOOK && row->hook < HOOK_COUNT);
    const bool is_first = h->rows.count == 0;
    delivery_queue_add(&h->rows, row);
    if (is_first)
        h->seams.wake(h->seams.self);
}

static int64_t mono_ms(void *self)
{
    const struct hooks *h = self;
    return h->seams.mono_ms ? h->seams.mono_ms(h->seams.self) : sys_mono_ms();
}

/* Whoever has much to do leaves room for those who come with little. */
static struct delivery_queue_room room_of(const struct hooks *h)
{
    return (struct delivery_queue_room){
        .for_idle = h->queued < HOOKS_QUEUE_MAX && h->queued_size < HOOKS_QUEUE_SIZE_MAX,
        .for_busy = h->queued < HOOKS_QUEUE_MAX / 2 && h->queued_size < HOOKS_QUEUE_SIZE_MAX / 2};
}

/* When there is no room the worker wakes us; when it took too long we do. */
static void queue_by_turns(struct hooks *h)
{
    const int64_t due_ms = mono_ms(h) + HOOKS_PUMP_MS;
    for (struct waiting_row *row = delivery_queue_take(&h->rows, room_of(h)); row;
         row = delivery_queue_take(&h->rows, room_of(h))) {
        queue_row(h, row);
        if (h->rows.count && mono_ms(h) >= due_ms) {
            h->seams.wake(h->seams.self);
            return;
        }
    }
}

static void queue_as_they_came(struct hooks *h)
{
    while (h->rows.count && room_of(h).for_idle)
        queue_row(h, delivery_queue_take_oldest(&h->rows));
}

/* ---- questions ---- */

/* Without the thread, but not from inside the order either. */
static void answer_at_once(struct hooks *h, struct job *job)
{
    job_list_add(&h->done, job);
    h->seams.wake(h->seams.self);
}

static void ask(void *self, uint64_t token, const struct hook_question *questions,
                uint32_t task_count)
{
    struct hooks *h = self;
    struct job *job = job_new(JOB_ASK, task_count);
    job->key = token;
    job->answers = arena_array(&job->arena, struct answer, task_count);
    const bool is_full = h->asked >= HOOKS_ASKS_MAX;
    for (uint32_t i = 0; i < task_count; i++) {
        struct task *task = &job->tasks[i];
        job->answers[i].key = questions[i].key;
        task->kind = TASK_ASK;
        address(h, task, questions[i].role_id);
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
        must(!hook_worker_submit(&h->worker, job));
}

struct hooks_port hooks_port(struct hooks *h)
{
    return (struct hooks_port){.self = h, .deliver = deliver, .ask = ask};
}

/* ---- calls ---- */

bool hooks_takes_calls(const struct hooks *h)
{
    return h->called < HOOKS_CALLS_MAX;
}

err hooks_call(struct hooks *h, int64_t role_id, const struct hooks_facts *facts, uint64_t key)
{
    if (!hooks_takes_calls(h))
        return ERR_LIMIT;
    struct job *job = job_new(JOB_CALL, 1);
    struct task *task = job->tasks;
    job->key = key;
    job->lane = delivery_queue_lane(&h->rows, role_id);
    task->kind = TASK_TRANSITION;
    task->function = "do_transition";
    address(h, task, role_id);
    task->arguments[0] = str_copy(&job->arena, facts->argument);
    task->arguments[1] = str_copy(&job->arena, facts->context);
    h->called++;
    must(!hook_worker_submit(&h->worker, job));
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
        wish.role_update.given = GIVEN_ROLE_TEMPLATE | GIVEN_ROLE_COMPUTED;
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
    const struct hook_command_finder finder = {.self = h->seams.self, .find = h->seams.find};
    struct buf b = buf_in(&job->arena);
    job->is_encoded = true;
    if (task->value.len && !task->failed)
        encode_computed(job, &b);
    if (hook_commands_encode(&task->wishes, finder, &b, &task->text))
        job->wishes = buf_str(&b);
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
             "a hook failed, its wishes are dropped: %.*s", STR_FMT_ARGS(task->text));
}

/* Of rows that were told in one call, the last has what came of it. */
static err hand_over_delivery(struct hooks *h, struct job *job)
{
    const struct task *task = job->tasks;
    if (!job->is_encoded)
        encode_wishes(h, job);
    for (err e; job->answered < job->rows.count; job->answered++) {
        struct command command = {.kind = COMMAND_OUTBOX_DONE, .actor = STR("hook")};
        command.outbox_done.outbox_id = job->rows.at[job->answered];
        if (job->answered == job->rows.count - 1) {
            command.outbox_done.failed = task->failed;
            command.outbox_done.text = task->failed ? task->text : STR("");
            command.outbox_done.reason = task->failed ? task->reason : REASON_NONE;
            command.outbox_done.reason_subject = str_from(task->function);
            command.outbox_done.wishes = job->wishes;
        }
        e = h->seams.submit(h->seams.self, &command);
        if (e == ERR_LIMIT)
            return e;
    }
    return OK;
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
    if (result.done.result == RESULT_FAILED) {
        result.done.reason = task->failed ? task->reason : REASON_ROLE_FAILED;
        result.done.reason_subject = str_from(task->function);
        result.done.reason_text = task->failed ? task->text : task->log;
    }
    h->seams.called(h->seams.self, job->key, &result);
    return OK;
}

/* A later word on the same code is the one that counts, if not for the thread then here. */
static err hand_over_change(struct hooks *h, struct job *job)
{
    const struct code_change *change = job->change;
    const bool is_load = change->kind == CODE_FILE || change->kind == CODE_SAME;
    if (is_load && job->number == job->lane->last_change && h->seams.loaded)
        h->seams.loaded(h->seams.self, job->lane->role_id, change->error, &change->report);
    return OK;
}

static err hand_over(struct hooks *h, struct job *job)
{
    switch (job->kind) {
    case JOB_DELIVER: return hand_over_delivery(h, job);
    case JOB_ASK: return hand_over_answers(h, job);
    case JOB_CALL: return hand_over_result(h, job);
    case JOB_CODE: return hand_over_change(h, job);
    }
    impossible("a kind of job outside the enum");
}

static void take_done(struct hooks *h)
{
    struct job_list fresh = hook_worker_take(&h->worker);
    for (struct job *job = job_list_take(&fresh); job; job = job_list_take(&fresh))
        job_list_add(&h->done, job);
}

static void forget(struct hooks *h, struct job *job)
{
    switch (job->kind) {
    case JOB_DELIVER: count(h, job, false); break;
    case JOB_ASK: h->asked--; break;
    case JOB_CALL: h->called--; break;
    case JOB_CODE: h->changing--; break;
    }
    job_free(job);
}

/* As far as the other side takes them. A callback may deliver, ask and call: that only adds. */
static bool hand_over_done(struct hooks *h)
{
    bool any = false;
    while (h->done.first && hand_over(h, h->done.first) != ERR_LIMIT) {
        struct job *job = job_list_take(&h->done);
        any = any || job->kind != JOB_CODE;
        forget(h, job);
    }
    return any;
}

bool hooks_pump(struct hooks *h)
{
    hook_worker_keep_order(&h->worker, false);
    take_done(h);
    const bool any = hand_over_done(h);
    queue_by_turns(h);
    return any;
}

/* They are few. */
static void add_by_number(struct job_list *list, struct job *job)
{
    struct job **at = &list->first;
    while (*at && (*at)->number < job->number)
        at = &(*at)->next;
    job->next = *at;
    *at = job;
    if (!job->next)
        list->last = job;
}

static void append(struct job_list *list, struct job_list *others)
{
    for (struct job *job = job_list_take(others); job; job = job_list_take(others))
        job_list_add(list, job);
}

/* How files, questions and the rest lie between one another is an accident of threads. */
static void put_in_order(struct hooks *h)
{
    struct job_list changes = {0}, asks = {0}, rest = {0};
    for (struct job *job = job_list_take(&h->done); job; job = job_list_take(&h->done)) {
        if (job->kind == JOB_CODE)
            add_by_number(&changes, job);
        else
            job_list_add(job->kind == JOB_ASK ? &asks : &rest, job);
    }
    append(&h->done, &changes);
    append(&h->done, &asks);
    append(&h->done, &rest);
}

bool hooks_settle(struct hooks *h)
{
    bool any = false;
    hook_worker_keep_order(&h->worker, true);
    hook_worker_wait_idle(&h->worker);
    for (uint32_t round = 0; round < SETTLE_ROUNDS_MAX; round++) {
        if (!hooks_waiting(h) && !h->changing)
            break;
        queue_as_they_came(h);
        hook_worker_wait_idle(&h->worker);
        take_done(h);
        put_in_order(h);
        if (!hand_over_done(h))
            break;
        any = true;
    }
    return any;
}

uint32_t hooks_waiting(const struct hooks *h)
{
    return h->rows.count + h->queued_rows + h->asked + h->called;
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

static void change_code(struct hooks *h, int64_t role_id, struct code_change change)
{
    struct job *job = job_new(JOB_CODE, 0);
    job->lane = delivery_queue_lane(&h->rows, role_id);
    job->change = arena_new(&job->arena, struct code_change);
    *job->change = change;
    if (change.path)
        job->change->path = str_z(&job->arena, str_from(change.path));
    job->change->why = str_copy(&job->arena, change.why);
    h->changing++;
    struct job_list needless = hook_worker_change(&h->worker, job);
    job->lane->last_change = job->number;
    for (struct job *old = job_list_take(&needless); old; old = job_list_take(&needless))
        forget(h, old);
}

void hooks_load(struct hooks *h, int64_t role_id, const char *path)
{
    change_code(h, role_id, (struct code_change){.kind = CODE_FILE, .path = path});
}

void hooks_keep(struct hooks *h, int64_t role_id, struct str why)
{
    change_code(h, role_id, (struct code_change){.kind = CODE_SAME, .why = why});
}

void hooks_unload(struct hooks *h, int64_t role_id)
{
    change_code(h, role_id, (struct code_change){.kind = CODE_NONE});
}

void hooks_miss(struct hooks *h, int64_t role_id, struct str why)
{
    change_code(h, role_id, (struct code_change){.kind = CODE_MISSING, .why = why});
}

/* ---- from open to close ---- */

static void wake(void *self)
{
    const struct hooks *h = self;
    h->seams.wake(h->seams.self);
}

struct hooks *hooks_open(struct hooks_seams seams, struct sandbox_limits limits)
{
    struct hooks *h = calloc(1, sizeof *h);
    must(h);
    h->seams = seams;
    if (hook_worker_start(&h->worker, (struct hook_worker_seams){h, wake, mono_ms}, limits))
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
