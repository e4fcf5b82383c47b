/* options.h - what a world of the simulator is like.
 *
 * The command line says which seeds, and may fix sizes and kinds of faults. Everything else is
 * drawn from the seed: each world has some of the faults, at rates of its own, because a world with
 * all of them at once hides more than it shows ("swarm"). Same seed, same options, same world.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* kind, name, group (for --faults), what happens */
#define SIM_FAULTS(X)                                                                              \
    X(RUN_FAILED, "run_failed", "run")                /* the work fails                         */ \
    X(RUN_ASYNC, "run_async", "run")                  /* "I will come back"                     */ \
    X(RUN_PARKED, "run_parked", "run")                /* not finished, wants to be run again    */ \
    X(RUN_NODE_DEAD, "run_node_dead", "run")          /* ok, and the machine goes down with it  */ \
    X(RUN_STOP, "run_stop", "run")                    /* ok, and nothing more on this node      */ \
    X(RUN_SLOW, "run_slow", "run")                    /* takes hours                            */ \
    X(ANSWER_LOST, "answer_lost", "answer")           /* sent again much later                  */ \
    X(ANSWER_TWICE, "answer_twice", "answer")         /* and perhaps a third time               */ \
    X(ANSWER_LATE, "answer_late", "answer")           /* a heavy tail                           */ \
    X(ANSWER_REORDERED, "answer_reordered", "answer") /* done before begun                     */  \
    X(ANSWER_STALE, "answer_stale", "answer")         /* about an attempt long gone             */ \
    X(RUNNER_CRASH, "runner_crash", "runner")         /* forgets what it was doing              */ \
    X(HOOK_FAILED, "hook_failed", "hook")             /* a hook throws                          */ \
    X(HOOK_LATE, "hook_late", "hook")                 /* answers after hours                    */ \
    X(HOOK_TWICE, "hook_twice", "hook")               /* answers twice                          */ \
    X(HOOK_WISHES, "hook_wishes", "hook")             /* asks for changes                       */ \
    X(HOOK_BAD_WISH, "hook_bad_wish", "hook")         /* asks for something that is refused     */ \
    X(HOOK_VETO, "hook_veto", "veto")                 /* says no                                */ \
    X(NODE_DEATH, "node_death", "node")               /* a machine goes down                    */ \
    X(NODE_FLAP, "node_flap", "node")                 /* down and up before anybody looks       */ \
    X(NODE_LATE_WORD, "node_late_word", "node")       /* of a boot that is over                 */ \
    X(PROBE_FAILED, "probe_failed", "node")           /* says it is there, and is not           */ \
    X(POWER_FAILED, "power_failed", "power")          /* the BMC does not answer                */ \
    X(STORE_REFUSED, "store_refused", "store")        /* the batch is not in                    */ \
    X(STORE_UNANSWERED, "store_unanswered", "store")  /* it is in, and nobody says so           */ \
    X(STORE_LATE, "store_late", "store")              /* takes seconds                          */ \
    X(STORE_LOST_TAIL, "store_lost_tail", "store")    /* a crash forgets what was not answered  */ \
    X(CRASH, "crash", "crash")                        /* the daemon dies at a point of its turn */ \
    X(CRASH_AGAIN, "crash_again", "crash")            /* and once more while it recovers        */ \
    X(CLOCK_FORWARD, "clock_forward", "clock")        /* the wall clock jumps                   */ \
    X(CLOCK_BACK, "clock_back", "clock")                                                           \
    X(OPERATOR_WRONG, "operator_wrong", "operator") /* nonsense from an operator              */   \
    X(OPERATOR_BURST, "operator_burst", "operator") /* many commands at one moment            */   \
    X(OPERATOR_STORM, "operator_storm", "operator") /* proposes and recalls while it anneals  */

enum sim_fault {
#define X(upper, name, group) FAULT_##upper,
    SIM_FAULTS(X)
#undef X
        FAULT_COUNT
};

const char *fault_name(enum sim_fault fault);

/* From the command line. */
struct options {
    uint64_t seed;
    uint64_t seeds; /* how many, from `seed` on */
    uint32_t nodes; /* 0 = drawn */
    uint32_t roles; /* 0 = drawn */
    uint32_t hours; /* 0 = drawn */
    uint32_t jobs;
    bool allowed[FAULT_COUNT];
    bool transcript;
    bool rack;
    bool trace; /* of racks */
    bool help;
    const char *replay;    /* a file, or NULL */
    const char *barclamps; /* for racks: "DIR[:DIR]" */
};

/* Of one world. */
struct draw {
    uint64_t seed;
    uint32_t nodes;
    uint32_t roles;
    int64_t hours;              /* of simulated time with faults */
    uint32_t commands;          /* of operators, at least */
    uint32_t rate[FAULT_COUNT]; /* per mille */
    uint32_t reload_every;      /* batches between two checks of I1 */
    uint32_t pool_normal;
    uint32_t pool_high;
    bool test_jig;
    bool thorough; /* digests from scratch after every step */
};

/* False, with *out_what naming the culprit, when the command line does not read. */
bool options_parse(int argc, char **argv, struct options *out_options, const char **out_what);
const char *options_help(void);

struct draw options_draw(const struct options *options, uint64_t seed);
/* "seed 7: 9 nodes, ..." in one line without its end. */
void options_describe(const struct draw *draw, char *text, uint32_t size);
