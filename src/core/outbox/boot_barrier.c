#include "core/plan/commit_view.h"

#include "base/json/json.h"

/* What machines boot, and the barrier before it (X1, X9, X10). A node counts how often what it
 * boots has changed: its boot generation. Whoever serves boots says which generation it has served;
 * an action that makes a machine boot waits until all of them have served the one it is about. It
 * waits as a row of the outbox that nobody has been told of (its generation is not 0), so it holds
 * no worker and no node, and a restart of the daemon finds it again.
 *
 * A row waits for so long and no longer, and not at all for somebody who is in error: then it is
 * taken out, undone, and the status of the node says why (X8). A time that has begun begins anew
 * when the daemon starts, as that of a parked run does: nobody knows how long it was away. */

/* ---- actions ---- */

static bool is_among(struct str action, const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (str_eq(action, str_from(names[i])))
            return true;
    return false;
}

#define IS_AMONG(action, names) is_among((action), (names), sizeof(names) / sizeof *(names))

/* After these a machine that ran has lost what it knew, and boots. */
static bool restarts(struct str action)
{
    static const char *const names[] = {"reboot", "reset", "cycle", "pxeboot"};
    return IS_AMONG(action, names);
}

static bool boots(struct str action)
{
    return restarts(action) || str_eq(action, STR("on"));
}

/* These show that the node's power obeys: what went wrong with it before is over. */
static bool switches(struct str action)
{
    static const char *const names[] = {"off", "halt"};
    return boots(action) || IS_AMONG(action, names);
}

/* ---- who serves boots, and what they have served ---- */

void boot_index(struct core *c)
{
    struct vec *roles = &vars_edit(c)->boot_roles;
    vec_clear(&c->heap, roles);
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_at(c, (role_ix){ix})->o.id))
        if (role_at(c, (role_ix){ix})->flags & ROLE_SERVES_BOOT)
            vec_insert(&c->heap, roles, roles->count, ix);
    vars_edit(c)->boot_due = true; /* also: the test jig may have come or gone */
}

static bool serves(const struct core *c, noderole_ix nr)
{
    return role_at(c, noderole_at(c, nr)->role)->flags & ROLE_SERVES_BOOT;
}

static int64_t served_by(const struct core *c, const struct json *seen, noderole_ix nr,
                         struct arena *a)
{
    struct buf key = buf_in(a);
    buf_put_i64(&key, noderole_at(c, nr)->o.id);
    const struct json *generation = json_get(seen, buf_str(&key));
    int64_t value = 0;
    return generation && json_as_i64(generation, &value) ? value : 0;
}

/* Who has not served that generation to the node: the one with the smallest id, and likewise among
 * those in error. None = nobody is left to wait for. */
struct unserved_boots {
    noderole_ix first, failed;
};

static void lag(const struct core *c, struct unserved_boots *late, noderole_ix nr)
{
    const int64_t id = noderole_at(c, nr)->o.id;
    if (!late->first.v || id < noderole_at(c, late->first)->o.id)
        late->first = nr;
    if (noderole_at(c, nr)->state == NODEROLE_ERROR &&
        (!late->failed.v || id < noderole_at(c, late->failed)->o.id))
        late->failed = nr;
}

static struct unserved_boots unserved_boots(const struct core *c, node_ix n, int64_t generation,
                                            struct arena *a)
{
    struct unserved_boots late = {0};
    const struct vec *roles = &c->vars.boot_roles;
    if (!generation || !roles->count || core_settings(c)->test_jig)
        return late;
    if (c->view)
        c->view->has_read_boots = true; /* a plan watches them all from now on */
    const struct json *seen = doc_tree(a, doc_of(c, node_at(c, n)->boot_seen));
    for (uint32_t i = 0; i < roles->count; i++) {
        const struct vec *drs = &role_at(c, (role_ix){vec_at(c, roles, i)})->deployed;
        for (uint32_t k = 0; k < drs->count; k++) {
            const struct vec *all =
                &deployment_role_at(c, (deployment_role_ix){vec_at(c, drs, k)})->noderoles;
            for (uint32_t j = 0; j < all->count; j++) {
                const noderole_ix nr = {vec_at(c, all, j)};
                const uint8_t state = view_state(c, nr);
                if (state != NODEROLE_PROPOSED && state != STATE_GONE &&
                    served_by(c, seen, nr, a) < generation)
                    lag(c, &late, nr);
            }
        }
    }
    return late;
}

/* ---- rows that wait ---- */

/* Deadlines first, then the index of the row, so that equal deadlines stay apart. */
enum { BARRIER_BITS = 23 };
_Static_assert(OUTBOX_MAX < 1u << BARRIER_BITS, "a row's index must fit below the deadline");

