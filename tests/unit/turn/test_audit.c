/* Goal: the audit log has an event for every command of an operator and one for the changes of the
 * engine in each turn, none for a command that changed nothing, and no secrets.
 * Method: a real core behind a real turn on the simulated store; the events are taken out of the
 * batches as they become durable. */
#include "base/json/json.h"
#include "core/core.h"
#include "model/limits.h"
#include "port/batch.h"
#include "sim/store/memory_store.h"
#include "tests/check.h"
#include "turn/audit.h"
#include "turn/turn.h"

#include <stdio.h>
#include <string.h>

struct world {
    struct memory_store *store;
    struct memory_session session;
    struct turn *turn;
    struct arena arena;
    int64_t now_ms;
    uint64_t random;
    int64_t id;              /* of the last outcome */
    enum verdict verdict;    /* of the last outcome */
    const char *problem;     /* why it was refused */
    struct record events[8]; /* of all batches since the last forget_events() */
    uint32_t count;          /* there may have been more */
    struct run_order order;  /* the last order */
};

/* ---- ports ---- */

static int64_t clock_now(void *self)
{
    return ((struct world *)self)->now_ms;
}

static uint64_t clock_random(void *self)
{
    return ++((struct world *)self)->random;
}

static void note_order(void *self, const struct run_order *order)
{
    ((struct world *)self)->order = *order;
}

static void skip_row(void *self, const struct outbox_record *row)
{
    (void)self;
    (void)row;
}

static void note_outcome(void *self, int64_t request, const struct outcome *outcome, int64_t turn)
{
    struct world *w = self;
    (void)request;
    (void)turn;
    w->verdict = outcome->verdict;
    w->id = outcome->id;
    w->problem = outcome->problems ? str_z(&w->arena, outcome->problems->text) : "";
}

static void note_failed(void *self, int64_t request, err why)
{
    (void)self;
    (void)request;
    (void)why;
    check_failed(__FILE__, __LINE__, "no command fails here");
}

static void note_events(void *self, const struct batch *batch)
{
    struct world *w = self;
    uint32_t at = 0, rows = 0;
    for (struct change change; at < batch->changes.len; rows++) {
        CHECK(batch_next(batch->changes, &at, &change) == OK);
        if (change.record.table != TABLE_EVENT)
            continue;
        CHECK(!change.gone && change.record.event.turn == batch->turn);
        CHECK(change.record.event.at == batch->now_ms);
        struct record *kept = &w->events[w->count < 8 ? w->count : 7];
        kept->table = TABLE_EVENT;
        fields_copy(&w->arena, record_layout(TABLE_EVENT), &change.record.id, &kept->id);
        w->count++;
    }
    CHECK(rows == batch->rows); /* events count as rows of the batch */
}

static void run_until_quiet(struct world *w)
{
    enum turn_status status = TURN_AGAIN;
    for (int i = 0; i < 1000 && status != TURN_QUIET; i++)
        status = turn_advance(w->turn);
    CHECK(status == TURN_QUIET);
}

static void start_process(struct world *w)
{
    memory_session_init(&w->session, w->store);
    const struct turn_ports ports = {
        .store = memory_session_port(&w->session),
        .clock = {w, clock_now, clock_now, clock_random},
        .runner = {w, note_order, note_order, note_order},
        .hooks = {w, skip_row, NULL}, /* no role has veto hooks */
        .power = {w, skip_row, skip_row},
        .reply = {w, note_outcome, note_failed},
        .watch = {.self = w, .durable = note_events},
    };
    w->turn = turn_new(&ports);
    CHECK(turn_start(w->turn) == TURN_AGAIN);
    run_until_quiet(w);
}

static void end_process(struct world *w)
{
    turn_free(w->turn);
    memory_session_crash(&w->session, false);
}

static void world_init(struct world *w)
{
    *w = (struct world){.store = memory_store_new(), .now_ms = 1700000000000};
    start_process(w);
}

static void world_fini(struct world *w)
{
    CHECK(memory_store_count(w->store, TABLE_EVENT) >= w->count);
    end_process(w);
    memory_store_free(w->store);
    arena_fini(&w->arena);
}

/* ---- commands and events ---- */

#define CMD(upper, lower, ...) ((struct command){.kind = COMMAND_##upper, .lower = {__VA_ARGS__}})

