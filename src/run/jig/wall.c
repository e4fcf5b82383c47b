#include "run/jig/wall.h"

#include <stdlib.h>
#include <string.h>

#include "content/diagnostics.h"
#include "model/limits.h"
#include "run/jig/archive.h"
#include "run/jig/launch_spec_private.h"

/* The members of the archive are collected, sorted by path so that parents come before children,
 * and inserted into a tree. The first invalid value refuses the whole document: a part of it would
 * be stored as if it were complete. Everything is allocated in the arena of the caller. */

struct value {
    struct str path; /* "a/b/c", as sent */
    struct str bytes;
};

struct wall {
    struct arena *arena;
    struct value *values;
    uint32_t count, cap;
    struct reason *out_why;
};

/* ---- values ---- */

static bool wall_is_integer(struct str s)
{
    int64_t value;
    const bool negative = str_starts(s, STR("-"));
    const struct str digits = str_slice(s, negative, s.len);
    if (!str_parse_i64(digits, &value))
        return false;
    return digits.at[0] != '0' || (digits.len == 1 && !negative);
}

static struct str wall_trim(struct str s)
{
    while (s.len && strchr(" \t\r\n", s.at[s.len - 1]))
        s.len--;
    while (s.len && strchr(" \t\r\n", s.at[0]))
        s = str_slice(s, 1, s.len);
    return s;
}

struct json *wall_value(struct arena *a, struct str bytes)
{
    struct json *value;
    uint32_t offset;
    const char *what;
    if (!str_is_clean(bytes))
        return NULL;
    const struct str bare = wall_trim(bytes);
    if (str_eq_nocase(bare, STR("true")) || str_eq_nocase(bare, STR("false")))
        return json_make_bool(a, str_eq_nocase(bare, STR("true")));
    if (wall_is_integer(bare)) {
        value = json_make(a, JSON_NUMBER);
        value->text = bare;
        return value;
    }
    if ((str_starts(bare, STR("{")) || str_starts(bare, STR("["))) &&
        json_read(a, bare, &value, &offset, &what) == OK)
        return value;
    const bool has_end = str_ends(bytes, STR("\n"));
    return json_make_string(a, str_slice(bytes, 0, bytes.len - has_end));
}

/* ---- tree ---- */

/* Decode the next component of a path (%25 and %2F) and advance `path`. */
static struct str wall_next_component(struct arena *a, struct str *path)
{
    const uint32_t end = str_find(*path, '/', 0);
    const struct str component = str_slice(*path, 0, end);
    struct buf out = buf_in(a);
    *path = str_slice(*path, end + 1, path->len);
    if (str_find(component, '%', 0) == component.len)
        return component;
    for (uint32_t i = 0; i < component.len; i++) {
        const struct str code = str_slice(component, i, i + 3);
        const bool is_slash = str_eq_nocase(code, STR("%2f"));
        const bool is_percent = str_eq(code, STR("%25"));
        buf_put_c(&out, is_slash ? '/' : component.at[i]);
        i += is_slash || is_percent ? 2 : 0;
    }
    return buf_str(&out);
}

static err wall_refuse(struct wall *w, struct str path, const char *what)
{
    w->out_why->subject = diagnostics_brief(path);
    return launch_spec_refuse(w->arena, w->out_why, "the scripts wrote attribute \"%.*s\": %s",
                              STR_FMT_ARGS(diagnostics_brief(path)), what);
}

static struct json *wall_member(const struct json *object, struct str key)
{
    /* The tree belongs to this file; json_get only returns it as const. */
    return (struct json *)(uintptr_t)json_get(object, key);
}

/* Insert a value and create objects on its path. Paths are sorted, so parents come first. */
static err wall_insert(struct wall *w, struct json *at, struct value v)
{
    struct json *value = wall_value(w->arena, v.bytes);
    struct str rest = v.path;
    if (!value)
        return wall_refuse(w, v.path, "its value is not UTF-8 text");
    if (!str_is_clean(v.path))
        return wall_refuse(w, STR("?"), "its name is not UTF-8 text");
    for (uint32_t depth = 0; rest.len; depth++) {
        const struct str component = wall_next_component(w->arena, &rest);
        struct json *below = wall_member(at, component);
        if (component.len == 0 || depth == DOC_DEPTH_MAX)
            return wall_refuse(w, v.path,
                               component.len ? "it is nested too deeply" : "that is not a path");
        if (!below) {
            below = rest.len ? json_make(w->arena, JSON_OBJECT) : value;
            json_set(at, component, below);
        } else if (below->kind != JSON_OBJECT || rest.len == 0) {
            return wall_refuse(w, v.path, "another value has the same path or is part of it");
        }
        at = below;
    }
    return OK;
}

