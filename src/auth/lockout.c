/* lockout.c - three bounded hash tables of failed logins.
 *
 * Keys are hashes of (user, address), of the user alone and of the address alone, keyed with a
 * random secret, so that a client cannot choose names that collide in one bucket. When a table is
 * full, the entry that was used longest ago is removed: a linear scan, which happens only then.
 * Names without an account have their own table, so that invented names cannot displace entries of
 * users.
 *
 * It owns these tables; they are not stored and are empty after a restart. A failure is counted in
 * all three scopes (user from this address, user from anywhere, address under any name), and the
 * result is the widest lock-out that it starts. No function can fail: memory is allocated once.
 */
#include "auth/lockout.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { KEY_SIZE = 16, TABLE_ENTRIES = LOCKOUT_ENTRIES / 2, BUCKETS = 2048 };

/* Entries are identified by their index + 1; 0 is none. */
struct entry {
    uint8_t key[KEY_SIZE];
    uint32_t next;      /* in its bucket, or in the list of free entries */
    uint32_t failures;  /* since the last success or lock-out, or LOCKOUT_MS without a failure */
    bool has_succeeded; /* the user has logged in from this address */
    int64_t last_ms;    /* last failure or success, monotonic */
    int64_t until_ms;   /* end of the lock-out, monotonic */
};

struct lockout_table {
    uint32_t buckets[BUCKETS];
    uint32_t first_free;
    struct entry entries[TABLE_ENTRIES];
};

struct lockout {
    uint8_t secret[crypto_generichash_KEYBYTES]; /* makes buckets unpredictable */
    struct lockout_table users, unknown_names, addresses;
};

static void lockout_table_init(struct lockout_table *h)
{
    for (uint32_t i = TABLE_ENTRIES; i > 0; i--) {
        h->entries[i - 1].next = h->first_free;
        h->first_free = i;
    }
}

struct lockout *lockout_new(void)
{
    struct lockout *l = calloc(1, sizeof *l);
    must(l);
    randombytes_buf(l->secret, sizeof l->secret);
    lockout_table_init(&l->users);
    lockout_table_init(&l->unknown_names);
    lockout_table_init(&l->addresses);
    return l;
}

void lockout_free(struct lockout *l)
{
    free(l);
}

/* ---- lookup ---- */

/* The key of (user, address), or of the user alone if `address` is NULL. Case is ignored. */
static void lockout_key(const struct lockout *l, struct str user, const uint8_t *address,
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

static uint32_t lockout_bucket(const uint8_t key[KEY_SIZE])
{
    return (key[0] | (uint32_t)key[1] << 8) % BUCKETS;
}

static uint32_t lockout_find(const struct lockout_table *h, const uint8_t key[KEY_SIZE])
{
    uint32_t at = h->buckets[lockout_bucket(key)];
    while (at && memcmp(h->entries[at - 1].key, key, KEY_SIZE) != 0)
        at = h->entries[at - 1].next;
    return at;
}

/* ---- insert and evict ---- */

/* Unlink the entry with the lowest last_ms from its bucket and put it on the free list. */
static void lockout_evict_oldest(struct lockout_table *h)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < TABLE_ENTRIES; i++)
        if (h->entries[i].last_ms < h->entries[oldest].last_ms)
            oldest = i;
    struct entry *e = &h->entries[oldest];
    uint32_t *link = &h->buckets[lockout_bucket(e->key)];
    while (*link != oldest + 1)
        link = &h->entries[*link - 1].next;
    *link = e->next;
    *e = (struct entry){.next = h->first_free};
    h->first_free = oldest + 1;
}

static struct entry *lockout_find_or_add(struct lockout_table *h, const uint8_t key[KEY_SIZE],
                                         int64_t now_ms)
{
    uint32_t at = lockout_find(h, key);
    if (at)
        return &h->entries[at - 1];
    if (!h->first_free)
        lockout_evict_oldest(h);
    at = h->first_free;
    struct entry *e = &h->entries[at - 1];
    h->first_free = e->next;
    *e = (struct entry){.next = h->buckets[lockout_bucket(key)], .last_ms = now_ms};
    memcpy(e->key, key, KEY_SIZE);
    h->buckets[lockout_bucket(key)] = at;
    return e;
}

