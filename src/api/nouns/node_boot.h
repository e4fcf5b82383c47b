/* node_boot.h - what the machine of a node boots, and what is known about it. */
#pragma once

#include "api/call/call.h"

/* GET nodes/:id/boot */
enum handler_result serve_node_boot(struct call *call);
/* GET nodes/:id/bootstate */
enum handler_result serve_node_bootstate(struct call *call);
/* GET nodes/:id/boots */
enum handler_result serve_node_boots(struct call *call);
/* GET node_roles/:id/boot_due */
enum handler_result serve_noderole_boot_due(struct call *call);

/* The entry of the machine in the boot view (docs/spec/boot.md). False: it has none, and *out_why
 * is a sentence about the machine. */
bool node_boot_entry(struct call *call, int64_t node_id, struct boot_entry *out_entry,
                     struct str *out_why);
