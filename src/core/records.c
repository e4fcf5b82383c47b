#include "core/core_private.h"

/* Rows as records. A record holds every durable fact of a row and nothing derived; load.c is the
 * way back. */

static int64_t id_of(const struct core *c, enum table table, uint32_t ix)
{
    return ix ? ((const struct object *)pool_at(&c->tables[table].pool, ix))->id : 0;
}

/* Documents keep their handle 0 as the empty text, so that an absent one costs no byte. */
#define TEXT(r, row, field) (r)->field = text_of(c, (row)->field)
#define SAME(r, row, field) (r)->field = (row)->field

static void settings_record(const struct core *c, uint32_t ix, struct settings_record *r)
{
    const struct settings *row = settings_at(c, (settings_ix){ix});
    r->pool_normal = row->pool_size[QUEUE_NORMAL];
    r->pool_high = row->pool_size[QUEUE_HIGH];
    SAME(r, row, max_depth);
    SAME(r, row, test_jig);
}

static void counter_record(const struct core *c, uint32_t ix, struct counter_record *r)
{
    r->last = counter_at(c, (counter_ix){ix})->last;
}

static void barclamp_record(const struct core *c, uint32_t ix, struct barclamp_record *r)
{
    const struct barclamp *row = barclamp_at(c, (barclamp_ix){ix});
    TEXT(r, row, name);
    TEXT(r, row, description);
    r->parent_id = id_of(c, TABLE_BARCLAMP, row->parent.v);
    TEXT(r, row, version);
    TEXT(r, row, build_version);
    TEXT(r, row, source_url);
    TEXT(r, row, source_path);
    TEXT(r, row, commit);
    TEXT(r, row, build_on);
    TEXT(r, row, cfg_data);
}

static void jig_record(const struct core *c, uint32_t ix, struct jig_record *r)
{
    const struct jig *row = jig_at(c, (jig_ix){ix});
    TEXT(r, row, name);
    TEXT(r, row, description);
    TEXT(r, row, class_name);
    SAME(r, row, order);
    SAME(r, row, active);
    TEXT(r, row, inactive_reason);
    TEXT(r, row, client_role_name);
    TEXT(r, row, server);
    TEXT(r, row, client_name);
    TEXT(r, row, key);
}

static void hammer_kind_record(const struct core *c, uint32_t ix, struct hammer_kind_record *r)
{
    const struct hammer_kind *row = hammer_kind_at(c, (hammer_kind_ix){ix});
    TEXT(r, row, name);
    TEXT(r, row, klass);
    SAME(r, row, priority);
}

static void role_record(const struct core *c, uint32_t ix, struct role_record *r)
{
    const struct role *row = role_at(c, (role_ix){ix});
    TEXT(r, row, name);
    TEXT(r, row, description);
    TEXT(r, row, class_name);
    TEXT(r, row, jig_name);
    r->barclamp_id = id_of(c, TABLE_BARCLAMP, row->barclamp.v);
    SAME(r, row, flags);
    SAME(r, row, hooks);
    SAME(r, row, cohort);
    TEXT(r, row, requires);
    TEXT(r, row, wants);
    TEXT(r, row, provides);
    TEXT(r, row, conflicts);
    TEXT(r, row, announces);
    r->template = text_of(c, row->template_data);
    TEXT(r, row, notes);
}

static void attrib_record(const struct core *c, uint32_t ix, struct attrib_record *r)
{
    const struct attrib *row = attrib_at(c, (attrib_ix){ix});
    TEXT(r, row, name);
    TEXT(r, row, description);
    r->barclamp_id = id_of(c, TABLE_BARCLAMP, row->barclamp.v);
    r->role_id = id_of(c, TABLE_ROLE, row->role.v);
    SAME(r, row, writable);
    SAME(r, row, order);
    TEXT(r, row, map);
    TEXT(r, row, ui_renderer);
    TEXT(r, row, schema);
    TEXT(r, row, default_value);
}

