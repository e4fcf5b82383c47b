/* Goal: invalid input is refused with a message and changes nothing, whatever the command. Method:
 * a world with one object of each kind and one valid command of each kind; every field of every
 * command is then replaced by every invalid value of its type. At the end a long series of random
 * commands, most of them invalid. */
#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "model/limits.h"
#include "tests/world/world.h"

enum { WRONG_ID = 999999 };

/* A string longer than any limit, and a document larger than that. */
static char long_text[DOC_MAX + 64];

static struct str too_long(enum field_kind kind)
{
    memset(long_text, 'a', sizeof long_text);
    if (kind == FIELD_TEXT)
        return (struct str){long_text, TEXT_MAX + 1};
    long_text[0] = '"';
    long_text[DOC_MAX + 1] = '"';
    return (struct str){long_text, DOC_MAX + 2};
}

/* ---- a world with one object of each kind ---- */

/* a@n1 ACTIVE, b@n1 PROPOSED with a hook waiting, c@n2 running, q@n3 parked, n1 discovered and in a
 * rack; d with two snapshots, role v in it and u@n2 bound; a user; network `net`. */
#define HASH_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASH_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static int64_t first_of(struct world *w, enum table table)
{
    return core_next_id(w->core, table, 0);
}

/* Network `net` with a range, a router, an allocation of n1 and a lease; network `bare`; node
 * `wired` with a nic; a name filter. */
static void open_networks(struct world *w)
{
    DONE(w, CMD(NETWORK_CREATE, network_create, .name = STR("net"), .given = GIVEN_NETWORK_CONDUIT,
                .conduit = STR("1g0"), .router = world_json(w, "{'pref':3}"),
                .ranges = world_json(
                    w, "[{'name':'host','first':'10.1.0.10/24','last':'10.1.0.99/24'}]")));
    DONE(w, CMD(NETWORK_CREATE, network_create, .name = STR("bare"), .given = GIVEN_NETWORK_CONDUIT,
                .conduit = STR("1g0")));
    DONE(w, CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, "n1"), .network_id = 1));
    DONE(w, CMD(LEASE_TAKE, lease_take, .range_id = 1, .address = STR("10.1.0.90"),
                .mac = STR("52:54:00:00:00:01"), .lease_s = 600));
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("wired.example.com"),
                .mac = STR("52:54:00:00:00:0a")));
    DONE(w, CMD(DNS_NAME_FILTER_CREATE, dns_name_filter_create, .given = 31, .name = STR("net"),
                .matcher = STR("net.name == \"net\""), .priority = 7, .service = STR("system"),
                .template = STR("{{node.name}}")));
}

static struct world *open_full(void)
{
    struct world *w = world_open();
    static const char *const plain[] = {"c", "q", "u", "v"};
    static const char *const bound[] = {"a@n1", "c@n2", "q@n3", "disco@n1"};
    for (int i = 0; i < 4; i++)
        world_role(w, plain[i], "");
    world_role(
        w, "a",
        "'flags':['serves-boot'],'attribs':[{'name':'f','map':'f','schema':{'type':'int'}}]");
    world_role(w, "b", "'hooks':['on_proposed']");
    DONE(w,
         cmd_import(
             w, "{'barclamp':{'name':'images','source_path':'/images'},"
                "'bootenvs':[{'name':'debian-install','method':'installer','kernel':'linux'}]}"));
    world_role(w, "disco", "'jig':'noop','flags':['discovery','milestone']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_node(w, "n3", NULL);
    for (int i = 0; i < 4; i++)
        world_bind(w, bound[i]);
    world_bring(w, "a@n1", "active");
    world_committed_deployment(w, "d");
    world_bind_in(w, "u@n2", "d");
    DONE(w, CMD(DEPLOYMENT_ROLE_CREATE, deployment_role_create,
                .deployment_id = the_deployment(w, "d"), .role_id = the_role(w, "v")));
    world_bring(w, "c@n2", "transition");
    world_commit(w, "u@n2");
    world_bring(w, "q@n3", "transition");
    world_finish_with(w, "q@n3",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 1000000});
    world_bind(w, "b@n1");
    DONE(w, CMD(USER_CREATE, user_create, .username = STR("fred"), .email = STR("f@example.com")));
    DONE(w, CMD(TOKEN_CREATE, token_create, .user_id = first_of(w, TABLE_USER), .name = STR("x"),
                .hash = STR(HASH_A)));
    const int64_t rack =
        DONE(w, CMD(GROUP_CREATE, group_create, .name = STR("rack1"), .category = STR("rack")));
    DONE(w, CMD(GROUP_ADD, group_add, .id = rack, .node_id = the_node(w, "n1")));
    open_networks(w);
    return w;
}

static int64_t found(struct world *w, enum table table, const char *name)
{
    const int64_t id = core_find(w->core, table, str_from(name));
    CHECK(id != 0);
    return id;
}

