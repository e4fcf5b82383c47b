/* Importing barclamps: what is written, what is refused, and what stays unchanged. */
#include "tests/unit/core/content_world.h"

/* ---- rows that are written ---- */

TEST(a_bare_barclamp_gets_its_defaults)
{
    struct world w = world_open();
    import(&w, "{" HEAD("small_one") "}");
    const struct record r = get(&w, TABLE_BARCLAMP, "small_one");
    CHECK(w.out.id == r.id);
    CHECK(is(r.barclamp.description, "Small One"));
    CHECK(is(r.barclamp.version, "0.0") && is(r.barclamp.build_version, "0.0"));
    CHECK(is(r.barclamp.commit, "unknown") && is(r.barclamp.build_on, "unknown"));
    CHECK(r.barclamp.parent_id == r.id);
    CHECK(is(r.barclamp.source_path, "/src") && is(r.barclamp.source_url, ""));
    CHECK(is(r.barclamp.cfg_data, "{" HEAD("small_one") "}"));
    world_close(&w);
}

TEST(a_barclamp_stores_the_fields_of_its_document)
{
    struct world w = world_open();
    import(&w, "{" HEAD("core") "}");
    import(&w,
           "{\"barclamp\":{\"name\":\"net\",\"parent\":\"core\",\"source_path\":\"/p\","
           "\"description\":\"d\",\"version\":2.0,\"build_version\":\"7\",\"source_url\":\"u\"},"
           "\"git\":{\"commit\":\"abc\",\"date\":\"today\"}}");
    const struct record r = get(&w, TABLE_BARCLAMP, "net");
    CHECK(r.barclamp.parent_id == core_find(w.c, TABLE_BARCLAMP, STR("core")));
    CHECK(is(r.barclamp.version, "2.0") && is(r.barclamp.build_version, "7"));
    CHECK(is(r.barclamp.commit, "abc") && is(r.barclamp.build_on, "today"));
    CHECK(is(r.barclamp.description, "d") && is(r.barclamp.source_url, "u"));
    world_close(&w);
}

TEST(a_role_is_written_with_all_its_members)
{
    struct world w = world_open();
    import(
        &w,
        "{" HEAD(
            "b") "," JIGS ",\"attribs\":[{\"name\":\"serial\",\"map\":\"dmi/serial\"}],"
                 "\"roles\":[{\"name\":\"base-role\",\"jig\":\"noop\",\"flags\":[\"implicit\"],"
                 "\"attribs\":[{\"name\":\"colour\",\"map\":\"a/colour\",\"default\":[1,null],"
                 "\"schema\":{\"type\":\"seq\",\"sequence\":[{\"type\":\"int\"}]}}]},"
                 "{\"name\":\"top\",\"jig\":\"script\",\"type\":\"Special\","
                 "\"requires\":[\"base-role\","
                 "\"base-role\"],\"provides\":[\"p\"],\"conflicts\":[\"q\"],"
                 "\"hooks\":[\"on_active\","
                 "\"on_node_update\"],\"announces\":[\"wipe\"],\"wants-attribs\":[\"serial\","
                 "{\"name\":\"colour\",\"at\":\"x/y\"}],\"flags\":[\"milestone\",\"server\"]}]}");
    CHECK(count_warnings(&w) == 0);
    const struct record r = get(&w, TABLE_ROLE, "top");
    CHECK(is(r.role.description, "Top") && is(r.role.class_name, "Special"));
    CHECK(is(r.role.jig_name, "script") && r.role.cohort == 1);
    CHECK(r.role.flags == (ROLE_MILESTONE | ROLE_SERVER));
    CHECK(r.role.hooks == (1u << HOOK_ACTIVE | 1u << HOOK_NODE_CHANGE));
    CHECK(is(r.role.requires, "[\"base-role\"]"));
    CHECK(is(r.role.provides, "[\"p\"]") && is(r.role.conflicts, "[\"q\"]"));
    CHECK(is(r.role.announces, "[\"wipe\"]"));
    CHECK(is(r.role.wants,
             "[{\"at\":\"\",\"name\":\"serial\"},{\"at\":\"x/y\",\"name\":\"colour\"}]"));
    CHECK(is(get(&w, TABLE_ROLE, "base-role").role.description, "Base Role"));
    CHECK(is(parents_of(&w, "top"), "base-role"));
    const struct role *row = role_row(&w, "top");
    CHECK(row->wanted.count == 4 && item(w.c, &row->wanted, 1) == 0);
    CHECK(is(text_of(w.c, item(w.c, &row->wanted, 3)), "x/y"));
    const struct record a = get(&w, TABLE_ATTRIB, "colour");
    CHECK(a.attrib.writable && a.attrib.role_id == role_id(&w, "base-role"));
    CHECK(is(a.attrib.default_value, "{\"value\":[1,null]}") && a.attrib.order == 10000);
    CHECK(is(a.attrib.ui_renderer, "attribs/default") && is(a.attrib.map, "a/colour"));
    const struct record n = get(&w, TABLE_ATTRIB, "serial");
    CHECK(!n.attrib.writable && n.attrib.role_id == 0);
    CHECK(n.attrib.barclamp_id == core_find(w.c, TABLE_BARCLAMP, STR("b")));
    world_close(&w);
}

