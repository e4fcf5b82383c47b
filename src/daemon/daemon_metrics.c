/* daemon_metrics.c - counters and histograms of the daemon, in the text format of Prometheus.
 *
 * It owns the counters in struct metrics. Durations of annealing steps and commits are measured
 * between two calls of the watch port, so `anneal_ns` and `commit_ns` hold the start of the one
 * that is in progress. The result of a run is counted when its command is submitted and not when it
 * is executed, because the step may delete the row with the start time. The histograms of runs are
 * kept for each role in an array sorted by role id; a role that is deleted keeps its histogram
 * until the process ends, because counters must not decrease. Nothing here can fail: without memory
 * the process ends (must).
 */
#include "daemon/daemon_metrics.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "core/core.h"
#include "port/batch.h"
#include "sys/process.h"

/* Durations of the runs of one role. */
struct run_times {
    int64_t role_id;
    char *name; /* of the role when its first run ended; the label must not change later */
    struct histogram took;
};

void metrics_init(struct metrics *m, int64_t now_ms)
{
    *m = (struct metrics){
        .started_ms = now_ms, .anneal = {.scale = &prom_quick}, .commit = {.scale = &prom_quick}};
}

void metrics_fini(struct metrics *m)
{
    for (uint32_t i = 0; i < m->role_count; i++)
        free(m->roles[i].name);
    free(m->roles);
    *m = (struct metrics){0};
}

/* ---- collection ---- */

static uint64_t metrics_us_since(uint64_t began_ns)
{
    return (uv_hrtime() - began_ns) / 1000;
}

void metrics_stepping(struct metrics *m, const struct command *command)
{
    if (command->kind == COMMAND_ANNEAL)
        m->anneal_ns = uv_hrtime();
}

void metrics_stepped(struct metrics *m, const struct command *command)
{
    if (command->kind == COMMAND_ANNEAL)
        histogram_note(&m->anneal, metrics_us_since(m->anneal_ns));
}

void metrics_submitting(struct metrics *m)
{
    m->commit_ns = uv_hrtime();
}

void metrics_durable(struct metrics *m, const struct batch *batch)
{
    histogram_note(&m->commit, metrics_us_since(m->commit_ns));
    m->events += batch->events;
    m->rows += batch->rows;
}

