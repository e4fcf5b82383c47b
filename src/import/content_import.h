/* content_import.h - imports barclamps from directories into the core.
 *
 * A barclamp is a package of roles: a YAML or JSON file with scripts and Lua code beside it. Files
 * are read in another thread (content_reader.h) and submitted in the order of their dependencies. A
 * document that the core holds already is not submitted, so that a restart or a reload without
 * changes does not reset what an operator edited. A refused document is submitted again as long as
 * another one was accepted in between (content/import_rounds.h). What stays refused, and files with
 * errors, are logged with file and line and do not affect other files; a version that was imported
 * earlier stays in effect. A file with errors is not submitted, but the rest of it is passed to an
 * import dry run, so that all problems are reported together. Lua files that have changed are
 * loaded again if the barclamp of the role is imported.
 *
 * Everything except the reading is done in small steps in content_pump(), so that an import of ten
 * thousand roles does not block the loop. It belongs to the thread of the loop; the caller passes
 * the outcomes of its commands to content_on_result().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "content/import_rounds.h"
#include "import/content_reader.h"
#include "model/command.h"

struct content_try;
struct core;
struct outcome;

struct content_callbacks {
    void *self;
    /* Submit a command; its outcome must be passed to content_on_result(). */
    err (*submit)(void *self, const struct command *command);
    /* The core; NULL while none is loaded. */
    const struct core *(*core)(void *self);
    /* Load the Lua file of this role again; with `is_same` (unchanged since the last reading) only
     * if it could not be loaded then. False: not possible now. */
    bool (*load)(void *self, struct str role, bool is_same);
    /* Dry run of importing these documents (core_import_dry_run in core.h). */
    err (*dry_run)(void *self, const struct str *barclamps, uint32_t count, struct arena *arena,
                   struct outcome *outcomes);
    /* The import is complete, and no other one is queued. */
    void (*done)(void *self);
};

enum content_stage {
    CONTENT_IDLE,
    CONTENT_READING,
    CONTENT_REPORTING,        /* log errors and warnings of files */
    CONTENT_COMPARING,        /* skip documents that the core holds already */
    CONTENT_IMPORTING,        /* submit, and wait for outcomes */
    CONTENT_LOGGING_REFUSALS, /* of documents that stay refused */
    CONTENT_DRY_RUN,          /* of files with errors */
    CONTENT_CHECKING,         /* log warnings about imported files */
    CONTENT_LOADING,          /* load changed Lua files */
};

struct content {
    struct content_callbacks callbacks;
    uv_loop_t *uv;         /* its thread pool reads; NULL: read in the calling thread */
    int64_t request_first; /* request ids are this one and those below it */

    enum content_stage stage;
    uv_work_t work;
    bool is_stopped;
    bool is_read; /* by content_read_ahead(), for the next content_import() */
    struct reading reading;
    struct code_marks known;   /* of the previous reading */
    struct content_try *tries; /* one for each file of the tree */
    struct import_rounds rounds;
    const struct diagnostics_entry *entry; /* to be logged next */
    uint32_t next;                         /* index of the next file, draft or mark of the stage */
    const struct json *role;               /* of that file, to be checked next */
    uint32_t next_role;                    /* its index */
    bool is_document_checked;              /* of that file; its roles follow */
    uint64_t bytes_waiting;                /* of submitted documents without an outcome */
    char *again;                           /* directories of a queued import; NULL: none */
};

/* Read the directories "DIR[:DIR]" now, in the calling thread, and import nothing yet. It must be
 * idle. */
void content_read_ahead(struct content *c, const char *directories);
/* Import what was read ahead, or read the directories first. A call during an import queues one
 * more import, with the directories of the last call. */
void content_import(struct content *c, const char *directories);
/* Continue until uv_hrtime() reaches `until_ns`. True: there is more to do now. */
bool content_pump(struct content *c, uint64_t until_ns);
bool content_is_idle(const struct content *c);
/* The source path of this barclamp in a document that is not imported yet; empty: there is none,
 * and the source path in the core is valid. */
struct str content_source_path(const struct content *c, struct str barclamp);
/* The outcome of one of its commands, or NULL with the error. */
void content_on_result(struct content *c, int64_t request, const struct outcome *outcome, err why);
/* Stop: no callback is called any more. A reading may still be in progress in another thread, so
 * the loop must be closed before content_fini(). */
void content_stop(struct content *c);
void content_fini(struct content *c);
