/* test_machines.h - discovery data of simulated machines, from the files of the barclamp "test". */
#pragma once

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

struct core;

/* SOURCE_PATH/discovery/NAME.json of the barclamp "test", with a random MAC address instead of
 * 00:00:00:00:00:00. Without that file or barclamp, "node_discovery" is a built-in document.
 * `source` must be a plain word without slashes. ERR_NOT_FOUND: no document of that name. */
NODISCARD err test_machine_discovery(const struct core *core, struct str source, struct arena *a,
                                     struct str *out_text);
