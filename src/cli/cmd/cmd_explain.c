#include "cli/cmd/cmd_explain.h"

#include <string.h>

#include "cli/cmd/nouns.h"
#include "cli/cmd/response_output.h"
#include "cli/output/term_escape.h"

static struct str text_of(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, str_from(key));
    if (!value || (value->kind != JSON_STRING && value->kind != JSON_NUMBER))
        return STR("");
    return value->text;
}

static enum cli_exit look_below(struct cli_request *e, const char *below, const struct json **out)
{
    struct api_request q = {0};
    const enum cli_exit status = request_path(e, e->words->texts[0], &q.path);
    if (status != CLI_OK)
        return status;
    q.path = request_join(e, q.path, below);
    return request_send(e, &q, out);
}

/* ---- what stands for two names ---- */

static int64_t id_of(struct cli_request *e, const struct api_request *q, enum cli_exit *out_status)
{
    const struct json *object;
    int64_t id = 0;
    *out_status = request_send(e, q, &object);
    if (*out_status == CLI_OK && !json_as_i64(json_get(object, STR("id")), &id))
        *out_status = request_tell_trouble(e, "a server that forgets ids");
    return *out_status == CLI_OK ? id : 0;
}

int64_t cmd_explain_find_noderole(struct cli_request *e, const char *node, const char *role,
                                  enum cli_exit *out_status)
{
    const struct str path = request_join(e, STR("nodes"), node);
    const struct api_request q = {.path =
                                      request_join(e, request_join(e, path, "node_roles"), role)};
    return id_of(e, &q, out_status);
}

int64_t cmd_explain_find_deployment_role(struct cli_request *e, const char *deployment,
                                         const char *role, enum cli_exit *out_status)
{
    struct buf query = buf_in(e->arena);
    buf_put_z(&query, "deployment=");
    request_encode(&query, str_from(deployment));
    const struct api_request q = {.path = request_join(e, STR("deployment_roles"), role),
                                  .query = buf_str(&query)};
    return id_of(e, &q, out_status);
}

int64_t cmd_explain_find_snapshot(struct cli_request *e, const char *deployment, const char *number,
                                  enum cli_exit *out_status)
{
    const struct json *list;
    int64_t id = 0;
    const struct api_request q = {
        .path = request_join(e, request_join(e, STR("deployments"), deployment), "snapshots")};
    *out_status = request_send(e, &q, &list);
    if (*out_status != CLI_OK)
        return 0;
    for (const struct json *s = list->first; s; s = s->next)
        if (str_eq(text_of(s, "seq"), str_from(number)) ||
            str_eq(text_of(s, "name"), str_from(number)))
            ignore(json_as_i64(json_get(s, STR("id")), &id), "0 is told below");
    if (id)
        return id;
    args_complain(e->words, "the deployment has no snapshot", number);
    *out_status = CLI_NOT_FOUND;
    return 0;
}

/* ---- plan ---- */

/* "middle on n1.example.com" */
static void put_binding(struct buf *b, const struct json *entry)
{
    const struct str role = text_of(entry, "role_name"), node = text_of(entry, "node_name");
    if (!role.len && !node.len) {
        json_write_to(b, entry);
        return;
    }
    term_put_escaped(b, role);
    buf_put_z(b, node.len ? " on " : "");
    term_put_escaped(b, node);
}

/* "    web/workers: 8 -> 16" */
static void put_values(struct buf *b, const struct json *entry)
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
        buf_put_z(b, "    (not all is shown; long values are null)\n");
}

/* "web on n1.example.com: web/workers 8 -> 16, web/port null -> 80" */
void cmd_explain_put_unproposed(struct buf *b, const struct json *entry)
{
    const struct json *paths = json_get(entry, STR("paths"));
    const struct json *values = json_get(entry, STR("values"));
    const struct json *pair = values ? values->first : NULL;
    put_binding(b, entry);
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
        buf_put_z(b, " (not all is shown; long values are null)");
}

static void put_entries(struct buf *b, const struct json *doc, const char *key, const char *says)
{
    const struct json *list = json_get(doc, str_from(key));
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        const struct json *steps = json_get(entry, STR("steps"));
        const struct str why = text_of(entry, "why");
        buf_put_z(b, says);
        put_binding(b, entry);
        if (why.len) {
            buf_put_z(b, ": ");
            term_put_escaped(b, why);
        }
        if (steps) {
            buf_put_z(b, ": ");
            json_write_to(b, steps);
        }
        buf_put_c(b, '\n');
        put_values(b, entry);
    }
}

