#include "sim/model/model.h"

#include "base/err.h"
#include "sim/model/model_private.h"

/* The power state of nodes, from the records alone: it changes by the answer of a reading or of an
 * order and by nothing else, an answer that is old changes nothing, a failure keeps the state, and
 * the time alone is not written more than once a minute. */

enum { AGAIN_MS = 60 * 1000 };

static bool is_equal(const struct model_reading *a, const struct model_reading *b)
{
    return a->state == b->state && a->read_at == b->read_at && a->reason == b->reason &&
           a->order == b->order && a->driver == b->driver;
}

/* What must be there after a reading of this node was reported. */
static struct model_reading expected_after(const struct model_reading *before,
                                           const struct node_power_read_command *p, int64_t now_ms)
{
    struct model_reading after = *before;
    if (p->order != before->order)
        return after;
    if (p->reason) {
        after.reason = p->reason;
        return after;
    }
    after.state = p->state;
    after.reason = REASON_NONE;
    after.driver = hash64(p->driver, 0);
    const bool is_news = after.state != before->state || before->reason != REASON_NONE ||
                         after.driver != before->driver;
    if (is_news || now_ms - before->read_at >= AGAIN_MS)
        after.read_at = now_ms;
    return after;
}

/* Orders that wait may be given up or replaced by any command; those were not performed, nor was
 * one that failed without a driver, unless it is not known. */
static bool is_performed(const struct command *command, int64_t order)
{
    const struct outbox_done_command *done = &command->outbox_done;
    return command->kind == COMMAND_OUTBOX_DONE && done->outbox_id == order &&
           (!done->failed || done->power_driver.len > 0 ||
            done->reason == REASON_POWER_INTERRUPTED);
}

static const char *judge(struct model *m, int64_t id, const struct model_reading *before,
                         const struct model_reading *now, const struct command *command)
{
    struct model_reading expected = *before;
    if (command->kind == COMMAND_NODE_POWER_READ && command->node_power_read.id == id)
        expected = expected_after(before, &command->node_power_read, command->now_ms);
    if (is_equal(&expected, now))
        return NULL;
    if (now->order < before->order)
        return model_trouble(m, "after %s node %lld forgot power order %lld",
                             command_name(command->kind), (long long)id, (long long)before->order);
    if (now->order != before->order && !is_performed(command, now->order))
        return model_trouble(m, "after %s power order %lld of node %lld counts as performed",
                             command_name(command->kind), (long long)now->order, (long long)id);
    const bool is_told = command->kind == COMMAND_OUTBOX_DONE;
    const bool is_read = now->state != before->state || now->read_at != before->read_at ||
                         now->reason != before->reason || now->driver != before->driver;
    if (!is_read && command->kind != COMMAND_NODE_POWER_READ)
        return NULL;
    if (is_told &&
        (now->state == before->state ||
         (!command->outbox_done.failed && now->state == command->outbox_done.power_state)))
        return NULL;
    return model_trouble(m, "after %s the power of node %lld is %u (order %lld), before it was %u",
                         command_name(command->kind), (long long)id, now->state,
                         (long long)now->order, before->state);
}

const char *model_follow_readings(struct model *m, const struct core *c,
                                  const struct command *command)
{
    const char *trouble = NULL;
    for (uint32_t i = 0; i < m->readings_count; i++)
        if (m->readings[i].here && core_next_id(c, TABLE_NODE, (int64_t)i - 1) != (int64_t)i)
            m->readings[i] = (struct model_reading){0};
    for (int64_t id = 0; !trouble && (id = core_next_id(c, TABLE_NODE, id)) != 0;) {
        struct record record;
        must(core_record(c, TABLE_NODE, id, &record));
        struct model_reading *reading = model_reading_of(m, id);
        const struct model_reading before = *reading;
        *reading = (struct model_reading){.here = true,
                                          .state = record.node.power_state,
                                          .reason = record.node.power_reason,
                                          .read_at = record.node.power_read_at,
                                          .order = record.node.power_order,
                                          .driver = hash64(record.node.power_driver, 0)};
        if (before.here && command)
            trouble = judge(m, id, &before, reading, command);
    }
    return trouble;
}
