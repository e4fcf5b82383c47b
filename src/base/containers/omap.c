#include "base/containers/omap.h"

#include <stddef.h>
#include <string.h>

#include "base/err.h"

/* A B+ tree. Leaves and inner nodes have the same layout: ascending keys, each with a value. In an
 * inner node the values are children, and key i is the lower bound of child i; key 0 repeats the
 * bound that the parent has for the node (in the first node of a level, whose bound is 0, it is
 * undefined).
 *
 * A node that is neither the first nor the last of its level holds at least NODE_MIN entries. The
 * first and the last node may shrink to one entry: queues are appended at one end and consumed at
 * the other, and rebalancing them at every step would be wasted work.
 *
 * Undo: before entries are moved, the whole node is saved to the undo log, once per mark. Entries
 * at or after `count` are undefined at every mark, because a function that lowers `count` saves the
 * entries that it removes. Appending therefore saves only the head of the node, and a node that was
 * allocated after the mark carries its stamp and is not saved at all.
 *
 * The map owns its nodes, which are heap blocks. Node references in a `struct path` are valid until
 * the tree is changed. There are no error results: exhausted memory and more than LEVELS_MAX levels
 * abort the program. */

enum {
    NODE_MAX = 63,  /* entries; with the head 768 bytes, which is a size class of the heap */
    NODE_HALF = 32, /* entries that stay in a node when it is split */
    NODE_MIN = 16,  /* entries of a node that is neither the first nor the last of its level */
    LEVELS_MAX = 12,
};

struct node {
    uint32_t stamp; /* undo stamp when the node was saved or allocated last */
    uint32_t count; /* entries */
    uint64_t keys[NODE_MAX];
    uint32_t vals[NODE_MAX];
};
_Static_assert(sizeof(struct node) == 768, "a node fills its size class");

/* From the root (level 0) to a leaf (level m->height). */
struct path {
    uint32_t refs[LEVELS_MAX];  /* heap reference of the node of each level */
    uint32_t slots[LEVELS_MAX]; /* index of the child below it; in the leaf that of the entry */
};

static struct node *node_at(const struct omap *m, uint32_t ref)
{
    return (struct node *)heap_at(m->heap, ref);
}

static uint32_t node_new(struct omap *m)
{
    uint32_t ref = heap_alloc(m->heap, sizeof(struct node));
    struct node *n = node_at(m, ref);
    n->stamp = m->heap->undo->stamp;
    n->count = 0;
    return ref;
}

static void node_free(struct omap *m, uint32_t ref)
{
    heap_free(m->heap, ref, sizeof(struct node));
}

static void note_map(struct omap *m)
{
    undo_note_once(m->heap->undo, &m->root, sizeof *m - offsetof(struct omap, root), &m->stamp);
}

static bool is_noted(const struct omap *m, const struct node *n)
{
    const struct undo *u = m->heap->undo;
    return u->depth == 0 || n->stamp == u->stamp;
}

static void note_node(struct omap *m, struct node *n)
{
    if (is_noted(m, n))
        return;
    struct undo *u = m->heap->undo;
    uint32_t keys_end = (uint32_t)(offsetof(struct node, keys) + n->count * sizeof n->keys[0]);
    undo_note(u, n, keys_end);
    undo_note(u, n->vals, n->count * (uint32_t)sizeof n->vals[0]);
    n->stamp = u->stamp;
}

static void note_head(struct omap *m, struct node *n)
{
    if (!is_noted(m, n))
        undo_note(m->heap->undo, n, offsetof(struct node, keys));
}

/* The number of keys, of `count` ascending ones, that are below `key`. */
static uint32_t count_below(const uint64_t *keys, uint32_t count, uint64_t key)
{
    if (count == 0)
        return 0;
    if (keys[count - 1] < key) /* appending is the common case */
        return count;
    if (key <= keys[0])
        return 0;
    /* Keys are distinct, so the key at index i is keys[0] + i or more, and the result is at most
     * key - keys[0]. Ids without gaps are found there at once. */
    if (key - keys[0] < count) {
        count = (uint32_t)(key - keys[0]);
        if (keys[count] == key)
            return count;
    }
    const uint64_t *at = keys;
    while (count > 1) {
        uint32_t half = count / 2;
        /* By a mask: a branch would be mispredicted in every second iteration. */
        at += half & (0u - (uint32_t)(at[half - 1] < key));
        count -= half;
    }
    return (uint32_t)(at - keys) + (at[0] < key);
}

