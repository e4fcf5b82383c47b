/* corpus.h - the stored material that mutated requests are made of.
 *
 * A corpus is a directory:
 *   heads/FILE        request heads, separated by empty lines; the first line is METHOD TARGET
 *   bodies/KIND/FILE  request bodies as they are sent; KIND is json, form, yaml or multipart
 *   lines.txt         header fields that break a rule of HTTP or of this API, one to a line
 *   targets.txt       request targets that do the same
 * In lines.txt and targets.txt the escapes \r \n \t \0 \\ and \xNN denote bytes. In all files
 * but bodies {NAME} is replaced by the value given for NAME (corpus_fill), so that stored requests
 * carry credentials of the daemon under test. Files are read in the order of their names: the
 * same directory and the same values give the same corpus.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

enum body_kind { BODY_JSON, BODY_FORM, BODY_YAML, BODY_MULTIPART, BODY_KINDS };

struct texts {
    struct str *at;
    uint32_t count;
};

struct corpus_value {
    struct str name;
    struct str value;
};

enum { CORPUS_VALUES_MAX = 32 };

struct corpus {
    struct arena arena;
    struct corpus_value values[CORPUS_VALUES_MAX];
    uint32_t values_count;
    struct texts heads;
    struct texts bodies[BODY_KINDS];
    struct texts lines;
    struct texts targets;
};

/* Defines {NAME} from "NAME=VALUE"; false when there is no '=' or there are too many. */
bool corpus_fill(struct corpus *c, const char *definition);
/* Reads the directory; prints the reason and returns false when a part is missing or empty. */
bool corpus_load(struct corpus *c, const char *directory);
/* Adds the heads of one more file. */
bool corpus_load_heads(struct corpus *c, const char *path);
void corpus_fini(struct corpus *c);
