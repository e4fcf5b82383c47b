/* cmd_boot.h - verbs about boot servers and what they answered machines. */
#pragma once

#include "cli/cmd/request.h"

/* Print the boot servers of the admin nodes. */
enum cli_exit cmd_boot_status(struct cli_request *req);
/* Print the last events of the boots of a node. */
enum cli_exit cmd_boot_events(struct cli_request *req);
