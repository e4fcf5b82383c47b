#include "core/network/network_private.h"

#include "base/json/json.h"
#include "base/net/mac.h"
#include "core/data/data.h"
#include "core/plan/commit_view.h"

/* What DNS name filters read about a node (docs/spec/networks.md, Filters): its roles, values of
 * its attribs and its first MAC.
 *
 * The file owns no rows and changes none. The documents of a node are parsed when a test reads them
 * first, and kept until the reader is used for another node. The work of reading is counted, so
 * that the caller can end a slice in time.
 *
 * Order: dns_facts_of() sets the node; the functions in its result read that node until the next
 * call. If a plan is being computed (core.view), roles and values are read as if its commit had
 * been executed.
 *
 * Failure: what does not exist has no role, no value and no MAC. */

/* Units of work: DOC_UNITS for a document and one for every UNIT_BYTES of it. */
enum { DOC_UNITS = 5, UNIT_BYTES = 64 };

static void dns_facts_set_node(struct dns_facts *reader, node_ix n)
{
    if (reader->node.v == n.v)
        return;
    reader->node = n;
    reader->node_data = NULL;
    reader->role_of = (noderole_ix){0};
    arena_reset(&reader->scratch);
}

void dns_facts_fini(struct dns_facts *reader)
{
    arena_fini(&reader->scratch);
    arena_fini(&reader->role_scratch);
}

static uint32_t dns_facts_units_of(uint32_t size)
{
    return DOC_UNITS + size / UNIT_BYTES;
}

static bool dns_facts_have_role(void *context, struct str role)
{
    struct dns_facts *reader = context;
    const role_ix r = {name_find(reader->c, TABLE_ROLE, role)};
    if (!r.v || !str_eq(text_of(reader->c, role_at(reader->c, r)->name), role))
        return false;
    const noderole_ix nr = noderole_find(reader->c, reader->node, r);
    return nr.v && view_state(reader->c, nr) != STATE_REMOVED;
}

/* Strings are compared by their text, numbers and booleans as they are written in JSON. */
static bool dns_facts_equal(const struct json *found, struct str value)
{
    if (!found)
        return false;
    if (found->kind == JSON_STRING || found->kind == JSON_NUMBER)
        return str_eq(found->text, value);
    return (found->kind == JSON_TRUE && str_eq(value, STR("true"))) ||
           (found->kind == JSON_FALSE && str_eq(value, STR("false")));
}

/* The data of one noderole are kept, because several filters usually test the same role; those of
 * all noderoles of a node would need too much memory. */
static void dns_facts_read_role(struct dns_facts *reader, noderole_ix nr)
{
    if (reader->role_of.v == nr.v)
        return;
    arena_reset(&reader->role_scratch);
    reader->role_of = nr;
    reader->work += dns_facts_units_of(data_noderole_size(reader->c, nr));
    reader->role_data = data_noderole(reader->c, nr, true, &reader->role_scratch);
}

/* The value of the attrib in `data`, or its default. */
static const struct json *dns_facts_value(struct dns_facts *reader, attrib_ix attrib,
                                          const struct json *data)
{
    reader->work +=
        dns_facts_units_of(doc_of(reader->c, attrib_at(reader->c, attrib)->default_value).len);
    return data_value(reader->c, attrib, data, &reader->scratch);
}

/* The committed value of an attrib of the node, or of a role on the node. */
static bool dns_facts_have_attrib_value(void *context, struct str name, struct str value)
{
    struct dns_facts *reader = context;
    const struct core *c = reader->c;
    const attrib_ix attrib = {name_find(c, TABLE_ATTRIB, name)};
    const struct node *node = node_at(c, reader->node);
    struct data_owner owner;
    if (!attrib.v || !data_find_owner(c, TABLE_NODE, node->o.id, attrib, &owner))
        return false;
    if (owner.table == TABLE_NODEROLE) {
        const noderole_ix nr = {owner.ix};
        if (view_state(c, nr) == STATE_REMOVED)
            return false;
        dns_facts_read_role(reader, nr);
        return dns_facts_equal(dns_facts_value(reader, attrib, reader->role_data), value);
    }
    if (!reader->node_data) {
        reader->work += dns_facts_units_of(doc_of(c, node->discovery).len) +
                        dns_facts_units_of(doc_of(c, node->hint).len);
        reader->node_data = data_node(c, reader->node, &reader->scratch);
    }
    return dns_facts_equal(dns_facts_value(reader, attrib, reader->node_data), value);
}

static struct str dns_facts_first_mac(void *context)
{
    struct dns_facts *reader = context;
    const struct core *c = reader->c;
    const struct str hint = doc_of(c, node_at(c, reader->node)->hint);
    const struct arena_mark mark = arena_mark(&reader->scratch);
    struct mac mac;
    bool is_found = false;
    reader->work += dns_facts_units_of(hint.len);
    const struct json *macs = json_get(data_object(&reader->scratch, hint), STR("admin_macs"));
    for (const struct json *item = macs && macs->kind == JSON_ARRAY ? macs->first : NULL;
         item && !is_found; item = item->next)
        is_found = item->kind == JSON_STRING && mac_parse(item->text, &mac);
    arena_rewind(&reader->scratch, mark); /* each filter reads the hint again */
    return is_found ? mac_format(&reader->scratch, mac) : STR("");
}

struct name_facts dns_facts_of(struct dns_facts *reader, network_allocation_ix a)
{
    const struct core *c = reader->c;
    const struct network_allocation *row = network_allocation_at(c, a);
    const struct node *node = node_at(c, row->node);
    const struct network *network = network_at(c, row->network);
    dns_facts_set_node(reader, row->node);
    return (struct name_facts){
        .node_name = text_of(c, node->name),
        .node_id = node->o.id,
        .deployment = text_of(c, deployment_at(c, node->deployment)->name),
        .network = text_of(c, network->name),
        .range = text_of(c, network_range_at(c, row->range)->name),
        .category = text_of(c, network->category),
        .has_role = dns_facts_have_role,
        .has_attrib_value = dns_facts_have_attrib_value,
        .first_mac = dns_facts_first_mac,
        .context = reader,
    };
}
