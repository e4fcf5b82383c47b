#include "daemon/boot/boot_links_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/net/ip.h"
#include "base/net/mac.h"
#include "model/grant.h"
#include "sys/failpoint.h"
#include "sys/log.h"

/* Requests of boot servers that need the core: leases, grants, documents, reports.
 *
 * A request becomes a command; its outcome, which arrives after the batch is durable, becomes the
 * answer. So an address is acknowledged and an installer is granted only when the store has it. A
 * request that cannot be submitted, or whose batch failed, is answered with "not now" where the
 * machine asks again by itself (grants, documents) and not at all otherwise: a DHCP client repeats
 * its request.
 *
 * The table of requests is bounded; a full table refuses further ones in the same way. Answers that
 * are computed from rows at once are held until those rows are durable. */

enum { HELD_MAX = 1024, NO_ANSWER = 0 };

#define BOOT_ACTOR STR("boot server")

/* ---- the table ---- */

/* The slot of the next request id; NULL if it is in use. */
static struct boot_request *boot_request_slot(struct boot_links *all)
{
    struct boot_request *slot = &all->requests[(all->request_ids + 1) % BOOT_REQUESTS_MAX];
    return slot->id ? NULL : slot;
}

static bool boot_request_submit(struct boot_link *l, const struct boot_message *m, int64_t number,
                                struct command *command)
{
    struct boot_links *all = l->all;
    struct boot_request *slot = boot_request_slot(all);
    if (!slot)
        return false;
    command->actor = BOOT_ACTOR;
    command->request = all->setup.request_first - all->request_ids - 1;
    if (all->setup.submit(all->setup.self, command) != OK)
        return false;
    all->request_ids++;
    *slot = (struct boot_request){command->request, l->id, number, m->kind};
    return true;
}

/* ---- answers ---- */

static void boot_answer_lease(struct boot_link *l, int64_t number, bool granted)
{
    FAILPOINT(BOOT_LEASED_BEFORE);
    boot_link_send(l, &(struct boot_message){.kind = BOOT_MESSAGE_LEASED,
                                             .leased = {.request = number, .granted = granted}});
    boot_link_flush(l);
    FAILPOINT(BOOT_LEASED_AFTER);
}

static void boot_answer_grant(struct boot_link *l, int64_t number, uint32_t answer)
{
    FAILPOINT(BOOT_GRANTED_BEFORE);
    boot_link_send(l, &(struct boot_message){.kind = BOOT_MESSAGE_GRANTED,
                                             .granted = {.request = number, .answer = answer}});
    boot_link_flush(l);
    FAILPOINT(BOOT_GRANTED_AFTER);
}

static void boot_answer_document(struct boot_link *l, int64_t number, uint32_t status,
                                 struct str body)
{
    boot_link_send(l, &(struct boot_message){.kind = BOOT_MESSAGE_CONTENT,
                                             .content = {.request = number,
                                                         .status = status,
                                                         .type = STR("text/plain"),
                                                         .body = body}});
}

/* An outcome that is no answer, for example because the node was deleted, sends the machine to its
 * disk: the boot server has an older view. */
static uint32_t boot_grant_of(const struct outcome *outcome)
{
    if (!outcome)
        return NO_ANSWER;
    for (uint32_t answer = 0; answer < GRANT_ANSWER_COUNT; answer++)
        if (outcome->verdict == VERDICT_DONE &&
            str_eq(outcome->doc, grant_answer_doc((enum grant_answer)answer)))
            return answer + 1;
    return GRANT_LOCAL + 1;
}

void boot_links_on_result(struct boot_links *all, int64_t request, const struct outcome *outcome)
{
    const int64_t number = all->setup.request_first - request;
    struct boot_request *slot = &all->requests[number % BOOT_REQUESTS_MAX];
    if (number <= 0 || slot->id != request)
        return;
    const struct boot_request done = *slot;
    *slot = (struct boot_request){0};
    struct boot_link *l = boot_links_find(all, done.link);
    if (!l || !done.number)
        return;
    if (done.kind == BOOT_MESSAGE_GRANT)
        boot_answer_grant(l, done.number, boot_grant_of(outcome));
    else if (done.kind == BOOT_MESSAGE_LEASE_TAKE && outcome)
        boot_answer_lease(l, done.number, outcome->verdict == VERDICT_DONE);
}

/* ---- leases and grants ---- */

static void boot_request_lease(struct boot_link *l, const struct boot_message *m)
{
    struct arena *a = &l->all->scratch;
    const struct boot_msg_lease *lease = &m->lease;
    const struct str address = ip_format_address(a, ip_from_v4((uint32_t)lease->address)),
                     mac = mac_format(a, mac_from_number((uint64_t)lease->mac));
    struct command command = {0};
    if (m->kind == BOOT_MESSAGE_LEASE_TAKE) {
        command.kind = COMMAND_LEASE_TAKE;
        command.lease_take = (struct lease_take_command){
            .range_id = lease->range, .address = address, .mac = mac, .lease_s = lease->lease_s};
    } else if (m->kind == BOOT_MESSAGE_LEASE_RELEASE) {
        command.kind = COMMAND_LEASE_RELEASE;
        command.lease_release = (struct lease_release_command){.address = address, .mac = mac};
    } else {
        command.kind = COMMAND_LEASE_DECLINE;
        command.lease_decline = (struct lease_decline_command){
            .range_id = lease->range, .address = address, .mac = mac};
    }
    if (m->kind == BOOT_MESSAGE_LEASE_TAKE)
        FAILPOINT(BOOT_LEASE_BEFORE);
    const int64_t number = m->kind == BOOT_MESSAGE_LEASE_TAKE ? lease->request : 0;
    ignore(boot_request_submit(l, m, number, &command), "the client repeats its request");
    if (m->kind == BOOT_MESSAGE_LEASE_TAKE)
        FAILPOINT(BOOT_LEASE_AFTER);
}

