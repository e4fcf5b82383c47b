#include "cli/cmd/cmd_objects.h"

#include <stdio.h>
#include <string.h>

#include "cli/cmd/filter.h"
#include "cli/cmd/input.h"
#include "cli/cmd/nouns.h"
#include "cli/cmd/response_output.h"
#include "cli/cmd/watch.h"

/* Verbs that are the same for most nouns. Nothing is kept: each verb sends requests for the noun of
 * the request and prints the replies.
 *
 * Order and failure: create sends all objects in one request, and the daemon creates all or none.
 * show, destroy and act send one request for each operand, in order. A failure is printed and the
 * next operand is tried; changes before and after it remain. Replies that form one list or table
 * are printed at the end, without the operands that failed. */

/* The exit status of several calls is that of the first failure. Every failure is printed. */
static enum cli_exit objects_first_failure(enum cli_exit before, enum cli_exit now)
{
    return before != CLI_OK ? before : now;
}

/* ---- list, show ---- */

/* If the server has returned a full page, print how to get the next one. */
static void objects_report_rest(const struct cli_request *req, const struct json *list)
{
    int64_t limit = req->noun->page_size;
    const struct json *id = list->last ? json_get(list->last, STR("id")) : NULL;
    if (req->options.limit || !limit || list->count < limit || !id || id->kind != JSON_STRING)
        return;
    const char *sort = filter_sort(req);
    fprintf(stderr, "%s: only the first %u are listed; for more: %s%s%s--after %.*s\n", req->prog,
            list->count, sort ? "--sort " : "", sort ? sort : "", sort ? " " : "",
            STR_FMT_ARGS(id->text));
}

enum cli_exit cmd_objects_list_once(struct cli_request *req)
{
    const struct json *list;
    struct str query;
    enum cli_exit status = filter_query(req, &query);
    if (status != CLI_OK)
        return status;
    struct api_request call = {.path = str_from(req->noun->collection),
                               .query = query,
                               .attributes = output_attributes(req)};
    if (req->options.group) {
        status = request_path_of(req, nouns_of("groups"), req->options.group, &call.path);
        call.path = request_join(req, call.path, req->noun->collection);
    }
    if (status == CLI_OK)
        status = request_send(req, &call, &list);
    if (status != CLI_OK)
        return status;
    if (list->kind == JSON_ARRAY) {
        output_list(req, list);
        objects_report_rest(req, list);
    } else {
        output_document(req, list);
    }
    return CLI_OK;
}

enum cli_exit cmd_objects_list(struct cli_request *req)
{
    return req->options.watch ? watch_list(req) : cmd_objects_list_once(req);
}

/* With JSON or YAML, several objects are printed as one list. */
enum cli_exit cmd_objects_show(struct cli_request *req)
{
    enum cli_exit status = CLI_OK;
    const bool is_list =
        req->args->count > 1 && !req->options.quiet && output_form(req) != OUTPUT_TABLE;
    struct json *list = json_make(req->arena, JSON_ARRAY);
    for (int i = 0; i < req->args->count; i++) {
        struct api_request call = {0};
        const struct json *object;
        enum cli_exit now = request_path(req, req->args->words[i], &call.path);
        if (now == CLI_OK)
            now = request_send(req, &call, &object);
        status = objects_first_failure(status, now);
        if (now != CLI_OK)
            continue;
        if (is_list) {
            json_append(list, json_clone(req->arena, object));
            continue;
        }
        output_text(i && !req->options.quiet ? STR("\n") : STR(""));
        output_object(req, object);
    }
    if (is_list)
        output_list(req, list);
    return status;
}

enum cli_exit cmd_objects_show_below(struct cli_request *req)
{
    struct api_request call = {0};
    const struct json *reply;
    enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    if (status != CLI_OK)
        return status;
    call.path = request_join(req, call.path, req->verb->path);
    status = request_send(req, &call, &reply);
    if (status == CLI_OK)
        output_document(req, reply);
    return status;
}

enum cli_exit cmd_objects_boot_due(struct cli_request *req)
{
    enum { PAGE = 100 }; /* of the daemon */
    static const struct cli_column columns[] = {{"node_id", NULL}, {"node", NULL},
                                                {"bootenv", NULL}, {"generation", NULL},
                                                {"since", NULL},   {"attempt", NULL}};
    const struct cli_noun *noun = req->noun;
    const struct cli_noun due = {.name = noun->name,
                                 .collection = noun->collection,
                                 .key = "node_id",
                                 .columns = columns,
                                 .column_count = sizeof columns / sizeof *columns};
    struct api_request call = {0};
    const struct json *list;
    enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    if (status == CLI_OK) {
        req->noun = &due;
        status = filter_query(req, &call.query);
        call.path = request_join(req, call.path, "boot_due");
    }
    if (status == CLI_OK)
        status = request_send(req, &call, &list);
    if (status == CLI_OK) {
        const struct json *last = list->last ? json_get(list->last, STR("node_id")) : NULL;
        output_list(req, list);
        if (last && list->count == PAGE && !req->options.limit)
            fprintf(stderr, "%s: only the first %u are listed; for more: --after %.*s\n", req->prog,
                    list->count, STR_FMT_ARGS(last->text));
    }
    req->noun = noun;
    return status;
}

