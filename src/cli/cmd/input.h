/* input.h - what an object is to be like, from words, a file or stdin.
 *
 * Words are pairs: "field=text" and "field:=JSON". A text that begins like a JSON object or list is
 * one; any other stays a text, and the server makes of it what the field wants. A file holds one
 * object or a list of them; stdin ("-") also one object a line. Pairs beside a file are added to
 * each of its objects.
 */
#pragma once

#include "cli/cmd/request.h"

/* Of the operands from `first` on: an object, or an array where the file or stdin has one. What is
 * wrong has been told. */
enum cli_exit input_read(struct cli_request *e, int first, struct json **out_value);
/* The pairs alone; *out_object is empty when there are none. */
enum cli_exit input_read_pairs(struct cli_request *e, int first, struct json **out_object);
/* All of a file, or of stdin for "-". */
enum cli_exit input_read_file(struct cli_request *e, const char *path, struct str *out_text);
