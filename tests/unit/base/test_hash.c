/* Hashes, digests and random numbers: known answers, the same everywhere, and well mixed. */
#include "base/hash/hash.h"
#include "base/hash/hmac.h"
#include "base/hash/md5.h"
#include "base/hash/sha256.h"
#include "base/prng.h"
#include "base/text/buf.h"
#include "tests/check.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- SHA-256 and MD5 --- */

static bool is_hex(const uint8_t *bytes, uint32_t len, const char *hex)
{
    struct arena a = {0};
    struct buf b = buf_in(&a);
    buf_put_hex(&b, bytes, len);
    bool same = str_eq(buf_str(&b), str_from(hex));
    arena_fini(&a);
    return same;
}

static bool sha256_is(struct str text, const char *hex)
{
    struct sha256 s;
    uint8_t digest[32];
    sha256_init(&s);
    sha256_add(&s, text.at, text.len);
    sha256_end(&s, digest);
    return is_hex(digest, 32, hex);
}

static bool md5_is(struct str text, const char *hex)
{
    uint8_t digest[16];
    md5(text, digest);
    return is_hex(digest, 16, hex);
}

/* The code begins with these `len` bytes. */
static bool hmac_is(struct str key, struct str bytes, uint32_t len, const char *hex)
{
    uint8_t code[32];
    hmac_sha256(key, bytes, code);
    return is_hex(code, len, hex);
}

#define ALPHABET_448 "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
#define ALPHABET_896                                                                               \
    "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"                                     \
    "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"

