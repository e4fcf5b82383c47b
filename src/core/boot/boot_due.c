#include "core/boot/boot_service.h"

#include "base/json/json.h"
#include "core/boot/boot_changes.h"
#include "core/data/data.h"
#include "core/network/network_private.h"

/* Noderoles that publish boots, and what each of them has not published yet (docs/spec/boot.md,
 * "Served"; ADR 0090).
 *
 * A committed noderole of such a role has a cursor (noderole.boot_cursor): its runs have got all
 * nodes up to this id. A new noderole begins at 0 and gets the nodes in the order of their ids, a
 * part with each run, until the cursor is BOOT_CURSOR_END. A node below the cursor whose entry of
 * the boot view changes gets a row (table boot_due), one for each noderole, also when the node was
 * deleted. The cost of a change is therefore the same in a small and in a large fleet, and a
 * noderole that is bound in a large fleet makes no rows.
 *
 * A run is staged with some of the rows and the next part, together at most core.boot_part
 * nodes with their current entries. The rows get its attempt number, and boot_staged the end of the
 * part. If the attempt succeeds, rows that still have its number are removed and the cursor is
 * moved. A node that changes in between loses the number, or gets a row, so it is published again.
 * The turn of the change is no such number: it is not known before the batch ends, and entries are
 * staged in the step that starts the run.
 *
 * This file owns the table, the two fields and core.boot_due. Order: rows are made when the boot
 * view is settled, at the end of a step; the run is requested there too, so a noderole with
 * something to publish has a run or an enqueued one, or it has a rerun mark and is not runnable, or
 * it is not ACTIVE. Failure: if the table is full, a noderole starts over with its cursor at 0,
 * which needs no rows. */

enum { NODE_BITS = 40, PART_BYTES_MAX = 512 << 10 };
_Static_assert(NODEROLES_MAX <= 1u << 24, "noderole and node id are one key");

static bool boot_due_fits(int64_t node_id)
{
    return node_id > 0 && node_id < INT64_C(1) << NODE_BITS;
}

static uint64_t boot_due_key(noderole_ix nr, int64_t node_id)
{
    return (uint64_t)nr.v << NODE_BITS | (uint64_t)node_id;
}

/* The row of the noderole with the lowest node id above `after`; none at the end. */
static boot_due_ix boot_due_next(const struct core *c, noderole_ix nr, int64_t after)
{
    uint64_t key;
    uint32_t ix;
    const bool found =
        omap_ceil(&c->boot_due, boot_due_key(nr, after) + 1, &key, &ix) && key >> NODE_BITS == nr.v;
    return (boot_due_ix){found ? ix : 0};
}

static void boot_due_remove(struct core *c, boot_due_ix ix)
{
    const struct boot_due *row = boot_due_at(c, ix);
    omap_remove(&c->boot_due, boot_due_key(row->noderole, row->node_id));
    core_remove_row(c, TABLE_BOOT_DUE, ix.v);
}

static void boot_due_remove_all(struct core *c, noderole_ix nr)
{
    for (boot_due_ix ix; (ix = boot_due_next(c, nr, 0)).v;)
        boot_due_remove(c, ix);
}

void boot_due_forget(struct core *c, noderole_ix nr)
{
    const struct noderole *row = noderole_at(c, nr);
    boot_due_remove_all(c, nr);
    if (!row->boot_cursor && !row->boot_staged)
        return;
    struct noderole *edited = noderole_edit(c, nr);
    edited->boot_cursor = edited->boot_staged = 0;
}

/* ---- queries ---- */

/* Nodes above it are staged with a later part, so their changes need no rows. */
static int64_t boot_due_reach(const struct core *c, noderole_ix nr)
{
    const struct noderole *row = noderole_at(c, nr);
    return row->boot_staged > row->boot_cursor ? row->boot_staged : row->boot_cursor;
}