static void submit(struct world *w, struct command command)
{
    command.actor = command.actor.len ? command.actor : STR("ann");
    command.request = 1;
    CHECK(turn_submit(w->turn, &command) == OK);
}

static int64_t done(struct world *w, struct command command)
{
    submit(w, command);
    run_until_quiet(w);
    if (w->verdict != VERDICT_DONE)
        check_failed(__FILE__, __LINE__, w->problem);
    return w->id;
}

static void refused(struct world *w, struct command command)
{
    submit(w, command);
    run_until_quiet(w);
    CHECK(w->verdict == VERDICT_REFUSED);
}

static void forget_events(struct world *w)
{
    w->count = 0;
}

/* Compare the events since the last call: one line for each, "actor verb object/id changes", JSON
 * with single quotes. */
static void check_events(struct world *w, const char *story)
{
    struct buf b = buf_in(&w->arena);
    CHECK(w->count <= 8);
    for (uint32_t i = 0; i < w->count; i++) {
        const struct event_record *e = &w->events[i].event;
        const struct str parts[] = {e->actor, STR(" "), e->verb, STR(" "), e->object};
        for (uint32_t k = 0; k < 5; k++)
            buf_put_str(&b, parts[k]);
        buf_put_c(&b, '/');
        buf_put_i64(&b, e->object_id);
        buf_put_c(&b, ' ');
        buf_put_str(&b, e->changes);
        buf_put_c(&b, '\n');
    }
    for (uint32_t i = 0; i < b.len; i++)
        b.at[i] = b.at[i] == '"' ? '\'' : b.at[i];
    if (!str_eq(buf_str(&b), str_from(story)))
        printf("events:\n%.*sexpected:\n%s", STR_FMT_ARGS(buf_str(&b)), story);
    CHECK(str_eq(buf_str(&b), str_from(story)));
    forget_events(w);
}

static int64_t add_node(struct world *w, const char *name)
{
    const int64_t node_id = done(w, CMD(NODE_CREATE, node_create, .name = str_from(name),
                                        .deployment_id = 1, .alive = true, .available = true));
    struct record row;
    const struct core *core = turn_core(w->turn);
    for (int64_t id = core_next_id(core, TABLE_OUTBOX, 0); id;
         id = core_next_id(core, TABLE_OUTBOX, id))
        if (core_record(core, TABLE_OUTBOX, id, &row) && row.outbox.kind == OUTBOX_PROBE &&
            row.outbox.object_id == node_id) { /* the probe succeeds */
            done(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = id));
            break;
        }
    return node_id;
}

static void import(struct world *w, const char *document)
{
    done(w, CMD(IMPORT, import, .barclamp = str_from(document)));
}

static const char content[] = "{\"barclamp\":{\"name\":\"b\",\"source_path\":\"p\"},"
                              "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],"
                              "\"hammers\":[{\"name\":\"ssh\",\"type\":\"ssh\",\"priority\":2},"
                              "{\"name\":\"ipmi\",\"type\":\"ipmi\",\"priority\":9}],"
                              "\"roles\":[{\"name\":\"r\",\"jig\":\"script\","
                              "\"attribs\":[{\"name\":\"v\",\"map\":\"a/v\",\"writable\":true}]},"
                              "{\"name\":\"s\",\"jig\":\"script\",\"requires\":[\"r\"]}]}";

/* ---- one command ---- */

TEST(the_bootstrap_has_no_event)
{
    struct world w;
    world_init(&w);
    CHECK(memory_store_mark(w.store).turn == 1);
    check_events(&w, "");
    world_fini(&w);
}

TEST(a_created_object_has_its_values)
{
    struct world w;
    world_init(&w);
    const int64_t id = done(&w, CMD(GROUP_CREATE, group_create, .name = STR("rack"),
                                    .category = STR("ui"), .description = STR("the \"first\"")));
    CHECK(id == 2); /* the bootstrap created one */
    CHECK(w.events[0].event.turn == 2 && w.events[0].event.n == 0);
    check_events(
        &w, "ann group_create group/2 {'category':[null,'ui'],"
            "'description':[null,'the \\'first\\''],'name':[null,'rack'],'order':[null,10000]}\n");
    world_fini(&w);
}

