/* runner_private.h - one runner, for its chapters: run_table.c (who is there), run_fsm.c (what
 * happens to a run), results.c (what the core is told), jobs.c (what threads do), run_logs.c (what
 * is kept), ssh_control.c (connections that runs share).
 *
 * A run lives from its order until its end is durable, a job from the moment a thread is asked
 * until its run needs nothing of it any more. Threads look at nothing but their job, and at what of
 * the runner never changes.
 */
#pragma once

#include "run/exec/exec_client.h"
#include "run/runner/runner.h"

/* Where a run stands. */
enum run_stage {
    STAGE_NOTED,      /* ordered; nothing was done yet                                  */
    STAGE_ASKED,      /* the supervisor was asked what it knows                         */
    STAGE_PREPARING,  /* a thread makes its recipe                                      */
    STAGE_PREPARED,   /* the recipe is there                                            */
    STAGE_ORDERED,    /* the supervisor was told to begin it                            */
    STAGE_PUT_OFF,    /* which it did not want to: it is about to end, or we are fenced */
    STAGE_RUNNING,    /* it has begun                                                   */
    STAGE_ENDED,      /* it is over, or lost; what it left is not looked at             */
    STAGE_SWEEPING,   /* what it may have left on its node is ended: recipe             */
    STAGE_SWEPT,      /* its recipe is there                                            */
    STAGE_STOPPING,   /* the supervisor was told to begin that                          */
    STAGE_CONCLUDING, /* a thread finds out what came of it                            */
    STAGE_ANSWERED    /* all that is left is to have the answer durable                */
};

struct job;

struct run {
    struct run *next_in_row; /* in its bucket */
    struct run *next_due;    /* runs that want to be looked at; in the order they came */
    struct run *next_saying; /* runs that have something to tell */
    struct run *next_told;   /* runs whose answer was taken */
    bool is_due, is_saying, is_handed;

    int64_t run_id;
    uint32_t attempt;
    int64_t node_id, noderole_id;
    enum run_stage stage;
    bool may_be_known;   /* the supervisor may know it: it is asked first               */
    bool store_begun;    /* the store knows that it began                               */
    bool is_doubtful;    /* of before our start, and nothing was heard of it            */
    bool is_known;       /* the supervisor has told of it                               */
    bool is_cancelled;   /* nobody wants it any more                                    */
    bool is_cancel_sent; /* by this connection                                          */
    bool is_lost;        /* it began, and nobody knows what became of it                */
    bool is_swept;       /* what could be done on its node was done                     */
    bool may_have_left;  /* and that was not enough                                     */
    bool is_ours_alone;  /* no supervisor can have heard of it: it has not begun        */
    bool has_input, has_scratch;
    bool begun_due;  /* RUN_BEGUN is to be said           */
    bool answer_due; /* the answer is to be handed over   */
    int refusals;    /* of its answers, by the core       */
    int64_t pid;     /* 0: it is not known to have begun  */
    int64_t request; /* of the answer that was taken last; 0: none */

    struct exec_ended end;      /* its reason is ours */
    struct runner_facts *facts; /* NULL: not asked, or gone; one piece of memory */
    struct job *job;            /* what it still needs of a thread's work */
    struct run_done_command done;

    struct str data;
    char data_bytes[];
};

enum job_kind { JOB_PREPARE, JOB_CONCLUDE, JOB_SWEEP_NODE, JOB_SWEEP_DATA };

struct job {
    uv_work_t work;
    struct job *next; /* spare ones; or done by the same thread after it */
    struct runner *runner;
    struct run *run; /* NULL: of none */
    enum job_kind kind;
    struct arena arena;
    struct jig_work jig;
    bool has_facts;
    struct exec_ended end;
    int64_t noderole_id;
    bool has_input, has_scratch; /* to be removed; or made */
    bool may_have_left;
    uint32_t keep_runs;
    int64_t now_ms; /* by which the age of logs is judged */
    /* What came of it. */
    err result;
    struct reason why;
    struct launch_spec recipe;
    const char *input_path; /* NULL: it reads nothing */
    struct run_done_command done;
};

