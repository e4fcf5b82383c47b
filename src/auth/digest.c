/* digest.c - HTTP Digest authentication: challenges, nonces and responses.
 *
 * It owns the secret of the process and the table of used nonces; both end with the process, so
 * after a restart every nonce is stale and clients get a new challenge. A nonce is (time, random
 * bytes, MAC of both), so issuing one needs no memory. The response is verified before the nonce is
 * checked, so that only clients with the right password can fill the table of used nonces. A nonce
 * that was used well is stored with a window of the counts (nc) it was used with, because a client
 * with several connections sends them out of order. When the table is full, the oldest nonce is
 * dropped and `floor_ms` makes all nonces of that age stale, so that a dropped one cannot be
 * replayed.
 *
 * Failure: malformed parameters are a false result of digest_parse(). A wrong response is
 * DIGEST_WRONG; a right one with a nonce that cannot be used is DIGEST_STALE, upon which a client
 * repeats the request with a new nonce and does not ask for the password again.
 */
#include "auth/digest.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash/md5.h"
#include "base/text/buf.h"

enum { TIME_SIZE = 8, RANDOM_SIZE = 8, MAC_SIZE = 16, MD5_SIZE = 16 };
enum { NONCE_SIZE = TIME_SIZE + RANDOM_SIZE + MAC_SIZE, WINDOW = 64 };
/* RFC 7616 has eight hex digits; clients that never reset the count exceed them. */
enum { NC_LEN_MIN = 8, NC_LEN_MAX = 16 };

/* A nonce that was used with a right response, and the counts (nc) it was used with: `highest`, and
 * of the 63 below it those whose bit in `window` is set. */
struct used {
    uint8_t random[RANDOM_SIZE];
    int64_t made_ms;
    uint64_t highest;
    uint64_t window; /* 0: the entry is free; the bit of `highest` is set otherwise */
};

struct digests {
    uint8_t secret[crypto_generichash_KEYBYTES];
    int64_t floor_ms; /* nonces created up to this time and not in the table are stale */
    struct used used[DIGEST_USED_MAX];
};

struct digests *digests_new(void)
{
    struct digests *d = calloc(1, sizeof *d);
    must(d);
    randombytes_buf(d->secret, sizeof d->secret);
    d->floor_ms = INT64_MIN;
    return d;
}

void digests_free(struct digests *d)
{
    free(d);
}

/* ---- MD5 of strings joined by colons ---- */

static struct str digest_hex_md5(struct arena *a, const struct str *parts, uint32_t count)
{
    uint8_t bytes[MD5_SIZE];
    struct buf text = buf_in(a), hex = buf_in(a);
    for (uint32_t i = 0; i < count; i++) {
        buf_put_z(&text, i ? ":" : "");
        buf_put_str(&text, parts[i]);
    }
    md5(buf_str(&text), bytes);
    if (text.len)
        sodium_memzero(text.at, text.len);
    buf_put_hex(&hex, bytes, sizeof bytes);
    return buf_str(&hex);
}

#define HEX_MD5(a, ...)                                                                            \
    digest_hex_md5((a), (const struct str[]){__VA_ARGS__},                                         \
                   (uint32_t)(sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str)))

struct str digest_ha1(struct arena *a, struct str username, struct str password)
{
    return HEX_MD5(a, username, STR(DIGEST_REALM), password);
}

/* ---- parse ---- */

static bool digest_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static uint32_t digest_skip_blanks(struct str s, uint32_t at)
{
    while (at < s.len && digest_is_blank(s.at[at]))
        at++;
    return at;
}

/* A quoted string at *at; a backslash escapes the next character. */
static bool digest_read_quoted(struct arena *a, struct str s, uint32_t *at, struct str *out)
{
    struct buf b = buf_in(a);
    uint32_t i = *at + 1;
    for (; i < s.len && s.at[i] != '"'; i++) {
        if (s.at[i] == '\\' && ++i == s.len)
            return false;
        buf_put_c(&b, s.at[i]);
    }
    *at = i + 1;
    *out = buf_str(&b);
    return i < s.len;
}

static bool digest_read_value(struct arena *a, struct str s, uint32_t *at, struct str *out)
{
    if (*at < s.len && s.at[*at] == '"')
        return digest_read_quoted(a, s, at, out);
    const uint32_t from = *at;
    while (*at < s.len && s.at[*at] != ',' && !digest_is_blank(s.at[*at]))
        ++*at;
    *out = str_slice(s, from, *at);
    return out->len > 0;
}

