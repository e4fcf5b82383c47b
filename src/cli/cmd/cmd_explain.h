/* cmd_explain.h - the verbs that explain: plan, diff, log, inventory. */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit insight_plan(struct errand *e);
enum cli_exit insight_diff(struct errand *e);            /* SNAPSHOT SNAPSHOT */
enum cli_exit insight_deployment_diff(struct errand *e); /* DEPLOYMENT [SNAPSHOT [SNAPSHOT]] */
enum cli_exit insight_inventory(struct errand *e);

/* "web on n1: web/workers 8 -> 16" of an entry of the list `unproposed`. */
void insight_put_unproposed(struct buf *b, const struct json *entry);

/* What stands for DEPLOYMENT/NUMBER among snapshots, NODE/ROLE among noderoles, DEPLOYMENT/ROLE
 * among the roles of deployments. */
int64_t insight_find_snapshot(struct errand *e, const char *deployment, const char *number,
                              enum cli_exit *out_status);
int64_t insight_find_noderole(struct errand *e, const char *node, const char *role,
                              enum cli_exit *out_status);
int64_t insight_find_deployment_role(struct errand *e, const char *deployment, const char *role,
                                     enum cli_exit *out_status);
