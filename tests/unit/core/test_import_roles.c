/* Roles that are added, removed and moved between barclamps by imports: attachments in any order of
 * imports, roles that are not defined any more, and unknown jigs. */
#include "base/prng.h"
#include "tests/unit/core/content_details.h"

#define ROLES(name, list) "{" HEAD(name) "," JIGS ",\"roles\":[" list "]}"

static struct str requires_of(struct world *w, const char *role)
{
    return get(w, TABLE_ROLE, role).role.requires;
}

static uint32_t cohort_of(struct world *w, const char *role)
{
    return get(w, TABLE_ROLE, role).role.cohort;
}

static void be_stored(void *context, const struct change *change)
{
    uint32_t *gone = context;
    if (change->gone && change->record.table == TABLE_ROLE)
        (*gone)++;
}

/* ---- attachments ---- */

TEST(an_attachment_waits_for_its_role)
{
    struct world w = world_open();
    import(&w, ROLES("one", "{\"name\":\"a\",\"jig\":\"noop\",\"attaches\":[\"X\"]},"
                            "{\"name\":\"B\",\"jig\":\"noop\",\"preceeds\":[\"x\"]}"));
    CHECK(count_warnings(&w) == 2);
    import(&w, ROLES("two", "{\"name\":\"p\",\"jig\":\"noop\"},"
                            "{\"name\":\"x\",\"jig\":\"noop\",\"requires\":[\"p\"]}"));
    CHECK(is(requires_of(&w, "x"), "[\"p\",\"B\",\"a\"]") && cohort_of(&w, "x") == 1);
    CHECK(role_row(&w, "x")->own_requires == 1 && !role_row(&w, "x")->unresolved);
    import(&w, ROLES("one", "{\"name\":\"a\",\"jig\":\"noop\",\"attaches\":[\"X\"]}"));
    CHECK(is(requires_of(&w, "x"), "[\"p\",\"a\"]") && count_warnings(&w) == 0);
    import(&w, "{" HEAD("one") "}");
    CHECK(is(requires_of(&w, "x"), "[\"p\"]") && !core_find(w.c, TABLE_ROLE, STR("a")));
    CHECK(w.c->attachers.count == 0);
    world_close(&w);
}

TEST(a_role_with_capitals_is_found_by_those_that_wait_for_it)
{
    struct world w = world_open();
    import(&w, ROLES("one", "{\"name\":\"a\",\"jig\":\"noop\",\"attaches\":[\"big-one\"]}"));
    import(&w, ROLES("two", "{\"name\":\"Big-One\",\"jig\":\"noop\"}"));
    CHECK(is(requires_of(&w, "Big-One"), "[\"a\"]"));
    import(&w, ROLES("one", "{\"name\":\"a\",\"jig\":\"noop\"}"));
    CHECK(is(requires_of(&w, "Big-One"), ""));
    world_close(&w);
}

TEST(a_cycle_through_an_attachment_that_waited_is_refused_with_its_chain)
{
    struct world w = world_open();
    import(&w, ROLES("one", "{\"name\":\"a\",\"jig\":\"noop\",\"requires\":[\"x\"],"
                            "\"attaches\":[\"x\"]}"));
    must_refuse(&w,
                importing(ROLES("two", "{\"name\":\"o\",\"jig\":\"noop\"},"
                                       "{\"name\":\"x\",\"jig\":\"noop\"}")),
                PROBLEM_ROLE_CYCLE, "roles/1");
    CHECK(says(
        &w, "the roles require each other in a cycle: a -> x -> a; each role requires the "
            "next one, by its own `requires` or by the `attaches` of the next one: remove one of "
            "these entries"));
    import(&w, ROLES("one", "{\"name\":\"a\",\"jig\":\"noop\",\"requires\":[\"x\"]}"));
    import(&w, ROLES("two", "{\"name\":\"x\",\"jig\":\"noop\"}"));
    CHECK(is(parents_of(&w, "a"), "x") && is(parents_of(&w, "x"), ""));
    must_refuse(&w,
                importing(ROLES("one", "{\"name\":\"a\",\"jig\":\"noop\",\"requires\":[\"x\"],"
                                       "\"preceeds\":[\"x\"]}")),
                PROBLEM_ROLE_CYCLE, "roles/0");
    CHECK(is(requires_of(&w, "x"), ""));
    world_close(&w);
}

