/* Goal: a token is accepted only if it is valid, is found by its hash alone, is deleted with its
 * owner, and is loaded as it was stored. Method: commands through the core, each refusal once;
 * reloads compare digests (world.h); records that are altered outside the core for what a load must
 * detect. */
#include "core/core_private.h"
#include "tests/world/world.h"

#include <string.h>

static const char hash_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
static const char hash_b[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static const char hash_c[] = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";

static int64_t add_user(struct world *w, const char *name)
{
    return DONE(w, CMD(USER_CREATE, user_create, .username = str_from(name)));
}

static struct command cmd_token(int64_t user, const char *name, const char *hash)
{
    return CMD(TOKEN_CREATE, token_create, .user_id = user, .name = str_from(name),
               .hash = str_from(hash));
}

static struct command cmd_token_until(int64_t user, const char *hash, int64_t expires_at)
{
    struct command command = cmd_token(user, "t", hash);
    command.token_create.expires_at = expires_at;
    return command;
}

static int64_t find(struct world *w, const char *hash)
{
    return core_find(w->core, TABLE_TOKEN, str_from(hash));
}

static struct token_record read_token(struct world *w, int64_t id)
{
    struct record record;
    CHECK(core_record(w->core, TABLE_TOKEN, id, &record));
    return record.token;
}

/* ---- creation ---- */

TEST(a_token_keeps_what_it_was_made_with)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann");
    struct command command = cmd_token(ann, "backup script", hash_b);
    command.token_create.expires_at = w->now_ms + 3600000;
    const int64_t id = DONE(w, command);
    const struct token_record token = read_token(w, id);
    CHECK(token.id == id && token.user_id == ann && token.created_at == w->now_ms);
    CHECK(str_eq(token.name, STR("backup script")) && str_eq(token.hash, str_from(hash_b)));
    CHECK(token.expires_at == command.token_create.expires_at);
    CHECK(find(w, hash_b) == id && core_count(w->core, TABLE_TOKEN) == 1);
    world_close(w);
}

TEST(one_user_may_have_many_tokens_of_one_name)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann"), bob = add_user(w, "bob");
    const int64_t first = DONE(w, cmd_token(ann, "t", hash_a));
    const int64_t second = DONE(w, cmd_token(ann, "t", hash_b));
    const int64_t third = DONE(w, cmd_token(bob, "t", hash_c));
    CHECK(first < second && second < third);
    CHECK(find(w, hash_a) == first && find(w, hash_b) == second && find(w, hash_c) == third);
    world_close(w);
}

TEST(a_token_without_a_user_or_a_name_is_refused)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann");
    HAS(REFUSED(w, cmd_token(99, "t", hash_a), NOT_FOUND, "user_id"), "99");
    REFUSED(w, cmd_token(0, "t", hash_a), NOT_FOUND, "user_id");
    REFUSED(w, cmd_token(-1, "t", hash_a), NOT_FOUND, "user_id");
    HAS(REFUSED(w, cmd_token(ann, "", hash_a), MISSING, "name"), "name is required");
    CHECK(core_count(w->core, TABLE_TOKEN) == 0 && find(w, hash_a) == 0);
    world_close(w);
}

TEST(the_length_of_a_name_is_limited)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann");
    char name[NAME_LEN_MAX + 2] = {0};
    memset(name, 'n', NAME_LEN_MAX);
    DONE(w, cmd_token(ann, name, hash_a));
    name[NAME_LEN_MAX] = 'n';
    REFUSED(w, cmd_token(ann, name, hash_b), NAME_INVALID, "name");
    world_close(w);
}

TEST(only_a_sha256_in_lower_case_hex_is_a_hash)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann");
    static const char *const wrong[] = {
        "",
        "a",
        "my-secret-token",
        /* one too few, one too many */
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        /* the characters next to the valid ranges */
        "Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaF",
        "gaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`",
        "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:",
        " aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    };
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        HAS(REFUSED(w, cmd_token(ann, "t", wrong[i]), BAD_VALUE, "hash"), "SHA-256");
    CHECK(core_count(w->core, TABLE_TOKEN) == 0);
    world_close(w);
}

