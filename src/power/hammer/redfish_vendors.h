/* redfish_vendors.h - differences between the service processors of vendors, as one table.
 *
 * The standard leaves much open: which ResetType switches a machine off, whether a change needs
 * If-Match, how soon the power state follows. Everything that depends on the vendor is in this
 * table. Its first row is for unknown vendors. Rows are constants.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

/* BootSourceOverrideMode in a change of the boot device. */
enum redfish_mode {
    REDFISH_MODE_NEVER, /* not sent: the service refuses a change with the mode */
    REDFISH_MODE_SHOWN, /* the reported mode is sent back, because the service
                         * otherwise resets it                              */
};

/* Lists are words separated by single spaces, in order of preference. */
struct redfish_vendor {
    const char *name;
    const char *keywords; /* lower-case words in Manufacturer, Vendor or Oem that identify it */

    /* ResetType values for our methods. A+B: both in sequence, if both are offered. */
    const char *on;
    const char *off;
    const char *cycle;
    const char *reset;
    const char *halt;

    const char *pxe; /* boot targets; None: no override, the boot order of the machine */
    const char *disk;
    enum redfish_mode mode;
    bool wants_etag;    /* If-Match is sent at once, since a change without it gets 428 */
    bool can_persist;   /* Continuous is allowed if the service lists no allowed values */
    const char *led;    /* IndicatorLED values that identify the machine                */
    uint32_t poll_ms;   /* interval of polls for the power state                        */
    uint32_t settle_ms; /* pause between two actions, which are refused if sent sooner  */
};

/* The first row whose keyword is in one of the texts, which may be empty; otherwise the generic
 * row. Never NULL. */
const struct redfish_vendor *redfish_vendor_find(const struct str *texts, uint32_t count);

/* The first word of `wanted` that is offered, or all of whose parts are. Empty: none. */
struct str redfish_pick(struct str wanted, const struct str *offered, uint32_t count);
