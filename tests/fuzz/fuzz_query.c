/* Goal: filters, order and pages of lists agree with the rules applied to single objects:
 *
 * - a list has exactly the objects that match the query, in the requested order;
 * - following the links from page to page returns each object once, in the same order;
 * - an object matches either field=x or field.not=x; field.min=x and field.max=x together are
 *   field=x; a string contains itself;
 * - the values of each field have a total order.
 *
 * Method: the first byte of an input selects a list of the site (site.h), the rest is the query
 * string. */
#include "api/call/query.h"
#include "api/call/resource.h"
#include "api/rest/url_escape.h"
#include "tests/fuzz/site.h"

enum { OBJECTS_MAX = 64 };

static const struct {
    const char *path;
    const struct resource *resource; /* all objects of it are listed; NULL: a part of them */
} lists[] = {
    {"nodes", &resource_nodes},                               /* a, or p, or ... */
    {"node_roles", &resource_noderoles},                      /* b */
    {"roles", &resource_roles},                               /* c */
    {"deployments", &resource_deployments},                   /* d */
    {"deployment_roles", &resource_deployment_roles},         /* e */
    {"snapshots", &resource_snapshots},                       /* f */
    {"attribs", &resource_attribs},                           /* g */
    {"barclamps", &resource_barclamps},                       /* h */
    {"jigs", &resource_jigs},                                 /* i */
    {"hammers", &resource_hammers},                           /* j */
    {"available_hammers", &resource_hammer_kinds},            /* k */
    {"groups", &resource_groups},                             /* l */
    {"users", &resource_users},                               /* m */
    {"tokens", NULL},                                         /* n */
    {"nodes/n1.example.com/node_roles", NULL},                /* o */
    {"deployments/lab/snapshots", NULL},                      /* p */
    {"roles/a/nodes", NULL},                                  /* q */
    {"groups/rack%2Frow_1/nodes", NULL},                      /* r */
    {"nodes/n1.example.com/attribs", NULL},                   /* s */
    {"deployment_roles/a/nodes?deployment=lab&view=x", NULL}, /* t */
};

enum { LISTS = sizeof lists / sizeof *lists };

struct ids {
    int64_t at[OBJECTS_MAX];
    uint32_t count;
};

/* ---- requests ---- */

static struct asked *site_get(enum http_method method, struct str target)
{
    struct asked *a = site_asked(method, target);
    CHECK(a != NULL);
    asked_header(a, "Authorization", "Bearer hlg_admin");
    asked_header(a, "x-return-attributes", "[\"id\"]");
    asked_send(site.f, a);
    site_run_until_idle();
    CHECK(a->answers == 1);
    CHECK(a->status == 200 || a->status == 400 || a->status == 404);
    return a;
}

static struct ids ids_of(struct asked *a)
{
    struct ids ids = {.count = 0};
    for (const struct json *item = read_back(&a->kept, str_from(a->body))->first; item;
         item = item->next) {
        CHECK(ids.count < OBJECTS_MAX);
        CHECK(json_as_i64(json_get(item, STR("id")), &ids.at[ids.count++]));
    }
    return ids;
}

static struct str said(const struct asked *a, const char *name)
{
    for (uint32_t i = 0; i < a->said_count; i++)
        if (str_starts(str_from(a->said[i]), str_from(name)))
            return str_slice(str_from(a->said[i]), (uint32_t)strlen(name), UINT32_MAX);
    return STR("");
}

/* Returns the URL of a list with the pairs of a query except `limit` and `after`, followed by
 * `more`. */
static struct str list_url(struct arena *a, const char *path, const struct http_pair *query,
                           struct str more)
{
    struct buf b = buf_in(a);
    buf_put_z(&b, "/api/v2/");
    buf_put_z(&b, path);
    buf_put_z(&b, strchr(path, '?') ? "" : "?");
    for (const struct http_pair *pair = query; pair; pair = pair->next) {
        if (str_eq(pair->name, STR("limit")) || str_eq(pair->name, STR("after")))
            continue;
        buf_put_c(&b, '&');
        url_escape(&b, pair->name);
        buf_put_c(&b, '=');
        url_escape(&b, pair->value);
    }
    buf_put_str(&b, more);
    return buf_str(&b);
}

/* ---- the whole list ---- */

static struct object_view_value value_of(const struct object_view_field *field, enum table table,
                                         int64_t id, struct arena *a)
{
    struct record record;
    CHECK(core_record(site.f->w->core, table, id, &record));
    return object_view_value(field, site.f->w->core, &record, a);
}