TEST(the_same_document_again_changes_nothing)
{
    struct world w = world_open();
    const char *document = "{" HEAD(
        "b") "," JIGS ",\"hammers\":[{\"name\":\"ssh\",\"type\":\"SecureShellHammer\","
             "\"priority\":3}],\"attribs\":[{\"name\":\"n\",\"map\":\"n\",\"default\":1}],"
             "\"roles\":[{\"name\":\"x\",\"jig\":\"noop\",\"attaches\":[\"y\"]},"
             "{\"name\":\"y\",\"jig\":\"nowhere\",\"requires\":[\"z\"],\"provides\":[\"p\"],"
             "\"wants-attribs\":[\"n\",\"later\"],\"flags\":[\"odd\"],\"attribs\":[{\"name\":\"v\","
             "\"schema\":{\"type\":\"str\"},\"map\":\"\"}]}]}";
    import(&w, document);
    store(&w);
    const struct digest128 before = core_digest_now(w.c);
    import(&w, document);
    CHECK(core_changed(w.c) == 0);
    const struct digest128 after = core_digest_now(w.c);
    CHECK(memcmp(&before, &after, sizeof before) == 0);
    world_close(&w);
}

TEST(a_second_import_replaces_the_first)
{
    struct world w = world_open();
    import(&w,
           "{" HEAD("b") "," JIGS ",\"roles\":[{\"name\":\"p\",\"jig\":\"noop\"},"
                         "{\"name\":\"x\",\"jig\":\"noop\",\"flags\":[\"implicit\",\"cluster\"],"
                         "\"requires\":[\"p\"],\"provides\":[\"q\"],\"conflicts\":[\"c\"],"
                         "\"hooks\":[\"on_todo\"],"
                         "\"attribs\":[{\"name\":\"a\",\"map\":\"m\",\"default\":1}]}]}");
    must_step(&w, (struct command){.kind = COMMAND_ROLE_UPDATE,
                                   .role_update = {.id = role_id(&w, "x"),
                                                   .given = GIVEN_ROLE_TEMPLATE,
                                                   .template = STR("{\"k\":1}")}});
    CHECK(is(get(&w, TABLE_ROLE, "x").role.template, "{\"k\":1}"));
    const int64_t id = role_id(&w, "x"), attrib = attrib_id(&w, "a");
    import(&w,
           "{" HEAD("b") "," JIGS ",\"roles\":[{\"name\":\"x\",\"jig\":\"script\","
                         "\"flags\":[\"service\"],\"attribs\":[{\"name\":\"a\",\"map\":\"n\"}]}]}");
    const struct record r = get(&w, TABLE_ROLE, "x");
    CHECK(r.id == id && r.role.flags == ROLE_SERVICE && r.role.hooks == 0);
    CHECK(is(r.role.requires, "") && is(r.role.provides, "") && is(r.role.conflicts, ""));
    CHECK(is(r.role.template, "") && is(r.role.jig_name, "script"));
    CHECK(r.role.cohort == 1); /* cohorts are never lowered */
    CHECK(role_row(&w, "x")->parents.count == 0);
    CHECK(role_row(&w, "x")->provided.count == 0 && role_row(&w, "x")->conflicting.count == 0);
    CHECK(attrib_id(&w, "a") == attrib);
    CHECK(is(get(&w, TABLE_ATTRIB, "a").attrib.default_value, ""));
    CHECK(!core_find(w.c, TABLE_ROLE, STR("p"))); /* members that are not mentioned are removed */
    world_close(&w);
}

