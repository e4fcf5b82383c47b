/* cmd_objects.h - the verbs of most nouns: list, show, create, update, destroy, and verbs that are
 * one call for each object.
 */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_objects_list(struct cli_request *req);
enum cli_exit cmd_objects_show(struct cli_request *req);
enum cli_exit cmd_objects_create(struct cli_request *req);
enum cli_exit cmd_objects_update(struct cli_request *req);
enum cli_exit cmd_objects_destroy(struct cli_request *req);
/* Send the method of the verb to its path below each operand, and print the replies. */
enum cli_exit cmd_objects_act(struct cli_request *req);
/* Print what the path of the verb below one object returns, as a document: deployments/:id/graph.
 */
enum cli_exit cmd_objects_show_below(struct cli_request *req);
/* Print the machines that a noderole must still publish: a page, and how to get the next one. */
enum cli_exit cmd_objects_boot_due(struct cli_request *req);
/* Print the boot servers of the admin nodes. */
enum cli_exit cmd_objects_boot_status(struct cli_request *req);
/* Print the last events of the boots of a node. */
enum cli_exit cmd_objects_boot_events(struct cli_request *req);

/* Print the list once, without --watch. */
enum cli_exit cmd_objects_list_once(struct cli_request *req);
