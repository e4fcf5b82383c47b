/* Goal: the oracle reports each way in which stored addresses, MACs and names could be wrong.
 * Method: batches made by hand, right ones and wrong ones. */
#include "model/command.h"
#include "sim/oracle/address_oracle.h"
#include "tests/check.h"

#include <string.h>

struct fixture {
    struct arena arena;
    struct address_oracle oracle;
    struct change changes[16];
    uint32_t count;
};

static void put_record(struct fixture *f, struct record record)
{
    f->changes[f->count++] = (struct change){.record = record};
}

static void remove_record(struct fixture *f, struct record record)
{
    f->changes[f->count++] = (struct change){.gone = true, .record = record};
}

static void put_node(struct fixture *f, int64_t id, bool system)
{
    put_record(f, (struct record){.table = TABLE_NODE, .node = {.id = id, .system = system}});
}

static void put_network(struct fixture *f, int64_t id)
{
    put_record(f, (struct record){.table = TABLE_NETWORK, .network = {.id = id}});
}

static void put_range(struct fixture *f, int64_t id, const char *first, const char *last)
{
    put_record(f, (struct record){.table = TABLE_NETWORK_RANGE,
                                  .network_range = {.id = id,
                                                    .network_id = 1,
                                                    .first = str_from(first),
                                                    .last = str_from(last)}});
}

static void put_allocation(struct fixture *f, int64_t id, int64_t node_id, int64_t range_id,
                           const char *address)
{
    put_record(f, (struct record){.table = TABLE_NETWORK_ALLOCATION,
                                  .network_allocation = {.id = id,
                                                         .node_id = node_id,
                                                         .network_id = 1,
                                                         .network_range_id = range_id,
                                                         .address = str_from(address)}});
}

static void put_lease(struct fixture *f, int64_t id, const char *address)
{
    put_record(
        f, (struct record){
               .table = TABLE_LEASE,
               .lease = {.id = id, .network_range_id = 1, .address = str_from(address), .mac = 7}});
}

static void put_nic(struct fixture *f, int64_t id, int64_t node_id, int64_t mac)
{
    put_record(
        f, (struct record){.table = TABLE_NIC, .nic = {.id = id, .node_id = node_id, .mac = mac}});
}

static void put_filter(struct fixture *f, int64_t id)
{
    put_record(f, (struct record){.table = TABLE_DNS_NAME_FILTER, .dns_name_filter = {.id = id}});
}

static void put_name(struct fixture *f, int64_t id, int64_t allocation_id, int64_t filter_id)
{
    put_record(f, (struct record){.table = TABLE_DNS_NAME_ENTRY,
                                  .dns_name_entry = {.id = id,
                                                     .network_allocation_id = allocation_id,
                                                     .dns_name_filter_id = filter_id,
                                                     .name = STR("n")}});
}

/* Pass the batch to the oracle; "" = no violation. */
static const char *write_batch(struct fixture *f)
{
    struct buf bytes = buf_in(&f->arena);
    for (uint32_t i = 0; i < f->count; i++)
        batch_put(&bytes, &f->changes[i]);
    const struct batch batch = {.rows = f->count, .changes = buf_str(&bytes)};
    f->count = 0;
    const char *said = address_oracle_batch(&f->oracle, &batch);
    return said ? said : "";
}

/* Nodes 2 and 3, which are machines; network 1 with two ranges; allocation 1 of node 2 with a nic,
 * a filter and a name. */
static void write_first(struct fixture *f)
{
    put_node(f, 1, true);
    put_node(f, 2, false);
    put_node(f, 3, false);
    put_network(f, 1);
    put_range(f, 1, "10.0.0.1/29", "10.0.0.4/29");
    put_range(f, 2, "fd00::1/64", "fd00::9/64");
    put_allocation(f, 1, 2, 1, "10.0.0.2/29");
    put_nic(f, 1, 2, 5);
    put_filter(f, 1);
    put_name(f, 1, 1, 1);
    CHECK(!strcmp(write_batch(f), ""));
}