static struct str *digest_find_field(struct digest_parameters *claim, struct str name)
{
    const struct {
        struct str name;
        struct str *place;
    } places[] = {
        {STR("username"), &claim->username}, {STR("realm"), &claim->realm},
        {STR("nonce"), &claim->nonce},       {STR("uri"), &claim->uri},
        {STR("response"), &claim->response}, {STR("algorithm"), &claim->algorithm},
        {STR("cnonce"), &claim->cnonce},     {STR("nc"), &claim->nc},
        {STR("qop"), &claim->qop},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (str_eq_nocase(name, places[i].name))
            return places[i].place;
    return NULL;
}

/* One name=value at *at and the comma after it. Unknown parameters are skipped; a repeated one is
 * an error, because it is ambiguous. */
static bool digest_read_pair(struct arena *a, struct str s, uint32_t *at,
                             struct digest_parameters *claim)
{
    struct str value;
    const uint32_t equals = str_find(s, '=', *at);
    uint32_t end = equals;
    while (end > *at && digest_is_blank(s.at[end - 1]))
        end--;
    struct str *place = digest_find_field(claim, str_slice(s, *at, end));
    *at = digest_skip_blanks(s, equals + 1);
    if (equals == s.len || !digest_read_value(a, s, at, &value) || (place && place->at))
        return false;
    if (place)
        *place = str_copy(a, value);
    *at = digest_skip_blanks(s, *at);
    if (*at == s.len)
        return true;
    const bool is_comma = s.at[*at] == ',';
    *at = digest_skip_blanks(s, *at + 1);
    return is_comma;
}

bool digest_parse(struct arena *a, struct str text, struct digest_parameters *out_claim)
{
    struct digest_parameters claim = {0};
    for (uint32_t at = digest_skip_blanks(text, 0); at < text.len;)
        if (!digest_read_pair(a, text, &at, &claim))
            return false;
    const bool is_md5 = str_is_empty(claim.algorithm) || str_eq_nocase(claim.algorithm, STR("MD5"));
    const bool is_whole = claim.username.len && claim.nonce.len && claim.uri.len &&
                          claim.response.len == 2 * MD5_SIZE && claim.cnonce.len &&
                          claim.nc.len >= NC_LEN_MIN && claim.nc.len <= NC_LEN_MAX &&
                          str_is_clean(claim.username);
    if (!is_whole || !is_md5 || !str_eq_nocase(claim.qop, STR("auth")) ||
        !str_eq(claim.realm, STR(DIGEST_REALM)))
        return false;
    *out_claim = claim;
    return true;
}

/* ---- nonces ---- */

static void nonce_compute_mac(const struct digests *d, uint8_t nonce[NONCE_SIZE],
                              uint8_t out_mac[MAC_SIZE])
{
    must(crypto_generichash(out_mac, MAC_SIZE, nonce, TIME_SIZE + RANDOM_SIZE, d->secret,
                            sizeof d->secret) == 0);
}

static struct str nonce_new(const struct digests *d, struct arena *a, int64_t now_ms)
{
    uint8_t nonce[NONCE_SIZE];
    char text[sodium_base64_ENCODED_LEN(NONCE_SIZE, sodium_base64_VARIANT_ORIGINAL)];
    for (int i = 0; i < TIME_SIZE; i++)
        nonce[i] = (uint8_t)((uint64_t)now_ms >> (56 - 8 * i));
    randombytes_buf(nonce + TIME_SIZE, RANDOM_SIZE);
    nonce_compute_mac(d, nonce, nonce + TIME_SIZE + RANDOM_SIZE);
    sodium_bin2base64(text, sizeof text, nonce, sizeof nonce, sodium_base64_VARIANT_ORIGINAL);
    return str_copy(a, str_from(text));
}

/* Decode a nonce. False: its MAC is wrong, so this process has not issued it. */
static bool nonce_read(const struct digests *d, struct str text, int64_t *out_made_ms,
                       uint8_t out_random[RANDOM_SIZE])
{
    uint8_t nonce[NONCE_SIZE], mac[MAC_SIZE];
    size_t size = 0;
    uint64_t made = 0;
    if (sodium_base642bin(nonce, sizeof nonce, text.at, text.len, NULL, &size, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        size != NONCE_SIZE)
        return false;
    nonce_compute_mac(d, nonce, mac);
    if (sodium_memcmp(mac, nonce + TIME_SIZE + RANDOM_SIZE, MAC_SIZE) != 0)
        return false;
    for (int i = 0; i < TIME_SIZE; i++)
        made = made << 8 | nonce[i];
    *out_made_ms = (int64_t)made;
    memcpy(out_random, nonce + TIME_SIZE, RANDOM_SIZE);
    return true;
}

static bool nonce_is_fresh(int64_t made_ms, int64_t now_ms)
{
    return now_ms - made_ms <= DIGEST_NONCE_MS && made_ms - now_ms <= DIGEST_NONCE_MS;
}

struct str digests_challenge(const struct digests *d, struct arena *a, int64_t now_ms,
                             bool is_stale)
{
    struct buf b = buf_in(a);
    buf_put_z(&b, "Digest realm=\"" DIGEST_REALM "\", qop=\"auth\", algorithm=MD5, nonce=\"");
    buf_put_str(&b, nonce_new(d, a, now_ms));
    buf_put_z(&b, "\", opaque=\"halligan\"");
    buf_put_z(&b, is_stale ? ", stale=true" : "");
    return buf_str(&b);
}

/* ---- replay protection ---- */

static struct used *digests_find_used(struct digests *d, const uint8_t random[RANDOM_SIZE])
{
    for (uint32_t i = 0; i < DIGEST_USED_MAX; i++)
        if (d->used[i].window && memcmp(d->used[i].random, random, RANDOM_SIZE) == 0)
            return &d->used[i];
    return NULL;
}

/* A free entry, or that of the oldest nonce. In the second case all nonces up to its age that are
 * not in the table become stale. */
static struct used *digests_add_used(struct digests *d, int64_t now_ms)
{
    struct used *oldest = &d->used[0];
    for (uint32_t i = 0; i < DIGEST_USED_MAX; i++) {
        struct used *u = &d->used[i];
        if (!u->window || !nonce_is_fresh(u->made_ms, now_ms))
            return u;
        if (u->made_ms < oldest->made_ms)
            oldest = u;
    }
    d->floor_ms = oldest->made_ms;
    return oldest;
}

/* False: this count was used before, or is below the window. */
static bool digests_use_count(struct used *u, uint64_t count)
{
    if (count > u->highest) {
        const uint64_t ahead = count - u->highest;
        u->window = ahead < WINDOW ? u->window << ahead | 1 : 1;
        u->highest = count;
        return true;
    }
    const uint64_t behind = u->highest - count;
    if (behind >= WINDOW || (u->window >> behind & 1))
        return false;
    u->window |= (uint64_t)1 << behind;
    return true;
}

/* Hex digits of either case. Clients written in Ruby count from 0. */
static bool digest_parse_count(struct str nc, uint64_t *out_count)
{
    uint64_t count = 0;
    if (nc.len > NC_LEN_MAX)
        return false;
    for (uint32_t i = 0; i < nc.len; i++) {
        const char c = nc.at[i] >= 'A' && nc.at[i] <= 'F' ? (char)(nc.at[i] - 'A' + 'a') : nc.at[i];
        const bool is_letter = c >= 'a' && c <= 'f';
        if (!is_letter && !char_is_digit(c))
            return false;
        count = count << 4 | (uint64_t)(is_letter ? c - 'a' + 10 : c - '0');
    }
    *out_count = count;
    return nc.len > 0;
}

/* Accept a count of a nonce once. False: the nonce is expired or not ours, or the count was
 * used. */
static bool digests_use_nonce(struct digests *d, const struct digest_parameters *claim,
                              int64_t now_ms)
{
    int64_t made_ms;
    uint8_t random[RANDOM_SIZE];
    uint64_t count;
    if (!nonce_read(d, claim->nonce, &made_ms, random) || !nonce_is_fresh(made_ms, now_ms) ||
        !digest_parse_count(claim->nc, &count))
        return false;
    struct used *u = digests_find_used(d, random);
    if (u)
        return digests_use_count(u, count);
    if (made_ms <= d->floor_ms)
        return false;
    u = digests_add_used(d, now_ms);
    *u = (struct used){.made_ms = made_ms, .highest = count, .window = 1};
    memcpy(u->random, random, sizeof random);
    return true;
}

/* ---- verify ---- */

/* The parameter uri must be the request target. A client may give the absolute URL instead. */
static bool digest_uri_matches(struct str uri, struct str target)
{
    if (str_eq(uri, target))
        return true;
    const bool is_plain = str_starts(uri, STR("http://"));
    if (!is_plain && !str_starts(uri, STR("https://")))
        return false;
    const uint32_t path = str_find(uri, '/', is_plain ? 7 : 8);
    return str_eq(str_slice(uri, path, uri.len), target);
}

static bool digest_response_matches(const struct digest_check *q, struct str ha1)
{
    static const char *const methods[] = {
        [HTTP_GET] = "GET",     [HTTP_HEAD] = "HEAD",     [HTTP_POST] = "POST", [HTTP_PUT] = "PUT",
        [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE", [HTTP_OTHER] = "",
    };
    const struct digest_parameters *c = q->claim;
    uint8_t given[MD5_SIZE], wanted[MD5_SIZE];
    size_t size = 0;
    const struct str ha2 = HEX_MD5(q->arena, str_from(methods[q->method]), c->uri);
    const struct str right = HEX_MD5(q->arena, ha1, c->nonce, c->nc, c->cnonce, c->qop, ha2);
    must(sodium_hex2bin(wanted, sizeof wanted, right.at, right.len, NULL, NULL, NULL) == 0);
    return sodium_hex2bin(given, sizeof given, c->response.at, c->response.len, NULL, &size,
                          NULL) == 0 &&
           size == MD5_SIZE && sodium_memcmp(given, wanted, MD5_SIZE) == 0;
}

enum digest_verdict digests_verify(struct digests *d, const struct digest_check *q, int64_t now_ms)
{
    const bool has_user = q->ha1.len == DIGEST_HA1_LEN;
    /* Without a user the same computation is made with an HA1 that is never right, so that the time
     * of the reply does not reveal which users exist. */
    const struct str decoy = STR("00000000000000000000000000000000");
    const bool fits = digest_response_matches(q, has_user ? q->ha1 : decoy);
    if (!fits || !has_user || q->method == HTTP_OTHER ||
        !digest_uri_matches(q->claim->uri, q->target))
        return DIGEST_WRONG;
    return digests_use_nonce(d, q->claim, now_ms) ? DIGEST_GOOD : DIGEST_STALE;
}
