/* Roles and their references: names that are resolved later, attachments, cohorts, cycles. */
#include "base/prng.h"
#include "tests/unit/core/content_world.h"

/* ---- names that are resolved later ---- */

TEST(a_require_waits_for_its_role)
{
    struct world w = world_open();
    import(&w, "{" HEAD("one") "," JIGS ",\"roles\":[{\"name\":\"child\",\"jig\":\"noop\","
                               "\"requires\":[\"parent\"]}]}");
    CHECK(role_row(&w, "child")->unresolved);
    CHECK(get(&w, TABLE_ROLE, "child").role.cohort == 0);
    import(&w, "{" HEAD("two") ",\"roles\":[{\"name\":\"parent\",\"jig\":\"noop\"}]}");
    CHECK(!role_row(&w, "child")->unresolved);
    CHECK(is(parents_of(&w, "child"), "parent"));
    CHECK(get(&w, TABLE_ROLE, "child").role.cohort == 1);
    world_close(&w);
}

TEST(cohorts_rise_along_the_whole_chain)
{
    struct world w = world_open();
    import(
        &w,
        "{" HEAD(
            "one") "," JIGS ",\"roles\":[{\"name\":\"c\",\"jig\":\"noop\","
                   "\"requires\":[\"b\"]},{\"name\":\"b\",\"jig\":\"noop\",\"requires\":[\"a\"]},"
                   "{\"name\":\"a\",\"jig\":\"noop\",\"requires\":[\"x2\"]}]}");
    CHECK(get(&w, TABLE_ROLE, "a").role.cohort == 0);
    CHECK(get(&w, TABLE_ROLE, "c").role.cohort == 2);
    import(&w,
           "{" HEAD("two") ",\"roles\":[{\"name\":\"x2\",\"jig\":\"noop\",\"requires\":[\"x1\"]},"
                           "{\"name\":\"x1\",\"jig\":\"noop\"}]}");
    CHECK(get(&w, TABLE_ROLE, "x2").role.cohort == 1);
    CHECK(get(&w, TABLE_ROLE, "a").role.cohort == 2);
    CHECK(get(&w, TABLE_ROLE, "b").role.cohort == 3);
    CHECK(get(&w, TABLE_ROLE, "c").role.cohort == 4);
    world_close(&w);
}

TEST(a_wanted_attrib_makes_its_owner_a_parent_whenever_it_comes)
{
    struct world w = world_open();
    import(&w, "{" HEAD("one") "," JIGS ",\"roles\":[{\"name\":\"w\",\"jig\":\"noop\","
                               "\"wants-attribs\":[\"v\"]}]}");
    CHECK(role_row(&w, "w")->unresolved && role_row(&w, "w")->wanted.count == 0);
    import(&w, "{" HEAD("two") ",\"roles\":[{\"name\":\"o\",\"jig\":\"noop\",\"attribs\":["
                               "{\"name\":\"v\",\"map\":\"v\"}]}]}");
    CHECK(!role_row(&w, "w")->unresolved && role_row(&w, "w")->wanted.count == 2);
    CHECK(is(parents_of(&w, "w"), "o"));
    CHECK(role_row(&w, "o")->attribs.count == 1);
    world_close(&w);
}

TEST(an_attrib_may_move_to_another_role_of_its_barclamp)
{
    struct world w = world_open();
    import(&w,
           "{" HEAD("one") "," JIGS ",\"roles\":[{\"name\":\"o1\",\"jig\":\"noop\",\"attribs\":["
                           "{\"name\":\"v\",\"map\":\"v\"}]},{\"name\":\"o2\",\"jig\":\"noop\"}]}");
    import(&w, "{" HEAD("two") ",\"roles\":[{\"name\":\"w\",\"jig\":\"noop\","
                               "\"wants-attribs\":[\"v\"]}]}");
    CHECK(is(parents_of(&w, "w"), "o1"));
    import(&w, "{" HEAD("one") ",\"roles\":[{\"name\":\"o1\",\"jig\":\"noop\"},"
                               "{\"name\":\"o2\",\"jig\":\"noop\",\"attribs\":[{\"name\":\"v\","
                               "\"map\":\"v\"}]}]}");
    CHECK(is(parents_of(&w, "w"), "o2"));
    CHECK(role_row(&w, "o1")->attribs.count == 0 && role_row(&w, "o1")->children.count == 0);
    world_close(&w);
}

