#include "cli/cmd/cmd_deploy.h"

#include <stdio.h>
#include <string.h>

#include "cli/args/input_text.h"
#include "cli/cmd/cmd_explain.h"
#include "cli/cmd/confirm.h"
#include "cli/cmd/input.h"
#include "cli/cmd/nouns.h"
#include "cli/cmd/progress.h"
#include "cli/cmd/response_output.h"
#include "cli/cmd/watch.h"
#include "cli/output/term_escape.h"
#include "sys/clock.h"

static void set_text(struct cli_request *e, struct json *object, const char *key, const char *text)
{
    json_set(object, str_from(key), json_make_string(e->arena, str_from(text)));
}

/* ---- bind ---- */

/* Words with an equals sign in them are fields of what is made; roles come before them. */
static int count_plain(const struct cli_request *e, int first)
{
    int i = first;
    while (i < e->words->count && !strchr(e->words->texts[i], '='))
        i++;
    return i - first;
}

static enum cli_exit bind_roles(struct cli_request *e, const char *collection, const char *to)
{
    struct json *pairs, *made = json_make(e->arena, JSON_ARRAY);
    const int roles = count_plain(e, 1);
    enum cli_exit status = input_read_pairs(e, 1 + roles, &pairs);
    if (status == CLI_OK && roles == 0)
        return request_complain(e, "something is missing", "ROLE");
    for (int i = 1; i <= roles && status == CLI_OK; i++) {
        const struct json *answer;
        struct json *body = json_clone(e->arena, pairs);
        set_text(e, body, to, e->words->texts[0]);
        set_text(e, body, "role", e->words->texts[i]);
        const struct api_request q = {.method = "POST", .path = str_from(collection), .body = body};
        status = request_send(e, &q, &answer);
        if (status == CLI_OK)
            json_append(made, json_clone(e->arena, answer));
    }
    e->noun = nouns_of(collection);
    if (made->count == 1)
        output_row(e, made->first);
    else if (made->count)
        output_list(e, made);
    return status;
}

enum cli_exit cmd_deploy_bind(struct cli_request *e)
{
    return bind_roles(e, "node_roles", "node");
}

enum cli_exit cmd_deploy_bind_role(struct cli_request *e)
{
    return bind_roles(e, "deployment_roles", "deployment");
}

/* ---- commit, propose, retry ---- */

static struct str query_of(struct cli_request *e, const char *key, const char *value)
{
    struct buf b = buf_in(e->arena);
    if (!value)
        return STR("");
    buf_put_z(&b, key);
    buf_put_c(&b, '=');
    request_encode(&b, str_from(value));
    return buf_str(&b);
}

/* Others may change what the deployment has while it is asked about; not for ever. */
enum { CONSENT_ROUNDS_MAX = 10 };

static struct str commit_query(struct cli_request *e, const struct agreement *agreement)
{
    struct buf b = buf_in(e->arena);
    if (e->options.plan)
        buf_put_str(&b, query_of(e, "plan", e->options.plan));
    else if (agreement->hash.len)
        buf_put_str(&b, query_of(e, "consent", str_z(e->arena, agreement->hash)));
    if (e->options.rerun_changed) {
        buf_put_z(&b, b.len ? "&" : "");
        buf_put_z(&b, "rerun_changed=true");
    }
    return buf_str(&b);
}

/* What is sent is what was agreed to. If it is that no more, it is asked about again. */
static enum cli_exit send_commit(struct cli_request *e, struct agreement *agreement,
                                 const struct json **out_answer)
{
    enum cli_exit status = CLI_OK;
    for (uint32_t round = 1; status == CLI_OK; round++) {
        bool has_changed = false;
        const bool by_plan = e->options.plan;
        const struct api_request q = {
            .method = "PUT",
            .path = request_join(e, agreement->path, "commit"),
            .query = commit_query(e, agreement),
            .expects = by_plan || round == CONSENT_ROUNDS_MAX ? NULL : "plan_changed",
            .out_expected = &has_changed,
        };
        status = request_send(e, &q, out_answer);
        if (!has_changed)
            return status;
        status = confirm_again(e, agreement);
    }
    return status;
}

