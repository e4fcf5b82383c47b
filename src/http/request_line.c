/* request_line.c - parses the target of a request and verifies that its head is unambiguous.
 *
 * libmicrohttpd tolerates malformed heads that a proxy may interpret differently. To rule out
 * request smuggling, head_read() checks the raw bytes in libmicrohttpd's buffer: names are tokens,
 * lines end with CR LF, there is one host and one framing. The target is decoded here and not by
 * libmicrohttpd, because that does not report wrong escapes.
 *
 * It owns nothing: decoded strings are in the arena of the request. The absolute form is reduced
 * first, then path and query are separated, and each part is decoded after it was split off, so
 * that an escaped separator (%2F, %26) does not split.
 *
 * Failure: target_parse() returns an error and the request is partly filled; head_read() returns
 * false. The caller answers 400, or 404 for ERR_LIMIT.
 */
#include "http/http_private.h"

#include <string.h>

#include "base/err.h"
#include "http/address.h"
#include "http/forwarded.h"

/* --- target -----------------------------------------------------------------------------------*/

static int target_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Decode percent escapes. Only in a query a plus is a space. False: malformed, or not UTF-8. */
static bool target_decode(struct arena *a, struct str raw, bool plus_is_space, struct str *out_text)
{
    char *at = arena_alloc(a, raw.len);
    uint32_t len = 0;
    for (uint32_t i = 0; i < raw.len; i++) {
        char c = raw.at[i];
        if (c == '+' && plus_is_space)
            c = ' ';
        if (c == '%') {
            const int high = i + 2 < raw.len ? target_hex_digit(raw.at[i + 1]) : -1;
            const int low = i + 2 < raw.len ? target_hex_digit(raw.at[i + 2]) : -1;
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

static bool target_parse_query(struct http_request *request, struct str raw)
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
        if (!target_decode(&request->arena, str_slice(part, 0, equals), true, &pair->name) ||
            !target_decode(&request->arena, str_slice(part, equals + 1, part.len), true,
                           &pair->value))
            return false;
        *link = pair;
        link = &pair->next;
    }
    return true;
}

/* Strip "http://host" of the absolute form, which clients send to proxies and every server must
 * accept (RFC 9112, 3.2.2). */
static struct str target_strip_authority(struct str raw)
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

static bool target_has_blanks(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++)
        if ((unsigned char)s.at[i] <= ' ' || s.at[i] == '\x7f')
            return true;
    return false;
}

/* A slash that was sent as %2F is part of a segment. */
static err target_parse_segments(struct http_request *request, struct str raw)
{
    uint32_t end;
    for (uint32_t at = 1; at < raw.len; at = end + 1) {
        end = str_find(raw, '/', at);
        if (request->segment_count == HTTP_SEGMENTS_MAX)
            return ERR_LIMIT;
        struct str *segment = &request->segments[request->segment_count++];
        if (!target_decode(&request->arena, str_slice(raw, at, end), false, segment))
            return ERR_SYNTAX;
    }
    return OK;
}

err target_parse(struct http_request *request, struct str raw)
{
    const struct str target = target_strip_authority(raw);
    const uint32_t mark = str_find(target, '?', 0);
    const struct str path = str_slice(target, 0, mark);
    if (!str_starts(target, STR("/")) || target_has_blanks(target) ||
        !target_decode(&request->arena, path, false, &request->path) ||
        !target_parse_query(request, str_slice(target, mark + 1, target.len)))
        return ERR_SYNTAX;
    return target_parse_segments(request, path);
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

/* libmicrohttpd tolerates many errors and ends strings at the first zero byte, so it may read
 * another head than a proxy before it. It parses in place and overwrites only the colon and the end
 * of each line: in a well-formed head every name begins right after the two bytes that ended the
 * previous line. Zero bytes, single CRs and LFs and folded lines all leave a gap, which is
 * detected. */
struct head {
    const char *next; /* where the next name must begin */
    bool is_bad;
    uint32_t hosts;     /* counts of the headers Host, */
    uint32_t lengths;   /* Content-Length              */
    uint32_t encodings; /* and Transfer-Encoding       */
    struct str length;
    struct str encoding;
};

/* tchar of RFC 9110, at least one */
static bool head_is_token(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++)
        if (!char_is_letter(s.at[i]) && !char_is_digit(s.at[i]) &&
            !memchr("!#$%&'*+-.^_`|~", s.at[i], 15))
            return false;
    return s.len > 0;
}

static bool head_has_controls(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++)
        if (((unsigned char)s.at[i] < ' ' && s.at[i] != '\t') || s.at[i] == '\x7f')
            return true;
    return false;
}

static enum MHD_Result head_on_header(void *into, enum MHD_ValueKind kind, const char *name_z,
                                      const char *value_z)
{
    (void)kind;
    struct head *head = into;
    const struct str name = str_from(name_z);
    const struct str value = str_from(value_z);
    if (!value_z || name_z != head->next || !head_is_token(name) || head_has_controls(value)) {
        head->is_bad = true;
        return MHD_NO;
    }
    head->next = value.at + value.len + 2; /* after CR LF */
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

static enum MHD_Result head_on_forwarded(void *into, enum MHD_ValueKind kind, const char *name_z,
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

/* A loopback address in the header means this host only if the proxy itself is on this host. */
void forwarded_apply(struct exchange *x)
{
    struct forwarded_headers headers = {0};
    struct http_request *request = &x->request;
    ignore(MHD_get_connection_values(x->connection, MHD_HEADER_KIND, head_on_forwarded, &headers),
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

/* After the last header there is only the empty line. The head begins with the method. */
static bool head_ends_in_place(const struct head *head, struct MHD_Connection *connection,
                               const char *method)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info && method + info->header_size == head->next + 2;
}

/* Content-Length together with Transfer-Encoding, or either of them twice, is refused: a proxy may
 * have used the other one, and what it forwarded as a body would be a request here. */
bool head_read(struct MHD_Connection *connection, const char *method, const char *version,
               struct framing *out_framing)
{
    const bool is_old = strcmp(version, "HTTP/1.0") == 0;
    struct head head = {.next = version + strlen(version) + 2};
    int64_t length = 0;
    ignore(MHD_get_connection_values(connection, MHD_HEADER_KIND, head_on_header, &head),
           "it only counts");
    if (head.is_bad || !head_ends_in_place(&head, connection, method) || head.hosts > 1 ||
        (head.hosts == 0 && !is_old) || head.lengths + head.encodings > 1)
        return false;
    if (head.encodings && (is_old || !str_eq_nocase(head.encoding, STR("chunked"))))
        return false;
    if (head.lengths && !str_parse_i64(head.length, &length))
        return false;
    *out_framing = (struct framing){.is_chunked = head.encodings > 0, .length = (uint64_t)length};
    return true;
}