TEST(a_client_role_is_required_by_every_role_of_its_jig_whatever_came_first)
{
    static const char *const documents[] = {
        "{" HEAD("one") ",\"jigs\":[{\"name\":\"chef\",\"class\":\"BarclampChef::Jig\","
                        "\"implementor\":\"client\"}]}",
        "{" HEAD(
            "two") ",\"roles\":[{\"name\":\"client\",\"jig\":\"noop\",\"flags\":[\"implicit\"]}]}",
        "{" HEAD("three") ",\"roles\":[{\"name\":\"user\",\"jig\":\"chef\"}]}",
    };
    static const uint32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (uint32_t i = 0; i < 6; i++) {
        struct world w = world_open();
        for (uint32_t k = 0; k < 3; k++)
            import(&w, documents[orders[i][k]]);
        CHECK(is(parents_of(&w, "user"), "client") && !role_row(&w, "user")->unresolved);
        CHECK(get(&w, TABLE_ROLE, "user").role.cohort == 1);
        world_close(&w);
    }
}

TEST(a_client_role_must_be_implicit_and_not_use_its_own_jig)
{
    struct world w = world_open();
    import(&w, "{" HEAD("one") "," JIGS "}");
    must_refuse(&w,
                importing("{" HEAD("two") ",\"jigs\":[{\"name\":\"j\",\"class\":\"chef\","
                                          "\"implementor\":\"cl\"}],\"roles\":[{\"name\":\"cl\","
                                          "\"jig\":\"noop\"}]}"),
                PROBLEM_WRONG_STATE, "roles/0");
    must_refuse(&w,
                importing("{" HEAD("two") ",\"jigs\":[{\"name\":\"j\",\"class\":\"chef\","
                                          "\"implementor\":\"cl\"}],\"roles\":[{\"name\":\"cl\","
                                          "\"jig\":\"j\",\"flags\":[\"implicit\"]}]}"),
                PROBLEM_ROLE_CYCLE, "roles/0");
    world_close(&w);
}

/* ---- attaches ---- */

TEST(a_role_may_attach_itself_to_roles_that_are_there)
{
    struct world w = world_open();
    const char *first = "{" HEAD("one") "," JIGS ",\"roles\":[{\"name\":\"p\",\"jig\":\"noop\"},"
                                        "{\"name\":\"x\",\"jig\":\"noop\",\"requires\":[\"p\"]}]}";
    const char *second = "{" HEAD("two") ",\"roles\":[{\"name\":\"y\",\"jig\":\"noop\","
                                         "\"attaches\":[\"x\",\"absent\"]},{\"name\":\"z\","
                                         "\"jig\":\"noop\",\"preceeds\":[\"y\"]}]}";
    import(&w, first);
    import(&w, second);
    CHECK(count_warnings(&w) == 1);
    CHECK(is(parents_of(&w, "x"), "p,y") && is(parents_of(&w, "y"), "z"));
    CHECK(get(&w, TABLE_ROLE, "x").role.cohort == 2);
    /* The document of the role itself does not contain the attachment; importing it again does not
     * remove it. */
    import(&w, first);
    import(&w, "{" HEAD("one") ",\"roles\":[{\"name\":\"x\",\"jig\":\"noop\"}]}");
    CHECK(is(parents_of(&w, "x"), "y"));
    import(&w, first);
    CHECK(is(get(&w, TABLE_ROLE, "x").role.requires, "[\"p\",\"y\"]"));
    /* When no document declares it any more, the requirement is removed. */
    import(&w, "{" HEAD("two") ",\"roles\":[{\"name\":\"y\",\"jig\":\"noop\"},{\"name\":\"z\","
                               "\"jig\":\"noop\"}]}");
    CHECK(is(parents_of(&w, "x"), "p") && is(parents_of(&w, "y"), ""));
    world_close(&w);
}

TEST(what_a_role_requires_itself_survives_the_end_of_an_attachment)
{
    struct world w = world_open();
    import(&w, "{" HEAD("one") "," JIGS ",\"roles\":[{\"name\":\"x\",\"jig\":\"noop\","
                               "\"requires\":[\"y\"]}]}");
    import(&w,
           "{" HEAD("two") ",\"roles\":[{\"name\":\"y\",\"jig\":\"noop\",\"attaches\":[\"x\"]}]}");
    import(&w, "{" HEAD("two") ",\"roles\":[{\"name\":\"y\",\"jig\":\"noop\"}]}");
    CHECK(is(parents_of(&w, "x"), "y"));
    world_close(&w);
}

