#include "cli/cmd/confirm.h"

#include <stdio.h>
#include <string.h>

#include "cli/cmd/cmd_explain.h"
#include "cli/cmd/cmd_objects.h"
#include "cli/cmd/id_names.h"
#include "cli/output/prompt.h"
#include "cli/output/term_escape.h"

void losses_add(struct losses *losses, struct str text)
{
    if (losses->count++ >= LOSSES_SHOWN_MAX)
        return;
    buf_put_z(&losses->lines, "  ");
    buf_put_str(&losses->lines, text);
    buf_put_c(&losses->lines, '\n');
}

enum cli_exit confirm_ask(struct cli_request *e, const char *what, const struct losses *losses)
{
    if (e->options.yes)
        return CLI_OK;
    fprintf(stderr, "%s: %s:\n%.*s", e->whose, what, STR_FMT_ARGS(buf_str(&losses->lines)));
    if (losses->count > LOSSES_SHOWN_MAX)
        fprintf(stderr, "  and %u more\n", losses->count - LOSSES_SHOWN_MAX);
    const bool can_ask = prompt_is_possible();
    const char *answer = can_ask ? prompt_text(e->arena, "Type yes to go on", "") : NULL;
    if (answer && strcmp(answer, "yes") == 0)
        return CLI_OK;
    fprintf(stderr, "%s: nothing was done%s\n", e->whose,
            can_ask ? "" : "; there is no terminal to ask on, so --yes is needed");
    return CLI_NOT_AGREED;
}

/* ---- commits ---- */

static struct str text_of(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, str_from(key));
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

/* "n1.example.com: os-install (wipe, boot)" */
static struct str put_noderole(struct cli_request *e, const struct json *noderole)
{
    struct buf b = buf_in(e->arena);
    const struct json *steps = json_get(noderole, STR("steps"));
    term_put_escaped(&b, text_of(noderole, "node_name"));
    buf_put_z(&b, ": ");
    term_put_escaped(&b, text_of(noderole, "role_name"));
    const struct json *first = steps && steps->kind == JSON_ARRAY ? steps->first : NULL;
    for (const struct json *step = first; step; step = step->next) {
        buf_put_z(&b, step == first ? " (" : ", ");
        term_put_escaped(&b, step->text);
    }
    buf_put_z(&b, first ? ")" : "");
    return buf_str(&b);
}

/* What its commit would destroy, and the hash of that. */
static enum cli_exit look_at_commit(struct cli_request *e, struct agreement *agreement,
                                    struct losses *losses)
{
    const struct json *answer;
    const struct api_request q = {.path = request_join(e, agreement->path, "consent")};
    const enum cli_exit status = request_send(e, &q, &answer);
    if (status != CLI_OK)
        return status;
    int64_t count = 0;
    const struct json *list = json_get(answer, STR("destroys"));
    agreement->hash = text_of(answer, "consent");
    if (!agreement->hash.len || !list || list->kind != JSON_ARRAY ||
        !json_as_i64(json_get(answer, STR("destroys_count")), &count) || count < list->count)
        return request_tell_trouble(e, "a server that does not say what a commit destroys");
    for (const struct json *noderole = list->first; noderole; noderole = noderole->next)
        losses_add(losses, put_noderole(e, noderole));
    losses->count += (uint32_t)(count - list->count);
    return CLI_OK;
}

static const char commit_asks[] = "once committed, these destroy data on their machines";

bool confirm_is_refusal(enum cli_exit status)
{
    return status == CLI_REFUSED || status == CLI_NOT_FOUND || status == CLI_NOT_ALLOWED;
}

bool confirm_to_commits(struct cli_request *e, struct agreement *agreements,
                        enum cli_exit *out_status)
{
    struct losses losses = {.lines = buf_in(e->arena)};
    const bool is_given = e->options.yes || e->options.plan;
    for (int i = 0; i < e->words->count; i++) {
        struct agreement *agreement = &agreements[i];
        agreement->status = request_path(e, e->words->texts[i], &agreement->path);
        if (agreement->status == CLI_OK && !is_given)
            agreement->status = look_at_commit(e, agreement, &losses);
        *out_status = agreement->status;
        if (agreement->status != CLI_OK && !confirm_is_refusal(agreement->status))
            return false;
    }
    *out_status = losses.count ? confirm_ask(e, commit_asks, &losses) : CLI_OK;
    return *out_status == CLI_OK;
}

enum cli_exit confirm_again(struct cli_request *e, struct agreement *agreement)
{
    struct losses losses = {.lines = buf_in(e->arena)};
    const enum cli_exit status = look_at_commit(e, agreement, &losses);
    if (status != CLI_OK || losses.count == 0)
        return status;
    return confirm_ask(e, "it changed meanwhile; these destroy data on their machines", &losses);
}

