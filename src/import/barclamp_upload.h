/* barclamp_upload.h - a barclamp that comes with a request, made into what an import takes.
 *
 * It goes through the reader that files go through, and the core is asked what it would say, so
 * that everything that is wrong is told at once, with its line. What lies beside a file cannot be
 * sent with it: scripts, templates, code. They are looked for where the barclamp of that name lies
 * already or, when there is none yet, in a directory of its name below `folder`; only whoever runs
 * this machine can put anything there, so a source path that was sent is left aside. Likewise
 * `hooks`: a role that is there keeps those that its code has.
 *
 * Runs in the loop's thread. Nothing is kept; everything lies in the arena of what was sent.
 */
#pragma once

#include "api/call/api.h"

struct core;
struct outcome;

struct barclamp_upload_seams {
    void *self;
    const struct core *(*core)(void *self); /* NULL: there is none for now */
    /* What would come of importing these now (core.h, core_import_dry_run). */
    err (*rehearse)(void *self, const struct str *barclamps, uint32_t count, struct arena *arena,
                    struct outcome *outcomes);
    const char *folder;
};

/* ERR_UNAVAILABLE without a core. Otherwise there is a document, or there are problems. */
NODISCARD err barclamp_upload_read(const struct barclamp_upload_seams *seams,
                                   struct api_barclamp *sent);
