/* world.h - a small installation for tests that speak the language of the specification.
 *
 * It owns one core, stands in for everything around it (operators, runners, hooks, a store, the
 * clock), and remembers what the core asked of the world as a story: "on_transition a@n1; start
 * a@n1; cancel a@n1". A noderole is written "role@node", a node by its first label. JSON is
 * written with single quotes, and shown that way.
 *
 * Every step is followed by core_check() and by a look at the runs (one per node). At the end the
 * core is saved, loaded into a second one, and the two must be equal. A refusal must say what is
 * wrong and leave the digest as it was.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json/json.h"
#include "base/text/buf.h"
#include "core/core.h"
#include "tests/check.h"

#define SYSTEM 1 /* the system deployment */

/* A run the core asked for. */
struct start {
    int64_t run;
    int64_t noderole;
    uint32_t attempt;
    struct str jig;
    struct str data;
    struct start *earlier;
};

struct world;

/* Who takes the steps, when the world does not take them itself (live.h). */
struct world_engine {
    void *self;
    void (*step)(void *self, struct command command);
};

struct world {
    struct core *core;
    struct arena arena; /* everything a test ever looked at */
    struct effects fx;  /* of the last step */
    struct outcome out; /* of the last step */
    int64_t now_ms;
    bool keeps_probes;     /* nodes that are made alive are asked, and the test answers */
    int64_t wall_ahead_ms; /* of the wall clock, against now_ms */
    int64_t turn;
    struct buf story;
    int64_t outbox_seen;
    struct start *starts; /* newest first */
    const char *veto;     /* hook that says no to every question; NULL = none */
    const char *held;     /* hook whose rows world_deliver leaves lying; NULL = none */
    uint32_t barclamps;
    struct world_engine engine;
    const char *unread;  /* why the barclamp imported last could not be read; NULL = it was */
    struct record *kept; /* what a store would hold */
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

/* Step until it is done or refused; questions to hooks are answered on the way. */
void world_step(struct world *w, struct command command);
/* It must be done; returns the id of the outcome. */
#define DONE(w, command) world_done((w), (command), HERE)
int64_t world_done(struct world *w, struct command command, struct where where);
/* It must be refused with that code (NONE = whichever) and field (NULL = whichever), and leave
 * nothing behind; returns the text. */
#define REFUSED(w, command, CODE, field)                                                           \
    world_refused((w), (command), PROBLEM_##CODE, (field), HERE)
const char *world_refused(struct world *w, struct command command, enum problem_code code,
                          const char *field, struct where where);
/* Why the last step was not done. */
const char *world_trouble(struct world *w);

/* ---- looking ---- */

#define IS(w, noderole, state) world_is((w), (noderole), (state), HERE)
void world_is(struct world *w, const char *noderole, const char *state, struct where where);
/* The whole story since it was last looked at or forgotten. */
#define HEARD(w, story) world_heard((w), (story), HERE)
void world_heard(struct world *w, const char *story, struct where where);
void world_forget(struct world *w);
/* Two zero-terminated texts are the same. */
#define SAYS(seen, wanted) world_says((seen), (wanted), HERE)
void world_says(const char *seen, const char *wanted, struct where where);
#define HAS(text, part) world_has((text), (part), HERE)
void world_has(const char *text, const char *part, struct where where);

/* Ids by name; the thing must exist. */
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

/* JSON text as the tests write it; an empty document is "{}". */
const char *shown(struct world *w, struct str json);
/* What a run of this noderole would be given at that path; "absent" when it is not there. */
const char *world_staged(struct world *w, const char *noderole, const char *path);
/* The same in a document. */
const char *world_path(struct world *w, struct str json, const char *path);
const char *world_value(struct world *w, enum table table, int64_t id, const char *attrib,
                        enum view view);

bool world_has_edge(struct world *w, const char *parent, const char *child);
bool world_has_link(struct world *w, const char *parent, const char *child, const char *attrib);
/* Runs of a noderole in any state; of all when NULL. */
uint32_t world_runs(struct world *w, const char *noderole);
/* The run of a noderole in that state; 0 = none. */
int64_t world_run(struct world *w, const char *noderole, enum run_state state);
/* The newest start of a noderole; NULL = never. */
const struct start *world_start(struct world *w, const char *noderole);

/* ---- making ---- */

/* JSON with single quotes into JSON. */
struct str world_json(struct world *w, const char *quoted);
struct command cmd_import(struct world *w, const char *quoted);
/* What is imported for such a document. There are two of this: import_json.c takes it as it is,
 * import_yaml.c writes it to the disk as YAML and has it read, so that cases can be run with
 * either. */
struct str world_document(struct world *w, struct str json);
/* A barclamp with one role: jig script unless `rest` names another. `rest` is further members,
 * as in "'requires':['a'],'flags':['implicit']". */
struct command cmd_role(struct world *w, const char *name, const char *rest);
int64_t world_role(struct world *w, const char *name, const char *rest);
/* A barclamp with one attrib of nodes; `rest` as above. */
int64_t world_node_attrib(struct world *w, const char *name, const char *rest);
/* Alive and available, in that deployment (NULL = system). */
int64_t world_node(struct world *w, const char *name, const char *deployment);
struct command cmd_node(struct world *w, const char *name);
/* A child of system with a proposed head, or one committed while empty. */
int64_t world_deployment(struct world *w, const char *name);
int64_t world_committed_deployment(struct world *w, const char *name);

struct command cmd_bind(struct world *w, const char *noderole, const char *deployment);
struct command cmd_commit(struct world *w, const char *noderole);
struct command cmd_propose(struct world *w, const char *noderole);
struct command cmd_retry(struct world *w, const char *noderole);
struct command cmd_enqueue(struct world *w, const char *noderole);
struct command cmd_set(struct world *w, enum table target, int64_t id, const char *attrib,
                       enum bucket bucket, const char *quoted_value);

/* In system; or in that deployment. */
int64_t world_bind(struct world *w, const char *noderole);
int64_t world_bind_in(struct world *w, const char *noderole, const char *deployment);
void world_commit(struct world *w, const char *noderole);
void world_commit_deployment(struct world *w, const char *deployment);
void world_alive(struct world *w, const char *node, bool alive);
void world_available(struct world *w, const char *node, bool available);
/* From PROPOSED, with every parent ACTIVE, to that state. "todo" takes the node's availability
 * away, so that it stays there. */
void world_bring(struct world *w, const char *noderole, const char *state);

/* ---- going on ---- */

/* COMMAND_ANNEAL while there is work. */
void world_anneal(struct world *w);
/* Every hook, power and probe row succeeds, in order. */
void world_deliver(struct world *w);
/* Anneal, deliver, finish every run well, until nothing moves. */
void world_run_all(struct world *w);
/* The running run of that noderole ends so. */
void world_finish(struct world *w, const char *noderole, enum run_result result);
void world_finish_with(struct world *w, const char *noderole, struct run_done_command with);
/* The answer to one outbox row, named as the story names it. */
void world_answer(struct world *w, const char *line, bool failed, struct str wishes);
/* The outbox row of that line; 0 = none waits. */
int64_t world_waiting(struct world *w, const char *line);

/* ---- saving ---- */

void world_collect(struct world *w);
/* The process dies and comes back: a new core from what was saved. */
void world_reload(struct world *w);
/* What snapshot `seq` held. */
struct str world_snapshot(struct world *w, const char *deployment, int64_t seq);
