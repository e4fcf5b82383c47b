#include "cli/cmd/cmd_objects.h"

#include <stdio.h>
#include <string.h>

#include "cli/cmd/filter.h"
#include "cli/cmd/input.h"
#include "cli/cmd/nouns.h"
#include "cli/cmd/response_output.h"
#include "cli/cmd/watch.h"

/* The first thing that went wrong is the status; the others were told. */
static enum cli_exit worse(enum cli_exit before, enum cli_exit now)
{
    return before != CLI_OK ? before : now;
}

/* ---- looking ---- */

/* What stops in the middle must not look whole. */
static void tell_rest(const struct cli_request *e, const struct json *list)
{
    int64_t limit = e->noun->page;
    const struct json *id = list->last ? json_get(list->last, STR("id")) : NULL;
    if (e->options.limit || !limit || list->count < limit || !id || id->kind != JSON_STRING)
        return;
    const char *sort = filter_sort(e);
    fprintf(stderr, "%s: these are the first %u; what follows: %s%s%s--after %.*s\n", e->whose,
            list->count, sort ? "--sort " : "", sort ? sort : "", sort ? " " : "",
            STR_FMT_ARGS(id->text));
}

enum cli_exit cmd_objects_list_once(struct cli_request *e)
{
    const struct json *list;
    struct str query;
    enum cli_exit status = filter_query(e, &query);
    if (status != CLI_OK)
        return status;
    struct api_request q = {
        .path = str_from(e->noun->collection), .query = query, .attributes = output_attributes(e)};
    if (e->options.group) {
        status = request_path_of(e, nouns_of("groups"), e->options.group, &q.path);
        q.path = request_join(e, q.path, e->noun->collection);
    }
    if (status == CLI_OK)
        status = request_send(e, &q, &list);
    if (status != CLI_OK)
        return status;
    if (list->kind == JSON_ARRAY) {
        output_list(e, list);
        tell_rest(e, list);
    } else {
        output_document(e, list);
    }
    return CLI_OK;
}

enum cli_exit cmd_objects_list(struct cli_request *e)
{
    return e->options.watch ? watch_list(e) : cmd_objects_list_once(e);
}

static enum cli_exit fetch(struct cli_request *e, const char *word, const struct json **out_object)
{
    struct api_request q = {0};
    const enum cli_exit status = request_path(e, word, &q.path);
    return status != CLI_OK ? status : request_send(e, &q, out_object);
}

static bool wants_document(const struct cli_request *e)
{
    return !e->options.quiet && output_form(e) != OUTPUT_TABLE;
}

/* Several as a document are one document. */
enum cli_exit cmd_objects_show(struct cli_request *e)
{
    enum cli_exit status = CLI_OK;
    const bool is_list = e->words->count > 1 && wants_document(e);
    struct json *list = json_make(e->arena, JSON_ARRAY);
    for (int i = 0; i < e->words->count; i++) {
        const struct json *object;
        const enum cli_exit now = fetch(e, e->words->texts[i], &object);
        status = worse(status, now);
        if (now != CLI_OK)
            continue;
        if (is_list) {
            json_append(list, json_clone(e->arena, object));
            continue;
        }
        output_text(i && !e->options.quiet ? STR("\n") : STR(""));
        output_object(e, object);
    }
    if (is_list)
        output_list(e, list);
    return status;
}

enum cli_exit cmd_objects_look(struct cli_request *e)
{
    struct api_request q = {0};
    const struct json *answer;
    enum cli_exit status = request_path(e, e->words->texts[0], &q.path);
    if (status != CLI_OK)
        return status;
    q.path = request_join(e, q.path, e->verb->path);
    status = request_send(e, &q, &answer);
    if (status == CLI_OK)
        output_document(e, answer);
    return status;
}

/* ---- changing ---- */

enum cli_exit cmd_objects_create(struct cli_request *e)
{
    struct json *body;
    const struct json *made;
    enum cli_exit status = input_read(e, 0, &body);
    if (status != CLI_OK)
        return status;
    const struct api_request q = {
        .method = "POST", .path = str_from(e->noun->collection), .body = body};
    status = request_send(e, &q, &made);
    if (status != CLI_OK)
        return status;
    if (made->kind == JSON_ARRAY)
        output_list(e, made);
    else
        output_row(e, made);
    return CLI_OK;
}

enum cli_exit cmd_objects_update(struct cli_request *e)
{
    struct json *body;
    const struct json *changed;
    enum cli_exit status = input_read(e, 1, &body);
    if (status != CLI_OK)
        return status;
    if (body->kind != JSON_OBJECT || !body->first)
        return request_complain(e, "something is missing", "FIELD=VALUE");
    struct api_request q = {.method = "PUT", .body = body};
    status = request_path(e, e->words->texts[0], &q.path);
    if (status == CLI_OK)
        status = request_send(e, &q, &changed);
    if (status == CLI_OK)
        output_row(e, changed);
    return status;
}

enum cli_exit cmd_objects_destroy(struct cli_request *e)
{
    enum cli_exit status = CLI_OK;
    for (int i = 0; i < e->words->count; i++) {
        struct api_request q = {.method = "DELETE"};
        const struct json *answer;
        enum cli_exit now = request_path(e, e->words->texts[i], &q.path);
        if (now == CLI_OK)
            now = request_send(e, &q, &answer);
        if (now == CLI_OK)
            output_message(e, answer);
        status = worse(status, now);
    }
    return status;
}

static void output_done(struct cli_request *e, const struct json *answer)
{
    if (json_get(answer, STR("id")))
        output_row(e, answer);
    else
        output_message(e, answer);
}

/* As one table, when there is something of each. */
enum cli_exit cmd_objects_act(struct cli_request *e)
{
    enum cli_exit status = CLI_OK;
    struct json *done = json_make(e->arena, JSON_ARRAY);
    for (int i = 0; i < e->words->count; i++) {
        struct api_request q = {.method = e->verb->method};
        const struct json *answer;
        enum cli_exit now = request_path(e, e->words->texts[i], &q.path);
        q.path = request_join(e, q.path, e->verb->path);
        if (now == CLI_OK)
            now = request_send(e, &q, &answer);
        if (now == CLI_OK)
            json_append(done, json_clone(e->arena, answer));
        status = worse(status, now);
    }
    if (done->count == 1)
        output_done(e, done->first);
    else if (done->count && json_get(done->first, STR("id")))
        output_list(e, done);
    else
        for (const struct json *answer = done->first; answer; answer = answer->next)
            output_message(e, answer);
    return status;
}
