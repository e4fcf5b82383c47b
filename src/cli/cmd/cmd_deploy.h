/* cmd_deploy.h - the verbs that set something going: bind, commit, retry, move, power, revert, and
 * the attribs that the work goes by.
 */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_deploy_bind(struct cli_request *e);      /* NODE ROLE... */
enum cli_exit cmd_deploy_bind_role(struct cli_request *e); /* DEPLOYMENT ROLE... */
enum cli_exit cmd_deploy_commit(struct cli_request *e);
enum cli_exit cmd_deploy_propose(struct cli_request *e);
enum cli_exit cmd_deploy_retry_all(
    struct cli_request *e); /* what is in error on a node or in a deployment */
enum cli_exit cmd_deploy_move(struct cli_request *e);
enum cli_exit cmd_deploy_power(struct cli_request *e);
enum cli_exit cmd_deploy_perform(struct cli_request *e);
enum cli_exit cmd_deploy_revert(struct cli_request *e);

enum cli_exit cmd_deploy_get(struct cli_request *e); /* attribs of an object */
enum cli_exit cmd_deploy_set(struct cli_request *e);
