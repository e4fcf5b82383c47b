#include "cli/cmd/cmd_boot.h"

#include "cli/cmd/nouns.h"
#include "cli/cmd/response_output.h"

/* Lists that are no objects of a noun: they have columns of their own. Nothing is kept. */

static enum cli_exit boot_print_list(struct cli_request *req, const struct api_request *call,
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

enum cli_exit cmd_boot_status(struct cli_request *req)
{
    static const struct cli_column columns[] = {
        {"node", NULL},      {"connected", NULL},  {"interfaces", NULL}, {"http_port", NULL},
        {"sent_turn", NULL}, {"taken_turn", NULL}, {"status", NULL}};
    const struct api_request call = {.path = STR("boot_servers")};
    return boot_print_list(req, &call, columns, sizeof columns / sizeof *columns);
}

enum cli_exit cmd_boot_events(struct cli_request *req)
{
    static const struct cli_column columns[] = {
        {"at", NULL},      {"event", NULL},      {"server", NULL}, {"mac", NULL},
        {"address", NULL}, {"generation", NULL}, {"detail", NULL}};
    struct api_request call = {0};
    const enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    if (status != CLI_OK)
        return status;
    call.path = request_join(req, call.path, "boots");
    return boot_print_list(req, &call, columns, sizeof columns / sizeof *columns);
}
