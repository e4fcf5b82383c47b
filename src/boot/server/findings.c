#include "boot/server/findings.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text/buf.h"
#include "sys/log.h"

enum { TEXT_MAX = 512 }; /* bytes of a finding; a longer one is cut */

void findings_fini(struct findings *f)
{
    arena_fini(&f->arena);
    *f = (struct findings){0};
}

void findings_add(struct findings *f, enum boot_service service, enum finding_weight weight,
                  const char *format, ...)
{
    char text[TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct finding *finding = arena_new(&f->arena, struct finding);
    finding->service = service;
    finding->weight = weight;
    finding->text = str_copy(&f->arena, str_from(text));
    if (f->last)
        f->last->next = finding;
    else
        f->first = finding;
    f->last = finding;
    f->is_fatal |= weight == FINDING_FATAL;
}

void findings_print(const struct findings *f)
{
    for (const struct finding *at = f->first; at; at = at->next)
        printf("%.*s\n", STR_FMT_ARGS(at->text));
}

void findings_log(const struct findings *f)
{
    for (const struct finding *at = f->first; at; at = at->next) {
        if (at->weight == FINDING_FATAL)
            log_print(LOG_ERROR, "%.*s", STR_FMT_ARGS(at->text));
        else
            log_print(LOG_WARNING, "%.*s", STR_FMT_ARGS(at->text));
    }
}

struct str findings_of_service(const struct findings *f, enum boot_service service, struct arena *a)
{
    struct buf b = buf_in(a);
    for (const struct finding *at = f->first; at; at = at->next) {
        if (at->service != service || at->weight == FINDING_NOTE)
            continue;
        if (b.len)
            buf_put_z(&b, "; ");
        buf_put_str(&b, at->text);
    }
    return buf_str(&b);
}
