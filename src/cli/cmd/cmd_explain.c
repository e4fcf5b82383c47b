#include "cli/cmd/cmd_explain.h"

#include <string.h>

#include "cli/cmd/nouns.h"
#include "cli/cmd/response_output.h"
#include "cli/output/explain_machines.h"
#include "cli/output/targets.h"
#include "cli/output/term_escape.h"

/* Prints what the daemon computed: plans of commits, differences of snapshots, and the inventory
 * for Ansible. Also looks up objects that are named by two names, such as NODE/ROLE.
 *
 * Nothing is kept or changed; all requests are GET. A plan lists what a commit would do, with a
 * hash for commit --plan. A wave is the set of noderoles that can start together: a noderole is in
 * the wave after the last of its parents. A snapshot is the content of a deployment at one commit.
 *
 * Order: the lines of a plan are in the order in which an operator reads them: totals, details,
 * values that the commit would not publish, and the hash last. The reply is complete before
 * anything is printed, so that a failure prints no part of a plan.
 *
 * Failure: request_send has printed the error, and the exit status is returned. A member that is
 * missing in a reply, for example one of an older daemon, is left out. */

/* A string, or a number as text; "": missing. */
static struct str explain_text(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, str_from(key));
    if (!value || (value->kind != JSON_STRING && value->kind != JSON_NUMBER))
        return STR("");
    return value->text;
}

/* ---- objects named by two names ---- */

/* The id in the reply; 0: failed, and the error is printed. */
static int64_t explain_fetch_id(struct cli_request *req, const struct api_request *call,
                                enum cli_exit *out_status)
{
    const struct json *object;
    int64_t id = 0;
    *out_status = request_send(req, call, &object);
    if (*out_status == CLI_OK && !json_as_i64(json_get(object, STR("id")), &id))
        *out_status = request_report_failure(req, "unexpected reply: the object has no id");
    return *out_status == CLI_OK ? id : 0;
}

int64_t cmd_explain_find_noderole(struct cli_request *req, const char *node, const char *role,
                                  enum cli_exit *out_status)
{
    const struct str path = request_join(req, STR("nodes"), node);
    const struct api_request call = {
        .path = request_join(req, request_join(req, path, "node_roles"), role)};
    return explain_fetch_id(req, &call, out_status);
}

int64_t cmd_explain_find_deployment_role(struct cli_request *req, const char *deployment,
                                         const char *role, enum cli_exit *out_status)
{
    struct buf query = buf_in(req->arena);
    buf_put_z(&query, "deployment=");
    request_encode(&query, str_from(deployment));
    const struct api_request call = {.path = request_join(req, STR("deployment_roles"), role),
                                     .query = buf_str(&query)};
    return explain_fetch_id(req, &call, out_status);
}

/* `number` is the seq of the snapshot in its deployment, or its name. If several match, the last
 * one of the list is used. */
int64_t cmd_explain_find_snapshot(struct cli_request *req, const char *deployment,
                                  const char *number, enum cli_exit *out_status)
{
    const struct json *list;
    int64_t id = 0;
    const struct api_request call = {
        .path = request_join(req, request_join(req, STR("deployments"), deployment), "snapshots")};
    *out_status = request_send(req, &call, &list);
    if (*out_status != CLI_OK)
        return 0;
    for (const struct json *s = list->first; s; s = s->next)
        if (str_eq(explain_text(s, "seq"), str_from(number)) ||
            str_eq(explain_text(s, "name"), str_from(number)))
            ignore(json_as_i64(json_get(s, STR("id")), &id), "0 is reported below");
    if (id)
        return id;
    args_error(req->args, "the deployment has no snapshot", number);
    *out_status = CLI_NOT_FOUND;
    return 0;
}

/* ---- plan ---- */

/* "middle on n1.example.com": role and node of a noderole. An entry without both is written as
 * JSON. */
static void explain_put_binding(struct buf *b, const struct json *entry)
{
    const struct str role = explain_text(entry, "role_name"),
                     node = explain_text(entry, "node_name");
    if (!role.len && !node.len) {
        json_write_to(b, entry);
        return;
    }
    term_put_escaped(b, role);
    buf_put_z(b, node.len ? " on " : "");
    term_put_escaped(b, node);
}

