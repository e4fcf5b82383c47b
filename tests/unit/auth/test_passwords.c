/* Goal: passwords are verified without blocking the loop, and only right ones are cached.
 * Method: the real argon2id and a real loop; the cache alone with a simulated clock. */
#include "auth/passwords.h"

#include <sodium.h>
#include <string.h>

#include "auth/password_cache.h"
#include "tests/check.h"

struct answers {
    struct passwords *passwords;
    uint32_t right;
    uint32_t wrong;
    uint32_t hashed;
    bool frees;
    char hash[PASSWORD_HASH_MAX];
};

static uv_loop_t loop;
static const uint8_t HOME[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};

/* One address for each PASSWORDS_SHARE_MAX jobs. */
static const uint8_t *address_of(uint32_t job)
{
    static uint8_t addresses[PASSWORDS_QUEUE_MAX / PASSWORDS_SHARE_MAX + 1][16];
    uint8_t *address = addresses[job / PASSWORDS_SHARE_MAX];
    address[15] = (uint8_t)(1 + job / PASSWORDS_SHARE_MAX);
    return address;
}

static void on_checked(void *context, bool right)
{
    struct answers *a = context;
    if (right)
        a->right++;
    else
        a->wrong++;
    if (a->frees)
        passwords_free(a->passwords);
}

static void on_hashed(void *context, const char *hash)
{
    struct answers *a = context;
    CHECK(hash != NULL && strlen(hash) < PASSWORD_HASH_MAX);
    memcpy(a->hash, hash, strlen(hash) + 1);
    a->hashed++;
}

static struct answers begin(void)
{
    CHECK(uv_loop_init(&loop) == 0);
    struct answers a = {.passwords = passwords_new(&loop)};
    CHECK(a.passwords != NULL);
    return a;
}

static void end(struct answers *a)
{
    passwords_free(a->passwords);
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0);
    CHECK(uv_loop_close(&loop) == 0);
}

static void wait_for(const struct answers *a, uint32_t count)
{
    while (a->right + a->wrong + a->hashed < count)
        CHECK(uv_run(&loop, UV_RUN_ONCE) != 0);
}

static err ask_from(struct answers *a, const uint8_t *address, const char *password)
{
    return passwords_check(a->passwords,
                           &(struct password_check){address, STR(""), str_from(password)},
                           on_checked, a);
}

static err ask(struct answers *a, const char *hash, const char *password)
{
    return passwords_check(a->passwords,
                           &(struct password_check){HOME, str_from(hash), str_from(password)},
                           on_checked, a);
}

TEST(a_password_is_right_or_wrong)
{
    struct answers a = begin();
    CHECK(passwords_hash(a.passwords, HOME, STR("open sesame"), on_hashed, &a) == OK);
    CHECK(a.hashed == 0);
    wait_for(&a, 1);
    CHECK(strncmp(a.hash, "$argon2id$", 10) == 0);
    CHECK(ask(&a, a.hash, "open sesame") == OK);
    CHECK(ask(&a, a.hash, "open sesam") == OK);
    CHECK(ask(&a, a.hash, "") == OK);
    CHECK(a.right == 0 && a.wrong == 0);
    wait_for(&a, 4);
    CHECK(a.right == 1 && a.wrong == 2);
    end(&a);
}

TEST(a_right_password_is_cached_and_a_wrong_one_is_not)
{
    struct answers a = begin();
    char hash[PASSWORD_HASH_MAX];
    char other[PASSWORD_HASH_MAX];
    CHECK(password_hash_now(STR("secret"), hash));
    CHECK(password_hash_now(STR("secret"), other));
    CHECK(strcmp(hash, other) != 0);
    CHECK(ask(&a, hash, "secret") == OK);
    CHECK(ask(&a, hash, "wrong") == OK);
    wait_for(&a, 2);
    CHECK(ask(&a, hash, "secret") == OK);
    CHECK(a.right == 2); /* before the loop ran */
    CHECK(ask(&a, hash, "wrong") == OK);
    CHECK(ask(&a, other, "secret") == OK); /* the same password with another stored hash */
    CHECK(a.right == 2 && a.wrong == 1);
    wait_for(&a, 5);
    CHECK(a.right == 3 && a.wrong == 2);
    end(&a);
}

