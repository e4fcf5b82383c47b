/* cmd_redeploy.h - the verb redeploy, which installs nodes again and may destroy data on their
 * disks.
 *
 * The roles that would destroy data are listed first, and the operator must agree on the terminal
 * or with --yes.
 */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_redeploy_confirm(struct cli_request *req);
