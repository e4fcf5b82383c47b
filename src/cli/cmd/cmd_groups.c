#include "cli/cmd/cmd_groups.h"

#include "cli/cmd/nouns.h"
#include "cli/cmd/response_output.h"

static enum cli_exit nodes_path(struct errand *e, struct str *out_path)
{
    const enum cli_exit status = errand_path(e, e->words->texts[0], out_path);
    if (status == CLI_FINE)
        *out_path = errand_join(e, *out_path, "nodes");
    return status;
}

enum cli_exit groups_nodes(struct errand *e)
{
    struct question q = {0};
    const struct json *list;
    enum cli_exit status = nodes_path(e, &q.path);
    e->noun = nouns_of("nodes");
    q.attributes = output_attributes(e);
    if (status == CLI_FINE)
        status = errand_ask(e, &q, &list);
    if (status == CLI_FINE)
        output_list(e, list);
    return status;
}

/* The first that goes wrong ends it; those before it are in. */
enum cli_exit groups_add(struct errand *e)
{
    struct question q = {.method = "POST"};
    const struct json *answer;
    enum cli_exit status = nodes_path(e, &q.path);
    for (int i = 1; i < e->words->count && status == CLI_FINE; i++) {
        struct json *body = json_make(e->arena, JSON_OBJECT);
        json_set(body, STR("node_id"), json_make_string(e->arena, str_from(e->words->texts[i])));
        q.body = body;
        status = errand_ask(e, &q, &answer);
    }
    return status;
}

enum cli_exit groups_remove(struct errand *e)
{
    struct str path;
    const struct json *answer;
    enum cli_exit status = nodes_path(e, &path);
    for (int i = 1; i < e->words->count && status == CLI_FINE; i++) {
        const struct question q = {.method = "DELETE",
                                   .path = errand_join(e, path, e->words->texts[i])};
        status = errand_ask(e, &q, &answer);
    }
    return status;
}
