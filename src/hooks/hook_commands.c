#include "hooks/hook_commands.h"

#include "base/err.h"

/* The encoded size is estimated when a command is added, so that a hook is stopped while a Lua
 * error can still report the reason. Names are resolved later in the thread of the loop; one
 * unknown required name discards all commands of the hook, because executing a part of them would
 * not be what the hook requested. */

static uint64_t hook_commands_size(const struct hook_command *command_request)
{
    const struct layout *layout = command_layout(command_request->command.kind);
    const char *payload = command_payload_const(&command_request->command);
    uint64_t size = 64;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct field *field = &layout->fields[i];
        if (field->kind == FIELD_TEXT || field->kind == FIELD_DOC || field->kind == FIELD_RAW)
            size += ((const struct str *)(const void *)(payload + field->offset))->len;
    }
    return size;
}

bool hook_commands_add(struct hook_commands *commands, struct hook_command *command_request)
{
    const uint64_t size = hook_commands_size(command_request);
    if (commands->count == HOOK_COMMANDS_MAX || commands->size + size > HOOK_COMMANDS_SIZE_MAX)
        return false;
    command_request->next = NULL;
    if (commands->last)
        commands->last->next = command_request;
    else
        commands->first = command_request;
    commands->last = command_request;
    commands->count++;
    commands->size += size;
    return true;
}

static struct str hook_commands_unknown_text(struct arena *arena,
                                             const struct hook_command *command_request,
                                             const struct hook_command_name *name)
{
    struct buf b = buf_in(arena);
    buf_put_z(&b, "the hook command ");
    buf_put_z(&b, command_name(command_request->command.kind));
    buf_put_z(&b, " names the ");
    buf_put_z(&b, table_name(name->table));
    buf_put_z(&b, " ");
    buf_put_str(&b, name->name);
    buf_put_z(&b, ", which does not exist");
    return buf_str(&b);
}

/* Resolve the names of a command to ids. Returns the first required name that does not exist, or
 * NULL. A wrong required name is reported even if another name makes the command obsolete. */
static const struct hook_command_name *hook_commands_resolve(
    const struct hook_command *command_request, struct hook_command_finder finder,
    struct command *command, bool *out_obsolete)
{
    char *payload = command_payload(command);
    *out_obsolete = false;
    for (uint32_t i = 0; i < command_request->name_count; i++) {
        const struct hook_command_name *name = &command_request->names[i];
        const int64_t id = finder.find(finder.self, name->table, name->name);
        if (id == 0 && !name->maybe)
            return name;
        *out_obsolete |= id == 0;
        *(int64_t *)(void *)(payload + name->offset) = id;
    }
    return NULL;
}

bool hook_commands_encode(const struct hook_commands *commands, struct hook_command_finder finder,
                          struct buf *out, struct str *out_text)
{
    for (const struct hook_command *command_request = commands->first; command_request;
         command_request = command_request->next) {
        struct command command = command_request->command;
        bool is_obsolete;
        const struct hook_command_name *wrong =
            hook_commands_resolve(command_request, finder, &command, &is_obsolete);
        if (wrong) {
            *out_text = hook_commands_unknown_text(out->arena, command_request, wrong);
            return false;
        }
        if (!is_obsolete)
            command_encode(&command, out);
    }
    return true;
}