/* The child of an inner node under which `key` belongs. */
static uint32_t child_slot(const struct node *n, uint64_t key)
{
    uint32_t slot = count_below(n->keys + 1, n->count - 1, key);
    return slot + (slot + 1 < n->count && n->keys[slot + 1] == key);
}

static struct node *find_path(const struct omap *m, uint64_t key, struct path *out_path)
{
    uint32_t ref = m->root;
    for (uint32_t level = 0; level < m->height; level++) {
        const struct node *n = node_at(m, ref);
        uint32_t slot = child_slot(n, key);
        out_path->refs[level] = ref;
        out_path->slots[level] = slot;
        ref = n->vals[slot];
    }
    struct node *leaf = node_at(m, ref);
    out_path->refs[m->height] = ref;
    out_path->slots[m->height] = count_below(leaf->keys, leaf->count, key);
    return leaf;
}

static bool path_is_first(const struct path *path, uint32_t level)
{
    while (level > 0)
        if (path->slots[--level] != 0)
            return false;
    return true;
}

static bool is_last(const struct omap *m, const struct path *path, uint32_t level)
{
    while (level > 0) {
        level--;
        if (path->slots[level] + 1 != node_at(m, path->refs[level])->count)
            return false;
    }
    return true;
}

static void copy_entries(struct node *to, uint32_t to_slot, const struct node *from,
                         uint32_t from_slot, uint32_t count)
{
    memmove(to->keys + to_slot, from->keys + from_slot, count * sizeof to->keys[0]);
    memmove(to->vals + to_slot, from->vals + from_slot, count * sizeof to->vals[0]);
}

/* The node has room. */
static void insert_entry(struct omap *m, struct node *n, uint32_t slot, uint64_t key,
                         uint32_t value)
{
    if (slot == n->count) {
        note_head(m, n);
    } else {
        note_node(m, n);
        copy_entries(n, slot + 1, n, slot, n->count - slot);
    }
    n->keys[slot] = key;
    n->vals[slot] = value;
    n->count++;
}

static void node_remove_entry(struct omap *m, struct node *n, uint32_t slot)
{
    note_node(m, n);
    n->count--;
    copy_entries(n, slot, n, slot + 1, n->count - slot);
}

/* Splits the full node of `level`: its upper half moves to a new right neighbour, which is
 * returned, and the new entry is inserted into one of the two. An entry after the last one of the
 * level is stored in the new neighbour alone, so that appended keys leave full nodes behind. */
static uint32_t split_insert(struct omap *m, const struct path *path, uint32_t level, uint32_t slot,
                             uint64_t key, uint32_t value)
{
    uint32_t right_ref = node_new(m);
    struct node *right = node_at(m, right_ref);
    struct node *n = node_at(m, path->refs[level]);
    if (slot == NODE_MAX && is_last(m, path, level)) {
        insert_entry(m, right, 0, key, value);
        return right_ref;
    }
    note_node(m, n);
    uint32_t stay = slot < NODE_HALF ? NODE_HALF - 1 : NODE_HALF;
    right->count = NODE_MAX - stay;
    copy_entries(right, 0, n, stay, right->count);
    n->count = stay;
    if (slot < NODE_HALF)
        insert_entry(m, n, slot, key, value);
    else
        insert_entry(m, right, slot - stay, key, value);
    return right_ref;
}

static void grow_root(struct omap *m, uint64_t right_key, uint32_t right_ref)
{
    must(m->height + 2 <= LEVELS_MAX);
    uint32_t ref = node_new(m);
    struct node *root = node_at(m, ref);
    insert_entry(m, root, 0, 0, m->root);
    insert_entry(m, root, 1, right_key, right_ref);
    m->root = ref;
    m->height++;
}

/* Inserts an entry into the leaf of the path; full nodes are split on the way up. */
static void insert_up(struct omap *m, const struct path *path, uint64_t key, uint32_t value)
{
    uint32_t level = m->height;
    uint32_t slot = path->slots[level];
    for (;;) {
        struct node *n = node_at(m, path->refs[level]);
        if (n->count < NODE_MAX) {
            insert_entry(m, n, slot, key, value);
            return;
        }
        value = split_insert(m, path, level, slot, key, value);
        key = node_at(m, value)->keys[0];
        if (level == 0) {
            grow_root(m, key, value);
            return;
        }
        level--;
        slot = path->slots[level] + 1;
    }
}