TEST(a_hash_belongs_to_one_token)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann"), bob = add_user(w, "bob");
    const int64_t id = DONE(w, cmd_token(ann, "t", hash_a));
    REFUSED(w, cmd_token(bob, "other", hash_a), NAME_TAKEN, "hash");
    REFUSED(w, cmd_token(ann, "t", hash_a), NAME_TAKEN, "hash");
    CHECK(find(w, hash_a) == id);
    DONE(w, CMD(TOKEN_DELETE, token_delete, .id = id));
    const int64_t again = DONE(w, cmd_token(bob, "other", hash_a));
    CHECK(again != id && find(w, hash_a) == again && read_token(w, again).user_id == bob);
    world_close(w);
}

TEST(a_token_expires_later_or_never)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann");
    REFUSED(w, cmd_token_until(ann, hash_a, -1), BAD_VALUE, "expires_at");
    REFUSED(w, cmd_token_until(ann, hash_a, INT64_MIN), BAD_VALUE, "expires_at");
    REFUSED(w, cmd_token_until(ann, hash_a, 1), BAD_VALUE, "expires_at");
    const int64_t never = DONE(w, cmd_token_until(ann, hash_a, 0));
    const int64_t late = DONE(w, cmd_token_until(ann, hash_b, INT64_MAX));
    CHECK(read_token(w, never).expires_at == 0 && read_token(w, late).expires_at == INT64_MAX);
    world_close(w);
}

/* The world advances its clock before each step, so this command is stepped directly. */
TEST(the_moment_itself_is_already_too_late)
{
    struct core *c = core_new();
    struct arena arena = {0};
    core_bootstrap(c, 1000);
    struct command commands[] = {
        CMD(USER_CREATE, user_create, .username = STR("ann")),
        cmd_token_until(1, hash_a, 5000),
        cmd_token_until(1, hash_a, 5001),
    };
    static const enum verdict verdicts[] = {VERDICT_DONE, VERDICT_REFUSED, VERDICT_DONE};
    for (uint32_t i = 0; i < 3; i++) {
        struct effects fx = {0};
        struct outcome out;
        commands[i].wall_ms = 5000;
        commands[i].now_ms = 9000; /* orders rows only, and is ignored */
        core_step(c, &commands[i], &arena, &fx, &out);
        CHECK(out.verdict == verdicts[i]);
        if (out.verdict == VERDICT_REFUSED)
            CHECK(str_eq(out.problems->field, STR("expires_at")));
    }
    core_free(c);
    arena_fini(&arena);
}

/* The timestamp stays ahead for as long as the clock was ahead once. */
TEST(a_stamp_that_is_ahead_does_not_expire_tokens)
{
    enum { HOUR_MS = 3600000 };
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann");
    w->now_ms += 100 * (int64_t)HOUR_MS;
    w->wall_ahead_ms = -100 * (int64_t)HOUR_MS;
    const int64_t wall_ms = w->now_ms + w->wall_ahead_ms;
    const int64_t kept = DONE(w, cmd_token_until(ann, hash_a, wall_ms + HOUR_MS));
    DONE(w, cmd_token(ann, "t", hash_b));
    CHECK(find(w, hash_a) == kept);
    w->now_ms += 2 * HOUR_MS; /* now it has expired by both clocks */
    REFUSED(w, cmd_token_until(ann, hash_c, wall_ms + HOUR_MS), BAD_VALUE, "expires_at");
    DONE(w, cmd_token(ann, "t", hash_c));
    CHECK(find(w, hash_a) == 0);
    world_close(w);
}

/* The wall clock jumped, and the timestamp does not follow before the jump is confirmed. */
TEST(a_wall_clock_that_is_ahead_for_a_moment_deletes_no_token)
{
    enum { HOUR_MS = 3600000 };
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann");
    const int64_t kept = DONE(w, cmd_token_until(ann, hash_a, w->now_ms + HOUR_MS));
    w->wall_ahead_ms = 100 * (int64_t)HOUR_MS;
    REFUSED(w, cmd_token_until(ann, hash_b, w->now_ms + HOUR_MS), BAD_VALUE, "expires_at");
    DONE(w, cmd_token(ann, "t", hash_b));
    CHECK(find(w, hash_a) == kept);
    world_close(w);
}