static struct command sample_content(struct world *w, enum command_kind kind)
{
    const int64_t jig = found(w, TABLE_JIG, "script"), role = the_role(w, "a");
    const struct str text = STR("words"), doc = world_json(w, "{'k':1}");
    switch ((int)kind) {
    case COMMAND_SETTINGS_UPDATE:
        return CMD(SETTINGS_UPDATE, settings_update, .given = 15, .pool_normal = 5, .pool_high = 1,
                   .max_depth = 9);
    case COMMAND_IMPORT:
        return cmd_import(w, "{'barclamp':{'name':'fresh','source_path':'/src/fresh'}}");
    case COMMAND_JIG_CREATE:
        return CMD(JIG_CREATE, jig_create, .name = STR("fresh"), .description = text,
                   .class_name = STR("script"), .active = true);
    case COMMAND_JIG_UPDATE:
        return CMD(JIG_UPDATE, jig_update, .id = jig, .given = 31, .description = text,
                   .active = true, .server = text, .client_name = text, .key = text);
    case COMMAND_ROLE_UPDATE:
        return CMD(ROLE_UPDATE, role_update, .id = role, .given = 3, .description = text,
                   .template = doc);
    case COMMAND_ATTRIB_CREATE:
        return CMD(ATTRIB_CREATE, attrib_create, .name = STR("fresh"), .description = text,
                   .barclamp_id = read_role(w, "a").barclamp_id, .role_id = role, .map = STR("m/n"),
                   .ui_renderer = STR("attribs/default"), .schema = world_json(w, "{'type':'int'}"),
                   .default_value = world_json(w, "{'value':1}"));
    case COMMAND_ATTRIB_DELETE: return CMD(ATTRIB_DELETE, attrib_delete, .id = the_attrib(w, "f"));
    case COMMAND_ATTRIB_SET:
        return cmd_set(w, TABLE_NODEROLE, the_noderole(w, "a@n1"), "f", BUCKET_USER, "3");
    case COMMAND_GROUP_CREATE:
        return CMD(GROUP_CREATE, group_create, .name = STR("fresh"), .description = text,
                   .category = STR("tag"), .order = 3);
    case COMMAND_GROUP_UPDATE:
        return CMD(GROUP_UPDATE, group_update, .id = found(w, TABLE_GROUP, "rack1"), .given = 15,
                   .name = STR("fresh"), .description = text, .category = STR("tag"), .order = 3);
    case COMMAND_GROUP_DELETE:
        return CMD(GROUP_DELETE, group_delete, .id = found(w, TABLE_GROUP, "rack1"));
    case COMMAND_GROUP_ADD:
        return CMD(GROUP_ADD, group_add, .id = found(w, TABLE_GROUP, "rack1"),
                   .node_id = the_node(w, "n2"));
    case COMMAND_GROUP_REMOVE:
        return CMD(GROUP_REMOVE, group_remove, .id = found(w, TABLE_GROUP, "rack1"),
                   .node_id = the_node(w, "n1"));
    case COMMAND_HAMMER_CREATE:
        return CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, "n1"),
                   .hammer_kind_id = found(w, TABLE_HAMMER_KIND, "ipmi"), .endpoint = text,
                   .username = text, .authenticator = text, .priority = 1);
    case COMMAND_HAMMER_UPDATE:
        return CMD(HAMMER_UPDATE, hammer_update, .id = first_of(w, TABLE_HAMMER), .given = 15,
                   .priority = 3, .endpoint = text, .username = text, .authenticator = text);
    case COMMAND_HAMMER_DELETE:
        return CMD(HAMMER_DELETE, hammer_delete, .id = first_of(w, TABLE_HAMMER));
    case COMMAND_USER_CREATE:
        return CMD(USER_CREATE, user_create, .username = STR("barney"),
                   .email = STR("b@example.com"), .password_hash = text, .digest_ha1 = text,
                   .access = ACCESS_OPERATOR, .grants = world_json(w, "{'1':'viewer'}"));
    case COMMAND_USER_UPDATE:
        return CMD(USER_UPDATE, user_update, .id = first_of(w, TABLE_USER), .given = 511,
                   .username = STR("wilma"), .email = STR("w@example.com"), .is_admin = true,
                   .password_hash = text, .digest_ha1 = text, .settings = doc,
                   .access = ACCESS_VIEWER, .grants = world_json(w, "{'1':'operator'}"));
    case COMMAND_USER_DELETE: return CMD(USER_DELETE, user_delete, .id = first_of(w, TABLE_USER));
    case COMMAND_TOKEN_CREATE:
        return CMD(TOKEN_CREATE, token_create, .user_id = first_of(w, TABLE_USER),
                   .name = STR("ci"), .hash = STR(HASH_B), .access = ACCESS_VIEWER,
                   .deployment_id = SYSTEM, .kind = TOKEN_SESSION);
    case COMMAND_TOKEN_DELETE:
        return CMD(TOKEN_DELETE, token_delete, .id = first_of(w, TABLE_TOKEN));
    default: return (struct command){.kind = COMMAND_COUNT};
    }
}