/* ---- cycles ---- */

TEST(cycles_of_any_length_are_refused_with_their_chain)
{
    struct world w = world_open();
    import(&w, "{" HEAD("one") "," JIGS "}");
    step(&w, importing("{" HEAD("two") ",\"roles\":[{\"name\":\"a\",\"jig\":\"noop\",\"requires\":["
                                       "\"a\"]}]}"));
    CHECK(count_problems(&w) == 1 && has_problem(&w, PROBLEM_ROLE_CYCLE, "roles/0", "a -> a"));
    step(&w, importing("{" HEAD(
                 "two") ",\"roles\":[{\"name\":\"a\",\"jig\":\"noop\",\"requires\":["
                        "\"b\"]},{\"name\":\"b\",\"jig\":\"noop\",\"requires\":[\"a\"]}]}"));
    CHECK(count_problems(&w) == 1 && has_problem(&w, PROBLEM_ROLE_CYCLE, "roles/0", "a -> b -> a"));
    step(&w,
         importing("{" HEAD("two") ",\"roles\":[{\"name\":\"top\",\"jig\":\"noop\",\"requires\":["
                                   "\"a\"]},{\"name\":\"a\",\"jig\":\"noop\",\"requires\":[\"b\"]},"
                                   "{\"name\":\"b\",\"jig\":\"noop\",\"requires\":[\"c\"]},"
                                   "{\"name\":\"c\",\"jig\":\"noop\",\"requires\":[\"a\"]}]}"));
    CHECK(count_problems(&w) == 1);
    CHECK(has_problem(&w, PROBLEM_ROLE_CYCLE, "roles/1", "a -> b -> c -> a"));
    CHECK(!core_find(w.c, TABLE_ROLE, STR("a")));
    world_close(&w);
}

TEST(a_cycle_through_another_barclamp_or_a_wanted_attrib_is_one_too)
{
    struct world w = world_open();
    import(&w,
           "{" HEAD("one") "," JIGS ",\"roles\":[{\"name\":\"x\",\"jig\":\"noop\",\"requires\":["
                           "\"y\"],\"attribs\":[{\"name\":\"v\",\"map\":\"v\"}]}]}");
    must_refuse(&w,
                importing("{" HEAD("two") ",\"roles\":[{\"name\":\"o\",\"jig\":\"noop\"},{\"name\":"
                                          "\"y\",\"jig\":\"noop\",\"wants-attribs\":[\"v\"]}]}"),
                PROBLEM_ROLE_CYCLE, "roles/1");
    CHECK(role_row(&w, "x")->unresolved && role_row(&w, "x")->parents.count == 0);
    world_close(&w);
}

/* Every role requires every other: more chains than a report lists. */
TEST(the_number_of_reported_chains_is_limited)
{
    struct world w = world_open();
    struct buf b = buf_in(&w.arena);
    buf_put_z(&b, "{" HEAD("b") "," JIGS ",\"roles\":[");
    for (uint32_t i = 0; i < 60; i++) {
        buf_put_z(&b, i ? ",{\"jig\":\"noop\",\"name\":\"r" : "{\"jig\":\"noop\",\"name\":\"r");
        buf_put_u64(&b, i);
        buf_put_z(&b, "\",\"requires\":[");
        for (uint32_t k = 0; k < 60; k++) {
            buf_put_z(&b, k ? ",\"r" : "\"r");
            buf_put_u64(&b, k);
            buf_put_z(&b, "\"");
        }
        buf_put_z(&b, "]}");
    }
    buf_put_z(&b, "]}");
    step(&w, (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = buf_str(&b)}});
    CHECK(w.out.verdict == VERDICT_REFUSED && count_problems(&w) == 20);
    world_close(&w);
}

