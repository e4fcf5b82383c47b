#include "sim/rack/rack_private.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "hooks/transition.h"

/* The simulated runner, with power and probes.
 *
 * It implements port/runner_port.h: an attempt is identified by (run, attempt), is executed
 * once, and its result is sent again until the core no longer waits for it. Runs of the jig
 * class role-provided are executed by the hooks. An attempt on a machine that is not reachable
 * fails after a timeout; if the machine reboots during a script, the effect of the script has
 * happened or not, and the attempt fails later. */

enum {
    UNREACHED_S = 30,   /* connect timeout */
    BROKEN_S_MAX = 300, /* until a lost connection is noticed */
    RESEND_S_MIN = 120, /* between two transmissions of a result */
    RESEND_S_MAX = 900,
};

/* ---- attempts ---- */

static struct rack_attempt *attempt_find(struct rack *r, int64_t run_id, uint32_t attempt)
{
    for (uint32_t i = r->attempt_count; i-- > 0;)
        if (r->attempts[i].run_id == run_id && r->attempts[i].attempt == attempt &&
            !r->attempts[i].is_void)
            return &r->attempts[i];
    return NULL;
}

static int64_t attempt_index(const struct rack *r, const struct rack_attempt *attempt)
{
    return attempt - r->attempts;
}

static struct str attempt_name_of(struct rack *r, enum table table, int64_t id)
{
    struct record record;
    if (!core_record(rack_core(r), table, id, &record))
        return STR("");
    return str_copy(&r->arena, table == TABLE_NODE ? record.node.name : record.role.name);
}

static struct rack_attempt *attempt_add(struct rack *r, const struct run_order *order)
{
    struct record record;
    if (r->attempt_count == r->attempt_cap) {
        r->attempt_cap = r->attempt_cap ? 2 * r->attempt_cap : 64;
        r->attempts = realloc(r->attempts, r->attempt_cap * sizeof *r->attempts);
        must(r->attempts);
    }
    struct rack_attempt *attempt = &r->attempts[r->attempt_count++];
    *attempt = (struct rack_attempt){.run_id = order->run_id,
                                     .attempt = order->attempt,
                                     .node_id = order->node_id,
                                     .noderole_id = order->noderole_id,
                                     .data = str_copy(&r->arena, order->data),
                                     .machine = rack_machine_of(r, order->node_id),
                                     .is_ended = true};
    attempt->node = attempt_name_of(r, TABLE_NODE, order->node_id);
    if (core_record(rack_core(r), TABLE_NODEROLE, order->noderole_id, &record))
        attempt->role = attempt_name_of(r, TABLE_ROLE, record.noderole.role_id);
    return attempt;
}

/* ---- results ---- */

static void attempt_send_result(struct rack *r, const struct rack_attempt *attempt)
{
    const struct event event = {.bytes = attempt->answer};
    if (rack_fault(r, RACK_ANSWER_LOST))
        return;
    rack_at(r, rack_delay(r, RACK_ANSWER_LATE, 1, 500), RACK_EVENT_COMMAND, event);
    if (rack_fault(r, RACK_ANSWER_TWICE))
        rack_at(r, prng_between(&r->rng, 1, 20 * RACK_MINUTE), RACK_EVENT_COMMAND, event);
}

static void attempt_set_result(struct rack *r, struct rack_attempt *attempt,
                               const struct command *command)
{
    attempt->is_ended = true;
    attempt->generation++;
    attempt->answer = rack_encode(r, command);
    attempt_send_result(r, attempt);
    rack_at(r, RACK_SECOND * prng_between(&r->rng, RESEND_S_MIN, RESEND_S_MAX), RACK_EVENT_RESEND,
            (struct event){.id = attempt_index(r, attempt)});
}

static bool attempt_is_awaited(const struct rack *r, const struct rack_attempt *attempt)
{
    struct record record;
    const struct core *core = rack_core(r);
    if (!core)
        return true;
    return core_record(core, TABLE_RUN, attempt->run_id, &record) &&
           record.run.attempt == attempt->attempt &&
           (record.run.state == RUN_RUNNING || record.run.state == RUN_STOPPING);
}

void rack_attempt_resend(struct rack *r, int64_t ix)
{
    const struct rack_attempt *attempt = &r->attempts[ix];
    if (str_is_empty(attempt->answer) || !attempt_is_awaited(r, attempt))
        return;
    attempt_send_result(r, attempt);
    rack_at(r, RACK_SECOND * prng_between(&r->rng, RESEND_S_MIN, RESEND_S_MAX), RACK_EVENT_RESEND,
            (struct event){.id = ix});
}