/* ---- jigs and hammers ---- */

TEST(jigs_start_as_their_class_says)
{
    struct world w = world_open();
    import(&w, "{" HEAD("b") "," JIGS "}");
    CHECK(get(&w, TABLE_JIG, "noop").jig.active && get(&w, TABLE_JIG, "script").jig.active);
    CHECK(!get(&w, TABLE_JIG, "test").jig.active && get(&w, TABLE_JIG, "noop").jig.order == 100);
    CHECK(is(get(&w, TABLE_JIG, "test").jig.class_name, "BarclampTest::Jig"));
    world_close(&w);
}

TEST(an_unknown_class_of_jig_is_kept_inactive_with_its_reason)
{
    struct world w = world_open();
    import(&w, "{" HEAD("b") ",\"jigs\":[{\"name\":\"salt\",\"class\":\"BarclampSalt::Jig\"}],"
                             "\"roles\":[{\"name\":\"r\",\"jig\":\"salt\"},{\"name\":\"s\","
                             "\"jig\":\"none\"}]}");
    CHECK(count_warnings(&w) == 2);
    const struct record r = get(&w, TABLE_JIG, "salt");
    CHECK(!r.jig.active &&
          is(r.jig.inactive_reason, "jig class BarclampSalt::Jig is not known here"));
    CHECK(!role_can_run(w.c, role_by_id(w.c, role_id(&w, "r"))));
    CHECK(!role_can_run(w.c, role_by_id(w.c, role_id(&w, "s"))));
    must_refuse(
        &w,
        (struct command){.kind = COMMAND_JIG_UPDATE,
                         .jig_update = {.id = r.id, .given = GIVEN_JIG_ACTIVE, .active = true}},
        PROBLEM_CLASS_UNKNOWN, "active");
    import(&w, "{" HEAD("b") ",\"jigs\":[{\"name\":\"salt\",\"class\":\"script\"}],"
                             "\"roles\":[{\"name\":\"r\",\"jig\":\"salt\"}]}");
    CHECK(get(&w, TABLE_JIG, "salt").jig.active &&
          is(get(&w, TABLE_JIG, "salt").jig.inactive_reason, ""));
    CHECK(role_can_run(w.c, role_by_id(w.c, role_id(&w, "r"))));
    world_close(&w);
}

TEST(an_import_leaves_an_operators_choice_of_jigs_alone)
{
    struct world w = world_open();
    import(&w, "{" HEAD("b") "," JIGS "}");
    must_step(&w, (struct command){.kind = COMMAND_JIG_UPDATE,
                                   .jig_update = {.id = core_find(w.c, TABLE_JIG, STR("script")),
                                                  .given = GIVEN_JIG_ACTIVE,
                                                  .active = false}});
    import(&w, "{" HEAD("b") "," JIGS "}");
    CHECK(!get(&w, TABLE_JIG, "script").jig.active);
    world_close(&w);
}

TEST(hammer_kinds_come_with_class_and_priority)
{
    struct world w = world_open();
    import(&w,
           "{" HEAD("b") ",\"hammers\":[{\"name\":\"ssh\",\"type\":\"SecureShellHammer\","
                         "\"priority\":0},{\"name\":\"odd\",\"type\":\"Odd\",\"priority\":7}]}");
    CHECK(count_warnings(&w) == 1);
    CHECK(is(get(&w, TABLE_HAMMER_KIND, "ssh").hammer_kind.klass, "SecureShellHammer"));
    CHECK(get(&w, TABLE_HAMMER_KIND, "odd").hammer_kind.priority == 7);
    must_refuse(&w,
                importing("{" HEAD("b") ",\"hammers\":[{\"name\":\"x\",\"type\":\"ipmi\","
                                        "\"priority\":-1}]}"),
                PROBLEM_BAD_VALUE, "hammers/0/priority");
    world_close(&w);
}

