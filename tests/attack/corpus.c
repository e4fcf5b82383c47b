#include "tests/attack/corpus.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "sys/files.h"

enum { FILE_SIZE_MAX = 1 << 20, TEXTS_MAX = 4096, PATH_SIZE = 1024 };

static const char *const kind_names[BODY_KINDS] = {
    [BODY_JSON] = "json",
    [BODY_FORM] = "form",
    [BODY_YAML] = "yaml",
    [BODY_MULTIPART] = "multipart",
};

static bool texts_add(struct corpus *c, struct texts *list, struct str text)
{
    if (!list->at)
        list->at = arena_array(&c->arena, struct str, TEXTS_MAX);
    if (list->count == TEXTS_MAX) {
        fprintf(stderr, "corpus: more than %d entries of one sort\n", TEXTS_MAX);
        return false;
    }
    list->at[list->count++] = text;
    return true;
}

bool corpus_fill(struct corpus *c, const char *definition)
{
    struct str text = str_from(definition);
    uint32_t equals = str_find(text, '=', 0);
    if (equals == text.len || c->values_count == CORPUS_VALUES_MAX)
        return false;
    c->values[c->values_count++] = (struct corpus_value){
        str_copy(&c->arena, str_slice(text, 0, equals)),
        str_copy(&c->arena, str_slice(text, equals + 1, text.len)),
    };
    return true;
}

/* Replaces every {NAME} that has a value; braces around anything else stay as they are. */
static struct str text_fill(struct corpus *c, struct str text)
{
    struct buf out = buf_in(&c->arena);
    for (uint32_t at = 0; at < text.len; at++) {
        uint32_t end = text.at[at] == '{' ? str_find(text, '}', at) : text.len;
        const struct corpus_value *found = NULL;
        for (uint32_t i = 0; end < text.len && i < c->values_count; i++)
            if (str_eq(c->values[i].name, str_slice(text, at + 1, end)))
                found = &c->values[i];
        if (found) {
            buf_put_str(&out, found->value);
            at = end;
        } else {
            buf_put_c(&out, text.at[at]);
        }
    }
    return buf_str(&out);
}

static struct str text_unescape(struct corpus *c, struct str text)
{
    struct buf out = buf_in(&c->arena);
    for (uint32_t at = 0; at < text.len; at++) {
        if (text.at[at] != '\\' || at + 1 == text.len) {
            buf_put_c(&out, text.at[at]);
            continue;
        }
        switch (text.at[++at]) {
        case 'r': buf_put_c(&out, '\r'); break;
        case 'n': buf_put_c(&out, '\n'); break;
        case 't': buf_put_c(&out, '\t'); break;
        case '0': buf_put_c(&out, '\0'); break;
        case 'x': {
            char digits[3] = {0};
            for (int i = 0; i < 2 && at + 1 < text.len; i++)
                digits[i] = text.at[++at];
            buf_put_c(&out, (char)strtoul(digits, NULL, 16));
            break;
        }
        default: buf_put_c(&out, text.at[at]);
        }
    }
    return buf_str(&out);
}

static bool file_load(struct corpus *c, const char *path, struct str *out_text)
{
    err e = file_read(&c->arena, path, FILE_SIZE_MAX, out_text);
    if (e != OK)
        fprintf(stderr, "corpus: cannot read %s\n", path);
    return e == OK;
}

/* One entry for each line that is neither empty nor a comment ("# "). */
static bool lines_load(struct corpus *c, struct texts *list, const char *directory,
                       const char *name)
{
    char path[PATH_SIZE];
    struct str text;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    if (!file_load(c, path, &text))
        return false;
    for (uint32_t at = 0; at < text.len;) {
        uint32_t end = str_find(text, '\n', at);
        struct str line = str_slice(text, at, end);
        at = end + 1;
        if (line.len == 0 || str_starts(line, STR("# ")))
            continue;
        if (!texts_add(c, list, text_unescape(c, text_fill(c, line))))
            return false;
    }
    return list->count > 0;
}

bool corpus_load_heads(struct corpus *c, const char *path)
{
    struct str text;
    if (!file_load(c, path, &text))
        return false;
    text = text_fill(c, text);
    for (uint32_t at = 0; at < text.len;) {
        uint32_t end = at;
        while (end < text.len && !str_starts(str_slice(text, end, text.len), STR("\n\n")))
            end++;
        struct str head = str_slice(text, at, end);
        if (head.len > 0 && head.at[head.len - 1] == '\n')
            head.len--;
        if (head.len > 0 && !texts_add(c, &c->heads, head))
            return false;
        at = end + 2;
    }
    return true;
}

static bool body_load(struct corpus *c, struct texts *list, const char *path)
{
    struct str text;
    return file_load(c, path, &text) && texts_add(c, list, text);
}

/* Every file of a directory in the order of its names: as heads when `list` is NULL. */
static bool directory_load(struct corpus *c, struct texts *list, const char *directory)
{
    struct dirent **entries;
    bool is_good = true;
    int count = scandir(directory, &entries, NULL, alphasort);
    if (count < 0) {
        fprintf(stderr, "corpus: cannot read %s\n", directory);
        return false;
    }
    for (int i = 0; i < count; i++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        if (is_good && entries[i]->d_name[0] != '.')
            is_good = list ? body_load(c, list, path) : corpus_load_heads(c, path);
        free(entries[i]);
    }
    free(entries);
    return is_good && (list ? list->count : c->heads.count) > 0;
}

bool corpus_load(struct corpus *c, const char *directory)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/heads", directory);
    if (!directory_load(c, NULL, path))
        return false;
    for (uint32_t kind = 0; kind < BODY_KINDS; kind++) {
        snprintf(path, sizeof path, "%s/bodies/%s", directory, kind_names[kind]);
        if (!directory_load(c, &c->bodies[kind], path))
            return false;
    }
    return lines_load(c, &c->lines, directory, "lines.txt") &&
           lines_load(c, &c->targets, directory, "targets.txt");
}

void corpus_fini(struct corpus *c)
{
    arena_fini(&c->arena);
}
