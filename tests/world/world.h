/* world.h - a small installation for tests in the terms of the specification.
 *
 * A world owns one core and simulates its environment (operators, runners, hooks, store, clock). It
 * records the effects of the core in one string, the story: "on_transition a@n1; start a@n1; cancel
 * a@n1". A noderole is written "role@node", a node by its first label. JSON is written and printed
 * with single quotes.
 *
 * After every step core_check() must be clean, and no node may have two runs. At the end the core
 * is saved and loaded into a second one, and both must be equal. A refusal must have a code, a
 * field and a text, and must not change the digest.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json/json.h"
#include "base/text/buf.h"
#include "core/core.h"
#include "tests/check.h"

#define SYSTEM 1 /* the system deployment */

/* A run that the core ordered to start. */
struct start {
    int64_t run;
    int64_t noderole;
    uint32_t attempt;
    struct str jig;
    struct str data;
    struct start *earlier;
};

struct world;

/* Executes the steps instead of the world itself (live.h); step == NULL: none. */
struct world_engine {
    void *self;
    void (*step)(void *self, struct command command);
};

struct world {
    struct core *core;
    struct arena arena; /* until world_close(): all strings that functions of the world return */
    struct effects fx;  /* of the last step */
    struct outcome out; /* of the last step */
    int64_t now_ms;
    bool keeps_probes;     /* the probe of a new node is left to the test */
    int64_t wall_ahead_ms; /* offset of the wall clock to now_ms */
    int64_t turn;
    struct buf story;     /* effects since the last comparison or world_clear_effects() */
    int64_t outbox_seen;  /* id of the last outbox row in the story */
    struct start *starts; /* newest first */
    const char *veto;     /* hook that vetoes every request; NULL = none */
    const char *held;     /* hook whose rows world_deliver() skips; NULL = none */
    uint32_t barclamps;   /* number of generated barclamps */
    struct world_engine engine;
    const char *unread;  /* errors of the reader for the last imported barclamp; NULL = none */
    struct record *kept; /* content of the store */
    size_t kept_count;
    size_t kept_cap;
};

struct where {
    const char *file;
    int line;
};

#define HERE ((struct where){__FILE__, __LINE__})

__attribute__((format(printf, 2, 3))) void world_fail(struct where where, const char *format, ...);

struct world *world_open(void);
void world_close(struct world *w);

/* ---- steps ---- */

/* CMD(NODE_COMMIT, node_commit, .id = n) */
#define CMD(upper, lower, ...) ((struct command){.kind = COMMAND_##upper, .lower = {__VA_ARGS__}})

/* Execute a command until it is done or refused, answering its veto requests. */
void world_step(struct world *w, struct command command);
/* The command must be done; returns the id of the outcome. */
#define DONE(w, command) world_done((w), (command), HERE)
int64_t world_done(struct world *w, struct command command, struct where where);
/* The command must be refused with that code (NONE = any) and field (NULL = any), without a change
 * of the digest and without effects; returns the text. */