void omap_init(struct omap *m, struct heap *heap)
{
    *m = (struct omap){.heap = heap};
}

void omap_put(struct omap *m, uint64_t key, uint32_t value)
{
    must(value != 0);
    if (m->root == 0) {
        note_map(m);
        m->root = node_new(m);
    }
    struct path path;
    struct node *leaf = find_path(m, key, &path);
    uint32_t slot = path.slots[m->height];
    if (slot < leaf->count && leaf->keys[slot] == key) {
        if (leaf->vals[slot] == value)
            return;
        if (!is_noted(m, leaf))
            undo_note(m->heap->undo, &leaf->vals[slot], sizeof leaf->vals[slot]);
        leaf->vals[slot] = value;
        return;
    }
    note_map(m);
    must(m->count < UINT32_MAX);
    m->count++;
    insert_up(m, &path, key, value);
}

uint32_t omap_find(const struct omap *m, uint64_t key)
{
    if (m->root == 0)
        return 0;
    const struct node *leaf = node_at(m, m->root);
    for (uint32_t level = 0; level < m->height; level++)
        leaf = node_at(m, leaf->vals[child_slot(leaf, key)]);
    uint32_t slot = count_below(leaf->keys, leaf->count, key);
    return slot < leaf->count && leaf->keys[slot] == key ? leaf->vals[slot] : 0;
}

/* Moves entries between two neighbours until their counts differ by one at most. `bound` is the key
 * of the right one in the parent. */
static void even_out(struct omap *m, struct node *left, struct node *right, uint64_t *bound)
{
    uint32_t stay = (left->count + right->count) / 2;
    note_node(m, left);
    note_node(m, right);
    if (left->count < stay) {
        uint32_t moved = stay - left->count;
        copy_entries(left, left->count, right, 0, moved);
        copy_entries(right, 0, right, moved, right->count - moved);
        right->count -= moved;
    } else {
        uint32_t moved = left->count - stay;
        copy_entries(right, moved, right, 0, right->count);
        copy_entries(right, 0, left, stay, moved);
        right->count += moved;
    }
    left->count = stay;
    *bound = right->keys[0];
}

/* The node of `level` has fewer than NODE_MIN entries: joins it with a neighbour if both fit into
 * one node, otherwise moves entries from the neighbour, unless the node is the first or last of its
 * level. True if the parent has lost an entry. */
static bool omap_rebalance(struct omap *m, const struct path *path, uint32_t level)
{
    struct node *parent = node_at(m, path->refs[level - 1]);
    uint32_t slot = path->slots[level - 1];
    if (parent->count == 1)
        return false;
    uint32_t right_slot = slot > 0 ? slot : 1;
    uint32_t right_ref = parent->vals[right_slot];
    struct node *left = node_at(m, parent->vals[right_slot - 1]);
    struct node *right = node_at(m, right_ref);
    bool joins = left->count + right->count <= NODE_MAX;
    if (!joins && (path_is_first(path, level) || is_last(m, path, level)))
        return false;
    if (!joins) {
        note_node(m, parent);
        even_out(m, left, right, &parent->keys[right_slot]);
        return false;
    }
    note_head(m, left);
    copy_entries(left, left->count, right, 0, right->count);
    left->count += right->count;
    node_free(m, right_ref);
    node_remove_entry(m, parent, right_slot);
    return true;
}

/* An inner root has two children or more, so only a root that is a leaf can become empty. */
static void shrink_root(struct omap *m)
{
    if (node_at(m, m->root)->count == 0) {
        must(m->height == 0);
        node_free(m, m->root);
        m->root = 0;
        return;
    }
    while (m->height > 0 && node_at(m, m->root)->count == 1) {
        uint32_t old = m->root;
        m->root = node_at(m, old)->vals[0];
        m->height--;
        node_free(m, old);
    }
}

bool omap_remove(struct omap *m, uint64_t key)
{
    if (m->root == 0)
        return false;
    struct path path;
    struct node *n = find_path(m, key, &path);
    uint32_t slot = path.slots[m->height];
    if (slot == n->count || n->keys[slot] != key)
        return false;
    note_map(m);
    m->count--;
    node_remove_entry(m, n, slot);
    uint32_t level = m->height;
    for (; level > 0; level--) {
        n = node_at(m, path.refs[level]);
        if (n->count == 0) {
            node_free(m, path.refs[level]);
            node_remove_entry(m, node_at(m, path.refs[level - 1]), path.slots[level - 1]);
        } else if (n->count >= NODE_MIN || !omap_rebalance(m, &path, level)) {
            break;
        }
    }
    shrink_root(m);
    return true;
}

