/* limits.h - upper bounds of all objects, strings and operations.
 *
 * Every pool and every string of the model has a bound, and all bounds are defined here. A request
 * that would exceed one is refused with a message (ERR_LIMIT); memory never runs out instead. The
 * bounds of objects are far above the size of a large installation; those of strings are what a
 * person can still read.
 */
#pragma once

/* clang-format off */

/* Number of objects of each table. Rows of a pool have 32-bit indices, so none may pass 1 << 32. */
#define BARCLAMPS_MAX        (1u << 14)
#define JIGS_MAX             256u        /* each is backed by code; a handful is usual           */
#define ROLES_MAX            (1u << 16)  /* every network will add one                           */
#define ATTRIBS_MAX          (1u << 18)  /* the role of a network has nine, plus two node hints  */
#define DEPLOYMENTS_MAX      (1u << 16)  /* each has a phantom node, so far below NODES_MAX      */
#define DEPLOYMENT_ROLES_MAX (1u << 22)
#define SNAPSHOTS_MAX        (1u << 22)  /* headers only; older content stays in the store       */
#define NODES_MAX            (1u << 20)
#define NODEROLES_MAX        (1u << 24)  /* sixteen on each of NODES_MAX nodes                   */
#define HAMMERS_MAX          (1u << 21)  /* two on each node: one for ssh, one for power         */
#define GROUPS_MAX           (1u << 16)
#define USERS_MAX            (1u << 16)
#define TOKENS_MAX           (1u << 20)  /* agents and installers have one each                  */
#define TOKENS_OWN_MAX       200u        /* of one user, or of one node                          */
#define RUNS_MAX             (1u << 20)  /* queued, running or parked; one slot per node         */
#define OUTBOX_MAX           (1u << 22)  /* hook calls, power actions and probes without result  */
#define HOST_KEYS_MAX        (1u << 23)  /* pinned ssh host keys; HOST_KEYS_OWN_MAX on each node  */
#define HOST_KEYS_OWN_MAX    8u          /* of one node                                          */
#define NETWORKS_MAX         (1u << 12)
#define NETWORK_RANGES_MAX   (1u << 14)
#define RANGES_OWN_MAX       64u         /* of one network                                       */
#define ALLOCATIONS_MAX      (1u << 22)  /* four on each node                                    */
#define LEASES_MAX           (1u << 20)
#define NICS_MAX             (1u << 23)  /* NICS_OWN_MAX on each node                            */
#define NICS_OWN_MAX         64u
#define NAME_FILTERS_MAX     256u
#define NAME_ENTRIES_MAX     (1u << 23)
#define BLOBS_MAX            (1u << 25)  /* distinct documents, interned                         */
#define BOOTENVS_MAX         (1u << 12)  /* boot environments of all barclamps                    */
#define BOOT_DUE_MAX         (1u << 22)  /* machines that roles have not published         */
#define BOOT_DUE_STAGED_MAX  1000u       /* of one run                                     */
#define BOOT_SERVERS_MAX     64u         /* connected ones, and those that were            */
#define BOOT_MACS_MAX        NICS_OWN_MAX /* of one machine in the boot view                     */
#define BOOT_ADDRESSES_MAX   256u        /* the same; those with the lowest ids                  */
#define BOOT_INITRDS_MAX     16u         /* of one boot environment                              */

