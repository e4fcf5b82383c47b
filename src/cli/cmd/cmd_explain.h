/* cmd_explain.h - the verbs that explain: plan, diff, log, inventory. */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_explain_plan(struct cli_request *e);
enum cli_exit cmd_explain_diff(struct cli_request *e); /* SNAPSHOT SNAPSHOT */
enum cli_exit cmd_explain_deployment_diff(
    struct cli_request *e); /* DEPLOYMENT [SNAPSHOT [SNAPSHOT]] */
enum cli_exit cmd_explain_inventory(struct cli_request *e);

/* "web on n1: web/workers 8 -> 16" of an entry of the list `unproposed`. */
void cmd_explain_put_unproposed(struct buf *b, const struct json *entry);

/* What stands for DEPLOYMENT/NUMBER among snapshots, NODE/ROLE among noderoles, DEPLOYMENT/ROLE
 * among the roles of deployments. */
int64_t cmd_explain_find_snapshot(struct cli_request *e, const char *deployment, const char *number,
                                  enum cli_exit *out_status);
int64_t cmd_explain_find_noderole(struct cli_request *e, const char *node, const char *role,
                                  enum cli_exit *out_status);
int64_t cmd_explain_find_deployment_role(struct cli_request *e, const char *deployment,
                                         const char *role, enum cli_exit *out_status);
