/* Goal: Digest accepts a response to a nonce once, if it was computed with the right password.
 * Method: headers made by hand against a table with a simulated clock; the example of RFC 2617. */
#include "auth/digest.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "auth/password_reset_keys.h"
#include "base/hash/md5.h"
#include "base/text/buf.h"
#include "tests/check.h"

#define NOW    ((int64_t)1700000000000)
#define TARGET "/api/v2/nodes?limit=3"

static struct arena arena;

static struct str joined(const char *text)
{
    return str_copy(&arena, str_from(text));
}

static struct str hex(struct str text)
{
    uint8_t bytes[16];
    struct buf b = buf_in(&arena);
    md5(text, bytes);
    buf_put_hex(&b, bytes, sizeof bytes);
    return buf_str(&b);
}

static bool parses(const char *text)
{
    struct digest_parameters claim;
    return digest_parse(&arena, str_from(text), &claim);
}

/* A simulated client. */
struct client {
    const char *user, *password, *uri, *method;
    struct str nonce;
    uint64_t count;
};

/* The parameters of a response with this text as `nc`, instead of the count of the client. */
static struct digest_parameters answer_written(const struct client *c, const char *nc)
{
    char text[512];
    struct digest_parameters claim = {.username = str_from(c->user),
                                      .realm = STR(DIGEST_REALM),
                                      .nonce = c->nonce,
                                      .uri = str_from(c->uri),
                                      .cnonce = STR("0a4f113b"),
                                      .qop = STR("auth")};
    claim.nc = joined(nc);
    snprintf(text, sizeof text, "%s:%s", c->method, c->uri);
    const struct str ha2 = hex(joined(text));
    const struct str ha1 = digest_ha1(&arena, claim.username, str_from(c->password));
    snprintf(text, sizeof text, "%.*s:%.*s:%.*s:0a4f113b:auth:%.*s", STR_FMT_ARGS(ha1),
             STR_FMT_ARGS(c->nonce), STR_FMT_ARGS(claim.nc), STR_FMT_ARGS(ha2));
    claim.response = hex(joined(text));
    return claim;
}

static struct digest_parameters answer(const struct client *c)
{
    char nc[32];
    snprintf(nc, sizeof nc, "%08" PRIx64, c->count);
    return answer_written(c, nc);
}

static struct str nonce_of(struct digests *d, int64_t now)
{
    const struct str challenge = digests_challenge(d, &arena, now, false);
    const char *text = str_z(&arena, challenge);
    CHECK(strncmp(text, "Digest realm=\"Crowbar\", qop=\"auth\", algorithm=MD5", 48) == 0);
    CHECK(strstr(text, "stale") == NULL);
    const char *from = strstr(text, "nonce=\"") + 7;
    return str_slice(str_from(from), 0, str_find(str_from(from), '"', 0));
}

static enum digest_verdict judge(struct digests *d, const struct digest_parameters *claim,
                                 int64_t now)
{
    const struct str ha1 = digest_ha1(&arena, STR("ann"), STR("secret"));
    const struct digest_check q = {
        .arena = &arena, .claim = claim, .method = HTTP_GET, .target = STR(TARGET), .ha1 = ha1};
    return digests_verify(d, &q, now);
}

static enum digest_verdict judge_client(struct digests *d, const struct client *c, int64_t now)
{
    const struct digest_parameters claim = answer(c);
    return judge(d, &claim, now);
}

static enum digest_verdict judge_written(struct digests *d, const struct client *c, const char *nc)
{
    const struct digest_parameters claim = answer_written(c, nc);
    return judge(d, &claim, NOW);
}

static struct client ann(struct digests *d)
{
    return (struct client){.user = "ann",
                           .password = "secret",
                           .uri = TARGET,
                           .method = "GET",
                           .nonce = nonce_of(d, NOW),
                           .count = 1};
}

static struct digests *open_digests(void)
{
    CHECK(sodium_init() >= 0);
    return digests_new();
}

static void close_digests(struct digests *d)
{
    digests_free(d);
    arena_fini(&arena);
}

/* Case 17: the realm is Crowbar, and the HA1 is MD5(user:Crowbar:password). */
TEST(the_ha1_is_that_of_the_realm_crowbar)
{
    CHECK(str_eq(STR(DIGEST_REALM), STR("Crowbar")));
    CHECK(str_eq(digest_ha1(&arena, STR("crowbar"), STR("crowbar")),
                 hex(STR("crowbar:Crowbar:crowbar"))));
    CHECK(digest_ha1(&arena, STR("a"), STR("")).len == DIGEST_HA1_LEN);
    arena_fini(&arena);
}

