#include "cli/cmd/request.h"

#include <stdio.h>
#include <string.h>

#include "cli/cmd/response_output.h"
#include "cli/output/term_escape.h"
#include "sys/clock.h"

enum { PATIENCE_MS = 60 * 1000 };

/* ---- telling ---- */

enum cli_exit request_complain(const struct cli_request *e, const char *what, const char *about)
{
    args_complain(e->words, what, about);
    return CLI_USAGE;
}

static struct str text_of(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, str_from(key));
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

/* "halligan nodes create: the name is taken [name_taken: name]" */
static void tell_problem(const struct cli_request *e, const struct json *problem)
{
    const struct str code = text_of(problem, "code"), field = text_of(problem, "field");
    struct buf line = buf_in(e->arena);
    term_put_escaped(&line, text_of(problem, "message"));
    if (code.len) {
        buf_put_z(&line, " [");
        term_put_escaped(&line, code);
        buf_put_z(&line, field.len ? ": " : "");
        term_put_escaped(&line, field);
        buf_put_c(&line, ']');
    }
    fprintf(stderr, "%s: %.*s\n", e->whose, STR_FMT_ARGS(buf_str(&line)));
}

static void tell_warning(const struct cli_request *e, struct str warning)
{
    struct buf line = buf_in(e->arena);
    term_put_escaped(&line, warning);
    fprintf(stderr, "%s: warning: %.*s\n", e->whose, STR_FMT_ARGS(buf_str(&line)));
}

static void tell_plain(const struct cli_request *e, const struct client_answer *answer)
{
    struct buf line = buf_in(e->arena);
    term_put_escaped(&line, str_slice(answer->body, 0, 200));
    fprintf(stderr, "%s: the server answers %d: %.*s\n", e->whose, answer->status,
            STR_FMT_ARGS(buf_str(&line)));
}

static enum cli_exit exit_of(int status)
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

enum cli_exit request_tell_refusal(const struct cli_request *e, const struct client_answer *answer)
{
    struct json *body = NULL;
    uint32_t offset;
    const char *what;
    const err read = json_read(e->arena, answer->body, &body, &offset, &what);
    const struct json *problems = read == OK ? json_get(body, STR("problems")) : NULL;
    if (problems && problems->kind == JSON_ARRAY && problems->first)
        for (const struct json *p = problems->first; p; p = p->next)
            tell_problem(e, p);
    else if (read == OK && text_of(body, "message").len)
        tell_problem(e, body);
    else
        tell_plain(e, answer);
    if (answer->status == 401 && !e->settings.token && !e->settings.password)
        fprintf(stderr, "%s: nobody asks; `halligan login` makes and keeps a token\n", e->whose);
    return exit_of(answer->status);
}

static bool has_code(const struct cli_request *e, const struct client_answer *answer,
                     const char *code)
{
    struct json *body = NULL;
    uint32_t offset;
    const char *what;
    return json_read(e->arena, answer->body, &body, &offset, &what) == OK &&
           str_eq(text_of(body, "code"), str_from(code));
}

enum cli_exit request_tell_trouble(const struct cli_request *e, const char *trouble)
{
    fprintf(stderr, "%s: no answer from %s\n", e->whose, trouble);
    return CLI_NO_SERVER;
}

/* ---- asking ---- */

enum cli_exit request_settle(struct cli_request *e)
{
    if (e->is_settled)
        return CLI_OK;
    const enum cli_exit status = settings_read(e->arena, e->whose, &e->options, &e->settings);
    e->is_settled = status == CLI_OK;
    return status;
}

/* A password is for ever; what goes over a wire is for everybody. The daemon would refuse it too,
 * but by then it has been said. */
static bool would_be_overheard(const struct settings *s)
{
    return !s->token && s->password && strncmp(s->url, "https:", 6) != 0 &&
           !settings_is_near(s->url);
}

static enum cli_exit wake_client(struct cli_request *e)
{
    const enum cli_exit status = e->client ? CLI_OK : request_settle(e);
    if (status != CLI_OK)
        return status;
    if (would_be_overheard(&e->settings))
        return request_complain(e, "a password is not sent in the clear; use https, or a token",
                                e->settings.url);
    char why[CLIENT_WHY_SIZE];
    if (!e->client)
        e->client = client_open(&e->settings, why, sizeof why);
    return e->client ? CLI_OK : request_tell_trouble(e, why);
}

/* Objects have fields that clients of old do not expect; all that did not choose get them too. */
static const char *path_of(struct cli_request *e, const struct api_request *q)
{
    struct buf b = buf_in(e->arena);
    const bool is_ours = q->path.len == 0 || q->path.at[0] != '/';
    const bool is_full = is_ours && !q->attributes;
    buf_put_z(&b, is_ours ? "/api/v2/" : "");
    buf_put_str(&b, q->path);
    buf_put_z(&b, q->query.len || is_full ? "?" : "");
    buf_put_str(&b, q->query);
    buf_put_z(&b, q->query.len && is_full ? "&" : "");
    buf_put_z(&b, is_full ? "view=full" : "");
    return str_z(e->arena, buf_str(&b));
}

static enum cli_exit read_answer(const struct cli_request *e, struct str body, const char *path,
                                 const struct json **out)
{
    struct json *value;
    uint32_t offset;
    const char *what;
    if (body.len == 0) {
        *out = json_make(e->arena, JSON_NULL);
        return CLI_OK;
    }
    if (json_read(e->arena, body, &value, &offset, &what) == OK) {
        *out = value;
        return CLI_OK;
    }
    fprintf(stderr, "%s: %s%s does not answer in JSON: %s at byte %u\n", e->whose, e->settings.url,
            path, what, offset);
    return CLI_NO_SERVER;
}

