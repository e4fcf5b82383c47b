#include "core/core_private.h"

/* The history of runs. Every attempt that was ordered leaves one row when it ends, whatever its
 * result; instant runs are never ordered and leave none (ADR 0009). The core does not read these
 * rows: they are queued in `archives` and written with the batch, each together with the deletion
 * of the row of the same noderole that exceeds the setting keep_runs.
 *
 * Order: run_archive() is called before the row of the run is removed or parked, because it reads
 * that row. Failure: a rollback of the step removes the queued rows again. */

struct str runlog_tail(struct str runlog)
{
    if (runlog.len <= RUNLOG_MAX)
        return runlog;
    uint32_t from = runlog.len - RUNLOG_MAX;
    while (from < runlog.len && ((unsigned char)runlog.at[from] & 0xc0) == 0x80)
        from++; /* do not begin inside a UTF-8 sequence */
    return str_slice(runlog, from, runlog.len);
}

void run_archive(struct core *c, run_ix ix, uint32_t result, struct str runlog,
                 const struct reason *why)
{
    const struct run *run = run_at(c, ix);
    must(run->state == RUN_RUNNING || run->state == RUN_STOPPING);
    /* The noderole of a STOPPING run may have been deleted. */
    const noderole_ix nr = noderole_by_id(c, run->noderole_id);
    text_h log = 0, subject = 0, text = 0;
    put_text(c, &log, runlog_tail(runlog));
    put_text(c, &subject, why->subject);
    put_text(c, &text, why->text);
    archive_note(c, (struct archived){
                        .table = TABLE_OLD_RUN,
                        .noderole_id = run->noderole_id,
                        .attempt = run->attempt,
                        .run_id = run->o.id,
                        .node_id = run->node_id,
                        .role_id = nr.v ? role_at(c, noderole_at(c, nr)->role)->o.id : 0,
                        .started_at = run->started_at,
                        .ended_at = c->now_ms,
                        .result = run->state == RUN_STOPPING ? RESULT_CANCELLED : result,
                        .reason = why->code,
                        .reason_subject = subject,
                        .reason_text = text,
                        .data = log,
                    });
    put_text(c, &log, STR(""));
    put_text(c, &subject, STR(""));
    put_text(c, &text, STR(""));
}

void run_archive_served(struct core *c, noderole_ix nr, struct str runlog)
{
    struct noderole *row = noderole_edit(c, nr);
    text_h log = 0;
    if (row->run.v || row->attempt == UINT32_MAX)
        return; /* a native role has no runs; one that had another jig may still have one */
    row->attempt++;
    put_text(c, &log, runlog_tail(runlog));
    archive_note(c, (struct archived){.table = TABLE_OLD_RUN,
                                      .noderole_id = row->o.id,
                                      .attempt = row->attempt,
                                      .run_id = core_take_id(c, TABLE_RUN),
                                      .node_id = node_at(c, row->node)->o.id,
                                      .role_id = role_at(c, row->role)->o.id,
                                      .started_at = c->now_ms,
                                      .ended_at = c->now_ms,
                                      .result = RESULT_OK,
                                      .data = log});
    put_text(c, &log, STR(""));
}

/* The deletion is visited before the new row. It never refers to a row of the same batch: a start
 * is durable before it can end, so at most one attempt of a noderole ends in one batch. */
void run_collect(const struct core *c, const struct archived *old,
                 void (*visit)(void *context, const struct change *change), void *context)
{
    const int64_t expired = old->attempt - core_settings(c)->keep_runs;
    struct change change;
    memset(&change, 0, sizeof change);
    change.record.table = TABLE_OLD_RUN;
    change.record.old_run.noderole_id = old->noderole_id;
    change.record.old_run.attempt = expired;
    change.gone = true;
    if (expired > 0)
        visit(context, &change);
    change.record.old_run =
        (struct old_run_record){.noderole_id = old->noderole_id,
                                .attempt = old->attempt,
                                .run_id = old->run_id,
                                .node_id = old->node_id,
                                .role_id = old->role_id,
                                .started_at = old->started_at,
                                .ended_at = old->ended_at,
                                .result = old->result,
                                .runlog = text_of(c, old->data),
                                .reason = old->reason,
                                .reason_subject = text_of(c, old->reason_subject),
                                .reason_text = text_of(c, old->reason_text)};
    change.gone = false;
    visit(context, &change);
}
