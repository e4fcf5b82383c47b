/* recipe_private.h - what the jigs of this room share.
 *
 * A jig is one entry of the table in recipe.c: how its archive is made, and what its end means.
 */
#pragma once

#include "base/json.h"
#include "jig/archive.h"
#include "jig/recipe.h"

struct jig_recipe {
    const char *name; /* of the class */
    err (*prepare)(const struct jig_work *w, struct arena *a, struct recipe *r,
                   struct str *out_why);
    /* It ended by itself, with that status, and the result channel is whole. Says what came of it
     * in `done`, whose result is RESULT_FAILED, and returns a sentence; empty: there is nothing to
     * say. */
    struct str (*conclude)(const struct jig_work *w, const struct jig_end *end, struct arena *a,
                           struct run_done_command *done);
};

extern const struct jig_recipe jig_script, jig_puppet, jig_ansible;

__attribute__((format(printf, 2, 3))) struct str recipe_say(struct arena *a, const char *format,
                                                            ...);
/* *out_why, and ERR_REFUSED. */
__attribute__((format(printf, 3, 4))) NODISCARD err recipe_refuse(struct arena *a,
                                                                  struct str *out_why,
                                                                  const char *format, ...);

/* "SOURCE is gone", or ERR_NOT_FOUND when it is there and something in it is missing. */
NODISCARD err recipe_missing(const struct jig_work *w, struct arena *a, struct str *out_why);

/* A recipe for work that is done where the node is: there, the archive is unpacked and run.sh in it
 * is started with the directory and the node's name. Adds what every such archive has. */
NODISCARD err recipe_on_node(const struct jig_work *w, struct arena *a, struct archive *archive,
                             struct recipe *r, struct str *out_why);
/* The environment, with up to `more_count` further entries. */
void recipe_set_env(const struct jig_work *w, struct arena *a, struct recipe *r,
                    const struct str *more, uint32_t more_count);

/* Takes a wall when it is one the engine can hold. What is wrong with it; empty: nothing. */
struct str recipe_set_wall(struct arena *a, const struct json *wall, struct run_done_command *done);