TEST(a_role_that_attaches_to_itself_requires_itself)
{
    struct world w = world_open();
    must_refuse(&w,
                importing(ROLES("one", "{\"name\":\"a\",\"jig\":\"noop\",\"attaches\":[\"A\"]}")),
                PROBLEM_ROLE_CYCLE, "roles/0");
    CHECK(w.c->attachers.count == 0);
    world_close(&w);
}

TEST(a_missing_or_superfluous_attachment_is_detected)
{
    struct world w = world_open();
    uint64_t key;
    uint32_t attacher;
    import(&w, ROLES("one", "{\"name\":\"a\",\"jig\":\"noop\",\"attaches\":[\"x\"]}"));
    CHECK(omap_ceil(&w.c->attachers, 0, &key, &attacher));
    omap_remove(&w.c->attachers, key);
    CHECK(is(str_from(core_check(w.c, &w.arena)),
             "C11: an attachment of a role is missing in the index"));
    omap_put(&w.c->attachers, key, attacher);
    omap_put(&w.c->attachers, key + 1, attacher);
    CHECK(is(str_from(core_check(w.c, &w.arena)),
             "C11: the index has an attachment that no role has"));
    omap_remove(&w.c->attachers, key + 1);
    world_close(&w);
}

/* ---- the order of imports ---- */

/* "name cohort requires own attached-to;" of every role from r00 on. */
static struct str facts_of(const struct core *c, struct arena *a, uint32_t count)
{
    struct buf b = buf_in(a);
    for (uint32_t i = 0; i < count; i++) {
        struct buf name = buf_in(a);
        buf_put_z(&name, i < 10 ? "r0" : "r");
        buf_put_u64(&name, i);
        const role_ix r = {name_find(c, TABLE_ROLE, buf_str(&name))};
        CHECK(r.v);
        const struct role *role = role_at(c, r);
        buf_put_str(&b, text_of(c, role->name));
        buf_put_c(&b, ' ');
        buf_put_u64(&b, role->cohort);
        buf_put_str(&b, text_of(c, role->requires));
        buf_put_u64(&b, role->own_requires);
        buf_put_c(&b, ' ');
        buf_put_u64(&b, role->attaching.count);
        buf_put_c(&b, role->unresolved ? '?' : ';');
    }
    return buf_str(&b);
}

/* Names of other roles with smaller (or larger) numbers, so that no cycle is possible. */
static void put_others(struct buf *b, struct prng *r, const char *key, uint32_t from, uint32_t to)
{
    buf_put_z(b, ",\"");
    buf_put_z(b, key);
    buf_put_z(b, "\":[");
    for (uint64_t n = from < to ? prng_below(r, 4) : 0, i = 0; i < n; i++) {
        const uint64_t other = from + prng_below(r, to - from);
        buf_put_z(b, i ? ",\"" : "\"");
        buf_put_z(b, other < 10 ? "r0" : "r");
        buf_put_u64(b, other);
        buf_put_z(b, "\"");
    }
    buf_put_z(b, "]");
}

enum { DOCUMENTS = 5, EACH = 3, ALL = DOCUMENTS * EACH };

