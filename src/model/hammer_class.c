/* hammer_class.c - the table of hammer classes, and searches in it. Constants only; an unknown
 * class is NULL and has no actions. */
#include "model/hammer_class.h"

#include "base/err.h"

/* clang-format off */
static const struct hammer_class classes[] = {
    /* name, then the words of power, boot, run and xfer; has_no_user */
    {"ssh",     "reboot status", NULL, "run", "copy_from copy_to", false},
    {"ipmi",    "status on off cycle reset halt pxeboot identify", "pxe disk", "invoke", NULL,
                false},
    {"wsman",   "status on off cycle reset halt", NULL,
                "identify enumerate enumerate_epr invoke", NULL, false},
    {"amt",     "status on off cycle", NULL, "invoke", NULL, false},
    {"redfish", "status on off cycle reset halt pxeboot identify", "pxe disk", NULL, NULL, false},
    {"wol",     "on", NULL, NULL, NULL, true},
    /* Without power actions, so that the host of the daemon cannot be restarted by mistake. */
    {"local",   NULL, NULL, "run", "copy_from copy_to", true},
};

static const struct {
    const char *name;
    const char *klass;
} opencrowbar_names[] = {
    {"SecureShellHammer", "ssh"},   {"SshHammer", "ssh"},
    {"IpmiHammer", "ipmi"},         {"WsmanHammer", "wsman"},
    {"AmtHammer", "amt"},           {"RedfishHammer", "redfish"},
    {"WakeOnLanHammer", "wol"},     {"WolHammer", "wol"},
    {"LocalHammer", "local"},
};
/* clang-format on */

/* The part of a Ruby class name after the last "::". The modules before it differ between
 * add-ons of OpenCrowbar and do not matter. */
static struct str hammer_class_unqualified(struct str name)
{
    for (uint32_t i = name.len; i > 0; i--)
        if (name.at[i - 1] == ':')
            return str_slice(name, i, name.len);
    return name;
}

static const struct hammer_class *hammer_class_find_native(struct str name)
{
    for (uint32_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (str_eq(name, str_from(classes[i].name)))
            return &classes[i];
    return NULL;
}

const struct hammer_class *hammer_class_find(struct str klass)
{
    const struct str last = hammer_class_unqualified(klass);
    for (uint32_t i = 0; i < sizeof opencrowbar_names / sizeof opencrowbar_names[0]; i++)
        if (str_eq(last, str_from(opencrowbar_names[i].name)))
            return hammer_class_find_native(str_from(opencrowbar_names[i].klass));
    return hammer_class_find_native(klass);
}

const char *hammer_category_name(enum hammer_category category)
{
    static const char *const names[] = {
#define X(name, lower) [HAMMER_##name] = #lower,
        HAMMER_CATEGORIES(X)
#undef X
    };
    must(category < HAMMER_CATEGORY_COUNT);
    return names[category];
}

struct str hammer_class_words(const struct hammer_class *klass, enum hammer_category category)
{
    switch (category) {
    case HAMMER_POWER: return str_from(klass->power);
    case HAMMER_BOOT: return str_from(klass->boot);
    case HAMMER_RUN: return str_from(klass->run);
    case HAMMER_XFER: return str_from(klass->xfer);
    case HAMMER_CATEGORY_COUNT: break;
    }
    impossible("no such category");
}

struct str hammer_next_word(struct str *rest)
{
    const uint32_t end = str_find(*rest, ' ', 0);
    const struct str word = str_slice(*rest, 0, end);
    *rest = str_slice(*rest, end + 1, rest->len);
    return word;
}

bool hammer_words_have(struct str words, struct str word)
{
    while (words.len)
        if (str_eq(hammer_next_word(&words), word))
            return true;
    return false;
}

bool hammer_class_offers(struct str klass, struct str action)
{
    const struct hammer_class *found = hammer_class_find(klass);
    return found && hammer_words_have(hammer_class_words(found, HAMMER_POWER), action);
}

bool hammer_class_any_offers(struct str action)
{
    for (uint32_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (hammer_words_have(str_from(classes[i].power), action))
            return true;
    return false;
}

bool hammer_class_boots(struct str klass)
{
    const struct hammer_class *found = hammer_class_find(klass);
    return found && found->boot;
}
