#include "daemon/boot/boot_links.h"

#include "base/text/prom_metrics.h"
#include "boot/proto/boot_proto.h"

/* The metrics of boot servers, with the node of the server as a label. What a boot server counts
 * arrives as numbers and values of labels; the names are those of boot_proto.h, so a boot server
 * cannot write other lines. A message that is damaged ends early. Stateless. */

struct metric_name {
    const char *name, *first, *second, *help;
};

static const struct metric_name metric_names[BOOT_METRIC_COUNT] = {
#define X(upper, name, first, second, help) {name, first, second, help},
    BOOT_METRICS(X)
#undef X
};

static void boot_metrics_put(struct buf *out, enum boot_metric metric, struct str server,
                             const struct boot_count *count)
{
    const struct metric_name *m = &metric_names[metric];
    struct prom_label labels[3] = {{"server", server}};
    uint32_t n = 1;
    if (m->first[0])
        labels[n++] = (struct prom_label){m->first, count->first};
    if (m->second[0])
        labels[n++] = (struct prom_label){m->second, count->second};
    prom_put(out, m->name, labels, n, (uint64_t)count->value);
}

static void boot_metrics_put_one(const struct boot_links *all, enum boot_metric metric,
                                 struct arena *a, struct buf *out)
{
    struct boot_link_state state = {0};
    for (int64_t id = 0; boot_links_next(all, id, a, &state); id = state.node_id) {
        const struct str server = str_from_i64(a, state.node_id);
        struct boot_count count = {.value = state.seen_dropped};
        uint32_t at = 0;
        bool is_bad = false;
        if (metric == BOOT_METRIC_DROPPED)
            boot_metrics_put(out, metric, server, &count);
        for (uint32_t i = 0;
             i < BOOT_COUNTS_MAX && boot_count_next(state.counts, &at, &count, &is_bad); i++)
            if (count.metric == metric && metric != BOOT_METRIC_DROPPED)
                boot_metrics_put(out, metric, server, &count);
    }
}

void boot_links_metrics(const struct boot_links *all, struct buf *out)
{
    struct boot_link_state state = {0};
    struct arena a = {0};
    if (!boot_links_next(all, 0, &a, &state)) {
        arena_fini(&a);
        return;
    }
    for (uint32_t metric = 0; metric < BOOT_METRIC_COUNT; metric++) {
        prom_head(out, metric_names[metric].name, "counter", metric_names[metric].help);
        boot_metrics_put_one(all, (enum boot_metric)metric, &a, out);
    }
    prom_head(out, "halligan_boot_turns_behind", "gauge",
              "turns of the boot view that were sent and not acknowledged");
    for (int64_t id = 0; boot_links_next(all, id, &a, &state); id = state.node_id) {
        const struct prom_label labels[] = {{"server", str_from_i64(&a, state.node_id)}};
        const int64_t behind = state.sent_turn - state.taken_turn;
        prom_put(out, "halligan_boot_turns_behind", labels, 1, behind > 0 ? (uint64_t)behind : 0);
    }
    arena_fini(&a);
}