static void deployment_record(const struct core *c, uint32_t ix, struct deployment_record *r)
{
    const struct deployment *row = deployment_at(c, (deployment_ix){ix});
    TEXT(r, row, name);
    TEXT(r, row, description);
    r->parent_id = id_of(c, TABLE_DEPLOYMENT, row->parent.v);
    SAME(r, row, system);
    r->head_id = id_of(c, TABLE_SNAPSHOT, row->head.v);
    r->phantom_id = id_of(c, TABLE_NODE, row->phantom.v);
}

static void snapshot_record(const struct core *c, uint32_t ix, struct snapshot_record *r)
{
    const struct snapshot *row = snapshot_at(c, (snapshot_ix){ix});
    r->deployment_id = id_of(c, TABLE_DEPLOYMENT, row->deployment.v);
    SAME(r, row, seq);
    TEXT(r, row, name);
    TEXT(r, row, description);
    SAME(r, row, order);
    SAME(r, row, predecessor_id);
    SAME(r, row, state);
    SAME(r, row, since);
    SAME(r, row, committed_at);
    SAME(r, row, archived_at);
    TEXT(r, row, actor);
    TEXT(r, row, counts);
}

static void deployment_role_record(const struct core *c, uint32_t ix,
                                   struct deployment_role_record *r)
{
    const struct deployment_role *row = deployment_role_at(c, (deployment_role_ix){ix});
    r->deployment_id = id_of(c, TABLE_DEPLOYMENT, row->deployment.v);
    r->role_id = id_of(c, TABLE_ROLE, row->role.v);
    SAME(r, row, proposed);
    TEXT(r, row, proposed_data);
    TEXT(r, row, committed_data);
    TEXT(r, row, wall);
    TEXT(r, row, notes);
    SAME(r, row, data_from);
}

static void node_record(const struct core *c, uint32_t ix, struct node_record *r)
{
    const struct node *row = node_at(c, (node_ix){ix});
    TEXT(r, row, name);
    TEXT(r, row, description);
    SAME(r, row, admin);
    SAME(r, row, system);
    r->deployment_id = id_of(c, TABLE_DEPLOYMENT, row->deployment.v);
    r->target_role_id = id_of(c, TABLE_ROLE, row->target.v);
    SAME(r, row, allocated);
    SAME(r, row, alive);
    SAME(r, row, available);
    SAME(r, row, stopped);
    SAME(r, row, alive_since);
    SAME(r, row, available_since);
    TEXT(r, row, bootenv);
    SAME(r, row, order);
    TEXT(r, row, quirks);
    TEXT(r, row, discovery);
    TEXT(r, row, hint);
    TEXT(r, row, notes);
}

static void noderole_record(const struct core *c, uint32_t ix, struct noderole_record *r)
{
    const struct noderole *row = noderole_at(c, (noderole_ix){ix});
    r->deployment_id = id_of(c, TABLE_DEPLOYMENT, row->deployment.v);
    r->role_id = id_of(c, TABLE_ROLE, row->role.v);
    r->node_id = id_of(c, TABLE_NODE, row->node.v);
    SAME(r, row, state);
    SAME(r, row, since);
    SAME(r, row, cohort);
    SAME(r, row, run_count);
    SAME(r, row, attempt);
    SAME(r, row, order);
    SAME(r, row, unavailable);
    SAME(r, row, rerun);
    SAME(r, row, removing);
    SAME(r, row, hook_failed);
    SAME(r, row, member_from);
    SAME(r, row, data_from);
    TEXT(r, row, status);
    TEXT(r, row, runlog);
    TEXT(r, row, proposed_data);
    TEXT(r, row, committed_data);
    TEXT(r, row, sysdata);
    TEXT(r, row, wall);
    TEXT(r, row, notes);
}

static void run_record(const struct core *c, uint32_t ix, struct run_record *r)
{
    const struct run *row = run_at(c, (run_ix){ix});
    SAME(r, row, node_id);
    SAME(r, row, noderole_id);
    SAME(r, row, state);
    SAME(r, row, queue);
    SAME(r, row, attempt);
    SAME(r, row, frozen);
    SAME(r, row, begun);
    SAME(r, row, committed);
    SAME(r, row, started_at);
    SAME(r, row, park_left_ms);
    TEXT(r, row, job);
    TEXT(r, row, data);
}