TEST(the_number_of_jigs_and_hammer_kinds_is_limited)
{
    static const char *const lists[] = {"jigs", "hammers"};
    static const char *const codes[] = {"class", "type"};
    struct world w = world_open();
    for (uint32_t k = 0; k < 2; k++) {
        struct buf b = buf_in(&w.arena);
        buf_put_z(&b, "{" HEAD("b") ",\"");
        buf_put_z(&b, lists[k]);
        for (uint32_t i = 0; i <= JIGS_MAX; i++) {
            buf_put_z(&b, i ? ",{\"name\":\"x" : "\":[{\"name\":\"x");
            buf_put_u64(&b, i);
            buf_put_z(&b, "\",\"");
            buf_put_z(&b, codes[k]);
            buf_put_z(&b, k ? "\":\"ssh\"}" : "\":\"noop\"}");
        }
        buf_put_z(&b, "]}");
        step(&w, (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = buf_str(&b)}});
        CHECK(count_problems(&w) == 1 && w.out.problems->code == PROBLEM_LIMIT_REACHED);
    }
    world_close(&w);
}

TEST(a_bind_names_everything_a_role_waits_for)
{
    struct world w = world_open();
    import(&w,
           "{" HEAD("b") ",\"jigs\":[{\"name\":\"noop\",\"class\":\"noop\"},{\"name\":\"chef\","
                         "\"class\":\"chef\",\"implementor\":\"cl\"}],\"roles\":[{\"name\":\"r\","
                         "\"jig\":\"chef\","
                         "\"requires\":[\"p\",\"q\"],\"wants-attribs\":[\"v\"]},{\"name\":\"q\","
                         "\"jig\":\"noop\"}]}");
    const int64_t node = add_node(&w, "n.example.com");
    step(&w, (struct command){.kind = COMMAND_NODEROLE_BIND,
                              .noderole_bind = {.node_id = node, .role_id = role_id(&w, "r")}});
    CHECK(w.out.verdict == VERDICT_REFUSED);
    CHECK(has_problem(&w, PROBLEM_REQUIRE_UNRESOLVED, "role_id", "requires role p,"));
    CHECK(has_problem(&w, PROBLEM_REQUIRE_UNRESOLVED, "role_id", "requires role cl,"));
    CHECK(has_problem(&w, PROBLEM_ATTRIB_UNKNOWN, "role_id", "wants attrib v,"));
    CHECK(!has_problem(&w, PROBLEM_REQUIRE_UNRESOLVED, "role_id", "requires role q,"));
    world_close(&w);
}

/* ---- refusals ---- */

TEST(a_barclamp_needs_a_name_and_a_source_path)
{
    struct world w = world_open();
    step(&w, importing("{}"));
    CHECK(w.out.verdict == VERDICT_REFUSED && count_problems(&w) == 2);
    CHECK(has_problem(&w, PROBLEM_MISSING, "barclamp/name", "required"));
    CHECK(has_problem(&w, PROBLEM_MISSING, "barclamp/source_path", "required"));
    must_refuse(&w, importing("[]"), PROBLEM_BAD_JSON, "barclamp");
    must_refuse(&w, importing("nonsense"), PROBLEM_BAD_JSON, "barclamp");
    must_refuse(&w, importing("{\"barclamp\":{\"name\":\"a\",\"source_path\":[]}}"),
                PROBLEM_BAD_VALUE, "barclamp/source_path");
    world_close(&w);
}