TEST(a_change_has_the_values_before_and_after)
{
    struct world w;
    world_init(&w);
    const int64_t id = done(&w, CMD(GROUP_CREATE, group_create, .name = STR("rack"),
                                    .category = STR("ui"), .description = STR("x")));
    forget_events(&w);
    done(&w, CMD(GROUP_UPDATE, group_update, .id = id, .given = GIVEN_NAME | GIVEN_DESCRIPTION,
                 .name = STR("row"), .description = STR("x")));
    check_events(&w, "ann group_update group/2 {'name':['rack','row']}\n");
    struct command by_bob =
        CMD(GROUP_UPDATE, group_update, .id = id, .given = GIVEN_GROUP_ORDER, .order = 7);
    by_bob.actor = STR("bob");
    done(&w, by_bob);
    check_events(&w, "bob group_update group/2 {'order':[10000,7]}\n");
    done(&w, CMD(GROUP_DELETE, group_delete, .id = id));
    check_events(&w, "ann group_delete group/2 {'category':['ui',null],'description':['x',null],"
                     "'name':['row',null],'order':[7,null]}\n");
    world_fini(&w);
}

TEST(pinned_host_keys_are_listed)
{
    struct world w;
    world_init(&w);
    const int64_t id = add_node(&w, "n1.example.com");
    const struct command pin =
        CMD(NODE_PIN_KEYS, node_pin_keys, .id = id, .boot = HOST_KEY_ANY_BOOT,
            .keys = STR("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5\nssh-rsa AAAAB3NzaC1y\n"));
    forget_events(&w);
    done(&w, pin);
    CHECK(w.count == 1 && str_eq(w.events[0].event.verb, STR("node_pin_keys")));
    CHECK(str_eq(w.events[0].event.changes,
                 STR("{\"host_keys\":[null,[\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5\","
                     "\"ssh-rsa AAAAB3NzaC1y\"]]}")));
    forget_events(&w);
    done(&w, pin);
    CHECK(w.count == 0); /* already pinned */
    done(&w, CMD(NODE_FORGET_KEY, node_forget_key, .id = id));
    CHECK(w.count == 1 && str_eq(w.events[0].event.verb, STR("node_forget_key")));
    CHECK(str_starts(w.events[0].event.changes,
                     STR("{\"host_keys\":[[\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5\",")));
    world_fini(&w);
}

TEST(numbers_bools_and_documents_keep_their_type)
{
    struct world w;
    world_init(&w);
    done(&w, CMD(SETTINGS_UPDATE, settings_update,
                 .given = GIVEN_SETTINGS_POOL_HIGH | GIVEN_SETTINGS_TEST_JIG, .pool_high = 9,
                 .test_jig = true));
    check_events(&w,
                 "ann settings_update settings/1 {'pool_high':[2,9],'test_jig':[false,true]}\n");
    const int64_t user = done(&w, CMD(USER_CREATE, user_create, .username = STR("zoe")));
    forget_events(&w);
    done(&w, CMD(USER_UPDATE, user_update, .id = user, .given = GIVEN_USER_SETTINGS,
                 .settings = STR("{\"a\":[1,{\"b\":null}]}")));
    check_events(&w, "ann user_update user/1 {'settings':[{},{'a':[1,{'b':null}]}]}\n");
    world_fini(&w);
}

/* The record of the group does not change, but its members do. */
TEST(changes_of_members_are_events_of_the_group)
{
    struct world w;
    world_init(&w);
    const int64_t node = add_node(&w, "n1.example.com");
    const int64_t id =
        done(&w, CMD(GROUP_CREATE, group_create, .name = STR("rack"), .category = STR("ui")));
    forget_events(&w);
    done(&w, CMD(GROUP_ADD, group_add, .id = id, .node_id = node));
    check_events(&w, "ann group_add group/2 {'node_id':[null,2]}\n");
    done(&w, CMD(GROUP_REMOVE, group_remove, .id = id, .node_id = node));
    check_events(&w, "ann group_remove group/2 {'node_id':[2,null]}\n");
    world_fini(&w);
}

TEST(a_written_value_is_an_event_of_its_owner)
{
    struct world w;
    world_init(&w);
    import(&w, content);
    const int64_t node = add_node(&w, "n1.example.com");
    const struct core *core = turn_core(w.turn);
    const int64_t role = core_find(core, TABLE_ROLE, STR("r"));
    const int64_t nr =
        done(&w, CMD(NODEROLE_BIND, noderole_bind, .node_id = node, .role_id = role));
    CHECK(w.count >= 1);
    forget_events(&w);
    done(&w, CMD(ATTRIB_SET, attrib_set, .target = TABLE_NODEROLE, .id = nr,
                 .attrib_id = core_find(turn_core(w.turn), TABLE_ATTRIB, STR("v")),
                 .bucket = BUCKET_USER, .value = STR("5")));
    check_events(&w, "ann attrib_set noderole/1 {'proposed_data':[{},{'a':{'v':5}}]}\n");
    world_fini(&w);
}