static struct command sample_deployment(struct world *w, enum command_kind kind)
{
    const int64_t d = the_deployment(w, "d"), dr = the_deployment_role(w, "v", "d");
    const struct str text = STR("words"), doc = world_json(w, "{'k':1}");
    struct record record;
    CHECK(core_record(w->core, TABLE_DEPLOYMENT, d, &record));
    switch ((int)kind) {
    case COMMAND_DEPLOYMENT_CREATE:
        return CMD(DEPLOYMENT_CREATE, deployment_create, .name = STR("fresh"), .description = text,
                   .parent_id = d);
    case COMMAND_DEPLOYMENT_UPDATE:
        return CMD(DEPLOYMENT_UPDATE, deployment_update, .id = d, .given = 3, .name = STR("fresh"),
                   .description = text);
    case COMMAND_DEPLOYMENT_DELETE: return CMD(DEPLOYMENT_DELETE, deployment_delete, .id = d);
    case COMMAND_DEPLOYMENT_COMMIT: return CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = d);
    case COMMAND_DEPLOYMENT_PROPOSE:
        return CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = d, .name = STR("fresh"));
    case COMMAND_DEPLOYMENT_RECALL: return CMD(DEPLOYMENT_RECALL, deployment_recall, .id = d);
    case COMMAND_DEPLOYMENT_REVERT:
        return CMD(DEPLOYMENT_REVERT, deployment_revert, .id = d, .seq = 1,
                   .content = world_snapshot(w, "d", 1));
    case COMMAND_SNAPSHOT_UPDATE:
        return CMD(SNAPSHOT_UPDATE, snapshot_update, .id = record.deployment.head_id, .given = 3,
                   .name = STR("fresh"), .description = text);
    case COMMAND_DEPLOYMENT_ROLE_CREATE:
        return CMD(DEPLOYMENT_ROLE_CREATE, deployment_role_create, .deployment_id = d,
                   .role_id = the_role(w, "a"));
    case COMMAND_DEPLOYMENT_ROLE_DELETE:
        return CMD(DEPLOYMENT_ROLE_DELETE, deployment_role_delete, .id = dr);
    case COMMAND_DEPLOYMENT_ROLE_PROPOSE:
        return CMD(DEPLOYMENT_ROLE_PROPOSE, deployment_role_propose, .id = dr);
    case COMMAND_DEPLOYMENT_ROLE_COMMIT:
        return CMD(DEPLOYMENT_ROLE_COMMIT, deployment_role_commit, .id = dr);
    case COMMAND_DEPLOYMENT_ROLE_DATA:
        return CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = dr, .data = doc);
    default: return sample_content(w, kind);
    }
}

static struct command sample_node(struct world *w, enum command_kind kind)
{
    const int64_t n1 = the_node(w, "n1");
    const struct str text = STR("words"), doc = world_json(w, "{'k':1}");
    switch ((int)kind) {
    case COMMAND_NODE_CREATE:
        return CMD(NODE_CREATE, node_create, .name = STR("fresh.example.com"), .description = text,
                   .deployment_id = SYSTEM, .bootenv = STR("local"), .hint = doc, .discovery = doc);
    case COMMAND_NODE_UPDATE:
        return CMD(
            NODE_UPDATE, node_update, .id = n1, .given = 8191, .name = STR("fresh.example.com"),
            .description = text, .deployment_id = the_deployment(w, "d"),
            .old_deployment_id = SYSTEM, .alive = true, .available = true, .bootenv = STR("local"),
            .quirks = world_json(w, "['odd']"), .boot_id = STR("b-1"), .environment = STR("local"));
    case COMMAND_NODE_DELETE: return CMD(NODE_DELETE, node_delete, .id = n1);
    case COMMAND_NODE_PROPOSE: return CMD(NODE_PROPOSE, node_propose, .id = n1);
    case COMMAND_NODE_COMMIT: return CMD(NODE_COMMIT, node_commit, .id = n1);
    case COMMAND_NODE_REDEPLOY: return CMD(NODE_REDEPLOY, node_redeploy, .id = n1);
    case COMMAND_NODE_DEBUG: return CMD(NODE_DEBUG, node_debug, .id = n1);
    case COMMAND_NODE_FORGET_KEY: return CMD(NODE_FORGET_KEY, node_forget_key, .id = n1);
    case COMMAND_NODE_UNDEBUG: return CMD(NODE_UNDEBUG, node_undebug, .id = n1);
    case COMMAND_NODE_POWER_READ:
        return CMD(NODE_POWER_READ, node_power_read, .id = n1, .state = POWER_STATE_ON,
                   .driver = STR("redfish"), .text = text);
    case COMMAND_NODE_POWER: return CMD(NODE_POWER, node_power, .id = n1, .action = STR("reboot"));
    case COMMAND_NODEROLE_BIND: {
        struct command command = cmd_bind(w, "v@n1", "d");
        command.noderole_bind.data = doc;
        return command;
    }
    case COMMAND_NODEROLE_DELETE:
        return CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "b@n1"));
    case COMMAND_NODEROLE_PROPOSE: return cmd_propose(w, "a@n1");
    case COMMAND_NODEROLE_COMMIT: return cmd_commit(w, "b@n1");
    case COMMAND_NODEROLE_RETRY: return cmd_retry(w, "a@n1");
    case COMMAND_NODEROLE_DATA:
        return CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, "b@n1"), .data = doc);
    case COMMAND_NODEROLE_COMPUTED: {
        struct command command =
            CMD(NODEROLE_COMPUTED, noderole_computed, .id = the_noderole(w, "b@n1"), .data = doc);
        command.depth = 1; /* its hook requests it */
        return command;
    }
    case COMMAND_NODEROLE_ENQUEUE: return cmd_enqueue(w, "a@n1");
    default: return sample_deployment(w, kind);
    }
}

