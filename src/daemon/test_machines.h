/* test_machines.h - files that pretend machines, as they lie in the barclamp of the test roles. */
#pragma once

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

struct core;

/* SOURCE_PATH/discovery/NAME.json of barclamp "test", with a random hardware address in the place
 * of 00:00:00:00:00:00. Without that file or barclamp "node_discovery" is a small machine that is
 * built in. `source` must be a plain word. ERR_NOT_FOUND: there is none of that name. */
NODISCARD err test_machine_discovery(const struct core *core, struct str source, struct arena *a,
                                     struct str *out_text);
