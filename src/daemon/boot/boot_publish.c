#include "daemon/boot/boot_links_private.h"

#include "base/hash/hash.h"
#include "base/text/buf.h"
#include "sys/failpoint.h"

/* What a boot server is sent of the boot view: the base image, part by part, and the changes of
 * each durable turn.
 *
 * A base image is read from the core by a cursor, while the turn goes on. An entry at or before the
 * cursor that changes is sent again as a change; one behind it is read later. Rows that are read
 * may belong to a batch that is not stored yet, so the image is sealed only while every row of the
 * core is durable. A new part is made only when the last one was sent, so a base image does not
 * fill the queue.
 *
 * Failure: a connection that cannot take a message is ended; the boot server connects again and
 * gets a base image. */

enum { ENTRIES_PER_PUMP = 512, BASE_WAITING_MAX = 256 << 10 };

/* Collects entries and keys, and sends a message whenever one is full. */
struct boot_writer {
    struct boot_link *link;
    struct arena *arena;
    struct buf entries, keys;
};

static void boot_writer_flush(struct boot_writer *w)
{
    if (w->entries.len)
        boot_link_send(w->link, &(struct boot_message){.kind = BOOT_MESSAGE_ENTRIES,
                                                       .entries.entries = buf_str(&w->entries)});
    if (w->keys.len)
        boot_link_send(w->link, &(struct boot_message){.kind = BOOT_MESSAGE_REMOVED,
                                                       .removed.keys = buf_str(&w->keys)});
    w->entries.len = w->keys.len = 0;
}

static void boot_writer_put(struct boot_writer *w, struct boot_key key,
                            const struct boot_entry *entry)
{
    if (entry) {
        struct buf bytes = buf_in(w->arena);
        boot_entry_encode(entry, &bytes);
        boot_list_add(&w->entries, buf_str(&bytes));
    } else {
        boot_key_encode(key, &w->keys);
    }
    if (w->entries.len + w->keys.len >= BOOT_PART_MAX)
        boot_writer_flush(w);
}

static struct boot_writer boot_writer_open(struct boot_link *l)
{
    struct arena *a = &l->all->scratch;
    return (struct boot_writer){.link = l, .arena = a, .entries = buf_in(a), .keys = buf_in(a)};
}

/* ---- the base image ---- */

void boot_publish_begin(struct boot_link *l)
{
    l->is_begun = l->is_complete = false;
    l->at = (struct boot_key){0};
    l->config_stamp = -1;
}

static void boot_publish_seal(struct boot_link *l, const struct core *core)
{
    struct buf digest = buf_in(&l->all->scratch);
    boot_digest_write(core_boot_digest(core), &digest);
    boot_link_send(l, &(struct boot_message){
                          .kind = BOOT_MESSAGE_SEALED,
                          .digest = {.turn = l->all->turn_known, .digest = buf_str(&digest)}});
    l->is_complete = true;
    l->sent_turn = l->all->turn_known;
    boot_link_flush(l);
    FAILPOINT(BOOT_BASE_AFTER);
}

static void boot_publish_read(struct boot_link *l, const struct core *core)
{
    struct boot_writer w = boot_writer_open(l);
    bool has_more = true;
    if (!l->is_begun) {
        FAILPOINT(BOOT_BASE_BEFORE);
        boot_link_send(
            l, &(struct boot_message){.kind = BOOT_MESSAGE_BASE, .at.turn = l->all->turn_known});
        l->is_begun = true;
    }
    for (uint32_t i = 0; i < ENTRIES_PER_PUMP && (has_more = core_boot_next(core, &l->at)); i++) {
        struct boot_entry entry;
        must(core_boot_view(core, l->at, &l->all->scratch, &entry));
        boot_writer_put(&w, l->at, &entry);
    }
    boot_writer_flush(&w);
    if (has_more)
        l->all->setup.wake(l->all->setup.self);
    else if (turn_seen(l->all->turn) == turn_durable(l->all->turn))
        boot_publish_seal(l, core);
}

/* ---- the configuration ---- */

