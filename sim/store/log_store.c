#include "sim/store/log_store.h"

#include <string.h>
#include <sys/mman.h>

enum { LOG_PAGE = 4096 };
#define LOG_CAP ((size_t)64 << 30) /* bytes of address space */

void log_store_init(struct log_store *l)
{
    *l = (struct log_store){.cap = LOG_CAP};
    void *log = mmap(NULL, l->cap, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(log != MAP_FAILED);
    l->log = log;
}

void log_store_fini(struct log_store *l)
{
    if (l->log)
        munmap(l->log, l->cap);
    *l = (struct log_store){0};
}

size_t log_store_size(const struct log_store *l)
{
    return (l->size + LOG_PAGE - 1) / LOG_PAGE * LOG_PAGE;
}

static err log_lead(void *self, int64_t epoch, struct store_mark *out_mark)
{
    struct log_store *l = self;
    if (epoch && epoch != l->epoch)
        return ERR_FENCED;
    l->epoch++;
    *out_mark = (struct store_mark){.epoch = l->epoch, .turn = l->turn};
    return OK;
}

static err log_load(void *self, struct record_callback callback)
{
    const struct log_store *l = self;
    (void)callback;
    return l->turn == 0 ? OK : ERR_UNAVAILABLE;
}

static err log_submit(void *self, const struct batch *batch)
{
    struct log_store *l = self;
    must(!l->pending);
    if (batch->epoch != l->epoch || batch->turn != l->turn + 1)
        return ERR_FENCED;
    if (batch->changes.len > l->cap - l->size)
        return ERR_NO_SPACE;
    memcpy(l->log + l->size, batch->changes.at, batch->changes.len);
    l->size += batch->changes.len;
    l->rows += batch->rows;
    l->batches++;
    l->turn = batch->turn;
    l->pending = true;
    return OK;
}

static err log_poll(void *self, bool *out_busy)
{
    struct log_store *l = self;
    must(l->pending);
    l->pending = false;
    *out_busy = false;
    return OK;
}

static err log_read_mark(void *self, struct store_mark *out_mark)
{
    const struct log_store *l = self;
    *out_mark = (struct store_mark){.epoch = l->epoch, .turn = l->turn};
    return OK;
}

struct store_port log_store_port(struct log_store *l)
{
    return (struct store_port){.self = l,
                               .lead = log_lead,
                               .load = log_load,
                               .submit = log_submit,
                               .poll = log_poll,
                               .read_mark = log_read_mark};
}
