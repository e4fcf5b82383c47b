#include "api/call/params_schema.h"

#include "api/call/query.h"
#include "api/call/route.h"

static bool take_small(struct call *call, const char *name, uint32_t *out)
{
    int64_t number;
    if (!param_number(call, name, 0, UINT32_MAX, &number))
        return false;
    *out = (uint32_t)number;
    return true;
}

static bool take_word(struct call *call, const struct param_rule *take, uint32_t *out)
{
    const struct str name = str_from(take->name);
    struct str text;
    if (!param_text(call, take->name, &text))
        return false;
    struct buf choices = buf_in(call->arena);
    for (uint32_t i = 0; take->words[i]; i++) {
        if (str_eq(text, str_from(take->words[i]))) {
            *out = i;
            return true;
        }
        buf_put_z(&choices, i ? ", " : "");
        buf_put_z(&choices, take->words[i]);
    }
    call_refuse(call, PROBLEM_BAD_VALUE, name,
                STR_CONCAT(call->arena, name, STR(" must be one of: "), buf_str(&choices)));
    return false;
}

/* Null, or nothing in it: as if it were not given. */
static bool take_access(struct call *call, const char *name, uint32_t *out)
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

/* Where a mask says what is given, null has a meaning; elsewhere it is the same as nothing. */
static bool take_ref(struct call *call, const struct param_rule *take, bool has_mask, int64_t *out)
{
    const struct param_ref ref = {take->name, take->id_key, take->to, take->can_be_null};
    if (take->is_required)
        return param_ref_required(call, &ref, out);
    if (has_mask)
        return param_ref(call, &ref, out);
    param_ref_unless_null(call, &ref, out);
    return *out != 0;
}

static bool take_one(struct call *call, const struct param_rule *take, bool has_mask, void *at)
{
    if (take->kind == TAKE_REF)
        return take_ref(call, take, has_mask, at);
    if (take->is_required && !param_required(call, take->name))
        return false;
    switch (take->kind) {
    case TAKE_TEXT: return param_text(call, take->name, at);
    case TAKE_BOOL: return param_bool(call, take->name, at);
    case TAKE_DOC: return param_doc(call, take->name, at);
    case TAKE_VALUE: return param_value(call, take->name, at);
    case TAKE_SMALL: return take_small(call, take->name, at);
    case TAKE_INT: return param_number(call, take->name, 0, INT64_MAX, at);
    case TAKE_TIME: return param_time(call, take->name, at);
    case TAKE_WORD: return take_word(call, take, at);
    case TAKE_ACCESS: return take_access(call, take->name, at);
    case TAKE_REF: break;
    }
    impossible("a kind of parameter outside the enum");
}

/* ---- what means nothing ---- */

static bool is_taken(const struct params_schema *intake, struct str key)
{
    for (uint32_t i = 0; i < intake->count; i++) {
        const struct param_rule *take = &intake->takes[i];
        if (str_eq(key, str_from(take->name)) ||
            (take->kind == TAKE_REF && str_eq(key, str_from(take->id_key))))
            return true;
    }
    return false;
}

/* Whoever sends an object back as it was shown means only what can be changed. */
static bool is_shown(const struct call *call, struct str key)
{
    const struct resource *resource = call->route->resource;
    return resource && query_field(resource->shape, key);
}

/* Clients of old send what was never looked at. Those who prefer to hear of it say so (RFC 7240);
 * what stands in the address is not theirs alone. */
static void refuse_others(struct call *call, const struct params_schema *intake)
{
    struct str ignored;
    if (!params_are_strict(call))
        return;
    const struct json *first = call->params ? call->params->first : NULL;
    for (const struct json *member = first; member; member = member->next)
        if (!is_taken(intake, member->key) && !is_shown(call, member->key) &&
            !http_query(call->request, member->key, &ignored))
            call_refuse(
                call, PROBLEM_BAD_VALUE, member->key,
                STR_CONCAT(call->arena, STR("there is no field "), member->key, STR(" to be set")));
}

/* ---- reading ---- */

void params_schema_read(struct call *call, const struct params_schema *intake, int64_t id,
                        struct command *out_command)
{
    uint32_t given = 0;
    out_command->kind = intake->kind;
    if (id) {
        const struct field *first = command_layout(intake->kind)->fields;
        must(first->kind == FIELD_I64 && first->offset == 0);
        *(int64_t *)command_payload(out_command) = id;
    }
    for (uint32_t i = 0; i < intake->count; i++) {
        const struct param_rule *take = &intake->takes[i];
        if (!take->is_aside &&
            take_one(call, take, intake->given_at != 0, (char *)out_command + take->at))
            given |= take->given;
    }
    if (intake->given_at)
        *(uint32_t *)(void *)((char *)out_command + intake->given_at) = given;
    if (intake->check)
        intake->check(call, out_command);
    refuse_others(call, intake);
}

bool params_schema_changes(const struct params_schema *intake, struct str key)
{
    for (uint32_t i = 0; i < intake->count; i++) {
        const struct param_rule *take = &intake->takes[i];
        if (!take->is_aside &&
            str_eq(key, str_from(take->kind == TAKE_REF ? take->id_key : take->name)))
            return true;
    }
    return false;
}
