/* Imports in detail: each member of a document alone, and the order of warnings. */
#include "tests/unit/core/content_details.h"

TEST(each_member_of_a_barclamp_is_written_when_it_alone_changes)
{
    static const char *const pieces[] = {
        ",\"description\":\"d\"}",   ",\"version\":\"9\"}", ",\"build_version\":\"8\"}",
        ",\"source_url\":\"url\"}",  ",\"parent\":\"up\"}", "},\"git\":{\"commit\":\"c\"}",
        "},\"git\":{\"date\":\"t\"}"};
    struct world w = world_open();
    import(&w, "{" HEAD("up") "}");
    const char *head = "{\"barclamp\":{\"name\":\"one\",\"source_path\":\"p\"";
    for (uint32_t i = 0; i < 7; i++) {
        must_step(&w, with_piece(&w, head, "}", "}"));
        must_step(&w, with_piece(&w, head, pieces[i], "}"));
        const struct barclamp_record r = get(&w, TABLE_BARCLAMP, "one").barclamp;
        CHECK(w.out.id == r.id && r.updated_at == w.now);
        CHECK(is(r.description, i == 0 ? "d" : "One") && is(r.version, i == 1 ? "9" : "0.0"));
        CHECK(is(r.build_version, i == 2 ? "8" : "0.0") && is(r.source_url, i == 3 ? "url" : ""));
        CHECK(r.parent_id == (i == 4 ? core_find(w.c, TABLE_BARCLAMP, STR("up")) : r.id));
        CHECK(is(r.commit, i == 5 ? "c" : "unknown") && is(r.build_on, i == 6 ? "t" : "unknown"));
        CHECK(is(r.source_path, "p") && r.cfg_data.len > 0);
    }
    world_close(&w);
}

TEST(each_member_of_a_jig_is_written_when_it_alone_changes)
{
    static const char *const pieces[] = {"\"class\":\"script\",\"description\":\"d\"",
                                         "\"class\":\"noop\"",
                                         "\"class\":\"script\",\"implementor\":\"cl\""};
    const char *head = "{" HEAD("one") ",\"jigs\":[{\"name\":\"other\",\"class\":\"noop\"},"
                                       "{\"name\":\"j\",";
    struct world w = world_open();
    for (uint32_t i = 0; i < 3; i++) {
        must_step(&w, with_piece(&w, head, "\"class\":\"script\"", "}]}"));
        must_step(&w, with_piece(&w, head, pieces[i], "}]}"));
        const struct jig_record r = get(&w, TABLE_JIG, "j").jig;
        CHECK(r.updated_at == w.now && r.active && r.order == 100);
        CHECK(is(r.description, i == 0 ? "d" : "") && is(r.client_role_name, i == 2 ? "cl" : ""));
        CHECK(is(r.class_name, i == 1 ? "noop" : "script"));
        CHECK(get(&w, TABLE_JIG, "other").jig.updated_at < w.now);
    }
    world_close(&w);
}

TEST(each_member_of_a_kind_of_hammer_is_written_when_it_alone_changes)
{
    const char *head = "{" HEAD("one") ",\"hammers\":[{\"name\":\"other\",\"type\":\"ssh\"},"
                                       "{\"name\":\"h\",";
    struct world w = world_open();
    must_step(&w, with_piece(&w, head, "\"type\":\"ssh\",\"priority\":1", "}]}"));
    must_step(&w, with_piece(&w, head, "\"type\":\"ssh\",\"priority\":2", "}]}"));
    CHECK(get(&w, TABLE_HAMMER_KIND, "h").hammer_kind.priority == 2);
    must_step(&w, with_piece(&w, head, "\"type\":\"ipmi\",\"priority\":2", "}]}"));
    CHECK(is(get(&w, TABLE_HAMMER_KIND, "h").hammer_kind.klass, "ipmi"));
    CHECK(get(&w, TABLE_HAMMER_KIND, "h").hammer_kind.updated_at == w.now);
    must_step(&w, with_piece(&w, head, "\"type\":\"ipmi\",\"priority\":4294967295", "}]}"));
    CHECK(get(&w, TABLE_HAMMER_KIND, "h").hammer_kind.priority == UINT32_MAX);
    must_refuse(&w, with_piece(&w, head, "\"type\":\"ipmi\",\"priority\":4294967296", "}]}"),
                PROBLEM_BAD_VALUE, "hammers/1/priority");
    CHECK(says(&w, "priority must be a whole number from 0 to 4294967295"));
    must_refuse(&w, with_piece(&w, head, "\"type\":\"ipmi\",\"priority\":\"x\"", "}]}"),
                PROBLEM_BAD_VALUE, "hammers/1/priority");
    world_close(&w);
}

