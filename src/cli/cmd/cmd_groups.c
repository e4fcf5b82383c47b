#include "cli/cmd/cmd_groups.h"

#include "cli/cmd/nouns.h"
#include "cli/cmd/response_output.h"

static enum cli_exit nodes_path(struct cli_request *e, struct str *out_path)
{
    const enum cli_exit status = request_path(e, e->words->texts[0], out_path);
    if (status == CLI_OK)
        *out_path = request_join(e, *out_path, "nodes");
    return status;
}

enum cli_exit cmd_groups_nodes(struct cli_request *e)
{
    struct api_request q = {0};
    const struct json *list;
    enum cli_exit status = nodes_path(e, &q.path);
    e->noun = nouns_of("nodes");
    q.attributes = output_attributes(e);
    if (status == CLI_OK)
        status = request_send(e, &q, &list);
    if (status == CLI_OK)
        output_list(e, list);
    return status;
}

/* The first that goes wrong ends it; those before it are in. */
enum cli_exit cmd_groups_add(struct cli_request *e)
{
    struct api_request q = {.method = "POST"};
    const struct json *answer;
    enum cli_exit status = nodes_path(e, &q.path);
    for (int i = 1; i < e->words->count && status == CLI_OK; i++) {
        struct json *body = json_make(e->arena, JSON_OBJECT);
        json_set(body, STR("node_id"), json_make_string(e->arena, str_from(e->words->texts[i])));
        q.body = body;
        status = request_send(e, &q, &answer);
    }
    return status;
}

enum cli_exit cmd_groups_remove(struct cli_request *e)
{
    struct str path;
    const struct json *answer;
    enum cli_exit status = nodes_path(e, &path);
    for (int i = 1; i < e->words->count && status == CLI_OK; i++) {
        const struct api_request q = {.method = "DELETE",
                                      .path = request_join(e, path, e->words->texts[i])};
        status = request_send(e, &q, &answer);
    }
    return status;
}
