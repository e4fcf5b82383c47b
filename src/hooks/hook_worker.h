/* hook_worker.h - the thread itself: jobs in, jobs done out.
 *
 * The worker calls the code of roles and nothing else; it knows no port and no core. Questions come
 * first, since somebody waits for them. The rest is done by turns: one job of each role that has
 * any, those of one role in their order. A role whose call used up its time lets the others go
 * first for a while, longer each time. None of that in order_kept, where everything but questions
 * is done as it came.
 *
 * Files of code are read and compiled here too: before the next call of their role, whatever kind
 * of call that is, and otherwise one between any two jobs.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hooks/job.h"
#include "hooks/sandbox.h"

struct hook_worker_seams {
    void *self;
    void (*wake)(void *self);
    int64_t (*mono_ms)(void *self);
};

struct hook_worker {
    pthread_t thread;
    struct sandbox_limits limits;
    atomic_bool stop;
    struct hook_worker_seams seams;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t more;
    pthread_cond_t idle;
    bool is_busy; /* with a job, or with telling of it */
    bool order_kept;
    bool is_code_next; /* it was a job's turn */
    uint64_t last_number;
    struct job_list asks;
    struct lane *first_changed; /* lanes that may have code to come or to go */
    struct lane *last_changed;
    struct lane *first_ready; /* lanes with jobs, whoever is next first */
    struct lane *last_ready;
    struct job_list done;
};

/* False when the thread does not start. The order is kept until told otherwise. */
bool hook_worker_start(struct hook_worker *w, struct hook_worker_seams seams,
                       struct sandbox_limits limits);
/* Ends what runs and drops what waits. */
void hook_worker_stop(struct hook_worker *w);
void hook_worker_keep_order(struct hook_worker *w, bool order_kept);
/* A job of on_node_change takes the place of the last one about its node that was not called yet,
 * unless the order is kept: that one is given back. Otherwise NULL. */
struct job *hook_worker_submit(struct hook_worker *w, struct job *job);
/* A JOB_CODE: every call of its lane that begins from now on meets what it says. Those that it
 * makes needless, because nobody met them yet, are given back. */
struct job_list hook_worker_change(struct hook_worker *w, struct job *job);
/* All jobs that are done, in the order they were. */
struct job_list hook_worker_take(struct hook_worker *w);
/* Wait until all jobs are done and told of. */
void hook_worker_wait_idle(struct hook_worker *w);
