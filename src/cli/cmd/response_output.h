/* response_output.h - answers of the daemon in the form that was asked for: a table, JSON or YAML.
 *
 * Tables are for people: they show the columns of the noun, names for ids and words for states.
 * JSON and YAML are what the server said, with names beside ids (deployment_id, deployment) and
 * words beside numbers of states (state, state_name). With -q there are names only (ids, where
 * there are none), one a line.
 */
#pragma once

#include <stdbool.h>

#include "cli/cmd/request.h"

enum output_form { OUTPUT_TABLE, OUTPUT_JSON, OUTPUT_YAML };

/* The option -o is one that exists; told if not. */
bool output_check(const struct cli_request *e);
enum output_form output_form(const struct cli_request *e);
/* Which fields of a list are worth asking for; NULL: all. */
const char *output_attributes(struct cli_request *e);

void output_list(struct cli_request *e, const struct json *list);
/* One object that something was done to: as a list of one. */
void output_row(struct cli_request *e, const struct json *object);
/* One object with all of its fields. */
void output_object(struct cli_request *e, const struct json *object);
/* What has no columns; as a table it is YAML. */
void output_document(struct cli_request *e, const struct json *document);
/* "it is done": nothing with -q, and the answer itself when JSON or YAML is wanted. */
void output_message(struct cli_request *e, const struct json *answer);

/* One event, on a line where it can be. */
void output_event(struct cli_request *e, const struct json *event);

/* Lines that were put together in a buffer, to stdout. */
void output_text(struct str text);
/* The word for a state of the noun, or NULL. */
const struct cli_state *output_state(const struct cli_noun *noun, const struct json *value);
/* Escape sequences are welcome there: a terminal, and nobody said NO_COLOR. */
bool output_has_colors(int fd);
