/* Goal: attribs that a document lists as removed are gone with their stored values, and nothing
 * else is. Method: documents through the core, values set as hooks set them; the documents of rows
 * are compared as texts, and core_check() verifies what is derived from them. */
#include <stdio.h>

#include "tests/unit/core/content_world.h"

#define ROLE                                                                                       \
    "\"roles\":[{\"name\":\"owner\",\"jig\":\"script\",\"attribs\":[%s]},"                         \
    "{\"name\":\"heir\",\"jig\":\"script\",\"provides\":[\"owner\"]},"                             \
    "{\"name\":\"user\",\"jig\":\"script\",\"wants-attribs\":[\"old\"]}]"

/* The barclamp with these attribs of the role, of nodes, and these removed ones. */
static void import_with(struct world *w, const char *own, const char *nodes, const char *removed)
{
    char roles[1000], text[3000];
    snprintf(roles, sizeof roles, ROLE, own);
    snprintf(text, sizeof text, "{%s,%s,%s,\"attribs\":[%s]%s%s}", HEAD("b"), JIGS, roles, nodes,
             removed ? ",\"removed-attribs\":" : "", removed ? removed : "");
    import(w, text);
}

#define OLD  "{\"name\":\"old\",\"map\":\"a/b/old\",\"default\":1}"
#define NOTE "{\"name\":\"note\",\"map\":\"note\"}"
#define KEPT "{\"name\":\"kept\",\"map\":\"a/kept\"}"
#define SEEN "{\"name\":\"seen\",\"map\":\"seen\"}"
#define ALL                                                                                        \
    "{\"name\":\"all\",\"map\":\"\"}" /* shows the whole document, and keeps nothing of it */

static struct noderole_record noderole_of(struct world *w, int64_t id)
{
    struct record r;
    CHECK(core_record(w->c, TABLE_NODEROLE, id, &r));
    return r.noderole;
}

static struct node_record node_of(struct world *w, int64_t id)
{
    struct record r;
    CHECK(core_record(w->c, TABLE_NODE, id, &r));
    return r.node;
}

TEST(a_removed_attrib_of_a_role_is_gone_with_its_values)
{
    struct world w = world_open();
    import_with(&w, OLD "," NOTE "," KEPT, "", NULL);
    const int64_t n = add_node(&w, "n.example.com"), m = add_node(&w, "m.example.com");
    const int64_t nr = bind(&w, n, "owner"), heir = bind(&w, m, "heir");
    set_inside(&w, TABLE_NODEROLE, nr, "old", BUCKET_SYSTEM, "{\"n1\":{\"x\":1}}");
    set_inside(&w, TABLE_NODEROLE, nr, "old", BUCKET_WALL, "2");
    set_inside(&w, TABLE_NODEROLE, nr, "kept", BUCKET_WALL, "3");
    set_inside(&w, TABLE_NODEROLE, nr, "note", BUCKET_NOTE, "{\"n1\":\"seen\"}");
    set_inside(&w, TABLE_NODEROLE, heir, "old", BUCKET_SYSTEM, "4");
    store(&w);
    import_with(&w, KEPT, "", NULL); /* attribs that are only left out stay */
    CHECK(attrib_id(&w, "old") && noderole_of(&w, nr).notes.len);
    import_with(&w, KEPT, "", "[\"old\",\"note\",\"note\",\"never_there\"]");
    CHECK(!core_find(w.c, TABLE_ATTRIB, STR("old")) && !core_find(w.c, TABLE_ATTRIB, STR("note")));
    CHECK(is(noderole_of(&w, nr).sysdata, "") && is(noderole_of(&w, nr).notes, ""));
    CHECK(is(noderole_of(&w, nr).wall, "{\"a\":{\"kept\":3}}"));
    CHECK(is(noderole_of(&w, heir).sysdata, ""));
    CHECK(role_row(&w, "user")->unresolved);
    core_free(loaded_again(&w));
    /* The same document again changes nothing. */
    store(&w);
    import_with(&w, KEPT, "", "[\"old\",\"note\",\"note\",\"never_there\"]");
    CHECK(core_changed(w.c) == 0);
    world_close(&w);
}

