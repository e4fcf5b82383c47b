/* no_netlink_shim.c - a machine whose addresses cannot be listed, for LD_PRELOAD: what a service
 * without AF_NETLINK sees. */
#include <errno.h>
#include <ifaddrs.h>

int getifaddrs(struct ifaddrs **out)
{
    (void)out;
    errno = EAFNOSUPPORT;
    return -1;
}
