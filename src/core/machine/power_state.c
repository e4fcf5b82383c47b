#include "core/core_private.h"

#include "base/json/json.h"

/* The power fields of a node (ADR 0077): the power state that was read last, the reason if a later
 * reading failed, and the results of the last power orders. The daemon reports all of it; this
 * file decides which reports are stored.
 *
 * A power order is a power action that was requested for a node; its id is that of its outbox row
 * and increases with each order. A reading is either the order "status" or a poll of the daemon
 * (NODE_POWER_READ).
 *
 * Order. node.power_order is the newest order that was, or may have been, performed. A poll names
 * the value at which it began; if the value has changed since, the machine may have been switched
 * during the poll, so its result is dropped. The state that an order reports is compared by the
 * caller (boot_barrier.c): it is dropped if a later order was performed.
 *
 * A poll that equals the stored reading updates only its time, and at most once a minute, so that
 * polling a large installation does not write one row per machine and poll.
 *
 * Failure. A failed reading keeps the stored state and its time and stores the reason beside them;
 * the next successful reading removes it. A command with an unknown enum value is refused. */

enum {
    RESULTS_MAX = 4,           /* orders whose results are kept for each node */
    RESULT_TEXT_MAX = 300,     /* bytes */
    READ_AGAIN_MS = 60 * 1000, /* shortest time between writes of equal polls */
};

bool power_is_reading(struct str action)
{
    return str_eq(action, STR("status"));
}

/* ---- results of orders ---- */

static struct json *power_result_entry(struct core *c, const struct power_end *end)
{
    struct arena *a = c->arena;
    struct json *entry = json_make(a, JSON_OBJECT);
    json_set(entry, STR("order"), json_make_i64(a, end->order));
    json_set(entry, STR("action"), json_make_string(a, end->action));
    json_set(entry, STR("driver"), json_make_string(a, end->driver));
    json_set(entry, STR("failed"), json_make_bool(a, end->failed));
    json_set(entry, STR("reason"),
             end->reason ? json_make_string(a, str_from(reason_name(end->reason)))
                         : json_make(a, JSON_NULL));
    json_set(entry, STR("text"), json_make_string(a, str_clip(end->text, RESULT_TEXT_MAX)));
    json_set(entry, STR("at_ms"), json_make_i64(a, c->now_ms));
    return entry;
}

/* Results are stored newest first; the oldest ones above RESULTS_MAX are dropped. */
void power_order_ended(struct core *c, node_ix n, const struct power_end *end)
{
    const struct str old_text = text_of(c, node_at(c, n)->power_results);
    struct json *all = json_make(c->arena, JSON_ARRAY);
    json_append(all, power_result_entry(c, end));
    if (old_text.len) {
        const struct json *old = doc_tree(c->arena, old_text);
        for (const struct json *e = old->first; e && all->count < RESULTS_MAX; e = e->next)
            json_append(all, json_clone(c->arena, e));
    }
    struct node *node = node_edit(c, n);
    put_text(c, &node->power_results, json_write(c->arena, all));
    if (end->was_performed && node->power_order < end->order)
        node->power_order = end->order;
}

/* ---- readings ---- */

/* True if a successful reading makes the failure in the status of the node obsolete: the failed
 * action was a reading itself, or the machine is in the state that the action should have reached.
 * Failures of other actions (reset, cycle) stay, because no state shows that they were done. */
static bool power_reading_clears_failure(const struct core *c, node_ix n, enum power_state state)
{
    const struct node *node = node_at(c, n);
    const struct str action = text_of(c, node->reason_subject);
    if (node->reason < REASON_POWER_REFUSED || node->reason > REASON_POWER_INTERRUPTED)
        return false; /* reason.h lists the failures of power actions in this range */
    if (power_is_reading(action))
        return true;
    if (str_eq(action, STR("on")))
        return state == POWER_STATE_ON;
    return state == POWER_STATE_OFF && (str_eq(action, STR("off")) || str_eq(action, STR("halt")));
}

void power_reading_store(struct core *c, node_ix n, enum power_state state, struct str driver,
                         bool is_ordered)
{
    const struct node *node = node_at(c, n);
    const bool is_same = node->power_state == state && !node->power_reason &&
                         str_eq(text_of(c, node->power_driver), driver);
    /* Before the check for an equal reading, which also makes a failure obsolete. */
    if (power_reading_clears_failure(c, n, state))
        node_set_status(c, n, NULL);
    if (is_same && !is_ordered && c->now_ms - node->power_read_at < READ_AGAIN_MS)
        return;
    struct node *row = node_edit(c, n);
    row->power_state = state;
    row->power_read_at = c->now_ms;
    row->power_reason = REASON_NONE;
    put_text(c, &row->power_driver, driver);
    put_text(c, &row->power_error, STR(""));
}

void power_reading_failed(struct core *c, node_ix n, enum reason_code reason, struct str text)
{
    /* The text may contain figures that differ each time; they alone are not worth a write. */
    if (node_at(c, n)->power_reason == reason)
        return;
    struct node *row = node_edit(c, n);
    row->power_reason = reason;
    put_text(c, &row->power_error, str_clip(text, RESULT_TEXT_MAX));
}

void do_node_power_read(struct core *c, const struct node_power_read_command *p)
{
    const node_ix n = node_by_id(c, p->id);
    c->out->id = p->id;
    if (p->state >= POWER_STATE_COUNT)
        refuse(c, PROBLEM_BAD_VALUE, STR("state"), STR("unknown power state"));
    if (p->reason >= REASON_COUNT)
        refuse(c, PROBLEM_BAD_VALUE, STR("reason"), STR("unknown failure reason"));
    /* The node was deleted, or its power was switched after the reading began: the report is
     * outdated. */
    if (refused(c) || !n.v || node_at(c, n)->power_order != p->order)
        return;
    if (p->reason)
        power_reading_failed(c, n, (enum reason_code)p->reason, p->text);
    else
        power_reading_store(c, n, (enum power_state)p->state, p->driver, false);
}
