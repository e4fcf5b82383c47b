#include "auth/digest.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash/md5.h"
#include "base/text/buf.h"

enum { TIME_SIZE = 8, RANDOM_SIZE = 8, MAC_SIZE = 16, MD5_SIZE = 16 };
enum { NONCE_SIZE = TIME_SIZE + RANDOM_SIZE + MAC_SIZE, WINDOW = 64 };
/* RFC 7616 has eight hex digits; clients that never start a new count come to more. */
enum { NC_LEN_MIN = 8, NC_LEN_MAX = 16 };

/* A nonce that somebody answered well, and which counts it was answered with: `highest`, and of the
 * 63 below it those whose bit is set. Clients with several connections do not keep the order. */
struct used {
    uint8_t random[RANDOM_SIZE];
    int64_t made_ms;
    uint64_t highest;
    uint64_t window; /* 0: the entry is free; the bit of `highest` is set otherwise */
};

struct digests {
    uint8_t secret[crypto_generichash_KEYBYTES];
    int64_t floor_ms; /* nonces this old that are not remembered may have been */
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

/* ---- MD5 of texts with colons between them ---- */

static struct str hex_md5(struct arena *a, const struct str *parts, uint32_t count)
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
    hex_md5((a), (const struct str[]){__VA_ARGS__},                                                \
            (uint32_t)(sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str)))

struct str digest_ha1(struct arena *a, struct str username, struct str password)
{
    return HEX_MD5(a, username, STR(DIGEST_REALM), password);
}

/* ---- reading ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static uint32_t skip_blanks(struct str s, uint32_t at)
{
    while (at < s.len && is_blank(s.at[at]))
        at++;
    return at;
}

/* A text in quotes from *at on; a backslash takes the next character as it is. */
static bool read_quoted(struct arena *a, struct str s, uint32_t *at, struct str *out)
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

static bool read_value(struct arena *a, struct str s, uint32_t *at, struct str *out)
{
    if (*at < s.len && s.at[*at] == '"')
        return read_quoted(a, s, at, out);
    const uint32_t from = *at;
    while (*at < s.len && s.at[*at] != ',' && !is_blank(s.at[*at]))
        ++*at;
    *out = str_slice(s, from, *at);
    return out->len > 0;
}

static struct str *place_of(struct digest_claim *claim, struct str name)
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

/* One name=value from *at on, and the comma behind it. What we do not know is passed over; what is
 * said twice could be meant in two ways. */
static bool read_pair(struct arena *a, struct str s, uint32_t *at, struct digest_claim *claim)
{
    struct str value;
    const uint32_t equals = str_find(s, '=', *at);
    uint32_t end = equals;
    while (end > *at && is_blank(s.at[end - 1]))
        end--;
    struct str *place = place_of(claim, str_slice(s, *at, end));
    *at = skip_blanks(s, equals + 1);
    if (equals == s.len || !read_value(a, s, at, &value) || (place && place->at))
        return false;
    if (place)
        *place = str_copy(a, value);
    *at = skip_blanks(s, *at);
    if (*at == s.len)
        return true;
    const bool is_comma = s.at[*at] == ',';
    *at = skip_blanks(s, *at + 1);
    return is_comma;
}

bool digest_parse(struct arena *a, struct str text, struct digest_claim *out_claim)
{
    struct digest_claim claim = {0};
    for (uint32_t at = skip_blanks(text, 0); at < text.len;)
        if (!read_pair(a, text, &at, &claim))
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

static void put_mac(const struct digests *d, uint8_t nonce[NONCE_SIZE], uint8_t out_mac[MAC_SIZE])
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
    put_mac(d, nonce, nonce + TIME_SIZE + RANDOM_SIZE);
    sodium_bin2base64(text, sizeof text, nonce, sizeof nonce, sodium_base64_VARIANT_ORIGINAL);
    return str_copy(a, str_from(text));
}

/* Is it one of ours? */
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
    put_mac(d, nonce, mac);
    if (sodium_memcmp(mac, nonce + TIME_SIZE + RANDOM_SIZE, MAC_SIZE) != 0)
        return false;
    for (int i = 0; i < TIME_SIZE; i++)
        made = made << 8 | nonce[i];
    *out_made_ms = (int64_t)made;
    memcpy(out_random, nonce + TIME_SIZE, RANDOM_SIZE);
    return true;
}