TEST(sha256_gives_the_known_answers)
{
    CHECK(sha256_is((struct str){NULL, 0},
                    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
    CHECK(
        sha256_is(STR("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    CHECK(sha256_is(STR(ALPHABET_448),
                    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"));
    CHECK(sha256_is(STR(ALPHABET_896),
                    "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"));
}

TEST(sha256_of_a_million_letters)
{
    struct sha256 s;
    uint8_t digest[32];
    char letters[1000];
    memset(letters, 'a', sizeof letters);
    sha256_init(&s);
    for (int i = 0; i < 1000; i++)
        sha256_add(&s, letters, sizeof letters);
    sha256_end(&s, digest);
    CHECK(is_hex(digest, 32, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"));
}

TEST(sha256_does_not_mind_how_the_text_comes_in_parts)
{
    struct prng r;
    prng_init(&r, 11);
    char text[300];
    for (uint32_t i = 0; i < sizeof text; i++)
        text[i] = (char)prng_next(&r);
    for (uint32_t len = 0; len <= sizeof text; len++) {
        uint8_t whole[32];
        uint8_t parts[32];
        struct sha256 s;
        sha256_init(&s);
        sha256_add(&s, text, len);
        sha256_end(&s, whole);
        sha256_init(&s);
        for (uint32_t at = 0; at < len;) {
            uint32_t part = (uint32_t)prng_between(&r, 0, len - at);
            sha256_add(&s, text + at, part);
            at += part;
        }
        sha256_end(&s, parts);
        CHECK(memcmp(whole, parts, 32) == 0);
    }
}

/* Each line: digest of the digests of all prefixes of 0..130 letters, which crosses every way of
 * padding. Computed with another implementation. */
TEST(padding_is_right_for_every_length)
{
    char letters[131];
    memset(letters, 'a', sizeof letters);
    struct sha256 all;
    uint8_t md5_all[131 * 16];
    sha256_init(&all);
    for (uint32_t len = 0; len <= 130; len++) {
        struct sha256 s;
        uint8_t digest[32];
        sha256_init(&s);
        sha256_add(&s, letters, len);
        sha256_end(&s, digest);
        sha256_add(&all, digest, 32);
        md5((struct str){letters, len}, md5_all + 16 * len);
    }
    uint8_t digest[32];
    sha256_end(&all, digest);
    CHECK(is_hex(digest, 32, "f908a43fc8456c583aacde0fb2627959f8513dc76d0c03979b7f945a7dd78f22"));
    CHECK(md5_is((struct str){(const char *)md5_all, sizeof md5_all},
                 "714e67f3fc9e8a62eaf3f30c0329a554"));
}

TEST(md5_gives_the_answers_of_rfc_1321)
{
    CHECK(md5_is((struct str){NULL, 0}, "d41d8cd98f00b204e9800998ecf8427e"));
    CHECK(md5_is(STR("a"), "0cc175b9c0f1b6a831c399e269772661"));
    CHECK(md5_is(STR("abc"), "900150983cd24fb0d6963f7d28e17f72"));
    CHECK(md5_is(STR("message digest"), "f96b697d7cb7938d525a2f31aaf161d0"));
    CHECK(md5_is(STR("abcdefghijklmnopqrstuvwxyz"), "c3fcd3d76192e4007dfb496cca67e13b"));
    CHECK(md5_is(STR("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
                 "d174ab98d277d9f5a5611c2c9f419d9f"));
    CHECK(md5_is(STR("1234567890123456789012345678901234567890"
                     "1234567890123456789012345678901234567890"),
                 "57edf4a22be3c955ac49da2e2107b67a"));
}

/* --- HMAC-SHA256 --- */

/* `count` times the byte `byte`. */
static struct str bytes_of(char *out, uint32_t count, uint8_t byte)
{
    memset(out, byte, count);
    return (struct str){out, count};
}

/* The test cases of RFC 4231, the longest key first; case 5 has the beginning of the code. The last
 * one, without key and bytes, is computed with another implementation. */
TEST(hmac_sha256_gives_the_answers_of_rfc_4231)
{
    char key[131], bytes[50], counted[25];
    for (uint32_t i = 0; i < sizeof counted; i++)
        counted[i] = (char)(i + 1);
    const struct str longest = bytes_of(key, 131, 0xaa);
    CHECK(hmac_is(longest, STR("Test Using Larger Than Block-Size Key - Hash Key First"), 32,
                  "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"));
    CHECK(hmac_is(longest,
                  STR("This is a test using a larger than block-size key and a larger than "
                      "block-size data. The key needs to be hashed before being used by the HMAC "
                      "algorithm."),
                  32, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"));
    CHECK(hmac_is(bytes_of(key, 20, 0x0b), STR("Hi There"), 32,
                  "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"));
    CHECK(hmac_is(STR("Jefe"), STR("what do ya want for nothing?"), 32,
                  "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
    CHECK(hmac_is(bytes_of(key, 20, 0xaa), bytes_of(bytes, 50, 0xdd), 32,
                  "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"));
    CHECK(hmac_is((struct str){counted, sizeof counted}, bytes_of(bytes, 50, 0xcd), 32,
                  "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"));
    CHECK(hmac_is(bytes_of(key, 20, 0x0c), STR("Test With Truncation"), 16,
                  "a3b6167473100ee06e0c796c2955552b"));
    CHECK(hmac_is((struct str){NULL, 0}, (struct str){NULL, 0}, 32,
                  "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"));
}

/* Digest of the codes of keys of 0 to 130 letters: shorter than a block, as long, and longer.
 * Computed with another implementation. */
TEST(hmac_sha256_is_right_for_every_length_of_key)
{
    char key[130], bytes[130];
    struct sha256 all;
    uint8_t digest[32];
    sha256_init(&all);
    for (uint32_t len = 0; len <= 130; len++) {
        hmac_sha256(bytes_of(key, len, 'a'), bytes_of(bytes, 130 - len, 'b'), digest);
        sha256_add(&all, digest, 32);
    }
    sha256_end(&all, digest);
    CHECK(is_hex(digest, 32, "cca5b848b25b77c76f76d5d8ca2137f4754c7c8d3044fd492780b6ff63c87bab"));
}

/* --- hash64 and hash128 --- */

TEST(hashes_never_change)
{
    /* Stored digests are compared across builds: these values are for ever. */
    struct prng r;
    prng_init(&r, 2);
    char text[100];
    for (uint32_t i = 0; i < sizeof text; i++)
        text[i] = (char)prng_next(&r);
    struct digest128 sum = {0, 0};
    uint64_t sum64 = 0;
    for (uint32_t len = 0; len <= sizeof text; len++) {
        digest_add(&sum, hash128((struct str){text, len}, len));
        sum64 = sum64 * 3 + hash64((struct str){text, len}, 5);
    }
    CHECK(hash64((struct str){NULL, 0}, 0) == 0xc04c4bf55a2f2cc1u);
    CHECK(hash64(STR("halligan"), 1) == 0xc9ce5bc30771c100u);
    CHECK(sum.lo == 0xdaa9667250b69760u && sum.hi == 0x01a4047175bd3f57u);
    CHECK(sum64 == 0x97c6b4d9dd4a9c27u);
}

TEST(hashes_do_not_depend_on_the_address_of_the_text)
{
    char room[80];
    char text[48];
    for (uint32_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 7 + 1);
    for (uint32_t len = 0; len <= sizeof text; len++)
        for (uint32_t shift = 0; shift < 16; shift++) {
            memset(room, 0x55 + (int)shift, sizeof room);
            memcpy(room + shift, text, len);
            struct str moved = {room + shift, len};
            struct str plain = {text, len};
            CHECK(hash64(moved, 9) == hash64(plain, 9));
            CHECK(digest_eq(hash128(moved, 9), hash128(plain, 9)));
        }
}

/* Every bit of text and seed flips every bit of the result about half of the time. */
static void check_avalanche(uint32_t len, struct prng *r)
{
    enum { ROUNDS = 400, OUT = 192 };
    static uint64_t flips[(40 + 8) * 8][OUT];
    memset(flips, 0, sizeof flips);
    for (int round = 0; round < ROUNDS; round++) {
        char key[48];
        for (uint32_t i = 0; i < sizeof key; i++)
            key[i] = (char)prng_next(r);
        struct digest128 d[2];
        uint64_t h[2];
        for (uint32_t bit = 0; bit < (len + 8) * 8; bit++) {
            for (int side = 0; side < 2; side++) {
                uint64_t seed;
                memcpy(&seed, key + len, 8);
                d[side] = hash128((struct str){key, len}, seed);
                h[side] = hash64((struct str){key, len}, seed);
                key[bit / 8] = (char)(key[bit / 8] ^ 1 << bit % 8);
            }
            for (uint32_t out = 0; out < 64; out++) {
                flips[bit][out] += (d[0].lo ^ d[1].lo) >> out & 1;
                flips[bit][64 + out] += (d[0].hi ^ d[1].hi) >> out & 1;
                flips[bit][128 + out] += (h[0] ^ h[1]) >> out & 1;
            }
        }
    }
    /* Seven standard deviations (10 each) around 200. */
    for (uint32_t bit = 0; bit < (len + 8) * 8; bit++)
        for (uint32_t out = 0; out < OUT; out++)
            CHECK(flips[bit][out] > 130 && flips[bit][out] < 270);
}

TEST(one_bit_of_the_text_changes_half_of_the_hash)
{
    struct prng r;
    prng_init(&r, 23);
    /* Shorter keys have too few values to be drawn at random so often; the seed fills them up. */
    static const uint32_t lengths[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 32, 33, 40};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        check_avalanche(lengths[i], &r);
}

TEST(numbered_keys_fill_a_table_evenly)
{
    enum { KEYS = 65536, SLOTS = 256 };
    static uint32_t filled[10][SLOTS];
    for (uint32_t i = 0; i < KEYS; i++) {
        struct arena a = {0};
        struct buf b = buf_in(&a);
        buf_put_z(&b, "node-");
        buf_put_u64(&b, i);
        struct digest128 text = hash128(buf_str(&b), 0);
        struct digest128 word = hash128((struct str){(const char *)&i, 4}, 0);
        arena_fini(&a);
        uint64_t views[10] = {text.lo, text.lo >> 28, text.lo >> 56, text.hi,       text.hi >> 56,
                              word.lo, word.lo >> 56, word.hi,       word.hi >> 28, word.hi >> 56};
        for (int v = 0; v < 10; v++)
            filled[v][views[v] % SLOTS]++;
    }
    /* 256 expected, a standard deviation of 16. */
    for (int v = 0; v < 10; v++)
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            CHECK(filled[v][slot] > 160 && filled[v][slot] < 352);
}

TEST(the_halves_of_a_digest_know_nothing_of_each_other)
{
    enum { KEYS = 20000 };
    static uint32_t same[64][64];
    for (uint32_t i = 0; i < KEYS; i++) {
        struct digest128 d = hash128((struct str){(const char *)&i, 4}, 0);
        for (uint32_t lo = 0; lo < 64; lo++)
            for (uint32_t hi = 0; hi < 64; hi++)
                same[lo][hi] += (d.lo >> lo & 1) == (d.hi >> hi & 1);
    }
    /* Seven standard deviations (71 each). */
    for (uint32_t lo = 0; lo < 64; lo++)
        for (uint32_t hi = 0; hi < 64; hi++)
            CHECK(same[lo][hi] > KEYS / 2 - 500 && same[lo][hi] < KEYS / 2 + 500);
}

TEST(zeros_of_different_length_differ)
{
    static const char zeros[200];
    for (uint32_t i = 0; i < sizeof zeros; i++)
        for (uint32_t j = 0; j < i; j++) {
            struct str x = {zeros, i};
            struct str y = {zeros, j};
            CHECK(hash64(x, 0) != hash64(y, 0));
            CHECK(hash128(x, 0).lo != hash128(y, 0).lo);
            CHECK(hash128(x, 0).hi != hash128(y, 0).hi);
        }
}

/* --- Digests --- */

TEST(digests_carry_and_borrow)
{
    struct digest128 d = {UINT64_MAX, 5};
    digest_add(&d, (struct digest128){1, 0});
    CHECK(digest_eq(d, (struct digest128){0, 6}));
    digest_sub(&d, (struct digest128){1, 0});
    CHECK(digest_eq(d, (struct digest128){UINT64_MAX, 5}));
    digest_add(&d, (struct digest128){UINT64_MAX, UINT64_MAX});
    CHECK(digest_eq(d, (struct digest128){UINT64_MAX - 1, 5}));
    d = (struct digest128){0, 0};
    digest_sub(&d, (struct digest128){1, 0});
    CHECK(digest_eq(d, (struct digest128){UINT64_MAX, UINT64_MAX}));
    CHECK(!digest_eq(d, (struct digest128){UINT64_MAX, 0}));
    CHECK(!digest_eq(d, (struct digest128){0, UINT64_MAX}));
}

TEST(a_digest_forgets_the_order_in_which_rows_came_and_went)
{
    struct digest128 forward = {0, 0};
    struct digest128 backward = {0, 0};
    for (uint32_t i = 0; i < 1000; i++)
        digest_add(&forward, hash128((struct str){(const char *)&i, 4}, 0));
    for (uint32_t i = 1500; i-- > 0;)
        digest_add(&backward, hash128((struct str){(const char *)&i, 4}, 0));
    CHECK(!digest_eq(forward, backward));
    for (uint32_t i = 1000; i < 1500; i++)
        digest_sub(&backward, hash128((struct str){(const char *)&i, 4}, 0));
    CHECK(digest_eq(forward, backward));
}

/* --- Random numbers --- */

TEST(the_sequence_of_a_seed_never_changes)
{
    /* From the reference code: splitmix64 with seed 0 begins e220a8397b1dcdaf, 6e789e6aa1b965f4. */
    struct prng r;
    prng_init(&r, 0);
    CHECK(r.s[0] == 0xe220a8397b1dcdafu && r.s[1] == 0x6e789e6aa1b965f4u);
    CHECK(prng_next(&r) == 0x99ec5f36cb75f2b4u);
    CHECK(prng_next(&r) == 0xbf6e1f784956452au);
    CHECK(prng_next(&r) == 0x1a5f849d4933e6e0u);
    r = (struct prng){{1, 2, 3, 4}};
    CHECK(prng_next(&r) == 11520);
    CHECK(prng_next(&r) == 0);
    CHECK(prng_next(&r) == 1509978240);
    CHECK(prng_next(&r) == 1215971899390074240u);
}

TEST(equal_seeds_agree_and_others_part)
{
    struct prng a;
    struct prng b;
    struct prng c;
    prng_init(&a, 41);
    prng_init(&b, 41);
    prng_init(&c, 42);
    bool parted = false;
    for (int i = 0; i < 1000; i++) {
        uint64_t next = prng_next(&a);
        CHECK(next == prng_next(&b));
        parted |= next != prng_next(&c);
    }
    CHECK(parted);
}

TEST(below_stays_below_and_is_even)
{
    struct prng r;
    prng_init(&r, 43);
    for (uint64_t bound = 1; bound <= 40; bound++) {
        uint32_t seen[40] = {0};
        for (uint64_t i = 0; i < 1000 * bound; i++) {
            uint64_t drawn = prng_below(&r, bound);
            CHECK(drawn < bound);
            seen[drawn]++;
        }
        for (uint64_t i = 0; i < bound; i++)
            CHECK(seen[i] > 800 && seen[i] < 1200);
    }
    /* A bound at which one draw in four must be made again; a plain remainder would give the
     * lower third twice as often. */
    const uint64_t wide = 3ull << 62;
    uint32_t lower = 0;
    for (int i = 0; i < 30000; i++) {
        uint64_t drawn = prng_below(&r, wide);
        CHECK(drawn < wide);
        lower += drawn < wide / 3;
    }
    CHECK(lower > 9500 && lower < 10500);
}

TEST(between_includes_both_ends)
{
    struct prng r;
    prng_init(&r, 47);
    bool low = false;
    bool high = false;
    bool negative = false;
    for (int i = 0; i < 1000; i++) {
        int64_t drawn = prng_between(&r, -3, 3);
        CHECK(drawn >= -3 && drawn <= 3);
        low |= drawn == -3;
        high |= drawn == 3;
        negative |= prng_between(&r, INT64_MIN, INT64_MAX) < 0;
        CHECK(prng_between(&r, 5, 5) == 5);
        CHECK(prng_between(&r, INT64_MIN, INT64_MIN) == INT64_MIN);
        CHECK(prng_between(&r, INT64_MAX - 1, INT64_MAX) >= INT64_MAX - 1);
    }
    CHECK(low && high && negative);
}

TEST(probability_is_per_mille)
{
    struct prng r;
    prng_init(&r, 53);
    uint32_t hits = 0;
    for (int i = 0; i < 100000; i++) {
        hits += prng_chance(&r, 250);
        CHECK(!prng_chance(&r, 0));
        CHECK(prng_chance(&r, 1000));
    }
    CHECK(hits > 24000 && hits < 26000);
}

TEST(a_bound_of_zero_stops_the_program)
{
    pid_t child = fork();
    if (child == 0) {
        struct prng r;
        signal(SIGABRT, SIG_DFL);
        close(2);
        prng_init(&r, 1);
        _exit(prng_below(&r, 0) == 0);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