#define REST "cnonce=\"x\", nc=00000001, qop=auth, response=\"0123456789abcdef0123456789abcdef\""

TEST(parameters_are_parsed_as_clients_write_them)
{
    struct digest_parameters c;
    CHECK(
        digest_parse(&arena,
                     STR("username=\"a\\\"b\", realm=\"Crowbar\",nonce=\"n=\" , uri=\"/x?a=b,c\", "
                         "algorithm=MD5, opaque=\"o\", " REST),
                     &c));
    CHECK(str_eq(c.username, STR("a\"b")) && str_eq(c.nonce, STR("n=")));
    CHECK(str_eq(c.uri, STR("/x?a=b,c")) && str_eq(c.nc, STR("00000001")));
    CHECK(str_eq(c.qop, STR("auth")) && str_eq(c.cnonce, STR("x")));
    CHECK(parses("USERNAME=a,Realm=\"Crowbar\",nonce=n,uri=/,qop=\"auth\",cnonce=c,nc=00000001,"
                 "response=0123456789abcdef0123456789abcdef"));
    arena_fini(&arena);
}

TEST(incomplete_parameters_are_refused)
{
    static const char *const wrong[] = {
        "",
        "username",
        "username=",
        "username=\"a",
        "username=\"a\\",
        "username=\"a\" realm=\"Crowbar\", nonce=n, uri=/, " REST,
        "realm=\"Crowbar\", nonce=n, uri=/, " REST,
        "username=\"a\", realm=\"Halligan\", nonce=n, uri=/, " REST,
        "username=\"a\", realm=\"Crowbar\", uri=/, " REST,
        "username=\"a\", realm=\"Crowbar\", nonce=n, " REST,
        "username=\"a\", realm=\"Crowbar\", nonce=n, uri=/, algorithm=SHA-256, " REST,
        "username=\"a\", realm=\"Crowbar\", nonce=n, uri=/, username=b, " REST,
        "username=\"a\", realm=\"Crowbar\", nonce=n, uri=/, cnonce=c, nc=1, qop=auth, "
        "response=0123456789abcdef0123456789abcdef",
        "username=\"a\", realm=\"Crowbar\", nonce=n, uri=/, cnonce=c, nc=0000000100000001f, "
        "qop=auth, response=0123456789abcdef0123456789abcdef",
        "username=\"a\", realm=\"Crowbar\", nonce=n, uri=/, cnonce=c, nc=00000001, qop=auth-int, "
        "response=0123456789abcdef0123456789abcdef",
        "username=\"a\", realm=\"Crowbar\", nonce=n, uri=/, "
        "response=0123456789abcdef0123456789abcdef",
        "username=\"\xff\", realm=\"Crowbar\", nonce=n, uri=/, " REST,
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!parses(wrong[i]));
    arena_fini(&arena);
}

TEST(only_the_right_password_is_accepted)
{
    struct digests *d = open_digests();
    struct client c = ann(d);
    CHECK(judge_client(d, &c, NOW) == DIGEST_GOOD);
    c.count = 2;
    c.password = "Secret";
    CHECK(judge_client(d, &c, NOW) == DIGEST_WRONG);
    c.password = "secret";
    c.method = "POST";
    CHECK(judge_client(d, &c, NOW) == DIGEST_WRONG);
    c.method = "GET";
    c.uri = "/api/v2/users";
    CHECK(judge_client(d, &c, NOW) == DIGEST_WRONG);
    c.uri = "http://127.0.0.1:3000" TARGET;
    CHECK(judge_client(d, &c, NOW) == DIGEST_GOOD);
    struct digest_parameters claim = answer(&c);
    claim.response = STR("not thirty-two hex digits, that..");
    CHECK(judge(d, &claim, NOW) == DIGEST_WRONG);
    close_digests(d);
}

TEST(the_decoy_is_never_right)
{
    struct digests *d = open_digests();
    const struct client c = ann(d);
    const struct digest_parameters claim = answer(&c);
    struct digest_check q = {
        .arena = &arena, .claim = &claim, .method = HTTP_GET, .target = STR(TARGET)};
    CHECK(digests_verify(d, &q, NOW) == DIGEST_WRONG);
    q.ha1 = digest_ha1(&arena, STR("ann"), STR("secret"));
    q.method = HTTP_OTHER;
    CHECK(digests_verify(d, &q, NOW) == DIGEST_WRONG);
    close_digests(d);
}