/* ---- no event without a change ---- */

TEST(a_refusal_leaves_no_event)
{
    struct world w;
    world_init(&w);
    refused(&w, CMD(GROUP_DELETE, group_delete, .id = 99));
    refused(&w, CMD(GROUP_CREATE, group_create, .name = STR("")));
    refused(&w, CMD(NODE_UPDATE, node_update, .id = 99, .given = GIVEN_NAME, .name = STR("x")));
    check_events(&w, "");
    CHECK(memory_store_count(w.store, TABLE_EVENT) == 0);
    CHECK(memory_store_mark(w.store).turn == 1);
    world_fini(&w);
}

TEST(a_command_without_a_change_has_no_event)
{
    struct world w;
    world_init(&w);
    const int64_t id =
        done(&w, CMD(GROUP_CREATE, group_create, .name = STR("rack"), .category = STR("ui")));
    const int64_t node = add_node(&w, "n1.example.com");
    done(&w, CMD(GROUP_ADD, group_add, .id = id, .node_id = node));
    forget_events(&w);
    const int64_t turn = memory_store_mark(w.store).turn;
    done(&w, CMD(GROUP_UPDATE, group_update, .id = id, .given = GIVEN_NAME, .name = STR("rack")));
    done(&w, CMD(NODE_UPDATE, node_update, .id = node, .given = GIVEN_NODE_ALIVE, .alive = true));
    done(&w, CMD(SETTINGS_UPDATE, settings_update, .given = 0));
    check_events(&w, "");
    CHECK(memory_store_mark(w.store).turn == turn);
    world_fini(&w);
}

TEST(a_create_that_finds_the_object_has_no_event)
{
    struct world w;
    world_init(&w);
    const struct command registers = CMD(NODE_CREATE, node_create, .name = STR("n1.example.com"),
                                         .hint = STR("{\"admin_macs\":[\"52:54:00:00:00:01\"]}"));
    const int64_t node = done(&w, registers);
    forget_events(&w);
    CHECK(done(&w, registers) == node);
    check_events(&w, "");
    world_fini(&w);
}

/* ---- COMMAND_BATCH ---- */

static struct command batch_of(struct world *w, const struct command *parts, uint32_t count)
{
    struct buf b = buf_in(&w->arena);
    for (uint32_t i = 0; i < count; i++)
        command_encode(&parts[i], &b);
    return CMD(BATCH, batch, .commands = buf_str(&b));
}

static struct command rename_node(int64_t id, const char *description)
{
    return CMD(NODE_UPDATE, node_update, .id = id, .given = GIVEN_DESCRIPTION,
               .description = str_from(description));
}

TEST(each_part_of_a_batch_has_an_event)
{
    struct world w;
    world_init(&w);
    const int64_t node = add_node(&w, "n1.example.com");
    const int64_t group =
        done(&w, CMD(GROUP_CREATE, group_create, .name = STR("rack"), .category = STR("ui")));
    forget_events(&w);
    struct command parts[] = {rename_node(node, "one"), rename_node(node, "two"),
                              rename_node(node, "two"),
                              CMD(GROUP_ADD, group_add, .id = group, .node_id = node),
                              CMD(NODE_DELETE, node_delete, .id = node)};
    parts[0].actor = STR("mallory");
    done(&w, batch_of(&w, parts, 4));
    check_events(&w, "ann node_update node/2 {'description':['','one']}\n"
                     "ann node_update node/2 {'description':['one','two']}\n"
                     "ann group_add group/2 {'node_id':[null,2]}\n");
    done(&w, batch_of(&w, parts + 4, 1));
    CHECK(w.count == 1 && w.events[0].event.object_id == node);
    CHECK(str_eq(w.events[0].event.verb, STR("node_delete")));
    world_fini(&w);
}

