/* admin_node.c - commands that create the admin node of the host, or complete it.
 *
 * It only computes commands; serve.c submits them. An automatic node of an earlier start may lack
 * its address (no route existed then) or its bootstrap roles (no content was imported then): the
 * same function adds what is missing. Nodes that an operator has created are never changed.
 *
 * Order: the address of an existing node is set before NODE_CREATE, which binds its bootstrap roles
 * and does not change an existing address.
 *
 * Failure: what cannot be determined is left out: without a legal host name the node is called
 * admin.internal.local, and without a default route it has no address until a later start.
 */
#include "daemon/admin_node.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json/json.h"
#include "core/core.h"
#include "model/names.h"
#include "pki/tls_files.h"
#include "sys/files.h"

enum { HOSTS_SIZE_MAX = 1 << 20, PREFIX_MAX = 32 };

/* The key of the hint that stores the address of a node in the admin network, and its attrib. */
static const char hint_key[] = "admin-v4addr", hint_attrib[] = "hint-admin-v4addr";

/* ---- name ---- */

/* The first label of the host's name; a dash for each character that a name may not contain. */
static struct str admin_node_label(struct arena *a, struct str host)
{
    const struct str label = str_slice(host, 0, str_find(host, '.', 0));
    char *at = arena_alloc(a, label.len + (size_t)1);
    for (uint32_t i = 0; i < label.len; i++) {
        const char c = label.at[i];
        at[i] = char_is_letter(c) || char_is_digit(c) || c == '_' ? c : '-';
    }
    return str_lower(a, (struct str){at, label.len});
}

/* The first of these that is a legal node name: `host`, a name that the text of /etc/hosts has for
 * it, the first label of `host` below internal.local, admin.internal.local. In lower case. */
static struct str admin_node_name_for(struct arena *a, struct str host, struct str hosts)
{
    struct certificate_names names;
    const struct str own = str_lower(a, host);
    if (!names_check_node(own))
        return own;
    tls_files_names_of(a, host, hosts, &names);
    for (uint32_t i = 0; i < names.count; i++) {
        const struct str name = str_lower(a, str_from(names.at[i]));
        if (!names_check_node(name))
            return name;
    }
    const struct str made = STR_CONCAT(a, admin_node_label(a, host), STR(".internal.local"));
    return names_check_node(made) ? STR("admin.internal.local") : made;
}

static struct str admin_node_host_name(struct arena *a, const struct config *config)
{
    char host[HOST_NAME_MAX + 1] = "";
    struct str hosts = STR("");
    if (config->admin_node)
        return str_lower(a, str_from(config->admin_node));
    if (gethostname(host, HOST_NAME_MAX) != 0)
        host[0] = 0;
    ignore(file_read(a, "/etc/hosts", HOSTS_SIZE_MAX, &hosts),
           "without it the host has only its own name");
    return str_copy(a, admin_node_name_for(a, str_from(host), hosts));
}

/* ---- address ---- */

/* The address a packet to the default route would be sent from. connect() of a UDP socket looks the
 * route up and sends nothing; the destination is of TEST-NET-1 (RFC 5737), which is assigned to no
 * host. */
static bool admin_node_find_source(struct in_addr *out)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)}, from = {0};
    socklen_t len = sizeof from;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    must(inet_pton(AF_INET, "192.0.2.1", &to.sin_addr) == 1);
    const bool found = connect(fd, (const struct sockaddr *)&to, sizeof to) == 0 &&
                       getsockname(fd, (struct sockaddr *)&from, &len) == 0;
    close(fd);
    *out = from.sin_addr;
    return found && from.sin_addr.s_addr != htonl(INADDR_ANY) &&
           (ntohl(from.sin_addr.s_addr) >> 24) != IN_LOOPBACKNET;
}

