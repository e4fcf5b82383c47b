#include "tests/unit/core/network_world.h"