/* By bytes, with the slash before all other bytes: a path comes before the paths below it. */
static int wall_compare_paths(const void *a, const void *b)
{
    const struct str x = ((const struct value *)a)->path, y = ((const struct value *)b)->path;
    for (uint32_t i = 0; i < x.len && i < y.len; i++) {
        if (x.at[i] == y.at[i])
            continue;
        if (x.at[i] == '/' || y.at[i] == '/')
            return x.at[i] == '/' ? -1 : 1;
        return (unsigned char)x.at[i] < (unsigned char)y.at[i] ? -1 : 1;
    }
    return (x.len > y.len) - (x.len < y.len);
}

/* ---- archive ---- */

/* "./a/b/wall" is the path a/b. False: not a value. */
static bool wall_path(struct str name, struct str *out_path)
{
    while (str_starts(name, STR("./")))
        name = str_slice(name, 2, name.len);
    if (str_eq(name, STR("wall"))) {
        *out_path = STR("");
        return true;
    }
    if (!str_ends(name, STR("/wall")))
        return false;
    *out_path = str_slice(name, 0, name.len - 5);
    return true;
}

static void wall_add_value(struct wall *w, struct str path, struct str bytes)
{
    if (w->count == w->cap) {
        const uint32_t cap = w->cap ? w->cap * 2 : 64;
        struct value *values = arena_array(w->arena, struct value, cap);
        if (w->count)
            memcpy(values, w->values, sizeof *values * w->count);
        w->values = values;
        w->cap = cap;
    }
    w->values[w->count++] = (struct value){path, bytes};
}

/* A hard link has no content; find the file that it refers to. */
static bool wall_find_linked(const struct wall *w, struct str target, struct str *out_bytes)
{
    struct str path;
    if (!wall_path(target, &path))
        return false;
    for (uint32_t i = 0; i < w->count; i++)
        if (str_eq(w->values[i].path, path)) {
            *out_bytes = w->values[i].bytes;
            return true;
        }
    return false;
}

static err wall_collect(struct wall *w, struct str archive)
{
    struct archive_reader reader = {.arena = w->arena, .bytes = archive};
    struct archive_member m;
    struct str path, bytes;
    err e;
    while ((e = archive_next(&reader, &m)) == OK) {
        if (!wall_path(m.name, &path))
            continue;
        if (m.kind == ARCHIVE_FILE)
            wall_add_value(w, path, m.content);
        else if (m.kind == ARCHIVE_LINK && wall_find_linked(w, m.target, &bytes))
            wall_add_value(w, path, bytes);
    }
    if (e == ERR_NOT_FOUND)
        return OK;
    return launch_spec_refuse(w->arena, w->out_why,
                              "the values that the scripts wrote did not arrive completely");
}

/* A value with an empty path replaces the root object, and the other values are inserted into it.
 */
static err wall_take_root(struct wall *w, struct json **root, uint32_t *out_first)
{
    *out_first = w->count && w->values[0].path.len == 0;
    if (!*out_first)
        return OK;
    struct json *whole = wall_value(w->arena, w->values[0].bytes);
    if (!whole || whole->kind != JSON_OBJECT)
        return launch_spec_refuse(w->arena, w->out_why,
                                  "the scripts wrote all attributes at once, but not as an object");
    *root = whole;
    return OK;
}

err wall_read(struct arena *a, struct str archive, struct json **out_wall, struct reason *out_why)
{
    struct wall w = {.arena = a, .out_why = out_why};
    *out_why = (struct reason){.code = REASON_WALL_INVALID};
    struct json *root = json_make(a, JSON_OBJECT);
    uint32_t first = 0;
    err e = wall_collect(&w, archive);
    if (e != OK)
        return e;
    if (w.count)
        qsort(w.values, w.count, sizeof *w.values, wall_compare_paths);
    e = wall_take_root(&w, &root, &first);
    for (uint32_t i = first; e == OK && i < w.count; i++)
        e = wall_insert(&w, root, w.values[i]);
    if (e == OK)
        *out_wall = root;
    return e;
}
