/* Goal: the encoding of entries of the boot view is as boot_view.h describes, has one form for each
 * entry, and refuses everything else.
 * Method: entries of every kind against bytes written out here; then each byte of each encoding is
 * changed, removed and added, in blocks that end where the bytes end, so that AddressSanitizer
 * reports a read past them. fuzz_boot_view.c invents further input. */
#include "base/net/ip.h"
#include "model/boot_view.h"
#include "model/limits.h"
#include "tests/check.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t macs[] = {0x525400000001, 0x525400000002};
static const struct boot_address addresses[] = {
    {.address = {"10.0.0.7/24", 11}, .network = 3, .range = 4},
    {.address = {"10.1.0.7/16", 11}},
};
static const struct str initrds[] = {{"initrd.img", 10}, {"firmware.cpio", 13}};

static struct boot_entry some_entry(enum boot_fact kind)
{
    struct boot_entry entry = {.key = {kind, 300}};
    switch (kind) {
    case BOOT_BOOTENV:
        entry.bootenv = (struct boot_bootenv){.name = STR("sledgehammer"),
                                              .kernel = STR("vmlinuz"),
                                              .args = STR("quiet"),
                                              .method = STR("discovery"),
                                              .os = STR("debian"),
                                              .initrd_count = 2,
                                              .initrds = initrds};
        break;
    case BOOT_NETWORK:
        entry.network = (struct boot_network){STR("admin"), STR("admin"), STR("a"), true, 7};
        break;
    case BOOT_RANGE:
        entry.range =
            (struct boot_range){3, STR("host"), STR("10.0.0.2/24"), STR("10.0.0.9/24"), true};
        break;
    case BOOT_ROUTER: entry.router = (struct boot_router){3, STR("fd00::1/64"), 10}; break;
    case BOOT_LEASE:
        entry.lease = (struct boot_lease){0x525400000009, 3, 4, STR("10.0.0.9/24"), 1, 2400000};
        break;
    case BOOT_MACHINE:
        entry.machine = (struct boot_machine){.name = STR("n1"),
                                              .bootenv = STR("local"),
                                              .generation = 5,
                                              .ticket = STR("00ff"),
                                              .options = STR("{\"a\":1}"),
                                              .mac_count = 2,
                                              .address_count = 2,
                                              .macs = macs,
                                              .addresses = addresses};
        break;
    case BOOT_NAME:
        entry.name = (struct boot_name){STR("n1.example.com"), BOOT_NAME_A, STR("10.0.0.7"), 1};
        break;
    case BOOT_FACT_COUNT: break;
    }
    return entry;
}

static struct str encoded(const struct boot_entry *entry, struct arena *a)
{
    struct buf bytes = buf_in(a);
    boot_entry_encode(entry, &bytes);
    return buf_str(&bytes);
}

/* Decode a copy that ends where its block ends. */
static err decode(struct str bytes, struct arena *a, struct boot_entry *out)
{
    char *block = malloc(bytes.len + (size_t)!bytes.len);
    CHECK(block);
    memcpy(block, bytes.at, bytes.len);
    err e = boot_entry_decode((struct str){block, bytes.len}, a, out);
    if (e == OK) {
        const struct str again = encoded(out, a); /* while the block exists */
        CHECK(str_eq(again, bytes));
    }
    free(block);
    return e;
}

static bool refuses(const struct boot_entry *entry, struct arena *a)
{
    struct boot_entry out;
    return decode(encoded(entry, a), a, &out) == ERR_CORRUPT;
}

TEST(an_entry_is_its_key_its_fields_and_its_lists)
{
    static const char bytes[] = "\x05\xac\x02" /* a machine, id 300 */
                                "\x1f\x02n1\x05local\x0a\x04"
                                "00ff\x07{\"a\":1}"                /* all five fields */
                                "\x02\x81\x80\x80\x80\xc0\xca\x14" /* two MACs */
                                "\x82\x80\x80\x80\xc0\xca\x14"
                                "\x02\x07\x0b"
                                "10.0.0.7/24\x06\x08" /* two addresses */
                                "\x01\x0b"
                                "10.1.0.7/16";
    struct arena a = {0};
    const struct boot_entry entry = some_entry(BOOT_MACHINE);
    CHECK(str_eq(encoded(&entry, &a), (struct str){bytes, sizeof bytes - 1}));
    arena_fini(&a);
}

