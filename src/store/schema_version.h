/* schema_version.h - comparison of recorded migrations with those of this program.
 *
 * Migrations are numbered, forward only, and recorded with the hash of their text in the table
 * schema_migration. A database with an unknown migration was written by a newer version; one with
 * another hash was altered. Both are refused. The part that is common to the engines is here; each
 * engine reads the table itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/statements.h"
#include "store/store_thread.h"

#define SCHEMA_HASH_SIZE 65 /* hex SHA-256 and a zero */

/* The hash of a migration's text. */
void schema_hash(const struct migration *migration, char out_hash[SCHEMA_HASH_SIZE]);

/* Compares one recorded migration (`index` from 0, in the order of names) with that of this
 * program. ERR_CORRUPT, with a message: it is newer or altered. */
NODISCARD err schema_compare(const struct migrations *known, uint32_t index, const char *name,
                             const char *hash, struct store_why *out_why);
