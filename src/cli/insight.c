#include "cli/insight.h"

#include <string.h>

#include "cli/nouns.h"
#include "cli/output.h"
#include "cli/safe.h"

static struct str text_of(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, str_from(key));
    if (!value || (value->kind != JSON_STRING && value->kind != JSON_NUMBER))
        return STR("");
    return value->text;
}

static enum cli_exit look_below(struct errand *e, const char *below, const struct json **out)
{
    struct question q = {0};
    const enum cli_exit status = errand_path(e, e->words->texts[0], &q.path);
    if (status != CLI_FINE)
        return status;
    q.path = errand_join(e, q.path, below);
    return errand_ask(e, &q, out);
}

/* ---- what stands for two names ---- */

static int64_t id_of(struct errand *e, const struct question *q, enum cli_exit *out_status)
{
    const struct json *object;
    int64_t id = 0;
    *out_status = errand_ask(e, q, &object);
    if (*out_status == CLI_FINE && !json_as_i64(json_get(object, STR("id")), &id))
        *out_status = errand_tell_trouble(e, "a server that forgets ids");
    return *out_status == CLI_FINE ? id : 0;
}

int64_t insight_find_noderole(struct errand *e, const char *node, const char *role,
                              enum cli_exit *out_status)
{
    const struct str path = errand_join(e, STR("nodes"), node);
    const struct question q = {.path = errand_join(e, errand_join(e, path, "node_roles"), role)};
    return id_of(e, &q, out_status);
}

int64_t insight_find_deployment_role(struct errand *e, const char *deployment, const char *role,
                                     enum cli_exit *out_status)
{
    struct buf query = buf_in(e->arena);
    buf_put_z(&query, "deployment=");
    errand_encode(&query, str_from(deployment));
    const struct question q = {.path = errand_join(e, STR("deployment_roles"), role),
                               .query = buf_str(&query)};
    return id_of(e, &q, out_status);
}

int64_t insight_find_snapshot(struct errand *e, const char *deployment, const char *number,
                              enum cli_exit *out_status)
{
    const struct json *list;
    int64_t id = 0;
    const struct question q = {
        .path = errand_join(e, errand_join(e, STR("deployments"), deployment), "snapshots")};
    *out_status = errand_ask(e, &q, &list);
    if (*out_status != CLI_FINE)
        return 0;
    for (const struct json *s = list->first; s; s = s->next)
        if (str_eq(text_of(s, "seq"), str_from(number)) ||
            str_eq(text_of(s, "name"), str_from(number)))
            ignore(json_as_i64(json_get(s, STR("id")), &id), "0 is told below");
    if (id)
        return id;
    words_complain(e->words, "the deployment has no snapshot", number);
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
    safe_put(b, role);
    buf_put_z(b, node.len ? " on " : "");
    safe_put(b, node);
}

/* "    web/workers: 8 -> 16" */
static void put_values(struct buf *b, const struct json *entry)
{
    const struct json *paths = json_get(entry, STR("paths"));
    const struct json *values = json_get(entry, STR("values"));
    const struct json *pair = values ? values->first : NULL;
    for (const struct json *path = paths ? paths->first : NULL; path && pair; path = path->next) {
        buf_put_z(b, "    ");
        safe_put(b, path->text);
        buf_put_z(b, ": ");
        for (const struct json *value = pair->first; value; value = value->next) {
            struct buf text = buf_in(b->arena);
            json_write_to(&text, value);
            safe_put(b, buf_str(&text));
            buf_put_z(b, value->next ? " -> " : "\n");
        }
        pair = pair->next;
    }
}

/* "web on n1.example.com: web/workers 8 -> 16, web/port null -> 80" */
void insight_put_unproposed(struct buf *b, const struct json *entry)
{
    const struct json *paths = json_get(entry, STR("paths"));
    const struct json *values = json_get(entry, STR("values"));
    const struct json *pair = values ? values->first : NULL;
    put_binding(b, entry);
    for (const struct json *path = paths ? paths->first : NULL; path && pair; path = path->next) {
        buf_put_z(b, path == paths->first ? ": " : ", ");
        safe_put(b, path->text);
        buf_put_c(b, ' ');
        for (const struct json *value = pair->first; value; value = value->next) {
            struct buf text = buf_in(b->arena);
            json_write_to(&text, value);
            safe_put(b, buf_str(&text));
            buf_put_z(b, value->next ? " -> " : "");
        }
        pair = pair->next;
    }
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
            safe_put(b, why);
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
        safe_put(b, text_of(run, "wave"));
        buf_put_z(b, "       ");
        safe_put(b, text_of(run, "how"));
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
        safe_put(b, text_of(entry, "attrib"));
        buf_put_z(b, " of ");
        put_binding(b, entry);
        buf_put_z(b, ": ");
        safe_put(b, text_of(entry, "why"));
        buf_put_c(b, '\n');
    }
}

