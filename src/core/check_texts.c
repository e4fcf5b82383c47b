#include "core/core_private.h"

/* Texts are shared and counted by their holders (blob.h). Here every holder is counted again: a
 * text held too often would never be freed, one held too little would vanish under its reader. */

struct holders {
    uint32_t *count;
    uint32_t high;
};

static void hold(struct holders *h, uint32_t handle)
{
    must(handle <= h->high);
    h->count[handle]++;
}

/* The handles of a row lie together, or are listed here; derived lists of names hold too. */
#define HOLD(row, field) hold(h, (row)->field)

static void hold_names(const struct core *c, struct holders *h, const struct vec *v, uint32_t from,
                       uint32_t stride)
{
    for (uint32_t i = from; i < v->count; i += stride)
        hold(h, vec_at(c, v, i));
}

static void hold_barclamp(const struct barclamp *r, struct holders *h)
{
    HOLD(r, name), HOLD(r, description), HOLD(r, version), HOLD(r, build_version);
    HOLD(r, source_url), HOLD(r, source_path), HOLD(r, commit), HOLD(r, build_on);
    HOLD(r, cfg_data);
}

static void hold_jig(const struct jig *r, struct holders *h)
{
    HOLD(r, name), HOLD(r, description), HOLD(r, class_name), HOLD(r, inactive_reason);
    HOLD(r, client_role_name), HOLD(r, server), HOLD(r, client_name), HOLD(r, key);
}

static void hold_role(const struct core *c, const struct role *r, struct holders *h)
{
    HOLD(r, name), HOLD(r, description), HOLD(r, class_name), HOLD(r, jig_name);
    HOLD(r, requires), HOLD(r, wants), HOLD(r, provides), HOLD(r, conflicts);
    HOLD(r, announces), HOLD(r, template_data), HOLD(r, notes);
    hold_names(c, h, &r->provided, 0, 1);
    hold_names(c, h, &r->conflicting, 0, 1);
    hold_names(c, h, &r->wanted, 1, 2);
}

static void hold_attrib(const struct attrib *r, struct holders *h)
{
    HOLD(r, name), HOLD(r, description), HOLD(r, map), HOLD(r, ui_renderer);
    HOLD(r, schema), HOLD(r, default_value);
}

static void hold_node(const struct node *r, struct holders *h)
{
    HOLD(r, name), HOLD(r, description), HOLD(r, bootenv);
    HOLD(r, quirks), HOLD(r, discovery), HOLD(r, hint), HOLD(r, notes);
}

static void hold_noderole(const struct noderole *r, struct holders *h)
{
    HOLD(r, status), HOLD(r, runlog), HOLD(r, proposed_data), HOLD(r, committed_data);
    HOLD(r, sysdata), HOLD(r, wall), HOLD(r, notes);
}

static void hold_hammer(const struct hammer *r, struct holders *h)
{
    HOLD(r, name), HOLD(r, endpoint), HOLD(r, username), HOLD(r, authenticator);
}

static void hold_user(const struct user *r, struct holders *h)
{
    HOLD(r, username), HOLD(r, email), HOLD(r, password_hash), HOLD(r, digest_ha1);
    HOLD(r, settings);
}

static void hold_deployment_role(const struct deployment_role *r, struct holders *h)
{
    HOLD(r, proposed_data), HOLD(r, committed_data), HOLD(r, wall), HOLD(r, notes);
}

static void hold_row(const struct core *c, enum table table, uint32_t ix, struct holders *h)
{
    const void *row = pool_at(&c->tables[table].pool, ix);
    switch (table) {
    case TABLE_BARCLAMP: hold_barclamp(row, h); return;
    case TABLE_JIG: hold_jig(row, h); return;
    case TABLE_ROLE: hold_role(c, row, h); return;
    case TABLE_ATTRIB: hold_attrib(row, h); return;
    case TABLE_NODE: hold_node(row, h); return;
    case TABLE_NODEROLE: hold_noderole(row, h); return;
    case TABLE_HAMMER: hold_hammer(row, h); return;
    case TABLE_USER: hold_user(row, h); return;
    case TABLE_DEPLOYMENT_ROLE: hold_deployment_role(row, h); return;
    case TABLE_HAMMER_KIND: {
        const struct hammer_kind *r = row;
        HOLD(r, name), HOLD(r, klass);
        return;
    }
    case TABLE_DEPLOYMENT: {
        const struct deployment *r = row;
        HOLD(r, name), HOLD(r, description);
        return;
    }
    case TABLE_SNAPSHOT: {
        const struct snapshot *r = row;
        HOLD(r, name), HOLD(r, description), HOLD(r, actor), HOLD(r, counts);
        return;
    }
    case TABLE_RUN: {
        const struct run *r = row;
        HOLD(r, job), HOLD(r, data);
        return;
    }
    case TABLE_GROUP: {
        const struct group *r = row;
        HOLD(r, name), HOLD(r, description), HOLD(r, category);
        return;
    }
    case TABLE_OUTBOX: {
        const struct outbox *r = row;
        HOLD(r, detail);
        return;
    }
    case TABLE_SETTINGS:
    case TABLE_COUNTER: return;
    case TABLE_EDGE:
    case TABLE_LINK:
    case TABLE_MEMBERSHIP:
    case TABLE_OLD_MEMBER:
    case TABLE_OLD_DATA:
    case TABLE_COUNT: break;
    }
    impossible("a table without rows of its own");
}

const char *check_texts(const struct core *c, struct arena *a)
{
    const uint32_t high = c->blobs.rows.high;
    struct holders h = {arena_array(a, uint32_t, high + 1), high};
    for (uint32_t t = 0; t < TABLE_OBJECTS; t++)
        for (uint32_t ix = pool_next(&c->tables[t].pool, 0); ix;
             ix = pool_next(&c->tables[t].pool, ix))
            hold_row(c, (enum table)t, ix, &h);
    const struct archived *archives = c->archives.items;
    for (uint32_t i = 0; i < c->archives.count; i++)
        hold(&h, archives[i].data);
    for (uint32_t ix = pool_next(&c->blobs.rows, 0); ix; ix = pool_next(&c->blobs.rows, ix))
        if (blob_holders(&c->blobs, ix) != h.count[ix])
            return "I9: a text is not held by as many as it counts";
    return NULL;
}
