#include "cli/cmd/confirm.h"

#include <stdio.h>
#include <string.h>

#include "cli/cmd/cmd_explain.h"
#include "cli/cmd/id_names.h"
#include "cli/cmd/cmd_objects.h"
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

enum cli_exit consent_ask(struct errand *e, const char *what, const struct losses *losses)
{
    if (e->options.yes)
        return CLI_FINE;
    fprintf(stderr, "%s: %s:\n%.*s", e->whose, what, STR_FMT_ARGS(buf_str(&losses->lines)));
    if (losses->count > LOSSES_SHOWN_MAX)
        fprintf(stderr, "  and %u more\n", losses->count - LOSSES_SHOWN_MAX);
    const bool can_ask = prompt_is_possible();
    const char *answer = can_ask ? prompt_text(e->arena, "Type yes to go on", "") : NULL;
    if (answer && strcmp(answer, "yes") == 0)
        return CLI_FINE;
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
static struct str put_noderole(struct errand *e, const struct json *noderole)
{
    struct buf b = buf_in(e->arena);
    const struct json *steps = json_get(noderole, STR("steps"));
    safe_put(&b, text_of(noderole, "node_name"));
    buf_put_z(&b, ": ");
    safe_put(&b, text_of(noderole, "role_name"));
    const struct json *first = steps && steps->kind == JSON_ARRAY ? steps->first : NULL;
    for (const struct json *step = first; step; step = step->next) {
        buf_put_z(&b, step == first ? " (" : ", ");
        safe_put(&b, step->text);
    }
    buf_put_z(&b, first ? ")" : "");
    return buf_str(&b);
}

/* What its commit would destroy, and the hash of that. */
static enum cli_exit look_at_commit(struct errand *e, struct agreement *agreement,
                                    struct losses *losses)
{
    const struct json *answer;
    const struct question q = {.path = errand_join(e, agreement->path, "consent")};
    const enum cli_exit status = errand_ask(e, &q, &answer);
    if (status != CLI_FINE)
        return status;
    int64_t count = 0;
    const struct json *list = json_get(answer, STR("destroys"));
    agreement->hash = text_of(answer, "consent");
    if (!agreement->hash.len || !list || list->kind != JSON_ARRAY ||
        !json_as_i64(json_get(answer, STR("destroys_count")), &count) || count < list->count)
        return errand_tell_trouble(e, "a server that does not say what a commit destroys");
    for (const struct json *noderole = list->first; noderole; noderole = noderole->next)
        losses_add(losses, put_noderole(e, noderole));
    losses->count += (uint32_t)(count - list->count);
    return CLI_FINE;
}

static const char commit_asks[] = "once committed, these destroy data on their machines";

bool consent_is_refusal(enum cli_exit status)
{
    return status == CLI_REFUSED || status == CLI_NOT_FOUND || status == CLI_NOT_ALLOWED;
}

bool consent_to_commits(struct errand *e, struct agreement *agreements, enum cli_exit *out_status)
{
    struct losses losses = {.lines = buf_in(e->arena)};
    const bool is_given = e->options.yes || e->options.plan;
    for (int i = 0; i < e->words->count; i++) {
        struct agreement *agreement = &agreements[i];
        agreement->status = errand_path(e, e->words->texts[i], &agreement->path);
        if (agreement->status == CLI_FINE && !is_given)
            agreement->status = look_at_commit(e, agreement, &losses);
        *out_status = agreement->status;
        if (agreement->status != CLI_FINE && !consent_is_refusal(agreement->status))
            return false;
    }
    *out_status = losses.count ? consent_ask(e, commit_asks, &losses) : CLI_FINE;
    return *out_status == CLI_FINE;
}

enum cli_exit consent_again(struct errand *e, struct agreement *agreement)
{
    struct losses losses = {.lines = buf_in(e->arena)};
    const enum cli_exit status = look_at_commit(e, agreement, &losses);
    if (status != CLI_FINE || losses.count == 0)
        return status;
    return consent_ask(e, "it changed meanwhile; these destroy data on their machines", &losses);
}

/* What a commit left out, on stderr: a heading, the first of them, and how many more there are. */
static void show_left_out(const struct errand *e, const char *heading, const struct losses *losses)
{
    fprintf(stderr, "%s: %s:\n%.*s", e->whose, heading, STR_FMT_ARGS(buf_str(&losses->lines)));
    if (losses->count > LOSSES_SHOWN_MAX)
        fprintf(stderr, "  and %u more\n", losses->count - LOSSES_SHOWN_MAX);
}

void consent_warn_unproposed(struct errand *e, const struct agreement *agreement)
{
    const struct json *answer;
    const struct question q = {.path = errand_join(e, agreement->path, "consent"),
                               .is_quiet = true};
    struct losses losses = {.lines = buf_in(e->arena)};
    if (errand_ask(e, &q, &answer) != CLI_FINE)
        return;
    const struct json *list = json_get(answer, STR("unproposed"));
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        struct buf b = buf_in(e->arena);
        insight_put_unproposed(&b, entry);
        losses_add(&losses, buf_str(&b));
    }
    if (!losses.count)
        return;
    int64_t count = losses.count;
    ignore(json_as_i64(json_get(answer, STR("unproposed_count")), &count), "as many as are listed");
    losses.count = (uint32_t)count;
    show_left_out(e, "values stored but not proposed, so not committed", &losses);
}

