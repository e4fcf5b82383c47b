/* redfish_vendors.c - the table of vendors, and the choice among the values that a system offers
 * (reset types, boot targets, states of the LED). Stateless. */
#include "power/hammer/redfish_vendors.h"

#include "model/hammer_class.h"

/* clang-format off */
static const struct redfish_vendor vendors[] = {
    {
        .name = "generic", .keywords = "",
        .on = "On ForceOn PushPowerButton", .off = "ForceOff",
        .cycle = "PowerCycle ForceOff+On ForceOff+ForceOn ForceRestart",
        .reset = "ForceRestart PowerCycle", .halt = "GracefulShutdown PushPowerButton",
        .pxe = "Pxe", .disk = "Hdd None", .mode = REDFISH_MODE_NEVER,
        .can_persist = true, .led = "Blinking Lit", .poll_ms = 2000,
    },
    {   /* Since iDRAC 10 Boot of the system is read-only and its settings object takes the change;
         * the power state follows after some seconds. */
        .name = "dell", .keywords = "dell",
        .on = "On PushPowerButton", .off = "ForceOff",
        .cycle = "PowerCycle ForceOff+On", .reset = "ForceRestart PowerCycle",
        .halt = "GracefulShutdown PushPowerButton",
        .pxe = "Pxe", .disk = "Hdd None", .mode = REDFISH_MODE_NEVER,
        .can_persist = true, .led = "Blinking Lit", .poll_ms = 3000,
    },
    {   /* iLO: most have no PowerCycle; the mode is not writable; PushPowerButton is the graceful
         * shutdown of older ones, and replaces On where that is missing. */
        .name = "hpe", .keywords = "hpe hp hewlett",
        .on = "On PushPowerButton", .off = "ForceOff",
        .cycle = "PowerCycle ForceOff+On", .reset = "ForceRestart",
        .halt = "GracefulShutdown PushPowerButton",
        .pxe = "Pxe", .disk = "Hdd None", .mode = REDFISH_MODE_NEVER,
        .can_persist = true, .led = "Lit Blinking", .poll_ms = 3000, .settle_ms = 1000,
    },
    {   /* Falls back to legacy mode when the change does not name the mode. */
        .name = "supermicro", .keywords = "supermicro",
        .on = "On ForceOn", .off = "ForceOff",
        .cycle = "PowerCycle ForceOff+On", .reset = "ForceRestart PowerCycle",
        .halt = "GracefulShutdown",
        .pxe = "Pxe", .disk = "Hdd UefiHdd None", .mode = REDFISH_MODE_SHOWN,
        .wants_etag = true, .can_persist = true, .led = "Blinking Lit", .poll_ms = 3000,
    },
    {   /* XCC: those on AMD answer 428 to a change without If-Match. */
        .name = "lenovo", .keywords = "lenovo",
        .on = "On ForceOn", .off = "ForceOff",
        .cycle = "PowerCycle ForceOff+On", .reset = "ForceRestart",
        .halt = "GracefulShutdown",
        .pxe = "Pxe", .disk = "Hdd None", .mode = REDFISH_MODE_NEVER,
        .wants_etag = true, .can_persist = false, .led = "Blinking Lit", .poll_ms = 2000,
    },
};
/* clang-format on */

static bool is_word_boundary(struct str s, uint32_t at)
{
    return at >= s.len || (!char_is_letter(s.at[at]) && !char_is_digit(s.at[at]));
}

/* True if the text contains the word, in any case and delimited: "HP" is not in "Sharp". */
static bool text_contains_word(struct str text, struct str word)
{
    for (uint32_t i = 0; i + word.len <= text.len; i++) {
        const bool begins = i == 0 || is_word_boundary(text, i - 1);
        if (begins && is_word_boundary(text, i + word.len) &&
            str_eq_nocase(str_slice(text, i, i + word.len), word))
            return true;
    }
    return false;
}

static bool vendor_matches(const struct redfish_vendor *vendor, struct str text)
{
    for (struct str rest = str_from(vendor->keywords); rest.len;)
        if (text_contains_word(text, hammer_next_word(&rest)))
            return true;
    return false;
}

const struct redfish_vendor *redfish_vendor_find(const struct str *texts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t v = 1; v < sizeof vendors / sizeof *vendors; v++)
            if (vendor_matches(&vendors[v], texts[i]))
                return &vendors[v];
    return &vendors[0];
}

static bool value_is_offered(struct str value, const struct str *offered, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (str_eq(offered[i], value))
            return true;
    return false;
}

/* True if every part of the word is offered; the parts are separated by +. */
static bool value_parts_are_offered(struct str word, const struct str *offered, uint32_t count)
{
    for (uint32_t from = 0; from <= word.len;) {
        const uint32_t to = str_find(word, '+', from);
        if (!value_is_offered(str_slice(word, from, to), offered, count))
            return false;
        from = to + 1;
    }
    return true;
}

struct str redfish_pick(struct str wanted, const struct str *offered, uint32_t count)
{
    while (wanted.len) {
        const struct str word = hammer_next_word(&wanted);
        if (value_parts_are_offered(word, offered, count))
            return word;
    }
    return STR("");
}