TEST(a_right_response_is_accepted_once)
{
    struct digests *d = open_digests();
    struct client c = ann(d);
    static const uint32_t order[] = {1, 2, 5, 3, 4, 100, 99, 60};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        c.count = order[i];
        CHECK(judge_client(d, &c, NOW) == DIGEST_GOOD);
    }
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        c.count = order[i];
        CHECK(judge_client(d, &c, NOW) == DIGEST_STALE);
    }
    c.count = 36; /* below the window */
    CHECK(judge_client(d, &c, NOW) == DIGEST_STALE);
    c.count = 0; /* likewise */
    CHECK(judge_client(d, &c, NOW) == DIGEST_STALE);
    c.count = UINT32_MAX;
    CHECK(judge_client(d, &c, NOW) == DIGEST_GOOD);
    close_digests(d);
}

/* Ruby's net-http-digest_auth counts from 0 and does not reset the count for a new nonce. */
TEST(counts_begin_at_zero_and_may_have_more_than_eight_digits)
{
    struct digests *d = open_digests();
    struct client c = ann(d);
    static const uint64_t order[] = {0, 2, 1, UINT32_MAX, (uint64_t)UINT32_MAX + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        c.count = order[i];
        CHECK(judge_client(d, &c, NOW) == DIGEST_GOOD);
        CHECK(judge_client(d, &c, NOW) == DIGEST_STALE);
    }
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        c.count = order[i];
        CHECK(judge_client(d, &c, NOW) == DIGEST_STALE);
    }
    /* A used count with leading zeros or other case is still used. */
    struct client other = ann(d);
    CHECK(judge_client(d, &other, NOW) == DIGEST_GOOD);
    CHECK(judge_written(d, &other, "0000000001") == DIGEST_STALE);
    CHECK(judge_written(d, &other, "0000000002") == DIGEST_GOOD);
    CHECK(judge_written(d, &other, "00000002") == DIGEST_STALE);
    CHECK(judge_written(d, &other, "0000000A") == DIGEST_GOOD);
    CHECK(judge_written(d, &other, "0000000a") == DIGEST_STALE);
    CHECK(judge_written(d, &other, "0000000g") == DIGEST_STALE);
    close_digests(d);
}

TEST(nonces_expire_after_five_minutes_and_are_authenticated)
{
    struct digests *d = open_digests(), *other = digests_new();
    struct client c = ann(d);
    CHECK(judge_client(d, &c, NOW + DIGEST_NONCE_MS + 1) == DIGEST_STALE);
    CHECK(judge_client(d, &c, NOW - DIGEST_NONCE_MS - 1) == DIGEST_STALE);
    CHECK(judge_client(other, &c, NOW) == DIGEST_STALE);
    CHECK(judge_client(d, &c, NOW + DIGEST_NONCE_MS) == DIGEST_GOOD);
    c.nonce = STR("bm9uY2U=");
    CHECK(judge_client(d, &c, NOW) == DIGEST_STALE);
    c.password = "wrong";
    CHECK(judge_client(d, &c, NOW) == DIGEST_WRONG);
    const char *stale = str_z(&arena, digests_challenge(d, &arena, NOW, true));
    CHECK(strstr(stale, ", stale=true") != NULL);
    digests_free(other);
    close_digests(d);
}

/* When the table overflows, a response to a dropped nonce must not be accepted again. */
TEST(a_dropped_nonce_is_stale)
{
    struct digests *d = open_digests();
    struct client first = ann(d);
    CHECK(judge_client(d, &first, NOW) == DIGEST_GOOD);
    for (uint32_t i = 1; i <= DIGEST_USED_MAX; i++) {
        struct client c = ann(d);
        c.nonce = nonce_of(d, NOW + i);
        CHECK(judge_client(d, &c, NOW + i) == DIGEST_GOOD);
    }
    CHECK(judge_client(d, &first, NOW + 2000) == DIGEST_STALE);
    first.count = 2;
    CHECK(judge_client(d, &first, NOW + 2000) == DIGEST_STALE);
    struct client fresh = ann(d);
    fresh.nonce = nonce_of(d, NOW + 2000);
    CHECK(judge_client(d, &fresh, NOW + 2000) == DIGEST_GOOD);
    close_digests(d);
}

/* ---- sealed passwords ---- */

