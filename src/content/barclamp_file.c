#include "content/barclamp_file.h"

#include "content/barclamp_schema.h"
#include "content/role_file.h"
#include "content/yaml.h"
#include "model/limits.h"
#include "model/names.h"

static const struct text_place nowhere;

static struct str file_name(const struct barclamp_file *file)
{
    return str_from(file->path);
}

/* ---- what the file says of itself ---- */

static struct str text_at(const struct json *tree, struct str path)
{
    const struct json *value = json_at(tree, path);
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

static void take_tree(struct barclamp_file *file, const struct json *tree)
{
    file->tree = tree;
    file->name = text_at(tree, STR("barclamp/name"));
    file->parent = text_at(tree, STR("barclamp/parent"));
}

/* ---- hooks ---- */

static void say_bad_lua(struct diagnostics *r, const struct barclamp_file *file, struct str field,
                        struct str role, err e)
{
    const char *why = e == ERR_REFUSED  ? "lies outside the barclamp, or nobody may read it"
                      : e == ERR_LIMIT  ? "has too long a path"
                      : e == ERR_EXISTS ? "is no file"
                                        : "cannot be read";
    const struct str path = content_lua_path(r->arena, file->source_path, role);
    diagnostics_error(diagnostics_as(r, "lua_invalid"), file_name(file),
                      barclamp_place(file, field), "the Lua file of role %.*s %s: %.*s",
                      STR_FMT_ARGS(diagnostics_brief(role)), why, STR_FMT_ARGS(path));
}

/* The role's Lua file says which hooks there are; a list in the YAML would only go stale. */
static void add_hooks(struct diagnostics *r, const struct barclamp_file *file,
                      const struct hook_finder *finder, struct json *role, struct str field)
{
    const char *lua = NULL;
    const struct str name = text_at(role, STR("name"));
    const err e = content_role_file(r->arena, file->source_path, name, ROLE_FILE_LUA, &lua);
    if (json_unset(role, STR("hooks")))
        diagnostics_warning(
            diagnostics_as(r, "not_used"), file_name(file), barclamp_place(file, field),
            "hooks are what the Lua file of the role defines; this list is not used");
    if (e == ERR_NOT_FOUND)
        return;
    if (e != OK) {
        say_bad_lua(r, file, field, name, e);
        return;
    }
    struct json *names = json_make(r->arena, JSON_ARRAY);
    finder->find(finder->self, lua, r, names);
    json_set(role, STR("hooks"), names);
}

static void add_all_hooks(struct diagnostics *r, const struct barclamp_file *file,
                          const struct hook_finder *finder, struct json *document)
{
    const struct json *roles = json_get(document, STR("roles"));
    const bool is_list = roles && roles->kind == JSON_ARRAY;
    uint32_t i = 0;
    for (struct json *role = is_list ? roles->first : NULL; role; role = role->next, i++) {
        if (names_check_role(text_at(role, STR("name"))))
            continue; /* which has been said; nobody knows its file */
        struct buf field = buf_in(r->arena);
        buf_put_z(&field, "roles/");
        buf_put_u64(&field, i);
        buf_put_z(&field, "/hooks");
        add_hooks(r, file, finder, role, buf_str(&field));
    }
}

/* ---- the document ---- */

static void put_source_path(struct diagnostics *r, const struct barclamp_file *file,
                            struct json *document)
{
    const struct json *section = json_get(document, STR("barclamp"));
    if (!section || section->kind != JSON_OBJECT)
        return;
    struct json *copy = json_clone(r->arena, section);
    if (json_unset(copy, STR("source_path")))
        diagnostics_warning(diagnostics_as(r, "not_used"), file_name(file),
                            barclamp_place(file, STR("barclamp/source_path")),
                            "source_path is where the barclamp lies; this one is not used");
    json_set(copy, STR("source_path"), json_make_string(r->arena, file->source_path));
    json_set(document, STR("barclamp"), copy);
}

/* The engine has bounds of its own, narrower than those of a text. */
static void write_document(struct diagnostics *r, struct barclamp_file *file,
                           const struct json *document)
{
    if (json_depth(document) > DOC_DEPTH_MAX) {
        diagnostics_error(diagnostics_as(r, "limit_reached"), file_name(file), nowhere,
                          "the barclamp is nested more than %u levels deep", DOC_DEPTH_MAX);
        return;
    }
    const struct str text = json_write(r->arena, document);
    if (text.len > DOC_MAX)
        diagnostics_error(diagnostics_as(r, "limit_reached"), file_name(file), nowhere,
                          "the barclamp is larger than %u KiB", DOC_MAX >> 10);
    else
        file->document = text;
}

/* What cannot be one is none, and what is wrong with it has been said. */
static void write_draft(struct diagnostics *r, struct barclamp_file *file,
                        const struct json *document)
{
    if (document->kind != JSON_OBJECT || json_depth(document) > DOC_DEPTH_MAX)
        return;
    const struct str text = json_write(r->arena, document);
    if (text.len <= DOC_MAX)
        file->draft = text;
}

void barclamp_from_yaml(struct diagnostics *r, struct str text, const struct hook_finder *finder,
                        struct barclamp_file *file)
{
    const uint32_t errors_before = r->errors;
    const struct json *tree;
    r->code = "bad_yaml";
    const err e = yaml_read(r, file_name(file), text, &tree);
    r->code = NULL;
    if (e != OK && !tree)
        return;
    take_tree(file, tree);
    barclamp_schema_check(r, file_name(file), tree);
    struct json *document = yaml_sound_copy(r->arena, tree);
    put_source_path(r, file, document);
    if (finder) /* also where the form is wrong: what is wrong with the code is to be told too */
        add_all_hooks(r, file, finder, document);
    if (r->errors == errors_before)
        write_document(r, file, document);
    else
        write_draft(r, file, document);
}

void barclamp_from_json(struct diagnostics *r, struct str text, struct barclamp_file *file)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (json_read(r->arena, text, &tree, &offset, &what) != OK) {
        diagnostics_error(diagnostics_as(r, "bad_json"), file_name(file),
                          text_place_of(text, offset), "this is not JSON: %s", what);
        return;
    }
    take_tree(file, tree);
    if (!json_at(tree, STR("barclamp/source_path")))
        put_source_path(r, file, tree);
    write_document(r, file, tree);
}

struct text_place barclamp_place(const struct barclamp_file *file, struct str field)
{
    return file->is_yaml && file->tree ? yaml_place_at(file->tree, field) : nowhere;
}