static uint64_t barrier_key(const struct core *c, outbox_ix ix)
{
    const int64_t deadline = outbox_at(c, ix)->deadline;
    return (uint64_t)(deadline > 0 ? deadline : 0) << BARRIER_BITS | ix.v;
}

static node_ix node_of(const struct core *c, outbox_ix ix)
{
    return node_by_id(c, outbox_at(c, ix)->object_id);
}

bool boot_waits(const struct core *c, outbox_ix ix)
{
    return outbox_at(c, ix)->generation != 0;
}

/* A row that only stands behind another has no time of its own. */
static bool has_deadline(const struct core *c, outbox_ix ix)
{
    return outbox_at(c, ix)->left_ms != 0;
}

static void line_up(struct core *c, outbox_ix ix)
{
    struct outbox *row = outbox_derive(c, ix);
    ids_insert(c, &node_derive(c, node_of(c, ix))->barrier, TABLE_OUTBOX, ix.v);
    row->deadline = c->mono_ms + row->left_ms;
    if (has_deadline(c, ix))
        omap_put(&c->barrier, barrier_key(c, ix), ix.v);
}

/* It is told of next, or taken out. */
static void step_out(struct core *c, outbox_ix ix)
{
    if (has_deadline(c, ix))
        omap_remove(&c->barrier, barrier_key(c, ix));
    ids_remove(c, &node_derive(c, node_of(c, ix))->barrier, TABLE_OUTBOX, ix.v);
    struct outbox *row = outbox_edit(c, ix);
    row->generation = row->left_ms = 0;
}

/* A machine that waits to be restarted is restarted once, as it was asked for last: what it would
 * have booted before is not what it should boot any more. */
static void supersede(struct core *c, node_ix n, struct str action)
{
    const struct vec *rows = &node_at(c, n)->barrier;
    const outbox_ix last = {rows->count ? vec_at(c, rows, rows->count - 1) : 0};
    if (!last.v || !restarts(action) || !restarts(text_of(c, outbox_at(c, last)->detail)))
        return;
    power_order_ended(
        c, n,
        &(struct power_end){.order = outbox_at(c, last)->o.id,
                            .action = STR_CONCAT(c->arena, text_of(c, outbox_at(c, last)->detail)),
                            .failed = true,
                            .text = STR("not done: a later restart of the machine replaced it")});
    step_out(c, last);
    outbox_remove(c, last);
}

/* Who has not served it yet looks at the node once more: it may serve boots since a moment ago, and
 * know nothing of machines that have not changed since. */
static void ask_to_serve(struct core *c, node_ix n, struct unserved_boots late)
{
    if (late.failed.v)
        vars_edit(c)->boot_due = true; /* it waits in vain */
    else
        hooks_node_of(c, HOOK_NODE_CHANGE, n, ROLE_SERVES_BOOT);
}

int64_t outbox_power(struct core *c, node_ix n, struct str action)
{
    supersede(c, n, action);
    const outbox_ix ix = outbox_make(c, OUTBOX_POWER, TABLE_NODE, node_at(c, n)->o.id);
    if (!ix.v)
        return 0;
    const int64_t id = outbox_at(c, ix)->o.id;
    const struct node *node = node_at(c, n);
    const int64_t left_ms = boots(action) ? (int64_t)core_settings(c)->barrier_s * 1000 : 0;
    const struct unserved_boots late = left_ms
                                           ? unserved_boots(c, n, node->boot_generation, c->arena)
                                           : (struct unserved_boots){0};
    struct outbox *row = outbox_edit(c, ix);
    put_text(c, &row->detail, action);
    /* A reading tells how the machine is now: it waits for no restart that waits. */
    if (power_is_reading(action) || (!late.first.v && !node->barrier.count)) {
        outbox_tell(c, ix);
        return id;
    }
    row->generation = node->boot_generation;
    row->left_ms =
        late.first.v ? left_ms : 0; /* behind another: what was asked first comes first */
    line_up(c, ix);
    if (late.first.v)
        ask_to_serve(c, n, late);
    return id;
}

void outbox_power_once(struct core *c, node_ix n, struct str action)
{
    /* A node asked to come on once per command is asked often enough. */
    const struct node *node = node_at(c, n);
    if (node->power_asked == c->step_number)
        return;
    node_derive(c, n)->power_asked = c->step_number;
    outbox_power(c, n, action);
}

/* ---- how it ends ---- */

enum { STATUS_TEXT_MAX = 2000 };

