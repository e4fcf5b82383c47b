/* redfish.h - the state of an operation on a Redfish service; shared by the redfish_*.c files.
 *
 * One request is in progress at a time. redfish_send() sends it; redfish.c handles retries,
 * redirects and refusals, and calls `then` for a successful response only. Parsed documents are in
 * `page` and are valid until the next request.
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
    bool is_anonymous;    /* sent without credentials */
    redfish_step *then;   /* called with the document of a 2xx response; NULL: it had none */
    /* May be NULL. Called for a refusal (a 4xx status except those about credentials or load)
     * before it becomes a failure. True: another request was sent, or the operation continues. */
    bool (*on_refusal)(struct redfish *r, int status);
};

struct redfish {
    struct power_op *op;
    struct http_client_call *call; /* NULL: no request is in progress */
    struct arena page;             /* the last response */
    const char *base;              /* "https://HOST:PORT" */
    const char *ca;      /* path of a file with CA certificates; NULL: those of the system */
    bool insecure;       /* certificates are not verified */
    char *password;      /* overwritten at the end */
    struct str login;    /* body of the login request; overwritten at the end */
    const char *token;   /* of the session; NULL: basic authentication */
    const char *session; /* path of the session; NULL: none */

    struct redfish_request now;       /* the current request */
    uint32_t redirects;               /* followed for the current request */
    uint32_t tries;                   /* repetitions of the current request */
    char etag[HTTP_CLIENT_VALUE_MAX]; /* headers and status of the last response; "": absent */
    char location[HTTP_CLIENT_VALUE_MAX];
    int status;

    const struct redfish_vendor *vendor;
    struct redfish_root root;
    uint32_t pages;        /* of the collection of systems, read so far */
    uint32_t member_count; /* systems found so far */
    const char *member;    /* path of the last system found */
    const char *path;      /* of the chosen system */
    struct redfish_system system;

    struct str plan;                  /* ResetType values still to be sent, separated by + */
    enum redfish_power wanted;        /* state to wait for after the current reset */
    enum redfish_power wanted_at_end; /* state to wait for after the last reset */
    const char *boot_path;            /* resource that receives the change of the boot device */
    struct str boot_target;
    const char *boot_enabled; /* Once, Continuous or Disabled */
    uint32_t boot_tries;      /* refusals of the change */
    uint32_t boot_polls;      /* polls for the new boot device */
    uint32_t led_tries;       /* repetitions of the LED change */
    redfish_step *task_done;  /* called when the task of the service has ended */
};

void redfish_send(struct redfish *r, const struct redfish_request *request);
void redfish_get(struct redfish *r, const char *path, redfish_step *then);
/* Reads the document of the chosen system. */
void redfish_read_system(struct redfish *r, redfish_step *then);
/* Calls `then` after an accepted change: at once, or when the task that the service created for the
 * change (202 Accepted) has ended. */
void redfish_await_task(struct redfish *r, const struct json *document, redfish_step *then);
/* The interval of polls of this vendor. */
int64_t redfish_poll_ms(const struct redfish *r);

/* Perform the order on the chosen system: redfish_act.c, redfish_boot.c. */
void redfish_act(struct redfish *r);
void redfish_boot(struct redfish *r, bool once);
