/* findings.h - what is missing to serve: one sentence each, with what to do.
 *
 * Findings are collected while the program starts. --check prints them; otherwise they are logged,
 * and those of a service are reported to the daemon, whose noderoles show them. A finding of a
 * service limits that service only; a fatal one ends the start.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

enum boot_service { SERVICE_PROGRAM, SERVICE_DHCP, SERVICE_TFTP, SERVICE_HTTP, SERVICE_COUNT };

enum finding_weight {
    FINDING_NOTE,  /* everything named is served, but less well protected, or without some files */
    FINDING_LIMIT, /* a part of the service is not served */
    FINDING_FATAL  /* nothing can be served */
};

struct finding {
    struct finding *next;
    enum boot_service service;
    enum finding_weight weight;
    struct str text;
};

struct findings {
    struct arena arena;
    struct finding *first, *last;
    bool is_fatal; /* there is a fatal one */
};

void findings_fini(struct findings *f);
__attribute__((format(printf, 4, 5))) void findings_add(struct findings *f,
                                                        enum boot_service service,
                                                        enum finding_weight weight,
                                                        const char *format, ...);
/* Prints them to stdout. */
void findings_print(const struct findings *f);
/* Logs them. */
void findings_log(const struct findings *f);
/* The findings of a service that limit it, separated by "; "; empty if there is none. */
struct str findings_of_service(const struct findings *f, enum boot_service service,
                               struct arena *a);
