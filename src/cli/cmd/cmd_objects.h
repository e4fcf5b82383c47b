/* cmd_objects.h - the verbs that every noun has: list, show, create, update, destroy, and whatever
 * only names an object and is one call.
 */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit objects_list(struct errand *e);
enum cli_exit objects_show(struct errand *e);
enum cli_exit objects_create(struct errand *e);
enum cli_exit objects_update(struct errand *e);
enum cli_exit objects_destroy(struct errand *e);
/* The verb's method on its path below each object that is named; shows what became of it. */
enum cli_exit objects_act(struct errand *e);
/* What lies below one object, as a document: nodes/:id/power. */
enum cli_exit objects_look(struct errand *e);

/* The list as it is now, printed. */
enum cli_exit objects_list_once(struct errand *e);