bool omap_ceil(const struct omap *m, uint64_t from, uint64_t *out_key, uint32_t *out_value)
{
    if (m->root == 0)
        return false;
    const struct node *n = node_at(m, m->root);
    uint32_t after = 0; /* the nearest subtree behind the way down, and its level */
    uint32_t after_level = 0;
    for (uint32_t level = 0; level < m->height; level++) {
        uint32_t slot = child_slot(n, from);
        if (slot + 1 < n->count) {
            after = n->vals[slot + 1];
            after_level = level + 1;
        }
        n = node_at(m, n->vals[slot]);
    }
    uint32_t slot = count_below(n->keys, n->count, from);
    if (slot == n->count) {
        if (after == 0)
            return false;
        n = node_at(m, after);
        for (; after_level < m->height; after_level++)
            n = node_at(m, n->vals[0]);
        slot = 0;
    }
    *out_key = n->keys[slot];
    *out_value = n->vals[slot];
    return true;
}

bool omap_last(const struct omap *m, uint64_t *out_key, uint32_t *out_value)
{
    if (m->root == 0)
        return false;
    const struct node *n = node_at(m, m->root);
    for (uint32_t level = 0; level < m->height; level++)
        n = node_at(m, n->vals[n->count - 1]);
    *out_key = n->keys[n->count - 1];
    *out_value = n->vals[n->count - 1];
    return true;
}

void omap_clear(struct omap *m)
{
    if (m->root == 0)
        return;
    note_map(m);
    struct path path = {.refs = {m->root}};
    uint32_t level = 0;
    for (;;) {
        const struct node *n = node_at(m, path.refs[level]);
        if (level < m->height && path.slots[level] < n->count) {
            path.refs[level + 1] = n->vals[path.slots[level]++];
            path.slots[++level] = 0;
            continue;
        }
        node_free(m, path.refs[level]);
        if (level == 0)
            break;
        level--;
    }
    m->root = 0;
    m->height = 0;
    m->count = 0;
}

/* Checks count and order of the node at `level` of the path; all keys must be in [low, high]. */
static bool node_is_sound(const struct omap *m, const struct path *path, uint32_t level,
                          uint64_t low, uint64_t high)
{
    const struct node *n = node_at(m, path->refs[level]);
    bool first = path_is_first(path, level);
    bool is_leaf = level == m->height;
    if (n->count > NODE_MAX || n->count < (first || is_last(m, path, level) ? 1 : NODE_MIN))
        return false;
    if (!is_leaf && !first && n->keys[0] != low)
        return false;
    uint32_t begin = is_leaf ? 0 : 1;
    for (uint32_t i = begin; i < n->count; i++) {
        if (n->keys[i] < low || n->keys[i] > high)
            return false;
        if (i > begin && n->keys[i - 1] >= n->keys[i])
            return false;
        if (is_leaf ? n->vals[i] == 0 : n->keys[i] == low)
            return false;
    }
    return true;
}

bool omap_check(const struct omap *m)
{
    if (m->root == 0)
        return m->count == 0 && m->height == 0;
    if (m->height >= LEVELS_MAX || (m->height > 0 && node_at(m, m->root)->count < 2))
        return false;
    struct path path = {.refs = {m->root}};
    uint64_t low[LEVELS_MAX] = {0};
    uint64_t high[LEVELS_MAX] = {UINT64_MAX};
    uint64_t count = 0;
    uint32_t level = 0;
    for (;;) { /* path.slots[level] is the child to visit next, so 0 means: just arrived */
        const struct node *n = node_at(m, path.refs[level]);
        uint32_t slot = path.slots[level];
        if (slot == 0 && !node_is_sound(m, &path, level, low[level], high[level]))
            return false;
        if (level < m->height && slot < n->count) {
            low[level + 1] = slot == 0 ? low[level] : n->keys[slot];
            high[level + 1] = slot + 1 == n->count ? high[level] : n->keys[slot + 1] - 1;
            path.refs[level + 1] = n->vals[slot];
            path.slots[level + 1] = 0;
            level++;
            continue;
        }
        if (level == m->height)
            count += n->count;
        if (level == 0)
            return count == m->count;
        level--;
        path.slots[level]++;
    }
}