/* The object did not exist at the beginning of the batch. */
TEST(create_and_change_in_a_batch_are_two_events)
{
    struct world w;
    world_init(&w);
    const int64_t node = add_node(&w, "n1.example.com");
    forget_events(&w);
    const struct command parts[] = {
        CMD(NODE_CREATE, node_create, .name = STR("n2.example.com"), .deployment_id = 1),
        rename_node(node + 1, "words")};
    CHECK(done(&w, batch_of(&w, parts, 2)) == node + 1);
    CHECK(w.count == 2 && str_eq(w.events[0].event.verb, STR("node_create")));
    CHECK(w.events[0].event.object_id == node + 1 && w.events[0].event.n == 0);
    CHECK(str_eq(w.events[1].event.changes, STR("{\"description\":[\"\",\"words\"]}")));
    CHECK(w.events[1].event.n == 1 && w.events[1].event.turn == w.events[0].event.turn);
    world_fini(&w);
}

/* Events of earlier commands of the turn stay. */
TEST(a_refused_batch_leaves_no_event)
{
    struct world w;
    world_init(&w);
    const int64_t node = add_node(&w, "n1.example.com");
    forget_events(&w);
    const struct command parts[] = {rename_node(node, "one"), rename_node(4711, "two"),
                                    rename_node(node, "three")};
    refused(&w, batch_of(&w, parts, 3));
    check_events(&w, "");
    submit(&w, rename_node(node, "before"));
    submit(&w, batch_of(&w, parts, 3));
    submit(&w, rename_node(node, "after"));
    run_until_quiet(&w);
    check_events(&w, "ann node_update node/2 {'description':['','before']}\n"
                     "ann node_update node/2 {'description':['before','after']}\n");
    world_fini(&w);
}

/* ---- secrets and long strings ---- */

static bool events_contain(const struct world *w, const char *secret)
{
    for (uint32_t i = 0; i < w->count && i < 8; i++) {
        const struct str text = w->events[i].event.changes;
        const uint32_t len = (uint32_t)strlen(secret);
        for (uint32_t at = 0; at + len <= text.len; at++)
            if (memcmp(text.at + at, secret, len) == 0)
                return true;
    }
    return false;
}

TEST(secrets_are_masked)
{
    struct world w;
    world_init(&w);
    import(&w, content);
    const int64_t node = add_node(&w, "n1.example.com");
    forget_events(&w);
    const int64_t user =
        done(&w, CMD(USER_CREATE, user_create, .username = STR("zoe"),
                     .password_hash = STR("$argon2id$SECRET"), .digest_ha1 = STR("SECRETHA1")));
    CHECK(w.count == 1 && events_contain(&w, "\"password_hash\":[null,\"(secret)\"]"));
    CHECK(events_contain(&w, "\"digest_ha1\":[null,\"(secret)\"]") &&
          !events_contain(&w, "SECRET"));
    forget_events(&w);
    done(&w, CMD(USER_UPDATE, user_update, .id = user, .given = GIVEN_USER_PASSWORD_HASH,
                 .password_hash = STR("$argon2id$SECRET2")));
    check_events(&w, "ann user_update user/1 {'password_hash':['(secret)','(secret)']}\n");
    done(&w, CMD(USER_UPDATE, user_update, .id = user, .given = GIVEN_USER_DIGEST_HA1));
    check_events(&w, "ann user_update user/1 {'digest_ha1':['(secret)','']}\n");
    done(&w, CMD(TOKEN_CREATE, token_create, .user_id = user, .name = STR("t"),
                 .hash = STR("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")));
    check_events(&w, "ann token_create token/1 {'hash':[null,'(secret)'],'name':[null,'t'],"
                     "'user_id':[null,1]}\n");
    const int64_t kind = core_find(turn_core(w.turn), TABLE_HAMMER_KIND, STR("ipmi"));
    const int64_t hammer =
        done(&w, CMD(HAMMER_CREATE, hammer_create, .node_id = node, .hammer_kind_id = kind,
                     .username = STR("root"), .authenticator = STR("SECRET3")));
    CHECK(w.count == 1 && !events_contain(&w, "SECRET3") &&
          events_contain(&w, "\"username\":[null,\"root\"]"));
    forget_events(&w);
    done(&w, CMD(HAMMER_UPDATE, hammer_update, .id = hammer, .given = GIVEN_HAMMER_AUTHENTICATOR,
                 .authenticator = STR("SECRET4")));
    CHECK(w.count == 1 && events_contain(&w, "{\"authenticator\":[\"(secret)\",\"(secret)\"]}"));
    forget_events(&w);
    done(&w, CMD(JIG_UPDATE, jig_update, .id = 1, .given = GIVEN_JIG_KEY, .key = STR("SECRET5")));
    check_events(&w, "ann jig_update jig/1 {'key':['','(secret)']}\n");
    done(&w, CMD(USER_DELETE, user_delete, .id = user));
    CHECK(w.count == 1 && events_contain(&w, "\"password_hash\":[\"(secret)\",null]"));
    CHECK(!events_contain(&w, "SECRET"));
    world_fini(&w);
}