bool boot_due_has(const struct core *c, noderole_ix nr, int64_t node_id)
{
    return node_id > noderole_at(c, nr)->boot_cursor || !boot_due_fits(node_id) ||
           omap_find(&c->boot_due, boot_due_key(nr, node_id));
}

static bool boot_due_has_any(const struct core *c, noderole_ix nr)
{
    return noderole_at(c, nr)->boot_cursor != BOOT_CURSOR_END || boot_due_next(c, nr, 0).v;
}

int64_t core_boot_next_due(const struct core *c, int64_t noderole_id, int64_t after)
{
    const noderole_ix nr = noderole_by_id(c, noderole_id);
    const boot_due_ix ix =
        nr.v && after < INT64_C(1) << NODE_BITS ? boot_due_next(c, nr, after) : (boot_due_ix){0};
    return ix.v ? boot_due_at(c, ix)->node_id : 0;
}

/* What is known about a node that is due; its row is none if it is due as a part. */
static struct boot_due_node boot_due_node(const struct core *c, noderole_ix nr, boot_due_ix ix,
                                          int64_t node_id)
{
    const struct noderole *row = noderole_at(c, nr);
    if (ix.v)
        return (struct boot_due_node){node_id, boot_due_at(c, ix)->o.created_at,
                                      boot_due_at(c, ix)->attempt};
    return (struct boot_due_node){.node_id = node_id,
                                  .attempt = node_id <= row->boot_staged ? row->attempt : 0};
}

void boot_due_describe(const struct core *c, noderole_ix nr, int64_t node_id,
                       struct boot_serving *out)
{
    if (out->is_served)
        return;
    const boot_due_ix ix = {
        boot_due_fits(node_id) ? omap_find(&c->boot_due, boot_due_key(nr, node_id)) : 0};
    const struct boot_due_node due = boot_due_node(c, nr, ix, node_id);
    out->since_ms = due.since_ms;
    out->attempt = due.attempt;
}

bool core_boot_due_after(const struct core *c, int64_t noderole_id, int64_t after,
                         struct boot_due_node *out)
{
    const noderole_ix nr = noderole_by_id(c, noderole_id);
    if (!nr.v || !boot_service_is_published(c, nr) || after < 0 || after >= INT64_C(1) << NODE_BITS)
        return false;
    const boot_due_ix ix = boot_due_next(c, nr, after);
    const int64_t cursor = noderole_at(c, nr)->boot_cursor;
    struct boot_key key = {BOOT_MACHINE, after > cursor ? after : cursor};
    const bool is_in_part =
        cursor != BOOT_CURSOR_END && core_boot_next(c, &key) && key.kind == BOOT_MACHINE;
    if (ix.v && (!is_in_part || boot_due_at(c, ix)->node_id <= key.id))
        *out = boot_due_node(c, nr, ix, boot_due_at(c, ix)->node_id);
    else if (is_in_part)
        *out = boot_due_node(c, nr, (boot_due_ix){0}, key.id);
    return ix.v || is_in_part;
}

/* ---- changes ---- */

void boot_due_note(struct core *c, int64_t node_id)
{
    *(int64_t *)list_push(&c->boot_moved, sizeof node_id) = node_id;
}

static void boot_due_put_row(struct core *c, noderole_ix nr, int64_t node_id)
{
    if (node_id > boot_due_reach(c, nr))
        return;
    boot_due_ix ix = {omap_find(&c->boot_due, boot_due_key(nr, node_id))};
    if (ix.v) {
        if (boot_due_at(c, ix)->attempt)
            boot_due_edit(c, ix)->attempt = 0;
        return;
    }
    if (pool_is_full(&c->tables[TABLE_BOOT_DUE].pool) || !boot_due_fits(node_id)) {
        boot_due_forget(c, nr); /* start over */
        return;
    }
    ix = (boot_due_ix){core_add_row(c, TABLE_BOOT_DUE)};
    struct boot_due *row = boot_due_edit(c, ix);
    row->noderole = nr;
    row->node_id = node_id;
    omap_put(&c->boot_due, boot_due_key(nr, node_id), ix.v);
}

