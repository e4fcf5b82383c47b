#include "daemon/boot/boot_links_private.h"

#include <stdlib.h>
#include <string.h>

#include "sys/clock.h"
#include "sys/log.h"

/* What the daemon does with each message of a boot server.
 *
 * HELLO comes first and once. Acknowledgements become events for the core, requests become commands
 * (boot_requests.c), reports are kept in memory. A message that is not legal at its point ends the
 * connection: its caller does that. */

static struct boot_link *boot_links_of_node(struct boot_links *all, int64_t node_id)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->links[i]->node_id == node_id && !all->links[i]->is_ending)
            return all->links[i];
    return NULL;
}

/* The node of the name; without a name the only admin node. 0: none, with the reason. */
static int64_t boot_hello_find_node(const struct boot_links *all, struct str name,
                                    const char **out_why)
{
    const struct core *core = turn_core(all->turn);
    struct record node;
    int64_t found = 0;
    if (name.len) {
        found = core_find(core, TABLE_NODE, name);
        *out_why = "there is no admin node of this name";
        return found && core_record(core, TABLE_NODE, found, &node) && node.node.admin ? found : 0;
    }
    *out_why = "there is no admin node yet";
    for (int64_t id = 0; (id = core_next_id(core, TABLE_NODE, id)) != 0;) {
        if (!core_record(core, TABLE_NODE, id, &node) || !node.node.admin || node.node.system)
            continue;
        if (found) {
            *out_why = "there are several admin nodes: start it with --node NAME";
            return 0;
        }
        found = id;
    }
    return found;
}

static void boot_hello_refuse(struct boot_link *l, const char *why)
{
    if (!boot_links_has_warned(l->all))
        log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("reason", why)), "boot server refused: %s", why);
    boot_link_send(
        l, &(struct boot_message){.kind = BOOT_MESSAGE_REFUSED, .refused.text = str_from(why)});
    boot_link_flush(l);
    boot_link_end(l, why);
}

static struct str boot_hello_join(struct arena *a, struct str list)
{
    struct buf b = buf_in(a);
    struct str item;
    uint32_t at = 0;
    bool is_bad = false;
    while (boot_list_next(list, &at, &item, &is_bad) && b.len < BOOT_STATUS_MAX) {
        if (b.len)
            buf_put_c(&b, ',');
        buf_put_str(&b, item);
    }
    return buf_str(&b);
}

static void boot_hello_welcome(struct boot_link *l, const struct core *core)
{
    const struct boot_links *all = l->all;
    struct record node;
    uint8_t key[BOOT_KEY_SIZE];
    must(core_record(core, TABLE_NODE, l->node_id, &node));
    boot_key_derive(all, l->node_id, key);
    boot_link_send(
        l, &(struct boot_message){.kind = BOOT_MESSAGE_WELCOME,
                                  .welcome = {.version = BOOT_PROTO_VERSION,
                                              .installation = str_from(all->installation),
                                              .epoch = turn_epoch(all->turn),
                                              .node = l->node_id,
                                              .node_name = node.node.name,
                                              .ticket_key = {(const char *)key, sizeof key}}});
}

static void boot_link_hello(struct boot_link *l, const struct boot_msg_hello *hello)
{
    struct boot_links *all = l->all;
    const struct core *core = turn_core(all->turn);
    const char *why;
    if (!core || !all->has_core) {
        boot_link_end(l, "the store is not loaded"); /* it connects again */
        return;
    }
    if (hello->version != BOOT_PROTO_VERSION) {
        boot_hello_refuse(l, "it is of another version: install the same version of both programs");
        return;
    }
    const int64_t node_id = boot_hello_find_node(all, hello->admin_node, &why);
    if (!node_id || boot_links_of_node(all, node_id)) {
        boot_hello_refuse(l, node_id ? "the node has a boot server already" : why);
        return;
    }
    l->node_id = node_id;
    l->http_port = hello->http_port;
    l->connected_ms = sys_now_ms();
    l->interfaces = boot_hello_join(&l->arena, hello->interfaces);
    l->version = str_copy(&l->arena, hello->program);
    log_with(LOG_NOTICE,
             LOG_FIELDS(LOG_I64("node", node_id), LOG_S("interfaces", l->interfaces),
                        LOG_S("version", l->version)),
             "boot server of node %lld connected; it is sent the boot view", (long long)node_id);
    boot_hello_welcome(l, core);
    boot_links_notify(all, node_id, BOOT_EVENT_CONNECTED, 0, STR(""));
    boot_publish_begin(l);
}