TEST(a_removed_attrib_of_nodes_is_gone_from_every_node)
{
    struct world w = world_open();
    import_with(&w, "", SEEN "," KEPT "," ALL, NULL);
    const int64_t n = add_node(&w, "n.example.com"), m = add_node(&w, "m.example.com");
    set_inside(&w, TABLE_NODE, n, "seen", BUCKET_USER, "\"asked\"");
    set_inside(&w, TABLE_NODE, n, "seen", BUCKET_NOTE, "1");
    set_inside(&w, TABLE_NODE, n, "kept", BUCKET_USER, "\"seen\"");
    store(&w);
    const int64_t turn = node_of(&w, m).turn;
    import_with(&w, "", KEPT "," ALL, "[\"seen\"]");
    CHECK(!core_find(w.c, TABLE_ATTRIB, STR("seen")));
    CHECK(is(node_of(&w, n).hint, "{\"a\":{\"kept\":\"seen\"}}") && is(node_of(&w, n).notes, ""));
    store(&w);
    CHECK(node_of(&w, m).turn == turn); /* a node without a value is not written */
    core_free(loaded_again(&w));
    world_close(&w);
}

TEST(what_the_engine_derived_from_the_value_follows)
{
    struct world w = world_open();
    import_with(&w, "", "{\"name\":\"macs\",\"map\":\"admin_macs\"}", NULL);
    const int64_t n = add_node(&w, "n.example.com");
    set_inside(&w, TABLE_NODE, n, "macs", BUCKET_USER, "[\"52:54:00:12:34:56\"]");
    CHECK(core_next_id(w.c, TABLE_NIC, 0));
    import_with(&w, "", "", "[\"macs\"]");
    CHECK(!core_next_id(w.c, TABLE_NIC, 0));
    world_close(&w);
}

TEST(a_value_that_another_attrib_shows_stays)
{
    struct world w = world_open();
    import_with(&w, "{\"name\":\"whole\",\"map\":\"a\"}," OLD, "", NULL);
    const int64_t n = add_node(&w, "n.example.com"), nr = bind(&w, n, "owner");
    set_inside(&w, TABLE_NODEROLE, nr, "old", BUCKET_SYSTEM, "1");
    import_with(&w, "{\"name\":\"whole\",\"map\":\"a\"}", "", "[\"old\"]");
    CHECK(is(noderole_of(&w, nr).sysdata, "{\"a\":{\"b\":{\"old\":1}}}"));
    import_with(&w, "{\"name\":\"inner\",\"map\":\"a/b/old/deep\"}", "", "[\"whole\"]");
    CHECK(is(noderole_of(&w, nr).sysdata, "{\"a\":{\"b\":{\"old\":1}}}"));
    import_with(&w, "{\"name\":\"beside\",\"map\":\"a/b/older\"}," OLD, "", "[\"inner\"]");
    import_with(&w, "{\"name\":\"beside\",\"map\":\"a/b/older\"}", "", "[\"old\"]");
    CHECK(is(noderole_of(&w, nr).sysdata, ""));
    world_close(&w);
}

TEST(an_attrib_of_another_barclamp_is_left_alone)
{
    struct world w = world_open();
    import(&w, "{" HEAD("a") ",\"attribs\":[" SEEN "]}");
    const int64_t n = add_node(&w, "n.example.com");
    set_inside(&w, TABLE_NODE, n, "seen", BUCKET_USER, "1");
    import_with(&w, "", "", "[\"seen\"]");
    CHECK(reads(&w, TABLE_NODE, n, "seen", VIEW_ALL, "1"));
    world_close(&w);
}

TEST(a_wrong_list_refuses_the_import)
{
    struct world w = world_open();
    import_with(&w, OLD, "", NULL);
    must_refuse(&w, importing("{" HEAD("b") ",\"removed-attribs\":\"old\"}"), PROBLEM_BAD_VALUE,
                "removed-attribs");
    must_refuse(&w, importing("{" HEAD("b") ",\"removed-attribs\":[\"old\",3]}"), PROBLEM_BAD_VALUE,
                "removed-attribs/1");
    must_refuse(&w, importing("{" HEAD("b") ",\"removed-attribs\":[\"a b\"]}"),
                PROBLEM_NAME_INVALID, "removed-attribs/0");
    must_refuse(&w,
                importing("{" HEAD("b") "," JIGS ",\"attribs\":[" SEEN "],"
                                        "\"removed-attribs\":[\"x\",\"x\",\"seen\"]}"),
                PROBLEM_BAD_VALUE, "removed-attribs/2");
    CHECK(attrib_id(&w, "old"));
    world_close(&w);
}
