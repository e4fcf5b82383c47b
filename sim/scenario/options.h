/* options.h - command line of the simulator, and the parameters of one world.
 *
 * The command line selects the seeds and may fix sizes and kinds of faults. Everything else is
 * derived from the seed: each world has some of the faults, at random rates, because a world with
 * all of them at once masks defects (swarm testing). The same seed and options give the same world.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* kind, name, group (for --faults), what happens */
#define SIM_FAULTS(X)                                                                              \
    X(RUN_FAILED, "run_failed", "run")                /* the work fails                         */ \
    X(RUN_ASYNC, "run_async", "run")                  /* the result is asynchronous             */ \
    X(RUN_PARKED, "run_parked", "run")                /* unfinished: requests to be parked      */ \
    X(RUN_NODE_DEAD, "run_node_dead", "run")          /* succeeds and stops the machine         */ \
    X(RUN_STOP, "run_stop", "run")                    /* succeeds and sets `stopped`            */ \
    X(RUN_SLOW, "run_slow", "run")                    /* takes hours                            */ \
    X(ANSWER_LOST, "answer_lost", "answer")           /* a result is sent again much later      */ \
    X(ANSWER_TWICE, "answer_twice", "answer")         /* a result arrives two or three times    */ \
    X(ANSWER_LATE, "answer_late", "answer")           /* delays with a heavy tail               */ \
    X(ANSWER_REORDERED, "answer_reordered", "answer") /* RUN_DONE before RUN_BEGUN             */  \
    X(ANSWER_STALE, "answer_stale", "answer")         /* the result of an earlier attempt       */ \
    X(RUNNER_CRASH, "runner_crash", "runner")         /* the runner loses its runs              */ \
    X(HOOK_FAILED, "hook_failed", "hook")             /* a hook raises an error                 */ \
    X(HOOK_LATE, "hook_late", "hook")                 /* the result arrives after hours         */ \
    X(HOOK_TWICE, "hook_twice", "hook")               /* the result arrives twice               */ \
    X(HOOK_WISHES, "hook_wishes", "hook")             /* a hook requests changes                */ \
    X(HOOK_BAD_WISH, "hook_bad_wish", "hook")         /* a hook requests a refused change       */ \
    X(HOOK_VETO, "hook_veto", "veto")                 /* a hook vetoes a command                */ \
    X(NODE_DEATH, "node_death", "node")               /* a machine goes down                    */ \
    X(NODE_FLAP, "node_flap", "node")                 /* down and up between two probes         */ \
    X(NODE_LATE_WORD, "node_late_word", "node")       /* a late report of an earlier boot       */ \
    X(PROBE_FAILED, "probe_failed", "node")           /* reported alive, does not answer        */ \
    X(BOOT_FAILED, "boot_failed", "boot")             /* a boot server cannot serve             */ \
    X(BOOT_LATE, "boot_late", "boot")                 /* it acknowledges after hours            */ \
    X(BOOT_TWICE, "boot_twice", "boot")               /* an event of it arrives twice           */ \
    X(POWER_FAILED, "power_failed", "power")          /* the BMC does not answer                */ \
    X(STORE_REFUSED, "store_refused", "store")        /* the batch is not stored                */ \
    X(STORE_UNANSWERED, "store_unanswered", "store")  /* stored, but the result is lost         */ \
    X(STORE_LATE, "store_late", "store")              /* takes seconds                          */ \
    X(STORE_LOST_TAIL, "store_lost_tail", "store")    /* a crash loses the unanswered batch     */ \
    X(STORE_IMPORTED, "store_imported", "store")      /* it is imported after a crash           */ \
    X(CRASH, "crash", "crash")                        /* the daemon dies at a point of its turn */ \
    X(CRASH_AGAIN, "crash_again", "crash")            /* and again while it recovers            */ \
    X(CLOCK_FORWARD, "clock_forward", "clock")        /* the wall clock jumps                   */ \
    X(CLOCK_BACK, "clock_back", "clock")                                                           \
    X(OPERATOR_WRONG, "operator_wrong", "operator") /* invalid commands                       */   \
    X(OPERATOR_BURST, "operator_burst", "operator") /* many commands at the same time         */   \
    X(OPERATOR_STORM, "operator_storm", "operator") /* proposes and recalls during annealing  */

enum sim_fault {
#define X(upper, name, group) FAULT_##upper,
    SIM_FAULTS(X)
#undef X
        FAULT_COUNT
};

const char *fault_name(enum sim_fault fault);

/* The command line. */
struct options {
    uint64_t seed;
    uint64_t seeds; /* number of worlds, beginning with `seed` */
    uint32_t nodes; /* 0 = derived from the seed */
    uint32_t roles; /* 0 = derived from the seed */
    uint32_t hours; /* 0 = derived from the seed */
    uint32_t jobs;
    bool allowed[FAULT_COUNT];
    bool transcript;
    bool rack;
    bool trace; /* of racks */
    bool help;
    const char *replay;    /* a file, or NULL */
    const char *barclamps; /* for racks: "DIR[:DIR]" */
};

/* The parameters of one world. */
struct scenario {
    uint64_t seed;
    uint32_t nodes;
    uint32_t roles;
    int64_t hours;              /* of simulated time with faults */
    uint32_t commands;          /* minimum number of operator commands */
    uint32_t rate[FAULT_COUNT]; /* per mille */
    uint32_t reload_every;      /* batches between two checks of I1 */
    uint32_t pool_normal;
    uint32_t pool_high;
    uint32_t boot_part; /* machines that one run publishes at most */
    bool test_jig;
    bool thorough; /* recompute the digest after every step */
};

/* False, with the offending argument in *out_what, if the command line is invalid. */
bool options_parse(int argc, char **argv, struct options *out_options, const char **out_what);
const char *options_help(void);

struct scenario options_scenario(const struct options *options, uint64_t seed);
/* "seed 7: 9 nodes, ..." as one line without newline. */
void options_describe(const struct scenario *scenario, char *text, uint32_t size);
