#include "api/rest/json_object_writer.h"

#include "api/call/iso8601.h"

struct members members_open(struct buf *b, const struct json *wanted)
{
    buf_put_c(b, '{');
    return (struct members){b, wanted, true};
}

void members_close(struct members *m)
{
    buf_put_c(m->b, '}');
}

bool member_key(struct members *m, const char *key)
{
    if (!shape_wants(m->wanted, key))
        return false;
    buf_put_z(m->b, m->is_first ? "\"" : ",\"");
    buf_put_z(m->b, key);
    buf_put_z(m->b, "\":");
    m->is_first = false;
    return true;
}

void member_number(struct members *m, const char *key, int64_t value)
{
    if (member_key(m, key))
        buf_put_i64(m->b, value);
}

void member_json(struct members *m, const char *key, struct str json)
{
    if (member_key(m, key))
        buf_put_str(m->b, json);
}

void member_text(struct members *m, const char *key, struct str text)
{
    if (member_key(m, key))
        json_write_string(m->b, text);
}

void member_optional(struct members *m, const char *key, struct str text)
{
    if (text.len)
        member_text(m, key, text);
    else
        member_json(m, key, STR("null"));
}

void member_bool(struct members *m, const char *key, bool value)
{
    member_json(m, key, value ? STR("true") : STR("false"));
}

void member_time(struct members *m, const char *key, int64_t ms)
{
    if (ms == 0) {
        member_json(m, key, STR("null"));
    } else if (member_key(m, key)) {
        buf_put_c(m->b, '"');
        times_format(m->b, ms);
        buf_put_c(m->b, '"');
    }
}

/* ---- what things are called ---- */

static struct str noderole_name(const struct core *core, const struct noderole_record *nr,
                                struct arena *a)
{
    struct buf b = buf_in(a);
    buf_put_str(&b, object_name(core, TABLE_DEPLOYMENT, nr->deployment_id, a));
    buf_put_z(&b, ": ");
    buf_put_str(&b, object_name(core, TABLE_NODE, nr->node_id, a));
    buf_put_z(&b, ": ");
    buf_put_str(&b, object_name(core, TABLE_ROLE, nr->role_id, a));
    return buf_str(&b);
}

struct str object_name(const struct core *core, enum table table, int64_t id, struct arena *a)
{
    struct record record;
    if (table >= TABLE_OBJECTS || !core_record(core, table, id, &record))
        return STR("");
    if (table == TABLE_NODE)
        return record.node.name;
    if (table == TABLE_ROLE)
        return record.role.name;
    if (table == TABLE_DEPLOYMENT)
        return record.deployment.name;
    if (table == TABLE_ATTRIB)
        return record.attrib.name;
    return table == TABLE_NODEROLE ? noderole_name(core, &record.noderole, a) : STR("");
}

const char *object_noun(enum table table)
{
    if (table == TABLE_NODEROLE)
        return "node_role";
    return table == TABLE_HAMMER_KIND ? "available_hammer" : table_name(table);
}
