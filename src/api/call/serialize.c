#include "api/call/serialize.h"

#include <string.h>

#include "api/call/iso8601.h"
#include "base/net/mac.h"
#include "model/hammer_class.h"

/* Conversion of record fields to JSON. object_view_value() converts a field to a typed value, which
 * lists also filter and sort by; view_write_value() writes it.
 *
 * The functions have no state and cannot fail. A field has no type of its own: its kind determines
 * how the bytes at its offset in struct record are read, so a table with a wrong kind reads wrong
 * bytes and no check detects it. Computed kinds read the id at the offset and get the value from
 * the core; PROP_SNAPSHOT_STATE reads the whole snapshot record. */

/* ---- typed values ---- */

int64_t object_view_noderole_state(uint32_t state)
{
    static const int8_t numbers[NODEROLE_STATE_COUNT] = {
        [NODEROLE_ERROR] = -1,     [NODEROLE_ACTIVE] = 0,  [NODEROLE_TODO] = 1,
        [NODEROLE_TRANSITION] = 2, [NODEROLE_BLOCKED] = 3, [NODEROLE_PROPOSED] = 4};
    must(state < NODEROLE_STATE_COUNT);
    return numbers[state];
}

int64_t object_view_deployment_state(enum deployment_state state)
{
    switch (state) {
    case DEPLOYMENT_ERROR: return -1;
    case DEPLOYMENT_PROPOSED: return 0;
    case DEPLOYMENT_COMMITTED: return 1;
    case DEPLOYMENT_ACTIVE: return 2;
    }
    impossible("a deployment state outside the enum");
}

/* The head has the state of its deployment; all other snapshots are archived. */
int64_t object_view_snapshot_state(const struct core *core, const struct snapshot_record *snapshot)
{
    if (snapshot->state == SNAPSHOT_ARCHIVED)
        return -1;
    switch (core_deployment_state(core, snapshot->deployment_id)) {
    case DEPLOYMENT_PROPOSED: return 0;
    case DEPLOYMENT_COMMITTED: return 1;
    case DEPLOYMENT_ACTIVE: return 2;
    case DEPLOYMENT_ERROR: return 3;
    }
    impossible("a deployment state outside the enum");
}

static struct object_view_value view_bool(bool is_true)
{
    return (struct object_view_value){.kind = VALUE_BOOL, .truth = is_true};
}

static struct object_view_value view_number(int64_t value)
{
    return (struct object_view_value){.kind = VALUE_INT, .number = value};
}

static struct object_view_value view_text(struct str text)
{
    return (struct object_view_value){.kind = VALUE_TEXT, .text = text};
}

static struct object_view_value view_document(struct str doc, struct str empty)
{
    return (struct object_view_value){.kind = VALUE_DOC, .text = doc.len ? doc : empty};
}

static struct object_view_value view_actions(const struct core *core, int64_t kind_id)
{
    struct record kind;
    const bool found = core_record(core, TABLE_HAMMER_KIND, kind_id, &kind);
    return (struct object_view_value){.kind = VALUE_ACTIONS,
                                      .text = found ? kind.hammer_kind.klass : STR("")};
}

static struct object_view_value view_string_or_null(struct str text)
{
    return (struct object_view_value){.kind = text.len ? VALUE_TEXT : VALUE_NULL, .text = text};
}

/* "2.E" becomes 2. */
static struct object_view_value view_leading_number(struct str text)
{
    uint32_t end = 0;
    int64_t value;
    while (end < text.len && text.at[end] >= '0' && text.at[end] <= '9')
        end++;
    return str_parse_i64(str_slice(text, 0, end), &value)
               ? view_number(value)
               : (struct object_view_value){.kind = VALUE_NULL};
}

static struct str view_access_name(uint32_t access)
{
    return access < ACCESS_COUNT ? str_from(access_name((enum access)access)) : STR("");
}

static struct str view_reason_name(uint32_t reason)
{
    return reason && reason < REASON_COUNT ? str_from(reason_name((enum reason_code)reason))
                                           : STR("");
}

static struct str view_power_name(uint32_t state)
{
    return state < POWER_STATE_COUNT ? str_from(power_state_name((enum power_state)state))
                                     : STR("");
}

static struct str view_mac_text(uint64_t number, struct arena *a)
{
    return number ? mac_format(a, mac_from_number(number)) : STR("");
}

static struct str view_lease_state(uint32_t state)
{
    static const char *const names[LEASE_STATE_COUNT] = {
        [LEASE_LIVE] = "live", [LEASE_DECLINED] = "declined", [LEASE_FREED] = "freed"};
    return state < LEASE_STATE_COUNT ? str_from(names[state]) : STR("");
}

