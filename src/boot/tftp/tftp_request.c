/* tftp_request.c - parses requests and writes errors of TFTP. Stateless.
 *
 * Every string of a request ends with a zero byte; one that does not is refused before it is
 * used. */
#include "boot/tftp/tftp.h"

#include <string.h>

enum { OP_READ = 1, OP_WRITE = 2, OP_ERROR = 5, TIMEOUT_S_MAX = 255 };

uint32_t tftp_put_error(uint8_t buffer[TFTP_ERROR_SIZE_MAX], enum tftp_error code,
                        struct str message)
{
    uint32_t at = 0;
    buffer[at++] = 0;
    buffer[at++] = OP_ERROR;
    buffer[at++] = 0;
    buffer[at++] = (uint8_t)code;
    for (uint32_t i = 0; i < message.len && at < TFTP_ERROR_SIZE_MAX - 1; i++) {
        const char c = message.at[i];
        buffer[at++] = (uint8_t)(c >= ' ' && c <= '~' ? c : '?');
    }
    buffer[at++] = 0;
    return at;
}

struct str tftp_name(const struct tftp_request *request)
{
    return (struct str){request->name, request->name_len};
}

static enum tftp_parsed tftp_refuse(struct tftp_refusal *out, enum tftp_error code,
                                    struct str message)
{
    *out = (struct tftp_refusal){code, message};
    return TFTP_REFUSED;
}

/* The next string of the request; false if it does not end. */
static bool tftp_take_string(struct str bytes, uint32_t *at, struct str *out)
{
    const uint32_t end = str_find(bytes, '\0', *at);
    if (end >= bytes.len)
        return false;
    *out = str_slice(bytes, *at, end);
    *at = end + 1;
    return true;
}

/* ---- names ---- */

static bool tftp_is_separator(char c)
{
    return c == '/' || c == '\\';
}

static bool tftp_text_is_clean(struct str text)
{
    for (uint32_t i = 0; i < text.len; i++)
        if ((uint8_t)text.at[i] < ' ' || text.at[i] == 0x7f)
            return false;
    return str_is_clean(text);
}

/* Remove the last segment; false if there is none. */
static bool tftp_leave_segment(struct tftp_request *request)
{
    if (!request->name_len)
        return false;
    do
        request->name_len--;
    while (request->name_len && request->name[request->name_len] != '/');
    return true;
}

static bool tftp_enter_segment(struct tftp_request *request, struct str segment)
{
    const uint32_t len = request->name_len + (request->name_len != 0) + segment.len;
    if (len > TFTP_NAME_MAX)
        return false;
    if (request->name_len)
        request->name[request->name_len++] = '/';
    memcpy(request->name + request->name_len, segment.at, segment.len);
    request->name_len = len;
    return true;
}

static bool tftp_normalize(struct str name, struct tftp_request *request)
{
    request->name_len = 0;
    if (!tftp_text_is_clean(name))
        return false;
    for (uint32_t from = 0, to; from < name.len; from = to + 1) {
        for (to = from; to < name.len && !tftp_is_separator(name.at[to]);)
            to++;
        const struct str segment = str_slice(name, from, to);
        if (!segment.len || str_eq(segment, STR(".")))
            continue;
        const bool is_legal = str_eq(segment, STR("..")) ? tftp_leave_segment(request)
                                                         : tftp_enter_segment(request, segment);
        if (!is_legal)
            return false;
    }
    return true;
}

/* ---- options ---- */

/* The value of the option, lowered to `max`; false if it is no number or is lower than `min`. */
static bool tftp_read_number(struct str value, int64_t min, int64_t max, uint32_t *out)
{
    int64_t number;
    if (!str_parse_i64(value, &number) || number < min)
        return false;
    *out = (uint32_t)(number < max ? number : max);
    return true;
}

/* False if the value is impossible. */
static bool tftp_read_option(struct tftp_request *request, struct str name, struct str value)
{
    static const struct {
        struct str name;
        enum tftp_option option;
    } names[] = {{{"blksize", 7}, TFTP_OPTION_BLKSIZE},
                 {{"tsize", 5}, TFTP_OPTION_TSIZE},
                 {{"timeout", 7}, TFTP_OPTION_TIMEOUT},
                 {{"windowsize", 10}, TFTP_OPTION_WINDOWSIZE}};
    uint32_t option = 0, ignored;
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq_nocase(name, names[i].name))
            option = names[i].option;
    if (!option)
        return true;
    if (request->options & option)
        return false;
    request->options |= option;
    switch (option) {
    case TFTP_OPTION_BLKSIZE:
        return tftp_read_number(value, TFTP_BLOCK_MIN, TFTP_BLOCK_MAX, &request->block_size);
    case TFTP_OPTION_TSIZE: return tftp_read_number(value, 0, UINT32_MAX, &ignored);
    case TFTP_OPTION_TIMEOUT:
        /* The client expects its own value, so this one cannot be lowered. */
        return tftp_read_number(value, 1, TIMEOUT_S_MAX + 1, &request->timeout_s) &&
               request->timeout_s <= TIMEOUT_S_MAX;
    default: return tftp_read_number(value, 1, TFTP_WINDOW_MAX, &request->window);
    }
}

/* ---- requests ---- */

static enum tftp_parsed tftp_parse_read(struct str bytes, struct tftp_request *request,
                                        struct tftp_refusal *refusal)
{
    static const struct str unfinished = {"the request is not complete", 27};
    struct str name, mode, option, value;
    uint32_t at = 2;
    *request = (struct tftp_request){.block_size = TFTP_BLOCK_DEFAULT, .window = 1};
    if (!tftp_take_string(bytes, &at, &name) || !tftp_take_string(bytes, &at, &mode))
        return tftp_refuse(refusal, TFTP_ERROR_OPERATION, unfinished);
    if (!str_eq_nocase(mode, STR("octet")) && !str_eq_nocase(mode, STR("netascii")))
        return tftp_refuse(refusal, TFTP_ERROR_OPERATION, STR("the mode must be octet"));
    if (!tftp_normalize(name, request))
        return tftp_refuse(refusal, TFTP_ERROR_ACCESS, STR("the name is not legal"));
    if (!request->name_len)
        return tftp_refuse(refusal, TFTP_ERROR_NOT_FOUND, STR("the name is empty"));
    /* Some firmware fills its request with zeros: an empty name of an option is the end. */
    while (at < bytes.len && bytes.at[at]) {
        if (!tftp_take_string(bytes, &at, &option) || !tftp_take_string(bytes, &at, &value))
            return tftp_refuse(refusal, TFTP_ERROR_OPERATION, unfinished);
        if (!tftp_read_option(request, option, value))
            return tftp_refuse(refusal, TFTP_ERROR_OPTION,
                               STR("the value of an option is impossible"));
    }
    return TFTP_READ;
}

enum tftp_parsed tftp_parse_request(struct str datagram, struct tftp_request *out_request,
                                    struct tftp_refusal *out_refusal)
{
    if (datagram.len < 2)
        return TFTP_IGNORED;
    const uint32_t op = (uint32_t)(uint8_t)datagram.at[0] << 8 | (uint8_t)datagram.at[1];
    if (op == OP_READ)
        return tftp_parse_read(datagram, out_request, out_refusal);
    if (op == OP_WRITE)
        return tftp_refuse(out_refusal, TFTP_ERROR_ACCESS, STR("files are read-only"));
    /* An ERROR is never answered: two hosts could answer each other for ever. */
    if (op == OP_ERROR)
        return TFTP_IGNORED;
    return tftp_refuse(out_refusal, TFTP_ERROR_OPERATION, STR("illegal TFTP operation"));
}
