#include "sim/scenario/counts.h"

#include <string.h>

/* ---- what cannot occur, with the reason ---- */

static const struct {
    enum noderole_state state;
    enum model_event event;
    const char *reason;
} impossible_cells[] = {
    {NODEROLE_PROPOSED, MODEL_START,
     "only a TODO noderole is offered, and a queued run ends with propose"},
    {NODEROLE_BLOCKED, MODEL_START,
     "only a TODO noderole is offered, and a queued run ends with block"},
    {NODEROLE_TRANSITION, MODEL_START, "a queued run waits until the live one has ended"},
    {NODEROLE_ERROR, MODEL_START,
     "only a TODO noderole is offered, and a queued run ends with an error"},
    {NODEROLE_TODO, MODEL_READY, "todo has no parent outside ACTIVE (I2)"},
};

static const struct {
    enum problem_code code;
    const char *reason;
} impossible_refusals[] = {
    {PROBLEM_CHAIN_TOO_LONG, "it is the message of a failed hook, not a refusal of a command"},
    {PROBLEM_HOOKS_UNSETTLED, "replies change nothing that the veto requests depend on"},
    {PROBLEM_BUSY, "it is the reply to a plan, which the API requests and operators do not"},
};

static const struct {
    enum command_kind kind;
    const char *reason;
} never_refused[] = {
    {COMMAND_ANNEAL, "it has no argument that could be wrong"},
    {COMMAND_TICK, "it has no argument that could be wrong"},
    {COMMAND_RUN_BEGUN, "late and unknown results are accepted and ignored"},
    {COMMAND_RUN_STOPPED, "late and unknown results are accepted and ignored"},
    {COMMAND_RUN_RESUME, "late and unknown acknowledgements are accepted and ignored"},
    {COMMAND_RUN_DONE, "late and unknown results are accepted and ignored"},
    {COMMAND_OUTBOX_BEGUN, "late and unknown results are accepted and ignored"},
    {COMMAND_OUTBOX_DONE, "a refused hook command fails the hook, not its result"},
};

#define EACH(table, i) (uint32_t i = 0; i < sizeof table / sizeof *table; i++)

static bool cell_is_impossible(enum noderole_state state, enum model_event event)
{
    for
        EACH(impossible_cells, i)
    if (impossible_cells[i].state == state && impossible_cells[i].event == event)
        return true;
    return false;
}

static bool refusal_is_impossible(enum problem_code code)
{
    for
        EACH(impossible_refusals, i)
    if (impossible_refusals[i].code == code)
        return true;
    return false;
}

static bool is_never_refused(enum command_kind kind)
{
    for
        EACH(never_refused, i)
    if (never_refused[i].kind == kind)
        return true;
    return false;
}

/* ---- adding ---- */

/* The structs consist of 64-bit numbers, so they are added word by word. */
static void counts_add_words(uint64_t *sum, const uint64_t *part, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += part[i];
}

void counts_add_model(struct counts *sum, const struct model_counts *part)
{
    counts_add_words((uint64_t *)&sum->model, (const uint64_t *)part,
                     sizeof *part / sizeof(uint64_t));
}

void counts_add(struct counts *sum, const struct counts *part)
{
    counts_add_words((uint64_t *)sum, (const uint64_t *)part,
                     offsetof(struct counts, noderoles) / sizeof(uint64_t));
    for (uint32_t i = 0; i < COUNTS_SIZES; i++) {
        sum->noderoles[i] += part->noderoles[i];
        sum->commands[i] += part->commands[i];
    }
}

void counts_size(uint32_t *sizes, uint64_t value)
{
    sizes[value < COUNTS_SIZES ? value : COUNTS_SIZES - 1]++;
}

static uint32_t counts_median(const uint32_t *sizes, uint64_t worlds)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < COUNTS_SIZES; i++) {
        seen += sizes[i];
        if (2 * seen >= worlds)
            return i;
    }
    return 0;
}

/* ---- printing ---- */

