#include "cli/cmd/cmd_redeploy.h"

#include "cli/cmd/cmd_objects.h"
#include "cli/cmd/confirm.h"
#include "cli/output/term_escape.h"

/* Asks for consent and then resets nodes. Nothing is kept.
 *
 * Order: the roles that destroy data are listed for all nodes, and the operator must agree once,
 * before the first node is reset. With --yes nothing is listed. The list has no hash: a role that
 * is bound after the operator agreed runs as well.
 *
 * Failure: before that any failure, such as an unknown node, ends the verb without a change. After
 * it each node is reset by a request of its own (cmd_objects_act), and a failure does not prevent
 * the others. */

static bool is_same_id(const struct json *a, const struct json *b)
{
    return a && b && a->kind == JSON_NUMBER && b->kind == JSON_NUMBER && str_eq(a->text, b->text);
}

/* "provisioner-os-install, data-disks": the noderoles whose role is in `roles`. */
static void redeploy_put_roles(struct buf *b, const struct json *noderoles,
                               const struct json *roles)
{
    bool any = false;
    for (const struct json *nr = noderoles->first; nr; nr = nr->next) {
        const struct json *id = json_get(nr, STR("role_id")), *role = roles->first;
        while (role && !is_same_id(json_get(role, STR("id")), id))
            role = role->next;
        const struct json *name = role ? json_get(role, STR("name")) : NULL;
        if (!name || name->kind != JSON_STRING)
            continue;
        buf_put_z(b, any ? ", " : "");
        term_put_escaped(b, name->text);
        any = true;
    }
    if (!any)
        buf_put_z(b, "no role that destroys data");
}

/* Add a line for each node. An unknown node ends the verb before anything has changed. */
static enum cli_exit redeploy_list_losses(struct cli_request *req, struct losses *losses)
{
    const struct json *roles, *noderoles;
    struct api_request call = {
        .path = STR("roles"), .query = STR("destructive=true"), .attributes = "[\"id\",\"name\"]"};
    enum cli_exit status = request_send(req, &call, &roles);
    for (int i = 0; i < req->args->count && status == CLI_OK; i++) {
        struct str path;
        struct buf line = buf_in(req->arena);
        status = request_path(req, req->args->words[i], &path);
        if (status == CLI_OK)
            status =
                request_send(req,
                             &(struct api_request){.path = request_join(req, path, "node_roles"),
                                                   .attributes = "[\"role_id\"]"},
                             &noderoles);
        if (status != CLI_OK)
            return status;
        term_put_escaped(&line, str_from(req->args->words[i]));
        buf_put_z(&line, ": ");
        redeploy_put_roles(&line, noderoles, roles);
        losses_add(losses, buf_str(&line));
    }
    return status;
}

enum cli_exit cmd_redeploy_confirm(struct cli_request *req)
{
    struct losses losses = {.lines = buf_in(req->arena)};
    enum cli_exit status = req->options.yes ? CLI_OK : redeploy_list_losses(req, &losses);
    if (status == CLI_OK)
        status = confirm_ask(
            req, "these nodes are reset now and installed again, including roles that destroy data",
            &losses);
    return status == CLI_OK ? cmd_objects_act(req) : status;
}
