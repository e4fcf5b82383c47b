#include "cli/cmd/cmd_groups.h"

#include "cli/cmd/nouns.h"
#include "cli/cmd/response_output.h"

/* Lists, adds and removes the nodes of a group. Nothing is kept. Nodes are added and removed one
 * request at a time, in the order of the operands; the first failure ends the verb with its status,
 * and the requests before it remain in effect. */

/* The path of the nodes of the group that is the first operand. */
static enum cli_exit groups_nodes_path(struct cli_request *req, struct str *out_path)
{
    const enum cli_exit status = request_path(req, req->args->words[0], out_path);
    if (status == CLI_OK)
        *out_path = request_join(req, *out_path, "nodes");
    return status;
}

enum cli_exit cmd_groups_nodes(struct cli_request *req)
{
    struct api_request call = {0};
    const struct json *list;
    enum cli_exit status = groups_nodes_path(req, &call.path);
    req->noun = nouns_of("nodes");
    call.attributes = output_attributes(req);
    if (status == CLI_OK)
        status = request_send(req, &call, &list);
    if (status == CLI_OK)
        output_list(req, list);
    return status;
}

/* The first failure ends the loop; the nodes before it have been added. */
enum cli_exit cmd_groups_add(struct cli_request *req)
{
    struct api_request call = {.method = "POST"};
    const struct json *reply;
    enum cli_exit status = groups_nodes_path(req, &call.path);
    for (int i = 1; i < req->args->count && status == CLI_OK; i++) {
        struct json *body = json_make(req->arena, JSON_OBJECT);
        json_set(body, STR("node_id"), json_make_string(req->arena, str_from(req->args->words[i])));
        call.body = body;
        status = request_send(req, &call, &reply);
    }
    return status;
}

enum cli_exit cmd_groups_remove(struct cli_request *req)
{
    struct str path;
    const struct json *reply;
    enum cli_exit status = groups_nodes_path(req, &path);
    for (int i = 1; i < req->args->count && status == CLI_OK; i++) {
        const struct api_request call = {.method = "DELETE",
                                         .path = request_join(req, path, req->args->words[i])};
        status = request_send(req, &call, &reply);
    }
    return status;
}
