/* launch_spec.h - what has to be started for a run, and what its end means.
 *
 * A recipe turns the work of a noderole into one process: its command line, its environment, what
 * it reads. Whoever starts it (not this room) hands back how it ended, and gets the RUN_DONE to
 * submit. Nothing is started here, and nothing is read but the files that the role brings.
 *
 * The process does the work on this machine or, by ssh, on the node. Its standard output is the
 * result channel, which only we read; its standard error is the log, which people read. Everything
 * the far end needs comes by standard input, as one archive. docs/jigs.md says what is in it, and
 * how to add a jig.
 *
 * Texts of a recipe and of a RUN_DONE lie in the arena, or are those of the work.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "model/command.h"
#include "model/reason.h"

enum transport_kind { TRANSPORT_LOCAL, TRANSPORT_SSH };

/* How the machine is reached; the rest is for ssh alone. */
struct transport {
    enum transport_kind kind;
    struct str address;
    struct str user;              /* empty: root */
    uint16_t port;                /* 0: 22 */
    int64_t node_id;              /* its pins are those of "node-ID"; 0: of the node's name */
    const char *key_path;         /* NULL: whatever ssh finds */
    const char *known_hosts_path; /* the keys that nodes are pinned to */
    const char *control_path;     /* where a shared connection has its socket; NULL: nowhere */
};

struct jig_work {
    int64_t run_id;
    uint32_t attempt;
    struct str role, node, source_path, barclamp;
    struct str data;      /* staged, canonical JSON */
    struct str jig_class; /* as model/jig_class.h knows it */
    int64_t deadline_ms;  /* of the run; 0: none */
    struct transport transport;
    const char *scratch; /* a directory for this run alone, 0700, made and removed by the caller */
    const char *path;    /* where programs are looked for on this machine; NULL: the usual places */
};

struct launch_spec {
    struct str *argv; /* the first is an absolute path */
    struct str *env;  /* KEY=value; complete */
    uint32_t argv_count, env_count;
    struct str cwd;
    struct str stdin_bytes;
    uint32_t out_max; /* bytes of the result channel that are wanted: the first ones */
    uint32_t log_max; /* bytes of the log that are wanted: the last ones             */
};

enum jig_end_how {
    JIG_END_EXITED,
    JIG_END_SIGNALLED,
    JIG_END_DEADLINE,
    JIG_END_CANCELLED,
    JIG_END_NOT_STARTED,
    JIG_END_DIED_WITH_SUPERVISOR,
};

struct jig_end {
    enum jig_end_how how;
    int code;          /* exited: its status; signalled: the signal */
    struct str reason; /* not started: why */
    struct str out;    /* the result channel */
    bool out_dropped;  /* there was more of it */
    struct str log_tail;
    uint64_t log_dropped; /* bytes of the log before that */
};

/* How long a run that says "not finished" waits for somebody to take it up. */
#define JIG_PARK_MS (60 * 60 * 1000)

/* Is there a jig of that class here? */
bool launch_spec_is_known(struct str jig_class);
/* ERR_REFUSED: it cannot be done, and *out_why is the reason the run fails for. */
NODISCARD err launch_spec_prepare(const struct jig_work *w, struct arena *a,
                                  struct launch_spec *out_recipe, struct reason *out_why);
/* What came of it. The wall is canonical JSON. */
void launch_spec_conclude(const struct jig_work *w, const struct jig_end *end, struct arena *a,
                          struct run_done_command *out_done);

/* Ends on the machine what a run that was cut off may have left there: a connection that breaks
 * takes nothing with it. False: nothing can be left, because the work was done on this machine. */
bool launch_spec_stop(const struct jig_work *w, struct arena *a, struct launch_spec *out_recipe);
