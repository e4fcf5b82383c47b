#include "boot/server/boot_counts.h"

#include <string.h>

#include "boot/proto/boot_proto.h"

enum { ENV_NONE, ENV_OTHER, ENV_FIRST };

static struct boot_counted_env *counts_find_env(struct boot_counts *c, struct str name)
{
    if (c->env_count < ENV_FIRST) {
        c->env_count = ENV_FIRST;
        memcpy(c->envs[ENV_OTHER].name, "other", 5);
        c->envs[ENV_OTHER].len = 5;
    }
    for (uint32_t i = 0; i < c->env_count; i++)
        if (str_eq(name, (struct str){c->envs[i].name, c->envs[i].len}))
            return &c->envs[i];
    if (c->env_count == BOOT_COUNTED_ENVS || name.len > BOOT_COUNTED_NAME_MAX)
        return &c->envs[ENV_OTHER];
    struct boot_counted_env *env = &c->envs[c->env_count++];
    memcpy(env->name, name.at, name.len);
    env->len = name.len;
    return env;
}

void boot_counts_add(struct boot_counts *c, enum boot_request_kind kind, struct str env)
{
    counts_find_env(c, env)->counts[kind]++;
}

static void counts_put_one(struct buf *out, enum boot_metric metric, const struct str labels[2],
                           uint64_t value)
{
    if (value)
        boot_count_put(
            &(struct boot_count){
                .metric = metric, .first = labels[0], .second = labels[1], .value = (int64_t)value},
            out);
}

static void counts_put_dhcp(const struct dhcp *dhcp, struct buf *out)
{
    for (uint32_t type = 0; type < DHCP_TYPE_COUNT; type++)
        for (uint32_t result = 0; result < DHCP_RESULT_COUNT; result++) {
            const uint64_t value = dhcp->counters[type][result];
            const struct str result_name = str_from(dhcp_result_name((enum dhcp_result)result));
            if (type == DHCP_TYPE_SOLICITATION)
                counts_put_one(out, BOOT_METRIC_RA, (struct str[]){result_name, STR("")}, value);
            else
                counts_put_one(
                    out, BOOT_METRIC_DHCP,
                    (struct str[]){str_from(dhcp_type_name((enum dhcp_type)type)), result_name},
                    value);
        }
}

void boot_counts_put(const struct boot_counts *c, const struct dhcp *dhcp, struct buf *out)
{
    static const struct str kinds[] = {
#define X(upper, text) {text, sizeof(text) - 1},
        BOOT_REQUEST_KINDS(X)
#undef X
    };
    if (dhcp)
        counts_put_dhcp(dhcp, out);
    for (uint32_t i = 0; i < c->env_count; i++)
        for (uint32_t kind = 0; kind < BOOT_REQUEST_COUNT; kind++)
            counts_put_one(out, BOOT_METRIC_REQUESTS,
                           (struct str[]){kinds[kind], {c->envs[i].name, c->envs[i].len}},
                           c->envs[i].counts[kind]);
    counts_put_one(out, BOOT_METRIC_TFTP, (struct str[]){STR("sent"), STR("")}, c->tftp_sent);
    counts_put_one(out, BOOT_METRIC_TFTP, (struct str[]){STR("failed"), STR("")}, c->tftp_failed);
}