/* The settings of a network and of a range that differ from those of `net`. */
static struct command sample_network(struct world *w, enum command_kind kind)
{
    const struct str text = STR("words");
    switch ((int)kind) {
    case COMMAND_NETWORK_CREATE:
        return CMD(NETWORK_CREATE, network_create, .name = STR("fresh"), .deployment_id = SYSTEM,
                   .ranges = world_json(
                       w, "[{'name':'host','first':'10.2.0.10/24','last':'10.2.0.99/24'}]"),
                   .router = world_json(w, "{'address':'10.2.0.1'}"), .given = 8191,
                   .description = text, .v6prefix = STR("auto"), .conduit = STR("1g1"),
                   .configure = true, .category = text, .group = text, .pbr = text);
    case COMMAND_NETWORK_UPDATE:
        return CMD(NETWORK_UPDATE, network_update, .id = first_of(w, TABLE_NETWORK), .given = 8191,
                   .description = text, .v6prefix = STR("auto"), .conduit = STR("1g1"),
                   .configure = true, .category = text, .group = text, .pbr = text);
    case COMMAND_NETWORK_DELETE:
        return CMD(NETWORK_DELETE, network_delete, .id = first_of(w, TABLE_NETWORK));
    case COMMAND_NETWORK_RANGE_CREATE:
        return CMD(NETWORK_RANGE_CREATE, network_range_create,
                   .network_id = first_of(w, TABLE_NETWORK), .given = 1023, .name = STR("fresh"),
                   .first = STR("10.1.0.100/24"), .last = STR("10.1.0.120/24"),
                   .conduit = STR("1g1"));
    case COMMAND_NETWORK_RANGE_UPDATE:
        return CMD(NETWORK_RANGE_UPDATE, network_range_update,
                   .id = first_of(w, TABLE_NETWORK_RANGE), .given = 1023, .name = STR("fresh"),
                   .first = STR("10.1.0.9/24"), .last = STR("10.1.0.120/24"),
                   .conduit = STR("1g1"));
    case COMMAND_NETWORK_ROUTER_CREATE:
        return CMD(NETWORK_ROUTER_CREATE, network_router_create, .given = 3,
                   .network_id = found(w, TABLE_NETWORK, "bare"), .address = STR("10.1.0.1"),
                   .pref = 9);
    case COMMAND_NETWORK_ROUTER_UPDATE:
        return CMD(NETWORK_ROUTER_UPDATE, network_router_update,
                   .id = first_of(w, TABLE_NETWORK_ROUTER), .given = 3, .address = STR("10.1.0.1"),
                   .pref = 9);
    case COMMAND_NETWORK_ROUTER_DELETE:
        return CMD(NETWORK_ROUTER_DELETE, network_router_delete,
                   .id = first_of(w, TABLE_NETWORK_ROUTER));
    case COMMAND_NETWORK_ALLOCATE:
        return CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, "n2"),
                   .network_id = first_of(w, TABLE_NETWORK),
                   .range_id = first_of(w, TABLE_NETWORK_RANGE));
    case COMMAND_NETWORK_DEALLOCATE:
        return CMD(NETWORK_DEALLOCATE, network_deallocate,
                   .id = first_of(w, TABLE_NETWORK_ALLOCATION));
    case COMMAND_LEASE_TAKE:
        return CMD(LEASE_TAKE, lease_take, .range_id = first_of(w, TABLE_NETWORK_RANGE),
                   .address = STR("10.1.0.91"), .mac = STR("52:54:00:00:00:02"), .lease_s = 600);
    case COMMAND_LEASE_RELEASE:
        return CMD(LEASE_RELEASE, lease_release, .address = STR("10.1.0.90"),
                   .mac = STR("52:54:00:00:00:01"));
    case COMMAND_LEASE_DECLINE:
        return CMD(LEASE_DECLINE, lease_decline, .range_id = first_of(w, TABLE_NETWORK_RANGE),
                   .address = STR("10.1.0.90"), .mac = STR("52:54:00:00:00:01"));
    case COMMAND_NICS_MAKE: return CMD(NICS_MAKE, nics_make, .unused = 0);
    case COMMAND_NIC_MOVE:
        return CMD(NIC_MOVE, nic_move, .node_id = the_node(w, "n1"),
                   .mac = STR("52:54:00:00:00:0a"));
    case COMMAND_DNS_NAME_FILTER_CREATE:
        return CMD(DNS_NAME_FILTER_CREATE, dns_name_filter_create, .given = 31,
                   .name = STR("fresh"), .matcher = STR("net.category == \"admin\""), .priority = 9,
                   .service = STR("system"), .template = STR("{{node.id}}"));
    case COMMAND_DNS_NAME_FILTER_UPDATE:
        return CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update,
                   .id = first_of(w, TABLE_DNS_NAME_FILTER), .given = 31, .name = STR("fresh"),
                   .matcher = STR("net.category == \"admin\""), .priority = 9,
                   .service = STR("system"), .template = STR("{{node.id}}"));
    case COMMAND_GRANT_USE:
        return CMD(GRANT_USE, grant_use, .node_id = the_node(w, "n1"),
                   .mac = STR("52:54:00:00:00:77"),
                   .ticket = STR("00112233445566778899aabbccddeeff"
                                 "00112233445566778899aabbccddeeff"));
    case COMMAND_DNS_NAME_FILTER_DELETE:
        return CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete,
                   .id = first_of(w, TABLE_DNS_NAME_FILTER));
    default: return sample_node(w, kind);
    }
}