/* True if the noderole has something to publish, and no run is to come. One in another state than
 * ACTIVE runs later, or waits for an operator. A rerun mark is executed when the noderole becomes
 * runnable; one that is runnable has the mark because the run that was enqueued for it was
 * cancelled, and nothing executes the mark any more. */
static bool boot_due_needs_run(const struct core *c, noderole_ix nr)
{
    const struct noderole *row = noderole_at(c, nr);
    return row->state == NODEROLE_ACTIVE && !row->queued.v &&
           (!row->rerun || noderole_is_runnable(c, nr)) && boot_due_has_any(c, nr);
}

static void boot_due_request_run(struct core *c, noderole_ix nr)
{
    if (boot_due_needs_run(c, nr))
        run_enqueue(c, nr);
}

void boot_due_settle(struct core *c)
{
    struct boot_service_cursor at = {0};
    const uint32_t count = c->boot_moved.count;
    if (!count)
        return;
    const int64_t *ids = c->boot_moved.items;
    for (uint32_t i = 0; i < count; i++)
        boot_service_entry_changed(c, ids[i]);
    for (noderole_ix nr; (nr = boot_service_next(c, &at)).v;) {
        if (!boot_service_is_published(c, nr))
            continue;
        for (uint32_t i = 0; i < count; i++)
            boot_due_put_row(c, nr, ids[i]);
        boot_due_request_run(c, nr);
    }
    must(c->boot_moved.count == count);
    list_trim(&c->boot_moved, sizeof(int64_t), 1024);
}

void boot_due_review(struct core *c)
{
    struct boot_service_cursor at = {0};
    vars_edit(c)->boot_review = false;
    for (noderole_ix nr; (nr = boot_service_next(c, &at)).v;)
        if (boot_service_is_published(c, nr))
            boot_due_request_run(c, nr);
}

void boot_due_run_dropped(struct core *c, noderole_ix nr)
{
    if (!c->vars.boot_review && noderole_at(c, nr)->state == NODEROLE_ACTIVE &&
        boot_service_is_published(c, nr) && boot_due_has_any(c, nr))
        vars_edit(c)->boot_review = true;
}

/* ---- runs ---- */

/* The part that is being built. */
struct boot_staging {
    const struct core *c;
    struct arena *arena;
    role_ix role;
    struct json *due; /* {"node id": entry or null} */
    uint32_t bytes;   /* of the names, lists and values in it, about */
};

static struct json *boot_due_texts(struct arena *a, const struct str *texts, uint32_t count)
{
    struct json *list = json_make(a, JSON_ARRAY);
    for (uint32_t i = 0; i < count; i++)
        json_append(list, json_make_string(a, texts[i]));
    return list;
}

/* The values of the attribs of nodes that the role wants. */
static struct json *boot_due_attribs(struct boot_staging *s, node_ix n)
{
    struct json *values = json_make(s->arena, JSON_OBJECT);
    const struct vec *wanted = &role_at(s->c, s->role)->wanted;
    struct json *tree = NULL;
    for (uint32_t i = 0; i < wanted->count; i += 2) {
        const attrib_ix attrib = {vec_at(s->c, wanted, i)};
        if (attrib_at(s->c, attrib)->role.v)
            continue;
        if (!tree)
            tree = data_node(s->c, n, s->arena);
        const struct json *value = data_value(s->c, attrib, tree, s->arena);
        if (value)
            json_set(values, text_of(s->c, attrib_at(s->c, attrib)->name),
                     json_clone(s->arena, value));
    }
    if (values->count)
        s->bytes += json_write(s->arena, values).len;
    return values;
}

