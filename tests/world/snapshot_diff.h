/* snapshot_diff.h - the difference of two documents of core_snapshot_content() as JSON:
 * {"added":[...],"changed":[...],"removed":[...]}.
 */
#pragma once

#include "core/deploy/snapshot_content.h"
#include "tests/check.h"

static inline struct snapshot_parts parts_of(struct str text, struct arena *a)
{
    struct snapshot_content content;
    struct snapshot_parts p = {.arena = a};
    CHECK(snapshot_content_read(a, text, &content));
    p.members = arena_array(a, struct snapshot_pair, content.members.count + (size_t)1);
    p.data = arena_array(a, struct snapshot_data, content.data.count + (size_t)1);
    for (; p.member_count < content.members.count; p.member_count++) {
        const struct snapshot_content_entry *entry = &content.members.items[p.member_count];
        p.members[p.member_count] = (struct snapshot_pair){entry->node_id, entry->role_id};
    }
    for (; p.data_count < content.data.count; p.data_count++) {
        const struct snapshot_content_entry *entry = &content.data.items[p.data_count];
        p.data[p.data_count] =
            (struct snapshot_data){{entry->node_id, entry->role_id}, json_write(a, entry->data)};
    }
    return p;
}

static inline struct str snapshot_diff_text(struct str before, struct str after, struct arena *a)
{
    static const char *const names[] = {"added", "changed", "removed"};
    const struct snapshot_parts old = parts_of(before, a), now = parts_of(after, a);
    struct snapshot_diff d = {.before = &old, .after = &now};
    struct json *doc = json_make(a, JSON_OBJECT);
    snapshot_diff_list(&d, UINT32_MAX);
    d.pairs = arena_array(a, struct snapshot_pair, d.count + (size_t)1);
    snapshot_diff_list(&d, UINT32_MAX);
    for (int list = 0; list < SNAPSHOT_LISTS; list++) {
        struct json *items = json_make(a, JSON_ARRAY);
        for (uint32_t i = d.begins[list]; i < d.begins[list + 1]; i++) {
            struct json *item = list == SNAPSHOT_CHANGED
                                    ? snapshot_changes(snapshot_data_of(&old, d.pairs[i]),
                                                       snapshot_data_of(&now, d.pairs[i]), a)
                                    : json_make(a, JSON_OBJECT);
            CHECK(item);
            json_set(item, STR("node"), json_make_i64(a, d.pairs[i].node_id));
            json_set(item, STR("role"), json_make_i64(a, d.pairs[i].role_id));
            json_append(items, item);
        }
        json_set(doc, str_from(names[list]), items);
    }
    return json_write(a, doc);
}