static struct str shuffled_document(struct arena *a, struct prng *r, uint32_t n)
{
    struct buf b = buf_in(a);
    buf_put_z(&b, "{\"barclamp\":{\"source_path\":\"p\",\"name\":\"b");
    buf_put_u64(&b, n);
    buf_put_z(&b, "\"},\"jigs\":[{\"name\":\"noop\",\"class\":\"noop\"}],\"roles\":[");
    for (uint32_t i = 0; i < EACH; i++) {
        const uint32_t self = i * DOCUMENTS + n; /* related roles are in other documents */
        buf_put_z(&b, i ? ",{\"jig\":\"noop\",\"name\":\"" : "{\"jig\":\"noop\",\"name\":\"");
        buf_put_z(&b, self < 10 ? "r0" : "r");
        buf_put_u64(&b, self);
        buf_put_z(&b, "\"");
        put_others(&b, r, "requires", 0, self);
        put_others(&b, r, "attaches", self + 1, ALL);
        put_others(&b, r, "preceeds", self + 1, ALL);
        buf_put_z(&b, "}");
    }
    buf_put_z(&b, "]}");
    return buf_str(&b);
}

static struct str import_in_order(const struct str *documents, const uint32_t *order,
                                  struct arena *a)
{
    struct world w = world_open();
    for (uint32_t i = 0; i < DOCUMENTS; i++)
        must_step(&w, (struct command){.kind = COMMAND_IMPORT,
                                       .import = {.barclamp = documents[order[i]]}});
    const struct str facts = facts_of(w.c, a, ALL);
    struct core *again = loaded_again(&w);
    const struct str loaded = facts_of(again, a, ALL);
    CHECK(str_eq(facts, loaded));
    core_free(again);
    world_close(&w);
    return facts;
}

static bool next_order(uint32_t *order)
{
    uint32_t i = DOCUMENTS - 1, k = DOCUMENTS - 1;
    while (i && order[i - 1] >= order[i])
        i--;
    if (i == 0)
        return false;
    while (order[k] <= order[i - 1])
        k--;
    const uint32_t swapped = order[i - 1];
    order[i - 1] = order[k];
    order[k] = swapped;
    for (uint32_t l = i, r = DOCUMENTS - 1; l < r; l++, r--) {
        const uint32_t left = order[l];
        order[l] = order[r];
        order[r] = left;
    }
    return true;
}

TEST(it_does_not_matter_which_barclamp_is_imported_first)
{
    struct arena a = {0};
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct prng r;
        struct str documents[DOCUMENTS];
        uint32_t order[DOCUMENTS], orders = 0;
        prng_init(&r, seed);
        for (uint32_t i = 0; i < DOCUMENTS; i++) {
            documents[i] = shuffled_document(&a, &r, i);
            order[i] = i;
        }
        const struct str first = import_in_order(documents, order, &a);
        for (; next_order(order); orders++)
            CHECK(str_eq(import_in_order(documents, order, &a), first));
        CHECK(orders == 119);
        arena_reset(&a);
    }
    arena_fini(&a);
}

/* A document that is imported again has the same effect as at first. */
TEST(repeated_imports_give_the_result_of_the_last_document_of_each)
{
    struct arena a = {0};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct prng r;
        struct str documents[DOCUMENTS] = {0};
        struct world w = world_open(), fresh = world_open();
        prng_init(&r, seed);
        for (uint32_t i = 0; i < 30; i++) {
            const uint32_t n = i < DOCUMENTS ? i : (uint32_t)prng_below(&r, DOCUMENTS);
            documents[n] = shuffled_document(&a, &r, n);
            must_step(
                &w, (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = documents[n]}});
            world_check(&w);
        }
        for (uint32_t i = 0; i < DOCUMENTS; i++)
            must_step(&fresh, (struct command){.kind = COMMAND_IMPORT,
                                               .import = {.barclamp = documents[i]}});
        for (int64_t id = core_next_id(w.c, TABLE_ROLE, 0); id;
             id = core_next_id(w.c, TABLE_ROLE, id)) {
            struct record one = row(&w, TABLE_ROLE, id);
            const struct record two = get(&fresh, TABLE_ROLE, str_z(&a, one.role.name));
            CHECK(str_eq(one.role.requires, two.role.requires));
            CHECK(one.role.cohort >= two.role.cohort); /* cohorts are never lowered */
        }
        world_close(&w);
        world_close(&fresh);
        arena_reset(&a);
    }
    arena_fini(&a);
}

