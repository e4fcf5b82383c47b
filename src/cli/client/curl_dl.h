/* curl_dl.h - libcurl, loaded with dlopen before the first HTTP request (ADR 0060).
 *
 * libcurl depends on thirty libraries, and commands without a daemon (--version, --help,
 * completion, barclamp check) should not wait until they are loaded. The library is loaded once and
 * is not unloaded.
 */
#pragma once

#define CURL_DISABLE_TYPECHECK /* the checks do not work with pointers to the functions */
#include <curl/curl.h>
#include <stddef.h>

#define CURL_FUNCTIONS(X)                                                                          \
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
    CURL_FUNCTIONS(X)
#undef X
};

/* The functions of libcurl. NULL: the library cannot be loaded, and `why` has the message. */
const struct curl_dl *curl_dl_open(char *why, size_t why_size);
