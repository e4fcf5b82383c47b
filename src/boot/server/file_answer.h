/* file_answer.h - HTTP answers with files: entity tags and ranges (RFC 9110).
 *
 * The entity tag is made of inode, size and time of the file.
 */
#pragma once

#include <stdint.h>

#include "base/text/str.h"
#include "boot/server/boot_files.h"
#include "http/http.h"

/* Answers GET or HEAD with the file, which it takes over: 200, 206, 304 or 416. Returns the bytes
 * of the body that a GET receives. */
uint64_t file_answer(struct http_request *request, struct boot_file file);
