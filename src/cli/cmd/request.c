#include "cli/cmd/request.h"

#include <stdio.h>
#include <string.h>

#include "cli/cmd/response_output.h"
#include "cli/output/term_escape.h"
#include "sys/clock.h"

/* Owns the arena and the HTTP client of one invocation (struct cli_request); both are freed when
 * the verb has returned.
 *
 * Order: request_run parses options and checks operands before the verb runs, so that a wrong
 * command line never opens a connection. Settings are read, and the client is opened, by the first
 * call: verbs that fail earlier do not ask for a password. Before the client is opened the URL is
 * checked, so that no password is sent over plain HTTP.
 *
 * Failure: errors of the server are printed with all problems of the reply, each with its code and
 * field; the exit status follows from the HTTP status (request_exit_status). Nothing is repeated
 * here, except by request_send_again for callers that poll.
 *
 * A caller that polls copies the request, gives the copy an arena that it frees after each poll,
 * and copies `client` back, because the call may have opened it. Such a caller must read the
 * settings beforehand: they would be in the arena that is freed. */

/* How long a caller that polls tolerates calls without a reply. */
enum { SERVER_LOST_MS_MAX = 60 * 1000 };

/* ---- error messages ---- */

enum cli_exit request_usage_error(const struct cli_request *req, const char *what,
                                  const char *about)
{
    args_error(req->args, what, about);
    return CLI_USAGE;
}

static struct str request_text(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, str_from(key));
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

/* "halligan nodes create: the name is taken [name_taken: name]" */
static void request_print_problem(const struct cli_request *req, const struct json *problem)
{
    const struct str code = request_text(problem, "code"), field = request_text(problem, "field");
    struct buf line = buf_in(req->arena);
    term_put_escaped(&line, request_text(problem, "message"));
    if (code.len) {
        buf_put_z(&line, " [");
        term_put_escaped(&line, code);
        buf_put_z(&line, field.len ? ": " : "");
        term_put_escaped(&line, field);
        buf_put_c(&line, ']');
    }
    fprintf(stderr, "%s: %.*s\n", req->prog, STR_FMT_ARGS(buf_str(&line)));
}

/* The exit status for an HTTP status other than 2xx. 408, 429 and 5xx mean that the request may
 * succeed later, like one without a reply; 501 is permanent. */
static enum cli_exit request_exit_status(int status)
{
    switch (status) {
    case 401:
    case 403: return CLI_NOT_ALLOWED;
    case 404: return CLI_NOT_FOUND;
    case 408:
    case 429: return CLI_NO_SERVER;
    case 501: return CLI_REFUSED;
    default: return status >= 400 && status < 500 ? CLI_REFUSED : CLI_NO_SERVER;
    }
}

enum cli_exit request_report_refusal(const struct cli_request *req,
                                     const struct client_reply *reply)
{
    struct json *body = NULL;
    uint32_t offset;
    const char *what;
    const err read = json_read(req->arena, reply->body, &body, &offset, &what);
    const struct json *problems = read == OK ? json_get(body, STR("problems")) : NULL;
    if (problems && problems->kind == JSON_ARRAY && problems->first) {
        for (const struct json *p = problems->first; p; p = p->next)
            request_print_problem(req, p);
    } else if (read == OK && request_text(body, "message").len) {
        request_print_problem(req, body);
    } else { /* a reply without problems and message, such as one of a proxy */
        struct buf line = buf_in(req->arena);
        term_put_escaped(&line, str_slice(reply->body, 0, 200));
        fprintf(stderr, "%s: the server replied with status %d: %.*s\n", req->prog, reply->status,
                STR_FMT_ARGS(buf_str(&line)));
    }
    if (reply->status == 401 && !req->settings.token && !req->settings.password)
        fprintf(stderr, "%s: no credentials given; run `halligan login` to store a token\n",
                req->prog);
    return request_exit_status(reply->status);
}

static bool request_has_code(const struct cli_request *req, const struct client_reply *reply,
                             const char *code)
{
    struct json *body = NULL;
    uint32_t offset;
    const char *what;
    return json_read(req->arena, reply->body, &body, &offset, &what) == OK &&
           str_eq(request_text(body, "code"), str_from(code));
}

enum cli_exit request_report_failure(const struct cli_request *req, const char *text)
{
    fprintf(stderr, "%s: %s\n", req->prog, text);
    return CLI_NO_SERVER;
}

