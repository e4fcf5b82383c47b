/* reason.c - tables: the name of each reason code, and the kind of object that it is reported
 * for. */
#include "model/reason.h"

#include "base/err.h"

const char *reason_name(enum reason_code code)
{
    static const char *const names[REASON_COUNT] = {
#define X(name, text, object) [REASON_##name] = text,
        REASONS(X)
#undef X
    };
    must(code < REASON_COUNT);
    return names[code];
}

enum reason_object reason_object(enum reason_code code)
{
    static const enum reason_object objects[REASON_COUNT] = {
#define X(name, text, object) [REASON_##name] = REASON_OF_##object,
        REASONS(X)
#undef X
    };
    must(code < REASON_COUNT);
    return objects[code];
}
