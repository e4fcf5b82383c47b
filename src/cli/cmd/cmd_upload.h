/* cmd_upload.h - barclamps on their way into a daemon. */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit upload_barclamps(struct errand *e); /* FILE... */
