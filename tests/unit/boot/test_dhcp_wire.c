/* Goal: DHCP messages are parsed and built as RFC 2131, 2132 and 3396 describe, and what is not
 * well formed is refused.
 * Method: messages are built and parsed again; then each is cut after every byte and changed in
 * every byte, in blocks that end where the message ends, so that AddressSanitizer reports a read
 * past them. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "boot/dhcp/dhcp_wire.h"
#include "tests/check.h"

static const struct dhcp_head some_head = {.op = 1,
                                           .secs = 3,
                                           .flags = DHCP_FLAG_BROADCAST,
                                           .xid = 0x01020304,
                                           .ciaddr = 0x0a000001,
                                           .yiaddr = 0x0a000002,
                                           .siaddr = 0x0a000003,
                                           .giaddr = 0x0a000004,
                                           .mac = 0x525400000007,
                                           .file = {"snponly.efi", 11}};

static struct str text_of(struct arena *a, uint32_t len)
{
    char *text = arena_alloc(a, len + (size_t)1);
    for (uint32_t i = 0; i < len; i++)
        text[i] = (char)('a' + i % 26);
    return (struct str){text, len};
}

static bool parse(struct str bytes, struct arena *a, struct dhcp_message *out)
{
    char *block = malloc(bytes.len + (size_t)!bytes.len);
    CHECK(block);
    memcpy(block, bytes.at, bytes.len);
    const bool is_good = dhcp_parse((struct str){block, bytes.len}, a, out);
    /* The options point into the block: they are read while it exists. */
    uint32_t sum = 0;
    for (uint32_t code = 0; is_good && code < 256; code++)
        for (uint32_t i = 0; i < out->options[code].len; i++)
            sum += (uint8_t)out->options[code].at[i];
    free(block);
    return is_good && sum > 0;
}

/* A message of `max` bytes at most with the options; the type comes first. */
static struct dhcp_writer begin(struct arena *a, uint32_t max)
{
    struct dhcp_writer w = dhcp_begin(a, &some_head, max, 1);
    CHECK(dhcp_put_number(&w, DHCP_OPTION_TYPE, DHCPDISCOVER, 1));
    return w;
}

static struct str raw(struct arena *a, const char *options, uint32_t len)
{
    struct dhcp_writer w = dhcp_begin(a, &some_head, DHCP_SIZE_MIN, 1);
    char *bytes = arena_zalloc(a, DHCP_HEAD_SIZE + len);
    memcpy(bytes, w.at, DHCP_HEAD_SIZE);
    memcpy(bytes + DHCP_HEAD_SIZE, options, len);
    return (struct str){bytes, DHCP_HEAD_SIZE + len};
}
#define RAW(a, literal) raw((a), (literal), (uint32_t)sizeof(literal) - 1)

TEST(a_message_that_was_built_is_parsed)
{
    struct arena a = {0};
    struct dhcp_message m;
    struct dhcp_writer w = begin(&a, 576);
    CHECK(dhcp_put_number(&w, DHCP_OPTION_MAX_SIZE, 1500, 2));
    CHECK(dhcp_put_option(&w, DHCP_OPTION_CLASS, STR("PXEClient")));
    CHECK(dhcp_put_option(&w, DHCP_OPTION_CLASS, STR("twice"))); /* the first one stays */
    CHECK(dhcp_put_option(&w, DHCP_OPTION_CLIENT_ID, STR("")));
    const struct str bytes = dhcp_finish(&w, (struct str){0});
    CHECK(bytes.len == DHCP_SIZE_MIN);
    CHECK(dhcp_parse(bytes, &a, &m));
    CHECK(m.head.op == 1 && m.head.secs == 3 && m.head.flags == DHCP_FLAG_BROADCAST);
    CHECK(m.head.xid == some_head.xid && m.head.mac == some_head.mac);
    CHECK(m.head.ciaddr == 0x0a000001 && m.head.yiaddr == 0x0a000002);
    CHECK(m.head.siaddr == 0x0a000003 && m.head.giaddr == 0x0a000004);
    CHECK(str_eq(m.head.file, some_head.file) && m.type == DHCPDISCOVER);
    CHECK(dhcp_get_number(&m, DHCP_OPTION_MAX_SIZE) == 1500);
    CHECK(str_eq(m.options[DHCP_OPTION_CLASS], STR("PXEClient")));
    CHECK(dhcp_has(&m, DHCP_OPTION_CLIENT_ID) && m.options[DHCP_OPTION_CLIENT_ID].len == 0);
    CHECK(!dhcp_has(&m, DHCP_OPTION_SERVER) && dhcp_get_number(&m, DHCP_OPTION_SERVER) == 0);
    arena_fini(&a);
}