/* ---- boot servers and boots: lists that are no objects ---- */

static enum cli_exit objects_print_rows(struct cli_request *req, const struct api_request *call,
                                        const struct cli_column *columns, uint32_t count)
{
    const struct cli_noun *noun = req->noun;
    const struct cli_noun shown = {.name = noun->name,
                                   .collection = "nodes",
                                   .key = columns[0].field,
                                   .columns = columns,
                                   .column_count = count};
    const struct json *list;
    const enum cli_exit status = request_send(req, call, &list);
    if (status == CLI_OK) {
        req->noun = &shown;
        output_list(req, list);
        req->noun = noun;
    }
    return status;
}

enum cli_exit cmd_objects_boot_status(struct cli_request *req)
{
    static const struct cli_column columns[] = {
        {"node", NULL},      {"connected", NULL},  {"interfaces", NULL}, {"http_port", NULL},
        {"sent_turn", NULL}, {"taken_turn", NULL}, {"status", NULL}};
    const struct api_request call = {.path = STR("boot_servers")};
    return objects_print_rows(req, &call, columns, sizeof columns / sizeof *columns);
}

enum cli_exit cmd_objects_boot_events(struct cli_request *req)
{
    static const struct cli_column columns[] = {
        {"at", NULL},      {"event", NULL},      {"server", NULL}, {"mac", NULL},
        {"address", NULL}, {"generation", NULL}, {"detail", NULL}};
    struct api_request call = {0};
    const enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    if (status != CLI_OK)
        return status;
    call.path = request_join(req, call.path, "boots");
    return objects_print_rows(req, &call, columns, sizeof columns / sizeof *columns);
}

/* ---- create, update, destroy ---- */

enum cli_exit cmd_objects_create(struct cli_request *req)
{
    struct json *body;
    const struct json *made;
    enum cli_exit status = input_read(req, 0, &body);
    if (status != CLI_OK)
        return status;
    const struct api_request call = {
        .method = "POST", .path = str_from(req->noun->collection), .body = body};
    status = request_send(req, &call, &made);
    if (status != CLI_OK)
        return status;
    if (made->kind == JSON_ARRAY)
        output_list(req, made);
    else if (made->kind == JSON_OBJECT)
        output_row(req, made);
    else
        fprintf(stderr, "%s: accepted, but nothing was created\n", req->prog);
    return CLI_OK;
}

enum cli_exit cmd_objects_update(struct cli_request *req)
{
    struct json *body;
    const struct json *changed;
    enum cli_exit status = input_read(req, 1, &body);
    if (status != CLI_OK)
        return status;
    if (body->kind != JSON_OBJECT || !body->first)
        return request_usage_error(req, "missing operand", "FIELD=VALUE");
    struct api_request call = {.method = "PUT", .body = body};
    status = request_path(req, req->args->words[0], &call.path);
    if (status == CLI_OK)
        status = request_send(req, &call, &changed);
    if (status == CLI_OK)
        output_row(req, changed);
    return status;
}

enum cli_exit cmd_objects_destroy(struct cli_request *req)
{
    enum cli_exit status = CLI_OK;
    for (int i = 0; i < req->args->count; i++) {
        struct api_request call = {.method = "DELETE"};
        const struct json *reply;
        enum cli_exit now = request_path(req, req->args->words[i], &call.path);
        if (now == CLI_OK)
            now = request_send(req, &call, &reply);
        if (now == CLI_OK)
            output_message(req, reply);
        status = objects_first_failure(status, now);
    }
    return status;
}

/* Replies with objects are printed as one table. */
enum cli_exit cmd_objects_act(struct cli_request *req)
{
    enum cli_exit status = CLI_OK;
    struct json *done = json_make(req->arena, JSON_ARRAY);
    for (int i = 0; i < req->args->count; i++) {
        struct api_request call = {.method = req->verb->method};
        const struct json *reply;
        enum cli_exit now = request_path(req, req->args->words[i], &call.path);
        call.path = request_join(req, call.path, req->verb->path);
        if (now == CLI_OK)
            now = request_send(req, &call, &reply);
        if (now == CLI_OK)
            json_append(done, json_clone(req->arena, reply));
        status = objects_first_failure(status, now);
    }
    /* Some actions return the changed object, others a message. */
    const bool has_objects = done->count && json_get(done->first, STR("id"));
    if (has_objects && done->count == 1)
        output_row(req, done->first);
    else if (has_objects)
        output_list(req, done);
    else
        for (const struct json *reply = done->first; reply; reply = reply->next)
            output_message(req, reply);
    return status;
}
