#include "boot/proto/boot_proto.h"

#include "model/grant.h"
#include "model/limits.h"

/* Encoding and decoding are generated from the field lists of boot_proto.h. boot_message_decode is
 * the only place that validates: bytes of a peer are refused here as a whole, so that later code
 * can rely on every field. Both directions are bounded by BOOT_BODY_MAX. */

enum { LENGTH_SIZE = 4, MAC_BITS = 48, IPV4_BITS = 32, DIGEST_SIZE = 16 };

/* ---- layouts ---- */

#define S(UPPER, lower)                                                                            \
    static const struct layout *boot_layout_of_##lower(void)                                       \
    {                                                                                              \
        typedef struct boot_msg_##lower FIELD_OWNER;                                               \
        static const struct field fields[] = {BOOT_MSG_##UPPER##_FIELDS(FIELD_DESCRIBE)};          \
        static const struct layout layout = {#lower, fields, sizeof fields / sizeof *fields,       \
                                             sizeof(FIELD_OWNER)};                                 \
        return &layout;                                                                            \
    }
BOOT_STRUCTS(S)
#undef S

static const struct layout *boot_message_layout(enum boot_message_kind kind)
{
    switch ((uint32_t)kind) {
#define M(upper, lower, Type, type)                                                                \
    case BOOT_MESSAGE_##upper: return boot_layout_of_##type();
        BOOT_MESSAGES(M)
#undef M
    }
    impossible("a kind of message outside the enum");
}

bool boot_message_is_from_server(enum boot_message_kind kind)
{
    return kind < BOOT_MESSAGE_WELCOME;
}

const char *boot_seen_name(enum boot_seen_kind kind)
{
    static const char *const names[] = {
#define X(upper, text) [BOOT_SEEN_##upper] = text,
        BOOT_SEEN_KINDS(X)
#undef X
    };
    must(kind < BOOT_SEEN_COUNT);
    return names[kind];
}

err boot_message_encode(const struct boot_message *message, struct buf *out)
{
    const uint32_t before = out->len;
    buf_put(out, "\0\0\0", LENGTH_SIZE);
    buf_put_c(out, (char)message->kind);
    /* The address of any member of the union. */
    fields_encode(boot_message_layout(message->kind), &message->hello, out);
    const uint32_t size = out->len - before - LENGTH_SIZE;
    if (size > BOOT_BODY_MAX) {
        out->len = before;
        return ERR_LIMIT;
    }
    for (uint32_t i = 0; i < LENGTH_SIZE; i++)
        out->at[before + i] = (char)(size >> (8 * i));
    return OK;
}

/* ---- decoding and validation ---- */

static bool boot_texts_are_valid(const struct layout *layout, const void *object)
{
    for (uint32_t i = 0; i < layout->count; i++)
        if (layout->fields[i].kind == FIELD_TEXT) {
            const struct str *text =
                (const void *)((const char *)object + layout->fields[i].offset);
            if (text->len > BOOT_STATUS_MAX || !str_is_clean(*text))
                return false;
        }
    return true;
}

static bool boot_mac_is_valid(int64_t mac)
{
    return mac >= 0 && mac >> MAC_BITS == 0;
}

static bool boot_v4_is_valid(int64_t address)
{
    return address >= 0 && address >> IPV4_BITS == 0;
}

static bool boot_lease_is_valid(const struct boot_msg_lease *m)
{
    return m->request >= 0 && m->range > 0 && m->mac > 0 && boot_mac_is_valid(m->mac) &&
           m->address > 0 && boot_v4_is_valid(m->address) && m->lease_s <= LEASE_S_MAX;
}

static bool boot_grant_is_valid(const struct boot_msg_grant *m)
{
    return m->request > 0 && m->node > 0 && m->generation >= 0 && m->mac > 0 &&
           boot_mac_is_valid(m->mac) && grant_ticket_is_valid(m->ticket);
}

static bool boot_document_is_valid(const struct boot_msg_document *m)
{
    return m->request > 0 && m->path.len && m->node >= 0 && m->generation >= 0 &&
           boot_mac_is_valid(m->mac) && boot_v4_is_valid(m->address) &&
           (m->ticket.len == 0 || grant_ticket_is_valid(m->ticket));
}

static bool boot_seen_is_valid(const struct boot_msg_seen *m)
{
    return m->kind < BOOT_SEEN_COUNT && boot_mac_is_valid(m->mac) && m->node >= 0 &&
           m->generation >= 0 && boot_v4_is_valid(m->address) && m->other >= 0 && m->wall_ms >= 0;
}

static bool boot_welcome_is_valid(const struct boot_msg_welcome *m)
{
    return m->epoch >= 0 && m->node > 0 && m->ticket_key.len == BOOT_KEY_SIZE &&
           (m->old_key.len == 0 || m->old_key.len == BOOT_KEY_SIZE);
}

static bool boot_message_is_valid(const struct boot_message *m)
{
    switch (m->kind) {
    case BOOT_MESSAGE_HELLO: return m->hello.epoch >= 0 && m->hello.http_port <= UINT16_MAX;
    case BOOT_MESSAGE_LEASE_TAKE: return m->lease.lease_s && boot_lease_is_valid(&m->lease);
    case BOOT_MESSAGE_LEASE_RELEASE:
    case BOOT_MESSAGE_LEASE_DECLINE: return boot_lease_is_valid(&m->lease);
    case BOOT_MESSAGE_GRANT: return boot_grant_is_valid(&m->grant);
    case BOOT_MESSAGE_DOCUMENT: return boot_document_is_valid(&m->document);
    case BOOT_MESSAGE_FILES: return m->files.bootenv.len > 0;
    case BOOT_MESSAGE_SEEN: return boot_seen_is_valid(&m->seen);
    case BOOT_MESSAGE_COUNTS: return m->counts.seen_dropped >= 0;
    case BOOT_MESSAGE_DIGEST:
    case BOOT_MESSAGE_SEALED: return m->digest.turn >= 0 && m->digest.digest.len == DIGEST_SIZE;
    case BOOT_MESSAGE_WELCOME: return boot_welcome_is_valid(&m->welcome);
    case BOOT_MESSAGE_TAKEN:
    case BOOT_MESSAGE_BASE:
    case BOOT_MESSAGE_AT: return m->at.turn >= 0;
    case BOOT_MESSAGE_LEASED: return m->leased.request > 0;
    case BOOT_MESSAGE_GRANTED:
        return m->granted.request > 0 && m->granted.answer <= GRANT_ANSWER_COUNT;
    case BOOT_MESSAGE_CONTENT:
        return m->content.request > 0 && m->content.status >= 200 && m->content.status < 600 &&
               m->content.body.len <= BOOT_DOCUMENT_MAX;
    case BOOT_MESSAGE_STATUS:
    case BOOT_MESSAGE_REFUSED:
    case BOOT_MESSAGE_ENTRIES:
    case BOOT_MESSAGE_REMOVED:
    case BOOT_MESSAGE_CONFIG: return true;
    case BOOT_MESSAGE_NONE:
    case BOOT_MESSAGE_END: break;
    }
    return false;
}

err boot_message_decode(struct str body, struct boot_message *out_message)
{
    uint32_t at = 1;
    struct boot_message message = {.kind = BOOT_MESSAGE_NONE};
    if (body.len == 0 || body.len > BOOT_BODY_MAX)
        return ERR_CORRUPT;
    const uint8_t kind = (uint8_t)body.at[0];
    if (kind == BOOT_MESSAGE_NONE || kind >= BOOT_MESSAGE_END)
        return ERR_CORRUPT;
    message.kind = (enum boot_message_kind)kind;
    const struct layout *layout = boot_message_layout(message.kind);
    if (fields_decode(layout, body, &at, &message.hello) != OK || at != body.len ||
        !boot_texts_are_valid(layout, &message.hello) || !boot_message_is_valid(&message))
        return ERR_CORRUPT;
    *out_message = message;
    return OK;
}

/* ---- counts ---- */

static const struct layout *boot_layout_of_count(void)
{
    typedef struct boot_count FIELD_OWNER;
    static const struct field fields[] = {BOOT_COUNT_FIELDS(FIELD_DESCRIBE)};
    static const struct layout layout = {"count", fields, sizeof fields / sizeof *fields,
                                         sizeof(FIELD_OWNER)};
    return &layout;
}

void boot_count_put(const struct boot_count *count, struct buf *out)
{
    fields_encode(boot_layout_of_count(), count, out);
}

bool boot_count_next(struct str counts, uint32_t *at, struct boot_count *out, bool *out_is_bad)
{
    if (*at >= counts.len)
        return false;
    *out_is_bad = fields_decode(boot_layout_of_count(), counts, at, out) != OK ||
                  out->metric >= BOOT_METRIC_COUNT || out->first.len > BOOT_LABEL_MAX ||
                  out->second.len > BOOT_LABEL_MAX || !str_is_clean(out->first) ||
                  !str_is_clean(out->second) || out->value < 0;
    return !*out_is_bad;
}

/* ---- lists and digests ---- */

void boot_list_add(struct buf *list, struct str item)
{
    buf_put_varint(list, item.len);
    buf_put_str(list, item);
}

bool boot_list_next(struct str list, uint32_t *at, struct str *out_item, bool *out_is_bad)
{
    uint64_t len;
    if (*at >= list.len)
        return false;
    if (!varint_read(list, at, &len) || len > list.len - *at) {
        *out_is_bad = true;
        return false;
    }
    *out_item = (struct str){list.at + *at, (uint32_t)len};
    *at += (uint32_t)len;
    return true;
}

void boot_digest_write(struct digest128 digest, struct buf *out)
{
    for (uint32_t i = 0; i < DIGEST_SIZE; i++)
        buf_put_c(out, (char)((i < 8 ? digest.lo : digest.hi) >> (8 * (i % 8))));
}

bool boot_digest_read(struct str bytes, struct digest128 *out_digest)
{
    struct digest128 digest = {0};
    if (bytes.len != DIGEST_SIZE)
        return false;
    for (uint32_t i = 0; i < DIGEST_SIZE; i++) {
        const uint64_t byte = (uint8_t)bytes.at[i];
        if (i < 8)
            digest.lo |= byte << (8 * i);
        else
            digest.hi |= byte << (8 * (i - 8));
    }
    *out_digest = digest;
    return true;
}
