#include "core/core_private.h"
#include "model/host_key.h"

/* Pinned ssh host keys (ADR 0067). A machine is identified by the keys that its ssh server
 * presented at first contact. A key is pinned for one node at most: otherwise a node that was
 * given the name or address of another one would run its noderoles on that machine.
 *
 * This file owns the rows of pinned keys. They are found by a hash of the whole key, case
 * included, in by_name of their table; keys with the same hash are chained by key_next.
 *
 * Order and failure: all checks of do_node_pin_keys() precede the first change. Keys of another
 * node or of the host of the daemon, keys that contradict a valid pin, and keys of a probe that
 * was replaced are refused, and the pins stay. Pins that are still valid are never replaced by a
 * probe; an operator removes them with forget-key. */

static uint64_t host_key_hash(struct str key)
{
    return hash64(key, 0);
}

static host_key_ix host_key_find(const struct core *c, struct str key)
{
    host_key_ix k = {omap_find(&c->tables[TABLE_HOST_KEY].by_name, host_key_hash(key))};
    while (k.v && !str_eq(text_of(c, host_key_at(c, k)->key), key))
        k.v = host_key_at(c, k)->key_next;
    return k;
}

int64_t core_host_key_node(const struct core *c, struct str key)
{
    const host_key_ix k = host_key_find(c, key);
    return k.v ? node_at(c, host_key_at(c, k)->node)->o.id : 0;
}

int64_t *core_host_keys_of(const struct core *c, int64_t node_id, struct arena *a,
                           uint32_t *out_count)
{
    const node_ix n = node_by_id(c, node_id);
    const uint32_t count = n.v ? node_at(c, n)->host_keys.count : 0;
    int64_t *ids = arena_array(a, int64_t, count + 1);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = host_key_at(c, (host_key_ix){vec_at(c, &node_at(c, n)->host_keys, i)})->o.id;
    *out_count = count;
    return ids;
}

/* ---- rows ---- */

bool host_key_can_load(const struct core *c, const struct host_key_record *r)
{
    return r->node_id && r->boot >= HOST_KEY_NO_BOOT && host_key_is_valid(r->key) &&
           !host_key_find(c, r->key).v;
}

void host_key_index(struct core *c, host_key_ix k)
{
    struct host_key *row = host_key_derive(c, k);
    struct omap *by_key = &c->tables[TABLE_HOST_KEY].by_name;
    const uint64_t hash = host_key_hash(text_of(c, row->key));
    row->key_next = omap_find(by_key, hash);
    omap_put(by_key, hash, k.v);
    ids_insert(c, &node_derive(c, row->node)->host_keys, TABLE_HOST_KEY, k.v);
}

static void host_key_unlink(struct core *c, host_key_ix k)
{
    struct omap *by_key = &c->tables[TABLE_HOST_KEY].by_name;
    const struct host_key *row = host_key_at(c, k);
    const uint64_t hash = host_key_hash(text_of(c, row->key));
    host_key_ix at = {omap_find(by_key, hash)};
    must(at.v);
    if (at.v != k.v) {
        while (host_key_at(c, at)->key_next != k.v)
            at.v = host_key_at(c, at)->key_next;
        host_key_derive(c, at)->key_next = row->key_next;
    } else if (row->key_next) {
        omap_put(by_key, hash, row->key_next);
    } else {
        omap_remove(by_key, hash);
    }
}

void host_keys_forget_node(struct core *c, node_ix n)
{
    while (node_at(c, n)->host_keys.count) {
        const struct vec *keys = &node_at(c, n)->host_keys;
        const host_key_ix k = {vec_at(c, keys, keys->count - 1)};
        host_key_unlink(c, k);
        struct host_key *row = host_key_edit(c, k);
        ids_remove(c, &node_derive(c, row->node)->host_keys, TABLE_HOST_KEY, k.v);
        put_text(c, &row->key, STR(""));
        core_remove_row(c, TABLE_HOST_KEY, k.v);
    }
}

void host_keys_expire(struct core *c, node_ix n)
{
    for (uint32_t i = 0; i < node_at(c, n)->host_keys.count; i++) {
        const host_key_ix k = {vec_at(c, &node_at(c, n)->host_keys, i)};
        if (host_key_at(c, k)->boot >= 0)
            host_key_edit(c, k)->boot = HOST_KEY_NO_BOOT;
    }
}