TEST(long_strings_are_replaced_by_their_length)
{
    struct world w;
    world_init(&w);
    char text[1025];
    memset(text, 'x', sizeof text);
    const int64_t id = done(&w, CMD(GROUP_CREATE, group_create, .name = STR("g"),
                                    .category = STR("ui"), .description = {text, 1024}));
    CHECK(w.count == 1 && events_contain(&w, "[null,\"xxxx") && !events_contain(&w, "bytes"));
    forget_events(&w);
    done(&w, CMD(GROUP_UPDATE, group_update, .id = id, .given = GIVEN_DESCRIPTION,
                 .description = {text, 1025}));
    CHECK(w.count == 1 && events_contain(&w, ",{\"bytes\":1025}]") &&
          events_contain(&w, "[\"xxxx"));
    forget_events(&w);
    done(&w, CMD(GROUP_UPDATE, group_update, .id = id, .given = GIVEN_DESCRIPTION,
                 .description = STR("")));
    check_events(&w, "ann group_update group/2 {'description':[{'bytes':1025},'']}\n");
    world_fini(&w);
}

/* ---- several in one batch ---- */

TEST(the_events_of_a_batch_are_numbered_in_order)
{
    struct world w;
    world_init(&w);
    submit(&w, CMD(GROUP_CREATE, group_create, .name = STR("a"), .category = STR("ui")));
    submit(&w, CMD(GROUP_DELETE, group_delete, .id = 99));
    struct command by_bob =
        CMD(GROUP_CREATE, group_create, .name = STR("b"), .category = STR("ui"));
    by_bob.actor = STR("bob");
    submit(&w, by_bob);
    submit(&w, CMD(GROUP_UPDATE, group_update, .id = 2, .given = GIVEN_NAME, .name = STR("c")));
    run_until_quiet(&w);
    CHECK(w.count == 3);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(w.events[i].event.turn == 2 && w.events[i].event.n == i);
    check_events(&w, "ann group_create group/2 {'category':[null,'ui'],'name':[null,'a'],"
                     "'order':[null,10000]}\n"
                     "bob group_create group/3 {'category':[null,'ui'],'name':[null,'b'],"
                     "'order':[null,10000]}\n"
                     "ann group_update group/2 {'name':['a','c']}\n");
    world_fini(&w);
}

TEST(create_and_delete_within_a_batch_are_events)
{
    struct world w;
    world_init(&w);
    const int64_t node = add_node(&w, "n1.example.com");
    forget_events(&w);
    submit(&w, CMD(GROUP_CREATE, group_create, .name = STR("a"), .category = STR("ui")));
    submit(&w, CMD(GROUP_ADD, group_add, .id = 2, .node_id = node));
    submit(&w, CMD(GROUP_REMOVE, group_remove, .id = 2, .node_id = node));
    submit(&w, CMD(GROUP_DELETE, group_delete, .id = 2));
    run_until_quiet(&w);
    static const char *const verbs[] = {"group_create", "group_add", "group_remove",
                                        "group_delete"};
    CHECK(w.count == 4);
    for (uint32_t i = 0; i < 4; i++)
        CHECK(str_eq(w.events[i].event.verb, str_from(verbs[i])));
    world_fini(&w);
}

/* A command that changes only rows that an earlier command of the batch has changed. */
TEST(a_change_of_rows_that_changed_before_is_an_event)
{
    struct world w;
    world_init(&w);
    import(&w, content);
    const int64_t node = add_node(&w, "n1.example.com");
    const int64_t nr = done(&w, CMD(NODEROLE_BIND, noderole_bind, .node_id = node,
                                    .role_id = core_find(turn_core(w.turn), TABLE_ROLE, STR("r"))));
    done(&w, CMD(NODE_UPDATE, node_update, .id = node, .given = GIVEN_NODE_AVAILABLE));
    forget_events(&w);
    submit(&w, CMD(NODEROLE_COMMIT, noderole_commit, .id = nr));
    submit(&w, CMD(NODE_PROPOSE, node_propose, .id = node));
    run_until_quiet(&w);
    struct record record;
    CHECK(w.verdict == VERDICT_DONE);
    CHECK(core_record(turn_core(w.turn), TABLE_NODEROLE, nr, &record));
    CHECK(record.noderole.state == NODEROLE_PROPOSED); /* the command had an effect */
    CHECK(w.count >= 2 && str_eq(w.events[0].event.verb, STR("noderole_commit")));
    CHECK(str_eq(w.events[1].event.verb, STR("node_propose")));
    world_fini(&w);
}

