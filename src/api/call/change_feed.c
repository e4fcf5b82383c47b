#include "api/call/change_feed.h"

#include <stdlib.h>
#include <string.h>

#include "api/call/serialize.h"
#include "base/containers/sort.h"
#include "base/err.h"
#include "base/text/buf.h"
#include "core/core.h"

/* The ring of changes. Entry n is entries[n % CHANGE_FEED_ENTRIES]; entries are in the order of
 * their turns. A message sorts the entries of its turns by object and keeps the last one of each,
 * so an object that changes in every turn is listed once.
 *
 * Failure: without memory for the ring the daemon ends, as for any allocation. A turn that does not
 * fit moves `since` to it, so clients that have not read it are reset. */

enum change_kind { CHANGE_NODEROLE, CHANGE_NODE, CHANGE_DEPLOYMENT, CHANGE_RUN, CHANGE_KINDS };

struct change_entry {
    int64_t turn, id;
    int64_t deployment_id; /* 0: not known, the row is deleted */
    int64_t node_id;       /* of a noderole */
    int8_t state;          /* of a noderole, as the API shows it */
    uint8_t kind;
    bool is_gone;
};

static const char *const change_keys[CHANGE_KINDS] = {"noderoles", "nodes", "deployments", "runs"};

/* ---- recording ---- */

static void feed_drop(struct change_feed *feed, int64_t turn)
{
    feed->begin = feed->end = feed->turn_begin = 0;
    feed->since = feed->turn = turn;
    for (uint32_t i = 0; i < CHANGE_MESSAGES_KEPT; i++)
        feed->messages[i].to = 0;
}

void change_feed_fini(struct change_feed *feed)
{
    free(feed->entries);
    for (uint32_t i = 0; i < CHANGE_MESSAGES_KEPT; i++)
        arena_fini(&feed->messages[i].arena);
    *feed = (struct change_feed){0};
}

static struct change_entry *feed_entry(const struct change_feed *feed, uint64_t number)
{
    return &feed->entries[number % CHANGE_FEED_ENTRIES];
}

bool change_feed_begin(struct change_feed *feed, int64_t turn, int64_t mono_ms)
{
    if (!feed->entries)
        return false;
    if (mono_ms - feed->read_ms > CHANGE_FEED_IDLE_MS) {
        change_feed_fini(feed);
        return false;
    }
    if (turn != feed->turn + 1)
        feed_drop(feed, turn - 1);
    feed->turn = turn;
    feed->turn_begin = feed->end;
    feed->is_too_large = false;
    return true;
}

static void feed_push(struct change_feed *feed, struct change_entry entry)
{
    if (feed->end - feed->turn_begin >= CHANGE_TURN_MAX)
        feed->is_too_large = true;
    if (feed->is_too_large)
        return;
    if (feed->end - feed->begin == CHANGE_FEED_ENTRIES) {
        /* Whole turns leave the ring: a turn of which a part is left cannot be read. */
        feed->since = feed_entry(feed, feed->begin)->turn;
        while (feed->begin < feed->end && feed_entry(feed, feed->begin)->turn <= feed->since)
            feed->begin++;
    }
    entry.turn = feed->turn;
    *feed_entry(feed, feed->end++) = entry;
}

/* 0: it belongs to no deployment, or the row is deleted and has only its id. */
static int64_t change_deployment(const struct core *core, const struct record *record, bool is_gone)
{
    struct record noderole;
    switch (is_gone ? TABLE_COUNT : (int)record->table) {
    case TABLE_NODEROLE: return record->noderole.deployment_id;
    case TABLE_SNAPSHOT: return record->snapshot.deployment_id;
    case TABLE_DEPLOYMENT_ROLE: return record->deployment_role.deployment_id;
    case TABLE_DEPLOYMENT: return record->id;
    case TABLE_RUN:
        return core_record(core, TABLE_NODEROLE, record->run.noderole_id, &noderole)
                   ? noderole.noderole.deployment_id
                   : 0;
    default: return 0;
    }
}

