#include "model/hammer_class.h"

/* clang-format off */
static const struct hammer_class classes[] = {
    {"ssh",     "reboot", NULL, "run", "copy_from copy_to"},
    {"ipmi",    "status on off cycle reset halt pxeboot identify", "pxe disk", "invoke", NULL},
    {"wsman",   "status on off cycle reset halt", NULL,
                "identify enumerate enumerate_epr invoke", NULL},
    {"amt",     "status on off cycle", NULL, "invoke", NULL},
    {"redfish", "status on off cycle reset halt", "pxe disk", NULL, NULL},
    {"wol",     "on", NULL, NULL, NULL},
    {"local",   "reboot", NULL, "run", "copy_from copy_to"},
};

static const struct {
    const char *name;
    const char *klass;
} ancestors[] = {
    {"SecureShellHammer", "ssh"},   {"SshHammer", "ssh"},
    {"IpmiHammer", "ipmi"},         {"WsmanHammer", "wsman"},
    {"AmtHammer", "amt"},           {"RedfishHammer", "redfish"},
    {"WakeOnLanHammer", "wol"},     {"WolHammer", "wol"},
    {"LocalHammer", "local"},
};
/* clang-format on */

/* Only the last part of a class name tells: the modules around it differ from add-on to add-on. */
static struct str without_modules(struct str name)
{
    for (uint32_t i = name.len; i > 0; i--)
        if (name.at[i - 1] == ':')
            return str_slice(name, i, name.len);
    return name;
}

static const struct hammer_class *find_ours(struct str name)
{
    for (uint32_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (str_eq(name, str_from(classes[i].name)))
            return &classes[i];
    return NULL;
}

const struct hammer_class *hammer_class_find(struct str klass)
{
    const struct str last = without_modules(klass);
    for (uint32_t i = 0; i < sizeof ancestors / sizeof ancestors[0]; i++)
        if (str_eq(last, str_from(ancestors[i].name)))
            return find_ours(str_from(ancestors[i].klass));
    return find_ours(klass);
}

static bool has_word(struct str words, struct str word)
{
    for (uint32_t from = 0; from < words.len;) {
        const uint32_t to = str_find(words, ' ', from);
        if (str_eq(str_slice(words, from, to), word))
            return true;
        from = to + 1;
    }
    return false;
}

bool hammer_class_offers(struct str klass, struct str action)
{
    const struct hammer_class *found = hammer_class_find(klass);
    return found && has_word(str_from(found->power), action);
}

bool hammer_class_any_offers(struct str action)
{
    for (uint32_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (has_word(str_from(classes[i].power), action))
            return true;
    return false;
}

bool hammer_class_boots(struct str klass)
{
    const struct hammer_class *found = hammer_class_find(klass);
    return found && found->boot;
}