static struct command attempt_make_failed(const struct rack_attempt *attempt, struct str log)
{
    struct command command = {.kind = COMMAND_RUN_DONE, .actor = STR("runner")};
    command.run_done.run_id = attempt->run_id;
    command.run_done.attempt = attempt->attempt;
    command.run_done.result = RESULT_FAILED;
    command.run_done.runlog = log;
    return command;
}

/* ---- execution ---- */

static void attempt_schedule_end(struct rack *r, const struct rack_attempt *attempt,
                                 int64_t delay_ms)
{
    rack_at(r, delay_ms, RACK_EVENT_ATTEMPT_ENDS,
            (struct event){.id = attempt_index(r, attempt), .detail = attempt->generation});
}

static void attempt_start(struct rack *r, struct rack_attempt *attempt)
{
    attempt->is_ended = false;
    attempt->generation++;
    attempt->is_reached = rack_is_reachable(r, attempt->machine);
    attempt->boot = attempt->machine < 0 ? 0 : r->machines[attempt->machine].boot;
    r->counts.runs++;
    rack_note(r, "begins", attempt->run_id, attempt->attempt);
    struct command begun = {.kind = COMMAND_RUN_BEGUN, .actor = STR("runner")};
    begun.run_begun.run_id = attempt->run_id;
    begun.run_begun.attempt = attempt->attempt;
    begun.run_begun.job = STR("script");
    rack_send_later(r, prng_between(&r->rng, 1, 100), &begun);
    if (!attempt->is_reached) {
        attempt_schedule_end(r, attempt, UNREACHED_S * RACK_SECOND);
        return;
    }
    rack_check_begin(r, attempt);
    attempt_schedule_end(r, attempt, rack_delay(r, RACK_RUN_SLOW, RACK_SECOND, 8 * RACK_SECOND));
}

void rack_attempt_ends(struct rack *r, const struct event *event)
{
    struct rack_attempt *attempt = &r->attempts[event->id];
    if (attempt->is_ended || attempt->generation != event->detail)
        return;
    if (!attempt->is_reached) {
        const struct command command =
            attempt_make_failed(attempt, STR("the machine is not reachable"));
        attempt_set_result(r, attempt, &command);
        return;
    }
    if (rack_fault(r, RACK_RUN_FAILED)) {
        const struct command command = attempt_make_failed(attempt, STR("injected failure"));
        attempt_set_result(r, attempt, &command);
        return;
    }
    if (rack_publishes(r, attempt) && rack_fault(r, RACK_RUN_HALF)) {
        const struct command command =
            attempt_make_failed(attempt, STR("the publisher was killed"));
        rack_publish(r, attempt, true);
        attempt_set_result(r, attempt, &command);
        return;
    }
    const struct command command = rack_script(r, attempt);
    attempt_set_result(r, attempt, &command);
}

void rack_attempts_void(struct rack *r)
{
    for (uint32_t i = 0; i < r->attempt_count; i++) {
        struct rack_attempt *attempt = &r->attempts[i];
        if (!attempt->is_ended && attempt->is_reached)
            rack_script_broken(r, attempt);
        attempt->is_void = attempt->is_ended = true;
        attempt->answer = (struct str){0};
    }
}

void rack_attempts_interrupt(struct rack *r, uint32_t machine)
{
    for (uint32_t i = 0; i < r->attempt_count; i++) {
        struct rack_attempt *attempt = &r->attempts[i];
        if (attempt->is_ended || attempt->machine != (int32_t)machine)
            continue;
        if (attempt->is_reached)
            rack_script_broken(r, attempt);
        attempt->is_reached = false;
        attempt->generation++;
        attempt_schedule_end(r, attempt, RACK_SECOND * prng_between(&r->rng, 1, BROKEN_S_MAX));
    }
}

/* ---- runner port ---- */

static bool attempt_is_script(struct rack *r, const struct run_order *order)
{
    struct record record;
    const int64_t jig = core_find(rack_core(r), TABLE_JIG, order->jig);
    return !jig || !core_record(rack_core(r), TABLE_JIG, jig, &record) ||
           !str_eq(record.jig.class_name, STR("role-provided"));
}

static void attempt_print(struct rack *r, const struct run_order *order)
{
    struct record noderole;
    if (core_record(rack_core(r), TABLE_NODEROLE, order->noderole_id, &noderole))
        printf("                noderole %lld, %.*s on %.*s\n", (long long)order->noderole_id,
               STR_FMT_ARGS(attempt_name_of(r, TABLE_ROLE, noderole.noderole.role_id)),
               STR_FMT_ARGS(attempt_name_of(r, TABLE_NODE, order->node_id)));
}