static void put_plan(struct buf *b, const struct json *doc)
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
    put_entries(b, doc, "unproposed", "stored but not proposed: ");
    buf_put_z(b, "plan         ");
    safe_put(b, text_of(doc, "hash"));
    buf_put_c(b, '\n');
}

enum cli_exit insight_plan(struct errand *e)
{
    const struct json *plan;
    struct buf b = buf_in(e->arena);
    const enum cli_exit status = look_below(e, "plan", &plan);
    if (status != CLI_FINE)
        return status;
    if (e->options.quiet) {
        safe_put(&b, text_of(plan, "hash"));
        buf_put_c(&b, '\n');
    } else if (output_form(e) == OUTPUT_TABLE) {
        put_plan(&b, plan);
    } else {
        output_document(e, plan);
    }
    output_text(buf_str(&b));
    return CLI_FINE;
}

/* ---- diff ---- */

static enum cli_exit diff(struct errand *e, struct str from, struct str to)
{
    const struct json *answer;
    struct buf b = buf_in(e->arena);
    const struct str other = str_slice(to, str_find(to, '/', 0) + 1, to.len);
    const struct question q = {
        .path = errand_join(e, errand_join(e, from, "diff"), str_z(e->arena, other))};
    const enum cli_exit status = errand_ask(e, &q, &answer);
    if (status != CLI_FINE)
        return status;
    if (output_form(e) != OUTPUT_TABLE) {
        output_document(e, answer);
        return CLI_FINE;
    }
    put_entries(&b, answer, "removed", "- ");
    put_entries(&b, answer, "added", "+ ");
    put_entries(&b, answer, "changed", "~ ");
    output_text(buf_str(&b));
    return CLI_FINE;
}

enum cli_exit insight_diff(struct errand *e)
{
    struct str from, to;
    enum cli_exit status = errand_path(e, e->words->texts[0], &from);
    if (status == CLI_FINE)
        status = errand_path(e, e->words->texts[1], &to);
    return status == CLI_FINE ? diff(e, from, to) : status;
}

/* What is not said is the head, and what was before it. */
static enum cli_exit find_ends(struct errand *e, struct str *out_from, struct str *out_to)
{
    const struct json *head;
    const enum cli_exit status = look_below(e, "head", &head);
    if (status != CLI_FINE)
        return status;
    const struct str before = text_of(head, "snapshot_id");
    if (!before.len && !out_from->len) {
        words_complain(e->words, "there is only one snapshot of", e->words->texts[0]);
        return CLI_NOT_FOUND;
    }
    if (!out_from->len)
        *out_from = errand_join(e, STR("snapshots"), str_z(e->arena, before));
    *out_to = errand_join(e, STR("snapshots"), str_z(e->arena, text_of(head, "id")));
    return CLI_FINE;
}

enum cli_exit insight_deployment_diff(struct errand *e)
{
    const struct cli_noun *snapshots = nouns_of("snapshots");
    struct str from = STR(""), to = STR("");
    enum cli_exit status = CLI_FINE;
    if (e->words->count > 1)
        status = errand_path_of(e, snapshots, e->words->texts[1], &from);
    if (status == CLI_FINE && e->words->count > 2)
        status = errand_path_of(e, snapshots, e->words->texts[2], &to);
    if (status == CLI_FINE && !to.len)
        status = find_ends(e, &from, &to);
    return status == CLI_FINE ? diff(e, from, to) : status;
}

/* ---- inventory ---- */

/* Ansible wants JSON whatever else was said. */
enum cli_exit insight_inventory(struct errand *e)
{
    const struct json *answer;
    bool is_unknown = false;
    struct question q = {.path = STR("/api/status/inventory")};
    if (e->options.list && e->options.host)
        return errand_complain(e, "either --list or --host, not both", e->options.host);
    if (e->options.host) { /* of a host that is not known Ansible expects no variables */
        struct buf b = buf_in(e->arena);
        buf_put_z(&b, "hostvar=");
        errand_encode(&b, str_from(e->options.host));
        q.query = buf_str(&b);
        q.expects = "not_found";
        q.out_expected = &is_unknown;
    }
    const enum cli_exit status = errand_ask(e, &q, &answer);
    if (status != CLI_FINE && !is_unknown)
        return status;
    e->options.output = e->options.output ? e->options.output : "json";
    output_document(e, is_unknown ? json_make(e->arena, JSON_OBJECT) : answer);
    return CLI_FINE;
}
