/* import_order.h - sorts barclamps by their dependencies.
 *
 * An import refuses a barclamp whose parent does not exist, and warns about unknown roles and jigs.
 * A file is therefore sorted after the files that define what it refers to: its parent, roles that
 * it requires or attaches to (or roles that provide them), jigs and wanted attribs. Within a cycle
 * parents still come first; the engine resolves the rest.
 */
#pragma once

#include "base/mem/arena.h"
#include "content/barclamp_file.h"

/* Write the indices of the files to `order`, in the order of import. Files without a dependency
 * between them keep their order. */
void import_order_sort(struct arena *a, const struct barclamp_file *files, uint32_t count,
                       uint32_t *order);
