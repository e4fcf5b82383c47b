/* Goal: a host key is pinned for one node at most, is removed with its node, is valid for the boot
 * it was read at, and is loaded as it was stored. Method: commands through the core, each refusal
 * once; reloads compare digests (world.h); records and rows are altered for what load and check
 * must detect. */
#include "core/core_private.h"
#include "tests/world/world.h"

#include <stdio.h>
#include <string.h>

static const char ed_a[] = "ssh-ed25519 AAAA", ed_b[] = "ssh-ed25519 BBBB",
                  ed_small[] = "ssh-ed25519 aaaa", rsa_a[] = "ssh-rsa CCCC",
                  both_a[] = "ssh-ed25519 AAAA\nssh-rsa CCCC\n";

static struct command cmd_pin(struct world *w, const char *node, const char *keys, int64_t boot)
{
    return CMD(NODE_PIN_KEYS, node_pin_keys, .id = the_node(w, node), .keys = str_from(keys),
               .boot = boot);
}

static struct command cmd_forget(struct world *w, const char *node)
{
    return CMD(NODE_FORGET_KEY, node_forget_key, .id = the_node(w, node));
}

static struct world *open_with_nodes(void)
{
    struct world *w = world_open();
    world_deployment(w, "d");
    world_node(w, "n1", "d");
    world_node(w, "n2", "d");
    return w;
}

static uint32_t count_of(struct world *w, const char *node)
{
    uint32_t count;
    core_host_keys_of(w->core, the_node(w, node), &w->arena, &count);
    return count;
}

static int64_t pinned_for(struct world *w, const char *key)
{
    return core_host_key_node(w->core, str_from(key));
}

/* ---- pinning ---- */

TEST(first_contact_pins_all_keys_of_a_machine)
{
    struct world *w = open_with_nodes();
    DONE(w, cmd_pin(w, "n1", both_a, 3));
    uint32_t count;
    const int64_t *ids = core_host_keys_of(w->core, the_node(w, "n1"), &w->arena, &count);
    CHECK(count == 2 && core_count(w->core, TABLE_HOST_KEY) == 2);
    struct record record;
    CHECK(core_record(w->core, TABLE_HOST_KEY, ids[0], &record));
    CHECK(record.host_key.node_id == the_node(w, "n1") && record.host_key.boot == 3);
    CHECK(str_eq(record.host_key.key, str_from(ed_a)) && record.host_key.since_ms == w->now_ms);
    CHECK(pinned_for(w, ed_a) == the_node(w, "n1") && pinned_for(w, rsa_a) == the_node(w, "n1"));
    CHECK(pinned_for(w, ed_b) == 0 && count_of(w, "n2") == 0);
    world_close(w);
}

TEST(a_key_that_differs_in_case_only_is_another_key)
{
    struct world *w = open_with_nodes();
    DONE(w, cmd_pin(w, "n1", ed_a, 0));
    CHECK(pinned_for(w, ed_small) == 0);
    DONE(w, cmd_pin(w, "n2", ed_small, 0));
    CHECK(pinned_for(w, ed_a) == the_node(w, "n1") && pinned_for(w, ed_small) == the_node(w, "n2"));
    world_close(w);
}

TEST(a_key_of_another_node_is_refused_and_nothing_is_pinned)
{
    struct world *w = open_with_nodes();
    DONE(w, cmd_pin(w, "n1", both_a, 0));
    HAS(REFUSED(w, cmd_pin(w, "n2", ed_a, 0), HOST_KEY_TAKEN, "keys"), "node n1");
    REFUSED(w, cmd_pin(w, "n2", "ssh-ed25519 BBBB\nssh-rsa CCCC", 7), HOST_KEY_TAKEN, "keys");
    CHECK(count_of(w, "n2") == 0 && pinned_for(w, ed_b) == 0);
    DONE(w, cmd_forget(w, "n1"));
    DONE(w, cmd_pin(w, "n2", ed_a, 0));
    REFUSED(w, cmd_pin(w, "n1", ed_a, 0), HOST_KEY_TAKEN, "keys");
    world_close(w);
}

TEST(a_key_of_this_host_is_for_admin_and_system_nodes)
{
    struct world *w = open_with_nodes();
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("boss.example.com"), .admin = true));
    struct command command = cmd_pin(w, "n1", ed_a, 0);
    command.node_pin_keys.is_own = true;
    REFUSED(w, command, HOST_KEY_REFUSED, "keys");
    CHECK(core_count(w->core, TABLE_HOST_KEY) == 0);
    command.node_pin_keys.id = core_find(w->core, TABLE_NODE, STR("boss.example.com"));
    DONE(w, command);
    CHECK(core_count(w->core, TABLE_HOST_KEY) == 1);
    world_close(w);
}

