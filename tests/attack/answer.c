#include "tests/attack/answer.h"

#include <string.h>

#include "base/json/json.h"

/* Those of docs/api.md and those that libmicrohttpd answers by itself. */
static const int known[] = {
    100, 200, 202, 302, 304, 400, 401, 403, 404, 405, 408, 409, 411,
    412, 413, 414, 415, 417, 422, 428, 429, 431, 501, 503, 505,
};

void answer_init(struct veto_reply *r)
{
    r->state = ANSWER_HEAD;
    r->head_len = 0;
    r->remaining = 0;
    r->status = 0;
    r->is_json = false;
    r->has_no_body = false;
    r->kept_len = 0;
    r->is_kept_whole = true;
    r->page_head_len = 0;
    r->doubled = 0;
    r->finished = 0;
    r->last_status = 0;
}

bool answer_is_between(const struct veto_reply *r)
{
    return r->state == ANSWER_HEAD && r->head_len == 0;
}

static bool is_token_char(char c)
{
    return char_is_letter(c) || char_is_digit(c) ||
           (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static const char *body_check(struct veto_reply *r)
{
    struct arena arena = {0};
    struct json *value;
    uint32_t offset;
    const char *what;
    const char *wrong = NULL;
    struct str text = {r->kept, r->kept_len};
    if (!r->is_json || !r->is_kept_whole || r->has_no_body)
        return NULL;
    /* Mutated requests can become one, so that there are fewer answers than requests and the answer
     * to the HEAD at the end is not counted as such. It has Content-Length: 0. */
    if (text.len == 0 && r->may_be_head)
        return NULL;
    if (json_read(&arena, text, &value, &offset, &what) != OK) {
        wrong = "a JSON body does not parse";
    } else if (r->status >= 400) {
        const struct json *status = json_at(value, STR("status"));
        const struct json *code = json_at(value, STR("code"));
        int64_t number = 0;
        if (!status || !json_as_i64(status, &number) || number != r->status)
            wrong = "an error does not carry its status";
        else if (!code || code->kind != JSON_STRING || code->text.len == 0)
            wrong = "an error does not carry a code";
    }
    arena_fini(&arena);
    return wrong;
}

static const char *answer_finish(struct veto_reply *r, uint64_t *statuses)
{
    const char *wrong = body_check(r);
    statuses[r->status]++;
    r->last_status = r->status;
    if (r->status >= 200)
        r->finished++;
    r->state = ANSWER_HEAD;
    r->head_len = 0;
    r->kept_len = 0;
    r->is_kept_whole = true;
    r->is_json = false;
    return wrong;
}

struct framing {
    uint32_t lengths;
    int64_t length;
    bool is_chunked;
    bool has_type;
};

static const char *field_check(struct veto_reply *r, struct str line, struct framing *f)
{
    struct str name = str_slice(line, 0, str_find(line, ':', 0));
    if (name.len == 0 || name.len == line.len)
        return "a field of an answer has no name";
    for (uint32_t i = 0; i < name.len; i++)
        if (!is_token_char(name.at[i]))
            return "a field's name is not a token";
    for (uint32_t i = name.len; i < line.len; i++)
        if (((unsigned char)line.at[i] < 0x20 && line.at[i] != '\t') || line.at[i] == 0x7f)
            return "a control byte in a field of an answer";
    struct str value = str_slice(line, name.len + 1, line.len);
    while (value.len > 0 && value.at[0] == ' ')
        value = str_slice(value, 1, value.len);
    if (str_eq_nocase(name, STR("content-length"))) {
        f->lengths++;
        if (!str_parse_i64(value, &f->length))
            return "Content-Length of an answer is not a number";
    } else if (str_eq_nocase(name, STR("transfer-encoding"))) {
        f->is_chunked = str_eq_nocase(value, STR("chunked"));
        if (!f->is_chunked)
            return "an unknown Transfer-Encoding in an answer";
    } else if (str_eq_nocase(name, STR("content-type"))) {
        f->has_type = true;
        for (uint32_t i = 0; i < value.len; i++)
            if (str_starts(str_slice(value, i, value.len), STR("json")))
                r->is_json = true;
    }
    return NULL;
}

static const char *head_check(struct veto_reply *r, uint64_t *statuses)
{
    struct str head = {r->head, r->head_len - 2};
    struct framing framing = {0};
    bool is_known = false;
    if (head.len < 13 || !str_starts(head, STR("HTTP/1.")) || head.at[8] != ' ' ||
        !char_is_digit(head.at[9]) || !char_is_digit(head.at[10]) || !char_is_digit(head.at[11]) ||
        head.at[12] != ' ')
        return "the status line is not one of HTTP/1.1";
    r->status = (head.at[9] - '0') * 100 + (head.at[10] - '0') * 10 + head.at[11] - '0';
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        is_known = is_known || known[i] == r->status;
    if (!is_known)
        return r->status == 500 ? "a 500" : "an undocumented status";
    for (uint32_t at = str_find(head, '\n', 0) + 1; at < head.len;) {
        uint32_t end = str_find(head, '\n', at);
        if (end == head.len || head.at[end - 1] != '\r')
            return "a line of an answer's head does not end with CR LF";
        const char *wrong = field_check(r, str_slice(head, at, end - 1), &framing);
        if (wrong)
            return wrong;
        at = end + 1;
    }
    if (framing.lengths > 1 || (framing.lengths && framing.is_chunked))
        return "an answer with two ends";
    if (r->status < 200 || r->status == 204 || r->status == 304 || r->has_no_body)
        return answer_finish(r, statuses);
    r->page_head_len = 0;
    if (r->status >= 400 && !framing.has_type && r->head_len <= ANSWER_PAGE_HEAD_MAX) {
        memcpy(r->page_head, r->head, r->head_len);
        r->page_head_len = r->head_len;
    }
    r->head_len = 0;
    if (framing.is_chunked) {
        r->state = ANSWER_CHUNK_SIZE;
    } else if (framing.lengths) {
        r->state = ANSWER_BODY;
        r->remaining = (uint64_t)framing.length;
        if (r->remaining == 0)
            return answer_finish(r, statuses);
    } else {
        r->state = ANSWER_UNTIL_CLOSE;
    }
    return NULL;
}

static void body_keep(struct veto_reply *r, const char *bytes, uint32_t len)
{
    if (len > ANSWER_KEPT_MAX - r->kept_len) {
        r->is_kept_whole = false;
        return;
    }
    memcpy(r->kept + r->kept_len, bytes, len);
    r->kept_len += len;
}

/* Drops a repetition of the head from the beginning of an error page. */
static void body_undouble(struct veto_reply *r)
{
    uint32_t len = r->page_head_len;
    if (len == 0 || r->kept_len < len || memcmp(r->kept, r->page_head, len) != 0)
        return;
    r->kept_len -= len;
    memmove(r->kept, r->kept + len, r->kept_len);
    r->remaining += len;
    r->page_head_len = 0;
    r->doubled++;
}

/* One line with its CR LF is in `head`. */
static const char *line_check(struct veto_reply *r, uint64_t *statuses)
{
    uint32_t len = r->head_len - 2;
    r->head_len = 0;
    if (r->head[len] != '\r')
        return "a line of chunked encoding does not end with CR LF";
    if (r->state == ANSWER_CHUNK_SIZE) {
        r->remaining = 0;
        if (len == 0 || len > 8)
            return "a chunk without a size";
        for (uint32_t i = 0; i < len; i++) {
            const char *digits = "0123456789abcdef";
            const char *digit = strchr(digits, r->head[i] | 0x20);
            if (!digit || r->head[i] == 0)
                return "a chunk's size is not hexadecimal";
            r->remaining = r->remaining * 16 + (uint64_t)(digit - digits);
        }
        r->state = r->remaining ? ANSWER_CHUNK_DATA : ANSWER_TRAILER;
        return NULL;
    }
    if (r->state == ANSWER_CHUNK_END) {
        r->state = ANSWER_CHUNK_SIZE;
        return len == 0 ? NULL : "a chunk is longer than its size";
    }
    return len == 0 ? answer_finish(r, statuses) : NULL;
}

const char *answer_feed(struct veto_reply *r, const char *bytes, uint32_t len, uint64_t *statuses)
{
    uint32_t at = 0;
    while (at < len) {
        const char *wrong = NULL;
        uint32_t part = len - at;
        if (r->state == ANSWER_BODY || r->state == ANSWER_CHUNK_DATA) {
            if (part > r->remaining)
                part = (uint32_t)r->remaining;
            body_keep(r, bytes + at, part);
            r->remaining -= part;
            at += part;
            body_undouble(r);
            if (r->remaining == 0 && r->state == ANSWER_BODY)
                wrong = answer_finish(r, statuses);
            else if (r->remaining == 0)
                r->state = ANSWER_CHUNK_END;
        } else if (r->state == ANSWER_UNTIL_CLOSE) {
            body_keep(r, bytes + at, part);
            at = len;
        } else {
            if (r->head_len == ANSWER_HEAD_MAX)
                return "the head of an answer is too long";
            r->head[r->head_len++] = bytes[at++];
            if (r->head[r->head_len - 1] != '\n' || r->head_len < 2)
                continue;
            if (r->state != ANSWER_HEAD)
                wrong = line_check(r, statuses);
            else if (r->head_len >= 4 && memcmp(r->head + r->head_len - 4, "\r\n\r\n", 4) == 0)
                wrong = head_check(r, statuses);
        }
        if (wrong)
            return wrong;
    }
    return NULL;
}

const char *answer_end(struct veto_reply *r, uint64_t *statuses)
{
    if (r->state == ANSWER_UNTIL_CLOSE)
        return answer_finish(r, statuses);
    /* The answer to a HEAD may announce a body that does not follow. */
    const bool is_bodyless = r->may_be_head && r->state == ANSWER_BODY && r->kept_len == 0;
    return answer_is_between(r) || is_bodyless ? NULL : "the connection ends within an answer";
}