void node_set_status(struct core *c, node_ix n, const struct reason *why)
{
    static const struct reason none = {.code = REASON_NONE};
    const struct node *node = node_at(c, n);
    const struct reason *to = why ? why : &none;
    if (str_eq(text_of(c, node->status), to->text) && node->reason == to->code &&
        str_eq(text_of(c, node->reason_subject), to->subject))
        return;
    struct node *row = node_edit(c, n);
    row->reason = to->code;
    put_text(c, &row->reason_subject, to->subject);
    put_text(c, &row->status, to->text);
}

/* "reboot was not done: dhcp-database on admin.x has not served boot generation 7 within 600 s" */
static struct str why_given_up(struct core *c, outbox_ix ix, struct unserved_boots late)
{
    const struct outbox *row = outbox_at(c, ix);
    const bool failed = late.failed.v != 0;
    const struct noderole *nr = noderole_at(c, failed ? late.failed : late.first);
    return STR_CONCAT(
        c->arena, text_of(c, row->detail), STR(" was not done: "),
        text_of(c, role_at(c, nr->role)->name), STR(" on "), text_of(c, node_at(c, nr->node)->name),
        failed ? STR(" is in error and") : STR(""), STR(" has not served boot generation "),
        str_from_i64(c->arena, row->generation),
        failed ? STR("")
               : STR_CONCAT(c->arena, STR(" within "), str_from_i64(c->arena, row->left_ms / 1000),
                            STR(" s")));
}

/* The machine goes on as it was. Whoever asked meant it to begin anew: nothing may run there as if
 * it had, so its node stays not alive, and stopped should the machine say that it lives. */
static void give_up(struct core *c, node_ix n, outbox_ix ix, struct unserved_boots late)
{
    const struct reason why = {.code = REASON_BOOT_NOT_SERVED,
                               .subject =
                                   STR_CONCAT(c->arena, text_of(c, outbox_at(c, ix)->detail)),
                               .text = why_given_up(c, ix, late)};
    node_set_status(c, n, &why);
    power_order_ended(c, n,
                      &(struct power_end){.order = outbox_at(c, ix)->o.id,
                                          .action = why.subject,
                                          .failed = true,
                                          .reason = why.code,
                                          .text = why.text});
    if (restarts(text_of(c, outbox_at(c, ix)->detail)))
        node_edit(c, n)->stopped = true;
    step_out(c, ix);
    outbox_remove(c, ix);
    node_changed(c, n);
}

/* Each row in its order: it is given up, stays, or goes once it is the first. */
static void settle_node(struct core *c, node_ix n)
{
    uint32_t staying = 0;
    while (staying < node_at(c, n)->barrier.count) {
        const outbox_ix ix = {vec_at(c, &node_at(c, n)->barrier, staying)};
        const struct outbox *row = outbox_at(c, ix);
        const struct unserved_boots late = has_deadline(c, ix)
                                               ? unserved_boots(c, n, row->generation, c->arena)
                                               : (struct unserved_boots){0};
        if (late.failed.v || (late.first.v && row->deadline <= c->mono_ms)) {
            give_up(c, n, ix, late);
        } else if (late.first.v || staying) {
            staying++;
        } else {
            step_out(c, ix);
            outbox_tell(c, ix);
        }
    }
}

void boot_settle(struct core *c)
{
    if (!c->vars.boot_due)
        return;
    vars_edit(c)->boot_due = false;
    for (uint32_t ix = core_next_row(c, TABLE_NODE, 0); ix && c->barrier.count;
         ix = core_next_row(c, TABLE_NODE, node_at(c, (node_ix){ix})->o.id))
        settle_node(c, (node_ix){ix});
}

void boot_server_moved(struct core *c, noderole_ix nr)
{
    if (c->barrier.count && serves(c, nr))
        vars_edit(c)->boot_due = true;
}

void boot_forget_node(struct core *c, node_ix n)
{
    while (node_at(c, n)->barrier.count) {
        const outbox_ix ix = {vec_at(c, &node_at(c, n)->barrier, 0)};
        step_out(c, ix);
        outbox_remove(c, ix);
    }
}

static void power_failed(struct core *c, node_ix n, struct str action,
                         const struct outbox_done_command *p)
{
    struct reason why = reason_taken(p->reason ? p->reason : REASON_POWER_FAILED, action, STR(""));
    why.text = STR_CONCAT(c->arena, action, STR(" failed"), p->text.len ? STR(": ") : STR(""),
                          str_clip(p->text, STATUS_TEXT_MAX));
    node_set_status(c, n, &why);
}

/* An order that fails without a driver ended before the machine was asked, unless the daemon ended
 * meanwhile and does not know. */
