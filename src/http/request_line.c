/* request_line.c - the head of a request: what it asks for, and where it ends. */
#include "http/http_private.h"

#include <string.h>

#include "base/err.h"
#include "http/address.h"
#include "http/forwarded.h"

/* --- the target -------------------------------------------------------------------------------*/

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Only a query writes a space as plus. */
static bool decode(struct arena *a, struct str raw, bool plus_is_space, struct str *out_text)
{
    char *at = arena_alloc(a, raw.len);
    uint32_t len = 0;
    for (uint32_t i = 0; i < raw.len; i++) {
        char c = raw.at[i];
        if (c == '+' && plus_is_space)
            c = ' ';
        if (c == '%') {
            const int high = i + 2 < raw.len ? hex_digit(raw.at[i + 1]) : -1;
            const int low = i + 2 < raw.len ? hex_digit(raw.at[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        at[len++] = c;
    }
    const struct str text = {at, len};
    if (!str_is_clean(text))
        return false;
    *out_text = text;
    return true;
}

static bool parse_query(struct http_request *request, struct str raw)
{
    struct http_pair **link = &request->query;
    uint32_t end;
    for (uint32_t at = 0; at < raw.len; at = end + 1) {
        end = str_find(raw, '&', at);
        if (end == at)
            continue;
        const struct str part = str_slice(raw, at, end);
        const uint32_t equals = str_find(part, '=', 0);
        struct http_pair *pair = arena_new(&request->arena, struct http_pair);
        if (!decode(&request->arena, str_slice(part, 0, equals), true, &pair->name) ||
            !decode(&request->arena, str_slice(part, equals + 1, part.len), true, &pair->value))
            return false;
        *link = pair;
        link = &pair->next;
    }
    return true;
}

/* "http://host/path" is how a client speaks to a proxy, and every server has to understand it. */
static struct str without_authority(struct str raw)
{
    static const struct str schemes[] = {{"http://", 7}, {"https://", 8}};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const uint32_t len = schemes[i].len;
        if (!str_eq_nocase(str_slice(raw, 0, len), schemes[i]))
            continue;
        const uint32_t slash = str_find(raw, '/', len);
        const uint32_t mark = str_find(raw, '?', len);
        if (slash < mark)
            return str_slice(raw, slash, raw.len);
        return mark == raw.len ? STR("/") : STR("");
    }
    return raw;
}

static bool has_blanks(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++)
        if ((unsigned char)s.at[i] <= ' ' || s.at[i] == '\x7f')
            return true;
    return false;
}

/* A slash sent as %2F is part of a name and separates nothing. */
static err parse_segments(struct http_request *request, struct str raw)
{
    uint32_t end;
    for (uint32_t at = 1; at < raw.len; at = end + 1) {
        end = str_find(raw, '/', at);
        if (request->segment_count == HTTP_SEGMENTS_MAX)
            return ERR_LIMIT;
        struct str *segment = &request->segments[request->segment_count++];
        if (!decode(&request->arena, str_slice(raw, at, end), false, segment))
            return ERR_SYNTAX;
    }
    return OK;
}

err target_parse(struct http_request *request, struct str raw)
{
    const struct str target = without_authority(raw);
    const uint32_t mark = str_find(target, '?', 0);
    const struct str path = str_slice(target, 0, mark);
    if (!str_starts(target, STR("/")) || has_blanks(target) ||
        !decode(&request->arena, path, false, &request->path) ||
        !parse_query(request, str_slice(target, mark + 1, target.len)))
        return ERR_SYNTAX;
    return parse_segments(request, path);
}

bool http_query(const struct http_request *request, struct str name, struct str *out_value)
{
    for (const struct http_pair *pair = request->query; pair; pair = pair->next)
        if (str_eq(pair->name, name)) {
            *out_value = pair->value;
            return true;
        }
    return false;
}

/* --- headers ----------------------------------------------------------------------------------*/

/* libmicrohttpd forgives much and keeps text that ends at the first zero byte, so a head may not
 * mean to it what it meant to whoever let it pass on the way to us. It works in place, though, and
 * overwrites only the colon and the end of each line: in a head without tricks every name stands
 * right behind the two bytes that ended the line before. Zero bytes, lone CRs and LFs and folded
 * lines all leave a gap. */
struct head {
    const char *next; /* where the next name has to begin */
    bool is_bad;
    uint32_t hosts;
    uint32_t lengths;
    uint32_t encodings;
    struct str length;
    struct str encoding;
};

/* tchar of RFC 9110, at least one */
static bool is_token(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++)
        if (!char_is_letter(s.at[i]) && !char_is_digit(s.at[i]) &&
            !memchr("!#$%&'*+-.^_`|~", s.at[i], 15))
            return false;
    return s.len > 0;
}

