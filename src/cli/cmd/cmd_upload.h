/* cmd_upload.h - barclamps on their way into a daemon. */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_upload_barclamps(struct cli_request *e); /* FILE... */
