/* response_output.h - prints replies of the API in the format of -o: table, JSON or YAML.
 *
 * Tables show the columns of the noun, with names for ids and names for states. JSON and YAML are
 * the reply of the server, with added names of ids (deployment_id, deployment) and of numeric
 * states (state, state_name). With -q only names (or ids, if objects have no names) are printed,
 * one per line.
 */
#pragma once

#include <stdbool.h>

#include "cli/cmd/request.h"

enum output_form { OUTPUT_TABLE, OUTPUT_JSON, OUTPUT_YAML };

/* Whether the value of -o is valid; if not, the error is printed. */
bool output_check(const struct cli_request *req);
enum output_form output_form(const struct cli_request *req);
/* The fields to request for a list, as a JSON list; NULL: all. */
const char *output_attributes(struct cli_request *req);

void output_list(struct cli_request *req, const struct json *list);
/* One object after a change, as a list with one row. */
void output_row(struct cli_request *req, const struct json *object);
/* One object with all of its fields. */
void output_object(struct cli_request *req, const struct json *object);
/* A reply without columns; YAML is used in place of a table. */
void output_document(struct cli_request *req, const struct json *document);
/* The field `message` of a reply; nothing with -q, and the whole reply with -o json or yaml. */
void output_message(struct cli_request *req, const struct json *reply);

/* One event: a line as a table or JSON, a document as YAML. */
void output_event(struct cli_request *req, const struct json *event);

/* Write text to stdout as it is. */
void output_text(struct str text);
/* The state of the noun with this number or name; NULL: none. */
const struct cli_state *output_state(const struct cli_noun *noun, const struct json *value);
/* Whether to write colors to fd: it is a terminal other than TERM=dumb, and NO_COLOR is not set. */
bool output_has_colors(int fd);
