/* boot_port.h - the port to the boot servers: the boot view (model/boot_view.h) as the turn makes
 * it durable.
 *
 * A boot server keeps a copy of the view. It begins with a base image, which the implementation
 * reads from turn_core() with core_boot_next() and core_boot_view(), one part after the other, by a
 * cursor (the last key). Meanwhile the turn goes on: an entry at or before the cursor that changes
 * is sent again as a change, one behind it is read later. An entry that is read while a batch is
 * not stored yet is either part of the changes of that batch or followed by `loaded`; so the base
 * image may be completed only while every row of the core is durable (turn_seen() ==
 * turn_durable()).
 *
 * Both callbacks may be NULL. They must not call functions of the turn except turn_submit().
 * Entries and strings are valid during the call.
 */
#pragma once

#include <stdint.h>

#include "model/boot_view.h"

struct boot_change {
    struct boot_key key;
    const struct boot_entry *entry; /* NULL: it is no longer in the view */
};

struct boot_port {
    void *self;
    /* A core was loaded: all copies are outdated, and base images that are in progress begin
     * again. A base image that is completed before the next call of `changed` is that of `turn`,
     * the highest turn of any row; that of the store may be higher. Called after every load and
     * before any effect is performed or any reply is sent; a load may be repeated before that. The
     * changes of a batch that was found to be committed when its answer had been lost are part of
     * the loaded rows. */
    void (*loaded)(void *self, int64_t turn);
    /* The entries that a batch changed, each key once. Called when the batch is durable, before any
     * of its effects is performed and any reply is sent; not called if the batch changed none. An
     * entry may be the same as before, and a key without an entry may be one that never had any. */
    void (*changed)(void *self, int64_t turn, const struct boot_change *changes, uint32_t count);
};
