/* request_log.c - log lines about requests. Strings of clients are shortened, because their length
 * is chosen by the client. It owns nothing and cannot fail. */
#include "http/request_log.h"

#include <string.h>

#include "http/address.h"
#include "sys/log.h"

enum { KEY_SHOWN_MAX = 64, PATH_SHOWN_MAX = 200 };

void request_log_repeated_key(const struct http_request *request, struct str key)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    memcpy(&address, request->client, sizeof address);
    log_with(LOG_NOTICE,
             LOG_FIELDS(LOG_S("path", str_clip(request->path, PATH_SHOWN_MAX)),
                        LOG_S("key", str_clip(key, KEY_SHOWN_MAX)),
                        LOG_Z("address", address_text(&address, text))),
             "request body repeats a key in one JSON object; its last value is used");
}
