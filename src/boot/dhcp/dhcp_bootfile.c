#include "boot/dhcp/dhcp_private.h"

#include "base/json/json.h"
#include "base/net/ip.h"
#include "base/net/mac.h"
#include "base/text/buf.h"

/* What a client boots. Firmware gets a network boot loader (iPXE), iPXE gets the URL of its script.
 * A machine that boots its disk gets nothing on BIOS, because its firmware then continues with the
 * disk at once; UEFI firmware would wait two minutes for a file that is not named, so it gets the
 * loader, whose script starts the disk. */

enum {
    ARCH_BIOS = 0,
    ARCH_UEFI_X64 = 7,
    ARCH_UEFI_X64_OLD = 9,
    ARCH_UEFI_X64_HTTP = 16,
    IPXE_FEATURE_HTTP = 19
};

struct dhcp_client dhcp_identify(const struct dhcp_message *m)
{
    const struct str class = m->options[DHCP_OPTION_CLASS];
    const struct str user = m->options[DHCP_OPTION_USER_CLASS];
    const struct str arch = m->options[DHCP_OPTION_ARCH];
    const struct str features = m->options[DHCP_OPTION_IPXE];
    struct dhcp_client client = {.is_http = str_starts(class, STR("HTTPClient"))};
    /* The user class as iPXE writes it, or as RFC 3004 does, with its length before it. */
    client.is_ipxe = features.at || str_eq(user, STR("iPXE")) || str_eq(user, STR("\004iPXE"));
    client.is_boot = client.is_ipxe || client.is_http || str_starts(class, STR("PXEClient"));
    const struct str http = dhcp_sub_option(features, IPXE_FEATURE_HTTP);
    client.can_http = !features.at || (http.len > 0 && http.at[0] != 0);
    client.arch = arch.len >= 2 ? dhcp_read_number(arch.at, 2) : ARCH_BIOS;
    return client;
}

/* ---- the environment ---- */

enum boot_target { TARGET_NETWORK, TARGET_DISK };

/* An environment that no barclamp defines is taken as the disk. */
static enum boot_target dhcp_find_target(struct dhcp_work *w, int64_t network)
{
    struct boot_bootenv bootenv;
    if (!w->node)
        return dhcp_network_settings(w->v, network)->boot_unknown == BOOT_UNKNOWN_LOCAL
                   ? TARGET_DISK
                   : TARGET_NETWORK;
    if (str_eq_nocase(w->machine.bootenv, STR("local")))
        return TARGET_DISK;
    if (view_find_bootenv(w->v, w->machine.bootenv, w->a, &bootenv))
        return TARGET_NETWORK;
    dhcp_observe(w, DHCP_OBSERVED_UNKNOWN_BOOTENV, 0);
    return TARGET_DISK;
}

/* The option of the node, else the setting. Options that are no JSON object, or have another value,
 * count as absent. */
static enum local_boot dhcp_local_boot(const struct dhcp_work *w)
{
    static const char *const names[] = {"auto", "omit", "chain"};
    struct json *options;
    uint32_t offset;
    const char *what;
    if (w->node && w->machine.options.len &&
        json_read(w->a, w->machine.options, &options, &offset, &what) == OK) {
        const struct json *value =
            options->kind == JSON_OBJECT ? json_get(options, STR("local_boot")) : NULL;
        for (uint32_t i = 0; value && value->kind == JSON_STRING && i < 3; i++)
            if (str_eq(value->text, str_from(names[i])))
                return (enum local_boot)i;
    }
    return w->v->settings.local_boot;
}

static bool dhcp_omits_boot(const struct dhcp_work *w)
{
    switch (dhcp_local_boot(w)) {
    case LOCAL_BOOT_OMIT: return true;
    case LOCAL_BOOT_CHAIN: return false;
    case LOCAL_BOOT_AUTO: break;
    }
    return w->client.arch == ARCH_BIOS;
}

/* ---- files ---- */

/* Empty if there is none for the architecture. */
static struct str dhcp_loader(const struct dhcp *d, uint32_t arch)
{
    if (arch == ARCH_BIOS)
        return STR("undionly.kpxe");
    if (arch == ARCH_UEFI_X64 || arch == ARCH_UEFI_X64_OLD || arch == ARCH_UEFI_X64_HTTP)
        return STR("snponly.efi");
    for (uint32_t i = 0; i < d->file_count; i++)
        if (d->files[i].arch == arch)
            return d->files[i].name;
    return STR("");
}

/* "http://10.0.0.1:8091" */
static struct buf dhcp_begin_url(const struct dhcp_work *w, uint32_t server)
{
    struct buf url = buf_in(w->a);
    buf_put_z(&url, "http://");
    buf_put_str(&url, ip_format_address(w->a, (struct ip){.lo = server, .family = IP_V4}));
    buf_put_c(&url, ':');
    buf_put_u64(&url, w->d->setup.http_port);
    return url;
}

static struct str dhcp_script_url(const struct dhcp_work *w, uint32_t server)
{
    const struct dhcp_setup *setup = &w->d->setup;
    struct buf url = dhcp_begin_url(w, server);
    uint8_t mac[6];
    dhcp_write_number(mac, (uint32_t)(w->mac >> 32), 2);
    dhcp_write_number(mac + 2, (uint32_t)w->mac, 4);
    buf_put_z(&url, "/boot/");
    for (uint32_t i = 0; i < sizeof mac; i++) {
        if (i)
            buf_put_c(&url, '-');
        buf_put_hex(&url, &mac[i], 1);
    }
    buf_put_z(&url, "?t=");
    buf_put_str(&url, setup->make_ticket(setup->self, w->mac, w->node,
                                         w->node ? w->machine.generation : 0, w->a));
    return buf_str(&url);
}

static struct str dhcp_file_url(const struct dhcp_work *w, uint32_t server, struct str file)
{
    struct buf url = dhcp_begin_url(w, server);
    buf_put_z(&url, "/files/");
    buf_put_str(&url, file);
    return buf_str(&url);
}

struct dhcp_boot dhcp_find_boot(struct dhcp_work *w, uint32_t server, int64_t network)
{
    const struct dhcp_client *client = &w->client;
    struct dhcp_boot boot = {0};
    if (!client->is_boot || !w->v->settings.has_provisioner)
        return boot;
    boot.is_ipxe = client->is_ipxe;
    if (dhcp_find_target(w, network) == TARGET_DISK && dhcp_omits_boot(w))
        return boot;
    if (client->is_ipxe && client->can_http) {
        boot.file = dhcp_script_url(w, server);
        return boot;
    }
    boot.file = dhcp_loader(w->d, client->arch);
    if (!boot.file.len) {
        struct dhcp_action *action = dhcp_observe(w, DHCP_OBSERVED_NO_BOOT_FILE, 0);
        if (action)
            action->arch = client->arch;
    } else if (client->is_http) {
        boot.file = dhcp_file_url(w, server, boot.file);
        boot.is_http = true;
    }
    return boot;
}
