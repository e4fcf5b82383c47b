/* prom_metrics.c - scales, recording of durations, and the Prometheus text format. The state is in
 * the histograms of the caller; writing cannot fail. Buckets are counted separately and added up
 * when they are written, because the format requires cumulative counts while recording increments
 * one of them only. */
#include "base/text/prom_metrics.h"

#include "base/err.h"

#define MS(n) ((uint64_t)(n)*1000)
#define S(n)  ((uint64_t)(n)*1000000)

const struct prom_scale prom_quick = {16,
                                      {100, 250, 500, MS(1), 2500, MS(5), MS(10), MS(25), MS(50),
                                       MS(100), MS(250), MS(500), S(1), 2500000, S(5), S(10)}};
const struct prom_scale prom_slow = {14,
                                     {MS(100), MS(500), S(1), S(2), S(5), S(10), S(30), S(60),
                                      S(120), S(300), S(600), S(1800), S(3600), S(7200)}};

void histogram_note(struct histogram *h, uint64_t us)
{
    uint32_t i = 0;
    while (i < h->scale->count && us > h->scale->us[i])
        i++;
    h->counts[i]++;
    h->sum_us += us;
}

/* ---- the text ---- */

void prom_head(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_put_z(b, "# HELP ");
    buf_put_z(b, name);
    buf_put_c(b, ' ');
    buf_put_z(b, help);
    buf_put_z(b, "\n# TYPE ");
    buf_put_z(b, name);
    buf_put_c(b, ' ');
    buf_put_z(b, type);
    buf_put_c(b, '\n');
}

static void prom_put_escaped(struct buf *b, struct str s)
{
    for (uint32_t i = 0; i < s.len; i++) {
        if (s.at[i] == '\\' || s.at[i] == '"')
            buf_put_c(b, '\\');
        if (s.at[i] == '\n')
            buf_put_z(b, "\\n");
        else
            buf_put_c(b, s.at[i]);
    }
}

/* name_suffix{a="b",c="d"} and the space behind it. */
static void prom_put_name(struct buf *b, const char *name, const char *suffix,
                          const struct prom_label *labels, uint32_t count)
{
    buf_put_z(b, name);
    buf_put_z(b, suffix);
    for (uint32_t i = 0; i < count; i++) {
        buf_put_z(b, i ? "," : "{");
        buf_put_z(b, labels[i].name);
        buf_put_z(b, "=\"");
        prom_put_escaped(b, labels[i].value);
        buf_put_c(b, '"');
    }
    buf_put_z(b, count ? "} " : " ");
}

/* Writes microseconds as seconds without trailing zeros: "0.0025", "10", "1.000001". */
static void put_us(struct buf *b, uint64_t us)
{
    buf_put_u64(b, us / 1000000);
    uint64_t rest = us % 1000000;
    if (rest)
        buf_put_c(b, '.');
    for (uint64_t place = 100000; rest; place /= 10) {
        buf_put_c(b, (char)('0' + rest / place));
        rest %= place;
    }
}

void prom_put(struct buf *b, const char *name, const struct prom_label *labels, uint32_t count,
              uint64_t value)
{
    prom_put_name(b, name, "", labels, count);
    buf_put_u64(b, value);
    buf_put_c(b, '\n');
}

void prom_put_us(struct buf *b, const char *name, const struct prom_label *labels, uint32_t count,
                 uint64_t us)
{
    prom_put_name(b, name, "", labels, count);
    put_us(b, us);
    buf_put_c(b, '\n');
}

enum { LABELS_MAX = 4 };

void prom_put_histogram(struct buf *b, const char *name, const struct prom_label *labels,
                        uint32_t count, const struct histogram *h)
{
    struct prom_label all[LABELS_MAX + 1];
    struct arena scratch = {0};
    uint64_t total = 0;
    must(count <= LABELS_MAX);
    for (uint32_t i = 0; i < count; i++)
        all[i] = labels[i];
    for (uint32_t i = 0; i <= h->scale->count; i++) {
        struct buf bound = buf_in(&scratch);
        if (i < h->scale->count)
            put_us(&bound, h->scale->us[i]);
        else
            buf_put_z(&bound, "+Inf");
        all[count] = (struct prom_label){"le", buf_str(&bound)};
        total += h->counts[i];
        prom_put_name(b, name, "_bucket", all, count + 1);
        buf_put_u64(b, total);
        buf_put_c(b, '\n');
    }
    prom_put_name(b, name, "_sum", labels, count);
    put_us(b, h->sum_us);
    buf_put_c(b, '\n');
    prom_put_name(b, name, "_count", labels, count);
    buf_put_u64(b, total);
    buf_put_c(b, '\n');
    arena_fini(&scratch);
}

void prom_put_one(struct buf *b, const char *name, const char *type, const char *help,
                  uint64_t value)
{
    prom_head(b, name, type, help);
    prom_put(b, name, NULL, 0, value);
}
