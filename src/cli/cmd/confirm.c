#include "cli/cmd/confirm.h"

#include <stdio.h>
#include <string.h>

#include "cli/cmd/cmd_explain.h"
#include "cli/cmd/cmd_objects.h"
#include "cli/cmd/id_names.h"
#include "cli/output/prompt.h"
#include "cli/output/targets.h"
#include "cli/output/term_escape.h"

/* Collects what a verb would destroy and asks the operator once. Owns nothing that outlives the
 * verb: the lists are in the arena of the request, the agreements are those of the caller.
 *
 * Order: for all operands what would be lost is fetched, then the operator must agree, and only
 * then the caller changes something. A commit is sent with the hash of the list that was shown, so
 * that the daemon can detect a change in between. A DELETE has no such hash: a noderole that is
 * created after the operator agreed is deleted as well.
 *
 * Failure: if the list cannot be fetched, nothing is changed. For commits one operand that the
 * server refuses does not prevent the others (confirm_is_refusal): its status is in its agreement,
 * and the error is printed. Reports after a commit change nothing: confirm_warn_unproposed prints
 * nothing if its request fails, confirm_show_left_out returns the status. */

void losses_add(struct losses *losses, struct str text)
{
    if (losses->count++ >= LOSSES_SHOWN_MAX)
        return;
    buf_put_z(&losses->lines, "  ");
    buf_put_str(&losses->lines, text);
    buf_put_c(&losses->lines, '\n');
}

enum cli_exit confirm_ask(struct cli_request *req, const char *what, const struct losses *losses)
{
    if (req->options.yes)
        return CLI_OK;
    fprintf(stderr, "%s: %s:\n%.*s", req->prog, what, STR_FMT_ARGS(buf_str(&losses->lines)));
    if (losses->count > LOSSES_SHOWN_MAX)
        fprintf(stderr, "  and %u more\n", losses->count - LOSSES_SHOWN_MAX);
    if (losses->has_wipe)
        fputs(TARGETS_WIPE_NOTE "\n", stderr);
    const bool can_ask = prompt_is_possible();
    const char *typed = can_ask ? prompt_text(req->arena, "Type yes to continue", "") : NULL;
    if (typed && strcmp(typed, "yes") == 0)
        return CLI_OK;
    fprintf(stderr, "%s: not confirmed, nothing was changed%s\n", req->prog,
            can_ask ? "" : "; without a terminal, --yes is required");
    return CLI_NOT_AGREED;
}

/* ---- commits ---- */

static struct str confirm_text(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, str_from(key));
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

/* "n1.example.com: os-install (wipe, boot): wipe disk/by-id/a, 480.1 GB, serial S1" */
static struct str confirm_noderole_text(struct cli_request *req, const struct json *noderole)
{
    struct buf b = buf_in(req->arena);
    const struct json *steps = json_get(noderole, STR("steps"));
    term_put_escaped(&b, confirm_text(noderole, "node_name"));
    buf_put_z(&b, ": ");
    term_put_escaped(&b, confirm_text(noderole, "role_name"));
    const struct json *first = steps && steps->kind == JSON_ARRAY ? steps->first : NULL;
    for (const struct json *step = first; step; step = step->next) {
        buf_put_z(&b, step == first ? " (" : ", ");
        term_put_escaped(&b, step->text);
    }
    buf_put_z(&b, first ? ")" : "");
    struct buf targets = buf_in(req->arena);
    if (targets_put(&targets, noderole)) {
        buf_put_z(&b, ": ");
        buf_put_str(&b, buf_str(&targets));
    }
    return buf_str(&b);
}

/* Fetch which noderoles would destroy data after the commit, and the hash of that list. The list
 * may be shortened; destroys_count is the count of all. */
static enum cli_exit confirm_fetch_commit(struct cli_request *req, struct agreement *agreement,
                                          struct losses *losses)
{
    const struct json *reply;
    const struct api_request call = {.path = request_join(req, agreement->path, "consent")};
    const enum cli_exit status = request_send(req, &call, &reply);
    if (status != CLI_OK)
        return status;
    int64_t count = 0;
    const struct json *list = json_get(reply, STR("destroys"));
    agreement->hash = confirm_text(reply, "consent");
    if (!agreement->hash.len || !list || list->kind != JSON_ARRAY ||
        !json_as_i64(json_get(reply, STR("destroys_count")), &count) || count < list->count)
        return request_report_failure(
            req, "unexpected reply: the list of what the commit destroys is missing");
    for (const struct json *noderole = list->first; noderole; noderole = noderole->next) {
        losses_add(losses, confirm_noderole_text(req, noderole));
        losses->has_wipe = losses->has_wipe || targets_has_wipe(noderole);
    }
    losses->count += (uint32_t)(count - list->count);
    return CLI_OK;
}

static const char commit_question[] =
    "after the commit these noderoles destroy data on their nodes";

bool confirm_is_refusal(enum cli_exit status)
{
    return status == CLI_REFUSED || status == CLI_NOT_FOUND || status == CLI_NOT_ALLOWED;
}

bool confirm_commits(struct cli_request *req, struct agreement *agreements,
                     enum cli_exit *out_status)
{
    struct losses losses = {.lines = buf_in(req->arena)};
    const bool is_given = req->options.yes || req->options.plan;
    for (int i = 0; i < req->args->count; i++) {
        struct agreement *agreement = &agreements[i];
        agreement->status = request_path(req, req->args->words[i], &agreement->path);
        if (agreement->status == CLI_OK && !is_given)
            agreement->status = confirm_fetch_commit(req, agreement, &losses);
        *out_status = agreement->status;
        if (agreement->status != CLI_OK && !confirm_is_refusal(agreement->status))
            return false;
    }
    *out_status = losses.count ? confirm_ask(req, commit_question, &losses) : CLI_OK;
    return *out_status == CLI_OK;
}