TEST(every_entry_comes_back_and_has_a_hash_of_its_own)
{
    struct arena a = {0};
    struct digest128 seen[BOOT_FACT_COUNT];
    for (uint32_t kind = 0; kind < BOOT_FACT_COUNT; kind++) {
        const struct boot_entry entry = some_entry((enum boot_fact)kind);
        struct boot_entry out;
        CHECK(boot_entry_decode(encoded(&entry, &a), &a, &out) == OK);
        CHECK(boot_key_cmp(out.key, entry.key) == 0);
        seen[kind] = boot_entry_hash(&out, &a);
        CHECK(digest_eq(seen[kind], boot_entry_hash(&entry, &a)));
        for (uint32_t i = 0; i < kind; i++)
            CHECK(!digest_eq(seen[i], seen[kind]));
    }
    struct boot_entry out;
    const struct boot_entry machine = some_entry(BOOT_MACHINE);
    CHECK(boot_entry_decode(encoded(&machine, &a), &a, &out) == OK);
    CHECK(out.machine.generation == 5 && str_eq(out.machine.bootenv, STR("local")));
    CHECK(str_eq(out.machine.options, STR("{\"a\":1}")));
    CHECK(out.machine.mac_count == 2 && out.machine.macs[1] == macs[1]);
    CHECK(out.machine.address_count == 2 && out.machine.addresses[0].range == 4);
    arena_fini(&a);
}

TEST(bytes_that_are_changed_or_missing_or_added_are_no_other_spelling)
{
    struct arena a = {0};
    for (uint32_t kind = 0; kind < BOOT_FACT_COUNT; kind++) {
        const struct boot_entry entry = some_entry((enum boot_fact)kind);
        const struct str bytes = encoded(&entry, &a);
        struct boot_entry out;
        char *changed = arena_alloc(&a, bytes.len + (size_t)1);
        for (uint32_t len = 0; len < bytes.len; len++)
            CHECK(decode((struct str){bytes.at, len}, &a, &out) == ERR_CORRUPT);
        for (uint32_t i = 0; i < bytes.len; i++)
            for (uint32_t bit = 0; bit < 8; bit++) {
                memcpy(changed, bytes.at, bytes.len);
                changed[i] = (char)(changed[i] ^ (char)(1u << bit));
                /* Another entry or none; decode() compares its encoding. */
                ignore(decode((struct str){changed, bytes.len}, &a, &out), "may be another entry");
            }
        memcpy(changed, bytes.at, bytes.len);
        changed[bytes.len] = 0;
        CHECK(decode((struct str){changed, bytes.len + 1}, &a, &out) == ERR_CORRUPT);
    }
    arena_fini(&a);
}

TEST(values_that_no_entry_has_are_refused)
{
    static const uint64_t descending[] = {2, 1}, twice[] = {1, 1}, none[] = {0},
                          wide[] = {1ull << 48};
    static const uint64_t *const lists[] = {descending, twice, none, wide};
    static const uint32_t counts[] = {2, 2, 1, 1};
    static const char *const wrong[] = {
        "10.0.0.7", "10.0.0.7/33", "fd00::1/64", "10.0.0.7/024", "", "x", "10.0.0.7/255.255.255.0"};
    struct arena a = {0};
    struct boot_entry e;
    for (uint32_t i = 0; i < 4; i++) {
        e = some_entry(BOOT_MACHINE);
        e.machine.macs = lists[i];
        e.machine.mac_count = counts[i];
        CHECK(refuses(&e, &a));
    }
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct boot_address one = {.address = str_from(wrong[i])};
        e = some_entry(BOOT_MACHINE);
        e.machine.addresses = &one;
        e.machine.address_count = 1;
        CHECK(refuses(&e, &a));
    }
    e = some_entry(BOOT_MACHINE), e.machine.generation = -1;
    CHECK(refuses(&e, &a));
    e = some_entry(BOOT_MACHINE), e.machine.name = STR("a\xff");
    CHECK(refuses(&e, &a));
    e = some_entry(BOOT_RANGE), e.range.last = STR("fd00::9/64");
    CHECK(refuses(&e, &a));
    e = some_entry(BOOT_LEASE), e.lease.mac = INT64_C(1) << 48;
    CHECK(refuses(&e, &a));
    e = some_entry(BOOT_LEASE), e.lease.left_ms = -1;
    CHECK(refuses(&e, &a));
    e = some_entry(BOOT_NAME), e.name.type = BOOT_NAME_AAAA;
    CHECK(refuses(&e, &a));
    e = some_entry(BOOT_NAME), e.name.address = STR("10.0.0.7/24");
    CHECK(refuses(&e, &a));
    e = some_entry(BOOT_NETWORK), e.network.vlan = -1;
    CHECK(refuses(&e, &a));
    static const struct str empty[] = {{"", 0}};
    e = some_entry(BOOT_BOOTENV), e.bootenv.initrds = empty, e.bootenv.initrd_count = 1;
    CHECK(refuses(&e, &a));
    arena_fini(&a);
}

static bool accepts_options(struct arena *a, struct str options)
{
    struct boot_entry e = some_entry(BOOT_MACHINE), out;
    e.machine.options = options;
    const struct str bytes = encoded(&e, a);
    return decode(bytes, a, &out) == OK;
}

