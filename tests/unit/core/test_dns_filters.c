/* Goal: name filters are created, changed and deleted; every wrong field is refused with its name
 * and changes nothing; the default filter comes with the first network of category admin; rows that
 * contradict each other are not loaded. Method: commands through the core, the bounds of each field
 * at N-1, N and N+1; records of the store are altered. */
#include "tests/world/dns_world.h"
#include "core/network/network_private.h"

#include <stdlib.h>
#include <string.h>

static struct dns_name_filter_record read_filter(struct world *w, int64_t id)
{
    struct record record;
    CHECK(core_record(w->core, TABLE_DNS_NAME_FILTER, id, &record));
    return record.dns_name_filter;
}

static const struct str alpha = {"net.name == \"alpha\"", 19};

/* ---- commands ---- */

TEST(a_filter_has_the_fields_of_its_command_and_defaults_for_the_others)
{
    struct world *w = world_open();
    const int64_t id = DONE(w, CMD(DNS_NAME_FILTER_CREATE, dns_name_filter_create, .given = 0));
    struct dns_name_filter_record row = read_filter(w, id);
    CHECK(str_eq(row.name, STR("default")) && row.priority == 50);
    CHECK(str_eq(row.matcher, STR("net.category == \"admin\"")));
    CHECK(str_eq(row.service, STR("system")) && str_eq(row.template, STR("{{node.name}}")));
    const int64_t other = DONE(w, CMD(DNS_NAME_FILTER_CREATE, dns_name_filter_create, .given = 31,
                                      .name = STR("other"), .matcher = alpha, .priority = 7,
                                      .service = STR("lab"), .template = STR("x")));
    row = read_filter(w, other);
    CHECK(str_eq(row.name, STR("other")) && row.priority == 7 && str_eq(row.matcher, alpha));
    CHECK(str_eq(row.service, STR("lab")) && str_eq(row.template, STR("x")));
    CHECK(core_find(w->core, TABLE_DNS_NAME_FILTER, STR("OTHER")) == other);
    uint32_t count;
    const int64_t *ids = core_dns_name_filters(w->core, &w->arena, &count);
    CHECK(count == 2 && ids[0] == other && ids[1] == id);
    world_reload(w);
    world_close(w);
}

TEST(an_update_changes_what_it_gives)
{
    struct world *w = world_open();
    const int64_t id = DONE(w, cmd_filter("f", "net.name == \"a\"", 10, "x"));
    DONE(w, cmd_filter("g", "net.name == \"a\"", 20, "y"));
    world_collect(w);
    /* Nothing differs: nothing is written. */
    DONE(w, CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update, .id = id, .given = 31,
                .name = STR("f"), .matcher = STR("net.name == \"a\""), .priority = 10,
                .service = STR("system"), .template = STR("x")));
    CHECK(core_changed(w->core) == 0 && !core_dns_names_are_pending(w->core));
    /* A new name or priority starts no evaluation. */
    DONE(w,
         CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update, .id = id,
             .given = GIVEN_FILTER_NAME | GIVEN_FILTER_PRIORITY, .name = STR("z"), .priority = 30));
    CHECK(!core_dns_names_are_pending(w->core));
    CHECK(core_find(w->core, TABLE_DNS_NAME_FILTER, STR("f")) == 0 &&
          core_find(w->core, TABLE_DNS_NAME_FILTER, STR("z")) == id);
    uint32_t count;
    const int64_t *ids = core_dns_name_filters(w->core, &w->arena, &count);
    CHECK(count == 2 && ids[1] == id && read_filter(w, id).priority == 30);
    /* The case of a name may change. */
    DONE(w, CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update, .id = id,
                .given = GIVEN_FILTER_NAME, .name = STR("Z")));
    CHECK(str_eq(read_filter(w, id).name, STR("Z")));
    DONE(w, CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update, .id = id,
                .given = GIVEN_FILTER_MATCHER, .matcher = STR("net.color == \"red\"")));
    CHECK(str_eq(core_dns_name_filter_unknown(w->core, id), STR("net.color == \"red\"")));
    CHECK(core_dns_name_filter_unknown(w->core, ids[0]).len == 0 &&
          core_dns_name_filter_unknown(w->core, 4711).len == 0);
    DONE(w, CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete, .id = id));
    CHECK(core_count(w->core, TABLE_DNS_NAME_FILTER) == 1);
    DONE(w, cmd_filter("z", "net.name == \"a\"", 30, "x"));
    world_close(w);
}