#define REFUSED(w, command, CODE, field)                                                           \
    world_refused((w), (command), PROBLEM_##CODE, (field), HERE)
const char *world_refused(struct world *w, struct command command, enum problem_code code,
                          const char *field, struct where where);
/* The problems of the last step as one string. */
const char *world_trouble(struct world *w);

/* ---- expectations and reads ---- */

#define IS(w, noderole, state) world_is((w), (noderole), (state), HERE)
void world_is(struct world *w, const char *noderole, const char *state, struct where where);
/* Compare the story since the last comparison or world_clear_effects(), and clear it. */
#define EXPECT_EFFECTS(w, story) world_expect_effects((w), (story), HERE)
void world_expect_effects(struct world *w, const char *story, struct where where);
void world_clear_effects(struct world *w);
/* Two C strings are equal. */
#define EXPECT_STR(seen, wanted) world_expect_str((seen), (wanted), HERE)
void world_expect_str(const char *seen, const char *wanted, struct where where);
#define HAS(text, part) world_has((text), (part), HERE)
void world_has(const char *text, const char *part, struct where where);

/* Ids by name; the object must exist. */
int64_t the_node(struct world *w, const char *name);
int64_t the_role(struct world *w, const char *name);
int64_t the_attrib(struct world *w, const char *name);
int64_t the_deployment(struct world *w, const char *name);
int64_t the_noderole(struct world *w, const char *name);
int64_t the_deployment_role(struct world *w, const char *role, const char *deployment);
/* 0 = not bound. */
int64_t world_bound(struct world *w, const char *noderole);

struct node_record read_node(struct world *w, const char *name);
struct role_record read_role(struct world *w, const char *name);
struct attrib_record read_attrib(struct world *w, const char *name);
struct noderole_record read_noderole(struct world *w, const char *name);
struct deployment_role_record read_deployment_role(struct world *w, const char *role,
                                                   const char *deployment);
struct snapshot_record read_head(struct world *w, const char *deployment);
struct snapshot_record read_snapshot(struct world *w, int64_t id);

/* JSON with single quotes; an empty document is "{}". */
const char *shown(struct world *w, struct str json);
/* The staged data of this noderole at that path; "absent" if missing. */
const char *world_staged(struct world *w, const char *noderole, const char *path);
/* The value of a document at that path; "absent" if missing. */
const char *world_path(struct world *w, struct str json, const char *path);
const char *world_value(struct world *w, enum table table, int64_t id, const char *attrib,
                        enum data_view view);

bool world_has_edge(struct world *w, const char *parent, const char *child);
bool world_has_link(struct world *w, const char *parent, const char *child, const char *attrib);
/* Number of runs of a noderole in any state; NULL: of all noderoles. */
uint32_t world_runs(struct world *w, const char *noderole);
/* The run of a noderole in that state; 0 = none. */
int64_t world_run(struct world *w, const char *noderole, enum run_state state);
/* The newest start of a noderole; NULL = never started. */
const struct start *world_start(struct world *w, const char *noderole);

/* ---- objects and commands ---- */

/* Convert JSON with single quotes to JSON. */
struct str world_json(struct world *w, const char *quoted);
struct command cmd_import(struct world *w, const char *quoted);
/* The document that is imported. There are two implementations, so that cases can be run with
 * either: import_json.c returns it unchanged, import_yaml.c writes it to disk as YAML and reads it
 * with the reader of the daemon. */
struct str world_document(struct world *w, struct str json);
/* A barclamp with one role: jig script unless `rest` contains another one. `rest` is further
 * members, as in "'requires':['a'],'flags':['implicit']". */
struct command cmd_role(struct world *w, const char *name, const char *rest);
int64_t world_role(struct world *w, const char *name, const char *rest);
/* A barclamp with one attrib of nodes; `rest` as above. */
int64_t world_node_attrib(struct world *w, const char *name, const char *rest);
/* A node that is alive and available, in that deployment (NULL = system). */
int64_t world_node(struct world *w, const char *name, const char *deployment);
struct command cmd_node(struct world *w, const char *name);
/* A deployment below system with a proposed head, or committed while it is empty. */
int64_t world_deployment(struct world *w, const char *name);
int64_t world_committed_deployment(struct world *w, const char *name);

struct command cmd_bind(struct world *w, const char *noderole, const char *deployment);
struct command cmd_commit(struct world *w, const char *noderole);
struct command cmd_propose(struct world *w, const char *noderole);
struct command cmd_retry(struct world *w, const char *noderole);
struct command cmd_enqueue(struct world *w, const char *noderole);
struct command cmd_set(struct world *w, enum table target, int64_t id, const char *attrib,
                       enum bucket bucket, const char *quoted_value);

/* Bind in the system deployment, or in that deployment. */
int64_t world_bind(struct world *w, const char *noderole);
int64_t world_bind_in(struct world *w, const char *noderole, const char *deployment);
void world_commit(struct world *w, const char *noderole);
void world_commit_deployment(struct world *w, const char *deployment);
void world_alive(struct world *w, const char *node, bool alive);
void world_available(struct world *w, const char *node, bool available);
/* Bring a PROPOSED noderole with ACTIVE parents to that state. "todo" sets its node to not
 * available, so that it stays in TODO. */
void world_bring(struct world *w, const char *noderole, const char *state);

/* ---- annealing, results ---- */

/* Execute COMMAND_ANNEAL while the core has work. */
void world_anneal(struct world *w);
/* Every outbox row (hook, power, probe) succeeds, in order. */
void world_deliver(struct world *w);
/* Anneal, deliver and end every run with success, until the core is idle. */
void world_run_all(struct world *w);
/* The running run of that noderole ends with that result. */
void world_finish(struct world *w, const char *noderole, enum run_result result);
void world_finish_with(struct world *w, const char *noderole, struct run_done_command with);
/* The result of one outbox row, described as in the story. */
void world_answer(struct world *w, const char *line, bool failed, struct str wishes);
/* The id of the outbox row with that description; 0 = there is none. */
int64_t world_waiting(struct world *w, const char *line);

/* ---- store ---- */

/* Store the changes since the last call, as a batch of one turn. */
void world_collect(struct world *w);
/* Restart: collect, and replace the core by one that is loaded from the store. */
void world_reload(struct world *w);
/* The same after `halligand restore` or `import`: GRANT_VOID_RESTORED, GRANT_VOID_IMPORTED. */
void world_restore(struct world *w, enum grant_void how);
/* The content of snapshot `seq`. */
struct str world_snapshot(struct world *w, const char *deployment, int64_t seq);