void change_feed_add(struct change_feed *feed, const struct core *core, const struct record *record,
                     bool is_gone)
{
    struct change_entry entry = {.id = record->id,
                                 .is_gone = is_gone,
                                 .deployment_id = change_deployment(core, record, is_gone)};
    switch ((int)record->table) {
    case TABLE_NODEROLE:
        entry.kind = CHANGE_NODEROLE;
        if (!is_gone) {
            entry.node_id = record->noderole.node_id;
            entry.state = (int8_t)object_view_noderole_state(record->noderole.state);
        }
        break;
    case TABLE_NODE: entry.kind = CHANGE_NODE; break;
    case TABLE_RUN: entry.kind = CHANGE_RUN; break;
    case TABLE_DEPLOYMENT: entry.kind = CHANGE_DEPLOYMENT; break;
    case TABLE_SNAPSHOT:
    case TABLE_DEPLOYMENT_ROLE:
        if (is_gone) /* of which deployment is not known; its row or noderoles change as well */
            return;
        entry.kind = CHANGE_DEPLOYMENT;
        entry.id = entry.deployment_id;
        break;
    default: return;
    }
    feed_push(feed, entry);
}

void change_feed_end(struct change_feed *feed)
{
    if (feed->is_too_large)
        feed_drop(feed, feed->turn);
}

/* ---- reading ---- */

void change_feed_read(struct change_feed *feed, int64_t durable, int64_t mono_ms)
{
    feed->read_ms = mono_ms;
    if (!feed->entries) {
        feed->entries = calloc(CHANGE_FEED_ENTRIES, sizeof *feed->entries);
        must(feed->entries);
        feed_drop(feed, durable);
    } else if (feed->turn != durable) {
        feed_drop(feed, durable);
    }
}

bool change_feed_has(const struct change_feed *feed, int64_t turn)
{
    return turn >= feed->since && turn <= feed->turn;
}

int64_t change_feed_tick(struct change_feed *feed, int64_t mono_ms)
{
    if (feed->tick_turn > feed->turn || mono_ms - feed->tick_ms >= CHANGE_INTERVAL_MS) {
        feed->tick_turn = feed->turn;
        feed->tick_ms = mono_ms;
    }
    return feed->tick_turn;
}

/* ---- messages ---- */

/* By kind, id and turn. */
static int change_cmp(const void *left, const void *right)
{
    const struct change_entry *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->turn == b->turn ? 0 : a->turn < b->turn ? -1 : 1;
}

struct change_list {
    struct change_entry *items;
    uint32_t count;
};

static bool change_is_wanted(const struct change_entry *entry, int64_t deployment_id)
{
    return !deployment_id || !entry->deployment_id || entry->deployment_id == deployment_id;
}

/* Copies the entries of the turns; the node and the deployment of a noderole have changed with it.
 * Lowers *to to the turn with which the message has CHANGE_MESSAGE_MAX changes. */
static struct change_list change_copy(const struct change_feed *feed, int64_t from, int64_t *to,
                                      int64_t deployment_id, struct arena *scratch)
{
    uint64_t first = feed->begin, last = feed->end;
    while (first < last) { /* the first entry after `from` */
        const uint64_t middle = first + (last - first) / 2;
        if (feed_entry(feed, middle)->turn <= from)
            first = middle + 1;
        else
            last = middle;
    }
    for (last = first; last < feed->end && feed_entry(feed, last)->turn <= *to; last++) {
        if (last - first < CHANGE_MESSAGE_MAX ||
            feed_entry(feed, last)->turn == feed_entry(feed, last - 1)->turn)
            continue;
        *to = feed_entry(feed, last - 1)->turn;
        break;
    }
    struct change_list list = {arena_array(scratch, struct change_entry, (last - first) * 3 + 1),
                               0};
    for (uint64_t i = first; i < last; i++) {
        const struct change_entry *entry = feed_entry(feed, i);
        if (!change_is_wanted(entry, deployment_id))
            continue;
        list.items[list.count++] = *entry;
        if (entry->kind != CHANGE_NODEROLE || entry->is_gone)
            continue;
        list.items[list.count++] =
            (struct change_entry){.turn = entry->turn, .kind = CHANGE_NODE, .id = entry->node_id};
        list.items[list.count++] = (struct change_entry){
            .turn = entry->turn, .kind = CHANGE_DEPLOYMENT, .id = entry->deployment_id};
    }
    return list;
}