struct run_line {
    struct run *first, *last;
};

struct job_line {
    struct job *first, *last;
    uint32_t count;
};

enum master_stage {
    MASTER_NONE,    /* an empty row                                      */
    MASTER_STARTED, /* the supervisor was told to begin it, or has it    */
    MASTER_STOPPED, /* it was cancelled, and its end is not told         */
    MASTER_FAILED   /* it ended by itself; for a while there is no other */
};

/* A connection to a node that runs share; or what is remembered of one. */
struct master {
    int64_t node_id;
    uint32_t tag; /* of the node's session and pins, and of the way to it */
    enum master_stage stage;
    uint64_t since_ms; /* when it was in use last; when it failed */
};

enum { MASTER_ROWS = 256 };

struct runner {
    struct runner_setup setup;
    struct runner_seams seams;
    struct runner_jig_ops kitchen;
    struct exec_client *client; /* NULL: before the first order */
    int place;                  /* the supervisor's directory, for its spool; -1: none yet */
    bool has_complained;        /* that there cannot be one */
    bool is_connected;
    bool is_in_trouble; /* there is no supervisor, and runs have waited for one in vain */
    bool is_listing;    /* all that it has is to be told, after what was asked */
    bool is_unsettled;  /* the journal is of an earlier boot */
    bool is_fenced;     /* until an order has a higher epoch */
    uint32_t keep_runs; /* as runner_set_keep() has it; threads have a copy */
    int64_t epoch;      /* the highest that gave an order    */
    int64_t spoken;     /* what the supervisor was told      */
    int64_t request;    /* the next one                      */
    uint32_t doubt_count;

    struct run **buckets;
    uint32_t bucket_count; /* a power of two, or 0 */
    uint32_t run_count;
    struct run_line due, saying, told;

    struct job *spare;
    uint32_t spare_count;
    struct job_line leaving; /* for a thread, at the end of the round */
    uint32_t job_count;      /* these, and those in threads */
    uint32_t concluding;     /* of them JOB_CONCLUDE */
    bool is_sweeping;        /* one of them is JOB_SWEEP_DATA */
    uv_timer_t retry;        /* what did not work is tried again */
    uv_timer_t upkeep;
    uv_timer_t patience; /* while runs wait for a connection */
    uv_timer_t ssh_control_watch;
    uv_timer_t gathering; /* while answers wait for others */
    bool has_waited;      /* and long enough */
    struct master masters[MASTER_ROWS];
    uint64_t crowded_ms; /* until then nobody asks which of them could go */
    uint32_t handles;
    bool is_closed;
};

/* ---- run_table.c ---- */

struct run *runs_find(const struct runner *r, int64_t run_id, uint32_t attempt);
struct run *runs_add(struct runner *r, const struct run_order *order);
/* It is over and durable. */
void runs_remove(struct runner *r, struct run *run);
void runs_free(struct run *run);
void runs_each(struct runner *r, void (*visit)(struct runner *r, struct run *run));
/* Have it looked at in the next round of runner_pump(). */
void runs_set_due(struct runner *r, struct run *run);
void runs_set_saying(struct runner *r, struct run *run);
void runs_set_facts(struct run *run, const struct runner_facts *facts);
void runs_set_end(struct run *run, const struct exec_ended *end);
/* It is in no doubt any more. */
void runs_clear_doubt(struct runner *r, struct run *run);

/* ---- run_fsm.c ---- */

/* What the supervisor says. */
struct exec_client_callbacks run_fsm_seams(struct runner *r);
void run_fsm_advance(struct runner *r, struct run *run);
/* A thread is through. */
void run_fsm_job_done(struct runner *r, struct run *run, struct job *job);
/* Once more, for those whom time helps. */
void run_fsm_retry(struct runner *r, struct run *run);
/* There is no supervisor: what certainly has not begun fails. */
void run_fsm_give_up(struct runner *r, struct run *run);

/* ---- results.c ---- */