/* ---- the engine ---- */

static const struct json *changes_of(struct world *w, uint32_t i)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    CHECK(json_read(&w->arena, w->events[i].event.changes, &tree, &offset, &what) == OK);
    return tree;
}

static int64_t number_at(const struct json *changes, const char *path)
{
    int64_t value = -1;
    const struct json *found = json_at(changes, str_from(path));
    CHECK(!found || json_as_i64(found, &value));
    return value;
}

static int64_t add_noderole(struct world *w, const char *node)
{
    const int64_t role = core_find(turn_core(w->turn), TABLE_ROLE, STR("r"));
    return done(w,
                CMD(NODEROLE_BIND, noderole_bind, .node_id = add_node(w, node), .role_id = role));
}

/* The numbers of the store are not those of the API, which has 0 for active and 4 for proposed. */
TEST(states_and_reasons_are_names)
{
    struct world w;
    world_init(&w);
    import(&w, content);
    const int64_t nr = add_noderole(&w, "n1.example.com");
    forget_events(&w);
    done(&w, CMD(NODEROLE_COMMIT, noderole_commit, .id = nr));
    const struct json *changes = changes_of(&w, 0);
    CHECK(str_eq(json_at(changes, STR("state"))->first->text, STR("proposed")));
    CHECK(str_eq(json_at(changes, STR("state"))->first->next->text, STR("todo")));
    struct record row;
    CHECK(core_record(turn_core(w.turn), TABLE_NODEROLE, nr, &row));
    const int64_t node = row.noderole.node_id;
    forget_events(&w);
    done(&w, CMD(NODE_POWER_READ, node_power_read, .id = node, .state = POWER_STATE_ON));
    changes = changes_of(&w, 0);
    CHECK(str_eq(json_at(changes, STR("power_state"))->first->text, STR("unknown")));
    CHECK(str_eq(json_at(changes, STR("power_state"))->first->next->text, STR("on")));
    forget_events(&w);
    done(&w, CMD(NODE_POWER_READ, node_power_read, .id = node, .reason = REASON_POWER_TIMEOUT,
                 .text = STR("late")));
    changes = changes_of(&w, 0);
    CHECK(json_at(changes, STR("power_reason"))->first->kind == JSON_NULL);
    CHECK(str_eq(json_at(changes, STR("power_reason"))->first->next->text, STR("power_timeout")));
    forget_events(&w);
    done(&w, CMD(USER_CREATE, user_create, .username = STR("zoe"), .access = ACCESS_VIEWER));
    changes = changes_of(&w, 0);
    CHECK(str_eq(json_at(changes, STR("access"))->first->next->text, STR("viewer")));
    world_fini(&w);
}

TEST(the_engine_has_one_event_in_a_turn)
{
    struct world w;
    world_init(&w);
    import(&w, content);
    const int64_t nr = add_noderole(&w, "n1.example.com");
    forget_events(&w);
    done(&w, CMD(NODEROLE_COMMIT, noderole_commit, .id = nr));
    CHECK(w.count == 2 && w.order.noderole_id == nr);
    const struct event_record *command_event = &w.events[0].event, *engine = &w.events[1].event;
    CHECK(str_eq(command_event->verb, STR("noderole_commit")) && command_event->n == 0);
    CHECK(str_eq(engine->actor, STR("engine")) && str_eq(engine->verb, STR("anneal")));
    CHECK(engine->turn == command_event->turn && engine->n == 1); /* in the same turn, after it */
    CHECK(engine->object.len == 0 && engine->object_id == 0);
    const struct json *changes = changes_of(&w, 1);
    CHECK(number_at(changes, "run/count") == 1 && number_at(changes, "noderole/count") == 1);
    CHECK(number_at(json_at(changes, STR("noderole/ids"))->first, "") == nr);
    CHECK(json_at(changes, STR("counter")) == NULL); /* counters of ids are not listed */
    world_fini(&w);
}