static void host_key_make(struct core *c, node_ix n, struct str key, int64_t boot)
{
    const host_key_ix k = host_key_add(c);
    if (!k.v)
        return;
    struct host_key *row = host_key_edit(c, k);
    row->node = n;
    row->since_ms = c->now_ms;
    row->boot = boot;
    put_text(c, &row->key, key);
    if (row->key) /* handle 0: the limit of strings is reached, and the step is refused */
        host_key_index(c, k);
}

/* ---- pinning ---- */

/* The keys of a command, each once: those that the machine presented. */
struct shown_keys {
    struct str at[HOST_KEYS_OWN_MAX];
    uint32_t count;
};

static bool host_key_is_shown(const struct shown_keys *shown, struct str key)
{
    for (uint32_t i = 0; i < shown->count; i++)
        if (str_eq(shown->at[i], key))
            return true;
    return false;
}

static void host_keys_parse(struct core *c, struct str lines, struct shown_keys *shown)
{
    for (uint32_t from = 0; from < lines.len;) {
        const uint32_t to = str_find(lines, '\n', from);
        const struct str key = str_slice(lines, from, to);
        from = to + 1;
        if (!host_key_is_valid(key)) {
            refuse(c, PROBLEM_BAD_VALUE, STR("keys"),
                   STR("keys must be lines of the type and the base64 of an ssh host key"));
            return;
        }
        if (host_key_is_shown(shown, key))
            continue;
        if (shown->count == HOST_KEYS_OWN_MAX) {
            refuse(c, PROBLEM_LIMIT_REACHED, STR("keys"),
                   STR("the machine shows more than 8 different ssh host keys"));
            return;
        }
        shown->at[shown->count++] = key;
    }
    if (shown->count == 0)
        refuse(c, PROBLEM_MISSING, STR("keys"), STR("keys is required"));
}

static void host_keys_refuse_taken(struct core *c, node_ix n, const struct shown_keys *shown)
{
    for (uint32_t i = 0; i < shown->count; i++) {
        const host_key_ix k = host_key_find(c, shown->at[i]);
        if (!k.v || host_key_at(c, k)->node.v == n.v)
            continue;
        refuse(c, PROBLEM_HOST_KEY_TAKEN, STR("keys"),
               STR_CONCAT(
                   c->arena, STR("the machine that answers for node "),
                   text_of(c, node_at(c, n)->name),
                   STR(" shows an ssh host key that is pinned for node "),
                   text_of(c, node_at(c, host_key_at(c, k)->node)->name),
                   STR("; correct the name or the endpoint of one of them, or forget the key of "
                       "the other node if its machine is now this one")));
        return;
    }
}

/* Pins of an earlier boot generation are not valid: another system on the same machine has other
 * keys. */
static bool host_keys_are_pinned(const struct core *c, node_ix n, int64_t boot)
{
    const struct vec *pins = &node_at(c, n)->host_keys;
    for (uint32_t i = 0; i < pins->count; i++) {
        const struct host_key *row = host_key_at(c, (host_key_ix){vec_at(c, pins, i)});
        if (row->boot == HOST_KEY_ANY_BOOT || row->boot >= boot)
            return true;
    }
    return false;
}

/* True if one presented key is pinned and no presented key has a pinned type with another value.
 * Key types that are not pinned are ignored, because ssh accepts the pinned ones only. */
static bool host_keys_match_pins(const struct core *c, node_ix n, const struct shown_keys *shown)
{
    const struct vec *pins = &node_at(c, n)->host_keys;
    bool is_known = false;
    for (uint32_t i = 0; i < shown->count; i++) {
        const host_key_ix known = host_key_find(c, shown->at[i]);
        is_known |= known.v != 0;
        for (uint32_t j = 0; j < pins->count && !known.v; j++) {
            const struct host_key *row = host_key_at(c, (host_key_ix){vec_at(c, pins, j)});
            if (str_eq(host_key_type(text_of(c, row->key)), host_key_type(shown->at[i])))
                return false;
        }
    }
    return is_known;
}