static bool is_fresh(int64_t made_ms, int64_t now_ms)
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

/* ---- an answer counts once ---- */

static struct used *find_used(struct digests *d, const uint8_t random[RANDOM_SIZE])
{
    for (uint32_t i = 0; i < DIGEST_USED_MAX; i++)
        if (d->used[i].window && memcmp(d->used[i].random, random, RANDOM_SIZE) == 0)
            return &d->used[i];
    return NULL;
}

/* A free place, or that of the oldest nonce; what is as old and not remembered is stale then. */
static struct used *make_used(struct digests *d, int64_t now_ms)
{
    struct used *oldest = &d->used[0];
    for (uint32_t i = 0; i < DIGEST_USED_MAX; i++) {
        struct used *u = &d->used[i];
        if (!u->window || !is_fresh(u->made_ms, now_ms))
            return u;
        if (u->made_ms < oldest->made_ms)
            oldest = u;
    }
    d->floor_ms = oldest->made_ms;
    return oldest;
}

/* False: this count was seen, or is too far back to tell. */
static bool use_count(struct used *u, uint64_t count)
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
static bool read_count(struct str nc, uint64_t *out_count)
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

static bool use(struct digests *d, const struct digest_claim *claim, int64_t now_ms)
{
    int64_t made_ms;
    uint8_t random[RANDOM_SIZE];
    uint64_t count;
    if (!nonce_read(d, claim->nonce, &made_ms, random) || !is_fresh(made_ms, now_ms) ||
        !read_count(claim->nc, &count))
        return false;
    struct used *u = find_used(d, random);
    if (u)
        return use_count(u, count);
    if (made_ms <= d->floor_ms)
        return false;
    u = make_used(d, now_ms);
    *u = (struct used){.made_ms = made_ms, .highest = count, .window = 1};
    memcpy(u->random, random, sizeof random);
    return true;
}

/* ---- judging ---- */

/* A client may name the whole address where we were sent the path. */
static bool is_target(struct str uri, struct str target)
{
    if (str_eq(uri, target))
        return true;
    const bool is_plain = str_starts(uri, STR("http://"));
    if (!is_plain && !str_starts(uri, STR("https://")))
        return false;
    const uint32_t path = str_find(uri, '/', is_plain ? 7 : 8);
    return str_eq(str_slice(uri, path, uri.len), target);
}

static bool is_response(const struct digest_question *q, struct str ha1)
{
    static const char *const methods[] = {
        [HTTP_GET] = "GET",     [HTTP_HEAD] = "HEAD",     [HTTP_POST] = "POST", [HTTP_PUT] = "PUT",
        [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE", [HTTP_OTHER] = "",
    };
    const struct digest_claim *c = q->claim;
    uint8_t given[MD5_SIZE], wanted[MD5_SIZE];
    size_t size = 0;
    const struct str ha2 = HEX_MD5(q->arena, str_from(methods[q->method]), c->uri);
    const struct str right = HEX_MD5(q->arena, ha1, c->nonce, c->nc, c->cnonce, c->qop, ha2);
    must(sodium_hex2bin(wanted, sizeof wanted, right.at, right.len, NULL, NULL, NULL) == 0);
    return sodium_hex2bin(given, sizeof given, c->response.at, c->response.len, NULL, &size,
                          NULL) == 0 &&
           size == MD5_SIZE && sodium_memcmp(given, wanted, MD5_SIZE) == 0;
}

enum digest_verdict digests_judge(struct digests *d, const struct digest_question *q,
                                  int64_t now_ms)
{
    const bool is_somebody = q->ha1.len == DIGEST_HA1_LEN;
    const struct str decoy = STR("00000000000000000000000000000000");
    const bool fits = is_response(q, is_somebody ? q->ha1 : decoy);
    if (!fits || !is_somebody || q->method == HTTP_OTHER || !is_target(q->claim->uri, q->target))
        return DIGEST_WRONG;
    return use(d, q->claim, now_ms) ? DIGEST_GOOD : DIGEST_STALE;
}
