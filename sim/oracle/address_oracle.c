#include "sim/oracle/address_oracle.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Rows are kept in one array and found by linear search: a world has few of them. Each check
 * compares every row with every other one. Failed allocations abort. */

void address_oracle_fini(struct address_oracle *oracle)
{
    free(oracle->rows);
    oracle->rows = NULL;
    oracle->count = oracle->cap = 0;
}

/* ---- rows ---- */

/* "192.0.2.7/24" as family, prefix length and bytes, so that memcmp() orders the addresses of one
 * subnet. */
static bool address_oracle_parse(struct str text, uint8_t out[18])
{
    char copy[64];
    int prefix = -1;
    memset(out, 0, 18);
    if (text.len == 0 || text.len >= sizeof copy)
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len] = 0;
    char *slash = strchr(copy, '/');
    if (!slash || sscanf(slash + 1, "%d", &prefix) != 1 || prefix < 0 || prefix > 128)
        return false;
    *slash = 0;
    const bool is_v6 = strchr(copy, ':') != NULL;
    out[0] = is_v6 ? 6 : 4;
    out[1] = (uint8_t)prefix;
    return inet_pton(is_v6 ? AF_INET6 : AF_INET, copy, out + 2) == 1;
}

static bool address_oracle_knows(enum table table)
{
    return table == TABLE_NODE || table == TABLE_NETWORK || table == TABLE_NETWORK_RANGE ||
           table == TABLE_NETWORK_ROUTER || table == TABLE_NETWORK_ALLOCATION ||
           table == TABLE_LEASE || table == TABLE_NIC || table == TABLE_DNS_NAME_FILTER ||
           table == TABLE_DNS_NAME_ENTRY;
}

static struct address_row address_oracle_row_of(const struct record *r)
{
    struct address_row row = {.table = r->table, .id = r->id, .is_readable = true};
    switch ((int)r->table) {
    case TABLE_NODE:
        row.state = r->node.system; /* a system node has neither addresses nor MACs */
        break;
    case TABLE_NETWORK_RANGE:
        row.network_id = r->network_range.network_id;
        row.is_readable = address_oracle_parse(r->network_range.first, row.first) &&
                          address_oracle_parse(r->network_range.last, row.last);
        break;
    case TABLE_NETWORK_ROUTER:
        row.network_id = r->network_router.network_id;
        row.is_readable = address_oracle_parse(r->network_router.address, row.first);
        break;
    case TABLE_NETWORK_ALLOCATION:
        row.node_id = r->network_allocation.node_id;
        row.network_id = r->network_allocation.network_id;
        row.range_id = r->network_allocation.network_range_id;
        row.is_readable = address_oracle_parse(r->network_allocation.address, row.first);
        break;
    case TABLE_LEASE:
        row.range_id = r->lease.network_range_id;
        row.mac = r->lease.mac;
        row.state = r->lease.state;
        row.is_readable = address_oracle_parse(r->lease.address, row.first);
        break;
    case TABLE_NIC:
        row.node_id = r->nic.node_id;
        row.mac = r->nic.mac;
        break;
    case TABLE_DNS_NAME_ENTRY:
        row.allocation_id = r->dns_name_entry.network_allocation_id;
        row.filter_id = r->dns_name_entry.dns_name_filter_id;
        break;
    default: break;
    }
    return row;
}

static struct address_row *address_oracle_find(const struct address_oracle *oracle,
                                               enum table table, int64_t id)
{
    for (uint32_t i = 0; i < oracle->count; i++)
        if (oracle->rows[i].table == table && oracle->rows[i].id == id)
            return &oracle->rows[i];
    return NULL;
}

/* True if the row is of a table that the oracle knows. */
static bool address_oracle_note(struct address_oracle *oracle, const struct record *record,
                                bool gone)
{
    if (!address_oracle_knows(record->table))
        return false;
    struct address_row *row = address_oracle_find(oracle, record->table, record->id);
    if (gone) {
        if (row)
            *row = oracle->rows[--oracle->count];
        return true;
    }
    if (!row) {
        if (oracle->count == oracle->cap) {
            oracle->cap = oracle->cap ? 2 * oracle->cap : 64;
            oracle->rows = realloc(oracle->rows, oracle->cap * sizeof *oracle->rows);
            must(oracle->rows);
        }
        row = &oracle->rows[oracle->count++];
    }
    *row = address_oracle_row_of(record);
    return true;
}

/* ---- invariants ---- */

