#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/call/resource.h"
#include "api/call/route.h"
#include "api/nouns/node_boot.h"
#include "api/rest/json_object_writer.h"

/* The machines that a noderole must still publish (docs/spec/boot.md, "Served"), a page in the
 * order of their ids. They are no objects: a machine that was deleted is listed until its removal
 * is published. Everything is read from the core for each request; the file has no state, and
 * nothing is changed.
 *
 * Failure: an unknown noderole is 404. One that publishes no boots, or is not committed, has
 * nothing to publish: the list is empty. */

enum { DUE_LIMIT_DEFAULT = 100, DUE_LIMIT_MAX = 1000 };

static void due_put_machine(struct call *call, const struct boot_due_node *due, struct buf *b)
{
    struct record node;
    struct boot_entry entry;
    const struct boot_key key = {BOOT_MACHINE, due->node_id};
    const bool has_entry = core_boot_view(call->core, key, call->arena, &entry);
    const bool is_there = core_record(call->core, TABLE_NODE, due->node_id, &node);
    struct object_writer m = object_writer_open(b, call->wanted);
    object_put_number(&m, "node_id", due->node_id);
    object_put_optional(&m, "node", is_there ? node.node.name : STR(""));
    object_put_optional(&m, "bootenv", has_entry ? entry.machine.bootenv : STR(""));
    if (has_entry)
        object_put_number(&m, "generation", entry.machine.generation);
    else
        object_put_json(&m, "generation", STR("null"));
    object_put_time(&m, "since", due->since_ms);
    object_put_count(&m, "attempt", due->attempt);
    object_writer_close(&m);
}

static void due_put_next_link(struct call *call, int64_t noderole_id, int64_t after, int64_t limit)
{
    struct arena *a = call->arena;
    reply_header(call, "Link",
                 STR_CONCAT(a, STR("<" V "node_roles/"), str_from_i64(a, noderole_id),
                            STR("/boot_due?after="), str_from_i64(a, after), STR("&limit="),
                            str_from_i64(a, limit), STR(">; rel=\"next\"")));
}

enum handler_result serve_noderole_boot_due(struct call *call)
{
    static const char *const names[] = {"after", "limit", "view", NULL};
    int64_t after = 0, limit = DUE_LIMIT_DEFAULT, count = 0;
    struct record noderole;
    struct boot_due_node due;
    struct buf b = buf_in(call->arena);
    if (!params_read(call, "node_role"))
        return SERVED_REPLY;
    params_refuse_unknown(call, names, STR("after and limit"));
    param_number(call, "after", 0, INT64_MAX, &after);
    param_number(call, "limit", 1, DUE_LIMIT_MAX, &limit);
    if (call->problems || !resource_find(call, &resource_noderoles, call->keys[0], &noderole))
        return SERVED_REPLY;
    buf_put_c(&b, '[');
    for (; count < limit && core_boot_due_after(call->core, noderole.id, after, &due); count++) {
        buf_put_z(&b, count ? ",\n" : "");
        due_put_machine(call, &due, &b);
        after = due.node_id;
    }
    buf_put_c(&b, ']');
    reply_json(call, "boot_due", "list", buf_str(&b));
    if (count == limit && core_boot_due_after(call->core, noderole.id, after, &due))
        due_put_next_link(call, noderole.id, after, limit);
    return SERVED_REPLY;
}