static uint64_t counts_sum(const uint64_t *numbers, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += numbers[i];
    return sum;
}

/* Names and numbers in columns, three to a line. */
static void counts_print_pair(FILE *out, uint32_t *column, const char *name, uint64_t number)
{
    fprintf(out, "  %-26s %9llu", name, (unsigned long long)number);
    if (++*column % 3 == 0)
        fprintf(out, "\n");
}

static void counts_end_columns(FILE *out, uint32_t *column)
{
    if (*column % 3)
        fprintf(out, "\n");
    *column = 0;
}

static void counts_print_cells(const struct counts *counts, FILE *out)
{
    fprintf(out, "cells of the state table\n  %-10s", "");
    for (uint32_t e = 0; e < MODEL_EVENT_COUNT; e++)
        fprintf(out, " %10s", model_event_name((enum model_event)e));
    for (uint32_t s = 0; s < NODEROLE_STATE_COUNT; s++) {
        fprintf(out, "\n  %-10s", noderole_state_name((enum noderole_state)s));
        for (uint32_t e = 0; e < MODEL_EVENT_COUNT; e++)
            if (cell_is_impossible((enum noderole_state)s, (enum model_event)e))
                fprintf(out, " %10s", "-");
            else
                fprintf(out, " %10llu", (unsigned long long)counts->model.cells[s][e]);
    }
    fprintf(out, "\n");
}

/* Served boots: the numbers of model.h, each of which must have occurred. */
static const struct {
    const char *name;
    size_t offset; /* in struct model_counts */
} serving[] = {
    {"machines staged", offsetof(struct model_counts, staged)},
    {"parts staged", offsetof(struct model_counts, parts)},
    {"parts before others", offsetof(struct model_counts, short_parts)},
    {"most due rows", offsetof(struct model_counts, due_most)},
    {"runs that did not publish", offsetof(struct model_counts, unpublished)},
    {"turns taken", offsetof(struct model_counts, taken)},
    {"boot servers lost", offsetof(struct model_counts, lost)},
    {"boot servers failed", offsetof(struct model_counts, failed)},
    {"changes recorded", offsetof(struct model_counts, logs)},
    {"announced boots staged", offsetof(struct model_counts, announced)},
    {"calls of on_node_change", offsetof(struct model_counts, calls)},
    {"waits ended by a run", offsetof(struct model_counts, ended_run)},
    {"waits ended by a server", offsetof(struct model_counts, ended_taken)},
    {"waits ended by an error", offsetof(struct model_counts, ended_error)},
    {"waits ended by time", offsetof(struct model_counts, ended_time)},
};

static uint64_t counts_serving(const struct counts *counts, uint32_t i)
{
    return *(const uint64_t *)(const void *)((const char *)&counts->model + serving[i].offset);
}

static void counts_print_serving(const struct counts *counts, FILE *out)
{
    uint32_t column = 0;
    fprintf(out, "served boots\n");
    for (uint32_t i = 0; i < sizeof serving / sizeof *serving; i++)
        counts_print_pair(out, &column, serving[i].name, counts_serving(counts, i));
    counts_end_columns(out, &column);
}

static void counts_print_boots(const struct counts *counts, FILE *out)
{
    fprintf(out, "boot view: %llu changes and %llu copies of boot servers compared\n",
            (unsigned long long)counts->boot_changes, (unsigned long long)counts->boot_copies);
    fprintf(out,
            "installers: %llu granted, %llu answered local, %llu stale, %llu of these by the MAC; "
            "grants void:",
            (unsigned long long)counts->model.answers[GRANT_GRANTED],
            (unsigned long long)counts->model.answers[GRANT_LOCAL],
            (unsigned long long)counts->model.answers[GRANT_STALE],
            (unsigned long long)counts->model.other_macs);
    for (uint32_t i = GRANT_VOID_NONE + 1; i < GRANT_VOID_COUNT; i++)
        fprintf(out, " %s %llu", grant_void_name((enum grant_void)i),
                (unsigned long long)counts->model.voids[i]);
    fprintf(out, "\n");
}

