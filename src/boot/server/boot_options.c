/* boot_options.c - parses the command line. All problems are printed, so that one start shows all
 * of them. The later of two values of an option wins, except for --interface, which adds. */
#include "boot/server/boot_options.h"

#include <stdio.h>
#include <string.h>

#include "base/mem/arena.h"
#include "base/net/ip.h"
#include "base/text/str.h"

const char boot_options_usage[] =
    "usage: halligan-boot --interface IF[,IF...] [OPTIONS]\n"
    "\n"
    "Answers the boot requests of machines on the named interfaces (DHCP, TFTP, HTTP) from the\n"
    "state that halligand has committed. It opens its sockets as root or with the capabilities\n"
    "CAP_NET_BIND_SERVICE and CAP_NET_RAW, and then drops all privileges.\n"
    "\n"
    "  --interface IF[,IF...]  the interfaces to serve, and no others; 16 at most\n"
    "  --socket PATH           socket of the daemon (/run/halligan/boot.sock)\n"
    "  --files DIR             files for machines (/var/lib/halligan/tftpboot)\n"
    "  --http ADDR:PORT        where HTTP is served (port 8091 on the interfaces); \":PORT\"\n"
    "                          changes the port only\n"
    "  --user NAME             the user to which root changes (halligan-boot)\n"
    "  --node NAME             the admin node that it serves boots for, if there are several\n"
    "  --no-dhcp               do not serve DHCP, nor send router advertisements\n"
    "  --no-tftp               do not serve TFTP\n"
    "  --check                 print what is missing, one line each, and serve nothing\n"
    "  --version               print the version\n"
    "  --help                  print this text\n"
    "\n"
    "Exit status: 0 regular exit, 1 nothing can be served, 2 wrong usage.\n";

static void options_report_problem(struct boot_options *o, const char *what, const char *subject)
{
    fprintf(stderr, "halligan-boot: %s: %s\n", what, subject);
    o->problems++;
}

static bool options_has_interface(const struct boot_options *o, const char *name)
{
    for (uint32_t i = 0; i < o->interface_count; i++)
        if (strcmp(o->interfaces[i], name) == 0)
            return true;
    return false;
}

static void options_add_interfaces(struct boot_options *o, const char *value)
{
    const struct str all = str_from(value);
    for (uint32_t from = 0, end; from <= all.len; from = end + 1) {
        end = str_find(all, ',', from);
        const struct str name = str_slice(all, from, end);
        char text[IF_NAMESIZE] = "";
        if (name.len == 0 || name.len >= IF_NAMESIZE) {
            options_report_problem(o, "not the name of an interface", value);
            return;
        }
        memcpy(text, name.at, name.len);
        if (options_has_interface(o, text))
            continue;
        if (o->interface_count == BOOT_INTERFACES_MAX) {
            options_report_problem(o, "more than 16 interfaces", value);
            return;
        }
        memcpy(o->interfaces[o->interface_count++], text, sizeof text);
    }
}

/* "192.0.2.1:8091", "[2001:db8::1]:8091" or ":8091". */
static bool options_parse_http(struct boot_options *o, const char *value)
{
    const char *colon = strrchr(value, ':');
    int64_t port;
    if (!colon || !str_parse_i64(str_from(colon + 1), &port) || port < 1 || port > UINT16_MAX)
        return false;
    struct str address = {value, (uint32_t)(colon - value)};
    const bool is_v6 =
        address.len > 1 && address.at[0] == '[' && address.at[address.len - 1] == ']';
    if (is_v6)
        address = str_slice(address, 1, address.len - 1);
    struct ip ip;
    const char *what;
    const bool is_address = ip_parse(address, &ip, &what) &&
                            str_find(address, '/', 0) == address.len &&
                            ip.family == (is_v6 ? IP_V6 : IP_V4);
    if (address.len >= sizeof o->http_address || ((is_v6 || address.len > 0) && !is_address))
        return false;
    memset(o->http_address, 0, sizeof o->http_address);
    memcpy(o->http_address, address.at, address.len);
    o->http_port = (uint16_t)port;
    return true;
}

/* False: there is no such option. */
static bool options_take_switch(struct boot_options *o, const char *name)
{
    const struct {
        const char *name;
        bool *flag;
    } words[] = {
        {"--no-dhcp", &o->no_dhcp}, {"--no-tftp", &o->no_tftp}, {"--check", &o->check},
        {"--version", &o->version}, {"--help", &o->help},       {"-h", &o->help},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(name, words[i].name) == 0)
            return *words[i].flag = true;
    return false;
}

/* False: there is no such option. */
static bool options_take_value(struct boot_options *o, struct str name, const char *value)
{
    if (str_eq(name, STR("--interface")))
        options_add_interfaces(o, value);
    else if (str_eq(name, STR("--socket")))
        o->socket = value;
    else if (str_eq(name, STR("--files")))
        o->files = value;
    else if (str_eq(name, STR("--user")))
        o->user = value;
    else if (str_eq(name, STR("--node")))
        o->node = value;
    else if (!str_eq(name, STR("--http")))
        return false;
    else if (!options_parse_http(o, value))
        options_report_problem(o, "not an address with a port (192.0.2.1:8091, :8091)", value);
    return true;
}

/* "--name value", "--name=value" or a switch. Returns the number of arguments consumed. */
static int options_take(struct boot_options *o, const char *text, const char *following)
{
    const struct str all = str_from(text);
    const uint32_t equals = str_find(all, '=', 0);
    if (options_take_switch(o, text))
        return 1;
    if (equals < all.len) {
        if (!options_take_value(o, str_slice(all, 0, equals), text + equals + 1))
            options_report_problem(o, "unknown option", text);
        return 1;
    }
    if (!following) {
        options_report_problem(o, "unknown option, or an option without its value", text);
        return 1;
    }
    if (options_take_value(o, all, following))
        return 2;
    options_report_problem(o, "unknown option", text);
    return 1;
}

struct boot_options boot_options_parse(int count, char **texts)
{
    struct boot_options o = {
        .socket = "/run/halligan/boot.sock",
        .files = "/var/lib/halligan/tftpboot",
        .user = "halligan-boot",
        .node = "",
        .http_port = BOOT_HTTP_PORT,
    };
    for (int i = 1; i < count;)
        i += options_take(&o, texts[i], i + 1 < count ? texts[i + 1] : NULL);
    if (o.interface_count == 0 && !o.problems && !o.version && !o.help)
        options_report_problem(&o, "missing option", "--interface IF[,IF...]");
    return o;
}