static bool has_id(const struct ids *ids, int64_t id)
{
    for (uint32_t i = 0; i < ids->count; i++)
        if (ids->at[i] == id)
            return true;
    return false;
}

static void check_members(const struct ids *seen, const struct object_view *view,
                          const struct query *query, struct arena *a)
{
    const struct core *core = site.f->w->core;
    struct record record;
    uint32_t kept = 0;
    uint64_t work = 0;
    for (int64_t id = core_next_id(core, view->table, 0); id;
         id = core_next_id(core, view->table, id)) {
        CHECK(core_record(core, view->table, id, &record));
        const bool keeps = query_matches(query, core, &record, a, &work);
        CHECK(keeps == has_id(seen, id));
        kept += keeps;
    }
    CHECK(kept == seen->count);
}

static void check_order(const struct ids *seen, const struct object_view *view,
                        const struct query *query, struct arena *a)
{
    for (uint32_t i = 1; query->sort && i < seen->count; i++) {
        const struct object_view_value one = value_of(query->sort, view->table, seen->at[i - 1], a),
                                       two = value_of(query->sort, view->table, seen->at[i], a);
        const int order = query_compare(&one, &two);
        CHECK(query->is_descending ? order >= 0 : order <= 0);
    }
}

/* ---- pages ---- */

static struct str next_page(const struct asked *a)
{
    const struct str link = said(a, "Link: ");
    if (link.len == 0)
        return link;
    CHECK(str_starts(link, STR("<")) && str_ends(link, STR(">; rel=\"next\"")));
    return str_slice(link, 1, str_find(link, '>', 0));
}

static void check_pages(struct str first, const struct ids *all, uint32_t limit, struct arena *a)
{
    uint32_t at = 0;
    int64_t total;
    for (struct str target = first; target.len;) {
        struct asked *page = site_get(HTTP_GET, target);
        CHECK(page->status == 200);
        const struct ids ids = ids_of(page);
        CHECK(str_parse_i64(said(page, "X-Total-Count: "), &total) && total == all->count);
        CHECK(ids.count <= limit && at + ids.count <= all->count);
        for (uint32_t i = 0; i < ids.count; i++)
            CHECK(ids.at[i] == all->at[at + i]);
        at += ids.count;
        target = str_copy(a, next_page(page));
        CHECK(!target.len || ids.count == limit);
        site_free_requests();
    }
    CHECK(at == all->count);
}

/* The list with limit and after is a contiguous part of the list without them. */
static void check_part(struct asked *a, const struct query *query, const struct ids *all)
{
    const struct ids part = ids_of(a);
    uint32_t first = 0;
    CHECK(!query->limit || part.count <= query->limit);
    while (part.count && first < all->count && all->at[first] != part.at[0])
        first++;
    CHECK(first + part.count <= all->count);
    for (uint32_t i = 0; i < part.count; i++)
        CHECK(part.at[i] == all->at[first + i]);
    CHECK(!part.count || !query->has_after || (first && all->at[first - 1] == query->after) ||
          !has_id(all, query->after));
}

/* ---- conditions ---- */

static bool keeps(const struct object_view *view, struct http_pair pair, const char *op,
                  const struct record *record)
{
    struct arena *a = &site.f->w->arena;
    struct query query;
    uint64_t work = 0;
    pair.name = STR_CONCAT(a, pair.name, str_from(op));
    pair.next = NULL;
    CHECK(!query_read_pairs(view, &pair, a, &query).text);
    return query_matches(&query, site.f->w->core, record, a, &work);
}

static void check_condition(const struct object_view *view, const struct object_view_field *field,
                            const struct http_pair *pair, int64_t id)
{
    struct arena *a = &site.f->w->arena;
    const struct arena_mark mark = arena_mark(a);
    struct record record;
    CHECK(core_record(site.f->w->core, view->table, id, &record));
    const struct object_view_value v = object_view_value(field, site.f->w->core, &record, a);
    const bool is = keeps(view, *pair, "", &record);
    const bool is_between =
        keeps(view, *pair, ".min", &record) && keeps(view, *pair, ".max", &record);
    CHECK(is != keeps(view, *pair, ".not", &record));
    CHECK(is || !is_between);
    if (v.kind == VALUE_INT || v.kind == VALUE_TEXT || v.kind == VALUE_TIME)
        CHECK(is == is_between);
    if (v.kind == VALUE_TEXT && is)
        CHECK(keeps(view, *pair, ".contains", &record));
    arena_rewind(a, mark);
}

