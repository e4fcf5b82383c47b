/* runner.h - executes runs as processes, through halligan-exec.
 *
 * It implements port/runner_port.h for jigs (ways to execute a role on a node) that have a launch
 * specification (run/jig/launch_spec.h). A run order becomes a launch specification, this a run of
 * the supervisor (run/exec/exec_client.h), and its end a RUN_DONE command. The supervisor deletes
 * an end only when it is durable here; runs that were active when a daemon died are adopted through
 * the orders of the next start. The module depends neither on the core nor on the store: facts
 * about an order and the acknowledgement of a result come through callbacks.
 *
 * An order is only recorded when it arrives; the work is done in runner_pump(), which the loop
 * calls, and in callbacks of the loop, so that the turn is never entered from its own order. Long
 * file operations are done in threads of libuv. Everything else belongs to the thread of the loop.
 *
 * Files below the data directory: runs/ (standard input and scratch directories of runs) and
 * logs/NODEROLE/ATTEMPT.log (stored logs). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "model/command.h"
#include "port/runner_port.h"
#include "run/jig/launch_spec.h"

struct runner;

/* The facts that a run order refers to. The strings are copied. */
struct runner_facts {
    struct str role, node, barclamp, source_path, jig_class;
    struct str files_name;      /* as in struct jig_work */
    struct transport transport; /* kind, address, user, port; paths come from the setup */
    int64_t deadline_ms;        /* ms from the start; 0: none */
    /* another value: the machine may have rebooted, so that no connection to it is left; 0:
     * connections are not shared */
    int64_t session;
    /* id of the newest host key of the node. Another value: open connections may lead to another
     * machine; 0: no key */
    int64_t pin;
};

/* What to start for a run, and what its end means. Called in any thread, several at a time. */
struct runner_jig_ops {
    void *self;
    /* As in run/jig/launch_spec.h. */
    err (*prepare)(void *self, const struct jig_work *w, struct arena *a,
                   struct launch_spec *out_launch, struct reason *out_why);
    void (*conclude)(void *self, const struct jig_work *w, const struct jig_end *end,
                     struct arena *a, struct run_done_command *out_done);
    bool (*stop)(void *self, const struct jig_work *w, struct arena *a,
                 struct launch_spec *out_launch);
    /* True if a directory is created for the run and removed after it. */
    bool (*wants_scratch)(void *self, const struct jig_work *w);
};

struct runner_callbacks {
    void *self;
    /* Called from runner_pump(). The order has no strings. False: its noderole was deleted. */
    bool (*facts)(void *self, const struct run_order *order, struct arena *a,
                  struct runner_facts *out_facts);
    /* Submits a command, from runner_pump(). ERR_LIMIT: try again later. A command with a request
     * id is acknowledged by runner_on_result(); one that was not accepted, or failed, is submitted
     * again. */
    err (*submit)(void *self, const struct command *command);
    /* Requests a call of runner_pump() soon. */
    void (*wake)(void *self);
    const struct runner_jig_ops *jig_ops; /* NULL: the real jigs */
    /* Current time in ms for the age of logs. NULL: the wall clock. Called by the thread of the
     * loop. */
    int64_t (*now_ms)(void *self);
};

/* The strings are copied. */
struct runner_setup {
    uv_loop_t *loop;
    const char *data;         /* the data directory */
    const char *exec_program; /* path of halligan-exec; NULL: it is started externally */
    const char *ssh_key;      /* NULL: the default keys of ssh */
    const char *known_hosts;
    /* mode 0700, for sockets of shared connections; NULL: connections are not shared */
    const char *control_dir;
    const char *tool_path; /* search path of programs; NULL: the default */
    int64_t request_first; /* its request ids are this one, which is negative, and lower ones */
    uint32_t keep_runs;    /* number of logs kept per noderole; 0: 10 */
    int64_t keep_ms;       /* ms that logs are kept; 0: without limit */
    int64_t exec_idle_ms;  /* --idle-ms of the supervisor; 0: its default */
    uint32_t share_max;    /* maximum number of shared connections; 0: 64 */
    int64_t share_idle_ms; /* ms after which an unused shared connection is closed; 0: a minute */
    int64_t patience_ms;   /* ms that runs wait for a supervisor; 0: 30 s */
};

/* Creates its directories; on failure errno is set. halligan-exec is not started before the first
 * order. */
NODISCARD err runner_open(const struct runner_setup *setup, struct runner_callbacks callbacks,
                          struct runner **out_runner);
/* Runs continue in the supervisor; no callback is called any more. Memory is freed while the loop
 * is run to its end. `bye`: the daemon ends for good, so an idle supervisor need not wait for it.
 * NULL is ignored. */
void runner_close(struct runner *r, bool bye);
struct runner_port runner_port(struct runner *r);
/* Number of runs without an acknowledged result. */
uint32_t runner_count(const struct runner *r);
/* Number of logs kept per noderole from now on; 0: 10. */
void runner_set_keep(struct runner *r, uint32_t keep_runs);
/* A sentence after runs have waited for a supervisor until the timeout, as long as there is none;
 * otherwise "". Runs that were certainly not started have failed with it. */
const char *runner_unavailable_text(const struct runner *r);
/* The same, or a sentence after runs have waited for the supervisor for two seconds, which is not a
 * failure yet; otherwise "". */
const char *runner_waiting_text(const struct runner *r);

/* Process orders and events, and submit results; what is not accepted is submitted at the next
 * call. True if a result was submitted. Must only be called while a core is loaded that provides
 * facts, and not before all orders of a start have been given: an earlier run that has no order at
 * the first call is unknown to the store and is cancelled. */
bool runner_pump(struct runner *r);
/* Outcome of a command that was submitted with this request id. OK: durable. ERR_REFUSED: the core
 * refused it. Otherwise it is not in the store. */
void runner_on_result(struct runner *r, int64_t request, err why);

/* One read of a log: where to start, and the buffer. */
struct runner_log {
    /* from the first byte ever written; negative: from the end. Set to the position of the first
     * byte returned, if earlier ones were dropped */
    int64_t offset;
    char *at;
    uint32_t size; /* bytes of the buffer; set to the bytes read */
    int64_t total; /* output: bytes ever written */
    bool is_over;  /* output: the log is complete */
};

/* Reads the spool while the run is open, afterwards the stored file. ERR_NOT_FOUND: the run is not
 * open, and its log was empty or was removed. */
NODISCARD err runner_read_log(const struct runner *r, int64_t noderole_id, int64_t run_id,
                              uint32_t attempt, struct runner_log *log);
