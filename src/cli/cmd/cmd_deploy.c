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

/* Verbs that bind, commit and retry noderoles, and that read and write values. A noderole is a role
 * bound to a node; commit puts what is proposed into effect. Nothing is kept: each verb sends
 * requests and prints the replies, and the daemon has the state.
 *
 * Order of a commit: consent is requested first, once for all operands (confirm.h). Each commit is
 * sent with the hash of the list that the operator agreed to; if the daemon refuses it with
 * plan_changed, the new list is shown and the commit is sent again. Only after a successful commit
 * the values that it did not publish are reported and --wait starts.
 *
 * Failure: request_send has printed the error, and the verb returns the exit status; what was sent
 * before remains in effect. Several operands are committed in order: a refusal does not prevent the
 * next one, but any other failure does (a failed run, a timeout, no reply, no consent), because
 * later deployments may depend on this one. bind ends at the first failure and prints what was
 * bound. retry continues after a refusal and ends when the server is lost. */

static void deploy_set_string(struct cli_request *req, struct json *object, const char *key,
                              const char *text)
{
    json_set(object, str_from(key), json_make_string(req->arena, str_from(text)));
}

/* ---- bind ---- */

/* One request for each role, with the pairs in each. `to` is the field with the name of the node or
 * deployment, which is the first operand. Roles that were bound before a failure are printed. */
static enum cli_exit bind_roles(struct cli_request *req, const char *collection, const char *to)
{
    struct json *pairs, *made = json_make(req->arena, JSON_ARRAY);
    /* Names of roles follow the first operand, and FIELD=VALUE pairs follow the roles. */
    int roles = 0;
    while (1 + roles < req->args->count && !strchr(req->args->words[1 + roles], '='))
        roles++;
    enum cli_exit status = input_read_pairs(req, 1 + roles, &pairs);
    if (status == CLI_OK && roles == 0)
        return request_usage_error(req, "missing operand", "ROLE");
    for (int i = 1; i <= roles && status == CLI_OK; i++) {
        const struct json *reply;
        struct json *body = json_clone(req->arena, pairs);
        deploy_set_string(req, body, to, req->args->words[0]);
        deploy_set_string(req, body, "role", req->args->words[i]);
        const struct api_request call = {
            .method = "POST", .path = str_from(collection), .body = body};
        status = request_send(req, &call, &reply);
        if (status == CLI_OK)
            json_append(made, json_clone(req->arena, reply));
    }
    req->noun = nouns_of(collection);
    if (made->count == 1)
        output_row(req, made->first);
    else if (made->count)
        output_list(req, made);
    return status;
}

enum cli_exit cmd_deploy_bind(struct cli_request *req)
{
    return bind_roles(req, "node_roles", "node");
}

enum cli_exit cmd_deploy_bind_role(struct cli_request *req)
{
    return bind_roles(req, "deployment_roles", "deployment");
}

/* ---- commit, propose, retry ---- */

/* "KEY=VALUE", URL-encoded; empty if the value is NULL. */
static struct str query_of(struct cli_request *req, const char *key, const char *value)
{
    struct buf b = buf_in(req->arena);
    if (!value)
        return STR("");
    buf_put_z(&b, key);
    buf_put_c(&b, '=');
    request_encode(&b, str_from(value));
    return buf_str(&b);
}

/* Another client may change the deployment between the question and the commit. The question is
 * repeated at most this often. */
enum { CONSENT_ROUNDS_MAX = 10 };

/* --plan replaces the consent: its hash is that of all that the commit does. */
static struct str commit_query(struct cli_request *req, const struct agreement *agreement)
{
    struct buf b = buf_in(req->arena);
    if (req->options.plan)
        buf_put_str(&b, query_of(req, "plan", req->options.plan));
    else if (agreement->hash.len)
        buf_put_str(&b, query_of(req, "consent", str_z(req->arena, agreement->hash)));
    if (req->options.rerun_changed) {
        buf_put_z(&b, b.len ? "&" : "");
        buf_put_z(&b, "rerun_changed=true");
    }
    return buf_str(&b);
}

/* Send the commit with the hash that was agreed to. If the daemon refuses it because the list has
 * changed, ask again. With --plan, and in the last round, that refusal is an error like others. */