TEST(a_text_that_is_not_a_hash_is_never_right)
{
    static const char *const hashes[] = {"", "secret", "$argon2id$", "$argon2id$v=19$m=65536,t=2"};
    struct answers a = begin();
    char long_hash[PASSWORD_HASH_MAX + 1];
    memset(long_hash, 'x', PASSWORD_HASH_MAX);
    memcpy(long_hash, "$argon2", 7);
    long_hash[PASSWORD_HASH_MAX] = '\0';
    for (int i = 0; i < 4; i++) {
        CHECK(ask(&a, hashes[i], "secret") == OK);
        CHECK(ask(&a, hashes[i], "") == OK);
    }
    wait_for(&a, 8); /* the share of the address is full */
    CHECK(ask(&a, long_hash, "secret") == OK);
    CHECK(passwords_check(a.passwords,
                          &(struct password_check){HOME, (struct str){0}, (struct str){0}},
                          on_checked, &a) == OK);
    CHECK(a.wrong == 8);
    wait_for(&a, 10);
    CHECK(a.wrong == 10);
    /* Not even the second time. */
    CHECK(ask(&a, "", "secret") == OK);
    wait_for(&a, 11);
    CHECK(a.wrong == 11 && a.right == 0);
    end(&a);
}

TEST(a_password_may_contain_any_bytes)
{
    struct answers a = begin();
    const struct str odd = {"zero\0inside\xff", 12};
    char hash[PASSWORD_HASH_MAX];
    CHECK(password_hash_now(odd, hash));
    CHECK(passwords_check(a.passwords, &(struct password_check){HOME, str_from(hash), odd},
                          on_checked, &a) == OK);
    CHECK(ask(&a, hash, "zero") == OK);
    CHECK(password_hash_now((struct str){0}, hash));
    CHECK(ask(&a, hash, "") == OK);
    wait_for(&a, 3);
    CHECK(a.right == 2 && a.wrong == 1);
    end(&a);
}

TEST(a_full_queue_refuses_jobs_and_empties)
{
    struct answers a = begin();
    for (uint32_t i = 0; i < PASSWORDS_QUEUE_MAX; i++)
        CHECK(i % 2 ? ask_from(&a, address_of(i), "x") == OK
                    : passwords_hash(a.passwords, address_of(i), STR("x"), on_hashed, &a) == OK);
    CHECK(ask(&a, "", "x") == ERR_LIMIT);
    CHECK(passwords_hash(a.passwords, HOME, STR("x"), on_hashed, &a) == ERR_LIMIT);
    wait_for(&a, 1);
    CHECK(ask(&a, "", "x") == OK);
    wait_for(&a, PASSWORDS_QUEUE_MAX + 1);
    CHECK(a.hashed == PASSWORDS_QUEUE_MAX / 2);
    CHECK(a.wrong == PASSWORDS_QUEUE_MAX / 2 + 1);
    end(&a);
}

TEST(a_cached_password_needs_no_slot_of_the_queue)
{
    struct answers a = begin();
    char hash[PASSWORD_HASH_MAX];
    CHECK(password_hash_now(STR("secret"), hash));
    CHECK(ask(&a, hash, "secret") == OK);
    wait_for(&a, 1);
    for (uint32_t i = 0; i < PASSWORDS_QUEUE_MAX; i++)
        CHECK(ask_from(&a, address_of(i), "x") == OK);
    CHECK(ask(&a, hash, "secret") == OK);
    CHECK(a.right == 2);
    end(&a);
}

TEST(one_address_is_limited_to_its_share_of_the_queue)
{
    struct answers a = begin();
    for (uint32_t i = 0; i < PASSWORDS_SHARE_MAX; i++)
        CHECK(ask(&a, "", "x") == OK);
    CHECK(ask(&a, "", "x") == ERR_LIMIT);
    CHECK(passwords_hash(a.passwords, HOME, STR("x"), on_hashed, &a) == ERR_LIMIT);
    CHECK(ask_from(&a, address_of(0), "x") == OK); /* another address is served */
    wait_for(&a, 1);
    CHECK(ask(&a, "", "x") == OK); /* the share counts pending jobs only */
    CHECK(ask(&a, "", "x") == ERR_LIMIT);
    wait_for(&a, PASSWORDS_SHARE_MAX + 2);
    end(&a);
}