static void boot_request_grant(struct boot_link *l, const struct boot_message *m)
{
    struct command command = {.kind = COMMAND_GRANT_USE};
    command.grant_use = (struct grant_use_command){
        .node_id = m->grant.node,
        .generation = m->grant.generation,
        .ticket = m->grant.ticket,
        .mac = mac_format(&l->all->scratch, mac_from_number((uint64_t)m->grant.mac))};
    FAILPOINT(BOOT_GRANT_BEFORE);
    if (!boot_request_submit(l, m, m->grant.request, &command))
        boot_answer_grant(l, m->grant.request, NO_ANSWER);
    FAILPOINT(BOOT_GRANT_AFTER);
}

/* ---- documents ---- */

static bool boot_node_is_served(const struct core *core, int64_t node_id, struct arena *a)
{
    struct boot_entry entry;
    struct boot_serving *servings;
    if (!core_boot_view(core, (struct boot_key){BOOT_MACHINE, node_id}, a, &entry))
        return false;
    const uint32_t count = core_boot_servings(core, node_id, a, &servings);
    for (uint32_t i = 0; i < count; i++)
        if (!servings[i].is_served)
            return false;
    return true;
}

/* nodes/NAME/bootstate: the environment when every boot server has it, else nothing. */
static uint32_t boot_document_read(struct boot_links *all, struct str path, struct str *out)
{
    const struct str before = STR("nodes/"), after = STR("/bootstate");
    const struct core *core = turn_core(all->turn);
    struct record node;
    if (!core)
        return 503;
    if (path.len <= before.len + after.len || !str_starts(path, before) || !str_ends(path, after))
        return 404;
    const struct str name = str_slice(path, before.len, path.len - after.len);
    const int64_t id = core_find(core, TABLE_NODE, name);
    if (!id || !core_record(core, TABLE_NODE, id, &node))
        return 404;
    *out = boot_node_is_served(core, id, &all->scratch) ? node.node.bootenv : STR("");
    return 200;
}

static void boot_request_document(struct boot_link *l, const struct boot_msg_document *m)
{
    struct boot_links *all = l->all;
    struct str body = STR("");
    const uint32_t status = boot_document_read(all, m->path, &body);
    if (status != 200 || turn_seen(all->turn) == turn_durable(all->turn)) {
        boot_answer_document(l, m->request, status, body);
        return;
    }
    if (all->held_count == HELD_MAX) {
        boot_answer_document(l, m->request, 503, STR(""));
        return;
    }
    struct boot_held *held = malloc(sizeof *held + body.len);
    must(held);
    *held = (struct boot_held){.link = l->id,
                               .turn = turn_seen(all->turn),
                               .number = m->request,
                               .status = status,
                               .len = body.len};
    if (body.len)
        memcpy(held->body, body.at, body.len);
    *all->held_end = held;
    all->held_end = &held->next;
    all->held_count++;
}

static void boot_held_drop_first(struct boot_links *all)
{
    struct boot_held *held = all->held;
    all->held = held->next;
    if (!all->held)
        all->held_end = &all->held;
    all->held_count--;
    free(held);
}

void boot_requests_pump(struct boot_links *all)
{
    while (all->held && all->held->turn <= turn_durable(all->turn)) {
        struct boot_link *l = boot_links_find(all, all->held->link);
        if (l)
            boot_answer_document(l, all->held->number, all->held->status,
                                 (struct str){all->held->body, all->held->len});
        boot_held_drop_first(all);
    }
}

void boot_requests_reset(struct boot_links *all)
{
    while (all->held) {
        struct boot_link *l = boot_links_find(all, all->held->link);
        if (l)
            boot_answer_document(l, all->held->number, 503, STR(""));
        boot_held_drop_first(all);
    }
}

/* ---- reports ---- */

static void boot_request_files(struct boot_link *l, const struct boot_message *m)
{
    struct command command = {.kind = COMMAND_BOOTENV_REPORT};
    command.bootenv_report =
        (struct bootenv_report_command){.name = m->files.bootenv, .available = m->files.available};
    ignore(boot_request_submit(l, m, 0, &command),
           "the boot server reports again when it connects");
}

bool boot_request_take(struct boot_link *l, const struct boot_message *m)
{
    const struct arena_mark mark = arena_mark(&l->all->scratch);
    bool is_request = true;
    switch ((uint32_t)m->kind) {
    case BOOT_MESSAGE_LEASE_TAKE:
    case BOOT_MESSAGE_LEASE_RELEASE:
    case BOOT_MESSAGE_LEASE_DECLINE: boot_request_lease(l, m); break;
    case BOOT_MESSAGE_GRANT: boot_request_grant(l, m); break;
    case BOOT_MESSAGE_DOCUMENT: boot_request_document(l, &m->document); break;
    case BOOT_MESSAGE_FILES: boot_request_files(l, m); break;
    default: is_request = false;
    }
    arena_rewind(&l->all->scratch, mark);
    return is_request;
}