TEST(a_barclamp_needs_a_proper_name_and_a_parent_that_exists)
{
    static const char *const bad[] = {"docs", "API", "1123", "1foo", "fo!o",
                                      " foo", "f o", "foo ", "a-b"};
    struct world w = world_open();
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct str document = STR_CONCAT(&w.arena, STR("{\"barclamp\":{\"name\":\""),
                                               str_from(bad[i]), STR("\",\"source_path\":\"p\"}}"));
        must_refuse(&w, importing(str_z(&w.arena, document)), PROBLEM_NAME_INVALID,
                    "barclamp/name");
    }
    must_refuse(&w,
                importing("{\"barclamp\":{\"name\":\"a\",\"source_path\":\"p\","
                          "\"parent\":\"absent\"}}"),
                PROBLEM_NOT_FOUND, "barclamp/parent");
    import(&w, "{\"barclamp\":{\"name\":\"a\",\"source_path\":\"p\",\"parent\":\"a\"}}");
    import(&w, "{\"barclamp\":{\"name\":\"b\",\"source_path\":\"p\",\"parent\":\"a\"}}");
    must_refuse(&w,
                importing("{\"barclamp\":{\"name\":\"a\",\"source_path\":\"p\",\"parent\":\"b\"}}"),
                PROBLEM_BAD_VALUE, "barclamp/parent");
    must_refuse(&w, importing("{" HEAD("A") "}"), PROBLEM_NAME_TAKEN, "barclamp/name");
    world_close(&w);
}

TEST(every_problem_is_reported_at_once)
{
    struct world w = world_open();
    import(&w, "{" HEAD("one") "," JIGS ",\"roles\":[{\"name\":\"taken\",\"jig\":\"noop\","
                               "\"attribs\":[{\"name\":\"owned\",\"map\":\"\"}]}]}");
    step(&w,
         importing("{" HEAD(
             "two") ",\"jigs\":[7,{\"name\":\"1\"},{\"name\":\"j\",\"class\":\"noop\"},"
                    "{\"name\":\"j\",\"class\":\"noop\"}],\"hammers\":{},\"attribs\":["
                    "{\"name\":\"owned\",\"map\":\"x\"},{\"map\":\"/x\"}],\"roles\":["
                    "{\"name\":\"taken\",\"jig\":\"noop\"},{\"jig\":\"noop\"},{\"name\":\"r\"},"
                    "{\"name\":\"s\",\"jig\":\"noop\",\"requires\":\"r\",\"provides\":[1,\"b d\"],"
                    "\"hooks\":[\"on_fire\"],\"wants-attribs\":[3,{\"at\":\"x\"},{\"name\":\"n\","
                    "\"at\":\"a//b\"}],\"attribs\":[{\"name\":\"a\",\"map\":\"m\","
                    "\"schema\":{\"type\":\"blue\"}}]},{\"name\":\"s\",\"jig\":\"noop\"},"
                    "{\"name\":\"me\",\"jig\":\"noop\",\"requires\":[\"me\"]}]}"));
    CHECK(w.out.verdict == VERDICT_REFUSED);
    CHECK(has_problem(&w, PROBLEM_BAD_VALUE, "jigs/0", "keys"));
    CHECK(has_problem(&w, PROBLEM_NAME_INVALID, "jigs/1/name", ""));
    CHECK(has_problem(&w, PROBLEM_MISSING, "jigs/1/class", "required"));
    CHECK(has_problem(&w, PROBLEM_NAME_TAKEN, "jigs/3/name", "twice"));
    CHECK(has_problem(&w, PROBLEM_BAD_VALUE, "hammers", "list"));
    CHECK(has_problem(&w, PROBLEM_OWNER_DIFFERS, "attribs/0/name", "one"));
    CHECK(has_problem(&w, PROBLEM_MISSING, "attribs/1/name", "required"));
    CHECK(has_problem(&w, PROBLEM_BAD_VALUE, "attribs/1/map", "slash"));
    CHECK(has_problem(&w, PROBLEM_NAME_TAKEN, "roles/0/name", "belongs to barclamp one"));
    CHECK(has_problem(&w, PROBLEM_MISSING, "roles/1/name", "required"));
    CHECK(has_problem(&w, PROBLEM_MISSING, "roles/2/jig", "required"));
    CHECK(has_problem(&w, PROBLEM_BAD_VALUE, "roles/3/requires", "list"));
    CHECK(has_problem(&w, PROBLEM_BAD_VALUE, "roles/3/provides/0", "name"));
    CHECK(has_problem(&w, PROBLEM_NAME_INVALID, "roles/3/provides/1", ""));
    CHECK(has_problem(&w, PROBLEM_BAD_VALUE, "roles/3/hooks", "on_fire"));
    CHECK(has_problem(&w, PROBLEM_BAD_VALUE, "roles/3/wants-attribs/0", ""));
    CHECK(has_problem(&w, PROBLEM_MISSING, "roles/3/wants-attribs/1/name", "required"));
    CHECK(has_problem(&w, PROBLEM_BAD_VALUE, "roles/3/wants-attribs/2/at", "empty step"));
    CHECK(has_problem(&w, PROBLEM_SCHEMA_INVALID, "roles/3/attribs/0/schema", ""));
    CHECK(has_problem(&w, PROBLEM_NAME_TAKEN, "roles/4/name", "twice"));
    CHECK(has_problem(&w, PROBLEM_ROLE_CYCLE, "roles/5", "me -> me"));
    CHECK(count_problems(&w) == 21);
    CHECK(!core_find(w.c, TABLE_BARCLAMP, STR("two")) && !core_find(w.c, TABLE_ROLE, STR("s")));
    world_close(&w);
}