/* A setting of a range with the value that is in effect. */
static struct object_view_value view_range_setting(const struct object_view_field *f,
                                                   const struct core *core,
                                                   const struct record *record)
{
    struct network_range_record range = record->network_range;
    core_range_inherit(core, &range);
    switch (f->bit) {
    case RANGE_OWN_VLAN: return view_number(range.vlan);
    case RANGE_OWN_TEAM_MODE: return view_number(range.team_mode);
    case RANGE_OWN_USE_VLAN: return view_bool(range.use_vlan);
    case RANGE_OWN_USE_BRIDGE: return view_bool(range.use_bridge);
    case RANGE_OWN_USE_TEAM: return view_bool(range.use_team);
    default: return view_text(range.conduit);
    }
}

static struct object_view_value view_range_full_name(const struct core *core,
                                                     const struct network_range_record *range,
                                                     struct arena *a)
{
    struct record network;
    return view_string_or_null(core_record(core, TABLE_NETWORK, range->network_id, &network)
                                   ? STR_CONCAT(a, network.network.name, STR("."), range->name)
                                   : range->name);
}

/* A value of the allocation that a DNS name belongs to; null if it does not exist. */
static struct object_view_value view_entry_value(enum object_view_kind kind,
                                                 const struct core *core,
                                                 const struct record *entry)
{
    struct record owner;
    if (!core_record(core, TABLE_NETWORK_ALLOCATION, entry->dns_name_entry.network_allocation_id,
                     &owner))
        return (struct object_view_value){.kind = VALUE_NULL};
    const struct str address = owner.network_allocation.address;
    const bool is_v6 = str_find(address, ':', 0) < address.len;
    if (kind == PROP_ENTRY_NODE)
        return view_number(owner.network_allocation.node_id);
    return view_string_or_null(kind == PROP_ENTRY_ADDRESS
                                   ? str_slice(address, 0, str_find(address, '/', 0))
                               : is_v6 ? STR("AAAA")
                                       : STR("A"));
}

struct str object_view_macs(const struct boot_machine *machine, struct arena *a)
{
    struct buf b = buf_in(a);
    buf_put_c(&b, '[');
    for (uint32_t i = 0; i < machine->mac_count; i++) {
        const struct str mac = view_mac_text(machine->macs[i], a);
        buf_put_z(&b, i ? ",\"" : "\"");
        for (uint32_t k = 0; k < mac.len; k++)
            buf_put_c(&b, (char)(mac.at[k] >= 'a' ? mac.at[k] - 'a' + 'A' : mac.at[k]));
        buf_put_c(&b, '"');
    }
    buf_put_c(&b, ']');
    return buf_str(&b);
}

/* A value of the entry of a node in the boot view; empty or null if it is not in the view. */
static struct object_view_value view_boot_value(enum object_view_kind kind, const struct core *core,
                                                int64_t node_id, struct arena *a)
{
    struct boot_entry entry;
    struct boot_machine none = {0};
    const bool is_there = core_boot_view(core, (struct boot_key){BOOT_MACHINE, node_id}, a, &entry);
    const struct boot_machine *machine = is_there ? &entry.machine : &none;
    if (kind == PROP_BOOT_MACS)
        return view_document(object_view_macs(machine, a), STR("[]"));
    return view_string_or_null(machine->address_count ? machine->addresses[0].address : STR(""));
}

static struct object_view_value view_reference(int64_t id)
{
    return id ? view_number(id) : (struct object_view_value){.kind = VALUE_NULL};
}

static struct object_view_value view_time(int64_t ms)
{
    return (struct object_view_value){.kind = ms ? VALUE_TIME : VALUE_NULL, .number = ms};
}

/* The number of noderoles of a deployment that ran with other defaults; of destructive roles or of
 * the others. */
static struct object_view_value view_changed(const struct core *core, int64_t deployment_id,
                                             bool is_destructive)
{
    uint32_t changed, destructive;
    core_count_changed(core, deployment_id, &changed, &destructive);
    return view_number(is_destructive ? destructive : changed);
}

static struct object_view_value view_deployment_state(const struct core *core, int64_t id)
{
    return view_number(object_view_deployment_state(core_deployment_state(core, id)));
}

