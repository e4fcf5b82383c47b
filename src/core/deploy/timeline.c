#include "core/core_private.h"

#include "model/names.h"

/* The timeline of a deployment: its snapshots, numbered by seq (ADR 0011). This file owns the
 * snapshot rows, the head of each deployment (its newest snapshot) and the fields member_from and
 * data_from (a node that moves resets them). The content of a snapshot is not copied but described
 * by intervals: since which seq a noderole is a member, and since which seq its data is in force. A
 * live row carries the start of its open intervals. When an interval ends it is written to the
 * archive with the old data, so a commit costs what it changes and not the size of the deployment.
 *
 * Order: timeline_seq_for_change() is called before an interval is closed, because it may open a
 * new head and so determines the number under which the change is recorded. An interval is closed
 * before the row gets its new data, because the old data is read from the row.
 *
 * Failure: if the table of snapshots is full, a problem is recorded and the step is rolled back,
 * together with the archive rows that it queued. */

enum { ORDER_FIRST = 1000 }; /* field `order` of the first snapshot of a deployment */

/* ---- snapshots ---- */

/* {"active":2,...}: the counts of states, kept when a snapshot is archived. */
static struct str snapshot_counts_text(struct core *c, deployment_ix d)
{
    static const enum noderole_state by_name[] = {NODEROLE_ACTIVE, NODEROLE_BLOCKED,
                                                  NODEROLE_ERROR,  NODEROLE_PROPOSED,
                                                  NODEROLE_TODO,   NODEROLE_TRANSITION};
    struct buf b = buf_in(c->arena);
    for (uint32_t i = 0; i < NODEROLE_STATE_COUNT; i++) {
        buf_put_z(&b, i ? ",\"" : "{\"");
        buf_put_z(&b, noderole_state_name(by_name[i]));
        buf_put_z(&b, "\":");
        buf_put_u64(&b, deployment_at(c, d)->counts[by_name[i]]);
    }
    buf_put_c(&b, '}');
    return buf_str(&b);
}

void snapshot_set_state(struct core *c, snapshot_ix ix, enum snapshot_state state)
{
    struct snapshot *s = snapshot_edit(c, ix);
    s->state = state;
    s->since = c->now_ms;
    if (state == SNAPSHOT_COMMITTED) {
        s->committed_at = c->now_ms;
        put_text(c, &s->actor, c->command->actor);
    }
    if (state == SNAPSHOT_ARCHIVED) {
        s->archived_at = c->now_ms;
        put_doc(c, &s->counts, snapshot_counts_text(c, s->deployment));
    }
    if (deployment_at(c, s->deployment)->head.v == ix.v)
        deployment_derive(c, s->deployment)->committed = state == SNAPSHOT_COMMITTED;
}

/* Makes `ix` the head of its deployment, in this state. */
static void snapshot_become_head(struct core *c, snapshot_ix ix, enum snapshot_state state)
{
    put_text(c, &snapshot_edit(c, ix)->actor, c->command->actor);
    deployment_edit(c, snapshot_at(c, ix)->deployment)->head = ix;
    snapshot_set_state(c, ix, state);
}

snapshot_ix timeline_begin(struct core *c, deployment_ix d, enum snapshot_state state)
{
    const snapshot_ix ix = snapshot_add(c);
    if (!ix.v)
        return ix;
    struct snapshot *s = snapshot_edit(c, ix);
    s->deployment = d;
    s->seq = 1;
    s->order = ORDER_FIRST;
    put_text(c, &s->name, text_of(c, deployment_at(c, d)->name));
    snapshot_become_head(c, ix, state);
    return ix;
}

snapshot_ix timeline_next(struct core *c, deployment_ix d, enum snapshot_state state,
                          struct str name)
{
    const snapshot_ix old_ix = deployment_at(c, d)->head;
    const snapshot_ix ix = snapshot_add(c);
    if (!ix.v)
        return ix;
    const struct snapshot *old = snapshot_at(c, old_ix);
    struct snapshot *s = snapshot_edit(c, ix);
    s->deployment = d;
    s->seq = old->seq + 1;
    s->order = old->order + 1;
    s->predecessor_id = old->o.id;
    put_text(c, &s->name, name.len ? name : text_of(c, old->name));
    put_text(c, &s->description, text_of(c, old->description));
    snapshot_set_state(c, old_ix, SNAPSHOT_ARCHIVED);
    snapshot_become_head(c, ix, state);
    return ix;
}

void timeline_destroy(struct core *c, deployment_ix d)
{
    snapshot_ix ix = deployment_at(c, d)->head;
    while (ix.v) {
        const int64_t before = snapshot_at(c, ix)->predecessor_id;
        struct snapshot *s = snapshot_edit(c, ix);
        put_text(c, &s->name, STR(""));
        put_text(c, &s->description, STR(""));
        put_text(c, &s->actor, STR(""));
        put_doc(c, &s->counts, STR(""));
        core_remove_row(c, TABLE_SNAPSHOT, ix.v);
        ix = snapshot_by_id(c, before);
    }
}

