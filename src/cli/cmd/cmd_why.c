#include "cli/cmd/cmd_why.h"

#include <stdio.h>

#include "cli/cmd/response_output.h"
#include "cli/output/term_escape.h"

/* Prints the explanation that the daemon computed for the state of a node, noderole or deployment.
 * Stateless; one GET request for each call.
 *
 * The reply has faults of the installation, which may be the cause of everything else and are
 * printed first; the chain of causes, from the object to the root; for a deployment groups of
 * noderoles with the same root cause; and for a node what keeps its machine from booting, and its
 * addresses without a DNS name. A reply without a chain is printed as a document.
 *
 * Failure: cmd_why_show prints the error and returns the status. cmd_why_print adds an explanation
 * to another failure, so it prints nothing if its own request fails. */

static struct str why_text(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, str_from(key));
    if (!value || (value->kind != JSON_STRING && value->kind != JSON_NUMBER))
        return STR("");
    return value->text;
}

/* "middle on n1.example.com"; nothing if the cause does not refer to a noderole. */
static void why_put_noderole(struct buf *b, const struct json *cause)
{
    const struct str role = why_text(cause, "role"), node = why_text(cause, "node");
    term_put_escaped(b, role);
    buf_put_z(b, role.len && node.len ? " on " : "");
    term_put_escaped(b, node);
}

/* "host_key_changed: its host key is not the one ..." */
static void why_put_cause(struct buf *b, const struct json *cause)
{
    term_put_escaped(b, why_text(cause, "code"));
    buf_put_z(b, ": ");
    term_put_escaped(b, why_text(cause, "text"));
}

/* ---- parts of the reply ---- */

/* Faults of the installation: they concern all objects. */
static void why_put_faults(struct buf *b, const struct json *why)
{
    const struct json *faults = json_get(why, STR("installation"));
    for (const struct json *fault = faults ? faults->first : NULL; fault; fault = fault->next) {
        buf_put_z(b, "installation, ");
        term_put_escaped(b, why_text(fault, "object"));
        buf_put_z(b, ": ");
        why_put_cause(b, fault);
        buf_put_c(b, '\n');
    }
}

/* The causes from the object to the root, each indented one level deeper. */
static void why_put_chain(struct buf *b, const struct json *chain)
{
    uint32_t depth = 0;
    for (const struct json *cause = chain->first; cause; cause = cause->next, depth++) {
        const struct str since = why_text(cause, "since");
        for (uint32_t i = 0; i < depth; i++)
            buf_put_z(b, "  ");
        why_put_cause(b, cause);
        if (since.len) {
            buf_put_z(b, " (since ");
            term_put_escaped(b, since);
            buf_put_c(b, ')');
        }
        buf_put_c(b, '\n');
    }
}

/* What keeps the machine of a node from booting. */
static void why_put_boot(struct buf *b, const struct json *why)
{
    const struct json *boot = json_get(why, STR("boot"));
    for (const struct json *cause = boot ? boot->first : NULL; cause; cause = cause->next) {
        buf_put_z(b, "boot, ");
        why_put_cause(b, cause);
        buf_put_c(b, '\n');
    }
}

/* Addresses of a node that have no DNS name. */
static void why_put_names(struct buf *b, const struct json *why)
{
    const struct json *names = json_get(why, STR("names"));
    for (const struct json *name = names ? names->first : NULL; name; name = name->next) {
        buf_put_z(b, "DNS name, ");
        why_put_cause(b, name);
        buf_put_c(b, '\n');
    }
    const struct json *complete = json_get(why, STR("names_complete"));
    if (complete && !json_is_true(complete))
        buf_put_z(b, "DNS name, more filters may give none\n");
}

static void why_put_interfaces(struct buf *b, const struct json *why)
{
    const struct json *complete = json_get(why, STR("interfaces_complete"));
    if (complete && !json_is_true(complete))
        buf_put_z(b,
                  "interfaces, more than 64 MAC addresses are reported; the first 64 are used\n");
}