struct object_view_value object_view_value(const struct object_view_field *f,
                                           const struct core *core, const struct record *record,
                                           struct arena *a)
{
    const void *at = (const char *)record + f->at;
    switch (f->kind) {
    case PROP_INT: return view_number(*(const int64_t *)at);
    case PROP_UINT32: return view_number(*(const uint32_t *)at);
    case PROP_REF: return view_reference(*(const int64_t *)at);
    case PROP_BOOL: return view_bool(*(const bool *)at);
    case PROP_BOOL_INVERTED: return view_bool(!*(const bool *)at);
    case PROP_FLAG: return view_bool(*(const uint32_t *)at & f->bit);
    case PROP_TEXT: return view_text(*(const struct str *)at);
    case PROP_ARRAY: return view_document(*(const struct str *)at, STR("[]"));
    case PROP_OBJECT: return view_document(*(const struct str *)at, STR("{}"));
    case PROP_TIME: return view_time(*(const int64_t *)at);
    case PROP_NODEROLE_STATE: return view_number(object_view_noderole_state(*(const uint32_t *)at));
    case PROP_DEPLOYMENT_STATE: return view_deployment_state(core, *(const int64_t *)at);
    case PROP_SNAPSHOT_STATE:
        return view_number(object_view_snapshot_state(core, &record->snapshot));
    case PROP_NODE_ERROR:
        return view_bool(core_node_state(core, *(const int64_t *)at) == NODEROLE_ERROR);
    case PROP_NODE_STATE:
        return view_number(object_view_noderole_state(core_node_state(core, *(const int64_t *)at)));
    case PROP_OPTIONAL: return view_string_or_null(*(const struct str *)at);
    case PROP_ACCESS: return view_string_or_null(view_access_name(*(const uint32_t *)at));
    case PROP_TOKEN_KIND:
        return view_string_or_null(*(const uint32_t *)at == TOKEN_SESSION ? STR("session")
                                                                          : STR("bearer"));
    case PROP_REASON: return view_string_or_null(view_reason_name(*(const uint32_t *)at));
    case PROP_POWER_STATE: return view_string_or_null(view_power_name(*(const uint32_t *)at));
    case PROP_IS_SET: return view_bool(((const struct str *)at)->len > 0);
    case PROP_MAC: return view_string_or_null(view_mac_text(*(const uint64_t *)at, a));
    case PROP_LEASE_STATE: return view_string_or_null(view_lease_state(*(const uint32_t *)at));
    case PROP_RANGE_CONDUIT:
    case PROP_RANGE_NUMBER:
    case PROP_RANGE_FLAG: return view_range_setting(f, core, record);
    case PROP_RANGE_FULL_NAME: return view_range_full_name(core, &record->network_range, a);
    case PROP_LEASE_END: return view_time(core_lease_end(core, record->id));
    case PROP_RR_TYPE:
    case PROP_ENTRY_ADDRESS:
    case PROP_ENTRY_NODE: return view_entry_value(f->kind, core, record);
    case PROP_FILTER_HAS_SERVICE:
        return view_bool(core_dns_name_filter_is_served(core, *(const int64_t *)at));
    case PROP_BOOT_MACS:
    case PROP_BOOT_ADDRESS: return view_boot_value(f->kind, core, *(const int64_t *)at, a);
    case PROP_CHANGED: return view_changed(core, *(const int64_t *)at, false);
    case PROP_CHANGED_DESTRUCTIVE: return view_changed(core, *(const int64_t *)at, true);
    case PROP_UNPROPOSED: return view_number(core_count_unproposed(core, *(const int64_t *)at));
    case PROP_UNUSABLE:
        return view_string_or_null(core_role_unusable(core, *(const int64_t *)at, a));
    case PROP_INACTIVE: return view_string_or_null(core_jig_inactive(core, *(const int64_t *)at));
    case PROP_JIG_ACTIVE: return view_bool(core_jig_inactive(core, *(const int64_t *)at).len == 0);
    case PROP_ACTIONS: return view_actions(core, *(const int64_t *)at);
    case PROP_ANY: return view_document(*(const struct str *)at, STR("null"));
    case PROP_DEFAULT: return view_document(*(const struct str *)at, STR("{\"value\":null}"));
    case PROP_LEADING_NUMBER: return view_leading_number(*(const struct str *)at);
    }
    impossible("a kind of field outside the enum");
}

/* The names of the states of a field, from number -1; NULL at the end, empty for other fields. */
static const char *const *view_state_names(enum object_view_kind kind)
{
    static const char *const noderole[] = {"error",   "active",   "todo", "transition",
                                           "blocked", "proposed", NULL};
    static const char *const deployment[] = {"error", "proposed", "committed", "active", NULL};
    static const char *const snapshot[] = {"archived", "proposed", "committed",
                                           "active",   "error",    NULL};
    static const char *const none[] = {NULL};
    if (kind == PROP_NODEROLE_STATE || kind == PROP_NODE_STATE)
        return noderole;
    if (kind == PROP_SNAPSHOT_STATE)
        return snapshot;
    return kind == PROP_DEPLOYMENT_STATE ? deployment : none;
}

