#include "auth/lockout.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { KEY_SIZE = 16, HALF = LOCKOUT_ENTRIES / 2, BUCKETS = 2048 };

/* Entries are known by their place + 1; 0 is none. */
struct entry {
    uint8_t key[KEY_SIZE];
    uint32_t next;      /* in its bucket, or among the free ones                */
    uint32_t failures;  /* since the last success, lock-out or quiet ten minutes */
    bool has_succeeded; /* the user has been let in from there                  */
    int64_t last_ms;
    int64_t until_ms; /* locked out until then */
};

struct half {
    uint32_t buckets[BUCKETS];
    uint32_t first_free;
    struct entry entries[HALF];
};

struct lockout {
    uint8_t secret[crypto_generichash_KEYBYTES]; /* so that nobody chooses buckets */
    struct half users, strangers, addresses;
};

static void half_init(struct half *h)
{
    for (uint32_t i = HALF; i > 0; i--) {
        h->entries[i - 1].next = h->first_free;
        h->first_free = i;
    }
}

struct lockout *lockout_new(void)
{
    struct lockout *l = calloc(1, sizeof *l);
    must(l);
    randombytes_buf(l->secret, sizeof l->secret);
    half_init(&l->users);
    half_init(&l->strangers);
    half_init(&l->addresses);
    return l;
}

void lockout_free(struct lockout *l)
{
    free(l);
}

/* ---- finding ---- */

/* Of the user alone when the address is NULL. */
static void key_of(const struct lockout *l, struct str user, const uint8_t *address,
                   uint8_t out_key[KEY_SIZE])
{
    crypto_generichash_state state;
    must(crypto_generichash_init(&state, l->secret, sizeof l->secret, KEY_SIZE) == 0);
    const uint8_t has_address = address != NULL;
    must(crypto_generichash_update(&state, &has_address, 1) == 0);
    if (address)
        must(crypto_generichash_update(&state, address, 16) == 0);
    for (uint32_t i = 0; i < user.len; i++) {
        const char c = user.at[i];
        const uint8_t lower = (uint8_t)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
        must(crypto_generichash_update(&state, &lower, 1) == 0);
    }
    must(crypto_generichash_final(&state, out_key, KEY_SIZE) == 0);
}

static uint32_t bucket_of(const uint8_t key[KEY_SIZE])
{
    return (key[0] | (uint32_t)key[1] << 8) % BUCKETS;
}

static uint32_t find(const struct half *h, const uint8_t key[KEY_SIZE])
{
    uint32_t at = h->buckets[bucket_of(key)];
    while (at && memcmp(h->entries[at - 1].key, key, KEY_SIZE) != 0)
        at = h->entries[at - 1].next;
    return at;
}

/* ---- making room ---- */

static uint32_t oldest_of(const struct half *h)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < HALF; i++)
        if (h->entries[i].last_ms < h->entries[oldest].last_ms)
            oldest = i;
    return oldest + 1;
}

static void forget(struct half *h, uint32_t entry)
{
    uint32_t *link = &h->buckets[bucket_of(h->entries[entry - 1].key)];
    while (*link != entry)
        link = &h->entries[*link - 1].next;
    *link = h->entries[entry - 1].next;
    h->entries[entry - 1] = (struct entry){.next = h->first_free};
    h->first_free = entry;
}

static struct entry *get(struct half *h, const uint8_t key[KEY_SIZE], int64_t now_ms)
{
    uint32_t at = find(h, key);
    if (at)
        return &h->entries[at - 1];
    if (!h->first_free)
        forget(h, oldest_of(h));
    at = h->first_free;
    struct entry *e = &h->entries[at - 1];
    h->first_free = e->next;
    *e = (struct entry){.next = h->buckets[bucket_of(key)], .last_ms = now_ms};
    memcpy(e->key, key, KEY_SIZE);
    h->buckets[bucket_of(key)] = at;
    return e;
}

/* ---- counting ---- */

static const struct half *half_of(const struct lockout *l, const struct login_source *v)
{
    return v->is_user ? &l->users : &l->strangers;
}

static struct half *half_to_edit(struct lockout *l, const struct login_source *v)
{
    return v->is_user ? &l->users : &l->strangers;
}

/* What ends later than a lock-out can was made by a clock that has been set back since. */
static int64_t left_ms(const struct entry *e, int64_t now_ms)
{
    const int64_t left = e->until_ms - now_ms;
    return left > 0 && left <= LOCKOUT_MS ? left : 0;
}

/* True when that was one too many. */
static bool count(struct entry *e, uint32_t most, int64_t now_ms)
{
    if (now_ms - e->last_ms > LOCKOUT_MS)
        e->failures = 0;
    e->last_ms = now_ms;
    if (++e->failures < most || left_ms(e, now_ms))
        return false;
    e->failures = 0;
    e->until_ms = now_ms + LOCKOUT_MS;
    return true;
}

static int64_t found_left_ms(const struct half *h, const uint8_t key[KEY_SIZE], int64_t now_ms)
{
    const uint32_t at = find(h, key);
    return at ? left_ms(&h->entries[at - 1], now_ms) : 0;
}

int64_t lockout_left_ms(const struct lockout *l, const struct login_source *v, int64_t now_ms)
{
    uint8_t key[KEY_SIZE];
    const struct half *h = half_of(l, v);
    key_of(l, v->user, v->address, key);
    const uint32_t here = find(h, key);
    const int64_t left = here ? left_ms(&h->entries[here - 1], now_ms) : 0;
    if (left || (here && h->entries[here - 1].has_succeeded))
        return left;
    key_of(l, v->user, NULL, key);
    const int64_t of_user = found_left_ms(h, key, now_ms);
    key_of(l, STR(""), v->address, key);
    const int64_t of_address = found_left_ms(&l->addresses, key, now_ms);
    return of_user > of_address ? of_user : of_address;
}

enum lockout_news lockout_failed(struct lockout *l, const struct login_source *v, int64_t now_ms)
{
    uint8_t key[KEY_SIZE];
    struct half *h = half_to_edit(l, v);
    key_of(l, v->user, v->address, key);
    const bool from_there = count(get(h, key, now_ms), LOCKOUT_TRIES, now_ms);
    key_of(l, v->user, NULL, key);
    const bool from_anywhere = count(get(h, key, now_ms), LOCKOUT_TRIES_USER, now_ms);
    key_of(l, STR(""), v->address, key);
    const bool under_any_name =
        count(get(&l->addresses, key, now_ms), LOCKOUT_TRIES_ADDRESS, now_ms);
    return under_any_name  ? LOCKOUT_NETWORK
           : from_anywhere ? LOCKOUT_USER
           : from_there    ? LOCKOUT_ADDRESS
                           : LOCKOUT_NOTHING;
}

void lockout_succeeded(struct lockout *l, const struct login_source *v, int64_t now_ms)
{
    uint8_t key[KEY_SIZE];
    key_of(l, v->user, v->address, key);
    struct entry *e = get(half_to_edit(l, v), key, now_ms);
    e->has_succeeded = true;
    e->failures = 0;
    e->until_ms = 0;
    e->last_ms = now_ms;
}
