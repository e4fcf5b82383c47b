/* backup_manifest.c - writes and parses manifest.json.
 *
 * A manifest lists the files of a backup, the files that were left out, and the directories of
 * barclamps. All its strings are in its arena. The file may come from an untrusted copy: the path
 * of every file must be relative without "..", and its mode at most 0777. Size and hash need no
 * further check, because restore.c compares them with the file. The other two lists are not
 * validated: they are used only to report what is missing.
 *
 * Failure: manifest_read() returns false with a reason and a manifest that must not be used, but
 * must be freed. manifest_write() replaces the file as a whole or returns an error. */
#include "daemon/admin/backup_manifest.h"

#include <errno.h>
#include <string.h>

#include "base/json/json.h"
#include "base/text/str.h"
#include "sys/clock.h"
#include "sys/files.h"

enum { FORMAT = 1, SIZE_MAX_BYTES = 64 << 20 /* of the manifest */, MODE_MAX = 0777 };

void manifest_add_file(struct manifest *m, const struct manifest_file *file)
{
    struct manifest_file *added = arena_copy(&m->arena, file, sizeof *file);
    struct manifest_file **end = &m->files;
    added->path = str_z(&m->arena, str_from(file->path));
    added->next = NULL;
    while (*end)
        end = &(*end)->next;
    *end = added;
}

void manifest_add_text(struct manifest *m, struct manifest_text **list, const char *text)
{
    struct manifest_text *added = arena_new(&m->arena, struct manifest_text);
    added->text = str_z(&m->arena, str_from(text));
    while (*list)
        list = &(*list)->next;
    *list = added;
}

void manifest_fini(struct manifest *m)
{
    arena_fini(&m->arena);
}

/* ---- write ---- */

static struct json *manifest_texts_json(struct arena *a, const struct manifest_text *list)
{
    struct json *array = json_make(a, JSON_ARRAY);
    for (; list; list = list->next)
        json_append(array, json_make_string(a, str_from(list->text)));
    return array;
}

err manifest_write(struct manifest *m, const char *path)
{
    struct arena *a = &m->arena;
    char now[SYS_TIME_SIZE];
    struct json *files = json_make(a, JSON_ARRAY), *root = json_make(a, JSON_OBJECT);
    sys_time_format(sys_now_ms(), now);
    for (const struct manifest_file *f = m->files; f; f = f->next) {
        struct json *file = json_make(a, JSON_OBJECT);
        json_set(file, STR("path"), json_make_string(a, str_from(f->path)));
        json_set(file, STR("mode"), json_make_i64(a, f->mode));
        json_set(file, STR("size"), json_make_i64(a, f->measure.size));
        json_set(file, STR("sha256"), json_make_string(a, str_from(f->measure.sha256)));
        json_append(files, file);
    }
    json_set(root, STR("format"), json_make_i64(a, FORMAT));
    json_set(root, STR("made_at"), json_make_string(a, str_from(now)));
    json_set(root, STR("version"), json_make_string(a, str_from(m->version)));
    json_set(root, STR("data"), json_make_string(a, str_from(m->data)));
    json_set(root, STR("files"), files);
    json_set(root, STR("left_out"), manifest_texts_json(a, m->left_out));
    json_set(root, STR("directories"), manifest_texts_json(a, m->directories));
    return file_write(path, STR_CONCAT(a, json_write(a, root), STR("\n")), 0600);
}

/* ---- parse ---- */

static const char *manifest_text_at(struct arena *a, const struct json *object, struct str key)
{
    const struct json *value = json_get(object, key);
    if (!value || value->kind != JSON_STRING || !value->text.len ||
        str_find(value->text, '\0', 0) != value->text.len)
        return NULL;
    return str_z(a, value->text);
}

static bool manifest_read_file(struct manifest *m, const struct json *entry)
{
    struct manifest_file file = {0};
    int64_t mode;
    if (entry->kind != JSON_OBJECT)
        return false;
    const char *hash = manifest_text_at(&m->arena, entry, STR("sha256"));
    const struct json *size = json_get(entry, STR("size")), *bits = json_get(entry, STR("mode"));
    file.path = manifest_text_at(&m->arena, entry, STR("path"));
    if (!file.path || !backup_path_is_safe(file.path) || !hash ||
        strlen(hash) != BACKUP_HASH_SIZE - 1 || !size || !json_as_i64(size, &file.measure.size) ||
        !bits || !json_as_i64(bits, &mode) || mode < 0 || mode > MODE_MAX)
        return false;
    file.mode = (unsigned)mode;
    memcpy(file.measure.sha256, hash, BACKUP_HASH_SIZE);
    manifest_add_file(m, &file);
    return true;
}

static bool manifest_read_texts(struct manifest *m, const struct json *array,
                                struct manifest_text **list)
{
    if (!array || array->kind != JSON_ARRAY)
        return false;
    for (const struct json *one = array->first; one; one = one->next) {
        if (one->kind != JSON_STRING)
            return false;
        manifest_add_text(m, list, str_z(&m->arena, one->text));
    }
    return true;
}

static bool manifest_read_root(struct manifest *m, const struct json *root)
{
    const struct json *files = json_get(root, STR("files"));
    bool reads = files && files->kind == JSON_ARRAY;
    m->data = manifest_text_at(&m->arena, root, STR("data"));
    m->version = manifest_text_at(&m->arena, root, STR("version"));
    for (const struct json *one = reads ? files->first : NULL; one && reads; one = one->next)
        reads = manifest_read_file(m, one);
    return reads && m->data && m->version &&
           manifest_read_texts(m, json_get(root, STR("left_out")), &m->left_out) &&
           manifest_read_texts(m, json_get(root, STR("directories")), &m->directories);
}

bool manifest_read(const char *path, struct manifest *out_manifest, const char **out_why)
{
    struct str text;
    struct json *root;
    uint32_t offset;
    int64_t format;
    *out_manifest = (struct manifest){0};
    if (file_read(&out_manifest->arena, path, SIZE_MAX_BYTES, &text) != OK) {
        *out_why = strerror(errno);
        return false;
    }
    if (json_read(&out_manifest->arena, text, &root, &offset, out_why) != OK)
        return false;
    const struct json *number = root->kind == JSON_OBJECT ? json_get(root, STR("format")) : NULL;
    *out_why = "not a manifest that this version can read";
    return number && json_as_i64(number, &format) && format == FORMAT &&
           manifest_read_root(out_manifest, root);
}