/* Length of strings in bytes. */
#define NAME_LEN_MAX            255u          /* names; the longest possible host name          */
#define LABEL_LEN_MAX           63u           /* one label of a host name (DNS)                 */
#define DEPLOYMENT_NAME_LEN_MAX 55u           /* "<name>-phantom" has to be one label           */
#define MAP_LEN_MAX             255u          /* the slash path where an attrib keeps its value */
#define TOKEN_HASH_LEN          64u           /* hex SHA-256                                    */
#define HOST_KEY_LEN_MAX        4096u         /* type and base64 of an ssh host key             */
#define NETWORK_NAME_LEN_MAX    48u           /* names of networks and ranges                   */
#define BOOT_ARGS_LEN_MAX       2000u         /* kernel arguments; kernels accept 2048 or more  */
#define BOOT_OPTIONS_LEN_MAX    4096u         /* boot options of one node, as JSON             */
#define MATCHER_LEN_MAX         1024u         /* which allocations a DNS name filter selects    */
#define NAME_TEMPLATE_LEN_MAX   512u          /* how it makes their names                       */
#define DNS_NAME_LEN_MAX        253u          /* RFC 1035: 255 octets on the wire               */
#define ADDRESS_LEN_MAX         45u           /* an IPv6 address as inet_ntop writes it          */
#define BOOT_ID_LEN_MAX         64u           /* id that a machine gives to one of its boots    */
#define TEXT_MAX                (64u << 10)   /* descriptions, statuses, reasons                */
#define DOC_MAX                 (1u << 20)    /* one JSON document in canonical form            */
#define STAGED_MAX              (16u << 20)   /* staged data of one run                         */
#define ANSWER_DOC_MAX          (32u << 20)   /* one document in a response                     */
#define DOC_DEPTH_MAX           48u           /* nesting levels of a document from outside      */
#define RUNLOG_MAX              2048u         /* end of the log that the core keeps of an ERROR */

/* Size of operations. */
#define COHORT_MAX      32767u  /* depth of the role and noderole graphs; stored in 16 bits      */
#define CHAIN_MAX       16u     /* length of a chain of hooks that cause hooks; longer: ERROR    */
#define PARTS_MAX       10000u  /* commands in one COMMAND_BATCH                                 */
#define PARTS_WORK_MAX  (256u << 20) /* arena bytes of one batch, which blocks other commands    */
#define PLANS_MAX       16u     /* plans that are being computed or are cached                    */
#define PROBLEMS_MAX    1000u   /* problems reported in one refusal                              */
#define ASKS_ROUNDS_MAX 3u      /* rounds of veto requests for one command before the 409        */
#define PARK_MS_MAX     604800000 /* a run may be parked for a week at most, in ms               */
#define RUN_TIME_S_MAX  604800u /* deadlines and backoffs of runs, in seconds                    */
#define ATTEMPTS_MAX    100u    /* starts of a run before it counts as failed                    */
#define KEEP_RUNS_MAX   1000u
#define OLD_BOOTS_MAX   8u      /* ids of ended boots that are kept of a node                    */
#define NAME_TESTS_MAX  16u     /* tests in the matcher of a DNS name filter                     */
#define NAME_PARTS_MAX  32u     /* tokens and texts between them in its template                 */
#define LEASE_S_MAX     604800u /* time of one lease, in seconds                                 */
#define REST_MS         3600000 /* a freed or declined address is given to no other node so long */
#define POOL_SIZE_MAX   10000u
#define DELETION_ROWS   250u    /* rows of one slice of a deletion of a network or name filter    */
#define BATCH_ROWS      2500u   /* changed rows after which a batch is closed                    */
#define BATCH_BYTES_MAX (1u << 30) /* bytes of one batch, also if it holds a single command      */

/* Number of concurrent runs, unless the configuration sets another. */
#define POOL_NORMAL_DEFAULT 10u
#define POOL_HIGH_DEFAULT   2u

/* Retention of ended runs, in addition to the number that is kept of each noderole. */
#define RUNS_KEEP_MS    2592000000 /* thirty days                           */
#define RUNS_SWEEP_MS   600000     /* interval between deletions            */
#define RUNS_SWEEP_ROWS 10000u     /* rows that one batch deletes at most   */

/* Retention of events, if the configuration sets one; otherwise they are kept for ever. */
#define EVENTS_SWEEP_MS   60000 /* interval between deletions            */
#define EVENTS_SWEEP_ROWS 2000u /* rows that one batch deletes at most   */

/* Settings of a new installation. */
#define KEEP_RUNS_DEFAULT      10u
#define RUN_DEADLINE_S_DEFAULT 14400u /* four hours, so that no run occupies its node for ever */
#define BARRIER_S_DEFAULT      600u
#define INSTALL_WAIT_S_DEFAULT 3600u /* seconds */

/* clang-format on */

_Static_assert(DEPLOYMENT_NAME_LEN_MAX + sizeof("-phantom") - 1 <= LABEL_LEN_MAX,
               "the phantom node of a deployment needs a valid first label");
