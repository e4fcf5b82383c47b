/* Query strings of lists: filters, order, pages. */
#include "tests/unit/api/api_world.h"

/* Nodes n1 to n5 in deployments system and lab; n2 and n4 are alive. */
static struct front *world_with_nodes(void)
{
    struct front *f = front_open();
    world_role(f->w, "a", "'provides':['x','y']");
    world_role(f->w, "b", "'requires':['a']");
    world_deployment(f->w, "lab");
    for (int i = 1; i <= 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        world_node(f->w, name, "system");
    }
    const char *const alive[] = {"/api/v2/nodes/n2.example.com", "/api/v2/nodes/n4.example.com"};
    for (int i = 0; i < 2; i++)
        STATUS(ask(f, HTTP_PUT, alive[i], "{'alive':true,'description':'Web server'}"), 200);
    for (int i = 1; i <= 5; i += 2) {
        char path[64];
        snprintf(path, sizeof path, "/api/v2/nodes/n%d.example.com", i);
        STATUS(ask(f, HTTP_PUT, path, "{'alive':false}"), 200);
    }
    return f;
}

#define NAMES(query, expected)                                                                     \
    EXPECT_STR(column(get(f, "/api/v2/nodes?system=false&" query), "name"), expected)
#define N(i) "n" #i ".example.com"

TEST(a_filter_keeps_what_has_the_value)
{
    struct front *f = world_with_nodes();
    NAMES("alive=true", N(2) "," N(4));
    NAMES("alive.not=true", N(1) "," N(3) "," N(5));
    NAMES("name=" N(3), N(3));
    NAMES("name=" N(3) "&name=" N(1), N(1) "," N(3));
    NAMES("name=" N(3) "&alive=true", "");
    NAMES("target_role_id=null&name=" N(3), N(3));
    NAMES("target_role_id.not=null", "");
    NAMES("description.contains=WEB", N(2) "," N(4));
    NAMES("description.contains=", N(1) "," N(2) "," N(3) "," N(4) "," N(5));
    NAMES("name.contains=E.C", N(1) "," N(2) "," N(3) "," N(4) "," N(5));
    NAMES("name.contains=3.exam&name.contains=5.exam", N(3) "," N(5));
    NAMES("name.contains=n3.example.com.", "");
    NAMES("name.min=" N(3), N(3) "," N(4) "," N(5));
    NAMES("name.min=" N(2) "&name.max=" N(3), N(2) "," N(3));
    NAMES("created_at.min=2100-01-01T00:00:00Z", "");
    EXPECT_STR(column(get(f, "/api/v2/roles?provides.contains=y"), "name"), "a");
    EXPECT_STR(column(get(f, "/api/v2/roles?cohort.min=1"), "name"), "b");
    EXPECT_STR(column(get(f, "/api/v2/deployments?state=proposed"), "name"), "lab");
    EXPECT_STR(column(get(f, "/api/v2/deployments?state=0"), "name"), "lab");
    front_close(f);
}

TEST(a_list_is_sorted_by_any_field)
{
    struct front *f = world_with_nodes();
    NAMES("sort=name", N(1) "," N(2) "," N(3) "," N(4) "," N(5));
    NAMES("sort=-name", N(5) "," N(4) "," N(3) "," N(2) "," N(1));
    NAMES("sort=alive", N(1) "," N(3) "," N(5) "," N(2) "," N(4));
    EXPECT_STR(column(get(f, "/api/v2/deployments?sort=id"), "name"), "system,lab");
    front_close(f);
}

/* The value of a header of the reply; "" if it has none. */
static const char *header_of(const struct asked *a, const char *name)
{
    const size_t len = strlen(name);
    for (uint32_t i = 0; i < a->said_count; i++)
        if (strncmp(a->said[i], name, len) == 0 && a->said[i][len] == ':')
            return a->said[i] + len + 2;
    return "";
}

/* The next page by the Link header. */
static struct asked *next_of(struct front *f, const struct asked *a)
{
    char next[200];
    const char *link = header_of(a, "Link");
    CHECK(strlen(link) > 2 && strchr(link, '>') != NULL);
    snprintf(next, sizeof next, "%.*s", (int)(strchr(link, '>') - link) - 1, link + 1);
    return get(f, next);
}