TEST(every_wrong_field_is_refused_with_its_name)
{
    struct world *w = world_open();
    const int64_t id = DONE(w, cmd_filter("f", "net.name == \"a\"", 10, "x"));
    DONE(w, cmd_filter("g", "net.name == \"a\"", 20, "x"));
    static const struct {
        const char *name, *matcher, *service, *template;
        uint32_t priority;
        enum problem_code code;
        const char *field, *text;
    } rows[] = {
        {"", "net.name == \"a\"", "s", "x", 30, PROBLEM_MISSING, "name", "name is required"},
        {"1f", "net.name == \"a\"", "s", "x", 30, PROBLEM_NAME_INVALID, "name", "letter"},
        {"f f", "net.name == \"a\"", "s", "x", 30, PROBLEM_NAME_INVALID, "name", "may contain"},
        {"\xff", "net.name == \"a\"", "s", "x", 30, PROBLEM_BAD_TEXT, "name", "UTF-8"},
        {"G", "net.name == \"a\"", "s", "x", 30, PROBLEM_NAME_TAKEN, "name", "called G already"},
        {"h", "net.name == \"a\"", "s", "x", 20, PROBLEM_NAME_TAKEN, "priority",
         "priority 20 is that of the DNS name filter g"},
        {"h", "", "s", "x", 30, PROBLEM_MISSING, "matcher", "matcher is required"},
        {"h", "net.name = \"a\"", "s", "x", 30, PROBLEM_BAD_VALUE, "matcher",
         "matcher must have == or has after the name of a test, at byte 9"},
        {"h", "net.name == \"\xff\"", "s", "x", 30, PROBLEM_BAD_TEXT, "matcher", "UTF-8"},
        {"h", "net.name == \"a\"", "", "x", 30, PROBLEM_MISSING, "service", "service is required"},
        {"h", "net.name == \"a\"", "a.b", "x", 30, PROBLEM_NAME_INVALID, "service", "may contain"},
        {"h", "net.name == \"a\"", "\xff", "x", 30, PROBLEM_BAD_TEXT, "service", "UTF-8"},
        {"h", "net.name == \"a\"", "s", "", 30, PROBLEM_MISSING, "template",
         "template is required"},
        {"h", "net.name == \"a\"", "s", "a\tb", 30, PROBLEM_BAD_VALUE, "template",
         "template must not contain control characters, at byte 1"},
        {"h", "net.name == \"a\"", "s", "\xff", 30, PROBLEM_BAD_TEXT, "template", "UTF-8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct command create =
            CMD(DNS_NAME_FILTER_CREATE, dns_name_filter_create, .given = 31,
                .name = str_from(rows[i].name), .matcher = str_from(rows[i].matcher),
                .priority = rows[i].priority, .service = str_from(rows[i].service),
                .template = str_from(rows[i].template));
        const struct command update =
            CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update, .id = id, .given = 31,
                .name = str_from(rows[i].name), .matcher = str_from(rows[i].matcher),
                .priority = rows[i].priority, .service = str_from(rows[i].service),
                .template = str_from(rows[i].template));
        HAS(world_refused(w, create, rows[i].code, rows[i].field, HERE), rows[i].text);
        CHECK(w->out.problems && !w->out.problems->next);
        HAS(world_refused(w, update, rows[i].code, rows[i].field, HERE), rows[i].text);
        CHECK(w->out.problems && !w->out.problems->next);
    }
    REFUSED(w, CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update, .id = 4711), NOT_FOUND, "id");
    REFUSED(w, CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete, .id = 4711), NOT_FOUND, "id");
    world_close(w);
}

TEST(all_problems_are_reported_at_once)
{
    struct world *w = world_open();
    DONE(w, cmd_filter("f", "net.name == \"a\"", 10, "x"));
    const struct command wrong =
        CMD(DNS_NAME_FILTER_CREATE, dns_name_filter_create, .given = 31, .name = STR("F"),
            .matcher = STR("x"), .priority = 10, .service = STR("-"), .template = STR(""));
    static const char *const fields[] = {"name", "matcher", "priority", "service", "template"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        world_refused(w, wrong, PROBLEM_NONE, fields[i], HERE);
    world_close(w);
}

static bool is_accepted(struct world *w, struct command command)
{
    world_step(w, command);
    if (w->out.verdict == VERDICT_DONE)
        DONE(w, CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete, .id = w->out.id));
    else
        CHECK(w->out.verdict == VERDICT_REFUSED);
    return w->out.verdict == VERDICT_DONE;
}

