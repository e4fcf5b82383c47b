/* content_import.h - barclamps on the disk, brought into the core.
 *
 * Files are read by the room content, beside the loop (content_reader.h), and submitted in its
 * order. A document that the core holds already is not submitted: a restart or a reload of what
 * nobody changed resets nothing that an operator edited. What is refused is tried again as long as
 * another one got in meanwhile (content/import_rounds.h). What stays refused, and what does not
 * read, is logged with file and line and stops nobody; what the core holds of it stays in force.
 * What has errors is not submitted, but the core is asked what it would say to the rest of it, so
 * that everything is told at once. Where the file of a role's code changed, it is loaded again, if
 * the role's barclamp is in force.
 *
 * All of it but the reading happens a little at a time, in content_pump(), so that ten thousand
 * roles hold up the loop no longer than one. Belongs to the loop's thread; the requests it submits
 * are told to it by content_on_result.
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

struct content_seams {
    void *self;
    /* Takes a command whose outcome will be told. */
    err (*submit)(void *self, const struct command *command);
    /* What is there already; NULL: nobody can say. */
    const struct core *(*core)(void *self);
    /* Have the Lua file of this role read again; if it is the same as the last time, only when it
     * could not be used then. False when that cannot be asked for now. */
    bool (*load)(void *self, struct str role, bool is_same);
    /* What would come of importing these now (core.h, core_import_dry_run). */
    err (*rehearse)(void *self, const struct str *barclamps, uint32_t count, struct arena *arena,
                    struct outcome *outcomes);
    /* Nothing that was asked for is left to do. */
    void (*done)(void *self);
};

enum content_stage {
    CONTENT_IDLE,
    CONTENT_READING,
    CONTENT_TELLING, /* what does not read */
    CONTENT_SORTING, /* out what the core holds */
    CONTENT_IMPORTING,
    CONTENT_LAMENTING,  /* what is refused for good */
    CONTENT_REHEARSING, /* what does not read as it is */
    CONTENT_CHECKING,   /* what is odd, when everything is in */
    CONTENT_LOADING,    /* code */
};

struct content {
    struct content_seams seams;
    uv_loop_t *uv;         /* whose threads read; NULL: whoever wants it read */
    int64_t request_first; /* its requests are this one and those below it */

    enum content_stage stage;
    uv_work_t work;
    bool is_stopped;
    bool is_read; /* ahead of the import that will want it */
    struct reading reading;
    struct code_marks known;   /* of the reading before */
    struct content_try *tries; /* one for each file of the tree */
    struct import_rounds rounds;
    const struct diagnostics_entry *entry; /* to be told next */
    uint32_t next;                         /* file or mark that the stage comes to */
    const struct json *role;               /* of that file, to be checked next */
    uint32_t next_role;                    /* its number */
    bool is_document_checked;              /* of that file; its roles follow */
    uint64_t bytes_waiting;                /* of documents whose outcomes are to come */
    char *again; /* directories to read once this is through; NULL: none */
};

/* Read everything below the directories, "DIR[:DIR]", at once, and import nothing yet. It must be
 * idle. */
void content_read_ahead(struct content *c, const char *directories);
/* Import what was read ahead, or read it first. Whatever is asked for while something is under way
 * is done after that, once, with the directories named last. */
void content_import(struct content *c, const char *directories);
/* Go on, until so many nanoseconds of uv_hrtime(). True when there is more to do right now. */
bool content_pump(struct content *c, uint64_t until_ns);
bool content_is_idle(const struct content *c);
/* Where the files of this barclamp lie according to a document that waits to be imported; empty:
 * no such document waits, and what the core says counts. */
struct str content_source_path(const struct content *c, struct str barclamp);
/* What became of one of its requests: an outcome, or NULL and why there is none. */
void content_on_result(struct content *c, int64_t request, const struct outcome *outcome, err why);
/* Nothing is done any more, and the seams are not used. A reading may still end: the loop must be
 * closed before fini. */
void content_stop(struct content *c);
void content_fini(struct content *c);
