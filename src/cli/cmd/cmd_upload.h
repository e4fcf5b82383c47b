/* cmd_upload.h - the verb upload, which imports barclamp files into a daemon. */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_upload_barclamps(struct cli_request *req); /* FILE... */
