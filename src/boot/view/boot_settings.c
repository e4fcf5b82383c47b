/* boot_settings.c - reads the settings of a boot server. Stateless.
 *
 * A reader of a value keeps what is in its output if the value is missing, null or not legal. The
 * first value that is not legal is reported. Settings of one
 * network begin as a copy of those for all networks, so the members that both have are read by one
 * function. */
#include "boot/view/boot_settings.h"

#include <string.h>

#include "base/json/json.h"
#include "base/net/ip.h"
#include "model/limits.h"

enum {
    FOREIGN_MAX = 64,
    INTERFACE_LEN_MAX = 15, /* IFNAMSIZ - 1 */
    MTU_MIN = 68,           /* RFC 2132, option 26 */
    MTU_MAX = 65535,
    LEASE_S_MIN = 60,
    LEASE_S_DEFAULT = 3600,
    POOL_LEASE_S_DEFAULT = 600,
    UNKNOWN_MAX_DEFAULT = 1000
};

/* An object of settings, which is read. */
struct settings_section {
    struct arena *arena;
    struct str *problem;
    const struct json *object; /* NULL if it is missing */
    struct str path;
};

static void settings_refuse(const struct settings_section *s, struct str name, struct str what)
{
    if (s->problem->len == 0)
        *s->problem = STR_CONCAT(s->arena, s->path, s->path.len && name.len ? STR("/") : STR(""),
                                 name, STR(" "), what);
}

/* The member; NULL if it is missing or null. */
static const struct json *settings_member(const struct settings_section *s, struct str name)
{
    const struct json *value = json_get(s->object, name);
    return value && value->kind != JSON_NULL ? value : NULL;
}

/* ---- values ---- */

/* One of the words, which are terminated by NULL: its index. */
static uint32_t settings_read_word(const struct settings_section *s, struct str name,
                                   const char *const *words, uint32_t before)
{
    const struct json *value = settings_member(s, name);
    if (!value)
        return before;
    if (value->kind == JSON_STRING)
        for (uint32_t i = 0; words[i]; i++)
            if (str_eq(value->text, str_from(words[i])))
                return i;
    struct str what = STR("must be ");
    for (uint32_t i = 0; words[i]; i++)
        what = STR_CONCAT(s->arena, what, i ? STR(", ") : STR(""), str_from(words[i]));
    settings_refuse(s, name, what);
    return before;
}

struct settings_bounds {
    int64_t low, high;
};

static uint32_t settings_read_number(const struct settings_section *s, struct str name,
                                     struct settings_bounds bounds, uint32_t before)
{
    const struct json *value = settings_member(s, name);
    int64_t number;
    if (!value)
        return before;
    if (json_as_i64(value, &number) && number >= bounds.low && number <= bounds.high)
        return (uint32_t)number;
    settings_refuse(s, name,
                    STR_CONCAT(s->arena, STR("must be a number from "),
                               str_from_i64(s->arena, bounds.low), STR(" to "),
                               str_from_i64(s->arena, bounds.high)));
    return before;
}

/* A text without control characters, of at most `max` bytes. */
static bool settings_is_text(const struct json *value, uint32_t max)
{
    if (value->kind != JSON_STRING || value->text.len > max)
        return false;
    for (uint32_t i = 0; i < value->text.len; i++)
        if ((uint8_t)value->text.at[i] < ' ' || value->text.at[i] == 0x7f)
            return false;
    return true;
}

static bool settings_is_domain(struct str text)
{
    uint32_t label = 0;
    for (uint32_t i = 0; i < text.len; i++) {
        const char c = text.at[i];
        if (c == '.' ? label == 0 : !char_is_letter(c) && !char_is_digit(c) && c != '-' && c != '_')
            return false;
        label = c == '.' ? 0 : label + 1;
        if (label > LABEL_LEN_MAX)
            return false;
    }
    return text.len <= DNS_NAME_LEN_MAX;
}

/* A list of IPv4 addresses replaces the one before; an empty list is legal. */
static void settings_read_addresses(const struct settings_section *s, struct str name,
                                    uint32_t *addresses, uint32_t *count)
{
    const struct json *list = settings_member(s, name);
    uint32_t found[NAMESERVERS_MAX], found_count = 0;
    if (!list)
        return;
    bool is_legal = list->kind == JSON_ARRAY && list->count <= NAMESERVERS_MAX;
    for (const struct json *item = list->first; is_legal && item; item = item->next) {
        const char *wrong;
        struct ip ip;
        is_legal = item->kind == JSON_STRING && ip_parse(item->text, &ip, &wrong) &&
                   ip.family == IP_V4 && ip.prefix == 32 && ip_is_unicast(ip);
        if (is_legal)
            found[found_count++] = (uint32_t)ip.lo;
    }
    if (!is_legal) {
        settings_refuse(s, name,
                        STR_CONCAT(s->arena, STR("must be a list of at most "),
                                   str_from_i64(s->arena, NAMESERVERS_MAX),
                                   STR(" IPv4 addresses")));
        return;
    }
    memcpy(addresses, found, found_count * sizeof *found);
    *count = found_count;
}