static void hammer_record(const struct core *c, uint32_t ix, struct hammer_record *r)
{
    const struct hammer *row = hammer_at(c, (hammer_ix){ix});
    r->node_id = id_of(c, TABLE_NODE, row->node.v);
    r->hammer_kind_id = id_of(c, TABLE_HAMMER_KIND, row->kind.v);
    SAME(r, row, priority);
    TEXT(r, row, name);
    TEXT(r, row, endpoint);
    TEXT(r, row, username);
    TEXT(r, row, authenticator);
}

static void group_record(const struct core *c, uint32_t ix, struct group_record *r)
{
    const struct group *row = group_at(c, (group_ix){ix});
    TEXT(r, row, name);
    TEXT(r, row, description);
    TEXT(r, row, category);
    SAME(r, row, order);
}

static void user_record(const struct core *c, uint32_t ix, struct user_record *r)
{
    const struct user *row = user_at(c, (user_ix){ix});
    TEXT(r, row, username);
    TEXT(r, row, email);
    SAME(r, row, is_admin);
    SAME(r, row, is_locked);
    TEXT(r, row, password_hash);
    TEXT(r, row, digest_ha1);
    TEXT(r, row, settings);
}

static void outbox_record(const struct core *c, uint32_t ix, struct outbox_record *r)
{
    const struct outbox *row = outbox_at(c, (outbox_ix){ix});
    SAME(r, row, kind);
    SAME(r, row, hook);
    SAME(r, row, role_id);
    SAME(r, row, object);
    SAME(r, row, object_id);
    SAME(r, row, depth);
    TEXT(r, row, detail);
}

void record_of_row(const struct core *c, enum table table, uint32_t ix, struct record *out)
{
    const struct object *o = pool_at(&c->tables[table].pool, ix);
    memset(out, 0, offsetof(struct record, id) + record_layout(table)->size);
    out->table = table;
    /* Every object record begins with these four (OBJECT_FIELDS). */
    out->settings.id = o->id;
    out->settings.created_at = o->created_at;
    out->settings.updated_at = o->updated_at;
    out->settings.turn = o->turn;
    switch (table) {
    case TABLE_SETTINGS: settings_record(c, ix, &out->settings); return;
    case TABLE_COUNTER: counter_record(c, ix, &out->counter); return;
    case TABLE_BARCLAMP: barclamp_record(c, ix, &out->barclamp); return;
    case TABLE_JIG: jig_record(c, ix, &out->jig); return;
    case TABLE_HAMMER_KIND: hammer_kind_record(c, ix, &out->hammer_kind); return;
    case TABLE_ROLE: role_record(c, ix, &out->role); return;
    case TABLE_ATTRIB: attrib_record(c, ix, &out->attrib); return;
    case TABLE_DEPLOYMENT: deployment_record(c, ix, &out->deployment); return;
    case TABLE_SNAPSHOT: snapshot_record(c, ix, &out->snapshot); return;
    case TABLE_DEPLOYMENT_ROLE: deployment_role_record(c, ix, &out->deployment_role); return;
    case TABLE_NODE: node_record(c, ix, &out->node); return;
    case TABLE_NODEROLE: noderole_record(c, ix, &out->noderole); return;
    case TABLE_RUN: run_record(c, ix, &out->run); return;
    case TABLE_HAMMER: hammer_record(c, ix, &out->hammer); return;
    case TABLE_GROUP: group_record(c, ix, &out->group); return;
    case TABLE_USER: user_record(c, ix, &out->user); return;
    case TABLE_OUTBOX: outbox_record(c, ix, &out->outbox); return;
    case TABLE_EDGE:
    case TABLE_LINK:
    case TABLE_MEMBERSHIP:
    case TABLE_OLD_MEMBER:
    case TABLE_OLD_DATA:
    case TABLE_COUNT: break;
    }
    impossible("a table without rows of its own");
}
