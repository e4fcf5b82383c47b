/* redfish.h - one order on its way through a Redfish service; shared by the redfish_*.c files.
 *
 * A job asks one thing at a time. redfish_ask() sends it; answers that mean "later", "elsewhere" or
 * "no" are dealt with in redfish.c, and only one that did what was asked reaches the step's own
 * function. Documents live in `page` until the next request.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json/json.h"
#include "power/hammer/http_client.h"
#include "power/hammer/power_op.h"
#include "power/hammer/redfish_documents.h"
#include "power/hammer/redfish_vendors.h"

struct redfish;
typedef void redfish_step(struct redfish *r, const struct json *document);

struct redfish_request {
    const char *method;
    const char *path;
    struct str body;
    const char *if_match; /* NULL: none */
    bool is_anonymous;
    redfish_step *then;
    /* May be NULL. Asked about a refusal (4xx, but for those that mean who we are, or later) before
     * it becomes a failure; true: it goes on in another way. */
    bool (*mend)(struct redfish *r, int status);
};

struct redfish {
    struct power_op *work;
    struct http_client_call *call; /* NULL: nothing is asked */
    struct arena page;             /* the last answer */
    const char *base;              /* "https://host:port" */
    const char *ca;
    bool insecure;
    char *password;      /* wiped at the end */
    struct str login;    /* too */
    const char *token;   /* of the session */
    const char *session; /* its path */

    struct redfish_request now; /* what is asked */
    uint32_t redirects;
    uint32_t tries;
    char etag[WEB_TEXT_MAX];     /* of the last answer */
    char location[WEB_TEXT_MAX]; /* of the last answer */
    int status;                  /* of the last answer */

    const struct redfish_vendor *vendor;
    struct redfish_root root;
    uint32_t pages;        /* of the collection of systems */
    uint32_t member_count; /* seen so far */
    const char *member;    /* the last one seen */
    const char *path;      /* of the system */
    struct redfish_system system;

    struct str plan; /* reset types still to be sent, with + between */
    enum redfish_power wanted;
    enum redfish_power wanted_at_end;
    const char *boot_path; /* what takes the change of the boot device */
    struct str boot_target;
    const char *boot_enabled;
    uint32_t boot_tries;
    uint32_t boot_looks;
    uint32_t light_tries;
    redfish_step *task_done;
};

void redfish_ask(struct redfish *r, const struct redfish_request *request);
void redfish_get(struct redfish *r, const char *path, redfish_step *then);
/* Reads the system again. */
void redfish_look(struct redfish *r, redfish_step *then);
/* A change was accepted: go on with `then` when the task it may have become is done. */
void redfish_follow(struct redfish *r, const struct json *document, redfish_step *then);
int64_t redfish_lag_ms(const struct redfish *r);

/* The system is known: do what the order says. redfish_act.c, redfish_boot.c */
void redfish_act(struct redfish *r);
void redfish_boot(struct redfish *r, bool once);
