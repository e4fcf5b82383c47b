#include "cli/output/targets.h"

#include "cli/output/term_escape.h"

static const char *const units[] = {" bytes", " kB", " MB", " GB", " TB", " PB"};

/* "480.1 GB": decimal units, as manufacturers print them on disks; rounded down. */
static void targets_put_size(struct buf *b, int64_t bytes)
{
    int64_t tenths = 0;
    uint32_t unit = 0;
    while (bytes >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        tenths = bytes % 1000 / 100;
        bytes /= 1000;
        unit++;
    }
    buf_put_i64(b, bytes);
    if (unit) {
        buf_put_c(b, '.');
        buf_put_i64(b, tenths);
    }
    buf_put_z(b, units[unit]);
}

static void targets_put_text(struct buf *b, const struct json *target, const char *key,
                             const char *before)
{
    const struct json *value = json_get(target, str_from(key));
    if (!value || value->kind != JSON_STRING || !value->text.len)
        return;
    buf_put_z(b, before);
    term_put_escaped(b, value->text);
}

static void targets_put_one(struct buf *b, struct str step, const struct json *target)
{
    int64_t bytes;
    const struct json *size = json_get(target, STR("size"));
    term_put_escaped(b, step);
    targets_put_text(b, target, "name", " ");
    targets_put_text(b, target, "bootenv", " ");
    if (size && json_as_i64(size, &bytes) && bytes >= 0) {
        buf_put_z(b, ", ");
        targets_put_size(b, bytes);
    }
    targets_put_text(b, target, "serial", ", serial ");
    targets_put_text(b, target, "wwn", ", WWN ");
}

bool targets_put(struct buf *b, const struct json *entry)
{
    const struct json *steps = json_get(entry, STR("targets"));
    bool any = false;
    for (const struct json *step = steps ? steps->first : NULL; step; step = step->next)
        for (const struct json *target = step->first; target; target = target->next) {
            buf_put_z(b, any ? "; " : "");
            targets_put_one(b, step->key, target);
            any = true;
        }
    if (any && json_is_true(json_get(entry, STR("targets_clipped"))))
        buf_put_z(b, "; and more");
    return any;
}

bool targets_has_wipe(const struct json *entry)
{
    const struct json *list = json_get(json_get(entry, STR("targets")), STR("wipe"));
    return list && list->first;
}

static struct str targets_text(const struct json *entry, const char *key)
{
    const struct json *value = json_get(entry, str_from(key));
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

/* "destroys     n1.example.com: os-install: wipe disk/by-id/a, 480.1 GB, serial S1" */
void targets_put_destroyed(struct buf *b, const struct json *plan)
{
    const struct json *list = json_get(plan, STR("destroys"));
    int64_t count = 0;
    bool has_wipe = false;
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        const uint32_t before = b->len;
        buf_put_z(b, "destroys     ");
        term_put_escaped(b, targets_text(entry, "node_name"));
        buf_put_z(b, ": ");
        term_put_escaped(b, targets_text(entry, "role_name"));
        buf_put_z(b, ": ");
        if (targets_put(b, entry))
            buf_put_c(b, '\n');
        else
            b->len = before;
        has_wipe = has_wipe || targets_has_wipe(entry);
    }
    if (!has_wipe)
        return;
    const struct json *actions = json_get(json_get(plan, STR("summary")), STR("actions"));
    const struct json *total = json_get(actions, STR("destroy"));
    if (total && json_as_i64(total, &count) && count > (int64_t)list->count) {
        buf_put_z(b, "destroys     ");
        buf_put_i64(b, count - (int64_t)list->count);
        buf_put_z(b, " more, which --detail lists\n");
    }
    buf_put_z(b, TARGETS_WIPE_NOTE "\n");
}