/* The position of the role in the sorted array, or the one at which it would be inserted. */
static uint32_t metrics_role_position(const struct metrics *m, int64_t role_id)
{
    uint32_t low = 0, high = m->role_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (m->roles[middle].role_id < role_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct run_times *metrics_role_times(struct metrics *m, const struct role_record *role)
{
    const uint32_t at = metrics_role_position(m, role->id);
    if (at < m->role_count && m->roles[at].role_id == role->id)
        return &m->roles[at];
    if (m->role_count == m->role_cap) {
        m->role_cap = m->role_cap ? m->role_cap * 2 : 16;
        m->roles = realloc(m->roles, m->role_cap * sizeof *m->roles);
        must(m->roles);
    }
    memmove(m->roles + at + 1, m->roles + at, (m->role_count++ - at) * sizeof *m->roles);
    m->roles[at] = (struct run_times){.role_id = role->id,
                                      .name = strndup(role->name.at, role->name.len),
                                      .took = {.scale = &prom_slow}};
    must(m->roles[at].name);
    return &m->roles[at];
}

void metrics_run_result(struct metrics *m, const struct core *core, const struct command *command,
                        int64_t now_ms)
{
    const struct run_done_command *done = &command->run_done;
    struct record run, noderole, role;
    if (command->kind != COMMAND_RUN_DONE || !core || done->result >= RESULT_COUNT ||
        done->result == RESULT_PARKED || !core_record(core, TABLE_RUN, done->run_id, &run) ||
        run.run.state != RUN_RUNNING || run.run.attempt != done->attempt)
        return;
    m->ended[done->result]++;
    if (core_record(core, TABLE_NODEROLE, run.run.noderole_id, &noderole) &&
        core_record(core, TABLE_ROLE, noderole.noderole.role_id, &role)) {
        const int64_t ms = now_ms - run.run.started_at;
        histogram_note(&metrics_role_times(m, &role.role)->took, ms > 0 ? (uint64_t)ms * 1000 : 0);
    }
}

/* ---- output ---- */

static void metrics_put_runs(const struct metrics *m, struct buf *out)
{
    static const char *const results[RESULT_COUNT] = {[RESULT_OK] = "ok",
                                                      [RESULT_FAILED] = "failed",
                                                      [RESULT_ASYNC] = "async",
                                                      [RESULT_PARKED] = "parked",
                                                      [RESULT_LOST] = "lost"};
    prom_head(out, "halligan_runs_ended_total", "counter", "Runs that ended, by result.");
    for (int r = 0; r < RESULT_COUNT; r++)
        if (r != RESULT_PARKED)
            prom_put(out, "halligan_runs_ended_total",
                     METER_LABELS({"result", str_from(results[r])}), m->ended[r]);
    if (m->role_count)
        prom_head(out, "halligan_run_duration_seconds", "histogram",
                  "Duration of runs, from start to result.");
    for (uint32_t i = 0; i < m->role_count; i++)
        prom_put_histogram(out, "halligan_run_duration_seconds",
                           METER_LABELS({"role", str_from(m->roles[i].name)}), &m->roles[i].took);
}

static void metrics_put_connections(const struct http_stats *http, struct buf *out)
{
    prom_put_one(out, "halligan_http_connections", "gauge", "Open connections.", http->connections);
    prom_put_one(out, "halligan_http_connections_max", "gauge", "Limit of open connections.",
                 http->connections_max);
    prom_put_one(out, "halligan_http_connections_evicted_total", "counter",
                 "Connections without a complete request that were closed for a new one.",
                 http->evicted);
    prom_put_one(out, "halligan_http_connections_refused_total", "counter",
                 "New connections that were closed because no other could be evicted.",
                 http->refused);
    prom_put_one(out, "halligan_http_accept_failures_total", "counter",
                 "Errors of accept(), such as too many open files.", http->accept_failures);
}

static void metrics_put_process(const struct metrics *m, struct buf *out)
{
    const struct sys_process p = sys_process_look();
    prom_head(out, "process_cpu_seconds_total", "counter", "User and system time.");
    prom_put_us(out, "process_cpu_seconds_total", NULL, 0, p.cpu_us);
    prom_put_one(out, "process_resident_memory_bytes", "gauge", "Resident memory.",
                 p.resident_bytes);
    prom_put_one(out, "process_virtual_memory_bytes", "gauge", "Virtual memory.", p.virtual_bytes);
    prom_put_one(out, "process_open_fds", "gauge", "Open descriptors.", p.fds);
    prom_put_one(out, "process_max_fds", "gauge", "Limit of open descriptors.", p.fds_max);
    prom_head(out, "process_start_time_seconds", "gauge", "Start of the process, since 1970.");
    prom_put_us(out, "process_start_time_seconds", NULL, 0, (uint64_t)m->started_ms * 1000);
}

static void metrics_put_plans(const struct turn_plan_counts *plans, struct buf *out)
{
    const struct {
        const char *result;
        uint64_t count;
    } rows[] = {{"busy", plans->busy},
                {"computed", plans->computed},
                {"restarted", plans->restarted},
                {"reused", plans->reused}};
    prom_head(out, "halligan_plans_total", "counter",
              "Plans: computed, reused, restarted, and refused as busy.");
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++)
        prom_put(out, "halligan_plans_total", METER_LABELS({"result", str_from(rows[i].result)}),
                 rows[i].count);
}

void metrics_write(const struct metrics *m, struct metrics_state state, struct buf *out)
{
    prom_head(out, "halligan_build_info", "gauge", "Version of halligand.");
    prom_put(out, "halligan_build_info", METER_LABELS({"version", str_from(state.version)}), 1);
    prom_put_one(out, "halligan_store_up", "gauge", "1 if the store can be written.",
                 state.store_is_up);
    prom_put_one(out, "halligan_leader", "gauge", "1 if this instance leads the store.",
                 state.leads);
    prom_put_one(out, "halligan_turns_total", "counter",
                 "Batches committed to the store since it was created.", (uint64_t)state.turn);
    prom_head(out, "halligan_clock_behind_seconds", "gauge",
              "By how much the wall clock is behind the stamp of earlier changes; 0: not behind.");
    prom_put_us(out, "halligan_clock_behind_seconds", NULL, 0,
                (uint64_t)state.clock_behind_ms * 1000);
    if (state.certificate_end_s > 0)
        prom_put_one(out, "halligan_certificate_end_timestamp_seconds", "gauge",
                     "Expiry of the served certificate, since 1970.",
                     (uint64_t)state.certificate_end_s);
    prom_put_one(out, "halligan_store_rows_total", "counter", "Rows written since the start.",
                 m->rows);
    prom_put_one(out, "halligan_events_total", "counter", "Events written since the start.",
                 m->events);
    metrics_put_plans(&state.plans, out);
    prom_head(out, "halligan_store_commit_seconds", "histogram",
              "Duration of commits, from submitting a batch until it is durable.");
    prom_put_histogram(out, "halligan_store_commit_seconds", NULL, 0, &m->commit);
    prom_head(out, "halligan_anneal_pass_seconds", "histogram", "Duration of one annealing step.");
    prom_put_histogram(out, "halligan_anneal_pass_seconds", NULL, 0, &m->anneal);
    metrics_put_runs(m, out);
    metrics_put_connections(&state.http, out);
    metrics_put_process(m, out);
}
