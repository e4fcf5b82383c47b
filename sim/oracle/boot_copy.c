#include "sim/oracle/boot_copy.h"

#include <stdlib.h>
#include <string.h>

void boot_copy_fini(struct boot_copy *copy)
{
    for (uint32_t i = 0; i < copy->count; i++)
        free(copy->entries[i].bytes);
    free(copy->entries);
    *copy = (struct boot_copy){0};
}

/* The position of the key, or that at which it would be inserted. */
static uint32_t boot_copy_position(const struct boot_copy *copy, struct boot_key key)
{
    uint32_t low = 0, high = copy->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (boot_key_cmp(copy->entries[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool boot_copy_has_at(const struct boot_copy *copy, uint32_t i, struct boot_key key)
{
    return i < copy->count && boot_key_cmp(copy->entries[i].key, key) == 0;
}

static char *boot_copy_bytes(struct str bytes)
{
    char *own = malloc(bytes.len);
    must(own);
    memcpy(own, bytes.at, bytes.len);
    return own;
}

static void boot_copy_make_room(struct boot_copy *copy, uint32_t count)
{
    if (count <= copy->cap)
        return;
    copy->cap = count > 2 * copy->cap ? count : 2 * copy->cap;
    copy->entries = realloc(copy->entries, copy->cap * sizeof *copy->entries);
    must(copy->entries);
}

void boot_copy_set(struct boot_copy *copy, struct boot_key key, struct str bytes)
{
    const uint32_t i = boot_copy_position(copy, key);
    if (boot_copy_has_at(copy, i, key)) {
        free(copy->entries[i].bytes);
        if (!bytes.len) {
            memmove(&copy->entries[i], &copy->entries[i + 1],
                    (--copy->count - i) * sizeof *copy->entries);
            return;
        }
    } else {
        if (!bytes.len)
            return;
        boot_copy_make_room(copy, copy->count + 1);
        memmove(&copy->entries[i + 1], &copy->entries[i],
                (copy->count++ - i) * sizeof *copy->entries);
    }
    copy->entries[i] = (struct boot_copy_entry){key, boot_copy_bytes(bytes), bytes.len};
}

struct str boot_copy_get(const struct boot_copy *copy, struct boot_key key)
{
    const uint32_t i = boot_copy_position(copy, key);
    return boot_copy_has_at(copy, i, key)
               ? (struct str){copy->entries[i].bytes, copy->entries[i].len}
               : (struct str){0};
}

void boot_copy_assign(struct boot_copy *copy, const struct boot_copy *from)
{
    boot_copy_fini(copy);
    boot_copy_make_room(copy, from->count);
    for (uint32_t i = 0; i < from->count; i++) {
        const struct boot_copy_entry *e = &from->entries[i];
        copy->entries[i] = (struct boot_copy_entry){
            e->key, boot_copy_bytes((struct str){e->bytes, e->len}), e->len};
    }
    copy->count = from->count;
}

bool boot_copy_is_equal(const struct boot_copy *a, const struct boot_copy *b,
                        struct boot_key *out_key)
{
    for (uint32_t i = 0; i < a->count || i < b->count; i++) {
        const struct boot_copy_entry *x = i < a->count ? &a->entries[i] : NULL;
        const struct boot_copy_entry *y = i < b->count ? &b->entries[i] : NULL;
        if (x && y && boot_key_cmp(x->key, y->key) == 0 && x->len == y->len &&
            memcmp(x->bytes, y->bytes, x->len) == 0)
            continue;
        *out_key = !y || (x && boot_key_cmp(x->key, y->key) < 0) ? x->key : y->key;
        return false;
    }
    return true;
}

err boot_copy_digest(const struct boot_copy *copy, struct arena *scratch,
                     struct digest128 *out_digest)
{
    const struct arena_mark mark = arena_mark(scratch);
    struct digest128 sum = {0};
    err e = OK;
    for (uint32_t i = 0; i < copy->count && e == OK; i++) {
        const struct boot_copy_entry *own = &copy->entries[i];
        struct boot_entry entry;
        e = boot_entry_decode((struct str){own->bytes, own->len}, scratch, &entry);
        if (e == OK && boot_key_cmp(entry.key, own->key) != 0)
            e = ERR_CORRUPT;
        if (e == OK)
            digest_add(&sum, boot_entry_hash(&entry, scratch));
    }
    arena_rewind(scratch, mark);
    if (e == OK)
        *out_digest = sum;
    return e;
}
