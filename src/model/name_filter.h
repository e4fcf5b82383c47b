/* name_filter.h - the language of DNS name filters: matchers, which select allocations, and
 * templates, which make their names.
 *
 * A matcher is a list of tests, separated by commas, all of which must hold:
 *
 *     net.category == "admin", node.role has "dns-server", node.attr.rack == "r1"
 *
 * A template is text with tokens, "{{node.name}}-{{network.name}}". Both are parsed once into a
 * form that refers to their text by position, so that an evaluation neither parses nor allocates.
 * The caller keeps the text and passes it with the parsed form.
 *
 * No state. Facts about the allocation come from the caller; those that are expensive to find come
 * by callbacks, which are called only if a test or token needs them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"
#include "model/limits.h"

enum name_test_kind {
    NAME_TEST_UNKNOWN,     /* never holds */
    NAME_TEST_CATEGORY,    /* net.category == */
    NAME_TEST_NETWORK,     /* net.name == */
    NAME_TEST_RANGE,       /* range.name == */
    NAME_TEST_DEPLOYMENT,  /* deployment.name == */
    NAME_TEST_NODE_ROLE,   /* node.role has */
    NAME_TEST_NODE_ATTRIB, /* node.attr.ATTRIB == */
    NAME_TEST_COUNT
};

/* Positions in the text of the matcher. */
struct name_test {
    uint8_t kind;               /* enum name_test_kind */
    uint16_t name_at, name_len; /* the attrib of NODE_ATTRIB; otherwise the whole left side */
    uint16_t value_at, value_len;
};

struct name_matcher {
    struct name_test tests[NAME_TESTS_MAX];
    uint32_t count;
};

enum name_part_kind {
    NAME_PART_TEXT,
    NAME_PART_NODE_NAME, /* first label of the name of the node */
    NAME_PART_NODE_ID,
    NAME_PART_NODE_MAC, /* with dashes; empty if the node has no hinted MAC */
    NAME_PART_NODE_DEPLOYMENT,
    NAME_PART_NETWORK_NAME,
    NAME_PART_NETWORK_RANGE,
    NAME_PART_NETWORK_CATEGORY,
    NAME_PART_COUNT
};

/* Text, or a token. Unknown tokens are text. */
struct name_part {
    uint8_t kind; /* enum name_part_kind */
    uint16_t at, len;
};

struct name_template {
    struct name_part parts[NAME_PARTS_MAX];
    uint32_t count;
};

/* What is known about an allocation. The callbacks get `context`. */
struct name_facts {
    struct str node_name; /* the whole name */
    int64_t node_id;
    struct str deployment; /* of the node */
    struct str network, range, category;
    bool (*has_role)(void *context, struct str role);
    /* True if the node has a value of that attrib whose text is `value`. */
    bool (*has_attrib_value)(void *context, struct str attrib, struct str value);
    /* The first hinted MAC, as text with colons; empty = none. */
    struct str (*first_mac)(void *context);
    void *context;
};

/* Where a text is wrong. */
struct name_syntax_error {
    const char *what; /* a static phrase that follows the name of the field: "must be ..." */
    uint32_t at;      /* position of the error in bytes; UINT32_MAX = the text as a whole */
};

/* False, with *out_error set and the parsed form unspecified, if the text is no matcher. */
bool name_matcher_parse(struct str text, struct name_matcher *out_matcher,
                        struct name_syntax_error *out_error);
/* A test of the matcher that is unknown and never holds, as written; empty if all are known. */
struct str name_matcher_unknown(struct str text, const struct name_matcher *matcher);
bool name_matcher_has(const struct name_matcher *matcher, enum name_test_kind kind);
/* True if every test holds. */
bool name_matcher_holds(struct str text, const struct name_matcher *matcher,
                        const struct name_facts *facts);

/* As name_matcher_parse(). */
bool name_template_parse(struct str text, struct name_template *out_template,
                         struct name_syntax_error *out_error);
/* Write the name into `out`. False if it would be longer than DNS_NAME_LEN_MAX; the content of the
 * buffer is unspecified then. */
bool name_template_expand(struct str text, const struct name_template *template,
                          const struct name_facts *facts, char out[DNS_NAME_LEN_MAX],
                          uint32_t *out_len);

/* True for a host name of RFC 1123: labels of 1 to 63 letters, digits and hyphens that neither
 * begin nor end with a hyphen, separated by dots, at most 253 characters in all. */
bool dns_name_is_valid(struct str name);
/* Why it is not: a static phrase that follows "the text"; NULL if it is valid. */
const char *dns_name_wrong(struct str name);