TEST(every_problem_of_a_token_is_reported_at_once)
{
    struct world *w = world_open();
    struct command command = cmd_token(7, "", "x");
    command.token_create.expires_at = -5;
    REFUSED(w, command, NONE, NULL);
    uint32_t count = 0;
    static const char *const fields[] = {"user_id", "name", "hash", "expires_at"};
    for (const struct problem *p = w->out.problems; p; p = p->next, count++)
        CHECK(count < 4 && str_eq(p->field, str_from(fields[count])));
    CHECK(count == 4);
    world_close(w);
}

TEST(the_number_of_tokens_is_limited)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann");
    CHECK(w->core->tables[TABLE_TOKEN].pool.max == TOKENS_MAX);
    w->core->tables[TABLE_TOKEN].pool.max = 2;
    const int64_t first = DONE(w, cmd_token(ann, "t", hash_a));
    DONE(w, cmd_token(ann, "t", hash_b));
    REFUSED(w, cmd_token(ann, "t", hash_c), LIMIT_REACHED, "token");
    CHECK(find(w, hash_c) == 0);
    DONE(w, CMD(TOKEN_DELETE, token_delete, .id = first));
    world_collect(w); /* the slot of a deleted row is free after the batch */
    DONE(w, cmd_token(ann, "t", hash_c));
    world_close(w);
}

/* ---- owner and scope ---- */

static const char *numbered_hash(struct world *w, uint32_t number)
{
    char *hash = arena_copy(&w->arena, hash_b, sizeof hash_b);
    for (uint32_t i = 0; i < 8; i++, number >>= 4)
        hash[i] = "0123456789abcdef"[number & 15];
    return hash;
}

static struct command cmd_node_token(int64_t node, const char *hash)
{
    return CMD(TOKEN_CREATE, token_create, .node_id = node, .name = STR("agent"),
               .hash = str_from(hash));
}

static uint32_t tokens_of(struct world *w, enum table owner, int64_t id)
{
    uint32_t count;
    const int64_t *ids = core_tokens_of(w->core, owner, id, &w->arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct token_record token = read_token(w, ids[i]);
        CHECK((owner == TABLE_USER ? token.user_id : token.node_id) == id);
        CHECK(i == 0 || ids[i] > ids[i - 1]);
    }
    return count;
}

TEST(a_token_keeps_its_scope)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann"), d = world_deployment(w, "d");
    struct command command = cmd_token(ann, "t", hash_a);
    command.token_create.access = ACCESS_VIEWER;
    command.token_create.deployment_id = d;
    command.token_create.kind = TOKEN_SESSION;
    const int64_t id = DONE(w, command);
    const int64_t plain = DONE(w, cmd_token(ann, "t", hash_b));
    world_reload(w);
    const struct token_record token = read_token(w, id), other = read_token(w, plain);
    CHECK(token.access == ACCESS_VIEWER && token.deployment_id == d);
    CHECK(token.kind == TOKEN_SESSION && token.user_id == ann && token.node_id == 0);
    CHECK(other.access == ACCESS_NONE && other.deployment_id == 0 && other.kind == TOKEN_BEARER);
    world_close(w);
}

TEST(a_token_belongs_to_a_user_or_a_node)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann"), node = world_node(w, "n1", NULL);
    struct command both = cmd_token(ann, "t", hash_a);
    both.token_create.node_id = node;
    REFUSED(w, both, BAD_VALUE, "node_id");
    REFUSED(w, cmd_token(0, "t", hash_a), NOT_FOUND, "user_id");
    REFUSED(w, cmd_node_token(4711, hash_a), NOT_FOUND, "node_id");
    const int64_t id = DONE(w, cmd_node_token(node, hash_a));
    CHECK(read_token(w, id).node_id == node && read_token(w, id).user_id == 0);
    CHECK(tokens_of(w, TABLE_NODE, node) == 1 && tokens_of(w, TABLE_USER, ann) == 0);
    CHECK(tokens_of(w, TABLE_NODE, 4711) == 0 && tokens_of(w, TABLE_GROUP, 1) == 0);
    world_close(w);
}