TEST(two_cycles_give_two_chains)
{
    struct world w = world_open();
    step(&w,
         importing("{" HEAD("two") "," JIGS ",\"roles\":["
                                   "{\"name\":\"a\",\"jig\":\"noop\",\"requires\":[\"b\",\"c\"]},"
                                   "{\"name\":\"b\",\"jig\":\"noop\",\"requires\":[\"a\"]},"
                                   "{\"name\":\"c\",\"jig\":\"noop\",\"requires\":[\"b\"]},"
                                   "{\"name\":\"d\",\"jig\":\"noop\",\"requires\":[\"e\",\"a\"]},"
                                   "{\"name\":\"e\",\"jig\":\"noop\",\"requires\":[\"d\"]}]}"));
    CHECK(count_problems(&w) == 3);
    CHECK(has_problem(&w, PROBLEM_ROLE_CYCLE, "roles/0", "a -> b -> a"));
    CHECK(has_problem(&w, PROBLEM_ROLE_CYCLE, "roles/0", "a -> c -> b -> a"));
    CHECK(has_problem(&w, PROBLEM_ROLE_CYCLE, "roles/3", "d -> e -> d"));
    world_close(&w);
}

static void put_role(struct buf *b, bool first, const char *prefix, uint32_t number)
{
    buf_put_z(b, first ? "{\"jig\":\"noop\",\"name\":\"" : ",{\"jig\":\"noop\",\"name\":\"");
    buf_put_z(b, prefix);
    buf_put_u64(b, number);
    buf_put_z(b, "\",\"requires\":[");
}

static void put_require(struct buf *b, bool first, const char *prefix, uint32_t number)
{
    buf_put_z(b, first ? "\"" : ",\"");
    buf_put_z(b, prefix);
    buf_put_u64(b, number);
    buf_put_z(b, "\"");
}

TEST(a_long_chain_is_reported_in_part)
{
    struct world w = world_open();
    struct buf b = buf_in(&w.arena);
    buf_put_z(&b, "{" HEAD("b") "," JIGS ",\"roles\":[");
    for (uint32_t i = 0; i < 150; i++) {
        put_role(&b, i == 0, "r", i);
        put_require(&b, true, "r", (i + 1) % 150);
        buf_put_z(&b, "]}");
    }
    buf_put_z(&b, "]}");
    step(&w, (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = buf_str(&b)}});
    CHECK(count_problems(&w) == 1);
    CHECK(has_problem(&w, PROBLEM_ROLE_CYCLE, "roles/0", "r98 -> r99 -> (50 more) -> r0"));
    world_close(&w);
}

/* Two thousand roles are between the cycle above them and the one below: a search from each of them
 * exceeds the limit, and one chain is reported nevertheless. */
TEST(a_chain_is_found_in_a_large_graph)
{
    struct world w = world_open();
    struct buf b = buf_in(&w.arena);
    buf_put_z(&b, "{" HEAD("one") "," JIGS ",\"roles\":[");
    for (uint32_t i = 0; i < 2000; i++) {
        put_role(&b, i == 0, "d", i);
        put_require(&b, true, "a", 1);
        for (uint32_t k = 1; k <= 3 && k <= i; k++)
            put_require(&b, false, "d", i - k);
        buf_put_z(&b, "]}");
    }
    buf_put_z(&b, "]}");
    must_step(&w, (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = buf_str(&b)}});
    step(&w,
         importing("{" HEAD("two") ",\"roles\":["
                                   "{\"name\":\"a1\",\"jig\":\"noop\",\"requires\":[\"a2\"]},"
                                   "{\"name\":\"a2\",\"jig\":\"noop\",\"requires\":[\"a1\"]}]}"));
    CHECK(count_problems(&w) == 1);
    CHECK(has_problem(&w, PROBLEM_ROLE_CYCLE, "roles/0", "a1 -> a2 -> a1"));
    step(&w, importing("{" HEAD(
                 "two") ",\"roles\":["
                        "{\"name\":\"a1\",\"jig\":\"noop\",\"requires\":[\"a2\"]},"
                        "{\"name\":\"a2\",\"jig\":\"noop\",\"requires\":[\"a1\"]},"
                        "{\"name\":\"b1\",\"jig\":\"noop\",\"requires\":[\"b2\",\"d1999\"]},"
                        "{\"name\":\"b2\",\"jig\":\"noop\",\"requires\":[\"b1\"]}]}"));
    CHECK(count_problems(&w) == 1);
    CHECK(has_problem(&w, PROBLEM_ROLE_CYCLE, "roles/0", "a1 -> a2 -> a1"));
    world_close(&w);
}

