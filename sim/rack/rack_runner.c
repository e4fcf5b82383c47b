#include "sim/rack/rack_private.h"

#include <stdlib.h>

#include "base/err.h"
#include "hooks/transition.h"

/* Who runs scripts. It keeps the promise of port/runner_port.h: it knows an attempt by (run,
 * attempt), does its work once, and says what came of it until the daemon has understood. Roles
 * that bring their own work go to the hooks. Power and probes are here too, for they are orders as
 * well. */

enum {
    UNREACHED_S = 30, /* until a machine that does not answer is given up */
    BROKEN_S_MAX = 300,
    RESEND_S_MIN = 120,
    RESEND_S_MAX = 900,
};

/* ---- works ---- */

static struct rack_work *find(struct rack *r, int64_t run_id, uint32_t attempt)
{
    for (uint32_t i = r->work_count; i-- > 0;)
        if (r->works[i].run_id == run_id && r->works[i].attempt == attempt)
            return &r->works[i];
    return NULL;
}

static int64_t index_of(const struct rack *r, const struct rack_work *work)
{
    return work - r->works;
}

static struct str name_of(struct rack *r, enum table table, int64_t id)
{
    struct record record;
    if (!core_record(rack_core(r), table, id, &record))
        return STR("");
    return str_copy(&r->story, table == TABLE_NODE ? record.node.name : record.role.name);
}

static struct rack_work *add(struct rack *r, const struct run_order *order)
{
    struct record record;
    if (r->work_count == r->work_cap) {
        r->work_cap = r->work_cap ? 2 * r->work_cap : 64;
        r->works = realloc(r->works, r->work_cap * sizeof *r->works);
        must(r->works);
    }
    struct rack_work *work = &r->works[r->work_count++];
    *work = (struct rack_work){.run_id = order->run_id,
                               .attempt = order->attempt,
                               .node_id = order->node_id,
                               .noderole_id = order->noderole_id,
                               .data = str_copy(&r->story, order->data),
                               .machine = rack_machine_of(r, order->node_id),
                               .is_ended = true};
    work->node = name_of(r, TABLE_NODE, order->node_id);
    if (core_record(rack_core(r), TABLE_NODEROLE, order->noderole_id, &record))
        work->role = name_of(r, TABLE_ROLE, record.noderole.role_id);
    return work;
}

/* ---- the line to the daemon ---- */

static void say(struct rack *r, const struct rack_work *work)
{
    const struct event event = {.bytes = work->answer};
    if (rack_fault(r, RACK_ANSWER_LOST))
        return;
    rack_at(r, rack_delay(r, RACK_ANSWER_LATE, 1, 500), RACK_EVENT_COMMAND, event);
    if (rack_fault(r, RACK_ANSWER_TWICE))
        rack_at(r, prng_between(&r->chance, 1, 20 * RACK_MINUTE), RACK_EVENT_COMMAND, event);
}

static void answer(struct rack *r, struct rack_work *work, const struct command *command)
{
    work->is_ended = true;
    work->generation++;
    work->answer = rack_keep(r, command);
    say(r, work);
    rack_at(r, RACK_SECOND * prng_between(&r->chance, RESEND_S_MIN, RESEND_S_MAX),
            RACK_EVENT_RESEND, (struct event){.id = index_of(r, work)});
}

static bool daemon_waits(const struct rack *r, const struct rack_work *work)
{
    struct record record;
    const struct core *core = rack_core(r);
    if (!core)
        return true;
    return core_record(core, TABLE_RUN, work->run_id, &record) &&
           record.run.attempt == work->attempt &&
           (record.run.state == RUN_RUNNING || record.run.state == RUN_STOPPING);
}

void rack_work_resend(struct rack *r, int64_t ix)
{
    const struct rack_work *work = &r->works[ix];
    if (str_is_empty(work->answer) || !daemon_waits(r, work))
        return;
    say(r, work);
    rack_at(r, RACK_SECOND * prng_between(&r->chance, RESEND_S_MIN, RESEND_S_MAX),
            RACK_EVENT_RESEND, (struct event){.id = ix});
}

static struct command stopped(const struct rack_work *work)
{
    struct command command = {.kind = COMMAND_RUN_STOPPED, .actor = STR("runner")};
    command.run_stopped.run_id = work->run_id;
    command.run_stopped.attempt = work->attempt;
    return command;
}

static struct command failed(const struct rack_work *work, struct str log)
{
    struct command command = {.kind = COMMAND_RUN_DONE, .actor = STR("runner")};
    command.run_done.run_id = work->run_id;
    command.run_done.attempt = work->attempt;
    command.run_done.result = RESULT_FAILED;
    command.run_done.runlog = log;
    return command;
}

/* ---- doing it ---- */

static void ends_in(struct rack *r, const struct rack_work *work, int64_t delay_ms)
{
    rack_at(r, delay_ms, RACK_EVENT_WORK_ENDS,
            (struct event){.id = index_of(r, work), .detail = work->generation});
}

static void begin(struct rack *r, struct rack_work *work)
{
    work->is_ended = false;
    work->generation++;
    work->is_reached = rack_is_reachable(r, work->machine);
    work->boot = work->machine < 0 ? 0 : r->machines[work->machine].boot;
    r->counts.runs++;
    rack_note(r, "begins", work->run_id, work->attempt);
    struct command begun = {.kind = COMMAND_RUN_BEGUN, .actor = STR("runner")};
    begun.run_begun.run_id = work->run_id;
    begun.run_begun.attempt = work->attempt;
    begun.run_begun.job = STR("script");
    rack_later(r, prng_between(&r->chance, 1, 100), &begun);
    if (!work->is_reached) {
        ends_in(r, work, UNREACHED_S * RACK_SECOND);
        return;
    }
    rack_check_begin(r, work);
    ends_in(r, work, rack_delay(r, RACK_RUN_SLOW, RACK_SECOND, 8 * RACK_SECOND));
}

