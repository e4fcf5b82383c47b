#include "cli/cmd/id_names.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cmd/nouns.h"
#include "cli/cmd/response_output.h"

/* Fetches the names of objects for ids in replies. Nothing is cached: results are in the arena of
 * the request, and each call fetches anew.
 *
 * Order: the distinct ids of a list are collected first and requested together. In id_names_add the
 * names of the objects of events are added in two passes, because a noderole has no name of its
 * own: it is composed from those of its node and its role.
 *
 * Failure: requests are quiet. If the request for the ids fails, the whole collection is fetched
 * (for noderoles it is not); if that fails as well, names are missing and callers show the ids. */

/* With more ids it is faster to fetch the whole collection, and the request would come close to the
 * limit of the server. */
enum { IDS_MAX = 200 };

/* The id in a field; 0: none. */
static int64_t id_names_id(const struct json *object, const char *field)
{
    int64_t id = 0;
    return json_as_i64(json_get(object, str_from(field)), &id) ? id : 0;
}

static int compare_numbers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_objects(const void *a, const void *b)
{
    const int64_t x = id_names_id(*(const struct json *const *)a, "id");
    const int64_t y = id_names_id(*(const struct json *const *)b, "id");
    return (x > y) - (x < y);
}

/* {"id":[...]} with the distinct ids in `field`; NULL: there are none. *out_count: their count. */
static struct json *wanted_ids(struct cli_request *req, const struct json *list, const char *field,
                               uint32_t *out_count)
{
    int64_t *ids = arena_array(req->arena, int64_t, list->count + 1);
    uint32_t count = 0;
    for (const struct json *object = list->first; object; object = object->next)
        if (id_names_id(object, field))
            ids[count++] = id_names_id(object, field);
    if (count == 0)
        return NULL;
    qsort(ids, count, sizeof *ids, compare_numbers);
    struct json *distinct = json_make(req->arena, JSON_ARRAY);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || ids[i] != ids[i - 1])
            json_append(distinct, json_make_i64(req->arena, ids[i]));
    struct json *body = json_make(req->arena, JSON_OBJECT);
    json_set(body, STR("id"), distinct);
    *out_count = distinct->count;
    return body;
}

/* `fields` is a JSON list. A body selects objects by id (POST COLLECTION/match); NULL: all objects.
 * NULL: the request failed. */
static const struct json *id_names_query_fields(struct cli_request *req, const char *collection,
                                                const char *fields, const struct json *body)
{
    const struct json *reply = NULL;
    const struct api_request call = {
        .method = body ? "POST" : "GET",
        .path = request_join(req, str_from(collection), body ? "match" : NULL),
        .body = body,
        .attributes = fields,
        .is_quiet = true,
    };
    const enum cli_exit status = request_send(req, &call, &reply);
    return status == CLI_OK && reply->kind == JSON_ARRAY ? reply : NULL;
}

static const struct json *id_names_query(struct cli_request *req, const char *collection,
                                         const char *key, const struct json *body)
{
    struct buf fields = buf_in(req->arena);
    buf_put_z(&fields, "[\"id\",\"");
    buf_put_z(&fields, key);
    buf_put_z(&fields, "\"]");
    return id_names_query_fields(req, collection, str_z(req->arena, buf_str(&fields)), body);
}

struct id_names id_names_fetch(struct cli_request *req, const char *collection,
                               const struct json *list, const char *field)
{
    const struct cli_noun *noun = nouns_of(collection);
    struct id_names names = {.key = noun ? noun->key : "name"};
    uint32_t count = 0;
    const struct json *wanted = wanted_ids(req, list, field, &count);
    if (!wanted)
        return names;
    const struct json *found =
        id_names_query(req, collection, names.key, count <= IDS_MAX ? wanted : NULL);
    if (!found && count <= IDS_MAX)
        found = id_names_query(req, collection, names.key, NULL);
    if (!found)
        return names;
    names.objects = arena_array(req->arena, const struct json *, found->count + 1);
    for (const struct json *object = found->first; object; object = object->next)
        names.objects[names.count++] = object;
    qsort(names.objects, names.count, sizeof *names.objects, compare_objects);
    return names;
}

struct str id_names_find(const struct id_names *names, const struct json *id)
{
    int64_t wanted;
    if (!json_as_i64(id, &wanted))
        return STR("");
    uint32_t low = 0, high = names->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (id_names_id(names->objects[middle], "id") < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == names->count || id_names_id(names->objects[low], "id") != wanted)
        return STR("");
    const struct json *name = json_get(names->objects[low], str_from(names->key));
    return name && name->kind == JSON_STRING ? name->text : STR("");
}

/* ---- documents ---- */

/* Fields with an id of a collection whose objects have names, in objects of several nouns. */
static const struct cli_column id_fields[] = {
    {"available_hammer_id", "available_hammers"},
    {"barclamp_id", "barclamps"},
    {"deployment_id", "deployments"},
    {"dns_name_filter_id", "dns_name_filters"},
    {"network_id", "networks"},
    {"network_range_id", "network_ranges"},
    {"node_id", "nodes"},
    {"role_id", "roles"},
    {"target_role_id", "roles"},
    {"user_id", "users"},
};

/* The collection that the ids of a field belong to; NULL: the field has no ids, or the objects have
 * no names. */