TEST(the_lengths_of_all_fields_are_bounded)
{
    struct world *w = world_open();
    static char text[2000];
    memset(text, 'a', sizeof text);
    struct command command = cmd_filter("f", "net.name == \"a\"", 10, "x");
    struct dns_name_filter_create_command *p = &command.dns_name_filter_create;
    p->given = 31;
    p->service = STR("s");
    for (uint32_t more = 0; more < 3; more++) {
        const bool fits = more < 2;
        p->name = (struct str){text, NAME_LEN_MAX - 1 + more};
        CHECK(is_accepted(w, command) == fits);
        p->name = STR("f");
        p->service = (struct str){text, NAME_LEN_MAX - 1 + more};
        CHECK(is_accepted(w, command) == fits);
        p->service = STR("s");
        p->template = (struct str){text, NAME_TEMPLATE_LEN_MAX - 1 + more};
        CHECK(is_accepted(w, command) == fits);
        p->template = STR("x");
        char *matcher = arena_copy(&w->arena, text, sizeof text);
        memcpy(matcher, "net.name == \"", 13);
        matcher[MATCHER_LEN_MAX - 2 + more] = '"';
        p->matcher = (struct str){matcher, MATCHER_LEN_MAX - 1 + more};
        CHECK(is_accepted(w, command) == fits);
        p->matcher = alpha;
    }
    p->priority = UINT32_MAX;
    CHECK(is_accepted(w, command));
    p->priority = 0;
    CHECK(is_accepted(w, command));
    world_close(w);
}

TEST(the_number_of_filters_is_bounded)
{
    struct world *w = world_open();
    for (uint32_t i = 0; i < NAME_FILTERS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        DONE(w, cmd_filter(name, "net.name == \"a\"", i, "x"));
    }
    REFUSED(w, cmd_filter("more", "net.name == \"a\"", 1000, "x"), LIMIT_REACHED,
            "dns_name_filter");
    world_close(w);
}

/* ---- the default filter ---- */

TEST(the_default_filter_comes_with_the_first_network_of_category_admin)
{
    struct world *w = world_open();
    dns_network(w, "alpha", "general", "1g0", "[]");
    CHECK(core_count(w->core, TABLE_DNS_NAME_FILTER) == 0);
    dns_network(w, "beta", "admin", "1g1", "[]");
    const int64_t id = core_find(w->core, TABLE_DNS_NAME_FILTER, STR("default"));
    CHECK(id && core_count(w->core, TABLE_DNS_NAME_FILTER) == 1);
    const struct dns_name_filter_record row = read_filter(w, id);
    CHECK(str_eq(row.matcher, STR("net.category == \"admin\"")) && row.priority == 50);
    CHECK(str_eq(row.service, STR("system")) && str_eq(row.template, STR("{{node.name}}")));
    /* The second network of the category does not bring it back. */
    DONE(w, CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete, .id = id));
    dns_network(w, "gamma", "admin", "1g2", "[]");
    CHECK(core_count(w->core, TABLE_DNS_NAME_FILTER) == 0);
    world_close(w);
}

TEST(a_network_that_becomes_the_first_of_category_admin_brings_the_default_filter)
{
    struct world *w = world_open();
    const int64_t id = dns_network(w, "alpha", "general", "1g0", "[]");
    DONE(w, CMD(NETWORK_UPDATE, network_update, .id = id, .given = GIVEN_NETWORK_CATEGORY,
                .category = STR("admin")));
    CHECK(core_find(w->core, TABLE_DNS_NAME_FILTER, STR("default")) != 0);
    world_close(w);
}

TEST(the_default_filter_does_not_come_if_there_is_another_one)
{
    struct world *w = world_open();
    DONE(w, cmd_filter("f", "net.name == \"a\"", 10, "x"));
    dns_network(w, "alpha", "admin", "1g0", "[]");
    CHECK(core_count(w->core, TABLE_DNS_NAME_FILTER) == 1);
    world_close(w);
}

TEST(a_deleted_default_filter_comes_back_with_a_new_category_only)
{
    struct world *w = world_open();
    const int64_t id = dns_network(w, "alpha", "admin", "1g0", "[]");
    DONE(w, CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete,
                .id = core_find(w->core, TABLE_DNS_NAME_FILTER, STR("default"))));
    DONE(w, CMD(NETWORK_UPDATE, network_update, .id = id, .given = GIVEN_NETWORK_DESCRIPTION,
                .description = STR("words")));
    CHECK(core_count(w->core, TABLE_DNS_NAME_FILTER) == 0);
    world_close(w);
}