/* ---- cost ---- */

static struct str many_attachers(struct arena *a, uint32_t count)
{
    struct buf b = buf_in(a);
    buf_put_z(&b, "{" HEAD("b") ",\"roles\":[");
    for (uint32_t i = 0; i < count; i++) {
        buf_put_z(&b, i ? ",{\"jig\":\"noop\",\"attaches\":[\"base\"],\"name\":\"t"
                        : "{\"jig\":\"noop\",\"attaches\":[\"base\"],\"name\":\"t");
        buf_put_u64(&b, i);
        buf_put_z(&b, "\"}");
    }
    buf_put_z(&b, "]}");
    return buf_str(&b);
}

TEST(a_role_with_many_attachers_is_imported_again_without_reading_them)
{
    struct world w = world_open();
    struct arena a = {0};
    const struct str document = many_attachers(&a, 1500);
    import(&w, ROLES("a", "{\"name\":\"base\",\"jig\":\"noop\"}"));
    must_step(&w, (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = document}});
    CHECK(role_row(&w, "base")->parents.count == 1500);
    const size_t unread = arena_used(&a);
    doc_tree(&a, document);
    const size_t reading = arena_used(&a) - unread, before = arena_used(&w.arena);
    import(&w, ROLES("a", "{\"name\":\"base\",\"jig\":\"noop\",\"description\":\"other\"}"));
    CHECK(arena_used(&w.arena) - before < reading);
    CHECK(is(get(&w, TABLE_ROLE, "base").role.description, "other"));
    CHECK(role_row(&w, "base")->parents.count == 1500);
    arena_fini(&a);
    world_close(&w);
}

/* ---- roles that their barclamp does not define any more ---- */

#define FULL                                                                                       \
    ROLES("one", "{\"name\":\"keep\",\"jig\":\"noop\"},{\"name\":\"ex\",\"jig\":\"noop\","         \
                 "\"description\":\"mine\",\"flags\":[\"milestone\",\"bootstrap\",\"discovery\"]," \
                 "\"hooks\":[\"on_todo\",\"on_node_change\",\"on_commit\",\"on_node_bind\","       \
                 "\"sysdata\"],\"provides\":[\"q\"],\"attaches\":[\"keep\"],"                      \
                 "\"attribs\":[{\"name\":\"v\",\"map\":\"a/v\"}]}")
#define REST ROLES("one", "{\"name\":\"keep\",\"jig\":\"noop\"}")

static bool warns_of(struct world *w, const char *text)
{
    const struct json *warnings = json_get(doc_tree(&w->arena, w->out.doc), STR("warnings"));
    for (const struct json *warning = warnings->first; warning; warning = warning->next)
        if (is(json_get(warning, STR("text"))->text, text) &&
            is(json_get(warning, STR("field"))->text, "roles"))
            return true;
    return false;
}

TEST(a_role_that_is_not_bound_is_removed_with_its_attribs)
{
    struct world w = world_open();
    uint32_t gone = 0;
    import(&w, FULL);
    import(&w, ROLES("two", "{\"name\":\"child\",\"jig\":\"noop\",\"requires\":[\"ex\"]},"
                            "{\"name\":\"user\",\"jig\":\"noop\",\"wants-attribs\":[\"v\"]}"));
    CHECK(is(parents_of(&w, "keep"), "ex") && is(parents_of(&w, "user"), "ex"));
    store(&w);
    import(&w, REST);
    CHECK(count_warnings(&w) == 0);
    CHECK(!core_find(w.c, TABLE_ROLE, STR("ex")) && !core_find(w.c, TABLE_ATTRIB, STR("v")));
    CHECK(is(requires_of(&w, "keep"), "") && is(parents_of(&w, "keep"), ""));
    CHECK(role_row(&w, "child")->unresolved && is(parents_of(&w, "child"), ""));
    CHECK(role_row(&w, "user")->unresolved && is(parents_of(&w, "user"), ""));
    world_check(&w);
    core_collect(w.c, 2, be_stored, &gone);
    CHECK(gone == 1);
    core_free(loaded_again(&w));
    const int64_t n = add_node(&w, "n.example.com");
    step(&w, (struct command){.kind = COMMAND_NODEROLE_BIND,
                              .noderole_bind = {.node_id = n, .role_id = role_id(&w, "child")}});
    CHECK(has_problem(&w, PROBLEM_REQUIRE_UNRESOLVED, "role_id", "requires role ex,"));
    /* Defined again it is a new role, and roles that wait for the name find it. */
    import(&w, FULL);
    CHECK(is(parents_of(&w, "child"), "ex") && is(parents_of(&w, "user"), "ex"));
    CHECK(!role_row(&w, "child")->unresolved && !role_row(&w, "user")->unresolved);
    world_close(&w);
}

