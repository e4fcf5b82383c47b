/* copy.c - copying a store, record by record, into an empty store of either engine.
 *
 * The source is read at one turn. The target is filled in one transaction, whose last statement
 * sets the store position, so that an interrupted copy leaves an empty store. After a failure the
 * transaction is rolled back and the message of the engine that failed is returned.
 *
 * In a copy that a daemon will lead, the grants of installations are void (ADR 0089): what has
 * happened to the machines since the copied turn is not known. That is done to the records on their
 * way, so a store that was filled at all has no grant that could be used.
 */
#include <time.h>

#include "base/hash/hash.h"
#include "base/text/buf.h"
#include "model/restored.h"
#include "store/engine.h"
#include "store/store_thread.h"

/* An epoch above every one that the original, or an earlier copy, can reach: the time in ms times
 * 4096, or at least 2^20 above the original. */
static int64_t store_copy_epoch(int64_t epoch)
{
    enum { ABOVE = 1 << 20, PER_MS = 1 << 12 };
    struct timespec now;
    must(clock_gettime(CLOCK_REALTIME, &now) == 0);
    const int64_t by_time = ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000) * PER_MS;
    return by_time > epoch + ABOVE ? by_time : epoch + ABOVE;
}

struct store_copying {
    struct engine *to;
    enum grant_void voids; /* GRANT_VOID_NONE: grants are copied as they are */
    struct arena scratch;
    struct digest128 digest;
};

static struct digest128 store_copy_digest(struct store_copying *copy, const struct record *record)
{
    struct buf b = buf_in(&copy->scratch);
    record_encode(record, &b);
    return digest_of_row(buf_str(&b));
}

static err store_copy_record(void *self, const struct record *record)
{
    struct store_copying *copy = self;
    struct record changed = *record;
    if (copy->voids && restored_record_forget(&changed, copy->voids)) {
        digest_sub(&copy->digest, store_copy_digest(copy, record));
        digest_add(&copy->digest, store_copy_digest(copy, &changed));
        arena_reset(&copy->scratch);
    }
    return copy->to->ops->fill_put(copy->to, &changed);
}

static err store_copy_tables(struct engine *from, struct store_copying *copy,
                             const struct store_mark *mark)
{
    struct engine *to = copy->to;
    const struct record_callback callback = {copy, store_copy_record};
    err why = to->ops->fill_begin(to);
    if (why != OK)
        return why;
    for (uint32_t t = 0; t < TABLE_COUNT && why == OK; t++)
        why = from->ops->table(from, (enum table)t, callback);
    struct store_mark raised = *mark;
    raised.epoch = store_copy_epoch(mark->epoch);
    raised.digest = copy->digest;
    if (why == OK)
        return to->ops->fill_end(to, &raised);
    ignore(to->ops->fill_end(to, NULL), "the first failure is reported");
    return why;
}

static err store_copy_into(struct engine *from, const char *to_url, enum grant_void voids,
                           struct store_why *out_why)
{
    struct engine *to;
    struct store_mark mark;
    err why = engine_open(to_url, ENGINE_WRITE, "copy", &to, out_why);
    if (why != OK)
        return why;
    why = from->ops->begin(from, &mark);
    if (why == OK) {
        struct store_copying copy = {.to = to, .voids = voids, .digest = mark.digest};
        why = store_copy_tables(from, &copy, &mark);
        arena_fini(&copy.scratch);
        from->ops->end(from);
    }
    if (why != OK)
        *out_why = to->why.text[0] ? to->why : from->why;
    to->ops->close(to);
    return why;
}

err store_copy(const char *from_url, const char *to_url, enum grant_void voids,
               struct store_why *out_why)
{
    struct engine *from;
    err why = engine_open(from_url, ENGINE_READ, "copy", &from, out_why);
    if (why != OK)
        return why;
    why = store_copy_into(from, to_url, voids, out_why);
    from->ops->close(from);
    return why;
}