TEST(a_changed_key_is_refused_until_it_is_forgotten)
{
    struct world *w = open_with_nodes();
    DONE(w, cmd_pin(w, "n1", both_a, 1));
    const uint64_t edits = core_edits(w->core);
    DONE(w, cmd_pin(w, "n1", both_a, 1));
    DONE(w, cmd_pin(w, "n1", ed_a, 0));
    DONE(w, cmd_pin(w, "n1", "ssh-rsa CCCC\necdsa-sha2-nistp256 DDDD", 1)); /* one more type */
    CHECK(core_edits(w->core) == edits && count_of(w, "n1") == 2);
    HAS(REFUSED(w, cmd_pin(w, "n1", ed_b, 1), HOST_KEY_CHANGED, "keys"), "node n1");
    REFUSED(w, cmd_pin(w, "n1", "ssh-rsa CCCC\nssh-ed25519 BBBB", 1), HOST_KEY_CHANGED, "keys");
    REFUSED(w, cmd_pin(w, "n1", "ecdsa-sha2-nistp256 DDDD", 1), HOST_KEY_CHANGED, "keys");
    DONE(w, cmd_forget(w, "n1"));
    CHECK(count_of(w, "n1") == 0 && pinned_for(w, ed_a) == 0);
    DONE(w, cmd_pin(w, "n1", ed_b, 1));
    CHECK(pinned_for(w, ed_b) == the_node(w, "n1"));
    world_close(w);
}

TEST(pins_are_valid_for_their_boot_or_for_all_boots)
{
    struct world *w = open_with_nodes();
    DONE(w, cmd_pin(w, "n1", both_a, 1));
    DONE(w, cmd_pin(w, "n1", ed_b, 2)); /* another system runs on the machine */
    CHECK(count_of(w, "n1") == 1 && pinned_for(w, rsa_a) == 0);
    /* The result of a probe of the earlier boot. */
    REFUSED(w, cmd_pin(w, "n1", both_a, 1), HOST_KEY_CHANGED, "keys");
    DONE(w, cmd_pin(w, "n1", ed_b, 3)); /* the same key again */
    CHECK(count_of(w, "n1") == 1);
    DONE(w, cmd_pin(w, "n2", ed_a, HOST_KEY_ANY_BOOT));
    REFUSED(w, cmd_pin(w, "n2", rsa_a, 9), HOST_KEY_CHANGED, "keys");
    world_close(w);
}

TEST(an_invalid_key_is_refused)
{
    static const char *const wrong[] = {
        "ssh-ed25519",      "ssh-ed25519 ",        " AAAA",
        "ssh-dss AAAA",     "ssh-ed25519  AAAA",   "ssh-ed25519 AAA",
        "ssh-ed25519 A=AA", "ssh-ed25519 AAAA n1", "ssh-ed25519 AAAA\n\nssh-rsa CCCC",
        "ssh-ed25519 AA*A", "ssh-ed25519 AAAA\r"};
    struct world *w = open_with_nodes();
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        REFUSED(w, cmd_pin(w, "n1", wrong[i], 0), BAD_VALUE, "keys");
    REFUSED(w, cmd_pin(w, "n1", "", 0), MISSING, "keys");
    REFUSED(w, cmd_pin(w, "n1", ed_a, -2), BAD_VALUE, "boot");
    REFUSED(w, CMD(NODE_PIN_KEYS, node_pin_keys, .id = 99, .keys = STR("ssh-rsa CCCC")), NOT_FOUND,
            "id");
    REFUSED(w, CMD(NODE_FORGET_KEY, node_forget_key, .id = 99), NOT_FOUND, "id");
    CHECK(core_count(w->core, TABLE_HOST_KEY) == 0);
    world_close(w);
}

TEST(a_node_has_a_bounded_number_of_keys)
{
    struct world *w = open_with_nodes();
    char keys[400] = "";
    for (unsigned i = 0; i < HOST_KEYS_OWN_MAX; i++)
        snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "ssh-rsa AAA%u\nssh-rsa AAA%u\n",
                 i, i);
    DONE(w, cmd_pin(w, "n1", keys, 0)); /* each of them twice */
    CHECK(count_of(w, "n1") == HOST_KEYS_OWN_MAX);
    snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "ssh-rsa AAA9");
    REFUSED(w, cmd_pin(w, "n2", keys, 0), LIMIT_REACHED, "keys");
    static char large[HOST_KEY_LEN_MAX + 2];
    memset(large, 'A', sizeof large - 1);
    memcpy(large, "ssh-rsa ", 8);
    REFUSED(w, cmd_pin(w, "n2", large, 0), BAD_VALUE, "keys");
    large[HOST_KEY_LEN_MAX] = 0;
    DONE(w, cmd_pin(w, "n2", large, 0));
    world_reload(w);
    CHECK(pinned_for(w, large) == the_node(w, "n2"));
    world_close(w);
}

