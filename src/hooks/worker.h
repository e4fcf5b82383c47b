/* worker.h - the thread itself: jobs in, jobs done out.
 *
 * A job belongs to the loop's thread, then to the worker, then to the loop's thread again. The
 * worker calls the code on its shelf and nothing else; it knows no port and no core.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "hooks/shelf.h"
#include "hooks/task.h"
#include "model/command.h"
#include "model/record.h"

enum job_kind { JOB_DELIVER, JOB_ASK, JOB_CALL };

struct job {
    struct job *next;
    enum job_kind kind;
    uint64_t key;   /* id of the outbox row, token of the questions, key of the call */
    enum hook hook; /* of a delivery, as in its row */
    int64_t object_id;
    struct arena arena;
    struct task *tasks;
    uint32_t task_count;
    struct answer *answers; /* to questions: one for each task, its key filled in */
    struct str wishes;      /* encoded, when the job is about to be handed over */
    bool is_encoded;
};

struct job *job_new(enum job_kind kind, uint64_t key, uint32_t task_count);
void job_free(struct job *job);

struct job_list {
    struct job *first;
    struct job *last;
};

void job_list_add(struct job_list *list, struct job *job);
struct job *job_list_take(struct job_list *list); /* NULL when empty */
void job_list_drop(struct job_list *list);

struct worker {
    pthread_t thread;
    struct shelf shelf;
    atomic_bool stop;
    void *wake_self;
    void (*wake)(void *self);
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t more;
    pthread_cond_t idle;
    bool is_busy;         /* with a job, or with telling of it */
    struct job_list asks; /* somebody waits for these */
    struct job_list rest;
    struct job_list done;
};

/* False when the thread does not start. */
bool worker_start(struct worker *w, void (*wake)(void *self), void *wake_self);
/* Ends what runs and drops what waits. */
void worker_stop(struct worker *w);
void worker_submit(struct worker *w, struct job *job);
/* All jobs that are done, in the order they were. */
struct job_list worker_take(struct worker *w);
/* Wait until all jobs are done and told of. */
void worker_wait_idle(struct worker *w);
