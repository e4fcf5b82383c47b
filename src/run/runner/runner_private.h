/* runner_private.h - the structures that the files of the runner share: runner.c (orders, timers),
 * run_table.c (lookup and queues of runs), run_fsm.c (state machine of a run), results.c (reports
 * to the core), jobs.c (work in threads), run_files.c and run_logs.c (files), ssh_control.c (shared
 * connections).
 *
 * A run exists from its order until its end is durable, a job from its creation until its run needs
 * none of its memory any more. A thread accesses only its job and the constant fields of the
 * runner. */
#pragma once

#include "run/exec/exec_client.h"
#include "run/runner/runner.h"

/* The state of a run in the runner; run_fsm.c has the transitions. */
enum run_stage {
    STAGE_NEW,       /* ordered by the turn; nothing done yet */
    STAGE_QUERYING,  /* waits for the answer to EXEC_QUERY or EXEC_CANCEL */
    STAGE_PREPARING, /* a thread creates the launch specification */
    STAGE_PREPARED,  /* the launch specification is ready */
    STAGE_ORDERED,   /* EXEC_SPAWN was sent */
    STAGE_DEFERRED,  /* the supervisor refused it: it is about to exit, or this daemon is fenced */
    STAGE_RUNNING,   /* the process was started */
    STAGE_ENDED,     /* the run ended or is lost; cleanup and result are due */
    STAGE_CLEANUP_PREPARING, /* a thread prepares the cleanup command for the node */
    STAGE_CLEANUP_PREPARED,  /* this command is ready */
    STAGE_CLEANUP_RUNNING,   /* the supervisor executes it */
    STAGE_CONCLUDING,        /* a thread reads the output and computes the result */
    STAGE_REPORTING          /* the result waits to be durable */
};

struct job;

struct run {
    struct run *next_in_bucket; /* hash chain */
    struct run *next_due;       /* queue of runs to advance, in order of arrival */
    struct run *next_unsent;    /* queue of runs with an unsent start or result */
    struct run *next_unacked;   /* queue of runs whose result was submitted */
    bool is_due, is_unsent, is_unacked;

    int64_t run_id;
    uint32_t attempt;
    int64_t node_id, noderole_id;
    enum run_stage stage;
    bool query_first;         /* the supervisor may know it: query it before an order */
    bool start_is_stored;     /* the store has recorded its start */
    bool is_unreconciled;     /* from before our start, without information so far */
    bool known_to_supervisor; /* the supervisor has reported it */
    bool is_cancelled;        /* a cancel order arrived */
    bool is_cancel_sent;      /* over this connection */
    bool is_lost;             /* it was started, and its result is unknown */
    bool cleanup_done;        /* cleanup on the node was tried */
    bool cleanup_failed;      /* and failed */
    bool never_ordered;       /* no supervisor has received it: it was certainly not started */
    bool has_input, has_scratch;
    bool start_unsent;  /* RUN_BEGUN is to be submitted */
    bool result_unsent; /* the result is to be submitted */
    int refusals;       /* number of results that the core refused */
    int64_t pid;        /* 0: not reported as started */
    int64_t request;    /* request id of the result submitted last; 0: none */

    struct exec_ended end;      /* `reason` is owned by the run */
    struct runner_facts *facts; /* NULL: not requested yet, or deleted; one allocation */
    struct job *job;            /* finished job whose memory is still needed */
    struct run_done_command done;

    struct str data;
    char data_bytes[];
};

enum job_kind { JOB_PREPARE, JOB_CONCLUDE, JOB_CLEANUP_NODE, JOB_CLEANUP_DATA };

struct job {
    uv_work_t work;
    struct job *next; /* in the list of spare jobs, or executed by the same thread after it */
    struct runner *runner;
    struct run *run; /* NULL: not for a run */
    enum job_kind kind;
    struct arena arena;
    struct jig_work jig;
    bool has_facts;
    struct exec_ended end;
    int64_t noderole_id;
    bool has_input, has_scratch; /* to be removed, or created */
    bool cleanup_failed;
    uint32_t keep_runs;
    int64_t now_ms; /* current time, for the age of logs */
    /* Output. */
    err result;
    struct reason why;
    struct launch_spec launch;
    const char *input_path; /* NULL: no standard input */
    struct run_done_command done;
};

