/* rack_private.h - what the chapters of the rack ask of one another. */
#pragma once

#include "port/power_port.h"
#include "port/runner_port.h"
#include "sim/rack/rack.h"

struct hooks_report;

enum { RACK_SECOND = 1000, RACK_MINUTE = 60 * RACK_SECOND, RACK_HOUR = 60 * RACK_MINUTE };

#define RACK_SECOND_NAME "second.rack.local" /* of the second admin node */

enum rack_event {
    RACK_EVENT_COMMAND,    /* `bytes` is a command that arrives                            */
    RACK_EVENT_INSIDE,     /* likewise, from inside the daemon of life `id`                */
    RACK_EVENT_MACHINE,    /* machine `id` goes on, if it is still in boot `detail`        */
    RACK_EVENT_CALL,       /* a request of machine `id` arrives: `detail` = seq, call      */
    RACK_EVENT_CALL_AGAIN, /* it has waited long enough for the answer to `detail`         */
    RACK_EVENT_REPLY,      /* machine `id` hears what came of `detail`                     */
    RACK_EVENT_POWER,      /* the order of outbox row `detail` reaches machine `id`        */
    RACK_EVENT_CUT,        /* machine `id` loses power, by chance; and again some day      */
    RACK_EVENT_BACK,       /* and has it again                                             */
    RACK_EVENT_WORK_ENDS,  /* work `id`, unless its generation is not `detail` any more    */
    RACK_EVENT_RESEND,     /* its answer is told again                                     */
    RACK_EVENT_OPERATOR,   /* somebody looks at the rack and does something                */
    RACK_EVENT_ADMIN,      /* the node of the databases: `detail` says what becomes of it  */
};

/* ---- rack.c: the daemon, time, what goes wrong ---- */

/* The first thing that goes wrong is kept; the rack ends at once. */
void rack_fail(struct rack *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* True at the rate of that fault, in the phase of faults; counts it then. */
bool rack_fault(struct rack *r, enum rack_fault fault);
/* Between `low` and `high`, more when the fault strikes. */
int64_t rack_delay(struct rack *r, enum rack_fault fault, int64_t low, int64_t high);
void rack_at(struct rack *r, int64_t delay_ms, enum rack_event kind, struct event event);
/* A command that arrives after so long. Nobody waits for it when request is 0. */
void rack_later(struct rack *r, int64_t delay_ms, const struct command *command);
struct str rack_keep(struct rack *r, const struct command *command);
void rack_reach(struct rack *r, enum rack_reached what);
/* For the transcript. */
void rack_note(struct rack *r, const char *what, int64_t a, int64_t b);

/* ---- rack_content.c: barclamps and their code ---- */

bool rack_content_read(struct rack *r);
/* Everything once more, as a daemon does when it starts. */
void rack_content_import_later(struct rack *r);
/* The code of this role is in the hooks from now on, if it has any. */
void rack_content_load(struct rack *r, int64_t role_id);
void rack_content_loaded(void *self, int64_t role_id, err error, const struct hooks_report *report);
void rack_content_forget(struct rack *r);

/* ---- rack_machine.c ---- */

void rack_machines_make(struct rack *r);
/* -1: none of ours, or none at all. */
int32_t rack_machine_of(const struct rack *r, int64_t node_id);
void rack_machine_goes_on(struct rack *r, uint32_t machine, int64_t boot);
void rack_machine_cut(struct rack *r, const struct event *event);
void rack_machine_reset(struct rack *r, uint32_t machine);
bool rack_machine_power(struct rack *r, uint32_t machine, struct str action);
bool rack_is_reachable(const struct rack *r, int32_t machine);
/* The boot generation that is served for a machine; -1 when it is not known there, or is known as
 * another node. */
int64_t rack_served_generation(struct rack *r, struct str clients, uint32_t machine);

/* ---- rack_calls.c: what machines ask of the API, and what the API says ---- */

void rack_call(struct rack *r, uint32_t machine, enum rack_call call);
void rack_call_arrives(struct rack *r, const struct event *event);
void rack_call_again(struct rack *r, const struct event *event);
void rack_reply_arrives(struct rack *r, const struct event *event);
/* The core has answered a request that rack_calls.c made. */
void rack_call_answered(struct rack *r, int64_t request, const struct outcome *outcome);
bool rack_is_call(int64_t request);
/* The answer is here: go on. `gone`: there is no such node. */
void rack_machine_answered(struct rack *r, uint32_t machine, enum rack_call call, bool gone);

/* ---- rack_runner.c: scripts in their time ---- */

struct runner_port rack_runner_port(struct rack *r);
struct power_port rack_power_port(struct rack *r);
void rack_work_ends(struct rack *r, const struct event *event);
void rack_work_resend(struct rack *r, int64_t work);
void rack_power_arrives(struct rack *r, const struct event *event);
/* What runs on that machine will not come to its end. */
void rack_works_cut(struct rack *r, uint32_t machine);
void rack_works_fini(struct rack *r);

/* ---- rack_scripts.c: what the shipped scripts do ---- */

/* Do it all, and say what came of it. */
struct command rack_script(struct rack *r, struct rack_work *work);
/* The machine lost power on the way: some of it was done. */
void rack_script_broken(struct rack *r, struct rack_work *work);

/* ---- rack_oracles.c: what must never be, and what must be in the end ---- */

/* A script begins to run in the place where its machine is. */
void rack_check_begin(struct rack *r, const struct rack_work *work);
void rack_check_wipe(struct rack *r, const struct rack_work *work, struct rack_disk *disk);
void rack_check_boot(struct rack *r, uint32_t machine);
void rack_check_durable(struct rack *r);
/* An order is given. */
void rack_check_power(struct rack *r, uint32_t machine, const struct outbox_record *row);

/* ---- rack_operator.c ---- */

void rack_operator_acts(struct rack *r);
void rack_operator_admin(struct rack *r, int64_t what);
/* A round of repairs after the faults. */
void rack_operator_mends(struct rack *r);
/* What a story or the operator needs to know by name. */
int64_t rack_node_id(const struct rack *r, uint32_t machine);
