/* credentials.c - parses Authorization and Cookie headers, and creates tokens.
 *
 * It owns nothing. Headers are untrusted input: an Authorization header of more than HEADER_MAX
 * bytes, a cookie of more than COOKIE_MAX bytes and whatever does not match the grammar of RFC 9110
 * count as no credentials, which is not an error here. Comparisons of secrets take constant time,
 * and random bytes are wiped after use.
 */
#include "auth/credentials.h"

#include <sodium.h>

#include "base/err.h"
#include "base/hash/sha256.h"
#include "base/text/buf.h"

enum { HEADER_MAX = 4096, COOKIE_MAX = 256, TOKEN_BYTES = 32, DIGEST_BYTES = 32, CSRF_BYTES = 24 };

static const struct str TOKEN_PREFIX = {"hlg_", 4};

static struct str credentials_trim(struct str s)
{
    uint32_t from = 0;
    uint32_t to = s.len;
    while (from < to && s.at[from] == ' ')
        from++;
    while (to > from && s.at[to - 1] == ' ')
        to--;
    return str_slice(s, from, to);
}

/* token68 of RFC 9110: the alphabets of base64 and base64url, '.', '~', and '=' at the end. */
static bool credentials_is_token68(struct str s)
{
    while (s.len > 0 && s.at[s.len - 1] == '=')
        s.len--;
    for (uint32_t i = 0; i < s.len; i++) {
        const char c = s.at[i];
        if (!char_is_letter(c) && !char_is_digit(c) && str_find(STR("-._~+/"), c, 0) == 6)
            return false;
    }
    return s.len > 0;
}

static bool credentials_decode_base64(struct arena *a, struct str text, struct str *out_bytes)
{
    static const int variants[] = {sodium_base64_VARIANT_ORIGINAL,
                                   sodium_base64_VARIANT_ORIGINAL_NO_PADDING};
    unsigned char *bytes = arena_alloc(a, text.len);
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        size_t len = 0;
        if (sodium_base642bin(bytes, text.len, text.at, text.len, NULL, &len, NULL, variants[i]) ==
            0) {
            *out_bytes = (struct str){(const char *)bytes, (uint32_t)len};
            return true;
        }
    }
    return false;
}

static struct credentials credentials_parse_basic(struct arena *a, struct str text)
{
    const struct credentials none = {.kind = CREDENTIALS_NONE};
    struct str pair;
    if (!credentials_is_token68(text) || !credentials_decode_base64(a, text, &pair) ||
        !str_is_clean(pair))
        return none;
    const uint32_t colon = str_find(pair, ':', 0);
    if (colon == 0 || colon == pair.len)
        return none;
    return (struct credentials){
        .kind = CREDENTIALS_BASIC,
        .name = str_slice(pair, 0, colon),
        .secret = str_slice(pair, colon + 1, pair.len),
    };
}

struct credentials credentials_parse(struct arena *a, struct str header)
{
    const struct credentials none = {.kind = CREDENTIALS_NONE};
    if (header.len > HEADER_MAX)
        return none;
    const struct str text = credentials_trim(header);
    const uint32_t blank = str_find(text, ' ', 0);
    const struct str scheme = str_slice(text, 0, blank);
    const struct str rest = credentials_trim(str_slice(text, blank, text.len));
    if (str_eq_nocase(scheme, STR("Basic")))
        return credentials_parse_basic(a, rest);
    if (str_eq_nocase(scheme, STR("Bearer")))
        return credentials_is_token68(rest)
                   ? (struct credentials){.kind = CREDENTIALS_BEARER, .secret = str_copy(a, rest)}
                   : none;
    if (str_eq_nocase(scheme, STR("Digest")))
        return (struct credentials){.kind = CREDENTIALS_DIGEST, .secret = str_copy(a, rest)};
    return none;
}

struct str credentials_token_hash(struct arena *a, struct str token)
{
    struct sha256 s;
    uint8_t digest[DIGEST_BYTES];
    sha256_init(&s);
    sha256_add(&s, token.at, token.len);
    sha256_end(&s, digest);
    struct buf b = buf_in(a);
    buf_put_hex(&b, digest, sizeof digest);
    return buf_str(&b);
}

struct str credentials_cookie(struct str header, struct str name)
{
    for (uint32_t at = 0; at < header.len;) {
        const uint32_t end = str_find(header, ';', at);
        const struct str pair = credentials_trim(str_slice(header, at, end));
        const uint32_t equals = str_find(pair, '=', 0);
        const struct str value = str_slice(pair, equals + 1, pair.len);
        if (str_eq(str_slice(pair, 0, equals), name) && value.len <= COOKIE_MAX &&
            credentials_is_token68(value))
            return value;
        at = end + 1;
    }
    return STR("");
}

/* The key is derived from the token of the session with SHA-256 and a constant text, so that it
 * differs from the stored hash of the token: a reader of the store cannot compute CSRF tokens. */
struct str credentials_csrf(struct arena *a, struct str session)
{
    static const char about[] = "a page of this session";
    uint8_t key[DIGEST_BYTES], hash[CSRF_BYTES];
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, about, sizeof about);
    sha256_add(&s, session.at, session.len);
    sha256_end(&s, key);
    must(crypto_generichash(hash, sizeof hash, (const uint8_t *)about, sizeof about, key,
                            sizeof key) == 0);
    struct buf b = buf_in(a);
    buf_put_hex(&b, hash, sizeof hash);
    sodium_memzero(key, sizeof key);
    return buf_str(&b);
}

bool credentials_same(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || sodium_memcmp(a.at, b.at, a.len) == 0);
}

struct str credentials_token_new(struct arena *a)
{
    unsigned char bytes[TOKEN_BYTES];
    char text[sodium_base64_ENCODED_LEN(TOKEN_BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
    must(sodium_init() >= 0);
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2base64(text, sizeof text, bytes, sizeof bytes,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    const struct str token = STR_CONCAT(a, TOKEN_PREFIX, str_from(text));
    sodium_memzero(bytes, sizeof bytes);
    sodium_memzero(text, sizeof text);
    return token;
}
