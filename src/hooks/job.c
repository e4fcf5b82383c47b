#include "hooks/job.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Jobs and intrusive FIFO lists of jobs. A job owns its arena and the list of rows that it answers;
 * it is in one list at a time, which owns it. Only an allocation can fail, and that ends the
 * process. */

struct job *job_new(enum job_kind kind, uint32_t task_count)
{
    struct job *job = calloc(1, sizeof *job);
    must(job);
    job->kind = kind;
    job->tasks = arena_array(&job->arena, struct task, task_count);
    job->task_count = task_count;
    for (uint32_t i = 0; i < task_count; i++)
        job->tasks[i].arena = &job->arena;
    return job;
}

void job_free(struct job *job)
{
    free(job->rows.at);
    arena_fini(&job->arena);
    free(job);
}

/* ---- rows ---- */

/* Insert in ascending order; nearly always at the end. */
bool row_ids_add(struct row_ids *ids, int64_t id)
{
    uint32_t at = ids->count;
    while (at && ids->at[at - 1] > id)
        at--;
    if (at && ids->at[at - 1] == id)
        return false;
    if (ids->count == ids->cap) {
        ids->cap = ids->cap ? ids->cap * 2 : 4;
        ids->at = realloc(ids->at, ids->cap * sizeof *ids->at);
        must(ids->at);
    }
    memmove(&ids->at[at + 1], &ids->at[at], (ids->count - at) * sizeof *ids->at);
    ids->at[at] = id;
    ids->count++;
    return true;
}

/* ---- lists ---- */

void job_list_add(struct job_list *list, struct job *job)
{
    job->next = NULL;
    if (list->last)
        list->last->next = job;
    else
        list->first = job;
    list->last = job;
}

struct job *job_list_take(struct job_list *list)
{
    struct job *job = list->first;
    if (job) {
        list->first = job->next;
        if (!list->first)
            list->last = NULL;
    }
    return job;
}

void job_list_drop(struct job_list *list)
{
    for (struct job *job = job_list_take(list); job; job = job_list_take(list))
        job_free(job);
}