TEST(a_role_that_is_bound_stays_without_hooks)
{
    struct world w = world_open();
    import(&w, FULL);
    const int64_t n = add_node(&w, "n.example.com"), other = add_node(&w, "m.example.com");
    set_inside(&w, TABLE_ROLE, role_id(&w, "ex"), "v", BUCKET_NOTE, "7");
    struct command bind_it = {.kind = COMMAND_NODEROLE_BIND,
                              .noderole_bind = {.node_id = n, .role_id = role_id(&w, "ex")}};
    step(&w, bind_it); /* the veto request on_node_bind */
    CHECK(w.out.verdict == VERDICT_NEEDS_HOOKS && w.out.veto_call_count == 1);
    const struct veto_reply yes = {.key = w.out.veto_calls->key};
    bind_it.veto_replies = &yes;
    bind_it.veto_reply_count = 1;
    must_step(&w, bind_it);
    const int64_t nr = w.out.id;
    CHECK(noderole_at(w.c, noderole_by_id(w.c, nr))->hooks_pending_count == 1);
    const struct role_record before = get(&w, TABLE_ROLE, "ex").role;
    import(&w, REST);
    CHECK(warns_of(&w, "role ex is no longer in barclamp one and is still bound on 1 node; it "
                       "keeps running as it is, without hooks"));
    const struct role_record after = get(&w, TABLE_ROLE, "ex").role;
    CHECK(after.id == before.id && after.hooks == 0);
    CHECK(after.flags == (ROLE_MILESTONE | ROLE_WITHDRAWN));
    CHECK(is(after.description, "mine") && after.notes.len && str_eq(after.notes, before.notes) &&
          str_eq(after.provides, before.provides));
    CHECK(core_find(w.c, TABLE_ATTRIB, STR("v")) && is(requires_of(&w, "keep"), ""));
    /* The queued hook was removed. */
    CHECK(noderole_at(w.c, noderole_by_id(w.c, nr))->hooks_pending_count == 0);
    CHECK(core_count(w.c, TABLE_OUTBOX) == 0 && w.c->vars.hook_roles[HOOK_NODE_CHANGE].count == 0);
    commit(&w, nr);
    settle(&w, NULL);
    CHECK(state_of(&w, nr) == NODEROLE_ACTIVE);
    /* It cannot be bound again, neither by a command nor automatically. */
    bind_it.veto_reply_count = 0;
    bind_it.noderole_bind.node_id = other;
    must_refuse(&w, bind_it, PROBLEM_WRONG_STATE, "role_id");
    CHECK(says(&w, "role ex is no longer in barclamp one and cannot be bound anew"));
    must_step(&w, (struct command){.kind = COMMAND_NODE_COMMIT, .node_commit = {.id = other}});
    CHECK(!core_noderole(w.c, other, after.id));
    world_close(&w);
}

