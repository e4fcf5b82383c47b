#include "api/rest/json_object_writer.h"

#include "api/call/iso8601.h"

/* Writer of JSON objects, and the names of objects for it. It has no state beyond struct
 * object_writer and cannot fail. Members are written in the order of the calls. */

struct object_writer object_writer_open(struct buf *b, const struct json *wanted)
{
    buf_put_c(b, '{');
    return (struct object_writer){b, wanted, true};
}

void object_writer_close(struct object_writer *m)
{
    buf_put_c(m->b, '}');
}

bool object_put_key(struct object_writer *m, const char *key)
{
    if (!object_view_wants(m->wanted, key))
        return false;
    buf_put_z(m->b, m->is_first ? "\"" : ",\"");
    buf_put_z(m->b, key);
    buf_put_z(m->b, "\":");
    m->is_first = false;
    return true;
}

void object_put_number(struct object_writer *m, const char *key, int64_t value)
{
    if (object_put_key(m, key))
        buf_put_i64(m->b, value);
}

void object_put_json(struct object_writer *m, const char *key, struct str json)
{
    if (object_put_key(m, key))
        buf_put_str(m->b, json);
}

void object_put_count(struct object_writer *m, const char *key, int64_t value)
{
    if (value)
        object_put_number(m, key, value);
    else
        object_put_json(m, key, STR("null"));
}

void object_put_text(struct object_writer *m, const char *key, struct str text)
{
    if (object_put_key(m, key))
        json_write_string(m->b, text);
}

void object_put_optional(struct object_writer *m, const char *key, struct str text)
{
    if (text.len)
        object_put_text(m, key, text);
    else
        object_put_json(m, key, STR("null"));
}

void object_put_bool(struct object_writer *m, const char *key, bool value)
{
    object_put_json(m, key, value ? STR("true") : STR("false"));
}

void object_put_time(struct object_writer *m, const char *key, int64_t ms)
{
    if (ms == 0) {
        object_put_json(m, key, STR("null"));
    } else if (object_put_key(m, key)) {
        buf_put_c(m->b, '"');
        iso8601_format(m->b, ms);
        buf_put_c(m->b, '"');
    }
}

/* ---- names of objects ---- */

static struct str object_noderole_name(const struct core *core, const struct noderole_record *nr,
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
    if (table == TABLE_DNS_NAME_FILTER)
        return record.dns_name_filter.name;
    return table == TABLE_NODEROLE ? object_noderole_name(core, &record.noderole, a) : STR("");
}

const char *object_noun(enum table table)
{
    if (table == TABLE_NODEROLE)
        return "node_role";
    return table == TABLE_HAMMER_KIND ? "available_hammer" : table_name(table);
}
