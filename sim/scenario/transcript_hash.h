/* transcript_hash.h - SHA-256 over the transcript of a simulated installation, without sentences.
 *
 * Two builds behave alike when the same seed gives the same hash. Sentences are written for people
 * and may be reworded at any time, so they are not part of it: of the text of a problem, the status
 * or run log of a noderole, the message of a failed hook and the descriptions in documents only
 * whether there is one is hashed. Codes, field names, verdicts, ids, times and data are hashed.
 *
 * Fields of commands are identified by their position, so renaming one in the source does not
 * change the hash; keys of JSON documents are wire format and are hashed.
 */
#pragma once

#include <stdint.h>

#include "base/hash/sha256.h"
#include "base/mem/arena.h"
#include "core/core.h"

#define TRANSCRIPT_HEX_SIZE 65

struct transcript_hash {
    struct sha256 sha;
};

void transcript_hash_init(struct transcript_hash *h);
/* A command and its outcome. Temporary memory comes from `scratch` and is freed again. */
void transcript_hash_command(struct transcript_hash *h, struct arena *scratch,
                             const struct command *command, const struct outcome *outcome);
/* An effect that left the daemon: its label, three numbers and a text, which may be JSON. */
void transcript_hash_effect(struct transcript_hash *h, struct arena *scratch, const char *label,
                            const int64_t numbers[3], struct str text);
/* Lower-case hex of the hash so far. */
void transcript_hash_hex(const struct transcript_hash *h, char out_hex[TRANSCRIPT_HEX_SIZE]);
