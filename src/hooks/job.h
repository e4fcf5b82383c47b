/* job.h - jobs of the hook worker, and the per-role queues.
 *
 * A job belongs to the thread of the loop, then to the worker, then to the thread of the loop
 * again; `rows` and the fields after it are accessed by the loop only. Each role has a queue with
 * its code, its jobs and the rows they are made of, so that a role delays only itself. Role queues
 * live as long as the delivery queue of hooks.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "hooks/code_file.h"
#include "hooks/role_code_slot.h"
#include "hooks/task.h"
#include "model/command.h"
#include "model/record.h"

enum job_kind { JOB_DELIVER, JOB_VETO, JOB_CALL, JOB_CODE };

struct role_queue;

/* The code of a role after a change. */
enum code_change_kind {
    CODE_FILE,    /* that of the file if it is valid, otherwise the old code */
    CODE_SAME,    /* the old code: the new one cannot be read */
    CODE_NONE,    /* none, and none is required */
    CODE_MISSING, /* none, although it is required */
};

struct code_change {
    enum code_change_kind kind;
    const char *path; /* CODE_FILE */
    struct str why;   /* CODE_SAME, CODE_MISSING */
    /* output */
    err error;
    struct hooks_report report;
};

/* Rows of the outbox that are answered together: ascending, without duplicates. */
struct row_ids {
    int64_t *at;
    uint32_t count, cap;
};

struct job {
    struct job *next;
    enum job_kind kind;
    uint64_t number; /* order of submission to the worker */
    uint64_t key;    /* token of the veto requests, or key of the call */
    struct role_queue *role_queue;
    enum hook hook; /* of a delivery, as in its row */
    enum table object;
    int64_t object_id;
    struct arena arena;
    struct task *tasks;
    uint32_t task_count;
    struct code_change *change; /* JOB_CODE */
    /* accessed by the loop only */
    struct row_ids rows;             /* rows that a delivery answers */
    uint32_t answered;               /* number of rows answered */
    uint32_t size;                   /* bytes of the arguments of its tasks */
    struct veto_reply *veto_replies; /* veto replies: one for each task, with its key */
    struct str commands;             /* encoded hook commands, set before the job is submitted */
    bool is_encoded;
};

struct job *job_new(enum job_kind kind, uint32_t task_count);
void job_free(struct job *job);

/* False if it is already in the list. */
bool row_ids_add(struct row_ids *ids, int64_t id);

struct job_list {
    struct job *first;
    struct job *last;
};

void job_list_add(struct job_list *list, struct job *job);
struct job *job_list_take(struct job_list *list); /* NULL when empty */
void job_list_drop(struct job_list *list);

struct waiting_row;

struct role_queue {
    int64_t role_id;
    /* accessed by the loop only */
    struct waiting_row *first_row;
    struct waiting_row *last_row;
    uint32_t queued; /* deliveries that are with the worker or not submitted yet */
    struct role_queue *next_waiting;
    uint64_t last_change; /* number of the last JOB_CODE */
    /* accessed by the worker thread only */
    struct role_code_slot slot;
    /* protected by the mutex of the worker */
    struct job *drop; /* pending removal of code: CODE_NONE, CODE_MISSING; or NULL */
    struct job *load; /* pending new code after it: CODE_FILE, CODE_SAME; or NULL */
    bool is_changed;  /* in the list of changed queues */
    struct role_queue *next_changed;
    struct job_list jobs;
    struct role_queue *next_ready;
    uint32_t timeouts;        /* consecutive calls that reached the time limit */
    int64_t penalty_until_ms; /* monotonic ms; other roles are preferred until then */
};
