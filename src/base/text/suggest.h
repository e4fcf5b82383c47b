/* suggest.h - the known word that is most similar to an unknown one ("did you mean ...?").
 *
 * Offer the known words one after the other. The one with the smallest edit distance (insertion,
 * deletion, replacement, swap of neighbours) is kept, unless the distance is too large for its
 * length. Words of more than 63 bytes are not compared.
 */
#pragma once

#include <stdint.h>

#include "base/text/str.h"

/* Zeroed: no word has been offered. */
struct suggestion {
    const char *word; /* NULL: no similar word; not terminated if it was offered as a str */
    uint32_t len;
    uint32_t distance; /* edit distance */
};

void suggest_offer(struct suggestion *n, const char *meant, const char *known);
void suggest_offer_str(struct suggestion *n, struct str meant, struct str known);
/* The word that was kept; empty: none. */
struct str suggest_str(const struct suggestion *n);