struct run_queue {
    struct run *first, *last;
};

struct job_queue {
    struct job *first, *last;
    uint32_t count;
};

enum ssh_control_stage {
    SSH_CONTROL_NONE,    /* an unused row */
    SSH_CONTROL_STARTED, /* ordered, or running */
    SSH_CONTROL_STOPPED, /* cancelled, its end is not reported yet */
    SSH_CONTROL_FAILED   /* it exited by itself; not started again for a while */
};

/* A shared connection to a node (ControlMaster process of ssh), or the record of a failed one. */
struct ssh_control {
    int64_t node_id;
    uint32_t tag; /* hash of session, host key and endpoint of the node */
    enum ssh_control_stage stage;
    uint64_t since_ms; /* ms; last use, or the time of the failure */
};

enum { SSH_CONTROL_ROWS = 256 };

struct runner {
    struct runner_setup setup;
    struct runner_callbacks callbacks;
    struct runner_jig_ops jig_ops;
    struct exec_client *client; /* NULL before the first order */
    int state_dirfd;            /* state directory of the supervisor, for its spool; -1: not open */
    bool failure_logged;        /* a failure to open the client was logged */
    bool is_connected;
    bool supervisor_missing; /* runs waited for a supervisor until the timeout */
    bool list_due;           /* EXEC_LIST is due, after the queries */
    bool needs_reconcile;    /* the journal is of an earlier boot */
    bool is_fenced;          /* until an order has a higher epoch */
    uint32_t keep_runs;      /* value of runner_set_keep(); jobs have a copy */
    int64_t epoch;           /* the highest epoch of an order */
    int64_t sent_epoch;      /* epoch sent to the supervisor */
    int64_t request;         /* the next request id */
    uint32_t unreconciled_count;

    struct run **buckets;
    uint32_t bucket_count; /* a power of two, or 0 */
    uint32_t run_count;
    struct run_queue due, unsent, unacked;

    struct job *spare;
    uint32_t spare_count;
    struct job_queue job_batch; /* collected for one thread until the end of the round */
    uint32_t job_count;         /* collected or in threads */
    uint32_t conclude_count;    /* those of kind JOB_CONCLUDE */
    bool is_maintaining;        /* a JOB_CLEANUP_DATA is active */
    uv_timer_t retry;           /* repeats failed operations */
    uv_timer_t maintenance;
    uv_timer_t connect_timeout; /* active while runs wait for a connection */
    uv_timer_t ssh_control_timer;
    uv_timer_t batch_delay; /* active while results wait for others */
    bool batch_delay_over;  /* the delay has passed */
    struct ssh_control ssh_controls[SSH_CONTROL_ROWS];
    uint64_t full_until_ms; /* ms; until then no row is searched that could be closed */
    uint32_t handles;
    bool is_closed;
};

/* ---- run_table.c ---- */

struct run *runs_find(const struct runner *r, int64_t run_id, uint32_t attempt);
struct run *runs_add(struct runner *r, const struct run_order *order);
/* The end is durable: free the run. */
void runs_remove(struct runner *r, struct run *run);
void runs_free(struct run *run);
void runs_each(struct runner *r, void (*visit)(struct runner *r, struct run *run));
/* Advance the run in the next round of runner_pump(). */
void runs_set_due(struct runner *r, struct run *run);
void runs_set_unsent(struct runner *r, struct run *run);
void runs_set_facts(struct run *run, const struct runner_facts *facts);
void runs_set_end(struct run *run, const struct exec_ended *end);
/* The supervisor has answered about it. */
void runs_set_reconciled(struct runner *r, struct run *run);

/* ---- run_fsm.c ---- */

/* Callbacks for reports of the supervisor. */
struct exec_client_callbacks run_fsm_callbacks(struct runner *r);
void run_fsm_advance(struct runner *r, struct run *run);
/* A job of the run has finished. */
void run_fsm_job_done(struct runner *r, struct run *run, struct job *job);
/* Repeat what failed: called by the retry timer. */
void run_fsm_retry(struct runner *r, struct run *run);
/* There is no supervisor: fail a run that was certainly not started. */
void run_fsm_fail_unstarted(struct runner *r, struct run *run);

/* ---- results.c ---- */