enum cli_exit request_report_no_reply(const struct cli_request *req, const char *error)
{
    fprintf(stderr, "%s: no reply from %s\n", req->prog, error);
    return CLI_NO_SERVER;
}

/* ---- calls ---- */

enum cli_exit request_read_settings(struct cli_request *req)
{
    if (req->has_settings)
        return CLI_OK;
    const enum cli_exit status =
        settings_read(req->arena, req->prog, &req->options, &req->settings);
    req->has_settings = status == CLI_OK;
    return status;
}

/* True if a password would be sent over plain HTTP to another machine. The daemon refuses such a
 * request as well, but by then the password has been on the network. */
static bool request_exposes_password(const struct settings *s)
{
    return !s->token && s->password && strncmp(s->url, "https:", 6) != 0 &&
           !settings_is_loopback(s->url);
}

/* Does nothing if the client is open. */
static enum cli_exit request_open_client(struct cli_request *req)
{
    const enum cli_exit status = req->client ? CLI_OK : request_read_settings(req);
    if (status != CLI_OK)
        return status;
    if (request_exposes_password(&req->settings))
        return request_usage_error(
            req, "a password is not sent over plain HTTP; use https or a token", req->settings.url);
    char why[CLIENT_WHY_SIZE];
    if (!req->client)
        req->client = client_open(&req->settings, why, sizeof why);
    return req->client ? CLI_OK : request_report_failure(req, why);
}

/* The path and query of the URL. Clients of OpenCrowbar do not expect the extra fields of objects,
 * so the server sends them only with view=full or when they are requested by name. */
static const char *request_url_path(struct cli_request *req, const struct api_request *call)
{
    struct buf b = buf_in(req->arena);
    const bool is_ours = call->path.len == 0 || call->path.at[0] != '/';
    const bool is_full = is_ours && !call->attributes;
    buf_put_z(&b, is_ours ? "/api/v2/" : "");
    buf_put_str(&b, call->path);
    buf_put_z(&b, call->query.len || is_full ? "?" : "");
    buf_put_str(&b, call->query);
    buf_put_z(&b, call->query.len && is_full ? "&" : "");
    buf_put_z(&b, is_full ? "view=full" : "");
    return str_z(req->arena, buf_str(&b));
}

static enum cli_exit request_parse_reply(const struct cli_request *req, struct str body,
                                         const char *path, const struct json **out)
{
    struct json *value;
    uint32_t offset;
    const char *what;
    if (body.len == 0) {
        *out = json_make(req->arena, JSON_NULL);
        return CLI_OK;
    }
    if (json_read(req->arena, body, &value, &offset, &what) == OK) {
        *out = value;
        return CLI_OK;
    }
    fprintf(stderr, "%s: the reply of %s%s is not JSON: %s at byte %u\n", req->prog,
            req->settings.url, path, what, offset);
    return CLI_NO_SERVER;
}

enum cli_exit request_send(struct cli_request *req, const struct api_request *call,
                           const struct json **out_reply)
{
    struct client_reply reply;
    const enum cli_exit ready = request_open_client(req);
    if (ready != CLI_OK)
        return ready;
    const struct client_call http = {
        .method = call->method ? call->method : "GET",
        .path = request_url_path(req, call),
        .body = call->body ? json_write(req->arena, call->body) : STR(""),
        .attributes = call->attributes,
    };
    const err sent = client_send(req->client, &http, req->arena, &reply);
    const bool is_good = sent == OK && reply.status >= 200 && reply.status < 300;
    if (is_good && reply.warning.len) {
        struct buf line = buf_in(req->arena);
        term_put_escaped(&line, reply.warning);
        fprintf(stderr, "%s: warning: %.*s\n", req->prog, STR_FMT_ARGS(buf_str(&line)));
    }
    if (is_good)
        return request_parse_reply(req, reply.body, http.path, out_reply);
    if (sent == OK && call->expects && request_has_code(req, &reply, call->expects)) {
        *call->out_expected = true;
        return CLI_REFUSED;
    }
    if (call->is_quiet)
        return sent == OK ? request_exit_status(reply.status) : CLI_NO_SERVER;
    return sent == OK ? request_report_refusal(req, &reply)
                      : request_report_no_reply(req, reply.error);
}

