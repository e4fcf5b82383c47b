/* barclamp.h - `halligan barclamp`: content on the disk. Needs no daemon. */
#pragma once

#include "cli/noun.h"

extern const struct cli_noun barclamp_noun;
