/* Goal: a range of a file is read as RFC 9110 says, and never leaves the file.
 * Method: a table of headers; then all pairs of small bounds against a model. */
#include <stdio.h>
#include <string.h>

#include "boot/server/file_ranges.h"
#include "tests/check.h"

static void check_range(const char *header, enum range_result expected, uint64_t from,
                        uint64_t size)
{
    uint64_t got_from = 77, got_size = 77;
    const enum range_result result = range_parse(str_from(header), 10, &got_from, &got_size);
    if (result != expected || (result == RANGE_PART && (got_from != from || got_size != size))) {
        fprintf(stderr, "%s: %d %d-%d\n", header, (int)result, (int)got_from, (int)got_size);
        CHECK(false);
    }
}

TEST(headers_of_one_range_are_read_and_all_others_mean_the_whole_file)
{
    /*          Range                    result               from size */
    check_range("bytes=0-9", RANGE_PART, 0, 10);
    check_range("bytes=0-8", RANGE_PART, 0, 9);
    check_range("bytes=0-10", RANGE_PART, 0, 10);
    check_range("bytes=9-9", RANGE_PART, 9, 1);
    check_range("bytes=9-", RANGE_PART, 9, 1);
    check_range("bytes=10-", RANGE_UNSATISFIABLE, 0, 0);
    check_range("bytes=-1", RANGE_PART, 9, 1);
    check_range("bytes=-10", RANGE_PART, 0, 10);
    check_range("bytes=-11", RANGE_PART, 0, 10);
    check_range("bytes=-0", RANGE_UNSATISFIABLE, 0, 0);
    check_range("Bytes=1-2", RANGE_PART, 1, 2);
    check_range("bytes=2-1", RANGE_WHOLE, 0, 0);
    check_range("bytes=-", RANGE_WHOLE, 0, 0);
    check_range("bytes=", RANGE_WHOLE, 0, 0);
    check_range("bytes", RANGE_WHOLE, 0, 0);
    check_range("", RANGE_WHOLE, 0, 0);
    check_range("bytes=1", RANGE_WHOLE, 0, 0);
    check_range("bytes=1-2,4-5", RANGE_WHOLE, 0, 0);
    check_range("bytes=1 - 2", RANGE_WHOLE, 0, 0);
    check_range("bytes=+1-2", RANGE_WHOLE, 0, 0);
    check_range("bytes=1-2-3", RANGE_WHOLE, 0, 0);
    check_range("items=0-1", RANGE_WHOLE, 0, 0);
    check_range("bytes=999999999999999999-", RANGE_UNSATISFIABLE, 0, 0);
    check_range("bytes=9999999999999999999-", RANGE_WHOLE, 0, 0);
    check_range("bytes=0-999999999999999999", RANGE_PART, 0, 10);
}

TEST(an_empty_file_has_no_range)
{
    uint64_t from, size;
    CHECK(range_parse(STR("bytes=0-"), 0, &from, &size) == RANGE_UNSATISFIABLE);
    CHECK(range_parse(STR("bytes=-5"), 0, &from, &size) == RANGE_UNSATISFIABLE);
}

TEST(every_range_is_within_the_file)
{
    for (uint64_t file = 1; file < 6; file++)
        for (uint64_t first = 0; first < 8; first++)
            for (uint64_t last = 0; last < 8; last++) {
                char header[64];
                uint64_t from = 0, size = 0;
                snprintf(header, sizeof header, "bytes=%d-%d", (int)first, (int)last);
                const enum range_result result = range_parse(str_from(header), file, &from, &size);
                if (last < first) {
                    CHECK(result == RANGE_WHOLE);
                } else if (first >= file) {
                    CHECK(result == RANGE_UNSATISFIABLE);
                } else {
                    CHECK(result == RANGE_PART && from == first);
                    CHECK(size == (last < file ? last : file - 1) - first + 1);
                }
            }
}