static const char *collection_of(const struct cli_noun *noun, struct str field)
{
    for (uint32_t i = 0; i < noun->column_count; i++)
        if (str_eq(field, str_from(noun->columns[i].field)))
            return noun->columns[i].names_in;
    for (uint32_t i = 0; i < sizeof id_fields / sizeof id_fields[0]; i++)
        if (str_eq(field, str_from(id_fields[i].field)))
            return id_fields[i].names_in;
    return NULL;
}

static void id_names_add_field(struct cli_request *req, struct json *list, const char *field,
                               struct str key, const char *collection)
{
    const struct id_names names = id_names_fetch(req, collection, list, field);
    for (struct json *object = list->first; object; object = object->next) {
        const struct json *id = json_get(object, str_from(field));
        if (!id || json_get(object, key))
            continue;
        const struct str name = id_names_find(&names, id);
        json_set(object, key,
                 name.len ? json_make_string(req->arena, name) : json_make(req->arena, JSON_NULL));
    }
}

static void id_names_add_states(struct cli_request *req, struct json *list)
{
    for (struct json *object = list->first; object; object = object->next) {
        const struct json *state = json_get(object, STR("state"));
        const struct cli_state *word = output_state(req->noun, state);
        if (!state || state->kind != JSON_NUMBER || json_get(object, STR("state_name")))
            continue;
        json_set(object, STR("state_name"),
                 word ? json_make_string(req->arena, str_from(word->name))
                      : json_make(req->arena, JSON_NULL));
    }
}

static bool is_about(const struct json *event, const char *object)
{
    const struct json *about = json_get(event, STR("object"));
    return about && about->kind == JSON_STRING && str_eq(about->text, str_from(object));
}

/* Add NODE/ROLE as object_name to the events about noderoles that still exist. */
static void id_names_add_noderoles(struct cli_request *req, struct json *list)
{
    struct json *mine = json_make(req->arena, JSON_ARRAY);
    uint32_t count = 0;
    for (const struct json *event = list->first; event; event = event->next)
        if (is_about(event, "noderole"))
            json_append(mine, json_clone(req->arena, event));
    const struct json *wanted = wanted_ids(req, mine, "object_id", &count);
    const struct json *found =
        wanted ? id_names_query_fields(req, "node_roles", "[\"id\",\"node_id\",\"role_id\"]",
                                       count <= IDS_MAX ? wanted : NULL)
               : NULL;
    if (!found)
        return;
    const struct id_names nodes = id_names_fetch(req, "nodes", found, "node_id");
    const struct id_names roles = id_names_fetch(req, "roles", found, "role_id");
    for (struct json *event = list->first; event; event = event->next) {
        if (!is_about(event, "noderole"))
            continue;
        const struct json *nr = found->first;
        while (nr && id_names_id(nr, "id") != id_names_id(event, "object_id"))
            nr = nr->next;
        if (!nr)
            continue;
        struct buf name = buf_in(req->arena);
        buf_put_str(&name, id_names_find(&nodes, json_get(nr, STR("node_id"))));
        buf_put_c(&name, '/');
        buf_put_str(&name, id_names_find(&roles, json_get(nr, STR("role_id"))));
        json_set(event, STR("object_name"), json_make_string(req->arena, buf_str(&name)));
    }
}

/* Add the name of the object of each event as object_name; null for objects without a name. */
static void id_names_add_objects(struct cli_request *req, struct json *list)
{
    static const struct {
        const char *object, *collection;
    } nouns[] = {
        {"attrib", "attribs"}, {"barclamp", "barclamps"}, {"deployment", "deployments"},
        {"group", "groups"},   {"hammer", "hammers"},     {"jig", "jigs"},
        {"node", "nodes"},     {"role", "roles"},         {"user", "users"},
    };
    for (struct json *event = list->first; event; event = event->next)
        json_set(event, STR("object_name"), json_make(req->arena, JSON_NULL));
    for (uint32_t i = 0; i < sizeof nouns / sizeof nouns[0]; i++) {
        struct json *mine = json_make(req->arena, JSON_ARRAY);
        for (const struct json *event = list->first; event; event = event->next)
            if (is_about(event, nouns[i].object))
                json_append(mine, json_clone(req->arena, event));
        const struct id_names names = id_names_fetch(req, nouns[i].collection, mine, "object_id");
        for (struct json *event = list->first; event; event = event->next) {
            const struct str name = id_names_find(&names, json_get(event, STR("object_id")));
            if (is_about(event, nouns[i].object) && name.len)
                json_set(event, STR("object_name"), json_make_string(req->arena, name));
        }
    }
}

struct json *id_names_add(struct cli_request *req, const struct json *list)
{
    struct json *copy = json_clone(req->arena, list);
    /* All objects of a list have the same fields, so the first shows which fields are ids. */
    const struct json *sample =
        list->first && list->first->kind == JSON_OBJECT ? list->first : NULL;
    for (const struct json *m = sample ? sample->first : NULL; m; m = m->next) {
        const char *collection =
            str_ends(m->key, STR("_id")) ? collection_of(req->noun, m->key) : NULL;
        if (collection)
            id_names_add_field(req, copy, str_z(req->arena, m->key),
                               str_slice(m->key, 0, m->key.len - 3), collection);
    }
    if (sample && json_get(sample, STR("object")) && json_get(sample, STR("object_id"))) {
        id_names_add_objects(req, copy);
        id_names_add_noderoles(req, copy);
    }
    if (sample && req->noun->state_count)
        id_names_add_states(req, copy);
    return copy;
}
