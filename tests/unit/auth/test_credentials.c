/* Goal: an Authorization header gives credentials, or none if it is malformed.
 * Method: headers as clients write them, and malformed ones. */
#include "auth/credentials.h"

#include <string.h>

#include "tests/check.h"

static struct arena arena;

static struct credentials parse(const char *header)
{
    return credentials_parse(&arena, str_from(header));
}

static bool is_basic(const char *header, const char *name, const char *secret)
{
    const struct credentials c = parse(header);
    return c.kind == CREDENTIALS_BASIC && str_eq(c.name, str_from(name)) &&
           str_eq(c.secret, str_from(secret));
}

TEST(basic_gives_a_name_and_a_password)
{
    CHECK(is_basic("Basic YWRtaW46c2VjcmV0", "admin", "secret"));
    CHECK(is_basic("basic YWRtaW46c2VjcmV0", "admin", "secret"));
    CHECK(is_basic("BASIC  YWRtaW46c2VjcmV0  ", "admin", "secret"));
    CHECK(is_basic("  Basic YWRtaW46c2VjcmV0", "admin", "secret"));
    CHECK(is_basic("Basic YTpiOmM=", "a", "b:c"));
    CHECK(is_basic("Basic YTpiOmM", "a", "b:c")); /* without the padding */
    CHECK(is_basic("Basic YTo=", "a", ""));
    CHECK(is_basic("Basic w6Q64oKs", "\xc3\xa4", "\xe2\x82\xac"));
    CHECK(is_basic("Basic YTo/Pz4+", "a", "?\?>>")); /* the characters + and / of base64 */
    arena_fini(&arena);
}

TEST(bearer_gives_a_token)
{
    const struct credentials c = parse("Bearer hlg_abc-DEF.123~+/==");
    CHECK(c.kind == CREDENTIALS_BEARER);
    CHECK(str_eq(c.secret, STR("hlg_abc-DEF.123~+/==")));
    CHECK(str_is_empty(c.name));
    CHECK(parse("bEARER x").kind == CREDENTIALS_BEARER);
    arena_fini(&arena);
}

TEST(digest_gives_its_parameters_unparsed)
{
    const struct credentials c = parse("Digest username=\"a\", nonce=n ");
    CHECK(c.kind == CREDENTIALS_DIGEST);
    CHECK(str_eq(c.secret, STR("username=\"a\", nonce=n")));
    arena_fini(&arena);
}

TEST(malformed_headers_give_no_credentials)
{
    static const char *const headers[] = {
        "",
        " ",
        "Basic",
        "Basic ",
        "Basic =",
        "Basic ====",
        "Basic !!!!",
        "Basic YWRtaW4=",     /* no colon */
        "Basic OnNlY3JldA==", /* no name */
        "Basic YWRtaW46c2Vj cmV0",
        "Basic YWRtaW46c2Vjc", /* one character too many */
        "Basic YWRtaW46c2VjcmV0=",
        "Basic YTo_Pz4-", /* base64url */
        "Basic YToAYg==", /* U+0000 */
        "Basic YTr/",     /* not UTF-8 */
        "Bearer",
        "Bearer ",
        "Bearer =",
        "Bearer a b",
        "Bearer a=b",
        "Bearer a,b",
        "Bearer \xc3\xa4",
        "BasicYWRtaW46c2VjcmV0",
        "Basic\tYWRtaW46c2VjcmV0",
        "YWRtaW46c2VjcmV0",
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        const struct credentials c = parse(headers[i]);
        CHECK(c.kind == CREDENTIALS_NONE);
        CHECK(str_is_empty(c.name) && str_is_empty(c.secret));
    }
    arena_fini(&arena);
}

TEST(a_header_has_a_maximum_length)
{
    static char header[4097];
    memset(header, 'a', sizeof header);
    memcpy(header, "Bearer ", 7);
    CHECK(credentials_parse(&arena, (struct str){header, 4096}).kind == CREDENTIALS_BEARER);
    CHECK(credentials_parse(&arena, (struct str){header, 4097}).kind == CREDENTIALS_NONE);
    arena_fini(&arena);
}

TEST(credentials_outlive_the_header)
{
    char header[] = "Bearer token";
    const struct credentials c = parse(header);
    memset(header, 'x', sizeof header);
    CHECK(str_eq(c.secret, STR("token")));
    arena_fini(&arena);
}

TEST(the_hash_of_a_token_is_its_sha256_in_hex)
{
    CHECK(str_eq(credentials_token_hash(&arena, STR("abc")),
                 STR("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")));
    CHECK(str_eq(credentials_token_hash(&arena, STR("")),
                 STR("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")));
    arena_fini(&arena);
}

TEST(new_tokens_are_plain_text_and_never_the_same)
{
    enum { COUNT = 200 };
    struct str tokens[COUNT];
    for (int i = 0; i < COUNT; i++) {
        tokens[i] = credentials_token_new(&arena);
        CHECK(tokens[i].len == 47 && str_starts(tokens[i], STR("hlg_")));
        for (uint32_t at = 0; at < tokens[i].len; at++) {
            const char c = tokens[i].at[at];
            CHECK(char_is_letter(c) || char_is_digit(c) || c == '-' || c == '_');
        }
        for (int before = 0; before < i; before++)
            CHECK(!str_eq(tokens[before], tokens[i]));
        const struct credentials c =
            credentials_parse(&arena, STR_CONCAT(&arena, STR("Bearer "), tokens[i]));
        CHECK(c.kind == CREDENTIALS_BEARER && str_eq(c.secret, tokens[i]));
    }
    arena_fini(&arena);
}

TEST(a_cookie_is_found_among_others)
{
    const struct str name = STR("halligan_session");
    static const struct {
        const char *header, *value;
    } table[] = {
        {"halligan_session=hlg_a-b", "hlg_a-b"},
        {"a=b; halligan_session=x; c=d", "x"},
        {"a=b;halligan_session=x", "x"},
        {"  halligan_session=x  ", "x"},
        {"halligan_session=; halligan_session=y", "y"}, /* the first one is empty */
        {"my_halligan_session=x", ""},
        {"halligan_session", ""},
        {"halligan_session=", ""},
        {"halligan_session=\"x\"", ""},
        {"Halligan_Session=x", ""},
        {"", ""},
        {";;;=;", ""},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        CHECK(
            str_eq(credentials_cookie(str_from(table[i].header), name), str_from(table[i].value)));
}

TEST(a_csrf_token_belongs_to_one_session)
{
    const struct str one = credentials_csrf(&arena, STR("hlg_one"));
    CHECK(one.len == 48);
    CHECK(credentials_same(one, credentials_csrf(&arena, STR("hlg_one"))));
    CHECK(!credentials_same(one, credentials_csrf(&arena, STR("hlg_two"))));
    CHECK(!credentials_same(one, str_slice(one, 0, one.len - 1)));
    CHECK(!credentials_same(one, STR("")) && credentials_same(STR(""), STR("")));
    /* and it does not reveal the stored hash of the session */
    CHECK(!str_eq(str_slice(credentials_token_hash(&arena, STR("hlg_one")), 0, 48), one));
    arena_fini(&arena);
}
