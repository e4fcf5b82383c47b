#include "sim/rack/rack_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"

/* What boots are served: the databases that runs of a site publish, and the answers to machines.
 *
 * A published database has entries by node id. A run changes only the entries of the nodes with
 * which it was staged (boot.due), and removes those of its interval (boot.part) that are not among
 * them. A machine is found by its MAC in the database of DHCP, and by its address in that of the
 * provisioner. Of several entries the one with the lowest node id counts, so a machine may be
 * answered with the entry of a node that was deleted and is not removed yet.
 *
 * If the role of a service has a native jig, the boot server of the admin node answers from its
 * copy (rack_servers.c). */

/* One machine in a published database. */
struct rack_entry {
    struct rack_answer answer;
    struct str name;
    struct str mac;
    struct str address;
};

const char *rack_service_role(enum rack_service service)
{
    return service == RACK_DHCP ? "dhcp-database" : "provisioner-database";
}

uint32_t rack_admin_machine(uint32_t admin)
{
    return admin ? RACK_SECOND_ADMIN : RACK_ADMIN;
}

/* ---- databases ---- */

static uint32_t served_position(const struct rack_database *db, int64_t node_id)
{
    uint32_t at = 0;
    while (at < db->count && db->entries[at].answer.node_id < node_id)
        at++;
    return at;
}

static bool served_has(const struct rack_database *db, uint32_t at, int64_t node_id)
{
    return at < db->count && db->entries[at].answer.node_id == node_id;
}

static void served_remove(struct rack_database *db, uint32_t at)
{
    db->count--;
    memmove(db->entries + at, db->entries + at + 1, sizeof *db->entries * (db->count - at));
}

static struct rack_entry *served_insert(struct rack_database *db, int64_t node_id)
{
    const uint32_t at = served_position(db, node_id);
    if (served_has(db, at, node_id))
        return &db->entries[at];
    if (db->count == db->cap) {
        db->cap = db->cap ? 2 * db->cap : 16;
        db->entries = realloc(db->entries, sizeof *db->entries * db->cap);
        must(db->entries);
    }
    memmove(db->entries + at + 1, db->entries + at, sizeof *db->entries * (db->count - at));
    db->count++;
    return &db->entries[at];
}

void rack_databases_fini(struct rack *r)
{
    for (uint32_t i = 0; i < RACK_ADMINS; i++)
        for (uint32_t k = 0; k < RACK_SERVICE_COUNT; k++)
            free(r->databases[i][k].entries);
}

/* ---- publishing ---- */

