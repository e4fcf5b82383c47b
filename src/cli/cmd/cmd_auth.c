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

static void set_text(struct cli_request *e, struct json *object, const char *key, const char *text)
{
    json_set(object, str_from(key), json_make_string(e->arena, str_from(text)));
}

/* ---- tokens ---- */

/* The secret is shown once, here; -q shows nothing else. */
static enum cli_exit output_token(struct cli_request *e, const struct json *made)
{
    const struct json *token = json_get(made, STR("token"));
    struct buf b = buf_in(e->arena);
    if (!e->options.quiet || !token || token->kind != JSON_STRING) {
        output_object(e, made);
        return CLI_OK;
    }
    term_put_escaped(&b, token->text);
    buf_put_c(&b, '\n');
    output_text(buf_str(&b));
    return CLI_OK;
}

enum cli_exit cmd_auth_create_token(struct cli_request *e)
{
    struct json *body;
    const struct json *made;
    enum cli_exit status = input_read(e, 0, &body);
    const struct api_request q = {.method = "POST", .path = STR("tokens"), .body = body};
    if (status == CLI_OK)
        status = request_send(e, &q, &made);
    return status == CLI_OK ? output_token(e, made) : status;
}

enum cli_exit cmd_auth_create_node_token(struct cli_request *e)
{
    struct api_request q = {.method = "POST"};
    struct json *body;
    const struct json *made;
    enum cli_exit status = input_read_pairs(e, 1, &body);
    if (status == CLI_OK)
        status = request_path(e, e->words->texts[0], &q.path);
    if (status != CLI_OK)
        return status;
    q.path = request_join(e, q.path, "token");
    q.body = body->first ? body : NULL;
    status = request_send(e, &q, &made);
    e->noun = nouns_of("tokens");
    return status == CLI_OK ? output_token(e, made) : status;
}

/* ---- passwords ---- */

/* Twice, since it cannot be seen. */
static const char *ask_new_password(struct cli_request *e, const char *user)
{
    const char *once = prompt_secret(e->arena, "New password of ", user);
    const char *again = once ? prompt_secret(e->arena, "The same again", "") : NULL;
    if (once && again && strcmp(once, again) == 0)
        return once;
    args_complain(e->words, once ? "these are not the same" : "there is no password", user);
    return NULL;
}

/* The first line of stdin, for programs. */
static const char *read_new_password(struct cli_request *e)
{
    struct str text;
    if (input_read_file(e, "-", &text) != CLI_OK)
        return NULL;
    text = str_slice(text, 0, str_find(text, '\n', 0));
    if (text.len && str_is_clean(text))
        return str_z(e->arena, text);
    args_complain(e->words, "there is no password", "stdin");
    return NULL;
}

enum cli_exit cmd_auth_set_password(struct cli_request *e)
{
    struct api_request q = {.method = "PUT"};
    struct json *body = json_make(e->arena, JSON_OBJECT);
    const struct json *answer;
    const char *user = e->words->texts[0];
    const bool is_piped = e->words->count > 1 && strcmp(e->words->texts[1], "-") == 0;
    if (e->words->count > 1 && !is_piped)
        return request_complain(e, "a password does not belong on a command line; use", "-");
    enum cli_exit status = request_path(e, user, &q.path);
    if (status != CLI_OK)
        return status;
    const char *password = is_piped ? read_new_password(e) : ask_new_password(e, user);
    if (!password)
        return CLI_IO_ERROR;
    set_text(e, body, "password", password);
    set_text(e, body, "password_confirmation", password);
    q.path = request_join(e, q.path, "reset_password");
    q.body = body;
    status = request_send(e, &q, &answer);
    if (status == CLI_OK && json_get(answer, STR("id")))
        output_row(e, answer);
    else if (status == CLI_OK)
        output_message(e, answer);
    return status;
}

/* A user without a password can do nothing, so one is asked for if there is a terminal. */
static enum cli_exit add_password(struct cli_request *e, struct json *user)
{
    const struct json *name = json_get(user, STR("username"));
    if (user->kind != JSON_OBJECT || json_get(user, STR("password")) || !isatty(STDIN_FILENO) ||
        !name || name->kind != JSON_STRING)
        return CLI_OK;
    const char *password = ask_new_password(e, str_z(e->arena, name->text));
    if (!password)
        return CLI_IO_ERROR;
    set_text(e, user, "password", password);
    return CLI_OK;
}