TEST(a_refused_network_brings_no_filter)
{
    struct world *w = world_open();
    REFUSED(w,
            CMD(NETWORK_CREATE, network_create, .name = STR("alpha"),
                .ranges = world_json(w, "[{'name':'host'}]"),
                .given = GIVEN_NETWORK_CATEGORY | GIVEN_NETWORK_CONDUIT, .category = STR("admin"),
                .conduit = STR("1g0")),
            NONE, NULL);
    CHECK(core_count(w->core, TABLE_DNS_NAME_FILTER) == 0);
    world_close(w);
}

/* ---- load ---- */

/* Load the records of the world, one of which was altered. */
static bool can_load(struct world *w)
{
    struct core *c = core_new();
    const char *what = NULL;
    err e = OK;
    for (size_t i = 0; e == OK && i < w->kept_count && w->kept[i].table < TABLE_LOADED; i++)
        e = core_load(c, &w->kept[i], &what);
    if (e == OK)
        e = core_load_end(c, 0, &what);
    core_free(c);
    return e == OK;
}

/* The record of that table with that position, from 0. */
static struct record *kept_row(struct world *w, enum table table, int position)
{
    for (size_t i = 0; i < w->kept_count; i++)
        if (w->kept[i].table == table && position-- == 0)
            return &w->kept[i];
    world_fail(HERE, "no such record of %s", table_name(table));
    abort();
}

TEST(records_of_filters_that_contradict_each_other_are_not_loaded)
{
    struct world *w = world_open();
    DONE(w, cmd_filter("f", "net.name == \"a\"", 10, "x"));
    DONE(w, cmd_filter("g", "net.name == \"a\"", 20, "x"));
    world_reload(w);
    CHECK(can_load(w));
    struct record *row = kept_row(w, TABLE_DNS_NAME_FILTER, 1);
    const struct dns_name_filter_record right = row->dns_name_filter;
    row->dns_name_filter.priority = 10;
    CHECK(!can_load(w));
    row->dns_name_filter = right;
    row->dns_name_filter.name = STR("F");
    CHECK(!can_load(w));
    row->dns_name_filter.name = STR("1");
    CHECK(!can_load(w));
    row->dns_name_filter = right;
    row->dns_name_filter.matcher = STR("net.name");
    CHECK(!can_load(w));
    row->dns_name_filter = right;
    row->dns_name_filter.template = STR("");
    CHECK(!can_load(w));
    row->dns_name_filter = right;
    row->dns_name_filter.service = STR("a b");
    CHECK(!can_load(w));
    row->dns_name_filter = right;
    CHECK(can_load(w));
    world_close(w);
}

TEST(records_of_names_that_contradict_others_are_not_loaded)
{
    struct world *w = dns_open();
    dns_serve(w, "['system']");
    dns_node(w, "n1", "prod");
    dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    dns_filter(w, "g", "net.name == \"alpha\"", 20, "x");
    world_reload(w);
    CHECK(can_load(w));
    struct record *row = kept_row(w, TABLE_DNS_NAME_ENTRY, 1);
    const struct dns_name_entry_record right = row->dns_name_entry;
    row->dns_name_entry.dns_name_filter_id = 4711;
    CHECK(!can_load(w));
    row->dns_name_entry.dns_name_filter_id = 0;
    CHECK(!can_load(w));
    row->dns_name_entry = right;
    row->dns_name_entry.network_allocation_id = 0;
    CHECK(!can_load(w));
    row->dns_name_entry.network_allocation_id = 4711;
    CHECK(!can_load(w));
    row->dns_name_entry = right;
    row->dns_name_entry.name = STR("a_b");
    CHECK(!can_load(w));
    row->dns_name_entry = right;
    row->dns_name_entry.id = ADDRESS_ID_MAX;
    CHECK(!can_load(w));
    row->dns_name_entry = right;
    row->dns_name_entry.dns_name_filter_id =
        kept_row(w, TABLE_DNS_NAME_ENTRY, 0)->dns_name_entry.dns_name_filter_id;
    CHECK(!can_load(w)); /* two names of one filter */
    row->dns_name_entry = right;
    /* A name that the filters do not give is valid; it is removed by the evaluation. */
    row->dns_name_entry.name = STR("other");
    CHECK(can_load(w));
    row->dns_name_entry = right;
    world_close(w);
}
