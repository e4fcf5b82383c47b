/* Goal: messages between daemon and boot servers arrive as they were sent or not at all, whatever
 * the bytes are.
 * Method: a sample of each kind there and back; every cut and every changed byte; each bound at its
 * limit and beyond it. */
#include "boot/proto/boot_proto.h"

#include <string.h>

#include "model/limits.h"
#include "tests/check.h"

#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define KEY  "0123456789abcdef0123456789abcdef"
#define MAC  0x525400770001

enum { LENGTH_SIZE = 4, SAMPLES_MAX = 32 };

static struct arena arena;

static struct boot_message samples[SAMPLES_MAX];

#define SAMPLE(KIND, member, ...)                                                                  \
    samples[n++] = (struct boot_message)                                                           \
    {                                                                                              \
        .kind = BOOT_MESSAGE_##KIND, .member = { __VA_ARGS__ }                                     \
    }

static uint32_t make_server_samples(uint32_t n)
{
    SAMPLE(HELLO, hello, .version = 1, .installation = STR("ab"), .epoch = 3,
           .admin_node = STR("adm.example.com"), .interfaces = STR("\004eth1"), .http_port = 8091,
           .program = STR("0.1.0"));
    SAMPLE(TAKEN, taken, .turn = 9);
    SAMPLE(LEASE_TAKE, lease, .request = 1, .range = 2, .address = 0x0a000007, .mac = MAC,
           .lease_s = LEASE_S_MAX);
    SAMPLE(LEASE_RELEASE, lease, .range = 2, .address = 1, .mac = MAC);
    SAMPLE(LEASE_DECLINE, lease, .range = 2, .address = UINT32_MAX, .mac = MAC);
    SAMPLE(GRANT, grant, .request = 1, .node = 2, .generation = 3, .mac = MAC, .ticket = STR(HASH));
    SAMPLE(DOCUMENT, document, .request = 1, .path = STR("nodes/n1/bootstate"), .address = 7);
    SAMPLE(STATUS, status, .text = STR("port 67 is in use"));
    SAMPLE(FILES, files, .bootenv = STR("sledgehammer"), .available = true);
    SAMPLE(SEEN, seen, .kind = BOOT_SEEN_COUNT - 1, .mac = MAC, .node = 2, .generation = 3,
           .address = 4, .other = 5, .wall_ms = 6, .detail = STR("local"));
    SAMPLE(COUNTS, counts, .seen_dropped = 1, .counts = STR("x"));
    SAMPLE(DIGEST, digest, .turn = 4, .digest = STR("0123456789abcdef"));
    return n;
}

static uint32_t make_daemon_samples(uint32_t n)
{
    SAMPLE(WELCOME, welcome, .version = 1, .installation = STR("ab"), .epoch = 3, .node = 4,
           .node_name = STR("adm"), .ticket_key = STR(KEY), .old_key = STR(KEY));
    SAMPLE(REFUSED, refused, .text = STR("no"));
    SAMPLE(BASE, at, .turn = 4);
    SAMPLE(ENTRIES, entries, .entries = STR("\001x"));
    SAMPLE(REMOVED, removed, .keys = STR("x"));
    SAMPLE(AT, at, .turn = 5);
    SAMPLE(SEALED, digest, .turn = 4, .digest = STR("0123456789abcdef"));
    SAMPLE(CONFIG, config, .documents = STR("\002{}"));
    SAMPLE(LEASED, leased, .request = 1, .granted = true);
    SAMPLE(GRANTED, granted, .request = 1, .answer = 3);
    SAMPLE(CONTENT, content, .request = 1, .status = 200, .type = STR("text/plain"),
           .body = STR("\0bytes"));
    return n;
}

static struct str encoded(const struct boot_message *m)
{
    struct buf b = buf_in(&arena);
    CHECK(boot_message_encode(m, &b) == OK);
    return buf_str(&b);
}

static struct str body_of(struct str frame)
{
    return str_slice(frame, LENGTH_SIZE, frame.len);
}

TEST(each_kind_of_message_has_a_sample_and_arrives_as_it_was_sent)
{
    const uint32_t count = make_daemon_samples(make_server_samples(0));
    bool seen[BOOT_MESSAGE_END] = {true};
    for (uint32_t i = 0; i < count; i++) {
        struct boot_message got;
        const struct str frame = encoded(&samples[i]);
        CHECK((uint32_t)(uint8_t)frame.at[0] + ((uint32_t)(uint8_t)frame.at[1] << 8) ==
              frame.len - LENGTH_SIZE);
        CHECK(boot_message_decode(body_of(frame), &got) == OK);
        CHECK(got.kind == samples[i].kind && str_eq(encoded(&got), frame));
        CHECK(boot_message_is_from_server(got.kind) == (i < 12));
        seen[got.kind] = true;
    }
    for (uint32_t kind = 0; kind < BOOT_MESSAGE_END; kind++)
        CHECK(seen[kind]);
    arena_fini(&arena);
}

