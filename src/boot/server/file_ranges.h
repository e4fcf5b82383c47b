/* file_ranges.h - the header Range of HTTP (RFC 9110). Stateless.
 *
 * One range is supported; a header with several is ignored, as RFC 9110 allows.
 */
#pragma once

#include <stdint.h>

#include "base/text/str.h"

enum range_result {
    RANGE_WHOLE, /* no range, or one that is not supported: the whole file */
    RANGE_PART,
    RANGE_UNSATISFIABLE
};

/* Reads the header Range for a file of this size. */
enum range_result range_parse(struct str header, uint64_t size, uint64_t *out_from,
                              uint64_t *out_size);