TEST(a_page_has_the_total_and_a_link_to_the_next)
{
    struct front *f = world_with_nodes();
    struct asked *a = get(f, "/api/v2/nodes?system=false&sort=name&limit=2");
    EXPECT_STR(column(a, "name"), N(1) "," N(2));
    EXPECT_STR(header_of(a, "X-Total-Count"), "5");
    HAS(header_of(a, "Link"), "</api/v2/nodes?after=");
    HAS(header_of(a, "Link"), "&system=false&sort=name&limit=2>; rel=\"next\"");
    a = next_of(f, a);
    EXPECT_STR(column(a, "name"), N(3) "," N(4));
    a = next_of(f, a);
    EXPECT_STR(column(a, "name"), N(5));
    EXPECT_STR(header_of(a, "X-Total-Count"), "5");
    EXPECT_STR(header_of(a, "Link"), "");
    front_close(f);
}

/* In lists by id a deleted object still has a position; in other lists its position is unknown. */
TEST(a_deleted_object_is_a_valid_after_only_in_lists_by_id)
{
    struct front *f = world_with_nodes();
    struct asked *a = get(f, "/api/v2/nodes?name=" N(3));
    const char *id = column(a, "id");
    char path[80];
    STATUS(ask(f, HTTP_DELETE, "/api/v2/nodes/" N(3), ""), 200);
    snprintf(path, sizeof path, "/api/v2/nodes?after=%s&limit=1", id);
    EXPECT_STR(column(get(f, path), "name"), N(4));
    snprintf(path, sizeof path, "/api/v2/nodes?after=%s&sort=name", id);
    a = get(f, path);
    STATUS(a, 400);
    EXPECT_STR(at(f, a, "field"), "'after'");
    front_close(f);
}

TEST(unknown_query_parameters_are_refused)
{
    static const char *const wrong[][2] = {
        {"nme=x", "'nme'"},         {"name.like=x", "'name.like'"}, {"limit=0", "'limit'"},
        {"limit=10001", "'limit'"}, {"limit=x", "'limit'"},         {"after=-1", "'after'"},
        {"after=x", "'after'"},     {"sort=nme", "'sort'"},         {"sort=-", "'sort'"},
        {".not=3", "'.not'"},
    };
    struct front *f = world_with_nodes();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char path[80];
        snprintf(path, sizeof path, "/api/v2/nodes?%s", wrong[i][0]);
        struct asked *a = get(f, path);
        STATUS(a, 400);
        EXPECT_STR(at(f, a, "code"), "'bad_value'");
        EXPECT_STR(at(f, a, "field"), wrong[i][1]);
    }
    front_close(f);
}

TEST(head_requests_have_the_total_without_a_body)
{
    struct front *f = world_with_nodes();
    struct asked *a = ask(f, HTTP_HEAD, "/api/v2/nodes?alive=true&system=false", "");
    STATUS(a, 200);
    EXPECT_STR(header_of(a, "X-Total-Count"), "2");
    EXPECT_STR(a->body, "");
    front_close(f);
}

TEST(values_of_one_field_are_alternatives)
{
    struct front *f = world_with_nodes();
    NAMES("name=" N(2) "&alive=true&name=" N(4), N(2) "," N(4));
    NAMES("name=" N(2) "&name.not=" N(2) "&name=" N(4), N(4));
    front_close(f);
}

TEST(a_value_that_a_field_cannot_have_is_refused)
{
    struct front *f = world_with_nodes();
    struct asked *a = get(f, "/api/v2/node_roles?state=eror");
    STATUS(a, 400);
    EXPECT_STR(at(f, a, "field"), "'state'");
    EXPECT_STR(at(f, a, "message"),
               "'state must be a state, by its number or name: error, active, todo, "
               "transition, blocked, proposed'");
    STATUS(get(f, "/api/v2/node_roles?state=ERROR"), 200);
    STATUS(get(f, "/api/v2/node_roles?state=-1&state=0"), 200);
    STATUS(get(f, "/api/v2/nodes?alive=maybe"), 400);
    STATUS(get(f, "/api/v2/nodes?alive=true&alive=maybe"), 400);
    STATUS(get(f, "/api/v2/nodes?deployment_id.not=lab"), 400);
    STATUS(get(f, "/api/v2/nodes?created_at.min=yesterday"), 400);
    STATUS(get(f, "/api/v2/nodes?target_role_id=null"), 200);
    front_close(f);
}
