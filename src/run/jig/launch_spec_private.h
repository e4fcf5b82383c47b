/* launch_spec_private.h - what the jigs of this room share.
 *
 * A jig is one entry of the table in launch_spec.c: how its archive is made, and what its end
 * means.
 */
#pragma once

#include "base/json/json.h"
#include "run/jig/archive.h"
#include "run/jig/launch_spec.h"

struct jig_launch_spec {
    const char *name; /* of the class */
    err (*prepare)(const struct jig_work *w, struct arena *a, struct launch_spec *r,
                   struct reason *out_why);
    /* It ended by itself, with that status, and the result channel is whole. Says what came of it
     * in `done`, whose result is RESULT_FAILED, and returns why it failed; REASON_NONE: it did
     * not. */
    struct reason (*conclude)(const struct jig_work *w, const struct jig_end *end, struct arena *a,
                              struct run_done_command *done);
};

extern const struct jig_launch_spec jig_script, jig_puppet, jig_ansible;

__attribute__((format(printf, 2, 3))) struct str launch_spec_say(struct arena *a,
                                                                 const char *format, ...);
/* *out_why, and ERR_REFUSED. */
__attribute__((format(printf, 3, 4))) NODISCARD err launch_spec_refuse(struct arena *a,
                                                                       struct reason *out_why,
                                                                       const char *format, ...);

/* "SOURCE is gone", or ERR_NOT_FOUND when it is there and something in it is missing. */
NODISCARD err launch_spec_missing(const struct jig_work *w, struct arena *a,
                                  struct reason *out_why);

/* A recipe for work that is done where the node is: there, the archive is unpacked and run.sh in it
 * is started with the directory and the node's name. Adds what every such archive has. */
NODISCARD err launch_spec_on_node(const struct jig_work *w, struct arena *a,
                                  struct archive *archive, struct launch_spec *r,
                                  struct reason *out_why);
/* The environment, with up to `more_count` further entries. */
void launch_spec_set_env(const struct jig_work *w, struct arena *a, struct launch_spec *r,
                         const struct str *more, uint32_t more_count);

/* All that the role sends does not fit into an archive; ERR_REFUSED. */
NODISCARD err launch_spec_too_much(const struct jig_work *w, struct arena *a,
                                   struct reason *out_why);
/* A reason with a sentence. */
__attribute__((format(printf, 4, 5))) struct reason launch_spec_reason(struct arena *a,
                                                                       enum reason_code code,
                                                                       struct str subject,
                                                                       const char *format, ...);
/* What the machine lacked at the end of a run that failed, as measured there (measure.sh). False:
 * nothing. `what` begins the sentence: "a script of role x". */
bool launch_spec_lack(const struct jig_work *w, const struct jig_end *end, struct arena *a,
                      struct str what, struct reason *out_why);
/* A program ended with that status: what the machine lacked, or the status. */
struct reason launch_spec_status(const struct jig_work *w, const struct jig_end *end,
                                 struct arena *a, struct str what);
/* Takes a wall when it is one the engine can hold. What is wrong with it; REASON_NONE: nothing. */
struct reason launch_spec_set_wall(struct arena *a, const struct json *wall,
                                   struct run_done_command *done);
