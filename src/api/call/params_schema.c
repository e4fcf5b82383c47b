#include "api/call/params_schema.h"

#include "api/call/query.h"
#include "api/call/route.h"

/* Fills commands from parameters by the table of a schema. The file has no state. Each rule reads
 * one parameter with a getter of params.c into its offset in the command and sets its bit in the
 * mask of present fields. The kind of a rule must fit the type of the field; nothing checks it.
 *
 * Order: all rules are read, then the mask is stored, then schema->check() is called, because it
 * reads the filled command and may change it.
 *
 * Failure: a wrong value becomes a problem of the call, and the other rules are read all the same,
 * so that one reply has all problems. The command is incomplete then and must not be submitted
 * (object_submit() in objects.c tests that). Unknown parameters are ignored, except with strict
 * handling. */

static bool schema_read_uint32(struct call *call, const char *name, uint32_t *out)
{
    int64_t number;
    if (!param_number(call, name, 0, UINT32_MAX, &number))
        return false;
    *out = (uint32_t)number;
    return true;
}

static bool schema_read_word(struct call *call, const struct param_rule *rule, uint32_t *out)
{
    const struct str name = str_from(rule->name);
    struct str text;
    if (!param_text(call, rule->name, &text))
        return false;
    struct buf choices = buf_in(call->arena);
    for (uint32_t i = 0; rule->words[i]; i++) {
        if (str_eq(text, str_from(rule->words[i]))) {
            *out = i;
            return true;
        }
        buf_put_z(&choices, i ? ", " : "");
        buf_put_z(&choices, rule->words[i]);
    }
    call_refuse(call, PROBLEM_BAD_VALUE, name,
                STR_CONCAT(call->arena, name, STR(" must be one of: "), buf_str(&choices)));
    return false;
}

/* Null and the empty string count as absent. */
static bool schema_read_access(struct call *call, const char *name, uint32_t *out)
{
    struct str word;
    if (!param_text(call, name, &word) || word.len == 0)
        return false;
    *out = access_find(word);
    if (*out == ACCESS_NONE)
        call_refuse(
            call, PROBLEM_BAD_VALUE, str_from(name),
            STR_CONCAT(call->arena, str_from(name), STR(" must be viewer, operator or admin")));
    return *out != ACCESS_NONE;
}

/* In a command with a mask of present fields null is a value; in others it counts as absent. */
static bool schema_read_ref(struct call *call, const struct param_rule *rule, bool has_mask,
                            int64_t *out)
{
    const struct param_ref ref = {rule->name, rule->id_key, rule->to, rule->can_be_null};
    if (rule->is_required)
        return param_ref_required(call, &ref, out);
    if (has_mask)
        return param_ref(call, &ref, out);
    param_ref_unless_null(call, &ref, out);
    return *out != 0;
}

static bool schema_read_param(struct call *call, const struct param_rule *rule, bool has_mask,
                              void *at)
{
    if (rule->kind == PARAM_REF)
        return schema_read_ref(call, rule, has_mask, at);
    if (rule->is_required && !param_required(call, rule->name))
        return false;
    switch (rule->kind) {
    case PARAM_TEXT: return param_text(call, rule->name, at);
    case PARAM_BOOL: return param_bool(call, rule->name, at);
    case PARAM_DOC: return param_doc(call, rule->name, at);
    case PARAM_VALUE: return param_value(call, rule->name, at);
    case PARAM_UINT32: return schema_read_uint32(call, rule->name, at);
    case PARAM_INT64: return param_number(call, rule->name, 0, INT64_MAX, at);
    case PARAM_SIGNED: return param_number(call, rule->name, INT64_MIN, INT64_MAX, at);
    case PARAM_TIME: return param_time(call, rule->name, at);
    case PARAM_WORD: return schema_read_word(call, rule, at);
    case PARAM_ACCESS: return schema_read_access(call, rule->name, at);
    case PARAM_REF: break;
    }
    impossible("a kind of parameter outside the enum");
}

/* ---- unknown fields ---- */

static bool schema_accepts(const struct params_schema *schema, struct str key)
{
    for (uint32_t i = 0; i < schema->count; i++) {
        const struct param_rule *rule = &schema->rules[i];
        if (str_eq(key, str_from(rule->name)) ||
            (rule->kind == PARAM_REF && str_eq(key, str_from(rule->id_key))))
            return true;
    }
    return false;
}

/* A client may send back an object as it was returned: fields that are shown but cannot be set are
 * ignored. */
static bool schema_shows(const struct call *call, struct str key)
{
    const struct resource *resource = call->route->resource;
    return resource && query_field(resource->view, key);
}

/* Old clients send fields that were always ignored, so unknown fields are refused only with strict
 * handling (RFC 7240). Parameters of the query string are exempt, because they may belong to the
 * route. */
static void schema_refuse_unknown(struct call *call, const struct params_schema *schema)
{
    struct str ignored;
    if (!params_are_strict(call))
        return;
    const struct json *first = call->params ? call->params->first : NULL;
    for (const struct json *member = first; member; member = member->next)
        if (!schema_accepts(schema, member->key) && !schema_shows(call, member->key) &&
            !http_query(call->request, member->key, &ignored))
            call_refuse(call, PROBLEM_BAD_VALUE, member->key,
                        STR_CONCAT(call->arena, STR("unknown field \""), member->key,
                                   STR("\", or one that cannot be set")));
}

/* ---- commands ---- */

/* Is the parameter null, and does the rule accept that as a value of its own? */
static bool schema_is_null(const struct call *call, const struct param_rule *rule)
{
    const struct json *value = rule->null_bit ? json_get(call->params, str_from(rule->name)) : NULL;
    return value && value->kind == JSON_NULL;
}

void params_schema_read(struct call *call, const struct params_schema *schema, int64_t id,
                        struct command *out_command)
{
    uint32_t given = 0, nulls = 0;
    out_command->kind = schema->kind;
    if (id) {
        const struct field *first = command_layout(schema->kind)->fields;
        must(first->kind == FIELD_I64 && first->offset == 0);
        *(int64_t *)command_payload(out_command) = id;
    }
    for (uint32_t i = 0; i < schema->count; i++) {
        const struct param_rule *rule = &schema->rules[i];
        if (schema_is_null(call, rule))
            nulls |= rule->null_bit;
        else if (!rule->read_by_handler && schema_read_param(call, rule, schema->given_at != 0,
                                                             (char *)out_command + rule->at))
            given |= rule->given;
    }
    if (nulls) {
        given |= schema->nulls_given;
        *(uint32_t *)(void *)((char *)out_command + schema->nulls_at) = nulls;
    }
    if (schema->given_at)
        *(uint32_t *)(void *)((char *)out_command + schema->given_at) = given;
    if (schema->check)
        schema->check(call, out_command);
    schema_refuse_unknown(call, schema);
}

bool params_schema_changes(const struct params_schema *schema, struct str key)
{
    for (uint32_t i = 0; i < schema->count; i++) {
        const struct param_rule *rule = &schema->rules[i];
        if (!rule->read_by_handler &&
            str_eq(key, str_from(rule->kind == PARAM_REF ? rule->id_key : rule->name)))
            return true;
    }
    return false;
}
