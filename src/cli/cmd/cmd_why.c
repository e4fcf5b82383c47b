#include "cli/cmd/cmd_why.h"

#include <stdio.h>

#include "cli/cmd/response_output.h"
#include "cli/output/term_escape.h"

static struct str text_of(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, str_from(key));
    if (!value || (value->kind != JSON_STRING && value->kind != JSON_NUMBER))
        return STR("");
    return value->text;
}

/* "middle on n1.example.com"; nothing when the cause is about no noderole. */
static void put_place(struct buf *b, const struct json *cause)
{
    const struct str role = text_of(cause, "role"), node = text_of(cause, "node");
    term_put_escaped(b, role);
    buf_put_z(b, role.len && node.len ? " on " : "");
    term_put_escaped(b, node);
}

/* "host_key_changed: its host key is not the one ..." */
static void put_said(struct buf *b, const struct json *cause)
{
    term_put_escaped(b, text_of(cause, "code"));
    buf_put_z(b, ": ");
    term_put_escaped(b, text_of(cause, "text"));
}

/* ---- the parts of an answer ---- */

static void put_faults(struct buf *b, const struct json *why)
{
    const struct json *faults = json_get(why, STR("installation"));
    for (const struct json *fault = faults ? faults->first : NULL; fault; fault = fault->next) {
        buf_put_z(b, "installation, ");
        term_put_escaped(b, text_of(fault, "object"));
        buf_put_z(b, ": ");
        put_said(b, fault);
        buf_put_c(b, '\n');
    }
}

/* From the thing that was asked about to the root, one step deeper each. */
static void put_chain(struct buf *b, const struct json *chain)
{
    uint32_t depth = 0;
    for (const struct json *cause = chain->first; cause; cause = cause->next, depth++) {
        const struct str since = text_of(cause, "since");
        for (uint32_t i = 0; i < depth; i++)
            buf_put_z(b, "  ");
        put_said(b, cause);
        if (since.len) {
            buf_put_z(b, " (since ");
            term_put_escaped(b, since);
            buf_put_c(b, ')');
        }
        buf_put_c(b, '\n');
    }
}

static void put_examples(struct buf *b, const struct json *group)
{
    const struct json *examples = json_get(group, STR("examples"));
    for (const struct json *one = examples ? examples->first : NULL; one; one = one->next) {
        buf_put_z(b, "      ");
        put_place(b, one);
        if (json_is_true(json_get(one, STR("has_log")))) {
            buf_put_z(b, ": halligan noderoles log ");
            term_put_escaped(b, text_of(one, "node_role_id"));
        }
        buf_put_c(b, '\n');
    }
}

/* "  340 noderoles, 12 causes: host_key_changed: ..." with up to three of them by name. */
static void put_groups(struct buf *b, const struct json *why)
{
    const struct json *groups = json_get(why, STR("groups"));
    for (const struct json *group = groups ? groups->first : NULL; group; group = group->next) {
        buf_put_z(b, "  ");
        term_put_escaped(b, text_of(group, "node_roles"));
        buf_put_z(b, " noderoles, ");
        term_put_escaped(b, text_of(group, "roots"));
        buf_put_z(b, " times: ");
        put_said(b, group);
        buf_put_c(b, '\n');
        put_examples(b, group);
    }
    const struct str left_off = text_of(why, "left_off");
    if (left_off.len && !str_eq(left_off, STR("0"))) {
        buf_put_z(b, "  ");
        term_put_escaped(b, left_off);
        buf_put_z(b, " noderoles have other causes\n");
    }
}

/* A failed run wrote more than its reason says. */
static void put_hint(struct buf *b, const struct json *chain)
{
    for (const struct json *cause = chain->first; cause; cause = cause->next)
        if (str_eq(text_of(cause, "code"), STR("error")) &&
            str_eq(text_of(cause, "object"), STR("node_role"))) {
            buf_put_z(b, "what it said: halligan noderoles log ");
            term_put_escaped(b, text_of(cause, "object_id"));
            buf_put_c(b, '\n');
        }
}

enum cli_exit cmd_why_show(struct cli_request *e)
{
    const struct json *why;
    struct buf b = buf_in(e->arena);
    struct api_request q = {0};
    enum cli_exit status = request_path(e, e->words->texts[0], &q.path);
    if (status == CLI_OK) {
        q.path = request_join(e, q.path, "why");
        status = request_send(e, &q, &why);
    }
    if (status != CLI_OK)
        return status;
    const struct json *chain = json_get(why, STR("chain"));
    if (output_form(e) != OUTPUT_TABLE || !chain) {
        output_document(e, why);
        return CLI_OK;
    }
    put_faults(&b, why);
    put_chain(&b, chain);
    put_hint(&b, chain);
    put_groups(&b, why);
    output_text(buf_str(&b));
    return CLI_OK;
}

/* ---- for those who wait ---- */

void cmd_why_print(struct cli_request *e, struct str path)
{
    const struct json *why;
    struct buf b = buf_in(e->arena);
    const struct api_request q = {.path = request_join(e, path, "why"), .is_quiet = true};
    if (request_send(e, &q, &why) != CLI_OK)
        return;
    const struct json *chain = json_get(why, STR("chain"));
    const struct json *groups = json_get(why, STR("groups"));
    const struct json *root = chain && chain->kind == JSON_ARRAY ? chain->last : NULL;
    put_faults(&b, why);
    if (groups && groups->count) {
        put_groups(&b, why);
    } else if (root) {
        put_place(&b, root);
        buf_put_z(&b, text_of(root, "node").len ? ": " : "");
        put_said(&b, root);
        buf_put_c(&b, '\n');
    }
    const struct str said = buf_str(&b);
    for (uint32_t from = 0; from < said.len;) {
        const uint32_t to = str_find(said, '\n', from);
        fprintf(stderr, "%s: %.*s\n", e->whose, STR_FMT_ARGS(str_slice(said, from, to)));
        from = to + 1;
    }
}
