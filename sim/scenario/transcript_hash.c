#include "sim/scenario/transcript_hash.h"

#include <stdio.h>
#include <string.h>

#include "base/json/json.h"
#include "base/text/buf.h"

/* Every item is hashed as its length and its bytes, so no two sequences of items can be the same
 * bytes. */

/* Command fields and JSON keys whose values are sentences, and the path from which a barclamp was
 * read, which differs from one checkout to another. Lists under these keys are lists of
 * sentences. */
static const char *const sentence_names[] = {
    "description", "error",  "log",  "message",  "reason_text", "runlog",
    "source_path", "status", "text", "warnings", "why",
};

static bool hash_is_sentence(struct str name)
{
    for (uint32_t i = 0; i < sizeof sentence_names / sizeof *sentence_names; i++)
        if (str_eq(name, str_from(sentence_names[i])))
            return true;
    return false;
}

static void hash_number(struct transcript_hash *h, int64_t number)
{
    uint8_t bytes[8];
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)((uint64_t)number >> (8 * i));
    sha256_add(&h->sha, bytes, sizeof bytes);
}

static void hash_bytes(struct transcript_hash *h, struct str bytes)
{
    hash_number(h, bytes.len);
    if (bytes.len)
        sha256_add(&h->sha, bytes.at, bytes.len);
}

/* Replace every sentence in the tree by whether there is one. */
static void hash_remove_sentences(struct arena *scratch, struct json *value)
{
    for (struct json *child = value->first; child; child = child->next) {
        const bool is_text = child->kind == JSON_STRING || child->kind == JSON_ARRAY;
        if (value->kind == JSON_OBJECT && is_text && hash_is_sentence(child->key)) {
            const bool has_one = child->kind == JSON_STRING ? child->text.len : child->count;
            child->kind = has_one ? JSON_TRUE : JSON_FALSE;
            child->first = child->last = NULL;
            child->count = 0;
        } else
            hash_remove_sentences(scratch, child);
    }
}

/* A document; what is not JSON is hashed as it is. */
static void hash_document(struct transcript_hash *h, struct arena *scratch, struct str text)
{
    struct json *tree = NULL;
    uint32_t offset = 0;
    const char *reason = NULL;
    const struct arena_mark mark = arena_mark(scratch);
    if (text.len && json_read(scratch, text, &tree, &offset, &reason) == OK) {
        hash_remove_sentences(scratch, tree);
        text = json_write(scratch, tree);
    }
    hash_bytes(h, text);
    arena_rewind(scratch, mark);
}

static void hash_fields(struct transcript_hash *h, struct arena *scratch,
                        const struct command *command);

/* Commands inside a command: those a hook requests, those of a batch. */
static void hash_encoded(struct transcript_hash *h, struct arena *scratch, struct str bytes)
{
    uint32_t at = 0;
    struct command inner;
    while (at < bytes.len && command_decode(scratch, bytes, &at, &inner) == OK)
        hash_fields(h, scratch, &inner);
    hash_bytes(h, (struct str){bytes.at + at, bytes.len - at});
}

static void hash_field(struct transcript_hash *h, struct arena *scratch,
                       const struct command *command, const struct field *field)
{
    const void *where = (const char *)command_payload_const(command) + field->offset;
    switch (field->kind) {
    case FIELD_I64: hash_number(h, *(const int64_t *)where); return;
    case FIELD_U32: hash_number(h, *(const uint32_t *)where); return;
    case FIELD_BOOL: hash_number(h, *(const bool *)where); return;
    case FIELD_TEXT:
        if (hash_is_sentence(str_from(field->name)))
            hash_number(h, ((const struct str *)where)->len > 0);
        else
            hash_bytes(h, *(const struct str *)where);
        return;
    case FIELD_RAW:
        if (command->kind == COMMAND_OUTBOX_DONE || command->kind == COMMAND_BATCH) {
            hash_encoded(h, scratch, *(const struct str *)where);
            return;
        }
        /* fall through */
    case FIELD_DOC: hash_document(h, scratch, *(const struct str *)where); return;
    }
}

static void hash_fields(struct transcript_hash *h, struct arena *scratch,
                        const struct command *command)
{
    const struct layout *layout = command_layout(command->kind);
    const int64_t numbers[] = {
        command->kind,       command->request,          command->now_ms,
        command->mono_ms,    command->wall_ms,          (int64_t)command->nonce[0],
        command->depth,      command->if_turn,          (int64_t)command->nonce[1],
        command->by.user_id, command->by.token_id,      command->by.node_id,
        command->is_dry,     command->by.is_external,   command->is_brief,
        command->is_summary, command->veto_reply_count,
    };
    for (uint32_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hash_number(h, numbers[i]);
    hash_bytes(h, command->actor);
    hash_bytes(h, command->address);
    for (uint32_t i = 0; i < command->veto_reply_count; i++) {
        hash_number(h, command->veto_replies[i].veto);
        hash_number(h, command->veto_replies[i].text.len > 0);
    }
    for (uint32_t i = 0; i < layout->count; i++)
        hash_field(h, scratch, command, &layout->fields[i]);
}

void transcript_hash_init(struct transcript_hash *h)
{
    sha256_init(&h->sha);
}

void transcript_hash_command(struct transcript_hash *h, struct arena *scratch,
                             const struct command *command, const struct outcome *outcome)
{
    const struct arena_mark mark = arena_mark(scratch);
    hash_fields(h, scratch, command);
    hash_number(h, outcome->verdict);
    hash_number(h, outcome->id);
    for (const struct problem *p = outcome->problems; p; p = p->next) {
        hash_bytes(h, problem_code_name(p->code));
        hash_bytes(h, p->field);
        hash_number(h, p->text.len > 0);
    }
    for (const struct veto_call *ask = outcome->veto_calls; ask; ask = ask->next) {
        hash_number(h, ask->hook);
        hash_number(h, ask->role_id);
        hash_document(h, scratch, ask->argument);
    }
    hash_document(h, scratch, outcome->doc);
    arena_rewind(scratch, mark);
}

void transcript_hash_effect(struct transcript_hash *h, struct arena *scratch, const char *label,
                            const int64_t numbers[3], struct str text)
{
    hash_bytes(h, str_from(label));
    for (uint32_t i = 0; i < 3; i++)
        hash_number(h, numbers[i]);
    hash_document(h, scratch, text);
}

void transcript_hash_hex(const struct transcript_hash *h, char out_hex[TRANSCRIPT_HEX_SIZE])
{
    struct sha256 copy = h->sha;
    uint8_t digest[32];
    sha256_end(&copy, digest);
    for (uint32_t i = 0; i < sizeof digest; i++)
        snprintf(out_hex + 2 * (size_t)i, 3, "%02x", digest[i]);
}
