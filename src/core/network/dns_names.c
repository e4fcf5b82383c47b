#include "core/core_private.h"
void do_dns_name_filter_create(struct core *c, const struct dns_name_filter_create_command *p)
{
    (void)c;
    (void)p;
}
void do_dns_name_filter_update(struct core *c, const struct dns_name_filter_update_command *p)
{
    (void)c;
    (void)p;
}
void do_dns_name_filter_delete(struct core *c, const struct dns_name_filter_delete_command *p)
{
    (void)c;
    (void)p;
}
