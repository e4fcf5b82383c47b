/* probes.h - what a supervisor asks, without credentials: do you live, can you work? */
#pragma once

#include "api/call.h"

enum served serve_healthz(struct call *call);
enum served serve_readyz(struct call *call);
