/* cmd_deploy.h - the verbs that set something going: bind, commit, retry, move, power, revert, and
 * the attribs that the work goes by.
 */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit work_bind(struct errand *e);      /* NODE ROLE... */
enum cli_exit work_bind_role(struct errand *e); /* DEPLOYMENT ROLE... */
enum cli_exit work_commit(struct errand *e);
enum cli_exit work_propose(struct errand *e);
enum cli_exit work_retry_all(struct errand *e); /* what is in error on a node or in a deployment */
enum cli_exit work_move(struct errand *e);
enum cli_exit work_power(struct errand *e);
enum cli_exit work_perform(struct errand *e);
enum cli_exit work_revert(struct errand *e);

enum cli_exit work_get(struct errand *e); /* attribs of an object */
enum cli_exit work_set(struct errand *e);