static struct str served_text(const struct json *tree, const char *key)
{
    const struct json *value = json_get(tree, str_from(key));
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

static struct str served_first_text(const struct json *tree, const char *key)
{
    const struct json *list = json_get(tree, str_from(key));
    return list && list->first && list->first->kind == JSON_STRING ? list->first->text : STR("");
}

static void served_set_entry(struct rack *r, struct rack_database *db, int64_t node_id,
                             const struct json *due)
{
    struct rack_entry *entry = served_insert(db, node_id);
    const struct json *number = json_get(due, STR("generation"));
    *entry =
        (struct rack_entry){.answer = {.node_id = node_id, .history = r->history},
                            .name = str_copy(&r->arena, served_text(due, "name")),
                            .mac = str_copy(&r->arena, served_first_text(due, "macs")),
                            .address = str_copy(&r->arena, served_first_text(due, "addresses"))};
    must(number && json_as_i64(number, &entry->answer.generation));
    snprintf(entry->answer.bootenv, sizeof entry->answer.bootenv, "%.*s",
             STR_FMT_ARGS(served_text(due, "bootenv")));
    snprintf(entry->answer.rootdev, sizeof entry->answer.rootdev, "%.*s",
             STR_FMT_ARGS(served_text(json_get(due, STR("attribs")), "operating-system-disk")));
}

static void served_apply_due(struct rack *r, struct rack_database *db, const struct json *due,
                             uint32_t most)
{
    uint32_t done = 0;
    for (const struct json *one = due->first; one && done < most; one = one->next, done++) {
        const int64_t node_id = strtoll(str_z(&r->scratch, one->key), NULL, 10);
        const uint32_t at = served_position(db, node_id);
        if (one->kind == JSON_OBJECT)
            served_set_entry(r, db, node_id, one);
        else if (served_has(db, at, node_id))
            served_remove(db, at);
    }
}

/* Remove the nodes of the interval that are not in `due`. */
static void served_apply_part(struct rack *r, struct rack_database *db, const struct json *part,
                              const struct json *due)
{
    int64_t after = 0, to = INT64_MAX;
    const struct json *end = json_get(part, STR("to"));
    must(json_as_i64(json_get(part, STR("after")), &after));
    if (end && end->kind != JSON_NULL)
        must(json_as_i64(end, &to));
    for (uint32_t i = db->count; i-- > 0;) {
        const int64_t id = db->entries[i].answer.node_id;
        struct buf key = buf_in(&r->scratch);
        buf_put_i64(&key, id);
        if (id > after && id <= to && !json_get(due, buf_str(&key)))
            served_remove(db, i);
    }
    if (!after)
        rack_count_reached(r, RACK_REACHED_PUBLISHED_AGAIN);
}

/* The service whose database an attempt publishes; false if it publishes none. */
static bool served_service_of(const struct rack *r, const struct rack_attempt *attempt,
                              enum rack_service *out_service)
{
    for (uint32_t i = 0; i < RACK_SERVICE_COUNT; i++)
        if (!r->scenario.is_native[i] &&
            str_eq(attempt->role, str_from(rack_service_role((enum rack_service)i)))) {
            *out_service = (enum rack_service)i;
            return true;
        }
    return false;
}

bool rack_publishes(const struct rack *r, const struct rack_attempt *attempt)
{
    enum rack_service service;
    return served_service_of(r, attempt, &service);
}

void rack_publish(struct rack *r, const struct rack_attempt *attempt, bool is_half)
{
    enum rack_service service;
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (!served_service_of(r, attempt, &service))
        impossible("a run of another role publishes");
    if (json_read(&r->scratch, attempt->data, &tree, &offset, &what) != OK)
        impossible("staged data is not JSON");
    const struct json *boot = json_get(tree, STR("boot"));
    const struct json *due = boot ? json_get(boot, STR("due")) : NULL;
    const struct json *part = boot ? json_get(boot, STR("part")) : NULL;
    if (!due) {
        rack_fail(r, "published: a run of %.*s is staged without entries",
                  STR_FMT_ARGS(attempt->role));
        return;
    }
    const uint32_t admin = str_eq(attempt->node, STR(RACK_SECOND_NAME)) ? 1 : 0;
    struct rack_database *db = &r->databases[admin][service];
    if (part && (!is_half || prng_chance(&r->rng, 500)))
        served_apply_part(r, db, part, due);
    served_apply_due(r, db, due, is_half ? due->count / 2 : due->count);
    if (!is_half)
        rack_count_reached(r, RACK_REACHED_DATABASE_PUBLISHED);
}

/* ---- answers ---- */

static enum rack_answered served_by_database(const struct rack *r, uint32_t admin,
                                             enum rack_service service, uint32_t machine,
                                             struct rack_answer *out)
{
    const struct rack_database *db = &r->databases[admin][service];
    const struct rack_machine *m = &r->machines[machine];
    for (uint32_t i = 0; i < db->count; i++) {
        const struct rack_entry *entry = &db->entries[i];
        if (service == RACK_DHCP ? !str_eq(entry->mac, str_from(m->mac))
                                 : !str_eq(entry->address, str_from(m->address)))
            continue;
        *out = entry->answer;
        return RACK_ANSWERED;
    }
    return RACK_NOT_LISTED;
}

enum rack_answered rack_ask(struct rack *r, uint32_t admin, enum rack_service service,
                            uint32_t machine, struct rack_answer *out)
{
    *out = (struct rack_answer){0};
    return r->scenario.is_native[service] ? rack_server_ask(r, admin, machine, out)
                                          : served_by_database(r, admin, service, machine, out);
}

const char *rack_served(struct rack *r, uint32_t admin, enum rack_service service, uint32_t machine)
{
    struct rack_answer answer;
    const enum rack_answered answered = rack_ask(r, admin, service, machine, &answer);
    return answered == RACK_ANSWERED ? str_z(&r->scratch, str_from(answer.bootenv)) : "";
}

enum rack_answered rack_served_node(struct rack *r, uint32_t admin, enum rack_service service,
                                    int64_t node_id, struct rack_answer *out)
{
    const struct rack_database *db = &r->databases[admin][service];
    *out = (struct rack_answer){0};
    if (r->scenario.is_native[service])
        return rack_server_has(r, admin, node_id, out);
    const uint32_t at = served_position(db, node_id);
    if (!served_has(db, at, node_id))
        return RACK_NOT_LISTED;
    *out = db->entries[at].answer;
    return RACK_ANSWERED;
}

/* ---- at the end ---- */

/* True if the noderole of the service on the admin node is committed. */
bool rack_is_serving(const struct rack *r, uint32_t admin, enum rack_service service)
{
    struct noderole_record noderole;
    return rack_noderole(r, rack_admin_machine(admin), rack_service_role(service), &noderole) &&
           noderole.state != NODEROLE_PROPOSED;
}

static bool served_is_complete(struct rack *r, const struct rack_entry *entry)
{
    const struct rack_machine *m = NULL;
    for (uint32_t i = 0; i < r->scenario.machines; i++)
        if (str_eq(entry->name, str_from(r->machines[i].name)))
            m = &r->machines[i];
    return m && str_eq(entry->mac, str_from(m->mac)) &&
           str_eq(entry->address, str_from(m->address));
}

static bool served_is_current(struct rack *r, uint32_t admin, enum rack_service service,
                              uint32_t machine)
{
    struct node_record node;
    struct rack_answer answer;
    return rack_node(r, machine, &node) &&
           rack_served_node(r, admin, service, node.id, &answer) == RACK_ANSWERED &&
           answer.generation == node.boot_generation &&
           str_eq(node.bootenv, str_from(answer.bootenv));
}

/* Computed from the records of nodes alone, not from the boot view of the core. */
static const char *served_missing(struct rack *r, uint32_t admin, enum rack_service service)
{
    const struct rack_database *db = &r->databases[admin][service];
    for (uint32_t i = 0; i < r->scenario.machines; i++)
        if (!served_is_current(r, admin, service, i))
            return r->machines[i].name;
    if (r->scenario.is_native[service])
        return NULL;
    if (db->count != r->scenario.machines)
        return "a machine that does not exist";
    for (uint32_t i = 0; i < db->count; i++)
        if (!served_is_complete(r, &db->entries[i]))
            return "a machine with another name, MAC or address";
    return NULL;
}

const char *rack_missing_served(struct rack *r)
{
    if (!rack_servers_are_up(r))
        return "published: a boot server is not connected";
    for (uint32_t admin = 0; admin < RACK_ADMINS; admin++)
        for (uint32_t i = 0; i < RACK_SERVICE_COUNT; i++) {
            const enum rack_service service = (enum rack_service)i;
            if (!rack_is_serving(r, admin, service))
                continue;
            const char *what = served_missing(r, admin, service);
            if (!what)
                continue;
            char *out = arena_alloc(&r->arena, 200);
            snprintf(out, 200, "published: %s on admin node %u does not serve what is stored: %s",
                     rack_service_role(service), admin + 1, what);
            return out;
        }
    return NULL;
}