void results_say_begun(struct runner *r, struct run *run);
/* The run is at its end; `done` is what is said unless it was cancelled. */
void results_give(struct runner *r, struct run *run, const struct run_done_command *done);
/* For this reason, whose texts outlive the run. */
void results_fail(struct runner *r, struct run *run, enum run_result result,
                  const struct reason *why);
bool results_hand_over(struct runner *r);

/* ---- jobs.c ---- */

/* The supervisor's number of what is done for a run on its node after it. */
#define SWEEP_IDS ((int64_t)1 << 62)

#define LEFT_SENTENCE "what it left on the node could not be ended"
#define RUNNER_TROUBLE                                                                             \
    "there is no supervisor for runs: halligan-exec cannot be started or does not answer; see "    \
    "the log"

extern const struct runner_jig_ops default_jig_ops;

void jobs_begin(struct runner *r, struct run *run, enum job_kind kind);
/* The round is over: what was begun in it goes to the threads. */
void jobs_send_out(struct runner *r);
void jobs_sweep_data(struct runner *r);
/* What was made for a process that read nothing of it, or is gone. */
void jobs_remove_made(struct runner *r, struct run *run);
/* NULL is fine. */
void jobs_drop(struct runner *r, struct job *job);
void jobs_free_spare(struct runner *r);
struct exec_spawn jobs_spawn(struct runner *r, struct run *run);
/* The texts are those of the run and of the runner, or lie in the arena. */
struct jig_work jobs_work(const struct runner *r, const struct run *run, struct arena *a);
struct str jobs_list(struct arena *a, const struct str *texts, uint32_t count);
/* Try again what did not work, soon. */
void runner_try_later(struct runner *r);
/* There is a supervisor again. */
void runner_end_trouble(struct runner *r);
void runner_free_if_idle(struct runner *r);

/* ---- ssh_control.c ---- */

/* The supervisor's numbers of masters: from here to SWEEP_IDS. */
#define MASTER_IDS ((int64_t)1 << 61)

/* Where the run finds a shared connection, if there is one; NULL: nowhere. */
const char *ssh_control_path(const struct runner *r, const struct run *run, struct arena *a);
/* A run on its node has begun: have a connection for those that come. */
void ssh_control_want(struct runner *r, const struct run *run);
/* Of that number, when it is one of masters; otherwise false. */
bool ssh_control_begun(struct runner *r, const struct exec_begun *m);
bool ssh_control_ended(struct runner *r, const struct exec_ended *m);
bool ssh_control_not_known(struct runner *r, const struct exec_not_known *m);
/* The connection to the supervisor is new. */
void ssh_control_ask_again(struct runner *r);
/* End those that nobody needs. */
void ssh_control_watch(uv_timer_t *timer);
/* We stop for good: each ends, or ends with the last run that goes through it. */
void ssh_control_leave(struct runner *r);

/* ---- run_files.c ---- */

NODISCARD err files_make_folders(const char *data);
const char *files_path(struct arena *a, const struct runner *r, const char *folder, int64_t id,
                       uint32_t attempt);
/* For standard input. */
NODISCARD err files_write(const char *path, struct str bytes);
/* False, and errno, when something of it stays. */
bool files_remove_tree(const char *path);
/* What runs have left that nobody has: out of the way at once, gone after files_empty_trash. */
void files_put_away(struct runner *r);
void files_empty_trash(const struct runner *r);

/* ---- run_logs.c ---- */

struct log_of {
    int64_t noderole_id, run_id;
    uint32_t attempt;
    uint32_t keep_runs; /* for logs_keep(): of its noderole; 0: the usual number */
    int64_t now_ms;     /* for logs_keep() */
};

/* Keeps the file, and no more of them than are to be kept. */
void logs_keep(const struct runner *r, struct arena *a, const struct log_of *of, struct str log,
               uint64_t dropped);
NODISCARD err logs_read(const struct runner *r, const struct log_of *of, struct runner_log *log);
/* Those that are too old or too many, of all noderoles. */
void logs_prune_all(const struct runner *r, struct arena *a, uint32_t keep_runs, int64_t now_ms);