static struct json *boot_due_entry(struct boot_staging *s, node_ix n, const struct boot_entry *e)
{
    struct json *entry = json_make(s->arena, JSON_OBJECT);
    const struct boot_machine *m = &e->machine;
    struct str *texts = arena_array(s->arena, struct str, m->mac_count + m->address_count + 1u);
    for (uint32_t i = 0; i < m->address_count; i++)
        texts[i] = m->addresses[i].address;
    json_set(entry, STR("addresses"), boot_due_texts(s->arena, texts, m->address_count));
    json_set(entry, STR("attribs"), boot_due_attribs(s, n));
    json_set(entry, STR("bootenv"), json_make_string(s->arena, m->bootenv));
    json_set(entry, STR("generation"), json_make_i64(s->arena, m->generation));
    for (uint32_t i = 0; i < m->mac_count; i++)
        texts[i] = nic_format_mac(s->arena, m->macs[i]);
    json_set(entry, STR("macs"), boot_due_texts(s->arena, texts, m->mac_count));
    json_set(entry, STR("name"), json_make_string(s->arena, m->name));
    s->bytes += 200 + m->name.len + 20 * (m->mac_count + m->address_count);
    return entry;
}

static void boot_due_put(struct boot_staging *s, int64_t node_id)
{
    struct boot_entry e;
    struct buf key = buf_in(s->arena);
    const node_ix n = node_by_id(s->c, node_id);
    buf_put_i64(&key, node_id);
    const bool is_there =
        core_boot_view(s->c, (struct boot_key){BOOT_MACHINE, node_id}, s->arena, &e);
    json_set(s->due, buf_str(&key),
             is_there ? boot_due_entry(s, n, &e) : json_make(s->arena, JSON_NULL));
    s->bytes += key.len + 8;
}

static bool boot_due_is_full(const struct boot_staging *s, uint32_t most)
{
    return s->due->count >= most || s->bytes >= PART_BYTES_MAX;
}

/* The changed nodes come first: machines may wait for them. */
static int64_t boot_due_put_changed(struct boot_staging *s, noderole_ix nr, uint32_t most)
{
    int64_t last = 0;
    for (boot_due_ix ix; !boot_due_is_full(s, most) && (ix = boot_due_next(s->c, nr, last)).v;) {
        last = boot_due_at(s->c, ix)->node_id;
        boot_due_put(s, last);
    }
    return boot_due_next(s->c, nr, last).v ? last : BOOT_CURSOR_END;
}

/* The next nodes above the cursor; returns the new cursor. */
static int64_t boot_due_put_part(struct boot_staging *s, int64_t from)
{
    struct boot_key key = {BOOT_MACHINE, from};
    while (core_boot_next(s->c, &key) && key.kind == BOOT_MACHINE) {
        if (boot_due_is_full(s, s->c->boot_part))
            return from;
        boot_due_put(s, key.id);
        from = key.id;
    }
    return BOOT_CURSOR_END;
}

struct boot_portion boot_due_stage(const struct core *c, noderole_ix nr, struct arena *a)
{
    const struct noderole *row = noderole_at(c, nr);
    struct boot_portion part = {.tree = json_make(a, JSON_OBJECT), .from = row->boot_cursor};
    struct boot_staging s = {
        .c = c, .arena = a, .role = row->role, .due = json_make(a, JSON_OBJECT)};
    const bool is_complete = row->boot_cursor == BOOT_CURSOR_END;
    part.last = boot_due_put_changed(&s, nr, is_complete ? c->boot_part : c->boot_part / 2);
    part.to = is_complete ? BOOT_CURSOR_END : boot_due_put_part(&s, part.from);
    json_set(part.tree, STR("due"), s.due);
    if (!is_complete) {
        struct json *range = json_make(a, JSON_OBJECT);
        json_set(range, STR("after"), json_make_i64(a, part.from));
        json_set(range, STR("to"),
                 part.to == BOOT_CURSOR_END ? json_make(a, JSON_NULL) : json_make_i64(a, part.to));
        json_set(part.tree, STR("part"), range);
    }
    return part;
}

