/* barclamp_file.h - one file of a barclamp into the document that an import takes.
 *
 * Knows the keys of the format and which shapes their values have, so that everything that is
 * wrong with the form is said at once, with its line. What the names mean to each other (is there
 * such a role, who owns the attrib) is the engine's to say; barclamp_place() gives the line for
 * what it says. Keys that are not known are kept and warned about.
 *
 * A YAML file's document gets `barclamp.source_path`, and each role its `hooks`. A JSON file is the
 * document itself; only the source path is added, when it has none. Of a YAML file with errors
 * there is a draft, what would be its document without the values that are wrong: nobody imports
 * it, but the engine can be asked what else it would refuse (core.h, core_import_dry_run).
 *
 * Everything lies in the report's arena.
 */
#pragma once

#include <stdbool.h>

#include "base/json/json.h"
#include "content/diagnostics.h"

struct barclamp_file {
    const char *path;
    struct str source_path;
    struct str name;         /* of the barclamp; empty when the file does not say */
    struct str parent;       /* likewise */
    const struct json *tree; /* what the file says; NULL when it cannot be read */
    bool is_yaml;
    struct str document; /* canonical JSON to import; empty: the report says why not */
    struct str draft;    /* of a file that has errors; empty: there is none */
};

/* Which hooks does a Lua file define? Their names are appended to `names`, a list; what is wrong
 * with the file goes into the report as an error. */
struct hook_finder {
    void *self;
    void (*find)(void *self, const char *lua_path, struct diagnostics *r, struct json *names);
};

/* `text` is what stands in `file`, whose path and source path are given: the directory that its
 * roles' files lie below. The rest of `file` is filled in. Without a finder `hooks` stay as they
 * are written. */
void barclamp_from_yaml(struct diagnostics *r, struct str text, const struct hook_finder *finder,
                        struct barclamp_file *file);
void barclamp_from_json(struct diagnostics *r, struct str text, struct barclamp_file *file);

/* The place of a field as the engine names it; line 0 when that is not known (JSON). */
struct text_place barclamp_place(const struct barclamp_file *file, struct str field);