enum cli_exit request_send(struct cli_request *e, const struct api_request *question,
                           const struct json **out_answer)
{
    struct client_answer answer;
    const enum cli_exit ready = wake_client(e);
    if (ready != CLI_OK)
        return ready;
    const struct client_call call = {
        .method = question->method ? question->method : "GET",
        .path = path_of(e, question),
        .body = question->body ? json_write(e->arena, question->body) : STR(""),
        .attributes = question->attributes,
    };
    const err asked = client_ask(e->client, &call, e->arena, &answer);
    const bool is_good = asked == OK && answer.status >= 200 && answer.status < 300;
    if (is_good && answer.warning.len)
        tell_warning(e, answer.warning);
    if (is_good)
        return read_answer(e, answer.body, call.path, out_answer);
    if (asked == OK && question->expects && has_code(e, &answer, question->expects)) {
        *question->out_expected = true;
        return CLI_REFUSED;
    }
    if (question->is_quiet)
        return asked == OK ? exit_of(answer.status) : CLI_NO_SERVER;
    return asked == OK ? request_tell_refusal(e, &answer) : request_tell_trouble(e, answer.trouble);
}

enum cli_exit request_send_again(struct cli_request *e, const struct api_request *question,
                                 struct patience *patience, const struct json **out_answer)
{
    struct api_request again = *question;
    const int64_t now = sys_mono_ms();
    const bool is_patient =
        patience->had_answer && (!patience->lost_ms || now - patience->lost_ms < PATIENCE_MS);
    *out_answer = NULL;
    again.is_quiet = is_patient;
    const enum cli_exit status = request_send(e, &again, out_answer);
    if (status == CLI_NO_SERVER && is_patient) {
        patience->lost_ms = patience->lost_ms ? patience->lost_ms : now;
        return CLI_OK;
    }
    *patience = (struct patience){.had_answer = true};
    /* What it refuses all of a sudden is to be told. */
    return status != CLI_OK && is_patient ? request_send(e, question, out_answer) : status;
}

/* ---- naming ---- */

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

struct str request_join(struct cli_request *e, struct str path, const char *segment)
{
    struct buf b = buf_in(e->arena);
    buf_put_str(&b, path);
    if (segment && segment[0]) {
        buf_put_c(&b, '/');
        request_encode(&b, str_from(segment));
    }
    return buf_str(&b);
}

enum cli_exit request_path_of(struct cli_request *e, const struct cli_noun *noun, const char *word,
                              struct str *out_path)
{
    const char *slash = noun->find_pair ? strchr(word, '/') : NULL;
    if (!word[0] || strcmp(word, ".") == 0 || strcmp(word, "..") == 0)
        return request_complain(e, "this names nothing", word[0] ? word : "\"\"");
    if (!slash) {
        *out_path = request_join(e, str_from(noun->collection), word);
        return CLI_OK;
    }
    enum cli_exit status = CLI_OK;
    struct buf id = buf_in(e->arena);
    const char *first = str_z(e->arena, str_slice(str_from(word), 0, (uint32_t)(slash - word)));
    if (!first[0] || !slash[1])
        return request_complain(e, "half of this is missing", word);
    const int64_t number = noun->find_pair(e, first, slash + 1, &status);
    if (!number)
        return status;
    buf_put_i64(&id, number);
    *out_path = request_join(e, str_from(noun->collection), str_z(e->arena, buf_str(&id)));
    return CLI_OK;
}

enum cli_exit request_path(struct cli_request *e, const char *word, struct str *out_path)
{
    return request_path_of(e, e->noun, word, out_path);
}

/* ---- the whole of it ---- */

bool request_timeout(const struct cli_request *e, int64_t *out_ms)
{
    int64_t seconds = 0;
    if (e->options.timeout &&
        (!str_parse_i64(str_from(e->options.timeout), &seconds) || seconds > 1000000000)) {
        request_complain(e, "this is no number of seconds", e->options.timeout);
        return false;
    }
    *out_ms = e->options.timeout ? seconds * 1000 : ERRAND_FOR_EVER;
    return true;
}

static bool check_operands(const struct cli_request *e)
{
    const struct cli_verb *verb = e->verb;
    if (e->words->count < verb->operands_min) {
        request_complain(e, "something is missing", verb->takes);
        return false;
    }
    if (verb->operands_max != OPERANDS_ANY && e->words->count > verb->operands_max) {
        request_complain(e, "this is one word too many", e->words->texts[verb->operands_max]);
        return false;
    }
    for (int i = 0; i < e->words->count; i++)
        if (!str_is_clean(str_from(e->words->texts[i]))) {
            request_complain(e, "this is not UTF-8", e->words->texts[i]);
            return false;
        }
    return true;
}

enum cli_exit request_run(const struct cli_noun *noun, const struct cli_verb *verb,
                          struct args *words)
{
    struct arena arena = {0};
    struct cli_request e = {
        .arena = &arena, .noun = noun, .verb = verb, .whose = words->whose, .words = words};
    enum cli_exit status = CLI_USAGE;
    if (options_take(words, verb->options | OPTION_SERVER, &e.options) && check_operands(&e) &&
        output_check(&e))
        status = verb->ask(&e);
    client_close(e.client);
    arena_fini(&arena);
    return status;
}