static bool power_was_performed(const struct outbox_done_command *p)
{
    return !p->failed || p->power_driver.len || p->reason == REASON_POWER_INTERRUPTED;
}

/* What the machine answered, unless an order that came later was performed before this one. */
static void power_answered(struct core *c, node_ix n, int64_t order, struct str action,
                           const struct outbox_done_command *p)
{
    const enum reason_code reason = p->reason ? (enum reason_code)p->reason : REASON_POWER_FAILED;
    const bool is_old = node_at(c, n)->power_order > order;
    const bool was_performed = power_was_performed(p);
    power_order_ended(c, n,
                      &(struct power_end){.order = order,
                                          .action = action,
                                          .driver = p->power_driver,
                                          .failed = p->failed,
                                          .reason = p->failed ? reason : REASON_NONE,
                                          .text = p->text,
                                          .was_performed = was_performed});
    if (is_old || !was_performed)
        return;
    if (!p->failed && (p->power_state || power_is_reading(action)))
        power_was_read(c, n, (enum power_state)p->power_state, p->power_driver, true);
    else if (p->failed && power_is_reading(action))
        power_was_not_read(c, n, reason, p->text);
}

void boot_power_done(struct core *c, outbox_ix ix, const struct outbox_done_command *p)
{
    if (boot_waits(c, ix))
        return; /* nobody was told of it: whoever answers means something else */
    const struct str action = STR_CONCAT(c->arena, text_of(c, outbox_at(c, ix)->detail));
    const int64_t order = outbox_at(c, ix)->o.id;
    const node_ix n = node_of(c, ix);
    outbox_remove(c, ix);
    if (!n.v)
        return;
    if (p->failed && !power_is_reading(action)) {
        power_failed(c, n, action, p);
    } else if (!p->failed && switches(action) && node_at(c, n)->status) {
        /* What stopped it was its power. A script that asked for nothing more still does. */
        node_set_status(c, n, NULL);
        node_clear_stopped(c, n);
    }
    /* What it starts from is set with every change of the boot environment, and is no result that
     * an operator waits for. */
    if (!str_starts(action, STR("boot ")))
        power_answered(c, n, order, action, p);
}

void node_clear_stopped(struct core *c, node_ix n)
{
    if (!node_at(c, n)->stopped)
        return;
    node_edit(c, n)->stopped = false;
    sched_enqueue_node(c, n);
}

bool boot_restarts(const struct core *c, node_ix n)
{
    const struct vec *rows = &node_at(c, n)->barrier;
    for (uint32_t i = 0; i < rows->count; i++)
        if (restarts(text_of(c, outbox_at(c, (outbox_ix){vec_at(c, rows, i)})->detail)))
            return true;
    return false;
}

/* ---- somebody has served ---- */

/* What is known, without those who are gone or serve boots no more, and with this. */
static struct str seen_with(struct core *c, node_ix n, noderole_ix by, int64_t generation)
{
    const struct json *old = doc_tree(c->arena, doc_of(c, node_at(c, n)->boot_seen));
    struct json *fresh = json_make(c->arena, JSON_OBJECT);
    for (const struct json *entry = old->first; entry; entry = entry->next) {
        int64_t id = 0;
        const noderole_ix nr =
            str_parse_i64(entry->key, &id) ? noderole_by_id(c, id) : (noderole_ix){0};
        if (nr.v && serves(c, nr))
            json_set(fresh, entry->key, json_clone(c->arena, entry));
    }
    json_set(fresh, str_from_i64(c->arena, noderole_at(c, by)->o.id),
             json_make_i64(c->arena, generation));
    return json_write(c->arena, fresh);
}

void do_node_boot_served(struct core *c, const struct node_boot_served_command *p)
{
    const node_ix n = node_by_id(c, p->id);
    const noderole_ix by = noderole_by_id(c, p->noderole_id);
    c->out->id = p->id;
    if (!n.v)
        refuse_missing(c, "id", "node", p->id);
    if (c->depth == 0)
        refuse(c, PROBLEM_NOT_SUPPORTED, STR("generation"), STR("only who served it can say so"));
    if (!by.v && c->command->if_turn != IF_THERE)
        refuse_missing(c, "noderole_id", "noderole", p->noderole_id);
    if (by.v && !serves(c, by))
        refuse(c, PROBLEM_BAD_VALUE, STR("noderole_id"),
               STR("its role does not serve boots: that takes the flag serves-boot"));
    if (refused(c) || !by.v)
        return;
    /* What a node has not come to yet nobody can have served. */
    const struct json *seen = doc_tree(c->arena, doc_of(c, node_at(c, n)->boot_seen));
    if (p->generation > node_at(c, n)->boot_generation ||
        p->generation <= served_by(c, seen, by, c->arena))
        return;
    put_doc(c, &node_edit(c, n)->boot_seen, seen_with(c, n, by, p->generation));
    settle_node(c, n);
    if (boot_is_served(c, n, c->arena))
        node_changed(c, n); /* whoever waits for that hears of it */
}

