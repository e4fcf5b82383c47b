/* boot_service.h - the noderoles that serve boots, and what they have not served, in the core.
 *
 * As core_private.h: only files of src/core include it. boot_service.c explains the terms.
 */
#pragma once

#include "core/core_private.h"

/* How the noderoles of a role serve boots (role.boot_service). */
enum boot_service {
    BOOT_SERVICE_NONE,
    BOOT_SERVICE_NATIVE,   /* the boot server on their node, which the daemon sends the boot view */
    BOOT_SERVICE_PUBLISHED /* their runs publish the changed machines */
};

/* ---- boot_service.c ---- */

/* Rebuild the list of roles that serve boots after roles or settings changed. */
void boot_service_index(struct core *c);
/* True if the noderole publishes boots and is committed. */
bool boot_service_is_published(const struct core *c, noderole_ix nr);
/* What waits for boots must be evaluated at the end of the step: something was served, or a
 * noderole that serves boots entered another state or is deleted. */
void boot_service_changed(struct core *c);
void boot_service_noderole_changed(struct core *c, noderole_ix nr);

/* The noderoles that have not served what a node boots: the one with the lowest id, and the one in
 * ERROR with the lowest id. Both are none if all have served it. */
struct boot_late {
    noderole_ix first, failed;
};
/* but_native: without those of boot servers, for plans: acknowledgements are not rows, and a plan
 * must not depend on them. */
struct boot_late boot_service_late(const struct core *c, node_ix n, bool but_native);
/* "dhcp-database on admin.x has not served boot generation 7"; empty if all have. */
struct str boot_service_problem(const struct core *c, node_ix n, struct boot_late late,
                                struct arena *a);

/* Whether the noderole has served the node, and what is known about that. */
struct boot_serving boot_service_describe(const struct core *c, noderole_ix nr, node_ix n);

/* The same if the machine is not served unless an operator does something; else empty. */
struct str boot_service_failure(const struct core *c, node_ix n, struct arena *a);

/* The next committed noderole that serves boots after this one, by role, then in the order of the
 * deployments; none at the end. Begin with a cursor of zeros. */
struct boot_service_cursor {
    uint32_t role, dr, noderole;
};
noderole_ix boot_service_next(const struct core *c, struct boot_service_cursor *at);

/* Installers: on_node_change is called for a run that set an installing environment when that is
 * served, and when a noderole that must serve it fails. */
void boot_service_watch(struct core *c, node_ix n);
void boot_service_unwatch(struct core *c, node_ix n);
void boot_service_entry_changed(struct core *c, int64_t node_id);
void boot_service_call_installers(struct core *c);
void boot_service_load(struct core *c);
const char *boot_service_check(const struct core *c);

/* ---- boot_due.c: noderoles that publish boots ---- */

/* The entry of a machine changed, or a row of a node that had one is gone. */
void boot_due_note(struct core *c, int64_t node_id);
/* At the end of a step: rows for the noted nodes, and runs for the noderoles that have some. */
void boot_due_settle(struct core *c);
/* True if the noderole has not published the current entry of the node. */
bool boot_due_has(const struct core *c, noderole_ix nr, int64_t node_id);

/* The members of `out` about a noderole that publishes boots. */
void boot_due_describe(const struct core *c, noderole_ix nr, int64_t node_id,
                       struct boot_serving *out);

/* What a run publishes. */
struct boot_portion {
    struct json *tree; /* member `boot` of the staged data */
    int64_t from, to;  /* all nodes with from < id <= to */
    int64_t last;      /* and of the changed ones up to this one */
};
struct boot_portion boot_due_stage(const struct core *c, noderole_ix nr, struct arena *a);
/* The attempt that got this part has begun, or has succeeded. */
void boot_due_begin(struct core *c, noderole_ix nr, const struct boot_portion *part);
void boot_due_end(struct core *c, noderole_ix nr, uint32_t attempt);
/* Start over: the noderole was proposed or is deleted, or its role publishes no boots any more. */
void boot_due_forget(struct core *c, noderole_ix nr);
/* Request the runs of noderoles that have something to publish and no run. */
void boot_due_review(struct core *c);
/* An enqueued run of the noderole was removed: if it has something to publish, the next anneal
 * requests another one. */
void boot_due_run_dropped(struct core *c, noderole_ix nr);
bool boot_due_can_load(const struct core *c, const struct boot_due_record *r);
void boot_due_index(struct core *c, boot_due_ix ix);
const char *boot_due_check(const struct core *c);

/* ---- boot_stage.c ---- */

/* The staged data of a run with the member `boot`; `staged` itself if it gets none. *out_part is
 * set if the run publishes boots. */
struct str boot_stage_run(const struct core *c, noderole_ix nr, struct str staged, struct arena *a,
                          struct boot_portion *out_part);

/* ---- boot_servers.c: boot servers on admin nodes ---- */

/* True if the boot server of the noderole's node has the current entry of this node. */
bool boot_servers_have(const struct core *c, noderole_ix nr, node_ix n);
void boot_servers_describe(const struct core *c, noderole_ix nr, struct boot_serving *out);
/* At the end of a batch: remember which machines it changed, for the history of runs. */
void boot_servers_collect(struct core *c, int64_t turn);
void boot_servers_tick(struct core *c);
int64_t boot_servers_next_deadline(const struct core *c); /* mono_ms; -1 = none */
void boot_servers_forget_node(struct core *c, node_ix n);
