#include "sim/model/model.h"

#include "base/err.h"
#include "sim/model/model_private.h"

/* Checks the power state of nodes from the records alone: only the result of a reading or of a
 * power action changes it; a result that is older than the last action changes nothing; a failed
 * reading keeps the state; and the time of the reading alone is not written more than once a
 * minute. The violations begin with "power state:". */

enum { AGAIN_MS = 60 * 1000 }; /* between two writes of the time alone */

static bool reading_equals(const struct model_reading *a, const struct model_reading *b)
{
    return a->state == b->state && a->read_at == b->read_at && a->reason == b->reason &&
           a->order == b->order && a->driver == b->driver;
}

/* The expected record after the result of a reading of this node. */
static struct model_reading reading_expect(const struct model_reading *before,
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

/* True if this command reports that the power action was performed. Any command may give up or
 * replace an action that waits; such an action was not performed. Neither was one that failed
 * before a driver was called, unless it was interrupted, because then it is not known. */
static bool reading_action_performed(const struct command *command, int64_t order)
{
    const struct outbox_done_command *done = &command->outbox_done;
    return command->kind == COMMAND_OUTBOX_DONE && done->outbox_id == order &&
           (!done->failed || done->power_driver.len > 0 ||
            done->reason == REASON_POWER_INTERRUPTED);
}

static const char *reading_check(struct model *m, int64_t id, const struct model_reading *before,
                                 const struct model_reading *now, const struct command *command)
{
    struct model_reading expected = *before;
    if (command->kind == COMMAND_NODE_POWER_READ && command->node_power_read.id == id)
        expected = reading_expect(before, &command->node_power_read, command->now_ms);
    if (reading_equals(&expected, now))
        return NULL;
    if (now->order < before->order)
        return model_report(
            m, "power state: after %s node %lld has power action %lld, before it was %lld",
            command_name(command->kind), (long long)id, (long long)now->order,
            (long long)before->order);
    if (now->order != before->order && !reading_action_performed(command, now->order))
        return model_report(m,
                            "power state: after %s power action %lld of node %lld is recorded, "
                            "but was not performed",
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
    return model_report(m, "power state: after %s node %lld is in %u (action %lld), before in %u",
                        command_name(command->kind), (long long)id, now->state,
                        (long long)now->order, before->state);
}

const char *model_follow_readings(struct model *m, const struct core *c,
                                  const struct command *command)
{
    const char *trouble = NULL;
    for (uint32_t i = 0; i < m->readings_count; i++)
        if (m->readings[i].exists && core_next_id(c, TABLE_NODE, (int64_t)i - 1) != (int64_t)i)
            m->readings[i] = (struct model_reading){0};
    for (int64_t id = 0; !trouble && (id = core_next_id(c, TABLE_NODE, id)) != 0;) {
        struct record record;
        must(core_record(c, TABLE_NODE, id, &record));
        struct model_reading *reading = model_reading_of(m, id);
        const struct model_reading before = *reading;
        *reading = (struct model_reading){.exists = true,
                                          .state = record.node.power_state,
                                          .reason = record.node.power_reason,
                                          .read_at = record.node.power_read_at,
                                          .order = record.node.power_order,
                                          .driver = hash64(record.node.power_driver, 0)};
        if (before.exists && command)
            trouble = reading_check(m, id, &before, reading, command);
    }
    return trouble;
}
