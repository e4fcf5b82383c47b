#include "cli/cmd/cmd_upload.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cmd/input.h"
#include "cli/cmd/response_output.h"
#include "cli/output/term_escape.h"

static bool is_there(struct cli_request *e, struct str folder, struct str name, mode_t kind)
{
    struct stat facts;
    const struct str path = STR_CONCAT(e->arena, folder, STR("/"), name);
    return stat(str_z(e->arena, path), &facts) == 0 && (facts.st_mode & S_IFMT) == kind;
}

/* The file of a barclamp in that directory: NAME.yml, or crowbar.yml of a checkout; "" for none. */
static struct str file_in(struct cli_request *e, struct str folder)
{
    uint32_t from = folder.len;
    while (from > 0 && folder.at[from - 1] != '/')
        from--;
    const struct str names[] = {
        STR_CONCAT(e->arena, str_slice(folder, from, folder.len), STR(".yml")), STR("crowbar.yml")};
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_there(e, folder, names[i], S_IFREG))
            return STR_CONCAT(e->arena, folder, STR("/"), names[i]);
    return STR("");
}

/* What roles do (code, scripts, manifests, templates) is not part of a document. */
static enum cli_exit complain_directory(struct cli_request *e, const char *path)
{
    struct str folder = str_from(path);
    while (folder.len > 1 && folder.at[folder.len - 1] == '/')
        folder.len--;
    const struct str file = file_in(e, folder);
    fprintf(stderr,
            "%s: %.*s is a directory, and upload sends one file%s%.*s.\n"
            "%s: code and scripts of roles are not sent; copy the directory below one of the "
            "directories of --barclamps on the daemon's machine, and reload the daemon (SIGHUP)\n",
            e->whose, STR_FMT_ARGS(folder), file.len ? ": " : "", STR_FMT_ARGS(file), e->whose);
    return CLI_USAGE;
}

/* The daemon knows of missing scripts, but not of hooks and templates that lie here. */
static void tell_unsent(struct cli_request *e, const char *path)
{
    static const char *const folders[] = {"ansible", "puppet",  "roles",
                                          "script",  "scripts", "templates"};
    struct str folder = str_from(path);
    struct buf b = buf_in(e->arena);
    while (folder.len > 0 && folder.at[folder.len - 1] != '/')
        folder.len--;
    folder = folder.len ? folder : STR("./");
    for (uint32_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (is_there(e, folder, str_from(folders[i]), S_IFDIR)) {
            buf_put_c(&b, ' ');
            buf_put_z(&b, folders[i]);
        }
    if (b.len)
        fprintf(stderr,
                "%s: not sent:%.*s (beside %s). The daemon uses what is in the directory from "
                "which it has the barclamp, or in uploads/ of its data directory\n",
                e->whose, STR_FMT_ARGS(buf_str(&b)), path);
}

static void tell_warnings(struct cli_request *e, const char *path, const struct json *answer)
{
    const struct json *warnings = json_get(answer, STR("warnings"));
    for (const struct json *w = warnings ? warnings->first : NULL; w; w = w->next) {
        const struct json *text = json_get(w, STR("text")), *line = json_get(w, STR("line")),
                          *code = json_get(w, STR("code"));
        struct buf b = buf_in(e->arena);
        if (line && line->kind == JSON_NUMBER) {
            buf_put_str(&b, line->text);
            buf_put_z(&b, ": ");
        }
        term_put_escaped(&b, text && text->kind == JSON_STRING ? text->text : STR(""));
        buf_put_z(&b, " [");
        term_put_escaped(&b, code && code->kind == JSON_STRING ? code->text : STR(""));
        buf_put_c(&b, ']');
        fprintf(stderr, "%s: warning: %s:%.*s\n", e->whose, path, STR_FMT_ARGS(buf_str(&b)));
    }
}

/* The text goes as it is: what is wrong with it the daemon says, with lines. */
static enum cli_exit upload(struct cli_request *e, const char *path)
{
    struct str text;
    const struct json *answer;
    struct json *body = json_make(e->arena, JSON_OBJECT);
    struct stat facts;
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode))
        return complain_directory(e, path);
    enum cli_exit status = input_read_file(e, path, &text);
    if (status != CLI_OK)
        return status;
    if (!str_is_clean(text)) {
        args_complain(e->words, "this is not UTF-8", path);
        return CLI_IO_ERROR;
    }
    json_set(body, STR("value"), json_make_string(e->arena, text));
    const struct api_request q = {.method = "POST", .path = STR("barclamps"), .body = body};
    status = request_send(e, &q, &answer);
    if (status != CLI_OK)
        return status;
    output_row(e, answer);
    tell_warnings(e, path, answer);
    if (strcmp(path, "-") != 0)
        tell_unsent(e, path);
    return CLI_OK;
}

enum cli_exit cmd_upload_barclamps(struct cli_request *e)
{
    enum cli_exit status = CLI_OK;
    for (int i = 0; i < e->words->count && status == CLI_OK; i++)
        status = upload(e, e->words->texts[i]);
    return status;
}