/* A hash of the turns of all rows that the documents are made of. */
static int64_t boot_config_stamp(const struct core *core, int64_t node_id, struct arena *a)
{
    struct buf turns = buf_in(a);
    int64_t one;
    for (int64_t id = 0; (id = core_next_native(core, node_id, id, &one));) {
        buf_put_varint(&turns, (uint64_t)id);
        buf_put_varint(&turns, (uint64_t)one);
    }
    return (int64_t)(hash64(buf_str(&turns), 0) >> 1);
}

static void boot_publish_config(struct boot_link *l, const struct core *core)
{
    const int64_t stamp = boot_config_stamp(core, l->node_id, &l->all->scratch);
    struct buf documents = buf_in(&l->all->scratch);
    int64_t one;
    if (stamp == l->config_stamp)
        return;
    for (int64_t id = 0; (id = core_next_native(core, l->node_id, id, &one));) {
        const struct str document = core_staged(core, id, &l->all->scratch);
        if (documents.len + document.len < BOOT_BODY_MAX - BOOT_PART_MAX)
            boot_list_add(&documents, document);
    }
    boot_link_send(l, &(struct boot_message){.kind = BOOT_MESSAGE_CONFIG,
                                             .config.documents = buf_str(&documents)});
    l->config_stamp = stamp;
    /* Noderoles that were failed may be committed again: what is still wrong fails them again. */
    if (l->status[0])
        boot_links_notify(l->all, l->node_id, BOOT_EVENT_FAILED, 0, str_from(l->status));
}

void boot_publish_pump(struct boot_link *l)
{
    const struct core *core = turn_core(l->all->turn);
    if (!core || !l->all->has_core || !l->node_id || l->is_ending)
        return;
    const struct arena_mark mark = arena_mark(&l->all->scratch);
    const bool is_durable = turn_seen(l->all->turn) == turn_durable(l->all->turn);
    if (is_durable && (l->config_stamp < 0 || l->all->config_turn != turn_durable(l->all->turn)))
        boot_publish_config(l, core);
    if (!l->is_complete && link_waiting(&l->link) < BASE_WAITING_MAX)
        boot_publish_read(l, core);
    arena_rewind(&l->all->scratch, mark);
}

/* ---- the port ---- */

void boot_publish_loaded(void *self, int64_t turn)
{
    struct boot_links *all = self;
    all->has_core = true;
    all->turn_known = turn;
    all->config_turn = -1;
    boot_requests_reset(all);
    for (uint32_t i = 0; i < all->count; i++) {
        struct boot_link *l = all->links[i];
        if (!l->node_id || l->is_ending)
            continue;
        /* The core knows no connection. */
        boot_links_notify(all, l->node_id, BOOT_EVENT_CONNECTED, 0, STR(""));
        l->was_reloaded = true;
        l->sent_turn = l->taken_turn = 0;
        boot_publish_begin(l);
    }
}

void boot_publish_changed(void *self, int64_t turn, const struct boot_change *changes,
                          uint32_t count)
{
    struct boot_links *all = self;
    all->turn_known = turn;
    for (uint32_t i = 0; i < all->count; i++) {
        struct boot_link *l = all->links[i];
        if (!l->node_id || l->is_ending || !l->is_begun)
            continue;
        const struct arena_mark mark = arena_mark(&all->scratch);
        struct boot_writer w = boot_writer_open(l);
        for (uint32_t k = 0; k < count; k++)
            if (l->is_complete || boot_key_cmp(changes[k].key, l->at) <= 0)
                boot_writer_put(&w, changes[k].key, changes[k].entry);
        boot_writer_flush(&w);
        if (l->is_complete) {
            FAILPOINT(BOOT_AT_BEFORE);
            boot_link_send(l, &(struct boot_message){.kind = BOOT_MESSAGE_AT, .at.turn = turn});
            l->sent_turn = turn;
        }
        arena_rewind(&all->scratch, mark);
    }
}

bool boot_publish_matches(const struct boot_link *l, const struct boot_msg_digest *digest)
{
    const struct core *core = turn_core(l->all->turn);
    struct digest128 theirs;
    if (!core || !l->is_complete || digest->turn != l->sent_turn ||
        turn_seen(l->all->turn) != turn_durable(l->all->turn))
        return true; /* not comparable now; the next one is */
    return boot_digest_read(digest->digest, &theirs) && digest_eq(theirs, core_boot_digest(core));
}