TEST(freeing_drops_pending_jobs)
{
    struct answers a = begin();
    for (uint32_t i = 0; i < PASSWORDS_SHARE_MAX; i++)
        CHECK(ask(&a, "", "secret") == OK);
    end(&a);
    CHECK(a.right == 0 && a.wrong == 0);
    a = begin();
    end(&a);
    passwords_free(NULL);
}

TEST(a_callback_may_free_everything)
{
    struct answers a = begin();
    a.frees = true;
    for (int i = 0; i < 5; i++)
        CHECK(ask(&a, "", "secret") == OK);
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0);
    CHECK(a.wrong == 1);
    CHECK(uv_loop_close(&loop) == 0);
}

/* --- cache ------------------------------------------------------------------------------------*/

static struct password_cache cache;

TEST(cache_entries_expire_after_five_minutes)
{
    CHECK(sodium_init() >= 0);
    password_cache_init(&cache);
    const struct password_digest d = password_cache_digest(&cache, STR("hash"), STR("word"));
    CHECK(!password_cache_has(&cache, &d, 0));
    password_cache_add(&cache, &d, 1000);
    CHECK(password_cache_has(&cache, &d, 1000));
    CHECK(password_cache_has(&cache, &d, 1000 + PASSWORD_CACHE_MS - 1));
    CHECK(!password_cache_has(&cache, &d, 1000 + PASSWORD_CACHE_MS));
    password_cache_add(&cache, &d, 2000);
    CHECK(password_cache_has(&cache, &d, 1000 + PASSWORD_CACHE_MS));
    password_cache_fini(&cache);
}

TEST(the_cache_distinguishes_hashes_passwords_and_keys)
{
    CHECK(sodium_init() >= 0);
    password_cache_init(&cache);
    const struct password_digest d = password_cache_digest(&cache, STR("hash"), STR("word"));
    const struct password_digest other[] = {
        password_cache_digest(&cache, STR("hash"), STR("worD")),
        password_cache_digest(&cache, STR("hasH"), STR("word")),
        password_cache_digest(&cache, STR("hashw"), STR("ord")),
        password_cache_digest(&cache, STR("has"), STR("hword")),
        password_cache_digest(&cache, STR(""), STR("hashword")),
        password_cache_digest(&cache, STR("hashword"), STR("")),
    };
    password_cache_add(&cache, &d, 0);
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        CHECK(!password_cache_has(&cache, &other[i], 0));
    /* Another process has another key. */
    password_cache_fini(&cache);
    password_cache_init(&cache);
    const struct password_digest again = password_cache_digest(&cache, STR("hash"), STR("word"));
    CHECK(memcmp(&again, &d, sizeof d) != 0);
    password_cache_fini(&cache);
}

TEST(the_cache_is_bounded_and_keeps_the_newest)
{
    enum { COUNT = 5 * PASSWORD_CACHE_MAX };
    static struct password_digest digests[COUNT];
    CHECK(sodium_init() >= 0);
    password_cache_init(&cache);
    for (uint32_t i = 0; i < COUNT; i++) {
        digests[i] = password_cache_digest(&cache, STR("hash"),
                                           (struct str){(const char *)&i, (uint32_t)sizeof i});
        password_cache_add(&cache, &digests[i], i);
        CHECK(password_cache_has(&cache, &digests[i], i));
    }
    uint32_t known = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t newer = 0;
        for (uint32_t j = i + 1; j < COUNT; j++)
            newer += digests[j].bytes[0] == digests[i].bytes[0];
        CHECK(password_cache_has(&cache, &digests[i], COUNT) == (newer < PASSWORD_CACHE_WAYS));
        known += newer < PASSWORD_CACHE_WAYS;
    }
    CHECK(known <= PASSWORD_CACHE_MAX && known > PASSWORD_CACHE_MAX / 2);
    password_cache_fini(&cache);
}