static struct command sample_batch(struct world *w)
{
    struct buf parts = buf_in(&w->arena);
    const struct command create = sample_node(w, COMMAND_NODE_CREATE);
    const struct command commit = sample_node(w, COMMAND_NODE_COMMIT);
    command_encode(&create, &parts);
    command_encode(&commit, &parts);
    return CMD(BATCH, batch, .commands = buf_str(&parts));
}

/* A valid command of that kind. */
static struct command sample(struct world *w, enum command_kind kind)
{
    const struct start *start = world_start(w, "c@n2");
    const int64_t parked = world_run(w, "q@n3", RUN_PARKED);
    const struct str text = STR("words");
    switch ((int)kind) {
    case COMMAND_RUN_BEGUN:
        return CMD(RUN_BEGUN, run_begun, .run_id = start->run, .attempt = start->attempt,
                   .job = text);
    case COMMAND_RUN_DONE:
        return CMD(RUN_DONE, run_done, .run_id = start->run, .attempt = start->attempt,
                   .result = RESULT_OK, .runlog = text, .has_wall = true,
                   .wall = world_json(w, "{'k':1}"), .power = STR("reboot"));
    case COMMAND_RUN_STOPPED:
        return CMD(RUN_STOPPED, run_stopped, .run_id = start->run, .attempt = start->attempt);
    case COMMAND_RUN_RESUME: return CMD(RUN_RESUME, run_resume, .run_id = parked);
    case COMMAND_RUN_CANCEL: return CMD(RUN_CANCEL, run_cancel, .run_id = start->run);
    case COMMAND_OUTBOX_DONE:
        return CMD(OUTBOX_DONE, outbox_done, .outbox_id = world_waiting(w, "on_proposed b@n1"),
                   .text = text);
    case COMMAND_OUTBOX_BEGUN:
        return CMD(OUTBOX_BEGUN, outbox_begun, .outbox_id = world_waiting(w, "on_proposed b@n1"));
    case COMMAND_ANNEAL: return CMD(ANNEAL, anneal, .budget = 0);
    case COMMAND_TICK: return CMD(TICK, tick, .unused = 0);
    case COMMAND_BOOT_SERVER:
        return CMD(BOOT_SERVER, boot_server, .node_id = the_node(w, "n1"),
                   .event = BOOT_EVENT_FAILED, .turn = 0, .text = text);
    case COMMAND_BOOTENV_REPORT:
        return CMD(BOOTENV_REPORT, bootenv_report, .name = STR("debian-install"),
                   .available = true);
    case COMMAND_NODE_PIN_KEYS:
        return CMD(NODE_PIN_KEYS, node_pin_keys, .id = the_node(w, "n1"),
                   .keys = STR("ssh-ed25519 AAAA"));
    case COMMAND_BATCH: return sample_batch(w);
    default: return sample_network(w, kind);
    }
}

/* Results of runs and hooks: one that arrives late, or about an object that does not exist, is not
 * an error. */
static bool is_answer(enum command_kind kind)
{
    return kind == COMMAND_RUN_BEGUN || kind == COMMAND_RUN_DONE || kind == COMMAND_RUN_STOPPED ||
           kind == COMMAND_RUN_RESUME || kind == COMMAND_RUN_CANCEL ||
           kind == COMMAND_OUTBOX_DONE || kind == COMMAND_OUTBOX_BEGUN || kind == COMMAND_ANNEAL ||
           kind == COMMAND_TICK || kind == COMMAND_NODE_POWER_READ;
}

static bool is_id(const struct field *field)
{
    return field->kind == FIELD_I64 &&
           (strcmp(field->name, "id") == 0 || str_ends(str_from(field->name), STR("_id")));
}

static void *field_of(struct command *command, const struct field *field)
{
    return (char *)command_payload(command) + field->offset;
}

static bool is_one_of(enum problem_code code, const enum problem_code *codes)
{
    for (; *codes != PROBLEM_NONE; codes++)
        if (*codes == code)
            return true;
    return false;
}

/* Nothing changed, and a refusal has one of the codes and names that field. */
static void check_harmless(struct world *w, const struct command *command,
                           const struct field *field, const enum problem_code *codes)
{
    const struct digest128 before = core_digest_now(w->core);
    const char *name = command_name(command->kind);
    world_step(w, *command);
    if (!digest_eq(core_digest_now(w->core), before))
        world_fail(HERE, "%s with a bad %s left a trace", name, field->name);
    if (w->out.verdict == VERDICT_DONE && is_answer(command->kind))
        return;
    if (w->out.verdict != VERDICT_REFUSED)
        world_fail(HERE, "%s with a bad %s was not refused", name, field->name);
    bool told = false;
    for (const struct problem *p = w->out.problems; p; p = p->next) {
        CHECK(p->code > PROBLEM_NONE && p->code < PROBLEM_COUNT);
        CHECK(!str_is_empty(p->field) && !str_is_empty(p->text) && str_is_clean(p->text));
        CHECK(problem_status(p->code) >= 400);
        told = told || (is_one_of(p->code, codes) && str_eq(p->field, str_from(field->name)));
    }
    if (!told)
        world_fail(HERE, "%s with a bad %s: %s", name, field->name, world_trouble(w));
}