/* Keeps the last entry of each object. A deletion is final, as ids are never used again. */
static void change_keep_last(struct change_list *list, struct arena *scratch)
{
    uint32_t kept = 0;
    sort_items(list->items, list->count, sizeof *list->items, change_cmp, scratch);
    for (uint32_t i = 0; i < list->count; i++) {
        struct change_entry *last = kept ? &list->items[kept - 1] : NULL;
        const struct change_entry entry = list->items[i];
        if (!last || last->kind != entry.kind || last->id != entry.id)
            list->items[kept++] = entry;
        else if (!last->is_gone)
            *last = entry;
    }
    list->count = kept;
}

/* "KEY":[...]: the objects of one kind that are, or are not, deleted. */
static void change_put_kind(struct buf *b, const struct change_list *list, enum change_kind kind,
                            bool gone)
{
    bool any = false;
    buf_put_c(b, '"');
    buf_put_z(b, change_keys[kind]);
    buf_put_z(b, "\":[");
    for (uint32_t i = 0; i < list->count; i++) {
        const struct change_entry *entry = &list->items[i];
        if (entry->kind != kind || entry->is_gone != gone)
            continue;
        const bool has_state = kind == CHANGE_NODEROLE && !gone;
        buf_put_z(b, any ? "," : "");
        buf_put_z(b, has_state ? "[" : "");
        buf_put_i64(b, entry->id);
        if (has_state) {
            buf_put_c(b, ',');
            buf_put_i64(b, entry->state);
            buf_put_c(b, ']');
        }
        any = true;
    }
    buf_put_c(b, ']');
}

static struct str change_text(const struct change_list *list, int64_t turn, bool is_reset,
                              struct arena *a)
{
    struct buf b = buf_in(a);
    buf_put_z(&b, "{\"turn\":");
    buf_put_i64(&b, turn);
    buf_put_z(&b, is_reset ? ",\"reset\":true," : ",\"reset\":false,");
    for (int kind = 0; kind < CHANGE_KINDS; kind++) {
        change_put_kind(&b, list, (enum change_kind)kind, false);
        buf_put_c(&b, ',');
    }
    buf_put_z(&b, "\"deleted\":{");
    for (int kind = 0; kind < CHANGE_KINDS; kind++) {
        buf_put_z(&b, kind ? "," : "");
        change_put_kind(&b, list, (enum change_kind)kind, true);
    }
    buf_put_z(&b, "}}");
    return buf_str(&b);
}

struct str change_feed_nothing(int64_t turn, bool is_reset, struct arena *a)
{
    return change_text(&(struct change_list){0}, turn, is_reset, a);
}

const struct change_message *change_feed_message(struct change_feed *feed, int64_t from, int64_t to,
                                                 int64_t deployment_id)
{
    must(change_feed_has(feed, from) && from < to && to <= feed->turn);
    for (uint32_t i = 0; i < CHANGE_MESSAGES_KEPT; i++) {
        const struct change_message *kept = &feed->messages[i];
        if (kept->to && kept->from == from && kept->wanted_to == to &&
            kept->deployment_id == deployment_id)
            return kept;
    }
    struct change_message *message = &feed->messages[feed->next_message];
    feed->next_message = (feed->next_message + 1) % CHANGE_MESSAGES_KEPT;
    arena_fini(&message->arena);
    *message = (struct change_message){
        .from = from, .to = to, .wanted_to = to, .deployment_id = deployment_id};
    struct arena scratch = {0};
    struct change_list list = change_copy(feed, from, &message->to, deployment_id, &scratch);
    change_keep_last(&list, &scratch);
    message->text = change_text(&list, message->to, false, &message->arena);
    arena_fini(&scratch);
    return message;
}