/* Deployments count the noderoles with values that a commit does not publish, nodes do not. */
static bool has_unproposed(const struct cli_request *e, const struct json *object)
{
    int64_t count = 0;
    ignore(json_as_i64(json_get(object, STR("unproposed")), &count), "0 of other objects");
    return count > 0 || e->noun == nouns_of("nodes");
}

static enum cli_exit commit_one(struct cli_request *e, struct agreement *agreement,
                                int64_t timeout_ms)
{
    const struct json *answer;
    enum cli_exit status = send_commit(e, agreement, &answer);
    if (status != CLI_OK)
        return status;
    if (has_unproposed(e, answer))
        confirm_warn_unproposed(e, agreement);
    enum cli_exit end = e->options.rerun_changed ? confirm_show_left_out(e, agreement) : CLI_OK;
    if (end != CLI_OK)
        return end;
    if (e->options.wait) {
        end = progress_wait(e, agreement->path, timeout_ms);
        status = request_send(e, &(struct api_request){.path = agreement->path}, &answer);
    }
    if (status == CLI_OK)
        output_row(e, answer);
    return end != CLI_OK ? end : status;
}

enum cli_exit cmd_deploy_commit(struct cli_request *e)
{
    enum cli_exit status = CLI_OK;
    int64_t timeout_ms;
    if (!request_timeout(e, &timeout_ms))
        return CLI_USAGE;
    if (e->options.timeout && !e->options.wait)
        return request_complain(e, "--timeout is for --wait", e->options.timeout);
    if (e->options.plan && e->words->count > 1)
        return request_complain(e, "a plan is of one deployment", e->words->texts[1]);
    struct agreement *agreements =
        arena_array(e->arena, struct agreement, (uint32_t)e->words->count);
    if (!confirm_to_commits(e, agreements, &status))
        return status;
    for (int i = 0; i < e->words->count; i++) {
        enum cli_exit now = agreements[i].status;
        if (now == CLI_OK)
            now = commit_one(e, &agreements[i], timeout_ms);
        status = status == CLI_OK ? now : status;
        /* Work that failed or was not done in time keeps the others from being committed: they may
         * build on it. */
        if (now != CLI_OK && !confirm_is_refusal(now))
            return now;
    }
    return status;
}

enum cli_exit cmd_deploy_propose(struct cli_request *e)
{
    struct api_request q = {.method = "PUT"};
    struct json *body;
    const struct json *answer;
    enum cli_exit status = input_read_pairs(e, 1, &body);
    if (status == CLI_OK)
        status = request_path(e, e->words->texts[0], &q.path);
    if (status != CLI_OK)
        return status;
    q.path = request_join(e, q.path, "propose");
    q.body = body->first ? body : NULL;
    status = request_send(e, &q, &answer);
    if (status == CLI_OK)
        output_row(e, answer);
    return status;
}

static enum cli_exit retry_one(struct cli_request *e, const struct json *noderole,
                               struct json *done)
{
    const struct json *id = json_get(noderole, STR("id")), *answer;
    if (!id || id->kind != JSON_NUMBER)
        return CLI_OK;
    struct str path = request_join(e, STR("node_roles"), str_z(e->arena, id->text));
    const struct api_request q = {.method = "PUT", .path = request_join(e, path, "retry")};
    const enum cli_exit status = request_send(e, &q, &answer);
    if (status == CLI_OK)
        json_append(done, json_clone(e->arena, answer));
    return status;
}