void do_node_pin_keys(struct core *c, const struct node_pin_keys_command *p)
{
    struct shown_keys shown = {.count = 0};
    const node_ix n = node_by_id(c, p->id);
    if (!n.v)
        refuse_missing(c, "id", "node", p->id);
    if (p->boot < HOST_KEY_ANY_BOOT)
        refuse(c, PROBLEM_BAD_VALUE, STR("boot"), STR("boot must be a boot generation, or -1"));
    host_keys_parse(c, p->keys, &shown);
    /* The keys must not come from a probe that was dropped: it was started before the keys were
     * forgotten or before the node got another address. */
    const outbox_ix probe = n.v ? node_at(c, n)->probe : (outbox_ix){0};
    if (n.v && p->outbox_id && (!probe.v || outbox_at(c, probe)->o.id != p->outbox_id))
        refuse(
            c, PROBLEM_STALE, STR("outbox_id"),
            STR_CONCAT(c->arena,
                       STR("the probe that read these host keys is not the current one of node "),
                       text_of(c, node_at(c, n)->name)));
    if (refused(c))
        return;
    /* The keys must not be those of the host of the daemon or of another node. */
    const struct node *node = node_at(c, n);
    if (p->is_own && !node->admin && !node->system)
        refuse(c, PROBLEM_HOST_KEY_REFUSED, STR("keys"),
               STR_CONCAT(
                   c->arena, STR("the machine that answers for node "), text_of(c, node->name),
                   STR(" shows an ssh host key of the machine of the daemon, and the node is "
                       "neither an admin nor a system node; correct its name or the endpoint of "
                       "its ssh hammer")));
    host_keys_refuse_taken(c, n, &shown);
    if (refused(c))
        return;
    /* Pins that are valid are compared and stay; otherwise the presented keys replace them. */
    if (host_keys_are_pinned(c, n, p->boot)) {
        if (!host_keys_match_pins(c, n, &shown))
            refuse(
                c, PROBLEM_HOST_KEY_CHANGED, STR("keys"),
                STR_CONCAT(
                    c->arena, STR("the ssh host key of node "), text_of(c, node->name),
                    STR(" is not the one that was pinned at first contact; if its machine was "
                        "installed anew or replaced, remove the pin: halligan nodes forget-key")));
        return;
    }
    host_keys_forget_node(c, n);
    for (uint32_t i = 0; i < shown.count; i++)
        host_key_make(c, n, shown.at[i], p->boot);
}

void do_node_forget_key(struct core *c, const struct node_forget_key_command *p)
{
    const node_ix n = node_by_id(c, p->id);
    c->out->id = p->id;
    if (!n.v) {
        refuse_missing(c, "id", "node", p->id);
        return;
    }
    const struct node *node = node_at(c, n);
    host_keys_forget_node(c, n);
    if (!node->alive || node->system || core_settings(c)->test_jig)
        return;
    /* No run starts on the node until the keys of its machine are pinned again. A probe in progress
     * may have read the keys that were removed here, so it is replaced by a new one. */
    outbox_forget_probe(c, n);
    outbox_probe(c, n);
}

/* ---- invariants ---- */

const char *host_keys_check(const struct core *c)
{
    uint32_t listed = 0;
    const struct pool *nodes = &c->tables[TABLE_NODE].pool;
    const struct pool *keys = &c->tables[TABLE_HOST_KEY].pool;
    for (host_key_ix k = {pool_next(keys, 0)}; k.v; k.v = pool_next(keys, k.v)) {
        const struct host_key *row = host_key_at(c, k);
        if (!pool_is_live(nodes, row->node.v))
            return "C14: a host key is pinned for a node that does not exist";
        if (!ids_has(c, &node_at(c, row->node)->host_keys, TABLE_HOST_KEY, k.v))
            return "C14: a node does not list a host key that is pinned for it";
        if (host_key_find(c, text_of(c, row->key)).v != k.v)
            return "C14: a host key is pinned twice, or not found";
    }
    for (uint32_t n = pool_next(nodes, 0); n; n = pool_next(nodes, n)) {
        const struct vec *own = &node_at(c, (node_ix){n})->host_keys;
        listed += own->count;
        if (own->count > HOST_KEYS_OWN_MAX)
            return "C14: more host keys are pinned for a node than a node may have";
    }
    return listed == keys->live ? NULL : "C14: a node lists a host key that is not pinned for it";
}