void counts_print(const struct counts *counts, FILE *out)
{
    uint32_t column = 0;
    fprintf(out, "worlds %llu, median %u noderoles and %u operator commands\n",
            (unsigned long long)counts->worlds, counts_median(counts->noderoles, counts->worlds),
            counts_median(counts->commands, counts->worlds));
    fprintf(out, "commands %llu done, %llu refused, in %llu turns; %llu simulated days\n",
            (unsigned long long)counts_sum(counts->done, COMMAND_COUNT),
            (unsigned long long)counts_sum(counts->refused, COMMAND_COUNT),
            (unsigned long long)counts->turns,
            (unsigned long long)(counts->simulated_ms / 86400000u));
    fprintf(out, "checked: %llu reloads (I1), %llu root causes, %llu pokes, %llu no-op runs\n",
            (unsigned long long)counts->reloads, (unsigned long long)counts->whys,
            (unsigned long long)counts->model.pokes, (unsigned long long)counts->model.instant);
    fprintf(out, "power: %llu waited for a boot to be served, %llu performed, %llu timed out\n",
            (unsigned long long)counts->model.waited, (unsigned long long)counts->model.went,
            (unsigned long long)counts->model.given_up);
    fprintf(out, "changed defaults: %llu noderoles rerun by commits with rerun_changed\n",
            (unsigned long long)counts->model.rerun);
    fprintf(out, "automatic admin nodes: %llu replaced, %llu kept\n",
            (unsigned long long)counts->model.replaced, (unsigned long long)counts->model.kept);
    fprintf(
        out,
        "networks: %llu addresses freed or declined, %llu DNS names compared, %llu steps beside a "
        "deletion\n",
        (unsigned long long)counts->model.rested, (unsigned long long)counts->model.names,
        (unsigned long long)counts->model.sliced);
    counts_print_boots(counts, out);
    counts_print_serving(counts, out);
    fprintf(out, "faults\n");
    for (uint32_t i = 0; i < FAULT_COUNT; i++)
        counts_print_pair(out, &column, fault_name((enum sim_fault)i), counts->faults[i]);
    counts_end_columns(out, &column);
    fprintf(out, "crashes by point of the turn\n");
    for (uint32_t i = 0; i < TURN_POINT_COUNT; i++)
        counts_print_pair(out, &column, turn_point_name((enum turn_point)i), counts->points[i]);
    counts_end_columns(out, &column);
    fprintf(out, "commands done / refused\n");
    for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, "  %-24s %9llu /%8llu", command_name((enum command_kind)i),
                (unsigned long long)counts->done[i], (unsigned long long)counts->refused[i]);
        if (++column % 2 == 0)
            fprintf(out, "\n");
    }
    fprintf(out, column % 2 ? "\n" : "");
    column = 0;
    fprintf(out, "refusals\n");
    for (uint32_t i = 1; i < PROBLEM_COUNT; i++) {
        const struct str name = problem_code_name((enum problem_code)i);
        char text[64];
        snprintf(text, sizeof text, "%.*s", STR_FMT_ARGS(name));
        counts_print_pair(out, &column, text, counts->refusals[i]);
    }
    counts_end_columns(out, &column);
    fprintf(out, "root causes\n");
    for (uint32_t i = 0; i < CAUSE_COUNT; i++)
        counts_print_pair(out, &column, cause_name((enum cause_code)i), counts->model.causes[i]);
    counts_end_columns(out, &column);
    counts_print_cells(counts, out);
}

/* ---- coverage that is missing ---- */

static uint32_t counts_report_missing(FILE *out, bool is_missing, const char *what,
                                      const char *name)
{
    if (is_missing)
        fprintf(out, "never happened: %s %s\n", what, name);
    return is_missing;
}

