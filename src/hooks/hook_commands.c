#include "hooks/hook_commands.h"

#include "base/err.h"

static uint64_t size_of(const struct hook_command *wish)
{
    const struct layout *layout = command_layout(wish->command.kind);
    const char *payload = command_payload_const(&wish->command);
    uint64_t size = 64;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct field *field = &layout->fields[i];
        if (field->kind == FIELD_TEXT || field->kind == FIELD_DOC || field->kind == FIELD_RAW)
            size += ((const struct str *)(const void *)(payload + field->offset))->len;
    }
    return size;
}

bool hook_commands_add(struct hook_commands *wishes, struct hook_command *wish)
{
    const uint64_t size = size_of(wish);
    if (wishes->count == WISHES_MAX || wishes->size + size > WISHES_SIZE_MAX)
        return false;
    wish->next = NULL;
    if (wishes->last)
        wishes->last->next = wish;
    else
        wishes->first = wish;
    wishes->last = wish;
    wishes->count++;
    wishes->size += size;
    return true;
}

static struct str unknown(struct arena *arena, const struct hook_command *wish,
                          const struct hook_command_name *name)
{
    struct buf b = buf_in(arena);
    buf_put_z(&b, "its wish ");
    buf_put_z(&b, command_name(wish->command.kind));
    buf_put_z(&b, " names the ");
    buf_put_z(&b, table_name(name->table));
    buf_put_z(&b, " ");
    buf_put_str(&b, name->name);
    buf_put_z(&b, ", which does not exist");
    return buf_str(&b);
}

/* Put the ids in. The name that had to mean something and does not; NULL when there is none. A name
 * that is wrong is told of even when another one makes the wish vain. */
static const struct hook_command_name *resolve(const struct hook_command *wish,
                                               struct hook_command_finder finder,
                                               struct command *command, bool *out_vain)
{
    char *payload = command_payload(command);
    *out_vain = false;
    for (uint32_t i = 0; i < wish->name_count; i++) {
        const struct hook_command_name *name = &wish->names[i];
        const int64_t id = finder.find(finder.self, name->table, name->name);
        if (id == 0 && !name->maybe)
            return name;
        *out_vain |= id == 0;
        *(int64_t *)(void *)(payload + name->offset) = id;
    }
    return NULL;
}

bool hook_commands_encode(const struct hook_commands *wishes, struct hook_command_finder finder,
                          struct buf *out, struct str *out_text)
{
    for (const struct hook_command *wish = wishes->first; wish; wish = wish->next) {
        struct command command = wish->command;
        bool target_is_gone;
        const struct hook_command_name *wrong = resolve(wish, finder, &command, &target_is_gone);
        if (wrong) {
            *out_text = unknown(out->arena, wish, wrong);
            return false;
        }
        if (!target_is_gone)
            command_encode(&command, out);
    }
    return true;
}
