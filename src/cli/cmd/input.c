#include "cli/cmd/input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/args/input_text.h"
#include "sys/files.h"

/* Reads the fields of objects from operands, a file or stdin. Nothing is kept; values are in the
 * arena of the request.
 *
 * Order: pairs are parsed before the file is read, so that a wrong operand does not wait for input
 * on stdin. They are added to the objects of the file and replace fields of the same name.
 *
 * Failure: all wrong pairs are printed before CLI_USAGE is returned. A file that cannot be read or
 * parsed is CLI_IO_ERROR. In both cases no request was sent. */

enum { INPUT_SIZE_MAX = 256 << 20, READ_SIZE = 64 << 10 }; /* bytes */

/* ---- file and stdin ---- */

static enum cli_exit input_read_stdin(struct cli_request *req, struct str *out_text)
{
    struct buf b = buf_in(req->arena);
    for (;;) {
        const ssize_t n = read(STDIN_FILENO, buf_room(&b, READ_SIZE), READ_SIZE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || b.len > INPUT_SIZE_MAX) {
            fprintf(stderr, "%s: cannot read stdin: %s\n", req->prog,
                    n < 0 ? strerror(errno) : "it is longer than 256 MiB");
            return CLI_IO_ERROR;
        }
        if (n == 0)
            break;
        b.len += (uint32_t)n;
    }
    *out_text = buf_str(&b);
    return CLI_OK;
}

enum cli_exit input_read_file(struct cli_request *req, const char *path, struct str *out_text)
{
    if (strcmp(path, "-") == 0)
        return input_read_stdin(req, out_text);
    if (file_read(req->arena, path, INPUT_SIZE_MAX, out_text) == OK)
        return CLI_OK;
    fprintf(stderr, "%s: cannot read %s: %s\n", req->prog, path, strerror(errno));
    return CLI_IO_ERROR;
}

/* ---- pairs ---- */

/* Add "FIELD=TEXT" or "FIELD:=JSON" to the object. */
static enum cli_exit input_set_pair(struct cli_request *req, const char *word, struct json *object)
{
    const char *equals = strchr(word, '=');
    const bool is_json = equals && equals > word && equals[-1] == ':';
    const char *end = is_json ? equals - 1 : equals;
    struct json *value;
    uint32_t offset;
    const char *what;
    if (!equals || end == word)
        return request_usage_error(req, "expected FIELD=VALUE", word);
    const struct str text = str_from(equals + 1);
    /* A template of a name ("{{node.name}}") is text: no JSON document begins like that. */
    const bool looks_like_json =
        text.len && strchr("{[", text.at[0]) && !str_starts(text, STR("{{"));
    if (!is_json && !looks_like_json)
        value = json_make_string(req->arena, text);
    else if (json_read(req->arena, text, &value, &offset, &what) != OK)
        return request_usage_error(req, "the value is not valid JSON", word);
    json_set(object, str_copy(req->arena, (struct str){word, (uint32_t)(end - word)}), value);
    return CLI_OK;
}

enum cli_exit input_read_pairs(struct cli_request *req, int first, struct json **out_object)
{
    enum cli_exit status = CLI_OK;
    *out_object = json_make(req->arena, JSON_OBJECT);
    for (int i = first; i < req->args->count; i++)
        if (input_set_pair(req, req->args->words[i], *out_object) != CLI_OK)
            status = CLI_USAGE;
    return status;
}

/* ---- file and pairs combined ---- */

static void input_add_pairs(struct cli_request *req, struct json *object, const struct json *pairs)
{
    for (const struct json *pair = pairs->first; pair; pair = pair->next)
        json_set(object, pair->key, json_clone(req->arena, pair));
}

static enum cli_exit input_read_document(struct cli_request *req, const char *path,
                                         struct json **out_value)
{
    struct str text;
    uint32_t line;
    const enum cli_exit status = input_read_file(req, path, &text);
    if (status != CLI_OK)
        return status;
    const char *wrong = input_parse(req->arena, text, out_value, &line);
    if (!wrong)
        return CLI_OK;
    fprintf(stderr, "%s: %s:%u: %s\n", req->prog, strcmp(path, "-") == 0 ? "stdin" : path, line,
            wrong);
    return CLI_IO_ERROR;
}

enum cli_exit input_read(struct cli_request *req, int first, struct json **out_value)
{
    struct json *pairs;
    const char *path = req->options.file;
    if (first < req->args->count && strcmp(req->args->words[first], "-") == 0) {
        if (path)
            return request_usage_error(req, "--file and - cannot be combined", path);
        path = "-";
        first++;
    }
    enum cli_exit status = input_read_pairs(req, first, &pairs);
    if (status != CLI_OK)
        return status;
    if (!path) {
        *out_value = pairs;
        return CLI_OK;
    }
    status = input_read_document(req, path, out_value);
    if (status != CLI_OK)
        return status;
    /* The pairs are added to the object, or to each object of the list. */
    if ((*out_value)->kind == JSON_OBJECT)
        input_add_pairs(req, *out_value, pairs);
    else
        for (struct json *item = (*out_value)->first; item; item = item->next)
            input_add_pairs(req, item, pairs);
    return CLI_OK;
}