void do_snapshot_update(struct core *c, const struct snapshot_update_command *p)
{
    const snapshot_ix ix = snapshot_by_id(c, p->id);
    if (!ix.v) {
        refuse_missing(c, "id", "snapshot", p->id);
        return;
    }
    const char *wrong = p->given & GIVEN_NAME ? names_check_snapshot(p->name) : NULL;
    if (wrong) {
        refuse(c, PROBLEM_NAME_INVALID, STR("name"),
               STR_CONCAT(c->arena, STR("name "), str_from(wrong)));
        return;
    }
    c->out->id = p->id;
    const struct snapshot *now = snapshot_at(c, ix);
    if (p->given & GIVEN_NAME && !str_eq(text_of(c, now->name), p->name))
        put_text(c, &snapshot_edit(c, ix)->name, p->name);
    if (p->given & GIVEN_DESCRIPTION && !str_eq(text_of(c, now->description), p->description))
        put_text(c, &snapshot_edit(c, ix)->description, p->description);
}

/* ---- current number ---- */

void timeline_keep_head(struct core *c, deployment_ix d)
{
    deployment_derive(c, d)->opened = c->step_number;
}

/* Returns the seq under which a change of the members or data of `d` is recorded. If the head is
 * COMMITTED, the next number is opened, once per step. */
static int64_t timeline_seq_for_change(struct core *c, deployment_ix d)
{
    const snapshot_ix head = deployment_at(c, d)->head;
    const bool opened = deployment_at(c, d)->opened == c->step_number;
    if (!opened && snapshot_at(c, head)->state == SNAPSHOT_COMMITTED) {
        timeline_keep_head(c, d);
        if (deployment_at(c, d)->system)
            snapshot_edit(c, head)->seq++; /* the only head of system: its seq counts the changes */
        else
            timeline_next(c, d, SNAPSHOT_COMMITTED, STR(""));
    }
    return snapshot_at(c, deployment_at(c, d)->head)->seq;
}

/* ---- intervals ---- */

/* An interval that begins and ends under the same number is in no snapshot and is not stored. */
static void timeline_close_interval(struct core *c, struct archived interval)
{
    if (!interval.from_seq || interval.from_seq >= interval.to_seq)
        return;
    archive_note(c, interval);
}

static struct archived timeline_noderole_interval(const struct core *c, noderole_ix nr,
                                                  enum table table, int64_t to_seq)
{
    const struct noderole *row = noderole_at(c, nr);
    const bool data = table == TABLE_OLD_DATA;
    return (struct archived){.table = table,
                             .deployment_id = deployment_at(c, row->deployment)->o.id,
                             .noderole_id = data ? 0 : row->o.id,
                             .role_id = role_at(c, row->role)->o.id,
                             .node_id = node_at(c, row->node)->o.id,
                             .from_seq = data ? row->data_from : row->member_from,
                             .to_seq = to_seq,
                             .data = data ? row->committed_data : 0};
}

static struct archived timeline_role_interval(const struct core *c, deployment_role_ix dr,
                                              int64_t to_seq)
{
    const struct deployment_role *row = deployment_role_at(c, dr);
    return (struct archived){.table = TABLE_OLD_DATA,
                             .deployment_id = deployment_at(c, row->deployment)->o.id,
                             .role_id = role_at(c, row->role)->o.id,
                             .from_seq = row->data_from,
                             .to_seq = to_seq,
                             .data = row->committed_data};
}

void timeline_commit_noderole(struct core *c, noderole_ix nr, struct str new_data)
{
    const struct noderole *row = noderole_at(c, nr);
    const bool joins = row->member_from == 0;
    if (!joins && str_eq(doc_of(c, row->committed_data), new_data))
        return;
    const int64_t seq = timeline_seq_for_change(c, row->deployment);
    if (!joins)
        timeline_close_interval(c, timeline_noderole_interval(c, nr, TABLE_OLD_DATA, seq));
    struct noderole *now = noderole_edit(c, nr);
    if (joins)
        now->member_from = seq;
    now->data_from = seq;
    put_doc(c, &now->committed_data, new_data);
}

void timeline_commit_role(struct core *c, deployment_role_ix dr, struct str new_data)
{
    if (str_eq(doc_of(c, deployment_role_at(c, dr)->committed_data), new_data))
        return;
    const int64_t seq = timeline_seq_for_change(c, deployment_role_at(c, dr)->deployment);
    timeline_close_interval(c, timeline_role_interval(c, dr, seq));
    deployment_role_edit(c, dr)->data_from = seq;
}

void timeline_drop_noderole(struct core *c, noderole_ix nr)
{
    if (noderole_at(c, nr)->member_from == 0)
        return; /* never committed, so it is in no snapshot */
    const int64_t seq = timeline_seq_for_change(c, noderole_at(c, nr)->deployment);
    timeline_close_interval(c, timeline_noderole_interval(c, nr, TABLE_OLD_MEMBER, seq));
    timeline_close_interval(c, timeline_noderole_interval(c, nr, TABLE_OLD_DATA, seq));
}

void timeline_drop_role(struct core *c, deployment_role_ix dr)
{
    if (deployment_role_at(c, dr)->data_from == 0)
        return;
    const int64_t seq = timeline_seq_for_change(c, deployment_role_at(c, dr)->deployment);
    timeline_close_interval(c, timeline_role_interval(c, dr, seq));
}
