/* tls_names.c - the names and addresses of this host for its certificate.
 *
 * They come from gethostname(), /etc/hosts and the interfaces; no name server is queried, because
 * an answer could change between two starts and cause a renewal each time.
 *
 * Order: the first name becomes the common name of the certificate, so the host name is added
 * first; the addresses of interfaces are last, because names beyond CERTIFICATE_NAMES_MAX are
 * dropped. It owns nothing: strings are in the arena.
 *
 * Failure: a source that cannot be read adds no names; only interfaces that cannot be listed are
 * logged. localhost and its addresses are always in the list.
 */
#include "pki/tls_files.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/log.h"

/* Add a name unless it is in the list. Names beyond CERTIFICATE_NAMES_MAX are dropped. */
static void tls_names_add(struct arena *a, struct certificate_names *names, struct str name)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (str_eq_nocase(str_from(names->at[i]), name))
            return;
    if (names->count < CERTIFICATE_NAMES_MAX)
        names->at[names->count++] = str_z(a, name);
}

/* True for a DNS name that a certificate may contain; host names may also have other characters. */
static bool tls_names_is_host_name(struct str name)
{
    for (uint32_t i = 0; i < name.len; i++)
        if (!char_is_letter(name.at[i]) && !char_is_digit(name.at[i]) && name.at[i] != '-' &&
            name.at[i] != '.')
            return false;
    return name.len > 0 && name.at[0] != '.' && name.at[0] != '-';
}

/* ---- /etc/hosts ---- */

static bool tls_names_next_word(struct str line, uint32_t *at, struct str *out_word)
{
    while (*at < line.len && (line.at[*at] == ' ' || line.at[*at] == '\t'))
        ++*at;
    const uint32_t from = *at;
    while (*at < line.len && line.at[*at] != ' ' && line.at[*at] != '\t')
        ++*at;
    *out_word = str_slice(line, from, *at);
    return out_word->len > 0;
}

/* A line is "ADDRESS NAME ALIAS...". Returns NAME if it or one of the aliases is `host`. */
static struct str tls_names_from_line(struct str line, struct str host)
{
    struct str first, word;
    uint32_t at = 0;
    if (!tls_names_next_word(line, &at, &word) || !tls_names_next_word(line, &at, &first))
        return STR("");
    bool is_ours = str_eq_nocase(first, host);
    while (tls_names_next_word(line, &at, &word))
        is_ours |= str_eq_nocase(word, host);
    return is_ours ? first : STR("");
}

static void tls_names_add_from_hosts(struct arena *a, struct certificate_names *names,
                                     struct str hosts, struct str host)
{
    uint32_t end;
    for (uint32_t at = 0; at < hosts.len; at = end + 1) {
        end = str_find(hosts, '\n', at);
        const struct str line = str_slice(hosts, at, end);
        const struct str name =
            tls_names_from_line(str_slice(line, 0, str_find(line, '#', 0)), host);
        if (tls_names_is_host_name(name))
            tls_names_add(a, names, name);
    }
}

/* ---- addresses ---- */

/* Link-local addresses are left out: clients cannot use them without the name of an interface. */
static void tls_names_add_interface(struct arena *a, struct certificate_names *names,
                                    const struct ifaddrs *at)
{
    char text[INET6_ADDRSTRLEN];
    const void *bytes = NULL;
    if (!at->ifa_addr || !(at->ifa_flags & IFF_UP))
        return;
    if (at->ifa_addr->sa_family == AF_INET)
        bytes = &((const struct sockaddr_in *)(const void *)at->ifa_addr)->sin_addr;
    if (at->ifa_addr->sa_family == AF_INET6)
        bytes = &((const struct sockaddr_in6 *)(const void *)at->ifa_addr)->sin6_addr;
    if (!bytes || (at->ifa_addr->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(bytes)))
        return;
    if (inet_ntop(at->ifa_addr->sa_family, bytes, text, sizeof text))
        tls_names_add(a, names, str_from(text));
}

static void tls_names_add_interfaces(struct arena *a, struct certificate_names *names)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0) {
        log_print(LOG_WARNING,
                  "cannot list the addresses of this host: %s; its certificate has only its names; "
                  "under systemd, RestrictAddressFamilies= needs AF_NETLINK",
                  strerror(errno));
        return;
    }
    for (const struct ifaddrs *at = all; at; at = at->ifa_next)
        tls_names_add_interface(a, names, at);
    freeifaddrs(all);
}

void tls_files_names_of(struct arena *a, struct str host, struct str hosts,
                        struct certificate_names *out_names)
{
    *out_names = (struct certificate_names){0};
    if (!tls_names_is_host_name(host))
        return;
    tls_names_add(a, out_names, host);
    tls_names_add_from_hosts(a, out_names, hosts, host);
}

void tls_files_names(struct arena *a, const char *listen_address, struct str hosts,
                     struct certificate_names *out_names)
{
    char host[HOST_NAME_MAX + 1] = "";
    if (gethostname(host, HOST_NAME_MAX) != 0)
        host[0] = 0;
    tls_files_names_of(a, str_from(host), hosts, out_names);
    tls_names_add(a, out_names, STR("localhost"));
    tls_names_add(a, out_names, STR("127.0.0.1"));
    tls_names_add(a, out_names, STR("::1"));
    const bool is_wildcard =
        strcmp(listen_address, "0.0.0.0") == 0 || strcmp(listen_address, "::") == 0;
    if (is_wildcard)
        tls_names_add_interfaces(a, out_names);
    else
        tls_names_add(a, out_names, str_from(listen_address));
}
