/* launch_spec_private.h - functions that the jigs share.
 *
 * A jig is one entry of the table in launch_spec.c: how its archive is created, and what its end
 * means. */
#pragma once

#include "base/json/json.h"
#include "run/jig/archive.h"
#include "run/jig/launch_spec.h"

struct jig_launch_spec {
    const char *name; /* name of the jig class */
    err (*prepare)(const struct jig_work *w, struct arena *a, struct launch_spec *r,
                   struct reason *out_why);
    /* The process exited with this status, and the result channel is complete. Stores the result in
     * `done`, whose result is RESULT_FAILED initially, and returns the reason of a failure;
     * REASON_NONE: success. */
    struct reason (*conclude)(const struct jig_work *w, const struct jig_end *end, struct arena *a,
                              struct run_done_command *done);
};

extern const struct jig_launch_spec jig_script, jig_puppet, jig_ansible;

__attribute__((format(printf, 2, 3))) struct str launch_spec_format(struct arena *a,
                                                                    const char *format, ...);
/* Sets the text of *out_why and returns ERR_REFUSED. */
__attribute__((format(printf, 3, 4))) NODISCARD err launch_spec_refuse(struct arena *a,
                                                                       struct reason *out_why,
                                                                       const char *format, ...);

/* The name of the role in the paths of its files. */
struct str launch_spec_files_name(const struct jig_work *w);
/* ERR_REFUSED if the directory of the barclamp does not exist; ERR_NOT_FOUND if it exists. */
NODISCARD err launch_spec_missing(const struct jig_work *w, struct arena *a,
                                  struct reason *out_why);

/* A launch specification for work on the node: the archive is unpacked there, and run.sh in it is
 * started with the directory and the name of the node. Adds the files that every such archive has.
 */
NODISCARD err launch_spec_on_node(const struct jig_work *w, struct arena *a,
                                  struct archive *archive, struct launch_spec *r,
                                  struct reason *out_why);
/* Sets the environment, with `more_count` additional entries. */
void launch_spec_set_env(const struct jig_work *w, struct arena *a, struct launch_spec *r,
                         const struct str *more, uint32_t more_count);

/* Refusal for a role whose files do not fit into an archive; ERR_REFUSED. */
NODISCARD err launch_spec_too_much(const struct jig_work *w, struct arena *a,
                                   struct reason *out_why);
/* A reason with a sentence. */
__attribute__((format(printf, 4, 5))) struct reason launch_spec_reason(struct arena *a,
                                                                       enum reason_code code,
                                                                       struct str subject,
                                                                       const char *format, ...);
/* The resource that the machine lacked at the end of a failed run, as measured there (measure.sh).
 * False: none. `what` begins the sentence: "a script of role x". */
bool launch_spec_lack(const struct jig_work *w, const struct jig_end *end, struct arena *a,
                      struct str what, struct reason *out_why);
/* The reason for an exit status: a measured shortage, or the status. */
struct reason launch_spec_status(const struct jig_work *w, const struct jig_end *end,
                                 struct arena *a, struct str what);
/* Store the wall data if it is within the limits. Returns the reason otherwise; REASON_NONE:
 * stored. */
struct reason launch_spec_set_wall(struct arena *a, const struct json *wall,
                                   struct run_done_command *done);
