/* rack_private.h - interfaces between the source files of the rack. */
#pragma once

#include "port/power_port.h"
#include "port/runner_port.h"
#include "sim/rack/rack.h"

struct hooks_report;

enum { RACK_SECOND = 1000, RACK_MINUTE = 60 * RACK_SECOND, RACK_HOUR = 60 * RACK_MINUTE };

#define RACK_SECOND_NAME "second.rack.local" /* of the second admin node */

enum rack_event {
    RACK_EVENT_COMMAND,    /* the command in `bytes` arrives at the turn                     */
    RACK_EVENT_INSIDE,     /* the same, from the daemon itself; void if daemon_starts is not `id` */
    RACK_EVENT_MACHINE,    /* next step of machine `id`; void if its boot is not `detail`    */
    RACK_EVENT_CALL,       /* request `detail` of machine `id` arrives at the API            */
    RACK_EVENT_CALL_AGAIN, /* request `detail` of machine `id` has timed out                 */
    RACK_EVENT_REPLY,      /* the reply to request `detail` arrives at machine `id`          */
    RACK_EVENT_POWER,      /* the power action of outbox row `detail` reaches machine `id`   */
    RACK_EVENT_CUT,        /* machine `id` may lose power (random); repeats itself           */
    RACK_EVENT_BACK,       /* the power of machine `id` returns                              */
    RACK_EVENT_ATTEMPT_ENDS, /* attempt `id` ends; void if its generation is not `detail`      */
    RACK_EVENT_RESEND,       /* the result of attempt `id` is sent again                       */
    RACK_EVENT_OPERATOR,     /* the operators act                                              */
    RACK_EVENT_ADMIN,        /* the admin node returns: `detail` is one of enum admin_change   */
};

/* ---- rack.c: daemon, time, faults ---- */

/* Record a violation. Only the first one is kept, and the simulation ends. */
void rack_fail(struct rack *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* True at the rate of that fault, in the phase with faults only; counts it. */
bool rack_fault(struct rack *r, enum rack_fault fault);
/* A delay in ms between `low` and `high`, minutes longer if the fault occurs. */
int64_t rack_delay(struct rack *r, enum rack_fault fault, int64_t low, int64_t high);
void rack_at(struct rack *r, int64_t delay_ms, enum rack_event kind, struct event event);
/* Send a command that arrives after `delay_ms`. With request 0 its reply is ignored. */
void rack_send_later(struct rack *r, int64_t delay_ms, const struct command *command);
/* Encode a command into the arena of the rack. */
struct str rack_encode(struct rack *r, const struct command *command);
void rack_count_reached(struct rack *r, enum rack_reached what);
/* Add an effect to the transcript. `what` is part of the hash: it must not be reworded. */
void rack_note(struct rack *r, const char *what, int64_t a, int64_t b);

/* ---- rack_content.c: barclamps and their code ---- */

bool rack_content_read(struct rack *r);
/* Import everything again, as the daemon does when it starts. */
void rack_content_import_later(struct rack *r);
/* Load the Lua code of this role into the hooks, if it has any and it is not loaded yet. */
void rack_content_load(struct rack *r, int64_t role_id);
void rack_content_loaded(void *self, int64_t role_id, err error, const struct hooks_report *report);
void rack_content_forget(struct rack *r);

/* ---- rack_machine.c ---- */

void rack_machines_make(struct rack *r);
/* The machine of a node; -1 if it has none (admin nodes, system nodes). */
int32_t rack_machine_of(const struct rack *r, int64_t node_id);
void rack_machine_step(struct rack *r, uint32_t machine, int64_t boot);
void rack_machine_cut(struct rack *r, const struct event *event);
void rack_machine_reset(struct rack *r, uint32_t machine);
bool rack_machine_power(struct rack *r, uint32_t machine, struct str action);
bool rack_is_reachable(const struct rack *r, int32_t machine);
/* The boot generation that `clients` contains for a machine; -1 if the machine is not listed, or is
 * listed with another node id. */
int64_t rack_served_generation(struct rack *r, struct str clients, uint32_t machine);

/* ---- rack_calls.c: API requests of machines and their replies ---- */

void rack_call(struct rack *r, uint32_t machine, enum rack_call call);
void rack_call_arrives(struct rack *r, const struct event *event);
void rack_call_again(struct rack *r, const struct event *event);
void rack_reply_arrives(struct rack *r, const struct event *event);
/* The core has executed the command of a machine's request. */
void rack_call_answered(struct rack *r, int64_t request, const struct outcome *outcome);
/* True if the request id belongs to a machine: these ids are odd, those of operators are even. */
bool rack_is_call(int64_t request);
/* The reply has arrived at the machine: start its next step. `gone`: there is no such node. */
void rack_machine_answered(struct rack *r, uint32_t machine, enum rack_call call, bool gone);

/* ---- rack_runner.c: the simulated runner, power and probes ---- */

struct runner_port rack_runner_port(struct rack *r);
struct power_port rack_power_port(struct rack *r);
void rack_attempt_ends(struct rack *r, const struct event *event);
void rack_attempt_resend(struct rack *r, int64_t attempt);
void rack_power_arrives(struct rack *r, const struct event *event);
/* The machine has rebooted or lost power: its scripts are interrupted. */
void rack_attempts_interrupt(struct rack *r, uint32_t machine);
void rack_attempts_fini(struct rack *r);

/* ---- rack_scripts.c: simulation of the shipped scripts ---- */

/* Perform the script and return its result. */
struct command rack_script(struct rack *r, struct rack_attempt *attempt);
/* The script was interrupted: it is performed completely or not at all, without a result. */
void rack_script_broken(struct rack *r, struct rack_attempt *attempt);

/* ---- rack_oracles.c: invariants, and the goal at the end ---- */

/* A script starts in the environment that its machine has booted. */
void rack_check_begin(struct rack *r, const struct rack_attempt *attempt);
void rack_check_wipe(struct rack *r, const struct rack_attempt *attempt, struct rack_disk *disk);
void rack_check_boot(struct rack *r, uint32_t machine);
void rack_check_durable(struct rack *r);
/* A power action is sent to a machine. */
void rack_check_power(struct rack *r, uint32_t machine, const struct outbox_record *row);

/* ---- rack_operator.c ---- */

void rack_operator_acts(struct rack *r);
void rack_operator_admin(struct rack *r, int64_t what);
/* One round of repairs after the phase with faults. */
void rack_operator_repair(struct rack *r);
/* Id of the node of a machine or admin node; 0 = it does not exist. */
int64_t rack_node_id(const struct rack *r, uint32_t machine);