TEST(an_invalid_scope_is_refused)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann"), node = world_node(w, "n1", NULL);
    struct command command = cmd_token(ann, "t", hash_a);
    command.token_create.access = ACCESS_COUNT;
    REFUSED(w, command, BAD_VALUE, "access");
    command.token_create.access = ACCESS_ADMIN;
    command.token_create.kind = TOKEN_KIND_COUNT;
    REFUSED(w, command, BAD_VALUE, "kind");
    command.token_create.kind = TOKEN_BEARER;
    command.token_create.deployment_id = 4711;
    REFUSED(w, command, NOT_FOUND, "deployment_id");
    command.token_create.deployment_id = 1;
    DONE(w, command);
    /* The rights of a node token are fixed. */
    command = cmd_node_token(node, hash_b);
    command.token_create.access = ACCESS_VIEWER;
    REFUSED(w, command, BAD_VALUE, "access");
    command = cmd_node_token(node, hash_b);
    command.token_create.deployment_id = 1;
    REFUSED(w, command, BAD_VALUE, "deployment_id");
    command = cmd_node_token(node, hash_b);
    command.token_create.kind = TOKEN_SESSION;
    REFUSED(w, command, BAD_VALUE, "kind");
    world_close(w);
}

TEST(a_deleted_node_deletes_its_tokens)
{
    struct world *w = world_open();
    const int64_t one = world_node(w, "n1", NULL), two = world_node(w, "n2", NULL);
    DONE(w, cmd_node_token(one, hash_a));
    DONE(w, cmd_node_token(one, hash_b));
    DONE(w, cmd_node_token(two, hash_c));
    world_reload(w);
    DONE(w, CMD(NODE_DELETE, node_delete, .id = one));
    CHECK(find(w, hash_a) == 0 && find(w, hash_b) == 0 && find(w, hash_c) != 0);
    world_reload(w);
    CHECK(core_count(w->core, TABLE_TOKEN) == 1);
    world_close(w);
}

/* It must not become valid everywhere. */
TEST(a_deleted_deployment_deletes_tokens_restricted_to_it)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann");
    const int64_t d = world_deployment(w, "d"), e = world_deployment(w, "e");
    struct command command = cmd_token(ann, "t", hash_a);
    command.token_create.deployment_id = d;
    DONE(w, command);
    command.token_create.deployment_id = e;
    command.token_create.hash = STR(hash_b);
    DONE(w, command);
    DONE(w, cmd_token(ann, "t", hash_c));
    DONE(w, CMD(DEPLOYMENT_DELETE, deployment_delete, .id = d));
    CHECK(find(w, hash_a) == 0 && find(w, hash_b) != 0 && find(w, hash_c) != 0);
    CHECK(tokens_of(w, TABLE_USER, ann) == 2);
    world_reload(w);
    world_close(w);
}

/* ---- limits ---- */

TEST(expired_tokens_are_deleted_when_another_is_made)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann"), bob = add_user(w, "bob");
    DONE(w, cmd_token_until(ann, numbered_hash(w, 1), w->now_ms + 10000));
    DONE(w, cmd_token_until(ann, numbered_hash(w, 2), w->now_ms + 9000000));
    DONE(w, cmd_token_until(bob, numbered_hash(w, 3), w->now_ms + 10000));
    DONE(w, cmd_token(ann, "t", numbered_hash(w, 4)));
    w->now_ms += 20000;
    DONE(w, cmd_token(ann, "t", numbered_hash(w, 5)));
    CHECK(find(w, numbered_hash(w, 1)) == 0 && tokens_of(w, TABLE_USER, ann) == 3);
    CHECK(find(w, numbered_hash(w, 3)) != 0); /* tokens of another owner stay */
    /* A refused command deletes no token. */
    w->now_ms += 10000000;
    REFUSED(w, cmd_token(ann, "", numbered_hash(w, 6)), MISSING, "name");
    CHECK(tokens_of(w, TABLE_USER, ann) == 3);
    world_reload(w);
    world_close(w);
}