TEST(options_are_an_object_in_canonical_form)
{
    static const char *const right[] = {"", "{}", "{\"a\":1,\"b\":2}",
                                        "{\"a\":{\"b\":[1,2.5,null]}}", "{\"a\":\"\\n\"}"};
    static const char *const wrong[] = {
        " ",
        "{",
        "{}x",
        " {\"a\":1}",
        "{\"a\":1} ",
        "{\"a\": 1}",
        "{\"b\":2,\"a\":1}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":01}",
        "{'a':1}",
        "{\"a\":\"\\u0041\"}",
        "[]",
        "[{\"a\":1}]",
        "\"a\"",
        "null",
        "1",
    };
    struct arena a = {0};
    for (uint32_t i = 0; i < sizeof right / sizeof *right; i++)
        if (!accepts_options(&a, str_from(right[i])))
            check_failed(__FILE__, __LINE__, right[i]);
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (accepts_options(&a, str_from(wrong[i])))
            check_failed(__FILE__, __LINE__, wrong[i]);
    char text[BOOT_OPTIONS_LEN_MAX + 1];
    for (uint32_t len = BOOT_OPTIONS_LEN_MAX - 1; len <= BOOT_OPTIONS_LEN_MAX + 1; len++) {
        memset(text, 'x', sizeof text);
        memcpy(text, "{\"k\":\"", 6);
        memcpy(text + len - 2, "\"}", 2);
        CHECK(accepts_options(&a, (struct str){text, len}) == (len <= BOOT_OPTIONS_LEN_MAX));
    }
    arena_fini(&a);
}

/* The bytes of a machine without lists, without the two lengths at the end. */
static struct buf machine_without_lists(struct arena *a)
{
    const struct boot_entry e = {.key = {BOOT_MACHINE, 1}};
    struct buf bytes = buf_in(a);
    boot_entry_encode(&e, &bytes);
    bytes.len -= 2;
    return bytes;
}

TEST(lists_are_bounded)
{
    struct arena a = {0};
    struct boot_entry out;
    for (uint32_t more = 0; more < 2; more++) {
        struct buf bytes = machine_without_lists(&a);
        buf_put_varint(&bytes, BOOT_MACS_MAX + more);
        for (uint32_t i = 0; i < BOOT_MACS_MAX + more; i++)
            buf_put_varint(&bytes, i + 1);
        buf_put_varint(&bytes, 0);
        CHECK(decode(buf_str(&bytes), &a, &out) == (more ? ERR_CORRUPT : OK));

        bytes = machine_without_lists(&a);
        buf_put_varint(&bytes, 0);
        buf_put_varint(&bytes, BOOT_ADDRESSES_MAX + more);
        for (uint32_t i = 0; i < BOOT_ADDRESSES_MAX + more; i++)
            buf_put_z(&bytes, "\x01\x0b"
                              "10.1.0.7/16");
        CHECK(decode(buf_str(&bytes), &a, &out) == (more ? ERR_CORRUPT : OK));

        const struct boot_entry e = {.key = {BOOT_BOOTENV, 1}};
        bytes = buf_in(&a);
        boot_entry_encode(&e, &bytes);
        bytes.len--;
        buf_put_varint(&bytes, BOOT_INITRDS_MAX + more);
        for (uint32_t i = 0; i < BOOT_INITRDS_MAX + more; i++)
            buf_put_z(&bytes, "\x01x");
        CHECK(decode(buf_str(&bytes), &a, &out) == (more ? ERR_CORRUPT : OK));
    }
    arena_fini(&a);
}

TEST(keys_are_ordered_by_kind_and_id)
{
    struct arena a = {0};
    struct buf bytes = buf_in(&a);
    const struct boot_key key = {BOOT_NAME, INT64_MAX};
    struct boot_key out;
    uint32_t at = 0;
    boot_key_encode(key, &bytes);
    CHECK(boot_key_decode(buf_str(&bytes), &at, &out) == OK && at == bytes.len);
    CHECK(boot_key_cmp(key, out) == 0);
    CHECK(boot_key_cmp((struct boot_key){BOOT_NETWORK, 9}, (struct boot_key){BOOT_RANGE, 1}) < 0);
    CHECK(boot_key_cmp((struct boot_key){BOOT_RANGE, 2}, (struct boot_key){BOOT_RANGE, 1}) > 0);
    at = 0;
    CHECK(boot_key_decode(STR("\x07\x01"), &at, &out) == ERR_CORRUPT && at == 0);
    CHECK(boot_key_decode((struct str){"\x01\x00", 2}, &at, &out) == ERR_CORRUPT);
    CHECK(boot_key_decode(STR("\x01"), &at, &out) == ERR_CORRUPT);
    CHECK(boot_key_decode(STR("\x01\x81"), &at, &out) == ERR_CORRUPT);
    for (uint32_t kind = 0; kind < BOOT_FACT_COUNT; kind++)
        CHECK(strlen(boot_fact_name((enum boot_fact)kind)) > 3);
    arena_fini(&a);
}
