#include "cli/cmd/cmd_upload.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cmd/input.h"
#include "cli/cmd/response_output.h"
#include "cli/output/term_escape.h"

/* Sends barclamp files (packages of content, YAML or JSON) to the daemon, which imports them.
 * Nothing is kept.
 *
 * Order: each file is sent after the one before was imported, so that it can refer to what that one
 * defines. Local files that are not part of an upload are reported after the import.
 *
 * Failure: a directory, a file that cannot be read and a refusal end the verb; files before it
 * remain imported. Warnings of the daemon go to stderr and do not change the exit status. */

static bool upload_exists(struct cli_request *req, struct str folder, struct str name, mode_t kind)
{
    struct stat facts;
    const struct str path = STR_CONCAT(req->arena, folder, STR("/"), name);
    return stat(str_z(req->arena, path), &facts) == 0 && (facts.st_mode & S_IFMT) == kind;
}

/* The file of a barclamp in a directory: NAME.yml, or crowbar.yml of a checkout; "": none. */
static struct str upload_find_file(struct cli_request *req, struct str folder)
{
    uint32_t from = folder.len;
    while (from > 0 && folder.at[from - 1] != '/')
        from--;
    const struct str names[] = {
        STR_CONCAT(req->arena, str_slice(folder, from, folder.len), STR(".yml")),
        STR("crowbar.yml")};
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (upload_exists(req, folder, names[i], S_IFREG))
            return STR_CONCAT(req->arena, folder, STR("/"), names[i]);
    return STR("");
}

/* An upload is one file. Code, scripts, manifests and templates of roles are not part of it. */
static enum cli_exit upload_refuse_directory(struct cli_request *req, const char *path)
{
    struct str folder = str_from(path);
    while (folder.len > 1 && folder.at[folder.len - 1] == '/')
        folder.len--;
    const struct str file = upload_find_file(req, folder);
    fprintf(stderr,
            "%s: %.*s is a directory, but upload sends one file%s%.*s.\n"
            "%s: code and scripts of roles are not sent; to import them, copy the directory into "
            "one of the directories of --barclamps on the host of the daemon, and reload the "
            "daemon (SIGHUP)\n",
            req->prog, STR_FMT_ARGS(folder), file.len ? ": " : "", STR_FMT_ARGS(file), req->prog);
    return CLI_USAGE;
}

/* The daemon warns about missing scripts, but cannot detect hooks and templates that exist only in
 * the local directory. */
static void upload_report_unsent(struct cli_request *req, const char *path)
{
    static const char *const folders[] = {"ansible", "puppet",  "roles",
                                          "script",  "scripts", "templates"};
    struct str folder = str_from(path);
    struct buf b = buf_in(req->arena);
    while (folder.len > 0 && folder.at[folder.len - 1] != '/')
        folder.len--;
    folder = folder.len ? folder : STR("./");
    for (uint32_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (upload_exists(req, folder, str_from(folders[i]), S_IFDIR)) {
            buf_put_c(&b, ' ');
            buf_put_z(&b, folders[i]);
        }
    if (b.len)
        fprintf(stderr,
                "%s: not sent:%.*s (next to %s). The daemon uses the files in the directory that "
                "it read the barclamp from, or in uploads/ of its data directory\n",
                req->prog, STR_FMT_ARGS(buf_str(&b)), path);
}

static void upload_report_warnings(struct cli_request *req, const char *path,
                                   const struct json *reply)
{
    const struct json *warnings = json_get(reply, STR("warnings"));
    for (const struct json *w = warnings ? warnings->first : NULL; w; w = w->next) {
        const struct json *text = json_get(w, STR("text")), *line = json_get(w, STR("line")),
                          *code = json_get(w, STR("code"));
        struct buf b = buf_in(req->arena);
        if (line && line->kind == JSON_NUMBER) {
            buf_put_str(&b, line->text);
            buf_put_z(&b, ": ");
        }
        term_put_escaped(&b, text && text->kind == JSON_STRING ? text->text : STR(""));
        buf_put_z(&b, " [");
        term_put_escaped(&b, code && code->kind == JSON_STRING ? code->text : STR(""));
        buf_put_c(&b, ']');
        fprintf(stderr, "%s: warning: %s:%.*s\n", req->prog, path, STR_FMT_ARGS(buf_str(&b)));
    }
}

/* The text is sent unparsed; the daemon reports errors with their lines. */
static enum cli_exit upload_file(struct cli_request *req, const char *path)
{
    struct str text;
    const struct json *reply;
    struct json *body = json_make(req->arena, JSON_OBJECT);
    struct stat facts;
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode))
        return upload_refuse_directory(req, path);
    enum cli_exit status = input_read_file(req, path, &text);
    if (status != CLI_OK)
        return status;
    if (!str_is_clean(text)) {
        args_error(req->args, "the file is not valid UTF-8", path);
        return CLI_IO_ERROR;
    }
    json_set(body, STR("value"), json_make_string(req->arena, text));
    const struct api_request call = {.method = "POST", .path = STR("barclamps"), .body = body};
    status = request_send(req, &call, &reply);
    if (status != CLI_OK)
        return status;
    output_row(req, reply);
    upload_report_warnings(req, path, reply);
    if (strcmp(path, "-") != 0)
        upload_report_unsent(req, path);
    return CLI_OK;
}

enum cli_exit cmd_upload_barclamps(struct cli_request *req)
{
    enum cli_exit status = CLI_OK;
    for (int i = 0; i < req->args->count && status == CLI_OK; i++)
        status = upload_file(req, req->args->words[i]);
    return status;
}