static struct str base64(const void *bytes, size_t size)
{
    char text[512];
    sodium_bin2base64(text, sizeof text, bytes, size, sodium_base64_VARIANT_ORIGINAL);
    return joined(text);
}

static struct sealed_box seal(struct str token, struct str text)
{
    uint8_t to[crypto_box_PUBLICKEYBYTES], mine[crypto_box_PUBLICKEYBYTES];
    uint8_t secret[crypto_box_SECRETKEYBYTES], nonce[crypto_box_NONCEBYTES], payload[256];
    CHECK(sodium_base642bin(to, sizeof to, token.at, token.len, NULL, NULL, NULL,
                            sodium_base64_VARIANT_ORIGINAL) == 0);
    CHECK(crypto_box_keypair(mine, secret) == 0);
    randombytes_buf(nonce, sizeof nonce);
    CHECK(crypto_box_easy(payload, (const uint8_t *)text.at, text.len, nonce, to, secret) == 0);
    return (struct sealed_box){.token = token,
                               .decoder = base64(mine, sizeof mine),
                               .nonce = base64(nonce, sizeof nonce),
                               .payload = base64(payload, text.len + crypto_box_MACBYTES)};
}

static bool open_as(const struct reset_keys *r, int64_t user_id, const struct sealed_box *letter,
                    int64_t now, struct str *out_text)
{
    struct sealed_box about = *letter;
    about.user_id = user_id;
    return reset_keys_open(r, &arena, &about, now, out_text);
}

TEST(a_sealed_password_is_opened_for_its_user_within_an_hour_and_once)
{
    CHECK(sodium_init() >= 0);
    struct reset_keys *r = reset_keys_new();
    const struct str token = reset_keys_start(r, &arena, 7, NOW);
    struct sealed_box letter = seal(token, STR("new secret"));
    struct str text;
    letter.user_id = 7;
    CHECK(!open_as(r, 8, &letter, NOW, &text));
    CHECK(!open_as(r, 7, &letter, NOW + RESET_MS + 1, &text));
    CHECK(open_as(r, 7, &letter, NOW + RESET_MS, &text));
    CHECK(str_eq(text, STR("new secret")));
    CHECK(reset_keys_end(r, &letter) && !reset_keys_end(r, &letter));
    CHECK(!open_as(r, 7, &letter, NOW, &text));
    reset_keys_free(r);
    arena_fini(&arena);
}

TEST(a_modified_box_does_not_open)
{
    CHECK(sodium_init() >= 0);
    struct reset_keys *r = reset_keys_new();
    const struct str token = reset_keys_start(r, &arena, 7, NOW);
    const struct sealed_box good = seal(token, STR("new secret"));
    struct str text;
    for (int part = 0; part < 4; part++) {
        struct sealed_box letter = good;
        struct str *which[] = {&letter.token, &letter.decoder, &letter.nonce, &letter.payload};
        char *changed = arena_copy(&arena, which[part]->at, which[part]->len);
        changed[3] = changed[3] == 'A' ? 'B' : 'A';
        which[part]->at = changed;
        CHECK(!open_as(r, 7, &letter, NOW, &text));
        which[part]->len = 3;
        CHECK(!open_as(r, 7, &letter, NOW, &text));
        which[part]->len = 0;
        CHECK(!open_as(r, 7, &letter, NOW, &text));
    }
    CHECK(open_as(r, 7, &good, NOW, &text));
    reset_keys_start(r, &arena, 7, NOW); /* a new key replaces the old one */
    CHECK(!open_as(r, 7, &good, NOW, &text));
    reset_keys_free(r);
    arena_fini(&arena);
}

TEST(keys_are_bounded_and_the_oldest_is_dropped)
{
    CHECK(sodium_init() >= 0);
    struct reset_keys *r = reset_keys_new();
    struct str text;
    const struct sealed_box first = seal(reset_keys_start(r, &arena, 1, NOW), STR("one"));
    const struct sealed_box second = seal(reset_keys_start(r, &arena, 2, NOW + 1), STR("two"));
    for (int64_t i = 3; i <= RESETS_MAX; i++)
        reset_keys_start(r, &arena, i, NOW + i);
    CHECK(open_as(r, 1, &first, NOW + 100, &text));
    reset_keys_start(r, &arena, 1000, NOW + 1000);
    CHECK(!open_as(r, 1, &first, NOW + 1000, &text));
    CHECK(open_as(r, 2, &second, NOW + 1000, &text));
    reset_keys_free(r);
    arena_fini(&arena);
}