TEST(a_role_that_is_only_part_of_a_deployment_stays_too)
{
    struct world w = world_open();
    import(&w, ROLES("one", "{\"name\":\"keep\",\"jig\":\"noop\"},{\"name\":\"ex\",\"jig\":"
                            "\"noop\"}"));
    struct command in = {
        .kind = COMMAND_DEPLOYMENT_ROLE_CREATE,
        .deployment_role_create = {.deployment_id = 1, .role_id = role_id(&w, "ex")}};
    must_step(&w, in);
    const int64_t dr = w.out.id;
    import(&w, REST);
    CHECK(warns_of(&w, "role ex is no longer in barclamp one and is still part of 1 deployment; it "
                       "keeps running as it is, without hooks"));
    must_step(&w, in); /* it exists */
    CHECK(w.out.id == dr);
    must_step(&w, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                   .deployment_create = {.name = STR("d"), .parent_id = 1}});
    in.deployment_role_create.deployment_id = w.out.id;
    must_refuse(&w, in, PROBLEM_WRONG_STATE, "role_id");
    /* The next import removes it, because it is in no deployment any more. */
    must_step(&w, (struct command){.kind = COMMAND_DEPLOYMENT_ROLE_DELETE,
                                   .deployment_role_delete = {.id = dr}});
    import(&w, REST);
    CHECK(count_warnings(&w) == 0 && !core_find(w.c, TABLE_ROLE, STR("ex")));
    world_close(&w);
}

TEST(a_withdrawn_role_stays_so_until_it_is_named_again)
{
    struct world w = world_open();
    import(&w, ROLES("one", "{\"name\":\"keep\",\"jig\":\"noop\"},{\"name\":\"ex\",\"jig\":"
                            "\"noop\",\"hooks\":[\"on_todo\"],\"requires\":[\"keep\"]}"));
    bind(&w, add_node(&w, "n.example.com"), "ex");
    import(&w, REST);
    store(&w);
    import(&w, REST);
    CHECK(count_warnings(&w) == 1);
    CHECK(core_changed(w.c) == 0);
    import(&w, ROLES("two", "{\"name\":\"late\",\"jig\":\"noop\",\"attaches\":[\"ex\"]}"));
    CHECK(is(requires_of(&w, "ex"), "[\"keep\"]")); /* unchanged */
    import(&w, ROLES("one", "{\"name\":\"keep\",\"jig\":\"noop\"},{\"name\":\"ex\",\"jig\":"
                            "\"noop\",\"hooks\":[\"on_todo\"],\"requires\":[\"keep\"]}"));
    CHECK(get(&w, TABLE_ROLE, "ex").role.flags == 0);
    CHECK(get(&w, TABLE_ROLE, "ex").role.hooks == 1u << HOOK_TODO);
    CHECK(is(requires_of(&w, "ex"), "[\"keep\",\"late\"]"));
    world_close(&w);
}

TEST(an_attrib_that_moves_in_the_document_is_not_removed_with_its_role)
{
    struct world w = world_open();
    import(&w, ROLES("one", "{\"name\":\"ex\",\"jig\":\"noop\",\"attribs\":[{\"name\":\"v\"},"
                            "{\"name\":\"u\"},{\"name\":\"t\"}]}"));
    const int64_t v = attrib_id(&w, "v"), u = attrib_id(&w, "u");
    import(&w, "{" HEAD("one") ",\"roles\":[{\"name\":\"r\",\"jig\":\"noop\",\"attribs\":["
                               "{\"name\":\"u\"}]}],\"attribs\":[{\"name\":\"v\"}]}");
    CHECK(attrib_id(&w, "v") == v && attrib_id(&w, "u") == u);
    CHECK(get(&w, TABLE_ATTRIB, "v").attrib.role_id == 0);
    CHECK(get(&w, TABLE_ATTRIB, "u").attrib.role_id == role_id(&w, "r"));
    CHECK(!core_find(w.c, TABLE_ATTRIB, STR("t")) && !core_find(w.c, TABLE_ROLE, STR("ex")));
    world_close(&w);
}

TEST(a_refused_document_removes_no_role)
{
    struct world w = world_open();
    import(&w, FULL);
    must_refuse(&w, importing(ROLES("one", "{\"name\":\"x\",\"jig\":\"noop\",\"requires\":1}")),
                PROBLEM_BAD_VALUE, "roles/0/requires");
    CHECK(core_find(w.c, TABLE_ROLE, STR("ex")));
    world_close(&w);
}