/* ---- settings of networks ---- */

static const char *const dhcp_unknown_words[] = {"pxe", "all", "none", NULL};
static const char *const boot_unknown_words[] = {"discover", "hold", "local", NULL};
static const char *const local_boot_words[] = {"auto", "omit", "chain", NULL};

static void settings_read_dhcp(const struct settings_section *s, struct boot_network_settings *out)
{
    out->dhcp_unknown = (enum dhcp_unknown)settings_read_word(s, STR("unknown"), dhcp_unknown_words,
                                                              out->dhcp_unknown);
    const struct json *domain = settings_member(s, STR("domain"));
    if (domain && domain->kind == JSON_STRING && settings_is_domain(domain->text))
        out->domain = domain->text;
    else if (domain)
        settings_refuse(s, STR("domain"), STR("must be the name of a DNS domain"));
    settings_read_addresses(s, STR("nameservers"), out->nameservers, &out->nameserver_count);
    settings_read_addresses(s, STR("timeservers"), out->timeservers, &out->timeserver_count);
    /* 0 is legal: the option is not sent. */
    int64_t mtu;
    const struct json *value = settings_member(s, STR("mtu"));
    if (value && json_as_i64(value, &mtu) && mtu == 0)
        out->mtu = 0;
    else
        out->mtu = settings_read_number(s, STR("mtu"), (struct settings_bounds){MTU_MIN, MTU_MAX},
                                        out->mtu);
}

static void settings_read_provisioner(const struct settings_section *s,
                                      struct boot_network_settings *out)
{
    out->boot_unknown = (enum boot_unknown)settings_read_word(s, STR("unknown"), boot_unknown_words,
                                                              out->boot_unknown);
}

/* The section of a member that is an object; `object` is NULL if it is missing. */
static struct settings_section settings_inner(const struct settings_section *s, struct str name)
{
    struct settings_section inner = *s;
    inner.object = settings_member(s, name);
    if (inner.object && inner.object->kind != JSON_OBJECT) {
        settings_refuse(s, name, STR("must be an object"));
        inner.object = NULL;
    }
    inner.path = STR_CONCAT(s->arena, s->path, s->path.len ? STR("/") : STR(""), name);
    return inner;
}

static struct boot_network_settings *settings_network(struct boot_settings *out,
                                                      struct boot_network_settings *networks,
                                                      struct str name)
{
    for (uint32_t i = 0; i < out->network_count; i++)
        if (str_eq_nocase(networks[i].name, name))
            return &networks[i];
    struct boot_network_settings *added = &networks[out->network_count++];
    *added = out->all;
    added->name = name;
    return added;
}

typedef void settings_read_network(const struct settings_section *s,
                                   struct boot_network_settings *out);

static void settings_read_networks(const struct settings_section *list, struct boot_settings *out,
                                   struct boot_network_settings *networks,
                                   settings_read_network *read)
{
    const struct json *member = list->object ? list->object->first : NULL;
    for (; member; member = member->next) {
        const struct settings_section section = settings_inner(list, member->key);
        if (section.object)
            read(&section, settings_network(out, networks, member->key));
    }
}

/* ---- the rest ---- */

static void settings_read_foreign(const struct settings_section *s, struct boot_settings *out)
{
    const struct json *list = settings_member(s, STR("foreign"));
    if (!list)
        return;
    bool is_legal = list->kind == JSON_ARRAY && list->count <= FOREIGN_MAX;
    struct str *names = arena_array(s->arena, struct str, FOREIGN_MAX);
    uint32_t count = 0;
    for (const struct json *item = list->first; is_legal && item; item = item->next) {
        is_legal = settings_is_text(item, INTERFACE_LEN_MAX) && item->text.len;
        names[count++] = item->text;
    }
    if (!is_legal) {
        settings_refuse(s, STR("foreign"), STR("must be a list of names of interfaces"));
        return;
    }
    out->foreign = names;
    out->foreign_count = count;
}