TEST(long_options_are_split_and_joined)
{
    static const uint32_t lens[] = {254, 255, 256, 510, 511, 765};
    struct arena a = {0};
    struct dhcp_message m;
    for (uint32_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        struct dhcp_writer w = begin(&a, 1500);
        CHECK(dhcp_put_option(&w, DHCP_OPTION_CLIENT_ID, text_of(&a, lens[i])));
        CHECK(w.len == DHCP_HEAD_SIZE + 3 + lens[i] + 2 * ((lens[i] + 254) / 255));
        const struct str bytes = dhcp_finish(&w, (struct str){0});
        CHECK(dhcp_parse(bytes, &a, &m));
        CHECK(str_eq(m.options[DHCP_OPTION_CLIENT_ID], text_of(&a, lens[i])));
    }
    /* Parts with other options and padding between them. */
    CHECK(dhcp_parse(RAW(&a, "\x3c\x02PX\x35\x01\x01\0\0\x3c\0\x3c\x02"
                             "EC\xff"),
                     &a, &m));
    CHECK(str_eq(m.options[DHCP_OPTION_CLASS], STR("PXEC")));
    arena_fini(&a);
}

TEST(options_in_the_fields_file_and_sname_are_read_when_option_52_says_so)
{
    struct arena a = {0};
    struct dhcp_message m;
    for (char overload = 0; overload <= 4; overload++) {
        struct str bytes = RAW(&a, "\x35\x01\x01\x34\x01\x03\x3c\x01"
                                   "A\xff");
        char *at = arena_copy(&a, bytes.at, bytes.len);
        at[DHCP_HEAD_SIZE + 5] = overload;
        memset(at + 44, 0, 192);
        memcpy(at + 108,
               "\x3c\x01"
               "B\xff",
               4);
        memcpy(at + 44,
               "\x3c\x01"
               "C\xff",
               4);
        CHECK(dhcp_parse((struct str){at, bytes.len}, &a, &m));
        static const char *const joined[] = {"A", "AB", "AC", "ABC", "A"};
        CHECK(str_eq(m.options[DHCP_OPTION_CLASS], str_from(joined[(int)overload])));
        CHECK((m.head.file.len == 0) == (overload == 1 || overload == 3));
    }
    arena_fini(&a);
}

TEST(messages_that_are_not_well_formed_are_refused)
{
    struct arena a = {0};
    struct dhcp_message m;
    CHECK(dhcp_parse(RAW(&a, "\x35\x01\x01"), &a, &m)); /* without an end */
    CHECK(!dhcp_parse(RAW(&a, ""), &a, &m));
    CHECK(!dhcp_parse(RAW(&a, "\x35\x01\x00\xff"), &a, &m));
    CHECK(!dhcp_parse(RAW(&a, "\x35\x01\x09\xff"), &a, &m));
    CHECK(!dhcp_parse(RAW(&a, "\x35\x02\x01\x01\xff"), &a, &m));
    CHECK(!dhcp_parse(RAW(&a, "\x35\x01\x01\x35\x01\x01\xff"), &a, &m));
    CHECK(!dhcp_parse(RAW(&a, "\x35\x01\x01\x3c"), &a, &m));
    CHECK(!dhcp_parse(RAW(&a, "\x35\x01\x01\x3c\x02x"), &a, &m));
    CHECK(!dhcp_parse(RAW(&a, "\x35\x01\x01\x32\x03\x01\x02\x03\xff"), &a, &m));
    CHECK(!dhcp_parse(RAW(&a, "\x35\x01\x01\x36\x05\x01\x02\x03\x04\x05\xff"), &a, &m));
    CHECK(!dhcp_parse(RAW(&a, "\x35\x01\x01\x39\x01\x02\xff"), &a, &m));
    CHECK(!dhcp_parse(RAW(&a, "\x35\x01\x01\x34\x02\x01\x01\xff"), &a, &m));
    /* In an overloaded field. */
    struct str bytes = RAW(&a, "\x35\x01\x01\x34\x01\x02\xff");
    char *at = arena_copy(&a, bytes.at, bytes.len);
    at[44] = 60, at[45] = 63;
    CHECK(!dhcp_parse((struct str){at, bytes.len}, &a, &m));
    at[45] = 62;
    CHECK(dhcp_parse((struct str){at, bytes.len}, &a, &m));
    /* Fixed fields: op, hardware type, its length, a group address, the zero address, cookie. */
    static const struct {
        uint32_t at;
        char value;
    } wrong[] = {{0, 0}, {0, 3}, {1, 6}, {2, 16}, {28, 0x53}, {236, 0}, {239, 0x62}};
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        bytes = RAW(&a, "\x35\x01\x01\xff");
        at = arena_copy(&a, bytes.at, bytes.len);
        at[wrong[i].at] = wrong[i].value;
        CHECK(!dhcp_parse((struct str){at, bytes.len}, &a, &m));
    }
    memset(at, 0, 36);
    at[0] = at[1] = 1, at[2] = 6, at[239] = 0x63;
    CHECK(!dhcp_parse((struct str){at, bytes.len}, &a, &m));
    at[33] = 1;
    CHECK(dhcp_parse((struct str){at, bytes.len}, &a, &m));
    arena_fini(&a);
}