/* "wave 2  run  middle on n1.example.com" */
static void put_runs(struct buf *b, const struct json *doc)
{
    const struct json *runs = json_get(doc, STR("runs"));
    for (const struct json *run = runs ? runs->first : NULL; run; run = run->next) {
        buf_put_z(b, "wave ");
        term_put_escaped(b, text_of(run, "wave"));
        buf_put_z(b, "       ");
        term_put_escaped(b, text_of(run, "how"));
        buf_put_c(b, ' ');
        put_binding(b, run);
        buf_put_c(b, '\n');
    }
}

/* "MISSING      ntp-servers of ntp-client on n1.example.com" */
static void put_missing(struct buf *b, const struct json *doc)
{
    const struct json *missing = json_get(doc, STR("missing"));
    for (const struct json *entry = missing ? missing->first : NULL; entry; entry = entry->next) {
        buf_put_z(b, "MISSING      ");
        term_put_escaped(b, text_of(entry, "attrib"));
        buf_put_z(b, " of ");
        put_binding(b, entry);
        buf_put_z(b, ": ");
        term_put_escaped(b, text_of(entry, "why"));
        buf_put_c(b, '\n');
    }
}

/* ---- the summary of a plan ---- */

static int64_t count_in(const struct json *object, const char *key)
{
    int64_t count = 0;
    if (object)
        ignore(json_as_i64(json_get(object, str_from(key)), &count), "0 where it is not said");
    return count;
}

/* "run          12: middle 8, base 4", or nothing where nothing is to be done. */
static void put_action(struct buf *b, const struct json *summary, const char *key,
                       const char *label)
{
    const int64_t count = count_in(json_get(summary, STR("actions")), key);
    const struct json *roles = json_get(summary, STR("roles"));
    const char *before = ": ";
    if (!count)
        return;
    buf_put_z(b, label);
    buf_put_i64(b, count);
    for (const struct json *role = roles ? roles->first : NULL; role; role = role->next) {
        if (!count_in(role, key))
            continue;
        buf_put_z(b, before);
        term_put_escaped(b, text_of(role, "role_name"));
        buf_put_c(b, ' ');
        buf_put_i64(b, count_in(role, key));
        before = ", ";
    }
    buf_put_c(b, '\n');
}

/* "wave 2       8 run, 4 noop" */
static void put_waves(struct buf *b, const struct json *summary)
{
    static const char *const ways[] = {"run", "again", "noop", "skip"};
    const struct json *waves = json_get(summary, STR("waves"));
    for (const struct json *wave = waves ? waves->first : NULL; wave; wave = wave->next) {
        const char *before = "       ";
        buf_put_z(b, "wave ");
        term_put_escaped(b, text_of(wave, "wave"));
        for (uint32_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            if (!count_in(wave, ways[i]))
                continue;
            buf_put_z(b, before);
            buf_put_i64(b, count_in(wave, ways[i]));
            buf_put_c(b, ' ');
            buf_put_z(b, ways[i]);
            before = ", ";
        }
        buf_put_c(b, '\n');
    }
    const int64_t more = count_in(summary, "waves_count") - (waves ? (int64_t)waves->count : 0);
    if (more > 0) {
        buf_put_z(b, "and ");
        buf_put_i64(b, more);
        buf_put_z(b, " more waves\n");
    }
}

/* "DESTRUCTIVE  12 os-install: wipe, boot" */
static void put_destructive(struct buf *b, const struct json *summary)
{
    const struct json *list = json_get(summary, STR("destructive"));
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        const struct json *steps = json_get(entry, STR("steps"));
        buf_put_z(b, "DESTRUCTIVE  ");
        buf_put_i64(b, count_in(entry, "count"));
        buf_put_c(b, ' ');
        term_put_escaped(b, text_of(entry, "role_name"));
        for (const struct json *s = steps ? steps->first : NULL; s; s = s->next) {
            buf_put_z(b, s == steps->first ? ": " : ", ");
            term_put_escaped(b, s->text);
        }
        buf_put_c(b, '\n');
    }
}

/* "run again    8 web: values of the role in the deployment change" */
static void put_reruns(struct buf *b, const struct json *summary)
{
    static const struct {
        const char *reason, *says;
    } reasons[] = {{"asked", "a run of it is enqueued"},
                   {"cluster", "its cluster, or one it builds on, grows"},
                   {"committed", "it was proposed, and is committed again"},
                   {"role_data", "values of its role in the deployment change"},
                   {"waiting", "it was waiting for its run already"}};
    const struct json *list = json_get(summary, STR("reruns"));
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        const struct str reason = text_of(entry, "reason");
        buf_put_z(b, "run again    ");
        buf_put_i64(b, count_in(entry, "count"));
        buf_put_c(b, ' ');
        term_put_escaped(b, text_of(entry, "role_name"));
        buf_put_z(b, ": ");
        uint32_t i = 0;
        while (i < sizeof reasons / sizeof *reasons && !str_eq(reason, str_from(reasons[i].reason)))
            i++;
        if (i < sizeof reasons / sizeof *reasons)
            buf_put_z(b, reasons[i].says);
        else
            term_put_escaped(b, reason);
        buf_put_c(b, '\n');
    }
}

