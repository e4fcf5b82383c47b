#include "sim/scenario/transcript.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/buf.h"

static const char letters[] = {[MARK_COMMAND] = 'c',
                               [MARK_BATCH] = 'b',
                               [MARK_DURABLE] = 'd',
                               [MARK_RELOAD] = 'r',
                               [MARK_IMPORT] = 'i'};

void transcript_init(struct transcript *t, const struct scenario *scenario, bool has_hash)
{
    *t = (struct transcript){.has_hash = has_hash, .scenario = *scenario};
    transcript_hash_init(&t->hash);
}

void transcript_fini(struct transcript *t)
{
    arena_fini(&t->arena);
    free(t->marks);
    *t = (struct transcript){0};
}

void transcript_add(struct transcript *t, enum mark_kind kind, int64_t turn, struct str bytes)
{
    if (t->count == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 1024;
        t->marks = realloc(t->marks, t->cap * sizeof *t->marks);
        must(t->marks);
    }
    t->marks[t->count++] =
        (struct mark){.kind = kind, .turn = turn, .bytes = str_copy(&t->arena, bytes)};
}

void transcript_command(struct transcript *t, const struct command *command,
                        const struct outcome *outcome)
{
    struct buf b = buf_in(&t->arena);
    command_encode(command, &b);
    transcript_add(t, MARK_COMMAND, 0, buf_str(&b));
    if (t->has_hash)
        transcript_hash_command(&t->hash, &t->arena, command, outcome);
}

void transcript_effect(struct transcript *t, const char *label, int64_t id, int64_t detail,
                       struct str text)
{
    const int64_t numbers[] = {id, detail, 0};
    if (t->has_hash)
        transcript_hash_effect(&t->hash, &t->arena, label, numbers, text);
}

/* ---- files ---- */

enum { TEXT_SHOWN = 60 }; /* bytes of a text in a comment, without control characters */

void transcript_print_command(FILE *out, const struct command *command)
{
    fprintf(out, "%s", command_name(command->kind));
    const struct layout *layout = command_layout(command->kind);
    const char *payload = command_payload_const(command);
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct field *field = &layout->fields[i];
        const char *where = payload + field->offset;
        if (field->kind == FIELD_I64)
            fprintf(out, " %s=%" PRId64, field->name, *(const int64_t *)(const void *)where);
        else if (field->kind == FIELD_U32)
            fprintf(out, " %s=%" PRIu32, field->name, *(const uint32_t *)(const void *)where);
        else if (field->kind == FIELD_BOOL)
            fprintf(out, " %s=%d", field->name, *(const bool *)(const void *)where);
        else if (field->kind != FIELD_RAW) {
            const struct str *text = (const struct str *)(const void *)where;
            fprintf(out, " %s=", field->name);
            for (uint32_t k = 0; k < text->len && k < TEXT_SHOWN; k++)
                fputc((unsigned char)text->at[k] < ' ' ? ' ' : text->at[k], out);
        }
    }
}

static void transcript_write_comment(FILE *out, struct str bytes)
{
    struct arena arena = {0};
    struct command command;
    uint32_t at = 0;
    fprintf(out, "# ");
    if (command_decode(&arena, bytes, &at, &command) == OK)
        transcript_print_command(out, &command);
    else
        fprintf(out, "unreadable");
    fprintf(out, "\n");
    arena_fini(&arena);
}

err transcript_write(const struct transcript *t, const char *failure, const char *path)
{
    FILE *out = fopen(path, "w");
    if (!out)
        return ERR_IO;
    char options[1024];
    options_describe(&t->scenario, options, sizeof options);
    fprintf(out, "# halligan-sim: commands of a failure; execute them again with --replay\n");
    fprintf(out, "# %s\n# %s\n", failure, options);
    for (uint32_t i = 0; i < t->count; i++) {
        const struct mark *mark = &t->marks[i];
        if (mark->kind == MARK_COMMAND)
            transcript_write_comment(out, mark->bytes);
        fprintf(out, "%c %" PRId64 " ", letters[mark->kind], mark->turn);
        for (uint32_t k = 0; k < mark->bytes.len; k++)
            fprintf(out, "%02x", (unsigned char)mark->bytes.at[k]);
        fprintf(out, "\n");
    }
    return fclose(out) == 0 ? OK : ERR_IO;
}

static bool transcript_read_hex(struct arena *arena, const char *text, struct str *out_bytes)
{
    const size_t len = strspn(text, "0123456789abcdef");
    if (len % 2 || (text[len] && text[len] != '\n'))
        return false;
    char *bytes = arena_alloc(arena, len / 2 + 1);
    for (size_t i = 0; i < len / 2; i++) {
        unsigned byte = 0;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            return false;
        bytes[i] = (char)byte;
    }
    *out_bytes = (struct str){bytes, (uint32_t)(len / 2)};
    return true;
}

static bool transcript_read_line(struct transcript *t, const char *line)
{
    int at = 0;
    char letter = 0;
    int64_t turn = 0;
    if (*line == '#' || *line == '\n')
        return true;
    if (sscanf(line, "%c %" SCNd64 " %n", &letter, &turn, &at) != 2)
        return false;
    struct str bytes = {0};
    if (!transcript_read_hex(&t->arena, line + at, &bytes))
        return false;
    for (uint32_t kind = 0; kind < MARK_COUNT; kind++)
        if (letters[kind] == letter) {
            transcript_add(t, (enum mark_kind)kind, turn, bytes);
            return true;
        }
    return false;
}

err transcript_read(struct transcript *t, const char *path)
{
    FILE *in = fopen(path, "r");
    if (!in)
        return ERR_NOT_FOUND;
    char *line = NULL;
    size_t size = 0;
    bool good = true;
    while (good && getline(&line, &size, in) >= 0)
        good = transcript_read_line(t, line);
    free(line);
    fclose(in);
    return good ? OK : ERR_SYNTAX;
}
