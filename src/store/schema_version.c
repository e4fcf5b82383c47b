/* schema_version.c - the hash of a migration, and the comparison with a recorded one. Stateless. */
#include "store/schema_version.h"

#include <stdio.h>
#include <string.h>

#include "base/hash/sha256.h"

void schema_hash(const struct migration *migration, char out_hash[SCHEMA_HASH_SIZE])
{
    struct sha256 sha;
    uint8_t digest[32];
    sha256_init(&sha);
    sha256_add(&sha, migration->text, (uint32_t)strlen(migration->text));
    sha256_end(&sha, digest);
    for (uint32_t i = 0; i < sizeof digest; i++)
        snprintf(out_hash + (size_t)i * 2, 3, "%02x", digest[i]);
}

err schema_compare(const struct migrations *known, uint32_t index, const char *name,
                   const char *hash, struct store_why *out_why)
{
    char expected[SCHEMA_HASH_SIZE];
    if (index >= known->count) {
        snprintf(out_why->text, sizeof out_why->text,
                 "the store was written by a newer version of Halligan: it has migration \"%s\", "
                 "the newest known here is \"%s\"",
                 name, known->at[known->count - 1].name);
        return ERR_CORRUPT;
    }
    schema_hash(&known->at[index], expected);
    if (strcmp(name, known->at[index].name) == 0 && strcmp(hash, expected) == 0)
        return OK;
    snprintf(out_why->text, sizeof out_why->text,
             "the schema of the store was altered: migration \"%s\" is recorded with hash %.12s, "
             "expected is \"%s\" with %.12s",
             name, hash, known->at[index].name, expected);
    return ERR_CORRUPT;
}
