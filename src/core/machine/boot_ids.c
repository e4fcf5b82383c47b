#include "core/core_private.h"

#include "base/json/json.h"

/* Boot ids of machines (ADR 0049): the file owns node.boot_id and node.old_boots. A request of
 * the system that ran before may arrive after those of the current one; it is recognised by the
 * id of its boot. Boot ids have no order, so the last OLD_BOOTS_MAX replaced ones are stored
 * with the node; older requests are assumed not to arrive any more. The caller checks an id with
 * boot_id_is_outdated() before it records it, otherwise an old boot would become the current
 * one. */

bool boot_id_is_valid(struct str boot_id)
{
    for (uint32_t i = 0; i < boot_id.len; i++)
        if (boot_id.at[i] <= ' ' || boot_id.at[i] > '~')
            return false;
    return boot_id.len > 0 && boot_id.len <= BOOT_ID_LEN_MAX;
}

static const struct json *node_old_boots_tree(struct core *c, node_ix n)
{
    const struct str doc = text_of(c, node_at(c, n)->old_boots);
    return doc.len ? doc_tree(c->arena, doc) : json_make(c->arena, JSON_ARRAY);
}

bool boot_id_is_outdated(struct core *c, node_ix n, struct str boot_id)
{
    for (const struct json *old = node_old_boots_tree(c, n)->first; old; old = old->next)
        if (old->kind == JSON_STRING && str_eq(old->text, boot_id))
            return true;
    return false;
}

void boot_id_record(struct core *c, node_ix n, struct str boot_id)
{
    const struct str now = text_of(c, node_at(c, n)->boot_id);
    if (str_eq(now, boot_id))
        return;
    struct json *over = json_make(c->arena, JSON_ARRAY);
    uint32_t count = now.len ? 1 : 0;
    if (now.len)
        json_append(over, json_make_string(c->arena, now));
    for (const struct json *old = node_old_boots_tree(c, n)->first; old && count < OLD_BOOTS_MAX;
         old = old->next, count++)
        json_append(over, json_make_string(c->arena, old->text));
    const struct str doc = count ? json_write(c->arena, over) : STR("");
    struct node *node = node_edit(c, n);
    put_text(c, &node->old_boots, doc);
    put_text(c, &node->boot_id, boot_id);
}
