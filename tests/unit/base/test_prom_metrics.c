/* The text that Prometheus reads, to the letter, and into which bucket a time falls. */
#include "base/text/prom_metrics.h"

#include <stdio.h>

#include "tests/check.h"

static bool reads(const struct buf *b, const char *wanted)
{
    const bool same = str_eq(buf_str(b), str_from(wanted));
    if (!same)
        printf("%.*s", STR_FMT_ARGS(buf_str(b)));
    return same;
}

TEST(values_follow_their_labels)
{
    struct arena a = {0};
    struct buf b = buf_in(&a);
    prom_put_one(&b, "up", "gauge", "Is it up?", 1);
    prom_head(&b, "seen_total", "counter", "What was seen.");
    prom_put(&b, "seen_total", METER_LABELS({"kind", STR("a")}, {"odd", STR("\"\\\n")}), 18);
    prom_put_us(&b, "took_seconds", NULL, 0, 1500000);
    CHECK(reads(&b, "# HELP up Is it up?\n# TYPE up gauge\nup 1\n"
                    "# HELP seen_total What was seen.\n# TYPE seen_total counter\n"
                    "seen_total{kind=\"a\",odd=\"\\\"\\\\\\n\"} 18\n"
                    "took_seconds 1.5\n"));
    arena_fini(&a);
}

TEST(seconds_have_no_more_digits_than_they_need)
{
    static const struct {
        uint64_t us;
        const char *text;
    } cases[] = {{0, "s 0\n"},
                 {1, "s 0.000001\n"},
                 {250, "s 0.00025\n"},
                 {1000000, "s 1\n"},
                 {2500000, "s 2.5\n"},
                 {1000001, "s 1.000001\n"},
                 {7200000000, "s 7200\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct buf b = buf_in(&a);
        prom_put_us(&b, "s", NULL, 0, cases[i].us);
        CHECK(reads(&b, cases[i].text));
        arena_fini(&a);
    }
}

TEST(a_time_falls_into_the_first_bucket_that_holds_it)
{
    static const struct prom_scale two = {2, {10, 1000}};
    struct histogram h = {.scale = &two};
    struct arena a = {0};
    struct buf b = buf_in(&a);
    static const uint64_t times[] = {0, 10, 11, 1000, 1001, 5000000};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        histogram_note(&h, times[i]);
    prom_put_histogram(&b, "h", METER_LABELS({"x", STR("y")}), &h);
    CHECK(reads(&b, "h_bucket{x=\"y\",le=\"0.00001\"} 2\nh_bucket{x=\"y\",le=\"0.001\"} 4\n"
                    "h_bucket{x=\"y\",le=\"+Inf\"} 6\nh_sum{x=\"y\"} 5.002022\n"
                    "h_count{x=\"y\"} 6\n"));
    arena_fini(&a);
}

TEST(the_scales_rise)
{
    const struct prom_scale *const scales[] = {&prom_quick, &prom_slow};
    for (size_t s = 0; s < 2; s++)
        for (uint32_t i = 1; i < scales[s]->count; i++)
            CHECK(scales[s]->us[i - 1] < scales[s]->us[i]);
    CHECK(prom_quick.us[0] == 100 && prom_quick.us[prom_quick.count - 1] == 10000000);
    CHECK(prom_slow.us[0] == 100000 && prom_slow.us[prom_slow.count - 1] == 7200000000);
}
