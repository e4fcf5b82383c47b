/* suggest.h - which known word was probably meant by an unknown one.
 *
 * Offer the known words one after the other. The one with the smallest edit distance (insertion,
 * deletion, replacement, swap of neighbours) is kept, unless the distance is too large for its
 * length. Words of more than 63 bytes are not compared.
 */
#pragma once

#include <stdint.h>

#include "base/text/str.h"

/* Zeroed: nothing offered yet. */
struct suggestion {
    const char *word; /* NULL: none is near; not terminated if it was offered as a str */
    uint32_t len;
    uint32_t slips;
};

void suggest_offer(struct suggestion *n, const char *meant, const char *known);
void suggest_offer_str(struct suggestion *n, struct str meant, struct str known);
/* The word that was kept; empty: none. */
struct str suggest_str(const struct suggestion *n);