/* "values       web, in the deployment" and, below it, path by path, old and new */
static void put_new_values(struct buf *b, const struct json *summary)
{
    const struct json *list = json_get(summary, STR("values"));
    int64_t shown = 0;
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        const bool is_of_deployment = str_eq(text_of(entry, "scope"), STR("deployment"));
        shown += count_in(entry, "count");
        buf_put_z(b, "values       ");
        term_put_escaped(b, text_of(entry, "role_name"));
        if (is_of_deployment) {
            buf_put_z(b, ", in the deployment");
        } else {
            buf_put_z(b, ", noderoles: ");
            buf_put_i64(b, count_in(entry, "count"));
        }
        buf_put_c(b, '\n');
        put_values(b, entry);
    }
    if (count_in(summary, "values_count") > shown) {
        buf_put_z(b, "values       of ");
        buf_put_i64(b, count_in(summary, "values_count") - shown);
        buf_put_z(b, " more change\n");
    }
}

/* "held         12: not_alive 8, error 4" */
static void put_held(struct buf *b, const struct json *summary)
{
    const struct json *list = json_get(summary, STR("held"));
    const int64_t count = count_in(json_get(summary, STR("actions")), "hold");
    if (!count)
        return;
    buf_put_z(b, "held         ");
    buf_put_i64(b, count);
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        buf_put_z(b, entry == list->first ? ": " : ", ");
        term_put_escaped(b, text_of(entry, "cause"));
        buf_put_c(b, ' ');
        buf_put_i64(b, count_in(entry, "count"));
    }
    buf_put_c(b, '\n');
}

static void put_total(struct buf *b, const struct json *summary, const char *key, const char *label)
{
    if (!count_in(summary, key))
        return;
    buf_put_z(b, label);
    buf_put_i64(b, count_in(summary, key));
    buf_put_c(b, '\n');
}

static void put_summary(struct buf *b, const struct json *doc)
{
    const struct json *summary = json_get(doc, STR("summary"));
    if (!summary)
        return;
    buf_put_z(b, "machines     ");
    buf_put_i64(b, count_in(summary, "machines"));
    buf_put_c(b, '\n');
    put_action(b, summary, "commit_role", "commit roles ");
    put_action(b, summary, "commit", "commit       ");
    put_action(b, summary, "remove", "remove       ");
    put_action(b, summary, "run", "run          ");
    put_action(b, summary, "again", "again        ");
    put_action(b, summary, "noop", "no-op        ");
    put_action(b, summary, "skip", "skip         ");
    put_waves(b, summary);
    put_destructive(b, summary);
    put_reruns(b, summary);
    put_new_values(b, summary);
    put_total(b, summary, "changed", "new defaults ");
    put_total(b, summary, "changed_destructive", "new defaults, never rerun: ");
    put_held(b, summary);
    put_total(b, summary, "missing", "MISSING      ");
}

static void put_unproposed(struct buf *b, const struct json *doc)
{
    const struct json *list = json_get(doc, STR("unproposed"));
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        buf_put_z(b, "stored but not proposed: ");
        cmd_explain_put_unproposed(b, entry);
        buf_put_c(b, '\n');
    }
    const int64_t more =
        count_in(json_get(doc, STR("summary")), "unproposed") - (list ? (int64_t)list->count : 0);
    if (more > 0) {
        buf_put_z(b, "stored but not proposed: ");
        buf_put_i64(b, more);
        buf_put_z(b, " more\n");
    }
}

static void put_detail(struct buf *b, const struct json *doc)
{
    put_entries(b, doc, "role_commits", "commit role  ");
    put_entries(b, doc, "commits", "commit       ");
    put_entries(b, doc, "removes", "remove       ");
    put_entries(b, doc, "reruns", "run again    ");
    put_entries(b, doc, "destructive", "DESTRUCTIVE  ");
    put_entries(b, doc, "announced", "announced    ");
    put_runs(b, doc);
    put_entries(b, doc, "changed", "new defaults ");
    put_entries(b, doc, "changed_destructive", "new defaults, never rerun: ");
    put_entries(b, doc, "held", "held         ");
    put_missing(b, doc);
}

static void put_plan(const struct cli_request *e, struct buf *b, const struct json *doc)
{
    put_summary(b, doc);
    if (e->options.detail)
        put_detail(b, doc);
    put_unproposed(b, doc);
    buf_put_z(b, "plan         ");
    term_put_escaped(b, text_of(doc, "hash"));
    buf_put_c(b, '\n');
}

