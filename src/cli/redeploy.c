#include "cli/redeploy.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/objects.h"
#include "cli/prompt.h"
#include "cli/safe.h"

static bool is_same_id(const struct json *a, const struct json *b)
{
    return a && b && a->kind == JSON_NUMBER && b->kind == JSON_NUMBER && str_eq(a->text, b->text);
}

static const struct json *find_role(const struct json *roles, const struct json *id)
{
    const struct json *role = roles->first;
    while (role && !is_same_id(json_get(role, STR("id")), id))
        role = role->next;
    return role;
}

/* "n1.example.com: provisioner-os-install, data-disks". */
static void put_losses(struct buf *b, const struct json *noderoles, const struct json *roles)
{
    bool any = false;
    for (const struct json *nr = noderoles->first; nr; nr = nr->next) {
        const struct json *role = find_role(roles, json_get(nr, STR("role_id")));
        const struct json *name = role ? json_get(role, STR("name")) : NULL;
        if (!name || name->kind != JSON_STRING)
            continue;
        buf_put_z(b, any ? ", " : "");
        safe_put(b, name->text);
        any = true;
    }
    if (!any)
        buf_put_z(b, "no role that destroys data is bound to it");
}

/* A line for each; the first that is not there ends it, and nothing has happened. */
static enum cli_exit gather(struct errand *e, struct buf *lines)
{
    const struct json *roles, *noderoles;
    struct question q = {
        .path = STR("roles"), .query = STR("destructive=true"), .attributes = "[\"id\",\"name\"]"};
    enum cli_exit status = errand_ask(e, &q, &roles);
    for (int i = 0; i < e->words->count && status == CLI_FINE; i++) {
        struct str path;
        status = errand_path(e, e->words->texts[i], &path);
        if (status == CLI_FINE)
            status = errand_ask(e,
                                &(struct question){.path = errand_join(e, path, "node_roles"),
                                                   .attributes = "[\"role_id\"]"},
                                &noderoles);
        if (status != CLI_FINE)
            return status;
        buf_put_z(lines, "  ");
        safe_put(lines, str_from(e->words->texts[i]));
        buf_put_z(lines, ": ");
        put_losses(lines, noderoles, roles);
        buf_put_c(lines, '\n');
    }
    return status;
}

static enum cli_exit agree(struct errand *e)
{
    struct buf lines = buf_in(e->arena);
    const enum cli_exit status = gather(e, &lines);
    if (status != CLI_FINE)
        return status;
    fprintf(stderr,
            "%s: at once reset, then discovered and set up anew, with what destroys data:\n%.*s",
            e->whose, STR_FMT_ARGS(buf_str(&lines)));
    const bool can_ask = prompt_is_possible();
    const char *answer = can_ask ? prompt_text(e->arena, "Type yes to go on", "") : NULL;
    if (answer && strcmp(answer, "yes") == 0)
        return CLI_FINE;
    fprintf(stderr, "%s: nothing was done%s\n", e->whose,
            can_ask ? "" : "; where nobody can be asked, say --yes");
    return CLI_USAGE;
}

enum cli_exit redeploy_ask(struct errand *e)
{
    const enum cli_exit status = e->options.yes ? CLI_FINE : agree(e);
    return status == CLI_FINE ? objects_act(e) : status;
}