void results_queue_start(struct runner *r, struct run *run);
/* The run has ended; `done` is reported unless it was cancelled. */
void results_queue_end(struct runner *r, struct run *run, const struct run_done_command *done);
/* The strings of `why` must outlive the run. */
void results_fail(struct runner *r, struct run *run, enum run_result result,
                  const struct reason *why);
bool results_submit(struct runner *r);

/* ---- jobs.c ---- */

/* Run ids in the supervisor for cleanup commands: this plus the id of the run. */
#define CLEANUP_RUN_IDS ((int64_t)1 << 62)

#define CLEANUP_FAILED_TEXT                                                                        \
    "processes of the run may still be active on the node: they could not be stopped"
#define SUPERVISOR_MISSING_TEXT                                                                    \
    "halligan-exec cannot be started or does not answer, so no run is executed; see the log"

extern const struct runner_jig_ops default_jig_ops;

void jobs_begin(struct runner *r, struct run *run, enum job_kind kind);
/* End of a round: give the collected jobs to a thread. */
void jobs_flush(struct runner *r);
void jobs_start_maintenance(struct runner *r);
/* Remove the files of a run whose process was not started or has exited. */
void jobs_remove_files(struct runner *r, struct run *run);
/* Return a job to the list of spare ones. NULL is ignored. */
void jobs_drop(struct runner *r, struct job *job);
void jobs_free_spare(struct runner *r);
struct exec_spawn jobs_spawn(struct runner *r, struct run *run);
/* The strings belong to the run, the runner or the arena. */
struct jig_work jobs_work(const struct runner *r, const struct run *run, struct arena *a);
struct str jobs_list(struct arena *a, const struct str *texts, uint32_t count);
/* Start the retry timer. */
void runner_schedule_retry(struct runner *r);
/* A supervisor is connected. */
void runner_supervisor_found(struct runner *r);
void runner_free_if_idle(struct runner *r);

/* ---- ssh_control.c ---- */

/* Run ids in the supervisor for shared connections: from here to CLEANUP_RUN_IDS. */
#define SSH_CONTROL_RUN_IDS ((int64_t)1 << 61)

/* Path of the control socket for the run; NULL: connections are not shared. */
const char *ssh_control_path(const struct runner *r, const struct run *run, struct arena *a);
/* A run has started on the node: start a shared connection for later runs. */
void ssh_control_ensure(struct runner *r, const struct run *run);
/* Reports of the supervisor about shared connections; false for other run ids. */
bool ssh_control_begun(struct runner *r, const struct exec_begun *m);
bool ssh_control_ended(struct runner *r, const struct exec_ended *m);
bool ssh_control_not_known(struct runner *r, const struct exec_not_known *m);
/* After a new connection to the supervisor: query all of them. */
void ssh_control_requery(struct runner *r);
/* Timer: close unused connections. */
void ssh_control_on_timer(uv_timer_t *timer);
/* The daemon ends for good: each connection is closed, or closes after its last run. */
void ssh_control_close_all(struct runner *r);

/* ---- run_files.c ---- */

NODISCARD err files_make_folders(const char *data);
const char *files_path(struct arena *a, const struct runner *r, const char *folder, int64_t id,
                       uint32_t attempt);
/* Write a file for standard input. */
NODISCARD err files_write(const char *path, struct str bytes);
/* False with errno if a part of the tree remains. */
bool files_remove_tree(const char *path);
/* Move files of runs that are not open to the trash at once; files_empty_trash removes them. */
void files_move_to_trash(struct runner *r);
void files_empty_trash(const struct runner *r);

/* ---- run_logs.c ---- */

struct run_log_key {
    int64_t noderole_id, run_id;
    uint32_t attempt;
    uint32_t keep_runs; /* for logs_store(): number kept per noderole; 0: the default */
    int64_t now_ms;     /* for logs_store(): current time */
};

/* Store the log and remove old ones of the noderole. */
void logs_store(const struct runner *r, struct arena *a, const struct run_log_key *of,
                struct str log, uint64_t dropped);
NODISCARD err logs_read(const struct runner *r, const struct run_log_key *of,
                        struct runner_log *log);
/* Remove logs that are too old or too many, of all noderoles. */
void logs_prune_all(const struct runner *r, struct arena *a, uint32_t keep_runs, int64_t now_ms);
