#include "run/jig/archive.h"

#include <stdio.h>
#include <string.h>

#include "run/jig/archive_private.h"

/* The ustar writer. The archive grows in one buffer; a member that does not fit leaves it
 * unchanged. Owner, group and time are constants, so equal content gives equal bytes. */

/* A fixed modification time that is neither in the future nor suspiciously old. */
enum { WRITTEN_AT = 1000000000 };

struct archive archive_begin(struct arena *a)
{
    return (struct archive){.bytes = buf_in(a)};
}

uint32_t archive_sum(const struct archive_head *head)
{
    const unsigned char *bytes = (const unsigned char *)head;
    const size_t from = offsetof(struct archive_head, sum), to = from + sizeof head->sum;
    uint32_t sum = 0;
    for (size_t i = 0; i < sizeof *head; i++)
        sum += i >= from && i < to ? (uint32_t)' ' : bytes[i];
    return sum;
}

/* Store the name, split at a slash if necessary. */
static bool archive_put_name(struct archive_head *head, struct str name)
{
    if (name.len == 0)
        return false;
    if (name.len <= sizeof head->name) {
        memcpy(head->name, name.at, name.len);
        return true;
    }
    for (uint32_t at = name.len - 1; at > 0; at--) {
        if (name.at[at] != '/' || name.len - at - 1 > sizeof head->name ||
            at > sizeof head->prefix || at + 1 == name.len)
            continue;
        memcpy(head->prefix, name.at, at);
        memcpy(head->name, name.at + at + 1, name.len - at - 1);
        return true;
    }
    return false;
}

static void archive_put_octal(char *at, size_t size, uint64_t value)
{
    char text[32];
    const int length =
        snprintf(text, sizeof text, "%0*llo", (int)size - 1, (unsigned long long)value);
    must(length == (int)size - 1);
    memcpy(at, text, size);
}

static err archive_add_member(struct archive *archive, char type, struct str name, unsigned mode,
                              struct str content)
{
    struct archive_head head = {.type = type, .magic = "ustar", .version = {'0', '0'}};
    const uint32_t odd = content.len % ARCHIVE_BLOCK;
    const uint64_t size = (uint64_t)archive->bytes.len + sizeof head + content.len + ARCHIVE_BLOCK;
    if (!archive_put_name(&head, name) || size > ARCHIVE_SIZE_MAX)
        return ERR_LIMIT;
    archive_put_octal(head.mode, sizeof head.mode, mode & 07777u);
    archive_put_octal(head.uid, sizeof head.uid, 0);
    archive_put_octal(head.gid, sizeof head.gid, 0);
    archive_put_octal(head.size, sizeof head.size, content.len);
    archive_put_octal(head.mtime, sizeof head.mtime, WRITTEN_AT);
    archive_put_octal(head.sum, sizeof head.sum - 1, archive_sum(&head));
    head.sum[sizeof head.sum - 1] = ' ';
    buf_put(&archive->bytes, &head, sizeof head);
    buf_put_str(&archive->bytes, content);
    if (odd) {
        memset(buf_room(&archive->bytes, ARCHIVE_BLOCK - odd), 0, ARCHIVE_BLOCK - odd);
        archive->bytes.len += ARCHIVE_BLOCK - odd;
    }
    archive->count++;
    return OK;
}

err archive_add_file(struct archive *archive, struct str name, unsigned mode, struct str content)
{
    return archive_add_member(archive, '0', name, mode, content);
}

err archive_add_folder(struct archive *archive, struct str name, unsigned mode)
{
    return archive_add_member(archive, '5', name, mode, STR(""));
}

struct str archive_end(struct archive *archive)
{
    memset(buf_room(&archive->bytes, 2 * ARCHIVE_BLOCK), 0, 2 * ARCHIVE_BLOCK);
    archive->bytes.len += 2 * ARCHIVE_BLOCK;
    return buf_str(&archive->bytes);
}
