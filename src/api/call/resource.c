#include "api/call/resource.h"

/* Lookup of the object that a path segment names. It has no state and reads the core of the call.
 * On failure a problem is added to the call, unless it has one already. */

bool resource_find(struct call *call, const struct resource *resource, struct str key,
                   struct record *out_record)
{
    const struct object_view *view = resource->view;
    int64_t id = 0;
    if (str_is_digits(key))
        id = str_parse_i64(key, &id) ? id : 0;
    else if (resource->find)
        id = resource->find(call, key);
    else
        id = core_find(call->core, view->table, key);
    if (id && core_record(call->core, view->table, id, out_record))
        return true;
    if (call->problems) /* the name is ambiguous, and a problem was added */
        return false;
    call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                STR_CONCAT(call->arena, STR("there is no "), str_from(view->type),
                           str_is_digits(key) ? STR(" with id ") : STR(" called "), key));
    return false;
}

void resource_refuse_reserved(struct call *call, struct str name)
{
    if (str_eq(name, STR("sample")) || str_eq(name, STR("match")))
        call_refuse(call, PROBLEM_NAME_INVALID, STR("name"),
                    STR_CONCAT(call->arena, STR("name: "), name, STR(" is a reserved word")));
}
