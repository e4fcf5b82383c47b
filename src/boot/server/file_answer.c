#include "boot/server/file_answer.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "boot/server/file_ranges.h"

/* True if a list of entity tags contains the tag or is "*". Weak tags are compared by their opaque
 * part, as for If-None-Match. */
static bool tag_list_has(struct str list, struct str tag)
{
    if (str_eq(list, STR("*")))
        return true;
    for (uint32_t from = 0, end; from < list.len; from = end + 1) {
        end = str_find(list, ',', from);
        struct str item = str_slice(list, from, end);
        while (item.len && (item.at[0] == ' ' || item.at[0] == '\t'))
            item = str_slice(item, 1, item.len);
        while (item.len && (item.at[item.len - 1] == ' ' || item.at[item.len - 1] == '\t'))
            item = str_slice(item, 0, item.len - 1);
        if (str_starts(item, STR("W/")))
            item = str_slice(item, 2, item.len);
        if (str_eq(item, tag))
            return true;
    }
    return false;
}

static struct str file_make_tag(struct arena *a, const struct boot_file *file)
{
    char text[64];
    snprintf(text, sizeof text, "\"%" PRIx64 "-%" PRIx64 "-%" PRIx64 "\"", file->inode, file->size,
             file->changed_ns);
    return str_copy(a, str_from(text));
}

static struct str file_content_range(struct arena *a, uint64_t from, uint64_t part, uint64_t size)
{
    char text[80];
    if (part == 0)
        snprintf(text, sizeof text, "bytes */%" PRIu64, size);
    else
        snprintf(text, sizeof text, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, from, from + part - 1,
                 size);
    return str_copy(a, str_from(text));
}

/* An answer without a file: 304, 416, or an empty file. */
static uint64_t file_answer_empty(struct http_request *request, struct http_answer *answer,
                                  struct boot_file *file)
{
    boot_file_close(file);
    http_answer(request, answer);
    return 0;
}

uint64_t file_answer(struct http_request *request, struct boot_file file)
{
    struct arena *a = &request->arena;
    const struct str tag = file_make_tag(a, &file);
    const struct str if_range = http_header(request, "If-Range");
    struct http_header headers[] = {
        {"Accept-Ranges", STR("bytes")}, {"ETag", tag}, {"Content-Range", STR("")}};
    struct http_answer answer = {.status = 200,
                                 .content_type = "application/octet-stream",
                                 .headers = headers,
                                 .header_count = 2};
    uint64_t from = 0, size = file.size;
    if (tag_list_has(http_header(request, "If-None-Match"), tag)) {
        answer.status = 304;
        answer.content_type = NULL;
        return file_answer_empty(request, &answer, &file);
    }
    enum range_result range = RANGE_WHOLE;
    if (str_is_empty(if_range) || str_eq(if_range, tag))
        range = range_parse(http_header(request, "Range"), file.size, &from, &size);
    if (range == RANGE_UNSATISFIABLE) {
        answer.status = 416;
        answer.content_type = "text/plain; charset=utf-8";
        answer.body = STR("the range is beyond the end of the file\n");
        headers[2].value = file_content_range(a, 0, 0, file.size);
        answer.header_count = 3;
        return file_answer_empty(request, &answer, &file);
    }
    if (range == RANGE_PART) {
        answer.status = 206;
        headers[2].value = file_content_range(a, from, size, file.size);
        answer.header_count = 3;
    }
    if (size == 0)
        return file_answer_empty(request, &answer, &file);
    http_answer_file(request, &answer, (struct http_file){file.fd, from, size});
    return request->method == HTTP_HEAD ? 0 : size;
}
