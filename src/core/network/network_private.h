/* network_private.h - functions of networks, addresses, interfaces and DNS names that files of the
 * core share.
 *
 * As core_private.h: only files of src/core include it, and every function that writes requires an
 * open step.
 */
#pragma once

#include "base/net/mac.h"
#include "core/core_private.h"
#include "model/conduit.h"

/* ---- deletions.c: deletion of networks and DNS name filters in slices ---- */

/* The rows that a slice may still remove, and the bound of c->dirty.count. */
struct deletion {
    uint32_t left, until;
};
bool deletion_goes_on(const struct core *c, const struct deletion *d);
/* Count rows that were removed. */
void deletion_count(struct deletion *d, uint32_t rows);
bool deletions_are_pending(const struct core *c);
void deletions_step(struct core *c, uint32_t until);
/* List a network or filter that is marked, after a load. */
void deletions_index(struct core *c, enum table table, uint32_t ix);
/* Refuse with BEING_DELETED if the network is being deleted; true if it is. */
bool network_refuse_deleting(struct core *c, network_ix w, struct str field);
const char *deletions_check(const struct core *c);
/* Remove rows that depend on the network, and at last the network itself: true if it is gone. */
bool network_delete_some(struct core *c, network_ix w, struct deletion *d);
/* Remove entries of the filter, and at last the filter itself: true if it is gone. */
bool dns_name_filter_delete_some(struct core *c, dns_name_filter_ix f, struct deletion *d);

/* ---- networks: networks.c, network_ranges.c, network_routers.c ---- */

/* The interface settings that are in effect: those of a network, or those of a range with what it
 * inherits. */
struct interface_settings {
    struct str conduit;
    int64_t vlan, team_mode;
    bool use_vlan, use_bridge, use_team;
};

/* Record a problem of a network or range. `subject` is "Network admin: " or the like, before the
 * sentence. Always returns false. */
bool network_refuse(struct core *c, enum problem_code code, struct str field, struct str subject,
                    struct str text);
/* Check conduit, team and VLAN. True if the conduit is a list of interfaces, so that it can be
 * compared with others even if something else is wrong; *out_conduit is set then. `in` precedes the
 * names of fields. */
bool interface_check(struct core *c, const struct interface_settings *s, struct str in,
                     struct str subject, struct conduit *out_conduit);
struct interface_settings network_interface(const struct core *c, network_ix w);
struct interface_settings network_range_interface(const struct core *c, network_range_ix r);
bool network_can_load(const struct network_record *r);

/* A range from a command or from the list in a command that creates a network. `in` precedes the
 * names of fields in problems: "ranges/0/". */
struct range_settings {
    uint32_t given;
    NETWORK_RANGE_SETTINGS(FIELD_MEMBER)
};
network_range_ix network_range_make(struct core *c, network_ix w, const struct range_settings *s,
                                    struct str in);
/* Check a range against all others, after its settings or those of its network changed. False if
 * its addresses are not first and last of a range. */
bool network_range_check(struct core *c, network_range_ix r, struct str in);
/* Remove the range, which has neither allocations nor leases. */
void network_range_destroy(struct core *c, network_range_ix r);
/* Remove allocations and leases: true if none is left. */
bool network_range_empty_some(struct core *c, network_range_ix r, struct deletion *d);
/* The range with this name; none if the network has none. */
network_range_ix network_range_find(const struct core *c, network_ix w, struct str name);
/* The id of a range by "NETWORK.RANGE", or by the name of the range if no other network has one of
 * that name; 0 = none. */
int64_t network_range_find_id(const struct core *c, struct str name);
bool network_range_fill(struct network_range *row, const struct network_range_record *r);
void network_range_index(struct core *c, network_range_ix r);
network_router_ix network_router_make(struct core *c, network_ix w,
                                      const struct network_router_create_command *p, struct str in);
void network_router_destroy(struct core *c, network_router_ix r);
bool network_router_fill(const struct core *c, struct network_router *row,
                         const struct network_router_record *r);
void network_router_index(struct core *c, network_router_ix r);
/* Parse an address of a command, refused with NETWORK_INVALID. */
bool network_parse_address(struct core *c, struct str text, struct str field, struct str subject,
                           struct ip *out_ip);