TEST(a_good_command_of_each_kind_is_accepted)
{
    for (int kind = 0; kind < COMMAND_COUNT; kind++) {
        struct world *w = open_full();
        const struct command command = sample(w, (enum command_kind)kind);
        CHECK(command.kind == (enum command_kind)kind);
        DONE(w, command);
        world_close(w);
    }
}

TEST(a_wrong_id_is_not_found)
{
    static const int64_t wrong[] = {WRONG_ID, -1, INT64_MAX, INT64_MIN};
    static const enum problem_code codes[] = {PROBLEM_NOT_FOUND, PROBLEM_NONE};
    static const enum problem_code guard[] = {PROBLEM_NOT_FOUND, PROBLEM_STALE, PROBLEM_NONE};
    struct world *w = open_full();
    int cells = 0;
    for (int kind = 0; kind < COMMAND_COUNT; kind++) {
        const struct layout *layout = command_layout((enum command_kind)kind);
        for (int f = 0; f < layout->count; f++)
            for (int i = 0; is_id(&layout->fields[f]) && i < 4; i++, cells++) {
                struct command command = sample(w, (enum command_kind)kind);
                memcpy(field_of(&command, &layout->fields[f]), &wrong[i], sizeof wrong[i]);
                const char *name = layout->fields[f].name;
                const bool old = strcmp(name, "old_deployment_id") == 0 ||
                                 (kind == COMMAND_NODE_PIN_KEYS && strcmp(name, "outbox_id") == 0);
                check_harmless(w, &command, &layout->fields[f], old ? guard : codes);
            }
    }
    CHECK(cells > 200);
    world_close(w);
}

TEST(an_id_of_nothing_is_not_found)
{
    static const enum problem_code codes[] = {PROBLEM_NOT_FOUND, PROBLEM_MISSING, PROBLEM_NONE};
    struct world *w = open_full();
    for (int kind = 0; kind < COMMAND_COUNT; kind++) {
        const struct layout *layout = command_layout((enum command_kind)kind);
        struct command command = sample(w, (enum command_kind)kind);
        if (strcmp(layout->fields[0].name, "id") != 0)
            continue;
        memset(field_of(&command, &layout->fields[0]), 0, sizeof(int64_t));
        check_harmless(w, &command, &layout->fields[0], codes);
    }
    world_close(w);
}

/* Every field of that type in every command gets that text. */
static void make_invalid(enum field_kind kind, struct str bad, const enum problem_code *codes)
{
    struct world *w = open_full();
    for (int k = 0; k < COMMAND_COUNT; k++) {
        const struct layout *layout = command_layout((enum command_kind)k);
        for (int f = 0; f < layout->count; f++) {
            if (layout->fields[f].kind != kind)
                continue;
            struct command command = sample(w, (enum command_kind)k);
            memcpy(field_of(&command, &layout->fields[f]), &bad, sizeof bad);
            check_harmless(w, &command, &layout->fields[f], codes);
        }
    }
    world_close(w);
}

static const enum problem_code bad_text[] = {PROBLEM_BAD_TEXT, PROBLEM_NONE};
static const enum problem_code bad_json[] = {PROBLEM_BAD_JSON, PROBLEM_NONE};
static const enum problem_code bad_either[] = {PROBLEM_BAD_TEXT, PROBLEM_BAD_JSON, PROBLEM_NONE};

TEST(text_that_is_not_utf_8_is_refused)
{
    make_invalid(FIELD_TEXT, STR("a\xff"), bad_text);
    make_invalid(FIELD_TEXT, STR("\xc0\x80"), bad_text);
    make_invalid(FIELD_TEXT, STR("\xed\xa0\x80"), bad_text);
}

TEST(text_with_a_zero_is_refused)
{
    make_invalid(FIELD_TEXT, STR("a\0b"), bad_text);
}

TEST(text_that_is_too_long_is_refused)
{
    make_invalid(FIELD_TEXT, too_long(FIELD_TEXT), bad_text);
}

TEST(documents_that_are_not_json_are_refused)
{
    make_invalid(FIELD_DOC, STR("{"), bad_json);
    make_invalid(FIELD_DOC, STR("nonsense"), bad_json);
    make_invalid(FIELD_DOC, STR("{} {}"), bad_json);
    make_invalid(FIELD_DOC, STR("{\"a\":1,\"a\":2}"), bad_json);
}

TEST(documents_with_bad_text_are_refused)
{
    make_invalid(FIELD_DOC, STR("{\"a\":\"\xff\"}"), bad_either);
    make_invalid(FIELD_DOC, STR("{\"a\":\"\\u0000\"}"), bad_either);
    make_invalid(FIELD_DOC, STR("{\"a\0\":1}"), bad_either);
}

TEST(documents_that_are_too_large_or_too_deep_are_refused)
{
    static char deep[200];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    make_invalid(FIELD_DOC, (struct str){deep, 200}, bad_json);
    make_invalid(FIELD_DOC, too_long(FIELD_DOC), bad_either);
}