/* ---- removal ---- */

TEST(a_deleted_node_removes_its_pins)
{
    struct world *w = open_with_nodes();
    DONE(w, cmd_pin(w, "n1", both_a, 0));
    DONE(w, cmd_pin(w, "n2", ed_b, 0));
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
    CHECK(core_count(w->core, TABLE_HOST_KEY) == 1 && pinned_for(w, ed_a) == 0);
    world_node(w, "n3", "d");
    DONE(w, cmd_pin(w, "n3", both_a, 0));
    world_reload(w);
    CHECK(pinned_for(w, rsa_a) == the_node(w, "n3"));
    world_close(w);
}

static uint32_t probes(struct world *w)
{
    struct record record;
    uint32_t count = 0;
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_OUTBOX, id)) != 0;)
        count +=
            core_record(w->core, TABLE_OUTBOX, id, &record) && record.outbox.kind == OUTBOX_PROBE;
    return count;
}

TEST(a_node_that_is_alive_is_probed_again_when_its_key_is_forgotten)
{
    struct world *w = open_with_nodes();
    const int64_t n1 = the_node(w, "n1");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = n1, .given = GIVEN_NODE_ALIVE, .alive = false));
    DONE(w, cmd_pin(w, "n1", ed_a, 0));
    DONE(w, cmd_forget(w, "n1"));
    CHECK(probes(w) == 0);
    DONE(w, CMD(NODE_UPDATE, node_update, .id = n1, .given = GIVEN_NODE_ALIVE, .alive = true));
    CHECK(probes(w) == 1);
    DONE(w, cmd_pin(w, "n1", ed_a, 0));
    const int64_t first = core_next_id(w->core, TABLE_OUTBOX, 0);
    DONE(w, cmd_forget(w, "n1"));
    CHECK(probes(w) == 1 && core_next_id(w->core, TABLE_OUTBOX, 0) > first); /* another one */
    struct record probe;
    CHECK(core_record(w->core, TABLE_OUTBOX, core_next_id(w->core, TABLE_OUTBOX, 0), &probe));
    DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = probe.id));
    CHECK(probes(w) == 0);
    DONE(w, cmd_forget(w, "n1"));
    CHECK(probes(w) == 1);
    world_close(w);
}

TEST(a_system_that_runs_from_memory_may_have_other_keys_after_a_restart)
{
    struct world *w = open_with_nodes();
    DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "n1")));
    const int64_t boot = read_node(w, "n1").boot_generation;
    DONE(w, cmd_pin(w, "n1", ed_a, boot));
    REFUSED(w, cmd_pin(w, "n1", ed_b, boot), HOST_KEY_CHANGED, "keys");
    DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "n1")));
    CHECK(read_node(w, "n1").boot_generation == boot);
    CHECK(pinned_for(w, ed_a) == the_node(w, "n1")); /* the restart is ordered by ssh */
    REFUSED(w, cmd_pin(w, "n2", ed_a, 0), HOST_KEY_TAKEN, "keys");
    world_reload(w);
    DONE(w, cmd_pin(w, "n1", ed_b, boot));
    CHECK(count_of(w, "n1") == 1 && pinned_for(w, ed_b) == the_node(w, "n1"));
    DONE(w, CMD(NODE_DEBUG, node_debug, .id = the_node(w, "n1")));
    DONE(w, cmd_pin(w, "n1", ed_a, boot));
    CHECK(count_of(w, "n1") == 1 && pinned_for(w, ed_a) == the_node(w, "n1"));
    /* pins of operators are valid for all boots */
    DONE(w, cmd_pin(w, "n2", ed_b, HOST_KEY_ANY_BOOT));
    DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "n2")));
    REFUSED(w, cmd_pin(w, "n2", rsa_a, 1), HOST_KEY_CHANGED, "keys");
    world_close(w);
}

static struct command cmd_pin_by(struct world *w, const char *keys, int64_t probe)
{
    struct command command = cmd_pin(w, "n1", keys, 0);
    command.node_pin_keys.outbox_id = probe;
    return command;
}

static void set_alive(struct world *w, bool alive)
{
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_ALIVE,
                .alive = alive));
}

TEST(only_the_current_probe_of_a_node_pins)
{
    struct world *w = open_with_nodes();
    set_alive(w, false);
    REFUSED(w, cmd_pin_by(w, ed_a, 1), STALE, "outbox_id"); /* it has no pin */
    set_alive(w, true);
    const int64_t first = core_next_id(w->core, TABLE_OUTBOX, 0);
    CHECK(first && probes(w) == 1);
    REFUSED(w, cmd_pin_by(w, ed_a, first + 1), STALE, "outbox_id");
    DONE(w, cmd_pin_by(w, ed_a, first));
    DONE(w, cmd_forget(w, "n1"));
    REFUSED(w, cmd_pin_by(w, ed_a, first), STALE, "outbox_id");
    CHECK(count_of(w, "n1") == 0);
    const int64_t second = core_next_id(w->core, TABLE_OUTBOX, 0);
    world_reload(w);
    DONE(w, cmd_pin_by(w, ed_b, second));
    set_alive(w, false);
    REFUSED(w, cmd_pin_by(w, ed_b, second), STALE, "outbox_id");
    CHECK(pinned_for(w, ed_b) == the_node(w, "n1"));
    world_close(w);
}