const char *networks_check(const struct core *c);

/* ---- import_per.c: roles and attribs that are made for each network ---- */

/* True if the canonical document may have entries that are made for each network. */
bool barclamp_document_has_per(struct str document);
/* A network was created: make its roles and attribs. */
void network_roles_make(struct core *c, network_ix w);
/* A network is to be deleted: refused with HAS_DEPENDANTS if a noderole of another role depends on
 * one of its roles, or if the caller may not remove the noderoles. */
bool network_roles_check_removal(struct core *c, network_ix w);
/* The number of noderoles of its roles. */
uint32_t network_roles_count_bound(const struct core *c, network_ix w);
/* Remove noderoles and deployment roles of its roles: true if none is left. */
bool network_roles_unbind_some(struct core *c, network_ix w, struct deletion *d);
/* Remove its roles, which are in no deployment any more, and its attribs. */
void network_roles_remove(struct core *c, network_ix w);
const char *network_roles_check(const struct core *c, struct arena *a);
void network_roles_load(struct core *c); /* list the roles of each network after a load */

/* ---- network_roles.c: roles of a network and addresses of nodes ---- */

/* The role was bound to the node: give the node an address in the network of the role, unless it
 * has one there. Refused with RANGE_FULL if there is none left. */
void network_role_bound(struct core *c, role_ix r, node_ix n);
bool network_node_has_address(const struct core *c, network_ix w, node_ix n);
/* The node got an address: bind the roles of the network to it in its deployment, unless they are
 * bound or cannot be. */
void network_bind_roles(struct core *c, network_ix w, node_ix n);

/* ---- addresses.c: which row has an address ---- */

enum address_kind { ADDRESS_ALLOCATION, ADDRESS_LEASE, ADDRESS_ROUTER, ADDRESS_KIND_COUNT };

/* The row of this kind that has the address, without regard to the prefix length; 0 = none. */
uint32_t address_find(const struct core *c, enum address_kind kind, struct ip ip);
/* Add a row to the index. Its entry has the parsed address. */
void address_add(struct core *c, enum address_kind kind, uint32_t ix);
/* Remove it. If no other row gets the address, the caller calls address_freed() as well. */
void address_remove(struct core *c, enum address_kind kind, uint32_t ix);
/* True if an allocation, lease or router has the address. */
bool address_is_used(const struct core *c, struct ip ip);
/* No row has the address any more: the search for a free one must find it. */
void address_freed(struct core *c, struct ip ip);
/* The range without `overlap` that contains the address; there is one at most. */
network_range_ix address_find_range(const struct core *c, struct ip ip);
/* List the range among those that may not overlap, or remove it; ranges with `overlap` are not
 * listed. To be called before and after its addresses or the flag change. */
void address_add_range(struct core *c, network_range_ix r);
void address_remove_range(struct core *c, network_range_ix r);
/* Allocations and leases of a range, by table and id. */
void address_add_to_range(struct core *c, network_range_ix r, enum table table, int64_t id,
                          uint32_t ix);
void address_remove_from_range(struct core *c, network_range_ix r, enum table table, int64_t id);
/* The row with the smallest id above `after`; 0 = none. */
uint32_t address_next_in_range(const struct core *c, network_range_ix r, enum table table,
                               int64_t after);
/* Ids of rows in ranges are below this bound. */
#define ADDRESS_ID_MAX (INT64_C(1) << 43)
const char *addresses_check(const struct core *c);

/* ---- network_allocations.c, leases.c ---- */

/* Allocate an address of the range for the node, or find the one that it has. {0} if it gets none:
 * refused, or the network is not configured and no address was requested. */
struct address_request {
    struct ip address;    /* this one or a refusal; IP_NONE: any */
    struct ip suggestion; /* this one if it is free */
    struct str field;     /* that a refusal names; empty = "address", or "range_id" if it is full */
};
network_allocation_ix network_allocate(struct core *c, network_range_ix r, node_ix n,
                                       const struct address_request *wanted);
/* Allocate from the ranges that the network has for the node by default, if there are any. A
 * refusal names the field. */
