#include "hooks/code_finder.h"

#include <string.h>

#include "base/text/suggest.h"
#include "hooks/hooks.h"
#include "model/record.h"

/* Used by the checks and the import of barclamps. The list of files that were read is allocated in
 * the arena of the report. A file that fails becomes one error of the report, at the line that Lua
 * names; functions that are not hooks become a warning with a suggestion. */

struct seen_code {
    const char *path;
    bool has_transition;
    struct seen_code *next;
};

/* Split "PATH:12: text" into the line number and the text. */
static struct text_position code_finder_split_line(struct str path, struct str *text)
{
    struct text_position at = {0};
    int64_t line;
    if (!str_starts(*text, path))
        return at;
    struct str rest = str_slice(*text, path.len, text->len);
    const uint32_t end = str_find(rest, ':', 1);
    if (rest.len && str_parse_i64(str_slice(rest, 1, end), &line) && line <= UINT32_MAX) {
        at.line = (uint32_t)line;
        rest = str_slice(rest, end, rest.len);
    }
    *text = str_starts(rest, STR(": ")) ? str_slice(rest, 2, rest.len) : rest;
    return at;
}

/* A suggestion for the first name of the list "a, b". */
static struct str code_finder_suggest(struct str unknown)
{
    struct suggestion nearest = {0};
    const struct str name = str_slice(unknown, 0, str_find(unknown, ',', 0));
    for (int hook = 0; hook < HOOK_COUNT; hook++)
        suggest_offer_str(&nearest, name, str_from(hook_name((enum hook)hook)));
    suggest_offer_str(&nearest, name, STR("do_transition"));
    return suggest_str(&nearest);
}

static void code_finder_find(void *self, const char *lua_path, struct diagnostics *r,
                             struct json *names)
{
    struct code_finder *f = self;
    struct hooks_report found;
    const struct str path = str_copy(r->arena, str_from(lua_path));
    if (hooks_inspect(lua_path, r->arena, &found) != OK) {
        const struct text_position at = code_finder_split_line(path, &found.text);
        diagnostics_error(diagnostics_as(r, "lua_invalid"), path, at, "%.*s",
                          STR_FMT_ARGS(found.text));
        return;
    }
    const struct role_functions *functions = &found.functions;
    for (uint32_t hook = 0; hook < HOOK_COUNT; hook++)
        if (functions->hooks >> hook & 1)
            json_append(names, json_make_string(r->arena, str_from(hook_name((enum hook)hook))));
    if (functions->unknown.len) {
        const struct str meant = code_finder_suggest(functions->unknown);
        diagnostics_warning(diagnostics_as(r, "lua_unused"), path, (struct text_position){0},
                            "it defines %.*s, which is not called%s%.*s%s",
                            STR_FMT_ARGS(diagnostics_brief(functions->unknown)),
                            meant.len ? "; did you mean " : "", STR_FMT_ARGS(meant),
                            meant.len ? "?" : "");
    }
    struct seen_code *seen = arena_new(r->arena, struct seen_code);
    *seen = (struct seen_code){str_z(r->arena, path), functions->has_do_transition, f->seen};
    f->seen = seen;
}

struct hook_finder code_finder_hook_finder(struct code_finder *f)
{
    return (struct hook_finder){.self = f, .find = code_finder_find};
}

bool code_finder_has_transition(const struct code_finder *f, const char *lua_path)
{
    for (const struct seen_code *seen = f->seen; seen; seen = seen->next)
        if (strcmp(seen->path, lua_path) == 0)
            return seen->has_transition;
    return false;
}
