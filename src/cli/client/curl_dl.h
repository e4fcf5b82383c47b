/* curl_dl.h - libcurl, fetched when somebody has to be asked.
 *
 * It brings thirty libraries with it, and what needs no daemon (--version, --help, completion,
 * barclamp check) should not wait for them. So it is not linked but opened, once, and stays.
 */
#pragma once

#define CURL_DISABLE_TYPECHECK /* the checks are of the function, not of a pointer to it */
#include <curl/curl.h>
#include <stddef.h>

#define WEB_CALLS(X)                                                                               \
    X(easy_cleanup)                                                                                \
    X(easy_getinfo)                                                                                \
    X(easy_init)                                                                                   \
    X(easy_perform)                                                                                \
    X(easy_reset)                                                                                  \
    X(easy_setopt)                                                                                 \
    X(easy_strerror)                                                                               \
    X(global_init)                                                                                 \
    X(slist_append)                                                                                \
    X(slist_free_all)

struct curl_dl {
#define X(name) __typeof__(&curl_##name) name;
    WEB_CALLS(X)
#undef X
};

/* NULL when it is not there, with a sentence in `why`. */
const struct curl_dl *http_client_open(char *why, size_t why_size);