/* A message whose bytes are damaged may still be one; then it has exactly these bytes. */
static void check_damaged(struct str body)
{
    struct boot_message got;
    if (boot_message_decode(body, &got) == OK)
        CHECK(str_eq(body_of(encoded(&got)), body));
}

TEST(a_cut_or_changed_message_is_refused_or_another_message)
{
    const uint32_t count = make_daemon_samples(make_server_samples(0));
    for (uint32_t i = 0; i < count; i++) {
        const struct str body = body_of(encoded(&samples[i]));
        for (uint32_t len = 0; len < body.len; len++)
            check_damaged((struct str){body.at, len});
        char *copy = arena_copy(&arena, body.at, body.len);
        for (uint32_t at = 0; at < body.len; at++)
            for (uint32_t value = 0; value < 256; value++) {
                copy[at] = (char)value;
                check_damaged((struct str){copy, body.len});
                copy[at] = body.at[at];
            }
        arena_reset(&arena);
    }
    arena_fini(&arena);
}

static bool is_legal(struct boot_message m)
{
    struct boot_message got;
    return boot_message_decode(body_of(encoded(&m)), &got) == OK;
}

#define LEGAL(KIND, member, field, value, wanted)                                                  \
    do {                                                                                           \
        struct boot_message m = sample_of(BOOT_MESSAGE_##KIND);                                    \
        m.member.field = value;                                                                    \
        CHECK(is_legal(m) == (wanted));                                                            \
    } while (0)

static struct boot_message sample_of(enum boot_message_kind kind)
{
    const uint32_t count = make_daemon_samples(make_server_samples(0));
    for (uint32_t i = 0; i < count; i++)
        if (samples[i].kind == kind)
            return samples[i];
    CHECK(false);
    return samples[0];
}

TEST(fields_of_boot_servers_are_legal_up_to_their_bounds)
{
    LEGAL(HELLO, hello, epoch, -1, false);
    LEGAL(HELLO, hello, http_port, 65535, true);
    LEGAL(HELLO, hello, http_port, 65536, false);
    LEGAL(HELLO, hello, admin_node, STR("\xff"), false);
    LEGAL(TAKEN, taken, turn, -1, false);
    LEGAL(LEASE_TAKE, lease, lease_s, LEASE_S_MAX + 1, false);
    LEGAL(LEASE_TAKE, lease, lease_s, 0, false);
    LEGAL(LEASE_TAKE, lease, range, 0, false);
    LEGAL(LEASE_TAKE, lease, mac, 0, false);
    LEGAL(LEASE_TAKE, lease, mac, 0xffffffffffff, true);
    LEGAL(LEASE_TAKE, lease, mac, 0x1000000000000, false);
    LEGAL(LEASE_RELEASE, lease, address, 0, false);
    LEGAL(LEASE_RELEASE, lease, address, UINT32_MAX, true);
    LEGAL(LEASE_DECLINE, lease, address, INT64_C(1) << 32, false);
    LEGAL(GRANT, grant, request, 0, false);
    LEGAL(GRANT, grant, node, 0, false);
    LEGAL(GRANT, grant, generation, -1, false);
    LEGAL(GRANT, grant, mac, 0, false);
    LEGAL(GRANT, grant, ticket, STR("00"), false);
    LEGAL(GRANT, grant, ticket, STR(""), false);
    LEGAL(DOCUMENT, document, path, STR(""), false);
    LEGAL(DOCUMENT, document, request, 0, false);
    LEGAL(DOCUMENT, document, ticket, STR("0"), false);
    LEGAL(DOCUMENT, document, ticket, STR(HASH), true);
    LEGAL(FILES, files, bootenv, STR(""), false);
    LEGAL(SEEN, seen, kind, BOOT_SEEN_COUNT, false);
    LEGAL(SEEN, seen, other, -1, false);
    LEGAL(DIGEST, digest, digest, STR("0123456789abcde"), false);
    LEGAL(DIGEST, digest, digest, STR("0123456789abcdef0"), false);
    arena_fini(&arena);
}

TEST(fields_of_the_daemon_are_legal_up_to_their_bounds)
{
    LEGAL(WELCOME, welcome, node, 0, false);
    LEGAL(WELCOME, welcome, ticket_key, STR("short"), false);
    LEGAL(WELCOME, welcome, old_key, STR(""), true);
    LEGAL(WELCOME, welcome, old_key, STR("short"), false);
    LEGAL(AT, at, turn, -1, false);
    LEGAL(LEASED, leased, request, 0, false);
    LEGAL(GRANTED, granted, answer, 4, false);
    LEGAL(GRANTED, granted, answer, 0, true);
    LEGAL(CONTENT, content, status, 199, false);
    LEGAL(CONTENT, content, status, 600, false);
    arena_fini(&arena);
}

static struct str bytes_of_size(uint32_t size)
{
    char *bytes = arena_alloc(&arena, size);
    memset(bytes, 'x', size);
    return (struct str){bytes, size};
}

TEST(texts_and_messages_have_limits)
{
    struct boot_message content = sample_of(BOOT_MESSAGE_CONTENT);
    struct boot_message status = sample_of(BOOT_MESSAGE_STATUS);
    struct buf b = buf_in(&arena);
    status.status.text = bytes_of_size(BOOT_STATUS_MAX);
    CHECK(is_legal(status));
    status.status.text = bytes_of_size(BOOT_STATUS_MAX + 1);
    CHECK(!is_legal(status));
    content.content.body = bytes_of_size(BOOT_DOCUMENT_MAX);
    CHECK(is_legal(content));
    content.content.body = bytes_of_size(BOOT_DOCUMENT_MAX + 1);
    CHECK(!is_legal(content));
    content.content.body = bytes_of_size(BOOT_BODY_MAX);
    CHECK(boot_message_encode(&content, &b) == ERR_LIMIT && b.len == 0);
    arena_fini(&arena);
}

TEST(a_list_is_read_as_it_was_written_and_ends_at_damage)
{
    struct buf b = buf_in(&arena);
    struct str item;
    uint32_t at = 0;
    bool is_bad = false;
    boot_list_add(&b, STR("one"));
    boot_list_add(&b, STR(""));
    boot_list_add(&b, STR("three"));
    const struct str list = buf_str(&b);
    CHECK(boot_list_next(list, &at, &item, &is_bad) && str_eq(item, STR("one")));
    CHECK(boot_list_next(list, &at, &item, &is_bad) && item.len == 0);
    CHECK(boot_list_next(list, &at, &item, &is_bad) && str_eq(item, STR("three")));
    CHECK(!boot_list_next(list, &at, &item, &is_bad) && !is_bad);
    at = 0;
    CHECK(boot_list_next(str_slice(list, 0, 4), &at, &item, &is_bad));
    CHECK(!boot_list_next(str_slice(list, 0, 4), &at, &item, &is_bad) && !is_bad);
    at = 5;
    CHECK(!boot_list_next(str_slice(list, 0, list.len - 1), &at, &item, &is_bad) && is_bad);
    arena_fini(&arena);
}

TEST(counts_are_read_as_they_were_written_and_end_at_damage)
{
    const struct boot_count count = {BOOT_METRIC_DHCP, STR("discover"), STR("offered"), 7};
    struct boot_count wrong[4] = {count, count, count, count}, got;
    struct buf b = buf_in(&arena);
    uint32_t at = 0;
    bool is_bad = false;
    boot_count_put(&count, &b);
    boot_count_put(&(struct boot_count){.metric = BOOT_METRIC_DROPPED}, &b);
    CHECK(boot_count_next(buf_str(&b), &at, &got, &is_bad) && got.metric == BOOT_METRIC_DHCP);
    CHECK(str_eq(got.first, count.first) && str_eq(got.second, count.second) && got.value == 7);
    CHECK(boot_count_next(buf_str(&b), &at, &got, &is_bad) && got.metric == BOOT_METRIC_DROPPED);
    CHECK(!boot_count_next(buf_str(&b), &at, &got, &is_bad) && !is_bad);
    wrong[0].metric = BOOT_METRIC_COUNT;
    wrong[1].first = bytes_of_size(BOOT_LABEL_MAX + 1);
    wrong[2].second = STR("\xff");
    wrong[3].value = -1;
    for (uint32_t i = 0; i < 4; i++) {
        b.len = at = 0;
        boot_count_put(&wrong[i], &b);
        CHECK(!boot_count_next(buf_str(&b), &at, &got, &is_bad) && is_bad);
    }
    arena_fini(&arena);
}

TEST(a_digest_is_read_as_it_was_written)
{
    const struct digest128 digest = {0x0123456789abcdef, 0xfedcba9876543210};
    struct digest128 got;
    struct buf b = buf_in(&arena);
    boot_digest_write(digest, &b);
    CHECK(b.len == 16 && boot_digest_read(buf_str(&b), &got) && digest_eq(got, digest));
    CHECK(!boot_digest_read(str_slice(buf_str(&b), 0, 15), &got));
    arena_fini(&arena);
}