TEST(the_depth_of_the_role_graph_is_limited)
{
    struct world w = world_open();
    import(&w, "{" HEAD("first") "," JIGS "}");
    for (uint32_t part = 0; part < 4; part++) {
        struct buf b = buf_in(&w.arena);
        buf_put_z(&b, "{\"barclamp\":{\"source_path\":\"p\",\"name\":\"p");
        buf_put_u64(&b, part);
        buf_put_z(&b, "\"},\"roles\":[");
        for (uint32_t i = 0; i < 8192; i++) {
            const uint32_t number = part * 8192 + i;
            put_role(&b, i == 0, "r", number);
            if (number)
                put_require(&b, true, "r", number - 1);
            buf_put_z(&b, "]}");
        }
        buf_put_z(&b, "]}");
        must_step(&w,
                  (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = buf_str(&b)}});
    }
    CHECK(get(&w, TABLE_ROLE, "r32767").role.cohort == COHORT_MAX);
    must_refuse(&w,
                importing("{" HEAD("last") ",\"roles\":[{\"name\":\"z\",\"jig\":\"noop\","
                                           "\"requires\":[\"r32767\"]}]}"),
                PROBLEM_LIMIT_REACHED, "roles");
    world_close(&w);
}

/* ---- incremental and complete resolution give the same result ---- */

static void put_list(struct buf *b, struct prng *r, const char *key, const char *prefix,
                     uint32_t range)
{
    buf_put_z(b, ",\"");
    buf_put_z(b, key);
    buf_put_z(b, "\":[");
    const uint64_t count = prng_below(r, 4);
    for (uint64_t i = 0; i < count; i++) {
        buf_put_z(b, i ? ",\"" : "\"");
        buf_put_z(b, prefix);
        buf_put_u64(b, prng_below(r, range));
        buf_put_z(b, "\"");
    }
    buf_put_z(b, "]");
}

/* Barclamp n has roles 3n..3n+2; each refers mostly to smaller numbers, so that some cycles
 * occur. */
static struct str random_document(struct world *w, struct prng *r, uint32_t n)
{
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, "{\"barclamp\":{\"name\":\"b");
    buf_put_u64(&b, n);
    buf_put_z(&b, "\",\"source_path\":\"p\"},\"jigs\":[{\"name\":\"j");
    buf_put_u64(&b, prng_below(r, 3));
    buf_put_z(&b, prng_below(r, 2) ? "\",\"class\":\"script\",\"implementor\":\"r0\"}]"
                                   : "\",\"class\":\"noop\"}]");
    buf_put_z(&b, ",\"roles\":[");
    const uint64_t roles = prng_below(r, 8) ? 3 : 1 + prng_below(r, 2);
    for (uint32_t i = 0; i < roles; i++) {
        buf_put_z(&b, i ? ",{\"name\":\"r" : "{\"name\":\"r");
        buf_put_u64(&b, n * 3 + i);
        buf_put_z(&b, "\",\"flags\":[\"implicit\"],\"jig\":\"j");
        buf_put_u64(&b, n * 3 + i == 0 ? 9 : prng_below(r, 4));
        buf_put_z(&b, "\"");
        const uint32_t range = prng_below(r, 20) ? n * 3 + i + 1 : 24;
        put_list(&b, r, "requires", "r", range > 1 ? range - 1 : 1);
        put_list(&b, r, "provides", "q", 5);
        put_list(&b, r, "conflicts", "q", 5);
        put_list(&b, r, "wants-attribs", "a", range > 1 ? range - 1 : 1);
        if (prng_below(r, 3) == 0)
            put_list(&b, r, "attaches", "r", 24);
        buf_put_z(&b, ",\"attribs\":[{\"name\":\"a");
        buf_put_u64(&b, n * 3 + prng_below(r, 3));
        buf_put_z(&b, "\",\"map\":\"m\"}]}");
    }
    buf_put_z(&b, "]}");
    return buf_str(&b);
}

static bool same_rows(const struct core *a, const struct vec *x, const struct core *b,
                      const struct vec *y, enum table table, uint32_t stride)
{
    if (x->count != y->count)
        return false;
    for (uint32_t i = 0; i < x->count; i += stride) {
        const struct object *one = pool_at(&a->tables[table].pool, vec_at(a, x, i));
        const struct object *two = pool_at(&b->tables[table].pool, vec_at(b, y, i));
        if (one->id != two->id)
            return false;
    }
    return true;
}

