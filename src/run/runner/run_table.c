/* run_table.c - the runs that are open: found by name, and standing in lines for what comes next.
 * */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "run/runner/runner_private.h"

/* ---- names ---- */

static struct run **bucket_of(const struct runner *r, int64_t run_id)
{
    const uint64_t mixed = (uint64_t)run_id * 0x9e3779b97f4a7c15u;
    return &r->buckets[(mixed >> 32) & (r->bucket_count - 1)];
}

/* Where the one of that name hangs, or would; NULL when there is none at all. */
static struct run **place_of(const struct runner *r, int64_t run_id, uint32_t attempt)
{
    if (!r->bucket_count)
        return NULL;
    struct run **at = bucket_of(r, run_id);
    while (*at && ((*at)->run_id != run_id || (*at)->attempt != attempt))
        at = &(*at)->next_in_row;
    return at;
}

struct run *runs_find(const struct runner *r, int64_t run_id, uint32_t attempt)
{
    struct run **at = place_of(r, run_id, attempt);
    return at ? *at : NULL;
}

static void hang(struct runner *r, struct run *run)
{
    struct run **at = bucket_of(r, run->run_id);
    run->next_in_row = *at;
    *at = run;
}

static void grow(struct runner *r)
{
    struct run **old = r->buckets;
    const uint32_t old_count = r->bucket_count;
    r->bucket_count = old_count ? old_count * 2 : 64;
    r->buckets = calloc(r->bucket_count, sizeof *r->buckets);
    must(r->buckets);
    for (uint32_t i = 0; i < old_count; i++)
        while (old[i]) {
            struct run *run = old[i];
            old[i] = run->next_in_row;
            hang(r, run);
        }
    free(old);
}

/* ---- from the order to the end ---- */

struct run *runs_add(struct runner *r, const struct run_order *order)
{
    must(order->run_id > 0 && order->run_id < MASTER_IDS);
    if (r->run_count == r->bucket_count)
        grow(r);
    struct run *run = calloc(1, sizeof *run + order->data.len);
    must(run);
    run->run_id = order->run_id;
    run->attempt = order->attempt;
    run->node_id = order->node_id;
    run->noderole_id = order->noderole_id;
    run->data = (struct str){run->data_bytes, order->data.len};
    if (order->data.len)
        memcpy(run->data_bytes, order->data.at, order->data.len);
    hang(r, run);
    r->run_count++;
    return run;
}

void runs_free(struct run *run)
{
    free((char *)run->end.reason.at);
    free(run->facts);
    free(run);
}

/* Those that stand in other lines are at the end of no story. */
static void leave_told(struct runner *r, struct run *run)
{
    struct run *before = NULL, *at = r->told.first;
    for (; at != run; at = at->next_told)
        before = at;
    if (before)
        before->next_told = run->next_told;
    else
        r->told.first = run->next_told;
    if (r->told.last == run)
        r->told.last = before;
}

static void leave_due(struct runner *r, struct run *run)
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
    struct run **at = place_of(r, run->run_id, run->attempt);
    must(at && *at == run && !run->is_saying);
    *at = run->next_in_row;
    r->run_count--;
    if (run->is_handed)
        leave_told(r, run);
    if (run->is_due)
        leave_due(r, run);
    runs_clear_doubt(r, run);
    jobs_drop(r, run->job);
    runs_free(run);
}

void runs_each(struct runner *r, void (*visit)(struct runner *r, struct run *run))
{
    for (uint32_t i = 0; i < r->bucket_count; i++)
        for (struct run *run = r->buckets[i], *next; run; run = next) {
            next = run->next_in_row;
            visit(r, run);
        }
}

/* ---- lines ---- */

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

void runs_set_saying(struct runner *r, struct run *run)
{
    if (run->is_saying)
        return;
    run->is_saying = true;
    run->next_saying = NULL;
    if (r->saying.last)
        r->saying.last->next_saying = run;
    else
        r->saying.first = run;
    r->saying.last = run;
}

/* ---- what is known of one ---- */

static struct str put_text(char **at, struct str text)
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
                        f->jig_class.len + f->transport.address.len + f->transport.user.len;
    struct runner_facts *copy = malloc(sizeof *copy + size);
    must(copy);
    char *at = (char *)(copy + 1);
    *copy = *f;
    copy->role = put_text(&at, f->role);
    copy->node = put_text(&at, f->node);
    copy->barclamp = put_text(&at, f->barclamp);
    copy->source_path = put_text(&at, f->source_path);
    copy->jig_class = put_text(&at, f->jig_class);
    copy->transport.address = put_text(&at, f->transport.address);
    copy->transport.user = put_text(&at, f->transport.user);
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

void runs_clear_doubt(struct runner *r, struct run *run)
{
    if (run->is_doubtful)
        r->doubt_count--;
    run->is_doubtful = false;
}
