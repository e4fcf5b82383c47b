/* grants.h - which machine may start its installer (ADR 0089), inside the core.
 *
 * grants.c owns the fields of a node that this header is about, and the deadlines of installers.
 * The functions are called where what they depend on changes: the environment of a node, the state
 * of a noderole, the time.
 */
#pragma once

#include "core/core_private.h"
#include "model/grant.h"

/* A parked run of the noderole sets the environment that the node has, an installer, and the node
 * has no grant, or a void one. */
bool grant_is_needed(const struct core *c, node_ix n, noderole_ix by);
/* Its installer may start and has not. */
bool grant_is_unused(const struct core *c, node_ix n);
/* "none", "unused", "used", "void" */
struct str grant_state_text(const struct core *c, node_ix n);
/* A boot generation was opened. by: see node_set_bootenv(). */
void grant_follow_environment(struct core *c, node_ix n, noderole_ix by);
/* The noderole was proposed, failed or is deleted: its grant becomes void. */
void grant_noderole_changed(struct core *c, noderole_ix nr, enum grant_void why);
void grant_forget_node(struct core *c, node_ix n);
/* Refuse a generation that no stamp can have. */
void grant_check_stamp(struct core *c, int64_t stamp);
void grant_report_stamp(struct core *c, node_ix n, int64_t stamp);
void grants_tick(struct core *c);
int64_t grants_next_deadline(const struct core *c); /* mono_ms; -1 = none */
void grants_restart_timers(struct core *c);         /* the setting install_wait_s changed */
void grants_load(struct core *c);
const char *grants_check(const struct core *c);
/* An update sets this environment for the parked run of the noderole. True if the noderole was
 * committed before the store was restored or imported: it fails, and nothing is to be set. */
bool grant_fail_barred(struct core *c, noderole_ix nr, struct str bootenv);
/* True if its role is destructive and it was committed before the store was restored or imported:
 * no run of it may start. */
bool grant_bars_destruction(const struct core *c, noderole_ix nr);
/* If so, it fails. Returns whether it does. */
bool grant_fail_destruction(struct core *c, noderole_ix nr);
/* True for a reason of the status of a node that is about its installer and not about its power; it
 * ends with the boot generation. */
bool grant_has_reason(uint32_t reason);
/* What keeps the machine from being installed, as one cause without its `next`; `is_brief`: without
 * its text. False if nothing is known, also while its installer may start or runs. */
bool grant_why(const struct core *c, node_ix n, bool is_brief, struct arena *a,
               struct cause *out_cause);
/* A disk has the stamp of a later installation: open a boot generation above it (node.c). */
void node_pass_stamp(struct core *c, node_ix n);
