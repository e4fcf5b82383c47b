/* network_world.h - commands and reads for the tests of networks, ranges, routers, allocations and
 * leases. Addresses are written as in the API; an absent allocation or lease is "none". */
#pragma once

#include "core/network/network_private.h"
#include "tests/world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GIVEN_ALL = 0x7fffffff };

/* ---- commands ---- */

/* A network on 1g0 with ranges and router as JSON with single quotes; "" = none. */
static inline struct command cmd_network(struct world *w, const char *name, const char *ranges,
                                         const char *router)
{
    return CMD(NETWORK_CREATE, network_create, .name = str_from(name),
               .given = GIVEN_NETWORK_CONDUIT, .conduit = STR("1g0"),
               .ranges = *ranges ? world_json(w, ranges) : STR(""),
               .router = *router ? world_json(w, router) : STR(""));
}

/* The same in a network of any settings: a network without configure has ranges that overlap. */
static inline struct command cmd_network_of(struct world *w, const char *name, const char *category,
                                            bool configure, const char *ranges)
{
    struct command command = cmd_network(w, name, ranges, "");
    command.network_create.given |= GIVEN_NETWORK_CATEGORY | GIVEN_NETWORK_CONFIGURE;
    command.network_create.category = str_from(category);
    command.network_create.configure = configure;
    return command;
}

static inline struct command cmd_range(int64_t network, const char *name, const char *first,
                                       const char *last)
{
    return CMD(NETWORK_RANGE_CREATE, network_range_create, .network_id = network,
               .given = GIVEN_RANGE_NAME | GIVEN_RANGE_FIRST | GIVEN_RANGE_LAST,
               .name = str_from(name), .first = str_from(first), .last = str_from(last));
}

static inline struct command cmd_range_span(int64_t range, const char *first, const char *last)
{
    return CMD(NETWORK_RANGE_UPDATE, network_range_update, .id = range,
               .given = GIVEN_RANGE_FIRST | GIVEN_RANGE_LAST, .first = str_from(first),
               .last = str_from(last));
}

static inline struct command cmd_allocate(struct world *w, const char *node, int64_t range)
{
    return CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, node), .range_id = range);
}

static inline struct command cmd_allocate_address(struct world *w, const char *node, int64_t range,
                                                  const char *address)
{
    struct command command = cmd_allocate(w, node, range);
    command.network_allocate.address = str_from(address);
    return command;
}

static inline struct command cmd_suggest(struct world *w, const char *node, int64_t range,
                                         const char *suggestion)
{
    struct command command = cmd_allocate(w, node, range);
    command.network_allocate.suggestion = str_from(suggestion);
    return command;
}

/* Replace one field of a command, by its name; numbers are written in decimal. */
static inline struct command with(struct command command, const char *name, const char *value)
{
    const struct layout *layout = command_layout(command.kind);
    uint32_t f = 0;
    while (f < layout->count && strcmp(layout->fields[f].name, name) != 0)
        f++;
    CHECK(f < layout->count);
    void *at = (char *)command_payload(&command) + layout->fields[f].offset;
    const struct str text = str_from(value);
    const int64_t number = strtoll(value, NULL, 10);
    const uint32_t small = (uint32_t)number;
    const bool flag = strcmp(value, "true") == 0;
    switch (layout->fields[f].kind) {
    case FIELD_I64: memcpy(at, &number, sizeof number); break;
    case FIELD_U32: memcpy(at, &small, sizeof small); break;
    case FIELD_BOOL: memcpy(at, &flag, sizeof flag); break;
    case FIELD_TEXT:
    case FIELD_DOC:
    case FIELD_RAW: memcpy(at, &text, sizeof text); break;
    }
    return command;
}

/* ---- reads ---- */

static inline int64_t range_named(struct world *w, const char *network, const char *name)
{
    const network_ix n = {name_find(w->core, TABLE_NETWORK, str_from(network))};
    CHECK(n.v);
    const network_range_ix r = network_range_find(w->core, n, str_from(name));
    CHECK(r.v);
    return network_range_at(w->core, r)->o.id;
}

/* The address of the node in the range; "none". */
static inline const char *address_in(struct world *w, const char *node, int64_t range)
{
    struct record record;
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_NETWORK_ALLOCATION, id)) != 0;) {
        CHECK(core_record(w->core, TABLE_NETWORK_ALLOCATION, id, &record));
        if (record.network_allocation.node_id == the_node(w, node) &&
            record.network_allocation.network_range_id == range)
            return shown(w, record.network_allocation.address);
    }
    return "none";
}

/* Allocate the next address of the range and return it. */
static inline const char *allocated(struct world *w, const char *node, int64_t range)
{
    DONE(w, cmd_allocate(w, node, range));
    return address_in(w, node, range);
}

static inline int64_t allocation_of(struct world *w, const char *node)
{
    struct record record;
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_NETWORK_ALLOCATION, id)) != 0;) {
        CHECK(core_record(w->core, TABLE_NETWORK_ALLOCATION, id, &record));
        if (record.network_allocation.node_id == the_node(w, node))
            return id;
    }
    world_fail(HERE, "%s has no allocation", node);
    return 0;
}

static inline void deallocate(struct world *w, const char *node)
{
    const int64_t id = allocation_of(w, node);
    CHECK(DONE(w, CMD(NETWORK_DEALLOCATE, network_deallocate, .id = id)) == id);
}

static inline uint32_t problem_count(const struct world *w)
{
    uint32_t count = 0;
    for (const struct problem *p = w->out.problems; p; p = p->next)
        count++;
    return count;
}

/* True if the last step had a problem with this code and field. */
static inline bool has_problem(const struct world *w, enum problem_code code, const char *field)
{
    for (const struct problem *p = w->out.problems; p; p = p->next)
        if (p->code == code && str_eq(p->field, str_from(field)))
            return true;
    return false;
}

/* ---- tables of invalid values ---- */

struct bad_value {
    const char *field, *value;
    enum problem_code code; /* PROBLEM_NONE: the value is accepted */
    const char *named;      /* the field that the problem names; NULL = `field` */
};

/* Each value of the table is refused as it says, and changes nothing, or is accepted; an accepted
 * command is made in a world of its own by `open`, whose command is `make`. */
static inline void check_values(struct world *(*open)(void), struct command (*make)(struct world *),
                                const struct bad_value *table, size_t count)
{
    struct world *w = open();
    for (size_t i = 0; i < count; i++) {
        const struct command command = with(make(w), table[i].field, table[i].value);
        const char *named = table[i].named ? table[i].named : table[i].field;
        if (table[i].code) {
            world_refused(w, command, PROBLEM_NONE, NULL, HERE);
            if (!has_problem(w, table[i].code, named))
                world_fail(HERE, "%s = %s: %s", table[i].field, table[i].value, world_trouble(w));
            continue;
        }
        world_step(w, command);
        if (w->out.verdict != VERDICT_DONE)
            world_fail(HERE, "%s = %s: %s", table[i].field, table[i].value, world_trouble(w));
        world_close(w);
        w = open();
    }
    world_close(w);
}

#define CHECK_VALUES(open, make, table)                                                            \
    check_values((open), (make), (table), sizeof(table) / sizeof *(table))