static enum cli_exit send_commit(struct cli_request *req, struct agreement *agreement,
                                 const struct json **out_reply)
{
    enum cli_exit status = CLI_OK;
    for (uint32_t round = 1; status == CLI_OK; round++) {
        bool has_changed = false;
        const bool by_plan = req->options.plan;
        const struct api_request call = {
            .method = "PUT",
            .path = request_join(req, agreement->path, "commit"),
            .query = commit_query(req, agreement),
            .expects = by_plan || round == CONSENT_ROUNDS_MAX ? NULL : "plan_changed",
            .out_expected = &has_changed,
        };
        status = request_send(req, &call, out_reply);
        if (!has_changed)
            return status;
        status = confirm_again(req, agreement);
    }
    return status;
}

/* Whether values may exist that the commit did not publish. Deployments have a count of the
 * noderoles with such values; nodes have none, so they are always queried. */
static bool has_unproposed(const struct cli_request *req, const struct json *object)
{
    int64_t count = 0;
    ignore(json_as_i64(json_get(object, STR("unproposed")), &count), "0 of other objects");
    return count > 0 || req->noun == nouns_of("nodes");
}

/* Phases: commit; report what it left out; wait; print the object as it is afterwards. `status` is
 * that of the requests, `end` that of the wait, which takes precedence. */
static enum cli_exit commit_one(struct cli_request *req, struct agreement *agreement,
                                int64_t timeout_ms)
{
    const struct json *reply;
    enum cli_exit status = send_commit(req, agreement, &reply);
    if (status != CLI_OK)
        return status;
    if (has_unproposed(req, reply))
        confirm_warn_unproposed(req, agreement);
    enum cli_exit end = req->options.rerun_changed ? confirm_show_left_out(req, agreement) : CLI_OK;
    if (end != CLI_OK)
        return end;
    if (req->options.wait) {
        end = progress_wait(req, agreement->path, timeout_ms);
        status = request_send(req, &(struct api_request){.path = agreement->path}, &reply);
    }
    if (status == CLI_OK)
        output_row(req, reply);
    return end != CLI_OK ? end : status;
}

enum cli_exit cmd_deploy_commit(struct cli_request *req)
{
    enum cli_exit status = CLI_OK;
    int64_t timeout_ms;
    if (!request_timeout(req, &timeout_ms))
        return CLI_USAGE;
    if (req->options.timeout && !req->options.wait)
        return request_usage_error(req, "--timeout requires --wait", req->options.timeout);
    if (req->options.plan && req->args->count > 1)
        return request_usage_error(req, "--plan accepts one deployment only", req->args->words[1]);
    /* Nothing is committed before the operator has agreed to all operands. */
    struct agreement *agreements =
        arena_array(req->arena, struct agreement, (uint32_t)req->args->count);
    if (!confirm_commits(req, agreements, &status))
        return status;
    for (int i = 0; i < req->args->count; i++) {
        enum cli_exit now = agreements[i].status;
        if (now == CLI_OK)
            now = commit_one(req, &agreements[i], timeout_ms);
        status = status == CLI_OK ? now : status;
        /* After a failed run, a timeout or a lost server the other deployments are not committed,
         * because they may depend on this one. */
        if (now != CLI_OK && !confirm_is_refusal(now))
            return now;
    }
    return status;
}

enum cli_exit cmd_deploy_propose(struct cli_request *req)
{
    struct api_request call = {.method = "PUT"};
    struct json *body;
    const struct json *reply;
    enum cli_exit status = input_read_pairs(req, 1, &body);
    if (status == CLI_OK)
        status = request_path(req, req->args->words[0], &call.path);
    if (status != CLI_OK)
        return status;
    call.path = request_join(req, call.path, "propose");
    call.body = body->first ? body : NULL;
    status = request_send(req, &call, &reply);
    if (status == CLI_OK)
        output_row(req, reply);
    return status;
}

static enum cli_exit retry_one(struct cli_request *req, const struct json *noderole,
                               struct json *done)
{
    const struct json *id = json_get(noderole, STR("id")), *reply;
    if (!id || id->kind != JSON_NUMBER)
        return CLI_OK;
    struct str path = request_join(req, STR("node_roles"), str_z(req->arena, id->text));
    const struct api_request call = {.method = "PUT", .path = request_join(req, path, "retry")};
    const enum cli_exit status = request_send(req, &call, &reply);
    if (status == CLI_OK)
        json_append(done, json_clone(req->arena, reply));
    return status;
}

