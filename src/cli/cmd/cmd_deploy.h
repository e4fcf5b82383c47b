/* cmd_deploy.h - the verbs bind, commit, propose, retry, move, power, perform, revert, and get and
 * set for values of attribs.
 */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_deploy_bind(struct cli_request *req);      /* NODE ROLE... */
enum cli_exit cmd_deploy_bind_role(struct cli_request *req); /* DEPLOYMENT ROLE... */
enum cli_exit cmd_deploy_commit(struct cli_request *req);
enum cli_exit cmd_deploy_propose(struct cli_request *req);
/* Retry every noderole in error of a node or deployment. */
enum cli_exit cmd_deploy_retry_all(struct cli_request *req);
enum cli_exit cmd_deploy_move(struct cli_request *req);
enum cli_exit cmd_deploy_power(struct cli_request *req);
enum cli_exit cmd_deploy_perform(struct cli_request *req);
enum cli_exit cmd_deploy_revert(struct cli_request *req);

enum cli_exit cmd_deploy_get(struct cli_request *req); /* values of attribs of an object */
enum cli_exit cmd_deploy_set(struct cli_request *req);
