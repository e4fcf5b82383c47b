#include "cli/cmd/cmd_auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd/input.h"
#include "cli/cmd/nouns.h"
#include "cli/cmd/response_output.h"
#include "cli/output/prompt.h"
#include "cli/output/term_escape.h"

/* Verbs with passwords and tokens. Owns no state in memory; login and logout replace the settings
 * file (settings.h), which has the token and its id.
 *
 * Order: login reads user and password, creates a token on the daemon with them, and stores the
 * token, not the password. The file is written last, because it needs the reply. logout deletes the
 * token on the daemon first and then removes it from the file, because the deletion needs it.
 *
 * Failure: if no password is typed, or another one the second time, the verb ends before a request
 * is sent. If login cannot write the file, the new token remains valid on the daemon. If the daemon
 * does not delete the token, logout still removes it from the file and returns the status of the
 * deletion. */

static void auth_set_string(struct cli_request *req, struct json *object, const char *key,
                            const char *text)
{
    json_set(object, str_from(key), json_make_string(req->arena, str_from(text)));
}

/* ---- tokens ---- */

/* Print a new token. This is the only time that its secret is visible; -q prints only the secret.
 */
static enum cli_exit output_token(struct cli_request *req, const struct json *made)
{
    const struct json *token = json_get(made, STR("token"));
    struct buf b = buf_in(req->arena);
    if (!req->options.quiet || !token || token->kind != JSON_STRING) {
        output_object(req, made);
        return CLI_OK;
    }
    term_put_escaped(&b, token->text);
    buf_put_c(&b, '\n');
    output_text(buf_str(&b));
    return CLI_OK;
}

enum cli_exit cmd_auth_create_token(struct cli_request *req)
{
    struct json *body;
    const struct json *made;
    enum cli_exit status = input_read(req, 0, &body);
    const struct api_request call = {.method = "POST", .path = STR("tokens"), .body = body};
    if (status == CLI_OK)
        status = request_send(req, &call, &made);
    return status == CLI_OK ? output_token(req, made) : status;
}

enum cli_exit cmd_auth_create_node_token(struct cli_request *req)
{
    struct api_request call = {.method = "POST"};
    struct json *body;
    const struct json *made;
    enum cli_exit status = input_read_pairs(req, 1, &body);
    if (status == CLI_OK)
        status = request_path(req, req->args->words[0], &call.path);
    if (status != CLI_OK)
        return status;
    call.path = request_join(req, call.path, "token");
    call.body = body->first ? body : NULL;
    status = request_send(req, &call, &made);
    req->noun = nouns_of("tokens");
    return status == CLI_OK ? output_token(req, made) : status;
}

/* ---- passwords ---- */

/* Ask twice, because the input is not echoed. */
static const char *ask_new_password(struct cli_request *req, const char *user)
{
    const char *once = prompt_secret(req->arena, "New password of ", user);
    const char *again = once ? prompt_secret(req->arena, "Repeat the password", "") : NULL;
    if (once && again && strcmp(once, again) == 0)
        return once;
    args_error(req->args, once ? "the passwords differ" : "no password given", user);
    return NULL;
}

/* The first line of stdin. */
static const char *read_new_password(struct cli_request *req)
{
    struct str text;
    if (input_read_file(req, "-", &text) != CLI_OK)
        return NULL;
    text = str_slice(text, 0, str_find(text, '\n', 0));
    if (text.len && str_is_clean(text))
        return str_z(req->arena, text);
    args_error(req->args, "no password given", "stdin");
    return NULL;
}

enum cli_exit cmd_auth_set_password(struct cli_request *req)
{
    struct api_request call = {.method = "PUT"};
    struct json *body = json_make(req->arena, JSON_OBJECT);
    const struct json *reply;
    const char *user = req->args->words[0];
    const bool is_piped = req->args->count > 1 && strcmp(req->args->words[1], "-") == 0;
    if (req->args->count > 1 && !is_piped)
        return request_usage_error(
            req, "a password cannot be an argument, where other users see it; use", "-");
    enum cli_exit status = request_path(req, user, &call.path);
    if (status != CLI_OK)
        return status;
    const char *password = is_piped ? read_new_password(req) : ask_new_password(req, user);
    if (!password)
        return CLI_IO_ERROR;
    auth_set_string(req, body, "password", password);
    auth_set_string(req, body, "password_confirmation", password);
    call.path = request_join(req, call.path, "reset_password");
    call.body = body;
    status = request_send(req, &call, &reply);
    if (status == CLI_OK && json_get(reply, STR("id")))
        output_row(req, reply);
    else if (status == CLI_OK)
        output_message(req, reply);
    return status;
}

/* A user without a password cannot log in, so the password is asked for if stdin is a terminal. */
static enum cli_exit add_password(struct cli_request *req, struct json *user)
{
    const struct json *name = json_get(user, STR("username"));
    if (user->kind != JSON_OBJECT || json_get(user, STR("password")) || !isatty(STDIN_FILENO) ||
        !name || name->kind != JSON_STRING)
        return CLI_OK;
    const char *password = ask_new_password(req, str_z(req->arena, name->text));
    if (!password)
        return CLI_IO_ERROR;
    auth_set_string(req, user, "password", password);
    return CLI_OK;
}