/* "    web/workers: 8 -> 16". `values` has a list with the old and the new value for each path. */
static void explain_put_values(struct buf *b, const struct json *entry)
{
    const struct json *paths = json_get(entry, STR("paths"));
    const struct json *values = json_get(entry, STR("values"));
    const struct json *pair = values ? values->first : NULL;
    for (const struct json *path = paths ? paths->first : NULL; path && pair; path = path->next) {
        buf_put_z(b, "    ");
        term_put_escaped(b, path->text);
        buf_put_z(b, ": ");
        for (const struct json *value = pair->first; value; value = value->next) {
            struct buf text = buf_in(b->arena);
            json_write_to(&text, value);
            term_put_escaped(b, buf_str(&text));
            buf_put_z(b, value->next ? " -> " : "\n");
        }
        pair = pair->next;
    }
    if (json_is_true(json_get(entry, STR("clipped"))))
        buf_put_z(b, "    (shortened: values that are too long are shown as null)\n");
}

/* "web on n1.example.com: web/workers 8 -> 16, web/port null -> 80" */
void cmd_explain_put_unproposed(struct buf *b, const struct json *entry)
{
    const struct json *paths = json_get(entry, STR("paths"));
    const struct json *values = json_get(entry, STR("values"));
    const struct json *pair = values ? values->first : NULL;
    explain_put_binding(b, entry);
    for (const struct json *path = paths ? paths->first : NULL; path && pair; path = path->next) {
        buf_put_z(b, path == paths->first ? ": " : ", ");
        term_put_escaped(b, path->text);
        buf_put_c(b, ' ');
        for (const struct json *value = pair->first; value; value = value->next) {
            struct buf text = buf_in(b->arena);
            json_write_to(&text, value);
            term_put_escaped(b, buf_str(&text));
            buf_put_z(b, value->next ? " -> " : "");
        }
        pair = pair->next;
    }
    if (json_is_true(json_get(entry, STR("clipped"))))
        buf_put_z(b, " (shortened: values that are too long are shown as null)");
}

/* One line for each entry of the list `key`: label, noderole, reason and announced steps. */
static void explain_put_entries(struct buf *b, const struct json *doc, const char *key,
                                const char *label)
{
    const struct json *list = json_get(doc, str_from(key));
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        const struct json *steps = json_get(entry, STR("steps"));
        const struct str why = explain_text(entry, "why");
        buf_put_z(b, label);
        explain_put_binding(b, entry);
        if (why.len) {
            buf_put_z(b, ": ");
            term_put_escaped(b, why);
        }
        if (steps) {
            buf_put_z(b, ": ");
            json_write_to(b, steps);
        }
        buf_put_c(b, '\n');
        explain_put_values(b, entry);
    }
}

/* "wave 2       run middle on n1.example.com" */
static void explain_put_runs(struct buf *b, const struct json *doc)
{
    const struct json *runs = json_get(doc, STR("runs"));
    for (const struct json *run = runs ? runs->first : NULL; run; run = run->next) {
        buf_put_z(b, "wave ");
        term_put_escaped(b, explain_text(run, "wave"));
        buf_put_z(b, "       ");
        term_put_escaped(b, explain_text(run, "how"));
        buf_put_c(b, ' ');
        explain_put_binding(b, run);
        buf_put_c(b, '\n');
    }
}

/* "MISSING      ntp-servers of ntp-client on n1.example.com: REASON": a required value that is not
 * set. */
static void explain_put_missing(struct buf *b, const struct json *doc)
{
    const struct json *missing = json_get(doc, STR("missing"));
    for (const struct json *entry = missing ? missing->first : NULL; entry; entry = entry->next) {
        buf_put_z(b, "MISSING      ");
        term_put_escaped(b, explain_text(entry, "attrib"));
        buf_put_z(b, " of ");
        explain_put_binding(b, entry);
        buf_put_z(b, ": ");
        term_put_escaped(b, explain_text(entry, "why"));
        buf_put_c(b, '\n');
    }
}

/* ---- summary of a plan ---- */

static int64_t explain_count(const struct json *object, const char *key)
{
    int64_t count = 0;
    if (object)
        ignore(json_as_i64(json_get(object, str_from(key)), &count), "a missing count is 0");
    return count;
}

/* "run          12: middle 8, base 4"; nothing if the count is 0. */
static void explain_put_action(struct buf *b, const struct json *summary, const char *key,
                               const char *label)
{
    const int64_t count = explain_count(json_get(summary, STR("actions")), key);
    const struct json *roles = json_get(summary, STR("roles"));
    const char *before = ": ";
    if (!count)
        return;
    buf_put_z(b, label);
    buf_put_i64(b, count);
    for (const struct json *role = roles ? roles->first : NULL; role; role = role->next) {
        if (!explain_count(role, key))
            continue;
        buf_put_z(b, before);
        term_put_escaped(b, explain_text(role, "role_name"));
        buf_put_c(b, ' ');
        buf_put_i64(b, explain_count(role, key));
        before = ", ";
    }
    buf_put_c(b, '\n');
}