/* The prefix length of the interface with this address; 32 if no interface has it. */
static int admin_node_prefix(struct in_addr address)
{
    struct ifaddrs *all;
    int prefix = PREFIX_MAX;
    if (getifaddrs(&all) != 0)
        return prefix;
    for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
        if (!at->ifa_addr || !at->ifa_netmask || at->ifa_addr->sa_family != AF_INET)
            continue;
        const struct sockaddr_in *own = (const void *)at->ifa_addr;
        const struct sockaddr_in *mask = (const void *)at->ifa_netmask;
        if (own->sin_addr.s_addr == address.s_addr)
            prefix = __builtin_popcount(mask->sin_addr.s_addr);
    }
    freeifaddrs(all);
    return prefix;
}

/* "ADDRESS/PREFIX". Without a prefix in `given` it is that of the interface with this address. If
 * `given` is NULL: the source address of the default route, or empty if there is no such route. */
static struct str admin_node_host_address(struct arena *a, const char *given)
{
    char text[INET_ADDRSTRLEN], whole[INET_ADDRSTRLEN + 8];
    struct in_addr address;
    if (given && strchr(given, '/'))
        return str_copy(a, str_from(given));
    if (given ? inet_pton(AF_INET, given, &address) != 1 : !admin_node_find_source(&address))
        return STR("");
    must(inet_ntop(AF_INET, &address, text, sizeof text));
    snprintf(whole, sizeof whole, "%s/%d", text, admin_node_prefix(address));
    return str_copy(a, str_from(whole));
}

/* ---- commands ---- */

static bool admin_node_has_address(struct arena *a, struct str hint)
{
    struct json *object;
    uint32_t offset;
    const char *what;
    return hint.len && json_read(a, hint, &object, &offset, &what) == OK &&
           json_get(object, str_from(hint_key));
}

/* The automatic node, or a record with id 0 if there are no machines. False: there are machines,
 * and none of them is the automatic node. */
static bool admin_node_find_automatic(const struct core *core, struct record *out_node)
{
    *out_node = (struct record){0};
    if (core_count(core, TABLE_NODE) == core_count(core, TABLE_DEPLOYMENT))
        return true; /* only phantom nodes: each deployment has one */
    for (int64_t id = 0; (id = core_next_id(core, TABLE_NODE, id)) != 0;)
        if (core_record(core, TABLE_NODE, id, out_node) && out_node->node.automatic)
            return true;
    return false;
}

uint32_t admin_node_commands(struct arena *a, const struct core *core, const struct config *config,
                             struct command out_commands[ADMIN_NODE_COMMANDS_MAX])
{
    struct record node;
    uint32_t count = 0, noderoles = 0;
    if (config->has_no_admin_node || !admin_node_find_automatic(core, &node))
        return 0;
    const struct str address = admin_node_host_address(a, config->admin_address);
    const int64_t attrib_id = core_find(core, TABLE_ATTRIB, str_from(hint_attrib));
    if (node.id && address.len && attrib_id && !admin_node_has_address(a, node.node.hint)) {
        struct command *set = &out_commands[count++];
        *set = (struct command){.kind = COMMAND_ATTRIB_SET, .actor = STR("daemon")};
        set->attrib_set.target = TABLE_NODE;
        set->attrib_set.id = node.id;
        set->attrib_set.attrib_id = attrib_id;
        set->attrib_set.bucket = BUCKET_USER;
        set->attrib_set.value = json_write(a, json_make_string(a, address));
    }
    if (node.id)
        ignore(core_noderoles_of(core, node.id, a, &noderoles), "only their count is needed");
    if (noderoles)
        return count;
    struct command *make = &out_commands[count++];
    *make = (struct command){.kind = COMMAND_NODE_CREATE, .actor = STR("daemon")};
    make->node_create.name = admin_node_host_name(a, config);
    make->node_create.description = STR("the host of this installation");
    make->node_create.admin = make->node_create.automatic = true;
    make->node_create.alive = true; /* the daemon runs on this machine */
    make->node_create.bootenv = STR("local");
    if (address.len) {
        struct json *hint = json_make(a, JSON_OBJECT);
        json_set(hint, str_from(hint_key), json_make_string(a, address));
        make->node_create.hint = json_write(a, hint);
    }
    return count;
}