enum cli_exit request_send_again(struct cli_request *req, const struct api_request *call,
                                 struct server_retry *retry, const struct json **out_reply)
{
    struct api_request again = *call;
    const int64_t now = sys_mono_ms();
    const bool may_retry = retry->had_reply && (!retry->lost_since_ms ||
                                                now - retry->lost_since_ms < SERVER_LOST_MS_MAX);
    *out_reply = NULL;
    again.is_quiet = may_retry;
    const enum cli_exit status = request_send(req, &again, out_reply);
    if (status == CLI_NO_SERVER && may_retry) {
        retry->lost_since_ms = retry->lost_since_ms ? retry->lost_since_ms : now;
        return CLI_OK;
    }
    *retry = (struct server_retry){.had_reply = true};
    /* The call was quiet; repeat it so that the refusal is printed. */
    return status != CLI_OK && may_retry ? request_send(req, call, out_reply) : status;
}

/* ---- paths of objects ---- */

void request_encode(struct buf *b, struct str text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (uint32_t i = 0; i < text.len; i++) {
        const char c = text.at[i];
        if (char_is_letter(c) || char_is_digit(c) || (c && strchr("-._~", c))) {
            buf_put_c(b, c);
            continue;
        }
        buf_put_c(b, '%');
        buf_put_c(b, digits[(unsigned char)c >> 4]);
        buf_put_c(b, digits[c & 15]);
    }
}

struct str request_join(struct cli_request *req, struct str path, const char *segment)
{
    struct buf b = buf_in(req->arena);
    buf_put_str(&b, path);
    if (segment && segment[0]) {
        buf_put_c(&b, '/');
        request_encode(&b, str_from(segment));
    }
    return buf_str(&b);
}

enum cli_exit request_path_of(struct cli_request *req, const struct cli_noun *noun,
                              const char *word, struct str *out_path)
{
    const char *slash = noun->find_pair ? strchr(word, '/') : NULL;
    if (!word[0] || strcmp(word, ".") == 0 || strcmp(word, "..") == 0)
        return request_usage_error(req, "not the name of an object", word[0] ? word : "\"\"");
    if (!slash) {
        *out_path = request_join(req, str_from(noun->collection), word);
        return CLI_OK;
    }
    enum cli_exit status = CLI_OK;
    struct buf id = buf_in(req->arena);
    const char *first = str_z(req->arena, str_slice(str_from(word), 0, (uint32_t)(slash - word)));
    if (!first[0] || !slash[1])
        return request_usage_error(req, "expected two names, A/B", word);
    const int64_t number = noun->find_pair(req, first, slash + 1, &status);
    if (!number)
        return status;
    buf_put_i64(&id, number);
    *out_path = request_join(req, str_from(noun->collection), str_z(req->arena, buf_str(&id)));
    return CLI_OK;
}

enum cli_exit request_path(struct cli_request *req, const char *word, struct str *out_path)
{
    return request_path_of(req, req->noun, word, out_path);
}

/* ---- running a verb ---- */

bool request_timeout(const struct cli_request *req, int64_t *out_ms)
{
    int64_t seconds = 0;
    if (req->options.timeout &&
        (!str_parse_i64(str_from(req->options.timeout), &seconds) || seconds > 1000000000)) {
        request_usage_error(req, "--timeout must be a number of seconds", req->options.timeout);
        return false;
    }
    *out_ms = req->options.timeout ? seconds * 1000 : TIMEOUT_NONE;
    return true;
}

static bool request_check_operands(const struct cli_request *req)
{
    const struct cli_verb *verb = req->verb;
    if (req->args->count < verb->operands_min) {
        request_usage_error(req, "missing operand", verb->operands);
        return false;
    }
    if (verb->operands_max != OPERANDS_ANY && req->args->count > verb->operands_max) {
        request_usage_error(req, "unexpected operand", req->args->words[verb->operands_max]);
        return false;
    }
    for (int i = 0; i < req->args->count; i++)
        if (!str_is_clean(str_from(req->args->words[i]))) {
            request_usage_error(req, "the operand is not valid UTF-8", req->args->words[i]);
            return false;
        }
    return true;
}

enum cli_exit request_run(const struct cli_noun *noun, const struct cli_verb *verb,
                          struct args *args)
{
    struct arena arena = {0};
    struct cli_request req = {
        .arena = &arena, .noun = noun, .verb = verb, .prog = args->prog, .args = args};
    enum cli_exit status = CLI_USAGE;
    if (cli_options_parse(args, verb->options | OPTION_SERVER, &req.options) &&
        request_check_operands(&req) && output_check(&req))
        status = verb->run_online(&req);
    client_close(req.client);
    arena_fini(&arena);
    return status;
}