void network_allocate_default(struct core *c, network_ix w, node_ix n, struct str field);
/* The range from which the node gets an IPv4 address by default; {0} if the network has none. */
network_range_ix allocation_default_range(const struct core *c, network_ix w, node_ix n);
/* True if the hint of an admin node other than `n` has the address, in whatever network: a daemon
 * uses it, so it is never given to another machine. */
bool network_is_admin_address(const struct core *c, struct ip ip, node_ix n);
/* Delete it. is_kept: the address stays reserved for a time. */
void network_allocation_destroy(struct core *c, network_allocation_ix a, bool is_kept);
void network_allocations_forget_node(struct core *c, node_ix n);
/* Allocate the addresses that the hints of nodes request in a new range. */
void network_allocate_hinted(struct core *c, network_range_ix r);
/* Allocate the addresses that the hint of the node requests, where they are free and the node has
 * none in their range, and bind the roles of their networks. */
void network_allocate_hints(struct core *c, node_ix n);
/* True if a change of the value at this path of a hint can request an address. */
bool network_hints_depend_on(struct str map);
/* The range from which a node that is created with this address gets it. None if there are no
 * networks; refused for this field if no range contains it. */
network_range_ix network_range_for_address(struct core *c, struct ip ip, struct str field);
/* The member of a hint that requests an address: "admin-v4addr". No range: network `admin`. */
struct str network_hint_key(const struct core *c, network_range_ix r, enum ip_family family,
                            struct arena *a);
bool network_allocation_fill(const struct core *c, struct network_allocation *row,
                             const struct network_allocation_record *r);
void network_allocation_index(struct core *c, network_allocation_ix a);

/* The deployment in which a request needs rights because it chooses an address; none if it chooses
 * none. */
deployment_ix network_choice_deployment(const struct core *c,
                                        const struct network_allocate_command *p);
/* The node of the allocation with this id; none if there is no such allocation. */
node_ix network_allocation_node(const struct core *c, int64_t id);

/* Record that the node has freed the address. */
void lease_make_freed(struct core *c, network_range_ix r, struct ip ip, int64_t node_id);
/* Remove the row, because another one gets the address. */
void lease_destroy(struct core *c, lease_ix l);
/* Remove the row; the address is free. */
void lease_end(struct core *c, lease_ix l);
/* The prefix length of the range has changed. */
void lease_set_prefix(struct core *c, lease_ix l, uint8_t prefix);
/* True if the client with this MAC has the address by a live lease. */
bool lease_is_held_by(const struct core *c, struct ip ip, uint64_t mac);
/* True if the node may be given the address: the lease has ended, or is a freed address of its
 * own. */
bool lease_is_available(const struct core *c, lease_ix l, int64_t node_id);
bool lease_fill(const struct core *c, struct lease *row, const struct lease_record *r);
void lease_index(struct core *c, lease_ix l);
void leases_load(struct core *c); /* start the timers after a load */
void leases_tick(struct core *c);
int64_t leases_next_deadline(const struct core *c); /* mono_ms; -1 = none */
const char *leases_check(const struct core *c);

/* ---- nics.c: interfaces of nodes ---- */

/* The row of the MAC; none = no node has it. */
nic_ix nic_find(const struct core *c, uint64_t mac);
struct str nic_format_mac(struct arena *a, uint64_t mac);
/* Parse the field `mac` of a command; refused with BAD_VALUE unless it identifies an interface. */
bool nic_parse_mac(struct core *c, struct str text, struct mac *out_mac);
/* Write the rows of the node after its hint or discovery changed. A hinted MAC that another node
 * has and that is not in old_hint is refused for this field; if `field` is empty it is left out, as
 * are MACs beyond those that a node may have. */
void nics_follow(struct core *c, node_ix n, struct str old_hint, struct str field);
/* A report of the node repeats what is stored: take those of its MACs that no node has any more. */
void nics_follow_repeated(struct core *c, node_ix n);
/* True if a change of the value at this path of the hint or discovery can change the interfaces. */
bool nics_depend_on(struct str map);
/* True if the hint names MACs, and all of them are those of the node. */
bool nics_are_of_node(struct core *c, node_ix n, struct str hint);
/* The lowest MAC above `after` that hint or discovery of the node mention and that another node
 * has; 0 = none. */
