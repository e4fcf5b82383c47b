/* command.c - the layouts of commands, their encoding and their copy. Stateless.
 *
 * An encoded command is its kind, the header, the number of answers and the answers (replies of
 * hooks to veto requests), then the payload. The order matters because the kind selects the layout
 * of the payload. The flags of a dry run are not encoded. Decoding untrusted bytes returns
 * ERR_CORRUPT and changes neither *at nor *out_command. */
#include "model/command.h"

#include "model/fields_private.h"

/* One function per command, because a list of fields can name its struct only through a typedef. */
#define C(upper, lower)                                                                            \
    static const struct layout *layout_of_##lower(void)                                            \
    {                                                                                              \
        typedef struct lower##_command FIELD_OWNER;                                                \
        static const struct field fields[] = {upper##_FIELDS(FIELD_DESCRIBE)};                     \
        static const struct layout layout = {#lower, fields, sizeof fields / sizeof fields[0],     \
                                             sizeof(FIELD_OWNER)};                                 \
        _Static_assert(sizeof fields / sizeof fields[0] <= 64, "the mask has 64 bits");            \
        return &layout;                                                                            \
    }
COMMANDS(C)
#undef C

const struct layout *command_layout(enum command_kind kind)
{
    switch ((uint32_t)kind) {
#define C(upper, lower)                                                                            \
    case COMMAND_##upper: return layout_of_##lower();
        COMMANDS(C)
#undef C
    }
    impossible("a command outside the enum");
}

const char *command_name(enum command_kind kind)
{
    return command_layout(kind)->name;
}

/* Commands that clients apply to many objects at once, and those that belong to a change of a
 * password, a login or a new token of a node. */
bool command_is_for_batch(enum command_kind kind)
{
    switch ((uint32_t)kind) {
    case COMMAND_NODE_CREATE:
    case COMMAND_NODE_UPDATE:
    case COMMAND_NODE_DELETE:
    case COMMAND_NODE_COMMIT:
    case COMMAND_NODEROLE_BIND:
    case COMMAND_NODEROLE_COMMIT:
    case COMMAND_NODEROLE_RETRY:
    case COMMAND_NODEROLE_DELETE:
    case COMMAND_ATTRIB_SET:
    case COMMAND_GROUP_ADD:
    case COMMAND_GROUP_REMOVE:
    case COMMAND_USER_UPDATE:
    case COMMAND_TOKEN_CREATE:
    case COMMAND_NETWORK_ALLOCATE:
    case COMMAND_NETWORK_DEALLOCATE:
    case COMMAND_TOKEN_DELETE: return true;
    default: return false;
    }
}

/* The fields that every command has, whatever its kind. */
static const struct layout *header_layout(void)
{
    typedef struct command FIELD_OWNER;
    /* clang-format off */
    static const struct field fields[] = {
        FIELD_DESCRIBE(I64, request)
        FIELD_DESCRIBE(TEXT, actor)
        FIELD_DESCRIBE(I64, now_ms)
        FIELD_DESCRIBE(I64, mono_ms)
        FIELD_DESCRIBE(I64, nonce[0])
        FIELD_DESCRIBE(I64, nonce[1])
        FIELD_DESCRIBE(U32, depth)
        FIELD_DESCRIBE(I64, if_turn)
        FIELD_DESCRIBE(I64, wall_ms)
        FIELD_DESCRIBE(BOOL, by.is_external)
        FIELD_DESCRIBE(I64, by.user_id)
        FIELD_DESCRIBE(I64, by.token_id)
        FIELD_DESCRIBE(I64, by.node_id)
        FIELD_DESCRIBE(TEXT, address)
    };
    /* clang-format on */
    static const struct layout layout = {"header", fields, sizeof fields / sizeof fields[0],
                                         sizeof(FIELD_OWNER)};
    return &layout;
}

static const struct layout *answer_layout(void)
{
    typedef struct veto_reply FIELD_OWNER;
    /* clang-format off */
    static const struct field fields[] = {
        FIELD_DESCRIBE(I64, key)
        FIELD_DESCRIBE(BOOL, veto)
        FIELD_DESCRIBE(TEXT, text)
    };
    /* clang-format on */
    static const struct layout layout = {"answer", fields, sizeof fields / sizeof fields[0],
                                         sizeof(FIELD_OWNER)};
    return &layout;
}

/* All members of the union have the same address; `import` is any of them. */
void *command_payload(struct command *command)
{
    return (char *)command + offsetof(struct command, import);
}

const void *command_payload_const(const struct command *command)
{
    return (const char *)command + offsetof(struct command, import);
}

void command_encode(const struct command *command, struct buf *out)
{
    const struct layout *payload = command_layout(command->kind);
    buf_put_varint(out, command->kind);
    fields_encode(header_layout(), command, out);
    buf_put_varint(out, command->veto_reply_count);
    for (uint32_t i = 0; i < command->veto_reply_count; i++)
        fields_encode(answer_layout(), &command->veto_replies[i], out);
    fields_encode(payload, command_payload_const(command), out);
}

static err decode_answers(struct arena *arena, struct str bytes, uint32_t *at,
                          struct command *command)
{
    uint64_t count;
    /* An encoded answer has at least one byte, so the remaining bytes bound the allocation. */
    if (!take_varint(bytes, at, &count) || count > bytes.len - *at)
        return ERR_CORRUPT;
    if (count == 0)
        return OK;
    struct veto_reply *veto_replies = arena_array(arena, struct veto_reply, count);
    for (uint64_t i = 0; i < count; i++)
        if (fields_decode(answer_layout(), bytes, at, &veto_replies[i]) != OK)
            return ERR_CORRUPT;
    command->veto_replies = veto_replies;
    command->veto_reply_count = (uint32_t)count;
    return OK;
}

err command_decode(struct arena *arena, struct str bytes, uint32_t *at, struct command *out_command)
{
    struct command command = {0};
    uint32_t here = *at;
    uint64_t kind;
    if (!take_varint(bytes, &here, &kind) || kind >= COMMAND_COUNT)
        return ERR_CORRUPT;
    command.kind = (enum command_kind)kind;
    err e = fields_decode(header_layout(), bytes, &here, &command);
    if (e == OK)
        e = decode_answers(arena, bytes, &here, &command);
    if (e == OK)
        e = fields_decode(command_layout(command.kind), bytes, &here, command_payload(&command));
    if (e != OK)
        return e;
    *at = here;
    *out_command = command;
    return OK;
}

struct command command_copy(struct arena *arena, const struct command *command)
{
    struct command copy = *command;
    if (copy.actor.len)
        copy.actor = str_copy(arena, copy.actor);
    if (copy.address.len)
        copy.address = str_copy(arena, copy.address);
    fields_copy(arena, command_layout(copy.kind), command_payload(&copy), command_payload(&copy));
    if (copy.veto_reply_count == 0)
        return copy;
    struct veto_reply *veto_replies =
        arena_copy(arena, command->veto_replies, sizeof *veto_replies * command->veto_reply_count);
    for (uint32_t i = 0; i < copy.veto_reply_count; i++)
        if (veto_replies[i].text.len)
            veto_replies[i].text = str_copy(arena, veto_replies[i].text);
    copy.veto_replies = veto_replies;
    return copy;
}