/* What a commit left out, on stderr: a heading, the first of them, and how many more there are. */
static void show_left_out(const struct cli_request *e, const char *heading,
                          const struct losses *losses)
{
    fprintf(stderr, "%s: %s:\n%.*s", e->whose, heading, STR_FMT_ARGS(buf_str(&losses->lines)));
    if (losses->count > LOSSES_SHOWN_MAX)
        fprintf(stderr, "  and %u more\n", losses->count - LOSSES_SHOWN_MAX);
}

void confirm_warn_unproposed(struct cli_request *e, const struct agreement *agreement)
{
    const struct json *answer;
    const struct api_request q = {.path = request_join(e, agreement->path, "consent"),
                                  .is_quiet = true};
    struct losses losses = {.lines = buf_in(e->arena)};
    if (request_send(e, &q, &answer) != CLI_OK)
        return;
    const struct json *list = json_get(answer, STR("unproposed"));
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        struct buf b = buf_in(e->arena);
        cmd_explain_put_unproposed(&b, entry);
        losses_add(&losses, buf_str(&b));
    }
    if (!losses.count)
        return;
    int64_t count = losses.count;
    ignore(json_as_i64(json_get(answer, STR("unproposed_count")), &count), "as many as are listed");
    losses.count = (uint32_t)count;
    show_left_out(e, "values stored but not proposed, so not committed", &losses);
}

enum cli_exit confirm_show_left_out(struct cli_request *e, const struct agreement *agreement)
{
    const struct json *plan;
    struct losses losses = {.lines = buf_in(e->arena)};
    const struct api_request q = {.path = request_join(e, agreement->path, "plan")};
    const enum cli_exit status = request_send(e, &q, &plan);
    if (status != CLI_OK)
        return status;
    const struct json *list = json_get(plan, STR("changed_destructive"));
    const struct json *first = list && list->kind == JSON_ARRAY ? list->first : NULL;
    for (const struct json *noderole = first; noderole; noderole = noderole->next)
        losses_add(&losses, put_noderole(e, noderole));
    if (losses.count)
        show_left_out(e, "these have other defaults now and are not rerun, since they destroy data",
                      &losses);
    return CLI_OK;
}

/* ---- destroy ---- */

struct doomed {
    struct json *shown; /* the first noderoles: {"node_id","role_id"} */
    uint32_t count;
};

/* An unknown name is reported by the delete request that follows. */
static enum cli_exit look_at_object(struct cli_request *e, const char *word, struct doomed *doomed)
{
    const struct json *list;
    struct api_request q = {.attributes = "[\"node_id\",\"role_id\"]", .is_quiet = true};
    enum cli_exit status = request_path(e, word, &q.path);
    if (status != CLI_OK)
        return status;
    q.path = request_join(e, q.path, "node_roles");
    status = request_send(e, &q, &list);
    if (status == CLI_NOT_FOUND)
        return CLI_OK;
    if (status != CLI_OK) {
        q.is_quiet = false;
        return request_send(e, &q, &list);
    }
    for (const struct json *nr = list->first; nr && doomed->shown->count < LOSSES_SHOWN_MAX;
         nr = nr->next)
        json_append(doomed->shown, json_clone(e->arena, nr));
    doomed->count += list->count;
    return CLI_OK;
}

static enum cli_exit agree_to_destroy(struct cli_request *e)
{
    struct losses losses = {.lines = buf_in(e->arena)};
    struct doomed doomed = {.shown = json_make(e->arena, JSON_ARRAY)};
    for (int i = 0; i < e->words->count; i++) {
        const enum cli_exit status = look_at_object(e, e->words->texts[i], &doomed);
        if (status != CLI_OK)
            return status;
    }
    if (doomed.count == 0)
        return CLI_OK;
    const struct id_names nodes = id_names_fetch(e, "nodes", doomed.shown, "node_id");
    const struct id_names roles = id_names_fetch(e, "roles", doomed.shown, "role_id");
    for (const struct json *nr = doomed.shown->first; nr; nr = nr->next) {
        struct buf b = buf_in(e->arena);
        term_put_escaped(&b, id_names_find(&nodes, json_get(nr, STR("node_id"))));
        buf_put_z(&b, ": ");
        term_put_escaped(&b, id_names_find(&roles, json_get(nr, STR("role_id"))));
        losses_add(&losses, buf_str(&b));
    }
    losses.count = doomed.count;
    return confirm_ask(e, "these noderoles are destroyed with it", &losses);
}

enum cli_exit confirm_destroy(struct cli_request *e)
{
    const enum cli_exit status = e->options.yes ? CLI_OK : agree_to_destroy(e);
    return status == CLI_OK ? cmd_objects_destroy(e) : status;
}
