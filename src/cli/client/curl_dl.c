#include "cli/client/curl_dl.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Owns the handle of the library and the table of its functions, for the rest of the process. All
 * functions are looked up before curl_global_init is called. On failure the message is in `why`,
 * nothing is usable, and the next call tries again. */

static bool curl_dl_find(void *library, const char *name, void *slot)
{
    void *found = dlsym(library, name);
    /* ISO C has no cast from an object pointer to a function pointer; POSIX permits the copy. */
    memcpy(slot, &found, sizeof found);
    return found != NULL;
}

static bool curl_dl_load(void *library, struct curl_dl *curl)
{
#define X(name)                                                                                    \
    if (!curl_dl_find(library, "curl_" #name, &curl->name))                                        \
        return false;
    CURL_FUNCTIONS(X)
#undef X
    return true;
}

const struct curl_dl *curl_dl_open(char *why, size_t why_size)
{
    static struct curl_dl curl;
    static bool is_open;
    if (is_open)
        return &curl;
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    is_open = library && curl_dl_load(library, &curl) &&
              curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    if (is_open)
        return &curl;
    const char *what = dlerror();
    snprintf(why, why_size, "cannot load libcurl: %s", what ? what : "initialization failed");
    return NULL;
}