/* ---- dry runs ---- */

TEST(a_dry_run_reports_the_results_of_imports_and_changes_nothing)
{
    struct world w = world_open();
    import(&w, "{" HEAD("one") "," JIGS ",\"roles\":[{\"name\":\"r\",\"jig\":\"noop\"}]}");
    const struct digest128 before = core_digest_now(w.c);
    const uint32_t changed = core_changed(w.c);
    const struct str barclamps[] = {
        STR("{" HEAD("two") ",\"roles\":[{\"name\":\"s\",\"jig\":\"noop\","
                            "\"requires\":[\"t\"]}]}"),
        STR("{" HEAD("three") ",\"roles\":[{\"name\":\"r\",\"jig\":\"noop\"},"
                              "{\"name\":\"u\",\"jig\":\"noop\"}]}"),
        STR("{" HEAD("four") ",\"roles\":[{\"name\":\"t\",\"jig\":\"noop\","
                             "\"requires\":[\"s\"]},{\"name\":\"u\",\"jig\":\"noop\"}]}"),
        STR("{" HEAD("one") "}"),
        STR("7"),
    };
    struct outcome out[5];
    core_import_dry_run(w.c, barclamps, 5, &w.arena, out);
    CHECK(out[0].verdict == VERDICT_DONE && out[0].doc.len);
    /* A refused document leaves nothing for later ones: u has no owner. */
    CHECK(out[1].verdict == VERDICT_REFUSED && out[1].problems->code == PROBLEM_NAME_TAKEN);
    CHECK(!out[1].problems->next);
    CHECK(out[2].verdict == VERDICT_REFUSED && out[2].problems->code == PROBLEM_ROLE_CYCLE);
    CHECK(!out[2].problems->next &&
          is(out[2].problems->text, "the roles require each other in a cycle: s -> t -> s; each "
                                    "role requires the next one, by its own `requires` or by the "
                                    "`attaches` of the next one: remove one of these entries"));
    CHECK(out[3].verdict == VERDICT_DONE && out[4].verdict == VERDICT_REFUSED);
    CHECK(digest_eq(before, core_digest_now(w.c)) && core_changed(w.c) == changed);
    CHECK(!core_find(w.c, TABLE_ROLE, STR("s")) && core_find(w.c, TABLE_ROLE, STR("r")));
    CHECK(!core_check(w.c, &w.arena));
    core_import_dry_run(w.c, NULL, 0, &w.arena, NULL);
    import(&w, "{" HEAD("three") ",\"roles\":[{\"name\":\"s\",\"jig\":\"noop\"}]}");
    world_close(&w);
}