TEST(each_member_of_a_role_is_written_when_it_alone_changes)
{
    static const char *const pieces[] = {
        ",\"description\":\"d\"",     ",\"type\":\"T\"",          ",\"requires\":[\"a\",\"b\"]",
        ",\"wants-attribs\":[\"w\"]", ",\"provides\":[\"p\"]",    ",\"conflicts\":[\"c\"]",
        ",\"announces\":[\"wipe\"]",  ",\"flags\":[\"cluster\"]", ",\"hooks\":[\"on_todo\"]"};
    const char *head = "{" HEAD("one") "," JIGS ",\"roles\":[{\"name\":\"r\",\"jig\":\"noop\"";
    struct world w = world_open();
    for (uint32_t i = 0; i < 9; i++) {
        must_step(&w, with_piece(&w, head, "", "}]}"));
        must_step(&w, with_piece(&w, head, pieces[i], "}]}"));
        const struct role_record r = get(&w, TABLE_ROLE, "r").role;
        CHECK(r.updated_at == w.now && is(r.jig_name, "noop"));
        CHECK(is(r.description, i == 0 ? "d" : "R") && is(r.class_name, i == 1 ? "T" : "Role"));
        CHECK(is(r.requires, i == 2 ? "[\"a\",\"b\"]" : ""));
        CHECK(is(r.wants, i == 3 ? "[{\"at\":\"\",\"name\":\"w\"}]" : ""));
        CHECK(is(r.provides, i == 4 ? "[\"p\"]" : "") && is(r.conflicts, i == 5 ? "[\"c\"]" : ""));
        CHECK(is(r.announces, i == 6 ? "[\"wipe\"]" : ""));
        CHECK(r.flags == (i == 7 ? ROLE_CLUSTER : 0u) &&
              r.hooks == (i == 8 ? 1u << HOOK_TODO : 0u));
        CHECK(role_row(&w, "r")->provided.count == (i == 4) &&
              role_row(&w, "r")->conflicting.count == (i == 5));
        CHECK(role_row(&w, "r")->unresolved == (i == 2 || i == 3));
    }
    world_close(&w);
}

TEST(each_member_of_an_attrib_is_written_when_it_alone_changes)
{
    static const char *const pieces[] = {",\"description\":\"d\"", ",\"map\":\"m\"",
                                         ",\"ui_renderer\":\"u\"", ",\"schema\":{\"type\":\"int\"}",
                                         ",\"default\":5",         ",\"writable\":true"};
    const char *head = "{" HEAD("one") ",\"attribs\":[{\"name\":\"other\"},{\"name\":\"a\"";
    struct world w = world_open();
    for (uint32_t i = 0; i < 6; i++) {
        must_step(&w, with_piece(&w, head, "", "}]}"));
        must_step(&w, with_piece(&w, head, pieces[i], "}]}"));
        const struct attrib_record r = get(&w, TABLE_ATTRIB, "a").attrib;
        CHECK(r.updated_at == w.now && r.order == 10000 && r.writable == (i == 3 || i == 5));
        CHECK(is(r.description, i == 0 ? "d" : "") && is(r.map, i == 1 ? "m" : ""));
        CHECK(is(r.ui_renderer, i == 2 ? "u" : "attribs/default"));
        CHECK(is(r.schema, i == 3 ? "{\"type\":\"int\"}" : ""));
        CHECK(is(r.default_value, i == 4 ? "{\"value\":5}" : ""));
        CHECK(get(&w, TABLE_ATTRIB, "other").attrib.updated_at < w.now);
    }
    world_close(&w);
}

static bool warns(struct world *w, uint32_t i, const char *field, const char *text)
{
    const struct json *warning = json_get(doc_tree(&w->arena, w->out.doc), STR("warnings"))->first;
    while (warning && i--)
        warning = warning->next;
    return warning && is(json_get(warning, STR("field"))->text, field) &&
           is(json_get(warning, STR("text"))->text, text);
}

TEST(warnings_have_field_and_text_in_the_order_of_the_document)
{
    struct world w = world_open();
    import(&w, "{" HEAD("one") ",\"jigs\":[{\"name\":\"noop\",\"class\":\"noop\"},"
                               "{\"name\":\"salt\",\"class\":\"Salt\"}],"
                               "\"hammers\":[{\"name\":\"h\",\"type\":\"ssh\"},"
                               "{\"name\":\"odd\",\"type\":\"Odd\"}],\"roles\":["
                               "{\"name\":\"a\",\"jig\":\"noop\"},{\"name\":\"r\","
                               "\"jig\":\"none\",\"flags\":[\"cluster\",\"blue\",\"server\"],"
                               "\"attaches\":[\"a\",\"x\"],\"preceeds\":[\"y\"]}],"
                               "\"attribs\":[{\"name\":\"n\"},{\"name\":\"n\",\"map\":\"m\"}]}");
    CHECK(count_warnings(&w) == 7);
    CHECK(warns(&w, 0, "jigs/1/class", "jig class Salt is not known here"));
    CHECK(warns(&w, 1, "hammers/1/type", "hammer class Odd is not known here"));
    CHECK(warns(&w, 2, "roles/1/jig", "jig none is not known here; the role cannot run"));
    CHECK(warns(&w, 3, "roles/1/flags", "flag blue is unknown and ignored"));
    CHECK(warns(&w, 4, "roles/1/attaches", "there is no role x to attach to yet"));
    CHECK(warns(&w, 5, "roles/1/preceeds", "there is no role y to attach to yet"));
    CHECK(warns(&w, 6, "attribs/1/name", "attrib n is defined twice; the last definition is used"));
    CHECK(get(&w, TABLE_ROLE, "r").role.flags == (ROLE_CLUSTER | ROLE_SERVER));
    CHECK(is(parents_of(&w, "a"), "r"));
    world_close(&w);
}