static void why_put_examples(struct buf *b, const struct json *group)
{
    const struct json *examples = json_get(group, STR("examples"));
    for (const struct json *one = examples ? examples->first : NULL; one; one = one->next) {
        buf_put_z(b, "      ");
        why_put_noderole(b, one);
        if (json_is_true(json_get(one, STR("has_log")))) {
            buf_put_z(b, ": halligan noderoles log ");
            term_put_escaped(b, why_text(one, "node_role_id"));
        }
        buf_put_c(b, '\n');
    }
}

/* "  340 noderoles, 12 times: host_key_changed: ...", each with up to three examples. */
static void why_put_groups(struct buf *b, const struct json *why)
{
    const struct json *groups = json_get(why, STR("groups"));
    for (const struct json *group = groups ? groups->first : NULL; group; group = group->next) {
        buf_put_z(b, "  ");
        term_put_escaped(b, why_text(group, "node_roles"));
        buf_put_z(b, " noderoles, ");
        term_put_escaped(b, why_text(group, "roots"));
        buf_put_z(b, " times: ");
        why_put_cause(b, group);
        buf_put_c(b, '\n');
        why_put_examples(b, group);
    }
    const struct str left_off = why_text(why, "left_off");
    if (left_off.len && !str_eq(left_off, STR("0"))) {
        buf_put_z(b, "  ");
        term_put_escaped(b, left_off);
        buf_put_z(b, " noderoles have other causes\n");
    }
}

/* The command that prints the log of a failed run, which has more than the reason. */
static void why_put_hint(struct buf *b, const struct json *chain)
{
    for (const struct json *cause = chain->first; cause; cause = cause->next)
        if (str_eq(why_text(cause, "code"), STR("error")) &&
            str_eq(why_text(cause, "object"), STR("node_role"))) {
            buf_put_z(b, "log: halligan noderoles log ");
            term_put_escaped(b, why_text(cause, "object_id"));
            buf_put_c(b, '\n');
        }
}

enum cli_exit cmd_why_show(struct cli_request *req)
{
    const struct json *why;
    struct buf b = buf_in(req->arena);
    struct api_request call = {0};
    enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    if (status == CLI_OK) {
        call.path = request_join(req, call.path, "why");
        status = request_send(req, &call, &why);
    }
    if (status != CLI_OK)
        return status;
    const struct json *chain = json_get(why, STR("chain"));
    if (output_form(req) != OUTPUT_TABLE || !chain) {
        output_document(req, why);
        return CLI_OK;
    }
    why_put_faults(&b, why);
    why_put_chain(&b, chain);
    why_put_hint(&b, chain);
    why_put_groups(&b, why);
    why_put_boot(&b, why);
    why_put_names(&b, why);
    why_put_interfaces(&b, why);
    output_text(buf_str(&b));
    return CLI_OK;
}

/* ---- root cause on stderr ---- */

void cmd_why_print(struct cli_request *req, struct str path)
{
    const struct json *why;
    struct buf b = buf_in(req->arena);
    const struct api_request call = {.path = request_join(req, path, "why"), .is_quiet = true};
    if (request_send(req, &call, &why) != CLI_OK)
        return;
    const struct json *chain = json_get(why, STR("chain"));
    const struct json *groups = json_get(why, STR("groups"));
    const struct json *root = chain && chain->kind == JSON_ARRAY ? chain->last : NULL;
    why_put_faults(&b, why);
    if (groups && groups->count) {
        why_put_groups(&b, why);
    } else if (root) {
        why_put_noderole(&b, root);
        buf_put_z(&b, why_text(root, "node").len ? ": " : "");
        why_put_cause(&b, root);
        buf_put_c(&b, '\n');
    }
    const struct str lines = buf_str(&b);
    for (uint32_t from = 0; from < lines.len;) {
        const uint32_t to = str_find(lines, '\n', from);
        fprintf(stderr, "%s: %.*s\n", req->prog, STR_FMT_ARGS(str_slice(lines, from, to)));
        from = to + 1;
    }
}
