#include "run/exec/protocol.h"

#include <string.h>

/* Encoding and decoding are generated from the field lists of protocol.h. exec_decode is the only
 * place that validates: bytes from a socket or from the journal are refused here as a whole, so
 * that later code can rely on every field. Allocation is bounded by EXEC_BODY_MAX in both
 * directions. */

enum { LENGTH_SIZE = 4 };

/* ---- layouts ---- */

/* A layout is the table of the fields of one structure; FIELD_OWNER names the structure in which
 * FIELD_DESCRIBE (model/fields.h) takes their offsets. */

#define EXEC_LAYOUT(which, FIELDS_OF)                                                              \
    static const struct field which##_fields[] = {FIELDS_OF(FIELD_DESCRIBE)};                      \
    static const struct layout which##_layout = {                                                  \
        #which, which##_fields, (uint16_t)(sizeof which##_fields / sizeof which##_fields[0]),      \
        (uint16_t)sizeof(struct exec_##which)};

#define FIELD_OWNER struct exec_hello
EXEC_LAYOUT(hello, EXEC_HELLO_FIELDS)
#undef FIELD_OWNER
#define FIELD_OWNER struct exec_welcome
EXEC_LAYOUT(welcome, EXEC_WELCOME_FIELDS)
#undef FIELD_OWNER
#define FIELD_OWNER struct exec_spawn
EXEC_LAYOUT(spawn, EXEC_SPAWN_FIELDS)
#undef FIELD_OWNER
#define FIELD_OWNER struct exec_run
EXEC_LAYOUT(run, EXEC_RUN_FIELDS)
#undef FIELD_OWNER
#define FIELD_OWNER struct exec_begun
EXEC_LAYOUT(begun, EXEC_BEGUN_FIELDS)
#undef FIELD_OWNER
#define FIELD_OWNER struct exec_ended
EXEC_LAYOUT(ended, EXEC_ENDED_FIELDS)
#undef FIELD_OWNER
#define FIELD_OWNER struct exec_not_known
EXEC_LAYOUT(not_known, EXEC_NOT_KNOWN_FIELDS)
#undef FIELD_OWNER
#define FIELD_OWNER struct exec_fenced
EXEC_LAYOUT(fenced, EXEC_FENCED_FIELDS)
#undef FIELD_OWNER

/* NULL: messages of this kind have no fields. */
static const struct layout *exec_layout(enum exec_kind kind)
{
    switch (kind) {
    case EXEC_HELLO: return &hello_layout;
    case EXEC_SPAWN: return &spawn_layout;
    case EXEC_CANCEL:
    case EXEC_QUERY:
    case EXEC_FORGET: return &run_layout;
    case EXEC_WELCOME: return &welcome_layout;
    case EXEC_BEGUN: return &begun_layout;
    case EXEC_ENDED: return &ended_layout;
    case EXEC_NOT_KNOWN: return &not_known_layout;
    case EXEC_FENCED: return &fenced_layout;
    case EXEC_RECONCILED:
    case EXEC_LIST:
    case EXEC_BYE: return NULL;
    case EXEC_NOTHING:
    case EXEC_KIND_END: break;
    }
    impossible("a kind of message outside the enum");
}

const char *exec_how_name(enum exec_how how)
{
    static const char *const names[] = {[EXEC_NO_HOW] = "nothing",
#define X(name, text) [EXEC_##name] = text,
                                        EXEC_HOWS(X)
#undef X
    };
    must(how < EXEC_HOW_END);
    return names[how];
}

err exec_encode(const struct exec_message *message, struct buf *out)
{
    const uint32_t before = out->len;
    const struct layout *layout = exec_layout(message->kind);
    uint64_t strings = 0;
    /* Only the strings of EXEC_SPAWN can be long: add them up before anything is copied. */
    if (message->kind == EXEC_SPAWN)
        strings = (uint64_t)message->spawn.argv.len + message->spawn.env.len +
                  message->spawn.cwd.len + message->spawn.stdin_path.len;
    if (strings > EXEC_BODY_MAX)
        return ERR_LIMIT;
    buf_put(out, "\0\0\0", LENGTH_SIZE);
    buf_put_c(out, (char)message->kind);
    if (layout)
        fields_encode(layout, &message->hello, out); /* the address of any union member */
    const uint32_t size = out->len - before - LENGTH_SIZE;
    if (size > EXEC_BODY_MAX) {
        out->len = before;
        return ERR_LIMIT;
    }
    for (uint32_t i = 0; i < LENGTH_SIZE; i++)
        out->at[before + i] = (char)(size >> (8 * i));
    return OK;
}

/* ---- decoding and validation ---- */

static bool exec_is_list(struct str list)
{
    return list.len == 0 || list.at[list.len - 1] == 0;
}

static bool exec_is_path(struct str path)
{
    return path.len == 0 || (path.at[0] == '/' && str_find(path, 0, 0) == path.len);
}

static bool exec_spawn_is_valid(const struct exec_spawn *s)
{
    return s->run_id > 0 && s->epoch >= 0 && exec_is_list(s->argv) && s->argv.len > 1 &&
           s->argv.at[0] != 0 && exec_is_list(s->env) && exec_is_path(s->cwd) &&
           exec_is_path(s->stdin_path) && s->out_max >= 0 && s->log_max >= 0 &&
           s->deadline_ms >= 0 && s->grace_ms >= 0;
}

static bool exec_ended_is_valid(const struct exec_ended *e)
{
    return e->run_id > 0 && e->how > EXEC_NO_HOW && e->how < EXEC_HOW_END &&
           e->reason.len <= EXEC_REASON_MAX && e->out_size >= 0 && e->out_dropped >= 0 &&
           e->log_size >= 0 && e->log_dropped >= 0;
}

static bool exec_message_is_valid(const struct exec_message *m)
{
    switch (m->kind) {
    case EXEC_HELLO: return m->hello.epoch >= 0;
    case EXEC_SPAWN: return exec_spawn_is_valid(&m->spawn);
    case EXEC_CANCEL:
    case EXEC_QUERY:
    case EXEC_FORGET: return m->run.run_id > 0;
    case EXEC_WELCOME: return str_is_clean(m->welcome.boot_id);
    case EXEC_BEGUN: return m->begun.run_id > 0 && m->begun.pid >= 0;
    case EXEC_ENDED: return exec_ended_is_valid(&m->ended);
    case EXEC_NOT_KNOWN: return m->not_known.run_id > 0;
    case EXEC_FENCED: return m->fenced.epoch >= 0;
    case EXEC_LIST:
    case EXEC_RECONCILED:
    case EXEC_BYE: return true;
    case EXEC_NOTHING:
    case EXEC_KIND_END: break;
    }
    return false;
}

err exec_decode(struct str body, struct exec_message *out_message)
{
    uint32_t at = 1;
    struct exec_message message = {.kind = EXEC_NOTHING};
    if (body.len == 0 || body.len > EXEC_BODY_MAX)
        return ERR_CORRUPT;
    const uint8_t kind = (uint8_t)body.at[0];
    if (kind == EXEC_NOTHING || kind >= EXEC_KIND_END)
        return ERR_CORRUPT;
    message.kind = (enum exec_kind)kind;
    const struct layout *layout = exec_layout(message.kind);
    if (layout && fields_decode(layout, body, &at, &message.hello) != OK)
        return ERR_CORRUPT;
    if (at != body.len || !exec_message_is_valid(&message))
        return ERR_CORRUPT;
    *out_message = message;
    return OK;
}

/* ---- lists ---- */

void exec_list_add(struct buf *list, struct str text)
{
    buf_put_str(list, text);
    buf_put_c(list, 0);
}

char **exec_list_z(struct arena *a, struct str list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < list.len; i++)
        count += list.at[i] == 0;
    char **strings = arena_array(a, char *, count + 1);
    char *bytes = arena_copy(a, list.len ? list.at : "", list.len);
    for (uint32_t i = 0, from = 0; i < count; i++) {
        strings[i] = bytes + from;
        from += (uint32_t)strlen(strings[i]) + 1;
    }
    return strings;
}
