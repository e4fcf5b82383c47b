/* job.h - work for the thread of the hooks, and what came of it.
 *
 * A job belongs to the loop's thread, then to the worker, then to the loop's thread again; `rows`
 * and what stands beside them are the loop's all the time. Each role has a lane, in which its code,
 * its jobs and the rows they are made of lie, so that a role can only be in its own way. Lanes live
 * as long as the rows of hooks.h that they are found in.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "hooks/code_file.h"
#include "hooks/role_code_slot.h"
#include "hooks/task.h"
#include "model/command.h"
#include "model/record.h"

enum job_kind { JOB_DELIVER, JOB_ASK, JOB_CALL, JOB_CODE };

struct lane;

/* What a role is to have from now on. */
enum code_change_kind {
    CODE_FILE,    /* what stands in the file, if that is right; else what it had */
    CODE_SAME,    /* what it had: other code should be there and cannot be had   */
    CODE_NONE,    /* none, and it needs none                                     */
    CODE_MISSING, /* none, and that is a trouble                                 */
};

struct code_change {
    enum code_change_kind kind;
    const char *path; /* CODE_FILE */
    struct str why;   /* CODE_SAME, CODE_MISSING */
    /* what came of it */
    err error;
    struct hooks_report report;
};

/* Rows of the outbox that are answered together: ascending, each of them once. */
struct row_ids {
    int64_t *at;
    uint32_t count, cap;
};

struct job {
    struct job *next;
    enum job_kind kind;
    uint64_t number; /* in the order in which the worker got them */
    uint64_t key;    /* token of the questions, key of the call */
    struct lane *lane;
    enum hook hook; /* of a delivery, as in its row */
    enum table object;
    int64_t object_id;
    struct arena arena;
    struct task *tasks;
    uint32_t task_count;
    struct code_change *change; /* JOB_CODE */
    /* the loop's */
    struct row_ids rows;    /* of a delivery */
    uint32_t answered;      /* so many of them */
    uint32_t size;          /* bytes of what its tasks are given */
    struct answer *answers; /* to questions: one for each task, its key filled in */
    struct str wishes;      /* encoded, when the job is about to be handed over */
    bool is_encoded;
};

struct job *job_new(enum job_kind kind, uint32_t task_count);
void job_free(struct job *job);

/* False when it is there already. */
bool row_ids_add(struct row_ids *ids, int64_t id);

struct job_list {
    struct job *first;
    struct job *last;
};

void job_list_add(struct job_list *list, struct job *job);
struct job *job_list_take(struct job_list *list); /* NULL when empty */
void job_list_drop(struct job_list *list);

struct waiting_row;

struct lane {
    int64_t role_id;
    /* the loop's */
    struct waiting_row *first_row;
    struct waiting_row *last_row;
    uint32_t queued; /* deliveries with the worker, or not handed over yet */
    struct lane *next_waiting;
    uint64_t last_change; /* number of the job that said last what code it has */
    /* the thread's alone */
    struct role_code_slot shelf;
    /* the worker's */
    struct job *drop; /* code is to go: CODE_NONE, CODE_MISSING; or NULL           */
    struct job *load; /* and then some is to come: CODE_FILE, CODE_SAME; or NULL   */
    bool is_changed;  /* it stands among those of whom one of these may be waiting */
    struct lane *next_changed;
    struct job_list jobs;
    struct lane *next_ready;
    uint32_t strikes; /* calls in a row that used up their time */
    int64_t free_ms;  /* until then others go first */
};