enum cli_exit cmd_deploy_retry_all(struct cli_request *req)
{
    struct api_request call = {0};
    const struct json *list;
    struct json *done = json_make(req->arena, JSON_ARRAY);
    enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    if (status == CLI_OK) {
        call.path = request_join(req, call.path, "node_roles");
        status = request_send(req, &call, &list);
    }
    if (status != CLI_OK)
        return status;
    req->noun = nouns_of("node_roles");
    /* Continue after a refusal, because a noderole may have been deleted since the list was read.
     */
    for (const struct json *nr = list->first; nr && status != CLI_NO_SERVER; nr = nr->next) {
        const struct cli_state *state = output_state(req->noun, json_get(nr, STR("state")));
        if (!state || strcmp(state->name, "error") != 0)
            continue;
        const enum cli_exit now = retry_one(req, nr, done);
        status = status == CLI_OK || now == CLI_NO_SERVER ? now : status;
    }
    output_list(req, done);
    return status;
}

/* ---- move, power, perform ---- */

enum cli_exit cmd_deploy_move(struct cli_request *req)
{
    struct api_request call = {.method = "PUT"};
    struct json *body = json_make(req->arena, JSON_OBJECT);
    const struct json *reply;
    enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    deploy_set_string(req, body, "deployment", req->args->words[1]);
    call.body = body;
    if (status == CLI_OK)
        status = request_send(req, &call, &reply);
    if (status == CLI_OK)
        output_row(req, reply);
    return status;
}

/* The available power actions, one per line. */
static void output_actions(struct cli_request *req, const struct json *actions)
{
    struct buf b = buf_in(req->arena);
    for (const struct json *action = actions->first; action; action = action->next) {
        if (action->kind == JSON_STRING)
            term_put_escaped(&b, action->text);
        buf_put_c(&b, '\n');
    }
    output_text(buf_str(&b));
}

/* The reply to a power action has the number of an order, and the result is polled under it. */
enum { POWER_POLL_MS = 250 };

static bool has_state(const struct json *reply, const char *state)
{
    const struct json *have = json_get(reply, STR("state"));
    return have && have->kind == JSON_STRING && str_eq(have->text, str_from(state));
}

/* Poll a power order until it is done or failed; *io_reply becomes the last reply. A timeout does
 * not cancel the order. */
static enum cli_exit deploy_wait_power(struct cli_request *req, struct str path, int64_t timeout_ms,
                                       const struct json **io_reply)
{
    const struct json *order = json_get(*io_reply, STR("order"));
    const int64_t start_ms = sys_mono_ms();
    struct server_retry retry = {0};
    if (!order || order->kind != JSON_NUMBER)
        return CLI_OK; /* an older server has no numbered orders and thus no result */
    const struct api_request call = {.path =
                                         request_join(req, path, str_z(req->arena, order->text))};
    for (;;) {
        const struct json *reply;
        const enum cli_exit status = request_send_again(req, &call, &retry, &reply);
        if (status != CLI_OK)
            return status;
        if (reply)
            *io_reply = reply;
        if (reply && has_state(reply, "done"))
            return CLI_OK;
        if (reply && has_state(reply, "failed"))
            return CLI_FAILED;
        const int64_t left_ms = timeout_ms - (sys_mono_ms() - start_ms);
        if (left_ms <= 0) {
            fprintf(stderr, "%s: no result after %s s; the daemon continues with the action\n",
                    req->prog, req->options.timeout);
            return CLI_TIMEOUT;
        }
        watch_pause(left_ms < POWER_POLL_MS ? left_ms : POWER_POLL_MS);
    }
}