/* ---- time ---- */

void boot_tick(struct core *c)
{
    const int64_t deadline = boot_next_deadline(c);
    if (deadline >= 0 && deadline <= c->mono_ms)
        vars_edit(c)->boot_due = true;
}

int64_t boot_next_deadline(const struct core *c)
{
    uint64_t key;
    uint32_t ix;
    return omap_ceil(&c->barrier, 0, &key, &ix) ? (int64_t)(key >> BARRIER_BITS) : -1;
}

void boot_load(struct core *c)
{
    const struct pool *rows = &c->tables[TABLE_OUTBOX].pool;
    for (uint32_t ix = pool_next(rows, 0); ix; ix = pool_next(rows, ix))
        if (boot_waits(c, (outbox_ix){ix}))
            line_up(c, (outbox_ix){ix});
}

/* ---- looking ---- */

noderole_ix boot_waits_for(const struct core *c, node_ix n, struct arena *a,
                           int64_t *out_generation)
{
    const struct vec *rows = &node_at(c, n)->barrier;
    if (view_node_flags(c, n) & SEEN_NODE_POWER && core_settings(c)->barrier_s) {
        *out_generation = node_at(c, n)->boot_generation;
        const noderole_ix first = unserved_boots(c, n, *out_generation, a).first;
        if (first.v)
            return first;
    }
    for (uint32_t i = 0; i < rows->count; i++) {
        const outbox_ix ix = {vec_at(c, rows, i)};
        *out_generation = outbox_at(c, ix)->generation;
        if (has_deadline(c, ix))
            return unserved_boots(c, n, *out_generation, a).first;
    }
    return (noderole_ix){0};
}

bool boot_is_served(const struct core *c, node_ix n, struct arena *a)
{
    return !unserved_boots(c, n, node_at(c, n)->boot_generation, a).first.v;
}

static const char *check_probes(const struct core *c)
{
    for (uint32_t ix = pool_next(&c->tables[TABLE_NODE].pool, 0); ix;
         ix = pool_next(&c->tables[TABLE_NODE].pool, ix)) {
        const struct node *node = node_at(c, (node_ix){ix});
        if (!node->probe.v)
            continue;
        if (!pool_is_live(&c->tables[TABLE_OUTBOX].pool, node->probe.v) || !node->alive ||
            outbox_at(c, node->probe)->kind != OUTBOX_PROBE ||
            outbox_at(c, node->probe)->object_id != node->o.id)
            return "C13: a node's probe is not its own, or the node is not alive";
    }
    return NULL;
}

const char *boot_check(const struct core *c)
{
    const char *probes = check_probes(c);
    if (probes)
        return probes;
    uint32_t waiting = 0, timed = 0;
    for (uint32_t ix = pool_next(&c->tables[TABLE_NODE].pool, 0); ix;
         ix = pool_next(&c->tables[TABLE_NODE].pool, ix)) {
        const struct vec *rows = &node_at(c, (node_ix){ix})->barrier;
        for (uint32_t i = 0; i < rows->count; i++) {
            const outbox_ix row = {vec_at(c, rows, i)};
            if (!pool_is_live(&c->tables[TABLE_OUTBOX].pool, row.v) || !boot_waits(c, row) ||
                node_of(c, row).v != ix ||
                (i && outbox_at(c, row)->o.id <=
                          outbox_at(c, (outbox_ix){vec_at(c, rows, i - 1)})->o.id))
                return "C12: a row before the barrier is not its node's, or out of order";
            if (has_deadline(c, row) && omap_find(&c->barrier, barrier_key(c, row)) != row.v)
                return "C12: a row before the barrier has no timer";
            timed += has_deadline(c, row);
        }
        waiting += rows->count;
        if (rows->count && !has_deadline(c, (outbox_ix){vec_at(c, rows, 0)}))
            return "C12: a row stands behind nobody";
    }
    for (uint32_t ix = pool_next(&c->tables[TABLE_OUTBOX].pool, 0); ix;
         ix = pool_next(&c->tables[TABLE_OUTBOX].pool, ix))
        waiting -= boot_waits(c, (outbox_ix){ix});
    return !waiting && timed == c->barrier.count ? NULL : "C12: a row waits outside the barrier";
}
