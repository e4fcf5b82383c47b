#include "turn/turn_private.h"

/* Queries of the turn for the daemon: what can be read, what is durable, what waits, and when to
 * call again. The file owns nothing, and no order of calls matters. Nothing here changes the turn,
 * except that turn_import_dry_run() steps the core and rolls the steps back. */

const struct core *turn_core(const struct turn *t)
{
    return t->core;
}

int64_t turn_seen(const struct turn *t)
{
    bool ahead = t->core && (t->in_flight || t->is_ahead || core_changed(t->core) > 0);
    return t->mark.turn + (ahead ? 1 : 0);
}

int64_t turn_durable(const struct turn *t)
{
    return t->mark.turn;
}

int64_t turn_epoch(const struct turn *t)
{
    return t->mark.epoch;
}

uint64_t turn_loads(const struct turn *t)
{
    return t->loads;
}

err turn_import_dry_run(struct turn *t, const struct str *barclamps, uint32_t count,
                        struct arena *arena, struct outcome *outcomes)
{
    if (!t->core)
        return ERR_UNAVAILABLE;
    core_import_dry_run(t->core, barclamps, count, arena, outcomes);
    return OK;
}

/* The next deadline, or the end of the pause between two slices if that is earlier. */
static int64_t turn_live_next_ms(const struct turn *t)
{
    const int64_t deadline = core_next_deadline(t->core);
    const bool is_slice =
        !t->anneal_refused && turn_pauses_slices(t) && (deadline < 0 || t->slices_ms < deadline);
    return is_slice ? t->slices_ms : deadline;
}

int64_t turn_next_ms(const struct turn *t)
{
    switch (t->phase) {
    case PHASE_LIVE: return t->in_flight || t->is_stalled ? -1 : turn_live_next_ms(t);
    case PHASE_DOWN: return t->reload ? t->reload_ms : t->write_ms;
    case PHASE_STOPPED:
    case PHASE_CRASHED: return -1;
    }
    impossible("unknown phase");
}

uint32_t turn_waiting(const struct turn *t)
{
    return command_queue_count(&t->inputs);
}

uint32_t turn_pending(const struct turn *t)
{
    return t->pending.count;
}

err turn_trouble(const struct turn *t, const char **out_text)
{
    *out_text = t->trouble_text;
    return t->trouble;
}
