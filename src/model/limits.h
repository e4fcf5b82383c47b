/* limits.h - how large anything may become.
 *
 * Every pool and every text of the model has an upper bound, and all of them stand here. Reaching
 * one is a refusal that the person who asked can read (ERR_LIMIT), never an out-of-memory. The
 * bounds of counted things are far above what one installation holds; those of texts are what a
 * reader can still take in.
 */
#pragma once

/* clang-format off */

/* How many of each noun. Rows of a pool have 32-bit indices, so none may pass 1 << 32. */
#define BARCLAMPS_MAX        (1u << 14)
#define JIGS_MAX             256u        /* each is backed by code; a handful is usual           */
#define ROLES_MAX            (1u << 16)  /* every network adds one (SEMANTICS 9.6)               */
#define ATTRIBS_MAX          (1u << 18)  /* a network's role brings nine, plus two node hints    */
#define DEPLOYMENTS_MAX      (1u << 16)  /* each has a phantom node, so far below NODES_MAX      */
#define DEPLOYMENT_ROLES_MAX (1u << 22)
#define SNAPSHOTS_MAX        (1u << 22)  /* headers only; older content stays in the store       */
#define NODES_MAX            (1u << 20)
#define NODEROLES_MAX        (1u << 24)  /* sixteen on each of NODES_MAX nodes                   */
#define HAMMERS_MAX          (1u << 21)  /* two on each node: one that reaches in, one for power */
#define GROUPS_MAX           (1u << 16)
#define USERS_MAX            (1u << 16)
#define TOKENS_MAX           (1u << 20)  /* agents and installers have one each                  */
#define TOKENS_OWN_MAX       200u        /* of one user, of one node                             */
#define RUNS_MAX             (1u << 20)  /* queued, running or parked; one slot per node         */
#define OUTBOX_MAX           (1u << 22)  /* hooks that wait to be delivered                      */
#define HOST_KEYS_MAX        (1u << 23)  /* pinned ssh host keys; HOST_KEYS_OWN_MAX on each node  */
#define HOST_KEYS_OWN_MAX    8u          /* of one node                                          */
#define BLOBS_MAX            (1u << 25)  /* distinct documents, interned                         */

/* How long a text may be, in bytes. */
#define NAME_LEN_MAX            255u          /* natural keys; the longest a host name can be   */
#define LABEL_LEN_MAX           63u           /* one label of a host name (DNS)                 */
#define DEPLOYMENT_NAME_LEN_MAX 55u           /* "<name>-phantom" has to be one label           */
#define MAP_LEN_MAX             255u          /* the slash path where an attrib keeps its value */
#define TOKEN_HASH_LEN          64u           /* hex SHA-256                                    */
#define HOST_KEY_LEN_MAX        4096u         /* type and base64 of an ssh host key             */
#define ADDRESS_LEN_MAX         45u           /* an IPv6 address as inet_ntop writes it          */
#define BOOT_ID_LEN_MAX         64u           /* what a machine calls one of its boots          */
#define TEXT_MAX                (64u << 10)   /* descriptions, statuses, reasons                */
#define DOC_MAX                 (1u << 20)    /* one JSON document in canonical form            */
#define STAGED_MAX              (16u << 20)   /* all that a run is given                        */
#define ANSWER_DOC_MAX          (32u << 20)   /* one document that a request is answered        */
#define DOC_DEPTH_MAX           48u           /* levels of a document that comes from outside   */
#define RUNLOG_MAX              2048u         /* tail of the log kept in the core for an ERROR  */

/* How far a thought may go. */
#define COHORT_MAX      32767u  /* depth of the role and noderole graphs; stored in 16 bits      */
#define CHAIN_MAX       16u     /* hooks that cause hooks; a deeper chain is an ERROR            */
#define PARTS_MAX       10000u  /* commands in one COMMAND_BATCH                                 */
#define PARTS_WORK_MAX  (256u << 20) /* bytes thought over for it: nobody else is served         */
#define PLANS_MAX       16u     /* plans in the making, or kept for the next request              */
#define PROBLEMS_MAX    1000u   /* told in one refusal                                           */
#define ASKS_ROUNDS_MAX 3u      /* times a changed list of vetoes is asked again before the 409  */
#define PARK_MS_MAX     604800000 /* a run may be parked for a week at most, in ms               */
#define RUN_TIME_S_MAX  604800u /* deadlines and backoffs of runs, in seconds                    */
#define ATTEMPTS_MAX    100u    /* starts before a failure counts                                */
#define KEEP_RUNS_MAX   1000u
#define OLD_BOOTS_MAX   8u      /* boots of a node that are remembered as over                   */
#define POOL_SIZE_MAX   10000u
#define BATCH_ROWS      2500u   /* changed rows that close a batch (one command may need more)   */
#define BATCH_BYTES_MAX (1u << 30) /* and what no batch may reach, one command or not             */

/* Runs at the same time, unless the configuration says otherwise. */
#define POOL_NORMAL_DEFAULT 10u
#define POOL_HIGH_DEFAULT   2u

/* How long runs that are over are remembered, however few they are. */
#define RUNS_KEEP_MS    2592000000 /* thirty days                                   */
#define RUNS_SWEEP_MS   600000     /* so often a batch takes out older ones, if any */
#define RUNS_SWEEP_ROWS 10000u     /* and so many at most                           */

/* Events are kept for ever, unless the configuration says for how long. */
#define EVENTS_SWEEP_MS   60000 /* so often a batch takes out older ones, if any */
#define EVENTS_SWEEP_ROWS 2000u /* and so many at most                           */

/* What the settings of a new installation say of runs and power. */
#define KEEP_RUNS_DEFAULT      10u
#define RUN_DEADLINE_S_DEFAULT 14400u /* four hours: nothing is stuck for ever */
#define BARRIER_S_DEFAULT      600u

/* clang-format on */

_Static_assert(DEPLOYMENT_NAME_LEN_MAX + sizeof("-phantom") - 1 <= LABEL_LEN_MAX,
               "the phantom node of a deployment needs a valid first label");