/* "wave 2       8 run, 4 noop" */
static void explain_put_waves(struct buf *b, const struct json *summary)
{
    static const char *const ways[] = {"run", "again", "noop", "skip"};
    const struct json *waves = json_get(summary, STR("waves"));
    for (const struct json *wave = waves ? waves->first : NULL; wave; wave = wave->next) {
        const char *before = "       ";
        buf_put_z(b, "wave ");
        term_put_escaped(b, explain_text(wave, "wave"));
        for (uint32_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            if (!explain_count(wave, ways[i]))
                continue;
            buf_put_z(b, before);
            buf_put_i64(b, explain_count(wave, ways[i]));
            buf_put_c(b, ' ');
            buf_put_z(b, ways[i]);
            before = ", ";
        }
        buf_put_c(b, '\n');
    }
    const int64_t more =
        explain_count(summary, "waves_count") - (waves ? (int64_t)waves->count : 0);
    if (more > 0) {
        buf_put_z(b, "and ");
        buf_put_i64(b, more);
        buf_put_z(b, " more waves\n");
    }
}

/* "DESTRUCTIVE  12 os-install: wipe, boot" */
static void explain_put_destructive(struct buf *b, const struct json *summary)
{
    const struct json *list = json_get(summary, STR("destructive"));
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        const struct json *steps = json_get(entry, STR("steps"));
        buf_put_z(b, "DESTRUCTIVE  ");
        buf_put_i64(b, explain_count(entry, "count"));
        buf_put_c(b, ' ');
        term_put_escaped(b, explain_text(entry, "role_name"));
        for (const struct json *s = steps ? steps->first : NULL; s; s = s->next) {
            buf_put_z(b, s == steps->first ? ": " : ", ");
            term_put_escaped(b, s->text);
        }
        buf_put_c(b, '\n');
    }
}

/* "run again    8 web: values of its role in the deployment change" */
static void explain_put_reruns(struct buf *b, const struct json *summary)
{
    static const struct {
        const char *reason, *label;
    } reasons[] = {{"asked", "a run of it is enqueued"},
                   {"cluster", "its cluster, or one that it depends on, grows"},
                   {"committed", "it was proposed, and is committed again"},
                   {"role_data", "values of its role in the deployment change"},
                   {"waiting", "it was already waiting for a run"}};
    const struct json *list = json_get(summary, STR("reruns"));
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        const struct str reason = explain_text(entry, "reason");
        buf_put_z(b, "run again    ");
        buf_put_i64(b, explain_count(entry, "count"));
        buf_put_c(b, ' ');
        term_put_escaped(b, explain_text(entry, "role_name"));
        buf_put_z(b, ": ");
        uint32_t i = 0;
        while (i < sizeof reasons / sizeof *reasons && !str_eq(reason, str_from(reasons[i].reason)))
            i++;
        if (i < sizeof reasons / sizeof *reasons)
            buf_put_z(b, reasons[i].label);
        else
            term_put_escaped(b, reason);
        buf_put_c(b, '\n');
    }
}

/* "values       web, in the deployment", followed by a line with the old and the new value for each
 * path */
static void explain_put_new_values(struct buf *b, const struct json *summary)
{
    const struct json *list = json_get(summary, STR("values"));
    int64_t shown = 0;
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        const bool is_of_deployment = str_eq(explain_text(entry, "scope"), STR("deployment"));
        shown += explain_count(entry, "count");
        buf_put_z(b, "values       ");
        term_put_escaped(b, explain_text(entry, "role_name"));
        if (is_of_deployment) {
            buf_put_z(b, ", in the deployment");
        } else {
            buf_put_z(b, ", noderoles: ");
            buf_put_i64(b, explain_count(entry, "count"));
        }
        buf_put_c(b, '\n');
        explain_put_values(b, entry);
    }
    if (explain_count(summary, "values_count") > shown) {
        buf_put_z(b, "values       of ");
        buf_put_i64(b, explain_count(summary, "values_count") - shown);
        buf_put_z(b, " more change\n");
    }
}

/* "held         12: not_alive 8, error 4" */
static void explain_put_held(struct buf *b, const struct json *summary)
{
    const struct json *list = json_get(summary, STR("held"));
    const int64_t count = explain_count(json_get(summary, STR("actions")), "hold");
    if (!count)
        return;
    buf_put_z(b, "held         ");
    buf_put_i64(b, count);
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        buf_put_z(b, entry == list->first ? ": " : ", ");
        term_put_escaped(b, explain_text(entry, "cause"));
        buf_put_c(b, ' ');
        buf_put_i64(b, explain_count(entry, "count"));
    }
    buf_put_c(b, '\n');
}