TEST(a_relay_option_of_more_than_255_bytes_is_refused)
{
    struct arena a = {0};
    struct dhcp_message m;
    for (uint32_t len = 254; len <= 256; len++) {
        struct dhcp_writer w = begin(&a, 1500);
        CHECK(dhcp_put_option(&w, DHCP_OPTION_RELAY, text_of(&a, len)));
        CHECK(dhcp_parse(dhcp_finish(&w, (struct str){0}), &a, &m) == (len <= 255));
    }
    arena_fini(&a);
}

TEST(every_cut_and_every_changed_byte_is_read_within_its_bounds)
{
    struct arena a = {0};
    struct dhcp_message m;
    struct dhcp_writer w = begin(&a, 1500);
    CHECK(dhcp_put_number(&w, DHCP_OPTION_OVERLOAD, 3, 1));
    CHECK(dhcp_put_option(&w, DHCP_OPTION_CLIENT_ID, text_of(&a, 300)));
    const struct str bytes = dhcp_finish(&w, STR("\001\003abc"));
    for (uint32_t len = 0; len < bytes.len; len++)
        CHECK(!parse((struct str){bytes.at, len}, &a, &m) || len > DHCP_HEAD_SIZE);
    struct arena scratch = {0};
    for (uint32_t i = 0; i < bytes.len; i++)
        for (uint32_t value = 0; value < 256; value += 5) {
            char *changed = arena_copy(&scratch, bytes.at, bytes.len);
            changed[i] = (char)value;
            const bool is_good = parse((struct str){changed, bytes.len}, &scratch, &m);
            CHECK(!is_good || (m.type >= DHCPDISCOVER && m.type <= DHCPINFORM));
            arena_reset(&scratch);
        }
    arena_fini(&scratch);
    arena_fini(&a);
}

TEST(an_option_is_written_whole_or_not_at_all)
{
    struct arena a = {0};
    struct dhcp_writer w = dhcp_begin(&a, &some_head, DHCP_SIZE_MIN, 10);
    /* 300 - 240 - 10 = 50 bytes: 48 of a value. */
    CHECK(!dhcp_put_option(&w, DHCP_OPTION_CLASS, text_of(&a, 49)) && w.len == DHCP_HEAD_SIZE);
    CHECK(dhcp_put_option(&w, DHCP_OPTION_CLASS, text_of(&a, 48)) && w.len == DHCP_SIZE_MIN - 10);
    CHECK(!dhcp_put_option(&w, DHCP_OPTION_SERVER, STR("")));
    const struct str relay = STR("1234567"); /* and two bytes before it, and the end */
    CHECK(dhcp_finish_size(relay) == 10 && dhcp_finish_size((struct str){0}) == 1);
    const struct str bytes = dhcp_finish(&w, relay);
    CHECK(bytes.len == DHCP_SIZE_MIN && (uint8_t)bytes.at[299] == 255);
    CHECK((uint8_t)bytes.at[290] == 82 && bytes.at[291] == 7);
    /* 255 and 256 bytes of a value need 257 and 260. */
    for (uint32_t len = 255; len <= 256; len++)
        for (uint32_t room = len + 1; room <= len + 5; room++) {
            w = dhcp_begin(&a, &some_head, DHCP_HEAD_SIZE + room, 0);
            CHECK(dhcp_put_option(&w, DHCP_OPTION_CLASS, text_of(&a, len)) ==
                  (room >= len + (len > 255 ? 4 : 2)));
        }
    arena_fini(&a);
}

TEST(sub_options_are_found_within_their_block)
{
    const struct str block = STR("\001\002ab\000\005\004wxyz\006\000");
    CHECK(str_eq(dhcp_sub_option(block, 1), STR("ab")));
    CHECK(str_eq(dhcp_sub_option(block, 5), STR("wxyz")));
    CHECK(dhcp_sub_option(block, 6).at && dhcp_sub_option(block, 6).len == 0);
    CHECK(!dhcp_sub_option(block, 7).at && !dhcp_sub_option((struct str){0}, 7).at);
    CHECK(!dhcp_sub_option(STR("\005\005wxyz"), 5).at && !dhcp_sub_option(STR("\005"), 5).at);
    CHECK(!dhcp_sub_option(STR("\377\005\001x"), 5).at);
}

TEST(domain_names_are_encoded_as_labels)
{
    struct arena a = {0};
    CHECK(str_eq(dhcp_encode_domain(&a, STR("a.bc")), (struct str){"\001a\002bc\000", 6}));
    static const char *const wrong[] = {"", ".", "a..b", ".a", "a."};
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(dhcp_encode_domain(&a, str_from(wrong[i])).len == 0);
    CHECK(dhcp_encode_domain(&a, text_of(&a, 63)).len == 65);
    CHECK(dhcp_encode_domain(&a, text_of(&a, 64)).len == 0);
    char name[255];
    memset(name, 'a', sizeof name);
    name[62] = name[125] = name[188] = '.';
    name[250] = '.';
    CHECK(dhcp_encode_domain(&a, (struct str){name, 253}).len == 255);
    CHECK(dhcp_encode_domain(&a, (struct str){name, 254}).len == 0);
    arena_fini(&a);
}
