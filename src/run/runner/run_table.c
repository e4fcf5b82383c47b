/* run_table.c - the open runs: a hash table by (run id, attempt), and three intrusive queues: `due`
 * (to be advanced), `unsent` (reports to submit) and `unacked` (results without acknowledgement). A
 * run is in each queue at most once, as its flags state.
 *
 * The table owns the runs, each with its strings, facts and finished job. runs_remove unlinks a run
 * from the queues before it frees it; a run with an unsent report must not be removed. Only an
 * allocation can fail, and that ends the process. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "run/runner/runner_private.h"

/* ---- hash table ---- */

static struct run **runs_bucket(const struct runner *r, int64_t run_id)
{
    const uint64_t mixed = (uint64_t)run_id * 0x9e3779b97f4a7c15u;
    return &r->buckets[(mixed >> 32) & (r->bucket_count - 1)];
}

/* The pointer to the run, or to the end of its chain; NULL if the table is empty. */
static struct run **runs_slot(const struct runner *r, int64_t run_id, uint32_t attempt)
{
    if (!r->bucket_count)
        return NULL;
    struct run **at = runs_bucket(r, run_id);
    while (*at && ((*at)->run_id != run_id || (*at)->attempt != attempt))
        at = &(*at)->next_in_bucket;
    return at;
}

struct run *runs_find(const struct runner *r, int64_t run_id, uint32_t attempt)
{
    struct run **at = runs_slot(r, run_id, attempt);
    return at ? *at : NULL;
}

static void runs_insert(struct runner *r, struct run *run)
{
    struct run **at = runs_bucket(r, run->run_id);
    run->next_in_bucket = *at;
    *at = run;
}

static void runs_grow(struct runner *r)
{
    struct run **old = r->buckets;
    const uint32_t old_count = r->bucket_count;
    r->bucket_count = old_count ? old_count * 2 : 64;
    r->buckets = calloc(r->bucket_count, sizeof *r->buckets);
    must(r->buckets);
    for (uint32_t i = 0; i < old_count; i++)
        while (old[i]) {
            struct run *run = old[i];
            old[i] = run->next_in_bucket;
            runs_insert(r, run);
        }
    free(old);
}

/* ---- add and remove ---- */

struct run *runs_add(struct runner *r, const struct run_order *order)
{
    must(order->run_id > 0 && order->run_id < SSH_CONTROL_RUN_IDS);
    if (r->run_count == r->bucket_count)
        runs_grow(r);
    struct run *run = calloc(1, sizeof *run + order->data.len);
    must(run);
    run->run_id = order->run_id;
    run->attempt = order->attempt;
    run->node_id = order->node_id;
    run->noderole_id = order->noderole_id;
    run->data = (struct str){run->data_bytes, order->data.len};
    if (order->data.len)
        memcpy(run->data_bytes, order->data.at, order->data.len);
    runs_insert(r, run);
    r->run_count++;
    return run;
}

void runs_free(struct run *run)
{
    free((char *)run->end.reason.at);
    free(run->facts);
    free(run);
}

/* Unlink from the queue of unacknowledged results. A run in `unsent` is never removed. */
static void runs_unlink_unacked(struct runner *r, struct run *run)
{
    struct run *before = NULL, *at = r->unacked.first;
    for (; at != run; at = at->next_unacked)
        before = at;
    if (before)
        before->next_unacked = run->next_unacked;
    else
        r->unacked.first = run->next_unacked;
    if (r->unacked.last == run)
        r->unacked.last = before;
}

static void runs_unlink_due(struct runner *r, struct run *run)
{
    struct run *before = NULL, *at = r->due.first;
    for (; at != run; at = at->next_due)
        before = at;
    if (before)
        before->next_due = run->next_due;
    else
        r->due.first = run->next_due;
    if (r->due.last == run)
        r->due.last = before;
}

void runs_remove(struct runner *r, struct run *run)
{
    struct run **at = runs_slot(r, run->run_id, run->attempt);
    must(at && *at == run && !run->is_unsent);
    *at = run->next_in_bucket;
    r->run_count--;
    if (run->is_unacked)
        runs_unlink_unacked(r, run);
    if (run->is_due)
        runs_unlink_due(r, run);
    runs_set_reconciled(r, run);
    jobs_drop(r, run->job);
    runs_free(run);
}

void runs_each(struct runner *r, void (*visit)(struct runner *r, struct run *run))
{
    for (uint32_t i = 0; i < r->bucket_count; i++)
        for (struct run *run = r->buckets[i], *next; run; run = next) {
            next = run->next_in_bucket;
            visit(r, run);
        }
}

/* ---- queues ---- */

void runs_set_due(struct runner *r, struct run *run)
{
    if (run->is_due)
        return;
    run->is_due = true;
    run->next_due = NULL;
    if (r->due.last)
        r->due.last->next_due = run;
    else
        r->due.first = run;
    r->due.last = run;
}

void runs_set_unsent(struct runner *r, struct run *run)
{
    if (run->is_unsent)
        return;
    run->is_unsent = true;
    run->next_unsent = NULL;
    if (r->unsent.last)
        r->unsent.last->next_unsent = run;
    else
        r->unsent.first = run;
    r->unsent.last = run;
}

/* ---- fields with owned strings ---- */

static struct str runs_copy_str(char **at, struct str text)
{
    const struct str copy = {*at, text.len};
    if (text.len)
        memcpy(*at, text.at, text.len);
    *at += text.len;
    return copy;
}

void runs_set_facts(struct run *run, const struct runner_facts *f)
{
    const size_t size = (size_t)f->role.len + f->node.len + f->barclamp.len + f->source_path.len +
                        f->jig_class.len + f->files_name.len + f->transport.address.len +
                        f->transport.user.len;
    struct runner_facts *copy = malloc(sizeof *copy + size);
    must(copy);
    char *at = (char *)(copy + 1);
    *copy = *f;
    copy->role = runs_copy_str(&at, f->role);
    copy->node = runs_copy_str(&at, f->node);
    copy->barclamp = runs_copy_str(&at, f->barclamp);
    copy->source_path = runs_copy_str(&at, f->source_path);
    copy->jig_class = runs_copy_str(&at, f->jig_class);
    copy->files_name = runs_copy_str(&at, f->files_name);
    copy->transport.address = runs_copy_str(&at, f->transport.address);
    copy->transport.user = runs_copy_str(&at, f->transport.user);
    free(run->facts);
    run->facts = copy;
}

void runs_set_end(struct run *run, const struct exec_ended *end)
{
    char *reason = NULL;
    if (end->reason.len) {
        reason = malloc(end->reason.len);
        must(reason);
        memcpy(reason, end->reason.at, end->reason.len);
    }
    free((char *)run->end.reason.at);
    run->end = *end;
    run->end.reason = (struct str){reason, end->reason.len};
}

void runs_set_reconciled(struct runner *r, struct run *run)
{
    if (run->is_unreconciled)
        r->unreconciled_count--;
    run->is_unreconciled = false;
}
