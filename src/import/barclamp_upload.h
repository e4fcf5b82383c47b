/* barclamp_upload.h - turns a barclamp in the body of a request into a document for an import.
 *
 * It is parsed by the reader of barclamp files and passed to an import dry run, so that all
 * problems are reported together, with their lines. Scripts, templates and Lua code cannot be
 * uploaded (ADR 0056): they are expected in the source path of the stored barclamp of that name or,
 * for a new one, in a directory of its name below `folder`. Only an administrator of the host can
 * write there, so a source path in the upload is ignored. Likewise `hooks`: a stored role keeps
 * those of its code.
 *
 * It runs in the thread of the loop and keeps no state; all strings are in the arena of the upload.
 */
#pragma once

#include "api/call/api.h"

struct core;
struct outcome;

struct barclamp_upload_callbacks {
    void *self;
    const struct core *(*core)(void *self); /* returns NULL while no core is loaded */
    /* Dry run of importing these documents (core_import_dry_run in core.h). */
    err (*dry_run)(void *self, const struct str *barclamps, uint32_t count, struct arena *arena,
                   struct outcome *outcomes);
    const char *folder;
};

/* Sets the document or the problems of `sent`. ERR_UNAVAILABLE without a core. */
NODISCARD err barclamp_upload_read(const struct barclamp_upload_callbacks *callbacks,
                                   struct api_barclamp *sent);
