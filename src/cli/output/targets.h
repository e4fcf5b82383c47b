/* targets.h - prints what the announced steps of a noderole act on: disks, boot environments.
 *
 * An entry is one noderole of a plan or of a consent: {"node_name":..., "role_name":...,
 * "steps":["wipe"], "targets":{"wipe":[{"name":..., "size":..., "serial":..., "wwn":...}]}}.
 * Nothing is allocated but the text. */
#pragma once

#include <stdbool.h>

#include "base/json/json.h"
#include "base/text/buf.h"

/* Printed once below a list with targets of a wipe. */
#define TARGETS_WIPE_NOTE                                                                          \
    "A wipe overwrites the beginning and the end of a disk. It is not a secure erase: the data "   \
    "between them stay readable."

/* "wipe disk/by-id/a, 480.1 GB, serial S1" for each target, with "; " between two. Writes nothing
 * and returns false if the entry has no targets. */
bool targets_put(struct buf *b, const struct json *entry);
/* True if the entry has targets of a wipe. */
bool targets_has_wipe(const struct json *entry);
/* The noderoles of a plan that list what they destroy, a line for each, and the note about wipes. A
 * plan of the totals has only the first ones. */
void targets_put_destroyed(struct buf *b, const struct json *plan);
