/* cmd_redeploy.h - beginning anew with machines, which may cost what is on their disks.
 *
 * So it is said first what would be lost, and somebody has to agree: at the terminal, or by --yes.
 */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_redeploy_confirm(struct cli_request *e);
