/* runner.h - the work of noderoles as real processes, over halligan-exec.
 *
 * It stands behind port/runner_port.h for jigs that have a recipe (run/jig/launch_spec.h). An order
 * becomes a recipe, the recipe a run of the supervisor (run/exec/exec_client.h), and its end a
 * RUN_DONE. An end is forgotten there only when it is durable here; what was under way when a
 * daemon died is taken up again by the orders of its next start. It knows neither the core nor the
 * store: what an order is about comes through a seam, and so does the word that an answer is
 * durable.
 *
 * Orders are only noted when they come; everything is done in runner_pump(), which the loop calls,
 * and in callbacks of the loop, so the turn is never entered from its own order. What reads or
 * writes files for long is done in threads of libuv. All else belongs to the loop's thread.
 *
 * Below the data directory it has runs/ (what runs read, and a place for each that wants one) and
 * logs/NODEROLE/ATTEMPT.log (what they said).
 */
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

/* What an order is about. Its texts are copied. */
struct runner_facts {
    struct str role, node, barclamp, source_path, jig_class;
    struct transport transport; /* kind, address, user, port; the paths are those of the setup */
    int64_t deadline_ms;        /* from the start; 0: none */
    int64_t session;            /* another one: the machine may have started anew, and nothing is
                                   left of connections to it; 0: they are not shared */
    int64_t pin;                /* the newest host key row of the node. Another one: the connections
                                   that are open may lead to another machine; 0: it has none */
};

/* What has to be started for a run, and what its end means. Called in any thread, several at a
 * time. */
struct runner_jig_ops {
    void *self;
    /* As in run/jig/launch_spec.h. */
    err (*prepare)(void *self, const struct jig_work *w, struct arena *a,
                   struct launch_spec *out_recipe, struct reason *out_why);
    void (*conclude)(void *self, const struct jig_work *w, const struct jig_end *end,
                     struct arena *a, struct run_done_command *out_done);
    bool (*stop)(void *self, const struct jig_work *w, struct arena *a,
                 struct launch_spec *out_recipe);
    /* Is a directory to be made for the run, and removed after it? */
    bool (*wants_scratch)(void *self, const struct jig_work *w);
};

struct runner_seams {
    void *self;
    /* Called from runner_pump(). The order has no texts. False: its noderole is gone. */
    bool (*facts)(void *self, const struct run_order *order, struct arena *a,
                  struct runner_facts *out_facts);
    /* Takes an answer, from runner_pump(). ERR_LIMIT: later. A command with a request is answered
     * by runner_on_result(); one that was not taken, or failed, is given again. */
    err (*submit)(void *self, const struct command *command);
    /* Have runner_pump() called soon. */
    void (*wake)(void *self);
    const struct runner_jig_ops *kitchen; /* NULL: that of the jigs */
    /* The time that the age of a log is judged by. NULL: the wall clock. Called by the thread of
     * the loop. */
    int64_t (*now_ms)(void *self);
};

/* The texts are copied. */
struct runner_setup {
    uv_loop_t *loop;
    const char *data;         /* the data directory */
    const char *exec_program; /* path of halligan-exec; NULL: somebody else starts it */
    const char *ssh_key;      /* NULL: whatever ssh finds */
    const char *known_hosts;
    const char *control_dir; /* 0700, for sockets of shared connections; NULL: none are shared */
    const char *tool_path;   /* where programs are looked for; NULL: the usual places */
    int64_t request_first;   /* its requests are this one, below zero, and those below it */
    uint32_t keep_runs;      /* logs kept of a noderole; 0: 10 */
    int64_t keep_ms;         /* and for how long; 0: for ever */
    int64_t exec_idle_ms;    /* --idle-ms of the supervisor; 0: its own default */
    uint32_t share_max;      /* connections that are shared at a time; 0: 64 */
    int64_t share_idle_ms;   /* a shared connection without a run goes after it; 0: a minute */
    int64_t patience_ms;     /* how long runs wait for a supervisor; 0: half a minute */
};

/* Makes its directories; errno says what failed. Nothing is started before the first order. */
NODISCARD err runner_open(const struct runner_setup *setup, struct runner_seams seams,
                          struct runner **out_runner);
/* Runs go on; no seam is called any more. The rest goes while the loop is run to its end. `bye`: we
 * stop for good, so that a supervisor with nothing to do need not wait for us. NULL is fine. */
void runner_close(struct runner *r, bool bye);
struct runner_port runner_port(struct runner *r);
/* How many runs are open. */
uint32_t runner_count(const struct runner *r);
/* Logs that are kept of a noderole from now on; 0: 10. */
void runner_set_keep(struct runner *r, uint32_t keep_runs);
/* A sentence when runs have waited for a supervisor in vain, until there is one; else "". Those
 * that had certainly not begun have failed with it. */
const char *runner_trouble(const struct runner *r);
/* The same, or that runs have waited for the supervisor for two seconds, which is no trouble yet: a
 * sentence, empty when nothing is wrong. */
const char *runner_waits_for(const struct runner *r);

/* Do what was ordered and what came, and hand answers over. What is not taken waits for the next
 * time. True when an answer was handed over. Must not be called without a core to ask for facts,
 * nor in the middle of the orders of a start: a run of before it that nobody has ordered when the
 * first of them are looked at is nobody's, and is cancelled. */
bool runner_pump(struct runner *r);
/* What became of a command that was submitted with this request. OK: it is durable. ERR_REFUSED:
 * the core did not like it. Anything else: it is not in the store. */
void runner_on_result(struct runner *r, int64_t request, err why);

/* A look into a log: where to begin, and room for what is found. */
struct runner_log {
    int64_t offset; /* counted from the first byte ever written; below zero: from the end. Set to
                       where the bytes begin, when earlier ones are not kept any more */
    char *at;
    uint32_t size; /* room; set to how much of it was filled */
    int64_t total; /* set: bytes ever written */
    bool is_over;  /* set: there will be no more */
};

/* While a run is open from the spool, afterwards from the file that is kept. ERR_NOT_FOUND: it is
 * not open, and said nothing or is not kept any more. */
NODISCARD err runner_read_log(const struct runner *r, int64_t noderole_id, int64_t run_id,
                              uint32_t attempt, struct runner_log *log);