enum cli_exit consent_show_left_out(struct errand *e, const struct agreement *agreement)
{
    const struct json *plan;
    struct losses losses = {.lines = buf_in(e->arena)};
    const struct question q = {.path = errand_join(e, agreement->path, "plan")};
    const enum cli_exit status = errand_ask(e, &q, &plan);
    if (status != CLI_FINE)
        return status;
    const struct json *list = json_get(plan, STR("changed_destructive"));
    const struct json *first = list && list->kind == JSON_ARRAY ? list->first : NULL;
    for (const struct json *noderole = first; noderole; noderole = noderole->next)
        losses_add(&losses, put_noderole(e, noderole));
    if (losses.count)
        show_left_out(e, "these have other defaults now and are not rerun, since they destroy data",
                      &losses);
    return CLI_FINE;
}

/* ---- destroy ---- */

struct doomed {
    struct json *shown; /* the first noderoles: {"node_id","role_id"} */
    uint32_t count;
};

/* An unknown name is reported by the delete request that follows. */
static enum cli_exit look_at_object(struct errand *e, const char *word, struct doomed *doomed)
{
    const struct json *list;
    struct question q = {.attributes = "[\"node_id\",\"role_id\"]", .is_quiet = true};
    enum cli_exit status = errand_path(e, word, &q.path);
    if (status != CLI_FINE)
        return status;
    q.path = errand_join(e, q.path, "node_roles");
    status = errand_ask(e, &q, &list);
    if (status == CLI_NOT_FOUND)
        return CLI_FINE;
    if (status != CLI_FINE) {
        q.is_quiet = false;
        return errand_ask(e, &q, &list);
    }
    for (const struct json *nr = list->first; nr && doomed->shown->count < LOSSES_SHOWN_MAX;
         nr = nr->next)
        json_append(doomed->shown, json_clone(e->arena, nr));
    doomed->count += list->count;
    return CLI_FINE;
}

static enum cli_exit agree_to_destroy(struct errand *e)
{
    struct losses losses = {.lines = buf_in(e->arena)};
    struct doomed doomed = {.shown = json_make(e->arena, JSON_ARRAY)};
    for (int i = 0; i < e->words->count; i++) {
        const enum cli_exit status = look_at_object(e, e->words->texts[i], &doomed);
        if (status != CLI_FINE)
            return status;
    }
    if (doomed.count == 0)
        return CLI_FINE;
    const struct names nodes = names_fetch(e, "nodes", doomed.shown, "node_id");
    const struct names roles = names_fetch(e, "roles", doomed.shown, "role_id");
    for (const struct json *nr = doomed.shown->first; nr; nr = nr->next) {
        struct buf b = buf_in(e->arena);
        safe_put(&b, names_find(&nodes, json_get(nr, STR("node_id"))));
        buf_put_z(&b, ": ");
        safe_put(&b, names_find(&roles, json_get(nr, STR("role_id"))));
        losses_add(&losses, buf_str(&b));
    }
    losses.count = doomed.count;
    return consent_ask(e, "these noderoles are destroyed with it", &losses);
}

enum cli_exit consent_destroy(struct errand *e)
{
    const enum cli_exit status = e->options.yes ? CLI_FINE : agree_to_destroy(e);
    return status == CLI_FINE ? objects_destroy(e) : status;
}