enum cli_exit cmd_deploy_retry_all(struct cli_request *e)
{
    struct api_request q = {0};
    const struct json *list;
    struct json *done = json_make(e->arena, JSON_ARRAY);
    enum cli_exit status = request_path(e, e->words->texts[0], &q.path);
    if (status == CLI_OK) {
        q.path = request_join(e, q.path, "node_roles");
        status = request_send(e, &q, &list);
    }
    if (status != CLI_OK)
        return status;
    e->noun = nouns_of("node_roles");
    /* One that was refused, as it may be gone by now, does not keep us from the others. */
    for (const struct json *nr = list->first; nr && status != CLI_NO_SERVER; nr = nr->next) {
        const struct cli_state *state = output_state(e->noun, json_get(nr, STR("state")));
        if (!state || strcmp(state->name, "error") != 0)
            continue;
        const enum cli_exit now = retry_one(e, nr, done);
        status = status == CLI_OK || now == CLI_NO_SERVER ? now : status;
    }
    output_list(e, done);
    return status;
}

/* ---- machines ---- */

enum cli_exit cmd_deploy_move(struct cli_request *e)
{
    struct api_request q = {.method = "PUT"};
    struct json *body = json_make(e->arena, JSON_OBJECT);
    const struct json *answer;
    enum cli_exit status = request_path(e, e->words->texts[0], &q.path);
    set_text(e, body, "deployment", e->words->texts[1]);
    q.body = body;
    if (status == CLI_OK)
        status = request_send(e, &q, &answer);
    if (status == CLI_OK)
        output_row(e, answer);
    return status;
}

/* One word a line: it is what the next call may say. */
static void output_words(struct cli_request *e, const struct json *words)
{
    struct buf b = buf_in(e->arena);
    for (const struct json *word = words->first; word; word = word->next) {
        if (word->kind == JSON_STRING)
            term_put_escaped(&b, word->text);
        buf_put_c(&b, '\n');
    }
    output_text(buf_str(&b));
}

enum { POWER_LOOK_MS = 250 };

static bool has_state(const struct json *answer, const char *state)
{
    const struct json *have = json_get(answer, STR("state"));
    return have && have->kind == JSON_STRING && str_eq(have->text, str_from(state));
}

/* Ask what became of the order until it has ended; *io_answer is the last answer. */
static enum cli_exit await_power(struct cli_request *e, struct str path, int64_t timeout_ms,
                                 const struct json **io_answer)
{
    const struct json *order = json_get(*io_answer, STR("order"));
    const int64_t start_ms = sys_mono_ms();
    struct patience patience = {0};
    if (!order || order->kind != JSON_NUMBER)
        return CLI_OK; /* a server that gives no number has no more to tell */
    const struct api_request q = {.path = request_join(e, path, str_z(e->arena, order->text))};
    for (;;) {
        const struct json *answer;
        const enum cli_exit status = request_send_again(e, &q, &patience, &answer);
        if (status != CLI_OK)
            return status;
        if (answer)
            *io_answer = answer;
        if (answer && has_state(answer, "done"))
            return CLI_OK;
        if (answer && has_state(answer, "failed"))
            return CLI_FAILED;
        const int64_t left_ms = timeout_ms - (sys_mono_ms() - start_ms);
        if (left_ms <= 0) {
            fprintf(stderr, "%s: the machine has not answered after %s s; the order goes on\n",
                    e->whose, e->options.timeout);
            return CLI_TIMEOUT;
        }
        watch_pause(left_ms < POWER_LOOK_MS ? left_ms : POWER_LOOK_MS);
    }
}

enum cli_exit cmd_deploy_power(struct cli_request *e)
{
    const bool is_order = e->words->count > 1;
    const bool waits = is_order && (e->options.wait || strcmp(e->words->texts[1], "status") == 0);
    struct api_request q = {.method = is_order ? "PUT" : "GET"};
    const struct json *answer;
    int64_t timeout_ms;
    if (!request_timeout(e, &timeout_ms))
        return CLI_USAGE;
    if (e->options.timeout && !waits)
        return request_complain(e, "--timeout is for --wait", e->options.timeout);
    enum cli_exit status = request_path(e, e->words->texts[0], &q.path);
    if (status != CLI_OK)
        return status;
    q.path = request_join(e, q.path, "power");
    q.query = query_of(e, "poweraction", is_order ? e->words->texts[1] : NULL);
    status = request_send(e, &q, &answer);
    if (status != CLI_OK)
        return status;
    if (waits)
        status = await_power(e, q.path, timeout_ms, &answer);
    if (!is_order && output_form(e) == OUTPUT_TABLE && answer->kind == JSON_ARRAY)
        output_words(e, answer);
    else
        output_document(e, answer);
    return status;
}