TEST(a_document_of_another_kind_is_refused)
{
    static const char *const objects[] = {"template", "data",     "hint",     "discovery",
                                          "wall",     "settings", "barclamp", "router"};
    struct world *w = open_full();
    for (int k = 0; k < COMMAND_COUNT; k++) {
        const struct layout *layout = command_layout((enum command_kind)k);
        for (int f = 0; f < layout->count; f++)
            for (int i = 0; i < 8 && layout->fields[f].kind == FIELD_DOC; i++) {
                if (strcmp(layout->fields[f].name, objects[i]) != 0)
                    continue;
                struct command command = sample(w, (enum command_kind)k);
                const struct str array = STR("[1]");
                memcpy(field_of(&command, &layout->fields[f]), &array, sizeof array);
                check_harmless(w, &command, &layout->fields[f], bad_json);
            }
    }
    world_close(w);
}

TEST(an_invalid_number_is_refused)
{
    struct world *w = open_full();
    struct command command = sample(w, COMMAND_ATTRIB_SET);
    command.attrib_set.target = TABLE_COUNT;
    REFUSED(w, command, NONE, "target");
    command.attrib_set.target = TABLE_USER;
    REFUSED(w, command, NONE, "target");
    command = sample(w, COMMAND_ATTRIB_SET);
    command.attrib_set.bucket = BUCKET_COUNT;
    REFUSED(w, command, NONE, "bucket");
    command = sample(w, COMMAND_RUN_DONE);
    command.run_done.result = RESULT_COUNT;
    REFUSED(w, command, NONE, "result");
    world_close(w);
}

TEST(a_verb_in_the_wrong_state_is_refused)
{
    struct world *w = open_full();
    const int64_t phantom = found(w, TABLE_NODE, "d-phantom.internal.local");
    REFUSED(w, cmd_commit(w, "a@n1"), WRONG_STATE, NULL);
    REFUSED(w, cmd_commit(w, "c@n2"), WRONG_STATE, NULL);
    REFUSED(w, cmd_retry(w, "b@n1"), WRONG_STATE, NULL);
    REFUSED(w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, "a@n1")), NOT_PROPOSED,
            NULL);
    REFUSED(w, CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = SYSTEM), SYSTEM_DEPLOYMENT, NULL);
    REFUSED(w, CMD(DEPLOYMENT_RECALL, deployment_recall, .id = SYSTEM), SYSTEM_DEPLOYMENT, NULL);
    REFUSED(w, CMD(DEPLOYMENT_DELETE, deployment_delete, .id = SYSTEM), SYSTEM_DEPLOYMENT, NULL);
    REFUSED(w, CMD(NODE_DELETE, node_delete, .id = phantom), IN_USE, NULL);
    REFUSED(w,
            CMD(DEPLOYMENT_ROLE_DELETE, deployment_role_delete,
                .id = the_deployment_role(w, "a", "system")),
            IN_USE, NULL);
    REFUSED(w, CMD(NODE_POWER, node_power, .id = the_node(w, "n1"), .action = STR("fly")),
            NO_POWER_ACTION, NULL);
    REFUSED(w,
            CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = the_deployment(w, "d"),
                .plan = STR("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")),
            PLAN_CHANGED, NULL);
    world_close(w);
}

TEST(invalid_hook_commands_change_nothing)
{
    struct world *w = open_full();
    struct command command = sample(w, COMMAND_OUTBOX_DONE);
    command.outbox_done.hook_commands = STR("\xff\xff\xff\xff");
    world_step(w, command);
    IS(w, "b@n1", "proposed");
    if (w->out.verdict == VERDICT_DONE)
        CHECK(read_noderole(w, "b@n1").hook_failed);
    world_close(w);
}

/* ---- random commands ---- */

static struct str random_text(struct prng *r)
{
    static const struct str texts[] = {
        {"", 0},
        {"a", 1},
        {"n9.example.com", 14},
        {"n1.example.com", 14},
        {"system", 6},
        {"d", 1},
        {"script", 6},
        {"noop", 4},
        {"reboot", 6},
        {"local", 5},
        {"\xff", 1},
        {"a\0b", 3},
        {"rack", 4},
        {"x@y.example", 11},
        {"two words", 9},
        {"12345", 5},
    };
    if (prng_chance(r, 20))
        return too_long(FIELD_TEXT);
    return texts[prng_below(r, sizeof texts / sizeof texts[0])];
}

static struct str random_doc(struct prng *r)
{
    static const char *const docs[] = {
        "",
        "{}",
        "[]",
        "null",
        "true",
        "3",
        "\"x\"",
        "{",
        "{\"a\":1}",
        "{\"a\":{\"x\":2}}",
        "{\"type\":\"int\"}",
        "{\"value\":7}",
        "[\"b\",\"a\"]",
        "{\"a\":1,\"a\":2}",
        "{\"barclamp\":{\"name\":\"r1\",\"source_path\":\"/r\"},\"roles\":[{\"name\":\"a\","
        "\"jig\":\"noop\",\"requires\":[\"c\"],\"flags\":[\"cluster\"]}]}",
        "{\"barclamp\":{\"name\":\"r2\",\"source_path\":\"/r\"},\"roles\":[{\"name\":\"z\","
        "\"jig\":\"script\",\"provides\":[\"a\"],\"hooks\":[\"on_active\",\"on_commit\"]}]}",
        "{\"barclamp\":3}",
        "{\"barclamp\":{},\"roles\":{}}",
        "{\"data\":[],\"members\":[]}"};
    return str_from(docs[prng_below(r, sizeof docs / sizeof docs[0])]);
}