/* The rows that were staged, and those of the part, which has the same entries. */
void boot_due_begin(struct core *c, noderole_ix nr, const struct boot_portion *part)
{
    const uint32_t attempt = noderole_at(c, nr)->attempt;
    int64_t at = 0;
    for (boot_due_ix ix; (ix = boot_due_next(c, nr, at)).v;) {
        at = boot_due_at(c, ix)->node_id;
        const bool is_in_part = at > part->from && at <= part->to;
        if (at > part->last && !is_in_part && at > part->from)
            break;
        if (at <= part->last || is_in_part)
            boot_due_edit(c, ix)->attempt = attempt;
    }
    if (noderole_at(c, nr)->boot_staged != part->to)
        noderole_edit(c, nr)->boot_staged = part->to;
}

void boot_due_end(struct core *c, noderole_ix nr, uint32_t attempt)
{
    int64_t at = 0;
    if (!boot_service_is_published(c, nr))
        return;
    for (boot_due_ix ix; (ix = boot_due_next(c, nr, at)).v;) {
        at = boot_due_at(c, ix)->node_id;
        if (boot_due_at(c, ix)->attempt == attempt)
            boot_due_remove(c, ix);
    }
    if (noderole_at(c, nr)->boot_cursor != noderole_at(c, nr)->boot_staged)
        noderole_edit(c, nr)->boot_cursor = noderole_at(c, nr)->boot_staged;
    boot_service_changed(c);
    boot_due_request_run(c, nr);
}

/* ---- load and check ---- */

bool boot_due_can_load(const struct core *c, const struct boot_due_record *r)
{
    const noderole_ix nr = noderole_by_id(c, r->noderole_id);
    return nr.v && boot_due_fits(r->node_id) &&
           !omap_find(&c->boot_due, boot_due_key(nr, r->node_id));
}

void boot_due_index(struct core *c, boot_due_ix ix)
{
    const struct boot_due *row = boot_due_at(c, ix);
    omap_put(&c->boot_due, boot_due_key(row->noderole, row->node_id), ix.v);
}

static const char *boot_due_check_noderole(const struct core *c, noderole_ix nr)
{
    const struct noderole *row = noderole_at(c, nr);
    if (row->boot_cursor < 0 || row->boot_staged < 0 ||
        (row->state == NODEROLE_PROPOSED &&
         (row->boot_cursor || row->boot_staged || boot_due_next(c, nr, 0).v)))
        return "C23: a noderole that is proposed has published boots";
    if (!c->vars.boot_review && boot_service_is_published(c, nr) && boot_due_needs_run(c, nr))
        return "C23: a noderole has boots to publish and no run";
    return NULL;
}

const char *boot_due_check(const struct core *c)
{
    const struct pool *rows = &c->tables[TABLE_BOOT_DUE].pool;
    const struct pool *noderoles = &c->tables[TABLE_NODEROLE].pool;
    const char *what = NULL;
    for (uint32_t ix = pool_next(rows, 0); ix; ix = pool_next(rows, ix)) {
        const struct boot_due *row = boot_due_at(c, (boot_due_ix){ix});
        if (!pool_is_live(noderoles, row->noderole.v) ||
            omap_find(&c->boot_due, boot_due_key(row->noderole, row->node_id)) != ix)
            return "C23: a node that is due is not in the index, or of no noderole";
        if (row->attempt > noderole_at(c, row->noderole)->attempt)
            return "C23: a node that is due was staged for a later attempt";
    }
    if (c->boot_due.count != rows->live)
        return "C23: the index of due nodes has an entry without a row";
    for (uint32_t ix = pool_next(noderoles, 0); ix && !what; ix = pool_next(noderoles, ix))
        what = boot_due_check_noderole(c, (noderole_ix){ix});
    return what;
}