static void rack_runner_start(void *self, const struct run_order *order)
{
    struct rack *r = self;
    rack_note(r, "start", order->run_id, order->attempt);
    if (r->scenario.trace)
        attempt_print(r, order);
    if (!attempt_is_script(r, order)) {
        const struct runner_port port = transitions_port(r->transitions);
        port.start(port.self, order);
        return;
    }
    if (attempt_find(r, order->run_id, order->attempt)) {
        rack_fail(r, "I3: attempt %u of run %lld is started twice", order->attempt,
                  (long long)order->run_id);
        return;
    }
    attempt_start(r, attempt_add(r, order));
}

static void rack_runner_cancel(void *self, const struct run_order *order)
{
    struct rack *r = self;
    struct rack_attempt *attempt = attempt_find(r, order->run_id, order->attempt);
    rack_note(r, "cancel", order->run_id, order->attempt);
    if (!attempt && transitions_has(r->transitions, order->run_id, order->attempt)) {
        const struct runner_port port = transitions_port(r->transitions);
        port.cancel(port.self, order);
        return;
    }
    if (!attempt)
        attempt = attempt_add(r, order);
    if (!attempt->is_ended && attempt->is_reached && prng_chance(&r->rng, 500))
        rack_script_broken(r, attempt);
    struct command command = {.kind = COMMAND_RUN_STOPPED, .actor = STR("runner")};
    command.run_stopped.run_id = attempt->run_id;
    command.run_stopped.attempt = attempt->attempt;
    attempt_set_result(r, attempt, &command);
}

static void rack_runner_query(void *self, const struct run_order *order)
{
    struct rack *r = self;
    struct rack_attempt *attempt = attempt_find(r, order->run_id, order->attempt);
    rack_note(r, "query", order->run_id, order->attempt);
    if (!attempt_is_script(r, order)) {
        const struct runner_port port = transitions_port(r->transitions);
        port.query(port.self, order);
        return;
    }
    if (!attempt)
        attempt_start(r, attempt_add(r, order)); /* the start order was lost */
    else if (attempt->is_ended && !str_is_empty(attempt->answer))
        attempt_send_result(r, attempt);
}

struct runner_port rack_runner_port(struct rack *r)
{
    return (struct runner_port){.self = r,
                                .start = rack_runner_start,
                                .cancel = rack_runner_cancel,
                                .query = rack_runner_query};
}

void rack_attempts_fini(struct rack *r)
{
    free(r->attempts);
    r->attempts = NULL;
}

/* ---- power port ---- */

static void rack_power_done(struct rack *r, int64_t outbox_id, bool is_failed)
{
    struct command command = {.kind = COMMAND_OUTBOX_DONE, .actor = STR("power")};
    command.outbox_done.outbox_id = outbox_id;
    command.outbox_done.failed = is_failed;
    rack_send_later(r, prng_between(&r->rng, 1, 500), &command);
}

static void rack_power_act(void *self, const struct outbox_record *row)
{
    struct rack *r = self;
    const int32_t machine = rack_machine_of(r, row->object_id);
    rack_note(r, "power", row->id, machine);
    if (machine < 0) {
        rack_power_done(r, row->id, true);
        return;
    }
    rack_check_power(r, (uint32_t)machine, row);
    rack_at(r, RACK_SECOND * prng_between(&r->rng, 1, 5), RACK_EVENT_POWER,
            (struct event){
                .id = machine, .detail = row->id, .bytes = str_copy(&r->arena, row->detail)});
}

/* A daemon that crashed before it received the result sends the power action again, and the action
 * is performed again, because a service processor cannot detect the repetition. */
void rack_power_arrives(struct rack *r, const struct event *event)
{
    struct rack_machine *m = &r->machines[event->id];
    if (event->detail <= m->power_done_id)
        m->boots_allowed++;
    else
        m->power_done_id = event->detail;
    rack_power_done(r, event->detail, !rack_machine_power(r, (uint32_t)event->id, event->bytes));
}

static void rack_power_probe(void *self, const struct outbox_record *row)
{
    struct rack *r = self;
    const int32_t machine = rack_machine_of(r, row->object_id);
    rack_power_done(r, row->id, !rack_is_reachable(r, machine));
}

struct power_port rack_power_port(struct rack *r)
{
    return (struct power_port){.self = r, .act = rack_power_act, .probe = rack_power_probe};
}
