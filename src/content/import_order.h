/* import_order.h - which barclamp comes first.
 *
 * An import refuses a barclamp whose parent is not there, and warns about roles and jigs that it
 * does not know yet. So a file goes behind those that define what it speaks of: its parent above
 * all, then roles required or attached to (or roles that provide these), jigs and wanted attribs.
 * Files that wait for each other in a circle are left to the engine, parents first all the same.
 */
#pragma once

#include "base/mem/arena.h"
#include "content/barclamp_file.h"

/* Writes the indices of the files, in the order they are to be imported, to `order`. Apart from
 * what they need of each other they stay in the order given. */
void content_order(struct arena *a, const struct barclamp_file *files, uint32_t count,
                   uint32_t *order);