bool object_view_state_number(const struct object_view_field *field, struct str name,
                              int64_t *out_number)
{
    const char *const *names = view_state_names(field->kind);
    for (int i = 0; names[i]; i++)
        if (str_eq_nocase(name, str_from(names[i]))) {
            *out_number = i - 1;
            return true;
        }
    return false;
}

const char *object_view_state_name(enum object_view_kind kind, int64_t number)
{
    return view_state_names(kind)[number + 1];
}

static void view_write_key(struct buf *out, const char *name, bool first)
{
    buf_put_z(out, first ? "\"" : ",\"");
    buf_put_z(out, name);
    buf_put_z(out, "\":");
}

/* {"power":["on","off"]} */
static void view_write_actions(struct buf *out, struct str klass)
{
    const struct hammer_class *found = hammer_class_find(klass);
    bool first = true;
    buf_put_c(out, '{');
    for (int c = 0; found && c < HAMMER_CATEGORY_COUNT; c++) {
        struct str words = hammer_class_words(found, (enum hammer_category)c);
        if (words.len == 0)
            continue;
        view_write_key(out, hammer_category_name((enum hammer_category)c), first);
        for (const char *before = "["; words.len; before = ",") {
            buf_put_z(out, before);
            json_write_string(out, hammer_next_word(&words));
        }
        buf_put_c(out, ']');
        first = false;
    }
    buf_put_c(out, '}');
}

/* Documents are stored as canonical JSON and are written unchanged. */
static void view_write_value(struct buf *out, struct object_view_value v)
{
    switch (v.kind) {
    case VALUE_NULL: buf_put_z(out, "null"); return;
    case VALUE_BOOL: buf_put_z(out, v.truth ? "true" : "false"); return;
    case VALUE_INT: buf_put_i64(out, v.number); return;
    case VALUE_TEXT: json_write_string(out, v.text); return;
    case VALUE_DOC: buf_put_str(out, v.text); return;
    case VALUE_ACTIONS: view_write_actions(out, v.text); return;
    case VALUE_TIME:
        buf_put_c(out, '"');
        iso8601_format(out, v.number);
        buf_put_c(out, '"');
        return;
    }
}

/* ---- JSON output ---- */

bool object_view_wants(const struct json *names, const char *key)
{
    if (!names)
        return true;
    const struct str wanted = str_from(key);
    for (const struct json *name = names->first; name; name = name->next)
        if (name->kind == JSON_STRING && str_eq(name->text, wanted))
            return true;
    return false;
}

bool object_view_is_plain(const struct object_view *view, uint64_t mask)
{
    for (uint32_t i = 0; i < view->count; i++)
        if (mask >> i & 1 && view->fields[i].kind >= PROP_DEPLOYMENT_STATE)
            return false;
    return true;
}

uint64_t object_view_mask(const struct object_view *view, const struct json *names)
{
    uint64_t mask = 0;
    for (uint32_t i = 0; i < view->count; i++)
        if (names ? object_view_wants(names, view->fields[i].name) : i < view->count - view->extras)
            mask |= (uint64_t)1 << i;
    if (view->tail && object_view_wants(names, view->tail->name))
        mask |= (uint64_t)1 << view->count;
    return mask;
}

void object_view_write(const struct object_view *view, const struct core *core,
                       const struct record *record, uint64_t mask, struct buf *out)
{
    bool first = true;
    buf_put_c(out, '{');
    for (uint32_t i = 0; i < view->count; i++) {
        if (!(mask >> i & 1))
            continue;
        view_write_key(out, view->fields[i].name, first);
        view_write_value(out, object_view_value(&view->fields[i], core, record, out->arena));
        first = false;
    }
    if (view->tail && view->tail->write && mask >> view->count & 1) {
        view_write_key(out, view->tail->name, first);
        view->tail->write(view->tail, core, record, out);
    }
    buf_put_c(out, '}');
}

void object_view_write_sample(const struct object_view *view, uint64_t mask, struct buf *out)
{
    bool first = true;
    buf_put_c(out, '{');
    for (uint32_t i = 0; i < view->count; i++) {
        if (!(mask >> i & 1) || !view->fields[i].sample)
            continue;
        view_write_key(out, view->fields[i].name, first);
        buf_put_z(out, view->fields[i].sample);
        first = false;
    }
    buf_put_c(out, '}');
}
