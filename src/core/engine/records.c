#include "core/core_private.h"

#include "core/engine/row_maps.h"

/* Conversion of rows into records. A record has every durable field of a row and no derived one;
 * load.c converts in the other direction. The strings of a record point into the string table of
 * the core and are valid until the next step. Handle 0 becomes the empty string, also for a
 * document: an absent document takes no bytes in the store. */

static int64_t record_id_of(const struct core *c, enum table table, uint32_t ix)
{
    return ix ? ((const struct object *)pool_at(&c->tables[table].pool, ix))->id : 0;
}

#define TABLE_of_barclamp           TABLE_BARCLAMP
#define TABLE_of_role               TABLE_ROLE
#define TABLE_of_deployment         TABLE_DEPLOYMENT
#define TABLE_of_node               TABLE_NODE
#define TABLE_of_noderole           TABLE_NODEROLE
#define TABLE_of_hammer_kind        TABLE_HAMMER_KIND
#define TABLE_of_user               TABLE_USER
#define TABLE_of_network            TABLE_NETWORK
#define TABLE_of_network_range      TABLE_NETWORK_RANGE
#define TABLE_of_network_allocation TABLE_NETWORK_ALLOCATION
#define TABLE_of_dns_name_filter    TABLE_DNS_NAME_FILTER

#define OUT_TEXT(field)            r->field = text_of(c, row->field);
#define OUT_SAME(field)            r->field = row->field;
#define OUT_REF(field, noun, into) r->into = record_id_of(c, TABLE_of_##noun, row->field.v);

#define X(upper, lower)                                                                            \
    static void lower##_out(const struct core *c, const struct lower *row,                         \
                            struct lower##_record *r)                                              \
    {                                                                                              \
        must(c);                                                                                   \
        upper##_MAP(OUT_TEXT, OUT_SAME, OUT_REF)                                                   \
    }
OBJECTS(X)
#undef X

/* Fields that do not map one to one. */
static void out_by_hand(const struct core *c, enum table table, const void *row, struct record *out)
{
    if (table == TABLE_SETTINGS) {
        const struct settings *settings = row;
        out->settings.pool_normal = settings->pool_size[QUEUE_NORMAL];
        out->settings.pool_high = settings->pool_size[QUEUE_HIGH];
    } else if (table == TABLE_BARCLAMP) {
        const struct barclamp *b = row;
        out->barclamp.parent_id = record_id_of(c, TABLE_BARCLAMP, b->parent.v);
    } else if (table == TABLE_DEPLOYMENT) {
        const struct deployment *d = row;
        out->deployment.head_id = record_id_of(c, TABLE_SNAPSHOT, d->head.v);
        out->deployment.phantom_id = record_id_of(c, TABLE_NODE, d->phantom.v);
    } else if (table == TABLE_NODEROLE) {
        out->noderole.state = ((const struct noderole *)row)->state;
    }
}

void record_of_row(const struct core *c, enum table table, uint32_t ix, struct record *out)
{
    const struct object *o = pool_at(&c->tables[table].pool, ix);
    memset(out, 0, offsetof(struct record, id) + record_layout(table)->size);
    out->table = table;
    /* Every object record begins with these four fields (OBJECT_FIELDS). */
    out->settings.id = o->id;
    out->settings.created_at = o->created_at;
    out->settings.updated_at = o->updated_at;
    out->settings.turn = o->turn;
    out_by_hand(c, table, o, out);
    switch (table) {
#define X(upper, lower)                                                                            \
    case TABLE_##upper: lower##_out(c, (const void *)o, &out->lower); return;
        OBJECTS(X)
#undef X
    case TABLE_EDGE:
    case TABLE_LINK:
    case TABLE_MEMBERSHIP:
    case TABLE_OLD_MEMBER:
    case TABLE_OLD_DATA:
    case TABLE_EVENT:
    case TABLE_OLD_RUN:
    case TABLE_COUNT: break;
    }
    impossible("a table without rows of its own");
}
