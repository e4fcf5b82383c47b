#include "api/call/refused_reports.h"

#include <string.h>

#include "api/call/iso8601.h"
#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/call/resource.h"
#include "api/call/route.h"

/* Refusals of "alive" reports, in a table of fixed size that belongs to the API. A refusal is
 * recorded when its reply is made and shown by `why` as long as it is newer than the cause. Neither
 * can fail: a refusal whose node does not exist is not recorded, and one whose row was overwritten
 * by another node is not shown. Problems that refused_reports_reply() adds to the call have no
 * effect, because the reply is made from those of the command. */

/* Was the request an update of a node with alive=true, and is the problem about a field that only
 * machines send? */
static bool refused_report_is_alive_report(struct call *call, const struct problem *problem)
{
    bool alive = false;
    const bool is_update =
        call->route->method == HTTP_PUT && call->route->resource == &resource_nodes;
    const bool is_of_a_machine = str_eq(problem->field, STR("alive")) ||
                                 str_eq(problem->field, STR("environment")) ||
                                 str_eq(problem->field, STR("boot_generation"));
    return is_update && is_of_a_machine && param_bool(call, "alive", &alive) && alive;
}

void refused_reports_reply(struct refused_reports *refusals, struct call *call,
                           const struct problem *problems)
{
    struct record node;
    if (refused_report_is_alive_report(call, problems) &&
        resource_find(call, &resource_nodes, call->keys[0], &node)) {
        struct refused_report *row = &refusals->rows[node.id % REFUSALS_MAX];
        *row = (struct refused_report){.node_id = node.id, .at_ms = call_stamp_ms(call)};
        const struct str text = str_clip(problems->text, REFUSAL_TEXT_MAX);
        row->len = text.len;
        memcpy(row->text, text.at, text.len);
    }
    reply_problems(call, problems);
}

struct str refused_reports_explain(const struct refused_reports *refusals, struct call *call,
                                   const struct cause *cause)
{
    const struct refused_report *row = &refusals->rows[cause->object_id % REFUSALS_MAX];
    if (cause->code != CAUSE_NOT_ALIVE || cause->object != TABLE_NODE ||
        row->node_id != cause->object_id || row->at_ms < cause->since)
        return cause->text;
    struct buf when = buf_in(call->arena);
    iso8601_format(&when, row->at_ms);
    return STR_CONCAT(call->arena, cause->text, STR("; at "), buf_str(&when),
                      STR(" its report that it is alive was refused: "),
                      (struct str){row->text, row->len});
}
