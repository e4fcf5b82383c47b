#include "hooks/code_file.h"

#include <errno.h>
#include <string.h>

#include "base/text/buf.h"
#include "hooks/removed_calls.h"
#include "sys/files.h"

/* Reading and running the file are one step, so that a report always describes one version of the
 * file. On failure no code is left, and the text names the file. */

/* "NAME.lua:12: sentence", as Lua reports the errors of a file. */
static err code_file_refuse(struct arena *arena, const struct role_source *source, uint32_t line,
                            const char *sentence, struct hooks_report *report)
{
    report->text = STR_CONCAT(arena, str_from(source->chunk), STR(":"), str_from_i64(arena, line),
                              STR(": "), str_from(sentence));
    return ERR_SYNTAX;
}

static err code_file_compile(const struct role_source *source, struct arena *arena,
                             struct role_code **out_code, struct hooks_report *report)
{
    const uint32_t removed = removed_calls_find(source->text);
    if (removed)
        return code_file_refuse(
            arena, source, removed,
            "halligan.boot_served does not exist any more: a run that ends with ok has served the "
            "machines of its staged member boot; remove the call",
            report);
    return role_code_new(source, arena, out_code, &report->functions, &report->text);
}

err code_file_read(struct role_source source, const char *path, struct arena *arena,
                   struct role_code **out_code, struct hooks_report *out_report)
{
    struct hooks_report report = {0};
    const char *slash = strrchr(path, '/');
    source.chunk = slash ? slash + 1 : path;
    err e = file_read(arena, path, ROLE_CODE_SIZE_MAX, &source.text);
    if (e != OK) {
        struct buf b = buf_in(arena);
        buf_put_z(&b, path);
        buf_put_z(&b, ": ");
        buf_put_z(&b, e == ERR_LIMIT ? "the file is too large" : strerror(errno));
        report.text = buf_str(&b);
    } else {
        e = code_file_compile(&source, arena, out_code, &report);
        /* Lua reports the base name of the file: prepend the directory. */
        const struct str folder = {path, (uint32_t)(source.chunk - path)};
        if (e != OK)
            report.text = STR_CONCAT(arena, folder, report.text);
    }
    report.has_code = e == OK;
    *out_report = report;
    return e;
}
