#include "cli/client/curl_dl.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool find(void *library, const char *name, void *slot)
{
    void *found = dlsym(library, name);
    memcpy(slot, &found, sizeof found); /* as POSIX would have it: no cast between the two kinds */
    return found != NULL;
}

static bool fill(void *library, struct curl_dl *web)
{
#define X(name)                                                                                    \
    if (!find(library, "curl_" #name, &web->name))                                                 \
        return false;
    WEB_CALLS(X)
#undef X
    return true;
}

const struct curl_dl *http_client_open(char *why, size_t why_size)
{
    static struct curl_dl web;
    static bool is_open;
    if (is_open)
        return &web;
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    is_open = library && fill(library, &web) && web.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    if (is_open)
        return &web;
    const char *what = dlerror();
    snprintf(why, why_size, "libcurl cannot be used: %s", what ? what : "it does not start");
    return NULL;
}
