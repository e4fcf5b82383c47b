#include "content/barclamp_file.h"

#include "content/barclamp_schema.h"
#include "content/role_file.h"
#include "content/yaml.h"
#include "model/limits.h"
#include "model/names.h"

/* Converts the text of one barclamp file (a package of roles) into the JSON document that the
 * engine imports. The file owns nothing: results go to the struct barclamp_file, and all memory
 * comes from the arena of the report.
 *
 * Order for YAML: parse, check keys and types, copy, set the source path, add the hooks of each
 * role, write. The checks come before the copy, because they mark wrong values and the copy leaves
 * these out. Source path and hooks are set in the copy, so that file->tree keeps the positions of
 * the text. Hooks are also read if the file has errors, so that errors in Lua code are reported at
 * the same time.
 *
 * JSON is not checked here but by the engine, and its hooks are used as written: only a missing
 * source path is added.
 *
 * Failure. Errors are added to the report and do not end the conversion, unless the text cannot be
 * parsed. Only a file without any error gets a document. From a YAML file with errors the same
 * copy becomes its draft, which is never imported; it is used to find further problems. */

static const struct text_position nowhere; /* line 0: the error is about the file as a whole */

static struct str barclamp_file_name(const struct barclamp_file *file)
{
    return str_from(file->path);
}

/* ---- name and parent ---- */

static struct str barclamp_file_text(const struct json *tree, struct str path)
{
    const struct json *value = json_at(tree, path);
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

static void barclamp_file_set_tree(struct barclamp_file *file, const struct json *tree)
{
    file->tree = tree;
    file->name = barclamp_file_text(tree, STR("barclamp/name"));
    file->parent = barclamp_file_text(tree, STR("barclamp/parent"));
}

/* ---- hooks ---- */

/* Set the hooks of a role to the names that its Lua file defines; without a file it has none. A
 * list in the YAML is dropped with a warning, because it could differ from the code. `field` is
 * the path of that list. */
static void barclamp_file_add_hooks(struct diagnostics *r, const struct barclamp_file *file,
                                    const struct hook_finder *finder, struct json *role,
                                    struct str field)
{
    const char *lua = NULL;
    const struct str name = barclamp_file_text(role, STR("name"));
    const err e = content_role_file(r->arena, file->source_path, name, ROLE_FILE_LUA, &lua);
    if (json_unset(role, STR("hooks")))
        diagnostics_warning(
            diagnostics_as(r, "not_used"), barclamp_file_name(file),
            barclamp_field_position(file, field),
            "the hooks are those that the Lua file of the role defines; this list is not used");
    if (e == ERR_NOT_FOUND)
        return;
    if (e != OK) {
        const char *why = e == ERR_REFUSED  ? "is outside the barclamp or cannot be read"
                          : e == ERR_LIMIT  ? "has a path that is too long"
                          : e == ERR_EXISTS ? "is not a regular file"
                                            : "cannot be read";
        const struct str path = content_lua_path(r->arena, file->source_path, name);
        diagnostics_error(diagnostics_as(r, "lua_invalid"), barclamp_file_name(file),
                          barclamp_field_position(file, field),
                          "the Lua file of role %.*s %s: %.*s",
                          STR_FMT_ARGS(diagnostics_brief(name)), why, STR_FMT_ARGS(path));
        return;
    }
    struct json *names = json_make(r->arena, JSON_ARRAY);
    finder->find(finder->self, lua, r, names);
    json_set(role, STR("hooks"), names);
}

static void barclamp_file_add_all_hooks(struct diagnostics *r, const struct barclamp_file *file,
                                        const struct hook_finder *finder, struct json *document)
{
    const struct json *roles = json_get(document, STR("roles"));
    const bool is_list = roles && roles->kind == JSON_ARRAY;
    uint32_t i = 0;
    for (struct json *role = is_list ? roles->first : NULL; role; role = role->next, i++) {
        if (names_check_role_pattern(barclamp_file_text(role, STR("name"))))
            continue; /* an invalid name is reported already, and it has no file */
        struct buf field = buf_in(r->arena);
        buf_put_z(&field, "roles/");
        buf_put_u64(&field, i);
        buf_put_z(&field, "/hooks");
        barclamp_file_add_hooks(r, file, finder, role, buf_str(&field));
    }
}

/* ---- document and draft ---- */

/* The source path is the directory of the file and not a value that the file may choose: a YAML
 * value is dropped with a warning. */
static void barclamp_file_set_source_path(struct diagnostics *r, const struct barclamp_file *file,
                                          struct json *document)
{
    const struct json *section = json_get(document, STR("barclamp"));
    if (!section || section->kind != JSON_OBJECT)
        return;
    struct json *copy = json_clone(r->arena, section);
    if (json_unset(copy, STR("source_path")))
        diagnostics_warning(diagnostics_as(r, "not_used"), barclamp_file_name(file),
                            barclamp_field_position(file, STR("barclamp/source_path")),
                            "source_path is the directory of the barclamp; this value is not used");
    json_set(copy, STR("source_path"), json_make_string(r->arena, file->source_path));
    json_set(document, STR("barclamp"), copy);
}

/* The limits of documents in the engine are lower than those of YAML files. */
static void barclamp_file_write_document(struct diagnostics *r, struct barclamp_file *file,
                                         const struct json *document)
{
    if (json_depth(document) > DOC_DEPTH_MAX) {
        diagnostics_error(diagnostics_as(r, "limit_reached"), barclamp_file_name(file), nowhere,
                          "the barclamp is nested more than %u levels deep", DOC_DEPTH_MAX);
        return;
    }
    const struct str text = json_write(r->arena, document);
    if (text.len > DOC_MAX)
        diagnostics_error(diagnostics_as(r, "limit_reached"), barclamp_file_name(file), nowhere,
                          "the barclamp is larger than %u KiB", DOC_MAX >> 10);
    else
        file->document = text;
}

/* A tree that exceeds the limits has no draft; the file has errors already. */
static void barclamp_file_write_draft(struct diagnostics *r, struct barclamp_file *file,
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
    const uint32_t errors_before = r->errors; /* the report may have errors of other files */
    const struct json *tree;
    r->code = "bad_yaml";
    const err e = yaml_read(r, barclamp_file_name(file), text, &tree);
    r->code = NULL;
    if (e != OK && !tree)
        return; /* with a tree, wrong values are marked in it, and the rest is checked */
    barclamp_file_set_tree(file, tree);
    barclamp_schema_check(r, barclamp_file_name(file), tree);
    struct json *document = yaml_copy_valid(r->arena, tree);
    barclamp_file_set_source_path(r, file, document);
    if (finder) /* without one, the hooks remain as written in the file */
        barclamp_file_add_all_hooks(r, file, finder, document);
    if (r->errors == errors_before)
        barclamp_file_write_document(r, file, document);
    else
        barclamp_file_write_draft(r, file, document);
}

void barclamp_from_json(struct diagnostics *r, struct str text, struct barclamp_file *file)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (json_read(r->arena, text, &tree, &offset, &what) != OK) {
        diagnostics_error(diagnostics_as(r, "bad_json"), barclamp_file_name(file),
                          text_position_of(text, offset), "not valid JSON: %s", what);
        return;
    }
    barclamp_file_set_tree(file, tree);
    if (!json_at(tree, STR("barclamp/source_path")))
        barclamp_file_set_source_path(r, file, tree);
    barclamp_file_write_document(r, file, tree);
}

struct text_position barclamp_field_position(const struct barclamp_file *file, struct str field)
{
    return file->is_yaml && file->tree ? yaml_position_at(file->tree, field) : nowhere;
}
