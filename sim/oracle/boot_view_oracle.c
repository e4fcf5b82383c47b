#include "sim/oracle/boot_view_oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* The bytes are decoded when they are compared, so an entry that a boot server could not read is a
 * violation as well. A batch that became durable while the core was replaced has no changes to
 * apply; the copy begins again at the next load. */

static void boot_view_oracle_forget(struct boot_view_oracle *oracle)
{
    for (uint32_t i = 0; i < oracle->replaced_count; i++)
        free(oracle->replaced[i].bytes);
    oracle->replaced_count = 0;
    boot_copy_fini(&oracle->copy);
    oracle->turn = -1;
}

void boot_view_oracle_fini(struct boot_view_oracle *oracle)
{
    boot_view_oracle_forget(oracle);
    free(oracle->replaced);
    oracle->replaced = NULL;
    oracle->replaced_cap = 0;
}

/* ---- the copy ---- */

/* The bytes of the entry that the core has for the key; empty if it is not in the view. */
static struct str boot_view_read(const struct core *core, struct boot_key key,
                                 struct arena *scratch)
{
    struct boot_entry entry;
    struct buf bytes = buf_in(scratch);
    if (core_boot_view(core, key, scratch, &entry))
        boot_entry_encode(&entry, &bytes);
    return buf_str(&bytes);
}

static void boot_view_keep_replaced(struct boot_view_oracle *oracle, struct boot_key key)
{
    if (oracle->replaced_count == oracle->replaced_cap) {
        oracle->replaced_cap = oracle->replaced_cap ? 2 * oracle->replaced_cap : 64;
        oracle->replaced =
            realloc(oracle->replaced, oracle->replaced_cap * sizeof *oracle->replaced);
        must(oracle->replaced);
    }
    const struct str old = boot_copy_get(&oracle->copy, key);
    struct boot_replaced *row = &oracle->replaced[oracle->replaced_count++];
    *row = (struct boot_replaced){.turn = oracle->turn, .key = key, .len = old.len};
    if (!old.len)
        return;
    row->bytes = malloc(old.len);
    must(row->bytes);
    memcpy(row->bytes, old.at, old.len);
}

/* A change is sent as the key and, unless the entry is gone, its bytes. False if its turn is wrong.
 */
static bool boot_view_apply(struct boot_view_oracle *oracle, const struct core *core,
                            struct boot_key changed, struct arena *scratch)
{
    const struct str bytes = boot_view_read(core, changed, scratch);
    struct buf sent = buf_in(scratch);
    struct boot_key key;
    uint32_t at = 0;
    boot_key_encode(changed, &sent);
    if (boot_key_decode(buf_str(&sent), &at, &key) != OK || at != sent.len)
        impossible("an encoded key cannot be decoded");
    boot_view_keep_replaced(oracle, key);
    boot_copy_set(&oracle->copy, key, bytes);
    const int64_t turn = core_boot_turn(core, key);
    return turn == oracle->turn || (turn == 0 && !bytes.len);
}

static void boot_view_read_all(const struct core *core, struct boot_copy *out_copy,
                               struct arena *scratch)
{
    const struct arena_mark mark = arena_mark(scratch);
    for (struct boot_key key = {0}; core_boot_next(core, &key);)
        boot_copy_set(out_copy, key, boot_view_read(core, key, scratch));
    arena_rewind(scratch, mark);
}

void boot_view_oracle_begin(struct boot_view_oracle *oracle, const struct core *core, int64_t turn,
                            struct arena *scratch)
{
    uint32_t count;
    boot_view_oracle_forget(oracle);
    boot_view_read_all(core, &oracle->copy, scratch);
    ignore(core_boot_changes(core, &count, &oracle->first_turn), "only the turn is needed");
    oracle->turn = turn;
}

/* ---- comparison ---- */

static const char *boot_view_report(struct boot_view_oracle *oracle, int64_t turn,
                                    struct boot_key key, const char *what)
{
    snprintf(oracle->trouble, sizeof oracle->trouble,
             "I19: at turn %lld %s %lld of a boot server %s", (long long)turn,
             boot_fact_name(key.kind), (long long)key.id, what);
    return oracle->trouble;
}

static const char *boot_view_compare(struct boot_view_oracle *oracle, const struct core *core,
                                     struct arena *scratch)
{
    struct boot_copy base = {0};
    struct boot_key key = {0};
    struct digest128 sum;
    const char *said = NULL;
    boot_view_read_all(core, &base, scratch);
    if (!boot_copy_is_equal(&oracle->copy, &base, &key))
        said = boot_view_report(oracle, oracle->turn, key,
                                !boot_copy_get(&oracle->copy, key).len ? "is missing"
                                : boot_copy_get(&base, key).len        ? "is outdated"
                                                                : "is not in the view any more");
    else if (boot_copy_digest(&oracle->copy, scratch, &sum) != OK)
        said = boot_view_report(oracle, oracle->turn, key, "or another one cannot be decoded");
    else if (!digest_eq(sum, core_boot_digest(core)))
        said = boot_view_report(oracle, oracle->turn, key, "or another one has another digest");
    boot_copy_fini(&base);
    return said;
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
        if (!boot_view_apply(oracle, core, changes[i], scratch))
            said = boot_view_report(oracle, turn, changes[i], "has another turn");
    oracle->compared += count;
    if (!said)
        said = boot_view_compare(oracle, core, scratch);
    arena_rewind(scratch, mark);
    return said;
}

const char *boot_view_oracle_server(struct boot_view_oracle *oracle, const struct boot_copy *copy,
                                    int64_t turn, struct arena *scratch)
{
    if (oracle->turn < 0 || turn < oracle->first_turn)
        return NULL;
    struct boot_copy then = {0};
    struct boot_key key = {0};
    struct digest128 own, wanted;
    const char *said = NULL;
    boot_copy_assign(&then, &oracle->copy);
    for (uint32_t i = oracle->replaced_count; i > 0 && oracle->replaced[i - 1].turn > turn; i--) {
        const struct boot_replaced *row = &oracle->replaced[i - 1];
        boot_copy_set(&then, row->key, (struct str){row->bytes, row->len});
    }
    if (turn > oracle->turn)
        said = boot_view_report(oracle, turn, key, "or another one was acknowledged too early");
    else if (!boot_copy_is_equal(copy, &then, &key))
        said = boot_view_report(oracle, turn, key, "differs from the view of that turn");
    else if (boot_copy_digest(copy, scratch, &own) != OK ||
             boot_copy_digest(&then, scratch, &wanted) != OK || !digest_eq(own, wanted))
        said = boot_view_report(oracle, turn, key, "or another one has another digest");
    boot_copy_fini(&then);
    return said;
}