/* People get the totals, and all of it with --detail; programs get all of it. */
enum cli_exit cmd_explain_plan(struct cli_request *e)
{
    const struct json *plan;
    struct buf b = buf_in(e->arena);
    struct api_request q = {0};
    const bool is_table = output_form(e) == OUTPUT_TABLE;
    enum cli_exit status = request_path(e, e->words->texts[0], &q.path);
    if (status != CLI_OK)
        return status;
    q.path = request_join(e, q.path, "plan");
    if (e->options.quiet || (is_table && !e->options.detail))
        q.query = STR("summary=true");
    status = request_send(e, &q, &plan);
    if (status != CLI_OK)
        return status;
    if (e->options.quiet) {
        term_put_escaped(&b, text_of(plan, "hash"));
        buf_put_c(&b, '\n');
    } else if (is_table) {
        put_plan(e, &b, plan);
    } else {
        output_document(e, plan);
    }
    output_text(buf_str(&b));
    return CLI_OK;
}

/* ---- diff ---- */

static enum cli_exit diff(struct cli_request *e, struct str from, struct str to)
{
    const struct json *answer;
    struct buf b = buf_in(e->arena);
    const struct str other = str_slice(to, str_find(to, '/', 0) + 1, to.len);
    const struct api_request q = {
        .path = request_join(e, request_join(e, from, "diff"), str_z(e->arena, other))};
    const enum cli_exit status = request_send(e, &q, &answer);
    if (status != CLI_OK)
        return status;
    if (output_form(e) != OUTPUT_TABLE) {
        output_document(e, answer);
        return CLI_OK;
    }
    put_entries(&b, answer, "removed", "- ");
    put_entries(&b, answer, "added", "+ ");
    put_entries(&b, answer, "changed", "~ ");
    output_text(buf_str(&b));
    return CLI_OK;
}

enum cli_exit cmd_explain_diff(struct cli_request *e)
{
    struct str from, to;
    enum cli_exit status = request_path(e, e->words->texts[0], &from);
    if (status == CLI_OK)
        status = request_path(e, e->words->texts[1], &to);
    return status == CLI_OK ? diff(e, from, to) : status;
}

/* What is not said is the head, and what was before it. */
static enum cli_exit find_ends(struct cli_request *e, struct str *out_from, struct str *out_to)
{
    const struct json *head;
    const enum cli_exit status = look_below(e, "head", &head);
    if (status != CLI_OK)
        return status;
    const struct str before = text_of(head, "snapshot_id");
    if (!before.len && !out_from->len) {
        args_complain(e->words, "there is only one snapshot of", e->words->texts[0]);
        return CLI_NOT_FOUND;
    }
    if (!out_from->len)
        *out_from = request_join(e, STR("snapshots"), str_z(e->arena, before));
    *out_to = request_join(e, STR("snapshots"), str_z(e->arena, text_of(head, "id")));
    return CLI_OK;
}

enum cli_exit cmd_explain_deployment_diff(struct cli_request *e)
{
    const struct cli_noun *snapshots = nouns_of("snapshots");
    struct str from = STR(""), to = STR("");
    enum cli_exit status = CLI_OK;
    if (e->words->count > 1)
        status = request_path_of(e, snapshots, e->words->texts[1], &from);
    if (status == CLI_OK && e->words->count > 2)
        status = request_path_of(e, snapshots, e->words->texts[2], &to);
    if (status == CLI_OK && !to.len)
        status = find_ends(e, &from, &to);
    return status == CLI_OK ? diff(e, from, to) : status;
}

/* ---- inventory ---- */

/* Ansible wants JSON whatever else was said. */
enum cli_exit cmd_explain_inventory(struct cli_request *e)
{
    const struct json *answer;
    bool is_unknown = false;
    struct api_request q = {.path = STR("/api/status/inventory")};
    if (e->options.list && e->options.host)
        return request_complain(e, "either --list or --host, not both", e->options.host);
    if (e->options.host) { /* of a host that is not known Ansible expects no variables */
        struct buf b = buf_in(e->arena);
        buf_put_z(&b, "hostvar=");
        request_encode(&b, str_from(e->options.host));
        q.query = buf_str(&b);
        q.expects = "not_found";
        q.out_expected = &is_unknown;
    }
    const enum cli_exit status = request_send(e, &q, &answer);
    if (status != CLI_OK && !is_unknown)
        return status;
    e->options.output = e->options.output ? e->options.output : "json";
    output_document(e, is_unknown ? json_make(e->arena, JSON_OBJECT) : answer);
    return CLI_OK;
}
