/* input.h - fields of objects from operands, a file or stdin.
 *
 * Operands are pairs: "field=text" or "field:=JSON". A text that begins with { or [ is parsed as
 * JSON; any other is sent as a string, which the server converts to the type of the field. A file
 * contains one object or a list of objects; stdin ("-") may also contain one object per line. Pairs
 * in addition to a file are added to each of its objects.
 */
#pragma once

#include "cli/cmd/request.h"

/* The object of the operands from `first` on, or an array if the file or stdin has one. Errors are
 * printed. */
enum cli_exit input_read(struct cli_request *req, int first, struct json **out_value);
/* The pairs only; *out_object is empty if there are none. */
enum cli_exit input_read_pairs(struct cli_request *req, int first, struct json **out_object);
/* The content of a file, or of stdin for "-". */
enum cli_exit input_read_file(struct cli_request *req, const char *path, struct str *out_text);
