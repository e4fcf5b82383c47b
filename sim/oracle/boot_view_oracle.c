#include "sim/oracle/boot_view_oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Entries are kept in one array and found by linear search: a world has few of them. The bytes are
 * decoded when they are compared, so an entry that a boot server could not read is a violation as
 * well. A batch that became durable while the core was replaced has no changes to apply; the copy
 * begins again at the next load. */

void boot_view_oracle_fini(struct boot_view_oracle *oracle)
{
    for (uint32_t i = 0; i < oracle->count; i++)
        free(oracle->entries[i].bytes);
    free(oracle->entries);
    oracle->entries = NULL;
    oracle->count = oracle->cap = 0;
    oracle->turn = -1;
}

/* ---- the copy ---- */

static uint32_t boot_copy_find(const struct boot_view_oracle *oracle, struct boot_key key)
{
    uint32_t i = 0;
    while (i < oracle->count && boot_key_cmp(oracle->entries[i].key, key) != 0)
        i++;
    return i;
}

static void boot_copy_remove(struct boot_view_oracle *oracle, uint32_t i)
{
    free(oracle->entries[i].bytes);
    oracle->entries[i] = oracle->entries[--oracle->count];
}

static void boot_copy_add(struct boot_view_oracle *oracle, struct boot_key key, struct str bytes)
{
    if (oracle->count == oracle->cap) {
        oracle->cap = oracle->cap ? 2 * oracle->cap : 64;
        oracle->entries = realloc(oracle->entries, oracle->cap * sizeof *oracle->entries);
        must(oracle->entries);
    }
    char *copy = malloc(bytes.len);
    must(copy);
    memcpy(copy, bytes.at, bytes.len);
    oracle->entries[oracle->count++] = (struct boot_copy_entry){key, copy, bytes.len};
}

/* The bytes of the entry that the core has for the key; empty if it is not in the view. */
static struct str boot_copy_read(const struct core *core, struct boot_key key,
                                 struct arena *scratch)
{
    struct boot_entry entry;
    struct buf bytes = buf_in(scratch);
    if (core_boot_view(core, key, scratch, &entry))
        boot_entry_encode(&entry, &bytes);
    return buf_str(&bytes);
}

/* A change is sent as the key and, unless the entry is gone, its bytes. False if its turn is wrong.
 */
static bool boot_copy_apply(struct boot_view_oracle *oracle, const struct core *core,
                            struct boot_key changed, struct arena *scratch)
{
    const struct str bytes = boot_copy_read(core, changed, scratch);
    struct buf sent = buf_in(scratch);
    struct boot_key key;
    uint32_t at = 0;
    boot_key_encode(changed, &sent);
    if (boot_key_decode(buf_str(&sent), &at, &key) != OK || at != sent.len)
        impossible("an encoded key cannot be decoded");
    const uint32_t i = boot_copy_find(oracle, key);
    if (i < oracle->count)
        boot_copy_remove(oracle, i);
    if (bytes.len)
        boot_copy_add(oracle, key, bytes);
    const int64_t turn = core_boot_turn(core, key);
    return turn == oracle->turn || (turn == 0 && !bytes.len);
}

void boot_view_oracle_begin(struct boot_view_oracle *oracle, const struct core *core, int64_t turn,
                            struct arena *scratch)
{
    const struct arena_mark mark = arena_mark(scratch);
    boot_view_oracle_fini(oracle);
    for (struct boot_key key = {0}; core_boot_next(core, &key);)
        boot_copy_add(oracle, key, boot_copy_read(core, key, scratch));
    oracle->turn = turn;
    arena_rewind(scratch, mark);
}

/* ---- comparison with a base image ---- */

static const char *boot_copy_report(struct boot_view_oracle *oracle, struct boot_key key,
                                    const char *what)
{
    snprintf(oracle->trouble, sizeof oracle->trouble,
             "I19: at turn %lld %s %lld of a boot server %s", (long long)oracle->turn,
             boot_fact_name(key.kind), (long long)key.id, what);
    return oracle->trouble;
}

static const char *boot_copy_compare(struct boot_view_oracle *oracle, const struct core *core,
                                     struct arena *scratch)
{
    struct digest128 sum = {0};
    uint32_t walked = 0;
    for (struct boot_key key = {0}; core_boot_next(core, &key); walked++) {
        const uint32_t i = boot_copy_find(oracle, key);
        struct boot_entry entry;
        if (i == oracle->count)
            return boot_copy_report(oracle, key, "is missing");
        const struct boot_copy_entry *own = &oracle->entries[i];
        const struct str bytes = {own->bytes, own->len};
        if (!str_eq(bytes, boot_copy_read(core, key, scratch)))
            return boot_copy_report(oracle, key, "is outdated");
        if (boot_entry_decode(bytes, scratch, &entry) != OK)
            return boot_copy_report(oracle, key, "cannot be decoded");
        digest_add(&sum, boot_entry_hash(&entry, scratch));
    }
    if (walked != oracle->count)
        return boot_copy_report(oracle, oracle->entries[0].key,
                                "or another entry is not in the view any more");
    if (!digest_eq(sum, core_boot_digest(core)))
        return boot_copy_report(oracle, (struct boot_key){0}, "has another digest");
    return NULL;
}

const char *boot_view_oracle_batch(struct boot_view_oracle *oracle, const struct core *core,
                                   int64_t turn, struct arena *scratch)
{
    uint32_t count;
    int64_t changed;
    const struct boot_key *changes = core ? core_boot_changes(core, &count, &changed) : NULL;
    if (!core || changed != turn || oracle->turn != turn - 1) {
        oracle->turn = -1;
        return NULL;
    }
    const struct arena_mark mark = arena_mark(scratch);
    const char *said = NULL;
    oracle->turn = turn;
    for (uint32_t i = 0; i < count; i++)
        if (!boot_copy_apply(oracle, core, changes[i], scratch))
            said = boot_copy_report(oracle, changes[i], "has another turn");
    oracle->compared += count;
    if (!said)
        said = boot_copy_compare(oracle, core, scratch);
    arena_rewind(scratch, mark);
    return said;
}
