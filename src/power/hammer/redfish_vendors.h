/* redfish_vendors.h - what differs from one maker of service processors to the next, as data.
 *
 * Redfish says what a service may offer, not what it does; everything that depends on whose it is
 * stands in one table. The first row is for whoever is not known. Rows live for ever.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

/* BootSourceOverrideMode in a change of the boot device. */
enum redfish_mode {
    REDFISH_MODE_NEVER, /* it refuses a change that mentions it            */
    REDFISH_MODE_SHOWN, /* it forgets the mode unless it is said again, so
                         * what it shows is sent back                      */
};

/* Lists are words with single spaces between, the better first. */
struct redfish_vendor {
    const char *name;
    const char *marks; /* words in Manufacturer, Vendor or Oem that tell, in lower case          */

    /* Reset types for our methods. A+B: both, one after the other, when both are offered. */
    const char *on;
    const char *off;
    const char *cycle;
    const char *reset;
    const char *halt;

    const char *pxe; /* boot targets; None: no override, the machine's own order */
    const char *disk;
    enum redfish_mode mode;
    bool wants_etag;    /* a change without If-Match is refused (428), so it is sent at once */
    bool can_persist;   /* where it does not list what is allowed: is Continuous?            */
    const char *light;  /* values of IndicatorLED that make the machine known               */
    uint32_t lag_ms;    /* how often to look whether the power state has followed           */
    uint32_t settle_ms; /* an action is refused this soon after the one before; wait        */
};

/* `marks` of anything that tells who it is; empty texts are fine. Never NULL. */
const struct redfish_vendor *redfish_vendor_find(const struct str *texts, uint32_t count);

/* The first of `wanted` that is among the offered, or all of whose parts are. Empty: none. */
struct str redfish_pick(struct str wanted, const struct str *offered, uint32_t count);
