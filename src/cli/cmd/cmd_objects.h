/* cmd_objects.h - the verbs that every noun has: list, show, create, update, destroy, and whatever
 * only names an object and is one call.
 */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_objects_list(struct cli_request *e);
enum cli_exit cmd_objects_show(struct cli_request *e);
enum cli_exit cmd_objects_create(struct cli_request *e);
enum cli_exit cmd_objects_update(struct cli_request *e);
enum cli_exit cmd_objects_destroy(struct cli_request *e);
/* The verb's method on its path below each object that is named; shows what became of it. */
enum cli_exit cmd_objects_act(struct cli_request *e);
/* What lies below one object, as a document: nodes/:id/power. */
enum cli_exit cmd_objects_look(struct cli_request *e);

/* The list as it is now, printed. */
enum cli_exit cmd_objects_list_once(struct cli_request *e);
