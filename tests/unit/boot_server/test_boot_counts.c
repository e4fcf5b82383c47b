/* Goal: counts reach the daemon as they are, and the number of environments is bounded.
 * Method: counts are written and read again with boot_count_next(). */
#include "boot/server/boot_counts.h"

#include <stdio.h>

#include "boot/proto/boot_proto.h"
#include "tests/check.h"

static struct arena arena;
static struct boot_counts counts;

/* The value of a count; -1 if it is not written. */
static int64_t written(enum boot_metric metric, const char *first, const char *second)
{
    struct buf out = buf_in(&arena);
    struct boot_count count;
    bool is_bad = false;
    int64_t value = -1;
    boot_counts_put(&counts, NULL, &out);
    for (uint32_t at = 0; boot_count_next(buf_str(&out), &at, &count, &is_bad);)
        if (count.metric == metric && str_eq(count.first, str_from(first)) &&
            str_eq(count.second, str_from(second)))
            value = count.value;
    CHECK(!is_bad);
    return value;
}

TEST(requests_are_counted_by_kind_and_environment)
{
    counts = (struct boot_counts){.tftp_sent = 3};
    boot_counts_add(&counts, BOOT_REQUEST_SCRIPT, STR("sledgehammer"));
    boot_counts_add(&counts, BOOT_REQUEST_SCRIPT, STR("sledgehammer"));
    boot_counts_add(&counts, BOOT_REQUEST_SCRIPT, STR("local"));
    boot_counts_add(&counts, BOOT_REQUEST_FILE, STR(""));
    CHECK(written(BOOT_METRIC_REQUESTS, "script", "sledgehammer") == 2);
    CHECK(written(BOOT_METRIC_REQUESTS, "script", "local") == 1);
    CHECK(written(BOOT_METRIC_REQUESTS, "file", "") == 1);
    CHECK(written(BOOT_METRIC_REQUESTS, "install", "local") == -1);
    CHECK(written(BOOT_METRIC_TFTP, "sent", "") == 3);
    CHECK(written(BOOT_METRIC_TFTP, "failed", "") == -1);
    arena_fini(&arena);
}

TEST(environments_beyond_the_bound_are_counted_together)
{
    char name[BOOT_COUNTED_NAME_MAX + 2];
    counts = (struct boot_counts){0};
    for (int i = 0; i < BOOT_COUNTED_ENVS + 5; i++) {
        snprintf(name, sizeof name, "env-%d", i);
        boot_counts_add(&counts, BOOT_REQUEST_SCRIPT, str_from(name));
    }
    snprintf(name, sizeof name, "%0*d", BOOT_COUNTED_NAME_MAX + 1, 0);
    boot_counts_add(&counts, BOOT_REQUEST_SCRIPT, str_from(name));
    CHECK(counts.env_count == BOOT_COUNTED_ENVS);
    snprintf(name, sizeof name, "env-%d", BOOT_COUNTED_ENVS - 3); /* the last that has a place */
    CHECK(written(BOOT_METRIC_REQUESTS, "script", name) == 1);
    CHECK(written(BOOT_METRIC_REQUESTS, "script", "other") == 7 + 1);
    arena_fini(&arena);
}