enum cli_exit cmd_auth_create_user(struct cli_request *e)
{
    struct json *body;
    const struct json *made;
    enum cli_exit status = input_read(e, 0, &body);
    if (status == CLI_OK)
        status = add_password(e, body);
    const struct api_request q = {.method = "POST", .path = STR("users"), .body = body};
    if (status == CLI_OK)
        status = request_send(e, &q, &made);
    if (status != CLI_OK)
        return status;
    if (made->kind == JSON_ARRAY)
        output_list(e, made);
    else
        output_row(e, made);
    return CLI_OK;
}

/* ---- login ---- */

static enum cli_exit settle_login(struct cli_request *e)
{
    const char *user = e->options.user ? e->options.user : getenv("HALLIGAN_USER");
    const char *password = getenv("HALLIGAN_PASSWORD");
    const enum cli_exit status = settings_read_place(e->arena, e->whose, &e->options, &e->settings);
    if (status != CLI_OK)
        return status;
    if (!user || !user[0])
        user = prompt_text(e->arena, "User at ", e->settings.url);
    if (user && (!password || !password[0]))
        password = prompt_secret(e->arena, "Password of ", user);
    if (!user || !password)
        return request_complain(e, "there is no terminal to ask on, and this is not set",
                                user ? "HALLIGAN_PASSWORD" : "HALLIGAN_USER");
    e->settings.user = user;
    e->settings.password = password;
    e->is_settled = true;
    return CLI_OK;
}

static struct json *token_body(struct cli_request *e)
{
    char host[256] = "somewhere";
    struct json *body;
    ignore(gethostname(host, sizeof host - 1), "the name is for people");
    if (input_read_pairs(e, 0, &body) != CLI_OK)
        return NULL;
    struct buf name = buf_in(e->arena);
    buf_put_z(&name, "halligan login on ");
    buf_put_z(&name, host);
    if (!json_get(body, STR("name")))
        json_set(body, STR("name"), json_make_string(e->arena, buf_str(&name)));
    return body;
}

/* "/etc/ca.pem" wherever one stands when it is used. */
static const char *absolute(struct cli_request *e, const char *path)
{
    char *found = path ? realpath(path, NULL) : NULL;
    const char *kept = found ? str_z(e->arena, str_from(found)) : path;
    free(found);
    return kept;
}

enum cli_exit cmd_auth_login(struct cli_request *e)
{
    const struct json *made;
    if (e->options.token_file)
        return request_complain(e, "whoever has a token need not log in", e->options.token_file);
    enum cli_exit status = settle_login(e);
    const struct json *body = status == CLI_OK ? token_body(e) : NULL;
    if (!body)
        return status != CLI_OK ? status : CLI_USAGE;
    const struct api_request q = {.method = "POST", .path = STR("tokens"), .body = body};
    status = request_send(e, &q, &made);
    if (status != CLI_OK)
        return status;
    const struct json *token = json_get(made, STR("token")), *id = json_get(made, STR("id"));
    if (!token || token->kind != JSON_STRING || !id || id->kind != JSON_NUMBER)
        return request_tell_trouble(e, "a server that makes tokens without a secret");
    const struct settings kept = {.url = e->settings.url,
                                  .user = e->settings.user,
                                  .token = str_z(e->arena, token->text),
                                  .token_id = str_z(e->arena, id->text),
                                  .ca = absolute(e, e->settings.ca)};
    status = settings_write_file(e->arena, e->whose, &kept);
    if (status == CLI_OK)
        printf("%s is logged in at %s; the token is in %s\n", kept.user, kept.url,
               settings_path(e->arena));
    return status;
}

/* The file forgets the token even when the server cannot be told to. */
enum cli_exit cmd_auth_logout(struct cli_request *e)
{
    struct settings file;
    const struct json *answer;
    enum cli_exit status = settings_read_file(e->arena, e->whose, &file), told = CLI_OK;
    if (status != CLI_OK)
        return status;
    if (!file.token) {
        fprintf(stderr, "%s: nobody is logged in\n", e->whose);
        return CLI_IO_ERROR;
    }
    e->settings = file;
    e->settings.url = file.url ? file.url : SETTINGS_URL;
    e->is_settled = true;
    if (file.token_id) {
        const struct api_request q = {.method = "DELETE",
                                      .path = request_join(e, STR("tokens"), file.token_id)};
        told = request_send(e, &q, &answer);
    }
    if (told != CLI_OK)
        fprintf(stderr, "%s: the token is forgotten here, but may still be good there\n", e->whose);
    file.token = file.token_id = NULL;
    status = settings_write_file(e->arena, e->whose, &file);
    return told != CLI_OK ? told : status;
}
