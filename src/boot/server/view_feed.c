#include "boot/server/view_feed.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "sys/log.h"

/* Entries of a base image are stored at once, because they go to a view that is not served. All
 * other parts are copied and wait for AT. Applying a turn can fail only for bytes that the daemon
 * would never send; the view then has a part of that turn, the connection is closed, and the base
 * image of the next connection replaces it. */

enum {
    WAITING_MAX = 64 << 20, /* bytes of one turn */
    DOCUMENTS_MAX = 1024
};

struct feed_part {
    struct feed_part *next;
    enum boot_message_kind kind; /* ENTRIES or REMOVED */
    struct str bytes;
};

static struct view *feed_new_view(void)
{
    struct view *v = calloc(1, sizeof *v);
    must(v);
    view_init(v);
    return v;
}

static void feed_free_view(struct view *v)
{
    if (!v)
        return;
    view_fini(v);
    free(v);
}

void view_feed_init(struct view_feed *f)
{
    *f = (struct view_feed){.view = feed_new_view()};
    view_refresh(f->view);
}

static void feed_drop_parts(struct view_feed *f)
{
    arena_reset(&f->arena);
    f->first = f->last = NULL;
}

void view_feed_reset(struct view_feed *f)
{
    feed_drop_parts(f);
    feed_free_view(f->next);
    f->next = NULL;
    f->has_config = false;
}

void view_feed_fini(struct view_feed *f)
{
    view_feed_reset(f);
    feed_free_view(f->view);
    arena_fini(&f->arena);
    arena_fini(&f->config_arena);
    *f = (struct view_feed){0};
}

/* ---- parts ---- */

static bool feed_put_entries(struct view *v, struct str list, int64_t now_ms)
{
    struct str item;
    bool is_bad = false;
    for (uint32_t at = 0; boot_list_next(list, &at, &item, &is_bad);)
        if (view_put(v, item, now_ms) != OK)
            return false;
    return !is_bad;
}

static bool feed_remove_keys(struct view *v, struct str keys)
{
    struct boot_key key;
    for (uint32_t at = 0; at < keys.len;) {
        if (boot_key_decode(keys, &at, &key) != OK)
            return false;
        view_remove(v, key);
    }
    return true;
}

static bool feed_apply_part(struct view *v, enum boot_message_kind kind, struct str bytes,
                            int64_t now_ms)
{
    return kind == BOOT_MESSAGE_ENTRIES ? feed_put_entries(v, bytes, now_ms)
                                        : feed_remove_keys(v, bytes);
}

static enum feed_result feed_take_part(struct view_feed *f, enum boot_message_kind kind,
                                       struct str bytes, int64_t now_ms)
{
    if (f->next)
        return feed_apply_part(f->next, kind, bytes, now_ms) ? FEED_WAITS : FEED_BAD;
    if (!f->is_sealed || arena_used(&f->arena) + bytes.len > WAITING_MAX)
        return FEED_BAD;
    struct feed_part *part = arena_new(&f->arena, struct feed_part);
    part->kind = kind;
    part->bytes = str_copy(&f->arena, bytes);
    if (f->last)
        f->last->next = part;
    else
        f->first = part;
    f->last = part;
    return FEED_WAITS;
}

/* ---- settings ---- */

static void feed_configure(struct view_feed *f)
{
    view_configure(f->view, f->documents, f->document_count);
    const struct str problem = f->view->settings.problem;
    if (f->has_config && problem.len)
        log_with(LOG_WARNING, LOG_FIELDS(LOG_S("setting", problem)),
                 "a setting of the boot services is not valid: its default is used");
    f->has_config = false;
}

static enum feed_result feed_take_config(struct view_feed *f, struct str list)
{
    struct str items[DOCUMENTS_MAX], item;
    uint32_t count = 0;
    bool is_bad = false;
    for (uint32_t at = 0; boot_list_next(list, &at, &item, &is_bad);) {
        if (count == DOCUMENTS_MAX)
            return FEED_BAD;
        items[count++] = item;
    }
    if (is_bad)
        return FEED_BAD;
    arena_reset(&f->config_arena);
    struct str *documents = arena_array(&f->config_arena, struct str, count);
    for (uint32_t i = 0; i < count; i++)
        documents[i] = str_copy(&f->config_arena, items[i]);
    f->documents = documents;
    f->document_count = count;
    f->has_config = true;
    /* A turn that changes settings only has no AT. */
    if (f->next || !f->is_sealed || f->first)
        return FEED_WAITS;
    feed_configure(f);
    view_refresh(f->view);
    return FEED_CONFIGURED;
}

/* ---- ends of a turn ---- */

static void feed_finish(struct view_feed *f, int64_t turn)
{
    view_refresh(f->view);
    f->turn = turn;
    feed_drop_parts(f);
}

static enum feed_result feed_take_at(struct view_feed *f, int64_t turn, int64_t now_ms)
{
    /* The turn is a part of the base image, which is acknowledged when it is sealed. */
    if (f->next)
        return FEED_WAITS;
    if (!f->is_sealed)
        return FEED_BAD;
    for (const struct feed_part *part = f->first; part; part = part->next)
        if (!feed_apply_part(f->view, part->kind, part->bytes, now_ms)) {
            f->is_sealed = false;
            return FEED_BAD;
        }
    if (f->has_config)
        feed_configure(f);
    feed_finish(f, turn);
    return FEED_APPLIED;
}

static enum feed_result feed_take_sealed(struct view_feed *f, const struct boot_msg_digest *sealed)
{
    struct digest128 expected, digest;
    if (!f->next || !boot_digest_read(sealed->digest, &expected))
        return FEED_BAD;
    digest = view_digest(f->next);
    if (!digest_eq(digest, expected)) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_I64("entries", view_count(f->next))),
                 "the base image of the boot view is not complete: it is requested again");
        return FEED_BAD;
    }
    feed_free_view(f->view);
    f->view = f->next;
    f->next = NULL;
    f->is_sealed = true;
    feed_configure(f);
    feed_finish(f, sealed->turn);
    return FEED_APPLIED;
}

enum feed_result view_feed_take(struct view_feed *f, const struct boot_message *message,
                                int64_t now_ms)
{
    switch ((uint32_t)message->kind) {
    case BOOT_MESSAGE_BASE:
        feed_drop_parts(f);
        feed_free_view(f->next);
        f->next = feed_new_view();
        return FEED_WAITS;
    case BOOT_MESSAGE_ENTRIES:
        return feed_take_part(f, message->kind, message->entries.entries, now_ms);
    case BOOT_MESSAGE_REMOVED:
        return feed_take_part(f, message->kind, message->removed.keys, now_ms);
    case BOOT_MESSAGE_AT: return feed_take_at(f, message->at.turn, now_ms);
    case BOOT_MESSAGE_SEALED: return feed_take_sealed(f, &message->digest);
    case BOOT_MESSAGE_CONFIG: return feed_take_config(f, message->config.documents);
    default: return FEED_BAD;
    }
}
