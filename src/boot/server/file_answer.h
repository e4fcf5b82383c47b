/* file_answer.h - HTTP answers with files: entity tags and ranges (RFC 9110).
 *
 * The entity tag is made of inode, size and time of the file. One range is supported; a header with
 * several is ignored, as RFC 9110 allows.
 */
#pragma once

#include <stdint.h>

#include "base/text/str.h"
#include "boot/server/boot_files.h"
#include "http/http.h"

enum range_result {
    RANGE_WHOLE, /* no range, or one that is not supported: the whole file */
    RANGE_PART,
    RANGE_UNSATISFIABLE
};

/* Reads the header Range for a file of this size. */
enum range_result range_parse(struct str header, uint64_t size, uint64_t *out_from,
                              uint64_t *out_size);

/* Answers GET or HEAD with the file, which it takes over: 200, 206, 304 or 416. Returns the bytes
 * of the body that a GET receives. */
uint64_t file_answer(struct http_request *request, struct boot_file file);