enum cli_exit cmd_deploy_power(struct cli_request *req)
{
    const bool is_order = req->args->count > 1;
    const bool waits =
        is_order && (req->options.wait || strcmp(req->args->words[1], "status") == 0);
    struct api_request call = {.method = is_order ? "PUT" : "GET"};
    const struct json *reply;
    int64_t timeout_ms;
    if (!request_timeout(req, &timeout_ms))
        return CLI_USAGE;
    if (req->options.timeout && !waits)
        return request_usage_error(req, "--timeout requires --wait", req->options.timeout);
    enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    if (status != CLI_OK)
        return status;
    call.path = request_join(req, call.path, "power");
    call.query = query_of(req, "poweraction", is_order ? req->args->words[1] : NULL);
    status = request_send(req, &call, &reply);
    if (status != CLI_OK)
        return status;
    if (waits)
        status = deploy_wait_power(req, call.path, timeout_ms, &reply);
    if (!is_order && output_form(req) == OUTPUT_TABLE && reply->kind == JSON_ARRAY)
        output_actions(req, reply);
    else
        output_document(req, reply);
    return status;
}

enum cli_exit cmd_deploy_perform(struct cli_request *req)
{
    struct api_request call = {.method = "POST"};
    struct json *body = json_make(req->arena, JSON_OBJECT),
                *arguments = json_make(req->arena, JSON_ARRAY);
    const struct json *reply;
    enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    if (status != CLI_OK)
        return status;
    for (int i = 2; i < req->args->count; i++)
        json_append(arguments, input_value(req->arena, req->args->words[i]));
    deploy_set_string(req, body, "method", req->args->words[1]);
    json_set(body, STR("args"), arguments);
    call.path = request_join(req, call.path, "perform");
    call.body = body;
    status = request_send(req, &call, &reply);
    if (status != CLI_OK)
        return status;
    output_document(req, reply);
    const struct json *type = json_get(reply, STR("result_type"));
    const bool is_exception =
        type && type->kind == JSON_STRING && str_eq(type->text, STR("exception"));
    return is_exception ? CLI_FAILED : CLI_OK;
}

/* ---- revert ---- */

enum cli_exit cmd_deploy_revert(struct cli_request *req)
{
    struct api_request call = {.method = "PUT"};
    struct json *body = json_make(req->arena, JSON_OBJECT);
    struct str snapshot;
    const struct json *reply;
    enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    if (status == CLI_OK)
        status = request_path_of(req, nouns_of("snapshots"), req->args->words[1], &snapshot);
    if (status != CLI_OK)
        return status;
    const uint32_t slash = str_find(snapshot, '/', 0);
    json_set(body, STR("snapshot"),
             json_make_string(req->arena, str_slice(snapshot, slash + 1, snapshot.len)));
    call.path = request_join(req, call.path, "revert");
    call.body = body;
    status = request_send(req, &call, &reply);
    if (status != CLI_OK)
        return status;
    req->noun = nouns_of("snapshots");
    output_row(req, reply);
    /* Print what the daemon did not propose again, such as destructive roles. */
    const struct json *skipped = json_get(reply, STR("skipped"));
    for (const struct json *s = skipped ? skipped->first : NULL; s; s = s->next) {
        const struct str text = json_write(req->arena, s);
        fprintf(stderr, "%s: not reverted: %.*s\n", req->prog, STR_FMT_ARGS(text));
    }
    return CLI_OK;
}

/* ---- get, set ---- */

static enum cli_exit deploy_attrib_call(struct cli_request *req, struct api_request *call)
{
    const enum cli_exit status = request_path(req, req->args->words[0], &call->path);
    if (status != CLI_OK)
        return status;
    call->path = request_join(req, call->path, "attribs");
    if (req->args->count > 1)
        call->path = request_join(req, call->path, req->args->words[1]);
    return CLI_OK;
}

/* Only the value, a string without quotes, for use in scripts. */
static void output_value(struct cli_request *req, const struct json *value)
{
    struct buf b = buf_in(req->arena);
    if (value && value->kind == JSON_STRING)
        term_put_escaped_lines(&b, value->text);
    else if (value)
        json_write_to(&b, value);
    else
        buf_put_z(&b, "null");
    buf_put_c(&b, '\n');
    output_text(buf_str(&b));
}