TEST(the_number_of_tokens_of_an_owner_is_limited)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann"), bob = add_user(w, "bob");
    const int64_t node = world_node(w, "n1", NULL);
    DONE(w, cmd_token_until(ann, numbered_hash(w, 9999), w->now_ms + 50000000));
    for (uint32_t i = 1; i < TOKENS_OWN_MAX; i++)
        DONE(w, cmd_token(ann, "t", numbered_hash(w, i)));
    const char *why = REFUSED(w, cmd_token(ann, "t", hash_a), LIMIT_REACHED, "user_id");
    HAS(why, "200");
    DONE(w, cmd_token(bob, "t", hash_a));
    w->now_ms += 60000000;
    DONE(w, cmd_token(ann, "t", hash_b)); /* replaces the expired one */
    REFUSED(w, cmd_token(ann, "t", hash_c), LIMIT_REACHED, "user_id");
    for (uint32_t i = 0; i < TOKENS_OWN_MAX; i++)
        DONE(w, cmd_node_token(node, numbered_hash(w, 10000 + i)));
    REFUSED(w, cmd_node_token(node, hash_c), LIMIT_REACHED, "node_id");
    world_close(w);
}

/* ---- lookup ---- */

TEST(a_token_is_found_by_its_whole_hash_only)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann");
    DONE(w, cmd_token(ann, "t", hash_a));
    CHECK(find(w, "") == 0 && find(w, "t") == 0 && find(w, hash_b) == 0);
    CHECK(core_find(w->core, TABLE_TOKEN, str_slice(STR(hash_a), 0, 63)) == 0);
    CHECK(core_find(w->core, TABLE_USER, STR(hash_a)) == 0);
    world_close(w);
}

/* ---- deletion ---- */

TEST(a_deleted_token_is_gone)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann");
    const int64_t id = DONE(w, cmd_token(ann, "t", hash_a));
    const int64_t other = DONE(w, cmd_token(ann, "t", hash_b));
    REFUSED(w, CMD(TOKEN_DELETE, token_delete, .id = 99), NOT_FOUND, "id");
    REFUSED(w, CMD(TOKEN_DELETE, token_delete, .id = 0), NOT_FOUND, "id");
    CHECK(DONE(w, CMD(TOKEN_DELETE, token_delete, .id = id)) == id);
    REFUSED(w, CMD(TOKEN_DELETE, token_delete, .id = id), NOT_FOUND, "id");
    struct record record;
    CHECK(!core_record(w->core, TABLE_TOKEN, id, &record) && find(w, hash_a) == 0);
    CHECK(find(w, hash_b) == other && core_count(w->core, TABLE_TOKEN) == 1);
    world_close(w);
}

TEST(a_deleted_user_deletes_its_tokens)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann"), bob = add_user(w, "bob");
    char hash[TOKEN_HASH_LEN + 1];
    memcpy(hash, hash_b, sizeof hash);
    for (int i = 0; i < 10; i++) {
        hash[0] = (char)('0' + i);
        hash[1] = 'a';
        DONE(w, cmd_token(ann, "t", hash));
        hash[1] = 'b';
        DONE(w, cmd_token(bob, "t", hash));
    }
    DONE(w, CMD(USER_DELETE, user_delete, .id = ann));
    CHECK(core_count(w->core, TABLE_TOKEN) == 10);
    for (int i = 0; i < 10; i++) {
        hash[0] = (char)('0' + i);
        hash[1] = 'a';
        CHECK(find(w, hash) == 0);
        hash[1] = 'b';
        CHECK(read_token(w, find(w, hash)).user_id == bob);
    }
    REFUSED(w, cmd_token(ann, "t", hash_a), NOT_FOUND, "user_id");
    world_close(w);
}