TEST(results_belong_to_the_event_of_the_engine)
{
    struct world w;
    world_init(&w);
    import(&w, content);
    done(&w, CMD(NODEROLE_COMMIT, noderole_commit, .id = add_noderole(&w, "n1.example.com")));
    forget_events(&w);
    submit(&w, CMD(RUN_BEGUN, run_begun, .run_id = w.order.run_id, .attempt = w.order.attempt));
    run_until_quiet(&w);
    check_events(&w, "engine anneal /0 {'run':{'count':1,'ids':[1]}}\n");
    submit(&w, CMD(RUN_DONE, run_done, .run_id = w.order.run_id, .attempt = w.order.attempt,
                   .result = RESULT_OK));
    run_until_quiet(&w);
    check_events(
        &w, "engine anneal /0 {'noderole':{'count':1,'ids':[1]},'run':{'count':1,'ids':[1]}}\n");
    /* The run has ended: a repeated result changes nothing. */
    submit(&w, CMD(RUN_DONE, run_done, .run_id = w.order.run_id, .attempt = w.order.attempt,
                   .result = RESULT_FAILED));
    run_until_quiet(&w);
    check_events(&w, "");
    world_fini(&w);
}

TEST(the_engine_lists_a_hundred_ids_and_counts_the_rest)
{
    enum { MANY = 130 };
    struct world w;
    world_init(&w);
    import(&w, content);
    int64_t ids[MANY];
    char name[40];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "n%d.example.com", i);
        ids[i] = add_noderole(&w, name);
    }
    forget_events(&w);
    for (int i = 0; i < MANY; i++)
        submit(&w, CMD(NODEROLE_COMMIT, noderole_commit, .id = ids[i]));
    run_until_quiet(&w);
    CHECK(w.count == MANY + 1); /* one for each command, one for the engine */
    const struct event_record *engine = &w.events[7].event;
    CHECK(str_eq(engine->verb, STR("anneal")) && engine->n == MANY);
    const struct json *changes = changes_of(&w, 7);
    CHECK(number_at(changes, "noderole/count") == MANY);
    CHECK(json_at(changes, STR("noderole/ids"))->count == EVENT_IDS_MAX);
    CHECK(number_at(changes, "run/count") >= POOL_NORMAL_DEFAULT);
    world_fini(&w);
}

TEST(an_event_has_the_address_of_its_command_and_the_engine_has_none)
{
    struct world w;
    world_init(&w);
    import(&w, content);
    const int64_t nr = add_noderole(&w, "n1.example.com");
    forget_events(&w);
    struct command commit = CMD(NODEROLE_COMMIT, noderole_commit, .id = nr);
    commit.address = STR("2001:db8::7");
    done(&w, commit);
    CHECK(w.count == 2 && str_eq(w.events[0].event.address, STR("2001:db8::7")));
    CHECK(str_eq(w.events[1].event.actor, STR("engine")) && w.events[1].event.address.len == 0);
    forget_events(&w);
    /* Each part of a batch is an event with the address of the batch. */
    const int64_t node = core_find(turn_core(w.turn), TABLE_NODE, STR("n1.example.com"));
    const struct command parts[] = {rename_node(node, "one"), rename_node(node, "two")};
    struct command batch = batch_of(&w, parts, 2);
    batch.address = STR("192.0.2.7");
    done(&w, batch);
    CHECK(w.count == 2);
    for (uint32_t i = 0; i < 2; i++)
        CHECK(str_eq(w.events[i].event.address, STR("192.0.2.7")));
    forget_events(&w);
    done(&w, rename_node(node, "three"));
    CHECK(w.count == 1 && w.events[0].event.address.len == 0);
    world_fini(&w);
}

/* Events are not loaded and are not part of the digest. */
TEST(events_are_not_loaded)
{
    struct world w;
    world_init(&w);
    add_node(&w, "n1.example.com");
    const uint32_t count = memory_store_count(w.store, TABLE_EVENT);
    CHECK(count > 0);
    CHECK(digest_eq(memory_store_mark(w.store).digest, core_digest(turn_core(w.turn))));
    end_process(&w);
    start_process(&w);
    CHECK(digest_eq(memory_store_mark(w.store).digest, core_digest(turn_core(w.turn))));
    CHECK(memory_store_count(w.store, TABLE_EVENT) == count);
    world_fini(&w);
}
