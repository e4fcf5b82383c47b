#include "api/call/csrf.h"

/* Detection of cross-site requests (CSRF, cross-site request forgery) by headers alone. It has no
 * state and cannot fail; the caller makes the reply. */

/* Strips the default port of the scheme. */
static struct str csrf_strip_default_port(struct str authority, bool is_https)
{
    const struct str usual = is_https ? STR(":443") : STR(":80");
    return str_ends(authority, usual) ? str_slice(authority, 0, authority.len - usual.len)
                                      : authority;
}

/* Is the origin the host of the request? The origin "null" and other schemes than http and https
 * are not. A Host without a port means the default port of the scheme that the browser uses, which
 * a proxy may terminate. */
static bool csrf_is_same_host(struct str origin, struct str host)
{
    const struct str plain = STR("http://"), secure = STR("https://");
    const bool is_https = str_starts(origin, secure);
    if (!is_https && !str_starts(origin, plain))
        return false;
    const struct str from = str_slice(origin, is_https ? secure.len : plain.len, origin.len);
    return host.len && str_eq_nocase(csrf_strip_default_port(from, is_https),
                                     csrf_strip_default_port(host, is_https));
}

bool csrf_is_foreign_origin(const struct http_request *request)
{
    if (request->method == HTTP_GET || request->method == HTTP_HEAD)
        return false;
    const struct str origin = http_header(request, "Origin");
    return str_eq_nocase(http_header(request, "Sec-Fetch-Site"), STR("cross-site")) ||
           (origin.len && !csrf_is_same_host(origin, http_header(request, "Host")));
}