enum cli_exit cmd_deploy_perform(struct cli_request *e)
{
    struct api_request q = {.method = "POST"};
    struct json *body = json_make(e->arena, JSON_OBJECT), *args = json_make(e->arena, JSON_ARRAY);
    const struct json *answer;
    enum cli_exit status = request_path(e, e->words->texts[0], &q.path);
    if (status != CLI_OK)
        return status;
    for (int i = 2; i < e->words->count; i++)
        json_append(args, input_value(e->arena, e->words->texts[i]));
    set_text(e, body, "method", e->words->texts[1]);
    json_set(body, STR("args"), args);
    q.path = request_join(e, q.path, "perform");
    q.body = body;
    status = request_send(e, &q, &answer);
    if (status != CLI_OK)
        return status;
    output_document(e, answer);
    const struct json *type = json_get(answer, STR("result_type"));
    const bool is_exception =
        type && type->kind == JSON_STRING && str_eq(type->text, STR("exception"));
    return is_exception ? CLI_FAILED : CLI_OK;
}

/* ---- revert ---- */

static void tell_skipped(struct cli_request *e, const struct json *skipped)
{
    struct buf b = buf_in(e->arena);
    for (const struct json *s = skipped ? skipped->first : NULL; s; s = s->next) {
        b.len = 0;
        json_write_to(&b, s);
        fprintf(stderr, "%s: left as it is: %.*s\n", e->whose, STR_FMT_ARGS(buf_str(&b)));
    }
}

enum cli_exit cmd_deploy_revert(struct cli_request *e)
{
    struct api_request q = {.method = "PUT"};
    struct json *body = json_make(e->arena, JSON_OBJECT);
    struct str snapshot;
    const struct json *answer;
    enum cli_exit status = request_path(e, e->words->texts[0], &q.path);
    if (status == CLI_OK)
        status = request_path_of(e, nouns_of("snapshots"), e->words->texts[1], &snapshot);
    if (status != CLI_OK)
        return status;
    const uint32_t slash = str_find(snapshot, '/', 0);
    json_set(body, STR("snapshot"),
             json_make_string(e->arena, str_slice(snapshot, slash + 1, snapshot.len)));
    q.path = request_join(e, q.path, "revert");
    q.body = body;
    status = request_send(e, &q, &answer);
    if (status != CLI_OK)
        return status;
    e->noun = nouns_of("snapshots");
    output_row(e, answer);
    tell_skipped(e, json_get(answer, STR("skipped")));
    return CLI_OK;
}

/* ---- attribs of an object ---- */

static enum cli_exit attrib_question(struct cli_request *e, struct api_request *q)
{
    const enum cli_exit status = request_path(e, e->words->texts[0], &q->path);
    if (status != CLI_OK)
        return status;
    q->path = request_join(e, q->path, "attribs");
    if (e->words->count > 1)
        q->path = request_join(e, q->path, e->words->texts[1]);
    return CLI_OK;
}

/* The value alone, a text without its quotes: that is what a script wants. */
static void output_value(struct cli_request *e, const struct json *value)
{
    struct buf b = buf_in(e->arena);
    if (value && value->kind == JSON_STRING)
        term_put_escaped_lines(&b, value->text);
    else if (value)
        json_write_to(&b, value);
    else
        buf_put_z(&b, "null");
    buf_put_c(&b, '\n');
    output_text(buf_str(&b));
}

