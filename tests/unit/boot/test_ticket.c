/* Goal: HMAC-SHA256 is that of RFC 2104, and a ticket is accepted only unchanged, under its key and
 * within its time. Method: the vectors of RFC 4231; then every digit of a ticket is changed, and
 * times are tried at their bounds. */
#include "base/hash/hmac.h"
#include "boot/script/ticket.h"
#include "tests/check.h"

#include <string.h>

static struct str bytes_of(char fill, uint32_t count, struct arena *a)
{
    char *at = arena_alloc(a, count);
    memset(at, fill, count);
    return (struct str){at, count};
}

/* The first `len` digits of the HMAC. */
static bool hmac_is(struct str key, struct str data, const char *hex, struct arena *a)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t out[32];
    char *text = arena_alloc(a, 64);
    hmac_sha256(key, data, out);
    for (uint32_t i = 0; i < 32; i++) {
        text[2 * i] = digits[out[i] >> 4];
        text[2 * i + 1] = digits[out[i] & 15];
    }
    return str_starts((struct str){text, 64}, str_from(hex));
}

TEST(the_hmac_is_that_of_rfc_4231)
{
    struct arena a = {0};
    char counting[25];
    for (uint32_t i = 0; i < 25; i++)
        counting[i] = (char)(i + 1);
    CHECK(hmac_is(bytes_of(0x0b, 20, &a), STR("Hi There"),
                  "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7", &a));
    CHECK(hmac_is(STR("Jefe"), STR("what do ya want for nothing?"),
                  "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", &a));
    CHECK(hmac_is(bytes_of((char)0xaa, 20, &a), bytes_of((char)0xdd, 50, &a),
                  "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe", &a));
    CHECK(hmac_is((struct str){counting, 25}, bytes_of((char)0xcd, 50, &a),
                  "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b", &a));
    CHECK(hmac_is(bytes_of(0x0c, 20, &a), STR("Test With Truncation"),
                  "a3b6167473100ee06e0c796c2955552b", &a));
    CHECK(hmac_is(bytes_of((char)0xaa, 131, &a),
                  STR("Test Using Larger Than Block-Size Key - Hash Key First"),
                  "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54", &a));
    CHECK(hmac_is(bytes_of((char)0xaa, 131, &a),
                  STR("This is a test using a larger than block-size key and a larger than "
                      "block-size data. The key needs to be hashed before being used by the HMAC "
                      "algorithm."),
                  "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2", &a));
    arena_fini(&a);
}

static const struct ticket_key key = {{1, 2, 3}}, other_key = {{1, 2, 4}};
static const struct ticket sample = {
    .mac = 0x5254000000a1, .node = 17, .generation = 3, .made_s = 1000000, .random = 0xfffffffe};

TEST(a_ticket_is_returned_as_it_was_made)
{
    static const struct ticket most = {.mac = 0xffffffffffff,
                                       .node = INT64_MAX,
                                       .generation = INT64_MAX,
                                       .made_s = 5,
                                       .random = UINT32_MAX},
                               least = {.made_s = 5};
    const struct ticket *const tickets[] = {&sample, &most, &least};
    struct arena a = {0};
    for (uint32_t i = 0; i < 3; i++) {
        const struct str text = ticket_format(&a, &key, tickets[i]);
        struct ticket out;
        CHECK(text.len == TICKET_LEN);
        CHECK(ticket_parse(text, &key, tickets[i]->made_s, &out));
        CHECK(out.mac == tickets[i]->mac && out.node == tickets[i]->node);
        CHECK(out.generation == tickets[i]->generation && out.made_s == tickets[i]->made_s);
        CHECK(out.random == tickets[i]->random);
        CHECK(!ticket_parse(text, &other_key, tickets[i]->made_s, &out));
    }
    const struct str text = ticket_format(&a, &key, &sample);
    CHECK(str_starts(text, STR("5254000000a1"
                               "0000000000000011"
                               "0000000000000003"
                               "00000000000f4240"
                               "fffffffe")));
    arena_fini(&a);
}

TEST(a_ticket_that_was_changed_is_refused)
{
    struct arena a = {0};
    const struct str text = ticket_format(&a, &key, &sample);
    char changed[TICKET_LEN + 1];
    struct ticket out;
    for (uint32_t i = 0; i < TICKET_LEN; i++) {
        for (uint32_t c = 0; c < 256; c++) {
            memcpy(changed, text.at, TICKET_LEN);
            changed[i] = (char)c;
            const bool is_same = changed[i] == text.at[i];
            CHECK(ticket_parse((struct str){changed, TICKET_LEN}, &key, 1000000, &out) == is_same);
        }
        CHECK(!ticket_parse((struct str){text.at, i}, &key, 1000000, &out));
    }
    memcpy(changed, text.at, TICKET_LEN);
    changed[TICKET_LEN] = '0';
    CHECK(!ticket_parse((struct str){changed, TICKET_LEN + 1}, &key, 1000000, &out));
    arena_fini(&a);
}

TEST(a_ticket_has_a_begin_and_an_end)
{
    static const struct {
        int64_t after_s;
        bool is_valid;
    } rows[] = {{-301, false}, {-300, true}, {0, true}, {86400, true}, {86401, false}};
    struct arena a = {0};
    const struct str text = ticket_format(&a, &key, &sample);
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ticket out;
        CHECK(ticket_parse(text, &key, sample.made_s + rows[i].after_s, &out) == rows[i].is_valid);
    }
    arena_fini(&a);
}

TEST(the_hash_of_a_ticket_is_sha_256_of_its_text)
{
    struct arena a = {0};
    CHECK(str_eq(ticket_hash(&a, STR("abc")),
                 STR("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")));
    arena_fini(&a);
}