TEST(only_operators_of_system_forget)
{
    struct world *w = open_with_nodes();
    const int64_t lab =
        DONE(w, CMD(USER_CREATE, user_create, .username = STR("lab"), .access = ACCESS_VIEWER,
                    .grants = world_json(w, "{'2':'operator'}")));
    const int64_t op =
        DONE(w, CMD(USER_CREATE, user_create, .username = STR("op"), .access = ACCESS_OPERATOR));
    DONE(w, cmd_pin(w, "n1", ed_a, 0));
    struct command forget = cmd_forget(w, "n1");
    forget.by = (struct principal){.is_external = true, .user_id = lab};
    REFUSED(w, forget, FORBIDDEN, "deployment");
    CHECK(pinned_for(w, ed_a));
    forget.by.user_id = op;
    DONE(w, forget);
    CHECK(core_count(w->core, TABLE_HOST_KEY) == 0);
    world_close(w);
}

/* ---- load and check ---- */

static const char *load(struct world *w)
{
    struct core *c = core_new();
    const char *what = NULL;
    err e = OK;
    for (size_t i = 0; e == OK && i < w->kept_count && w->kept[i].table < TABLE_LOADED; i++)
        e = core_load(c, &w->kept[i], &what);
    if (e == OK)
        e = core_load_end(c, 777000, &what);
    CHECK((e == OK) == !what);
    core_free(c);
    return what ? what : "";
}

static struct host_key_record *kept_key(struct world *w, const char *key)
{
    for (size_t i = 0; i < w->kept_count; i++)
        if (w->kept[i].table == TABLE_HOST_KEY && str_eq(w->kept[i].host_key.key, str_from(key)))
            return &w->kept[i].host_key;
    check_failed("kept", 0, "no such key");
}

TEST(a_load_refuses_pins_that_cannot_be)
{
    struct world *w = open_with_nodes();
    DONE(w, cmd_pin(w, "n1", ed_a, 0));
    DONE(w, cmd_pin(w, "n2", ed_b, 0));
    world_reload(w);
    struct host_key_record *row = kept_key(w, ed_b);
    const struct host_key_record right = *row;
    CHECK(load(w)[0] == 0);
    row->key = str_from(ed_a);
    CHECK(load(w)[0] != 0);
    *row = right;
    row->node_id = 99;
    CHECK(load(w)[0] != 0);
    row->node_id = 0;
    CHECK(load(w)[0] != 0);
    *row = right;
    row->key = STR("ssh-dss BBBB");
    CHECK(load(w)[0] != 0);
    *row = right;
    row->boot = HOST_KEY_NO_BOOT - 1;
    CHECK(load(w)[0] != 0);
    *row = right;
    CHECK(load(w)[0] == 0);
    world_close(w);
}

static bool is_c14(struct world *w)
{
    const char *what = core_check(w->core, &w->arena);
    return what && strncmp(what, "C14: ", 5) == 0;
}

TEST(the_check_finds_pins_that_contradict_their_nodes)
{
    struct world *w = open_with_nodes();
    DONE(w, cmd_pin(w, "n1", ed_a, 0));
    DONE(w, cmd_pin(w, "n2", both_a + sizeof ed_a, 0)); /* the rsa key */
    CHECK(!is_c14(w));
    struct core *c = w->core;
    const node_ix n1 = node_by_id(c, the_node(w, "n1")), n2 = node_by_id(c, the_node(w, "n2"));
    struct host_key *key =
        pool_at(&c->tables[TABLE_HOST_KEY].pool, vec_at(c, &node_at(c, n1)->host_keys, 0));
    struct node *node = pool_at(&c->tables[TABLE_NODE].pool, n1.v);
    struct host_key *other =
        pool_at(&c->tables[TABLE_HOST_KEY].pool, vec_at(c, &node_at(c, n2)->host_keys, 0));
    key->node = n2;
    CHECK(is_c14(w));
    key->node.v = 0;
    CHECK(is_c14(w));
    key->node = n1;
    node->host_keys.count = 0;
    CHECK(is_c14(w));
    node->host_keys.count = 1;
    const text_h right = other->key;
    other->key = key->key;
    CHECK(is_c14(w));
    other->key = right;
    CHECK(!is_c14(w));
    world_close(w);
}