void rack_work_ends(struct rack *r, const struct event *event)
{
    struct rack_work *work = &r->works[event->id];
    if (work->is_ended || work->generation != event->detail)
        return;
    if (!work->is_reached) {
        const struct command command = failed(work, STR("the machine does not answer"));
        answer(r, work, &command);
        return;
    }
    if (rack_fault(r, RACK_RUN_FAILED)) {
        const struct command command = failed(work, STR("out of luck"));
        answer(r, work, &command);
        return;
    }
    const struct command command = rack_script(r, work);
    answer(r, work, &command);
}

void rack_works_cut(struct rack *r, uint32_t machine)
{
    for (uint32_t i = 0; i < r->work_count; i++) {
        struct rack_work *work = &r->works[i];
        if (work->is_ended || work->machine != (int32_t)machine)
            continue;
        if (work->is_reached)
            rack_script_broken(r, work);
        work->is_reached = false;
        work->generation++;
        ends_in(r, work, RACK_SECOND * prng_between(&r->chance, 1, BROKEN_S_MAX));
    }
}

/* ---- orders ---- */

static bool is_ours(struct rack *r, const struct run_order *order)
{
    struct record record;
    const int64_t jig = core_find(rack_core(r), TABLE_JIG, order->jig);
    return !jig || !core_record(rack_core(r), TABLE_JIG, jig, &record) ||
           !str_eq(record.jig.class_name, STR("role-provided"));
}

static void start(void *self, const struct run_order *order)
{
    struct rack *r = self;
    rack_note(r, "start", order->run_id, order->attempt);
    if (!is_ours(r, order)) {
        const struct runner_port port = transitions_port(r->transitions);
        port.start(port.self, order);
        return;
    }
    if (find(r, order->run_id, order->attempt)) {
        rack_fail(r, "attempt %u of run %lld is started twice", order->attempt,
                  (long long)order->run_id);
        return;
    }
    begin(r, add(r, order));
}

static void cancel(void *self, const struct run_order *order)
{
    struct rack *r = self;
    struct rack_work *work = find(r, order->run_id, order->attempt);
    rack_note(r, "cancel", order->run_id, order->attempt);
    if (!work && transitions_has(r->transitions, order->run_id, order->attempt)) {
        const struct runner_port port = transitions_port(r->transitions);
        port.cancel(port.self, order);
        return;
    }
    if (!work)
        work = add(r, order);
    if (!work->is_ended && work->is_reached && prng_chance(&r->chance, 500))
        rack_script_broken(r, work);
    const struct command command = stopped(work);
    answer(r, work, &command);
}

static void query(void *self, const struct run_order *order)
{
    struct rack *r = self;
    struct rack_work *work = find(r, order->run_id, order->attempt);
    rack_note(r, "query", order->run_id, order->attempt);
    if (!is_ours(r, order)) {
        const struct runner_port port = transitions_port(r->transitions);
        port.query(port.self, order);
        return;
    }
    if (!work)
        begin(r, add(r, order)); /* it never came to begin */
    else if (work->is_ended && !str_is_empty(work->answer))
        say(r, work);
}

struct runner_port rack_runner_port(struct rack *r)
{
    return (struct runner_port){.self = r, .start = start, .cancel = cancel, .query = query};
}

void rack_works_fini(struct rack *r)
{
    free(r->works);
    r->works = NULL;
}

/* ---- power ---- */

static void outbox_done(struct rack *r, int64_t outbox_id, bool is_failed)
{
    struct command command = {.kind = COMMAND_OUTBOX_DONE, .actor = STR("power")};
    command.outbox_done.outbox_id = outbox_id;
    command.outbox_done.failed = is_failed;
    rack_later(r, prng_between(&r->chance, 1, 500), &command);
}

static void act(void *self, const struct outbox_record *row)
{
    struct rack *r = self;
    const int32_t machine = rack_machine_of(r, row->object_id);
    rack_note(r, "power", row->id, machine);
    if (machine < 0) {
        outbox_done(r, row->id, true);
        return;
    }
    rack_check_power(r, (uint32_t)machine, row);
    rack_at(r, RACK_SECOND * prng_between(&r->chance, 1, 5), RACK_EVENT_POWER,
            (struct event){
                .id = machine, .detail = row->id, .bytes = str_copy(&r->story, row->detail)});
}

/* An order that the daemon gives again, because it died before it heard of the first, is carried
 * out again: nobody in between can tell. */
void rack_power_arrives(struct rack *r, const struct event *event)
{
    struct rack_machine *m = &r->machines[event->id];
    if (event->detail <= m->power_seen)
        m->boots_allowed++;
    else
        m->power_seen = event->detail;
    outbox_done(r, event->detail, !rack_machine_power(r, (uint32_t)event->id, event->bytes));
}

static void probe(void *self, const struct outbox_record *row)
{
    struct rack *r = self;
    const int32_t machine = rack_machine_of(r, row->object_id);
    outbox_done(r, row->id, !rack_is_reachable(r, machine));
}

struct power_port rack_power_port(struct rack *r)
{
    return (struct power_port){.self = r, .act = act, .probe = probe};
}