static void fixture_fini(struct fixture *f)
{
    address_oracle_fini(&f->oracle);
    arena_fini(&f->arena);
}

#define SAYS(f, text) CHECK(strstr(write_batch(f), text))

TEST(addresses_of_other_rows_in_their_ranges_are_accepted)
{
    struct fixture f = {0};
    write_first(&f);
    put_allocation(&f, 2, 3, 1, "10.0.0.3/29");
    put_allocation(&f, 3, 2, 2, "fd00::2/64");
    put_lease(&f, 1, "10.0.0.1/29");
    put_nic(&f, 2, 3, 6);
    CHECK(!strcmp(write_batch(&f), ""));
    /* The address of a deleted row can be used again. */
    remove_record(&f, (struct record){.table = TABLE_LEASE, .lease = {.id = 1}});
    put_lease(&f, 2, "10.0.0.1/29");
    CHECK(!strcmp(write_batch(&f), ""));
    fixture_fini(&f);
}

TEST(an_address_has_one_owner)
{
    struct fixture f = {0};
    write_first(&f);
    put_lease(&f, 1, "10.0.0.2/29");
    SAYS(&f, "I15: two rows have one address");
    fixture_fini(&f);
    write_first(&f);
    put_allocation(&f, 2, 3, 1, "10.0.0.2/29");
    SAYS(&f, "I15: two rows have one address");
    fixture_fini(&f);
}

TEST(a_node_has_one_address_in_a_range)
{
    struct fixture f = {0};
    write_first(&f);
    put_allocation(&f, 2, 2, 1, "10.0.0.3/29");
    SAYS(&f, "I15: two rows are of one node in one range");
    fixture_fini(&f);
}

TEST(an_address_is_in_its_range_with_its_prefix)
{
    static const char *const wrong[] = {"10.0.0.5/29", "10.0.0.3/28", "10.0.0.3/32", "fd00::3/64"};
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct fixture f = {0};
        write_first(&f);
        put_allocation(&f, 2, 3, 1, wrong[i]);
        SAYS(&f, "not in its range, or has another prefix");
        fixture_fini(&f);
    }
    struct fixture f = {0};
    write_first(&f);
    put_allocation(&f, 2, 3, 1, "10.0.0.3");
    SAYS(&f, "I15: an address of network_allocation 2 cannot be read");
    fixture_fini(&f);
}

TEST(a_range_that_shrinks_keeps_its_addresses)
{
    struct fixture f = {0};
    write_first(&f);
    put_range(&f, 1, "10.0.0.3/29", "10.0.0.4/29");
    SAYS(&f, "not in its range, or has another prefix");
    fixture_fini(&f);
}

TEST(rows_refer_to_rows_that_exist)
{
    struct fixture f = {0};
    write_first(&f);
    remove_record(&f, (struct record){.table = TABLE_NODE, .node = {.id = 2}});
    SAYS(&f, "has no node that is a machine");
    fixture_fini(&f);
    write_first(&f);
    put_allocation(&f, 2, 1, 1, "10.0.0.3/29");
    SAYS(&f, "has no node that is a machine");
    fixture_fini(&f);
    write_first(&f);
    remove_record(&f, (struct record){.table = TABLE_NETWORK, .network = {.id = 1}});
    SAYS(&f, "has no network");
    fixture_fini(&f);
    write_first(&f);
    remove_record(&f,
                  (struct record){.table = TABLE_DNS_NAME_FILTER, .dns_name_filter = {.id = 1}});
    SAYS(&f, "I17: name 1 has no allocation or no filter");
    fixture_fini(&f);
}

TEST(a_mac_has_one_node)
{
    struct fixture f = {0};
    write_first(&f);
    put_nic(&f, 2, 3, 5);
    SAYS(&f, "I16: two rows have one MAC");
    fixture_fini(&f);
}

TEST(a_filter_gives_one_name_to_an_allocation)
{
    struct fixture f = {0};
    write_first(&f);
    put_name(&f, 2, 1, 1);
    SAYS(&f, "I17: two rows are of one allocation and one filter");
    fixture_fini(&f);
}