static bool has_controls(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++)
        if (((unsigned char)s.at[i] < ' ' && s.at[i] != '\t') || s.at[i] == '\x7f')
            return true;
    return false;
}

static enum MHD_Result read_header(void *into, enum MHD_ValueKind kind, const char *name_z,
                                   const char *value_z)
{
    (void)kind;
    struct head *head = into;
    const struct str name = str_from(name_z);
    const struct str value = str_from(value_z);
    if (!value_z || name_z != head->next || !is_token(name) || has_controls(value)) {
        head->is_bad = true;
        return MHD_NO;
    }
    head->next = value.at + value.len + 2;
    if (str_eq_nocase(name, STR("Host"))) {
        head->hosts++;
        head->is_bad |= str_is_empty(value);
    } else if (str_eq_nocase(name, STR("Content-Length"))) {
        head->lengths++;
        head->length = value;
    } else if (str_eq_nocase(name, STR("Transfer-Encoding"))) {
        head->encodings++;
        head->encoding = value;
    }
    return MHD_YES;
}

static enum MHD_Result read_forwarded(void *into, enum MHD_ValueKind kind, const char *name_z,
                                      const char *value_z)
{
    (void)kind;
    struct forwarded_headers *headers = into;
    const struct str name = str_from(name_z);
    const struct str value = value_z ? str_from(value_z) : STR("");
    if (str_eq_nocase(name, STR("Forwarded")))
        headers->forwarded = value;
    else if (str_eq_nocase(name, STR("X-Forwarded-For")))
        headers->forwarded_for = value;
    else if (str_eq_nocase(name, STR("X-Forwarded-Proto")))
        headers->forwarded_proto = value;
    return MHD_YES;
}

/* The loopback address means this machine only when it is said by a proxy on this machine. */
void forwarded_take(struct exchange *x)
{
    struct forwarded_headers headers = {0};
    struct http_request *request = &x->request;
    ignore(MHD_get_connection_values(x->connection, MHD_HEADER_KIND, read_forwarded, &headers),
           "it only counts");
    const struct forwarded f = forwarded_read(&request->arena, &headers);
    if (f.has_proto)
        request->is_secure = f.is_https;
    if (!f.is_forwarded)
        return;
    request->is_loopback = request->is_loopback && f.is_known && address_is_loopback(&f.address);
    if (f.is_known) {
        const struct in6_addr network = address_network(f.address);
        memcpy(request->address, &network, sizeof request->address);
        memcpy(request->client, &f.address, sizeof request->client);
    }
}

/* Behind the last line stands only the empty one. The method is the first thing in a head. */
static bool ends_in_place(const struct head *head, struct MHD_Connection *connection,
                          const char *method)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info && method + info->header_size == head->next + 2;
}

/* Two ways to tell where the body ends are one too many: whoever stands between the client and us
 * may have taken the other, and what it let through as a body would be a request here. */
bool head_read(struct MHD_Connection *connection, const char *method, const char *version,
               struct framing *out_framing)
{
    const bool is_old = strcmp(version, "HTTP/1.0") == 0;
    struct head head = {.next = version + strlen(version) + 2};
    int64_t length = 0;
    ignore(MHD_get_connection_values(connection, MHD_HEADER_KIND, read_header, &head),
           "it only counts");
    if (head.is_bad || !ends_in_place(&head, connection, method) || head.hosts > 1 ||
        (head.hosts == 0 && !is_old) || head.lengths + head.encodings > 1)
        return false;
    if (head.encodings && (is_old || !str_eq_nocase(head.encoding, STR("chunked"))))
        return false;
    if (head.lengths && !str_parse_i64(head.length, &length))
        return false;
    *out_framing = (struct framing){.is_chunked = head.encodings > 0, .length = (uint64_t)length};
    return true;
}
