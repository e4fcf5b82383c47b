/* nearest.h - which of the words there are did somebody mean?
 *
 * Offer the known words one after the other; the one with the fewest slips of the finger stays,
 * unless it is too far off to be meant at all.
 */
#pragma once

#include <stdint.h>

/* Zeroed: nothing offered yet. */
struct nearest {
    const char *word; /* NULL: none is near */
    uint32_t slips;
};

void nearest_offer(struct nearest *n, const char *meant, const char *known);