static int64_t random_id(struct prng *r)
{
    static const int64_t odd[] = {0, -1, INT64_MAX, INT64_MIN, WRONG_ID};
    return prng_chance(r, 100) ? odd[prng_below(r, 5)] : prng_between(r, 1, 12);
}

static void random_field(struct prng *r, const struct field *field, void *at)
{
    const uint32_t number =
        prng_chance(r, 100) ? (uint32_t)prng_next(r) : (uint32_t)prng_below(r, 40);
    const bool flag = prng_chance(r, 500);
    const int64_t id = random_id(r);
    const struct str text = field->kind == FIELD_TEXT ? random_text(r) : random_doc(r);
    switch (field->kind) {
    case FIELD_I64: memcpy(at, &id, sizeof id); break;
    case FIELD_U32: memcpy(at, &number, sizeof number); break;
    case FIELD_BOOL: memcpy(at, &flag, sizeof flag); break;
    case FIELD_TEXT:
    case FIELD_DOC:
    case FIELD_RAW: memcpy(at, &text, sizeof text); break;
    }
}

/* A valid command with up to two invalid fields, or a random one. */
static struct command random_command(struct prng *r, const struct command *good)
{
    struct command command = {.kind = (enum command_kind)prng_below(r, COMMAND_COUNT)};
    const struct layout *layout = command_layout(command.kind);
    const bool nonsense = prng_chance(r, 300);
    if (!nonsense)
        command = good[command.kind];
    const uint32_t count = nonsense ? layout->count : (uint32_t)prng_below(r, 3);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t f = nonsense ? i : (uint32_t)prng_below(r, layout->count);
        random_field(r, &layout->fields[f], field_of(&command, &layout->fields[f]));
    }
    return command;
}

TEST(random_commands_are_executed_or_refused_completely)
{
    struct prng r;
    struct command good[COMMAND_COUNT];
    uint32_t done = 0, refused = 0;
    prng_init(&r, 20150901);
    for (int world = 0; world < 40; world++) {
        struct world *w = open_full();
        for (int kind = 0; kind < COMMAND_COUNT; kind++)
            good[kind] = sample(w, (enum command_kind)kind);
        for (int i = 0; i < 300; i++) {
            const struct command command = random_command(&r, good);
            const struct digest128 before = core_digest_now(w->core);
            world_step(w, command);
            done += w->out.verdict == VERDICT_DONE;
            refused += w->out.verdict == VERDICT_REFUSED;
            if (w->out.verdict == VERDICT_REFUSED) {
                CHECK(digest_eq(core_digest_now(w->core), before));
                CHECK(w->out.problems != NULL && w->fx.count == 0);
            }
        }
        world_close(w);
    }
    printf("%u done, %u refused\n", done, refused);
    CHECK(done > 1000 && refused > 1000);
}

/* ---- conditional commands ---- */

TEST(a_command_with_a_turn_is_executed_only_if_the_row_is_unchanged)
{
    struct world *w = open_full();
    struct record record;
    const int64_t id =
        DONE(w, CMD(GROUP_CREATE, group_create, .name = STR("rack2"), .category = STR("rack")));
    world_reload(w);
    CHECK(core_record(w->core, TABLE_GROUP, id, &record) && record.group.turn > 0);
    struct command command = CMD(GROUP_UPDATE, group_update, .id = id, .given = GIVEN_DESCRIPTION,
                                 .description = STR("one"));
    command.if_turn = record.group.turn + 1;
    REFUSED(w, command, PRECONDITION_FAILED, "if_turn");
    command.if_turn = record.group.turn;
    DONE(w, command);
    /* The same turn again: the row has changed in this batch, whatever its stored turn. */
    REFUSED(w, command, PRECONDITION_FAILED, "if_turn");
    command.group_update.id = 999;
    REFUSED(w, command, PRECONDITION_FAILED, "if_turn");
    world_close(w);
}

TEST(an_address_that_is_too_long_or_not_clean_is_refused)
{
    struct world *w = world_open();
    const struct str good[] = {STR(""), STR("192.0.2.7"),
                               STR("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")};
    const struct str bad[] = {
        STR("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2550"), STR("192.0.2.7\xff"), {"1\0", 2}};
    struct command create = {.kind = COMMAND_GROUP_CREATE, .group_create = {.category = STR("ui")}};
    static const char *const names[] = {"g0", "g1", "g2", "g3"};
    CHECK(good[2].len == ADDRESS_LEN_MAX);
    for (uint32_t i = 0; i < 3; i++) {
        create.group_create.name = str_from(names[i]);
        create.address = good[i];
        world_step(w, create);
        CHECK(w->out.verdict == VERDICT_DONE);
    }
    create.group_create.name = str_from(names[3]);
    const uint32_t count = core_count(w->core, TABLE_GROUP);
    for (uint32_t i = 0; i < 3; i++) {
        create.address = bad[i];
        world_step(w, create);
        CHECK(w->out.verdict == VERDICT_REFUSED && !w->out.problems->next);
        CHECK(w->out.problems->code == PROBLEM_BAD_TEXT);
        CHECK(str_eq(w->out.problems->field, STR("address")));
    }
    CHECK(core_count(w->core, TABLE_GROUP) == count);
    world_close(w);
}