/* ---- count ---- */

static struct lockout_table *lockout_table_to_edit(struct lockout *l, const struct login_source *v)
{
    return v->is_user ? &l->users : &l->unknown_names;
}

/* The remaining lock-out in ms. An end further away than LOCKOUT_MS cannot be right, whatever the
 * clock of the caller did, and counts as none. */
static int64_t lockout_entry_left_ms(const struct entry *e, int64_t now_ms)
{
    const int64_t left = e->until_ms - now_ms;
    return left > 0 && left <= LOCKOUT_MS ? left : 0;
}

/* Count a failure; `most` starts a lock-out. True: this one does. */
static bool lockout_count(struct entry *e, uint32_t most, int64_t now_ms)
{
    if (now_ms - e->last_ms > LOCKOUT_MS)
        e->failures = 0;
    e->last_ms = now_ms;
    if (++e->failures < most || lockout_entry_left_ms(e, now_ms))
        return false;
    e->failures = 0;
    e->until_ms = now_ms + LOCKOUT_MS;
    return true;
}

static int64_t lockout_key_left_ms(const struct lockout_table *h, const uint8_t key[KEY_SIZE],
                                   int64_t now_ms)
{
    const uint32_t at = lockout_find(h, key);
    return at ? lockout_entry_left_ms(&h->entries[at - 1], now_ms) : 0;
}

/* The lock-out of (user, address) applies always; those of the user and of the address do not apply
 * where the user has logged in from this address before. */
int64_t lockout_left_ms(const struct lockout *l, const struct login_source *v, int64_t now_ms)
{
    uint8_t key[KEY_SIZE];
    const struct lockout_table *h = v->is_user ? &l->users : &l->unknown_names;
    lockout_key(l, v->user, v->address, key);
    const uint32_t here = lockout_find(h, key);
    const int64_t left = here ? lockout_entry_left_ms(&h->entries[here - 1], now_ms) : 0;
    if (left || (here && h->entries[here - 1].has_succeeded))
        return left;
    lockout_key(l, v->user, NULL, key);
    const int64_t of_user = lockout_key_left_ms(h, key, now_ms);
    lockout_key(l, STR(""), v->address, key);
    const int64_t of_address = lockout_key_left_ms(&l->addresses, key, now_ms);
    return of_user > of_address ? of_user : of_address;
}

enum lockout_result lockout_failed(struct lockout *l, const struct login_source *v, int64_t now_ms)
{
    uint8_t key[KEY_SIZE];
    struct lockout_table *h = lockout_table_to_edit(l, v);
    lockout_key(l, v->user, v->address, key);
    const bool from_there =
        lockout_count(lockout_find_or_add(h, key, now_ms), LOCKOUT_TRIES, now_ms);
    lockout_key(l, v->user, NULL, key);
    const bool from_anywhere =
        lockout_count(lockout_find_or_add(h, key, now_ms), LOCKOUT_TRIES_USER, now_ms);
    lockout_key(l, STR(""), v->address, key);
    const bool under_any_name = lockout_count(lockout_find_or_add(&l->addresses, key, now_ms),
                                              LOCKOUT_TRIES_ADDRESS, now_ms);
    return under_any_name  ? LOCKOUT_NETWORK
           : from_anywhere ? LOCKOUT_USER
           : from_there    ? LOCKOUT_ADDRESS
                           : LOCKOUT_NONE;
}

void lockout_succeeded(struct lockout *l, const struct login_source *v, int64_t now_ms)
{
    uint8_t key[KEY_SIZE];
    lockout_key(l, v->user, v->address, key);
    struct entry *e = lockout_find_or_add(lockout_table_to_edit(l, v), key, now_ms);
    e->has_succeeded = true;
    e->failures = 0;
    e->until_ms = 0;
    e->last_ms = now_ms;
}