TEST(a_revert_skips_a_withdrawn_role)
{
    struct world w = world_open();
    import(&w, ROLES("one", "{\"name\":\"keep\",\"jig\":\"noop\"},{\"name\":\"ex\",\"jig\":"
                            "\"noop\"}"));
    bind(&w, add_node(&w, "n.example.com"), "ex");
    const int64_t m = add_node(&w, "m.example.com");
    must_step(&w, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                   .deployment_create = {.name = STR("d"), .parent_id = 1}});
    const int64_t d = w.out.id;
    import(&w, REST);
    struct buf content = buf_in(&w.arena);
    buf_put_z(&content, "{\"data\":[],\"members\":[{\"node\":");
    buf_put_i64(&content, m);
    buf_put_z(&content, ",\"role\":");
    buf_put_i64(&content, role_id(&w, "ex"));
    buf_put_z(&content, "}]}");
    must_step(&w, (struct command){
                      .kind = COMMAND_DEPLOYMENT_REVERT,
                      .deployment_revert = {.id = d, .seq = 1, .content = buf_str(&content)}});
    const struct json *skipped = json_get(doc_tree(&w.arena, w.out.doc), STR("skipped"));
    CHECK(skipped->count == 1);
    CHECK(is(json_get(skipped->first, STR("why"))->text, "the role is no longer in its barclamp"));
    CHECK(!core_noderole(w.c, m, role_id(&w, "ex")));
    world_close(&w);
}

/* A node keeps its target when the noderole is deleted with another one. */
TEST(no_node_is_held_at_a_removed_role)
{
    struct world w = world_open();
    import(&w, ROLES("one", "{\"name\":\"keep\",\"jig\":\"noop\"},{\"name\":\"ex\",\"jig\":"
                            "\"noop\",\"flags\":[\"milestone\"]}"));
    const int64_t n = add_node(&w, "n.example.com");
    node_edit(w.c, node_by_id(w.c, n))->target = role_by_id(w.c, role_id(&w, "ex"));
    import(&w, REST);
    CHECK(row(&w, TABLE_NODE, n).node.target_role_id == 0);
    core_free(loaded_again(&w));
    world_close(&w);
}

/* ---- another barclamp defines the role ---- */

#define MOVED                                                                                      \
    ROLES("two", "{\"name\":\"ex\",\"jig\":\"script\",\"hooks\":[\"on_active\"],"                  \
                 "\"attribs\":[{\"name\":\"v\",\"map\":\"b/v\"}]}")

TEST(a_role_moves_to_another_barclamp_when_the_first_does_not_name_it)
{
    struct world w = world_open();
    import(&w, ROLES("one", "{\"name\":\"keep\",\"jig\":\"noop\"},{\"name\":\"ex\",\"jig\":"
                            "\"noop\",\"attribs\":[{\"name\":\"v\"},{\"name\":\"u\"}]}"));
    const int64_t nr = bind(&w, add_node(&w, "n.example.com"), "ex");
    const int64_t id = role_id(&w, "ex"), v = attrib_id(&w, "v");
    step(&w, importing(MOVED));
    CHECK(has_problem(&w, PROBLEM_NAME_TAKEN, "roles/0/name", "role ex belongs to barclamp one"));
    import(&w, REST);
    import(&w, MOVED);
    const int64_t two = core_find(w.c, TABLE_BARCLAMP, STR("two"));
    const struct role_record moved = get(&w, TABLE_ROLE, "ex").role;
    CHECK(moved.id == id && moved.barclamp_id == two && moved.flags == 0);
    CHECK(moved.hooks == 1u << HOOK_ACTIVE && is(moved.jig_name, "script"));
    CHECK(attrib_id(&w, "v") == v && get(&w, TABLE_ATTRIB, "v").attrib.barclamp_id == two);
    CHECK(is(get(&w, TABLE_ATTRIB, "v").attrib.map, "b/v"));
    CHECK(get(&w, TABLE_ATTRIB, "u").attrib.barclamp_id == two);
    CHECK(row(&w, TABLE_NODEROLE, nr).noderole.role_id == id);
    /* The first barclamp cannot define it again while the second does, and does not change it. */
    step(&w, importing(FULL));
    CHECK(has_problem(&w, PROBLEM_NAME_TAKEN, "roles/1/name", "role ex belongs to barclamp two"));
    import(&w, REST);
    CHECK(count_warnings(&w) == 0 && get(&w, TABLE_ROLE, "ex").role.flags == 0);
    core_free(loaded_again(&w));
    world_close(&w);
}