/* Roles that are bound and have hooks queued, all of which an import would remove. */
TEST(a_dry_run_leaves_bound_roles_unchanged)
{
    struct world w = world_open();
    import(&w, "{" HEAD("one") "," JIGS ",\"attribs\":[{\"name\":\"size\",\"map\":\"x\"}],"
                               "\"roles\":[{\"name\":\"r\",\"jig\":\"noop\",\"hooks\":["
                               "\"on_proposed\"],\"wants-attribs\":[\"size\"]},"
                               "{\"name\":\"s\",\"jig\":\"noop\",\"requires\":[\"r\"]},"
                               "{\"name\":\"t\",\"jig\":\"noop\",\"attaches\":[\"s\"]}]}");
    const int64_t n = add_node(&w, "n.example.com");
    bind(&w, n, "s");
    CHECK(core_count(w.c, TABLE_OUTBOX) > 0);
    store(&w);
    const struct digest128 before = core_digest_now(w.c);
    const struct str barclamps[] = {STR("{" HEAD("one") "}"),
                                    STR("{" HEAD("two") ",\"roles\":[{\"name\":\"r\","
                                                        "\"jig\":\"noop\"}]}")};
    struct outcome out[2];
    core_import_dry_run(w.c, barclamps, 2, &w.arena, out);
    CHECK(out[0].verdict == VERDICT_DONE && out[1].verdict == VERDICT_DONE);
    CHECK(digest_eq(before, core_digest_now(w.c)) && core_changed(w.c) == 0);
    CHECK(!core_check(w.c, &w.arena) && core_count(w.c, TABLE_OUTBOX) > 0);
    import(&w, "{" HEAD("one") "}");
    CHECK(core_count(w.c, TABLE_OUTBOX) == 0 && !core_check(w.c, &w.arena));
    world_close(&w);
}

TEST(a_document_with_too_many_problems_is_not_read_to_its_end)
{
    struct world w = world_open();
    struct buf b = buf_in(&w.arena);
    buf_put_z(&b, "{" HEAD("b") ",\"roles\":[");
    for (uint32_t i = 0; i < 50000; i++)
        buf_put_z(&b, i ? ",{\"attribs\":[1,{}]}" : "{}");
    buf_put_z(&b, "]}");
    step(&w, (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = buf_str(&b)}});
    CHECK(w.out.verdict == VERDICT_REFUSED);
    CHECK(count_problems(&w) >= 1000 && count_problems(&w) < 1010);
    world_close(&w);
}

TEST(a_list_of_names_is_limited)
{
    static const char *const keys[] = {"requires", "wants-attribs"};
    struct world w = world_open();
    import(&w, "{" HEAD("one") "," JIGS "}");
    for (uint32_t k = 0; k < 2; k++) {
        struct buf b = buf_in(&w.arena);
        buf_put_z(&b, "{" HEAD("two") ",\"roles\":[{\"name\":\"r\",\"jig\":\"noop\",\"");
        buf_put_z(&b, keys[k]);
        buf_put_z(&b, "\":[");
        for (uint32_t i = 0; i < 1001; i++) {
            buf_put_z(&b, i ? ",\"n" : "\"n");
            buf_put_u64(&b, i);
            buf_put_z(&b, "\"");
        }
        buf_put_z(&b, "]}]}");
        step(&w, (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = buf_str(&b)}});
        CHECK(count_problems(&w) == 1 && w.out.problems->code == PROBLEM_LIMIT_REACHED);
    }
    world_close(&w);
}

TEST(names_that_differ_only_in_case_are_taken)
{
    struct world w = world_open();
    import(
        &w,
        "{" HEAD(
            "one") "," JIGS ",\"hammers\":[{\"name\":\"ssh\",\"type\":\"ssh\"}],"
                   "\"attribs\":[{\"name\":\"a\"}],\"roles\":[{\"name\":\"r\",\"jig\":\"noop\"}]}");
    step(&w, importing("{" HEAD(
                 "one") ",\"jigs\":[{\"name\":\"Noop\",\"class\":\"noop\"}],"
                        "\"hammers\":[{\"name\":\"SSH\",\"type\":\"ssh\"},3],\"attribs\":["
                        "{\"name\":\"A\"},4],\"roles\":[{\"name\":\"R\",\"jig\":\"noop\"},5]}"));
    CHECK(count_problems(&w) == 7);
    CHECK(has_problem(&w, PROBLEM_NAME_TAKEN, "jigs/0/name", "case"));
    CHECK(has_problem(&w, PROBLEM_NAME_TAKEN, "hammers/0/name", "case"));
    CHECK(has_problem(&w, PROBLEM_NAME_TAKEN, "attribs/0/name", "case"));
    CHECK(has_problem(&w, PROBLEM_NAME_TAKEN, "roles/0/name", "case"));
    CHECK(has_problem(&w, PROBLEM_BAD_VALUE, "hammers/1", "keys"));
    CHECK(has_problem(&w, PROBLEM_BAD_VALUE, "attribs/1", "keys"));
    CHECK(has_problem(&w, PROBLEM_BAD_VALUE, "roles/1", "keys"));
    world_close(&w);
}

