#include "hooks/code_file.h"

#include <errno.h>
#include <string.h>

#include "base/text/buf.h"
#include "sys/files.h"

/* Reading and running the file are one step, so that a report always describes one version of the
 * file. On failure no code is left, and the text names the file. */

static struct str code_file_errno_text(struct arena *arena, const char *path, err e)
{
    struct buf b = buf_in(arena);
    buf_put_z(&b, path);
    buf_put_z(&b, ": ");
    buf_put_z(&b, e == ERR_LIMIT ? "the file is too large" : strerror(errno));
    return buf_str(&b);
}

/* Lua reports the base name of the file: prepend the directory. */
static struct str code_file_add_directory(struct arena *arena, const char *path, size_t folder_len,
                                          struct str text)
{
    return STR_CONCAT(arena, (struct str){path, (uint32_t)folder_len}, text);
}

err code_file_read(struct role_source source, const char *path, struct arena *arena,
                   struct role_code **out_code, struct hooks_report *out_report)
{
    struct hooks_report report = {0};
    const char *slash = strrchr(path, '/');
    source.chunk = slash ? slash + 1 : path;
    err e = file_read(arena, path, ROLE_CODE_SIZE_MAX, &source.text);
    if (e != OK) {
        report.text = code_file_errno_text(arena, path, e);
    } else {
        e = role_code_new(&source, arena, out_code, &report.functions, &report.text);
        if (e != OK)
            report.text =
                code_file_add_directory(arena, path, (size_t)(source.chunk - path), report.text);
    }
    report.has_code = e == OK;
    *out_report = report;
    return e;
}
