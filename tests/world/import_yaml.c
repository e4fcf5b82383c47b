/* How a barclamp comes in: written to the disk as people write them, in YAML with a Lua file for
 * each role that has hooks, and read again by the reader that the daemon has. */
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

/* Would a reader take the bare word for this text? */
static bool is_bare(struct str text)
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

static void put_text(struct buf *b, struct str text)
{
    if (is_bare(text))
        buf_put_str(b, text);
    else
        json_write_string(b, text); /* a text in double quotes is the same in both */
}

static bool is_container(const struct json *value)
{
    return value->kind == JSON_ARRAY || value->kind == JSON_OBJECT;
}

/* What stands in its line: a scalar, or a list of them. */
static bool is_short(const struct json *value)
{
    for (const struct json *item = value->first; item; item = item->next)
        if (value->kind == JSON_OBJECT || is_container(item))
            return false;
    return true;
}

static void put_short(struct buf *b, const struct json *value)
{
    if (value->kind == JSON_STRING) {
        put_text(b, value->text);
    } else if (value->kind != JSON_ARRAY) {
        json_write_to(b, value);
    } else {
        buf_put_c(b, '[');
        for (const struct json *item = value->first; item; item = item->next) {
            if (item->kind == JSON_STRING)
                put_text(b, item->text);
            else
                json_write_to(b, item);
            buf_put_z(b, item->next ? ", " : "");
        }
        buf_put_c(b, ']');
    }
    buf_put_c(b, '\n');
}

static void put_spaces(struct buf *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        buf_put_c(b, ' ');
}

/* Items and members in lines of their own; the first one goes on where the line stands. A document
 * has JSON_DEPTH_MAX levels at most. */
static void put_block(struct buf *b, const struct json *value, uint32_t indent)
{
    for (const struct json *item = value->first; item; item = item->next) {
        if (item != value->first)
            put_spaces(b, indent);
        if (value->kind == JSON_ARRAY) {
            buf_put_z(b, "- ");
        } else {
            put_text(b, item->key);
            buf_put_c(b, ':');
        }
        if (is_short(item)) {
            buf_put_z(b, value->kind == JSON_ARRAY ? "" : " ");
            put_short(b, item);
            continue;
        }
        if (value->kind == JSON_OBJECT) {
            buf_put_c(b, '\n');
            put_spaces(b, indent + 2);
        }
        put_block(b, item, indent + 2);
    }
}

/* ---- files ---- */

struct folder {
    struct arena *arena;
    char at[40];
};

static int remove_entry(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts, (void)kind, (void)where;
    return remove(path);
}

static void folder_write(const struct folder *f, struct str name, struct str text)
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

/* The hooks are written where they belong: as functions of the role's file. */
static void move_hooks(const struct folder *f, struct str barclamp, struct json *role)
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
    folder_write(f, STR_CONCAT(f->arena, folder, name->text, STR(".lua")), buf_str(&lua));
    json_unset(role, STR("hooks"));
}

/* NAME/NAME.yml and NAME/roles/ROLE.lua. */
static void write_barclamp(const struct folder *f, struct str name, struct json *tree)
{
    struct json *section = json_clone(f->arena, json_get(tree, STR("barclamp")));
    json_unset(section, STR("source_path"));
    json_set(tree, STR("barclamp"), section);
    const struct json *roles = json_get(tree, STR("roles"));
    for (struct json *role = roles ? roles->first : NULL; role; role = role->next)
        if (role->kind == JSON_OBJECT)
            move_hooks(f, name, role);
    struct buf yaml = buf_in(f->arena);
    put_block(&yaml, tree, 0);
    const struct str path = STR_CONCAT(f->arena, name, STR("/"), name);
    folder_write(f, STR_CONCAT(f->arena, path, STR(".yml")), buf_str(&yaml));
}

/* ---- reading ---- */

static const char *everything_said(struct world *w, const struct diagnostics *r)
{
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, "nothing could be read");
    for (const struct diagnostics_entry *e = r->first; e; e = e->next) {
        buf_put_z(&b, "; ");
        diagnostics_format(e, &b);
    }
    return str_z(&w->arena, buf_str(&b));
}

static bool is_named(const struct json *value)
{
    return value && value->kind == JSON_STRING &&
           str_find(value->text, '/', 0) == value->text.len && value->text.len > 0;
}

/* What no file can say (no name, no place where it lies) goes in as it is. So does what the reader
 * refuses, for the engine has to refuse it too: world_step sees to that. */
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
    if (!is_named(name) || !json_get(section, STR("source_path")))
        return json;
    struct folder folder = {.arena = &w->arena, .at = "/tmp/halligan-yaml-XXXXXX"};
    CHECK(mkdtemp(folder.at));
    write_barclamp(&folder, name->text, tree);
    struct diagnostics report = diagnostics_begin(&w->arena);
    struct code_finder code = {0};
    const struct hook_finder finder = code_finder_hook_finder(&code);
    const struct content_tree found = content_read_tree(&report, folder.at, &finder);
    CHECK(nftw(folder.at, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0);
    if (found.count == 1 && found.files[0].document.len)
        return found.files[0].document;
    w->unread = everything_said(w, &report);
    return json;
}
