/* forwarded.c - parses Forwarded (RFC 7239), X-Forwarded-For and X-Forwarded-Proto.
 *
 * Only the last element of each header was written by the trusted proxy. Everything before it is
 * untrusted, including attempts to open a quoted string that the last element would close. What
 * cannot be parsed makes the client unknown; it never falls back to an earlier element.
 *
 * It owns nothing. Forwarded is parsed before the X- headers, which can only confirm it: if they
 * differ, the client becomes unknown, and the scheme is https only if both report https.
 */
#include "http/forwarded.h"

#include "http/address.h"

static bool forwarded_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct str forwarded_trim(struct str s)
{
    uint32_t from = 0, to = s.len;
    while (from < to && forwarded_is_blank(s.at[from]))
        from++;
    while (to > from && forwarded_is_blank(s.at[to - 1]))
        to--;
    return str_slice(s, from, to);
}

/* The item after the last comma. */
static struct str forwarded_last_item(struct str s)
{
    uint32_t from = s.len;
    while (from && s.at[from - 1] != ',')
        from--;
    return forwarded_trim(str_slice(s, from, s.len));
}

/* Where the next `separator` outside of quoted strings is, from `from` on; s.len when there is
 * none. */
static uint32_t forwarded_find_unquoted(struct str s, char separator, uint32_t from)
{
    bool is_quoted = false;
    for (uint32_t i = from; i < s.len; i++) {
        if (is_quoted && s.at[i] == '\\')
            i++;
        else if (s.at[i] == '"')
            is_quoted = !is_quoted;
        else if (!is_quoted && s.at[i] == separator)
            return i;
    }
    return s.len;
}

/* True if the line ends inside a quoted string. A client may open a quoted string that the element
 * of the proxy closes and opens again, so that parameters of the client would count as the
 * proxy's. */
static bool forwarded_ends_quoted(struct str s)
{
    bool is_quoted = false;
    for (uint32_t i = 0; i < s.len; i++) {
        if (is_quoted && s.at[i] == '\\')
            i++;
        else if (s.at[i] == '"')
            is_quoted = !is_quoted;
    }
    return is_quoted;
}

/* The last element of Forwarded; empty if the line is malformed. */
static struct str forwarded_last_element(struct str s)
{
    uint32_t from = 0;
    if (forwarded_ends_quoted(s))
        return STR("");
    for (uint32_t at = forwarded_find_unquoted(s, ',', 0); at < s.len;
         at = forwarded_find_unquoted(s, ',', from))
        from = at + 1;
    return forwarded_trim(str_slice(s, from, s.len));
}

/* The text of a token or a quoted string; empty for a quoted string that does not end. */
static struct str forwarded_unquote(struct arena *a, struct str s)
{
    if (s.len == 0 || s.at[0] != '"')
        return s;
    char *text = arena_alloc(a, s.len);
    uint32_t len = 0;
    for (uint32_t i = 1; i < s.len; i++) {
        if (s.at[i] == '"')
            return i + 1 == s.len ? (struct str){text, len} : STR("");
        if (s.at[i] == '\\')
            i++;
        if (i < s.len)
            text[len++] = s.at[i];
    }
    return STR("");
}

/* The value of a parameter of one element of Forwarded. False: absent or repeated. */
static bool forwarded_find_parameter(struct arena *a, struct str element, struct str name,
                                     struct str *out_value)
{
    uint32_t count = 0;
    for (uint32_t from = 0; from < element.len;) {
        const uint32_t end = forwarded_find_unquoted(element, ';', from);
        const struct str pair = forwarded_trim(str_slice(element, from, end));
        const uint32_t equals = str_find(pair, '=', 0);
        if (equals < pair.len && str_eq_nocase(str_slice(pair, 0, equals), name)) {
            *out_value = forwarded_unquote(a, str_slice(pair, equals + 1, pair.len));
            count++;
        }
        from = end + 1;
    }
    return count == 1;
}

/* 192.0.2.1, 192.0.2.1:80, 2001:db8::1, [2001:db8::1] or [2001:db8::1]:80. Other values
 * ("unknown", "_hidden") are not addresses, and the unspecified address is no client. */
static bool forwarded_parse_node(struct str node, struct in6_addr *out_address)
{
    const uint32_t colon = str_find(node, ':', 0);
    bool is_read;
    if (node.len && node.at[0] == '[') {
        const uint32_t end = str_find(node, ']', 0);
        const struct str port = str_slice(node, end + 1, node.len);
        is_read = end < node.len && (port.len == 0 || port.at[0] == ':') &&
                  str_find(str_slice(node, 0, end), ':', 0) < end &&
                  address_parse(str_slice(node, 1, end), out_address);
    } else {
        const bool has_port = colon < node.len && str_find(node, ':', colon + 1) == node.len;
        is_read = address_parse(has_port ? str_slice(node, 0, colon) : node, out_address);
    }
    return is_read && !address_is_unspecified(out_address);
}

static void forwarded_parse_header(struct arena *a, struct str line, struct forwarded *out)
{
    const struct str element = forwarded_last_element(line);
    struct str node, proto;
    out->is_forwarded = true;
    out->is_known = forwarded_find_parameter(a, element, STR("for"), &node) &&
                    forwarded_parse_node(node, &out->address);
    out->has_proto = forwarded_find_parameter(a, element, STR("proto"), &proto);
    out->is_https = out->has_proto && str_eq_nocase(proto, STR("https"));
}

static void forwarded_parse_for(struct arena *a, struct str line, struct forwarded *out)
{
    struct in6_addr address;
    const bool is_known =
        forwarded_parse_node(forwarded_unquote(a, forwarded_last_item(line)), &address);
    if (out->is_forwarded) {
        out->is_known = out->is_known && is_known && IN6_ARE_ADDR_EQUAL(&out->address, &address);
        return;
    }
    out->is_forwarded = true;
    out->is_known = is_known;
    if (is_known)
        out->address = address;
}

static void forwarded_parse_proto(struct str line, struct forwarded *out)
{
    const bool is_https = str_eq_nocase(forwarded_last_item(line), STR("https"));
    out->is_https = is_https && (out->is_https || !out->has_proto);
    out->has_proto = true;
}

struct forwarded forwarded_read(struct arena *a, const struct forwarded_headers *headers)
{
    struct forwarded f = {0};
    if (headers->forwarded.at)
        forwarded_parse_header(a, headers->forwarded, &f);
    if (headers->forwarded_for.at)
        forwarded_parse_for(a, headers->forwarded_for, &f);
    if (headers->forwarded_proto.at)
        forwarded_parse_proto(headers->forwarded_proto, &f);
    return f;
}
