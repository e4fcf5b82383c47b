/* cmd_explain.h - the verbs plan, diff and inventory, and the lookup of objects that are named by
 * two other objects. */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_explain_plan(struct cli_request *req);
enum cli_exit cmd_explain_diff(struct cli_request *req); /* SNAPSHOT SNAPSHOT */
enum cli_exit cmd_explain_deployment_diff(
    struct cli_request *req); /* DEPLOYMENT [SNAPSHOT [SNAPSHOT]] */
enum cli_exit cmd_explain_inventory(struct cli_request *req);

/* Write an entry of the list `unproposed`: "web on n1: web/workers 8 -> 16". */
void cmd_explain_put_unproposed(struct buf *b, const struct json *entry);

/* The id of the snapshot DEPLOYMENT/NUMBER, the noderole NODE/ROLE, the deployment role
 * DEPLOYMENT/ROLE; find_pair of struct cli_noun. */
int64_t cmd_explain_find_snapshot(struct cli_request *req, const char *deployment,
                                  const char *number, enum cli_exit *out_status);
int64_t cmd_explain_find_noderole(struct cli_request *req, const char *node, const char *role,
                                  enum cli_exit *out_status);
int64_t cmd_explain_find_deployment_role(struct cli_request *req, const char *deployment,
                                         const char *role, enum cli_exit *out_status);