static void explain_put_total(struct buf *b, const struct json *summary, const char *key,
                              const char *label)
{
    if (!explain_count(summary, key))
        return;
    buf_put_z(b, label);
    buf_put_i64(b, explain_count(summary, key));
    buf_put_c(b, '\n');
}

/* "names        1", followed by a line for each of the first ones, with - for no name:
 * "    10.0.0.5/24 of n1.example.com: old -> new" */
static void explain_put_names(struct buf *b, const struct json *summary)
{
    const struct json *list = json_get(summary, STR("names"));
    explain_put_total(b, summary, "names_count", "names        ");
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        const struct str from = explain_text(entry, "from"), to = explain_text(entry, "to");
        buf_put_z(b, "    ");
        term_put_escaped(b, explain_text(entry, "address"));
        buf_put_z(b, " of ");
        term_put_escaped(b, explain_text(entry, "node_name"));
        buf_put_z(b, ": ");
        term_put_escaped(b, from.len ? from : STR("-"));
        buf_put_z(b, " -> ");
        term_put_escaped(b, to.len ? to : STR("-"));
        buf_put_c(b, '\n');
    }
}

static void explain_put_summary(struct buf *b, const struct json *doc)
{
    const struct json *summary = json_get(doc, STR("summary"));
    if (!summary)
        return;
    buf_put_z(b, "machines     ");
    buf_put_i64(b, explain_count(summary, "machines"));
    buf_put_c(b, '\n');
    explain_put_total(b, summary, "power", "switch on    ");
    explain_put_action(b, summary, "commit_role", "commit roles ");
    explain_put_action(b, summary, "commit", "commit       ");
    explain_put_action(b, summary, "remove", "remove       ");
    explain_put_action(b, summary, "run", "run          ");
    explain_put_action(b, summary, "again", "again        ");
    explain_put_action(b, summary, "noop", "no-op        ");
    explain_put_action(b, summary, "skip", "skip         ");
    explain_put_waves(b, summary);
    explain_put_destructive(b, summary);
    explain_put_reruns(b, summary);
    explain_put_new_values(b, summary);
    explain_put_names(b, summary);
    explain_put_total(b, summary, "changed", "new defaults ");
    explain_put_total(b, summary, "changed_destructive", "new defaults, never rerun: ");
    explain_put_held(b, summary);
    explain_put_total(b, summary, "missing", "MISSING      ");
}

/* Values in noderoles that are not proposed, so that the commit would not publish them. The daemon
 * may shorten the list; the summary has the count of all. */
static void explain_put_unproposed(struct buf *b, const struct json *doc)
{
    const struct json *list = json_get(doc, STR("unproposed"));
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        buf_put_z(b, "stored but not proposed: ");
        cmd_explain_put_unproposed(b, entry);
        buf_put_c(b, '\n');
    }
    const int64_t more = explain_count(json_get(doc, STR("summary")), "unproposed") -
                         (list ? (int64_t)list->count : 0);
    if (more > 0) {
        buf_put_z(b, "stored but not proposed: ");
        buf_put_i64(b, more);
        buf_put_z(b, " more\n");
    }
}

static void explain_put_detail(struct buf *b, const struct json *doc)
{
    explain_put_entries(b, doc, "role_commits", "commit role  ");
    explain_put_entries(b, doc, "commits", "commit       ");
    explain_put_entries(b, doc, "removes", "remove       ");
    explain_machines_put(b, doc);
    explain_put_entries(b, doc, "reruns", "run again    ");
    explain_put_entries(b, doc, "destructive", "DESTRUCTIVE  ");
    explain_put_entries(b, doc, "announced", "announced    ");
    explain_put_runs(b, doc);
    explain_put_entries(b, doc, "changed", "new defaults ");
    explain_put_entries(b, doc, "changed_destructive", "new defaults, never rerun: ");
    explain_put_entries(b, doc, "held", "held         ");
    explain_put_missing(b, doc);
}

/* A table shows the totals, and each noderole with --detail. JSON and YAML are the whole plan; for
 * -q and totals only the summary is requested, which is much smaller. */