TEST(tokens_made_and_deleted_within_a_batch_leave_nothing)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann");
    world_collect(w);
    const struct digest128 before = core_digest(w->core);
    const int64_t id = DONE(w, cmd_token(ann, "t", hash_a));
    DONE(w, CMD(TOKEN_DELETE, token_delete, .id = id));
    for (size_t i = 0; i < w->kept_count; i++)
        CHECK(w->kept[i].table != TABLE_TOKEN);
    world_collect(w);
    for (size_t i = 0; i < w->kept_count; i++)
        CHECK(w->kept[i].table != TABLE_TOKEN);
    /* The id is not used again: the counter moved. */
    CHECK(!digest_eq(before, core_digest(w->core)));
    CHECK(DONE(w, cmd_token(ann, "t", hash_a)) == id + 1);
    world_close(w);
}

/* ---- load ---- */

TEST(tokens_come_back_from_a_store)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann"), bob = add_user(w, "bob");
    const int64_t kept = DONE(w, cmd_token_until(ann, hash_a, INT64_MAX));
    const int64_t gone = DONE(w, cmd_token(ann, "u", hash_b));
    DONE(w, cmd_token(bob, "v", hash_c));
    world_reload(w);
    CHECK(find(w, hash_a) == kept && read_token(w, kept).expires_at == INT64_MAX);
    DONE(w, CMD(TOKEN_DELETE, token_delete, .id = gone));
    DONE(w, CMD(USER_DELETE, user_delete, .id = bob));
    world_reload(w);
    CHECK(core_count(w->core, TABLE_TOKEN) == 1 && find(w, hash_a) == kept);
    CHECK(find(w, hash_b) == 0 && find(w, hash_c) == 0);
    REFUSED(w, cmd_token(ann, "t", hash_a), NAME_TAKEN, "hash");
    DONE(w, CMD(USER_DELETE, user_delete, .id = ann)); /* the list of its tokens was rebuilt */
    CHECK(core_count(w->core, TABLE_TOKEN) == 0);
    world_close(w);
}

/* Loads all stored records; returns the problem, or NULL. */
static const char *load_kept(struct world *w)
{
    struct core *c = core_new();
    const char *what = NULL;
    err e = OK;
    for (size_t i = 0; e == OK && i < w->kept_count && w->kept[i].table < TABLE_LOADED; i++)
        e = core_load(c, &w->kept[i], &what);
    if (e == OK)
        e = core_load_end(c, 1, &what);
    CHECK(e == (what ? ERR_CORRUPT : OK));
    core_free(c);
    return what;
}

static struct token_record *kept_token(struct world *w, uint32_t nth)
{
    for (size_t i = 0; i < w->kept_count; i++)
        if (w->kept[i].table == TABLE_TOKEN && nth-- == 0)
            return &w->kept[i].token;
    check_failed(__FILE__, __LINE__, "no such token is kept");
}

TEST(a_load_refuses_tokens_that_cannot_be)
{
    struct world *w = world_open();
    const int64_t ann = add_user(w, "ann");
    DONE(w, cmd_token(ann, "t", hash_a));
    DONE(w, cmd_token(ann, "u", hash_b));
    world_reload(w);
    CHECK(load_kept(w) == NULL);
    struct token_record *token = kept_token(w, 1);
    const struct token_record good = *token;
    token->hash = STR("");
    CHECK(load_kept(w) != NULL);
    token->hash = STR("short");
    CHECK(load_kept(w) != NULL);
    *token = good;
    token->user_id = 0;
    CHECK(load_kept(w) != NULL);
    token->user_id = 4711;
    CHECK(load_kept(w) != NULL);
    *token = good;
    token->node_id = core_next_id(w->core, TABLE_NODE, 0);
    CHECK(load_kept(w) != NULL);
    token->user_id = 0;
    CHECK(load_kept(w) == NULL); /* a node token */
    *token = good;
    token->access = ACCESS_COUNT;
    CHECK(load_kept(w) != NULL);
    *token = good;
    token->kind = TOKEN_KIND_COUNT;
    CHECK(load_kept(w) != NULL);
    *token = good;
    token->deployment_id = 4711;
    CHECK(load_kept(w) != NULL);
    *token = good;
    token->name = STR("\xff");
    CHECK(load_kept(w) != NULL);
    *token = good;
    CHECK(load_kept(w) == NULL);
    world_close(w);
}
