/* hook_worker.h - the thread that executes hook jobs.
 *
 * The worker only calls the code of roles; it has no access to ports or to the core. Veto requests
 * come first, because a client waits for the reply. Other jobs are taken round-robin: one job of
 * each role that has any, those of one role in order. A role whose call reached its time limit is
 * passed over for a while, longer each time. With keep_order, all jobs except veto requests are
 * executed in order of arrival instead.
 *
 * Files with code are read and compiled here too: before the next call of their role, and otherwise
 * one between two jobs. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hooks/job.h"
#include "hooks/sandbox.h"

struct hook_worker_callbacks {
    void *self;
    void (*wake)(void *self);
    int64_t (*mono_ms)(void *self);
};

struct hook_worker {
    pthread_t thread;
    struct sandbox_limits limits;
    atomic_bool stop; /* also ends the active call */
    struct hook_worker_callbacks callbacks;
    pthread_mutex_t mutex; /* protects all fields below */
    pthread_cond_t more;   /* signalled when there is work, and on stop */
    pthread_cond_t idle;   /* signalled when no work is left */
    bool is_busy;          /* executing a job or waking the loop */
    bool keep_order;       /* in order of arrival instead of round-robin */
    bool is_code_next;     /* the last work was a job: code is next */
    uint64_t last_number;  /* of the job that was submitted last */
    struct job_list veto_jobs;
    struct role_queue *first_changed; /* queues of roles whose code may have to be changed */
    struct role_queue *last_changed;
    struct role_queue *first_ready; /* queues with jobs, the next one first */
    struct role_queue *last_ready;
    struct job_list done;
};

/* False if the thread could not be started. Jobs are executed in order until keep_order is cleared.
 */
bool hook_worker_start(struct hook_worker *w, struct hook_worker_callbacks callbacks,
                       struct sandbox_limits limits);
/* Ends the active call and drops pending jobs. */
void hook_worker_stop(struct hook_worker *w);
void hook_worker_keep_order(struct hook_worker *w, bool keep_order);
/* Unless keep_order is set, a job of on_node_change replaces the last one about its node that has
 * not been called yet: the replaced job is returned. Otherwise NULL. */
struct job *hook_worker_submit(struct hook_worker *w, struct job *job);
/* Submit a JOB_CODE: every call of its role that starts after this uses the new code. Returns
 * earlier changes that have become unnecessary. */
struct job_list hook_worker_change(struct hook_worker *w, struct job *job);
/* Take all finished jobs in order. */
struct job_list hook_worker_take(struct hook_worker *w);
/* Wait until all jobs are finished and the loop was woken. */
void hook_worker_wait_idle(struct hook_worker *w);
