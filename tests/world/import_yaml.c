/* world_document() through the reader of the daemon: the document is written to disk as a barclamp
 * (YAML, and a Lua file for each role that has hooks) and read again. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "tests/world/world.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "content/tree.h"
#include "hooks/code_finder.h"
#include "sys/files.h"

/* ---- YAML ---- */

/* True if YAML reads the unquoted word as this string. */
static bool yaml_is_bare(struct str text)
{
    static const char *const other[] = {"y",   "n",    "yes",   "no",  "on",
                                        "off", "true", "false", "null"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        if (str_eq_nocase(text, str_from(other[i])))
            return false;
    for (uint32_t i = 0; i < text.len; i++) {
        const char c = text.at[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool later = (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '/' || c == '.';
        if (!letter && !(i > 0 && later))
            return false;
    }
    return text.len > 0;
}

static void yaml_put_string(struct buf *b, struct str text)
{
    if (yaml_is_bare(text))
        buf_put_str(b, text);
    else
        json_write_string(b, text); /* strings in double quotes are the same in JSON and YAML */
}

static bool yaml_is_container(const struct json *value)
{
    return value->kind == JSON_ARRAY || value->kind == JSON_OBJECT;
}

/* True for values that are written in one line: a scalar, or a list of scalars. */
static bool yaml_is_short(const struct json *value)
{
    for (const struct json *item = value->first; item; item = item->next)
        if (value->kind == JSON_OBJECT || yaml_is_container(item))
            return false;
    return true;
}

static void yaml_put_short(struct buf *b, const struct json *value)
{
    if (value->kind == JSON_STRING) {
        yaml_put_string(b, value->text);
    } else if (value->kind != JSON_ARRAY) {
        json_write_to(b, value);
    } else {
        buf_put_c(b, '[');
        for (const struct json *item = value->first; item; item = item->next) {
            if (item->kind == JSON_STRING)
                yaml_put_string(b, item->text);
            else
                json_write_to(b, item);
            buf_put_z(b, item->next ? ", " : "");
        }
        buf_put_c(b, ']');
    }
    buf_put_c(b, '\n');
}

static void yaml_put_spaces(struct buf *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        buf_put_c(b, ' ');
}

/* Write items and members in separate lines; the first one continues the present line. The
 * recursion is bounded by JSON_DEPTH_MAX. */
static void yaml_put_block(struct buf *b, const struct json *value, uint32_t indent)
{
    for (const struct json *item = value->first; item; item = item->next) {
        if (item != value->first)
            yaml_put_spaces(b, indent);
        if (value->kind == JSON_ARRAY) {
            buf_put_z(b, "- ");
        } else {
            yaml_put_string(b, item->key);
            buf_put_c(b, ':');
        }
        if (yaml_is_short(item)) {
            buf_put_z(b, value->kind == JSON_ARRAY ? "" : " ");
            yaml_put_short(b, item);
            continue;
        }
        if (value->kind == JSON_OBJECT) {
            buf_put_c(b, '\n');
            yaml_put_spaces(b, indent + 2);
        }
        yaml_put_block(b, item, indent + 2);
    }
}

/* ---- files ---- */

struct folder {
    struct arena *arena;
    char at[40];
};

static int yaml_remove_entry(const char *path, const struct stat *facts, int kind,
                             struct FTW *where)
{
    (void)facts, (void)kind, (void)where;
    return remove(path);
}

static void yaml_write_file(const struct folder *f, struct str name, struct str text)
{
    const char *path = str_z(f->arena, STR_CONCAT(f->arena, str_from(f->at), STR("/"), name));
    for (char *slash = strchr(path + strlen(f->at) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    CHECK(file_write(path, text, 0666) == OK);
}

/* Write the hooks of a role as functions of its Lua file, and remove the member `hooks`. */
static void yaml_move_hooks(const struct folder *f, struct str barclamp, struct json *role)
{
    const struct json *hooks = json_get(role, STR("hooks"));
    const struct json *name = json_get(role, STR("name"));
    if (!hooks || !name)
        return;
    struct buf lua = buf_in(f->arena);
    buf_put_z(&lua, "return {\n");
    for (const struct json *hook = hooks->first; hook; hook = hook->next) {
        buf_put_z(&lua, "  ");
        buf_put_str(&lua, hook->text);
        buf_put_z(&lua, " = function(subject, context) end,\n");
    }
    buf_put_z(&lua, "}\n");
    const struct str folder = STR_CONCAT(f->arena, barclamp, STR("/roles/"));
    yaml_write_file(f, STR_CONCAT(f->arena, folder, name->text, STR(".lua")), buf_str(&lua));
    json_unset(role, STR("hooks"));
}

/* NAME/NAME.yml and NAME/roles/ROLE.lua. */
static void yaml_write_barclamp(const struct folder *f, struct str name, struct json *tree)
{
    struct json *section = json_clone(f->arena, json_get(tree, STR("barclamp")));
    json_unset(section, STR("source_path"));
    json_set(tree, STR("barclamp"), section);
    const struct json *roles = json_get(tree, STR("roles"));
    for (struct json *role = roles ? roles->first : NULL; role; role = role->next)
        if (role->kind == JSON_OBJECT)
            yaml_move_hooks(f, name, role);
    struct buf yaml = buf_in(f->arena);
    yaml_put_block(&yaml, tree, 0);
    const struct str path = STR_CONCAT(f->arena, name, STR("/"), name);
    yaml_write_file(f, STR_CONCAT(f->arena, path, STR(".yml")), buf_str(&yaml));
}

/* ---- reading ---- */

static const char *yaml_describe_errors(struct world *w, const struct diagnostics *r)
{
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, "the barclamp could not be read");
    for (const struct diagnostics_entry *e = r->first; e; e = e->next) {
        buf_put_z(&b, "; ");
        diagnostics_format(e, &b);
    }
    return str_z(&w->arena, buf_str(&b));
}

static bool yaml_is_named(const struct json *value)
{
    return value && value->kind == JSON_STRING &&
           str_find(value->text, '/', 0) == value->text.len && value->text.len > 0;
}

/* A document that cannot be written as a file (no name, no source_path) is imported unchanged.
 * So is one that the reader refuses: the engine must refuse it too, which world_step() checks. */
struct str world_document(struct world *w, struct str json)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    w->unread = NULL;
    if (json_read(&w->arena, json, &tree, &offset, &what) != OK)
        return json;
    const struct json *section = json_get(tree, STR("barclamp"));
    const struct json *name = section ? json_get(section, STR("name")) : NULL;
    if (!yaml_is_named(name) || !json_get(section, STR("source_path")))
        return json;
    struct folder folder = {.arena = &w->arena, .at = "/tmp/halligan-yaml-XXXXXX"};
    CHECK(mkdtemp(folder.at));
    yaml_write_barclamp(&folder, name->text, tree);
    struct diagnostics report = diagnostics_begin(&w->arena);
    struct code_finder code = {0};
    const struct hook_finder finder = code_finder_hook_finder(&code);
    const struct content_tree found = content_read_tree(&report, folder.at, &finder);
    CHECK(nftw(folder.at, yaml_remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0);
    if (found.count == 1 && found.files[0].document.len)
        return found.files[0].document;
    w->unread = yaml_describe_errors(w, &report);
    return json;
}
