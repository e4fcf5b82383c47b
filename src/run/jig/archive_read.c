#include "run/jig/archive.h"

#include <string.h>

#include "run/jig/archive_private.h"

/* The input is untrusted: every length is checked against the remaining bytes before it is used,
 * and anything unexpected is ERR_CORRUPT as a whole. Long names (GNU 'L' and 'K', pax 'x') precede
 * the member they describe and are collected in struct extras. The short name of a member is copied
 * to the arena; all other strings refer to the input. */

/* Fields from preceding members that describe the next one. */
struct extras {
    struct str name, target;
};

static struct str archive_field(const char *at, size_t size)
{
    const char *end = memchr(at, 0, size);
    return (struct str){at, (uint32_t)(end ? (size_t)(end - at) : size)};
}

/* Octal digits, with leading spaces and a trailing space or zero byte. */
static bool archive_read_octal(const char *at, size_t size, uint64_t *out_value)
{
    size_t i = 0;
    uint64_t value = 0;
    while (i < size && at[i] == ' ')
        i++;
    const size_t first = i;
    for (; i < size && at[i] >= '0' && at[i] <= '7'; i++)
        value = value * 8 + (uint64_t)(at[i] - '0');
    if (i == first || (i < size && at[i] != ' ' && at[i] != 0))
        return false;
    *out_value = value;
    return true;
}

static bool archive_is_empty_block(const struct archive_head *head)
{
    static const struct archive_head empty;
    return memcmp(head, &empty, sizeof empty) == 0;
}

static bool archive_is_head(const struct archive_head *head)
{
    uint64_t sum;
    return archive_read_octal(head->sum, sizeof head->sum, &sum) && sum == archive_sum(head) &&
           memcmp(head->magic, "ustar", 5) == 0;
}

/* The format of GNU ("ustar ") uses the prefix field for other data. */
static struct str archive_member_name(struct arena *a, const struct archive_head *head)
{
    const struct str name = archive_field(head->name, sizeof head->name);
    const struct str prefix = archive_field(head->prefix, sizeof head->prefix);
    if (head->magic[5] != 0 || prefix.len == 0)
        return str_copy(a, name);
    return STR_CONCAT(a, prefix, STR("/"), name);
}

/* Records "LENGTH KEY=VALUE\n"; LENGTH counts the whole record. */
static bool archive_read_pax(struct str text, struct extras *x)
{
    while (text.len) {
        int64_t length;
        const uint32_t space = str_find(text, ' ', 0);
        if (!str_parse_i64(str_slice(text, 0, space), &length) || length > text.len ||
            length < (int64_t)space + 2 || text.at[length - 1] != '\n')
            return false;
        const struct str record = str_slice(text, space + 1, (uint32_t)length - 1);
        const uint32_t sign = str_find(record, '=', 0);
        const struct str key = str_slice(record, 0, sign);
        const struct str value = str_slice(record, sign + 1, record.len);
        if (str_eq(key, STR("path")))
            x->name = value;
        else if (str_eq(key, STR("linkpath")))
            x->target = value;
        else if (str_eq(key, STR("size")))
            return false; /* only used for sizes that exceed our limit */
        text = str_slice(text, (uint32_t)length, text.len);
    }
    return true;
}

/* Handle a member that describes the next one. False: it is a regular member, or *out_bad. */
static bool archive_take_extra(char type, struct str content, struct extras *x, bool *out_bad)
{
    const struct str text = archive_field(content.at, content.len);
    switch (type) {
    case 'L': x->name = text; return true;
    case 'K': x->target = text; return true;
    case 'x': *out_bad = !archive_read_pax(content, x); return !*out_bad;
    case 'g': return true;
    default: return false;
    }
}

static void archive_describe(const struct archive_reader *r, const struct archive_head *head,
                             const struct extras *x, struct str content, struct archive_member *m)
{
    const bool is_file = head->type == '0' || head->type == 0 || head->type == '7';
    *m = (struct archive_member){
        .kind = is_file             ? ARCHIVE_FILE
                : head->type == '1' ? ARCHIVE_LINK
                                    : ARCHIVE_OTHER,
        .name = x->name.len ? x->name : archive_member_name(r->arena, head),
        .target = x->target.len ? x->target : archive_field(head->target, sizeof head->target),
        .content = content,
    };
}

err archive_next(struct archive_reader *r, struct archive_member *out_member)
{
    struct extras extras = {0};
    bool has_extras = false;
    while (r->at < r->bytes.len) {
        if (r->bytes.len - r->at < ARCHIVE_BLOCK)
            return ERR_CORRUPT;
        const struct archive_head *head = (const void *)(r->bytes.at + r->at);
        uint64_t size;
        if (archive_is_empty_block(head)) { /* end of an archive; another one may follow */
            r->at += ARCHIVE_BLOCK;
            continue;
        }
        if (!archive_is_head(head) || !archive_read_octal(head->size, sizeof head->size, &size))
            return ERR_CORRUPT;
        const uint64_t padded = (size + ARCHIVE_BLOCK - 1) / ARCHIVE_BLOCK * ARCHIVE_BLOCK;
        const uint32_t from = r->at + ARCHIVE_BLOCK;
        if (padded > r->bytes.len - from)
            return ERR_CORRUPT;
        const struct str content = str_slice(r->bytes, from, from + (uint32_t)size);
        bool bad = false;
        r->at = from + (uint32_t)padded;
        if (archive_take_extra(head->type, content, &extras, &bad)) {
            has_extras = true;
            continue;
        }
        if (bad)
            return ERR_CORRUPT;
        archive_describe(r, head, &extras, content, out_member);
        return OK;
    }
    return has_extras ? ERR_CORRUPT : ERR_NOT_FOUND;
}
