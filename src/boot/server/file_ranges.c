#include "boot/server/file_ranges.h"

enum { DIGITS_MAX = 18 }; /* of a position; more digits are not a file of this world */

/* A decimal number; false if it has no digit, another character or too many digits. */
static bool range_number(struct str text, uint64_t *out_value)
{
    int64_t value;
    if (text.len > DIGITS_MAX || !str_parse_i64(text, &value))
        return false;
    *out_value = (uint64_t)value;
    return true;
}

/* "-N": the last N bytes. */
static enum range_result range_parse_suffix(struct str digits, uint64_t size, uint64_t *out_from,
                                            uint64_t *out_size)
{
    uint64_t count;
    if (!range_number(digits, &count))
        return RANGE_WHOLE;
    if (count == 0 || size == 0)
        return RANGE_UNSATISFIABLE;
    *out_size = count < size ? count : size;
    *out_from = size - *out_size;
    return RANGE_PART;
}

enum range_result range_parse(struct str header, uint64_t size, uint64_t *out_from,
                              uint64_t *out_size)
{
    const struct str unit = STR("bytes=");
    uint64_t first, last;
    if (header.len <= unit.len || !str_eq_nocase(str_slice(header, 0, unit.len), unit))
        return RANGE_WHOLE;
    const struct str range = str_slice(header, unit.len, header.len);
    const uint32_t dash = str_find(range, '-', 0);
    if (dash == range.len)
        return RANGE_WHOLE;
    const struct str before = str_slice(range, 0, dash);
    const struct str after = str_slice(range, dash + 1, range.len);
    if (before.len == 0)
        return range_parse_suffix(after, size, out_from, out_size);
    if (!range_number(before, &first))
        return RANGE_WHOLE;
    last = UINT64_MAX;
    if (after.len > 0 && (!range_number(after, &last) || last < first))
        return RANGE_WHOLE;
    if (first >= size)
        return RANGE_UNSATISFIABLE;
    *out_from = first;
    *out_size = (last < size - 1 ? last : size - 1) - first + 1;
    return RANGE_PART;
}