enum cli_exit cmd_deploy_get(struct cli_request *e)
{
    static const struct cli_column columns[] = {{"name", NULL}, {"value", NULL}};
    struct cli_noun attribs = *nouns_of("attribs");
    struct api_request q = {.query = query_of(e, "bucket", e->options.bucket)};
    const struct json *answer;
    enum cli_exit status = attrib_question(e, &q);
    if (status == CLI_OK)
        status = request_send(e, &q, &answer);
    if (status != CLI_OK)
        return status;
    attribs.columns = columns;
    attribs.column_count = 2;
    const struct cli_noun *noun = e->noun;
    e->noun = &attribs;
    if (answer->kind == JSON_ARRAY)
        output_list(e, answer);
    else if (output_form(e) == OUTPUT_TABLE)
        output_value(e, json_get(answer, STR("value")));
    else
        output_document(e, answer);
    e->noun = noun;
    return CLI_OK;
}

/* The noderole that a value was stored on; NULL: it was stored elsewhere. A value of a node belongs
 * to its noderole of the role that owns the attrib, if it has one. */
static enum cli_exit find_noderole(struct cli_request *e, const struct json *attrib,
                                   const struct json **out_noderole)
{
    const struct json *answer, *role = json_get(attrib, STR("role_id"));
    const bool is_of_node = e->noun == nouns_of("nodes");
    struct api_request q = {0};
    *out_noderole = NULL;
    if ((e->options.bucket && strcmp(e->options.bucket, "user") != 0) ||
        (!is_of_node && e->noun != nouns_of("node_roles")) ||
        (is_of_node && (!role || role->kind != JSON_NUMBER)))
        return CLI_OK;
    enum cli_exit status = request_path(e, e->words->texts[0], &q.path);
    if (status == CLI_OK && is_of_node)
        q.path = request_join(e, q.path, "node_roles");
    if (status == CLI_OK)
        status = request_send(e, &q, &answer);
    if (status != CLI_OK)
        return status;
    const struct json *found = is_of_node ? answer->first : answer;
    while (is_of_node && found && !json_eq(json_get(found, STR("role_id")), role))
        found = found->next;
    *out_noderole = found;
    return CLI_OK;
}

static enum cli_exit propose_noderole(struct cli_request *e, struct str path)
{
    const struct json *answer;
    const struct api_request q = {.method = "PUT", .path = request_join(e, path, "propose")};
    return request_send(e, &q, &answer);
}

/* The value is stored. No commit publishes it unless the noderole is proposed: do that, or warn. */
static enum cli_exit settle_proposal(struct cli_request *e, const struct json *attrib)
{
    const struct json *noderole;
    const enum cli_exit status = find_noderole(e, attrib, &noderole);
    const struct json *id = noderole ? json_get(noderole, STR("id")) : NULL;
    const struct cli_noun *noun = nouns_of("node_roles");
    const struct cli_state *state =
        noderole ? output_state(noun, json_get(noderole, STR("state"))) : NULL;
    if (status != CLI_OK || !id || id->kind != JSON_NUMBER || !state ||
        strcmp(state->name, "proposed") == 0)
        return status;
    if (e->options.propose)
        return propose_noderole(e, request_join(e, STR("node_roles"), str_z(e->arena, id->text)));
    fprintf(stderr,
            "%s: the value is stored, but noderole %.*s is %s, not proposed: no commit publishes "
            "it before it is proposed (--propose, or halligan noderoles propose %.*s)\n",
            e->whose, STR_FMT_ARGS(id->text), state->name, STR_FMT_ARGS(id->text));
    return CLI_OK;
}

enum cli_exit cmd_deploy_set(struct cli_request *e)
{
    struct api_request q = {.method = "PUT"};
    struct json *body = json_make(e->arena, JSON_OBJECT);
    const struct json *answer;
    enum cli_exit status = attrib_question(e, &q);
    if (status != CLI_OK)
        return status;
    json_set(body, STR("value"), input_value(e->arena, e->words->texts[2]));
    if (e->options.bucket)
        set_text(e, body, "bucket", e->options.bucket);
    q.body = body;
    status = request_send(e, &q, &answer);
    if (status == CLI_OK)
        status = settle_proposal(e, answer);
    if (status != CLI_OK || e->options.quiet)
        return status;
    if (output_form(e) == OUTPUT_TABLE)
        output_value(e, json_get(answer, STR("value")));
    else
        output_document(e, answer);
    return CLI_OK;
}