static void settings_read_args(const struct settings_section *provisioner,
                               struct boot_settings *out)
{
    const struct settings_section args = settings_inner(provisioner, STR("kernel_args"));
    if (!args.object)
        return;
    struct str *bootenvs = arena_array(args.arena, struct str, args.object->count);
    struct str *texts = arena_array(args.arena, struct str, args.object->count);
    for (const struct json *member = args.object->first; member; member = member->next) {
        if (member->kind == JSON_NULL)
            continue;
        if (!settings_is_text(member, BOOT_ARGS_LEN_MAX)) {
            settings_refuse(&args, member->key, STR("must be a text of at most 2000 bytes"));
            continue;
        }
        bootenvs[out->args_count] = member->key;
        texts[out->args_count++] = member->text;
    }
    out->args_bootenvs = bootenvs;
    out->args_texts = texts;
}

static void settings_read_sections(const struct settings_section *dhcp,
                                   const struct settings_section *provisioner,
                                   struct boot_settings *out)
{
    const struct settings_bounds lease = {LEASE_S_MIN, LEASE_S_MAX};
    out->local_boot = (enum local_boot)settings_read_word(dhcp, STR("local_boot"), local_boot_words,
                                                          LOCAL_BOOT_AUTO);
    out->lease_s = settings_read_number(dhcp, STR("lease_s"), lease, LEASE_S_DEFAULT);
    out->pool_lease_s =
        settings_read_number(dhcp, STR("pool_lease_s"), lease, POOL_LEASE_S_DEFAULT);
    settings_read_foreign(dhcp, out);
    settings_read_dhcp(dhcp, &out->all);
    settings_read_provisioner(provisioner, &out->all);
    out->unknown_max =
        settings_read_number(provisioner, STR("unknown_max"),
                             (struct settings_bounds){0, LEASES_MAX}, UNKNOWN_MAX_DEFAULT);
    const struct json *console = settings_member(provisioner, STR("console"));
    if (console && settings_is_text(console, NAME_LEN_MAX))
        out->console = console->text;
    else if (console)
        settings_refuse(provisioner, STR("console"), STR("must be a text of at most 255 bytes"));
    settings_read_args(provisioner, out);

    const struct settings_section networks[] = {settings_inner(dhcp, STR("networks")),
                                                settings_inner(provisioner, STR("networks"))};
    const uint32_t count = (networks[0].object ? networks[0].object->count : 0) +
                           (networks[1].object ? networks[1].object->count : 0);
    struct boot_network_settings *items =
        arena_array(dhcp->arena, struct boot_network_settings, count);
    settings_read_networks(&networks[0], out, items, settings_read_dhcp);
    settings_read_networks(&networks[1], out, items, settings_read_provisioner);
    out->networks = items;
}

void boot_settings_read(struct arena *a, const struct str *documents, uint32_t count,
                        struct boot_settings *out)
{
    *out = (struct boot_settings){.foreign = NULL};
    struct settings_section all = {.arena = a, .problem = &out->problem};
    struct json *merged = json_make(a, JSON_OBJECT);
    for (uint32_t i = 0; i < count; i++) {
        struct json *document;
        uint32_t offset;
        const char *what;
        const struct str name = STR_CONCAT(a, STR("document "), str_from_i64(a, (int64_t)i + 1));
        if (json_read(a, documents[i], &document, &offset, &what) != OK)
            settings_refuse(&all, name, STR_CONCAT(a, STR("is no JSON: "), str_from(what)));
        else if (document->kind != JSON_OBJECT)
            settings_refuse(&all, name, STR("must be an object"));
        else
            merged = json_merge(a, merged, document);
    }
    all.object = merged;
    const struct settings_section dhcp = settings_inner(&all, STR("dhcp"));
    const struct settings_section provisioner = settings_inner(&all, STR("provisioner"));
    out->has_dhcp = dhcp.object != NULL;
    out->has_provisioner = provisioner.object != NULL;
    settings_read_sections(&dhcp, &provisioner, out);
}

/* ---- lookups ---- */

const struct boot_network_settings *boot_settings_of(const struct boot_settings *settings,
                                                     struct str network)
{
    for (uint32_t i = 0; i < settings->network_count; i++)
        if (str_eq_nocase(settings->networks[i].name, network))
            return &settings->networks[i];
    return &settings->all;
}

struct str boot_settings_args(const struct boot_settings *settings, struct str bootenv,
                              struct arena *a)
{
    struct str all = {"", 0}, own = {"", 0};
    for (uint32_t i = 0; i < settings->args_count; i++)
        if (str_eq(settings->args_bootenvs[i], STR("*")))
            all = settings->args_texts[i];
        else if (str_eq_nocase(settings->args_bootenvs[i], bootenv))
            own = settings->args_texts[i];
    return STR_CONCAT(a, all, all.len && own.len ? STR(" ") : STR(""), own);
}

bool boot_settings_accept_foreign(const struct boot_settings *settings, struct str interface)
{
    for (uint32_t i = 0; i < settings->foreign_count; i++)
        if (str_eq(settings->foreign[i], interface))
            return true;
    return false;
}