enum cli_exit confirm_again(struct cli_request *req, struct agreement *agreement)
{
    struct losses losses = {.lines = buf_in(req->arena)};
    const enum cli_exit status = confirm_fetch_commit(req, agreement, &losses);
    if (status != CLI_OK || losses.count == 0)
        return status;
    return confirm_ask(
        req, "the deployment has changed; these noderoles destroy data on their nodes", &losses);
}

/* Print to stderr what a commit does not include: a heading, the first lines and the count of the
 * others. */
static void confirm_print_left_out(const struct cli_request *req, const char *heading,
                                   const struct losses *losses)
{
    fprintf(stderr, "%s: %s:\n%.*s", req->prog, heading, STR_FMT_ARGS(buf_str(&losses->lines)));
    if (losses->count > LOSSES_SHOWN_MAX)
        fprintf(stderr, "  and %u more\n", losses->count - LOSSES_SHOWN_MAX);
}

void confirm_warn_unproposed(struct cli_request *req, const struct agreement *agreement)
{
    const struct json *reply;
    const struct api_request call = {.path = request_join(req, agreement->path, "consent"),
                                     .is_quiet = true};
    struct losses losses = {.lines = buf_in(req->arena)};
    if (request_send(req, &call, &reply) != CLI_OK)
        return;
    const struct json *list = json_get(reply, STR("unproposed"));
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        struct buf b = buf_in(req->arena);
        cmd_explain_put_unproposed(&b, entry);
        losses_add(&losses, buf_str(&b));
    }
    if (!losses.count)
        return;
    int64_t count = losses.count;
    ignore(json_as_i64(json_get(reply, STR("unproposed_count")), &count), "as many as are listed");
    losses.count = (uint32_t)count;
    confirm_print_left_out(req, "values stored but not proposed, so not committed", &losses);
}

enum cli_exit confirm_show_left_out(struct cli_request *req, const struct agreement *agreement)
{
    const struct json *plan;
    struct losses losses = {.lines = buf_in(req->arena)};
    const struct api_request call = {.path = request_join(req, agreement->path, "plan")};
    const enum cli_exit status = request_send(req, &call, &plan);
    if (status != CLI_OK)
        return status;
    const struct json *list = json_get(plan, STR("changed_destructive"));
    const struct json *first = list && list->kind == JSON_ARRAY ? list->first : NULL;
    for (const struct json *noderole = first; noderole; noderole = noderole->next)
        losses_add(&losses, confirm_noderole_text(req, noderole));
    if (losses.count)
        confirm_print_left_out(
            req, "defaults changed, but not rerun because these noderoles destroy data", &losses);
    return CLI_OK;
}

/* ---- destroy ---- */

/* The noderoles of all operands of destroy. */
struct destroyed {
    struct json *shown; /* the first LOSSES_SHOWN_MAX: {"node_id","role_id"} */
    uint32_t count;     /* of all */
};

/* Add the noderoles of an operand to the list. An unknown name is not an error here: the DELETE
 * that follows reports it. */
static enum cli_exit confirm_fetch_noderoles(struct cli_request *req, const char *word,
                                             struct destroyed *destroyed)
{
    const struct json *list;
    struct api_request call = {.attributes = "[\"node_id\",\"role_id\"]", .is_quiet = true};
    enum cli_exit status = request_path(req, word, &call.path);
    if (status != CLI_OK)
        return status;
    call.path = request_join(req, call.path, "node_roles");
    status = request_send(req, &call, &list);
    if (status == CLI_NOT_FOUND)
        return CLI_OK;
    if (status != CLI_OK) { /* the call was quiet; repeat it so that the error is printed */
        call.is_quiet = false;
        return request_send(req, &call, &list);
    }
    for (const struct json *nr = list->first; nr && destroyed->shown->count < LOSSES_SHOWN_MAX;
         nr = nr->next)
        json_append(destroyed->shown, json_clone(req->arena, nr));
    destroyed->count += list->count;
    return CLI_OK;
}

static enum cli_exit confirm_ask_destroy(struct cli_request *req)
{
    struct losses losses = {.lines = buf_in(req->arena)};
    struct destroyed destroyed = {.shown = json_make(req->arena, JSON_ARRAY)};
    for (int i = 0; i < req->args->count; i++) {
        const enum cli_exit status = confirm_fetch_noderoles(req, req->args->words[i], &destroyed);
        if (status != CLI_OK)
            return status;
    }
    if (destroyed.count == 0)
        return CLI_OK;
    const struct id_names nodes = id_names_fetch(req, "nodes", destroyed.shown, "node_id");
    const struct id_names roles = id_names_fetch(req, "roles", destroyed.shown, "role_id");
    for (const struct json *nr = destroyed.shown->first; nr; nr = nr->next) {
        struct buf b = buf_in(req->arena);
        term_put_escaped(&b, id_names_find(&nodes, json_get(nr, STR("node_id"))));
        buf_put_z(&b, ": ");
        term_put_escaped(&b, id_names_find(&roles, json_get(nr, STR("role_id"))));
        losses_add(&losses, buf_str(&b));
    }
    losses.count = destroyed.count;
    return confirm_ask(req, "these noderoles are deleted as well", &losses);
}

enum cli_exit confirm_destroy(struct cli_request *req)
{
    const enum cli_exit status = req->options.yes ? CLI_OK : confirm_ask_destroy(req);
    return status == CLI_OK ? cmd_objects_destroy(req) : status;
}
