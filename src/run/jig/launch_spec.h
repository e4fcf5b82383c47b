/* launch_spec.h - converts a run into the process to start, and the end of the process into a
 * result.
 *
 * A launch specification describes one process for the work of a noderole: command line,
 * environment, standard input. The caller starts it (not this module), passes back how it ended,
 * and gets the RUN_DONE to submit. Nothing is started here, and only the files of the role are
 * read.
 *
 * The process works on this machine or, through ssh, on the node. Its standard output is the result
 * channel, which only we read; its standard error is the log for operators. Everything that the
 * remote side needs is sent through standard input as one archive. docs/jigs.md describes its
 * content and how to add a jig (a way to execute a role on a node).
 *
 * Strings of a launch specification and of a RUN_DONE belong to the arena or to the run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "model/command.h"
#include "model/reason.h"

enum transport_kind { TRANSPORT_LOCAL, TRANSPORT_SSH };

/* How the machine is reached; fields other than `kind` are for ssh only. */
struct transport {
    enum transport_kind kind;
    struct str address;
    struct str user; /* empty: root */
    uint16_t port;   /* 0: 22 */
    /* host keys are pinned for "node-ID"; 0: for the name of the node */
    int64_t node_id;
    const char *key_path;         /* NULL: the default keys of ssh */
    const char *known_hosts_path; /* file with the pinned host keys */
    const char *control_path;     /* control socket of a shared connection; NULL: none */
};

struct jig_work {
    int64_t run_id;
    uint32_t attempt;
    struct str role, node, source_path, barclamp;
    /* the name of the role in the paths of its files, if it differs: "network-{name}" */
    struct str files_name;
    struct str data;      /* staged data, canonical JSON */
    struct str jig_class; /* name as in model/jig_class.h */
    int64_t deadline_ms;  /* ms from the start of the run; 0: none */
    struct transport transport;
    /* scratch directory of the run, mode 0700, created and removed by the caller; or NULL */
    const char *scratch;
    const char *path; /* search path of programs on this machine; NULL: TOOLS_PATH */
};

struct launch_spec {
    struct str *argv; /* argv[0] is an absolute path */
    struct str *env;  /* KEY=value; the complete environment */
    uint32_t argv_count, env_count;
    struct str cwd;
    struct str stdin_bytes;
    uint32_t out_max; /* bytes; the first ones of the result channel are kept */
    uint32_t log_max; /* bytes; the last ones of the log are kept */
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
    int code;          /* exited: the status; signalled: the signal */
    struct str reason; /* not started: the reason */
    struct str out;    /* the result channel */
    bool out_dropped;  /* the result channel is incomplete */
    struct str log_tail;
    uint64_t log_dropped; /* bytes of the log before log_tail */
};

/* How long a run with the result "parked" waits to be resumed. */
#define JIG_PARK_MS (60 * 60 * 1000)

/* True if there is a jig of this class. */
bool launch_spec_is_known(struct str jig_class);
/* ERR_REFUSED: the run cannot be started and fails with *out_why. */
NODISCARD err launch_spec_prepare(const struct jig_work *w, struct arena *a,
                                  struct launch_spec *out_spec, struct reason *out_why);
/* The result of the run. The wall data is canonical JSON. */
void launch_spec_conclude(const struct jig_work *w, const struct jig_end *end, struct arena *a,
                          struct run_done_command *out_done);

/* The command that stops processes which a run has left on the node: they survive a broken
 * connection. False: nothing can be left, because the work was done on this machine. */
bool launch_spec_stop(const struct jig_work *w, struct arena *a, struct launch_spec *out_spec);
