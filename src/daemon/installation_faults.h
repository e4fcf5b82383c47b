/* installation_faults.h - what the daemon knows is wrong, for those who ask why: parts of the
 * installation, and power actions between two tries. `self` is the struct wiring. */
#pragma once

#include "api/call/api.h"

uint32_t installation_faults_find(void *self, struct arena *arena, struct api_fault *out_faults);
bool installation_faults_power_retry(void *self, int64_t node_id, struct arena *arena,
                                     struct reason *out_reason);