enum cli_exit cmd_deploy_get(struct cli_request *req)
{
    static const struct cli_column columns[] = {{"name", NULL}, {"value", NULL}};
    struct cli_noun attribs = *nouns_of("attribs");
    struct api_request call = {.query = query_of(req, "bucket", req->options.bucket)};
    const struct json *reply;
    enum cli_exit status = deploy_attrib_call(req, &call);
    if (status == CLI_OK)
        status = request_send(req, &call, &reply);
    if (status != CLI_OK)
        return status;
    attribs.columns = columns;
    attribs.column_count = 2;
    /* The output functions take the columns from req->noun. */
    const struct cli_noun *noun = req->noun;
    req->noun = &attribs;
    if (reply->kind == JSON_ARRAY)
        output_list(req, reply);
    else if (output_form(req) == OUTPUT_TABLE)
        output_value(req, json_get(reply, STR("value")));
    else
        output_document(req, reply);
    req->noun = noun;
    return CLI_OK;
}

/* The noderole that a value was stored in; NULL: it was not stored in a noderole. A value set on a
 * node is stored in the noderole of the role that owns the attrib, if the node has one. */
static enum cli_exit find_noderole(struct cli_request *req, const struct json *attrib,
                                   const struct json **out_noderole)
{
    const struct json *reply, *role = json_get(attrib, STR("role_id"));
    const bool is_of_node = req->noun == nouns_of("nodes");
    struct api_request call = {0};
    *out_noderole = NULL;
    if ((req->options.bucket && strcmp(req->options.bucket, "user") != 0) ||
        (!is_of_node && req->noun != nouns_of("node_roles")) ||
        (is_of_node && (!role || role->kind != JSON_NUMBER)))
        return CLI_OK;
    enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    if (status == CLI_OK && is_of_node)
        call.path = request_join(req, call.path, "node_roles");
    if (status == CLI_OK)
        status = request_send(req, &call, &reply);
    if (status != CLI_OK)
        return status;
    const struct json *found = is_of_node ? reply->first : reply;
    while (is_of_node && found && !json_eq(json_get(found, STR("role_id")), role))
        found = found->next;
    *out_noderole = found;
    return CLI_OK;
}

/* After a value was stored in a noderole that is not proposed: propose the noderole (--propose) or
 * warn, because no commit publishes the value otherwise. */
static enum cli_exit deploy_propose_or_warn(struct cli_request *req, const struct json *attrib)
{
    const struct json *noderole;
    const enum cli_exit status = find_noderole(req, attrib, &noderole);
    const struct json *id = noderole ? json_get(noderole, STR("id")) : NULL;
    const struct cli_noun *noun = nouns_of("node_roles");
    const struct cli_state *state =
        noderole ? output_state(noun, json_get(noderole, STR("state"))) : NULL;
    if (status != CLI_OK || !id || id->kind != JSON_NUMBER || !state ||
        strcmp(state->name, "proposed") == 0)
        return status;
    if (req->options.propose) {
        const struct json *reply;
        const struct str path = request_join(req, STR("node_roles"), str_z(req->arena, id->text));
        const struct api_request call = {.method = "PUT",
                                         .path = request_join(req, path, "propose")};
        return request_send(req, &call, &reply);
    }
    fprintf(stderr,
            "%s: warning: the value is stored, but noderole %.*s is %s, not proposed: no commit "
            "publishes the value until the noderole is proposed (use --propose, or `halligan "
            "noderoles propose %.*s`)\n",
            req->prog, STR_FMT_ARGS(id->text), state->name, STR_FMT_ARGS(id->text));
    return CLI_OK;
}

/* The value is stored first, then its noderole is proposed: if that fails, the value is stored but
 * no commit publishes it. */
enum cli_exit cmd_deploy_set(struct cli_request *req)
{
    struct api_request call = {.method = "PUT"};
    struct json *body = json_make(req->arena, JSON_OBJECT);
    const struct json *reply;
    enum cli_exit status = deploy_attrib_call(req, &call);
    if (status != CLI_OK)
        return status;
    json_set(body, STR("value"), input_value(req->arena, req->args->words[2]));
    if (req->options.bucket)
        deploy_set_string(req, body, "bucket", req->options.bucket);
    call.body = body;
    status = request_send(req, &call, &reply);
    if (status == CLI_OK)
        status = deploy_propose_or_warn(req, reply);
    if (status != CLI_OK || req->options.quiet)
        return status;
    if (output_form(req) == OUTPUT_TABLE)
        output_value(req, json_get(reply, STR("value")));
    else
        output_document(req, reply);
    return CLI_OK;
}