static const char *address_oracle_report(struct address_oracle *oracle, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *address_oracle_report(struct address_oracle *oracle, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(oracle->trouble, sizeof oracle->trouble, format, args);
    va_end(args);
    return oracle->trouble;
}

static bool address_row_has_address(const struct address_row *row)
{
    return row->table == TABLE_NETWORK_ALLOCATION || row->table == TABLE_LEASE;
}

/* Everything that the row refers to exists and fits. */
static const char *address_oracle_check_row(struct address_oracle *oracle,
                                            const struct address_row *row)
{
    const char *table = table_name(row->table);
    const struct address_row *node = address_oracle_find(oracle, TABLE_NODE, row->node_id);
    const struct address_row *range =
        address_oracle_find(oracle, TABLE_NETWORK_RANGE, row->range_id);
    if (!row->is_readable)
        return address_oracle_report(oracle, "I15: an address of %s %lld cannot be read", table,
                                     (long long)row->id);
    if ((row->table == TABLE_NETWORK_ALLOCATION || row->table == TABLE_NIC) &&
        (!node || (row->table == TABLE_NETWORK_ALLOCATION && node->state)))
        return address_oracle_report(oracle, "I15: %s %lld has no node that is a machine", table,
                                     (long long)row->id);
    if (row->network_id && !address_oracle_find(oracle, TABLE_NETWORK, row->network_id))
        return address_oracle_report(oracle, "I15: %s %lld has no network", table,
                                     (long long)row->id);
    if (row->table == TABLE_DNS_NAME_ENTRY &&
        (!address_oracle_find(oracle, TABLE_NETWORK_ALLOCATION, row->allocation_id) ||
         !address_oracle_find(oracle, TABLE_DNS_NAME_FILTER, row->filter_id)))
        return address_oracle_report(oracle, "I17: name %lld has no allocation or no filter",
                                     (long long)row->id);
    if (!address_row_has_address(row))
        return NULL;
    if (!range || memcmp(range->first, row->first, 2) != 0 ||
        memcmp(range->first, row->first, sizeof row->first) > 0 ||
        memcmp(row->first, range->last, sizeof row->first) > 0)
        return address_oracle_report(
            oracle, "I15: the address of %s %lld is not in its range, or has another prefix", table,
            (long long)row->id);
    if (row->network_id && row->network_id != range->network_id)
        return address_oracle_report(oracle, "I15: range and network of %s %lld differ", table,
                                     (long long)row->id);
    return NULL;
}

static const char *address_oracle_check_pair(struct address_oracle *oracle,
                                             const struct address_row *a,
                                             const struct address_row *b)
{
    const char *what = NULL;
    if (address_row_has_address(a) && address_row_has_address(b) && a->first[0] == b->first[0] &&
        memcmp(a->first + 2, b->first + 2, 16) == 0)
        what = "I15: two rows have one address";
    else if (a->table != b->table)
        return NULL;
    else if (a->table == TABLE_NETWORK_ALLOCATION && a->node_id == b->node_id &&
             a->range_id == b->range_id)
        what = "I15: two rows are of one node in one range";
    else if (a->table == TABLE_NETWORK_ROUTER && a->network_id == b->network_id)
        what = "I15: two rows are of one network";
    else if (a->table == TABLE_NIC && a->mac == b->mac)
        what = "I16: two rows have one MAC";
    else if (a->table == TABLE_DNS_NAME_ENTRY && a->allocation_id == b->allocation_id &&
             a->filter_id == b->filter_id)
        what = "I17: two rows are of one allocation and one filter";
    if (!what)
        return NULL;
    return address_oracle_report(oracle, "%s: %s %lld, %s %lld", what, table_name(a->table),
                                 (long long)a->id, table_name(b->table), (long long)b->id);
}

static const char *address_oracle_check(struct address_oracle *oracle)
{
    const char *said = NULL;
    for (uint32_t i = 0; i < oracle->count && !said; i++) {
        said = address_oracle_check_row(oracle, &oracle->rows[i]);
        for (uint32_t k = 0; k < i && !said; k++)
            said = address_oracle_check_pair(oracle, &oracle->rows[k], &oracle->rows[i]);
    }
    return said;
}

const char *address_oracle_batch(struct address_oracle *oracle, const struct batch *batch)
{
    bool is_concerned = false;
    for (uint32_t at = 0; at < batch->changes.len;) {
        struct change change;
        if (batch_next(batch->changes, &at, &change) != OK)
            impossible("a stored batch cannot be decoded");
        is_concerned = address_oracle_note(oracle, &change.record, change.gone) || is_concerned;
    }
    return is_concerned ? address_oracle_check(oracle) : NULL;
}

static err address_oracle_note_record(void *self, const struct record *record)
{
    address_oracle_note(self, record, false);
    return OK;
}

const char *address_oracle_reload(struct address_oracle *oracle, const struct memory_store *store)
{
    address_oracle_fini(oracle);
    for (enum table table = 0; table < TABLE_LOADED; table++)
        if (address_oracle_knows(table) &&
            memory_store_load_table(
                store, table, (struct record_callback){oracle, address_oracle_note_record}) != OK)
            impossible("the store cannot be read");
    return address_oracle_check(oracle);
}