static void check_conditions(const struct object_view *view, const struct http_pair *pairs)
{
    const struct core *core = site.f->w->core;
    for (const struct http_pair *pair = pairs; pair; pair = pair->next)
        for (uint32_t i = 0; i < view->count; i++)
            if (str_eq(pair->name, str_from(view->fields[i].name)))
                for (int64_t id = core_next_id(core, view->table, 0); id;
                     id = core_next_id(core, view->table, id))
                    check_condition(view, &view->fields[i], pair, id);
}

/* ---- order ---- */

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static void check_three(const struct object_view_value v[3])
{
    CHECK(query_compare(&v[0], &v[0]) == 0);
    CHECK(sign(query_compare(&v[0], &v[1])) == -sign(query_compare(&v[1], &v[0])));
    if (query_compare(&v[0], &v[1]) <= 0 && query_compare(&v[1], &v[2]) <= 0)
        CHECK(query_compare(&v[0], &v[2]) <= 0);
}

/* The objects never change, so this is checked once. */
static void check_field(const struct object_view_field *field, enum table table)
{
    struct arena *a = &site.f->w->arena;
    struct object_view_value all[OBJECTS_MAX];
    uint32_t count = 0;
    for (int64_t id = core_next_id(site.f->w->core, table, 0); id && count < OBJECTS_MAX;
         id = core_next_id(site.f->w->core, table, id))
        all[count++] = value_of(field, table, id, a);
    for (uint32_t x = 0; x < count; x++)
        for (uint32_t y = 0; y < count; y++)
            for (uint32_t z = 0; z < count; z++)
                check_three((const struct object_view_value[]){all[x], all[y], all[z]});
}

static void check_orders(void)
{
    for (uint32_t i = 0; i < LISTS; i++)
        for (uint32_t f = 0; lists[i].resource && f < lists[i].resource->view->count; f++)
            check_field(&lists[i].resource->view->fields[f], lists[i].resource->view->table);
}

/* ---- entry point ---- */

/* Returns NULL if the request was refused, after a check of the error. */
static struct asked *accepted(struct asked *a)
{
    if (a->status == 200)
        return a;
    check_error(&a->kept, a->status, str_from(a->body));
    return NULL;
}

static void try_list(uint32_t list, struct str sent, struct arena *a)
{
    const struct resource *resource = lists[list].resource;
    struct http_request parsed = {.arena = *a};
    struct query query = {.count = 0};
    if (target_parse(&parsed, sent) != OK)
        return;
    *a = parsed.arena;
    const struct str whole = list_url(a, lists[list].path, parsed.query, STR(""));
    struct asked *all = accepted(site_get(HTTP_GET, whole));
    struct asked *answer = site_get(HTTP_GET, sent), *part = accepted(answer);
    /* Only a list that belongs to an object can be not found, when that object does not exist. */
    CHECK(!resource || answer->status != 404);
    if (resource) {
        const bool reads = !query_read_pairs(resource->view, parsed.query, a, &query).text;
        CHECK(reads == (part != NULL) || query.has_after);
    }
    if (!all) {
        CHECK(!part);
        return;
    }
    const struct ids ids = ids_of(all);
    const uint32_t limit = 1 + sent.len % 3;
    if (resource && !query.has_after && part) {
        check_members(&ids, resource->view, &query, a);
        check_order(&ids, resource->view, &query, a);
        check_conditions(resource->view, parsed.query);
    }
    if (resource && part)
        check_part(part, &query, &ids);
    site_free_requests();
    const struct str more[] = {STR("&limit=1"), STR("&limit=2"), STR("&limit=3")};
    check_pages(list_url(a, lists[list].path, parsed.query, more[limit - 1]), &ids, limit, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct arena arena;
    if (!site.f) {
        site_open();
        check_orders();
    }
    if (size == 0)
        return 0;
    const uint32_t list = (data[0] + 256u - 'a') % LISTS;
    const struct str query = {(const char *)data + 1, (uint32_t)size - 1};
    arena_reset(&arena);
    const struct str path = str_from(lists[list].path);
    const struct str mark = str_find(path, '?', 0) < path.len ? STR("&") : STR("?");
    const struct str head = STR_CONCAT(&arena, STR("/api/v2/"), path, mark);
    try_list(list, STR_CONCAT(&arena, head, query), &arena);
    site_free_requests();
    site_discard_steps();
    return 0;
}