static bool same_texts(const struct core *a, const struct vec *x, const struct core *b,
                       const struct vec *y, uint32_t from, uint32_t stride)
{
    if (x->count != y->count)
        return false;
    for (uint32_t i = from; i < x->count; i += stride)
        if (!str_eq(text_of(a, vec_at(a, x, i)), text_of(b, vec_at(b, y, i))))
            return false;
    return true;
}

/* Handles, and therefore their order, differ between cores. */
static bool same_names(const struct core *a, const struct vec *x, const struct core *b,
                       const struct vec *y)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < x->count; i++)
        for (uint32_t k = 0; k < y->count; k++)
            found += str_eq(text_of(a, vec_at(a, x, i)), text_of(b, vec_at(b, y, k)));
    return x->count == y->count && found == x->count;
}

static void check_same_roles(const struct core *a, const struct core *b)
{
    for (int64_t id = core_next_id(a, TABLE_ROLE, 0); id; id = core_next_id(a, TABLE_ROLE, id)) {
        const struct role *x = role_at(a, role_by_id(a, id));
        const struct role *y = role_at(b, role_by_id(b, id));
        CHECK(same_rows(a, &x->parents, b, &y->parents, TABLE_ROLE, 1));
        CHECK(same_rows(a, &x->children, b, &y->children, TABLE_ROLE, 1));
        CHECK(same_rows(a, &x->attribs, b, &y->attribs, TABLE_ATTRIB, 1));
        CHECK(same_rows(a, &x->wanted, b, &y->wanted, TABLE_ATTRIB, 2));
        CHECK(same_texts(a, &x->wanted, b, &y->wanted, 1, 2));
        CHECK(same_texts(a, &x->provided, b, &y->provided, 0, 1));
        CHECK(same_texts(a, &x->conflicting, b, &y->conflicting, 0, 1));
        CHECK(x->unresolved == y->unresolved && x->cohort == y->cohort);
        CHECK(same_names(a, &x->attaching, b, &y->attaching));
        CHECK(x->own_requires == y->own_requires);
        CHECK((x->jig.v == 0) == (y->jig.v == 0));
        if (x->jig.v)
            CHECK(jig_at(a, x->jig)->o.id == jig_at(b, y->jig)->o.id &&
                  jig_at(a, x->jig)->is_noop == jig_at(b, y->jig)->is_noop);
        for (uint32_t i = 0; i < x->parents.count; i++)
            CHECK(role_at(a, (role_ix){vec_at(a, &x->parents, i)})->cohort < x->cohort);
    }
}

static uint32_t play(uint64_t seed)
{
    struct world w = world_open();
    struct prng r;
    uint32_t taken = 0;
    prng_init(&r, seed);
    for (uint32_t i = 0; i < 40; i++) {
        const struct str document = random_document(&w, &r, (uint32_t)prng_below(&r, 8));
        const struct digest128 before = core_digest_now(w.c);
        step(&w, (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = document}});
        const struct digest128 after = core_digest_now(w.c);
        if (w.out.verdict == VERDICT_REFUSED)
            CHECK(memcmp(&before, &after, sizeof before) == 0);
        else
            taken++;
        if (prng_below(&r, 10) == 0 && core_next_id(w.c, TABLE_ATTRIB, 0)) {
            step(&w, (struct command){.kind = COMMAND_ATTRIB_DELETE,
                                      .attrib_delete = {core_next_id(w.c, TABLE_ATTRIB, 0)}});
            CHECK(w.out.verdict == VERDICT_DONE);
        }
        if (prng_below(&r, 4) == 0)
            store(&w);
        struct core *again = loaded_again(&w);
        check_same_roles(w.c, again);
        core_free(again);
        world_check(&w);
        arena_reset(&w.arena);
    }
    world_close(&w);
    return taken;
}

TEST(incremental_and_complete_resolution_give_the_same_result)
{
    uint32_t taken = 0;
    for (uint64_t seed = 1; seed <= 60; seed++)
        taken += play(seed);
    CHECK(taken > 600 && taken < 60 * 40); /* both outcomes occurred */
}
