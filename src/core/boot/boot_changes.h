/* boot_changes.h - what the files of the core call to keep the boot view up to date.
 *
 * As core_private.h: only files of src/core include it. boot_changes.c explains the view.
 */
#pragma once

#include "core/engine/rows.h"
#include "model/boot_view.h"

/* The tables whose rows entries are made of. */
#define BOOT_VIEW_TABLES                                                                           \
    (UINT64_C(1) << TABLE_ROLE | UINT64_C(1) << TABLE_NODE | UINT64_C(1) << TABLE_NODEROLE |       \
     UINT64_C(1) << TABLE_NETWORK | UINT64_C(1) << TABLE_NETWORK_RANGE |                           \
     UINT64_C(1) << TABLE_NETWORK_ROUTER | UINT64_C(1) << TABLE_NETWORK_ALLOCATION |               \
     UINT64_C(1) << TABLE_LEASE | UINT64_C(1) << TABLE_NIC | UINT64_C(1) << TABLE_DNS_NAME_ENTRY | \
     UINT64_C(1) << TABLE_BOOTENV)
_Static_assert(TABLE_COUNT <= 64, "a set of tables is a mask of 64 bits");

/* ---- boot_entries.c ---- */

/* The entry of a live row, with its key; false if it is not in the view. Lists are in `a`, strings
 * are valid until the next step. */
bool boot_entry_of_row(const struct core *c, enum boot_fact kind, uint32_t ix, struct arena *a,
                       struct boot_entry *out);
/* The first address of the machine that an entry of the node would have, with its prefix length;
 * empty if it has none. Also for nodes that are not in the view. */
struct str boot_first_address(const struct core *c, node_ix n, struct arena *a);
/* What the noderoles of the role, as it is now, do for the presence of their machines. */
enum boot_part boot_part_of_role(const struct core *c, role_ix r);

/* ---- boot_changes.c ---- */

int64_t boot_row_id(const struct core *c, enum boot_fact kind, uint32_t ix);

/* A row of BOOT_VIEW_TABLES is about to be written. */
void boot_row_changed(struct core *c, enum table table, uint32_t ix);
/* Bring the view up to date with all changes of the step in progress; called at its end. */
void boot_view_settle(struct core *c);
/* True if rows were written since: settle again. */
bool boot_view_has_changes(const struct core *c);
/* At the end of a batch: its list of changes becomes that of core_boot_changes(). */
void boot_view_collect(struct core *c, int64_t turn);
/* After a load: compute the view from all rows. */
void boot_view_load(struct core *c);
void boot_view_fini(struct core *c);
const char *boot_view_check(const struct core *c, struct arena *a);