static uint32_t counts_missing_cells(const struct counts *counts, FILE *out)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < NODEROLE_STATE_COUNT; s++)
        for (uint32_t e = 0; e < MODEL_EVENT_COUNT; e++) {
            const enum noderole_state state = (enum noderole_state)s;
            const enum model_event event = (enum model_event)e;
            count += counts_report_missing(
                out, !counts->model.cells[s][e] && !cell_is_impossible(state, event),
                noderole_state_name(state), model_event_name(event));
        }
    return count;
}

uint32_t counts_missing(const struct counts *counts, const struct options *options, FILE *out)
{
    uint32_t count = counts_missing_cells(counts, out);
    for (uint32_t i = 0; i < FAULT_COUNT; i++)
        count += counts_report_missing(out, !counts->faults[i] && options->allowed[i], "fault",
                                       fault_name((enum sim_fault)i));
    for (uint32_t i = 0; i < TURN_POINT_COUNT && options->allowed[FAULT_CRASH]; i++)
        count += counts_report_missing(out, !counts->points[i], "crash at",
                                       turn_point_name((enum turn_point)i));
    for (uint32_t i = 1; i < PROBLEM_COUNT; i++) {
        const enum problem_code code = (enum problem_code)i;
        const struct str name = problem_code_name(code);
        char text[64];
        snprintf(text, sizeof text, "%.*s", STR_FMT_ARGS(name));
        count += counts_report_missing(out, !counts->refusals[i] && !refusal_is_impossible(code),
                                       "refusal", text);
    }
    count += counts_report_missing(out, !counts->model.waited, "power",
                                   "action that waits for a boot to be served");
    count += counts_report_missing(out, !counts->model.went, "power",
                                   "action that waited and was performed");
    count += counts_report_missing(out, !counts->model.given_up, "power",
                                   "action that waited until its timeout");
    for (uint32_t i = 0; i < sizeof serving / sizeof *serving; i++)
        count += counts_report_missing(out, !counts_serving(counts, i),
                                       "served boots:", serving[i].name);
    count += counts_report_missing(out, !counts->boot_changes, "boot view", "change");
    count += counts_report_missing(out, !counts->boot_copies, "boot view", "copy of a boot server");
    count += counts_report_missing(out, !counts->model.rerun, "commit",
                                   "that reruns noderoles with old defaults");
    count +=
        counts_report_missing(out, !counts->model.replaced, "automatic node", "that is replaced");
    count += counts_report_missing(out, !counts->model.kept, "automatic node", "that is kept");
    count += counts_report_missing(out, !counts->model.rested, "address", "that is freed");
    count += counts_report_missing(out, !counts->model.names, "DNS name", "of an allocation");
    count += counts_report_missing(out, !counts->model.sliced, "deletion", "in slices");
    static const char *const answers[GRANT_ANSWER_COUNT] = {"granted", "local", "stale"};
    for (uint32_t i = 0; i < GRANT_ANSWER_COUNT; i++)
        count += counts_report_missing(out, !counts->model.answers[i], "answer", answers[i]);
    count += counts_report_missing(out, !counts->model.other_macs, "answer", "stale for the MAC");
    /* A store that is restored is at an older turn, which the oracles of a world do not follow; the
     * records are changed as those of an import. */
    for (uint32_t i = GRANT_VOID_NONE + 1; i < GRANT_VOID_COUNT; i++)
        count += counts_report_missing(out, !counts->model.voids[i] && i != GRANT_VOID_RESTORED,
                                       "grant that is void because",
                                       grant_void_name((enum grant_void)i));
    for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
        const enum command_kind kind = (enum command_kind)i;
        /* It is only part of the result of a hook and is never sent alone. */
        const bool is_inside = kind == COMMAND_NODEROLE_COMPUTED;
        count +=
            counts_report_missing(out, !counts->done[i] && !is_inside, "done", command_name(kind));
        count += counts_report_missing(out, !counts->refused[i] && !is_never_refused(kind),
                                       "refused", command_name(kind));
    }
    return count;
}