static void boot_link_status(struct boot_link *l, struct str text)
{
    l->status[0] = '\0';
    if (text.len) {
        memcpy(l->status, text.at, text.len);
        l->status[text.len] = '\0';
        log_with(LOG_ERROR, LOG_FIELDS(LOG_I64("node", l->node_id)),
                 "boot server of node %lld cannot serve what is committed: %s",
                 (long long)l->node_id, l->status);
        boot_links_notify(l->all, l->node_id, BOOT_EVENT_FAILED, 0, text);
    }
}

static void boot_link_counts(struct boot_link *l, const struct boot_msg_counts *m)
{
    const struct str counts = m->counts;
    l->seen_dropped = m->seen_dropped;
    char *copy = realloc(l->counts, counts.len + 1u);
    must(copy);
    if (counts.len)
        memcpy(copy, counts.at, counts.len);
    l->counts = copy;
    l->counts_len = counts.len;
}

static void boot_link_seen(struct boot_link *l, const struct boot_msg_seen *seen)
{
    const struct str interface = str_clip(seen->detail, sizeof l->foreign_interface - 1);
    boot_seen_add(l->all->seen, l->node_id, seen);
    if (seen->kind == BOOT_SEEN_FOREIGN_GONE)
        l->foreign = 0;
    if (seen->kind != BOOT_SEEN_FOREIGN_SERVER)
        return;
    l->foreign = seen->other & UINT32_MAX;
    memset(l->foreign_interface, 0, sizeof l->foreign_interface);
    if (interface.len)
        memcpy(l->foreign_interface, interface.at, interface.len);
}

static void boot_link_digest(struct boot_link *l, const struct boot_msg_digest *digest)
{
    if (boot_publish_matches(l, digest))
        return;
    log_with(LOG_ERROR, LOG_FIELDS(LOG_I64("node", l->node_id), LOG_I64("turn", digest->turn)),
             "boot server of node %lld has another boot view than the daemon at turn %lld; it is "
             "sent the whole view again",
             (long long)l->node_id, (long long)digest->turn);
    boot_publish_begin(l);
}

bool boot_message_take(struct boot_link *l, const struct boot_message *m)
{
    if (m->kind == BOOT_MESSAGE_HELLO) {
        if (l->node_id)
            return false;
        boot_link_hello(l, &m->hello);
        return true;
    }
    if (!l->node_id || !boot_message_is_from_server(m->kind))
        return false;
    switch ((uint32_t)m->kind) {
    case BOOT_MESSAGE_TAKEN:
        /* An acknowledgement that was sent before the core was loaded again. */
        if (l->was_reloaded && (!l->is_complete || m->taken.turn > l->sent_turn))
            return true;
        if (m->taken.turn > l->sent_turn || m->taken.turn < l->taken_turn)
            return false;
        l->taken_turn = m->taken.turn;
        boot_links_notify(l->all, l->node_id, BOOT_EVENT_TAKEN, m->taken.turn, STR(""));
        return true;
    case BOOT_MESSAGE_STATUS: boot_link_status(l, m->status.text); return true;
    case BOOT_MESSAGE_COUNTS: boot_link_counts(l, &m->counts); return true;
    case BOOT_MESSAGE_DIGEST: boot_link_digest(l, &m->digest); return true;
    case BOOT_MESSAGE_SEEN: boot_link_seen(l, &m->seen); return true;
    default: return boot_request_take(l, m);
    }
}
