#include "core/core_private.h"
#include "core/machine/grants.h"

/* core_resume(): the effects to repeat after a load (ADR 0025).
 *
 * Effects are not stored. Those that may not have been performed before the restart are derived
 * from rows: a RUNNING run may or may not have reached the runner, a STOPPING run may or may not
 * have been cancelled, and an outbox row exists until its result has arrived. Receivers recognise
 * repeats by (run, attempt) or by the id of the outbox row. QUEUED and PARKED runs need no effect:
 * they are started by the annealer and by their timers. The core is not changed.
 *
 * A runner that does not know a RUNNING run starts it. After a restore that may be a wipe that was
 * committed at another time, so such a run is cancelled instead (grant_bars_destruction()). */

static struct effect *resume_add_effect(struct effects *fx, struct arena *arena,
                                        enum effect_kind kind, int64_t id)
{
    struct effect *e = arena_new(arena, struct effect);
    e->kind = kind;
    e->id = id;
    if (fx->last)
        fx->last->next = e;
    else
        fx->first = e;
    fx->last = e;
    fx->count++;
    return e;
}

void core_resume(const struct core *c, struct arena *arena, struct effects *fx)
{
    /* Query runs that may have been started, and repeat cancellations (ADR 0025). */
    for (int64_t id = core_next_id(c, TABLE_RUN, 0); id; id = core_next_id(c, TABLE_RUN, id)) {
        const struct run *run = run_at(c, run_by_id(c, id));
        if (run->state != RUN_RUNNING && run->state != RUN_STOPPING)
            continue;
        const bool is_queried =
            run->state == RUN_RUNNING && !grant_bars_destruction(c, run->noderole);
        struct effect *e =
            resume_add_effect(fx, arena, is_queried ? EFFECT_RUN_QUERY : EFFECT_RUN_CANCEL, id);
        e->attempt = run->attempt;
        e->node_id = run->node_id;
        e->noderole_id = run->noderole_id;
        e->data = str_copy(arena, doc_of(c, run->data));
        if (run->noderole.v)
            e->jig = str_copy(arena, role_jig_name(c, noderole_at(c, run->noderole)->role));
    }
    /* Deliver outbox rows again. Rows that wait at the boot barrier have not been delivered. */
    for (int64_t id = core_next_id(c, TABLE_OUTBOX, 0); id; id = core_next_id(c, TABLE_OUTBOX, id))
        if (!boot_order_is_waiting(c, outbox_by_id(c, id)))
            resume_add_effect(fx, arena, EFFECT_OUTBOX, id);
}
