/* installation_faults.h - faults of the installation for replies to `why`: of store, supervisor and
 * clock, and of power actions that wait for a retry. `self` is the struct wiring. */
#pragma once

#include "api/call/api.h"

uint32_t installation_faults_find(void *self, struct arena *arena, struct api_fault *out_faults);
bool installation_faults_power_retry(void *self, int64_t node_id, struct arena *arena,
                                     struct reason *out_reason);
