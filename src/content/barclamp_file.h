/* barclamp_file.h - converts one file of a barclamp into the document that the engine imports.
 *
 * A barclamp is a package of content: it defines roles, attribs, jigs and hammer kinds. This module
 * checks the keys of the file and the types of their values, and reports all errors with their
 * lines. References between objects (does the role exist, which role owns the attrib) are checked
 * by the engine; barclamp_field_position() returns the line for a problem that it reports. Unknown
 * keys are kept, with a warning.
 *
 * The document of a YAML file gets `barclamp.source_path` and the `hooks` of each role. A JSON file
 * is the document itself; only a missing source path is added. A YAML file with errors has no
 * document but a draft: the document without the wrong values. A draft is never imported; it is
 * given to core_import_dry_run() (core.h), to report further problems.
 *
 * Everything is allocated in the arena of the report.
 */
#pragma once

#include <stdbool.h>

#include "base/json/json.h"
#include "content/diagnostics.h"

struct barclamp_file {
    const char *path;
    struct str source_path;
    struct str name;         /* of the barclamp; empty: missing */
    struct str parent;       /* likewise */
    const struct json *tree; /* the parsed file; NULL: it cannot be parsed */
    bool is_yaml;
    struct str document; /* canonical JSON to import; empty: the report has the errors */
    struct str draft;    /* of a file with errors; empty: none */
};

/* Callback that finds the hooks that a Lua file defines. Their names are appended to the list
 * `names`; errors of the file are added to the report. */
struct hook_finder {
    void *self;
    void (*find)(void *self, const char *lua_path, struct diagnostics *r, struct json *names);
};

/* Parse the content `text` of a file. The caller has set path and source_path (the directory with
 * the files of the roles) of `file`; the other members are set here. Without a finder, `hooks`
 * remain as written in the file. */
void barclamp_from_yaml(struct diagnostics *r, struct str text, const struct hook_finder *finder,
                        struct barclamp_file *file);
void barclamp_from_json(struct diagnostics *r, struct str text, struct barclamp_file *file);

/* The position of a field with a path of the engine ("roles/3/jig"); line 0 if unknown (JSON). */
struct text_position barclamp_field_position(const struct barclamp_file *file, struct str field);