TEST(a_role_without_noderoles_moves_as_well)
{
    struct world w = world_open();
    import(&w, FULL);
    import(&w, REST);
    import(&w, MOVED);
    CHECK(get(&w, TABLE_ROLE, "ex").role.barclamp_id == core_find(w.c, TABLE_BARCLAMP, STR("two")));
    CHECK(get(&w, TABLE_ATTRIB, "v").attrib.role_id == role_id(&w, "ex"));
    world_close(&w);
}

/* ---- unknown jigs ---- */

static void set_test_jig(struct world *w, bool on)
{
    must_step(
        w, (struct command){.kind = COMMAND_SETTINGS_UPDATE,
                            .settings_update = {.given = GIVEN_SETTINGS_TEST_JIG, .test_jig = on}});
}

TEST(a_role_whose_jig_is_unknown_runs_on_the_test_jig_when_that_is_on)
{
    struct world w = world_open();
    import(&w, ROLES("one", "{\"name\":\"lost\",\"jig\":\"nosuch\"},{\"name\":\"pretends\","
                            "\"jig\":\"test\"}"));
    const int64_t n = add_node(&w, "n.example.com");
    struct command bind_it = {.kind = COMMAND_NODEROLE_BIND,
                              .noderole_bind = {.node_id = n, .role_id = role_id(&w, "lost")}};
    must_refuse(&w, bind_it, PROBLEM_JIG_INACTIVE, "role_id");
    CHECK(says(&w, "role lost cannot run: jig nosuch is not known here"));
    CHECK(is(core_role_unusable(w.c, role_id(&w, "lost"), &w.arena),
             "role lost cannot run: jig nosuch is not known here"));
    bind_it.noderole_bind.role_id = role_id(&w, "pretends");
    must_refuse(&w, bind_it, PROBLEM_JIG_INACTIVE, "role_id");
    CHECK(says(&w, "role pretends cannot run: jig test is not active because the test jig is off"));
    set_test_jig(&w, true);
    CHECK(is(core_role_unusable(w.c, role_id(&w, "lost"), &w.arena), ""));
    CHECK(is(core_role_unusable(w.c, role_id(&w, "pretends"), &w.arena), ""));
    CHECK(is(core_role_unusable(w.c, 99, &w.arena), ""));
    const int64_t nr = bind(&w, n, "lost");
    commit(&w, nr);
    must_step(&w, (struct command){.kind = COMMAND_ANNEAL});
    CHECK(w.fx.count == 1 && w.fx.first->kind == EFFECT_RUN_START && is(w.fx.first->jig, "test"));
    CHECK(is(get(&w, TABLE_ROLE, "lost").role.jig_name, "nosuch")); /* never stored */
    must_step(&w, (struct command){.kind = COMMAND_RUN_DONE,
                                   .run_done = {.run_id = w.fx.first->id,
                                                .attempt = w.fx.first->attempt,
                                                .result = RESULT_OK}});
    CHECK(state_of(&w, nr) == NODEROLE_ACTIVE);
    set_test_jig(&w, false);
    CHECK(!role_can_run(w.c, role_by_id(w.c, role_id(&w, "lost"))));
    CHECK(is(role_jig_name(w.c, role_by_id(w.c, role_id(&w, "lost"))), "nosuch"));
    world_close(&w);
}
