/* schema_version.h - is this database ours, and which version of it?
 *
 * Migrations are numbered, forward only, and recorded with the hash of their text in the table
 * schema_migration. A database that has one we do not know was written by a newer program; one
 * whose hash differs was altered. Either is refused. What engines share is here; each asks its
 * database in its own words.
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

/* Compare one recorded migration (`index` counts from 0, in the order of their names) with what
 * this program knows. ERR_CORRUPT with a sentence when it is newer or altered. */
NODISCARD err schema_compare(const struct migrations *known, uint32_t index, const char *name,
                             const char *hash, struct store_why *out_why);