enum cli_exit cmd_auth_create_user(struct cli_request *req)
{
    struct json *body;
    const struct json *made;
    enum cli_exit status = input_read(req, 0, &body);
    if (status == CLI_OK)
        status = add_password(req, body);
    const struct api_request call = {.method = "POST", .path = STR("users"), .body = body};
    if (status == CLI_OK)
        status = request_send(req, &call, &made);
    if (status != CLI_OK)
        return status;
    if (made->kind == JSON_ARRAY)
        output_list(req, made);
    else
        output_row(req, made);
    return CLI_OK;
}

/* ---- login ---- */

/* Set the settings of the request from options, environment and terminal. Credentials of the file
 * are not used: login must create a token for the given user. */
static enum cli_exit auth_read_login(struct cli_request *req)
{
    const char *user = req->options.user ? req->options.user : getenv("HALLIGAN_USER");
    const char *password = getenv("HALLIGAN_PASSWORD");
    const enum cli_exit status =
        settings_read_server(req->arena, req->prog, &req->options, &req->settings);
    if (status != CLI_OK)
        return status;
    if (!user || !user[0])
        user = prompt_text(req->arena, "User at ", req->settings.url);
    if (user && (!password || !password[0]))
        password = prompt_secret(req->arena, "Password of ", user);
    if (!user || !password)
        return request_usage_error(req, "without a terminal this variable must be set",
                                   user ? "HALLIGAN_PASSWORD" : "HALLIGAN_USER");
    req->settings.user = user;
    req->settings.password = password;
    req->has_settings = true;
    return CLI_OK;
}

/* The fields of the new token: those of the operands, and a default name. NULL: wrong operands. */
static struct json *token_body(struct cli_request *req)
{
    char host[256] = "unknown host";
    struct json *body;
    ignore(gethostname(host, sizeof host - 1), "the name is only a description of the token");
    if (input_read_pairs(req, 0, &body) != CLI_OK)
        return NULL;
    struct buf name = buf_in(req->arena);
    buf_put_z(&name, "halligan login on ");
    buf_put_z(&name, host);
    if (!json_get(body, STR("name")))
        json_set(body, STR("name"), json_make_string(req->arena, buf_str(&name)));
    return body;
}

enum cli_exit cmd_auth_login(struct cli_request *req)
{
    const struct json *made;
    if (req->options.token_file)
        return request_usage_error(req, "login needs a password and cannot use --token-file",
                                   req->options.token_file);
    enum cli_exit status = auth_read_login(req);
    const struct json *body = status == CLI_OK ? token_body(req) : NULL;
    if (!body)
        return status != CLI_OK ? status : CLI_USAGE;
    const struct api_request call = {.method = "POST", .path = STR("tokens"), .body = body};
    status = request_send(req, &call, &made);
    if (status != CLI_OK)
        return status;
    const struct json *token = json_get(made, STR("token")), *id = json_get(made, STR("id"));
    if (!token || token->kind != JSON_STRING || !id || id->kind != JSON_NUMBER)
        return request_report_failure(req,
                                      "unexpected reply: the new token has no secret or no id");
    /* The stored path of the CA must be valid in every working directory. */
    const char *ca = req->settings.ca;
    char *absolute = ca ? realpath(ca, NULL) : NULL;
    if (absolute)
        ca = str_z(req->arena, str_from(absolute));
    free(absolute);
    const struct settings kept = {.url = req->settings.url,
                                  .user = req->settings.user,
                                  .token = str_z(req->arena, token->text),
                                  .token_id = str_z(req->arena, id->text),
                                  .ca = ca};
    status = settings_write_file(req->arena, req->prog, &kept);
    if (status == CLI_OK)
        printf("logged in to %s as %s; the token is stored in %s\n", kept.url, kept.user,
               settings_path(req->arena));
    return status;
}

/* The token is removed from the file also if the server cannot delete it. */
enum cli_exit cmd_auth_logout(struct cli_request *req)
{
    struct settings file;
    const struct json *reply;
    enum cli_exit status = settings_read_file(req->arena, req->prog, &file), deleted = CLI_OK;
    if (status != CLI_OK)
        return status;
    if (!file.token) {
        fprintf(stderr, "%s: not logged in\n", req->prog);
        return CLI_IO_ERROR;
    }
    req->settings = file;
    req->settings.url = file.url ? file.url : SETTINGS_URL;
    req->has_settings = true;
    if (file.token_id) {
        const struct api_request call = {.method = "DELETE",
                                         .path = request_join(req, STR("tokens"), file.token_id)};
        deleted = request_send(req, &call, &reply);
    }
    if (deleted != CLI_OK)
        fprintf(stderr,
                "%s: the token was removed from the settings, but the daemon may still accept it\n",
                req->prog);
    file.token = file.token_id = NULL;
    status = settings_write_file(req->arena, req->prog, &file);
    return deleted != CLI_OK ? deleted : status;
}