/* ---- schemas and attribs ---- */

TEST(a_pattern_beyond_our_regular_expressions_is_only_a_warning)
{
    struct world w = world_open();
    import(&w,
           "{" HEAD("b") ",\"attribs\":[{\"name\":\"a\",\"map\":\"m\",\"schema\":{\"type\":\"str\","
                         "\"pattern\":\"/(a)\\\\1(?=b)/\"}}]}");
    CHECK(count_warnings(&w) == 1);
    CHECK(get(&w, TABLE_ATTRIB, "a").attrib.writable);
    world_close(&w);
}

TEST(a_default_that_does_not_fit_is_only_a_warning)
{
    struct world w = world_open();
    import(&w, "{" HEAD("b") ",\"attribs\":[{\"name\":\"a\",\"map\":\"m\",\"default\":\"x\","
                             "\"schema\":{\"type\":\"int\"}}]}");
    CHECK(count_warnings(&w) == 1);
    world_close(&w);
}

TEST(of_two_definitions_in_one_barclamp_the_last_counts)
{
    struct world w = world_open();
    import(&w, "{" HEAD("b") "," JIGS ",\"roles\":[{\"name\":\"r\",\"jig\":\"noop\",\"attribs\":["
                             "{\"name\":\"a\",\"map\":\"one\"},{\"name\":\"a\",\"map\":\"two\"}]},"
                             "{\"name\":\"s\",\"jig\":\"noop\",\"attribs\":[{\"name\":\"a\","
                             "\"map\":\"three\"}]}]}");
    CHECK(count_warnings(&w) == 2);
    CHECK(is(get(&w, TABLE_ATTRIB, "a").attrib.map, "three"));
    CHECK(get(&w, TABLE_ATTRIB, "a").attrib.role_id == role_id(&w, "s"));
    CHECK(role_row(&w, "r")->attribs.count == 0 && role_row(&w, "s")->attribs.count == 1);
    world_close(&w);
}

TEST(an_attrib_without_an_owner_is_not_taken_over)
{
    struct world w = world_open();
    must_step(&w,
              (struct command){.kind = COMMAND_ATTRIB_CREATE, .attrib_create = {.name = STR("a")}});
    must_refuse(&w, importing("{" HEAD("b") ",\"attribs\":[{\"name\":\"a\",\"map\":\"m\"}]}"),
                PROBLEM_OWNER_DIFFERS, "attribs/0/name");
    world_close(&w);
}

TEST(where_a_wanted_value_goes_may_change)
{
    struct world w = world_open();
    import(&w,
           "{" HEAD(
               "b") "," JIGS ",\"attribs\":[{\"name\":\"v\"}],\"roles\":[{\"name\":\"r\","
                    "\"jig\":\"noop\",\"wants-attribs\":[\"v\",{\"name\":\"v\",\"at\":\"x\"}]}]}");
    CHECK(is(text_of(w.c, item(w.c, &role_row(&w, "r")->wanted, 1)), "x"));
    import(&w, "{" HEAD("b") ",\"roles\":[{\"name\":\"r\",\"jig\":\"noop\","
                             "\"wants-attribs\":[\"v\"]}]}");
    CHECK(role_row(&w, "r")->wanted.count == 2 && !item(w.c, &role_row(&w, "r")->wanted, 1));
    world_close(&w);
}