enum cli_exit cmd_explain_plan(struct cli_request *req)
{
    const struct json *plan;
    struct buf b = buf_in(req->arena);
    struct api_request call = {0};
    const bool is_table = output_form(req) == OUTPUT_TABLE;
    enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    if (status != CLI_OK)
        return status;
    call.path = request_join(req, call.path, "plan");
    if (req->options.quiet || (is_table && !req->options.detail))
        call.query = STR("summary=true");
    status = request_send(req, &call, &plan);
    if (status != CLI_OK)
        return status;
    if (req->options.quiet) {
        term_put_escaped(&b, explain_text(plan, "hash"));
        buf_put_c(&b, '\n');
    } else if (is_table) {
        explain_put_summary(&b, plan);
        if (req->options.detail)
            explain_put_detail(&b, plan);
        targets_put_destroyed(&b, plan);
        explain_put_unproposed(&b, plan);
        buf_put_z(&b, "plan         ");
        term_put_escaped(&b, explain_text(plan, "hash"));
        buf_put_c(&b, '\n');
    } else {
        output_document(req, plan);
    }
    output_text(buf_str(&b));
    return CLI_OK;
}

/* ---- diff ---- */

/* `from` and `to` are paths ("snapshots/3"); the request has the id of the second only. */
static enum cli_exit explain_diff(struct cli_request *req, struct str from, struct str to)
{
    const struct json *reply;
    struct buf b = buf_in(req->arena);
    const struct str other = str_slice(to, str_find(to, '/', 0) + 1, to.len);
    const struct api_request call = {
        .path = request_join(req, request_join(req, from, "diff"), str_z(req->arena, other))};
    const enum cli_exit status = request_send(req, &call, &reply);
    if (status != CLI_OK)
        return status;
    if (output_form(req) != OUTPUT_TABLE) {
        output_document(req, reply);
        return CLI_OK;
    }
    explain_put_entries(&b, reply, "removed", "- ");
    explain_put_entries(&b, reply, "added", "+ ");
    explain_put_entries(&b, reply, "changed", "~ ");
    output_text(buf_str(&b));
    return CLI_OK;
}

enum cli_exit cmd_explain_diff(struct cli_request *req)
{
    struct str from, to;
    enum cli_exit status = request_path(req, req->args->words[0], &from);
    if (status == CLI_OK)
        status = request_path(req, req->args->words[1], &to);
    return status == CLI_OK ? explain_diff(req, from, to) : status;
}

/* Set *out_to to the head of the deployment (its newest snapshot), and *out_from, if it is empty,
 * to the predecessor of the head. */
static enum cli_exit explain_find_snapshots(struct cli_request *req, struct str *out_from,
                                            struct str *out_to)
{
    const struct json *head;
    struct api_request call = {0};
    enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    if (status != CLI_OK)
        return status;
    call.path = request_join(req, call.path, "head");
    status = request_send(req, &call, &head);
    if (status != CLI_OK)
        return status;
    const struct str before = explain_text(head, "snapshot_id");
    if (!before.len && !out_from->len) {
        args_error(req->args, "the deployment has only one snapshot", req->args->words[0]);
        return CLI_NOT_FOUND;
    }
    if (!out_from->len)
        *out_from = request_join(req, STR("snapshots"), str_z(req->arena, before));
    *out_to = request_join(req, STR("snapshots"), str_z(req->arena, explain_text(head, "id")));
    return CLI_OK;
}

enum cli_exit cmd_explain_deployment_diff(struct cli_request *req)
{
    const struct cli_noun *snapshots = nouns_of("snapshots");
    struct str from = STR(""), to = STR("");
    enum cli_exit status = CLI_OK;
    if (req->args->count > 1)
        status = request_path_of(req, snapshots, req->args->words[1], &from);
    if (status == CLI_OK && req->args->count > 2)
        status = request_path_of(req, snapshots, req->args->words[2], &to);
    if (status == CLI_OK && !to.len)
        status = explain_find_snapshots(req, &from, &to);
    return status == CLI_OK ? explain_diff(req, from, to) : status;
}

/* ---- inventory ---- */

/* The default format is JSON, as Ansible expects it. */
enum cli_exit cmd_explain_inventory(struct cli_request *req)
{
    const struct json *reply;
    bool is_unknown = false;
    struct api_request call = {.path = STR("/api/status/inventory")};
    if (req->options.list && req->options.host)
        return request_usage_error(req, "--list and --host cannot be combined", req->options.host);
    if (req->options.host) { /* for an unknown host Ansible expects an empty object, not an error */
        struct buf b = buf_in(req->arena);
        buf_put_z(&b, "hostvar=");
        request_encode(&b, str_from(req->options.host));
        call.query = buf_str(&b);
        call.expects = "not_found";
        call.out_expected = &is_unknown;
    }
    const enum cli_exit status = request_send(req, &call, &reply);
    if (status != CLI_OK && !is_unknown)
        return status;
    req->options.output = req->options.output ? req->options.output : "json";
    output_document(req, is_unknown ? json_make(req->arena, JSON_OBJECT) : reply);
    return CLI_OK;
}
