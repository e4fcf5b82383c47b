/* Goal: no library call of this module is reached with NULL in a way that it does not take.
 * Method: a struct str of NULL and 0, which is what an empty header, field or JSON string is, given
 * to each function that hands text to libsodium, libuv or libc; under ASan and UBSan. */
#include <sodium.h>
#include <string.h>

#include "auth/credentials.h"
#include "auth/digest.h"
#include "auth/lockout.h"
#include "auth/password_cache.h"
#include "auth/password_reset_keys.h"
#include "auth/passwords.h"
#include "http/address.h"
#include "http/forwarded.h"
#include "http/http_private.h"
#include "tests/check.h"

static const struct str nothing = {NULL, 0};

TEST(credentials_and_digests_of_nothing)
{
    struct arena a = {0};
    struct digest_parameters claim = {0};
    CHECK(sodium_init() >= 0);
    const struct credentials none = credentials_parse(&a, nothing);
    CHECK(none.kind == credentials_parse(&a, STR("")).kind);
    CHECK(credentials_token_hash(&a, nothing).len ==
          credentials_token_hash(&a, STR("some token")).len);
    CHECK(credentials_cookie(nothing, nothing).len == 0);
    CHECK(credentials_cookie(nothing, STR("a")).len == 0);
    CHECK(str_eq(credentials_csrf(&a, nothing), credentials_csrf(&a, STR(""))));
    CHECK(credentials_same(nothing, STR("")) && !credentials_same(nothing, STR("a")));
    CHECK(digest_ha1(&a, nothing, nothing).len == DIGEST_HA1_LEN);
    CHECK(!digest_parse(&a, nothing, &claim));
    struct digests *d = digests_new();
    const struct digest_parameters empty = {0};
    const struct digest_check question = {.arena = &a, .claim = &empty};
    CHECK(digests_verify(d, &question, 1) == DIGEST_WRONG);
    digests_free(d);
    arena_fini(&a);
}

TEST(passwords_of_nothing)
{
    char hash[PASSWORD_HASH_MAX] = "";
    struct password_cache cache;
    CHECK(sodium_init() >= 0);
    CHECK(password_hash_now(nothing, hash) && strncmp(hash, "$argon2", 7) == 0);
    password_cache_init(&cache);
    const struct password_digest one = password_cache_digest(&cache, nothing, nothing);
    const struct password_digest same = password_cache_digest(&cache, STR(""), STR(""));
    CHECK(memcmp(&one, &same, sizeof one) == 0);
    CHECK(!password_cache_has(&cache, &one, 1));
    password_cache_fini(&cache);
}

struct checked {
    int count;
    bool right;
};

static void on_checked(void *context, bool right)
{
    struct checked *c = context;
    c->count++;
    c->right = right;
}

TEST(a_password_of_nothing_is_checked_in_the_queue)
{
    uv_loop_t loop;
    struct checked checked = {0};
    static const uint8_t address[16] = {1};
    CHECK(uv_loop_init(&loop) == 0);
    struct passwords *p = passwords_new(&loop);
    CHECK(p != NULL);
    const struct password_check claim = {.address = address, .hash = nothing, .password = nothing};
    CHECK(passwords_check(p, &claim, on_checked, &checked) == OK);
    while (checked.count == 0)
        uv_run(&loop, UV_RUN_ONCE);
    CHECK(checked.count == 1 && !checked.right);
    passwords_free(p);
    uv_run(&loop, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&loop) == 0);
}

TEST(resets_and_lockouts_of_nothing)
{
    struct arena a = {0};
    struct str text;
    CHECK(sodium_init() >= 0);
    struct reset_keys *r = reset_keys_new();
    CHECK(reset_keys_start(r, &a, 1, 1).len > 0);
    const struct sealed_box empty = {.user_id = 1};
    CHECK(!reset_keys_open(r, &a, &empty, 1, &text));
    CHECK(!reset_keys_end(r, &empty));
    reset_keys_free(r);
    struct lockout *l = lockout_new();
    const struct login_source v = {.user = nothing};
    CHECK(lockout_left_ms(l, &v, 1) == 0);
    CHECK(lockout_failed(l, &v, 1) == LOCKOUT_NONE);
    lockout_succeeded(l, &v, 1);
    lockout_free(l);
    arena_fini(&a);
}

TEST(addresses_and_targets_of_nothing)
{
    struct arena a = {0};
    struct in6_addr address;
    struct http_request request = {0};
    CHECK(!address_parse(nothing, &address));
    const struct in6_addr zero = address_of_socket(NULL);
    CHECK(IN6_IS_ADDR_UNSPECIFIED(&zero));
    const struct forwarded_headers none = {0};
    const struct forwarded found = forwarded_read(&a, &none);
    CHECK(!found.is_forwarded && !found.is_known && !found.has_proto && !found.is_https);
    CHECK(target_parse(&request, nothing) == ERR_SYNTAX);
    CHECK(!http_query(&request, nothing, &request.body));
    arena_fini(&request.arena);
    arena_fini(&a);
}
