#include "api/rest/bulk.h"

#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/call/route.h"
#include "api/rest/objects.h"
#include "model/limits.h"

/* Bulk creation. The handler has no state. Every element is read before anything is submitted, so
 * that all problems are reported in one reply; the batch command is executed as a whole or not at
 * all, so after a failure no object was created. The outcome of the batch has the document
 * [ID, ...] with the ids of the created objects, in the order of the elements. */

/* ---- commands ---- */

/* Appends the command of one element. After the first problem nothing is appended any more, because
 * nothing will be submitted, but elements are still read for their problems. */
static void bulk_read_element(struct call *call, struct json *item, uint32_t place,
                              struct buf *commands)
{
    struct problem *before = call->last_problem;
    struct command command = {0};
    call->params = item;
    params_schema_read(call, call->route->resource->create, 0, &command);
    /* Prefix the fields of the new problems with the index of the element. */
    for (struct problem *p = before ? before->next : call->problems; p; p = p->next) {
        struct buf b = buf_in(call->arena);
        buf_put_u64(&b, place);
        buf_put_z(&b, p->field.len ? "." : "");
        buf_put_str(&b, p->field);
        p->field = buf_str(&b);
    }
    if (!call->problems)
        command_encode(&command, commands);
}

/* ---- reply ---- */

static void bulk_reply(struct call *call, int64_t id)
{
    const struct object_view *view = call->resource->view;
    struct json *ids;
    uint32_t offset;
    const char *what;
    struct record record;
    (void)id;
    must(json_read(call->arena, call->doc, &ids, &offset, &what) == OK);
    struct buf b = buf_in(call->arena);
    buf_put_c(&b, '[');
    for (const struct json *at = ids->first; at; at = at->next) {
        int64_t made;
        must(json_as_i64(at, &made));
        buf_put_z(&b, at == ids->first ? "" : ",\n");
        if (call->core && core_record(call->core, view->table, made, &record))
            object_view_write(view, call->core, &record, reply_mask(call, view), &b);
        else
            buf_put_z(&b, "null"); /* deleted after the commit */
    }
    buf_put_c(&b, ']');
    reply_json(call, view->type, "list", buf_str(&b));
}

enum handler_result serve_create_many(struct call *call)
{
    struct command command = {.kind = COMMAND_BATCH};
    struct json *all = params_read_many(call);
    if (!all)
        return SERVED_REPLY;
    if (!command_is_for_batch(call->route->resource->create->kind)) {
        reply_error(
            call, 400, "bad_json",
            STR("objects of this type are created one at a time: send an object, not an array"));
        return SERVED_REPLY;
    }
    if (all->count == 0 || all->count > PARTS_MAX) {
        reply_error(call, 400, "bad_json", STR("the array must have 1 to 10000 elements"));
        return SERVED_REPLY;
    }
    struct buf commands = buf_in(call->arena);
    uint32_t place = 0;
    for (struct json *item = all->first; item; item = item->next)
        bulk_read_element(call, item, place++, &commands);
    command.batch.commands = buf_str(&commands);
    return object_submit(call, &command, bulk_reply);
}