uint64_t nics_next_conflict(const struct core *c, node_ix n, struct arena *a, uint64_t after,
                            node_ix *out_owner);
void nics_forget_node(struct core *c, node_ix n);
bool nic_can_load(const struct core *c, const struct nic *row, const struct nic_record *r);
void nic_index(struct core *c, nic_ix k);
const char *nics_check(const struct core *c);

/* ---- dns_filters.c: DNS name filters and services ---- */

/* Add the default filter if the network is the first one of category admin and there is no
 * filter. */
void dns_filter_make_default(struct core *c, network_ix w);
/* Determine which DNS services exist; evaluates all allocations if a filter gained or lost its
 * service. */
void dns_services_settle(struct core *c);
bool dns_name_filter_fill(const struct core *c, struct dns_name_filter *row,
                          const struct dns_name_filter_record *r);
void dns_name_filter_index(struct core *c, dns_name_filter_ix f);
const char *dns_filters_check(const struct core *c);

/* ---- dns_facts.c: what filters read about nodes ---- */

/* The documents that tests and tokens of one node read. {.c = c} reads none yet; dns_facts_fini()
 * frees them. */
struct dns_facts {
    const struct core *c;
    node_ix node;
    struct json *node_data; /* discovery and hint, merged; NULL until a test reads them */
    noderole_ix role_of;    /* whose data are role_data; none until a test reads some */
    struct json *role_data;
    uint32_t work; /* units of about one microsecond so far */
    struct arena scratch, role_scratch;
};
/* The facts of an allocation. They are valid until the next call for another node. */
struct name_facts dns_facts_of(struct dns_facts *reader, network_allocation_ix a);
void dns_facts_fini(struct dns_facts *reader);

/* ---- dns_names.c: DNS names of allocations ---- */

/* A row is about to be written; there is at least one filter. */
void dns_names_row_changed(struct core *c, enum table table, uint32_t ix);
/* The allocations of a node, or its noderoles, changed. */
void dns_names_node_changed(struct core *c, node_ix n);
void dns_names_noderole_changed(struct core *c, noderole_ix nr);
/* Evaluate all allocations, in slices. */
void dns_names_evaluate_all(struct core *c);
/* At the end of a step: evaluate the nodes that it changed, a bounded number. */
void dns_names_settle(struct core *c);
/* A slice of what is left; c->dirty.count stays about below `until`. */
void dns_names_step(struct core *c, uint32_t until);
void dns_names_forget_allocation(struct core *c, network_allocation_ix a);
/* The number of names of the allocation. */
uint32_t dns_names_count(const struct core *c, network_allocation_ix a);
/* Remove entries of the filter: true if none is left. */
bool dns_names_forget_some(struct core *c, dns_name_filter_ix f, struct deletion *d);
bool dns_name_entry_fill(const struct core *c, const struct dns_name_entry *row,
                         const struct dns_name_entry_record *r);
void dns_name_entry_index(struct core *c, dns_name_entry_ix e);
/* A filter that matches an allocation of a node and gives it no name. */
struct name_fault {
    dns_name_filter_ix filter;
    network_allocation_ix allocation;
    const char *wrong; /* dns_name_wrong() of the text; NULL: the DNS service does not exist */
    struct str text;   /* that the template makes; empty if it is too long */
};
/* By priority of the filters; of a filter without a service the first one only. */
struct name_faults {
    struct name_fault at[WHY_NAMES];
    uint32_t count;
    bool is_all; /* false: there may be more, because the work is bounded, too */
};
void dns_names_find_faults(const struct core *c, node_ix n, struct arena *a,
                           struct name_faults *out);
void dns_names_load(struct core *c); /* evaluate all allocations after a load */
/* A name that a commit changes; before or after is empty if the filter gives none. */
struct dns_name_change {
    network_allocation_ix allocation;
    dns_name_filter_ix filter;
    struct str before, after; /* in the arena of the comparison */
};
typedef void dns_name_changed(void *self, const struct dns_name_change *change);
/* Call changed() for each name of the node that is another one in core.view. Services count as they
 * are now. Returns the work in units of about one microsecond. */
uint32_t dns_names_compare(struct core *c, node_ix n, struct arena *a, dns_name_changed *changed,
                           void *self);
const char *dns_names_check(const struct core *c);
